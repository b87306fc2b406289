"""Messages of RV clients: fields of a name, a type and a value (raims.md 11).

For what concerns an audit: envelopes, subscriptions, advisories. The payload of a data message is
not read. Damage is data: what was read before it is kept.
"""

import re
import struct
from dataclasses import dataclass
from typing import Final

from seqaudit.decoders.contract.events import ByName

MAGIC: Final = b"\x99\x55\xee\xaa"
HEAD: Final = 8  # length, magic

#: Types of a field (raims.md 11).
MESSAGE: Final = 1
SUBJECT: Final = 2
DATETIME: Final = 3
STRING: Final = 8
BOOL: Final = 9
IP_DATA: Final = 10
INT: Final = 11
UINT: Final = 12
REAL: Final = 13

_SHORT: Final = 0x79  # a u16 follows that counts itself
_LONG: Final = 0x7A  # a u32 likewise

#: The head of a message whose first field is one of an envelope.
CANDIDATE: Final = re.compile(
    rb"(?s)(?=.{4}\x99\x55\xee\xaa(?:\x04sub\0\x02|\x06mtype\0\x08\x02[A-Z]\0))"
)

#: What a message is, by its mtype (raims.md 11); R answers the client's I.
WORDS: Final = {
    "D": "DATA", "A": "ADVISORY", "L": "LISTEN", "C": "CANCEL", "I": "INIT", "R": "RESPONSE",
}  # fmt: skip

#: Nested messages deeper than this are not read.
DEPTH: Final = 2

Value = int | str | float | bool | bytes | ByName


@dataclass(frozen=True, slots=True)
class Envelope:
    """One message between a client and its daemon.

    Attributes:
        word: its mtype, as ``WORDS`` calls it; ``OTHER`` where it has none of them.
        subject: null where it has none.
        fields: those beside mtype, sub, and the data of a data message, in the order of the wire;
            data, where it is there, is a message.
        damaged: fields end in the middle, a header makes no sense, or data is no message.
    """

    word: str
    subject: str | None
    fields: dict[str, Value]
    damaged: bool


def is_message(data: bytes) -> bool:
    """Does a message begin here?"""
    return data[4:8] == MAGIC and int.from_bytes(data[:4], "big") >= HEAD


def message_size(data: bytes) -> int:
    """Bytes of the message as its header claims, header included."""
    return int.from_bytes(data[:4], "big")


def read_envelope(data: bytes) -> Envelope:
    fields, damaged = read_fields(data, HEAD, with_data=False)
    mtype, subject = fields.pop("mtype", None), fields.pop("sub", None)
    word = WORDS.get(mtype, "OTHER") if isinstance(mtype, str) else "OTHER"
    text = subject if isinstance(subject, str) else None
    if word in ("ADVISORY", "RESPONSE") or (text or "").startswith("_RV."):
        fields, damaged = read_fields(data, HEAD, with_data=True)
        fields.pop("mtype", None)
        fields.pop("sub", None)
        if not isinstance(fields.get("data", {}), dict):
            del fields["data"]
            damaged = True
    return Envelope(word, text, fields, damaged)


def read_fields(
    data: bytes, at: int, *, with_data: bool = True, depth: int = 0
) -> tuple[dict[str, Value], bool]:
    """Fields from ``at`` on, the first of a name counts, and whether they end in damage.

    Args:
        with_data: else the value of the field ``data`` is left out.
    """
    fields: dict[str, Value] = {}
    stop = len(data)
    while at < stop:
        width = data[at]
        begin, at = at + 1, at + 1 + width
        if at + 2 > stop:
            return fields, True
        name = data[begin:at].rstrip(b"\0").decode("utf-8", "backslashreplace")
        kind, size = data[at], data[at + 1]
        at += 2
        if size in (_SHORT, _LONG):
            counter = 2 if size == _SHORT else 4
            size = int.from_bytes(data[at : at + counter], "big") - counter
            at += counter
            if size < 0:
                return fields, True
        if at + size > stop:
            return fields, True
        if with_data or name != "data":
            fields.setdefault(name, _value(kind, data[at : at + size], depth))
        at += size
    return fields, False


def _value(kind: int, raw: bytes, depth: int) -> Value:
    if kind == MESSAGE and raw[:4] == MAGIC and depth < DEPTH:
        return read_fields(raw, 4, depth=depth + 1)[0]
    if kind == SUBJECT:
        return _subject(raw)
    if kind == STRING:
        return raw.rstrip(b"\0").decode("utf-8", "backslashreplace")
    if kind == BOOL:
        return any(raw)
    if kind == IP_DATA:
        return ".".join(map(str, raw)) if len(raw) == 4 else int.from_bytes(raw, "big")
    if kind in (INT, UINT, DATETIME):
        return int.from_bytes(raw, "big", signed=kind == INT)
    if kind == REAL and len(raw) in (4, 8):
        number: float = struct.unpack(">f" if len(raw) == 4 else ">d", raw)[0]
        return number
    return raw


def _subject(raw: bytes) -> str:
    """A count of segments, then each with its length, which counts itself and the NUL."""
    segments: list[str] = []
    at = 1
    while at < len(raw) and raw[at] >= 2 and len(segments) < raw[0]:
        segments.append(raw[at + 1 : at + raw[at] - 1].decode("utf-8", "backslashreplace"))
        at += raw[at]
    return ".".join(segments)
