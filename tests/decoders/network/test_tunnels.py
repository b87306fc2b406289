"""Packets in tunnels are read as if they had come without; scapy builds what carries them."""

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet as Layer
from scapy.packet import Raw

from seqaudit.decoders.contract.networks import Chosen
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.networks import network_name
from seqaudit.decoders.network.packets import PacketReader
from seqaudit.decoders.network.tunnels import name_of
from tests.decoders.network.builders import Packet, ethernet, ipv4, records, udp
from tests.decoders.network.test_packets import read

INNER = IP(src="10.1.0.1", dst="239.8.8.8", id=7, ttl=9) / UDP(sport=7800, dport=45588) / b"hello"
INNER6 = IPv6(src="fd00::1", dst="fd00::2", hlim=9) / UDP(sport=7800, dport=45588) / b"hello"
TEREDO6 = IPv6(src="2001::1", dst="fd00::2", hlim=9) / UDP(sport=7800, dport=45588) / b"hello"
OUTER = IP(src="192.0.2.1", dst="192.0.2.2", id=99, ttl=60)
OUTER6 = IPv6(src="2001:db8::1", dst="2001:db8::2")


def frame(inner: Layer) -> Layer:
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / inner


def erspan3(inner: Layer, *, platform: bool) -> Layer:
    head = struct.pack(">HHIHH", 0x2001, 0, 0, 0, platform) + bytes(8 * platform)
    return GRE(proto=0x22EB, seqnum_present=1) / Raw(head + bytes(frame(inner)))


TUNNELS: dict[str, tuple[str, Layer, Layer]] = {
    "VXLAN": ("VXLAN", OUTER / UDP(sport=40000, dport=4789) / VXLAN(vni=9) / frame(INNER), INNER),
    "VXLAN with a VLAN tag": (
        "VXLAN",
        OUTER6 / UDP(dport=4789) / VXLAN(vni=9) / Ether() / Dot1Q(vlan=3) / INNER,
        INNER,
    ),
    "VXLAN with a group's number": (
        "VXLAN",
        OUTER / UDP(dport=4789) / VXLAN(flags=0x88, vni=9, gpid=7) / frame(INNER),
        INNER,
    ),
    "GENEVE": ("GENEVE", OUTER / UDP(dport=6081) / GENEVE(vni=9) / frame(INNER), INNER),
    "GENEVE with options, IPv6": (
        "GENEVE",
        OUTER / UDP(dport=6081) / Raw(b"\x02\0\x86\xdd\0\0\x09\0" + bytes(8)) / INNER6,
        INNER6,
    ),
    "GRE": ("GRE", OUTER / GRE() / INNER, INNER),
    "GRE with key, number and checksum": (
        "GRE",
        OUTER / GRE(key_present=1, key=77, seqnum_present=1, chksum_present=1) / INNER6,
        INNER6,
    ),
    "GRE with Ethernet": ("GRE", OUTER / GRE(proto=0x6558) / frame(INNER), INNER),
    "ERSPAN I": ("ERSPAN", OUTER / GRE(proto=0x88BE) / frame(INNER), INNER),
    "ERSPAN II": (
        "ERSPAN",
        OUTER / GRE(proto=0x88BE, seqnum_present=1) / Raw(b"\x10\1\0\5" + bytes(4)) / frame(INNER),
        INNER,
    ),
    "ERSPAN III": ("ERSPAN", OUTER / erspan3(INNER, platform=False), INNER),
    "ERSPAN III for a platform": ("ERSPAN", OUTER / erspan3(INNER, platform=True), INNER),
    "GTP-U": ("GTP-U", OUTER / UDP(dport=2152) / GTP_U_Header(teid=5) / INNER, INNER),
    "GTP-U with a number": (
        "GTP-U",
        OUTER / UDP(dport=2152) / GTP_U_Header(teid=5, S=1, seq=4) / INNER6,
        INNER6,
    ),
    "IP in IP": ("IP in IP", OUTER / INNER, INNER),
    "6in4": ("IP in IP", OUTER / INNER6, INNER6),
    "4in6": ("IP in IP", OUTER6 / INNER, INNER),
    "4in6 behind options": ("IP in IP", OUTER6 / IPv6ExtHdrHopByHop() / INNER, INNER),
    "Teredo": ("Teredo", OUTER / UDP(sport=5000, dport=3544) / TEREDO6, TEREDO6),
    "Teredo, answered": (
        "Teredo",
        OUTER / UDP(sport=3544, dport=5000) / Raw(bytes(8)) / TEREDO6,
        TEREDO6,
    ),
}


