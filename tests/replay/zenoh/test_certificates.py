"""What captured frames of a session show by themselves, and what a hole leaves of it."""

from collections.abc import Callable
from typing import Any

import pytest

from seqaudit.decoders.zenoh.messages import zid_text
from seqaudit.replay.contract.results import FINDING, GAP, STREAM, Result
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.zenoh.hops import initial_sn
from seqaudit.replay.zenoh.reasons import (
    EARLY,
    IN_VAIN,
    LEFT_OPEN,
    NOBODY,
    OVERTAKEN,
    ROUTED,
    SHARED_OUT,
    STRAY,
    UNASKED,
    UNNAMED,
)
from tests.decoders.zenoh import builders as z
from tests.replay.zenoh.test_engine import (
    SUBSCRIBER_ZID,
    SUFFIX,
    TOKEN,
    ZID,
    Session,
    answered,
    document,
    stream,
)

FIRST_SN = {False: 100_000, True: 500_000}


class WideSession(Session):
    """One whose transport sns show that they have more than 16 bits."""

    def __init__(self, whatami: int = 1, sender: bytes = z.ZID) -> None:
        super().__init__(opened=False)
        self.sns = dict(FIRST_SN)
        self.raw(z.init(sender)).raw(z.init(SUBSCRIBER_ZID, ack=True, whatami=whatami), back=True)
        self.raw(z.opened(FIRST_SN[False])).raw(z.opened(FIRST_SN[True], ack=True), back=True)
        self.publisher(z.declare(0, 1, 0, "demo/sensor"))
        self.publisher(z.declare(4, 2, 0, TOKEN))
        self.subscriber(z.declare(2, 1, 1, own=False))


def uncaptured(session: Session, *sns: int) -> Session:
    """Samples that came and are not in the capture: the same as lost ones to the counter."""
    for _ in sns:
        session.lose()
    return session


def settled(session: Session, first: int) -> Session:
    """Three more samples, so that what was under way before them has come."""
    return session.put(first).wait(0.1).put(first + 1).wait(0.1).put(first + 2)


def said(found: list[Result], rule: str) -> list[tuple[str, Any]]:
    """Certainty and seqnos of the findings of a rule."""
    return sorted(
        (r.detail["certainty"], r.detail["seqnos"])
        for r in found
        if r.kind == FINDING and r.rule == rule
    )


def test_a_request_proves_the_first_missing_sample_and_nothing_above_it() -> None:
    session = WideSession().put(0).lose().lose().put(3).ask(1, "_sn=1..")
    found = settled(answered(session, 1, 1, 2, 3), 4).played()[1]
    assert said(found, "ZN001") == [("likely", [[2, 2]]), ("proven", [[1, 1]])]
    assert stream(found)["recovered"] == 2


def test_the_query_after_a_heartbeat_proves_all_that_it_names() -> None:
    session = WideSession().put(0).lose().lose().heartbeat(2).ask(1, "_sn=1..2", TOKEN)
    found = settled(answered(session, 1, 1, 2), 3).played()[1]
    assert said(found, "ZN001") == [("proven", [[1, 2]])]


def test_a_query_after_a_heartbeat_proves_nothing_of_who_does_not_hear_heartbeats() -> None:
    """Recorded: a second subscriber, whose history was open, had the sample by another query."""
    session = WideSession().subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False))
    session.subscriber(z.declare(2, 3, 0, "**"), z.request(1, "**/@adv/**", "_anyke", 0))
    session.put(0).lose().heartbeat(1).ask(2, "_sn=1..1", TOKEN)
    session = settled(answered(session, 2, 1), 2)
    session.subscriber(z.request(3, "**" + SUFFIX, "_sn=..", 0))
    session = settled(answered(session, 3, 0, 1), 5).heartbeat(7).wait(0.3).heartbeat(7)
    assert said(session.played()[1], "ZN001") == [("likely", [[1, 1]]), ("proven", [[1, 1]])]


def test_where_frames_of_its_own_are_missing_who_asks_may_have_been_undeclared_before() -> None:
    """Recorded: its last sample came before, and the reply to nobody."""
    session = WideSession().put(0).lose()
    session.sns[True] += 1
    found = settled(answered(session.put(2).ask(1, "_sn=1.."), 1, 1, 2), 3).played()[1]
    assert said(found, "ZN001") == [("likely", [[1, 1]])]


LEAVES = b"\x9e\x21\x08\x03\x01"


def others(session: Session) -> Session:
    """Frames of the publisher's in which nothing of the source is, so that its counter goes on."""
    return session.publisher().wait(0.1).publisher().wait(0.1).publisher()


@pytest.mark.parametrize(
    ("goes_on", "sure"),
    [
        (others, "likely"),
        (lambda s: others(s.put(3)), "likely"),  # it was on its way
        (lambda s: settled(s, 3), "proven"),
        (lambda s: others(s).subscriber(LEAVES), "proven"),
        (lambda s: others(s).heartbeat(2), "likely"),  # its request may be missing too
        (lambda s: others(s).heartbeat(2).heartbeat(2), "proven"),
        (lambda s: others(s).lose().put(4).ask(2, "_sn=3.."), "proven"),
    ],
)
def test_who_is_not_heard_of_behind_an_answer_may_have_been_undeclared_before_it(
    goes_on: Callable[[Session], Session], sure: str
) -> None:
    """Recorded: in a frame that alone is missing, the last of its counter, so that nothing shows
    it. One that was undeclared asks again at every heartbeat, for the same."""
    session = WideSession().put(0).lose().heartbeat(2).ask(1, "_sn=1..2", TOKEN)
    found = goes_on(answered(session, 1, 1, 2)).played()[1]
    assert (sure, [[1, 2]]) in said(found, "ZN001")


@pytest.mark.parametrize("there", [False, True])
def test_who_may_have_been_undeclared_before_the_answer_may_have_missed_nothing(
    there: bool,
) -> None:
    """No callback tells it then."""
    session = answered(WideSession().put(0).lose().put(2).ask(1, "_sn=1.."), 1, 2)
    session = settled(session, 3) if there else others(session.put(3))
    sure = "proven" if there else "likely"
    assert said(session.played()[1], "ZN002") == [(sure, [[1, 1]])]


def test_where_another_one_subscribes_too_samples_that_go_on_say_nothing_of_who_asked() -> None:
    session = WideSession().subscriber(z.declare(2, 2, 0, "**")).put(0).lose().put(2)
    found = settled(answered(session.ask(1, "_sn=1.."), 1, 1, 2), 3).played()[1]
    assert said(found, "ZN001") == [("likely", [[1, 1]])]


def test_what_goes_on_soon_behind_an_answer_from_far_away_was_on_its_way() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..").wait(0.03)
    found = settled(answered(session, 1, 1, 2), 3).played()[1]
    assert said(found, "ZN001") == [("likely", [[1, 1]])]


def test_a_request_at_a_key_whose_number_is_not_declared_here_may_be_another_s() -> None:
    """Recorded: that of one that was declared in a frame that is not in the capture."""
    session = WideSession().put(0).lose().put(2)
    session.subscriber(z.request(1, SUFFIX, "_sn=1..", 7))
    found = settled(answered(session, 1, 1, 2), 3).played()[1]
    assert said(found, "ZN001") == [("likely", [[1, 1]])]


@pytest.mark.parametrize("leaves", [False, True])
def test_in_mid_session_one_that_is_undeclared_may_be_who_asked_before(leaves: bool) -> None:
    """Recorded: another one was declared at its key expression and asked for what it missed."""
    session = Session(opened=False)
    session.sns = {False: 10_000, True: 50_000}
    session.put(0, 1, 2, 3).lose().put(5).subscriber(z.request(1, "**" + SUFFIX, "_sn=4..", 0))
    session = settled(answered(session, 1, 4, 5), 6)
    if leaves:
        session.subscriber(b"\x9e\x21\x08\x03\x07")
    session.wait(1).lose().put(10).wait(1).lose().put(12)
    session.subscriber(z.request(2, "**" + SUFFIX, "_sn=11..", 0))
    found = settled(answered(session, 2, 11, 12), 13).played()[1]
    sure = [seqnos for certainty, seqnos in said(found, "CP007") if certainty == "proven"]
    assert bool(sure) is not leaves


