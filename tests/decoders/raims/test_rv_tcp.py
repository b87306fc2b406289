"""RV clients over TCP: messages, framing, recognition (raims.md 11)."""

import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.raims.rv import read_envelope, read_fields
from seqaudit.decoders.raims.rv_tcp import (
    CLIENT_RECORD,
    DAEMON_RECORD,
    GREETED,
    GREETING,
    RvFraming,
    RvStreamDecoder,
    RvStreams,
)
from seqaudit.decoders.tcp.framing import MESSAGE, Connection, Match, StreamFrames

MAGIC = bytes.fromhex("9955eeaa")


def sized(value: bytes, form: int = 0) -> bytes:
    """A value behind its size: one byte, 0x79 and u16, or 0x7a and u32."""
    if form == 0x79:
        return b"\x79" + struct.pack(">H", len(value) + 2) + value
    if form == 0x7A:
        return b"\x7a" + struct.pack(">I", len(value) + 4) + value
    return bytes([len(value)]) + value


def named(name: str, kind: int, value: bytes, form: int = 0) -> bytes:
    text = name.encode() + b"\0"
    return bytes([len(text)]) + text + bytes([kind]) + sized(value, form)


def string(name: str, value: str) -> bytes:
    return named(name, 8, value.encode() + b"\0")


def subject(text: str) -> bytes:
    parts = text.split(".")
    body = bytes([len(parts)])
    for part in parts:
        body += bytes([len(part) + 2]) + part.encode() + b"\0"
    return named("sub", 2, body, 0x79)


def message(*fields: bytes) -> bytes:
    body = MAGIC + b"".join(fields)
    return struct.pack(">I", len(body) + 4) + body


def nested(name: str, *fields: bytes) -> bytes:
    return named(name, 1, MAGIC + b"".join(fields), 0x7A)


def uint(name: str, value: int) -> bytes:
    return named(name, 12, value.to_bytes(4, "big"))


def record(first: int) -> bytes:
    return struct.pack(">II", first, 2) + bytes(56)


ADVISORY = message(
    string("mtype", "A"), subject("_RV.ERROR.SYSTEM.DATALOSS.INBOUND.BCAST"),
    nested("data", string("ADV_CLASS", "ERROR"), uint("lost", 3), uint("sub_cnt", 1),
           string("sub1", "RSF.A"), uint("lost1", 3), named("scid", 10, struct.pack(">H", 7500))),
)  # fmt: skip
DATA = message(subject("RSF.A"), string("mtype", "D"), string("data", "RSF.A#1"))
LISTEN = message(string("mtype", "L"), subject("RSF.>"))
INIT = message(string("mtype", "I"), string("service", "7500"))
DAEMON = GREETING + record(2) + record(1) + DATA + ADVISORY + DATA
FROM_CLIENT = GREETING + record(3) + INIT + LISTEN
SYSTEM = RvStreams(DecodeSettings())


def test_a_message_has_an_envelope_and_an_advisory_its_data() -> None:
    told = read_envelope(ADVISORY)
    assert (told.word, told.subject, told.damaged) == (
        "ADVISORY", "_RV.ERROR.SYSTEM.DATALOSS.INBOUND.BCAST", False,
    )  # fmt: skip
    assert told.fields == {
        "data": {"ADV_CLASS": "ERROR", "lost": 3, "sub_cnt": 1, "sub1": "RSF.A", "lost1": 3,
                 "scid": 7500},
    }  # fmt: skip
    assert read_envelope(DATA).fields == {}


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (9, b"\1", True),
        (10, bytes([10, 77, 0, 2]), "10.77.0.2"),
        (11, b"\xff\xff", -1),
        (12, b"\xff\xff", 65535),
        (13, struct.pack(">d", 1.5), 1.5),
        (7, b"\1\2", b"\1\2"),
        (34, b"\1\2", b"\1\2"),
    ],
)
def test_types_of_fields(kind: int, raw: bytes, value: Any) -> None:
    assert read_fields(named("x", kind, raw), 0) == ({"x": value}, False)


@given(st.integers(0, len(ADVISORY) - 1), st.binary(max_size=3))
def test_damage_never_raises_and_is_said(at: int, noise: bytes) -> None:
    cut = read_envelope(ADVISORY[:at] + noise)
    assert cut.word in ("ADVISORY", "OTHER")
    if at and not noise and at not in (8, 19, len(ADVISORY)):
        assert cut.damaged == (at > 8 and at != 8 + len(string("mtype", "A")) and not _ends(at))


def test_data_that_is_no_message_is_damage() -> None:
    told = read_envelope(message(string("mtype", "R"), uint("data", 7), uint("n", 1)))
    assert (told.word, told.fields, told.damaged) == ("RESPONSE", {"n": 1}, True)


