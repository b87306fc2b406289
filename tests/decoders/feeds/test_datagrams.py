"""Feeds decoded: the kernel against one datagram at a time, and each rule by itself."""

import dataclasses
import importlib
import json
import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.decoders.contract.feed_layout import (
    Blocks,
    Condition,
    Feed,
    Field,
    Is,
    Line,
    Message,
    Route,
    Says,
    Timestamp,
    Type,
)
from seqaudit.decoders.feeds import kernels as k
from seqaudit.decoders.feeds.datagrams import key_text
from seqaudit.decoders.feeds.files import load_feed, shipped
from tests.decoders.feeds.builders import GROUP, SENDER, decoded, expected, mold, rtp
from tests.decoders.feeds.naive import Packet

MOLD = load_feed(shipped()["moldudp64"])
RTP = load_feed(shipped()["rtp"])
HERE = (Route("239.1.0.0/16", (26400, 26499)),)
CLIENT = ("10.0.0.8", 40000)
SERVER = ("10.1.1.9", 6000)


def put(feed: Feed, name: str, number: int, payload: bytearray) -> None:
    """Write a field's value; the bits outside its mask stay."""
    field = feed.field(name)
    order: Any = "big" if field.big_endian else "little"
    raw = payload[field.offset : field.offset + field.width]
    rest = int.from_bytes(raw, order) & ~field.full_mask
    value = rest | (number << field.shift) & field.full_mask
    payload[field.offset : field.offset + field.width] = value.to_bytes(field.width, order)


@st.composite
def numbers(draw: st.DrawFn, name: str, offset: int, low: int = 1) -> Field:
    """A field of type number: any width, order, mask and shift."""
    width = draw(st.integers(low, 8))
    masked = draw(st.booleans())
    mask, shift = -1, 0
    if masked and width * 8 > 6:
        shift = draw(st.integers(0, width * 8 - 5))
        bits = draw(st.integers(5, width * 8 - shift))
        mask = ((1 << bits) - 1) << shift
    return Field(name, offset, width, draw(st.booleans()), mask, shift)


