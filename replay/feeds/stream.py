"""One numbered stream of a feed, as it arrived at the place of capture (decoders/README.md 5,
replay/README.md 5).

Rows come in the order of the capture, cut anywhere. What is above the highest number so far may be
taken many rows at a time; everything else goes one by one through ``_one``:

    row                                                       what it is
    L0  first of the stream                                   its numbering begins
    L1  flagged as a network duplicate                        a copy
    L2  in the numbering that a restart had left, and not     that one goes on (``switches``)
        near the highest number
    L3  at or above the highest number, not too far           in order; what it skips is a hole
    L4  below, and its first fills a hole, or is at most      late, or a copy
        ``restart_distance`` behind
    L5  anywhere else                                         on trial

On trial are rows that would be old copies, or are far ahead: the sender may have begun anew. RFC
3550 A.1 (a sequence that goes on in a new place is a restart) with more proof than its two packets,
since what was resent in bulk looks alike for a moment. A row is complete when the next one does not
continue it; so nothing here depends on where a run was cut.

    next row                                                  the trial
    T1  and the trial had RESTART_NUMBERS over restart_ms     is a restart, in force since it began
    T2  at or above the highest number of the numbering, and  was old copies, or strays far ahead
        near it or not near the trial (``_is_next``)
    T3  goes on in it, at most ``restart_distance`` on        goes on
    T4  below it, as L1 or L4                                 goes on; the row is judged as ever
    T5  elsewhere                                             as T2; that row is on trial
    T6  none: the stream ends                                 a restart if it had RESTART_NUMBERS or
                                                              lasted restart_ms, and came in order
                                                              (``Trial.in_order``); else as T2

A heartbeat or an end of session whose next number goes on as T2 says ends the trial too.

How the part of a hole that a late row fills has ended, first that fits (A1 to A6 of ``arrivals``
are the same question where requests are a receiver's own):

    F1  the row is marked as a repair                         recovered
    F2  it had been asked for, and repairs are not marked     recovered or late
    F3  within late_ms of the hole's revelation               reordered
    F4  later                                                 recovered or late
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.feeds.holes import Filled, Hole, Int64s
from seqaudit.replay.feeds.notes import (
    MAX_RANGES,
    Ended,
    Noted,
    Outage,
    Pause,
    Restart,
    StreamSettings,
    Taken,
    Trial,
)
from seqaudit.replay.feeds.numbering import (
    BY,
    BY_END,
    BY_HEARTBEAT,
    BY_NUMBER,
    BY_REPAIR,
    Numbering,
)
from seqaudit.replay.feeds.rows import Columns, Row, alike, joined
from seqaudit.replay.sequence.durations import Durations
from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome, Part
from seqaudit.replay.sequence.notes import Times
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.sequence.unwrap import unwrap

#: A restart is this many numbers in the new place, or more.
RESTART_NUMBERS: Final = 64
#: A trial with so many rows is one without waiting longer (bounded memory).
MAX_TRIAL_ROWS: Final = 1 << 16
#: Gaps of a stream that get a row in the report; the rest is counted.
MAX_LISTED: Final = 1_000
#: Senders that are named.
MAX_SENDERS: Final = 16
#: Stretches that are remembered as asked for.
MAX_ASKED: Final = 50_000
#: Below so many rows columns cost more than they save.
FEW: Final = 48
#: Rows looked at together; a row that must be judged alone costs at most so many.
STRETCH: Final = 8192
#: Behind all frames.
_LAST: Final = 1 << 62
DUPLICATE: Final = int(Flag.NETWORK_DUPLICATE)
_DATA: Final = int(Kind.DATA)
_REPAIR: Final = int(Kind.RETRANSMISSION)
#: A feed keeps what is missing elsewhere, so its gaps share this; it stays empty.
_NOTHING: Final = RangeSet()
_NO_COUNTS: Final[dict[Outcome, int]] = dict.fromkeys(Outcome, 0)


class FeedStream:
    """One numbered stream; ``sink`` hears of every row that belongs to its numbering."""

    __slots__ = (
        "_held", "_held_high", "_held_revealed", "_near", "_numberings", "_order", "_source",
        "_trial",
        "after_end", "arrivals", "asked", "bits", "bytes", "copies", "counts", "declares",
        "deepest", "destination", "duplicates", "either", "ended", "ended_numberings", "first",
        "forgotten", "gap_count", "gaps", "highest", "key", "last_frame", "last_ns", "late",
        "lowest", "messages", "needless", "now", "odd_counts", "open_at_end", "open_count",
        "outages", "past", "pauses", "recovered", "recovery", "reordered", "restarts", "sender",
        "senders", "settings", "sink", "strays", "switches", "tails", "undecidable",
        "unlisted_pauses", "unrecovered", "useful", "wraps",
    )  # fmt: skip

    def __init__(self, key: str, settings: StreamSettings) -> None:
        self.key = key
        self.settings = settings
        self.bits = 64
        self.declares: frozenset[str] = frozenset()
        self.sender: str | None = None
        self.destination: str | None = None
        self.senders: list[str] = []
        self.now: Numbering | None = None
        self.past: Numbering | None = None  # left by a restart that may be none
        self.restarts: list[Restart] = []
        self.switches = Times()
        self.strays = Noted()
        self.arrivals = 0
        self.bytes = 0
        self.first: Mark | None = None
        self.last_frame = -1  # of the last moment, none before ``first``
        self.last_ns = 0
        self.lowest: int | None = None
        self.highest: int | None = None
        self.messages = 0  # of numberings that have ended
        self.gap_count = 0
        self.gaps: dict[tuple[int, int], Gap] = {}  # (numbering, id) -> gap, the first ones
        self.counts = _NO_COUNTS.copy()
        self.unrecovered = RangeSet()  # the first ones
        self.open_at_end: list[Hole] = []
        self.open_count = 0
        self.tails = Noted()
        self.outages: dict[tuple[int, int], Outage] = {}  # (numbering, id) of a hole
        self.recovered = Noted()
        self.either = Noted()
        self.reordered = Noted()
        self.late = Durations()
        self.deepest = 0
        self.recovery = Durations()
        self.duplicates = Noted()
        self.copies = Noted()
        self.forgotten = 0
        self.useful = 0
        self.needless = Noted()
        self.undecidable = 0
        self.asked = RangeSet()
        self.ended: tuple[int, Mark] | None = None
        self.after_end = Noted()
        self.pauses: list[Pause] = []
        self.unlisted_pauses = 0
        self.wraps = 0
        self.odd_counts = 0  # datagrams whose message blocks do not show their count
        self.sink: list[Taken] | None = None  # of a line: what it takes, for the pair
        self.ended_numberings: dict[int, Ended] = {}
        self._numberings = 0
        self._near: int | None = None  # last number seen, for unwrapping
        self._held: Row | None = None
        self._held_high = 0
        self._held_revealed = 0
        self._trial: Trial | None = None
        self._source = ""  # of the last row; it is known
        self._order = 0  # frame of the row that is looked at

    @property
    def last(self) -> Mark | None:
        """The last moment; null before the first."""
        return None if self.first is None else Mark(self.last_frame, self.last_ns)

    # -- rows ------------------------------------------------------------------------------------

    def take(self, columns: Columns) -> None:
        """Rows in order, as columns."""
        count = len(columns)
        if count < FEW:
            self.take_rows(columns.rows(0, count))
            return
        special = np.flatnonzero(
            (columns.kind != _DATA) | (columns.flags & DUPLICATE != 0)
        ).tolist()
        special.append(count)
        place, following = 0, 0
        while place < count:
            while special[following] < place:
                following += 1
            stop = special[following]
            if stop - place >= FEW and self.now is not None and self._trial is None:
                taken = self._stretch(columns, place, min(stop, place + STRETCH))
                place += taken
                if taken == STRETCH or place >= count:
                    continue
                if taken >= FEW and place == stop:
                    stop = place + 1
            stop = min(count, max(stop, place + 1), place + FEW)
            self.take_rows(columns.rows(place, stop))
            place = stop

    def take_rows(self, rows: Iterable[Row]) -> None:
        """Rows in order: L3 and L4 as they mostly are, and all others by ``_one``."""
        settings = self.settings
        silence_ns, max_jump = settings.silence_ns, settings.max_jump
        near_by = settings.restart_distance
        space = (1 << self.bits) - 1 if self.bits < 63 else 0
        for row in rows:
            first, stop, frame, at_ns, last_frame, last_ns, kind, flags, size, _, source = row
            now = self.now
            if (
                kind != _DATA
                or now is None
                or self._trial is not None
                or self.past is not None
                or self.ended is not None
                or first >= stop
                or at_ns - self.last_ns > silence_ns
            ):
                self._one(row)
                continue
            if space and self._near is not None:
                stop -= first
                first = unwrap(first, self._near, space)
                stop += first
            high, held = now.high, self._held
            if held is not None and held.stop == first:
                self._one(row)
                continue
            if first >= high:
                if first - high > max_jump:
                    self._one(row)
                    continue
                self._order = frame
                if held is not None:
                    self._end_held()
                if first > high:
                    self._reveal(now, first, frame, at_ns, BY_NUMBER)
                if self.sink is not None:
                    self._taken(first, stop, frame, at_ns, BY_NUMBER)
                now.high = stop
                now.before_frame, now.before_ns = last_frame, last_ns
            elif stop <= high and (
                high - first <= near_by
                or flags & DUPLICATE
                or (held is None and now.holes.misses(first))  # L4: it may fill that
            ):
                if stop == high:
                    now.before_frame, now.before_ns = last_frame, last_ns
                if held is not None:
                    self._order = frame
                    self._end_held()
                self._held = row if not space else row._replace(first=first, stop=stop)
                self._held_high, self._held_revealed = high, now.holes.revealed
            else:
                self._one(row)
                continue
            if last_frame >= self.last_frame:
                self.last_frame, self.last_ns = last_frame, last_ns
            if source != self._source:
                self._sent_by(source)
            self._near = stop - 1
            self.arrivals += stop - first
            self.bytes += size

    def take_one(self, row: Row) -> None:
        """One row."""
        self._one(row)

    def close(self, end_ns: int) -> None:
        """Nothing follows until ``end_ns``, when the conversation ended."""
        self._order = _LAST
        self._end_held()
        trial, self._trial = self._trial, None
        if trial is not None:  # T6
            enough = trial.numbers >= RESTART_NUMBERS or self._lasted(trial)
            if enough and trial.in_order():
                self._restart(trial, sure=False)
            else:
                self._refuse(trial)
            self._end_held()
        for numbering in (self.past, self.now):
            if numbering is not None:
                self._retire(numbering, end_ns)
        self.past = self.now = None

    def reset(self, start: int | None, mark: Mark) -> None:
        """The sender declares that numbering begins anew, at ``start`` if it says so."""
        self._settle()
        expected = None
        if self.now is not None:
            expected = self.now.high
            self._retire(self.now)
            self.now = None
        self._note_restart(Restart(mark, expected, -1 if start is None else start, True, True))
        self._near = None
        self.ended = None
        if start is not None:
            self._begin(start, mark)
            self._near = start

    def standing(self, first: int, stop: int) -> tuple[list[Range], int]:
        """What of [first, stop) is missing, and one past the highest number known."""
        self._end_held()
        now = self.now
        if now is None:
            return [], first
        return now.holes.within(first, min(stop, now.high)), now.high

    def was_asked(self, first: int, stop: int, mark: Mark, by: str | None) -> None:
        """Somebody asked for [first, stop)."""
        if len(self.asked) < MAX_ASKED:
            self.asked.add(first, stop)
        now = self.now
        if now is None:
            return
        for hole in now.holes.ids_within(first, min(stop, now.high), MAX_LISTED):
            gap = self._gap(now, hole)
            if gap is not None:
                gap.asked(mark, by)

    def begin_near(self, other: "FeedStream") -> None:
        """Numbers on the wire stand for those near the other line's."""
        self._near = other.last_number()

    def last_number(self) -> int | None:
        """The last number seen."""
        return self._near

    def nearest(self, raw: int) -> int:
        """The number that a raw one of a request or repair stands for."""
        return self._unwrapped(raw)

    # -- one row ---------------------------------------------------------------------------------

    def _one(self, row: Row) -> None:
        self._order = row.frame
        self._meet(row)
        kind = row.kind
        if kind in (_DATA, _REPAIR):
            first, stop = row.first, row.stop
            if self.bits < 63 and self._near is not None:
                first = self._unwrapped(first)
                stop += first - row.first
                row = row._replace(first=first, stop=stop)
            if kind == _DATA:
                self._near = stop - 1
            self.arrivals += stop - first
            self.bytes += row.size
            self._data(row)
        elif kind == Kind.HIGHEST:
            self._told(row, BY_HEARTBEAT)
        elif kind == Kind.CLOSE:
            self._told(row, BY_END)
        elif kind == Kind.NOTICE:
            self.reset(None if row.stop < 0 else row.stop, row.mark())

    def _meet(self, row: Row) -> None:
        if self.first is None:
            self.first = row.mark()
        elif row.at_ns - self.last_ns > self.settings.silence_ns:
            self._pause(Pause(Mark(self.last_frame, self.last_ns), row.mark()))
        if row.last_frame >= self.last_frame:
            self.last_frame, self.last_ns = row.last_frame, row.last_ns
        if row.kind != _REPAIR and row.source != self._source:
            self._sent_by(row.source)

    def _sent_by(self, source: str) -> None:
        if source and source not in self.senders and len(self.senders) < MAX_SENDERS:
            self.sender = self.sender or source
            self.senders.append(source)
        self._source = source

    def _pause(self, pause: Pause) -> None:
        if len(self.pauses) < MAX_LISTED:
            self.pauses.append(pause)
        else:
            self.unlisted_pauses += 1

    def _unwrapped(self, raw: int) -> int:
        if self.bits >= 63 or self._near is None:
            return raw
        return unwrap(raw, self._near, (1 << self.bits) - 1)

    def _data(self, row: Row) -> None:
        held = self._held
        now = self.now
        if now is not None and row.kind == _REPAIR and row.first < row.stop == now.high:
            now.before_frame, now.before_ns = row.last_frame, row.last_ns  # it is complete
        if self._trial is not None and row.flags & DUPLICATE:
            self._trial.alive(row.stop, row.last())
        if held is not None and row.first == held.stop and _continues(held, row):
            known = self._known() if row.flags & DUPLICATE else -1 if now is None else now.high
            limit = max(known, held.stop)
            if row.stop <= limit:
                self._held = joined(held, row)
                return
            if row.first < limit:
                self._held = joined(held, row._replace(stop=limit))
            # What goes on above came with the rest, as if the row had not been cut.
            row = row._replace(first=limit, frame=held.frame, at_ns=held.at_ns)
            self._end_held()
        elif held is not None:
            self._end_held()
        if row.flags & DUPLICATE and row.stop <= self._known():  # L1
            self._behind(row)
        elif row.kind == _REPAIR:
            self._repair(row)
        elif self._trial is not None:
            self._while_on_trial(row, self._trial)
        elif now is None:  # L0
            self._begin(row.first, row.mark())
            self._ahead(row)
        else:
            self._place(row, now)

    def _known(self) -> int:
        """One past the highest number that can have been seen before."""
        high = -1 if self.now is None else self.now.high
        return high if self._trial is None else max(high, self._trial.next)

    def _place(self, row: Row, now: Numbering) -> None:
        settings = self.settings
        distance = row.first - now.high
        if abs(distance) > settings.restart_distance and self._is_past(row):  # L2
            self.past, self.now = now, self.past
            self.switches.add(row.mark())
            assert self.now is not None, "a past numbering is there"
            self._place(row, self.now)
        elif 0 <= distance <= settings.max_jump:  # L3
            self._ahead(row)
        elif distance < 0 and self._is_line(row.first, now):  # L4
            if row.stop > now.high:
                self._behind(row._replace(stop=now.high))
                self._end_held()
                self._ahead(row._replace(first=now.high))
            else:
                self._behind(row)
        else:  # L5
            old, new = _split(row, now.high)
            trial = Trial(row.first, row.first, row.mark(), row.last_ns, [])
            trial.extend(old)
            self._trial = trial
            if new is not None:
                self._data(new)

    def _repair(self, row: Row) -> None:
        """A repair says nothing about the numbering but that its numbers exist."""
        now = self.now
        if now is None or not -self.settings.max_jump <= row.stop - now.high <= (
            self.settings.max_jump
        ):
            self.undecidable += row.stop - row.first
            return
        if row.stop > now.high:
            self._reveal(now, row.stop, row.frame, row.at_ns, BY_REPAIR)
        self._behind(row)

    def _is_line(self, first: int, now: Numbering) -> bool:
        """L4: near below the highest number, or its first number fills a hole.

        Only the first: the rest may be in another row where the capture was cut.
        """
        if now.high - first <= self.settings.restart_distance:
            return True
        return now.holes.misses(first)

    def _is_past(self, row: Row) -> bool:
        past, limit = self.past, self.settings.restart_distance
        return past is not None and -limit <= row.first - past.high <= limit

    def _while_on_trial(self, row: Row, trial: Trial) -> None:
        now, settings = self.now, self.settings
        old, new = (row, None) if now is None else _split(row, now.high)
        if new is not None:
            self._while_on_trial(old, trial)
            self._data(new)
            return
        if trial.continues(row):
            if now is not None and self._is_next(row.first, now, trial):  # T2
                began = trial.rows[-1]
                self._trial = None
                self._refuse(trial)
                self._data(row._replace(frame=began.frame, at_ns=began.at_ns))
            else:
                trial.extend(row)
            return
        full = len(trial.rows) >= MAX_TRIAL_ROWS
        if full or (trial.numbers >= RESTART_NUMBERS and self._lasted(trial)):  # T1
            self._trial = None
            self._restart(trial, sure=True)
            self._data(row)
        elif now is not None and self._goes_on(row, now, trial):  # T2
            self._trial = None
            self._refuse(trial)
            self._data(row)
        elif trial.start <= row.first <= trial.next + settings.restart_distance:  # T3
            trial.extend(row)
        elif now is not None and row.first < now.high and self._is_line(row.first, now):  # T4
            trial.interrupted = True
            self._place(row, now)
        else:  # T5
            self._trial = None
            self._refuse(trial)
            self._data(row)

    def _goes_on(self, row: Row, now: Numbering, trial: Trial) -> bool:
        """T2: does the row go on where the numbering was before the trial?"""
        if self._is_next(row.first, now, trial):
            return True
        far = row.first - now.high > self.settings.restart_distance
        jumps = far and row.first - now.high <= self.settings.max_jump
        return jumps and not self._is_near(row.first, trial)

    def _is_next(self, first: int, now: Numbering, trial: Trial) -> bool:
        """Does ``first`` follow the highest number? Not if a trial that began where the numbering
        did, or below, has come up to it in order: that is a restart that outgrows the old one."""
        if not 0 <= first - now.high <= self.settings.restart_distance:
            return False
        outgrows = (
            trial.start <= now.start and trial.numbers >= RESTART_NUMBERS and trial.in_order()
        )
        return not (outgrows and self._is_near(first, trial))

    def _is_near(self, first: int, trial: Trial) -> bool:
        return trial.start <= first <= trial.next + self.settings.restart_distance

    def _lasted(self, trial: Trial) -> bool:
        return trial.last_ns - trial.began.at_ns >= self.settings.restart_ns

    def _told(self, row: Row, by: int) -> None:
        """A heartbeat or an end says what comes next (``row.stop``)."""
        mark = row.mark()
        raw = row.stop
        if raw < 0:  # it says nothing but that the sender lives, or that the session is over
            if by == BY_END and self.ended is None and self.now is not None:
                self.ended = (self.now.high, mark)
            return
        if self.bits < 63:
            following = raw if self._near is None else unwrap(
                raw & ((1 << self.bits) - 1), self._near + 1, (1 << self.bits) - 1
            )  # fmt: skip
        else:
            following = raw
        now, trial, settings = self.now, self._trial, self.settings
        if by == BY_HEARTBEAT and self._shown(following, row):
            return
        self._end_held()  # no run goes on behind it
        if now is None:
            self._begin(following, mark)
            self._taken(following, following, *mark, by)
            self._near = following - 1
            now = self.now
            assert now is not None, "it has begun"
        ahead = following - now.high
        if (
            trial is not None
            and trial.next <= following <= trial.next + settings.restart_distance
            and not self._is_next(following, now, trial)
        ):
            trial.last_ns = max(trial.last_ns, row.last_ns)
            if following > trial.next:
                trial.rows.append(row._replace(first=following, stop=following))
                trial.next = following
        elif ahead >= 0 and ahead <= settings.max_jump:
            if trial is not None:  # T2
                self._trial = None
                self._refuse(trial)
            if following > now.high:
                self.tails.add(now.high, following, mark)
                self._taken(following, following, *mark, by)
                self._reveal(now, following, *mark, by)
            if following == now.high:
                now.before_frame, now.before_ns = row.last_frame, row.last_ns
            self._near = following - 1
        elif ahead < 0 and -ahead <= settings.restart_distance:
            pass  # overtaken by data: says nothing
        elif trial is None:
            held = row._replace(first=following, stop=following)
            self._trial = Trial(following, following, mark, row.last_ns, [held])
        if by == BY_END and self.ended is None and self._trial is None:
            self.ended = (following, mark)

    def _shown(self, following: int, row: Row) -> bool:
        """A heartbeat that says what the row before it shows is counted in that row, unless the
        capture was cut between them: here it is, so that it makes no difference.
        """
        held, trial, now = self._held, self._trial, self.now
        shown = False
        if held is not None and held.stop == following:
            self._held = held._replace(last_frame=row.last_frame, last_ns=row.last_ns)
            shown = True
        if trial is not None and trial.alive(following, row.last()):
            shown = True
        if shown and now is not None and following == now.high:
            now.before_frame, now.before_ns = row.last_frame, row.last_ns
        return shown

    # -- numberings ------------------------------------------------------------------------------

    def _begin(self, start: int, mark: Mark) -> None:
        self.now = Numbering(start, *mark, self._numberings)
        self._numberings += 1

    def _ahead(self, row: Row) -> None:
        now = self.now
        assert now is not None, "something goes on only after it began"
        first, stop, frame, at_ns = row.first, row.stop, row.frame, row.at_ns
        if self.ended is not None and stop > self.ended[0]:
            self.after_end.add(max(first, self.ended[0]), stop, row.mark())
        if first > now.high:
            self._reveal(now, first, frame, at_ns, BY_NUMBER)
        if self.sink is not None:
            self._taken(first, stop, frame, at_ns, BY_NUMBER)
        now.high = stop
        now.before_frame, now.before_ns = row.last_frame, row.last_ns

    def _taken(self, first: int, stop: int, frame: int, at_ns: int, by: int) -> None:
        now = self.now
        if self.sink is not None and now is not None:
            self.sink.append(
                Taken(
                    self._order, frame, now.number, first, stop, at_ns, now.before_frame,
                    now.before_ns, by,
                )
            )  # fmt: skip

    def _reveal(self, now: Numbering, stop: int, frame: int, at_ns: int, by: int) -> None:
        holes = now.holes
        if at_ns - now.before_ns > self.settings.silence_ns:
            before = now.before_frame, now.before_ns
            self._outage(now, Hole(holes.revealed, now.high, stop, *before, frame, at_ns, by))
        now.reveal(stop, frame, at_ns, by)
        self.gap_count += 1
        if holes.revealed > holes.remembered:
            self._forget(now)

    def _outage(self, numbering: Numbering, hole: Hole) -> None:
        if len(self.outages) < MAX_LISTED:
            lost = RangeSet([(hole.first, hole.stop)])
            self.outages[numbering.number, hole.id] = Outage(hole, lost)

    def _forget(self, now: Numbering) -> None:
        for block in now.forget():
            self.counts[Outcome.UNRECOVERED] += block.numbers
            if block.first_id < MAX_LISTED or len(self.unrecovered) < MAX_RANGES:
                for hole in block.holes:
                    self._never_came(now, hole)

    def _never_came(self, numbering: Numbering, hole: Hole) -> None:
        if len(self.unrecovered) < MAX_RANGES:
            self.unrecovered.add(hole.first, hole.stop)
        if hole.id >= MAX_LISTED:
            return
        gap = self._gap(numbering, hole.id, hole)
        if gap is not None:
            gap.parts.setdefault(Outcome.UNRECOVERED, Part()).ranges.add(hole.first, hole.stop)

    def _retire(self, numbering: Numbering, end_ns: int | None = None) -> None:
        """A numbering is over: what is missing never comes.

        Args:
            end_ns: the capture's conversation ended then; null: the stream went on behind it.
        """
        if self.sink is not None:
            missing = RangeSet(
                (hole.first, hole.stop)
                for block in numbering.holes.remaining()
                for hole in block.holes
            )
            self.ended_numberings[numbering.number] = Ended(
                numbering.start, numbering.high, missing, numbering.given_up
            )
        young_ns = None if end_ns is None else end_ns - self.settings.late_ns
        settled = self.settings.settled_after(
            self.messages + numbering.messages(), self.deepest, self.declares
        )
        for block in numbering.holes.remaining():
            self.counts[Outcome.UNRECOVERED] += block.numbers
            young = young_ns is not None and block.newest_ns > young_ns
            if young or block.first_id < MAX_LISTED or len(self.unrecovered) < MAX_RANGES:
                for hole in block.holes:
                    self._never_came(numbering, hole)
                    if young_ns is not None and self._is_open(numbering, hole, young_ns, settled):
                        self.open_count += hole.stop - hole.first
                        if len(self.open_at_end) < MAX_LISTED:
                            self.open_at_end.append(hole)
        self.messages += numbering.messages()
        if numbering.high > numbering.start:
            low, high = numbering.lowest(), numbering.high - 1
            self.lowest = low if self.lowest is None else min(self.lowest, low)
            self.highest = high if self.highest is None else max(self.highest, high)
            if self.bits < 63:
                self.wraps += (high >> self.bits) - (numbering.start >> self.bits)

    def _is_open(self, numbering: Numbering, hole: Hole, young_ns: int, settled: int) -> bool:
        """Is it too early to call a hole lost?"""
        if hole.revealed_ns <= young_ns:
            return False
        near = numbering.high - hole.stop < settled
        return near or bool(self.asked.within(hole.first, hole.stop))

    def _note_restart(self, restart: Restart) -> None:
        if len(self.restarts) < MAX_LISTED:
            self.restarts.append(restart)

    def _restart(self, trial: Trial, *, sure: bool) -> None:
        """The trial was a new numbering; its rows are that numbering's."""
        expected = None
        if self.now is not None:
            expected = self.now.high
            if self.past is not None:
                self._retire(self.past)
            self.past = self.now
        self._note_restart(Restart(trial.began, expected, trial.start, False, sure))
        self.ended = None
        self._begin(trial.start, trial.began)
        now = self.now
        assert now is not None, "it has begun"
        for row in trial.rows:
            if row.kind in (Kind.HIGHEST, Kind.CLOSE):
                if row.stop > now.high:
                    self._reveal(now, row.stop, row.frame, row.at_ns, BY_HEARTBEAT)
                now.before_frame, now.before_ns = row.last_frame, row.last_ns
            else:
                self._data(row)

    def _refuse(self, trial: Trial) -> None:
        """The trial was none: old copies, or strays far ahead of the numbering."""
        now = self.now
        assert now is not None, "a trial is against a numbering"
        for row in trial.rows:
            if row.first == row.stop:
                continue
            ahead = row.first - now.high
            if ahead > self.settings.max_jump:
                self.strays.add(row.first, row.stop, row.mark())
            elif ahead >= 0:
                self._end_held()
                self._ahead(row)
            else:
                self._end_held()
                self._behind(row._replace(stop=min(row.stop, now.high)))
                if row.stop > now.high:
                    self._end_held()
                    self._ahead(row._replace(first=now.high))
        self._end_held()

    def _settle(self) -> None:
        """Something must be ordered against the rows so far: what is held back is judged."""
        self._end_held()
        trial, self._trial = self._trial, None
        if trial is not None:
            self._refuse(trial)

    # -- late rows -------------------------------------------------------------------------------

    def _behind(self, row: Row, known: tuple[int, int] | None = None) -> None:
        """Hold a late row until it is complete.

        Args:
            known: highest number and holes revealed when it came; null: those of now.
        """
        assert self._held is None, "one row is held at a time"
        self._held = row
        if known is None:
            known = self._known(), 0 if self.now is None else self.now.holes.revealed
        self._held_high, self._held_revealed = known

    def _end_held(self) -> None:
        """Judge the late row that was held until it was complete.

        It came when it began: its last moment may be that of a heartbeat long after it, or of a
        part above the highest number.
        """
        row, self._held = self._held, None
        if row is None:
            return
        first, stop, mark = row.first, row.stop, row.mark()
        now = self.now
        repair = row.kind == _REPAIR
        shown = now is not None and not repair and first < stop == now.high
        if now is not None and shown and row.last_frame >= now.before_frame:
            now.before_frame, now.before_ns = row.last_frame, row.last_ns
        if row.flags & DUPLICATE and stop <= self._held_high:
            self.duplicates.add(first, stop, mark)
            return
        assert now is not None, "something is late only after the numbering began"
        late = now.late(first, stop, self._held_revealed)
        if self.sink is not None:
            self._taken(first, stop, *mark, BY_NUMBER)
        if late.filled:
            for part in late.filled:
                self._fill(now, part, mark, repair=repair)
            depth = self._held_high - first
            if depth > self.deepest and not repair:
                self.deepest = depth
        self.forgotten += late.forgotten
        for part in late.given_up:
            self.counts[Outcome.UNRECOVERED] += part.stop - part.first
            hole = now.holes.hole(part.hole)
            self._never_came(now, hole._replace(first=part.first, stop=part.stop))
        if late.copies and repair:
            self._not_needed(row, late.copies, mark)
        elif late.copies:
            self.copies.add(first, first + late.copies, mark)

    def _not_needed(self, row: Row, copies: int, mark: Mark) -> None:
        if self.asked.within(row.first, row.stop):
            self.undecidable += copies  # another receiver may have asked for it
        else:
            self.needless.add(row.first, row.first + copies, mark)

    def _fill(self, now: Numbering, part: Filled, mark: Mark, *, repair: bool) -> None:
        hole, first, stop, revealed_ns, by = part
        size = stop - first
        after = mark.at_ns - revealed_ns
        if repair:  # F1
            outcome = Outcome.RECOVERED
            self.recovered.add(first, stop, mark)
            self.useful += size
        elif self.asked and "repair" not in self.declares and self.asked.within(first, stop):  # F2
            outcome = Outcome.EITHER
            self.either.add(first, stop, mark)
        elif after <= self.settings.late_ns:  # F3
            outcome = Outcome.REORDERED
            self.reordered.add(first, stop, mark)
            self.late.add(after, size)
            outage = self.outages.get((now.number, hole)) if self.outages else None
            if outage is not None:  # overtaken, not cut off
                outage.lost.remove(first, stop)
            if by in (BY_HEARTBEAT, BY_END):
                self.tails.retract(first, stop)
        else:  # F4
            outcome = Outcome.EITHER
            self.either.add(first, stop, mark)
        if outcome is not Outcome.REORDERED:
            self.recovery.add(after, size)
        self.counts[outcome] += size
        if hole >= MAX_LISTED:
            return
        gap = self._gap(now, hole)
        if gap is not None:
            ended = gap.parts.get(outcome)
            if ended is None:
                ended = gap.parts[outcome] = Part()
            ended.ranges.add(first, stop)
            ended.first = ended.first or mark
            ended.last = mark

    def _gap(self, numbering: Numbering, number: int, hole: Hole | None = None) -> Gap | None:
        """Where the report lists how a hole ended; null if it lists no more.

        Args:
            number: its id.
            hole: null: as it was revealed.
        """
        key = (numbering.number, number)
        gap = self.gaps.get(key)
        if gap is None:
            if number >= MAX_LISTED or len(self.gaps) >= MAX_LISTED:
                return None
            hole = hole or numbering.holes.hole(number)
            gap = Gap(
                hole.first,
                hole.stop,
                hole.before(),
                hole.revealed(),
                BY[hole.by],
                None,
                0,
                _NOTHING,
            )
            self.gaps[key] = gap
        return gap

    # -- many rows -------------------------------------------------------------------------------

    def _stretch(self, columns: Columns, start: int, stop: int) -> int:
        """Take rows in order, and late ones near below; returns how many before one that is
        neither, or that a held row may continue in."""
        now = self.now
        assert now is not None, "a stretch goes on with a numbering"
        first, ends = self._unwrapped_many(columns, start, stop)
        high = np.maximum.accumulate(np.concatenate(([now.high], ends[:-1])))
        ahead = first - high
        behind = ahead < 0
        settings = self.settings
        alone = (ahead > settings.max_jump) | (
            behind & ((ahead < -settings.restart_distance) | (ends > high))
        )
        if self.past is not None:
            alone |= np.abs(first - self.past.high) <= settings.restart_distance
        if self._held is not None and int(first[0]) == self._held.stop:
            return 0
        count = int(np.argmax(alone)) if alone.any() else stop - start
        if self.ended is not None and count:
            over = ends[:count] > self.ended[0]
            count = int(np.argmax(over)) if over.any() else count
        if not count:
            return 0
        self._order = int(columns.frame[start])
        self._end_held()
        picked = slice(start, start + count)
        first, ends, high = first[:count], ends[:count], high[:count]
        ahead, behind = ahead[:count], behind[:count]
        frames, times = columns.frame[picked], columns.at_ns[picked]
        last_frames, last_times = columns.last_frame[picked], columns.last_ns[picked]
        self._meet_many(columns, start, start + count)
        self.arrivals += int(np.sum(ends - first))
        self.bytes += int(np.sum(columns.size[picked]))
        self._near = int(ends[-1]) - 1
        holes = np.flatnonzero(ahead > 0)
        base = now.holes.revealed
        regular = np.arange(count)
        if behind.any():
            regular = np.maximum.accumulate(np.where(behind & (ends != high), -1, regular))
        last_regular = int(regular[-1])
        previous = np.concatenate(([-1], regular[:-1]))[holes]
        before_frames = np.where(previous < 0, now.before_frame, last_frames[previous])
        before_times = np.where(previous < 0, now.before_ns, last_times[previous])
        skipped = [
            high[holes], first[holes], before_frames, before_times, frames[holes], times[holes],
            np.zeros(len(holes), np.int64),
        ]  # fmt: skip
        self.gap_count += len(holes)
        silent = np.flatnonzero(times[holes] - before_times > settings.silence_ns)
        for place in silent.tolist():
            self._outage(now, Hole(base + place, *(int(column[place]) for column in skipped)))
        if self.sink is not None:
            marks = np.concatenate(([-1], regular[:-1]))
            self._taken_many(
                now, [frames, first, ends, times], behind, marks, last_frames, last_times
            )
        now.ahead_many(skipped, max(int(high[-1]), int(ends[-1])))
        if last_regular >= 0:
            now.before_frame = int(last_frames[last_regular])
            now.before_ns = int(last_times[last_regular])
        late = np.flatnonzero(behind).tolist()
        if late:
            self._late_many(columns, start, first, high, late, np.searchsorted(holes, late) + base)
            if late[-1] != count - 1:
                self._order = int(frames[late[-1] + 1])
                self._end_held()
        self._forget(now)
        return count

    def _taken_many(
        self,
        now: Numbering,
        columns: list[Int64s],
        behind: Any,
        before: Int64s,
        last_frames: Int64s,
        last_times: Int64s,
    ) -> None:
        assert self.sink is not None, "only lines tell what they take"
        columns = [
            *columns,
            np.where(before < 0, now.before_frame, last_frames[before]),
            np.where(before < 0, now.before_ns, last_times[before]),
        ]
        rows = zip(*(column[~behind].tolist() for column in columns), strict=True)
        self.sink += [
            Taken(frame, frame, now.number, first, stop, at_ns, before_frame, before_ns, BY_NUMBER)
            for frame, first, stop, at_ns, before_frame, before_ns in rows
        ]

    def _late_many(
        self,
        columns: Columns,
        start: int,
        first: Int64s,
        high: Int64s,
        late: list[int],
        revealed: Any,
    ) -> None:
        previous = -1
        rows = columns.picked(np.asarray(late) + start).rows(0, len(late))
        unwrapped_many = first[late].tolist()
        highest = high[late].tolist()
        for place, known, row, unwrapped, top in zip(
            late, revealed.tolist(), rows, unwrapped_many, highest, strict=True
        ):
            row = row._replace(first=unwrapped, stop=unwrapped + row.stop - row.first)
            held = self._held
            if held is not None:
                self._order = int(columns.frame[start + previous + 1])
                if previous == place - 1 and held.stop == row.first and alike(held, row):
                    self._held = joined(held, row)
                    previous = place
                    continue
                self._end_held()
            self._behind(row, (top, known))
            previous = place

    def _meet_many(self, columns: Columns, start: int, stop: int) -> None:
        times, last_times = columns.at_ns[start:stop], columns.last_ns[start:stop]
        assert self.first is not None, "a stretch goes on with a numbering"
        if int(times[0]) - self.last_ns > self.settings.silence_ns:
            last = Mark(self.last_frame, self.last_ns)
            self._pause(Pause(last, Mark(int(columns.frame[start]), int(times[0]))))
        for place in np.flatnonzero(
            times[1:] - last_times[:-1] > self.settings.silence_ns
        ).tolist():
            self._pause(
                Pause(
                    Mark(int(columns.last_frame[start + place]), int(last_times[place])),
                    Mark(int(columns.frame[start + place + 1]), int(times[place + 1])),
                )
            )
        self.last_frame = int(columns.last_frame[stop - 1])
        self.last_ns = int(last_times[-1])
        if len(self.senders) < MAX_SENDERS:
            for source in columns.source.distinct(start, stop):
                self._sent_by(source)

    def _unwrapped_many(self, columns: Columns, start: int, stop: int) -> tuple[Int64s, Int64s]:
        first, ends = columns.first[start:stop], columns.stop[start:stop]
        if self.bits >= 63 or self._near is None:
            return first, ends
        mask = (1 << self.bits) - 1
        lengths = ends - first
        near = np.concatenate(([self._near], ends[:-1] - 1))
        step = (first - near) & mask
        step = np.where(step <= mask >> 1, step, step - mask - 1)
        # Each row is `step` from the last number of the row before it.
        moved = np.cumsum(step + np.concatenate(([0], lengths[:-1] - 1)))
        unwrapped = self._near + moved
        return unwrapped, unwrapped + lengths


def _split(row: Row, high: int) -> tuple[Row, Row | None]:
    """What of a row is below ``high``, and what begins there: a run may go on from a copy."""
    if not row.first < high < row.stop:
        return row, None
    return row._replace(stop=high), row._replace(first=high)


def _continues(held: Row, row: Row) -> bool:
    """Is a row that begins where a late one stops a part of it? Repairs come a row each."""
    return alike(held, row) and row.kind != Kind.RETRANSMISSION
