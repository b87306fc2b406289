"""Link layer, IP and UDP: one test a rule, a slow model, and what tshark says."""

import ipaddress
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.capture.reader import Reader
from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network import rare_links as link_slow
from seqaudit.decoders.network.packets import SETTLED, FrameOutcome, PacketReader
from tests.decoders.network.builders import (
    DESTINATION,
    DESTINATION6,
    GROUP,
    SOURCE,
    SOURCE6,
    Packet,
    authentication,
    ethernet,
    extension,
    fragment6,
    ipv4,
    ipv6,
    records,
    sll,
    sll2,
    udp,
)

PAYLOAD = b"payload of a datagram"
PLAIN = ipv4(udp(PAYLOAD))
PLAIN6 = ipv6(udp(PAYLOAD))
CAPTURES = Path(__file__).parents[4] / "shared" / "captures" / "jgroups"


def read(packets: Sequence[Packet], *, compile_it: bool = False) -> list[dict[str, Any]]:
    """What the kernel finds, a dict a record, payload and addresses in words."""
    reader = PacketReader(0, 0, compile_it=compile_it)
    chunk = records(packets)
    rows: list[dict[str, Any]] = []
    for found in reader.read(chunk):
        for values in found.columns.T.tolist():
            row = told(values)
            for end in ("source", "destination"):
                row[end] = found.flows.hosts[row[end]] if row[end] >= 0 else None
            row["payload"] = bytes(chunk.data[row.pop("start") : row.pop("stop")])
            row.pop("flow")
            rows.append(row)
    return rows


FIELDS = (
    "state", "protocol", "source", "destination", "source_port", "destination_port", "start",
    "stop", "length", "ip_id", "flags", "ttl", "fragment", "flow", "packet_type", "network",
    "tunnel", "sequence", "acknowledged", "tcp_bits",
)  # fmt: skip


def told(values: list[int]) -> dict[str, Any]:
    """A row's fields: of what TCP's header says only where there is one."""
    row: dict[str, Any] = dict(zip(FIELDS, values, strict=True))
    tcp = (row["state"], row["protocol"]) == (k.NOT_UDP, 6)
    if not tcp or row["stop"] - row["start"] < k.TCP_BYTES:
        return {name: row[name] for name in FIELDS[: k.SEQUENCE]}
    return row


def one(data: bytes, link: int = 1, original: int | None = None) -> dict[str, Any]:
    (row,) = read([Packet(data, link, original)])
    return row


def outcome(state: int) -> FrameOutcome | None:
    return SETTLED[state][0] if state in SETTLED else None


# What stands in front of IP.


def snap(ethertype: int, inner: bytes) -> bytes:
    return b"\xaa\xaa\x03\0\0\0" + struct.pack(">H", ethertype) + inner


def ieee80211(inner: bytes, control: bytes = b"\x08\x02", size: int = 24) -> bytes:
    return control + bytes(size - 2) + snap(0x0800, inner)


LINK_LAYERS: dict[str, tuple[int, bytes]] = {
    "ethernet": (1, ethernet(PLAIN)),
    "802.1Q": (1, ethernet(PLAIN, tags=[0x8100])),
    "QinQ": (1, ethernet(PLAIN, tags=[0x88A8, 0x8100])),
    "old QinQ, three tags": (1, ethernet(PLAIN, tags=[0x9100, 0x9100, 0x8100])),
    "MPLS, two labels": (1, ethernet(b"\0\1\0\x40" + b"\0\2\1\x40" + PLAIN, 0x8847)),
    "PPPoE": (1, ethernet(b"\x11\0\0\7\0\x33\0\x21" + PLAIN, 0x8864)),
    "SNAP": (1, ethernet(snap(0x0800, PLAIN), 100)),
    "SLL": (113, sll(PLAIN)),
    "SLL, 802.1Q": (113, sll(struct.pack(">HH", 5, 0x0800) + PLAIN, 0x8100)),
    "SLL, 802.2": (113, sll(snap(0x0800, PLAIN), 4)),
    "SLL2": (276, sll2(PLAIN)),
    "NULL, little-endian": (0, b"\2\0\0\0" + PLAIN),
    "NULL, big-endian": (0, b"\0\0\0\2" + PLAIN),
    "LOOP": (108, b"\0\0\0\2" + PLAIN),
    "RAW": (101, PLAIN),
    "RAW of BSD": (12, PLAIN),
    "RAW of OpenBSD": (14, PLAIN),
    "IPV4": (228, PLAIN),
    "PPP": (9, b"\xff\x03\0\x21" + PLAIN),
    "PPP, compressed": (9, b"\x21" + PLAIN),
    "PPP_HDLC": (50, b"\xff\x03\0\x21" + PLAIN),
    "PPP_WITH_DIR": (204, b"\1\xff\x03\0\x21" + PLAIN),
    "PPP, MPLS": (9, b"\xff\x03\x02\x81" + b"\0\2\1\x40" + PLAIN),
    "PPPoE without Ethernet": (51, b"\x11\0\0\7\0\x33\0\x21" + PLAIN),
    "C_HDLC": (104, b"\x0f\0\x08\0" + PLAIN),
    "FDDI": (10, bytes(13) + snap(0x0800, PLAIN)),
    "ATM": (100, snap(0x0800, PLAIN)),
    "FireWire": (138, bytes(16) + b"\x08\0" + PLAIN),
    "ENC": (109, b"\2\0\0\0" + bytes(8) + PLAIN),
    "PFLOG": (117, b"\x3d\2" + bytes(62) + PLAIN),
    "NFLOG": (239, b"\2\0\0\0" + b"\x05\0\x0a\0\0\0\0\0" + b"\x99\0\x09\0" + PLAIN),
    "802.11": (105, ieee80211(PLAIN)),
    "802.11 QoS": (105, ieee80211(PLAIN, b"\x88\x02", 26)),
    "802.11, four addresses": (105, ieee80211(PLAIN, b"\x08\x03", 30)),
    "radiotap": (127, b"\0\0\x08\0\0\0\0\0" + ieee80211(PLAIN)),
    "prism": (119, bytes(144) + ieee80211(PLAIN)),
    "AVS": (163, b"\x80\x21\x10\1\0\0\0\x40" + bytes(56) + ieee80211(PLAIN)),
    "PPI": (192, b"\0\0\x08\0\x69\0\0\0" + ieee80211(PLAIN)),
    "802.1ah": (
        1,
        ethernet(bytes(4) + ethernet(PLAIN), 0x88E7, tags=[0x88A8]),
    ),
    "HSR": (1, ethernet(b"\0\x40\0\7\x08\0" + PLAIN, 0x892F)),
    "802.1CB": (1, ethernet(b"\0\0\0\7\x08\0" + PLAIN, 0xF1C1, tags=[0x8100])),
    "CMD": (1, ethernet(b"\1\1\0\1\0\7\x08\0" + PLAIN, 0x8909)),
    "MACsec": (1, ethernet(b"\0\0\0\0\0\1\x08\0" + PLAIN, 0x88E5)),
    "MACsec with its sender": (
        1,
        ethernet(b"\x20\0\0\0\0\1" + bytes(8) + b"\x08\0" + PLAIN, 0x88E5),
    ),
    "IPOIB": (242, bytes(40) + b"\x08\0\0\0" + PLAIN),
    "PKTAP": (258, b"\x14\0\0\0\1\0\0\0\1\0\0\0" + bytes(8) + ethernet(PLAIN)),
    "DSA_TAG_BRCM": (281, ethernet(PLAIN)[:12] + bytes(4) + ethernet(PLAIN)[12:]),
    "DSA_TAG_BRCM_PREPEND": (282, bytes(4) + ethernet(PLAIN)),
    "DSA_TAG_DSA": (284, ethernet(PLAIN)[:12] + b"\xc0\0\0\1" + ethernet(PLAIN)[12:]),
    "DSA_TAG_EDSA": (
        285,
        ethernet(PLAIN)[:12] + b"\xda\xda\0\0\xc0\0\0\1" + ethernet(PLAIN)[12:],
    ),
}


