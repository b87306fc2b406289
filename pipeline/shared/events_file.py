"""Decoded events kept in a Parquet file, to be replayed many times (pipeline/README.md 3).

The rows are those of the replay stage in their order; what the report needs besides (paths,
formats, unreadable ones) is the file's metadata.
"""

import contextlib
import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.contract.networks import Chosen
from seqaudit.pipeline.shared.plan import File
from seqaudit.pipeline.shared.whole_file import in_place_of
from seqaudit.replay.contract.results import Row

SCHEMA_NAME: Final = "seqaudit/events/1"
_KEY: Final = b"seqaudit"
_MAGIC: Final = b"PAR1"

Files = tuple[tuple[File, ...], ...]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Events in the order of replay, files of each capture, (path, problem) of unreadable ones."""

    events: pa.Table
    files: Files
    problems: tuple[tuple[str, str], ...]


def is_events_file(path: str) -> bool:
    """Whether a path is a Parquet file; told by content, false for what cannot be read."""
    with contextlib.suppress(OSError), Path(path).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC
    return False


def write(decoded: Decoded, path: str) -> None:
    """Write an events file; a half-written one is removed.

    Raises:
        CaptureError: it cannot be written.
    """
    head = {
        "schema": SCHEMA_NAME,
        "files": [[dataclasses.asdict(file) for file in files] for files in decoded.files],
        "problems": decoded.problems,
    }
    table = decoded.events.replace_schema_metadata({_KEY: json.dumps(head, sort_keys=True)})
    try:
        with in_place_of(path) as whole, whole.open("wb") as file:
            import pyarrow.parquet as pq

            pq.write_table(table, file, compression="zstd")
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise CaptureError(
            path, f"cannot be written ({reason})", "name a file in a folder that you own"
        ) from problem


def read(path: str) -> Decoded:
    """Read an events file.

    Raises:
        CaptureError: it is no Parquet file of ours, or one of another schema.
    """
    advice = "make it with seqaudit decode CAPTURE -o EVENTS.parquet"
    try:
        import pyarrow.parquet as pq  # costs 10 ms, and most runs have no events file

        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as problem:
        raise CaptureError(path, "is a damaged Parquet file", advice) from problem
    metadata = table.schema.metadata or {}
    if _KEY not in metadata:
        raise CaptureError(path, "is a Parquet file, but not one of seqaudit", advice)
    head = json.loads(metadata[_KEY])
    if head.get("schema") != SCHEMA_NAME or table.schema.names != EVENTS.names:
        raise CaptureError(path, f"holds {head.get('schema')}, this is {SCHEMA_NAME}", advice)
    return Decoded(
        table.replace_schema_metadata(None).cast(EVENTS),
        tuple(
            tuple(File(**file | {"chosen": _chosen(file["chosen"])}) for file in files)
            for files in head["files"]
        ),
        tuple((shown, text) for shown, text in head["problems"]),
    )


def _chosen(kept: Row) -> Chosen:
    return Chosen(**kept | {"networks": tuple(kept["networks"])})
