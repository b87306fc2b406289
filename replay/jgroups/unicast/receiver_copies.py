"""Copies of what had arrived, and requests for it (jgroups.md 4.4, B9 and B16 to B19)."""

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.arrivals import Arrivals
from seqaudit.replay.jgroups.evidence import CROSSING_NS, read_between
from seqaudit.replay.jgroups.unicast.connection_states import ConnectionLives
from seqaudit.replay.jgroups.unicast.receiver_facts import Facts, ReceiveEntry, Timing
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range, RangeSet


class ReplayedEntry:
    """A receive entry as far as it was replayed, and what was noticed of its connections."""

    def __init__(self, timing: Timing, elapsed: Elapsed, lives: ConnectionLives) -> None:
        self.entry: ReceiveEntry | None = None
        self.facts: dict[str, Facts] = {}
        self._timing = timing
        self._elapsed = elapsed
        self._last_sync: Mark | None = None
        self._lives = lives

    def facts_of(self, stream: Stream) -> Facts:
        facts = self.facts.get(stream.key)
        if facts is None:
            facts = self.facts[stream.key] = Facts()
        return facts

    def _asked_for_what_it_had(self, part: Range, stream: Stream, mark: Mark) -> None:
        """By the replay, which takes for read what waited when the member gave a sign of life."""
        facts, entry = self.facts_of(stream), self.entry
        assert entry is not None and stream.received is not None
        for first, stop, came in facts.arrivals:
            within = (max(first, part[0], entry.window.low + 1), min(stop, part[1]))
            unread = mark.at_ns - came.at_ns <= CROSSING_NS or within[0] <= facts.own.level
            if within[0] < within[1] and entry.window.has(within[0]) and not unread:
                entry.window.drop(*within)
                self._dropped_inside(facts, within, came, mark)
        if all(entry.window.has(seqno) for seqno in (part[0], part[1] - 1)):
            stream.received.spurious.add(*part, mark)
            # no window asks for what it has acknowledged
            facts.other_window |= part[0] <= facts.own.level

    def _dropped_inside(self, facts: Facts, part: Range, came: Mark, asked: Mark) -> None:
        """It arrived, and is asked for.

        Shown, if it came before all that told of it: the member read what came later, and not this.
        What came before the window that asks was opened an earlier one may have had.
        """
        facts.inner_loss.found.add(*part, came)
        there = self.entry is not None and self.entry.opened.frame <= came.frame
        if not there or part[0] <= facts.own.level:
            return
        late = read_between(self._elapsed, came, asked)
        for piece in facts.in_order.within(*part):
            facts.inner_loss.lacked.add(*piece, came)
            facts.inner_loss_asked = asked
            if late:
                facts.inner_loss.dropped.add(*piece, came)

    def _duplicates(
        self, event: Event, stream: Stream, stored: list[Range], dropped: list[Range]
    ) -> None:
        assert event.seqno is not None and event.stop_seqno is not None
        received = stream.received
        assert received is not None
        facts = self.facts_of(stream)
        taken = RangeSet([*stored, *dropped])
        mark = event.first_mark()
        for part in taken.missing(event.seqno, event.stop_seqno):
            received.copy(part, event, needed=False)
            if event.flags & Flag.NETWORK_DUPLICATE:
                continue
            self._though_acked(received, facts, part, event)
            if self._acked_long_before(facts, part, mark):
                facts.acks_not_heard.add(*part, mark)
        self._rebuilt(event, stream, stored)

    def _though_acked(self, received: Arrivals, facts: Facts, part: Range, event: Event) -> None:
        """Came in another datagram, well after the ACK for it of this very window?"""
        entry, since, mark = self.entry, facts.own.since, event.first_mark()
        assert entry is not None
        if (
            since is None
            or not facts.own.long_before(part, event, self._elapsed)
            or (event.flags & Flag.FIRST and part[0] > 1)  # a new window asked for it
            or entry.opened.frame >= since.frame
            or (self._last_sync is not None and self._last_sync.frame > since.frame)
        ):
            return
        if received.came_acked.came(part, mark, received.tracker.unseen):
            facts.acked_and_came = (facts.acked_and_came[0] or since, mark)

    def _rebuilt(self, event: Event, stream: Stream, stored: list[Range]) -> None:
        """Copies that the rebuilt window did not have are useful."""
        entry = self.entry
        assert entry is not None and stream.received is not None
        for part in stored:
            for piece in entry.before.within(*part):
                stream.received.copy(piece, event, needed=True)

    def _acked_long_before(self, facts: Facts, part: Range, mark: Mark) -> bool:
        """Is it the highest, and its ACK so old that the sender would not resend had it come?"""
        entry, since = self.entry, facts.own.since
        assert entry is not None
        return (
            part == (entry.window.high, entry.window.high + 1)
            and part[0] <= facts.own.level
            and since is not None
            and mark.at_ns - since.at_ns > self._timing.tick_ns // 5
        )

    def _too_early(self, stream: Stream, first: int, stop: int, mark: Mark) -> None:
        """B16, B17: a tick must see a gap before the next one may ask for it."""
        if self._timing.tick_given and stream.received is not None:
            for part in stream.received.early(first, stop, mark, self._timing.too_soon_ns()):
                self.facts_of(stream).early_requests.add(*part, mark)
