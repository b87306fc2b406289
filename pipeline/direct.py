"""The direct engine: the job's own functions in this process, without a JVM (design 3.6)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from seqaudit.decoders.events import EVENTS
from seqaudit.decoders.registry import DecodeSettings
from seqaudit.decoders.splits import Piece
from seqaudit.pipeline import forked
from seqaudit.pipeline.job import ORDER, decode_pieces, gathered, reassemble_stage, replay_stage
from seqaudit.pipeline.progress import Progress
from seqaudit.replay.results import RESULTS
from seqaudit.replay.settings import ReplaySettings

#: Rows handed to a stage at once, as Spark does.
BATCH_ROWS = 100_000

#: So many batches are made fewer: those of small captures weigh more than their rows.
SMALL_BATCHES = 200


class DecodeStoppedError(Exception):
    """Ctrl-C while decoding; ``events`` is what was decoded until then."""

    def __init__(self, events: pa.Table) -> None:
        super().__init__("interrupted")
        self.events = events


def decode(
    pieces: Sequence[Piece],
    settings: DecodeSettings,
    carriers: bool,
    progress: Progress,
    stdin: BinaryIO | None = None,
    cores: int = 1,
) -> pa.Table:
    """Stages one and two: the events of all pieces, in the order of the replay stage.

    Args:
        cores: of this machine; a long decoding is shared among as many processes.

    Raises:
        Interrupted: Ctrl-C; holds the events of the frames read so far.
    """
    batches: list[pa.RecordBatch] = []
    fresh: list[pa.RecordBatch] = []
    progress.begin("decoding", len(pieces))
    interrupted = False
    try:
        if forked.worth_it(pieces, settings, cores):
            decoded: Iterable[Iterable[pa.RecordBatch]] = forked.decode(pieces, settings, cores)
        else:
            decoded = (decode_pieces([piece], settings, stdin) for piece in pieces)
        for number, rows in enumerate(decoded, 1):
            fresh.extend(rows)
            progress.done(number)
            if len(fresh) >= SMALL_BATCHES:
                batches.extend(gathered(fresh))
                fresh.clear()
    except KeyboardInterrupt:
        interrupted = True
    batches.extend(gathered(fresh))
    events = pa.Table.from_batches(batches, EVENTS)
    if carriers:
        by_carrier = ordered(events, "carrier")
        events = pa.Table.from_batches(
            reassemble_stage(settings, iter(by_carrier.to_batches(BATCH_ROWS))), EVENTS
        )
    events = ordered(events, "conversation")
    if interrupted:
        raise DecodeStoppedError(events)
    return events


def replay(events: pa.Table, settings: ReplaySettings) -> pa.Table:
    """Stage three over events in the order of ``decode``."""
    return pa.Table.from_batches(
        replay_stage(settings, _batches(events)),
        RESULTS,
    )


def ordered(rows: pa.Table, unit: str) -> pa.Table:
    """Rows by unit, then ``ORDER``; nulls first and strings by bytes, as Spark sorts."""
    names = (unit, *ORDER)
    keys = {
        name: pc.fill_null(rows[name], "") if pa.types.is_string(rows[name].type) else rows[name]
        for name in names  # no string is empty where it may be null
    }
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in names])
    return rows.take(order)


def _batches(events: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from events.combine_chunks().to_batches(BATCH_ROWS)
