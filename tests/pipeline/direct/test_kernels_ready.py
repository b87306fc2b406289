"""Which kernels a capture needs, seen before any is compiled (pipeline/README.md 2)."""

from pathlib import Path

import pytest

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.direct import kernels_ready as warm


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("jgroups/n4-loss-1/C.pcap", {"pcap", "udp-jgroups"}),
        ("raims/console-pub-1/A.pcap", {"pcap", "udp-pgm", "udp-raims"}),
        ("zenoh/classic-no-source-info-1/pub.pcap", {"pcap", "udp-zenoh"}),
        ("captures/interfaces.pcapng", {"pcapng"}),
    ],
)
def test_what_a_capture_needs(path: str, parts: set[str], fixtures: Path) -> None:
    piece = plan_pieces(str(fixtures / path), 0, 0, 1)[0]
    assert warm._needed_by(piece, DecodeSettings()) == parts


def test_only_what_is_not_compiled_yet_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    loaded: list[list[str]] = []
    monkeypatch.setattr(warm, "_load", lambda parts: loaded.append(list(parts)))
    (tmp_path / "pcap.compiled").touch()
    warm.compile_parts(["pcap", "udp-zenoh", "tcp-zenoh"])
    assert loaded == [["udp-zenoh", "tcp-zenoh"]]


def test_every_part_can_be_loaded() -> None:
    for container in (warm.PCAP, warm.PCAPNG):
        assert len(warm._capture(container)) > 100
    datagrams = warm._one_datagram()
    assert (datagrams.count, datagrams.compile_it) == (1, True)
