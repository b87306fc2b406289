"""What the report says: the only place here that knows its keys (replay/README.md 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: A figure that the report leaves out altogether; null means that the report calls it unknown.
ABSENT: Final = "absent"

Seqnos = list[list[int]]

#: Sections whose rows are each of one capture, or of none.
OF_CAPTURES: Final = ("streams", "gaps", "views", "findings", "connections")


def by_capture(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The report once a capture, with the rows of that capture alone: hundreds of captures would
    each be looked for among the rows of all."""
    parts: list[Mapping[str, Any]] = [
        {**report, **{name: [] for name in OF_CAPTURES}} for _ in report["captures"]
    ]
    for name in OF_CAPTURES:
        for row in report[name]:
            if row["capture"] is not None:
                parts[row["capture"]][name].append(row)
    return parts


@dataclass(frozen=True)
class CaptureReport:
    """The part of a report that concerns one capture."""

    report: Mapping[str, Any]
    capture: int

    @property
    def own(self) -> Mapping[str, Any]:
        """The entry of ``captures``."""
        entry: Mapping[str, Any] = self.report["captures"][self.capture]
        return entry

    @property
    def frames(self) -> object:
        return self.own.get("frames", ABSENT)

    @property
    def frames_by(self) -> Mapping[str, int]:
        """Outcome -> frames."""
        found: Mapping[str, int] = self.own["frames_by"]
        return found

    def datagrams(self, shape: str) -> object:
        """Decoded datagrams with a "single" message or with a "list"."""
        return self.own["datagrams"].get(shape, ABSENT)

    @property
    def messages_by(self) -> Mapping[str, Mapping[str, int]]:
        """System -> wire kind -> decoded messages."""
        found: Mapping[str, Mapping[str, int]] = self.own["messages_by"]
        return found

    def streams(self) -> list["StreamReport"]:
        """The multicast streams of this capture."""
        return [
            StreamReport(stream)
            for stream in self.report["streams"]
            if stream["capture"] == self.capture and stream["system"].startswith("nakack")
        ]

    def stream(self, sender: str) -> "StreamReport":
        """The multicast stream of one sender (UUID); an empty one if the report has none."""
        found = [stream for stream in self.streams() if stream.entry["sender"] == sender]
        if len(found) > 1:
            raise ValueError(f"{len(found)} streams of {sender} in capture {self.capture}")
        return found[0] if found else StreamReport({})

    def seqnos_of_gaps(self, stream: str, outcomes: Sequence[str]) -> Seqnos:
        """Seqnos of the gap rows of a stream that ended so."""
        seqnos = {
            seqno
            for gap in self.report["gaps"]
            if gap["capture"] == self.capture
            and gap["stream"] == stream
            and gap["outcome"] in outcomes
            for first, last in gap["seqnos"]
            for seqno in range(first, last + 1)
        }
        return to_ranges(seqnos)

    def views(self) -> list[tuple[tuple[str, int], tuple[str, ...]]]:
        """Views in the order of the capture: (creator UUID, number) and member UUIDs."""
        return [
            ((view["id"][0], view["id"][1]), tuple(view["members"]))
            for view in self.report["views"]
            if view["capture"] == self.capture
        ]

    def findings(self) -> list[Mapping[str, Any]]:
        """Findings of this capture."""
        return [f for f in self.report["findings"] if f["capture"] == self.capture]


@dataclass(frozen=True)
class StreamReport:
    """One multicast stream as reported at one capture."""

    entry: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(self.entry.get("id", ABSENT))

    def figure(self, *keys: str) -> object:
        """A value by its path; ABSENT where the report has no such key."""
        value: Any = self.entry
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return ABSENT
            value = value[key]
        return value

    def of_peer(self, peer: str, key: str) -> object:
        """What one other member asked or acknowledged; nothing is 0, and null for a highest."""
        if "peers" not in self.entry:
            return ABSENT
        nothing = None if key == "highest_ack" else 0
        return self.entry["peers"].get(peer, {}).get(key, nothing)

    def by_wire_kind(self, kind: str) -> object:
        """Rows of one kind in this stream, copies included."""
        if "by_wire_kind" not in self.entry:
            return ABSENT
        return self.entry["by_wire_kind"].get(kind, 0)

    def stated(self, key: str) -> object:
        """A value that may be null only if the report says why; ABSENT otherwise."""
        value = self.figure(key)
        if value is None and not self.entry.get("unknown", {}).get(key):
            return ABSENT
        return value

    @property
    def stalls(self) -> object:
        """Visible sender blocks; null where the capacity is not known."""
        value = self.stated("stalls")
        return len(value) if isinstance(value, list) else value

    @property
    def capacity(self) -> object:
        """Of the ring; null where it was neither given nor learned."""
        value = self.figure("capacity")
        return value.get("value", ABSENT) if isinstance(value, Mapping) else value


def to_ranges(seqnos: set[int] | list[int]) -> Seqnos:
    """Seqnos as sorted inclusive ranges."""
    ranges: Seqnos = []
    for seqno in sorted(set(seqnos)):
        if ranges and ranges[-1][1] == seqno - 1:
            ranges[-1][1] = seqno
        else:
            ranges.append([seqno, seqno])
    return ranges
