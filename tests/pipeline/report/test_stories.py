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


@pytest.mark.parametrize("name", ["jgroups/n2-loss-1/A.pcap", "raims/small-txw-1/B.pcap"])
def test_what_was_lost_on_the_way_to_a_receiver_was_lost_before_its_interface(name: str) -> None:
    # The recordings lose datagrams in front of the receiver's interface.
    wheres = {gap["story"]["where"] for gap in gaps_of(name) if gap["outcome"] != "reordered"}
    assert wheres == {"before this point"}
