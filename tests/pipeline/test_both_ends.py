"""Captures of both ends in one audit: the same answer in any order and from both engines."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqaudit.pipeline.audit import Options, audit
from seqaudit.pipeline.plan import CaptureInput
from seqaudit.pipeline.report.build import to_json
from seqaudit.pipeline.spark.session import Place


@pytest.fixture
def scenario(fixtures: Path) -> Path:
    return fixtures / "jgroups" / "u3-stale-ack-fixed-1"


def a_to_b(scenario: Path, report: dict[str, Any]) -> dict[str, Any]:
    """The row of what A sent to B."""
    truth = json.loads((scenario / "truth.json").read_text())
    uuids = [truth["members"][name]["uuid"] for name in "AB"]
    (found,) = [m for m in report["both_ends"] if [m["sender"], m["receiver"]] == uuids]
    return dict(found)


@pytest.mark.parametrize("order", ["AB", "BA"])
def test_resends_of_what_had_arrived_are_counted(scenario: Path, order: str) -> None:
    truth = json.loads((scenario / "truth.json").read_text())
    true = truth["derived_from_captures"]["unicast"]["A>B"]["exact"]["copies_sent_after_arrival"]
    assert true
    captures = [CaptureInput(str(scenario / f"{name}.pcap"), at=name) for name in order]
    report = audit(captures, Options(engine="direct"))
    met = a_to_b(scenario, report)
    assert met["copies_sent_after_arrival"] == true
    assert met["unknown"] == {}
    assert (met["sender_capture"], met["receiver_capture"]) == (order.index("A"), order.index("B"))
    (found,) = [f for f in report["findings"] if f["rule"] == "UC043" and f["stream"] == met["id"]]
    assert found["capture"] == order.index("A")
    assert f"{true} copies" in found["text"]
    sent_again = [example["copy"]["frame"] for example in met["examples"]]
    assert [evidence["frame"] for evidence in found["evidence"]] == sent_again


def test_one_capture_alone_says_why_it_does_not_tell(scenario: Path) -> None:
    report = audit([CaptureInput(str(scenario / "A.pcap"), at="A")], Options(engine="direct"))
    assert report["both_ends"] == []
    (rule,) = [rule for rule in report["rules"] if rule["rule"] == "UC043"]
    assert {entry["why"] for entry in rule["not_judged"]} == {
        "the capture at the other end is not given"
    }


def test_both_engines_agree(scenario: Path, spark_place: Place) -> None:
    captures = [CaptureInput(str(scenario / f"{name}.pcap"), at=name) for name in "BA"]
    spark = audit(captures, Options(engine="spark", place=spark_place))
    assert to_json(spark) == to_json(audit(captures, Options(engine="direct")))
