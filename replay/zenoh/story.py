"""What the stories of zenoh's gaps say: what showed them, where samples were lost, and how
queries ended."""

from typing import Final

from seqaudit.replay.contract.story import SENDER, Where, by_outcome
from seqaudit.replay.sequence.gap_rows import Step
from seqaudit.replay.sequence.gaps import Outcome
from seqaudit.replay.zenoh.query import Query

# Where samples of a gap were lost, as this leg shows it.
ON_LINK: Final = "on this link"
OUT_OF_ORDER: Final = "nowhere: sent out of the order of their sns"
BEFORE: Final = "before the transport of this link"
DISCARDED: Final = "thrown away by the receiving transport"
BETWEEN_SESSIONS: Final = "before this session began"

# What showed a gap.
BY_SAMPLE: Final = "a newer sample"
BY_HEARTBEAT: Final = "heartbeat"
BY_QUERY: Final = "this subscriber's own query"
BY_REPLY: Final = "a reply that brought it"

#: Where samples were lost, by what the transport of this leg shows.
_PLACES: Final = {
    DISCARDED: (Where.AFTER, "its frame is here, and the receiving transport threw it away"),
    OUT_OF_ORDER: (Where.NOWHERE, "it was sent out of the order of its sns"),
    BETWEEN_SESSIONS: (
        Where.UNTOLD,
        "it was sent before this session began, and lost with the session before",
    ),
    BEFORE: (
        Where.BEFORE,
        "no transport sn is missing here: the frame was never sent on this link",
    ),
}


def lost_where(place: str | None, outcome: str, role: str, requests: int) -> tuple[Where, str]:
    """Where samples of a gap were lost, and what says so."""
    if place == ON_LINK and role == SENDER:
        return (
            Where.UNTOLD,
            "a transport sn is missing at its sender's own interface: dropped inside the sender, "
            "or not captured",
        )
    if place == ON_LINK:
        return Where.BEFORE, "a transport sn is missing here as well: lost on the link before"
    if place is not None:
        return _PLACES[place]
    return by_outcome(outcome, role, requests)


def query_end(query: Query, seqnos: list[list[int]]) -> Step:
    """How a query for a gap ended, as a step of the gap's story; it has ended.

    Args:
        seqnos: inclusive ranges of the gap.
    """
    assert query.ended is not None, "an open query has no end"
    end: Step = {
        "step": "answered", "frame": query.ended.frame, "at_ns": query.ended.at_ns,
        "by": min(query.responders, default=None), "says": "the answer brought it",
    }  # fmt: skip
    if query.timed_out or query.gone:
        end |= {"step": "unanswered", "by": None, "says": "no answer in time"}
        if query.gone:
            end["says"] = "the session ended before an answer"
        if query.timed_out:
            end["frame"] = None
    elif not any(query.replied.within(first, last + 1) for first, last in seqnos):
        end |= {"step": "refused", "says": "the answer ended without it"}
        if query.evicted and any(query.evicted.within(a, b + 1) for a, b in seqnos):
            end["says"] += ": the cache no longer had it"
    return end


#: Where frames were lost, by how their gap ended.
HOP_PLACES: Final = {
    str(Outcome.UNTOLD): (Where.BEFORE, "its transport sn did not come here"),
    "late and thrown away": (
        Where.AFTER, "its frame is here, behind a newer one: the receiving transport threw it away"
    ),
    "lost or late": (Where.UNTOLD, "some of it came behind newer frames, the rest did not"),
}  # fmt: skip
