"""IP fragments: one test a rule, and the same events whatever way the capture was cut."""

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.contract.events import EVENTS, FRAME_BITS, Flag, Kind
from seqaudit.decoders.network import packets as packets_module
from seqaudit.decoders.network.ip_datagram import Fragment
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.stages import fragments, registry
from seqaudit.decoders.stages.first import decode_piece, reassemble
from seqaudit.decoders.stages.registry import DecodeSettings
from tests.decoders.network.builders import (
    GROUP,
    ethernet,
    extension,
    fragments4,
    fragments6,
    ipv4,
    pcap,
    record_offsets,
    sll2,
    udp,
    write,
)

SECOND: Final = 1_000_000_000
START: Final = 1_795_000_000 * SECOND
CAPTURES: Final = Path(__file__).parents[4] / "shared" / "captures" / "jgroups"


class Toy:
    """A decoder of its own making: "toy " and a seqno; "bad " is its own but damaged."""

    system: Final = "toy"

    def __init__(self, settings: DecodeSettings) -> None:
        self.messages = 0

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        rows: list[dict[str, Any]] = []
        for number in range(datagrams.count):
            if datagrams.barrier[number]:
                continue
            start, stop = int(datagrams.start[number]), int(datagrams.stop[number])
            payload = bytes(datagrams.data[start:stop])
            if payload.startswith(b"bad "):
                datagrams.outcome[number] = FrameOutcome.UNDECODABLE
            if not payload.startswith(b"toy "):
                continue
            cut = stop - start < datagrams.length[number]
            datagrams.outcome[number] = FrameOutcome.TRUNCATED if cut else FrameOutcome.DECODED
            self.messages += 1
            rows.append(self._row(datagrams, number, payload))
        return [pa.RecordBatch.from_pylist(rows, schema=EVENTS)] if rows else []

    def _row(self, datagrams: Datagrams, number: int, payload: bytes) -> dict[str, Any]:
        frame = int(datagrams.frame[number]) | datagrams.split << FRAME_BITS
        at_ns = int(datagrams.at_ns[number])
        return {
            "capture": datagrams.capture,
            "frame": frame,
            "index": 0,
            "last_frame": frame,
            "at_ns": at_ns,
            "last_at_ns": at_ns,
            "system": "toy",
            "conversation": "toy",
            "source": datagrams.hosts[int(datagrams.source[number])],
            "destination": datagrams.hosts[int(datagrams.destination[number])],
            "kind": int(Kind.DATA),
            "wire_kind": "TOY",
            "seqno": int.from_bytes(payload[4:8], "big"),
            "count": 1,
            "flags": int(datagrams.flags[number]),
            "size": int(datagrams.length[number]),
            "fresh_id": int(datagrams.ip_id[number]),
            "detail": str(hash_of(payload)),
        }

    def finish(self) -> list[pa.RecordBatch]:
        return []

    def account(self) -> dict[str, object]:
        return {"messages_by": {"toy": {"TOY": self.messages}}} if self.messages else {}


def hash_of(payload: bytes) -> int:
    return sum((place + 1) * byte for place, byte in enumerate(payload))


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "DECODERS", {"toy": Toy})


def message(seqno: int, size: int = 100, mark: bytes = b"toy ") -> bytes:
    """A UDP datagram of the toy system."""
    return udp(mark + seqno.to_bytes(4, "big") + random.Random(seqno).randbytes(size))


