"""The replay stage: ordered event columns in, results out, one engine open at a time (design 3.4).

Rows come sorted by (conversation, capture, frame, index). Pieces of a capture end runs at their
borders; here touching runs are joined again, so an engine sees the same events however the capture
was cut. The canonical form: a run of a stream ends where the next row of the stream does not follow
or differs, at any other event of the stream, and at an event that concerns the whole conversation
(``stream`` null; a stream that ends in "|" concerns all streams it is a prefix of). Runs are handed
on when they end, so the order over streams does not depend on the cuts either.

Feeds have too many rows for that: their engine takes columns and joins runs where it matters.

Engines are imported when the first conversation of their system opens: all of them take longer than
a small audit.
"""

import importlib
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import encoded, equal, filled, true_count
from seqaudit.decoders.contract.events import (
    EVENTS,
    NO_CONVERSATION,
    SHARED,
    UNORDERED_KINDS,
    Flag,
    Kind,
)
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import ACCOUNT, MEMBER, PROBLEM, Result, to_batch
from seqaudit.replay.contract.settings import MEMBER as AT_MEMBER
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings
from seqaudit.replay.feeds.rows import FeedRows
from seqaudit.replay.jgroups import both_ends_findings
from seqaudit.replay.jgroups.both_ends import Ends, Meeting

#: Columns the stage reads, in this order.
_COLUMNS: Final = (
    "capture", "frame", "index", "last_frame", "at_ns", "last_at_ns", "system", "conversation",
    "stream", "source", "destination", "kind", "wire_kind", "seqno", "stop_seqno", "count",
    "conn_id", "stamp", "flags", "size", "fresh_id", "last_fresh_id", "detail",
)  # fmt: skip
_BATCH_ROWS: Final = 2_000
#: Rows that are Python's at a time.
_ROWS: Final = 8_192
#: System whose rows are replayed by columns.
FEED: Final = "feed"
#: First word of the conversations that an engine replays, and the engine. It is in the module
#: ``engine`` of its folder, and what it says is put into words in ``findings`` beside it.
_ENGINES: Final = {
    FEED: "FeedEngine",
    "mcast": "McastEngine",
    "pgm": "PgmEngine",
    "raims": "RaimsEngine",
    "unicast": "UnicastEngine",
    "zenoh": "ZenohEngine",
}
#: The folder of each engine.
_FOLDERS: Final = {
    FEED: "feeds",
    "mcast": "jgroups.mcast",
    "pgm": "pgm",
    "raims": "raims",
    "unicast": "jgroups.unicast",
    "zenoh": "zenoh",
}
_RUNS: Final = frozenset({Kind.DATA, Kind.RETRANSMISSION})
#: Systems whose streams carry others, if their name ends in "|" (``decoders.raims.rows``).
_LINKS: Final = frozenset({"pgm", "inbox"})
#: Systems whose streams are named ``LINK|…`` and may come on several links.
_TWO_LINKS: Final = frozenset({"raims"})
#: Systems whose streams are named ``PAIR|connection``.
_CONNECTIONS: Final = frozenset({"unicast3", "unicast4"})
#: raims messages that say whether a daemon lives: what it sent before comes before them.
_LIFE_SIGNS: Final = frozenset({"HELO", "HB", "AUTH", "BYE"})
RAIMS_PAUSE_NS: Final = 1 << 33
#: Frame and index of a row.
_POSITION: Final = itemgetter(1, 2)


def replay(batches: Iterable[pa.RecordBatch], settings: ReplaySettings) -> Iterator[pa.RecordBatch]:
    """Replay sorted EVENTS batches; yields RESULTS batches."""
    results: list[Result] = []
    conversations = _Conversations(settings, results)
    for batch in batches:
        assert batch.schema.names == EVENTS.names, "the replay stage reads the event contract"
        for part, feed in _by_columns(batch):
            if isinstance(part, FeedRows):
                conversations.open(*feed).take_many(part)
                if len(results) >= _BATCH_ROWS:
                    yield to_batch(results)
                    results.clear()
                continue
            for row in _rows(part):
                if row[7] == NO_CONVERSATION:
                    results.append(_pass_on(row))
                else:
                    conversations.open(row[0], row[7]).take(row, results)
                if len(results) >= _BATCH_ROWS:
                    yield to_batch(results)
                    results.clear()
    conversations.close()
    if results:
        yield to_batch(results)


class _Conversations:
    """The conversation that is open, and what its captures say together once it ends."""

    def __init__(self, settings: ReplaySettings, results: list[Result]) -> None:
        self._settings = settings
        self._results = results
        self._state: _Conversation | None = None
        self._meeting = Meeting("")
        self._told: set[Any] = set()
        self._several = sum(c.vantage.kind == AT_MEMBER for c in settings.captures) > 1

    def open(self, capture: int, conversation: str) -> "_Conversation":
        """The state of a conversation in a capture; the one before is over if it is another."""
        state = self._state
        if state is not None and state.is_for(capture, conversation):
            return state
        if state is not None:
            self._results.extend(state.finish(self._meeting, self._told))
        if self._meeting.conversation != conversation:
            self._results.extend(both_ends_findings.results(self._meeting))
            self._meeting = Meeting(conversation)
        own = self._settings.captures[capture]
        ends = Ends(capture) if self._several and own.vantage.kind == AT_MEMBER else None
        self._state = _Conversation(
            capture, conversation, own, unicast=(ends,), zenoh=(self._settings.read_zenoh,)
        )
        return self._state

    def close(self) -> None:
        """No rows follow."""
        if self._state is not None:
            self._results.extend(self._state.finish(self._meeting, self._told))
            self._results.extend(both_ends_findings.results(self._meeting))


