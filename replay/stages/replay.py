"""The replay stage: ordered event columns in, results out, one engine open at a time
(pipeline/README.md 2).

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
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import encoded, equal, filled, int_column, taken, true_count
from seqaudit.decoders.contract.events import (
    EVENTS,
    NO_CONVERSATION,
    SHARED,
    UNORDERED_KINDS,
    Flag,
    Kind,
)
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import (
    ACCOUNT,
    FINDING,
    JUDGED,
    MEMBER,
    PROBLEM,
    Result,
    to_batch,
)
from seqaudit.replay.contract.settings import MEMBER as AT_MEMBER
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings
from seqaudit.replay.contract.wall import FAILED, PASSED_ON, failure
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
#: First letters of the rules that an engine judges.
_FAMILIES: Final = {
    FEED: ("FD",),
    "mcast": ("MC",),
    "pgm": ("PG",),
    "raims": ("RA", "PG"),
    "unicast": ("UC",),
    "zenoh": ("ZN",),
}
#: What is missing in the report if it fails.
THIS: Final = "the conversation {} in this capture"
BOTH: Final = "what the captures of both ends of {} say together"
NOT_JUDGED: Final = f"seqaudit failed here ({FAILED})"
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
    twice = [number for number, own in enumerate(settings.captures) if own.vantage.twice]
    for batch in batches:
        assert batch.schema.names == EVENTS.names, "the replay stage reads the event contract"
        if twice:
            batch = _once(batch, twice)
        for part, feed in _by_columns(batch):
            if isinstance(part, FeedRows):
                conversations.take_many(feed, part)
                if len(results) >= _BATCH_ROWS:
                    yield to_batch(results)
                    results.clear()
                continue
            for row in _rows(part):
                if row[7] == NO_CONVERSATION:
                    results.append(_pass_on(row))
                else:
                    conversations.take(row)
                if len(results) >= _BATCH_ROWS:
                    yield to_batch(results)
                    results.clear()
    conversations.close()
    if results:
        yield to_batch(results)


def _once(batch: pa.RecordBatch, twice: Sequence[int]) -> pa.RecordBatch:
    """Rows without those of datagrams that came again, of captures that hold most of them twice."""
    again = batch.column("flags").to_numpy() & int(Flag.NETWORK_DUPLICATE) != 0
    again &= np.isin(batch.column("capture").to_numpy(), twice)
    return taken(batch, int_column(np.flatnonzero(~again)))


class _Conversations:
    """The conversation that is open, and what its captures say together once it ends."""

    def __init__(self, settings: ReplaySettings, results: list[Result]) -> None:
        self._settings = settings
        self._results = results
        self._state: _Conversation | None = None
        self._failed: tuple[int, str] | None = None  # of which the rest is not replayed
        self._began: tuple[int, int] | None = None  # frame and time of its first row
        self._meeting = Meeting("")
        self._told: set[Any] = set()
        self._several = sum(c.vantage.kind == AT_MEMBER for c in settings.captures) > 1

    def take(self, row: tuple[Any, ...]) -> None:
        """One row of a conversation."""
        state = self._state
        if state is None or row[7] != state.conversation or row[0] != state.capture:
            state = self._open(row[0], row[7], (row[1], row[4]))
            if state is None:
                return
        try:
            state.take(row, self._results)
        except Exception as problem:
            self._fail(problem, state.fed)

    def take_many(self, feed: tuple[int, str], rows: FeedRows) -> None:
        """Rows of a conversation that is replayed by columns."""
        state = self._state
        if state is None or (state.capture, state.conversation) != feed:
            state = self._open(*feed, rows.first())
            if state is None:
                return
        try:
            state.take_many(rows)
        except Exception as problem:
            self._fail(problem)

    def close(self) -> None:
        """No rows follow."""
        self._finish()
        self._meet()

    def _open(
        self, capture: int, conversation: str, began: tuple[int, int]
    ) -> "_Conversation | None":
        """The state of a conversation in a capture, null if it failed; the one before is over."""
        if self._failed == (capture, conversation):
            return None
        self._finish()
        if self._meeting.conversation != conversation:
            self._meet()
            self._meeting = Meeting(conversation)
        self._began = began
        own = self._settings.captures[capture]
        ends = Ends(capture) if self._several and own.vantage.kind == AT_MEMBER else None
        self._state = _Conversation(
            capture,
            conversation,
            own,
            unicast=(ends,),
            mcast=(ends,),
            zenoh=(self._settings.read_zenoh,),
        )
        return self._state

    def _finish(self) -> None:
        if self._state is None:
            return
        try:
            self._results.extend(self._state.finish(self._meeting, self._told))
        except Exception as problem:
            self._fail(problem)
        self._state = None

    def _meet(self) -> None:
        """What the captures of a conversation say together."""
        if not self._meeting.captures:
            return
        try:
            self._results.extend(list(both_ends_findings.results(self._meeting)))
        except Exception as problem:
            self._raised_in_tests(problem)
            first = self._meeting.captures[0].capture
            self._results.append(_failed(first, self._meeting.conversation, problem, BOTH))

    def _fail(self, problem: Exception, at: tuple[int, int] | None = None) -> None:
        """The open conversation failed: nothing is said of it in this capture but that.

        Args:
            at: frame and time of the event; null: of its first is said.
        """
        self._raised_in_tests(problem)
        state = self._state
        assert state is not None, "only an open conversation fails"
        self._state, self._failed = None, (state.capture, state.conversation)
        where = at or self._began
        self._results.append(_failed(state.capture, state.conversation, problem, THIS, where))
        self._results.extend(state.not_judged())

    def _raised_in_tests(self, problem: Exception) -> None:
        if isinstance(problem, PASSED_ON) or not self._settings.walled:
            raise problem


def _failed(
    capture: int,
    conversation: str,
    problem: Exception,
    part: str,
    where: tuple[int, int] | None = None,
) -> Result:
    frame, at_ns = where or (None, None)
    system = conversation.partition("|")[0]
    detail = failure(
        part.format(conversation), problem, capture=capture, system=system, frame=frame, at_ns=at_ns
    )
    return Result(
        capture, FINDING, conversation, system, detail, frame=frame, at_ns=at_ns, rule=FAILED
    )


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
        self.capture = capture
        self.conversation = conversation
        self.fed: tuple[int, int] | None = None  # frame and time of the event replayed last
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
        ends = getattr(self._engine, "ends", None)
        if isinstance(ends, Ends):
            meeting.add(ends)
        last: Any = told if self._system == FEED else self._last_ns
        results: list[Result] = _findings_of(self._system).results(self._engine, self.capture, last)
        return results

    def not_judged(self) -> Iterator[Result]:
        """That no rule of its system was judged here."""
        from seqaudit.replay.stages.rules import RULES

        for code in RULES:
            if code[:2] in _FAMILIES.get(self._system, ()):
                detail = {"rule": code, "judged": False, "why": NOT_JUDGED}
                yield Result(
                    self.capture, JUDGED, self.conversation, self._system, detail, rule=code
                )

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
        self.fed = row[1], row[4]
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
                self.capture, MEMBER, self.conversation, row[6],
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
