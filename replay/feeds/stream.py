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
        (``_leaps``)
    L4  below, and its first fills a hole, or is at most      late, or a copy
        ``restart_distance`` behind, and no silence is
        before it
    L5  anywhere else                                         on trial

On trial are rows that would be old copies, or are far ahead: the sender may have begun anew. What
comes behind a silence is late by it: so is a sender that was started again. RFC
3550 A.1 (a sequence that goes on in a new place is a restart) with more proof than its two packets,
since what was resent in bulk looks alike for a moment. A row is complete when the next one does not
continue it; so nothing here depends on where a run was cut.

    next row                                                  the trial
    T1  and the trial had RESTART_NUMBERS over restart_ms,    is a restart, in force since it began
        and came in order (``Trial.in_order``)
    T2  at or above the highest number of the numbering, and  was old copies, or strays far ahead
        near it or not near the trial (``_is_next``)
    T3  goes on in it, at most ``restart_distance`` on        goes on
    T4  below it, as L1 or L4                                 goes on; the row is judged as ever
    T5  elsewhere                                             as T2; that row is on trial
    T6  none: the stream ends                                 a restart if it had RESTART_NUMBERS or
                                                              lasted restart_ms, and came in order
                                                              (``Trial.in_order``); else as T2

A heartbeat or an end of session whose next number goes on as T2 says ends the trial too. A repair
of numbers that the trial has passed waits for what it was (``Trial.holds``).

