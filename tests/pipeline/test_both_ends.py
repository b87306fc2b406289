"""Captures of both ends in one audit: the same answer in any order and from both engines."""

import json
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress
from tests.pipeline.test_order import records, written


@pytest.fixture
def scenario(fixtures: Path) -> Path:
    return fixtures / "jgroups" / "u3-stale-ack-fixed-1"


def a_to_b(scenario: Path, report: Any) -> dict[str, Any]:
    """The row of what A sent to B."""
    truth = json.loads((scenario / "truth.json").read_text())
    uuids = [truth["members"][name]["uuid"] for name in "AB"]
    (found,) = [
        m for m in report["both_ends"]
        if [m["sender"], m["receiver"]] == uuids and m["conn_id"] is not None
    ]  # fmt: skip
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


def test_both_engines_agree(scenario: Path, spark_place: SparkAddress) -> None:
    captures = [CaptureInput(str(scenario / f"{name}.pcap"), at=name) for name in "BA"]
    spark = audit(captures, Options(engine="spark", place=spark_place))
    assert to_json(spark) == to_json(audit(captures, Options(engine="direct")))


# ---- what the path lost


#: The first byte of the address that a record of Ethernet goes to, behind its two lengths.
DESTINATION = 8 + 14 + 16
LOSSY = ("u3-sync-storm-1", "n2-last-lost-1", "n4-loss-1", "u3n2-ipfrag-loss-2")


def given(folder: Path, change: dict[str, Any] | None = None, into: Path | None = None) -> Any:
    """The report of all members' captures; ``change``: of some the records that are left."""
    captures = []
    for path in sorted(folder.glob("?.pcap")):
        own = path
        if change and path.stem in change:
            assert into is not None
            head, found = records(path)
            own = into / path.name
            written(own, head, change[path.stem](found))
        captures.append(CaptureInput(str(own), at=path.stem))
    return audit(captures, Options(engine="direct"))


def cut_to(snap_len: int, rest: bytes) -> bytes:
    """A record behind its time, as a snap length leaves it."""
    return pack("<I", min(snap_len, len(rest) - 8)) + rest[4 : 8 + snap_len]


def passages(report: dict[str, Any], kind: str) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for met in report["both_ends"]:
        key = met["system"], met["sender_name"], met["receiver_name"]
        found.setdefault(key, []).extend(p for p in met["path"] if p["kind"] == kind)
    return found


@pytest.mark.parametrize("name", LOSSY)
def test_what_the_path_lost_is_what_the_recording_says(fixtures: Path, name: str) -> None:
    folder = fixtures / "jgroups" / name
    derived = json.loads((folder / "truth.json").read_text())["derived_from_captures"]
    found = passages(given(folder), "messages")
    told = {("uni", *pair.split(">")): f for pair, f in derived["unicast"].items() if "exact" in f}
    for sender, stream in derived["multicast"].items():
        told |= {("nak", sender, to): f for to, f in stream["receivers"].items() if "exact" in f}
    lost = 0
    for (system, *ends), figures in told.items():
        rows = [
            p for key, own in found.items()
            if key[0].startswith(system) and list(key[1:]) == ends for p in own
        ]  # fmt: skip
        true = figures["exact"]["messages_lost_on_path"]
        assert sum(row["lost_on_path"] for row in rows) == true
        lost += true
    assert lost


def test_fragments_that_the_path_dropped_are_those_that_the_receivers_capture_lacks(
    fixtures: Path,
) -> None:
    folder = fixtures / "jgroups" / "u3n2-ipfrag-loss-2"
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    dropped = [
        action for action in truth["path_actions"]
        if action["action"] == "drop" and action.get("ip_frag_offset") is not None
    ]  # fmt: skip
    assert dropped and {action["to"] for action in dropped} == {"C"}
    _, at_b, at_c = (capture["fragments"] for capture in given(folder)["captures"])
    assert (at_b["missing"], at_c["missing"]) == (0, len(dropped))
    assert at_b["frames"] - at_c["frames"] == len(dropped)


def test_acks_that_the_path_lost_are_counted(fixtures: Path) -> None:
    folder = fixtures / "jgroups" / "n4-acks-lost-1"
    truth = json.loads((folder / "truth.json").read_text())
    dropped = [a for a in truth["path_actions"] if a["action"] == "drop"]
    acks = sum(m["t"] == "ACK" for a in dropped for m in a["msgs"])
    found = [p for own in passages(given(folder), "acks").values() for p in own]
    assert acks and sum(p["lost_on_path"] for p in found) == acks


