"""Link layers off the fast path: one packet at a time, where IP begins in it (CONTRIBUTING.md 2,
3).

Numbers are LINKTYPE_* of the pcap registry. What stands behind an ethertype or an LLC header is
found by the kernel's own walk; 802.11 headers are read by dpkt. Whatever a packet holds, the answer
is a NETWORK_* of the packet kernel, never an exception.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from seqaudit.decoders.kernels.loader import interpreted
from seqaudit.decoders.network.packet_kernels import (
    NETWORK_ENCRYPTED,
    NETWORK_IPV4,
    NETWORK_IPV6,
    NETWORK_NONE,
    NETWORK_SHORT,
    NETWORK_UNKNOWN,
)

KERNEL: Final = interpreted("network.packet_kernels")

#: Link types that the packet kernel walks itself.
FAST_LINKS: Final = np.array([0, 1, 12, 14, 101, 108, 113, 228, 229, 276], np.int64)

#: Names for the account of a piece.
LINK_NAMES: Final[Mapping[int, str]] = {
    0: "NULL",
    1: "ETHERNET",
    9: "PPP",
    10: "FDDI",
    12: "RAW",
    14: "RAW",
    50: "PPP_HDLC",
    51: "PPP_ETHER",
    100: "ATM_RFC1483",
    101: "RAW",
    104: "C_HDLC",
    105: "IEEE802_11",
    108: "LOOP",
    109: "ENC",
    113: "LINUX_SLL",
    117: "PFLOG",
    119: "IEEE802_11_PRISM",
    127: "IEEE802_11_RADIOTAP",
    138: "APPLE_IP_OVER_IEEE1394",
    163: "IEEE802_11_AVS",
    166: "PPP_PPPD",
    192: "PPI",
    204: "PPP_WITH_DIR",
    228: "IPV4",
    229: "IPV6",
    239: "NFLOG",
    242: "IPOIB",
    258: "PKTAP",
    276: "LINUX_SLL2",
    281: "DSA_TAG_BRCM",
    282: "DSA_TAG_BRCM_PREPEND",
    284: "DSA_TAG_DSA",
    285: "DSA_TAG_EDSA",
}

#: AF_INET, and AF_INET6 of Linux, the BSDs and macOS.
FAMILIES: Final[Mapping[int, int]] = {
    2: NETWORK_IPV4,
    10: NETWORK_IPV6,
    24: NETWORK_IPV6,
    28: NETWORK_IPV6,
    30: NETWORK_IPV6,
}

LLC: Final = 0  # what behind_ethertype takes for "a length stood here"
DATA_FRAME: Final = 2  # 802.11 frame type
NO_DATA: Final = 4  # bit of a data frame's subtype: null function
PFLOG_FAMILY: Final = 1
NFLOG_PAYLOAD: Final = 9  # type of the TLV that holds the packet

Found = tuple[int, int]


def link_name(link: int) -> str:
    """The name of a link type; -1 is what a record without one has."""
    if link < 0:
        return "none"
    return LINK_NAMES.get(link, f"LINKTYPE {link}")


def find_network(link: int, packet: bytes) -> Found:
    """(NETWORK_*, offset in ``packet``) behind a link layer."""
    find = SLOW_LINKS.get(link)
    if find is not None:
        return find(packet)
    kind, at, _ = KERNEL.network(packet, link, 0, len(packet))
    return kind, at


def _ethertype_at(place: int, unused: int = 0) -> Callable[[bytes], Found]:
    """``unused``: bytes between it and what it names."""

    def find(packet: bytes) -> Found:
        if len(packet) < place + 2:
            return NETWORK_SHORT, 0
        ethertype = int.from_bytes(packet[place : place + 2], "big")
        return _behind(ethertype, packet, place + 2 + unused)

    return find


def _llc_at(place: int) -> Callable[[bytes], Found]:
    def find(packet: bytes) -> Found:
        if len(packet) < place:
            return NETWORK_SHORT, 0
        return _behind(LLC, packet, place)

    return find


def _ppp_at(place: int) -> Callable[[bytes], Found]:
    """PPP, with or without address and control, protocol in one byte or two (RFC 1661, 1662)."""

    def find(packet: bytes) -> Found:
        at = place + 2 if packet[place : place + 2] == b"\xff\x03" else place
        if len(packet) <= at:
            return NETWORK_SHORT, 0
        size = 1 if packet[at] & 1 else 2
        if len(packet) < at + size:
            return NETWORK_SHORT, 0
        protocol = int.from_bytes(packet[at : at + size], "big")
        if protocol in (0x0281, 0x0283):  # MPLS
            return _behind(0x8847, packet, at + size)
        return {0x21: NETWORK_IPV4, 0x57: NETWORK_IPV6}.get(protocol, NETWORK_NONE), at + size

    return find


def _family(family: int, at: int) -> Found:
    return FAMILIES.get(family, NETWORK_NONE), at


def _pppoe(packet: bytes) -> Found:
    return _behind(0x8864, packet, 0)


def _enc(packet: bytes) -> Found:
    """OpenBSD encapsulating interface: 12 bytes, the family first, in the host's byte order."""
    if len(packet) < 12:
        return NETWORK_SHORT, 0
    family = int.from_bytes(packet[:4], "big")
    return _family(family if family < 256 else int.from_bytes(packet[:4], "little"), 12)


