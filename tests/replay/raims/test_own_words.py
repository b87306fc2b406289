"""What the observed daemon's own words and silence say, and what of a link did not come."""

import json
from dataclasses import replace
from typing import Any

import pytest

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.results import GAP, STREAM, TABLE
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.raims import findings as raims_findings
from seqaudit.replay.raims.engine import RaimsEngine
from seqaudit.replay.raims.learned import SUB_WINDOW as _SUB_WINDOW
from seqaudit.replay.raims.seqno import first_seqno, seqno
from seqaudit.replay.raims.subscriber import MAX_LOSS
from tests.replay.raims.builders import (
    F0,
    FRAME,
    HERE,
    LINK,
    ME,
    PEER,
    SECOND,
    T0,
    THERE,
    World,
    asks_in_vain,
    inbox_packet,
    lossy_world,
    nak_on_link,
    only,
    packet,
    rules_of,
    sureness_of,
)


def test_what_waited_for_a_packet_dropped_inside_meets_other_subscriptions() -> None:
    for joined, subject in ((0.1, "_1.A"), (3.0, "_1.A"), (0.1, "_1.B")):
        world = World()
        for sqn in (1, 2):
            world.sees(packet("ODATA", sqn, sqn / 10, stream=f"{LINK}|"))
            world.data(F0 + sqn, sqn / 10, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
        for at in (0.4, 0.9):
            world.sees(nak_on_link(2, at))
        events = [(packet("RDATA", 2, 1.0, stream=f"{LINK}|"), 1.0), (None, joined + 0.5)]
        for event, _ in sorted(events, key=lambda pair: pair[1]):
            if event is not None:
                world.sees(event)
            else:
                world.notice("LEAV", joined + 0.5, source=ME, kind=Kind.SUBSCRIBE, stream=None,
                             seqno=2, subject=subject)  # fmt: skip
        (stream,) = [r.detail for r in world.rows() if r.kind == "STREAM"]
        assert (stream["delivered"] is None) == (joined < 1 and subject == "_1.A")


@pytest.mark.parametrize(
    ("speaks", "goes_on", "known"),
    [(4.0, False, False), (3.0, False, True), (4.0, True, True), (None, False, True)],
)
def test_what_a_source_sent_last_a_daemon_that_said_nothing_may_not_have_read(
    speaks: float | None, goes_on: bool, known: bool
) -> None:
    """It may have been paused, and its socket full: as the source has ended, nothing tells it what
    it lacks. Where the capture ends as well, nothing that could be known is missing."""
    world = World()
    own = [0.05, 0.2, *([speaks] if speaks else [])]
    came = [(packet("SPM", 1, at, source=HERE, stream="pgm:0203.1|"), at) for at in own]
    came += [(packet("SPM", 3, 4.5, stream=f"{LINK}|"), 4.5)] * goes_on
    for sqn, at in ((1, 0.1), (2, 1.0), (3, 1.5)):
        came.append((packet("ODATA", sqn, at, stream=f"{LINK}|"), at))
    for event, at in sorted(came, key=lambda pair: pair[1]):
        world.sees(event)
        if event.wire_kind == "ODATA":
            number = event.seqno or 0
            world.data(F0 + number, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=number)
    world.notice("LEAV", 9.0, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=2,
                 subject="_1.B")  # fmt: skip
    (stream,) = [r.detail for r in world.rows() if r.kind == "STREAM"]
    assert (stream["delivered"] is not None) == known


@pytest.mark.parametrize("again", [True, False])
def test_a_daemon_lacks_messages_of_packets_that_were_dropped_inside_its_host(again: bool) -> None:
    world = World()
    for sqn in (1, 2, 3):
        world.sees(packet("ODATA", sqn, sqn / 10, stream=f"{LINK}|"))
        world.data(F0 + sqn, sqn / 10, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    for turn in range(10):
        world.sees(nak_on_link(2, 0.5 + turn / 4))
    if again:
        world.sees(packet("RDATA", 2, 6.0, stream=f"{LINK}|"))
    world.notice("LOSS", 7.0, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                 ref_seqno=F0 + 3, ms_tot=1)  # fmt: skip
    rows = world.rows()
    (stream,) = [r.detail for r in rows if r.kind == "STREAM"]
    assert stream["delivered"] is None  # it says that it lacks one
    assert "RA012" not in rules_of(rows)
    found = only(rows, "RA001")
    assert (found["certainty"], "dropped inside" in found["text"]) == ("likely", True)


@pytest.mark.parametrize(("then", "known"), [(None, False), ("RDATA", True), ("SPM", True)])
def test_at_the_end_a_nak_right_behind_a_packet_may_not_have_met_it(
    then: str | None, known: bool
) -> None:
    """Later it would have been sent again, or the packet been had."""
    world = World()
    for place, sqn in enumerate((1, 3, 2)):
        at = place / 1000
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.sees(nak_on_link(2, 0.04))
    if then is not None:
        world.sees(packet(then, 2, 0.1 if then == "RDATA" else 5.0, stream=f"{LINK}|"))
    (stream,) = [r.detail for r in world.rows() if r.kind == "STREAM"]
    assert (stream["delivered"] is not None) == known, stream["unknown"]


def test_a_loss_is_proven_by_the_packets_that_were_given_up() -> None:
    rows = lossy_world().rows()
    found = only(rows, "RA001")
    assert (found["certainty"], found["facts"]["lower"]) == ("proven", 1)
    assert "RA003" not in rules_of(rows)  # raims counts it


@pytest.mark.parametrize(
    ("now", "chain", "lower", "counted", "said"),
    [
        (seqno(1001, 1), seqno(1000, 5), 2, 2, "{lower|it|them}."),
        (seqno(1001, 2), seqno(1000, 5), 3, 2, "{counted}."),
        (seqno(1000, 4 + MAX_LOSS), None, MAX_LOSS, MAX_LOSS, "{lower|it|them}."),
        (seqno(1000, 5 + MAX_LOSS), None, MAX_LOSS + 1, MAX_LOSS, "{counted}."),
    ],
)
def test_what_raims_counts_of_a_loss_is_said_where_it_is_not_all(
    now: int, chain: int | None, lower: int, counted: int, said: str
) -> None:
    world = World()
    world.data(seqno(1000, 3))
    world.data(now, 1.0, conn_id=chain)
    rows = world.rows()
    found = only(rows, "RA001")
    assert (found["facts"]["lower"], found["facts"]["counted"]) == (lower, counted)
    assert found["text"].partition(" (")[0].endswith(f"raims counts {said}"), found["text"]
    assert not {"RA002", "RA003"} & set(rules_of(rows))


@pytest.mark.parametrize(("tells", "rule"), [(True, "RA001"), (False, "RA003")])
def test_a_loss_that_the_daemon_tells_of_it_has_counted(tells: bool, rule: str) -> None:
    """Whatever the replay makes of it, by a clock that was set: here a message too old."""
    world, old_ns = World(), T0 - 100 * SECOND
    old = first_seqno(old_ns)
    world.notice("HB", stamp=T0)  # the clocks agree
    world.data(old, stamp=old_ns)
    world.data(old + 11, 1.0, stamp=old_ns)
    if tells:
        world.notice("LOSS", 1.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=10,
                     ref_seqno=old + 11, ms_tot=10)  # fmt: skip
    rows = world.rows()
    assert [r for r in rules_of(rows) if r in ("RA001", "RA003")] == [rule]
    found = only(rows, rule)
    assert (found["facts"]["lower"], found["certainty"]) == (10, "proven" if tells else "likely")


def test_a_loss_that_only_its_own_daemon_tells_is_proven_and_as_large_as_it_says() -> None:
    world = World()
    for sqn, value, at in ((1, 0, 0.0), (4, 3, 0.1), (5, 4, 9.0)):
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.notice("LOSS", 9.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                 ms_tot=1, ref_seqno=F0 + 3)  # fmt: skip
    found = only(world.rows(), "RA001")
    assert (found["certainty"], found["facts"]["lower"]) == ("proven", 1)
    assert found["evidence"][-1]["shows"] == "the daemon tells the publisher of it"
    (row,) = world.table("loss")
    assert (row["lost_lower"], row["told_loss"]) == (1, 1)
    assert row["lost_upper"] is None  # the other packet may be of a stream that nothing shows


@pytest.mark.parametrize(
    ("asks", "tells", "open_"),
    [((2, 3), True, False), ((2,), True, True), ((2,), False, False)],
    ids=["all-given-up", "one-was-not", "nobody-tells"],
)
def test_of_what_a_notice_leaves_unknown_the_daemon_may_have_had_some(
    asks: tuple[int, ...], tells: bool, open_: bool
) -> None:
    """Packets 2 and 3 hold the frame's end and the next one's beginning. The notice proves the
    loss; where no NAKs say so, it does not prove that both packets were lost."""
    world = World()
    for sqn, value, at in ((1, F0, 0.0), (4, F0 + FRAME + 1, 60.0)):
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
        if sqn == 1:
            world.sees(packet("SPM", 3, 0.1, stream=f"{LINK}|"))
            for turn in range(10):
                for asked in asks:
                    world.sees(nak_on_link(asked, 0.2 + asked / 100 + turn / 4))
            for moment in (6.0, 7.0):
                world.sees(packet("SPM", 3, moment, stream=f"{LINK}|"))
    if tells:
        world.notice("LOSS", 60.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                     idl_restart=1, ref_seqno=F0 + FRAME + 1, ms_tot=1)  # fmt: skip
    (stream,) = [r.detail for r in world.rows() if r.kind == "STREAM"]
    (loss,) = stream["losses"]
    assert (loss["lower"], loss["missing_sqns"], loss["some_may_have_come"]) == (1, 2, open_)
    assert (stream["delivered"] is None) == (len(asks) < 2)


@pytest.mark.parametrize(("told", "sure"), [(True, "proven"), (False, "cannot be told")])
def test_what_came_while_its_publisher_was_dropped_is_lost_though_no_packet_is_missing(
    told: bool, sure: str
) -> None:
    """Recorded, as a daemon was cut off for 26 s: all that it had missed came as RDATA just before
    it took its peer up again. Its window went on at the number before, of another frame, so it
    counted 1 for all of them; only those of the new frame have numbers that say how many."""
    world = World()
    values = (F0, F0 + 1, F0 + 2, F0 + FRAME, F0 + FRAME + 1, F0 + FRAME + 2)
    for sqn, value in enumerate(values):
        if sqn == 1:
            world.notice("DEL", 22.1, source=ME, seqno=1, sync_bridge=PEER, auth_stage=4)
        if value == values[-1]:
            world.notice("AUTH", 26.5, seqno=1, destination=ME)
        at = 0.0 if not sqn else 26.0 + sqn / 10
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    if told:
        world.notice("LOSS", 26.6, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                     idl_restart=1, ref_seqno=values[-1], ms_tot=1)  # fmt: skip
    rows = world.rows()
    (stream,) = [r.detail for r in rows if r.kind == STREAM]
    (loss,) = stream["losses"]
    assert (loss["lower"], loss["upper"], loss["untaken"]) == (2, 4, 4)
    figures = [stream[name] for name in ("lost", "lost_upper", "counted_loss", "delivered")]
    had = [[F0, F0], [values[-1], values[-1]]]
    assert figures == ([2, 4, 1, had] if told else [None] * 4)
    found = only(rows, "RA002")
    assert found["certainty"] == sure
    assert "RA001" not in rules_of(rows)


def test_a_loss_of_unknown_size_counts_1_by_its_own_notice_however_large_it_is() -> None:
    world = World()
    for sqn, value in ((1, F0), (3, F0 + FRAME + 5000)):
        at = 0.0 if sqn == 1 else 60.0
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
        if sqn == 1:
            asks_in_vain(world, 10)
    world.notice("LOSS", 60.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                 idl_restart=1, ref_seqno=F0 + FRAME + 5000, ms_tot=1)  # fmt: skip
    rows = world.rows()
    assert "RA001" not in rules_of(rows)
    facts = only(rows, "RA002")["facts"]
    assert (facts["bounds"], facts["counted"]) == (5000, 1)


@pytest.mark.parametrize(
    ("values", "chain", "count", "lost"),
    [
        # in one frame: the last ones before the number
        ((F0, F0 + 6), None, 2, (F0 + 4, F0 + 5)),
        # over a frame's border: the last ones up to the number that the chain names
        ((F0, F0 + FRAME), F0 + 6, 2, (F0 + 5, F0 + 6)),
        # the daemon was in the chain's frame, of which nothing is captured
        ((F0, F0 + 2 * FRAME), F0 + FRAME + 6, 2, (F0 + FRAME + 5, F0 + FRAME + 6)),
        # it was in the number's own frame, of which nothing else is captured
        ((F0, F0 + 2 * FRAME + 6), None, 2, (F0 + 2 * FRAME + 4, F0 + 2 * FRAME + 5)),
    ],
)
def test_of_what_is_missing_the_daemon_lost_the_last_ones_by_its_own_count(
    values: tuple[int, int], chain: int | None, count: int, lost: tuple[int, int]
) -> None:
    world = World()
    for sqn, value, at in ((1, values[0], 0.0), (9, values[1], 0.1)):
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn,
                   conn_id=chain if sqn > 1 else None)  # fmt: skip
    world.sees(packet("ODATA", 10, 9.0, stream=f"{LINK}|"))
    world.notice("LOSS", 9.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=count,
                 ms_tot=count, ref_seqno=values[1])  # fmt: skip
    rows = world.rows()
    found = only(rows, "RA001")
    assert (found["certainty"], found["facts"]["lower"]) == ("proven", count)
    assert found["seqnos"] == [[*lost]]
    (stream,) = [r.detail for r in rows if r.kind == "STREAM"]
    assert (stream["lost"], stream["lost_upper"], stream["delivered"]) == (count, count, None)
    (row,) = [r.detail for r in rows if r.kind == TABLE and r.detail["table"] == "loss"]
    assert row["msg_loss"] == count


@pytest.mark.parametrize(
    ("count", "restart", "lower"), [(1, True, 6), (1, False, 1), (9, False, 1)]
)
def test_a_count_that_may_be_of_an_unknown_number_tells_of_one_loss(
    count: int, restart: bool, lower: int
) -> None:
    """A loss of unknown size counts 1, and no word says so where one of known size came before."""
    world = World()
    number = F0 + 2 * FRAME + 6
    for value, at in ((F0, 0.0), (number, 9.0)):
        world.data(value, at, stream=f"{LINK}|{PEER}|_1.A")
    told = {"idl_restart": True} if restart else {}
    world.notice("LOSS", 9.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=count,
                 ms_tot=count, ref_seqno=number, **told)  # fmt: skip
    found = only(world.rows(), "RA002")
    assert (found["certainty"], found["facts"]["lower"]) == ("proven", lower)
    assert found["seqnos"] == [[number - lower, number - 1]]


def test_a_count_that_is_all_that_fits_is_not_how_many_were_lost() -> None:
    world = World()
    for sqn, value, at in ((1, 0, 0.0), (9, 50_000, 0.1), (10, 50_001, 9.0)):
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.notice("LOSS", 9.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=32_767,
                 ms_tot=32_767, ref_seqno=F0 + 50_000)  # fmt: skip
    assert only(world.rows(), "RA001")["facts"]["lower"] == 49_999


def test_packets_that_are_cut_take_messages_away_and_prove_no_loss() -> None:
    world = World()
    for sqn, value, flags in ((1, 0, 0), (2, None, Flag.CUT), (3, 2, 0)):
        world.sees(packet("ODATA", sqn, sqn / 10, stream=f"{LINK}|", flags=Flag(flags)))
        if value is not None:
            world.data(F0 + value, sqn / 10, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    found = only(world.rows(), "RA001")
    assert found["certainty"] == "cannot be told"
    assert "cut by the snap length" in found["text"]


@pytest.mark.parametrize(
    ("word", "kind"), [("UNREAD", Kind.NOTICE), ("DATA", Kind.NOTICE), ("PING", Kind.NOTICE)]
)
def test_what_cannot_be_read_may_be_a_message_of_any_stream(word: str, kind: Kind) -> None:
    """A packet that came and holds something that is no message, or data without a number."""
    world = World()
    for sqn, value in ((1, 0), (2, None), (3, 2)):
        world.sees(packet("ODATA", sqn, sqn / 10, stream=f"{LINK}|"))
        if value is None:
            world.feed(sqn / 10, kind=kind, wire_kind=word, stream=f"{LINK}|", fresh_id=sqn)
        else:
            world.data(F0 + value, sqn / 10, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    found = only(world.rows(), "RA001")
    assert found["certainty"] == "cannot be told"
    assert ("could not be read to the end" in found["text"]) == (word != "PING")


@pytest.mark.parametrize("link", ["tcp:x", f"inbox:{THERE}:2>{HERE}:1"])
def test_what_cannot_be_read_of_other_links_hides_numbers(link: str) -> None:
    for unread in (False, True):
        world = World()
        world.alone()
        for number, word in enumerate(("PING", "UNREAD", "PING"), 1):
            if link.startswith("inbox:"):
                world.engine.feed(inbox_packet(number, number / 10, own=False))
            if word != "UNREAD" or unread:
                world.notice(word, number / 10, seqno=number, destination=ME,
                             stream=f"{link}|{PEER}|.{word}", fresh_id=number)  # fmt: skip
        world.notice("PONG", 0.4, source=ME, destination=PEER, stream=f"tcp:x|{ME}|.PONG")
        (row,) = world.table("loss")
        assert row["ibx_loss"] == (0 if unread else 1)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("spoken", [False, True])
def test_a_step_of_a_peer_is_likely_where_it_may_have_been_dropped_in_a_word_not_captured(
    missing: bool, spoken: bool
) -> None:
    """What the observer tells the peer behind the step shows that it had not dropped it."""
    own = "pgm:0a0b.1"
    world = World()
    world.alone()
    world.notice("HB")
    world.sees(packet("ODATA", 1, 0.0, stream=f"{own}|", source=HERE))
    for number, at in ((1, 0.1), (3, 0.5)):
        world.notice("PING", at, seqno=number, destination=ME, stream=f"tcp:x|{PEER}|.PING")
        world.sees(packet("SPM", 3 if missing else 1, at + 0.1, stream=f"{own}|", source=HERE))
    if spoken:
        world.notice("PONG", 0.7, source=ME, destination=PEER, stream=f"tcp:x|{ME}|.PONG")
    rows = world.rows()
    unsure = missing and not spoken
    assert only(rows, "RA010")["certainty"] == ("likely" if unsure else "proven")
    (row,) = (r.detail for r in rows if r.kind == TABLE and r.detail["table"] == "loss")
    assert row["ibx_loss"] == (None if unsure else 1)
    assert ("dropped_ns" in row["unknown"]) == unsure


def test_a_packet_of_an_inbox_that_was_acknowledged_and_not_captured_is_had() -> None:
    """The acknowledgement came before the next packet, which so waits for nothing."""
    world = World()
    for number in (1, 3):
        world.engine.feed(inbox_packet(number, number / 10, own=False))
        world.notice("PING", number / 10, destination=ME, seqno=number, fresh_id=number,
                     stream=f"inbox:{THERE}:2>{HERE}:1|{PEER}|.PING")  # fmt: skip
        answer = inbox_packet(number, number / 10 + 0.1)
        world.engine.feed(replace(answer, stamp=2, detail='{"dest_id":7}'))
    (peer,) = world.engine.observer.peers.values()
    assert peer.inbox["PING"] == 3
    assert peer.inbox_uncaptured and not peer.inbox_steps


@pytest.mark.parametrize(("hole", "sure"), [(False, "proven"), (True, "cannot be told")])
def test_over_tcp_a_loss_is_proven_where_no_byte_is_missing(hole: bool, sure: str) -> None:
    world = World()
    world.data(F0)
    if hole:
        world.notice("HOLE", stream="tcp:x|", source=None)
    world.data(F0 + 2, 1.0)
    rows = world.rows()
    assert sureness_of(rows)["RA001"] == [sure]
    (stream,) = [r.detail for r in rows if r.kind == "STREAM"]
    assert stream["lost"] == (None if hole else 1)


def test_from_an_unseen_change_of_subscriptions_on_nothing_is_called_lost() -> None:
    world = World()
    world.notice("JOIN", 0.1, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=4, subject="_1.B")
    world.data(F0, 0.2)
    world.notice("JOIN", 0.3, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=6, subject="_1.C")
    world.data(F0 + 5, 0.4)
    rows = world.rows()
    assert sureness_of(rows)["RA001"] == ["cannot be told"]
    assert "4 → 6" in only(rows, "RA029")["facts"]["steps"]
    (stream,) = [r.detail for r in rows if r.kind == "STREAM"]
    assert stream["delivered"] is None


def glsno(world: World, number: int, sqn: int, at: float) -> None:
    world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
    world.feed(
        at, kind=Kind.DATA, wire_kind="GLSNO", source=PEER, destination="_nats.X", size=100,
        seqno=number, stop_seqno=number + 1, stream=f"{LINK}|{PEER}|#0", fresh_id=sqn,
    )  # fmt: skip


@pytest.mark.parametrize("own", [True, False])
def test_of_a_daemon_whose_own_packets_are_not_captured_nobody_knows_what_it_wants(
    own: bool,
) -> None:
    """It says what it subscribes to in a TSI of its own: one that has an inbox has such a TSI."""
    world = World()
    if own:
        world.sees(packet("ODATA", 0, 0.0, stream="pgm:0203.1|", source=HERE))
    world.engine.feed(inbox_packet(1, 0.1))
    world.data(F0, 0.2, subject="_1.B")
    (stream,) = [r.detail for r in world.rows() if r.kind == STREAM]
    assert (stream["lost"], stream["delivered"]) == ((0, []) if own else (None, None))


@pytest.mark.parametrize(
    ("sqns", "rounds", "sure"),
    [((1, 2), 0, None), ((1, 3), 0, "cannot be told"), ((1, 3), 10, "proven")],
)
def test_numbers_without_a_missing_packet_were_never_sent_here(
    sqns: tuple[int, int], rounds: int, sure: str | None
) -> None:
    world = World()
    glsno(world, 7, sqns[0], 0.0)
    if sqns[1] > 2:
        world.sees(packet("SPM", 2, 0.1, stream=f"{LINK}|"))
    for turn in range(rounds):
        world.sees(nak_on_link(2, 0.2 + turn / 4))
    if rounds:
        for moment in (6.0, 7.0):
            world.sees(packet("SPM", 2, moment, stream=f"{LINK}|"))
    glsno(world, 9, sqns[1], 60.0)
    rows = world.rows()
    assert sureness_of(rows).get("RA004") == (None if sure is None else [sure])
    if sure is not None:
        found = only(rows, "RA004")
        assert (found["seqnos"], bool(found["evidence"])) == ([[8, 8]], True)
        assert found["severity"] == (None if sure == "proven" else "info")


@pytest.mark.parametrize("rule", ["RA001", "RA004", "RA013", "RA023"])
def test_that_a_packet_was_given_up_rests_on_no_repair_in_its_last_wait(rule: str) -> None:
    """Where the capture has a hole there, or a damaged packet, that may be the repair."""
    world = World()
    for sqn, at in ((1, 0.0), (3, 60.0)):
        if rule == "RA004":
            glsno(world, sqn, sqn, at)
        else:
            piece = {"offset": 0, "piece": 300, "total": 900, "hash": sqn}
            world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
            world.data(
                F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn, stamp=T0,
                **({"flags": Flag.PARTIAL, "detail": json.dumps(piece)} if rule == "RA023" else {}),
            )  # fmt: skip
        for turn in range(10 if sqn == 1 else 0):
            if not turn:
                world.sees(packet("SPM", 2, 0.1, stream=f"{LINK}|"))
            world.sees(nak_on_link(2, 0.2 + turn / 4))
            asked = world.number
        for moment in (6.0, 7.0) if sqn == 1 else ():
            world.sees(packet("SPM", 2, moment, stream=f"{LINK}|"))
            ended = world.number
    found = only(world.rows(), rule)
    assert found["rests"]["absent"] == [asked, ended - 1]
    assert found["certainty"] == ("likely" if rule == "RA013" else "proven")  # no join is shown


def test_of_numbers_by_path_nobody_misses_any_where_nobody_is_known_to_look_on() -> None:
    world = World()
    world.engine = RaimsEngine("raims", {}, Vantage("member", HERE))
    for number, sqn, at in ((7, 1, 0.0), (9, 3, 60.0), (10, 4, 120.0)):
        glsno(world, number, sqn, at)
    rows = world.rows()
    (stream,) = [row.detail for row in rows if row.kind == STREAM]
    assert (stream["gaps"], [row for row in rows if row.kind == GAP]) == (0, [])


def test_where_numbers_are_sent_elsewhere_a_packet_given_up_need_not_hold_one() -> None:
    """#2 was never sent here, so #4 may not have been either, though packet 3 was lost."""
    world = World()
    glsno(world, 1, 1, 0.0)
    glsno(world, 3, 2, 0.1)
    world.sees(packet("SPM", 3, 0.2, stream=f"{LINK}|"))
    for turn in range(10):
        world.sees(nak_on_link(3, 0.3 + turn / 4))
    for moment in (6.0, 7.0):
        world.sees(packet("SPM", 3, moment, stream=f"{LINK}|"))
    glsno(world, 5, 4, 60.0)
    rows = world.rows()
    found = only(rows, "RA004")
    assert (found["seqnos"], found["certainty"]) == ([[4, 4]], "likely")
    (stream,) = [r.detail for r in rows if r.kind == STREAM and r.system == "raims"]
    assert (stream["lost"], stream["lost_upper"]) == (0, 1)
    (gap,) = [r.detail for r in rows if r.kind == "GAP" and r.system == "raims"]
    assert gap["outcome"] == "lost, or not captured"


def told_by_inbox(world: World, numbers: dict[int, float]) -> None:
    """Point-to-point packets of the observer, each with a PING; and the first one that it sends to
    all."""
    world.sees(packet("ODATA", 0, min(numbers.values()), stream="pgm:0203.1|", source=HERE))
    for number, at in numbers.items():
        world.engine.feed(inbox_packet(number, at))
        world.notice("PING", at, source=ME, destination=PEER, seqno=number,
                     stream=f"inbox:{HERE}:1>{THERE}:2|{ME}|.PING")  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "said"),
    [({9: 59.0, 10: 62.0}, True), ({9: 59.0, 11: 62.0}, False), ({9: 59.0, 10: 60.5}, False)],
)
def test_a_missing_notice_needs_all_that_was_said_for_a_second(
    numbers: dict[int, float], said: bool
) -> None:
    world = World()
    first, last = numbers.items()
    told_by_inbox(world, dict([first]))
    lossy = lossy_world()
    lossy.engine.feed(inbox_packet(*first))
    told_by_inbox(lossy, dict([last]))
    assert ("RA027" in rules_of(lossy.rows())) == said


@pytest.mark.parametrize(
    ("words", "since", "known"),
    [
        (["PING 1 of 1"], 0, True),
        (["PING 1 of 1", "PING 1 of 1"], 0, True),  # sent again
        (["PING 1 of 1", "PING 2 of 1"], 0, True),  # told again, as nothing has answered
        (["PING 1 of 1", "PONG 1 of 1", "PONG 2 of 1", "PING 2 of 0"], 0, True),
        (["PING 1 of 1", "PONG 1 of 1", "PING 2 of 1"], 0, False),
        (["PING 1 of 17"], 0, False),
        (["PING 1 of 17"], -60, True),  # perhaps lost before the capture began
        (["PING 1 of 17", "PONG 1 of 17", "PING 2 of 2"], -60, False),
        (["PING 1 of 1 restart", "PING 2 of 1"], 0, False),  # of unknown size, and of a known one
    ],
)
def test_pings_tell_what_clients_lost_of_a_publisher_in_all(
    words: list[str], since: int, known: bool
) -> None:
    """Recorded: a batch that had been read was overwritten inside the daemon, which no frame shows;
    its ping told the publisher of 17 messages, and the loss shown was of one."""
    world = World()
    world.notice("HB", source=ME, stream=f"tcp:x|{ME}|.HB", start=T0 + since * SECOND)
    world.data(F0)
    world.data(F0 + 2, 0.1)
    for place, told in enumerate(words):
        word, number, _, lost, *restart = told.split()
        ends = (ME, PEER) if word == "PING" else (PEER, ME)
        what = {"idl_service": 7500, "idl_msg_loss": int(lost)} if int(lost) else {}
        what |= {"idl_restart": 1} if restart else {}
        world.notice(word, 2.0 + place, source=ends[0], destination=ends[1], seqno=int(number),
                     stream=f"tcp:x|{ends[0]}|.{word}", **what)  # fmt: skip
    (stream,) = [r.detail for r in world.rows() if r.kind == STREAM]
    assert (stream["delivered"] is not None) == known, stream["unknown"]
    (row,) = world.table("loss")
    assert row["msg_loss"] == (1 if known else None)


def test_what_pings_told_before_more_was_lost_was_more_than_had_been_lost_by_then() -> None:
    world = World()
    world.notice("HB", source=ME, stream=f"tcp:x|{ME}|.HB", start=T0)
    world.data(F0)
    world.notice("PING", 2.0, source=ME, destination=PEER, seqno=1, stream=f"tcp:x|{ME}|.PING",
                 idl_service=7500, idl_msg_loss=17)  # fmt: skip
    world.data(F0 + 20, 5.0)
    (row,) = world.table("loss")
    assert row["msg_loss"] is None
    assert "the daemon itself tells" in row["unknown"]["msg_loss"]


@pytest.mark.parametrize(("sqns", "said"), [((1, 3), True), ((1, 3, 4), False)])
def test_who_may_have_stood_still_behind_a_loss_is_not_accused_of_not_telling_it(
    sqns: tuple[int, ...], said: bool
) -> None:
    """Recorded: where the call that handed on a packet finds that the next one is missing, and that
    is given up, a daemon takes nothing more, and has nothing to tell."""
    world = World()
    told_by_inbox(world, {9: -0.1})
    world.engine.feed(inbox_packet(9, -0.1))
    for sqn in sqns:
        world.sees(packet("ODATA", sqn, 0.0, stream=f"{LINK}|"))
        world.data(F0 + sqn, 0.0, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    for turn in range(10):
        for sqn in range(2, sqns[-1], 2):
            world.sees(nak_on_link(sqn, (sqn + turn * 4) / 20))
    world.sees(packet("SPM", sqns[-1], 5.0, stream=f"{LINK}|"))
    told_by_inbox(world, {10: 9.0})
    assert ("RA027" in rules_of(world.rows())) == said


def test_late_copies_of_which_nobody_was_told_were_too_old_for_the_window() -> None:
    for stated, learned in (({}, True), (dict.fromkeys(_SUB_WINDOW, 1 << 30), False)):
        world = World(**stated)
        old, new = seqno(1000, 3), seqno(1001, 1)
        world.engine.feed(inbox_packet(9, -1.0))
        for value in (seqno(1000, 2), old, new, old, new + 1):
            world.data(value)
        told_by_inbox(world, {10: 5.0})
        (row,) = world.table("loss")
        counted = (row["msg_loss"], row["repeat"], row["false_loss"])
        assert counted == ((0, 1, 0) if learned else (2, 0, 2))
        rows = raims_findings.results(world.engine, 0, world.engine.last_ns)
        assert {"RA005", "RA027"} & set(rules_of(rows)) == (set() if learned else {"RA005"})
        if learned:
            found = only(rows, "RA008")
            assert found["certainty"] == "likely"
            assert "in numbers 9 to 10 is whole and holds no loss notice" in found["text"]


@pytest.mark.parametrize(("copy", "last"), [(8, 3), (9, 3), (8, 4)])
def test_what_late_copies_do_is_unknown_where_a_packet_may_be_missing(copy: int, last: int) -> None:
    """They come on a TSI of their own, and set the daemon's number back: all packets are in the
    capture; or #8 of it, or #3 of the first, is not, and nobody asked for it. What came behind #3
    waits here, and did not there."""
    world = World()
    sent = [(LINK, 1, seqno(1000, 2)), (LINK, 2, seqno(1001, 1)), ("pgm:0a0b.1", 7, seqno(1000, 2)),
            ("pgm:0a0b.1", copy, seqno(1001, 1)), (LINK, last, seqno(1001, 2))]  # fmt: skip
    for at, (link, sqn, value) in enumerate(sent):
        world.sees(packet("ODATA", sqn, float(at), stream=f"{link}|"))
        chain = seqno(1000, 2) if sqn == 2 else None
        world.data(value, float(at), stream=f"{link}|{PEER}|_1.A", fresh_id=sqn, conn_id=chain)
    for moment in (60.0, 61.0):
        world.sees(packet("SPM", last, moment, stream=f"{LINK}|"))
    whole = (copy, last) == (8, 3)
    (stream,) = [r.detail for r in world.rows() if r.kind == STREAM]
    (row,) = world.table("loss")
    figures = (stream["counted_loss"], stream["false_loss"], row["msg_loss"], row["repeat"])
    assert figures == ((1, 1, 1, 0) if whole else (None,) * 4)
    assert (stream["lost"], row["lost_lower"]) == (0, 0)


@pytest.mark.parametrize("sqn", [3, 4])
def test_a_packet_that_is_missing_may_hold_a_message_without_a_number(sqn: int) -> None:
    """A console publishes to the subject, which daemons count as a loss; no number shows it."""
    world = World()
    for number, value in ((1, F0), (2, 0), (sqn, F0 + 1)):
        world.sees(packet("ODATA", number, number / 10, stream=f"{LINK}|"))
        world.data(value, number / 10, stream=f"{LINK}|{PEER}|_1.A", fresh_id=number)
    (stream,) = [r.detail for r in world.rows() if r.kind == STREAM]
    (row,) = world.table("loss")
    assert (stream["counted_loss"], row["msg_loss"]) == ((1, 1) if sqn == 3 else (None, None))


@pytest.mark.parametrize("console", [True, False])
def test_a_packet_that_was_given_up_may_have_held_messages_without_a_number(console: bool) -> None:
    """The numbers on both sides follow each other, so none of these was lost."""
    world = World()
    for number, value in ((1, F0), (2, 0 if console else F0 + 1), (4, F0 + 2 - console)):
        world.sees(packet("ODATA", number, 9.0 if number == 4 else 0.0, stream=f"{LINK}|"))
        world.data(value, 9.0 if number == 4 else 0.0, stream=f"{LINK}|{PEER}|_1.A",
                   fresh_id=number)  # fmt: skip
        if number == 2:
            world.sees(packet("SPM", 3, 0.1, stream=f"{LINK}|"))
            for turn in range(10):
                world.sees(nak_on_link(3, 0.2 + turn / 4))
            for moment in (6.0, 7.0):
                world.sees(packet("SPM", 3, moment, stream=f"{LINK}|"))
    (stream,) = [r.detail for r in world.rows() if r.kind == STREAM]
    assert (stream["lost"], stream["lost_upper"] > 0) == (0, console)


def test_a_false_loss_by_a_default_window_is_likely_and_names_it() -> None:
    world = World()
    old, new = seqno(1000, 3), seqno(1001, 1)
    for value in (seqno(1000, 2), old, new, old, new + 1):
        world.data(value)
    found = only(world.rows(), "RA005")
    assert found["certainty"] == "likely"
    assert "raims.sub_window_size is not given" in found["text"]


def test_a_peer_whose_heartbeats_have_ended_is_gone_and_keeps_its_counters() -> None:
    world = World()
    world.notice("HB", interval=4)
    world.data(F0)
    world.feed(60.0, kind=Kind.NOTICE, wire_kind="HB", source=ME, stream="tcp:x|me|.HB")
    (row,) = world.table("loss")
    assert row["dropped_ns"] == T0 + 10 * SECOND
    world = World()
    world.notice("HB", interval=4)
    world.data(F0, subject="_1.B")
    world.data(F0 + 1, 20.0, subject="_1.B")  # ignored
    world.notice("AUTH", 21.0, destination=ME, stream=f"tcp:y|{PEER}|.AUTH")
    world.data(F0 + 2, 21.5, subject="_1.B", stream=f"tcp:y|{PEER}|_1.B")
    (row,) = world.table("loss")
    assert (row["null_rte"], row["dropped_ns"]) == (2, None)


def test_a_peer_is_gone_since_the_observer_said_so_whatever_came_of_it_behind_that() -> None:
    """Its last heartbeat had waited; and by the capture alone it seemed silent before."""
    world = World()
    world.notice("HB", interval=4)
    world.feed(11.0, kind=Kind.NOTICE, wire_kind="HB", source=ME, stream="tcp:x|me|.HB")
    world.data(F0, 11.5)
    world.notice("DEL", 12.0, source=ME, seqno=1, sync_bridge=PEER, auth_stage=5)
    world.notice("HB", 12.1, interval=4)
    world.feed(60.0, kind=Kind.NOTICE, wire_kind="HB", source=ME, stream="tcp:x|me|.HB")
    (row,) = world.table("loss")
    assert row["dropped_ns"] == T0 + 12 * SECOND


def test_messages_of_a_dropped_peer_that_is_heard_again_may_be_null_routes() -> None:
    world = World()
    world.notice("HB", interval=4)
    world.data(F0, subject="_1.B")
    world.notice("HB", 20.0, interval=4)
    world.data(F0 + 1, 20.1, subject="_1.B")
    world.notice("AUTH", 21.0, destination=ME)
    (row,) = world.table("loss")
    assert row["null_rte"] is None
    assert "while daemons joined or left" in row["unknown"]["null_rte"]


@pytest.mark.parametrize(
    ("link", "between", "delivered"), [("y", 0, 2), ("x", 0, 3), ("y", 1, 2), ("x", 1, None)]
)
def test_an_auth_on_a_connection_from_before_shows_that_nobody_was_dropped(
    link: str, between: int, delivered: int | None
) -> None:
    """The capture's clock was set: whoever is dropped has its connections closed. What came just
    before the AUTH had been taken then, or not."""
    world = World()
    world.notice("HB", stream=f"tcp:x|{PEER}|.HB")
    world.data(F0, 0.1)
    for number in range(between):
        world.data(F0 + 1 + number, 300.0)
    world.notice("AUTH", 300.1, destination=ME, stream=f"tcp:{link}|{PEER}|.AUTH")
    world.data(F0 + 1 + between, 300.2)
    world.data(F0 + 2 + between, 300.3, stream=f"tcp:{link}|{PEER}|_1.A")
    (stream,) = [row.detail for row in world.rows() if row.kind == STREAM]
    found = stream["delivered"]
    assert (None if found is None else sum(b - a + 1 for a, b in found)) == delivered


def test_what_was_on_its_way_to_a_dropped_peer_does_not_show_that_it_is_there() -> None:
    for asked_at, ignored in ((20.05, 2), (20.5, 1)):
        world = World()
        world.notice("HB", 10.0, interval=30)
        world.data(F0, 11.0)
        world.notice("DEL", 20.0, source=ME, seqno=2, sync_bridge=PEER, auth_stage=9)
        world.data(F0 + 1, 20.01)
        world.notice("PING", asked_at, source=ME, destination=PEER)
        world.data(F0 + 2, 20.6)
        (stream,) = world.engine.observer.streams.values()
        assert stream.ignored == ignored


@pytest.mark.parametrize(
    ("behind_s", "said", "sure"),
    [(0.002, 0, "likely"), (30.0, 24, "proven"), (30.0, 0, "likely")],
)
def test_a_loss_where_a_wait_and_a_subscription_end_together_is_likely(
    behind_s: float, said: int, sure: str
) -> None:
    """Packet 2 is given up, and what waited is handed on: as still wanted, or no more. Where
    nothing is said until the subscription ends nobody can tell a pause from a step of the clock."""

    def world(left: float | None) -> World:
        told = World()
        for sqn, value, at in ((1, 0, 0.0), (3, 2, 0.05), (4, 3, 60.0)):
            for after in range(6, 6 + said) if sqn == 4 else ():
                told.sees(packet("SPM", 3, after, stream=f"{LINK}|"))
            if sqn == 4 and left is not None:
                told.notice("LEAV", left, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=2,
                            subject="_1.A")  # fmt: skip
            told.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
            told.data(F0 + value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
            for turn in range(10 if sqn == 3 else 0):
                told.sees(nak_on_link(2, 0.1 + turn / 4))
        return told

    (stream,) = [r.detail for r in world(None).rows() if r.kind == STREAM]
    given_up = (stream["losses"][0]["at_ns"] - T0) / SECOND
    assert sureness_of(world(given_up + behind_s).rows())["RA001"] == [sure]


@pytest.mark.parametrize("third", [2, 3, 4])
def test_what_is_missing_before_the_first_unwanted_message_may_have_been_wanted(third: int) -> None:
    """The subscription ends behind packet 1; packet ``third`` has the next message captured. Where
    packets are missing in between, and numbers as well, nobody can tell who had these."""
    world = World()
    world.sees(packet("ODATA", 1, 0.0, stream=f"{LINK}|"))
    world.data(F0, stream=f"{LINK}|{PEER}|_1.A", fresh_id=1)
    world.sees(packet("SPM", 1, 5.0, stream=f"{LINK}|"))
    world.notice("LEAV", 9.0, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=2, subject="_1.A")
    world.sees(packet("ODATA", third, 20.0, stream=f"{LINK}|"))
    world.data(F0 + 2, 20.0, stream=f"{LINK}|{PEER}|_1.A", fresh_id=third)
    world.sees(packet("SPM", third, 21.0, stream=f"{LINK}|"))
    (stream,) = [r.detail for r in world.rows() if r.kind == STREAM]
    assert stream["delivered"] == ([[F0, F0]] if third == 2 else None)


@pytest.mark.parametrize(
    ("joined", "asks", "known"), [(0.2, 0, False), (0.2, 10, True), (40.0, 0, True)]
)
def test_what_is_missing_behind_a_join_may_hold_the_first_message_that_was_wanted(
    joined: float, asks: int, known: bool
) -> None:
    """Packet 2 is missing, and packet 3 has the first message captured that the daemon wants. Where
    it gave packet 2 up, or joined behind it, that is the first one that it had."""
    world = World()
    came = [(packet("ODATA", 1, 0.0, stream=f"{LINK}|"), 0.0)]
    came += [(packet("SPM", 2, at, stream=f"{LINK}|"), at) for at in (0.5, 6.0, 7.0, 14.0, 21.0)]
    came += [(nak_on_link(2, at), at) for at in (0.6 + turn / 4 for turn in range(asks))]
    for event, at in sorted([*came, (None, joined)], key=lambda pair: pair[1]):
        if event is not None:
            world.sees(event)
        else:
            world.notice("JOIN", at, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=2,
                         subject="_1.J")  # fmt: skip
    world.sees(packet("ODATA", 3, 60.0, stream=f"{LINK}|"))
    world.data(F0 + 5, 60.0, subject="_1.J", stream=f"{LINK}|{PEER}|_1.J", fresh_id=3)
    (stream,) = [r.detail for r in world.rows() if r.kind == STREAM]
    assert stream["delivered"] == ([[F0 + 5, F0 + 5]] if known else None), stream["unknown"]


def test_a_notice_of_more_than_is_missing_leaves_the_counter_unknown() -> None:
    for count in (1, 3):
        world = World()
        world.data(F0)
        world.data(F0 + 1, 0.1)
        world.data(F0 + 3, 0.2)
        world.notice("LOSS", 0.3, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=count,
                     ms_tot=count, ref_seqno=F0 + 3)  # fmt: skip
        (row,) = world.table("loss")
        assert row["msg_loss"] == (1 if count == 1 else None)


def test_what_nobody_wanted_is_not_counted_where_packets_may_have_come() -> None:
    for sqns, told in (((1, 2), 2), ((1, 3), None)):
        world = World()
        world.notice("AUTH", destination=ME)
        for sqn in sqns:
            world.sees(packet("ODATA", sqn, float(sqn), stream=f"{LINK}|"))
            world.data(F0 + sqn, float(sqn), subject="_1.B", stream=f"{LINK}|{PEER}|_1.B",
                       fresh_id=sqn)  # fmt: skip
        world.feed(9.0, kind=Kind.NOTICE, wire_kind="HB", source=ME, stream="tcp:x|me|.HB")
        (row,) = world.table("loss")
        assert row["null_rte"] == told


def test_nothing_is_too_old_while_the_capture_s_clock_is_behind_the_daemon_s_start() -> None:
    world = World()
    world.data(F0, 0.1, stamp=T0)
    world.data(F0 + 1, -300.0, stamp=T0 + SECOND)
    (row,) = world.table("loss")
    assert (row["repeat"], world.engine.observer.window.counts["raims-9.6"]) == (0, 1)


def test_either_ends_new_name_begins_an_inbox_connection_anew() -> None:
    world = World()
    link = world.engine.links.of_inbox(f"inbox:{THERE}:2>{HERE}:1")
    for number, here in ((1, 0), (2, 5), (3, 5), (1, 6), (2, 6)):
        packet = inbox_packet(number, number / 10, own=False)
        world.engine.feed(replace(packet, detail=json.dumps({"dest_id": here})))
    assert (link.packets, link.duplicates, link.lacks) == (5, 0, False)


def test_a_peer_whose_heartbeats_the_capture_may_have_missed_is_still_there() -> None:
    world = World()
    world.notice("HB", interval=4)
    world.data(F0)
    world.notice("HOLE", 5.0, stream="tcp:x|", source=None)
    world.data(F0 + 1, 20.0)
    (stream,) = world.engine.observer.streams.values()
    assert stream.ignored == 0


def test_a_peer_that_is_asked_for_an_answer_was_not_dropped() -> None:
    world = World()
    world.notice("HB", interval=4)
    world.data(F0)
    world.data(F0 + 1, 20.0)
    world.notice("PING", 20.1, source=ME, destination=PEER)
    world.data(F0 + 2, 20.2)
    (stream,) = world.engine.observer.streams.values()
    assert (stream.ignored, stream.delivered) == (1, [[F0, F0 + 1], [F0 + 2, F0 + 3]])


@pytest.mark.parametrize("last", [None, "BYE", "DEL"])
def test_whether_a_peer_that_seemed_silent_was_dropped_its_end_does_not_tell(
    last: str | None,
) -> None:
    """The capture's clock may have been set forward; messages of a path have no time of their
    own."""
    world = World()
    world.notice("HB", interval=4)
    for number in (1, 2):
        glsno(world, number, number, 30.0 + number)
    if last == "DEL":
        world.notice("DEL", 33.0, source=ME, seqno=1, sync_bridge=PEER)
    elif last is not None:
        world.notice(last, 33.0)
    (stream,) = [r.detail for r in world.rows() if r.kind == STREAM]
    assert (stream["ignored"], stream["delivered"]) == (None, None)


@pytest.mark.parametrize("dropped", [False, True])
def test_copies_of_whom_the_daemon_may_have_dropped_are_not_said_to_be_dropped(
    dropped: bool,
) -> None:
    """Its heartbeats go on behind the daemon's word that it dropped it."""
    world = World()
    world.notice("HB", stamp=T0)
    for moment in (0.5, 0.6):
        world.data(F0, moment)
    if dropped:
        world.notice("DEL", 1.0, source=ME, seqno=1, sync_bridge=PEER)
    world.data(F0 + 1, 2.0)
    for beat in range(2):
        world.notice("HB", 3.0 + beat, stamp=T0 + beat * SECOND)
    found = only(world.rows(), "RA008")
    assert (found["certainty"] == "cannot be told") == dropped
    assert ("cannot be told" in found["text"]) == dropped


@pytest.mark.parametrize("again_at", [9.0, 1.0])
def test_when_a_peer_was_dropped_is_not_told_where_the_times_go_back(again_at: float) -> None:
    world = World()
    for at in (0.0, 8.0, again_at):
        world.notice("HB", at)
    (row,) = [row for row in world.table("loss") if row["bridge"] == PEER]
    assert ("dropped_ns" in row["unknown"]) == (again_at < 8)


@pytest.mark.parametrize("word", ["PING", "HB"])
@pytest.mark.parametrize("hole", [False, True])
def test_when_a_peer_was_dropped_is_not_told_where_a_heartbeat_may_be_missing(
    hole: bool, word: str
) -> None:
    world = World()
    world.notice("HB", interval=4)
    if hole:
        world.notice("HOLE", 1.0, stream="tcp:x|", source=None)
    world.notice(word, 30.0, source=PEER if word == "PING" else ME)
    (row,) = [row for row in world.table("loss") if row["bridge"] == PEER]
    assert ("dropped_ns" in row["unknown"], row["dropped_ns"] is None) == (hole, hole)


def test_a_peer_of_which_no_heartbeat_is_here_may_have_been_dropped() -> None:
    world = World()
    world.data(F0, 1.0)
    world.notice("HB", 40.0, source=ME)
    (row,) = [row for row in world.table("loss") if row["bridge"] == PEER]
    assert (row["dropped_ns"], "dropped_ns" in row["unknown"]) == (None, True)


@pytest.mark.parametrize("beats", [0, 1])
def test_a_peer_whose_heartbeats_go_on_may_have_been_taken_up_again(beats: int) -> None:
    """An AUTH that passed point to point is not in a capture of a group alone, and the first of
    its heartbeats begins it."""
    world = World()
    world.notice("HB", stamp=T0)
    world.notice("DEL", 1.0, source=ME, seqno=1, sync_bridge=PEER)
    for beat in range(beats):
        world.notice("HB", 2.0 + beat, stamp=T0 + beat * SECOND)
    (row,) = [row for row in world.table("loss") if row["bridge"] == PEER]
    assert ("dropped_ns" in row["unknown"]) == (beats > 0)


@pytest.mark.parametrize("sign", ["it tells others so", "it drops it once more", "it is heard"])
def test_what_a_dropped_daemon_sent_was_perhaps_taken_if_it_was_taken_up_again_unseen(
    sign: str,
) -> None:
    """Recorded: both daemons were cut off for 14 s; their AUTH passes point to point."""
    world = World()
    world.notice("HB", stamp=T0)
    world.data(F0)
    world.notice("DEL", 1.0, source=ME, seqno=1, sync_bridge=PEER)
    world.data(F0 + 1, 2.0)
    if sign == "it tells others so":
        world.notice("ADD", 1.5, source=ME, seqno=2, sync_bridge=PEER)
    elif sign == "it drops it once more":
        world.notice("DEL", 9.0, source=ME, seqno=2, sync_bridge=PEER)
    else:
        for beat in range(2):
            world.notice("HB", 3.0 + beat, stamp=T0 + beat * SECOND)
    told = [row.detail for row in world.rows()]
    (stream,) = [row for row in told if row.get("role") == "receiver"]
    (row,) = [row for row in told if (row.get("table"), row.get("bridge")) == ("loss", PEER)]
    assert (row["msg_loss"], row["ibx_loss"]) == (None, None)
    if sign != "it tells others so":
        assert (stream["delivered"], stream["lost"]) == (None, None)


def test_a_word_about_a_dropped_peer_that_comes_once_more_does_not_say_that_it_was_back() -> None:
    world = World()
    world.notice("HB", stamp=T0)
    world.data(F0)
    for at in (1.0, 1.2):
        world.notice("DEL", at, source=ME, seqno=1, sync_bridge=PEER)
    world.data(F0 + 1, 2.0)
    (row,) = [row for row in world.table("loss") if row["bridge"] == PEER]
    assert (row["msg_loss"], row["dropped_ns"]) == (0, T0 + SECOND)


@pytest.mark.parametrize(("at", "told"), [(0.0, False), (0.0003, True)])
def test_by_a_clock_that_stands_nobody_knows_whether_a_dropped_peer_was_taken_up(
    at: float, told: bool
) -> None:
    """What had waited for it leaves just behind the drop; where no time passes all does."""
    world = World()
    world.notice("HB", interval=4)
    world.data(F0)
    world.notice("DEL", source=ME, seqno=1, sync_bridge=PEER)
    world.notice("PING", at, source=ME, destination=PEER)
    world.data(F0 + 1, at)
    (row,) = [row for row in world.table("loss") if row["bridge"] == PEER]
    assert (row["msg_loss"] is not None) == told


def test_an_inbox_packet_that_is_acknowledged_was_had_and_what_is_behind_it_goes_on() -> None:
    world = World()
    for number in (1, 3):  # the second is not in the capture
        world.engine.feed(inbox_packet(number, number / 10, own=False))
        world.notice("LOSS", number / 10, destination="cc" * 16, seqno=number, subject="_1.A",
                     idl_msg_loss=1, ms_tot=number, ref_seqno=F0 + number,
                     stream=f"inbox:{THERE}:2>{HERE}:1|{PEER}|.LOSS")  # fmt: skip
    world.notice("PING", 0.35, seqno=1, destination=ME)
    own = inbox_packet(1, 0.4)
    world.engine.feed(replace(own, stamp=3, detail='{"dest_id":7}'))
    link = world.engine.links.inboxes[f"inbox:{THERE}:2>{HERE}:1"]
    assert link.uncaptured == 1


@pytest.mark.parametrize(("beats", "dropped_ns"), [(2, None), (20, T0 + 10 * SECOND)])
def test_a_daemon_whose_own_heartbeats_ended_may_not_have_dropped_a_silent_peer(
    beats: int, dropped_ns: int | None
) -> None:
    """Where the capture has a hole both seem to be silent, and the daemon starts again behind it:
    it may have ended before it would have dropped the peer."""
    world = World()
    world.notice("HB", interval=4)
    for second in range(1, beats + 1):
        world.notice("HB", second, source=ME, interval=4)
    world.notice("HB", 60.0, source="cc" * 16, interval=4)
    (row,) = [row for row in world.table("loss") if row["bridge"] == PEER]
    assert row["dropped_ns"] == dropped_ns
    assert ("dropped_ns" in row["unknown"]) == (dropped_ns is None)


@pytest.mark.parametrize(("told", "sure"), [(False, ["cannot be told"]), (True, ["proven"])])
def test_what_the_daemon_says_it_lost_it_lost_whether_it_had_dropped_the_peer_or_not(
    told: bool, sure: list[str]
) -> None:
    """The second came while the peer seemed silent, so the daemon took it, or not."""
    world = World()
    world.notice("HB", interval=4)
    world.data(F0)
    world.data(F0 + 1, 20.0)
    world.notice("PING", 20.1, source=ME, destination=PEER)
    world.data(F0 + 5, 20.2)
    if told:
        world.notice("LOSS", 20.3, source=ME, destination=PEER, seqno=1, subject="_1.A",
                     idl_msg_loss=4, ms_tot=4, ref_seqno=F0 + 5)  # fmt: skip
    assert sureness_of(world.rows())["RA001"] == sure


@pytest.mark.parametrize(("acknowledged", "sure"), [(1, ["likely"]), (2, [])])
def test_the_last_of_an_inbox_connection_was_had_if_it_is_acknowledged(
    acknowledged: int, sure: list[str]
) -> None:
    """Its second packet, with PING 2, is not in the capture, and a new life of it brings PING 3."""
    world = World()

    def came(number: int, ping: int, at: float, life: int) -> None:
        packet = replace(inbox_packet(number, at, own=False), frame=10 * ping)
        world.engine.feed(replace(packet, detail=json.dumps({"dest_id": life})))
        world.notice("PING", at, destination=ME, seqno=ping, fresh_id=number,
                     stream=f"inbox:{THERE}:2>{HERE}:1|{PEER}|.PING")  # fmt: skip

    came(1, 1, 0.1, 5)
    world.engine.feed(replace(inbox_packet(1, 0.2), stamp=acknowledged, detail='{"dest_id":7}'))
    came(1, 3, 0.3, 6)
    assert sureness_of(world.rows()).get("RA010", []) == sure


def test_what_waits_in_an_inbox_before_the_observer_has_said_who_it_is_is_not_lost() -> None:
    world = World()
    engine = world.engine = RaimsEngine("raims", {}, Vantage("member", HERE))
    member: dict[str, Any] = {"kind": Kind.MEMBER, "wire_kind": "MEMBER"}
    peer = {"name": "A", "address": f"{THERE}:7239"}
    world.feed(source=PEER, detail=json.dumps(peer), **member)

    def came(number: int, at: float) -> None:
        engine.feed(inbox_packet(number, at, own=False))
        world.notice("RESUB", at, destination=ME, seqno=number, fresh_id=number,
                     stream=f"inbox:{THERE}:2>{HERE}:1|{PEER}|.RESUB")  # fmt: skip

    came(1, 0.1)
    came(3, 0.2)
    own = {"name": "B", "address": f"{HERE}:7239"}
    world.feed(0.3, source=ME, detail=json.dumps(own), **member)
    came(2, 0.4)  # the repair; the third goes on
    came(4, 0.5)
    assert "RA010" not in rules_of(world.rows())


@pytest.mark.parametrize("ends", [None, "BYE", "HB"])
def test_windows_rotate_no_more_when_their_daemon_has_ended(ends: str | None) -> None:
    world = World(pub_window_size=1, pub_window_count=1)
    world.notice("HB", start=T0)
    for subject in ("_1.A", "_1.B"):
        world.data(F0, stamp=T0 + SECOND, subject=subject)
    if ends == "BYE":
        world.notice("BYE", 5.0)
    elif ends:  # the same daemon under another bridge, which started then
        again = {"name": "A", "address": f"{THERE}:7239"}
        world.feed(6.0, source="dd" * 16, detail=json.dumps(again), kind=Kind.MEMBER,
                   wire_kind="MEMBER")  # fmt: skip
        world.notice("HB", 6.0, source="dd" * 16, start=T0 + 5 * SECOND)
    world.notice("HB", 60.0, source=ME, start=T0 - SECOND)
    world.engine.close()
    assert bool(world.engine.publishers[PEER].rotation.rotation_count) == (ends is None)


def test_a_join_is_one_only_of_a_stream_that_was_seen_before_the_subscription() -> None:
    for before, sure in ((True, "proven"), (False, "likely")):
        world = World()
        if before:
            world.data(F0, subject="_1.J")
        world.notice("JOIN", 0.5, source=ME, kind=Kind.SUBSCRIBE, stream=None, subject="_1.J")
        world.data(F0 + 4, 1.0, subject="_1.J", stamp=T0)
        world.data(F0 + 7, 1.1, subject="_1.J", stamp=T0)
        found = only(world.rows(), "RA013")
        assert (found["certainty"], len(found["evidence"])) == (sure, 2)


@pytest.mark.parametrize(
    ("chain", "contradicted"), [(None, False), (F0 + FRAME + 1, False), (F0 + 6, True)]
)
def test_a_loss_contradicts_a_join_only_in_the_frame_that_lacks_a_message(
    chain: int | None, contradicted: bool
) -> None:
    """Joined in one frame, the stream goes on in a later one, of which messages are lost; of the
    frame that was joined the last may have come."""
    world = World()
    world.data(F0, subject="_1.J")
    world.notice("JOIN", 0.5, source=ME, kind=Kind.SUBSCRIBE, stream=None, subject="_1.J")
    world.data(F0 + 4, 1.0, subject="_1.J", stamp=T0)
    behind = F0 + 2 * FRAME + (0 if chain else 2)
    world.data(behind, 20.0, subject="_1.J", stamp=T0 + 20 * SECOND, conn_id=chain)
    rows = world.rows()
    assert {"RA001", "RA002", "RA003"} & set(rules_of(rows))
    assert ("RA013" in rules_of(rows)) == contradicted


@pytest.mark.parametrize(
    ("given", "gap_s", "said"),
    [({"pub_window_time_ms": 10_000}, 12, ["proven"]), ({}, 12, []), ({}, 30, ["likely"])],
)
def test_a_frame_that_goes_on_too_long_contradicts_the_limit_that_is_given(
    given: dict[str, int], gap_s: int, said: list[str]
) -> None:
    """Where none is given, one that explains all frames may be the publisher's own."""
    world = World(**given)
    world.notice("HELO", start=T0, stream=f"tcp:x|{PEER}|.HELO")
    world.data(F0, 0.0, stamp=T0)
    world.data(F0 + 1, gap_s, stamp=T0 + gap_s * SECOND)
    later = T0 + 50 * SECOND
    world.data(first_seqno(later), 50.0, conn_id=F0 + 1, stamp=later)
    soon = later + 20 * SECOND  # the frame before it has ended by then
    world.data(first_seqno(soon), 70.0, conn_id=first_seqno(later), stamp=soon)
    assert sureness_of(world.rows()).get("RA020", []) == said


def test_notices_of_an_earlier_start_of_the_observer_are_no_peers() -> None:
    world, again = World(), "c" * 32
    world.notice("LOSS", 1.0, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=2,
                 ms_tot=2, ref_seqno=F0 + 3)  # fmt: skip
    world.feed(
        20.0, kind=Kind.MEMBER, wire_kind="MEMBER", source=again,
        detail=json.dumps({"name": "B", "address": f"{HERE}:7239"}),
    )  # fmt: skip
    assert "RA011" not in rules_of(world.rows())


@pytest.mark.parametrize(("end", "taken"), [(10.9, True), (11.1, False)])
def test_behind_the_last_word_of_a_daemon_whose_heartbeat_is_overdue_nothing_is_told(
    end: float, taken: bool
) -> None:
    """Recorded: a daemon died without a word; 100 messages that came to its host were delivered
    by the report."""
    world = World()
    world.notice("HB", 0.0, source=ME, interval=10, start=T0)
    world.data(F0, 0.5)
    world.notice("HB", end, interval=10)
    (stream,) = [
        r.detail for r in world.rows() if r.kind == STREAM and r.detail["role"] == "receiver"
    ]
    assert (stream["delivered"] is not None) == taken


def test_what_waited_when_its_publisher_was_dropped_may_have_been_taken() -> None:
    """Recorded, and a packet taken away: the daemon had it, and said that it drops the publisher
    as it had read its BYE; here all that waited for that packet came behind this."""
    world = World()
    for sqn in (1, 3):
        world.sees(packet("ODATA", sqn, 0.0, stream=f"{LINK}|"))
        world.data(F0 + sqn, 0.0, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.notice("DEL", 1.0, source=ME, seqno=1, sync_bridge=PEER, auth_stage=5)
    for at in (8.0, 9.0):
        world.sees(packet("SPM", 3, at, stream=f"{LINK}|"))
    (stream,) = [
        r.detail for r in world.rows() if r.kind == STREAM and r.detail["role"] == "receiver"
    ]
    assert stream["delivered"] is None


@pytest.mark.parametrize(("silent", "taken"), [(11.5, True), (13.0, False)])
def test_what_came_while_the_daemon_itself_was_silent_for_long_is_not_told(
    silent: float, taken: bool
) -> None:
    """Recorded: a daemon was paused; as it went on it dropped its peers before it read what had
    waited, and took nothing of it."""
    world = World()
    own = {"source": ME, "stream": "tcp:10.77.0.2:1>10.77.0.1:2|me|.HB", "start": T0}
    world.notice("HB", 0.0, interval=10, **own)
    world.data(F0, 1.0)
    world.notice("HB", 5.0, interval=10, stream=f"tcp:x|{PEER}|.HB")
    world.notice("HB", silent, interval=10, **own)
    (row,) = [r.detail for r in world.rows() if r.kind == TABLE and r.detail["table"] == "loss"]
    assert (row["ibx_loss"] is not None, row["msg_loss"] is not None) == (taken, taken)
    assert ("dropped_ns" in row["unknown"]) == (not taken)


def test_of_a_daemon_that_was_dropped_and_taken_up_again_inbox_losses_are_not_told() -> None:
    """Recorded: PONG number 2 came 4 s behind its new AUTH, and the daemon counted it as lost."""
    world = World()
    world.notice("PONG", 0.0, seqno=1, destination=ME)
    world.notice("DEL", 9.0, source=ME, seqno=1, sync_bridge=PEER, auth_stage=4)
    world.notice("AUTH", 10.0, seqno=4, destination=ME)
    (row,) = world.table("loss")
    assert row["ibx_loss"] is None


def test_inbox_numbers_that_step_over_a_drop_are_likely_a_loss() -> None:
    """Recorded: the daemon took ADJ_REQ number 2 last, and counted nothing as number 4 came."""
    world = World()
    world.notice("ADJ_REQ", 0.0, seqno=2, destination=ME)
    world.notice("DEL", 9.0, source=ME, seqno=1, sync_bridge=PEER, auth_stage=4)
    world.notice("AUTH", 10.0, seqno=4, destination=ME)
    world.notice("ADJ_REQ", 11.0, seqno=4, destination=ME)
    found = only(world.rows(), "RA010")
    assert found["certainty"] == "likely"
    assert "took it up again" in found["text"]


@pytest.mark.parametrize("rounds", [9, 10])
def test_when_a_loss_was_counted_is_not_told_where_a_request_for_it_may_be_missing(
    rounds: int,
) -> None:
    """The daemon tells of the loss; by the requests that are captured it gave up at another
    time."""
    world = lossy_world(rounds=rounds)
    world.notice("LOSS", 60.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                 ref_seqno=F0 + 3, ms_tot=1)  # fmt: skip
    (row,) = world.table("loss")
    assert (row["msg_loss"], row["msg_loss_ns"] is not None) == (1, rounds == 10)


def test_of_a_peer_whose_packets_are_missing_nothing_bounds_what_was_lost() -> None:
    world = World()
    world.notice("HB", 0.0, interval=10)
    for moment, lead in ((0.1, 1), (9.0, 2)):
        world.sees(packet("SPM", lead, moment, stream=f"{LINK}|"))
    (row,) = world.table("loss")
    assert (row["lost_lower"], row["lost_upper"]) == (0, None)
    assert (row["msg_loss"], row["false_loss"]) == (None, None)


@pytest.mark.parametrize(
    ("also", "upper"), [(None, 1), ("_1._INBOX.7.>", 1), ("_1.B", None), ("_1.>", None)]
)
def test_packets_that_were_lost_may_have_held_what_else_was_wanted(
    also: str | None, upper: int | None
) -> None:
    """Unless all of it is in streams that are known, or goes point to point."""
    world = lossy_world()
    if also is not None:
        world.notice("JOIN", 61.0, source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=2,
                     subject=also)  # fmt: skip
    (row,) = world.table("loss")
    assert (row["lost_lower"], row["lost_upper"]) == (1, upper)
    assert ("lost_upper" in row["unknown"]) == (upper is None)


@pytest.mark.parametrize(("started", "unwanted"), [(1.0, 1), (0.05, 2)])
def test_what_waited_here_from_before_the_daemon_started_was_not_for_it(
    started: float, unwanted: int
) -> None:
    """Spoiled: its HELO is not captured, and a packet is missing behind which messages wait; its
    AUTH says when it started."""
    world = World()
    engine = world.engine = RaimsEngine("raims", {}, Vantage("member", HERE))
    member: dict[str, Any] = {"kind": Kind.MEMBER, "wire_kind": "MEMBER"}
    for sqn, at in ((1, 0.0), (3, 0.1), (4, 2.0)):
        if sqn == 4:
            own = {"name": "B", "address": f"{HERE}:7239"}
            world.feed(1.2, source=ME, detail=json.dumps(own), **member)
            world.notice("AUTH", 1.2, source=ME, destination=PEER, start=T0 + int(started * SECOND),
                         stamp=T0 + int(1.2 * SECOND))  # fmt: skip
            world.notice("AUTH", 1.3, destination=ME, seqno=1)
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.B", fresh_id=sqn)
    for moment in range(4, 20):
        world.sees(packet("SPM", 4, moment, stream=f"{LINK}|"))
    engine.close()
    (stream,) = engine.observer.streams.values()
    assert stream.unwanted == unwanted


@pytest.mark.parametrize("told", [False, True])
def test_a_loss_rests_on_the_order_of_messages_and_of_words_about_subscriptions(told: bool) -> None:
    """Spoiled: all that the daemon sent stands before what came to it; between two messages it had
    unsubscribed. What it tells of itself it counted, in whatever order that is captured."""
    world = lossy_world()
    if told:
        world.notice("LOSS", 60.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                     ref_seqno=F0 + 3, ms_tot=1)  # fmt: skip
    rests = only(world.rows(), "RA001").get("rests", {})
    assert rests.get("ordered", False) is not told


@pytest.mark.parametrize("spoke", [True, False])
def test_what_came_behind_a_word_of_the_daemon_was_for_it_whatever_the_clock(spoke: bool) -> None:
    """The clock was set forward while messages waited: its start seems to be behind them."""
    world = World()
    if spoke:
        world.sees(packet("SPM", 0, 0.0, source=HERE, stream="0909.1|"))
    for sqn in (1, 3):
        world.sees(packet("ODATA", sqn, 0.1 * sqn, stream=f"{LINK}|"))
        world.data(F0 + sqn, 0.1 * sqn, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.notice("AUTH", 300.5, source=ME, destination=PEER, start=T0 - SECOND,
                 stamp=T0 + SECOND // 2)  # fmt: skip
    for moment in range(310, 330):
        world.sees(packet("SPM", 3, moment, stream=f"{LINK}|"))
    world.engine.close()
    (stream,) = world.engine.observer.streams.values()
    assert stream.before_words is not spoke
