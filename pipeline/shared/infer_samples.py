"""The beginning of what nobody recognises, destination by destination, for ``seqaudit infer``.

Captures are read from their start until enough is held, one by one: in this process, or each in a
task of Spark's. What a decoder claims is left out, unless it claims so little of a destination that
it must be mistaken; IP fragments and TCP are not looked at.
"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final

import numpy as np

from seqaudit.decoders.capture.pieces import TO_THE_END, Piece
from seqaudit.decoders.capture.reader import STDIN, Reader
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.infer.layout import HEAD_BYTES, Answer, Sample
from seqaudit.decoders.infer.lines import Twin, twins
from seqaudit.decoders.infer.number import Bytes
from seqaudit.decoders.infer.search import infer
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome, PacketReader
from seqaudit.decoders.stages.first import wants_compiled
from seqaudit.decoders.stages.registry import DecodeSettings, Dispatcher
from seqaudit.pipeline.shared.plan import CaptureInput, File, Shares, StandardInput, plan
from seqaudit.pipeline.shared.progress import Progress

#: Datagrams of one destination that are examined.
SAMPLE_DATAGRAMS: Final = 10_000
#: Datagrams held over all destinations of a capture: 128 MB of first bytes.
HELD_DATAGRAMS: Final = 1_000_000
#: Frames of a capture that are read at most.
READ_FRAMES: Final = 5_000_000
#: Of other destinations only the datagrams are counted.
DESTINATIONS: Final = 20_000
#: A decoder that claims no more than this of a destination's datagrams took them for its own by
#: chance: systems without a magic number are told by how well a datagram adds up.
CHANCE_SHARE: Final = 0.02
#: Replies that a sample is compared with.
REPLIES: Final = 1_000

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Reading:
    """How much of a capture was looked at."""

    path: str
    frames: int
    whole: bool  # up to its end
    recognised: int  # datagrams that a decoder claimed
    unrecognised: int


@dataclass(frozen=True, slots=True)
class Inferred:
    """What was found out about one destination.

    Attributes:
        datagrams: unrecognised ones that were read.
        twin: where the same is carried, if this is line A of two; null: none is, or it is line B.
    """

    path: str
    destination: str
    port: int
    datagrams: int
    sources: int
    answer: Answer
    twin: "TwinPlace | None" = None


@dataclass(frozen=True, slots=True)
class TwinPlace:
    """Line B of a pair, and the evidence."""

    destination: str
    port: int
    evidence: Twin


@dataclass(slots=True)
class _DestinationDatagrams:
    """A destination's datagrams so far."""

    free: int = 0  # unclaimed
    claimed: int = 0
    held: int = 0
    heads: list[Bytes] = field(default_factory=list)
    columns: list[Int64s] = field(default_factory=list)  # (5, n): see COLUMNS

    @property
    def by_chance(self) -> bool:
        """Whether the claims are mistaken."""
        return self.claimed <= CHANCE_SHARE * (self.free + self.claimed)

    @property
    def total(self) -> int:
        """Datagrams that count as unrecognised."""
        return self.free + (self.claimed if self.by_chance else 0)


#: Rows of ``_DestinationDatagrams.columns``.
LENGTH, AT_NS, SOURCE, SOURCE_PORT, CLAIMED = range(5)


