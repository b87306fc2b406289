"""Bytes of the members' TCP connections that a capture lacks (HOLE events, jgroups.md 1.9).

Over TCP all bytes come, so what a receiver lacks was dropped inside it. Where the capture lacks
bytes that came, the message may have been in them, and whether it came cannot be told.

Nor can it be told whose message a window lacks or has, once a member has repaired messages of
another in a list. All that is in a list goes to the window of the member that sent the list
(``MessageBatch.sender``), which has another's numbers from then on, and asks for those between.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from seqaudit.decoders.contract.events import END as ENDED
from seqaudit.decoders.contract.events import HOLE, Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.worth import END, Doubt, Span
from seqaudit.replay.jgroups.arrivals import JudgedStream
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: Spans of doubt that holes make; the last goes on to the end.
MAX_SPANS: Final = 1_000
_WHY: Final = "bytes of a connection are missing here, or could not be read (CP012, CP006)"
MISFILED: Final = (
    "a member repaired messages of another in a list, which JGroups takes for its own: windows "
    "have, and ask for, numbers that their sender did not use"
)
_NONE: Final = RangeSet()


class LinkHoles:
    """The holes of the connections that carry one conversation.

    A hole is a half-open range of job frames: something is missing between each of them and the
    next. It begins with the last frame of its direction before it and ends at the one behind it.

    Attributes:
        misfiled: the first frame with a message in a list of another member; null: none has.
    """

    def __init__(self) -> None:
        self._of: dict[str | None, RangeSet] = {}  # by who sent it; null: it never said so
        #: Where a connection ended unseen, by who sent and who was sent to.
        self._ended: dict[str | None, dict[str | None, int]] = {}
        self.misfiled: int | None = None

    def saw(self, event: Event) -> None:
        """Any event, such as HOLE or END, or what follows one.

        Where nothing shows how a connection ended, and its sender says something to the same member
        later, what it said last by the former may not be captured.
        """
        if event.flags & Flag.MISFILED and self.misfiled is None:
            self.misfiled = event.frame
        if event.wire_kind == ENDED:
            self._ended.setdefault(event.source, {}).setdefault(event.destination, event.frame)
        elif event.wire_kind == HOLE:
            self._add(event.source, event.details()["since"], event.frame)
        elif self._ended and (ended := self._ended.get(event.source)):
            to = event.destination
            for member in list(ended) if to is None else (to, None):  # null: it has not spoken
                if (since := ended.pop(member, None)) is not None:
                    self._add(event.source, since, event.frame)

    def _add(self, source: str | None, since: int, frame: int) -> None:
        self._of.setdefault(source, RangeSet()).add(since, max(frame, since + 1))

    def lie_over(self, window: JudgedStream, sender: str) -> None:
        """What a window was not seen to get may have come in one: messages are sent in order, so
        between the last one before a gap and what revealed it."""
        of = [holes for member in (sender, None) if (holes := self._of.get(member, _NONE))]
        for gap in window.gaps if of else ():
            since = -1 if gap.before is None else gap.before.frame
            if any(holes.within(since, gap.revealed.frame) for holes in of):
                window.ways.in_holes.add(gap.first, gap.stop)

    def spans(self) -> Iterator[Span]:
        """Their doubt over the whole conversation."""
        every: Iterator[Range] = iter(RangeSet(p for holes in self._of.values() for p in holes))
        for number, (first, stop) in enumerate(islice(every, MAX_SPANS), 1):
            yield Span(Doubt.HOLE, first, END if number == MAX_SPANS else stop, _WHY)
        if self.misfiled is not None:
            yield Span(Doubt.MISFILED, self.misfiled, END, MISFILED)
