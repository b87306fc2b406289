"""The direct engine: the job's own functions in this process, without a JVM (pipeline/README.md
3)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.contract.arrow import (
    bool_column,
    encoded,
    filled,
    filtered,
    int_column,
    taken,
)
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.stages.first import reassemble
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.direct import workers as forked
from seqaudit.pipeline.direct.kernels_ready import load_for
from seqaudit.pipeline.report.result_store import HeldResults
from seqaudit.pipeline.shared.job import decode_pieces, replay_stage
from seqaudit.pipeline.shared.ordered import gathered, large_batches, places_in_order, ranks
from seqaudit.pipeline.shared.progress import Progress
from seqaudit.replay.contract.results import RESULTS
from seqaudit.replay.contract.settings import ReplaySettings
from seqaudit.replay.stages.replay import load_engines

#: Rows handed to a stage at once: with their texts they take a third of a kilobyte each, and a
#: multiple of that while they are gathered.
BATCH_ROWS = 30_000

#: Rows are shared out in so many parts a core, the largest first, so that all end together.
PARTS_A_CORE: Final = 16

#: Size of the parts of a large capture: Ctrl-C loses what the processes have in hand, and each part
#: begins with looking for its first record and at the 4 MB before it.
SMALLEST_BYTES: Final = 32_000_000
LARGEST_BYTES: Final = 256_000_000

#: So many rows are held as soon as they are decoded.
HELD_FROM_ROWS: Final = 30_000

#: So many batches are made fewer: those of small captures weigh more than their rows.
SMALL_BATCHES = 200


#: Columns whose values repeat, in most captures.
_REPEATED: Final = frozenset(
    {
        "capture", "index", "system", "carrier", "conversation", "stream", "source", "destination",
        "wire_kind", "conn_id", "stamp", "flags", "detail", "payload",
    }
)  # fmt: skip

#: Events as they are held until they are replayed: half of their size and less.
HELD: Final = pa.schema(
    [
        field.with_type(pa.dictionary(pa.int16(), field.type)) if field.name in _REPEATED else field
        for field in EVENTS
    ]
)

#: So many rows at most have as many distinct values as an index there can tell.
HELD_ROWS: Final = 30_000


class DecodeStoppedError(Exception):
    """Ctrl-C while decoding; ``events`` is what was decoded until then."""

    def __init__(self, events: pa.Table) -> None:
        super().__init__("interrupted")
        self.events = events


def decode(
    tasks: Sequence[Sequence[Piece]],
    settings: DecodeSettings,
    carriers: bool,
    progress: Progress,
    stdin: BinaryIO | None = None,
    cores: int = 1,
    known: pa.Table | None = None,
) -> pa.Table:
    """Stages one and two: the events of all tasks, of schema ``HELD`` and in no order.

    Args:
        cores: of this machine; a long decoding is shared among as many processes.
        known: events of other captures, which come with them.

    Raises:
        Interrupted: Ctrl-C; holds the events of the frames read so far.
    """
    pieces = [piece for task in tasks for piece in task]
    progress.begin("decoding", sum(map(_bytes_of, pieces)), bytes_read=True)
    batches: list[pa.RecordBatch] = [] if known is None else known.to_batches()
    interrupted = False
    forks = len(tasks) > 1 and forked.worth_it(pieces, settings, cores)
    try:
        if forks:
            load_for(pieces, settings)  # before the fork: once for all processes
            _decode_forked(tasks, settings, progress, cores, batches)
        else:
            _decode_here(pieces, settings, progress, stdin, batches)
    except KeyboardInterrupt:
        interrupted = True
    events = pa.Table.from_batches(batches, HELD)
    if carriers and events["carrier"].null_count < len(events):
        by_carrier = _Ordered(events, "carrier").batches(0, len(events))
        events = pa.Table.from_batches(_encoded(reassemble(by_carrier, settings)), HELD)
    if interrupted:
        raise DecodeStoppedError(events)
    if forks:
        pa.default_memory_pool().release_unused()  # what came of the processes is held smaller
    return events


def without(events: pa.Table, captures: Collection[int]) -> pa.Table:
    """Events of schema ``HELD`` less those of some captures."""
    batches = []
    for batch in events.to_batches():
        numbers = batch.column("capture")
        others = [number not in captures for number in numbers.dictionary.to_pylist()]
        kept = np.array(others, np.bool_)[numbers.indices.to_numpy()]
        batches.append(filtered(batch, bool_column(kept)))
    return pa.Table.from_batches(batches, HELD)


def replay(
    events: pa.Table, settings: ReplaySettings, cores: int = 1, *, counted: bool = False
) -> HeldResults:
    """Stage three over events in any order, of schema ``EVENTS`` or ``HELD``.

    Rows are gathered in their order as they are replayed: there is no second copy of all of them.

    Args:
        cores: of this machine; many rows are shared among as many processes, by conversation.
        counted: each part tells what it took (``metrics``).
    """
    rows = _Ordered(events, "conversation")
    if not forked.can_fork(cores) or len(events) < forked.FORK_FROM_ROWS:
        return HeldResults(replay_stage(settings, counted, rows.batches(0, len(events))))
    load_engines()  # before the fork: once for all processes
    parts = rows.parts(len(events) // (PARTS_A_CORE * cores))
    by_size = sorted(range(len(parts)), key=lambda number: parts[number][0] - parts[number][1])

    def work(number: int) -> Iterator[pa.RecordBatch]:
        return replay_stage(settings, counted, rows.batches(*parts[by_size[number]]))

    with closing(forked.share(work, len(parts), RESULTS, cores)) as shared:
        return HeldResults(batch for _, batches in shared for batch in batches)


def ordered(rows: pa.Table, unit: str) -> pa.Table:
    return taken(rows, places_in_order(rows, unit))


def _encoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of EVENTS as they are held; they share no memory with those."""
    for batch in batches:
        for begin in range(0, len(batch), HELD_ROWS):
            yield _held_batch(batch.slice(begin, HELD_ROWS))


