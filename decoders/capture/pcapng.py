"""pcapng blocks that are rare: section headers, interface descriptions, statistics.

The walking kernel hands these blocks over and goes on with the table made here. Rules:
draft-ietf-opsawg-pcapng 4.1 (section), 4.2 (interface), 4.6 (statistics), 3.5 (options).
"""

import json
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.capture import record_kernels as k

#: Interfaces of one section that are kept; a packet of a later one has an unknown link type. The
#: bound keeps a hostile table out of the accounts.
MAX_INTERFACES: Final = 4096

#: Texts of comments that are kept; all are counted.
MAX_TEXTS: Final = 5

SECTION_HEADER: Final = 0x0A0D0D0A
INTERFACE_DESCRIPTION: Final = 1
INTERFACE_STATISTICS: Final = 5

_STATISTICS: Final = {  # option of a statistics block: our word
    4: "received",  # isb_ifrecv
    5: "ifdrop",
    6: "filter_accepted",
    7: "osdrop",
    8: "delivered",  # isb_usrdeliv
}


class Interface(NamedTuple):
    """What the times and links of an interface's packets rest on; plain values, part of a state."""

    link: int
    resolution: int  # if_tsresol as on the wire
    offset_s: int  # if_tsoffset
    snap_length: int


class State(NamedTuple):
    """What a pcapng piece must know to start at a block; ``write`` is what accounts carry."""

    section: int  # file offset of the section header
    big_endian: bool
    previous_ns: int | None  # time of the record before; None: not known, or no matter
    interfaces: tuple[Interface, ...]

    def write(self) -> str:
        """One short line of JSON."""
        values = [self.section, int(self.big_endian), self.previous_ns, self.interfaces]
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> "State":
        """What ``write`` wrote."""
        section, big_endian, previous_ns, interfaces = json.loads(text)
        table = tuple(Interface(*interface) for interface in interfaces)
        return cls(section, bool(big_endian), previous_ns, table)


#: The state before a section header: whatever was before is no matter.
ANY: Final = State(-1, False, None, ())


def read_byte_order(block: bytes | memoryview) -> bool | None:
    """Whether a section header (12 bytes are enough) is big-endian; None if it is no such block."""
    if len(block) < 12 or bytes(block[:4]) != b"\n\r\r\n":
        return None
    return {b"\x1a\x2b\x3c\x4d": True, b"\x4d\x3c\x2b\x1a": False}.get(bytes(block[8:12]))


def byte_order(big_endian: bool) -> Literal["big", "little"]:
    """The word that ``int.from_bytes`` wants."""
    return "big" if big_endian else "little"


def read_options(body: bytes, big_endian: bool) -> list[tuple[int, bytes]]:
    """(code, value) of an options list, up to where it ends or stops making sense."""
    order = byte_order(big_endian)
    found = []
    at = 0
    while at + 4 <= len(body):
        code = int.from_bytes(body[at : at + 2], order)
        size = int.from_bytes(body[at + 2 : at + 4], order)
        if code == 0 or at + 4 + size > len(body):
            break
        found.append((code, body[at + 4 : at + 4 + size]))
        at += 4 + (size + 3) // 4 * 4
    return found


def text_of(value: bytes) -> str:
    """A text option; what is no UTF-8 is replaced, the end may be padded with zeros."""
    return value.decode("utf-8", "replace").rstrip("\0")


def describe_resolution(value: int) -> str:
    """``10^-6`` for if_tsresol 6, ``2^-10`` for 0x8a."""
    return f"2^-{value & 0x7F}" if value & 0x80 else f"10^-{value}"


def table_row(interface: Interface) -> list[int]:
    """The interface as ``ticks_to_ns`` wants it."""
    exponent = interface.resolution & 0x7F
    factors = [exponent, 1, 1]
    if interface.resolution & 0x80:
        method = 2
    elif exponent <= 9:
        method, factors = 0, [10 ** (9 - exponent), 1, 1]
    else:  # three divisors of at most 10^9; above 10^27 nothing is left of 64 bits anyway
        left = min(exponent - 9, 27)
        method = 1
        factors = [10 ** min(9, max(0, left - 9 * i)) for i in range(3)]
    offset_ns = max(-k.MAX_NS, min(k.MAX_NS, interface.offset_s * 1_000_000_000))
    row = [0] * k.TABLE_ROW
    row[k.T_LINK], row[k.T_METHOD], row[k.T_SNAP] = interface.link, method, interface.snap_length
    row[k.T_A], row[k.T_B], row[k.T_C] = factors
    row[k.T_OFFSET_NS] = offset_ns
    return row


