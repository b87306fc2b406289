"""When a node has a subscriber, and when several at one key expression (zenoh.md 4.5, 9.4, 9.5).

All of these were seen in recordings of random lives of real nodes (``zenoh-lives``).
"""

from seqaudit.replay.contract.worth import BEGINNING, END
from seqaudit.replay.zenoh.lives import SubscriberLife, Undeclared
from seqaudit.replay.zenoh.reasons import LEAVING, NOBODY, SEVERAL, STRAY
from tests.decoders.zenoh import builders as z
from tests.replay.zenoh.test_certificates import WideSession
from tests.replay.zenoh.test_engine import SUBSCRIBER_ZID, TOKEN, Session, stream
from tests.replay.zenoh.test_odd_runs import CLOSED, streams

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


def test_who_is_declared_just_behind_the_first_sample_had_that_too() -> None:
    session = nobody().put(0)
    session.now -= 0.009
    (row,) = streams(session.subscriber(z.declare(2, 1, 1, own=False)).put(1, 2))
    assert row["delivered"] == [[0, 2]]
    session.wait(2.0).subscriber(z.declare(2, 1, 1, own=False)).put(3)  # told of once more
    (row,) = streams(session)
    assert row["delivered"] == [[0, 3]]


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