@st.composite
def layouts(draw: st.DrawFn) -> Feed:
    """A feed with every part that a feed can have."""
    at = draw(st.integers(0, 2))
    fields = []
    kind = Field("kind", at, 1)
    fields.append(kind)
    at += 1
    seqno = draw(numbers("seqno", at))
    at += seqno.width
    count = draw(numbers("count", at)) if draw(st.booleans()) else None
    at += count.width if count else 0
    keys = []
    for name in draw(st.lists(st.sampled_from(["a", "b"]), unique=True)):
        if draw(st.booleans()):
            key = draw(numbers(name, at))
        else:
            sort = draw(st.sampled_from([Type.TEXT, Type.BYTES]))
            key = Field(name, at, draw(st.integers(1, 11)), type=sort)
        at += key.width
        keys.append(key)
    time = dataclasses.replace(draw(numbers("time", at)), width=7, mask=-1, shift=0)
    timed = draw(st.booleans())
    at += 7 if timed else 0
    says = st.sampled_from(list(Says))
    words = [
        ("HEARTBEAT", Is.HEARTBEAT), ("END", Is.END), ("RESET", Is.RESET), ("REQUEST", Is.REQUEST),
        ("REPAIR", Is.REPAIR), ("IGNORED", Is.IGNORE), ("EXTRA", Is.DATA),
    ]  # fmt: skip
    messages = [
        Message(word, sort, draw(says) if sort in (Is.HEARTBEAT, Is.END, Is.RESET) else Says.NEXT,
                (Condition("kind", ((code, code),)),))
        for code, (word, sort) in enumerate(words, 1)
        if draw(st.integers(0, 3)) or sort == Is.HEARTBEAT
    ]  # fmt: skip
    servers: tuple[tuple[str, int], ...] = ()
    if draw(st.booleans()):
        servers = (SERVER,)
        messages = [
            Message("ASK", Is.REQUEST, to_server=True),
            Message("ANSWER", Is.REPAIR, from_server=True),
            *messages,
        ]
    if draw(st.booleans()):
        messages.append(Message("SHORT", Is.REQUEST, length=(at, at + 1), unicast=True))
    everything = [*fields, seqno, *([count] if count else []), *keys, *([time] if timed else [])]
    rates = ((0, 3, 8000), (4, 9, 90000))
    modulus = draw(st.sampled_from([0, 0, 0, 5, 100]))
    return Feed(
        name="f",
        fields=tuple(everything),
        seqno="seqno",
        match=draw(st.sampled_from([
            HERE, (Route(GROUP[0]), Route(port=(26401, 26402))), (Route(source="10.0.0.0/24"),),
            (Route(),),
        ])),
        require=draw(st.sampled_from([(), (Condition("kind", ((0, 9),)),)])),
        recognise=(Condition("kind", ((0, 3), (5, 8))),),
        stream=(*draw(st.sampled_from([
            ("destination", "port"), ("source", "source_port"), ("port",),
            ("destination", "port", "source", "source_port"),
        ])), *(key.name for key in keys)),
        count=count.name if count else draw(st.integers(1, 3)),
        wrap=modulus.bit_length() if modulus else draw(
            st.sampled_from([seqno.bits, max(2, seqno.bits - 1), min(4, seqno.bits)])
        ),
        modulus=modulus,
        timestamp=draw(st.sampled_from([
            Timestamp("time", 1000), Timestamp("time", None, "kind", rates),
        ])) if timed else None,
        blocks=draw(st.sampled_from([None, Blocks(at, 1), Blocks(at, 2, False)])),
        messages=tuple(messages),
        lines=draw(st.sampled_from([(), (Line((("239.1.0.2", 26400), ("239.1.0.3", 26400))),)])),
        servers=servers,
    )  # fmt: skip


@st.composite
def captures(draw: st.DrawFn) -> tuple[Feed, list[Packet | None]]:
    """A feed and its datagrams: in order, out of order, at the edges, cut, or of somebody else."""
    feed = draw(layouts())
    size = max(field.offset + field.width for field in feed.fields)
    limit = feed.modulus or 1 << min(feed.wrap, 64)
    following = draw(st.sampled_from([0, 1, 5, limit - 3, (1 << 63) - 4])) % limit
    packets: list[Packet | None] = []
    at_ns = 10**18
    for _ in range(draw(st.integers(1, 25))):
        if draw(st.integers(0, 19)) == 0:
            packets.append(None)
            continue
        tail = draw(st.sampled_from([b"", b"\x00", b"\x01a\x02bc", b"\x00\x00\x01\x00z", bytes(9)]))
        payload = bytearray(
            draw(st.sampled_from([bytes(size), b"\xa5" * size, b" x" * size]))[:size]
        )
        payload += tail
        jump = draw(st.sampled_from([0, 0, 0, 0, 0, 1, 2, -1, -2]))
        seqno = (following + jump) % limit
        step = draw(st.sampled_from([1, 1, 1, 2, 3, 0, limit, 1 << 63]))
        put(feed, "seqno", seqno, payload)
        if isinstance(feed.count, str):
            put(feed, feed.count, step, payload)
        else:
            step = feed.count
        kind = draw(st.sampled_from([0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 10]))
        put(feed, "kind", kind, payload)
        if kind == 0 and jump == 0:
            following = (seqno + step) % limit
        for part in feed.key_fields:
            field = feed.field(part)
            fill = draw(st.sampled_from([b"K", b"K", b"K", b"\0", b" ", b"\xff"])) * field.width
            payload[field.offset : field.offset + field.width] = fill
        at_ns += draw(st.sampled_from([0, 5, 1000, 1000, 3 * 10**9, 3 * 10**9 + 1, -7]))
        lost = draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1, len(tail), len(tail) + 1, size]))
        cut = draw(st.booleans())
        kept = bytes(payload[: max(0, len(payload) - lost)])
        packets.append(
            Packet(
                draw(st.sampled_from([SENDER, SENDER, SENDER, SERVER, ("10.0.0.2", 5000)])),
                draw(st.sampled_from([
                    GROUP, GROUP, GROUP, GROUP, ("239.1.0.2", 26400), ("239.1.0.3", 26400),
                    (GROUP[0], 26401), CLIENT, SERVER, ("10.0.0.8", 53), ("ff05::1", 26400),
                ])),
                kept,
                at_ns,
                draw(st.sampled_from([0, 0, 0, 0, int(Flag.NETWORK_DUPLICATE)])),
                draw(st.sampled_from([-1, 1, 2])),
                len(payload) if cut else len(kept),
            )
        )  # fmt: skip
    return feed, packets


