"""JGroups frames of every kind to events: jgroups.md 1 to 3 and 7, rule by rule."""

import json
from typing import Any

import pytest

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.jgroups import datagrams
from seqaudit.decoders.network.packets import FrameOutcome
from tests.decoders.jgroups.builders import (
    BATCH,
    BYTES,
    COMPOSITE,
    EMPTY,
    FRAGMENTED,
    LONG,
    NIO,
    OBJECT,
    OOB,
    V3_5_0,
    V3_6_0,
    V4_2_22,
    V5_2_0,
    V5_2_11,
    V5_3_7,
    V5_3_8,
    V5_6_0,
    A,
    B,
    C,
    Decoded,
    bits,
    data3,
    header,
    i16,
    i32,
    i64,
    ip4,
    listed,
    message,
    msg4,
    single,
    sized,
    text,
    tp,
    vlong,
    vpair,
    who,
    whos,
)

NAMES = ("system", "wire_kind", "stream", "seqno", "stop_seqno", "conn_id", "stamp", "detail")
B_LOSS = "68c424a6-f3f0-47c7-b354-d382a8b96c63"
C_LOSS = "822e0621-0d7a-48c9-912e-6e435d2c7c23"
S_N4 = "a1712e9a-4169-43b7-a42f-f3c9ce2c333f"
A_N4 = "043a4300-dd09-48b5-96ec-e2c29152b23e"
C_N4 = "6e1a5dce-d96a-4ef6-8ce5-c29e0b80e29f"
TO_C = "02b354d382a8b96c6368c424a6f3f047c702912e6e435d2c7c23822e06210d7a48c9"
LAB = "0039003c00036c616200"
PAYLOAD = "0000003c" + "00000001" + "65" * 56
N4_SOURCE = "02a42ff3c9ce2c333fa1712e9a416943b7"

#: Frames of jgroups.md 7 (their payload bytes filled up) and what each is.
HEXDUMPS = [
    (
        "UNICAST3 DATA, first message of a connection",
        "298000" + "0000030000" + TO_C + "0002" + "00300052" + "00010100" + "0101" + LAB + PAYLOAD,
        ("unicast3", "DATA", f"lab|{C_LOSS}|{B_LOSS}|1", 1, 2, 1, None, None),
    ),
    (
        "UNICAST3 DATA, not first",
        "298000" + "0000030000" + TO_C + "0002" + "00300052" + "00010200" + "0100" + LAB + PAYLOAD,
        ("unicast3", "DATA", f"lab|{C_LOSS}|{B_LOSS}|1", 2, 3, 1, None, None),
    ),
    (
        "UNICAST3 ACK",
        "298000000203000402912e6e435d2c7c23822e06210d7a48c902b354d382a8b96c6368c424a6f3f047c7"
        "000200300052" + "0101c800010108" + LAB,
        ("unicast3", "ACK", f"lab|{C_LOSS}|{B_LOSS}|1", 200, 201, 1, 8, None),
    ),
    (
        "UNICAST3 XMIT_REQ",
        "298000000303000502912e6e435d2c7c23822e06210d7a48c902b354d382a8b96c6368c424a6f3f047c7"
        "000200300052" + "03" + LAB + "01000f00000015" + "0000000000000017" + "000000000000007f",
        ("unicast3", "XMIT_REQ", f"lab|{C_LOSS}|{B_LOSS}|", 23, 30, None, None, "[[23,30]]"),
    ),
    (
        "UNICAST3 SEND_FIRST_SEQNO",
        "298000000203000502912e6e435d2c7c23822e06210d7a48c902b354d382a8b96c6368c424a6f3f047c7"
        "000200300052" + "020105" + LAB,
        ("unicast3", "SEND_FIRST_SEQNO", f"lab|{C_LOSS}|{B_LOSS}|", None, None, None, 5, None),
    ),
    (
        "UNICAST3 CLOSE",
        "2980000002030004" + TO_C + "000200300052" + "040000" + LAB,
        ("unicast3", "CLOSE", f"lab|{C_LOSS}|{B_LOSS}|0", None, None, 0, None, None),
    ),
    (
        "NAKACK4 MSG",
        "298002" + "0000020000" + N4_SOURCE + "0002" + "004d0063" + "010103" + LAB + PAYLOAD,
        ("nakack4", "MSG", f"lab|{S_N4}", 3, 4, None, None, None),
    ),
    (
        "NAKACK4 ACK",
        "298000" + "0002030001" + "0296ece2c29152b23e043a4300dd0948b5" + N4_SOURCE + "0002"
        "004d0063" + "050102" + LAB,
        ("nakack4", "ACK", f"lab|{A_N4}", 2, 3, None, None, None),
    ),
    (
        "NAKACK4 XMIT_REQ",
        "298000" + "0003030005" + N4_SOURCE + "028ce5c29e0b80e29f6e1a5dced96a4ef6" + "0002"
        "004d0063" + "02" + N4_SOURCE + LAB
        + "01000f0000003f00000000000000050000000000000025",
        ("nakack4", "XMIT_REQ", f"lab|{S_N4}", 5, 11, None, None, "[[5,6],[7,8],[10,11]]"),
    ),
    (
        "NAKACK4 XMIT_RSP (use_mcast_xmit=false)",
        "298000" + "0000030000" + "0296ece2c29152b23e043a4300dd0948b5" + N4_SOURCE + "0002"
        "004d0063" + "03010b" + LAB + PAYLOAD,
        ("nakack4", "XMIT_RSP", f"lab|{S_N4}", 11, 12, None, None, None),
    ),
    (
        "NAKACK4 HIGHEST_SEQNO",
        "298002" + "0002020005" + N4_SOURCE + "0002" + "004d0063" + "04010b" + LAB,
        ("nakack4", "HIGHEST_SEQNO", f"lab|{S_N4}", 11, 12, None, None, None),
    ),
]  # fmt: skip


@pytest.mark.rule("jgroups.md 7")
@pytest.mark.parametrize(("frame", "expected"), [row[1:] for row in HEXDUMPS],
                         ids=[row[0] for row in HEXDUMPS])  # fmt: skip
def test_an_annotated_hexdump_is_read_as_annotated(frame: str, expected: tuple[Any, ...]) -> None:
    decoded = Decoded([bytes.fromhex(frame)])
    assert decoded.of(*NAMES) == [expected]
    assert decoded.outcome == [FrameOutcome.DECODED]
    assert decoded.account["sureness"] == {"certain": 1}
    assert decoded.account["versions"] == {"5.6.0": 1}


