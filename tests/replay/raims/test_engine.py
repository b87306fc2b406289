"""The raims and PGM engines on events: links, order, identities, convergence, findings."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import FINDING, TABLE
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.pgm import findings as pgm_findings
from seqaudit.replay.pgm.engine import PARITY, PgmEngine
from seqaudit.replay.pgm.window import Fate, Hole, PgmWindow, WindowSettings
from seqaudit.replay.raims import bounds as raims_bounds
from seqaudit.replay.raims import convergence as raims_convergence
from seqaudit.replay.raims import findings as raims_findings
from seqaudit.replay.raims import state as raims_state
from seqaudit.replay.raims.engine import RaimsEngine
from seqaudit.replay.raims.learned import SUB_WINDOW as _SUB_WINDOW
from seqaudit.replay.raims.links import PgmLink
from seqaudit.replay.raims.seqno import FRAME_NS, first_seqno, seqno, start_of
from seqaudit.replay.sequence.gaps import Mark

SECOND = 1_000_000_000
T0 = 1_795_215_202 * SECOND
ME, PEER = "aa" * 16, "bb" * 16
HERE, THERE = "10.77.0.2", "10.77.0.1"
LINK = "pgm:0102.1"


def mark(number: int, at: float = 0.0) -> Mark:
    return Mark(number, T0 + round(at * SECOND))


# --- the receive window of PGM ---


def accept(window: PgmWindow, *sqns: int, at: float = 0.0, repair: bool = False) -> list[Any]:
    moment = mark(1, at)
    return [window.accept(sqn, sqn + 1, moment, moment, repair=repair) for sqn in sqns]


def test_a_sqn_is_accepted_once_and_handed_on_in_order() -> None:
    window = PgmWindow()
    assert accept(window, 5, 6, 6, 8) == [[(5, 6)], [(6, 7)], [], [(8, 9)]]
    assert (window.next, list(window.holes)) == (7, [7])
    window.asked([7], mark(1))
    accept(window, 7, repair=True)
    assert (window.next, [h.fate for h in window.take_ended()]) == (9, [Fate.REPAIRED])


def test_a_hole_is_given_up_after_ten_waits_for_data() -> None:
    window = PgmWindow()
    accept(window, 1, 3)
    for turn in range(10):
        window.asked([2], mark(2, turn * 0.52))
        window.confirmed([2], mark(2, turn * 0.52))
    assert window.next_due_ns() == T0 + round((9 * 0.52 + 0.5) * SECOND)
    window.give_up(T0 + 5 * SECOND)
    assert window.next == 2
    window.give_up(T0 + 6 * SECOND)
    assert (window.next, [h.fate for h in window.take_ended()]) == (4, [Fate.RETRIES])


def test_a_hole_below_the_trail_is_given_up_at_once() -> None:
    window = PgmWindow()
    accept(window, 1, 4)
    window.told_trail(3, mark(5))
    assert ([h.sqn for h in window.take_ended()], window.next) == ([2], 3)


def test_spm_reveals_what_no_packet_shows_and_begins_a_window_behind_its_lead() -> None:
    window = PgmWindow()
    window.told_lead(9, mark(1))
    assert window.next == 10
    window.told_lead(11, mark(2))
    assert list(window.holes) == [10, 11]


def test_sqns_wrap_at_32_bits() -> None:
    window = PgmWindow()
    top = (1 << 32) - 1
    accept(window, top)
    assert window.unwrap(0) == top + 1
    accept(window, window.unwrap(0))
    assert not window.holes


def test_more_than_the_window_holds_is_lost_at_once() -> None:
    window = PgmWindow()
    accept(window, 1, 1 << 20)
    assert len(window.holes) == window.settings.window_sqns - 1
    lost = window.take_ended()
    assert {h.fate for h in lost} == {Fate.FULL}
    assert sum(h.count for h in lost) + len(window.holes) == (1 << 20) - 2


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40))
def test_the_window_agrees_with_a_set_that_remembers_everything(sqns: list[int]) -> None:
    window = PgmWindow()
    seen: set[int] = set()
    for sqn in sqns:
        fresh = bool(accept(window, sqn)[0])
        assert fresh == (sqn not in seen and sqn >= sqns[0])
        seen.add(sqn)
    wanted = set(range(sqns[0], max(seen) + 1))
    assert set(window.holes) == wanted - seen
    assert window.next == min(wanted - seen, default=max(seen) + 1)


# --- a TSI by itself ---


def packet(word: str, sqn: int | None, at: float = 0.0, number: int = 1, **how: Any) -> Event:
    kinds = {"ODATA": Kind.DATA, "RDATA": Kind.RETRANSMISSION, "SPM": Kind.HIGHEST,
             "NAK": Kind.REQUEST}  # fmt: skip
    detail = how.pop("detail", None)
    return Event(
        frame=number, at_ns=T0 + round(at * SECOND), kind=kinds.get(word, Kind.NOTICE),
        wire_kind=word, system="pgm", stream=how.pop("stream", "0102.1"),
        source=how.pop("source", THERE), seqno=sqn, stop_seqno=None if sqn is None else sqn + 1,
        size=how.pop("size", 100), detail=detail, stamp=how.pop("stamp", 0), **how,
    )  # fmt: skip


def nak(sqn: int, at: float = 0.0, source: str = HERE) -> Event:
    return packet("NAK", sqn, at, source=source, detail=f"[[{sqn},{sqn + 1}]]")


def nak_on_link(sqn: int, at: float = 0.0) -> Event:
    return packet("NAK", sqn, at, source=HERE, detail=f"[[{sqn},{sqn + 1}]]", stream=f"{LINK}|")


def test_messages_of_a_run_of_packets_that_comes_in_parts_may_follow_the_last_part() -> None:
    """Where a capture is cut into many files its runs are, and those of one sender go on."""
    link = PgmLink(LINK, WindowSettings(), HERE)
    for sqn in range(5, 9):
        link.packet(packet("ODATA", sqn, stream=f"{LINK}|"))
    messages = [packet("DATA", 1, fresh_id=sqn, last_fresh_id=sqn) for sqn in range(4, 10)]
    assert [len(link.message(message)) for message in messages] == [0, 1, 1, 1, 1, 0]


def rules_of(rows: Any) -> list[str]:
    return [row.rule for row in rows if row.kind == FINDING]


def sureness_of(rows: Any) -> dict[str, list[str]]:
    """Certainties of the findings of each rule."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.kind == FINDING:
            found.setdefault(row.rule, []).append(row.detail["certainty"])
    return found


