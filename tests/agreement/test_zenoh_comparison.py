"""The comparison of zenoh itself: what a report cannot tell is unknown, and what is due is due by
what happened alone."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.zenoh.reasons import HAD, WAITED
from tests.agreement import zenoh
from tests.agreement.__main__ import shown
from tests.agreement.expected_zenoh import heartbeat_lost, timed_out, told_in_vain, unnoticed
from tests.agreement.happened_zenoh import Happened
from tests.agreement.rows import Row
from tests.agreement.zenoh_delivered import evicted_rows
from tests.agreement.zenoh_report import NOBODY_THERE, Part, ZenohScenario

FIXTURES: Final = Path(__file__).parents[2] / "fixtures" / "zenoh"
#: A publisher and a subscriber, and the flow between their nodes.
ZID: Final = "aa"
SOURCE: Final = (ZID, 6)
NODE: Final = "bb"
FLOW: Final = {"src": "10.77.0.1", "sport": 5000, "dst": "10.77.0.2", "dport": 7447}
BACK: Final = {"src": "10.77.0.2", "sport": 7447, "dst": "10.77.0.1", "dport": 5000}
BEAT: Final = {"m": "push", "key": f"demo/@adv/pub/{ZID}/6/_"}


@cache
def of_fixture(name: str) -> ZenohScenario:
    (found,) = zenoh.find(FIXTURES, name)
    return found


def rows_of(name: str, spoil: Callable[[dict[str, Any]], object]) -> list[Row]:
    """All rows of a recording, once streams at the subscriber's interface were spoilt."""
    scenario = of_fixture(name)
    captures = [CaptureInput(str(scenario.folder / f), at=scenario.at(f)) for f in scenario.files]
    report = audit(captures, Options(engine="direct"))
    for stream in report["streams"]:
        if stream.get("kind") == "samples" and stream["role"] == "receiver":
            spoil(cast(dict[str, Any], stream))
    numbered = {file: number for number, file in enumerate(scenario.files)}
    return list(zenoh.compare(Part(scenario, report, numbered)))


def null(reason: str, *figures: str) -> Callable[[dict[str, Any]], object]:
    """Figures that a report cannot tell for a reason."""
    return lambda stream: stream.update(
        dict.fromkeys(figures), unknown=dict.fromkeys(figures, reason)
    )


def verdicts(rows: list[Row], verdict: str) -> dict[str, str]:
    """Figure at the subscriber's interface -> reason."""
    found = [row for row in rows if row.verdict == verdict and row.capture == "sub.pcap"]
    return {row.figure: row.reason for row in found}


ALL_NULL: Final = ("delivered", "misses", "recovered", "unrecovered_seqnos", "not_captured")


def test_what_a_report_cannot_tell_is_unknown_in_its_own_words() -> None:
    rows = rows_of("udp-cache-too-small-1", null(WAITED, *ALL_NULL))
    assert verdicts(rows, "different") == {}
    figures = (
        "delivered", "misses", "not recovered", "recovered", "delivered without passing here",
        "delivered, count",
    )  # fmt: skip
    assert verdicts(rows, "unknown") == {f"s1 p1 {figure}": WAITED for figure in figures}


def test_of_bounds_the_reason_counts() -> None:
    rows = rows_of("udp-cache-too-small-1", null(f"5 or more, 9 at most: {WAITED}", "recovered"))
    assert verdicts(rows, "unknown") == {"s1 p1 recovered": WAITED}


@pytest.mark.parametrize("reason", ["", "who knows", HAD])
def test_null_without_a_reason_or_as_a_whole_capture_lacked_frames_differs(reason: str) -> None:
    rows = rows_of("udp-cache-too-small-1", null(reason, "delivered"))
    assert verdicts(rows, "different").keys() == {"s1 p1 delivered", "s1 p1 delivered, count"}


