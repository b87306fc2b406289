"""Tables of subjects that forget what is idle: publisher and subscriber windows (raims.md 8, 9).

A look-up moves an entry to the current table. At a rotation the last table is dropped and every
other becomes the next older one: an entry survives as many rotations untouched as there are older
tables. Rotations happen at ticks of the daemon's timer, which this replays in the times of events.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

#: A block of a table, whatever it holds; what of it is for entries, and how many at most.
BLOCK_BYTES: Final = 86_028
BLOCK_ROOM: Final = 69_600
BLOCK_ENTRIES: Final = 3410
#: Blocks that have split are half full to full; this is how full on the average.
BLOCK_FILL: Final = math.log(2)

#: Entry overheads beside the subject: of the code (rounded up to 8) and of the document.
PUBLISHER_CODE: Final = 22
SUBSCRIBER_CODE: Final = 70
PUBLISHER_DOCUMENT: Final = 48
SUBSCRIBER_DOCUMENT: Final = 128

_DUE_IDLE: Final = 8  # intervals after the due time: few entries are no excuse any more
_DUE_OLD: Final = 16  # the old table's size counts as well

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class RotationSettings:
    """What decides about rotations.

    Attributes:
        tick_ns: of the daemon's timer; 0: every event is a tick.
        document: size and time only (raims-message-loss.txt), and its accounting of memory.
    """

    size_bytes: int
    entries: int
    interval_ns: int
    tick_ns: int
    overhead: int
    document: bool = False


@dataclass(slots=True)
class _Table(Generic[E]):
    entries: dict[str, E] = field(default_factory=dict)
    held_bytes: int = 0


class Rotation(Generic[E]):
    """Entries by subject in a current table and ``older`` older ones."""

    def __init__(self, settings: RotationSettings, start_ns: int, older: int) -> None:
        self.settings = settings
        self.start_ns = start_ns
        self.last_rotation_ns = start_ns
        self.rotations: list[int] = []  # when; the first few
        self.rotation_count = 0
        self.max_entries = 0
        self.max_bytes = 0
        self.on_rotation: Callable[[int], None] | None = None
        self._tables: list[_Table[E]] = [_Table() for _ in range(older + 1)]
        self._checked_ns = start_ns

    @property
    def entries(self) -> int:
        """Of the current table."""
        return len(self._tables[0].entries)

    @property
    def size_bytes(self) -> int:
        """Of the current table, as the rotation rule counts it."""
        return self._size(self._tables[0])

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
                table.held_bytes -= self._entry_bytes(subject)
                self._insert(subject, entry)
                return entry
        return None

    def add(self, subject: str, entry: E, now_ns: int) -> None:
        """A new entry, in the current table."""
        self.advance(now_ns)
        self._insert(subject, entry)

    def remove(self, subject: str) -> None:
        """Forget a subject in all tables."""
        for table in self._tables:
            if table.entries.pop(subject, None) is not None:
                table.held_bytes -= self._entry_bytes(subject)

    def holds(self, subject: str) -> bool:
        """Is the subject in any table? Nothing moves."""
        return any(subject in table.entries for table in self._tables)

    def advance(self, now_ns: int) -> None:
        """Rotations at ticks up to now (raims-8.5, raims-8.6, raims-9.R)."""
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
                return None
            if self._rotates(tick - due):
                return tick
        return None

    def _rotates(self, waited_ns: int) -> bool:
        rules = self.settings
        too_big = self.size_bytes > rules.size_bytes
        if rules.document:
            return too_big
        if waited_ns > _DUE_OLD * rules.interval_ns and len(self._tables) > 1:
            too_big = too_big or self._size(self._tables[1]) > self._old_limit()
        return too_big and (
            waited_ns > _DUE_IDLE * rules.interval_ns or self.entries > rules.entries
        )

    def _old_limit(self) -> int:
        """The subscriber's limit for its old table is twice its own (raims.md 9)."""
        return self.settings.size_bytes * (2 if len(self._tables) > 2 else 1)

    def _rotate(self, tick_ns: int) -> None:
        self._tables = [_Table(), *self._tables[:-1]]
        self.last_rotation_ns = self._checked_ns = tick_ns
        self.rotation_count += 1
        if len(self.rotations) < 1000:
            self.rotations.append(tick_ns)
        if self.on_rotation is not None:
            self.on_rotation(tick_ns)

    def _tick_from(self, at_ns: int) -> int:
        """The first tick at or after a time."""
        tick = self.settings.tick_ns
        if tick <= 0:
            return at_ns
        return self.start_ns + -(-(at_ns - self.start_ns) // tick) * tick

    def _insert(self, subject: str, entry: E) -> None:
        current = self._tables[0]
        current.entries[subject] = entry
        current.held_bytes += self._entry_bytes(subject)
        self.max_entries = max(self.max_entries, len(current.entries))
        self.max_bytes = max(self.max_bytes, self._size(current))

    def _entry_bytes(self, subject: str) -> int:
        length = len(subject.encode("utf-8", "surrogateescape"))
        if self.settings.document:
            return length + self.settings.overhead
        return 8 * -(-(length + self.settings.overhead) // 8)

    def _size(self, table: _Table[E]) -> int:
        if self.settings.document:
            return table.held_bytes
        if not table.entries:
            return 0
        room = max(table.held_bytes / BLOCK_ROOM, len(table.entries) / BLOCK_ENTRIES)
        blocks = 1 if room <= 1 else math.ceil(room / BLOCK_FILL)
        return blocks * BLOCK_BYTES
