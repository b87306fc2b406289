"""Why samples did not come back, as one leg shows it (zenoh.md 11)."""

from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.causes import Cause, Why, answered, furthest
from seqaudit.replay.zenoh.in_document import InDocument
from seqaudit.replay.zenoh.link import Link
from seqaudit.replay.zenoh.moments import Moments
from seqaudit.replay.zenoh.query import Miss
from seqaudit.replay.zenoh.sources import ROS, Source
from seqaudit.replay.zenoh.subscriber import Subscriber


class Explaining:
    """Of one leg.

    Args:
        grace_ns: how long a query may take to appear after a gap.
    """

    def __init__(self, link: Link, moments: Moments, document: InDocument, grace_ns: int) -> None:
        self._link, self._moments, self._document = link, moments, document
        self._grace_ns = grace_ns

    def why(self, who: Subscriber, source: Source, miss: Miss) -> list[Why]:
        """Why the samples of a miss did not come back, each (zenoh.md 11)."""
        first, stop = miss.first, miss.stop
        told = self._document.cause(who, first, stop)
        if told is not None:
            return [Why(first, stop, told)]
        if source.source.endswith(ROS):
            return [Why(first, stop, Cause.NOBODY)]
        if not miss.asked:
            return self._not_asked(source, miss)
        return furthest(
            part
            for query in miss.asked
            for part in answered(
                query, first, stop, cached=miss.cached,
                finals=self._link.finals(source.sender, source.receiver),
                relayed=self._link.zid(source.sender) not in (None, source.node),
                cut=self._moments.cut_between(
                    query.asked.at_ns,
                    query.deadline_ns if query.ended is None else query.ended.at_ns,
                ),
            )
        )  # fmt: skip

    def _not_asked(self, source: Source, miss: Miss) -> list[Why]:
        """Of samples that no query followed, some came after all."""
        if unheard(self._link, self._moments, source, miss):  # a reply brought what was asked for
            return [
                Why(a, b, Cause.UNHEARD)
                for a, b in RangeSet([(miss.first, miss.stop)]) - (source.replied - source.live)
            ]
        if self._moments.cut_between(miss.since_ns, miss.since_ns + self._grace_ns):
            cause = Cause.CUT  # a query may have been among it
        elif _no_cache(self._link, miss):
            cause = Cause.NO_CACHE
        else:
            cause = Cause.NOT_ASKED
        live = RangeSet(source.live.within(miss.first, miss.stop))
        refused = live & source.discarded.ranges
        return furthest(
            [Why(miss.first, miss.stop, cause)]
            + [Why(a, b, Cause.REFUSED) for a, b in refused]
            + [Why(a, b, Cause.LATE) for a, b in live - refused]
        )


def unheard(link: Link, moments: Moments, source: Source, miss: Miss) -> bool:
    """Whether nothing tells if samples were asked for, as what their receiver said is not here.
    Where no cache is declared nobody asks; nor does a group."""
    if miss.asked or link.multicast or _no_cache(link, miss):
        return False
    return moments.unheard(source.receiver, miss.due)


def _no_cache(link: Link, miss: Miss) -> bool:
    """Whether its node had heard in this session of all, and none was among them."""
    return not link.multicast and bool(link.session_starts) and miss.cached is False
