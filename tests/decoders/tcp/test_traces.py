"""Where no trace of a system is, it need not be asked: it would say what is known."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import Argument, argument, compiled, interpreted
from seqaudit.decoders.stages.registry import stream_systems
from seqaudit.decoders.tcp import trace_kernels as wire
from seqaudit.decoders.tcp import traces
from seqaudit.decoders.tcp.framing import Match
from seqaudit.decoders.tcp.traces import TraceSearch
from tests.decoders.jgroups import builders as jgroups
from tests.decoders.zenoh import builders as zenoh

NONE: Final = b"nothing of any"
SYSTEMS: Final = list(stream_systems(DecodeSettings()).values())
FRAME: Final = jgroups.single(jgroups.data3(1, 1, first=True), version=jgroups.V4_2_22)
BATCH: Final = zenoh.frame(1, zenoh.push(zenoh.put(1, zid=bytes(range(1, 9))), 0, "demo/a"))
RAIMS: Final = (
    b"\x80" + bytes(7) + b"\xc4\x03" + bytes(16) + b"\xc4\x05" + bytes(16) + b"\x47\x00ab"
)
#: What is somewhere in a stream of each system, whole and in pieces.
SHOWN: Final = (
    len(FRAME).to_bytes(4, "big") + FRAME,
    len(FRAME).to_bytes(4, "big") + FRAME + len(FRAME).to_bytes(4, "big") + FRAME[:9],
    b"bela\x20\x00\x00\x07\x04\x0a\x00\x00\x01\x1e\x78",
    RAIMS,
    b"\x00\x00\x00\x60\x99\x55\xee\xaa\x04sub\x00\x02\x05a.b.c\x00",
    bytes(7) + b"\x04" + bytes(7) + b"\x03",
    3 * (len(BATCH).to_bytes(2, "little") + BATCH),
    3 * (len(BATCH).to_bytes(4, "little") + BATCH),
    zenoh.init(),
    bytes(40),
    b"\x01\x00\x04" * 5,
    b"\x01\x00\x00\x00\x04" * 5,
)

piece: Final = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(SHOWN),
    st.tuples(st.sampled_from(SHOWN), st.integers(0, 80)).map(lambda part: part[0][: part[1]]),
    st.tuples(st.sampled_from(SHOWN), st.integers(0, 80)).map(lambda part: part[0][part[1] :]),
)
direction: Final = st.lists(piece, min_size=1, max_size=6).map(b"".join)


def look_of(*, patience: int = 0) -> TraceSearch:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "PATIENCE", patience)
        return TraceSearch(SYSTEMS, compile_it=True)


def finds(look: TraceSearch, directions: Sequence[bytes]) -> list[bool]:
    stops = np.cumsum([len(one) for one in directions])
    starts = np.append(np.zeros(1, np.int64), stops[:-1])
    found: list[bool] = look.finds(b"".join(directions), starts, stops).tolist()
    return found


def unshown(one: bytes, searched: int) -> Match:
    """What a system says that is not shown its traces."""
    return Match.NO if len(one) >= searched else Match.UNDECIDED


@settings(max_examples=150)
@given(directions=st.lists(direction.filter(bool), min_size=1, max_size=5))
@example(directions=[b"\x00", b"\x99"])
@example(directions=[bytes(96 << 10), b"x" * (96 << 10), b"x" * ((96 << 10) - 1)])
def test_without_a_trace_every_system_says_what_is_known(directions: list[bytes]) -> None:
    for one, found in zip(directions, finds(look_of(), directions), strict=True):
        if not found:
            for system in SYSTEMS:
                verdict = system.recognise(one, False)
                assert verdict == unshown(one, system.traces.searched), system.system


@pytest.mark.parametrize("shown", [*SHOWN[:5], SHOWN[6]])
@pytest.mark.parametrize("before", range(3))
def test_what_a_system_sends_has_its_trace_wherever_it_begins(shown: bytes, before: int) -> None:
    assert finds(look_of(), [b"x" * before + shown + b"yz", NONE]) == [True, False]


def test_most_bytes_of_others_have_none() -> None:
    chance = np.random.default_rng(3)
    directions = [chance.bytes(40_000) for _ in range(50)]
    assert sum(finds(look_of(), directions)) < 3
    assert not any(finds(look_of(), [b"GET / HTTP/1.1\r\n" * 900] * 5))


def test_compiling_is_left_until_there_are_many_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "is_kept", lambda name: False)
    look = look_of(patience=3)
    assert finds(look, [NONE]) == finds(look, [NONE]) == [True]
    assert finds(look, [NONE]) == [False]
    assert finds(TraceSearch(SYSTEMS, compile_it=False), [NONE]) == [True]


@settings(max_examples=50)
@given(directions=st.lists(direction, min_size=1, max_size=5), room=st.integers(0, 30))
def test_interpreted_and_compiled_tell_the_same(directions: list[bytes], room: int) -> None:
    table = look_of().table
    room += int(table[wire.MARKS] + table[wire.LENGTHS] * (wire.MOST_PLACES + 1))
    stops = np.cumsum([len(one) for one in directions])
    starts = stops - np.array([len(one) for one in directions])
    data = b"".join(directions) or b"x"
    told = []
    for compile_it in (False, True):
        module = compiled("tcp.trace_kernels") if compile_it else interpreted("tcp.trace_kernels")
        out = np.zeros(room * wire.TOLD, np.int64)
        given: list[Argument] = [argument(a, compile_it=compile_it) for a in (starts, stops, table)]
        raw = np.frombuffer(data, np.uint8) if compile_it else data
        begin, found = 0, []
        while begin < len(directions):
            begin, count = module.look(
                raw, *given[:2], begin, len(directions), given[2],
                argument(out, compile_it=compile_it), room,
            )  # fmt: skip
            found += out[: count * wire.TOLD].tolist()
        told.append(found)
    assert told[0] == told[1]