class Run:
    """What a capture becomes: events, problems and the sums of its accounts."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = sorted(rows, key=lambda row: (row["frame"], row["index"], row["kind"]))
        self.accounts = [
            json.loads(row["detail"]) for row in self.rows if row["kind"] == Kind.ACCOUNT
        ]
        self.events = [row for row in self.rows if row["kind"] == Kind.DATA]
        self.problems = [
            json.loads(row["detail"]) for row in self.rows if row["kind"] == Kind.PROBLEM
        ]
        self.frames = sum(account["frames"] for account in self.accounts)
        self.frames_by: Counter[str] = Counter()
        self.parts: Counter[str] = Counter()
        for account in self.accounts:
            self.frames_by.update(account["frames_by"])
            self.parts.update(account["fragments"])
        assert sum(self.frames_by.values()) == self.frames

    @property
    def seqnos(self) -> list[int]:
        return [event["seqno"] for event in self.events]

    def share(self, **expected: int) -> None:
        """``frames_by`` is exactly this."""
        assert {key: count for key, count in self.frames_by.items() if count} == expected


def run(
    path: str, *, cuts: Sequence[int] = (), in_piece: bool = False, nested: bool = False
) -> Run:
    """A capture through both stages, or through the first alone."""
    settings = DecodeSettings(
        compile_it=False, finish_fragments=in_piece, tunnelled=frozenset({0} if nested else ())
    )
    pieces = plan_pieces(path, 0, 0, 1 << 40, cuts=list(cuts))
    table = pa.Table.from_batches(
        [batch for piece in pieces for batch in decode_piece(piece, settings)], EVENTS
    )
    segments = int(Kind.SEGMENT) in table.column("kind").to_pylist()
    assert not (in_piece and segments)
    if not in_piece:
        order = [(name, "ascending") for name in ("carrier", "capture", "frame", "index")]
        batches = table.sort_by(order).to_batches(max_chunksize=7)
        table = pa.Table.from_batches(list(reassemble(batches, settings)), EVENTS)
    return Run(table.to_pylist())


def both(tmp_path: Path, packets: Sequence[bytes], *, nested: bool = False, **more: Any) -> Run:
    """The same in either stage; a cut in the middle of the records makes no difference."""
    capture = pcap(
        [ethernet(packet, 0x0800 if packet[0] >> 4 == 4 else 0x86DD) for packet in packets], **more
    )
    path = write(tmp_path / "capture.pcap", capture)
    whole = run(path, nested=nested)
    assert same(run(path, in_piece=True, nested=nested)) == same(whole)
    return whole


def same(result: Run) -> list[Any]:
    """What must not depend on the stage: all but how the accounts are spread over rows."""
    rows = [tuple(row.values()) for row in result.rows if row["kind"] != Kind.ACCOUNT]
    endpoints: Counter[tuple[Any, ...]] = Counter()
    undecoded: Counter[str] = Counter()
    messages: Counter[str] = Counter()
    for account in result.accounts:
        undecoded.update(account["undecoded"])
        messages.update(account["messages_by"].get("toy", {}))
        for *ends, frames, size in account["endpoints"]:
            endpoints[(*ends, "frames")] += frames
            endpoints[(*ends, "bytes")] += size
    return [rows, result.frames_by, result.parts, endpoints, undecoded, messages]


# The rules.


def test_fragments_become_the_datagram_at_the_frame_that_completes_it(tmp_path: Path) -> None:
    done = both(tmp_path, fragments4(message(5, 3000), [1480, 1480], 77, GROUP))
    (event,) = done.events
    assert (event["seqno"], event["frame"], event["at_ns"]) == (5, 3, START + 2_000_000)
    assert (event["destination"], event["fresh_id"], event["size"]) == (GROUP, 77, 3008)
    assert event["flags"] == Flag.MULTICAST
    done.share(decoded=3)
    assert done.parts == {"frames": 3, "datagrams": 1, "incomplete": 0, "missing": 0}


def test_order_does_not_matter(tmp_path: Path) -> None:
    first, second, third = fragments4(message(5, 3000), [1480, 1480], 77)
    done = both(tmp_path, [third, first, second])
    assert [(event["seqno"], event["frame"]) for event in done.events] == [(5, 3)]


def test_ipv6_fragments_become_the_datagram(tmp_path: Path) -> None:
    done = both(tmp_path, fragments6(message(5, 3000), [1440, 1440], 0x9ABCDEF0))
    assert [(event["seqno"], event["fresh_id"]) for event in done.events] == [(5, 0x9ABCDEF0)]
    done.share(decoded=3)


def test_an_extension_header_behind_the_fragment_header_is_walked(tmp_path: Path) -> None:
    inner = extension(17, message(5, 3000))
    done = both(tmp_path, fragments6(inner, [1440, 1440], 1, first=60))
    assert done.seqnos == [5]


def test_a_largest_datagram_is_put_together(tmp_path: Path) -> None:
    datagram = message(5, 65_515 - 16)
    done = both(tmp_path, fragments4(datagram, [1480] * 44, 77))
    assert [(event["seqno"], event["size"]) for event in done.events] == [(5, 65_507)]


@pytest.mark.parametrize("differs", ["id", "source", "destination"])
def test_datagrams_are_told_apart_by_id_and_ends(tmp_path: Path, differs: str) -> None:
    one = fragments4(message(1, 3000), [1480, 1480], 77)
    ends = {"source": "10.80.0.1", "destination": "10.80.0.2"}
    if differs != "id":
        ends[differs] = "10.80.0.9"
    datagram = message(2, 3000)
    other = [
        ipv4(datagram[at : at + 1480], **ends, ident=78 if differs == "id" else 77,  # type: ignore[arg-type]
             offset=at, more=at < 2960)
        for at in (0, 1480, 2960)
    ]  # fmt: skip
    mixed = [packet for pair in zip(one, other, strict=True) for packet in pair]
    assert both(tmp_path, mixed).seqnos == [1, 2]


def test_fragments_of_another_protocol_are_other_at_once(tmp_path: Path) -> None:
    packets = [
        ipv4(bytes(1480), protocol=1, ident=7, more=True),
        ipv4(bytes(20), protocol=1, ident=7, offset=1480),
    ]
    done = both(tmp_path, packets)
    done.share(other=2)
    assert done.parts == {"frames": 0, "datagrams": 0, "incomplete": 0, "missing": 0}


def in_vxlan(packet: bytes) -> bytes:
    return udp(b"\x08\0\0\0\0\0\x09\0" + ethernet(packet), 40_000, 4_789)


@pytest.mark.parametrize(
    ("carried", "protocol"),
    [(lambda packet: packet, 4), (lambda packet: b"\0\0\x08\0" + packet, 47), (in_vxlan, 17)],
    ids=["IP in IP", "GRE", "VXLAN"],
)
def test_fragments_of_a_tunnel_become_the_packet_inside(
    tmp_path: Path, carried: Callable[[bytes], bytes], protocol: int
) -> None:
    outer = carried(ipv4(message(5, 3000), "10.80.0.1", "10.80.0.2", ident=9, ttl=7))
    packets = [
        ipv4(outer[at : at + 1480], "192.0.2.1", "192.0.2.2", ident=77, protocol=protocol,
             offset=at, more=at + 1480 < len(outer), ttl=60)
        for at in range(0, len(outer), 1480)
    ]  # fmt: skip
    done = both(tmp_path, packets)
    (event,) = done.events
    assert (event["seqno"], event["source"], event["destination"], event["fresh_id"]) == (
        5, "10.80.0.1", "10.80.0.2", 9,
    )  # fmt: skip
    done.share(decoded=3)
    ends = [account["ends"] for account in done.accounts if account["ends"]["frames"]]
    assert [one["ttl"] for one in ends] == [{"10.80.0.1": [7, 7]}]
    ((*end, _, _),) = [end for account in done.accounts for end in account["endpoints"]]
    assert end == ["udp", "10.80.0.2", 45_588, "toy"]


def test_a_datagram_of_nobody_is_other(tmp_path: Path) -> None:
    both(tmp_path, fragments4(udp(bytes(3000)), [1480, 1480], 77)).share(other=3)


def test_a_datagram_that_its_decoder_cannot_decode_keeps_that_outcome(tmp_path: Path) -> None:
    both(tmp_path, fragments4(message(1, 3000, b"bad "), [1480, 1480], 77)).share(undecodable=3)


def test_a_damaged_udp_header_is_malformed(tmp_path: Path) -> None:
    packets = fragments4(udp(b"toy " + bytes(3000), length=5000), [1480, 1480], 77)
    done = both(tmp_path, packets)
    done.share(malformed=3)
    assert [account["undecoded"] for account in done.accounts] == [{}, {"UDP length": 3}]


# Bytes that come twice.


def test_a_repeated_fragment_of_an_open_datagram_belongs_to_it(tmp_path: Path) -> None:
    first, second, third = fragments4(message(5, 3000), [1480, 1480], 77)
    done = both(tmp_path, [first, first, second, third])
    assert [(event["seqno"], event["frame"]) for event in done.events] == [(5, 4)]
    done.share(decoded=4)
    assert done.problems == []


def test_an_overlap_with_the_same_bytes_is_harmless(tmp_path: Path) -> None:
    datagram = message(5, 3000)
    packets = [
        ipv4(datagram[:1480], ident=77, more=True),
        ipv4(datagram[800:2400], ident=77, more=True, offset=800),
        ipv4(datagram[2000:], ident=77, offset=2000),
    ]
    done = both(tmp_path, packets)
    assert done.seqnos == [5]
    done.share(decoded=3)


@pytest.mark.parametrize("offset", [0, 8, 1472, 1480])
def test_an_overlap_with_other_bytes_spoils_the_datagram(tmp_path: Path, offset: int) -> None:
    first, second, third = fragments4(message(5, 3000), [1480, 1480], 77)
    evil = ipv4(b"\xee" * 16, ident=77, more=True, offset=offset)
    packets = [first, second, evil, third]
    done = both(tmp_path, packets)
    assert done.events == []
    done.share(malformed=4)
    (problem,) = done.problems
    assert problem["why"] == "fragments overlap with different bytes"
    assert (problem["first_frame"], problem["last_frame"], problem["fragments"]) == (1, 4, 4)


def test_two_different_ends_spoil_the_datagram(tmp_path: Path) -> None:
    first, second, third = fragments4(message(5, 3000), [1480, 1480], 77)
    short = ipv4(bytes(8), ident=77, offset=2960)
    done = both(tmp_path, [first, third, short, second])
    done.share(malformed=4)
    assert [problem["why"] for problem in done.problems] == ["fragments disagree about the length"]


@pytest.mark.parametrize("last", [0, 1])
def test_contradicting_fragments_of_no_system_are_of_none(tmp_path: Path, last: int) -> None:
    """Whether all of them came or not."""
    parts = fragments4(udp(bytes(3000), 1, 2), [1480, 1480], 77)
    evil = ipv4(bytes(8) + b"\xee" * 8, ident=77, more=True, offset=1480)
    done = both(tmp_path, [*parts[:2], evil, *parts[2 : 2 + last]])
    assert [problem["why"] for problem in done.problems] == [
        "fragments overlap with different bytes"
    ]
    told = [account["of_no_system"] for account in done.accounts if account["undecoded"]]
    assert told == [account["undecoded"] for account in done.accounts if account["undecoded"]]
    assert told


def test_the_whole_datagram_again_is_a_network_duplicate(tmp_path: Path) -> None:
    packets = fragments4(message(5, 3000), [1480, 1480], 77) * 2
    done = both(tmp_path, packets)
    assert [event["flags"] for event in done.events] == [0, Flag.NETWORK_DUPLICATE]
    done.share(decoded=6)


def test_the_same_bytes_after_more_than_two_seconds_are_none(tmp_path: Path) -> None:
    packets = fragments4(message(5, 3000), [1480, 1480], 77) * 2
    late = [START + at for at in (0, 1, 2, 2 * SECOND, 2 * SECOND + 1, 2 * SECOND + 3)]
    assert [event["flags"] for event in both(tmp_path, packets, times_ns=late).events] == [0, 0]
    just = [START + at for at in (0, 1, 2, 2 * SECOND, 2 * SECOND + 1, 2 * SECOND + 2)]
    flags = [event["flags"] for event in both(tmp_path, packets, times_ns=just).events]
    assert flags == [0, Flag.NETWORK_DUPLICATE]


def test_a_repeat_after_completion_shares_the_fate(tmp_path: Path) -> None:
    first, second, third = fragments4(message(5, 3000), [1480, 1480], 77)
    done = both(tmp_path, [first, first, second, second, third, third])
    assert done.seqnos == [5]
    done.share(decoded=6)
    assert done.problems == []


def test_a_left_repeat_does_not_spoil_the_next_datagram_with_its_id(tmp_path: Path) -> None:
    old = fragments4(message(5, 3000), [1480, 1480], 77)
    new = fragments4(message(6, 3000), [1480, 1480], 77)
    done = both(tmp_path, [*old, old[1], *new])
    assert done.seqnos == [5, 6]
    done.share(decoded=7)


# What does not become whole.


def test_an_incomplete_datagram_of_ours_is_undecodable_and_told(tmp_path: Path) -> None:
    first, _, third = fragments4(message(5, 3000), [1480, 1480], 77)
    done = both(tmp_path, [first, third])
    done.share(undecodable=2)
    assert done.events == []
    assert done.problems == [
        {
            "what": "incomplete IP datagram",
            "looks_like": "toy",
            "source": "10.80.0.1",
            "destination": "10.80.0.2",
            "id": 77,
            "fragments": 2,
            "bytes": 1480 + 56,
            "total": 3016,
            "missing": [[1480, 2960]],
            "first_frame": 1,
            "last_frame": 2,
        }
    ]
    assert done.parts == {"frames": 2, "datagrams": 0, "incomplete": 1, "missing": 1}


def test_a_copy_in_a_tunnel_of_which_a_snap_length_left_less_is_a_repeat(tmp_path: Path) -> None:
    parts = fragments4(message(5, 3000), [1480, 1480], 77)
    gre = [ipv4(b"\0\0\x08\0" + part, "10.1.1.1", protocol=47) for part in parts]
    packets = [packet for pair in zip(parts, gre, strict=True) for packet in pair]
    sizes = [len(packet) + 14 for packet in packets]
    done = both(tmp_path, [packet[:90] for packet in packets], originals=sizes)
    done.share(truncated=6)
    assert done.parts == {"frames": 6, "datagrams": 1, "incomplete": 0, "missing": 0}


def cut_again(parts: Sequence[bytes], size: int, first_id: int = 500) -> list[bytes]:
    """The same in GRE, whose packets are cut into fragments as well."""
    packets = []
    for number, part in enumerate(parts, first_id):
        tunnelled = b"\0\0\x08\0" + part
        for at in range(0, len(tunnelled), size):
            more = at + size < len(tunnelled)
            own = tunnelled[at : at + size]
            packets.append(ipv4(own, "192.0.2.1", protocol=47, ident=number, more=more, offset=at))
    return packets


def test_fragments_in_fragments_of_a_tunnel_are_counted_and_then_put_together(
    tmp_path: Path,
) -> None:
    """A tunnel of too small an MTU cuts each large part of a datagram once more."""
    packets = cut_again(fragments4(message(5, 3000), [1480, 1480], 77), 1480)
    done = both(tmp_path, packets)
    assert (done.events, done.frames) == ([], 5)
    assert done.parts["nested"] == 2  # the third is in one packet
    done = both(tmp_path, packets, nested=True)
    (event,) = done.events
    assert (event["seqno"], event["source"], event["fresh_id"]) == (5, "10.80.0.1", 77)
    done.share(decoded=5)
    assert done.parts == {"frames": 5, "datagrams": 1, "incomplete": 0, "missing": 0, "nested": 2}
    told = [account["tunnels"] for account in done.accounts if account.get("tunnels")]
    assert sum((Counter(one) for one in told), Counter()) == {"GRE": 5}


def test_what_carries_a_fragment_shares_the_fate_of_its_datagram(tmp_path: Path) -> None:
    parts = fragments4(message(5, 3000), [1480, 1480], 77)
    packets = cut_again(parts, 1480)
    both(tmp_path, [*packets, *packets[:2]], nested=True).share(decoded=7)  # repeats
    lacking = both(tmp_path, packets[2:], nested=True)  # without its first fragment
    lacking.share(other=3)
    (told,) = lacking.problems
    assert told["what"] == "incomplete IP datagram" and told["missing"] == [[0, 1480]]
    both(tmp_path, packets[:4], nested=True).share(undecodable=4)
    torn = both(tmp_path, [packets[0], *packets[2:]], nested=True)  # a fragment of a fragment
    torn.share(other=4)


def test_fragments_thrice_in_another_are_put_together(tmp_path: Path) -> None:
    packets = fragments4(message(5, 900), [400, 400], 77)
    for size in (320, 240):
        packets = cut_again(packets, size, 600 + size)
    done = both(tmp_path, packets, nested=True)
    assert done.seqnos == [5]
    done.share(decoded=len(packets))


@pytest.mark.parametrize(
    ("left", "lacking"), [((1, 2, 3), 1), ((0, 3), 2), ((0, 1), 2), ((0,), 3), ((1, 2), 1)]
)
def test_fragments_that_are_missing_are_counted_as_far_as_the_others_tell(
    tmp_path: Path, left: tuple[int, ...], lacking: int
) -> None:
    """A datagram of four: its length is in its last fragment, and in UDP's header in the first."""
    parts = fragments4(message(5, 5000), [1480, 1480, 1480], 77)
    assert len(parts) == 4
    assert both(tmp_path, [parts[n] for n in left]).parts["missing"] == lacking


