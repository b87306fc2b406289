"""How far it is known what the observed daemon subscribes to (raims.md 6)."""

from typing import Any

import pytest

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import STREAM
from seqaudit.replay.raims.changes import Changes
from seqaudit.replay.sequence.elapsed import Elapsed
from tests.replay.raims.builders import (
    F0,
    HERE,
    LINK,
    ME,
    PEER,
    SECOND,
    T0,
    World,
    nak_on_link,
    only,
    packet,
    rules_of,
    sureness_of,
)

OWN = "pgm:0a0b.1"


def join(world: World, at: float, number: int, word: str = "JOIN", subject: str = "_1.A") -> None:
    world.notice(
        word, at, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=number, subject=subject
    )


def sends(world: World, word: str, sqn: int, at: float) -> None:
    """A packet of the observer's own TSI."""
    world.number += 1
    world.sees(packet(word, sqn, at, world.number, stream=f"{OWN}|", source=HERE))


def delivered(world: World) -> Any:
    (stream,) = [row.detail for row in world.rows() if row.kind == STREAM]
    return stream["delivered"]


@pytest.mark.parametrize(
    ("lacking", "stated_s", "known"),
    [
        (None, None, True),
        ("ODATA", None, False),
        ("SPM", None, False),
        ("bytes", None, False),
        ("bytes of another", None, True),
        ("ODATA", 2.0, True),
    ],
)
def test_where_words_of_the_daemon_are_missing_its_subscriptions_are_known_up_to_the_last_before(
    lacking: str | None, stated_s: float | None, known: bool
) -> None:
    """A change may have been in them, until it states the number of its last one again."""
    world = World()
    sends(world, "ODATA", 0, 0.0)
    world.data(F0, 0.5)
    if lacking in ("ODATA", "SPM"):
        sends(world, lacking, 2 if lacking == "ODATA" else 1, 1.0)
    elif lacking:
        ends = f"{HERE}:1>10.77.0.1:2" if lacking == "bytes" else f"10.77.0.1:2>{HERE}:1"
        world.notice("HOLE", 1.0, source=None, stream=f"tcp:{ends}|")
    world.data(F0 + 2, 1.5)
    if stated_s is not None:
        world.notice("PING", stated_s, source=ME, destination=PEER, sub_seqno=1)
    rows = world.rows()
    assert sureness_of(rows)["RA001"] == ["proven" if known else "cannot be told"]
    (stream,) = [row.detail for row in rows if row.kind == STREAM]
    assert (stream["unknown"].get("delivered") is None) == known


@pytest.mark.parametrize(("word", "own"), [("PING", True), ("HB", True), ("ADJ_REQ", False)])
def test_words_about_other_daemons_state_the_others_number(word: str, own: bool) -> None:
    world = World()
    world.notice(word, 1.0, source=ME, destination=PEER, sub_seqno=3)
    world.data(F0, 2.0)
    rows = world.rows()
    assert ("RA029" in sureness_of(rows)) == own
    if own:
        found = only(rows, "RA029")
        assert (found["facts"]["count"], found["facts"]["steps"]) == (2, "1 → 3")


@pytest.mark.parametrize(
    ("word", "uptime_s", "stated", "earlier"),
    [("HELO", 0.001, 1, 0), ("HB", 9, 1, 1), ("HB", 9, 0, 0), ("HELO", 0.001, 2, 2)],
)
def test_one_change_before_the_first_word_is_the_daemons_own_if_it_has_only_just_started(
    word: str, uptime_s: float, stated: int, earlier: int
) -> None:
    changes = Changes()
    detail = {"sub_seqno": stated, "uptime": round(uptime_s * SECOND)}
    heard = Event(frame=1, at_ns=T0, kind=Kind.NOTICE, wire_kind=word, system="raims")
    changes.hears(heard, detail, Elapsed())
    assert changes.earlier == earlier


def test_a_wait_ends_behind_the_frame_that_began_it() -> None:
    """What is handed on when a packet is given up may meet changes that no frame before tells."""
    world = World(join=3)
    join(world, 0.1, 4, "PSUB")
    world.sees(packet("ODATA", 1, 0.2, 3, stream=f"{LINK}|"))
    world.sees(packet("ODATA", 3, 0.3, 4, stream=f"{LINK}|"))
    world.data(F0 + 3, 0.3, stream=f"{LINK}|{PEER}|_1.A", fresh_id=3)
    join(world, 9.0, 6, subject="_1.C")
    assert delivered(world) is None


