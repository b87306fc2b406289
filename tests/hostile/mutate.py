"""Ways to spoil a capture: a few records of a real one in, the bytes of a file out.

A way knows where fields are (``packets``; lengths, counts, kinds, offsets and numbers of the
systems by ``INNER``) and puts there what breaks programs: none, one, the most, the sign, one more,
one less. Every choice comes from the ``Random`` that is given, so a seed is a mutant.
"""

import hashlib
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from tests.degraded.captures import SECOND_NS, Capture, Pcap, Record
from tests.hostile.packets import (
    Field,
    in_udp_tunnel,
    payload_end,
    sealed,
    shape,
    with_payload,
    without_checksum,
)

#: Fields of payloads by system: place and size from the payload's first byte. Those of lists are
#: behind numbers of variable length; what is not here is met by ``_any_field``.
INNER: Final = {
    "jgroups": ((0, 2), (2, 1), (3, 2), (5, 1), (4, 4), (8, 4), (6, 2), (9, 2)),
    "raims": ((0, 2), (2, 2), (4, 1), (5, 1), (8, 4), (14, 2), (16, 4), (20, 4), (24, 1), (25, 1),
              (26, 2), (28, 4), (32, 4), (40, 2), (44, 2), (46, 4)),
    "zenoh": ((0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (0, 2), (2, 2), (5, 1), (6, 1)),
    "feed": ((0, 1), (1, 1), (2, 2), (4, 4), (8, 4), (10, 8), (18, 2), (20, 2)),
    "others": ((0, 1), (1, 1), (0, 2), (2, 2), (4, 2), (0, 4), (4, 4), (8, 4)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file.

    Attributes:
        ways: what was done, in order.
        frames: how many records it has; null where the file's own headers were spoiled.
        cuts: places at which it may be cut into pieces: before none of them is a record whose time
            is later than that of one behind. Those are put in order on each side of a cut alone,
            and the report says so.
        held: sums of the spoiled conversations in it: those of one sum are the same.
        sound: the same file of one conversation that is sound, each other frame one that says
            nothing; null where there is none.
        crowded: there are many conversations in it.
    """

    name: str
    data: bytes
    ways: tuple[str, ...]
    frames: int | None
    cuts: tuple[int, ...]
    held: frozenset[int] = frozenset()
    sound: bytes | None = None
    crowded: bool = False


Way = Callable[[random.Random, list[Record], "Setting"], None]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a way may look at: the system, the link types, records of another capture."""

    system: str
    links: tuple[int, ...]
    others: tuple[Record, ...]

    def link(self, record: Record) -> int:
        return self.links[record.interface % len(self.links)]


def extreme(rng: random.Random, was: int, size: int, room: int) -> int:
    """A number that programs do not expect; ``room``: bytes left behind the field."""
    most = (1 << 8 * size) - 1
    return rng.choice(
        (0, 1, 2, most, most - 1, most >> 1, (most >> 1) + 1, was + 1, was - 1, was ^ 1, was << 1,
         was >> 1, ~was, room, room + 1, room - 1, 1 << rng.randrange(8 * size), 0x7F, 0x80, 0xFF)
    )  # fmt: skip


def _picked(rng: random.Random, records: list[Record]) -> int:
    return rng.randrange(len(records))


def _inner_field(rng: random.Random, records: list[Record], setting: Setting) -> None:
    _field_of_payload(rng, records, setting, known=True)


def _any_field(rng: random.Random, records: list[Record], setting: Setting) -> None:
    _field_of_payload(rng, records, setting, known=False)


def _field_of_payload(
    rng: random.Random, records: list[Record], setting: Setting, *, known: bool
) -> None:
    at = _picked(rng, records)
    record = records[at]
    seen = shape(setting.link(record), record.data)
    stop = payload_end(record.data, seen)
    if stop <= seen.payload:
        return
    if known:
        place, size = rng.choice(INNER[setting.system])
    else:
        place = int(rng.random() ** 2 * (stop - seen.payload))  # headers are in front
        size = rng.choice((1, 1, 2, 4, 8))
    found = Field("payload", seen.payload + place, size, rng.random() < 0.2)
    if found.at + size > stop:
        return
    value = extreme(rng, found.read(record.data), size, stop - found.at - size)
    data = found.written(record.data, value)
    if setting.system == "raims" and rng.random() < 0.7:
        data = without_checksum(data, seen)
    records[at] = record.holding(data)


def _header_field(rng: random.Random, records: list[Record], setting: Setting) -> None:
    at = _picked(rng, records)
    record = records[at]
    seen = shape(setting.link(record), record.data)
    if not seen.fields:
        return
    found = rng.choice(seen.fields)
    value = extreme(rng, found.read(record.data), found.size, len(record.data) - found.at)
    records[at] = record.holding(found.written(record.data, value))


def _flip(rng: random.Random, records: list[Record], setting: Setting) -> None:
    """One in a hundred bytes of every record, one at least of one."""
    at = _picked(rng, records)
    for number, record in enumerate(records):
        data = bytearray(record.data)
        for place in range(len(data)):
            if rng.random() < 0.01:
                data[place] ^= 1 << rng.randrange(8)
        if number == at and data:
            data[rng.randrange(len(data))] = rng.randrange(256)
        records[number] = record.holding(bytes(data))


def _truncate(rng: random.Random, records: list[Record], setting: Setting) -> None:
    """The payload ends early, and all lengths say so."""
    at = _picked(rng, records)
    record = records[at]
    seen = shape(setting.link(record), record.data)
    size = payload_end(record.data, seen) - seen.payload
    if size > 0:
        kept = record.data[seen.payload : seen.payload + rng.randrange(size)]
        records[at] = record.holding(with_payload(record.data, seen, kept))


def _insert(rng: random.Random, records: list[Record], setting: Setting) -> None:
    """Bytes put into a payload: numbers of variable length at their longest, or a part of it."""
    at = _picked(rng, records)
    record = records[at]
    seen = shape(setting.link(record), record.data)
    payload = record.data[seen.payload : payload_end(record.data, seen)]
    if not payload:
        return
    place = rng.randrange(len(payload))
    what = rng.choice(
        (b"\x08" + b"\xff" * 8, b"\x09" + b"\xff" * 9, b"\xff" * 9 + b"\x01", b"\x80" * 10,
         bytes(4), payload[place : place + rng.randrange(1, 40)], payload)
    )  # fmt: skip
    over = rng.choice((0, 1, len(what)))
    spoiled = (payload[:place] + what + payload[place + over :])[:9000]
    records[at] = record.holding(with_payload(record.data, seen, spoiled))


def _splice(rng: random.Random, records: list[Record], setting: Setting) -> None:
    """The begin of one payload with the end of another's."""
    at = _picked(rng, records)
    record = records[at]
    other = rng.choice(setting.others or tuple(records))
    seen = shape(setting.link(record), record.data)
    payload = record.data[seen.payload : payload_end(record.data, seen)]
    theirs = other.data[42:]
    cut, place = (rng.randrange(len(part) + 1) for part in (payload, theirs))
    spoiled = payload[:cut] + theirs[place:]
    records[at] = record.holding(with_payload(record.data, seen, spoiled))


def _snap(rng: random.Random, records: list[Record], setting: Setting) -> None:
    """Records that snap length cut off."""
    length = rng.choice((0, 1, 13, 14, 20, 34, 41, 42, 43, 50, 60, 68, 96, 128))
    first = _picked(rng, records)
    for at in range(first, len(records) if rng.random() < 0.5 else first + 1):
        records[at] = replace(records[at], data=records[at].data[:length])


def _drop(rng: random.Random, records: list[Record], setting: Setting) -> None:
    at = _picked(rng, records)
    stop = min(at + rng.choice((1, 1, 2, 5)), at + len(records) - 1)  # one stays
    del records[at:stop]


def _repeat(rng: random.Random, records: list[Record], setting: Setting) -> None:
    at = _picked(rng, records)
    record = records[at].moved(rng.choice((0, 1, 1000, 50_000_000)))
    records.insert(rng.randrange(len(records) + 1), record)


def _swap(rng: random.Random, records: list[Record], setting: Setting) -> None:
    one, other = _picked(rng, records), _picked(rng, records)
    records[one], records[other] = records[other], records[one]


def _time(rng: random.Random, records: list[Record], setting: Setting) -> None:
    """The clock steps, or a time is as far away as the file can tell."""
    at = _picked(rng, records)
    if rng.random() < 0.5:
        records[at] = replace(records[at], at_ns=rng.choice((0, 1, ((1 << 32) - 1) * 10**9)))
        return
    by = rng.choice((-3600, -5, 5, 600, 86_400)) * 10**9
    for number in range(at, len(records)):
        records[number] = replace(records[number], at_ns=max(0, records[number].at_ns + by))


def _wire_size(rng: random.Random, records: list[Record], setting: Setting) -> None:
    at = _picked(rng, records)
    size = len(records[at].data)
    wide = rng.choice((0, max(0, size - 1), size + 1, 65_535, (1 << 31) - 1, (1 << 32) - 1))
    records[at] = replace(records[at], size=wide)


def _foreign(rng: random.Random, records: list[Record], setting: Setting) -> None:
    """A record of another system between them."""
    if setting.others:
        at = _picked(rng, records)
        other = replace(rng.choice(setting.others), at_ns=records[at].at_ns, interface=0)
        records.insert(at, other)


def _tunnel(rng: random.Random, records: list[Record], setting: Setting) -> None:
    at = _picked(rng, records)
    record = records[at]
    fits = len(record.data) < 60_000  # a card may hand on more than a datagram holds
    if fits and setting.link(record) == 1 and record.data[12:14] == b"\x08\x00":
        depth = rng.choice((1, 2, 20))
        data = record.data[:14] + in_udp_tunnel(record.data[14:], depth)
        records[at] = record.holding(data)


#: Ways to spoil records, the deeper ones more often.
WAYS: Final[dict[str, tuple[int, Way]]] = {
    "a known field": (8, _inner_field),
    "any field": (8, _any_field),
    "a header's field": (4, _header_field),
    "one byte in a hundred": (3, _flip),
    "truncated": (3, _truncate),
    "bytes put in": (4, _insert),
    "spliced": (3, _splice),
    "cut off": (2, _snap),
    "dropped": (2, _drop),
    "repeated": (2, _repeat),
    "swapped": (2, _swap),
    "another time": (2, _time),
    "another size": (1, _wire_size),
    "a foreign record": (1, _foreign),
    "in tunnels": (1, _tunnel),
}
#: Of so many mutants the checksums are right.
_SEALED: Final = 0.85
_NAMES: Final = list(WAYS)
_WEIGHTS: Final = [weight for weight, _ in WAYS.values()]


def mutant(name: str, rng: random.Random, capture: Capture, setting: Setting) -> Mutant:
    """One to four ways on a few records; one mutant in eight has its file's headers spoiled too."""
    records = list(capture.records)
    ways = spoiled(rng, records, setting)
    data, places = _file(rng, capture, records)
    cuts = tuple(places[at] for at in in_order(records) if at < len(places))
    if rng.random() < 0.125:
        data, how = _spoiled_file(rng, data, places)
        return Mutant(name, data, (*ways, how), None, (), held=_held(data))
    held = _held(data) if records != list(capture.records) else frozenset()
    return Mutant(name, data, ways, len(records), cuts, held)


def _held(data: bytes) -> frozenset[int]:
    """The sum of a mutant that is a file."""
    return frozenset({digest(data)})


def digest(data: bytes) -> int:
    """The same in every process, as ``hash`` is not."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def spoiled(rng: random.Random, records: list[Record], setting: Setting) -> tuple[str, ...]:
    """One to four ways on records, in place; the names of those ways."""
    ways = rng.choices(_NAMES, _WEIGHTS, k=rng.choice((1, 1, 2, 3, 4)))
    was = set(map(id, records))
    for way in ways:
        WAYS[way][1](rng, records, setting)
    if rng.random() < _SEALED:
        for at, record in enumerate(records):
            if id(record) not in was:
                records[at] = record.holding(sealed(setting.link(record), record.data))
    return tuple(ways)


def in_order(records: list[Record]) -> list[int]:
    """Records before which none is later than any from them on, but the first."""
    times = [record.at_ns for record in records]
    earliest = list(accumulate(reversed(times), min))[::-1]
    latest = accumulate(times, max)
    return [
        at
        for at, (most, least) in enumerate(zip(latest, earliest[1:], strict=False), 1)
        if most <= least
    ]


def _file(rng: random.Random, capture: Capture, records: list[Record]) -> tuple[bytes, list[int]]:
    """The file, and where its records begin: as it was, or pcapng made of a pcap."""
    latest = (1 << 32) * SECOND_NS - 1 if isinstance(capture.layout, Pcap) else (1 << 63) - 1
    sound = [
        replace(r, size=min(r.size, (1 << 32) - 1), at_ns=min(max(r.at_ns, 0), latest))
        for r in records
    ]
    if isinstance(capture.layout, Pcap) and rng.random() < 0.25:
        link = capture.layout.links[0]
        head = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
        head += struct.pack("<IIHHIHHB3xHHI", 1, 32, link, 0, 0, 9, 1, 9, 0, 0, 32)
        parts, places, at = [head], [], len(head)
        for record in sound:
            body = record.data + bytes(-len(record.data) % 4)
            size = 32 + len(body)
            stamp = record.at_ns
            parts.append(
                struct.pack(
                    "<IIIIIII", 6, size, 0, stamp >> 32, stamp & 0xFFFFFFFF, len(record.data),
                    record.size,
                ) + body + struct.pack("<I", size)
            )  # fmt: skip
            places.append(at)
            at += size
        return b"".join(parts), places
    whole = capture.of(sound).written()
    at = len(capture.of([]).written())
    if not isinstance(capture.layout, Pcap):
        return whole, [0]
    places = []
    for record in sound:
        places.append(at)
        at += 16 + len(record.data)
    return whole, places


def _spoiled_file(rng: random.Random, data: bytes, places: list[int]) -> tuple[bytes, str]:
    """Numbers of file, block and record headers at extremes; a torn end; a block put in."""
    kind = rng.randrange(5)
    if kind == 0:
        return data[: rng.randrange(len(data))], "the file torn"
    if kind == 1:
        at = rng.choice(places)
        junk = rng.choice((bytes(rng.randrange(1, 80)), rng.randbytes(rng.randrange(1, 80))))
        return data[:at] + junk + data[at:], "bytes between records"
    if kind == 2:
        at = rng.choice(places)
        size = rng.choice((12, 16, 20, 32, 400))
        number = rng.choice((0, 1, 2, 3, 4, 5, 6, 9, 10, 0xBAD, 0x0A0D0D0A, 0x80000001))
        body = rng.choice((bytes(size - 12), rng.randbytes(size - 12)))
        block = struct.pack("<II", number, size) + body + struct.pack("<I", size)
        return data[:at] + block + data[at:], "a block between records"
    base, words = (0, 6) if kind == 3 else (rng.choice(places), 8)
    at = base + 4 * rng.randrange(words)
    found = Field("file", at, rng.choice((1, 2, 4)), little=True)
    if at + 4 > len(data):
        return data, "nothing"
    value = extreme(rng, found.read(data), found.size, len(data) - at)
    return found.written(data, value), "a header of the file"