@dataclass(slots=True)
class Sampler:
    """Gathers samples of one capture's destinations."""

    limit: int
    places: dict[Place, _DestinationDatagrams] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    held: int = 0
    recognised: int = 0
    unrecognised: int = 0

    @property
    def full(self) -> bool:
        return self.held >= HELD_DATAGRAMS

    def add(self, datagrams: Datagrams) -> None:
        """Take in datagrams after the decoders have seen them."""
        rows = np.flatnonzero((datagrams.barrier == 0) & (datagrams.frame > 0))
        if not len(rows):
            return
        free = int(np.count_nonzero(datagrams.outcome[rows] == FrameOutcome.NOT_CLAIMED))
        self.unrecognised += free
        self.recognised += len(rows) - free
        key = datagrams.destination[rows] << 16 | datagrams.destination_port[rows]
        order = np.argsort(key, kind="stable")
        rows, key = rows[order], key[order]
        borders = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1], [True])))
        for first, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            self._add_place(datagrams, rows[first:stop])

    def _add_place(self, datagrams: Datagrams, rows: Int64s) -> None:
        place = (
            datagrams.hosts[datagrams.destination[rows[0]]],
            int(datagrams.destination_port[rows[0]]),
        )
        held = self.places.get(place)
        if held is None:
            if len(self.places) >= DESTINATIONS:
                return
            held = self.places[place] = _DestinationDatagrams()
        claimed = datagrams.outcome[rows] != FrameOutcome.NOT_CLAIMED
        held.claimed += int(np.count_nonzero(claimed))
        held.free += len(rows) - int(np.count_nonzero(claimed))
        if not held.by_chance:
            rows = rows[~claimed]
        rows = rows[: self.limit - held.held]
        if not len(rows):
            return
        held.held += len(rows)
        self.held += len(rows)
        start, stop = datagrams.start[rows], datagrams.stop[rows]
        data = np.frombuffer(datagrams.data, np.uint8)
        at = start[:, None] + np.arange(HEAD_BYTES)
        inside = at < stop[:, None]
        heads = np.where(inside, data[np.minimum(at, len(data) - 1)], np.uint8(0))
        numbers = {
            host: self.sources.setdefault(datagrams.hosts[host], len(self.sources))
            for host in np.unique(datagrams.source[rows]).tolist()
        }
        source = np.array([numbers[host] for host in datagrams.source[rows].tolist()], np.int64)
        held.heads.append(heads)
        port = datagrams.source_port[rows]
        claims = (datagrams.outcome[rows] != FrameOutcome.NOT_CLAIMED).astype(np.int64)
        held.columns.append(np.stack([stop - start, datagrams.at_ns[rows], source, port, claims]))

    def samples(self) -> Iterator[tuple[Place, int, Sample]]:
        """Destinations with their datagrams, those with most first."""
        free = [item for item in self.places.items() if item[1].free]
        for place, held in sorted(free, key=lambda item: (-item[1].total, item[0])):
            columns, heads = np.concatenate(held.columns, axis=1), np.concatenate(held.heads)
            if not held.by_chance:
                unclaimed = columns[CLAIMED] == 0
                columns, heads = columns[:, unclaimed], heads[unclaimed]
            length, at_ns, source, port = columns[:CLAIMED]
            yield place, held.total, Sample(heads, length, at_ns, source, port)

    def replies(self, place: Place, sample: Sample) -> Bytes | None:
        """First bytes of datagrams that went from ``place`` to the sample's sources."""
        names = list(self.sources)
        mine = self.sources.get(place[0])
        if mine is None:
            return None
        found: list[Bytes] = []
        ends = np.unique(sample.source << 16 | sample.source_port)[:REPLIES].tolist()
        for end in ends:
            back = self.places.get((names[end >> 16], end & 0xFFFF))
            if back is None or not back.heads:
                continue
            for heads, columns in zip(back.heads, back.columns, strict=True):
                found.append(
                    heads[(columns[SOURCE] == mine) & (columns[SOURCE_PORT] == place[1])][:REPLIES]
                )
        return np.concatenate(found)[:REPLIES] if found else None


@dataclass(frozen=True, slots=True)
class Look:
    """What came of one capture; ``reading`` is null if it cannot be read: ``problem`` says why."""

    reading: Reading | None
    findings: tuple[Inferred, ...] = ()
    problem: tuple[str, str] = ("", "")  # (path, one line)


#: Looks at pieces, each with the name that a user gave its file, in their order.
Looking = Callable[[Sequence[tuple[Piece, str]], DecodeSettings, Progress], Iterable[Look]]