@pytest.mark.parametrize("name", LINK_LAYERS)
def test_a_datagram_is_found_behind_every_link_layer(name: str) -> None:
    link, frame = LINK_LAYERS[name]
    row = one(frame, link)
    assert (row["state"], row["payload"]) == (k.DATAGRAM, PAYLOAD)
    assert (row["source"], row["destination"]) == (SOURCE, DESTINATION)


@pytest.mark.parametrize("name", LINK_LAYERS)
def test_a_link_layer_cut_anywhere_is_truncated_or_cut_never_wrong(name: str) -> None:
    link, frame = LINK_LAYERS[name]
    for size in range(len(frame)):
        (row,) = read([Packet(frame, link).cut(size)])
        if row["state"] == k.DATAGRAM:
            assert row["flags"] & Flag.CUT
            assert PAYLOAD.startswith(row["payload"])
            assert row["length"] == len(PAYLOAD)
        else:
            assert outcome(row["state"]) in (FrameOutcome.TRUNCATED, FrameOutcome.OTHER)
            # only 802.2 without its SNAP header looks like something else
            assert outcome(row["state"]) == FrameOutcome.TRUNCATED or row["state"] == k.NOT_IP


IPV6_LINK_LAYERS: dict[str, tuple[int, bytes]] = {
    "ethernet": (1, ethernet(PLAIN6, 0x86DD)),
    "MPLS": (1, ethernet(b"\0\2\1\x40" + PLAIN6, 0x8847)),
    "PPPoE": (1, ethernet(b"\x11\0\0\7\0\x33\0\x57" + PLAIN6, 0x8864)),
    "SLL2": (276, sll2(PLAIN6, 0x86DD)),
    "NULL, Linux": (0, b"\x0a\0\0\0" + PLAIN6),
    "NULL, FreeBSD": (0, b"\x1c\0\0\0" + PLAIN6),
    "NULL, macOS": (0, b"\0\0\0\x1e" + PLAIN6),
    "LOOP": (108, b"\0\0\0\x18" + PLAIN6),
    "RAW": (101, PLAIN6),
    "IPV6": (229, PLAIN6),
    "PPP": (9, b"\xff\x03\0\x57" + PLAIN6),
}


@pytest.mark.parametrize("name", IPV6_LINK_LAYERS)
def test_ipv6_is_found_behind_link_layers(name: str) -> None:
    link, frame = IPV6_LINK_LAYERS[name]
    row = one(frame, link)
    assert (row["state"], row["payload"]) == (k.DATAGRAM, PAYLOAD)
    assert (row["source"], row["destination"]) == (SOURCE6, DESTINATION6)
    assert row["ip_id"] == -1


def test_the_packet_type_of_cooked_captures_is_kept() -> None:
    assert one(sll(PLAIN, packet_type=4), 113)["packet_type"] == 4
    assert one(sll2(PLAIN, packet_type=3), 276)["packet_type"] == 3
    assert one(ethernet(PLAIN))["packet_type"] == -1


def test_a_frame_without_ip_is_other() -> None:
    assert one(ethernet(bytes(28), 0x0806))["state"] == k.NOT_IP
    assert one(ethernet(b"\x42\x42\x03" + bytes(40), 38))["state"] == k.NOT_IP
    assert one(sll(bytes(40), 1), 113)["state"] == k.NOT_IP
    assert one(ethernet(b"\0\2\1\x40" + b"\0" * 30, 0x8847))["state"] == k.NOT_IP
    assert one(ieee80211(PLAIN, b"\x48\x02"), 105)["state"] == k.NOT_IP  # null function


def test_what_macsec_encrypts_is_counted_as_that() -> None:
    frame = ethernet(b"\x2c\0\0\0\0\1" + bytes(80), 0x88E5)
    assert one(frame)["state"] == k.UNDECRYPTED


def test_endless_tags_are_other() -> None:
    assert one(ethernet(PLAIN, tags=[0x8100] * 40))["state"] == k.NOT_IP


def test_an_unknown_link_type_is_undecodable_and_named() -> None:
    assert outcome(one(bytes(60), 147)["state"]) == FrameOutcome.UNDECODABLE
    reader = PacketReader(0, 0, compile_it=False)
    list(reader.read(records([Packet(bytes(60), 147), Packet(bytes(60), 147)])))
    assert reader.unknown_links == {147: 2}
    assert link_slow.link_name(147) == "LINKTYPE 147"


