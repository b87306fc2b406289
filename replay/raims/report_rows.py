"""Streams and tables of raims as the report has them; seqnos of streams are texts of hex digits
there."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired, TypedDict

from seqaudit.replay.contract.report_rows import (
    Bytes,
    NetworkDuplicates,
    Ranges,
    Role,
    StreamFigures,
    Time,
    Unknown,
)


class TimeFrame(TypedDict):
    """Numbers seen of one time frame."""

    time_frame: Annotated[int, "when its numbering began, as in the seqno"]
    numbers: Ranges
    chain: Annotated[int | str | None, "chain of its first message, a seqno; null: none seen"]


class BeginRow(TypedDict):
    """A frame in which a subject was numbered anew."""

    seqno: int | str
    shown: str
    chain: Annotated[int | str | None, "chain of the message, a seqno; null: it has none"]
    why: str
    forgotten_ns: Annotated[
        int | None,
        "rotation at which its publisher had forgotten the subject; null: it began otherwise",
    ]
    frame: int


class LossRow(TypedDict):
    """Messages between two numbers."""

    after: Annotated[int | str | None, "the seqno before; null: not known"]
    before: Annotated[int | str | None, "the seqno behind; null: the capture ended"]
    lower: Annotated[int, "lost at least; or not captured, where the stream's lost is null"]
    upper: Annotated[int | None, "lost at most; null: nothing bounds it"]
    known_by: str
    missing_sqns: Annotated[
        int | None, "PGM sqns that did not come in between; null: no PGM, or not known"
    ]
    untaken: Annotated[int, "that came while the daemon had dropped their publisher"]
    some_may_have_come: Annotated[
        bool, "the daemon itself tells of a loss there, and may have had part of what is not here"
    ]
    frame: int
    at_ns: int


class RaimsStreamRow(StreamFigures):
    """Messages of one publisher to one subject, or of one path that numbers all its subjects."""

    role: Role
    subject: str
    numbering: Annotated[str, "per subject, or per publisher and path"]
    first: Annotated[str | None, "first_seqno as users read it; null as that"]
    last: Annotated[str | None, "last_seqno as users read it; null as that"]
    first_ns: Time
    last_ns: Time
    network_duplicates: NetworkDuplicates
    bytes: Bytes
    zero_seqnos: Annotated[int | None, "messages without a number; null: as delivered"]
    time_frames: list[TimeFrame]
    begins: list[BeginRow]
    delivered: Annotated[
        list[list[int]] | list[list[str]] | None, "ranges in the order of delivery"
    ]
    delivered_by_subject: Annotated[dict[str, int] | None, "null: as delivered"]
    arrivals_by_subject: dict[str, int]
    numbers_by_subject: dict[str, Ranges]
    lost_by_subject: Annotated[dict[str, list[int]] | None, "at least and at most; null: as lost"]
    reordered: int
    lost_upper: Annotated[int | None, "lost at most; null: nothing bounds it"]
    losses: list[LossRow]
    counted_loss: Annotated[int | None, "what the receiver's own counter of lost messages grew by"]
    false_loss: Annotated[int | None, "of that, where nothing was lost"]
    rows: Annotated[
        dict[str, int] | None,
        "how often each row of the window's table decided; null: as delivered",
    ]
    remembered: Annotated[bool | None, "whether its publisher still knows the subject"]
    forgotten_ns: Annotated[int | None, "when it forgot it; null: it did not, or nobody knows"]
    unwanted: Annotated[int | None, "of no route, or not subscribed to; null: as delivered"]
    ignored: Annotated[
        int | None,
        "from a peer that was dropped: taken by nobody, counted by nobody; null: as delivered",
    ]
    unknown: Unknown


class AdvisoryRow(TypedDict):
    """What a daemon must have published to its RV clients of lost messages."""

    observer: str | None
    start: int
    at_ns: int
    frame: int
    subject: str
    data: dict[str, str | int | None]
    order: Annotated[list[str], "fields of data as they are on the wire"]


class LossEventFigures(TypedDict):
    """A message that came behind lost ones, of which RV clients are told."""

    service: int
    subject: Annotated[str, "without the service"]
    count: Annotated[int | None, "null: not known"]
    publisher: str
    hostid: str | None
    host: str | None
    frame: int
    at_ns: int


class LossEventRow(LossEventFigures):
    """The same, at the daemon that tells them."""

    observer: str | None
    start: int


class RotatedRow(TypedDict):
    """A rotation of a window's tables, and what it held."""

    at_ns: int
    count: int
    size: Annotated[int, "bytes by the code"]
    document_size: Annotated[int, "bytes by the design document"]
    next_ns: Annotated[int | None, "when the first entry came after it; null: none did"]


