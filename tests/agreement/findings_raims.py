"""Findings of a report on a raims recording, beside what happened in it (CONTRIBUTING.md 4).

What the switch dropped, held up and doubled, by PGM number; what the daemons counted; what the
clients published and got. A slow reader of PGM says which copies came after all.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tests.agreement import wire
from tests.agreement.report import to_ranges

ODATA: Final = 0x04
RDATA: Final = 0x05
NAK: Final = 0x08
OPT_NAK_LIST: Final = 0x02

#: (figure, ours, truth, reason for null)
Figure = tuple[str, Any, Any, str]

#: Column of ``show loss`` -> the rule that tells of it, and says how many.
COUNTED: Final = {"repeat": "RA008", "not sub": "RA009", "ibx loss": "RA010"}
LOST, UNKNOWN_SIZE, NOT_COUNTED, GLOBAL, FALSE_LOSS = "RA001", "RA002", "RA003", "RA004", "RA005"
ZERO, NOTICED, ENCRYPTED, RESTARTED = "RA006", "RA011", "RA021", "RA022"
REPAIRED, GAVE_UP, LATE, TWICE, ASKED = "PG001", "PG002", "PG003", "PG004", "PG010"
#: What rests on more than the truth tells: numbering begun anew, convergence.
OPEN: Final = frozenset({"RA007", "RA014", "RA020", "RA029", "PG007"})


@dataclass(frozen=True, slots=True)
class Packet:
    """One PGM data packet as it arrived."""

    frame: int
    at_ns: int
    source: str
    session: str
    kind: int
    sqn: int


def read_data(path: Path) -> Iterator[Packet]:
    """ODATA and RDATA over UDP, in the order of the capture (RFC 3208, 8.1 and 8.2)."""
    for datagram in wire.read_datagrams(path):
        body = datagram.payload
        if datagram.destination.startswith("239.") and len(body) >= 20:
            port, _, kind = struct.unpack(">HHB", body[:5])
            if kind in (ODATA, RDATA):
                session = f"{body[8:14].hex()}.{port}"
                (sqn,) = struct.unpack(">I", body[16:20])
                yield Packet(datagram.frame, datagram.at_ns, datagram.source, session, kind, sqn)


def read_naks(path: Path) -> Iterator[tuple[str, int]]:
    """(requester, sqn) of every NAK, lists included (RFC 3208, 8.3 and 9.3)."""
    for datagram in wire.read_datagrams(path):
        body = datagram.payload
        if len(body) < 36 or body[4] != NAK or body[20:22] != b"\x00\x01":
            continue
        yield datagram.source, int.from_bytes(body[16:20], "big")
        at = 40  # behind OPT_LENGTH
        while body[5] & 1 and at + 4 <= len(body):
            kind, size = body[at] & 0x7F, max(body[at + 1], 4)
            if kind == OPT_NAK_LIST:
                for place in range(at + 4, at + size, 4):
                    yield datagram.source, int.from_bytes(body[place : place + 4], "big")
            at += size


@dataclass(frozen=True)
class Happened:
    """What one daemon's interface saw and its clients got, told by the truth."""

    truth: Mapping[str, Any]
    node: str
    capture: Path

    @property
    def over_tcp(self) -> bool:
        return any("IP6_" in kind for kind in self.truth["wire"][self.node]["packets"])

    @property
    def encrypted(self) -> bool:
        """Whether nothing of what passed could be read: TCP, and no stream."""
        return self.over_tcp and not self.truth["wire"][self.node]["streams"]

    @cached_property
    def restarted(self) -> set[str]:
        """Daemons that were started twice."""
        started = [
            event["what"].split()[2]
            for event in self.truth["timeline"]
            if event["what"].startswith("start daemon")
        ]
        return {name for name in started if started.count(name) > 1}

    def switched(self, act: str, kind: str) -> set[tuple[str, int]]:
        """(sender, sqn) of what the switch did something to on its way here."""
        return {
            (action["from"], action["pgm_sqn"])
            for action in self.truth["switch_actions"]["list"]
            if (action["act"], action["kind"], action["to"]) == (act, kind, self.node)
        }

    @cached_property
    def arrived(self) -> dict[tuple[str, int], list[int]]:
        """(sender, sqn) -> kinds of the copies that came, in order."""
        address = {node["ip"]: name for name, node in self.truth["nodes"].items()}
        found: dict[tuple[str, int], list[int]] = {}
        for packet in read_data(self.capture):
            if packet.session in self.sessions[address[packet.source]]:
                key = (address[packet.source], packet.sqn)
                found.setdefault(key, []).append(packet.kind)
        return found

    @cached_property
    def sessions(self) -> dict[str, set[str]]:
        """Daemon -> its PGM sessions: those of the most packets (a switch may make others)."""
        address = {node["ip"]: name for name, node in self.truth["nodes"].items()}
        counts: dict[str, dict[str, int]] = {name: {} for name in address.values()}
        for packet in read_data(self.capture):
            mine = counts[address[packet.source]]
            mine[packet.session] = mine.get(packet.session, 0) + 1
        return {
            name: {session for session, count in mine.items() if count == max(mine.values())}
            for name, mine in counts.items()
        }

    @cached_property
    def dropped(self) -> set[tuple[str, int]]:
        """Originals that the switch dropped on their way here."""
        return self.switched("drop", "ODATA")

    @cached_property
    def never_came(self) -> set[tuple[str, int]]:
        """Of those, what no copy of came."""
        return {key for key in self.dropped if key not in self.arrived}

    @cached_property
    def repaired(self) -> set[tuple[str, int]]:
        """What was dropped, or held up until a repair overtook it, and this daemon asked for.

        Where another had asked before, nothing here says that it was lost on the way here.
        """
        own = self.truth["nodes"][self.node]["ip"]
        asked = {sqn for requester, sqn in read_naks(self.capture) if requester == own}
        late = {
            key
            for key in self.switched("delay", "ODATA")
            if self.arrived.get(key, [ODATA])[0] == RDATA
        }
        return {key for key in (self.dropped - self.never_came) | late if key[1] in asked}

    @cached_property
    def asked(self) -> set[int]:
        """What other daemons asked for."""
        own = self.truth["nodes"][self.node]["ip"]
        return {sqn for requester, sqn in read_naks(self.capture) if requester != own}

    @cached_property
    def lost(self) -> dict[str, int]:
        """Publisher -> messages that clients here did not get although the publisher lives on."""
        found: dict[str, int] = {}
        for publisher, subjects in self.truth["published"].items():
            for subject in subjects:
                missed = self.truth["not_delivered"].get(self.node, {}).get(subject)
                if missed and publisher not in self.restarted and not publisher.endswith("2"):
                    found[publisher] = found.get(publisher, 0) + missed["count"]
        return found

    def counted(self, column: str, node: str | None = None) -> int:
        """Sum of a column of ``show loss`` of a daemon (this one)."""
        rows = self.truth["show"]["end"].get(node or self.node, {}).get("show loss", ())
        return sum(row[column] for row in rows)

    @property
    def streams(self) -> list[Mapping[str, Any]]:
        """Streams that passed, as the recording's own decoder listed them."""
        found = self.truth["wire"][self.node]["streams"].values()
        return [stream for stream in found if isinstance(stream, dict)]

    @property
    def begins_unchained(self) -> bool:
        """Whether a later frame of a stream began here with another number than 1."""
        return any(
            frame["first"] > 1 and frame["frame"] not in (0, stream["frames"][0]["frame"])
            for stream in self.streams
            for frame in stream["frames"]
            if frame["frame"] not in _earlier(stream["frames"], frame)
        )