def test_what_is_known_beside_a_null_is_compared() -> None:
    def spoil(stream: dict[str, Any]) -> None:
        null(WAITED, "delivered")(stream)
        stream["misses"] = []

    assert verdicts(rows_of("udp-cache-too-small-1", spoil), "different").keys() == {"s1 p1 misses"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ([], "none"),
        ([[1, 4], [6, 6]], "1-4, 6"),
        ([["query lost"]], "[query lost]"),
        ([["not asked", "no cache"], ["evicted"]], "[not asked, no cache], [evicted]"),
        ([([[0, 3]], [1])], "[[0-3], [1]]"),
        (["ZN001", "ZN002"], "ZN001, ZN002"),
        ({"decoded": 3}, "{'decoded': 3}"),
    ],
)
def test_every_value_can_be_shown(value: object, text: str) -> None:
    assert shown(value) == text


# -- what is due, of runs told by hand: a publisher of 10 samples, one a second ------------------


def message(kind: str, sn: int, *parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"T": kind, "sn": sn, "rel": True, "prio": 5, "msgs": list(parts)}


def live(sn: int) -> dict[str, Any]:
    return {"m": "push", "key": "demo", "si": {"zid": ZID, "eid": 6, "sn": sn}}


def summary(file: str, passed: list[list[int]], **others: object) -> dict[str, Any]:
    empty: dict[str, object] = {
        "network_messages": {},
        "reply_sn": {},
        "queries": [],
        "heartbeats": [],
        "channels": {},
    }
    return {"file": file, "push_sn": {f"{ZID}/6 demo": passed}, **empty, **others}


def happened(
    *, delivered: int = 10, published: int = 10, events: Mapping[str, float] | None = None,
    actions: list[dict[str, Any]] | None = None, near: Mapping[str, object] | None = None,
    far: Mapping[str, object] | None = None, smd: Mapping[str, Any] | None = None,
) -> Happened:  # fmt: skip
    """A run of 30 s; ``near``, ``far``: what passed beside live samples, ``passed`` these."""
    sides = [{"passed": [[0, published - 1]], **(side or {})} for side in (near, far)]
    timeline = {"capture started": 0.0, **(events or {}), "capture stopped": 30.0}
    return Happened(
        {
            "nodes": [
                {"name": "p", "zid": ZID, "host": "10.77.0.1", "config": {}},
                {"name": "s", "zid": NODE, "host": "10.77.0.2", "config": {}},
            ],
            "captures": [
                {"file": file, "interface": link, "vantage": side, "snaplen": 1 << 18}
                for file, link, side in (
                    ("pub.pcap", "a0", "publisher side link"),
                    ("sub.pcap", "b0", "subscriber side link"),
                )
            ],
            "publishers": [
                {
                    "name": "p1", "zid": ZID, "eid": 6, "key": "demo",
                    "options": {"smd": smd or {}, "cache": 3},
                    "published": [{"sn": sn, "t": sn + 1.0} for sn in range(published)],
                }
            ],
            "subscribers": [
                {
                    "name": "s1", "node": "s", "zid": NODE, "key": "demo", "options": {"rec": {}},
                    "advanced": True, "t_declared": 0.5, "misses": [],
                    "delivered": [[sn + 1.1, 0, *SOURCE, sn] for sn in range(delivered)],
                }
            ],
            "relay": {"actions": actions or []},
            "timeline": [{"event": event, "t": at} for event, at in timeline.items()],
            "wire_summary": {
                "captures": [
                    summary(file, **side)  # type: ignore[arg-type]
                    for file, side in zip(("pub.pcap", "sub.pcap"), sides, strict=True)
                ]
            },
        }
    )  # fmt: skip


CUT_SHORT: Final = {"passed": [[0, 4]]}


def test_last_samples_are_lost_unnoticed_where_nothing_told_of_them() -> None:
    assert unnoticed(happened(delivered=5, far=CUT_SHORT))
    told = {**CUT_SHORT, "heartbeats": [[12.0, BEAT["key"], 9]]}
    assert not unnoticed(happened(delivered=5, far=told))


