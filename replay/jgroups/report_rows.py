"""Streams of UNICAST and MCAST as the report has them."""

from typing import Annotated, NotRequired, TypedDict

from seqaudit.replay.contract.report_rows import (
    ByKind,
    Bytes,
    Delivered,
    Directions,
    Listed,
    NetworkDuplicates,
    OpenUntil,
    Retransmissions,
    Role,
    StreamFigures,
    Time,
    Unknown,
)
from seqaudit.replay.sequence.durations import Percentiles


class CapacityRow(TypedDict):
    """The size of a sender's window."""

    value: Annotated[int, "messages"]
    origin: Annotated[str, "given or learned"]


class StallRow(TypedDict):
    """A time in which a sender's window was full."""

    full_frame: int
    full_at_ns: int
    filled_by: Annotated[int, "seqno that filled it"]
    raised_frame: Annotated[int, "the ACK or view that made room"]
    raised_by_member: Annotated[str | None, "who sent the ACK; null: a member left"]
    resumed_frame: Annotated[int, "the first new seqno after it"]
    blocked_ns: int
    outstanding: Annotated[int, "unacknowledged messages while it was full"]
    proven: Annotated[bool, "it followed at once, and later than before: it was blocked"]


class JGroupsStreamRow(StreamFigures):
    """What streams of UNICAST and MCAST have in common."""

    cluster: str
    role: Role
    first_ns: Time
    last_ns: Time
    bytes: Bytes
    by_wire_kind: ByKind
    network_duplicates: NetworkDuplicates
    delivered: Delivered
    delivered_unlisted: NotRequired[Annotated[int, "further ranges, not listed"]]
    start_known: NotRequired[Annotated[bool, "the window's beginning was captured or told"]]
    reordered: int
    recovered_or_late: int | None
    lost_seqnos: Listed
    unrecovered_seqnos: Listed
    open_at_end: Annotated[
        int | None,
        "missing ones, of which it is too early to say that they are lost; not among lost",
    ]
    open_at_end_seqnos: Listed
    open_until_ns: OpenUntil
    not_captured: Annotated[int, "came, as their receiver shows, and are not in the capture"]
    not_asked_for: Annotated[int, "missing, and nobody asked for them"]
    no_longer_asked_for: Annotated[int, "asked for and no more: they came or were given up"]
    sent_before: Annotated[int, "missing, and sent before the capture or window began"]
    repairs_not_captured: Annotated[int, "recovered, by copies that are not in the capture"]
    dropped_inside: NotRequired[Annotated[int | None, "arrived, and lost inside the receiver"]]
    outside_window: NotRequired[Annotated[int, "arrived above the highest that the window takes"]]
    outside_membership: Annotated[int, "before the join, after the end, or from a non-member"]
    requests: Directions
    requested_seqnos: Directions
    acks: Directions
    syncs: Annotated[Directions | None, "null where the protocol has none"]
    retransmissions: Retransmissions
    recovery_ns: Percentiles
    stalls: Annotated[list[StallRow] | None, "null: the window has no bound, or nobody knows it"]
    unlisted_stalls: NotRequired[Annotated[int, "further ones, not listed"]]
    max_outstanding: Annotated[int | None, "most messages unacknowledged; null: no bound"]
    capacity: Annotated[CapacityRow | None, "of the window; null: no bound, or nobody knows it"]
    unknown: Unknown


class AckTraffic(TypedDict):
    """ACKs for the data that they acknowledge."""

    acks: int
    ack_bytes: int
    data_bytes: int
    messages_per_ack: Annotated[float | None, "null without ACKs"]


class SentRow(TypedDict):
    """What a receiver would have sent."""

    acks: int
    syncs: int


class UnacknowledgedRow(TypedDict):
    """What a sender kept to send again."""

    most_messages: int
    most_bytes: int
    most_frame: Annotated[int | None, "null: it never kept any"]
    most_at_ns: Annotated[int | None, "null: it never kept any"]
    last_messages: Annotated[int, "when the capture ended"]
    last_bytes: int


class UnicastStreamRow(JGroupsStreamRow):
    """One connection in one direction."""

    copies_with_first_flag: Annotated[int, "copies that have the flag of the first message"]
    acks_ignored: Annotated[int | None, "null: the sender is not here"]
    highest_ack: Annotated[int | None, "null: no ACK was captured"]
    ack_traffic: AckTraffic
    closes: Directions
    resends: Annotated[dict[str, int] | None, "copies by reason; null: the sender is not here"]
    redelivered: Annotated[int | None, "delivered again; null: the receiver is not here"]
    dropped_without_window: Annotated[
        int | None, "of no known connection; null: the receiver is not here"
    ]
    would_have_sent: Annotated[
        dict[str, SentRow] | None, "by rule set; null: the receiver is not here"
    ]
    unacknowledged: Annotated[UnacknowledgedRow | None, "null: the sender is not here"]


class McastPeer(TypedDict):
    """What one member asked of the sender."""

    requests: int
    requested_seqnos: int
    acks: int
    highest_ack: Annotated[int | None, "null: no ACK of it was captured"]
    repairs: Annotated[int, "copies that went to it"]


class McastStreamRow(JGroupsStreamRow):
    """One member's multicasts."""

    further_sends: Annotated[int, "first sends to one more member: over TCP each gets its own"]
    peers: Annotated[dict[str, McastPeer], "by member"]
    delivered_unsure: Annotated[
        Listed,
        "delivered or not: came before anything shows that the receiver was there, or a merge "
        "skipped it or its window ended before anybody asked for it, and the capture may lack "
        "that it came; null: what was delivered is not told",
    ]
    delivered_interval: Annotated[
        list[int] | None,
        "of a receiver that died or left: delivered at least and at most; null: it did not",
    ]
