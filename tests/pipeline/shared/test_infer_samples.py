"""What ``infer`` looks at: the beginning of each destination, less what is recognised."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from seqaudit.decoders.infer.layout import HEAD_BYTES
from seqaudit.decoders.network.packets import COLUMNS, Datagrams, FrameOutcome
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.shared import infer_samples as samples
from seqaudit.pipeline.shared.infer_samples import Sampler
from seqaudit.pipeline.shared.plan import CaptureInput

HOSTS = ["10.1.1.1", "10.1.1.2", "239.1.1.1"]


def datagrams(rows: Sequence[tuple[bytes, int, int, FrameOutcome]]) -> Datagrams:
    """Of (payload, source, destination, outcome); hosts by number, ports 5000 to 6000."""
    data = b"".join(payload for payload, *_ in rows)
    stops = np.cumsum([len(payload) for payload, *_ in rows])
    columns = {name: np.zeros(len(rows), np.int64) for name in COLUMNS}
    columns |= {
        "frame": np.arange(1, len(rows) + 1),
        "start": np.concatenate(([0], stops[:-1])),
        "stop": stops,
        "source": np.array([source for _, source, _, _ in rows]),
        "destination": np.array([destination for _, _, destination, _ in rows]),
        "outcome": np.array([outcome for *_, outcome in rows]),
    }
    columns["source_port"] += 5000
    columns["destination_port"] += 6000
    return Datagrams(data, False, 0, 0, HOSTS, **columns)


def heads(sampler: Sampler) -> dict[str, list[bytes]]:
    return {
        place[0]: [
            head.tobytes()[:length]
            for head, length in zip(sample.heads, sample.lengths, strict=True)
        ]
        for place, _, sample in sampler.samples()
    }


def test_datagrams_are_kept_by_destination_in_their_order() -> None:
    sampler = Sampler(10)
    free = FrameOutcome.NOT_CLAIMED
    sampler.add(datagrams([(b"a1", 0, 2, free), (b"b1", 0, 1, free), (b"a2", 1, 2, free)]))
    sampler.add(datagrams([(b"a3", 0, 2, free)]))
    assert heads(sampler) == {"239.1.1.1": [b"a1", b"a2", b"a3"], "10.1.1.2": [b"b1"]}
    (first, _) = sampler.samples()
    assert first[2].source.tolist() == [0, 1, 0]


def test_no_more_than_the_limit_and_the_first_bytes_are_kept() -> None:
    sampler = Sampler(2)
    long = bytes(range(200))
    for _ in range(2):
        sampler.add(datagrams([(long, 0, 2, FrameOutcome.NOT_CLAIMED)] * 3))
    ((place, total, sample),) = sampler.samples()
    assert (place, total, sample.heads.shape) == (("239.1.1.1", 6000), 6, (2, HEAD_BYTES))
    assert sample.heads[1].tobytes() == long[:HEAD_BYTES]
    assert sample.lengths.tolist() == [200, 200]


def test_what_is_recognised_is_left_out() -> None:
    sampler = Sampler(10)
    rows = [(b"free", 0, 2, FrameOutcome.NOT_CLAIMED), (b"ours", 0, 2, FrameOutcome.DECODED)]
    sampler.add(datagrams(rows * 3))
    sampler.add(datagrams([(b"ours", 0, 1, FrameOutcome.DECODED)]))
    assert heads(sampler) == {"239.1.1.1": [b"free"] * 3}
    assert (sampler.recognised, sampler.unrecognised) == (4, 3)


def test_the_odd_datagram_that_is_claimed_by_chance_is_not_left_out() -> None:
    sampler = Sampler(1_000)
    rows = [(b"%03d" % at, 0, 2, FrameOutcome.NOT_CLAIMED) for at in range(100)]
    rows[50] = (b"050", 0, 2, FrameOutcome.DECODED)
    sampler.add(datagrams(rows))
    assert heads(sampler)["239.1.1.1"] == [b"%03d" % at for at in range(100)]


def test_replies_are_what_goes_back_to_the_sources() -> None:
    sampler = Sampler(10)
    there, back = (
        datagrams([(b"ask", 0, 1, FrameOutcome.NOT_CLAIMED)]),
        datagrams(
            [(b"yes", 1, 0, FrameOutcome.NOT_CLAIMED), (b"no", 2, 0, FrameOutcome.NOT_CLAIMED)]
        ),
    )
    back.source_port[:], back.destination_port[:] = 6000, 5000
    sampler.add(there)
    sampler.add(back)
    place, _, sample = next(x for x in sampler.samples() if x[0][0] == "10.1.1.2")
    replies = sampler.replies(place, sample)
    assert replies is not None
    assert [reply.tobytes().rstrip(b"\0") for reply in replies] == [b"yes"]


def test_reading_stops_when_enough_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "HELD_DATAGRAMS", 3)
    sampler = Sampler(2)
    sampler.add(datagrams([(b"a", 0, 2, FrameOutcome.NOT_CLAIMED)] * 5))
    assert not sampler.full
    sampler.add(datagrams([(b"b", 0, 1, FrameOutcome.NOT_CLAIMED)]))
    assert sampler.full


def test_progress_is_told_by_bytes_of_captures(fixtures: Path) -> None:
    told: list[object] = []

    class Watch:
        def begin(self, what: str, total: int, *, bytes_read: bool = False) -> None:
            told.append((what, total, bytes_read))

        def done(self, steps: int, also: str = "") -> None:
            told.append((steps, also))

        def note(self, text: str) -> None:
            raise AssertionError(text)

    captures = [fixtures / "jgroups" / "n4-loss-1" / name for name in ("A.pcap", "C.pcap")]
    sizes = [path.stat().st_size for path in captures]
    samples.look([CaptureInput(str(path)) for path in captures], DecodeSettings(), Watch())
    assert told == [
        ("reading", sum(sizes), True), (sizes[0], "1/2 captures"), (sum(sizes), "2/2 captures"),
    ]  # fmt: skip
