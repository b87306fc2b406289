"""The decision tables of zenoh, a test a row (zenoh.md 8.3 to 8.6, 9.3, 9.4, 10; CONTRIBUTING.md
4)."""

import ast
import base64
import re
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.zenoh_detail import Detail
from seqaudit.decoders.zenoh.messages import read
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Arrival, Gap, Mark, Outcome
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.sequence.unwrap import SAMPLE_MASK, unwrap
from seqaudit.replay.zenoh import untaken
from seqaudit.replay.zenoh.cache import (
    Cached,
    PublicationCache,
    ReliabilityCache,
    Stored,
    chosen,
    evicted,
)
from seqaudit.replay.zenoh.causes import Cause, Why
from seqaudit.replay.zenoh.document_subscriber import DocumentSubscriber
from seqaudit.replay.zenoh.handed import Signs
from seqaudit.replay.zenoh.hops import MAX_HELD, HopCounter, UnfinishedBytes, initial_sn
from seqaudit.replay.zenoh.keys import (
    Advanced,
    KeyTables,
    advanced,
    document_query,
    matches,
    parameters,
)
from seqaudit.replay.zenoh.query import Miss, Query, Sort
from seqaudit.replay.zenoh.story import BY_REPLY
from seqaudit.replay.zenoh.subscriber import Subscriber
from tests.replay.zenoh.rows import ROWS

HERE = Path(__file__).parent
REPLAY = HERE.parents[2] / "replay" / "zenoh"
SECOND = 1_000_000_000


def marked() -> set[str]:
    found = set()
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
                assert isinstance(node.args[0], ast.Constant)
                found.add(str(node.args[0].value))
    return found


def test_every_row_has_a_test_or_says_why_no_capture_can_show_it() -> None:
    assert marked() == {row.id for row in ROWS.values() if not row.not_visible}


