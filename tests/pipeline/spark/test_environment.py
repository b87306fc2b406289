"""The packages of workers in an archive: whole, and enough by themselves."""

import subprocess
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from seqaudit.cli.commands.spark import command
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.spark import environment, worker_look

FEW = ("pyyaml", "dpkt", "lz4", "zstandard")


def test_a_python_without_packages_has_those_of_the_archive(tmp_path: Path) -> None:
    versions = environment.pack(tmp_path / "env.tar.gz", FEW)
    assert sorted(map(str.lower, versions)) == sorted(FEW)
    with tarfile.open(tmp_path / "env.tar.gz") as archive:
        archive.extractall(tmp_path / "environment", filter="data")
    program = "import yaml, dpkt, lz4.frame, zstandard; print(yaml.__file__)"
    python = tmp_path / "environment" / "bin" / "python"
    done = subprocess.run(
        [python, "-S", "-c", program], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.startswith(f"{tmp_path}/environment/packages/yaml/")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["env.tar.gz"]


def test_what_a_package_needs_comes_with_it() -> None:
    names = {
        found.name.lower() for found in environment._closure(tuple(worker_look.NEEDED.values()))
    }
    assert names == {*worker_look.NEEDED.values(), "llvmlite"}


def test_a_package_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SeqauditError, match=r"^no-such-package is not installed here; pip install"):
        environment.pack(tmp_path / "env.tar.gz", ("no-such-package",))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SeqauditError, match="cannot be written"):
        environment.pack(tmp_path / "nowhere" / "env.tar.gz", FEW)


def test_the_command_says_what_it_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = environment.pack
    monkeypatch.setattr(environment, "pack", lambda target: few(target, ("dpkt",)))
    done = CliRunner().invoke(command, ["environment", "-o", str(tmp_path / "env.tar.gz")])
    assert done.exit_code == 0
    assert "env.tar.gz: 0 MB: dpkt " in done.stderr
    assert (tmp_path / "env.tar.gz").is_file()
