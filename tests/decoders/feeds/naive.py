"""Feeds one datagram at a time, in plain Python: what the kernel must agree with.

Written from ``feeds`` and the contract in ``decoders.feeds.datagrams``, not from the kernel:
dictionaries for streams, ``int.from_bytes`` for fields, and the rules of runs word for word.
"""

from __future__ import annotations

import ipaddress
import json
import struct
from dataclasses import dataclass, field
from typing import Any

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.decoders.contract.feed_layout import Condition, Feed, Is, Message, Route, Says, Type

KINDS = {
    Is.DATA: Kind.DATA, Is.HEARTBEAT: Kind.HIGHEST, Is.RESET: Kind.NOTICE, Is.END: Kind.CLOSE,
    Is.REQUEST: Kind.REQUEST, Is.REPAIR: Kind.RETRANSMISSION,
}  # fmt: skip
PAUSE = 3_000_000_000
BARRIER = None


@dataclass
class Packet:
    """One datagram as it was captured; ``length`` is what UDP claims."""

    source: tuple[str, int]
    destination: tuple[str, int]
    payload: bytes
    at_ns: int = 0
    flags: int = 0
    ip_id: int = -1
    length: int = -1

    def __post_init__(self) -> None:
        if self.length < 0:
            self.length = len(self.payload)
        if ipaddress.ip_address(self.destination[0]).is_multicast:
            self.flags |= Flag.MULTICAST
        if self.length > len(self.payload):
            self.flags |= Flag.CUT


@dataclass
class Read:
    """What one datagram turned out to be."""

    outcome: str
    rows: list[dict[str, Any]] = field(default_factory=list)


