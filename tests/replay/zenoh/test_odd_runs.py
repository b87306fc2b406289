"""What recordings of real nodes in odd ways showed (zenoh.md 2.4, 9.3, 9.4), message by message."""

from collections.abc import Mapping
from typing import Any

import pytest

from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.contract.results import FINDING, STREAM
from seqaudit.replay.zenoh.reasons import (
    AHEAD,
    AS_THEY_COME,
    BEHIND,
    CLOSING,
    CROSSED,
    CUT_SHORT,
    LINKS,
    SEVERAL,
    UNHEARD,
    WAITED,
)
from tests.decoders.zenoh import builders as z
from tests.replay.zenoh.test_engine import SUBSCRIBER_ZID, TOKEN, ZID, Session, answered, causes
from tests.replay.zenoh.test_odd_worlds import AT_PUBLISHER

#: Priority 0, reliable: how declarations travel.
CONTROL = 0
#: Unit extensions 1 and 4 (multilink as bytes), and patch 1.
QOS_AND_LINKS = b"\x81\xc4\x01x\x27\x01"
CLOSED, EXPIRED = b"\x03\x00", b"\x03\x05"


def streams(session: Session) -> list[Mapping[str, Any]]:
    _, results = session.played()
    details = [r.detail for r in results if r.kind == STREAM]
    return [row for row in details if row["kind"] == "samples"]


def misses(row: Mapping[str, Any]) -> list[int]:
    return [miss["nb"] for miss in row["misses"]]


def opened(*, cache: bool, whatami: int, said_all: bool = True) -> Session:
    """A session whose acceptor, the subscriber's node, is a peer (1) or a client (2)."""
    session = Session(opened=False)
    session.raw(z.init()).raw(z.init(SUBSCRIBER_ZID, ack=True, whatami=whatami), back=True)
    session.raw(z.opened(10)).raw(z.opened(500, ack=True), back=True)
    declared = [z.declare(0, 1, 0, "demo/sensor")] + [z.declare(4, 2, 0, TOKEN)] * cache
    declared += [z.declare_final(0)] * said_all
    session.raw(z.frame(10, *declared, priority=CONTROL))
    return session.subscriber(z.declare(2, 1, 1, own=False))


def test_a_peer_that_knows_of_no_cache_goes_on_at_once() -> None:
    (row,) = streams(opened(cache=False, whatami=1).put(0, 2, 1, 3))
    assert (row["delivered"], misses(row)) == ([[0, 0], [2, 3]], [1])


def test_a_client_asks_its_peer_whatever_that_has_declared() -> None:
    (row,) = streams(opened(cache=False, whatami=2).put(0, 2, 1, 3))
    assert row["delivered"] != [[0, 0], [2, 3]]


@pytest.mark.parametrize("whatami", [1, 2])
def test_a_client_is_not_told_of_caches(whatami: int) -> None:
    """Recorded: a peer's cache is declared to peers, and never to a client."""
    (row,) = streams(opened(cache=False, whatami=whatami).put(0, 2).wait(3).put(3))
    assert (row["cache"], causes(row)) == (
        ("none", ["no cache"]) if whatami == 1 else (None, ["not asked"])
    )
    session = opened(cache=False, whatami=2).put(0).lose().put(2).ask(1, "_sn=1..")
    (row,) = streams(session.lose().publisher(z.final(1)).put(3))
    assert causes(row) == ["reply lost, or no cache had them"]


def test_a_peer_that_has_not_heard_all_declarations_asks() -> None:
    """Recorded: the datagram with the cache and the end of the declarations was lost."""
    session = opened(cache=False, whatami=1, said_all=False).put(0, 2)
    session.ask(1, "_sn=1..;_anyke").publisher(z.response(1, z.put(1)), z.final(1))
    (row,) = streams(session)
    assert (row["delivered"], misses(row)) == ([[0, 2]], [])


def test_who_may_have_a_cache_that_was_not_captured_is_waited_for() -> None:
    session = opened(cache=False, whatami=1)
    session.raw(z.frame(12, z.declare(4, 9, 0, "other"), priority=CONTROL))  # 11 is missing
    (row,) = streams(session.put(0, 2, 1, 3))
    assert row["delivered"] != [[0, 0], [2, 3]]


