"""What every point of capture can count of a unicast stream, and the pair it belongs to.

A stream is (cluster, sender, receiver, conn_id); SEND_FIRST_SEQNO and XMIT_REQ carry no conn_id, so
they are counted on the connection that was in use (jgroups.md 2.3, 4).
"""

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.arrivals import Arrivals
from seqaudit.replay.jgroups.report_rows import AckTraffic
from seqaudit.replay.jgroups.stream import NumberedStream
from seqaudit.replay.jgroups.unicast.connection_states import (
    CLOSED,
    Change,
    ConnectionLife,
    ConnectionLives,
)
from seqaudit.replay.sequence.notes import Times
from seqaudit.replay.sequence.ranges import Range, total


class Stream(NumberedStream):
    """One connection in one direction.

    Attributes:
        received: the window of the receiver, if it is replayed here.
        life: what happened to the end that is replayed here; null: none is.
        states: of that end, told when the capture is over.
        later: the same, by timeouts, if the capture is so long.
        resends: copies by why they were sent, where the sender was replayed.
        highest_acked: level that counts at the replayed end.
        first_message: its first message came, as one.
        syncs: SEND_FIRST_SEQNO that passed here; syncs_of_another: those that may have been for
            the connection behind this one.
    """

    def __init__(
        self, key: str, system: str, sender: str, receiver: str, conn_id: int | None
    ) -> None:
        super().__init__(key, system, sender)
        self.receiver = receiver
        self.conn_id = conn_id
        self.copies_with_first_flag = 0
        self.highest_ack: int | None = None
        self.requested_seqnos = 0
        self.received: Arrivals | None = None
        self.life: ConnectionLife | None = None
        self.states: list[Change] = []
        self.later: list[Change] = []
        self.resends: dict[str, int] = {}
        self.highest_acked: int | None = None
        self.highest_sent: int | None = None
        self.first_message = False
        self.syncs = Times()
        self.syncs_of_another = 0

    def count(self, event: Event) -> list[Range]:
        """Count a message or run; returns the seqnos that were never captured before."""
        assert event.seqno is not None
        new = super().count(event)
        self.first_message |= event.seqno == 1 and bool(event.flags & Flag.FIRST)
        if event.flags & Flag.FIRST and event.seqno > 1:  # seqno 1 always has it (4.3)
            self.copies_with_first_flag += event.count - total(new)
        return new

    def saw_request(self, event: Event) -> None:
        """An XMIT_REQ; its ``count`` is the number of seqnos in it."""
        self._saw(event, 1)
        self.requested_seqnos += event.count

    def named_again(self) -> bool:
        """Do two frames name it? One may have been damaged where no checksum tells."""
        first, last = self.first, self.last
        return first is not None and last is not None and first.frame != last.frame

    def kinds(self, kind: str) -> int:
        """How many of one wire kind passed."""
        return self.by_wire_kind.get(kind, 0)

    def life_in(self, lives: ConnectionLives) -> ConnectionLife:
        """What happens to the replayed end, which begins with the first time that it is asked."""
        if self.life is None:
            self.life = lives.begin()
        return self.life

    def tell_states(self, *, reaped_silently: bool, goes_on: bool) -> None:
        """The capture is over: see ``ConnectionLife.tell``."""
        if self.life is not None:
            told = self.life.tell(reaped_silently=reaped_silently, goes_on=goes_on)
            self.states, self.later = told

    def removed_at(self) -> int | None:
        """When the replayed end removed it, in ns; null if it has not."""
        return self.states[-1][1].at_ns if self.state == CLOSED else None

    @property
    def state(self) -> str | None:
        """The last state; null where no end was replayed, or it cannot be told."""
        return self.states[-1][0] if self.states else None

    def resent(self, why: str, number: int) -> None:
        """Copies were sent for this reason."""
        self.resends[why] = self.resends.get(why, 0) + number

    def ack_traffic(self) -> AckTraffic:
        """ACKs and bytes of them for the data they acknowledge (jgroups.md 6)."""
        acks, data = self.kinds("ACK"), self.kinds("DATA")
        return {
            "acks": acks,
            "ack_bytes": self.bytes_by_wire_kind.get("ACK", 0),
            "data_bytes": self.bytes_by_wire_kind.get("DATA", 0),
            "messages_per_ack": round(data / acks, 2) if acks else None,
        }
