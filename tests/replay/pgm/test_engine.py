"""A TSI by itself: what the PGM engine says of it."""

from dataclasses import replace

import pytest

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import FINDING, GAP
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.pgm import findings as pgm_findings
from seqaudit.replay.pgm.engine import MAX_HOLES, PARITY, PgmEngine
from seqaudit.replay.pgm.reading import Ticks
from seqaudit.replay.pgm.window import PgmWindow, WindowSettings
from seqaudit.replay.raims import bounds as raims_bounds
from seqaudit.replay.raims.links import PgmLink
from seqaudit.replay.sequence.elapsed import Elapsed
from tests.replay.raims.builders import (
    F0,
    HERE,
    LINK,
    OF_RAIMS,
    PEER,
    SECOND,
    T0,
    THERE,
    World,
    accept,
    lossy_world,
    mark,
    nak,
    nak_on_link,
    only,
    packet,
    received,
    rules_of,
    sureness_of,
)


def test_messages_of_a_run_of_packets_that_comes_in_parts_may_follow_the_last_part() -> None:
    """Where a capture is cut into many files its runs are, and those of one sender go on."""
    link = PgmLink(LINK, WindowSettings(), HERE, Elapsed(), Ticks())
    for sqn in range(5, 9):
        link.packet(packet("ODATA", sqn, stream=f"{LINK}|"))
    messages = [packet("DATA", 1, fresh_id=sqn, last_fresh_id=sqn) for sqn in range(4, 10)]
    assert [len(link.message(message)) for message in messages] == [0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("rounds", "said", "sure"),
    [(0, "CP007", "cannot be told"), (1, "CP007", "likely"), (9, "CP007", "likely"),
     (10, "PG002", "proven"), (17, "PG002", "proven")],
)  # fmt: skip
def test_how_often_a_receiver_asked_says_whether_it_gave_up(
    rounds: int, said: str, sure: str
) -> None:
    naks = [nak(2, 0.1 + turn / 4) for turn in range(rounds)]
    rows = received(packet("ODATA", 1), packet("ODATA", 3), *naks, packet("SPM", 3, 60.0))
    assert sureness_of(rows) == {said: [sure]}
    hidden = rows[0].detail["unrecovered"] is None
    assert hidden == (said == "CP007")


def test_of_a_sender_that_had_sent_nothing_all_packets_before_the_first_are_missing() -> None:
    """Recorded: a daemon began again, its SPM told of an empty window, and its first packets were
    lost; they were asked for until it was given up."""
    naks = [nak(sqn, 0.2 + turn / 4 + sqn / 100) for turn in range(10) for sqn in (0, 1)]
    told = packet("SPM", 1, 0.1)
    rows = received(packet("SPM", None), told, *naks, packet("ODATA", 2, 8.0), packet("SPM", 2, 60))
    assert only(rows, "PG002")["seqnos"] == [[0, 1]]


