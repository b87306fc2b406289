"""Where a user's caches lie, whatever the environment says."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
    assert not user_folders.made_ours(user_folders.temporary_folder() / "kernels")


OTHER: Final = 12_345  # a user that no passwd file has


@pytest.fixture
def for_all(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as /tmp is."""
    monkeypatch.setattr(kernels, "fingerprint", lambda: "1")  # the sources may be root's alone
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o1777)
        yield Path(name)


def asked_by_another_user(temporary: Path, home: Path | None = None) -> Path:
    """The folder of kernels of a user without a passwd entry, in a process of that user's."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            tempfile.tempdir = str(temporary)
            os.environ.pop("HOME", None)
            os.environ |= {} if home is None else {"HOME": str(home)}
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            os.write(writing, kernels.prepare().encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        return Path(told.read())


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")


@needs_root
def test_a_user_without_a_home_has_a_folder_that_only_that_user_can_write(for_all: Path) -> None:
    made = asked_by_another_user(for_all)
    assert made.is_relative_to(for_all / f"seqaudit-{OTHER}")
    for level in (made, made.parent, for_all / f"seqaudit-{OTHER}"):
        assert (level.stat().st_uid, level.stat().st_mode & 0o777) == (OTHER, 0o700)


@needs_root
@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_nothing_is_loaded_from_a_folder_that_another_user_made(for_all: Path, mode: int) -> None:
    for planted in (for_all / f"seqaudit-{OTHER}", for_all / f"seqaudit-{OTHER}" / "seqaudit"):
        planted.mkdir()
        planted.chmod(mode)
    assert not asked_by_another_user(for_all).is_relative_to(for_all)


@needs_root
def test_nothing_is_loaded_from_the_home_of_another_user(for_all: Path) -> None:
    home = for_all / "home"
    (home / ".cache" / "seqaudit").mkdir(parents=True)
    (home / ".cache" / "seqaudit").chmod(0o777)
    made = asked_by_another_user(for_all, home)
    assert made.is_relative_to(for_all / f"seqaudit-{OTHER}")
