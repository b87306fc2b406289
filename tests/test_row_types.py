"""A key that a row does not have is a type error: in results, findings and reports."""

import re
from pathlib import Path
from typing import Final

from mypy import api

ROOT: Final = Path(__file__).parents[1]

#: Each line that mypy must refuse says so; all others it must take.
READERS: Final = """
from collections.abc import Iterator

from seqaudit.pipeline.report.result_store import HeldResults
from seqaudit.replay.contract import results
from seqaudit.replay.contract.finding import Finding, FindingDetail
from seqaudit.replay.contract.report_rows import GapRow, Report, ViewFigures
from seqaudit.replay.contract.reporter import Reporter, Subject


def of_results(held: HeldResults) -> Iterator[object]:
    for view in held.of(results.VIEW):
        yield view["detail"]["members"]
        yield view["detail"]["member"]  # refused
        yield view["conversatoin"]  # refused
    for gap in held.of(results.GAP):
        yield gap["detail"]["outcome"]
        yield gap["detail"]["cause_of_it"]  # refused
    for connection in held.of(results.CONNECTION):
        yield connection["detail"]["later"]
        yield connection["detail"]["sooner"]  # refused


def of_engines(reporter: Reporter[Subject], view: ViewFigures) -> Iterator[object]:
    yield reporter.row(results.VIEW, view)
    yield reporter.row(results.QUERY, view)  # refused


def of_findings(finding: Finding, detail: FindingDetail) -> Iterator[object]:
    yield finding.seen_at(0)["stream"]
    yield detail["stream"]  # refused


def of_reports(report: Report) -> Iterator[object]:
    for stream in report["streams"]:
        yield stream["messages"]
        yield stream["message"]  # refused
    yield report["capture"]  # refused
    gap: GapRow = {"capture": 0, "system": "zenoh"}  # refused
    yield gap
"""


def test_a_missing_key_is_a_type_error(tmp_path: Path) -> None:
    readers = tmp_path / "readers.py"
    readers.write_text(READERS)
    config = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    ]
    said, trouble, _ = api.run([*config, "--no-error-summary", str(readers)])
    assert trouble == ""
    refused = {int(line) for line in re.findall(r"readers\.py:(\d+): error", said)}
    lines = READERS.splitlines()
    assert refused == {n for n, line in enumerate(lines, 1) if line.endswith("# refused")}, said
