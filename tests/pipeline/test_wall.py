"""A fault of ours in one conversation: it is a finding, exit 2, and the rest is reported."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.pipeline.audit import NO_WALL
from seqaudit.pipeline.report import build, captures
from seqaudit.pipeline.report.findings import OrderedFinding, finding_row
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.feeds import sessions
from seqaudit.replay.jgroups.mcast import findings as mcast_findings
from seqaudit.replay.raims import rv_told
from seqaudit.replay.raims.compare import RaimsComparison

Report = dict[str, Any]


@pytest.fixture
def walled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it: a fault is a finding."""
    monkeypatch.delenv(NO_WALL)


def fails(*_: Any, **__: Any) -> None:
    raise KeyError("first_frame")


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["audit", "--engine", "direct", *map(str, words)])


def reported(*words: object) -> Report:
    report: Report = json.loads(run("--format", "json", *words).stdout)
    return report


@pytest.fixture
def lossy(fixtures: Path) -> Path:
    return fixtures / "jgroups" / "n4-loss-1" / "C.pcap"


@pytest.mark.usefixtures("walled")
def test_a_conversation_that_fails_leaves_the_others(
    lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = reported(lossy)
    monkeypatch.setattr(mcast_findings, "results", fails)
    walled = reported(lossy)
    (failed,) = [found for found in walled["findings"] if found["rule"] == "CP099"]
    assert failed["exception"] == {
        "type": "KeyError",
        "message": "'first_frame'",
        "at": failed["exception"]["at"],
    }
    assert failed["exception"]["at"].startswith("replay.stages.replay:")
    unicast = [stream for stream in whole["streams"] if stream["system"].startswith("unicast")]
    assert walled["streams"] == unicast != []
    assert walled["captures"] == whole["captures"]


@pytest.mark.usefixtures("walled")
def test_a_fault_alone_exits_with_2_and_says_so_in_a_line(
    lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcast_findings, "results", fails)
    ended = run(lossy)
    assert ended.exit_code == 2
    assert "a fault of seqaudit kept it from judging 1 of its parts" in ended.stderr
    assert "KeyError at replay.stages.replay:" in " ".join(ended.stdout.split())
    assert run("--exit-zero", lossy).exit_code == 2


@pytest.mark.usefixtures("walled")
@pytest.mark.parametrize(
    ("module", "name"),
    [
        (build, "_stream"),
        (build, "finding_row"),
        (captures, "_judged"),
        (RaimsComparison, "settle"),
        (rv_told, "judge"),
        (sessions, "judge"),
    ],
)
def test_no_part_of_a_report_ends_it(
    module: Any, name: str, fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = fixtures / "raims" / "rv-dataloss-1"
    given = sorted(capture.glob("*.pcap*"))[:2]
    whole = reported(*given)
    healthy = finding_row

    def but_for_failures(detail: PlacedFinding, *others: Any) -> OrderedFinding:
        if detail["rule"] != "CP099":
            raise KeyError("first_frame")
        return healthy(detail, *others)

    monkeypatch.setattr(module, name, but_for_failures if name == "finding_row" else fails)
    walled = reported(*given)
    assert "CP099" in {found["rule"] for found in walled["findings"]}
    assert walled["captures"] == whole["captures"]
    assert walled["gaps"] == whole["gaps"]
    counted = walled["totals"]["findings"]
    assert sum(counted.values()) == len(walled["findings"])


def test_in_tests_a_fault_ends_the_audit(lossy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcast_findings, "results", fails)
    assert "this is a fault of seqaudit" in run(lossy).stderr
