"""Sequence numbers that wrap, as plain growing integers: the one place (decoders/README.md 3).

A number on the wire stands for all integers that are equal to it modulo its space; meant is the one
nearest to what was seen last, and of two equally near ones the older, as the protocols compare
(zenoh.md 8.2, 9.4; RFC 1982).
"""

#: Samples (SourceInfo): 32 bits (zenoh.md 5.2).
SAMPLE_MASK = 0xFFFF_FFFF


def unwrap(raw: int, near: int, mask: int) -> int:
    """The integer nearest to ``near`` that reads ``raw`` on the wire.

    Args:
        mask: highest number of the space.

    Newer than ``near`` by at most ``mask >> 1``, else older.
    """
    ahead = (raw - near) % (mask + 1)
    return near + ahead if ahead <= mask >> 1 else near + ahead - mask - 1
