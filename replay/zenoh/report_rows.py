"""Streams of zenoh as the report has them: samples, numbered or not, and transport frames."""

from typing import Annotated, Final, Literal, NotRequired, TypedDict

from seqaudit.replay.contract.report_rows import (
    Bytes,
    Directions,
    Listed,
    NetworkDuplicates,
    Ranges,
    Retransmissions,
    Role,
    StreamFigures,
    Time,
    Unknown,
)
from seqaudit.replay.sequence.durations import Percentiles

#: Null figures: what they count is on no wire at this place, and ``unknown`` says why.
Unseen: Final = "null: not visible here"


class LegStreamRow(StreamFigures):
    """What all streams of zenoh have."""

    leg: Annotated[str, "the conversation: two nodes, or a group"]
    transport: Annotated[str, "tcp, udp or multicast"]
    role: Role
    unknown: Unknown


#: Whom a row is of. Where nobody asked all were handed what came since they were there, so that the
#: figures are of the first of them and of all together.
StandsFor = Literal[
    "all subscribers of its node at its key", "one subscriber of its node at its key"
]
ALL: Final = "all subscribers of its node at its key"
ONE: Final = "one subscriber of its node at its key"

#: What shows a cause.
ShownBy = Literal["this capture", "the capture at the other end"]
THIS: Final = "this capture"
OTHER_END: Final = "the capture at the other end"


class CauseRow(TypedDict):
    """Why some of the samples of a miss did not come back."""

    seqnos: Ranges
    cause: str
    shown_by: Annotated[
        ShownBy | None,
        "which has the whole answer, or the reply that left; null: it is the likeliest",
    ]


class MissRow(TypedDict):
    """Samples that a subscriber's application is told it missed."""

    seqnos: Ranges
    nb: Annotated[int, "how many"]
    cause: Annotated[str, "in words, where they differ all of them"]
    causes: Annotated[list[CauseRow], "sample by sample"]
    request_ids: Annotated[list[int], "of the queries that ended while they were missing"]
    frame: Annotated[int | None, "null: a query's time was up, which no frame shows"]
    at_ns: int


class WaitRow(TypedDict):
    """Samples that were held back behind a gap."""

    seqnos: Ranges
    count: int
    held_frame: int
    released_frame: Annotated[int | None, "null: a query's time was up, which no frame shows"]
    waited_ns: int


class SubscriberRow(TypedDict):
    """One subscriber of a node that has several."""

    delivered: list[list[int]]
    delivered_unsure: Ranges
    misses: list[MissRow]


class ControlRow(TypedDict):
    """Messages that carry no sample of the publisher's own."""

    queries: int
    replies: int
    finals: int
    heartbeats: int
    while_nothing_is_missing: Annotated[int | None, "of those; null: nobody is known to receive"]
    samples_while_nothing_is_missing: Annotated[int | None, "null: nobody is known to receive"]


class DocumentRow(TypedDict):
    """What the machine of the protocol's document would have done with what came."""

    cache: str | None
    cache_history: int | None
    queries: int
    empty_periodic_queries: int
    replies: int
    control_messages: int
    source_ids_shared_by: int
    taken_for_repeats: Ranges