@pytest.mark.rule("jgroups.md 7")
def test_the_annotated_list_frame_holds_an_ack_and_a_request() -> None:
    frame = bytes.fromhex(
        "298001" + TO_C + "00036c616200000002"
        "0002000004" + "0002" + "00300052" + "010102" + "0000" + "0109" + LAB
        + "0003000005" + "0002" + "00300052" + "03" + LAB
        + "01000f0000001400000000000000030000000000" + "0003ff"
    )  # fmt: skip
    decoded = Decoded([frame])
    assert decoded.of("index", "wire_kind", "source", "seqno", "stop_seqno", "count", "stamp") == [
        (0, "ACK", C_LOSS, 2, 3, 1, 9),
        (1, "XMIT_REQ", C_LOSS, 3, 13, 10, None),
    ]
    assert decoded.account["datagrams"] == {"single": 0, "list": 1, "bare": 0}


# 1.1 primitive encodings


@pytest.mark.rule("jgroups.md 1.1")
@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ("00", 0),
        ("0101", 1),
        ("01c8", 200),
        ("022c01", 300),
        ("08ffffffffffffff3f", (1 << 62) - 1),
    ],
)
def test_a_vlong_has_a_count_and_then_the_least_byte_first(wire: str, value: int) -> None:
    frame = single(header(77, 99, b"\1" + bytes.fromhex(wire)))
    assert Decoded([frame]).of("seqno", "stop_seqno") == [(value, value + 1)]


@pytest.mark.rule("jgroups.md 1.1")
@pytest.mark.parametrize("wire", ["08ffffffffffffff40", "08ffffffffffffffff", "09" + "00" * 9])
def test_a_seqno_that_no_sender_reaches_is_malformed(wire: str) -> None:
    frame = single(header(77, 99, b"\1" + bytes.fromhex(wire)))
    decoded = Decoded([frame], DecodeSettings(decode_as=(("udp", 7800, "jgroups"),)))
    assert decoded.of("wire_kind") == []
    assert decoded.outcome == [FrameOutcome.MALFORMED]


@pytest.mark.rule("jgroups.md 1.1")
@pytest.mark.parametrize(("stamp", "wire"), [(-1, "ffffffff"), (-(1 << 31), "00000080")])
def test_a_timestamp_of_four_bytes_is_signed(stamp: int, wire: str) -> None:
    frame = single(header(48, 82, b"\2\4" + bytes.fromhex(wire)), kind=EMPTY, to=B)
    assert Decoded([frame]).of("wire_kind", "stamp") == [("SEND_FIRST_SEQNO", stamp)]


# 1.2 addresses


@pytest.mark.rule("jgroups.md 1.2")
@pytest.mark.parametrize(
    ("address", "name"),
    [
        (who(A), A),
        (b"\4" + who(A)[1:] + text("site") + text("node"), A),
        (b"\10" + who(A)[1:] + text("site") + b"\0", A),
        (ip4("10.80.0.1", 7800), "10.80.0.1:7800"),
        (b"\x10\x10" + bytes(15) + b"\1" + i32(2) + i16(7800), "[::1]:7800"),
        (b"\x10\0" + i16(7800), ":7800"),
        (b"\x20\4\x0a\x50\0\1" + i16(7800) + bytes(range(12)),
         "10.80.0.1:7800/000102030405060708090a0b"),
        (b"\0" + i16(12) + who(A)[1:] + b"\1\3key\5value", A),
        (b"\0" + i16(19) + who(A)[1:] + vlong(3), A),
        (b"\0" + i16(22) + i64(123), "millis-123"),
    ],
    ids=["UUID", "SiteUUID", "SiteMaster", "IPv4", "IPv6 with scope", "no IP", "IpAddressUUID",
         "ExtendedUUID", "FlagsUUID", "MillisAddress"],
)  # fmt: skip
def test_an_address_of_each_kind_is_the_source(address: bytes, name: str) -> None:
    frame = i16(V5_6_0) + b"\2" + message(msg4(1), tp(), source=address)
    decoded = Decoded([frame, frame])
    assert decoded.of("source", "stream", "seqno") == [(name, f"lab|{name}", 1)] * 2
    assert decoded.outcome == [FrameOutcome.DECODED] * 2


@pytest.mark.rule("jgroups.md 1.2")
@pytest.mark.parametrize("address", [b"\3" + who(A)[1:], b"\0" + i16(77), b"\x10\5\1\2\3\4\5\0\0"])
def test_an_unknown_kind_of_address_is_not_guessed(address: bytes) -> None:
    frame = i16(V5_6_0) + b"\2" + message(msg4(1), tp(), source=address)
    assert Decoded([frame]).outcome == [FrameOutcome.NOT_CLAIMED]


# 1.3 to 1.6 frames and messages


@pytest.mark.rule("jgroups.md 1.3")
def test_bytes_after_the_last_message_are_a_malformed_frame_without_further_messages() -> None:
    decoded = Decoded([single(msg4(1)) + b"\0", listed(message(msg4(2), tp())) + b"\0"])
    assert decoded.outcome == [FrameOutcome.MALFORMED] * 2
    assert decoded.account["sureness"] == {"likely": 2}


@pytest.mark.rule("jgroups.md 1.4")
@pytest.mark.parametrize("size", [-2, 5, 0x7FFFFFFF])
def test_a_lying_payload_length_is_malformed_and_its_message_is_none(size: int) -> None:
    frame = single(msg4(1), payload=i32(size) + b"data")
    decoded = Decoded([frame])
    assert decoded.outcome == [FrameOutcome.MALFORMED]
    assert decoded.of("seqno") == []


@pytest.mark.rule("jgroups.md 1.5")
def test_list_messages_inherit_source_and_destination_unless_they_bring_a_source() -> None:
    frame = listed(
        message(data3(1, first=True), tp()), message(data3(9), tp(), source=who(C)), to=B
    )
    assert Decoded([frame]).of("source", "destination", "seqno") == [(A, B, 1), (C, B, 9)]


@pytest.mark.rule("jgroups.md 1.5")
@pytest.mark.parametrize(("count", "outcome"), [
    (1, FrameOutcome.MALFORMED), (2, FrameOutcome.DECODED), (3, FrameOutcome.MALFORMED),
    (-1, FrameOutcome.NOT_CLAIMED),
])  # fmt: skip
def test_a_list_has_as_many_messages_as_it_says(count: int, outcome: FrameOutcome) -> None:
    frame = listed(message(msg4(1), tp()), message(msg4(2), tp()), count=count)
    assert Decoded([frame]).outcome == [outcome]


