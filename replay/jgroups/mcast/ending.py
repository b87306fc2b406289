"""When the member at this point has gone, and how far it had delivered by then (V12, W5).

A view without it says so, or another process in its place. Where neither is in the capture, only
its silence tells: it owes an ACK at every tick for what it has delivered since the one before
(NAKACK4; R8), so one that sends none for three ticks has died, or is stopped.
"""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.evidence import Life
from seqaudit.replay.jgroups.mcast.streams import McastStream
from seqaudit.replay.sequence.gaps import Mark

GONE: Final = (
    "this member died or left, or another one at its host took its place; it delivered at "
    "least up to its last ACK and at most up to the view without it"
)
SILENT: Final = (
    "no word of this member follows, not even what it owed for messages that came: it has died, or "
    "was stopped, or its words are not captured; it delivered at least up to its last ACK and at "
    "most what came"
)


#: Delivered at least and at most, and why that is all that is known; by stream.
Ends = dict[str, tuple[int, int, str]]


def ends(
    streams: Mapping[str, McastStream],
    member: str | None,
    view: Event | None = None,
    why: str = GONE,
) -> Ends:
    """Of all windows that were there when it ended.

    Args:
        view: that puts it out; null: none is in the capture.
    """
    told: Ends = {}
    for stream in streams.values():
        receiver = stream.receiver
        if receiver is not None and receiver.removed is None and member is not None:
            told[stream.key] = *stream.delivered_until(receiver, member, view), why
    return told


def silent_ends(
    streams: Mapping[str, McastStream], life: Life, member: str | None, end: Mark
) -> Ends:
    """The same where it owes an ACK since its last word."""
    word = life.last
    windows = [stream.receiver for stream in streams.values() if stream.receiver is not None]
    if word is None or not any(window.owes_ack(word, end.at_ns) for window in windows):
        return {}
    return ends(streams, member, why=SILENT)
