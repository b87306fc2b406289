"""Stories of JGroups members (``tests.replay.builders``) as captures: each event a datagram.

Members are the letters A to D at 10.0.0.1 to 10.0.0.4; every member is heard once before a story
begins, so that addresses are known. What the wire says of an event is jgroups.md 2.
"""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from tests.decoders.jgroups.builders import (
    BYTES,
    EMPTY,
    OBJECT,
    bits,
    header,
    i16,
    i64,
    listed,
    message,
    single,
    sized,
    tp,
    vlong,
    vpair,
    who,
    whos,
)
from tests.replay.builders import ADDRESS, Step
from tests.rules.wire import Wire, is_repeat

PORT: Final = 7800
GROUP: Final = ("239.8.8.8", 45588)
#: Magic id of the protocol and of its header, by system and release family.
HEADERS: Final = {
    "nakack4": (77, 99), "nakack2": (41, 78), "unicast3": (48, 82), "unicast4": (78, 100),
}  # fmt: skip
ON_DEMAND: Final = 0x10  # flag NO_RELIABILITY


def member(name: str) -> str:
    """The UUID of a letter from A to F, of which a report shows eight of the letter."""
    return str(uuid.UUID(hex=name.lower() * 32))


def capture(*story: Step | Sequence[Step]) -> bytes:
    """A capture of a story; steps may be given in lists as well."""
    wire = _begun(Wire())
    wire.wait(10_000)
    for step in _flat(story):
        if isinstance(step, int):
            wire.wait(step)
        elif is_repeat(step.flags):
            wire.again()
        else:
            _send(wire, step)
    return wire.end()


def captured(events: Iterable[Event], begin_ns: int, end_ns: int) -> bytes:
    """Events of a world as one member's capture, at their own times from ``begin_ns`` on.

    Each is a datagram of its own; one that the network brought again has the same bytes.
    """
    wire = Wire()
    wire.at(begin_ns - 10_000_000_000)
    _begun(wire)
    for event in events:
        wire.at(begin_ns + event.at_ns)
        _send(wire, event)
    wire.at(begin_ns + end_ns)
    return wire.end()


def _begun(wire: Wire) -> Wire:
    """Every member is heard once."""
    for name, address in ADDRESS.items():
        wire.send(single(header(70, 62), by=member(name)), address, GROUP[0], (PORT, GROUP[1]))
    return wire


def _send(wire: Wire, event: Event) -> None:
    to = None if event.destination is None else ADDRESS[event.destination]
    place, port = GROUP if to is None else (to, PORT)
    wire.send(_frame(event), ADDRESS[str(event.source)], place, (PORT, port), event.fresh_id)


def _flat(story: Iterable[Step | Sequence[Step]]) -> Iterable[Step]:
    for step in story:
        if isinstance(step, Event | int):
            yield step
        else:
            yield from step


def _frame(event: Event) -> bytes:
    by = member(str(event.source))
    to = None if event.destination is None else member(event.destination)
    flags = 1 if event.flags & Flag.OOB else 0
    if event.kind in (Kind.VIEW, Kind.NOTICE):
        return _membership(event, by, to)
    pair = HEADERS[event.system]
    body, kind, payload = _reliable(event)
    count = event.count if event.kind in (Kind.DATA, Kind.RETRANSMISSION) else 1
    if count == 1 and not event.flags & Flag.LISTED:
        return single(header(*pair, body[0]), by=by, to=to, kind=kind, payload=payload, flags=flags)
    parts = [message(header(*pair, one), tp(), kind=kind, flags=flags) for one in body]
    return listed(*parts, by=by, to=to)


def _reliable(event: Event) -> tuple[list[bytes], int, bytes | None]:
    """Bodies of the headers, the kind of message, and its payload where it has one of its own."""
    numbers = range(event.seqno or 0, event.stop_seqno or 0)
    if event.system.startswith("nakack"):
        return _multicast(event, numbers)
    return _unicast(event, numbers)


