"""Feeds: any protocol with a number in a fixed place (decoders/README.md 5), in parsed form.

``decoders.feeds.files`` reads these from YAML, ``decoders.feeds.tables`` lays them out for the
kernel. Everything here is frozen and picklable: ``DecodeSettings`` carries it to workers. Places,
ports and values are inclusive ranges, as their users write them.
"""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product
from typing import Final

#: Words of ``Feed.stream`` that are no fields.
PLACE_PARTS: Final = ("destination", "port", "source", "source_port")
#: And of what a datagram came in: the innermost VLAN's tag, the number of the innermost tunnel that
#: says one (VXLAN, GENEVE, GRE with a key); 0: none.
NETWORK_PARTS: Final = ("vlan", "vni")

#: The names of two lines that carry the same feed.
LINE_NAMES: Final = ("A", "B")

#: A run ends at a pause longer than this, so that every longer silence is between two rows.
PAUSE_NS: Final = 3_000_000_000

#: Number spaces this wide do not wrap; a number is an int64 of at most 2^63 - 1.
UNWRAPPED_BITS: Final = 63

PORTS: Final = (0, 65535)

#: Of a connection: address and port of each.
Ends = tuple[tuple[str, int], tuple[str, int]]


class Is(StrEnum):
    """What a datagram of a feed is."""

    DATA = "data"
    HEARTBEAT = "heartbeat"
    RESET = "reset"
    END = "end"
    REQUEST = "request"
    REPAIR = "repair"
    IGNORE = "ignore"


class Says(StrEnum):
    """What the number in a heartbeat, end or reset is."""

    NEXT = "next"  # the number that the next message will have
    LAST = "last"  # the number that the last message had
    NOTHING = "nothing"


class Type(StrEnum):
    """How a field is read, and written in a stream's name."""

    NUMBER = "number"
    TEXT = "text"
    BYTES = "bytes"
    DECIMAL = "decimal"  # a number in ASCII digits, with spaces before or behind it


#: Bits of a number written in digits: the largest that is read.
DECIMAL_BITS: Final = 63