def test_every_row_is_cited_where_it_is_implemented() -> None:
    sources = list(REPLAY.glob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    cited = set(re.findall(r"\b([HSCD]\d+)\b", text))
    wanted = {row.id.removeprefix("zenoh ") for row in ROWS.values() if not row.not_visible}
    assert wanted - cited == set()


# ---- the subscriber


def mark(at: float) -> Mark:
    return Mark(int(at * 1000) + 1, int(at * SECOND))


class Alone:
    """Nothing is known of its session."""

    def signs(self) -> Signs:
        return Signs(Elapsed())

    def kept(self) -> bool:
        return False

    def cached(self) -> bool | None:
        return True

    def asked_from(self, since: int) -> int | None:
        return None

    def asks_from(self, since: int) -> int | None:
        return None

    def in_hole(self, gap: Gap) -> int:
        return 0

    def why(self, who: Subscriber, miss: Miss) -> list[Why]:
        return [Why(miss.first, miss.stop, Cause.NOT_ASKED)]


class Bench:
    """A subscriber and a clock."""

    def __init__(
        self, *, document: bool = False, history: bool = False, newest: int | None = None
    ) -> None:
        sort = DocumentSubscriber if document else Subscriber
        self.subscriber = sort("a/*", "ab/6", SECOND, Alone(), history=history, history_max=newest)
        self.number = 0

    def live(self, first: int, stop: int | None = None, at: float = 0) -> "Bench":
        self.subscriber.advance(int(at * SECOND))
        arrival = Arrival(mark(at), mark(at), False, None, None)
        self.subscriber.sample(first, first + 1 if stop is None else stop, arrival, None)
        return self

    def reply(self, query: Query, *sns: int, at: float = 0) -> "Bench":
        for sn in sns:
            arrival = Arrival(mark(at), mark(at), True, None, None)
            self.subscriber.sample(sn, sn + 1, arrival, query)
        return self

    def ask(
        self, first: int | None, last: int | None = None, at: float = 0, sort: Sort = Sort.RECOVERY
    ) -> Query:
        self.number += 1
        query = Query(
            self.number, "r", "k", "", sort, "ab/6", first, last, mark(at), int((at + 10) * SECOND)
        )
        self.subscriber.query(query)
        return query

    def end(self, query: Query, at: float = 0) -> "Bench":
        self.subscriber.query_ended(query, mark(at))
        return self

    @property
    def delivered(self) -> list[tuple[int, int]]:
        return self.subscriber.delivery.ranges

    @property
    def misses(self) -> list[tuple[int, int]]:
        return [(miss.first, miss.stop) for miss in self.subscriber.misses]


@pytest.mark.rule("zenoh S3")
def test_with_history_of_one_the_first_sample_is_delivered() -> None:
    bench = Bench(history=True, newest=1).live(5)
    assert bench.delivered == [(5, 6)]


@pytest.mark.rule("zenoh S4")
def test_while_history_runs_samples_are_kept_back_up_to_its_size() -> None:
    bench = Bench(history=True, newest=3).live(5).live(6)
    assert bench.delivered == []
    assert bench.live(8).delivered == [(5, 7)]
    assert list(bench.subscriber.pending) == [(8, 9)]
    assert Bench(history=True, newest=3).live(5, 9).delivered == [(5, 9)]


@pytest.mark.rule("zenoh S5")
def test_the_first_sample_of_a_source_is_delivered_and_nothing_before_it_missed() -> None:
    bench = Bench().live(7)
    assert (bench.delivered, bench.misses, bench.subscriber.waiting) == ([(7, 8)], [], None)


@pytest.mark.rule("zenoh S6")
def test_the_next_one_is_delivered_and_pending_ones_behind_it() -> None:
    bench = Bench().live(0).live(2, 4).live(5)
    query = bench.ask(1)
    assert bench.reply(query, 1).delivered == [(0, 4)]
    assert list(bench.subscriber.pending) == [(5, 6)]


@pytest.mark.rule("zenoh S7")
def test_a_newer_one_is_pending_and_the_same_again_replaces_it() -> None:
    bench = Bench().live(0).live(2).live(2)
    assert bench.delivered == [(0, 1)]
    assert list(bench.subscriber.pending) == [(2, 3)]
    assert bench.subscriber.repeat_count == 1


@pytest.mark.rule("zenoh S8")
def test_without_a_query_each_hole_was_a_miss_when_it_showed() -> None:
    bench = Bench().live(0, at=0).live(3, at=1).live(5, at=1.5).live(6, at=3)
    assert bench.delivered == [(0, 1), (3, 4), (5, 7)]
    assert bench.misses == [(1, 3), (4, 5)]
    assert [miss.due for miss in bench.subscriber.misses] == [mark(1), mark(1.5)]


@pytest.mark.rule("zenoh S9")
def test_what_is_not_newer_is_dropped() -> None:
    bench = Bench().live(0, 5).live(2, 7)
    assert bench.delivered == [(0, 7)]
    assert bench.subscriber.repeat_count == 3


@pytest.mark.rule("zenoh S10")
def test_a_gap_waits_for_its_query_only_after_a_live_sample() -> None:
    bench = Bench().live(0)
    other = bench.ask(None, sort=Sort.LATE)
    bench.reply(other, 5).end(other)
    assert bench.delivered == [(0, 1), (5, 6)]
    bench.live(9, at=2)
    assert bench.subscriber.waiting == mark(2)
    bench.ask(6, at=2.1)
    assert bench.subscriber.waiting is None


@pytest.mark.rule("zenoh S11")
def test_gaps_seen_while_a_query_is_open_wait_for_it() -> None:
    bench = Bench().live(0).live(2)
    query = bench.ask(1)
    bench.live(4, at=5)
    assert bench.delivered == [(0, 1)]
    assert bench.reply(query, 1, at=6).end(query, at=6).delivered == [(0, 3), (4, 5)]
    assert bench.misses == [(3, 4)]


@pytest.mark.rule("zenoh S12")
def test_a_query_says_what_the_subscriber_had_before_the_capture() -> None:
    bench = Bench().live(9)
    query = bench.ask(4)
    assert bench.delivered == []
    assert bench.reply(query, 4, 5, 6, 7, 8, 9).end(query).delivered == [(4, 10)]
    assert bench.subscriber.counts[Outcome.RECOVERED] == 5
    ahead = Bench().live(0).live(5)
    first = ahead.ask(3)
    assert ahead.delivered == [(0, 3)]
    counts = ahead.subscriber.counts
    assert counts[Outcome.UNASKED] == 2  # who asks may have come later
    ahead.reply(first, 3, 4, at=1).live(6, at=2).live(9, at=2)
    second = ahead.ask(8, at=2)
    assert counts[Outcome.STOPPED] == 1  # or it went on without, as its query ended
    ahead.reply(second, 8, at=3).end(first, at=3).end(second, at=3).live(10, at=4).live(13, at=4)
    ahead.ask(12, at=4)
    assert counts[Outcome.UNCAPTURED] == 1


@pytest.mark.rule("zenoh S13")
def test_of_parallel_queries_the_last_end_counts() -> None:
    bench = Bench().live(0).live(2)
    one, two = bench.ask(1), bench.ask(1)
    assert bench.end(one).delivered == [(0, 1)]
    assert bench.end(two).delivered == [(0, 1), (2, 3)]


@pytest.mark.rule("zenoh S14")
def test_a_newer_heartbeat_says_that_samples_exist() -> None:
    bench = Bench().live(0, 3)
    bench.subscriber.heartbeat(5, mark(1))
    assert bench.subscriber.tracker is not None
    assert bench.subscriber.tracker.missing() == [(3, 6)]
    query = bench.ask(3, 5, sort=Sort.HEARTBEAT)
    assert bench.reply(query, 3, 4, 5).end(query).delivered == [(0, 6)]


@pytest.mark.rule("zenoh S15")
def test_a_heartbeat_query_without_a_sample_brings_the_whole_cache() -> None:
    bench = Bench()
    query = bench.ask(None, 9, sort=Sort.HEARTBEAT)
    assert bench.reply(query, 7, 8, 9).end(query).delivered == [(7, 10)]


@pytest.mark.rule("zenoh S16")
def test_a_heartbeat_that_is_not_newer_says_nothing() -> None:
    bench = Bench().live(0, 6)
    bench.subscriber.heartbeat(5, mark(1))
    assert bench.subscriber.tracker is not None
    assert bench.subscriber.tracker.missing() == []


@pytest.mark.rule("zenoh S17")
def test_a_gap_waits_for_all_periodic_queries() -> None:
    bench = Bench().live(0)
    first, second = (bench.ask(1, sort=Sort.PERIODIC, at=t) for t in (0, 0.6))
    bench.live(2, at=1)
    assert bench.subscriber.waiting is None
    assert bench.end(first).delivered == [(0, 1)]
    assert bench.end(second).delivered == [(0, 1), (2, 3)]
    assert bench.misses == [(1, 2)]


@pytest.mark.rule("zenoh S18")
@pytest.mark.rule("zenoh S20")
def test_at_the_end_of_the_query_holes_are_misses_and_the_rest_is_delivered() -> None:
    bench = Bench().live(0).live(3).live(6)
    query = bench.ask(1)
    bench.reply(query, 2).end(query, at=4)
    assert bench.delivered == [(0, 1), (2, 4), (6, 7)]
    assert bench.misses == [(1, 2), (4, 6)]
    assert [miss.due for miss in bench.subscriber.misses] == [mark(4)] * 2
    assert list(bench.subscriber.unrecovered) == [(1, 2), (4, 6)]


@pytest.mark.parametrize(
    ("first", "at", "behind"), [(8, 1.05, False), (8, 2, True), (11, 2, False)]
)
def test_who_asks_for_what_it_seems_to_have_had_for_long_was_not_handed_it(
    first: int, at: float, behind: bool
) -> None:
    bench = Bench().live(0, 11)
    bench.end(bench.ask(11, at=1, sort=Sort.PERIODIC), at=1.01).ask(first, at=at)
    assert bench.subscriber.asking.behind is behind


@pytest.mark.rule("zenoh S19")
def test_the_end_of_the_history_hands_on_what_was_kept_back() -> None:
    bench = Bench(history=True).live(8)
    query = Query(1, "r", "k", "", Sort.HISTORY, None, None, None, mark(0), 10 * SECOND)
    bench.reply(query, 5, 6)
    assert bench.delivered == []
    bench.subscriber.history_ended(mark(1))
    assert bench.delivered == [(5, 7), (8, 9)]


@pytest.mark.rule("zenoh S21")
def test_pending_samples_that_have_become_old_are_dropped() -> None:
    bench = Bench().live(0).live(2)
    query = bench.ask(1)
    bench.subscriber.last = 2
    assert bench.end(query).delivered == [(0, 1)]


@pytest.mark.rule("zenoh S27")
def test_last_samples_that_only_a_query_brings_were_lost_and_recovered() -> None:
    bench = Bench().live(0)
    query = bench.ask(1, sort=Sort.PERIODIC)
    bench.reply(query, 1, 2, at=1).end(query, at=1)
    subscriber = bench.subscriber
    assert (bench.delivered, subscriber.counts[Outcome.RECOVERED]) == ([(0, 3)], 2)
    assert [(g.first, g.stop, g.revealed_by) for g in subscriber.gaps] == [
        (1, 2, BY_REPLY),
        (2, 3, BY_REPLY),
    ]
    bench.live(2, at=2)  # its original was only slower
    assert subscriber.counts[Outcome.RECOVERED] == 1
    assert subscriber.counts[Outcome.REORDERED] == 1
    assert list(subscriber.recovered) == [(1, 2)]
    whole = Bench().live(5)
    late = whole.ask(None, sort=Sort.LATE)
    assert whole.reply(late, 6, 7).end(late).subscriber.counts[Outcome.RECOVERED] == 0


def test_control_traffic_counts_while_nothing_is_missing() -> None:
    bench = Bench().live(0, 10)
    bench.subscriber.heartbeat(9, mark(0))
    idle = bench.ask(10, sort=Sort.PERIODIC)
    idle.ended = mark(0)
    bench.end(idle)
    assert bench.subscriber.quiet.control([idle]) == (3, 10)
    bench.live(12)  # 11 and the beats from here on are no rest
    bench.subscriber.heartbeat(12, mark(0))
    asked = bench.ask(10)
    bench.live(13).reply(asked, 10, 11).end(asked)
    assert bench.subscriber.quiet.control([idle, asked]) == (3, 10)
    bench.live(14)
    assert bench.subscriber.quiet.control([idle, asked]) == (3, 11)


@pytest.mark.rule("zenoh S24")
def test_sample_sns_wrap() -> None:
    assert unwrap(0, 0xFFFF_FFFF, SAMPLE_MASK) == 1 << 32
    assert unwrap(0xFFFF_FFFF, 1 << 32, SAMPLE_MASK) == 0xFFFF_FFFF
    assert unwrap(2**31 - 1, 0, SAMPLE_MASK) == 2**31 - 1
    assert unwrap(2**31, 0, SAMPLE_MASK) == -(2**31)


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.sampled_from([0x7F, 0x3FFF, 0xFFFF_FFFF]))
def test_unwrapping_finds_the_nearest_number_of_the_same_residue(
    near: int, meant: int, mask: int
) -> None:
    found = unwrap(meant & mask, near, mask)
    assert (found - meant) & mask == 0
    assert -(mask // 2 + 1) <= found - near <= mask // 2


# ---- the document's subscriber


@pytest.mark.rule("zenoh D2")
@pytest.mark.rule("zenoh D3")
def test_document_first_and_expected_samples_are_passed_on() -> None:
    assert Bench(document=True).live(4).live(5).delivered == [(4, 6)]


@pytest.mark.rule("zenoh D4")
def test_document_another_sample_is_pending_and_waits_for_a_query() -> None:
    bench = Bench(document=True).live(0).live(3, at=1)
    assert bench.delivered == [(0, 1)]
    assert bench.subscriber.waiting == mark(1)


@pytest.mark.rule("zenoh D5")
@pytest.mark.rule("zenoh D6")
def test_document_replies_are_sorted_and_handed_on_when_the_query_ends() -> None:
    bench = Bench(document=True).live(0).live(3)
    query = bench.ask(1, 3)
    bench.reply(query, 2, 1)
    assert bench.delivered == [(0, 1)]
    assert bench.end(query).delivered == [(0, 4)]


@pytest.mark.rule("zenoh D7")
def test_document_what_is_still_missing_is_an_error_and_the_rest_goes_on() -> None:
    bench = Bench(document=True).live(0).live(3)
    query = bench.ask(1, 3)
    assert bench.reply(query, 2).end(query).delivered == [(0, 1), (2, 4)]
    assert bench.misses == [(1, 2)]


@pytest.mark.rule("zenoh D8")
def test_document_periodic_queries_bring_last_samples() -> None:
    bench = Bench(document=True).live(0)
    query = bench.ask(1, sort=Sort.PERIODIC)
    assert bench.reply(query, 1, 2).end(query).delivered == [(0, 3)]


@pytest.mark.rule("zenoh D9")
def test_document_history_comes_in_order_before_live_samples() -> None:
    bench = Bench(document=True, history=True, newest=2).live(9).live(10).live(11)
    query = Query(1, "r", "k", "", Sort.HISTORY, None, None, None, mark(0), 10 * SECOND)
    bench.reply(query, 8, 7)
    assert bench.delivered == []
    bench.subscriber.history_ended(mark(1))
    assert bench.delivered == [(7, 12)]


# ---- caches


def replies(text: str, sns: list[int | None], since_ns: int | None = None) -> list[int | None]:
    queue = [Cached(sn, None if sn is None else sn * 10) for sn in sns]
    return [s.sn for s in chosen(queue, parameters(text), since_ns)]


@pytest.mark.rule("zenoh C1")
def test_both_ends_of_a_range_are_included() -> None:
    assert replies("_sn=3..5", [*range(10)]) == [3, 4, 5]
    wrapped = [*range(0xFFFF_FFFE, 0x1_0000_0003)]
    first = unwrap(parameters("_sn=4294967295..1").first or 0, wrapped[-1], SAMPLE_MASK)
    last = unwrap(parameters("_sn=4294967295..1").last or 0, wrapped[-1], SAMPLE_MASK)
    assert (first, last) == (0xFFFF_FFFF, 0x1_0000_0001)


@pytest.mark.rule("zenoh C2")
@pytest.mark.rule("zenoh C3")
@pytest.mark.rule("zenoh C4")
@pytest.mark.rule("zenoh C5")
@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("_sn=7..", [7, 8, 9]),
        ("_sn=..2", [0, 1, 2]),
        ("_sn=4", [4]),
        ("_sn=x..2;_anyke", [0, 1, 2]),
        ("_sn=8..99999999999999999999", [8, 9]),
        ("_sn=oops", [*range(10)]),
    ],
)
def test_ranges_may_be_open(text: str, got: list[int]) -> None:
    assert replies(text, [*range(10)]) == got


