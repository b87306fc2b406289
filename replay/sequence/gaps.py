"""Gaps: seqnos known to exist before their first arrival, and how each of them ended
(replay/README.md 5).

A gap is revealed by a higher seqno, by the sender's own word for its highest seqno, or by the
receiver's own request. One ``Gap`` is a stretch revealed at one moment; parts of it may end in
different ways and at different times. *How* a part ended is the protocol's business: the engine
hands a function that judges an arrival.

Gaps are only ever revealed above everything known so far, so the list stays sorted by itself.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from seqaudit.replay.sequence.gap_rows import GapFigures, Step
from seqaudit.replay.sequence.ranges import Range, RangeSet, inclusive

#: Open gaps that get an object of their own; further ones share the last (bounded memory, 7.4).
MAX_OPEN_GAPS: Final = 50_000
#: Ended gaps that a stream keeps for the report's gap table; the rest is counted.
MAX_KEPT_GAPS: Final = 10_000

#: Requests of a gap that are told one by one: the first ones, and the last.
MAX_ASKS: Final = 8
#: Pieces of a part of a gap, each with its time.
MAX_PIECES: Final = 256

#: What revealed a gap, as the report says it.
BY_SEQNO: Final = "a higher seqno"
BY_HIGHEST: Final = "HIGHEST_SEQNO"
BY_REQUEST: Final = "this member's own request"
BY_ACK: Final = "this member's own ACK"
BY_MERGE: Final = "a merge digest"


class Mark(NamedTuple):
    """A moment of the capture."""

    frame: int
    at_ns: int


class MarkOfTimer(Mark):
    """A moment at which a wait ended, behind a frame; no frame shows it."""

    __slots__ = ()


def shown_by(mark: Mark | None) -> int | None:
    """The frame in which a moment stands; null: none shows it."""
    return None if mark is None or isinstance(mark, MarkOfTimer) else mark.frame


class Ask(NamedTuple):
    """One request for seqnos of a gap.

    Attributes:
        by: null: the receiver of the stream.
        number: how many of it were asked for; null: not known.
    """

    mark: Mark
    by: str | None
    number: int | None = None

    def step(self) -> Step:
        """As a step of the gap's story."""
        return {"step": "asked", "frame": self.mark.frame, "at_ns": self.mark.at_ns, "by": self.by}


class Arrival(NamedTuple):
    """What is known of the datagrams that brought some seqnos."""

    first: Mark
    last: Mark
    repair: bool  # the wire says so (XMIT_RSP, RDATA)
    fresh_id: int | None  # IP id of the first datagram
    last_fresh_id: int | None

    def of(self, part: Range, run: Range) -> "Arrival":
        """Of a part of the run that it brought: only the first and the last message have times."""
        if part[1] - run[0] == 1:
            return self._replace(last=self.first, last_fresh_id=self.fresh_id)
        if run[1] - part[0] == 1:
            return self._replace(first=self.last, fresh_id=self.last_fresh_id)
        return self


class Outcome(StrEnum):
    """How seqnos of a gap ended (replay/README.md 5)."""

    REORDERED = "reordered"  # the original came late; nothing was lost
    RECOVERED = "recovered"  # lost, and a repair filled it
    EITHER = "recovered or late"  # a repair or a late original, which cannot be told
    UNRECOVERED = "unrecovered"  # never came
    GONE = "open at the member's end"  # this member died or left while it was missing
    CUT_OFF = "open at the capture's end"  # missing, and too early to call it lost
    ASKED = "asked for at the capture's end"  # the same, by a tick that asks until it has it
    NOT_YET = "not asked for yet"  # the same, and too early for a request as well
    UNCAPTURED = "not captured"  # the receiver says it has them: the capture missed them
    UNASKED = "not asked for"  # never came, and the receiver asked for others only, or for nothing
    REPAIRED = "repaired, not captured"  # asked for, and had later: the capture missed the repair
    STOPPED = "no longer asked for"  # asked for, but not to the end: it came, or was given up
    UNTOLD = "lost, or not captured"  # it never came, and nothing asks or acknowledges
    OTHER_LINE = "came on the other line"  # of two that carry the same: only this one lacks it
    BEFORE = "sent before the capture"  # an earlier window may have had it: was it lost?


