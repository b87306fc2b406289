"""The rows of the report ``seqaudit/report/1``: the product's API, with ``capture_rows``.

Each field has its meaning, its unit and what null means as the text of its ``Annotated``. Times are
nanoseconds since the epoch by the capture's clock, durations nanoseconds, frames Wireshark's
numbers, ranges of seqnos inclusive pairs. Null is "cannot be told from this capture" unless the
field says otherwise. In a capture of several files a field that names a frame has a twin with
``_file`` behind its name: which file the number is of, from 0.

The JSON schema is made from these types (``pipeline.report.schema``).
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict, cast

from seqaudit.replay.contract.capture_rows import CaptureRow
from seqaudit.replay.contract.finding import Failure
from seqaudit.replay.contract.metrics_row import MetricsRow
from seqaudit.replay.contract.totals_rows import TotalsRow
from seqaudit.replay.sequence.durations import Percentiles
from seqaudit.replay.sequence.gap_rows import StepName

Ranges = list[list[int]]
Severity = Literal["error", "warning", "info"]
Certainty = Literal["proven", "likely", "cannot be told"]


class Problem(TypedDict):
    """A capture that could not be read, or of which nothing could be judged."""

    path: str
    problem: Annotated[str, "one line: what, and what to try"]
    capture: NotRequired[Annotated[int, "its number, if it was read"]]


class MemberRow(TypedDict):
    """Who was seen in a capture."""

    capture: int
    member: Annotated[str, "identity as the protocol has it"]
    name: Annotated[str | None, "given, or from the wire, or the identity made short"]
    addresses: list[str]
    versions: list[str]


class ConversationPlace(TypedDict):
    """The capture and the system of a conversation."""

    capture: int
    system: str


class ViewFigures(TypedDict):
    """A membership that was announced."""

    id: list[int | str]
    members: list[str]
    installed: Annotated[bool, "by the member at whose interface the capture was taken"]
    frame: int
    at_ns: int


class ViewRow(ConversationPlace, ViewFigures):
    """A membership that was announced."""


class Directions(TypedDict):
    """Counts by direction; null where that direction cannot be seen."""

    sent: int | None
    arrived: int | None
    passed: NotRequired[int | None]


Side = Literal["sent", "arrived", "passed"]


def directed(side: Side, number: int) -> Directions:
    """How many were sent or arrived at the place of capture; ``passed`` where it is no end."""
    told: Directions = {"sent": None, "arrived": None}
    told[side] = number
    return told


class Retransmissions(TypedDict):
    """Copies by whether anybody lacked the message; null where nobody can see it."""

    useful: int | None
    needless: int | None
    undecidable: int | None


class StreamFigures(TypedDict):
    """What an engine says of one numbered sequence of one sender; each system declares the rest of
    its row in a type of its own (``System.streams``)."""

    sender: Annotated[str | None, "identity of the member; null if nothing names it"]
    receiver: Annotated[str | None, "null if there is no one receiver"]
    conn_id: Annotated[int | None, "of the connection; null where the protocol has none"]
    first_seqno: Annotated[int | str | None, "lowest seqno, a text of hex digits for raims"]
    last_seqno: Annotated[int | str | None, "highest seqno, likewise"]
    first_frame: Annotated[int | None, "null: no frame of it was captured"]
    last_frame: Annotated[int | None, "null: no frame of it was captured"]
    messages: Annotated[int, "distinct seqnos captured"]
    arrivals: Annotated[int, "all of them, copies included"]
    copies: Annotated[int, "arrivals of messages that had arrived before"]
    gaps: Annotated[
        int, "how often seqnos were missed; one whose parts ended differently has several rows"
    ]
    unlisted_gaps: NotRequired[Annotated[int, "further gaps, not listed"]]
    lost: Annotated[int | None, "recovered + unrecovered"]
    recovered: Annotated[int | None, "missing, and then repaired: lost, or late"]
    unrecovered: int | None


class AgainRow(TypedDict):
    """Which row of a stream counts, of captures that show it at one place at one time."""

    capture: int
    beyond: Annotated[bool, "this row shows some of another time than that one"]


class StreamPlace(ConversationPlace):
    """What the report adds to every stream and connection."""

    id: str
    sender_name: str | None
    receiver_name: str | None
    tunnels: NotRequired[
        Annotated[list[str], "of a stream: by which its sender's packets came, if by any"]
    ]
    again: NotRequired[Annotated[AgainRow, "of a stream: it counts in another capture, not here"]]


#: Fields that several systems' streams have, each with its meaning.
Role = Annotated[
    Literal["sender", "receiver", "between"], "which end of the stream the place of capture is"
]
Time = Annotated[int | None, "null: no frame of it was captured"]
NetworkDuplicates = Annotated[int, "same IP id and bytes again"]
Bytes = Annotated[int, "of payload"]
ByKind = Annotated[dict[str, int], "arrivals by wire kind"]
Unknown = Annotated[dict[str, str], "figures that cannot be told, and why"]

#: Why a figure is null at a sender's interface, or on the way.
NOT_VISIBLE: Final = "not visible at this point of capture"


def receipt_unknown(why: str) -> dict[str, str]:
    """Why nothing is said of what a stream's receiver delivered and lost: ``Unknown``."""
    return dict.fromkeys(("delivered", "lost", "recovered", "unrecovered"), why)


