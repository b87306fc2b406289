"""Right means agreeing with the real system (CONTRIBUTING.md 4): every figure of every recorded
run."""

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.agreement.run import Agreement, agree
from tests.agreement.truth import find_scenarios
from tests.agreement.unknown import UNKNOWN

ROOT: Final = Path(__file__).parents[2]
FIXTURES: Final = ROOT / "fixtures" / "jgroups"
ALL_RECORDINGS: Final = ROOT.parent / "shared" / "captures" / "jgroups"

WHERE_ALL_ARE: Final = pytest.mark.skipif(
    not ALL_RECORDINGS.is_dir(), reason="the full set of recordings is not here"
)
#: The fixtures are some of the recordings, unchanged (a test says so).
MOST: Final = ALL_RECORDINGS if ALL_RECORDINGS.is_dir() else FIXTURES

NO_CAPTURE: Final = "no one capture shows it"
FOUNDER: Final = "a founder's first view is on no wire"
OWN: Final = "own multicasts are on no wire"
FULL_ONCE: Final = "capacity not given, and the window full at most once"
BY_HAND: Final = "the lab set this view inside the member"


@cache
def agreement_of(top: Path, configured: bool = False) -> Agreement:
    """One comparison, made once for all tests."""
    return agree(top, engine="direct", configured=configured)


def counts(agreement: Agreement) -> tuple[int, int, dict[str, int]]:
    """Rows compared, rows equal, rows unknown by reason."""
    return len(agreement.rows), agreement.count("equal"), agreement.unknown_by


def differences(agreement: Agreement) -> list[str]:
    """What differs, to be read in a failed test."""
    return [
        f"{row.scenario} {row.capture} {row.figure}: {row.ours!r}, truth {row.truth!r}"
        for row in agreement.rows
        if row.verdict == "different"
    ]


def test_every_figure_of_the_fixtures_agrees() -> None:
    agreement = agreement_of(FIXTURES)
    assert differences(agreement) == []
    assert agreement.scenarios == 20
    assert counts(agreement) == (
        7252,
        7175,
        {FULL_ONCE: 39, NO_CAPTURE: 2, FOUNDER: 20, OWN: 16},
    )


def test_the_members_stack_files_leave_no_block_unknown() -> None:
    agreement = agreement_of(FIXTURES, configured=True)
    assert differences(agreement) == []
    assert counts(agreement) == (
        7263,
        7200,
        {FULL_ONCE: 25, NO_CAPTURE: 2, FOUNDER: 20, OWN: 16},
    )


@WHERE_ALL_ARE
def test_every_figure_of_all_recordings_agrees() -> None:
    agreement = agreement_of(ALL_RECORDINGS)
    assert differences(agreement) == []
    assert agreement.scenarios == 98
    assert counts(agreement) == (
        35186,
        34907,
        {
            FULL_ONCE: 121,
            NO_CAPTURE: 10,
            FOUNDER: 98,
            OWN: 46,
            BY_HAND: 4,
        },
    )


@WHERE_ALL_ARE
def test_no_entry_of_the_table_of_unknowns_is_idle() -> None:
    assert set(agreement_of(ALL_RECORDINGS).unknown_by) == {entry.reason for entry in UNKNOWN}


@WHERE_ALL_ARE
def test_every_figure_of_all_recordings_agrees_with_stack_files() -> None:
    agreement = agreement_of(ALL_RECORDINGS, configured=True)
    assert differences(agreement) == []
    assert counts(agreement) == (
        35208,
        34970,
        {
            FULL_ONCE: 80,
            NO_CAPTURE: 10,
            FOUNDER: 98,
            OWN: 46,
            BY_HAND: 4,
        },
    )


def test_an_inferred_vantage_is_never_wrong() -> None:
    """Nobody says where the captures were taken; two members alone may leave it open (4.7)."""
    scenarios = [s for s in find_scenarios(MOST) if s.why_skipped is None]
    places = [(scenario, vantage) for scenario in scenarios for vantage in scenario.captures]
    inputs = [CaptureInput(str(scenario.captures[vantage])) for scenario, vantage in places]
    report = audit(inputs, Options(engine="direct"))
    for (scenario, vantage), capture in zip(places, report["captures"], strict=True):
        found = capture["vantage"]
        if len(scenario.uuids) > 2 or found["kind"] != "unknown":
            truth = ("member", scenario.uuids.get(vantage))
            if vantage not in scenario.uuids:
                truth = ("between", None)
            assert (found["kind"], found["member"]) == truth, (scenario.name, vantage)


@WHERE_ALL_ARE
def test_the_fixtures_are_the_recordings_unchanged() -> None:
    for copy in sorted(FIXTURES.rglob("*")):
        if copy.is_file():
            assert copy.read_bytes() == (ALL_RECORDINGS / copy.relative_to(FIXTURES)).read_bytes()


def test_no_run_is_skipped() -> None:
    assert agreement_of(FIXTURES).skipped == {}


def test_nothing_to_compare_fails(tmp_path: Path) -> None:
    agreement = agree(tmp_path, engine="direct")
    assert agreement.failed
    assert agreement.summary() == "no scenario was compared"
    assert agree(FIXTURES, "no-such-*", engine="direct").failed


def test_the_command_ends_with_the_counts() -> None:
    options = ("--engine", "direct", "--match", "ipv6-*")
    done = subprocess.run(
        [sys.executable, "-m", "tests.agreement", FIXTURES, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == (
        "compared 117, equal 115, unknown 2 (a founder's first view is on no wire: 1; "
        "own multicasts are on no wire: 1)"
    )