@pytest.mark.rule("zenoh C6")
def test_of_those_the_newest() -> None:
    assert replies("_sn=2..8;_max=2", [*range(10)]) == [7, 8]
    assert replies("_max=0", [*range(10)]) == []


@pytest.mark.rule("zenoh C7")
def test_samples_without_timestamp_pass_a_time_range() -> None:
    queue = [Cached(1, 5), Cached(2, 50), Cached(3, None)]
    assert [s.sn for s in chosen(queue, parameters("_time=[now(-1s)..]"), 10)] == [2, 3]


@pytest.mark.rule("zenoh C8")
@pytest.mark.rule("zenoh C9")
def test_without_parameters_the_whole_queue_comes_oldest_first() -> None:
    assert replies("_anyke", [3, 4, 5]) == [3, 4, 5]


@pytest.mark.rule("zenoh C10")
def test_samples_without_source_info_are_in_no_bounded_range() -> None:
    assert replies("_sn=0..9", [None, 3]) == [3]
    assert replies("_sn=1..", [None]) == []
    assert replies("", [None, 3]) == [None, 3]


@pytest.mark.rule("zenoh C11")
def test_the_revealing_sample_takes_a_place_in_the_cache() -> None:
    cache = PublicationCache(3)
    for sn in range(8):
        cache.publish(Cached(sn))
    assert [s.sn for s in cache.reply(parameters("_sn=2.."))] == [5, 6, 7]
    assert list(evicted(RangeSet([(0, 8)]), 3, 2, 2**63)) == [(2, 5)]
    assert list(evicted(RangeSet([(0, 2), (4, 6)]), 3, 0, 2**63)) == [(0, 1)]
    assert list(evicted(RangeSet([(0, 2)]), 3, 0, 9)) == []


