"""Many spoiled conversations in one capture, each of addresses and identities of its own.

An audit of a capture costs far more than one of a conversation in it, so this is how a million
mutants are tried. Between them may be a conversation that is sound: what is said of it must be what
is said where everything beside it is silent.
"""

import heapq
import random
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter
from typing import Final

from tests.degraded.captures import NOTHING, SECOND_NS, Capture, Record
from tests.hostile.mutate import Mutant, Setting, digest, in_order, spoiled
from tests.hostile.packets import (
    COOKED,
    ETHERNET,
    IPV4,
    IPV6,
    RAW,
    fragments_sealed,
    sealed,
    shape,
    without_checksum,
)
from tests.hostile.subjects import Subject, subjects, window

#: Conversations of a capture.
CROWD: Final = 1_000
#: Of so many crowds one is of all systems, the others of one each: what makes a run guess again
#: makes it decode the whole capture again.
_MIXED: Final = 4
#: How many of them have addresses of their own: all, or some are told in the same conversations.
_PLACES: Final = (1, 8, CROWD)
#: The number that the sound one is renamed by: none of another is a step from it.
_SOUND: Final = 0x6AAA
#: Systems whose conversations are judged one by one; daemons of raims are all one network.
_APART: Final = ("jgroups", "zenoh", "feed")
#: What makes a capture doubtful as a whole: its clock, its order, its snap length, its copies.
_OF_ALL: Final = frozenset({"another time", "swapped", "cut off", "another size", "repeated"})
_BEGIN_NS: Final = 1_700_000_000 * SECOND_NS
#: A frame that says nothing: of a type that is left to experiments.
_SILENT: Final = bytes(12) + b"\x88\xb5" + bytes(46)

_IDENTITY: Final = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{32}\b")
_CLUSTER: Final = re.compile(r'"cluster": "([A-Za-z]{3,})"')


@dataclass(frozen=True, slots=True)
class _Part:
    """A conversation: its records in order, how it was spoiled (not at all: it is the sound one)
    and the sum of what it became."""

    records: tuple[Record, ...]
    ways: tuple[str, ...] = ()
    sum: int | None = None


def crowd(name: str, *, size: int = CROWD) -> Mutant:
    """The capture of a name, the same whenever it is asked for."""
    rng = random.Random(name)
    sound, apart = _sound(rng) if rng.random() < 0.5 else (None, None)
    places = rng.choice(_PLACES)
    systems = sorted(subjects())
    some = systems if rng.randrange(_MIXED) == 0 else [rng.choice(systems)]
    parts = [_spoiled(rng, some, number % places, apart) for number in range(size)]
    parts = [*([sound] if sound else ()), *parts]
    timed = heapq.merge(*map(_timed, parts), key=itemgetter(0))
    records = [record for _, record in timed]
    begins = list(accumulate((16 + len(one.data) for one in records), initial=24))
    return Mutant(
        name,
        _file(records),
        tuple(sorted({way for part in parts for way in part.ways})),
        len(records),
        tuple(begins[at] for at in in_order(records)),
        frozenset(part.sum for part in parts if part.sum is not None),
        _file(_silenced(records, sound.records)) if sound else None,
        crowded=True,
    )


def _silenced(records: Sequence[Record], kept: Sequence[Record]) -> list[Record]:
    """Records of which all but these say nothing."""
    those = set(map(id, kept))
    silent = (replace(one, data=_SILENT, size=len(_SILENT)) for one in records)
    return [one if id(one) in those else other for one, other in zip(records, silent, strict=True)]


def _sound(rng: random.Random) -> tuple[_Part, Subject]:
    subject = rng.choice(subjects()[rng.choice(_APART)])
    capture = subject.load()
    records = _begun(rng, _ethernet(capture, capture.records[:40]))
    return _Part(tuple(_renamed(records, subject, _SOUND))), subject