def test_a_live_copy_may_have_come_where_frames_are_missing_before_the_reply() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..").lose()
    found = answered(session, 1, 1, 2).put(3).played()[1]
    assert said(found, "ZN001") == [("likely", [[1, 1]])]


def test_a_frame_that_is_missing_soon_behind_the_reply_may_have_overtaken_it() -> None:
    session = answered(WideSession().put(0).lose().put(2).ask(1, "_sn=1.."), 1, 1, 2)
    assert said(session.lose().put(4).played()[1], "ZN001")[0] == ("likely", [[1, 1]])
    session = answered(WideSession().put(0).lose().put(2).ask(1, "_sn=1.."), 1, 1, 2)
    assert said(session.put(3).played()[1], "ZN001") == [("likely", [[1, 1]])]  # or would be
    session = answered(WideSession().put(0).lose().put(2).ask(1, "_sn=1.."), 1, 1, 2)
    assert ("proven", [[1, 1]]) in said(settled(session, 3).lose().put(7).played()[1], "ZN001")


def test_numbers_of_few_bits_may_hide_a_whole_turn_and_prove_nothing() -> None:
    session = Session().put(0).lose().put(2).ask(1, "_sn=1..")
    found = answered(session, 1, 1, 2).put(3).played()[1]
    assert said(found, "ZN001") == [("likely", [[1, 1]])]


def test_a_whole_answer_without_the_sample_proves_that_it_was_missed() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    found = settled(answered(session, 1, 2), 3).played()[1]
    assert said(found, "ZN002") == [("proven", [[1, 1]])]


@pytest.mark.parametrize(("crossing", "certainty"), [(False, "proven"), (True, "likely")])
def test_what_is_missing_before_a_gap_shows_may_have_shown_it_and_held_the_sample(
    crossing: bool, certainty: str
) -> None:
    """Recorded with six threads, whose samples cross: what was read 20 ms late lay in a hole with
    what filled it, before the first sample here that shows the gap."""
    session = WideSession().put(*([1, 0] if crossing else [0, 1])).lose().put(3).ask(1, "_sn=2..")
    found = settled(answered(session, 1, 3), 4).played()[1]
    assert said(found, "ZN002") == [(certainty, [[2, 2]])]


@pytest.mark.parametrize("crossing", [False, True])
def test_what_showed_a_gap_before_the_capture_may_have_held_the_sample_behind_it(
    crossing: bool,
) -> None:
    """Recorded with threads, and cut before the request: 4 had shown it, and 3 came with that."""
    session = WideSession().lose().put(*([6, 5] if crossing else [5, 6])).ask(1, "_sn=3..")
    found = settled(answered(session, 1, 3, 4, 5, 6), 7).played()[1]
    assert (("proven", [[3, 3]]) in said(found, "ZN001")) == (not crossing)


@pytest.mark.parametrize(
    ("parameters", "ends", "delivered"),
    [("_sn=3..", False, None), ("_sn=3..", True, [[5, 6]]), ("_sn=..4", False, [[5, 6]])],
)
def test_what_waits_behind_a_query_that_no_sample_here_explains_is_not_handed_on(
    parameters: str, ends: bool, delivered: list[list[int]] | None
) -> None:
    """Recorded: samples of before its request are not here, nor its answer. Who has had none asks
    from no number on, and is handed the first that comes."""
    session = WideSession().ask(1, parameters, SUFFIX if parameters == "_sn=3.." else TOKEN)
    if ends:
        session = answered(session, 1)
    row = stream(session.put(5, 6).played()[1])
    assert row["delivered"] == delivered


def test_a_query_that_stays_open_may_have_brought_what_it_begins_with() -> None:
    """Recorded: the rest of the answer was lost, and the capture ended."""
    session = WideSession().put(0).lose().put(2).lose().put(4).ask(1, "_sn=1..")
    row = stream(session.publisher(z.response(1, z.put(1))).put(5).played()[1])
    assert (row["delivered"], row["open"]) == ([[0, 2]], 1)


def test_what_is_missing_between_a_gap_and_its_query_may_be_what_it_asks_for() -> None:
    """Its subscriber reads, and asks, later than samples come."""
    session = uncaptured(WideSession().put(0).lose().put(2), 1).ask(1, "_sn=1..")
    found = answered(session, 1, 2).put(3).played()[1]
    assert said(found, "ZN002") == [("likely", [[1, 1]])]


@pytest.mark.parametrize("gone", ["before the answer", "before the request", "the final"])
def test_an_answer_with_a_hole_in_it_leaves_a_miss_likely(gone: str) -> None:
    session = WideSession().put(0).lose().put(2)
    if gone == "before the request":
        session.subscriber()
    session.ask(1, "_sn=1..")
    if gone == "before the answer":
        uncaptured(session, 1)
    if gone == "the final":
        session.lose().wait(11.0).put(3)
    else:
        settled(answered(session, 1, 2), 3)
    found = session.played()[1]
    proven = gone == "before the request"  # its own counter says nothing of the answer
    assert [sure for sure, _ in said(found, "ZN002")] == ["proven" if proven else "likely"]


def test_samples_dropped_before_the_transport_are_proven_by_its_sns_and_a_request() -> None:
    session = WideSession().put(0, 3).ask(1, "_sn=1..")
    found = answered(session, 1, 1, 2, 3).wait(0.1).put(4).wait(0.1).put(5).played()[1]
    assert said(found, "ZN004") == [("proven", [[1, 2]])]
    session = WideSession().put(0, 3).wait(0.1).put(4)  # nobody asked: perhaps another subscriber
    assert said(session.played()[1], "ZN004") == [("likely", [[1, 2]])]
    session = WideSession().put(0, 3).ask(1, "_sn=1..")  # a later put() may still be on its way
    found = answered(session, 1, 1, 2, 3).played()[1]
    assert said(found, "ZN004") == [("likely", [[1, 2]])]


@pytest.mark.parametrize("seconds", [0.1, 1.0, 30.0, 300.0])
def test_one_pause_proves_no_time(seconds: float) -> None:
    """The clock may have been set forward in it: perhaps no time has passed behind the jump."""
    session = WideSession().put(0, 3).ask(1, "_sn=1..")
    session = answered(session, 1, 1, 2, 3).wait(seconds).put(4)
    assert said(session.played()[1], "ZN004") == [("likely", [[1, 2]])]


def asked_before() -> Session:
    """A subscriber with recovery that has shown how far it is: it lacked 1, and has all up to 2."""
    session = WideSession()
    session.subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False)).put(0)
    session.subscriber()
    return answered(session.lose().put(2).ask(1, "_sn=1.."), 1, 1, 2)


def test_a_source_that_began_again_under_its_id_was_had_by_other_numbers() -> None:
    """Recorded: killed, started again with a fixed ZenohId; the first request names the number that
    its subscriber had reached before."""
    session = WideSession()
    session.subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False))
    session.put(0, 1).lose().put(3, 4).lose().put(6, 7).wait(3.0).put(8).lose().put(10)
    found = answered(session.ask(1, "_sn=9.."), 1, 9, 10).played()[1]
    assert said(found, "CP007") and "proven" not in [sure for sure, _ in said(found, "CP007")]


def test_an_undeclared_subscriber_goes_on_asking_and_misses_nothing() -> None:
    """Recorded (zenoh.md 9.4): its periodic queries end with its session, and nobody is told."""
    session = WideSession().put(0).wait(0.2)
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1)).put(1).wait(0.1)
    answered(session.ask(1, "_sn=1.."), 1, 2)
    found = session.put(3).wait(3.0).put(4).played()[1]
    assert said(found, "ZN002") == said(found, "ZN001") == said(found, "CP007") == []
    assert stream(found)["unknown"]["delivered"] == LEFT_OPEN  # by releases up to 1.7