def stored(cache: ReliabilityCache, source: str, text: str) -> list[Stored]:
    return cache.reply(source, "a/**", parameters(text))


@pytest.mark.rule("zenoh D12")
@pytest.mark.rule("zenoh D13")
@pytest.mark.rule("zenoh D14")
@pytest.mark.rule("zenoh D15")
@pytest.mark.rule("zenoh D16")
@pytest.mark.rule("zenoh D17")
@pytest.mark.rule("zenoh D18")
def test_document_cache() -> None:
    cache = ReliabilityCache("a/**", "me", "any", history=2)
    for sn in range(4):
        cache.store("a/x", "p", sn)
    cache.store("a/y", "p", 0)
    cache.store("a/x", "q", 9)
    cache.store("a/x", None, 1)
    cache.store("a/x", "p", None)
    cache.store("b", "p", 1)
    assert stored(cache, "p", "_sn=..9") == [("a/x", "p", 2, 4), ("a/y", "p", 0, 1)]
    assert stored(cache, "p", "_sn=3..") == [("a/x", "p", 3, 4)]
    assert stored(cache, "p", "_sn=1..2") == [("a/x", "p", 2, 3)]
    assert len(stored(cache, "*", "")) == 3
    assert cache.ever_had("p", 1, 2) and not cache.ever_had("q", 1, 2)
    cache.store("a/x", "p", 4, 9)  # a run; of an older one only the end is left
    assert stored(cache, "p", "_sn=1..") == [("a/x", "p", 7, 9)]
    off = ReliabilityCache("a/**", "me", "any", enabled=False)
    off.store("a/x", "p", 1)
    local = ReliabilityCache("a/**", "me")
    local.store("a/x", "p", 1)
    local.store("a/x", "me", 2)
    assert (stored(off, "*", ""), stored(local, "*", "")) == ([], [("a/x", "me", 2, 3)])