def test_a_clock_that_steps_before_a_repair_changes_nothing() -> None:
    story = [packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1), packet("RDATA", 2, 6.2)]
    assert sureness_of(received(*story)) == {"PG001": ["proven"]}
    world = World()
    for sqn, at, word in ((1, 0.0, "ODATA"), (3, 0.1, "ODATA"), (2, 6.2, "RDATA")):
        if sqn == 2:
            world.engine.feed(nak_on_link(2, 0.15))
        world.engine.feed(packet(word, sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    assert "RA001" not in rules_of(world.rows())


def test_a_silence_that_only_the_captures_clock_shows_drops_no_peer() -> None:
    for stepped in (True, False):
        world = World()
        world.notice("HB", interval=4)
        world.data(F0, 1.0, stamp=T0 + SECOND)
        world.data(F0 + 1, 31.1, stamp=T0 + (1 if stepped else 31) * SECOND)
        (stream,) = world.engine.observer.streams.values()
        assert stream.ignored == (not stepped)


def test_a_clock_that_steps_between_two_rounds_gives_nothing_up() -> None:
    rows = received(packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1), nak(2, 60.6))
    assert sureness_of(rows) == {"PG008": ["cannot be told"]}  # it asks at the end still


def test_a_repair_that_only_another_receiver_asked_for_shows_no_loss_here() -> None:
    other = nak(2, 0.05, source="10.77.0.3")
    rows = received(packet("ODATA", 1), packet("ODATA", 3), other, packet("RDATA", 2, 0.1))
    found = only(rows, "CP007")
    assert found["certainty"] == "cannot be told"
    assert "another receiver asked for" in found["text"]
    assert (rows[0].detail["recovered"], rows[0].detail["lost"]) == (None, None)


def test_a_packet_that_comes_as_its_repair_first_had_been_sent_before() -> None:
    """Where the NAKs are missing in the capture nothing else says that it was lost, or late."""
    rows = received(packet("RDATA", 1), packet("ODATA", 2), packet("RDATA", 3, 0.1))
    found = only(rows, "CP007")
    assert (found["facts"]["count"], found["seqnos"]) == (1, [[3, 3]])
    assert (rows[0].detail["recovered"], rows[0].detail["lost"]) == (None, None)
    asked = received(packet("ODATA", 2), nak(3, 0.1), packet("RDATA", 3, 0.2))
    assert rules_of(asked) == ["PG001"]


def test_packets_asked_for_and_open_at_the_end_are_no_loss_yet() -> None:
    rows = received(packet("ODATA", 1), packet("ODATA", 7), *(nak(n, 0.1) for n in range(2, 7)))
    found = only(rows, "PG008")
    assert (found["facts"]["count"], rules_of(rows)) == (5, ["PG008"])


def test_a_nak_reveals_what_no_packet_has_shown() -> None:
    window = PgmWindow()
    accept(window, 1)
    window.asked([2], mark(1))
    assert [(hole.sqn, hole.naks) for hole in window.holes.values()] == [(2, 1)]


def test_after_a_give_up_nobody_can_tell_whether_a_repair_was_taken() -> None:
    naks = [nak(2, 0.1 + turn / 4) for turn in range(10)]
    story = [packet("ODATA", 1), packet("ODATA", 3), *naks, packet("SPM", 3, 30.0)]
    assert sureness_of(received(*story)) == {"PG002": ["proven"]}
    assert sureness_of(received(*story, packet("RDATA", 2, 30.1))) == {"PG003": ["cannot be told"]}


def test_an_original_that_comes_behind_the_trail_is_in_the_capture() -> None:
    """Recorded: eight that were held up came when a sender with a small window could not repair
    them any more; "asked 0 times, they came, and the capture missed them", likely."""
    passed = packet("SPM", 3, 0.001, stamp=3)
    rows = received(packet("ODATA", 1), packet("ODATA", 3), passed, packet("ODATA", 2, 0.005))
    assert sureness_of(rows) == {"PG003": ["cannot be told"]}


def test_what_is_asked_for_below_the_trail_never_came() -> None:
    """Recorded: a receiver went by the trail of ODATA only, and asked for 65 packets four times
    that the sender had no more; "they came, and the capture missed them", likely."""
    asked = [packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1), packet("SPM", 3, 0.3, stamp=3)]
    assert sureness_of(received(*asked)) == {"PG002": ["proven"]}
    assert sureness_of(received(*asked, nak(2, 0.7))) == {"PG002": ["proven"]}
    soon = [packet("ODATA", 1), packet("ODATA", 3), packet("SPM", 3, 0.01, stamp=3), nak(2, 0.5)]
    assert sureness_of(received(*soon)) == {"PG002": ["likely"]}


@pytest.mark.parametrize(("confirmed", "sure"), [(False, "proven"), (True, "likely")])
def test_below_the_trail_a_packet_is_lost_surely_if_its_request_was_not_even_confirmed(
    confirmed: bool, sure: str
) -> None:
    ncf = [packet("NCF", 2, 0.2, detail="[[2,3]]")] if confirmed else []
    rows = received(
        packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1), *ncf, packet("SPM", 3, 0.3, stamp=3)
    )
    assert sureness_of(rows) == {"PG002": [sure]}
    lost = None if confirmed else 1
    assert [rows[0].detail[name] for name in ("lost", "unrecovered")] == [lost, lost]


