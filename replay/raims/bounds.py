"""Bounds of raims losses tightened by other captures of the same job (issue step 3; raims.md 9).

What one capture cannot count another may hold: the messages of the same publisher and subject
between the two numbers of a loss. A capture at the publisher of a PGM session has all of them, so
there the bounds meet. Works on streams and tables as the report has them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, cast

from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.results import GapDetail, Row
from seqaudit.replay.raims.seqno import BASE_BITS, key
from seqaudit.replay.raims.truth import BY_NOTICE
from seqaudit.replay.sequence.ranges import RangeSet

BY_OTHER: Final = "another capture of this job"

#: Losses as rows by capture, stream, place in the list of the stream, and time: a daemon that
#: started again has several streams of one name.
Settled = dict[tuple[int, str, int, int], Row]

#: In place of an upper bound where nothing bounds a loss.
UNBOUNDED: Final = "an unknown number of"


def tighten(streams: Sequence[Row], tables: Mapping[str, Sequence[Row]]) -> None:
    """Change ``losses``, ``lost`` and ``lost_upper`` of streams, and the loss table, in place."""
    by_name: dict[tuple[str, str], list[Row]] = {}
    for stream in streams:
        if stream["system"] == "raims" and stream["time_frames"]:
            by_name.setdefault((stream["sender"], stream["subject"]), []).append(stream)
    _tighten_numbered(streams)
    for several in by_name.values():
        for stream in several:
            if stream["losses"] and len(several) > 1:
                _tighten(stream, [other for other in several if other is not stream])
    _total(by_name, tables.get("loss", ()))


def settled(streams: Iterable[Row]) -> Settled:
    """The losses of streams as they are now."""
    return {
        (stream["capture"], stream["id"], place, loss["at_ns"]): loss
        for stream in streams
        for place, loss in enumerate(stream["losses"])
    }


def restated(detail: PlacedFinding, now: Settled) -> PlacedFinding:
    """A finding about losses with the bounds that they have now."""
    facts = detail["facts"]
    own = cast(list[tuple[int, int]], facts.get("losses", []))
    at = detail["capture"], detail["stream"] or ""
    losses = [now[*at, *loss] for loss in own if (*at, *loss) in now]
    if not losses or len(losses) < len(own):
        return detail
    uppers = [loss["upper"] for loss in losses]
    bounds = bounds_of(
        sum(loss["lower"] for loss in losses), None if None in uppers else sum(uppers)
    )
    return {**detail, "facts": facts | bounds}


def bounds_of(lower: int, upper: int | None) -> Row:
    """Facts of a loss: its bounds, and both in words: 4; 1 to 830; 4 or more."""
    told = f"{lower} or more" if upper is None else f"{lower} to {upper}"
    return {
        "lower": lower,
        "upper": UNBOUNDED if upper is None else upper,
        "bounds": lower if lower == upper else told,
    }


def restated_gap(gap: GapDetail, now: Settled) -> GapDetail:
    """A gap with the bounds that its loss has now."""
    loss = now.get((gap["capture"], gap["stream"] or "", *gap["loss"]))
    return gap if loss is None else gap | {"count": loss["lower"], "count_upper": loss["upper"]}


def _tighten(stream: Row, others: list[Row]) -> None:
    own = _seen(stream)
    lower, upper = _sums(stream)
    for loss in stream["losses"]:
        # before the first message here, and behind the last, another may have begun or ended
        if loss["known_by"] == BY_NOTICE or None in (loss["before"], loss["after"]):
            continue
        for other in others:
            if other["capture"] == stream["capture"]:
                continue
            seen = _seen(other)
            low, high = key(loss["after"]), key(loss["before"])
            held = _count(seen, low + 1, high) - _count(own, low + 1, high)
            # what the daemon may have had is not lost because another capture has it too
            if held > loss["lower"] and not loss["some_may_have_come"]:
                loss["lower"], loss["known_by"] = held, BY_OTHER
            # over TCP what was never sent is in no capture
            if loss["missing_sqns"] is not None and _is_whole(other, low, high):
                loss["upper"] = max(held + loss["untaken"], loss["lower"])
                loss["known_by"] = BY_OTHER
        if loss["upper"] is not None:
            loss["upper"] = max(loss["upper"], loss["lower"])
    if stream["lost"] is None:
        return
    now_lower, now_upper = _sums(stream)  # of those that are listed
    stream["lost"] = stream["unrecovered"] = stream["lost"] + now_lower - lower
    if upper is not None and now_upper is not None and stream["lost_upper"] is not None:
        stream["lost_upper"] += now_upper - upper
    elif not stream["unlisted_gaps"]:
        stream["lost_upper"] = now_upper


def _sums(stream: Row) -> tuple[int, int | None]:
    """The least and the most of a stream's losses together; null where nothing bounds one."""
    uppers = [loss["upper"] for loss in stream["losses"]]
    lower = sum(loss["lower"] for loss in stream["losses"])
    return lower, None if None in uppers else sum(uppers)


