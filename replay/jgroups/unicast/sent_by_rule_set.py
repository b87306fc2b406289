"""How much each rule set would have sent in answer to what arrived (jgroups.md 4.5; JGRP-1874).

The replay stays on what really arrived: after the first message that only one rule set would have
sent, the others' story would have been another one. So these are counts of one receiver's answers
to the messages of this capture, not a simulation of the whole.
"""

from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.report_rows import SentRow
from seqaudit.replay.jgroups.unicast.rule_sets import BEFORE_SYNC, CODE, DOCUMENT


class Paced:
    """Counts what is sent at most once in an interval, the first at once."""

    __slots__ = ("_interval_ns", "_last_ns", "count")

    def __init__(self, interval_ns: int) -> None:
        self.count = 0
        self._interval_ns = max(interval_ns, 1)
        self._last_ns: int | None = None

    def span(self, first_ns: int, last_ns: int, causes: int) -> None:
        """``causes`` events between two times, taken as evenly spread."""
        if self._last_ns is None or first_ns - self._last_ns >= self._interval_ns:
            self.count += 1
            self._last_ns = first_ns
            causes -= 1
        more = min((last_ns - self._last_ns) // self._interval_ns, causes)
        if more > 0:
            self.count += more
            self._last_ns += more * self._interval_ns


class WouldSend:
    """One receiver's SEND_FIRST_SEQNO and ACKs by each rule set.

    Args:
        tick_ns: xmit_interval, the period of the task.
        sync_ns: sync_min_interval.
        min_ack_ns: the UNICAST3 document's minimum time between two acks (U3).
    """

    def __init__(self, tick_ns: int, sync_ns: int, min_ack_ns: int) -> None:
        self._code = Paced(sync_ns)  # B20
        self._document = Paced(sync_ns)  # S3, with an entry
        self._always = 0  # S3, without one
        self._task = Paced(tick_ns)  # U17
        self._acks_code = Paced(tick_ns)  # B13
        self._acks_document = Paced(min_ack_ns)  # U3

    def no_window(self, event: Event, *, entry: bool) -> None:
        """Messages came for which there was no window; ``entry``: one of another connection."""
        first, last = event.first_mark().at_ns, event.last_mark().at_ns
        self._code.span(first, last, event.count)
        self._task.span(first, last, event.count)
        if entry:
            self._document.span(first, last, event.count)
        else:
            self._always += event.count

    def accepted(self, event: Event) -> None:
        """Messages were accepted by a window."""
        first, last = event.first_mark().at_ns, event.last_mark().at_ns
        self._acks_code.span(first, last, event.count)
        self._acks_document.span(first, last, event.count)

    def row(self) -> dict[str, SentRow]:
        """Rule set -> what it would have sent."""
        return {
            CODE: {"syncs": self._code.count, "acks": self._acks_code.count},
            DOCUMENT: {
                "syncs": self._document.count + self._always,
                "acks": self._acks_document.count,
            },
            BEFORE_SYNC: {"syncs": self._task.count, "acks": self._acks_document.count},
        }
