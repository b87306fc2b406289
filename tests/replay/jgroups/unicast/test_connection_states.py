"""The states of one end of a connection, told by what happened to it (jgroups.md 4.3, 4.4)."""

import pytest

from seqaudit.replay.jgroups.unicast import connection_states
from seqaudit.replay.jgroups.unicast.connection_states import (
    TOO_MANY,
    ConnectionLives,
    EntryTimers,
    Timeouts,
)
from seqaudit.replay.sequence.gaps import Mark

SECOND = 10**9


def at(second: int) -> Mark:
    return Mark(second, second * SECOND)


def lives_with_views(*views: tuple[int, bool], given: bool = False) -> ConnectionLives:
    lives = ConnectionLives(
        EntryTimers(Timeouts(60 * SECOND, 60 * SECOND), given=given), lambda _: False
    )
    for second, with_peer in views:
        lives.view(at(second), with_peer=with_peer)
    return lives


def test_all_connections_of_a_pair_have_its_views() -> None:
    lives = lives_with_views((3, False))
    for opened, states in ((1, ["OPEN", "CLOSING"]), (4, ["OPEN"])):
        life = lives.begin()
        life.opened(at(opened), "first message")
        told, _ = life.tell(reaped_silently=False, goes_on=False)
        assert [state for state, *_ in told] == states


def test_behind_the_views_that_are_kept_no_state_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_states, "MAX_STATES", 2)
    lives = lives_with_views((2, False), (3, True), (5, False), (6, True))
    life = lives.begin()
    for second in (1, 4, 7):
        life.used(at(second), "sending")
    told, later = life.tell(reaped_silently=False, goes_on=True)
    assert [(state, mark.frame) for state, mark, _ in told] == [
        ("OPEN", 1), ("CLOSING", 2), ("OPEN", 3), (None, 5),
    ]  # fmt: skip
    assert told[-1][2] == TOO_MANY
    assert later == []


@pytest.mark.parametrize(
    ("close", "views", "given", "state"),
    [
        (121, (), False, "OPEN"),  # after 60 s and 60 s, by a clock that ticks every 500 ms
        (119, (), False, None),
        (119, (), True, "OPEN"),
        (72, ((10, False), (80, True)), False, "OPEN"),  # out of the view it has 60 s
        (65, ((10, False), (80, True)), False, None),
    ],
)
def test_a_close_that_comes_too_soon_shows_that_the_timers_are_not_the_default_ones(
    close: int, views: tuple[tuple[int, bool], ...], given: bool, state: str | None
) -> None:
    """u3-idle8: closed after 2.4 s without use, and said to be OPEN at the end."""
    lives = lives_with_views(*views, given=given)
    first, second = lives.begin(), lives.begin()
    first.used(at(1), "sending")
    first.close_sent(at(close))
    second.used(at(close + 10), "sending")
    told, later = second.tell(reaped_silently=False, goes_on=True)
    assert told[-1][:2] == (state, at(close + 10))
    assert bool(later) is (state is not None)
    assert first.tell(reaped_silently=False, goes_on=True)[0][-1][0] == "CLOSED"


@pytest.mark.rule("unicast A20")
@pytest.mark.parametrize(
    ("view_ms", "states"),
    [
        (60_400, ["OPEN", "CLOSING"]),  # still OPEN: its age goes on
        (60_600, ["OPEN", None, "CLOSING"]),
        (61_900, ["OPEN", "CLOSING", "OPEN", None, "CLOSING"]),
        (62_200, ["OPEN", "CLOSING", "OPEN", "CLOSING"]),  # opened again, for 60 s
    ],
)
def test_whether_a_view_about_the_end_of_a_timer_opened_an_entry_again_cannot_be_told(
    view_ms: int, states: list[str | None]
) -> None:
    """u3-viewidle8: a view 60 ms behind found it OPEN still, and did not begin its age anew."""
    lives = lives_with_views(given=True)
    lives.view(Mark(2, view_ms * 1_000_000), with_peer=True)
    life = lives.begin()
    life.used(at(1), "sending")
    told, later = life.tell(reaped_silently=False, goes_on=True)
    assert [state for state, *_ in [*told, *later]] == states
    if states[-2] is None:
        assert later[0][1].at_ns == max(view_ms * 1_000_000, 61 * SECOND)
        assert later[-1][1].at_ns == view_ms * 1_000_000 + 60 * SECOND
