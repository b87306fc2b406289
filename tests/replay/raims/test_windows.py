"""The decision tables of raims, row by row (raims.md 7 to 9, 11; raims message loss document)."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.replay.contract.parameters import ParameterError
from seqaudit.replay.raims.advisories import Advisories
from seqaudit.replay.raims.notices import Notice, Notices, wrong
from seqaudit.replay.raims.publisher import BeganBy, PublisherWindow, next_seqno
from seqaudit.replay.raims.releases import CURRENT, RaimsRelease
from seqaudit.replay.raims.rotation import (
    PUBLISHER_CODE,
    PUBLISHER_DOCUMENT,
    SUBSCRIBER_CODE,
    SUBSCRIBER_DOCUMENT,
    Rotation,
    RotationSettings,
)
from seqaudit.replay.raims.seqno import (
    FRAME_NS,
    base_of,
    first_seqno,
    frame_of,
    frame_of_time,
    hexadecimal,
    key,
    seqno,
    shown,
    shown_time,
    start_of,
)
from seqaudit.replay.raims.subscriber import (
    CYCLED,
    DECISIONS,
    DOCUMENT,
    MAX_LOSS,
    OLD,
    RESTARTED,
    START,
    Decision,
    Ruling,
    Status,
    SubscriptionWindow,
    Succession,
    decide,
    matches,
)
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.stages.parameters import load_parameters
from tests.replay.raims.rows import ROWS

SECOND = 1_000_000_000
T0 = 1_659_131_646 * SECOND
F = frame_of_time(T0)


def settings_of(**changes: Any) -> RotationSettings:
    """Default windows of a subscriber, with a tick of 40 ms."""
    given = {
        "size_bytes": 8 << 20, "entries": 40_000, "interval_ns": 10 * SECOND,
        "tick_ns": 40_000_000, "overhead": SUBSCRIBER_CODE,
        "document_overhead": SUBSCRIBER_DOCUMENT, "document": False,
    } | changes  # fmt: skip
    return RotationSettings(**given)


def window(
    document: bool = False, release: RaimsRelease = CURRENT, **changes: Any
) -> SubscriptionWindow:
    made = SubscriptionWindow(settings_of(**changes), T0, document=document, release=release)
    made.subscriptions.start("_1.A", wildcard=False)
    return made


def arrive(made: SubscriptionWindow, value: int, **how: Any) -> Ruling:
    """One message of publisher P on _1.A, with the time of its frame's start."""
    found = made.arrive(
        how.pop("subject", "_1.A"), how.pop("publisher", "P"), value, value + 1,
        chain=how.pop("chain", None), time_ns=how.pop("time_ns", None),
        at_ns=how.pop("at_ns", T0), **how,
    )  # fmt: skip
    (verdict,) = found
    return verdict


# --- the document's figures ---


def test_the_documents_own_example() -> None:
    assert T0 == 0x17066B710B706C00
    assert key(first_seqno(T0)) == 0x5C19ADC000000001
    assert hexadecimal(first_seqno(T0)) == "0x5c19adc000000001"
    assert shown(first_seqno(T0)) == "2022-07-29T21:54:01.513Z #1"


def test_35_bits_of_base_and_29_of_frame_until_2116() -> None:
    last = (1 << 64) - 1
    assert (base_of(last), frame_of(last)) == ((1 << 35) - 1, (1 << 29) - 1)
    assert shown_time((1 << 62) - 1) == "2116-02-20T23:53:38.427Z"
    assert FRAME_NS == 8_589_934_592


def test_the_sequence_is_never_zero() -> None:
    assert base_of(first_seqno(T0)) == 1
    assert base_of(next_seqno(seqno(F, (1 << 35) - 1), T0, 10 * SECOND)[0]) == 1


def test_order_is_by_frame_and_base_where_the_sign_bit_is_set() -> None:
    late = seqno(1 << 28, 1)
    assert late < 0 < seqno((1 << 28) - 1, 9)
    assert key(late) > key(seqno((1 << 28) - 1, 9))
    assert decide(late, seqno((1 << 28) - 1, 9), seqno((1 << 28) - 1, 9)).row == "raims-9.9"


@given(st.integers(0, (1 << 62) - 1))
def test_a_seqno_tells_its_frame(time_ns: int) -> None:
    value = first_seqno(time_ns)
    assert -(1 << 63) <= value < 1 << 63
    assert start_of(value) <= time_ns < start_of(value) + FRAME_NS


# --- raims-9: the subscription window ---


@pytest.mark.rule("raims-9.0")
def test_a_time_before_the_trailing_time_is_a_repeat() -> None:
    made = window()
    old = T0 - 10 * SECOND
    assert arrive(made, first_seqno(old), time_ns=old).status is Status.FIRST
    older = arrive(made, first_seqno(old - 1) + 5, time_ns=old - 1)
    assert (older.row, older.status, older.last) == ("raims-9.0", Status.REPEAT, None)