@pytest.mark.parametrize(
    ("parameters", "suffix"), [("_sn=3..9", TOKEN), ("_sn=3..", SUFFIX), ("_sn=2..9", TOKEN)]
)
def test_one_that_was_undeclared_asks_for_nobody_who_subscribes_later(
    parameters: str, suffix: str
) -> None:
    """Recorded with heartbeats: its queries, from where it was, are none of the later one, which
    has had nothing below its first sample; 2 was on its way when it ended."""
    session = WideSession().put(0, 1, 2).wait(0.2)
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1)).put(3, 4)
    session.wait(0.2).subscriber(z.declare(2, 2, 1, own=False)).put(5, 6, 7, 8, 9)
    found = answered(session.ask(1, parameters, suffix), 1, *range(4, 10)).put(10).played()[1]
    rows = [r for r in found if r.kind == STREAM and r.detail.get("kind") == "samples"]
    assert [row.detail["delivered"] for row in rows] == [[[0, 2]], [[5, 10]]]
    assert said(found, "ZN001") == said(found, "ZN002") == said(found, "CP007") == []


@pytest.mark.parametrize("asks_before", [False, True])
def test_one_that_was_undeclared_had_what_the_capture_lacks(asks_before: bool) -> None:
    """Recorded, and a frame taken out: it asks from where it was, which is not where it seems."""
    session = uncaptured(WideSession().put(0, 1), 2)
    session.publisher(z.push(z.put(None), 0, "demo/other") if asks_before else z.push(z.put(3)))
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1)).wait(0.1)
    if asks_before:
        answered(session.ask(1, "_sn=4.."), 1).wait(0.1)
    session.subscriber(z.declare(2, 2, 1, own=False)).put(5, 6).wait(0.3)  # 4 was for nobody
    found = answered(session.ask(2, "_sn=4.."), 2, 4, 5, 6).put(7).wait(3).put(8).played()[1]
    rows = [r.detail for r in found if r.kind == STREAM and r.detail.get("kind") == "samples"]
    assert (rows[-1]["delivered"], rows[-1]["lost"]) == ([[5, 8]], 0)
    assert said(found, "ZN001") == []


def test_who_has_asked_once_again_for_what_it_was_brought_proves_no_loss() -> None:
    """Recorded, and cut off at both ends: two requests of one that had been undeclared."""
    session = answered(WideSession().put(0).lose().put(2).ask(1, "_sn=1.."), 1, 1, 2)
    assert [sure for sure, _ in said(settled(session, 3).played()[1], "ZN001")] == ["proven"]
    found = answered(session.wait(0.3).ask(2, "_sn=1.."), 2, 1, 2).put(6).played()[1]
    assert "proven" not in [sure for sure, _ in said(found, "ZN001")]
    assert (stream(found)["delivered"], stream(found)["lost"]) == (None, None)


def test_one_that_was_undeclared_asks_for_none_that_had_more() -> None:
    """Recorded: it had not been handed what came 0.4 ms before its end, and asks from there on."""
    session = WideSession().put(0)
    session.subscriber(z.declare(2, 9, 0, "demo/*", own=False)).put(1, 2).wait(-0.008)
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(9)).put(3, 4, 5).wait(1)
    session = answered(session.ask(1, "_sn=2..5", TOKEN), 1, 5).put(6, 7).wait(1)
    found = answered(session.ask(2, "_sn=2..7", TOKEN), 2, 7).played()[1]
    rows = {r.detail["subscriber"]: r.detail for r in found if r.kind == STREAM
            and r.detail.get("kind") == "samples"}  # fmt: skip
    assert rows["demo/sensor"]["subscriber_recovers"] is None
    assert rows["demo/sensor"]["delivered"] == [[0, 7]]


def test_a_request_from_below_what_its_subscriber_had_proves_nothing_of_it() -> None:
    """Recorded: of one that was undeclared, where that is not here; the other had all that it asks
    for but 3, which may not have been captured."""
    session = WideSession().put(0, 1, 2).lose().put(4).heartbeat(4).ask(1, "_sn=1..4", TOKEN)
    found = settled(answered(session, 1, 1, 2, 3, 4), 5).played()[1]
    assert [sure for sure, _ in said(found, "ZN001")] == ["likely"]


def test_who_asks_again_for_what_it_was_brought_has_left_and_misses_nothing() -> None:
    """Recorded, and cut off before its end: what the publisher sent to nobody between was dropped
    before the transport (ZN004, proven), and missed."""
    session = answered(WideSession().put(0).ask(1, "_sn=1.."), 1, 1).wait(0.3)
    session = answered(session.ask(2, "_sn=1.."), 2, 1, 2).wait(0.3).put(5)
    found = settled(answered(session.ask(3, "_sn=1.."), 3, 4, 5), 6).wait(3).played()[1]
    assert stream(found)["delivered"] is None
    assert [said(found, rule) for rule in ("ZN001", "ZN002", "ZN004", "CP007")] == [[]] * 4


def test_one_that_was_undeclared_asks_for_later_publishers_as_well() -> None:
    """Recorded: at each heartbeat of one that it had nothing of. Whoever subscribes then has not
    declared by that that it asks."""
    session = WideSession().put(0)
    session.subscriber(z.declare(2, 5, 1, "/@adv/pub/**", own=False))
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1))
    session.subscriber(z.declare(2, 2, 1, own=False)).put(5).lose().put(7)
    found = answered(session.ask(1, "_sn=..7", TOKEN), 1, 6, 7).put(8).wait(3.0).put(9).played()[1]
    rows = [r.detail for r in found if r.kind == STREAM and r.detail.get("kind") == "samples"]
    assert (rows[-1]["subscriber_recovers"], rows[-1]["recovered"]) == (None, 0)
    assert [miss["nb"] for miss in rows[-1]["misses"]] == [1]


def test_one_that_was_undeclared_may_have_had_more_than_is_here() -> None:
    """Recorded: its last sample is not in the capture, and it asks for what follows that."""
    session = WideSession().put(0, 1).lose().wait(0.2)  # it had 2
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1))
    session.wait(0.2).subscriber(z.declare(2, 2, 1, own=False)).put(5).heartbeat(5)
    found = settled(answered(session.ask(1, "_sn=3..5", TOKEN), 1, 3, 4, 5), 6).played()[1]
    assert said(found, "ZN001") == said(found, "ZN022") == []


def test_who_was_undeclared_is_handed_no_history_of_a_publisher_that_comes_later() -> None:
    """Recorded: what it asks for then is nothing for another one of its node."""
    told = []
    for leaves in (False, True):
        session = WideSession().subscriber(z.declare(2, 2, 0, "**", own=False))
        if leaves:
            session.subscriber(b"\x9e\x21\x08\x03" + z.zint(2))
        session.wait(1).subscriber(z.request(1, TOKEN, "_max=5", 0))
        found = answered(session, 1, 4, 5).put(6).played()[1]
        rows = [r.detail for r in found if r.kind == STREAM and r.detail.get("kind") == "samples"]
        told.append([(row["subscriber"], row["delivered"]) for row in rows])
    assert told == [
        [("**", None), ("demo/sensor", None)],
        [("demo/sensor", None)],
    ]


def test_who_asks_for_late_publishers_only_need_not_recover() -> None:
    """Recorded: `detect_late_publishers` without recovery, and the miss callback came at once."""
    session = answered(WideSession().ask(1, "_anyke", TOKEN), 1, 0).put(1).lose().put(3)
    found = session.wait(3.0).put(4).played()[1]
    row = stream(found)
    assert row["subscriber_recovers"] is None
    assert [(miss["nb"], miss["cause"]) for miss in row["misses"]] == [(1, "not asked")]
    assert said(found, "CP007") == []


def test_a_request_above_a_hole_shows_that_the_capture_missed_it() -> None:
    session = asked_before()
    uncaptured(session.put(3), 4, 5).put(6).lose().put(8).ask(2, "_sn=7..")
    found = answered(session, 2, 7, 8).played()[1]
    assert said(found, "CP007") == [("proven", [[4, 5]])]
    assert said(found, "ZN002") == []
    assert stream(found)["delivered"] == [[0, 8]]
    session = WideSession()
    uncaptured(session.put(0, 1), 2, 3).put(4)
    session.sns[True] += 1  # a frame of the subscriber is missing: perhaps a request
    found = answered(session.lose().put(6).ask(1, "_sn=5.."), 1, 5, 6).played()[1]
    assert said(found, "CP007") == [("cannot be told", [[2, 3]])]


