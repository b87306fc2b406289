"""``seqaudit infer`` on Spark: each capture is looked at in a task of its own."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from seqaudit.decoders.capture import remote
from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.pipeline.shared.infer_samples import Look, look_at
from seqaudit.pipeline.shared.job import ddl, table_of
from seqaudit.pipeline.shared.progress import Progress
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.pipeline.spark.cluster import await_executors
from seqaudit.pipeline.spark.progress import JobStage, in_session, run_watched
from seqaudit.pipeline.spark.session import about
from seqaudit.pipeline.spark.worker_look import Asked

Pieces = Sequence[tuple[Piece, str]]


def look_on_spark(
    place: SparkAddress, pieces: Pieces, settings: DecodeSettings, progress: Progress
) -> list[Look]:
    """What ``look_at`` says of each.

    Raises:
        SeqauditError: Spark could not be started, or its job failed.
    """
    if not pieces:
        return []
    name = about([path for _, path in pieces])
    with in_session(place, progress, name) as session:
        await_executors(
            session, [Asked(p.path, p.size_bytes, p.mtime_ns) for p, _ in pieces], progress
        )
        settings = replace(settings, storage=remote.in_use())
        numbers = session.spark.range(0, len(pieces), 1, len(pieces))
        schema = pa.schema([("id", pa.int64()), ("look", pa.binary())])
        looks = numbers.mapInArrow(partial(_looks, pieces, settings), ddl(schema))
        sizes = tuple(max(piece.size_bytes, 0) for piece, _ in pieces)
        steps = [JobStage("reading", sizes)]
        rows = run_watched(session, lambda: table_of(looks, schema), steps, progress)
    # from workers that run our code for us: as near to us as the functions that Spark sends them
    found = {row["id"]: pickle.loads(row["look"]) for row in rows.to_pylist()}
    return [found[number] for number in range(len(pieces))]


def _looks(
    pieces: Pieces, settings: DecodeSettings, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    remote.use(settings.storage)
    for batch in batches:
        for number in batch.column("id").to_pylist():
            piece, path = pieces[number]
            look = pickle.dumps(look_at(piece, path, settings))
            yield pa.RecordBatch.from_pydict({"id": [number], "look": [look]})