class NaiveFeeds:
    """All feeds over one capture; ``rows`` are complete after ``finish``."""

    def __init__(self, feeds: tuple[Feed, ...]) -> None:
        self.feeds = sorted(feeds, key=lambda f: any(p == Route() for p in f.match))
        self.open: dict[str, dict[str, Any]] = {}  # stream -> row
        self.known: set[str] = set()
        self.rows: list[dict[str, Any]] = []
        self.counts: dict[str, dict[str, int]] = {}

    def barrier(self) -> None:
        self.finish()

    def finish(self) -> None:
        for stream in list(self.open):
            self.close(stream)

    def close(self, stream: str) -> None:
        row = self.open.pop(stream, None)
        if row is not None:
            self.rows.append(row)

    # --- one datagram ---

    def take(self, frame: int, packet: Packet) -> str:
        """The outcome: decoded, malformed, truncated, or other."""
        for feed in self.feeds:
            if self.inside(feed, packet) or self.beside(feed, packet):
                return self.read(feed, frame, packet)
        for feed in self.feeds:
            if Route() in feed.match and self.fits(feed, packet):
                return self.read(feed, frame, packet)
        return "other"

    def inside(self, feed: Feed, packet: Packet) -> bool:
        return any(packet.destination in line.ends for line in feed.lines) or any(
            at(place, packet) for place in feed.match if place != Route()
        )

    def beside(self, feed: Feed, packet: Packet) -> bool:
        return any(self.placed(feed, m, packet) for m in feed.told_messages if feed.places_of(m))

    def placed(self, feed: Feed, message: Message, packet: Packet) -> bool:
        served = message.to_server or message.from_server
        if served and packet.flags & Flag.MULTICAST:
            return False
        return any(at(place, packet) for place in feed.places_of(message))

    def fits(self, feed: Feed, packet: Packet) -> bool:
        if packet.source[1] < 1024 or packet.destination[1] < 1024:
            return False
        if len(packet.payload) < whole_size(feed):
            return False
        return hold(feed, (*feed.require, *feed.recognise), packet.payload)

    def read(self, feed: Feed, frame: int, packet: Packet) -> str:
        data = packet.payload
        if len(data) >= whole_size(feed) and not hold(feed, feed.require, data):
            return "other"
        if len(data) < whole_size(feed) and packet.length > len(data):
            return "truncated"
        message = next((m for m in feed.told_messages if self.is_(feed, m, packet)), None)
        if message is None and not self.inside(feed, packet) and Route() not in feed.match:
            return "other"
        sort = message.sort if message else Is.DATA
        name = message.name if message else "DATA"
        says = message.says if message else Says.NEXT
        if len(data) < needed(feed, message):
            return "malformed"
        seqno = stop = None
        count = 0
        limit = feed.modulus or (1 << feed.wrap if feed.wrap < 63 else None)
        if sort != Is.IGNORE and says != Says.NOTHING:
            seqno = value(feed, feed.seqno, data)
            if sort in (Is.DATA, Is.REPAIR, Is.REQUEST):
                count = feed.count if isinstance(feed.count, int) else value(feed, feed.count, data)
                if seqno >= 1 << 63 or count >= 1 << 63 or seqno + count >= 1 << 63:
                    return "malformed"
                if limit and (seqno >= limit or count > limit):
                    return "malformed"
                stop = seqno + count
            else:
                stop = seqno + (says == Says.LAST)
                if stop >= 1 << 63 or (limit and seqno > limit):
                    return "malformed"
                seqno = stop - 1 if stop else None
        numbered = sort in (Is.DATA, Is.REPAIR, Is.REQUEST)
        totals = self.counts.setdefault(feed.name, {})
        totals[name] = totals.get(name, 0) + (count if sort in (Is.DATA, Is.REPAIR) else 1)
        if sort == Is.IGNORE:
            return "decoded"
        self.event(feed, frame, packet, sort, name, seqno, stop, count if numbered else None)
        return "decoded"

    def is_(self, feed: Feed, message: Message, packet: Packet) -> bool:
        if feed.places_of(message) and not self.placed(feed, message, packet):
            return False
        unicast = not packet.flags & Flag.MULTICAST
        if message.unicast is not None and message.unicast != unicast:
            return False
        if message.length and not message.length[0] <= packet.length <= message.length[1]:
            return False
        return hold(feed, message.when, packet.payload)

    # --- rows ---

    def event(
        self, feed: Feed, frame: int, packet: Packet, sort: Is, name: str,
        seqno: int | None, stop: int | None, count: int | None,
    ) -> None:  # fmt: skip
        conversation, stream = names(feed, packet, sort in (Is.REQUEST, Is.REPAIR))
        base = {
            "frame": frame, "index": 0, "last_frame": frame, "at_ns": packet.at_ns,
            "last_at_ns": packet.at_ns, "conversation": conversation, "stream": stream,
            "source": end(packet.source), "destination": end(packet.destination),
            "kind": int(KINDS[sort]), "wire_kind": "RESET" if sort == Is.RESET else name,
            "seqno": seqno, "stop_seqno": stop, "count": 1, "flags": int(packet.flags),
            "size": packet.length, "fresh_id": packet.ip_id if packet.ip_id >= 0 else None,
            "last_fresh_id": packet.ip_id if packet.ip_id >= 0 else None, "conn_id": None,
            "stamp": None, "detail": None, "payload": None,
        }  # fmt: skip
        if on_probation(feed):
            base["conn_id"] = ONE
        if stream not in self.known and sort not in (Is.REQUEST, Is.REPAIR):
            self.known.add(stream)
            facts = {"count": 0, "size": 0, "flags": 0, "kind": int(Kind.NOTICE), "seqno": None}
            self.rows.append(base | facts | {
                "index": -1, "wire_kind": "FEED", "stop_seqno": None, "detail": facts_of(feed),
                "fresh_id": None, "last_fresh_id": None,
                "conn_id": 0 if on_probation(feed) else None,
            })  # fmt: skip
        if count == 0:
            return
        self.others_end(feed, conversation, stream, packet, sort)
        if sort == Is.HEARTBEAT:
            self.heartbeat(base, stream, packet, feed)
        elif sort in (Is.DATA, Is.REPAIR):
            assert seqno is not None and stop is not None and count is not None
            self.numbered(base, stream, packet, feed, sort, seqno, stop, count)
        else:
            self.close(stream)
            if sort == Is.REQUEST:
                assert seqno is not None and stop is not None
                base["detail"] = json.dumps(ranges(feed, seqno, stop), separators=(",", ":"))
            self.rows.append(base)

    def others_end(
        self, feed: Feed, conversation: str, stream: str, packet: Packet, sort: Is
    ) -> None:
        """Requests, resets and ends end all runs of a conversation that streams share; repairs and
        what may be repairs end the others, and the others end these."""
        if not (feed.has_repairs or feed.lines):
            return
        aside = is_aside(feed, packet, sort)
        for key, row in list(self.open.items()):
            if row["conversation"] != conversation:
                continue
            if sort in (Is.REQUEST, Is.RESET, Is.END) or row["aside"] != aside:
                self.close(key)

    def numbered(
        self, base: dict[str, Any], stream: str, packet: Packet, feed: Feed, sort: Is,
        seqno: int, stop: int, count: int,
    ) -> None:  # fmt: skip
        limit = feed.modulus or (1 << feed.wrap if feed.wrap < 63 else None)
        rest = max(0, stop - limit) if limit else 0
        run = self.open.get(stream)
        by = None
        if sort == Is.DATA and feed.timestamp is not None:
            by = value(feed, feed.timestamp.by, packet.payload) if feed.timestamp.by else 0
            base["conn_id"] = feed.timestamp.rate(by)
        odd = None
        if feed.blocks is not None:
            odd = int(len(packet.payload) == packet.length and not adds_up(feed, packet, count))
        base |= {"stop_seqno": stop - rest, "count": count - rest, "stamp": odd, "by": by}
        base["aside"] = is_aside(feed, packet, sort)
        if base["aside"] and sort == Is.DATA:
            base["flags"] |= int(Flag.ASIDE)
        record = b""
        if sort == Is.DATA and (feed.timestamp is not None or feed.lines):
            record = struct.pack("<qq", seqno, packet.at_ns)
            if feed.timestamp is not None:
                record += struct.pack("<q", value(feed, feed.timestamp.field, packet.payload))
            base["payload"] = record
        same = ("kind", "wire_kind", "flags", "source", "destination", "by")
        if (
            run is not None
            and not base["aside"]  # when each repair came is the question
            and run["stop_seqno"] == seqno
            and all(run[key] == base[key] for key in same)
            and packet.at_ns - run["last_at_ns"] <= PAUSE
        ):
            for key in ("last_frame", "last_at_ns", "stop_seqno", "last_fresh_id"):
                run[key] = base[key]
            run["count"] += base["count"]
            run["size"] += base["size"]
            run["conn_id"] = one_more(feed, run)
            if odd is not None:
                run["stamp"] += odd
            if record:
                run["payload"] += record
        else:
            self.close(stream)
            self.open[stream] = base
        if rest:
            self.close(stream)
            self.open[stream] = base | {
                "index": 1, "frame": base["frame"], "seqno": 0, "stop_seqno": rest, "count": rest,
                "size": 0, "stamp": None if odd is None else 0,
                "conn_id": base["conn_id"] if base["payload"] is not None or not on_probation(feed)
                else 0,
                "payload": None if base["payload"] is None else b"",
            }  # fmt: skip

    def heartbeat(self, base: dict[str, Any], stream: str, packet: Packet, feed: Feed) -> None:
        run = self.open.get(stream)
        stop = base["stop_seqno"]
        alive = (
            run is not None
            and run["source"] == base["source"]
            and run["destination"] == base["destination"]
            and packet.at_ns - run["last_at_ns"] <= PAUSE
        )
        if alive and run is not None:
            if run["kind"] != Kind.HIGHEST and (
                run["stop_seqno"] == stop
                or (
                    feed.wrap < 63
                    and run["stop_seqno"] == (feed.modulus or 1 << feed.wrap)
                    and stop == 0
                )
            ):
                run |= {"last_frame": base["frame"], "last_at_ns": base["at_ns"]}
                run["conn_id"] = one_more(feed, run)
                return
            same = ("kind", "wire_kind", "flags", "stop_seqno")
            if all(run[key] == base[key] for key in same):
                for key in ("last_frame", "last_at_ns", "last_fresh_id"):
                    run[key] = base[key]
                run["count"] += 1
                run["size"] += base["size"]
                run["conn_id"] = one_more(feed, run)
                return
        self.close(stream)
        self.open[stream] = base | {"aside": is_aside(feed, packet, Is.HEARTBEAT)}


