"""What a run took, for ``--metrics``: both engines count in the same place, the replay stage.

A part that is replayed (a lane of Spark's, or what one process of the direct engine takes at a
time) adds one row to its results, so that figures come the same way as the results do, from
whatever cluster.
"""

import contextlib
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import encoded
from seqaudit.decoders.contract.events import NO_CONVERSATION
from seqaudit.pipeline.shared.plan import Plan
from seqaudit.replay.contract.results import Result, ResultKind, to_batch


class LaneDetail(TypedDict):
    """What the replay of a part took."""

    events: int
    conversations: int
    largest: int  # events of the conversation that has most
    cpu_seconds: float
    peak_bytes: int


#: ``kind`` of the row of a part; no part of a report.
METRIC: Final = ResultKind[LaneDetail]("METRIC")

Batches = Iterable[pa.RecordBatch]

#: Of what ``ru_maxrss`` counts.
_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class OfSpark:
    """What Spark says of its stages, in bytes; null: Connect does not say it."""

    shuffled: int | None = None
    spilled_memory: int | None = None
    spilled_disk: int | None = None


@dataclass(slots=True)
class Run:
    """What the engines note as they go.

    Attributes:
        planned: of the last decoding; null: of an events file.
        runs: decodings.
        rows, size: results that came from Spark, and their bytes here; null: of the direct engine.
    """

    began: float
    planned: Plan | None = None
    runs: int = 0
    executors: int | None = None
    of_spark: OfSpark = OfSpark(0, 0, 0)
    rows: int | None = None
    size: int | None = None


def measured(batches: Batches, act: Callable[[Batches], Batches]) -> Iterator[pa.RecordBatch]:
    """The results of a stage, and one row of kind ``METRIC`` behind them.

    Args:
        batches: EVENTS, those of a conversation together.
    """
    began = time.process_time()
    tally = _Tally()
    yield from act(tally.each(batches))
    yield tally.row(time.process_time() - began)


class _Tally:
    """Events of a part as they go by."""

    def __init__(self) -> None:
        self._events = 0
        self._conversations = 0
        self._largest = 0
        self._last: tuple[str, int] = "", 0  # conversation and its events so far

    def each(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if len(batch):
                self._add(batch)
            yield batch

    def _add(self, batch: pa.RecordBatch) -> None:
        coded = encoded(batch.column("conversation"))
        names = coded.dictionary.to_pylist()
        counts = np.bincount(coded.indices.to_numpy(), minlength=len(names)).tolist()
        for name, count in zip(names, counts, strict=True):
            if name == NO_CONVERSATION:
                continue
            self._events += count
            known = self._last[1] if name == self._last[0] else 0
            self._conversations += not known
            self._last = name, known + count
            self._largest = max(self._largest, known + count)

    def row(self, seconds: float) -> pa.RecordBatch:
        detail: LaneDetail = {
            "events": self._events,
            "conversations": self._conversations,
            "largest": self._largest,
            "cpu_seconds": seconds,
            "peak_bytes": peak_bytes(),
        }
        row = Result(0, METRIC, f"{os.getpid()} {time.monotonic_ns()}", METRIC, detail)
        return to_batch([row])


def peak_bytes() -> int:
    """The most memory that this process had. What ``getrusage`` tells on Linux counts the process
    that started it as well."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        told = Path("/proc/self/status").read_text().partition("VmHWM:")[2]
        return int(told.split()[0]) << 10
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * _RSS_UNIT