@pytest.mark.rule("raims-9.0")
def test_the_trailing_time_moves_with_rotations_and_skew_counts() -> None:
    made = window(size_bytes=0, entries=0)
    arrive(made, seqno(F, 1), time_ns=T0)
    made.rotation.advance(T0 + 10 * SECOND)
    assert made.trailing_ns == T0
    stale = T0 - 1
    assert arrive(made, first_seqno(stale) + 3, time_ns=stale).row == "raims-9.0"
    assert arrive(made, first_seqno(stale) + 3, time_ns=stale, skew_ns=1).row == "raims-9.7"


@pytest.mark.rule("raims-9.1")
def test_an_unknown_subject_that_nothing_matches_is_not_subscribed() -> None:
    verdict = arrive(window(), seqno(F, 1), subject="_1.B")
    assert (verdict.row, verdict.delivered) == ("raims-9.1", False)


@pytest.mark.rule("raims-9.2")
def test_the_first_message_of_a_subject_is_never_a_loss() -> None:
    verdict = arrive(window(), seqno(F, 7))
    assert (verdict.row, verdict.status, verdict.value) == ("raims-9.2", Status.FIRST, START)
    assert (verdict.counted, verdict.delivered) == (0, True)


@pytest.mark.rule("raims-9.3")
def test_after_an_unsubscribe_the_entry_goes() -> None:
    made = window()
    arrive(made, seqno(F, 1))
    made.subscriptions.stop("_1.A", wildcard=False)
    assert arrive(made, seqno(F, 2)).row == "raims-9.3"
    assert arrive(made, seqno(F, 3)).row == "raims-9.1"


@pytest.mark.rule("raims-9.4")
def test_a_subscription_begun_again_forgets_all_publishers() -> None:
    made = window()
    arrive(made, seqno(F, 1))
    arrive(made, seqno(F, 1), publisher="Q")
    made.subscriptions.stop("_1.A", wildcard=False)
    made.subscriptions.start("_1.A", wildcard=False)
    assert arrive(made, seqno(F, 9)).row == "raims-9.4"
    assert arrive(made, seqno(F, 9), publisher="Q").row == "raims-9.5"


@pytest.mark.rule("raims-9.5")
def test_another_publisher_begins_anew_and_the_first_is_remembered() -> None:
    made = window()
    arrive(made, seqno(F, 1))
    assert arrive(made, seqno(F, 5), publisher="Q").row == "raims-9.5"
    assert arrive(made, seqno(F, 2)).row == "raims-9.6"


L = seqno(F, 10)

TABLE = [
    ("raims-9.6", seqno(F, 11), 0, Status.NEXT, 0, 0),
    ("raims-9.7", seqno(F, 14), 0, Status.SKIP, 3, 3),
    ("raims-9.7", seqno(F, 11 + 40_000), 0, Status.SKIP, MAX_LOSS, MAX_LOSS),
    ("raims-9.8", seqno(F, 10), 0, Status.REPEAT, 0, 0),
    ("raims-9.8", seqno(F, 2), 0, Status.REPEAT, 0, 0),
    ("raims-9.9", seqno(F + 1, 1), L, Status.NEXT, 0, 0),
    ("raims-9.10", seqno(F + 1, 1), L + 4, Status.SKIP, 4, 4),
    ("raims-9.11", seqno(F + 1, 1), 0, Status.CYCLE, CYCLED, 0),
    ("raims-9.11", seqno(F + 2, 1), seqno(F + 1, 5), Status.CYCLE, CYCLED, 0),
    ("raims-9.12", seqno(F + 1, 3), 0, Status.SKIP, RESTARTED, 1),
    ("raims-9.13", seqno(F - 1, 1), 0, Status.CYCLE, CYCLED, 0),
    ("raims-9.14", seqno(F - 1, 3), 0, Status.SKIP, RESTARTED, 1),
    ("raims-9.14", 0, 0, Status.SKIP, RESTARTED, 1),  # a console publish
]


@pytest.mark.rule("raims-9.6")
@pytest.mark.rule("raims-9.7")
@pytest.mark.rule("raims-9.8")
@pytest.mark.rule("raims-9.9")
@pytest.mark.rule("raims-9.10")
@pytest.mark.rule("raims-9.11")
@pytest.mark.rule("raims-9.12")
@pytest.mark.rule("raims-9.13")
@pytest.mark.rule("raims-9.14")
@pytest.mark.parametrize(("row", "value", "chain", "status", "told", "counted"), TABLE)
def test_rows_6_to_14(
    row: str, value: int, chain: int, status: Status, told: int, counted: int
) -> None:
    made = window()
    arrive(made, L)
    verdict = arrive(made, value, chain=chain or None)
    assert (verdict.row, verdict.status, verdict.value, verdict.counted) == (
        row, status, told, counted,
    )  # fmt: skip
    follows = arrive(made, value + 1)
    assert follows.row == ("raims-9.6" if verdict.delivered or value == L else "raims-9.8")


