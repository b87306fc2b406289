"""A first look refuses only what a look at each segment refuses, and nothing else changes."""

import io
import json
import random
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqaudit.decoders.capture.pieces import stream_piece
from seqaudit.decoders.contract.events import EVENTS, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network import packets as packet_module
from seqaudit.decoders.network.packets import Packets
from seqaudit.decoders.stages.first import decode_piece, reassemble
from seqaudit.decoders.stages.registry import stream_systems
from seqaudit.decoders.tcp import first_look, flows
from seqaudit.decoders.tcp.first_look import FirstLook
from seqaudit.decoders.tcp.framing import Match
from seqaudit.decoders.tcp.segments import LEFT, WANTED, Segments
from seqaudit.decoders.tcp.traces import Heads
from seqaudit.decoders.tcp.wire import ACK, FIN, RST, SYN
from seqaudit.decoders.zenoh import tcp as zenoh_tcp
from tests.decoders.jgroups import builders as jgroups
from tests.decoders.network.builders import ethernet, ipv4

SYSTEMS: Final = stream_systems(DecodeSettings())
PREAMBLE: Final = b"bela\x50\x00\x00\x06\x04\x0a\x00\x00\x01\x1e\x78"
FIRST_BYTES: Final = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01" + bytes(40),
    b"\x00\x1d\x12\x34\x01\x00" + bytes(24),  # DNS over TCP
    PREAMBLE,
    PREAMBLE[:3],
    b"\x0a\x00\x01\x09\x01\x07\x00\x00\x00\x00\x00\x00",  # a zenoh Init, more or less
    b"\x0a\x00",
    b"\x80\x00\x00\x20" + bytes(4) + b"\xc4\x03" + bytes(60),  # of raims, more or less
    b"\x80",
    bytes(7) + b"\x04" + bytes(7) + b"\x03",  # the greeting of RV
    bytes(3),
    b"x",
)

mostly_wire = st.one_of(
    st.binary(max_size=24),
    st.tuples(st.sampled_from(FIRST_BYTES), st.integers(0, 30), st.binary(max_size=8)).map(
        lambda parts: parts[0][: parts[1]] + parts[2]
    ),
)


@pytest.mark.parametrize("name", SYSTEMS)
@settings(max_examples=50)
@given(prefixes=st.lists(mostly_wire.filter(bool), min_size=1, max_size=6))
def test_what_a_system_refuses_at_first_sight_it_does_not_recognise(
    name: str, prefixes: list[bytes]
) -> None:
    system = SYSTEMS[name]
    stops = np.cumsum([len(prefix) for prefix in prefixes])
    starts = np.append(0, stops[:-1])
    refused = system.refuses(Heads.of(b"".join(prefixes), starts, stops))
    for prefix, no in zip(prefixes, refused.tolist(), strict=True):
        if no:
            assert system.recognise(prefix, True) == Match.NO


@pytest.mark.parametrize("text", FIRST_BYTES[:3])
def test_ordinary_protocols_are_refused_by_all(text: bytes) -> None:
    heads = Heads.of(text, np.array([0]), np.array([len(text)]))
    assert all(system.refuses(heads).all() for system in SYSTEMS.values())


# -- a look at columns against a look at each segment ----------------------------------------------

ACTIONS: Final = ("syn", "syn+ack", "ack", "data", "data", "fin", "rst", "again", "skip", "pause")
STEP_US: Final = 1_000
steps = st.lists(
    st.tuples(
        st.integers(0, 3),  # flow
        st.integers(0, 1),
        st.sampled_from(ACTIONS),
        st.sampled_from(FIRST_BYTES),
    ),
    min_size=1,
    max_size=60,
)
opening = st.lists(st.sampled_from(("syn", "syn+ack", "ack", "fin", "data", "rst")), max_size=6)