Delivered = Annotated[list[list[int]] | None, "ranges in the order of delivery"]
Listed = Annotated[Ranges | None, "ranges of those, the first 10,000"]
OpenUntil = Annotated[
    int | None,
    "a capture that ends then or later tells whether what is open is lost, and what was repaired; "
    "null: nothing is open, or may come yet",
]


class JitterRow(TypedDict):
    """Jitter in ns by the capture's clock, steps below a second included; null: not measured."""

    last: int | None
    mean: int | None
    max: int | None


class StreamRow(StreamFigures, StreamPlace):
    """A stream as readers of all systems see it: what is of one system only is in its own type."""

    kind: NotRequired[str]
    role: NotRequired[Role]
    subject: NotRequired[str]
    key: NotRequired[str]
    source: NotRequired[str | None]
    feed: NotRequired[str]
    destination: NotRequired[str | None]
    priority: NotRequired[int]
    reliable: NotRequired[bool]
    first: NotRequired[str | None]
    last: NotRequired[str | None]
    first_ns: NotRequired[Time]
    last_ns: NotRequired[Time]
    start_known: NotRequired[bool | None]
    session_start_captured: NotRequired[bool]
    by_wire_kind: NotRequired[ByKind]
    open: NotRequired[int | None]
    lost_proven: NotRequired[int | None]
    not_asked_for: NotRequired[int]
    no_longer_asked_for: NotRequired[int]
    network_duplicates: NotRequired[NetworkDuplicates]
    bytes: NotRequired[Bytes]
    reordered: NotRequired[int | None]
    recovered_or_late: NotRequired[int | None]
    delivered: NotRequired[Delivered]
    requests: NotRequired[Directions]
    requested_seqnos: NotRequired[Directions]
    acks: NotRequired[Directions]
    syncs: NotRequired[Directions | None]
    retransmissions: NotRequired[Retransmissions]
    recovery_ns: NotRequired[Percentiles]
    jitter_ns: NotRequired[JitterRow | None]
    unknown: NotRequired[Unknown]


def more_lost(stream: StreamRow) -> int | None:
    """What it may have lost beside its figures: 0 where exact or null; null: any number."""
    lost = stream.get("lost")
    most = cast("int | None", stream.get("lost_upper", lost))
    return 0 if lost is None else None if most is None else most - lost


def unproven_lost(stream: StreamRow) -> int:
    """How many of what it has as lost no frames prove to be: they were lost, or not captured. 0
    where its figure is null or a least one."""
    proven, lost = stream.get("lost_proven"), stream.get("lost")
    return 0 if proven is None or lost is None else lost - proven


class StateRow(TypedDict):
    """A state that a connection entered."""

    state: Annotated[str | None, "null: from then on it cannot be told; why says so"]
    frame: int
    at_ns: int
    why: str


