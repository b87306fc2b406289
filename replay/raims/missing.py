"""What of a link did not come between two messages, and how sure it is that it was lost."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from seqaudit.replay.contract.finding import ON_NOTHING, Certainty, Rests
from seqaudit.replay.pgm.holes import Hole


@dataclass(frozen=True, slots=True)
class Missing:
    """What of a link did not come between two of its packets, as far as the capture shows.

    Attributes:
        holes: packets that the capture does not hold; how sure it is that they were lost is theirs
            to say, and may change as long as the capture goes on.
        cut: packets that came, of which the snap length left only the beginning.
        unread: packets that came, in which something was no message.
        sure: of a link without numbers of its own, how sure it is that what did not come was not
            captured because it was lost; null: by the holes.
        why: why that is not proven, a clause.
    """

    holes: tuple[Hole, ...] = ()
    cut: int = 0
    unread: int = 0
    sure: Certainty | None = None
    why: str = ""

    @property
    def count(self) -> int:
        """Packets that are not here, or not whole."""
        return sum(hole.count for hole in self.holes) + self.cut + self.unread

    @property
    def certainty(self) -> Certainty:
        """How sure it is that all that was in them was lost, and nothing else is missing."""
        if self.sure is not None:
            return self.sure
        if self.cut or self.unread or not self.holes:
            return Certainty.UNDECIDABLE
        losses = {hole.loss for hole in self.holes}
        unsure = (Certainty.UNDECIDABLE, Certainty.LIKELY)
        return next((sure for sure in unsure if sure in losses), Certainty.PROVEN)

    @property
    def rests(self) -> Rests:
        """On no repair in the last waits of its packets."""
        waits = [hole.last_wait for hole in self.holes]
        if not waits:
            return ON_NOTHING
        return Rests(absent=(min(wait[0] for wait in waits), max(wait[1] for wait in waits)))

    @property
    def reason(self) -> str:
        """Why it is not proven that something was lost; empty if it is."""
        if self.why or self.certainty is Certainty.PROVEN:
            return self.why
        if self.cut:
            return f"{_packets(self.cut)} before it {_were(self.cut)} cut by the snap length"
        if self.unread:
            return f"{_packets(self.unread)} before it could not be read to the end (CP006)"
        unsure = sum(hole.count for hole in self.holes if hole.loss is not Certainty.PROVEN)
        if unsure:
            return f"{_packets(unsure)} before it {_were(unsure)} not captured, nor surely given up"
        return "no packet before it is missing on this link"


def rests_of(missing: Iterable[Missing]) -> Rests:
    """On no repair of all their packets in their last waits."""
    known = [one.rests.absent for one in missing if one.rests.absent is not None]
    if not known:
        return ON_NOTHING
    return Rests(absent=(min(first for first, _ in known), max(last for _, last in known)))


#: Bytes of a TCP connection without a hole.
BYTES_WHOLE: Final = Missing(sure=Certainty.PROVEN)
OTHER_LINK: Final = Missing(
    sure=Certainty.UNDECIDABLE, why="the messages on both sides came on different links"
)
RECONNECTED: Final = Missing(
    sure=Certainty.LIKELY, why="the messages on both sides came on different connections"
)
BYTES_MISSING: Final = Missing(
    sure=Certainty.UNDECIDABLE,
    why="bytes of the connection are missing here, or could not be read (CP012, CP006)",
)
BORDER_UNSEEN: Final = Missing(
    sure=Certainty.UNDECIDABLE,
    why="the messages on both sides came on different connections, and the end of the one or the "
    "begin of the other is not in this capture",
)
OTHERS_LACK: Final = Missing(
    sure=Certainty.UNDECIDABLE,
    why="the messages on both sides came on different connections, and what came in between on "
    "others is not all in this capture",
)
SECRET: Final = Missing(sure=Certainty.UNDECIDABLE, why="another link is encrypted")


def _packets(count: int) -> str:
    return f"{count} packet" if count == 1 else f"{count} packets"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
