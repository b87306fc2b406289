"""What the findings of a feed show: frames, and what is missing there."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Rests
from seqaudit.replay.contract.reporter import are, span, spelled
from seqaudit.replay.contract.worth import BEGINNING, Claim
from seqaudit.replay.feeds.holes import FeedHole
from seqaudit.replay.feeds.notes import MAX_DROPOUT, SMALL
from seqaudit.replay.feeds.stream import FeedStream
from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome
from seqaudit.replay.sequence.ranges import RangeSet

#: Streams that are asked whether they went on in a silence of another.
MAX_WITNESSES: Final = 100


def hole_shown(hole: FeedHole) -> tuple[Mark, str]:
    """When a hole showed, and what was missing."""
    return hole.revealed(), f"shows that {are(spelled((hole.first, hole.stop)))} missing"


def missing_between(spans: Iterable[tuple[int, int]]) -> Claim:
    """That numbers never came, of which one capture shows that they are not in it.

    It rests on what was captured between the frames around them. Where that is several stretches,
    only what leaves the whole capture in doubt touches it: one damaged frame among a day of losses
    explains one of them at most.

    Args:
        spans: job frames, of the last before numbers that are missing and of what shows it.
    """
    places = list(spans)
    absent = places[0] if len(places) == 1 else (BEGINNING, BEGINNING)
    return Claim(Certainty.LIKELY, Rests(absent, places=len(places)))


def holes_around(holes: Iterable[FeedHole]) -> Claim:
    """That the numbers of holes never came."""
    return missing_between((hole.before_frame, hole.revealed_frame) for hole in holes)


def gaps_around(gaps: Iterable[Gap], open_: RangeSet) -> Claim:
    """That numbers of gaps that are not in ``open_`` never came."""
    return missing_between(
        (BEGINNING if gap.before is None else gap.before.frame, gap.revealed.frame)
        for gap in gaps
        if (part := gap.parts.get(Outcome.UNRECOVERED)) is not None
        and any(open_.missing(a, b) for a, b in part.ranges)
    )


def holes_of(holes: Iterable[FeedHole]) -> RangeSet:
    return RangeSet((hole.first, hole.stop) for hole in holes)


def open_until_ns(holes: Sequence[FeedHole], late_ns: int) -> int | None:
    """When what is missing at the end of a conversation counts as lost; null: nothing is.

    Args:
        late_ns: so late it may come, and be no repair.
    """
    return max(hole.revealed_ns for hole in holes) + late_ns if holes else None


def gaps_ended(gaps: Iterable[Gap], outcome: Outcome) -> Iterator[tuple[Mark, str]]:
    """Of gaps that have ended so: what showed them, and what filled the last of each."""
    for gap in gaps:
        part = gap.parts.get(outcome)
        if part is not None and part.last is not None:
            yield gap.revealed, f"{gap.revealed_by} shows that {are(span(gap))} missing"
            yield part.last, f"a repair in {span(gap)}"


def lost_of_line(line: FeedStream) -> Iterator[tuple[Mark, str]]:
    """What shows that numbers are missing on a line which the other one brought."""
    for _, gap in sorted(line.gaps.items()):
        part = gap.parts.get(Outcome.OTHER_LINE)
        if part is not None:
            lost = spelled((part.ranges.first(), part.ranges.stop()))
            yield gap.revealed, f"{gap.revealed_by} shows that {are(lost)} missing on this line"


def gaps_missing(gaps: Iterable[Gap], open_: RangeSet) -> Iterator[tuple[Mark, str]]:
    """What shows that numbers are missing which are not in ``open_``."""
    for gap in gaps:
        part = gap.parts.get(Outcome.UNRECOVERED)
        if part is not None and any(open_.missing(a, b) for a, b in part.ranges):
            lost = ", ".join(map(spelled, islice(part.ranges, 3)))
            yield gap.revealed, f"{gap.revealed_by} shows that {are(lost)} missing"


def is_uncertain(stream: FeedStream, gap: Gap) -> bool:
    """Whether a gap in a small space may be longer by all of it: a part of it that is no ordinary
    loss never came, or a silence before it was long enough for all numbers at the stream's pace."""
    part = gap.parts.get(Outcome.UNRECOVERED)
    if part is None or not 0 < stream.space <= SMALL:
        return False
    if part.ranges.total() >= max(1, MAX_DROPOUT * stream.space // SMALL):
        return True
    lasted_ns = stream.last_ns - stream.first.at_ns if stream.first is not None else 0
    before_ns = gap.revealed.at_ns if gap.before is None else gap.before.at_ns
    hidden_ns = gap.revealed.at_ns - before_ns
    return (
        hidden_ns > stream.settings.silence_ns
        and hidden_ns * stream.messages >= stream.space * lasted_ns
    )


def others_went_on(
    streams: Iterable[FeedStream], stream: FeedStream, since_ns: int, until_ns: int
) -> bool:
    """Whether another stream was captured all through a silence of one, so that the capture did not
    stand still, nor was its clock set. ``MAX_WITNESSES`` of the streams are asked."""
    return any(
        other is not stream and _went_on(other, since_ns, until_ns)
        for other in islice(streams, MAX_WITNESSES)
    )


def _went_on(other: FeedStream, since_ns: int, until_ns: int) -> bool:
    """Whether datagrams of a stream leave no room for a silence between two times."""
    if other.first is None or other.last is None or other.unlisted_pauses:
        return False
    room = other.settings.silence_ns
    if other.first.at_ns > since_ns + room or other.last.at_ns < until_ns - room:
        return False
    place = bisect_right(other.pauses, since_ns, key=lambda pause: pause.after.at_ns)
    for before, after in islice(other.pauses, place, None):
        if before.at_ns >= until_ns:
            break
        if min(after.at_ns, until_ns) - max(before.at_ns, since_ns) > room:
            return False
    return True
