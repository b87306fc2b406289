"""Stretches of doubt that a capture's account shows (replay/README.md 3)."""

from typing import Any

import pytest

from seqaudit.decoders.contract.events import FRAME_BITS
from seqaudit.decoders.network.account_rows import PieceAccount
from seqaudit.pipeline.report.accounts import merge, merge_frames
from seqaudit.pipeline.shared.plan import File
from seqaudit.replay.captures.doubts import shown, spans_of, twice, weighed
from seqaudit.replay.captures.untold import untold
from seqaudit.replay.contract.capture_rows import NamedFrames
from seqaudit.replay.contract.finding import Certainty, Evidence, Finding
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    HERE,
    PLACED,
    SHOWN,
    TIMED,
    Doubt,
    Span,
    Worth,
    absence,
)
from tests.replay.captures.builders import merged


def cut_spans(truncated: int, **told: Any) -> list[tuple[int, int]]:
    spans = spans_of(merged(frames_by={"truncated": truncated}, cut_frames=told), Vantage())
    assert {span.doubt for span in spans} <= {Doubt.CUT}
    return [(span.first, span.last) for span in spans]


def test_a_packet_that_was_cut_is_a_doubt_at_its_place() -> None:
    assert cut_spans(0) == []
    assert cut_spans(2, named=[7, 90], last=90, count=2) == [(7, 7), (90, 90)]
    assert cut_spans(4, named=[7, 90], last=400, count=4) == [(7, 7), (90, 90), (91, 400)]


def test_where_a_packet_was_cut_that_has_no_place_the_doubt_is_everywhere() -> None:
    assert cut_spans(3, named=[7, 90], last=90, count=2) == [(BEGINNING, END)]


def test_what_is_so_only_at_a_members_interface_is_likely_where_that_is_inferred() -> None:
    inferred = Worth(spans_of(merged(), Vantage("member", "10.0.0.1", "inferred", sure=False)))
    given = Worth(spans_of(merged(), Vantage("member", "10.0.0.1", "given")))
    assert inferred.judge(HERE, None).certainty is Certainty.LIKELY
    assert inferred.judge(SHOWN, None).certainty is Certainty.PROVEN
    assert given.judge(HERE, None).certainty is Certainty.PROVEN


@pytest.mark.parametrize("tick_ns", [0, 10_000_000])
def test_what_rests_on_durations_is_likely_under_a_coarse_clock(tick_ns: int) -> None:
    coarse = Worth(spans_of(merged(tick={"tick_ns": tick_ns, "ties": 10}), Vantage()))
    fine = Worth(spans_of(merged(tick=None), Vantage()))
    sure = [worth.judge(c, None).certainty for worth in (coarse, fine) for c in (TIMED, SHOWN)]
    assert sure == [Certainty.LIKELY, Certainty.PROVEN, Certainty.PROVEN, Certainty.PROVEN]


@pytest.mark.parametrize("cut", [0, 1, 60, 150, 299, 300])
def test_which_packets_were_cut_does_not_depend_on_pieces(cut: int) -> None:
    frames = [n + 1 for n in range(300) if n % 2]

    def piece(number: int, own: list[int]) -> PieceAccount:
        last = own[-1] if own else None
        return {
            "piece": number,
            "cut_frames": {"named": own[:100], "last": last, "count": len(own), "first_ns": 7},
        }

    first = [n for n in frames if n <= cut]
    second = [n - cut for n in frames if n > cut]
    found = merge_frames([piece(0, first), piece(1, second)], "cut_frames")

    def place(frame: int) -> int:
        return frame if frame < 1 << 40 else frame - (1 << 40) + cut

    assert [place(frame) for frame in found["named"]] == frames[:100]
    assert (place(found["last"] or 0), found["count"]) == (300, 150)


@pytest.mark.parametrize(
    ("datagrams", "again", "once", "pairs", "sure"),
    [
        (20, 10, 0, 0, Certainty.PROVEN),
        (18, 9, 0, 0, None),  # too few
        (31, 10, 0, 0, None),  # too small a share
        (30, 10, 0, 0, Certainty.PROVEN),
        (30, 10, 100, 5, None),  # others came once
        (30, 10, 100, 100, Certainty.PROVEN),
        (0, 0, 10, 10, Certainty.LIKELY),
        (0, 0, 9, 9, None),
        (0, 0, 100, 75, Certainty.LIKELY),
        (0, 0, 100, 74, None),
        (50, 0, 100, 100, None),  # others that have ids came once
        (0, 0, 0, 0, None),
    ],
)
def test_whether_a_capture_holds_all_twice(
    datagrams: int, again: int, once: int, pairs: int, sure: Certainty | None
) -> None:
    account = {"datagrams": datagrams, "again": again, "once": once, "pairs": pairs}
    assert twice([account]) == sure
    assert twice([None, {key: value for key, value in account.items() if value}]) == sure


