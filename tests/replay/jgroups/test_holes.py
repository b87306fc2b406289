"""What TCP connections may hide behind an end that nothing shows."""

from dataclasses import replace

import pytest

from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.holes import LinkHoles
from tests.replay.builders import B, C, Step, dated, msg, unseen_end


def said(*, to: str) -> Event:
    """A copy of a multicast for one member."""
    return replace(msg(1), destination=to)


@pytest.mark.parametrize(
    ("story", "doubted"),
    [
        ([unseen_end(to=C), said(to=B)], []),  # beside it, on another connection
        ([unseen_end(to=C), said(to=B), said(to=C)], [(1, 3)]),
        ([unseen_end(to=C)], []),  # nothing shows that more was said
    ],
)
def test_behind_an_unseen_end_counts_what_is_said_to_the_same_member(
    story: list[Step], doubted: list[tuple[int, int]]
) -> None:
    holes = LinkHoles()
    for event in dated(story):
        holes.saw(event)
    assert [(span.first, span.last) for span in holes.spans()] == doubted