def test_an_encrypted_frame_is_undecodable() -> None:
    row = one(ieee80211(PLAIN, b"\x08\x42"), 105)
    assert row["state"] == k.UNDECRYPTED


def test_a_record_without_interface_description_is_undecodable() -> None:
    (row,) = read([Packet(ethernet(PLAIN), link=-1, status=k.RECORD_WITHOUT_INTERFACE)])
    assert outcome(row["state"]) == FrameOutcome.UNDECODABLE


def test_a_block_that_is_no_packet_is_other() -> None:
    (row,) = read([Packet(b"", link=-1, status=k.RECORD_WITHOUT_PACKET)])
    assert row["state"] == k.NO_PACKET
    assert outcome(row["state"]) == FrameOutcome.OTHER


# IPv4.


def test_a_datagram_has_all_its_fields() -> None:
    frame = ethernet(ipv4(udp(PAYLOAD, 1111, 2222), SOURCE, GROUP, ident=77, ttl=8))
    assert one(frame) == {
        "state": k.DATAGRAM,
        "protocol": 17,
        "source": SOURCE,
        "destination": GROUP,
        "source_port": 1111,
        "destination_port": 2222,
        "payload": PAYLOAD,
        "length": len(PAYLOAD),
        "ip_id": 77,
        "flags": Flag.MULTICAST,
        "ttl": 8,
        "fragment": -1,
        "packet_type": -1,
        "network": 0,
        "tunnel": 0,
    }


def test_options_are_passed_over() -> None:
    assert one(ethernet(ipv4(udp(PAYLOAD), options=b"\x07\x0b" + bytes(38))))["payload"] == PAYLOAD


def test_padding_of_the_link_layer_is_cut_off() -> None:
    row = one(ethernet(ipv4(udp(b"x")) + bytes(18)))
    assert (row["payload"], row["length"]) == (b"x", 1)


def test_total_length_0_means_as_captured() -> None:
    row = one(ethernet(ipv4(udp(PAYLOAD), total=0)))
    assert (row["state"], row["payload"]) == (k.DATAGRAM, PAYLOAD)


@pytest.mark.parametrize(
    ("packet", "state"),
    [
        (ipv4(udp(PAYLOAD), version=5), k.MALFORMED_VERSION),
        (ipv4(udp(PAYLOAD), words=4), k.MALFORMED_HEADER),
        (ipv4(udp(PAYLOAD), words=15, total=40), k.MALFORMED_LENGTH),
        (ipv4(udp(PAYLOAD), total=19), k.MALFORMED_LENGTH),
        (ipv4(udp(PAYLOAD), total=200), k.MALFORMED_LENGTH),
        (PLAIN[:19], k.MALFORMED_HEADER),
        (ipv4(udp(PAYLOAD, length=7)), k.MALFORMED_UDP),
        (ipv4(udp(PAYLOAD, length=0)), k.MALFORMED_UDP),
        (ipv4(udp(PAYLOAD, length=9 + len(PAYLOAD))), k.MALFORMED_UDP),
        (ipv4(b"\1\2\3\4\5\6\7"), k.MALFORMED_UDP),
        (ipv4(b"12345678", more=True, offset=65512), k.MALFORMED_FRAGMENT),
        (ipv4(b"123456789", more=True), k.MALFORMED_FRAGMENT),
        (ipv4(b"", more=True), k.MALFORMED_FRAGMENT),
    ],
)
def test_a_damaged_ipv4_packet_is_malformed(packet: bytes, state: int) -> None:
    row = one(ethernet(packet))
    assert row["state"] == state
    assert outcome(state) == FrameOutcome.MALFORMED


def test_a_udp_length_shorter_than_ip_says_cuts_the_payload() -> None:
    row = one(ethernet(ipv4(udp(PAYLOAD, length=12))))
    assert (row["state"], row["payload"], row["length"]) == (k.DATAGRAM, PAYLOAD[:4], 4)


def test_an_empty_datagram_is_a_datagram() -> None:
    row = one(ethernet(ipv4(udp(b""))))
    assert (row["state"], row["payload"], row["length"]) == (k.DATAGRAM, b"", 0)


@pytest.mark.parametrize(
    ("ident", "dont_fragment", "expected"), [(0, True, -1), (0, False, 0), (7, True, 7)]
)
def test_id_0_with_df_is_none(ident: int, dont_fragment: bool, expected: int) -> None:
    packet = ipv4(udp(PAYLOAD), ident=ident, dont_fragment=dont_fragment)
    assert one(ethernet(packet))["ip_id"] == expected


@pytest.mark.parametrize(
    ("destination", "group"),
    [
        ("223.255.255.255", False),
        ("224.0.0.0", True),
        ("239.255.255.255", True),
        ("240.0.0.0", False),
        ("255.255.255.255", True),
    ],
)
def test_a_group_is_224_to_239_or_broadcast(destination: str, group: bool) -> None:
    flags = one(ethernet(ipv4(udp(PAYLOAD), destination=destination)))["flags"]
    assert flags == (Flag.MULTICAST if group else 0)


@pytest.mark.parametrize(("destination", "group"), [("ff02::1", True), ("fe80::ff", False)])
def test_an_ipv6_group_begins_with_ff(destination: str, group: bool) -> None:
    flags = one(ipv6(udp(PAYLOAD), destination=destination), 229)["flags"]
    assert flags == (Flag.MULTICAST if group else 0)


@pytest.mark.parametrize(("offset", "more"), [(0, True), (1480, True), (1480, False)])
def test_a_fragment_is_for_the_second_stage(offset: int, more: bool) -> None:
    row = one(ethernet(ipv4(bytes(64), offset=offset, more=more)))
    assert (row["state"], row["fragment"]) == (k.FRAGMENT_STATE, offset << 1 | more)
    assert (row["payload"], row["length"]) == (bytes(64), 64)
    tcp, sctp = (
        one(ethernet(ipv4(bytes(64), protocol=protocol, offset=offset, more=more)))["state"]
        for protocol in (6, 132)
    )
    assert (tcp, sctp) == (k.FRAGMENT_STATE, k.NOT_UDP)


