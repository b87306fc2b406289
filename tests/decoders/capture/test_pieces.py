"""Splits with proof: wherever a capture is cut, it is read as in one piece (decoders/README.md
2)."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixtures.make_captures import (
    AT_NS,
    Packet,
    capture_in_capture,
    enhanced,
    inner_records,
    interface,
    interfaces_pcapng,
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
from seqaudit.decoders.capture.pieces import (
    merge_interfaces,
    plan_pieces,
    settle,
    stream_piece,
    walk_headers,
    with_proven_start,
)
from seqaudit.decoders.capture.reader import Reader
from tests.decoders.capture.reading import frames_of, run, small_reader, whole

DEEP = capture_in_capture()

CASES = {
    "micro": pcap(packets(12)),
    "micro-be": pcap(packets(12), big=True),
    "nano": pcap(packets(12), nano=True),
    "three interfaces, two sections": interfaces_pcapng(),
    "capture in capture": DEEP,
    "capture in capture, big-endian": capture_in_capture(big=True, swallow=False),
    "damaged header": with_damaged_header(pcap(packets(24)), 12),
    "cut": pcap(packets(12))[:-20],
    "empty packets": pcap([Packet(b"", AT_NS + i, 0) for i in range(30)]),
    "no packet": pcap([]),
    "backwards and pauses": pcap(
        [Packet(udp(i), AT_NS + i * 10**9 * (10**6 if i % 7 == 0 else -1)) for i in range(30)]
    ),
    "captured over original": pcap([Packet(udp(i), AT_NS + i, 20) for i in range(30)]),
    "simple packets only": section() + interface() + b"".join(simple(udp(i)) for i in range(30)),
}


@pytest.mark.parametrize("case", list(CASES))
def test_a_cut_at_any_byte_changes_nothing(case: str, tmp_path: Path) -> None:
    path = tmp_path / "capture"
    content = CASES[case]
    path.write_bytes(content)
    expected, reader = whole(path)
    for cut in range(1, len(content)):
        job = run(plan_pieces(str(path), 0, 0, 1, cuts=[cut]))
        assert job.frames == expected, cut
        assert [s for r in job.readers for s in r.skipped] == reader.skipped, cut
        assert any(r.cut for r in job.readers) == reader.cut, cut
        assert sum(r.comments for r in job.readers) == reader.comments, cut
        assert merge_interfaces([r.interfaces for r in job.readers]) == reader.interfaces, cut


@pytest.mark.parametrize("case", list(CASES))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_many_cuts_change_nothing(case: str, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "capture"
    content = CASES[case]
    path.write_bytes(content)
    places = st.integers(1, max(1, len(content) - 1))
    cuts = sorted(data.draw(st.sets(places, max_size=12)))
    assert run(plan_pieces(str(path), 0, 0, 1, cuts=cuts)).frames == whole(path)[0]


def test_an_honest_capture_needs_one_run(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(pcap(packets(500)))
    pieces = plan_pieces(str(path), 0, 7, 4000)
    assert len(pieces) == 11
    assert [p.split for p in pieces] == list(range(7, 18))
    assert [(p.start, p.stop) for p in pieces][::10] == [(0, 3729), (37294, 41024)]
    assert run(pieces).runs == 1


def test_a_guess_inside_a_payload_is_wrong_and_is_proven_wrong(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(DEEP)
    cut = DEEP.index(b"in02") + 1
    pieces = plan_pieces(str(path), 0, 0, 1, cuts=[cut])
    readers = [small_reader(piece) for piece in pieces]
    for reader in readers:
        frames_of(reader)
    assert readers[1].begin < readers[0].landing  # an inner record was believed
    (correction,) = settle(pieces, readers)
    assert correction == (1, readers[0].landing, "")
    assert run(pieces).runs == 2


def test_a_capture_that_deceives_every_guess_is_settled_by_walking_the_headers(
    tmp_path: Path,
) -> None:
    """Each datagram holds a chain that ends in a record that claims the outer record behind it."""
    out = [pcap_header()]
    for i in range(60):
        data = udp(i)
        if i % 2 == 0:
            behind = inner_records(18, at_ns=AT_NS + i * 10**9)
            size = 16 + len(udp(i))
            claim = Packet(bytes(0), AT_NS + i * 10**9)
            last = pcap_record(claim)[:8] + size.to_bytes(4, "little") * 2
            data = udp(i, behind + last)
        out.append(pcap_record(Packet(data, AT_NS + i * 10**9)))
    content = b"".join(out)
    path = tmp_path / "capture"
    path.write_bytes(content)
    cuts = [i + 40 for i in range(len(content)) if content.startswith(b"in02", i)]
    pieces = plan_pieces(str(path), 0, 0, 1, cuts=cuts)
    assert run(pieces).frames == whole(path)[0]
    exact = walk_headers(pieces, compile_it=False)
    assert all(piece.proven for piece in exact)
    assert run(exact).runs == 1
    assert run(exact).frames == whole(path)[0]


def test_a_piece_in_which_no_record_starts_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    big = Packet(bytes(5000), AT_NS)
    path.write_bytes(pcap([big, *packets(20)]))
    pieces = plan_pieces(str(path), 0, 0, 1, cuts=[1000, 2000, 3000])
    job = run(pieces)
    assert job.runs == 1
    assert [(r.begin, r.landing) for r in job.readers[1:3]] == [(-1, -1), (-1, -1)]
    assert job.frames == whole(path)[0]


def test_an_empty_piece_that_found_records_is_corrected(tmp_path: Path) -> None:
    """The first record is longer than the next piece; in its payload lies a believable chain."""
    path = tmp_path / "capture"
    path.write_bytes(pcap([Packet(inner_records(100), AT_NS), *packets(20)]))
    job = run(plan_pieces(str(path), 0, 0, 1, cuts=[500, 1000]))
    assert job.frames == whole(path)[0]
    assert job.readers[1].begin == job.readers[1].landing == job.readers[0].landing


def test_a_pcapng_piece_is_proven_by_its_tables_too(tmp_path: Path) -> None:
    """The offset fits, the interface table does not: an interface is described late."""
    blocks = [section(), interface()]
    blocks += [enhanced(p.data, ticks_of(p.at_ns)) for p in packets(20)]
    blocks += [interface(resolution=9)]
    blocks += [enhanced(p.data, p.at_ns, number=1) for p in packets(20)]
    path = tmp_path / "capture"
    path.write_bytes(b"".join(blocks))
    cut = len(b"".join(blocks[:30]))
    pieces = plan_pieces(str(path), 0, 0, 1, cuts=[cut])
    readers = [small_reader(piece) for piece in pieces]
    for reader in readers:
        frames_of(reader)
    assert readers[0].landing == readers[1].begin == cut
    (correction,) = settle(pieces, readers)
    assert with_proven_start(pieces[1], cut, correction.state).interfaces == (
        (1, 6, 0, 65535),
        (1, 9, 0, 65535),
    )
    assert run(pieces).frames == whole(path)[0]


def test_a_section_header_needs_no_tables_before_it(tmp_path: Path) -> None:
    one = section() + interface() + b"".join(enhanced(p.data, 5) for p in packets(20))
    two = section(big=True) + interface(big=True) + interface(big=True)
    path = tmp_path / "capture"
    path.write_bytes(one + two + b"".join(enhanced(p.data, 5, big=True) for p in packets(20)) + one)
    cuts = [len(one) - 3, len(path.read_bytes()) - len(one) - 3]
    job = run(plan_pieces(str(path), 0, 0, 1, cuts=cuts))
    assert job.runs == 1
    assert job.frames == whole(path)[0]


def test_a_record_without_time_needs_the_time_before_the_cut(tmp_path: Path) -> None:
    head = (
        section() + interface() + b"".join(enhanced(p.data, ticks_of(AT_NS)) for p in packets(20))
    )
    path = tmp_path / "capture"
    path.write_bytes(head + b"".join(simple(udp(i)) for i in range(20)))
    job = run(plan_pieces(str(path), 0, 0, 1, cuts=[len(head) - 5]))
    assert job.runs == 2
    assert job.frames == whole(path)[0]
    assert {frame.at_ns for frame in job.frames} == {AT_NS // 1000 * 1000}
    assert sum(reader.untimed for reader in job.readers) == 20


def test_pieces_of_several_files_are_settled_by_file(tmp_path: Path) -> None:
    pieces, expected = [], []
    for i, content in enumerate([DEEP, interfaces_pcapng(), pcap(packets(30))]):
        path = tmp_path / f"capture{i}"
        path.write_bytes(content)
        pieces += plan_pieces(str(path), i, 3 * i, len(content) // 3 + 1)
        expected += whole(path)[0]
    assert len(pieces) == 9
    assert run(pieces).frames == expected


def test_statistics_count_in_the_piece_that_holds_them(tmp_path: Path) -> None:
    body = b"".join(enhanced(p.data, ticks_of(p.at_ns)) for p in packets(20))
    first = section() + interface(name="eth0") + body
    content = first + statistics(0, {4: 20, 5: 1}) + body + statistics(0, {4: 40, 5: 6, 7: 1})
    path = tmp_path / "capture"
    path.write_bytes(content)
    job = run(plan_pieces(str(path), 0, 0, 1, cuts=[len(first) + 200]))
    assert [reader.interfaces[0].get("ifdrop") for reader in job.readers] == [1, 6]
    (merged,) = merge_interfaces([reader.interfaces for reader in job.readers])
    assert merged["name"] == "eth0"
    assert (merged["received"], merged["ifdrop"], merged["osdrop"]) == (40, 6, 1)


@pytest.mark.parametrize("content", [pcap(packets(60)), interfaces_pcapng()])
@pytest.mark.parametrize("prime_bytes", [100, 1000, 1 << 22])
def test_priming_gives_the_records_before_the_piece(
    content: bytes, prime_bytes: int, tmp_path: Path
) -> None:
    """They are those of the piece's section, from ``prime_bytes`` before its begin on."""
    path = tmp_path / "capture"
    path.write_bytes(content)
    expected, _ = whole(path)
    for cut in range(24, len(content), 7):
        pieces = plan_pieces(str(path), 0, 0, 1, cuts=[cut])
        piece = walk_headers(pieces, compile_it=False)[1]
        plain = small_reader(piece)
        own = frames_of(plain)
        primed = Reader(piece, False, prime_bytes, room=64)
        before = frames_of(primed, primed=True)
        low = max(piece.section, primed.begin - prime_bytes)
        known = [f for f in expected if low <= f.offset < primed.begin]
        if primed.begin >= piece.stop:
            known = []
        assert [f[:3] for f in before] == [f[:3] for f in known], cut
        assert primed.primed
        again = Reader(piece, False, prime_bytes, room=64)
        assert frames_of(again) == own
        assert (again.begin, again.landing) == (plain.begin, plain.landing)
        assert (again.begin_state, again.landing_state) == (plain.begin_state, plain.landing_state)
        assert again.skipped == plain.skipped
        assert again.interfaces == plain.interfaces