class DaemonWindowsRow(TypedDict):
    """What ``show windows`` says of a daemon; of publishers only where it publishes."""

    observer: str | None
    start: int
    address: str | None
    from_ns: int | None
    to_ns: int | None
    doubt: str | None
    sub_size_unknown: str | None
    sub_count: int
    sub_size: int
    sub_document_size: int
    sub_max_count: int
    sub_max_size: int
    sub_max_document_size: int
    sub_limit: int
    sub_count_limit: int
    sub_rotations: int
    sub_rotated_ns: int
    sub_rotated: list[RotatedRow]
    pub_count: NotRequired[int]
    pub_size: NotRequired[int]
    pub_document_size: NotRequired[int]
    pub_max_count: NotRequired[int]
    pub_max_size: NotRequired[int]
    pub_max_document_size: NotRequired[int]
    pub_limit: NotRequired[int]
    pub_count_limit: NotRequired[int]
    pub_rotations: NotRequired[int]
    pub_rotated_ns: NotRequired[int]
    pub_rotated: NotRequired[list[RotatedRow]]
    frames_began: NotRequired[Annotated[dict[str, int], "its time frames, by why they began"]]


class RvClientRow(TypedDict):
    """A client's connection to a daemon."""

    client: str
    daemon: str
    address: Annotated[str | None, "of the daemon; null: only a loopback address is known"]
    began: Annotated[bool, "its handshake was captured, so its subscriptions are known"]
    service: int | None
    userid: str | None
    session: str | None
    first_frame: Annotated[int | None, "null: none of it was captured"]
    first_ns: int | None
    last_frame: Annotated[int | None, "null: none of it was captured"]
    last_ns: int | None
    listens: Annotated[list[list[str | int | None]], "pattern, from when, to when; null: the end"]
    received: Annotated[dict[str, int], "messages by what became of them"]
    sent: int
    advisories: int
    unlisted: int


class InboxRow(TypedDict):
    """One direction of a point-to-point connection."""

    source: str
    destination: str
    packets: int
    repairs: int
    duplicates: int
    acks: int


class NoticeRow(TypedDict):
    """A loss notice that was captured."""

    receiver: str
    publisher: str | None
    subject: str | None
    count: int | None
    restart: bool
    total: int | None
    seqno: Annotated[int | str | None, "a text of hex digits in the report"]
    frame: int
    at_ns: int


class ConvergenceRow(TypedDict):
    """A stream that was joined late."""

    subscriber: str | None
    publisher: str
    subject: str
    seqno: Annotated[int | str, "a text of hex digits in the report"]
    shown: str
    number: int
    started_ns: int
    converged_ns: Annotated[int | None, "null: no heartbeat tells, and nobody states it"]
    verdict: str
    undecided: Annotated[str | None, "what may speak against it and cannot be told"]
    frame: int
    at_ns: int


class RvAdvisoryRow(TypedDict):
    """An advisory that an RV client was sent."""

    client: str
    daemon: str
    address: str | None
    at_ns: int
    frame: int
    index: int
    subject: str
    data: Annotated[list[list[Any]], "fields as they came: name and value"]


class PeerLossRow(TypedDict):
    """A row of ``show loss`` and the truth beside it; what is null ``unknown`` explains."""

    observer: str | None
    start: int
    bridge: str
    user: str
    lost_lower: int | None
    lost_upper: int | None
    false_loss: int | None
    told_loss: Annotated[int | None, "losses that the observer told this peer, in all"]
    learned: str | None
    defaults: Annotated[list[str], "of raims, on which msg_loss, repeat and false_loss rest"]
    dropped_ns: int | None
    began_before: bool
    unknown: Unknown
    skew_least_ns: int | None
    skew_most_ns: int | None
    null_rte: int | None
    null_rte_ns: int | None
    repeat: int | None
    repeat_ns: int | None
    not_sub: int | None
    not_sub_ns: int | None
    msg_loss: int | None
    msg_loss_ns: int | None
    ibx_loss: int | None
    ibx_loss_ns: int | None


#: The tables of raims by name.
TABLES: Final[Mapping[str, type]] = {
    "advisories": AdvisoryRow,
    "convergence": ConvergenceRow,
    "inbox": InboxRow,
    "loss": PeerLossRow,
    "loss_events": LossEventRow,
    "notices": NoticeRow,
    "rv_advisories": RvAdvisoryRow,
    "rv_clients": RvClientRow,
    "windows": DaemonWindowsRow,
}