OBJECTS = {
    "null": b"\0",
    "View": b"\1" + i16(4) + who(A) + vlong(1) + whos(A, B),
    "ViewId": b"\1" + i16(5) + who(A) + vlong(1),
    "Digest": b"\1" + i16(9) + whos(A, B) + vpair(0, 0) + vpair(300, 305),
    "MutableDigest": b"\1" + i16(10) + whos() + b"",
    "UUID": b"\1" + i16(11) + bytes(16),
    "SeqnoList": b"\1" + i16(15) + bits([5], 5, 65),
    "ObjectWrapperSerializable": b"\1" + i16(20) + sized(b"abc"),
    "ObjectWrapperSerializable of null": b"\1" + i16(20) + sized(None),
    "MillisAddress": b"\1" + i16(22) + i64(1),
}
PAYLOADS = [
    (BYTES, sized(b"data")),
    (BYTES, sized(b"")),
    (BYTES, sized(None)),
    (NIO, b"\1" + sized(b"data")),
    (EMPTY, b""),
    *((OBJECT, payload) for payload in OBJECTS.values()),
    (LONG, vlong(-1)),
    (LONG, vlong(1 << 40)),
    (COMPOSITE, i32(2) + message() + message(kind=LONG, payload=vlong(7))),
    (FRAGMENTED, sized(b"slice")),
    (BATCH, i32(1) + who(A) + message()),
    (COMPOSITE, i32(1) + message(kind=COMPOSITE, payload=i32(1) + message()) + b""),
]


@pytest.mark.rule("jgroups.md 1.6")
@pytest.mark.parametrize(("kind", "payload"), PAYLOADS)
def test_a_payload_of_each_type_is_passed_over(kind: int, payload: bytes) -> None:
    first = message(msg4(1), tp(), kind=kind, payload=payload)
    frame = listed(first, message(msg4(3), tp()))
    decoded = Decoded([frame, single(msg4(5), kind=kind, payload=payload)])
    assert decoded.of("seqno") == [(1,), (3,), (5,)]
    assert decoded.outcome == [FrameOutcome.DECODED] * 2
    assert [row["size"] for row in decoded.rows if row.get("seqno") == 1] == [len(first)]


@pytest.mark.rule("jgroups.md 1.6")
def test_numbered_messages_inside_a_batch_are_events_too() -> None:
    inner = i32(2) + who(A) + message(msg4(2), tp()) + message(msg4(4), tp())
    frame = single(msg4(1), kind=BATCH, payload=inner)
    decoded = Decoded([frame])
    assert decoded.of("index", "seqno", "size") == [
        (0, 1, len(frame) - 3),
        (1, 2, len(message(msg4(2), tp()))),
        (2, 4, len(message(msg4(4), tp()))),
    ]


@pytest.mark.rule("jgroups.md 1.6")
def test_messages_nested_too_deep_are_left_undecoded() -> None:
    nested = message(kind=EMPTY)
    for _ in range(5):
        nested = message(kind=COMPOSITE, payload=i32(1) + nested)
    decoded = Decoded([single(msg4(1), kind=COMPOSITE, payload=i32(1) + nested)])
    assert decoded.outcome == [FrameOutcome.UNDECODABLE]
    assert decoded.account["undecoded"] == {"messages nested deeper than 4": 1}


@pytest.mark.rule("jgroups.md 1.6")
def test_a_users_message_type_ends_what_can_be_read_of_a_frame() -> None:
    frame = listed(message(msg4(1), tp()), message(msg4(2), tp(), kind=33))
    decoded = Decoded([frame])
    assert decoded.of("seqno") == [(1,)]
    assert decoded.outcome == [FrameOutcome.UNDECODABLE]
    assert decoded.account["undecoded"] == {"message type 33": 1}


@pytest.mark.rule("jgroups.md 1.6")
def test_an_object_without_known_length_is_the_rest_or_ends_before_a_certain_message() -> None:
    unknown = b"\1" + i16(21) + b"\x12\0\5hello"
    last = listed(message(msg4(1), tp()), message(msg4(2), tp(), kind=OBJECT, payload=unknown))
    between = listed(message(msg4(3), tp(), kind=OBJECT, payload=unknown), message(msg4(4), tp()))
    lost = listed(
        message(msg4(5), tp(), kind=OBJECT, payload=unknown), message(header(20, 62), tp())
    )
    decoded = Decoded([last, between, lost, single(msg4(6), kind=OBJECT, payload=unknown)])
    assert decoded.of("seqno", "count") == [(1, 6)]
    assert decoded.outcome == [
        FrameOutcome.DECODED,
        FrameOutcome.DECODED,
        FrameOutcome.UNDECODABLE,
        FrameOutcome.DECODED,
    ]
    assert decoded.account["undecoded"] == {"object class 21": 1, "object class 21, skipped": 1}


@pytest.mark.rule("jgroups.md 1.6")
@pytest.mark.parametrize(
    ("bits_set", "flags"),
    [
        (0, Flag(0)),
        (OOB, Flag.OOB),
        (0x0010, Flag.UNRELIABLE),
        (0x0FEE, Flag.UNRELIABLE * 0),
        (OOB | 0x0014, Flag.OOB | Flag.UNRELIABLE),
    ],
)
def test_flags_that_matter_reach_the_row(bits_set: int, flags: int) -> None:
    if bits_set == 0x0FEE:
        bits_set &= ~0x0010
    assert Decoded([single(msg4(1), flags=bits_set)]).of("flags") == [(int(flags),)]


@pytest.mark.rule("jgroups.md 1.7")
@pytest.mark.parametrize(
    ("version", "name"),
    [(0x2980, "5.6.0"), (0x2946, "5.5.6"), (0x28C8, "5.3.8"), (0x2084, "4.2.4"), (0x1980, "3.6.0")],
)
def test_a_version_short_is_a_release(version: int, name: str) -> None:
    pair = (41, 78) if version >= 0x2000 else (57, 93)
    body = header(*pair, b"\1" + vlong(1))
    frame = single(body, version=version, payload=sized(b"x") if version >= 0x2800 else b"x")
    decoded = Decoded([frame])
    assert decoded.account["versions"] == {name: 1}
    assert decoded.of("system", "seqno") == [("nakack2", 1)]


# 1.8 and 2: headers