@pytest.mark.parametrize(
    ("before", "behind", "sure"), [(80, 0, "proven"), (120, 0, "likely"), (0, 120, "proven")]
)
def test_a_reply_among_many_datagrams_at_once_may_have_been_dropped(
    before: int, behind: int, sure: str
) -> None:
    """By the host, for want of room."""
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    for sn in range(3, 3 + before):
        session.wait(-0.0099).put(sn)  # one in a tenth of a millisecond
    session = settled(answered(session, 1, 1, 2), 3 + before)
    for sn in range(6, 6 + behind):
        session.wait(-0.0099).put(sn)
    assert said(session.played()[1], "ZN001") == [(sure, [[1, 1]])]


@pytest.mark.parametrize(("live", "sure"), [([], "cannot be told"), ([3], "proven")])
def test_the_end_of_a_query_may_pass_over_what_the_capture_lacks(
    live: list[int], sure: str
) -> None:
    """More may have waited for it than is here; a live sample behind it shows what did not."""
    session = answered(WideSession().put(0).lose().put(2).ask(1, "_sn=1.."), 1, 1, 2).put(*live)
    uncaptured(session, 4, 5).put(6).lose().put(8).ask(2, "_sn=7..")
    found = answered(session, 2, 7, 8).played()[1]
    assert said(found, "CP007") == [(sure, [[4 if live else 3, 5]])]


def test_whether_who_asks_at_other_gaps_had_what_it_did_not_ask_for_cannot_be_told() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    uncaptured(answered(session, 1, 1, 2).put(3), 4).put(5).wait(3.0).put(6)
    found = session.played()[1]
    assert said(found, "ZN002") == []
    assert said(found, "CP007") == [("cannot be told", [[4, 4]])]
    row = stream(found)
    figures = ("delivered", "lost", "recovered", "unrecovered", "misses")
    assert [row[figure] for figure in figures] == [None] * 5
    assert row["unknown"]["delivered"].startswith("it asks for what it misses and did not ask")


def test_without_any_request_a_gap_is_a_miss_or_a_hole_of_the_capture() -> None:
    session = WideSession().put(0).lose().put(2).wait(3.0).put(3)
    assert said(session.played()[1], "ZN002") == [("likely", [[1, 1]])]


def test_a_frame_that_was_cut_off_may_have_brought_anything() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    session.publisher(z.push(b"\x01\x04" + bytes(4), 0, TOKEN))
    session.cut[len(session.payloads) - 1] = 20
    found = answered(session, 1, 2).put(3).played()[1]
    assert "proven" not in [sure for sure, _ in said(found, "ZN002")]


def test_a_batch_that_cannot_be_read_may_have_brought_anything_as_well() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    found = settled(answered(session, 1, 2), 3).played()[1]
    assert said(found, "ZN002") == [("proven", [[1, 1]])]
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    odd = b"\xdd\x01\x37\x00" + z.put(1)  # a mandatory extension that is not known
    session.publisher(z.push(z.put(3)), odd)
    found = settled(answered(session, 1, 2), 4).played()[1]
    assert "proven" not in [sure for sure, _ in said(found, "ZN002")]
    assert stream(found)["delivered"] is None


def test_what_was_lost_while_a_query_stayed_open_was_never_asked_for() -> None:
    """Recorded: the final of one query was lost, and its subscriber asked for nothing for 10 s."""
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    session.publisher(z.response(1, z.put(1)), z.response(1, z.put(2)))
    session.lose().put(3).lose().put(5).lose().put(7).idle(11.0).put(8)
    (row,) = [
        r.detail for r in session.played()[1] if r.kind == STREAM and r.detail["kind"] == "samples"
    ]
    assert [(c["seqnos"], c["cause"]) for miss in row["misses"] for c in miss["causes"]] == [
        ([[4, 4]], "not asked: an earlier query stayed open"),
        ([[6, 6]], "not asked: an earlier query stayed open"),
    ]


def test_where_time_goes_back_nothing_is_proven_by_the_order_of_frames() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    settled(answered(session, 1, 2), 3)
    assert said(session.played()[1], "ZN002") == [("proven", [[1, 1]])]
    session.times[-3] -= 0.02
    assert said(session.played()[1], "ZN002") == [("likely", [[1, 1]])]


def test_where_samples_were_lost_is_told_by_frames_as_clocks_are_set_back() -> None:
    """Recorded: behind the step no hole was found, as all times before it are later."""
    session = WideSession().wait(60).put(0).lose().put(2).wait(-30).put(3).lose().lose()
    found = settled(session, 6).played()[1]
    assert said(found, "ZN004") == []
    assert said(found, "ZN005") != []


def test_the_document_s_cache_had_what_was_lost_on_the_link_whatever_the_clock_says() -> None:
    """The same capture, its clock set back between a sample and the next one that came."""
    told = []
    for back_s in (0, 30):
        session = WideSession().wait(60).put(0).lose().wait(-back_s).put(2, 3).wait(3.0).put(4)
        row = stream(session.played(given=document(cache_origin="any"))[1])
        told.append((row["recovered"], row["unrecovered"], row["delivered"]))
    assert told[0] == told[1] == (1, 0, [[0, 4]])


def test_without_a_vantage_nobody_says_what_was_delivered_or_lost() -> None:
    session = WideSession().put(0).lose().put(2).wait(3.0).put(3)
    row = stream(session.played(Vantage("between"))[1])
    figures = ("delivered", "lost", "recovered", "unrecovered", "not_captured", "misses")
    assert [row[figure] for figure in figures] == [None] * 6
    assert row["unknown"]["lost"] == "it is not known at whose interface the capture was taken"


def test_a_subscriber_that_lets_many_gaps_pass_has_no_recovery_and_drops_what_comes_late() -> None:
    """Recorded with concurrent put(): samples leave out of the order of their sns."""
    session = WideSession().put(0, 2, 1, 3, 5, 4, 6, 8, 7, 9)
    row = stream(session.played()[1])
    assert row["delivered"] == [[0, 0], [2, 3], [5, 6], [8, 9]]
    assert [miss["seqnos"] for miss in row["misses"]] == [[[1, 1]], [[4, 4]], [[7, 7]]]
    assert (row["reordered"], row["unrecovered"], row["recovered"]) == (0, 3, 0)


def test_among_missing_frames_may_be_one_that_overtook_others() -> None:
    """Recorded: put() of several threads, a subscriber that goes on at once, a hole before 2."""
    row = stream(WideSession().put(0, 1, 4, 3).lose().put(2, 6).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, OVERTAKEN)
    row = stream(WideSession().put(0, 1, 4, 3, 2, 6).played()[1])
    assert row["unknown"].get("delivered") != OVERTAKEN


def test_what_a_request_may_have_passed_over_in_vain_is_not_called_delivered() -> None:
    """Recorded: one that asked elsewhere; the frame that is missing was no sample."""
    session = uncaptured(WideSession().put(0, 1), 2).put(3).ask(1, "_sn=4..")
    row = stream(session.played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, UNASKED)


def test_one_late_sample_says_nothing_of_recovery() -> None:
    row = stream(WideSession().put(0, 2, 1, 3).played()[1])
    assert (row["delivered"], row["misses"]) == (None, None)


def test_a_subscriber_that_asks_waits_for_late_samples_too() -> None:
    session = WideSession().put(0, 2, 1, 3, 5, 4, 6, 8, 7, 9).lose().put(11).ask(1, "_sn=10..")
    row = stream(answered(session, 1, 10, 11).put(12).played()[1])
    assert (row["delivered"], row["misses"]) == ([[0, 12]], [])


def test_a_timeout_is_proven_by_more_than_one_pause_or_by_keepalives() -> None:
    asked = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    other = z.push(z.put(None), 0, "demo/other")
    for _ in range(6):
        asked.wait(2.4).publisher(other)
    assert [sure for sure, _ in said(asked.played()[1], "ZN013")] == ["proven"]
    for seconds in (7.0, 300.0):  # perhaps it is the clock that was set
        asked = WideSession().put(0).lose().put(2).ask(1, "_sn=1..").wait(4.0).publisher(other)
        asked.wait(seconds).put(3, 4)
        assert [sure for sure, _ in said(asked.played()[1], "ZN013")] == ["likely"]


