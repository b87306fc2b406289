"""A MoldUDP64-like capture of any size with exact truth; the same bytes for the same arguments.

A model sends packets of many numbered streams (Zipf rates, bursts of one stream, heartbeats), the
network loses, delays and repeats some, a re-request server repairs some, and what arrives is
written as a pcap in blocks of ``BLOCK`` sent packets, so that memory does not grow with the size.
What happened to each packet is known because it was decided here; ``Truth`` keeps it per stream.

What is true of a stream is what its capture can show: numbers after the last packet or heartbeat
that arrived are nobody's loss. The first packet of a session always arrives first.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

BLOCK: Final = 1 << 20
WRITE_ROWS: Final = 1 << 16
MAX_LISTED: Final = 1_000  # gaps of a stream that a report lists

GROUPS: Final = 0xE936_0000  # 233.54.0.0
PORT: Final = 26_400
PORTS_A_GROUP: Final = 16  # streams that share a group, told apart by their port
SERVER: Final = 0x0A01_0001  # 10.1.0.1, answers re-requests at SERVER_PORT
SERVER_PORT: Final = 26_500
CLIENT: Final = 0x0A01_00FE
CLIENT_PORT: Final = 40_000
SENDERS: Final = 0x0A01_0010  # the first of eight hosts that publish
START_NS: Final = 1_790_000_000_000_000_000

MOST_MESSAGES: Final = 5  # of a packet
MESSAGE_BYTES: Final = 20  # two of them are its length
END: Final = 0xFFFF  # message count of an end of session

# Kinds of a row.
DATA, HEARTBEAT, END_OF_SESSION, REQUEST, REPAIR = range(5)
# What a DATA row is.
ORIGINAL, NETWORK_DUPLICATE, COPY = range(3)

#: A pcap record: its header, Ethernet, IPv4, UDP, MoldUDP64 and its messages.
RECORD: Final = np.dtype(
    [
        ("second", "<u4"), ("fraction", "<u4"), ("captured", "<u4"), ("original", "<u4"),
        ("to", "V6"), ("from", "V6"), ("ethertype", ">u2"),
        ("version", "u1"), ("tos", "u1"), ("total", ">u2"), ("ip_id", ">u2"), ("fragment", ">u2"),
        ("ttl", "u1"), ("protocol", "u1"), ("ip_sum", "<u2"), ("source", ">u4"),
        ("destination", ">u4"),
        ("source_port", ">u2"), ("port", ">u2"), ("length", ">u2"), ("sum", "<u2"),
        ("session", "S10"), ("seqno", ">u8"), ("count", ">u2"),
        ("messages", ">u2", (MOST_MESSAGES, MESSAGE_BYTES // 2)),
    ]
)  # fmt: skip
RECORD_HEADER_BYTES: Final = 16
IP_WORD: Final = 15  # where headers begin, in 16-bit words of a record
UDP_WORD: Final = 25
HEADER_BYTES: Final = 14 + 20 + 8 + 20


@dataclass(frozen=True, slots=True)
class Shape:
    """What is generated. Rates are per sent packet; ``faults`` off sets all of them to 0."""

    packets: int  # sent; lost ones are not in the file, repeats and repairs are beside them
    streams: int = 64
    seed: int = 1
    nanoseconds: bool = False
    faults: bool = True
    loss: float = 0.001  # of data packets and heartbeats, in bursts
    burst: float = 3.0  # mean length of a burst of losses
    late: float = 0.0005
    duplicates: float = 0.0005  # made by the network: the same bytes
    copies: float = 0.0002  # sent twice: another IP id
    repairs: float = 0.3  # share of lost packets that are asked for again and come
    blackouts: int = 6  # one stream hears nothing for a while
    resets: int = 6  # one stream goes on in a new session from 1
    heartbeats: float = 0.05
    end: bool = True  # the capture ends with the ends of all sessions
    mean_gap_ns: int = 5_000  # between packets
    alike: bool = False  # all messages say the same, so that the capture packs well

    def rate(self, value: float) -> float:
        return value if self.faults else 0.0

    @property
    def blocks(self) -> int:
        return max(1, -(-self.packets // BLOCK))


@dataclass(slots=True)
class Arrivals:
    """Packets of a block in the order of their arrival; columns of one length.

    ``session`` is an index of ``Truth.sessions``; ``first`` and ``stop`` are equal where the packet
    carries no numbers: a heartbeat or an end of session says that ``first`` is next.
    """

    at_ns: Ints
    session: Ints
    kind: Ints
    made: Ints  # ORIGINAL, NETWORK_DUPLICATE, COPY
    first: Ints
    stop: Ints
    ip_id: Ints

    def __len__(self) -> int:
        return len(self.session)


class Truth:
    """What was decided, per session; grows by one block after the other."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.stream: list[int] = list(range(shape.streams))  # of each session
        self._sums = {name: np.zeros(shape.streams, np.int64) for name in SUMS}
        self._high = np.zeros(shape.streams, np.int64)
        self._lost: list[tuple[Ints, Ints, Ints]] = []
        self._gaps = np.zeros(shape.streams, np.int64)
        self.listed: dict[int, list[str]] = {}  # session: its first gaps, as ``gap_digest`` says
        self.rows = 0
        self.bytes = 0

    @property
    def sessions(self) -> int:
        return len(self.stream)

    def open_session(self, stream: int) -> int:
        """The number of a further session of a stream."""
        self.stream.append(stream)
        for name, sums in self._sums.items():
            self._sums[name] = np.append(sums, 0)
        self._high = np.append(self._high, 0)
        self._gaps = np.append(self._gaps, 0)
        return self.sessions - 1

    def add_lost(self, session: Ints, first: Ints, stop: Ints) -> None:
        """Packets that never arrive."""
        self._lost.append((session, first, stop))

    def add(self, rows: Arrivals) -> None:
        numbers = rows.stop - rows.first
        data = rows.kind == DATA
        original = data & (rows.made == ORIGINAL)
        repair = rows.kind == REPAIR
        self._sum("packets", rows.session, data)
        self._sum("messages", rows.session, data | repair, numbers)
        self._sum("distinct", rows.session, original | repair, numbers)
        self._sum("duplicates", rows.session, data & (rows.made == NETWORK_DUPLICATE), numbers)
        self._sum("copies", rows.session, data & (rows.made != ORIGINAL), numbers)
        self._sum("late", rows.session, original & self._overtaken(rows), numbers)
        self._sum("repaired", rows.session, repair, numbers)
        self._sum("requests", rows.session, rows.kind == REQUEST)
        self._sum("heartbeats", rows.session, rows.kind == HEARTBEAT)
        self._sum("ends", rows.session, rows.kind == END_OF_SESSION)
        self.rows += len(rows)

    def _sum(self, name: str, session: Ints, which: Bools, weights: Ints | None = None) -> None:
        picked = session[which]
        if weights is None:
            self._sums[name] += np.bincount(picked, minlength=self.sessions)
        else:  # float64 sums of whole numbers below 2^53: exact
            sums = np.bincount(picked, weights=weights[which], minlength=self.sessions)
            self._sums[name] += sums.astype(np.int64)

    def _overtaken(self, rows: Arrivals) -> Bools:
        """Whether a higher number, or a heartbeat behind it, arrived before; keeps the highest."""
        tells = np.flatnonzero(rows.kind <= END_OF_SESSION)
        order = tells[np.argsort(rows.session[tells], kind="stable")]
        session, stop = rows.session[order], rows.stop[order]
        begins = np.flatnonzero(np.diff(session, prepend=-1))
        lift = session << 40  # so that one accumulation serves all sessions
        highest = np.maximum.accumulate(np.maximum(stop, self._high[session]) | lift) - lift
        before = np.empty_like(highest)
        before[1:] = highest[:-1]
        before[begins] = self._high[session[begins]]
        ends = np.append(begins[1:], len(order)) - 1
        self._high[session[ends]] = highest[ends]
        overtaken = np.zeros(len(rows), np.bool_)
        overtaken[order] = rows.first[order] < before
        skips = np.flatnonzero((rows.first[order] > before) & (before > 0))
        shows = order[skips]
        self._add_gaps(session[skips], before[skips], rows.first[shows], self.rows + shows + 1)
        return overtaken

    def _add_gaps(self, session: Ints, first: Ints, stop: Ints, frame: Ints) -> None:
        """[first, stop) of a session was found missing in a frame; in order by session."""
        self._gaps += np.bincount(session, minlength=self.sessions)
        begins = np.flatnonzero(np.diff(session, prepend=-1)).tolist()
        for begin, end in pairwise([*begins, len(session)]):
            listed = self.listed.setdefault(int(session[begin]), [])
            rest = slice(begin, min(end, begin + MAX_LISTED - len(listed)))
            columns = (column[rest].tolist() for column in (first, stop, frame))
            listed += [f"{a}-{b}@{at}" for a, b, at in zip(*columns, strict=True)]

    def streams(self) -> list[dict[str, Any]]:
        """Per session that arrived, in order of stream and session."""
        lost = self.lost_ranges()
        found = []
        numbers: dict[int, int] = {}
        for session, stream in enumerate(self.stream):
            number = numbers[stream] = numbers.get(stream, 0) + 1
            if not self._sums["packets"][session]:
                continue
            ranges = lost.get(session, np.empty((0, 2), np.int64))
            address, port = end_of(stream)
            found.append(
                {
                    "group": address_text(address),
                    "port": port,
                    "session": session_name(session),
                    "sessions_before": number - 1,
                    "first": 1,
                    "last": int(self._high[session]) - 1,
                    **{name: int(sums[session]) for name, sums in self._sums.items()},
                    "lost": int((ranges[:, 1] - ranges[:, 0]).sum()),
                    "lost_ranges": len(ranges),
                    "lost_digest": digest(ranges),
                    "gaps": int(self._gaps[session]),
                    "gaps_digest": gaps_digest(self.listed.get(session, [])),
                }
            )
        return sorted(found, key=lambda row: (row["group"], row["port"], row["session"]))

    def write(self, path: Path) -> None:
        document = {
            "shape": asdict(self.shape),
            "packets": self.rows,
            "bytes": self.bytes,
            "streams": self.streams(),
        }
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    def lost_ranges(self) -> dict[int, Ints]:
        """Per session the (ranges, 2) that never arrived and that a later number shows."""
        session, first, stop = (
            np.concatenate([block[part] for block in self._lost] or [np.empty(0, np.int64)])
            for part in range(3)
        )
        shown = first < self._high[session]
        order = np.lexsort((first[shown], session[shown]))
        session, first, stop = (column[shown][order] for column in (session, first, stop))
        if not len(first):
            return {}
        fresh = np.ones(len(first), np.bool_)
        fresh[1:] = (session[1:] != session[:-1]) | (first[1:] != stop[:-1])
        begins = np.flatnonzero(fresh)
        ends = np.append(begins[1:], len(first)) - 1
        ranges = np.stack([first[begins], stop[ends]], axis=1)
        owner = session[begins]
        cuts = np.flatnonzero(np.diff(owner)) + 1
        owners = owner[np.append(0, cuts)].tolist()
        return dict(zip(owners, np.split(ranges, cuts), strict=True))