@pytest.mark.parametrize(
    ("between", "behind", "sure"),
    [
        ([], [packet("SPM", 5, 0.4)], "proven"),
        ([packet("NCF", 9, 0.11, detail="[[9,10]]")], [packet("SPM", 5, 0.4)], "likely"),
        ([packet("RDATA", 1, 0.11)], [packet("SPM", 5, 0.4)], "likely"),
        ([], [], "likely"),
    ],
)
def test_nor_is_it_lost_surely_where_its_sender_hears_naks_or_its_answers_may_not_be_here(
    between: list[Event], behind: list[Event], sure: str
) -> None:
    """Recorded: NCFs were lost, and RDATA came; without that one, or without all that left by the
    same socket, it was lost, proven."""
    told = [packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1)]
    rows = received(*told, *between, packet("ODATA", 4, 0.3, stamp=3), *behind)
    assert sureness_of(rows)["PG002"] == [sure]


@pytest.mark.parametrize(
    ("passed_over", "after_s", "sure"),
    [(0, 0.002, "proven"), (2, 0.002, "likely"), (2, 0.009, "proven"), (None, 0.002, "likely")],
)
def test_nor_where_ids_are_passed_over_in_less_time_than_its_sender_takes_for_that(
    passed_over: int | None, after_s: float, sure: str
) -> None:
    """Spoiled: of an answer neither the NCF nor the RDATA was captured, and a packet that came was
    lost, proven."""
    ids = [0, 0, 0] if passed_over is None else [7, 8, 9 + passed_over]
    first, second = (
        packet("ODATA", sqn, at, sqn, fresh_id=number)
        for sqn, at, number in ((1, 0.0, ids[0]), (3, 0.1, ids[1]))
    )
    asks = replace(nak(2, 0.1001), frame=4)
    passes = packet("ODATA", 4, 0.1 + after_s, 5, stamp=3, fresh_id=ids[2])
    rows = received(packet("SPM", 0, fresh_id=6), first, second, asks, passes)
    assert sureness_of(rows)["PG002"] == [sure]


@pytest.mark.parametrize(("again", "sure"), [((), "likely"), ((0.3,), "proven")])
def test_nor_of_a_receiver_that_does_not_ask_again_as_who_has_no_ncf_does(
    again: tuple[float, ...], sure: str
) -> None:
    naks = [nak(2, at) for at in (0.1, *again)]
    rows = received(packet("ODATA", 1), packet("ODATA", 3), *naks, packet("SPM", 3, 0.5, stamp=3))
    assert sureness_of(rows)["PG002"] == [sure]


def test_that_a_packet_below_the_trail_never_came_rests_on_times() -> None:
    """Had its receiver had it, it would not have asked again; a coarse clock does not tell."""
    asked = [packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1), packet("SPM", 3, 0.3, stamp=3)]
    assert only(received(*asked), "PG002")["rests"]["timed"]


def test_what_a_packet_shows_to_be_missing_below_its_own_trail_is_lost_with_it() -> None:
    """raims.md 2: its sender has no more what is below."""
    rows = received(packet("ODATA", 1), packet("ODATA", 9, 0.1, stamp=6))
    ends = [
        (row.detail["seqnos"], row.detail["ended_at_ns"] is not None)
        for row in rows
        if row.kind == GAP
    ]
    assert ends == [([[n, n]], n < 6) for n in range(2, 9)]


def test_what_fell_below_the_trail_without_a_request_may_be_missing_in_the_capture_alone() -> None:
    rows = received(packet("ODATA", 1), packet("ODATA", 3), packet("SPM", 3, 0.1, stamp=3))
    assert sureness_of(rows) == {"CP007": ["cannot be told"]}
    assert [rows[0].detail[name] for name in ("lost", "unrecovered")] == [None, None]


def test_the_evidence_of_a_give_up_is_the_last_request() -> None:
    naks = [packet("NAK", 2, 0.1 + turn / 4, number=10 + turn, source=HERE, detail="[[2,3]]")
            for turn in range(10)]  # fmt: skip
    rows = received(packet("ODATA", 1), packet("ODATA", 3), *naks, packet("SPM", 3, 60.0))
    assert [e["frame"] for e in only(rows, "PG002")["evidence"]] == [1, 19]


