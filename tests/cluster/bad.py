"""What a cluster lacks or loses: one line each, and exit code 2."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

from tests.cluster.bench import FIXTURES, Bench, Result, When
from tests.cluster.machines import DRIVER, put


def seen_by_one(b: Bench) -> str:
    """a capture that one worker of two sees"""
    put(FIXTURES / "C.pcap", "half.pcap", b.cluster.captures, b.cluster.workers[0].captures)
    done = b.command(*b.words("half.pcap"))
    assert "does not exist, says 1 of 2 executors (on seqaudit-two)" in done.line
    return f"{done.took}: {done.line}"


def another_file(b: Bench) -> str:
    """a capture that was written at another time on a worker"""
    put(FIXTURES / "C.pcap", "other.pcap", b.cluster.captures,
        *(w.captures for w in b.cluster.workers))  # fmt: skip
    os.utime(b.cluster.workers[1].captures / "other.pcap")
    done = b.command(*b.words("other.pcap"))
    assert "was written at another time there than here" in done.line
    return f"{done.took}: {done.line}"


def bare_python(b: Bench) -> str:
    """workers whose Python has no packages"""
    done = b.command(*b.words("C.pcap", python=b.cluster.bare))
    assert "all 2 executors: Python has no numpy, pyarrow, numba" in done.line
    return f"{done.took}: {done.line}"


def half_python(b: Bench) -> str:
    """one worker of two whose Python has no packages"""
    done = b.command(*b.words("C.pcap", python=b.otherwise("half", f"exec {b.cluster.bare}")))
    assert "1 of 2 executors (on seqaudit-two): Python has no numpy, pyarrow" in done.line
    return f"{done.took}: {done.line}"


def other_python(b: Bench) -> str:
    """one worker of two with another version of Python, and with one that does not start"""
    here = ".".join(map(str, sys.version_info[:2]))
    found = [*Path("~/.pyenv/versions").expanduser().glob("3.1*/bin/python3.1?")]
    found += [Path(path) for minor in range(10, 20) if (path := shutil.which(f"python3.{minor}"))]
    ask = ("-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    said = [(subprocess.run([path, *ask], capture_output=True, text=True, check=False), path)
            for path in found]  # fmt: skip
    others = {told.stdout.strip(): path for told, path in said if not told.returncode}
    others.pop(here, None)
    assert others, "this machine has no other Python"
    other, program = others.popitem()
    done = b.command(*b.words("C.pcap", python=b.otherwise("other", f"exec {program}")))
    assert f"Python is {other} and this one {here}" in done.line
    told = [f"{done.took}: {done.line}"]
    done = b.command(*b.words("C.pcap", python=b.otherwise("none", "exec false")))
    assert "1 of 2 executors (on seqaudit-two): the workers' Python ends as it starts" in done.line
    return "; ".join([*told, f"{done.took}: {done.line}"])


def other_numpy(b: Bench) -> str:
    """one worker of two with a numpy of another major version"""
    folder = b.cluster.folder / "numpy"
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target")
    subprocess.run([*pip, str(folder), "numpy==1.26.4"], check=True, capture_output=True)
    wrapper = b.otherwise("older", f'PYTHONPATH="{folder}:$PYTHONPATH" exec {b.cluster.python}')
    done = b.command(*b.words("C.pcap", python=wrapper))
    assert "1 of 2 executors (on seqaudit-two): numpy is 1.26.4, and " in done.line
    return f"{done.took}: {done.line}"


def no_python(b: Bench) -> str:
    """workers without that program"""
    done = b.command(*b.words("C.pcap", python=Path("/nowhere/python")))
    assert "all 2 executors: the workers have no such program" in done.line
    assert "/nowhere/python" in done.line
    return f"{done.took}: {done.line}"


def late_python(b: Bench) -> str:
    """a worker that is added in mid-run, whose Python does not start"""
    name = b.folder("many")
    first = b.cluster.workers[0]
    late = f"late-{len(b.cluster.workers)}"
    process = b.begin(b.words(name, python=b.otherwise("late", "exec false", f"*-{late}")))
    meanwhile = When(process, lambda: first.has_python, 1.0, lambda: b.cluster.worker(late))
    done = b.end(process)
    meanwhile.was_in_time()
    b.cluster.workers[-1].kill()
    assert f"1 of 3 executors (on seqaudit-{late}): the workers' Python ends" in done.line
    return f"{done.took}: {done.line}"


def out_of_memory(b: Bench) -> str:
    """Python of executors with too little memory; Python, and executors, that the system ends"""
    done = b.command(*b.words("--spark-conf", "spark.executor.pyspark.memory=60m", "C.pcap"))
    assert "all 2 executors: Python runs out of memory as it starts" in done.line
    told = [f"{done.took}: {done.line}"]
    for word, forks, line in (
        ("pyspark.daemon", True, "a Python worker ended unexpectedly: killed, or out of memory"),
        ("CoarseGrainedExecutorBackend", False, "an executor was lost: killed, or out of memory"),
    ):
        done = killed_again_and_again(b, word, forks=forks)
        assert line in done.line
        told.append(f"{done.took}: {done.line}")
    return "; ".join(told)


def killed_again_and_again(b: Bench, word: str, *, forks: bool) -> Result:
    """A job of which the system ends such processes, from when they decode."""
    process = b.begin(b.words(b.folder("many")))
    b.until_running(process)
    done = threading.Event()

    def kill() -> None:
        while not done.wait(0.3):
            for worker in b.cluster.workers:
                if worker.has_python:  # tasks are at work
                    worker.kill_running(word, forks=forks)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        return b.end(process)
    finally:
        done.set()
        killer.join()


def no_master(b: Bench) -> str:
    """a master that is not there, and a listener that is none"""
    told = []
    with socket.create_server((DRIVER, 0)) as silent:
        for port in (1, silent.getsockname()[1]):
            master = f"spark://{DRIVER}:{port}"
            done = b.command("audit", "--format", "json", "--master", master, "C.pcap")
            assert "no Spark master answers" in done.line
            assert done.seconds < 60, done.seconds
            told.append(f"{done.took}: {done.line}")
    return "; ".join(told)
