"""A piece: every frame has one outcome, and what its account says of them (replay/README.md 5,
decoders/README.md 1)."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from seqaudit.decoders.capture.pieces import plan_pieces, with_proven_start
from seqaudit.decoders.capture.reader import Reader
from seqaudit.decoders.contract.events import EVENTS, Flag, Kind
from seqaudit.decoders.network import account as account_module
from seqaudit.decoders.network.packet_kernels import WINDOW_BYTES
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome, PacketReader
from seqaudit.decoders.stages import registry
from seqaudit.decoders.stages.first import decode_piece, reassemble, wants_compiled
from seqaudit.decoders.stages.registry import DecodeSettings
from tests.decoders.network.builders import (
    GROUP,
    ethernet,
    ipv4,
    pcap,
    record_offsets,
    sll2,
    udp,
    write,
)

CAPTURES: Final = Path(__file__).parents[4] / "shared" / "captures" / "jgroups"
ORDER: Final = [(name, "ascending") for name in ("carrier", "capture", "frame", "index")]


class Marked:
    """Claims datagrams that begin with its mark."""

    mark = b""
    system = ""

    def __init__(self, settings: DecodeSettings) -> None:
        self.offered = 0

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        self.offered += int((datagrams.barrier == 0).sum())
        for number in range(datagrams.count):
            start = int(datagrams.start[number])
            if bytes(datagrams.data[start : start + 3]) == self.mark:
                datagrams.outcome[number] = FrameOutcome.DECODED
        return []

    def finish(self) -> list[pa.RecordBatch]:
        return []

    def account(self) -> dict[str, object]:
        return {"offered": {self.system: self.offered}, "seen": [self.system]}


class One(Marked):
    mark = b"one"
    system = "one"


class Two(Marked):
    mark = b"two"
    system = "two"


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "DECODERS", {"one": One, "two": Two})


def account_of(path: str, **settings: Any) -> dict[str, Any]:
    (piece,) = plan_pieces(path, 3, 7, 1 << 40)
    rows = pa.Table.from_batches(decode_piece(piece, DecodeSettings(**settings)), EVENTS)
    (account,) = [row for row in rows.to_pylist() if row["kind"] == Kind.ACCOUNT]
    assert (account["capture"], account["frame"], account["index"]) == (3, 7 << 40, -1)
    assert (account["system"], account["conversation"]) == ("capture", "")
    detail: dict[str, Any] = json.loads(account["detail"])
    assert sum(detail["frames_by"].values()) == detail["frames"]
    return detail


def datagram(payload: bytes, port: int = 1, source_port: int = 9, **ends: str) -> bytes:
    return ethernet(ipv4(udp(payload, source_port, port), **ends))  # type: ignore[arg-type]


def test_every_frame_has_one_outcome(tmp_path: Path, marked: None) -> None:
    packets = [
        datagram(b"one"),
        datagram(b"two"),
        datagram(b"nobody's"),
        ethernet(bytes(40), 0x0806),
        ethernet(ipv4(bytes(20), protocol=6)),
        ethernet(ipv4(udp(b"one", length=100))),
        ethernet(ipv4(bytes(8), version=7)),
        datagram(b"one")[:30],
    ]
    originals = [len(packet) for packet in packets[:-1]] + [45]
    account = account_of(write(tmp_path / "a.pcap", pcap(packets, originals=originals)))
    assert account["frames_by"] == {
        "decoded": 2, "other": 3, "malformed": 2, "truncated": 1, "undecodable": 0,
    }  # fmt: skip
    assert account["undecoded"] == {"UDP length": 1, "IP version": 1, "cut in the IP header": 1}


def test_an_unknown_link_type_is_named(tmp_path: Path, marked: None) -> None:
    account = account_of(write(tmp_path / "a.pcap", pcap([bytes(60)] * 3, link=147)))
    assert account["frames_by"]["undecodable"] == 3
    assert account["undecoded"] == {"link type not understood: LINKTYPE 147": 3}
    assert account["links"] == {"LINKTYPE 147": 3}


def test_the_first_decoder_that_claims_a_datagram_has_it(tmp_path: Path, marked: None) -> None:
    packets = [datagram(b"one", 1), datagram(b"two", 2), datagram(b"no", 3)]
    account = account_of(write(tmp_path / "a.pcap", pcap(packets)))
    assert account["offered"] == {"one": 3, "two": 2}
    assert account["seen"] == ["one", "two"]
    assert {tuple(entry[2:4]) for entry in account["endpoints"]} == {
        (1, "one"),
        (2, "two"),
        (3, ""),
    }


def test_no_decode_removes_a_decoder(tmp_path: Path, marked: None) -> None:
    path = write(tmp_path / "a.pcap", pcap([datagram(b"one"), datagram(b"two")]))
    account = account_of(path, no_decode=frozenset({"one"}))
    assert account["offered"] == {"two": 2}
    assert account["frames_by"]["decoded"] == 1


def test_decode_as_leaves_a_datagram_to_one_decoder(tmp_path: Path, marked: None) -> None:
    packets = [
        datagram(b"one", 5),  # to the port
        datagram(b"two", 5),
        datagram(b"two", 6, 5),  # from the port
        datagram(b"two", 6),
        ethernet(ipv4(bytes(20), protocol=6)),
    ]
    path = write(tmp_path / "a.pcap", pcap(packets))
    account = account_of(path, decode_as=(("udp", 5, "two"),))
    assert account["offered"] == {"one": 1, "two": 4}
    assert account["frames_by"]["decoded"] == 3
    assert account["frames_by"]["malformed"] == 1
    claims = {tuple(entry[2:]) for entry in account["endpoints"] if entry[0] == "udp"}
    size = 14 + 28 + 3
    assert claims == {(5, "two", 2, 2 * size), (6, "two", 2, 2 * size)}


def test_decode_as_of_a_cut_datagram_that_is_refused_is_truncated(
    tmp_path: Path, marked: None
) -> None:
    packet = datagram(b"one" + bytes(50), 5)
    capture = pcap([packet[:60]], originals=[len(packet)])
    path = write(tmp_path / "a.pcap", capture)
    account = account_of(path, decode_as=(("udp", 5, "two"),))
    assert account["frames_by"]["truncated"] == 1


def test_decode_as_a_system_that_is_not_asked_keeps_the_others_off(
    tmp_path: Path, marked: None
) -> None:
    path = write(tmp_path / "a.pcap", pcap([datagram(b"one", 5), datagram(b"one", 6)]))
    account = account_of(path, decode_as=(("udp", 5, "two"),), no_decode=frozenset({"two"}))
    assert account["offered"] == {"one": 1}
    assert account["frames_by"] == {
        "decoded": 1, "other": 1, "malformed": 0, "truncated": 0, "undecodable": 0,
    }  # fmt: skip


def test_times_and_sizes(tmp_path: Path, marked: None) -> None:
    times = [2_000_000_007, 1_000_000_000, 3_000_000_001]
    capture = pcap(
        [bytes(60), bytes(70), bytes(80)], originals=[60, 700, 80], times_ns=times, first_ns=0
    )
    account = account_of(write(tmp_path / "a.pcap", capture))
    assert (account["first_ns"], account["last_ns"]) == (1_000_000_000, 3_000_000_001)
    assert (account["bytes"], account["wire_bytes"]) == (210, 840)
    assert (account["begin"], account["landing"]) == (24, len(capture))


def test_an_empty_piece_has_no_times(tmp_path: Path, marked: None) -> None:
    account = account_of(write(tmp_path / "a.pcap", pcap([])))
    assert (account["frames"], account["first_ns"], account["last_ns"]) == (0, None, None)


def test_endpoints_count_frames_and_bytes_on_the_wire(tmp_path: Path, marked: None) -> None:
    packets = [
        datagram(b"one", 5),
        datagram(b"one", 5),
        datagram(b"xyz", 5),
        datagram(b"one", 5, destination=GROUP),
        ethernet(ipv4(bytes([0, 9, 0, 80]) + bytes(16), protocol=6)),
        ethernet(ipv4(bytes(8), protocol=253)),
    ]
    account = account_of(write(tmp_path / "a.pcap", pcap(packets)))
    size = 14 + 28 + 3
    assert account["endpoints"] == [
        ["udp", "10.80.0.2", 5, "one", 2, 2 * size],
        ["253", "10.80.0.2", 0, "", 1, 42],
        ["tcp", "10.80.0.2", 80, "", 1, 54],
        ["udp", "10.80.0.2", 5, "", 1, size],
        ["udp", GROUP, 5, "one", 1, size],
    ]
    assert account["endpoints_more"] == 0


def test_endpoints_beyond_the_list_are_counted(tmp_path: Path, marked: None) -> None:
    packets = [datagram(b"xyz", port) for port in range(1, 2051)]
    account = account_of(write(tmp_path / "a.pcap", pcap(packets)))
    assert (len(account["endpoints"]), account["endpoints_more"]) == (2000, 50)


def test_which_endpoints_are_listed_does_not_depend_on_how_many_there_is_room_for(
    tmp_path: Path, marked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = [
        packet
        for port in range(1, 60)
        for packet in [datagram(b"xyz", port)] * (port * 7 % 11) + [datagram(b"one", port)] * 3
    ]
    path = write(tmp_path / "a.pcap", pcap(packets))
    everything = account_of(path)
    assert everything["endpoints_more"] == 0
    for listed in (1, 7, 60, 100):
        monkeypatch.setattr(account_module, "ENDPOINTS", listed)
        some = account_of(path)
        assert some["endpoints"] == everything["endpoints"][:listed]
        assert some["endpoints_more"] == len(everything["endpoints"]) - listed


A, B, C = "10.0.0.1", "10.0.0.2", "10.0.0.3"


@pytest.mark.parametrize(
    ("pairs", "both"),
    [
        ([(A, B), (B, A)], [A, B]),
        ([(A, B), (C, B)], [B]),
        ([(A, B), (B, C)], [B]),
        ([(A, B), (B, C), (C, A)], []),
        ([], []),
    ],
)
def test_ends_are_the_addresses_of_every_claimed_unicast(
    tmp_path: Path, marked: None, pairs: Sequence[tuple[str, str]], both: list[str]
) -> None:
    packets = [datagram(b"one", source=source, destination=target) for source, target in pairs]
    packets += [datagram(b"xyz", source=C, destination=C)]  # nobody's
    packets += [datagram(b"one", source=C, destination=GROUP)]
    account = account_of(write(tmp_path / "a.pcap", pcap(packets)))
    assert account["ends"]["both"] == both
    assert account["ends"]["frames"] == len(pairs)


def test_ends_know_ttls_and_what_the_link_layer_sent(tmp_path: Path, marked: None) -> None:
    packets = [
        sll2(ipv4(udp(b"one"), A, B, ttl=64), packet_type=4),
        sll2(ipv4(udp(b"one"), B, A, ttl=61)),
        sll2(ipv4(udp(b"one"), B, A, ttl=63)),
        sll2(ipv4(udp(b"xyz"), C, A, ttl=9), packet_type=4),
    ]
    account = account_of(write(tmp_path / "a.pcap", pcap(packets, link=276)))
    assert account["ends"]["outgoing"] == [A]
    assert account["ends"]["ttl"] == {A: [64, 64], B: [61, 63]}


def test_kernels_are_compiled_for_large_pieces_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", pcap([bytes(1000)] * 10))
    (piece,) = plan_pieces(path, 0, 0, 1 << 40)
    assert not wants_compiled(piece, DecodeSettings())
    assert wants_compiled(piece, DecodeSettings(compile_it=True))
    (large,) = plan_pieces(write(tmp_path / "b.pcap", pcap([bytes(60_000)] * 40)), 0, 0, 1 << 40)
    assert wants_compiled(large, DecodeSettings())
    assert not wants_compiled(large, DecodeSettings(compile_it=False))


# Real captures, the decoders that ship.


def test_a_capture_whose_chunks_are_out_of_order_is_read_to_its_end_in_order_only(
    tmp_path: Path, marked: None
) -> None:
    """What is decoded before is thrown away, so it ends where the first border is torn."""
    packets = [datagram(b"one" + bytes(1_000))] * 60_000  # some chunks
    times = [1_000_000 * (number ^ 1) for number in range(len(packets))]  # neighbours swapped
    path = write(tmp_path / "a.pcap", pcap(packets, times_ns=times))
    first = account_of(path)
    assert first["order"]["torn"]
    assert first["frames"] < len(packets)
    again = account_of(path, unordered=frozenset({3}))
    assert (again["order"]["torn"], again["frames"]) == ([], len(packets))


def total(rows: Sequence[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """Sums of all accounts, and events by kind with their messages."""
    sums: dict[str, Counter[str]] = {"": Counter(), "events": Counter()}
    for row in rows:
        if row["kind"] != Kind.ACCOUNT:
            if row["kind"] not in (Kind.MEMBER, Kind.PROBLEM):
                sums["events"][f"{row['system']} {row['wire_kind']}"] += row["count"]
            continue
        detail = json.loads(row["detail"])
        for name in ("frames", "bytes", "wire_bytes"):
            sums[""][name] += detail[name]
        for name in ("frames_by", "undecoded", "sureness", "links", "fragments"):
            sums.setdefault(name, Counter()).update(detail[name])
        for system, kinds in detail["messages_by"].items():
            sums.setdefault(system, Counter()).update(kinds)
    return sums


def decode(path: str, cuts: Sequence[int] = (), **settings: Any) -> list[dict[str, Any]]:
    """All rows of both stages; pieces start where the one before them landed."""
    chosen = DecodeSettings(**settings)
    batches: list[pa.RecordBatch] = []
    landing = None
    for piece in plan_pieces(path, 0, 0, 1 << 40, cuts=list(cuts)):
        mine = list(
            decode_piece(piece if landing is None else with_proven_start(piece, landing), chosen)
        )
        account = json.loads(mine[-1].column("detail")[0].as_py())
        landing = account["landing"]
        batches += mine
    table = pa.Table.from_batches(batches, EVENTS).sort_by(ORDER)
    rows: list[dict[str, Any]] = pa.Table.from_batches(
        reassemble(table.to_batches(), chosen), EVENTS
    ).to_pylist()
    return rows


REAL: Final = ["n4-loss-1/mirror.pcap", "u3n2-ipfrag-loss-1/C.pcap", "ipv6-discard-1/A-any.pcap"]


def real(name: str) -> str:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"no {name}")
    return str(path)


@pytest.mark.parametrize("name", REAL)
def test_both_forms_of_the_kernels_give_the_same_rows(name: str) -> None:
    path = real(name)
    assert decode(path, compile_it=True) == decode(path, compile_it=False)


@pytest.mark.parametrize("name", REAL)
def test_sums_do_not_depend_on_cuts(name: str) -> None:
    path = real(name)
    whole = total(decode(path, compile_it=False))
    size = Path(path).stat().st_size
    for seed in range(4):
        cuts = np.sort(np.random.default_rng(seed).integers(24, size, 5)).tolist()
        assert total(decode(path, cuts, compile_it=False)) == whole


def test_a_capture_cut_at_every_record_has_the_same_sums(tmp_path: Path) -> None:
    content = Path(real("n4-loss-1/C.pcap")).read_bytes()
    path = write(tmp_path / "a.pcap", content)
    whole = total(decode(path, compile_it=False))
    cuts = record_offsets(content)[1:-1]
    assert total(decode(path, cuts, compile_it=False)) == whole


@pytest.mark.parametrize("scenario", ["u4n4-dup-reorder-1", "u3-dup-reorder-2"])
def test_network_duplicates_are_those_that_the_path_made_wherever_it_is_cut(scenario: str) -> None:
    path = real(f"{scenario}/C.pcap")
    truth = json.loads((CAPTURES / scenario / "truth.json").read_text(encoding="utf-8"))
    made = [a for a in truth["path_actions"] if a["action"] == "dup" and a["to"] == "C"]
    assert made
    size = Path(path).stat().st_size
    for cut in [0, *range(1000, size, size // 7)]:
        assert flagged_datagrams(path, [cut] if cut else []) == len(made)


def flagged_datagrams(path: str, cuts: Sequence[int]) -> int:
    """Datagrams flagged as network duplicates, over all pieces."""
    count = 0
    for piece in plan_pieces(path, 0, 0, 1 << 40, cuts=list(cuts)):
        reader = PacketReader(0, 0, compile_it=False)
        for records in Reader(piece, False, prime_bytes=WINDOW_BYTES):
            for packets in reader.read(records):
                flags = packets.datagrams.flags
                count += int(((flags & Flag.NETWORK_DUPLICATE) != 0).sum())
    return count