# ---- transport counters


def counter(initial: int | None = 10, mask: int = 127, patch: int = 1) -> HopCounter:
    return HopCounter(mask, initial, patch, read=read, held=UnfinishedBytes())


def came(hop: HopCounter, *sns: int) -> list[bool]:
    """Whether each frame is accepted."""
    taken = [hop.frames_came(sn, sn + 1, mark(i), mark(i)) for i, sn in enumerate(sns)]
    return [t.accepted_from < t.stop for t in taken]


def piece(first: int = 0, more: int = 1) -> Detail:
    return {"first": first, "more": more, "message": ("push", {})}


@pytest.mark.rule("zenoh H1")
def test_newer_by_one_is_accepted_across_the_wrap() -> None:
    hop = counter(126)
    assert came(hop, 126, 127, 0, 1) == [True] * 4
    assert (hop.gaps, list(hop.seen)) == ([], [(126, 130)])


@pytest.mark.rule("zenoh H2")
@pytest.mark.parametrize(("sn", "accepted"), [(12, True), (73, True), (74, False), (9, False)])
def test_newer_by_up_to_half_the_space_is_accepted(sn: int, accepted: bool) -> None:
    hop = counter()
    assert came(hop, 10, sn) == [True, accepted]
    assert list(hop.lost) == ([(11, sn)] if accepted else [])


@pytest.mark.rule("zenoh H3")
def test_equal_or_older_frames_are_thrown_away() -> None:
    hop = counter()
    assert came(hop, 10, 12, 11, 12, 13) == [True, True, False, False, True]
    assert (hop.discarded.count, hop.repeated, hop.late.ranges.total()) == (2, 1, 1)
    assert list(hop.lost) == []
    run = counter().frames_came(8, 14, mark(0), mark(1))
    assert (run.first, run.accepted_from, run.stop) == (8, 10, 14)


@pytest.mark.rule("zenoh H4")
def test_the_handshake_says_what_the_first_sn_is() -> None:
    hop = counter(10)
    came(hop, 13)
    assert list(hop.lost) == [(10, 13)]


