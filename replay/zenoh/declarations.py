"""What the ends of one leg declared: keys, subscribers, caches, tokens (zenoh.md 4.5)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from seqaudit.decoders.contract.zenoh_detail import Detail, Key
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.zenoh.keys import UNRESOLVED, KeyTables, advanced, document_query, matches
from seqaudit.replay.zenoh.link import Link
from seqaudit.replay.zenoh.lives import LAG_NS
from seqaudit.replay.zenoh.sources import MAX_SOURCES, Source
from seqaudit.replay.zenoh.subjects import Subjects

#: Subscribers or queryables of one side; each is matched against each new source.
MAX_DECLARED: Final = 2_000
#: Times that one subscribes to heartbeats at one key expression.
MAX_LIVES: Final = 100
#: End of the key expression of a subscriber to heartbeats (zenoh.md 9.1).
HEARTBEATS: Final = "/@adv/pub/**"

#: Of an interest's options: one declaration may answer for all that match (zenoh.md 4.6).
AGGREGATE: Final = 0x80

#: What a declaration is known by: its id, and to a group its key expression.
Declared = tuple[int, str | None]


@dataclass(frozen=True, slots=True)
class _Caches:
    """The caches that one end has declared.

    Attributes:
        any: one of them does not say of what, or is no advanced one.
        stamped: zids of publishers whose samples are told apart by timestamps.
    """

    any: bool
    sources: frozenset[str]
    stamped: frozenset[str]

    @classmethod
    def of(cls, declared: Iterable[str]) -> "_Caches":
        told = [advanced(key) for key in declared]
        names = [one.source for one in told if one is not None and one.source is not None]
        stamped = (name.partition("/")[0] for name in names if name.endswith("/uhlc"))
        return cls(len(names) < len(told), frozenset(names), frozenset(stamped))


class Declarations:
    """Of one leg.

    Attributes:
        unnamed: endpoints with a subscriber at a key expression that is not known here.
        said_all: endpoints that have told their peer all that they had to declare at first.
    """

    def __init__(self, link: Link) -> None:
        self.keys = KeyTables()
        self.subscriptions: dict[str, dict[Declared, str]] = {}
        self._subjects: dict[str, Subjects] = {}  # endpoint -> the same by their keys
        #: Endpoint and key expression of subscribers that recover, as they subscribe to
        #: heartbeats, to the job frames that say so.
        self._recovering: dict[tuple[str, str], list[int]] = {}
        #: Endpoint and key expression -> when its first and its last subscriber was declared.
        self._since: dict[str, dict[str, tuple[Mark, Mark]]] = {}
        self._sums: dict[str, set[str]] = {}  # endpoint -> key expressions it wants one answer for
        self.said_all: set[str] = set()
        self.unnamed: set[str] = set()
        self._link = link
        self._queryables: dict[str, dict[Declared, str]] = {}
        self._tokens: dict[str, dict[Declared, str]] = {}  # sender -> id -> source
        self._left: set[str] = set()  # endpoints of which a subscriber was undeclared
        self._unsubscribed: dict[str, set[str]] = {}  # endpoint -> key expressions
        self._cached_at: dict[str, _Caches] = {}  # by sender

    def clear(self) -> None:
        """A new session."""
        self.keys.clear()
        self.subscriptions.clear()
        self._subjects.clear()
        self.said_all.clear()
        self._queryables.clear()
        self._cached_at.clear()
        self._tokens.clear()
        self._sums.clear()

    def key(self, what: str, detail: Detail, sender: str, receiver: str) -> None:
        """D_KEYEXPR or U_KEYEXPR."""
        if what == "keyexpr":
            text = self.keys.resolve(sender, receiver, detail["key"])
            self.keys.declare(sender, detail["id"], text)
        else:
            self.keys.forget(sender, detail["id"])

    def interest(self, detail: Detail, sender: str, receiver: str) -> None:
        """Interest: who wants one answer for all that match is told no subscriber's key
        expression, but its own (zenoh-pico's publishers)."""
        if detail.get("options", 0) & AGGREGATE and "key" in detail:
            sums = self._sums.setdefault(sender, set())
            if len(sums) < MAX_DECLARED:
                sums.add(self.keys.resolve(sender, receiver, detail["key"]))

    def subscriber(self, detail: Detail, sender: str, receiver: str, mark: Mark) -> str | None:
        """D_SUBSCRIBER: its key expression; null where it is not told, or there are too many."""
        sums = self._sums.get(receiver)
        if sums and (told := self.keys.resolve(sender, receiver, detail["key"])) in sums:
            self._since.setdefault(sender, {}).setdefault(told, (mark, mark))  # somebody is there
            return None
        before = self._known(detail, sender, receiver)
        subject = self._add(self.subscriptions, detail, sender, receiver)
        if subject is not None:
            subjects = self._subjects.setdefault(sender, Subjects())
            subjects.discard(before)
            subjects.add(subject)
            if subject.startswith(UNRESOLVED) and len(self.unnamed) < MAX_SOURCES:
                self.unnamed.add(sender)
            since = self._since.setdefault(sender, {})
            gone = self._unsubscribed.get(sender, set())
            again = subject in gone
            gone.discard(subject)
            first, last = since.get(subject, (mark, mark))
            if len(since) < MAX_DECLARED:  # who is told of once more is the same
                since[subject] = first, mark if again else last
            of, heartbeats, _ = subject.partition(HEARTBEATS)
            if heartbeats:
                frames = self._recovering.setdefault((sender, of), [])
                if len(frames) < MAX_LIVES:
                    frames.append(mark.frame)
        return subject

    def _known(self, detail: Detail, sender: str, receiver: str) -> str | None:
        name = self._declared(sender, receiver, detail)
        return self.subscriptions.get(sender, {}).get(name)

    def knows(self, detail: Detail, sender: str, receiver: str) -> bool:
        """Whether the declaration of a subscriber that is undeclared was captured."""
        return self._known(detail, sender, receiver) is not None

    def subscriber_gone(self, detail: Detail, sender: str, receiver: str) -> str | None:
        """U_SUBSCRIBER: its key expression, if it was the last of its node there."""
        name = self._declared(sender, receiver, detail)
        subject = self.subscriptions.get(sender, {}).pop(name, None)
        if sender in self._subjects:
            self._subjects[sender].discard(subject)
        if len(self._left) < MAX_SOURCES:
            self._left.add(sender)
        if subject is None or subject in self.subscriptions.get(sender, {}).values():
            return None
        gone = self._unsubscribed.setdefault(sender, set())
        if len(gone) < MAX_DECLARED:
            gone.add(subject)
        return subject

    def node_gone(self, endpoint: str) -> None:
        """All of its subscribers are gone; what another node declares is of its own."""
        self.subscriptions.pop(endpoint, None)
        self._subjects.pop(endpoint, None)
        self._unsubscribed.setdefault(endpoint, set()).update(self._since.get(endpoint, ()))

    def since(self, endpoint: str, subject: str | None) -> Mark | None:
        """When a node declared its subscriber at a key expression; null: not in this capture."""
        found = None if subject is None else self._since.get(endpoint, {}).get(subject)
        return None if found is None else found[1]

    def declared_before(self, endpoint: str, subject: str, mark: Mark) -> bool:
        """Whether a node had declared its subscriber at a key expression already, before a mark."""
        since = self.since(endpoint, subject)
        return since is not None and since.frame < mark.frame

    def asks_from(self, endpoint: str, subject: str | None, since: int) -> int | None:
        """The frame that declares that an endpoint's subscriber, which lives since a frame, asks
        for what it misses: the declaration of one that was undeclared before it stays (9.4)."""
        if self._link.multicast or subject is None:
            return None
        frames = self._recovering.get((endpoint, subject), ())
        return next((frame for frame in frames if frame >= since), None)

    def told_to(self, source: Source) -> list[Subjects]:
        """What those subscribe to whom samples of a source may be for; none: nothing."""
        if not self._link.multicast:
            there = self._subjects.get(source.receiver)
            return [there] if there else []
        return [
            subjects
            for endpoint, subjects in self._subjects.items()
            if subjects and endpoint != source.sender and self._link.listens_here(endpoint)
        ]

    def nobody(self, source: Source, first_at: Mark | None, *, asked: bool) -> bool:
        """Whether nothing shows that anybody subscribed to a source at its receiver when samples
        first came for one of which no declaration is known: nobody did since the session began, or
        soon behind that; or somebody was undeclared there, perhaps the only one.

        Args:
            asked: a query came for it.
        """
        if first_at is None:
            return False
        if self._link.multicast:  # samples are sent to a group whether anybody subscribes or not
            return True
        if not self._link.session_starts or source.key is None:
            return self.anybody_left(source.receiver) and not asked
        there = self._since.get(source.receiver, {})
        if asked and not any(
            heartbeats and matches(subject, source.key)
            for subject, heartbeats, _ in (key.partition(HEARTBEATS) for key in there)
        ):
            return False  # else only who was undeclared asks: its heartbeats stay declared
        return not any(
            first.at_ns < first_at.at_ns + LAG_NS and matches(subject, source.key)
            for subject, (first, _) in there.items()
        )

    def queryable(self, detail: Detail, sender: str, receiver: str) -> None:
        self._cached_at.pop(sender, None)
        self._add(self._queryables, detail, sender, receiver)

    def queryable_gone(self, detail: Detail, sender: str, receiver: str) -> None:
        self._cached_at.pop(sender, None)
        name = self._declared(sender, receiver, detail)
        self._queryables.get(sender, {}).pop(name, None)

    def _add(
        self, table: dict[str, dict[Declared, str]], detail: Detail, sender: str, receiver: str
    ) -> str | None:
        name, declared = self._declared(sender, receiver, detail), table.setdefault(sender, {})
        if len(declared) >= MAX_DECLARED:
            return None
        subject = declared[name] = self.keys.resolve(sender, receiver, detail["key"])
        return subject

    def _declared(self, sender: str, receiver: str, detail: Detail) -> Declared:
        """How a declaration is told from others: to a group all of them have id 0.

        Not in zenoh.md; recorded with two subscribers of one node on a multicast link.
        """
        key = detail.get("key") if self._link.multicast else None
        return detail["id"], None if key is None else self.keys.resolve(sender, receiver, key)

    def token(self, declared: bool, detail: Detail, sender: str, receiver: str) -> str | None:
        """A publisher or subscriber says that it lives; the token keeps what is known of it.

        Returns:
            The key expression of a subscriber that is new; null: of none, or for one who asked.
        """
        tokens = self._tokens.setdefault(sender, {})
        name = self._declared(sender, receiver, detail)
        if not declared:
            tokens.pop(name, None)
            return None
        told = advanced(self.keys.resolve(sender, receiver, detail["key"]))
        if told is not None and told.source is not None and len(tokens) < MAX_DECLARED:
            new = told.source not in tokens.values() and "interest" not in detail
            tokens[name] = told.source
            self._link.names(sender, told.source.partition("/")[0])
            return told.subject if new and told.role == "sub" else None
        return None

    def kept(self, source: Source) -> bool:
        """Whether a token of its publisher stands."""
        return source.source in self._tokens.get(source.sender, {}).values()

    def ended(self, endpoint: str, subject: str) -> bool:
        """No subscriber of a node at a key expression is left; its periodic queries go on (9.4)."""
        return subject in self._unsubscribed.get(endpoint, ())

    def anybody_left(self, endpoint: str) -> bool:
        """A subscriber of a node was undeclared, whoever it was."""
        return endpoint in self._left

    def left(self, source: Source) -> bool:
        """Its subscriber was undeclared; samples may still be on their way to it."""
        return source.key is not None and any(
            matches(subject, source.key)
            for subject in self._unsubscribed.get(source.receiver, ())
            if "@adv" not in subject
        )

    def has_cache(self, source: Source) -> bool:
        """Whether a cache of this source is declared at the sender's side, or has answered."""
        if source.replies:
            return True
        caches = self._cached_at.get(source.sender)
        if caches is None:
            declared = self._queryables.get(source.sender, {}).values()
            caches = self._cached_at[source.sender] = _Caches.of(declared)
        zid = source.node
        return caches.any or source.source in caches.sources or zid in caches.stamped

    def of_document(self, key: Key, sender: str, receiver: str) -> bool:
        """Whether a queryable is a cache of the document's own system (D22)."""
        return key[2] != "" and document_query(self.keys.resolve(sender, receiver, key)) is not None