#: A datagram of one unit.
ONE = 1 << 32 | 1


def on_probation(feed: Feed) -> bool:
    return Route() in feed.match and not feed.lines


def one_more(feed: Feed, run: dict[str, Any]) -> int | None:
    """Units of a run, once another is in it; of one with timestamps, their rate."""
    counted = on_probation(feed) and run["payload"] is None
    told: int | None = run["conn_id"] + ONE if counted else run["conn_id"]
    return told


def is_aside(feed: Feed, packet: Packet, sort: Is) -> bool:
    """Repairs, and unicasts that may be some: not those to a destination that the user named."""
    named = any(packet.destination in line.ends for line in feed.lines) or any(
        place.destination is not None and at(place, packet) for place in feed.match
    )
    unicast = not packet.flags & Flag.MULTICAST
    return sort == Is.REPAIR or (feed.has_repairs and unicast and not named)


def at(place: Route, packet: Packet) -> bool:
    def inside(network: str | None, address: str) -> bool:
        return network is None or ipaddress.ip_address(address) in ipaddress.ip_network(network)

    return (
        inside(place.destination, packet.destination[0])
        and inside(place.source, packet.source[0])
        and place.port[0] <= packet.destination[1] <= place.port[1]
        and place.source_port[0] <= packet.source[1] <= place.source_port[1]
    )


def value(feed: Feed, name: str, data: bytes) -> int:
    known = feed.field(name)
    raw = data[known.offset : known.offset + known.width]
    number = int.from_bytes(raw, "big" if known.big_endian else "little")
    if known.mask >= 0:
        number &= known.mask
    return number >> known.shift


def hold(feed: Feed, conditions: tuple[Condition, ...], data: bytes) -> bool:
    for condition in conditions:
        known = feed.field(condition.field)
        raw = data[known.offset : known.offset + known.width]
        if len(raw) < known.width:
            return False
        if known.type == Type.TEXT:
            if not all(32 <= byte <= 126 for byte in raw):
                return False
        elif not any(a <= value(feed, known.name, data) <= b for a, b in condition.ranges):
            return False
    return True