def test_what_a_session_lacks_on_one_link_may_have_come_by_another() -> None:
    """Recorded: tcp and udp links of one session; declarations went by the one, samples by both."""
    session = Session(opened=False).raw(z.init())
    session.raw(z.init(SUBSCRIBER_ZID, ack=True, extensions=b"\xc4\x01x\x27\x01"), back=True)
    _, found = session.raw(z.opened(10)).put(0, 1, 4, 5).played()
    (row,) = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, LINKS)
    certain = {r.rule: r.detail["certainty"] for r in found if r.kind == FINDING}
    assert certain["ZN017"] == "cannot be told" and "proven" not in certain.values()


def linked(*, control: bool = True) -> Session:
    """A session whose ends can have several links; nothing shows that it has."""
    session = Session(opened=False).raw(z.init())
    session.raw(z.init(SUBSCRIBER_ZID, ack=True, extensions=QOS_AND_LINKS), back=True)
    session.raw(z.opened(10)).raw(z.opened(500, ack=True), back=True)
    if control:
        declared = z.declare(0, 1, 0, "demo/sensor"), z.declare(4, 2, 0, TOKEN)
        session.raw(z.frame(10, *declared, priority=CONTROL))
        session.raw(z.frame(500, z.declare(2, 1, 1, own=False), priority=CONTROL), back=True)
    return session


def test_what_can_have_come_by_no_other_link_is_told() -> None:
    (row,) = streams(linked().put(0, 1, 2))
    assert (row["delivered"], row["unrecovered"], row["lost"]) == ([[0, 2]], 0, 0)


def test_a_frame_that_is_missing_may_have_come_by_another_link() -> None:
    session = linked().put(0, 1).lose().put(3)
    assert [row["unknown"]["delivered"] for row in streams(session)] == [LINKS]


def test_declarations_that_are_nowhere_here_may_have_come_by_another_link() -> None:
    (row,) = streams(linked(control=False).put(0, 1, 2))
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, LINKS)


def test_a_query_whose_end_only_is_here_went_by_another_link() -> None:
    (row,) = streams(linked().put(0, 1).publisher(z.final(1)).put(2))
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, LINKS)


def test_samples_of_a_key_that_was_not_declared_are_for_nobody() -> None:
    session = opened(cache=True, whatami=1).subscriber(z.declare(2, 5, 0, "**"))
    session.publisher(z.push(z.put(0), 7))
    (row,) = streams(session)
    assert (row["subscriber"], row["delivered"]) == (None, None)


def test_samples_of_a_key_that_may_not_have_been_declared_are_null_where_nobody_asks() -> None:
    """Recorded: of a UDP session that began before the capture the declarations were lost."""
    for asked, told in ((False, None), (True, [[0, 3]])):
        session = Session(opened=False).put(0).wait(0.2).put(1).lose().put(3)
        if asked:
            session.ask(1, "_sn=2..").publisher(z.response(1, z.put(2)), z.final(1))
        assert [row["delivered"] for row in streams(session)] == [told]
    (row,) = streams(Session(opened=False).put(0, 1))
    assert (row["delivered"], row["unknown"]["delivered"], row["lost"]) == (None, UNHEARD, 0)


def test_subscribers_end_with_the_close_of_their_own_node() -> None:
    for payload, back, gone in (
        (CLOSED, True, True), (CLOSED, False, False), (EXPIRED, True, False),
    ):  # fmt: skip
        (row,) = streams(Session().put(0, 1).raw(payload, back=back))
        assert row["subscriber_gone"] is gone


def test_only_the_publishers_own_node_drops_before_its_transport() -> None:
    def places(sender: bytes) -> list[str]:
        session = Session(opened=False)
        session.raw(z.init(sender)).raw(z.init(SUBSCRIBER_ZID, ack=True), back=True)
        session.raw(z.opened(10)).raw(z.opened(500, ack=True), back=True)
        session.publisher(z.declare(0, 1, 0, "demo/sensor"))
        session.subscriber(z.declare(2, 1, 1, own=False))
        _, results = session.put(0, 1, 4, 5).played(AT_PUBLISHER)
        return [
            r.detail["facts"]["where"] for r in results if r.kind == FINDING and r.rule == "ZN004"
        ]

    assert places(z.ZID) == ["dropped by the publisher's transport"]
    assert places(bytes(range(50, 66))) == ["dropped or lost before this link, or never sent on it"]


