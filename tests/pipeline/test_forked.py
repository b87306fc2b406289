"""Decoding in forked processes gives what one process gives, also where one of them dies."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from seqaudit.decoders.registry import DecodeSettings
from seqaudit.decoders.splits import TO_THE_END, Piece, plan_pieces
from seqaudit.pipeline import direct, forked, job
from seqaudit.pipeline.progress import Silent

CAPTURE = Path("fixtures/jgroups/n4-loss-1/B.pcap")
SETTINGS = DecodeSettings(compile_it=True)


def pieces() -> list[Piece]:
    size = CAPTURE.stat().st_size
    cuts = [size // 4, size // 2, 3 * size // 4]
    return list(plan_pieces(str(CAPTURE), 0, 0, TO_THE_END, cuts=cuts))


@pytest.fixture(autouse=True)
def from_the_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "FORK_FROM_BYTES", 1)


def decoded(cores: int) -> Any:
    return direct.decode(pieces(), SETTINGS, True, Silent(), None, cores)


def test_two_processes_give_what_one_gives() -> None:
    assert forked.worth_it(pieces(), SETTINGS, 2)
    assert not forked.worth_it(pieces(), SETTINGS, 1)
    assert decoded(2).equals(decoded(1))


def test_what_a_killed_process_leaves_is_decoded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()
    usual = job.decode_pieces

    def dies(some: list[Piece], settings: DecodeSettings) -> Any:
        if os.getpid() != parent and some[0].split == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from usual(some, settings)

    alone = decoded(1)
    monkeypatch.setattr(forked, "decode_pieces", dies)
    assert decoded(2).equals(alone)
