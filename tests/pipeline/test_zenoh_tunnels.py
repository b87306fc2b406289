"""zenoh in a tunnel whose way is too narrow: its packets come in fragments."""

from dataclasses import replace
from pathlib import Path

from seqaudit.replay.zenoh.reasons import CLOSING
from tests.agreement.test_zenoh_lives import AT, FIXTURES, Life, streams
from tests.degraded import hosts
from tests.degraded.auditing import command
from tests.degraded.captures import read
from tests.degraded.fragments import in_fragments


def test_what_a_host_says_of_a_closed_socket_counts_in_fragments_as_well(tmp_path: Path) -> None:
    """The last sample came to nobody, as the ICMP message behind it says, in two fragments here."""
    life = Life.of(FIXTURES / "life-2091")
    path = tmp_path / "sub.pcap"
    path.write_bytes(life.capture)
    (whole,) = streams(command([*AT, str(path)]).report)
    capture = read(path)
    carried = [
        replace(record, data=header + record.data, size=len(header) + record.size)
        for record in capture.records
        for header in (hosts.TUNNELS["vxlan"](record.size),)
    ]
    parts = [
        part
        for number, record in enumerate(carried, 1)
        for part in in_fragments(capture, record, 150, number)
    ]
    path.write_bytes(capture.of(parts).written())
    (row,) = streams(command([*AT, str(path)]).report)
    assert row["unknown"]["delivered"] == whole["unknown"]["delivered"] == CLOSING
