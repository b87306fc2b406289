"""Rows of what only might be a system's wait for one that shows that it is."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.contract.engine import Opened, Opening
from seqaudit.replay.stages import replay as stage
from seqaudit.replay.stages.systems import SYSTEMS
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp
from tests.decoders.zenoh import builders as zenoh

#: Read as zenoh, but so may bytes of others.
WEAK = [zenoh.frame(sn, zenoh.push(zenoh.put(None), 0, "a")) for sn in range(3)]
SURE = [zenoh.frame(sn, zenoh.push(zenoh.put(sn), 0, "a")) for sn in (3, 5)]


def reported(path: Path, payloads: Sequence[bytes]) -> str:
    frames = [ethernet(ipv4(udp(one, 9_000, 9_001), "10.0.0.1", "10.0.0.2")) for one in payloads]
    path.write_bytes(pcap(frames))
    return to_json(audit([CaptureInput(str(path), at="10.0.0.2")], Options(engine="direct")))


@pytest.mark.parametrize("most", [1, 10_000])
def test_rows_that_waited_are_replayed_as_if_they_had_not(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "_WAITING", most)
    path = tmp_path / "a.pcap"
    waited = reported(path, [*WEAK, *SURE])
    assert '"open": 1' in waited
    monkeypatch.setitem(SYSTEMS, "zenoh", replace(SYSTEMS["zenoh"], shows=None))
    assert reported(path, [*WEAK, *SURE]) == waited


def test_nothing_is_opened_for_what_nothing_shows_to_be_the_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = SYSTEMS["zenoh"]

    def opened(_: Opening) -> Opened:
        raise AssertionError("an engine is opened")

    monkeypatch.setitem(SYSTEMS, "zenoh", replace(before, open=opened))
    without = reported(tmp_path / "a.pcap", WEAK)
    monkeypatch.setitem(SYSTEMS, "zenoh", replace(before, shows=None))
    assert reported(tmp_path / "a.pcap", WEAK) == without
