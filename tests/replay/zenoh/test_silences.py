"""What is said of requests where a capture may hold one direction only."""

import pytest

from seqaudit.replay.zenoh.reasons import NOBODY, UNHEARD_THEN
from tests.decoders.zenoh import builders as z
from tests.replay.zenoh.test_engine import SUBSCRIBER_ZID, Session, certainty, rules, stream

ALIVE = b"\x04"


def lossy(*, heard: bool = True) -> Session:
    """A gap at which no request stands, and a reply with what it lacks where ``heard`` is false."""
    session = Session().put(0, 1).lose().put(3)
    if not heard:
        session.publisher(z.response(1, z.put(2)), z.final(1))
    return session.wait(2).put(4)


def one_way(session: Session) -> Session:
    """What comes to the subscriber only."""
    kept = [place for place in range(len(session.payloads)) if place not in session.back]
    left = Session(opened=False)
    left.payloads = [session.payloads[place] for place in kept]
    left.times = [session.times[place] for place in kept]
    return left


def joined(session: Session) -> Session:
    """The same, and behind it what the subscriber sent."""
    left = one_way(session)
    left.back = list(range(len(left.payloads), len(session.payloads)))
    left.payloads += [session.payloads[place] for place in session.back]
    left.times += [session.times[place] for place in session.back]
    return left


def joined_behind(session: Session) -> Session:
    """What the subscriber sent, and behind it what came to it."""
    back = [place for place in range(len(session.payloads)) if place in session.back]
    order = back + [place for place in range(len(session.payloads)) if place not in session.back]
    left = Session(opened=False)
    left.payloads = [session.payloads[place] for place in order]
    left.times = [session.times[place] for place in order]
    left.back = list(range(len(back)))
    return left


def test_zn002_of_who_is_heard_is_likely() -> None:
    assert certainty(lossy().played()[1], "ZN002") == {"likely"}


@pytest.mark.parametrize("spoil", [one_way, joined])
@pytest.mark.parametrize("opens", [False, True])
def test_zn002_who_is_not_heard_may_have_asked(opens: bool, spoil: object) -> None:
    """Recorded, and all that the subscriber's host sent taken out, or put behind: it had asked."""
    assert callable(spoil)
    session = lossy()
    if opens:
        theirs = z.init(SUBSCRIBER_ZID), z.init(ack=True), z.opened(500), z.opened(10, ack=True)
        session.payloads[:4], session.back[:2] = theirs, [0, 2]
    _, found = spoil(session).played()
    assert certainty(found, "ZN002") == {"cannot be told"}
    assert stream(found)["unknown"]["misses"] in (NOBODY, UNHEARD_THEN)


def test_zn002_what_a_reply_brings_is_not_missed_where_requests_are_not_here() -> None:
    _, found = one_way(lossy(heard=False)).played()
    assert "ZN002" not in rules(found) and "ZN001" in rules(found)


@pytest.mark.parametrize(("silent", "told"), [(3.0, "likely"), (9.0, "cannot be told")])
def test_zn002_for_a_while_nothing_of_its_node_is_here(silent: float, told: str) -> None:
    """It says that it lives every 2.5 s (zenoh.md 3.4)."""
    session = Session().put(0).raw(ALIVE, back=True).wait(silent / 2).put(1).lose().put(3)
    _, found = session.wait(silent / 2).put(4).raw(ALIVE, back=True).put(5).played()
    assert certainty(found, "ZN002") == {told}
    assert (stream(found)["misses"] is None) == (told != "likely")


def test_zn003_what_it_said_then_may_stand_before() -> None:
    """Recorded, and its own frames put before all that came to it: it had asked for the last."""
    session = Session().put(0, 1).heartbeat(3).wait(1).raw(ALIVE, back=True).raw(ALIVE)
    assert certainty(session.played()[1], "ZN003") == {"likely"}
    assert certainty(joined_behind(session).played()[1], "ZN003") == {"cannot be told"}
