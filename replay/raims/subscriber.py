"""The subscription window of the observing daemon: the decision table of raims.md 9, row by row.

Messages come in the order of delivery. Rows are cited by the ids of ``tests.replay.raims.rows``;
with ``document`` the rows D1 to D6 of the design document decide instead.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from seqaudit.replay.raims.releases import APRIL_2024, AUGUST_2022, CURRENT, RaimsRelease
from seqaudit.replay.raims.rotation import Rotation, RotationSettings
from seqaudit.replay.raims.seqno import base_of, frame_of, frame_of_time, key, start_of

MAX_LOSS: Final = 32_767  # EV_MAX_LOSS: msg_loss is a u16
START: Final = 0x8000
CYCLED: Final = 0x8001
RESTARTED: Final = 0x8002


class Status(StrEnum):
    """What the daemon calls a message."""

    FIRST = "first sequence"
    CYCLE = "cycle sequence"
    NEXT = "next sequence"
    SKIP = "skipped sequence"
    REPEAT = "sequence repeated"
    NOT_SUBSCRIBED = "not subscribed"


@dataclass(frozen=True, slots=True)
class Ruling:
    """One decision about messages [seqno, stop) of one publisher and subject.

    Attributes:
        row: id of the decision table.
        last: L before; null where there was none.
        value: the msg_loss value of the first of them: a count, or 0x8000 and up.
        counted: what msg loss grew by.
        rotated: the subject had been forgotten by the window, so no loss was checked.
    """

    row: str
    status: Status
    seqno: int
    stop: int
    last: int | None = None
    value: int = 0
    counted: int = 0
    rotated: bool = False

    @property
    def delivered(self) -> bool:
        """Does a subscriber get it?"""
        return self.status not in (Status.REPEAT, Status.NOT_SUBSCRIBED)


@dataclass(slots=True)
class Entry:
    """What is kept of a subject."""

    start: int  # id of the subscription
    update: int  # number of subscription changes when it was last used
    last: dict[str, int] = field(default_factory=dict)  # publisher -> L


@dataclass(frozen=True, slots=True)
class Subscription:
    """One of the observer's subscriptions."""

    pattern: str
    wildcard: bool
    start: int


class Subscriptions:
    """What the observer subscribes to, by its own messages (raims.md 6, 15.5)."""

    def __init__(self) -> None:
        self._exact: dict[str, Subscription] = {}
        self._patterns: dict[str, Subscription] = {}
        self.changes = 0
        self._next = 1

    def start(self, pattern: str, *, wildcard: bool) -> None:
        """A subscription begins."""
        table = self._patterns if wildcard else self._exact
        table[pattern] = Subscription(pattern, wildcard, self._next)
        self._next += 1
        self.changes += 1

    def stop(self, pattern: str, *, wildcard: bool) -> None:
        """A subscription ends."""
        (self._patterns if wildcard else self._exact).pop(pattern, None)
        self.changes += 1

    def matching(self, subject: str) -> list[int]:
        """The ids of the subscriptions that match, earliest first."""
        found = [s.start for s in self._patterns.values() if matches(s.pattern, subject)]
        exact = self._exact.get(subject)
        if exact is not None:
            found.append(exact.start)
        return sorted(found)

    def routed(self, subject: str) -> bool:
        """Does routing hand it to the daemon's own clients: a match, or a pattern's literal prefix
        and suffix (raims.md 15.5)?"""
        return subject in self._exact or any(
            framed(s.pattern, subject) for s in self._patterns.values()
        )

    def __iter__(self) -> Iterator[Subscription]:
        return iter([*self._exact.values(), *self._patterns.values()])


def matches(pattern: str, subject: str) -> bool:
    """RV wildcards: ``*`` is one segment, ``>`` at the end is one or more."""
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        if len(given) < len(wanted):
            return False
        wanted, given = wanted[:-1], given[: len(wanted) - 1]
    if len(wanted) != len(given):
        return False
    return all(w in ("*", g) for w, g in zip(wanted, given, strict=True))