SUMS: Final = (
    "packets", "messages", "distinct", "duplicates", "copies", "late", "repaired", "requests",
    "heartbeats", "ends",
)  # fmt: skip


def digest(ranges: Any) -> str:
    """Of half-open ranges in ascending order, none touching the next."""
    text = ",".join(f"{first}-{stop}" for first, stop in np.asarray(ranges).tolist())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def gaps_digest(gaps: Iterable[str]) -> str:
    """Of the first ``MAX_LISTED`` gaps of a session as FIRST-STOP@FRAME, in order: what was missing
    when a frame showed it, whatever came of it."""
    return hashlib.sha256(",".join(gaps).encode()).hexdigest()[:16]


def address_text(address: int) -> str:
    return ".".join(str(address >> shift & 0xFF) for shift in (24, 16, 8, 0))


def end_of(stream: int) -> tuple[int, int]:
    """Group and port of a stream."""
    return GROUPS + stream // PORTS_A_GROUP, PORT + stream % PORTS_A_GROUP


def session_name(session: int) -> str:
    return f"S{session:09d}"


def feed_yaml(shape: Shape) -> str:
    """The feed file that describes what is generated."""
    last = PORT + min(shape.streams, PORTS_A_GROUP) - 1
    return f"""\
feed: bench
about: what tests.bench.generate writes, MoldUDP64 with a re-request server
match:
  - destination: 233.54.0.0/16
    port: {PORT}-{last}
  - port: {SERVER_PORT}
  - source: {address_text(SERVER)}
byte_order: big
fields:
  session: {{offset: 0, width: 10, type: text}}
  seqno: {{offset: 10, width: 8}}
  count: {{offset: 18, width: 2}}
stream: [destination, port, session]
seqno: seqno
count: count
messages:
  - {{name: REQUEST, match: [{{port: {SERVER_PORT}}}], is: request}}
  - {{name: HEARTBEAT, when: {{count: 0}}, is: heartbeat, says: next}}
  - {{name: END_OF_SESSION, when: {{count: 0xffff}}, is: end, says: next}}
  - {{name: REPAIR, match: [{{source: {address_text(SERVER)}}}], is: repair}}
"""


