"""Which kernels a capture needs, seen before any is compiled (pipeline/README.md 2)."""

import signal
import subprocess
from pathlib import Path

import pytest

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.direct import kernels_ready as warm
from seqaudit.pipeline.shared.progress import Silent


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


class Said(Silent):
    """Hears what is begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def begin(self, what: str, total: int, *, bytes_read: bool = False) -> None:
        self.begun.append(what)


def test_only_what_is_not_compiled_yet_is_compiled_and_that_is_said(
    fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compiled: list[list[str]] = []
    monkeypatch.setattr(warm, "compile_parts", lambda parts: compiled.append(list(parts)))
    capture = str(fixtures / "zenoh" / "classic-no-source-info-1" / "pub.pcap")
    pieces, said = plan_pieces(capture, 0, 0, 1), Said()
    (tmp_path / "pcap.compiled").touch()
    warm.compile_for(pieces, DecodeSettings(), said)
    assert compiled == [["udp-zenoh"]]
    assert said.begun == ["compiling decoders, once on this machine"]
    (tmp_path / "udp-zenoh.compiled").touch()
    warm.compile_for(pieces, DecodeSettings(), said)
    assert len(compiled) == len(said.begun) == 1


def test_ctrl_c_while_kernels_are_compiled_ends_the_processes_that_do_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    begun: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        """One whose end is waited for until Ctrl-C."""

        def wait(self, timeout: float | None = None) -> int:
            if timeout is not None:
                begun.append(self)
                raise KeyboardInterrupt
            return super().wait()

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        warm.compile_parts(["pcap", "udp-zenoh"])
    assert begun and all(process.returncode == -signal.SIGKILL for process in begun)


def test_where_nothing_can_be_kept_it_is_compiled_for_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/dev/null/kernels")
    loaded: list[list[str]] = []
    monkeypatch.setattr(warm, "_load", lambda parts: loaded.append(list(parts)))
    warm.compile_parts(["pcap", "udp-zenoh"])
    assert loaded == [["pcap", "udp-zenoh"]]


def test_every_part_can_be_loaded() -> None:
    for container in (warm.PCAP, warm.PCAPNG):
        assert len(warm._capture(container)) > 100
    datagrams = warm._one_datagram()
    assert (datagrams.count, datagrams.compile_it) == (1, True)