def framed(pattern: str, subject: str) -> bool:
    """Does the subject have the pattern's text before its first and behind its last wildcard?"""
    places = [at for at, character in enumerate(pattern) if character in "*>"]
    if not places:
        return pattern == subject
    prefix, suffix = pattern[: places[0]], pattern[places[-1] + 1 :]
    return (
        len(subject) >= len(prefix) + len(suffix)
        and subject.startswith(prefix)
        and subject.endswith(suffix)
    )


@dataclass(frozen=True, slots=True)
class Succession:
    """A message beside the last one of its publisher and subject.

    Attributes:
        chain: 0 where the message has none, literally.
        later: of the time frames: 1, 0 or -1.
    """

    seqno: int
    last: int
    chain: int
    time_ns: int | None
    later: int

    @property
    def skipped(self) -> int:
        """Numbers in between."""
        return key(self.seqno) - key(self.last) - 1

    @property
    def chained(self) -> int:
        """Numbers between the last one and the one that the chain names, that included."""
        return max(key(self.chain) - key(self.last), 0)

    @property
    def begins(self) -> bool:
        """The first message of a frame?"""
        return base_of(self.seqno) == 1


@dataclass(frozen=True, slots=True)
class Decision:
    """One row of a decision table.

    Attributes:
        value: the msg_loss value: a count, or 0x8000 and up.
    """

    row: str
    when: Callable[[Succession], bool]
    status: Status
    value: Callable[[Succession], int] = lambda step: 0


#: Rows 6 to 14 (raims.md 9); the first that holds decides, and the last holds always.
DECISIONS: Final = (
    Decision("raims-9.6", lambda s: s.seqno == s.last + 1, Status.NEXT),
    Decision("raims-9.7", lambda s: s.later == 0 and key(s.seqno) > key(s.last), Status.SKIP,
             lambda s: min(s.skipped, MAX_LOSS)),
    Decision("raims-9.8", lambda s: s.later == 0, Status.REPEAT),
    Decision("raims-9.9", lambda s: s.later > 0 and s.chain == s.last, Status.NEXT),
    Decision("raims-9.10", lambda s: s.later > 0 and frame_of(s.chain) == frame_of(s.last),
             Status.SKIP, lambda s: min(s.chained, MAX_LOSS)),
    Decision("raims-9.11", lambda s: s.later > 0 and s.begins, Status.CYCLE, lambda s: CYCLED),
    Decision("raims-9.12", lambda s: s.later > 0, Status.SKIP, lambda s: RESTARTED),
    Decision("raims-9.13", lambda s: s.begins, Status.CYCLE, lambda s: CYCLED),
    Decision("raims-9.14", lambda s: True, Status.SKIP, lambda s: RESTARTED),
)  # fmt: skip

#: The same before April 2024 (raims.md 14.1).
_OLD_ROWS: Final = {
    "raims-9.11": Decision("raims-14.1-11", lambda s: s.later > 0 and s.begins, Status.SKIP,
                           lambda s: RESTARTED),
    "raims-9.13": Decision("raims-14.1-13", lambda s: s.begins, Status.SKIP, lambda s: RESTARTED),
}  # fmt: skip
OLD: Final = tuple(_OLD_ROWS.get(decision.row, decision) for decision in DECISIONS)

#: Rows D1 and D3 to D5: a literal D1 would never see a loss (raims.md 9.3).
DOCUMENT: Final = (
    Decision("raims-D1", lambda s: s.time_ns is not None and s.begins, Status.CYCLE,
             lambda s: CYCLED),
    Decision("raims-D3", lambda s: key(s.seqno) <= key(s.last), Status.REPEAT),
    Decision("raims-D4", lambda s: s.seqno == s.last + 1, Status.NEXT),
    Decision("raims-D5", lambda s: True, Status.SKIP, lambda s: s.skipped),
)  # fmt: skip


def decide(
    seqno: int, last: int, chain: int, table: Sequence[Decision] = DECISIONS,
    time_ns: int | None = None,
) -> Ruling:  # fmt: skip
    """The verdict on one message behind ``last``; ``chain`` is 0 where it has none, literally."""
    frame, before = frame_of(seqno), frame_of(last)
    step = Succession(seqno, last, chain, time_ns, (frame > before) - (frame < before))
    decision = next(d for d in table if d.when(step))
    value = decision.value(step)
    counted = 0
    if decision.status is Status.SKIP:
        counted = 1 if value == RESTARTED else value  # an unknown number counts 1
    return Ruling(
        decision.row, decision.status, seqno, seqno + 1, last=last, value=value, counted=counted
    )


