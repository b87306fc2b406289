"""The direct engine: the job's own functions in this process, without a JVM (pipeline/README.md
3)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.contract.arrow import bool_column, filtered, sorted_places
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.stages.first import reassemble
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.direct import workers as forked
from seqaudit.pipeline.direct.kernels_ready import load_for
from seqaudit.pipeline.report.result_store import HeldResults
from seqaudit.pipeline.shared.job import decode_pieces, of_parts, replay_stage
from seqaudit.pipeline.shared.ordered import Ints, gathered, ordered, sort_keys
from seqaudit.pipeline.shared.parts import (
    FIRST,
    MEMBERS,
    NO_GROUP,
    PARTS,
    events_in,
    in_order,
    in_parts,
)
from seqaudit.pipeline.shared.progress import Progress
from seqaudit.replay.contract.results import RESULTS
from seqaudit.replay.contract.settings import ReplaySettings
from seqaudit.replay.stages.replay import load_engines

#: Events are shared out in so many shares a core, the largest first, so that all end together.
SHARES_A_CORE: Final = 16

#: Parts that are gathered at once.
PARTS_AT_ONCE: Final = 64

#: Size of the parts of a large capture: Ctrl-C loses what the processes have in hand, and each part
#: begins with looking for its first record and at the 4 MB before it.
SMALLEST_BYTES: Final = 32_000_000
LARGEST_BYTES: Final = 256_000_000


class DecodeStoppedError(Exception):
    """Ctrl-C while decoding; ``parts`` is what was decoded until then."""

    def __init__(self, parts: pa.Table) -> None:
        super().__init__("interrupted")
        self.parts = parts


def decode(
    tasks: Sequence[Sequence[Piece]],
    settings: DecodeSettings,
    carriers: bool,
    progress: Progress,
    stdin: BinaryIO | None = None,
    cores: int = 1,
    known: pa.Table | None = None,
) -> pa.Table:
    """Stages one and two: the events of all tasks, as parts (``shared.parts``) in no order.

    Args:
        cores: of this machine; a long decoding is shared among as many processes.
        known: parts of other captures, which come with them.

    Raises:
        DecodeStoppedError: Ctrl-C; holds the events of the frames read so far.
    """
    pieces = [piece for task in tasks for piece in task]
    progress.begin("decoding", sum(map(_bytes_of, pieces)), bytes_read=True)
    batches: list[pa.RecordBatch] = []
    interrupted = False
    forks = len(tasks) > 1 and forked.worth_it(pieces, settings, cores)
    try:
        if forks:
            load_for(pieces, settings)  # before the fork: once for all processes
            _decode_forked(tasks, settings, progress, cores, batches)
        else:
            interrupted = _decode_here(pieces, settings, progress, stdin, batches)
    except KeyboardInterrupt:
        interrupted = True
    if carriers:
        batches = _put_together(batches, settings)
    parts = pa.Table.from_batches([*(() if known is None else known.to_batches()), *batches], PARTS)
    if interrupted:
        raise DecodeStoppedError(parts)
    return parts


def without(parts: pa.Table, captures: Collection[int]) -> pa.Table:
    """Parts less the events of some captures."""

    def left() -> Iterator[pa.RecordBatch]:
        for batch in events_of(parts):
            others = ~np.isin(batch.column("capture").to_numpy(), list(captures))
            yield filtered(batch, bool_column(others))

    return parts_of(left())


def parts_of(events: Iterable[pa.RecordBatch]) -> pa.Table:
    """Events in any order as parts."""
    return pa.Table.from_batches(in_parts(events, "conversation"), PARTS)


def events_of(parts: pa.Table) -> Iterator[pa.RecordBatch]:
    """All events of parts, each once."""
    for batch in parts.to_batches():
        yield from events_in([filtered(batch, bool_column(_groups(batch) < MEMBERS))])


def telling(parts: pa.Table) -> pa.Table:
    """The events that tell what became of pieces, and where captures were taken."""
    loose = [filtered(b, bool_column(_groups(b) >= NO_GROUP)) for b in parts.to_batches()]
    return ordered(pa.Table.from_batches(events_in(loose), EVENTS), "conversation")


def replay(
    parts: pa.Table, settings: ReplaySettings, cores: int = 1, *, counted: bool = False
) -> HeldResults:
    """Stage three over events in any order.

    Args:
        cores: of this machine; many events are shared among as many processes, by conversation.
        counted: each share tells what it took (``metrics``).
    """
    rows = _OrderedParts(parts)

    def work(start: int, stop: int) -> Iterator[pa.RecordBatch]:
        return of_parts(partial(replay_stage, settings, counted), rows.batches(start, stop))

    if not forked.can_fork(cores) or parts.nbytes < forked.FORK_FROM_PACKED:
        return HeldResults(work(0, len(parts)))
    load_engines()  # before the fork: once for all processes
    shares = rows.shares(SHARES_A_CORE * cores)
    with closing(forked.share(lambda n: work(*shares[n]), len(shares), RESULTS, cores)) as shared:
        return HeldResults(batch for _, batches in shared for batch in batches)


def _groups(parts: pa.RecordBatch) -> Ints:
    found: Ints = parts.column("group").to_numpy()
    return found


def _put_together(batches: list[pa.RecordBatch], settings: DecodeSettings) -> list[pa.RecordBatch]:
    """Stage two: what has a carrier has no conversation yet."""
    loose: list[pa.RecordBatch] = []
    others: list[pa.RecordBatch] = []
    for batch in batches:
        groups = _groups(batch)
        loose.append(filtered(batch, bool_column(groups == NO_GROUP)))
        others.append(filtered(batch, bool_column(groups != NO_GROUP)))
    by_carrier = pa.Table.from_batches(in_parts(events_in(loose), "carrier"), PARTS)
    if by_carrier["unit"].null_count == len(by_carrier):
        return batches
    rows = _OrderedParts(by_carrier).batches(0, len(by_carrier))
    made = reassemble(in_order(rows, "carrier"), settings)
    return [*others, *in_parts(made, "conversation")]


class _OrderedParts:
    """Parts in the order of a stage that takes their units whole, gathered where they are asked
    for; those of members, which stand there twice, are left out."""

    def __init__(self, parts: pa.Table) -> None:
        self._batches = parts.to_batches()
        self._starts = np.cumsum([0, *map(len, self._batches)])
        names = ("group", *FIRST)
        places = sorted_places(sort_keys(parts, names), names).to_numpy().astype(np.int64)
        groups = parts["group"].to_numpy()[places]
        self._places = places[groups < MEMBERS]
        self._groups = groups[groups < MEMBERS]

    def shares(self, number: int) -> list[tuple[int, int]]:
        """Begin and end of about so many shares of whole groups, the largest first."""
        size = len(self._places) // number
        borders = [0]
        for start in (np.flatnonzero(np.diff(self._groups)) + 1).tolist():
            if start - borders[-1] >= size:
                borders.append(start)
        found = pairwise([*borders, len(self._places)])
        return sorted(found, key=lambda share: share[0] - share[1])

    def batches(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """The parts of a share."""
        stop = min(stop, len(self._places))
        for begin in range(start, stop, PARTS_AT_ONCE):
            places = self._places[begin : min(begin + PARTS_AT_ONCE, stop)]
            yield gathered(places, self._starts, self._batches.__getitem__)


def _decode_here(
    pieces: Sequence[Piece],
    settings: DecodeSettings,
    progress: Progress,
    stdin: BinaryIO | None,
    batches: list[pa.RecordBatch],
) -> bool:
    """Decode in this process; ``batches`` has what was decoded, however this ends. Whether Ctrl-C
    ended it."""
    interrupted = False

    def decoded() -> Iterator[pa.RecordBatch]:
        nonlocal interrupted
        done = 0
        try:
            for piece in pieces:
                yield from decode_pieces([piece], settings, stdin)
                done += _bytes_of(piece)
                progress.done(done)
        except KeyboardInterrupt:
            interrupted = True

    batches.extend(in_parts(decoded(), "conversation"))
    return interrupted


def _bytes_of(piece: Piece) -> int:
    """What is read for a piece: of a compressed file what is stored; 0: nobody knows."""
    return piece.size_bytes if piece.whole else piece.stop - piece.start


def _decode_forked(
    tasks: Sequence[Sequence[Piece]],
    settings: DecodeSettings,
    progress: Progress,
    cores: int,
    batches: list[pa.RecordBatch],
) -> None:
    """Decode in several processes; ``batches`` has what the tasks up to the first that is not done
    gave, however this ends."""

    def work(number: int) -> Iterator[pa.RecordBatch]:
        return in_parts(decode_pieces(tasks[number], settings), "conversation")

    decoded: dict[int, list[pa.RecordBatch]] = {}
    try:
        with closing(forked.share(work, len(tasks), PARTS, cores)) as shared:
            for number, rows in shared:
                decoded[number] = rows
                progress.done(sum(_bytes_of(piece) for done in decoded for piece in tasks[done]))
    finally:
        for number in range(len(tasks)):
            if number not in decoded:
                break
            batches.extend(decoded[number])