@pytest.mark.parametrize("missing", [0, 2])
def test_an_incomplete_datagram_is_ours_only_if_its_beginning_says_so(
    tmp_path: Path, missing: int
) -> None:
    packets = fragments4(message(5, 3000), [1480, 1480], 77)
    del packets[missing]
    done = both(tmp_path, packets)
    done.share(**({"other": 2} if missing == 0 else {"undecodable": 2}))
    (problem,) = done.problems
    assert problem["looks_like"] == (None if missing == 0 else "toy")
    assert problem["missing"] == ([[0, 1480]] if missing == 0 else [])


def test_an_incomplete_datagram_of_nobody_is_other(tmp_path: Path) -> None:
    packets = fragments4(udp(bytes(3000)), [1480, 1480], 77)[:2]
    both(tmp_path, packets).share(other=2)


def test_a_false_udp_length_of_an_incomplete_datagram_harms_nothing(tmp_path: Path) -> None:
    datagram = udp(b"toy " + bytes(1500), length=65535)
    both(tmp_path, fragments4(datagram, [1480], 77)[:1]).share(other=1)


@pytest.mark.parametrize(("pause", "seqnos"), [(30 * SECOND, [5]), (30 * SECOND + 1, [])])
def test_a_datagram_is_given_up_after_30_s(tmp_path: Path, pause: int, seqnos: list[int]) -> None:
    packets = fragments4(message(5, 2000), [1480], 77)
    done = both(tmp_path, packets, times_ns=[START, START + pause])
    assert done.seqnos == seqnos
    assert len(done.problems) == (0 if seqnos else 2)


