"""Forked processes give what one process gives, also where one of them dies or Ctrl-C comes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seqaudit.decoders.capture.pieces import TO_THE_END, Piece, plan_pieces
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.direct import engine as direct
from seqaudit.pipeline.direct import workers as forked
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.planning import Planning
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.report.judged import places_of_rules
from seqaudit.pipeline.shared import job
from seqaudit.pipeline.shared.ordered import ordered
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.progress import Silent
from seqaudit.replay.contract.results import (
    ACCOUNT,
    FINDING,
    GAP,
    JUDGED,
    PARAMETER,
    STREAM,
    ResultKind,
)
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings, Vantage

CAPTURE = Path("fixtures/jgroups/n4-loss-1/B.pcap")
SETTINGS = DecodeSettings(compile_it=True)
NUMBERS = pa.schema([("number", pa.int64())])


def tasks() -> list[list[Piece]]:
    size = CAPTURE.stat().st_size
    cuts = [size // 4, size // 2, 3 * size // 4]
    first, *rest = plan_pieces(str(CAPTURE), 0, 0, TO_THE_END, cuts=cuts)
    return [[first], rest[:2], rest[2:]]


@pytest.fixture(autouse=True)
def from_the_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "FORK_FROM_BYTES", 1)
    monkeypatch.setattr(forked, "FORK_FROM_PACKED", 1)


def decoded(cores: int, progress: Any = None) -> pa.Table:
    return events(direct.decode(tasks(), SETTINGS, True, progress or Silent(), None, cores))


def events(parts: pa.Table) -> pa.Table:
    """The events of parts in their order."""
    return ordered(pa.Table.from_batches(direct.events_of(parts), EVENTS), "conversation")


#: Of whatever their rows say.
KINDS: tuple[ResultKind[Any], ...] = (ACCOUNT, FINDING, GAP, STREAM)


def replayed(cores: int) -> dict[str, Any]:
    settings = ReplaySettings((CaptureSettings(Vantage("unknown", None, "default", ""), {}),))
    held = direct.replay(direct.decode(tasks(), SETTINGS, True, Silent()), settings, cores)
    found: dict[str, Any] = {kind: list(held.of(kind)) for kind in KINDS}
    assert found[ACCOUNT] and found[STREAM]
    # more than once a process tells what it judged and by which parameters; the report once
    parameters = {repr(row) for row in held.of(PARAMETER)}
    return found | {"judged": places_of_rules(held.of(JUDGED), (), {}), "parameters": parameters}


def children() -> set[int]:
    """The processes that this one has started, such as another test's JVM."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(path.parent.name))
    return found


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def dies_at(usual: Any, chosen: int) -> Any:
    """A stage that a forked process does not survive, in its call of that number there."""
    parent, calls = os.getpid(), iter(range(1_000))

    def stage(*arguments: Any) -> Iterator[pa.RecordBatch]:
        if os.getpid() != parent and next(calls) == chosen:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from usual(*arguments)

    return stage


def test_two_processes_give_what_one_gives() -> None:
    pieces = [piece for task in tasks() for piece in task]
    assert forked.worth_it(pieces, SETTINGS, 2)
    assert not forked.worth_it(pieces, SETTINGS, 1)
    assert decoded(2).equals(decoded(1))
    assert replayed(2) == replayed(1)


def test_what_a_java_of_this_process_reads_is_read_by_no_fork() -> None:
    pieces = [piece for task in tasks() for piece in task]
    assert not forked.worth_it(
        [*pieces[1:], replace(pieces[0], path="hdfs://h/x.pcap")], SETTINGS, 2
    )


@pytest.mark.parametrize("chosen", [0, 1])
def test_what_a_killed_process_leaves_is_decoded_here(
    monkeypatch: pytest.MonkeyPatch, chosen: int
) -> None:
    alone = decoded(1)
    monkeypatch.setattr(direct, "decode_pieces", dies_at(job.decode_pieces, chosen))
    assert decoded(2).equals(alone)


@pytest.mark.parametrize("chosen", [0, 1])
def test_what_a_killed_process_leaves_is_replayed_here(
    monkeypatch: pytest.MonkeyPatch, chosen: int
) -> None:
    alone = replayed(1)
    monkeypatch.setattr(direct, "replay_stage", dies_at(job.replay_stage, chosen))
    assert replayed(2) == alone


def test_the_report_does_not_depend_on_who_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [CaptureInput(str(path)) for path in sorted(CAPTURE.parent.glob("*.pcap"))]
    options = Options(engine="direct", compile_it=True)
    shared = to_json(audit(inputs, options))
    monkeypatch.setattr(forked, "can_fork", lambda cores: False)
    assert to_json(audit(inputs, options)) == shared


@pytest.mark.parametrize(
    ("capture", "several"),
    [
        ("zenoh/compress-udp-loss-1/pub.pcap", True),
        ("zenoh/lowlatency-tcp-1/sub.pcap", False),
        ("jgroups/ipv6-discard-1/A-any.pcap", False),
    ],
)
def test_what_would_have_to_be_kept_until_all_is_decoded_is_not_cut(
    monkeypatch: pytest.MonkeyPatch, capture: str, several: bool
) -> None:
    monkeypatch.setattr(direct, "SMALLEST_BYTES", 2_000)
    inputs = [CaptureInput(f"fixtures/{capture}")]
    options = Options(engine="direct", compile_it=True)
    assert (len(Planning(inputs, options, Silent()).plan().pieces) > 1) is several
    shared = to_json(audit(inputs, options))
    monkeypatch.setattr(forked, "can_fork", lambda cores: False)
    assert to_json(audit(inputs, options)) == shared


