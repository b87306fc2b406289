"""Late joiners and network convergence (raims.md 9.1; raims message loss document, benefit 3).

The design promises that a late joiner verifies that a stream's time frame is later than the
network's convergence; the shipped daemon never does. Here every join is judged: the observer's by
its own window, those of other daemons by their subscriptions and the first message of the stream
that passes the PGM segment afterwards (elsewhere nobody can tell what they get).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.finding import Rests
from seqaudit.replay.raims.seqno import base_of, frame_of, start_of
from seqaudit.replay.raims.subscriber import Ruling, Status, matches
from seqaudit.replay.sequence.gaps import Mark

if TYPE_CHECKING:
    from seqaudit.replay.raims.streams import RaimsStream

MAX_JOINS: Final = 100_000
#: Contradictions kept of one join.
MAX_REASONS: Final = 10
#: Subscriptions of other daemons that are followed.
MAX_FOLLOWED: Final = 100_000
MAX_PATTERNS: Final = 1_000


class Uninterrupted(StrEnum):
    """What can be said of a stream that somebody joined late."""

    YES = "uninterrupted by the design's criterion"
    NOT_PROVABLE = "not provable"
    UNKNOWN = "convergence unknown"
    NO_HEARTBEAT = "convergence unknown, no heartbeat of the subscriber after it tells"
    CONTRADICTED = "contradicted"


class Contradiction(NamedTuple):
    """What shows that a joined stream was not complete.

    Attributes:
        rests: on what did not come, where messages were lost.
    """

    mark: Mark
    why: str
    rests: Rests


@dataclass(slots=True)
class Join:
    """One subscriber's first message of a stream that had begun before.

    Attributes:
        time_ns: the message's own time; null if it has none.
        late: messages of the stream from before the subscription are in the capture; else what
            came first may only be what was captured first.
    """

    subscriber: str | None
    publisher: str
    subject: str
    seqno: int
    mark: Mark
    time_ns: int | None
    chain: int | None
    late: bool
    contradicted_by: list[Contradiction] = field(default_factory=list)
    undecided: str | None = None  # what may speak against it and cannot be told


@dataclass(slots=True)
class _Followed:
    """A subscription of another daemon."""

    subscriber: str
    pattern: str
    mark: Mark
    active: bool = True


class Convergence:
    """Times of convergence, and joins.

    Args:
        stated_ns: overrules the heartbeats.

    Attributes:
        unlisted: joins beyond those that are kept.
        unfollowed: the first subscription of another daemon that is not followed, and how many
            more there are; null: none.
    """

    def __init__(self, stated_ns: int | None) -> None:
        self.stated_ns = stated_ns
        self.joins: list[Join] = []
        self._exact: dict[str, list[_Followed]] = {}
        self._patterns: list[_Followed] = []
        self._followed: dict[tuple[str, str], _Followed] = {}
        self._changes: dict[str, int] = {}  # number of each daemon's last change
        self.heartbeats: list[tuple[int, int]] = []  # (converge, capture time) as it grew
        self._by_daemon: dict[str, list[tuple[int, int]]] = {}  # the same of each; job frame
        self._values: dict[int, Mark] = {}  # and the heartbeat that told it first
        self.unlisted = 0
        self.unfollowed: tuple[Mark, int] | None = None
        self._by_stream: dict[tuple[str, str], list[Join]] = {}

    @property
    def at_ns(self) -> int | None:
        """The latest convergence known now."""
        if self.stated_ns is not None:
            return self.stated_ns
        return self.heartbeats[-1][0] if self.heartbeats else None

    def heartbeat(self, event: Event, detail: Mapping[str, object]) -> None:
        """A heartbeat; the larger convergence time counts (raims.md 9.1)."""
        converge = detail.get("converge")
        if not isinstance(converge, int) or converge <= 0:
            return
        own = self._by_daemon.setdefault(str(event.source), [])
        if len(own) > 1 and own[-1][0] == own[-2][0] == converge:
            own[-1] = (converge, event.frame)  # the first and the last that say the same
        else:
            own.append((converge, event.frame))
        self._values.setdefault(converge, event.first_mark())
        if not self.heartbeats or converge > self.heartbeats[-1][0]:
            self.heartbeats.append((converge, event.at_ns))

    def subscribed(self, event: Event, detail: Mapping[str, object]) -> None:
        """A daemon subscribes, or stops."""
        subject = detail.get("subject") or detail.get("pattern")
        if event.source is None or not isinstance(subject, str):
            return
        if event.seqno is not None:  # they are numbered: the same one may be captured again
            if event.seqno <= self._changes.get(event.source, 0):
                return
            self._changes[event.source] = event.seqno
        before = self._followed.pop((event.source, subject), None)
        if before is not None:
            before.active = False
        if event.wire_kind not in ("JOIN", "PSUB"):
            return
        followed = _Followed(event.source, subject, event.first_mark())
        wildcard = event.wire_kind == "PSUB"
        full = len(self._patterns) >= MAX_PATTERNS if wildcard else False
        if full or len(self._followed) >= MAX_FOLLOWED:
            first, more = self.unfollowed or (followed.mark, -1)
            self.unfollowed = first, more + 1
            return
        self._followed[event.source, subject] = followed
        (self._patterns if wildcard else self._exact.setdefault(subject, [])).append(followed)

    def passed(self, stream: "RaimsStream", event: Event, own: str | None) -> None:
        """A message passed the segment: other daemons that have subscribed since the stream's last
        one join with it.

        Args:
            own: the observer, whose joins its window tells.
        """
        new: list[_Followed] = []
        for place, known in enumerate((self._exact.get(stream.subject, []), self._patterns)):
            at = stream.followed[place]
            while at < len(known) and known[at].mark.frame <= event.frame:
                if not place or matches(known[at].pattern, stream.subject):
                    new.append(known[at])
                at += 1
            stream.followed[place] = at
        for followed in new:
            if followed.active and followed.subscriber not in (own, stream.publisher):
                self._join(followed.subscriber, stream, event, followed.mark)

    def is_followed(self, stream: "RaimsStream") -> bool:
        """Have all subscriptions been looked at that may join with the stream's next message?"""
        exact, patterns = stream.followed
        if patterns < len(self._patterns):
            return False
        known = self._exact.get(stream.subject)
        return known is None or exact >= len(known)

    def delivered(
        self, subscriber: str | None, stream: "RaimsStream", event: Event, verdict: Ruling
    ) -> None:
        """The observer got a message: a FIRST that is not the stream's beginning is a late join."""
        if verdict.status is not Status.FIRST or event.seqno is None:
            return
        own = [
            followed.mark
            for followed in (*self._exact.get(stream.subject, ()), *self._patterns)
            if followed.subscriber == subscriber and matches(followed.pattern, stream.subject)
        ]
        self._join(subscriber, stream, event, max(own, default=None))

    def _join(
        self, subscriber: str | None, stream: "RaimsStream", event: Event, since: Mark | None
    ) -> None:
        """The first message for a subscriber: a late join unless the stream begins with it."""
        if event.seqno is None or (base_of(event.seqno) == 1 and event.conn_id is None):
            return
        if len(self.joins) >= MAX_JOINS:
            self.unlisted += 1
            return
        join = Join(
            subscriber, stream.publisher, stream.subject, event.seqno, event.first_mark(),
            event.stamp, event.conn_id,
            since is not None and stream.first is not None and stream.first.frame < since.frame,
        )  # fmt: skip
        self.joins.append(join)
        self._by_stream.setdefault((stream.publisher, stream.subject), []).append(join)

    def converged_ns(self, join: Join) -> int | None:
        """The latest convergence up to a join's message that any heartbeat of the capture tells,
        before it or behind it (raims.md 9.1)."""
        if self.stated_ns is not None:
            return self.stated_ns
        return max((c for c in self._values if join.time_ns is None or c <= join.time_ns),
                   default=None)  # fmt: skip

    def told_by(self, join: Join) -> Mark | None:
        """The heartbeat that tells the convergence of ``converged_ns``; null: the user states it,
        or none does."""
        converged_ns = self.converged_ns(join)
        return None if converged_ns is None else self._values.get(converged_ns)

    def verdict(self, join: Join) -> Uninterrupted:
        """What can be said when all heartbeats are known.

        A convergence between the frame's start and the message speaks against it. That there was
        none shows in the joiner's own heartbeat behind the message: within one start of a daemon
        the time that it tells never falls, so a later value bounds all earlier ones.
        """
        if join.contradicted_by:
            return Uninterrupted.CONTRADICTED
        converged = self.converged_ns(join)
        if converged is None:
            return Uninterrupted.UNKNOWN
        if converged >= start_of(join.seqno):
            return Uninterrupted.NOT_PROVABLE
        if self.stated_ns is not None:
            return Uninterrupted.YES
        behind = [c for c, frame in self._by_daemon.get(join.subscriber or "", ())
                  if frame > join.mark.frame]  # fmt: skip
        if behind and min(behind) < start_of(join.seqno):
            return Uninterrupted.YES
        return Uninterrupted.NO_HEARTBEAT

    def doubt(
        self, subscriber: str | None, publisher: str, subject: str, frame: int, why: str
    ) -> None:
        """Something may speak against the joins of a stream in a time frame."""
        for join in self._by_stream.get((publisher, subject), ()):
            if join.subscriber == subscriber and frame_of(join.seqno) == frame:
                join.undecided = why

    def contradict(
        self, subscriber: str | None, publisher: str, subject: str, frame: int,
        shown: Contradiction,
    ) -> None:  # fmt: skip
        """A loss of a stream in a time frame: every join of it in that frame is contradicted."""
        for join in self._by_stream.get((publisher, subject), ()):
            if (
                frame_of(join.seqno) == frame
                and len(join.contradicted_by) < MAX_REASONS
                and join.mark.frame <= shown.mark.frame
                and (subscriber is None or join.subscriber in (None, subscriber))
            ):
                join.contradicted_by.append(shown)
