"""What is installed: every folder of code, and the data files in them."""

import tomllib
from pathlib import Path
from typing import Final

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