def test_a_receiver_that_asks_for_what_came_cannot_take_it() -> None:
    big = {"size": 20_000}
    rows = received(
        packet("ODATA", 1, **big), nak(1, 0.1), packet("RDATA", 1, 0.2, **big), nak(1, 0.8)
    )
    assert sureness_of(rows)["PG006"] == ["proven"]
    crossing = received(
        packet("ODATA", 1, **big), nak(1, 0.1), packet("RDATA", 1, 0.2, **big), nak(1, 0.21)
    )  # fmt: skip
    assert sureness_of(crossing)["PG006"] == ["likely"]
    large = packet("LARGE", 1, count=0, **big)  # dropped as too large, or for want of room
    unanswered = received(packet("ODATA", 1, **big), large, nak(1, 0.1), nak(1, 0.8))
    assert sureness_of(unanswered) == {"PG006": ["likely"]}


def test_a_packet_that_fell_out_of_a_window_of_the_default_size_is_likely_lost() -> None:
    many = replace(packet("ODATA", 4, 0.1), count=300_000, stop_seqno=300_004)
    found = only(received(packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.05), many), "PG002")
    assert found["certainty"] == "likely"
    assert found["text"].endswith("(pgm.rxw_sqns is not given: judged by its default.)")


def test_a_repair_is_timed_from_the_request() -> None:
    rows = received(packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.05), packet("RDATA", 2, 0.08))
    (gap,) = [row.detail for row in rows if row.kind == GAP]
    assert (gap["requested_after_ns"], gap["repaired_after_ns"]) == (50_000_000, 30_000_000)


def test_of_more_holes_than_are_listed_all_are_counted() -> None:
    events: list[Event] = []
    for turn in range(MAX_HOLES + 5):
        asked = (packet("ODATA", 2 * turn + 3), nak(2 * turn + 2), packet("RDATA", 2 * turn + 2))
        events += asked
    found = only(received(packet("ODATA", 1), *events), "PG001")
    assert (found["facts"]["count"], len(found["seqnos"])) == (MAX_HOLES + 5, 1_000)


@pytest.mark.parametrize(("mtu", "said"), [(9_000, ["likely"]), (20_000, []), (1_400, [])])
def test_one_packet_that_is_too_large_in_a_run_of_small_ones(mtu: int, said: list[str]) -> None:
    """Runs have the bytes of all their packets; below 1,500 these are not told one by one."""
    engine = PgmEngine("pgm|0102.1", {"pgm.mtu": (mtu, "given")}, Vantage("member", HERE))
    engine.feed(replace(packet("ODATA", 1, size=10_400), count=5, stop_seqno=6))
    engine.feed(packet("LARGE", 3, count=0, size=10_000))
    engine.close()
    rows = pgm_findings.results(engine, 0, T0)
    assert sureness_of(rows).get("PG006", []) == said
    if said:
        assert only(rows, "PG006")["seqnos"] == [[3, 3]]
        assert only(rows, "PG006")["facts"]["count"] == 1


def test_a_receiver_that_asks_twice_for_one_packet_refuses_one() -> None:
    asked = [nak(1, 0.1 + n) for n in range(4)]
    rows = received(packet("RDATA", 1, size=20_000), *asked)
    assert only(rows, "PG006")["facts"]["count"] == 1


def test_where_nobody_is_known_to_look_on_what_was_asked_for_is_said_by_who_asked() -> None:
    engine = PgmEngine("pgm|0102.1", {}, Vantage())
    for event in (packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1), nak(2, 0.6),
                  packet("SPM", 3, 60.0)):  # fmt: skip
        engine.feed(event)
    engine.close()
    rows = pgm_findings.results(engine, 0, T0)
    found = only(rows, "PG007")
    assert (found["facts"]["count"], found["facts"]["times0"], found["facts"]["asker0_member"]) == (
        1, 2, HERE,
    )  # fmt: skip
    assert sureness_of(rows) == {"PG007": ["cannot be told"], "PG010": ["proven"]}


