"""What each way of spoiling a capture does to its records."""

import random
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.degraded import auditing, hosts
from tests.degraded.captures import SECOND_NS, Capture, Pcap, Pcapng, Record, read
from tests.degraded.ways import WAYS, Spoiled, Subject, Way, text_of

BEGAN_NS = 1_700_000_000 * SECOND_NS
MILLISECOND_NS = 1_000_000
HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)


def packet(source: int, destination: int, number: int) -> bytes:
    """An Ethernet frame of IPv4 between 10.0.0.x and 10.0.0.y."""
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 120, number, 0, 64, 17, 0)
    return (
        bytes(12)
        + b"\x08\x00"
        + ip
        + bytes([10, 0, 0, source, 10, 0, 0, destination])
        + bytes([number % 256]) * 100
    )


def capture(count: int, hosts_: tuple[int, int] = (1, 2)) -> Capture:
    """A record every 10 ms, the third host talking every fifth time."""
    records = []
    for number in range(count):
        source = 3 if number % 5 == 4 else hosts_[0]
        data = packet(source, hosts_[1], number)
        at_ns = BEGAN_NS + number * 10 * MILLISECOND_NS
        records.append(Record(at_ns, data, len(data)))
    return Capture(Pcap(HEADER, "<", 1), tuple(records))


def subject(count: int = 40, marks: tuple[int, ...] = (7, 20)) -> Subject:
    return Subject("run/x.pcap", "x.pcap", "10.0.0.2", capture(count), marks)


def way(name: str) -> Way:
    return next(way for way in WAYS if way.name == name)


def spoiled(name: str, choice: Any, of: Subject | None = None) -> Spoiled:
    return way(name).spoil(of or subject(), choice)


def numbers(found: Spoiled) -> list[int]:
    """Which frames of the whole (from 1) are left, in their order."""
    return [record.data[18] * 256 + record.data[19] + 1 for record in only(found)]


def only(found: Spoiled) -> tuple[Record, ...]:
    ((_, one),) = found.files
    return one.records


def test_the_head_is_cut_so_that_the_capture_begins_at_a_frame() -> None:
    assert numbers(spoiled("head", 7)) == list(range(7, 41))


def test_the_tail_is_cut_so_that_the_capture_ends_at_a_frame() -> None:
    assert numbers(spoiled("tail", 7)) == list(range(1, 8))


def test_a_single_frame_is_removed() -> None:
    assert numbers(spoiled("single", 7)) == [n for n in range(1, 41) if n != 7]


def test_a_middle_is_one_stretch() -> None:
    for seed in range(20):
        left = numbers(spoiled("middle", seed))
        assert left == list(range(left[0], left[-1] + 1))


def test_a_burst_removes_one_stretch() -> None:
    for seed in range(20):
        gone = sorted(set(range(1, 41)) - set(numbers(spoiled("burst", seed))))
        assert gone == list(range(gone[0], gone[-1] + 1))


@pytest.mark.parametrize(("name", "share"), [("drop-1", 0.01), ("drop-5", 0.05), ("drop-30", 0.3)])
def test_a_share_of_the_frames_is_dropped_and_the_rest_stays_in_order(
    name: str, share: float
) -> None:
    whole = subject(2000)
    left = numbers(spoiled(name, 3, whole))
    assert left == sorted(left)
    assert abs(len(left) / 2000 - (1 - share)) < 0.02


def test_a_small_capture_loses_at_least_one_frame() -> None:
    assert all(len(numbers(spoiled("drop-1", seed, subject(4)))) < 4 for seed in range(20))


def test_a_snap_length_cuts_bytes_and_keeps_the_length_on_the_wire() -> None:
    for record in only(spoiled("snap", 64)):
        assert (len(record.data), record.size) == (64, 134)


def test_a_mirror_port_of_one_host_holds_what_was_sent_to_it_and_what_others_got_of_it() -> None:
    def records(*packets: tuple[int, int, int]) -> Capture:
        return capture(1).of([Record(BEGAN_NS + p[2], packet(*p), 134) for p in packets])

    here = records((2, 1, 1), (2, 1, 2), (1, 2, 4))  # its first packet and 3 of host 1 are lost
    there = records((2, 1, 2), (1, 2, 3), (1, 2, 4), (1, 3, 5))
    one = Subject("run/b.pcap", "b.pcap", "10.0.0.2", here, (), (("a.pcap", "10.0.0.1", there),))
    assert numbers(spoiled("one-host", ("near others", "alone"), one)) == [3, 4, 5]
    assert numbers(spoiled("one-host", ("before losses", "alone"), one)) == [2, 3, 4, 5]
    assert spoiled("one-host", ("near others", "alone"), one).at is None