@pytest.mark.parametrize("silent", [2.49, 2.3])
def test_a_keepalive_in_time_shows_that_the_clock_was_not_set_before_it(silent: float) -> None:
    asked = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    for _ in range(2):
        asked.wait(silent).raw(b"\x04", back=True)
    for sn in range(3, 10):
        asked.wait(0.9).put(sn)
    sure = "proven" if silent == 2.49 else "likely"  # that other one is not due
    assert [sure for sure, _ in said(asked.played()[1], "ZN013")] == [sure]


KEEP_ALIVE = b"\x04"


@pytest.mark.parametrize("back", [False, True])
def test_what_comes_to_a_session_whose_lease_ran_out_may_reach_nobody(back: bool) -> None:
    """Recorded: processes that stood still, and a link that was cut."""

    def lapsed() -> Session:
        session = WideSession().put(0, 1).raw(KEEP_ALIVE, back=True).put(2)
        if back:  # the subscriber is silent
            return session.wait(5.0).put(3).wait(6.0).raw(KEEP_ALIVE, back=True)
        return session.wait(10.5).put(3)

    row = stream(lapsed().played()[1])
    assert (row["delivered"], row["misses"]) == (None, None)
    assert row["unknown"]["delivered"].startswith("samples came when an end had been silent")
    closed = lapsed().raw(b"\x03\x00", back=not back)
    assert stream(closed.played()[1])["delivered"] is None
    goes_on = lapsed()  # all the same: the clock was set
    goes_on.raw(KEEP_ALIVE, back=not back).raw(KEEP_ALIVE, back=not back)
    assert stream(goes_on.put(4).played()[1])["delivered"] == [[0, 4]]


def test_what_waited_when_a_lease_ran_out_was_handed_on_or_not() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    assert stream(session.wait(6.0).raw(KEEP_ALIVE).played()[1])["delivered"] == [[0, 0]]
    session.payloads[2] = z.opened(FIRST_SN[False], lease=5)
    assert stream(session.played()[1])["delivered"] is None


def test_a_final_behind_the_timeout_of_a_query_proves_that_it_ended() -> None:
    asked = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    for _ in range(5):
        asked.wait(2.4).publisher(z.push(z.put(None), 0, "demo/other"))
    answered(asked, 1, 1)
    for _ in range(3):
        asked.wait(2.4).publisher(z.push(z.put(None), 0, "demo/other"))
    assert [sure for sure, _ in said(asked.played()[1], "ZN013")] == ["likely"]


def test_a_late_frame_whose_sample_is_asked_for_later_was_thrown_away() -> None:
    session = WideSession().put(0)
    late = z.frame(session.sns[False], z.push(z.put(1)))
    session.lose().put(2).raw(late)
    assert said(session.played()[1], "ZN006")[0] == ("likely", [])  # of the counter
    session.raw(z.frame(session.sns[False] - 3, z.push(z.put(0))))  # a copy, which nobody lacks
    found = answered(session.ask(1, "_sn=1.."), 1, 1, 2).played()[1]
    assert ("proven", [[1, 1]]) in said(found, "ZN006")
    shown = {r.detail["certainty"]: [one["frame"] for one in r.detail["evidence"]] for r in found
             if r.kind == FINDING and r.rule == "ZN006" and r.detail["seqnos"]}  # fmt: skip
    assert len(shown["proven"]) == 1 and not set(shown["proven"]) & set(shown["likely"])


def test_a_late_frame_and_a_request_of_one_tick_may_have_come_in_either_order() -> None:
    session = WideSession().put(0)
    late = z.frame(session.sns[False], z.push(z.put(1)))
    session.lose().put(2).raw(late).wait(-0.01)
    found = answered(session.ask(1, "_sn=1.."), 1, 1, 2).played()[1]
    assert said(found, "ZN006")[-1] == ("likely", [[1, 1]])


def test_what_a_router_asks_for_another_node_may_have_lacked() -> None:
    session = WideSession(whatami=0).put(0)
    late = z.frame(session.sns[False], z.push(z.put(1)))
    session.lose().put(2).raw(late).ask(1, "_sn=1..")
    found = answered(session, 1, 1, 2).played()[1]
    assert ("likely", [[1, 1]]) in said(found, "ZN006")
    row = stream(found)  # nor is it handed anything
    assert (row["delivered"], row["misses"], row["unknown"]["misses"]) == (None, None, ROUTED)


def test_over_tcp_a_frame_behind_a_newer_one_shows_that_bytes_are_damaged() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    answered(session, 1, 1, 2).put(3)
    assert said(session.played(transport="tcp")[1], "ZN001") == [("proven", [[1, 1]])]
    session.sns[False] += 1 << 20  # of one frame; the next go on below it
    session.put(4).sns[False] -= 1 << 20
    assert said(session.put(5).played(transport="tcp")[1], "ZN001") == [("likely", [[1, 1]])]


@pytest.mark.parametrize("asked", ["_sn=2..", "_sn=..0", SUFFIX.replace("/6/", "/7/")])
def test_a_reply_that_its_request_did_not_ask_for_shows_that_bytes_are_damaged(asked: str) -> None:
    session = answered(WideSession().put(0).lose().put(2).ask(1, "_sn=1.."), 1, 1, 2)
    assert ("proven", [[1, 1]]) in said(settled(session, 3).played()[1], "ZN001")
    text, suffix = (asked, SUFFIX) if asked.startswith("_sn") else ("_sn=1..", asked)
    found = answered(session.ask(2, text, suffix), 2, 1).put(6).played()[1]
    assert {sure for rule in ("ZN001", "ZN002") for sure, _ in said(found, rule)} == {"likely"}


def test_a_reply_without_a_number_shows_that_bytes_are_damaged() -> None:
    """Seen: a bit of its SourceInfo, in a checksum that nobody computes."""
    asked = WideSession().put(0).lose().lose().put(3).ask(1, "_sn=1..")
    lost = settled(answered(asked, 1, 2, 3), 4).played()[1]
    assert said(lost, "ZN002") == [("proven", [[1, 1]])]
    asked = WideSession().put(0).lose().lose().put(3).ask(1, "_sn=1..")
    asked.publisher(z.response(1, z.put(None)))
    damaged = settled(answered(asked, 1, 2, 3), 4).played()[1]
    assert [sure for sure, _ in said(damaged, "ZN002")] == ["likely"]


def test_a_sample_without_a_number_where_one_is_missing_shows_that_bytes_are_damaged() -> None:
    session = WideSession().put(0).put(2).ask(1, "_sn=1..")
    assert said(settled(session, 3).played()[1], "ZN004") == [("proven", [[1, 1]])]
    session = WideSession().put(0).publisher(z.push(z.put(None))).put(2).ask(1, "_sn=1..")
    assert said(settled(session, 3).played()[1], "ZN004") == [("likely", [[1, 1]])]
    beside = WideSession().publisher(z.push(z.put(None))).put(0).put(2).ask(1, "_sn=1..")
    assert said(settled(beside, 3).played()[1], "ZN004") == [("proven", [[1, 1]])]


def test_a_request_for_what_nobody_has_may_have_been_for_what_is_not_here() -> None:
    for suffix in (SUFFIX.replace("/6/", "/7/"), "/of/an/application"):
        session = WideSession()
        session.subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False)).put(0)
        uncaptured(session.subscriber().put(1), 2, 3).put(4)
        session.subscriber(z.request(1, suffix, "_sn=2.."))
        found = answered(session.lose().put(6).ask(2, "_sn=5.."), 2, 5, 6).played()[1]
        assert said(found, "CP007") == [("likely", [[2, 3]])]


def test_a_handshake_that_stands_in_a_capture_twice_leaves_nothing_proven_by_order() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    settled(answered(session, 1, 1, 2), 3)
    assert said(session.played()[1], "ZN001") == [("proven", [[1, 1]])]
    for place in range(4):
        session.raw(session.payloads[place], back=place in session.back)
    assert said(session.played()[1], "ZN001") == [("likely", [[1, 1]])]


