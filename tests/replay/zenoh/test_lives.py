"""When a node has a subscriber, and when several at one key expression (zenoh.md 4.5, 9.4, 9.5).

All of these were seen in recordings of random lives of real nodes (``zenoh-lives``).
"""

import pytest

from seqaudit.replay.contract.results import STREAM
from seqaudit.replay.contract.worth import BEGINNING, END
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.doubts import Doubts, Untold
from seqaudit.replay.zenoh.lives import SubscriberLife, Undeclared
from seqaudit.replay.zenoh.reasons import (
    BEHIND,
    BROKEN,
    EARLY,
    HANDED,
    LEAVING,
    LEFT_OPEN,
    NOBODY,
    ONE_LEFT,
    OWN_FRAMES,
    PASSED,
    SEVERAL,
    SILENT,
    STRAY,
    UNASKED,
    UNHEARD,
    UNNAMED,
    WAITED,
)
from seqaudit.replay.zenoh.report_rows import ALL, ONE
from tests.decoders.zenoh import builders as z
from tests.replay.zenoh.test_certificates import WideSession, said, uncaptured
from tests.replay.zenoh.test_engine import (
    SUBSCRIBER_ZID,
    SUFFIX,
    TOKEN,
    Session,
    answered,
    rules,
    stream,
)
from tests.replay.zenoh.test_odd_runs import CLOSED, streams

#: Of the only subscriber of ``Session``.
UNDECLARED = b"\x9e\x21\x08\x03" + z.zint(1)
SUBSCRIBER_TOKEN = "demo/sensor/@adv/sub/" + SUBSCRIBER_ZID[::-1].hex() + "/{}/_"


def nobody() -> Session:
    """A session in which no subscriber was declared yet."""
    session = Session(opened=False)
    session.raw(z.init()).raw(z.init(SUBSCRIBER_ZID, ack=True), back=True)
    session.raw(z.opened(10)).raw(z.opened(500, ack=True), back=True)
    return session.publisher(z.declare(0, 1, 0, "demo/sensor"))


def test_a_life_begins_where_the_one_before_it_ended() -> None:
    first = SubscriberLife()
    assert (first.number, first.since, first.over) == (1, BEGINNING, False)
    first.until = 7
    later = first.next()
    assert (later.number, later.since, later.until, first.over) == (2, 7, END, True)
    assert first.meets(0, 7) and not first.meets(8, 9)
    assert later.meets(7, 8) and not later.meets(0, 6)


def test_who_was_undeclared_asks_from_where_it_was_or_from_before_what_was_on_its_way() -> None:
    left = Undeclared()
    assert not left.may_ask_from(1)
    left.was(5)
    left.was(9)
    assert (left.may_ask_from(6), left.may_ask_from(10), left.may_ask_from(4)) == (
        True,
        True,
        False,
    )
    left.bordered = True
    assert left.may_ask_from(4) and not left.may_ask_from(11)


@pytest.mark.parametrize("answer", ["before", "behind", "never"])
def test_who_is_undeclared_with_a_query_open_is_handed_what_waits_by_older_releases(
    answer: str,
) -> None:
    """Recorded: 1.5.1, 1.6.2 and 1.7.2 hand it on when the query ends, 1.9.0 and 1.10.2 do not."""
    session = Session().put(0).lose().put(2).ask(1, "_sn=1..")
    if answer == "before":
        answered(session, 1, 1, 2)
    session.wait(0.5).subscriber(b"\x9e\x21\x08\x03\x01")
    if answer == "behind":
        answered(session, 1, 1, 2)
    row = stream(session.played()[1])
    if answer == "before":
        assert row["delivered"] == [[0, 2]]
    else:
        assert (row["delivered"], row["unknown"]["delivered"]) == (None, LEFT_OPEN)


@pytest.mark.parametrize(
    ("asks", "told"), [((), None), ((3,), LEFT_OPEN), ((3, 3), None), ((3, 5, 5), LEFT_OPEN)]
)
def test_who_goes_further_when_it_is_undeclared_is_handed_what_its_queries_bring(
    asks: tuple[int, ...], told: str | None
) -> None:
    """Recorded with 1.5.1, 1.6.2 and 1.7.2: heartbeats made it ask for all that followed. Of 1.9.0
    and 1.10.2 all queries begin with the same."""
    session = Session().subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False)).put(0, 1, 2)
    session.wait(0.5).subscriber(b"\x9e\x21\x08\x03\x01")
    for number, first in enumerate(asks, 1):
        session.wait(0.3).heartbeat(5).ask(number, f"_sn={first}..5", TOKEN)
        answered(session, number, *range(first, 6))
    row = stream(session.played()[1])
    assert row["unknown"].get("delivered") == told
    assert told or row["delivered"] == [[0, 2]]


