"""Who gets the samples of one leg, and who asks for those that are missing (zenoh.md 9.4, 9.5)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from seqaudit.replay.contract.worth import BEGINNING
from seqaudit.replay.sequence.gaps import Gap, Mark
from seqaudit.replay.zenoh.causes import Why
from seqaudit.replay.zenoh.declarations import Declarations
from seqaudit.replay.zenoh.document_subscriber import DocumentSubscriber
from seqaudit.replay.zenoh.handed import Signs
from seqaudit.replay.zenoh.hearing import told_by_heartbeat, unread
from seqaudit.replay.zenoh.keys import UNRESOLVED, Advanced, Parameters, matches, parameters
from seqaudit.replay.zenoh.lanes import Lanes
from seqaudit.replay.zenoh.link import Link
from seqaudit.replay.zenoh.lives import LAG_NS, SubscriberLife, Undeclared
from seqaudit.replay.zenoh.query import Miss, Query
from seqaudit.replay.zenoh.reasons import (
    BEHIND,
    BROKEN,
    CLOSING,
    COMING,
    EARLY,
    HANDED,
    LEAVING,
    LEFT_OPEN,
    LEFT_UNSEEN,
    ONE_LEFT,
    RELEASED,
    SEVERAL,
    SHARED,
    SILENT,
    UNNAMED,
    WAITED,
)
from seqaudit.replay.zenoh.sources import MAX_SOURCES, Source, Sources, placed
from seqaudit.replay.zenoh.subjects import Subjects
from seqaudit.replay.zenoh.subscriber import Subscriber

#: Receiver, key expression, and what the machine knows a source by.
Identity = tuple[str, str | None, str]
#: Says why samples of a source did not come back.
Explains = Callable[[Subscriber, Source, Miss], list[Why]]


@dataclass(frozen=True, slots=True)
class _AroundSource:
    """``Around`` of a subscriber and a source."""

    audience: "Audience"
    source: Source
    subject: str | None

    def signs(self) -> Signs:
        return self.audience.signs(self.source.receiver)

    def kept(self) -> bool:
        return self.audience.declared.kept(self.source)

    def cached(self) -> bool | None:
        return self.audience.cached(self.source)

    def asks_from(self, since: int) -> int | None:
        return self.audience.declared.asks_from(self.source.receiver, self.subject, since)

    def asked_from(self, since: int) -> int | None:
        return self.audience.asked_from(self.source.receiver, self.subject, since)

    def in_hole(self, gap: Gap) -> int:
        return self.audience.in_hole(self.source, gap)

    def why(self, who: Subscriber, miss: Miss) -> list[Why]:
        return self.audience.why(who, self.source, miss)


class Audience:
    """Of one leg.

    Args:
        document: the design document's subscribers are replayed.
        signs: what an endpoint says.
        why: says why samples did not come back.

    Attributes:
        subscribers: those that live.
        lanes: of subscribers, which live as long as this.
    """

    def __init__(
        self,
        link: Link,
        declared: Declarations,
        sources: Sources,
        *,
        grace_ns: int,
        retention_ns: int,
        document: bool,
        signs: Callable[[str], Signs],
        why: Explains,
    ) -> None:
        self.subscribers: dict[Identity, Subscriber] = {}
        #: The same by endpoint and key expression.
        self._at: dict[str, dict[str | None, dict[Identity, None]]] = {}
        #: Receiver and machine -> those that live, and those that ended and had samples.
        self._all: dict[tuple[str, str], dict[Subscriber, None]] = {}
        self._lives: dict[Identity, SubscriberLife] = {}  # the last one that ended
        self._ended = 0
        self._undeclared: dict[tuple[str, str], Undeclared] = {}  # by receiver and machine
        self.lanes: dict[int, Lanes] = {}
        #: Endpoint and key expression -> open query for historical samples.
        self.histories: dict[tuple[str, str], Query] = {}
        self._histories_asked: dict[str, Counter[str]] = {}  # endpoint -> of those that live
        self._link = link
        self.declared = declared
        self._sources = sources
        self._grace_ns = grace_ns
        self._retention_ns = retention_ns
        self.document = document
        self.signs, self.why = signs, why
        #: Endpoint and key expression -> the frame in which a subscriber there first asked.
        self._asked: dict[str, dict[str | None, int]] = {}
        self._shown: dict[str, Subjects] = {}  # key expressions that only queries tell
        self._several: dict[str, set[str]] = {}  # endpoint -> key expressions: of several
        self._matched: dict[tuple[str, str, str, str | None], list[Subscriber]] = {}

    def changed(self) -> None:
        """Subscribers were declared or undeclared."""
        self._matched.clear()

    def began(self, mark: Mark) -> None:
        """A session began: who subscribes is declared anew, so it is known from now on."""
        self.changed()
        self._end([identity for identity in self.subscribers if identity[1] is None], mark)

    def of(self, source: Source) -> list[Subscriber]:
        """The logical subscribers that get this source's samples here: one a key expression.

        On one session samples come only because somebody subscribed; to a group they are sent
        whether anybody did or not, so there a member with other subscribers than these gets none.
        """
        if source.receiver in self._link.shut:
            return []
        identity = (source.sender, source.receiver, source.source, source.key)
        matched = self._matched.get(identity)
        if matched is not None:
            return matched
        told = self.declared.told_to(source)
        told += filter(None, [self._shown.get(source.receiver)])
        subjects = sorted({subject for one in told for subject in one.matching(source.key)})
        names: list[str | None] = list(subjects)
        unknown = (source.receiver, None, self.machine(source))
        if unknown in self.subscribers or not (names or (told and self._link.multicast)):
            left = self.declared.left(source) or self.undeclared(source)
            names = [] if not names and left else [None]
        if len(self._matched) >= MAX_SOURCES:
            self._matched.clear()
        found = self._matched[identity] = [self._subscriber(source, name) for name in names]
        return found

    def settle(self) -> None:
        """The capture is over: what one source shows of a subscriber, that it is several, or was
        handed less than came, holds for all that it had at that time."""
        for place, left in self._undeclared.items():
            for one in self._all.get(place, ()) if left.goes_on else ():
                if one.life.left:
                    one.untold.add(LEFT_OPEN, figures=RELEASED)
        there: dict[tuple[str, str | None, int], list[Subscriber]] = {}
        for (receiver, _), lives in self._all.items():
            for one in lives:
                there.setdefault((receiver, one.subject, one.life.until), []).append(one)
        for ones in there.values():
            several = any(
                one.asking.ticks_otherwise(one.begun_at) or self.lanes_of(one).several
                for one in ones
            )
            behind = any(one.asking.behind or one.asking.may_have_left for one in ones)
            for one in ones:
                self.lanes_of(one).several |= several
                if behind:
                    one.untold.add(BEHIND)

    def lanes_of(self, subscriber: Subscriber) -> Lanes:
        """The subscribers that a machine stands for, where their queries tell them apart (S28)."""
        found = self.lanes.get(id(subscriber))
        if found is None:
            found = self.lanes[id(subscriber)] = Lanes(subscriber)
        return found

    def machine(self, source: Source) -> str:
        """What a subscriber knows a source by; the document's by its session alone (D11)."""
        return source.node if self.document else source.source

    def source(self, sender: str, receiver: str, name: str) -> Source | None:
        """What a publisher sent over this leg; null: nothing yet."""
        return self._sources.all.get((sender, receiver, name))

    def _subscriber(self, source: Source, subject: str | None) -> Subscriber:
        identity = (source.receiver, subject, self.machine(source))
        found = self.subscribers.get(identity)
        if found is None:
            sort = DocumentSubscriber if self.document else Subscriber
            history = self.histories.get((source.receiver, subject or ""))
            limit = None if history is None else parameters(history.text).newest
            found = self.subscribers[identity] = sort(
                subject,
                self.machine(source),
                self._grace_ns,
                _AroundSource(self, source, subject),
                history=history is not None,
                history_max=limit,
                retention_ns=self._retention_ns,
            )
            self._at.setdefault(identity[0], {}).setdefault(subject, {})[identity] = None
            self._all.setdefault((identity[0], identity[2]), {})[found] = None
            self.lanes_of(found).several = subject in self._several.get(source.receiver, ())
            if history is not None and history.shared:
                found.untold.add(SEVERAL)
            unnamed = self._lives.get((source.receiver, None, identity[2]))
            declared = self.declared.since(source.receiver, subject)
            if unnamed is not None and declared is not None and declared.frame < unnamed.until:
                found.untold.add(UNNAMED)
            if identity in self._lives:
                found.life = self._lives[identity].next()
        return found

    def everyone(self, receiver: str, machine: str) -> list[Subscriber]:
        """Those that live, or lived and had samples, of one machine's name at an endpoint."""
        return list(self._all.get((receiver, machine), ()))

    def asked_from(self, endpoint: str, subject: str | None, since: int) -> int | None:
        """The frame in which an endpoint's subscriber, which lives since a frame, first asked for
        what it misses, of any source: it does of all, or of none (zenoh.md 9.4)."""
        asked = self._asked.get(endpoint, {}).get(subject)
        return None if asked is None or asked < since else asked

    def in_hole(self, source: Source, gap: Gap) -> int:
        """Bytes of a TCP connection that are missing where samples of a source are."""
        begin = gap.before.frame if gap.before else BEGINNING
        return self._link.missing_bytes(source.sender, source.receiver, begin, gap.revealed.frame)

    def undeclared(self, source: Source) -> bool:
        """What its key stands for was not declared since the session began: its receiver knows no
        more, or the declaration is missing in the capture only."""
        unnamed = source.key is not None and source.key.startswith(UNRESOLVED)
        return unnamed and self._link.session_starts > 0

    def may_not_know(self, source: Source) -> bool:
        """Its receiver, whom the capture finds in mid-session, misses some of it and never asks: it
        may have no recovery, or the datagram with the declaration of its key was lost."""
        if not source.unnamed or self._link.multicast or self._link.transport == "tcp":
            return False
        return len(list(source.live)) > 1 and not any(
            one.asking.since is not None
            for one in self.everyone(source.receiver, self.machine(source))
        )

    def cached(self, source: Source) -> bool | None:
        """Whether a subscriber's node knows of a cache, or sends no query (zenoh.md 9.3). Null: it
        may send one, as nobody tells a client, or not all declarations are here, or said to be."""
        if self.declared.has_cache(source):
            return True
        said_all = source.sender in self.declared.said_all or not self._link.is_peer(source.sender)
        told = said_all and self._link.told_all(source.sender, source.receiver)
        return False if told and not self.document else None

    def _subscribes_now(self, member: str, subject: str, mark: Mark) -> None:
        """A member of the group subscribes: what came before was for nobody that is known. It
        listens before the group hears of it."""
        for (sender, receiver, _), source in self._sources.all.items():
            if source.key is None or not matches(subject, source.key):
                continue
            unknown = receiver, None, self.machine(source)
            if unknown in self.subscribers:
                self._forget(unknown)
            soon = source.last is not None and mark.at_ns - source.last.at_ns < LAG_NS
            known = self.subscribers.get((receiver, subject, self.machine(source)))
            if known is not None and self.declared.declared_before(member, subject, mark):
                known.untold.add(LEFT_UNSEEN)
            if soon and known is None and sender != member:
                self._subscriber(source, subject).untold.add(EARLY)

    def begins(self, endpoint: str, subject: str, mark: Mark) -> None:
        """A node declares a subscriber, which may be handed what is on its way for another one."""
        if self._link.multicast:
            if self._link.listens_here(endpoint):
                self._subscribes_now(endpoint, subject, mark)
            return
        self._end(self._nobodys(endpoint, subject), mark)
        if self._link.session_starts and "@adv" not in subject:
            for one in map(self.subscribers.__getitem__, self._identities(endpoint, (None,))):
                if one.first_at is not None and mark.at_ns - one.first_at.at_ns < LAG_NS:
                    one.untold.add(EARLY, figures=HANDED)
        if not self._link.session_starts and "@adv" not in subject:
            for one in map(self.subscribers.__getitem__, self._identities(endpoint, (None,))):
                if one.start is not None:
                    one.untold.add(UNNAMED)
        for source in self._sources.since(mark.at_ns - LAG_NS):
            if source.receiver != endpoint:
                continue
            if source.key is None or not matches(subject, source.key):
                continue
            machine = self.machine(source)
            known = (endpoint, subject, machine), (endpoint, None, machine)
            if not any(identity in self.subscribers for identity in known):
                untold, last = self._subscriber(source, subject).untold, source.live.stop() - 1
                untold.add(COMING, figures=HANDED, sample=last)

    def _nobodys(self, endpoint: str, subject: str) -> list[Identity]:
        """Of samples of a key expression that came for an endpoint, and since the session began
        nobody had been declared whom they were for: who is declared now is another one."""
        return [
            (receiver, unknown, machine)
            for receiver, unknown, machine in self._identities(endpoint, (None,))
            for source in self._sources.named(machine)
            if source.receiver == receiver
            and source.key is not None
            and matches(subject, source.key)
            and self._link.session_starts
            and self.declared.nobody(
                source, self.subscribers[receiver, unknown, machine].first_at, asked=False
            )
        ]

    def unsubscribes(self, endpoint: str, subject: str, mark: Mark) -> None:
        """The last subscriber of a node at a key expression is gone; a later one begins anew.

        So may be one of whose declaration nothing is known.
        """
        if endpoint in self._shown:
            self._shown[endpoint].discard(subject)
        self._several.get(endpoint, set()).discard(subject)
        self._histories_asked.get(endpoint, Counter()).pop(subject, None)
        self._asked.get(endpoint, {}).pop(subject, None)
        theirs = self._identities(endpoint, (subject, None))
        for (receiver, _, name), one in self._leave(theirs, mark):
            left = self._undeclared.setdefault((receiver, name), Undeclared())
            one.life.left = one.subject == subject
            left.bordered |= one.untold.over(LEAVING) or one.untold.over(COMING)
            for lane in (one, *self.lanes_of(one).all):
                if lane.queries:
                    one.untold.add(LEFT_OPEN, figures=RELEASED)
                if lane.last is not None:
                    left.was(lane.last)
                if lane.pending:  # what is missing before these may be missing here alone
                    left.was(lane.pending.stop() - 1)

    def somebody_left(self, endpoint: str, mark: Mark) -> None:
        """A subscriber of a node is gone whose declaration was not captured: it may be any of those
        of which none was."""
        for identity in self._identities(endpoint):
            one = self.subscribers[identity]
            if self.declared.since(endpoint, identity[1]) is None:
                one.untold.add(ONE_LEFT, since=unread(one, mark))

    def one_more(self, endpoint: str, subject: str, mark: Mark) -> bool:
        """A subscriber says what it says when it begins: it shows its token, or asks for history.

        Long after its key expression was declared it is not the first there; whether that one still
        lives nothing tells.
        """
        declared = self.declared.since(endpoint, subject)
        there = self._identities(endpoint, (subject,) if declared else (subject, None))
        ones = [self.subscribers[identity] for identity in there]
        if declared is None:  # not captured
            declared = min((one.first_at for one in ones if one.first_at), default=None)
        if self._link.multicast or declared is None or mark.at_ns - declared.at_ns <= LAG_NS:
            return False
        self._several.setdefault(endpoint, set()).add(subject)
        for one in ones:
            self.lanes_of(one).several = True
        return True

    def asks_history(self, subject: str, query: Query) -> None:
        """The initial history query of a subscriber of that key expression.

        Where samples have passed already it may be another one's there, or kept back what seemed to
        be handed on: nothing tells who was handed what.
        """
        self.histories[query.requester, subject] = query
        asked = self._histories_asked.setdefault(query.requester, Counter())
        asked[subject] += 1
        query.shared = self.one_more(query.requester, subject, query.asked) or asked[subject] > 1
        for identity in self._identities(query.requester, (subject, None)):
            one = self.subscribers[identity]
            if one.first_at is not None:
                one.untold.add(SHARED)
            if not one.last:
                one.history_asked, one.history = True, one.last is None
                one.history_max = parameters(query.text).newest if one.shipped else None

    def _with_history(self, endpoint: str, mine: list[Subscriber]) -> list[Subscriber]:
        """Those that may wait for late publishers: that goes with an initial history, for which
        nobody asks while there is no cache."""
        asked = self._histories_asked.get(endpoint, ())
        return [one for one in mine if one.subject in asked] or mine

    def history_ended(self, query: Query, subject: str) -> Iterator[Subscriber]:
        """A history query for a key expression ended; those whose it may be."""
        if self.histories.get((query.requester, subject)) is query:
            del self.histories[query.requester, subject]
        yield from self.living(query.requester, None if subject.startswith(UNRESOLVED) else subject)

    def _identities(
        self, endpoint: str, subjects: Iterable[str | None] | None = None
    ) -> list[Identity]:
        """Of those that live at an endpoint; with some key expressions, null: with any."""
        there = self._at.get(endpoint, {})
        return [one for subject in subjects or list(there) for one in there.get(subject, ())]

    def living(self, endpoint: str, subject: str | None) -> Iterator[Subscriber]:
        """Those that live at an endpoint and may be of a key expression, null: of any."""
        subjects = None if subject is None else (subject, None)
        yield from (self.subscribers[one] for one in self._identities(endpoint, subjects))

    def node_gone(self, endpoint: str, mark: Mark) -> None:
        """The node at this endpoint is gone, or another one is there: so are its subscribers."""
        self._shown.pop(endpoint, None)
        self.declared.node_gone(endpoint)
        self._several.pop(endpoint, None)
        self._histories_asked.pop(endpoint, None)
        self._asked.pop(endpoint, None)
        self._leave(self._identities(endpoint), mark)

    def silent(self, endpoint: str, since: int) -> None:
        """A node said nothing behind a job frame until its session ended, though it had to."""
        for one in self.living(endpoint, None):
            one.untold.add(SILENT, since=since)

    def broke_off(self, endpoint: str, mark: Mark, *, unread: bool) -> None:
        """The connection of an endpoint ended without a Close: its node lives and hands on what
        waits, or is gone.

        Args:
            unread: what came just before it may not have read.
        """
        for one in self.living(endpoint, None):
            if self.lanes_of(one).waited():
                one.untold.add(WAITED)
            recent = one.touched is not None and mark.at_ns - one.touched.at_ns < LAG_NS
            if unread and recent:
                one.untold.add(BROKEN, figures=HANDED)

    def shut(self, endpoint: str, mark: Mark, quoted: Source | None) -> None:
        """Nobody listens at an endpoint any more, since what its host quotes, perhaps samples of a
        source, came there."""
        if self._link.shut.setdefault(endpoint, mark).frame != mark.frame:
            return
        lately = set()  # sources of samples that may have waited in its socket
        for source in self._sources.all.values():
            last = source.before if source is quoted else source.last
            if last is not None and mark.at_ns - last.at_ns < LAG_NS:
                lately.add((source.receiver, self.machine(source)))
        ending = list(self.living(endpoint, None))
        self._end(self._identities(endpoint), mark)
        for one in ending:
            one.life.node_gone = endpoint != self._link.opener
            if self.lanes_of(one).waited(self._link.closed_to(endpoint)):
                one.untold.add(WAITED)
            elif (endpoint, one.source) in lately:
                one.untold.add(CLOSING)

    def came_to_nobody(self, source: Source, first: int, stop: int) -> None:
        """Samples [first, stop) of a source came to an endpoint at which nobody listened."""
        if source.discarded.ranges.within(first, stop):
            return  # a copy of what came before
        shut = self._link.shut.get(source.receiver)
        for one in self.everyone(source.receiver, source.source):
            if one.life.over and not (shut and one.life.until == shut.frame):
                continue
            lanes = self.lanes_of(one).all
            for each in (one, *lanes):
                each.was_not_handed(first, stop)
            for lane in lanes:
                one.untold.join(lane.untold)

    def _end(self, identities: Iterable[Identity], mark: Mark) -> list[tuple[Identity, Subscriber]]:
        """Returns those of them that had samples."""
        ended = []
        for identity in identities:
            subscriber = self.subscribers[identity]
            subscriber.end(mark)
            self.lanes_of(subscriber).finish()
            had = subscriber.start is not None and self._ended < MAX_SOURCES
            self._forget(identity, told=had)
            if had:
                self._ended += 1
                self._lives[identity] = subscriber.life
                ended.append((identity, subscriber))
        return ended

    def _leave(
        self, identities: Iterable[Identity], mark: Mark
    ) -> list[tuple[Identity, Subscriber]]:
        """They are dropped shortly before their node says so; returns those that had samples."""
        ended = self._end(identities, mark)
        for _, one in ended:
            if one.touched is not None and mark.at_ns - one.touched.at_ns < LAG_NS:
                one.untold.add(LEAVING, figures=HANDED)
        return ended

    def _forget(self, identity: Identity, *, told: bool = False) -> None:
        """It lives no more; ``told``: and has a row all the same."""
        self.changed()
        receiver, subject, machine = identity
        subscriber = self.subscribers.pop(identity)
        del self._at[receiver][subject][identity]
        if not told:
            del self._all[receiver, machine][subscriber]

    def asked_sources(self, requester: str, name: str | None) -> list[Source]:
        """The sources that a query of an endpoint is about."""
        return [
            source
            for source in self._sources.named(name)
            if source.sender != requester
            and (source.receiver == requester or self._link.multicast)
            and (source.source == name or self.document)
        ]

    def _asks_on(
        self, source: Source, mine: list[Subscriber], first: int | None, at_ns: int
    ) -> bool:
        """Whether a query is of a subscriber that was undeclared: all its later ones begin where it
        was, or below that where samples were on their way to it (9.4). One that lives asks for what
        follows the first that it had. So is, or of another one at its key expression, which a node
        declares once, a query of one that knows nothing of what these have had for long."""
        left = self._undeclared.get((source.receiver, self.machine(source)))
        if first is None:  # of one that knows nothing of the source, or has what waits for history
            new = [
                one for one in mine
                if one.last is None and (not one.history or (one.pending and one.life.number == 1))
            ]  # fmt: skip
            begun = [one.first_at for one in mine if one.first_at and not one.history]
            known = (
                0 < len(begun) == len(mine)
                and self._link.role(source.sender, source.receiver) == "receiver"
                and all(at_ns - mark.at_ns > LAG_NS for mark in begun)
            )
            return not new and (self.declared.anybody_left(source.receiver) or known)
        if left is None or left.last is None:
            return False
        living = [lane for one in mine for lane in (one, *self.lanes_of(one).all)]
        if left.may_ask_from(first):
            return all(one.last != first - 1 for one in living)
        further = self._link.lacks(source.sender, source.receiver)  # had more than is here
        below = first <= left.last or further
        return below and all(one.start is None or one.start >= first for one in living)

    def asking(
        self, requester: str, responder: str, told: Advanced, asked: Parameters, mark: Mark
    ) -> list[Subscriber]:
        """Whose query this is: the subscriber of that key expression, or all it may be."""
        if told.source is None:
            return []
        found = []
        sources = self.asked_sources(requester, told.source)
        if told.role == "*" and self.declared.ended(requester, told.subject):
            for source in sources:
                first = placed(source, asked.first)
                if first is None:
                    continue
                place = (source.receiver, self.machine(source))
                self._undeclared.setdefault(place, Undeclared()).asks(first)
            return []
        if not sources:
            source = self._sources.add(Source(responder, requester, told.source))
            if told.role == "pub":
                source.key = told.subject
            sources = [source]
        declared = told.role == "*" and self.declared.since(requester, told.subject) is not None
        for source in sources:
            named = declared and source.key is None  # nothing of it came yet
            mine = [self._subscriber(source, told.subject)] if named else self.of(source)
            first = placed(source, asked.first)
            gone = self._undeclared.get((source.receiver, self.machine(source)))
            if gone is not None and first is not None and not mine:
                gone.asks(first)
            if asked.has_range and self._asks_on(source, mine, first, mark.at_ns):
                for one in mine:
                    one.asking.perhaps_asked(first, mark.at_ns)
                continue
            if told.role == "*" and asked.has_range:
                self._asked.setdefault(requester, {}).setdefault(told.subject, mark.frame)
            if told.role == "pub" and asked.has_range:
                found += told_by_heartbeat(mine, first)
                continue
            if told.role == "pub":  # who waits for late publishers asks when it hears of one first
                mine = self._with_history(requester, mine)
                found += [one for one in mine if one.last is None] or mine
                continue
            exact = [s for s in mine if s.subject == told.subject]
            if told.role == "*" and not exact and not told.subject.startswith(UNRESOLVED):
                exact = [s for s in mine if s.subject is None]
                if not exact and mine:  # its declaration is not here
                    exact = [self._subscriber(source, told.subject)]
                    self._shown.setdefault(source.receiver, Subjects()).add(told.subject)
                    self.changed()
            found += exact or mine
        return found