@pytest.mark.parametrize("compile_it", [False, True])
@given(captures())
@settings(max_examples=30)
def test_the_kernel_agrees_with_one_datagram_at_a_time(
    compile_it: bool, capture: tuple[Feed, list[Packet | None]]
) -> None:
    feed, packets = capture
    rows, outcomes, counts = expected([feed], packets)
    found, ended, account = decoded([feed], [packets], compile_it=compile_it)
    assert ended == outcomes
    assert account["messages_by"] == counts
    assert found == rows


SORTS = [
    "heartbeat", "end", "gap", "odd", "barrier", "unprintable", "short", "cut", "request",
]  # fmt: skip


@st.composite
def sessions(draw: st.DrawFn) -> list[Packet | None]:
    """MoldUDP64, mostly as it should be: what the kernel's short cut is for."""
    packets: list[Packet | None] = []
    following = {
        session: draw(st.sampled_from([1, (1 << 48) - 4, (1 << 63) - 4])) for session in "XY"
    }
    for number in range(draw(st.integers(1, 30))):
        session = draw(st.sampled_from("XXXY"))
        sort = draw(st.sampled_from(["data"] * 12 + SORTS))
        messages = [b"m"] * draw(st.integers(1, 3))
        seqno = following[session] + (2 if sort == "gap" else 0)
        payload = mold(session, seqno, messages)
        to, start = GROUP, SENDER
        if sort == "barrier":
            packets.append(None)
            continue
        if sort in ("heartbeat", "end", "request"):
            payload = mold(
                session, seqno, count={"heartbeat": 0, "end": 0xFFFF, "request": 2}[sort]
            )
        elif sort == "unprintable":
            payload = b"\x07" + payload[1:]
        elif sort == "short":
            payload = payload[: draw(st.integers(0, 19))]
        elif sort == "odd":
            payload += b"\x00"
        if sort in ("data", "gap", "odd"):
            following[session] = seqno + len(messages)
        if sort == "request":
            to, start = SERVER, CLIENT
        length = len(payload) + 5 if sort == "cut" else len(payload)
        flags = draw(st.sampled_from([0] * 9 + [int(Flag.NETWORK_DUPLICATE)]))
        packets.append(Packet(start, to, payload, 1000 * number, flags, number, length))
    return packets


@pytest.mark.parametrize("compile_it", [False, True])
@given(sessions(), st.booleans())
@settings(max_examples=30)
def test_the_short_cut_says_the_same(
    compile_it: bool, packets: list[Packet | None], stated: bool
) -> None:
    feed = MOLD.at(HERE if stated else (Route(),))
    rows, outcomes, counts = expected([feed], packets)
    found, ended, account = decoded([feed], [packets], compile_it=compile_it)
    assert ended == outcomes
    assert account["messages_by"] == counts
    assert found == rows