def test_ctrl_c_leaves_the_tasks_up_to_the_first_that_is_not_done() -> None:
    class Interrupts(Silent):
        def done(self, steps: int, also: str = "") -> None:
            raise KeyboardInterrupt

    with pytest.raises(direct.DecodeStoppedError) as stopped:
        decoded(2, Interrupts())
    whole = decoded(1)
    known = events(stopped.value.parts)
    assert set(known["frame"].to_pylist()) <= set(whole["frame"].to_pylist())
    splits = {frame >> 40 for frame in known["frame"].to_pylist()}
    assert splits in (set(), {0})  # the task that was done, if it is the first one


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"number": list(numbers)}, schema=NUMBERS)


def shared(work: Any, jobs: int, processes: int) -> list[tuple[int, list[int]]]:
    return sorted(
        (number, [n for one in batches for n in one.column("number").to_pylist()])
        for number, batches in forked.share(work, jobs, NUMBERS, processes)
    )


def test_each_job_is_done_once_and_all_its_batches_come(tmp_path: Path) -> None:
    def work(number: int) -> Iterable[pa.RecordBatch]:
        with (tmp_path / str(number)).open("ab") as seen:
            seen.write(b"x")
        yield batch()
        yield from (batch(number, part) for part in range(number % 3))

    expected = [
        (number, [n for part in range(number % 3) for n in (number, part)]) for number in range(100)
    ]
    assert shared(work, 100, 3) == expected
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"x"}
    assert shared(work, 0, 3) == []


def test_a_batch_may_be_larger_than_a_pipe_holds() -> None:
    large = range(1_000_000)
    assert shared(lambda number: [batch(*large), batch(number)], 3, 2) == [
        (number, [*large, number]) for number in range(3)
    ]


def test_what_fails_in_a_process_fails_here_too() -> None:
    def work(number: int) -> Sequence[pa.RecordBatch]:
        assert number != 2, "two is one too many"
        return [batch(number)]

    with pytest.raises(AssertionError, match="two is one too many"):
        shared(work, 4, 2)


def test_where_nothing_can_be_forked_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    assert shared(lambda number: [batch(number)], 3, 2) == [(0, [0]), (1, [1]), (2, [2])]


def test_processes_end_with_the_first_one_however_it_ends(tmp_path: Path) -> None:
    """Killed, it can tell them nothing: they find their pipes closed."""
    code = f"""
import os, time
from pathlib import Path
from seqaudit.pipeline.direct import workers as forked
from tests.pipeline.direct.test_workers import NUMBERS, batch
def work(number):
    Path({str(tmp_path)!r}, str(os.getpid())).touch()
    while True:
        time.sleep(0.01)
        yield batch(*range(1000))
for _ in forked.share(work, 4, NUMBERS, 2):
    pass
"""
    first = subprocess.Popen([sys.executable, "-c", code])
    _until(lambda: len(list(tmp_path.iterdir())) == 2)
    pids = [int(path.name) for path in tmp_path.iterdir()]
    first.kill()
    first.wait()
    _until(lambda: not any(map(_runs, pids)))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(happened: Any) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_process_that_hangs_is_ended_and_its_work_done_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forked, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(forked, "STUCK_SECONDS", 0.2)
    parent = os.getpid()

    def work(number: int) -> Iterable[pa.RecordBatch]:
        if number == 2 and os.getpid() != parent:
            signal.pause()
        return [batch(number)]

    assert shared(work, 5, 2) == [(number, [number]) for number in range(5)]


def test_a_process_that_works_long_is_not_taken_for_one_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forked, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(forked, "STUCK_SECONDS", 0.2)
    parent = os.getpid()

    def work(number: int) -> Iterable[pa.RecordBatch]:
        assert os.getpid() != parent
        begun = time.process_time()
        while time.process_time() - begun < 0.6:
            pass
        return [batch(number)]

    assert shared(work, 1, 1) == [(0, [0])]


def test_threads_that_share_work_at_once_do_not_wait_for_each_other() -> None:
    """Each has the others' processes forked from it, and they have its pipes open."""
    with ThreadPoolExecutor(4) as threads:
        results = list(
            threads.map(lambda _: shared(lambda n: [batch(n)], 20, 2), range(12), timeout=120)
        )
    assert results == [[(number, [number]) for number in range(20)]] * 12


def test_processes_forked_by_others_meanwhile_hold_nothing_up() -> None:
    def work(number: int) -> Iterable[pa.RecordBatch]:
        return [batch(number)]

    with contextlib.closing(forked.share(work, 8, NUMBERS, 2)) as pool:
        first = next(pool)
        pid = os.fork()
        if pid == 0:  # it has all our pipes open, and lives on
            signal.pause()
        try:
            numbers = sorted([first[0], *(number for number, _ in pool)])
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert numbers == list(range(8))


def test_a_fork_waits_for_a_thread_that_compiles() -> None:
    """It would find the compiler locked by a thread that it has not got."""

    def work(number: int) -> Iterable[pa.RecordBatch]:
        with kernels._COMPILING:
            return [batch(number)]

    begun, ended = threading.Event(), threading.Event()

    def compiles() -> None:
        with kernels._COMPILING:
            begun.set()
            ended.wait(0.3)

    thread = threading.Thread(target=compiles)
    thread.start()
    begun.wait()
    assert shared(work, 2, 2) == [(0, [0]), (1, [1])]
    thread.join()