class Capture:
    """A pcap of some connections, each of which does as it is told."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, int], int] = {}
        self._last: bytes | None = None
        self._at_us = 1_700_000_000_000_000
        self.text = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)

    def do(self, flow: int, direction: int, action: str, payload: bytes, cut: int = 0) -> None:
        self._at_us += 5_000_000 if action == "pause" else STEP_US
        if action == "skip":
            self._next[flow, direction] = self._seq(flow, direction) + 7
        if action in ("pause", "skip"):
            return
        if action != "again" or self._last is None:
            self._last = self._frame(flow, direction, action, payload)
        captured = self._last[: len(self._last) - cut]
        seconds, micros = divmod(self._at_us, 1_000_000)
        sizes = len(captured), len(self._last)
        self.text += struct.pack("<IIII", seconds, micros, *sizes) + captured

    def _seq(self, flow: int, direction: int) -> int:
        return self._next.get((flow, direction), 0xFFFF_FFF0 + flow)

    def _frame(self, flow: int, direction: int, action: str, payload: bytes) -> bytes:
        flags = {
            "syn": SYN, "syn+ack": SYN | ACK, "data": ACK, "fin": FIN | ACK, "rst": RST,
        }.get(action, ACK)  # fmt: skip
        text = payload if action == "data" else b""
        seq = self._seq(flow, direction)
        self._next[flow, direction] = seq + len(text) + (flags & (SYN | FIN) > 0)
        ends = [("10.0.0.1", 40_000 + flow), (f"10.0.0.{2 + flow % 2}", 80)]
        if direction:
            ends.reverse()
        ack = self._seq(flow, 1 - direction) if flags & ACK else 0
        header = struct.pack(
            ">HHIIBBHHH", ends[0][1], ends[1][1], seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags,
            65_000, 0, 0,
        )  # fmt: skip
        return ethernet(ipv4(header + text, ends[0][0], ends[1][0], protocol=6))


def told(text: bytes, step: int, settings: DecodeSettings, *, look: bool) -> dict[str, Any]:
    """What comes of a capture: its rows, and the sums of its accounts."""

    def none(
        self: FirstLook, packets: Packets, segments: Segments, rows: Any
    ) -> tuple[list[Segments], Iterable[Any]]:
        self._hand_over(packets.columns[k.FLOW][rows], packets.record_column("original")[rows])
        self._finder.states[segments.flow] = WANTED
        return [segments], []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packet_module, "STEP", step)
        if not look:
            patch.setattr(FirstLook, "feed", none)
        batches = [*decode_piece(stream_piece(0, 0), settings, io.BytesIO(text))]
        if not settings.finish_fragments:
            rows = pa.Table.from_batches(batches, EVENTS).sort_by(
                [(name, "ascending") for name in ("carrier", "capture", "frame", "index")]
            )
            batches = [*reassemble(rows.to_batches(), settings)]
    found: list[str] = []
    counts: Counter[str] = Counter()
    shipped: list[Any] = []
    for row in pa.Table.from_batches(batches, EVENTS).to_pylist():
        if row["kind"] != Kind.ACCOUNT:
            found.append(json.dumps(row, sort_keys=True, default=str))
            continue
        detail = json.loads(row["detail"])
        counts.update(detail["frames_by"])
        for *end, frames, size in detail["endpoints"]:
            counts.update({f"{end} frames": frames, f"{end} bytes": size})
        shipped += [detail["shipped"]] if "shipped" in detail else []
    return {"rows": sorted(found), "counts": +counts, "shipped": shipped}


def compare(capture: Capture, step: int, pieces: tuple[bool, ...] = (False, True)) -> None:
    for finish in (not one for one in pieces):
        settings = DecodeSettings(finish_fragments=finish, compile_it=False)
        assert told(capture.text, step, settings, look=True) == told(
            capture.text, step, settings, look=False
        )


@settings(max_examples=30)
@given(steps, opening, st.integers(1, 20), st.integers(0, 40))
@example([(0, 0, "rst", b"x")], [], 1, 0)
@example([(0, 0, "data", PREAMBLE), (0, 1, "data", b"x")], ["syn", "syn+ack"], 1, 0)
@example([(0, 0, "data", bytes(7) + b"\x04" + bytes(7) + b"\x03")], ["syn"] * 3, 1, 0)
@example([(0, 0, "data", bytes(7) + b"\x04" + bytes(7) + b"\x03")], ["rst"], 1, 0)
def test_a_first_look_changes_nothing(
    story: list[tuple[int, int, str, bytes]], begin: list[str], step: int, cut: int
) -> None:
    capture = Capture()
    for flow in range(3):
        for number, action in enumerate(begin):
            capture.do(flow, number % 2, action, FIRST_BYTES[flow])
    for flow, direction, action, payload in story:
        cuts = min(cut, len(payload)) if action == "data" else 0
        capture.do(flow, direction, action, payload, cuts)
    compare(capture, step)


@pytest.mark.parametrize("roomy", [4, 1])
@pytest.mark.parametrize("seed", range(8))
def test_a_first_look_changes_nothing_where_tables_of_flows_are_replaced(
    seed: int, roomy: int
) -> None:
    """What waits has come under other numbers then."""
    chance = random.Random(seed)
    capture = Capture()
    for _ in range(150):
        action = chance.choice(("syn", "syn+ack", "ack", "data", "data", "fin", "rst"))
        capture.do(chance.randrange(12), chance.randrange(2), action, chance.choice(FIRST_BYTES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k, "HOSTS", 5)
        patch.setattr(k, "ROOMY_HOSTS", roomy)
        patch.setattr(flows, "MIDDLE_BYTES", 1)
        patch.setattr(zenoh_tcp, "LOOK_BYTES", 1 << 20)
        compare(capture, chance.choice((3, 20, 150)))


middles = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 1),
        st.sampled_from(("data", "data", "data", "data", "ack", "fin", "skip", "again", "syn")),
        st.sampled_from(range(len(FIRST_BYTES) + 1)),
    ),
    min_size=1,
    max_size=60,
)  # fmt: skip


def frames_of_jgroups() -> bytes:
    """Two messages behind each other, as they are on a connection."""
    message = jgroups.single(jgroups.data3(1, 1, first=True), version=jgroups.V4_2_22)
    return (struct.pack(">I", len(message)) + message) * 2


@settings(max_examples=30)
@given(middles, st.integers(1, 20), st.sampled_from((1, 40, 300)), st.sampled_from((1, 200, 10**6)))
@example([(0, 0, "data", 0), (0, 1, "data", len(FIRST_BYTES))] * 4, 2, 40, 10**6)
@example([(0, 1, "data", 0), (0, 0, "data", 9)], 1, 1, 1)
def test_connections_caught_in_the_middle_are_whose_they_are(
    story: list[tuple[int, int, str, int]], step: int, look: int, total: int
) -> None:
    """Whatever is held of them, and for how long. What a piece has no room for it withholds."""
    payloads = [*FIRST_BYTES, frames_of_jgroups()]
    capture = Capture()
    for flow, direction, action, payload in story:
        capture.do(flow, direction, action, payloads[payload])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_look, "MIDDLE_LOOK", look)
        patch.setattr(first_look, "MIDDLE_TOTAL", total)
        patch.setattr(flows, "MIDDLE_BYTES", 1)
        patch.setattr(zenoh_tcp, "LOOK_BYTES", 1 << 20)  # none refuses what may still be its
        compare(capture, step, (False, True) if total >= 10**6 else (False,))


def test_what_was_caught_in_the_middle_of_others_is_refused_without_an_object() -> None:
    chance = random.Random(4)
    capture = Capture()
    for number in range(400):
        capture.do(number % 4, number // 4 % 2, "data", chance.randbytes(1_000))
    assert followed_of(capture, all_left=False) == []


def test_a_plain_connection_is_refused_without_an_object() -> None:
    capture = Capture()
    for flow in range(4):
        for number, action in enumerate(("syn", "syn+ack", "ack", "data", "ack", "fin", "fin")):
            capture.do(flow, number % 2, action, b"GET / HTTP/1.0\r\n\r\n")
    assert followed_of(capture, all_left=True) == []


def test_a_connection_without_a_byte_is_refused_without_an_object() -> None:
    capture = Capture()
    for flow in range(4):
        for number, action in enumerate(("syn", "syn+ack", "ack")[: flow + 1]):
            capture.do(flow, number % 2, action, b"")
    assert followed_of(capture, all_left=False) == []


def followed_of(capture: Capture, *, all_left: bool) -> list[Segments]:
    """What goes on to flows. ``all_left``: every connection is refused at once."""
    followed: list[Segments] = []
    with pytest.MonkeyPatch.context() as patch:
        usual = FirstLook.feed

        def noted(self: FirstLook, packets: Packets, segments: Segments, rows: Any) -> Any:
            out, refused = usual(self, packets, segments, rows)
            followed.extend(out)
            assert not all_left or (self._finder.states >= LEFT).all()
            return out, refused

        patch.setattr(FirstLook, "feed", noted)
        finish = FirstLook.finish

        def ended(self: FirstLook) -> Any:
            out, refused = finish(self)
            followed.extend(out)
            return out, refused

        patch.setattr(FirstLook, "finish", ended)
        settings = replace(DecodeSettings(), compile_it=False, finish_fragments=True)
        for _ in decode_piece(stream_piece(0, 0), settings, io.BytesIO(capture.text)):
            pass
    return followed
