"""However a command is told to end, it ends soon and leaves nothing behind (pipeline/README.md 3,
cli/README.md 1)."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

#: The audit of a capture as a Spark job.
AUDIT = ["audit", "--engine", "spark", "fixtures/jgroups/n4-loss-1/C.pcap"]


@pytest.fixture
def hanging_java(tmp_path: Path) -> dict[str, str]:
    """An environment with a Java that does nothing until its stdin ends; it says that it runs."""
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/runs\ncat\n")
    program.chmod(0o755)
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="17.0.9"\n')
    temporary = tmp_path / "with a space"
    temporary.mkdir()
    return dict(os.environ) | {
        "JAVA_HOME": str(tmp_path / "java"),
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "MARK": str(tmp_path),
    }


def marked(mark: str) -> list[str]:
    """Command lines of the processes that have this mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"MARK={mark}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return [line for line in found if line]


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ignoring(*numbers: int) -> Callable[[], None]:
    """Only these signals are switched off in a new process, whatever they are here."""

    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number in numbers else signal.SIG_DFL)

    return prepare


def started(
    words: list[str], environment: dict[str, str], before: Callable[[], None]
) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "seqaudit.cli", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_while_spark_starts_a_command_leaves_nothing(
    number: int, hanging_java: dict[str, str], tmp_path: Path
) -> None:
    command = started(AUDIT, hanging_java, ignoring())
    until((tmp_path / "runs").exists)
    assert list(Path(hanging_java["TMPDIR"]).iterdir()) != []
    command.send_signal(number)
    out, err = command.communicate(timeout=30)
    assert (command.returncode, out) == (130, ""), err
    assert err.strip() in ("interrupted", "interrupted while Spark was starting")
    assert list(Path(hanging_java["TMPDIR"]).iterdir()) == []
    assert marked(str(tmp_path)) == []


INTERRUPTED_IN_A_TEXT = """
import os, signal
from seqaudit.cli.main import main
from seqaudit.pipeline.spark import java

def find_java():
    exec("os.kill(os.getpid(), signal.SIGINT)\\nos.getpid()", globals())

java.find_java = find_java
main()
"""


def test_an_interrupt_in_the_text_of_an_exec_ends_a_command_as_any_other_does(
    tmp_path: Path,
) -> None:
    """Dataclasses are made by one; Python would end a module by the signal."""
    (tmp_path / "command.py").write_text(INTERRUPTED_IN_A_TEXT)
    command = subprocess.run(
        [sys.executable, "-m", "command", *AUDIT],
        env=dict(os.environ) | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=ignoring(),
    )
    assert (command.returncode, command.stdout) == (130, ""), command.stderr
    assert command.stderr == "interrupted while Spark was starting\n"


def test_signals_that_whoever_started_it_switched_off_do_not_end_a_command(
    hanging_java: dict[str, str], tmp_path: Path
) -> None:
    command = started(
        AUDIT,
        hanging_java,
        ignoring(signal.SIGINT, signal.SIGHUP),
    )
    until((tmp_path / "runs").exists)
    command.send_signal(signal.SIGINT)
    command.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        command.wait(0.5)
    command.send_signal(signal.SIGTERM)
    assert command.communicate(timeout=30)[0] == ""
    assert command.returncode == 130
    assert marked(str(tmp_path)) == []


def test_a_command_that_is_killed_leaves_only_what_the_next_one_removes(
    hanging_java: dict[str, str], tmp_path: Path
) -> None:
    temporary = Path(hanging_java["TMPDIR"])
    command = started(AUDIT, hanging_java, ignoring())
    until((tmp_path / "runs").exists)
    command.kill()
    command.communicate()
    until(lambda: not marked(str(tmp_path)))  # also a daemon that it had forked just then
    (left,) = temporary.iterdir()
    again = started(AUDIT, hanging_java, ignoring())
    until(lambda: not left.exists() and list(temporary.iterdir()))
    again.terminate()
    again.communicate(timeout=30)
    assert list(temporary.iterdir()) == []


def test_standard_input_that_is_still_coming_leaves_no_file(
    hanging_java: dict[str, str], tmp_path: Path
) -> None:
    temporary = Path(hanging_java["TMPDIR"])
    command = subprocess.Popen(
        [sys.executable, "-m", "seqaudit.cli", "audit", "--engine", "spark", "-"],
        env=hanging_java,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=ignoring(),
    )
    until(lambda: list(temporary.glob("seqaudit-input-*")))
    command.terminate()
    out, _ = command.communicate(timeout=30)
    assert (command.returncode, out) == (130, "")
    assert list(temporary.iterdir()) == []
    assert marked(str(tmp_path)) == []


def test_with_too_little_memory_for_spark_a_command_names_the_direct_engine(tmp_path: Path) -> None:
    """As under ``ulimit -v``: Java cannot have its heap, and the same limit is enough without."""
    limit = 1_500_000 * 1024
    environment = dict(os.environ) | {"XDG_CACHE_HOME": str(tmp_path)}
    for engine in ("spark", "direct"):
        words = ["audit", "-q", "--exit-zero", "--engine", engine, AUDIT[-1]]
        ended = subprocess.run(
            [sys.executable, "-m", "seqaudit.cli", *words],
            env=environment, capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )  # fmt: skip
        if engine == "spark":
            assert (ended.returncode, ended.stdout) == (2, "")
            assert len(ended.stderr.splitlines()) == 1
            assert "--engine direct" in ended.stderr
        else:
            assert ended.returncode == 0, ended.stderr
            assert "66 messages lost, all recovered" in ended.stdout
