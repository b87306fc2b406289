"""Feeds whose streams are told apart by what their datagrams came in: VLANs and tunnels; and the
numbers of a tunnel itself."""

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.network.builders import ethernet, fragments4, ipv4, pcap, record_offsets, udp
from tests.pipeline.test_networks import in_gre, in_vlan, in_vxlan

GROUP: Final = "239.5.0.1"
PORT: Final = 5_000
COUNT: Final = 60
#: What is left out of each of two networks, by its number.
LEFT_OUT: Final = {5: {7, 8, 30}, 6: {21}}
FEED: Final = """
feed: twice
match: [{{destination: {group}, port: {port}}}]
fields:
  seqno: {{offset: 0, width: 4}}
stream: [destination, port, {part}]
seqno: seqno
"""
Carry = Callable[[bytes, int], bytes]
CARRIED: Final[dict[str, tuple[str, Carry]]] = {
    "VLAN": ("vlan", in_vlan), "VXLAN": ("vni", in_vxlan), "GRE key": ("vni", in_gre),
}  # fmt: skip


def feed_file(folder: Path, part: str) -> Path:
    path = folder / "twice.yaml"
    path.write_text(FEED.format(group=GROUP, port=PORT, part=part))
    return path


def datagram(number: int, size: int = 40) -> bytes:
    return udp(struct.pack(">I", number) + bytes(size), 30_000, PORT)


def two_networks(carry: Carry, *, in_fragments: bool = False) -> list[bytes]:
    """The same group in two networks, each with numbers of its own."""
    frames = []
    for number in range(1, COUNT + 1):
        for network, left_out in LEFT_OUT.items():
            if number in left_out:
                continue
            ident = number << 4 | network
            if in_fragments:
                parts = fragments4(datagram(number, 60), (24,), ident, GROUP)
            else:
                parts = [ipv4(datagram(number), "10.5.0.9", GROUP, ident=ident)]
            frames += [carry(ethernet(part), network) for part in parts]
    return frames


def report_of(frames: Sequence[bytes], folder: Path, feed: str, **options: Any) -> Any:
    path = folder / "networks.pcap"
    path.write_bytes(pcap(frames, times_ns=[10**18 + 10**6 * n for n in range(len(frames))]))
    settings = Options(engine="direct", feeds=feeds_of([feed], []), **options)
    return audit([CaptureInput(str(path))], settings)


def missing(report: dict[str, Any]) -> dict[str, set[int]]:
    """What is in no datagram, by the stream's key."""
    found: dict[str, set[int]] = {}
    for stream in report["streams"]:
        own = found.setdefault(stream["id"].split("|")[1], set())
        for first, last in (*stream["unrecovered_seqnos"], *stream["open_at_end_seqnos"]):
            own |= set(range(first, last + 1))
    return found


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("carrier", CARRIED)
def test_a_stream_is_told_by_the_network_that_it_came_in(carrier: str, tmp_path: Path) -> None:
    part, carry = CARRIED[carrier]
    report = report_of(two_networks(carry), tmp_path, str(feed_file(tmp_path, part)))
    assert missing(report) == {f"{part}={n}": left_out for n, left_out in LEFT_OUT.items()}


def test_a_datagram_in_fragments_is_of_the_network_of_its_fragments(tmp_path: Path) -> None:
    frames = two_networks(in_vlan, in_fragments=True)
    report = report_of(frames, tmp_path, str(feed_file(tmp_path, "vlan")))
    assert missing(report) == {f"vlan={n}": left_out for n, left_out in LEFT_OUT.items()}


def test_what_came_in_no_network_is_of_number_0(tmp_path: Path) -> None:
    frames = [ethernet(ipv4(datagram(n), "10.5.0.9", GROUP, ident=n)) for n in (1, 2, 4)]
    assert missing(report_of(frames, tmp_path, str(feed_file(tmp_path, "vlan")))) == {"vlan=0": {3}}


@pytest.mark.parametrize("carrier", CARRIED)
def test_cuts_and_kernels_change_nothing(carrier: str, tmp_path: Path) -> None:
    part, carry = CARRIED[carrier]
    frames, feed = two_networks(carry), str(feed_file(tmp_path, part))
    whole = to_json(report_of(frames, tmp_path, feed, compile_it=False))
    path = tmp_path / "networks.pcap"
    for step in (3, 13):
        cuts = {str(path): record_offsets(path.read_bytes())[1:-1:step]}
        assert to_json(report_of(frames, tmp_path, feed, compile_it=step > 1, cuts=cuts)) == whole


def test_on_tcp_a_stream_is_a_connections_wherever_its_segments_came_in(tmp_path: Path) -> None:
    path = feed_file(tmp_path, "vlan")
    path.write_text(path.read_text() + "framing: {offset: 0, width: 2}\n")
    with pytest.raises(SeqauditError, match="names what a connection"):
        feeds_of([str(path)], [])


def gre(number: int, key: int | None, *, checksum: bool = False, inner: bytes = b"") -> bytes:
    """A packet of a tunnel (RFC 2890); without ``inner`` of nothing that can be read."""
    flags = 0x1000 | 0x2000 * (key is not None) | 0x8000 * checksum
    head = struct.pack(">HH", flags, 0x0800) + bytes(4) * checksum
    head += b"" if key is None else struct.pack(">I", key)
    return head + struct.pack(">I", number) + (inner or bytes(40))


def test_numbers_of_gre_are_those_of_a_tunnel_by_its_key(tmp_path: Path) -> None:
    inner = ipv4(datagram(1), "10.5.0.9", GROUP)
    sent = []
    for number in range(40):
        if number not in (4, 5):
            sent.append(gre(number, 1, inner=inner))
        if number != 9:
            sent.append(gre(1_000 + number, 2, checksum=True, inner=inner))
        if number != 30:
            sent.append(gre(9_000 + number, None, inner=inner))
    frames = [
        ethernet(ipv4(one, "10.0.0.1", "10.0.0.2", protocol=47, ident=at))
        for at, one in enumerate(sent)
    ]
    report = report_of(frames, tmp_path, "gre@10.0.0.2")
    assert missing(report) == {"key=1": {4, 5}, "key=2": {1_009}, f"key={0x10000800}": {9_030}}
    (capture,) = report["captures"]
    assert capture["frames_by"]["decoded"] == len(frames)