class ConnectionFigures(TypedDict):
    """One end of a connection, as it was replayed."""

    cluster: str
    sender: str
    receiver: str
    conn_id: int | None
    end: Annotated[str, "whose end was captured: sender, receiver or between"]
    frame: int | None
    at_ns: int | None
    state: Annotated[str | None, "the last one; null if none is known"]
    states: list[StateRow]
    highest_sent: int | None
    highest_acked: int | None
    highest_received: NotRequired[int | None]
    highest_delivered: NotRequired[int | None]
    last_stamp: Annotated[int | None, "timestamp of the last ACK; null if none had one"]
    unacked_seqnos: Ranges


class ConnectionRow(ConnectionFigures, StreamPlace):
    """One end of a connection."""


class EvidenceRow(TypedDict):
    """A frame and what it shows."""

    frame: int | None
    shows: str
    file: NotRequired[Annotated[str, "its file, in a capture of several"]]


class StepRow(TypedDict):
    """One step of the story of a gap."""

    step: Annotated[
        StepName,
        "confirmed: the sender says that it heard the request; refused: an answer without it; "
        "had: the receiver shows that it has what was not captured; "
        "told: the receiver tells the sender of the loss",
    ]
    frame: Annotated[int | None, "null: no one frame shows it"]
    at_ns: Annotated[int | None, "null: not known"]
    after_ns: Annotated[int | None, "after the gap was revealed; negative: before that"]
    by: Annotated[str | None, "identity of who did it; null: nothing names one"]
    by_name: str | None
    says: Annotated[str, "a clause for the reader"]


LossPlace = Literal[
    "before this point",
    "after this point",
    "in this capture itself",
    "nothing was lost",
    "cannot be told",
]


class WhereLost(TypedDict):
    """Where the messages of a gap were lost."""

    where: Annotated[LossPlace, "seen from the place of capture"]
    where_certainty: Certainty
    where_why: Annotated[str, "what says so, or why it cannot be told"]
    where_evidence: list[EvidenceRow]


class StoryRow(WhereLost):
    """What happened to a gap, step by step, and where its messages were lost."""

    steps: Annotated[list[StepRow], "in the order of frames; at most a dozen or so"]
    steps_more: Annotated[int, "further requests, not listed"]
    waited_by: Annotated[str | None, "who could hand on nothing behind it; null: not known"]
    waited_by_name: str | None
    waited_ns: Annotated[int | None, "how long; null: not known"]
    unknown: Annotated[dict[str, str], "asked, asked_by or waited, and why nobody knows"]


class GapRow(TypedDict):
    """Seqnos known to exist before they arrived, and what became of them."""

    capture: int
    system: str
    stream: str
    number: NotRequired[Annotated[int, "what --gap takes, where gaps are listed"]]
    seqnos: Annotated[Ranges, "those that are known to exist"]
    shown: NotRequired[Annotated[str, "the same in the protocol's own words, where it has some"]]
    count: Annotated[int, "how many; where more may have been lost, the least"]
    count_upper: NotRequired[Annotated[int | None, "the most; null: nothing bounds it"]]
    outcome: str
    lost_after_frame: Annotated[int | None, "the last frame before; null if there is none"]
    revealed_frame: Annotated[int | None, "the frame that shows it"]
    revealed_at_ns: int | None
    revealed_by: str | None
    revealed_after_ns: Annotated[int | None, "after lost_after_frame"]
    requests: Annotated[int, "how often it was asked for"]
    requested_frame: Annotated[int | None, "null: nobody was seen to ask"]
    requested_after_ns: Annotated[int | None, "after it was revealed"]
    repaired_frame: Annotated[int | None, "null: nothing came"]
    repaired_after_ns: Annotated[int | None, "after it was asked for; else after it was revealed"]
    delivered_frame: Annotated[int | None, "null: not known, or a wait ended, which none shows"]
    delivered_after_ns: Annotated[int | None, "after it was revealed"]
    causes: NotRequired[list[str]]
    where: NotRequired[str | None]
    why: NotRequired[Annotated[str | None, "why it was given up; null if it was not"]]
    ended_at_ns: NotRequired[int | None]
    story: StoryRow


