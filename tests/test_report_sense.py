"""The check of reports against themselves notices what it is for."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from tests.report_sense import contradictions


@pytest.fixture(scope="module")
def lossy(fixtures: Path) -> Any:
    """The report of a capture with gaps, some of them recovered."""
    capture = fixtures / "jgroups" / "v35-u3-loss-1" / "C.pcap"
    done = CliRunner().invoke(
        main, ["audit", "--engine", "direct", "--format", "json", "--exit-zero", str(capture)]
    )
    return json.loads(done.stdout)


def _lossy_stream(report: Any) -> Any:
    return next(row for row in report["streams"] if row["gaps"] and row["lost"])


def test_a_report_of_the_command_is_at_one_with_itself(lossy: Any) -> None:
    assert contradictions(lossy) == []


WRONG: dict[str, Callable[[Any], object]] = {
    "a gap without its row": lambda r: r["gaps"].pop(),
    "a gap more than rows": lambda r: _lossy_stream(r).update(gaps=99),
    "more copies than arrivals": lambda r: _lossy_stream(r).update(copies=999),
    "lost is no sum": lambda r: _lossy_stream(r).update(lost=999),
    "null without a reason": lambda r: _lossy_stream(r).update(lost=None, unknown={}),
    "a part of a figure that cannot be told": lambda r: _lossy_stream(r).update(
        lost=None, unknown={"lost": "why"}, lost_by_subject={"A": 1}
    ),
    "a figure that cannot be told": lambda r: _lossy_stream(r).update(unknown={"lost": "why"}),
    "listed more than lost": lambda r: _lossy_stream(r).update(lost_seqnos=[[1, 9999]]),
    "delivered, though not recovered": lambda r: _lossy_stream(r).update(
        unrecovered_seqnos=_lossy_stream(r)["delivered"]
    ),
    "a request without its frame": lambda r: r["gaps"][0].update(requested_frame=None, requests=1),
    "repaired and not recovered": lambda r: r["gaps"][0].update(
        outcome="unrecovered", repaired_frame=1
    ),
    "a gap of nothing": lambda r: r["gaps"][0].update(count=0),
    "a gap of no stream": lambda r: r["gaps"][0].update(stream="nobody"),
    "a finding of no stream": lambda r: r["findings"][0].update(stream="nobody"),
    "a finding that is not counted": lambda r: r["findings"].pop(),
    "a frame that is not there": lambda r: r["findings"][0].update(frame=10**9),
    "two streams of one name": lambda r: r["streams"].append(r["streams"][0]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_contradiction_is_noticed(lossy: Any, wrong: str) -> None:
    report = copy.deepcopy(lossy)
    WRONG[wrong](report)
    assert contradictions(report)