def test_a_loss_is_shown_with_the_frames_that_never_came(fixtures: Path) -> None:
    folder = fixtures / "jgroups" / "n2-last-lost-1"
    truth = json.loads((folder / "truth.json").read_text())
    report = given(folder)
    found = [f for f in report["findings"] if f["rule"] == "CP031"]
    dropped = sorted(a["sender_frame"] for a in truth["path_actions"] if a["action"] == "drop")
    assert sorted(e["frame"] for f in found for e in f["evidence"]) == dropped
    assert all(f["severity"] == "info" for f in found)
    assert "lost on the way, or not captured there" in found[0]["text"]


def test_without_a_loss_nothing_is_said(fixtures: Path) -> None:
    report = given(fixtures / "jgroups" / "u4n4-clean-1")
    assert report["both_ends"]
    assert not {"CP031", "CP032"} & {f["rule"] for f in report["findings"]}
    assert all(p["lost_on_path"] == 0 for m in report["both_ends"] for p in m["path"])


def test_a_capture_with_holes_is_told_from_a_path_that_loses(
    fixtures: Path, tmp_path: Path
) -> None:
    """C's capture lacks what C sent: what else it lacks may have come."""
    folder = fixtures / "jgroups" / "n4-acks-lost-1"
    report = given(folder, {"C": lambda found: [r for n, r in enumerate(found) if n % 7]}, tmp_path)
    holes = [f for f in report["findings"] if f["rule"] == "CP032"]
    assert any("are not in the capture at C, so that capture has a hole" in f["text"]
               for f in holes)  # fmt: skip
    rows = [p for m in report["both_ends"] if m["receiver_name"] == "C" for p in m["path"]]
    doubted = [p for p in rows if p["kind"] == "messages" and p["missing"]]
    assert doubted
    for row in doubted:
        assert row["lost_on_path"] is None
        assert row["why"].startswith("the capture at the receiver has a hole")


def test_what_the_other_capture_holds_in_part_is_not_proven_to_be_missing_there(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = fixtures / "jgroups" / "n4-loss-1"
    _, found = records(folder / "C.pcap")
    named = len(found) // 2  # the members were named by then
    cut = [(at, cut_to(90, rest)) for at, rest in found[named:]]
    report = given(folder, {"C": lambda found: found[:named] + cut}, tmp_path)
    of_c = [
        f for f in report["findings"]
        if f["rule"] in ("CP031", "CP032") and "the capture at C" in f["text"]
    ]  # fmt: skip
    assert {f["certainty"] for f in of_c} == {"likely"}
    assert all("captured only in part" in f["text"] for f in of_c)


def test_a_multicast_that_its_sender_s_capture_lacks_is_one_datagram(
    fixtures: Path, tmp_path: Path
) -> None:
    """It came to A and to C."""
    folder = fixtures / "jgroups" / "n4-acks-lost-1"
    _, sent = records(folder / "B.pcap")
    to_all = [n for n, (_, rest) in enumerate(sent) if rest[DESTINATION] == 239]
    gone = to_all[len(to_all) // 2]
    report = given(folder, {"B": lambda found: found[:gone] + found[gone + 1 :]}, tmp_path)
    acks = [p for own in passages(report, "acks").values() for p in own if p["missing"]]
    assert {row["why"] for row in acks} == {
        "the capture at the sender has a hole: at least 1 datagram that its member sent are in the "
        "other capture only"
    }


def test_what_was_sent_when_the_other_capture_had_ended_is_no_loss(
    fixtures: Path, tmp_path: Path
) -> None:
    folder = fixtures / "jgroups" / "v35-u3-loss-1"
    report = given(folder, {"C": lambda found: found[: len(found) // 2]}, tmp_path)
    rows = [p for m in report["both_ends"] if m["receiver_name"] == "C" for p in m["path"]]
    late = [p for p in rows if p["why"] and "ends before" in p["why"]]
    assert late and all(p["lost_on_path"] is None for p in late)


def test_captures_of_other_runs_of_a_cluster_are_no_other_end(fixtures: Path) -> None:
    """They have the cluster's name and its members' names and addresses, and were taken later."""
    folder = fixtures / "jgroups"
    runs = ("n4-loss-1", "n4-last-lost-1", "n4-crash-leave-1")
    paths = [path for run in runs for path in sorted((folder / run).glob("*.pcap"))]
    report = audit([CaptureInput(str(path)) for path in paths], Options(engine="direct"))
    met = [
        (paths[row["sender_capture"]].parent, paths[row["receiver_capture"]].parent)
        for row in report["both_ends"]
    ]
    assert met
    assert [pair for pair in met if pair[0] != pair[1]] == []