class QueryFigures(TypedDict):
    """A query of a cache, and its answer."""

    frame: int
    at_ns: int
    requester: str | None
    source: Annotated[str | None, "null: all sources"]
    key: str
    parameters: Annotated[str, "as on the wire"]
    request_id: Annotated[int | None, "on the wire, of this session; null: never sent"]
    requester_endpoint: str
    sort: Annotated[str, "recovery, periodic, heartbeat or history"]
    first_seqno: int | None
    last_seqno: Annotated[int | None, "null: open"]
    newest_seqno: Annotated[int | None, "that had passed live when it was asked; null: none had"]
    whole: Annotated[bool, "request and end were captured, and all frames of the answer between"]
    replies: int
    reply_bytes: int
    reply_seqnos: Ranges
    discarded_replies: int
    recovered: Annotated[int | None, "missing samples that it brought"]
    evicted_seqnos: Annotated[Ranges | None, "null: the depth of the cache is not known"]
    caches: list[str]
    outcome: str
    ended_frame: Annotated[int | None, "null: it was not seen to end"]
    duration_ns: Annotated[int | None, "null: it was not seen to end"]


class QueryRow(ConversationPlace, QueryFigures):
    """A query of a cache, and its answer."""


What = Literal[
    "unacknowledged messages",
    "packets from the first missing one on",
    "bytes in the publishers' window",
    "bytes in the subscribers' window",
]


class WindowFigures(TypedDict):
    """How full a window was over time, or how much was not acknowledged."""

    what: What
    member: Annotated[str | None, "whose it is; null: not known"]
    limit: Annotated[int | None, "what fits; null: nothing limits it, or nobody says"]
    most: int
    thinned: Annotated[bool, "points are the higher ones of more steps, and the last"]
    points: Annotated[list[list[int]], "[time in ns, how much from then on]"]


class WindowRow(ConversationPlace, WindowFigures):
    """How full a window was over time, or how much was not acknowledged."""

    stream: Annotated[str | None, "null: of no one stream"]
    member_name: str | None


class FindingRow(TypedDict):
    """What a rule says."""

    capture: int
    number: NotRequired[Annotated[int, "what --finding takes, where findings are listed"]]
    rule: str
    name: str
    severity: Severity
    certainty: Certainty
    system: Annotated[str | None, "null: of a budget, not of a conversation or capture"]
    stream: Annotated[str | None, "null: about a whole conversation or capture"]
    subject: NotRequired[Annotated[str, "the subject or key of its stream, which has one"]]
    text: str
    seqnos: Ranges
    frame: Annotated[int | None, "null: about no one moment"]
    at_ns: Annotated[int | None, "behind its frame where a wait ended; null: about no one moment"]
    evidence: list[EvidenceRow]
    filter: Annotated[str, "Wireshark's display filter that shows it"]
    file: NotRequired[str]
    filter_file: NotRequired[str]
    exception: NotRequired[Failure]


class Judged(TypedDict):
    """Where a rule was judged."""

    capture: int
    conversation: str


class NotJudged(TypedDict):
    """Where it could not be, and why."""

    capture: int
    conversation: str
    why: str | None


class RuleRow(TypedDict):
    """A rule, and where it was judged."""

    rule: str
    name: str
    judged: Sequence[Judged]
    not_judged: Sequence[NotJudged]
    findings: int


class ParameterFigures(TypedDict):
    """A parameter of an engine."""

    name: str
    value: Annotated[int | bool | str | None, "null: nobody knows, nothing is judged by it"]
    origin: Annotated[str, "given, wire, learned or default"]


class ParameterRow(ConversationPlace, ParameterFigures):
    """A parameter that an engine used, or that was given without effect."""

    stream: str | None
    used: bool


StreamSide = Literal["sender", "receiver"]
PassageKind = Literal[
    "messages", "highest", "closes", "acks", "requests", "syncs",
    "frames", "samples", "heartbeats", "queries", "replies", "finals", "declarations",
    "repairs", "confirmations",
]  # fmt: skip