#: Rows whose conditions exclude the next one's.
ORDER_IS_NO_MATTER = {"raims-9.8", "raims-9.12", "raims-D3"}
STEPS = [(value, chain) for _, value, chain, *_ in TABLE]
DOCUMENT_STEPS = [(seqno(F, 10), 0), (seqno(F, 11), 0), (seqno(F, 14), 0), (seqno(F, 2), 0),
                  (seqno(F + 1, 1), 0), (seqno(F + 1, 2), 0), (seqno(F, 1), 0)]  # fmt: skip


def outcomes(table: Sequence[Decision], steps: Sequence[tuple[int, int]]) -> list[Any]:
    """What a table says of each step from L; a table that says nothing says null."""
    found: list[Any] = []
    for value, chain in steps:
        try:
            verdict = decide(value, L, chain, table, T0)
        except StopIteration:
            found.append(None)
        else:
            found.append((verdict.row, verdict.status, verdict.value, verdict.counted))
    return found


@pytest.mark.parametrize(
    ("table", "steps"), [(DECISIONS, STEPS), (OLD, STEPS), (DOCUMENT, DOCUMENT_STEPS)]
)
def test_inverting_any_row_changes_what_the_tests_of_the_rows_see(
    table: tuple[Decision, ...], steps: list[tuple[int, int]]
) -> None:
    right = outcomes(table, steps)
    for number, decision in enumerate(table):
        others = [
            replace(decision, status=status) for status in Status if status is not decision.status
        ]
        others.append(replace(decision, value=lambda step: 12_345))
        others.append(replace(decision, when=lambda step: False))
        others.append(replace(decision, when=lambda step: True))
        for mutant in others:
            mutated = (*table[:number], mutant, *table[number + 1 :])
            # the last row of a table holds always, and a NEXT or REPEAT has no value to change
            same = mutant.when is not decision.when and number == len(table) - 1
            if same and mutant.when(Succession(1, 1, 0, None, 0)):
                continue
            assert outcomes(mutated, steps) != right, (decision.row, mutant)
    for number in range(len(table) - 1):
        swapped = (*table[:number], table[number + 1], table[number], *table[number + 2 :])
        disjoint = outcomes(swapped, steps) == right
        assert disjoint == (table[number].row in ORDER_IS_NO_MATTER), table[number].row


@pytest.mark.rule("raims-14.1-0")
@pytest.mark.rule("raims-14.1-4")
@pytest.mark.rule("raims-14.1-11")
@pytest.mark.rule("raims-14.1-13")
def test_rows_of_older_releases() -> None:
    made = window(release=RaimsRelease.BEFORE_2022_08_03)
    steps = [seqno(F, 5), seqno(F + 1, 1), seqno(F, 1), seqno(F, 3)]
    verdicts = [arrive(made, value, time_ns=1) for value in steps]
    assert [(v.row, v.counted) for v in verdicts] == [
        ("raims-9.2", 0), ("raims-14.1-11", 1), ("raims-14.1-13", 1), ("raims-9.7", 1)
    ]  # fmt: skip
    arrive(made, seqno(F, 3), publisher="Q")
    made.subscriptions.stop("_1.A", wildcard=False)
    made.subscriptions.start("_1.A", wildcard=False)
    again = [arrive(made, seqno(F, 9)), arrive(made, seqno(F, 5), publisher="Q")]
    assert [(v.row, v.status) for v in again] == [
        ("raims-14.1-4", Status.CYCLE), ("raims-9.7", Status.SKIP)
    ]  # fmt: skip
    made.subscriptions.stop("_1.A", wildcard=False)
    made.subscriptions.start("_1.A", wildcard=False)
    assert arrive(made, seqno(F, 9)).row == "raims-9.8"


@pytest.mark.rule("raims-14.1-tables")
def test_before_april_2024_the_second_rotation_forgets() -> None:
    for release, row in ((RaimsRelease.BEFORE_2024_04_01, "raims-9.2"), (CURRENT, "raims-9.6")):
        made = window(release=release, size_bytes=0, entries=-1)
        arrive(made, seqno(F, 1))
        made.rotation.advance(T0 + 11 * SECOND)
        made.rotation.add("_1.X", object(), T0 + 11 * SECOND)  # type: ignore[arg-type]
        made.rotation.advance(T0 + 22 * SECOND)
        assert arrive(made, seqno(F, 2), at_ns=T0 + 22 * SECOND).row == row


