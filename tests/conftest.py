"""What all tests share: where fixtures are, and one Spark session for those that need it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

#: A fault is no finding in tests, unless one asks for the wall (``seqaudit.pipeline.audit``).
os.environ["SEQAUDIT_NO_WALL"] = "1"

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of captures."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def spark_place() -> Iterator[object]:
    """The local Spark that all tests share: started once, ended with the run."""
    from seqaudit.pipeline.spark.session import Place, discard, shared

    place = Place(master="local[2]")
    shared(place)
    yield place
    discard(place)
