"""What a capture tells where its time goes back and nothing shows whether its clock was set or its
records stand in another order than they were sent, as those of files that were joined one behind
the other (CP014).

A receiver's figures rest on what came before what. The records stand as they stood, so that each of
them counts, and nobody can tell what they come to.
"""

from typing import Final, cast

from seqaudit.replay.contract.capture_rows import Order
from seqaudit.replay.contract.results import D, Row

#: Figures of a stream, or of a peer as an observer has it, that rest on the order of records; all
#: of them may be null.
_FIGURES: Final = (
    "counted_loss", "delivered", "false_loss", "ibx_loss", "lost", "lost_lower", "lost_proven",
    "lost_seqnos", "lost_upper", "msg_loss", "not_sub", "null_rte", "recovered", "repeat",
    "unrecovered", "unrecovered_seqnos",
)  # fmt: skip
_WHY: Final = "time goes back, and nothing tells whether records are out of order (CP014)"


def is_untold(order: Order) -> bool:
    """Whether records of a capture may be out of order where its time goes back: no sender's IP ids
    show that it was the clock, or some show that it was not."""
    return order["steps_more"] > 0 or any(
        against or not agree for *_, agree, against in order["steps"]
    )


def without_order(row: D) -> D:
    """A row of such a capture, without the figures that rest on the order; one in which nobody has
    a role or observes is of numbers alone, and as it was."""
    told = cast(Row, row)
    gone = [name for name in _FIGURES if told.get(name) is not None]
    if not gone or told.keys().isdisjoint(("role", "observer")):
        return row
    why = dict.fromkeys(gone, _WHY)
    return cast(D, {**told, **dict.fromkeys(gone), "unknown": {**told.get("unknown", {}), **why}})
