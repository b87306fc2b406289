"""Both ends of a zenoh session in one audit: what the path lost is what the recording says."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.pipeline.test_order import records, written

AT = {"pub": "10.77.0.1", "sub": "10.77.0.2"}
LOSSY = (
    "heartbeat-lost-1", "multicast-qos-1", "query-lost-1", "reply-lost-1", "udp-first-lost-1",
    "timestamp-cache-only-1", "udp-reorder-dup-1", "udp-last-lost-sporadic-hb-1",
)  # fmt: skip


def given(
    folder: Path, without: dict[str, set[int]] | None = None, into: Path | None = None
) -> Any:
    """The report of both captures; ``without``: of some the records, from 1, that are left out."""
    captures = []
    for name, at in AT.items():
        own = folder / f"{name}.pcap"
        if without and name in without:
            assert into is not None
            head, found = records(own)
            own = into / own.name
            own_records = [r for n, r in enumerate(found, 1) if n not in without[name]]
            written(own, head, own_records)
        captures.append(CaptureInput(str(own), at=at))
    return audit(captures, Options(engine="direct"))


def test_last_samples_that_nothing_told_of_are_in_no_total(fixtures: Path) -> None:
    report = given(fixtures / "zenoh" / "udp-last-lost-undetected-1")
    assert "ZN019" in {finding["rule"] for finding in report["findings"]}
    assert [report["totals"][name] for name in ("lost", "unrecovered")] == [None, None]
    (row,) = (s for s in report["streams"] if s.get("kind") == "samples" and s["capture"] == 1)
    assert (row["delivered"], row["recovered"], row["lost"]) == ([[0, 17]], 0, None)


def dropped(folder: Path) -> Counter[str]:
    """What the relay dropped of frames and of what they held."""
    truth = json.loads((folder / "truth.json").read_text())
    found: Counter[str] = Counter()
    kinds = {"request": "queries", "response": "replies", "response_final": "finals"}
    for action in truth["relay"]["actions"]:
        for told in action.get("zenoh") or () if action.get("action") == "drop" else ():
            found["frames"] += told["T"] in ("Frame", "Fragment")
            for message in told.get("msgs", ()):
                numbered = message["m"] == "push" and message.get("si")
                found["samples" if numbered else kinds.get(message["m"], "others")] += 1
    return found


def lost(report: Any) -> Counter[str]:
    return Counter({
        kind: sum(p["lost_on_path"] for m in report["both_ends"] for p in m["path"]
                  if p["kind"] == kind)
        for kind in ("frames", "samples", "queries", "replies", "finals")
    })  # fmt: skip


@pytest.mark.parametrize("name", LOSSY)
def test_what_the_path_lost_is_what_the_recording_says(fixtures: Path, name: str) -> None:
    folder = fixtures / "zenoh" / name
    true = dropped(folder)
    report = given(folder)
    assert lost(report) == Counter({kind: n for kind, n in true.items() if kind != "others"})
    told = [f["text"] for f in report["findings"] if f["rule"] == "CP031"]
    assert bool(told) == bool(true["frames"])
    assert all("lost on the way, or not captured there" in text for text in told)


def test_over_tcp_what_came_is_counted_and_nothing_is_lost(fixtures: Path) -> None:
    report = given(fixtures / "zenoh" / "tcp-clean-1")
    (there,) = [m for m in report["both_ends"] if m["id"].startswith(AT["pub"])]
    samples = next(p for p in there["path"] if p["kind"] == "samples")
    assert samples["sent"] == samples["arrived"] > 0 == samples["lost_on_path"]


def test_a_frame_that_its_sender_s_capture_lacks_is_a_hole_there(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = fixtures / "zenoh" / "udp-loss-recovered-1"
    report = given(folder, {"pub": {30}}, tmp_path)
    assert {f["rule"] for f in report["findings"]} >= {"CP031", "CP032"}
    there = next(m for m in report["both_ends"] if m["id"].startswith(AT["pub"]))
    frames = next(p for p in there["path"] if p["kind"] == "frames")
    assert frames["not_captured"] == 1
    assert frames["lost_on_path"] is None and "has a hole" in frames["why"]


def test_what_its_receiver_had_is_not_called_lost(fixtures: Path, tmp_path: Path) -> None:
    """The subscriber's next request begins above them, so it had what its capture lacks."""
    folder = fixtures / "zenoh" / "udp-loss-recovered-1"
    report = given(folder, {"sub": {26, 27, 28}}, tmp_path)
    assert "CP007" in {f["rule"] for f in report["findings"] if f["certainty"] == "proven"}
    there = next(m for m in report["both_ends"] if m["id"].startswith(AT["pub"]))
    samples = next(p for p in there["path"] if p["kind"] == "samples")
    assert samples["missing"] == dropped(folder)["samples"] + 3
    assert samples["lost_on_path"] is None and "its member had 3" in samples["why"]