@pytest.mark.parametrize(
    ("rounds", "left_s", "known"),
    [(0, 2.0, False), (10, 2.0, True), (0, 0.3, True), (0, 9.0, True)],
)
def test_what_waits_for_a_packet_that_the_daemon_may_have_had_meets_other_subscriptions(
    rounds: int, left_s: float, known: bool
) -> None:
    world = World()
    came = [(sqn, at) for sqn, at in ((1, 0.2), (3, 0.4))]
    came += [
        (-1, at) for at in (0.25, *(turn / 2 for turn in range(1, 20)))
    ]  # the sender speaks all the time
    asked = [(None, 0.5 + turn / 5) for turn in range(rounds)]
    for sqn, at in sorted([*came, *asked, (0, left_s)], key=lambda pair: pair[1]):
        if sqn is None:
            world.sees(nak_on_link(2, at))
        elif not sqn:
            join(world, at, 2, "LEAV")
        elif sqn < 0:
            world.sees(packet("SPM", 1 if at < 0.4 else 3, at, stream=f"{LINK}|"))
        else:
            world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
            world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.sees(packet("SPM", 3, 10.0, stream=f"{LINK}|"))
    (stream,) = [row.detail for row in world.rows() if row.kind == STREAM]
    held_up = "came just before a change" in str(stream["unknown"].get("delivered"))
    assert held_up != known


@pytest.mark.parametrize(
    ("told", "speaks", "known"),
    [(0.31, (), False), (0.4, (), False), (9.0, (), False), (0.4, (0.35,), True),
     (9.0, (0.31,), False), (9.0, (0.33,), True)],
)  # fmt: skip
def test_a_message_just_before_a_change_was_told_may_have_come_behind_it(
    told: float, speaks: tuple[float, ...], known: bool
) -> None:
    """Just before is by time that surely passed: one pause may be the clock that was set."""
    world = World()
    world.data(F0, 0.3, stamp=T0)
    for at in speaks:
        world.notice("HB", at, destination=None)
    join(world, told, 2, "LEAV")
    assert (delivered(world) is not None) == known


