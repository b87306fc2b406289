"""The replay stage: ordered event columns in, results out, one engine open at a time
(pipeline/README.md 2).

Rows come sorted by (conversation, capture, frame, index). Pieces of a capture end runs at their
borders; here touching runs are joined again, so an engine sees the same events however the capture
was cut. The canonical form: a run of a stream ends where the next row of the stream does not follow
or differs, at any other event of the stream, and at an event that concerns the whole conversation
(``stream`` null; a stream that ends in "|" concerns all streams it is a prefix of). Runs are handed
on when they end, so the order over streams does not depend on the cuts either.

A system with too many rows for that takes columns and joins runs where it matters.

How rows join beyond that, each system says itself (``replay.contract.engine``).

Engines are imported when the first conversation of their system opens: all of them take longer than
a small audit.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Final

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
from seqaudit.replay.contract import both_ends
from seqaudit.replay.contract.engine import (
    COLUMNS,
    CaptureEnds,
    Columns,
    Joining,
    Opened,
    Opening,
    Row,
)
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
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings, Vantage, unread
from seqaudit.replay.contract.wall import FAILED, PASSED_ON, failure
from seqaudit.replay.stages.systems import RULES, SYSTEMS

_BATCH_ROWS: Final = 2_000
#: Rows that are Python's at a time.
_ROWS: Final = 8_192
#: What is missing in the report if it fails.
THIS: Final = "the conversation {} in this capture"
BOTH: Final = "what the captures of both ends of {} say together"
NOT_JUDGED: Final = f"seqaudit failed here ({FAILED})"
#: Rows that wait for one that shows whose they are; with more, they go on without.
_WAITING: Final = 10_000
_RUNS: Final = frozenset({Kind.DATA, Kind.RETRANSMISSION})
_PLAIN: Final = Joining()
_POSITION: Final = attrgetter("frame", "place")
#: ``Row._make`` without a call in Python.
_row: Final[Callable[[Iterable[object]], Row]] = partial(tuple.__new__, Row)


def replay(batches: Iterable[pa.RecordBatch], settings: ReplaySettings) -> Iterator[pa.RecordBatch]:
    """Replay sorted EVENTS batches; yields RESULTS batches."""
    results: list[Result] = []
    conversations = _Conversations(settings, results)
    twice = [number for number, own in enumerate(settings.captures) if own.vantage.twice]
    for batch in batches:
        assert batch.schema.names == EVENTS.names, "the replay stage reads the event contract"
        if twice:
            batch = _once(batch, twice)
        for part, place in _by_columns(batch):
            if not isinstance(part, pa.RecordBatch):
                conversations.take_columns(place, part)
                if len(results) >= _BATCH_ROWS:
                    yield to_batch(results)
                    results.clear()
                continue
            for row in _rows(part):
                if row.conversation == NO_CONVERSATION:
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
    again = batch.column("flags").to_numpy() & int(Flag.NETWORK_DUPLICATE | Flag.ALIKE) != 0
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
        self._name = NO_CONVERSATION  # of all captures whose ends meet
        self._first_capture = 0  # of that conversation
        self._ends: dict[str, list[CaptureEnds]] = {}  # by network
        self._told: set[Hashable] = set()
        self._at_members = sum(c.vantage.kind == AT_MEMBER for c in settings.captures)

    def take(self, row: Row) -> None:
        """One row of a conversation."""
        state = self._state
        if state is None or row.conversation != state.conversation or row.capture != state.capture:
            state = self._open(row.capture, row.conversation, (row.frame, row.at_ns))
            if state is None:
                return
        try:
            state.take(row, self._results)
        except Exception as problem:
            self._fail(problem, state.fed)

    def take_columns(self, place: tuple[int, str], rows: Columns) -> None:
        """Rows of a conversation that is replayed by columns."""
        state = self._state
        if state is None or (state.capture, state.conversation) != place:
            state = self._open(*place, rows.first())
            if state is None:
                return
        try:
            state.take_columns(rows)
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
        system = SYSTEMS.get(conversation.partition("|")[0])
        if self._name != conversation:
            self._meet()
            self._name, self._first_capture = conversation, capture
        self._began = began
        own: CaptureSettings = self._settings.captures[capture]
        self._state = _Conversation(
            Opening(
                capture,
                conversation,
                own.parameters,
                own.vantage,
                self._settings.readers.get(system.name, unread) if system else unread,
                self._at_members,
                self._told,
            )
        )
        return self._state

    def _finish(self) -> None:
        if self._state is None:
            return
        try:
            ends = self._state.finish(self._results)
            if ends is not None:
                network = self._settings.captures[ends.capture].network
                self._ends.setdefault(network, []).append(ends)
        except Exception as problem:
            self._fail(problem)
        self._state = None

    def _meet(self) -> None:
        """What the captures of a conversation say together."""
        networks, self._ends = self._ends, {}
        for captures in networks.values():
            try:
                self._results.extend(list(both_ends.results(self._name, captures)))
            except Exception as problem:
                self._raised_in_tests(problem)
                self._results.append(_failed(self._first_capture, self._name, problem, BOTH))

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
) -> Iterator[tuple[pa.RecordBatch | Columns, tuple[int, str]]]:
    """Parts of a batch, in order: of one (capture, conversation) that is replayed by columns, or
    rows of any others.
    """
    words = batch.column("system")
    by_columns = np.zeros(len(batch), np.bool_)
    readers: dict[str, Columns] = {}
    for system in SYSTEMS.values():
        if system.columns is not None:
            own = equal(words, system.name)
            if true_count(own):
                by_columns |= own.to_numpy(zero_copy_only=False)
                readers[system.name] = system.columns(batch)
    if not readers:
        yield batch, (-1, NO_CONVERSATION)
        return
    codes = encoded(batch.column("conversation")).indices.to_numpy()
    captures = batch.column("capture").to_numpy()
    new = by_columns[1:] != by_columns[:-1]
    new |= by_columns[1:] & ((codes[1:] != codes[:-1]) | (captures[1:] != captures[:-1]))
    borders = [0, *(np.flatnonzero(new) + 1).tolist(), len(batch)]
    for start, stop in pairwise(borders):
        if by_columns[start]:
            conversation = batch.column("conversation")[start].as_py()
            rows = readers[words[start].as_py()].part(start, stop)
            yield rows, (int(captures[start]), conversation)
        else:
            yield batch.slice(start, stop - start), (-1, NO_CONVERSATION)


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of a batch; a text that repeats is one object, and few rows are objects at a
    time."""
    for start in range(0, len(batch), _ROWS):
        part = batch.slice(start, _ROWS)
        columns = (_values(part.column(name)) for name in COLUMNS)
        yield from map(_row, zip(*columns, strict=True))