LATER = [
    (4, 52, vlong(7) + vlong(0) + vlong(2) + b"\0" + i16(0)),
    (62, 91, vlong(1) + vlong(2) + vlong(3) + vlong(400) + vlong(0) + b"\0"),
    (31, 59, b"\1"),
    (1, 50, b"\2" + whos(A, B) + who(A)),
    (11, 54, i16(1) + who(B)),
    (72, 94, i16(1) + who(B)),
    (38, 75, b"\0" + b"\1" + who(A) + vlong(3) + text("A") + ip4("10.80.0.1", 7800)),
    (38, 75, b"\1" + b"\0" + b"\0" + b"\1"),
    (3, 51, b"\1" + who(A) + b"\1\4\1\2\3\4\0\5" + i32(2) + who(A) + who(B)),
    (3, 51, b"\1" + who(A) + b"\0" + i32(0)),
    (71, 93, b"\1" + i32(1) + who(B) + text("lab") + who(A)),
    (14, 57, b"\1" + b"\1" + whos(A) + vpair(1, 2)),
    (14, 57, b"\1" + b"\0"),
    (25, 65, b"\1" + b"\1" + whos(A) + vpair(1, 2) + b"\1\4\1\2\3\4\0\5"),
    (25, 65, b"\1" + b"\0" + b"\0"),
    (200, 67, b"\0" + vlong(99) + i16(200)),
    (200, 68, b"\0" + vlong(99) + i16(200) + whos(A, B)),
    (203, 83, text("fork") + text("channel")),
    (39, 76, b"\1" + i16(3)),
    (15, 58, i32(1000) + b"\1"),
    (58, 88, b"\1\1" + b"\1" + i32(2) + b"vv" + who(A) + b"\1" + i32(3) + b"iii"),
    (58, 88, b"\1\1" + b"\0" + who(None) + b"\0"),
    (19, 61, b"\1" + vlong(5) + b"\0"),
    (19, 86, b"\1" + vlong(5) + i16(2)),
    (24, 69, who(B)),
    (53, 74, b""),
    (60, 80, b"\1\0" + who(A) + who(B) + i32(1) + text("site") + i32(2) + text("a") + text(None)),
    (21, 84, i64(5)),
    (21, 98, b""),
    (75, 97, bytes(64)),
    (79, 101, i32(1) + text("k") + text("v")),
    (74, 96, b""),
    (20, 62, b""),
    (12, 55, b"\1" + i16(4) + who(A) + who(B) + i32(7)),
    (12, 55, b"\3" + i16(0) + who(A)),
    (13, 56, b"\1\1" + who(A) + vlong(2)),
    (13, 56, b"\1\0"),
    (5, 53, b"\1" + text("lab") + b"\1"),
]


@pytest.mark.rule("jgroups.md 2.1")
@pytest.mark.parametrize(("protocol", "kind", "body"), LATER)
def test_every_known_header_is_passed_over_on_the_way_to_the_seqno(
    protocol: int, kind: int, body: bytes
) -> None:
    above = header(protocol, kind, body)
    none = sized(None)
    frame = listed(*[message(above, msg4(n), tp(), payload=none) for n in (1, 3)])
    decoded = Decoded([frame, single(above, data3(7, first=True), to=B, payload=none)])
    reliable = [row for row in decoded.of("system", "seqno") if row[0] != "jgroups"]
    assert reliable == [("nakack4", 1), ("nakack4", 3), ("unicast3", 7)]
    assert decoded.outcome == [FrameOutcome.DECODED] * 2
    assert {key for key in decoded.account["undecoded"] if "header" in key} == set()


OLD = [
    (2, 3, b"\1" + i16(-1) + who(A)),
    (2, 3, b"\2" + whos(A, B) + who(A)),
    (3, 6, b"\1" + who(A) + b"\1\4\1\2\3\4\0\5" + i32(1) + who(B)),
    (14, 24, b"\1" + i16(8) + who(B)),
    (16, 27, b"\1\1" + who(A) + vlong(2)),
    (6, 13, b"\1" + text("lab")),
    (29, 61, b""),
    (30, 62, b""),
    (5, 7, vlong(1) + i32(0) + i32(300)),
    (26, 58, b"\1" + vlong(5) + b"\0"),
    (45, 54, b"\1"),
    (55, 91, b"\1" + i16(3)),
]


@pytest.mark.rule("jgroups.md 3")
@pytest.mark.parametrize(("protocol", "kind", "body"), OLD)
def test_headers_of_3x_have_ids_of_their_own(protocol: int, kind: int, body: bytes) -> None:
    numbered = header(57, 93, b"\1" + vlong(1))
    decoded = Decoded([single(header(protocol, kind, body), numbered, version=V3_6_0)])
    assert ("nakack2", 1) in decoded.of("system", "seqno")
    assert decoded.outcome == [FrameOutcome.DECODED]
    assert decoded.account["sureness"] == {"certain": 1}


@pytest.mark.rule("jgroups.md 3")
@pytest.mark.parametrize("tail", [b"", b"\0"])
def test_the_fragment_header_of_4x_may_lack_its_tail(tail: bytes) -> None:
    above = header(4, 52, vlong(7) + vlong(0) + vlong(2) + tail)
    frame = single(above, data3(3), version=V4_2_22, to=B, payload=b"x")
    decoded = Decoded([frame])
    assert decoded.of("seqno") == [(3,)]
    assert decoded.account["undecoded"] == {}


@pytest.mark.rule("jgroups.md 3")
@pytest.mark.parametrize(
    ("protocol", "kind", "body"),
    [(62, 91, vlong(1) + vlong(2) + vlong(3) + vlong(400) + vlong(0)), (15, 58, i32(1000))],
)
@pytest.mark.parametrize(("version", "more"), [(V4_2_22, b""), (V5_2_0, b"\1")])
def test_some_headers_have_one_byte_more_from_5_0_on(
    protocol: int, kind: int, body: bytes, version: int, more: bytes
) -> None:
    above = header(protocol, kind, body + more)
    decoded = Decoded([single(above, data3(3), version=version, to=B, kind=EMPTY)])
    assert decoded.of("seqno") == [(3,)]
    assert decoded.account["undecoded"] == {}


@pytest.mark.rule("jgroups.md 1.8")
@pytest.mark.parametrize("count", [3, 4])
def test_an_unknown_header_above_the_seqno_is_skipped_to_what_cannot_be_chance(count: int) -> None:
    strange = header(1025, 1234, b"any bytes of any length")
    frame = single(strange, *[header(1026, 1235, b"x")] * (count - 3), data3(5), to=B)
    decoded = Decoded([frame])
    assert decoded.of("seqno") == [(5,)]
    assert decoded.outcome == [FrameOutcome.DECODED]
    assert decoded.account["undecoded"] == {"header class 1234 (protocol 1025), skipped": 1}


@pytest.mark.rule("jgroups.md 1.8")
def test_an_unknown_header_without_a_seqno_below_ends_at_the_transport_header() -> None:
    decoded = Decoded([single(header(1025, 1234, b"strange"))])
    assert decoded.of("seqno") == []
    assert decoded.outcome == [FrameOutcome.DECODED]
    assert decoded.account["messages_by"] == {"jgroups": {"user defined": 1}}


@pytest.mark.rule("jgroups.md 1.8")
def test_what_cannot_be_found_again_is_named_and_messages_before_it_stay() -> None:
    frame = listed(
        message(msg4(1), version=V5_6_0), message(header(1025, 1234, b"strange")), count=2
    )
    decoded = Decoded([frame])
    assert decoded.of("seqno") == [(1,)]
    assert decoded.outcome == [FrameOutcome.UNDECODABLE]
    assert decoded.account["undecoded"] == {"header class 1234 (protocol 1025)": 1}