@dataclass(frozen=True, slots=True)
class After:
    """What of variable size comes before a field.

    Attributes:
        field: says how much it is: at a fixed place itself.
        unit: bytes that one of the field's value stands for.
        sizes: (value, bytes), instead of that: for other values the field is nowhere.
    """

    field: str
    unit: int = 1
    sizes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a unit: of the payload, where that holds but one.

    Attributes:
        offset: bytes from the unit's first; below 0: from behind its last.
        width: bytes; a number has 1 to 8.
        mask, shift: a number is (value & mask) >> shift.
        after: what of variable size comes before it; None: it is at a fixed place.
        of_datagram: its offset counts from the payload's first byte, whatever unit it is read for.
        of_connection: it stands in the message ``Feed.login`` only, and holds for what follows.
    """

    name: str
    offset: int
    width: int
    big_endian: bool = True
    mask: int = -1
    shift: int = 0
    type: Type = Type.NUMBER
    after: After | None = None
    of_datagram: bool = False
    of_connection: bool = False

    @property
    def is_loose(self) -> bool:
        """Whether its place in its unit is not fixed."""
        return self.offset < 0 or self.after is not None or self.of_datagram

    @property
    def full_mask(self) -> int:
        """``mask`` as an unsigned number; all ones where none was given."""
        every = (1 << 8 * self.width) - 1
        return every if self.mask < 0 else self.mask & every

    @property
    def bits(self) -> int:
        """Bits of the value after mask and shift."""
        if self.type == Type.DECIMAL:
            return DECIMAL_BITS
        return (self.full_mask >> self.shift).bit_length()


@dataclass(frozen=True, slots=True)
class Route:
    """From where to where a datagram goes; networks as text, None: any."""

    destination: str | None = None
    port: tuple[int, int] = PORTS
    source: str | None = None
    source_port: tuple[int, int] = PORTS

    @property
    def anywhere(self) -> bool:
        return self == Route()

    @property
    def precedence(self) -> int:
        """Whose a datagram is at several places: 0 says where it goes, 1 where it is from only, 2
        neither."""
        if self.destination is not None or self.port != PORTS:
            return 0
        return 2 if self.anywhere else 1

    def joins(self, ends: Ends) -> bool:
        """Whether one of two ends is this place and the other one its source."""
        return any(
            self.overlaps(Route(to[0], (to[1], to[1]), by[0], (by[1], by[1])))
            for by, to in (ends, ends[::-1])
        )

    def overlaps(self, other: Route) -> bool:
        """Whether a datagram can be at both places."""
        return (
            _share_addresses(self.destination, other.destination)
            and _share_addresses(self.source, other.source)
            and _share_numbers(self.port, other.port)
            and _share_numbers(self.source_port, other.source_port)
        )

    def holds(self, address: str, port: int) -> bool:
        """Whether what goes to this address and port can be at this place."""
        return self.port[0] <= port <= self.port[1] and _share_addresses(self.destination, address)

    def __str__(self) -> str:
        if self.anywhere:
            return "any"
        to = _end_text(self.destination, self.port)
        start = _end_text(self.source, self.source_port)
        return to if not start else f"{start} > {to or 'any'}"


@dataclass(frozen=True, slots=True)
class Condition:
    """A field's value is in one of some ranges; of a text: every byte is printable ASCII."""

    field: str
    ranges: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A sort of datagram: the first of a feed's whose ``when`` and place hold.

    Attributes:
        match: empty: wherever the feed is.
        to_server, from_server: unicast to or from one of the feed's servers.
        length: of the UDP payload; None: any.
        unicast: to one host (True) or to a group (False); None: either.
    """

    name: str
    sort: Is
    says: Says = Says.NEXT
    when: tuple[Condition, ...] = ()
    match: tuple[Route, ...] = ()
    to_server: bool = False
    from_server: bool = False
    length: tuple[int, int] | None = None
    unicast: bool | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """Two destinations that carry the same: (address, port) of each of LINE_NAMES."""

    ends: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        pairs = zip(LINE_NAMES, self.ends, strict=True)
        return ",".join(f"{name}={_end_text(ip, (port, port))}" for name, (ip, port) in pairs)


@dataclass(frozen=True, slots=True)
class Timestamp:
    """The sender's clock in a field, for jitter.

    Attributes:
        hz: ticks a second; None: not known, or said by ``rates``.
        by, rates: a field, and (its lowest value, highest value, ticks a second).
    """

    field: str
    hz: int | None = None
    by: str | None = None
    rates: tuple[tuple[int, int, int], ...] = ()

    def rate(self, value: int) -> int | None:
        """Ticks a second where field ``by`` has this value."""
        return next((hz for low, high, hz in self.rates if low <= value <= high), self.hz)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Messages follow from ``offset`` on, each behind its length in ``width`` bytes."""

    offset: int
    width: int
    big_endian: bool = True


class Counting(StrEnum):
    """What is counted where no field says how many numbers a unit takes."""

    BLOCKS = "blocks"  # the blocks that it holds
    BYTES = "bytes"  # what is behind ``Counted.start``, in units
    RECORDS = "records"  # those of IPFIX, by its templates (``feeds.records``)


@dataclass(frozen=True, slots=True)
class Counted:
    """Numbers that are counted."""

    what: Counting
    start: int = 0
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Repeat:
    """Several units in one datagram, each with fields of its own.

    Attributes:
        first: bytes before the first.
        size: bytes of each, or what is added to its length.
        adds: what is added instead, where a field tells how much; None: ``size`` is.
        length: a field of the unit; "": all are of one size.
        unit: bytes that one of the length stands for.
        count: a field of the datagram that says how many there are; "": they fill it.
    """

    first: int = 0
    size: int = 0
    length: str = ""
    unit: int = 1
    count: str = ""
    adds: After | None = None


@dataclass(frozen=True, slots=True)
class FrameLayout:
    """How frames follow each other on a TCP connection: what a datagram is elsewhere.

    Attributes:
        offset, width, big_endian: the length that every frame says.
        adds: bytes of a frame that the length does not count.
        begins: the first byte of a frame; -1: any.
        text: between frames there may be messages of lines of text as RTSP has them.
    """

    offset: int
    width: int
    big_endian: bool = True
    adds: int = 0
    begins: int = -1
    text: bool = False