def _ends(at: int) -> bool:
    """A field ends there, so nothing looks damaged."""
    first = 8 + len(string("mtype", "A"))
    return at in (first, first + len(subject("_RV.ERROR.SYSTEM.DATALOSS.INBOUND.BCAST")))


@pytest.mark.parametrize(
    ("prefix", "began", "verdict"),
    [
        (DAEMON, True, Match.YES),
        (FROM_CLIENT, True, Match.YES),
        (DAEMON, False, Match.YES),
        (GREETING, True, Match.LIKELY),
        (GREETING[:5], True, Match.UNDECIDED),
        (DATA, True, Match.NO),
        (DATA[3:] + ADVISORY, False, Match.YES),
        (b"GET / HTTP/1.1", True, Match.NO),
        (b"x" * 100, False, Match.UNDECIDED),
        (b"x" * (1 << 17), False, Match.NO),
    ],
)
def test_recognition(prefix: bytes, began: bool, verdict: Match) -> None:
    assert SYSTEM.recognise(prefix, began) is verdict


def split_all(stream: bytes, cuts: list[int], began: bool = True) -> list[tuple[bytes, int]]:
    """Frames of a stream that is shown in pieces."""
    framing = RvFraming(began)
    found, held = [], b""
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        held += stream[begin:end]
        split = framing.split(held, final=end == len(stream))
        found += [
            (held[a:b], int(k))
            for a, b, k in zip(split.starts, split.stops, split.kinds, strict=True)
        ]
        held = held[split.consumed :]
    return found


WHOLE = [
    (GREETING, GREETED), (record(2), DAEMON_RECORD), (record(1), DAEMON_RECORD), (DATA, MESSAGE),
    (ADVISORY, MESSAGE), (DATA, MESSAGE),
]  # fmt: skip


@given(st.lists(st.integers(0, len(DAEMON)), max_size=12).map(sorted))
def test_frames_do_not_depend_on_where_the_bytes_are_cut(cuts: list[int]) -> None:
    assert split_all(DAEMON, cuts) == WHOLE


@given(st.integers(1, len(DATA) - 1), st.lists(st.integers(0, 300), max_size=6).map(sorted))
def test_out_of_step_the_next_envelope_is_found(begin: int, cuts: list[int]) -> None:
    stream = (DATA + ADVISORY + DATA)[begin:]
    inside = [cut for cut in cuts if cut <= len(stream)]
    assert split_all(stream, inside, began=False) == [(ADVISORY, MESSAGE), (DATA, MESSAGE)]


def test_damage_in_the_middle_costs_one_message() -> None:
    broken = DATA + b"\xff" * 20 + ADVISORY
    assert split_all(broken, []) == [(DATA, MESSAGE), (ADVISORY, MESSAGE)]


def test_rows_of_a_connection() -> None:
    parts = [(1, record(2), DAEMON_RECORD), (0, record(3), CLIENT_RECORD), (0, INIT, MESSAGE),
             (0, LISTEN, MESSAGE), (1, DATA, MESSAGE), (1, ADVISORY, MESSAGE)]  # fmt: skip
    data = b"".join(part for _, part, _ in parts)
    stops = np.cumsum([len(part) for _, part, _ in parts])
    count = len(parts)
    numbers = np.arange(count, dtype=np.int64)
    frames = StreamFrames(
        connection=Connection(0, "c", (("127.0.0.1", 5), ("127.0.0.1", 7500))),
        data=data, compile_it=False, start=stops - [len(part) for _, part, _ in parts], stop=stops,
        kind=np.array([kind for *_, kind in parts]), direction=np.array([d for d, *_ in parts]),
        frame=numbers + 1, at_ns=numbers, place=numbers * 0, lost=numbers * 0,
        refused=numbers * 0, outcome=numbers * 0,
    )  # fmt: skip
    decoder = RvStreamDecoder()
    rows = [row for batch in decoder.decode(frames) for row in batch.to_pylist()]
    assert [(row["wire_kind"], row["source"], row["destination"]) for row in rows] == [
        ("CONNECTED", "127.0.0.1:7500", None),
        ("INIT", "127.0.0.1:5", None),
        ("LISTEN", "127.0.0.1:5", "RSF.>"),
        ("DATA", "127.0.0.1:7500", "RSF.A"),
        ("ADVISORY", "127.0.0.1:7500", "_RV.ERROR.SYSTEM.DATALOSS.INBOUND.BCAST"),
    ]
    assert {row["stream"] for row in rows} == {"rv:127.0.0.1:5>127.0.0.1:7500"}
    assert json.loads(rows[-1]["detail"])[0][1][-1] == ["scid", 7500]
    assert set(frames.outcome.tolist()) == {int(FrameOutcome.DECODED)}
    assert decoder.account()["messages_by"] == {
        "rv": {"INIT": 1, "LISTEN": 1, "DATA": 1, "ADVISORY": 1}
    }
