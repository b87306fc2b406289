"""Mutants of findings: a report that is spoilt in one place no longer agrees (CONTRIBUTING.md 4).

Each mutation is applied to the report of a fixture, as the command makes it; the comparison must
turn different. What a mutation finds nothing to spoil in would show nothing, and fails.
"""

import copy
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.agreement import findings_jgroups, raims, statements, zenoh
from tests.agreement.figures import compare, share_out
from tests.agreement.rows import Row
from tests.agreement.run import capture_input
from tests.agreement.truth import find_scenarios
from tests.agreement.zenoh_report import Part

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"

Report = Any
#: Spoils a report in one place; false where there is no such place.
Mutation = Callable[[Report], bool]

JGROUPS: Final = ("n4-loss-1", "u3-stale-ack-fixed-1", "n4-acks-lost-1", "u3n2-ipfrag-loss-2")
RAIMS: Final = ("small-txw-1", "frame-chain-loss-1", "dup-path-1", "console-pub-1")
ZENOH: Final = ("udp-cache-too-small-1", "reply-lost-1", "udp-no-cache-1", "udp-loss-recovered-1")
NAMES: Final = (*JGROUPS, *RAIMS, *ZENOH)


@cache
def true_report(name: str) -> Report:
    """The report on one fixture, to be copied and never to be changed."""
    if name in JGROUPS:
        (scenario,) = find_scenarios(FIXTURES / "jgroups", name)
        return audit([capture_input(scenario, v, False) for v in scenario.captures], DIRECT)
    if name in RAIMS:
        (of_raims,) = raims.find(FIXTURES / "raims", name)
        return audit(
            [
                CaptureInput(str(path), of_raims.address(node), of_raims.parameters(node))
                for node, path in of_raims.files.items()
            ],
            DIRECT,
        )
    (of_zenoh,) = zenoh.find(FIXTURES / "zenoh", name)
    return audit(
        [CaptureInput(str(of_zenoh.folder / f), at=of_zenoh.at(f)) for f in of_zenoh.files], DIRECT
    )


DIRECT: Final = Options(engine="direct")


def rows_of(name: str, report: Report) -> Iterator[Row]:
    """All rows that the tests assert of one fixture."""
    if name in JGROUPS:
        (scenario,) = find_scenarios(FIXTURES / "jgroups", name)
        places = [(scenario, vantage) for vantage in scenario.captures]
        for audited in share_out(places, report, False):
            yield from compare(audited)
            yield from findings_jgroups.finding_rows(audited)
        names = list(scenario.captures)
    elif name in RAIMS:
        (of_raims,) = raims.find(FIXTURES / "raims", name)
        names = list(of_raims.files)
        views = {node: raims.View(report, number) for number, node in enumerate(names)}
        for node in names:
            yield from raims.compare(of_raims, node, views)
    else:
        (of_zenoh,) = zenoh.find(FIXTURES / "zenoh", name)
        names = of_zenoh.files
        numbers = {file: number for number, file in enumerate(names)}
        yield from zenoh.compare(Part(of_zenoh, report, numbers))
    for number, capture in enumerate(names):
        yield from statements.rows(name, capture, report, number)
    yield from statements.rows_of_totals(name, report)


def differs(name: str, mutate: Mutation) -> bool | None:
    """Whether a spoilt report turns different; null where there was nothing to spoil."""
    report = copy.deepcopy(true_report(name))
    if not mutate(report):
        return None
    return any(row.verdict == "different" for row in rows_of(name, report))


def changed(report: Report, rule: str, change: Callable[[dict[str, Any]], object]) -> bool:
    """Applies a change to every finding of a rule."""
    found = [finding for finding in report["findings"] if finding["rule"] == rule]
    for finding in found:
        change(finding)
    return bool(found)


def drop(report: Report, rule: str) -> bool:
    before = len(report["findings"])
    dropped = [finding for finding in report["findings"] if finding["rule"] == rule]
    report["findings"] = [finding for finding in report["findings"] if finding["rule"] != rule]
    for finding in dropped:
        report["totals"]["findings"][finding["severity"]] -= 1
    return len(report["findings"]) < before


def one_more(finding: dict[str, Any]) -> None:
    finding["text"] = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), finding["text"], count=1)


def next_seqno(finding: dict[str, Any]) -> None:
    finding["seqnos"] = [*finding["seqnos"][:-1], [finding["seqnos"][-1][0] + 1] * 2]


def surely(finding: dict[str, Any]) -> None:
    finding["certainty"] = "proven"


def graver(finding: dict[str, Any]) -> None:
    finding["severity"] = "error"


def twice_the_time(finding: dict[str, Any]) -> None:
    finding["at_ns"] *= 2


def slower(finding: dict[str, Any]) -> None:
    finding["text"] = re.sub(
        r"the slowest (\d+)", lambda found: f"the slowest {2 * int(found[1]) + 1}", finding["text"]
    )


def far_frame(finding: dict[str, Any]) -> None:
    finding["evidence"][0]["frame"] += 1_000_000


