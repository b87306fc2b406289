"""A node on a multicast group and on a link of its own: what the one lacks may come by the other.

A source sends both ways at once, and a subscriber takes a sample by whichever brings it first.
Recorded: a link lacked 17 samples, the group brought 8 of them, the subscriber was handed 5. So
nothing shows what it missed, nor that it had what is not here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.results import Row
from seqaudit.replay.sequence.ranges import RangeSet, half_open
from seqaudit.replay.zenoh.both_ends import address
from seqaudit.replay.zenoh.elsewhere import Place, undecidable, untold
from seqaudit.replay.zenoh.reasons import BESIDE

#: Of the key of a conversation: system, carrier and the group; else there are two endpoints.
GROUP_PARTS: Final = 3


@dataclass(frozen=True, slots=True)
class _CameBy:
    """A link or a group by which samples of a source came, and which."""

    leg: str
    grouped: bool
    sends: bool  # captured at the host that sends them
    hosts: tuple[str, str]  # of the sender; of the receiver, or the group
    frames: tuple[int, int]
    live: RangeSet

    @classmethod
    def of(cls, row: Row) -> "_CameBy":
        ends = address(row["sender_endpoint"]), address(row["receiver_endpoint"])
        grouped = len(row["leg"].split("|")) == GROUP_PARTS
        frames = row["first_frame"], row["last_frame"]
        live = half_open(row["live"])
        return cls(row["leg"], grouped, row["role"] == "sender", ends, frames, live)

    def heard_with(self, other: "_CameBy") -> bool:
        """Whether who hears this may hear the other as well, at the same time."""
        if max(self.frames[0], other.frames[0]) >= min(self.frames[1], other.frames[1]):
            return False
        if self.leg == other.leg:  # of a group
            return self.hosts[0] != other.hosts[0]
        passed_on = self.hosts[0] == other.hosts[1] or self.hosts[1] == other.hosts[0]
        return (self.grouped or other.grouped) and not other.sends and not passed_on


def brought(streams: Iterable[tuple[int, str, Row]]) -> dict[Place, RangeSet]:
    """Places of samples to the sns that came live beside them, by a group or to a member of it.

    Args:
        streams: (capture, stream, detail) of STREAM rows of any system.
    """
    ways: dict[tuple[int, str], list[tuple[str, _CameBy]]] = {}
    for capture, stream, row in streams:
        if row.get("kind") == "samples" and row["live"]:
            ways.setdefault((capture, row["source"]), []).append((stream, _CameBy.of(row)))
    found: dict[Place, RangeSet] = {}
    for (capture, _), places in ways.items():
        distinct = {(way.leg, way.hosts): way for _, way in places}.values()
        groups = [way for way in distinct if way.grouped]
        for stream, way in places:
            for other in distinct if way.grouped else groups:
                if not way.sends and way.heard_with(other):
                    # Members of a group have one account of it, whoever sends.
                    came = other.live | way.live if other.leg == way.leg else other.live
                    found[capture, stream] = found.get((capture, stream), RangeSet()) | came
    return found


def figures(
    elsewhere: Mapping[Place, RangeSet], rows: Mapping[Place, Row]
) -> Iterator[tuple[Place, Row]]:
    """Figures that are null, as samples that seem to be missed, or to be had, came beside.

    Args:
        elsewhere: as ``brought`` returns it.
        rows: (capture, stream) to its figures.
    """
    for place, came in elsewhere.items():
        if told := untold(rows[place], came, BESIDE):
            yield place, told


def restated(finding: PlacedFinding, came: RangeSet) -> PlacedFinding:
    """A finding about what a subscriber had, or missed, of which ``came`` came beside."""
    return undecidable(
        finding, came, "beside",
        "But {beside:sample} of {count|this|these} came here by another link, or a group: who "
        "hears both takes a sample by whichever brings it.",
    )  # fmt: skip
