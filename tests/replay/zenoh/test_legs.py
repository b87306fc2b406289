"""Several captures or legs of one source together (zenoh.md 11)."""

from typing import Any

import pytest

from seqaudit.replay.contract.worth import BEGINNING, END, Doubt, Span, Worth
from seqaudit.replay.zenoh.legs import SILENCE_NS, judge, lost_beyond, lost_in
from seqaudit.replay.zenoh.reasons import ASKED_LATER, CLOSED, HAD, HOLE, LATE, SILENT, WAITED
from seqaudit.replay.zenoh.sessions import across_sessions

SECOND = 1_000_000_000
SPANS = [(0, 20 * SECOND), (0, 20 * SECOND), (0, 20 * SECOND)]
LEG = "zenoh|udp|a|b"
DUE_NS = 3_500_000_000  # after its last word an end has to speak again
PUBLISHER, SUBSCRIBER, ROUTER = "10.0.0.1:5", "10.0.0.2:7", "10.0.0.3:9"


def row(live: list[list[int]], role: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "samples", "source": "ab/6", "live": live, "role": role, "transport": "udp",
        "sender": "ab", "sender_endpoint": PUBLISHER, "sender_node": "ab", "receiver": "cd",
        "receiver_endpoint": SUBSCRIBER, "first_ns": SECOND, "last_ns": 2 * SECOND,
        "last_frame": 77, "last_seqno": live[-1][1] if live else None, "heartbeat_highest": None,
        "replied": [], "unrecovered_seqnos": [], "unknown": {}, "subscriber_gone": False,
        "receiver_silent_ns": None, "receiver_due_ns": None, "flooded_ns": None, "open": 0,
        "first_seqno": live[0][0] if live else None, "leg": LEG,
    } | more  # fmt: skip


def told(
    *rows: dict[str, Any], spans: list[tuple[int, int]] = SPANS
) -> list[tuple[str, list[list[int]], str]]:
    found, _ = judge([(n, f"s{n}", r) for n, r in enumerate(rows)], spans, {})
    return [(f["rule"], f["seqnos"], f["certainty"]) for f in found]


def test_samples_that_left_one_end_and_did_not_come_to_the_other() -> None:
    found = told(row([[0, 9]], "sender"), row([[0, 3], [6, 9]], "receiver"))
    assert found == [("ZN020", [[4, 5]], "likely")]
    assert told(row([[0, 9]], "sender"), row([[0, 9]], "receiver")) == []


def test_last_samples_that_nothing_told_of() -> None:
    rows = row([[0, 9]], "sender"), row([[0, 7]], "receiver")
    assert told(*rows) == [("ZN020", [[8, 9]], "likely"), ("ZN019", [[8, 9]], "likely")]
    rows[1]["heartbeat_highest"] = 9
    assert told(*rows) == [("ZN020", [[8, 9]], "likely")]


def test_a_figure_counts_no_less_than_findings_of_two_captures_say() -> None:
    figures = {"lost": 2, "lost_seqnos": [[3, 4]], "unrecovered": 1, "unknown": {}}
    rows = row([[0, 9]], "sender"), row([[0, 2], [5, 7]], "receiver", **figures)
    findings, _ = judge([(n, f"s{n}", r) for n, r in enumerate(rows)], SPANS, {})
    places = {(0, "s0"): rows[0], (1, "s1"): rows[1]}
    found = dict(lost_beyond(findings, places))
    assert found.keys() == {(1, "s1")}
    assert (
        found[1, "s1"]["lost"] is None
        and "2, and 2 that left" in (found[1, "s1"]["unknown"]["lost"])
        and "1, and 2 that left" in (found[1, "s1"]["unknown"]["unrecovered_seqnos"])
    )
    later = row([[8, 9]], "receiver", lost=2, lost_seqnos=[[8, 9]], unknown={})
    assert dict(lost_beyond(findings, places | {(1, "s2"): later})) == {}