#: What was open when a conversation ended has ended so, if its capture went on for long enough.
WENT_ON: Final = {
    Outcome.CUT_OFF: Outcome.UNRECOVERED,
    Outcome.ASKED: Outcome.STOPPED,
    Outcome.NOT_YET: Outcome.UNASKED,
}


def as_told(counts: dict[Outcome, int], *, over: bool) -> dict[Outcome, int]:
    """How many seqnos ended which way.

    Args:
        over: the capture is; else what was open then is counted as how it ends if not.
    """
    if over:
        return counts
    told = counts | dict.fromkeys(WENT_ON, 0)
    for early, late in WENT_ON.items():
        told[late] += counts[early]
    return told


@dataclass(slots=True)
class Part:
    """Seqnos of one gap that ended the same way."""

    ranges: RangeSet = field(default_factory=RangeSet)
    first: Mark | None = None  # when the first of them came
    last: Mark | None = None  # when the last of them came
    delivered: Mark | None = None  # when the last of them could be handed on
    requests: int | None = None  # until the last of them came; null: all for the gap
    pieces: list[tuple[Range, Mark]] = field(default_factory=list)  # where they came apart

    def came(self, piece: Range, last: Mark) -> None:
        """A piece of it came, which is not among its seqnos yet."""
        if self.last is not None and (self.pieces or self.last != last):
            self.pieces = self.pieces or [(own, self.last) for own in self.ranges]
            if len(self.pieces) < MAX_PIECES:
                self.pieces.append((piece, last))
        self.last = last

    def last_of(self, ranges: RangeSet) -> Mark | None:
        """When the last of some of its seqnos came; of those that came apart in too many pieces,
        the last of all."""
        own = [last for piece, last in self.pieces if ranges.within(*piece)]
        whole = not self.pieces or len(self.pieces) >= MAX_PIECES
        return self.last if whole else max(own, default=self.last, key=_in_capture)

    def emptied(self) -> "Part":
        """Its times, for seqnos that ended another way than was thought."""
        return replace(self, ranges=RangeSet(), pieces=list(self.pieces))


