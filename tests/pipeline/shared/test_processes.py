"""All processes of a command run the same code, whatever lies in the folder that it runs in."""

import sys
from pathlib import Path

import pytest

from seqaudit.pipeline.shared.processes import SAFE_PATH, environment


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
