"""What a system is to the replay: an engine, a comparison, and what it says of itself
(replay/README.md 2).

A system is described once, by a ``System`` in its folder, and registered by one line in
``replay.stages.systems``. The stage and the report know no more of it than stands here.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, Self

import pyarrow as pa

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract import results
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.finding import Finding, PlacedFinding
from seqaudit.replay.contract.parameters import Given, Parameter, Value
from seqaudit.replay.contract.report_rows import BothEndsFigures
from seqaudit.replay.contract.results import (
    D,
    EndsDetail,
    GapDetail,
    JudgedRow,
    Result,
    ResultKind,
    ResultRow,
)
from seqaudit.replay.contract.rule import Rule
from seqaudit.replay.contract.settings import Read, Vantage
from seqaudit.replay.contract.worth import Worth
from seqaudit.replay.sequence.gaps import Mark

#: A detail of a result, or a row of the report.
Detail = results.Row

#: First and last time of a capture; null without frames.
Extent = tuple[int | None, int | None]


class Row(NamedTuple):
    """A row of EVENTS as the stage has it, or a run joined of several.

    Attributes:
        place: the column ``index``, which is a method of tuples.
        messages: the column ``count``, likewise.
    """

    capture: int
    frame: int
    place: int
    last_frame: int
    at_ns: int
    last_at_ns: int
    system: str
    conversation: str
    stream: str | None
    source: str | None
    destination: str | None
    kind: int
    wire_kind: str
    seqno: int | None
    stop_seqno: int | None
    messages: int
    conn_id: int | None
    stamp: int | None
    flags: int
    size: int
    fresh_id: int | None
    last_fresh_id: int | None
    detail: str | None

    def event(self) -> Event:
        """As an engine takes it."""
        return Event(
            frame=self.frame, index=self.place, last_frame=self.last_frame, at_ns=self.at_ns,
            last_at_ns=self.last_at_ns, system=self.system, stream=self.stream,
            source=self.source, destination=self.destination, kind=Kind(self.kind),
            wire_kind=self.wire_kind, seqno=self.seqno, stop_seqno=self.stop_seqno,
            count=self.messages, conn_id=self.conn_id, stamp=self.stamp, flags=Flag(self.flags),
            size=self.size, fresh_id=self.fresh_id, last_fresh_id=self.last_fresh_id,
            detail=self.detail,
        )  # fmt: skip


#: The columns of EVENTS that a row holds.
COLUMNS: Final = tuple(
    {"place": "index", "messages": "count"}.get(name, name) for name in Row._fields
)


class Engine(Protocol):
    """Replays one conversation of one capture. No file, clock, thread or printing inside: time
    comes with the events."""

    def feed(self, event: Event) -> None:
        """One event, in the order of the capture."""

    def close(self) -> None:
        """Nothing follows."""


class Columns(Protocol):
    """Rows of a batch as columns, for a system that has too many for events."""

    def part(self, start: int, stop: int) -> Self:
        """Some of them, all of one conversation."""

    def first(self) -> tuple[int, int]:
        """Frame and time of the first."""


class MetEnds(NamedTuple):
    """A stream of which one capture holds the sender's end and another a receiver's.

    Attributes:
        first: of what the capture at the sender holds.
        finding: what both prove of it; null: nothing.
    """

    system: str
    first: Mark
    row: EndsDetail
    finding: Finding | None = None


class CaptureEnds(Protocol):
    """What one capture of a conversation that was taken at an end of it holds; an engine writes
    it, and when all captures were replayed those of one network meet (``contract.both_ends``)."""

    @property
    def capture(self) -> int:
        """Its number."""

    def sent(self) -> Iterable[str]:
        """The streams at whose sender it was taken, in a stable order."""

    def met(self, stream: str, there: Self) -> MetEnds | None:
        """What it and another say of such a stream; null where that is not at a receiver of it."""

    def judges(self) -> tuple[str, Sequence[str]]:
        """The system that the rules are of which are judged where both ends are, and these."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A conversation that begins in a capture.

    Attributes:
        read: of the system's decoder, for messages that the engine itself puts together.
        at_members: how many captures of the job were taken at a member's own interface.
        told: what conversations of this replay have said of rules and parameters; grows.
    """

    capture: int
    conversation: str
    parameters: Mapping[str, Given]
    vantage: Vantage
    read: Read
    at_members: int
    told: set[Hashable]


def no_ends() -> None:
    """A capture that is at no end of the conversation."""


class Opened(NamedTuple):
    """A conversation that is being replayed.

    Attributes:
        results: what there is to say when it is over; takes the time of the last row.
        takes: does what a row with which nothing happens does, without an event of it; false:
            the row has to be fed.
        take_columns: rows of a system that is replayed by columns.
        ends: of a conversation that is over what its capture holds of an end; null: nothing.
        parts: does what a link carries go on otherwise from one of its rows on, though that goes on
            where the one before it ended; null: it never does.
    """

    engine: Engine
    results: Callable[[int], Iterable[Result]]
    takes: Callable[[Row], bool] | None = None
    take_columns: Callable[[Columns], None] | None = None
    ends: Callable[[], CaptureEnds | None] = no_ends
    parts: Callable[[Row], bool] | None = None


def not_grouped(_: str) -> None:
    """No stream has anything in common with another."""


#: A pause that nothing ends: longer than any two times are apart.
NO_PAUSE: Final = 1 << 65


@dataclass(frozen=True, slots=True)
class Joining:
    """How rows of one word in the column ``system`` become runs.

    Attributes:
        at_once: the engine joins runs itself, as it asks for the time of some rows.
        carries: streams whose names end in "|" carry others: their rows are fed at once.
        group: what a stream has in common with others that it is ordered against: a run of one
            ends where another goes on; null: nothing.
        life_signs: wire kinds before which all runs end, as they say whether a member lives.
        pause_ns: a run ends where the next row is later than this, and all do before a row of
            another kind that is so much later than where they did last.
    """

    at_once: bool = False
    carries: bool = False
    group: Callable[[str], str | None] = not_grouped
    life_signs: frozenset[str] = frozenset()
    pause_ns: int = NO_PAUSE


class Rows(Protocol):
    """Rows of a comparison's systems, of a kind of results; frames are still of the job."""

    def __call__(self, kind: ResultKind[D], /) -> Iterator[ResultRow[D]]: ...


