"""Files are whole or not there, and nothing else is put aside for them."""

import os
from pathlib import Path
from threading import Thread

import pytest

from seqaudit.pipeline.shared.whole_file import in_place_of


def test_a_file_takes_the_place_of_another_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    with in_place_of(str(target)) as path:
        path.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_of_a_file_that_failed_nothing_is_left(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), in_place_of(str(target)) as path:
        path.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    real, link = tmp_path / "kept" / "of_today.json", tmp_path / "latest.json"
    real.write_text("old")
    link.symlink_to(real)
    with in_place_of(str(link)) as path:
        path.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    with in_place_of(str(pipe)) as path:
        path.write_text("to whom reads")
    reader.join(10)
    assert got == ["to whom reads"]
    assert pipe.is_fifo()
