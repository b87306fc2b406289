"""Rows of raims with which nothing happens, without an event of each (decoders/README.md 3, 4).

Most rows are the next messages of a stream, in order on a link where nothing is missing: row 9.6 of
the decision table, or 9.9 where a frame begins; or nobody wants them. What they change is a few
numbers. ``Steady`` holds where these are for one stream on one link, since a row of it was last fed
as an event. Everything that could make a row mean more is looked at before anything is changed, so
that it can still be fed; what that looks at on the way, rotations up to its time, feeding it would
have done as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.clocks import Clock, DaemonClocks
from seqaudit.replay.raims.convergence import Convergence
from seqaudit.replay.raims.links import PGM, TCP, PgmLink
from seqaudit.replay.raims.peer_clock import spread
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.publisher import PublisherWindow
from seqaudit.replay.raims.seqno import BASES
from seqaudit.replay.raims.streams import RaimsStream
from seqaudit.replay.raims.subscriber import SubscriptionWindow
from seqaudit.replay.sequence.gaps import Mark

#: Flags that change nothing.
_PLAIN: Final = ~int(Flag.MULTICAST)


@dataclass(slots=True)
class Steady:
    """One stream on one link.

    Attributes:
        link: null of a link without numbers (TCP), and of what the observer sends.
        peer: whose stream it is; null: the observer's own.
        routed: does the observer want it, when its subscriptions had changed ``changes`` times?
    """

    name: str
    link: PgmLink | None
    stream: RaimsStream
    window: SubscriptionWindow
    peer: Peer | None
    publisher: PublisherWindow
    clock: Clock | None
    changes: int = -1
    routed: bool = False


class SteadyStreams:
    """The streams of an engine of which rows need not be fed."""

    def __init__(
        self, links: Mapping[str, PgmLink], publishers: Mapping[str, PublisherWindow],
        convergence: Convergence, own_skew: list[int], clocks: DaemonClocks,
    ) -> None:  # fmt: skip
        self._own_skew = own_skew
        self._clocks = clocks
        self._links = links
        self._publishers = publishers
        self._convergence = convergence
        self._streams: dict[str, Steady] = {}

    def forget(self) -> None:
        """Who is who has changed: a daemon started, ended, or said its name."""
        self._streams.clear()

    def fed(
        self, event: Event, stream: RaimsStream, window: SubscriptionWindow, peer: Peer | None
    ) -> None:
        """A message of a stream was fed and was not ignored; the next ones may be steady."""
        name = event.stream or ""
        if name in self._streams or event.wire_kind != "DATA" or event.source is None:
            return
        link_name = name.partition("|")[0]
        link = self._links.get(link_name)
        publisher = self._publishers.get(event.source)
        if publisher is None or (link is None and not link_name.startswith(TCP)):
            return
        if link is not None and link.sender is None:
            return
        if peer is None:
            link = None
        clock = self._clocks.of.get(event.source) if link_name.startswith(PGM) else None
        self._streams[name] = Steady(link_name, link, stream, window, peer, publisher, clock)

    def takes(self, row: Any, handed: Mark | None = None) -> bool:
        """Messages in order; false: nothing was changed, the row has to be fed.

        Args:
            row: as ``stage`` has it.
            handed: when its link handed it on, as it had waited for others; null: it came just now.
        """
        steady = self._streams.get(row[8])
        if steady is None:
            return False
        (
            _, _, _, _, at_ns, last_at_ns, _, _, _, source, subject, _, word, seqno, stop, count,
            chain, stamp, flags, _, fresh_id, last_fresh_id, detail,
        ) = row  # fmt: skip
        stream = steady.stream
        if word != "DATA" or flags & _PLAIN or detail is not None or not stamp or not seqno:
            return False
        before = seqno - 1 if chain is None else chain
        begins = seqno & BASES - 1 == 1
        if (
            before <= 0
            or seqno <= 0  # from 2043 on
            or begins is (chain is None)
            or not seqno & BASES - 1
            or stop - seqno != count
            or stream.seen.stop() != before + 1
        ):
            return False
        if handed is not None:
            if chain is not None or steady.peer is None:
                return False
            at_ns, last = handed.at_ns, handed
        elif steady.link is not None and not steady.link.passes(fresh_id, last_fresh_id):
            return False
        else:
            last = Mark(row[3], last_at_ns)
        if steady.name.startswith(PGM) and not self._convergence.is_followed(stream):
            return False
        publisher, peer, window = steady.publisher, steady.peer, steady.window
        clock, ahead_ns = steady.clock, at_ns - stamp
        if handed is None and clock is not None and not clock.goes_on(ahead_ns):
            return False
        if peer is None:
            return self._takes_own(steady, row, last, ahead_ns)
        if not peer.is_steady(at_ns, steady.name) or not (handed or peer.clock.skew):
            return False
        if steady.changes != window.subscriptions.changes:
            steady.changes = window.subscriptions.changes
            steady.routed = window.subscriptions.routed(subject)
        entry = None
        if steady.routed:
            if stream.truth.high != before:
                return False
            entry = window.follower(
                subject, source, seqno, chain, stamp, at_ns, peer.clock.ahead_ns
            )
            if entry is None:
                return False
        why = publisher.goes_on(subject, seqno, stop, chain, stamp)
        if why is None:
            return False
        if handed is None and (steady.link is None or not steady.link.repairing):
            peer.clock.hears(ahead_ns)
            if clock is not None:
                clock.ahead_ns, clock.frame = ahead_ns, row[1]
        stream.goes_on(row, last, why, wanted=entry is not None)
        if entry is None:
            peer.null_route.add(count, last)
            stream.unwanted += count
        else:
            word = "raims-9.6" if chain is None else "raims-9.9"
            entry.last[source] = stream.truth.high = stop - 1
            window.counts[word] += count
            stream.rows[word] += count
            stream.deliver(seqno, stop)
        sqn = None if steady.link is None else steady.link.window.unwrap(last_fresh_id)
        stream.comes_on(steady.name, row[3], sqn)
        return True

    def _takes_own(self, steady: Steady, row: Any, last: Mark, ahead_ns: int) -> bool:
        """The next messages of a stream that the observer publishes."""
        why = steady.publisher.goes_on(row[10], row[13], row[14], row[16], row[17])
        if why is None:
            return False
        spread(self._own_skew, ahead_ns)
        if steady.clock is not None:
            steady.clock.ahead_ns, steady.clock.frame = ahead_ns, row[1]
        steady.stream.goes_on(row, last, why)
        steady.stream.leaves_on(steady.name, row[13], row[14], 0)
        return True