@pytest.mark.rule("jgroups.md 1.10")
def test_what_encryption_hides_is_counted_and_what_it_does_not_is_read() -> None:
    hides = header(58, 88, b"\1\1" + b"\0" + who(None) + b"\0")
    decoded = Decoded([single(hides), single(msg4(1), hides)])
    assert decoded.of("seqno") == [(1,)]
    assert decoded.outcome == [FrameOutcome.UNDECODABLE, FrameOutcome.DECODED]
    assert decoded.account["undecoded"] == {"encrypted": 1}


@pytest.mark.rule("jgroups.md 1.10")
def test_a_bare_discovery_datagram_names_a_member_but_not_its_socket() -> None:
    ping = header(6, 53, b"\1" + text("lab") + b"\1")
    member = who(A) + b"\0" + text("A") + ip4("10.80.0.9", 7800) + i16(-1)
    frame = message(ping, source=who(A), payload=sized(i32(1) + member))[2:]
    old = message(ping, source=who(B), payload=b"\1" + who(B) + b"\0" + text("B") + b"\1" + i16(-1),
                  version=V4_2_22)  # fmt: skip
    decoded = Decoded([frame, old], port=50528)
    assert decoded.outcome == [FrameOutcome.DECODED] * 2
    assert decoded.account["messages_by"] == {"jgroups": {"MPING": 2}}
    assert decoded.account["datagrams"] == {"single": 0, "list": 0, "bare": 2}
    assert [(row["source"], json.loads(row["detail"])) for row in decoded.rows] == [
        (A, {"address": "10.80.0.9:7800", "name": "A"}),
        (B, {"name": "B"}),
    ]


@pytest.mark.rule("jgroups.md 1.10")
@pytest.mark.parametrize("cluster", [None, "lab"])
def test_what_fd_sock2_says_on_its_own_connections_has_no_version(cluster: str | None) -> None:
    says = header(71, 93, b"\3" + i32(0) + text(cluster) + who(B))
    decoded = Decoded([message(says, source=who(A), kind=EMPTY)[2:]], port=7900)
    assert decoded.outcome == [FrameOutcome.DECODED]
    assert decoded.account["messages_by"] == {"jgroups": {"FD_SOCK2": 1}}
    assert decoded.account["undecoded"] == {}
    assert decoded.rows == []  # nor is it the member's socket


# 2.2 to 2.5


@pytest.mark.rule("jgroups.md 2.2")
@pytest.mark.parametrize("flag", [b"\0", b"\1" + i32(5), b"\2" + i32(5)])
def test_a_round_trip_flag_brings_an_index(flag: bytes) -> None:
    frame = i16(V5_6_0) + b"\2" + message(msg4(1), tp(flag=flag), source=who(A))
    assert Decoded([frame]).of("seqno") == [(1,)]


@pytest.mark.rule("jgroups.md 2.2")
def test_clusters_on_one_port_are_conversations_of_their_own() -> None:
    frames = [
        i16(V5_6_0) + b"\2" + message(msg4(1), tp(cluster=name), source=who(A))
        for name in ("lab", "bal", "a|b%")
    ]
    decoded = Decoded(frames)
    assert decoded.of("conversation", "stream") == [
        ("mcast|lab", f"lab|{A}"),
        ("mcast|bal", f"bal|{A}"),
        ("mcast|a%7Cb%25", f"a%7Cb%25|{A}"),
    ]
    assert decoded.account["clusters"] == {"lab": 1, "bal": 1, "a|b%": 1}


def test_clusters_that_are_not_handed_on_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datagrams, "CLUSTERS_TOLD", 2)
    told = [("c", 1), ("b", 2), ("a", 1), ("d", 1)]
    frames = [
        i16(V5_6_0) + b"\2" + message(msg4(n), tp(cluster=name), source=who(A))
        for name, count in told
        for n in range(count)
    ]
    account = Decoded(frames).account
    assert (account["clusters"], account["clusters_more"]) == ({"b": 2, "a": 1}, 2)


@pytest.mark.rule("jgroups.md 2.3")
@pytest.mark.parametrize(("protocol", "kind", "system"), [
    (48, 82, "unicast3"), (78, 100, "unicast4"), (600, 82, "unicast3"),
])  # fmt: skip
def test_unicast_messages_and_answers_share_the_stream_of_the_data(
    protocol: int, kind: int, system: str
) -> None:
    def frame(body: bytes, *, by: str, to: str, **rest: Any) -> bytes:
        return single(header(protocol, kind, body), by=by, to=to, **rest)

    asked = b"\1" + i16(15) + bits([3, 5], 2, 70)
    decoded = Decoded(
        [
            frame(b"\0" + vlong(1) + i16(7) + b"\1", by=B, to=A),
            frame(b"\1" + vlong(1) + i16(7) + vlong(4), by=A, to=B, kind=EMPTY),
            frame(b"\2" + vlong(5), by=A, to=B, kind=EMPTY, flags=5),
            frame(b"\3", by=A, to=B, kind=OBJECT, flags=5, payload=asked),
            frame(b"\4" + i16(7), by=B, to=A, kind=EMPTY),
        ]
    )
    columns = ("wire_kind", "kind", "stream", "source", "destination", "seqno", "stop_seqno",
               "count", "conn_id", "stamp", "flags")  # fmt: skip
    stream = f"lab|{B}|{A}|"
    assert decoded.of(*columns) == [
        ("DATA", Kind.DATA, stream + "7", B, A, 1, 2, 1, 7, None, Flag.FIRST | Flag.ALONE),
        ("ACK", Kind.ACK, stream + "7", A, B, 1, 2, 1, 7, 4, 0),
        ("SEND_FIRST_SEQNO", Kind.SYNC, stream, A, B, None, None, 1, None, 5, Flag.OOB),
        ("XMIT_REQ", Kind.REQUEST, stream, A, B, 3, 6, 2, None, None, Flag.OOB),
        ("CLOSE", Kind.CLOSE, stream + "7", B, A, None, None, 1, 7, None, 0),
    ]
    assert set(decoded.of("system", "conversation")) == {(system, "unicast|lab")}


@pytest.mark.rule("jgroups.md 2.3")
@pytest.mark.parametrize("conn_id", [0, 32767, -1, -32768])
def test_a_conn_id_is_signed(conn_id: int) -> None:
    assert Decoded([single(data3(1, conn_id), to=B)]).of("conn_id", "stream") == [
        (conn_id, f"lab|{A}|{B}|{conn_id}")
    ]


