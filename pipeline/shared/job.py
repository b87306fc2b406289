"""The job: decode, put carriers together, replay (pipeline/README.md 2).

The three stages are plain functions over record batches; ``pipeline.direct.engine`` calls the same
ones in this process. Workers import this module, so it imports nothing of PySpark and no pandas.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa

from seqaudit.decoders.capture import remote
from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.capture.reader import STDIN
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.network.account import account_batch
from seqaudit.decoders.network.account_rows import PieceAccount
from seqaudit.decoders.stages.first import decode_piece, reassemble
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.shared.metrics import measured
from seqaudit.pipeline.shared.ordered import large_batches
from seqaudit.pipeline.shared.parts import FIRST, PARTS, REPLAYED, events_in, in_order, in_parts
from seqaudit.replay.contract.results import RESULTS
from seqaudit.replay.contract.settings import ReplaySettings
from seqaudit.replay.stages.replay import replay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tasks = Sequence[Sequence[Piece]]
Stage = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

#: Captures of which one task hands over the results: 10 MB and more.
CAPTURES_AT_ONCE: Final = 400

_DDL: Final = {
    pa.int64(): "bigint",
    pa.int32(): "int",
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
            yield from decode_pieces(tasks[number], settings)


def replay_stage(
    settings: ReplaySettings, counted: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Stage three; sorted by conversation, then ``ORDER``.

    Args:
        counted: one more row tells what it took (``metrics``).
    """
    act = partial(replay, settings=settings)
    return measured(batches, act) if counted else act(batches)


def events(
    spark: "SparkSession", tasks: Tasks, settings: DecodeSettings, lanes: int, carriers: bool
) -> "DataFrame":
    """Stages one and two, as parts; the second and its shuffle only where carriers may span
    pieces."""
    numbers = spark.range(0, len(tasks), 1, len(tasks))  # one row a task: no shuffle, no collision
    unit = "carrier" if carriers else "conversation"
    decoded = partial(_parted, partial(decode_tasks, tasks, settings), unit)
    rows = numbers.mapInArrow(decoded, ddl(PARTS))
    if not carriers:
        return rows
    # what has a carrier has no conversation yet
    put_together = partial(_parted, partial(_reassembled, settings), "conversation")
    return _by_unit(rows, lanes).mapInArrow(put_together, ddl(PARTS))


def parts(rows: "DataFrame") -> "DataFrame":
    """Events that are rows of Spark's, as parts."""
    return rows.mapInArrow(partial(in_parts, unit="conversation"), ddl(PARTS))


def results(
    parts: "DataFrame", settings: ReplaySettings, lanes: int, counted: bool = False
) -> "DataFrame":
    """Stage three: one conversation after the other, each in the order of its captures.

    Of many captures results are shared out anew: an executor holds what a task hands over whole,
    and one conversation may be in all captures.
    """
    replayed = partial(of_parts, partial(replay_stage, settings, counted))
    told = _by_unit(parts, lanes).mapInArrow(replayed, ddl(RESULTS))
    several = len(settings.captures) // CAPTURES_AT_ONCE
    return told.repartition(several, "capture") if several > 1 else told


def picked(parts: "DataFrame", kinds: Sequence[int], columns: Sequence[str]) -> "DataFrame":
    """Columns of the events of some kinds that have a ``seqno``."""
    rows = parts.filter(REPLAYED)
    wanted = f"seqno is not null and kind in ({', '.join(map(str, kinds))})"
    found = rows.mapInArrow(events_in, ddl(EVENTS)).filter(wanted)
    return found.select(*columns)


def events_of(parts: "DataFrame", where: str) -> pa.Table:
    """Events of some parts, here."""
    return pa.Table.from_batches(events_in(collected(parts.filter(where))), EVENTS)


def columns_of(names: Sequence[str]) -> pa.Schema:
    """The schema of some columns of events."""
    return pa.schema([EVENTS.field(name) for name in names])


def _by_unit(parts: "DataFrame", lanes: int) -> "DataFrame":
    """Parts for a stage that takes units whole."""
    rows = parts.filter(REPLAYED).repartitionById(lanes, "group")
    return rows.sortWithinPartitions("group", *FIRST)


def _parted(stage: Stage, unit: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a stage tells, as parts."""
    return in_parts(stage(batches), unit)


def _reassembled(
    settings: DecodeSettings, parts: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    return reassemble(in_order(parts, "carrier"), settings)


def of_parts(stage: Stage, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a stage tells of conversations that come as parts."""
    return stage(large_batches(in_order(parts, "conversation")))


def table_of(rows: "DataFrame", schema: pa.Schema) -> pa.Table:
    batches = [pa.RecordBatch.from_arrays(b.columns, schema=schema) for b in collected(rows)]
    return pa.Table.from_batches(batches, schema)


def collected(rows: "DataFrame") -> Iterator[pa.RecordBatch]:
    """All rows, batch by batch as they come and in no order: nobody holds them whole. PySpark's
    ``toArrow`` does, twice, and Connect's asks the server for the schema first."""
    plan: Any = getattr(rows, "_plan", None)
    if plan is not None:
        client: Any = rows.sparkSession.client
        for table in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
            if isinstance(table, pa.Table):
                yield from table.to_batches()
        return
    from pyspark.util import local_connect_and_auth

    port, secret, server = rows._jdf.collectAsArrowToPython()
    try:
        stream, connection = local_connect_and_auth(port, secret)
        connection.settimeout(None)  # of connecting; a task takes as long as it takes
        with connection, stream:
            yield from pa.ipc.open_stream(stream)
            order = stream.read()  # of the batches; or -1 and why there are no more
            if order[:4] == b"\xff" * 4:
                raise RuntimeError(order[8:].decode(errors="replace"))
    except Exception:
        server.getResult()  # raises what went wrong at the other end
        raise
    server.getResult()


def _unreadable(piece: Piece, problem: CaptureError) -> pa.RecordBatch:
    detail: PieceAccount = {"piece": piece.split, "error": str(problem)}
    return account_batch(piece.capture, piece.split, detail)
