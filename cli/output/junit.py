"""The report as JUnit XML, the form that CI systems read (design 2).

A capture is a testsuite and each of its rules a testcase: passed where it was judged and found
nothing that counts, failed with all its findings at or above ``--fail-on``, skipped with the reason
where it could not be judged. Findings below stand in the testcase's output. A capture that could
not be judged is an error. There is no wall-clock time in it: two runs give the same bytes. It has
what Jenkins' junit-10.xsd knows and nothing else: the whole has no count of skipped tests.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

from seqaudit.cli.output.outcomes import Judged, Report, failing, findings_by_capture, unjudged
from seqaudit.cli.output.text import filter_of, frame_at, safe


def junit(report: Report, fail_on: str) -> str:
    """The document; text from the wire is made safe and then escaped."""
    counted = failing(fail_on)
    problems: dict[str, list[str]] = {}
    for path, problem in unjudged(report):
        problems.setdefault(path, []).append(problem)
    rules = [Judged(rule) for rule in report["rules"]]
    findings = findings_by_capture(report)
    totals = dict.fromkeys(("tests", "failures", "errors"), 0)
    suites: list[str] = []
    for capture in report["captures"]:
        suite = ET.Element("testsuite", {"name": safe(capture["path"])})
        for problem in problems.pop(capture["path"], []):
            _error(suite, capture["path"], problem)
        by_rule: dict[str, list[Any]] = {}
        for finding in findings.get(capture["capture"], ()):
            by_rule.setdefault(finding["rule"], []).append(finding)
        for rule in rules:
            _case(suite, capture, rule, by_rule.get(rule.code, []), counted)
        suites.append(_written(suite, totals))
    for path, texts in problems.items():
        suite = ET.Element("testsuite", {"name": safe(path)})
        for problem in texts:
            _error(suite, path, problem)
        suites.append(_written(suite, totals))
    whole = "".join(f' {name}="{number}"' for name, number in totals.items())
    inside = "".join(f"  {suite}\n" for suite in suites)
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="seqaudit"{whole}'
    return f"{head}>\n{inside}</testsuites>\n" if suites else f"{head} />\n"


def _written(suite: ET.Element, totals: dict[str, int]) -> str:
    """A suite with its numbers, as text: elements of all suites would take ten times the room.

    Args:
        totals: of all suites; this one's numbers are added.
    """
    own = {
        "tests": len(suite),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    for name, number in own.items():
        suite.set(name, str(number))
    for name in totals:
        totals[name] += own[name]
    ET.indent(suite, level=1)
    return ET.tostring(suite, encoding="unicode")


def _case(
    suite: ET.Element, capture: Any, rule: Judged, findings: Sequence[Any], counted: Sequence[str]
) -> None:
    """A testcase; none where the capture has nothing that the rule could judge by."""
    number = capture["capture"]
    judged = rule.judged_in(number)
    why = rule.reasons(number)
    if not judged and not why and not findings:
        return
    case = ET.SubElement(
        suite,
        "testcase",
        {"classname": safe(capture["path"]), "name": f"{rule.code} {rule.name}"},
    )
    bad = [finding for finding in findings if finding["severity"] in counted]
    others = [finding for finding in findings if finding["severity"] not in counted]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        message = safe(bad[0]["text"]) + more
        failure = ET.SubElement(case, "failure", {"type": bad[0]["severity"], "message": message})
        failure.text = "\n\n".join(map(_told, bad))
    elif not judged and not others:
        ET.SubElement(case, "skipped", {"message": safe("; ".join(why))})
        return
    notes = [f"not judged in part: {safe(reason)}" for reason in why]
    output = "\n\n".join([*map(_told, others), *notes])
    if output:
        ET.SubElement(case, "system-out").text = output


def _error(suite: ET.Element, path: str, problem: str) -> None:
    case = ET.SubElement(suite, "testcase", {"classname": safe(path), "name": "judged"})
    ET.SubElement(case, "error", {"type": "not-judged", "message": safe(problem)})


def _told(finding: Any) -> str:
    """A finding as text: how bad and how sure, what, where, the evidence, the display filter."""
    lines = [f"{finding['severity']} ({finding['certainty']}): {safe(finding['text'])}"]
    if finding["stream"] is not None:
        lines.append(f"  stream {safe(finding['stream'])}")
    lines += [f"  frame {frame_at(e)}: {safe(e['shows'])}" for e in finding["evidence"]]
    return "\n".join([*lines, f"  filter: {filter_of(finding)}"])