def damaged_spans(**account: Any) -> list[tuple[Doubt, int, int]]:
    return [(s.doubt, s.first, s.last) for s in spans_of(merged(**account), Vantage())]


def test_a_damaged_packet_is_a_hole_at_its_place() -> None:
    told = {"named": [7, 90], "last": 400, "count": 4, "first_ns": 1}
    sums: dict[str, list[Any]] = {"unclear": [], "untold": []}
    assert damaged_spans(frames=400, damaged_frames=told, checksums=sums) == [
        (Doubt.HOLE, 7, 7), (Doubt.HOLE, 90, 90), (Doubt.HOLE, 91, 400),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("frames", "damaged", "doubted"), [(1000, 33, True), (1000, 31, False), (0, 0, False)]
)
def test_where_many_packets_are_damaged_one_may_be_that_its_checksum_does_not_tell(
    frames: int, damaged: int, doubted: bool
) -> None:
    """What one byte adds another one takes away: nothing is proven, and no figure told."""
    told = {"named": [7] * min(damaged, 1), "last": 90, "count": damaged, "first_ns": 1}
    account = merged(frames=frames, damaged_frames=told)
    everywhere = (Doubt.DAMAGED, BEGINNING, END)
    assert (everywhere in damaged_spans(frames=frames, damaged_frames=told)) == doubted
    assert (untold(account) is not None) == doubted


def test_a_datagram_that_could_not_be_decoded_is_a_hole_at_its_place() -> None:
    told: NamedFrames = {"named": [7], "last": 7, "count": 1, "first_ns": 1}
    assert damaged_spans(undecoded_frames=told) == [(Doubt.UNDECODED, 7, 7)]
    worth = Worth(spans_of(merged(undecoded_frames=told), Vantage()))
    over, beside = absence(5, 9, certified=True), absence(8, 9, certified=True)
    assert worth.judge(over, None).certainty is Certainty.UNDECIDABLE
    assert worth.judge(beside, None).certainty is Certainty.PROVEN


@pytest.mark.parametrize(
    ("why", "whole"),
    [("the file ends in the middle of a record (150 claimed)", True), ("impossible length", False)],
)
def test_a_file_that_ends_in_a_record_ends_there_and_misses_nothing_before(
    why: str, whole: bool
) -> None:
    """CP001: as where any capture ends."""
    stretch = {"file": "a", "from": 9, "to": 12, "why": why}
    spans = spans_of(merged(cut=True, skipped=[stretch]), Vantage())
    assert [span.doubt for span in spans] == ([] if whole else [Doubt.HOLE])


@pytest.mark.parametrize("early", [{"cut": True}, {"problem": "the gz data is cut"}])
@pytest.mark.parametrize("file", [0, 1])
def test_between_a_file_that_ends_early_and_the_next_one_the_capture_has_a_hole(
    early: dict[str, Any], file: int
) -> None:
    """CP001, CP011 of several files: the last one ends as any capture does."""
    files = [File("a", "a", "pcap", "", 0, 2), File("b", "b", "pcap", "", 2, 3)]
    torn: PieceAccount = {"piece": 1 + file} | early  # type: ignore[assignment]
    worth = Worth(spans_of(merge([torn], files), Vantage()))

    def sure(first: int, last: int) -> Certainty:
        return worth.judge(absence(first, last, certified=True), None).certainty

    last, first = (1 << FRAME_BITS) + 70, (2 << FRAME_BITS) + 1  # of both files
    assert sure(5, last) is sure(first, first + 9) is Certainty.PROVEN
    assert sure(last, first) is (Certainty.PROVEN if file else Certainty.UNDECIDABLE)


def test_a_late_record_that_may_stand_behind_a_step_leaves_order_and_times_in_doubt() -> None:
    spans = spans_of(merged(order={"guessed": [[5, 8]]}), Vantage())
    assert [(s.doubt, s.first, s.last) for s in spans] == [
        (Doubt.OUT_OF_ORDER, 5, 8), (Doubt.CLOCK_STEPPED, 5, 8),
    ]  # fmt: skip
    assert Worth(spans).judge(PLACED, None).certainty is Certainty.LIKELY


