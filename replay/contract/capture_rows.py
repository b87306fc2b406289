"""Rows of the report about captures: what each file holds, and where it was taken
(``report_rows`` has the others).
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, NotRequired, TypedDict, get_args


class FramesBy(TypedDict):
    """Every frame of a capture is in one of these."""

    decoded: int
    other: Annotated[int, "of no known system"]
    malformed: int
    truncated: Annotated[int, "of which the capture holds only the beginning"]
    undecodable: Annotated[int, "of a known system, and for a stated reason not decoded further"]


#: What becomes of frames, as ``FramesBy`` names it.
Fate = Literal["decoded", "other", "malformed", "truncated", "undecodable"]
OUTCOMES: Final[tuple[Fate, ...]] = get_args(Fate)


class VantageRow(TypedDict):
    """Where a capture was taken."""

    kind: Literal["member", "between", "unknown"]
    address: Annotated[str | None, "IP address of the member; null unless kind is member"]
    member: Annotated[str | None, "identity of the member; null if none was heard there"]
    name: Annotated[str | None, "its name; null as member"]
    origin: Annotated[str, "who says so: given, inferred or default"]
    why: str


SkippedRow = TypedDict(
    "SkippedRow",
    {"file": str, "from": int, "to": Annotated[int, "one past its last byte"], "why": str},
)
SkippedRow.__doc__ = "A stretch of bytes that are no records."


class InterfaceRow(TypedDict):
    """An interface that was captured from, as its file describes it."""

    file: str
    section: Annotated[int, "where its section begins in the file"]
    interface: Annotated[int, "its number in the section, from 0"]
    name: Annotated[str | None, "null or empty if the file has none"]
    link: Annotated[int | None, "link type, as registered with tcpdump; null if not described"]
    snap_length: Annotated[int | None, "bytes kept of a frame; 0: all"]
    resolution: Annotated[str | None, "of its times"]
    offset_s: Annotated[int | None, "added to its times"]
    fcs_bytes: NotRequired[Annotated[int, "of the frame check sequence at each frame's end"]]
    statistics_offset: NotRequired[Annotated[int, "where the last statistics stand in the file"]]
    received: NotRequired[Annotated[int, "packets, by the statistics"]]
    ifdrop: NotRequired[Annotated[int, "packets lost by the interface, by the statistics"]]
    osdrop: NotRequired[Annotated[int, "packets lost by the system, by the statistics"]]
    filter_accepted: NotRequired[Annotated[int, "packets, by the statistics"]]
    packet_drops: NotRequired[Annotated[int, "packets lost, as packet blocks count them"]]


class NamedFrames(TypedDict):
    """Frames of one kind, as job frames."""

    named: list[int]  # the first of them
    last: int | None  # of all; null: there is none
    count: int
    first_ns: int | None  # when the first was captured; null: there is none


class Order(TypedDict):
    """What the times of a capture say, in job frames (``pipeline.report.accounts``)."""

    late: int  # records that were put in order; by at most ``most_ns``
    most_ns: int
    first_late: int | None
    first_late_ns: int | None
    moved: dict[int, int]  # a place in the order of times to that of Wireshark's number
    moved_more: int  # records that stand elsewhere, too, and of which nobody kept where
    steps: list[list[int]]  # frame behind it, its time, how far back, flows that agree, and not
    steps_more: int
    guessed: list[list[int]]  # where a late record was put and where it stood, or behind a step
    torn: list[int]  # frames that belong before a border and are not there
    beyond: list[list[int]]  # first and last frame between which lie those that are not named


class TickRow(TypedDict):
    """How coarse a capture's clock is (``decoders.network.tick``)."""

    tick_ns: int  # 0: all records have the same time
    ties: int  # records that have the time of the one before


class Checksums(TypedDict):
    """Addresses of senders of whose packets nobody can tell whether they are damaged."""

    unclear: list[str]  # most have a wrong one
    untold: list[str]  # they have none that tells


class CaptureFigures(TypedDict):
    """What the pieces of a capture add up to."""

    path: Annotated[str, "the first file, with the network in brackets if it is one of several"]
    files: list[str]
    bytes: Annotated[int, "of the files, unpacked"]
    wire_bytes: Annotated[int, "of all frames on the wire"]
    frames: int
    frames_by: FramesBy
    first_ns: Annotated[int | None, "time of the first frame; null without frames"]
    last_ns: Annotated[int | None, "latest time of a frame; null without frames"]
    untimed: Annotated[int, "frames without a time"]
    messages_by: Annotated[dict[str, dict[str, int]], "decoded messages by system and wire kind"]
    undecoded: Annotated[dict[str, int], "reasons, and how often"]
    cut: Annotated[bool, "the file ends in the middle of a record"]
    problem: Annotated[str | None, "of a compressed file that is damaged; empty or null if none"]
    skipped: Annotated[list[SkippedRow], "at most 100 of them"]
    skipped_bytes: int
    skipped_more: Annotated[int, "further stretches, not listed"]
    fragments: Annotated[
        dict[str, int],
        "IP fragments (missing: at least; if any nested: that came in others, tcp: of its "
        "segments), and the datagrams (tunnelled: those that a tunnel carried)",
    ]
    tcp: Annotated[dict[str, int], "what putting segments together came upon; empty without TCP"]
    interfaces: list[InterfaceRow]
    interfaces_more: Annotated[int, "further interfaces, not listed"]
    links: Annotated[dict[str, int], "frames by link type"]
    tunnels: NotRequired[Annotated[dict[str, int], "frames in tunnels, by tunnel and network"]]
    endpoints: Annotated[
        list[list[int | str]], "transport, address, port, system, frames, bytes; most frames first"
    ]
    endpoints_more: Annotated[int, "further endpoints, not listed"]
    clusters: Annotated[dict[str, int], "datagrams by cluster"]
    clusters_more: Annotated[int, "further clusters, not listed"]
    comments: Annotated[int, "of frames and of the capture"]
    comment_texts: Annotated[list[str], "the first of them"]
    datagrams: Annotated[dict[str, int], "of systems with several forms, by form"]
    feeds: Annotated[dict[str, dict[str, int]], "what each feed's layout met, by feed"]
    sureness: Annotated[dict[str, int], "datagrams by how they were recognised"]
    versions: Annotated[dict[str, int], "datagrams by version of the protocol"]


@dataclass(frozen=True, slots=True)
class MergedAccount:
    """One account of a capture: what the report shows, and what findings and doubts are made of.

    Attributes:
        of_no_system: of ``undecoded`` what is no message of a known system.
        tick: null: the clock is not coarse.
        cut_frames, damaged_frames: captured in part, and with a wrong checksum.
        torn_borders: job frames, of no record, between a file that ends early and the next one.
    """

    figures: CaptureFigures
    of_no_system: dict[str, int]
    order: Order
    tick: TickRow | None
    twice: dict[str, int]
    checksums: Checksums
    cut_frames: NamedFrames
    damaged_frames: NamedFrames
    undecoded_frames: NamedFrames
    torn_borders: list[int]


class CaptureRow(CaptureFigures):
    """One capture: a file, or several that were written in turns."""

    capture: Annotated[int, "its number, from 0"]
    format: str
    compression: Annotated[str | None, "null if it is not compressed"]
    vantage: VantageRow
    drops: Annotated[dict[str, int] | None, "packets not written, by who counted; null: nobody did"]