def test_tcp_keeps_its_ports_and_where_it_begins() -> None:
    segment = struct.pack(">HHIIHHHH", 7800, 1234, 1, 2, 0x5010, 100, 0, 0) + b"stream"
    row = one(ethernet(ipv4(segment, protocol=6) + bytes(6)))
    assert (row["state"], row["protocol"]) == (k.NOT_UDP, 6)
    assert (row["source_port"], row["destination_port"]) == (7800, 1234)
    assert (row["payload"], row["length"]) == (segment, len(segment))


# IPv6.


@pytest.mark.parametrize(
    ("first", "inner"),
    [
        (0, extension(17, udp(PAYLOAD))),
        (43, extension(17, udp(PAYLOAD), units=2)),
        (60, extension(17, udp(PAYLOAD))),
        (51, authentication(17, udp(PAYLOAD))),
        (135, extension(17, udp(PAYLOAD))),
        (0, extension(43, extension(60, extension(51, authentication(17, udp(PAYLOAD)))))),
    ],
)
def test_extension_headers_are_walked(first: int, inner: bytes) -> None:
    row = one(ipv6(inner, next_header=first), 229)
    assert (row["state"], row["payload"]) == (k.DATAGRAM, PAYLOAD)


def test_an_atomic_fragment_is_an_ordinary_datagram_with_an_id() -> None:
    row = one(ipv6(fragment6(17, udp(PAYLOAD)), next_header=44), 229)
    assert (row["state"], row["payload"], row["ip_id"]) == (k.DATAGRAM, PAYLOAD, 0x9ABCDEF0)


@pytest.mark.parametrize(
    ("following", "state"),
    [(17, k.FRAGMENT_STATE), (60, k.FRAGMENT_STATE), (6, k.FRAGMENT_STATE), (58, k.NOT_UDP)],
)
def test_an_ipv6_fragment_is_shipped_if_udp_or_tcp_may_be_in_it(following: int, state: int) -> None:
    inner = extension(44, fragment6(following, bytes(64), offset=64, more=True))
    row = one(ipv6(inner, next_header=0), 229)
    assert (row["state"], row["fragment"]) == (state, 64 << 1 | 1)


@pytest.mark.parametrize(
    ("packet", "state"),
    [
        (ipv6(udp(PAYLOAD), length=300), k.MALFORMED_LENGTH),
        (ipv6(extension(17, b"", units=9)[:-8], next_header=0), k.MALFORMED_EXTENSION),
        (ipv6(b"\x11\0\0\0", next_header=0), k.MALFORMED_EXTENSION),
        (
            ipv6(b"".join(extension(0, b"") for _ in range(30)), next_header=0),
            k.MALFORMED_EXTENSION,
        ),
        (ipv6(fragment6(17, b"", more=True), next_header=44), k.MALFORMED_FRAGMENT),
        (ipv6(fragment6(17, bytes(9), more=True), next_header=44), k.MALFORMED_FRAGMENT),
        (ipv6(udp(PAYLOAD, length=100)), k.MALFORMED_UDP),
        (PLAIN6[:39], k.MALFORMED_HEADER),
    ],
)
def test_a_damaged_ipv6_packet_is_malformed(packet: bytes, state: int) -> None:
    row = one(packet, 229)
    assert row["state"] == state
    assert outcome(state) == FrameOutcome.MALFORMED


def test_no_next_header_and_esp_are_other() -> None:
    assert one(ipv6(b"", next_header=59), 229)["state"] == k.NOT_UDP
    assert one(ipv6(bytes(40), next_header=50), 229)["state"] == k.NOT_UDP


def test_a_jumbogram_has_udp_length_0() -> None:
    payload = bytes(70_000)
    jumbo = extension(17, struct.pack(">HHHH", 1, 2, 0, 0) + payload)
    row = one(ipv6(jumbo, next_header=0, length=0), 229)
    assert (row["state"], row["length"]) == (k.DATAGRAM, 70_000)


def test_a_raw_packet_of_neither_version_is_malformed() -> None:
    assert one(b"\x55" + bytes(60), 101)["state"] == k.MALFORMED_VERSION


# What is captured.


def test_headers_beyond_snap_length_are_truncated_then_the_payload_is_cut() -> None:
    frame = ethernet(PLAIN)
    states = [read([Packet(frame).cut(size)])[0] for size in range(len(frame) + 1)]
    assert {outcome(row["state"]) for row in states[: 14 + 20 + 8]} == {FrameOutcome.TRUNCATED}
    for size in range(14 + 28, len(frame)):
        row = states[size]
        assert (row["state"], row["flags"]) == (k.DATAGRAM, Flag.CUT)
        assert (row["payload"], row["length"]) == (PAYLOAD[: size - 42], len(PAYLOAD))
    assert states[-1]["flags"] == 0


def test_a_frame_that_was_that_short_on_the_wire_is_malformed() -> None:
    frame = ethernet(PLAIN)
    for size in range(len(frame)):
        assert outcome(one(frame[:size])["state"]) == FrameOutcome.MALFORMED


def test_original_less_than_captured_is_taken_as_captured() -> None:
    assert one(ethernet(PLAIN), original=10)["payload"] == PAYLOAD


# Addresses.


def test_addresses_are_text_once_and_in_canonical_form() -> None:
    sources = ["2001:db8:0:0:1:0:0:1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::", "::1"]
    packets = [Packet(ipv6(udp(PAYLOAD), source=source), 229) for source in sources * 2]
    reader = PacketReader(0, 0, compile_it=False)
    (found,) = reader.read(records(packets))
    assert list(found.flows.hosts) == [
        "2001:db8::1:0:0:1",
        DESTINATION6,
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "::",
        "::1",
    ]