def test_an_answer_that_stands_before_its_request_is_an_answer_all_the_same() -> None:
    session = answered(WideSession().put(0).lose().put(2), 1, 1, 2).ask(1, "_sn=1..")
    for _ in range(5):
        session.wait(2.4).publisher(z.push(z.put(None), 0, "demo/other"))
    found = session.played()[1]
    assert said(found, "ZN013") == []
    assert stream(found)["delivered"] == [[0, 2]]
    assert "proven" not in {sure for rule in ("ZN001", "ZN002") for sure, _ in said(found, rule)}


def test_what_answers_a_request_of_before_all_samples_here_and_stands_before_it_is_not_judged() -> (
    None
):
    """Two taps with a coarse clock, put together: what came back seemed to be had already."""
    found = settled(answered(WideSession().put(7), 1, 6, 7).ask(1, "_sn=5.."), 8).played()[1]
    row = stream(found)
    assert (row["lost"], row["unknown"]["lost"]) == (None, STRAY)
    assert said(found, "ZN022") == [("likely", [[5, 5]])]


def test_what_answers_a_query_that_is_not_here_came_to_nobody_that_is_known() -> None:
    """Recorded: a capture begins behind a request of a subscriber that had been undeclared."""
    session = WideSession()
    del session.payloads[:], session.back[:], session.times[:]
    session.publisher(z.push(z.put(5), 0, "demo/sensor"))
    row = stream(answered(session, 1, 6, 7).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, STRAY)


def resumed(session: Session) -> list[Result]:
    """It asks for what it lacks of before the first sample of this session; one is in no cache."""
    return settled(answered(session.put(7).ask(1, "_sn=5.."), 1, 6, 7), 8).played()[1]


def test_what_a_session_begins_behind_was_lost_while_there_was_none() -> None:
    """Recorded: a link cut for longer than the lease; the cache was too small for that."""
    found = resumed(WideSession())
    assert said(found, "ZN022") == [("likely", [[6, 6]]), ("proven", [[5, 5]])]
    assert said(found, "ZN002") == said(found, "ZN004") == []
    (gap,) = [r.detail for r in found if r.kind == GAP and r.detail["outcome"] == "unrecovered"]
    assert gap["where"] == "before this session began"
    found = resumed(uncaptured(WideSession(), 5))  # or it came here and is not in the capture
    assert said(found, "ZN022") == []
    assert [seqnos for _, seqnos in said(found, "ZN002")] == [[[5, 5]]]


def test_a_subscriber_to_heartbeats_asks_and_had_what_it_did_not_ask_for() -> None:
    for suffix, rule in (("/@adv/pub/**", "CP007"), ("/other", "ZN002")):
        session = WideSession()
        session.subscriber(z.declare(2, 2, 1, suffix, own=False))
        found = uncaptured(session.put(0), 1).put(2).wait(3.0).put(3).played()[1]
        assert said(found, rule) != []
        assert {r.rule for r in found if r.rule in ("CP007", "ZN002") and r.kind == FINDING} == {
            rule
        }


def test_what_a_subscriber_passed_over_before_it_asked_for_something_above_it_had() -> None:
    session = uncaptured(asked_before().put(3), 4).put(5).wait(3.0).put(6).lose().put(8)
    found = answered(session.ask(2, "_sn=7.."), 2, 7, 8).played()[1]
    assert said(found, "CP007") == [("proven", [[4, 4]])]


def test_a_row_says_what_kind_its_ends_are_and_what_they_keep() -> None:
    session = WideSession().put(0).lose().put(2, 3).ask(1, "_sn=1..")
    row = stream(answered(session, 1, 1, 2, 3).put(4).played()[1])
    figures = ("publisher", "cache", "subscriber_recovers", "held_max", "queries_max")
    assert [row[figure] for figure in figures] == ["advanced", "answered", True, 2, 1]
    row = stream(WideSession().put(0, 2, 4, 6, 8).played()[1])
    assert [row[figure] for figure in figures] == ["advanced", "declared", False, 0, 0]
    row = stream(WideSession().put(0, 1).played()[1])
    assert row["subscriber_recovers"] is None
    session = WideSession().publisher(z.push(z.put(None), 1))
    assert stream(session.played()[1], "samples without SourceInfo")["publisher"] == "classic"


def test_of_what_one_subscriber_got_back_another_may_have_been_told_as_missed() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    row = stream(answered(session, 1, 1, 2).put(3).played()[1])
    assert row["subscribers"] is None
    assert row["unknown"]["subscribers"].startswith("a node declares a key expression once")
    row = stream(WideSession().put(0, 1).played()[1])
    assert (row["subscribers"], row["unknown"]) == ([], {})


def test_the_query_after_a_heartbeat_is_of_those_that_subscribe_to_heartbeats() -> None:
    """Its key expression is the publisher's, whatever the subscriber's is."""
    session = WideSession()
    session.subscriber(z.declare(2, 2, 0, "demo/*", own=False))
    session.subscriber(z.declare(2, 3, 0, "demo/*/@adv/pub/**", own=False))
    session.put(0).lose().heartbeat(1).ask(1, "_sn=1..1", TOKEN)
    found = answered(session, 1, 1).put(2).wait(3.0).put(3).played()[1]
    rows = {r.detail["subscriber"]: r.detail for r in found
            if r.kind == STREAM and r.detail.get("kind") == "samples"}  # fmt: skip
    assert rows["demo/*"]["recovered"] == 1
    assert rows["demo/*"]["subscriber_recovers"] and rows["demo/*"]["delivered"] == [[0, 3]]
    assert rows["demo/sensor"]["recovered"] == 0
    assert rows["demo/sensor"]["subscriber_recovers"] is None
    assert rows["demo/sensor"]["delivered"] == [[0, 0], [2, 3]]


def test_what_came_late_is_not_called_delivered_where_nothing_shows_recovery() -> None:
    for suffix, delivered in (("/@adv/pub/**", [[0, 3]]), ("/other", None)):
        session = WideSession()
        session.subscriber(z.declare(2, 2, 1, suffix, own=False))
        session.put(0, 2, 1, 3)  # eight threads put at once
        row = stream(session.wait(3.0).put(4).played()[1])
        told = delivered and [[0, 4]]
        assert row["delivered"] == told
        assert (row["misses"] is None) == (told is None) == ("misses" in row["unknown"])
        assert row["reordered"] == 1


def test_the_end_of_a_query_may_have_passed_over_what_is_not_captured() -> None:
    """It lacked 6, as its first request says; that nothing answered, and it went on behind 8."""
    session = WideSession().put(0, 1, 2, 3, 4, 5).lose().lose()
    uncaptured(session, 8).ask(1, "_sn=6..")
    answered(session, 1).put(9).lose().put(11).ask(2, "_sn=10..")
    found = answered(session, 2, 10, 11).put(12).played()[1]
    assert "proven" not in [certainty for certainty, _ in said(found, "CP007")]


def test_a_heartbeat_s_query_that_two_may_have_sent_proves_nothing_of_either() -> None:
    """The one whose query is open sends none; of two without one, the capture may lack a query."""
    session = WideSession()
    session.subscriber(z.declare(2, 2, 0, "demo/*", own=False))
    session.subscriber(z.declare(2, 3, 0, "demo/*/@adv/pub/**", own=False))
    session.subscriber(z.declare(2, 4, 1, "/@adv/pub/**", own=False))
    session.put(0).lose().put(2).ask(1, "_sn=1..")  # of demo/sensor, and never answered
    session.lose().heartbeat(3).ask(3, "_sn=3..3", TOKEN)
    found = answered(session, 3, 3).wait(1.0).heartbeat(3).played()[1]
    rows = {r.detail["subscriber"]: r.detail for r in found
            if r.kind == STREAM and r.detail.get("kind") == "samples"}  # fmt: skip
    assert [3, 3] not in rows["demo/sensor"]["delivered"]
    assert rows["demo/sensor"]["delivered"] == [[0, 0]]
    for rule in ("ZN001", "CP007", "ZN002"):
        assert "proven" not in [certainty for certainty, _ in said(found, rule)]


