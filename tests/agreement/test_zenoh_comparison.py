"""The comparison of zenoh itself: what it prints."""

import pytest

from tests.agreement.__main__ import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ([], "none"),
        ([[1, 4], [6, 6]], "1-4, 6"),
        ([["query lost"]], "[query lost]"),
        ([["not asked", "no cache"], ["evicted"]], "[not asked, no cache], [evicted]"),
        ([([[0, 3]], [1])], "[[0-3], [1]]"),
        (["ZN001", "ZN002"], "ZN001, ZN002"),
        ({"decoded": 3}, "{'decoded': 3}"),
    ],
)
def test_every_value_can_be_shown(value: object, text: str) -> None:
    assert shown(value) == text