def test_an_open_history_keeps_back_what_is_behind_a_gap() -> None:
    session = Session(opened=False)
    session.raw(z.init()).raw(z.init(SUBSCRIBER_ZID, ack=True), back=True)
    session.raw(z.opened(10)).raw(z.opened(500, ack=True), back=True)
    session.publisher(z.declare(0, 1, 0, "demo/sensor"), z.declare(4, 2, 0, TOKEN))
    session.subscriber(z.declare(2, 1, 1, own=False))
    session.subscriber(z.declare(2, 2, 0, "demo/sensor/@adv/pub/**"))
    session.ask(1, "_max=2;_anyke", "/@adv/**").put(0, 1, 3, 4).wait(3).put(5)
    (row,) = streams(session)
    assert (row["delivered"], misses(row)) == ([[0, 1]], [])


def test_what_a_history_brings_behind_live_samples_is_handed_on_by_newer_releases_only() -> None:
    """Recorded: 1.5.1 to 1.9.0 hand on what comes first, 1.10.2 waits."""

    def told(*, live: bool = True, brings: int = 0, waits: bool = False, most: str = "") -> object:
        session = Session().ask(1, f"{most}_anyke", "/@adv/**")
        session = session.put(2) if live else session
        if waits:
            session.ask(2, "_sn=..;_anyke").publisher(z.final(2))
        replies = [z.response(1, z.put(sn)) for sn in range(brings, 3)]
        session.publisher(*replies, z.final(1)).put(3)
        (row,) = streams(session)
        return row["unknown"].get("delivered", row["delivered"])

    assert told() == AS_THEY_COME
    assert told(live=False) == [[0, 3]]
    assert told(brings=2) == [[2, 3]]  # nothing of before it
    assert told(waits=True) == [[0, 3]]
    assert told(most="_max=5;") == [[0, 3]]


def test_what_comes_behind_a_request_for_higher_samples_is_here_and_came_once() -> None:
    """Recorded: a source had begun again under its id, and its first run is not captured."""
    session = Session().put(0, 1, 2).ask(1, "_sn=6..;_anyke").publisher(z.final(1))
    found = session.wait(0.3).put(3, 4).lose().wait(0.1).put(6, 7).played()[1]
    (row,) = (r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples")
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, AHEAD)
    assert (row["repeats"], row["reordered"]) == (0, 2)
    told = [r.detail["seqnos"] for r in found if r.kind == FINDING and r.rule == "CP007"]
    assert told == [[[5, 5]]]
    assert not [r for r in found if r.kind == FINDING and r.rule == "ZN008"]


def test_what_a_history_did_not_bring_of_live_samples_newer_releases_miss_only() -> None:
    """Recorded with 1.6.2, and the last datagram of the answer taken out."""
    asks = z.declare(2, 2, 0, "demo/**"), z.request(1, "demo/**/@adv/**", "_anyke", 0)
    session = Session().put(0, 1, 2).subscriber(*asks).put(3)
    found = session.publisher(z.response(1, z.put(0)), z.final(1)).put(4).played()[1]
    (row,) = (r.detail for r in found if r.detail.get("subscriber") == "demo/**")
    assert [row[name] for name in ("delivered", "lost", "lost_seqnos")] == [None, None, None]
    told = [r.detail for r in found if r.kind == FINDING and r.rule == "ZN002"]
    assert [(one["seqnos"], one["certainty"]) for one in told] == [
        ([[1, 2]], Certainty.UNDECIDABLE)
    ]