@given(captures(), st.lists(st.integers(0, 25), max_size=4))
@settings(max_examples=40)
def test_rows_do_not_depend_on_where_chunks_end(
    capture: tuple[Feed, list[Packet | None]], cuts: list[int]
) -> None:
    """Runs that keep times end with the chunk: there the rows are equal once joined."""
    feed, packets = capture
    bounds = sorted({0, *(cut for cut in cuts if cut < len(packets)), len(packets)})
    chunks = [packets[a:b] for a, b in pairwise(bounds)]
    whole, parts = decoded([feed], [packets]), decoded([feed], chunks)
    assert parts[1:] == whole[1:]
    if feed.timestamp is None and not feed.lines:
        assert parts[0] == whole[0]
    assert sum(r["count"] for r in parts[0] if r["kind"] == Kind.DATA) == sum(
        r["count"] for r in whole[0] if r["kind"] == Kind.DATA
    )
    assert payloads(parts[0]) == payloads(whole[0])


def payloads(rows: list[dict[str, Any]]) -> dict[str, bytes]:
    """The records of each stream, end to end."""
    found: dict[str, bytes] = {}
    for row in rows:
        found[row["stream"]] = found.get(row["stream"], b"") + (row["payload"] or b"")
    return found


def only(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(r[c] for c in columns) for r in rows if r["wire_kind"] != "FEED"]


def mold_rows(*payloads: bytes | Packet, feed: Feed | None = None) -> list[tuple[Any, ...]]:
    packets = [
        p if isinstance(p, Packet) else Packet(SENDER, GROUP, p, 1000 * n)
        for n, p in enumerate(payloads)
    ]
    rows, _, _ = decoded([feed or MOLD.at(HERE)], [packets])
    return only(rows, "wire_kind", "frame", "last_frame", "seqno", "stop_seqno", "count")


def test_a_heartbeat_that_says_nothing_new_is_counted_in_the_run() -> None:
    """MoldUDP64: count 0, with the number that the next message will have."""
    assert mold_rows(mold(seqno=1, messages=[b"a", b"b"]), mold(seqno=3), mold(seqno=3)) == [
        ("DATA", 1, 3, 1, 3, 2)
    ]


def test_a_heartbeat_ahead_is_a_row_and_so_is_one_before_any_message() -> None:
    assert mold_rows(
        mold(seqno=1), mold(seqno=1, messages=[b"a"]), mold(seqno=5), mold(seqno=5)
    ) == [
        ("HEARTBEAT", 1, 1, 0, 1, 1),
        ("DATA", 2, 2, 1, 2, 1),
        ("HEARTBEAT", 3, 4, 4, 5, 2),
    ]


def test_heartbeats_without_a_number_are_rows_wherever_they_come() -> None:
    """They show nothing of a run, so its last moment must not depend on where it is cut."""
    silent = tuple(
        dataclasses.replace(message, says=Says.NOTHING) if message.sort == Is.HEARTBEAT else message
        for message in MOLD.messages
    )
    feed = dataclasses.replace(MOLD, messages=silent).at(HERE)
    one, two = mold(seqno=1, messages=[b"a"]), mold(seqno=2, messages=[b"b"])
    assert mold_rows(one, mold(seqno=2), mold(seqno=2), two, feed=feed) == [
        ("DATA", 1, 1, 1, 2, 1),
        ("HEARTBEAT", 2, 3, None, None, 2),
        ("DATA", 4, 4, 2, 3, 1),
    ]


def test_end_of_session_carries_the_next_number_and_is_no_message() -> None:
    assert mold_rows(mold(seqno=1, messages=[b"a"]), mold(seqno=2, count=0xFFFF)) == [
        ("DATA", 1, 1, 1, 2, 1),
        ("END_OF_SESSION", 2, 2, 1, 2, 1),
    ]