How the part of a hole that a late row fills has ended, first that fits (A1 to A6 of ``arrivals``
are the same question where requests are a receiver's own):

    F1  the row is marked as a repair                         recovered
    F2  it had been asked for, and repairs are not marked     recovered or late
    F3  within late_ms of the hole's revelation               reordered
    F4  later                                                 recovered or late
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.feeds.late_rows import ALIKE, DUPLICATE, REPAIR
from seqaudit.replay.feeds.notes import (
    MAX_TRIAL_ROWS,
    RESTART_NUMBERS,
    SOONER,
    Pause,
    Restart,
    Trial,
)
from seqaudit.replay.feeds.numbering import (
    BY_END,
    BY_HEARTBEAT,
    BY_NUMBER,
    BY_REPAIR,
    Numbering,
)
from seqaudit.replay.feeds.rows import FeedColumns, FeedRow, alike, joined
from seqaudit.replay.feeds.stream_state import MAX_LISTED
from seqaudit.replay.feeds.stretches import Stretches
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range
from seqaudit.replay.sequence.unwrap import unwrap

#: Stretches that are remembered as asked for.
MAX_ASKED: Final = 50_000
#: Below so many rows columns cost more than they save.
FEW: Final = 48
#: Rows looked at together; a row that must be judged alone costs at most so many.
STRETCH: Final = 8192
#: Behind all frames.
LAST_OF_ALL: Final = 1 << 62
DATA: Final = int(Kind.DATA)


class FeedStream(Stretches):
    """One numbered stream; ``sink`` hears of every row that belongs to its numbering."""

    __slots__ = ()

    def take(self, columns: FeedColumns) -> None:
        """Rows in order, as columns."""
        count = len(columns)
        if count < FEW:
            self.take_rows(columns.rows(0, count))
            return
        special = np.flatnonzero((columns.kind != DATA) | (columns.flags & DUPLICATE != 0)).tolist()
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

    def take_rows(self, rows: Iterable[FeedRow]) -> None:
        """Rows in order: L3 and L4 as they mostly are, and all others by ``_one``."""
        settings = self.settings
        silence_ns, leap = settings.silence_ns, settings.leap(self.space)
        near_by = settings.restart_distance
        space = self.space
        for row in rows:
            first, stop, frame, at_ns, last_frame, last_ns, kind, flags, size, _, source = row
            now = self.now
            if (
                kind != DATA
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
                first = unwrap(first, self._near, space - 1)
                stop += first
            high, held = now.high, self._held
            if held is not None and held.stop == first:
                self._one(row)
                continue
            if first >= high:
                if first - high > leap:
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

    def take_one(self, row: FeedRow) -> None:
        self._one(row)

    def close(self, end_ns: int) -> None:
        """Nothing follows until ``end_ns``, when the conversation ended."""
        self._order = LAST_OF_ALL
        self._end_held()
        trial, self._trial = self._trial, None
        if trial is not None:  # T6
            enough = trial.numbers >= RESTART_NUMBERS or self._lasted(trial)
            if enough and trial.in_order():
                self._restart(trial)
            else:
                self._refuse(trial)
            self._end_held()
        for numbering in (self.past, self.now):
            if numbering is not None:
                self._retire(numbering, end_ns)
        self.past = self.now = None

    def reset(self, start: int | None, mark: Mark, *, alike: bool = False) -> None:
        """The sender declares that numbering begins anew, at ``start`` if it says so."""
        self._settle()
        expected = None
        if self.now is not None:
            expected = self.now.high
            self._retire(self.now)
            self.now = None
        first = -1 if start is None else start
        self._note_restart(Restart(mark, expected, first, True, alike=alike))
        self._near = None
        self.ended = None
        if start is not None:
            self._begin(start, mark)
            self._near = start

    def standing(self, first: int, stop: int) -> tuple[list[Range], int]:
        """What of [first, stop) has not arrived, and one past the highest number known."""
        self._end_held()
        now = self.now
        if now is None:
            return [], first
        return now.not_here(first, stop), now.high

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

    def begin_near(self, number: int) -> None:
        """Numbers on the wire stand for those near this one, which the other line tells."""
        self._near = number

    def last_number(self) -> int | None:
        return self._near

    def nearest(self, raw: int) -> int:
        """The number that a raw one of a request or repair stands for."""
        return self._unwrapped(raw)

    def _one(self, row: FeedRow) -> None:
        self._order = row.frame
        self._meet(row)
        kind = row.kind
        if kind in (DATA, REPAIR):
            first, stop = row.first, row.stop
            if self.space and self._near is not None:
                first = self._unwrapped(first)
                stop += first - row.first
                row = row._replace(first=first, stop=stop)
            if kind == DATA:
                self._near = stop - 1
            self.arrivals += stop - first
            self.bytes += row.size
            self._data(row)
        elif kind == Kind.HIGHEST:
            self._told(row, BY_HEARTBEAT)
        elif kind == Kind.CLOSE:
            self._told(row, BY_END)
        elif kind == Kind.NOTICE:
            start = None if row.stop < 0 else row.stop
            self.reset(start, row.mark(), alike=bool(row.flags & ALIKE))

    def _meet(self, row: FeedRow) -> None:
        self._silent = False
        if self.first is None:
            self.first = row.mark()
        elif row.at_ns - self.last_ns > self.settings.silence_ns:
            self._silent = True
            self._pause(Pause(Mark(self.last_frame, self.last_ns), row.mark()))
        if row.last_frame >= self.last_frame:
            self.last_frame, self.last_ns = row.last_frame, row.last_ns
        if row.kind != REPAIR and row.source != self._source:
            self._sent_by(row.source)

    def _data(self, row: FeedRow) -> None:
        held = self._held
        now = self.now
        if now is not None and row.kind == REPAIR and row.first < row.stop == now.high:
            now.before_frame, now.before_ns = row.last_frame, row.last_ns  # it is complete
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
        if row.flags & DUPLICATE and row.first < self._known():  # L1
            copy, new = _split(row, self._known())
            self._behind(copy)
            if new is not None:
                self._data(new)
        elif row.kind == REPAIR:
            trial = self._trial
            if trial is None or not trial.holds(row):
                self._repair(row)
        elif self._trial is not None:
            self._while_on_trial(row, self._trial)
        elif now is None:  # L0
            self._begin(row.first, row.mark())
            self._ahead(row)
        else:
            self._place(row, now)

    def _place(self, row: FeedRow, now: Numbering) -> None:
        settings = self.settings
        distance = row.first - now.high
        if abs(distance) > settings.restart_distance and self._is_past(row):  # L2
            self.past, self.now = now, self.past
            self.switches.add(row.mark())
            assert self.now is not None, "a past numbering is there"
            self._place(row, self.now)
        elif distance >= 0 and not self._leaps(row, now):  # L3
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
            trial = Trial(row.first, row.first, row.mark(), row.last_ns, [], self._silent)
            trial.extend(old)
            self._trial = trial
            if new is not None:
                self._data(new)

    def _repair(self, row: FeedRow) -> None:
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
        """L4: near below the highest number and no silence before it, or it fills a hole.

        Only the first number: the rest may be in another row where the capture was cut.
        """
        if now.high - first <= self.settings.restart_distance and not self._silent:
            return True
        return now.holes.misses(first)

    def _is_past(self, row: FeedRow) -> bool:
        past, limit = self.past, self.settings.restart_distance
        return past is not None and -limit <= row.first - past.high <= limit

    def _while_on_trial(self, row: FeedRow, trial: Trial) -> None:
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
        enough = trial.numbers >= RESTART_NUMBERS and self._lasted(trial)
        if (full or enough) and trial.in_order():  # T1
            self._trial = None
            self._restart(trial)
            self._data(row)
        elif full or (now is not None and self._goes_on(row, now, trial)):  # T2
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

    def _goes_on(self, row: FeedRow, now: Numbering, trial: Trial) -> bool:
        """T2: does the row go on where the numbering was before the trial?"""
        if self._is_next(row.first, now, trial):
            return True
        far = row.first - now.high > self.settings.restart_distance
        return far and not self._leaps(row, now) and not self._is_near(row.first, trial)

    def _leaps(self, row: FeedRow, now: Numbering) -> bool:
        """Is it further ahead than a loss can be? RFC 3550 A.1, but for a sender whose pace says
        that it may have sent as many in the meantime."""
        ahead = row.first - now.high
        if not self.settings.leap(self.space) < ahead <= self.settings.max_jump:
            return ahead > self.settings.max_jump
        sent, took_ns = now.high - now.start, now.before_ns - now.began_ns
        passed_ns = row.at_ns - now.before_ns
        return sent >= RESTART_NUMBERS and SOONER * passed_ns * sent < ahead * took_ns

    def _is_next(self, first: int, now: Numbering, trial: Trial) -> bool:
        """Does ``first`` follow the highest number? Not if a trial that began where the numbering
        did, or below, or behind a silence, has come up to it in order: that is a restart that
        outgrows the old one."""
        if not 0 <= first - now.high <= self.settings.restart_distance:
            return False
        if trial.after_silence:
            enough = self._lasted(trial)
        else:
            enough = trial.start <= now.start and trial.numbers >= RESTART_NUMBERS
        return not (enough and trial.in_order() and self._is_near(first, trial))

    def _is_near(self, first: int, trial: Trial) -> bool:
        return trial.start <= first <= trial.next + self.settings.restart_distance

    def _lasted(self, trial: Trial) -> bool:
        return trial.last_ns - trial.began.at_ns >= self.settings.restart_ns

    def _told(self, row: FeedRow, by: int) -> None:
        """A heartbeat or an end says what comes next (``row.stop``)."""
        mark = row.mark()
        raw = row.stop
        if raw < 0:  # it says nothing but that the sender lives, or that the session is over
            if by == BY_END and self.ended is None and self.now is not None:
                self.ended = (self.now.high, mark)
            return
        if self.space:
            following = raw if self._near is None else unwrap(
                raw % self.space, self._near + 1, self.space - 1
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

    def _shown(self, following: int, row: FeedRow) -> bool:
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

    def _ahead(self, row: FeedRow) -> None:
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

    def _restart(self, trial: Trial) -> None:
        """The trial was a new numbering; its rows are that numbering's."""
        expected = None
        back = used = False
        if self.now is not None:
            expected, back = self.now.high, trial.began.at_ns < self.now.before_ns
            used = self.now.start <= trial.start < expected
            if self.past is not None:
                self._retire(self.past)
            self.past = self.now
        self._note_restart(Restart(trial.began, expected, trial.start, False, back, used))
        self.ended = None
        self._begin(trial.start, trial.began)
        self._silent = False
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
            if row.kind == REPAIR:
                self._end_held()
                self._repair(row)
            elif self._leaps(row, now):
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


def _split(row: FeedRow, high: int) -> tuple[FeedRow, FeedRow | None]:
    """What of a row is below ``high``, and what begins there: a run may go on from a copy."""
    if not row.first < high < row.stop:
        return row, None
    return row._replace(stop=high), row._replace(first=high)


def _continues(held: FeedRow, row: FeedRow) -> bool:
    """Is a row that begins where a late one stops a part of it? Repairs come a row each."""
    return alike(held, row) and row.kind != Kind.RETRANSMISSION
