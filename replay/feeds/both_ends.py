"""A feed at its sender and at a receiver: which numbers the path lost.

Every capture notes, a stream at a time, what came of it, bounded; they meet when all captures of
the conversation were replayed. A number counts once, however often it was captured: what came
again, or as a repair, is no part of the path. A receiver is only held against what was sent from
the first number on that it has: before, it may not have joined.

Nothing goes back in a feed, so how far the clocks are apart is bounded on one side only. It need
not be known where numbers grow: the receiver's capture went on where it has lower and higher ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.contract.engine import MetEnds
from seqaudit.replay.contract.passage_rows import MISSING, TOO_MUCH, UNSENT, ends_row, passage
from seqaudit.replay.feeds.rows import FeedColumns, FeedRows
from seqaudit.replay.feeds.stream import FeedStream
from seqaudit.replay.sequence.clocks import Clocks, Sightings
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.passages import NumberRun, Passages, Passed, grows
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.sequence.unwrap import unwrap

KIND: Final = "messages"
WORD: Final = "message"
OF_COPIES: Final = "copies of a feed's messages are not judged by both ends"
#: Of smaller spaces a number may be of any round, and nothing tells which.
LEAST_SPACE: Final = 1 << 31
TOO_FEW: Final = "the same {} numbers come again and again, and nothing tells them apart"
ANEW: Final = "the stream's numbers begin anew, and nothing tells the old from the new"


class _FirstArrivals:
    """One stream in one capture: every number when it came first."""

    __slots__ = ("first", "had", "last", "near", "passages", "run", "seen")

    def __init__(self) -> None:
        self.first: Mark | None = None
        self.last: Mark | None = None
        self.passages = Passages()
        self.seen = Sightings()
        self.had = RangeSet()
        self.run: NumberRun | None = None
        self.near: int | None = None

    def take(self, rows: FeedColumns, space: int) -> None:
        """Data, in order."""
        columns = (
            rows.first, rows.stop, rows.frame, rows.at_ns, rows.last_frame, rows.last_ns,
        )  # fmt: skip
        self.first = self.first or Mark(int(rows.frame[0]), int(rows.at_ns[0]))
        self.last = Mark(int(rows.last_frame[-1]), int(rows.last_ns[-1]))
        for raw, end, *moments in zip(*(column.tolist() for column in columns), strict=True):
            if self.passages.full:
                return
            first = raw
            if space and self.near is not None:
                first = unwrap(raw, self.near, space - 1)
            stop = first + end - raw
            self.near = stop - 1
            for begin, until in self.had.add(first, stop):
                row = NumberRun(begin, until, *moments[::2], *moments[1::2])
                self._new(row if begin == first else row._replace(frame=-1), space)

    def _new(self, row: NumberRun, space: int) -> None:
        run = self.run
        if run is not None and run.stop == row.first:
            self.run = run._replace(stop=row.stop, last_frame=row.last_frame, to_ns=row.to_ns)
            return
        self.flush(space)
        self.run = row

    def flush(self, space: int) -> None:
        """The run is over. Only when it began is known, wherever the capture was cut: its last
        time may be that of a heartbeat, or of a copy behind it."""
        run, self.run = self.run, None
        if run is None:
            return
        self.passages.saw((KIND,), run)
        if run.frame >= 0:
            self.seen.saw((run.first % space if space else run.first,), run.from_ns)


@dataclass(slots=True)
class FeedEnds:
    """What one capture knows of a conversation.

    Attributes:
        local: the host at whose interface it was taken.
        streams: as the engine had them when the conversation was over.
    """

    capture: int
    local: str | None
    streams: dict[str, FeedStream] = field(default_factory=dict)
    _came: dict[str, _FirstArrivals] = field(default_factory=dict)

    def take(self, rows: FeedRows, space: int) -> None:
        """Rows of the conversation, in order."""
        for code, places in rows.by_stream(rows.data_as_sent()):
            self._came.setdefault(rows.word(code), _FirstArrivals()).take(
                rows.picked(places), space
            )

    def over(self, streams: dict[str, FeedStream]) -> "FeedEnds":
        self.streams = streams
        for key, came in self._came.items():
            came.flush(streams[key].space if key in streams else 0)
        return self

    def came(self, key: str) -> _FirstArrivals | None:
        """What came of a stream; null: nothing, or of several senders."""
        stream = self.streams.get(key)
        alone = stream is not None and len({_host(sender) for sender in stream.senders}) == 1
        return self._came.get(key) if alone else None

    def at_sender(self, key: str) -> bool:
        """Was the capture taken at the sender of a stream?"""
        sender = self.streams[key].sender
        return sender is not None and _host(sender) == self.local

    def sent(self) -> Iterator[str]:
        return (key for key in sorted(self.streams) if self.came(key) and self.at_sender(key))

    def met(self, stream: str, there: "FeedEnds") -> MetEnds | None:
        sent, came = self.came(stream), there.came(stream)
        if came is None or there.at_sender(stream) or there.local == self.local:
            return None
        assert sent is not None and sent.first is not None, "it came"
        assert self.local is not None and there.local is not None, "hosts at their interfaces"
        clocks = Clocks(sent.seen.common(came.seen), ())
        own = _passed(sent, came, clocks, self.streams[stream].space)
        why = _why([self.streams[stream], there.streams[stream]], [sent, came])
        path = [passage(KIND, WORD, own, numbered=True, why=why)]
        row = ends_row(
            self.local, there.local, (self.capture, there.capture), path, clocks,
            sent.first.at_ns, OF_COPIES,
        )  # fmt: skip
        return MetEnds("feed", sent.first, row)

    def judges(self) -> tuple[str, Sequence[str]]:
        return "feed", (MISSING, UNSENT)


def _passed(sent: _FirstArrivals, came: _FirstArrivals, clocks: Clocks, space: int) -> Passed:
    found = Passed()
    if None in (sent.first, sent.last, came.first, came.last):
        return found
    assert sent.first is not None and sent.last is not None and came.last is not None
    rows, arrived = sent.passages.rows((KIND,)), came.passages.rows((KIND,))
    if not rows or not arrived:
        return found
    # One capture may have seen the numbers wrap, and the other not.
    turn = round((rows[-1].stop - arrived[-1].stop) / space) * space if space else 0
    arrived = [row.moved(turn) for row in arrived]
    rows = [row for each in rows if (row := each.since(arrived[0].first)) is not None]
    spans = (sent.first.at_ns, sent.last.at_ns), (None, came.last.at_ns)
    found.add(rows, arrived, clocks, *spans, growing=grows(rows))
    return found


def _why(streams: Sequence[FeedStream], came: Sequence[_FirstArrivals]) -> str | None:
    """Why nobody can tell how many were lost; null: they are counted.

    Args:
        streams, came: at the sender and at the receiver.
    """
    if 0 < streams[0].space < LEAST_SPACE:
        return TOO_FEW.format(streams[0].space)
    if any(stream.restarts for stream in streams):
        return ANEW
    return TOO_MUCH if any(one.passages.full for one in came) else None


def _host(end: str) -> str:
    """The address of ADDRESS:PORT; brackets are those of IPv6."""
    host, colon, port = end.rpartition(":")
    plain = host if colon and port.isdigit() and (host.count(":") == 0 or host[0] == "[") else end
    return plain.strip("[]")