@pytest.mark.parametrize("at", [THERE, "10.0.0.9", None])
def test_whoever_asks_lacked_it_wherever_its_requests_pass(at: str | None) -> None:
    other = "10.0.0.8"
    engine = PgmEngine("pgm|0102.1", {}, Vantage() if at is None else Vantage("member", at))
    events = [
        *(packet("ODATA", sqn, sqn / 10) for sqn in (1, 2, 3)), nak(2, 0.32), nak(2, 0.82),
        nak(3, 0.9), replace(nak(2, 1.0), wire_kind="NNAK", source=other),
        replace(nak(1, 1.1), source=other), packet("RDATA", 1, 1.2), packet("SPM", 3, 1.3),
    ]  # fmt: skip
    for number, event in enumerate(events, 1):
        engine.feed(replace(event, frame=number))
    engine.close()
    found = [row.detail for row in pgm_findings.results(engine, 0, T0) if row.kind == FINDING]
    asked = [row for row in found if row["rule"] == "PG010"]
    told = [(r["facts"]["asker_member"], r["facts"]["count"], r["seqnos"]) for r in asked]
    assert told == [(other, 1, [[1, 1]]), (HERE, 2, [[2, 3]])]
    assert [len(row["evidence"]) for row in asked] == [1, 3]
    assert {row["certainty"] for row in asked} == {"proven"}


def test_of_a_request_whose_numbers_were_cut_off_nothing_is_said_to_be_lacked() -> None:
    engine = PgmEngine("pgm|0102.1", {}, Vantage())
    engine.feed(packet("ODATA", 1))
    engine.feed(replace(nak(2, 0.1), seqno=None, detail=None, flags=Flag.CUT))
    engine.close()
    assert "PG010" not in rules_of(pgm_findings.results(engine, 0, T0))


def test_findings_of_a_receiver_of_pgm() -> None:
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", HERE))
    for event in (
        OF_RAIMS,
        packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.05), packet("RDATA", 2, 0.1),
        packet("ODATA", 3, 0.2), packet("ODATA", 5, 0.3),
        packet("LARGE", 5, 0.3, size=20_000, count=0), packet("ODATA", 4, 0.3002),
        packet("ODATA", 7, 0.5), *(nak(6, 0.6 + n / 4) for n in range(10)), packet("SPM", 7, 19.0),
    ):  # fmt: skip
        engine.feed(event)
    engine.close()
    rows = pgm_findings.results(engine, 0, T0)
    assert sureness_of(rows) == {
        "PG001": ["proven"], "PG002": ["proven"], "PG003": ["likely"], "PG004": ["proven"],
        "PG006": ["likely"],
    }  # fmt: skip
    summary = rows[0].detail
    assert (summary["recovered"], summary["unrecovered"], summary["reordered"]) == (1, 1, 1)


@pytest.mark.parametrize(("asked", "sure"), [((nak(2, 0.05),), "proven"), ((), "likely")])
def test_an_original_that_came_after_its_nak_was_late_and_not_only_captured_so(
    asked: tuple[Event, ...], sure: str
) -> None:
    rows = received(
        packet("ODATA", 1), packet("ODATA", 3), *asked, packet("ODATA", 2, 0.1), packet("SPM", 3, 9)
    )
    assert sureness_of(rows) == {"PG003": [sure]}


def test_a_packet_that_nobody_asked_for_may_have_been_missed_by_the_capture() -> None:
    """A receiver sends a NAK within the back-off, and again (raims.md 2)."""
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", HERE))
    for event in (packet("ODATA", 1), packet("ODATA", 3), packet("SPM", 3, 9.0),
                  packet("ODATA", 5, 9.1)):  # fmt: skip
        engine.feed(event)
    engine.close()
    rows = pgm_findings.results(engine, 0, T0)
    (found,) = [row.detail for row in rows if row.kind == FINDING]
    assert (found["certainty"], found["seqnos"]) == ("cannot be told", [[2, 2]])
    assert rules_of(rows) == ["CP007"]
    summary = rows[0].detail
    assert [summary[name] for name in ("lost", "unrecovered", "open", "gaps")] == [
        None, None, 1, 2,
    ]  # fmt: skip
    outcomes = [row.detail["outcome"] for row in rows if row.kind == "GAP"]
    assert outcomes == ["not asked for", "open at the end"]


