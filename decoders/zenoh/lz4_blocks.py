"""Compressed batches that the snap length cut off: what can be read of them (zenoh.md 2.2)."""

from typing import Final

#: What a batch may hold when it is no longer compressed (zenoh.md 2.2).
MAX_BATCH_BYTES: Final = 65_535


def beginning(block: bytes) -> bytes:
    """What can be unpacked of an LZ4 block that was cut off: sequences until the bytes end.

    Raises:
        ValueError: it refers to what is not there.
    """
    made = bytearray()
    at, size = 0, len(block)

    def length(at: int, value: int) -> tuple[int, int]:
        if value == 15:
            more = 255
            while more == 255 and at < size:
                more = block[at]
                at += 1
                value += more
        return at, value

    while at < size and len(made) < MAX_BATCH_BYTES:
        token = block[at]
        at, count = length(at + 1, token >> 4)
        made += block[at : at + count]
        at += count
        if at + 2 > size:
            break
        back = block[at] | block[at + 1] << 8
        if not 0 < back <= len(made):
            raise ValueError("nothing is there")
        at, count = length(at + 2, token & 15)  # at least
        again = bytes(made[-back:])
        count = min(count + 4, MAX_BATCH_BYTES - len(made))
        made += (again * (count // back + 1))[:count]
    return bytes(made[:MAX_BATCH_BYTES])
