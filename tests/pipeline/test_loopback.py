"""Captures of a loopback interface: all hosts of a recording as processes at 127.0.0.1."""

from pathlib import Path

import dpkt
import pytest

from tests.degraded.auditing import command

HERE = "127.0.0.1"


def at_one_host(capture: Path, to: Path) -> str:
    """The capture as if each of its hosts were a process here, with ports of its own."""
    hosts: dict[bytes, int] = {}

    def moved(address: bytes, port: int) -> tuple[bytes, int]:
        return bytes((127, 0, 0, 1)), port + 10 * hosts.setdefault(address, len(hosts))

    with capture.open("rb") as file, to.open("wb") as out:
        reader = dpkt.pcap.Reader(file)
        writer = dpkt.pcap.Writer(out, linktype=reader.datalink())
        for at, data in reader:
            frame = dpkt.ethernet.Ethernet(data)
            packet = frame.data
            if not isinstance(packet, dpkt.ip.IP):
                continue
            segment = packet.data
            packet.src, segment.sport = moved(packet.src, segment.sport)
            packet.dst, segment.dport = moved(packet.dst, segment.dport)
            packet.sum = segment.sum = 0
            writer.writepkt(bytes(frame), at)
    return str(to)


@pytest.mark.parametrize("at", [(), ("--at", HERE), ("--at", "10.1.2.3")])
def test_what_went_over_a_loopback_interface_is_judged(
    at: tuple[str, ...], fixtures: Path, tmp_path: Path
) -> None:
    path = at_one_host(fixtures / "zenoh" / "tcp-clean-1" / "sub.pcap", tmp_path / "lo.pcap")
    ended = command([*at, path])
    (capture,) = ended.report["captures"]
    assert (capture["vantage"]["kind"], capture["vantage"]["address"]) == ("member", HERE)
    (stream,) = (row for row in ended.report["streams"] if row["system"] == "zenoh")
    assert (stream["messages"], stream["lost"]) == (60, 0)
    assert ended.code == 0


@pytest.mark.parametrize("at", [(), ("--at", HERE), ("--at", "B")])
def test_of_several_daemons_on_a_loopback_interface_nobody_tells_who_lost_what(
    at: tuple[str, ...], fixtures: Path, tmp_path: Path
) -> None:
    path = at_one_host(fixtures / "raims" / "mesh-plain-1" / "B.pcap", tmp_path / "lo.pcap")
    ended = command([*at, path])
    assert {row["lost"] for row in ended.report["streams"]} == {None}
    assert ended.code == 2
    (why,) = (problem["problem"] for problem in ended.report["unjudged"])
    assert "A, B, C are all at 127.0.0.1" in why