def _by_columns(
    batch: pa.RecordBatch,
) -> Iterator[tuple[pa.RecordBatch | FeedRows, tuple[int, str]]]:
    """Parts of a batch, in order: of one (capture, conversation) that is replayed by columns, or
    rows of any others.
    """
    nobody = (-1, NO_CONVERSATION)
    feeds = equal(batch.column("system"), FEED)
    if not true_count(feeds):
        yield batch, nobody
        return
    codes = encoded(batch.column("conversation")).indices.to_numpy()
    captures = batch.column("capture").to_numpy()
    by_columns = feeds.to_numpy(zero_copy_only=False)
    new = by_columns[1:] != by_columns[:-1]
    new |= by_columns[1:] & ((codes[1:] != codes[:-1]) | (captures[1:] != captures[:-1]))
    borders = [0, *(np.flatnonzero(new) + 1).tolist(), len(batch)]
    rows = FeedRows(batch)
    for start, stop in pairwise(borders):
        if by_columns[start]:
            conversation = batch.column("conversation")[start].as_py()
            yield rows.part(start, stop), (int(captures[start]), conversation)
        else:
            yield batch.slice(start, stop - start), nobody


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The rows of a batch, each a tuple of ``_COLUMNS``; a text that repeats is one object, and few
    rows are objects at a time."""
    for start in range(0, len(batch), _ROWS):
        part = batch.slice(start, _ROWS)
        yield from zip(*(_values(part.column(name)) for name in _COLUMNS), strict=True)


def _values(column: pa.Array) -> Iterable[Any]:
    if pa.types.is_string(column.type):
        coded = encoded(column)
        texts = [*coded.dictionary.to_pylist(), None]
        return map(texts.__getitem__, filled(coded.indices, -1).to_numpy().tolist())
    values: list[Any] = column.to_pylist() if column.null_count else column.to_numpy().tolist()
    return values


def _pass_on(row: tuple[Any, ...]) -> Result:
    """Rows that no engine replays: accounts of pieces, and problems of the capture."""
    kind = ACCOUNT if row[11] == Kind.ACCOUNT else PROBLEM
    return Result(
        row[0],
        kind,
        NO_CONVERSATION,
        row[6],
        json.loads(row[22] or "{}"),
        frame=row[1],
        at_ns=row[4],
    )


def load_engines() -> None:
    """Import all engines now: before a fork, once for all processes."""
    for system in _ENGINES:
        _findings_of(system)


def _findings_of(system: str) -> Any:
    return importlib.import_module(f"seqaudit.replay.{_FOLDERS[system]}.findings")


class _Conversation:
    """One conversation of one capture: its open runs and its engine.

    Args:
        also: what the engine of a system takes beyond what all take.
    """

    def __init__(
        self, capture: int, conversation: str, settings: CaptureSettings, **also: tuple[Any, ...]
    ) -> None:
        self._capture = capture
        self._conversation = conversation
        self._system = conversation.partition("|")[0]
        self._engine: Any = None  # if nothing replays it
        if self._system in _ENGINES:
            module = importlib.import_module(f"seqaudit.replay.{_FOLDERS[self._system]}.engine")
            told = (conversation, settings.parameters, settings.vantage)
            more = also.get(self._system, ())
            self._engine = getattr(module, _ENGINES[self._system])(*told, *more)
        self._takes = getattr(self._engine, "takes", None)  # rows with which nothing happens
        self._open: dict[str, Any] = {}  # stream -> the row of its open run, a list once joined
        #: text up to "|" -> the streams that begin so and may have an open run, in a dict for a set
        self._began: dict[str, dict[str, None]] = {}
        self._links: dict[str, Any] = {}  # stream of a link -> its last row, if it may go on
        self._latest: dict[str, str] = {}  # what streams have in common -> the one used last
        self._members: set[tuple[Any, ...]] = set()
        self._last_ns = 0

    def is_for(self, capture: int, conversation: str) -> bool:
        return capture == self._capture and conversation == self._conversation

    def take_many(self, rows: FeedRows) -> None:
        """Rows of a conversation that is replayed by columns."""
        assert self._system == FEED, "only feeds are replayed by columns"
        self._engine.take_rows(rows)

    def take(self, row: tuple[Any, ...], results: list[Result]) -> None:
        """One row of the conversation."""
        kind, stream = row[11], row[8]
        if kind == Kind.MEMBER and self._system != "unicast":
            self._member(row, results)  # of the two copies, one is enough
        if self._engine is None:
            return
        self._last_ns = max(self._last_ns, row[5])
        if self._system == "zenoh":
            self._feed(row)  # orders its streams against each other itself; runs may be of any size
            return
        if row[6] in _LINKS and stream is not None and stream.endswith("|"):
            self._link(row, stream)
            return
        if kind in _RUNS and stream is not None:
            run = self._open.get(stream)
            if run is None:
                self._elsewhere(row[6], stream)
                self._began.setdefault(stream.partition("|")[0], {})[stream] = None
            elif _follows(run, row):
                if type(run) is tuple:
                    run = self._open[stream] = list(run)
                _join(run, row)
                return
            else:
                self._feed(run)
            self._open[stream] = row
            return
        if kind not in UNORDERED_KINDS:
            if stream is not None:
                self._elsewhere(row[6], stream)
            self._end_runs(None if row[12] in _LIFE_SIGNS and row[6] == "raims" else stream)
        self._feed(row)

    def _link(self, row: tuple[Any, ...], stream: str) -> None:
        """A packet of a link that carries other streams: at once, as their messages follow it."""
        before = self._links.get(stream)
        goes_on = row[11] == Kind.DATA and before is not None and _follows(before, row)
        if not goes_on:
            self._end_runs(stream)
        self._links[stream] = row if row[11] == Kind.DATA else None
        self._feed(row)

    def _elsewhere(self, system: str, stream: str) -> None:
        """A run of the same messages on another link ends, or of the pair's other connection: the
        two are ordered.
        """
        if system in _TWO_LINKS:
            group = stream.partition("|")[2]
        elif system in _CONNECTIONS:
            group = stream.rpartition("|")[0]
        else:
            return
        before = self._latest.get(group)
        self._latest[group] = stream
        if before is not None and before != stream and before in self._open:
            self._feed(self._open.pop(before))

    def finish(self, meeting: Meeting, told: set[Any]) -> list[Result]:
        """The conversation is over in this capture; what other captures may add is handed on.

        Args:
            told: what has been said already of rules, for engines of which there are many.
        """
        if self._engine is None:
            return []
        self._end_runs(None)
        self._engine.close()
        if self._system == "unicast" and self._engine.ends is not None:
            meeting.add(self._engine.ends)
        last: Any = told if self._system == FEED else self._last_ns
        results: list[Result] = _findings_of(self._system).results(
            self._engine, self._capture, last
        )
        return results

    def _end_runs(self, stream: str | None) -> None:
        if stream is None:
            runs = list(self._open.values())
            self._open.clear()
            self._began.clear()
        elif stream.endswith("|"):
            began = self._began.get(stream.partition("|")[0], {})
            ended = [key for key in began if key.startswith(stream)]
            for key in ended:
                del began[key]
            runs = [run for key in ended if (run := self._open.pop(key, None)) is not None]
        else:
            run = self._open.pop(stream, None)
            runs = [] if run is None else [run]
        runs.sort(key=_POSITION)
        for run in runs:
            self._feed(run)

    def _feed(self, row: Any) -> None:
        assert self._engine is not None
        if self._takes is not None and self._takes(row):
            return
        self._engine.feed(
            Event(
                frame=row[1], index=row[2], last_frame=row[3], at_ns=row[4], last_at_ns=row[5],
                system=row[6], stream=row[8], source=row[9], destination=row[10],
                kind=Kind(row[11]), wire_kind=row[12], seqno=row[13], stop_seqno=row[14],
                count=row[15], conn_id=row[16], stamp=row[17], flags=Flag(row[18]), size=row[19],
                fresh_id=row[20], last_fresh_id=row[21], detail=row[22],
            )
        )  # fmt: skip

    def _member(self, row: tuple[Any, ...], results: list[Result]) -> None:
        detail = json.loads(row[22] or "{}")
        key = (row[9], detail.get("address"), detail.get("name"), detail.get("version"))
        if key in self._members:
            return
        self._members.add(key)
        results.append(
            Result(
                self._capture, MEMBER, self._conversation, row[6],
                {"member": row[9], **detail}, frame=row[1], at_ns=row[4],
            )
        )  # fmt: skip


def _follows(run: list[Any], row: tuple[Any, ...]) -> bool:
    """Does the row continue the run? Everything an engine looks at must be equal."""
    return bool(
        row[13] == run[14]
        and row[11] == run[11]
        and row[12] == run[12]
        and (row[18] ^ run[18]) & ~SHARED == 0
        and row[9] == run[9]
        and row[10] == run[10]
        and row[16] == run[16]
        and row[6] == run[6]
        # over such a pause a raims publisher has begun another frame, or been dropped
        and (row[6] != "raims" or row[4] - run[5] <= RAIMS_PAUSE_NS)
    )


def _join(run: list[Any], row: tuple[Any, ...]) -> None:
    run[3] = row[3]  # last_frame
    run[5] = row[5]  # last_at_ns
    run[14] = row[14]  # stop_seqno
    run[15] += row[15]  # count
    run[18] &= row[18]  # flags: only SHARED ones differ
    run[19] += row[19]  # size
    run[21] = row[21]  # last_fresh_id