def _values(column: pa.Array) -> Iterable[object]:
    if pa.types.is_string(column.type):
        coded = encoded(column)
        texts = [*coded.dictionary.to_pylist(), None]
        return map(texts.__getitem__, filled(coded.indices, -1).to_numpy().tolist())
    values: list[object] = column.to_pylist() if column.null_count else column.to_numpy().tolist()
    return values


def _pass_on(row: Row) -> Result:
    """Rows that no engine replays: accounts of pieces, and problems of the capture."""
    kind = ACCOUNT if row.kind == Kind.ACCOUNT else PROBLEM
    detail = json.loads(row.detail or "{}")
    return Result(
        row.capture, kind, NO_CONVERSATION, row.system, detail, frame=row.frame, at_ns=row.at_ns
    )


def load_engines() -> None:
    """Import all engines now: before a fork, once for all processes."""
    for name, system in SYSTEMS.items():
        system.open(Opening(0, f"{name}|", {}, Vantage(), unread, 0, set()))


class _Conversation:
    """One conversation of one capture: its open runs and its engine."""

    def __init__(self, opening: Opening) -> None:
        self.capture = opening.capture
        self.conversation = opening.conversation
        self.fed: tuple[int, int] | None = None  # frame and time of the event replayed last
        self._name = opening.conversation.partition("|")[0]
        self._system = SYSTEMS.get(self._name)
        self._opening = opening
        self._opened: Opened | None = None
        self._takes: Callable[[Row], bool] | None = None
        self._parts: Callable[[Row], bool] | None = None
        #: Rows of what is not shown to be the system's yet; null: it is, or that is not asked.
        self._waiting: list[Row] | None = None
        if self._system is not None and self._system.shows is not None:
            self._waiting = []
        else:
            self._open_engine()
        self._joins: Mapping[str, Joining] = {} if self._system is None else self._system.joins
        self._open: dict[str, Row] = {}  # stream -> its open run
        #: text up to "|" -> the streams that begin so and may have an open run, in a dict for a set
        self._began: dict[str, dict[str, None]] = {}
        self._links: dict[str, Row | None] = {}  # stream of a link -> its last row, if it may go on
        self._latest: dict[str, str] = {}  # what streams have in common -> the one used last
        self._members: set[tuple[object, ...]] = set()
        self._last_ns = 0
        self._ended_ns = 0  # when all runs ended last

    def _open_engine(self) -> None:
        if self._system is not None:
            self._opened = self._system.open(self._opening)
            self._takes, self._parts = self._opened.takes, self._opened.parts

    def take_columns(self, rows: Columns) -> None:
        """Rows of a conversation that is replayed by columns."""
        assert self._opened is not None and self._opened.take_columns is not None
        self._opened.take_columns(rows)

    def take(self, row: Row, results: list[Result]) -> None:
        """One row of the conversation."""
        waiting = self._waiting
        if waiting is None:
            self._take(row, results)
            return
        waiting.append(row)
        assert self._system is not None and self._system.shows is not None
        if self._system.shows(row) or len(waiting) > _WAITING:
            self._waiting = None
            self._open_engine()
            for one in waiting:
                self._take(one, results)

    def _take(self, row: Row, results: list[Result]) -> None:
        kind, stream, system = row.kind, row.stream, self._system
        if kind == Kind.MEMBER and (system is None or system.members):
            self._member(row, results)
        if system is None:
            return
        self._last_ns = max(self._last_ns, row.last_at_ns)
        if system.ordered:
            self._feed(row)
            return
        joining = self._joins.get(row.system, _PLAIN)
        if joining.at_once:
            self._feed(row)
            return
        if joining.carries and stream is not None and stream.endswith("|"):
            self._link(row, stream, joining)
            return
        if kind in _RUNS and stream is not None:
            run = self._open.get(stream)
            if run is None:
                self._elsewhere(joining, stream)
                self._began.setdefault(stream.partition("|")[0], {})[stream] = None
            elif _follows(run, row, joining):
                self._open[stream] = _joined(run, row)
                return
            else:
                self._feed(run)
            self._open[stream] = row
            return
        sign = row.wire_kind in joining.life_signs
        if sign or kind not in UNORDERED_KINDS:
            if stream is not None:
                self._elsewhere(joining, stream)
            if not sign:
                self._end_runs(stream)
        if sign or row.at_ns - self._ended_ns > joining.pause_ns:
            self._end_runs(None)
            self._ended_ns = row.at_ns
        self._feed(row)

    def _link(self, row: Row, stream: str, joining: Joining) -> None:
        """A packet of a link that carries other streams: at once, as their messages follow it."""
        before = self._links.get(stream)
        goes_on = row.kind == Kind.DATA and before is not None and _follows(before, row, joining)
        if goes_on and self._parts is not None:
            goes_on = not self._parts(row)
        if not goes_on:
            self._end_runs(stream)
        self._links[stream] = row if row.kind == Kind.DATA else None
        self._feed(row)

    def _elsewhere(self, joining: Joining, stream: str) -> None:
        """A run of another stream of the same group ends: the two are ordered."""
        group = joining.group(stream)
        if group is None:
            return
        before = self._latest.get(group)
        self._latest[group] = stream
        if before is not None and before != stream and before in self._open:
            self._feed(self._open.pop(before))

    def finish(self, results: list[Result]) -> CaptureEnds | None:
        """The conversation is over in this capture; what it holds of an end."""
        if self._opened is None:
            return None
        self._end_runs(None)
        self._opened.engine.close()
        ends = self._opened.ends()
        results.extend(list(self._opened.results(self._last_ns)))
        return ends

    def not_judged(self) -> Iterator[Result]:
        """That no rule of its system was judged here."""
        families = () if self._system is None else self._system.families
        for code in RULES:
            if code[:2] in families:
                detail = {"rule": code, "judged": False, "why": NOT_JUDGED}
                yield Result(self.capture, JUDGED, self.conversation, self._name, detail, rule=code)

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

    def _feed(self, row: Row) -> None:
        assert self._opened is not None
        self.fed = row.frame, row.at_ns
        if self._takes is not None and self._takes(row):
            return
        self._opened.engine.feed(row.event())

    def _member(self, row: Row, results: list[Result]) -> None:
        detail = json.loads(row.detail or "{}")
        key = (row.source, detail.get("address"), detail.get("name"), detail.get("version"))
        if key in self._members:
            return
        self._members.add(key)
        results.append(
            Result(
                self.capture, MEMBER, self.conversation, row.system,
                {"member": row.source, **detail}, frame=row.frame, at_ns=row.at_ns,
            )
        )  # fmt: skip


def _follows(run: Row, row: Row, joining: Joining) -> bool:
    """Does the row continue the run? Everything an engine looks at must be equal."""
    return (
        row.seqno == run.stop_seqno
        and row.kind == run.kind
        and row.wire_kind == run.wire_kind
        and (row.flags ^ run.flags) & ~SHARED == 0
        and row.source == run.source
        and row.destination == run.destination
        and row.conn_id == run.conn_id
        and row.system == run.system
        and row.at_ns - run.last_at_ns <= joining.pause_ns
    )


def _joined(run: Row, row: Row) -> Row:
    """A run and the row that continues it."""
    return run._replace(
        last_frame=row.last_frame,
        last_at_ns=row.last_at_ns,
        stop_seqno=row.stop_seqno,
        messages=run.messages + row.messages,
        flags=run.flags & row.flags,  # only SHARED ones differ
        size=run.size + row.size,
        last_fresh_id=row.last_fresh_id,
    )
