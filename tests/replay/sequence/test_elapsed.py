"""How much time passed at least, whatever a clock did."""

from hypothesis import given
from hypothesis import strategies as st

from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark

MS = 1_000_000
PAUSES = st.lists(st.integers(0, 50), min_size=1, max_size=20)


@given(PAUSES, st.integers(0, 20), st.integers(-400, 400), st.data())
def test_one_step_of_the_clock_makes_no_time(
    pauses: list[int], at: int, step: int, data: st.DataObject
) -> None:
    elapsed, now, marks, real = Elapsed(), 0, [], []
    since = data.draw(st.integers(0, len(pauses) - 1))
    for place, pause in enumerate(pauses):
        now += pause
        real.append(now)
        marks.append(Mark(place, now + (step if place >= at else 0)))
        elapsed.saw(marks[-1])
        if place >= since:
            assert elapsed.at_least(marks[since], marks[-1]) <= now - real[since]


@given(PAUSES, st.integers(1, 100))
def test_just_before_an_event_is_what_less_time_has_surely_passed_since(
    pauses: list[int], span: int
) -> None:
    elapsed, now = Elapsed(), 0
    elapsed.saw(Mark(0, now))
    times = [0]
    for place, pause in enumerate(pauses, 1):
        now += pause
        elapsed.saw(Mark(place, now))
        times.append(now)
    last = Mark(len(pauses), now)
    since_ns = elapsed.just_before(last, span)
    for place, at_ns in enumerate(times):
        assert (at_ns > since_ns) == (elapsed.at_least(Mark(place, at_ns), last) < span)


@given(PAUSES, st.integers(1, 100))
def test_a_watch_tells_when_so_much_time_has_passed(pauses: list[int], span: int) -> None:
    elapsed, now = Elapsed(), 0
    elapsed.saw(Mark(0, now))
    watch, reached = elapsed.watch(Mark(0, now), span), None
    for place, pause in enumerate(pauses, 1):
        now += pause
        elapsed.saw(Mark(place, now))
        if reached is None and elapsed.at_least(watch.since, Mark(place, now)) >= span:
            reached = Mark(place, now)
    assert watch.reached == reached
    assert watch.by(Mark(len(pauses), now)) is (reached is not None)


def test_a_pause_that_is_shown_to_be_one_counts() -> None:
    elapsed = Elapsed()
    elapsed.saw(Mark(0, 0))
    elapsed.saw(Mark(1, 5 * MS), sure=True)
    elapsed.saw(Mark(2, 6 * MS))
    assert elapsed.at_least(Mark(0, 0), Mark(2, 6 * MS)) == 5 * MS