def test_swapped_neighbours_keep_their_times() -> None:
    found = spoiled("swap", 7)
    assert numbers(found)[5:9] == [6, 8, 7, 9]
    assert [r.at_ns for r in only(found)][6] > [r.at_ns for r in only(found)][7]


def test_disorder_loses_nothing_and_moves_a_record_by_less_than_a_millisecond() -> None:
    close = [Record(BEGAN_NS + n * 100_000, packet(1, 2, n), 134) for n in range(200)]
    whole = Subject("run/x.pcap", "x.pcap", "10.0.0.2", capture(1).of(close))
    found = spoiled("disorder", 1, whole)
    assert numbers(found) != list(range(1, 201))
    assert sorted(numbers(found)) == list(range(1, 201))
    latest = 0
    for record in only(found):
        latest = max(latest, record.at_ns)
        assert latest - record.at_ns < MILLISECOND_NS


def test_a_clock_step_moves_all_frames_from_one_on() -> None:
    whole, found = subject().capture.records, only(spoiled("step", (7, -30 * SECOND_NS)))
    moved = [there.at_ns - here.at_ns for here, there in zip(whole, found, strict=True)]
    assert moved == [0] * 6 + [-30 * SECOND_NS] * 34


def test_a_drifting_clock_moves_a_frame_the_more_the_later_it_is() -> None:
    whole, found = subject().capture.records, only(spoiled("drift", 0.01))
    moved = [there.at_ns - here.at_ns for here, there in zip(whole, found, strict=True)]
    assert moved == [number * 100_000 for number in range(40)]


def test_captured_twice_has_every_frame_again_after_the_lag() -> None:
    found = only(spoiled("twice", 15 * MILLISECOND_NS))
    times = sorted(r.at_ns for r in subject().capture.records)
    assert [r.at_ns for r in found] == sorted([*times, *(t + 15 * MILLISECOND_NS for t in times)])


def test_a_merged_capture_holds_both_by_time() -> None:
    other = capture(10, (4, 5))
    whole = Subject("r/x", "x", "10.0.0.2", capture(10), (), (("y", "10.0.0.5", other),))
    found = spoiled("merged", ("y", "none"), whole)
    assert found.at is None
    assert len(only(found)) == 20
    assert [r.at_ns for r in only(found)] == sorted(r.at_ns for r in only(found))


def test_rotated_files_hold_every_frame_once() -> None:
    rotations = way("rotated")
    for choice in rotations.choices(subject()):
        files = rotations.spoil(subject(), choice).files
        assert len({name for name, _ in files}) == choice.files
        records = [record for _, part in files for record in part.records]
        assert sorted(records, key=lambda r: r.at_ns) == list(subject().capture.records)


def test_a_pair_is_what_two_hosts_say_to_each_other() -> None:
    assert hosts.pairs(subject().capture) == [("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.3")]
    left = numbers(spoiled("pair", ("10.0.0.2", "10.0.0.3")))
    assert left == [5, 10, 15, 20, 25, 30, 35, 40]


def test_a_pair_keeps_its_shortest_packets() -> None:
    short = Record(BEGAN_NS, packet(1, 2, 1)[:34], 34)
    whole = capture(4)
    of = Subject("run/x.pcap", "x.pcap", "10.0.0.2", whole.of([*whole.records, short]))
    assert only(spoiled("pair", ("10.0.0.1", "10.0.0.2"), of))[-1] == short


def test_no_vantage_is_given_where_the_way_says_so() -> None:
    for name in ("pair-no-at", "head-no-at", "drop-1-no-at"):
        every = way(name)
        assert every.spoil(subject(), every.choices(subject())[0]).at is None
    assert spoiled("no-at", "without --at").at is None
    assert spoiled("head", 7).at == "10.0.0.2"


