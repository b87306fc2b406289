"""Streams of a feed, and pairs of lines, as the report has them."""

from typing import Annotated, Literal, TypedDict

from seqaudit.replay.contract.report_rows import (
    Bytes,
    Directions,
    JitterRow,
    NetworkDuplicates,
    OpenUntil,
    Ranges,
    Retransmissions,
    StreamFigures,
    Time,
)
from seqaudit.replay.sequence.durations import Percentiles


class AskedRow(TypedDict):
    """What one source asked for."""

    requests: int
    requested_seqnos: int


class FeedStreamRow(StreamFigures):
    """A numbered stream of a feed, or one of two lines that carry the same."""

    kind: Annotated[Literal["feed", "line"], "line: one of two that carry the same"]
    feed: Annotated[str, "name of the feed's description"]
    senders: Annotated[list[str], "addresses that sent it"]
    destination: Annotated[str | None, "address that it went to"]
    declares: Annotated[list[str], "what the feed's description names besides numbers, as requests"]
    start_known: Annotated[
        bool | None, "its first number is known here; null: nobody says which that is"
    ]
    number_bits: Annotated[int | None, "width of a number on the wire"]
    first_ns: Time
    last_ns: Time
    network_duplicates: NetworkDuplicates
    bytes: Bytes
    reordered: Annotated[int, "messages that stand behind later ones, by the order of records"]
    recovered_or_late: int
    unrecovered_seqnos: Ranges
    open_at_end: Annotated[
        int, "missing ones, of which it is too early to say that they are lost; not among lost"
    ]
    open_at_end_seqnos: Ranges
    open_until_ns: OpenUntil
    reorder_depth: Annotated[int, "by how many later ones an overtaken message was passed, at most"]
    late_ns: Annotated[Percentiles, "how late what was not lost came"]
    recovery_ns: Annotated[Percentiles, "from the gap to its repair"]
    answer_ns: Annotated[Percentiles, "from a request to its repair"]
    requests: Directions
    requested_seqnos: Directions
    requests_repeated: Annotated[int, "for what was asked for before"]
    peers: Annotated[dict[str, AskedRow], "by source of the requests"]
    retransmissions: Retransmissions
    jitter_ns: Annotated[JitterRow | None, "interarrival jitter; null without timestamps"]
    odd_counts: Annotated[
        int | None, "datagrams whose count of messages does not fit; null: no count is declared"
    ]
    resets: Annotated[int, "new beginnings that the feed announced"]
    restarts: Annotated[
        int, "new beginnings that it did not; but where the capture's time goes back"
    ]
    wraps: Annotated[int, "times that the number ran over its width"]
    ended: Annotated[
        int | None, "the number behind the last, by an end of session; null: none was captured"
    ]
    ended_frame: Annotated[int | None, "its frame; null: none was captured"]
    silences: Annotated[int, "pauses longer than feed.silence_ms"]


class LineRow(TypedDict):
    """One of two lines."""

    destination: Annotated[str | None, "null: it was not captured"]
    messages: Annotated[int | None, "null: it was not captured"]
    lost_only_here: int
    lost_only_here_seqnos: Ranges
    first: Annotated[int, "messages that came here first"]
    lead_ns: Annotated[Percentiles, "how much earlier those came"]


class PairRow(TypedDict):
    """Two lines, a row of the table "lines"."""

    id: str
    feed: str
    messages: int
    compared: int
    lost_on_both: int
    lost_on_both_seqnos: Ranges
    open_at_end: Annotated[
        int, "missing on both, of which it is too early to say that they are lost; not among these"
    ]
    open_at_end_seqnos: Ranges
    open_until_ns: OpenUntil
    recovered: int
    repairs_needless: int
    requests: int
    measured: Annotated[int, "messages whose times on both lines are known"]
    together: Annotated[int, "of those, the ones that came at one time"]
    numberings_of_one_line: Annotated[int, "numbers that the lines use for different messages"]
    line_a: LineRow
    line_b: LineRow