@dataclass(slots=True)
class Gap:
    """A stretch of missing seqnos that was revealed at one moment."""

    first: int
    stop: int
    before: Mark | None  # last arrival before it: the loss happened after this frame
    revealed: Mark
    revealed_by: str
    reveal_id: int | None  # IP id of the revealing datagram, if it was a numbered message
    arrivals_before: int  # messages of the stream that had arrived by then
    open: RangeSet = field(default_factory=RangeSet)
    requested: Mark | None = None
    requests: int = 0
    parts: dict[Outcome, Part] = field(default_factory=dict)
    asks: list[Ask] = field(default_factory=list)
    asks_more: int = 0  # between the last two of them

    def asked(self, mark: Mark, by: str | None = None, count: int = 1) -> None:
        """Somebody asked for so many seqnos of it."""
        if self.asks and self.asks[-1].mark == mark:  # one message may ask for several ranges
            self.asks[-1] = Ask(mark, by, (self.asks[-1].number or 0) + count)
            return
        self.requests += 1
        if self.requested is None:
            self.requested = mark
        if len(self.asks) < MAX_ASKS:
            self.asks.append(Ask(mark, by, count))
        else:
            self.asks[-1] = Ask(mark, by, count)
            self.asks_more += 1

    def turn(self, ranges: Iterable[Range], old: Outcome, new: Outcome) -> list[Range]:
        """What of these ended one way is found to have ended another; returns it. What never came
        has no times."""
        was = self.parts.get(old)
        if was is None:
            return []
        turned = [piece for first, stop in ranges for piece in was.ranges.remove(first, stop)]
        if turned:
            came = new is not Outcome.UNRECOVERED
            part = self.parts.setdefault(new, was.emptied() if came else Part())
            for piece in turned:
                part.ranges.add(*piece)
        if not was.ranges:
            del self.parts[old]
        return turned

    def heard(self, part: Part) -> list[Step]:
        """What its story needs beside the row's own figures: of this part no request behind it."""
        steps: list[Step] = []
        for ask in self.asks:
            if part.last is not None and ask.mark.frame > part.last.frame:
                break
            steps.append(ask.step())
            if len(self.parts) == 1 and ask.number and ask.number < self.stop - self.first:
                steps[-1]["some"] = [ask.number, self.stop - self.first]
        if part.first is not None and part.first != part.last:
            first = part.first
            steps.append({"step": "first came", "frame": first.frame, "at_ns": first.at_ns})
        if isinstance(part.delivered, MarkOfTimer):
            steps.append({
                "step": "handed on", "frame": None, "at_ns": part.delivered.at_ns,
                "says": "handed on when a wait ended: no frame shows it",
            })  # fmt: skip
        return steps

    def _asked_for(self, part: Part) -> tuple[Mark | None, int]:
        """The first request for a part of it and their number: what came before others of the gap
        were asked for was not."""
        requests = self.requests if part.requests is None else part.requests
        return (self.requested if requests else None), requests

    def of_some(self, row: GapFigures, seqnos: RangeSet, *, asked: bool) -> GapFigures:
        """The row of a part, of some of its seqnos.

        Args:
            asked: they were asked for, if any of the part were.
        """
        part = self.parts[Outcome(row["outcome"])]
        requested, requests = self._asked_for(part) if asked else (None, 0)
        last = part.last_of(seqnos)
        return {
            **row,
            "seqnos": inclusive(seqnos),
            "count": seqnos.total(),
            "requested_frame": requested.frame if requested else None,
            "requested_after_ns": between(self.revealed, requested),
            "requests": requests,
            "repaired_frame": last.frame if last else None,
            "repaired_after_ns": between(requested or self.revealed, last),
        }

    def rows(self, open_until_ns: int | None = None) -> list[GapFigures]:
        """The report's gap rows, one an outcome.

        Args:
            open_until_ns: what of it never came is lost if the capture ends then or later.
        """
        found: list[GapFigures] = []
        for outcome, part in sorted(self.parts.items()):
            requested, requests = self._asked_for(part)
            row: GapFigures = {
                "seqnos": inclusive(part.ranges),
                "count": part.ranges.total(),
                "outcome": str(outcome),
                "lost_after_frame": self.before.frame if self.before else None,
                "revealed_frame": self.revealed.frame,
                "revealed_at_ns": self.revealed.at_ns,
                "revealed_by": self.revealed_by,
                "revealed_after_ns": between(self.before, self.revealed),
                "requested_frame": requested.frame if requested else None,
                "requested_after_ns": between(self.revealed, requested),
                "requests": requests,
                "repaired_frame": part.last.frame if part.last else None,
                "repaired_after_ns": between(requested or self.revealed, part.last),
                "delivered_frame": shown_by(part.delivered),
                "delivered_after_ns": between(self.revealed, part.delivered),
            }
            if isinstance(part.delivered, MarkOfTimer):
                row["waited_ns"], row["delivered_after_ns"] = row["delivered_after_ns"], None
            if open_until_ns is not None and outcome is Outcome.UNRECOVERED:
                row["open_until_ns"] = open_until_ns
            if steps := self.heard(part):
                row["heard"], row["heard_more"] = steps, self.asks_more
            found.append(row)
        return found

    def texts(self, open_until_ns: int | None = None) -> list[str]:
        """The same rows as ``results.compact`` writes them: a feed may have a thousand a stream.

        A feed hands on nothing when a wait ends.
        """
        return [
            f'{{"count":{part.ranges.total()},'
            f'"delivered_after_ns":{_json(between(self.revealed, part.delivered))},'
            f'"delivered_frame":{_frame(part.delivered)},'
            f"{self._json_heard(part)}"
            f'"lost_after_frame":{_frame(self.before)},'
            f"{_json_until(outcome, open_until_ns)}"
            f'"outcome":"{outcome}",'
            f'"repaired_after_ns":{_json(between(requested or self.revealed, part.last))},'
            f'"repaired_frame":{_frame(part.last)},'
            f'"requested_after_ns":{_json(between(self.revealed, requested))},'
            f'"requested_frame":{_frame(requested)},'
            f'"requests":{requests},'
            f'"revealed_after_ns":{_json(between(self.before, self.revealed))},'
            f'"revealed_at_ns":{self.revealed.at_ns},'
            f'"revealed_by":"{self.revealed_by}",'
            f'"revealed_frame":{self.revealed.frame},'
            f'"seqnos":[{",".join([f"[{a},{b - 1}]" for a, b in part.ranges])}]}}'
            for outcome, part in (
                self.parts.items() if len(self.parts) == 1 else sorted(self.parts.items())
            )
            for requested, requests in (self._asked_for(part),)
        ]

    def _json_heard(self, part: Part) -> str:
        steps = self.heard(part)
        if not steps:
            return ""
        told = json.dumps(steps, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return f'"heard":{told},"heard_more":{self.asks_more},'


def _json_until(outcome: Outcome, open_until_ns: int | None) -> str:
    if open_until_ns is None or outcome is not Outcome.UNRECOVERED:
        return ""
    return f'"open_until_ns":{open_until_ns},'


def _json(value: int | None) -> str:
    return "null" if value is None else str(value)


def _frame(mark: Mark | None) -> str:
    return "null" if mark is None else str(mark.frame)


def between(start: Mark | None, stop: Mark | None) -> int | None:
    """Null where one of them is not known, or where the order is the other one."""
    if start is None or stop is None or stop.at_ns < start.at_ns:
        return None
    return stop.at_ns - start.at_ns


def _in_capture(mark: Mark) -> int:
    return mark.frame


Judge = Callable[[Gap, Range, Arrival], Outcome]


class GapTracker:
    """Which seqnos of a stream have arrived, which are missing, and how missing ones ended.

    Args:
        start: the first seqno expected; lower ones are none of the tracker's business.
        judge: says how the part of a gap that an arrival fills has ended.
        closed: called with every gap none of whose seqnos is open any more.
        filled: called with (gap, range, outcome, part) for every part as it ends.
    """

    __slots__ = (
        "_closed", "_filled", "_firsts", "_gaps", "_judge", "_start", "arrived", "first",
        "known_stop", "last", "seen", "unseen",
    )  # fmt: skip

    def __init__(
        self,
        start: int,
        judge: Judge,
        closed: Callable[[Gap], None],
        filled: Callable[[Gap, Range, Outcome, Part], None],
    ) -> None:
        self.seen = RangeSet()
        self.unseen = RangeSet()  # of these: its receiver had them, and the capture lacks how
        self.known_stop = start
        self.arrived = 0  # distinct seqnos at or above start
        self.first: Arrival | None = None  # what brought the first seqnos
        self.last: Mark | None = None  # last arrival of a new seqno
        self._start = start
        self._judge = judge
        self._closed = closed
        self._filled = filled
        self._gaps: list[Gap] = []
        self._firsts: list[int] = []

    def reveal(self, stop: int, mark: Mark, by: str, fresh_id: int | None = None) -> Gap | None:
        """Everything below ``stop`` exists; what of it has not arrived becomes a gap."""
        if stop <= self.known_stop:
            return None
        first, self.known_stop = self.known_stop, stop
        if len(self._gaps) >= MAX_OPEN_GAPS:
            gap = self._gaps[-1]
            gap.stop = stop
        else:
            gap = Gap(first, stop, self.last, mark, by, fresh_id, self.arrived)
            self._gaps.append(gap)
            self._firsts.append(first)
        gap.open.add(first, stop)
        return gap

    def expect_from(self, first: int) -> None:
        """The stream is known to go back to ``first``, below what was expected so far.

        What lies between existed when the first message arrived, so that is where the gap showed.
        """
        if first >= self._start:
            return
        stop, self._start = self._start, first
        if self.first is None:
            if not self._gaps:
                self.known_stop = first
            else:
                self._gaps[0].first = self._firsts[0] = first
                self._gaps[0].open.add(first, stop)
            return
        gap = Gap(first, stop, None, self.first.first, BY_SEQNO, self.first.fresh_id, 0)
        gap.open.add(first, stop)
        self._gaps.insert(0, gap)
        self._firsts.insert(0, first)

    def arrive(self, first: int, stop: int, arrival: Arrival, by: str) -> list[Range]:
        """[first, stop) arrived; returns what of it had not arrived before, in order."""
        if first > self.known_stop:
            self.reveal(first, arrival.first, by, arrival.fresh_id)
        high = self.known_stop
        new = self.seen.add(first, stop)
        if not new:
            return new
        if first < high and self._gaps:
            for part in new:
                if part[0] < high:
                    self._fill((part[0], min(part[1], high)), arrival)
        self.known_stop = max(high, stop)
        self.arrived += sum(b - a for a, b in new)
        self.first = self.first or arrival
        self.last = arrival.last
        return new

    def request(self, first: int, stop: int, mark: Mark, by: str | None = None) -> None:
        """[first, stop) was asked for; every open gap it touches was requested.

        Args:
            by: null: the receiver of the stream.
        """
        for gap in self._touching(first, stop):
            gap.asked(mark, by, sum(b - a for a, b in gap.open.within(first, stop)))

    def open_within(self, first: int, stop: int) -> list[Range]:
        """Missing seqnos of [first, stop), in order."""
        return [r for gap in self._touching(first, stop) for r in gap.open.within(first, stop)]

    def missing(self) -> list[Range]:
        """All seqnos that are known to exist and have not arrived, in order."""
        return [r for gap in self._gaps for r in gap.open]

    def gap_of(self, seqno: int) -> Gap | None:
        """The open gap that holds this seqno, if it is missing."""
        return next(iter(self._touching(seqno, seqno + 1)), None)

    def close(self, stop: int, outcome: Outcome, mark: Mark | None) -> list[Range]:
        """Everything missing below ``stop`` ends this way; returns what it was."""
        return self.close_within(-(2**63), stop, outcome, mark)

    def close_within(
        self, first: int, stop: int, outcome: Outcome, mark: Mark | None
    ) -> list[Range]:
        """What is missing of [first, stop) ends this way; returns what it was."""
        ended: list[Range] = []
        for gap in self._touching(first, stop):
            for part in gap.open.within(first, stop):
                ended.append(part)
                self._end(gap, part, outcome, mark)
        if outcome in (Outcome.UNCAPTURED, Outcome.REPAIRED):
            for part in ended:
                self.seen.add(*part)
                self.unseen.add(*part)
        return ended

    def give_up(self) -> None:
        """Nobody misses any more what is still missing: gaps end with what of them has ended."""
        for gap in list(self._gaps):
            gap.open = RangeSet()
            self._leave(gap)

    def _touching(self, first: int, stop: int) -> list[Gap]:
        place = max(bisect_right(self._firsts, first) - 1, 0)
        found = []
        while place < len(self._gaps) and self._firsts[place] < stop:
            gap = self._gaps[place]
            if gap.open.within(first, stop):
                found.append(gap)
            place += 1
        return found

    def _fill(self, part: Range, arrival: Arrival) -> None:
        for gap in self._touching(*part):
            for piece in gap.open.within(*part):
                if gap.revealed_by == BY_HIGHEST and gap.revealed.frame == arrival.last.frame:
                    self._was_there(gap, piece)
                    continue
                outcome = self._judge(gap, piece, arrival)
                self._end(gap, piece, outcome, arrival.last, arrival.first)

    def _was_there(self, gap: Gap, piece: Range) -> None:
        """It came in the very frame that told of it: it was never missing."""
        gap.open.remove(*piece)
        if not gap.open:
            self._leave(gap)

    def _end(
        self, gap: Gap, piece: Range, outcome: Outcome, last: Mark | None, first: Mark | None = None
    ) -> None:
        gap.open.remove(*piece)
        part = gap.parts.setdefault(outcome, Part())
        if last is not None:
            part.came(piece, last)
            part.requests = gap.requests
        part.ranges.add(*piece)
        part.first = part.first or first or last
        self._filled(gap, piece, outcome, part)
        if not gap.open:
            self._leave(gap)

    def _leave(self, gap: Gap) -> None:
        """Nothing of it is missing any more."""
        place = bisect_right(self._firsts, gap.first) - 1
        assert self._gaps[place] is gap, "the list of open gaps is sorted by first seqno"
        del self._gaps[place], self._firsts[place]
        if gap.parts:
            self._closed(gap)
