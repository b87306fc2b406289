"""Rules about captures, one test each; a clean account has no finding (decoders/README.md 1)."""

from typing import Any

import pytest

from seqaudit.replay.captures.borders import Border, Borders
from seqaudit.replay.captures.findings import judge, judge_borders, judge_vantage
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.stages.systems import SYSTEMS
from tests.replay.captures.builders import merged

CLEAN = {
    "frames_by": {"decoded": 9, "other": 1},
    "interfaces": [{"name": "eth0", "ifdrop": 0, "osdrop": 0}],
    "fragments": {"frames": 0, "datagrams": 0, "incomplete": 0, "missing": 0},
}


def judged(**account: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """(rule, certainty, facts) of one capture's account."""
    return [
        (found["rule"], found["certainty"], found["facts"])
        for found in judge(0, merged(**CLEAN | account))
    ]


def test_a_clean_capture_and_an_empty_account_have_no_finding() -> None:
    assert [*judge(0, merged(**CLEAN)), *judge(1, merged())] == []


def test_a_finding_says_which_capture_it_is_about() -> None:
    (found,) = judge(1, merged(cut=True))
    assert found == {
        "rule": "CP001",
        "certainty": "proven",
        "severity": None,
        "text": "The file ends in the middle of a record; what was captured after it is not here.",
        "seqnos": [],
        "evidence": [],
        "facts": {},
        "frame": None,
        "at_ns": None,
        "holds": {},
        "capture": 1,
        "system": "capture",
        "stream": None,
    }


def test_cp001_a_cut_file_is_not_a_damaged_one_as_well() -> None:
    cut = {"from": 900, "to": 950, "why": "the file ends in the middle of a record (150 claimed)"}
    assert judged(cut=True, skipped=[cut], skipped_bytes=50) == [("CP001", "proven", {})]


def test_cp002_damaged_stretches_are_counted_and_the_first_is_placed() -> None:
    stretches = [
        {"from": 100, "to": 150, "why": "impossible length"},
        {"from": 300, "to": 310, "why": "impossible time"},
    ]
    assert judged(skipped=stretches, skipped_more=7, skipped_bytes=500) == [
        ("CP002", "proven", {"count": 9, "bytes": 500, "start": 100, "why": "impossible length"})
    ]


def test_cp003_drop_counters_of_all_interfaces_are_added() -> None:
    interfaces = [
        {"name": "eth0", "ifdrop": 3, "osdrop": None, "snap_length": 96},
        {"name": "eth1", "osdrop": 4, "packet_drops": 2},
    ]
    assert judged(interfaces=interfaces) == [("CP003", "proven", {"count": 9})]


def test_cp004_truncated_packets_are_counted() -> None:
    assert judged(frames_by={"decoded": 1, "truncated": 5}) == [("CP004", "proven", {"count": 5})]


def test_cp005_incomplete_datagrams_are_said_once() -> None:
    found = judged(
        fragments={"incomplete": 2, "missing": 3}, undecoded={"incomplete IP datagram": 3}
    )
    assert found == [("CP005", "proven", {"count": 2, "missing": 3})]


def test_cp006_the_three_most_frequent_reasons_are_named() -> None:
    undecoded = {"b": 2, "a": 2, "unknown header 77": 9, "encrypted": 1}
    messages = {"unicast4": {"MSG": 1}, "nakack4": {"MSG": 1}}
    assert judged(undecoded=undecoded, messages_by=messages) == [
        (
            "CP006",
            "proven",
            {
                "count": 14,
                "named": "unknown header 77 (9), a (2), b (2) and 1 more",
                "systems": "nakack4 or unicast4",
            },
        )
    ]
    assert judged(undecoded={"a": 1})[0][2]["systems"] == "a recognised system"


def test_cp006_frames_of_no_system_are_no_finding() -> None:
    of_no_system = {"IP version": 3, "link type not understood: 147": 2}
    assert judged(undecoded=of_no_system, of_no_system=of_no_system) == []
    (found,) = judged(undecoded=of_no_system | {"a": 1}, of_no_system=of_no_system)
    assert found[2]["named"] == "a (1)"


def test_cp011_a_damaged_compression_says_what_is_wrong() -> None:
    assert judged(problem="x.pcap.gz: the compressed data ends early") == [
        ("CP011", "proven", {"problem": "x.pcap.gz: the compressed data ends early"})
    ]


def test_cp012_holes_of_tcp_connections_are_the_captures() -> None:
    assert judged(tcp={"flows": 3, "holes": 2, "hole_bytes": 1900}) == [
        ("CP012", "proven", {"count": 2, "bytes": 1900})
    ]
    assert judged(tcp={"flows": 3, "holes": 0, "retransmitted_segments": 7}) == []


def test_cp012_of_bytes_that_nobody_acknowledged_nothing_says_that_they_were_delivered() -> None:
    given_up = {"unacked_holes": 1, "unacked_hole_bytes": 4}
    assert judged(tcp={"holes": 2, "hole_bytes": 1900} | given_up) == [
        ("CP012", "proven", {"count": 1, "bytes": 1896}),
        ("CP012", "cannot be told", {"count": 1, "bytes": 4}),
    ]
    assert judged(tcp={"holes": 1, "hole_bytes": 4} | given_up) == [
        ("CP012", "cannot be told", {"count": 1, "bytes": 4})
    ]


def test_cp013_late_records_are_counted_and_those_that_may_be_a_step_apart() -> None:
    order = {"late": 3, "most_ns": 2_000_000, "first_late": 9}
    assert judged(order=order) == [("CP013", "proven", {"count": 3, "most": "2 ms"})]
    guessed = order | {"guessed": [(4, 9)]}
    assert judged(order=guessed) == [
        ("CP013", "proven", {"count": 3, "most": "2 ms", "guessed": 1})
    ]


def test_cp013_frames_whose_numbers_are_not_wiresharks_are_counted() -> None:
    (found,) = judge(0, merged(order={"late": 300_000, "most_ns": 7, "moved_more": 100_000}))
    assert found["facts"]["unnamed"] == 100_000
    assert "Wireshark" in found["text"]


@pytest.mark.parametrize(
    ("agree", "against", "sure"), [(2, 0, "proven"), (2, 1, "likely"), (0, 0, "likely")]
)
def test_cp014_a_step_is_proven_where_counters_go_on_and_none_speaks_against_it(
    agree: int, against: int, sure: str
) -> None:
    found = judged(order={"steps": [(50, 7, 60_000_000_000, agree, against)]})
    assert found == [("CP014", sure, {"by": "60 s", "at_frame": 50, "count": agree})]


def test_cp014_steps_beyond_those_that_are_named_are_counted() -> None:
    found = judged(order={"steps_more": 4, "beyond": [(60, 70), (80, 90)]})
    assert found == [("CP014", "likely", {"count": 4, "from_frame": 60, "to_frame": 90})]


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        (
            {"datagrams": 60, "again": 20},
            [("CP017", "proven", {"count": 20, "total": 60, "once": 20})],
        ),
        ({"datagrams": 61, "again": 20}, []),
        ({"datagrams": 18, "again": 9}, []),
        ({"once": 20, "pairs": 15}, [("CP017", "likely", {"count": 15, "total": 20})]),
        ({"once": 20, "pairs": 14}, []),
        ({"once": 20, "pairs": 15, "datagrams": 1}, []),  # one that has an IP id came once
    ],
)
def test_cp017_most_datagrams_have_to_come_twice(seen: dict[str, int], found: list[Any]) -> None:
    whole = dict.fromkeys(("datagrams", "again", "once", "pairs"), 0) | seen
    assert judged(twice=whole) == found