@dataclass(frozen=True, slots=True)
class Feed:
    """One feed: where it is, how a datagram is read, what makes a stream.

    Attributes:
        match: datagrams at one of these places are the feed's; also those of a message's place.
        require: what all datagrams of the feed have; others at its places are not its.
        recognise: what they also have where the place is anywhere, and so tells nothing.
        count: a field or a constant: how many numbers a unit of data takes.
        counted: what is counted instead; None: ``count`` says it.
        step: numbers are multiples of this on the wire.
        repeat: how units follow each other; None: a datagram is one.
        group: heading under which shipped feeds are listed.
        source: the specification that it is from.
        protocol: number of the IP protocol that carries it; 0: UDP does, or
        ethertype: Ethernet itself, with this type; 0: it does not.
        framing: TCP carries it, and a frame is what a datagram is elsewhere; None: it does not.
        login: what the message has that tells the fields of a connection.
        tried: nobody has named it: it is asked last, behind all systems.
        wrap: bits of the number space; from UNWRAPPED_BITS on it does not wrap.
        modulus: how many numbers there are where they are not all of those bits; else 0.
        first: the first number of an unwrapped space.
        blocks: where the messages are, if the layout tells; else None.
        servers: (address, port) where requests go to and repairs come from.
        confidence: of a layout that was inferred: high, medium or low; "" if a person wrote it.
        confirmed: whether a person stands for the layout.
        where: the file it is from.
    """

    name: str
    fields: tuple[Field, ...]
    seqno: str
    about: str = ""
    match: tuple[Route, ...] = ()
    require: tuple[Condition, ...] = ()
    recognise: tuple[Condition, ...] = ()
    stream: tuple[str, ...] = ("destination", "port")
    count: str | int = 1
    counted: Counted | None = None
    step: int = 1
    repeat: Repeat | None = None
    wrap: int = 64
    modulus: int = 0
    first: int = 0
    timestamp: Timestamp | None = None
    blocks: Blocks | None = None
    messages: tuple[Message, ...] = ()
    lines: tuple[Line, ...] = ()
    servers: tuple[tuple[str, int], ...] = ()
    confidence: str = ""
    confirmed: bool = True
    group: str = field(default="", compare=False)
    source: str = field(default="", compare=False)
    protocol: int = 0
    ethertype: int = 0
    framing: FrameLayout | None = None
    login: tuple[Condition, ...] = ()
    tried: bool = False
    where: str = field(default="", compare=False)

    def field(self, name: str) -> Field:
        return next(known for known in self.fields if known.name == name)

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields among the parts of a stream."""
        return tuple(p for p in self.stream if p not in (*PLACE_PARTS, *NETWORK_PARTS))

    @property
    def network_parts(self) -> tuple[str, ...]:
        """What a stream's datagrams came in, among its parts."""
        return tuple(part for part in self.stream if part in NETWORK_PARTS)

    @property
    def has_repairs(self) -> bool:
        """Whether requests or repairs can be told: they concern all streams of equal key fields."""
        return any(message.sort in (Is.REQUEST, Is.REPAIR) for message in self.told_messages)

    @property
    def told_messages(self) -> tuple[Message, ...]:
        """The messages less those of a server that nobody has named."""
        return tuple(
            message
            for message in self.messages
            if self.servers or not (message.to_server or message.from_server)
        )

    def places_of(self, message: Message) -> tuple[Route, ...]:
        """Where a message is, servers included; empty: wherever the feed is."""
        places = list(message.match)
        for address, port in self.servers:
            if message.to_server:
                places.append(Route(destination=address, port=(port, port)))
            if message.from_server:
                places.append(Route(source=address, source_port=(port, port)))
        return tuple(places)

    @property
    def own_places(self) -> tuple[Route, ...]:
        """Every place where datagrams are the feed's, servers left out."""
        return (*self.match, *(place for message in self.messages for place in message.match))

    @property
    def claimed_places(self) -> tuple[Route, ...]:
        """And those of its lines."""
        ends = (end for line in self.lines for end in line.ends)
        return (*self.own_places, *(Route(address, (port, port)) for address, port in ends))

    @property
    def counts_records(self) -> bool:
        """Whether its numbers are those of IPFIX's data records."""
        return self.counted is not None and self.counted.what == Counting.RECORDS

    @property
    def carrier(self) -> int:
        """Number of the IP protocol, or the type of Ethernet, that carries it; 0: UDP does."""
        return self.protocol or self.ethertype

    @property
    def over_udp(self) -> bool:
        """Whether UDP carries it."""
        return not self.carrier and self.framing is None

    @property
    def over_tcp(self) -> str:
        """Its name among the systems that TCP carries."""
        return f"feed {self.name}"

    @property
    def space(self) -> int:
        """How many numbers there are before they begin anew; 0: they do not."""
        return self.modulus or (1 << self.wrap if self.wrap < UNWRAPPED_BITS else 0)

    @property
    def is_anywhere(self) -> bool:
        """Whether nobody has said the place: datagrams are the feed's by what is in them."""
        return not self.carrier and any(place.anywhere for place in self.match)

    @property
    def on_probation(self) -> bool:
        """Whether a stream is one only where its numbers stay in step: where nothing but what is in
        datagrams tells them. Of several units in one datagram some may be single ones of their
        stream: there all streams of a place are in step, or none."""
        told_by_content = self.is_anywhere and bool(self.require or self.recognise)
        return told_by_content and not self.lines

    @property
    def told_apart_by(self) -> float:
        """Bits of a datagram that tell the feed where nobody has said its place."""
        bits = 0.0
        for condition in {*self.require, *self.recognise}:
            field = self.field(condition.field)
            allowed = sum(high - low + 1 for low, high in condition.ranges)
            # Of text each byte is one of 95 instead of 256.
            bits += field.bits - math.log2(allowed) if allowed else 1.4 * field.width
        repeat = self.repeat
        if repeat is not None and repeat.length:  # lengths lead to the end of the datagram
            bits += self.field(repeat.length).bits
        elif repeat is not None:  # two units at least, and both have what all have
            bits += math.log2(repeat.size)
            bits += sum(self.field(condition.field).bits for condition in self.require)
        return bits

    def at(self, places: tuple[Route, ...]) -> Feed:
        """The same feed at other places."""
        return replace(self, match=places)