def test_who_has_samples_that_wait_for_its_history_asks_though_another_one_was_undeclared() -> None:
    """Recorded: what the answer brought it was said to have had before (CP007)."""
    session = Session().put(0).wait(0.3).subscriber(b"\x9e\x21\x08\x03\x01")
    session.subscriber(z.declare(2, 2, 0, "demo/**"), z.request(1, "demo/**/@adv/**", "_anyke", 0))
    at = "demo/**/@adv/*/" + f"{ZID}/6/**"
    session.wait(0.2).put(1).lose().put(3).subscriber(z.request(2, at, "_sn=..", 0))
    answered(session, 2, 0, 1, 2, 3).publisher(z.final(1)).put(4)
    session.lose().put(6).subscriber(z.request(3, at, "_sn=5..", 0))
    found = answered(session, 3, 5, 6).put(7).played()[1]
    delivered = {
        row["subscriber"]: row["delivered"]
        for row in (r.detail for r in found if r.detail.get("kind") == "samples")
    }
    assert delivered["demo/**"] == [[0, 7]]
    assert [r.detail["seqnos"] for r in found if r.rule == "CP007"] == []


def test_where_a_history_waits_for_another_query_newer_releases_drop_it_behind_what_comes() -> None:
    """Recorded with 1.7.2, which had handed it on as it came."""
    session = (
        Session().ask(1, "_anyke", "/@adv/**").ask(2, "_anyke", TOKEN.removeprefix("demo/sensor"))
    )
    session.publisher(z.response(1, z.put(0)), z.final(1)).put(1).publisher(z.final(2))
    (row,) = streams(session)
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, AS_THEY_COME)


def test_what_a_history_brought_is_not_known_where_its_end_crossed_with_another_query() -> None:
    """Recorded: a publisher's token came before the end; what the history brought was dropped."""
    at = TOKEN.removeprefix("demo/sensor")
    for seconds, told in ((0.0, CROSSED), (0.2, None)):
        session = Session().ask(1, "_anyke", "/@adv/**").publisher(z.response(1, z.put(0)))
        session.publisher(z.final(1)).wait(seconds).ask(2, "_anyke", at).put(1)
        (row,) = streams(session)
        assert (row["delivered"], row["unknown"].get("delivered")) == (
            None if told else [[0, 1]], told,
        )  # fmt: skip


def test_a_history_that_ends_leaves_that_of_another_key_expression_open() -> None:
    """Recorded: the final of one of two was lost, and its subscriber was handed nothing."""
    session = Session().subscriber(z.declare(2, 2, 0, "demo/**"))
    session.ask(1, "_max=5;_anyke", "/@adv/**")
    session.subscriber(z.request(2, "demo/**/@adv/**", "_anyke"))
    session.put(3).publisher(z.final(2)).put(4)
    delivered = {row["subscriber"]: row["delivered"] for row in streams(session)}
    assert delivered == {"demo/sensor": [], "demo/**": [[3, 4]]}


def test_periodic_queries_side_by_side_are_of_several_whose_samples_are_not_known() -> None:
    session = Session().put(0, 1).wait(1).ask(1, "_sn=2..;_anyke").wait(-0.009)
    session.ask(2, "_sn=2..;_anyke")
    session.publisher(z.final(1), z.final(2)).put(2, 4).wait(2).put(5)
    (row,) = streams(session)
    assert row["delivered"] is None and row["unknown"]["delivered"] == SEVERAL


def test_what_reads_late_is_not_said_to_have_gone_on() -> None:
    session = Session().put(0, 2).wait(4).put(3).wait(0.001).ask(1, "_sn=1..;_anyke").put(5)
    (row,) = streams(session)
    assert row["delivered"] is None and row["unknown"]["delivered"] == BEHIND


def test_queries_that_pile_up_behind_two_side_by_side_are_periodic_and_nobodys() -> None:
    session = Session().put(0, 2).ask(1, "_sn=1..;_anyke").ask(2, "_sn=1..;_anyke").wait(0.3)
    session.ask(3, "_sn=1..;_anyke").publisher(z.final(1)).put(3)
    (row,) = streams(session)
    assert row["delivered"] is None and row["unknown"]["delivered"] == SEVERAL
    assert row["subscribers"] is None


def test_subscribers_with_an_open_history_are_not_told_apart() -> None:
    session = Session().subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False))
    session.ask(1, "_anyke", "/@adv/**").put(0, 2)
    session.ask(2, "_sn=..;_anyke").ask(3, "_sn=..;_anyke").put(3)
    (row,) = streams(session)
    assert not row["subscribers"]