def test_sessions_are_streams_and_padding_tells_them_apart() -> None:
    first = mold("S1", 1, [b"a"])
    zeros = b"S1".ljust(10, b"\0") + first[10:]
    rows, _, _ = decoded([MOLD.at(HERE)], [[Packet(SENDER, GROUP, p) for p in (first, zeros)]])
    assert {r["stream"] for r in rows} == {
        "moldudp64|session=S1|239.1.0.1:26400|",
        "moldudp64|session=S1%00|239.1.0.1:26400|",
    }


def test_requests_and_repairs_of_a_server_concern_the_session() -> None:
    feed = dataclasses.replace(MOLD.at(HERE), servers=(SERVER,))
    packets = [
        Packet(SENDER, GROUP, mold(seqno=1, messages=[b"a"])),
        Packet(SENDER, GROUP, mold(seqno=3, messages=[b"c"])),
        Packet(CLIENT, SERVER, mold(seqno=2, count=1)),
        Packet(SERVER, CLIENT, mold(seqno=2, messages=[b"b"])),
        Packet(SENDER, GROUP, mold(seqno=4, messages=[b"d"])),
    ]
    rows, _, _ = decoded([feed], [packets])
    assert {r["conversation"] for r in rows} == {"feed|moldudp64|session=S1"}
    assert only(rows, "kind", "wire_kind", "stream", "seqno", "stop_seqno", "detail") == [
        (1, "DATA", "moldudp64|session=S1|239.1.0.1:26400|", 1, 2, None),
        (1, "DATA", "moldudp64|session=S1|239.1.0.1:26400|", 3, 4, None),
        (4, "REQUEST", "moldudp64|session=S1|", 2, 3, "[[2,3]]"),
        (2, "RETRANSMISSION", "moldudp64|session=S1|", 2, 3, None),
        (1, "DATA", "moldudp64|session=S1|239.1.0.1:26400|", 4, 5, None),
    ]


def test_a_request_shows_by_its_length_where_nobody_named_a_server() -> None:
    rows = mold_rows(Packet(CLIENT, SERVER, mold(seqno=2, count=3)), feed=MOLD.at((Route(),)))
    assert rows == [("REQUEST", 1, 1, 2, 5, 1)]


def test_a_feed_anywhere_takes_only_what_fits_and_nothing_of_system_ports() -> None:
    fine = mold(seqno=1, messages=[b"a"])
    others = [
        Packet(SENDER, GROUP, b"\x01" + fine[1:]),  # a session that cannot be printed
        Packet(SENDER, GROUP, fine[:10] + b"\x01" + fine[11:]),  # a number beyond 2^48
        Packet(SENDER, ("10.0.0.8", 1023), fine),
        Packet(("10.0.0.9", 53), GROUP, fine),
        Packet(SENDER, GROUP, fine[:19]),
    ]
    _, outcomes, account = decoded([MOLD.at((Route(),))], [[*others, Packet(SENDER, GROUP, fine)]])
    assert outcomes == ["other"] * 5 + ["decoded"]
    assert account["feeds"] == {"moldudp64": {"taken": 1, "refused": 3}}
    assert account["sureness"] == {"likely": 1}


def test_too_short_is_malformed_and_cut_is_truncated_where_the_place_is_known() -> None:
    fine = mold(seqno=1, messages=[b"a"])
    packets = [
        Packet(SENDER, GROUP, fine[:19]),
        Packet(SENDER, GROUP, fine[:19], length=len(fine)),
        Packet(SENDER, GROUP, fine[:20], length=len(fine)),  # all fields are there
        Packet(SENDER, GROUP, fine[:10] + b"\x80" + fine[11:]),
    ]
    rows, outcomes, account = decoded([MOLD.at(HERE)], [packets])
    assert outcomes == ["malformed", "truncated", "decoded", "malformed"]
    assert account["undecoded"] == {
        "feed moldudp64: shorter than its fields": 1,
        "feed moldudp64: cut before the end of its fields": 1,
        "feed moldudp64: a number beyond 2^63 - 1": 1,
    }
    assert only(rows, "wire_kind", "seqno", "flags") == [("DATA", 1, Flag.MULTICAST | Flag.CUT)]


