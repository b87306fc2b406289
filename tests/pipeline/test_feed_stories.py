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
from tests.rules.feeds import SERVER, Datagram, ask, beat, capture, data, repair

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


# -- requests (evidence: FD014 to FD016) -------------------------------------------------------

ASKED: list[Datagram | int] = [data(1), data(4), ask(2, 2), repair(2), 1500, data(5)]
HAD: list[Datagram | int] = [data(1), data(2), ask(2), repair(2), data(3)]


def of_requests(folder: Path, story: list[Datagram | int]) -> list[tuple[str, str, Any]]:
    """Rule, certainty and numbers of what is said of requests and repairs."""
    path = folder / "story.pcap"
    path.write_bytes(capture(story))
    feeds = feeds_of([f"moldudp64,server={SERVER}:6000"], [])
    report = audit([CaptureInput(str(path))], Options(engine="direct", feeds=feeds))
    rules = ("FD014", "FD015", "FD016")
    found = (f for f in report["findings"] if f["rule"] in rules)
    return sorted((f["rule"], f["certainty"], f["seqnos"]) for f in found)


def without(story: list[Datagram | int], place: int) -> list[Datagram | int]:
    return [*story[:place], *story[place + 1 :]]


def test_a_request_whose_repair_is_not_here_seems_unanswered(tmp_path: Path) -> None:
    """Proven is that it was asked for; that nothing answered it is likely, wherever that went."""
    assert of_requests(tmp_path, ASKED) == [("FD014", "likely", [[3, 3]])]
    assert of_requests(tmp_path, without(ASKED, 3)) == [("FD014", "likely", [[2, 3]])]
    assert of_requests(tmp_path, without(ASKED, 2)) == []  # the request is not here


def test_what_was_sent_before_the_capture_did_not_arrive_here(tmp_path: Path) -> None:
    """It begins at 4: nobody knows whether this place had 2 and 3."""
    assert of_requests(tmp_path, ASKED[1:]) == [("FD014", "likely", [[3, 3]])]
    assert of_requests(tmp_path, without(HAD, 0)) == [("FD015", "likely", [[2, 2]])]
    assert of_requests(tmp_path, without(HAD, 1)) == []


def test_a_repair_whose_request_is_not_here_seems_needless(tmp_path: Path) -> None:
    assert of_requests(tmp_path, HAD) == [("FD015", "likely", [[2, 2]])]
    assert of_requests(tmp_path, without(HAD, 2)) == [("FD016", "likely", [[2, 2]])]
    assert of_requests(tmp_path, without(without(HAD, 2), 1)) == []  # it was missing