def test_what_comes_when_its_node_has_closed_the_session_is_handed_to_nobody() -> None:
    session = Session().put(0, 1).wait(0.5).raw(CLOSED, back=True).put(2)
    delivered = [row["delivered"] for row in streams(session)]
    assert delivered == [[[0, 1]]]


def test_what_comes_just_before_its_node_closes_the_session_it_may_not_have_had() -> None:
    session = Session().put(0, 1)
    session.now -= 0.005  # between two messages there are 10 ms
    row = stream(session.raw(CLOSED, back=True).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, LEAVING)


def test_samples_from_before_any_subscriber_was_declared_are_not_those_of_the_first() -> None:
    """A client that opens the session sends whether anybody subscribed or not."""
    session = nobody().put(0, 1, 2).wait(1.0).subscriber(z.declare(2, 1, 1, own=False)).put(3, 4)
    unknown, known = streams(session)
    assert (unknown["subscriber"], unknown["unknown"]["delivered"]) == (None, NOBODY)
    assert (known["subscriber"], known["delivered"]) == ("demo/sensor", [[3, 4]])


def test_who_is_declared_just_behind_the_first_sample_may_have_had_that_too() -> None:
    session = nobody().put(0)
    session.now -= 0.009
    session.subscriber(z.declare(2, 1, 1, own=False)).put(1, 2)
    session.wait(2.0).subscriber(z.declare(2, 1, 1, own=False)).put(3)  # told of once more
    (row,) = streams(session)
    assert (row["delivered"], row["lost"], row["unknown"]["delivered"]) == (None, 0, EARLY)


def test_who_asks_for_history_long_after_its_key_was_declared_is_another_one() -> None:
    """The final of its history is lost: the machine for both waits, and one of them does not."""
    session = Session().put(0, 1).wait(1.0).ask(1, "_anyke", "/@adv/**")
    session.publisher(z.push(z.put(0, eid=9))).publisher(z.push(z.put(1, eid=9)))
    other = streams(session)[-1]
    assert (other["delivered"], other["unknown"]["delivered"]) == (None, SEVERAL)


def test_a_second_token_at_a_key_is_of_a_second_subscriber() -> None:
    session = Session().subscriber(z.declare(6, 5, 0, SUBSCRIBER_TOKEN.format(6), own=True))
    assert stream(session.put(0, 2).wait(2.0).put(3).played()[1])["delivered"] is not None
    session = Session().subscriber(z.declare(6, 5, 0, SUBSCRIBER_TOKEN.format(6), own=True))
    session.wait(1.0).subscriber(z.declare(6, 6, 0, SUBSCRIBER_TOKEN.format(9), own=True))
    row = stream(session.put(0, 2).wait(2.0).put(3).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, SEVERAL)


def test_periodic_queries_that_begin_between_two_periods_are_of_one_that_came_later() -> None:
    def asked(first: float) -> Session:
        session = Session().put(0, 1, 3).wait(first).ask(1, "_sn=4..;_anyke").publisher(z.final(1))
        return session.wait(0.88).ask(2, "_sn=4..;_anyke").publisher(z.final(2))

    assert stream(asked(0.88).played()[1])["unknown"].get("delivered") != SEVERAL
    row = stream(asked(1.4).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, SEVERAL)


def test_periodic_queries_that_come_late_put_off_no_others() -> None:
    """Recorded: of a program that its machine let wait, and not of several."""

    def told(*at: float, resumed: bool = False) -> object:
        session = Session().put(0, 1, 3) if not resumed else Session().put(7)
        begun = session.now - 0.03
        if resumed:
            answered(session.ask(99, "_sn=2..;_anyke"), 99, 6, 7)
        for number, after in enumerate(at, 1):
            session.now = begun + after
            answered(session.ask(number, f"_sn={8 if resumed else 4}..;_anyke"), number)
        return stream(session.played()[1])["unknown"].get("delivered")

    assert told(0.50, 1.00, 1.54, 2.00, 2.51, 3.00) == UNASKED
    assert told(0.50, 1.00, 1.60, 2.00, 2.51, 3.00) == UNASKED
    assert told(0.50, 1.00, 1.61, 2.12, 2.63, 3.14) == SEVERAL
    assert told(0.40, 1.20, 2.00, 2.80, 3.60) == SEVERAL  # its clock began with an earlier session:
    assert told(0.40, 1.20, 2.00, 2.80, 3.60, resumed=True) is None
    assert told(0.50, 1.00, 1.20, 1.50, 1.70, 2.00) == SEVERAL  # each sixth of a second, some not


