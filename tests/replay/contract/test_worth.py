"""What a capture is worth: how sure a claim is, by what it rests on and the doubts over it."""

import pytest

from seqaudit.replay.contract.finding import Certainty, Rests
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    LIKELY,
    ORDERED,
    SHOWN,
    TIMED,
    Claim,
    Doubt,
    Span,
    Worth,
    absence,
)

PROVEN, PROBABLE, UNKNOWN = Certainty.PROVEN, Certainty.LIKELY, Certainty.UNDECIDABLE
#: Nothing may be missing between frames 10 and 20, and captured frames show that nothing is.
CERTIFIED = absence(10, 20, certified=True)


def judged(claim: Claim, *spans: Span) -> Certainty:
    return Worth(list(spans)).judge(claim, "A|1").certainty


def span(doubt: Doubt, first: int = 12, last: int = 14, stream: str | None = None) -> Span:
    return Span(doubt, first, last, f"because it is {doubt}", stream)


#: In which nothing is what it seems.
IN_ALL = (Doubt.SENT_TWICE, Doubt.DAMAGED, Doubt.MISFILED)


@pytest.mark.parametrize("doubt", [d for d in Doubt if d not in IN_ALL])
def test_what_captured_frames_show_is_proven_whatever_is_missing(doubt: Doubt) -> None:
    assert judged(SHOWN, span(doubt, BEGINNING, END)) is PROVEN


@pytest.mark.parametrize("doubt", IN_ALL)
@pytest.mark.parametrize("claim", [SHOWN, TIMED, ORDERED, absence(1, 2, certified=True)])
def test_where_nobody_knows_what_was_sent_nothing_is_proven(claim: Claim, doubt: Doubt) -> None:
    absent = doubt is Doubt.MISFILED and claim.rests.absent is not None  # it may be another's
    assert judged(claim, span(doubt, BEGINNING, END)) is (UNKNOWN if absent else PROBABLE)


def test_absence_is_proven_only_with_a_certificate() -> None:
    assert judged(CERTIFIED) is PROVEN
    assert judged(absence(10, 20)) is PROBABLE


@pytest.mark.parametrize(
    "doubt", [Doubt.HOLE, Doubt.CUT, Doubt.UNDECODED, Doubt.BEGUN_BEFORE, Doubt.ENDED_BEFORE]
)
def test_absence_cannot_be_told_where_something_may_be_missing(doubt: Doubt) -> None:
    assert judged(CERTIFIED, span(doubt)) is UNKNOWN
    assert judged(CERTIFIED, span(doubt, 20, 30)) is UNKNOWN  # the last frame counts
    assert judged(CERTIFIED, span(doubt, 21, 30)) is PROVEN
    assert judged(CERTIFIED, span(doubt, 5, 9)) is PROVEN
    assert judged(CERTIFIED, span(doubt, stream="B|1")) is PROVEN


def test_a_hole_of_so_many_frames_explains_what_is_missing_in_so_many_places() -> None:
    claim = Claim(Certainty.LIKELY, Rests((10, 20), places=3))
    assert judged(claim, Span(Doubt.HOLE, 10, 20, "dropped", count=2)) is PROBABLE
    assert judged(claim, Span(Doubt.HOLE, 10, 20, "dropped", count=3)) is UNKNOWN
    two = (Span(Doubt.HOLE, 10, 20, "dropped", count=2), Span(Doubt.CUT, 10, 20, "cut", count=1))
    assert judged(claim, *two) is UNKNOWN
    assert judged(claim, span(Doubt.HOLE)) is UNKNOWN  # nobody knows how many


def test_a_clock_that_stepped_takes_the_proof_from_durations_only() -> None:
    stepped = span(Doubt.CLOCK_STEPPED)
    assert judged(TIMED) is PROVEN
    assert judged(TIMED, stepped) is PROBABLE
    assert judged(CERTIFIED, stepped) is PROVEN


@pytest.mark.parametrize("doubt", [Doubt.OUT_OF_ORDER, Doubt.TWICE])
def test_records_out_of_order_take_the_proof_from_the_order(doubt: Doubt) -> None:
    assert judged(ORDERED) is PROVEN
    assert judged(ORDERED, span(doubt)) is PROBABLE
    assert judged(CERTIFIED, span(doubt)) is PROVEN


def test_a_default_parameter_and_a_weaker_claim_are_likely_at_most() -> None:
    assert judged(Claim(defaults=("capacity",))) is PROBABLE
    assert judged(LIKELY) is PROBABLE


def test_the_verdict_says_why_and_whether_it_lies_in_a_hole() -> None:
    hole, cut = span(Doubt.HOLE), span(Doubt.CUT)
    verdict = Worth([hole, cut, cut]).judge(CERTIFIED, None)
    assert (verdict.certainty, verdict.in_hole) == (UNKNOWN, True)
    assert verdict.reasons == ["because it is hole", "because it is cut"]
    assert not Worth([cut]).judge(CERTIFIED, None).in_hole
    assert Worth([hole]).judge(Claim(why="its ACKs are not here"), None).reasons == [
        "its ACKs are not here"
    ]