def generate(shape: Shape, capture: Path, truth_path: Path | None = None) -> Truth:
    """Write the capture, and its truth beside it unless told where."""
    truth = Truth(shape)
    model = _Model(shape, truth)
    with capture.open("wb") as out:
        magic = 0xA1B23C4D if shape.nanoseconds else 0xA1B2C3D4
        header = np.array([magic, 2 | 4 << 16, 0, 0, 65535, 1], "<u4").tobytes()
        out.write(header)
        truth.bytes = len(header)
        for block in range(shape.blocks):
            rows = model.block(block)
            truth.add(rows)
            for low in range(0, len(rows), WRITE_ROWS):
                truth.bytes += _write(out, shape, truth, rows, slice(low, low + WRITE_ROWS))
    truth.write(truth_path or capture.with_suffix(".truth.json"))
    return truth


@dataclass(slots=True)
class _Sent:
    """Packets in the order in which they were sent; columns of one length."""

    stream: Ints
    session: Ints
    beats: Bools  # heartbeats
    opening: Bools  # the first of a session
    first: Ints
    stop: Ints
    ip_id: Ints
    order: Ints  # rows by stream, each stream in its order

    def part(
        self, rows: Ints, place: Floats, kinds: Ints, made: int, other_id: int
    ) -> tuple[Floats, Ints]:
        """Some of them: their places of arrival, and the columns of ``Arrivals`` but the time."""
        ids = (self.ip_id[rows] + other_id - 1) % 65_535 + 1
        columns = (
            self.session[rows], kinds, np.full(len(rows), made), self.first[rows],
            self.stop[rows], ids,
        )  # fmt: skip
        return place, np.stack(columns)