def look(
    inputs: Sequence[CaptureInput],
    settings: DecodeSettings,
    progress: Progress,
    elsewhere: Looking | None = None,
    *,
    sample_datagrams: int = SAMPLE_DATAGRAMS,
) -> tuple[list[Reading], list[Inferred], list[tuple[str, str]]]:
    """Read the beginning of captures and infer the numbers of what nobody recognises.

    Args:
        elsewhere: who looks, if not this process.

    Returns:
        How much of each was read; findings, destinations with most datagrams first; and captures
        that cannot be read as (path, one line).

    Raises:
        SeqauditError: the same file is named twice.
    """
    stdin = StandardInput(streamed=elsewhere is None)
    try:
        planned = plan(inputs, shares=Shares(1, TO_THE_END), stdin=stdin)
        named = [(p, _shown(planned.files[p.capture], p.split)) for p in planned.pieces]
        if elsewhere is not None:
            looks = list(elsewhere(named, settings, progress))
        else:
            looks = []
            progress.begin("reading", sum(_size(p) for p, _ in named), bytes_read=True)
            read = 0
            for number, (piece, path) in enumerate(named, 1):
                stream = stdin.stream if piece.path == STDIN else None
                looks.append(look_at(piece, path, settings, stream, sample_datagrams))
                read += _size(piece)
                progress.done(read, f"{number:,}/{len(named):,} captures")
    finally:
        stdin.close()
    readings = [one.reading for one in looks if one.reading is not None]
    findings = [finding for one in looks for finding in one.findings]
    problems = [one.problem for one in looks if one.reading is None]
    return readings, findings, [*planned.problems, *problems]


def _size(piece: Piece) -> int:
    """What is stored of it; 0: nobody knows."""
    return max(piece.size_bytes, 0)


def look_at(
    piece: Piece,
    path: str,
    settings: DecodeSettings,
    stream: BinaryIO | None = None,
    limit: int = SAMPLE_DATAGRAMS,
) -> Look:
    """Look at one capture, which a user calls ``path``."""
    try:
        sampler, frames, whole = _read(piece, settings, stream, limit)
    except CaptureError as problem:
        return Look(None, problem=(path, str(problem).replace(piece.path, path)))
    found = []
    for place, total, sample in sampler.samples():
        answer = infer(sample, replies=sampler.replies(place, sample))
        sources = len(np.unique(sample.source))
        found.append((Inferred(path, *place, total, sources, answer), sample))
    reading = Reading(path, frames, whole, sampler.recognised, sampler.unrecognised)
    return Look(reading, tuple(_with_twins(found)))


def _with_twins(found: Sequence[tuple[Inferred, Sample]]) -> list[Inferred]:
    """The findings of a capture; of two lines the one with the lower address says so."""
    findings = [finding for finding, _ in found]
    places = [place for place, finding in enumerate(findings) if finding.answer.layouts]
    places.sort(key=lambda place: (_order(findings[place].destination), findings[place].port))
    samples = [(found[place][1], findings[place].answer.layouts[0]) for place in places]
    for twin in twins(samples):
        one, other = places[twin.one], places[twin.other]
        line_b = findings[other]
        findings[one] = replace(
            findings[one], twin=TwinPlace(line_b.destination, line_b.port, twin)
        )
    return findings


def _order(address: str) -> tuple[int, bytes]:
    packed = ipaddress.ip_address(address).packed
    return len(packed), packed


def _shown(files: Sequence[File], split: int) -> str:
    """The name that a user gave the file of this piece."""
    return next(file.shown for file in files if file.first_split <= split < file.stop_split)


def _read(
    piece: Piece, settings: DecodeSettings, stream: BinaryIO | None, limit: int
) -> tuple[Sampler, int, bool]:
    """The samples of a capture, the frames that were read and whether those are all."""
    compile_it = wants_compiled(piece, settings)
    reader = Reader(piece, compile_it, stream=stream)
    packet_reader = PacketReader(piece.capture, piece.split, compile_it=compile_it)
    dispatcher = Dispatcher(settings)
    sampler = Sampler(limit)
    frames = 0
    for records in reader:
        for packets in packet_reader.read(records):
            dispatcher.decode(packets.datagrams)
            sampler.add(packets.datagrams)
        frames += records.count
        if sampler.full or frames >= READ_FRAMES:
            return sampler, frames, False
    return sampler, frames, True
