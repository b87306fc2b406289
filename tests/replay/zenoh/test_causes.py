"""Why missed samples did not come back, each sample, as one end of its session shows it."""

import pytest

from seqaudit.replay.contract.results import GAP
from seqaudit.replay.zenoh.causes import Cause, Why, furthest
from seqaudit.replay.zenoh.reasons import PASSED
from tests.decoders.zenoh import builders as z
from tests.replay.zenoh.test_certificates import WideSession, said
from tests.replay.zenoh.test_engine import Session, answered, causes, stream

ROUTER_ZID = bytes(range(16, 32))


def told(session: Session) -> list[tuple[list[list[int]], str, str | None]]:
    """Seqnos, cause and what shows it, of all misses."""
    row = stream(session.played()[1])
    return [
        (cause["seqnos"], cause["cause"], cause["shown_by"])
        for miss in row["misses"]
        for cause in miss["causes"]
    ]


def test_of_several_causes_of_a_sample_the_furthest_counts() -> None:
    assert furthest(
        [Why(0, 9, Cause.LATER), Why(2, 6, Cause.QUERY_LOST), Why(4, 8, Cause.REPLY_LOST)]
    ) == [
        Why(0, 2, Cause.LATER), Why(2, 4, Cause.QUERY_LOST), Why(4, 8, Cause.REPLY_LOST),
        Why(8, 9, Cause.LATER),
    ]  # fmt: skip
    assert furthest([Why(0, 2, Cause.EMPTY), Why(2, 3, Cause.EMPTY)]) == [Why(0, 3, Cause.EMPTY)]
    assert furthest([]) == []


def test_a_whole_answer_shows_what_the_cache_no_longer_had() -> None:
    session = WideSession().put(0).lose().lose().put(3).ask(1, "_sn=1..")
    session = answered(session, 1, 2, 3).put(4)
    assert told(session) == [([[1, 1]], "evicted: the cache is too small", "this capture")]


def test_what_an_answer_lacks_that_a_router_passes_on_its_links_may_have_lost() -> None:
    """Recorded: a reply was lost on UDP to a router, which ends the query over TCP all the same."""
    session = WideSession(sender=ROUTER_ZID).put(0).lose().lose().put(3).ask(1, "_sn=1..")
    session = answered(session, 1, 2, 3).put(4)
    assert told(session) == [([[1, 1]], "reply lost, or evicted", None)]
    session = WideSession(sender=ROUTER_ZID).put(0).lose().put(2).ask(1, "_sn=1..")
    session = answered(session, 1).put(3)
    assert told(session) == [
        ([[1, 1]], "reply lost before it came to this link, or no cache had them", None)
    ]


def test_behind_a_hole_in_the_answer_older_samples_may_be_evicted_and_newer_ones_were_lost() -> (
    None
):
    session = WideSession().put(0).lose().lose().lose().lose().put(5).ask(1, "_sn=1..")
    session.publisher(z.response(1, z.put(3))).lose()
    session.publisher(z.final(1)).put(6)
    assert told(session) == [
        ([[1, 2]], "reply lost, or evicted", None),
        ([[4, 4]], "reply lost", None),
    ]


def test_a_sample_that_left_behind_the_query_was_not_asked_for() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..").put(4)
    session = answered(session, 1, 2).put(5)
    assert told(session) == [
        ([[1, 1]], "evicted: the cache is too small", "this capture"),
        ([[3, 3]], "not asked: an earlier query stayed open", "this capture"),
    ]


@pytest.mark.parametrize("lost", [False, True])
def test_a_query_was_lost_for_sure_only_where_no_frame_of_an_answer_can_be_missing(
    lost: bool,
) -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    if lost:
        session.lose()
    for _ in range(6):
        session.wait(2.4).publisher(z.push(z.put(None), 0, "demo/other"))
    (row,) = [r.detail for r in session.played()[1] if r.detail.get("kind") == "samples"]
    unsure = "query lost, reply lost, or not answered in time"
    assert causes(row) == [unsure if lost else "query lost or not answered in time"]


def test_a_reply_in_a_frame_that_the_transport_threw_away_is_lost_there() -> None:
    session = WideSession().put(0).lose().put(2).ask(1, "_sn=1..")
    session.put(3)
    late = z.frame(session.sns[False] - 1, z.response(1, z.put(1)), z.final(1))
    session.raw(late).idle(11).put(4)
    assert told(session) == [([[1, 1]], "reply lost: the transport threw its frame away", None)]


def test_what_was_asked_for_again_got_as_far_as_the_furthest_of_its_queries() -> None:
    """Periodic queries: nothing answers the first, the second finds newer samples only."""
    session = WideSession().put(0).ask(1, "_sn=1..").lose().put(2).ask(2, "_sn=1..")
    answered(session, 2, 2).idle(11).put(3)
    assert told(session) == [([[1, 1]], "evicted: the cache is too small", "this capture")]
    assert stream(session.played()[1])["misses"][0]["request_ids"] == [2, 1]


def test_of_samples_that_nobody_asked_for_some_came_late() -> None:
    session = WideSession().put(0, 3, 2, 5, 7).wait(3).put(8)
    assert [(seqnos, cause) for seqnos, cause, _ in told(session)][:2] == [
        ([[1, 1]], "not asked"),
        ([[2, 2]], "they came too late for a subscriber without recovery"),
    ]


def test_of_samples_that_nobody_asked_for_some_came_in_frames_that_the_transport_threw_away() -> (
    None
):
    session = WideSession().put(0).lose().lose().put(3)
    session.raw(z.frame(session.sns[False] - 3, z.push(z.put(1)))).wait(3).put(4)
    found = session.played()[1]
    assert stream(found)["unknown"]["misses"] == PASSED  # and which these are is not certain
    gap = next(row.detail for row in found if row.kind == GAP and "causes" in row.detail)
    assert gap["causes"] == [
        "not asked", "not asked, after the transport threw their frames away"
    ]  # fmt: skip


def test_where_it_asks_elsewhere_it_had_only_what_is_not_here() -> None:
    """Records 1 and 3 changed places: what a request would have asked for is here, in vain."""
    session = WideSession().put(0).lose().lose().put(3)
    session.raw(z.frame(session.sns[False] - 3, z.push(z.put(1)))).wait(3).put(4).lose().put(6)
    found = answered(session.ask(1, "_sn=5.."), 1, 5).put(7).played()[1]
    assert said(found, "ZN002") == [("likely", [[1, 1]])]
    assert stream(found)["misses"] is None


def test_an_answer_whose_records_are_out_of_order_shows_no_cause_for_sure() -> None:
    session = WideSession().put(0).lose().lose().put(3).ask(1, "_sn=1..")
    session = answered(session, 1, 2, 3)
    session.now -= 0.02
    assert told(session.put(4)) == [([[1, 1]], "evicted: the cache is too small", None)]