def test_whose_query_a_heartbeat_made_is_not_known_beside_a_key_that_is_not() -> None:
    """Recorded: the frame that declares ``demo`` was not captured, and ``demo/**`` had asked."""

    def proven(*declared: bytes) -> object:
        session = WideSession()
        for one in declared:
            session.subscriber(one)
        session.put(0).heartbeat(1).ask(1, "_sn=1..1;_anyke", TOKEN)
        session.publisher(z.response(1, z.put(1)), z.final(1)).wait(0.1).put(2).wait(0.1).put(3)
        return stream(session.played()[1])["lost_proven"]

    assert (proven(), proven(z.declare(2, 7, 5, "/**"))) == (1, 0)


def test_what_an_answer_without_its_query_brings_of_before_the_first_sample_is_in_doubt() -> None:
    """Recorded: the query of a subscriber that had the source in an earlier session was removed."""
    session = Session().put(7).publisher(z.response(1, z.put(5)), z.response(1, z.put(6)))
    row = stream(session.publisher(z.final(1)).put(8).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, STRAY)
    session = Session().put(7, 8).publisher(z.response(1, z.put(7)), z.final(1))
    assert stream(session.played()[1])["delivered"] == [[7, 8]]


def test_who_opened_a_session_drops_it_when_the_other_hosts_socket_is_gone() -> None:
    """Recorded: what waited for an answer was handed on then, not ten seconds later."""

    def waited(*, subscriber_opens: bool) -> object:
        session, ends = Session(opened=False), [(SUBSCRIBER_ZID, 500, True), (z.ZID, 10, False)]
        ends = ends if subscriber_opens else ends[::-1]
        for zid, _, back in ends:
            session.raw(z.init(zid, ack=back is not subscriber_opens), back=back)
        for _, sn, back in ends:
            session.raw(z.opened(sn, ack=back is not subscriber_opens), back=back)
        session.publisher(z.declare(0, 1, 0, "demo/sensor"), z.declare(4, 2, 0, TOKEN))
        session.subscriber(z.declare(2, 1, 1, own=False))
        session.put(0).lose().put(2).ask(1, "_sn=1..;_anyke").raw(b"\x04", back=True).unreachable()
        return stream(session.played()[1])["delivered"]

    assert waited(subscriber_opens=True) == [[0, 0], [2, 2]]
    assert waited(subscriber_opens=False) == [[0, 0]]


def test_a_query_of_before_its_history_ended_shows_that_it_still_waited_then() -> None:
    """Recorded (2150): live 0, the answer of its history and 1 came in one datagram, and its query
    for what waits, sent at the first, stands behind them: 0 came to nothing."""
    session = Session(cache=False)
    session.put().ask(1, "_anyke", "/@adv/**")
    session.publisher(z.push(z.put(0)), z.response(1, z.put(0)), z.final(1), z.push(z.put(1)))
    assert stream(session.played()[1])["delivered"] == [[0, 1]]
    answered(session.ask(2, "_sn=..;_anyke"), 2, 1)
    row = stream(session.played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, BEHIND)


def test_who_is_declared_beside_others_waits_for_no_more_than_its_history_is_to_hold() -> None:
    """Recorded: the last three came by the answer of its history, and were handed on at once; what
    another answer brought below them was old then."""
    session = Session().put(0, 1, 2, 3, 4, 5).subscriber(
        z.declare(2, 9, 0, "demo/**"), z.request(1, "demo/**/@adv/**", "_max=3;_anyke", 0),
        z.request(2, "demo/**" + SUFFIX, "_sn=..;_anyke", 0),
    )  # fmt: skip
    found = answered(answered(session, 1, 3, 4, 5), 2, 1, 2, 3, 4, 5).put(6).played()[1]
    rows = [r.detail for r in found if r.kind == STREAM and r.detail.get("kind") == "samples"]
    assert {row["subscriber"]: row["delivered"] for row in rows} == {
        "demo/sensor": [[0, 6]], "demo/**": [[3, 6]],
    }  # fmt: skip


