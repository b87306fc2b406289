"""The report as SARIF 2.1.0, the form that code scanning services read (CONTRIBUTING.md 2).

Rules come from the registry with their explanations, results are findings. A result's place is a
frame of a capture: a frame stands where a text has lines; the frame and the stream are logical
locations within the file as well; a finding without a frame is about the whole file and has no
region. Evidence frames are related locations. The fingerprint is the one of baselines and of
GitLab's report: it outlives another recording of the same test.

``informationUri`` and ``helpUri`` have to be absolute, and seqaudit has no home of its own on the
web: they are there where somebody says where the page of the rules is published (``--rules-url``).
A link that leads nowhere would be worse than none, and the texts are in the log anyway.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from typing import Final
from urllib.parse import quote

from seqaudit.cli.output.budget import FIGURE_RULES
from seqaudit.cli.output.ci import fingerprints
from seqaudit.cli.output.outcomes import RuleCoverage, unjudged
from seqaudit.cli.output.text import filter_of, finding_text, frame_at, safe
from seqaudit.replay.contract.report_rows import EvidenceRow, FindingRow, Report
from seqaudit.replay.stages.systems import RULES

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")


#: What a fingerprint is of; a name that changes with it.
FINGERPRINT: Final = "seqaudit/v3"


def sarif(report: Report, rules_url: str | None = None) -> str:
    """The log: one run, rules and results in the report's order.

    Args:
        rules_url: where the page of the rules is published; null: nobody says.
    """
    codes = [rule["rule"] for rule in report["rules"]]
    places = {code: index for index, code in enumerate(codes)}
    captures = {capture["capture"]: capture for capture in report["captures"]}
    artifacts = {number: index for index, number in enumerate(captures)}
    results: list[str] = []
    for finding, print_ in zip(report["findings"], fingerprints(report), strict=True):
        capture = captures[finding["capture"]]
        file = {"uri": uri(capture["files"][0]), "index": artifacts[finding["capture"]]}
        results.append(_item(_result(finding, file, places, print_), 4))
    problems = list(unjudged(report))
    listed: list[dict[str, object]] = [
        {"level": "error", "message": {"text": safe(text)}} for _, text in problems
    ]
    notes = [_item(note, 6) for note in chain(listed, _not_judged(report, places))]
    run = {
        "tool": {
            "driver": {
                "name": "seqaudit",
                "version": version("seqaudit"),
                **({"informationUri": rules_url} if rules_url else {}),
                "rules": [_rule(code, rules_url) for code in codes],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not problems,
                "toolExecutionNotifications": [],
            }
        ],
        "artifacts": [
            {"location": {"uri": uri(capture["files"][0])}, "roles": ["analysisTarget"]}
            for capture in captures.values()
        ],
        "columnKind": "utf16CodeUnits",
        "results": [],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    text = json.dumps(log, indent=1, ensure_ascii=True) + "\n"
    text = _filled(text, "toolExecutionNotifications", notes, 5)
    return _filled(text, "results", results, 3)


def _item(value: Mapping[str, object], depth: int) -> str:
    """An item of a long list as text, which takes a tenth of the room; indented so deep."""
    written = json.dumps(value, indent=1, ensure_ascii=True)
    return " " * depth + written.replace("\n", "\n" + " " * depth)


def _filled(text: str, name: str, items: Sequence[str], depth: int) -> str:
    """The log with items in its empty list of this name, whose key is indented so deep. No string
    in the log looks like the list: quotes are escaped in strings."""
    if not items:
        return text
    before, after = text.split(f'"{name}": []', 1)
    return "".join((before, f'"{name}": [\n', ",\n".join(items), f"\n{' ' * depth}]", after))


def uri(path: str) -> str:
    """A path as a URI reference; one with a scheme as it is."""
    if _SCHEME.match(path):
        return quote(path, safe=":/?#[]@!$&'()*+,;=%")
    quoted = quote(os.fsencode(path))
    return f"file://{quoted}" if path.startswith("/") else quoted


def _rule(code: str, rules_url: str | None) -> dict[str, object]:
    rule = RULES[code] if code in RULES else FIGURE_RULES[code]
    parts = (
        ("Meaning", rule.meaning),
        ("Detected", rule.detection),
        ("What to do", rule.action),
    )
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ").capitalize() + "."},
        "fullDescription": {"text": rule.meaning},
        **({"helpUri": f"{rules_url}#{code.lower()}"} if rules_url and code in RULES else {}),
        "help": {
            "text": "\n".join(f"{title}: {text}" for title, text in parts),
            "markdown": "\n\n".join(f"**{title}:** {_markdown(text)}" for title, text in parts),
        },
        "defaultConfiguration": {"level": _LEVELS[str(rule.severity)]},
    }


def _result(
    finding: FindingRow, file: Mapping[str, object], places: Mapping[str, int], print_: str
) -> dict[str, object]:
    related = [
        _location(file, evidence, None)
        | {"id": number, "message": {"text": safe(evidence["shows"])}}
        for number, evidence in enumerate(finding["evidence"], 1)
    ]
    return {
        "ruleId": finding["rule"],
        "ruleIndex": places[finding["rule"]],
        "level": _LEVELS[finding["severity"]],
        "message": {"text": finding_text(finding)},
        "locations": [_location(file, finding, finding["stream"])],
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {FINGERPRINT: print_},
        "properties": {
            "atNs": finding["at_ns"],
            "certainty": finding["certainty"],
            "filter": filter_of(finding),
            "frame": finding["frame"],
            "seqnos": finding["seqnos"],
            "system": finding["system"],
        },
    }


def _location(
    file: Mapping[str, object], shown: FindingRow | EvidenceRow, stream: str | None
) -> dict[str, object]:
    logical = []
    frame = shown["frame"]
    if frame is not None:
        logical.append({"name": f"frame {frame_at(shown)}", "kind": "frame"})
    if stream is not None:
        logical.append({"name": safe(stream), "kind": "stream"})
    physical: dict[str, dict[str, object]] = {"physicalLocation": {"artifactLocation": dict(file)}}
    if frame is not None:  # a frame stands where a text has lines: services show no result without
        physical["physicalLocation"]["region"] = {"startLine": frame}
    return physical | ({"logicalLocations": logical} if logical else {})


def _not_judged(report: Report, places: Mapping[str, int]) -> Iterator[dict[str, object]]:
    """A note for every rule that could not be judged in a capture."""
    captures = [(capture["capture"], capture["path"]) for capture in report["captures"]]
    for rule in map(RuleCoverage, report["rules"]):
        for number, path in captures:
            why = rule.reasons(number)
            if why and not rule.judged_in(number):
                code = rule.code
                text = f"{code} was not judged in {path}: {'; '.join(why)}"
                yield {
                    "level": "note",
                    "message": {"text": safe(text)},
                    "associatedRule": {"id": code, "index": places[code]},
                }


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", text)