@pytest.mark.parametrize("second", [(1, 2), (2,), ()])
def test_two_that_ask_in_the_same_words_have_each_what_their_own_answer_brings(
    second: tuple[int, ...],
) -> None:
    """Recorded: of the answer to one of them a frame was lost, and it missed two samples."""
    session = WideSession()
    session.subscriber(z.declare(2, 2, 0, "demo/*", own=False))
    session.subscriber(z.declare(2, 3, 0, "demo/*/@adv/pub/**", own=False))
    session.subscriber(z.declare(2, 4, 1, "/@adv/pub/**", own=False))
    session.put(0).lose().lose().heartbeat(2)
    session.ask(1, "_sn=1..2", TOKEN).ask(2, "_sn=1..2", TOKEN)
    answered(session, 1, 1, 2)
    found = answered(session, 2, *second).put(3).played()[1]
    rows = [r.detail for r in found if r.kind == STREAM and r.detail.get("kind") == "samples"]
    told = [[0, 3]] if second == (1, 2) else None
    assert [(row["delivered"], row["lost"]) for row in rows] == [(told, told and 2)] * 2
    assert all(told or row["unknown"]["lost"] == SHARED_OUT for row in rows)


def test_who_was_there_when_samples_came_before_any_declaration_is_not_told() -> None:
    """Recorded: three of them for one that was declared then, the others for a second one, too."""
    session = WideSession()
    del session.payloads[-1], session.back[-1], session.times[-1]  # its declaration
    session.sns[True] -= 1
    session.put(0).wait(-0.009).subscriber(z.declare(2, 1, 1, own=False)).put(1, 2)
    session.subscriber(z.declare(2, 2, 0, "demo/*", own=False)).put(3, 4).wait(0.5)
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1)).wait(0.1).put(5)
    rows = {r.detail["subscriber"]: r.detail for r in session.played()[1]
            if r.kind == STREAM and r.detail.get("kind") == "samples"}  # fmt: skip
    assert rows[None]["unknown"]["delivered"] == EARLY
    assert rows["demo/*"]["delivered"] is None
    assert rows["demo/*"]["unknown"]["delivered"] == UNNAMED


@pytest.mark.parametrize(
    ("declared", "later_s"), [("demo/sensor", -0.009), ("demo/sensor", 0.2), ("demo/other", 0.0)]
)
def test_what_comes_for_a_node_that_declares_no_subscriber_is_handed_to_nobody_that_is_known(
    declared: str, later_s: float
) -> None:
    """Recorded: a publisher that had not heard yet that there is none, as a frame was lost."""
    session = WideSession()
    del session.payloads[-1], session.back[-1], session.times[-1]  # its declaration
    session.sns[True] -= 1
    session.put(0).wait(later_s).subscriber(z.declare(2, 1, 0, declared, own=False))
    found = session.put(1, 2).wait(0.5).put(3).played()[1]
    (row, *_) = [r.detail for r in found if r.detail.get("kind") == "samples"]
    soon = declared == "demo/sensor" and later_s < 0
    assert (row["subscriber"], row["delivered"]) == (None, None)
    assert row["unknown"]["delivered"] == (EARLY if soon else NOBODY)
    assert row["lost"] == (0 if soon else None)


@pytest.mark.parametrize(
    ("lost", "first", "told"), [(2, 2, "0 or more, 2 at most"), (0, 7, None), (2, 0, None)]
)
def test_what_was_lost_before_the_first_sample_is_in_no_figure(
    lost: int, first: int, told: str | None
) -> None:
    """Nothing asks for it. Who joins late lacks no frames; a heartbeat was in the last ones."""
    session = WideSession()
    for _ in range(lost):
        session.lose()
    row = stream(session.put(first, first + 1).wait(0.5).put(first + 2).played()[1])
    assert row["delivered"] == [[first, first + 2]]
    assert row["lost"] == (0 if told is None else None)
    assert row["unknown"].get("lost", "").partition(":")[0] == (told or "")


@pytest.mark.parametrize(("beats", "rule"), [(2, "CP007"), (1, "ZN003")])
def test_who_lets_heartbeats_pass_does_not_lack_what_they_tell_of(beats: int, rule: str) -> None:
    """It asked at the first; the frame with the answer was not captured, or lost."""
    session = WideSession().put(0).lose().heartbeat(1).ask(1, "_sn=1..1", TOKEN).lose()
    answered(session, 1).wait(0.3)
    for _ in range(beats):
        session.heartbeat(1).wait(0.3)
    found = session.played()[1]
    assert said(found, rule) == [("likely", [[1, 1]])]
    assert not said(found, "ZN003" if rule == "CP007" else "CP007")
    assert (stream(found)["lost"] is None) == (rule == "CP007")


def test_who_knows_nothing_of_what_its_node_has_had_for_long_is_another_subscriber() -> None:
    """Recorded: two had been undeclared, and a third without recovery kept their declaration."""
    session = WideSession().put(0, 1, 2).wait(0.3).lose().heartbeat(3)
    session.ask(1, "_sn=..3", TOKEN)
    session = answered(session, 1, 0, 1, 2, 3).wait(0.5).heartbeat(3)
    row = stream(session.played()[1])
    assert (row["delivered"], row["recovered"]) == ([[0, 2]], 0)
    at_publisher = stream(session.played(Vantage("member", "10.77.0.1", "given", ""))[1])
    assert at_publisher["requests"]["arrived"] == 1  # what left need not have come


def test_behind_an_undeclaration_in_mid_session_nobody_need_be_left() -> None:
    session = WideSession()
    del session.payloads[:], session.back[:], session.times[:]
    session.put(0, 1).wait(0.5).subscriber(b"\x9e\x21\x08\x03" + z.zint(7)).wait(0.5)
    assert stream(session.put(2, 3).played()[1])["unknown"]["delivered"] == NOBODY


def test_beside_numbered_samples_of_its_key_one_without_a_number_may_be_damaged() -> None:
    plain = WideSession().publisher(z.push(z.put(None), 0, "demo/sensor"))
    assert said(plain.played()[1], "ZN012") == [("proven", [])]
    assert said(plain.put(0, 1).played()[1], "ZN012") == [("likely", [])]


def test_a_subscriber_that_was_not_known_to_ask_may_not_have_been_there_yet() -> None:
    """One of several with a key expression, and another one of it has no recovery."""
    session = WideSession()
    uncaptured(session.put(0, 1), 2, 3).put(4).lose().put(6).ask(1, "_sn=5..")
    found = answered(session, 1, 5, 6).played()[1]
    assert said(found, "CP007") == [("cannot be told", [[2, 3]])]
    assert stream(found)["not_captured"] == 0


def test_who_is_declared_with_recovery_behind_a_gap_is_not_said_to_have_had_it() -> None:
    """Recorded: of two subscribers at one key the first had none and missed what was lost."""
    session = WideSession().put(0, 1).lose().put(3).wait(0.3)
    session.subscriber(z.declare(2, 9, 1, "/@adv/pub/**", own=False)).put(4).lose().put(6)
    found = answered(session.ask(1, "_sn=5.."), 1, 5, 6).played()[1]
    assert said(found, "CP007") == [("cannot be told", [[2, 2]])]
    assert stream(found)["delivered"] is None


def test_a_frame_that_was_lost_just_before_may_have_held_a_sample_with_a_higher_number() -> None:
    """Threads that put() at the same time: 3 left first, and was lost."""
    for pause, sure in ((0.0, "likely"), (0.1, "proven")):
        session = WideSession().put(0).lose().put(1).wait(pause).put(2, 4).ask(1, "_sn=3..")
        answered(session, 1).wait(0.2).put(5).wait(0.2).put(6)
        assert said(session.played()[1], "ZN004") == [(sure, [[3, 3]])]


#: What two nodes begin with in every session of theirs.
HASHED = {
    False: initial_sn(ZID, zid_text(SUBSCRIBER_ZID), (1 << 28) - 1),
    True: initial_sn(zid_text(SUBSCRIBER_ZID), ZID, (1 << 28) - 1),
}