def test_counts_that_message_blocks_do_not_show_are_counted_and_not_refused() -> None:
    good, odd = mold(seqno=1, messages=[b"a"]), mold(seqno=2, messages=[b"b"], count=2)
    rows, outcomes, _ = decoded([MOLD.at(HERE)], [[Packet(SENDER, GROUP, p) for p in (good, odd)]])
    assert outcomes == ["decoded", "decoded"]
    assert only(rows, "seqno", "stop_seqno", "stamp") == [(1, 4, 1)]


def test_rtp_wraps_at_16_bits_and_rtcp_and_other_versions_are_not_it() -> None:
    to = ("10.0.0.8", 5004)
    packets = [
        Packet(SENDER, to, rtp(65535, 10)),
        Packet(SENDER, to, rtp(0, 20)),
        Packet(SENDER, to, rtp(1, 30)),
        Packet(SENDER, to, b"\x40" + rtp(2)[1:]),
        Packet(SENDER, to, b"\x80\xc8" + rtp(2)[2:]),  # an RTCP sender report
        Packet(SENDER, (to[0], 5005), b"\x80\xc8" + rtp(2)[2:]),
    ]
    rows, outcomes, _ = decoded([RTP.at((Route(port=(5004, 5004)),))], [packets])
    assert outcomes == ["decoded"] * 3 + ["other"] * 3
    assert only(rows, "stream", "seqno", "stop_seqno", "conn_id") == [
        ("rtp|ssrc=7|10.0.0.1:5000>10.0.0.8:5004|", 65535, 65536, 8000),
        ("rtp|ssrc=7|10.0.0.1:5000>10.0.0.8:5004|", 0, 2, 8000),
    ]
    assert [struct.unpack(f"<{len(r['payload']) // 8}q", r["payload"])
            for r in rows if r["payload"]] == [(65535, 0, 10), (0, 0, 20, 1, 0, 30)]  # fmt: skip


def test_a_datagram_over_the_wrap_is_two_rows() -> None:
    feed = Feed("f", (Field("seqno", 0, 1), Field("count", 1, 1)), "seqno", match=HERE,
                count="count", wrap=8)  # fmt: skip
    rows, _, _ = decoded([feed], [[Packet(SENDER, GROUP, b"\xfe\x04")]])
    assert only(rows, "index", "seqno", "stop_seqno", "count", "size") == [
        (0, 254, 256, 2, 2),
        (1, 0, 2, 2, 0),
    ]


def test_the_rate_of_an_unknown_payload_type_is_unknown_unless_given() -> None:
    assert RTP.timestamp is not None
    packets = [[Packet(SENDER, GROUP, rtp(1, 10, payload_type=96))]]
    feed = RTP.at((Route(),))
    given_hz = dataclasses.replace(feed, timestamp=dataclasses.replace(RTP.timestamp, hz=48000))
    assert only(decoded([feed], packets)[0], "conn_id") == [(None,)]
    assert only(decoded([given_hz], packets)[0], "conn_id") == [(48000,)]


def test_facts_of_a_feed_come_before_the_first_row_of_a_stream() -> None:
    rows, _, _ = decoded([MOLD.at(HERE)], [[Packet(SENDER, GROUP, mold(messages=[b"a"]))]])
    assert [(r["kind"], r["wire_kind"], r["index"]) for r in rows] == [
        (11, "FEED", -1),
        (1, "DATA", 0),
    ]
    assert json.loads(rows[0]["detail"]) == {
        "bits": 64, "blocks": True, "declares": ["end", "heartbeat", "request"], "first": 1,
        "hz": None, "stamp_bits": None,
    }  # fmt: skip