def test_one_end_alone_says_why_it_does_not_tell(fixtures: Path) -> None:
    path = fixtures / "zenoh" / "udp-loss-recovered-1" / "sub.pcap"
    report = audit([CaptureInput(str(path), at=AT["sub"])], Options(engine="direct"))
    assert report["both_ends"] == []
    rules = {rule["rule"]: rule for rule in report["rules"]}
    assert not rules["CP031"]["judged"]


def causes(report: Any) -> list[tuple[list[list[int]], str, str | None]]:
    """Seqnos, cause and what shows it, of all misses."""
    return [
        (cause["seqnos"], cause["cause"], cause["shown_by"])
        for stream in report["streams"]
        for miss in stream.get("misses") or ()
        for cause in miss["causes"]
    ]


def said(report: Any) -> list[str]:
    """What findings about misses say of the other end."""
    told = [
        f["text"].partition(" The capture at the other end shows: ") for f in report["findings"]
    ]
    return [text for _, _, text in told if text]


OTHER = "the capture at the other end"


def test_a_reply_that_left_one_end_is_the_cause_of_what_is_missing_at_the_other(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = fixtures / "zenoh" / "reply-lost-1"
    report = given(folder)
    assert causes(report) == [([[11, 12]], "reply lost", OTHER)]
    assert said(report) == ["a reply with 2 samples left there and did not come."]
    assert [gap["causes"] for gap in report["gaps"] if gap.get("causes")] == [["reply lost"]]
    (answer,) = [q["frame"] for q in report["queries"] if q["capture"] == 0]
    hole = given(folder, {"pub": {answer + 1, answer + 2}}, tmp_path)  # what it replied is not here
    assert [shown_by for _, _, shown_by in causes(hole)] == [None]


@pytest.mark.parametrize("name", ["pub", "sub"])
def test_a_capture_in_doubt_as_a_whole_shows_no_cause(
    fixtures: Path, tmp_path: Path, name: str
) -> None:
    folder = fixtures / "zenoh" / "reply-lost-1"
    head, found = records(folder / f"{name}.pcap")
    paths = {end: folder / f"{end}.pcap" for end in AT} | {name: tmp_path / f"{name}.pcap"}
    written(paths[name], head, [one for record in found for one in (record, record)])
    captures = [CaptureInput(str(paths[end]), at=at) for end, at in AT.items()]
    report = audit(captures, Options(engine="direct"))
    assert "CP017" in {finding["rule"] for finding in report["findings"]}
    assert {shown_by for *_, shown_by in causes(report)} == {None}


def test_a_query_that_one_end_asks_and_the_other_does_not_have_was_lost(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = fixtures / "zenoh" / "query-lost-1"
    report = given(folder)
    assert causes(report) == [([[10, 11]], "query lost", None)]
    assert said(report) == ["the query for 2 samples is not there."]
    early = given(folder, {"pub": set(range(20, 99))}, tmp_path)  # it ended before it was asked
    assert [cause for _, cause, _ in causes(early)] == ["query lost or not answered in time"]


def test_what_a_whole_answer_at_the_other_end_lacks_was_not_in_the_cache(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = fixtures / "zenoh" / "udp-cache-too-small-1"
    whole = causes(given(folder))
    (end,) = [q["ended_frame"] for q in given(folder)["queries"] if q["capture"] == 1]
    assert {shown_by for *_, shown_by in whole} == {OTHER}
    hole = given(folder, {"sub": {end}}, tmp_path)  # nothing of the answer is at its own end
    assert causes(hole) == whole