def test_who_is_undeclared_without_being_known_may_be_any_of_whom_no_declaration_is_here() -> None:
    """Recorded (2098): the capture began behind its declaration; its queries go on."""
    session = Session(opened=False).put(0).wait(0.2).put(1)
    session.ask(1, "_sn=2..").publisher(z.final(1)).wait(0.5).subscriber(UNDECLARED)
    assert stream(session.played()[1])["delivered"] == [[0, 1]]
    row = stream(session.put(2).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, ONE_LEFT)
    known = Session().put(0, 1).wait(0.5).subscriber(b"\x9e\x21\x08\x03" + z.zint(7)).put(2)
    assert stream(known.played()[1])["delivered"] == [[0, 2]]


def test_a_token_long_behind_samples_is_of_a_second_one_though_no_declaration_is_here() -> None:
    """Recorded (2186): one of the two waited for an answer that was lost when it ended."""
    session = Session(opened=False).put(0, 2).ask(1, "_sn=1..").wait(0.5)
    session.subscriber(z.declare(6, 5, 0, SUBSCRIBER_TOKEN.format(6), own=True)).put(3)
    row = stream(session.publisher(z.final(1)).put(4).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, SEVERAL)


def test_a_subscriber_may_have_ended_in_a_frame_of_its_node_that_is_not_here() -> None:
    """Recorded (2183), and frames taken out."""
    session = WideSession().put(0, 1).wait(0.5)
    session.subscriber(z.declare(4, 9, 0, "other", own=False)).put(2)
    assert stream(session.played()[1])["delivered"] == [[0, 2]]
    session.sns[True] += 1
    session.subscriber(z.declare(4, 9, 0, "more", own=False)).put(3)
    row = stream(session.played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, OWN_FRAMES)


def test_a_datagram_of_its_nodes_own_socket_that_is_not_here_may_have_ended_it() -> None:
    """Recorded (2130), and the frame of the undeclaration taken out: the last of its counter."""

    def told(*ids: int) -> object:
        session = Session(opened=False)
        session.raw(z.init(SUBSCRIBER_ZID), back=True).raw(z.init(ack=True))
        session.raw(z.opened(500), back=True).raw(z.opened(10, ack=True))
        session.publisher(z.declare(0, 1, 0, "demo/sensor"))
        session.subscriber(z.declare(2, 1, 1, own=False)).put(0).wait(0.5).put(1)
        session.wait(0.5).raw(b"\x04", back=True).wait(0.5).raw(b"\x04", back=True)
        session.ids = dict(zip(session.back, ids, strict=True))
        row = stream(session.played()[1])
        return row["delivered"] or row["unknown"]["delivered"]

    assert told(7, 8, 9, 10, 11) == [[0, 1]]
    assert told(7, 8, 9, 10, 12) == OWN_FRAMES


def test_who_says_nothing_until_the_session_ends_may_have_ended_before() -> None:
    """Recorded (2093), and a stretch taken out: no KeepAlive came, but ICMP at last."""
    session = Session().put(0).wait(1.0).raw(b"\x04", back=True).put(1).wait(3.0)
    assert stream(session.raw(CLOSED).played()[1])["delivered"] == [[0, 1]]
    session = Session().put(0).wait(1.0).raw(b"\x04", back=True).put(1).wait(4.0)
    row = stream(session.raw(CLOSED).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, SILENT)


def test_what_waits_for_an_answer_that_did_not_end_here_is_handed_on_at_the_end() -> None:
    """Recorded: nothing shows that a subscriber was there still (2155, 2167, 2241)."""

    session = Session().subscriber(z.declare(2, 7, 0, "demo/*", own=False)).put(0).lose().put(2)
    session.ask(1, "_sn=1..").wait(0.5).lose().put(4).wait(0.5)
    told = {
        row["subscriber"]: (row["delivered"], row["delivered_unsure"])
        for row in streams(session.raw(CLOSED))
    }
    handed = [[0, 0], [2, 2], [4, 4]]
    assert told == {"demo/*": (handed, handed), "demo/sensor": (handed, handed[1:])}


def test_who_asked_for_higher_sns_takes_lower_ones_for_repeats_of_an_earlier_run() -> None:
    """Recorded: a publisher was killed and began again under its id, by another session."""
    session = Session().ask(1, "_sn=3..;_anyke").publisher(z.final(1)).wait(0.5)
    _, found = session.put(0, 1, 2, 3, 4).ask(2, "_sn=5..;_anyke").played()
    row = stream(found)
    assert (row["subscriber"], row["delivered"], row["repeats"]) == ("demo/sensor", [[3, 4]], 0)
    assert "ZN008" not in rules(found)


