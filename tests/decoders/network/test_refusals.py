"""What ICMP quotes of datagrams that reached nobody (RFC 792, RFC 4443 3.1)."""

import struct
from collections.abc import Sequence

import pytest

from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.network.packets import PacketReader
from seqaudit.decoders.network.refusals import refused
from tests.decoders.network.builders import (
    DESTINATION,
    DESTINATION6,
    SOURCE,
    SOURCE6,
    Packet,
    ethernet,
    ipv4,
    ipv6,
    records,
    udp,
)

PAYLOAD = b"nobody is there"
SENT = ipv4(udp(PAYLOAD))
SENT6 = ipv6(udp(PAYLOAD))
#: Frame, ends, ports, IP id, payload, its length, flags.
Told = tuple[int, str, str, int, int, int, bytes, int, Flag]
FOUND: Told = (
    1, SOURCE, DESTINATION, 7800, 45588, 0x4321, PAYLOAD, len(PAYLOAD), Flag.REFUSED,
)  # fmt: skip
FOUND6: Told = (1, SOURCE6, DESTINATION6, *FOUND[3:5], -1, *FOUND[6:])


def icmp(quote: bytes, kind: int = 3, code: int = 3, host: str = DESTINATION) -> bytes:
    message = struct.pack(">BBHI", kind, code, 0, 0) + quote
    return ethernet(ipv4(message, host, SOURCE, protocol=1))


def icmpv6(quote: bytes, kind: int = 1, code: int = 4) -> bytes:
    message = struct.pack(">BBHI", kind, code, 0, 0) + quote
    return ethernet(ipv6(message, DESTINATION6, SOURCE6, next_header=58), 0x86DD)


def told(packets: Sequence[Packet]) -> list[Told]:
    reader, found = PacketReader(0, 0, compile_it=False), []
    for read in reader.read(records(packets)):
        for d in refused(read):
            for n in range(d.count):
                ends = d.hosts[d.source[n]], d.hosts[d.destination[n]]
                ports = int(d.source_port[n]), int(d.destination_port[n])
                payload = bytes(d.data[int(d.start[n]) : int(d.stop[n])])
                rest = payload, int(d.length[n]), Flag(int(d.flags[n]))
                found.append((int(d.frame[n]), *ends, *ports, int(d.ip_id[n]), *rest))
    return found


def test_a_host_quotes_what_came_to_a_port_at_which_nobody_listens() -> None:
    assert told([Packet(icmp(SENT))]) == [FOUND]
    assert told([Packet(icmpv6(SENT6))]) == [FOUND6]
    both = told([Packet(icmp(SENT)), Packet(ethernet(SENT)), Packet(icmpv6(SENT6))])
    assert both == [FOUND, (3, *FOUND6[1:])]
    options = ipv4(udp(PAYLOAD), options=bytes([1] * 8))
    assert told([Packet(icmp(options))]) == [FOUND]


@pytest.mark.parametrize("size", [len(SENT) - 1, 28])
def test_a_quote_may_hold_the_beginning_only(size: int) -> None:
    (row,) = told([Packet(icmp(SENT[:size]))])
    assert row == (*FOUND[:6], PAYLOAD[: size - 28], len(PAYLOAD), Flag.REFUSED | Flag.CUT)
    whole = Packet(icmp(SENT))
    assert told([whole.cut(len(whole.data) - len(SENT) + size)]) == [row]


@pytest.mark.parametrize(
    "frame",
    [
        icmp(SENT, code=1), icmp(SENT, kind=11), icmp(SENT[:27]), icmp(SENT, host="10.80.0.9"),
        icmp(ipv4(udp(PAYLOAD), "10.80.0.9")), icmp(ipv4(udp(PAYLOAD), protocol=6)),
        icmp(ipv4(udp(PAYLOAD), offset=8)), icmp(SENT6), icmp(ipv4(udp(PAYLOAD), words=4)),
        icmpv6(SENT6, code=0), icmpv6(SENT6[:47]), icmpv6(SENT),
        icmpv6(ipv6(udp(PAYLOAD), "fd00:80::9")), icmpv6(ipv6(udp(PAYLOAD), next_header=6)),
        ethernet(SENT), icmp(b""),
    ],
)  # fmt: skip
def test_anything_else_says_nothing(frame: bytes) -> None:
    assert told([Packet(frame)]) == []


def test_what_goes_before_a_piece_is_not_of_it() -> None:
    assert told([Packet(icmp(SENT), frame=0), Packet(icmp(SENT))]) == [FOUND]
