"""Rows of the PGM kernel and located messages as EVENTS rows of raims (raims.md 5, 6;
decoders/README.md 3).

All raims events of a capture are one conversation, ``raims``: the observing daemon with all its
publishers. Columns as raims uses them:

* stream: ``LINK|BRIDGE|SUBJECT`` of framed seqnos, ``LINK|BRIDGE|#PATH`` of GLSNO ones,
  ``LINK|BRIDGE|.WORD`` of other messages; null of a subscription, which concerns every stream;
* source: the bridge of the sender; destination: the subject of data, the receiving bridge else;
* stamp: the publisher's ``time``; conn_id: ``chain_seqno``;
* fresh_id: the number on the link (PGM sqn, inbox src_seqno) of the first message of a run.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import int_column, taken, text_column
from seqaudit.decoders.contract.event_columns import (
    EventRows,
    event_batch,
    flags_of,
    grouped,
    repeated,
    texts,
)
from seqaudit.decoders.contract.events import EVENTS, ByName, Flag, Kind, unescaped
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.packets import Datagrams
from seqaudit.decoders.raims import pgm_kernels as wire
from seqaudit.decoders.raims.messages import (
    PUBLISH_TYPES,
    SUBSCRIBING,
    TRAILER_BYTES,
    TYPE_MCAST,
    RaimsMessage,
    Value,
    is_message,
    message_size,
    read_message,
    read_trailer,
    receiver_of,
    signed,
)

RAIMS: Final = "raims"
#: Why bytes of a link are not decoded.
NO_MESSAGE: Final = "raims link: bytes that are no message"
NO_FLAGS: Final = Flag(0)

#: Longest opaque value told in a detail; keys and blooms are not.
OPAQUE_TOLD: Final = 16
#: Fields that no engine wants and that would only make rows longer.
UNTOLD: Final = frozenset({"user_hmac", "cnonce", "pk_digest", "data", "pubkey", "seqno"})
#: Words by the kernel's code: the publish type where there is one (raims.md 6).
WORDS: Final[Mapping[int, str]] = PUBLISH_TYPES | {wire.WORD_NAME: "NAME", wire.WORD_OTHER: "OTHER"}
CODES: Final = {word: code for code, word in WORDS.items()}
#: MEMBER rows kept from being repeated.
SEEN_LIMIT: Final = 100_000


@dataclass(frozen=True, slots=True)
class DatagramLinks:
    """Datagrams, and the links of a table by number: TSIs, or streams of TCP."""

    datagrams: Datagrams
    links: Mapping[int, str]
    prefix: str = "pgm:"

    def link(self, number: int) -> str:
        return self.prefix + self.links[number]


def escaped(text: str) -> str:
    """A subject for use between the bars of a stream; what is no text is escaped already."""
    return text.replace("%", "%25").replace("|", "%7C")


_IS_LOCATED: Final = flags_of((wire.MESSAGE, wire.PIECE, wire.UNREAD, wire.INBOX_MESSAGE), 16)
_IS_SUBSCRIBING: Final = flags_of([CODES[word] for word in SUBSCRIBING], 256)


class RaimsRows:
    """Makes EVENTS rows; keeps counts and the members told."""

    def __init__(self) -> None:
        self.messages: Counter[str] = Counter()
        self.undecoded: Counter[str] = Counter()
        self._members: set[tuple[object, ...]] = set()

    def batches(
        self, where: DatagramLinks, memory: Int64s, table: Int64s, details: pa.Array,
        own: Mapping[
            int, Callable[[Datagrams, list[int], bytes], list[ByName]]
        ] = MappingProxyType({}),
    ) -> list[pa.RecordBatch]:  # fmt: skip
        """The raims rows of a kernel table.

        Args:
            details: what the kernel wrote as ``detail``, by row.
            own: who reads rows of other sorts that the kernel only located, by the row and its
                bytes. All these are read in
                the order of the capture, so that a member is told of where it first was.
        """
        found: list[pa.RecordBatch] = []
        sort = table[:, wire.SORT]
        runs = np.flatnonzero(sort == wire.MESSAGES)
        if len(runs):
            found.append(self._runs(where, memory, EventRows(table, runs)))
        read = np.flatnonzero(sort == wire.CONTROL)
        if len(read):
            rows = EventRows(table, read)
            found.append(self._controls(where, memory, rows, taken(details, int_column(read))))
        rare: list[ByName] = []
        odd = _IS_LOCATED[sort] | ((sort == wire.CONTROL) & (table[:, wire.TOLD] == 1))
        for one in own:
            odd |= sort == one
        for row in EventRows(table, np.flatnonzero(odd)).tolist():
            body = bytes(where.datagrams.data[row[wire.BODY_AT] : row[wire.BODY_STOP]])
            link = where.link(row[wire.LINK])
            if reader := own.get(row[wire.SORT]):
                rare += reader(where.datagrams, row, body)
            elif row[wire.SORT] == wire.PIECE:
                rare += self._piece(where.datagrams, row, link, body)
            elif row[wire.SORT] == wire.UNREAD:
                rare += self._unread(where.datagrams, row, link, body)
            else:
                message = read_message(body)
                assert message is not None, "the kernel has seen the start of a message"
                if row[wire.SORT] == wire.CONTROL:
                    event = self.base(where.datagrams, row, link) | {"source": message.bridge}
                    rare += self._member(event, message, where.datagrams, row)
                elif row[wire.SORT] == wire.INBOX_MESSAGE:
                    rare += self.inbox_message(where.datagrams, row, link, message)
                else:
                    rare += self.events(where.datagrams, row, link, message)
        if rare:
            found.append(pa.RecordBatch.from_pylist(rare, schema=EVENTS))
        return found

    def _runs(self, where: DatagramLinks, memory: Int64s, rows: EventRows) -> pa.RecordBatch:
        """Runs of data messages."""
        named = _StreamTexts(where, memory, rows)
        count = len(rows)
        glsno = rows.column(wire.WORD) & 8 != 0
        time, chain = rows.column(wire.TIME), rows.column(wire.CHAIN)

        def stream(link: str, bridge: str, subject: str, path: int) -> str:
            return f"{link}|{bridge}|{escaped(subject) if path < 0 else f'#{path}'}"

        return event_batch(
            count,
            _places(where, rows)
            | {
                "stream": named.texts(stream),
                "source": named.texts(lambda link, bridge, subject, path: bridge),
                "destination": named.texts(lambda link, bridge, subject, path: subject),
                "kind": np.full(count, int(Kind.DATA), np.int16),
                "wire_kind": texts(glsno.astype(np.int64), ("DATA", "GLSNO").__getitem__),
                "seqno": rows.column(wire.SEQNO),
                "stop_seqno": rows.column(wire.STOP),
                "conn_id": int_column(chain, chain == wire.NONE),
                "stamp": int_column(time, time == wire.NONE),
            },
        )

    def _controls(
        self, where: DatagramLinks, memory: Int64s, rows: EventRows, details: pa.Array
    ) -> pa.RecordBatch:
        """Messages that are no data, as the kernel has read them."""
        named = _StreamTexts(where, memory, rows)
        words = rows.column(wire.WORD)
        for code, count in enumerate(np.bincount(words).tolist()):
            if count:
                self.messages[WORDS[code]] += count
        seqno, time = rows.column(wire.SEQNO), rows.column(wire.TIME)
        subscribing = _IS_SUBSCRIBING[words]

        def stream(link: str, bridge: str, subject: str, path: int) -> str | None:
            word = WORDS[-2 - path]
            return None if word in SUBSCRIBING else f"{link}|{bridge}|.{word}"

        return event_batch(
            len(rows),
            _places(where, rows)
            | {
                "stream": named.texts(stream),
                "source": named.texts(lambda link, bridge, subject, path: bridge),
                "destination": named.texts(
                    lambda link, bridge, subject, path: receiver_of(subject)
                ),
                "kind": np.where(subscribing, int(Kind.SUBSCRIBE), int(Kind.NOTICE)).astype(
                    np.int16
                ),
                "wire_kind": texts(words, WORDS.__getitem__),
                "seqno": int_column(seqno, seqno == wire.NONE),
                "stop_seqno": int_column(rows.column(wire.STOP), seqno == wire.NONE),
                "stamp": int_column(time, time == wire.NONE),
                "detail": details,
            },
        )

    def is_undecoded(self, row: list[int], why: str) -> None:
        """Counts what is wrong with a message; one that the snap length cut is told as cut."""
        if not row[wire.FLAGS] & Flag.CUT:
            self.undecoded[why] += 1

    def events(
        self, datagrams: Datagrams, row: list[int], link: str, message: RaimsMessage, *,
        flags: int = 0,
    ) -> list[ByName]:  # fmt: skip
        """The row of one message, and of the member it tells of."""
        word = message.word
        self.messages[word] += 1
        if message.damaged and not flags & Flag.PARTIAL:
            self.is_undecoded(row, "raims message with damaged fields")
        event = self.base(datagrams, row, link)
        subscribing = word in SUBSCRIBING
        seqno = message.number("seqno")
        detail = told(message.fields)
        event |= {
            "stream": None if subscribing else f"{link}|{message.bridge}|.{word}",
            "source": message.bridge,
            "destination": message.receiver,
            "kind": int(Kind.SUBSCRIBE if subscribing else Kind.NOTICE),
            "wire_kind": word,
            "flags": row[wire.FLAGS] | flags,
            "size": message.size,
        }
        if word == "DATA" and message.type == TYPE_MCAST:
            event |= {"kind": int(Kind.NOTICE), "destination": message.subject}
        if seqno is not None:
            event["seqno"] = signed(seqno)
            event["stop_seqno"] = min(signed(seqno) + 1, (1 << 63) - 1)
        time = message.number("time")
        if time is not None:
            event["stamp"] = signed(time)
        if detail:
            event["detail"] = unescaped(detail)
        return [event, *self._member(event, message, datagrams, row)]

    def base(self, datagrams: Datagrams, row: list[int], link: str) -> ByName:
        """What every row of a datagram has."""
        sqn = row[wire.SQN] if row[wire.SQN] >= 0 else None
        return {
            "capture": datagrams.capture,
            "frame": row[wire.FRAME],
            "index": row[wire.INDEX],
            "last_frame": row[wire.FRAME],
            "at_ns": row[wire.AT],
            "last_at_ns": row[wire.AT],
            "system": RAIMS,
            "conversation": RAIMS,
            "stream": f"{link}|",
            "kind": int(Kind.NOTICE),
            "count": 1,
            "flags": row[wire.FLAGS],
            "size": row[wire.SIZE],
            "fresh_id": sqn,
            "last_fresh_id": sqn,
        }

    def _member(
        self, event: ByName, message: RaimsMessage, datagrams: Datagrams, row: list[int]
    ) -> list[ByName]:
        """A MEMBER row where the sender says who it is, once on each of its links.

        Links are not decoded in the order of the capture, and what comes first on one must not hide
        what came earlier on another.
        """
        user = message.text("user")
        if user is None or message.word not in ("HELO", "HB", "AUTH", "NAME", "BYE"):
            return []
        address = f"{datagrams.hosts[row[wire.SOURCE]]}:{row[wire.PORT]}"
        if message.number("host_id") is not None:
            raw = (message.number("host_id") or 0).to_bytes(8, "little")[:4]
            host = ".".join(map(str, raw))
            if host != datagrams.hosts[row[wire.SOURCE]]:
                address = f"{host}:0"  # forwarded, or behind another address
        fact = {"address": address, "name": user}
        if (version := message.text("version")) is not None:
            fact["version"] = version
        link = str(event["stream"]).partition("|")[0]
        key = (link, message.bridge, *sorted(fact.items()))
        if key in self._members or len(self._members) >= SEEN_LIMIT:
            return []
        self._members.add(key)
        return [
            {
                key: event[key]
                for key in (
                    "capture", "frame", "last_frame", "at_ns", "last_at_ns", "system",
                    "conversation", "source",
                )
            }
            | {
                "index": -1, "kind": int(Kind.MEMBER), "wire_kind": "MEMBER", "count": 0,
                "flags": 0, "size": 0, "detail": unescaped(fact),
            }
        ]  # fmt: skip

    def _piece(self, datagrams: Datagrams, row: list[int], link: str, tsdu: bytes) -> list[ByName]:
        """A TSDU that is a piece of a message: its first (the message's row), or a further one."""
        trailer = read_trailer(tsdu)
        assert trailer is not None, "the kernel has seen the mark"
        body = tsdu[:-TRAILER_BYTES]
        place = {
            "offset": trailer.offset,
            "piece": len(body),
            "total": trailer.total,
            "hash": trailer.hash,
        }
        first = trailer.offset == 0 and trailer.total > len(body) and trailer.begins
        if first and is_message(body):
            message = read_message(body)
            assert message is not None
            if message.type == TYPE_MCAST and message.number("seqno") is not None:
                self.messages["DATA" if not message.options & 8 else "GLSNO"] += 1
                return [self.data_event(datagrams, row, link, message, Flag.PARTIAL, place)]
            found = self.events(datagrams, row, link, message, flags=int(Flag.PARTIAL))
            told_so_far = json.loads(found[0].get("detail") or "{}")
            found[0]["detail"] = unescaped(told_so_far | place)
            return found
        self.messages["PIECE"] += 1
        return [
            self.base(datagrams, row, link) | {"wire_kind": "PIECE", "detail": unescaped(place)}
        ]

    def data_event(
        self, datagrams: Datagrams, row: list[int], link: str, message: RaimsMessage, flag: Flag,
        detail: ByName | None = None,
    ) -> ByName:  # fmt: skip
        glsno = bool(message.options & 8)
        seqno = signed(message.number("seqno") or 0)
        tail = f"#{message.path}" if glsno else escaped(message.subject)
        time, chain = message.number("time"), message.number("chain_seqno")
        return self.base(datagrams, row, link) | {
            "stream": f"{link}|{message.bridge}|{tail}",
            "source": message.bridge,
            "destination": message.subject,
            "kind": int(Kind.DATA),
            "wire_kind": "GLSNO" if glsno else "DATA",
            "seqno": seqno,
            "stop_seqno": min(seqno + 1, (1 << 63) - 1),
            "stamp": None if time is None else signed(time),
            "conn_id": None if chain is None else signed(chain),
            "flags": row[wire.FLAGS] | flag,
            "size": message.size,
            "detail": unescaped(detail) if detail else None,
        }

    def inbox_message(
        self,
        datagrams: Datagrams,
        row: list[int],
        link: str,
        message: RaimsMessage,
        flag: Flag = NO_FLAGS,
    ) -> list[ByName]:
        """A message behind an inbox header: data stands alone, as its order is the link's."""
        if message.type == TYPE_MCAST and message.number("seqno") is not None:
            self.messages["GLSNO" if message.options & 8 else "DATA"] += 1
            return [self.data_event(datagrams, row, link, message, flag)]
        return self.events(datagrams, row, link, message, flags=int(flag))

    def _unread(self, datagrams: Datagrams, row: list[int], link: str, body: bytes) -> list[ByName]:
        """What is no message: the last piece of one with messages behind it, or damage."""
        cut = body.find(b"\x99\xaa\x44\xff")
        if cut >= TRAILER_BYTES - 4 and is_message(body[cut + 4 :]):
            found = self._piece(datagrams, row, link, body[: cut + 4])
            at, index = cut + 4, row[wire.INDEX]
            while at < len(body) and (message := read_message(body[at:])) is not None:
                index += 1
                place = [*row]
                place[wire.INDEX] = index
                if message.type == TYPE_MCAST and message.number("seqno") is not None:
                    self.messages["DATA" if not message.options & 8 else "GLSNO"] += 1
                    found.append(self.data_event(datagrams, place, link, message, Flag(0)))
                else:
                    found += self.events(datagrams, place, link, message)
                at += message_size(body[at:])
            return found
        self.is_undecoded(row, NO_MESSAGE)
        return [
            self.base(datagrams, row, link)
            | {"wire_kind": "UNREAD", "detail": unescaped({"bytes": len(body)})}
        ]


class _StreamTexts:
    """The streams of rows: each is asked for its texts once.

    Args:
        rows: runs of data messages, or messages that are no data.
    """

    def __init__(self, where: DatagramLinks, memory: Int64s, rows: EventRows) -> None:
        data = where.datagrams.data
        links = int(rows.column(wire.LINK).max()) + 1
        keys, places = grouped(rows.column(wire.STREAM) * links + rows.column(wire.LINK))
        self._places = places
        self._streams: list[tuple[str, str, str, int]] = []
        for key in keys.tolist():
            number, link = divmod(key, links)
            at = wire.STREAMS + number * wire.STREAM_WORDS
            bridge, subject, size, path = memory[at : at + 4].tolist()
            self._streams.append(
                (
                    where.link(link),
                    bytes(data[bridge : bridge + 16]).hex(),
                    bytes(data[subject : subject + size]).decode("utf-8", "backslashreplace"),
                    path,
                )
            )

    def texts(self, text: Callable[[str, str, str, int], str | None]) -> pa.Array:
        """``text(link, bridge, subject, path)`` of every row."""
        return text_column([text(*stream) for stream in self._streams], self._places)


def _places(where: DatagramLinks, rows: EventRows) -> ByName:
    """Columns that all rows of the kernel have alike."""
    count = len(rows)
    sqn, last_sqn = rows.column(wire.SQN), rows.column(wire.LAST_SQN)
    return {
        "capture": np.full(count, where.datagrams.capture, np.int64),
        "frame": rows.column(wire.FRAME),
        "index": rows.column(wire.INDEX),
        "last_frame": rows.column(wire.LAST_FRAME),
        "at_ns": rows.column(wire.AT),
        "last_at_ns": rows.column(wire.LAST_AT),
        "system": repeated(RAIMS, count),
        "conversation": repeated(RAIMS, count),
        "count": rows.column(wire.COUNT),
        "flags": rows.column(wire.FLAGS),
        "size": rows.column(wire.SIZE),
        "fresh_id": int_column(sqn, sqn < 0),
        "last_fresh_id": int_column(last_sqn, last_sqn < 0),
    }


def told(fields: Mapping[str, Value]) -> dict[str, int | str | bool]:
    """Fields as a row's detail tells them; opaque ones as hex."""
    found: dict[str, int | str | bool] = {}
    for name, value in fields.items():
        if name in UNTOLD:
            continue
        if isinstance(value, bytes):
            if name == "session" and len(value) == 32:  # user's key, then the daemon's bridge
                found["session_bridge"] = value[16:].hex()
            elif len(value) <= OPAQUE_TOLD:
                found[name] = value.hex()
        else:
            found[name] = value
    return found