@pytest.mark.parametrize("event", ["undeclare s1", "SIGKILL s"])
def test_who_was_gone_lost_no_last_samples(event: str) -> None:
    assert not unnoticed(happened(delivered=5, far=CUT_SHORT, events={event: 5.5}))


def test_what_left_for_nobody_was_not_lost() -> None:
    assert not unnoticed(happened(delivered=5, near=CUT_SHORT, far=CUT_SHORT))


def test_what_a_heartbeat_told_of_and_nobody_got_may_be_said_to_be_missed() -> None:
    told = {**CUT_SHORT, "heartbeats": [[12.0, BEAT["key"], 9]]}
    assert told_in_vain(happened(delivered=5, far=told)) is None
    assert told_in_vain(happened(far=told)) is False


QUERY: Final = {
    "t": 6.0, "dir": "b2a", "action": "drop", **BACK,
    "zenoh": [message("Frame", 1, {"m": "request", "key": "x", "params": "_sn=3.."})],
}  # fmt: skip


@pytest.mark.parametrize(
    ("events", "due"),
    [
        ({}, True),
        ({"node p closed": 25.0}, True),
        ({"SIGKILL p": 8.0}, None),
        ({"undeclare s1": 8.0}, None),
        ({"node s closed": 8.0}, None),
    ],
)
def test_a_query_times_out_unless_an_end_is_gone_first(
    events: Mapping[str, float], due: bool | None
) -> None:
    assert timed_out(happened(events=events, actions=[QUERY])) is due


def test_a_heartbeat_that_was_dropped_is_one_of_its_own_source() -> None:
    def with_beat(key: str) -> Happened:
        beat = message("Frame", 9, {"m": "push", "key": key})
        drop = {"t": 12.0, "dir": "a2b", "action": "drop", **FLOW, "zenoh": [beat]}
        return happened(delivered=5, far=CUT_SHORT, actions=[drop], smd={"sporadic_heartbeat": 1})

    assert heartbeat_lost(with_beat(BEAT["key"]))
    assert not heartbeat_lost(with_beat("demo/@adv/pub/cc/7/_"))


@pytest.mark.parametrize(("last", "refused"), [(9, 0), (12, 1)])
def test_a_frame_that_was_held_up_is_refused_behind_a_newer_one(last: int, refused: int) -> None:
    held = {"t": 6.0, "dir": "a2b", "action": "delay", **FLOW, "zenoh": [message("Frame", 9, BEAT)]}
    channels = {"10.77.0.1:5000>10.77.0.2:7447 R prio5": {"first": 1, "last": last, "n": 9}}
    run = happened(actions=[held], far={"channels": channels})
    assert len(run.refused("sub.pcap")) == refused
    assert run.refused("pub.pcap") == []


@pytest.mark.parametrize(("order", "refused"), [((1, 2), 0), ((2, 1), 1)])
def test_a_query_that_was_held_up_is_refused_behind_a_later_one(
    order: tuple[int, int], refused: int
) -> None:
    words = {1: ["x", "_sn=3.."], 2: ["x", "_sn=7.."]}
    held = {**QUERY, "action": "delay"}
    queries = [[7.0 + at, number, *words[number]] for at, number in enumerate(order)]
    assert len(happened(actions=[held], near={"queries": queries}).refused("pub.pcap")) == refused


def test_what_leaves_in_another_order_was_not_overtaken() -> None:
    out_of_order = {"passed": [[0, 3], [5, 5], [4, 4], [6, 9]]}
    assert happened(far=out_of_order).accepted("sub.pcap", SOURCE) == [0, 1, 2, 3, 5, 4, 6, 7, 8, 9]
    held = {
        "t": 5.0,
        "dir": "a2b",
        "action": "delay",
        **FLOW,
        "zenoh": [message("Frame", 5, live(4))],
    }
    assert 4 not in happened(far=out_of_order, actions=[held]).accepted("sub.pcap", SOURCE)


