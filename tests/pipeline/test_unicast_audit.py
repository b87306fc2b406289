"""Audits of unicast recordings whose story depends on what the audit is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.jgroups.config import from_jgroups_config


def findings(report: dict[str, Any], rule: str) -> list[str]:
    """The texts of one rule's findings."""
    return [f["text"] for f in report["findings"] if f["rule"] == rule]


def at_c(fixtures: Path, **parameters: str) -> Any:
    """u3-sync-storm-1 at C, which asks for the first message of every message that comes."""
    path = fixtures / "jgroups" / "u3-sync-storm-1" / "C.pcap"
    given = {name.replace("__", "."): value for name, value in parameters.items()}
    return audit([CaptureInput(str(path), parameters=given)], Options(engine="direct"))


def test_a_storm_by_the_default_interval_is_none_by_the_configured_one(fixtures: Path) -> None:
    by_default = at_c(fixtures)
    (storm,) = findings(by_default, "UC013")
    assert storm.startswith(
        "92 SEND_FIRST_SEQNO of C to B came sooner than 2000 ms (default) after the one before;"
    )
    assert "judged by its default" in storm
    truth = json.loads((fixtures / "jgroups" / "u3-sync-storm-1" / "truth.json").read_text())
    stack = from_jgroups_config(truth["stacks"]["C"]["xml"])
    interval = stack["unicast.sync_min_interval_ms"]
    configured = at_c(fixtures, **{name: str(value) for name, value in stack.items()})
    assert findings(configured, "UC013") == []
    (asked,) = findings(configured, "UC012")
    assert f"with a minimum of {interval} ms (given) between two" in asked
    (used,) = [p for p in configured["parameters"] if p["name"] == "unicast.sync_min_interval_ms"]
    assert (used["value"], used["origin"]) == (interval, "given")


@pytest.mark.parametrize(
    ("rules", "storms"), [("code", 92), ("document", 0), ("document-before-sync", 88)]
)
def test_each_rule_set_shows_how_many_syncs_the_others_would_have_sent(
    fixtures: Path, rules: str, storms: int
) -> None:
    report = at_c(fixtures, unicast__rules=rules)
    (asked,) = findings(report, "UC012")
    assert asked.endswith(
        "sent 93 SEND_FIRST_SEQNO; with a minimum of 2000 ms (default) between two the shipped "
        "rules would have sent 2, the documents' 93, the UNICAST3 document's alone 7."
    )
    found = findings(report, "UC013")
    assert [text.split(" ")[0] for text in found] == ([str(storms)] if storms else [])
    (stream,) = [s for s in report["streams"] if (s["syncs"] or {}).get("sent")]
    assert {name: told["syncs"] for name, told in stream["would_have_sent"].items()} == {
        "code": 2,
        "document": 93,
        "document-before-sync": 7,
    }