@pytest.mark.rule("zenoh H5")
def test_without_a_handshake_the_first_sn_defines_the_start() -> None:
    hop = counter(None)
    assert came(hop, 13, 15) == [True, True]
    assert list(hop.lost) == [(14, 15)]


@pytest.mark.rule("zenoh H6")
@pytest.mark.rule("zenoh H8")
def test_fragments_become_a_message() -> None:
    hop = counter()
    assert hop.fragment_came(10, mark(0), piece(1), said_drop=False)[1] is None
    assert hop.fragment_came(11, mark(0), piece(1), said_drop=False)[1] is None
    message = hop.fragment_came(12, mark(0), piece(0, 0), said_drop=False)[1]
    assert message is not None and message.told is not None
    assert (message.pieces, *message.told) == (2, "push", {})
    assert hop.broken.count == 1


@pytest.mark.rule("zenoh H7")
@pytest.mark.rule("zenoh H13")
@pytest.mark.parametrize(("patch", "starts"), [(1, False), (0, True)])
def test_a_piece_without_first_starts_a_message_only_in_the_old_protocol(
    patch: int, starts: bool
) -> None:
    hop = counter(patch=patch)
    assert (hop.fragment_came(10, mark(0), piece(0, 0), said_drop=False)[1] is not None) is starts


@pytest.mark.rule("zenoh H9")
def test_a_piece_that_does_not_follow_loses_the_message() -> None:
    hop = counter()
    hop.fragment_came(10, mark(0), piece(1), said_drop=False)
    assert hop.fragment_came(13, mark(0), piece(0, 1), said_drop=False)[1] is None
    assert hop.fragment_came(14, mark(0), piece(0, 0), said_drop=False)[1] is None
    assert hop.broken.count == 1


def test_each_run_of_pieces_without_a_first_is_a_message_that_was_lost() -> None:
    hop = counter()
    for sn, more in ((11, 1), (12, 0), (15, 1), (16, 1), (17, 0)):
        assert hop.fragment_came(sn, mark(0), piece(0, more), said_drop=False)[1] is None
    assert hop.broken.count == 2


def test_pieces_of_a_message_that_began_before_the_capture_are_no_loss() -> None:
    hop = counter(None)
    for sn, more in ((11, 1), (12, 0)):
        hop.fragment_came(sn, mark(0), piece(0, more), said_drop=False)
    assert hop.broken.count == 0
    hop.fragment_came(15, mark(0), piece(0, 0), said_drop=False)
    assert hop.broken.count == 1


def in_fragments(hop: HopCounter, *sns: int) -> list[tuple[int, bool]]:
    """Messages that came whole, of pieces 10 to 12 and 14 to 16: after which sn each did, and
    whether it was accepted."""
    found = []
    for number, sn in enumerate(sns, 1):
        told = piece(int(sn in (10, 14)), int(sn not in (12, 16)))
        message = hop.fragment_came(sn, mark(number), told, said_drop=False)[1]
        if message is not None:
            assert message.pieces == 3
            found.append((number, message.accepted))
    return found


@pytest.mark.rule("zenoh H17")
@pytest.mark.parametrize("sns", [[10, 10], [10, 10, 12], [10, 11, 10, 11], [11, 12, 12, 11, 12]])
def test_pieces_that_are_repeated_are_no_message(sns: list[int]) -> None:
    hop = counter()
    assert in_fragments(hop, *sns) == []
    assert hop.repeated == len(sns) - len(set(sns))


@pytest.mark.rule("zenoh H17")
@pytest.mark.parametrize(
    ("sns", "whole"),
    [
        ([10, 10, 11, 12, 14, 15, 16], [(4, True), (7, True)]),
        ([10, 11, 12, 12, 10, 11], [(3, True), (6, False)]),  # each in a datagram that came twice
        ([11, 10, 12], [(3, False)]),
        ([10, 12, 11], [(3, False)]),
        ([14, 15, 16, 12, 11, 10], [(3, True), (6, False)]),
        ([10, 12, 11, 14, 15, 16], [(3, False), (6, True)]),
        ([10, 10, 12, 14, 15, 16, 11, 11], [(6, True), (7, False)]),
    ],
)
def test_a_message_of_which_a_piece_came_too_late_came_whole(
    sns: list[int], whole: list[tuple[int, bool]]
) -> None:
    assert in_fragments(counter(), *sns) == whole


def test_a_message_that_its_sender_gave_up_never_comes_whole() -> None:
    hop = counter()
    came(hop, 13)
    hop.fragment_came(10, mark(0), piece(1), said_drop=False)
    assert hop.fragment_came(11, mark(0), piece(0, 0), said_drop=True)[1] is None