def _pflog(packet: bytes) -> Found:
    """A length, the family; the header is padded to four bytes."""
    if len(packet) < 2:
        return NETWORK_SHORT, 0
    at = (packet[0] + 3) // 4 * 4
    return _family(packet[PFLOG_FAMILY], at) if len(packet) >= at else (NETWORK_SHORT, 0)


def _nflog(packet: bytes) -> Found:
    """Family, version, resource, then TLVs in the host's byte order (little endian, as tcpdump)."""
    at = 4
    while len(packet) >= at + 4:
        size = int.from_bytes(packet[at : at + 2], "little")
        if int.from_bytes(packet[at + 2 : at + 4], "little") & 0x7FFF == NFLOG_PAYLOAD:
            return _family(packet[0], at + 4)
        if size < 4:
            return NETWORK_NONE, 0
        at += (size + 3) // 4 * 4
    return NETWORK_SHORT, 0


def _ieee80211_at(place: int, packet: bytes) -> Found:
    frame = packet[place:]
    if len(frame) < 24:
        return NETWORK_SHORT, 0
    if frame[0] >> 2 & 3 != DATA_FRAME or frame[0] >> 4 & NO_DATA:
        return NETWORK_NONE, 0
    from dpkt import ieee80211  # importing it costs as much as decoding a small capture

    try:
        header = ieee80211.IEEE80211(frame)
        rest = len(header.data)
    except Exception:  # dpkt raises many kinds of errors on damaged frames
        return NETWORK_SHORT, 0
    if header.wep:
        return NETWORK_ENCRYPTED, 0
    return _behind(LLC, packet, len(packet) - rest)


def _ieee80211(packet: bytes) -> Found:
    return _ieee80211_at(0, packet)


def _prism(packet: bytes) -> Found:
    return _ieee80211_at(144, packet)


def _avs(packet: bytes) -> Found:
    return _ieee80211_at(int.from_bytes(packet[4:8], "big"), packet)


def _radiotap(packet: bytes) -> Found:
    return _ieee80211_at(int.from_bytes(packet[2:4], "little"), packet)


def _ppi(packet: bytes) -> Found:
    """Per-packet information: a length and the link type of what follows."""
    if len(packet) < 8:
        return NETWORK_SHORT, 0
    size = int.from_bytes(packet[2:4], "little")
    link = int.from_bytes(packet[4:8], "little")
    if size < 8 or link == PPI:
        return NETWORK_UNKNOWN, 0
    kind, at = find_network(link, packet[size:])
    return kind, size + at


def _pktap(packet: bytes) -> Found:
    """Apple's tap: its length, what follows and the link type of that, in the host's byte order."""
    if len(packet) < 12:
        return NETWORK_SHORT, 0
    size = int.from_bytes(packet[:4], "little")
    link = int.from_bytes(packet[8:12], "little")
    if size < 12 or size > MOST_TAP_BYTES or link == PKTAP:
        return NETWORK_UNKNOWN, 0
    if size > len(packet):
        return NETWORK_SHORT, 0
    kind, at = find_network(link, packet[size:])
    return kind, size + at


def _behind(ethertype: int, packet: bytes, at: int) -> Found:
    kind, at = KERNEL.behind_ethertype(packet, ethertype, at, len(packet))
    return kind, at


PPI: Final = 192
PKTAP: Final = 258
MOST_TAP_BYTES: Final = 1024  # far more than any version of its header has

SLOW_LINKS: Final[Mapping[int, Callable[[bytes], Found]]] = {
    9: _ppp_at(0),
    10: _llc_at(13),  # frame control, two addresses
    50: _ppp_at(0),
    51: _pppoe,
    100: _llc_at(0),
    104: _ethertype_at(2),  # address, control
    105: _ieee80211,
    109: _enc,
    117: _pflog,
    119: _prism,
    127: _radiotap,
    138: _ethertype_at(16),  # two EUI-64
    163: _avs,
    166: _ppp_at(1),
    PPI: _ppi,
    204: _ppp_at(1),
    239: _nflog,
    242: _ethertype_at(40, 2),  # behind a global route header
    PKTAP: _pktap,
    281: _ethertype_at(16),  # a switch's own tag of four bytes behind the addresses,
    282: _ethertype_at(16),  # or in front of them,
    284: _ethertype_at(16),
    285: _ethertype_at(20),  # or behind an ethertype of its own
}
