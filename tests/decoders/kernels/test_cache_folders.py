"""Where a user's caches lie, whatever the environment says."""

import os
import tempfile
from pathlib import Path

import pytest

from seqaudit.decoders.kernels import cache_folders as user_folders
from seqaudit.decoders.kernels import loader as kernels


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return tmp_path


@pytest.mark.parametrize("given", ["", "relative/folder"])
def test_only_an_absolute_cache_home_counts(
    given: str, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folders))
    assert user_folders.cache_folder() == folders / "seqaudit"
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert user_folders.cache_folder() == folders / "home" / ".cache" / "seqaudit"


def test_a_user_without_a_home_has_a_folder_beside_temporary_files(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", unknown)
    own = folders / "temporary" / f"seqaudit-{os.getuid()}"
    assert user_folders.cache_folder() == own / "seqaudit"


def test_kernels_go_to_a_private_folder_where_the_home_takes_nothing(folders: Path) -> None:
    (folders / "home").write_text("a file, no folder")
    made = Path(kernels.prepare())
    assert made.parent == user_folders.temporary_folder()
    assert made.parent.stat().st_mode & 0o777 == 0o700
    assert list(made.iterdir()) == []


def test_kernels_are_kept_in_no_folder_that_others_could_have_filled(folders: Path) -> None:
    (folders / "home").write_text("a file, no folder")
    own = user_folders.temporary_folder()
    own.mkdir()
    own.chmod(0o777)
    made = Path(kernels.prepare())
    assert not user_folders.can_write(made)
    assert list(own.iterdir()) == []


def test_nor_in_one_that_somebody_else_leads_to(folders: Path) -> None:
    (folders / "elsewhere").mkdir()
    user_folders.temporary_folder().symlink_to(folders / "elsewhere")
    assert not user_folders.made_private(user_folders.temporary_folder() / "kernels")
