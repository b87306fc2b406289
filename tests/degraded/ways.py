"""The ways in which a capture is spoiled (replay/README.md 3): each takes something away from it.

A way has choices, each of which is one spoiled capture and has a text that names it. What is random
is drawn from a generator seeded by that text, so that a text is enough to make it again.
"""

import argparse
import ipaddress
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import PurePath
from typing import Any, Final

from tests.degraded import fragments, hosts, offload
from tests.degraded.captures import SECOND_NS, Capture, Record

MILLISECOND_NS: Final = 1_000_000

#: Of clocks that are coarse; the clock of Windows ticks 64 times a second.
TICKS_NS: Final = (
    *(MILLISECOND_NS, 10 * MILLISECOND_NS, 15_625_000, SECOND_NS),
    *(10**15, 10**19),  # all times are the same, or 0
)
#: How far the clock of another host is off.
SKEWS_NS: Final = tuple(
    sign * size
    for size in (5 * MILLISECOND_NS, SECOND_NS, 40 * SECOND_NS, 3600 * SECOND_NS)
    for sign in (-1, 1)
)

SNAP_LENGTHS: Final = (64, 96, 100, 120, 128, 140, 160, 192, 256, 320, 400, 512)
STEPS_NS: Final = tuple(
    sign * size
    for size in (
        *(MILLISECOND_NS, 20 * MILLISECOND_NS, 300 * MILLISECOND_NS),
        *(SECOND_NS, 6 * SECOND_NS, 30 * SECOND_NS, 300 * SECOND_NS),
    )
    for sign in (-1, 1)
)
DRIFTS: Final = (-0.01, -0.0001, 0.0001, 0.01)
LAGS_NS: Final = tuple(
    int(ms * MILLISECOND_NS) for ms in (0.02, 0.2, 2, 15, 50, 200, 500, 1000, 1500)
)


@dataclass(frozen=True)
class Subject:
    """A capture of a recorded run.

    Attributes:
        name: what it is called in the table: scenario and file.
        file: name of the file.
        at: the address of the interface it was taken at, or ``between``.
        marks: frames of note, from 1: requests, what shows a gap, repairs.
        others: the other captures of the run, by name of the file.
    """

    name: str
    file: str
    at: str
    capture: Capture
    marks: tuple[int, ...] = ()
    others: tuple[tuple[str, str, Capture], ...] = ()

    @property
    def frames(self) -> int:
        return len(self.capture.records)


@dataclass(frozen=True)
class Spoiled:
    """What is audited: files in the order in which they are given."""

    files: tuple[tuple[str, Capture], ...]
    at: str | None
    one_capture: bool = False
    mirrors: frozenset[str] = frozenset()  # files of ``each`` that are given as taken between
    ways: tuple[str, ...] = ()  # names of those taken one after another, if several were
    torn: int = 0  # bytes that are missing at the end of the last file