def test_every_choice_is_made_again_from_its_text() -> None:
    for every in WAYS:
        for choice in every.picked(subject(), 3, seed=5):
            (again,) = every.named(subject(), text_of(choice))
            assert every.spoil(subject(), again) == every.spoil(subject(), choice)


def test_half_of_a_sample_lies_at_frames_of_note() -> None:
    whole = subject(1000, marks=(500, 700))
    picked = way("head").picked(whole, 4, seed=1)
    assert len(picked) == 4
    assert len([frame for frame in picked if frame in (500, 501, 700, 701)]) >= 2


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_sample_has_as_many_as_were_asked_for(count: int) -> None:
    for name in ("head", "single", "drop-5", "step", "rotated"):
        assert len(way(name).picked(subject(1000), count, seed=1)) == count


def test_another_seed_draws_another_sample() -> None:
    samples = {tuple(way("head").picked(subject(1000, ()), 4, seed)) for seed in range(5)}
    assert len(samples) > 1


def test_a_capture_is_written_as_it_was_read(fixtures: Path) -> None:
    read_again = 0
    for path in sorted(fixtures.rglob("*.pcap*"))[::9]:
        data = path.read_bytes()
        if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
            assert read(path).written() == data, path
            read_again += 1
    assert read_again > 5


def test_pcapng_is_read_with_its_resolution_and_written_the_same(tmp_path: Path) -> None:
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    nanoseconds = struct.pack("<HHBxxxHH", 9, 1, 9, 0, 0)
    interface = struct.pack("<IIHHI", 1, 32, 1, 0, 0) + nanoseconds + struct.pack("<I", 32)
    layout = Pcapng(section + interface, b"", "<", (1,), (10**9,))
    rng = random.Random(1)
    records = [Record(BEGAN_NS + n, rng.randbytes(60 + n), 60 + n) for n in range(5)]
    path = tmp_path / "x.pcapng"
    path.write_bytes(Capture(layout, tuple(records)).written())
    assert read(path).records == tuple(records)
    assert read(path).written() == path.read_bytes()


def test_a_tap_of_one_direction_has_what_a_host_sent_or_what_came_to_it() -> None:
    found = subject()
    for host, direction, expected in (
        ("10.0.0.1", "sent", [n for n in range(1, 41) if n % 5]),
        ("10.0.0.2", "sent", []),
        ("10.0.0.2", "received", list(range(1, 41))),
    ):
        at = Subject(found.name, found.file, host, found.capture)
        assert numbers(spoiled("one-way", (direction, "with --at"), at)) == expected
    assert spoiled("one-way", ("sent", "without --at")).at is None


def test_of_asymmetric_paths_one_direction_is_seen() -> None:
    pairs = way("one-way-pair").choices(subject())
    assert ("10.0.0.3", "10.0.0.2") in pairs and ("10.0.0.2", "10.0.0.3") in pairs
    found = spoiled("one-way-pair", ("10.0.0.3", "10.0.0.2"))
    assert numbers(found) == list(range(5, 41, 5))
    assert found.at is None


def test_a_filter_of_ports_lets_only_first_fragments_pass() -> None:
    records = list(capture(10).records)
    for place in (3, 7):
        data = bytearray(records[place].data)
        data[20:22] = (0x2000 | 185).to_bytes(2, "big")
        records[place] = Record(records[place].at_ns, bytes(data), len(data))
    fragments = Subject("run/x.pcap", "x.pcap", "10.0.0.2", capture(10).of(records))
    assert way("ports").choices(fragments) == ("by port",)
    assert numbers(spoiled("ports", "by port", fragments)) == [1, 2, 3, 5, 6, 7, 9, 10]
    assert not way("ports").choices(subject())


def test_one_frame_of_so_many_is_sampled() -> None:
    assert numbers(spoiled("sampled", (10, 3))) == [4, 14, 24, 34]


def test_frames_like_one_of_the_last_few_are_left_out() -> None:
    records = capture(10).records
    again = capture(10).of([*records[:5], records[3], *records[5:], records[0]])
    found = Subject("run/x.pcap", "x.pcap", "10.0.0.2", again)
    assert numbers(spoiled("deduplicated", 5, found)) == [*range(1, 11), 1]
    assert numbers(spoiled("deduplicated", 50, found)) == list(range(1, 11))


