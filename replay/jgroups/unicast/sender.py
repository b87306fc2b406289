"""The send entry for one peer, at the interface of the member that owns it (jgroups.md 4.3).

Everything it sends is seen before any loss, and of its peer's answers those that arrived. So every
copy it sends is explained by the first row that fits, or is a finding:

    copy                                                     reason
    asked for by an XMIT_REQ that is not answered yet        requested     (A13)
    first flag set, and a SEND_FIRST_SEQNO not answered yet  sync answer   (A10; acked+1, or wrong)
    the highest sent, acked < sent                           highest sent  (A15)
    the highest sent, all acked milliseconds ago             race          (P4)
    anything else                                            unexplained

    event                       rows                            here
    DATA goes out               A1 A2 A3 A4, U1 U11 U12         sent
    ACK comes                   A5 A6 A7 A8, U2 U21 S4 S7 S8 S9 ack
    SEND_FIRST_SEQNO comes      A9 A10 A11, U18 S5 S6 S10       sync, _answers_too
    XMIT_REQ comes              A12 A13 A14, U7                 request
    resends at ticks            A15 A16, U4 U5 U9 U10           _highest_resent, _check_time
    idle, CLOSE goes out        A17 A18, U19 U20                close, ConnectionLife
    view                        A19 A20                         view, ConnectionLife
    leaving                     A21: no CLOSE, nothing to say

ACKs and SEND_FIRST_SEQNO go through the conn_id and timestamp tests (A5 to A9). Where the capture
shows that the sender did otherwise (it does not answer for what only a stale ACK covers), that is
the fault of JGRP-1873/1875, and the replay goes on from what the sender did.
"""

from collections import deque
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.evidence import Life, Overdue, in_order, overdue, two_ticks_ns
from seqaudit.replay.jgroups.mcast.sender import SenderModel
from seqaudit.replay.jgroups.repeats import Repeats
from seqaudit.replay.jgroups.unicast.connection_states import (
    REPLACED,
    ConnectionLives,
)
from seqaudit.replay.jgroups.unicast.memory import Memory
from seqaudit.replay.jgroups.unicast.rule_sets import BEFORE_SYNC, DOCUMENT, newer
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ip_ids import ID_SPAN_NS, sent_later
from seqaudit.replay.sequence.notes import Note, Times
from seqaudit.replay.sequence.ranges import Range, RangeSet

MAX_LISTED: Final = 100
#: Timestamps of ACKs that are remembered, to know one that was captured twice.
RECENT_STAMPS: Final = 64
MAX_ASKED: Final = 1_000
#: An ACK that was captured this shortly before may not have been read by the sender (P4).
RACE_NS: Final = 20_000_000
#: The sender answers requests and SEND_FIRST_SEQNO at once; after this it is late.
ANSWER_NS: Final = 1_000_000_000

REQUESTED: Final = "requested"
SYNC_ANSWER: Final = "sync_answer"
HIGHEST_SENT: Final = "highest_sent"
UNEXPLAINED: Final = "unexplained"


class IgnoredAck(NamedTuple):
    """An ACK that the rules make the sender drop."""

    mark: Mark
    seqno: int
    stamp: int | None
    acked: int  # what the sender had then


class Stale(NamedTuple):
    """What stale ACKs cover that the sender must still keep."""

    mark: Mark
    stop: int


@dataclass(slots=True)
class Tail:
    """The highest message was resent because its ACK did not come (A15)."""

    seqno: int
    sent: Mark  # when it was first sent
    first: Mark  # first resend
    last: Mark
    resends: int = 1
    acked: Mark | None = None
    asked: Mark | None = None  # when the peer asked for messages meanwhile

    def belongs_to_a_gap(self, tick_ns: int) -> bool:
        """Was a gap below it asked for in time? Then its ACK waited for the gap, not for it.

        A gap asked for later than two ticks after the message was sent had not shown before.
        """
        if self.asked is None:
            return False
        return self.asked.at_ns - self.sent.at_ns <= two_ticks_ns(tick_ns)


