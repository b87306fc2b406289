"""What killed commands leave behind is removed by a later one, and nothing that somebody has."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from seqaudit.pipeline.shared import private_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def killed(make: str) -> Path:
    """What a process made before it was killed."""
    code = f"""
import os, signal, tempfile
from seqaudit.pipeline.shared import private_files
tempfile.tempdir = {tempfile.gettempdir()!r}
print(private_files.{make}().path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    path = Path(done.stdout.strip())
    assert path.exists()
    return path


def test_what_a_killed_process_had_goes_when_the_next_is_made() -> None:
    left = [killed("make_folder"), killed("make_file")]
    (private_files.make_folder().path / "log").write_text("is in use")
    assert [path.exists() for path in left] == [False, False]


def test_what_somebody_has_stays_also_if_only_a_fork_of_it_lives(folder: Path) -> None:
    own = private_files.make_folder()
    forked = private_files.make_file()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    os.close(forked._lock)
    another = private_files.make_file()
    assert own.path.is_dir()
    assert forked.path.is_file()
    os.close(writer)
    os.waitpid(pid, 0)
    private_files.make_file().remove()
    assert not forked.path.exists()
    own.remove()
    own.remove()
    another.remove()
    assert list(folder.iterdir()) == []


def test_other_files_and_links_stay(folder: Path) -> None:
    kept = folder / "kept"
    kept.mkdir()
    (folder / f"{private_files.FOLDER}link").symlink_to(kept)
    (folder / "seqaudit-else").touch()
    private_files.make_folder().remove()
    assert sorted(path.name for path in folder.iterdir()) == [
        "kept",
        "seqaudit-else",
        f"{private_files.FOLDER}link",
    ]


def test_what_is_taken_for_a_leftover_before_it_is_locked_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual, swept = os.open, iter([True, False, False])

    def slow(path: Path, *flags: int) -> int:
        descriptor = usual(path, *flags)
        if next(swept):
            private_files._remove_leftover(path)
        return descriptor

    made = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", slow)
        made.append(private_files.make_folder())
    assert made[0].path.is_dir()
    made[0].remove()
