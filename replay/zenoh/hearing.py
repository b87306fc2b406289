"""Who asks because of a heartbeat, of the subscribers of a node, and what these have read."""

from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.zenoh.lives import LAG_NS
from seqaudit.replay.zenoh.subscriber import Subscriber


def hear_heartbeats(mine: list[Subscriber]) -> list[Subscriber]:
    """Those that subscribe to heartbeats; all, where no declaration says it of any."""
    return [one for one in mine if one.around.asks_from(one.life.since) is not None] or mine


def told_by_heartbeat(mine: list[Subscriber], first: int | None) -> list[Subscriber]:
    """Who asks for ``first`` and what follows because of a heartbeat (S14, S16).

    The key expression of that query is the publisher's. Whoever asks subscribes to heartbeats, has
    no query open, and asks for what follows the last that it handed on.
    """
    found = hear_heartbeats(mine)
    found = [one for one in found if not one.queries] or found
    return [one for one in found if one.last is None or first == one.last + 1] or found


def unread(one: Subscriber, mark: Mark) -> int:
    """The job frame from which on a node may not have read what it handed on before a mark."""
    handed = one.handed_at
    recent = handed is not None and mark.at_ns - handed.at_ns < LAG_NS
    return handed.frame if handed is not None and recent else mark.frame
