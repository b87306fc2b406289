"""Fragments that are taken together are as those that are taken one by one
(``network.fragment_runs``)."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.capture.reader import Reader
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.fragment_rows import fragments_of
from seqaudit.decoders.network.fragment_runs import runs_of
from seqaudit.decoders.network.ip_datagram import Assembly, FragmentRun, fragment_prints
from seqaudit.decoders.network.packets import PacketReader, Packets
from tests.decoders.network.builders import ethernet, fragments4, fragments6, pcap, udp, write

SETTINGS = DecodeSettings(compile_it=False)
SIZES = [1480, 1480]


def packets_of(folder: Path, frames: list[bytes], snap: int = 65_535) -> Iterator[Packets]:
    sizes = [len(frame) for frame in frames]
    path = write(folder / "capture.pcap", pcap([f[:snap] for f in frames], originals=sizes))
    reader = PacketReader(0, 0, compile_it=False)
    for records in Reader(plan_pieces(path, 0, 0, 1 << 40)[0], False):
        yield from reader.read(records)


def one_by_one(packets: Packets, rows: Int64s) -> Assembly:
    first, *others = fragments_of(packets, SETTINGS, rows)
    assembly = Assembly(first)
    for fragment in (first, *others):
        assembly.add(fragment)
    return assembly


def parts4(seed: int, ident: int) -> list[bytes]:
    datagram = udp(random.Random(seed).randbytes(3000))
    return [ethernet(packet) for packet in fragments4(datagram, SIZES, ident)]


def parts6(seed: int, ident: int) -> list[bytes]:
    datagram = udp(random.Random(seed).randbytes(3000))
    return [ethernet(packet, 0x86DD) for packet in fragments6(datagram, SIZES, ident)]


def assembled(runs: list[FragmentRun]) -> Assembly:
    assembly = Assembly(runs[0].first)
    for run in runs:
        assert assembly.takes(run)
        assembly.add_run(run)
    return assembly


@pytest.mark.parametrize("whole", [True, False])
def test_runs_make_the_datagram_that_their_fragments_make(tmp_path: Path, whole: bool) -> None:
    """Also where those of several come in between each other, and some are missing."""
    parts = [parts4(1, 7), parts4(2, 8), parts6(3, 9)]
    mixed = [frame for trio in zip(*(p if whole else p[1:] for p in parts), strict=True)
             for frame in trio]  # fmt: skip
    (packets,) = packets_of(tmp_path, mixed)
    found = list(runs_of(packets, SETTINGS))
    assert len(found) == 3
    for run in found:
        taken, expected = assembled([run]), one_by_one(packets, run.rows)
        assert taken.complete == expected.complete == whole
        assert run.frame == expected.last_frame
        assert taken.body() == expected.body()
        if whole:
            assert taken.packet() == expected.packet()
        for name in ("frames", "last_frame", "low_ttl", "high_ttl", "outgoing", "total", "covered",
                     "longest", "held_bytes", "prints", "first", "head"):  # fmt: skip
            assert getattr(taken, name) == getattr(expected, name), name


def test_runs_of_one_datagram_follow_each_other_in_any_order(tmp_path: Path) -> None:
    datagram = udp(random.Random(5).randbytes(5000))
    parts = [ethernet(packet) for packet in fragments4(datagram, [1480] * 3, 7)]
    for order in ((0, 2), (2, 0)):
        frames = [parts[place + n] for place in order for n in (0, 1)]
        (packets,) = packets_of(tmp_path, frames)
        halves = [replace(packets, fragments=packets.fragments[at : at + 2]) for at in (0, 2)]
        runs = [run for half in halves for run in runs_of(half, SETTINGS)]
        expected = one_by_one(packets, packets.fragments)
        assert len(runs) == 2
        assert assembled(runs).packet() == expected.packet()
        assert not assembled(runs[:1]).complete and assembled(runs).complete
        assert not assembled(runs).takes(runs[0])  # it is there already


@pytest.mark.parametrize(
    "frames",
    [
        [parts4(1, 7)[place] for place in (0, 2)],  # one between is missing
        [parts4(1, 7)[place] for place in (1, 0, 2)],  # not in order
        [*parts4(1, 7), parts4(1, 7)[2]],  # one came twice
        [*parts4(1, 7), *parts4(1, 7)],  # all did
        parts4(1, 7)[:1],
    ],
)
def test_what_is_anything_else_is_no_run(tmp_path: Path, frames: list[bytes]) -> None:
    (packets,) = packets_of(tmp_path, frames)
    assert not list(runs_of(packets, SETTINGS))


def test_fragments_that_were_captured_in_part_are_no_run(tmp_path: Path) -> None:
    (packets,) = packets_of(tmp_path, parts4(1, 7), snap=200)
    assert len(packets.fragments) == 3
    assert not list(runs_of(packets, SETTINGS))


def test_a_print_is_the_same_by_columns(tmp_path: Path) -> None:
    """Also of fragments shorter than what it is made of."""
    short = [ethernet(packet) for packet in fragments4(udp(b"seqaudit" * 3), [8, 16], 9)]
    (packets,) = packets_of(tmp_path, [*parts4(1, 7), *short])
    fragments = list(fragments_of(packets, SETTINGS, packets.fragments))
    data = b"".join(fragment.payload for fragment in fragments)
    length = np.array([len(fragment.payload) for fragment in fragments])
    start, offset = np.cumsum(length) - length, np.array([one.start for one in fragments])
    assert fragment_prints(data, offset, start, length).tolist() == [one.print for one in fragments]
    assert len({one.print for one in fragments}) == len(fragments)
