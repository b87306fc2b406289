"""IP ids of a socket that counts its datagrams (replay.sequence.ip_ids)."""

from collections.abc import Iterable

import pytest

from seqaudit.replay.sequence.ip_ids import SocketIds, newest, sent_later


def lack(rows: Iterable[tuple[int, int, int]]) -> bool:
    ids = SocketIds()
    for row in rows:
        ids.note(*row)
    return ids.lack


@pytest.mark.parametrize(
    ("ids", "missing"),
    [
        ([7, 8, 9, 10, 12], True),
        ([7, 8, 9, 10, 11], False),
        ([7, 8, 8, 9, 10], False),  # two rows of one datagram
        ([65534, 65535, 0, 1, 2], False),
        ([65534, 65535, 1, 2, 3], True),
        ([7, 8, 10, 9, 11], False),  # in another order
        ([7, 9, 30, 32, 90, 91], False),  # a counter that is not this socket's alone
        ([0, 0, 0, 0, 0], False),
        ([], False),
    ],
)
def test_a_socket_that_counts_its_datagrams_shows_that_one_is_missing(
    ids: list[int], missing: bool
) -> None:
    assert lack((one, one, 1) for one in ids) == missing


def test_runs_of_datagrams_are_counted_by_their_ends() -> None:
    assert not lack([(7, 12, 6), (13, 13, 1)])
    assert not lack([(7, 12, 9), (13, 13, 1)])  # several messages of a datagram
    assert lack([(7, 12, 6), (14, 14, 1)])
    assert lack([(7, 12, 5), (13, 13, 1)])
    assert not lack([(7, 12, 5), (9, 9, 1), (11, 11, 1), (13, 13, 1)])  # it lies between


@pytest.mark.parametrize(
    ("one", "other", "later"),
    [
        (8, 7, True),
        (7, 8, False),
        (7, 7, False),
        (1, 65535, True),
        (None, 7, None),
        (7, None, None),
        (70_000, 7, None),  # of a fragment of IPv6, drawn by lot
        (70_000, 70_000, False),
    ],
)
def test_what_was_sent_later_ids_that_count_up_tell(
    one: int | None, other: int | None, later: bool | None
) -> None:
    assert sent_later(one, other) is later
    assert newest(one, other) == (one if later or other is None else other)