@pytest.mark.parametrize("mixed", [False, True])
def test_addresses_are_ordered_as_their_texts_are(mixed: bool) -> None:
    chance = random.Random(1)
    octets = [0, 1, 2, 9, 10, 19, 99, 100, 101, 199, 200, 255]
    sources = [".".join(str(chance.choice(octets)) for _ in range(4)) for _ in range(300)]
    packets = [Packet(ipv4(udp(PAYLOAD), source=source), 228) for source in sources]
    if mixed:
        packets += [Packet(ipv6(udp(PAYLOAD), source=f"{end}::1"), 229) for end in (1, "2a", "fe")]
    (found,) = PacketReader(0, 0, compile_it=False).read(records(packets))
    hosts = found.flows.hosts
    ranks = hosts.ranks(np.arange(len(hosts)))
    assert [hosts[number] for number in np.argsort(ranks).tolist()] == sorted(hosts)


def test_a_full_table_of_addresses_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(k, "HOSTS", 4)
    sources = [f"10.0.0.{number}" for number in range(20)]
    packets = [Packet(ipv4(udp(PAYLOAD), source=source), 228) for source in sources]
    reader = PacketReader(0, 0, compile_it=False)
    seen: list[str] = []
    for found in reader.read(records(packets)):
        assert len(found.flows.hosts) <= 4
        seen += [found.datagrams.hosts[source] for source in found.datagrams.source.tolist()]
    assert seen == sources


@pytest.mark.parametrize(("roomy", "tables"), [(6, 1), (1, 5)])
def test_addresses_keep_their_numbers_where_only_the_table_of_flows_is_full(
    monkeypatch: pytest.MonkeyPatch, roomy: int, tables: int
) -> None:
    monkeypatch.setattr(k, "HOSTS", 4)
    monkeypatch.setattr(k, "ROOMY_HOSTS", roomy)
    packets = [Packet(ipv4(udp(PAYLOAD, 9, port)), 228) for port in range(20)]
    seen = list(PacketReader(0, 0, compile_it=False).read(records(packets)))
    flows = {id(one.flows): one.flows for one in seen}
    assert len(flows) == 5
    assert len({id(one.hosts) for one in flows.values()}) == tables
    ports = [key & 0xFFFF for one in flows.values() for key, *_ in one.table().tolist()]
    assert sorted(ports) == list(range(20))
    assert {host for one in seen for host in one.flows.hosts} == {SOURCE, DESTINATION}


def test_ipv4_and_ipv6_of_the_same_bits_are_two_addresses() -> None:
    rows = read(
        [
            Packet(ipv4(udp(PAYLOAD), source="0.0.0.1"), 101),
            Packet(ipv6(udp(PAYLOAD), source="::1"), 101),
        ]
    )
    assert [row["source"] for row in rows] == ["0.0.0.1", "::1"]


# Network duplicates.

SECOND = 1_000_000_000
MIB = 1 << 20


def duplicates(packets: Sequence[Packet], *, compile_it: bool = False) -> list[bool]:
    return [
        bool(row["flags"] & Flag.NETWORK_DUPLICATE)
        for row in read(packets, compile_it=compile_it)
        if row["state"] != k.PRIMING
    ]


@pytest.mark.parametrize(
    ("again", "flagged"),
    [
        (ipv4(udp(PAYLOAD)), True),
        (ipv4(udp(PAYLOAD), ttl=3), True),  # the other side of a router
        (ipv4(udp(PAYLOAD), ident=0x4322), False),
        (ipv4(udp(PAYLOAD), source="10.80.0.9"), False),
        (ipv4(udp(PAYLOAD), destination="10.80.0.9"), False),
        (ipv4(udp(PAYLOAD, 7801)), False),
        (ipv4(udp(PAYLOAD, destination_port=1)), False),
        (ipv4(udp(PAYLOAD, checksum=0)), False),
        (ipv4(udp(b"X" + PAYLOAD[1:])), False),
        (ipv4(udp(PAYLOAD[:-1] + b"X")), False),
        (ipv4(udp(PAYLOAD + b"X")), False),
    ],
)
def test_the_same_datagram_again_is_a_network_duplicate(again: bytes, flagged: bool) -> None:
    packets = [Packet(PLAIN, 228), Packet(again, 228)]
    assert duplicates(packets) == [False, flagged]


def test_ipv6_duplicates_are_told_by_all_of_the_address() -> None:
    def atomic(source: str) -> Packet:
        return Packet(ipv6(fragment6(17, udp(PAYLOAD)), source, next_header=44), 229)

    assert duplicates([atomic("fd00::1"), atomic("fd01::1"), atomic("fd00::1")]) == [
        False,
        False,
        True,
    ]


def test_without_ip_id_nothing_is_a_duplicate() -> None:
    atomic = Packet(ipv4(udp(PAYLOAD), ident=0, dont_fragment=True), 228)
    assert duplicates([atomic, atomic]) == [False, False]
    assert duplicates([Packet(PLAIN6, 229)] * 2) == [False, False]


@pytest.mark.parametrize(("offset", "flagged"), [(4 * MIB, True), (4 * MIB + 1, False)])
def test_a_duplicate_is_within_4_mib_of_capture(offset: int, flagged: bool) -> None:
    packets = [Packet(PLAIN, 228, offset=24), Packet(PLAIN, 228, offset=24 + offset)]
    assert duplicates(packets) == [False, flagged]


@pytest.mark.parametrize(
    ("at_ns", "flagged"), [(2 * SECOND, True), (2 * SECOND + 1, False), (-2 * SECOND, True)]
)
def test_a_duplicate_is_within_two_seconds(at_ns: int, flagged: bool) -> None:
    first = 5 * SECOND
    packets = [Packet(PLAIN, 228, at_ns=first), Packet(PLAIN, 228, at_ns=first + at_ns)]
    assert duplicates(packets) == [False, flagged]


@pytest.mark.parametrize("compile_it", [False, True])
@pytest.mark.parametrize("between", [0, 1, k.WAITING_MOST - 1, k.WAITING_MOST, 3 * k.WAITING_MOST])
def test_a_duplicate_is_found_however_many_wait_to_be_looked_up(
    between: int, compile_it: bool
) -> None:
    def numbered(ident: int) -> Packet:
        return Packet(ethernet(ipv4(udp(PAYLOAD), ident=ident)))

    others = [numbered(ident) for ident in range(2, 2 + between)]
    packets = [numbered(1), *others, numbered(1), numbered(1)]
    expected = [False] * (1 + between) + [True, True]
    assert duplicates(packets, compile_it=compile_it) == expected
    mixed = [Packet(packet.data[14:], 228) for packet in packets]  # not by the shortcut
    assert duplicates(mixed, compile_it=compile_it) == expected


