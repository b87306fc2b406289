"""Streams say by which tunnels their senders' packets came."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqaudit.cli.output.table import render_streams
from seqaudit.decoders.network import packet_words as k
from seqaudit.decoders.network.tunnels import MOST_ENDS, Tunnels, TunnelsSeen
from seqaudit.pipeline.options import Options
from tests.pipeline.test_networks import (
    Bench,
    behind,
    carried_by_ip,
    in_fragments,
    in_gre,
    in_vxlan,
)

JGROUPS, ZENOH = "jgroups/n4-loss-1/B.pcap", "zenoh/heartbeat-lost-1/pub.pcap"
FRAGMENTS = "jgroups/u3n2-ipfrag-loss-2/B.pcap"


@pytest.fixture
def bench(fixtures: Path, tmp_path: Path) -> Bench:
    return Bench(fixtures, tmp_path)


def in_ip(frame: bytes, _number: int) -> bytes:
    return carried_by_ip(4, frame[14:])


TUNNELS = {"VXLAN network 5": in_vxlan, "GRE key 5": in_gre, "IP in IP": in_ip}


def told(report: Any) -> list[Any]:
    return [stream.get("tunnels") for stream in report["streams"]]


@pytest.mark.parametrize("recording", [JGROUPS, ZENOH, FRAGMENTS])
@pytest.mark.parametrize("name", TUNNELS)
def test_streams_say_their_tunnel(bench: Bench, name: str, recording: str) -> None:
    report = bench.report(bench.write("in", behind(bench.records(recording), TUNNELS[name], 5)))
    assert told(report)
    assert all(tunnels == [name] for tunnels in told(report))


def test_streams_outside_of_tunnels_say_none(bench: Bench) -> None:
    streams = bench.report(bench.write("bare", bench.records(JGROUPS)))["streams"]
    assert streams
    assert not any("tunnels" in stream for stream in streams)


def test_streams_of_one_capture_say_each_its_own(bench: Bench) -> None:
    one = behind(bench.records(JGROUPS), in_vxlan, 5)
    streams = bench.report(bench.write("mixed", one, bench.records(ZENOH)))["streams"]
    assert {stream["system"].partition("-")[0] for stream in streams} >= {"nakack4", "zenoh"}
    for stream in streams:
        own = None if stream["system"].startswith("zenoh") else ["VXLAN network 5"]
        assert stream.get("tunnels") == own


def test_a_sender_that_two_tunnels_bring_has_both(bench: Bench) -> None:
    records = bench.records(JGROUPS)
    half = len(records) // 2
    parts = behind(records[:half], in_ip, 0), behind(records[half:], in_gre, 5)
    found = told(bench.report(bench.write("two", *parts)))
    assert ["IP in IP", "GRE key 5"] in found


def test_what_came_in_fragments_says_the_tunnel_that_it_holds(bench: Bench) -> None:
    """All are counted, too, the fragments by what was put together."""
    records = in_fragments(behind(bench.records(JGROUPS), in_vxlan, 5), 900)
    path = bench.write("parts", records)
    report = bench.report(path)
    assert all(tunnels == ["VXLAN network 5"] for tunnels in told(report))
    assert report["captures"][0]["tunnels"] == {"VXLAN network 5": len(records)}
    cuts = {str(path): list(range(3_000, path.stat().st_size, 3_000))}
    assert bench.report(path, Options(engine="direct", cuts=cuts)) == report


def test_a_table_has_a_column_of_tunnels_where_there_are_some(bench: Bench) -> None:
    def headers(report: Any) -> list[str]:
        return [column.header for column in render_streams(report, 0).columns]  # type: ignore[union-attr]

    records = bench.records(JGROUPS)
    assert "tunnel" not in headers(bench.report(bench.write("bare", records)))
    inside = bench.report(bench.write("in", behind(records, in_vxlan, 5)))
    assert "tunnel" in headers(inside)


def noted(ends: int, first: int = 0) -> TunnelsSeen:
    seen = TunnelsSeen()
    hosts = [f"10.0.{number >> 8}.{number & 255}" for number in range(ends + first + 1)]
    sources = np.arange(first, first + ends, dtype=np.int64)
    seen.note(np.full(ends, k.TUNNEL_IP, np.int64), (sources, sources + 1), hosts)
    return seen


def test_of_more_ends_than_are_told_none_is_whatever_the_pieces() -> None:
    half = MOST_ENDS // 2
    whole = [seen for seen in [noted(MOST_ENDS).rows()] if seen]
    halves = [seen for seen in (noted(half).rows(), noted(half, half).rows()) if seen]
    more = [seen for seen in (noted(half).rows(), noted(half + 1, half).rows()) if seen]
    too_many = [seen for seen in [noted(MOST_ENDS + 1).rows()] if seen]
    ends = ["10.0.0.1"], ["10.0.0.2"]
    assert Tunnels(whole).between(*ends) == Tunnels(halves).between(*ends) == ["IP in IP"]
    assert Tunnels(more).between(*ends) == Tunnels(too_many).between(*ends) == []


def test_packets_outside_of_tunnels_and_without_ends_are_not_noted() -> None:
    seen = TunnelsSeen()
    tunnels = np.array([0, k.TUNNEL_GRE], np.int64)
    seen.note(tunnels, (np.array([0, -1]), np.array([1, -1])), ["10.0.0.1", "10.0.0.2"])
    assert seen.rows() is None
