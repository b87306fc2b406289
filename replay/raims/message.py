"""One row of raims messages with what every numbered message has."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.seqno import key
from seqaudit.replay.sequence.ranges import RangeSet


class MessageRun(NamedTuple):
    """Messages of one publisher and subject, in a row.

    Attributes:
        subject: what the stream is called by: its subject, or the path of GLSNO numbers.
        seqno, stop: of the first, and one past the last; equal for a message with number 0.
    """

    event: Event
    source: str
    subject: str
    seqno: int
    stop: int

    @classmethod
    def of(cls, event: Event) -> "MessageRun | None":
        """As an event tells it; null where it lacks its sender or its numbers."""
        if event.source is None or event.seqno is None or event.stop_seqno is None:
            return None
        return cls(event, event.source, subject_of(event), event.seqno, event.stop_seqno)

    def beyond(self, seen: RangeSet) -> Iterator[Event]:
        """Those that are not among numbers that came before."""
        for low, high in seen.missing(key(self.seqno), key(self.stop)):
            first = self.seqno + low - key(self.seqno)
            begins = low == key(self.seqno)
            yield replace(
                self.event, seqno=first, stop_seqno=first + high - low, count=high - low,
                conn_id=self.event.conn_id if begins else None,
                size=self.event.size * (high - low) // max(self.event.count, 1),
            )  # fmt: skip

    @property
    def is_glsno(self) -> bool:
        """Is it numbered per publisher and path?"""
        return self.event.wire_kind == "GLSNO"


def subject_of(event: Event) -> str:
    """What a stream is called by: its subject, or the path of GLSNO numbers."""
    if event.wire_kind == "GLSNO":
        return "#" + (event.stream or "").rpartition("#")[2]
    return str(event.destination)
