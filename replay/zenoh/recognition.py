"""Whether a session is zenoh's: by one batch that other bytes are not by chance, or on zenoh's port
by the order of its frames.

Other bytes read as a frame or a fragment by chance; their sns are any then. Where a capture begins
in mid-session, and its samples say no source, the sns of frames are all there is: the next one of
each counter is one more (zenoh.md 8), but for what was lost.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from seqaudit.decoders.contract.events import FRAME_BITS, Flag
from seqaudit.decoders.contract.zenoh_detail import BY_PORT
from seqaudit.replay.contract.event import Event

#: Counters that are followed: a session has at most 32.
MAX_FOLLOWED: Final = 64


@dataclass(slots=True)
class Claimed:
    """What was claimed in one piece because of zenoh's port alone.

    Attributes:
        batches: frames that were counted as zenoh's, those that were cut off among them.
        places: these by the endpoint that they went to.
    """

    batches: int = 0
    cut: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)


class Recognition:
    """What shows that a session is zenoh's, and what only might be.

    Attributes:
        messages, frames: of pieces, those that only might be.
        claimed: of pieces; to be given back, where nothing shows that the session is zenoh's.
    """

    def __init__(self) -> None:
        self.messages: dict[int, Counter[str]] = {}
        self.frames: Counter[int] = Counter()
        self.claimed: dict[int, Claimed] = {}
        self._proven = False
        self._next: dict[tuple[str | None, str | None, int | None], int] = {}
        self._followed = 0  # frames with the sn behind that of the one before it
        self._leapt = 0  # with another

    @property
    def shown(self) -> bool:
        return self._proven or self._followed > self._leapt

    def takes(self, event: Event, doubt: int) -> None:
        """Messages of one batch, or frames of one counter each of which has the next sn.

        Args:
            doubt: of ``Detail``.
        """
        if not doubt:
            self._proven = True
        elif doubt == BY_PORT:
            self._claimed(event).messages[event.wire_kind] += event.count
            if event.wire_kind in ("Frame", "Fragment"):
                self._follow(event)
        else:
            counts = self.messages.setdefault(event.frame >> FRAME_BITS, Counter())
            counts[event.wire_kind] += event.count

    def counts(self, event: Event, doubt: int) -> None:
        """How many batches only might be zenoh's, or are claimed by the port."""
        if doubt != BY_PORT:
            self.frames[event.frame >> FRAME_BITS] += event.count
            return
        claimed = self._claimed(event)
        claimed.batches += event.count
        claimed.places[str(event.destination)] += event.count

    def cut_off(self, event: Event) -> None:
        """A batch was cut off that was claimed: by the port, if nothing shows the session."""
        self._claimed(event).cut += 1

    def _claimed(self, event: Event) -> Claimed:
        return self.claimed.setdefault(event.frame >> FRAME_BITS, Claimed())

    def _follow(self, event: Event) -> None:
        assert event.seqno is not None and event.stop_seqno is not None
        counter = event.source, event.destination, event.conn_id
        expected = self._next.get(counter)
        if event.flags & Flag.NETWORK_DUPLICATE:
            return
        self._followed += event.stop_seqno - event.seqno - 1
        if expected is not None:
            self._followed += event.seqno == expected
            self._leapt += event.seqno != expected
        if expected is not None or len(self._next) < MAX_FOLLOWED:
            self._next[counter] = event.stop_seqno