def answered_by_icmp(session: Session) -> tuple[Any, Any]:
    """What was handed on, or why that is not known; what was missed."""
    (row,) = streams(session)
    told = row["unknown"].get("delivered")
    return (row["delivered"], misses(row)) if told is None else (None, told)


def test_what_came_when_nobody_listened_any_more_was_handed_to_nobody() -> None:
    """Recorded: a listener over UDP closes, and its host answers what comes then (2.4)."""
    session = Session().put(0, 1).heartbeat(1).wait(0.2).put(2).unreachable().put(3)
    assert answered_by_icmp(session) == ([[0, 1]], [])
    (row,) = streams(session)
    assert (row["live"], row["subscriber_gone"], row["receiver_silent_ns"]) == (
        [[0, 3]],
        True,
        None,
    )
    session_of_a_beat = Session().put(0, 1).wait(0.2).heartbeat(1).unreachable()
    assert answered_by_icmp(session_of_a_beat) == ([[0, 1]], [])
    _, found = session.played(AT_PUBLISHER)
    (row,) = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    assert (row["live"], row["subscriber_gone"]) == ([[0, 3]], False)  # it says nothing there


def test_what_came_just_before_may_have_waited_in_the_socket() -> None:
    """Recorded: closed 2.4 ms behind a sample, which it was not handed, and 13 ms before this."""
    for session in (Session().put(0, 1, 2), Session().put(0, 1).heartbeat(1)):
        assert answered_by_icmp(session.unreachable()) == (None, CLOSING)


def test_a_gap_that_only_such_a_sample_showed_is_no_miss() -> None:
    for cache in (True, False):  # without one a peer asks nobody
        session = opened(cache=cache, whatami=1).put(0, 1).wait(0.2).put(3).unreachable()
        session.wait(3).put(4)
        told = ([[0, 1]], []) if cache else (None, CUT_SHORT)
        assert answered_by_icmp(session) == told


def test_what_waited_when_nobody_listened_any_more_is_not_known() -> None:
    session = Session().put(0, 2).ask(1, "_sn=1..;_anyke").put(3).unreachable()
    assert answered_by_icmp(session) == (None, WAITED)
    fills = Session().put(0, 2).ask(1, "_sn=1..;_anyke")
    fills.publisher(z.response(1, z.put(1))).unreachable()
    assert answered_by_icmp(fills) == (None, WAITED)


def test_a_copy_that_came_to_nobody_was_no_first_one() -> None:
    session = Session().put(0, 1)
    sample = session.payloads[-1]
    session.heartbeat(1).wait(0.2).raw(sample).unreachable()
    assert answered_by_icmp(session) == ([[0, 1]], [])


def test_a_fragment_that_came_to_nobody_may_be_of_what_was_handed_on() -> None:
    message = z.push(z.put(1, b"x" * 40))
    session = Session().put(0).raw(z.fragment(13, message[:30], more=True, first=True))
    session.raw(z.fragment(14, message[30:], more=False)).wait(-0.009).unreachable()
    assert answered_by_icmp(session) == (None, CLOSING)


def test_who_opened_the_session_may_go_on_by_another() -> None:
    session = Session(opened=False)
    session.raw(z.init(SUBSCRIBER_ZID), back=True).raw(z.init(ack=True))
    session.raw(z.opened(500), back=True).raw(z.opened(10, ack=True))
    session.publisher(z.declare(0, 1, 0, "demo/sensor"))
    session.subscriber(z.declare(2, 1, 1, own=False)).put(0).heartbeat(0).wait(0.2)
    session.put(1).unreachable()
    (row,) = streams(session)
    assert (row["delivered"], row["subscriber_gone"]) == ([[0, 0]], False)


def test_who_speaks_again_listens_again() -> None:
    session = Session().put(0).heartbeat(0).wait(0.2).put(1).unreachable().put(2)
    session.wait(0.2).subscriber(z.declare(2, 2, 0, "demo/sensor")).put(3)
    assert [row["delivered"] for row in streams(session)] == [[[0, 0]], [[3, 3]]]
