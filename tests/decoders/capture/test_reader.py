"""pcap and pcapng, whole: records, times, damage, and what is no capture."""

import gzip
import io
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixtures.make_captures import (
    AT_NS,
    CAPTURES,
    RESOLUTIONS,
    Packet,
    block,
    enhanced,
    inner_records,
    interface,
    interfaces_pcapng,
    kuznetzov,
    old_packet,
    option,
    packets,
    pcap,
    pcap_header,
    pcap_record,
    section,
    simple,
    statistics,
    ticks_of,
    udp,
    with_damaged_header,
)
from seqaudit.decoders.capture import pcapng, remote
from seqaudit.decoders.capture import record_kernels as k
from seqaudit.decoders.capture.compression import Decompressed, detect
from seqaudit.decoders.capture.pieces import plan_pieces, stream_piece
from seqaudit.decoders.capture.reader import Piece, Reader, sniff
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.kernels import loader as kernels
from tests.decoders.capture.reading import Frame, frames_of, whole

INTERPRETED = kernels.interpreted("capture.record_kernels")


def write(folder: Path, content: bytes, name: str = "capture") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def read(folder: Path, content: bytes, *, compile_it: bool = False) -> tuple[list[Frame], Reader]:
    return whole(write(folder, content), compile_it=compile_it)


def times(frames: list[Frame]) -> list[int]:
    return [frame.at_ns for frame in frames]


# ---- fixtures


@pytest.mark.parametrize("name", list(CAPTURES))
def test_the_fixture_is_what_the_script_makes(name: str, fixtures: Path) -> None:
    stored, made = (fixtures / "captures" / name).read_bytes(), CAPTURES[name]()
    compression = detect(stored)
    if compression:  # the libraries' output changes with their releases
        stored, made = (
            Decompressed(io.BytesIO(data), compression).read(1 << 20) for data in (stored, made)
        )
    assert stored == made