@given(st.lists(st.integers(0, 40), max_size=80), st.integers(1, 12))
def test_pieces_are_remembered_once_and_only_so_many(sns: list[int], room: int) -> None:
    """Messages of four sns, the last of which is the one that is left out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(untaken, "MAX_UNTAKEN", room)
        pieces, waiting = untaken.UntakenPieces(), set[int]()
        for sn in sns:
            if sn % 4 == 3:
                continue
            told = ("push", Detail()) if sn % 4 == 0 else None
            run = pieces.add(sn, begins=sn % 4 == 0, ends=sn % 4 == 2, told=told)
            waiting.add(sn)
            of_it = set(range(sn // 4 * 4, sn // 4 * 4 + 3))
            if run is not None:
                assert set(range(run.first, run.stop)) == of_it <= waiting
                assert run.told is not None
                waiting -= of_it
            elif room == 12 and len(waiting) <= room:
                assert not of_it <= waiting


@pytest.mark.rule("zenoh H10")
def test_one_sn_is_skipped_after_a_final_fragment() -> None:
    hop = counter()
    hop.fragment_came(10, mark(0), piece(1, 0), said_drop=False)
    came(hop, 12, 15)
    assert (hop.skips, list(hop.lost)) == (1, [(13, 15)])


@pytest.mark.rule("zenoh H11")
def test_unfinished_fragments_and_one_skipped_sn_are_given_up_by_the_sender() -> None:
    hop = counter()
    hop.fragment_came(10, mark(0), piece(1), said_drop=False)
    came(hop, 12)
    assert (hop.abandoned.count, list(hop.lost)) == (1, [])


@pytest.mark.rule("zenoh H14")
def test_a_lost_final_fragment_takes_the_skipped_sn_with_it() -> None:
    hop = counter()
    hop.fragment_came(10, mark(0), piece(1), said_drop=False)
    hop.fragment_came(13, mark(1), piece(1), said_drop=False)
    assert (hop.skips, hop.abandoned.count, list(hop.lost)) == (1, 0, [(11, 12)])
    middle = counter()
    middle.fragment_came(10, mark(0), piece(1), said_drop=False)
    middle.fragment_came(12, mark(1), piece(0), said_drop=False)
    assert (middle.skips, middle.abandoned.count, list(middle.lost)) == (0, 0, [(11, 12)])


@pytest.mark.rule("zenoh H12")
def test_a_drop_mark_delivers_nothing() -> None:
    hop = counter()
    hop.fragment_came(10, mark(0), piece(1), said_drop=False)
    assert hop.fragment_came(11, mark(0), piece(0, 0), said_drop=True)[1] is None
    assert hop.abandoned.count == 1


@pytest.mark.rule("zenoh H16")
def test_initial_sns_are_a_hash_of_both_zids() -> None:
    """tcp-clean-1: the Opens of its hexdumps (zenoh.md 12)."""
    one, other = "9a37f0b6b9f4dabbe6dfc2c028178114", "dcba8b831e4974e2a0a5281cdbe5650a"
    assert initial_sn(one, other, 0xFFF_FFFF) == 22827635
    assert initial_sn(other, one, 0xFFF_FFFF) == 125800146


def carried(raw: bytes, *, first: bool = False, more: bool = True) -> Detail:
    return {"first": int(first), "more": int(more), "piece": base64.b64encode(raw).decode()}


def test_bytes_of_unfinished_messages_are_bounded_over_all_counters() -> None:
    held = UnfinishedBytes()
    hops = [HopCounter(0xFFFF, 0, 1, read=lambda raw: None, held=held) for _ in range(3)]
    block = bytes(65_000)
    for sn in range(400):
        for hop in hops:
            hop.fragment_came(sn, mark(0), carried(block, first=sn == 0), said_drop=False)
            assert held.size <= MAX_HELD
    for hop in hops:
        hop.fragment_came(400, mark(0), carried(b"", more=False), said_drop=False)
    assert held.size == 0


@settings(max_examples=150)
@given(st.lists(st.integers(0, 127), min_size=1, max_size=60), st.integers(0, 127))
def test_a_counter_accepts_what_the_rule_word_for_word_accepts(
    sns: list[int], initial: int
) -> None:
    last = (initial - 1) & 127
    wanted = []
    for sn in sns:
        newer = 1 <= (sn - last) & 127 <= 63
        wanted.append(newer)
        last = sn if newer else last
    assert came(counter(initial), *sns) == wanted


# ---- keys


@pytest.mark.parametrize(
    ("expression", "key", "matched"),
    [
        ("a/*", "a/b", True), ("a/*", "a/b/c", False), ("a/**", "a", True), ("a/**", "a/b/c", True),
        ("**/c", "a/b/c", True), ("a/$*b", "a/xxb", True), ("a/$*b", "a/bx", False),
        ("demo/**", "demo/x/@adv/pub", False), ("demo/**/@adv/**", "demo/x/@adv/pub", True),
        ("*", "@adv", False), ("a/x$*y$*z", "a/x1y2z", True), ("a/x$*y$*z", "a/xz", False),
    ],
)  # fmt: skip
def test_key_expressions(expression: str, key: str, matched: bool) -> None:
    assert matches(expression, key) is matched


def test_advanced_keys() -> None:
    assert advanced("S/@adv/*/ab/6/**") == Advanced("S", "*", "ab/6")
    assert advanced("K/@adv/pub/ab/6/_") == Advanced("K", "pub", "ab/6")
    assert advanced("K/@adv/pub/0AB/6/_") == Advanced("K", "pub", "ab/6")  # as zenoh-pico prints it
    assert advanced("K/@adv/pub/0xy/6/_") == Advanced("K", "pub", "0xy/6")  # no zid
    assert advanced("S/@adv/**") == Advanced("S", "", None)
    assert advanced("S/@adv/pub/**") == Advanced("S", "pub", None)
    assert advanced("plain/key") is None


@pytest.mark.rule("zenoh D19")
def test_document_keys_have_the_source_in_front() -> None:
    assert document_query("00ab12/demo/x") == Advanced("demo/x", "*", "ab12")
    assert document_query("*/demo/x") == Advanced("demo/x", "", None)
    assert document_query("demo/x") is None
    assert document_query("x") is None


def test_key_tables_are_per_session_and_side() -> None:
    tables = KeyTables()
    tables.declare("p", 1, "demo/sensor")
    assert tables.resolve("p", "s", [1, 1, ""]) == "demo/sensor"
    assert tables.resolve("s", "p", [1, 0, "/x"]) == "demo/sensor/x"
    assert tables.resolve("p", "s", [0, 0, "whole"]) == "whole"
    assert tables.resolve("s", "p", [1, 1, "/x"]) == "?/x"
    tables.forget("p", 1)
    tables.declare("p", 2, "z")
    tables.clear()
    assert tables.resolve("p", "s", [2, 1, ""]) == tables.resolve("s", "p", [2, 0, ""]) == "?"
    assert len(tables.unresolved) == 2  # numbers, however often each is used


# ---- all of it: publisher, cache and subscriber over a faulty path


class Naive:
    """The subscriber of zenoh.md 9.4 word for word: one sample at a time, no runs, no outcomes."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.open = 0
        self.pending: set[int] = set()
        self.out: list[int] = []
        self.missed: list[int] = []

    def sample(self, sn: int) -> None:
        if self.last is None:
            self.give(sn)
        elif sn == self.last + 1:
            self.give(sn)
            while self.last + 1 in self.pending:
                self.pending.discard(self.last + 1)
                self.give(self.last + 1)
        elif sn > self.last + 1:
            self.pending.add(sn)

    def give(self, sn: int) -> None:
        self.out.append(sn)
        self.last = sn

    def wants(self) -> bool:
        return self.open == 0 and bool(self.pending)

    def ended(self) -> None:
        self.open -= 1
        if self.open:
            return
        for sn in sorted(self.pending):
            if self.last is not None and sn > self.last + 1:
                self.missed.append(sn - self.last - 1)
            if self.last is None or sn > self.last:
                self.give(sn)
        self.pending.clear()


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["pass", "pass", "lose", "late"]), min_size=1, max_size=40),
    st.integers(1, 8),
    st.lists(st.sampled_from(["answer", "lose query", "lose reply", "lose final"]), max_size=10),
    st.integers(0, 3),
)
def test_publisher_cache_and_subscriber_over_a_faulty_path(
    path: list[str], depth: int, fates: list[str], patience: int
) -> None:
    """The real exchange runs with the naive subscriber; the engine only sees what is captured."""
    cache, naive, bench = PublicationCache(depth), Naive(), Bench()
    waiting: deque[tuple[int, Query, str]] = deque()  # step of the answer, query, fate
    late: list[int] = []
    chosen_fates = deque(fates)

    def arrives(sn: int, at: float) -> None:
        naive.sample(sn)
        bench.live(sn, at=at)
        if naive.wants():
            naive.open += 1
            assert naive.last is not None
            query = bench.ask(naive.last + 1, at=at)
            fate = chosen_fates.popleft() if chosen_fates else "answer"
            waiting.append((step + patience, query, fate))

    def answers(at: float) -> None:
        _, query, fate = waiting.popleft()
        if fate in ("answer", "lose final"):
            assert query.first is not None
            for sample in cache.reply(parameters(f"_sn={query.first}..")):
                assert sample.sn is not None
                naive.sample(sample.sn)
                bench.reply(query, sample.sn, at=at)
        naive.ended()
        bench.end(query, at=at)

    step = 0
    for step, fate in enumerate(path):
        at = step / 100
        while waiting and waiting[0][0] <= step:
            answers(at)
        cache.publish(Cached(step))
        if fate == "pass":
            arrives(step, at)
        elif fate == "late":
            late.append(step)
        if late and late[0] < step - 1:
            arrives(late.pop(0), at)
    while waiting:
        answers(step / 100)
    assert [sn for a, b in bench.delivered for sn in range(a, b)] == naive.out
    assert [b - a for a, b in bench.misses] == naive.missed
    subscriber = bench.subscriber
    assert list(subscriber.pending) == []
    lost = {sn for a, b in subscriber.unrecovered for sn in range(a, b)}
    if naive.out:
        assert lost == set(range(naive.out[0], naive.out[-1])) - set(naive.out)
