"""Work shared among processes of this machine, forked when there is enough of it
(pipeline/README.md 2).

A fork has all that this process has, compiled kernels and rows in memory, so nothing is handed to
it but the numbers of jobs. It hands back Arrow batches as it makes them, so that neither it nor a
pipe holds all of a job's (pools of the standard library would). What a killed one leaves undone
shows as its pipe's end, and is done here.
"""

import contextlib
import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

import pyarrow as pa

from seqaudit.decoders.capture.hadoop import is_hadoop
from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.capture.reader import STDIN
from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.shared.plan import cost_bytes, stored_bytes
from seqaudit.pipeline.shared.processes import status_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Work = Callable[[int], Iterable[pa.RecordBatch]]

#: What one process decodes in a quarter of a second: a second one costs a tenth of that.
FORK_FROM_BYTES: Final = 150_000_000

#: Bytes of parts of 10,000 events: one process replays them in about a third of a second.
FORK_FROM_PACKED: Final = 700_000

#: In place of the number of a job: there is none left; and in place of a batch: the job is done.
_END: Final = -1
_DONE: Final = b""

#: Each process has so many jobs, so that a next one is there when one is done.
_JOBS_AHEAD: Final = 2

#: Between two forks none may be made by another thread: it would have ends of their pipes open.
_FORKING: Final = threading.Lock()

#: How often processes are looked at that hand nothing back, and how long one may use no processor.
LOOK_SECONDS: Final = 5.0
STUCK_SECONDS: Final = 60.0


def can_fork(cores: int) -> bool:
    """Whether processes can be forked here, and would have cores to run on."""
    return cores > 1 and hasattr(os, "fork")


def worth_it(pieces: Sequence[Piece], settings: DecodeSettings, cores: int) -> bool:
    """Whether pieces are decoded by several processes: kernels are compiled by now, and there is
    enough to share."""
    return (
        can_fork(cores)
        and bool(settings.compile_it)
        and all(piece.path != STDIN and not is_hadoop(piece.path) for piece in pieces)
        and sum(cost_bytes(stored_bytes(piece)) for piece in pieces) >= FORK_FROM_BYTES
    )


def share(
    work: Work, jobs: int, schema: pa.Schema, processes: int
) -> Generator[tuple[int, list[pa.RecordBatch]]]:
    """The batches of each job 0 to ``jobs`` with its number, in the order in which they are done.

    Jobs begin in the order of their numbers. What a process leaves undone is done in this one.
    Close it where it may not come to its end: that ends the processes.
    """
    from multiprocessing.connection import wait  # most audits have no use for it

    undone, following = set(range(jobs)), iter(range(jobs))
    with _forked(work, min(processes, jobs)) as pool:
        made: dict[int, list[pa.RecordBatch]] = {}
        in_hand: dict[Connection, deque[int]] = {line: deque() for line in pool}
        for line in [*pool] * _JOBS_AHEAD:
            _order(line, following, in_hand[line])
        idle = _Idle(pool.values())
        while lines := [line for line, numbers in in_hand.items() if numbers]:
            ready = wait(lines, LOOK_SECONDS)
            if not ready:
                idle.end_stuck()
            for line in (line for line in lines if line in ready):
                try:
                    message = line.recv_bytes()
                except (EOFError, OSError):  # it was killed
                    made.pop(in_hand.pop(line)[0], None)
                    continue
                number = in_hand[line][0]
                if message != _DONE:
                    batch = pa.ipc.read_record_batch(pa.py_buffer(message), schema)
                    made.setdefault(number, []).append(batch)
                    continue
                in_hand[line].popleft()
                undone.remove(number)
                _order(line, following, in_hand[line])
                yield number, made.pop(number, [])
    for number in sorted(undone):
        yield number, list(work(number))


def _order(line: "Connection", following: Iterator[int], in_hand: deque[int]) -> None:
    """Give a process the next job. At the end it is told so: the end of its pipe would not do, as
    what another thread forked in the meantime, for whatever, has it open."""
    number = next(following, _END)
    with contextlib.suppress(OSError):  # it was killed
        line.send(number)
    if number != _END:
        in_hand.append(number)


@contextlib.contextmanager
def _forked(work: Work, number: int) -> Iterator["dict[Connection, BaseProcess]"]:
    """Processes that take numbers from a line each and give batches for them; at the end they are
    killed, in the middle of a job or not."""
    from multiprocessing import get_context

    fork = get_context("fork")
    pool: dict[Connection, BaseProcess] = {}
    try:
        with (
            # no more processes than these, then; and one of a pool of somebody's may have none
            contextlib.suppress(OSError, AssertionError),
            _FORKING,
            kernels.nothing_compiled(),
            interrupts.none_in_a_fork(),
        ):
            for _ in range(number):
                ours, theirs = fork.Pipe()
                process: BaseProcess = fork.Process(
                    target=_serve, args=(work, theirs, [ours, *pool]), daemon=True
                )
                process.start()
                theirs.close()
                pool[ours] = process
        yield pool
    finally:
        for line, process in pool.items():
            line.close()
            process.kill()
            process.join()


def _serve(work: Work, line: "Connection", others: Iterable["Connection"]) -> NoReturn:
    """A forked process: jobs until no more come. One that fails is done again in the first process,
    which then says why.

    Args:
        others: ends of pipes that are not this process's; open here, they would hide the first
            process's end from the other processes.
    """
    try:
        interrupts.alone()
        for other in others:
            other.close()
        gc.freeze()  # looking for garbage in what was there before would copy all of it
        while (number := line.recv()) != _END:
            for batch in work(number):
                line.send_bytes(batch.serialize())
            line.send_bytes(_DONE)
    finally:
        os._exit(0)  # nothing of the first process is flushed or cleaned up twice


class _Idle:
    """How long processes have used no processor."""

    def __init__(self, processes: Iterable["BaseProcess"]) -> None:
        self._seen: dict[int, tuple[int | None, int]] = {p.pid or 0: (None, 0) for p in processes}

    def end_stuck(self) -> None:
        """End those that have long used none: a fork can find something locked by a thread that it
        has not got. What they leave is done here, whatever the reason was."""
        for pid, (before, looks) in self._seen.items():
            now = _used(pid)
            looks = looks + 1 if now is not None and now == before else 0
            self._seen[pid] = now, looks
            if looks * LOOK_SECONDS >= STUCK_SECONDS:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _used(pid: int) -> int | None:
    """Processor time that a process has used, in ticks; null if it waits for a disk or for a
    processor, or where nobody can tell."""
    try:
        status = status_of(pid)
        return None if status.state in "DR" else status.ticks
    except (OSError, ValueError, IndexError):
        return None
