"""What is installed: every folder of code, and the data files in them."""

import inspect
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest

from seqaudit.replay.contract.version import VERSION

ROOT: Final = Path(__file__).parent.parent
TOPS: Final = ("cli", "decoders", "pipeline", "replay")


def test_every_folder_with_code_is_a_package_that_is_installed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {path.parent for top in TOPS for path in (ROOT / top).rglob("*.py")}
    packages = ["seqaudit." + ".".join(path.relative_to(ROOT).parts) for path in folders]
    assert sorted(listed) == sorted(packages)
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_the_version_stands_in_the_code_as_in_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_what_spark_asks_for_is_installed_without_an_extra() -> None:
    """PySpark names none of its own needs: a job fails at its first step without them."""
    import pyspark.sql.pandas.functions as of_spark

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    there = {re.split(r"[><=,]", need)[0] for need in project["dependencies"]}
    asked = set(re.findall(r"require_minimum_(\w+)_version", inspect.getsource(of_spark)))
    assert asked and asked <= there


#: What the code reads, what users are pointed to, and licences; pictures are for the README alone.
DATA: Final = (".yaml", ".json", ".md", ".typed", ".js", ".css", ".LICENSE")

_BUILD: Final = """
import sys
from setuptools import build_meta
folder = sys.argv[1]  # setuptools puts words of its own there
print("built", build_meta.build_wheel(folder), build_meta.build_sdist(folder))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and a source distribution."""
    top = tmp_path_factory.mktemp("packages")
    return build(top / "tree", top / "dist")


def build(tree: Path, out: Path) -> tuple[Path, Path]:
    """The wheel and the source distribution, of a copy of the tree in ``tree``: building writes
    beside the code. What is there already is not built again."""
    if out.exists():
        (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
        return wheel, sdist
    out.mkdir()
    for top in TOPS:
        shutil.copytree(ROOT / top, tree / top, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, tree)
    gone = tree / "build" / "lib" / "seqaudit" / "gone.py"  # of an earlier build
    gone.parent.mkdir(parents=True)
    gone.touch()
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, str(out)], cwd=tree, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    _, built_wheel, built_sdist = done.stdout.splitlines()[-1].split()
    return out / built_wheel, out / built_sdist


def data_files() -> set[str]:
    """Files beside the code that are installed with it."""
    return {
        path.relative_to(ROOT).as_posix()
        for top in TOPS
        for path in (ROOT / top).rglob("*")
        if path.name.endswith((".py", *DATA)) and "__pycache__" not in path.parts
    }


def test_the_wheel_has_all_code_and_data_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
    inside = {name.removeprefix("seqaudit/") for name in names if name.startswith("seqaudit/")}
    assert inside == data_files()
    others = {name.split("/", 1)[1] for name in names if not name.startswith("seqaudit/")}
    assert "licenses/LICENSE" in others
    assert all(".dist-info/" in name for name in names if not name.startswith("seqaudit/"))


def test_the_source_distribution_has_all_that_a_build_needs(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames() if "/" in name}
    assert data_files() | {"pyproject.toml", "setup.py", "README.md", "LICENSE"} <= names


def test_what_is_installed_from_the_wheel_works_without_the_tree(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    place = tmp_path / "installed"
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(place)
    environment = {**os.environ, "PYTHONPATH": str(place)}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run("-c", "import seqaudit.cli.main as m; print(m.__file__)").strip()
    assert Path(where).is_relative_to(place)
    assert VERSION in run("-m", "seqaudit.cli", "--version")
    assert "moldudp64" in run("-m", "seqaudit.cli", "feeds")
    assert "seqaudit/report/1" in run("-m", "seqaudit.cli", "schema")
    capture = str(ROOT / "fixtures" / "jgroups" / "n4-loss-1" / "C.pcap")
    shown = run("-m", "seqaudit.cli", "audit", "--engine", "direct", "--format", "html", capture)
    assert "</html>" in shown