def test_after_seqno_0_the_next_client_message_is_next() -> None:
    made = window()
    arrive(made, L)
    assert [arrive(made, 0).row, arrive(made, 0).row, arrive(made, L + 1).row] == [
        "raims-9.14", "raims-9.8", "raims-9.9"
    ]  # fmt: skip


@pytest.mark.rule("raims-9.G")
def test_glsno_numbers_are_per_publisher_and_path_and_gaps_are_nothing() -> None:
    made = window()
    rows = [made.glsno("P", 0, *r) for r in ((1, 3), (7, 8), (5, 9))]
    rows.append(made.glsno("P", 1, 5, 6))
    assert [[(v.status, v.seqno, v.stop) for v in row] for row in rows] == [
        [(Status.NEXT, 1, 3)],
        [(Status.NEXT, 7, 8)],
        [(Status.REPEAT, 5, 8), (Status.NEXT, 8, 9)],
        [(Status.NEXT, 5, 6)],
    ]


@pytest.mark.rule("raims-9.R")
def test_an_entry_survives_two_rotations_and_is_gone_at_the_third() -> None:
    made = window(size_bytes=0, entries=-1)
    made.subscriptions.start("_1.B", wildcard=False)
    at = T0
    arrive(made, seqno(F, 1))
    for _ in range(2):
        arrive(made, seqno(F, 1), subject="_1.B", at_ns=at + SECOND)
        at += 10 * SECOND + 40_000_000
        made.rotation.advance(at)
    assert made.rotation.rotation_count == 2
    assert arrive(made, seqno(F, 2), at_ns=at).row == "raims-9.6"
    lost = window(size_bytes=0, entries=-1)
    arrive(lost, seqno(F, 1))
    for number in range(1, 4):
        lost.rotation.add(f"_1.X{number}", lost.rotation.find("_1.none", T0) or object(), T0)  # type: ignore[arg-type]
        lost.rotation.advance(T0 + number * (10 * SECOND + 40_000_000))
    again = arrive(lost, seqno(F, 2), at_ns=T0 + 31 * SECOND)
    assert (again.row, again.rotated) == ("raims-9.2", True)


@pytest.mark.rule("raims-9.R")
def test_every_publisher_of_a_forgotten_subject_is_forgotten_with_it() -> None:
    lost = window(size_bytes=0, entries=-1)
    for publisher in ("P", "Q"):
        arrive(lost, seqno(F, 1), publisher=publisher)
    for number in range(1, 4):
        lost.rotation.add(f"_1.X{number}", lost.rotation.find("_1.none", T0) or object(), T0)  # type: ignore[arg-type]
        lost.rotation.advance(T0 + number * (10 * SECOND + 40_000_000))
    at = T0 + 31 * SECOND
    rulings = [arrive(lost, seqno(F, 3), publisher=name, at_ns=at) for name in ("P", "Q", "R")]
    assert [(ruling.row, ruling.rotated) for ruling in rulings] == [
        ("raims-9.2", True), ("raims-9.5", True), ("raims-9.5", False),
    ]  # fmt: skip


@pytest.mark.rule("raims-D1")
@pytest.mark.rule("raims-D2")
@pytest.mark.rule("raims-D3")
@pytest.mark.rule("raims-D4")
@pytest.mark.rule("raims-D5")
@pytest.mark.rule("raims-D6")
def test_the_documents_own_rules() -> None:
    made = window(document=True)
    steps = [
        (seqno(F, 5), "_1.A"), (seqno(F, 6), "_1.A"), (seqno(F, 6), "_1.A"),
        (seqno(F, 9), "_1.A"), (seqno(F + 1, 1), "_1.A"), (seqno(F, 9), "_1.A"),
        (seqno(F, 1), "_1.B"),
    ]  # fmt: skip
    verdicts = [arrive(made, value, subject=subject, time_ns=T0) for value, subject in steps]
    assert [(v.row.removeprefix("raims-"), v.counted) for v in verdicts] == [
        ("D2", 0), ("D4", 0), ("D3", 0), ("D5", 2), ("D1", 0), ("D3", 0), ("D6", 0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "subject", "found"),
    [
        ("NEWS.*.BANK", "NEWS.EU.BANK", True),
        ("NEWS.*.BANK", "NEWS.EU.UK.BANK", False),
        ("NEWS.>", "NEWS.EU.UK", True),
        ("NEWS.>", "NEWS", False),
        (">", "A", True),
        ("A", "A.B", False),
    ],
)
def test_rv_wildcards(pattern: str, subject: str, found: bool) -> None:
    assert matches(pattern, subject) is found