# ---- pcap


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("nano", [False, True])
def test_a_pcap_of_either_order_and_resolution(big: bool, nano: bool, tmp_path: Path) -> None:
    content = packets(30)
    frames, reader = read(tmp_path, pcap(content, big=big, nano=nano))
    unit = 1 if nano else 1000
    assert [f.data for f in frames] == [p.data for p in content]
    assert times(frames) == [p.at_ns // unit * unit for p in content]
    assert {(f.link, f.interface, f.status) for f in frames} == {(1, 0, k.OK)}
    assert (reader.begin, reader.landing, reader.skipped, reader.cut) == (
        24,
        (tmp_path / "capture").stat().st_size,
        [],
        False,
    )
    form = sniff(str(tmp_path / "capture"))
    assert (form.container, form.compression, form.big_endian) == ("pcap", "", big)
    assert form.resolution == ("10^-9" if nano else "10^-6")


def test_kuznetzovs_longer_record_headers(tmp_path: Path) -> None:
    content = packets(30)
    frames, _ = read(tmp_path, kuznetzov(content))
    assert [f.data for f in frames] == [p.data for p in content]


def test_the_link_type_is_told_from_the_bits_of_the_frame_check_sequence(tmp_path: Path) -> None:
    frames, reader = read(tmp_path, pcap(packets(3), link=0x2400_0071))
    assert {f.link for f in frames} == {0x71}
    assert reader.interfaces[0]["fcs_bytes"] == 4


def test_odd_but_legal_records_are_read(tmp_path: Path) -> None:
    """Empty, longer than the snap length, longer than on the wire, backwards, years apart."""
    content = [
        Packet(b"", AT_NS),
        Packet(udp(1), AT_NS + 10**18, 10_000),
        Packet(bytes(200_000), AT_NS - 10**18),
        Packet(udp(2), 0, 3),
        Packet(udp(3), 4_294_967_295 * 10**9),
        Packet(b"", 5_000, 0),
    ]
    frames, reader = read(tmp_path, pcap(content, snap=64))
    assert [(f.data, f.original) for f in frames] == [
        (p.data, len(p.data) if p.original is None else p.original) for p in content
    ]
    assert times(frames) == [p.at_ns // 1000 * 1000 for p in content]
    assert reader.skipped == []


def test_a_fraction_over_a_second_is_a_time_not_damage(tmp_path: Path) -> None:
    """Nanoseconds in a file that says microseconds: seen in the wild, Wireshark reads it too."""
    content = pcap_header() + b"".join(pcap_record(p, nano=True) for p in packets(30))
    frames, reader = read(tmp_path, content)
    assert len(frames) == 30
    assert times(frames)[0] == AT_NS // 10**9 * 10**9 + AT_NS % 10**9 * 1000
    assert reader.skipped == []


@pytest.mark.parametrize("snap", [0, 65_535, 16 << 20, 0x7FFFFFFF])
def test_the_longest_record_is_what_snap_length_allows(snap: int, tmp_path: Path) -> None:
    limit = max(262_144, min(snap, 16 << 20))
    some = packets(20)
    content = [Packet(bytes(limit), AT_NS), *some, Packet(bytes(limit + 1), AT_NS), *some]
    frames, reader = read(tmp_path, pcap(content, snap=snap))
    assert [len(f.data) for f in frames] == [limit] + [66] * 40
    at = 24 + 16 + limit + 20 * 82
    assert reader.skipped == [
        (
            at,
            at + 16 + limit + 1,
            f"damaged record header: it claims {limit + 1} bytes, {limit} is the most",
        )
    ]


# ---- damage


def test_after_a_damaged_header_records_go_on_at_the_next_chain(tmp_path: Path) -> None:
    good = pcap(packets(60))
    expected, _ = read(tmp_path, good)
    for record in range(44):
        frames, reader = read(tmp_path, with_damaged_header(good, record))
        assert frames == expected[:record] + expected[record + 1 :], record
        at, after = expected[record].offset, expected[record + 1].offset
        assert [(s[0], s[1]) for s in reader.skipped] == [(at, after)]
        assert not reader.cut


@pytest.mark.parametrize("value", [b"\0", b"\xff", b"\x55", b"\xa5\x00"])
@pytest.mark.parametrize("size", [16, 50, 500, 20_000])
def test_a_stretch_written_over_costs_its_records_only(
    value: bytes, size: int, tmp_path: Path
) -> None:
    """A hole of zeros is the usual damage of a crashed disk; no empty packets are made of it."""
    content = packets(400)
    good = pcap(content)
    expected, _ = read(tmp_path, good)
    at = expected[100].offset
    noise = (value * size)[:size]
    frames, reader = read(tmp_path, good[:at] + noise + good[at + size :])
    after = next(f.offset for f in expected if f.offset >= at + size)
    assert frames == [f for f in expected if f.offset < at or f.offset >= after]
    assert [(s[0], s[1]) for s in reader.skipped] == [(at, after)]


@pytest.mark.parametrize("claim", [200, 5_000, 60_000, 250_000])
def test_a_lying_length_over_the_original_one_is_not_followed(claim: int, tmp_path: Path) -> None:
    good = pcap(packets(4000))
    expected, _ = read(tmp_path, good)
    at = expected[10].offset
    lie = good[: at + 8] + claim.to_bytes(4, "little") + good[at + 12 :]
    frames, reader = read(tmp_path, lie)
    assert frames == expected[:10] + expected[11:]
    assert [(s[0], s[1]) for s in reader.skipped] == [(at, expected[11].offset)]


def test_a_length_that_lies_beyond_the_end_is_told_from_a_cut(tmp_path: Path) -> None:
    """Sixteen records that end exactly with the file are better evidence than one header."""
    good = pcap(packets(60))
    expected, _ = read(tmp_path, good)
    for claim, first in ((60_000, 10), (60_000, 40), (100_000, 10), (200_000, 40)):
        at = expected[first].offset
        lie = good[: at + 8] + claim.to_bytes(4, "little") * 2 + good[at + 16 :]
        frames, reader = read(tmp_path, lie)
        assert frames == expected[:first] + expected[first + 1 :]
        assert not reader.cut


def test_a_file_cut_anywhere_gives_its_whole_records(tmp_path: Path) -> None:
    for good in (pcap(packets(5)), pcap(packets(5), big=True), interfaces_pcapng()):
        expected, whole_reader = read(tmp_path, good)
        ends = [f.offset for f in expected[1:]] + [whole_reader.landing]
        for size in range(len(good) - 1, 28, -1):
            frames, reader = read(tmp_path, good[:size])
            count = len(frames)
            if good[:4] != b"\n\r\r\n":
                assert frames == expected[: sum(end <= size for end in ends)], size
            assert frames == expected[:count], size
            if reader.cut:
                assert reader.skipped[-1][1] == size
                assert "the file ends in the middle of a record" in reader.skipped[-1][2]
            assert reader.cut == bool(reader.skipped)
            assert reader.landing == size


@given(noise=st.binary(max_size=400), place=st.integers(0, 3000), data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wire_content_never_raises(
    noise: bytes, place: int, data: st.DataObject, tmp_path: Path
) -> None:
    name = data.draw(st.sampled_from(["micro-le.pcap", "nano-be.pcap", "interfaces.pcapng"]))
    good = CAPTURES[name]()
    place = max(28, min(place, len(good)))
    hostile = good[:place] + noise + good[place + data.draw(st.integers(0, 400)) :]
    frames, reader = read(tmp_path, hostile)
    assert all(f.offset < len(hostile) for f in frames)
    assert reader.landing == len(hostile)
    accounted = sum(s[1] - s[0] for s in reader.skipped)
    assert accounted <= len(hostile)


def test_skipped_stretches_are_listed_up_to_a_bound_and_counted(tmp_path: Path) -> None:
    part = b"".join(pcap_record(p) for p in packets(16)) + b"\xff" * 30
    _, reader = read(tmp_path, pcap_header() + part * 150)
    assert len(reader.skipped) == 100
    assert reader.skipped_more == (50, 50 * 30)
    assert all(stop - start == 30 for start, stop, _ in reader.skipped)


def test_hostile_chains_cost_linear_time(tmp_path: Path) -> None:
    """Every offset looks like a record for fifteen steps and then is none."""
    near = b"".join(pcap_record(p) for p in packets(15)) + b"\xff" * 20
    content = pcap_header() + b"\xff" * 20 + near * 2000
    frames, reader = read(tmp_path, content, compile_it=True)
    assert frames == []
    assert reader.skipped[0][:2] == (24, len(content))


# ---- pcapng


def test_sections_interfaces_and_all_packet_blocks(tmp_path: Path) -> None:
    frames, reader = read(tmp_path, interfaces_pcapng())
    assert [(f.interface, f.link, f.status) for f in frames] == [
        (0, 1, 0),
        (1, 1, 0),
        (2, 101, 0),
        (0, 1, 0),
        (1, 1, 0),
        (2, 101, 0),
        (0, -1, k.NOT_A_PACKET),  # the custom block, which Wireshark numbers
        (0, 1, 0),  # simple
        (0, 1, 0),
        (1, 1, 0),
        (0, 1, 0),  # old
        (2, 101, 0),
        *[(i % 3, [1, 1, 101][i % 3], 0) for i in range(9, 12)],
        *[(0, 1, 0)] * 9,
    ]
    first = [p.at_ns for p in packets(12)]
    assert times(frames)[:3] == [
        first[0] // 1000 * 1000,
        first[1],
        first[2] // 10**9 * 10**9 + (first[2] % 10**9 * 2**20 // 10**9 * 10**9 >> 20),
    ]
    assert times(frames)[6:8] == [times(frames)[5]] * 2  # no time of their own
    assert times(frames)[-9:] == [p.at_ns for p in packets(9, first=20)]
    assert reader.untimed == 2
    assert reader.comments == 3
    assert reader.comment_texts == ["a capture of two sections", "the backup", "look at this"]
    described = [
        {key: i.get(key) for key in ("name", "ifdrop", "osdrop", "received", "packet_drops")}
        for i in reader.interfaces
    ]
    assert [tuple(i.values()) for i in described] == [
        ("eth0", 1, 2, 100, 2),
        ("eth1", None, None, None, 3),
        ("tun0", None, None, None, None),
        ("eth9", 0, 7, 9, None),
    ]
    assert [i["section"] for i in reader.interfaces][:3] == [0, 0, 0]


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@given(
    ticks=st.one_of(
        st.integers(0, (1 << 64) - 1), st.sampled_from([0, 1, (1 << 63), (1 << 64) - 1])
    ),
    offset_s=st.sampled_from([0, 1, -1, 1_700_000_000, -(1 << 63), (1 << 63) - 1]),
)
@settings(max_examples=20)
def test_times_are_exact_in_every_resolution(resolution: int, ticks: int, offset_s: int) -> None:
    """The rule word for word, in fractions: floor(ticks * resolution) + offset, at most MAX_NS."""
    exponent = resolution & 0x7F
    unit = Fraction(1, (2 if resolution & 0x80 else 10) ** exponent)
    shift = max(-k.MAX_NS, min(k.MAX_NS, offset_s * 10**9))
    since = int(ticks * unit * 10**9)
    expected = k.MAX_NS if since >= k.MAX_NS else min(k.MAX_NS, since + shift)
    row = pcapng.table_row(pcapng.Interface(1, resolution, offset_s, 0))
    table = np.array(row, np.int64).data
    high, low = divmod(ticks, 1 << 32)
    assert INTERPRETED.ticks_to_ns(high, low, table, 0) == expected


def test_times_of_every_resolution_in_a_file(tmp_path: Path) -> None:
    frames, _ = read(tmp_path, CAPTURES["resolutions.pcapng"]())
    offset_s = AT_NS // 10**9 - 1
    assert [f.interface for f in frames] == [i // 2 for i in range(2 * len(RESOLUTIONS))]
    for i, frame in enumerate(frames):
        resolution = RESOLUTIONS[i // 2]
        at_ns = AT_NS + i // 2 * 1_000_003 + i % 2
        ticks = min(ticks_of(at_ns, resolution, offset_s), (1 << 64) - 1)
        per_second = (2 if resolution & 0x80 else 10) ** (resolution & 0x7F)
        assert frame.at_ns == offset_s * 10**9 + ticks * 10**9 // per_second


def test_a_packet_of_an_interface_without_description_is_a_frame(tmp_path: Path) -> None:
    content = section() + enhanced(udp(1), ticks_of(AT_NS), number=3) + simple(udp(2))
    frames, _ = read(tmp_path, content)
    assert [(f.data, f.link, f.status) for f in frames] == [
        (udp(1), -1, k.UNKNOWN_INTERFACE),
        (udp(2), -1, k.UNKNOWN_INTERFACE),
    ]
    assert times(frames) == [AT_NS // 1000 * 1000] * 2


def test_a_time_that_does_not_fit_says_so(tmp_path: Path) -> None:
    frames, _ = read(tmp_path, section() + interface() + enhanced(udp(1), (1 << 64) - 1))
    assert (frames[0].at_ns, frames[0].status) == (k.MAX_NS, k.TIME_OUT_OF_RANGE)


def test_a_simple_packet_is_as_long_as_its_block_snap_length_and_original_allow(
    tmp_path: Path,
) -> None:
    content = section() + interface(snap=40) + simple(bytes(100)) + simple(bytes(6), original=6)
    frames, reader = read(tmp_path, content)
    assert [(len(f.data), f.original, f.at_ns) for f in frames] == [(40, 100, 0), (6, 6, 0)]
    assert reader.untimed == 2


def test_drops_that_packet_blocks_state_add_up(tmp_path: Path) -> None:
    huge = option(4, struct.pack("<Q", (1 << 64) - 1)) + option(0, b"")
    content = section() + interface() + interface()
    content += old_packet(udp(1), 5, drops=4) + old_packet(udp(1), 5, number=1, drops=0xFFFF)
    few = option(4, struct.pack("<Q", 6)) + option(0, b"")
    content += enhanced(udp(2), 6, options=few) + enhanced(udp(3), 7, options=few)
    content += enhanced(udp(2), 6, number=1, options=huge)
    _, reader = read(tmp_path, content)
    assert [i.get("packet_drops") for i in reader.interfaces] == [16, 1 << 40]


def test_a_counter_that_is_not_available_is_left_out(tmp_path: Path) -> None:
    content = section() + interface() + statistics(0, {5: (1 << 64) - 1, 7: 3}) + statistics(9, {})
    _, reader = read(tmp_path, content)
    assert "ifdrop" not in reader.interfaces[0]
    assert reader.interfaces[0]["osdrop"] == 3


def test_comments_are_counted_and_the_first_texts_kept(tmp_path: Path) -> None:
    said = [option(1, f"remark {i}".encode()) + option(0, b"") for i in range(9)]
    content = section() + interface() + b"".join(enhanced(udp(1), 5, options=o) for o in said)
    frames, reader = read(tmp_path, content)
    assert (len(frames), reader.comments) == (9, 9)
    assert reader.comment_texts == [f"remark {i}" for i in range(5)]


@pytest.mark.parametrize(
    "bad",
    [
        block(6, bytes(8)),  # too short for a packet
        block(3, b""),
        enhanced(bytes(8), 5)[:20] + b"\xff\0\0\0" + enhanced(bytes(8), 5)[24:],  # captured length
        enhanced(bytes(8), 5)[:-4] + b"\xf0\0\0\0",  # the length at the end is another
        b"\6\0\0\0" + b"\x0d\0\0\0" + bytes(9),
        b"\6\0\0\0" + b"\xf0\xff\xff\xff" + bytes(20),
        b"\n\r\r\n" + bytes(40),
        bytes(40),
        b"\xff" * 41,
    ],
)
def test_after_a_damaged_block_records_go_on_at_the_next_chain(bad: bytes, tmp_path: Path) -> None:
    some = [enhanced(p.data, ticks_of(p.at_ns)) for p in packets(40)]
    head = section() + interface() + b"".join(some[:20])
    frames, reader = read(tmp_path, head + bad + b"".join(some[20:]))
    assert [f.data for f in frames] == [p.data for p in packets(40)]
    assert [s[:2] for s in reader.skipped] == [(len(head), len(head) + len(bad))]


def test_a_table_of_interfaces_is_bounded(tmp_path: Path) -> None:
    many = pcapng.MAX_INTERFACES + 10
    content = section() + interface() * many
    content += enhanced(udp(1), 5, number=many - 11) + enhanced(udp(1), 5, number=many - 1)
    frames, reader = read(tmp_path, content)
    assert [f.status for f in frames] == [k.OK, k.UNKNOWN_INTERFACE]
    assert (len(reader.interfaces), reader.interfaces_more) == (1000, pcapng.MAX_INTERFACES - 1000)


def test_reports_of_very_many_sections_are_bounded(tmp_path: Path) -> None:
    one = section() + interface() + enhanced(udp(1), 5)
    frames, reader = read(tmp_path, one * 1500)
    assert len(frames) == 1500
    assert (len(reader.interfaces), reader.interfaces_more) == (1000, 500)


# ---- how it is read does not matter


@pytest.mark.parametrize("name", list(CAPTURES))
def test_windows_and_outputs_of_any_size_give_the_same(name: str, fixtures: Path) -> None:
    if name == "twenty-bytes.pcap":
        return
    path = fixtures / "captures" / name
    expected, full = whole(path)
    (piece,) = plan_pieces(str(path), 0, 0, 1 << 40)
    for chunk, room in ((1 << 24, 3), (4096, 1000), (64, 7), (1, 1)):
        reader = Reader(piece, False, chunk_bytes=chunk, room=room)
        assert frames_of(reader) == expected
        assert (reader.skipped, reader.landing, reader.comments, reader.interfaces) == (
            full.skipped,
            full.landing,
            full.comments,
            full.interfaces,
        )
        assert reader.comment_texts == full.comment_texts


LOCAL = 0x8000_0001  # a block type that readers pass over
LONG = 8_400_000


@pytest.mark.parametrize("lie", [0, 4, -4])
@pytest.mark.parametrize("cut", [0, 3, LONG // 2])
def test_long_blocks_that_say_nothing_are_passed_over_unread(
    lie: int, cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [enhanced(p.data, ticks_of(p.at_ns)) for p in packets(60)]
    hole = block(LOCAL, bytes(LONG))
    odd = hole[:-4] + (len(hole) + lie).to_bytes(4, "little")
    head = section() + interface()
    parts = [head, *some[:20], hole, hole, *some[20:40], odd, *some[40:], hole]
    content = b"".join(parts)
    path = write(tmp_path, content[: len(content) - cut])
    (piece,) = plan_pieces(str(path), 0, 0, 1 << 40)
    read_all = Reader(piece, False, chunk_bytes=1 << 26)
    expected = frames_of(read_all)
    assert [f.data for f in expected] == [p.data for p in packets(60)]
    sizes = []
    plain = os.preadv

    def counted(handle: int, rooms: list[memoryview], offset: int) -> int:
        sizes.append(plain(handle, rooms, offset))
        return sizes[-1]

    monkeypatch.setattr(os, "preadv", counted)
    for chunk in (1 << 20, 4096, 64):
        sizes.clear()
        reader = Reader(piece, False, chunk_bytes=chunk)
        assert frames_of(reader) == expected
        assert (reader.skipped, reader.cut) == (read_all.skipped, read_all.cut)
        assert (reader.landing, bool(reader.skipped)) == (read_all.landing, bool(lie or cut))
        if not lie and not cut:
            assert sum(sizes) < LONG // 4  # of four times as much


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lz4.frame.compress, zstandard.compress])
@pytest.mark.parametrize(
    "name", ["micro-le.pcap", "interfaces.pcapng", "damaged-header.pcap", "cut.pcap"]
)
def test_a_compressed_capture_or_a_pipe_is_read_like_the_file(
    compress: Callable[[bytes], bytes], name: str, tmp_path: Path
) -> None:
    content = CAPTURES[name]()
    expected, full = read(tmp_path, content)
    packed = write(tmp_path, compress(content), "packed.dat")
    (piece,) = plan_pieces(str(packed), 0, 0, 100 if compress is not bytes else 1 << 40)
    pipe = io.BytesIO(packed.read_bytes())
    stream = Reader(stream_piece(0, 0), False, stream=pipe, chunk_bytes=256)
    for reader in (Reader(piece, False), Reader(piece, False, chunk_bytes=100), stream):
        assert frames_of(reader) == expected
        assert (reader.skipped, reader.cut, reader.problem) == (full.skipped, full.cut, "")
        assert (reader.begin, reader.landing) == (full.begin, full.landing)


def test_a_cut_compressed_capture_gives_what_can_be_read(tmp_path: Path) -> None:
    packed = gzip.compress(pcap([Packet(os.urandom(1000), AT_NS) for _ in range(200)]))
    frames, reader = read(tmp_path, packed[: len(packed) // 2])
    assert 90 < len(frames) < 101
    assert reader.cut
    assert reader.problem.startswith("the gz data is cut after ")


def test_a_file_that_changed_since_it_was_planned_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, pcap(packets(3)))
    (piece,) = plan_pieces(str(path), 0, 0, 1 << 40)
    path.write_bytes(pcap(packets(4)))
    with pytest.raises(
        CaptureError, match="changed while being read: 270 bytes planned, 352 found"
    ):
        frames_of(Reader(piece, False))


def test_a_file_that_is_cut_off_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, pcap(packets(300)))
    (piece,) = plan_pieces(str(path), 0, 0, 1 << 40)
    records = iter(Reader(piece, False, chunk_bytes=1000))
    next(records)
    os.truncate(path, 5000)
    with pytest.raises(CaptureError, match=r"changed while .* planned, none found behind 5000"):
        list(records)


def test_a_path_with_a_scheme_is_opened_through_pyarrow(tmp_path: Path) -> None:
    path = write(tmp_path, pcap(packets(50)))
    pieces = plan_pieces(path.as_uri(), 0, 0, 2000)
    assert len(pieces) == 3
    found = [frame for piece in pieces for frame in frames_of(Reader(piece, False))]
    assert found == whole(path)[0]
    packed = write(tmp_path, gzip.compress(path.read_bytes()), "packed")
    (piece,) = plan_pieces(packed.as_uri(), 0, 0, 2000)
    assert frames_of(Reader(piece, False)) == found


def test_an_account_is_valid_when_the_consumer_stops_early(tmp_path: Path) -> None:
    (piece,) = plan_pieces(str(write(tmp_path, pcap(packets(30)))), 0, 0, 1 << 40)
    reader = Reader(piece, False, room=10)
    chunks = iter(reader)
    records = next(chunks)
    end = int(records.offset[-1]) + 16 + int(records.captured[-1])
    del chunks, records
    assert (reader.begin, reader.landing, len(reader.interfaces)) == (24, end, 1)


@given(
    content=st.sampled_from(
        [
            "micro-le.pcap",
            "nano-be.pcap",
            "interfaces.pcapng",
            "resolutions.pcapng",
            "capture-in-capture.pcap",
        ]
    ),
    place=st.integers(30, 10_000),
    noise=st.binary(max_size=60),
    keep=st.integers(0, 10_000),
    room=st.sampled_from([5, 1000]),
)
@settings(max_examples=75, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_compiled_and_interpreted_kernels_agree(
    content: str, place: int, noise: bytes, keep: int, room: int, tmp_path: Path
) -> None:
    good = CAPTURES[content]()
    hostile = (good[:place] + noise + good[place + len(noise) :])[: max(40, keep)]
    path = write(tmp_path, hostile)
    pieces = plan_pieces(str(path), 0, 0, 1 << 40)
    pieces += plan_pieces(str(path), 0, 0, 1, cuts=[max(1, len(hostile) // 2)])[1:]
    for piece in pieces:
        readers = [Reader(piece, mode, 1000, room=room) for mode in (False, True)]
        results = [frames_of(reader) for reader in readers]
        assert results[0] == results[1]
        one, other = readers
        assert (one.skipped, one.cut, one.begin, one.landing, one.primed) == (
            other.skipped,
            other.cut,
            other.begin,
            other.landing,
            other.primed,
        )
        assert (one.begin_state, one.landing_state) == (other.begin_state, other.landing_state)
        assert (one.interfaces, one.comments) == (other.interfaces, other.comments)


# ---- a second opinion


def tshark_frames(path: Path) -> list[tuple[int, int | None, int, int]]:
    """Number, time, length and captured length of each frame; no time where it has none."""
    fields = ("frame.number", "frame.time_epoch", "frame.len", "frame.cap_len")
    command = ["tshark", "-r", str(path), "-T", "fields", *(f"-e{field}" for field in fields)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = []
    for line in run.stdout.splitlines():
        number, time, length, captured = line.split("\t")
        second, _, fraction = time.partition(".")
        at_ns = int(second) * 10**9 + int(fraction.ljust(9, "0")) if time else None
        found.append((int(number), at_ns, int(length), int(captured)))
    return found


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize(
    "pattern",
    [
        "captures/micro-?e.pcap",
        "captures/nano-?e.pcap",
        "captures/kuznetzov.pcap",
        "captures/cut.pcap",
        "captures/capture-in-capture.pcap",
        "captures/members.pcap.gz",
        "captures/interfaces.pcapng",
        "jgroups/*/A.pcap",
    ],
)
def test_frames_are_those_of_tshark(pattern: str, fixtures: Path) -> None:
    """Not resolutions.pcapng: tshark 4.0 overflows where they are finer than ns."""
    paths = sorted(fixtures.glob(pattern))
    assert paths
    for path in paths:
        ours = [
            (number, frame.at_ns, frame.original, len(frame.data))
            for number, frame in enumerate(whole(path)[0], 1)
        ]
        theirs = tshark_frames(path)
        untimed = {number for number, at_ns, _, _ in theirs if at_ns is None}
        assert [(n, None if n in untimed else t, size, cap) for n, t, size, cap in ours] == theirs


# ---- what is no capture


REFUSED = {
    "empty": (b"", "is empty; check how it was recorded"),
    "text": (b"no. time source\n1 0.0 10.0.0.1\n",
             "is a text file, no capture; give a pcap or pcapng file"),
    "utf-8 text": ("Zeitüberschreitung — größer\n".encode() * 30,
                   "is a text file, no capture; give a pcap or pcapng file"),
    "elf": (b"\x7fELF\2\1\1" + bytes(60),
            "is no pcap or pcapng (it begins with 7f 45 4c 46) at byte 0; if another tool recorded "
            "it, convert it with: editcap -F pcapng IN OUT"),
    "one byte": (b"\xd4", "is no pcap or pcapng (it begins with d4) at byte 0; if another tool "
                 "recorded it, convert it with: editcap -F pcapng IN OUT"),
    "short pcap": (pcap([])[:20], "is cut inside the pcap file header: 20 of 24 bytes; record or "
                   "copy it again"),
    "short pcapng": (section()[:20], "is cut inside the pcapng section header: 20 of 28 bytes or "
                     "more; record or copy it again"),
    "damaged pcapng": (section()[:8] + bytes(30), "has a damaged section header (byte-order magic "
                       "00 00 00 00) at byte 8; record or copy it again"),
    "xz": (b"\xfd7zXZ\0\0\4" + bytes(30), "is compressed with xz; decompress it first"),
    "parquet": (b"PAR1\x15\4" + bytes(30), "is a Parquet file, no capture; give it to audit"),
    "gz of text": (gzip.compress(b"hello world\n"),
                   "is a text file, no capture; give a pcap or pcapng file"),
    "gz of nothing": (gzip.compress(b""), "holds nothing (an empty gz); fetch the file again"),
    "gz cut short": (gzip.compress(pcap(packets(9)))[:11],
                     "the gz data is cut after 11 bytes; fetch the file again"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_is_no_capture_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    content, line = REFUSED[case]
    path = write(tmp_path, content)
    for ask in (lambda: sniff(str(path)), lambda: plan_pieces(str(path), 0, 0, 1)):
        with pytest.raises(CaptureError) as caught:
            ask()
        assert str(caught.value) == f"{path}: {line}"


def test_a_path_that_leads_nowhere_is_refused_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, line in (
        (tmp_path / "missing", "does not exist; check the path"),
        (tmp_path / "missing" / "deeper", "does not exist; check the path"),
        (tmp_path, "is a folder without captures; name a file or another folder"),
        (tmp_path / "pipe", "is no regular file; pipe it in and give - as the capture"),
    ):
        with pytest.raises(CaptureError) as caught:
            sniff(str(path))
        assert str(caught.value) == f"{path}: {line}"


@pytest.mark.parametrize("uri", ["file:///nowhere/at/all", "nosuch://host/x"])
def test_an_address_that_leads_nowhere_is_refused_in_one_line(uri: str) -> None:
    with pytest.raises(CaptureError) as caught:
        sniff(uri)
    assert str(caught.value).startswith(f"{uri}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["s3a", "s3n", "S3A"])
def test_what_hadoop_calls_s3_is_s3(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Refusing:
        def __init__(self, **options: object) -> None:
            pass

        def get_file_info(self, path: str) -> None:
            asked.append(path)
            raise OSError("no room")

    monkeypatch.setattr("pyarrow.fs.S3FileSystem", Refusing)
    monkeypatch.setattr(remote, "_used", (("fs.s3a.endpoint", "nowhere"),))
    with pytest.raises(CaptureError, match=f"^{scheme}://of-{scheme}/x: cannot be opened .no room"):
        sniff(f"{scheme}://of-{scheme}/x")
    assert asked == [f"of-{scheme}/x"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, pcap([]))
    path.chmod(0)
    with pytest.raises(
        CaptureError, match="may not be read by this user; change its access rights"
    ):
        sniff(str(path))


@pytest.mark.parametrize("content", [b"", b"hello, this is text\n" * 9, pcap([])[:20]])
def test_a_stream_that_is_no_capture_is_refused(content: bytes) -> None:
    with pytest.raises(CaptureError) as caught:
        frames_of(Reader(stream_piece(0, 0), False, stream=io.BytesIO(content)))
    assert str(caught.value).startswith("-: is ")


def test_an_error_survives_the_way_back_from_a_worker() -> None:
    import pickle

    error = CaptureError("x.pcap", "is bad", "try another", 7)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "x.pcap: is bad at byte 7; try another"


def test_pieces_are_plain_values() -> None:
    import pickle

    piece = stream_piece(0, 0)
    assert pickle.loads(pickle.dumps(piece)) == piece
    assert isinstance(piece, Piece)
    assert sys.getsizeof(piece) < 500


def test_each_entry_point_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile time is a budget (decoders/README.md 4): bytes and buffers must not become two
    signatures."""
    monkeypatch.setattr(kernels.Compiled, "_cached_at", lambda *_: None)  # else numba is not asked
    kernels.compiled.cache_clear()
    module = kernels.compiled("capture.record_kernels")
    for name in ("damaged-header.pcap", "interfaces.pcapng", "resolutions.pcapng"):
        path = write(tmp_path, CAPTURES[name](), name)
        whole(path, compile_it=True)
        frames_of(Reader(plan_pieces(str(path), 0, 0, 1, cuts=[900])[1], True, 500))
    signatures = {
        n: len(getattr(module, n).signatures) for n in ("walk_pcap", "walk_pcapng", "find_chain")
    }
    kernels.compiled.cache_clear()
    assert signatures == {"walk_pcap": 1, "walk_pcapng": 1, "find_chain": 1}


def test_a_long_search_turns_to_the_compiled_kernel(tmp_path: Path) -> None:
    """A small capture is read interpreted; small numbers in a payload are believable everywhere."""
    near = struct.pack("<4I", 5, 7, 9, 11) * 60_000
    content = pcap(packets(20)) + b"\xff" * 16 + near + b"\xff" * 300_000 + pcap(packets(20))[24:]
    frames, reader = read(tmp_path, content)
    again, other = read(tmp_path, content, compile_it=True)
    assert (frames, reader.skipped) == (again, other.skipped)


def test_an_inner_capture_does_not_disturb_the_whole_reading(tmp_path: Path) -> None:
    content = [Packet(inner_records(40), AT_NS + i) for i in range(20)]
    frames, reader = read(tmp_path, pcap(content))
    assert ([f.data for f in frames], reader.skipped) == ([p.data for p in content], [])