def test_what_the_relay_decoded_was_a_datagram_whatever_its_port() -> None:
    drop = {"t": 5.0, "dir": "a2b", "action": "drop", **FLOW}
    assert happened().of_datagrams({**drop, "zenoh": [message("Frame", 5, live(4))]})
    assert not happened().of_datagrams({**drop, "zenoh": None})


def asked(first: int, at: float = 11.0, number: int = 1) -> list[object]:
    return [at, number, f"demo/@adv/*/{ZID}/6/**", f"_sn={first}.."]


def test_each_query_for_a_sample_may_be_why_it_did_not_come() -> None:
    def why(sn: int, near: list[list[object]], far: list[list[object]]) -> set[str]:
        run = happened(near={"queries": near}, far={"queries": far})
        return run.why_missed("sub.pcap", run.lives, SOURCE, sn)

    assert why(4, [], [asked(6)]) == {"not asked"}
    assert why(4, [], [asked(4, at=4.5)]) == {"not asked"}  # it was not published yet
    assert why(4, [], [asked(4)]) == {"query lost"}
    assert why(4, [asked(4)], [asked(4)]) == {"evicted"}
    assert why(4, [asked(4, at=6.5)], [asked(4, at=6.5)]) == {"reply lost"}
    assert why(4, [asked(4)], [asked(4), asked(4, number=2)]) == {"query lost", "evicted"}


def test_a_sample_was_evicted_if_the_question_for_it_came_too_late() -> None:
    def rows(near: list[list[object]], cause: str) -> list[Row]:
        part = part_of(happened(near={"queries": near}))
        causes = [{"seqnos": [[4, 4]], "cause": cause}]
        miss = {"at_ns": 20_000_000_000, "seqnos": [[4, 4]], "causes": causes}
        return list(evicted_rows(part, "sub.pcap", "s1 p1", SOURCE, [{"misses": [miss]}]))

    (row,) = rows([asked(4)], "evicted: the cache is too small")
    assert (row.verdict, row.truth) == ("equal", [4])
    (row,) = rows([asked(8)], "not asked")  # a question for what came later says nothing
    assert (row.verdict, row.truth) == ("equal", [])


def part_of(run: Happened) -> Part:
    scenario = ZenohScenario(Path("one"), run.truth)
    return Part(
        scenario, {"streams": [], "findings": [], "queries": []}, {"pub.pcap": 0, "sub.pcap": 1}
    )


def test_a_publisher_that_put_nothing_out_has_no_last_sample() -> None:
    rows = list(
        zenoh.published_rows(part_of(happened(published=0, delivered=0)), "pub.pcap", SOURCE)
    )
    assert {(row.figure, row.verdict) for row in rows} == {
        ("p1 published, last sn", "equal"),
        ("p1 published", "equal"),
    }


def test_what_only_a_heartbeat_told_of_was_not_put_out_to_anybody() -> None:
    nobody = {"passed": [], "heartbeats": [[12.0, BEAT["key"], 9]]}
    rows = list(zenoh.published_rows(part_of(happened(near=nobody)), "pub.pcap", SOURCE))
    row = next(row for row in rows if row.figure == "p1 published")
    assert (row.ours, row.truth) == ([], [])


def test_what_passed_nowhere_has_no_last_number() -> None:
    rows = list(zenoh.published_rows(part_of(happened(near={"passed": []})), "pub.pcap", SOURCE))
    assert (rows[0].verdict, rows[0].reason) == ("unknown", NOBODY_THERE)


def test_heartbeats_count_once_a_session_and_in_each() -> None:
    def stream(receiver: str, key: str, beats: int) -> dict[str, Any]:
        return {
            "capture": 1, "kind": "samples", "source": f"{ZID}/6", "live": [], "replied": [],
            "sender_endpoint": "10.77.0.1:5000", "receiver_endpoint": receiver, "subscriber": key,
            "heartbeats": beats,
        }  # fmt: skip

    one, other = "10.77.0.2:7447", "10.77.0.2:7448"
    streams = [stream(one, "demo", 3), stream(one, "**", 0), stream(other, "demo", 4)]
    assert zenoh.heartbeats_of(streams) == 7
