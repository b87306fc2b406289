"""Work shared among processes of this machine, forked when there is enough of it
(pipeline/README.md 2).

A fork has all that this process has, compiled kernels and rows in memory, so nothing is handed to
it but the numbers of jobs: the next one whenever it is ready. It hands back Arrow batches as it
makes them. Each process has a pipe of its own for them, so what a killed one leaves undone shows as
its pipe's end, and is done here.
"""

import contextlib
import gc
import os
import select
import signal
import struct
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Final, NoReturn

import pyarrow as pa

from seqaudit.decoders.capture.hadoop import is_hadoop
from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.capture.reader import STDIN
from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.shared.plan import cost_bytes, stored_bytes
from seqaudit.pipeline.shared.processes import status_of

Work = Callable[[int], Iterable[pa.RecordBatch]]
Hold = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]

#: What one process decodes in a quarter of a second: a second one costs a tenth of that.
FORK_FROM_BYTES: Final = 150_000_000

#: Rows that one process replays in about a third of a second.
FORK_FROM_ROWS: Final = 10_000

#: What goes ahead of a batch: its job and its size; ``_END`` as its size ends the job, and as the
#: number of a job the process.
_HEAD: Final = struct.Struct("<iq")
_NUMBER: Final = struct.Struct("<i")
_END: Final = -1

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


def _as_it_is(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    return batches


def share(
    work: Work, jobs: int, schema: pa.Schema, processes: int, hold: Hold = _as_it_is
) -> Generator[tuple[int, list[pa.RecordBatch]]]:
    """The batches of each job 0 to ``jobs`` with its number, in the order in which they are done.

    Jobs begin in the order of their numbers. What a process leaves undone is done in this one.
    Close it where it may not come to its end: that ends the processes.

    Args:
        hold: what a batch is held as until its job is done.
    """
    undone = set(range(jobs))
    with _Processes(work, min(processes, jobs)) as pool:
        following = pool.order(0, min(2 * processes, jobs))  # a next one is there when one is done
        if following == jobs:
            pool.no_more()
        made: dict[int, list[pa.RecordBatch]] = {}
        for number, message in pool.messages():
            if message is not None:
                batch = pa.ipc.read_record_batch(message, schema)
                made.setdefault(number, []).extend(hold([batch]))
                continue
            undone.remove(number)
            if following < jobs:
                following = pool.order(following, following + 1)
                if following == jobs:
                    pool.no_more()
            yield number, made.pop(number, [])
    for number in sorted(undone):
        yield number, list(hold(work(number)))


class _Processes:
    """Forked processes that take numbers from one pipe and write what they make to one each."""

    def __init__(self, work: Work, number: int) -> None:
        self._pids: list[int] = []
        self._results: list[int] = []
        self._idle: dict[int, tuple[int | None, int]] = {}
        self._take, self._give = os.pipe()
        try:
            with _FORKING, kernels.nothing_compiled(), interrupts.none_in_a_fork():
                for _ in range(number):
                    with contextlib.suppress(OSError):  # no more processes than these, then
                        self._fork(work)
        finally:
            os.close(self._take)

    def __enter__(self) -> "_Processes":
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes, in the middle of a job or not."""
        self.no_more()
        for result in self._results:
            os.close(result)
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # whoever started us ignores such ends
                os.waitpid(pid, 0)

    def order(self, first: int, stop: int) -> int:
        """Give out some numbers; the number that follows."""
        with contextlib.suppress(BrokenPipeError):  # nobody is left to take them
            os.write(self._give, b"".join(map(_NUMBER.pack, range(first, stop))))
        return stop

    def no_more(self) -> None:
        """No numbers follow: who is ready ends.

        Each is told so. The end of the pipe would not do: what another thread forked in the
        meantime, for whatever, has it open.
        """
        if self._give >= 0:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._give, _NUMBER.pack(_END) * len(self._pids))
            os.close(self._give)
        self._give = -1

    def messages(self) -> Iterator[tuple[int, pa.Buffer | None]]:
        """Numbers of jobs and what comes of them; null: the job is done. Ends with the last
        process."""
        ready = select.poll()
        for result in self._results:
            ready.register(result, select.POLLIN)
        open_results = set(self._results)
        while open_results:
            some = ready.poll(LOOK_SECONDS * 1000)
            if not some:
                self._end_stuck()
            for result, _ in some:
                head = _read(result, _HEAD.size)
                if head is not None:
                    number, size = _HEAD.unpack(head)
                    if size == _END:
                        yield number, None
                        continue
                    message = _read(result, size)
                    if message is not None:
                        yield number, message
                        continue
                ready.unregister(result)
                open_results.remove(result)

    def _end_stuck(self) -> None:
        """End processes that have long used no processor: a fork can find something locked by a
        thread that it has not got. What they leave is done here, whatever the reason was."""
        for pid in self._pids:
            before, looks = self._idle.get(pid, (None, 0))
            now = _used(pid)
            looks = looks + 1 if now is not None and now == before else 0
            self._idle[pid] = now, looks
            if looks * LOOK_SECONDS >= STUCK_SECONDS:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _fork(self, work: Work) -> None:
        result, sink = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            os.close(result)
            os.close(sink)
            raise
        if pid == 0:
            _serve(work, self._take, sink, (self._give, result, *self._results))
        os.close(sink)
        self._pids.append(pid)
        self._results.append(result)


def _serve(work: Work, take: int, sink: int, others: Iterable[int]) -> NoReturn:
    """A forked process: jobs until no more come. One that fails is done again in the first process,
    which then says why.

    Args:
        others: ends of pipes that are not this process's; open here, they would hide the first
            process's end from the other processes.
    """
    try:
        interrupts.alone()
        for descriptor in others:
            os.close(descriptor)
        gc.freeze()  # looking for garbage in what was there before would copy all of it
        while taken := os.read(take, _NUMBER.size):
            (number,) = _NUMBER.unpack(taken)
            if number == _END:
                break
            for batch in work(number):
                message = batch.serialize()
                _write(sink, _HEAD.pack(number, message.size))
                _write(sink, message)
            _write(sink, _HEAD.pack(number, _END))
    finally:
        os._exit(0)  # nothing of the first process is flushed or cleaned up twice


def _used(pid: int) -> int | None:
    """Processor time that a process has used, in ticks; null if it waits for a disk or for a
    processor, or where nobody can tell."""
    try:
        status = status_of(pid)
        return None if status.state in "DR" else status.ticks
    except (OSError, ValueError, IndexError):
        return None


def _write(sink: int, data: bytes | pa.Buffer) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(sink, rest) :]


def _read(source: int, size: int) -> pa.Buffer | None:
    """So many bytes; null where they do not come any more."""
    buffer = pa.allocate_buffer(size)
    rest = memoryview(buffer).cast("B")
    while rest:
        read = os.readv(source, [rest])
        if read == 0:
            return None
        rest = rest[read:]
    return buffer
