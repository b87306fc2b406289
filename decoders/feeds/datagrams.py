"""Feeds given by the user: datagrams in, EVENTS rows out (decoders/README.md 5; pipeline/README.md
2).

The kernel finds whose datagrams they are and keeps the open run of each stream; here its rows
become columns and their streams get names. Open runs last from chunk to chunk, except those that
keep times (``timestamp``, ``lines``), which end with the chunk so that their payload is bounded.

One stream is ``NAME|FIELDS|PLACE|LINE``: its field parts, its place and, of two lines that carry
the same, A or B. A conversation is ``feed|NAME|FIELDS`` where requests or lines join its streams,
else ``feed|NAME|FIELDS|PLACE``. Columns that mean something else here than elsewhere:

* ``conn_id``: ticks a second of the timestamps in the row; null: unknown, or the feed has none. Of
  a row without timestamps, where the feed was only recognised: of how many units it is made, and
  << 32 of how many datagrams it has the first unit that is in any row;
* ``stamp``: datagrams of the row whose blocks do not add up to their count; null: the layout does
  not tell;
* ``payload``: int64 records (seqno, at_ns) or (seqno, at_ns, timestamp), one a datagram.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import as_column, int_column, text_column
from seqaudit.decoders.contract.events import EVENTS, FRAME_BITS, ByName, Kind, compact
from seqaudit.decoders.contract.feed_layout import LINE_NAMES, Feed, Field, Type
from seqaudit.decoders.contract.settings import FEED, DecodeSettings
from seqaudit.decoders.feeds import words as k
from seqaudit.decoders.feeds.ends import is_ethernet
from seqaudit.decoders.feeds.records import UNKNOWN, RecordCounter
from seqaudit.decoders.feeds.tables import ROWS, Tables, is_masked, key_words, message_name
from seqaudit.decoders.kernels.loader import Int64s, argument, data_argument, kernel
from seqaudit.decoders.network.packets import Datagrams

_KINDS: Final = {
    k.DATA_RUN: Kind.DATA,
    k.HIGHEST: Kind.HIGHEST,
    k.CLOSE: Kind.CLOSE,
    k.RESET: Kind.NOTICE,
    k.REQUEST: Kind.REQUEST,
    k.REPAIR: Kind.RETRANSMISSION,
    k.FACTS: Kind.NOTICE,
}
_KIND_OF: Final = np.array([0, *(_KINDS[code] for code in range(1, 8))], np.int16)
_PORT_MASK: Final = 0xFFFF
#: Rows that are made columns of at once; a few of each chunk would cost more than the kernel.
ENOUGH: Final = 4_096
#: Names of streams that are kept; making one takes some µs.
NAMES: Final = 20_000
#: Characters of a field's text that are written as they are.
_PLAIN: Final = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:;/+*#@!?$&()[]{}<>^~'\""
)


class FeedDecoder:
    """DatagramDecoder of the feeds in the settings."""

    system: Final = FEED

    def __init__(self, settings: DecodeSettings) -> None:
        # what is anywhere is asked last
        self._feeds = tuple(
            sorted(settings.feeds, key=lambda feed: any(p.anywhere for p in feed.match))
        )
        self._tables = Tables(self._feeds)
        self._memory = self._tables.memory
        self._logged = any(self._tables.memory_of_log(feed) for feed in self._feeds)
        self._facts = [facts_of(feed) for feed in self._feeds]
        self._naming = [
            (
                feed,
                feed.has_repairs or bool(feed.lines),
                [(feed.field(name), key_words(feed.field(name))) for name in feed.key_fields],
            )
            for feed in self._feeds
        ]
        self._portless = all(feed.carrier for feed in self._feeds)
        self._hosts: Sequence[str] | None = None
        self._names: dict[int, tuple[str, str]] = {}
        self._where = (0, 0)
        self._templates = settings.templates
        self._counter: RecordCounter | None = None

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        """Claim what is a feed's (``outcome``) and return the rows that have ended."""
        if datagrams.count == 0:
            return []
        batches: list[pa.RecordBatch] = []
        self._where = (datagrams.capture, datagrams.split)
        if datagrams.hosts is not self._hosts:
            if self._hosts is not None:
                batches += self._take(every=True)
                self._tables.forget_hosts()
                self._names.clear()
            self._hosts = datagrams.hosts
        self._tables.class_hosts(datagrams.hosts)
        memory = self._memory
        compile_it = datagrams.compile_it
        module = kernel("feeds.kernels", compile_it=compile_it)
        columns = [
            datagrams.start, datagrams.stop, datagrams.length, datagrams.source,
            datagrams.destination, datagrams.source_port, datagrams.destination_port,
            datagrams.flags, datagrams.ip_id, datagrams.at_ns, datagrams.frame, datagrams.barrier,
            datagrams.networks, self._records_of(datagrams), datagrams.outcome, memory,
        ]  # fmt: skip
        arguments = [argument(column, compile_it=compile_it) for column in columns]
        data = data_argument(datagrams.data, compile_it=compile_it)
        memory[k.H_NEXT] = 0
        while True:
            (done,) = module.decode(data, datagrams.count, *arguments)
            rows_left = int(memory[k.H_OUT_STOP] - memory[k.H_ROWS]) - k.ROOM * k.WIDTH
            log_left = int(memory[k.H_LOG_STOP] - memory[k.H_LOG]) - k.LOG_ROOM * k.LOG_WORDS
            if done == datagrams.count:
                waiting = int(memory[k.H_ROWS] - memory[k.H_OUT]) // k.WIDTH
                if self._logged or waiting >= ENOUGH:
                    batches += self._take(every=False)
                return batches
            if rows_left >= 0 and log_left >= 0:  # so it was the streams that were full
                batches += self._take(every=True)
                self._tables.forget_streams()
                self._names.clear()
            else:
                batches += self._take(every=False)

    def _records_of(self, datagrams: Datagrams) -> Int64s:
        """Of each datagram the data records, where a feed's numbers count them."""
        if not any(feed.counts_records for feed in self._feeds):
            return np.zeros(datagrams.count, np.int64)
        if self._templates is None:
            return np.full(datagrams.count, UNKNOWN, np.int64)
        if self._counter is None:
            self._counter = RecordCounter(self._templates.get(self._where, ()))
        return self._counter.counts(datagrams)

    def finish(self) -> list[pa.RecordBatch]:
        """End all runs."""
        return [] if self._hosts is None else self._take(every=True)

    def account(self) -> dict[str, object]:
        """Messages by feed and name; what was not read; what was refused for its fields."""
        memory = self._memory
        messages: dict[str, dict[str, int]] = {}
        undecoded: dict[str, int] = {}
        sureness: dict[str, int] = {}
        told: dict[str, dict[str, int]] = {}
        for place, feed in zip(self._tables.places, self._feeds, strict=True):
            by_name: dict[str, int] = {}
            for number in range(len(feed.told_messages) + 1):
                name = message_name(feed, number)
                count = int(memory[place + k.F_TOTALS + number])
                by_name[name] = by_name.get(name, 0) + count
            if any(by_name.values()):
                messages[f"feed {feed.name}"] = {n: c for n, c in by_name.items() if c}
            for word, reason in (
                (k.F_SHORT, "shorter than its fields"),
                (k.F_CUT, "cut before the end of its fields"),
                (k.F_LARGE, "a number beyond 2^63 - 1"),
                (k.F_BEYOND, "a number beyond the number space"),
                (k.F_BETWEEN, f"a number that is no multiple of {feed.step}"),
                (k.F_BROKEN, "units or blocks that do not end where the datagram does"),
                (k.F_UNKNOWN, "records of a template that came before the capture, or never"),
            ):
                if count := int(memory[place + word]):
                    undecoded[f"feed {feed.name}: {reason}"] = count
            taken, refused = int(memory[place + k.F_TAKEN]), int(memory[place + k.F_REFUSED])
            anywhere = feed.is_anywhere
            if taken:
                sure = "likely" if anywhere else "certain"
                sureness[sure] = sureness.get(sure, 0) + taken
            if anywhere:
                refused = int(memory[k.H_UNFIT])
            told[feed.name] = {"taken": taken, "refused": refused}
        account: dict[str, object] = {
            "messages_by": messages, "undecoded": undecoded, "sureness": sureness, "feeds": told,
        }  # fmt: skip
        if self._counter is not None:
            said = [*self._counter.templates()]
            account |= {"templates": said} if said else {}
        return account

    # --- rows ---

    def _take(self, *, every: bool) -> list[pa.RecordBatch]:
        """The rows written so far, and the open runs: all, or those that keep times."""
        memory = self._memory
        out, stop = int(memory[k.H_OUT]), int(memory[k.H_ROWS])
        tables = [memory[out:stop].reshape(-1, k.WIDTH)]
        if every or self._logged:
            begin = int(memory[k.H_STREAM_ROWS]) + self._tables.stride
            end = begin + int(memory[k.H_STREAMS]) * self._tables.stride
            streams = memory[begin:end].reshape(-1, self._tables.stride)
            ended = streams[:, k.KIND] > 0
            if not every:
                ended &= streams[:, k.RUN] > 0
            rows = np.flatnonzero(ended)
            if len(rows):
                tables.append(streams[rows, : k.WIDTH])
                streams[rows, k.KIND] = 0
        batches = [
            self._batch(table[at : at + ROWS])
            for table in tables
            for at in range(0, len(table), ROWS)
        ]
        memory[k.H_ROWS] = out
        memory[k.H_LOG] = memory[k.H_LOG_ROWS]
        memory[k.H_RUN] = 0
        return batches

    def _batch(self, table: Int64s) -> pa.RecordBatch:
        capture, split = self._where
        base = split << FRAME_BITS
        kind = table[:, k.KIND]
        runs = (kind == k.DATA_RUN) | (kind == k.REPAIR)
        names = _each(table[:, k.STREAM] << 16 | table[:, k.FEED], self._name)
        ends = self._ends
        stop = table[:, k.STOP]
        ids, last_ids = table[:, k.ID], table[:, k.LAST_ID]
        blocks = np.array([feed.blocks is not None for feed in self._feeds])[table[:, k.FEED]]
        columns: ByName = {
            "capture": np.full(len(table), capture),
            "frame": table[:, k.FRAME] + base,
            "index": table[:, k.INDEX],
            "last_frame": table[:, k.LAST_FRAME] + base,
            "at_ns": table[:, k.AT],
            "last_at_ns": table[:, k.LAST_AT],
            "system": text_column([FEED], np.zeros(len(table), np.int64)),
            "conversation": text_column([name[0] for name in names[0]], names[1]),
            "stream": text_column([name[1] for name in names[0]], names[1]),
            "source": text_column(*_each(table[:, k.SOURCE], ends)),
            "destination": text_column(*_each(table[:, k.DESTINATION], ends)),
            "kind": _KIND_OF[kind],
            "wire_kind": text_column(
                *_each(kind << 32 | table[:, k.FEED] << 16 | table[:, k.MESSAGE], self._wire_kind)
            ),
            "seqno": int_column(table[:, k.SEQNO], table[:, k.SEQNO] == k.NONE),
            "stop_seqno": int_column(stop, stop == k.NONE),
            "count": table[:, k.COUNT],
            "conn_id": self._rates(table),
            "stamp": int_column(table[:, k.ODD], ~(runs & blocks)),
            "flags": table[:, k.FLAGS],
            "size": table[:, k.SIZE],
            "fresh_id": int_column(ids, ids < 0),
            "last_fresh_id": int_column(last_ids, last_ids < 0),
            "detail": self._details(table),
            "payload": self._payloads(table),
        }  # fmt: skip
        arrays = []
        for field in EVENTS:
            column = columns.get(field.name)
            if column is None:
                column = pa.nulls(len(table), field.type)
            arrays.append(as_column(column, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=EVENTS)

    def _wire_kind(self, code: int) -> str:
        kind = code >> 32
        if kind == k.FACTS:
            return "FEED"
        if kind == k.RESET:
            return "RESET"
        return message_name(self._feeds[code >> 16 & 0xFFFF], code & 0xFFFF)

    def _details(self, table: Int64s) -> pa.Array | None:
        """Ranges of requests; facts of new streams."""
        kind = table[:, k.KIND]
        rare = np.flatnonzero((kind == k.REQUEST) | (kind == k.FACTS))
        if not len(rare):
            return None
        details: list[str | None] = [None] * len(table)
        for at in rare.tolist():
            feed = self._feeds[int(table[at, k.FEED])]
            if kind[at] == k.FACTS:
                details[at] = self._facts[int(table[at, k.FEED])]
            else:
                ranges = _ranges(int(table[at, k.SEQNO]), int(table[at, k.STOP]), feed.space)
                details[at] = compact(ranges)
        return pa.array(details, pa.string())

    def _rates(self, table: Int64s) -> pa.Array | None:
        """Ticks a second of the rows that keep timestamps; units of others on probation."""
        probation = [feed.on_probation for feed in self._feeds]
        if not any(feed.timestamp is not None for feed in self._feeds):
            if not any(probation):
                return None
            return int_column(table[:, k.UNITS], ~np.array(probation)[table[:, k.FEED]])

        def rate(code: tuple[int, int]) -> int | None:
            timestamp = self._feeds[code[0]].timestamp
            return None if timestamp is None else timestamp.rate(code[1])

        codes = set(zip(table[:, k.FEED].tolist(), table[:, k.BY].tolist(), strict=True))
        known = {code: rate(code) for code in codes}
        rows = table[:, [k.FEED, k.BY, k.RUN, k.UNITS]].tolist()
        return pa.array(
            [
                known[feed, by] if run else units if probation[feed] else None
                for feed, by, run, units in rows
            ],
            pa.int64(),
        )

    def _payloads(self, table: Int64s) -> pa.Array | None:
        """The samples of each row, cut out of the log by their run's number."""
        run = table[:, k.RUN]
        if not run.any():
            return None
        memory = self._memory
        log = memory[int(memory[k.H_LOG_ROWS]) : int(memory[k.H_LOG])].reshape(-1, k.LOG_WORDS)
        order = np.argsort(log[:, 0], kind="stable")
        bounds = np.searchsorted(log[order, 0], np.arange(int(memory[k.H_RUN]) + 2))
        payloads: list[bytes | None] = []
        for number, feed in zip(run.tolist(), table[:, k.FEED].tolist(), strict=True):
            if number == 0:
                payloads.append(None)
                continue
            words = 3 if self._feeds[feed].timestamp is not None else 2
            mine = order[bounds[number] : bounds[number + 1]]
            payloads.append(np.ascontiguousarray(log[mine, 1 : 1 + words], "<i8").tobytes())
        return pa.array(payloads, pa.binary())

    # --- names ---

    def _ends(self, end: int) -> str:
        assert self._hosts is not None
        address = self._hosts[end >> 16]
        return address if self._portless else end_text(address, end & _PORT_MASK)

    def _name(self, code: int) -> tuple[str, str]:
        """(conversation, stream) of a stream."""
        stream, feed = code >> 16, code & 0xFFFF
        known = self._names.get(stream)
        if known is None:
            if len(self._names) >= NAMES:
                self._names.clear()
            known = self._names[stream] = self._new_name(stream, feed)
        return known

    def _new_name(self, stream: int, number: int) -> tuple[str, str]:
        at = int(self._memory[k.H_STREAM_ROWS]) + stream * self._tables.stride
        words = self._memory[at : at + self._tables.stride].tolist()
        feed, shared, parts = self._naming[number]
        cursor = k.KEY
        fields = []
        for field, size in parts:
            fields.append(f"{field.name}={key_text(field, words[cursor : cursor + size])}")
            cursor += size
        fields += [f"{part}={words[cursor + at]}" for at, part in enumerate(feed.network_parts)]
        said = ",".join(fields)
        if words[k.IDENT] & 0xFF == 2:  # requests and repairs, whose place is a server's
            return f"feed|{feed.name}|{said}", f"{feed.name}|{said}|"
        place, line = self._place(feed, words[k.PLACE], words[k.FROM])
        conversation = f"feed|{feed.name}|{said}"
        if feed.on_probation and feed.repeat:  # the streams of a place pass together
            conversation = f"feed|{feed.name}|"
        if not shared:
            conversation += f"|{place}"
        return conversation, f"{feed.name}|{said}|{place}|{line}"

    def _place(self, feed: Feed, to: int, start: int) -> tuple[str, str]:
        assert self._hosts is not None
        if to >> 40:
            line = (to >> 40) - 2
            return f"lines {(line >> 1) + 1}", LINE_NAMES[line & 1]
        parts = feed.stream
        ends = []
        for end, host, port in ((start, "source", "source_port"), (to, "destination", "port")):
            address = self._hosts[end >> 16] if host in parts else ""
            ends.append(_end(address, end & _PORT_MASK if port in parts else -1))
        return (f"{ends[0]}>{ends[1]}" if ends[0] else ends[1]), ""


def facts_of(feed: Feed) -> str:
    """What an engine has to know of a feed, as the detail of its FEED rows."""
    stamp = feed.timestamp
    said = {
        "bits": feed.wrap,
        **({} if feed.blocks is None else {"blocks": True}),
        **({} if feed.confirmed else {"confirmed": False}),
        "declares": sorted(
            {str(message.sort) for message in feed.told_messages}
            | ({"login"} if feed.login else set())
        ),
        "first": feed.first,
        "hz": None if stamp is None else stamp.hz,
        **({} if feed.framing is None else {"in_order": True}),
        **({"modulus": feed.modulus} if feed.modulus else {}),
        **({"probation": "place" if feed.repeat else "stream"} if feed.on_probation else {}),
        **({"recognised": True} if feed.is_anywhere else {}),
        "stamp_bits": None if stamp is None else feed.field(stamp.field).bits,
    }
    return compact(said)


def end_text(address: str, port: int) -> str:
    """ADDRESS:PORT, an IPv6 address in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _end(address: str, port: int) -> str:
    if port < 0:
        return f"[{address}]" if ":" in address and not is_ethernet(address) else address
    return end_text(address, port) if address else f":{port}"


def key_text(field: Field, words: Sequence[int]) -> str:
    """A field of a key, so that different values have different texts."""
    if is_masked(field):
        return str(words[0] << 32 | words[1])
    raw = struct.pack(f">{len(words)}I", *words)
    if field.width % 4:  # the last word has fewer bytes
        raw = raw[:-4] + raw[-(field.width % 4) :]
    if field.type == Type.NUMBER:
        return str(int.from_bytes(raw, "big" if field.big_endian else "little"))
    if field.type == Type.BYTES:
        return raw.hex()
    if raw.endswith(b"\0"):  # padded with zeros: said, as the same text may be padded with spaces
        return _escaped(raw.rstrip(b"\0")) + "%00"
    return _escaped(raw.rstrip(b" "))


def _escaped(raw: bytes) -> str:
    if not raw.translate(None, _PLAIN):
        return raw.decode("ascii")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)


def _ranges(first: int, stop: int, space: int) -> list[list[int]]:
    """A range of numbers, in two where it goes over the wrap."""
    if not space or stop <= space:
        return [[first, stop]]
    return [[first, space], [0, stop - space]]


def _each(codes: Int64s, text: Any) -> tuple[list[Any], Int64s]:
    """``text`` of every distinct code, and per row which of them."""
    distinct, index = np.unique(codes, return_inverse=True)
    return [text(code) for code in distinct.tolist()], index
