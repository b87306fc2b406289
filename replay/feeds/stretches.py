"""Many rows of a feed's stream at once, as columns: those in order, and late ones near below."""

from typing import Any

import numpy as np

from seqaudit.replay.feeds.holes import FeedHole, Int64s
from seqaudit.replay.feeds.late_rows import LateRows
from seqaudit.replay.feeds.notes import (
    Pause,
    TakenRow,
)
from seqaudit.replay.feeds.numbering import (
    BY_NUMBER,
    Numbering,
)
from seqaudit.replay.feeds.rows import FeedColumns, alike, joined
from seqaudit.replay.feeds.stream_state import MAX_SENDERS
from seqaudit.replay.sequence.gaps import Mark


class Stretches(LateRows):
    """Rows that need not be judged one by one."""

    __slots__ = ()

    def _stretch(self, columns: FeedColumns, start: int, stop: int) -> int:
        """Take rows in order, and late ones near below; returns how many before one that is
        neither, or that a held row may continue in."""
        now = self.now
        assert now is not None, "a stretch goes on with a numbering"
        first, ends = self._unwrapped_many(columns, start, stop)
        high = np.maximum.accumulate(np.concatenate(([now.high], ends[:-1])))
        ahead = first - high
        behind = ahead < 0
        settings = self.settings
        alone = (ahead > settings.leap(self.space)) | (
            behind & ((ahead < -settings.restart_distance) | (ends > high))
        )
        if behind.any():
            before = np.concatenate(([self.last_ns], columns.last_ns[start : stop - 1]))
            alone |= behind & (columns.at_ns[start:stop] - before > settings.silence_ns)
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
            self._outage(now, FeedHole(base + place, *(int(column[place]) for column in skipped)))
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
            TakenRow(
                frame, frame, now.number, first, stop, at_ns, before_frame, before_ns, BY_NUMBER
            )
            for frame, first, stop, at_ns, before_frame, before_ns in rows
        ]

    def _late_many(
        self,
        columns: FeedColumns,
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

    def _meet_many(self, columns: FeedColumns, start: int, stop: int) -> None:
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

    def _unwrapped_many(self, columns: FeedColumns, start: int, stop: int) -> tuple[Int64s, Int64s]:
        first, ends = columns.first[start:stop], columns.stop[start:stop]
        if not self.space or self._near is None:
            return first, ends
        lengths = ends - first
        near = np.concatenate(([self._near], ends[:-1] - 1))
        step = (first - near) % self.space
        step = np.where(step <= (self.space - 1) >> 1, step, step - self.space)
        # Each row is `step` from the last number of the row before it.
        moved = np.cumsum(step + np.concatenate(([0], lengths[:-1] - 1)))
        unwrapped = self._near + moved
        return unwrapped, unwrapped + lengths