def received(*events: Event, at: str = HERE) -> list[Any]:
    """What a TSI says at a point of capture."""
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", at))
    for event in events:
        engine.feed(event)
    engine.close()
    return pgm_findings.results(engine, 0, T0)


def only(rows: Any, rule: str) -> dict[str, Any]:
    """The detail of the only finding of a rule."""
    found: list[dict[str, Any]] = [r.detail for r in rows if r.kind == FINDING and r.rule == rule]
    (one,) = found
    return one


@pytest.mark.parametrize(
    ("rounds", "said", "sure"),
    [(0, "CP007", "cannot be told"), (1, "CP007", "likely"), (9, "CP007", "likely"),
     (10, "PG002", "proven"), (17, "PG002", "proven")],
)  # fmt: skip
def test_how_often_a_receiver_asked_says_whether_it_gave_up(
    rounds: int, said: str, sure: str
) -> None:
    naks = [nak(2, 0.1 + turn / 2) for turn in range(rounds)]
    rows = received(packet("ODATA", 1), packet("ODATA", 3), *naks, packet("SPM", 3, 60.0))
    assert sureness_of(rows) == {said: [sure]}
    hidden = rows[0].detail["unrecovered"] is None
    assert hidden == (said == "CP007")


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
    assert sureness_of(rows) == {"CP007": ["likely"]}


def test_a_repair_that_only_another_receiver_asked_for_shows_no_loss_here() -> None:
    other = nak(2, 0.05, source="10.77.0.3")
    rows = received(packet("ODATA", 1), packet("ODATA", 3), other, packet("RDATA", 2, 0.1))
    found = only(rows, "CP007")
    assert found["certainty"] == "cannot be told"
    assert "another receiver asked for" in found["text"]
    assert (rows[0].detail["recovered"], rows[0].detail["lost"]) == (None, None)


def test_packets_asked_for_and_open_at_the_end_are_no_loss_yet() -> None:
    rows = received(packet("ODATA", 1), packet("ODATA", 7), *(nak(n, 0.1) for n in range(2, 7)))
    found = only(rows, "PG008")
    assert (found["facts"]["count"], rules_of(rows)) == (5, ["PG008"])


def test_a_nak_reveals_what_no_packet_has_shown() -> None:
    window = PgmWindow()
    accept(window, 1)
    window.asked([2], mark(1))
    assert [(hole.sqn, hole.naks) for hole in window.holes.values()] == [(2, 1)]


def test_a_repair_after_a_give_up_refutes_it() -> None:
    naks = [nak(2, 0.1 + turn / 2) for turn in range(10)]
    story = [packet("ODATA", 1), packet("ODATA", 3), *naks, packet("SPM", 3, 30.0)]
    assert sureness_of(received(*story)) == {"PG002": ["proven"]}
    assert sureness_of(received(*story, packet("RDATA", 2, 30.1))) == {"CP007": ["likely"]}


def test_a_nak_for_what_had_fallen_below_the_trail_refutes_that() -> None:
    story = [packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1), packet("SPM", 3, 0.3, stamp=3)]
    assert sureness_of(received(*story)) == {"PG002": ["proven"]}
    assert sureness_of(received(*story, nak(2, 0.7))) == {"CP007": ["likely"]}


@pytest.mark.parametrize(("confirmed", "sure"), [(False, "proven"), (True, "likely")])
def test_below_the_trail_a_packet_is_lost_surely_if_its_request_was_not_even_confirmed(
    confirmed: bool, sure: str
) -> None:
    ncf = [packet("NCF", 2, 0.2, detail="[[2,3]]")] if confirmed else []
    rows = received(
        packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.1), *ncf, packet("SPM", 3, 0.3, stamp=3)
    )
    assert sureness_of(rows) == {"PG002": [sure]}


def test_the_evidence_of_a_give_up_is_the_last_request() -> None:
    naks = [packet("NAK", 2, 0.1 + turn / 2, number=10 + turn, source=HERE, detail="[[2,3]]")
            for turn in range(10)]  # fmt: skip
    rows = received(packet("ODATA", 1), packet("ODATA", 3), *naks, packet("SPM", 3, 60.0))
    assert [e["frame"] for e in only(rows, "PG002")["evidence"]] == [1, 19]


def test_a_receiver_that_asks_for_what_came_cannot_take_it() -> None:
    big = {"size": 20_000}
    rows = received(
        packet("ODATA", 1, **big), nak(1, 0.1), packet("RDATA", 1, 0.2, **big), nak(1, 0.8)
    )
    assert sureness_of(rows)["PG006"] == ["proven"]


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
    assert sureness_of(rows) == {"PG007": ["cannot be told"]}


