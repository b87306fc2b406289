"""Bytes of the members' TCP connections that a capture lacks (HOLE events, jgroups.md 1.9).

Over TCP all bytes come, so what a receiver lacks was dropped inside it. Where the capture lacks
bytes that came, the message may have been in them, and whether it came cannot be told.

Nor can it be told whose message a window lacks or has, once a member has repaired messages of
another in a list. All that is in a list goes to the window of the member that sent the list
(``MessageBatch.sender``), which has another's numbers from then on, and asks for those between.
Where members ask others than the sender, what the capture lacks may have been such a list.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from seqaudit.decoders.contract.events import END as ENDED
from seqaudit.decoders.contract.events import HOLE, Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.story import Where, placed
from seqaudit.replay.contract.worth import BEGINNING, END, Doubt, Span
from seqaudit.replay.jgroups.arrivals import JudgedStream
from seqaudit.replay.sequence.gap_rows import GapFigures
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: Spans of doubt that holes make; the last goes on to the end.
MAX_SPANS: Final = 1_000
_WHY: Final = "bytes of a connection are missing here, or could not be read (CP012, CP006)"
MISFILED: Final = (
    "a member repaired messages of another in a list, which JGroups takes for its own: windows "
    "have, and ask for, numbers that their sender did not use"
)
MAY_BE_MISFILED: Final = (
    "members ask others than the sender for repairs, and this capture lacks messages: JGroups "
    "takes another's messages in a list for those of the list's sender, and windows may have, and "
    "ask for, numbers that their sender did not use"
)
_OF_LISTS: Final = int(Flag.MISFILED | Flag.CUT)
_NONE: Final = RangeSet()


class LinkHoles:
    """The holes of the connections that carry one conversation.

    A hole is a half-open range of job frames: something is missing between each of them and the
    next. It begins with the last frame of its direction before it and ends at the one behind it.

    Attributes:
        others_repair: a member asked one for messages that another had sent, or what another had
            sent came from its socket: any may repair them.
    """

    def __init__(self) -> None:
        self._of: dict[str | None, RangeSet] = {}  # by who sent it; null: it never said so
        #: Where a connection ended unseen, by who sent and who was sent to.
        self._ended: dict[str | None, dict[str | None, int]] = {}
        self._misfiled: int | None = None
        self._lacking = False  # messages, or the ends of lists
        self.others_repair = False

    @property
    def misfiled(self) -> int | None:
        """The first frame with a message in a list of another member, which the capture may lack;
        null: none has."""
        if self.others_repair and self._lacking:
            return BEGINNING
        return self._misfiled

    @property
    def why_misfiled(self) -> str:
        """Why windows behind it cannot be told."""
        return MISFILED if self._misfiled is not None else MAY_BE_MISFILED

    def saw(self, event: Event) -> None:
        """Any event, such as HOLE or END, or what follows one.

        Where nothing shows how a connection ended, and its sender says something to the same member
        later, what it said last by the former may not be captured.
        """
        if event.flags & _OF_LISTS:
            self._lacking |= bool(event.flags & Flag.CUT)
            if event.flags & Flag.MISFILED and self._misfiled is None:
                self._misfiled = event.frame
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
        self._lacking |= window.lacks_messages()
        of = [holes for member in (sender, None) if (holes := self._of.get(member, _NONE))]
        for gap in window.gaps if of else ():
            since = -1 if gap.before is None else gap.before.frame
            if any(holes.within(since, gap.revealed.frame) for holes in of):
                window.ways.in_holes.add(gap.first, gap.stop)

    def untold(self, gap: GapFigures) -> GapFigures:
        """A row of a window's gap, of which nothing can be told if its window may have had another
        member's numbers before it ended."""
        ended, since = gap["repaired_frame"], self.misfiled
        if since is None or (ended is not None and ended < since):
            return gap
        gap.pop("open_until_ns", None)
        why = self.why_misfiled
        return {**gap, "outcome": str(Where.UNTOLD), "placed": placed(Where.UNTOLD, why)}

    def spans(self) -> Iterator[Span]:
        """Their doubt over the whole conversation."""
        every: Iterator[Range] = iter(RangeSet(p for holes in self._of.values() for p in holes))
        for number, (first, stop) in enumerate(islice(every, MAX_SPANS), 1):
            yield Span(Doubt.HOLE, first, END if number == MAX_SPANS else stop, _WHY)
        if self.misfiled is not None:
            yield Span(Doubt.MISFILED, self.misfiled, END, self.why_misfiled)