def test_priming_records_are_only_remembered() -> None:
    packets = [Packet(PLAIN, 228, frame=0), Packet(PLAIN, 228, frame=1)]
    assert [row["state"] for row in read(packets)] == [k.PRIMING, k.DATAGRAM]
    assert duplicates(packets) == [True]


def test_duplicates_are_not_sought_across_sections() -> None:
    reader = PacketReader(0, 0, compile_it=False)
    flags = [
        int(found.datagrams.flags[0])
        for section in (0, 0, 500)
        for found in reader.read(records([Packet(PLAIN, 228)], section=section))
    ]
    assert flags == [0, Flag.NETWORK_DUPLICATE, 0]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 2 * MIB), st.integers(0, SECOND)),
        max_size=25,
    ),
    st.integers(0, 25),
    st.booleans(),
)
def test_duplicates_do_not_depend_on_where_a_piece_begins(
    steps: list[tuple[int, int, int]], cut: int, compile_it: bool
) -> None:
    offset, at_ns = 24, 0
    packets: list[Packet] = []
    for ident, distance, pause in steps:
        offset, at_ns = offset + distance, at_ns + pause
        packets.append(Packet(ipv4(udp(PAYLOAD), ident=ident), 228, at_ns=at_ns, offset=offset))
    expected = [
        any(
            before.data == packet.data
            and place(packet) - place(before) <= 4 * MIB
            and packet.at_ns - before.at_ns <= 2 * SECOND
            for before in packets[:number]
        )
        for number, packet in enumerate(packets)
    ]
    assert duplicates(packets, compile_it=compile_it) == expected
    cut = min(cut, len(packets))
    begin = place(packets[cut]) if cut < len(packets) else 0
    primed = [
        Packet(p.data, p.link, at_ns=p.at_ns, offset=p.offset, frame=0)
        for p in packets[:cut]
        if place(p) >= begin - 4 * MIB
    ]
    assert duplicates([*primed, *packets[cut:]], compile_it=compile_it) == expected[cut:]


def place(packet: Packet) -> int:
    assert packet.offset is not None
    return packet.offset


# The slow, obvious model.


class MalformedError(Exception):
    pass


class TruncatedError(Exception):
    pass


class OtherError(Exception):
    pass


class TunnelError(Exception):
    """It says that it carries IP: what is in it is not modelled (``test_tunnels``)."""


#: IP in IP, IPv6 in IP, GRE.
TUNNELS = (4, 41, 47)


Model = tuple[str, str, int, int, bytes, int, int, int]


def model(packet: Packet) -> FrameOutcome | str | Model:
    """A packet as the RFCs say, one step after the other; the outcome, "fragment", "tunnel" or its
    fields."""
    view = View(packet)
    try:
        return model_ip(view)
    except MalformedError:
        return FrameOutcome.MALFORMED
    except TruncatedError:
        return FrameOutcome.TRUNCATED
    except OtherError:
        return FrameOutcome.OTHER
    except TunnelError:
        return "tunnel"


class View:
    """Captured bytes of which more were on the wire; ``end`` is where the layer above ends."""

    def __init__(self, packet: Packet) -> None:
        self.data = packet.data
        original = len(packet.data) if packet.original is None else packet.original
        self.end = max(original, len(packet.data))

    def take(self, at: int, size: int) -> bytes:
        if at + size > self.end:
            raise MalformedError
        if at + size > len(self.data):
            raise TruncatedError
        return self.data[at : at + size]

    def take_link(self, at: int, size: int) -> bytes:
        """Of the link layer nobody knows how long it was going to be: cut is cut."""
        if at + size > len(self.data) < self.end:
            raise TruncatedError
        return self.take(at, size)


def model_ip(view: View) -> str | Model:
    ethertype = struct.unpack(">H", view.take_link(0, 14)[12:])[0]
    at = 14
    while ethertype in (0x8100, 0x88A8, 0x9100):
        ethertype = struct.unpack(">HH", view.take_link(at, 4))[1]
        at += 4
    if ethertype == 0x0800:
        return model_ipv4(view, at)
    if ethertype == 0x86DD:
        return model_ipv6(view, at)
    raise OtherError


def model_ipv4(view: View, at: int) -> str | Model:
    first, total, ident, place, ttl, protocol = struct.unpack(">BxHHHBB", view.take(at, 20)[:10])
    words = first & 15
    if first >> 4 != 4 or words < 5:
        raise MalformedError
    total = total or view.end - at
    if total < words * 4 or at + total > view.end:
        raise MalformedError
    view.end = at + total
    source, destination = (
        str(ipaddress.IPv4Address(view.take(at + where, 4))) for where in (12, 16)
    )
    at += words * 4
    offset, more = (place & 0x1FFF) * 8, bool(place & 0x2000)
    if offset or more:
        model_fragment(offset, more, view.end - at, 65515)
        if protocol not in (6, 17, 113, *TUNNELS):
            raise OtherError
        return "fragment"
    ident = -1 if ident == 0 and place & 0x4000 else ident
    return model_transport(view, at, protocol, source, destination, ident, ttl)


def model_ipv6(view: View, at: int) -> str | Model:
    first, length, protocol, ttl = struct.unpack(">IHBB", view.take(at, 40)[:8])
    if first >> 28 != 6:
        raise MalformedError
    if length:
        if at + 40 + length > view.end:
            raise MalformedError
        view.end = at + 40 + length
    source, destination = (
        str(ipaddress.IPv6Address(view.take(at + where, 16))) for where in (8, 24)
    )
    at += 40
    ident = -1
    walked = 0
    while protocol in (0, 43, 44, 51, 60, 135, 139, 140):
        walked += 1
        if walked > 16:
            raise MalformedError
        header = view.take(at, 8)
        following = header[0]
        if protocol == 44:
            place, ident = struct.unpack(">HI", header[2:])
            at += 8
            if place & 0xFFF9:
                model_fragment(place & 0xFFF8, bool(place & 1), view.end - at, 65535)
                if following not in (6, 17, 113, *TUNNELS, 0, 43, 44, 51, 60, 135, 139, 140):
                    raise OtherError
                return "fragment"
        else:
            size = (header[1] + 2) * 4 if protocol == 51 else (header[1] + 1) * 8
            if at + size > view.end:
                raise MalformedError
            at += size
        protocol = following
    if walked == 16:
        raise MalformedError
    return model_transport(view, at, protocol, source, destination, ident, ttl)