class SendEntry:
    """One connection at its sender."""

    def __init__(self, stream: Stream, opened: Mark, acked: int) -> None:
        self.stream = stream
        self.opened = opened
        self.acked = acked
        self.acked_before = acked
        self.sent = acked
        self.last_stamp: int | None = None
        self.stamped: Mark | None = None  # where it came
        self.stamps: deque[int | None] = deque(maxlen=RECENT_STAMPS)  # of ACKs that came
        self._newest: tuple[int, Mark] | None = None  # IP id of the newest own datagram
        self.last_ack: Mark | None = None
        self.sent_at: Mark = opened  # when the highest was first sent
        self.quiet_since: Mark | None = None  # since when (acked, sent) has not changed
        self.tail: Tail | None = None
        self.asked: deque[tuple[Mark, RangeSet]] = deque(maxlen=MAX_ASKED)
        self.syncs: deque[tuple[Mark, int]] = deque(maxlen=MAX_ASKED)  # not answered: when, acked+1
        self.late: deque[tuple[Mark, RangeSet]] = deque(maxlen=MAX_ASKED)  # asked, not yet answered
        self.late_syncs: deque[tuple[Mark, int]] = deque(maxlen=MAX_ASKED)
        self.stale: Stale | None = None
        self.answered: int | None = None  # the last answer to a SEND_FIRST_SEQNO
        self.synced: Mark | None = None  # a SEND_FIRST_SEQNO that the highest message answers too
        self.fell_back = False  # a newer ACK is lower: by a new window, so the one before was stale

    def captured_again(self, event: Event) -> bool:
        """Was the datagram captured before? No own one is older than one that was sent before."""
        mark, last_id = event.first_mark(), event.arrival().last_fresh_id
        if self._newest is not None and event.fresh_id:
            newest, at = self._newest
            near = mark.at_ns - at.at_ns < ID_SPAN_NS and mark.frame != at.frame
            if near and sent_later(event.fresh_id, newest) is False:
                return True
        if last_id:
            self._newest = last_id, event.last_mark()
        return False


class SenderFacts:
    """What is noticed of one connection at its sender."""

    def __init__(self) -> None:
        self.ignored: list[IgnoredAck] = []  # timestamp out of order
        self.ignored_count = 0
        self.ignored_surely = False  # by more than a capture may exchange two frames
        self.stale_count = 0  # of them: would have purged messages
        self.other_conn = Times()  # ACKs for another conn_id
        self.stale_rightly = Note()  # answered although a stale ACK covers them
        self.stale_honoured: list[tuple[Mark, Mark, RangeSet]] = []  # ACK, request, seqnos
        self.purged = Repeats()  # asked for again and again after an accepted ACK
        self.unanswered = Repeats()  # asked for again and again, kept, and not resent
        self.not_answered = Note()
        self.syncs = Times()
        self.syncs_stale = Times()  # ignored, by their timestamps
        self.syncs_after_ack = Times()  # the peer had acknowledged messages before
        self.syncs_first = Times()  # nothing had been acknowledged: the first message is missing
        self.syncs_close: list[tuple[Mark, Mark]] = []
        self.syncs_close_count = 0
        self.syncs_unanswered = Times()
        self.answered_again = Times()  # with the same message, and no ACK in between
        self.wrong_answers: list[tuple[Mark, int, int]] = []  # copy, its seqno, acked + 1
        self.tails: list[Tail] = []
        self.needless = Note()  # resent after the ACK had come
        self.with_ids = False  # IP ids tell a resend from a datagram that was captured twice
        self.unexplained = Note()
        self.late_resends: list[Overdue] = []
        self.late_resend_count = 0
        self.removed_with_unacked: tuple[Mark, RangeSet] | None = None
        self.closed: Mark | None = None
        self.silent_ns: int | None = None  # fell silent so long before its end with unacked ones
        self.last_tail: Tail | None = None  # resent before it fell silent
        # if the capture goes on until then, it fell silent
        self.silent_from_ns: int | None = None
        self.window: SenderModel | None = None
        self.memory = Memory()


