"""The stories of gaps in whole reports of recordings."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main

FIXTURES = Path(__file__).parents[3] / "fixtures"


def gaps_of(name: str) -> list[Any]:
    words = ["audit", "--engine", "direct", "--format", "json", "--exit-zero"]
    result = CliRunner().invoke(main, [*words, str(FIXTURES / name)])
    gaps: list[Any] = json.loads(result.stdout)["gaps"]
    assert gaps
    return gaps


def steps(gap: Any) -> list[tuple[str, int | None]]:
    return [(step["step"], step["frame"]) for step in gap["story"]["steps"]]


def test_a_zenoh_cache_that_no_longer_has_it_refuses_and_what_it_has_it_brings() -> None:
    gaps = gaps_of("zenoh/udp-cache-too-small-1/sub.pcap")
    lost, recovered = (gap for gap in gaps if gap["system"] == "zenoh")
    assert steps(lost) == [
        ("last before", 16),
        ("revealed", 17),
        ("asked", 18),
        ("refused", 21),
        ("never came", None),
    ]
    assert ("answered", 21) in steps(recovered) and ("refused", 21) not in steps(recovered)
    asked = lost["story"]["steps"][2]
    assert asked["by"] and ":" not in asked["by"], "the subscriber's own identity"
    (hop,) = [gap for gap in gaps if gap["system"] == "zenoh-hop"]
    assert hop["story"]["unknown"]["asked"] == "a transport's frames are not asked for again"


def test_a_zenoh_query_that_nobody_answered_is_told() -> None:
    lost = [gap for gap in gaps_of("zenoh/query-lost-1/sub.pcap") if gap["requests"]]
    assert ("unanswered", None) in steps(lost[0])


def test_what_the_receiving_transport_throws_away_was_lost_after_this_point() -> None:
    gaps = gaps_of("zenoh/udp-reorder-dup-1/sub.pcap")
    assert {gap["story"]["where"] for gap in gaps} == {"after this point"}


def test_naks_of_a_session_between_others_name_who_sent_them() -> None:
    gap = gaps_of("raims/rv-dataloss-1/B.pcap")[0]
    askers = {s["by"] for s in gap["story"]["steps"] if s["step"] == "asked"}
    assert askers and None not in askers
    assert "confirmed" in dict(steps(gap))


def test_a_loss_of_raims_has_what_its_link_asked_for_and_who_waited() -> None:
    (gap,) = (g for g in gaps_of("raims/frame-chain-loss-1/B.pcap") if g["system"] == "raims")
    asked = [frame for step, frame in steps(gap) if step == "asked"]
    names = [step for step, _ in steps(gap) if step != "asked"]
    assert names == ["last before", "revealed", "never came", "handed on", "told"]
    assert len(asked) == 8 and gap["requests"] == 8 + gap["story"]["steps_more"]
    assert (gap["seqnos"][0][1] - gap["seqnos"][0][0] + 1, gap["count"]) == (4, 4)
    assert gap["shown"] == "2026-11-20T22:53:26.385Z #7-10"
    story = gap["story"]
    assert (story["waited_by_name"], story["where"]) == ("B", "before this point")
    # what came behind waited until the link gave up, not until the next message was sent
    assert story["waited_ns"] == gap["ended_at_ns"] - gap["revealed_at_ns"]
    assert story["waited_ns"] < gap["delivered_after_ns"]


def test_behind_a_tcp_connection_nothing_waits_and_nothing_is_asked_for() -> None:
    words = ["audit", "--engine", "direct", "--format", "json", "--exit-zero"]
    folder = FIXTURES / "raims" / "tcp-partition-1"
    result = CliRunner().invoke(main, [*words, *map(str, sorted(folder.glob("*.pcap")))])
    gaps = [gap for gap in json.loads(result.stdout)["gaps"] if gap["system"] == "raims"]
    assert gaps
    for gap in gaps:
        assert (gap["requests"], gap["story"]["waited_ns"]) == (0, 0)
        assert "TCP has nothing to ask for" in gap["story"]["unknown"]["asked"]
        assert gap["story"]["where_why"] == (
            "the messages on both sides came on different connections"
        )


@pytest.mark.parametrize("scenario", [
    "frame-chain-loss-1", "frame-silent-loss-1", "frame-unknown-loss-1", "glsno-loss-1",
    "rv-dataloss-1", "small-txw-1",
])  # fmt: skip
def test_gaps_of_raims_add_up_to_what_streams_lost_whatever_other_captures_tell(
    scenario: str,
) -> None:
    folder = FIXTURES / "raims" / scenario
    captures = sorted(map(str, folder.glob("*.pcap")))
    words = ["audit", "--engine", "direct", "--format", "json", "--exit-zero"]
    report = json.loads(CliRunner().invoke(main, [*words, *captures]).stdout)
    added: dict[tuple[int, str], list[int]] = {}
    for gap in report["gaps"]:
        if gap["outcome"] == "unrecovered":
            added.setdefault((gap["capture"], gap["stream"]), []).append(gap["count"])
    lossy = 0
    for stream in report["streams"]:
        if stream["system"] == "raims" and stream["lost"] is not None:
            own = added.get((stream["capture"], stream["id"]), [])
            assert (sum(own), len(own)) == (stream["lost"], stream["gaps"])
            lossy += bool(own)
    assert lossy


@pytest.mark.parametrize("name", ["jgroups/n2-loss-1/A.pcap", "raims/small-txw-1/B.pcap"])
def test_what_was_lost_on_the_way_to_a_receiver_was_lost_before_its_interface(name: str) -> None:
    # The recordings lose datagrams in front of the receiver's interface.
    wheres = {gap["story"]["where"] for gap in gaps_of(name) if gap["outcome"] != "reordered"}
    assert wheres == {"before this point"}