def _is_whole(stream: Row, first: int, last: int) -> bool:
    """Does a publisher's own capture hold all of its messages from one to another? By their numbers
    and chains: a frame without a chain says nothing of what was before it."""
    if stream["role"] != "sender":
        return False
    before: int | None = None
    for frame in stream["time_frames"]:
        low = frame["time_frame"] << BASE_BITS
        numbers = frame["numbers"]
        if low + numbers[-1][1] < first or low > last:
            continue
        chain = frame["chain"]
        begins = chain is not None and before is not None and key(chain) == before
        if before is None:
            begins = low + numbers[0][0] <= first
        if len(numbers) > 1 or not begins or (before is not None and numbers[0][0] > 1):
            return False
        before = low + numbers[0][1]
    return before is not None and before >= last


def _tighten_numbered(streams: Sequence[Row]) -> None:
    """GLSNO: whose the missing numbers are, by a capture that has them."""
    numbered = [s for s in streams if s["system"] == "raims" and s["numbers_by_subject"]]
    for stream in numbered:
        own = _numbers(stream["numbers_by_subject"].values())
        span = RangeSet([(own.first(), own.stop())])
        missing = span.total() - own.total()
        if not missing or stream["lost_by_subject"] is None:
            continue
        for other in numbered:
            same = (other["sender"], other["subject"]) == (stream["sender"], stream["subject"])
            if not same or other["role"] != "sender" or other["capture"] == stream["capture"]:
                continue
            for subject, ranges in other["numbers_by_subject"].items():
                held = _numbers([ranges])
                lost = sum(_count(held, low, high) for low, high in _holes(own))
                stream["lost_by_subject"][subject] = [lost, lost]


def _numbers(several: Iterable[Iterable[list[int]]]) -> RangeSet:
    return RangeSet((first, last + 1) for ranges in several for first, last in ranges)


def _holes(seen: RangeSet) -> Iterable[tuple[int, int]]:
    return [(a[1], b[0]) for a, b in pairwise(seen)]


def _total(by_name: Mapping[tuple[str, str], list[Row]], table: Sequence[Row]) -> None:
    """The loss table's bounds as the sums of its streams."""
    sums: dict[tuple[int, str | None, str], tuple[int | None, int | None]] = {}
    for several in by_name.values():
        for stream in several:
            if stream["role"] != "receiver":
                continue
            at = (stream["capture"], stream["receiver"], stream["sender"])
            low, high = sums.get(at, (0, 0))
            upper, lost = stream["lost_upper"], stream["lost"]
            sums[at] = (
                None if None in (low, lost) else low + lost,  # the capture may have missed them
                None if None in (high, upper) else high + upper,
            )
    for row in table:
        found = sums.get((row["capture"], row["observer"], row["bridge"]))
        if found is None or "lost" in row["unknown"]:
            continue
        row["lost_lower"] = found[0]
        row["lost_upper"] = None if "lost_upper" in row["unknown"] else found[1]


def _seen(stream: Row) -> RangeSet:
    return RangeSet(
        (
            frame["time_frame"] << BASE_BITS | first,
            (frame["time_frame"] << BASE_BITS | last) + 1,
        )
        for frame in stream["time_frames"]
        for first, last in frame["numbers"]
    )


def _count(seen: RangeSet, low: int, high: int) -> int:
    return sum(max(0, min(b, high) - max(a, low)) for a, b in seen)