def first_overlap(feeds: tuple[Feed, ...]) -> tuple[Feed, str, Feed] | None:
    """Two feeds that would claim the same datagrams, and where.

    Where a datagram goes comes before where it is from: a place that says only the latter is no
    overlap with one that says the former. Feeds of UDP that are anywhere are asked last, and one
    after the other: they do not overlap if all but the last of them say how they are recognised.
    """
    for number, one in enumerate(feeds):
        for other in feeds[:number]:
            apart = (one.carrier, one.over_udp) != (other.carrier, other.over_udp)
            if apart or (one.carrier and one.tried):  # what is tried takes what is left over
                continue
            for place, taken in product(one.claimed_places, other.claimed_places):
                if place.precedence != taken.precedence or not place.overlaps(taken):
                    continue
                if one.ethertype:
                    return other, f"all of Ethernet type {one.ethertype:#x}", one
                if not place.anywhere or one.carrier or not (other.require or other.recognise):
                    return other, str(place), one
            for address, port in one.servers:
                if (address, port) in other.servers:
                    return other, f"server {_end_text(address, (port, port))}", one
    return None


def _share_numbers(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _share_addresses(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return True
    first, second = ipaddress.ip_network(one), ipaddress.ip_network(other)
    return first.version == second.version and first.overlaps(second)


def _end_text(address: str | None, port: tuple[int, int]) -> str:
    shown = address or ""
    if ":" in shown:
        shown = f"[{shown}]"
    if port == PORTS:
        return shown
    low, high = port
    return f"{shown}:{low}" if low == high else f"{shown}:{low}-{high}"
