"""Captures that tell too little for a receiver's figures.

Where time goes back, and nothing shows whether the clock was set or records stand in another order
than they were sent, as those of files that were joined one behind the other (CP014): figures rest
on what came before what. And where so many packets are damaged (CP021) that some may be of which
the checksum is right, or that of most is wrong and nobody can tell whether they are.
"""

from typing import Final, cast

from seqaudit.replay.captures.doubts import unseen_damage
from seqaudit.replay.contract.capture_rows import MergedAccount, Order
from seqaudit.replay.contract.results import D, Row

#: Figures of a stream, or of a peer as an observer has it, that rest on that; all of them may be
#: null.
_FIGURES: Final = (
    "counted_loss", "delivered", "delivered_by_subject", "delivered_unsure", "false_loss",
    "ibx_loss", "ignored", "lost", "lost_by_subject", "lost_lower", "lost_proven", "lost_seqnos",
    "lost_upper", "misses", "msg_loss", "not_sub", "null_rte", "recovered", "repeat", "rows",
    "subscribers", "unrecovered", "unrecovered_seqnos", "unwanted", "zero_seqnos",
)  # fmt: skip
_DISORDER: Final = "time goes back, and nothing tells whether records are out of order (CP014)"


def untold(account: MergedAccount) -> str | None:
    """Why nobody can tell the figures of a capture; null: that can be told."""
    if _is_disordered(account.order):
        return _DISORDER
    damage = unseen_damage(account)
    return None if damage is None else f"{damage} (CP021)"


def _is_disordered(order: Order) -> bool:
    """Whether records of a capture may be out of order where its time goes back: no sender's IP ids
    show that it was the clock, or some show that it was not."""
    return order["steps_more"] > 0 or any(
        against or not agree for *_, agree, against in order["steps"]
    )


def without_figures(row: D, why: str) -> D:
    """A row of such a capture without these; one in which nobody has a role or observes is of
    numbers alone, and as it was."""
    told = cast(Row, row)
    gone = [name for name in _FIGURES if told.get(name) is not None]
    if not gone or told.keys().isdisjoint(("role", "observer")):
        return row
    known = {**told.get("unknown", {}), **dict.fromkeys(gone, why)}
    return cast(D, {**told, **dict.fromkeys(gone), "unknown": known})