def test_where_more_steps_are_than_are_named_order_and_times_are_in_doubt() -> None:
    spans = spans_of(merged(order={"beyond": [[5, 80]]}), Vantage())
    assert [(s.doubt, s.first, s.last) for s in spans] == [
        (Doubt.OUT_OF_ORDER, 4, 80), (Doubt.CLOCK_STEPPED, 4, 80),
    ]  # fmt: skip
    assert Worth(spans).judge(PLACED, None).certainty is Certainty.LIKELY


@pytest.mark.parametrize(
    ("agree", "against", "order_too"), [(2, 0, False), (2, 1, True), (0, 0, True)]
)
def test_a_step_that_counters_do_not_confirm_leaves_the_order_in_doubt_as_well(
    agree: int, against: int, order_too: bool
) -> None:
    spans = spans_of(merged(order={"steps": [[50, 7, 2_000_000_000, agree, against]]}), Vantage())
    assert [(s.doubt, s.first, s.last) for s in spans] == [
        (Doubt.CLOCK_STEPPED, 49, 50), *([(Doubt.OUT_OF_ORDER, 49, 50)] if order_too else []),
    ]  # fmt: skip


def test_what_could_not_be_put_in_order_is_a_doubt_at_its_place() -> None:
    spans = spans_of(merged(order={"torn": [9]}), Vantage())
    assert [(s.doubt, s.first, s.last) for s in spans] == [(Doubt.OUT_OF_ORDER, 8, 9)]


@pytest.mark.parametrize(("rule", "severity"), [("MC002", "info"), ("CP007", None)])
def test_in_a_known_hole_of_the_capture_nothing_but_the_hole_is_said(
    rule: str, severity: str | None
) -> None:
    hole = Worth([Span(Doubt.HOLE, BEGINNING, END, "9 packets were dropped")])
    rests = absence(5, 9).rests
    lost = Finding(rule, Certainty.LIKELY, "1 message never came.", system="mcast", rests=rests)
    changed = weighed(lost.seen_at(0), hole)
    assert (changed["certainty"], changed["severity"]) == ("cannot be told", severity)


@pytest.mark.parametrize("who", ["unclear", "untold"])
def test_packets_of_which_nobody_can_tell_whether_they_are_damaged_prove_nothing(who: str) -> None:
    none: dict[str, Any] = {"named": [], "last": None, "count": 0, "first_ns": None}
    some = {"named": [7], "last": 7, "count": 1, "first_ns": 1}
    nobody: dict[str, list[str]] = {"unclear": [], "untold": []}
    told = nobody | {who: ["10.0.0.1"]}
    damaged = some if who == "untold" else none
    account = merged(damaged_frames=damaged, checksums=told)
    spans = spans_of(account, Vantage())
    assert (untold(account) is not None) == (who == "unclear")
    assert [(s.doubt, s.first, s.last) for s in spans if s.doubt is not Doubt.HOLE] == [
        (Doubt.DAMAGED, BEGINNING, END)
    ]
    lost = Finding("MC003", Certainty.PROVEN, "1 message was lost.", system="mcast")
    changed = weighed(lost.seen_at(0), Worth(spans))
    assert changed["certainty"] == "likely"
    assert "checksum" in changed["text"]


def test_without_damage_a_missing_checksum_is_no_doubt() -> None:
    assert not spans_of(merged(), Vantage())


@pytest.mark.parametrize(("rule", "changes"), [("CP007", True), ("CP014", False)])
def test_what_a_conversation_shows_to_be_missing_is_weighed_and_what_a_capture_is_not(
    rule: str, changes: bool
) -> None:
    stepped = Worth([Span(Doubt.CLOCK_STEPPED, 4, 5, "the clock went back by 300 ms at frame 5")])
    shown = [Evidence(frame, "the first and the last") for frame in (3, 9)]
    text = "1 message is missing."
    finding = Finding(rule, Certainty.PROVEN, text, system="capture", evidence=shown).seen_at(0)
    changed = weighed(finding, stepped)
    assert (changed != finding) == changes
    assert not changes or (changed["certainty"], "300 ms" in changed["text"]) == ("likely", True)


def test_a_span_of_time_is_told_in_a_unit_that_suits_it() -> None:
    second = 1_000_000_000
    spans = (12_500_000, 30 * second, 300 * second, 9_000 * second, 388 * 86_400 * second)
    assert [shown(span) for span in spans] == ["12.5 ms", "30 s", "5 min", "2.5 h", "388.0 days"]
