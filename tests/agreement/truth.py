"""The truth side of a recorded scenario: what the real stacks sent, delivered, counted and lost.

Everything here comes from ``truth.json`` and, for the map from seqno to application counter, from
the sender's own capture read by the slow decoder in ``wire.py``. Nothing comes from the code under
test (CONTRIBUTING.md 4).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tests.agreement import wire

GMS_VIEW: Final = 5

_VIEW: Final = re.compile(r"(?:MergeView::)?\[(\w+)\|(\d+)\] \(\d+\) \[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class View:
    """A view with names: ``[A|2] (3) [A, B, C]``."""

    creator: str
    number: int
    members: tuple[str, ...]

    def __str__(self) -> str:
        return f"[{self.creator}|{self.number}] ({len(self.members)}) [{', '.join(self.members)}]"


def parse_view(text: str) -> View:
    """A view as JGroups prints it; the subgroups of a merge view are left out."""
    found = _VIEW.match(text)
    if found is None:
        raise ValueError(f"not a view: {text}")
    return View(found[1], int(found[2]), tuple(name.strip() for name in found[3].split(",")))


#: ``B: [13 | 13 | 23] (10 elements, 0 missing), send_conn_id=0 (5 secs old) - OPEN, last-ts: 15``
_ENTRY: Final = re.compile(
    r"(?P<peer>\w+): \[(?P<levels>[\d |]+)\].*_conn_id=(?P<conn>-?\d+).* - (?P<state>[A-Z]+)"
)


@dataclass(frozen=True, slots=True)
class Connection:
    """One entry: ``low`` is acknowledged or delivered, ``high`` sent or received."""

    side: str  # send, receive
    peer: str
    conn_id: int
    low: int
    high: int
    state: str


@dataclass
class Scenario:
    """One recorded run: a folder with ``truth.json`` and the captures that it names."""

    folder: Path
    truth: dict[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def captures(self) -> dict[str, Path]:
        """Vantage ("A", "mirror") -> capture file, in the order of the truth."""
        return {k: self.folder / c["file"] for k, c in self.truth["captures"].items()}

    @cached_property
    def uuids(self) -> dict[str, str]:
        """Member name -> UUID."""
        return {name: member["uuid"] for name, member in self.truth["members"].items()}

    @cached_property
    def names(self) -> dict[str, str]:
        """UUID -> member name."""
        return {uuid: name for name, uuid in self.uuids.items()}

    def address(self, vantage: str) -> str | None:
        """IP address of the member at whose interface the capture was taken; null for a mirror."""
        member = self.truth["members"].get(vantage)
        return None if member is None else str(member["physical"]).rpartition(":")[0]

    def stack(self, vantage: str) -> str | None:
        """The member's stack configuration; null for a mirror."""
        stack = self.truth["stacks"].get(vantage)
        return None if stack is None else str(stack["xml"])

    @cached_property
    def why_skipped(self) -> str | None:
        """Why no capture of the run is compared; null where they are."""
        stacks = self.truth.get("stacks")
        if not stacks or not all("<config" in s.get("xml", "") for s in stacks.values()):
            return "not a JGroups run"
        return None

    @cached_property
    def over_tcp(self) -> bool:
        """Whether the stacks run over TCP."""
        stacks = self.truth.get("stacks") or {}
        return any(re.search(r"<TCP(_NIO2)?\b", s["xml"]) for s in stacks.values())

    @cached_property
    def multicast(self) -> dict[str, Any]:
        """Sender -> multicast figures that the lab computed from both ends; empty if it did not."""
        derived = self.truth.get("derived_from_captures", {})
        found = dict(derived.get("multicast", {}))
        if self.over_tcp:
            for sender, stream in found.items():
                for receiver, figures in stream["receivers"].items():
                    figures |= self._exact_over_tcp(sender, receiver)
        return found

    def _exact_over_tcp(self, sender: str, receiver: str) -> dict[str, Any]:
        """What the lab left out: over TCP nothing is lost on the path, so the receiver's own
        capture is exact. What came first as XMIT_RSP was lost before it reached the connection
        (a DISCARD in the sender's stack), and what never came was never sent to this member.
        """
        arrived: set[int] = set()
        lost: list[int] = []
        again = 0
        for message in self.messages(receiver):
            nakack = message.nakack
            if (
                nakack is None
                or nakack.kind not in (wire.NAKACK_MSG, wire.NAKACK_XMIT_RSP)
                or message.sender != self.uuids[sender]
            ):
                continue
            if nakack.seqno in arrived:
                again += 1
            elif nakack.kind == wire.NAKACK_XMIT_RSP:
                lost.append(nakack.seqno)
            arrived.add(nakack.seqno)
        exact = {"first_copy_lost": sorted(lost), "copies_sent_after_arrival": again}
        return {"exact": exact, "never_arrived": []}

    @cached_property
    def unicast(self) -> dict[str, Any]:
        """ "S>R" -> unicast figures that the lab computed from both ends; empty if it did not."""
        derived = self.truth.get("derived_from_captures", {})
        return dict(derived.get("unicast", {}))

    def unicast_attributes(self, member: str) -> dict[str, int]:
        """The counters of the member's UNICAST; empty if it had died."""
        protocols = self.truth["protocol_attributes"].get(member) or {}
        found = protocols.get("UNICAST4") or protocols.get("UNICAST3") or {}
        return {
            name: int(text.replace(",", ""))
            for name, text in found.items()
            if re.fullmatch(r"[\d,]+", text)
        }

    def connections(self, member: str) -> Iterator["Connection"]:
        """The member's send and receive entries as its UNICAST printed them at the end."""
        protocols = self.truth["protocol_attributes"].get(member) or {}
        found = protocols.get("UNICAST4") or protocols.get("UNICAST3") or {}
        side = ""
        for line in found.get("op:printConnections", "").splitlines():
            side = line.partition(" ")[0] if line.endswith("connections:") else side
            entry = _ENTRY.match(line)
            if entry is not None and entry["peer"] != member:
                levels = [int(number) for number in re.findall(r"\d+", entry["levels"])]
                yield Connection(
                    side, entry["peer"], int(entry["conn"]), levels[0], levels[-1], entry["state"]
                )

    def blockings(self, member: str) -> int:
        """How often the member's senders waited for room in a window, of either kind."""
        unicast = self.unicast_attributes(member).get("num_blockings", 0)
        return unicast + (self.attribute(member, "num_blockings") or 0)

    def unicast_capacity_configured(self, member: str) -> bool:
        """Whether the member's stack file states the window of its UNICAST4."""
        return bool(re.search(r"<UNICAST4\b[^>]*\bcapacity=", self.stack(member) or ""))

    def on_the_wire(self, member: str, name: str, counted: int) -> int:
        """A counter of UNICAST, or what the lab found on the wire instead, where they differ."""
        for who, protocol, figure, _, _, _, wire_count in self.truth.get(
            "attribute_differences", ()
        ):
            if (who, figure) == (member, name) and protocol.startswith("UNICAST"):
                return int(wire_count)
        return counted

    def delivered_pair(self, receiver: str, sender: str) -> list[list[int]]:
        """Application counters of the unicasts from one member to another, in delivery order."""
        runs = self.truth["delivered"].get(receiver, {}).get(f"{sender}>{receiver}", {"runs": []})
        return [list(run) for run in runs["runs"]]

    def attributes(self, member: str) -> dict[str, str]:
        """The counters of the member's NAKACK as JGroups printed them; empty if it had died."""
        protocols = self.truth["protocol_attributes"].get(member) or {}
        return dict(protocols.get("NAKACK4") or protocols.get("NAKACK2") or {})

    def attribute(self, member: str, name: str) -> int | None:
        """One counter; null where the member's protocol has none of that name."""
        value = self.attributes(member).get(name)
        return None if value is None else int(value.replace(",", ""))

    def capacity(self, member: str) -> int | None:
        """Ring capacity that the member ran with; null for NAKACK2 and for a member that died."""
        return self.attribute(member, "capacity")

    def capacity_configured(self, member: str) -> bool:
        """Whether the member's stack file states the capacity; else it ran with the default."""
        return bool(re.search(r"<(pbcast\.)?NAKACK4\b[^>]*\bcapacity=", self.stack(member) or ""))

    @cached_property
    def events(self) -> list[str]:
        """What was done in the run, in order."""
        return [e if isinstance(e, str) else e["what"] for e in self.truth["timeline"]]

    def happened(self, pattern: str) -> bool:
        """Whether the timeline has an entry that matches."""
        return any(re.search(pattern, event) for event in self.events)

    def ended(self, member: str) -> bool:
        """Whether the member was killed or left during the run."""
        return f"{member} killed" in self.events or f"{member} closed" in self.events

    def discards(self, member: str) -> bool:
        """Whether the member's own stack dropped what had arrived, above TP (DISCARD)."""
        return self.happened(rf"^{member}: (set )?DISCARD up 0\.[0-9]*[1-9]")

    def drops_own(self, member: str) -> bool:
        """Whether the member's own stack dropped what it was to send (DISCARD)."""
        return self.happened(rf"^{member}: set DISCARD (down 0\.[0-9]*[1-9]|drop_down)")

    def views(self, member: str) -> list[View]:
        """The views that the member installed, in order."""
        return [parse_view(text) for text in self.truth["views"].get(member, ())]

    def delivered(self, receiver: str, sender: str) -> list[list[int]]:
        """Application counters of the sender's multicasts in delivery order, as [from, to] runs."""
        delivered = self.truth["delivered"].get(receiver, {})
        return [list(run) for run in delivered.get(f"{sender}>*", {"runs": []})["runs"]]

    def messages(self, vantage: str) -> list[wire.Message]:
        """All messages of one capture."""
        if vantage not in self._messages:
            self._messages[vantage] = list(wire.read_messages(self.captures[vantage]))
        return self._messages[vantage]

    _messages: dict[str, list[wire.Message]] = field(default_factory=dict, repr=False)

    def payloads(self, sender: str) -> dict[int, "Payload"]:
        """What the sender put into each of its multicast seqnos, from its own capture."""
        found: dict[int, Payload] = {}
        for message in self.messages(sender):
            nakack = message.nakack
            if (
                nakack is None
                or nakack.kind not in (wire.NAKACK_MSG, wire.NAKACK_XMIT_RSP)
                or message.sender != self.uuids[sender]
            ):
                continue
            found[nakack.seqno] = Payload(
                system=message.gms is not None,
                frag=message.frag,
                counter=int.from_bytes(message.payload[:4], "big"),
            )
        return found

    def last_seqno_before_view_without(self, member: str, sender: str) -> int | None:
        """The sender's last seqno before the first view that the member is no longer in.

        Only for the sender of that view (the coordinator): its number is in the sender's own
        sequence. Null if no such view was multicast by ``sender``.
        """
        views = self.views(sender)
        joined = [i for i, view in enumerate(views) if member in view.members]
        if not joined or joined[-1] + 1 >= len(views):
            return None
        number = views[joined[-1] + 1].number
        for message in self.messages(sender):
            nakack = message.nakack
            if (
                message.gms == GMS_VIEW
                and nakack is not None
                and message.sender == self.uuids[sender]
            ):
                cursor = wire.Cursor(message.payload)
                cursor.i16()
                if cursor.view_id() == (self.uuids[sender], number):
                    return nakack.seqno - 1
        return None

    def highest_ack_sent(self, member: str, sender: str) -> int | None:
        """The highest seqno that the member acknowledged to the sender; null if it sent no ACK."""
        acks = [
            message.nakack.seqno
            for message in self.messages(member)
            if message.nakack is not None
            and message.nakack.kind == wire.NAKACK_ACK
            and message.sender == self.uuids[member]
            and message.destination == self.uuids[sender]
        ]
        return max(acks, default=None)


