"""Rows of the report about captures: what each file holds, and where it was taken
(``report_rows`` has the others).
"""

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


class CaptureRow(TypedDict):
    """One capture: a file, or several that were written in turns."""

    capture: Annotated[int, "its number, from 0"]
    path: Annotated[str, "the first file, with the network in brackets if it is one of several"]
    files: list[str]
    format: str
    compression: Annotated[str | None, "null if it is not compressed"]
    bytes: Annotated[int, "of the files, unpacked"]
    wire_bytes: Annotated[int, "of all frames on the wire"]
    frames: int
    frames_by: FramesBy
    first_ns: Annotated[int | None, "time of the first frame; null without frames"]
    last_ns: Annotated[int | None, "latest time of a frame; null without frames"]
    untimed: Annotated[int, "frames without a time"]
    vantage: VantageRow
    drops: Annotated[dict[str, int] | None, "packets not written, by who counted; null: nobody did"]
    messages_by: Annotated[dict[str, dict[str, int]], "decoded messages by system and wire kind"]
    undecoded: Annotated[dict[str, int], "reasons, and how often"]
    cut: Annotated[bool, "the file ends in the middle of a record"]
    problem: Annotated[str | None, "of a compressed file that is damaged; empty or null if none"]
    skipped: Annotated[list[SkippedRow], "at most 200 of them"]
    skipped_bytes: int
    skipped_more: Annotated[int, "further stretches, not listed"]
    fragments: Annotated[dict[str, int], "IP fragments (missing: at least), and the datagrams"]
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
