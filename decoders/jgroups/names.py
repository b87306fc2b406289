"""What JGroups calls things on the wire: classes of headers and objects, protocols, message types.

The numbers are of jgroups.md 2 (5.x) and 3 (3.x); ``layout`` is what the kernel reads of them.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.events import Kind
from seqaudit.decoders.jgroups import kernels as wire
from seqaudit.decoders.kernels.loader import Int64s

#: Class id → what it is and its body, from 4.0 on (jgroups.md 2.1 to 2.7).
HEADERS: Final[dict[int, tuple[int, ...]]] = {
    50: (wire.IS_PLAIN, 1, wire.F_ADDRESSES_16, wire.F_ADDRESS),  # FD
    51: (wire.IS_PLAIN, 1, wire.F_ADDRESS, wire.F_IP, wire.F_ADDRESSES_32),  # FD_SOCK
    52: (wire.IS_FRAGMENT, wire.F_FRAGMENT),  # FRAG, FRAG2, FRAG4
    53: (wire.IS_PING, 1, wire.F_TEXT, 1),
    54: (wire.IS_PLAIN, 2, wire.F_ADDRESS),  # VERIFY_SUSPECT
    55: (wire.IS_GMS, 1, wire.F_MERGE_ID),
    56: (wire.IS_STABLE, 1, wire.F_VIEW_ID),
    57: (wire.IS_PLAIN, 1, wire.F_OPT_DIGEST),  # STATE_TRANSFER
    58: (wire.IS_PLAIN, 4, wire.F_BYTE_5),  # COMPRESS
    59: (wire.IS_PLAIN, 1),  # UFC, MFC
    60: (wire.IS_TP,),
    61: (wire.IS_PLAIN, 1, wire.F_NUMBER, 1),  # SEQUENCER
    62: (wire.IS_PLAIN,),  # FD_ALL, FD_ALL2, FD_ALL3
    65: (wire.IS_PLAIN, 1, wire.F_OPT_DIGEST, wire.F_IP),  # STATE, STATE_SOCK
    67: (wire.IS_PLAIN, 1, wire.F_NUMBER, 2),  # RequestCorrelator
    68: (wire.IS_PLAIN, 1, wire.F_NUMBER, 2, wire.F_ADDRESSES_16),
    69: (wire.IS_PLAIN, wire.F_ADDRESS),  # DAISYCHAIN
    74: (wire.IS_PLAIN,),  # COUNTER
    75: (wire.IS_MERGE3, 1, wire.F_VIEW_ID, wire.F_TEXT, wire.F_ADDRESS),
    76: (wire.IS_PLAIN, 1, 2),  # RSVP
    78: (wire.IS_NAKACK2,),
    80: (wire.IS_PLAIN, 1, 1, wire.F_ADDRESS, wire.F_ADDRESS, wire.F_TEXTS_32, wire.F_TEXTS_32),
    82: (wire.IS_UNICAST3,),
    83: (wire.IS_PLAIN, wire.F_TEXT, wire.F_TEXT),  # FORK
    84: (wire.IS_PLAIN, 8),  # PERF
    86: (wire.IS_PLAIN, 1, wire.F_NUMBER, 2),  # SEQUENCER2
    88: (wire.IS_ENCRYPT, 1, 1, wire.F_BUFFER, wire.F_ADDRESS, wire.F_BUFFER),
    91: (wire.IS_FRAGMENT, *[wire.F_NUMBER] * 5, wire.F_BYTE_5),  # FRAG3
    93: (wire.IS_PLAIN, 1, wire.F_ADDRESSES_32, wire.F_TEXT, wire.F_ADDRESS),  # FD_SOCK2
    94: (wire.IS_PLAIN, 2, wire.F_ADDRESS),  # VERIFY_SUSPECT2
    96: (wire.IS_PLAIN,),  # BATCH2
    97: (wire.IS_PLAIN, 16, 16, 16, 16),  # RTT
    98: (wire.IS_PLAIN,),  # PROT_PERF
    99: (wire.IS_NAKACK4,),
    100: (wire.IS_UNICAST4,),
    101: (wire.IS_PLAIN, wire.F_PAIRS_32),  # InfoHeader
}
#: The ids of 3.x (jgroups.md 3). Headers whose body is not certain are left out: what follows them
#: is found again (jgroups.md 1.8).
OLD_HEADERS: Final[dict[int, tuple[int, ...]]] = {
    3: (wire.IS_PLAIN, 1, wire.F_ADDRESSES_16, wire.F_ADDRESS),  # FD
    6: (wire.IS_PLAIN, 1, wire.F_ADDRESS, wire.F_IP, wire.F_ADDRESSES_32),  # FD_SOCK
    7: (wire.IS_FRAGMENT, wire.F_NUMBER, 4, 4),  # FRAG, FRAG2
    13: (wire.IS_PING, 1, wire.F_TEXT),
    24: (wire.IS_GMS, 1, wire.F_MERGE_ID),
    27: (wire.IS_STABLE, 1, wire.F_VIEW_ID),
    54: (wire.IS_PLAIN, 1),  # UFC, MFC
    56: (wire.IS_TP,),
    58: (wire.IS_PLAIN, 1, wire.F_NUMBER, 1),  # SEQUENCER
    61: (wire.IS_PLAIN,),  # FD_ALL
    62: (wire.IS_PLAIN,),  # FD_ALL2
    91: (wire.IS_PLAIN, 1, 2),  # RSVP
    93: (wire.IS_NAKACK2,),
    107: (wire.IS_UNICAST3,),
}
#: Objects that an ObjectMessage may carry (5.x); any other has no known length.
OBJECTS: Final[dict[int, tuple[int, ...]]] = {
    4: (wire.IS_PLAIN, wire.F_ADDRESS, wire.F_NUMBER, wire.F_ADDRESSES_16),  # View
    5: (wire.IS_PLAIN, wire.F_ADDRESS, wire.F_NUMBER),  # ViewId
    9: (wire.IS_PLAIN, wire.F_DIGEST),
    10: (wire.IS_PLAIN, wire.F_DIGEST),
    11: (wire.IS_PLAIN, 16),  # UUID
    15: (wire.IS_PLAIN, wire.F_BITS),  # SeqnoList
    20: (wire.IS_PLAIN, wire.F_SIZED),  # ObjectWrapperSerializable
    22: (wire.IS_PLAIN, 8),  # MillisAddress
}

#: Protocol ids (jgroups.md 2.1); 3.x has its own.
PROTOCOLS: Final[dict[int, str]] = {
    1: "FD", 2: "FD_SOCK", 3: "FRAG", 4: "FRAG2", 5: "PING", 6: "MPING", 9: "TCPPING",
    10: "TCPGOSSIP",
    11: "VERIFY_SUSPECT", 12: "GMS", 13: "STABLE", 14: "STATE_TRANSFER", 15: "COMPRESS",
    16: "UDP", 17: "TCP", 19: "SEQUENCER", 20: "FD_ALL", 25: "STATE_SOCK", 26: "DISCARD",
    30: "MFC", 31: "UFC", 38: "MERGE3", 39: "RSVP", 41: "NAKACK2", 48: "UNICAST3",
    56: "TCP_NIO2", 57: "TP", 58: "SYM_ENCRYPT", 59: "ASYM_ENCRYPT", 62: "FRAG3", 69: "FRAG4",
    70: "FD_ALL3", 71: "FD_SOCK2", 72: "VERIFY_SUSPECT2", 74: "BATCH2", 76: "NAKACK3",
    77: "NAKACK4", 78: "UNICAST4", 200: "RPC", 203: "FORK",
}  # fmt: skip
OLD_PROTOCOLS: Final[dict[int, str]] = {
    2: "FD", 3: "FD_SOCK", 4: "FRAG", 5: "FRAG2", 6: "PING", 7: "MPING", 10: "TCPPING",
    11: "TCPGOSSIP", 13: "VERIFY_SUSPECT", 14: "GMS", 16: "STABLE", 17: "STATE_TRANSFER",
    19: "COMPRESS", 21: "UDP", 22: "TCP", 25: "ENCRYPT", 26: "SEQUENCER", 29: "FD_ALL",
    30: "FD_ALL2", 31: "FLUSH", 33: "AUTH", 34: "STATE", 35: "STATE_SOCK", 44: "MFC", 45: "UFC",
    53: "COUNTER", 54: "MERGE3", 55: "RSVP", 57: "NAKACK2", 60: "RELAY2", 64: "UNICAST3",
    75: "TP", 200: "RPC", 203: "FORK",
}  # fmt: skip

SYSTEMS: Final = {
    wire.NAKACK4: "nakack4",
    wire.NAKACK3: "nakack3",
    wire.NAKACK2: "nakack2",
    wire.UNICAST3: "unicast3",
    wire.UNICAST4: "unicast4",
}
#: Type byte → our word and the wire's (jgroups.md 2.3, 2.4).
MULTICASTS: Final = {
    1: (Kind.DATA, "MSG"),
    2: (Kind.REQUEST, "XMIT_REQ"),
    3: (Kind.RETRANSMISSION, "XMIT_RSP"),
    4: (Kind.HIGHEST, "HIGHEST_SEQNO"),
    5: (Kind.ACK, "ACK"),
}
UNICASTS: Final = {
    0: (Kind.DATA, "DATA"),
    1: (Kind.ACK, "ACK"),
    2: (Kind.SYNC, "SEND_FIRST_SEQNO"),
    3: (Kind.REQUEST, "XMIT_REQ"),
    4: (Kind.CLOSE, "CLOSE"),
}
#: GmsHeader types that concern an engine (jgroups.md 2.6).
MEMBERSHIP: Final = {
    1: (Kind.NOTICE, "JOIN_REQ"),
    2: (Kind.VIEW, "JOIN_RSP"),
    3: (Kind.NOTICE, "LEAVE_REQ"),
    4: (Kind.NOTICE, "LEAVE_RSP"),
    5: (Kind.VIEW, "VIEW"),
    6: (Kind.NOTICE, "MERGE_REQ"),
    7: (Kind.VIEW, "MERGE_RSP"),
    8: (Kind.VIEW, "INSTALL_MERGE_VIEW"),
    9: (Kind.NOTICE, "CANCEL_MERGE"),
    11: (Kind.NOTICE, "JOIN_REQ_WITH_STATE_TRANSFER"),
    14: (Kind.DIGEST, "GET_DIGEST_RSP"),
    15: (Kind.DIGEST, "INSTALL_DIGEST"),
}
#: Of these, what asks to join.
JOINS: Final = (1, 11)
#: Conn-id and seqno of the first unicast that a member ever sends (jgroups.md 4.2).
FIRST_UNICAST: Final = (0, 1)
STABILITY: Final = {1: "STABLE_GOSSIP", 2: "STABILITY"}

WIRE_KINDS: Final = sorted(
    {word for table in (MULTICASTS, UNICASTS, MEMBERSHIP) for _, word in table.values()}
    | {*STABILITY.values(), "STABLE"}
)
WIRE_CODE: Final = {word: code for code, word in enumerate(WIRE_KINDS)}
SYSTEM_NAMES: Final = pa.array(["jgroups", *(SYSTEMS[code] for code in range(1, 6))], pa.string())


def _table(pick: int) -> Int64s:
    """(system * 8 + type) → Kind (pick 0) or code of the wire kind (pick 1)."""
    table = np.zeros(64, np.int64)
    for system in SYSTEMS:
        types = MULTICASTS if system <= wire.NAKACK2 else UNICASTS
        for sort, (kind, word) in types.items():
            table[system * 8 + sort] = (int(kind), WIRE_CODE[word])[pick]
    return table


KIND_OF: Final = _table(0)
WIRE_OF: Final = _table(1)


@cache
def layout() -> Int64s:
    """The three tables of the kernel end to end; not to be written to."""
    lines = np.zeros((3 * wire.CLASSES, wire.FIELDS), np.int64)
    for block, table in enumerate((OLD_HEADERS, HEADERS, OBJECTS)):
        for number, fields in table.items():
            lines[block * wire.CLASSES + number, : len(fields)] = fields
    return lines.reshape(-1)


def version_text(version: int) -> str:
    """A version short as JGroups prints it (jgroups.md 1.7): 0x2980 is 5.6.0."""
    return f"{version >> 11}.{version >> 6 & 31}.{version & 63}"


def protocol_name(code: int) -> str:
    if code % 1024 == 0:
        return "user defined"
    table = OLD_PROTOCOLS if code >= 1024 else PROTOCOLS
    return table.get(code % 1024, f"protocol {code % 1024}")


def note_text(reason: int, first: int, second: int) -> str:
    if reason in (wire.HEADER, wire.SKIPPED_HEADER):
        text = f"header class {first} (protocol {second})"
        return f"{text}, skipped" if reason == wire.SKIPPED_HEADER else text
    if reason in (wire.OBJECT_CLASS, wire.SKIPPED_OBJECT):
        text = f"object class {first}" if first > 0 else f"object of type code {-first}"
        return f"{text}, skipped" if reason == wire.SKIPPED_OBJECT else text
    if reason == wire.MESSAGE_TYPE:
        return f"message type {first}"
    if reason == wire.ENCRYPTED:
        return "encrypted"
    if reason == wire.OLD_RELEASE:
        return f"JGroups {version_text(first)} is older than 3.5, the first that is decoded"
    if reason == wire.DEPTH:
        return f"messages nested deeper than {first}"
    return "other"