def model_fragment(offset: int, more: bool, size: int, limit: int) -> None:
    if size == 0 or offset + size > limit or (more and size % 8):
        raise MalformedError


def model_transport(
    view: View, at: int, protocol: int, source: str, destination: str, ident: int, ttl: int
) -> Model:
    if protocol == 113:  # PGM, without ports
        payload = view.data[at : view.end]
        return source, destination, 0, 0, payload, view.end - at, ident, ttl
    if protocol in TUNNELS:
        raise TunnelError
    if protocol != 17:
        raise OtherError
    return model_udp(view, at, source, destination, ident, ttl)


def model_udp(view: View, at: int, source: str, destination: str, ident: int, ttl: int) -> Model:
    source_port, destination_port, length = struct.unpack(">HHH", view.take(at, 8)[:6])
    if length == 0 and view.end - at > 65535:
        length = view.end - at
    if length < 8 or at + length > view.end:
        raise MalformedError
    payload = view.data[at + 8 : at + length]
    return source, destination, source_port, destination_port, payload, length - 8, ident, ttl


WHOLE = [
    ethernet(PLAIN),
    ethernet(PLAIN, tags=[0x88A8, 0x8100]),
    ethernet(ipv4(udp(PAYLOAD), options=bytes(8), dont_fragment=True, ident=0)),
    ethernet(ipv4(udp(PAYLOAD), more=True)),
    ethernet(ipv4(bytes(64), protocol=6)),
    ethernet(ipv4(PAYLOAD, protocol=113)),
    ethernet(ipv6(extension(113, PAYLOAD), next_header=60), 0x86DD),
    ethernet(PLAIN6, 0x86DD),
    ethernet(ipv6(extension(44, fragment6(17, udp(PAYLOAD))), next_header=0), 0x86DD),
    ethernet(ipv6(fragment6(17, bytes(16), offset=8, more=True), next_header=44), 0x86DD),
    ethernet(ipv6(authentication(60, extension(17, udp(PAYLOAD))), next_header=51), 0x86DD),
]


@st.composite
def mutated(draw: st.DrawFn, frames: Sequence[bytes] = WHOLE) -> Packet:
    """A real packet with some bytes changed and its end cut, on the wire or by snap length."""
    frame = bytearray(draw(st.sampled_from(frames)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(frame) - 1))
        frame[at] = draw(
            st.one_of(st.sampled_from([0, 1, 4, 6, 17, 44, 60, 255]), st.integers(0, 255))
        )
    captured = draw(
        st.one_of(st.just(len(frame)), st.just(len(frame) - 1), st.integers(0, len(frame)))
    )
    original = draw(st.sampled_from([captured, len(frame), captured + 1]))
    return Packet(bytes(frame[:captured]), original=original)


@settings(max_examples=400)
@given(mutated())
def test_the_kernel_agrees_with_the_slow_model(packet: Packet) -> None:
    expected = model(packet)
    (row,) = read([packet])
    if isinstance(expected, tuple):
        assert row["state"] == k.DATAGRAM
        names = (
            "source", "destination", "source_port", "destination_port", "payload", "length",
            "ip_id", "ttl",
        )  # fmt: skip
        assert tuple(row[name] for name in names) == expected
        assert bool(row["flags"] & Flag.CUT) == (len(row["payload"]) < row["length"])
    elif isinstance(expected, FrameOutcome):
        found = outcome(row["state"])
        # a short 802.2 or MPLS frame is not modelled: the model stops at other ethertypes
        assert found == expected or (expected == FrameOutcome.OTHER and beyond_model(packet))
    elif expected == "fragment":
        assert row["state"] == k.FRAGMENT_STATE


@settings(max_examples=200)
@given(mutated(), st.booleans())
def test_it_does_not_matter_whether_the_ends_of_a_datagram_are_known(
    packet: Packet, compile_it: bool
) -> None:
    before = Packet(ethernet(ipv4(udp(b"before"), ident=1)))
    alone = read([packet], compile_it=compile_it)
    assert read([before, packet], compile_it=compile_it)[1:] == alone


SIZE = len(PAYLOAD)
EDGES = [
    *(ethernet(ipv4(udp(PAYLOAD, length=8 + SIZE + by))) for by in (-SIZE - 1, -SIZE, -1, 1)),
    *(ethernet(ipv4(udp(PAYLOAD), total=28 + SIZE + by)) for by in (-SIZE - 1, -SIZE, -1, 1)),
    *(ethernet(ipv4(udp(PAYLOAD)) + bytes(by)) for by in (0, 1, 20)),
    *(ethernet(ipv4(udp(PAYLOAD[:size]))) for size in (0, 1, 3, 4, 5)),
    *(ethernet(ipv4(udp(PAYLOAD), ident=0, dont_fragment=df)) for df in (False, True)),
    ethernet(ipv4(udp(PAYLOAD), offset=8)),
    ethernet(ipv4(udp(PAYLOAD), more=True)),
    ethernet(ipv4(udp(PAYLOAD), protocol=6)),
    ethernet(ipv4(udp(PAYLOAD), options=bytes(4))),
    # options that look like the ports, in front of a port that looks like the length
    ethernet(ipv4(udp(PAYLOAD, 10), options=udp(b"")[:4])),
    ethernet(PLAIN, 0x86DD),
]


@pytest.mark.parametrize("frame", EDGES)
def test_at_no_edge_does_it_matter_whether_the_ends_are_known(frame: bytes) -> None:
    before = Packet(ethernet(ipv4(udp(b"before"), ident=1)))
    for cut in (0, 1):
        packet = Packet(frame[: len(frame) - cut], original=len(frame))
        assert read([before, packet])[1:] == read([packet])