def test_a_figure_that_no_frames_prove_is_null_where_the_capture_lacks_frames() -> None:
    dropped = {0: Worth([Span(Doubt.HOLE, BEGINNING, END, "3 packets were dropped")])}
    cut = {0: Worth([Span(Doubt.CUT, 5, 5, "a packet was cut"), Span(Doubt.HOLE, 5, 5, "damaged")])}
    own = row([[0, 2], [5, 7]], "receiver", lost=2, unrecovered=2, lost_proven=1, unknown={})
    ((place, figures),) = lost_in({(0, "s"): own}, dropped)
    assert (place, figures["lost"], figures["delivered"]) == ((0, "s"), None, None)
    assert figures["unknown"]["lost"] == "1 or more, 2 at most: 3 packets were dropped"
    assert list(lost_in({(0, "s"): own | {"lost_proven": 2}}, dropped)) == []
    ((_, figures),) = lost_in({(0, "s"): own | {"unrecovered": 0}}, dropped)
    assert "delivered" not in figures and figures["recovered"] is None
    assert list(lost_in({(0, "s"): own}, cut)) == []


def test_a_heartbeat_that_did_not_arrive() -> None:
    rows = row([[0, 9]], "sender", heartbeat_highest=9), row([[0, 9]], "receiver")
    assert told(*rows) == [("ZN021", [], "likely")]
    rows[1]["heartbeat_highest"] = 9
    assert told(*rows) == []


@pytest.mark.parametrize(
    ("near_end", "end", "certainty"),
    [
        (9 * SECOND, 3 * SECOND, "likely"),
        (9 * SECOND, SECOND, "cannot be told"),  # the other one shows what passed behind them
        (2 * SECOND, SECOND, "likely"),  # both may have gone on in silence
        (9 * SECOND, 2 * SECOND - SILENCE_NS - 1, None),
    ],
)
def test_only_what_passed_while_the_other_was_captured_is_compared(
    near_end: int, end: int, certainty: str | None
) -> None:
    rows = row([[0, 9]], "sender"), row([[0, 8]], "receiver")
    found = told(*rows, spans=[(0, near_end), (-9 * SECOND, end)])
    assert {sure for _, _, sure in found} == ({certainty} if certainty else set())
    assert told(*rows, spans=[(0, 9 * SECOND), (2 * SECOND, 9 * SECOND)]) == []


@pytest.mark.parametrize(
    ("why", "certainty"), [(HOLE, "cannot be told"), (HAD, "cannot be told"), (LATE, "likely")]
)
def test_what_the_other_capture_lacks_may_have_come(why: str, certainty: str) -> None:
    rows = row([[0, 9]], "sender"), row([[2, 8]], "receiver", unknown={"lost": why})
    assert {(rule, sure) for rule, _, sure in told(*rows)} == {
        ("ZN019", certainty), ("ZN020", certainty), ("ZN025", certainty),
    }  # fmt: skip


@pytest.mark.parametrize(("role", "inside"), [("sender", True), ("receiver", False)])
def test_a_router_that_lost_samples(role: str, inside: bool) -> None:
    into = row([[0, 9]], "receiver", receiver="r1", receiver_endpoint=ROUTER)
    out = row([[2, 4], [6, 8]], role, sender_node="r1", sender_endpoint=ROUTER)
    (found,), judged = judge([(0, "in", into), (1, "out", out)], SPANS, {})
    assert judged["ZN020"] == {(0, LEG), (1, LEG)}
    assert judged["ZN019"] == set()
    assert (found["rule"], found["seqnos"], found["stream"]) == ("ZN020", [[5, 5]], "out")
    assert ("did not leave it" in found["text"]) is inside


def test_what_could_be_compared_was_judged() -> None:
    rows = row([[0, 9]], "sender"), row([[0, 9]], "receiver")
    found, judged = judge([(n, f"s{n}", r) for n, r in enumerate(rows)], SPANS, {})
    assert found == []
    assert judged == {
        "ZN019": {(0, LEG), (1, LEG)}, "ZN020": {(0, LEG), (1, LEG)},
        "ZN021": {(0, LEG), (1, LEG)}, "ZN022": set(), "ZN025": {(0, LEG), (1, LEG)},
        "ZN026": set(),
    }  # fmt: skip
    assert not any(judge([(0, "s0", rows[0])], SPANS, {})[1].values())


