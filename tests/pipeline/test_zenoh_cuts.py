"""Cutting a zenoh capture anywhere changes nothing in the report (CONTRIBUTING.md 4)."""

import struct
from pathlib import Path

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput

FIXTURES = Path(__file__).parents[2] / "fixtures" / "zenoh"


def records(path: Path) -> list[int]:
    """Where every record of a little-endian pcap begins, but the first."""
    data, at, found = path.read_bytes(), 24, []
    while at < len(data):
        found.append(at)
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    return found[1:]


DOCUMENT = {
    "zenoh.rules": "document",
    "zenoh.periodic_query_ms": "300",
    "zenoh.cache_history": "3",
    "zenoh.history_query": "yes",
}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("udp-reorder-dup-1", {}), ("reply-lost-final-1", {}), ("multicast-1", {}),
        ("tcp-clean-3", {}), ("rich-samples-1", {}), ("truncated-snaplen-1", {}),
        ("query-lost-1", {}), ("sn-16bit-wrap-1", DOCUMENT), ("udp-cache-too-small-1", DOCUMENT),
        ("udp-last-lost-periodic-hb-1", DOCUMENT),
    ],
)  # fmt: skip
def test_a_report_does_not_depend_on_cuts(name: str, parameters: dict[str, str]) -> None:
    path = FIXTURES / name / "sub.pcap"
    given = [CaptureInput(str(path), at="10.77.0.2", parameters=parameters)]
    whole = to_json(audit(given, Options(engine="direct")))
    places = records(path)
    for cuts in (places, places[::9], places[len(places) // 2 :][:1]):
        options = Options(engine="direct", cuts={str(path): cuts}, compile_it=False)
        assert to_json(audit(given, options)) == whole
