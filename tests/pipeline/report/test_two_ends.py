"""Of captures of the same two hosts each datagram says which is nearer to its sender (4.7)."""

from collections.abc import Sequence

import pytest

from seqaudit.decoders.network.prints import Seen
from seqaudit.pipeline.report.two_ends import links_of, vantages_of_link
from seqaudit.replay.contract.settings import Vantage

X, Y = "10.0.0.1", "10.0.0.2"
MS = 1_000_000
UNKNOWN = Vantage()


def at_hop(
    hops_from_x: int, clock_ns: int, lost: Sequence[int] = (), rounds: int = 6
) -> list[Seen]:
    """What a point so many milliseconds from X, on a path of 10, captures of pings and pongs."""
    seen = []
    for n in range(rounds):
        sent = n * 100 * MS
        if n not in lost:
            seen.append(Seen(X, Y, b"ping %d" % n, sent + hops_from_x * MS + clock_ns))
        seen.append(Seen(Y, X, b"pong %d" % n, sent + (20 - hops_from_x) * MS + clock_ns))
    return seen


def places(*captures: list[Seen]) -> list[tuple[str, str | None] | None]:
    found = vantages_of_link((X, Y), dict(enumerate(captures)))
    return [
        None if n not in found else (found[n].kind, found[n].address) for n in range(len(captures))
    ]


@pytest.mark.parametrize("clock_ns", [0, -3_600_000 * MS, 5 * MS, 7_200_000 * MS])
def test_two_captures_have_each_its_end_however_far_the_clocks_are_apart(clock_ns: int) -> None:
    x, y = at_hop(0, 0), at_hop(10, clock_ns, lost=[2])
    assert places(x, y) == [("member", X), ("member", Y)]
    assert places(y, x) == [("member", Y), ("member", X)]


def test_a_capture_between_two_others_is_at_neither_end() -> None:
    assert places(at_hop(5, 9 * MS), at_hop(10, 0), at_hop(0, 0)) == [
        ("between", None), ("member", Y), ("member", X)
    ]  # fmt: skip


def test_captures_of_the_same_point_tell_nothing() -> None:
    assert places(at_hop(4, 0), at_hop(4, 77 * MS)) == [None, None]


def test_captures_that_share_little_tell_nothing() -> None:
    assert places(at_hop(0, 0, rounds=2), at_hop(10, 0, rounds=2)) == [None, None]


def test_what_looks_alike_tells_nothing() -> None:
    same = [Seen(X, Y, b"same", n) for n in range(9)] + [Seen(Y, X, b"same", n) for n in range(9)]
    assert places(same, same) == [None, None]


def test_only_captures_of_one_link_of_which_one_is_unknown_are_compared() -> None:
    known = Vantage("member", X, "inferred")
    assert links_of([UNKNOWN, UNKNOWN], [[X, Y], [X, Y]]) == {(X, Y): [0, 1]}
    assert links_of([UNKNOWN, known], [[X, Y], [X, Y]]) == {(X, Y): [0, 1]}
    assert links_of([known, known], [[X, Y], [X, Y]]) == {}
    assert links_of([UNKNOWN, UNKNOWN], [[X, Y], [X, "10.0.0.3"]]) == {}
    assert links_of([UNKNOWN, UNKNOWN], [[X], []]) == {}
