"""What a subscriber was handed: which of it frames show, and where a full socket may have dropped
what came (``replay.zenoh.handed``, ``replay.zenoh.floods``)."""

from seqaudit.decoders.contract.events import Kind
from seqaudit.decoders.contract.zenoh_detail import LARGE
from seqaudit.replay.contract.event import Event
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.zenoh.floods import FILLS, Floods
from seqaudit.replay.zenoh.handed import Handed, Signs
from seqaudit.replay.zenoh.lives import LAG_NS

MS = 1_000_000


class Node:
    """One end and a subscriber there; a sample comes every millisecond."""

    def __init__(self) -> None:
        self.elapsed = Elapsed()
        self.signs = Signs(self.elapsed)
        self.handed = Handed(self.signs)
        self.ms = 0
        self.came: Mark | None = None

    def _mark(self) -> Mark:
        self.ms += 1
        mark = Mark(self.ms, self.ms * MS)
        self.elapsed.saw(mark)
        return mark

    def takes(self, count: int) -> "Node":
        for _ in range(count):
            self.came = self._mark()
            self.handed.deliver(self.handed.count, self.handed.count + 1)
        return self

    def says(self) -> "Node":
        self.signs.came(self._mark())
        return self

    def clock_set(self, ms: int) -> "Node":
        self.ms += ms
        return self

    def unsure(self, passed: int = 0) -> list[tuple[int, int]]:
        self.handed.over(self.came, self.came)
        return list(self.handed.unsure(passed))


def test_who_says_nothing_shows_nothing() -> None:
    assert Node().takes(10).unsure() == [(0, 10)]
    assert Node().unsure() == []


def test_a_request_shows_what_it_passes() -> None:
    assert Node().takes(10).unsure(passed=7) == [(7, 10)]
    assert Node().takes(10).unsure(passed=20) == []


def test_what_a_node_says_shows_what_it_had_read_by_then() -> None:
    lag = LAG_NS // MS
    assert Node().takes(50).says().unsure() == [(0, 50)]  # it may have read nothing of it
    assert Node().takes(50).says().takes(lag + 1).says().unsure() == [(50, 50 + lag + 1)]
    # behind the last word it may be gone; what is said at once says nothing more
    assert Node().takes(50).says().takes(lag + 1).says().takes(5).says().unsure() == [
        (50, 50 + lag + 6)
    ]


def test_a_last_word_shows_all_that_came_well_before() -> None:
    quiet = Node().takes(50)
    for _ in range(LAG_NS // MS):
        quiet._mark()  # others speak
    assert quiet.unsure() == [(0, 50)]
    assert quiet.says().unsure() == []


def test_a_clock_that_was_set_makes_no_time() -> None:
    assert Node().takes(50).clock_set(30_000).says().unsure() == [(0, 50)]


def large(at_ms: int, size: int, frames: int = 1) -> Event:
    return Event(
        at_ms, at_ms * MS, Kind.DATA, "push", "zenoh", size=size,
        last_frame=at_ms + frames - 1, last_at_ns=at_ms * MS,
    )  # fmt: skip


def flooded(*events: Event, first: int = 0, last: int = 1_000) -> bool:
    floods = Floods()
    for event in events:
        floods.came(event)
    return floods.meet(Mark(1, first * MS), Mark(2, last * MS))


def test_large_datagrams_at_once_may_fill_a_buffer() -> None:
    size = FILLS // 2 + 1
    assert not flooded(large(1, size), large(2, size))  # the last one found room
    assert flooded(large(1, size), large(2, size), large(3, size))
    assert not flooded(large(1, size), large(2, size), large(3 + LAG_NS // MS, size))  # were read
    assert not flooded(*(large(at, LARGE - 1) for at in range(1, 90)))  # small ones
    assert not flooded(*(large(at, size, frames=2) for at in range(1, 4)))  # of several datagrams


def test_a_full_buffer_drops_what_comes_until_it_is_read() -> None:
    full = [large(at, FILLS) for at in (101, 102, 103)]
    assert flooded(*full, first=0, last=103)
    assert flooded(*full, first=103 + LAG_NS // MS)
    assert not flooded(*full, first=104 + LAG_NS // MS)
    assert not flooded(*full, first=0, last=102)