@pytest.mark.parametrize("compile_it", [False, True])
@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_odd_records_leave_nothing_behind_for_those_after_them(
    step: int, compile_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqaudit.decoders.network.packets.STEP", step)
    inner = [ipv4(udp(PAYLOAD), ident=ident) for ident in range(1, 9)]
    odd = [sll(inner[0], packet_type=4), *(ethernet(frame[14:]) for frame in WHOLE[3:5])]
    usual = [ethernet(frame) for frame in inner[1:]]
    packets = [
        Packet(usual[0]), Packet(odd[0], 113), Packet(usual[1]), Packet(usual[2]), Packet(odd[1]),
        Packet(odd[2]), *map(Packet, usual[3:]),
    ]  # fmt: skip
    alone = [row for packet in packets for row in read([packet], compile_it=compile_it)]
    assert read(packets, compile_it=compile_it) == alone


def beyond_model(packet: Packet) -> bool:
    """Ethertypes that only the kernel walks: MPLS, PPPoE, 802.2."""
    at = 12
    ethertype = int.from_bytes(packet.data[at : at + 2], "big")
    while ethertype in (0x8100, 0x88A8, 0x9100):
        at += 4
        ethertype = int.from_bytes(packet.data[at : at + 2], "big")
    return ethertype < 1536 or ethertype in (0x8847, 0x8848, 0x8864)


EVERY_LINK = sorted({0, 1, 12, 14, 101, 108, 113, 228, 229, 276, 147, *link_slow.SLOW_LINKS})


@settings(max_examples=200)
@given(
    st.lists(
        st.builds(
            lambda data, link, more, status: Packet(data, link, len(data) + more, status=status),
            st.one_of(
                st.binary(max_size=120),
                mutated([*WHOLE, *(frame for _, frame in LINK_LAYERS.values())]).map(
                    lambda packet: packet.data
                ),
            ),
            st.sampled_from(EVERY_LINK),
            st.sampled_from([0, 0, 1, 1000]),
            st.sampled_from([0, 0, 0, 1, 2, 3]),
        ),
        max_size=6,
    )
)
def test_both_forms_of_the_kernel_agree_and_never_raise(packets: list[Packet]) -> None:
    assert read(packets) == read(packets, compile_it=True)


@settings(max_examples=150)
@given(st.sampled_from(sorted(link_slow.SLOW_LINKS)), st.binary(max_size=80))
def test_slow_link_layers_never_raise(link: int, packet: bytes) -> None:
    kind, at = link_slow.find_network(link, packet)
    assert 0 <= kind <= 7
    assert at >= 0


# tshark.

TSHARK_FIELDS = (
    "frame.number", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.id", "ip.ttl", "ipv6.hlim",
    "udp.srcport", "udp.dstport", "udp.length", "ip.flags.mf", "ip.frag_offset",
    "ipv6.fraghdr.offset", "ipv6.fraghdr.more", "ipv6.fraghdr.ident",
)  # fmt: skip

TSHARK_CAPTURES = [
    "ipv6-discard-1/A-any.pcap",
    "ipv6-discard-1/B-nano.pcap",
    "u3n2-ipfrag-loss-1/B.pcap",
    "u3n2-ipfrag-loss-1/C.pcap",
    "n4-loss-1/mirror.pcap",
    "u4n4-dup-reorder-1/B.pcap",
    "tcp-clean-1/A.pcap",
    "v35-u3-loss-1/B.pcap",
]


def tshark(path: Path) -> Iterator[dict[str, str]]:
    """Frame-level fields, without putting fragments together; of several layers the outermost."""
    fields = [part for name in TSHARK_FIELDS for part in ("-e", name)]
    off = ["-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE"]
    command = ["tshark", "-n", "-r", str(path), *off, "-T", "fields", "-E", "occurrence=f", *fields]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in printed.splitlines():
        told = line.replace("True", "1").replace("False", "0").split("\t")  # versions differ
        yield dict(zip(TSHARK_FIELDS, told, strict=True))


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("name", TSHARK_CAPTURES)
def test_frames_agree_with_tshark(name: str) -> None:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"no {name}")
    (piece,) = plan_pieces(str(path), 0, 0, 1 << 40)
    reader = PacketReader(0, 0, compile_it=False)
    ours: list[dict[str, str]] = []
    for chunk in Reader(piece, False):
        for found in reader.read(chunk):
            for number, values in enumerate(found.columns.T.tolist(), 1):
                ours.append(as_tshark(number, told(values), found.flows.hosts))
    theirs = list(tshark(path))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == {key: other[key] for key in mine}


def as_tshark(number: int, row: dict[str, int], hosts: Sequence[str]) -> dict[str, str]:
    """What a row of ours claims, in tshark's fields; what it does not claim is left out."""
    said: dict[str, str] = {"frame.number": str(number)}
    if row["source"] < 0:
        return said | {"ip.src": "", "ipv6.src": ""}
    old = "." in hosts[row["source"]]
    said |= {
        ("ip.src" if old else "ipv6.src"): hosts[row["source"]],
        ("ip.dst" if old else "ipv6.dst"): hosts[row["destination"]],
        ("ip.ttl" if old else "ipv6.hlim"): str(row["ttl"]),
    }
    if old and row["ip_id"] >= 0:
        said["ip.id"] = f"0x{row['ip_id']:04x}"
    if not old and row["ip_id"] >= 0:
        said["ipv6.fraghdr.ident"] = f"0x{row['ip_id']:08x}"
    if row["state"] == k.DATAGRAM:
        said |= {
            "udp.srcport": str(row["source_port"]),
            "udp.dstport": str(row["destination_port"]),
            "udp.length": str(row["length"] + 8),
        }
    if row["state"] == k.FRAGMENT_STATE and old:
        said |= {
            "ip.flags.mf": str(row["fragment"] & 1),
            "ip.frag_offset": str(row["fragment"] >> 4),  # in units of 8 bytes
        }
    if row["state"] == k.FRAGMENT_STATE and not old:
        said |= {
            "ipv6.fraghdr.offset": str(row["fragment"] >> 4),
            "ipv6.fraghdr.more": str(row["fragment"] & 1),
        }
    return said
