"""When a node had a subscriber, as the frames of one leg show it (zenoh.md 4.5, 9.4)."""

from dataclasses import dataclass, field
from typing import Final

from seqaudit.decoders.contract.zenoh_detail import CROWD_NS
from seqaudit.replay.contract.worth import BEGINNING, END
from seqaudit.replay.zenoh.sources import MAX_SOURCES

#: A node reads what came so much later at most, so that what it says then, of its subscribers too,
#: stands in the capture behind samples that it has not read: no frame says how far it is. Recorded
#: with 44 ms.
LAG_NS: Final = CROWD_NS


@dataclass(slots=True)
class SubscriberLife:
    """Of one of the subscribers that a node has at a key expression, one after the other.

    It is there from one frame to another. So long before these (``LAG_NS``) it may be there, or be
    gone, already.

    Attributes:
        number: from 1.
        since: job frame behind which it began; ``BEGINNING``: nothing shows that it was not there
            before.
        until: job frame that shows that it is over; ``END``: none does.
        left: its node said that it was undeclared.
        node_gone: its node ended with it, if it ended; else it may subscribe on by another session.
    """

    number: int = 1
    since: int = BEGINNING
    until: int = END
    left: bool = False
    node_gone: bool = True

    @property
    def over(self) -> bool:
        """Nothing reaches it any more."""
        return self.until != END

    def meets(self, first: int, last: int) -> bool:
        """Whether it may have been there between two job frames, both included."""
        return first <= self.until and last >= self.since

    def next(self) -> "SubscriberLife":
        """Of who subscribes there after it."""
        return SubscriberLife(self.number + 1, self.until)


@dataclass(slots=True)
class Undeclared:
    """Of a source and a node, those of its subscribers that were undeclared: their queries go on.

    Attributes:
        at: the last sns of them and their lanes; ``last``: the highest.
        bordered: samples were on their way to one of them.
        asked: what the first query behind that asked for first; null: there was none.
        goes_on: what its queries bring is handed on, as by releases up to 1.7, or may be: only one
            that asks for the same again shows that it is not.
    """

    at: set[int] = field(default_factory=set)
    last: int | None = None
    bordered: bool = False
    asked: int | None = None
    goes_on: bool = False

    def was(self, last: int) -> None:
        """One of them had come so far."""
        if len(self.at) < MAX_SOURCES:
            self.at.add(last)
            self.last = last if self.last is None else max(last, self.last)

    def asks(self, first: int) -> None:
        """A query behind its undeclaration, of one of them as it seems."""
        self.was(first - 1)
        self.goes_on = self.asked is None or first > self.asked
        self.asked = first if self.asked is None else self.asked

    def may_ask_from(self, first: int) -> bool:
        """Whether one of them was where a query begins, or samples were on their way to it."""
        at = first - 1
        return at in self.at or (self.bordered and self.last is not None and at < self.last)