@pytest.mark.parametrize(
    ("left_s", "next_s", "by_its_clock_s", "known"),
    [
        (2.0, 9.0, 9.0, True),
        (2.0, 9.0, 8.0, True),
        (2.0, 9.0, 7.1, False),
        (0.16, 9.0, 9.0, False),
        (0.17, 9.0, 9.0, True),
        (2.0, 9.0, None, False),
    ],
)
def test_the_publishers_next_word_says_by_its_clock_that_time_passed(
    left_s: float, next_s: float, by_its_clock_s: float | None, known: bool
) -> None:
    """Its clock ticks every 50 ms: what is closer to a change stays untold."""
    world = World()
    world.data(F0, 0.1, stamp=T0 + SECOND // 10)
    join(world, left_s, 2, "LEAV")
    stamp = None if by_its_clock_s is None else T0 + round(by_its_clock_s * SECOND)
    world.data(F0 + 1, next_s, stamp=stamp)
    assert (delivered(world) is not None) == known


@pytest.mark.parametrize(("lacking", "known"), [(None, True), ("ODATA", False)])
def test_what_matches_no_subscription_that_is_known_may_match_one_that_is_not(
    lacking: str | None, known: bool
) -> None:
    """The pattern's text is that of the subject, so routing hands it on; nobody wants it. In a
    packet of the daemon that is missing it may have subscribed to it."""
    world = World()
    world.notice(
        "PSUB", 0.1, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=2, pattern="_1.*.X"
    )
    sends(world, "ODATA", 0, 0.2)
    if lacking:
        sends(world, lacking, 2, 0.3)
    world.data(F0, 1.0, subject="_1.A.B.X")
    world.data(F0, 1.1, subject="_2.Y")
    rows = world.rows()
    assert sureness_of(rows)["RA009"] == ["proven" if known else "cannot be told"]
    (row,) = (r.detail for r in rows if r.detail.get("table") == "loss")
    assert (row["not_sub"], row["null_rte"]) == ((1, 2) if known else (None, None))


@pytest.mark.parametrize(("sqn", "told", "known"), [(3, 0.1, False), (0, 0.1, True), (3, 9, True)])
def test_what_the_daemon_sent_before_its_first_packet_here_may_be_a_change(
    sqn: int, told: float, known: bool
) -> None:
    """Its packets are numbered from 0 on, and nothing of those before is in the capture."""
    world = World()
    world.notice("AUTH", 0.1, source=ME, destination=PEER, sub_seqno=1)
    sends(world, "ODATA", sqn, 0.2)
    if told > 1:
        world.notice("HB", told, source=ME, sub_seqno=1)
    world.data(F0, 0.3 if told < 1 else 8.0)
    assert (delivered(world) is not None) == known


@pytest.mark.parametrize(("rounds", "known"), [(0, False), (10, True)])
def test_the_first_message_may_have_been_one_that_the_capture_lacks(
    rounds: int, known: bool
) -> None:
    world = World()
    join(world, 0.1, 2, "LEAV")
    for sqn, at in ((1, 0.2), (3, 9.0)):
        if sqn == 3:
            world.sees(packet("SPM", 1, 0.25, stream=f"{LINK}|"))
            join(world, 0.3, 3)
            world.sees(packet("SPM", 2, 0.4, stream=f"{LINK}|"))
            for turn in range(rounds):
                world.sees(nak_on_link(2, 0.5 + turn / 5))
            for moment in (6.0, 7.0):
                world.sees(packet("SPM", 2, moment, stream=f"{LINK}|"))
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.sees(packet("SPM", 3, 20.0, stream=f"{LINK}|"))
    assert (delivered(world) is not None) == known


def test_numbers_by_path_are_of_the_subjects_that_came() -> None:
    """A change concerns a path if it does one of its subjects."""
    for subject in ("_nats.X", "_nats.Y"):
        world = World()
        join(world, 0.1, 2, subject="_nats.X")
        world.sees(packet("ODATA", 1, 0.2, stream=f"{LINK}|"))
        world.feed(
            0.2, kind=Kind.DATA, wire_kind="GLSNO", source=PEER, destination="_nats.X", size=100,
            seqno=1, stop_seqno=2, stream=f"{LINK}|{PEER}|#0", fresh_id=1,
        )  # fmt: skip
        join(world, 0.205, 3, "LEAV", subject=subject)
        assert (delivered(world) is None) == (subject == "_nats.X")


@pytest.mark.parametrize(
    ("numbers", "steps"),
    [
        ((3, 2), None),
        ((5, 3), "1 \u2192 3, 3 \u2192 5"),
        ((5, 4, 2), "2 \u2192 4"),
        ((5, 9), "1 \u2192 5, 5 \u2192 9"),
    ],
)
def test_a_change_that_is_captured_behind_a_later_one_is_not_missing(
    numbers: tuple[int, ...], steps: str | None
) -> None:
    world = World()
    for place, number in enumerate(numbers):
        join(world, place / 10, number, subject=f"_1.N{number}")
    if steps is None:
        assert "RA029" not in rules_of(world.rows())
        return
    assert [str(step) for step in world.engine.observer.changes.unseen] == steps.split(", ")


@pytest.mark.parametrize(("named", "number"), [(True, 2), (False, 2), (False, 4)])
def test_a_change_that_does_not_say_of_what_is_missing(named: bool, number: int) -> None:
    """A damaged byte made it of another word; it has the number of a change that is not here, or
    one of its own (``raims_tcp_world`` 91402, several 503)."""
    world = World()
    for at, seqno in ((1.0, 3), (1.1, number)):
        about = {"subject": "_1.B"} if seqno == 3 or named else {}
        world.notice("JOIN", at, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=seqno, **about)
    world.data(F0, 2.0)
    (stream,) = [row.detail for row in world.rows() if row.kind == STREAM]
    assert (stream["delivered"] is not None) == named


def test_the_steps_of_numbers_are_told_as_they_are_written() -> None:
    world = World(join=3)
    join(world, 0.1, 6, subject="_1.B")
    world.notice("HB", 0.2, source=ME, sub_seqno=9)
    found = only(world.rows(), "RA029")
    assert (found["facts"]["count"], found["facts"]["steps"]) == (5, "3 → 6, 6 → 9")
    assert [seen["shows"] for seen in found["evidence"]] == [
        "change 6 after 3", "it has made 9, of which 6 are known",
    ]  # fmt: skip


@pytest.mark.parametrize(("third", "joined", "known"), [(4, True, False), (3, True, True),
                                                        (4, False, True)])  # fmt: skip
def test_what_is_missing_while_a_subscription_lasted_may_have_been_wanted(
    third: int, joined: bool, known: bool
) -> None:
    """Both messages that came are of times at which nobody wanted them."""
    world = World()
    join(world, 0.1, 2, "LEAV")
    for sqn, at in ((2, 0.2), (third, 9.0)):
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
        if sqn == 2 and joined:
            world.sees(packet("SPM", 2, 0.5, stream=f"{LINK}|"))
            join(world, 1.0, 3)
            join(world, 8.0, 4, "LEAV")
    world.sees(packet("SPM", third, 30.0, stream=f"{LINK}|"))
    assert (delivered(world) is not None) == known