def test_snap_length_leaves_the_beginning_of_the_datagram(tmp_path: Path) -> None:
    packets = [ethernet(packet) for packet in fragments4(message(5, 3000), [1480, 1480], 77)]
    capture = pcap([packet[:96] for packet in packets], originals=[len(p) for p in packets])
    done = run(write(tmp_path / "cut.pcap", capture))
    assert [(event["seqno"], event["flags"]) for event in done.events] == [(5, Flag.CUT)]
    done.share(truncated=3)


def test_memory_is_bounded_by_giving_up_the_oldest() -> None:
    assembler = fragments.Assembler(DecodeSettings(compile_it=False), held_bytes=20_000)
    rows: list[dict[str, Any]] = []
    for number in range(1, 9):
        rows += rows_of(assembler.feed([half(number, ident=number, more=True)]))
    rows += rows_of(assembler.feed([half(9, ident=8, more=False)]))
    rows += rows_of(assembler.feed([half(10, ident=1, more=False)]))
    rows += rows_of(assembler.finish())
    done = Run([*rows, fake_account(10)])
    assert done.seqnos == [8]
    done.share(decoded=2, undecodable=7, other=1)


def half(frame: int, *, ident: int, more: bool) -> Fragment:
    """One of the two halves of a toy datagram."""
    datagram = message(ident, 1584)
    facts = {
        "version": 4, "source": "10.0.0.1", "destination": "10.0.0.2", "protocol": 17, "id": ident,
        "offset": 0 if more else 800, "more": int(more), "length": 800, "ttl": 64, "outgoing": 0,
        "wire": 834,
        "captured": 834,
        "link": 1,
    }  # fmt: skip
    payload = datagram[:800] if more else datagram[800:]
    return Fragment(0, f"ip|{ident}", frame, 1, facts, payload)


