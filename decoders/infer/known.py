"""Well-known datagrams that look numbered and are not feeds: told by their form, not their port.

DNS is the one that matters: some resolvers count their transaction ids up.
"""

from typing import Final

import numpy as np

from seqaudit.decoders.infer.number import Bytes
from seqaudit.decoders.kernels.loader import Int64s

LOOKED_AT: Final = 64
SHARE: Final = 0.9
DNS_HEADER: Final = 12
DNS_LABEL: Final = 63
#: Classes of questions: IN, CH, HS, ANY (RFC 1035 3.2.5); the top bit is mDNS's (RFC 6762 5.4).
DNS_CLASSES: Final = frozenset({1, 3, 4, 255})


def known_protocol(heads: Bytes, lengths: Int64s) -> str:
    """What datagrams are, as a sentence why they have no sequence number; "" if unknown.

    Args:
        heads: (n, depth). lengths: (n,) whole payloads.
    """
    rows = np.linspace(0, len(heads) - 1, min(LOOKED_AT, len(heads))).astype(np.int64)
    found = sum(is_dns(heads[row, : lengths[row]].tobytes(), int(lengths[row])) for row in rows)
    if found >= SHARE * len(rows):
        return "these are DNS messages; their ids pair questions with answers"
    return ""


def is_dns(head: bytes, length: int) -> bool:
    """Whether a payload begins as a DNS message of at least one question (RFC 1035 4.1)."""
    if len(head) < DNS_HEADER + 5:
        return False
    questions = int.from_bytes(head[4:6], "big")
    records = sum(int.from_bytes(head[at : at + 2], "big") for at in (6, 8, 10))
    reserved = head[3] & 0x40  # Z; AD and CD beside it are used (RFC 2535 6.1)
    opcode = head[2] >> 3 & 0xF
    if not 1 <= questions <= 4 or records > length // 11 or reserved or opcode > 6:
        return False
    at = DNS_HEADER
    while at < len(head) and head[at]:
        if head[at] > DNS_LABEL:
            return False
        at += 1 + head[at]
    if at + 5 > len(head):
        return len(head) < length  # a name that goes on behind what is looked at
    return int.from_bytes(head[at + 3 : at + 5], "big") & 0x7FFF in DNS_CLASSES
