"""What an ACCOUNT row says of a piece (decoders/README.md 1), as types.

A key that is not there says nothing: a piece that could not be read has an error only, and what the
second stage tells of fragments and connections knows nothing of records.
"""

from typing import Final, Required, TypedDict

from seqaudit.decoders.contract.templates import Template

#: The key of what the layouts of numbered streams met, by layout.
LAYOUTS: Final = "feeds"


class PieceFrames(TypedDict):
    """Frames of one kind, by their numbers in the piece."""

    named: list[int]  # the first of them
    last: int | None  # of all; null: there is none
    count: int
    first_ns: int | None  # when the first was captured; null: there is none


class PieceEnds(TypedDict):
    """Whose unicasts of known systems a piece holds."""

    both: list[str]  # addresses that are an end of every one
    frames: int  # those that an address sent to itself aside: they show at any of its interfaces
    within: dict[str, int]  # frames that an address sent to itself
    outgoing: list[str]  # sources that the link layer says are this machine
    ttl: dict[str, list[int]]  # lowest and highest by source


class PieceOrderDetail(TypedDict):
    """What the times of a piece's records say (``order.PieceOrder``)."""

    late: int
    most_ns: int
    first_late: int
    first_late_ns: int | None
    first_ns: int | None
    high_ns: int | None
    low_ns: int | None
    moved: list[list[int]]
    moved_more: int
    steps: list[list[int]]
    steps_more: int
    guessed: list[list[int]]
    torn: list[int]
    beyond: tuple[int, int] | None
    unsure: list[bool]
    overlapping: bool


class PieceTick(TypedDict):
    """How coarse the clock of a piece is (``tick.Tick``)."""

    tick_ns: int
    ties: int
    first_ns: int | None
    last_ns: int | None


class PieceNetworks(TypedDict):
    """What flows say in which networks (``networks.NetworkEvidence``)."""

    frames: list[tuple[int, int]]
    level: int
    flows: list[tuple[int, int, int, int, int, list[tuple[int, int]]]]


class PieceTunnels(TypedDict):
    """By which tunnels packets came from one address to another (``tunnels.TunnelsSeen``)."""

    ends: list[tuple[str, str, int]]  # source, destination, number of the network + 1 << 8 | kind
    more: bool  # more than are told: none is named


class ShippedDetail(TypedDict):
    """Which TCP connections a piece gave to the next stage, and of which it withheld frames."""

    carriers: list[str]
    withheld: list[int]  # digests of carriers
    withheld_more: bool


class PieceAccount(TypedDict, total=False):
    """What became of the frames of a piece, or of one flush of the second stage."""

    piece: Required[int]
    error: str  # it could not be read
    # of its records
    begin: int
    landing: int
    begin_state: str
    landing_state: str
    skipped: list[tuple[int, int, str]]
    skipped_more: tuple[int, int]  # number, bytes
    cut: bool
    problem: str
    untimed: int
    interfaces: list[dict[str, object]]
    interfaces_more: int
    comments: int
    comment_texts: list[str]
    order: PieceOrderDetail
    tick: PieceTick
    # of its frames
    frames: int
    numbered: int  # of the file's, where only those of some networks are read
    bytes: int
    wire_bytes: int
    first_ns: int | None
    last_ns: int | None
    frames_by: dict[str, int]
    undecoded: dict[str, int]
    of_no_system: dict[str, int]
    links: dict[str, int]
    tunnels: dict[str, int]
    fragments: dict[str, int]
    tcp: dict[str, int]
    twice: dict[str, int]
    cut_frames: PieceFrames
    damaged_frames: PieceFrames
    undecoded_frames: PieceFrames
    checksums: list[tuple[str, int, int, int, int, int]]  # (``checksums.rows_of``)
    endpoints: list[tuple[str, str, int, str, int, int]]  # transport to bytes, as reported
    endpoints_more: int
    ends: PieceEnds
    networks: PieceNetworks
    tunnelled: PieceTunnels
    shipped: ShippedDetail
    fragmented: list[str]  # carriers of TCP connections with segments that came in IP fragments
    # of its systems
    messages_by: dict[str, dict[str, int]]
    feeds: dict[str, dict[str, int]]
    sureness: dict[str, int]
    clusters: dict[str, int]
    clusters_more: int
    datagrams: dict[str, int]
    versions: dict[str, int]
    carried: list[str]  # PGM links that carry messages
    unread: list[str]  # PGM links of which something was left out before that was known
    templates: list[Template]  # of IPFIX, that the piece has said
    refused_at: dict[str, int]  # datagrams of feeds, refused later, by destination


class PlacedAccount(PieceAccount):
    """An account, and the capture that it is of."""

    capture: Required[int]