# --- a naive model that remembers everything ---


class Naive:
    """Rows 1 to 14 word for word, one message at a time, nothing ever forgotten."""

    def __init__(self) -> None:
        self.last: dict[tuple[str, str], int] = {}
        self.known: set[str] = set()

    def arrive(self, subject: str, publisher: str, value: int, chain: int) -> tuple[str, int]:
        subscribed = subject == "_1.A"
        if subject not in self.known:
            if not subscribed:
                return "raims-9.1", 0
            self.known.add(subject)
            self.last[subject, publisher] = value
            return "raims-9.2", 0
        last = self.last.get((subject, publisher))
        before = last
        row, count = self._row(value, last, chain)
        if row != "raims-9.8":
            self.last[subject, publisher] = value
        assert before is None or row != "raims-9.5"
        return row, count

    @staticmethod
    def _row(value: int, last: int | None, chain: int) -> tuple[str, int]:
        if last is None:
            return "raims-9.5", 0
        frame, base = value >> 35, value & (1 << 35) - 1
        if value == last + 1:
            return "raims-9.6", 0
        if frame == last >> 35:
            return ("raims-9.7", value - last - 1) if value > last else ("raims-9.8", 0)
        if frame > last >> 35:
            if chain == last:
                return "raims-9.9", 0
            if chain >> 35 == last >> 35:
                return "raims-9.10", max(chain - last, 0)
            return ("raims-9.11", 0) if base == 1 else ("raims-9.12", 1)
        return ("raims-9.13", 0) if base == 1 else ("raims-9.14", 1)


messages = st.lists(
    st.tuples(
        st.sampled_from(["_1.A", "_1.A", "_1.B"]),
        st.sampled_from("PQ"),
        st.integers(100, 103),  # frame
        st.integers(0, 6),  # base
        st.one_of(st.just(0), st.tuples(st.integers(100, 103), st.integers(1, 6))),
    ),
    max_size=40,
)


@given(messages)
@settings(max_examples=150)
def test_the_window_agrees_with_the_naive_model(drawn: list[Any]) -> None:
    made, naive = window(), Naive()
    for subject, publisher, frame, base, chained in drawn:
        chain = seqno(*chained) if chained else 0
        verdict = arrive(
            made, seqno(frame, base), subject=subject, publisher=publisher, chain=chain or None
        )
        assert (verdict.row, verdict.counted) == naive.arrive(
            subject, publisher, seqno(frame, base), chain
        )


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 8)), min_size=1, max_size=20))
def test_a_run_is_judged_as_its_messages_one_by_one(runs: list[tuple[int, int]]) -> None:
    whole, single = window(), window()
    for base, size in runs:
        first = seqno(F, base)
        found = whole.arrive("_1.A", "P", first, first + size, chain=None, time_ns=None, at_ns=T0)
        one_by_one = [arrive(single, first + n) for n in range(size)]
        spread = [v.status for v in found for _ in range(v.stop - v.seqno)]
        assert spread == [v.status for v in one_by_one]
        assert sum(v.counted for v in found) == sum(v.counted for v in one_by_one)


# --- raims-8: the publisher window ---


def publisher(**changes: Any) -> PublisherWindow:
    given = {
        "overhead": PUBLISHER_CODE,
        "document_overhead": PUBLISHER_DOCUMENT,
        "entries": 100_000,
    } | changes
    return PublisherWindow(settings_of(**given), T0, complete=True)


@pytest.mark.rule("raims-8.1")
@pytest.mark.rule("raims-8.2")
@pytest.mark.rule("raims-8.3")
@pytest.mark.rule("raims-8.4")
def test_the_next_seqno_of_a_publish() -> None:
    last = first_seqno(T0)
    assert next_seqno(None, T0, 10 * SECOND) == (last, None, BeganBy.NEW)
    assert next_seqno(last, T0, 10 * SECOND) == (last + 1, None, BeganBy.CONTINUED)
    aged = start_of(last) + 10 * SECOND
    assert next_seqno(last, aged - 1, 10 * SECOND)[2] is BeganBy.CONTINUED
    assert next_seqno(last, aged, 10 * SECOND) == (first_seqno(aged), last, BeganBy.AGE)
    full = seqno(F, (1 << 35) - 1)
    assert next_seqno(full, T0, 10 * SECOND) == (first_seqno(T0), full, BeganBy.WRAP)


