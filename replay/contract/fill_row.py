"""A row of ``windows``: how full a window was over time, as its engine saw it."""

from typing import TYPE_CHECKING, Final, Literal

from seqaudit.replay.sequence.fills import Fill

if TYPE_CHECKING:
    from seqaudit.replay.contract.results import Row

What = Literal[
    "unacknowledged messages",
    "packets from the first missing one on",
    "bytes in the publishers' window",
    "bytes in the subscribers' window",
]

#: Less than this at once is no picture: one message is always under way.
_LEAST: Final = 2


def fill_row(
    what: What, member: str | None, limit: int | None, fill: Fill, begin_ns: int | None = None
) -> "Row | None":
    """The detail of a WINDOW row; null where it was never worth one.

    Args:
        member: whose window it is.
        begin_ns: when it was known to be empty; null: nobody knows.
    """
    if fill.most < _LEAST:
        return None
    points = fill.points()
    if begin_ns is not None and points[0][0] > begin_ns:
        points.insert(0, [begin_ns, 0])
    return {
        "what": what,
        "member": member,
        "limit": limit,
        "most": fill.most,
        "thinned": fill.thinned,
        "points": points,
    }