def test_damage_before_the_piece_primes_nothing(tmp_path: Path) -> None:
    good = pcap(packets(40))
    path = tmp_path / "capture"
    path.write_bytes(good + b"\xff" * 5000 + good[24:])
    begin = len(good) + 5000
    piece = with_proven_start(plan_pieces(str(path), 0, 0, 1, cuts=[begin])[1], begin)
    reader = Reader(piece, False, 1000)
    assert frames_of(reader, primed=True) == []
    assert reader.primed
    longer = Reader(piece, False, 7000)
    assert frames_of(longer, primed=True) == [
        f for f in whole(path)[0] if begin - 7000 <= f.offset < begin
    ]


def test_priming_that_leads_elsewhere_is_left_out_and_said(tmp_path: Path) -> None:
    """The start is fixed inside a record, as a wrong landing may do: no boundary leads there."""
    path = tmp_path / "capture"
    path.write_bytes(pcap(packets(100)))
    piece = with_proven_start(plan_pieces(str(path), 0, 0, 1, cuts=[5000])[1], 5003)
    reader = Reader(piece, False, 1000)
    assert frames_of(reader, primed=True) == []
    assert not reader.primed
    assert reader.begin == 5003
    again = Reader(piece, False, 1000)
    assert frames_of(again) == frames_of(Reader(piece, False))


def test_a_guessed_piece_primes_onto_its_guess(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(pcap(packets(100)))
    expected, _ = whole(path)
    piece = plan_pieces(str(path), 0, 0, 1, cuts=[5000])[1]
    reader = Reader(piece, False, 1000)
    before = frames_of(reader, primed=True)
    assert reader.primed
    assert before == [f for f in expected if reader.begin - 1000 <= f.offset < reader.begin]


def test_the_piece_of_a_stream_is_whole() -> None:
    piece = stream_piece(3, 5)
    assert (piece.path, piece.capture, piece.split, piece.whole) == ("-", 3, 5, True)
