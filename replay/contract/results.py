"""What the replay stage emits: streams, gaps, findings, views, members, accounts, judged rules."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Generic, NotRequired, TypedDict, TypeVar

import pyarrow as pa

from seqaudit.decoders.contract.events import compact
from seqaudit.replay.contract.finding import FindingDetail
from seqaudit.replay.contract.report_rows import (
    ConnectionFigures,
    EndsFigures,
    ParameterFigures,
    PassageKind,
    QueryFigures,
    Ranges,
    StateRow,
    StreamFigures,
    StreamSide,
    ViewFigures,
    WindowFigures,
)
from seqaudit.replay.sequence.gap_rows import GapFigures

D = TypeVar("D", bound=Mapping[str, object])

#: A row of which only its own system knows what it says: as JSON has it.
Row = dict[str, Any]


class ResultKind(str, Generic[D]):
    """A kind of results, and the type of what its rows say."""

    __slots__ = ()


class ResultRow(TypedDict, Generic[D]):
    """A row of RESULTS as readers have it; its kind is the one that was asked for."""

    capture: int
    conversation: str
    system: str
    stream: str | None
    frame: int | None
    at_ns: int | None
    rule: str | None
    detail: D


class ConnectionDetail(ConnectionFigures):
    """One end of a connection."""

    later: list[StateRow]  # that it enters unless the capture ends first


class MemberDetail(TypedDict):
    """Who was seen, once for each address, name and version."""

    member: str
    address: NotRequired[str | None]
    name: NotRequired[str | None]
    version: NotRequired[str | None]


class ProblemDetail(TypedDict):
    """A datagram of which fragments are missing, or bytes of a TCP connection that are.

    Attributes:
        bytes: of TCP, that are missing.
        acked: of TCP: the other side had them.
    """

    source: str
    destination: str
    what: str
    bytes: NotRequired[int]
    acked: NotRequired[bool]


class JudgedRow(TypedDict):
    """That a rule was judged on a conversation, as a comparison says it."""

    rule: str
    capture: int
    conversation: str
    why: str | None  # it was not judged; null: it was


class JudgedDetail(TypedDict):
    """The rules that were judged on a conversation, and those that were not, by why."""

    judged: list[str]
    not_judged: dict[str, list[str]]


class GapDetail(GapFigures):
    """A gap and its place."""

    capture: int
    stream: str | None


class LackDetail(TypedDict):
    """Copies that the capture at one end lacks, as ``sequence.passages.Lack`` has them."""

    missing: int
    outside: int
    from_ns: int
    to_ns: int
    untimed: int
    seqnos: Ranges
    marks: list[tuple[int, int]]


class PathDetail(TypedDict):
    """Numbers of what went one way; ``passage_rows.passage`` says what they are."""

    kind: PassageKind
    word: str
    end: StreamSide
    sent: int
    arrived: int
    lost: LackDetail
    unsent: LackDetail
    hidden: int
    hides: str
    why: str | None


class EndsDetail(EndsFigures):
    """A stream at both ends; which of its copies were sent after their message had arrived, only
    whole captures tell."""

    path: list[PathDetail]
    after: int  # copies that certainly were
    undecided: int
    late: int  # undecided if the receiver's capture ends before ``late_ns``
    late_ns: int
    begin_ns: int | None  # all are if it begins later, or where this is null
    why: str | None  # nobody can tell; null: somebody may


STREAM: Final = ResultKind[StreamFigures]("STREAM")  # of a type of its system
GAP: Final = ResultKind[GapFigures]("GAP")
#: One end of a connection: its states, what was left unacked.
CONNECTION: Final = ResultKind[ConnectionDetail]("CONNECTION")
#: A stream whose sender's and receiver's captures are both given.
BOTH_ENDS: Final = ResultKind[EndsDetail]("BOTH_ENDS")
FINDING: Final = ResultKind[FindingDetail]("FINDING")
VIEW: Final = ResultKind[ViewFigures]("VIEW")
QUERY: Final = ResultKind[QueryFigures]("QUERY")  # of a cache: what was asked, how it ended
WINDOW: Final = ResultKind[WindowFigures]("WINDOW")  # how full something was over time
MEMBER: Final = ResultKind[MemberDetail]("MEMBER")
ACCOUNT: Final = ResultKind[Row]("ACCOUNT")
PROBLEM: Final = ResultKind[ProblemDetail]("PROBLEM")
JUDGED: Final = ResultKind[JudgedDetail]("JUDGED")
PARAMETER: Final = ResultKind[ParameterFigures]("PARAMETER")
#: A row of a system's own table; ``detail["table"]`` names it.
TABLE: Final = ResultKind[Mapping[str, Any]]("TABLE")

RESULTS: Final = pa.schema(
    [
        pa.field("capture", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("conversation", pa.string(), nullable=False),
        pa.field("system", pa.string(), nullable=False),
        pa.field("stream", pa.string()),
        pa.field("frame", pa.int64()),  # job frame; null where the row has none
        pa.field("at_ns", pa.int64()),
        pa.field("rule", pa.string()),
        # JSON. Values under a key "frame", "frames" or "*_frame" are job frames, which the report
        # turns into Wireshark's numbers; everything else is as the report prints it.
        pa.field("detail", pa.string(), nullable=False),
    ]
)

_PLACE: Final = attrgetter("kind", "capture", "conversation", "system")


@dataclass(frozen=True, slots=True)
class Result:
    """One row of RESULTS; ``detail`` is still an object, unless ``text`` is what it makes."""

    capture: int
    kind: str
    conversation: str
    system: str
    detail: Mapping[str, Any]
    stream: str | None = None
    frame: int | None = None
    at_ns: int | None = None
    rule: str | None = None
    text: str | None = None


def to_batch(results: list[Result]) -> pa.RecordBatch:
    """Rows as one batch of RESULTS; of judged rules a row a conversation."""
    rows = list(_judged_together(results))
    columns = {
        name: [getattr(result, name) for result in rows]
        for name in RESULTS.names
        if name != "detail"
    }
    columns["detail"] = [
        compact(result.detail) if result.text is None else result.text for result in rows
    ]
    return pa.RecordBatch.from_pydict(columns, schema=RESULTS)


def _judged_together(results: Iterable[Result]) -> Iterator[Result]:
    """The rules that follow one another as one row: they are a hundred for each conversation, and
    the same for most. Its detail is ``{"judged": [rule], "not_judged": {why: [rule]}}``."""
    for (kind, *place), same in groupby(results, key=_PLACE):
        if kind != JUDGED:
            yield from same
            continue
        judged: list[str] = []
        not_judged: dict[str, list[str]] = {}
        for result in same:
            told = result.detail
            rules = judged if told["judged"] else not_judged.setdefault(told["why"], [])
            rules.append(told["rule"])
        capture, conversation, system = place
        detail = {"judged": judged, "not_judged": not_judged}
        yield Result(capture, JUDGED, conversation, system, detail)
