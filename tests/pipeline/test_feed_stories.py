"""What is said of numbers of a feed that are not in a capture which lacks packets itself.

A session of MoldUDP64 in which 3 never came, captured by a machine that counts what it dropped.
"""

from pathlib import Path
from typing import Any

import pytest

from fixtures.make_captures import enhanced, interface, section, statistics, ticks_of
from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.degraded.captures import read
from tests.rules.feeds import Datagram, beat, capture, data

#: Numbers that are missing, one by one or several.
ONE: list[Datagram | int] = [data(1), data(2), data(4), 2000, data(5), beat(6)]
TWO: list[Datagram | int] = [*ONE, data(7), 2000, data(8)]


def audited(folder: Path, story: list[Datagram | int], dropped: int | None) -> Any:
    """The report about a story; ``dropped``: packets that its capture counted; null: no counter."""
    path = folder / "story.pcap"
    path.write_bytes(capture(story))
    if dropped is not None:
        records = read(path).records
        blocks = (enhanced(record.data, ticks_of(record.at_ns)) for record in records)
        path.write_bytes(
            section() + interface() + b"".join(blocks) + statistics(0, {5: dropped})
        )  # fmt: skip
    return audit(
        [CaptureInput(str(path))], Options(engine="direct", feeds=feeds_of(["moldudp64"], []))
    )


def lost(report: Any) -> tuple[str, str]:
    (found,) = (f for f in report["findings"] if f["rule"] == "FD002")
    return found["severity"], found["certainty"]


@pytest.mark.parametrize("story", [ONE, TWO])
def test_what_the_capturing_machine_dropped_may_be_all_that_is_missing(
    story: list[Datagram | int], tmp_path: Path
) -> None:
    assert lost(audited(tmp_path, story, None)) == ("error", "likely")
    assert lost(audited(tmp_path, story, 0)) == ("error", "likely")
    report = audited(tmp_path, story, 3)
    assert lost(report) == ("info", "cannot be told")
    assert "CP003" in {found["rule"] for found in report["findings"]}


def test_one_packet_that_was_dropped_explains_one_gap(tmp_path: Path) -> None:
    assert lost(audited(tmp_path, ONE, 1)) == ("info", "cannot be told")
    assert lost(audited(tmp_path, TWO, 1)) == ("error", "likely")
    assert lost(audited(tmp_path, TWO, 2)) == ("info", "cannot be told")