def test_a_close_that_reached_nobody_handed_nothing_on() -> None:
    """Recorded: who listens over UDP ends without a word, closed in good order or killed."""
    session = Session().put(0).lose().put(2).ask(1, "_sn=1..").wait(0.5).raw(CLOSED)
    assert stream(session.played()[1])["delivered"] == [[0, 0], [2, 2]]
    session = Session().put(0).lose().put(2).ask(1, "_sn=1..").wait(0.5).raw(CLOSED)
    row = stream(session.unreachable().played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, WAITED)
    session = answered(Session().put(0).lose().put(2).ask(1, "_sn=1.."), 1, 1, 2).wait(0.5)
    assert stream(session.raw(CLOSED).unreachable().played()[1])["delivered"] == [[0, 2]]


def test_samples_of_before_a_subscriber_was_declared_were_for_another_one_or_nobody() -> None:
    """Recorded (2223), and the beginning taken out."""
    session = Session(opened=False).publisher(z.push(z.put(0), 0, "demo/sensor")).wait(1.0)
    session.subscriber(z.declare(2, 1, 0, "demo/sensor", own=False)).wait(0.5)
    session.publisher(z.push(z.put(1), 0, "demo/sensor"))
    row = stream(session.played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, UNNAMED)


def test_on_a_link_of_frames_that_overtake_each_other_a_missing_one_may_have_come_first() -> None:
    """Recorded (2136), and a frame taken out that a late one had come behind."""

    def told(*sns: int) -> object:
        session, first = Session(), Session().sns[False]
        for sn in sns:
            session.sns[False] = first + sn
            session.put(sn)
        row = stream(session.wait(3).raw(b"\x04").played()[1])
        return row["delivered"] or row["unknown"]["delivered"]

    assert told(0, 2, 1, 3, 5) == PASSED
    assert told(0, 2, 1, 3, 4) == [[0, 0], [2, 4]]
    assert told(0, 2, 3, 5) == [[0, 0], [2, 3], [5, 5]]


def test_a_query_that_did_not_end_here_and_begins_below_what_came_leaves_that_waiting() -> None:
    """Recorded (r322): it had read 1 when it asked, and the answer was lost."""
    session = Session().put(0, 1, 2, 3).ask(1, "_sn=2..3;_anyke", TOKEN)
    row = stream(session.played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, BEHIND)
    assert stream(answered(session, 1, 2, 3).played()[1])["delivered"] == [[0, 3]]


def test_what_a_connection_without_a_close_left_unread_or_waiting_is_not_known() -> None:
    """Its node may have been killed, or lives and hands on what waited (zenoh.md 2.4)."""

    def told(session: Session, how: str) -> object:
        row = stream(session.played(transport="tcp", ended=how)[1])
        return row["delivered"] or row["unknown"]["delivered"]

    def waiting() -> Session:
        return Session().put(0, 2).ask(1, "_sn=1..").put(3)

    assert [told(Session().put(0, 1), how) for how in ("unseen", "closed", "reset", "silent")] == [
        [[0, 1]], [[0, 1]], BROKEN, SILENT
    ]  # fmt: skip
    assert told(Session().put(0, 1).wait(0.2).raw(b"\x04", back=True), "silent") == [[0, 1]]
    assert told(Session().put(0, 1).wait(0.2).raw(b"\x04"), "reset") == [[0, 1]]
    assert [told(waiting(), how) for how in ("closed", "reset", "silent")] == [WAITED] * 3
    assert told(waiting().raw(CLOSED), "closed") == [[0, 0], [2, 3]]


def other(*sns: int) -> list[bytes]:
    """Samples of another publisher of the same node."""
    return [z.push(z.put(sn, eid=9)) for sn in sns]


