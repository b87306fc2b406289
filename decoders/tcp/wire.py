"""TCP on the wire (RFC 9293): flags, and arithmetic of seqnos."""

from typing import Final

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
ACK: Final = 0x10

MASK: Final = 0xFFFFFFFF
HALF: Final = 1 << 31
#: Further ahead than any window (RFC 7323): a stray segment, of an older connection most likely.
FARTHEST: Final = 1 << 30