class _Model:
    """Senders, network and re-request server, block by block."""

    def __init__(self, shape: Shape, truth: Truth) -> None:
        self._shape = shape
        self._truth = truth
        weights = 1.0 / np.arange(1, shape.streams + 1)
        self._chances = np.cumsum(weights) / weights.sum()
        self._session = np.arange(shape.streams)  # of each stream, now
        self._next = np.ones(shape.streams, np.int64)
        self._fresh = np.ones(shape.streams, np.bool_)  # nothing of the session was sent yet
        self._ids = 0
        self._now = START_NS
        blocks = np.random.default_rng([shape.seed, 1 << 40]).integers
        faults = shape.blackouts + shape.resets if shape.faults else 0
        chosen = blocks(0, shape.blocks, faults)
        streams = blocks(0, max(1, min(shape.streams, 8)), faults)  # those that are heard often
        pairs = list(zip(chosen.tolist(), streams.tolist(), strict=True))
        self._blackouts = pairs[: shape.blackouts]
        self._resets = set(pairs[shape.blackouts :])

    def block(self, number: int) -> Arrivals:
        """What arrives of the next packets."""
        shape = self._shape
        random = np.random.default_rng([shape.seed, number])
        sent = self._sent(random, min(BLOCK, shape.packets - number * BLOCK))
        count = len(sent.stream)
        dark = self._dark(number, sent)
        lost = self._lost(random, sent) | dark
        lost_data = lost & ~sent.beats
        place = np.arange(count, dtype=np.float64)  # of arrival, among the sent
        late = ~lost & ~sent.beats & ~sent.opening
        late &= random.random(count) < shape.rate(shape.late)
        place[late] += random.integers(2, 200, int(late.sum())) + 0.5

        arrived = np.flatnonzero(~lost)
        kinds = np.where(sent.beats, HEARTBEAT, DATA)
        parts = [sent.part(arrived, place[arrived], kinds[arrived], ORIGINAL, 0)]
        for made, rate, far in (
            (NETWORK_DUPLICATE, shape.duplicates, 50),
            (COPY, shape.copies, 500),
        ):
            chosen = random.random(count) < shape.rate(rate)
            again = np.flatnonzero(chosen & ~lost & ~sent.beats)
            later = place[again] + random.integers(1, far, len(again)) + 0.25
            other_id = 0 if made == NETWORK_DUPLICATE else 32_000
            parts.append(sent.part(again, later, kinds[again], made, other_id))
        repaired, asked, answered = self._repairs(random, sent, lost, late, dark)
        for kind, when in ((REQUEST, asked), (REPAIR, answered)):
            kinds = np.full(len(repaired), kind)
            parts.append(sent.part(repaired, when, kinds, ORIGINAL, kind * 7_000))
        lost_data[repaired] = False
        gone = np.flatnonzero(lost_data)
        self._truth.add_lost(sent.session[gone], sent.first[gone], sent.stop[gone])
        parts.append(self._ends(number, float(count + 1000)))
        arrival = np.argsort(np.concatenate([when for when, _ in parts]), kind="stable")
        columns = np.concatenate([columns for _, columns in parts], axis=1)[:, arrival]
        return Arrivals(self._times(random, len(arrival)), *columns)

    def _sent(self, random: np.random.Generator, count: int) -> "_Sent":
        """The next packets, each with the numbers that follow those its stream sent before."""
        stream = self._streams(random, count)
        beats = random.random(count) < self._shape.heartbeats
        numbers = np.where(beats, 0, random.integers(1, MOST_MESSAGES + 1, count))
        order = np.argsort(stream, kind="stable")
        by_stream = stream[order]
        begins = np.flatnonzero(np.diff(by_stream, prepend=-1))
        ends = np.append(begins[1:], count) - 1
        opening = np.zeros(count, np.bool_)
        opening[order[begins[self._fresh[by_stream[begins]]]]] = True
        self._fresh[by_stream[begins]] = False
        numbers[opening] = np.maximum(numbers[opening], 1)  # a session begins with data
        ordered = numbers[order]
        sums = np.cumsum(ordered)
        base = self._next[by_stream[begins]] - (sums - ordered)[begins]
        first = np.empty(count, np.int64)
        first[order] = sums - ordered + np.repeat(base, ends - begins + 1)
        stop = first + numbers
        self._next[by_stream[ends]] = stop[order[ends]]
        ids = (self._ids + np.arange(count)) % 65_535 + 1
        self._ids += count
        return _Sent(
            stream, self._session[stream], beats & ~opening, opening, first, stop, ids, order
        )

    def _streams(self, random: np.random.Generator, count: int) -> Ints:
        """Who sends each packet: half of the bursts are single packets, others up to eight."""
        bursts = count // 2 + 8
        who = np.searchsorted(self._chances, random.random(bursts))
        length = np.where(random.random(bursts) < 0.5, 1, random.integers(1, 9, bursts))
        stream = np.repeat(who, length)[:count]
        assert len(stream) == count, "bursts are 2.75 packets long on average"
        return stream

    def _lost(self, random: np.random.Generator, sent: _Sent) -> Bools:
        """Bursts of losses, each of consecutive packets of one stream."""
        shape = self._shape
        count = len(sent.stream)
        rate = shape.rate(shape.loss)
        lost = np.zeros(count, np.bool_)
        if rate > 0.0:
            # a packet stays where none of the bursts that could cover it begins
            chance = 1.0 - (1.0 - rate) ** (1.0 / shape.burst)
            begins = np.flatnonzero(random.random(count) < chance)
            ends = np.minimum(begins + random.geometric(1.0 / shape.burst, len(begins)), count)
            edges = np.bincount(begins, minlength=count + 1)
            edges -= np.bincount(ends, minlength=count + 1)
            lost[sent.order] = np.cumsum(edges)[:count] > 0
        return lost & ~sent.opening

    def _dark(self, number: int, sent: _Sent) -> Bools:
        """A stream hears nothing in the third quarter of a block."""
        count = len(sent.stream)
        low, high = count // 2, count * 3 // 4
        dark = np.zeros(count, np.bool_)
        for block, whose in self._blackouts:
            if block == number:
                dark[low:high] |= sent.stream[low:high] == whose
        return dark & ~sent.opening

    def _repairs(
        self, random: np.random.Generator, sent: _Sent, lost: Bools, late: Bools, dark: Bools
    ) -> tuple[Ints, Floats, Floats]:
        """Lost data packets that are repaired; when they are asked for and when they come.

        Only what shows within the block is asked for, after a later packet of the stream, and
        nothing of a blackout.
        """
        count = len(sent.stream)
        hidden = lost | late
        # streams lie end to end; the place of the nearest packet from here on that shows
        place = np.where(hidden[sent.order], count - 1, np.arange(count))
        shown = np.empty(count, np.int64)
        shown[sent.order] = sent.order[np.minimum.accumulate(place[::-1])[::-1]]
        shows = (sent.stream[shown] == sent.stream) & ~hidden[shown]
        chosen = random.random(count) < self._shape.rate(self._shape.repairs)
        repaired = np.flatnonzero(lost & ~sent.beats & ~dark & chosen & shows)
        asked = shown[repaired] + random.integers(20, 400, len(repaired)) + 0.125
        answered = asked + random.integers(50, 800, len(repaired))
        fits = answered < count
        return repaired[fits], asked[fits].astype(np.float64), answered[fits].astype(np.float64)

    def _ends(self, number: int, place: float) -> tuple[Floats, Ints]:
        """Ends of sessions behind the last packet of a block, three of each; new sessions begin."""
        shape = self._shape
        last = number == shape.blocks - 1
        ending = [whose for block, whose in sorted(self._resets) if block == number and not last]
        if last and shape.end:
            ending = list(range(shape.streams))
        streams = np.array([whose for whose in ending if not self._fresh[whose]], np.int64)
        told = np.tile(streams, 3)
        following = self._next[told]
        ids = (self._ids + np.arange(len(told))) % 65_535 + 1
        self._ids += len(told)
        columns = np.stack(
            [
                self._session[told],
                np.full(len(told), END_OF_SESSION),
                np.full(len(told), ORIGINAL),
                following,
                following,
                ids,
            ]
        )
        if not last:
            for whose in streams.tolist():
                self._session[whose] = self._truth.open_session(whose)
                self._next[whose] = 1
                self._fresh[whose] = True
        return np.full(len(told), place), columns

    def _times(self, random: np.random.Generator, count: int) -> Ints:
        """Arrival times: nine of ten packets follow closely, the tenth after a pause."""
        mean = self._shape.mean_gap_ns
        pause = random.random(count) < 0.1
        gaps = np.where(
            pause, random.exponential(5.5 * mean, count), random.exponential(0.5 * mean, count)
        )
        at_ns = self._now + np.cumsum(gaps.astype(np.int64))
        self._now = int(at_ns[-1]) if count else self._now
        return at_ns