@pytest.mark.rule("raims-14.1-publisher")
def test_before_april_2024_a_frame_ends_when_the_network_has_converged_and_not_by_age() -> None:
    last = first_seqno(T0)
    aged = T0 + 100 * SECOND
    how: dict[str, Any] = {"ages": False}
    assert next_seqno(last, aged, 10 * SECOND, **how) == (last + 1, None, BeganBy.CONTINUED)
    assert next_seqno(last, aged, 10 * SECOND, converged_ns=T0, **how)[2] is BeganBy.CONTINUED
    later = T0 + FRAME_NS
    assert next_seqno(last, aged, 10 * SECOND, converged_ns=later, **how) == (
        first_seqno(aged), last, BeganBy.CONVERGED
    )  # fmt: skip


def test_every_new_frame_is_explained_or_not() -> None:
    made = publisher()
    start = first_seqno(T0)
    assert made.published("_1.A", start, start + 5, None, T0) is BeganBy.NEW
    assert made.published("_1.A", start + 5, start + 6, None, T0 + SECOND) is BeganBy.CONTINUED
    later = T0 + 11 * SECOND
    rolled = first_seqno(later)
    assert made.published("_1.A", rolled, rolled + 1, start + 5, later) is BeganBy.AGE
    odd = first_seqno(later + FRAME_NS)
    early = made.published("_1.A", odd, odd + 1, rolled, later + SECOND)
    assert early is BeganBy.UNEXPLAINED


def test_a_chain_shows_that_the_publisher_had_not_forgotten_the_subject() -> None:
    """Others were published that were not captured, or before: the replayed window may rotate at
    another time than the publisher's."""
    made = publisher(size_bytes=1, entries=0)
    start = first_seqno(T0)
    made.published("_1.A", start, start + 1, None, T0)
    for turn in (1, 2, 3):
        at_ns = T0 + 100 * SECOND * turn
        made.published("_1.B", first_seqno(at_ns), first_seqno(at_ns) + 1, None, at_ns)
    later = T0 + 301 * SECOND
    assert made.rotation.find("_1.A", later) is None
    begun = first_seqno(later)
    assert made.published("_1.A", begun, begun + 1, start, later) is BeganBy.AGE


def test_messages_say_between_which_times_the_age_limit_is() -> None:
    """More than the age of a frame that goes on, no more than that of one that has ended."""
    made = publisher()
    start = first_seqno(T0)
    begun = T0 - start_of(start)  # into its frame
    made.published("_1.A", start, start + 1, None, T0)
    made.published("_1.A", start + 1, start + 2, None, T0 + 12 * SECOND)
    assert (made.over_ns, made.within_ns) == (12 * SECOND + begun, None)
    later = T0 + 15 * SECOND
    made.published("_1.A", first_seqno(later), first_seqno(later) + 1, start + 1, later)
    assert made.one_time_fits and made.within_ns == 15 * SECOND + begun
    other = first_seqno(later)
    sooner = later + 10 * SECOND
    made.published("_1.A", first_seqno(sooner), first_seqno(sooner) + 1, other, sooner)
    assert not made.one_time_fits


@pytest.mark.rule("raims-8.5")
def test_a_rotation_needs_time_size_and_entries_or_nine_times_the_interval() -> None:
    small = publisher(size_bytes=1, entries=1)
    small.rotation.add("a", object(), T0)  # type: ignore[arg-type]
    small.rotation.advance(T0 + 80 * SECOND)
    assert small.rotation.rotation_count == 0
    small.rotation.advance(T0 + 90 * SECOND + 40_000_000)
    assert [r.at_ns for r in small.rotation.rotations] == [T0 + 90 * SECOND + 40_000_000]
    busy = publisher(size_bytes=1, entries=1)
    for name in "ab":
        busy.rotation.add(name, object(), T0)  # type: ignore[arg-type]
    busy.rotation.advance(T0 + 10 * SECOND)
    assert [r.at_ns for r in busy.rotation.rotations] == [T0 + 10 * SECOND]
    large = publisher(size_bytes=1 << 20, entries=0)
    large.rotation.add("a", object(), T0)  # type: ignore[arg-type]
    large.rotation.advance(T0 + 1000 * SECOND)
    assert large.rotation.rotation_count == 0


@pytest.mark.rule("raims-8.5")
def test_a_table_that_was_looked_at_in_vain_rotates_when_an_entry_has_come() -> None:
    idle = publisher(size_bytes=1, entries=0)
    for turn in range(1, 400):  # far beyond the last time that an empty table could rotate at
        idle.rotation.advance(T0 + turn * SECOND)
    idle.rotation.add("a", object(), T0 + 400 * SECOND)  # type: ignore[arg-type]
    assert idle.rotation.rotation_count == 0
    idle.rotation.advance(T0 + 400 * SECOND + 40_000_000)
    assert [r.at_ns for r in idle.rotation.rotations] == [T0 + 400 * SECOND + 40_000_000]


