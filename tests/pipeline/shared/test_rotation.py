"""Which files are one capture that was written in turns, and in which order (decoders/README.md
3)."""

import gzip
from collections.abc import Sequence
from itertools import pairwise, permutations
from pathlib import Path
from struct import pack, unpack_from
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.rotation import arranged

HEADER = pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
DIRECT = Options(engine="direct")


def pcap(path: Path, *seconds: float) -> str:
    """A capture with one packet at each of these times."""
    records = [pack("<IIII", int(s), int(s % 1 * 1e6), 60, 60) + bytes(60) for s in seconds]
    path.write_bytes(HEADER + b"".join(records))
    return str(path)


def split(capture: Path, folder: Path, names: Sequence[str]) -> list[str]:
    """A capture's records, shared out to files in turns."""
    content = capture.read_bytes()
    ends = [24]
    while ends[-1] < len(content):
        ends.append(ends[-1] + 16 + int(unpack_from("<I", content, ends[-1] + 8)[0]))
    borders = [ends[(len(ends) - 1) * n // len(names)] for n in range(len(names) + 1)]
    paths = [folder / name for name in names]
    for path, (start, stop) in zip(paths, pairwise(borders), strict=True):
        path.write_bytes(content[:24] + content[start:stop])
    return list(map(str, paths))


NAMINGS = {
    "dumpcap ring": ["x_00001_20260101100000.pcap", "x_00002_20260101100010.pcap",
                     "x_00010_20260101100020.pcap"],
    "tcpdump -C": ["x.pcap", "x.pcap2", "x.pcap10"],
    "tcpdump -G": ["x-2026-01-01_10:00:00.pcap", "x-2026-01-01_10:00:10.pcap",
                   "x-2026-01-01_10:00:20.pcap"],
    "tcpdump -G %s": ["x.1767261600.pcap", "x.1767261610.pcap", "x.1767261620.pcap"],
}  # fmt: skip


@pytest.mark.parametrize("tool", NAMINGS)
def test_files_of_a_capture_tool_are_one_capture_in_the_order_of_their_packets(
    tmp_path: Path, tool: str
) -> None:
    files = [pcap(tmp_path / name, 10 * n, 10 * n + 9) for n, name in enumerate(NAMINGS[tool])]
    for given in permutations(files):
        (group,) = arranged(given)
        why = tool.removesuffix(" %s")
        assert (list(group.files), group.why, group.moved) == (files, why, list(given) != files)


def packed(path: str) -> str:
    """A compressed copy beside it."""
    copy = Path(f"{path}.gz")
    copy.write_bytes(gzip.compress(Path(path).read_bytes()))
    return str(copy)


@pytest.mark.parametrize("tool", NAMINGS)
def test_all_but_the_last_may_be_compressed(tmp_path: Path, tool: str) -> None:
    """``tcpdump -z gzip``, and whoever tidies up: the last one is still being written."""
    files = [pcap(tmp_path / name, 10 * n, 10 * n + 9) for n, name in enumerate(NAMINGS[tool])]
    mixed = [*map(packed, files[:-1]), files[-1]]
    for given in permutations(mixed):
        (group,) = arranged(given)
        assert (list(group.files), group.why) == (mixed, tool.removesuffix(" %s"))


def test_files_that_are_there_compressed_as_well_are_two_captures(tmp_path: Path) -> None:
    names = NAMINGS["tcpdump -G"]
    files = [pcap(tmp_path / name, 10 * n, 10 * n + 9) for n, name in enumerate(names)]
    copies = [*map(packed, files)]
    found = [list(group.files) for group in arranged([*files, *copies])]
    assert found == [files, copies]


def test_files_of_a_ring_that_has_come_round_begin_with_the_oldest(tmp_path: Path) -> None:
    files = [pcap(tmp_path / f"x.pcap{n}", 10 * at) for n, at in enumerate((3, 4, 1, 2))]
    (group,) = arranged(files)
    assert group.files == (files[2], files[3], files[0], files[1])


@pytest.mark.parametrize("tool", NAMINGS)
def test_captures_that_ran_side_by_side_are_not_one(tmp_path: Path, tool: str) -> None:
    files = [pcap(tmp_path / name, n, 100 + n) for n, name in enumerate(NAMINGS[tool])]
    assert [group.files for group in arranged(files)] == [(file,) for file in files]


def test_captures_of_several_nights_are_not_one(tmp_path: Path) -> None:
    day = 86_400
    names = ["x-20260101030000.pcap", "x-20260102030000.pcap"]
    files = [pcap(tmp_path / name, day * n, day * n + 60) for n, name in enumerate(names)]
    assert len(arranged(files)) == 2


def test_other_names_are_one_capture_only_if_that_is_said(tmp_path: Path) -> None:
    files = [pcap(tmp_path / name, n) for n, name in enumerate(("b1.pcap", "b2.pcap"))]
    assert len(arranged(files)) == 2
    (group,) = arranged(files[::-1], insist=True)
    assert (group.files, group.moved) == (tuple(files), True)


def test_files_of_one_capture_can_be_kept_apart(tmp_path: Path) -> None:
    files = [pcap(tmp_path / f"x.pcap{n}", n) for n in range(2)]
    assert len(arranged(files, forbid=True)) == 2


def test_files_of_two_places_are_two_captures(tmp_path: Path) -> None:
    a = [pcap(tmp_path / f"a.pcap{n or ''}", n) for n in range(2)]
    b = [pcap(tmp_path / f"b.pcap{n or ''}", n) for n in range(2)]
    assert [group.files for group in arranged([a[1], b[0], a[0], b[1]])] == [tuple(a), tuple(b)]


def test_a_rotated_capture_says_what_the_whole_one_says(fixtures: Path, tmp_path: Path) -> None:
    whole = fixtures / "jgroups" / "u4n4-dup-reorder-1" / "C.pcap"
    names = [f"C.pcap{n or ''}" for n in range(12)]
    files = split(whole, tmp_path, names)
    one = audit([CaptureInput(str(whole))], DIRECT)
    rotated = audit([CaptureInput(files[0], more=tuple(files[1:]))], DIRECT)
    assert [f["rule"] for f in one["findings"]] == [f["rule"] for f in rotated["findings"]]
    assert [f["seqnos"] for f in one["findings"]] == [f["seqnos"] for f in rotated["findings"]]
    for key in ("arrivals", "copies", "network_duplicates", "reordered", "recovered", "delivered"):
        assert [s.get(key) for s in one["streams"]] == [s.get(key) for s in rotated["streams"]]


def test_a_duplicate_is_one_in_a_file_that_is_many_small_files_on(
    fixtures: Path, tmp_path: Path
) -> None:
    content = (fixtures / "jgroups" / "u4n4-dup-reorder-1" / "C.pcap").read_bytes()
    ends = [24]
    for _ in range(100):
        ends.append(ends[-1] + 16 + int(unpack_from("<I", content, ends[-1] + 8)[0]))
    early = content[ends[29] + 16 : ends[30]]  # what frame 30 holds, again behind frame 80
    late = tmp_path / "late.pcap"
    header = content[ends[79] : ends[79] + 8] + pack("<II", len(early), len(early))
    late.write_bytes(content[: ends[80]] + header + early + content[ends[80] : ends[100]])
    files = split(late, tmp_path, [f"C.pcap{n or ''}" for n in range(33)])
    told = []
    for given in (CaptureInput(str(late)), CaptureInput(files[0], more=tuple(files[1:]))):
        streams = audit([given], DIRECT)["streams"]
        told.append([stream["network_duplicates"] for stream in streams])
    as_it_was = tmp_path / "whole.pcap"
    as_it_was.write_bytes(content[: ends[100]])
    before = audit([CaptureInput(str(as_it_was))], DIRECT)["streams"]
    assert told[0] == told[1]
    assert sum(told[0]) == sum(stream["network_duplicates"] for stream in before) + 1


def test_a_frame_of_a_rotated_capture_is_named_with_its_file(
    fixtures: Path, tmp_path: Path
) -> None:
    files = split(fixtures / "jgroups" / "n4-loss-1" / "C.pcap", tmp_path, ["C.pcap", "C.pcap1"])
    report: Any = audit([CaptureInput(files[0], more=(files[1],))], DIRECT)
    named = {e["file"] for f in report["findings"] for e in f["evidence"]}
    assert named == {"C.pcap", "C.pcap1"}
    for finding in report["findings"]:
        if finding["frame"] is not None:
            assert finding["file"] == Path(files[finding["frame_file"]]).name
            assert finding["filter_file"] == finding["file"]


def test_the_report_does_not_depend_on_the_order_in_which_files_are_given(
    fixtures: Path, tmp_path: Path
) -> None:
    files = split(
        fixtures / "jgroups" / "n4-loss-1" / "C.pcap", tmp_path, [f"C.pcap{n}" for n in range(3)]
    )
    reports = set()
    for given in permutations(files):
        (group,) = arranged(given)
        first, *more = group.files
        reports.add(to_json(audit([CaptureInput(first, more=tuple(more))], DIRECT)))
    assert len(reports) == 1