@pytest.mark.rule("jgroups.md 2.4")
@pytest.mark.parametrize(("protocol", "kind", "system"), [
    (41, 78, "nakack2"), (77, 99, "nakack4"), (76, 99, "nakack3"), (600, 99, "nakack4"),
])  # fmt: skip
def test_multicast_events_belong_to_the_stream_of_the_sender(
    protocol: int, kind: int, system: str
) -> None:
    def numbered(body: bytes) -> bytes:
        return header(protocol, kind, body)

    asked = b"\1" + i16(15) + bits([2], 2, 1)
    decoded = Decoded(
        [
            single(numbered(b"\1" + vlong(2)), by=A),
            single(numbered(b"\2" + who(A)), by=B, to=C, kind=OBJECT, payload=asked, flags=5),
            single(numbered(b"\2" + who(A)), by=B, kind=OBJECT, payload=asked, flags=5),
            single(numbered(b"\3" + vlong(2)), by=A, to=B),
            single(numbered(b"\4" + vlong(2)), by=A, kind=EMPTY, flags=5),
            single(numbered(b"\5" + vlong(2)), by=B, to=A, kind=EMPTY, flags=1),
        ]
    )
    assert decoded.of("wire_kind", "kind", "source", "destination", "seqno") == [
        ("MSG", Kind.DATA, A, None, 2),
        ("XMIT_REQ", Kind.REQUEST, B, C, 2),
        ("XMIT_REQ", Kind.REQUEST, B, None, 2),
        ("XMIT_RSP", Kind.RETRANSMISSION, A, B, 2),
        ("HIGHEST_SEQNO", Kind.HIGHEST, A, None, 2),
        ("ACK", Kind.ACK, B, A, 2),
    ]
    assert set(decoded.of("system", "conversation", "stream")) == {
        (system, "mcast|lab", f"lab|{A}")
    }
    assert decoded.account["messages_by"] == {
        system: {"MSG": 1, "XMIT_REQ": 2, "XMIT_RSP": 1, "HIGHEST_SEQNO": 1, "ACK": 1}
    }


@pytest.mark.rule("jgroups.md 2.3")
@pytest.mark.parametrize("body", [b"\5", b"\0\0"])
def test_a_type_that_no_reliability_header_has_is_malformed(body: bytes) -> None:
    first = message(msg4(1), tp())
    bad = message(header(48, 82, body), tp()) if body == b"\5" else message(header(77, 99, body))
    assert Decoded([listed(first, bad)]).outcome == [FrameOutcome.MALFORMED]


@pytest.mark.rule("jgroups.md 2.5")
@pytest.mark.parametrize(
    ("seqnos", "offset", "size", "detail"),
    [
        ([5], 5, 1, [[5, 6]]),
        ([23, 24, 25, 26, 27, 28, 29], 23, 21, [[23, 30]]),
        ([63, 64, 65], 0, 128, [[63, 66]]),
        ([200], 10, 400, [[200, 201]]),
        ([], 10, 400, []),
        ([], 10, 0, []),
    ],
)
def test_a_seqno_list_is_a_bit_set_from_its_offset(
    seqnos: list[int], offset: int, size: int, detail: list[list[int]]
) -> None:
    frame = single(
        header(48, 82, b"\3"), to=B, kind=OBJECT, payload=b"\1\0\x0f" + bits(seqnos, offset, size)
    )
    low = seqnos[0] if seqnos else None
    stop = seqnos[-1] + 1 if seqnos else None
    (row,) = Decoded([frame]).of("seqno", "stop_seqno", "count", "detail")
    assert row == (low, stop, len(seqnos), json.dumps(detail, separators=(",", ":")))


# 2.6 and 2.7: views, digests, names

VIEW = i16(0x11) + who(A) + vlong(2) + whos(A, B)
VIEW_DETAIL = {"merge": False, "view": {"id": [A, 2], "members": [A, B]}}


def gms(kind: int, *, flags: int = 0) -> bytes:
    return header(12, 55, bytes([kind]) + i16(flags) + who(None))


@pytest.mark.rule("jgroups.md 2.6")
@pytest.mark.parametrize(("kind", "word"), [(1, "MSG"), (3, "XMIT_RSP")])
def test_a_view_by_multicast_is_one_row_with_its_seqno(kind: int, word: str) -> None:
    frame = single(gms(5), header(77, 99, bytes([kind]) + vlong(4)), payload=sized(VIEW))
    decoded = Decoded([frame])
    assert decoded.of("system", "wire_kind", "kind", "seqno", "stream", "source") == [
        ("nakack4", word, Kind.VIEW, 4, None, A)
    ]
    assert json.loads(decoded.of("detail")[0][0]) == VIEW_DETAIL


@pytest.mark.rule("jgroups.md 2.6")
@pytest.mark.parametrize(
    ("payload", "detail"),
    [
        (VIEW, VIEW_DETAIL),
        (
            i16(0x19) + who(A) + vlong(3) + who(A) + vlong(2) + whos() + whos(C),
            {"merge": False,
             "view": {"id": [A, 3], "reference": [A, 2], "left": [], "new": [C]}},
        ),
        (
            i16(0x05) + who(B) + vlong(9) + whos(A, B) + i16(2)
            + i16(0) + i64(4) + i16(1) + i16(0)
            + i16(-1) + who(C) + i64(5) + i16(2) + i16(1) + i16(-1) + who(C),
            {"merge": True, "view": {"id": [B, 9], "members": [A, B], "subgroups": [
                {"id": [A, 4], "members": [A]}, {"id": [C, 5], "members": [B, C]}]}},
        ),
        (
            i16(0x03) + who(A) + vlong(2) + whos(A, B) + i16(2) + vpair(3, 4) + vpair(0, 0),
            {**VIEW_DETAIL, "digest": {A: [3, 4], B: [0, 0]}},
        ),
        (
            i16(0x13) + who(A) + vlong(2) + whos(A, B) + whos(C) + vpair(20, 20),
            {**VIEW_DETAIL, "digest": {C: [20, 20]}},
        ),
    ],
    ids=["View", "DeltaView", "MergeView", "digest in view order", "digest with addresses"],
)  # fmt: skip
def test_views_of_each_form(payload: bytes, detail: dict[str, Any]) -> None:
    decoded = Decoded([single(gms(5), msg4(4), payload=sized(payload))])
    assert [json.loads(row[0]) for row in decoded.of("detail")] == [detail]


@pytest.mark.rule("jgroups.md 2.6")
def test_a_join_response_is_a_view_beside_its_numbered_unicast() -> None:
    payload = b"\1\3" + who(A) + vlong(1) + whos(A, B) + i16(2) + vpair(300, 305) + vpair(0, 0)
    decoded = Decoded([single(gms(2), data3(1, first=True), to=B, payload=sized(payload))])
    assert decoded.of("system", "conversation", "wire_kind", "kind", "seqno", "destination") == [
        ("jgroups", "mcast|lab", "JOIN_RSP", Kind.VIEW, None, B),
        ("unicast3", "unicast|lab", "DATA", Kind.DATA, 1, B),
    ]
    assert json.loads(decoded.of("detail")[0][0]) == {
        "merge": False,
        "view": {"id": [A, 1], "members": [A, B]},
        "digest": {A: [300, 305], B: [0, 0]},
    }


