"""Finds an example of every rule: ``python -m tests.rules.examples`` writes replay/examples.json.

Each capture of ``fixtures/`` is audited by itself and with the others of its folder; of those in
which a rule fires the one with the fewest frames is its example. A rule that none shows has the
capture that the table writes.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from seqaudit.replay.stages.examples import FILE, Example
from tests.degraded.auditing import command
from tests.rules.spoiled import FIXTURES
from tests.rules.table import MADE, Proof, recorded

#: Folders whose captures are of one test each: together they show more than one by one.
_SEPARATE: Final = "captures"


def of_report(rule: str, report: Mapping[str, Any], proof: Proof) -> Example:
    """The rule's first finding in a report of a proof's capture."""
    files = proof.shipped
    finding = next(finding for finding in report["findings"] if finding["rule"] == rule)
    path = next(c["path"] for c in report["captures"] if c["capture"] == finding["capture"])
    file = next((file for file in files if Path(path).name == Path(file).name), None)
    frame = finding["frame"]
    options = proof.options if files else ()
    return Example(finding["text"], finding["certainty"], frame, file, options, files)


def shipped() -> Iterator[tuple[str, ...]]:
    """Captures that come with the source: each, and all of a folder."""
    for folder in sorted({path.parent for path in FIXTURES.rglob("*.pcap*")}):
        files = sorted(str(p.relative_to(FIXTURES)) for p in folder.iterdir() if ".pcap" in p.name)
        yield from ((file,) for file in files)
        if len(files) > 1 and folder.name != _SEPARATE:
            yield tuple(files)


def found() -> dict[str, Example]:
    """By rule."""
    fewest: dict[str, tuple[int, Example]] = {}
    for files in shipped():
        audited = command(["--limit", "0", *(str(FIXTURES / file) for file in files)])
        frames = sum(capture["frames"] for capture in audited.report.get("captures", ()))
        for rule in {finding["rule"] for finding in audited.findings}:
            if rule not in fewest or frames < fewest[rule][0]:
                fewest[rule] = frames, of_report(rule, audited.report, recorded(files))
    shown = {rule: example for rule, (_, example) in fewest.items()}
    made = {rule: _of_proof(rule, proof) for rule, proof in MADE.items() if rule not in shown}
    return dict(sorted((shown | made).items()))


def _of_proof(rule: str, proof: Proof) -> Example:
    with tempfile.TemporaryDirectory() as folder:
        report = command([*proof.options, *proof.write(Path(folder))]).report
    return of_report(rule, report, proof)


if __name__ == "__main__":
    rules = {rule: asdict(example) for rule, example in found().items()}
    FILE.write_text(json.dumps(rules, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