def test_a_source_of_which_nothing_came_at_all() -> None:
    near = row([[0, 3]], "sender")
    hop = {"kind": "transport", "leg": LEG, "role": "sender"}
    back = f"{SUBSCRIBER}>{PUBLISHER}|5|R"
    found, judged = judge([(0, "s0", near), (1, back, hop)], SPANS, {})
    assert [(f["rule"], f["seqnos"], f["capture"]) for f in found] == [("ZN019", [[0, 3]], 0)]
    assert judged["ZN019"] == {(0, LEG), (1, LEG)}
    told_of = row([], "receiver", heartbeat_highest=1)
    found, _ = judge([(0, "s0", near), (1, back, hop), (1, "s1", told_of)], SPANS, {})
    assert [f["seqnos"] for f in found] == [[[2, 3]]]
    assert judge([(0, "s0", near), (1, back, {**hop, "leg": "zenoh|udp|c|d"})], SPANS, {})[0] == []


def test_a_capture_that_lacks_frames_does_not_tell_what_did_not_come() -> None:
    rows = [(0, "s0", row([[0, 9]], "sender")), (1, "s1", row([[0, 3], [6, 7]], "receiver"))]
    cut = {1: Worth([Span(Doubt.CUT, 5, 5, "a packet was cut")])}
    found, _ = judge(rows, SPANS, cut)
    assert {(f["rule"], f["certainty"]) for f in found} == {
        ("ZN019", "cannot be told"), ("ZN020", "cannot be told"),
    }  # fmt: skip
    assert all("a packet was cut" in f["text"] for f in found)
    assert {f["certainty"] for f in judge(rows, SPANS, {0: cut[1]})[0]} == {"likely"}


def test_another_file_of_the_same_place_is_no_other_end() -> None:
    """Recorded at the publisher, in files that are given as captures of their own."""
    near, back = row([[0, 3]], "sender"), f"{SUBSCRIBER}>{PUBLISHER}|5|R"
    arrived = {"kind": "transport", "leg": LEG, "role": "receiver"}
    assert judge([(0, "s0", near), (1, back, arrived)], SPANS, {})[0] == []


@pytest.mark.parametrize(("first", "lost"), [(8, [[5, 7]]), (5, None)])
def test_samples_lost_between_two_sessions_of_a_node(
    first: int, lost: list[list[int]] | None
) -> None:
    one = row([[0, 4]], "receiver", receiver_endpoint="10.0.0.2:50")
    two = row([[first, 9]], "receiver", receiver_endpoint="10.0.0.2:51", first_ns=3 * SECOND)
    found, judged = judge([(0, "s0", one), (0, "s1", two)], SPANS, {})
    assert [f["seqnos"] for f in found] == ([lost] if lost else [])
    assert judged["ZN022"] == {(0, LEG)}
    two["unrecovered_seqnos"] = [[4, 6]]
    found, _ = judge([(0, "s0", one), (0, "s1", two)], SPANS, {})
    assert [f["seqnos"] for f in found] == ([[[7, 7]]] if lost else [])


def test_what_a_cache_brings_to_the_next_session_shows_what_was_lost_before_it() -> None:
    """Recorded with a link cut for 5 s: no sample follows, and a heartbeat made it ask."""
    ends = {"receiver_endpoint": "10.0.0.2:51"}, {"receiver_endpoint": "10.0.0.2:52"}
    live = row([[0, 4]], "receiver")
    replied = row([], "receiver", replied=[[8, 9]], first_seqno=8, first_ns=3 * SECOND, **ends[0])
    found, judged = judge([(0, "s0", live), (0, "s1", replied)], SPANS, {})
    assert [(f["rule"], f["seqnos"], f["stream"]) for f in found] == [("ZN022", [[5, 7]], "s1")]
    assert (judged["ZN022"], judged["ZN020"]) == ({(0, LEG)}, set())
    later = row([[12, 13]], "receiver", first_ns=9 * SECOND, **ends[1])
    replied |= {"last_seqno": 9, "last_ns": 4 * SECOND}
    found, _ = judge([(0, "s1", replied), (0, "s2", later)], SPANS, {})
    assert [(f["rule"], f["seqnos"], f["stream"]) for f in found] == [("ZN022", [[10, 11]], "s2")]


