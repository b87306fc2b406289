"""The two container formats behind one interface: what the reader asks, in terms of the kernels.

A walker holds what a format must know at a position (byte order, interface table, time of the
record before) and calls the kernels of ``decoders.capture.record_kernels`` on the reader's window.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.capture import pcapng
from seqaudit.decoders.capture import record_kernels as k
from seqaudit.decoders.capture.sources import FileWindow
from seqaudit.decoders.kernels.loader import Argument, Kernels, argument, data_argument, kernel

Int64s = npt.NDArray[np.int64]
Bytes = bytes | memoryview

PCAP_HEADER_BYTES: Final = 24
RECORD_HEADER_LEAST: Final = 16
ETHERNET: Final = 1  # LINKTYPE_ETHERNET

#: The longest record that a walk believes: what snap lengths go up to, whatever the header says, or
#: a larger snap length up to 16 MB (Wireshark's bound for a pcapng block).
LONGEST_RECORD: Final = 262_144
LONGEST_SNAP: Final = 16 << 20

#: magic as stored: (big-endian, units a second, bytes of a record header)
_PCAP_MAGIC: Final = {
    b"\xa1\xb2\xc3\xd4": (True, 1_000_000, 16),
    b"\xd4\xc3\xb2\xa1": (False, 1_000_000, 16),
    b"\xa1\xb2\x3c\x4d": (True, 1_000_000_000, 16),
    b"\x4d\x3c\xb2\xa1": (False, 1_000_000_000, 16),
    b"\xa1\xb2\xcd\x34": (True, 1_000_000, 24),  # Kuznetzov's libpcap: interface and type follow
    b"\x34\xcd\xb2\xa1": (False, 1_000_000, 24),
}

PASSED: Final = -1  # a control block is taken in
REFUSED: Final = -2  # one that priming must not meet

#: A damaged capture, however small, is searched by the compiled kernel from here on.
COMPILE_FROM_CANDIDATES: Final = 200_000

#: A capture of very many sections keeps the reports of so many interfaces and counts the others.
MAX_REPORTED_INTERFACES: Final = 1000


#: What a walker takes back; null: it has nothing to take back.
Saved = tuple[Int64s, Int64s] | None


@dataclass(frozen=True, slots=True)
class PcapHeader:
    """The file header of a pcap."""

    big_endian: bool
    per_second: int  # units of the fraction: 10^6 or 10^9
    record_header_bytes: int  # 16, or 24 in Kuznetzov's format
    link: int  # LINKTYPE_*: the low 16 bits of the field
    fcs_bytes: int  # length of the frame check sequence that ends each packet, 0 if not stated
    snap_length: int


def is_pcap(head: bytes) -> bool:
    """Whether a file that begins so is a pcap."""
    return head[:4] in _PCAP_MAGIC


def read_pcap_header(head: bytes) -> PcapHeader:
    """Read the 24 bytes of a pcap file header (draft-ietf-opsawg-pcap 4)."""
    big_endian, per_second, record_header_bytes = _PCAP_MAGIC[head[:4]]
    order = pcapng.byte_order(big_endian)
    snap_length = int.from_bytes(head[16:20], order)
    field = int.from_bytes(head[20:24], order)
    # Bit 26 says that bits 28 to 31 count the 16-bit words of the frame check sequence.
    fcs_bytes = 2 * (field >> 28) if field & 0x0400_0000 else 0
    return PcapHeader(
        big_endian, per_second, record_header_bytes, field & 0xFFFF, fcs_bytes, snap_length
    )


def is_loose(header: PcapHeader, head: bytes) -> bool:
    """Whether the first record has more captured than original bytes: then it is usual here."""
    order = pcapng.byte_order(header.big_endian)
    record = head[PCAP_HEADER_BYTES : PCAP_HEADER_BYTES + 16]
    return len(record) == 16 and (
        LONGEST_RECORD >= int.from_bytes(record[8:12], order) > int.from_bytes(record[12:], order)
    )


def first_section(head: bytes) -> pcapng.State | None:
    """The first section and its interfaces before any packet: what a guess assumes
    (decoders/README.md 2)."""
    big_endian = pcapng.read_byte_order(head)
    if big_endian is None:
        return None
    order = pcapng.byte_order(big_endian)
    section = pcapng.Section(0, big_endian)
    at = 0
    while at + 12 <= len(head):
        kind = int.from_bytes(head[at : at + 4], order)
        total = int.from_bytes(head[at + 4 : at + 8], order)
        if total < 12 or total % 4 or at + total > len(head):
            break
        if kind in (2, 3, 6) or (kind == pcapng.SECTION_HEADER and at > 0):
            break
        if kind == pcapng.INTERFACE_DESCRIPTION:
            section.read_block(head[at : at + total], at)
        at += total
    return section.state(None)


class BlockEnd(NamedTuple):
    """Where a control block ends in the window, and PASSED or why it may not be passed."""

    after: int
    why: int


class Walker(Protocol):
    """What the reader asks of a container format; offsets are in the window."""

    first: int  # file offset of the first record or block
    header_bytes: int  # that must be in the window to look at a candidate
    plain: bool  # all records have link 1, Ethernet, and status OK

    @property
    def section(self) -> int: ...
    @property
    def untimed(self) -> int: ...
    @property
    def comments(self) -> int: ...
    def walk(
        self, window: FileWindow, at: int, stop: int, frame: int, room: int, outputs: list[Argument]
    ) -> tuple[int, int, int]: ...
    def control(self, window: FileWindow, at: int, *, counting: bool) -> BlockEnd: ...
    def passed_over(self, window: FileWindow, at: int) -> int: ...
    def is_length(self, data: Bytes, total: int) -> bool: ...
    def candidates(self, data: Bytes, low: int, high: int, length: int) -> Int64s: ...
    def find(self, window: FileWindow, candidates: Int64s) -> tuple[int, int]: ...
    def exact_tail(self, window: FileWindow, at: int) -> int: ...
    def explain(self, window: FileWindow, at: int, why: int) -> str: ...
    def take_comment(self, window: FileWindow) -> str: ...
    def take_texts(self) -> list[str]: ...
    def want_comments(self, number: int) -> None: ...
    def state(self) -> pcapng.State | None: ...
    def write_begin(self, begin: pcapng.State | None) -> str: ...
    def write_landing(self) -> str: ...
    def save(self) -> Saved: ...
    def restore(self, saved: Saved) -> None: ...
    def close(self) -> tuple[list[dict[str, object]], int]: ...


class _Chains:
    """Searching for chains is the same for both formats, but for ``setup``."""

    _setup: Int64s
    _table: Int64s
    _compile_it: bool
    _kernels: Kernels
    _searched = 0

    def _argument(self, array: Int64s) -> Argument:
        return argument(array, compile_it=self._compile_it)

    def find(self, window: FileWindow, candidates: Int64s) -> tuple[int, int]:
        """The kernel's find_chain over these candidates."""
        self._searched += len(candidates)
        compile_it = self._compile_it or self._searched > COMPILE_FROM_CANDIDATES
        index, found = kernel("capture.record_kernels", compile_it=compile_it).find_chain(
            data_argument(window.data, compile_it=compile_it),
            argument(self._setup, compile_it=compile_it),
            argument(self._table, compile_it=compile_it),
            argument(candidates, compile_it=compile_it),
            len(candidates),
            window.length,
            window.at_end,
        )
        return int(index), int(found)

    def exact_tail(self, window: FileWindow, at: int) -> int:
        """The first offset from ``at`` on whose records reach the very end of the file, 16 or more.

        Asked where a file seems to end inside a record: so long a row that ends exactly there says
        that the record's length lies. Walked backwards, so each offset is looked at once.
        """
        length = window.length
        best = -1
        after_it: dict[int, tuple[int, int]] = {}  # offset: (records to the end, second or -1)
        plain = kernel("capture.record_kernels", compile_it=False)
        setup, table = self._setup.data, self._table.data
        data = bytes(window.data[:length])
        offsets = self.candidates(data, at, length, length)
        for offset in reversed(offsets.tolist()):
            end, second = plain.step(data, setup, table, offset, length)
            if end == length:
                after_it[offset] = (1, second)
            elif end in after_it:
                records, following = after_it[end]
                if second < 0 or following < 0 or abs(following - second) <= k.DAY_S:
                    after_it[offset] = (records + 1, second if second >= 0 else following)
                    if records + 1 >= k.CHAIN:
                        best = offset
        return best

    def candidates(self, data: Bytes, low: int, high: int, length: int) -> Int64s:
        raise NotImplementedError


