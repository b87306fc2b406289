"""The job: decode, put carriers together, replay (pipeline/README.md 2).

The three stages are plain functions over record batches; ``pipeline.direct.engine`` calls the same
ones in this process. Workers import this module, so it imports nothing of PySpark and no pandas.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

import pyarrow as pa

from seqaudit.decoders.capture import remote
from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.capture.reader import STDIN
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.network.account import account_batch
from seqaudit.decoders.stages.first import decode_piece, reassemble
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.shared.metrics import measured
from seqaudit.pipeline.shared.ordered import one_batch
from seqaudit.replay.contract.results import RESULTS
from seqaudit.replay.contract.settings import ReplaySettings
from seqaudit.replay.stages.replay import replay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tasks = Sequence[Sequence[Piece]]

#: What rows are ordered by after their unit (pipeline/README.md 2). The rest only makes the order
#: of rows total that share a frame and an index, names of members and accounts of pieces, so that
#: both engines see the same one.
ORDER: Final = ("capture", "frame", "index", "kind", "wire_kind", "source", "detail")

#: Rows smaller batches are gathered to: ten thousand small captures are not as many batches.
GATHER_ROWS: Final = 10_000
GATHER_BYTES: Final = 8 << 20

#: Captures of which one task hands over the results: 10 MB and more.
CAPTURES_AT_ONCE: Final = 400

_DDL: Final = {
    pa.int64(): "bigint",
    pa.int16(): "smallint",
    pa.string(): "string",
    pa.binary(): "binary",
}


def ddl(schema: pa.Schema) -> str:
    """A schema as Spark wants it; all columns nullable, as Spark proves nothing about them."""
    return ", ".join(f"`{field.name}` {_DDL[field.type]}" for field in schema)


def decode_pieces(
    pieces: Iterable[Piece], settings: DecodeSettings, stdin: BinaryIO | None = None
) -> Iterator[pa.RecordBatch]:
    """Events and accounts of pieces. A piece that cannot be read is an account that says why."""
    for piece in pieces:
        try:
            yield from decode_piece(piece, settings, stdin if piece.path == STDIN else None)
        except CaptureError as problem:
            yield _unreadable(piece, problem)


def decode_tasks(
    tasks: Tasks, settings: DecodeSettings, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Stage one in a worker: ``batches`` holds numbers of tasks in a column ``id``."""
    remote.use(settings.storage)
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from large_batches(decode_pieces(tasks[number], settings))


def reassemble_stage(
    settings: DecodeSettings, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Stage two in a worker; sorted by carrier, then ``ORDER``."""
    return reassemble(conforming(batches), settings)


def replay_stage(
    settings: ReplaySettings, counted: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Stage three in a worker; sorted by conversation, then ``ORDER``.

    Args:
        counted: one more row tells what it took (``metrics``).
    """
    rows = conforming(batches)
    act = partial(replay, settings=settings)
    return measured(rows, act) if counted else act(rows)


def conforming(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches with the contract's schema: Spark's own has every column nullable, and a
    stage that passes batches on must not mix the two."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=EVENTS)


def large_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at least ``GATHER_ROWS`` or ``GATHER_BYTES``, except the last."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= GATHER_ROWS or size >= GATHER_BYTES:
            yield one_batch(held)
            held, rows, size = [], 0, 0
    if rows:
        yield one_batch(held)


def events(
    spark: "SparkSession", tasks: Tasks, settings: DecodeSettings, lanes: int, carriers: bool
) -> "DataFrame":
    """Stages one and two; the second and its shuffle only where carriers may span pieces."""
    numbers = spark.range(0, len(tasks), 1, len(tasks))  # one row a task: no shuffle, no collision
    rows = numbers.mapInArrow(partial(decode_tasks, tasks, settings), ddl(EVENTS))
    if not carriers:
        return rows
    # what has a carrier has no conversation yet; by that, all else is spread over the lanes
    together = rows.repartition(lanes, "carrier", "conversation")
    return together.sortWithinPartitions("carrier", *ORDER).mapInArrow(
        partial(reassemble_stage, settings), ddl(EVENTS)
    )


def results(
    rows: "DataFrame", settings: ReplaySettings, lanes: int, counted: bool = False
) -> "DataFrame":
    """Stage three: one conversation after the other, each in the order of its captures.

    Of many captures results are shared out anew: an executor holds what a task hands over whole,
    and one conversation may be in all captures.
    """
    together = rows.repartition(lanes, "conversation")
    told = together.sortWithinPartitions("conversation", *ORDER).mapInArrow(
        partial(replay_stage, settings, counted), ddl(RESULTS)
    )
    parts = len(settings.captures) // CAPTURES_AT_ONCE
    return told.repartition(parts, "capture") if parts > 1 else told


def collected(rows: "DataFrame") -> pa.Table:
    """All rows, here. Connect's ``toArrow`` asks the server for the whole job's schema first and
    casts to it, as if nobody knew it: a question and 0.1 s of imports more."""
    fetched = getattr(rows, "_to_table", None)
    return rows.toArrow() if fetched is None else fetched()[0]


def _unreadable(piece: Piece, problem: CaptureError) -> pa.RecordBatch:
    detail = {"piece": piece.split, "path": piece.path, "error": str(problem)}
    return account_batch(piece.capture, piece.split, detail)