def _earlier(frames: list[Mapping[str, Any]], of: Mapping[str, Any]) -> set[int]:
    """Frames listed before; a frame is listed again after messages of another."""
    return {frame["frame"] for frame in frames[: frames.index(of)]}


def expected(happened: Happened) -> set[str]:
    """The rules about raims and PGM that must fire at a daemon's capture."""
    if happened.encrypted:
        return {ENCRYPTED}
    rules = {rule for column, rule in COUNTED.items() if happened.counted(column)}
    rules |= _of_losses(happened)
    zero = any(frame["frame"] == 0 for stream in happened.streams for frame in stream["frames"])
    rules |= {ZERO} if zero else set()
    others = [node for node in happened.truth["wire"] if node != happened.node]
    told = any(
        row["msg loss"] and row["user"].partition(".")[0] == happened.node
        for node in others
        for row in happened.truth["show"]["end"].get(node, {}).get("show loss", ())
    )
    rules |= {NOTICED} if told else set()
    rules |= {RESTARTED} if happened.restarted else set()
    rules |= {REPAIRED} if happened.repaired else set()
    rules |= {GAVE_UP} if happened.never_came else set()
    rules |= {ASKED} if happened.asked else set()
    return rules | ({TWICE} if twice(happened) else set())


def _of_losses(happened: Happened) -> set[str]:
    """What raims counted, beside what clients did not get."""
    counted, lost = happened.counted("msg loss"), sum(happened.lost.values())
    if counted and not lost and not happened.never_came:
        return {FALSE_LOSS}
    if not counted:
        glsno = any(stream["glsno"] for stream in happened.streams)
        return {GLOBAL if glsno else NOT_COUNTED} if lost else set()
    return {UNKNOWN_SIZE if happened.begins_unchained else LOST}


def twice(happened: Happened) -> set[tuple[str, int]]:
    """Packets of which an original came when a copy had come."""
    return {key for key, kinds in happened.arrived.items() if ODATA in kinds[1:]}


def finding_figures(happened: Happened, findings: list[Mapping[str, Any]]) -> Iterator[Figure]:
    """Rules that fired, what they say to be lost, and how much of it."""
    own = [f for f in findings if f["rule"][:2] in ("RA", "PG")]
    fired = {finding["rule"] for finding in own} - OPEN
    due = expected(happened)
    late = happened.switched("delay", "ODATA")
    if late:  # whether it was asked for before the original came decides
        fired -= {LATE}
    yield "findings", sorted(fired), sorted(due), ""
    for column, rule in COUNTED.items():
        if not happened.encrypted:
            said = sum(_first_number(f) for f in own if f["rule"] == rule)
            yield f"{rule} says how many", said, happened.counted(column), ""
    told = [f for f in own if f["rule"] in (LOST, FALSE_LOSS)]
    if told:
        said = sum(_first_number(finding) for finding in told)
        yield "lost and counted, in findings", said, happened.counted("msg loss"), ""
    if not happened.over_tcp:
        for rule, sqns in (
            (REPAIRED, {sqn for _, sqn in happened.repaired}),
            (GAVE_UP, {sqn for _, sqn in happened.never_came}),
            (TWICE, {sqn for _, sqn in twice(happened)}),
            (ASKED, happened.asked),
        ):
            ours = [sn for f in own if f["rule"] == rule for a, b in f["seqnos"]
                    for sn in range(a, b + 1)]  # fmt: skip
            yield f"{rule} seqnos", to_ranges(ours), to_ranges(sqns), ""


def _first_number(finding: Mapping[str, Any]) -> int:
    found = re.search(r"\d+", finding["text"])
    return int(found[0]) if found else 0