def rows_of(batches: Any) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def fake_account(frames: int) -> dict[str, Any]:
    detail = {"frames": frames, "frames_by": {}, "fragments": {}, "undecoded": {}}
    return {"frame": 0, "index": -1, "kind": Kind.ACCOUNT, "detail": json.dumps(detail)}


# The second stage passes everything else.


def test_rows_that_are_no_segments_pass_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "plain.pcap", pcap([ethernet(ipv4(message(1)))]))
    (piece,) = plan_pieces(path, 0, 0, 1 << 40)
    settings = DecodeSettings(compile_it=False)
    batches = list(decode_piece(piece, settings))
    assert list(reassemble(iter(batches), settings)) == batches


def test_captures_do_not_mix(tmp_path: Path) -> None:
    first, second = fragments4(message(5, 2000), [1480], 77)
    settings = DecodeSettings(compile_it=False)
    batches: list[pa.RecordBatch] = []
    for number, packet in enumerate((first, second)):
        path = write(tmp_path / f"{number}.pcap", pcap([ethernet(packet)]))
        (piece,) = plan_pieces(path, number, number, 1 << 40)
        batches += decode_piece(piece, settings)
    table = pa.Table.from_batches(batches, EVENTS).sort_by(
        [(name, "ascending") for name in ("carrier", "capture", "frame", "index")]
    )
    done = Run(pa.Table.from_batches(reassemble(table.to_batches(), settings), EVENTS).to_pylist())
    assert done.events == []
    done.share(undecodable=1, other=1)
    assert [account["piece"] for account in done.accounts if not account["frames"]] == [0, 1]


