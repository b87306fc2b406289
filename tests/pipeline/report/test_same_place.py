"""A stream that several captures of one place show counts once."""

from typing import Any

import pytest

from seqaudit.pipeline.report.same_place import SamePlace
from seqaudit.pipeline.report.totals import messages_of
from seqaudit.replay.contract.settings import CaptureSettings, Vantage

HERE = Vantage("member", "10.0.0.2")
THERE = Vantage("member", "10.0.0.3")
NOWHERE = Vantage()


def row(capture: int, first: int, last: int, lost: int | None, messages: int = 9) -> Any:
    return {
        "capture": capture, "system": "x", "id": "s", "first_ns": first, "last_ns": last,
        "messages": messages, "lost": lost, "recovered": 0, "unrecovered": lost, "unknown": {},
        "role": "receiver",
    }  # fmt: skip


def marks(vantages: list[Vantage], *rows: Any, networks: tuple[str, ...] = ()) -> list[Any]:
    captures = [CaptureSettings(network=network) for network in networks]
    return [r.get("again") for r in SamePlace(vantages, captures).marked(rows)]


@pytest.mark.parametrize(
    ("vantages", "other", "again"),
    [
        ([HERE, HERE], (0, 90), {"capture": 0, "beyond": False}),
        ([HERE, HERE], (5, 95), {"capture": 0, "beyond": True}),
        ([HERE, HERE], (91, 99), None),  # one after the other
        ([HERE, THERE], (0, 90), None),  # of a group, at two members
        ([NOWHERE, NOWHERE], (0, 90), {"capture": 0, "beyond": False}),  # a copy
        ([NOWHERE, NOWHERE], (0, 89), None),
        ([HERE, NOWHERE], (0, 90), None),
    ],
)
def test_what_is_seen_at_one_place_at_once_counts_in_one_capture(
    vantages: list[Vantage], other: tuple[int, int], again: Any
) -> None:
    assert marks(vantages, row(0, 0, 90, 3), row(1, *other, 3)) == [None, again]


def test_the_row_counts_that_tells_of_loss_and_shows_most() -> None:
    told = marks([HERE] * 3, row(0, 0, 90, None, 99), row(1, 0, 50, 1, 5), row(2, 0, 80, 2, 8))
    assert [one and one["capture"] for one in told] == [2, 2, None]


def test_networks_have_nothing_in_common() -> None:
    rows = row(0, 0, 90, 3), row(1, 0, 90, 3)
    assert marks([HERE, HERE], *rows, networks=("a", "b")) == [None, None]


def test_totals_count_it_once_and_at_most_what_the_others_show_beyond() -> None:
    vantages = [HERE, HERE, HERE]
    rows = row(0, 0, 90, 3), row(1, 5, 95, 2, 8), row(2, 1, 90, 3, 7)
    told = messages_of(list(SamePlace(vantages, []).marked(rows)), [], vantages, whole=True)
    assert (told["messages"], told["lost"], told["lost_upper"]) == (9, 3, 5)


def test_of_rows_that_follow_each_other_that_counts_which_is_of_the_same_time() -> None:
    days = [row(n, 100 * n, 100 * n + 90, 1, messages=50 - n) for n in range(40)]
    again = row(40, 1_510, 1_520, 1, messages=1)
    across = row(41, 1_580, 1_610, 1, messages=2)
    told = marks([HERE] * 42, *days, again, across)
    assert told[:40] == [None] * 40
    assert told[40:] == [{"capture": 15, "beyond": False}, {"capture": 15, "beyond": True}]