def _multicast(event: Event, numbers: range) -> tuple[list[bytes], int, bytes | None]:
    if event.kind in (Kind.DATA, Kind.RETRANSMISSION):
        word = b"\1" if event.kind == Kind.DATA else b"\3"
        return [word + vlong(seqno) for seqno in numbers], BYTES, None
    if event.kind == Kind.REQUEST:
        sender = member(str(event.stream).split("|")[1])
        return [b"\2" + who(sender)], OBJECT, _wanted(event)
    word = b"\4" if event.kind == Kind.HIGHEST else b"\5"
    return [word + vlong(numbers[0])], EMPTY, None


def _unicast(event: Event, numbers: range) -> tuple[list[bytes], int, bytes | None]:
    conn = i16(event.conn_id or 0)
    stamp = b"" if event.stamp is None else vlong(event.stamp)
    if event.kind == Kind.DATA:
        first = bytes([bool(event.flags & Flag.FIRST)])
        return [b"\0" + vlong(seqno) + conn + first for seqno in numbers], BYTES, None
    if event.kind == Kind.ACK:
        return [b"\1" + vlong(numbers[0]) + conn + stamp], EMPTY, None
    if event.kind == Kind.SYNC:
        return [b"\2" + stamp], EMPTY, None
    if event.kind == Kind.REQUEST:
        return [b"\3"], OBJECT, _wanted(event)
    assert event.kind == Kind.CLOSE
    return [b"\4" + conn], EMPTY, None


def _wanted(event: Event) -> bytes:
    wanted = [n for low, stop in json.loads(str(event.detail)) for n in range(low, stop)]
    return b"\1\0\x0f" + bits(wanted, min(wanted), max(wanted) - min(wanted) + 1)


def _membership(event: Event, by: str, to: str | None) -> bytes:
    """A view by multicast, one that a joiner asks for or gets, or that a member may leave."""
    if event.wire_kind == "JOIN_REQ":
        first = header(*HEADERS["unicast3"], b"\0" + vlong(1) + i16(0) + b"\1")
        return single(_gms(1), first, by=by, to=to, payload=sized(None))
    if event.kind == Kind.NOTICE:
        return single(_gms(4), by=by, to=to, payload=sized(None), flags=ON_DEMAND)
    detail = json.loads(str(event.detail))
    if event.wire_kind == "JOIN_RSP":
        return single(_gms(2), by=by, to=to, payload=sized(_joined(detail)), flags=ON_DEMAND)
    numbered = header(*HEADERS[event.system], b"\1" + vlong(event.seqno or 1))
    return single(_gms(5), numbered, by=by, payload=sized(_view(detail)))


def _gms(kind: int) -> bytes:
    return header(12, 55, bytes([kind]) + i16(0) + who(None))


def _joined(detail: Mapping[str, Any]) -> bytes:
    """Its digest goes by the view's order, without addresses."""
    names, digest = detail["view"]["members"], detail.get("digest")
    levels = b"" if digest is None else i16(len(names)) + _levels(digest[name] for name in names)
    return bytes([1, 1 if digest is None else 3]) + _of_view(detail) + levels


def _of_view(detail: Mapping[str, Any]) -> bytes:
    (by, number), names = detail["view"]["id"], detail["view"]["members"]
    return who(member(by)) + vlong(number) + whos(*map(member, names))


def _view(detail: Mapping[str, Any]) -> bytes:
    number, names = detail["view"]["id"][1], detail["view"]["members"]
    body = _of_view(detail)
    flags = 1
    if detail["merge"]:
        flags |= 4
        body += i16(2)
        for part in (names[:1], names[1:]):
            body += i16(-1) + who(member(part[0])) + i64(number - 1)
            body += i16(len(part)) + b"".join(i16(names.index(name)) for name in part)
    if "digest" in detail:
        flags |= 0x12
        body += whos(*map(member, detail["digest"])) + _levels(detail["digest"].values())
    return i16(flags) + body


def _levels(levels: Iterable[Sequence[int]]) -> bytes:
    return b"".join(vpair(*level) for level in levels)