@pytest.mark.rule("decoders/README.md 3")
def test_members_views_and_notices_are_rows_of_the_unicast_conversation_too() -> None:
    decoded = Decoded([single(gms(5), msg4(4), payload=sized(VIEW)), single(gms(3), to=B)])
    told = [row for batch in decoded.batches for row in batch.to_pylist()]
    for row in decoded.copies:
        assert row | {"conversation": "mcast|lab"} in told
    assert [(row["conversation"], row["kind"]) for row in decoded.copies] == [
        ("unicast|lab", Kind.MEMBER), ("unicast|lab", Kind.VIEW), ("unicast|lab", Kind.NOTICE),
    ]  # fmt: skip


@pytest.mark.rule("jgroups.md 2.6")
@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (1, None, [(Kind.NOTICE, "JOIN_REQ")]),
        (2, b"\1\4" + i16(2) + b"no", [(Kind.NOTICE, "JOIN_RSP")]),
        (3, None, [(Kind.NOTICE, "LEAVE_REQ")]),
        (4, None, [(Kind.NOTICE, "LEAVE_RSP")]),
        (5, VIEW, [(Kind.VIEW, "VIEW")]),
        (6, None, [(Kind.NOTICE, "MERGE_REQ")]),
        (7, i16(0x13) + VIEW[2:] + whos(A) + vpair(1, 2), [(Kind.VIEW, "MERGE_RSP")]),
        (7, None, [(Kind.NOTICE, "MERGE_RSP")]),
        (8, VIEW, [(Kind.VIEW, "INSTALL_MERGE_VIEW")]),
        (9, None, [(Kind.NOTICE, "CANCEL_MERGE")]),
        (10, None, []),
        (11, None, [(Kind.NOTICE, "JOIN_REQ_WITH_STATE_TRANSFER")]),
        (13, None, []),
        (14, i16(0x12) + whos(A) + vpair(1, 2), [(Kind.DIGEST, "GET_DIGEST_RSP")]),
        (15, i16(0x12) + whos(A) + vpair(1, 2), [(Kind.DIGEST, "INSTALL_DIGEST")]),
        (16, None, []),
    ],
)
def test_membership_messages_reach_the_cluster(
    kind: int, payload: bytes | None, expected: list[tuple[Kind, str]]
) -> None:
    numbered = Decoded([single(gms(kind), data3(1), to=B, payload=sized(payload))])
    beside = [row for row in numbered.of("kind", "wire_kind", "stream") if row[1] != "DATA"]
    assert beside == [(*row, None) for row in expected]
    alone = Decoded([single(gms(kind), to=B, payload=sized(payload), flags=0x10)])
    assert alone.of("kind", "wire_kind") == expected
    assert alone.account["messages_by"] == {"jgroups": {"GMS": 1}}
    assert alone.outcome == [FrameOutcome.DECODED]


@pytest.mark.rule("jgroups.md 4.2")
@pytest.mark.parametrize("kind", [1, 11])
@pytest.mark.parametrize(
    ("seqno", "conn_id", "detail"), [(1, 0, '{"first":true}'), (2, 0, None), (1, 1, None)]
)
def test_a_request_to_join_says_whether_it_is_the_first_unicast_of_its_member(
    kind: int, seqno: int, conn_id: int, detail: str | None
) -> None:
    decoded = Decoded([single(gms(kind), data3(seqno, conn_id, first=seqno == 1), to=B)])
    beside = [row[1] for row in decoded.of("wire_kind", "detail") if row[0] != "DATA"]
    assert beside == [detail]
    alone = Decoded([single(gms(kind), to=B, flags=0x10)])
    assert [row[1] for row in alone.of("wire_kind", "detail")] == [None]


@pytest.mark.rule("jgroups.md 2.6")
def test_a_view_that_cannot_be_read_is_a_numbered_one_that_tells_nothing() -> None:
    decoded = Decoded([single(gms(5), msg4(4), payload=sized(VIEW[:-1]))])
    assert decoded.of("kind", "seqno", "detail") == [(Kind.VIEW, 4, None)]
    assert decoded.outcome == [FrameOutcome.UNDECODABLE]
    assert decoded.account["undecoded"] == {"payload of VIEW": 1}


@pytest.mark.rule("jgroups.md 2.6")
@pytest.mark.parametrize(("kind", "word"), [(1, "STABLE_GOSSIP"), (2, "STABILITY")])
def test_stable_messages_are_digests(kind: int, word: str) -> None:
    payload = b"\1" + i16(10) + whos(A, B) + vpair(20, 20) + vpair(300, 305)
    head = header(13, 56, bytes([kind]) + b"\1" + who(A) + vlong(2))
    decoded = Decoded([single(head, kind=OBJECT, payload=payload, flags=0x15)])
    assert decoded.of("kind", "wire_kind", "conversation", "stream", "source", "flags") == [
        (Kind.DIGEST, word, "mcast|lab", None, A, Flag.OOB | Flag.UNRELIABLE)
    ]
    assert json.loads(decoded.of("detail")[0][0]) == {"digest": {A: [20, 20], B: [300, 305]}}
    assert decoded.account["messages_by"] == {"jgroups": {"STABLE": 1}}


@pytest.mark.rule("jgroups.md 2.7")
def test_a_member_is_told_once_for_each_socket_version_and_name() -> None:
    ping = header(5, 53, b"\2" + text("lab") + b"\0")
    named = who(A) + b"\3" + text("A") + ip4("10.80.0.1", 7800) + whos(A)
    other = who(C) + b"\1" + text("C") + ip4("10.80.0.3", 7800) + i16(-1)
    frames = [
        single(header(70, 62), by=B),
        single(header(70, 62), by=B),
        single(ping, to=B, payload=sized(i32(2) + named + other)),
        single(ping, to=B, payload=sized(i32(2) + named + other)),
        single(header(38, 75, b"\0\0" + text("B") + ip4("10.80.0.1", 7800)), by=B, kind=EMPTY),
    ]
    decoded = Decoded(frames)
    told = [(row["frame"], row["source"], json.loads(row["detail"])) for row in decoded.rows]
    here = {"address": "10.80.0.1:7800", "version": "5.6.0"}
    assert told == [
        (1, B, here),
        (3, A, {**here, "name": "A"}),
        (3, C, {"address": "10.80.0.3:7800", "name": "C"}),
        (5, B, {**here, "name": "B"}),
    ]
    assert {(row["index"], row["kind"], row["conversation"]) for row in decoded.rows} == {
        (-1, Kind.MEMBER, "mcast|lab")
    }
    assert decoded.account["messages_by"] == {"jgroups": {"FD_ALL3": 2, "PING": 2, "MERGE3": 1}}


