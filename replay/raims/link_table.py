"""All links of one observer, and what did not come between two messages of a stream."""

import heapq
from collections.abc import Iterable, Iterator

from seqaudit.decoders.contract.events import Ending, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.pgm.engine import window_settings
from seqaudit.replay.pgm.reading import Ticks
from seqaudit.replay.raims.changes import SubscriptionChange
from seqaudit.replay.raims.inbox_link import InboxLink
from seqaudit.replay.raims.lapses import Lapses
from seqaudit.replay.raims.links import INBOX, NEVER_NS, PGM, TCP, PgmLink, Ready
from seqaudit.replay.raims.message import subject_of
from seqaudit.replay.raims.missing import (
    BORDER_UNSEEN,
    BYTES_MISSING,
    BYTES_WHOLE,
    OTHER_LINK,
    OTHERS_LACK,
    RECONNECTED,
    SECRET,
    Missing,
)
from seqaudit.replay.raims.seqno import base_of
from seqaudit.replay.raims.settings import Settings
from seqaudit.replay.raims.streams import RaimsStream
from seqaudit.replay.raims.truth import (
    BY_BEGIN,
    BY_CONNECTION,
    BY_CONSOLE,
    BY_END,
    BY_RESTART,
    Loss,
)
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark


class LinkTable:
    """The links of one observer by name.

    Attributes:
        pgm: TSIs.
        inboxes: directions of point-to-point connections.
        holes: of a TCP link the last place where bytes of it are missing or could not be read.
        begun: of a TCP link that had begun before what is captured, where its first message came.
        ended: of a TCP link how it ended.
        encrypted: links of which nothing can be read.
        waiting: TSIs on which something may be missing.
        forwards: the observer passes on what others sent, in a TSI of its own.
        speaks_tcp: it has sent messages of its own over TCP.
        untold: publishers and subjects of messages that waited when the capture ended, and of which
            nobody can tell whether the daemon had them by then.
    """

    def __init__(self, settings: Settings, address: str | None) -> None:
        self._settings = settings
        self._address = address
        host = f"[{address}]" if address is not None and ":" in address else address
        self._leaves = None if host is None else f"{TCP}{host}:"
        self.elapsed = Elapsed()  # of all events that are never joined to runs
        self.lapses = Lapses()  # of what the observer's host sends by PGM and to inboxes
        self._ticks = Ticks()
        self.pgm: dict[str, PgmLink] = {}
        self.inboxes: dict[str, InboxLink] = {}
        self._have_inbox: set[str] = set()  # addresses that sent something point to point
        self.holes: dict[str, Mark] = {}
        self._hole_here = -1  # the frame of the last of them on a link to the observer
        self._asks: dict[str, int] = {}  # TCP links that lead here, whose other side alone speaks
        self._answered: set[str] = set()  # those that speak themselves
        self.begun: dict[str, Mark] = {}
        self.ended: dict[str, Ending] = {}
        self.encrypted: list[tuple[str, Mark]] = []
        self.waiting: set[str] = set()
        self.forwards = self.speaks_tcp = False
        self.untold: set[tuple[str, str]] = set()
        #: When a hole of a TSI may be due, first ones first: never later than it is.
        self._due: list[tuple[int, str]] = []
        self._noted: dict[str, int] = {}  # of each the first that stands there

    def of_pgm(self, name: str) -> PgmLink:
        """A TSI's link, made when it is first seen."""
        link = self.pgm.get(name)
        if link is None:
            link = self.pgm[name] = PgmLink(
                name, window_settings(self._settings.pgm), self._address, self.elapsed, self._ticks
            )
        return link

    def of_inbox(self, name: str) -> InboxLink:
        """One direction of a point-to-point connection, made when it is first seen."""
        link = self.inboxes.get(name)
        if link is None:
            link = self.inboxes[name] = InboxLink(name)
            self._have_inbox.add(link.source)
        return link

    def leaves(self, name: str) -> bool:
        """Does a TCP link lead away from the observer, which forwards on it what it has got?"""
        return self._leaves is not None and name.startswith(self._leaves)

    def begin_anew(self, streams: Iterable[RaimsStream] = ()) -> list[Event]:
        """The observer has only just started: nothing of a TSI came to it before. Messages that
        waited in these.

        Args:
            streams: of the start before: it got nothing of what waited then.
        """
        for stream in streams:
            waiting = self.pgm.get(stream.link)
            if waiting is not None and waiting.window.holes:
                self._more_behind(stream, BY_RESTART)
        others = [link for link in self.pgm.values() if not link.own]
        return [event for link in others for event in link.begin_anew()]

    # -- time ------------------------------------------------------------------------------------

    def flush(self, before: int | None = None) -> Iterator[list[Ready]]:
        """What waited for packets that came last (before a frame), of every link."""
        for link in list(self.pgm.values()):
            yield link.flush(before)

    def give_up(self, now_ns: int, frame: int | None = None) -> Iterator[list[Ready]]:
        """Holes that are due by now, in the order of their times, and what waited behind them."""
        while (first := self._next_due()) is not None and first[0] <= now_ns:
            yield self.pgm[first[1]].give_up(first[0], frame, now_ns)

    def note(self, link: PgmLink) -> None:
        """After a packet of a TSI, which may have shown a hole."""
        if not link.window.holes:
            return
        self.waiting.add(link.name)
        due_ns = link.next_due_ns()
        if due_ns is not None and due_ns < self._noted.get(link.name, NEVER_NS):
            self._noted[link.name] = due_ns
            heapq.heappush(self._due, (due_ns, link.name))

    def is_waiting_after(self, now_ns: int, silent_ns: int) -> bool:
        """Is nothing due to be given up by now, nor what is missing put off by a silence?"""
        first = self._next_due()
        if first is None:
            return True
        return first[0] > now_ns and silent_ns <= self.pgm[first[1]].window.settings.quiet_ns

    def _next_due(self) -> tuple[int, str] | None:
        """When the next hole of any TSI is given up, and whose it is: there may be thousands, and
        this is asked for every event."""
        while self._due:
            due_ns, name = first = self._due[0]
            link = self.pgm[name]
            now_due_ns = link.next_due_ns()
            if now_due_ns == due_ns:
                return first
            heapq.heappop(self._due)
            if self._noted.get(name) == due_ns:
                del self._noted[name]
            if now_due_ns is None:
                self.waiting.discard(name)
            else:
                self.note(link)
        return None

    def pause(self, silent_ns: int) -> None:
        """So long nothing was captured."""
        for name in self.waiting:
            self.pgm[name].window.pause(silent_ns)

    def resume(self, end_ns: int) -> None:
        for link in self.pgm.values():
            link.window.resume(end_ns)
            self.note(link)

    def end(self, end_ns: int) -> None:
        """Nothing follows, and what was surely due by then has been given up."""
        for link in self.pgm.values():
            for event in link.held_to(end_ns):
                if event.kind is Kind.DATA:
                    self.untold.add((event.source or "", subject_of(event)))

    def could_not_read(self, event: Event) -> None:
        """What came on a link is no message, or lacks what every message has."""
        name = link_of(event)
        if name.startswith(PGM):
            self.of_pgm(name).could_not_read(event)
        elif name.startswith(INBOX):
            self.of_inbox(name).doubted_frame = event.frame
        else:
            self.lacks_bytes(name, event.first_mark())

    def lacks_bytes(self, name: str, mark: Mark) -> None:
        """Bytes of a TCP link are missing, or could not be read."""
        self.holes[name] = mark
        if not self.leaves(name):
            self._hole_here = mark.frame

    def speaks(self, name: str, frame: int) -> None:
        """A message passed on a TCP link. Both sides of a connection say who they are (raims.md 4):
        where only the observer's is captured, all that came to it is missing."""
        if not self.leaves(name):
            self._answered.add(name)
            self._asks.pop(name, None)
            return
        here, _, there = name.removeprefix(TCP).partition(">")
        if (answers := f"{TCP}{there}>{here}") not in self._answered:
            self._asks[answers] = frame

    # -- what is missing -------------------------------------------------------------------------

    @property
    def apart(self) -> bool:
        """Do TSIs pass that the observer, which speaks over TCP, may have nothing of? A daemon in a
        group sends SPMs of its own; a switch may show them to others as well."""
        return self.speaks_tcp and bool(self.pgm) and not any(x.own for x in self.pgm.values())

    @property
    def dropped_inside(self) -> bool:
        """Did packets come to this host that its daemon asked for afterwards?"""
        return any(link.window.inside for link in self.pgm.values())

    def may_lack(self, since: int = 0) -> bool:
        """May messages have come since a frame that the capture does not hold?"""
        return (
            any(link.doubtful_since(since) for link in self.pgm.values())
            or any(mark.frame >= since for mark in self.holes.values())
            or any(frame >= since for frame in self._asks.values())
        )

    def lacks(self, address: str | None) -> bool:
        """May what came from a host lack something that the capture does not hold? Whoever has an
        inbox sends a TSI as well; of one of which nothing is captured everything is missing, also
        where others are seen to ask for it."""
        links = self._of(address)
        unseen = address in self._have_inbox and all(link.sender is None for link in links)
        return unseen or any(link.doubtful_since(0) for link in links)

    def woke_late(self, address: str | None, frame: int) -> bool:
        """May what went on with a packet of a host have done so with one before it, which is not
        in this capture?"""
        return any(frame in link.woke_late for link in self._of(address))

    def stopped_at(self, address: str | None, frame: int) -> bool:
        """Had others been given up before what a host's messages waited for until a frame?"""
        return any(link.stopped_at(frame) for link in self._of(address))

    def misses(self, address: str | None) -> bool:
        """Did anything that came from a host, or else may have come over TCP, not come here?"""
        links = self._of(address)
        return bool(self.holes) or any(x.lost or x.window.holes for x in links)

    def _of(self, address: str | None) -> list[PgmLink]:
        """TSIs that are a host's, or may be."""
        return [x for x in self.pgm.values() if address in (None, x.sender) or x.sender is None]

    def lacks_own(self, since: int) -> bool:
        """Does the capture lack something that the observer itself sent behind a frame? Of what it
        sent before the first of these that are captured, one has to know something to miss more. Of
        a TSI of which nothing is captured everything is missing."""
        own = [link for link in self.pgm.values() if link.own]
        if self.inboxes and not own:  # whoever has an inbox says the rest in one
            return True
        gaps = [link.sent_gap for link in own] + [link.sent_before for link in own if since >= 0]
        gaps += [mark.frame for name, mark in self.holes.items() if self.leaves(name)]
        return max(gaps, default=-1) > since

    def inbox_lacks(self, name: str, since: int) -> bool:
        """Does the capture lack packets of a point-to-point link that came since a frame? What is
        missing over TCP may have come on any connection, also on one without numbers so far."""
        link = self.inboxes.get(name)
        if link is not None:
            return link.lacks or link.doubted_frame >= since
        return self._hole_here >= since

    def border_unseen(self, link: str, before: Iterable[str]) -> bool:
        """Does the capture not show where a TCP link begins, or where one of those before ends?"""
        ended = (self.ended.get(name) for name in before if name != link)
        return link in self.begun or Ending.UNSEEN in ended

    def has_ended(self, links: Iterable[str]) -> bool:
        """Did one of these TCP links end, as the capture shows?"""
        return any(self.ended.get(name, Ending.UNSEEN) is not Ending.UNSEEN for name in links)

    def between(self, name: str, sqn: int | None, other: int | None) -> Missing:
        """What did not come between two packets of a link."""
        link = self.pgm.get(name)
        if link is None or sqn is None or other is None:
            return BYTES_MISSING if name in self.holes else BYTES_WHOLE
        return link.between(link.window.unwrap(sqn), link.window.unwrap(other))

    def before(self, event: Event, stream: RaimsStream) -> Missing | None:
        """What did not come on the link between the stream's last message and this one; null where
        this one follows it, or is its first."""
        high = stream.truth.high
        if stream.glsno or high is None:
            high = stream.seen.stop() - 1 if stream.seen else None
        if high is None or event.seqno is None or event.seqno == high + 1:
            return None
        name = link_of(event)
        if self.encrypted:
            return SECRET
        link = self.pgm.get(name)
        if link is not None and stream.link == name and stream.last_sqn is not None:
            first = link.window.unwrap(event.fresh_id if event.fresh_id is not None else 0)
            return link.between(stream.last_sqn, first)
        if not name.startswith(TCP) or not stream.link.startswith(TCP):
            return OTHER_LINK
        if stream.link != name and self.border_unseen(name, [stream.link]):
            return BORDER_UNSEEN
        for one in (name, stream.link):  # what came of it on others says nothing of this one
            hole = self.holes.get(one)
            # what waited for them may have come in the frame that shows them to be missing
            if hole is not None and hole.frame >= stream.came_on.get(one, -1):
                return BYTES_MISSING
        if stream.link == name:
            return BYTES_WHOLE
        since = stream.came_on.get(stream.link, -1)
        begun = any(mark.frame >= since for mark in self.begun.values())
        return OTHERS_LACK if begun or self.may_lack(since) else RECONNECTED

    def begins(self, event: Event, stream: RaimsStream, since: int) -> None:
        """A stream's first message that is wanted, as it has been since a frame."""
        name = link_of(event)
        if name in self.pgm and event.fresh_id is not None:
            stream.first_wanted = name, self.pgm[name].window.unwrap(event.fresh_id), since
            if event.seqno is not None and (base_of(event.seqno) > 1 or event.conn_id):
                stream.others_before = event.seqno, event.first_mark()
        elif name in self.holes and self.holes[name].frame >= since:
            stream.borders.append(BYTES_MISSING)

    def lacks_first(self, stream: RaimsStream) -> bool:
        """May messages of it have come before the first one that is captured?"""
        if stream.first_wanted is None:
            return False
        name, sqn, since = stream.first_wanted
        return self.pgm[name].lacks_before(sqn, since)

    def remember(self, event: Event, stream: RaimsStream, sqn: int | None) -> None:
        """Where a stream is on its link after a message.

        Args:
            sqn: of the message's last piece; null: it was whole.
        """
        name = link_of(event)
        link = self.pgm.get(name)
        if link is None or event.fresh_id is None:
            stream.comes_on(name, event.last_mark().frame, None)
            return
        last = event.fresh_id if event.last_fresh_id is None else event.last_fresh_id
        stream.comes_on(name, event.last_mark().frame, link.window.unwrap(sqn or last))

    def refused(self, stream: RaimsStream) -> int:
        """Packets up to a stream's last message that came to this host, and not to its daemon."""
        link = self.pgm.get(stream.link)
        return 0 if link is None or stream.last_sqn is None else link.refused(stream.last_sqn)

    def lacks_copies(self, stream: RaimsStream) -> bool:
        """May its messages not all be captured, or have come sooner than what was before them let
        them go on, where it has copies on other TSIs?"""
        names = {stream.link, *stream.copied_on} if stream.copied_on else ()
        return any(self.pgm[name].doubtful_since(0) for name in names if name in self.pgm)

    def stands_since(self, stream: RaimsStream, went_on: int) -> int | None:
        """Since which frame its link may have handed on nothing more (``PgmLink.stands_since``)."""
        link = self.pgm.get(stream.link)
        return None if link is None else link.stands_since(went_on)

    def held_up(self, stream: RaimsStream, changes: Iterable[SubscriptionChange]) -> bool:
        """Is it unknown whether its link handed on messages before or behind one of these?"""
        link = self.pgm.get(stream.link)
        return link is not None and any(map(link.held_up, changes))

    def waits_over(
        self, stream: RaimsStream, changes: Iterable[SubscriptionChange], mark: Mark
    ) -> bool:
        """May what its link handed on then have been so on the other side of one of these?"""
        link = self.pgm.get(stream.link)
        return link is not None and any(link.waits_over(mark, change) for change in changes)

    def behind(self, stream: RaimsStream) -> Missing:
        """What did not come of a TSI behind the stream's last message."""
        link, last = self.pgm.get(stream.link), stream.last_sqn
        return Missing() if link is None or last is None else link.behind(last)

    def unnumbered(self, stream: RaimsStream) -> None:
        """What may have been lost of a stream of whose messages some have no number: nothing steps
        over them."""
        link = self.pgm.get(stream.link)
        if not stream.zero or stream.last is None or link is None:
            return
        missing = link.between(-1 << 62, 1 << 62)
        if missing.count:
            room = missing.count * self._settings.room(stream)
            stream.truth.add(
                Loss(stream.truth.high, None, 0, room, BY_CONSOLE, stream.last, missing.count,
                     missing=missing)
            )  # fmt: skip

    def trailing(self, stream: RaimsStream, *, left: bool) -> None:
        """What may have been lost behind the stream's last message: packets that did not come; or
        anything, where its connection ended, but by a publisher that said that it ``left``."""
        self.unnumbered(stream)
        if stream.truth.high is None or stream.glsno:
            return
        self._leading(stream)
        missing = self.behind(stream)
        if missing.count and stream.last is not None:
            room = missing.count * self._settings.room(stream)
            stream.truth.add(
                Loss(stream.truth.high, None, 0, room, BY_END, stream.last, missing.count,
                     missing=missing)
            )  # fmt: skip
        ended = self.ended.get(stream.link, Ending.UNSEEN)
        if ended is not Ending.UNSEEN and not (left and ended is Ending.CLOSED):
            self._more_behind(stream, BY_CONNECTION)

    def _leading(self, stream: RaimsStream) -> None:
        """What may have been lost before the first message that came of a stream, since it is
        wanted: others had been sent before, and packets were lost."""
        if stream.first_wanted is None or stream.others_before is None:
            return
        name, sqn, since = stream.first_wanted
        missing = self.pgm[name].shown_missing(sqn, since)
        if missing.count:
            room = missing.count * self._settings.room(stream)
            before, mark = stream.others_before
            stream.truth.add(
                Loss(None, before, 0, room, BY_BEGIN, mark, missing.count, missing=missing)
            )

    @staticmethod
    def _more_behind(stream: RaimsStream, known_by: str) -> None:
        """Any number may have been lost behind the stream's last message."""
        high, last = stream.truth.high, stream.last
        if high is not None and last is not None and not stream.glsno:
            stream.truth.add(Loss(high, None, 0, None, known_by, last, missing=BYTES_WHOLE))


def link_of(event: Event) -> str:
    """The name of the link that a message came on."""
    return (event.stream or "").partition("|")[0]
