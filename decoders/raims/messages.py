"""The raims message envelope ("CABA"), field by field (raims.md 5, 6).

For messages that are no data: heartbeats, subscriptions, authentication, loss notices. Data
messages are read by ``decoders.raims.pgm_kernels``. Damage is data: what was read before it is
kept.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Final

#: Field ids in order (raims.md 5).
FIELDS: Final = (
    "sub", "data", "session", "bridge", "user_hmac", "digest", "auth_key", "sess_key", "peer_db",
    "mesh_db", "cnonce", "sync_bridge", "uid_csum", "mesh_csum", "mesh_filter", "adjacency",
    "bloom", "seqno", "sub_seqno", "time", "uptime", "interval", "ref_cnt", "token", "ret",
    "link_state", "start", "end", "adj_info", "auth_seqno", "auth_time", "fmt", "hops",
    "ref_seqno", "tportid", "uid", "uid_cnt", "subj_hash", "subject", "pattern", "reply",
    "ucast_url", "mesh_url", "tport", "user", "service", "create", "expires", "version",
    "auth_stage", "link_add", "fd_cnt", "ms_tot", "mr_tot", "bs_tot", "br_tot", "ms", "mr", "bs",
    "br", "sub_cnt", "cost", "adj_cost", "peer", "latency", "pk_digest", "tport_type",
    "chain_seqno", "stamp", "converge", "reply_stamp", "hb_skew", "pk_sig", "conn_url",
    "conn_port", "pubkey", "ucast_db", "ucast_filter", "idl_service", "idl_msg_loss",
    "rem_bridge", "rem_tportid", "mesh_info", "link_state_sum", "sub_seqno_sum", "host_id",
    "queue", "queue_hash", "queue_refs", "hdr_len", "suf_len", "bloom_upd", "idl_restart",
    "path_limit",
)  # fmt: skip

#: Classes of a field header (raims.md 5).
CLASS_BOOL: Final = 0
CLASS_OPAQUE: Final = 4  # 4, 5, 6: 16, 32, 64 bytes
CLASS_STRING: Final = 7
CLASS_LONG: Final = 8

TYPE_MCAST: Final = 0
TYPE_INBOX: Final = 1
TYPE_HEARTBEAT: Final = 3
OPT_ZPATH: Final = 16

#: Publish types: the path byte of a message with ZPATH (raims.md 6).
PUBLISH_TYPES: Final = {
    1: "HELO", 2: "HB", 3: "BYE", 4: "LINK", 5: "ADD", 6: "DEL", 7: "BLM", 8: "ADJ", 9: "JOIN",
    10: "LEAV", 11: "PSUB", 12: "STOP", 16: "AUTH", 17: "SUBS", 18: "PING", 19: "PONG", 20: "REM",
    21: "RESUB", 22: "REPSUB", 23: "ADD_RTE", 24: "SYNC_REQ", 25: "SYNC_RPY", 26: "BLOOM_REQ",
    27: "BLOOM_RPY", 28: "ADJ_REQ", 29: "ADJ_RPY", 30: "MESH_REQ", 31: "MESH_RPY",
    32: "UCAST_REQ", 33: "UCAST_RPY", 34: "TRACE", 35: "ACK", 36: "SYNC", 37: "LOSS",
    38: "CONSOLE", 39: "ANY_RTE", 40: "INBOX", 41: "MCAST_PING", 42: "MCAST_SYNC",
    43: "STAT_MON", 44: "MCAST", 45: "DATA",
}  # fmt: skip

#: Subjects of multicast control messages, by prefix (raims.md 6).
SUBJECTS: Final = (
    ("_X.HELO", "HELO"), ("_X.HB", "HB"), ("_X.BYE", "BYE"), ("_X.LINK", "LINK"),
    ("_X.NAME", "NAME"), ("_Z.ADD", "ADD"), ("_Z.DEL", "DEL"), ("_Z.BLM", "BLM"),
    ("_Z.ADJ", "ADJ"), ("_S.JOIN.", "JOIN"), ("_S.LEAV.", "LEAV"), ("_P.PSUB.", "PSUB"),
    ("_P.STOP.", "STOP"), ("_M.", "MCAST"),
)  # fmt: skip

#: Subscriptions and their ends.
SUBSCRIBING: Final = frozenset({"JOIN", "LEAV", "PSUB", "STOP"})

SHORTEST: Final = 48  # up to the subject
BRIDGE_TEXT: Final = 22  # characters of a bridge in an inbox subject

Value = int | str | bytes | bool


@dataclass(frozen=True, slots=True)
class RaimsMessage:
    """One message.

    Attributes:
        type: mcast 0, inbox 1, router alert 2, heartbeat 3.
        options: OPT_*.
        size: bytes as its header claims.
        fields: by name, without bridge, digest and subject; integers, text, or bytes.
        damaged: fields end in the middle, or a header makes no sense.
    """

    type: int
    options: int
    path: int
    size: int
    bridge: str
    subject: str
    fields: dict[str, Value]
    damaged: bool

    @property
    def word(self) -> str:
        """What raims calls it."""
        if self.type in (TYPE_INBOX, TYPE_HEARTBEAT) and self.options & OPT_ZPATH:
            return PUBLISH_TYPES.get(self.path, f"TYPE_{self.path}")
        if self.type == TYPE_MCAST:
            return "DATA"
        for prefix, word in SUBJECTS:
            if self.subject.startswith(prefix):
                return word
        return "INBOX" if self.type == TYPE_INBOX else "OTHER"

    @property
    def receiver(self) -> str | None:
        """The bridge that a point-to-point message is for; null for a multicast."""
        return receiver_of(self.subject)

    def number(self, name: str) -> int | None:
        """An integer field; null if it is not there."""
        value = self.fields.get(name)
        return value if type(value) is int else None  # a damaged type byte makes it a bool

    def text(self, name: str) -> str | None:
        """A string field; null if it is not there."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else None