class SubscriptionWindow:
    """The window of one observer, for all publishers.

    Args:
        settings: of its rotations; three tables.
        start_ns: when the daemon started.
        document: the design document's rules (raims.md 9.3).
        release: whose rules the code's are.
    """

    def __init__(
        self, settings: RotationSettings, start_ns: int, *, document: bool = False,
        release: RaimsRelease = CURRENT,
    ) -> None:  # fmt: skip
        self.subscriptions = Subscriptions()
        # raims-14.1-tables: releases before April 2024 had one older table
        older = 1 if release < APRIL_2024 else 2
        self.rotation: Rotation[Entry] = Rotation(settings, start_ns, older)
        self.rotation.on_rotation = self._rotated
        self.trailing_ns = start_ns - settings.interval_ns
        self._flip_ns = start_ns
        self._document = document
        self._decisions = DOCUMENT if document else OLD if release < APRIL_2024 else DECISIONS
        self._publishers_kept = not document and release < APRIL_2024
        self._checks_age = not document and release >= AUGUST_2022  # raims-14.1-0
        self.counts: Counter[str] = Counter()  # rows
        self.shared = 0  # entries of several publishers, whose uid maps take memory as well
        self._glsno: dict[tuple[str, int], int] = {}
        self._ever: dict[tuple[str, str], int] = {}  # subscription under which it was last FIRST

    def arrive(
        self, subject: str, publisher: str, seqno: int, stop: int, *, chain: int | None,
        time_ns: int | None, at_ns: int, skew_ns: int = 0,
    ) -> list[Ruling]:  # fmt: skip
        """Messages [seqno, stop), the first of which may carry a chain; most often one verdict."""
        verdicts = self._decide(subject, publisher, seqno, stop, chain, time_ns, at_ns, skew_ns)
        for verdict in verdicts:
            self.counts[verdict.row] += max(verdict.stop - verdict.seqno, 1)
        return verdicts

    def follower(
        self, subject: str, publisher: str, seqno: int, chain: int | None, time_ns: int,
        at_ns: int, skew_ns: int,
    ) -> Entry | None:  # fmt: skip
        """The entry whose L is the number before a message, if ``arrive`` would say NEXT and do
        nothing else than set it (raims-9.6, raims-9.9 with base 1); null: ask that.

        Args:
            time_ns: not 0.
        """
        entry = self.rotation.current(subject, at_ns)
        if entry is None or self._document or entry.update != self.subscriptions.changes:
            return None
        last = entry.last.get(publisher)
        if last != (seqno - 1 if chain is None else chain):
            return None
        if chain is not None and frame_of(seqno) <= frame_of(chain):
            return None
        return None if self._too_old(seqno, time_ns, at_ns, skew_ns) else entry

    def _too_old(self, seqno: int, time_ns: int | None, at_ns: int, skew_ns: int) -> bool:
        """raims-9.0; the frame's own start stands in for a time outside its frame (raims.md 7.1).
        Nothing is where the capture's clock was set back before the time that it is measured by."""
        start_ns = start_of(seqno)
        if not self._checks_age or not time_ns or start_ns + skew_ns >= self.trailing_ns:
            return False
        stamp = time_ns if frame_of_time(time_ns) == frame_of(seqno) else start_ns
        return stamp + skew_ns < self.trailing_ns <= at_ns

    def glsno(self, publisher: str, path: int, seqno: int, stop: int) -> list[Ruling]:
        """Messages with numbers per publisher and path (raims-9.G)."""
        last = self._glsno.get((publisher, path), 0)
        verdicts: list[Ruling] = []
        if seqno <= last:
            verdicts.append(
                Ruling("raims-9.G", Status.REPEAT, seqno, min(stop, last + 1), last=last)
            )
        if stop - 1 > last:
            self._glsno[publisher, path] = stop - 1
            first = max(seqno, last + 1)
            verdicts.append(Ruling("raims-9.G", Status.NEXT, first, stop, last=last))
        for verdict in verdicts:
            self.counts[verdict.row] += verdict.stop - verdict.seqno
        return verdicts

    def _rotated(self, at_ns: int) -> None:
        self.trailing_ns, self._flip_ns = self._flip_ns, at_ns

    def _decide(
        self, subject: str, publisher: str, seqno: int, stop: int, chain: int | None,
        time_ns: int | None, at_ns: int, skew_ns: int,
    ) -> list[Ruling]:  # fmt: skip
        self.rotation.advance(at_ns)
        if self._too_old(seqno, time_ns, at_ns, skew_ns):
            return [Ruling("raims-9.0", Status.REPEAT, seqno, stop)]
        entry = self.rotation.find(subject, at_ns)
        found = self.subscriptions.matching(subject)
        document = self._document
        if entry is None:
            if not found:
                row = "raims-D6" if document else "raims-9.1"
                return [Ruling(row, Status.NOT_SUBSCRIBED, seqno, stop)]
            entry = Entry(found[0], self.subscriptions.changes)
            self.rotation.add(subject, entry, at_ns)
            row = "raims-D2" if document else "raims-9.2"
            return self._first(row, subject, publisher, entry, seqno, stop)
        if entry.update != self.subscriptions.changes:
            entry.update = self.subscriptions.changes
            if not found:
                self.rotation.remove(subject)
                row = "raims-D6" if document else "raims-9.3"
                return [Ruling(row, Status.NOT_SUBSCRIBED, seqno, stop)]
            if entry.start not in found:
                entry.start = found[0]
                if self._publishers_kept and publisher in entry.last:
                    return self._restarted(publisher, entry, seqno, stop)
                entry.last.clear()
                row = "raims-D2" if document else "raims-9.4"
                return self._first(row, subject, publisher, entry, seqno, stop)
        last = entry.last.get(publisher)
        if last is None:
            row = "raims-D2" if document else "raims-9.5"
            return self._first(row, subject, publisher, entry, seqno, stop)
        first = decide(seqno, last, 0 if chain is None else chain, self._decisions, time_ns)
        if first.status is not Status.REPEAT:
            entry.last[publisher] = max(stop - 1, seqno)
            return _whole(first, stop)
        # a copy of a run: what L covers is repeated, what lies behind follows
        covered = min(stop, last + 1) if key(stop) > key(last) + 1 else stop
        verdicts = [Ruling(first.row, Status.REPEAT, seqno, covered, last=last)]
        if covered < stop:
            entry.last[publisher] = stop - 1
            row = "raims-D4" if document else "raims-9.6"
            verdicts.append(Ruling(row, Status.NEXT, covered, stop, last=last))
        return verdicts

    def _restarted(self, publisher: str, entry: Entry, seqno: int, stop: int) -> list[Ruling]:
        """raims-14.1-4: a subscription began again, and its publishers are known still."""
        last = entry.last[publisher]
        if frame_of(seqno) == frame_of(last) and key(seqno) <= key(last):
            return [Ruling("raims-9.8", Status.REPEAT, seqno, stop, last=last)]
        entry.last[publisher] = max(stop - 1, seqno)
        cycled = Ruling(
            "raims-14.1-4", Status.CYCLE, seqno, min(seqno + 1, stop), last=last, value=CYCLED
        )
        return _whole(cycled, stop)

    def _first(
        self, row: str, subject: str, publisher: str, entry: Entry, seqno: int, stop: int
    ) -> list[Ruling]:
        self.shared += len(entry.last) == 1 and publisher not in entry.last
        entry.last[publisher] = max(stop - 1, seqno)
        known = self._ever.get((subject, publisher)) == entry.start
        self._ever[subject, publisher] = entry.start
        first = Ruling(
            row, Status.FIRST, seqno, min(seqno + 1, stop), value=START,
            rotated=known,
        )  # fmt: skip
        return _whole(first, stop)


def _whole(first: Ruling, stop: int) -> list[Ruling]:
    """The first message's verdict, and NEXT for those that follow it in the run."""
    if first.status is Status.NEXT:
        return [Ruling(first.row, first.status, first.seqno, stop, last=first.last)]
    if stop <= first.stop:
        return [first]
    row = "raims-D4" if first.row.startswith("raims-D") else "raims-9.6"
    return [first, Ruling(row, Status.NEXT, first.stop, stop, last=first.seqno)]
