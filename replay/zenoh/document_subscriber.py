"""The ReliableSubscriber of the design document (zenoh.md 10)."""

from seqaudit.replay.sequence.gaps import Arrival
from seqaudit.replay.sequence.ranges import Range
from seqaudit.replay.zenoh.handed import Handed
from seqaudit.replay.zenoh.query import Query
from seqaudit.replay.zenoh.subscriber import Subscriber


class DocumentSubscriber(Subscriber):
    """The ReliableSubscriber of the design document (zenoh.md 10): replies wait for their query.

    The first sample of a source and the expected one are passed on (D2, D3), any other is pending
    and asked for (D4). Replies are sorted and handed on when the query ends (D5), then what was
    pending (D6); for what is still missing no miss callback is due, only an error in the log (D7).
    Periodic queries and history as in the shipped one (D8, D9).
    """

    shipped = learns = False
    last_frame = 0  # of the last sample that came

    def before(self, older: list[Range]) -> None:
        """Historical samples, handed on before what came live (D9)."""
        live, self.delivery = self.delivery, Handed(self.around.signs())
        for first, stop in (*older, *live.ranges):
            self.delivery.deliver(first, stop)
        self.delivery.unlisted += live.unlisted

    def _agree(self, query: Query, first: int) -> None:
        """Its range begins with the last one it has (D20)."""
        if first != self.last:
            super()._agree(query, first)

    def sample(self, first: int, stop: int, arrival: Arrival, reply: Query | None) -> None:
        """As the document has it: a reply joins what is pending until its query ends (D5)."""
        self.last_frame = arrival.last.frame
        if reply is None or self.last is None:
            super().sample(first, stop, arrival, reply)
            return
        self._filling = reply
        self._note(first, stop, arrival)
        if first <= self.last:
            self._repeated(first, min(stop, self.last + 1), arrival.first)
            first = self.last + 1
        if first < stop:
            self._hold(first, stop, arrival.first)