class Replayed(NamedTuple):
    """A whole replay, as a comparison may ask it.

    Attributes:
        extents: of each capture.
        holes: captures that are known to lack something, and what tells it; grows.
        unread: captures with packets that were not read to their end, and what tells it: what seems
            to be missing may be in these.
    """

    extents: Sequence[Extent]
    holes: dict[int, str]
    unread: Mapping[int, str]
    rows: Rows


class Compared(NamedTuple):
    """What streams or captures together say.

    Attributes:
        together: rule to the (capture, conversation) that it was judged on as well.
        holes: captures that are shown to lack something, and what tells it.
    """

    findings: Sequence[PlacedFinding] = ()
    judged: Sequence[JudgedRow] = ()
    together: Mapping[str, set[tuple[int, str]]] = {}
    holes: Mapping[int, str] = {}


class Comparison(Protocol):
    """Judges several streams or captures together: one object for each report, of all systems that
    name it.

    A system inherits from it and says what it has to say.

    Attributes:
        reads_first: ``figures`` rest on all streams: these are read twice.
        changes: ``settle`` and ``print_numbers`` change rows: these are held as objects.
    """

    reads_first: bool = False
    changes: bool = False

    def note(self, capture: int, stream: str, row: Detail) -> None:
        """The detail of a STREAM row, as its engine gave it."""

    def figures(
        self, rows: Rows, worth: Mapping[int, Worth], extents: Sequence[Extent]
    ) -> Mapping[tuple[int, str], Detail]:
        """(capture, stream) to figures that rest on others, and on what captures are worth; their
        first and last times are ``extents``."""
        return {}

    def settle(self, streams: Sequence[Detail], tables: Mapping[str, Sequence[Detail]]) -> None:
        """Change figures of the report's streams, of all systems, and tables by each other."""

    def print_numbers(
        self, streams: Sequence[Detail], tables: Mapping[str, Sequence[Detail]]
    ) -> None:
        """Write numbers in streams and tables as users read them; ``settle`` needs them plain."""

    def restated(self, finding: PlacedFinding) -> PlacedFinding:
        """A finding by what was settled."""
        return finding

    def restated_gap(self, gap: GapDetail) -> GapDetail:
        """A gap by what was settled."""
        return gap

    def judge(self, replayed: Replayed) -> Compared:
        """What all that was noted says."""
        return Compared()

    def both_ends(self, row: EndsDetail, replayed: Replayed) -> BothEndsFigures:
        """What a BOTH_ENDS row comes to, once everything is judged."""
        raise NotImplementedError("only where its systems have ends")


@dataclass(frozen=True, slots=True)
class System:
    """What a system says of itself.

    Attributes:
        name: first word of its conversations, and of its parameters.
        open: a new conversation; imports the engine.
        rules: its own.
        families: first letters of the rules that its engine judges.
        parameters: by full name.
        joins: word in the column ``system`` of its conversations' rows to how they become runs;
            others are joined plainly.
        ordered: orders its streams against each other itself, whatever size runs have.
        members: names of members in its conversations are listed; a system that shares its
            members with another leaves that to it.
        columns: of a batch, for a system that is replayed by columns.
        shows: whether a row shows that its conversation is the system's. Rows before the first
            that does wait for it, and nothing is said of a conversation without any: its engine
            would say nothing either, but most of what only might be a system's is somebody else's.
            Null: every row does.
        comparison: made for each report.
        streams: word in the column ``system`` of its conversations' rows to the types of its STREAM
            rows there, each a ``StreamFigures``; what the report's schema is made from.
        tables: its own tables in the report, by name the type of their rows.
        from_one: of these words, those whose streams a connection or a member numbers from 1.
        endless: of these words, those whose streams never end as they carry others, or whose rules
            say what is open when a capture ends.
        pairs: its table that counts what a receiver of both gets of two streams of kind "line"
            that carry the same.
        config: key of a parameter file to what reads what stands below it; takes the file's name.
        one_observer: its engine judges what one member got at the place of the capture: of several
            at one address, each of which has losses of its own, nobody can tell.
    """

    name: str
    open: Callable[[Opening], Opened]
    rules: Sequence[Rule]
    families: tuple[str, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    joins: Mapping[str, Joining] = field(default_factory=dict)
    ordered: bool = False
    members: bool = True
    columns: Callable[[pa.RecordBatch], Columns] | None = None
    shows: Callable[[Row], bool] | None = None
    comparison: Callable[[], Comparison] | None = None
    streams: Mapping[str, Sequence[type]] = field(default_factory=dict)
    tables: Mapping[str, type] = field(default_factory=dict)
    from_one: frozenset[str] = frozenset()
    endless: frozenset[str] = frozenset()
    one_observer: bool = False
    pairs: str | None = None
    config: Mapping[str, Callable[[Mapping[object, object], str], dict[str, Value]]] = field(
        default_factory=dict
    )