def _spoiled(
    rng: random.Random, systems: Sequence[str], place: int, apart: Subject | None
) -> _Part:
    """A conversation of one of some systems.

    Args:
        apart: what is sound in this capture: none of its run is spoiled, and the capture as a whole
            is not made doubtful.
    """
    by_system = subjects()
    subject, other = (
        rng.choice(by_system[rng.choice(some)]) for some in (systems, sorted(by_system))
    )
    if apart and apart.run in (subject.run, other.run):
        return _Part(())
    capture, theirs = subject.load(), other.load()
    some = window(rng, capture, rng.choice((2, 3, 8)))
    records = _begun(rng, _ethernet(capture, some.records))
    others = tuple(_ethernet(theirs, window(rng, theirs, 3).records))
    setting = Setting(subject.system, (ETHERNET,), others)
    if not records:
        return _Part(())
    was = list(records)
    ways = spoiled(rng, records, setting)
    while apart and _OF_ALL & set(ways):
        records = list(was)
        ways = spoiled(rng, records, setting)
    total = None if records == was else _sum(records, was[0].at_ns)
    return _Part(tuple(_renamed(records, subject, place)), ways, total)


def _sum(records: Sequence[Record], begin_ns: int) -> int:
    """Other records have another one; when they begin and who talks does not matter."""
    return digest(
        b"".join(
            struct.pack("<QQI", (one.at_ns - begin_ns) & (1 << 64) - 1, one.size, len(one.data))
            + one.data
            for one in records
        )
    )


def _begun(rng: random.Random, records: Sequence[Record]) -> list[Record]:
    """Records of which the first is of the first two seconds."""
    if not records:
        return []
    by_ns = _BEGIN_NS + rng.randrange(2 * SECOND_NS) - records[0].at_ns
    return [one.moved(by_ns) for one in records]


def _ethernet(capture: Capture, records: Sequence[Record]) -> list[Record]:
    """Records as Ethernet; those of link types that are not known here are left out."""
    found = []
    for one in records:
        link, data = capture.link(one), one.data
        if link in COOKED:
            at = 14 if link == 113 else 0
            data = bytes(12) + data[at : at + 2] + data[COOKED[link] :]
        elif link in RAW:
            kind = IPV4 if data[:1] < b"\x50" else IPV6
            data = bytes(12) + kind.to_bytes(2, "big") + data
        elif link != ETHERNET:
            continue
        found.append(Record(one.at_ns, data, len(data) + max(0, one.size - len(one.data))))
    return found


def _timed(part: _Part) -> Iterator[tuple[int, Record]]:
    """Records with the time by which they are merged: they stay in their order."""
    return zip(accumulate((one.at_ns for one in part.records), max), part.records, strict=True)


def _renamed(records: Sequence[Record], subject: Subject, number: int) -> list[Record]:
    """The same talk of others: addresses and identities, wherever they are in a frame."""
    changes = [(was, _with_number(was, number)) for was in _identities(subject)]
    found = []
    for one in records:
        data = one.data
        for was, new in changes:
            data = data.replace(was, new)
        if data != one.data:
            data = sealed(ETHERNET, data)
        if subject.system == "raims":
            data = without_checksum(data, shape(ETHERNET, data))
        found.append(data)
    whole = fragments_sealed([one.data for one in records], found)
    return [one.holding(data) for one, data in zip(records, whole, strict=True)]


def _with_number(was: bytes, number: int) -> bytes:
    """An identity that is another for each number: letters stay letters, groups stay groups."""
    if was.isalpha():
        return bytes(97 + number // 26**place % 26 for place in range(3)) + was[3:]
    at = len(was) // 2 - 1  # the second of four, the eighth of sixteen
    number += int.from_bytes(was[at : at + 2], "big")
    return was[:at] + (number & 0xFFFF).to_bytes(2, "big") + was[at + 2 :]


@lru_cache(maxsize=1000)
def _identities(subject: Subject) -> tuple[bytes, ...]:
    """Addresses of its packets, and what its truth calls its members, clusters and sessions."""
    capture = subject.load()
    found = set()
    for one in _ethernet(capture, capture.records):
        for field in shape(ETHERNET, one.data).fields:
            if field.name in ("ip source", "ip destination"):
                found.add(one.data[field.at : field.at + field.size])
    text = subject.truth.read_text() if subject.truth and subject.truth.is_file() else ""
    for match in _IDENTITY.findall(text):
        known = bytes.fromhex(match.replace("-", ""))
        found |= {known, known[::-1]}
    found.update(match.encode() for match in _CLUSTER.findall(text))
    return tuple(sorted(one for one in found if any(one)))


def _file(records: Sequence[Record]) -> bytes:
    """What a pcap can tell of them."""
    latest_ns = (1 << 32) * SECOND_NS - 1
    told = [
        Record(min(max(one.at_ns, 0), latest_ns), one.data, min(one.size, (1 << 32) - 1))
        for one in records
    ]
    return NOTHING.of(told).written()
