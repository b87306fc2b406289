"""One audit job over all captures of all scenarios, compared with their truth."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.replay.jgroups.config import from_jgroups_config
from tests.agreement import findings_jgroups, raims, statements, zenoh
from tests.agreement.figures import compare, share_out
from tests.agreement.report import by_capture
from tests.agreement.rows import EVERYTHING, Hints, Row
from tests.agreement.truth import Scenario, find_scenarios

#: This machine.
HERE: Final = SparkAddress()


@dataclass
class Agreement:
    """What came out of one comparison."""

    rows: list[Row] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # scenario -> why
    scenarios: int = 0
    #: of JGroups: scenario, where it was captured, finding
    findings: list[tuple[Scenario, str, Mapping[str, Any]]] = field(default_factory=list)
    of_zenoh: list[zenoh.Found] = field(default_factory=list)
    of_raims: list[raims.Found] = field(default_factory=list)

    def count(self, verdict: str) -> int:
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def unknown_by(self) -> dict[str, int]:
        """Reason -> rows, by reason."""
        return dict(sorted(Counter(r.reason for r in self.rows if r.verdict == "unknown").items()))

    @property
    def failed(self) -> bool:
        return not self.scenarios or self.count("different") > 0

    def summary(self) -> str:
        """The last line: ``compared N, equal N, unknown N (by reason)``."""
        if not self.scenarios:
            return "no scenario was compared"
        reasons = "; ".join(f"{why}: {count}" for why, count in self.unknown_by.items())
        unknown = f"unknown {self.count('unknown')}" + (f" ({reasons})" if reasons else "")
        return f"compared {len(self.rows)}, equal {self.count('equal')}, {unknown}"


def agree(
    top: Path,
    match: str = "*",
    engine: Literal["direct", "spark"] = "spark",
    *,
    configured: bool = False,
    hints: Hints = EVERYTHING,
    place: SparkAddress = HERE,
) -> Agreement:
    """Audit every capture below ``top`` in one job and compare all figures.

    Args:
        match: pattern of folder names.
        configured: give each member's capture the stack configuration of that member.
        hints: what else the audit is told, and how much is compared.
        place: where the job runs, on Spark.
    """
    options = Options(engine=engine, place=place)
    agreement = Agreement()
    chosen: list[Scenario] = []
    of_zenoh = zenoh.find(top, match)
    agreement.rows += zenoh.compare_all(of_zenoh, options, hints, agreement.of_zenoh)
    of_raims = raims.find(top, match)
    agreement.rows += raims.compare_all(of_raims, options, hints, agreement.of_raims)
    for scenario in find_scenarios(top, match):
        if scenario.truth.get("schema") == zenoh.SCHEMA or scenario.truth.get("system") == "raims":
            continue
        why = scenario.why_skipped
        if why is None:
            chosen.append(scenario)
        else:
            agreement.skipped[scenario.name] = why
    agreement.scenarios = len(chosen) + len(of_zenoh) + len(of_raims)
    if not chosen:
        return agreement
    places = [(scenario, vantage) for scenario in chosen for vantage in scenario.captures]
    inputs = [
        capture_input(scenario, vantage, configured, placed=hints.places)
        for scenario, vantage in places
    ]
    report = audit(inputs, options)
    for audited in share_out(places, report, configured, more=hints.more):
        if statements.placed(report, [part.capture for part in audited.reports.values()]):
            agreement.rows += compare(audited)
            agreement.rows += findings_jgroups.finding_rows(audited, more=hints.more)
    agreement.findings = [
        (*places[found["capture"]], found)
        for found in report["findings"]
        if found["capture"] is not None
    ]
    for number, ((scenario, vantage), part) in enumerate(
        zip(places, by_capture(report), strict=True)
    ):
        name, at = scenario.name, scenario.address(vantage) or "between"
        agreement.rows += statements.rows(name, vantage, part, number, more=hints.more)
        if not hints.places:
            agreement.rows += statements.place_rows(
                name, vantage, part, number, at, more=hints.more
            )
    agreement.rows += statements.rows_of_totals("jgroups", report)
    return agreement


def capture_input(
    scenario: Scenario, vantage: str, configured: bool, *, placed: bool = True
) -> CaptureInput:
    """One capture as a user would name it: the file, where it was taken, and what is known."""
    stack = scenario.stack(vantage) if configured else None
    parameters = from_jgroups_config(stack) if stack else {}
    return CaptureInput(
        path=str(scenario.captures[vantage]),
        at=(scenario.address(vantage) or "between") if placed else None,
        parameters={name: str(value) for name, value in parameters.items()},
    )
