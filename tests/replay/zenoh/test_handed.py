"""What a subscriber was handed: which of it frames show, and where a full socket may have dropped
what came (``replay.zenoh.handed``, ``replay.zenoh.floods``)."""

from typing import Final

from seqaudit.decoders.contract.events import Kind
from seqaudit.decoders.contract.zenoh_detail import FULL, ROOM, TIGHT
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import Row
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.zenoh.at_once import AtOnce
from seqaudit.replay.zenoh.floods import TAKES, Floods, at_others
from seqaudit.replay.zenoh.handed import Handed, Signs
from seqaudit.replay.zenoh.held_back import HeldBack
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


def test_what_a_history_keeps_back_behind_a_gap_is_old_when_the_next_sample_comes() -> None:
    """Recorded: of one without recovery, whose history was to hold three and never ended."""
    mark = Mark(1, 0)
    at_once = AtOnce(Signs(Elapsed()))
    for first, stop in ((81, 83), (84, 85), (85, 98)):
        at_once.came(first, stop, mark, kept=3, idle=False)
    at_once.history_ended(mark)
    assert at_once.delivery.ranges == [(81, 83), (85, 98)]
    assert at_once.missed == [((83, 85), mark)]
    waits = AtOnce(Signs(Elapsed()))
    waits.came(81, 82, mark, kept=3, idle=False)
    waits.came(84, 85, mark, kept=3, idle=False)
    assert waits.delivery.ranges == []
    waits.history_ended(mark)
    assert (waits.delivery.ranges, waits.missed) == ([(81, 82), (84, 85)], [((82, 84), mark)])


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


#: Bytes of one large datagram that fills a buffer.
FILLS: Final = ROOM // TAKES


def small(at_ms: int, crowd: int, last_ms: int) -> Event:
    """A run of frames; so full the buffer of its socket may have been."""
    return Event(
        at_ms, at_ms * MS, Kind.DATA, "Frame", "zenoh", count=1000,
        last_frame=last_ms, last_at_ns=last_ms * MS, detail=f'{{"crowd":{crowd}}}',
    )  # fmt: skip


def floods(*events: Event) -> Floods:
    made = Floods()
    for event in events:
        made.came(event)
    return made


def full(*events: Event, first: int = 0, last: int = 1_000) -> bool:
    return floods(*events).full(Mark(1, first * MS), Mark(2, last * MS))


def test_large_datagrams_at_once_may_fill_a_buffer() -> None:
    size = FILLS // 2 + 1
    assert not full(large(1, size), large(2, size))  # the last one found some room
    assert full(large(1, size), large(2, size), large(3, size))
    assert not full(large(1, size), large(2, size), large(3 + LAG_NS // MS, size))  # were read
    assert not full(*(large(at, size, frames=2) for at in range(1, 4)))  # of several datagrams


def test_many_small_datagrams_at_once_may_fill_a_buffer() -> None:
    """Recorded: of 1,500 at once a subscriber was handed 1,378."""
    ends = Mark(1, 0), Mark(2, 200 * MS)
    tight, filled = floods(small(1, TIGHT, 51)), floods(small(1, FULL, 51))
    assert (tight.tight(*ends), tight.full(*ends)) == (True, False)
    assert (filled.tight(*ends), filled.full(*ends)) == (True, True)
    assert filled.span_ns == [MS, 51 * MS + LAG_NS]


def test_it_is_full_between_the_first_and_the_last_of_a_run_wherever_that_was_cut() -> None:
    whole, cut = floods(small(1, FULL, 900)), floods(small(1, FULL, 300), small(301, FULL, 900))
    for first, last in ((0, 0), (400, 410), (950, 990), (1_001, 1_010)):
        ends = Mark(1, first * MS), Mark(2, last * MS)
        assert whole.full(*ends) == cut.full(*ends) == (0 < first < 1_001)
    assert whole.span_ns == cut.span_ns
    apart = floods(small(1, FULL, 2), small(301, FULL, 302))
    assert not apart.full(Mark(1, 150 * MS), Mark(2, 200 * MS))


def test_one_that_finds_some_room_but_not_enough_is_dropped_by_some() -> None:
    """Recorded: of samples of 90 kB, in two datagrams each, none was ever handed on."""
    two = floods(large(1, 65_000), large(2, 25_000))
    ends = Mark(1, 0), Mark(2, 3 * MS)
    assert (two.full(*ends), two.tight(*ends)) == (False, True)
    assert not floods(large(1, 60_000)).tight(*ends)


def test_a_full_buffer_drops_what_comes_until_it_is_read() -> None:
    many = [large(at, FILLS) for at in (101, 102, 103)]
    assert full(*many, first=0, last=103)
    assert full(*many, first=103 + LAG_NS // MS)
    assert not full(*many, first=104 + LAG_NS // MS)
    assert not full(*many, first=0, last=102)
    assert floods(*many).span_ns == [103 * MS, 103 * MS + LAG_NS]
    assert floods(*many[:1]).span_ns is None


def test_sessions_of_a_node_that_listens_share_its_socket() -> None:
    """Recorded: what came by one session was dropped, as that of another filled the socket."""

    def row(leg: str, first: int, *, flooded: list[int] | None = None) -> Row:
        return {
            "kind": "samples", "leg": leg, "receiver_endpoint": "10.77.0.2:7447",
            "delivered": [[0, 9]], "unknown": {},
            "flooded_ns": flooded, "first_ns": first, "last_ns": first + 10,
        }  # fmt: skip

    full = row("a", 0, flooded=[20, 30])
    rows = {
        "full": full, "meets": row("b", 25),
        "before": row("b", 5), "behind": row("c", 31), "same": row("a", 25),
    }  # fmt: skip
    told = dict(at_others({(0, name): one for name, one in rows.items()}))
    assert [name for _, name in told] == ["meets"]
    assert told[0, "meets"]["delivered"] is None


def test_what_goes_on_with_the_first_of_it_did_not_wait() -> None:
    """Nobody asked: how many rows there are of it depends on where a capture was cut."""
    held, first = HeldBack(), Mark(1, MS)
    held.begin(first)
    held.add([(3, 20)])
    held.end(first)
    assert held.most == 0
    held.begin(first)
    held.add([(30, 34)])
    held.end(Mark(2, 2 * MS))
    assert held.most == 4