class PassageRow(TypedDict):
    """What of one kind went one way between the ends of a stream; copies are counted each."""

    kind: PassageKind
    sent: Annotated[int, "in the capture at the end that sent it"]
    arrived: Annotated[int, "in the capture at the other end"]
    missing: Annotated[int, "in the capture at the end that sent it, and not in the other"]
    lost_on_path: Annotated[int | None, "missing ones; null if the other capture may lack some"]
    not_captured: Annotated[int, "arrived, and not in the capture at the end that sent it"]
    seqnos: Annotated[Ranges, "of messages of which a copy is missing"]
    why: Annotated[str | None, "why lost_on_path cannot be told; null if it can"]


class MomentRow(TypedDict):
    """A frame and its time."""

    frame: int
    at_ns: int


class CopyRow(TypedDict):
    """A copy that was sent when its message had arrived."""

    seqno: int
    copy: Annotated[MomentRow, "in the sender's capture"]
    arrival: Annotated[MomentRow | None, "in the receiver's capture; null: inside a run"]


class MatchedRow(TypedDict):
    """Datagrams that are in both captures, by which their clocks were compared."""

    out: Annotated[int, "from the sender to the receiver"]
    back: int


class EndsFigures(TypedDict):
    """What the captures at both ends say of a stream, whatever the others show."""

    sender: str
    sender_capture: int
    receiver: str
    receiver_capture: int
    conn_id: Annotated[int | None, "of the connection; null where the protocol has none"]
    copies_sent: Annotated[int | None, "null: more than is remembered, multicasts, or zenoh"]
    after_seqnos: Annotated[Ranges, "of copies that certainly nobody needed"]
    examples: list[CopyRow]
    clock_offset_ns: Annotated[
        list[int | None] | None,
        "receiver's clock less the sender's, at least and at most, at the stream's first message; "
        "null: its bounds contradict each other",
    ]
    datagrams_matched: MatchedRow


class BothEndsFigures(EndsFigures):
    """What they come to when all captures are known."""

    path: list[PassageRow]
    copies_sent_after_arrival: Annotated[int | None, "copies that nobody needed"]
    copies_sent_after_arrival_at_least: Annotated[int, "those that certainly were"]
    unknown: Annotated[dict[str, str], "figures that cannot be told, and why"]


class BothEndsRow(BothEndsFigures):
    """A stream of which the captures at its sender and at its receiver are given."""

    system: str
    id: str
    sender_name: str | None
    receiver_name: str | None


class TablePlace(TypedDict):
    """Where a row of a system's own table is of, and who the identities in it are."""

    capture: int
    observer_name: NotRequired[str | None]
    bridge_name: NotRequired[str | None]
    publisher_name: NotRequired[str | None]
    subscriber_name: NotRequired[str | None]
    receiver_name: NotRequired[str | None]


#: Tables by system and name; rows are of types that systems declare (``System.tables``), each with
#: its place.
Tables = dict[str, dict[str, Sequence[Any]]]


class ToolRow(TypedDict):
    """What made the report."""

    name: str
    version: str


class Report(TypedDict):
    """``seqaudit/report/1``."""

    schema: Literal["seqaudit/report/1"]
    tool: ToolRow
    captures: Sequence[CaptureRow]
    unreadable: Sequence[Problem]
    unjudged: Sequence[Problem]
    members: Sequence[MemberRow]
    views: Sequence[ViewRow]
    streams: Sequence[StreamRow]
    connections: Sequence[ConnectionRow]
    both_ends: Sequence[BothEndsRow]
    gaps: Sequence[GapRow]
    queries: Sequence[QueryRow]
    windows: Sequence[WindowRow]
    findings: Sequence[FindingRow]
    rules: Sequence[RuleRow]
    parameters: Sequence[ParameterRow]
    totals: TotalsRow
    tables: NotRequired[Annotated[Tables, "by system and name"]]
    metrics: NotRequired[MetricsRow]
