"""What the rows and findings of a zenoh session are made with: its streams, who asked for what, and
where samples of a gap were lost."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, Reporter
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    LIKELY,
    MISSING,
    ORDERED,
    Claim,
    Doubt,
    Worth,
)
from seqaudit.replay.sequence.gaps import Gap, Outcome
from seqaudit.replay.sequence.ranges import RangeSet, total
from seqaudit.replay.zenoh import certificates
from seqaudit.replay.zenoh.causes import Why
from seqaudit.replay.zenoh.document_subscriber import DocumentSubscriber
from seqaudit.replay.zenoh.engine import ZenohEngine
from seqaudit.replay.zenoh.hops import HopCounter
from seqaudit.replay.zenoh.query import Had, Miss, Query
from seqaudit.replay.zenoh.reasons import ONE_LEFT, UNNAMED
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.story import (
    BEFORE,
    BETWEEN_SESSIONS,
    BY_SAMPLE,
    DISCARDED,
    ON_LINK,
    OUT_OF_ORDER,
)
from seqaudit.replay.zenoh.subscriber import Subscriber

SYSTEM: Final = "zenoh"
HOP_SYSTEM: Final = "zenoh-hop"
#: Why nothing is proven of what is missing; the text says what else it may be.
OR_NOT_CAPTURED: Final = "no frame here shows which"
#: The same of what a subscriber of a group missed.
OR_LEFT: Final = (
    f"{OR_NOT_CAPTURED}, nor whether it was there still: a group is not told when a subscriber is "
    "undeclared"
)
#: Of what a transport threw away, by numbers of which nobody knows when they begin anew.
UNRESOLVED: Final = Claim(
    Certainty.UNDECIDABLE,
    why="the beginning of the session is not in this capture, which says how many bits its "
    "transport sns have",
)
#: Outcomes that are no loss.
NO_LOSS: Final = frozenset((
    Outcome.REORDERED, Outcome.UNCAPTURED, Outcome.UNASKED, Outcome.REPAIRED, Outcome.STOPPED,
))  # fmt: skip


@dataclass(slots=True)
class ZenohSubject:
    """What a finding is about."""

    key: str
    system: str
    sender: str
    receiver: str | None


class ZenohReporter(Reporter[ZenohSubject]):
    """Makes the results of one session in one capture."""

    def __init__(self, engine: ZenohEngine, capture: int) -> None:
        super().__init__(
            capture, engine.conversation, engine.parameters, SYSTEM, engine.moments.worth
        )
        self.engine = engine
        self._by_way: dict[tuple[str, str], list[HopCounter]] = {}
        for (sender, receiver, _), counter in (*engine.link.counters.items(), *engine.link.retired):
            self._by_way.setdefault((sender, receiver), []).append(counter)
        self._causes: dict[int, list[tuple[Miss, list[Why]]]] = {}
        self._proven: dict[int, tuple[RangeSet, RangeSet]] = {}
        self._had: dict[int, tuple[RangeSet, list[Had], list[Had]]] = {}
        self._brought: dict[int, RangeSet] | None = None
        #: Senders and keys of samples that carry a number.
        self.numbered = {(s.sender, s.key) for s in engine.sources.all.values() if s.live}

    def receiver_of(self, stream: ZenohSubject) -> str | None:
        return stream.receiver

    def stream(self, sender: str, receiver: str, source: str, subject: str | None) -> ZenohSubject:
        """The stream of a source, or of samples without one, to a subscriber."""
        subject_text = "" if subject is None else f"|{subject}"
        return ZenohSubject(
            f"{sender}>{receiver}|{source}{subject_text}",
            SYSTEM,
            source.partition("/")[0] or self.engine.link.zid(sender) or sender,
            self.engine.link.zid(receiver) or receiver,
        )

    def hop_stream(self, identity: tuple[str, str, int], session: int) -> ZenohSubject:
        """The stream of a transport counter of the session of that number between its ends."""
        sender, receiver, code = identity
        name = f"{sender}>{receiver}|{code >> 1}|{'R' if code & 1 else 'B'}"
        return ZenohSubject(
            name if session == 1 else f"{name}|{session}",
            HOP_SYSTEM,
            self.engine.link.zid(sender) or sender,
            self.engine.link.zid(receiver) or receiver,
        )

    def machines(self, source: Source) -> list[Subscriber]:
        """Subscribers of a source, each with a row of its own, in order of key and life."""
        names = {source.source, source.node}
        found = [
            subscriber
            for name in names
            for subscriber in self.engine.audience.everyone(source.receiver, name)
            if self._is_of(subscriber, name, source)
        ]
        return sorted(found, key=lambda one: (one.subject or "", one.life.number))

    def _is_of(self, subscriber: Subscriber, name: str, source: Source) -> bool:
        """Whether a subscriber is told of beside this source; beside the first it has (D11)."""
        if name == source.source:
            return True
        world = self.engine.world
        zid, _, entity = source.source.partition("/")
        if name != zid or world is None or not isinstance(subscriber, DocumentSubscriber):
            return name == zid and world is None
        return entity == min(world.asked(subscriber).entities, default=entity)

    def queries_of(self, subscriber: Subscriber | None) -> list[Query]:
        """Queries for its source that may be of this subscriber."""
        if subscriber is None:
            return []
        if self.engine.world is not None and isinstance(subscriber, DocumentSubscriber):
            return self.engine.world.asked(subscriber).queries
        return subscriber.asking.listed

    def all_queries(self) -> list[Query]:
        """Those of the wire, or those that the document's machine would have sent."""
        world = self.engine.world
        if world is None:
            return self.engine.queries.all
        return sorted(
            (
                query
                for subscriber in self.engine.audience.subscribers.values()
                if isinstance(subscriber, DocumentSubscriber)
                for query in world.asked(subscriber).queries
            ),
            key=lambda query: (query.asked, query.requester, query.key, query.text),
        )

    @property
    def or_not(self) -> str:
        """Why it is not proven that a subscriber missed what is missing."""
        return OR_LEFT if self.engine.link.multicast else OR_NOT_CAPTURED

    def counters(self, source: Source) -> list[HopCounter]:
        """Transport counters of the way of a source."""
        return self._by_way.get((source.sender, source.receiver), [])

    def causes(self, subscriber: Subscriber) -> list[tuple[Miss, list[Why]]]:
        """Its misses, and why their samples did not come back, each."""
        found = self._causes.get(id(subscriber))
        if found is None:
            found = self._causes[id(subscriber)] = [
                (miss, self._shown(miss, subscriber.around.why(subscriber, miss)))
                for miss in subscriber.misses
            ]
        return found

    def _shown(self, miss: Miss, parts: list[Why]) -> list[Why]:
        """Causes that only frames in doubt show are the likeliest only."""
        begin = min((query.asked.frame for query in miss.asked), default=BEGINNING)
        rests = Rests((begin, miss.due.frame), ordered=True)
        if self.worth.capped(Certainty.PROVEN, rests, None).certainty is Certainty.PROVEN:
            return parts
        return [part._replace(shown_by=None) for part in parts]

    def certain(self, source: Source, subscriber: Subscriber) -> bool:
        """Whether anything can be proven of what its subscriber here missed and got back: not where
        another one may have taken its place."""
        at_receiver = self.engine.link.role(source.sender, source.receiver) == "receiver"
        here = at_receiver and self.engine.world is None
        link = self.engine.link
        if link.lacks_own(source.receiver, source.sender):
            return False  # one that was undeclared asks on (zenoh.md 9.4)
        others = subscriber.untold.over(ONE_LEFT) or subscriber.untold.over(UNNAMED)
        return here and not source.again and source.untold is None and not others

    def proven(self, source: Source, subscriber: Subscriber) -> tuple[RangeSet, RangeSet]:
        """What frames prove to have been missed: what came back, and what did not."""
        if not self.certain(source, subscriber) or subscriber.asking.may_have_left:
            return RangeSet(), RangeSet()
        found = self._proven.get(id(subscriber))
        if found is None:
            mine = self.queries_of(subscriber)
            in_order = self.engine.link.transport == "tcp"
            crossing = source.node in self.engine.sources.crossing
            alone = not any(
                one is not subscriber
                and one.life.meets(subscriber.life.since, subscriber.life.until)
                for one in self.engine.audience.everyone(source.receiver, source.source)
            )
            stays = partial(
                certificates.stays,
                source=source,
                life=subscriber.life,
                asking=subscriber.asking,
                alone=alone,
                in_order=in_order,
            )
            back = certificates.recovered(
                source, subscriber.recovered, mine,
                in_order=in_order, crossing=crossing, stays=stays,
            )  # fmt: skip
            floods = self.engine.link.floods[source.receiver]
            for query in mine:
                if floods.tight(query.asked, query.ended):  # what it brought may have been dropped
                    back -= query.replied
            missed = certificates.missed(
                source, subscriber.misses, mine, crossing=crossing, stays=stays
            )
            found = self._proven[id(subscriber)] = back, missed
        return found

    def had(self, source: Source, subscriber: Subscriber) -> tuple[RangeSet, list[Had], list[Had]]:
        """What a subscriber had and the capture does not hold: certainly, and as it seems.

        Returns:
            What it passed over, or had by another session, what of these and others it certainly
            had, and the rest.
        """
        found = self._had.get(id(subscriber))
        if found is None:
            queries = self.queries_of(subscriber)
            passed = [
                hole
                for gap in sorted(subscriber.gaps, key=lambda gap: gap.first)
                if gap.parts.keys() == {Outcome.UNASKED}
                and (hole := certificates.not_asked_for(gap, queries, subscriber.asks_from))
                and certificates.had(hole)
            ]
            mine = subscriber.asking.had
            seen = [hole for hole in mine if hole.outcome is Outcome.UNCAPTURED]
            told = [(hole, certificates.had(hole)) for hole in seen]
            told += [(hole, True) for hole in passed]
            sure: list[Had] = []
            rest: list[Had] = []
            for hole, certain in told:
                if certificates.not_here(hole, source):
                    (sure if certain and self.certain(source, subscriber) else rest).append(hole)
            elsewhere = (hole for hole in mine if not certificates.not_here(hole, source))
            apart = RangeSet((hole.first, hole.stop) for hole in (*passed, *elsewhere))
            found = self._had[id(subscriber)] = apart, sure, rest
        return found

    @cached_property
    def lacks_frames(self) -> bool:
        """Requests of any subscriber show that frames of samples are not in the capture."""
        sources = self.engine.sources.all.values()
        return any(self.had(source, one)[1] for source in sources for one in self.machines(source))

    def brought(self, counter: HopCounter) -> RangeSet:
        """Frames of a counter that are missing here and came: in each was a sample that its
        subscriber had (CP007)."""
        if self._brought is None:
            self._brought = {}
            for source in self.engine.sources.all.values():
                had = RangeSet(
                    (hole.first, hole.stop)
                    for one in (self.machines(source) if source.jumps else ())
                    for hole in self.had(source, one)[1]
                )
                for jump in source.jumps if had else ():
                    frames = jump.counter.lost.within(jump.before + 1, jump.after)
                    samples = total(had.within(jump.first, jump.stop))
                    if jump.stop - jump.first == samples >= total(frames):
                        known = self._brought.setdefault(id(jump.counter), RangeSet())
                        for span in frames:
                            known.add(*span)
        return self._brought.get(id(counter), RangeSet())

    def about(
        self,
        stream: ZenohSubject,
        rule: str,
        queries: list[Query],
        text: str,
        *,
        claim: Claim = LIKELY,
        **facts: object,
    ) -> Finding:
        return self.make(
            stream, rule, claim, text,
            mark=queries[0].asked,
            evidence=[(q.asked, f"query {q.text}") for q in queries[:MAX_EVIDENCE]],
            facts={"times": len(queries)} | facts,
        )  # fmt: skip

    def resolved(self, source: Source) -> bool:
        """Whether it is known how many bits the transport sns on the way of a source have."""
        return all(counter.resolved for counter in self.counters(source))

    def thrown_away(self, *, resolved: bool) -> Claim:
        """That a transport threw away frames because they stand behind newer ones here.

        Nothing but their order shows it. Frames seldom overtake each other on a path: where
        records are known to, that is what put them there, more often than not.

        Args:
            resolved: it is known how many bits the transport sns have.
        """
        if not resolved:
            return UNRESOLVED
        turned = self.worth.over(BEGINNING, END, None, [Doubt.OUT_OF_ORDER])
        return Claim(Certainty.UNDECIDABLE if turned else Certainty.LIKELY, ORDERED.rests)

    def caches(self, source: Source, subscriber: Subscriber) -> str:
        """The caches that answered, in words."""
        names = sorted(
            {
                name
                for query in self.queries_of(subscriber)
                if query.filled
                for name in (self.engine.link.zid(cache) or cache for cache in query.responders)
            }
        )
        return ", ".join(names[:MAX_EVIDENCE]) or "a cache that does not name itself"

    def apart(self, gaps: Iterable[Gap]) -> list[tuple[list[Gap], RangeSet]]:
        """Gaps over which the capture lacks nothing that is known, and those in a hole or a cut of
        it, each with what is to be said of them: all numbers but the others', and theirs.

        One hole is no reason to be less sure of gaps elsewhere.
        """
        whole: list[Gap] = []
        doubted: list[Gap] = []
        known = Worth([span for span in self.worth.spans if span.doubt in MISSING])
        for gap in gaps:
            begin = gap.before.frame if gap.before else BEGINNING
            lacks = known.spans and known.over(begin, gap.revealed.frame, None, MISSING)
            (doubted if lacks else whole).append(gap)
        theirs = RangeSet((gap.first, gap.stop) for gap in doubted)
        return [(whole, RangeSet([(BEGINNING, END)]) - theirs), (doubted, theirs)]

    def document_cache(self) -> str:
        """Where the design document's cache is, in words."""
        world = self.engine.world
        assert world is not None
        if not world.settings.enabled:
            return "none"
        return "in the publisher" if world.settings.origin == "local" else "at the sender's node"

    def place(
        self, source: Source, subscriber: Subscriber, gap: Gap, counters: list[HopCounter]
    ) -> str | None:
        """Where samples of a gap were lost, as this leg shows it; null where it does not (11)."""
        if not counters or not gap.parts.keys() - NO_LOSS:
            return None
        if self.between_sessions(source, subscriber).within(gap.first, gap.stop):
            return BETWEEN_SESSIONS
        if source.discarded.ranges.within(gap.first, gap.stop):
            return DISCARDED
        begin, end = gap.before.frame if gap.before else BEGINNING, gap.revealed.frame
        if any(counter.passed_over(begin, end) for counter in counters):
            return ON_LINK
        if any(counter.threw_away(begin, end) for counter in counters):
            return DISCARDED
        if source.live.within(gap.first, gap.stop):
            return OUT_OF_ORDER
        return BEFORE if gap.revealed_by == BY_SAMPLE else None

    def between_sessions(self, source: Source, subscriber: Subscriber) -> RangeSet:
        """Samples that a subscriber which had the source before lacked when this session began."""
        if subscriber.resumed is None or subscriber.first_at is None:
            return RangeSet()
        if not certificates.nothing_before(source, subscriber.first_at):
            return RangeSet()
        return RangeSet([subscriber.resumed])


def rests(gaps: Iterable[Gap]) -> Rests:
    """On nothing having come between what stands before gaps and what revealed them."""
    spans = [(gap.before.frame if gap.before else BEGINNING, gap.revealed.frame) for gap in gaps]
    first, last = (
        min((a for a, _ in spans), default=BEGINNING),
        max((b for _, b in spans), default=END),
    )
    return Rests((first, last), ordered=True)


def touches(gap: Gap, outcome: Outcome, ranges: RangeSet) -> bool:
    return any(ranges.within(a, b) for a, b in gap.parts[outcome].ranges)
