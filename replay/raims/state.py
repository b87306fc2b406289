"""What the parts of the raims engine share about one conversation."""

from collections.abc import Mapping
from typing import Final

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.clocks import DaemonClocks
from seqaudit.replay.raims.convergence import Convergence
from seqaudit.replay.raims.fast_path import SteadyStreams
from seqaudit.replay.raims.link_table import LinkTable, link_of
from seqaudit.replay.raims.links import PGM
from seqaudit.replay.raims.members import Daemons
from seqaudit.replay.raims.message import MessageRun
from seqaudit.replay.raims.notices import Notice
from seqaudit.replay.raims.observer import STARTED_NS, Observer
from seqaudit.replay.raims.peer_clock import SKEW_NS
from seqaudit.replay.raims.publisher import BeganBy, PublisherWindow
from seqaudit.replay.raims.releases import APRIL_2024, AUGUST_2022
from seqaudit.replay.raims.seqno import base_of
from seqaudit.replay.raims.settings import Settings
from seqaudit.replay.raims.streams import MAX_NOTES, Odd, RaimsStream

MAX_NOTICES: Final = 10_000


class RaimsState:
    """One conversation as far as it was captured.

    Attributes:
        publishers: the publisher windows of all daemons whose messages were seen.
        notices: loss notices that were captured, whoever sent them.
        more_notices: those beyond that are not kept.
        own_skew: capture time less the observer's own, of what it publishes and of its heartbeats:
            least and most.
        clocks: those of all daemons.
        last_ns: of the events so far.
        silence: the last long one: its end, and how long.
    """

    def __init__(self, settings: Settings, address: str | None, converged_ns: int | None) -> None:
        self.settings = settings
        self.convergence = Convergence(converged_ns)
        self.links = LinkTable(settings, address)
        self.publishers: dict[str, PublisherWindow] = {}
        self.notices: list[Notice] = []
        self.more_notices = 0
        self.own_skew: list[int] = []
        self.clocks = DaemonClocks()
        self.steady = SteadyStreams(
            self.links.pgm, self.publishers, self.convergence, self.own_skew, self.clocks
        )
        self.members = Daemons(settings, address, self.steady.forget)
        self.last_ns = 0
        self.silence: tuple[int, int] | None = None

    @property
    def observer(self) -> Observer:
        """The daemon observed now."""
        return self.members.observer

    def counts(self, at_ns: int, silent_ns: int) -> bool:
        """Does an event end a long silence, or come so soon behind one that it may say that it was
        none?"""
        if silent_ns > STARTED_NS:
            return True
        return self.silence is not None and at_ns - self.silence[0] <= SKEW_NS

    def note(self, event: Event, detail: Mapping[str, object]) -> None:
        """A loss notice."""
        if event.source is None:
            return
        if len(self.notices) < MAX_NOTICES:
            self.notices.append(Notice.of(event, detail))
        else:
            self.more_notices += 1

    def published(self, message: MessageRun, stream: RaimsStream) -> None:
        """A message in the publisher window of whoever sent it (raims-8.1 to raims-8.7)."""
        event = message.event
        if event.wire_kind != "DATA":
            return
        stamp = event.stamp
        if stamp is None:  # raims-14.1-0: only the first message of a frame has a time
            if self.settings.release >= AUGUST_2022:
                return
            stamp = event.at_ns
        window = self.publishers.get(message.source)
        if window is None:
            start = self.members.start_of(message.source)
            window = self.publishers[message.source] = PublisherWindow(
                self.settings.rotation(publisher=True),
                start if start is not None else stamp,
                complete=start is not None and start >= (self.members.first_ns or 0) - STARTED_NS,
                restarted=self.members.restarted(message.source),
                ages=self.settings.release >= APRIL_2024,
            )
        why = window.published(
            message.subject, message.seqno, message.stop, event.conn_id, stamp,
            self.convergence.at_ns,
        )  # fmt: skip
        if why in (BeganBy.UNEXPLAINED, BeganBy.OVERDUE):
            by_age = why is BeganBy.OVERDUE or event.conn_id is not None
            stream.unexplained[why, by_age] += 1
            if len(stream.odd) < MAX_NOTES:
                stream.odd.append(Odd(why, message.seqno, event.first_mark(), by_age))
        if base_of(message.seqno) == 1:
            forgotten = window.rotation.forgotten.get(message.subject)
            stream.began(message, why, forgotten if why is BeganBy.ROTATED else None)

    def came_in_vain(self, event: Event) -> None:
        """A message for a daemon that had not started yet."""
        message = MessageRun.of(event)
        if event.kind is not Kind.DATA or message is None:
            return
        stream = stream_of(self.observer.streams, message)
        if stream.sees(message, event.first_mark(), event.last_mark()):
            self.published(message, stream)
            self.passed(event, stream, self.observer.bridge)

    def passed(self, event: Event, stream: RaimsStream, own: str | None) -> None:
        """A message for all on a PGM segment."""
        if (
            link_of(event).startswith(PGM)
            and event.wire_kind == "DATA"
            and base_of(event.seqno or 0)
        ):
            self.convergence.passed(stream, event, own)


def stream_of(table: dict[tuple[str, str], RaimsStream], message: MessageRun) -> RaimsStream:
    """The stream of a message, made when its first one is seen."""
    at = message.source, message.subject
    stream = table.get(at)
    if stream is None:
        stream = table[at] = RaimsStream(*at, glsno=message.is_glsno)
    return stream