#: Of those that say it, the number of their network.
SAID = {
    "VXLAN": " network 9",
    "VXLAN with a VLAN tag": " network 9",
    "VXLAN with a group's number": " network 9",
    "GENEVE": " network 9",
    "GENEVE with options, IPv6": " network 9",
    "GRE with key, number and checksum": " key 77",
    "ERSPAN II": " session 5",
    "ERSPAN III": " session 0",
    "ERSPAN III for a platform": " session 0",
}


#: What the network of a packet is called that came so.
NETWORKS = {
    "VXLAN": "VXLAN network 9",
    "VXLAN with a VLAN tag": "VXLAN network 9 VLAN 3",
    "VXLAN with a group's number": "VXLAN network 9",
    "GENEVE": "GENEVE network 9",
    "GENEVE with options, IPv6": "GENEVE network 9",
    "GRE with key, number and checksum": "GRE key 77",
}


def network(*layers: Layer) -> str:
    """What the network of the packet in all these is called; empty: it is of none."""
    found = (row["network"] for row in read([Packet(bytes(layer), 1) for layer in layers]))
    return network_name(Chosen(tuple(key for key in found if key)))


@pytest.mark.parametrize("name", TUNNELS)
def test_a_tunnel_says_of_which_network_its_packets_are(name: str) -> None:
    """The number of a mirror (ERSPAN) is that of a place of capture."""
    assert network(frame(TUNNELS[name][1])) == NETWORKS.get(name, "")


def test_vlans_are_networks_and_those_outside_of_a_numbered_tunnel_are_not() -> None:
    head = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    assert network(head / Dot1Q(vlan=10) / INNER) == "VLAN 10"
    assert network(head / Dot1Q(vlan=0, prio=5) / INNER) == ""
    assert network(head / Dot1AD(vlan=7) / Dot1Q(vlan=10) / INNER6) == "VLAN 7.10"
    inside = VXLAN(vni=5) / Ether() / Dot1Q(vlan=3) / INNER
    assert network(head / Dot1Q(vlan=10) / OUTER / UDP(dport=4789) / inside) == (
        "VXLAN network 5 VLAN 3"
    )
    assert network(head / Dot1Q(vlan=10) / OUTER / INNER) == "VLAN 10"
    mirrored = GRE(proto=0x88BE, seqnum_present=1) / Raw(b"\x10\1\0\5" + bytes(4))
    assert network(head / Dot1Q(vlan=10) / OUTER / mirrored / head / INNER) == ""
    assert network(head / OUTER / mirrored / head / Dot1Q(vlan=4) / INNER) == "VLAN 4"


def test_what_is_no_packet_of_ip_is_of_its_tunnels_network_as_well() -> None:
    inside = Ether(type=0x0806) / Raw(bytes(28))
    assert network(frame(OUTER / UDP(dport=4789) / VXLAN(vni=6) / inside)) == "VXLAN network 6"


def bare(packet: Layer) -> dict[str, Any]:
    """A packet's row, less what it came in."""
    (row,) = read([Packet(bytes(packet), 101)])
    return row | OUT_OF_ALL


OUT_OF_ALL = {"network": 0, "tunnel": 0}


@pytest.mark.parametrize("name", TUNNELS)
@pytest.mark.parametrize("compile_it", [False, True])
def test_a_packet_in_a_tunnel_is_read_as_without(name: str, compile_it: bool) -> None:
    kind, carried, inner = TUNNELS[name]
    (row,) = read([Packet(bytes(frame(carried)))], compile_it=compile_it)
    assert name_of(row["tunnel"]) == kind + SAID.get(name, "")
    assert row | OUT_OF_ALL == bare(inner)
    assert (row["state"], row["payload"]) == (k.DATAGRAM, b"hello")


@pytest.mark.parametrize("name", TUNNELS)
def test_tunnels_are_counted(name: str) -> None:
    kind, carried, _ = TUNNELS[name]
    reader = PacketReader(0, 0, compile_it=False)
    list(reader.read(records([Packet(bytes(frame(carried))), Packet(bytes(frame(INNER)))])))
    assert reader.tunnels() == {f"{kind}{SAID.get(name, '')}": 1}


