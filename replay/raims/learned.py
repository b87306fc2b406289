"""What a daemon's silence says of its window: late copies that it must have rejected as too old.

A copy of a message from an older time frame is a loss for raims (rows 13 and 14), unless the window
has rotated so often that the copy's time is before what it remembers (row 0). When it rotates rests
on parameters that no wire tells. A loss must be told to its publisher at once; where all that was
said to it is captured and holds no notice, the daemon has counted none, so the default is not its
own.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from seqaudit.replay.raims.advisories import Advisories
from seqaudit.replay.raims.notices import Notice, Notices
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.seqno import key
from seqaudit.replay.raims.streams import RaimsStream, RepeatedMessage, ReportedVerdict

#: Parameters that decide when the window rotates.
SUB_WINDOW: Final = ("sub_window_size", "sub_window_count", "sub_window_time_ms")
_COPIES: Final = ("raims-9.13", "raims-9.14")


@dataclass(frozen=True, slots=True)
class Announced:
    """What a daemon had to tell its peers, and what it told them.

    Attributes:
        notices: that were captured.
        silence: where all that was said to a peer from a moment on is captured; null: nowhere.
    """

    due: Notices
    notices: list[Notice]
    advisories: Advisories
    silence: Callable[[str, int], str | None]


def learn(
    peers: Iterable[Peer], all_streams: Mapping[tuple[str, str], RaimsStream], told: Announced
) -> None:
    """Take back what the default sizes made of late copies, where the daemon shows otherwise."""
    for peer in peers:
        if peer.doubted:  # whoever took none of them had nothing to tell
            continue
        streams = [s for (bridge, _), s in all_streams.items() if bridge == peer.bridge]
        false = {
            key(step.verdict.seqno)
            for stream in streams
            for step in stream.steps
            if step.verdict.counted and step.loss is None
        }
        says = _silence(peer, false, told) if false else None
        if says is None:
            continue
        peer.learned = (
            f"what was said to it {says} is whole and holds no loss notice, so no loss was "
            "counted: the copies were too old for the window"
        )
        for stream in streams:
            _take_back(peer, stream, told)


def _silence(peer: Peer, false: set[int], told: Announced) -> str | None:
    """Where it shows that the daemon told the publisher of none of these; null: nowhere."""
    if any(n.publisher == peer.bridge and key(n.seqno or 0) in false for n in told.notices):
        return None
    for due in told.due.missing(told.notices):
        if due.publisher == peer.bridge and key(due.seqno) in false:
            says = told.silence(peer.bridge, due.mark.at_ns)
            if says is not None:
                return says
    return None


def _take_back(peer: Peer, stream: RaimsStream, told: Announced) -> None:
    gone: list[ReportedVerdict] = []
    for step in stream.steps:
        copy = step.verdict.row in _COPIES
        if not copy and not (step.verdict.counted and step.loss is None):
            continue
        gone.append(step)
        counted, seqno, stop = step.verdict.counted, step.verdict.seqno, step.verdict.stop
        peer.msg_loss.count -= counted
        stream.counted -= counted
        stream.false_loss -= counted
        told.due.forget(peer.bridge, seqno)
        if copy:
            peer.repeat.add(stop - seqno, step.mark)
            verdict = replace(step.verdict, row="raims-9.0")
            stream.repeats.append(RepeatedMessage(verdict, step.mark, known=True))
            if [seqno, stop] in stream.delivered:
                stream.delivered.remove([seqno, stop])
    if peer.msg_loss.count == 0:
        peer.msg_loss.at_ns = None
    stream.steps = [step for step in stream.steps if step not in gone]
    marks = {step.mark for step in gone}
    made = told.advisories
    made.events = [event for event in made.events if event.mark not in marks]
    made.published = [one for one in made.published if one.mark not in marks]
