"""Tables of subjects that forget what is idle: publisher and subscriber windows (raims.md 8, 9).

A look-up moves an entry to the current table. At a rotation the last table is dropped and every
other becomes the next older one: an entry survives as many rotations untouched as there are older
tables. Rotations happen at ticks of the daemon's timer, which this replays in the times of events.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from seqaudit.replay.raims.blocks import UNIT, SubjectBlocks, subject_hash
from seqaudit.replay.sequence.fills import Fill

#: Entry overheads beside the subject: of the code (rounded up to 8) and of the document.
PUBLISHER_CODE: Final = 22
SUBSCRIBER_CODE: Final = 70
PUBLISHER_DOCUMENT: Final = 48
SUBSCRIBER_DOCUMENT: Final = 128

#: Rotations listed, and subjects whose forgetting is remembered.
MAX_ROTATIONS: Final = 1000
MAX_FORGOTTEN: Final = 100_000
#: After all times.
NEVER_NS: Final = 1 << 64

_DUE_IDLE: Final = 8  # intervals after the due time: few entries are no excuse any more
_DUE_OLD: Final = 16  # the old table's size counts as well

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class RotationSettings:
    """What decides about rotations.

    Attributes:
        tick_ns: of the daemon's timer; 0: every event is a tick.
        overhead: of an entry beside its subject, by the code.
        document_overhead: likewise by the design document.
        document: size and time only (raims message loss document), and its accounting of memory.
        autoscale: by how much ``entries`` grows; 0: never.
    """

    size_bytes: int
    entries: int
    interval_ns: int
    tick_ns: int
    overhead: int
    document_overhead: int
    document: bool = False
    autoscale: int = 0


@dataclass(slots=True)
class Rotated:
    """One rotation: when, and what the table held that became an old one.

    Attributes:
        size_bytes, document_bytes: memory by the code and by the document.
        next_ns: when the first entry came to the new table; null if none did. The daemon may have
            rotated a tick later, as its interval is a whole number of ticks and its clock jitters;
            up to this moment that makes no difference.
    """

    at_ns: int
    entries: int
    size_bytes: int
    document_bytes: int
    next_ns: int | None = None


@dataclass(slots=True)
class _Table(Generic[E]):
    """Entries; memory also of those that have moved on, which a table keeps until it is dropped."""

    entries: dict[str, E] = field(default_factory=dict)
    blocks: SubjectBlocks = field(default_factory=SubjectBlocks)
    document_bytes: int = 0
    count: int = 0


class Rotation(Generic[E]):
    """Entries by subject in a current table and ``older`` older ones."""

    def __init__(self, settings: RotationSettings, start_ns: int, older: int) -> None:
        self.settings = settings
        self.start_ns = start_ns
        self.last_rotation_ns = start_ns
        self.rotations: list[Rotated] = []  # the first few
        self.rotation_count = 0
        self.max_entries = 0
        self.max_bytes = 0
        self.max_document_bytes = 0
        self.forgotten: dict[str, int] = {}  # subject -> the rotation that dropped it
        self.entries_limit = settings.entries
        self.scaled: list[int] = []  # when it grew
        self.fill = Fill()  # bytes of the current table, by the code
        self.on_rotation: Callable[[int], None] | None = None
        self._tables: list[_Table[E]] = [_Table() for _ in range(older + 1)]
        self._checked_ns = start_ns
        self._idle_until_ns = start_ns  # as long as no entry comes, nothing rotates before it

    @property
    def entries(self) -> int:
        """Of the current table."""
        return len(self._tables[0].entries)

    @property
    def size_bytes(self) -> int:
        """Of the current table, by the code."""
        return self._tables[0].blocks.size_bytes

    @property
    def document_bytes(self) -> int:
        """Of the current table, by the document."""
        return self._tables[0].document_bytes

    def find(self, subject: str, now_ns: int) -> E | None:
        """The entry of a subject; it moves to the current table (raims-8.7)."""
        self.advance(now_ns)
        current = self._tables[0]
        entry = current.entries.get(subject)
        if entry is not None:
            return entry
        for table in self._tables[1:]:
            entry = table.entries.pop(subject, None)
            if entry is not None:
                self._insert(subject, entry, now_ns)
                return entry
        return None

    def add(self, subject: str, entry: E, now_ns: int) -> None:
        """A new entry, in the current table."""
        self.advance(now_ns)
        self._insert(subject, entry, now_ns)

    def current(self, subject: str, now_ns: int) -> E | None:
        """The entry of a subject if it need not move; null says nothing."""
        self.advance(now_ns)
        return self._tables[0].entries.get(subject)

    def remove(self, subject: str) -> None:
        """Forget a subject in all tables."""
        self._idle_until_ns = self.start_ns
        length, size = self._sizes(subject)
        for table in self._tables:
            if table.entries.pop(subject, None) is not None:
                table.blocks.remove(subject_hash(_encoded(subject)), size)
                table.document_bytes -= length
                table.count -= 1

    def holds(self, subject: str) -> bool:
        """Is the subject in any table? Nothing moves."""
        return any(subject in table.entries for table in self._tables)

    def advance(self, now_ns: int) -> None:
        """Rotations at ticks up to now (raims-8.5, raims-8.6, raims-9.R)."""
        if now_ns < self._idle_until_ns:
            self._checked_ns = max(self._checked_ns, now_ns)
            return
        while (tick := self._rotation_by(now_ns)) is not None:
            self._rotate(tick)
        self._checked_ns = max(self._checked_ns, now_ns)

    def _rotation_by(self, now_ns: int) -> int | None:
        """The first tick up to now at which the tables rotate; they do not change in between."""
        if now_ns <= self._checked_ns and self.rotation_count:
            return None
        interval = self.settings.interval_ns
        due = self.last_rotation_ns + interval
        low = max(due, self._checked_ns + 1)
        for waits in (0, _DUE_IDLE * interval, _DUE_OLD * interval):
            # "w > x": past it; the interval itself needs only to have passed
            tick = self._tick_from(max(low, due + waits + (1 if waits else 0)))
            if tick > now_ns:
                self._idle_until_ns = tick
                return None
            if self._rotates(tick - due):
                return tick
        self._idle_until_ns = NEVER_NS
        return None

    def _rotates(self, waited_ns: int) -> bool:
        rules = self.settings
        if rules.document:
            return self.document_bytes > rules.size_bytes
        too_big = self.size_bytes > rules.size_bytes
        if waited_ns > _DUE_OLD * rules.interval_ns and len(self._tables) > 1:
            too_big = too_big or self._tables[1].blocks.size_bytes > self._old_limit()
        return too_big and (
            waited_ns > _DUE_IDLE * rules.interval_ns or self.entries > self.entries_limit
        )

    def scale(self, now_ns: int) -> None:
        """raims-8.8: a receiver reports a loss of unknown size, so more entries may stay."""
        self.advance(now_ns)
        rules = self.settings
        quiet = not self.scaled or now_ns - self.scaled[-1] >= 2 * rules.interval_ns
        if rules.autoscale and quiet and self.entries > self.entries_limit // 2:
            self.entries_limit += rules.autoscale
            self._idle_until_ns = self.start_ns
            self.scaled.append(now_ns)

    def _old_limit(self) -> int:
        """The subscriber's limit for its old table is twice its own (raims.md 9)."""
        return self.settings.size_bytes * (2 if len(self._tables) > 2 else 1)

    def _rotate(self, tick_ns: int) -> None:
        current = self._tables[0]
        if len(self.rotations) < MAX_ROTATIONS:
            self.rotations.append(
                Rotated(tick_ns, current.count, current.blocks.size_bytes, current.document_bytes)
            )
        for subject in self._tables[-1].entries:
            if subject in self.forgotten or len(self.forgotten) < MAX_FORGOTTEN:
                self.forgotten[subject] = tick_ns
        self._tables = [_Table(), *self._tables[:-1]]
        self.fill.set(tick_ns, 0)
        self._idle_until_ns = self.start_ns
        self.last_rotation_ns = self._checked_ns = tick_ns
        self.rotation_count += 1
        if self.on_rotation is not None:
            self.on_rotation(tick_ns)

    def _tick_from(self, at_ns: int) -> int:
        """The first tick at or after a time."""
        tick = self.settings.tick_ns
        if tick <= 0:
            return at_ns
        return self.start_ns + -(-(at_ns - self.start_ns) // tick) * tick

    def _insert(self, subject: str, entry: E, now_ns: int) -> None:
        current = self._tables[0]
        if not current.count and self.rotations and self.rotations[-1].next_ns is None:
            self.rotations[-1].next_ns = now_ns
        self._idle_until_ns = self.start_ns
        length, size = self._sizes(subject)
        current.entries[subject] = entry
        current.blocks.insert(subject_hash(_encoded(subject)), size)
        current.document_bytes += length
        current.count += 1
        self.fill.set(now_ns, current.blocks.size_bytes)
        self.max_entries = max(self.max_entries, current.count)
        self.max_bytes = max(self.max_bytes, current.blocks.size_bytes)
        self.max_document_bytes = max(self.max_document_bytes, current.document_bytes)

    def _sizes(self, subject: str) -> tuple[int, int]:
        """Bytes of an entry by the document and by the code."""
        length = len(_encoded(subject))
        rounded = UNIT * -(-(length + self.settings.overhead) // UNIT)
        return length + self.settings.document_overhead, rounded


def _encoded(subject: str) -> bytes:
    return subject.encode("utf-8", "surrogateescape")
