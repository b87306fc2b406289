"""zenoh agrees with the real system (CONTRIBUTING.md 4): every figure of every recorded
scenario."""

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from seqaudit.pipeline.options import Options
from tests.agreement import floor, zenoh, zenoh_report
from tests.agreement.floor_zenoh import AT_LEAST, NEVER
from tests.agreement.run import Agreement, agree

ROOT: Final = Path(__file__).parents[2]
FIXTURES: Final = ROOT / "fixtures" / "zenoh"
ALL_RECORDINGS: Final = ROOT.parent / "shared" / "captures" / "zenoh"
OTHER_KINDS: Final = ROOT.parent / "shared" / "captures" / "zenoh-2"

WHERE_ALL_ARE: Final = pytest.mark.skipif(
    not ALL_RECORDINGS.is_dir(), reason="the full set of recordings is not here"
)
#: The fixtures are some of the recordings, unchanged (a test says so).
MOST: Final = ALL_RECORDINGS if ALL_RECORDINGS.is_dir() else FIXTURES


FIXTURE_EQUAL: Final = 3118
ALL_EQUAL: Final = 4487
#: Equal counts do not fall.
OTHERS_EQUAL: Final = 1065


def unknown(not_here: int) -> dict[str, int]:
    """Rows unknown by reason; only one of the reasons differs between the two sets."""
    return {
        zenoh_report.NO_SUCCESSOR: 4,
        zenoh_report.ONE_SIDE: 2,
        zenoh_report.NOBODY_THERE: 4,
        zenoh_report.NO_NUMBERS: 4,
        zenoh_report.CUT: 2,
        zenoh_report.NOT_HERE: not_here,
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


def test_what_whole_recordings_prove_stays_proven() -> None:
    found = agreement_of(FIXTURES).of_zenoh
    assert list(floor.weaker(floor.proven(found), AT_LEAST)) == []
    assert list(floor.surer(found, NEVER)) == []
    assert not AT_LEAST.keys() & NEVER.keys()


def test_a_finding_that_is_less_sure_or_tells_less_is_noticed() -> None:
    found = agreement_of(FIXTURES).of_zenoh
    (place,) = [n for n, (s, _, f) in enumerate(found)
                if s == "udp-cache-too-small-1" and f["rule"] == "ZN002"
                and f["certainty"] == "proven"]  # fmt: skip
    scenario, file, finding = found[place]
    for change in ({"certainty": "likely"}, {"rule": "ZN001"}):
        changed = [*found[:place], (scenario, file, {**finding, **change}), *found[place + 1 :]]
        assert list(floor.weaker(floor.proven(changed), AT_LEAST))
    lost = next(row for row in found if row[2]["rule"] == "ZN020")
    assert list(floor.surer([(*lost[:2], {**lost[2], "certainty": "proven"})], NEVER))


@WHERE_ALL_ARE
def test_every_figure_of_all_recordings_agrees() -> None:
    agreement = agreement_of(ALL_RECORDINGS)
    assert differences(agreement) == []
    assert (agreement.scenarios, agreement.count("equal")) == (65, ALL_EQUAL)
    assert agreement.unknown_by == unknown(112)


@pytest.mark.skipif(not OTHER_KINDS.is_dir(), reason="the other recordings are not here")
def test_recordings_of_other_kinds_are_compared() -> None:
    agreement = agreement_of(OTHER_KINDS)
    assert agreement.scenarios == 12
    assert differences(agreement) == []
    assert agreement.count("equal") >= OTHERS_EQUAL
    assert agreement.unknown_by[zenoh_report.ONE_DECLARATION] > 0


def test_what_is_expected_does_not_depend_on_what_a_recording_is_called(tmp_path: Path) -> None:
    name = "reply-lost-1"
    strange = tmp_path / "abc"
    shutil.copytree(FIXTURES / name, strange)
    truth = json.loads((strange / "truth.json").read_text()) | {
        "kind": "never heard of",
        "name": "?",
    }
    (strange / "truth.json").write_text(json.dumps(truth))

    def rows(top: Path, scenario: str) -> list[tuple[str, str, object, object]]:
        return [
            (row.capture, row.figure, row.ours, row.truth)
            for row in agreement_of(top).rows
            if row.scenario == scenario
        ]

    assert rows(tmp_path, "abc") == rows(FIXTURES, name) != []


@WHERE_ALL_ARE
def test_the_fixtures_are_the_recordings_unchanged() -> None:
    for copy in sorted(FIXTURES.rglob("*")):
        if copy.is_file():
            assert copy.read_bytes() == (ALL_RECORDINGS / copy.relative_to(FIXTURES)).read_bytes()


def test_nothing_to_compare_is_nothing(tmp_path: Path) -> None:
    assert zenoh.find(tmp_path) == []
    assert list(zenoh.compare_all([], Options(engine="direct"))) == []