@dataclass(frozen=True, slots=True)
class Payload:
    """One multicast seqno: a view or the like (``system``), or an application message or a part."""

    system: bool
    frag: tuple[int, int, int] | None  # id, number from 0, of how many
    counter: int
    out_of_band: bool = False


def count_deliveries(ranges: list[list[int]], payloads: dict[int, Payload]) -> list[list[int]]:
    """Application counters for delivered seqnos, as [from, to] runs.

    A fragmented message is delivered with its last fragment (FRAG2 sits above the sequencing), and
    its counter is in the first one.
    """
    counters: list[int] = []
    parts: dict[int, dict[int, int]] = {}
    for first, last in ranges:
        for seqno in range(first, last + 1):
            payload = payloads.get(seqno)
            if payload is None:
                raise ValueError(f"seqno {seqno} was never sent")
            if payload.system:
                continue
            if payload.frag is None:
                counters.append(payload.counter)
                continue
            frag_id, number, count = payload.frag
            part = parts.setdefault(frag_id, {})
            part[number] = payload.counter
            if len(part) == count:
                counters.append(part[0])
                del parts[frag_id]
    return to_runs(counters)


def to_runs(counters: list[int]) -> list[list[int]]:
    """Consecutive growing numbers as [from, to], order kept."""
    runs: list[list[int]] = []
    for counter in counters:
        if runs and counter == runs[-1][1] + 1:
            runs[-1][1] = counter
        else:
            runs.append([counter, counter])
    return runs


def find_scenarios(top: Path, match: str = "*") -> list[Scenario]:
    """Every folder below ``top`` (itself included) with a ``truth.json``, by name."""
    return [
        Scenario(path.parent, json.loads(path.read_text()))
        for path in sorted(top.rglob("truth.json"))
        if path.parent.match(match)
    ]
