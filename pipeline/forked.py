"""Decoding in several processes of this machine, forked when there is enough to do (PIPELINE 2.17).

The pieces are those that Spark's tasks would read; each process decodes one after the other and
hands its events back as Arrow bytes, in the order of the pieces.
"""

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Final

import pyarrow as pa

from seqaudit.decoders.containers import STDIN
from seqaudit.decoders.events import EVENTS
from seqaudit.decoders.registry import DecodeSettings
from seqaudit.decoders.splits import Piece
from seqaudit.pipeline.job import decode_pieces, gathered
from seqaudit.pipeline.plan import stored_bytes

#: What one process decodes in about two seconds; below it a second one costs more than it gains.
FORK_FROM_BYTES: Final = 500_000_000


def worth_it(pieces: Sequence[Piece], settings: DecodeSettings, cores: int) -> bool:
    """Whether processes are forked: kernels are compiled by now, and there are pieces to share."""
    return (
        cores > 1
        and len(pieces) > 1
        and bool(settings.compile_it)
        and "fork" in multiprocessing.get_all_start_methods()
        and all(piece.path != STDIN for piece in pieces)
        and sum(map(stored_bytes, pieces)) >= FORK_FROM_BYTES
    )


def decode(
    pieces: Sequence[Piece], settings: DecodeSettings, cores: int
) -> Iterator[list[pa.RecordBatch]]:
    """The events of each piece, in order; what a process leaves undone is done in this one."""
    pool = ProcessPoolExecutor(
        min(cores, len(pieces)), multiprocessing.get_context("fork"), _leave_interrupts
    )
    try:
        waiting: dict[int, Future[bytes]] = {}
        following = 0
        for number, piece in enumerate(pieces):
            # some ahead, so that nobody waits; not all, so that little is held
            try:
                while following < min(number + 2 * cores, len(pieces)):
                    waiting[following] = pool.submit(_decoded, pieces[following], settings)
                    following += 1
                raw = waiting.pop(number).result()
            except (BrokenProcessPool, KeyError):  # killed, for want of memory perhaps
                yield list(gathered(decode_pieces([piece], settings)))
                continue
            yield pa.ipc.open_stream(raw).read_all().to_batches()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts() -> None:
    """Ctrl-C is the first process's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _decoded(piece: Piece, settings: DecodeSettings) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, EVENTS) as writer:
        for batch in gathered(decode_pieces([piece], settings)):
            writer.write_batch(batch)
    events: bytes = sink.getvalue().to_pybytes()
    return events
