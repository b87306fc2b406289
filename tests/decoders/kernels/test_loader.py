"""What is compiled when: decoders/README.md 4, pipeline/README.md 2."""

import signal
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.stages import registry
from seqaudit.decoders.stages.registry import DatagramDecoder, DecodeSettings, Dispatcher


def datagrams(count: int) -> Datagrams:
    """Datagrams that only their frame numbers tell apart."""
    columns = {
        name: np.zeros(count, np.int64)
        for name in Datagrams.__dataclass_fields__
        if name not in ("data", "compile_it", "capture", "split", "hosts", "frame")
    }
    return Datagrams(b"", True, 0, 0, [], frame=np.arange(count), **columns)


class Decoder:
    """Claims datagrams whose frame number is in ``claims`` and notes how it was called."""

    system = "test"

    def __init__(self, claims: range, calls: list[tuple[int, bool]]) -> None:
        self.claims = claims
        self.calls = calls

    def decode(self, given: Datagrams) -> list[pa.RecordBatch]:
        self.calls.append((given.count, given.compile_it))
        given.outcome[np.isin(given.frame, np.array(self.claims))] = FrameOutcome.DECODED
        return []

    def finish(self) -> list[pa.RecordBatch]:
        return []

    def account(self) -> Mapping[str, object]:
        return {}


def calls_of(claims: range, chunks: list[int], *, sparing: bool) -> list[tuple[int, bool]]:
    """(datagrams, compiled) of each call that was for rows, not for a sample."""
    calls: list[tuple[int, bool]] = []

    def make(_: DecodeSettings) -> DatagramDecoder:
        return Decoder(claims, calls)  # type: ignore[return-value]

    dispatcher = Dispatcher(DecodeSettings(compile_it=True, sparing=sparing), {"test": make})
    for count in chunks:
        dispatcher.decode(datagrams(count))
    return [call for call in calls if call[0] in chunks]


def test_a_decoder_that_claims_nothing_is_not_compiled() -> None:
    assert calls_of(range(0), [5_000, 6_000], sparing=True) == [(5_000, False), (6_000, False)]
    assert calls_of(range(0), [5_000], sparing=False) == [(5_000, True)]


def test_a_decoder_that_claims_is_compiled_from_that_chunk_on() -> None:
    assert calls_of(range(4_000, 4_100), [3_000, 5_000, 3_000], sparing=True) == [
        (3_000, False),
        (5_000, True),
        (3_000, True),
    ]


def test_a_decoder_that_refuses_very_many_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PATIENCE", 10_000)
    assert calls_of(range(0), [9_999, 2_000], sparing=True) == [(9_999, False), (2_000, True)]


def test_a_helper_is_compiled_once_whatever_constants_it_is_given() -> None:
    numba = pytest.importorskip("numba")
    helper = numba.njit(lambda a: a + 1)
    helper.get_call_template = kernels._without_literals(helper.get_call_template)
    calls = numba.njit(lambda a: helper(1) + helper(2) + helper(a))
    assert calls(3) == 9
    assert len(helper.signatures) == 1


def test_ctrl_c_while_a_kernel_is_compiled_is_an_interrupt_after_it() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts.held_back():
        signal.raise_signal(signal.SIGINT)
        done.append("compiled")
    assert done == ["compiled"]