def test_messages_in_packets_that_nobody_asked_for_are_not_called_lost() -> None:
    world = World()
    for sqn, at in ((1, 0.0), (3, 0.1), (4, 9.0)):
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    rows = world.rows()
    (stream,) = [r.detail for r in rows if r.kind == "STREAM" and r.system == "raims"]
    assert (stream["lost"], stream["unrecovered"]) == (None, None)
    assert "not captured" in stream["unknown"]["lost"]
    assert stream["delivered"] is None
    found = only(rows, "RA001")
    assert (found["certainty"], found["severity"]) == ("cannot be told", "info")
    assert "lost, late, or not captured" in found["text"]
    table = world.table("loss")[0] | {"capture": 0}
    raims_bounds.tighten([stream | {"capture": 0, "system": "raims"}], {"loss": [table]})
    assert (table["lost_lower"], table["lost_upper"]) == (None, None)


@pytest.mark.parametrize(
    ("spm", "again", "anew"),
    [((7, 30.0), True, True), ((300, 30.0), True, False), ((7, 10.5), True, False),
     (None, True, False), (None, False, True)],
)  # fmt: skip
def test_a_source_that_numbers_anew_under_its_old_name_sends_no_copies(
    spm: tuple[int, float] | None, again: bool, anew: bool
) -> None:
    """Its SPM counts from lower on again, long behind another; or an original comes long after its
    number did and is no datagram that came ``again``. One SPM that is late does not, nor does a
    sender that goes on to count its SPMs."""
    events = [packet("ODATA", sqn, sqn / 10) for sqn in range(100)]
    if spm is not None:
        events += [packet("SPM", 99, 10.0, conn_id=200), packet("SPM", 20, spm[1], conn_id=spm[0])]
    flags = int(Flag.NETWORK_DUPLICATE) if again else 0
    events += [packet("ODATA", sqn, 31.0 + sqn / 10, flags=flags) for sqn in range(21, 30)]
    rows = received(*events, raims=False)
    found, (stream, *_) = only(rows, "PG004"), [r.detail for r in rows if r.kind == "STREAM"]
    assert (found["certainty"], stream["unrecovered"]) == (
        ("cannot be told", None) if anew else ("proven", 0)
    )


@pytest.mark.parametrize(
    ("jump", "number", "anew"),
    [(3, 11, False), (5_000, None, False), (5_000, 11, False), (5_000, 2, True), (-90, 2, False)],
)
def test_a_source_whose_numbers_jump_may_have_begun_anew(
    jump: int, number: int | None, anew: bool
) -> None:
    """More than a window holds nobody can have asked for. Where its SPMs count from lower on as
    well, and its packets do not, as those of a late SPM would, it began anew."""
    events = [packet("ODATA", sqn, sqn / 100) for sqn in range(100)]
    events.append(packet("SPM", 99, 1.0, conn_id=10))
    if number is not None:
        events.append(packet("SPM", 99 + jump, 3.0 if jump > 0 else 1.2, conn_id=number))
    if jump > 0:
        events += [packet("ODATA", 100 + jump, 3.0), packet("SPM", 100 + jump, 9.0, conn_id=99)]
    rows = received(*events, raims=False)
    (stream,) = [row.detail for row in rows if row.kind == "STREAM"]
    assert ("anew" in stream["unknown"].get("lost", "")) == anew
    texts = [row.detail["text"] for row in rows if row.kind == FINDING]
    assert sum("numbers of {sender_member} jump" in text for text in texts) == (jump > 3)


@pytest.mark.parametrize("at", [0.04, 0.051])
@pytest.mark.parametrize("captured", ["original and repair", "original", "repair"])
def test_what_was_asked_for_counts_whether_its_original_or_its_repair_is_missing(
    captured: str, at: float
) -> None:
    """Either may have come first, and an earlier RDATA for another receiver too: that the receiver
    lacked it is shown by its NAK, which may meet the original on the way."""
    events = [packet("ODATA", 1), packet("ODATA", 3, 0.01), nak(2, at)]
    events += [packet("ODATA", 2, 0.05)] * ("original" in captured)
    events += [packet("RDATA", 2, 0.06)] * ("repair" in captured)
    stream = received(*sorted(events, key=lambda event: event.at_ns))[0].detail
    assert (stream["lost"], stream["recovered"], stream["unrecovered"]) == (1, 1, 0)