def test_more_networks_than_are_told_apart_are_counted_by_kind() -> None:
    carried = [OUTER / UDP(dport=4789) / VXLAN(vni=n) / frame(INNER) for n in (1, 2, 1 << 23)]
    reader = PacketReader(0, 0, compile_it=False)
    full = reader._work[k.NETWORKS : k.CARRIERS].reshape(-1, k.NETWORK_WORDS)
    list(reader.read(records([Packet(bytes(frame(one))) for one in carried[:2]])))
    full[full[:, 0] == 0] = -1, 0
    list(reader.read(records([Packet(bytes(frame(one))) for one in carried])))
    assert reader.tunnels() == {"VXLAN network 1": 2, "VXLAN network 2": 2, "VXLAN": 1}


def nested(depth: int) -> Layer:
    packet = INNER
    for _ in range(depth):
        packet = OUTER / packet
    return packet


def test_tunnels_in_tunnels_are_unwrapped_to_a_bounded_depth() -> None:
    assert bare(nested(20)) == bare(INNER)
    deeper = bare(nested(21))
    assert (deeper["source"], deeper["protocol"]) == ("192.0.2.1", 4)
    assert bare(TUNNELS["GRE with Ethernet"][1] / b"") == bare(INNER)
    twice = OUTER / UDP(dport=4789) / VXLAN() / frame(TUNNELS["GTP-U"][1])
    assert bare(twice) == bare(INNER)


def test_the_same_packet_in_a_tunnel_and_without_is_one_packet() -> None:
    first, again = read([Packet(bytes(frame(INNER))), Packet(bytes(frame(TUNNELS["GRE"][1])))])
    assert first["flags"] & 4 == 0
    assert again | OUT_OF_ALL == first | {"flags": first["flags"] | 4}


def test_a_fragment_in_a_tunnel_is_a_fragment() -> None:
    part = IP(src="10.1.0.1", dst="10.1.0.2", id=7, flags="MF", proto=17) / Raw(bytes(16))
    assert bare(OUTER / GRE() / part) == bare(part)
    assert bare(part)["state"] == k.FRAGMENT_STATE


@pytest.mark.parametrize(
    "other",
    [
        OUTER / UDP(dport=4789) / Raw(b"\x00" + bytes(60)),  # without a network's number
        OUTER / UDP(dport=4789) / VXLAN() / Ether(type=0x0806) / Raw(bytes(28)),
        OUTER / UDP(dport=6081) / Raw(b"\x40" + bytes(60)),
        OUTER / UDP(dport=2152) / Raw(b"\x30\xff\x00\x01" + bytes(60)),
        OUTER / UDP(dport=3544) / Raw(bytes(60)),
        OUTER / UDP(dport=4789) / VXLAN() / frame(IP(len=9999) / Raw(bytes(60))),
    ],
)
def test_what_is_no_packet_stays_in_its_datagram(other: Layer) -> None:
    row = bare(other)
    assert (row["state"], row["source"]) == (k.DATAGRAM, "192.0.2.1")


def test_a_tunnels_port_is_asked_anew_of_every_datagram() -> None:
    carried, other = TUNNELS["VXLAN"][1], OUTER / UDP(sport=40000, dport=4789) / Raw(bytes(60))
    rows = read([Packet(bytes(frame(one))) for one in (other, carried, other, carried)])
    assert [row["source"] for row in rows] == ["192.0.2.1", "10.1.0.1"] * 2


@pytest.mark.parametrize("name", TUNNELS)
def test_a_tunnel_cut_anywhere_is_never_malformed(name: str) -> None:
    whole = bytes(frame(TUNNELS[name][1]))
    for size in range(34, len(whole)):
        (row,) = read([Packet(whole[:size], 1, len(whole))])
        assert not k.MALFORMED_LINK <= row["state"] < k.TRUNCATED_LINK


@pytest.mark.parametrize(
    "tagged", [b"\x89\x26" + bytes(4), b"\x89\x3f" + bytes(6), b"\xda\xda" + bytes(6)]
)
def test_tags_of_switches_are_passed_over(tagged: bytes) -> None:
    plain = ethernet(ipv4(udp(b"hello")))
    (row,) = read([Packet(plain[:12] + tagged + plain[12:])])
    assert row["payload"] == b"hello"


@settings(max_examples=100)
@given(
    st.sampled_from(sorted(TUNNELS)),
    st.lists(st.tuples(st.integers(14, 120), st.integers(0, 255)), max_size=4),
    st.integers(30, 150),
)
def test_both_forms_agree_on_spoiled_tunnels(
    name: str, spoiled: list[tuple[int, int]], size: int
) -> None:
    data = bytearray(bytes(frame(TUNNELS[name][1])))
    for place, value in spoiled:
        data[place % len(data)] = value
    packet = Packet(bytes(data[:size]), 1, len(data))
    assert read([packet]) == read([packet], compile_it=True)