def _held_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    places = int_column(np.arange(len(batch)))
    columns = []
    for name, kind in zip(HELD.names, HELD.types, strict=True):
        column = batch.column(name)
        if pa.types.is_dictionary(kind):
            coded = encoded(column)
            codes = filled(coded.indices, -1).to_numpy()
            indices = int_column(codes.astype(np.int16), codes < 0, pa.int16())
            columns.append(pa.DictionaryArray.from_arrays(indices, coded.dictionary, safe=False))
        else:
            columns.append(taken(column, places))
    return pa.RecordBatch.from_arrays(columns, schema=HELD)


def _as_events(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of schema ``HELD`` or ``EVENTS`` as one of ``EVENTS``."""
    columns = [
        taken(column.dictionary, column.indices) if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=EVENTS)


class _Ordered:
    """Events in the order of the replay stage, gathered where they are asked for."""

    def __init__(self, events: pa.Table, unit: str) -> None:
        self._batches = events.to_batches()
        self._starts = np.cumsum([0, *map(len, self._batches)])
        self._places = places_in_order(events, unit).to_numpy().astype(np.int64)
        self._units = events[unit]

    def parts(self, size: int) -> list[tuple[int, int]]:
        """Begin and end of parts of whole conversations, of about ``size`` rows or one
        conversation."""
        if pa.types.is_dictionary(self._units.type):
            codes = ranks(self._units).to_numpy()
        else:
            coded = encoded(self._units)  # one dictionary for all chunks
            codes = np.concatenate([chunk.indices.to_numpy() for chunk in coded.chunks])
        codes = codes[self._places]
        borders = [0]
        for start in (np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist():
            if start - borders[-1] >= size:
                borders.append(start)
        return list(pairwise([*borders, len(codes)]))

    def batches(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        for begin in range(start, stop, BATCH_ROWS):
            places = self._places[begin : min(begin + BATCH_ROWS, stop)]
            yield gathered(places, self._starts, self._batches.__getitem__, _as_events)


def _decode_here(
    pieces: Sequence[Piece],
    settings: DecodeSettings,
    progress: Progress,
    stdin: BinaryIO | None,
    batches: list[pa.RecordBatch],
) -> None:
    """Decode in this process; ``batches`` has what was decoded, however this ends."""
    fresh: list[pa.RecordBatch] = []
    rows = 0
    try:
        done = 0
        for piece in pieces:
            for batch in decode_pieces([piece], settings, stdin):
                fresh.append(batch)
                rows += len(batch)
                if rows >= HELD_FROM_ROWS or len(fresh) >= SMALL_BATCHES:
                    made = list(_encoded(large_batches(fresh)))
                    batches += made
                    fresh.clear()
                    rows = 0
            done += _bytes_of(piece)
            progress.done(done)
    finally:
        batches.extend(_encoded(large_batches(fresh)))


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
        return large_batches(decode_pieces(tasks[number], settings))

    decoded: dict[int, list[pa.RecordBatch]] = {}
    try:
        with closing(forked.share(work, len(tasks), EVENTS, cores, _encoded)) as shared:
            for number, rows in shared:
                decoded[number] = rows
                progress.done(sum(_bytes_of(piece) for done in decoded for piece in tasks[done]))
    finally:
        for number in range(len(tasks)):
            if number not in decoded:
                break
            batches.extend(decoded[number])