@pytest.mark.parametrize(("late", "lost"), [(0.0002, 0), (0.0003, None), (0.035, None)])
@pytest.mark.parametrize("repaired", [True, False])
def test_a_late_original_may_have_been_asked_for_by_a_nak_that_is_not_captured(
    late: float, lost: int | None, repaired: bool
) -> None:
    """What a source sends besides originals comes from another port than they do (raims.md 2), so a
    filter leaves it out; an RDATA behind the original is no word of this receiver. In next to no
    time nobody asks."""
    events = [packet("ODATA", 1), packet("ODATA", 3), packet("ODATA", 2, late)]
    stream = received(*events, *[packet("RDATA", 2, 0.06)] * repaired)[0].detail
    assert (stream["reordered"], stream["lost"], stream["recovered"]) == (1, lost, lost)
    assert stream["unrecovered"] == 0


@pytest.mark.parametrize(
    ("confirmed", "at", "lost"), [(True, 0.1, 0), (False, 0.1, None), (False, 60, 0)]
)
def test_a_repair_without_an_ncf_may_be_one_that_this_receiver_asked_for(
    confirmed: bool, at: float, lost: int | None
) -> None:
    """No source repairs without one: where short packets are not captured an SPM may have shown
    what was late, and the receiver have asked before it came."""
    asked = [packet("NCF", 2, 0.09, detail="[[2,3]]")] if confirmed else []
    here = packet("ODATA", 1), packet("SPM", 1), packet("ODATA", 2, 0.05)
    rows = received(*here, *asked, packet("RDATA", 2, at))
    assert (rows[0].detail["lost"], rows[0].detail["recovered"]) == (lost, lost)


def test_with_parity_packets_nothing_is_said_of_what_was_repaired() -> None:
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", HERE))
    for event in (packet("ODATA", 1), packet("ODATA", 3), packet("PARITY_RDATA", None, 0.1),
                  packet("SPM", 3, 90.0)):  # fmt: skip
        engine.feed(event)
    engine.close()
    rows = pgm_findings.results(engine, 0, T0)
    assert rules_of(rows) == []
    assert (rows[0].detail["lost"], rows[0].detail["unknown"]["lost"]) == (None, PARITY)
    why = {r.rule: r.detail["why"] for r in rows if r.kind == "JUDGED"}
    assert why["PG002"] == PARITY


def test_a_sender_that_confirms_and_never_repairs() -> None:
    asked = [nak(1), packet("NCF", 1, 0.01, detail="[[1,2]]")]
    once = received(packet("ODATA", 1), *asked, packet("SPM", 1, 5.0), at=THERE)
    assert sureness_of(once) == {"PG005": ["likely"], "PG010": ["proven"]}
    more = [nak(1, 0.6), nak(2, 0.0), packet("NCF", 2, 0.01, detail="[[2,3]]"), nak(2, 0.6)]
    again = received(
        packet("ODATA", 1), packet("ODATA", 2), *asked, *more, packet("SPM", 2, 5.0), at=THERE
    )
    assert sureness_of(again) == {"PG005": ["proven"], "PG010": ["proven"]}
    for left in ([], [packet("ODATA", 2)]):  # the originals are not in the capture
        fewer = received(*left, *asked, *more, packet("SPM", 2, 5.0), at=THERE)
        assert sureness_of(fewer)["PG005"] == ["likely"]
    for end, said in ((1.0, ["PG010"]), (1.02, ["PG010", "PG005"])):  # it may come yet
        rows = received(packet("ODATA", 1), *asked, packet("SPM", 1, end), at=THERE)
        assert rules_of(rows) == said


@pytest.mark.parametrize(
    ("late", "naks", "sure"),
    [
        (True, [0.51], None),  # it was under way when the packet came
        (True, [0.56], "likely"),
        (False, [0.51], "likely"),  # nothing was known of it before it came
        (False, [0.51, 0.52], "likely"),  # one round
        (True, [0.56, 0.9], "proven"),
    ],
)
def test_what_is_asked_for_after_it_came_was_dropped_inside(
    late: bool, naks: list[float], sure: str | None
) -> None:
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", HERE))
    events = [packet("ODATA", 1, 0.1), packet("ODATA", 2, 0.5)]
    events.append(packet("ODATA", 3, 0.49 if late else 0.505))
    events += [nak(2, at) for at in naks] + [packet("RDATA", 2, 1.0), packet("SPM", 3, 9.0)]
    for event in sorted(events, key=lambda event: event.at_ns):
        engine.feed(event)
    engine.close()
    rows = pgm_findings.results(engine, 0, engine.last.at_ns if engine.last else 0)
    assert sureness_of(rows).get("PG009") == (None if sure is None else [sure])
    (stream,) = [r.detail for r in rows if r.kind == "STREAM"]
    assert stream["retransmissions"]["useful"] == (0 if sure is None else 1)
    assert (stream["lost"] is None) == (sure is not None)