@pytest.mark.rule("raims-8.6")
def test_the_old_tables_size_counts_after_17_intervals() -> None:
    made = publisher(size_bytes=100_000, entries=0).rotation
    for number in range(4000):
        made.add(f"{number:04}", object(), T0)  # type: ignore[arg-type]
    made.advance(T0 + 10 * SECOND)
    assert made.rotation_count == 1
    made.advance(T0 + 10 * SECOND + 17 * 10 * SECOND)
    assert made.rotation_count == 1
    made.advance(T0 + 10 * SECOND + 17 * 10 * SECOND + 40_000_000)
    assert made.rotation_count == 2


@pytest.mark.rule("raims-8.7")
def test_a_look_up_moves_an_entry_back_and_two_rotations_forget_it() -> None:
    made: Rotation[int] = Rotation(settings_of(size_bytes=0, entries=-1), T0, older=1)
    made.add("a", 1, T0)
    made.add("b", 2, T0)
    made.advance(T0 + 10 * SECOND)
    assert (made.entries, made.find("a", T0 + 11 * SECOND), made.entries) == (0, 1, 1)
    made.advance(T0 + 20 * SECOND + 40_000_000)
    assert [made.holds(name) for name in "ab"] == [True, False]
    assert made.forgotten == {"b": T0 + 20 * SECOND}


def test_memory_is_counted_in_blocks_by_the_code_and_in_bytes_by_the_document() -> None:
    for code, document in (
        (PUBLISHER_CODE, PUBLISHER_DOCUMENT), (SUBSCRIBER_CODE, SUBSCRIBER_DOCUMENT)
    ):  # fmt: skip
        rules = settings_of(overhead=code, document_overhead=document)
        made: Rotation[int] = Rotation(rules, T0, older=1)
        made.add("_1.A", 1, T0)
        made.add("_1.BC", 1, T0)
        assert (made.size_bytes, made.document_bytes) == (86_028, 2 * document + 9)


def test_by_the_document_a_table_rotates_at_its_own_size() -> None:
    rules = settings_of(size_bytes=100, document=True, document_overhead=48, entries=99)
    made: Rotation[int] = Rotation(rules, T0, older=1)
    made.add("_1.A", 1, T0)
    made.advance(T0 + 20 * SECOND)
    assert made.rotation_count == 0
    made.add("_1.B", 1, T0 + 20 * SECOND)
    made.advance(T0 + 30 * SECOND)
    assert [(r.entries, r.document_bytes) for r in made.rotations] == [(2, 104)]


@pytest.mark.rule("raims-8.8")
def test_a_reported_loss_of_unknown_size_lets_the_table_grow() -> None:
    made: Rotation[int] = Rotation(settings_of(entries=4, autoscale=10), T0, older=1)
    for name in "ab":
        made.add(name, 1, T0)
    made.scale(T0)
    assert made.entries_limit == 4  # not more than half of it
    made.add("c", 1, T0)
    for at in (0, 19.9, 20):
        made.scale(T0 + round(at * SECOND))
        made.add(str(at), 1, T0 + round(at * SECOND))
    for number in range(9):
        made.add(f"more {number}", 1, T0 + 20 * SECOND)
    made.scale(T0 + 30 * SECOND)
    assert (made.entries_limit, made.scaled) == (24, [T0, T0 + 30 * SECOND])


# --- raims-11: advisories ---


def lose(made: Advisories, subject: str, at: float, count: int | None = 1) -> None:
    made.lost(f"_7500.{subject}", count, "P", "A", "10.77.0.1", Mark(1, T0 + round(at * SECOND)))


@pytest.mark.rule("raims-11.1")
@pytest.mark.rule("raims-11.2")
@pytest.mark.rule("raims-11.3")
def test_advisories_are_throttled_to_one_a_second_after_the_first() -> None:
    made = Advisories()
    for subject, at in (("A", 0.0), ("B", 0.1), ("A", 0.2), ("B", 0.9), ("C", 5.0)):
        lose(made, subject, at)
    made.close(T0 + 10 * SECOND)
    assert [((a.at_ns - T0) / SECOND, a.lost, a.pairs) for a in made.published] == [
        (0.0, 1, [("A", 1)]), (1.0, 3, [("B", 2), ("A", 1)]), (5.0, 1, [("C", 1)])
    ]  # fmt: skip


