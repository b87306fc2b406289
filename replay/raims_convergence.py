"""Late joiners and network convergence (raims.md 9.1; raims-message-loss.txt, benefit 3).

The design promises that a late joiner verifies that a stream's time frame is later than the
network's convergence; the shipped daemon never does. Here every join is judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from seqaudit.replay.event import Event
from seqaudit.replay.gaps import Mark
from seqaudit.replay.raims_seqno import base_of, frame_of, start_of
from seqaudit.replay.raims_subscriber import Status, Verdict

if TYPE_CHECKING:
    from seqaudit.replay.raims_streams import Stream

MAX_JOINS: Final = 100_000


class Uninterrupted(StrEnum):
    """What can be said of a stream that somebody joined late."""

    YES = "uninterrupted by the design's criterion"
    NOT_PROVABLE = "not provable"
    UNKNOWN = "convergence unknown"
    CONTRADICTED = "contradicted"


@dataclass(slots=True)
class Join:
    """One subscriber's first message of a stream that had begun before."""

    subscriber: str | None
    publisher: str
    subject: str
    seqno: int
    mark: Mark
    converged_ns: int | None
    chain: int | None
    contradicted_by: list[tuple[Mark, str]] = field(default_factory=list)

    @property
    def verdict(self) -> Uninterrupted:
        """Contradiction wins; then the frame's start against convergence."""
        if self.contradicted_by:
            return Uninterrupted.CONTRADICTED
        if self.converged_ns is None:
            return Uninterrupted.UNKNOWN
        if start_of(self.seqno) > self.converged_ns:
            return Uninterrupted.YES
        return Uninterrupted.NOT_PROVABLE


class Convergence:
    """Times of convergence, and joins.

    Args:
        stated_ns: overrules the heartbeats.
    """

    def __init__(self, stated_ns: int | None) -> None:
        self.stated_ns = stated_ns
        self.joins: list[Join] = []
        self.subscribed_at: dict[tuple[str, str], Mark] = {}
        self.heartbeats: list[tuple[int, int]] = []  # (converge, capture time) as it grew
        self.unlisted = 0
        self._seen: dict[tuple[str | None, str, str], Join] = {}

    @property
    def at_ns(self) -> int | None:
        """The latest convergence known now."""
        if self.stated_ns is not None:
            return self.stated_ns
        return self.heartbeats[-1][0] if self.heartbeats else None

    def heartbeat(self, event: Event, detail: Mapping[str, Any]) -> None:
        """A heartbeat; the larger convergence time counts (raims.md 9.1)."""
        converge = detail.get("converge")
        if not isinstance(converge, int) or converge <= 0:
            return
        if not self.heartbeats or converge > self.heartbeats[-1][0]:
            self.heartbeats.append((converge, event.at_ns))

    def subscribed(self, event: Event, detail: Mapping[str, Any]) -> None:
        """A daemon subscribes, or stops."""
        subject = detail.get("subject") or detail.get("pattern")
        if event.source is None or not isinstance(subject, str):
            return
        if event.wire_kind in ("JOIN", "PSUB"):
            self.subscribed_at[event.source, subject] = event.first_mark()
        else:
            self.subscribed_at.pop((event.source, subject), None)

    def delivered(
        self,
        subscriber: str | None,
        stream: "Stream",
        event: Event,
        verdict: Verdict,
        users: Mapping[str, Any],
    ) -> None:
        """The observer got a message: a FIRST that is not the stream's beginning is a late join."""
        if verdict.status is not Status.FIRST or event.seqno is None:
            return
        if base_of(event.seqno) == 1 and event.conn_id is None:
            return
        if len(self.joins) >= MAX_JOINS:
            self.unlisted += 1
            return
        converged = self.at_ns
        if self.stated_ns is None and event.stamp is not None:
            known = [c for c, _ in self.heartbeats if c <= event.stamp]
            converged = known[-1] if known else None
        join = Join(
            subscriber, stream.publisher, stream.subject, event.seqno, event.first_mark(),
            converged, event.conn_id,
        )  # fmt: skip
        self.joins.append(join)
        self._seen[subscriber, stream.publisher, stream.subject] = join

    def contradict(
        self, subscriber: str | None, publisher: str, subject: str, frame: int, mark: Mark,
        why: str,
    ) -> None:  # fmt: skip
        """A loss of a stream in a time frame: every join of it in that frame is contradicted."""
        for join in self.joins:
            if (
                join.publisher == publisher
                and join.subject == subject
                and frame_of(join.seqno) == frame
                and (subscriber is None or join.subscriber in (None, subscriber))
            ):
                join.contradicted_by.append((mark, why))
