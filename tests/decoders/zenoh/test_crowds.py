"""How full the buffer of a socket may have been: the same however a capture was cut."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from seqaudit.decoders.capture.pieces import plan_pieces, with_proven_start
from seqaudit.decoders.capture.reader import Piece
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.contract.zenoh_detail import CROWD_NS, FULL, TIGHT
from seqaudit.decoders.stages.first import decode_piece
from seqaudit.decoders.zenoh import kernel_words as wire
from seqaudit.decoders.zenoh.batches import BatchDecoder
from seqaudit.decoders.zenoh.crowds import Crowds, crowds
from seqaudit.replay.zenoh.moments import TICK_BITS, TIMED_NS
from tests.decoders.network.builders import ethernet, ipv4, pcap, record_offsets, udp, write
from tests.decoders.zenoh import builders as z

MS: Final = 1_000_000
BEGIN_NS: Final = 1_795_000_000_000_000_000
#: Datagrams, one in 0.2 ms: the buffer fills behind the 92nd and is full behind the 278th. Then
#: there is a pause of 60 ms, one of 120 ms, and 100 more come.
TIMES: Final = [
    n * MS // 5 + 60 * MS * (n >= 350) + 120 * MS * (n >= 400) for n in range(500)
]  # fmt: skip


def test_decoder_and_engine_mean_the_same_times() -> None:
    """Each has its own, as kernel code imports nothing but kernel code: what was compiled is known
    by the text of that alone."""
    assert (wire.CROWD_NS, wire.TIMED_NS, wire.TICK_BITS) == (CROWD_NS, TIMED_NS, TICK_BITS)


def test_so_many_datagrams_came_for_a_socket_at_once() -> None:
    """In 0.1 s, of whatever session; what is few is not counted."""
    at_ns = np.array([n * 10 * MS for n in range(300)] + [10**10 + n * MS for n in range(200)])
    socket = np.where(np.arange(500) < 450, 7, 8)
    found = crowds(socket, at_ns + 12_345)
    assert (found[:300].max(), found[449], found[499]) == (11, 101, 0)  # 150 within 0.15 s
    assert not crowds(np.zeros(92, np.int64), np.arange(92)).any()
    assert crowds(np.zeros(93, np.int64), np.append(np.arange(92), 0)).max() == 93


@pytest.mark.parametrize("cut", [1, 92, 93, 200, 279, 380, 420])
def test_what_came_last_is_known_to_the_next_chunk_whatever_the_numbers_of_its_hosts(
    cut: int,
) -> None:
    at_ns, port = np.array(TIMES), np.full(500, 7447)
    host = np.arange(500) % 7 == 0
    whole = Crowds().of(["a", "b"], host.astype(np.int64), port, at_ns)
    parts = Crowds()
    one = parts.of(["a", "b"], host[:cut].astype(np.int64), port[:cut], at_ns[:cut])
    two = parts.of(["b", "x", "a"], np.where(host[cut:], 0, 2), port[cut:], at_ns[cut:])
    assert np.concatenate((one, two)).tolist() == whole.tolist()
    assert set(whole.tolist()) == {0, TIGHT, FULL}


def spans(pieces: list[Piece]) -> Iterator[tuple[int, int, int]]:
    """(first, last, crowd) of runs of frames, in ns."""
    landing = None
    for piece in pieces:
        proven = piece if landing is None else with_proven_start(piece, landing)
        rows = [
            row
            for batch in decode_piece(proven, DecodeSettings(compile_it=False))
            for row in batch.to_pylist()
        ]
        landing = json.loads(rows[-1]["detail"])["landing"]
        for row in rows:
            if row["wire_kind"] == "Frame":
                yield row["at_ns"], row["last_at_ns"], json.loads(row["detail"]).get("crowd", 0)


def levels(pieces: list[Piece]) -> list[int]:
    """Of each datagram, by the rows."""
    found = list(spans(pieces))
    at = [BEGIN_NS + time for time in TIMES]
    return [max(crowd for first, last, crowd in found if first <= t <= last) for t in at]


def capture() -> bytes:
    packets = [
        ethernet(ipv4(udp(z.frame(n, z.push(z.put(n))), 50_000, 7447))) for n in range(len(TIMES))
    ]
    return pcap(packets, times_ns=TIMES)


@pytest.mark.parametrize("cut", [50, 93, 250, 300, 390, 450])
def test_rows_say_the_same_of_a_burst_that_was_cut(cut: int, tmp_path: Path) -> None:
    data = capture()
    path = write(tmp_path / "a.pcap", data)
    (whole,) = plan_pieces(path, 0, 0, 1 << 40)
    known = Crowds().of(["a"], np.zeros(500, np.int64), np.full(500, 7447), np.array(TIMES))
    assert levels([whole]) == known.tolist()
    pieces = plan_pieces(path, 0, 0, 1 << 40, cuts=[record_offsets(data)[cut]])
    assert levels(pieces) == known.tolist()


def test_a_run_of_a_full_socket_has_no_long_pause() -> None:
    """Another session filled it twice, a second apart, just before two frames of this one."""
    own, other = [*range(200), 300, 401], [*range(200, 300), *range(301, 401)]
    sns = dict(zip([*own, *other], [*range(202), *range(200)], strict=True))
    batches = z.batches([z.frame(sns[n], z.push(z.put(sns[n]))) for n in range(402)])
    batches.source_port[other] += 1
    batches.at_ns[:] = [n * 10 * MS if n < 200 else 2 * 10**10 + n * MS // 10 for n in range(402)]
    batches.at_ns[301:] += 1_000 * MS
    found, _ = BatchDecoder().decode(batches)
    rows = [row for one in found for row in one.to_pylist() if row["wire_kind"] == "Frame"]
    told = [(row["seqno"], row["count"], json.loads(row["detail"])["crowd"])
            for row in rows if "crowd" in row["detail"] and row["seqno"] >= 200]  # fmt: skip
    assert told == [(200, 1, TIGHT), (201, 1, TIGHT)]


def test_what_only_ends_runs_takes_up_no_room() -> None:
    """Recorded with IP fragments: a barrier stands behind each datagram that they make up, and one
    for each frame; 60 datagrams were taken for 120."""
    batches = z.batches([z.frame(n // 2, z.push(z.put(n // 2))) for n in range(120)])
    batches.at_ns[:] = [n // 2 * MS for n in range(120)]
    batches.mode[1::2] = wire.BARRIER
    found, _ = BatchDecoder().decode(batches)
    rows = [row for one in found for row in one.to_pylist() if row["wire_kind"] == "Frame"]
    assert sum(row["count"] for row in rows) == 60
    assert not any("crowd" in (row["detail"] or "") for row in rows)
