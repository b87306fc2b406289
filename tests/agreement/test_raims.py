"""raims agrees with the real daemons (CONTRIBUTING.md 4): every figure of every recorded
scenario."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.agreement import floor, raims
from tests.agreement.floor_raims import AT_LEAST, NEVER
from tests.agreement.run import Agreement, agree

ROOT: Final = Path(__file__).parents[2]
FIXTURES: Final = ROOT / "fixtures" / "raims"
ALL_RECORDINGS: Final = ROOT.parent / "shared" / "captures" / "raims"

FIXTURE_EQUAL: Final = 1979
ALL_EQUAL: Final = 6924

WHERE_ALL_ARE: Final = pytest.mark.skipif(
    not ALL_RECORDINGS.is_dir(), reason="the full set of recordings is not here"
)
#: The fixtures are some of the recordings, unchanged (a test says so).
MOST: Final = ALL_RECORDINGS if ALL_RECORDINGS.is_dir() else FIXTURES


@cache
def agreement_of(top: Path) -> Agreement:
    """One comparison, made once for all tests."""
    return agree(top, engine="direct")


def differences(agreement: Agreement) -> list[str]:
    """What differs, to be read in a failed test."""
    return [
        f"{row.scenario} {row.capture} {row.figure}: {row.ours!r}, truth {row.truth!r}"
        for row in agreement.rows
        if row.verdict == "different"
    ]


def counts(agreement: Agreement) -> tuple[int, int, dict[str, int]]:
    """Rows compared, rows equal, rows unknown by reason."""
    return len(agreement.rows), agreement.count("equal"), agreement.unknown_by


def test_every_figure_of_the_fixtures_agrees() -> None:
    agreement = agreement_of(FIXTURES)
    assert differences(agreement) == []
    assert agreement.scenarios == 15
    assert counts(agreement) == (
        FIXTURE_EQUAL + 37,
        FIXTURE_EQUAL,
        {raims.ENCRYPTED: 35, raims.NEVER_SENT: 2},
    )


@WHERE_ALL_ARE
def test_every_figure_of_all_recordings_agrees() -> None:
    agreement = agreement_of(ALL_RECORDINGS)
    assert differences(agreement) == []
    assert agreement.scenarios == 40
    assert counts(agreement) == (
        ALL_EQUAL + 37,
        ALL_EQUAL,
        {raims.ENCRYPTED: 35, raims.NEVER_SENT: 2},
    )


@pytest.mark.parametrize("top", [FIXTURES, pytest.param(ALL_RECORDINGS, marks=WHERE_ALL_ARE)])
def test_what_whole_recordings_prove_stays_proven(top: Path) -> None:
    found = agreement_of(top).of_raims
    here = {
        rule: {file: least for file, least in files.items() if (top / file).is_file()}
        for rule, files in AT_LEAST.items()
    }
    assert sum(map(len, here.values())) > 30
    assert list(floor.weaker(floor.proven(found), here)) == []
    assert list(floor.surer(found, NEVER)) == []
    assert not AT_LEAST.keys() & NEVER.keys()


def test_a_finding_that_is_less_sure_or_names_fewer_packets_is_noticed() -> None:
    found = agreement_of(FIXTURES).of_raims
    place = next(n for n, row in enumerate(found) if row[2]["rule"] == "PG002")
    scenario, file, finding = found[place]
    least = {"PG002": {f"{scenario}/{file}": AT_LEAST["PG002"][f"{scenario}/{file}"]}}
    assert list(floor.weaker(floor.proven(found), least)) == []
    for change in ({"certainty": "likely"}, {"seqnos": finding["seqnos"][1:]}):
        changed = [*found[:place], (scenario, file, {**finding, **change}), *found[place + 1 :]]
        assert list(floor.weaker(floor.proven(changed), least))
    told = next(row for row in found if row[2]["rule"] == "RA014")
    assert list(floor.surer([(*told[:2], {**told[2], "certainty": "proven"})], NEVER))


@WHERE_ALL_ARE
def test_every_row_of_show_loss_is_compared() -> None:
    figures = Counter(
        row.figure.rpartition(" ")[0].split(" ")[0] + " " + row.figure.split(" ", 3)[3]
        for row in agreement_of(ALL_RECORDINGS).rows
        if row.figure.startswith("show loss ") and row.figure != "show loss users"
    )
    assert {name: figures[f"show {name}"] for name in raims.COLUMNS} == dict.fromkeys(
        raims.COLUMNS, 219
    )


@WHERE_ALL_ARE
def test_the_fixtures_are_the_recordings_unchanged() -> None:
    for copy in sorted(FIXTURES.rglob("*")):
        if copy.is_file():
            assert copy.read_bytes() == (ALL_RECORDINGS / copy.relative_to(FIXTURES)).read_bytes()
