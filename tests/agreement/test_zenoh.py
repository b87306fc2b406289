"""zenoh agrees with the real system (design 8.1): every figure of every recorded scenario."""

from functools import cache
from pathlib import Path
from typing import Final

import pytest

from seqaudit.pipeline.audit import Options
from seqaudit.pipeline.spark.session import Place
from tests.agreement import zenoh
from tests.agreement.run import Agreement, agree

ROOT: Final = Path(__file__).parents[2]
FIXTURES: Final = ROOT / "fixtures" / "zenoh"
ALL_RECORDINGS: Final = ROOT.parent / "shared" / "captures" / "zenoh"

WHERE_ALL_ARE: Final = pytest.mark.skipif(
    not ALL_RECORDINGS.is_dir(), reason="the full set of recordings is not here"
)


FIXTURE_EQUAL: Final = 2054
ALL_EQUAL: Final = 3004


def unknown(not_here: int) -> dict[str, int]:
    """Rows unknown by reason; only one of the reasons differs between the two sets."""
    return {
        zenoh.NO_SUCCESSOR: 4,
        zenoh.ONE_SIDE: 2,
        zenoh.NOBODY_THERE: 4,
        zenoh.NO_NUMBERS: 4,
        zenoh.CUT: 14,
        zenoh.BEGAN_LATER: 2,
        zenoh.OTHER_HOST: 6,
        zenoh.NOT_HERE: not_here,
    }


@cache
def agreement_of(top: Path) -> Agreement:
    """One comparison, made once for all tests."""
    return agree(top, engine="direct")


def differences(agreement: Agreement) -> list[str]:
    return [
        f"{row.scenario} {row.capture} {row.figure}: {row.ours!r}, truth {row.truth!r}"
        for row in agreement.rows
        if row.verdict == "different"
    ]


def test_every_figure_of_the_fixtures_agrees() -> None:
    agreement = agreement_of(FIXTURES)
    assert differences(agreement) == []
    assert (agreement.scenarios, agreement.count("equal")) == (45, FIXTURE_EQUAL)
    assert agreement.unknown_by == unknown(74)


@WHERE_ALL_ARE
def test_every_figure_of_all_recordings_agrees() -> None:
    agreement = agreement_of(ALL_RECORDINGS)
    assert differences(agreement) == []
    assert (agreement.scenarios, agreement.count("equal")) == (65, ALL_EQUAL)
    assert agreement.unknown_by == unknown(112)


@pytest.mark.parametrize("top", [FIXTURES, pytest.param(ALL_RECORDINGS, marks=WHERE_ALL_ARE)])
def test_both_engines_agree_alike(top: Path, spark_place: Place) -> None:
    assert agree(top, engine="spark", place=spark_place).rows == agreement_of(top).rows


@WHERE_ALL_ARE
def test_the_fixtures_are_the_recordings_unchanged() -> None:
    for copy in sorted(FIXTURES.rglob("*")):
        if copy.is_file():
            assert copy.read_bytes() == (ALL_RECORDINGS / copy.relative_to(FIXTURES)).read_bytes()


def test_nothing_to_compare_is_nothing(tmp_path: Path) -> None:
    assert zenoh.find(tmp_path) == []
    assert list(zenoh.compare_all([], Options(engine="direct"))) == []