@pytest.mark.parametrize(("repaired", "sure"), [(1, "likely"), (2, "proven"), (3, "proven")])
def test_a_receiver_that_began_with_a_repair_lacks_what_came_before_it_was_started(
    repaired: int, sure: str
) -> None:
    rows = received(
        packet("ODATA", 1, 0.1), packet("ODATA", 2, 0.5), packet("ODATA", 3, 0.505),
        packet("RDATA", repaired, 0.53), nak(2, 0.66), nak(2, 0.9), packet("SPM", 3, 9.0),
    )  # fmt: skip
    assert sureness_of(rows)["PG009"] == [sure]


def test_a_damaged_packet_in_the_last_wait_may_be_the_repair() -> None:
    """What PG002 and RA001 rest on is held against the holes of the capture."""
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", HERE))
    events = [OF_RAIMS, packet("ODATA", 1, 0.0), packet("SPM", 2, 0.1)]
    events += [nak(2, 0.2 + turn / 4) for turn in range(10)]
    events += [packet("SPM", 2, at) for at in (8.0, 9.0)]
    for number, event in enumerate(events):
        engine.feed(replace(event, frame=number))
    engine.close()
    found = only(pgm_findings.results(engine, 0, T0), "PG002")
    assert (found["certainty"], found["rests"]["absent"]) == ("proven", [12, 13])
    assert only(lossy_world().rows(), "RA001")["rests"]["absent"] is not None


def test_of_a_run_that_came_in_part_before_that_part_are_copies() -> None:
    rows = received(packet("ODATA", 1), packet("ODATA", 2), replace(packet("ODATA", 2), count=3,
                    stop_seqno=5))  # fmt: skip
    assert only(rows, "PG004")["facts"]["count"] == 1
    assert (rows[0].detail["copies"], rows[0].detail["network_duplicates"]) == (1, 0)


@pytest.mark.parametrize("raims", [True, False])
@pytest.mark.parametrize(("rounds", "rule"), [(10, "PG002"), (3, "CP007")])
def test_how_often_a_receiver_asks_is_its_own_affair_where_nobody_says(
    rounds: int, rule: str, raims: bool
) -> None:
    """RFC 3208 leaves NAK_DATA_RETRIES to who implements it; raims sets ten."""
    naks = [nak(2, 0.1 + turn / 4) for turn in range(rounds)]
    story = (packet("ODATA", 1), packet("ODATA", 3), *naks, packet("SPM", 3, 60.0))
    found = only(received(*story, raims=raims), rule)
    assert ("nak_data_retries" in found["text"]) == (not raims)
    assert (found["certainty"] == "proven") == (raims and rule == "PG002")


def test_an_original_that_comes_behind_its_repair_was_late_and_not_lost() -> None:
    rows = received(
        packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.05), packet("RDATA", 2, 0.1),
        packet("ODATA", 2, 0.2), packet("ODATA", 4, 0.3),
    )  # fmt: skip
    assert sureness_of(rows)["PG003"] == ["proven"]


@pytest.mark.parametrize(
    ("until", "spm", "lost"), [(4.0, False, 0), (6.0, False, None), (6.0, True, 0)]
)
def test_what_came_late_is_not_told_where_no_spm_of_a_source_was_captured(
    until: float, spm: bool, lost: int | None
) -> None:
    """Recorded: SPMs, NAKs and repairs are of another port than ODATA."""
    told = [packet("SPM", 4, until)] if spm else []
    rows = received(*(packet("ODATA", n, n * until / 4) for n in range(5)), *told)
    assert (rows[0].detail["lost"], rows[0].detail["unrecovered"]) == (lost, 0)