def _ends(feed: Feed, names: set[str]) -> int:
    return max((feed.field(name).offset + feed.field(name).width for name in names), default=0)


def _clock(feed: Feed) -> set[str]:
    stamp = feed.timestamp
    return set() if stamp is None else {stamp.field, *([stamp.by] if stamp.by else [])}


def needed(feed: Feed, message: Message | None) -> int:
    names = set(feed.key_fields)
    counted = {feed.count} if isinstance(feed.count, str) else set()
    if message is None:
        return _ends(feed, names | {feed.seqno} | counted | _clock(feed))
    asked = {condition.field for condition in message.when}
    if message.sort == Is.IGNORE:
        return _ends(feed, asked)
    if message.says != Says.NOTHING:
        names.add(feed.seqno)
    if message.sort in (Is.DATA, Is.REPAIR, Is.REQUEST):
        names |= counted
    if message.sort == Is.DATA:
        names |= _clock(feed)
    return _ends(feed, names | asked)


def whole_size(feed: Feed) -> int:
    asked = {c.field for c in (*feed.require, *feed.recognise)}
    asked |= {c.field for message in feed.messages for c in message.when}
    return max(needed(feed, None), _ends(feed, asked))


def adds_up(feed: Feed, packet: Packet, count: int) -> bool:
    assert feed.blocks is not None
    rest = packet.payload[feed.blocks.offset :]
    width, found = feed.blocks.width, 0
    while len(rest) >= width:
        size = int.from_bytes(rest[:width], "big" if feed.blocks.big_endian else "little")
        if len(rest) < width + size:
            return False
        rest = rest[width + size :]
        found += 1
    return found == count


def ranges(feed: Feed, first: int, stop: int) -> list[list[int]]:
    limit = feed.modulus or 1 << feed.wrap
    if feed.wrap >= 63 or stop <= limit:
        return [[first, stop]]
    return [[first, limit], [0, stop - limit]]


def end(of: tuple[str, int]) -> str:
    return f"[{of[0]}]:{of[1]}" if ":" in of[0] else f"{of[0]}:{of[1]}"


def names(feed: Feed, packet: Packet, server: bool) -> tuple[str, str]:
    """(conversation, stream)."""
    said = ",".join(f"{name}={text(feed, name, packet.payload)}" for name in feed.key_fields)
    if server:
        return f"feed|{feed.name}|{said}", f"{feed.name}|{said}|"
    shared = feed.has_repairs or feed.lines
    line = next(
        ((number, letter) for number, pair in enumerate(feed.lines, 1)
         for letter, at_end in zip("AB", pair.ends, strict=True) if at_end == packet.destination),
        None,
    )  # fmt: skip
    if line is not None:
        return f"feed|{feed.name}|{said}", f"{feed.name}|{said}|lines {line[0]}|{line[1]}"

    def part(of: tuple[str, int], host: str, port: str) -> str:
        shown = f"[{of[0]}]" if ":" in of[0] else of[0]
        shown = shown if host in feed.stream else ""
        return shown + (f":{of[1]}" if port in feed.stream else "")

    start = part(packet.source, "source", "source_port")
    place = (f"{start}>" if start else "") + part(packet.destination, "destination", "port")
    conversation = f"feed|{feed.name}|{said}" + ("" if shared else f"|{place}")
    return conversation, f"{feed.name}|{said}|{place}|"


def text(feed: Feed, name: str, data: bytes) -> str:
    known = feed.field(name)
    raw = data[known.offset : known.offset + known.width]
    if known.type == Type.NUMBER:
        return str(value(feed, name, data))
    if known.type == Type.BYTES:
        return raw.hex()
    shown = raw.rstrip(b"\0") if raw.endswith(b"\0") else raw.rstrip(b" ")
    escaped = "".join(
        chr(b) if 32 < b < 127 and chr(b) not in "%|,=\\`" else f"%{b:02X}" for b in shown
    )
    return escaped + ("%00" if raw.endswith(b"\0") else "")


def facts_of(feed: Feed) -> str:
    stamp = feed.timestamp
    facts: dict[str, Any] = {
        "bits": feed.wrap,
        **({"blocks": True} if feed.blocks is not None else {}),
        **({"modulus": feed.modulus} if feed.modulus else {}),
        "declares": sorted({str(m.sort) for m in feed.told_messages}),
        "first": feed.first,
        "hz": stamp.hz if stamp else None,
        "stamp_bits": feed.field(stamp.field).bits if stamp else None,
    }
    if Route() in feed.match:
        facts["recognised"] = True
    if on_probation(feed):
        facts["probation"] = "stream"
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))