@dataclass(slots=True)
class Section:
    """The section being read: byte order, interface table and what is reported about it."""

    start: int
    big_endian: bool
    interfaces: list[Interface] = field(default_factory=list)
    reports: list[dict[str, object]] = field(default_factory=list)  # one an interface
    table: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(k.TABLE_ROW, np.int64))
    comments: list[str] = field(default_factory=list)  # of control blocks, not yet fetched
    fresh_comments: int = 0  # not yet counted by the walker

    def state(self, previous_ns: int | None) -> State:
        return State(self.start, self.big_endian, previous_ns, tuple(self.interfaces))

    def add(self, interface: Interface, name: str = "") -> None:
        """Append to the table; rows are doubled so that many interfaces stay linear."""
        number = len(self.interfaces)
        if number >= MAX_INTERFACES:
            return
        if len(self.table) < (number + 1) * k.TABLE_ROW:
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        self.table[number * k.TABLE_ROW : (number + 1) * k.TABLE_ROW] = table_row(interface)
        self.interfaces.append(interface)
        self.reports.append(
            {
                "section": self.start,
                "interface": number,
                "name": name,
                "link": interface.link,
                "snap_length": interface.snap_length,
                "resolution": describe_resolution(interface.resolution),
                "offset_s": interface.offset_s,
            }
        )

    def read_block(self, block: bytes, offset: int) -> None:
        """An interface description or statistics block that lies at ``offset`` in the file."""
        order = byte_order(self.big_endian)
        kind = int.from_bytes(block[:4], order)
        if kind == INTERFACE_DESCRIPTION and len(block) >= 20:
            self._read_interface(block)
        elif kind == INTERFACE_STATISTICS and len(block) >= 24:
            number = int.from_bytes(block[8:12], order)
            counters: dict[str, object] = {"statistics_offset": offset}
            for code, value in read_options(block[20:-4], self.big_endian):
                if code in _STATISTICS and len(value) == 8:
                    count = int.from_bytes(value, order)
                    if count < 1 << 63:  # all ones: not available
                        counters[_STATISTICS[code]] = count
            self.read_comments(block[20:-4])
            if number < len(self.reports):
                self.reports[number].update(counters)

    def _read_interface(self, block: bytes) -> None:
        order = byte_order(self.big_endian)
        link = int.from_bytes(block[8:10], order)
        snap_length = int.from_bytes(block[12:16], order)
        resolution, offset_s, name = 6, 0, ""
        for code, value in read_options(block[16:-4], self.big_endian):
            if code == 2:
                name = text_of(value)
            elif code == 9 and len(value) >= 1:
                resolution = value[0]
            elif code == 14 and len(value) == 8:
                offset_s = int.from_bytes(value, order, signed=True)
        self.read_comments(block[16:-4])
        self.add(Interface(link, resolution, offset_s, snap_length), name)

    def read_comments(self, options: bytes) -> None:
        """Count the comments among these options and keep the first texts."""
        for code, value in read_options(options, self.big_endian):
            if code == 1:
                self.fresh_comments += 1
                if len(self.comments) < MAX_TEXTS:
                    self.comments.append(text_of(value))

    def count_comments(self) -> int:
        """How many comments came since this was asked last."""
        number, self.fresh_comments = self.fresh_comments, 0
        return number

    def close(self) -> list[dict[str, object]]:
        """The reports, with the drops that packet blocks stated."""
        for number, report in enumerate(self.reports):
            drops = int(self.table[number * k.TABLE_ROW + k.T_DROPS])
            if drops:
                report["packet_drops"] = drops
        return self.reports


def section_of(state: State) -> Section:
    """The section as a state describes it."""
    section = Section(state.section, state.big_endian)
    for interface in state.interfaces:
        section.add(interface)
    return section