def test_findings_of_a_receiver_of_pgm() -> None:
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", HERE))
    for event in (
        packet("ODATA", 1), packet("ODATA", 3), nak(2, 0.05), packet("RDATA", 2, 0.1),
        packet("ODATA", 3, 0.2), packet("ODATA", 5, 0.3),
        packet("LARGE", 5, 0.3, size=20_000, count=0), packet("ODATA", 4, 0.4),
        packet("ODATA", 7, 0.5), *(nak(6, 0.6 + n / 2) for n in range(10)), packet("SPM", 7, 19.0),
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
        world.engine.feed(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    rows = world.rows()
    (stream,) = [r.detail for r in rows if r.kind == "STREAM" and r.system == "raims"]
    assert (stream["lost"], stream["unrecovered"]) == (None, None)
    assert "not captured" in stream["unknown"]["lost"]
    assert stream["delivered"] is None
    found = only(rows, "RA001")
    assert (found["certainty"], found["severity"]) == ("cannot be told", "info")
    assert "lost, or not captured" in found["text"]
    table = {"capture": 0, "observer": stream["receiver"], "bridge": stream["sender"]}
    raims_bounds.tighten([stream | {"capture": 0, "system": "raims"}], {"loss": [table]})
    assert (table["lost_lower"], table["lost_upper"]) == (None, None)


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
    assert sureness_of(once) == {"PG005": ["likely"]}
    more = [nak(1, 0.6), nak(2, 0.0), packet("NCF", 2, 0.01, detail="[[2,3]]"), nak(2, 0.6)]
    again = received(
        packet("ODATA", 1), packet("ODATA", 2), *asked, *more, packet("SPM", 2, 5.0), at=THERE
    )
    assert sureness_of(again) == {"PG005": ["proven"]}
    assert rules_of(received(packet("ODATA", 1), *asked, at=THERE)) == []  # it may come yet


# --- raims ---


class World:
    """An engine at 10.77.0.2 that has seen itself and one peer, and subscribes to _1.A."""

    def __init__(self, **parameters: Any) -> None:
        given = {f"raims.{name}": (value, "given") for name, value in parameters.items()}
        self.engine = RaimsEngine("raims", given, Vantage("member", HERE))
        self.number = 0
        for bridge, name, address in ((ME, "B", HERE), (PEER, "A", THERE)):
            self.feed(
                kind=Kind.MEMBER, wire_kind="MEMBER", source=bridge,
                detail=json.dumps({"name": name, "address": f"{address}:7239"}),
            )  # fmt: skip
        self.notice("JOIN", source=ME, kind=Kind.SUBSCRIBE, stream=None, subject="_1.A")

    def feed(self, at: float = 0.0, **how: Any) -> None:
        self.number += 1
        how.setdefault("system", "raims")
        self.engine.feed(Event(frame=self.number, at_ns=T0 + round(at * SECOND), **how))

    def notice(self, word: str, at: float = 0.0, **how: Any) -> None:
        base = {"kind": Kind.NOTICE, "source": PEER, "stream": f"{LINK}|{PEER}|.{word}"}
        names = (*base, "destination", "seqno", "system", "stamp", "fresh_id")
        columns = {k: how.pop(k) for k in names if k in how}
        self.feed(at, wire_kind=word, **(base | columns), detail=json.dumps(how) if how else None)

    def data(self, value: int, at: float = 0.0, **how: Any) -> None:
        subject = how.pop("subject", "_1.A")
        how.setdefault("stream", f"tcp:x|{PEER}|{subject}")
        self.feed(
            at, kind=Kind.DATA, wire_kind="DATA", source=PEER, destination=subject, seqno=value,
            stop_seqno=value + 1, size=100, **how,
        )  # fmt: skip

    def rows(self) -> list[Any]:
        self.engine.close()
        return raims_findings.results(self.engine, 0, self.engine.last_ns)

    def table(self, name: str) -> list[dict[str, Any]]:
        return [r.detail for r in self.rows() if r.kind == TABLE and r.detail["table"] == name]


F0 = first_seqno(T0)
#: From a number to that in the next time frame.
FRAME = 1 << 35


def test_messages_behind_a_hole_wait_for_its_repair() -> None:
    world = World()
    for sqn, word, values in ((1, "ODATA", 0), (3, "ODATA", 2), (2, "RDATA", 1)):
        event = packet(word, sqn, sqn / 10, stream=f"{LINK}|")
        world.engine.feed(event)
        world.data(F0 + values, sqn / 10, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    (row,) = world.table("loss")
    assert (row["msg_loss"], row["repeat"]) == (0, 0)
    (stream,) = world.engine.observer.streams.values()
    assert stream.delivered == [[F0, F0 + 3]]


@pytest.mark.rule("raims-9.2-inbox")
def test_inbox_numbers_are_counted_per_peer_and_type() -> None:
    world = World()
    for word, value in (("PING", 3), ("PING", 5), ("PONG", 1), ("PING", 4), ("AUTH", 1),
                        ("AUTH", 9)):  # fmt: skip
        world.notice(word, seqno=value, destination=ME, stream=f"tcp:x|{PEER}|.{word}")
    (row,) = world.table("loss")
    assert row["ibx_loss"] == 1


@pytest.mark.rule("raims-14.1-inbox")
def test_before_december_2024_inbox_numbers_are_counted_per_peer() -> None:
    for release, lost in (("current", 3), ("before-2024-12-22", 2)):
        world = World(release=release)
        for word, value in (("PING", 1), ("PONG", 2), ("PING", 5)):
            world.notice(word, seqno=value, destination=ME, stream=f"tcp:x|{PEER}|.{word}")
        (row,) = world.table("loss")
        assert row["ibx_loss"] == lost


@pytest.mark.rule("raims-14.1-defaults")
def test_before_october_2023_the_publisher_window_is_smaller_and_counts_nothing() -> None:
    for release, size, count in (
        ("before-2023-10-25", 4 << 20, -1), ("before-2024-04-01", 8 << 20, 100_000)
    ):  # fmt: skip
        world = World(release=release)
        world.data(F0, stamp=T0)
        (window,) = world.engine.publishers.values()
        assert (window.rotation.settings.size_bytes, window.rotation.entries_limit) == (size, count)
    world = World(release="before-2023-10-25", pub_window_size=1, pub_window_count=2)
    world.data(F0, stamp=T0)
    (window,) = world.engine.publishers.values()
    assert (window.rotation.settings.size_bytes, window.rotation.entries_limit) == (1, 2)


@pytest.mark.parametrize(
    ("start", "stated", "said"),
    [(T0 - 60 * SECOND, None, True), (T0 - SECOND, None, False), (T0 - 60 * SECOND, "_1.Z", False)],
)
def test_subscriptions_from_before_the_capture_are_unknown_unless_stated(
    start: int, stated: str | None, said: bool
) -> None:
    world = World(**({} if stated is None else {"subscribed": stated}))
    world.notice("HB", source=ME, start=start, sub_seqno=4)
    world.data(F0, subject="_1.OTHER")
    assert ("RA029" in rules_of(world.rows())) == said
    (row,) = world.table("loss")
    assert bool(row["unknown"]) == said
    assert row["began_before"] == (start < T0 - 5 * SECOND)


def test_a_ping_that_tells_of_losses_at_clients_makes_an_outbound_advisory() -> None:
    world = World()
    world.notice("PING", 1.0, destination=ME, idl_service=7500, idl_msg_loss=20)
    world.notice("PING", 2.0, destination=ME, idl_service=7500, idl_msg_loss=1, idl_restart=True)
    world.notice("PING", 3.0, destination=ME)
    told = [(row["subject"], row["data"]) for row in world.table("advisories")]
    base = {"ADV_CLASS": "ERROR", "ADV_SOURCE": "SYSTEM", "ADV_NAME": "DATALOSS.OUTBOUND.BCAST"}
    subject = "_RV.ERROR.SYSTEM.DATALOSS.OUTBOUND.BCAST"
    who = {"host": THERE, "hostid": "A", "scid": 7500}
    assert told == [
        (subject, base | {"ADV_DESC": "lost msgs", "lost": 20} | who),
        (subject, base | {"ADV_DESC": "lost seqno tracking", "lost": 1} | who),
    ]


def test_the_documents_windows_are_4_megabytes_and_the_report_says_so() -> None:
    for stated, size in (
        ({"rules": "document"}, 4 << 20), ({}, 8 << 20),
        ({"rules": "document", "sub_window_size": 7}, 7),
    ):  # fmt: skip
        world = World(**stated)
        assert world.engine.observer.window.rotation.settings.size_bytes == size
        told = {r.detail["name"]: r.detail["value"] for r in world.rows() if r.kind == "PARAMETER"}
        assert told["raims.sub_window_size"] == size


def test_what_nobody_wants_goes_to_the_null_route() -> None:
    world = World()
    world.data(F0, 1.5, subject="_1.B")
    (row,) = world.table("loss")
    assert (row["null_rte"], row["null_rte_ns"], row["not_sub"]) == (1, T0 + 3 * SECOND // 2, 0)


@pytest.mark.parametrize(
    ("converge", "lost", "verdict"),
    [
        (T0 - 60 * SECOND, False, "uninterrupted by the design's criterion"),
        (T0 - SECOND // 2, False, "not provable"),
        (None, False, "convergence unknown"),
        (T0 - 60 * SECOND, True, "contradicted"),
    ],
)
def test_each_verdict_of_convergence(converge: int | None, lost: bool, verdict: str) -> None:
    world = World()
    if converge is not None:
        world.notice("HB", converge=converge)
    world.data(F0 + 4, 1.0, stamp=T0)
    world.data(F0 + (7 if lost else 5), 1.1, stamp=T0)
    if converge is not None:
        world.notice("HB", 2.0, source=ME, converge=converge)
    assert [row["verdict"] for row in world.table("convergence")] == [verdict]


@pytest.mark.parametrize(
    ("heartbeats", "verdict"),
    [
        # behind the message: the joiner's own bounds all that it told before
        ([(2.0, ME, -60)], "uninterrupted by the design's criterion"),
        ([(2.0, PEER, -60)], "convergence unknown, no heartbeat of the subscriber after it tells"),
        ([(0.5, ME, -60)], "convergence unknown, no heartbeat of the subscriber after it tells"),
        # one behind the message tells of a convergence between the frame's start and the message
        ([(0.5, ME, -60), (2.0, PEER, 0)], "not provable"),
        # a convergence after the message says nothing of what was before
        ([(2.0, ME, 30)], "convergence unknown"),
        ([(0.5, PEER, -60), (2.0, ME, 30)],
         "convergence unknown, no heartbeat of the subscriber after it tells"),
    ],
)  # fmt: skip
def test_a_join_is_judged_by_all_heartbeats_those_behind_it_as_well(
    heartbeats: list[tuple[float, str, int]], verdict: str
) -> None:
    world = World()
    for at, bridge, converged in heartbeats:
        if at < 1:
            world.notice("HB", at, source=bridge, converge=T0 + converged * SECOND)
    world.data(F0 + 4, 1.0, stamp=T0 + SECOND)
    for at, bridge, converged in heartbeats:
        if at > 1:
            world.notice("HB", at, source=bridge, converge=T0 + converged * SECOND)
    assert [row["verdict"] for row in world.table("convergence")] == [verdict]


def test_a_stream_that_was_subscribed_to_before_the_capture_is_not_joined_in_it() -> None:
    world = World(subscribed="_1.OLD")
    world.data(F0 + 4, stamp=T0, subject="_1.OLD")
    world.data(F0 + 4, stamp=T0)
    assert [row["subject"] for row in world.table("convergence")] == ["_1.A"]
    engine = RaimsEngine("raims", {}, Vantage())
    engine.feed(
        Event(
            frame=1, at_ns=T0, kind=Kind.DATA, wire_kind="DATA", system="raims", source=PEER,
            destination="_1.A", stream=f"tcp:x|{PEER}|_1.A", seqno=F0 + 4, stop_seqno=F0 + 5,
        )
    )  # fmt: skip
    engine.close()
    assert engine.convergence.joins == []


def test_convergence_as_the_user_states_it() -> None:
    world = World(converged_at="2020-01-01T00:00:00Z")
    world.data(F0 + 4, stamp=T0)
    assert [row["verdict"] for row in world.table("convergence")] == [
        "uninterrupted by the design's criterion"
    ]


def test_findings_about_the_publishers_clock_and_frames() -> None:
    world = World(pub_window_time_ms=5000)
    world.data(F0, stamp=T0 + 60 * SECOND)  # its time is not in its frame
    future = first_seqno(T0 + 100 * SECOND)
    for number in range(2):
        world.data(future + number, 1.0, subject="_1.C", stamp=T0 + 100 * SECOND)
    found = sureness_of(world.rows())
    assert {"RA015", "RA018", "RA019", "RA016"} <= set(found)
    assert (found["RA015"], found["RA016"], found["RA018"]) == (["proven"], ["likely"], ["likely"])


def test_clocks_of_several_daemons_that_are_off_alike_are_the_captures() -> None:
    world = World()
    future = first_seqno(T0 + 100 * SECOND)
    for number in range(4):
        stamp = T0 + (100 + number) * SECOND
        world.data(future + number, number, stamp=stamp)
        world.feed(
            float(number), kind=Kind.DATA, wire_kind="DATA", source=ME, destination="_1.X",
            seqno=future + number, stop_seqno=future + number + 1, stamp=stamp, size=100,
            stream=f"tcp:x|{ME}|_1.X",
        )  # fmt: skip
    assert {"RA016", "RA018"} & set(rules_of(world.rows())) == set()


def test_a_second_frame_within_less_than_a_frames_length() -> None:
    world = World()
    world.data(F0, stamp=T0)
    world.data(F0 + (1 << 35), 1.0, stamp=T0 + SECOND)  # the next frame, a second later
    world.data(F0, 2.0, subject="_1.B", stamp=T0)
    world.data(F0, 2.5, subject="_1.B", stamp=T0)  # a copy
    assert rules_of(world.rows()).count("RA017") == 1
    world = World()
    world.data(F0, stamp=T0)
    world.data(F0, 3.0, stamp=T0 + 3 * SECOND)  # the same frame again: a tiny pub-window-time
    assert "RA017" in rules_of(world.rows())


def test_a_frame_that_nothing_explains_and_one_that_goes_on_too_long() -> None:
    next_ns = start_of(F0) + FRAME_NS + SECOND // 2  # less than 10 s after the first frame's start
    for value, chain, said in ((first_seqno(next_ns), F0, True), (F0 + 1, None, False)):
        world = World(pub_window_time_ms=10_000)
        world.notice("HELO", start=T0, stream=f"tcp:x|{PEER}|.HELO")
        world.data(F0, stamp=T0)
        world.data(value, 9.0, conn_id=chain, stamp=next_ns)
        assert ("RA020" in rules_of(world.rows())) == said
    world = World(pub_window_time_ms=10_000)
    world.notice("HELO", start=T0, stream=f"tcp:x|{PEER}|.HELO")
    world.data(F0, stamp=T0)
    world.data(F0 + 1, 19.0, stamp=T0 + 19 * SECOND)
    (told,) = [r.detail for r in world.rows() if r.rule == "RA020" and r.kind == FINDING]
    assert "older than pub-window-time" in told["text"]


def test_a_publishers_clock_that_is_off_does_not_make_its_messages_repeats() -> None:
    """A heartbeat tells how far, and before one its messages do."""
    slow = T0 - 300 * SECOND
    for known in (True, False):
        world = World()
        if known:
            world.notice("HB", stamp=slow)
        world.data(first_seqno(slow), 0.1, stamp=slow)
        (row,) = world.table("loss")
        assert row["repeat"] == 0
        assert row["skew_least_ns"] == 300 * SECOND + SECOND // 10


def test_late_joins_of_other_daemons_are_told_by_their_subscriptions() -> None:
    other = "cc" * 16
    world = World()
    for number, value in enumerate((F0, F0 + 1, F0 + 2), 1):
        if number == 3:
            world.notice("JOIN", 1.0, source=other, kind=Kind.SUBSCRIBE, stream=None,
                         subject="_1.A")  # fmt: skip
        world.engine.feed(packet("ODATA", number, number / 2, stream=f"{LINK}|"))
        world.data(value, number / 2, stream=f"{LINK}|{PEER}|_1.A", fresh_id=number, stamp=T0)
    world.notice("LOSS", 3.0, source=other, destination=PEER, subject="_1.A", idl_msg_loss=1,
                 ref_seqno=F0 + 9)  # fmt: skip
    assert [
        (row["subscriber"], row["seqno"], row["verdict"]) for row in world.table("convergence")
    ] == [(other, F0 + 2, "contradicted")]


def test_what_is_more_than_is_kept_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subscriptions of others, late joins, and notices: one that is not kept was not missing."""
    monkeypatch.setattr(raims_convergence, "MAX_FOLLOWED", 2)
    monkeypatch.setattr(raims_convergence, "MAX_JOINS", 1)
    monkeypatch.setattr(raims_state, "MAX_NOTICES", 1)
    world = lossy_world()
    for number, other in enumerate(("cc", "dd", "ee", "ff")):
        world.notice("JOIN", 61.0, source=other * 16, kind=Kind.SUBSCRIBE, stream=None,
                     subject=f"_1.{number}")  # fmt: skip
    for number in range(2):
        world.data(F0 + 9, 62.0, subject=f"_1.{number}", stream=f"{LINK}|{PEER}|_1.{number}")
    for ref in (F0 + 90, F0 + 3):
        world.notice("LOSS", 63.0, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                     ref_seqno=ref)  # fmt: skip
    world.notice("PING", 66.0, source=ME, destination=PEER, stream=f"tcp:x|{ME}|.PING")
    rows = world.rows()
    told = [r.detail["facts"]["count"] for r in rows if r.kind == FINDING and r.rule in
            ("RA014", "RA011") and "count" in r.detail["facts"]]  # fmt: skip
    assert told == [1, 3, 1]
    assert "RA027" not in rules_of(rows)


def test_packets_given_up_behind_a_joined_stream_are_a_doubt_and_no_contradiction() -> None:
    world = World()
    world.notice("HB", converge=T0 - 60 * SECOND)
    world.engine.feed(packet("ODATA", 1, stream=f"{LINK}|"))
    world.data(F0 + 4, stream=f"{LINK}|{PEER}|_1.A", fresh_id=1, stamp=T0)
    world.engine.feed(packet("SPM", 3, 0.1, stream=f"{LINK}|"))
    world.engine.feed(packet("SPM", 3, 60.0, stream=f"{LINK}|"))
    world.notice("HB", 61.0, source=ME, converge=T0 - 60 * SECOND)
    (row,) = world.table("convergence")
    assert row["verdict"] == "uninterrupted by the design's criterion"
    assert "did not come" in row["undecided"]


def test_a_frame_of_a_publisher_that_has_restarted_says_so() -> None:
    world = World()
    again = "dd" * 16
    world.feed(kind=Kind.MEMBER, wire_kind="MEMBER", source=again,
               detail=json.dumps({"name": "A", "address": f"{THERE}:7239"}))  # fmt: skip
    world.notice("HELO", start=T0, source=again, stream=f"tcp:x|{again}|.HELO")
    world.feed(
        kind=Kind.DATA, wire_kind="DATA", source=again, destination="_1.A", seqno=F0,
        stop_seqno=F0 + 1, stream=f"tcp:x|{again}|_1.A", stamp=T0,
    )  # fmt: skip
    (stream,) = world.engine.observer.streams.values()
    assert [str(begin.why) for begin in stream.begins] == ["the publisher has restarted"]


def test_late_copies_are_false_losses() -> None:
    world = World()
    old, new = seqno(1000, 3), seqno(1001, 1)
    for value in (seqno(1000, 2), old, new, old, new + 1):
        world.data(value)
    (row,) = world.table("loss")
    assert (row["msg_loss"], row["false_loss"], row["lost_lower"]) == (2, 2, 0)
    assert "RA005" in rules_of(world.rows())


@pytest.mark.parametrize("copied", [True, False])
def test_a_false_loss_that_the_daemon_tells_is_proven_where_the_original_was_captured(
    copied: bool,
) -> None:
    """Two captured in the wrong order look alike, and the notice is of a loss that was one."""
    world = World()
    old, new = seqno(1000, 3), seqno(1001, 1)
    for value in (seqno(1000, 2), *([old] if copied else []), new, old):
        world.data(value)
    world.notice("LOSS", 1.0, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                 idl_restart=1, ms_tot=1, ref_seqno=old)  # fmt: skip
    assert sureness_of(world.rows())["RA005"] == ["proven" if copied else "likely"]


def test_restarted_numbering_proves_nothing_and_a_chain_proves_loss() -> None:
    world = World()
    world.data(seqno(1000, 3))
    world.data(seqno(1002, 1))
    world.data(seqno(1005, 1), conn_id=seqno(1004, 6))
    found = rules_of(world.rows())
    assert ("RA007" in found, "RA003" in found) == (True, True)
    (row,) = world.table("loss")
    assert (row["msg_loss"], row["lost_lower"], row["lost_upper"]) == (0, 6, None)


def test_a_message_in_pieces_needs_all_of_them_in_order() -> None:
    for offsets, number, delivered in (((300, 600), 7, 1), ((600,), 7, 0), ((300, 600), 8, 0)):
        world = World()
        first = json.dumps({"offset": 0, "piece": 300, "total": 900, "hash": 7})
        world.data(F0, flags=Flag.PARTIAL, detail=first)
        for offset in offsets:
            world.notice("PIECE", stream="tcp:x|", source=None, offset=offset, piece=300,
                         total=900, hash=number)  # fmt: skip
        (row,) = world.table("loss")
        streams = world.engine.observer.streams.values()
        assert sum(len(stream.delivered) for stream in streams) == delivered
        assert "RA023" not in rules_of(world.rows())  # the others may come behind the end
        assert len(world.engine.receiving.pieces) == (not delivered)
        assert row["msg_loss"] == 0


@pytest.mark.parametrize(
    ("rounds", "sure", "severity"), [(10, "proven", None), (0, "cannot be told", "info")]
)
def test_a_message_whose_piece_was_given_up_never_becomes_complete(
    rounds: int, sure: str, severity: str | None
) -> None:
    world = World()
    for sqn, at in ((1, 0.0), (3, 0.1)):
        if sqn == 3:
            for turn in range(rounds):
                world.engine.feed(nak_on_link(2, 0.2 + turn / 2))
        world.engine.feed(packet("ODATA", sqn, at if sqn == 1 else 60.0, stream=f"{LINK}|"))
        first = json.dumps({"offset": 0, "piece": 300, "total": 900, "hash": sqn})
        world.data(F0 + sqn, at if sqn == 1 else 60.0, flags=Flag.PARTIAL, detail=first,
                   stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)  # fmt: skip
        if sqn == 1:
            world.engine.feed(packet("SPM", 2, 0.1, stream=f"{LINK}|"))
    found = only(world.rows(), "RA023")
    assert (found["certainty"], found["severity"]) == (sure, severity)


def test_a_peer_without_heartbeats_is_dropped_and_nothing_of_it_counts() -> None:
    world = World()
    world.notice("HB", interval=4)
    world.data(F0)
    world.data(F0 + 5, 10.1)
    (row,) = world.table("loss")
    assert row["msg_loss"] == 0


def test_without_an_observer_nothing_is_counted_for_anybody() -> None:
    engine = RaimsEngine("raims", {}, Vantage())
    for value in (F0, F0 + 4):
        engine.feed(
            Event(
                frame=1, at_ns=T0, kind=Kind.DATA, wire_kind="DATA", system="raims", source=PEER,
                destination="_1.A", stream=f"tcp:x|{PEER}|_1.A", seqno=value, stop_seqno=value + 1,
            )
        )  # fmt: skip
    engine.close()
    rows = raims_findings.results(engine, 0, T0)
    assert rules_of(rows) == []
    assert [row.detail["lost"] for row in rows if row.kind == "STREAM"] == [None]


# --- what the daemon's own words and silence say ---


def lossy_world(**parameters: Any) -> World:
    """Packets 1 and 3 of a link, with messages 0 and 2 of a subject; 2 was given up by ten NAKs."""
    world = World(**parameters)
    for sqn in (1, 3):
        at = 0.0 if sqn == 1 else 60.0
        world.engine.feed(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
        if sqn == 1:
            world.engine.feed(packet("SPM", 2, 0.1, stream=f"{LINK}|"))
            for turn in range(10):
                world.engine.feed(nak_on_link(2, 0.2 + turn / 2))
    return world


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


def test_what_waited_for_a_packet_dropped_inside_meets_other_subscriptions() -> None:
    for joined in (0.1, 3.0):
        world = World()
        for sqn in (1, 2):
            world.engine.feed(packet("ODATA", sqn, sqn / 10, stream=f"{LINK}|"))
            world.data(F0 + sqn, sqn / 10, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
        for at in (0.4, 0.9):
            world.engine.feed(nak_on_link(2, at))
        events = [(packet("RDATA", 2, 1.0, stream=f"{LINK}|"), 1.0), (None, joined + 0.5)]
        for event, _ in sorted(events, key=lambda pair: pair[1]):
            if event is not None:
                world.engine.feed(event)
            else:
                world.notice("JOIN", joined + 0.5, source=ME, kind=Kind.SUBSCRIBE, stream=None,
                             seqno=2, subject="_1.B")  # fmt: skip
        (stream,) = [r.detail for r in world.rows() if r.kind == "STREAM"]
        assert (stream["delivered"] is None) == (joined < 1)


@pytest.mark.parametrize("again", [True, False])
def test_a_daemon_lacks_messages_of_packets_that_were_dropped_inside_its_host(again: bool) -> None:
    world = World()
    for sqn in (1, 2, 3):
        world.engine.feed(packet("ODATA", sqn, sqn / 10, stream=f"{LINK}|"))
        world.data(F0 + sqn, sqn / 10, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    for turn in range(10):
        world.engine.feed(nak_on_link(2, 0.5 + turn / 2))
    if again:
        world.engine.feed(packet("RDATA", 2, 6.0, stream=f"{LINK}|"))
    world.notice("LOSS", 7.0, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                 ref_seqno=F0 + 3, ms_tot=1)  # fmt: skip
    rows = world.rows()
    (stream,) = [r.detail for r in rows if r.kind == "STREAM"]
    assert stream["delivered"] == ([[F0 + 1, F0 + 3]] if again else None)
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
        world.engine.feed(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.engine.feed(nak_on_link(2, 0.04))
    if then is not None:
        world.engine.feed(packet(then, 2, 0.1 if then == "RDATA" else 5.0, stream=f"{LINK}|"))
    (stream,) = [r.detail for r in world.rows() if r.kind == "STREAM"]
    assert (stream["delivered"] is not None) == known


def leaky_window(*, leaky: bool, confirmed: int) -> Hole:
    """A sqn that was asked for ten times; another that nobody asked for, if the capture leaks."""
    window = PgmWindow()
    accept(window, 1, 3)
    for turn in range(10):
        at = 0.1 + turn * 0.6
        window.asked([2], mark(2, at))
        if turn < confirmed:
            window.confirmed([2], mark(2, at))
    window.give_up(T0 + 12 * SECOND, 90)
    (hole,) = window.take_ended()
    if leaky:
        accept(window, 5, at=13.0)
        window.give_up(T0 + 20 * SECOND)
    return hole


@pytest.mark.parametrize(
    ("leaky", "confirmed", "sure"),
    [
        (False, 10, "proven"),
        (False, 0, "proven"),  # as many rounds without a confirmation
        (False, 9, "likely"),  # one more may have been confirmed, and answered
        (True, 10, "likely"),  # what the capture lacks may be the last repair
    ],
)
def test_what_is_given_up_is_proven_where_a_last_repair_would_be_captured(
    leaky: bool, confirmed: int, sure: str
) -> None:
    hole = leaky_window(leaky=leaky, confirmed=confirmed)
    assert (str(hole.fate), str(hole.loss)) == ("gave up after its retries", sure)
    assert hole.last_wait == (2, 90)


def test_a_damaged_packet_in_the_last_wait_may_be_the_repair() -> None:
    """What PG002 and RA001 rest on is held against the holes of the capture."""
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", HERE))
    events = [packet("ODATA", 1, 0.0), packet("SPM", 2, 0.1)]
    events += [nak(2, 0.2 + turn / 2) for turn in range(10)] + [packet("SPM", 2, 9.0)]
    for number, event in enumerate(events, 1):
        engine.feed(replace(event, frame=number))
    engine.close()
    found = only(pgm_findings.results(engine, 0, T0), "PG002")
    assert (found["certainty"], found["rests"]["absent"]) == ("proven", [12, 13])
    assert only(lossy_world().rows(), "RA001")["rests"]["absent"] is not None


def test_a_loss_is_proven_by_the_packets_that_were_given_up() -> None:
    found = only(lossy_world().rows(), "RA001")
    assert (found["certainty"], found["facts"]["lower"]) == ("proven", 1)


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
    assert only(rows, rule)["facts"]["lower"] == 10


def test_a_loss_that_only_its_own_daemon_tells_is_proven_and_as_large_as_it_says() -> None:
    world = World()
    for sqn, value, at in ((1, 0, 0.0), (4, 3, 0.1), (5, 4, 9.0)):
        world.engine.feed(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.notice("LOSS", 9.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=1,
                 ms_tot=1, ref_seqno=F0 + 3)  # fmt: skip
    found = only(world.rows(), "RA001")
    assert (found["certainty"], found["facts"]["lower"]) == ("proven", 1)
    assert found["evidence"][-1]["shows"] == "the daemon tells the publisher of it"
    (row,) = world.table("loss")
    assert (row["lost_lower"], row["lost_upper"], row["told_loss"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("values", "chain", "count", "lost"),
    [
        # in one frame: the last ones before the number
        ((F0, F0 + 6), None, 2, (F0 + 4, F0 + 5)),
        # over a frame's border: the last ones up to the number that the chain names
        ((F0, F0 + FRAME), F0 + 6, 2, (F0 + 5, F0 + 6)),
        # the daemon was in the chain's frame, of which nothing is captured
        ((F0, F0 + 2 * FRAME), F0 + FRAME + 6, 2, (F0 + FRAME + 5, F0 + FRAME + 6)),
    ],
)
def test_of_what_is_missing_the_daemon_lost_the_last_ones_by_its_own_count(
    values: tuple[int, int], chain: int | None, count: int, lost: tuple[int, int]
) -> None:
    world = World()
    for sqn, value, at in ((1, values[0], 0.0), (9, values[1], 0.1)):
        world.engine.feed(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn,
                   conn_id=chain if sqn > 1 else None)  # fmt: skip
    world.engine.feed(packet("ODATA", 10, 9.0, stream=f"{LINK}|"))
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


def test_a_count_that_is_all_that_fits_is_not_how_many_were_lost() -> None:
    world = World()
    for sqn, value, at in ((1, 0, 0.0), (9, 50_000, 0.1), (10, 50_001, 9.0)):
        world.engine.feed(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + value, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
    world.notice("LOSS", 9.1, source=ME, destination=PEER, subject="_1.A", idl_msg_loss=32_767,
                 ms_tot=32_767, ref_seqno=F0 + 50_000)  # fmt: skip
    assert only(world.rows(), "RA001")["facts"]["lower"] == 49_999


def test_packets_that_are_cut_take_messages_away_and_prove_no_loss() -> None:
    world = World()
    for sqn, value, flags in ((1, 0, 0), (2, None, Flag.CUT), (3, 2, 0)):
        world.engine.feed(packet("ODATA", sqn, sqn / 10, stream=f"{LINK}|", flags=Flag(flags)))
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
        world.engine.feed(packet("ODATA", sqn, sqn / 10, stream=f"{LINK}|"))
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
        for number, word in enumerate(("PING", "UNREAD", "PING"), 1):
            if link.startswith("inbox:"):
                world.engine.feed(inbox_packet(number, number / 10, own=False))
            if word != "UNREAD" or unread:
                world.notice(word, number / 10, seqno=number, destination=ME,
                             stream=f"{link}|{PEER}|.{word}", fresh_id=number)  # fmt: skip
        (row,) = world.table("loss")
        assert row["ibx_loss"] == (0 if unread else 1)


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
    world.engine.feed(packet("ODATA", sqn, at, stream=f"{LINK}|"))
    world.feed(
        at, kind=Kind.DATA, wire_kind="GLSNO", source=PEER, destination="_nats.X", size=100,
        seqno=number, stop_seqno=number + 1, stream=f"{LINK}|{PEER}|#0", fresh_id=sqn,
    )  # fmt: skip


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
        world.engine.feed(packet("SPM", 2, 0.1, stream=f"{LINK}|"))
    for turn in range(rounds):
        world.engine.feed(nak_on_link(2, 0.2 + turn / 2))
    glsno(world, 9, sqns[1], 60.0)
    rows = world.rows()
    assert sureness_of(rows).get("RA004") == (None if sure is None else [sure])
    if sure is not None:
        found = only(rows, "RA004")
        assert (found["seqnos"], bool(found["evidence"])) == ([[8, 8]], True)


def inbox_packet(number: int, at: float, *, own: bool = True) -> Event:
    ends = (f"{HERE}:1", f"{THERE}:2") if own else (f"{THERE}:2", f"{HERE}:1")
    return Event(
        frame=1, at_ns=T0 + round(at * SECOND), kind=Kind.DATA, wire_kind="DATA", system="inbox",
        stream=f"inbox:{ends[0]}>{ends[1]}|", source=HERE if own else THERE,
        destination=THERE if own else HERE, seqno=number, stop_seqno=number + 1, conn_id=7,
        stamp=0, detail="{}",
    )  # fmt: skip


def told_by_inbox(world: World, numbers: dict[int, float]) -> None:
    """Point-to-point packets of the observer, each with a PING."""
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


def test_a_false_loss_by_a_default_window_is_likely_and_names_it() -> None:
    world = World()
    old, new = seqno(1000, 3), seqno(1001, 1)
    for value in (seqno(1000, 2), old, new, old, new + 1):
        world.data(value)
    found = only(world.rows(), "RA005")
    assert found["certainty"] == "likely"
    assert "raims.sub_window_size is not given" in found["text"]


def test_a_peer_whose_heartbeats_have_ended_is_gone_with_its_counters() -> None:
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
    assert (row["null_rte"], row["dropped_ns"]) == (1, None)


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


# --- clocks ---


def clock_world(*steps: tuple[str, float, float]) -> World:
    """Two peers and the observer itself publish each half second; from a time on one's messages, or
    those of all ("all"), are captured so much later."""
    world = World()
    other = "cc" * 16
    world.feed(kind=Kind.MEMBER, wire_kind="MEMBER", source=other,
               detail=json.dumps({"name": "C", "address": "10.77.0.3:7239"}))  # fmt: skip
    numbers = dict.fromkeys((PEER, other, ME), 0)
    for turn in range(40):
        for place, source in enumerate(numbers):
            sent = turn / 2 + place / 100
            late = sum(by for who, since, by in steps if who in ("all", source) and sent >= since)
            numbers[source] += 1
            link = f"pgm:{source[:12]}.1"
            at = sent + 0.02 + late
            where = {ME: HERE, PEER: THERE}.get(source, "10.77.0.3")
            world.engine.feed(packet("ODATA", numbers[source], at, number=world.number + 1,
                                     source=where, stream=f"{link}|"))  # fmt: skip
            world.feed(
                at, kind=Kind.DATA, wire_kind="DATA", source=source, destination="_1.A", size=100,
                seqno=F0 + numbers[source], stop_seqno=F0 + numbers[source] + 1,
                stream=f"{link}|{source}|_1.A", fresh_id=numbers[source],
                stamp=T0 + round(sent * SECOND),
            )  # fmt: skip
    return world


@pytest.mark.parametrize(
    ("steps", "by"),
    [
        ([], None),
        ([("all", 8.0, 6.0)], "6.000 s"),
        ([(PEER, 8.0, 6.0)], None),  # its own clock
        ([(PEER, 8.0, 6.0), ("cc" * 16, 8.0, 6.0)], "6.000 s"),  # the observer's is the capture's
        ([("all", 8.0, 6.0), ("all", 9.0, -6.0)], None),  # a delay
        ([(PEER, 8.0, 6.0), ("cc" * 16, 8.0, 3.0)], None),
        ([("all", 8.0, 0.4)], None),
    ],
)
def test_where_all_clocks_jump_by_the_same_the_captures_was_set(
    steps: list[tuple[str, float, float]], by: str | None
) -> None:
    rows = clock_world(*steps).rows()
    found = [r.detail for r in rows if r.kind == FINDING and r.rule == "CP014"]
    assert [(f["certainty"], f["facts"]["by"]) for f in found] == (
        [] if by is None else [("likely", by)]
    )
    if by is not None:
        assert found[0]["facts"]["count"] == len(
            {who for who, *_ in steps if who != "all"} or "abc"
        )


def test_rows_that_are_not_fed_tell_the_clock_as_well() -> None:
    """The fast path, up to the step, which it leaves to the engine."""
    world = clock_world()
    clock = world.engine.state.clocks.of[PEER]
    steady = next(s for n, s in world.engine.state.steady._streams.items() if PEER in n)
    assert steady.clock is clock