def session(live: list[list[int]], at: int, **more: Any) -> dict[str, Any]:
    figures = {
        "delivered": live, "misses": [], "unrecovered": 0, "lost": 0, "lost_seqnos": [],
        "subscriber": "demo/s", "first_ns": at * SECOND, "last_ns": (at + 1) * SECOND,
        "first_frame": at * 10,
    }  # fmt: skip
    return row(live, "receiver", **figures) | more


def silence(since: int | None) -> dict[str, int | None]:
    """Its receiver said nothing any more, and had to 3.5 s later."""
    if since is None:
        return {"receiver_silent_ns": None, "receiver_due_ns": None}
    return {"receiver_silent_ns": since * SECOND, "receiver_due_ns": since * SECOND + DUE_NS}


def across(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows with what lies between sessions."""
    end_ns = max(one["last_ns"] for one in rows)
    found = across_sessions([(0, f"s{n}", one) for n, one in enumerate(rows)], [(0, end_ns)])
    return [one | found.get((0, f"s{n}"), {}) for n, one in enumerate(rows)]


def missed(*rows: dict[str, Any]) -> list[list[tuple[int, list[list[int]]]]]:
    return [[(miss["nb"], miss["seqnos"]) for miss in one["misses"]] for one in across(*rows)]


def test_a_subscriber_outlives_the_sessions_of_its_node() -> None:
    """zenoh.md 9.4: its last sn is kept by source; recorded with a link cut for 12 s."""
    first, second = session([[0, 7]], 1), session([[13, 20]], 15)
    assert missed(second, first) == [[(5, [[8, 12]])], []]
    _, second = across(first, second)
    assert (second["unrecovered"], second["lost"]) == (5, 5)
    assert second["unrecovered_seqnos"] == second["lost_seqnos"] == [[8, 12]]
    (told_of,) = second["misses"]
    assert (told_of["frame"], told_of["at_ns"]) == (150, 15 * SECOND)
    third = session([[30, 31]], 30, unrecovered_seqnos=[[21, 24]])  # it asked for these itself
    first, second = session([[0, 7]], 1), session([[8, 20]], 15)
    assert missed(first, second, third) == [[], [], [(5, [[25, 29]])]]


def test_what_came_by_a_session_that_went_on_was_handed_on_or_not_if_a_later_one_asks_for_it() -> (
    None
):
    """Recorded (reconnect-loss), and a clock that shows no time: the link was cut, and what TCP
    brought behind that came to nobody."""
    first = session([[0, 22]], 1, last_frame=106, unknown={})
    second = session([[69, 89]], 7, lost_seqnos=[[20, 68]], unknown={})
    near, _ = across(first, second)
    assert (near["delivered"], near["unknown"]["delivered"]) == (None, ASKED_LATER)
    (near, _) = across(first | {"last_frame": 50}, second)
    assert near["delivered"] == [[0, 19]]
    (near, _) = across(first | {"live": [[0, 22]]}, second | {"delivered": None})
    assert near["delivered"] is None
    (near, _) = across(first, second | {"lost_seqnos": [[30, 68]]})
    assert near["delivered"] == [[0, 22]]


@pytest.mark.parametrize(
    ("silent", "live", "told"), [(1, [[13, 20]], None), (3, [[13, 20]], [[0, 7]]),
                                 (1, [[0, 20]], [[0, 7]])],
)  # fmt: skip
def test_a_listener_over_udp_that_closes_says_nothing(
    silent: int, live: list[list[int]], told: Any
) -> None:
    """Recorded: its host answers with ICMP, and the publisher opens the next session at once."""
    first = session([[0, 7]], 1, unknown={}, **silence(silent))
    second = session(live, 3, leg="another")
    near, far = across(first, second)
    assert near["delivered"] == told
    assert far["misses"] == [] if told is None else near["unknown"] == {}


@pytest.mark.parametrize(
    ("waited", "silent", "begun", "told"),
    [(2, 3, 9, None), (0, 3, 9, [[0, 7]]), (2, None, 9, [[0, 7]]), (2, 3, 5, [[0, 7]])],
)
def test_what_waited_when_its_session_ended_without_a_word_is_not_known(
    waited: int, silent: int | None, begun: int, told: Any
) -> None:
    """Recorded: a killed publisher; what waited was handed on when a frame could not be sent."""
    first = session([[0, 7]], 1, unknown={}, open=waited, **silence(silent))
    near, _ = across(first, session([[0, 3]], begun, leg="another", source="ef/6"))
    assert near["delivered"] == told
    assert near["unknown"].get("delivered") == (WAITED if told is None else None)


@pytest.mark.parametrize(
    ("silent", "ends", "told"), [(1, 5, None), (2, 6, [[0, 7]]), (1, 4, [[0, 7]])]
)
def test_who_says_nothing_any_more_while_the_capture_goes_on_had_ended(
    silent: int, ends: int, told: Any
) -> None:
    """Recorded (2091), and the ICMP that says it taken out."""
    first = session([[0, 7]], 1, unknown={}, **silence(silent)) | {"last_ns": 2 * SECOND - 1}
    near, _ = across(first, session([[0, 3]], ends - 1, leg="another", source="ef/6"))
    assert near["delivered"] == told
    assert near["unknown"].get("delivered") == (SILENT if told is None else None)


@pytest.mark.parametrize(
    ("sender", "begun", "why"), [("ab", 3, CLOSED), ("cd", 3, None), ("ab", 1, None)]
)
def test_whose_publisher_begins_another_session_with_it_had_closed_its_socket(
    sender: str, begun: int, why: str | None
) -> None:
    """Recorded (2209), and the ICMP taken out: no sample came by the next session."""
    first = session([[0, 7]], 1, unknown={}, **silence(1))
    leg = f"zenoh|udp|10.0.0.1:9|{SUBSCRIBER}"
    other = {"kind": "transport", "leg": leg, "sender": sender, "first_ns": begun * SECOND}
    found = across_sessions([(0, "s0", first), (0, "s1", other)], [(0, 3 * SECOND)])
    assert found.get((0, "s0"), first)["unknown"].get("delivered") == why


def test_samples_that_come_by_two_links_in_turn_are_of_one_session() -> None:
    """The InitAck, which says that a session may have several links, is not captured."""

    def delivered(live: list[list[int]], **more: Any) -> list[object]:
        one = session([[0, 1], [4, 5]], 1, unknown={}, last_frame=40, receiver=None)
        other = {"leg": "another", "unknown": {}, "last_frame": 50, "receiver": None}
        return [row["delivered"] for row in across(one, session(live, 2, **(other | more)))]

    assert delivered([[2, 3], [6, 7]]) == [None, None]
    assert delivered([[1, 3], [6, 7]]) == [[[0, 1], [4, 5]], [[1, 3], [6, 7]]]  # to two nodes
    assert delivered([[6, 7]]) == [[[0, 1], [4, 5]], [[6, 7]]]  # one session after the other
    assert delivered([[2, 3]], receiver_endpoint="10.0.0.9:7") == [[[0, 1], [4, 5]], [[2, 3]]]


def test_another_subscriber_of_the_node_misses_nothing_between_sessions() -> None:
    other = session([[13, 20]], 15, subscriber="demo/*")
    assert missed(session([[0, 7]], 1), other) == [[], []]
    unknown = session([[13, 20]], 15, subscriber=None)
    assert missed(session([[0, 7]], 1), unknown) == [[], [(5, [[8, 12]])]]
    assert missed(session([[0, 7]], 1), session([[13, 20]], 1)) == [[], []]
    assert missed(session([[0, 7]], 1), session([[13, 20]], 15, receiver="ef")) == [[], []]


def test_what_is_asked_for_in_the_next_session_was_not_handed_on_in_the_one_before() -> None:
    """Recorded: samples that came when the receiver had dropped the session for its lease."""
    first = session([[0, 9]], 1, subscribers=[{"delivered": [[0, 9]], "misses": []}])
    second = session([[20, 30]], 9, lost_seqnos=[[8, 19]], unrecovered_seqnos=[[8, 19]])
    told_of, _ = across(first, second)
    assert told_of["delivered"] == [[0, 7]]
    assert told_of["subscribers"] == [{"delivered": [[0, 7]], "misses": []}]
    assert missed(first, second) == [[], []]
    again = session([[0, 30]], 9, lost_seqnos=[[5, 6]])  # a source that began again
    assert across(first, again)[0]["delivered"] == [[0, 9]]


def test_a_session_that_overlaps_the_next_one_has_brought_what_it_brought() -> None:
    """Recorded: bytes that are sent again when the next session has begun."""
    first, last = session([[0, 9]], 1), session([[30, 40]], 9, unrecovered_seqnos=[[20, 29]])
    between = session([[10, 19]], 5, last_ns=9 * SECOND + 1)
    assert missed(first, between, last) == [[], [], []]
    ends = {"receiver_endpoint": "10.0.0.2:51"}, {"receiver_endpoint": "10.0.0.2:52"}
    rows = [first, between | ends[0], last | ends[1]]
    found, _ = judge([(0, f"s{n}", one) for n, one in enumerate(rows)], SPANS, {})
    assert found == []


def test_first_samples_that_did_not_come_and_nobody_asks_for() -> None:
    near, far = row([[0, 9]], "sender"), row([[3, 9]], "receiver")
    assert told(near, far) == [("ZN020", [[0, 2]], "likely"), ("ZN025", [[0, 2]], "likely")]
    # it knows the source from a session before: it takes nothing for the beginning, and asks
    before = row([[0, 1]], "receiver", receiver_endpoint="10.0.0.2:51", first_ns=0, last_ns=1)
    rows = [(0, "s0", near), (1, "s1", before), (1, "s2", far)]
    assert "ZN025" not in {found["rule"] for found in judge(rows, SPANS, {})[0]}
    before["subscriber_gone"] = True
    assert "ZN025" in {found["rule"] for found in judge(rows, SPANS, {})[0]}
    far["first_seqno"] = 0  # a reply brought them
    assert told(near, far) == [("ZN020", [[0, 2]], "likely")]


def test_a_source_that_began_again_under_its_id_is_taken_for_repeats() -> None:
    first = session([[0, 19]], 1)
    second = session([[0, 29]], 9, receiver_endpoint="10.0.0.2:51", unrecovered_seqnos=[])
    assert [one["delivered"] for one in across(first, second)] == [[[0, 19]], [[20, 29]]]
    found, _ = judge([(0, "s0", first), (0, "s1", second)], SPANS, {})
    assert [(f["rule"], f["seqnos"], f["stream"]) for f in found] == [("ZN026", [[0, 19]], "s1")]
    second["receiver"] = "ef"  # another subscriber
    assert [one["delivered"] for one in across(first, second)] == [[[0, 19]], [[0, 29]]]
    assert judge([(0, "s0", first), (0, "s1", second)], SPANS, {})[0] == []


def test_a_source_that_goes_on_by_another_leg_has_lost_no_last_samples() -> None:
    """Recorded with a link cut for 4 s: one loss, and the session's end is its explanation."""
    one, two = row([[0, 22]], "sender"), row([[0, 19]], "receiver")
    later = row(
        [[60, 89]], "receiver", receiver_endpoint="10.0.0.2:51", first_ns=9 * SECOND,
        unrecovered_seqnos=[[20, 59]],
    )  # fmt: skip
    found, _ = judge([(0, "s0", one), (1, "s1", two), (1, "s2", later)], SPANS, {})
    assert "ZN019" not in {f["rule"] for f in found}
    assert "ZN022" not in {f["rule"] for f in found}  # its subscriber asked for all of them
