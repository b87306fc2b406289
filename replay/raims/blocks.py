"""Memory of a raims table: blocks of a fixed size that split in two (raims.md 8).

Each block holds a range of subject hashes. A block that cannot take an entry more splits where
about half of its hashes are on either side, found by halving the range; an emptied neighbour is
joined (raikv: include/raikv/route_ht.h). So the number of blocks depends on the subjects, not on
their count alone.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Final

#: A block, whatever it holds; what of it is for entries, and how many at most.
BLOCK_BYTES: Final = 86_028
BLOCK_ROOM: Final = 69_600
BLOCK_ENTRIES: Final = 3410
UNIT: Final = 8

_HASHES: Final = 1 << 32
_POLYNOMIAL: Final = 0x82F63B78


def _table() -> list[int]:
    table = []
    for number in range(256):
        value = number
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_CRC: Final = _table()


def subject_hash(subject: bytes) -> int:
    """CRC-32C with init 0 and no final xor (raims.md 5)."""
    value = 0
    for byte in subject:
        value = _CRC[(value ^ byte) & 0xFF] ^ value >> 8
    return value


@dataclass(slots=True)
class _SubjectBlock:
    """Entries with hashes in (…, high]; removed ones keep their room until it is needed."""

    low: int
    high: int
    entries: list[tuple[int, int]] = field(default_factory=list)  # hash, bytes
    used: int = 0
    removed_bytes: int = 0

    def adjust(self) -> None:
        self.used -= self.removed_bytes
        self.removed_bytes = 0


class SubjectBlocks:
    """The blocks of one table; entries are known by hash and size only."""

    def __init__(self) -> None:
        self._blocks: list[_SubjectBlock] = []
        self._highs: list[int] = []

    @property
    def size_bytes(self) -> int:
        """What the table takes."""
        return len(self._blocks) * BLOCK_BYTES

    def insert(self, number: int, size: int) -> None:
        """An entry of a hash and of so many bytes, a multiple of 8."""
        if not self._blocks:
            self._blocks, self._highs = [_SubjectBlock(0, _HASHES - 1)], [_HASHES - 1]
        at = bisect_left(self._highs, number)
        block = self._blocks[at]
        if len(block.entries) < BLOCK_ENTRIES and block.used + size > BLOCK_ROOM:
            if block.used + size - block.removed_bytes <= BLOCK_ROOM:
                block.adjust()
            else:
                block = self._split(at, number)
        elif len(block.entries) >= BLOCK_ENTRIES:
            block = self._split(at, number)
        block.entries.append((number, size))
        block.used += size

    def remove(self, number: int, size: int) -> None:
        """An entry is gone."""
        at = bisect_left(self._highs, number)
        block = self._blocks[at]
        block.entries.remove((number, size))
        block.removed_bytes += size
        if at:
            self._join(at)

    def _split(self, at: int, number: int) -> _SubjectBlock:
        """Split a full block; the half that a hash belongs to."""
        block = self._blocks[at]
        hashes = sorted(number for number, _ in block.entries)
        low, high = block.low, block.high
        while (pivot := low + (high - low) // 2) != low:
            below = bisect_right(hashes, pivot)
            more = 2 * below - len(hashes)
            if more > 0:
                high = pivot
            else:
                low = pivot
            if -1 <= more <= 1:
                break
        halves = [_SubjectBlock(block.low, pivot), _SubjectBlock(pivot + 1, block.high)]
        for entry in block.entries:
            half = halves[entry[0] > pivot]
            half.entries.append(entry)
            half.used += entry[1]
        self._blocks[at : at + 1] = halves
        self._highs[at : at + 1] = [pivot, block.high]
        return halves[number > pivot]

    def _join(self, at: int) -> None:
        """Two neighbours of which less than half a block is left become one."""
        one, other = self._blocks[at - 1], self._blocks[at]
        used = one.used + other.used - one.removed_bytes - other.removed_bytes
        if len(one.entries) + len(other.entries) >= BLOCK_ENTRIES // 2 or used >= BLOCK_ROOM // 2:
            return
        joined = _SubjectBlock(one.low, other.high, one.entries + other.entries, used)
        self._blocks[at - 1 : at + 1] = [joined]
        self._highs[at - 1 : at + 1] = [other.high]
