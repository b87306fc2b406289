"""The report as JUnit XML, the form that CI systems read.

A capture is a testsuite. Each of its streams is a testcase, and one more, *capture*, is about all
that no stream has: failed with the findings at or above ``--fail-on``, else passed, with the others
as its output. A stream of which the loss cannot be told is skipped, with the reason; one that was
captured at its sender, where that is so in every run, passes by its other findings. A capture that
could not be judged is an error. Times are those of the traffic, not of the audit, so two runs give
the same bytes. It has what Jenkins' junit-10.xsd knows and nothing else: properties are those of a
suite, a testcase's group is the system of its stream.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from seqaudit.cli.output.budget import BudgetLine, BudgetResult, measured_text, named
from seqaudit.cli.output.outcomes import failing, findings_by_capture, unjudged
from seqaudit.cli.output.table import vantage_text
from seqaudit.cli.output.text import filter_of, frame_at, safe
from seqaudit.cli.output.times import time_formatter
from seqaudit.replay.contract.capture_rows import CaptureRow
from seqaudit.replay.contract.report_rows import FindingRow, Report, StreamRow
from seqaudit.replay.contract.version import VERSION

#: The testcase of what no stream has.
CAPTURE: Final = "capture"


def junit(report: Report, fail_on: str) -> str:
    """The document; text from the wire is made safe and then escaped."""
    counted = failing(fail_on)
    problems: dict[str, list[str]] = {}
    for path, problem in unjudged(report):
        problems.setdefault(path, []).append(problem)
    findings = findings_by_capture(report)
    streams: dict[int, list[StreamRow]] = {}
    for stream in report["streams"]:
        streams.setdefault(stream["capture"], []).append(stream)
    whole = _JunitDocument()
    for capture in report["captures"]:
        path, number = capture["path"], capture["capture"]
        of_capture = streams.get(number, ())
        suite = _suite(
            path, (capture["first_ns"], capture["last_ns"]),
            _about(capture, {stream["system"] for stream in of_capture}) | {"fail-on": fail_on},
        )  # fmt: skip
        for problem in problems.pop(path, []):
            _error(suite, path, problem)
        by_stream: dict[str | None, list[FindingRow]] = {}
        known = {stream["id"] for stream in streams.get(number, ())}
        for finding in findings.get(number, ()):
            of_one = finding["stream"] if finding["stream"] in known else None
            by_stream.setdefault(of_one, []).append(finding)
        _case(suite, path, CAPTURE, by_stream.get(None, []), counted)
        for stream in streams.get(number, ()):
            case = _case(
                suite, path, named(stream), by_stream.get(stream["id"], []), counted,
                (stream.get("first_ns"), stream.get("last_ns")), stream["system"],
            )  # fmt: skip
            why = (stream.get("unknown") or {}).get("lost")
            if why and len(case) == 0:
                reason = f"what was lost cannot be told: {safe(why)}"
                if stream.get("role") == "sender":  # of every run it would be skipped
                    ET.SubElement(case, "system-out").text = reason
                else:
                    ET.SubElement(case, "skipped", {"message": reason})
        whole.add(suite)
    for path, texts in problems.items():
        suite = _suite(path, (None, None), _TOOL)
        for problem in texts:
            _error(suite, path, problem)
        whole.add(suite)
    return whole.text()


def junit_of_check(lines: Iterable[BudgetLine], report: Report, budget: str) -> str:
    """A check: a suite a capture, a testcase a budget line; too little to judge is an error.

    Args:
        budget: the file that has it.
    """
    captures = {capture["path"]: capture for capture in report["captures"]}
    by_path: dict[str, list[BudgetLine]] = {}
    for line in lines:
        by_path.setdefault(line.path, []).append(line)
    whole = _JunitDocument()
    for path, of_path in by_path.items():
        capture = captures[path]
        systems = {
            stream["system"]
            for stream in report["streams"]
            if stream["capture"] == capture["capture"]
        }
        span = capture["first_ns"], capture["last_ns"]
        suite = _suite(path, span, _about(capture, systems) | {"budget": budget})
        for line in of_path:
            name = f"{line.about} {line.figure}".strip()
            case = ET.SubElement(
                suite, "testcase", {"classname": _classname(path), "name": safe(name)}
            )
            message = {"message": safe(measured_text(line))}
            if line.result is BudgetResult.EXCEEDED:
                ET.SubElement(case, "failure", {"type": "exceeded"} | message)
            elif line.result is BudgetResult.UNKNOWN:
                ET.SubElement(case, "error", {"type": "too-little-to-judge"} | message)
            else:
                ET.SubElement(case, "system-out").text = safe(measured_text(line))
        whole.add(suite)
    return whole.text()


class _JunitDocument:
    """Suites as text, and their numbers: elements of all suites would take ten times the room."""

    def __init__(self) -> None:
        self._suites: list[str] = []
        self._totals = dict.fromkeys(("tests", "failures", "errors"), 0)

    def add(self, suite: ET.Element) -> None:
        attributes = {
            "tests": len(suite.findall("testcase")),
            "failures": len(suite.findall("testcase/failure")),
            "errors": len(suite.findall("testcase/error")),
            "skipped": len(suite.findall("testcase/skipped")),
        }
        for name, number in attributes.items():
            suite.set(name, str(number))
        for name in self._totals:
            self._totals[name] += attributes[name]
        ET.indent(suite, level=1)
        self._suites.append(ET.tostring(suite, encoding="unicode"))

    def text(self) -> str:
        whole = "".join(f' {name}="{number}"' for name, number in self._totals.items())
        inside = "".join(f"  {suite}\n" for suite in self._suites)
        head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="seqaudit"{whole}'
        return f"{head}>\n{inside}</testsuites>\n" if self._suites else f"{head} />\n"


#: What every suite says.
_TOOL: Final = {"tool": "seqaudit", "version": VERSION}


def _about(capture: CaptureRow, systems: Iterable[str]) -> dict[str, str]:
    """What a capture's suite is about: its files, what is in it, where it was taken."""
    return _TOOL | {
        "capture": ", ".join(capture["files"]),
        "systems": ", ".join(sorted(systems)) or "none",
        "taken at": vantage_text(capture["vantage"]),
    }