def test_who_sent_and_over_what_is_told_as_for_other_frames(tmp_path: Path) -> None:
    packets = [sll2(packet, packet_type=4) for packet in fragments4(message(5, 3000), [1480], 77)]
    done = run(write(tmp_path / "any.pcap", pcap(packets, link=276)))
    (account,) = [account for account in done.accounts if not account["frames"]]
    assert account["ends"] == {
        "both": ["10.80.0.1", "10.80.0.2"],
        "frames": 2,
        "outgoing": ["10.80.0.1"],
        "ttl": {"10.80.0.1": [64, 64]},
        "within": {},
    }
    size = sum(len(packet) for packet in packets)
    assert account["endpoints"] == [["udp", "10.80.0.2", 45588, "toy", 2, size]]
    assert account["messages_by"] == {"toy": {"TOY": 1}}


# Cuts.


@st.composite
def traffic(draw: st.DrawFn) -> list[tuple[bytes, int]]:
    """Fragments and whole datagrams, some lost, repeated, contradicting or late; few ids."""
    packets: list[tuple[bytes, int]] = []
    for seqno in range(draw(st.integers(1, 5))):
        ident = draw(st.integers(1, 2))
        kind = draw(st.sampled_from(["plain", "whole", "lost", "twice", "evil", "each twice"]))
        parts = fragments4(message(seqno, draw(st.sampled_from([40, 90]))), [32, 32], ident)
        if kind == "plain":
            parts = [ipv4(message(seqno), ident=ident)]
        elif kind == "lost":
            del parts[draw(st.integers(0, 2))]
        elif kind == "twice":
            parts *= 2
        elif kind == "each twice":
            parts = [part for part in parts for _ in range(2)]
        elif kind == "evil":
            parts.insert(draw(st.integers(0, 3)), ipv4(b"\xee" * 8, ident=ident, more=True))
        if draw(st.booleans()):
            parts = draw(st.permutations(parts))
        if draw(st.booleans()):
            parts = cut_again(parts, 24, 1000 * (1 + seqno))
        packets += [(part, draw(st.sampled_from([1, SECOND // 2, 20 * SECOND]))) for part in parts]
    if draw(st.booleans()):
        packets = draw(st.permutations(packets))
    return packets


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(traffic(), st.booleans(), st.data())
def test_cuts_and_stages_change_nothing(
    tmp_path: Path, packets: list[tuple[bytes, int]], nested: bool, data: st.DataObject
) -> None:
    """However much of the capture is looked at at once."""
    times = [START + sum(pause for _, pause in packets[: n + 1]) for n in range(len(packets))]
    capture = pcap([ethernet(packet) for packet, _ in packets], times_ns=times)
    path = write(tmp_path / "cut.pcap", capture)
    whole = run(path, nested=nested)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packets_module, "STEP", data.draw(st.sampled_from([2, 3, 5, 16_384])))
        assert same(run(path, in_piece=True, nested=nested)) == same(whole)
    borders = record_offsets(capture)[1:-1]
    if borders:
        cuts = sorted(data.draw(st.sets(st.sampled_from(borders), min_size=1)))
        split = run(path, cuts=cuts, nested=nested)
        assert renumbered(split, cuts, capture) == renumbered(whole, [], capture)


def renumbered(result: Run, cuts: Sequence[int], capture: bytes) -> list[Any]:
    """``same`` with frames as numbers in the file."""
    borders = record_offsets(capture)
    bases = [0, *(borders.index(cut) for cut in cuts)]

    def number(frame: int) -> int:
        return bases[frame >> FRAME_BITS] + (frame & (1 << FRAME_BITS) - 1)

    rows: list[dict[str, Any]] = []
    for row in result.rows:
        row = dict(row)
        if row["kind"] != Kind.ACCOUNT:
            row["frame"], row["last_frame"] = number(row["frame"]), number(row["last_frame"])
        if row["kind"] == Kind.PROBLEM:
            detail = json.loads(row["detail"])
            for name in ("first_frame", "last_frame"):
                detail[name] = number(detail[name])
            row["detail"] = json.dumps(detail, sort_keys=True)
        rows.append(row)
    return same(Run(rows))


@pytest.mark.parametrize(
    ("name", "datagrams", "incomplete"),
    [("ipv6-discard-1/B-nano.pcap", 11, 0), ("u3n2-ipfrag-loss-1/B.pcap", 63, 0)],
)
def test_real_fragments_are_put_together(
    monkeypatch: pytest.MonkeyPatch, name: str, datagrams: int, incomplete: int
) -> None:
    monkeypatch.undo()
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"no {name}")
    done = run(str(path))
    inside = run(str(path), in_piece=True)
    assert (done.parts["datagrams"], done.parts["incomplete"]) == (datagrams, incomplete)
    assert done.events == inside.events
    assert done.frames_by == inside.frames_by