def test_a_coarse_clock_ticks_and_one_that_is_off_is_so_to_the_end() -> None:
    whole = subject().capture.records
    ticks = [record.at_ns for record in only(spoiled("coarse", SECOND_NS))]
    assert ticks == [record.at_ns // SECOND_NS * SECOND_NS for record in whole]
    off = [record.at_ns for record in only(spoiled("offset", -SECOND_NS))]
    assert off == [record.at_ns - SECOND_NS for record in whole]


def test_only_the_other_capture_is_skewed() -> None:
    whole = subject()
    two = Subject(
        whole.name, whole.file, whole.at, whole.capture, (), (("y.pcap", "10.0.0.1", capture(5)),)
    )
    (_, own), (_, other) = spoiled("skewed", ("y.pcap", SECOND_NS), two).files
    assert own == whole.capture
    assert [r.at_ns for r in other.records] == [r.at_ns + SECOND_NS for r in capture(5).records]


def test_what_is_forwarded_has_a_smaller_ttl_and_a_right_checksum() -> None:
    found = only(spoiled("forwarded", MILLISECOND_NS))
    assert len(found) == 80
    first, second = found[:2]
    assert (first.data[22], second.data[22]) == (64, 63)
    total = sum(struct.unpack(">10H", second.data[14:34]))
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF


def test_a_capture_filter_lets_through_what_it_names_and_its_opposite_the_rest() -> None:
    by_third_host = list(range(5, 41, 5))  # as capture() has it
    choices = way("filter").choices(subject())
    assert ("host 10.0.0.3", "with --at") in choices
    assert ("not host 10.0.0.3", "without --at") in choices
    assert not [name for name, _ in choices if "10.0.0.2" in name], "of the vantage nothing is left"
    only_third = spoiled("filter", ("host 10.0.0.3", "with --at"))
    assert numbers(only_third) == by_third_host
    assert only_third.at == "10.0.0.2"
    rest = spoiled("filter", ("not host 10.0.0.3", "without --at"))
    assert sorted(numbers(rest) + by_third_host) == list(range(1, 41))
    assert rest.at is None
    assert len(numbers(spoiled("filter", ("proto 17", "with --at")))) == 40
    assert numbers(spoiled("filter", ("multicast", "with --at"))) == []


def test_a_filter_of_ports_knows_them_in_first_fragments_only() -> None:
    ports = struct.pack(">HHHH", 7800, 7801, 8, 0)
    whole = packet(1, 2, 0)[:34] + ports
    later = whole[:20] + b"\x00\x10" + whole[22:]
    sixth = bytes(12) + b"\x86\xdd\x60" + bytes(5) + bytes([44, 64]) + bytes(32)
    fragments = [sixth + struct.pack(">BBHI", 17, 0, at | 1, 5) + ports for at in (0, 64)]
    of = capture(1)
    found = [hosts.transport(of, Record(0, data, 100)) for data in (whole, later, *fragments)]
    assert found == [(17, (7800, 7801)), (17, ()), (17, (7800, 7801)), (17, ())]
    assert hosts.transport(of, Record(0, bytes(60), 60)) is None


def test_a_hole_in_time_is_of_its_size_and_at_its_place() -> None:
    first, last = (numbers(spoiled("hole", (10, place))) for place in (0, 19))
    assert first == [1, *range(5, 41)]
    assert last == [*range(1, 37), 40]


def test_a_full_buffer_takes_small_frames_only() -> None:
    found = subject(4)
    sizes = [record.size for record in found.capture.records]
    assert numbers(spoiled("small", min(sizes), found)) == [1, 2, 3, 4]
    assert numbers(spoiled("small", min(sizes) - 1, found)) == []


@pytest.mark.parametrize("tunnel", hosts.TUNNELS)
def test_a_mirror_wraps_each_frame_whole(tunnel: str) -> None:
    for record, before in zip(
        only(spoiled("mirrored", tunnel)), subject().capture.records, strict=True
    ):
        added = len(record.data) - len(before.data)
        assert record.data[added:] == before.data
        assert (record.at_ns, record.size) == (before.at_ns, before.size + added)
        assert int.from_bytes(record.data[16:18], "big") == len(record.data) - 14


@pytest.mark.parametrize("kind", ["packets", "in vxlan"])
def test_a_narrow_path_takes_long_packets_in_fragments(kind: str) -> None:
    """Together they have the bytes of the packet, and no frame that fits is another."""
    found = subject()
    ((_, wrapped),) = spoiled("mirrored", "vxlan").files
    before = found.capture if kind == "packets" else wrapped
    whole = only(spoiled("fragmented", (kind, 60, 0)))
    parts = iter(whole)
    for record in before.records:
        ip = hosts.network(before, record)
        carried = b""
        while len(carried) < len(record.data) - ip - 20:
            part = next(parts)
            assert len(part.data) - ip <= 60 and part.at_ns == record.at_ns
            assert part.data[ip + 10 : ip + 12] == hosts.checksum(part.data[ip : ip + 20])
            assert int.from_bytes(part.data[ip + 6 : ip + 8], "big") & 0x1FFF == len(carried) >> 3
            carried += part.data[ip + 20 :]
        assert carried == record.data[ip + 20 :]
        assert not int.from_bytes(part.data[ip + 6 : ip + 8], "big") & 0x2000
    assert next(parts, None) is None
    assert len(only(spoiled("fragmented", (kind, 60, 5)))) < len(whole)


def test_several_ways_are_named_and_none_sorts_by_a_clock_that_was_set() -> None:
    sets_clock = ("jitter", "step", "drift", "slew", "coarse")
    sorts = ("merged", "forwarded", "twice", "disorder", "tied")
    seen: set[str] = set()
    made = [spoiled("several", seed) for seed in range(200)]
    assert all(one.records for found in made for _, one in found.files)
    assert len({found.files for found in made}) > 100
    for taken in (found.ways for found in made):
        seen.update(taken)
        clock = [place for place, name in enumerate(taken) if name in sets_clock]
        assert all(name not in sorts for name in taken[min(clock, default=9) :])
    assert {*sets_clock, "twice", "torn", "rotated", "head", "snap", "filter"} <= seen


def test_one_direction_is_missing_for_a_while() -> None:
    found = subject()
    at = Subject(found.name, found.file, "10.0.0.3", found.capture)
    assert numbers(spoiled("one-way-hole", ("sent", 0), at)) == [
        n for n in range(1, 41) if n % 5 or n > 13
    ]
    assert numbers(spoiled("one-way-hole", ("received", 0), at)) == [1, 5, 10, *range(14, 41)]


def test_of_a_host_that_is_unheard_nothing_is_there() -> None:
    assert way("unheard").choices(subject()) == ["10.0.0.1", "10.0.0.3"]
    assert numbers(spoiled("unheard", "10.0.0.1")) == list(range(5, 41, 5))


def flows() -> Subject:
    """Frames of two flows: each host has one port."""
    found = subject()
    same = [r.holding(r.data[:34] + bytes(4) + r.data[38:]) for r in found.capture.records]
    return Subject(found.name, found.file, found.at, found.capture.of(same))


def test_of_each_flow_only_the_begin_is_left_or_all_else() -> None:
    firsts = [1, 2, 3, 4, 5, 10, 15, 20]  # of host 1, and of host 3
    assert numbers(spoiled("cut-off", ("first", 4), flows())) == firsts
    behind = numbers(spoiled("cut-off", ("behind", 4), flows()))
    assert sorted([*behind, *firsts]) == list(range(1, 41))


def test_a_queue_takes_all_of_a_direction_and_every_queue_is_missing_once() -> None:
    of_three, of_one = list(range(5, 41, 5)), [n for n in range(1, 41) if n % 5]
    left = [numbers(spoiled("queue", (8, missing), flows())) for missing in range(8)]
    assert sorted(map(len, left)) in ([0, *[40] * 7], [8, 32, *[40] * 6])
    assert all(one in ([], of_one, of_three, list(range(1, 41))) for one in left)


def test_a_sniffer_that_is_off_half_of_the_time() -> None:
    assert numbers(spoiled("on-off", (100, 200))) == [*range(1, 11), *range(21, 31)]


def test_a_buffer_takes_the_first_frames_of_a_span() -> None:
    assert numbers(spoiled("policed", (4, 100))) == [n for n in range(1, 41) if (n - 1) % 10 < 4]


def test_jitter_moves_times_and_no_frame() -> None:
    whole, found = subject().capture.records, only(spoiled("jitter", (20_000, 1)))
    assert numbers(spoiled("jitter", (20_000, 1))) == list(range(1, 41))
    moved = [there.at_ns - here.at_ns for here, there in zip(whole, found, strict=True)]
    assert max(map(abs, moved)) <= 20 * MILLISECOND_NS
    assert len(set(moved)) == 40
    assert [r.at_ns for r in found] != sorted(r.at_ns for r in found)


def test_of_one_tick_all_of_a_sender_stands_together() -> None:
    tied = spoiled("tied", (100, "down"))
    times = [record.at_ns for record in only(tied)]
    assert times == sorted(times)
    assert len(set(times)) == 4
    assert numbers(tied)[:10] == [5, 10, 1, 2, 3, 4, 6, 7, 8, 9]
    assert numbers(spoiled("tied", (100, "up")))[:10] == [1, 2, 3, 4, 6, 7, 8, 9, 5, 10]


def test_only_large_frames_are_left() -> None:
    assert numbers(spoiled("large", 133)) == list(range(1, 41))
    assert numbers(spoiled("large", 134)) == []


def test_a_clock_that_is_being_set_is_off_by_as_much_to_the_end() -> None:
    whole = subject().capture.records
    size = (whole[-1].at_ns - whole[0].at_ns) // 5
    off = [
        record.at_ns - before.at_ns
        for record, before in zip(only(spoiled("slew", (0.3, 1))), whole, strict=True)
    ]
    assert off[:8] == [0] * 8
    assert off[-1] == off[20] == int(size * 0.3)
    assert sorted(off) == off and len(set(off)) > 5


def test_joined_files_hold_everything_of_two_hosts_and_then_the_others() -> None:
    found = numbers(spoiled("joined", ("10.0.0.1", "10.0.0.2")))
    assert found == [n for n in range(1, 41) if n % 5] + [n for n in range(1, 41) if n % 5 == 0]


def test_a_torn_file_ends_in_its_last_record(tmp_path: Path) -> None:
    found = spoiled("torn", 30)
    (path,) = auditing.written(found, tmp_path)
    whole = subject().capture.written()
    assert Path(path).read_bytes() == whole[:-30]
    assert read(Path(path)).records == subject().capture.records[:-1]


def tcp(seqno: int, payload: bytes, flags: int = 0x10, source: int = 1, ack: int = 9) -> bytes:
    head = struct.pack(">HHIIBBHHH", 7800, 7801, seqno, ack, 0x50, flags, 99, 0, 0)
    data = bytearray(packet(source, 2, 0)[:34]) + head + payload
    data[16:18] = struct.pack(">H", len(data) - 14)
    data[23] = 6
    return bytes(data)


def segments(*found: bytes) -> Subject:
    records = [Record(BEGAN_NS + n * 1000, data, len(data)) for n, data in enumerate(found)]
    return Subject("run/x.pcap", "x.pcap", "10.0.0.1", capture(1).of(records))


def test_segments_that_follow_each_other_are_one_packet() -> None:
    found = segments(
        tcp(2**32 - 3, b"abc"),
        tcp(0, b"defg", 0x18),
        tcp(5, b"behind a hole"),
        tcp(18, b"", 0x11),
        tcp(18, b"x", source=3),
    )
    one, *others = only(spoiled("offloaded", "length told", found))
    assert one.data[54:] == b"abcdefg" and one.data[47] == 0x18 and one.size == 61
    assert int.from_bytes(one.data[16:18], "big") == 47
    assert [record.data for record in others] == [r.data for r in found.capture.records[2:]]


def test_a_host_may_leave_the_length_of_large_packets_to_its_card() -> None:
    found = segments(tcp(1, bytes(1000)), tcp(1001, bytes(1000)), tcp(9000, b"x"))
    large, small = only(spoiled("offloaded", "length 0", found))
    assert large.data[16:18] == bytes(2) and len(large.data) == large.size == 2054
    assert small.data == found.capture.records[2].data


def test_only_checksums_of_what_a_host_sends_are_left_to_its_card() -> None:
    found = segments(tcp(1, b"x"), tcp(1, b"y", source=3))
    sent, came = only(spoiled("unsummed", "sent", found))
    assert came == found.capture.records[1]
    before = found.capture.records[0].data
    assert sent.data[50:52] != before[50:52]
    assert sent.data[:50] + sent.data[52:] == before[:50] + before[52:]
