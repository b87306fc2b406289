"""Captures at the sender and at receivers of PGM in one audit: what the switch dropped, and where
a capture lacks it, that this cannot be told."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.contract.passage_rows import NO_CLOCKS
from tests.pipeline.test_raims_audit import HEADER, records

RAIMS: Final = Path(__file__).parents[2] / "fixtures" / "raims"
#: What a packet is called in the report, and in the truth.
SORTS: Final = {"messages": "ODATA", "repairs": "RDATA", "requests": "NAK"}
#: Packets, repairs and NAKs that the switch dropped, one kind or another in each.
LOSSY: Final = ("frame-chain-loss-1", "glsno-loss-1", "small-txw-1")

Lost = Counter[tuple[str, str, str]]
Records = list[tuple[bytes, bytes]]
Change = Callable[[Records], Records]


@cache
def truth_of(name: str) -> Mapping[str, Any]:
    told: Mapping[str, Any] = json.loads((RAIMS / name / "truth.json").read_text())
    return told


def given(name: str, into: Path | None = None, **changes: Change) -> Any:
    """The report of all daemons' captures; of some, what is left of their records."""
    inputs = []
    for node, told in truth_of(name)["nodes"].items():
        path = RAIMS / name / f"{node}.pcap"
        if node in changes:
            assert into is not None
            content = path.read_bytes()
            left = changes[node](records(content))
            path = into / path.name
            path.write_bytes(content[:HEADER] + b"".join(head + packet for head, packet in left))
        inputs.append(CaptureInput(str(path), at=told["ip"]))
    return audit(inputs, Options(engine="direct"))


def dropped(name: str) -> Lost:
    """(sender, receiver, kind) of what the switch dropped."""
    return Counter(
        (action["from"], action["to"], action["kind"])
        for action in truth_of(name)["switch_actions"]["list"]
        if action["act"] == "drop" and action["kind"] in SORTS.values()
    )


def lost(name: str, report: Mapping[str, Any]) -> Lost:
    """The same as the report has it."""
    names = {node["ip"]: name for name, node in truth_of(name)["nodes"].items()}
    found: Lost = Counter()
    for met in report["both_ends"]:
        ends = names[met["sender"]], names[met["receiver"]]
        for passage in met["path"]:
            if passage["kind"] in SORTS:
                way = ends[::-1] if passage["kind"] == "requests" else ends
                if passage["lost_on_path"] is None:  # all its NAKs were dropped
                    assert (name, passage["why"]) == ("small-txw-1", NO_CLOCKS)
                    found[*way, SORTS[passage["kind"]]] += passage["missing"]
                else:
                    found[*way, SORTS[passage["kind"]]] += passage["lost_on_path"]
    return +found


@pytest.mark.parametrize("name", LOSSY)
def test_what_the_path_lost_of_pgm_is_what_the_switch_dropped(name: str) -> None:
    assert dropped(name)
    report = given(name)
    assert lost(name, report) == dropped(name)
    said = [f for f in report["findings"] if f["rule"] == "CP031" and f["system"] == "pgm"]
    assert {f["certainty"] for f in said} == {"proven"}
    assert not [f for f in report["findings"] if f["rule"] == "CP032"]


def test_where_nothing_was_dropped_nothing_is_said() -> None:
    report = given("late-join-1")
    assert report["both_ends"] and not lost("late-join-1", report)
    assert not {"CP031", "CP032"} & {f["rule"] for f in report["findings"]}


def test_a_receivers_capture_that_lacks_what_was_not_lost_tells_of_no_loss(tmp_path: Path) -> None:
    """It asked for none of what is removed."""
    report = given(LOSSY[0], tmp_path, B=lambda found: [r for n, r in enumerate(found) if n % 9])
    rows = [p for met in report["both_ends"] if met["receiver_capture"] == 1
            for p in met["path"] if p["kind"] == "messages" and p["missing"]]  # fmt: skip
    assert rows and {row["lost_on_path"] for row in rows} == {None}


def test_what_was_sent_when_the_receivers_capture_had_ended_is_no_loss(tmp_path: Path) -> None:
    report = given(LOSSY[0], tmp_path, B=lambda found: found[: len(found) // 2])
    rows = [p for met in report["both_ends"] if met["receiver_capture"] == 1 for p in met["path"]]
    late = [p for p in rows if p["why"] and "ends before" in p["why"]]
    assert late and all(p["lost_on_path"] is None for p in late)


def test_what_was_sent_before_the_receivers_capture_began_is_not_counted(tmp_path: Path) -> None:
    report = given("late-join-1", tmp_path, C=lambda found: found[len(found) // 2 :])
    rows = [p for met in report["both_ends"] if met["receiver_capture"] == 2 for p in met["path"]]
    assert rows and not any(p["missing"] for p in rows if p["kind"] != "requests")