class PcapWalker(_Chains):
    """Records of a pcap."""

    first = PCAP_HEADER_BYTES
    section = 0
    untimed = 0
    comments = 0

    def __init__(self, header: PcapHeader, loose: bool, *, compile_it: bool) -> None:
        self._header = header
        self._compile_it = compile_it
        self._kernels = kernel("capture.record_kernels", compile_it=compile_it)
        self.header_bytes = header.record_header_bytes
        self._table = np.zeros(k.TABLE_ROW, np.int64)
        setup = np.zeros(k.SETUP_SIZE, np.int64)
        setup[k.S_BIG] = header.big_endian
        setup[k.S_HEADER] = header.record_header_bytes
        setup[k.S_PER_SECOND] = header.per_second
        setup[k.S_TO_NS] = 1_000_000_000 // header.per_second
        setup[k.S_LIMIT] = max(LONGEST_RECORD, min(header.snap_length, LONGEST_SNAP))
        setup[k.S_SNAP] = header.snap_length if header.snap_length > 0 else LONGEST_SNAP
        setup[k.S_LINK] = header.link
        setup[k.S_LOOSE] = loose
        self._setup = setup
        self.plain = header.link == ETHERNET
        self._filled = 0

    def walk(
        self, window: FileWindow, at: int, stop: int, frame: int, room: int, outputs: list[Argument]
    ) -> tuple[int, int, int]:
        self._fill(outputs, min(room, (window.length - at) // RECORD_HEADER_LEAST + 1))
        count, at, why = self._kernels.walk_pcap(
            data_argument(window.data, compile_it=self._compile_it),
            self._argument(self._setup),
            at,
            window.length,
            window.at_end,
            stop,
            window.base,
            frame,
            1 if frame > 0 else 0,
            room,
            *outputs[:5],
            outputs[7],
        )
        return int(count), int(at), int(why)

    def _fill(self, outputs: list[Argument], rows: int) -> None:
        """Link, interface and status of the first ``rows``, which no walk changes."""
        if rows > self._filled:
            for column, value in ((5, self._header.link), (6, 0), (8, k.OK)):
                np.asarray(outputs[column])[self._filled : rows] = value
            self._filled = rows

    def candidates(self, data: Bytes, low: int, high: int, length: int) -> Int64s:
        """Offsets in [low, high) whose three fields after the second have possible high bytes."""
        here = np.frombuffer(data, np.uint8)
        high = min(high, length - 15)
        if high <= low or _all_zeros(here, low, high + 15):
            return np.empty(0, np.int64)

        def byte(place: int) -> npt.NDArray[np.uint8]:
            return here[low + place : high + place]

        fraction_most = (self._header.per_second >> 24) if self._header.per_second > 1 << 24 else 0
        if self._header.big_endian:
            good = (byte(8) == 0) & (byte(9) <= 4) & (byte(12) == 0) & (byte(4) <= fraction_most)
        else:
            good = (byte(11) == 0) & (byte(10) <= 4) & (byte(15) == 0) & (byte(7) <= fraction_most)
        second = byte(0) | byte(1) | byte(2) | byte(3)
        sizes = byte(9) | byte(10) | byte(13) | byte(14) | byte(8) | byte(11) | byte(12) | byte(15)
        good &= (second | sizes) != 0  # no holes of zeros
        return np.flatnonzero(good) + low

    def control(self, window: FileWindow, at: int, *, counting: bool) -> BlockEnd:
        raise AssertionError("a pcap has no control blocks")

    def passed_over(self, window: FileWindow, at: int) -> int:
        return 0  # every record is a packet

    def is_length(self, data: Bytes, total: int) -> bool:
        raise AssertionError("a pcap record says its length once")

    def explain(self, window: FileWindow, at: int, why: int) -> str:
        left = window.length - at
        header = self._header.record_header_bytes
        if left < header:
            return f"{left} bytes of a record header of {header}"
        order = pcapng.byte_order(self._header.big_endian)
        captured = int.from_bytes(window.data[at + 8 : at + 12], order)
        if why in (k.CUT, k.DOUBTFUL_CUT):
            return f"the record claims {captured} bytes, {left - header} are left"
        limit = int(self._setup[k.S_LIMIT])
        if captured > limit:
            return f"damaged record header: it claims {captured} bytes, {limit} is the most"
        return f"damaged record header: odd values, and no record follows its {captured} bytes"

    def take_comment(self, window: FileWindow) -> str:
        raise AssertionError("a pcap has no comments")

    def take_texts(self) -> list[str]:
        return []

    def want_comments(self, number: int) -> None:
        """A pcap has none."""

    def state(self) -> pcapng.State | None:
        return None

    def write_begin(self, begin: pcapng.State | None) -> str:
        return ""

    def write_landing(self) -> str:
        return ""

    def save(self) -> None:
        return None

    def restore(self, saved: Saved) -> None:
        """A pcap carries nothing on."""

    def close(self) -> tuple[list[dict[str, object]], int]:
        header = self._header
        report: dict[str, object] = {
            "section": 0,
            "interface": 0,
            "name": "",
            "link": header.link,
            "snap_length": header.snap_length,
            "resolution": "10^-9" if header.per_second == 1_000_000_000 else "10^-6",
            "offset_s": 0,
        }
        if header.fcs_bytes:
            report["fcs_bytes"] = header.fcs_bytes
        return [report], 0


class PcapngWalker(_Chains):
    """Blocks of a pcapng."""

    first = 0
    plain = False
    header_bytes = 12

    def __init__(self, start: pcapng.State, *, compile_it: bool) -> None:
        self._compile_it = compile_it
        self._kernels = kernel("capture.record_kernels", compile_it=compile_it)
        self._setup = np.zeros(k.SETUP_SIZE, np.int64)
        self._setup[k.S_PCAPNG] = 1
        self._setup[k.S_LIMIT] = LONGEST_SNAP
        self._state = np.zeros(k.STATE_SIZE, np.int64)
        self._state[k.X_LAST_NS] = start.previous_ns or 0
        self._state[k.X_TIMED] = start.previous_ns is not None
        self._state[k.X_WANT_COMMENTS] = 1
        self._closed: list[dict[str, object]] = []
        self._closed_more = 0
        self._other_comments = 0
        self._open(pcapng.section_of(start))

    def _open(self, section: pcapng.Section) -> None:
        self._current = section
        self._refresh()

    def _refresh(self) -> None:
        self._table = self._current.table
        self._setup[k.S_BIG] = self._current.big_endian
        self._setup[k.S_INTERFACES] = len(self._current.interfaces)

    @property
    def section(self) -> int:
        return self._current.start

    @property
    def untimed(self) -> int:
        return int(self._state[k.X_UNTIMED])

    @property
    def comments(self) -> int:
        return int(self._state[k.X_COMMENTS]) + self._other_comments

    def walk(
        self, window: FileWindow, at: int, stop: int, frame: int, room: int, outputs: list[Argument]
    ) -> tuple[int, int, int]:
        count, at, why = self._kernels.walk_pcapng(
            data_argument(window.data, compile_it=self._compile_it),
            self._argument(self._setup),
            self._argument(self._table),
            self._argument(self._state),
            at,
            window.length,
            window.at_end,
            stop,
            window.base,
            frame,
            1 if frame > 0 else 0,
            room,
            *outputs,
        )
        return int(count), int(at), int(why)

    def control(self, window: FileWindow, at: int, *, counting: bool) -> BlockEnd:
        """Take in the section header, interface description or statistics block at ``at``."""
        data = window.data
        left = window.length - at
        short = k.CUT if window.at_end else k.NEED
        order = pcapng.byte_order(self._current.big_endian)
        if bytes(data[at : at + 4]) == b"\n\r\r\n":
            if left < 12:
                return BlockEnd(at, short)
            big_endian = pcapng.read_byte_order(bytes(data[at : at + 12]))
            if big_endian is None:
                return BlockEnd(at, k.DAMAGE)
            order = pcapng.byte_order(big_endian)
            total = int.from_bytes(data[at + 4 : at + 8], order)
            if total < 28 or total % 4 or total > LONGEST_SNAP:
                return BlockEnd(at, k.DAMAGE)
            if left < total:
                return BlockEnd(
                    at, k.DOUBTFUL_CUT if window.at_end and total > k.USUAL_LIMIT else short
                )
            if int.from_bytes(data[at + total - 4 : at + total], order) != total:
                return BlockEnd(at, k.DAMAGE)
            if counting:
                self._begin_section(
                    window.base + at, bytes(data[at : at + total]), big_endian=big_endian
                )
            elif window.base + at != self.section:
                return BlockEnd(at, REFUSED)
            return BlockEnd(at + total, PASSED)
        total = int.from_bytes(data[at + 4 : at + 8], order)
        if counting:
            self._current.read_block(bytes(data[at : at + total]), window.base + at)
            self._other_comments += self._current.count_comments()
            self._refresh()
        return BlockEnd(at + total, PASSED)

    def passed_over(self, window: FileWindow, at: int) -> int:
        """The length that the block at ``at`` claims if no more of it matters; else 0."""
        if window.length - at < 12:
            return 0
        order = pcapng.byte_order(self._current.big_endian)
        kind = int.from_bytes(window.data[at : at + 4], order)
        total = int.from_bytes(window.data[at + 4 : at + 8], order)
        if total < 12 or total % 4 or total > LONGEST_SNAP:
            return 0
        plain = kernel("capture.record_kernels", compile_it=False)
        return total if plain.passed_over(kind, total) else 0

    def is_length(self, data: Bytes, total: int) -> bool:
        """Whether the four bytes that end a block repeat its length."""
        return int.from_bytes(data, pcapng.byte_order(self._current.big_endian)) == total

    def _begin_section(self, offset: int, block: bytes, *, big_endian: bool) -> None:
        self._closed, self._closed_more = self.close()
        section = pcapng.Section(offset, big_endian)
        section.read_comments(block[24:-4])
        self._other_comments += section.count_comments()
        self._open(section)

    def candidates(self, data: Bytes, low: int, high: int, length: int) -> Int64s:
        """Offsets in [low, high) with a possible block length, or the magic of a section header."""
        here = np.frombuffer(data, np.uint8)
        high = min(high, length - 11)
        if high <= low or _all_zeros(here, low, high + 11):
            return np.empty(0, np.int64)

        def byte(place: int) -> npt.NDArray[np.uint8]:
            return here[low + place : high + place]

        if self._current.big_endian:
            good = (byte(4) == 0) & (byte(5) <= 4) & (byte(7) & 3 == 0) & (byte(1) == 0)
        else:
            good = (byte(7) == 0) & (byte(6) <= 4) & (byte(4) & 3 == 0) & (byte(2) == 0)
        good &= (byte(4) | byte(5) | byte(6) | byte(7)) != 0
        good |= (byte(0) == 0x0A) & (byte(1) == 0x0D) & (byte(2) == 0x0D) & (byte(3) == 0x0A)
        return np.flatnonzero(good) + low

    def explain(self, window: FileWindow, at: int, why: int) -> str:
        left = window.length - at
        if left < 12:
            return f"{left} bytes of a block header of 12"
        order = pcapng.byte_order(self._current.big_endian)
        kind = int.from_bytes(window.data[at : at + 4], order)
        total = int.from_bytes(window.data[at + 4 : at + 8], order)
        if why in (k.CUT, k.DOUBTFUL_CUT):
            return f"the block claims {total} bytes, {left} are left"
        return f"damaged block header: type {kind:#x}, length {total}"

    def take_comment(self, window: FileWindow) -> str:
        at, size = int(self._state[k.X_COMMENT_AT]), int(self._state[k.X_COMMENT_BYTES])
        return pcapng.text_of(bytes(window.data[at : at + size]))

    def take_texts(self) -> list[str]:
        texts, self._current.comments = self._current.comments, []
        return texts

    def want_comments(self, number: int) -> None:
        self._state[k.X_WANT_COMMENTS] = number

    def state(self) -> pcapng.State | None:
        return self._current.state(None)

    def write_begin(self, begin: pcapng.State | None) -> str:
        """``begin``, with the time before it only if a record without time stamp borrowed it."""
        assert begin is not None
        borrowed = 0 if self._state[k.X_BORROWED] else None
        return begin._replace(previous_ns=borrowed).write()

    def write_landing(self) -> str:
        previous = int(self._state[k.X_LAST_NS]) if self._state[k.X_TIMED] else None
        return self._current.state(previous).write()

    def save(self) -> Saved:
        return self._state.copy(), self._table.copy()

    def restore(self, saved: Saved) -> None:
        assert saved is not None, "as save gave it"
        state, table = saved
        self._state[:] = state
        self._table[:] = table

    def close(self) -> tuple[list[dict[str, object]], int]:
        reports = self._closed + self._current.close()
        kept = reports[:MAX_REPORTED_INTERFACES]
        return kept, self._closed_more + len(reports) - len(kept)


def _all_zeros(data: npt.NDArray[np.uint8], low: int, high: int) -> bool:
    """Whether a stretch is a hole of a sparse file, or as good as one; none starts a record."""
    return not data[low:high].any()
