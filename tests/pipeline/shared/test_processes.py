"""All processes of a command run the same code, whatever lies in the folder that it runs in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seqaudit.pipeline.shared.processes import SAFE_PATH, environment


def test_workers_look_where_the_command_looks(fixtures: Path, tmp_path: Path) -> None:
    # as in the folder above a clone of another version, beside somebody's own select.py
    (tmp_path / "select.py").write_text("raise SystemExit('the wrong select')")
    other = tmp_path / "seqaudit" / "pipeline"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    (other / "daemon.py").write_text("raise SystemExit('the wrong daemon')")

    def seqaudit(*args: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "seqaudit.cli", "audit", *args],
            cwd=tmp_path,
            env=dict(os.environ) | {"PYTHONPATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    capture = str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    assert seqaudit("--engine", "spark", capture) == seqaudit("--engine", "direct", capture)


def test_who_looks_in_the_working_folder_has_its_processes_look_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["/usr/lib", str(tmp_path / "deeper")])
    assert environment() == {SAFE_PATH: "1"}
    for entry in ("", ".", str(tmp_path)):
        monkeypatch.setattr(sys, "path", [entry, "/usr/lib"])
        assert environment() == {}


def test_a_working_folder_that_is_gone_is_not_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert environment() == {SAFE_PATH: "1"}