def _write(out: IO[bytes], shape: Shape, truth: Truth, rows: Arrivals, part: slice) -> int:
    """Write some rows as pcap records; returns the bytes."""
    session, kind = rows.session[part], rows.kind[part]
    first, stop = rows.first[part], rows.stop[part]
    at_ns = rows.at_ns[part]
    count = len(session)
    records = np.zeros(count, RECORD)
    stream = np.asarray(truth.stream)[session]
    carried = np.where((kind == DATA) | (kind == REPAIR), stop - first, 0)
    size = HEADER_BYTES + carried * MESSAGE_BYTES
    records["second"] = at_ns // 1_000_000_000
    records["fraction"] = at_ns % 1_000_000_000 // (1 if shape.nanoseconds else 1_000)
    records["captured"] = records["original"] = size
    records["to"] = np.void(bytes.fromhex("01005e360000"))
    records["from"] = np.void(bytes.fromhex("020000000001"))
    records["ethertype"] = 0x0800
    records["version"] = 0x45
    records["total"] = size - 14
    records["ip_id"] = rows.ip_id[part]
    records["ttl"] = 16
    records["protocol"] = 17
    asking, repairing = kind == REQUEST, kind == REPAIR
    records["source"] = np.where(asking, CLIENT, np.where(repairing, SERVER, SENDERS + stream % 8))
    records["destination"] = np.where(
        asking, SERVER, np.where(repairing, CLIENT, GROUPS + stream // PORTS_A_GROUP)
    )
    port = PORT + stream % PORTS_A_GROUP
    records["source_port"] = np.where(asking, CLIENT_PORT, np.where(repairing, SERVER_PORT, port))
    records["port"] = np.where(asking, SERVER_PORT, np.where(repairing, CLIENT_PORT, port))
    records["length"] = size - 34
    records["session"] = _session_names(session)
    records["seqno"] = first
    records["count"] = np.where(
        kind == END_OF_SESSION, END, np.where(asking, stop - first, carried)
    )
    messages = records["messages"]
    messages[:, :, 0] = MESSAGE_BYTES - 2
    numbers = (first[:, None] + np.arange(MOST_MESSAGES)).astype(np.uint16)
    numbers *= not shape.alike
    for word in range(1, MESSAGE_BYTES // 2):
        messages[:, :, word] = numbers * np.uint16(40_503 + 2 * word) + np.uint16(word)
    words = records.view("<u2").reshape(count, RECORD.itemsize // 2)
    held = np.arange(RECORD.itemsize // 2) < (RECORD_HEADER_BYTES + size[:, None]) // 2
    words[~held] = 0  # so that the sums below see what is written
    records["ip_sum"] = checksum(words[:, IP_WORD:UDP_WORD].sum(axis=1, dtype=np.int64))
    pseudo = words[:, UDP_WORD - 4 : UDP_WORD].sum(axis=1, dtype=np.int64)
    pseudo += _swapped(size - 34) + _swapped(np.int64(17))
    records["sum"] = checksum(words[:, UDP_WORD:].sum(axis=1, dtype=np.int64) + pseudo)
    out.write(words[held].tobytes())
    return int((size + RECORD_HEADER_BYTES).sum())


def checksum(sums: Ints) -> npt.NDArray[np.uint16]:
    """Ones' complement of sums of 16-bit words; in whichever byte order they were summed."""
    for _ in range(3):
        sums = (sums & 0xFFFF) + (sums >> 16)
    return (0xFFFF - sums).astype(np.uint16)


def _swapped(value: Any) -> Any:
    return (value & 0xFF) << 8 | value >> 8


def _session_names(session: Ints) -> Any:
    """``session_name`` of each, as bytes."""
    digits = np.empty((len(session), 10), np.uint8)
    digits[:, 0] = ord("S")
    left = session
    for place in range(9, 0, -1):
        digits[:, place] = left % 10 + ord("0")
        left = left // 10
    return digits.view("S10").reshape(-1)
