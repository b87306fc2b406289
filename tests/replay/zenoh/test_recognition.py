"""Sessions of which nothing but their port says that they are zenoh's (``zenoh.recognition``)."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp, write
from tests.decoders.zenoh import builders as z

DIRECT: Final = Options(engine="direct")


def report_of(
    folder: Path,
    payloads: Sequence[bytes],
    port: int = 7447,
    snap: int | None = None,
    options: Options = DIRECT,
) -> Any:
    """Of datagrams to a port, from another one; ``snap``: bytes of a frame that are captured."""
    frames = [
        ethernet(ipv4(udp(payload, 40_000, port), ident=number))
        for number, payload in enumerate(payloads, 1)
    ]
    path = write(
        folder / "capture.pcap", pcap([one[:snap] for one in frames], originals=[*map(len, frames)])
    )
    return json.loads(to_json(audit([CaptureInput(path)], options)))


def frames(*sns: int) -> list[bytes]:
    """Samples without a source, in frames with these sns."""
    return [z.frame(sn, z.push(z.put(None))) for sn in sns]


@pytest.mark.parametrize(
    ("sns", "shown"),
    [((5, 6), True), ((5, 7, 8, 9), True), ((5,), False), ((5, 90, 7, 3000), False)],
)
def test_on_zenohs_port_frames_that_follow_each_other_are_its(
    tmp_path: Path, sns: Sequence[int], shown: bool
) -> None:
    """A capture that begins in mid-session has nothing else; a loss does not deceive."""
    report = report_of(tmp_path, frames(*sns))
    assert bool(report["streams"]) == shown
    if shown:
        own = report["captures"][0]
        assert own["frames_by"]["decoded"] == len(sns)
        hops = [one for one in report["streams"] if one["system"] == "zenoh-hop"]
        assert [hop["arrivals"] for hop in hops] == [len(sns)]


def test_on_another_port_they_may_be_anybodys(tmp_path: Path) -> None:
    report = report_of(tmp_path, frames(*range(5, 60)), port=7000)
    assert not report["streams"]


CUT: Final = Options(engine="direct", target_bytes=200_000)


@pytest.mark.parametrize(("snap", "options"), [(None, DIRECT), (60, DIRECT), (None, CUT)])
@pytest.mark.parametrize("seed", range(2))
def test_bytes_of_others_on_zenohs_port_are_no_session(
    tmp_path: Path, seed: int, snap: int | None, options: Options
) -> None:
    """As of QUIC: some hundreds of them read as a frame or a fragment, with any sn. Nothing is said
    of them but that they are others', however the capture was cut."""
    chance = random.Random(seed)
    payloads = [
        bytes([0x40 | chance.getrandbits(5)]) + chance.randbytes(chance.choice((28, 48, 1200)))
        for _ in range(4_000)
    ]
    report = report_of(tmp_path, payloads, snap=snap, options=options)
    assert not (report["streams"] or report["findings"])
    own = report["captures"][0]
    assert own["frames_by"]["other"] == own["frames"] == len(payloads)
    assert (own["messages_by"], own["sureness"]) == ({}, {})
    assert {system for _, _, _, system, _, _ in own["endpoints"]} == {""}