@pytest.mark.rule("jgroups.md 2.4")
def test_a_repair_tells_nothing_of_the_original_senders_socket() -> None:
    frame = single(header(41, 78, b"\3" + vlong(2)), by=A, to=B)
    assert [row["wire_kind"] for row in Decoded([frame]).rows] == ["XMIT_RSP"]


# 3: releases


@pytest.mark.rule("jgroups.md 3")
@pytest.mark.parametrize(
    ("version", "body", "expected"),
    [
        (V3_5_0, b"\1" + vlong(9) + i16(2), ("ACK", 9, 2, None)),
        (V3_5_0, b"\2", ("SEND_FIRST_SEQNO", None, None, None)),
        (V3_5_0, b"\4" + i16(2), ("CLOSE", None, 2, None)),
        (0x1941, b"\1" + vlong(9) + i16(2) + vlong(300), ("ACK", 9, 2, 300)),
        (V3_6_0, b"\2" + vlong(300), ("SEND_FIRST_SEQNO", None, None, 300)),
        (V4_2_22, b"\1" + vlong(9) + i16(2) + vlong(300), ("ACK", 9, 2, 300)),
        (V5_2_0, b"\1" + vlong(9) + i16(2) + vlong(300), ("ACK", 9, 2, 300)),
        (V5_3_7, b"\2" + vlong(300), ("SEND_FIRST_SEQNO", None, None, 300)),
        (V5_6_0, b"\4" + i16(2), ("CLOSE", None, 2, None)),
    ],
)
def test_unicast_headers_by_release(version: int, body: bytes, expected: tuple[Any, ...]) -> None:
    pair = (48, 82) if version >= 0x2000 else (64, 107)
    frames = [single(header(*pair, body), version=version, to=B, kind=EMPTY)]
    tail = [tp(version)] if version >= V5_3_8 else []
    frames.append(
        listed(message(header(*pair, body), *tail, kind=EMPTY, version=version),
               version=version, to=B)
    )  # fmt: skip
    decoded = Decoded(frames)
    assert decoded.of("wire_kind", "seqno", "conn_id", "stamp") == [expected] * 2
    assert decoded.outcome == [FrameOutcome.DECODED] * 2
    assert decoded.account["sureness"] == {"certain": 2}
    assert {row["conversation"] for row in decoded.rows} >= {"unicast|lab"}


ASKED = bits([3, 4, 6], 3, 5)
LISTED = i32(2) + b"\1" + vpair(3, 4) + b"\0" + vlong(6)


@pytest.mark.rule("jgroups.md 3")
@pytest.mark.parametrize(
    ("version", "payload"),
    [
        (V3_5_0, b"\1\1\0\x5e" + LISTED),
        (V3_6_0, b"\1\1\0\x5e" + ASKED),
        (0x1988, b"\1\1\0\x5e" + ASKED),
        (0x1989, b"\1" + ASKED),
        (V4_2_22, b"\1" + ASKED),
        (V5_2_0, b"\x32\1\0\x0f" + ASKED),
        (0x288A, b"\x32\1\0\x0f" + ASKED),
        (V5_2_11, b"\1\0\x0f" + ASKED),
        (V5_3_7, b"\1\0\x0f" + ASKED),
        (V5_6_0, b"\1\0\x0f" + ASKED),
    ],
)
def test_requests_by_release(version: int, payload: bytes) -> None:
    pair = (48, 82) if version >= 0x2000 else (64, 107)
    frame = single(header(*pair, b"\3"), version=version, to=B, kind=OBJECT, payload=payload)
    decoded = Decoded([frame])
    assert decoded.of("wire_kind", "seqno", "stop_seqno", "count", "detail") == [
        ("XMIT_REQ", 3, 7, 3, "[[3,5],[6,7]]")
    ]
    assert decoded.outcome == [FrameOutcome.DECODED]


@pytest.mark.rule("jgroups.md 3")
@pytest.mark.parametrize(
    ("version", "payload"),
    [
        (V3_6_0, b"\1"),
        (V4_2_22, b"\1"),
        (V5_2_0, b"\x32\1" + i16(10)),
        (V5_2_11, b"\1" + i16(9)),
        (V5_6_0, b"\1" + i16(10)),
    ],
)
def test_digests_by_release(version: int, payload: bytes) -> None:
    pair = (13, 56) if version >= 0x2000 else (16, 27)
    head = header(*pair, b"\1\1" + who(A) + vlong(2))
    frame = single(head, version=version, kind=OBJECT, payload=payload + whos(A) + vpair(2, 3))
    assert json.loads(Decoded([frame]).of("detail")[0][0]) == {"digest": {A: [2, 3]}}


@pytest.mark.rule("jgroups.md 3")
@pytest.mark.parametrize(
    ("version", "payload"),
    [(V3_6_0, b"\1"), (V4_2_22, b"\1"), (V5_2_0, b"\1"), (0x28C1, b"\1"), (0x28C2, i32(1))],
)
def test_discovery_by_release(version: int, payload: bytes) -> None:
    payload += who(A) + b"\0" + text("A") + ip4("10.80.0.1", 7800) + i16(-1)
    pair = (5, 53) if version >= 0x2000 else (6, 13)
    head = header(*pair, b"\1" + text("lab") + (b"\1" if version >= 0x2000 else b""))
    sent = sized(payload) if version >= 0x2800 else payload
    decoded = Decoded([single(head, version=version, payload=sent)])
    assert [json.loads(row["detail"])["name"] for row in decoded.rows] == ["A"]
    assert decoded.account["messages_by"] == {"jgroups": {"PING": 1}}


@pytest.mark.rule("jgroups.md 3")
@pytest.mark.parametrize("version", [V3_5_0, V4_2_22])
def test_a_message_before_5_has_a_buffer_or_none(version: int) -> None:
    pair = (41, 78) if version >= 0x2000 else (57, 93)
    frames = [
        listed(
            message(header(*pair, b"\1" + vlong(1)), version=version, payload=b"data"),
            message(header(*pair, b"\1" + vlong(3)), version=version),
            version=version,
        )
    ]
    decoded = Decoded(frames)
    assert decoded.of("seqno", "stream") == [(1, f"lab|{A}"), (3, f"lab|{A}")]
    assert decoded.outcome == [FrameOutcome.DECODED]


@pytest.mark.rule("jgroups.md 3")
def test_lists_before_5_3_8_have_no_transport_header_and_that_has_no_flag() -> None:
    frames = [
        listed(message(msg4(1)), message(msg4(2)), version=V5_3_7),
        single(msg4(3), version=V5_3_7),
    ]
    decoded = Decoded(frames)
    assert decoded.of("seqno", "count") == [(1, 3)]
    assert decoded.outcome == [FrameOutcome.DECODED] * 2