def test_an_advisory_tells_the_losses_of_one_publishing_host() -> None:
    made = Advisories()
    lose(made, "A", 0)
    lose(made, "B", 0.1)
    made.lost("_7500.C", 4, "Q", "D", "10.77.0.4", Mark(1, T0 + SECOND // 2))
    made.close(T0 + 3 * SECOND)
    assert [((a.at_ns - T0) / SECOND, a.hostid, a.pairs) for a in made.published] == [
        (0.0, "A", [("A", 1)]), (1.0, "D", [("C", 4)]), (2.0, "A", [("B", 1)])
    ]  # fmt: skip


def test_clients_of_a_service_share_its_throttle_and_get_what_they_listen_to() -> None:
    listens = {"one": "AB", "two": "B"}
    made = Advisories(lambda event: [c for c, subjects in listens.items()
                                     if event.subject in subjects])  # fmt: skip
    for subject, at in (("A", 0.0), ("B", 0.5), ("B", 1.5)):
        lose(made, subject, at)
    made.close(T0 + 9 * SECOND)
    assert [(a.client, (a.at_ns - T0) / SECOND, a.pairs) for a in made.published] == [
        ("one", 0.0, [("A", 1)]), ("one", 1.0, [("B", 1)]), ("two", 1.0, [("B", 1)]),
        ("one", 2.0, [("B", 1)]), ("two", 2.0, [("B", 1)]),
    ]  # fmt: skip


@pytest.mark.rule("raims-11.4")
def test_an_advisory_as_the_document_shows_it_with_nine_pairs() -> None:
    made = Advisories()
    lose(made, "first", 0)
    for number in range(11):
        lose(made, f"S{number}", 0.5)
    made.close(T0 + SECOND)
    fields = made.published[1].fields()
    assert list(fields)[:8] == [
        "ADV_CLASS", "ADV_SOURCE", "ADV_NAME", "ADV_DESC", "host", "hostid", "lost", "sub_cnt"
    ]  # fmt: skip
    assert (fields["lost"], fields["sub_cnt"], fields["sub1"], fields["scid"]) == (
        11, 11, "S10", 7500
    )  # fmt: skip
    assert "sub9" in fields and "sub10" not in fields


def test_losses_of_unknown_size_alone_are_lost_seqno_tracking() -> None:
    made = Advisories()
    lose(made, "A", 0, None)
    assert made.published[0].fields()["ADV_DESC"] == "lost seqno tracking"


# --- raims-10: loss notices ---


@pytest.mark.rule("raims-10.1")
@pytest.mark.rule("raims-10.2")
def test_a_loss_is_told_at_first_and_then_10_s_after_the_loss_before() -> None:
    made = Notices()
    for count, at in ((None, 0), (3, 5), (None, 14.9), (None, 25), (2, 35)):
        made.lost("P", "_1.A", count, 1, round(at), Mark(1, T0 + round(at * SECOND)))
    assert [(due.at_once, due.restart) for due in made.losses] == [
        (True, True), (False, False), (False, False), (True, False), (True, False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ({}, None),
        ({"count": 4}, "4 lost, and the replay counts 3"),
        ({"total": 9}, "9 lost in all, and the replay counts 7"),
        ({"restart": True}, "a loss of unknown size, and the replay one of known size"),
    ],
)
def test_a_notice_is_compared_with_the_loss_it_is_about(
    changes: dict[str, Any], how: str | None
) -> None:
    made = Notices()
    made.lost("P", "_1.A", 3, 7, 11, Mark(1, T0))
    told: dict[str, Any] = {
        "receiver": "me", "publisher": "P", "subject": "_1.A", "count": 3, "restart": False,
        "total": 7, "seqno": 11, "mark": Mark(2, T0),
    } | changes  # fmt: skip
    notice = Notice(**told)
    due = made.of(notice)
    assert due is not None
    assert wrong(notice, due) == how


def test_a_notice_is_due_for_a_loss_of_which_none_was_captured() -> None:
    made = Notices()
    made.lost("P", "_1.A", 3, 7, 11, Mark(1, T0))
    assert [due.seqno for due in made.missing([])] == [11]
    told = Notice("ME", "P", "_1.A", 3, False, 7, 11, Mark(2, T0))
    assert made.missing([told]) == []


# --- parameters ---


def test_a_param_yaml_with_hyphens_and_units() -> None:
    text = """
parameters:
  pass: .pass
  pub-window-size: 10 mb
  pub-window-time: 60 sec
  sub_window_size: 10 mb
  sub_window_time: 8 secs
  heartbeat: 4
"""
    assert load_parameters(text) == {
        "raims.pass": "(not shown)",
        "raims.pub_window_size": 10 << 20,
        "raims.pub_window_time_ms": 60_000,
        "raims.sub_window_size": 10 << 20,
        "raims.sub_window_time_ms": 8_000,
        "raims.heartbeat_ms": 4_000,
    }
    with pytest.raises(ParameterError, match="pub_window_time"):
        load_parameters("parameters: {pub-window-time: soon}")


# --- every row has a test ---


def marked() -> Iterator[str]:
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
                yield str(ast.literal_eval(node.args[0]))


def test_every_row_of_the_tables_has_a_test() -> None:
    assert set(marked()) == set(ROWS)