#: Fixture, rules of which each is dropped in turn.
DROPPED: Final = {
    "n4-loss-1": ("MC001",),
    "u3-stale-ack-fixed-1": ("UC008", "UC012"),
    "n4-acks-lost-1": ("MC008",),
    "small-txw-1": ("PG002", "RA001", "RA011"),
    "frame-chain-loss-1": ("PG002", "RA001", "RA011"),
    "dup-path-1": ("RA008",),
    "console-pub-1": ("RA005", "RA006", "RA008", "RA011"),
    "udp-cache-too-small-1": ("ZN001", "ZN002", "ZN005"),
    "reply-lost-1": ("ZN002", "ZN005", "ZN013", "ZN014"),
    "udp-no-cache-1": ("ZN002", "ZN005"),
    "udp-loss-recovered-1": ("ZN001", "ZN005"),
}
#: Fixture, rule, what is done to its findings.
CHANGED: Final[tuple[tuple[str, str, Callable[[dict[str, Any]], None]], ...]] = (
    *((name, rule, one_more) for name, rule in (
        ("n4-loss-1", "MC001"), ("small-txw-1", "PG002"), ("small-txw-1", "RA001"),
        ("dup-path-1", "RA008"), ("udp-cache-too-small-1", "ZN002"),
        ("udp-loss-recovered-1", "ZN001"), ("udp-loss-recovered-1", "ZN005"),
    )),
    *((name, rule, next_seqno) for name, rule in (
        ("n4-loss-1", "MC001"), ("small-txw-1", "PG002"),
    )),
    ("n4-acks-lost-1", "MC008", surely),
    ("n4-loss-1", "MC001", graver),
    ("dup-path-1", "RA008", graver),
    *((name, rule, twice_the_time) for name, rule in (
        ("n4-loss-1", "MC001"), ("small-txw-1", "PG002"), ("udp-loss-recovered-1", "ZN001"),
    )),
    *((name, rule, slower) for name, rule in (
        ("n4-loss-1", "MC001"), ("udp-loss-recovered-1", "ZN001"),
    )),
    *((name, rule, far_frame) for name, rule in (
        ("n4-loss-1", "MC001"), ("small-txw-1", "PG002"), ("udp-loss-recovered-1", "ZN001"),
    )),
)  # fmt: skip


def of_gaps(key: str, change: Callable[[Any], Any]) -> Mutation:
    """Changes one value of the first gap row that has it."""

    def mutate(report: Report) -> bool:
        for gap in report["gaps"]:
            if gap.get(key):
                gap[key] = change(gap[key])
                return True
        return False

    return mutate


def swap_cause(report: Report) -> bool:
    for stream in report["streams"]:
        for miss in stream.get("misses") or ():
            cause = miss["causes"][0]
            cause["cause"] = "no cache" if cause["cause"] != "no cache" else "reply lost"
            return True
    return False


def of_totals(figure: str) -> Mutation:
    def mutate(report: Report) -> bool:
        report["totals"][figure] += 1
        return True

    return mutate


#: What is done to rows and totals, and to which fixtures.
ROWS: Final[tuple[tuple[str, Mutation, tuple[str, ...]], ...]] = (
    ("cause swapped", swap_cause, ("udp-cache-too-small-1", "reply-lost-1", "udp-no-cache-1")),
    *(
        (f"{step} doubled", of_gaps(step, lambda value: 2 * value), names)
        for step, names in (
            ("revealed_after_ns", ("n4-loss-1", "small-txw-1", "udp-loss-recovered-1")),
            ("requested_after_ns", ("n4-loss-1", "small-txw-1", "udp-loss-recovered-1")),
            ("repaired_after_ns", ("n4-loss-1", "udp-loss-recovered-1")),
            ("delivered_after_ns", ("n4-loss-1", "udp-loss-recovered-1")),
        )
    ),
    ("another frame", of_gaps("repaired_frame", lambda frame: frame + 1), ("n4-loss-1",)),
    ("a gap one longer", of_gaps("count", lambda count: count + 1), ("n4-loss-1", "small-txw-1")),
    ("another outcome", of_gaps("outcome", lambda outcome: "reordered"), ("n4-loss-1",)),
    *((f"total {name} off", of_totals(name), NAMES) for name in ("frames", "gaps", "streams")),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_report_that_nobody_spoilt_agrees(name: str) -> None:
    rows = list(rows_of(name, copy.deepcopy(true_report(name))))
    assert [row for row in rows if row.verdict == "different"] == []
    assert len(rows) > 50


@pytest.mark.parametrize(
    ("name", "rule"), [(name, rule) for name, rules in DROPPED.items() for rule in rules]
)
def test_a_rule_that_is_dropped_is_noticed(name: str, rule: str) -> None:
    assert differs(name, lambda report: drop(report, rule)) is True


@pytest.mark.parametrize(("name", "rule", "change"), CHANGED)
def test_a_finding_that_is_off_is_noticed(
    name: str, rule: str, change: Callable[[dict[str, Any]], None]
) -> None:
    assert differs(name, lambda report: changed(report, rule, change)) is True


@pytest.mark.parametrize(
    ("what", "mutate", "name"),
    [(what, mutate, name) for what, mutate, names in ROWS for name in names],
)
def test_a_row_or_a_total_that_is_off_is_noticed(what: str, mutate: Mutation, name: str) -> None:
    assert differs(name, mutate) is True, what
