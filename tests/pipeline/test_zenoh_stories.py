"""What is said of one recording when something was taken away from it.

A subscriber over UDP that asks for what it misses: 5, 11, 12 and 30 to 32 were lost, and came back.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.rotation import arranged
from tests.degraded.captures import Record, read

RECORDED = Path(__file__).parents[2] / "fixtures" / "zenoh" / "udp-loss-recovered-1"
HERE = read(RECORDED / "sub.pcap")
SECOND = 1_000_000_000


def audited(folder: Path, *files: Sequence[Record]) -> dict[str, Any]:
    """The report about one capture in files of these records, taken at the subscriber."""
    paths = [folder / f"{number}.pcap" for number in range(len(files))]
    for path, records in zip(paths, files, strict=True):
        path.write_bytes(HERE.of(list(records)).written())
    (group,) = arranged([str(path) for path in paths], insist=True)
    first, *more = group.files
    given = CaptureInput(first, at="10.77.0.2", more=tuple(more))
    return dict(audit([given], Options(engine="direct")))


def without(*frames: int) -> list[Record]:
    return [one for number, one in enumerate(HERE.records, 1) if number not in frames]


def said(report: dict[str, Any], rule: str) -> list[tuple[str, str, Any]]:
    return sorted(
        (f["severity"], f["certainty"], f["seqnos"])
        for f in report["findings"]
        if f["rule"] == rule
    )


def figures(report: dict[str, Any]) -> Any:
    (row,) = (s for s in report["streams"] if s.get("kind") == "samples")
    return row


def errors(report: dict[str, Any]) -> set[str]:
    return {f["rule"] for f in report["findings"] if f["severity"] == "error"}


def test_nothing_was_taken_away(tmp_path: Path) -> None:
    report = audited(tmp_path, HERE.records)
    assert (figures(report)["lost"], figures(report)["lost_proven"]) == (6, 3)
    assert said(report, "ZN001") == [
        ("warning", "likely", [[12, 12], [31, 32]]),
        ("warning", "proven", [[5, 5], [11, 11], [30, 30]]),
    ]


def test_a_reply_is_not_here(tmp_path: Path) -> None:
    """Frame 21: lost on the way back, as others were, or not captured; no frame says which."""
    report = audited(tmp_path, without(21))
    assert said(report, "ZN002") == [("error", "likely", [[11, 11]])]
    (found,) = (f for f in report["findings"] if f["rule"] == "ZN002")
    assert "(reply lost, or evicted)" in found["text"]
    assert "lost, or not captured" in found["text"]
    assert figures(report)["lost_proven"] == 2


def test_three_samples_that_came_are_not_here(tmp_path: Path) -> None:
    report = audited(tmp_path, without(26, 27, 28))
    assert said(report, "CP007") == [("warning", "proven", [[16, 18]])]
    (missing,) = (f for f in report["findings"] if f["rule"] == "ZN005")
    assert (missing["certainty"], missing["text"][:8]) == ("likely", "6 frames")
    assert figures(report)["lost"] is None


def test_it_begins_with_a_request(tmp_path: Path) -> None:
    """For 11, which it lacked; 12 was lost too, and 13 had come live before the capture."""
    report = audited(tmp_path, HERE.records[19:])
    assert said(report, "ZN001") == [
        ("warning", "likely", [[11, 11], [31, 32]]),
        ("warning", "proven", [[30, 30]]),
    ]
    (found,) = (f for f in report["findings"] if f["seqnos"][:1] == [[11, 11]])
    assert "2 others came by the same answer" in found["text"]
    row = figures(report)
    assert row["lost"] is None and row["unknown"]["lost"].startswith("1 or more, 6 at most: ")
    assert (row["unrecovered"], row["delivered"][0][0]) == (0, 11)
    assert said(report, "CP015") == [("info", "proven", [])]


def test_two_records_changed_places(tmp_path: Path) -> None:
    records = list(HERE.records)
    records[25], records[26] = records[26], records[25]
    report = audited(tmp_path, records)
    assert said(report, "CP013") == [("info", "proven", [])]
    assert (said(report, "ZN006"), figures(report)["lost"]) == ([], 6)


def test_the_clock_was_set_back(tmp_path: Path) -> None:
    records = [
        one.moved(-30 * SECOND if number > 30 else 0)
        for number, one in enumerate(HERE.records, 1)
    ]  # fmt: skip
    report = audited(tmp_path, records)
    assert said(report, "CP014") == [("warning", "proven", [])]
    assert (said(report, "ZN004"), errors(report)) == ([], set())
    assert {certainty for _, certainty, _ in said(report, "ZN001")} == {"likely"}


def test_rotated_files_are_given_in_the_wrong_order(tmp_path: Path) -> None:
    parts = HERE.records[25:], HERE.records[:25]
    report = audited(tmp_path, *parts)
    whole = audited(tmp_path, HERE.records)
    for rule in ("ZN001", "ZN002", "ZN005", "ZN008"):
        assert said(report, rule) == said(whole, rule)
    assert figures(report)["lost"] == 6


def test_both_ends_are_merged(tmp_path: Path) -> None:
    """What was lost between them stands in the file: how much that was cannot be told."""
    there = read(RECORDED / "pub.pcap").records
    merged = sorted((*HERE.records, *there), key=lambda record: record.at_ns)
    report = audited(tmp_path, merged)
    (twice,) = (f for f in report["findings"] if f["rule"] == "CP017")
    assert twice["text"].endswith("6 datagrams stand here once.")
    row = figures(report)
    assert [row[name] for name in ("lost", "recovered", "delivered")] == [None] * 3
    assert "6 once" in row["unknown"]["lost"]