@dataclass(frozen=True)
class Way:
    """``choices`` and ``marked`` (choices next to frames of note) of a subject, and what to do.

    Attributes:
        every_frame: a choice a frame, all of which can be tried in a small capture.
        only_named: not among the ways that are tried unless one is named: it does not take
            something away, but tells something that is not so.
    """

    name: str
    says: str
    choices: Callable[[Subject], Sequence[Any]]
    spoil: Callable[[Subject, Any], Spoiled]
    marked: Callable[[Subject], Sequence[Any]] = lambda subject: ()
    every_frame: bool = False
    only_named: bool = False

    def picked(self, subject: Subject, count: int, seed: int) -> list[Any]:
        """At most ``count`` choices: half of them at marks, the others spread evenly."""
        rng = random.Random(f"{seed}|{self.name}|{subject.name}")
        every = self.choices(subject)
        if len(every) <= count:
            return list(every)
        marked = list(dict.fromkeys(self.marked(subject)))
        near = _spread(marked, (count + 1) // 2, rng)
        picked = [*near, *_spread(every, count - len(near), rng)]
        return list(dict.fromkeys(picked))

    def named(self, subject: Subject, text: str) -> list[Any]:
        """The choice that has this text, if there is one."""
        return [choice for choice in self.choices(subject) if text_of(choice) == text]


def text_of(choice: object) -> str:
    """What a choice is called in tables and given as ``--variant``."""
    return " ".join(map(str, choice)) if isinstance(choice, tuple) else str(choice)


def _spread(choices: Sequence[Any], count: int, rng: random.Random) -> list[Any]:
    if len(choices) <= count:
        return list(choices)
    width = len(choices) / max(count, 1)
    return [choices[int((i + rng.random()) * width)] for i in range(count)]


def _rng(subject: Subject, choice: object) -> random.Random:
    return random.Random(f"{subject.name}|{choice}")


def _same_place(subject: Subject, records: Iterable[Record]) -> Spoiled:
    return Spoiled(((subject.file, subject.capture.of(list(records))),), subject.at)


# --- what is missing ---


def _head(subject: Subject, first: int) -> Spoiled:
    return _same_place(subject, subject.capture.records[first - 1 :])


def _tail(subject: Subject, last: int) -> Spoiled:
    return _same_place(subject, subject.capture.records[:last])


def _middle(subject: Subject, seed: int) -> Spoiled:
    rng = _rng(subject, f"middle {seed}")
    first, stop = sorted(rng.sample(range(subject.frames + 1), 2))
    return _same_place(subject, subject.capture.records[first:stop])


def _single(subject: Subject, frame: int) -> Spoiled:
    records = subject.capture.records
    return _same_place(subject, records[: frame - 1] + records[frame:])


def _burst(subject: Subject, seed: int) -> Spoiled:
    rng = _rng(subject, f"burst {seed}")
    first = rng.randrange(subject.frames)
    count = rng.choice((2, 3, 5, 10, 20, 50))
    records = subject.capture.records
    return _same_place(subject, records[:first] + records[first + count :])


def _thinned(percent: float) -> Callable[[Subject, int], Spoiled]:
    def spoil(subject: Subject, seed: int) -> Spoiled:
        rng = _rng(subject, f"{percent} {seed}")
        kept = [r for r in subject.capture.records if rng.random() * 100 >= percent]
        if len(kept) == subject.frames and kept:
            kept.pop(rng.randrange(len(kept)))
        return _same_place(subject, kept)

    return spoil


def _cut(subject: Subject, length: int) -> Spoiled:
    return _same_place(subject, (replace(r, data=r.data[:length]) for r in subject.capture.records))


def _damaged(percent: float, bits: bool) -> Callable[[Subject, int], Spoiled]:
    """Bytes behind the IP header are others: so many of them, or one bit of so many frames."""

    def spoil(subject: Subject, seed: int) -> Spoiled:
        rng = _rng(subject, f"damaged {percent} {bits} {seed}")

        def drawn(first: int, stop: int) -> list[int]:
            if bits:
                return [rng.randrange(first, stop)] if rng.random() * 100 < percent else []
            return [place for place in range(first, stop) if rng.random() * 100 < percent]

        found = []
        for record in subject.capture.records:
            data = bytearray(record.data)
            first = hosts.behind_ip(subject.capture, record)
            for place in drawn(first, len(data)) if first < len(data) else ():
                data[place] ^= 1 << rng.randrange(8) if bits else rng.randrange(1, 256)
            found.append(replace(record, data=bytes(data)))
        return _same_place(subject, found)

    return spoil


def _pair(subject: Subject, pair: tuple[str, str]) -> Spoiled:
    capture = subject.capture
    return _same_place(subject, (r for r in capture.records if hosts.between(capture, r, pair)))


def _directed(subject: Subject, choice: tuple[str, str]) -> Spoiled:
    """A tap of one direction: only what came to this host, or only what it sent."""
    direction, given = choice
    kept = []
    for record in subject.capture.records:
        both = hosts.ends(subject.capture, record)
        if both is not None and (both[0] == subject.at) == (direction == "sent"):
            kept.append(record)
    spoiled = _same_place(subject, kept)
    return spoiled if given == "with --at" else replace(spoiled, at=None)


def _directions(subject: Subject) -> Sequence[tuple[str, str]]:
    if subject.at == "between":
        return ()
    return [(d, at) for d in ("sent", "received") for at in ("with --at", "without --at")]


def _one_direction(subject: Subject, pair: tuple[str, str]) -> Spoiled:
    """Asymmetric paths: a mirror that sees what goes from one host to another, and no way back."""
    capture = subject.capture
    kept = [r for r in capture.records if hosts.ends(capture, r) == pair]
    return replace(_same_place(subject, kept), at=None)


def _both_directions(subject: Subject) -> Sequence[tuple[str, str]]:
    return [both for a, b in hosts.pairs(subject.capture) for both in ((a, b), (b, a))]


def _first_fragments(subject: Subject, _: str) -> Spoiled:
    """A capture filter of ports lets no IP fragment pass but the first."""
    capture = subject.capture
    return _same_place(subject, (r for r in capture.records if not hosts.continues(capture, r)))


def _fragmented(subject: Subject) -> Sequence[str]:
    capture = subject.capture
    found = any(hosts.continues(capture, record) for record in capture.records)
    return ("by port",) if found else ()


def _filters(subject: Subject) -> Sequence[tuple[str, str]]:
    """What people give a sniffer, with and without a vantage."""
    capture, found = subject.capture, Counter[str]()
    for record in capture.records:
        both, carried = hosts.ends(capture, record), hosts.transport(capture, record)
        if both is None or carried is None:
            continue
        found["multicast" if ipaddress.ip_address(both[1]).is_multicast else "unicast"] += 1
        found.update({f"proto {carried[0]}", *(f"port {port}" for port in carried[1])})
        found.update(f"host {host}" for host in both if host != subject.at)
    few = [name for name, count in sorted(found.items()) if 5 <= count < len(capture.records)]
    few += [f"not {name}" for name in few]
    return [(name, at) for name in few for at in ("with --at", "without --at")]


def _filtered(subject: Subject, choice: tuple[str, str]) -> Spoiled:
    """A capture filter, as ``tcpdump port 7800``, ``not multicast`` or ``host 10.0.0.1``."""
    words, given = choice
    negated = words.startswith("not ")
    what, _, value = words.removeprefix("not ").partition(" ")

    def passes(record: Record) -> bool:
        both = hosts.ends(subject.capture, record) or ("", "")
        protocol, ports = hosts.transport(subject.capture, record) or (None, ())
        if what in ("multicast", "unicast"):
            group = bool(both[1]) and ipaddress.ip_address(both[1]).is_multicast
            return group == (what == "multicast")
        if what == "host":
            return value in both
        return int(value) in ports if what == "port" else protocol == int(value)

    spoiled = _same_place(subject, (r for r in subject.capture.records if passes(r) != negated))
    return spoiled if given == "with --at" else replace(spoiled, at=None)


def _holes(subject: Subject) -> Sequence[tuple[int, int]]:
    """(percent of the capture's time, which of the holes of that size): a disk that was slow."""
    return [(percent, place) for percent in (2, 10, 30) for place in range(20)]


def _joined(subject: Subject, choice: tuple[str, str]) -> Spoiled:
    """Files that one sniffer or tap wrote beside each other, joined one behind the other."""
    first, _ = choice
    capture = subject.capture

    def in_first(record: Record) -> bool:
        if first in ("sent", "received"):
            sent = (hosts.ends(capture, record) or ("",))[0] == subject.at
            return sent == (first == "sent")
        return hosts.between(capture, record, choice)

    front = [record for record in capture.records if in_first(record)]
    return _same_place(subject, [*front, *(r for r in capture.records if not in_first(r))])


def _joins(subject: Subject) -> Sequence[tuple[str, str]]:
    """Of the two directions, or of two hosts and of all others."""
    ways = [] if subject.at == "between" else [("sent", "received"), ("received", "sent")]
    return [*ways, *hosts.pairs(subject.capture)]


def _with_hole(subject: Subject, choice: tuple[int, int]) -> Spoiled:
    percent, place = choice
    records = subject.capture.records
    first, last = records[0].at_ns, records[-1].at_ns
    size = (last - first) * percent // 100
    begins = first + (last - first - size) * place // 19
    kept = (r for r in records if not begins < r.at_ns < begins + size)
    return _same_place(subject, kept)


def _without_large(subject: Subject, size: int) -> Spoiled:
    """What a buffer that is nearly full takes: small frames only."""
    return _same_place(subject, (r for r in subject.capture.records if r.size <= size))


def _without_small(subject: Subject, size: int) -> Spoiled:
    """Data without what is said of it."""
    return _same_place(subject, (r for r in subject.capture.records if r.size > size))


def _sampled(subject: Subject, choice: tuple[int, int]) -> Spoiled:
    """One frame of so many."""
    every, first = choice
    return _same_place(subject, subject.capture.records[first::every])


def _without_copies(subject: Subject, near: int) -> Spoiled:
    """``editcap -D``: frames that are as one of the last few are left out."""
    records = subject.capture.records
    kept = [
        record
        for place, record in enumerate(records)
        if all(record.data != other.data for other in records[max(0, place - near) : place])
    ]
    return _same_place(subject, kept)


def _one_way_hole(subject: Subject, choice: tuple[str, int]) -> Spoiled:
    """For two seconds, or a third of the capture, an interface shows one direction only."""
    direction, place = choice
    records = subject.capture.records
    first, last = records[0].at_ns, records[-1].at_ns
    size = min(2 * SECOND_NS, (last - first) // 3)
    begins = first + (last - first - size) * place // 19

    def kept(record: Record) -> bool:
        both = hosts.ends(subject.capture, record)
        sent = both is not None and both[0] == subject.at
        return not begins < record.at_ns < begins + size or sent != (direction == "sent")

    return _same_place(subject, filter(kept, records))


def _one_way_holes(subject: Subject) -> Sequence[tuple[str, int]]:
    if subject.at == "between":
        return ()
    return [(direction, place) for direction in ("sent", "received") for place in range(20)]


def _flow(capture: Capture, record: Record) -> tuple[object, ...]:
    """What a record is of, both ways: hosts, IP protocol and ports; fragments but the first are by
    themselves."""
    both = hosts.ends(capture, record) or ("", "")
    protocol, ports = hosts.transport(capture, record) or (-1, ())
    places = zip(both, ports or (0, 0), strict=True)
    return protocol, hosts.continues(capture, record), *sorted(places)


def _cut_off(subject: Subject, choice: tuple[str, int]) -> Spoiled:
    """Recorders that keep the begin of each flow only, or that need some packets to know one."""
    which, count = choice
    seen = Counter[tuple[object, ...]]()
    kept = []
    for record in subject.capture.records:
        flow = _flow(subject.capture, record)
        seen[flow] += 1
        if (seen[flow] <= count) == (which == "first"):
            kept.append(record)
    return _same_place(subject, kept)


def _without_queue(subject: Subject, choice: tuple[int, int]) -> Spoiled:
    """A network card deals packets to queues by where they go from and to; of one none came."""
    queues, missing = choice

    def queue(record: Record) -> int:
        both = hosts.ends(subject.capture, record)
        return zlib.crc32(repr((both, hosts.transport(subject.capture, record))).encode()) % queues

    return _same_place(subject, (r for r in subject.capture.records if queue(r) != missing))


def _on_and_off(subject: Subject, choice: tuple[int, int]) -> Spoiled:
    """Captured for so many of every so many milliseconds."""
    kept_ns, every_ns = (number * MILLISECOND_NS for number in choice)
    records = subject.capture.records
    first_ns = records[0].at_ns
    return _same_place(subject, (r for r in records if (r.at_ns - first_ns) % every_ns < kept_ns))


def _policed(subject: Subject, choice: tuple[int, int]) -> Spoiled:
    """A buffer takes so many frames in so many milliseconds: bursts have no ends."""
    most, every = choice
    taken = Counter[int]()
    kept = []
    for record in subject.capture.records:
        tick = record.at_ns // (every * MILLISECOND_NS)
        taken[tick] += 1
        if taken[tick] <= most:
            kept.append(record)
    return _same_place(subject, kept)


def _unheard(subject: Subject, host: str) -> Spoiled:
    """All that one host sent is missing, to whomever."""
    capture = subject.capture
    kept = (r for r in capture.records if (hosts.ends(capture, r) or ("",))[0] != host)
    return _same_place(subject, kept)


def _senders(subject: Subject) -> Sequence[str]:
    found = {hosts.ends(subject.capture, record) for record in subject.capture.records}
    return sorted({both[0] for both in found if both is not None})


def _torn(subject: Subject, count: int) -> Spoiled:
    """The file ends so many bytes early, in its last record."""
    return replace(_same_place(subject, subject.capture.records), torn=count)


#: Ways that are taken together, in the order in which they are: what sorts records comes before
#: a clock is set, and what is written to files last.
_TOGETHER: Final = (
    *("merged", "one-host", "unheard", "one-way", "one-way-pair", "pair", "filter", "small"),
    *("large", "head", "tail", "burst", "hole", "one-way-hole", "drop-0.1", "drop-1", "drop-5"),
    *("cut-off", "queue", "on-off", "policed"),
    *("sampled", "ports", "offloaded", "unsummed", "bytes-0.1", "bits-1", "forwarded", "twice"),
    *("deduplicated", "disorder", "swap", "tied", "jitter", "step", "drift", "slew", "coarse"),
    *("mirrored", "snap"),
    *("torn", "rotated"),
)


def _several(subject: Subject, seed: int) -> Spoiled:
    """Two or three ways, one after another, as captures of a bad day have them."""
    rng = _rng(subject, f"several {seed}")
    names = set(rng.sample(_TOGETHER, rng.choice((2, 3))))
    if names & {"snap", "unsummed", "ports"}:
        names -= {"bytes-0.1", "bits-1"}  # no checksum tells that they are damaged
    by_name = {way.name: way for way in WAYS}
    at: list[str | None] = [subject.at, subject.at, None]
    spoiled, taken = _same_place(subject, subject.capture.records), []
    for name in sorted(names, key=_TOGETHER.index):
        ((_, capture),) = spoiled.files
        if len(capture.records) < 4:
            break
        way, now = by_name[name], replace(subject, capture=capture)
        choices = way.choices(now)
        made = way.spoil(now, rng.choice(choices)) if choices else spoiled
        if choices and all(one.records for _, one in made.files):
            spoiled = made
            at.append(spoiled.at)
            taken.append(name)
    # What a way says of the vantage holds where it is another than that of the subject.
    given = next((one for one in at[3:] if one != subject.at), rng.choice(at[:3]))
    return replace(spoiled, at=given, ways=tuple(taken))


#: Ways that make copies, or others, of frames, and those that take some of them away after that.
_MADE: Final = ("twice", "forwarded", "beside", "joined", "tagged", "mirrored", "offloaded")
_TAKEN: Final = ("burst", "hole", "one-way-hole", "drop-0.1", "drop-1", "drop-5", "single", "head",
                 "tail", "snap", "small", "large", "sampled", "deduplicated", "swap", "disorder",
                 "step", "unheard", "filter", "bits-1")  # fmt: skip


def _in_turn(subject: Subject, seed: int) -> Spoiled:
    """What came more than once, or otherwise, and is then spoiled as any capture is."""
    rng = _rng(subject, f"in turn {seed}")
    by_name = {way.name: way for way in WAYS}
    spoiled, taken = _same_place(subject, subject.capture.records), []
    for name in (rng.choice(_MADE), rng.choice(_TAKEN)):
        ((_, capture),) = spoiled.files
        now = replace(subject, capture=capture)
        choices = by_name[name].choices(now)
        made = by_name[name].spoil(now, rng.choice(choices)) if choices else spoiled
        if choices and len(made.files[0][1].records) > 4:
            spoiled = made
            taken.append(name)
    return replace(spoiled, ways=tuple(taken))


# --- what is wrapped ---


def _tunnels(subject: Subject) -> Sequence[str]:
    capture = subject.capture
    ethernet = all(capture.link(record) == hosts.ETHERNET for record in capture.records)
    return tuple(hosts.TUNNELS) if ethernet and capture.records else ()


def _mirrored(subject: Subject, tunnel: str) -> Spoiled:
    """A switch or a cloud that sends copies of frames to who looks at them."""
    wrapped = (
        replace(record, data=header + record.data, size=len(header) + record.size)
        for record in subject.capture.records
        for header in (hosts.TUNNELS[tunnel](record.size),)
    )
    return _same_place(subject, wrapped)


def _narrow(subject: Subject) -> Sequence[tuple[str, int, int]]:
    """(what is too long for the path, the longest packet that is not, percent of frames lost)."""
    kinds = ("packets", *(f"in {tunnel}" for tunnel in _tunnels(subject)))
    return [(kind, size, lost) for kind in kinds for size in (1300, 576, 150) for lost in (0, 1, 5)]


def _in_fragments(subject: Subject, choice: tuple[str, int, int]) -> Spoiled:
    """A path, or what carries a tunnel, that is too narrow."""
    kind, size, lost = choice
    sent = subject.capture
    if kind != "packets":
        ((_, sent),) = _mirrored(subject, kind.removeprefix("in ")).files
    rng = _rng(subject, choice)
    found = [
        part
        for number, record in enumerate(sent.records, 1)
        for part in fragments.in_fragments(sent, record, size, number & 0xFFFF)
        if rng.random() * 100 >= lost
    ]
    return _same_place(subject, found)


def _beside(subject: Subject) -> Sequence[tuple[str, int, int]]:
    """(tunnel, the longest packet that its way takes, by how many ns its frames are later)."""
    sizes, lags = (9000, 1300, 150), (-30_000, 20_000, 15_000_000)
    return [(kind, size, lag) for kind in _tunnels(subject) for size in sizes for lag in lags]


def _with_own_mirror(subject: Subject, choice: tuple[str, int, int]) -> Spoiled:
    """A host that carries its packets through a tunnel, on all interfaces."""
    kind, size, lag = choice
    ((_, carried),) = _in_fragments(subject, (f"in {kind}", size, 0)).files
    moved = [record.moved(lag) for record in carried.records]
    return _same_place(subject, _by_time([*subject.capture.records, *moved]))


def _tags(subject: Subject) -> Sequence[int]:
    return (7,) if _tunnels(subject) and subject.at != "between" else ()


def _tagged(subject: Subject, vlan: int) -> Spoiled:
    """A trunk whose card takes the tag off what comes in, and the host puts it on what goes out."""
    capture = subject.capture
    found = (
        hosts.tagged(r, vlan) if (hosts.ends(capture, r) or ("",))[0] == subject.at else r
        for r in capture.records
    )
    return _same_place(subject, found)


#: What a translator makes of an address.
_OUTSIDE: Final = "198.51.100.9"


def _translations(subject: Subject) -> Sequence[str]:
    found = {host for pair in hosts.pairs(subject.capture) for host in pair}
    return sorted(host for host in found if "." in host)


def _translated(subject: Subject, host: str) -> Spoiled:
    """Captured where an address is translated: messages tell another than headers have."""
    at = _OUTSIDE if subject.at == host else subject.at
    capture = subject.capture
    records = [hosts.translated(capture, r, host, _OUTSIDE) for r in capture.records]
    return Spoiled(((subject.file, capture.of(records)),), at)


def _with_translated(subject: Subject, choice: tuple[str, str]) -> Spoiled:
    """The captures of both sides of a translator."""
    other, host = choice
    second = next(capture for file, _, capture in subject.others if file == other)
    records = [hosts.translated(second, r, host, _OUTSIDE) for r in second.records]
    return Spoiled(((subject.file, subject.capture), (other, second.of(records))), None)


# --- order and clock ---


def _offset(subject: Subject, by_ns: int) -> Spoiled:
    """The clock of who captured is off, from beginning to end."""
    return _same_place(subject, (record.moved(by_ns) for record in subject.capture.records))


def _coarse(subject: Subject, tick_ns: int) -> Spoiled:
    """A clock that goes on in steps: records of one step have the same time."""
    return _same_place(
        subject, (replace(r, at_ns=r.at_ns // tick_ns * tick_ns) for r in subject.capture.records)
    )


def _swapped(subject: Subject, frame: int) -> Spoiled:
    records = list(subject.capture.records)
    records[frame - 1], records[frame] = records[frame], records[frame - 1]
    return _same_place(subject, records)


def _disordered(subject: Subject, seed: int) -> Spoiled:
    """Every record is late by up to 1 ms in the file; its time is right: several queues."""
    rng = _rng(subject, f"disordered {seed}")
    late = [(r.at_ns + rng.randrange(MILLISECOND_NS), r) for r in subject.capture.records]
    return _same_place(subject, (r for _, r in sorted(late, key=lambda pair: pair[0])))


def _jittering(subject: Subject, choice: tuple[int, int]) -> Spoiled:
    """Every time is wrong by up to so many microseconds; the frames are in their order."""
    most_us, _ = choice
    rng = _rng(subject, f"jitter {choice}")
    records = subject.capture.records
    return _same_place(subject, (r.moved(rng.randrange(-most_us, most_us) * 1000) for r in records))


def _tied(subject: Subject, choice: tuple[int, str]) -> Spoiled:
    """Taps of each sender with a coarse clock, put together by time: of one tick all that one host
    sent stands together."""
    tick_ms, order = choice
    ((_, coarse),) = _coarse(subject, tick_ms * MILLISECOND_NS).files
    senders = _senders(subject) if order == "up" else _senders(subject)[::-1]

    def place(record: Record) -> tuple[int, int]:
        source = (hosts.ends(subject.capture, record) or ("",))[0]
        return record.at_ns, senders.index(source) if source in senders else -1

    return _same_place(subject, sorted(coarse.records, key=place))


def _stepped(subject: Subject, choice: tuple[int, int]) -> Spoiled:
    frame, step_ns = choice
    records = subject.capture.records
    later = [r.moved(step_ns) for r in records[frame - 1 :]]
    return _same_place(subject, [*records[: frame - 1], *later])


def _slewed(subject: Subject, choice: tuple[float, int]) -> Spoiled:
    """For a fifth of the capture the clock goes faster or slower, as one that is being set does."""
    drift, place = choice
    records = subject.capture.records
    first, last = records[0].at_ns, records[-1].at_ns
    size = (last - first) // 5
    begins = first + size * place
    moved = (r.moved(int(min(max(r.at_ns - begins, 0), size) * drift)) for r in records)
    return _same_place(subject, moved)


def _drifting(subject: Subject, drift: float) -> Spoiled:
    records = subject.capture.records
    first_ns = records[0].at_ns
    return _same_place(subject, (r.moved(int((r.at_ns - first_ns) * drift)) for r in records))


# --- what a network card does ---


def _unsummed(subject: Subject, _: str) -> Spoiled:
    """What this host sent has no right checksum yet where it is captured."""
    capture = subject.capture
    return _same_place(
        subject,
        (
            offload.unsummed(capture, r)
            if (hosts.ends(capture, r) or ("",))[0] == subject.at
            else r
            for r in capture.records
        ),
    )


def _offloaded(subject: Subject, choice: str) -> Spoiled:
    return _same_place(subject, offload.merged(subject.capture, choice == "length told"))


def _segments(subject: Subject) -> Sequence[str]:
    capture = subject.capture
    found = any((hosts.transport(capture, r) or (0,))[0] == hosts.TCP for r in capture.records)
    return ("length told", "length 0") if found else ()


# --- more than once, several vantages ---


def _by_time(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: record.at_ns)


def _twice(subject: Subject, lag_ns: int) -> Spoiled:
    records = subject.capture.records
    return _same_place(subject, _by_time([*records, *(r.moved(lag_ns) for r in records)]))


def _merged(subject: Subject, choice: tuple[str, str]) -> Spoiled:
    other, at = choice
    second = next(capture for file, _, capture in subject.others if file == other)
    tick = max(getattr(c.layout, "tick_ns", 1) for c in (subject.capture, second))
    finer = second if getattr(second.layout, "tick_ns", 1) < tick else subject.capture
    records = [replace(r, interface=0) for c in (subject.capture, second) for r in c.records]
    given = {"none": None, "here": subject.at, "between": "between"}[at]
    return Spoiled(((subject.file, finer.of(_by_time(records))),), given)


def _merges(subject: Subject) -> list[tuple[str, str]]:
    alike = [f for f, _, c in subject.others if c.layout.links == subject.capture.layout.links]
    return [(file, at) for file in alike for at in ("none", "between")]


def _with_other(subject: Subject, choice: tuple[str, int]) -> Spoiled:
    """One capture of two is thinned: what is proven by both ends needs both."""
    other, seed = choice
    second = next(capture for file, _, capture in subject.others if file == other)
    rng = _rng(subject, f"with {other} {seed}")
    kept = [r for r in subject.capture.records if rng.random() >= 0.03]
    head = rng.choice((0, 0, len(kept) // 4))
    files = ((subject.file, subject.capture.of(kept[head:])), (other, second))
    return Spoiled(files, "each")


#: Ways in which a vantage beside others is spoiled; each keeps its file and its vantage.
_BESIDE: Final = ("head", "tail", "middle", "burst", "hole", "one-way-hole", "drop-0.1", "drop-1",
                  "drop-5", "snap", "offset", "swap", "disorder", "deduplicated", "offloaded",
                  "unsummed", "filter", "large", "coarse", "drift")  # fmt: skip


def _each_spoiled(subject: Subject, seed: int) -> Spoiled:
    """Two or more vantages of a run, each as it came from its own host, in any order."""
    rng = _rng(subject, f"each spoiled {seed}")
    by_name = {way.name: way for way in WAYS}
    others = rng.sample(subject.others, rng.randint(1, len(subject.others)))
    files, taken = [], []
    for file, at, capture in [(subject.file, subject.at, subject.capture), *others]:
        now = replace(subject, file=file, at=at, capture=capture)
        name = rng.choice((*_BESIDE, ""))
        choices = by_name[name].choices(now) if name else ()
        if choices:
            ((_, spoiled),) = by_name[name].spoil(now, rng.choice(choices)).files
            if spoiled.records:
                capture = spoiled
                taken.append(name)
        files.append((file, capture))
    rng.shuffle(files)
    return Spoiled(tuple(files), rng.choice(("each", "each", None)), ways=("together", *taken))


def _with_skewed(subject: Subject, choice: tuple[str, int]) -> Spoiled:
    """Two captures of hosts whose clocks do not agree."""
    other, skew_ns = choice
    second = next(capture for file, _, capture in subject.others if file == other)
    moved = second.of([record.moved(skew_ns) for record in second.records])
    return Spoiled(((subject.file, subject.capture), (other, moved)), "each")


def _forwarded(subject: Subject, lag_ns: int) -> Spoiled:
    """``-i any`` on a host that forwards: each IPv4 packet comes in and goes out, its TTL less."""
    capture = subject.capture
    out = [hosts.forwarded(capture, record).moved(lag_ns) for record in capture.records]
    return _same_place(subject, _by_time([*capture.records, *out]))


def _with_mirror(subject: Subject, choice: tuple[str, int]) -> Spoiled:
    """One end, and a mirror port that is set to two hosts: this one and another."""
    other, seed = choice
    place, second = next((at, capture) for file, at, capture in subject.others if file == other)
    pair = (min(subject.at, place), max(subject.at, place))
    rng = _rng(subject, f"mirror {other} {seed}")
    kept = [r for r in second.records if hosts.between(second, r, pair)]
    if seed:
        kept = [r for r in kept if rng.random() >= 0.03]
    files = ((subject.file, subject.capture), (other, second.of(kept)))
    return Spoiled(files, "each", mirrors=frozenset((other,)))


def _mirrors(subject: Subject) -> list[tuple[str, int]]:
    seen = {host for pair in hosts.pairs(subject.capture) for host in pair}
    return [
        (file, seed)
        for file, at, _ in subject.others
        for seed in range(3)
        if at in seen and at != subject.at
    ]


def _one_host(subject: Subject, choice: tuple[str, str]) -> Spoiled:
    """What a mirror port shows of one host: every unicast is from it or to it, as at its own
    interface.

    ``near others``: what it sent as others got it, and what they sent before the path lost any; so
    it holds what the host never got, and lacks some of what it sent. ``before losses``: what was
    sent, both ways.
    ``and groups``: what others send to groups is in it too.
    """
    where, groups = choice
    captures = ((subject.at, subject.capture), *((at, c) for _, at, c in subject.others))
    records = []
    for at, capture in captures:
        for record in capture.records:
            both = hosts.ends(capture, record)
            if both is None:
                continue
            source, destination = both
            grouped = ipaddress.ip_address(destination).is_multicast
            if source != subject.at and destination != subject.at:
                wanted = grouped and groups == "and groups" and at == source
            elif source != subject.at or where == "before losses":
                wanted = at == source
            else:
                wanted = at == (captures[1][0] if grouped else destination)
            if wanted:
                records.append(replace(record, interface=0))
    return Spoiled(((subject.file, subject.capture.of(_by_time(records))),), None)


def _one_hosts(subject: Subject) -> Sequence[tuple[str, str]]:
    """Where others of the run were captured too, on the same kind of link."""
    if subject.at == "between" or not subject.others:
        return ()
    if any(c.layout.links != subject.capture.layout.links for _, _, c in subject.others):
        return ()
    return [(w, g) for w in ("near others", "before losses") for g in ("alone", "and groups")]


# --- rotated ---

_ORDERS: Final = ("in order", "backwards", "as a shell sorts", "shuffled")
_NAMINGS: Final = ("dumpcap -b", "tcpdump -C", "tcpdump -G", "anything")


@dataclass(frozen=True)
class Rotation:
    """How many files, what they are called, and how they are given."""

    files: int
    naming: str
    order: str
    one_capture: bool

    @property
    def tells(self) -> bool:
        """Whether names or an option tell that the files are one capture."""
        return self.one_capture or self.naming in _NAMINGS[:3]

    def __str__(self) -> str:
        flag = "with" if self.one_capture else "without"
        return f"{self.files} files of {self.naming}, {self.order}, {flag} --one-capture"


ROTATIONS: Final = tuple(
    Rotation(files, naming, order, flag)
    for files in (2, 3, 12)
    for naming in _NAMINGS
    for order in _ORDERS
    for flag in (False, True)
)


def _rotated(subject: Subject, choice: Rotation) -> Spoiled:
    rng = _rng(subject, choice)
    count = min(choice.files, subject.frames)
    cuts = sorted(rng.sample(range(1, subject.frames), count - 1)) if count > 1 else []
    files = []
    for number, (first, stop) in enumerate(pairwise([0, *cuts, subject.frames])):
        part = subject.capture.of(subject.capture.records[first:stop])
        files.append((_rotated_name(subject.file, choice.naming, number, part, rng), part))
    if choice.order == "backwards":
        files.reverse()
    elif choice.order == "as a shell sorts":
        files.sort(key=lambda pair: pair[0])
    elif choice.order == "shuffled":
        rng.shuffle(files)
    return Spoiled(tuple(files), subject.at, choice.one_capture)


def _rotated_disordered(subject: Subject, choice: Rotation) -> Spoiled:
    """As ``_disordered``, so that some records stand in the file behind their own."""
    rng = _rng(subject, f"disordered {choice}")
    late = [(r.at_ns + rng.randrange(MILLISECOND_NS), r) for r in subject.capture.records]
    records = [r for _, r in sorted(late, key=lambda pair: pair[0])]
    return _rotated(replace(subject, capture=subject.capture.of(records)), choice)


def _rotated_name(file: str, naming: str, number: int, part: Capture, rng: random.Random) -> str:
    path = PurePath(file)
    began = datetime.fromtimestamp(part.records[0].at_ns // SECOND_NS, UTC)
    if naming == "dumpcap -b":
        return f"{path.stem}_{number + 1:05}_{began:%Y%m%d%H%M%S}{path.suffix}"
    if naming == "tcpdump -C":
        return file + (str(number) if number else "")
    if naming == "tcpdump -G":
        return f"{path.stem}-{began:%Y%m%d%H%M%S}-{number:02}{path.suffix}"
    return f"{rng.choice('abcdefgh')}{rng.randrange(100)}-{number}{path.suffix}"


# --- where it was taken ---


def _whole(subject: Subject, choice: str) -> Spoiled:
    spoiled = _same_place(subject, subject.capture.records)
    if choice == "without --at":
        return replace(spoiled, at=None)
    if choice == "--at between":
        return replace(spoiled, at="between")
    return spoiled


def _elsewhere(subject: Subject) -> Sequence[str]:
    found = {host for pair in hosts.pairs(subject.capture) for host in pair}
    return sorted(found - {subject.at})


def _at_another(subject: Subject, host: str) -> Spoiled:
    return replace(_same_place(subject, subject.capture.records), at=host)


def _without_at(spoil: Callable[[Subject, Any], Spoiled]) -> Callable[[Subject, Any], Spoiled]:
    return lambda subject, choice: replace(spoil(subject, choice), at=None)


def _frames(first: int, less: int = 0) -> Callable[[Subject], Sequence[int]]:
    return lambda subject: range(first, subject.frames + 1 - less)


def _seeds(least: int = 0) -> Callable[[Subject], Sequence[int]]:
    """Seeds, for captures that have so many frames that the way can show."""
    return lambda subject: range(1000) if subject.frames >= max(least, 2) else ()


def _near(before: int, after: int) -> Callable[[Subject], Sequence[int]]:
    def near(subject: Subject) -> Sequence[int]:
        return sorted(
            frame
            for mark in subject.marks
            for frame in range(mark - before, mark + after + 1)
            if 2 <= frame < subject.frames
        )

    return near


def _steps(subject: Subject) -> Sequence[tuple[int, int]]:
    return [(frame, step) for frame in range(2, subject.frames + 1) for step in STEPS_NS]


def _steps_near(subject: Subject) -> Sequence[tuple[int, int]]:
    return [(frame, step) for frame in _near(0, 1)(subject) for step in STEPS_NS]


def _thin(name: str, percent: float, least: int) -> Way:
    return Way(name, f"{percent} % of the frames dropped", _seeds(least), _thinned(percent))


def _flipped(name: str, percent: float, bits: bool) -> Way:
    what = f"one bit in {percent:g} % of the frames" if bits else f"{percent:g} % of the bytes"
    return Way(name, f"{what} behind the IP header damaged", _seeds(), _damaged(percent, bits))


WAYS: Final[tuple[Way, ...]] = (
    Way("whole", "nothing is spoiled", lambda s: ("--at as given",), _whole),
    Way("no-at", "no vantage is given", lambda s: ("without --at", "--at between"), _whole),
    Way("head", "begins at frame N", _frames(2), _head, _near(0, 1), True),
    Way("tail", "ends at frame N", _frames(1, 1), _tail, _near(1, 0), True),
    Way("middle", "frames of a random stretch", _seeds(), _middle),
    Way("single", "frame N is missing", _frames(1), _single, _near(0, 0), True),
    Way("burst", "2 to 50 frames in a row are missing", _seeds(), _burst),
    _thin("drop-0.1", 0.1, 500),
    _thin("drop-1", 1.0, 2),
    _thin("drop-5", 5.0, 2),
    _thin("drop-30", 30.0, 2),
    Way("snap", "frames cut to N bytes", lambda s: SNAP_LENGTHS, _cut),
    _flipped("bytes-0.1", 0.1, bits=False),
    _flipped("bytes-1", 1.0, bits=False),
    _flipped("bits-1", 1.0, bits=True),
    _flipped("bits-10", 10.0, bits=True),
    Way("swap", "frames N and N+1 swapped", _frames(1, 1), _swapped, _near(1, 0), True),
    Way("disorder", "frames up to 1 ms late in the file", _seeds(), _disordered),
    Way(
        "jitter",
        "times are off by up to N us, each by another",
        lambda s: [(most, seed) for most in (10, 100, 1000, 20_000, 300_000) for seed in range(4)],
        _jittering,
    ),
    Way(
        "tied",
        "the clock ticks every N ms, frames of a tick are sorted by sender",
        lambda s: [(tick, order) for tick in (1, 4, 16) for order in ("up", "down")],
        _tied,
    ),
    Way("step", "the clock steps at frame N by so many ns", _steps, _stepped, _steps_near),
    Way("drift", "the clock drifts", lambda s: DRIFTS, _drifting),
    Way(
        "slew",
        "the clock drifts for a fifth of the time",
        lambda s: [(drift, place) for drift in (*DRIFTS, -0.3, 0.3) for place in range(5)],
        _slewed,
    ),
    Way("offset", "the clock is off by so many ns", lambda s: SKEWS_NS, _offset),
    Way("coarse", "the clock ticks every so many ns", lambda s: TICKS_NS, _coarse),
    Way("twice", "captured twice, so many ns apart", lambda s: LAGS_NS, _twice),
    Way(
        "forwarded",
        "captured twice, the second with a smaller TTL",
        lambda s: LAGS_NS[:3],
        _forwarded,
    ),
    Way("merged", "another vantage merged into it", _merges, _merged),
    Way(
        "together",
        "3 % dropped, audited together with another vantage",
        lambda s: [(file, seed) for file, _, _ in s.others for seed in range(4)],
        _with_other,
    ),
    Way("mirror", "audited together with a mirror of two hosts", _mirrors, _with_mirror),
    Way(
        "each-spoiled",
        "audited together with other vantages, each spoiled in another way",
        lambda s: range(64) if s.others else (),
        _each_spoiled,
    ),
    Way(
        "skewed",
        "audited together with another vantage whose clock is off",
        lambda s: [(file, skew) for file, _, _ in s.others for skew in SKEWS_NS],
        _with_skewed,
    ),
    Way("tagged", "what this host sent has a VLAN tag", _tags, _tagged),
    Way("translated", "an address is another in headers", _translations, _translated),
    Way(
        "with-translated",
        "audited together with another vantage where an address is another",
        lambda s: [(file, host) for file, _, _ in s.others for host in _translations(s)],
        _with_translated,
    ),
    Way("one-host", "a mirror port filtered to this host", _one_hosts, _one_host),
    Way("rotated", "in several files", lambda s: ROTATIONS if s.frames > 1 else (), _rotated),
    Way(
        "rotated-disorder",
        "in several files, frames up to 1 ms late",
        lambda s: [r for r in ROTATIONS if r.tells] if s.frames > 1 else (),
        _rotated_disordered,
    ),
    Way("one-way", "only what this host sent, or what came to it", _directions, _directed),
    Way("one-way-pair", "what one host sent to another", _both_directions, _one_direction),
    Way("ports", "without IP fragments but the first", _fragmented, _first_fragments),
    Way("filter", "only what a capture filter lets through", _filters, _filtered),
    Way("hole", "a part of the time is missing, percent and place", _holes, _with_hole),
    Way("one-way-hole", "one direction is missing for 2 s", _one_way_holes, _one_way_hole),
    Way("unheard", "all that one host sent is missing", _senders, _unheard),
    Way(
        "cut-off",
        "of each flow its first N frames, or all but those",
        lambda s: [(which, n) for which in ("first", "behind") for n in (1, 4, 10, 40, 150)],
        _cut_off,
    ),
    Way(
        "queue",
        "one of N queues by addresses and ports is missing",
        lambda s: [(n, k) for n in (2, 4, 8) for k in range(n)],
        _without_queue,
    ),
    Way(
        "on-off",
        "captured for so many of every so many ms",
        lambda s: [(10, 20), (90, 100), (100, 200), (1000, 2000), (1900, 2000), (500, 5000)],
        _on_and_off,
    ),
    Way(
        "policed",
        "at most N frames in so many ms",
        lambda s: [(1, 1), (1, 10), (4, 10), (20, 100), (50, 1000)],
        _policed,
    ),
    Way("small", "frames longer than N are missing", lambda s: (100, 200, 400), _without_large),
    Way("large", "frames up to N are missing", lambda s: (80, 100, 200, 400), _without_small),
    Way("joined", "files of directions or hosts one behind the other", _joins, _joined),
    Way("torn", "the file ends N bytes early", lambda s: (1, 7, 30, 70), _torn),
    Way(
        "unsummed",
        "checksums are left to the network card",
        lambda s: () if s.at == "between" else ("sent",),
        _unsummed,
    ),
    Way("offloaded", "TCP segments merged by the network card", _segments, _offloaded),
    Way("mirrored", "frames wrapped by a mirror", _tunnels, _mirrored),
    Way(
        "fragmented",
        "long packets, or a mirror's, in IP fragments of which some percent are missing",
        _narrow,
        _in_fragments,
    ),
    Way("beside", "captured twice, by itself and in a tunnel", _beside, _with_own_mirror),
    Way(
        "sampled",
        "one frame of so many",
        lambda s: [(n, k) for n in (2, 3, 10, 100) for k in range(n) if s.frames > 2 * n],
        _sampled,
    ),
    Way(
        "deduplicated", "frames like one of the last N left out", lambda s: (5, 50), _without_copies
    ),
    Way("several", "two or three of these together", _seeds(4), _several),
    Way("in-turn", "copied or wrapped, and then spoiled in another way", _seeds(4), _in_turn),
    Way("pair", "filtered to two hosts", lambda s: hosts.pairs(s.capture), _pair),
    Way(
        "pair-no-at",
        "filtered to two hosts, no vantage given",
        lambda s: hosts.pairs(s.capture),
        _without_at(_pair),
    ),
    Way("head-no-at", "as head, no vantage given", _frames(2), _without_at(_head), _near(0, 1)),
    Way("wrong-at", "--at of another host", _elsewhere, _at_another, only_named=True),
    Way("drop-1-no-at", "as drop-1, no vantage given", _seeds(), _without_at(_thinned(1.0))),
)


def chosen(names: Sequence[str] | None) -> tuple[Way, ...]:
    """The ways of these names; without names all but those that have to be named."""
    return tuple(way for way in WAYS if (way.name in names if names else not way.only_named))


def asked(says: str | None) -> tuple[range, int, tuple[Way, ...]]:
    """Of a command that spoils worlds: their seeds, how many choices a way, and the ways."""
    parser = argparse.ArgumentParser(description=says)
    parser.add_argument("--seeds", default="1-10", metavar="A-B")
    parser.add_argument("--sample", type=int, default=2)
    parser.add_argument("--way", action="append", metavar="NAME")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    return range(int(first), int(last or first) + 1), given.sample, chosen(given.way)