class SenderMachine:
    """What one member sends to one peer."""

    def __init__(
        self, *, tick_ns: int, sync_ns: int, rules: str, timestamps: bool, capacity: int | None,
        unicast4: bool, proof_ns: int, lives: ConnectionLives,
        elapsed: Elapsed, life: Life,
    ) -> None:  # fmt: skip
        self.entry: SendEntry | None = None
        self.facts: dict[str, SenderFacts] = {}
        self.last_peer: Mark | None = None  # last event that came from the peer
        self._tick_ns = tick_ns
        self.silence_ns = two_ticks_ns(tick_ns)
        self._sync_ns = sync_ns
        self._timestamps = timestamps and rules != BEFORE_SYNC
        self._highest_too = rules == DOCUMENT  # the highest message answers as well (S10)
        self._capacity = capacity
        self._unicast4 = unicast4
        self._proof_ns = proof_ns
        self._lives = lives
        self._elapsed = elapsed
        self._life = life
        self._last_sync: Mark | None = None
        self._view_without: Mark | None = None
        self._alive: Mark | None = None

    def facts_of(self, stream: Stream) -> SenderFacts:
        facts = self.facts.get(stream.key)
        if facts is None:
            facts = self.facts[stream.key] = SenderFacts()
            if self._unicast4:
                facts.window = SenderModel(self._capacity, self._proof_ns)
                members = frozenset({stream.sender, stream.receiver})
                facts.window.members_are(members, stream.sender, Mark(0, 0))
        return facts

    # -- what the member sends -------------------------------------------------------------------

    def sent(self, event: Event, stream: Stream, fresh: list[Range]) -> None:
        """DATA goes out; ``fresh`` are the seqnos that were never captured before (A1 to A3)."""
        assert event.seqno is not None and event.stop_seqno is not None
        mark, end = event.first_mark(), event.last_mark()
        entry = self.entry
        if entry is None or entry.stream is not stream:
            entry = self._open(event, stream)
        self._check_time(entry, mark)
        for moment in (mark, end) if fresh else ():  # a resend is no use of it
            stream.life_in(self._lives).used(moment, "sending")  # A2
        facts = self.facts_of(stream)
        again = entry.captured_again(event)
        facts.with_ids |= bool(event.fresh_id)
        for part in RangeSet(fresh).missing(event.seqno, event.stop_seqno):
            if not event.flags & Flag.NETWORK_DUPLICATE and not again:
                self._resent(entry, facts, part, event)
        for first, stop in fresh:
            if first <= entry.acked and entry.last_ack is None:
                entry.acked = first - 1  # what was taken for acknowledged was only not captured
                if event.flags & Flag.FIRST:
                    self._answers_sync(entry, facts, (first, stop), mark)
            if facts.window is not None:
                facts.window.sent(first, stop, mark, end)
            share = event.size * (stop - first) // event.count
            facts.memory.sent(first, stop, share, mark, end)
            if stop - 1 > entry.sent:
                entry.sent = stop - 1
                entry.sent_at = end
                entry.quiet_since = end
                self._end_tail(entry, facts, None)
        stream.highest_sent = entry.sent

    def close(self, event: Event, stream: Stream) -> None:
        """CLOSE goes out: the entry is removed (A18)."""
        mark = event.first_mark()
        facts = self.facts_of(stream)
        facts.closed = mark
        entry = self.entry
        stream.life_in(self._lives).close_sent(mark)
        if entry is not None and entry.stream is stream:
            self._remove(entry, facts, mark)

    def view(self, *, with_peer: bool, mark: Mark) -> None:
        """A view is installed at this member (A19, A20)."""
        self._view_without = None if with_peer else mark
        self._lives.view(mark, with_peer=with_peer)

    def alive(self, mark: Mark) -> None:
        """The member sent something: what was due before must have been sent."""
        self._alive = mark
        if self.entry is not None:
            self._check_time(self.entry, mark)

    # -- what comes from the peer ------------------------------------------------------------------

    def ack(self, event: Event, stream: Stream) -> None:
        """ACK(seqno, conn_id, timestamp) arrives (A5 to A8)."""
        assert event.seqno is not None
        mark = event.first_mark()
        self.last_peer = mark
        facts = self.facts_of(stream)
        entry = self.entry
        if entry is None and not stream.arrivals and facts.closed is None:
            entry = self.entry = SendEntry(stream, mark, event.seqno)  # began before the capture
            entry.last_ack = mark
            stream.life_in(self._lives).opened(mark, "shown by an ACK")
        if entry is None or entry.stream is not stream:
            facts.other_conn.add(mark)  # A5, A6
            return
        out_of_order = self._out_of_order(entry, event)
        if not out_of_order:
            entry.stamps.append(event.stamp)
        if out_of_order:  # A7
            if not event.flags & Flag.NETWORK_DUPLICATE:
                self._ignore(entry, facts, event)
            return
        if event.stamp is not None:
            entry.last_stamp, entry.stamped = event.stamp, mark
        entry.last_ack = entry.last_ack or mark
        level = min(event.seqno, entry.sent) if stream.arrivals else event.seqno
        entry.fell_back |= level < entry.acked and event.stamp is not None
        if level > entry.acked:  # A8
            entry.acked_before, entry.acked = entry.acked, level
            facts.memory.acked(level, mark)
            facts.unanswered.had(entry.acked_before + 1, level + 1)
            entry.last_ack = mark
            entry.quiet_since = mark
            if entry.tail is not None and entry.acked >= entry.tail.seqno:
                entry.tail.acked = mark
                self._end_tail(entry, facts, mark)
            if entry.stale is not None and entry.acked >= entry.stale.stop - 1:
                entry.stale = None
        if facts.window is not None:
            facts.window.acked(stream.receiver, entry.acked, mark)
        stream.highest_acked = entry.acked

    def sync(self, event: Event, stream: Stream) -> None:
        """SEND_FIRST_SEQNO(timestamp) arrives (A9 to A11)."""
        mark = event.first_mark()
        self.last_peer = mark
        facts = self.facts_of(stream)
        again = bool(event.flags & Flag.NETWORK_DUPLICATE)  # answered twice, but sent once
        last, self._last_sync = self._last_sync, mark
        least = self._sync_ns * 8 // 10 - 50_000_000
        if last is not None and mark.at_ns - last.at_ns < least and not again:
            facts.syncs_close_count += 1
            if len(facts.syncs_close) < MAX_LISTED:
                facts.syncs_close.append((last, mark))
        if not again:
            facts.syncs.add(mark)
        entry = self.entry
        if entry is None or entry.stream is not stream:
            return
        if self._out_of_order(entry, event):  # A9
            if not again:
                facts.syncs_stale.add(mark)
            return
        if event.stamp is not None:
            entry.last_stamp, entry.stamped = event.stamp, mark
        if again:
            pass
        elif entry.last_ack is not None:
            facts.syncs_after_ack.add(mark)
        else:
            facts.syncs_first.add(mark)
        if entry.acked < entry.sent:  # else A11
            entry.syncs.append((mark, entry.acked + 1))
            entry.synced = mark if self._highest_too else None

    def request(self, event: Event, stream: Stream) -> None:
        """XMIT_REQ arrives (A12 to A14)."""
        mark = event.first_mark()
        self.last_peer = mark
        facts = self.facts_of(stream)
        entry = self.entry
        if entry is None or entry.stream is not stream:
            return  # A12
        if entry.tail is not None:
            entry.tail.asked = entry.tail.asked or mark
        if self._life.last is not None:  # one that is paused or dead has missed nothing since
            self._check_time(entry, self._life.last)
        kept = RangeSet()
        purged: list[Range] = []
        for first, stop in event.ranges():
            if first <= entry.acked:
                purged.append((first, min(stop, entry.acked + 1)))
            if stop - 1 > entry.acked:
                kept.add(max(first, entry.acked + 1), min(stop, entry.sent + 1))
        facts.purged.requested(purged, mark)
        again = facts.unanswered.requested(kept, mark)
        if kept:
            entry.asked.append((mark, kept))
        if again is not None and entry.stale is not None:
            covered = RangeSet(again.ranges.within(0, entry.stale.stop))
            if covered:
                self._honoured(entry, facts, entry.stale, mark, covered)

    def finish(self, end: Mark) -> None:
        """The capture is over."""
        entry = self.entry
        if entry is not None:
            facts = self.facts_of(entry.stream)
            facts.silent_ns = self._silent_ns(entry, self._alive)
            if self._view_without is None:
                facts.silent_from_ns = self._last_sign_ns(entry) + self.silence_ns
                facts.last_tail = entry.tail
            self._end_tail(entry, facts, None)
            self._settle(entry, facts)
        for facts in self.facts.values():
            facts.purged.finish()
            facts.unanswered.finish()
            if facts.window is not None:
                facts.window.finish()

    def unacked(self) -> RangeSet:
        """What the peer has not acknowledged on the connection that is open."""
        entry = self.entry
        if entry is None or entry.acked >= entry.sent:
            return RangeSet()
        return RangeSet([(entry.acked + 1, entry.sent + 1)])

    def _silent_ns(self, entry: SendEntry, until: Mark | None) -> int | None:
        """How long it has resent nothing, if for so long that all must be acknowledged; else null.

        A tick resends the highest message until its ACK has come: then only the ACK is not in the
        capture.
        """
        if until is None or entry.acked >= entry.sent or self._view_without is not None:
            return None  # an entry for who is in no view may be removed as it is [u3-dead-peer-1]
        silent_ns = until.at_ns - self._last_sign_ns(entry)
        return silent_ns if silent_ns > self.silence_ns else None

    @staticmethod
    def _last_sign_ns(entry: SendEntry) -> int:
        """When something last showed that not all was acknowledged."""
        marks = [entry.sent_at, entry.last_ack, None if entry.tail is None else entry.tail.last]
        return max(mark.at_ns for mark in marks if mark is not None)

    def _out_of_order(self, entry: SendEntry, event: Event) -> bool:
        """The timestamp test of 4.2 (S5, S7); 3.5.0 has none."""
        if not self._timestamps or event.stamp is None:
            return False
        return not newer(event.stamp, entry.last_stamp)

    # -- details -----------------------------------------------------------------------------------

    def _open(self, event: Event, stream: Stream) -> SendEntry:
        assert event.seqno is not None
        mark = event.first_mark()
        old = self.entry
        if old is not None:
            facts = self.facts_of(old.stream)
            old.stream.life_in(self._lives).closed(mark, REPLACED)
            self._remove(old, facts, mark)
        acked = 0 if event.flags & Flag.FIRST and event.seqno == 1 else event.seqno - 1
        self.entry = SendEntry(stream, mark, acked)
        self._last_sync = None
        why = "first message" if not acked else "in mid-stream"
        stream.life_in(self._lives).opened(mark, why)
        return self.entry

    def _remove(self, entry: SendEntry, facts: SenderFacts, mark: Mark) -> None:
        facts.silent_ns = self._silent_ns(entry, mark)
        facts.last_tail = entry.tail if facts.silent_ns is not None else None
        if entry.acked < entry.sent and facts.silent_ns is None:
            facts.removed_with_unacked = (mark, RangeSet([(entry.acked + 1, entry.sent + 1)]))
        self._end_tail(entry, facts, None)
        self._settle(entry, facts)
        self.entry = None

    def _resent(self, entry: SendEntry, facts: SenderFacts, part: Range, event: Event) -> None:
        """Why was [part) sent again?"""
        stream, mark = entry.stream, event.first_mark()
        first_flag = bool(event.flags & Flag.FIRST)
        if entry.stale is not None and in_order(self._elapsed, entry.stale.mark, mark):
            for piece in RangeSet([part]).within(entry.acked + 1, entry.stale.stop):
                facts.stale_rightly.add(*piece, mark)
        facts.unanswered.came(*part)
        facts.purged.came(*part)
        if first_flag and self._answers_sync(entry, facts, part, mark):
            stream.resent(SYNC_ANSWER, 1)
            return
        rest = RangeSet([part])
        for _, asked in chain(entry.late, entry.asked):
            if not rest:
                break
            for piece in list(rest):
                for answered in asked.remove(*piece):
                    rest.remove(*answered)
                    stream.resent(REQUESTED, answered[1] - answered[0])
        for waiting in (entry.late, entry.asked):
            while waiting and not waiting[0][1]:
                waiting.popleft()
        for first, stop in rest:
            if stop - first == 1 and first == entry.sent and self._answers_too(entry, mark):
                stream.resent(SYNC_ANSWER, 1)
            elif stop - first == 1 and first == entry.sent:
                self._highest_resent(entry, facts, mark)
                stream.resent(HIGHEST_SENT, 1)
            else:
                facts.unexplained.add(first, stop, mark)
                stream.resent(UNEXPLAINED, stop - first)

    def _answers_sync(self, entry: SendEntry, facts: SenderFacts, part: Range, mark: Mark) -> bool:
        waiting = entry.late_syncs or entry.syncs
        if not waiting:
            return False
        at, expected = waiting.popleft()
        if entry.answered == part[0]:
            facts.answered_again.add(at)
        entry.answered = part[0]
        race = entry.last_ack is not None and mark.at_ns - entry.last_ack.at_ns <= RACE_NS
        right = {expected, entry.acked + 1} | ({entry.acked_before + 1} if race else set())
        if part[0] > max(right):  # it keeps what is not acknowledged: the ACK was not captured
            entry.acked_before, entry.acked = entry.acked, part[0] - 1
            entry.last_ack = entry.last_ack or mark
        elif part[0] not in right and len(facts.wrong_answers) < MAX_LISTED:
            facts.wrong_answers.append((mark, part[0], entry.acked + 1))
        return True

    def _answers_too(self, entry: SendEntry, mark: Mark) -> bool:
        """Is the highest message sent in answer to a SEND_FIRST_SEQNO, beside the lowest (S10)?"""
        synced, entry.synced = entry.synced, None
        return synced is not None and mark.at_ns - synced.at_ns <= RACE_NS

    def _highest_resent(self, entry: SendEntry, facts: SenderFacts, mark: Mark) -> None:
        if entry.acked >= entry.sent:
            if entry.fell_back:
                return
            if entry.last_ack is None or mark.at_ns - entry.last_ack.at_ns > RACE_NS:  # P4
                facts.needless.add(entry.sent, entry.sent + 1, mark)
            return
        late = overdue(self._elapsed, entry.quiet_since, mark, self.silence_ns)
        if late is not None:  # had it been acknowledged meanwhile it were not resent now
            facts.late_resend_count += 1
            if len(facts.late_resends) < MAX_LISTED:
                facts.late_resends.append(late)
        entry.quiet_since = mark
        if entry.tail is None:
            entry.tail = Tail(entry.sent, entry.sent_at, mark, mark)
        else:
            entry.tail.resends += 1
            entry.tail.last = mark

    def _end_tail(self, entry: SendEntry, facts: SenderFacts, mark: Mark | None) -> None:
        if entry.tail is not None and len(facts.tails) < MAX_LISTED:
            facts.tails.append(entry.tail)
        entry.tail = None

    def _check_time(self, entry: SendEntry, now: Mark) -> None:
        """What was to be answered by now and has not been (A10, A13)."""
        while entry.syncs and now.at_ns - entry.syncs[0][0].at_ns > ANSWER_NS:
            entry.late_syncs.append(entry.syncs.popleft())
        while entry.asked and now.at_ns - entry.asked[0][0].at_ns > ANSWER_NS:
            mark, left = entry.asked.popleft()
            entry.late.append((mark, RangeSet(left.within(entry.acked + 1, entry.sent + 1))))

    @staticmethod
    def _settle(entry: SendEntry, facts: SenderFacts) -> None:
        """What was late when the entry ended never came."""
        for mark, _ in entry.late_syncs:
            facts.syncs_unanswered.add(mark)
        for mark, left in entry.late:
            for part in left:
                facts.not_answered.add(*part, mark)

    def _ignore(self, entry: SendEntry, facts: SenderFacts, event: Event) -> None:
        assert event.seqno is not None
        mark = event.first_mark()
        facts.ignored_count += 1
        newest = entry.stamped
        again = event.stamp in entry.stamps  # the same message, captured twice
        late = newest is not None and in_order(self._elapsed, newest, mark)
        facts.ignored_surely |= late and not again
        if len(facts.ignored) < MAX_LISTED:
            facts.ignored.append(IgnoredAck(mark, event.seqno, event.stamp, entry.acked))
        if min(event.seqno, entry.sent) > entry.acked:
            facts.stale_count += 1
            stop = min(event.seqno, entry.sent) + 1
            if entry.stale is None or stop > entry.stale.stop:
                entry.stale = Stale(mark, stop)

    def _honoured(
        self, entry: SendEntry, facts: SenderFacts, stale: Stale, mark: Mark, covered: RangeSet
    ) -> None:
        """The sender does not resend what only a stale ACK covers: it has obeyed it."""
        if len(facts.stale_honoured) < MAX_LISTED:
            facts.stale_honoured.append((stale.mark, mark, covered))
        entry.acked = max(entry.acked, stale.stop - 1)
        entry.stream.highest_acked = entry.acked
        entry.stale = None
        entry.asked.clear()
        self._timestamps = False  # this sender does not look at them
        facts.purged.requested(covered, mark)