def receiver_of(subject: str) -> str | None:
    """The bridge that a point-to-point subject names; null for any other."""
    if not subject.startswith("_I."):
        return None
    text = subject[3 : 3 + BRIDGE_TEXT]
    try:
        raw = base64.b64decode(text + "==", validate=True)
    except (ValueError, binascii.Error):
        return None
    return raw.hex() if len(raw) == 16 else None


def is_message(data: bytes) -> bool:
    """Does a message begin here: version 1, bridge, digest and subject?"""
    return (
        len(data) >= SHORTEST
        and data[0] >= 0x80
        and data[8:10] == b"\xc4\x03"
        and data[26:28] == b"\xc4\x05"
        and data[44:46] == b"\x47\x00"
    )


def message_size(data: bytes) -> int:
    """Bytes of the message as its header claims; ``data`` holds at least 8."""
    return 8 + (int.from_bytes(data[2:4], "big") or int.from_bytes(data[4:8], "big"))


def read_message(data: bytes) -> RaimsMessage | None:
    """The message at the start of ``data``, as far as it is there; null if none begins here."""
    if not is_message(data):
        return None
    size = message_size(data)
    body = data[:size]
    length = int.from_bytes(body[46:48], "big")
    subject = body[48 : 48 + length]
    fields, damaged = read_fields(body, 48 + length + length % 2)
    return RaimsMessage(
        type=body[0] >> 5 & 3,
        options=body[0] & 31,
        path=body[1],
        size=size,
        bridge=body[10:26].hex(),
        subject=subject.decode("utf-8", "backslashreplace"),
        fields=fields,
        damaged=damaged or size > len(data) or len(subject) < length,
    )


def read_fields(data: bytes, at: int = 0) -> tuple[dict[str, Value], bool]:
    """Fields from ``at`` on, the first of a name counts, and whether they end in damage."""
    fields: dict[str, Value] = {}
    stop = len(data)
    while at + 2 <= stop:
        kind, field = data[at], data[at + 1]
        at += 2
        sort = kind & 15
        name = FIELDS[field] if field < len(FIELDS) else f"field_{field}"
        if sort < CLASS_STRING:
            size = 1 << sort
            body = at
        elif sort in (CLASS_STRING, CLASS_LONG):
            width = 2 if sort == CLASS_STRING else 4
            size = int.from_bytes(data[at : at + width], "big")
            body = at + width
        else:
            return fields, True
        raw = data[body : body + size]
        if len(raw) < size:
            return fields, True
        value: Value
        if sort == CLASS_BOOL:
            value = raw != b"\0"
        elif sort < CLASS_OPAQUE:
            value = int.from_bytes(raw, "big")
        elif sort == CLASS_STRING:
            value = raw.decode("utf-8", "backslashreplace")
        else:
            value = raw
        fields.setdefault(name, value)
        at = body + size + size % 2
    return fields, at < stop


def signed(value: int) -> int:
    """The int64 with the same 64 bits."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _table() -> list[int]:
    table = []
    for number in range(256):
        value = number
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC: Final = _table()


def crc32c(data: bytes, seed: int) -> int:
    """CRC-32C without a final xor."""
    for byte in data:
        seed = _CRC[(seed ^ byte) & 0xFF] ^ seed >> 8
    return seed


#: Trailer of a piece of a message larger than a TSDU (raims.md 2).
TRAILER_BYTES: Final = 32
PIECE_MARK: Final = b"\x99\xaa\x44\xff"


@dataclass(frozen=True, slots=True)
class Trailer:
    """What the trailer of a piece says.

    Attributes:
        source: GSI and port of the sender's TSI, as hex.
        hash: CRC-32C of the first piece's trailer, with 0 for itself; the same in every piece.
        begins: it is the first piece's, by that hash.
    """

    source: str
    at_ns: int
    offset: int
    total: int
    hash: int
    begins: bool


def read_trailer(tsdu: bytes) -> Trailer | None:
    """The trailer that ends a TSDU; null if none does."""
    if len(tsdu) < TRAILER_BYTES or tsdu[-4:] != PIECE_MARK:
        return None
    raw = tsdu[-TRAILER_BYTES:]
    return Trailer(
        source=raw[:8].hex(),
        at_ns=int.from_bytes(raw[8:16], "little"),
        offset=int.from_bytes(raw[16:20], "little"),
        total=int.from_bytes(raw[20:24], "little"),
        hash=int.from_bytes(raw[24:28], "little"),
        begins=crc32c(raw[:24] + bytes(4) + raw[28:], 0) == int.from_bytes(raw[24:28], "little"),
    )
