"""TCP on the wire (RFC 9293): segments, flags, and arithmetic of seqnos."""

from typing import Final, NamedTuple

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
ACK: Final = 0x10

MASK: Final = 0xFFFFFFFF
HALF: Final = 1 << 31
#: Further ahead than any window (RFC 7323): a stray segment, of an older connection most likely.
FARTHEST: Final = 1 << 30
#: A host keeps no more of what it has sent and is not acknowledged: systems' largest send buffers.
MOST_SENT: Final = 1 << 24


class Segment(NamedTuple):
    """One captured segment; ``facts`` as in ``segments``."""

    direction: int  # 0: sent by the carrier's first end
    frame: int
    at_ns: int
    seq: int
    ack: int
    flags: int
    length: int  # payload bytes on the wire
    facts: int
    payload: bytes  # as captured: shorter where a snap length cut it