def reopened(session: Session, *steps: str) -> Session:
    """Another session of the same two, of whose handshake these messages are captured."""
    first = HASHED if steps else FIRST_SN
    cookie = b"d" * 49
    for step, payload in {
        "InitSyn": z.init(), "InitAck": z.init(SUBSCRIBER_ZID, ack=True).replace(b"c" * 49, cookie),
        "OpenSyn": z.opened(first[False]), "OpenAck": z.opened(first[True], ack=True),
    }.items():  # fmt: skip
        if step in steps:
            session.raw(payload, back="Ack" in step)
    session.sns = dict(first)
    session.publisher(z.declare(0, 1, 0, "demo/sensor"))
    return session.subscriber(z.declare(2, 1, 1, own=False))


@pytest.mark.parametrize("step", ["InitSyn", "InitAck", "OpenSyn", "OpenAck"])
def test_any_message_of_a_handshake_shows_that_another_session_began(step: str) -> None:
    session = reopened(WideSession().put(0, 1).ask(1, "_sn=2.."), step).put(2, 3)
    session.wait(6).put(4).wait(6).put(5).wait(6).put(6)
    engine, found = session.played()
    assert engine.link.session_starts == 2
    assert stream(found)["delivered"] == [[0, 6]]
    assert "proven" not in [certainty for certainty, _ in said(found, "ZN013")]


def test_numbers_that_come_again_end_a_stretch_without_holes() -> None:
    """Nothing of the handshake is here: both nodes take the same first sns again."""
    session = reopened(WideSession().put(0, 1).ask(1, "_sn=2..")).put(*range(2, 9))
    session.wait(6).put(9).wait(6).put(10).wait(6).put(11)
    assert "proven" not in [c for c, _ in said(session.played()[1], "ZN013")]


def test_of_a_source_that_began_again_under_its_id_nothing_about_its_numbers_is_proven() -> None:
    session = WideSession()
    session.subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False)).put(0, 1, 2, 3)
    reopened(session, "InitSyn").put(0)
    uncaptured(session, 1).put(2).ask(1, "_sn=4..")
    found = answered(session, 1).put(4).played()[1]
    assert "proven" not in [certainty for certainty, _ in said(found, "CP007")]


def test_of_whom_no_declaration_is_known_nothing_is_known_in_the_next_session() -> None:
    """Its key expression was not captured; in the next session other subscribers are there."""
    session = Session(opened=False)
    session.raw(z.init()).raw(z.init(SUBSCRIBER_ZID, ack=True), back=True)
    session.sns = dict(HASHED)
    session.publisher(z.declare(0, 1, 0, "demo/sensor"))
    session = reopened(session.put(0, 1).wait(0.2), "InitSyn").put(5)
    rows = [r.detail for r in session.played()[1] if r.kind == STREAM]
    told = [(r["subscriber"], r["delivered"]) for r in rows if r["kind"] == "samples"]
    assert told == [(None, None), ("demo/sensor", [[5, 5]])]


def test_what_is_answered_when_a_subscriber_is_gone_tells_it_nothing() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..").wait(0.2)
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1))
    row = stream(answered(session, 1, 2).wait(1.0).put(3).played()[1])
    assert (row["misses"], row["unknown"]["delivered"]) == (None, LEFT_OPEN)
    assert (row["unrecovered"], said(session.played()[1], "ZN002")) == (0, [])


def test_who_asks_gets_what_comes_live_though_its_declaration_is_not_here() -> None:
    session = WideSession().put(0, 1)
    session.subscriber(z.request(1, f"demo/*/@adv/*/{ZID}/6/**", "_sn=2..", 0))
    session.put(2).publisher(z.response(1, z.put(2)), z.final(1)).put(3)
    found = session.played()[1]
    rows = {r.detail["subscriber"]: r.detail for r in found
            if r.kind == STREAM and r.detail.get("kind") == "samples"}  # fmt: skip
    assert (rows["demo/*"]["recovered"], rows["demo/*"]["lost"]) == (0, 0)
    assert said(found, "ZN001") == []


@pytest.mark.parametrize("again", [False, True])
def test_a_history_that_is_asked_for_behind_samples_may_be_another_s(again: bool) -> None:
    """Recorded: late joiners at one key expression; live samples that came before the query."""
    session = WideSession()
    if again:
        answered(session.ask(1, "_anyke", "/@adv/**"), 1)
    session.put(2)
    assert stream(session.played()[1])["delivered"] == [[2, 2]]
    row = stream(answered(session.ask(2, "_anyke", "/@adv/**"), 2, 0, 1, 2).put(3).played()[1])
    assert row["delivered"] is None
    assert row["unknown"]["delivered"].startswith("a reply to a query that several")


def test_who_waits_for_late_publishers_need_not_recover_by_heartbeats() -> None:
    session = WideSession()
    session.subscriber(z.declare(2, 2, 0, "demo/*", own=False))
    session.subscriber(z.declare(2, 3, 0, "demo/*/@adv/pub/**", own=False))
    answered(session.ask(1, "_anyke", TOKEN.removeprefix("demo/sensor")), 1, 5)
    rows = [r.detail for r in session.played()[1] if r.detail.get("kind") == "samples"]
    assert [row["delivered"] for row in rows] == [None, None]


def test_a_session_that_begins_has_ended_the_queries_of_the_one_before() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    reopened(session, "InitSyn", "InitAck", "OpenSyn", "OpenAck").put(3).lose().put(5)
    found = answered(session.ask(2, "_sn=4.."), 2, 4, 5).played()[1]
    assert said(found, "CP007") == []
    row = stream(found)
    assert (row["delivered"], [miss["seqnos"] for miss in row["misses"]]) == (
        [[0, 0], [2, 5]], [[[1, 1]]],
    )  # fmt: skip


def test_what_a_subscriber_had_while_no_frame_is_missing_came_by_another_session() -> None:
    """Recorded: a publisher that was killed and began again under its id."""
    asked = WideSession().put(0, 1, 2).subscriber(z.request(1, SUFFIX, "_sn=78.."))
    found = answered(asked, 1).put(3, 4).subscriber(z.request(2, SUFFIX, "_sn=90..")).put(5)
    assert said(found.played()[1], "CP007") == []


def test_where_the_capture_lacks_frames_nobody_s_missing_samples_are_called_lost() -> None:
    """What requests show of one subscriber, who asks, holds for one of the same link who does not:
    frames that came are not here, and 7 of its own source may have been in them."""

    def row(*, lacking: bool) -> Any:
        session = WideSession().subscriber(z.declare(2, 2, 1, "/@adv/pub/**", own=False))
        session.publisher(z.declare(0, 3, 0, "other"))
        session.subscriber(z.declare(2, 3, 3, own=False))
        session.put(0).lose().put(2).ask(1, "_sn=1..")
        answered(session, 1, 1, 2).wait(0.2).put(3)
        (uncaptured(session, 4) if lacking else session.put(4)).put(5).wait(0.2)
        for sn in (0, 2):
            session.publisher(z.push(z.put(sn, eid=9), scope=3))
        found = answered(session.wait(2).ask(9, "_sn=6.."), 9).put(6).played()[1]
        return next(r.detail for r in found if r.detail.get("source", "").endswith("/9"))

    assert (row(lacking=False)["lost"], row(lacking=True)["lost"]) == (1, None)
    assert row(lacking=True)["unknown"]["lost"].startswith("0 or more, 1 at most: ")


@pytest.mark.parametrize("overtaken", [False, True])
def test_a_reply_whose_next_frame_is_missing_may_have_been_overtaken_by_it(overtaken: bool) -> None:
    """Recorded (reorder-random), and the heartbeat that came before the reply taken out: it was
    thrown away, and its subscriber does not ask again."""
    session = WideSession().put(0)
    if overtaken:
        session.lose().put(2)
        session.sns[False] -= 2
        session.put(1)  # late, thrown away
        session.sns[False] += 1
        answered(session.ask(1, "_sn=1.."), 1, 1, 2).wait(0.2)
    else:
        session.put(1, 2)
    session.put(3).lose().put(5).ask(2, "_sn=4..")
    row = stream(answered(session, 2, 4, 5).lose().wait(0.2).put(6).played()[1])
    told = (None, IN_VAIN) if overtaken else ([[0, 6]], None)
    assert (row["delivered"], row["unknown"].get("delivered")) == told