def test_a_long_silence_is_between_two_rows() -> None:
    second = 10**9
    for pause, rows in ((3 * second, 1), (3 * second + 1, 2)):
        packets = [
            Packet(SENDER, GROUP, mold(seqno=1, messages=[b"a"]), 0),
            Packet(SENDER, GROUP, mold(seqno=2), second),  # a heartbeat is a sign of life
            Packet(SENDER, GROUP, mold(seqno=2, messages=[b"b"]), second + pause),
        ]
        assert len(only(decoded([MOLD.at(HERE)], [packets])[0], "seqno")) == rows


def test_tables_that_are_full_begin_anew_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = importlib.import_module("seqaudit.decoders.feeds.tables")
    packets = [
        Packet(SENDER, (f"239.1.{n % 7}.{n % 40}", 26400), rtp(n // 40, n)) for n in range(400)
    ]
    feed = RTP.at(HERE)
    whole = decoded([feed], [packets])
    monkeypatch.setattr(tables, "STREAMS", 5)
    monkeypatch.setattr(tables, "ROWS", 8)
    monkeypatch.setattr(tables, "SAMPLES", 9)
    small = decoded([feed], [packets])
    assert small[1:] == whole[1:]
    assert payloads(small[0]) == payloads(whole[0])
    assert sum(r["count"] for r in small[0]) == sum(r["count"] for r in whole[0])


def test_hosts_that_are_numbered_anew_are_not_mixed_up() -> None:
    from seqaudit.decoders.contract.settings import DecodeSettings
    from seqaudit.decoders.feeds.datagrams import FeedDecoder
    from tests.decoders.feeds.builders import datagrams

    decoder = FeedDecoder(DecodeSettings(feeds=(RTP.at(HERE),)))
    one = datagrams([Packet(SENDER, GROUP, rtp(1))], [])
    other = datagrams([Packet(("10.0.0.7", 5000), ("239.1.0.9", 26400), rtp(2))], [])
    rows = [row for part in (one, other) for b in decoder.decode(part) for row in b.to_pylist()]
    rows += [row for batch in decoder.finish() for row in batch.to_pylist()]
    assert [(r["source"], r["destination"], r["seqno"]) for r in rows if r["kind"] == 1] == [
        ("10.0.0.1:5000", "239.1.0.1:26400", 1),
        ("10.0.0.7:5000", "239.1.0.9:26400", 2),
    ]


@given(st.binary(min_size=4, max_size=4), st.binary(min_size=4, max_size=4))
def test_different_texts_have_different_names(one: bytes, other: bytes) -> None:
    field = Field("t", 0, 4, type=Type.TEXT)
    names = [key_text(field, [int.from_bytes(raw, "big")]) for raw in (one, other)]
    assert (names[0] == names[1]) == (one == other)


def test_the_words_of_the_kernel_are_those_of_its_callers() -> None:
    from seqaudit.decoders.feeds.tables import SORTS
    from seqaudit.decoders.network import packet_kernels
    from seqaudit.decoders.network.packets import FrameOutcome

    assert [getattr(k, f"IS_{sort.name}") for sort in SORTS] == list(range(len(SORTS)))
    assert [getattr(k, f"SAYS_{says.name}") for says in Says] == [0, 1, 2]
    assert (k.DECODED, k.MALFORMED, k.TRUNCATED) == (
        FrameOutcome.DECODED, FrameOutcome.MALFORMED, FrameOutcome.TRUNCATED,
    )  # fmt: skip
    assert k.HOSTS == packet_kernels.HOSTS
    assert k.FLAG_MULTICAST == Flag.MULTICAST


def test_the_kernel_file_runs_with_warnings_as_errors_on_numpy_arguments() -> None:
    """Compiled callers pass arrays; the interpreted form must not depend on wrapping around."""
    feed = MOLD.at(HERE)
    with np.errstate(all="raise"):
        rows, _, _ = decoded([feed], [[Packet(SENDER, GROUP, mold(messages=[b"a"]))]])
    assert len(rows) == 2
