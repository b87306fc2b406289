"""JGroups recordings of members that come and go, against what the applications were given.

Recorded for this project (``fixtures/README.md``). The captures are whole, so nothing can be said
to be missing from them.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput

FIXTURES: Final = Path(__file__).parents[2] / "fixtures" / "jgroups-sessions"
CAPTURES: Final = [(path.parent.name, path.name) for path in sorted(FIXTURES.glob("*/*.pcap.zst"))]
#: Most messages of a sender that JGroups itself numbered: views, merges, states.
OWN: Final = 8


def replayed(name: str, file: str) -> tuple[dict[str, Any], Any]:
    truth = json.loads((FIXTURES / name / "truth.json").read_text())
    inputs = [CaptureInput(str(FIXTURES / name / file), at=truth["captures"][file])]
    return truth, audit(inputs, Options(engine="direct"))


def named(truth: dict[str, Any], uuid: str | None) -> str | None:
    return next((p["member"] for p in truth["processes"] if p["uuid"] == uuid), None)


def streams_to(truth: dict[str, Any], report: dict[str, Any], by: str, to: str) -> list[Any]:
    return [
        stream
        for stream in report["streams"]
        if named(truth, stream["sender"]) == by
        and named(truth, stream["receiver"]) == to
        and stream["delivered"] is not None
    ]


def test_there_are_recordings() -> None:
    assert len(CAPTURES) == 11


@pytest.mark.parametrize(("name", "file"), CAPTURES)
def test_nothing_is_said_to_be_missing_from_a_whole_capture(name: str, file: str) -> None:
    _, report = replayed(name, file)
    assert [f["text"] for f in report["findings"] if f["rule"] == "CP007"] == []


@pytest.mark.parametrize(("name", "file"), CAPTURES)
def test_as_much_is_delivered_as_the_application_was_given(name: str, file: str) -> None:
    truth, report = replayed(name, file)
    here, compared = file[0], 0
    processes = [p for p in truth["processes"] if p["member"] == here]
    for way, given in truth["applications"][here]["got"].items():
        by, _, to = way.partition(">")
        streams = streams_to(truth, report, by, here)
        streams = [s for s in streams if (s["conn_id"] is None) == (to == "*")]
        others = [p for p in truth["processes"] if p["member"] == by]
        if by == here or len(processes) > 1 or len(streams) < len(others):
            continue  # what two processes of a name were given is one count
        delivered = sum(last - first + 1 for s in streams for first, last in s["delivered"])
        assert given["count"] <= delivered <= given["count"] + OWN, way
        compared += 1
    assert compared or len(processes) > 1


def test_who_comes_back_has_not_left_as_its_process_before() -> None:
    """B left, came back, and C died: its second process keeps what C did not acknowledge."""
    _, report = replayed("rejoin-nakack4", "B.pcap.zst")
    rules = [found["rule"] for found in report["findings"]]
    assert "UC026" in rules and "UC028" not in rules


@pytest.mark.parametrize("file", ["B.pcap.zst", "C.pcap.zst"])
def test_what_the_path_dropped_is_lost(file: str) -> None:
    truth, report = replayed("loss-3.6", file)
    here = file[0]
    for way, lost in truth["lost"][here].items():
        by, _, to = way.partition(">")
        streams = streams_to(truth, report, by, here)
        (row,) = [row for row in streams if (row["conn_id"] is None) == (to == "*")]
        assert (row["lost"], row["lost_seqnos"]) == (len(lost), [[n, n] for n in lost])
    assert report["captures"][0]["frames_by"]["undecodable"] == 0


@pytest.mark.parametrize("file", ["A.pcap.zst", "B.pcap.zst", "C.pcap.zst"])
def test_what_a_merge_skipped_is_what_the_application_missed(file: str) -> None:
    truth, report = replayed("merge-nakack2", file)
    skipped, never_came = {}, {}
    for finding in report["findings"]:
        if finding["rule"] == "MC021":
            by = named(truth, finding["stream"].partition("|")[2])
            skipped[by] = sum(last - first + 1 for first, last in finding["seqnos"])
            came = re.search(r"(\d+) of them came", finding["text"])
            never_came[by] = skipped[by] - (int(came[1]) if came else 0)
    missed = {
        way[0]: truth["applications"][way[0]]["sent"][way] - given["count"]
        for way, given in truth["applications"][file[0]]["got"].items()
        if way.endswith(">*") and given["count"] < truth["applications"][way[0]]["sent"][way]
    }
    rows = [stream for stream in report["streams"] if stream["conn_id"] is None]
    assert missed and skipped.keys() == missed.keys()
    assert all(missed[by] <= skipped[by] <= missed[by] + OWN for by in missed)
    ended: dict[str | None, int] = {}
    for gap in report["gaps"]:
        ends = gap["stream"].split("|")[1:]
        if len(ends) == 1 and gap["outcome"] in ("unrecovered", "lost, or not captured"):
            by = named(truth, ends[0])
            ended[by] = ended.get(by, 0) + gap["count"]
    assert ended == never_came
    # which of them came where a capture has a hole no frame tells, so none is counted as lost
    lost = {by: row["lost"] for row in rows for by in [named(truth, row["sender"])]}
    assert [lost[by] for by in missed] == [None for _ in missed]
    assert report["totals"]["lost"] is None
