"""Which engine answers: Spark for what is worth a job or where a place is named (pipeline/README.md
3)."""

import os
from pathlib import Path

import pytest

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.engine_choice import Choice, Limits, chosen
from seqaudit.pipeline.shared.spark_address import SparkAddress

LIMITS = Limits(total_bytes=2_000, files=3)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Four files of 500 bytes."""
    paths = [tmp_path / str(number) for number in range(4)]
    for path in paths:
        path.write_bytes(bytes(500))
    return list(map(str, paths))


def auto(files: list[str], **environment: str) -> Choice:
    return chosen("auto", None, None, files, LIMITS, environment)


def test_what_is_small_is_read_in_this_process(files: list[str]) -> None:
    assert auto(files[:3]) == Choice(
        "direct", SparkAddress(), "3 files of 1.5 kB, Spark is for more than 2 kB or 3 files"
    )


def test_above_either_limit_it_is_worth_a_job_and_at_it_not(files: list[str]) -> None:
    Path(files[0]).write_bytes(bytes(1_000))
    assert auto(files[:3]).engine == "direct"
    Path(files[0]).write_bytes(bytes(1_001))
    assert auto(files[:3]).engine == "spark"
    Path(files[0]).write_bytes(b"")
    assert auto(files) == Choice("spark", SparkAddress(), "4 files are more than 3")


def test_the_limits_are_a_gibibyte_and_a_thousand_files(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, 1 << 30)
    assert chosen("auto", None, None, [str(large)], environment={}).engine == "direct"
    os.truncate(large, (1 << 30) + 1)
    assert chosen("auto", None, None, [str(large)], environment={}) == Choice(
        "spark", SparkAddress(), "1.07 GB are more than 1 GiB"
    )
    assert chosen("auto", None, None, ["none"] * 1_000, environment={}).engine == "direct"
    assert chosen("auto", None, None, ["none"] * 1_001, environment={}).engine == "spark"


def test_a_place_that_is_named_is_used(files: list[str]) -> None:
    by_option = chosen("auto", "local[3]", None, files[:1], LIMITS, {"SPARK_REMOTE": "sc://a"})
    assert by_option == Choice("spark", SparkAddress("local[3]"), "--master names it")
    assert auto(files[:1], SPARK_MASTER="spark://a:7077") == Choice(
        "spark", SparkAddress("spark://a:7077"), "SPARK_MASTER names it"
    )
    assert auto(files[:1], SPARK_REMOTE="sc://a") == Choice(
        "spark", SparkAddress(remote="sc://a"), "SPARK_REMOTE names it"
    )
    assert auto(files[:1], SPARK_REMOTE="").engine == "direct"


def test_who_says_which_engine_has_it(files: list[str]) -> None:
    environment = {"SPARK_MASTER": "spark://a:7077"}
    assert chosen("direct", None, None, files, LIMITS, environment).engine == "direct"
    assert chosen("spark", None, None, files[:1], LIMITS, {}).place == SparkAddress()
    assert chosen("spark", None, None, files[:1], LIMITS, environment).place.master is not None


@pytest.mark.parametrize(
    ("asked", "master", "remote", "environment", "text"),
    [
        ("auto", "local", "sc://a", {}, "--master and --remote name two places"),
        ("spark", None, None, {"SPARK_MASTER": "a", "SPARK_REMOTE": "b"}, "SPARK_REMOTE name two"),
        ("direct", None, "sc://a", {}, "--engine direct runs in this process"),
    ],
)
def test_two_places_or_one_for_the_direct_engine_make_no_sense(
    asked: str, master: str | None, remote: str | None, environment: dict[str, str], text: str
) -> None:
    with pytest.raises(SeqauditError, match=text):
        chosen(asked, master, remote, [], LIMITS, environment)


def test_a_reader_is_told_which_engine_and_why(files: list[str]) -> None:
    assert auto(files[:1]).line == (
        "engine: direct; 1 file of 500 bytes, Spark is for more than 2 kB or 3 files"
    )
    assert auto(files).line == "engine: Spark on this machine; 4 files are more than 3"