AT_NOBODY = Vantage("unknown", None, "default", "only A and B exchange unicasts")
REFUTED = Vantage("unknown", None, "given", "--at A: B is an end of all 9 unicasts")


def test_streams_of_which_nobody_can_tell_what_was_lost_are_counted_and_why() -> None:
    (found,) = judge_vantage(3, AT_NOBODY, 2)
    assert (found["rule"], found["certainty"], found["capture"]) == ("CP010", "cannot be told", 3)
    assert found["facts"] == {
        "why": "only A and B exchange unicasts", "count": 2,
        "advice": "Give --at NAME or --at IP, or the capture of the other end as well",
    }  # fmt: skip
    assert [*judge_vantage(3, AT_NOBODY, 0)] == []


def test_a_place_that_the_capture_contradicts_is_said() -> None:
    (found,) = judge_vantage(0, REFUTED, 2)
    assert (found["rule"], found["facts"]) == ("CP020", {"why": REFUTED.why})
    assert [*judge_vantage(0, Vantage("member", "10.0.0.1", "given"), 0)] == []


def test_cp015_and_cp016_count_streams_under_way_when_the_capture_began_and_ended() -> None:
    found = list(judge_borders(0, Border(known=4, begun=1, timed=3, going_on=2)))
    assert [(f["rule"], f["certainty"]) for f in found] == [
        ("CP015", "proven"),
        ("CP016", "proven"),
    ]
    assert [(f["facts"]["count"], f["facts"]["total"]) for f in found] == [(1, 4), (2, 3)]
    assert list(judge_borders(0, Border(known=4, timed=4))) == []


SECOND = 1_000_000_000


def border(**row: Any) -> tuple[int, int, int, int]:
    """Of a capture that ends at 100 s with one stream."""
    from_one = {word for own in SYSTEMS.values() for word in own.from_one}
    endless = {word for own in SYSTEMS.values() for word in own.endless}
    borders = Borders([100 * SECOND], from_one, endless)
    told: Any = {"capture": 0, "system": "zenoh", "first_seqno": 7, "messages": 0} | row
    assert list(borders.each([told])) == [told]
    own = borders.of(0)
    return own.known, own.begun, own.timed, own.going_on


def test_a_stream_began_before_the_capture_by_its_start_or_its_first_number() -> None:
    assert border()[:2] == (0, 0)
    assert border(start_known=True)[:2] == (1, 0)
    assert border(session_start_captured=False)[:2] == (1, 1)
    assert border(system="unicast3")[:2] == (1, 1)
    assert border(system="nakack2", first_seqno=1)[:2] == (1, 0)


@pytest.mark.parametrize(
    ("last_s", "kinds", "going_on"), [(99.9, {}, 1), (99.9, {"CLOSE": 1}, 0), (98, {}, 0)]
)
def test_a_stream_goes_on_if_it_was_silent_no_longer_than_its_messages_are_apart(
    last_s: float, kinds: dict[str, int], going_on: int
) -> None:
    last = int(last_s * SECOND)
    row = {"first_ns": last - 9 * SECOND, "last_ns": last, "messages": 10, "by_wire_kind": kinds}
    assert border(**row)[2:] == (1, 0)  # nothing was missing
    row["unrecovered"] = 2
    assert border(**row)[2:] == (1, going_on)
    assert border(**row | {"messages": 4})[2:] == (1, 0)
    assert border(**row | {"system": "pgm"})[2:] == (0, 0)
