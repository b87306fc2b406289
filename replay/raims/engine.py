"""The raims engine: one observing daemon with all its publishers (raims.md 15; decoders/README.md
3, replay/README.md 2).

Events of all links come in the order of the capture. Messages go through the order of their link
(``replay.raims.links``), then to the observer (``replay.raims.receiving``). What the observer
itself sends goes to its publisher window (``replay.raims.sending``). Where no observer is known,
nothing is counted for anybody: the windows run as if somebody here had subscribed to everything.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from seqaudit.decoders.contract.events import BEGUN, END, HOLE, Ending, Kind
from seqaudit.replay.contract.engine import Row
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import Given
from seqaudit.replay.contract.settings import MEMBER, Vantage
from seqaudit.replay.pgm.window import SLACK_NS
from seqaudit.replay.raims import own_words
from seqaudit.replay.raims.clients import Clients
from seqaudit.replay.raims.link_table import link_of
from seqaudit.replay.raims.links import INBOX, PGM
from seqaudit.replay.raims.observer import STARTED_NS, Observer
from seqaudit.replay.raims.receiving import Receiving
from seqaudit.replay.raims.sending import Sending
from seqaudit.replay.raims.settings import Settings
from seqaudit.replay.raims.state import RaimsState
from seqaudit.replay.sequence.gaps import Mark

#: Rows of these are joined, or said anew, where a capture's pieces let them be.
_JOINED: Final = (Kind.DATA, Kind.RETRANSMISSION, Kind.MEMBER)
#: Words from which on messages of a daemon are taken, or no more: not those that waited until then.
_KNOWN_BY: Final = ("AUTH", "DEL", "BYE")
#: Links whose messages follow the rows of their packets, sooner or later.
_IN_PACKETS: Final = (PGM, INBOX)


class RaimsEngine:
    """Replays the raims conversation of one capture.

    Attributes:
        address: where the capture was taken; null: nobody knows.
    """

    def __init__(self, conversation: str, given: Mapping[str, Given], vantage: Vantage) -> None:
        self.conversation = conversation
        self.vantage = vantage
        self.address = vantage.address if vantage.kind == MEMBER else None
        self.settings = Settings(given)
        self.parameters = self.settings.parameters
        converged_ns = _time(self.parameters.value("converged_at"))
        self.state = RaimsState(self.settings, self.address, converged_ns)
        self.links = self.state.links
        self.members = self.state.members
        self.convergence = self.state.convergence
        self.publishers = self.state.publishers
        self.notices = self.state.notices
        self.sending = Sending(self.state)
        self.receiving = Receiving(self.state)
        self.clients = Clients()
        self.messages = 0
        self._before_ns: int | None = None  # of the packet or message before

    @property
    def observer(self) -> Observer:
        """The daemon observed now; where none is known, a nobody who wants everything."""
        return self.members.observer

    @property
    def observers(self) -> list[Observer]:
        """Starts of the observing daemon, in the order in which they were met."""
        return self.members.observers

    @property
    def last_ns(self) -> int:
        """Of the events so far."""
        return self.state.last_ns

    # -- events ----------------------------------------------------------------------------------

    def takes(self, row: Any) -> bool:
        """A row of which no event need be made; false: it has to be fed
        (``replay.raims.fast_path``).

        Args:
            row: as ``stage`` has it.
        """
        silent_ns = 0 if self._before_ns is None else row[4] - self._before_ns
        if self.state.counts(row[4], silent_ns):
            return False
        if self.links.waiting and not self.links.is_waiting_after(row[4], silent_ns):
            return False
        if row[6] == "raims":
            holds = bool(self.links.waiting) and self._holds(row)
            if not holds and not self.state.steady.takes(row):
                return False
            self.messages += row[15]
            if not row[8].startswith((PGM, INBOX)):
                first, last = Mark(row[1], row[4]), Mark(row[3], row[5])
                self._passes(first, last, own=self.links.leaves(row[8]))
        elif row[6] == "pgm":
            link = self.links.pgm.get(row[8][:-1])
            if link is None or not link.goes_on(row):
                return False
            first, last = Mark(row[1], row[4]), Mark(row[3], row[5])
            self._passes(first, last, own=row[9] == self.address)
            if row[9] == self.address:
                self.links.lapses.speaks(first, last)
            if row[12] == "SPM":
                self.links.elapsed.saw(Mark(row[1], row[4]))
        else:
            return False
        if row[6] != "raims" or not row[8].startswith(_IN_PACKETS):
            self._before_ns = max(row[4], row[5])
        self.state.last_ns = max(self.state.last_ns, row[4], row[5])
        return True

    def _holds(self, row: Row) -> bool:
        """A message of a TSI that waits for a packet before it: it is no event so far."""
        if row[12] != "DATA" or row[11] != Kind.DATA or self.members.is_own(row[9]):
            return False
        link = self.links.pgm.get((row.stream or "").partition("|")[0])
        return link is not None and not link.own and link.holds(row)

    def parts(self, row: Row) -> bool:
        """Is it a packet of a PGM link by which one falls out of the window, or before which one
        was given up? What waited for that is handed on by then, and what follows at once."""
        link = self.links.pgm.get((row.stream or "")[:-1])
        if link is None or row.seqno is None or not link.window.holes:
            return False
        due_ns = link.next_due_ns()
        return link.window.overfills(row.seqno) or (due_ns is not None and due_ns <= row.at_ns)

    def feed(self, event: Event) -> None:
        """One event, in the order of the capture."""
        if self.members.first_ns is None:
            self.members.first_ns = event.at_ns
        silent_ns = event.at_ns - self._before_ns if self._before_ns is not None else 0
        if not (event.stream or "").startswith(_IN_PACKETS) or event.system != "raims":
            self._before_ns = max(event.at_ns, event.last_at_ns)
        if event.kind not in _JOINED and event.wire_kind != "TRAIL":
            self.links.elapsed.saw(event.first_mark())
        self.links.pause(silent_ns)
        if silent_ns > STARTED_NS:
            self.state.silence = event.at_ns, silent_ns
        self.state.last_ns = max(self.state.last_ns, event.at_ns, event.last_at_ns)
        if event.system == "rv":
            self.clients.feed(event)
            return
        self._give_up(event.at_ns, event.frame)
        own = event.source == self.address
        if event.system in ("pgm", "inbox"):
            self._passes(event.first_mark(), event.last_mark(), own=own)
            if own:
                self.links.lapses.speaks(event.first_mark(), event.last_mark())
        if event.kind is Kind.MEMBER:
            starts = self.observers[-1:]
            self.members.met(event)
            if starts and starts[0].bridge is not None and starts != self.observers[-1:]:
                self.links.begin_anew(
                    starts[0].streams.values()
                )  # what waited did so for the start before
        elif event.system == "pgm":
            link = self.links.of_pgm((event.stream or "")[:-1])
            ready = link.packet(event)
            self.links.note(link)
            self.receiving.deliver_all(ready)
        elif event.system == "inbox":
            self._inbox(event)
        else:
            self._message(event)

    def close(self) -> None:
        """Nothing follows: what is due by the last event is given up."""
        self._flush()
        self.links.resume(self.last_ns)
        self._give_up(self.last_ns - SLACK_NS)
        self.links.end(self.last_ns)
        for observer in self.observers:
            end_ns = self._end_of(observer.bridge)
            observer.window.rotation.advance(end_ns)
            observer.advisories.close(end_ns)
            for stream in observer.streams.values():
                left = self.members.said_goodbye(stream.publisher)
                self.links.trailing(stream, left=left)
            self.members.number(observer)
            own_words.weigh(self.state, observer)
        for bridge, publisher in self.publishers.items():
            publisher.rotation.advance(self._end_of(bridge))

    def _end_of(self, bridge: str | None) -> int:
        """When a daemon's timer ticked last, as far as was heard."""
        ended_ns = self.members.ended_ns(bridge)
        return self.last_ns if ended_ns is None else min(ended_ns, self.last_ns)

    # -- links -----------------------------------------------------------------------------------

    def _flush(self, before: int | None = None) -> None:
        for ready in self.links.flush(before):
            self.receiving.deliver_all(ready)

    def _give_up(self, now_ns: int, frame: int | None = None) -> None:
        for ready in self.links.give_up(now_ns, frame):
            self.receiving.deliver_all(ready)

    def _inbox(self, event: Event) -> None:
        if event.source == self.address:
            self.members.names(event)
        link = self.links.of_inbox((event.stream or "")[:-1])
        if event.destination == self.address or self.address is None:
            self.receiving.deliver_all(link.packet(event))
            return
        if event.kind is Kind.ACK:
            link.acks += event.count
        else:
            link.count(event)
        other = self.links.inboxes.get(link.reverse())
        if other is not None and event.stamp is not None and other.answers(event):
            # what the observer says it had, it had, captured or not
            self.receiving.deliver_all(other.acknowledged(event.stamp, event.first_mark()))

    def _passes(self, first: Mark, last: Mark, *, own: bool) -> None:
        """The observer's host sends, as its daemon runs, or gets something."""
        if not self.observers:
            return
        observer = self.observers[-1]
        if not own:
            observer.hears(first)
            return
        since = observer.runs(first, last)
        if since is not None:
            own_words.went_on(observer, since)

    def _message(self, event: Event) -> None:
        """A raims message: sent by the observer, or on its way through its link."""
        self.messages += event.count
        if event.kind is Kind.SUBSCRIBE:
            self._flush()
        elif event.wire_kind in _KNOWN_BY:
            self._flush(event.frame)
        name = link_of(event)
        if not name.startswith((PGM, INBOX)) and event.source is not None:
            self._passes(event.first_mark(), event.last_mark(), own=self.links.leaves(name))
            self.links.speaks(name, event.last_mark().frame)
        if event.wire_kind == "ENCRYPTED":
            self.links.encrypted.append((str(event.stream), event.first_mark()))
        elif event.wire_kind == HOLE:
            self.links.lacks_bytes(name, event.first_mark())
        elif event.wire_kind == BEGUN:
            self.links.begun[name] = event.first_mark()
        elif event.wire_kind == END:
            self._ends(name, event.details())
        elif self.members.is_own(event.source):
            self.links.speaks_tcp = self.links.speaks_tcp or self.links.leaves(name)
            self.sending.sent(event)
        elif name.startswith(PGM):
            link = self.links.of_pgm(name)
            if link.own and event.wire_kind == "UNREAD":
                link.could_not_read(event)
            elif link.own:
                self.links.forwards = self.links.forwards or event.kind is Kind.DATA
                self.observer.had(event)
            else:
                self.receiving.deliver_all(link.message(event))
        elif name.startswith(INBOX):
            # it may wait here until the observer has said who it is
            if self.address is None or self.observer.bridge in (None, event.destination):
                self.receiving.deliver_all(self.links.of_inbox(name).message(event))
        elif self.links.leaves(name) and event.wire_kind == "UNREAD":
            self.links.could_not_read(event)
        elif self.links.leaves(name):
            self.observer.passes_on(event)
        else:
            self.receiving.deliver(event, event.first_mark(), waited=False)

    def _ends(self, link: str, detail: Mapping[str, object]) -> None:
        """Nothing more of a TCP link follows."""
        self.links.ended[link] = how = Ending(str(detail["how"]))
        if how is Ending.RESET:
            self.receiving.reset(link, detail.get("since"))


def _time(text: str | None) -> int | None:
    """A time as a parameter states it."""
    if text is None:
        return None
    if text.isdecimal():
        return int(text)
    stated = datetime.fromisoformat(text)
    if stated.tzinfo is None:
        stated = stated.replace(tzinfo=UTC)
    return round(stated.timestamp() * 1000) * 1_000_000