class SamplesStreamRow(LegStreamRow):
    """Numbered samples of one publisher to one subscriber."""

    kind: Literal["samples"]
    publisher: Annotated[str, "advanced, or ros where attachments carry the number"]
    source: Annotated[str, "ZenohId and entity of the publisher"]
    key: Annotated[str | None, "null: no message names it"]
    subscriber: Annotated[str | None, "its key expression; null: nobody is known to receive"]
    stands_for: Annotated[
        StandsFor | None,
        "whom its figures are of, as a node declares a key once, however many subscribers it has "
        "there: of one where somebody asked, and right if there is no other; null: of nobody known",
    ]
    sender_endpoint: str
    sender_node: Annotated[str | None, "ZenohId of who sent it here; null: no session start seen"]
    receiver_endpoint: str
    session_start_captured: bool
    first_ns: Time
    last_ns: Time
    bytes: Bytes
    network_duplicates: NetworkDuplicates
    live: Annotated[Ranges, "ranges that came as they were published, the first 10,000"]
    replied: Annotated[Ranges, "ranges that came as replies, the first 10,000"]
    replies: int
    discarded: Annotated[int, "that its receiver does not accept"]
    heartbeats: int
    heartbeat_highest: Annotated[int | None, "highest seqno that one told; null: none did"]
    block: Annotated[bool, "all have congestion control block"]
    reliable: Annotated[bool, "all have reliability"]
    fragmented: Annotated[int, "samples in several frames"]
    cache: Annotated[str | None, "answered, declared or none; null: nobody can tell"]
    cache_depth_seen: Annotated[int | None, "null: no reply shows it"]
    subscriber_recovers: Annotated[bool | None, "it asks for what it missed; null: nothing shows"]
    subscriber_gone: Annotated[bool, "it was undeclared, or its node closed the session"]
    receiver_silent_ns: Annotated[
        int | None,
        "its receiver spoke last then, of a session that no Close and no ICMP ended; null: one did",
    ]
    receiver_due_ns: Annotated[
        int | None, "it had to speak again then, by its lease; null: as receiver_silent_ns"
    ]
    flooded_ns: Annotated[
        list[int] | None,
        "from when to when the buffer of its receiver's socket may have been full; null: the "
        "datagrams of this session did not come so fast",
    ]
    held_max: Annotated[int | None, "most samples held back at a time; " + Unseen]
    queries_max: Annotated[int | None, "most open at a time; null: nobody is known to receive"]
    delivered: Annotated[
        list[list[int]] | None,
        "ranges of what came and is handed on, in this order, as its receiver reads on; null: not "
        "visible here, or unknown",
    ]
    delivered_unsure: Annotated[
        Listed,
        "of delivered, what no frame shows that it was: its receiver asked for nothing above it, "
        "and said nothing 100 ms behind it before which none of its own messages can be missing; "
        "it may have been undeclared, or gone, when that was read, or its socket's buffer full; "
        "null: as delivered",
    ]
    misses: Annotated[
        list[MissRow] | None,
        "as an advanced subscriber is told of them, a plain one not; " + Unseen,
    ]
    reordered: Annotated[int | None, Unseen]
    open: NotRequired[Annotated[int | None, "missing when the capture or the session ended"]]
    not_captured: NotRequired[Annotated[int | None, "came, and not in the capture"]]
    not_captured_seqnos: NotRequired[Annotated[Ranges | None, "those, or as it seems: CP007"]]
    forgotten: NotRequired[Annotated[int, "times that the idle source was forgotten"]]
    lost_seqnos: Listed
    unrecovered_seqnos: Listed
    lost_proven: Annotated[
        int | None,
        "of lost, what frames here prove: at least so many; the others, so that lost is the most, "
        "were lost, or not captured; " + Unseen,
    ]
    requests: Directions
    requested_seqnos: Directions
    acks: Directions
    syncs: Annotated[None, "the protocol has none"]
    retransmissions: Retransmissions
    recovery_ns: Percentiles
    repeats: Annotated[int | None, Unseen]
    longest_wait_ns: Annotated[int | None, "null: nothing was held back, or not visible here"]
    waits: NotRequired[Annotated[list[WaitRow], "the first 100"]]
    control: ControlRow
    subscribers: NotRequired[
        Annotated[list[SubscriberRow] | None, "of the node, where several differ; null: not known"]
    ]
    document: NotRequired[DocumentRow]


class UnnumberedStreamRow(LegStreamRow):
    """Samples of a publisher that numbers nothing."""

    kind: Literal["samples without SourceInfo"]
    publisher: Literal["classic"]
    source: None
    key: str
    stamped: Annotated[int, "with a timestamp"]
    out_of_order: Annotated[int, "by their timestamps"]
    delivered: None


class TransportStreamRow(LegStreamRow):
    """Frames of one priority from one end of a session to the other."""

    kind: Literal["transport"]
    first_ns: Time
    last_ns: Time
    session: Annotated[int, "number of the session between the two, from 0"]
    priority: int
    reliable: bool
    resolution_mask: Annotated[int, "of the sn"]
    initial_seqno: Annotated[int | None, "as the session start told; null: not captured"]
    start_known: bool
    frames_before_capture: Annotated[int | None, "null: nobody can tell"]
    network_duplicates: NetworkDuplicates
    missing: int
    missing_seqnos: Annotated[Ranges, "the first 10,000"]
    discarded: Annotated[int, "thrown away as too old"]
    late: Annotated[int, "came behind newer ones, and were thrown away"]
    skipped_after_fragments: Annotated[int, "sns left out after a message in fragments"]
    abandoned_messages: Annotated[int, "in fragments, never complete"]
    delivered: None