def _suite(
    path: str, span: tuple[int | None, int | None], properties: Mapping[str, str]
) -> ET.Element:
    suite = ET.Element("testsuite", {"name": safe(path)} | _time(span) | _began(span[0]))
    inside = ET.SubElement(suite, "properties")
    for name, value in properties.items():
        ET.SubElement(inside, "property", {"name": name, "value": safe(value)})
    return suite


def _began(first_ns: int | None) -> dict[str, str]:
    """When the traffic began, as CI systems read it: ISO 8601 to the second, in UTC."""
    moment = time_formatter("utc", None)(first_ns)[:19].replace(" ", "T")
    return {"timestamp": moment} if "T" in moment else {}


def _time(span: tuple[int | None, int | None]) -> dict[str, str]:
    """How long the traffic took, in seconds of three decimals, which is what the schema takes;
    nothing where nobody knows."""
    first, last = span
    if first is None or last is None:
        return {}
    return {"time": f"{max(last - first, 0) / 1e9:.3f}"}


def _classname(path: str) -> str:
    """A capture's name as CI systems group by: a dot would make packages of it."""
    return safe(PurePath(path).name).replace(".", "_")


def _case(
    suite: ET.Element,
    path: str,
    name: str,
    findings: Sequence[FindingRow],
    counted: Sequence[str],
    span: tuple[int | None, int | None] = (None, None),
    system: str | None = None,
) -> ET.Element:
    about = {"classname": _classname(path), "name": safe(name)} | _time(span)
    group = {} if system is None else {"group": safe(system)}
    case = ET.SubElement(suite, "testcase", about | group)
    bad = [finding for finding in findings if finding["severity"] in counted]
    others = [finding for finding in findings if finding["severity"] not in counted]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        message = f"{bad[0]['rule']} {safe(bad[0]['text'])}{more}"
        failure = ET.SubElement(case, "failure", {"type": bad[0]["severity"], "message": message})
        failure.text = "\n\n".join(map(_text_of, bad))
    if others:
        ET.SubElement(case, "system-out").text = "\n\n".join(map(_text_of, others))
    return case


def _error(suite: ET.Element, path: str, problem: str) -> None:
    case = ET.SubElement(suite, "testcase", {"classname": _classname(path), "name": "judged"})
    ET.SubElement(case, "error", {"type": "not-judged", "message": safe(problem)})


def _text_of(finding: FindingRow) -> str:
    """A finding as text: rule, how bad and how sure, what, where, evidence, display filter."""
    head = f"{finding['rule']} {finding['name']}, {finding['severity']} ({finding['certainty']})"
    lines = [f"{head}: {safe(finding['text'])}"]
    if finding["stream"] is not None:
        lines.append(f"  stream {safe(finding['stream'])}")
    lines += [f"  frame {frame_at(e)}: {safe(e['shows'])}" for e in finding["evidence"]]
    return "\n".join([*lines, f"  filter: {filter_of(finding)}"])