def test_who_asks_for_what_it_misses_of_one_source_does_so_of_all() -> None:
    """Recorded (5103), and the frame in which it was undeclared taken out."""

    def delivered(*asked: tuple[int, str]) -> tuple[object, object]:
        session = Session().put(0).publisher(*other(0)).publisher(*other(3))
        session.publisher(*other(5)).publisher(*other(7)).publisher(*other(8)).put(2)
        session.publisher(z.declare(4, 3, 0, TOKEN.replace("/6/", "/9/")))
        for number, parameters in asked:
            answered(session.ask(number, parameters), number, 1)
        session.wait(3).put(3)
        row = next(row for row in streams(session) if row["source"].endswith("/9"))
        return row["delivered"], row["unknown"].get("delivered")

    assert delivered() == ([[0, 0], [3, 3], [5, 5], [7, 8]], None)
    assert delivered((1, "_sn=1..;_anyke")) == (None, UNASKED)


def test_that_several_are_at_a_key_expression_one_source_shows_for_all() -> None:
    session = Session().put(0).publisher(*other(0)).publisher(*other(2)).wait(0.5).raw(b"\x04")
    assert [row["delivered"] for row in streams(session)] == [[[0, 0]], [[0, 0], [2, 2]]]
    session.put(2).ask(1, "_sn=1..").publisher(z.final(1)).put(4).ask(2, "_sn=3..")
    answered(session.publisher(z.final(2)).ask(3, "_sn=1.."), 3, 2, 4)  # not the one that asked
    why = {row["unknown"].get("delivered") for row in streams(session)}
    assert why == {SEVERAL}


def test_a_request_that_may_be_its_own_leaves_open_whether_it_had_what_is_not_here() -> None:
    """Recorded (2178): another one, at another key expression, had ended just there."""

    def had(*asked: str) -> list[tuple[str, object]]:
        session = WideSession().subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False))
        session.subscriber(z.declare(2, 7, 0, "demo/*", own=False))
        answered(session.put(0).lose().put(2).ask(1, "_sn=1.."), 1, 1, 2).wait(0.2)
        uncaptured(session.put(3), 4).put(5).wait(0.2)
        session.subscriber(b"\x9e\x21\x08\x03" + z.zint(7)).wait(0.2)
        for number, parameters in enumerate(asked, 2):
            answered(session.ask(number, parameters, TOKEN), number)
        return said(answered(session.ask(9, "_sn=7.."), 9).put(7).played()[1], "CP007")

    assert had() == [("proven", [[4, 4], [6, 6]])]
    assert had("_sn=6..6") == [("likely", [[4, 4], [6, 6]])]


def test_who_asks_below_what_it_was_brought_may_have_been_undeclared() -> None:
    """Recorded (2213), and the beginning taken out: a heartbeat query of it asks on (9.4)."""
    session = answered(Session(opened=False).ask(1, "_sn=3..8", TOKEN), 1, 6, 7, 8).wait(0.5)
    assert stream(session.put(9).played()[1])["delivered"] is not None
    answered(session.ask(2, "_sn=3..9", TOKEN), 2, 7, 8, 9)
    row = stream(session.played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, BEHIND)


def test_over_tcp_a_client_sends_though_there_is_no_subscriber() -> None:
    """Recorded (2148), and the beginning taken out."""
    _, found = Session(opened=False).put(0, 1).played(transport="tcp")
    assert stream(found)["unknown"]["delivered"] == UNHEARD


def test_a_row_says_whether_it_is_of_one_subscriber_or_of_all_of_a_node_at_a_key() -> None:
    """A node declares a key once; only where somebody asked may others there have had less."""
    assert stream(Session().put(0, 2).wait(2).put(3).played()[1])["stands_for"] == ALL
    asked = answered(Session().put(0, 2).ask(1, "_sn=1.."), 1, 1).put(3)
    assert stream(asked.played()[1])["stands_for"] == ONE


def test_a_doubt_matters_from_its_frame_on_and_where_nothing_brought_its_sample() -> None:
    doubts, had = Doubts(), RangeSet([(0, 3)])

    def standing(frame: int, handed: RangeSet = had) -> list[str]:
        return [one.why for one in doubts.standing(handed, Mark(frame, 0))]

    doubts.add("left", since=7)
    doubts.add("coming", figures=HANDED, sample=2)
    assert (standing(6), standing(7)) == ([], ["left"])
    assert standing(6, RangeSet([(3, 5)])) == ["coming"]
    assert standing(6, RangeSet([(2, 5)])) == ["coming"]  # what came with it may be missing
    doubts.add("left", since=5)
    doubts.add("left", since=9)  # the earlier one counts
    assert standing(5) == ["left"]
    doubts.drop("left", "never said")
    assert standing(9) == []
    assert list(doubts.standing(RangeSet(), None)) == [Untold("coming", figures=HANDED, sample=2)]
