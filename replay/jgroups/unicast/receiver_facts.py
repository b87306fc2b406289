"""What the replay of a receive entry keeps: its times, the entry, and what was noticed of it."""

from collections import deque
from typing import Final, NamedTuple

from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.acked_copies import OwnLevel
from seqaudit.replay.jgroups.arrivals import Arrivals
from seqaudit.replay.jgroups.evidence import Overdue, Stamps
from seqaudit.replay.jgroups.inner_loss import InnerLoss
from seqaudit.replay.jgroups.repeats import RepeatedRequest, Repeats
from seqaudit.replay.jgroups.unicast.rule_sets import BEFORE_SYNC, DOCUMENT
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.jgroups.windows import Window
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.notes import Note, Times
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: Requests of the same that ticks make, beside one that was under way when the window was lost.
LEAST_REPEATS: Final = 3


class Timing(NamedTuple):
    """The member's intervals."""

    tick_ns: int
    sync_ns: int
    min_ack_ns: int
    expiry_ns: int  # conn_expiry_timeout; 0: never
    close_ns: int  # conn_close_timeout; 0: never
    tick_given: bool
    rules: str

    def reaped_after_ns(self) -> int | None:
        """Idle time after which an entry is removed (B23); null: never."""
        return self.expiry_ns + self.close_ns if self.expiry_ns and self.close_ns else None

    def ack_due_ns(self) -> int:
        """Latest time from an arrival to its ACK, with the jitter that section 6 allows."""
        return self.tick_ns * 12 // 10 + 50_000_000

    def between_syncs_ns(self, *, entry: bool) -> int:
        """Least time between two SEND_FIRST_SEQNO (B20); S3 throttles only where there is an entry,
        U17 leaves it to the task."""
        if self.rules == DOCUMENT and not entry:
            return 0
        least = self.tick_ns if self.rules == BEFORE_SYNC else self.sync_ns
        return least * 8 // 10 - 50_000_000

    def too_soon_ns(self) -> int:
        """Below this two ticks have not passed."""
        return self.tick_ns * 8 // 10 - 50_000_000


class ReceiveEntry:
    """A receive entry: one window of one connection."""

    __slots__ = ("before", "opened", "out_of_band", "stream", "used", "window")

    def __init__(self, stream: Stream, window: Window, opened: Mark, before: RangeSet) -> None:
        self.stream = stream
        self.window = window
        self.opened = opened
        self.used = opened  # age = 0
        self.before = before  # delivered on this connection by earlier windows
        self.out_of_band = RangeSet()  # delivered on arrival, not yet passed by the window


class WindowLoss(NamedTuple):
    """The member lost its window without saying so."""

    stream: Stream
    before: Mark  # the first message that it had no window for
    shown: Mark  # by its SEND_FIRST_SEQNO
    level: int  # what it had delivered
    why: str
    shown_by: str = "SEND_FIRST_SEQNO"


class Facts:
    """What is noticed of one connection at its receiver, besides its arrivals."""

    def __init__(self) -> None:
        self.delivered = RangeSet()
        self.unread: tuple[int, int] | None = None  # delivered at least, and at most, at the end
        self.own = OwnLevel()  # by its ACKs
        self.first_ack: Mark | None = None
        self.highest_ack_stamp: int | None = None
        self.rebuilt_shown = False  # it asked for, or fell back below, what it had acknowledged
        self.other_window = False  # and nothing showed when that one was lost, nor what it had
        self.asked_again = False  # it did, or another connection did that no own ACK names yet
        self.last_id: int | None = None  # of the datagrams so far
        self.last_ack: Mark | None = None
        self.early_acks = Times()
        self.redelivered = Note()
        self.redelivered_count = 0
        self.redelivered_since_ack = RangeSet()  # of these: no own ACK has covered them yet
        self.in_order = RangeSet()  # came when nothing had told of them or of higher ones
        self.arrivals: deque[tuple[int, int, Mark]] = deque(maxlen=1000)  # first, stop, last
        self.named: Mark | None = None  # the last frame that named this connection
        self.inner_loss = InnerLoss()
        self.inner_loss_asked: Mark | None = None  # the last request that shows it
        self.without_window = Note()  # dropped: there was no window and no cache
        self.without_window_count = 0
        self.in_lists = Note()  # dropped: in a list, and the window was another connection's
        self.outside_window = Note()
        self.early_requests = Note()
        self.late_acks: list[Overdue] = []
        self.late_ack_count = 0
        self.after_view = Note()  # came well after a view without their sender
        self.after_view_of: Mark | None = None  # that view
        # the first ACK for what came again in other datagrams, and the last of these
        self.acked_and_came: tuple[Mark | None, Mark | None] = (None, None)
        self.acks_not_heard = Note()  # resent although acknowledged long before
        self.requests = Repeats()
        self.after_ack = Repeats()  # requests for what this member had acknowledged
        self.first_missing: tuple[Mark, Mark] | None = None  # message without window, first one
        self.closed_without_close: Mark | None = None

    def found_no_window(self, event: Event, received: Arrivals | None) -> None:
        """It was dropped. Who sent what lies between two of these may have sent it as well, and it
        was dropped, where the capture lacks it: that it is asked for says nothing of the path."""
        assert event.seqno is not None and event.stop_seqno is not None
        before = self.without_window.ranges.stop() if self.without_window else event.seqno
        between = before < event.seqno and not self.in_order.within(before, event.seqno)
        if received is not None and between:
            received.ways.by_rebuilt.add(before, event.seqno)
        self.without_window.add(event.seqno, event.stop_seqno, event.first_mark())
        self.without_window_count += event.count

    def came(self, part: Range, mark: Mark) -> None:
        """It arrived: a request for it was not in vain."""
        self.requests.came(*part, mark)
        self.after_ack.came(*part, mark)

    def had(self, first: int, stop: int) -> None:
        """This member says that its window has [first, stop): a copy of what it asked for came,
        and may not be in the capture; what it seems to have got again it has."""
        self.redelivered_since_ack.remove(first, stop)
        for repeats in (self.requests, self.after_ack):
            repeats.had(first, stop)

    def acked_before(self, mark: Mark) -> bool:
        """Had this member acknowledged any message before?"""
        return self.first_ack is not None and self.first_ack.frame < mark.frame

    def shown_purged(self, repeat: RepeatedRequest) -> bool:
        """Do ticks' requests, for this connection, ask again for what it had acknowledged?"""
        named = self.named
        again = repeat.requests >= LEAST_REPEATS and self.rebuilt_shown
        return again and named is not None and named.frame > repeat.last.frame

    def shown_inner_loss(self, own: Stamps) -> InnerLoss:
        """``inner_loss`` as far as requests for this connection show it: they name none, so it has
        to be named before and after them. And it came to the window that asked: ``own`` numbers
        leave no SEND_FIRST_SEQNO out that might have been for another (releases before 3.5.1 have
        none).
        """
        asked, named = self.inner_loss_asked, self.named
        if asked is not None and named is not None and named.frame > asked.frame:
            came = min(self.inner_loss.lacked.marks)
            if own.none_missing(came, asked):
                return self.inner_loss
        return InnerLoss(self.inner_loss.found)
