"""Random lives of zenoh nodes against what their subscribers were told, whole and spoiled.

Made by ``fixtures/record_zenoh_lives.py`` (``fixtures/README.md``); others are checked the same way
with ``python -m tests.agreement.test_zenoh_lives FOLDER``.
"""

import json
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import zstandard

from seqaudit.replay.zenoh.report_rows import ONE
from tests.degraded.auditing import command
from tests.degraded.captures import Record, read

FIXTURES: Final = Path(__file__).parents[2] / "fixtures" / "zenoh-lives"
LIVES: Final = sorted(path.parent.name for path in FIXTURES.glob("*/truth.json"))
AT: Final = ("--at", "10.77.0.2")
HERE: Final = bytes([10, 77, 0, 2])
#: Rows of the fixtures, how many of them frames do not tell, and of how many they tell all.
ROWS: Final = 89
UNTOLD: Final = 48
SURE: Final = 15

#: Behind what is wrong of a row that says whom it is of, who was not alone.
OTHERS: Final = " (there are others)"

Row = Mapping[str, Any]


def numbers(ranges: list[list[int]]) -> list[int]:
    return [sn for first, last in ranges for sn in range(first, last + 1)]


@dataclass(frozen=True)
class Life:
    """What subscribers were told, and the capture at their interface."""

    truth: Row
    capture: bytes

    @classmethod
    def of(cls, folder: Path) -> "Life":
        truth = json.loads((folder / "truth.json").read_text())
        (name,) = (name for name in truth["captures"] if name.startswith("sub."))
        data = (folder / name).read_bytes()
        if name.endswith(".zst"):
            data = zstandard.ZstdDecompressor().stream_reader(data).read()
        return cls(truth, data)

    def of_several(self, row: Row) -> bool:
        """Whether a row says that it is of one subscriber, and its node had others at its key."""
        return row["stands_for"] == ONE and len(self.told(row)) > 1

    def told(self, row: Row) -> list[tuple[list[int], int]]:
        """What each subscriber that a row may be of was handed, and how many it was told of as
        missed."""
        names = {f"{p['zid']}/{p['eid']}": p["name"] for p in self.truth["publishers"]}
        name = names.get(row["source"])
        return [
            (numbers(one["of"][name]["delivered"]), sum(one["of"][name]["misses"]))
            for one in self.truth["subscribers"]
            if name is not None
            and row["subscriber"] in (None, one["key"])
            and row["receiver"] in (None, one["zid"])
        ]


def streams(report: Row) -> list[Row]:
    samples = [row for row in report["streams"] if row.get("kind") == "samples"]
    return [row for row in samples if row["role"] == "receiver"]


def wrong_figures(life: Life, report: Row) -> Iterator[str]:
    """Rows of a whole capture that say what no subscriber was handed, or nobody.

    Of several subscribers at one key a row may be of any: a node declares the key once. What a row
    of one says is right if there is no other.
    """
    rows = streams(report)
    for row in rows:
        told = life.told(row)
        if row["delivered"] is None or not (told or row["delivered"]):
            continue
        mine = numbers(row["delivered"])
        lanes = [numbers(lane["delivered"]) for lane in row["subscribers"] or ()]
        mates = [
            other for other in rows
            if other is not row and other["source"] == row["source"]
            and other["subscriber"] == row["subscriber"]
        ]  # fmt: skip
        if mates:  # one life after the other, or one in two sessions
            fits = [one for one in told if set(mine) <= set(one[0])]
        else:
            unsure = set(numbers(row["delivered_unsure"]))
            fits = [
                one for one in told
                if one[0] in (mine, *lanes)
                or (unsure and set(mine) - unsure <= set(one[0]) <= set(mine))
            ]  # fmt: skip
        together = sorted({sn for handed, _ in told for sn in handed})
        if not fits and together != mine:
            yield f"{row['id']}: delivered {row['delivered']}{OTHERS * life.of_several(row)}"
        missed = sum(miss["nb"] for miss in row["misses"] or ())
        counts = {count for _, count in fits}
        if fits and "later_seqnos" in row["unknown"]:  # it may have been undeclared before
            counts |= {missed} if missed >= min(counts) else set()
        if fits and not mates and not lanes and missed not in counts:
            yield f"{row['id']}: {missed} missed{OTHERS * life.of_several(row)}"


def refuted(life: Life, report: Row) -> Iterator[str]:
    """What is said for sure and was not so, whatever the capture lacks."""
    rows = {row["id"]: row for row in streams(report)}
    for row in rows.values():
        told = life.told(row)
        anybody = {sn for handed, _ in told for sn in handed}
        unsure = numbers(row["delivered_unsure"] or [])
        sure = set(numbers(row["delivered"] or [])).difference(unsure)
        if never := sorted(sure - anybody):
            yield f"{row['id']}: {never[:5]} delivered{OTHERS * life.of_several(row)}"
    for finding in report["findings"]:
        about = rows.get(finding["stream"] or "")
        if finding["certainty"] != "proven" or about is None:
            continue
        handed = [set(one) for one, _ in life.told(about)]
        said = set(numbers(finding["seqnos"]))
        if not handed:
            continue
        lost = finding["rule"] in ("ZN002", "ZN022") and said.intersection(*handed)
        had = finding["rule"] in ("CP007", "ZN001") and said.difference(*handed)
        if lost or had:
            yield f"{finding['rule']}: {finding['text']}"


def _left(record: Record) -> bool:
    """Whether the host at whose interface the capture was taken sent it (Ethernet, IPv4)."""
    return record.data[26:30] == HERE


def spoiled(life: Life, folder: Path, rng: random.Random) -> Iterator[tuple[str, Path]]:
    """The capture without one frame, some, a stretch, its beginning or end, every thirtieth, or one
    of its own host's."""
    path = folder / "sub.pcap"
    path.write_bytes(life.capture)
    capture = read(path)
    if not (count := len(capture.records)):
        return
    begin = rng.randrange(count)
    ways = {
        "one": {rng.randrange(count)},
        "few": set(rng.sample(range(count), min(6, count))),
        "stretch": set(range(begin, begin + rng.choice([3, 10, 30]))),
        "head": set(range(rng.randrange(count))),
        "tail": set(range(rng.randrange(count), count)),
        "own": {rng.choice([place for place, at in enumerate(capture.records) if _left(at)])},
        "thin": {place for place in range(count) if rng.random() < 0.03},
    }
    yield "whole", path
    for name, gone in ways.items():
        kept = [record for place, record in enumerate(capture.records) if place not in gone]
        path.write_bytes(capture.of(kept).written())
        yield f"{name} {sorted(place + 1 for place in gone)[:8]}", path


def test_lives_are_many_and_mostly_told(tmp_path: Path) -> None:
    rows = untold = sure = 0
    for name in LIVES:
        path = tmp_path / "sub.pcap"
        path.write_bytes(Life.of(FIXTURES / name).capture)
        found = streams(command([*AT, str(path)]).report)
        rows += len(found)
        untold += sum(row["delivered"] is None for row in found)
        sure += sum(row["delivered_unsure"] == [] for row in found)
    assert (rows, untold, sure) == (ROWS, UNTOLD, SURE)


@pytest.mark.parametrize("name", LIVES)
def test_a_life_is_told_as_it_was(name: str, tmp_path: Path) -> None:
    life = Life.of(FIXTURES / name)
    (tmp_path / "sub.pcap").write_bytes(life.capture)
    report = command([*AT, str(tmp_path / "sub.pcap")]).report
    assert list(wrong_figures(life, report)) == []


@pytest.mark.parametrize("name", LIVES)
def test_of_a_spoiled_life_nothing_is_said_that_was_not_so(name: str, tmp_path: Path) -> None:
    life = Life.of(FIXTURES / name)
    for way, path in spoiled(life, tmp_path, random.Random(name)):
        assert list(refuted(life, command([*AT, str(path)]).report)) == [], way


def test_the_last_sample_of_a_capture_is_not_surely_delivered(tmp_path: Path) -> None:
    """Its socket was closed before the last one came, as the ICMP message behind it says."""
    life = Life.of(FIXTURES / "life-2091")
    path = tmp_path / "sub.pcap"
    path.write_bytes(life.capture)
    capture = read(path)
    path.write_bytes(capture.of(capture.records[:34]).written())
    (row,) = streams(command([*AT, str(path)]).report)
    assert (row["delivered"], life.told(row)) == ([[0, 71]], [(numbers([[0, 70]]), 0)])
    assert row["delivered_unsure"] == [[0, 71]]


def main(folder: Path, seed: str) -> int:
    """Every life below a folder; returns how much is wrong."""
    count = others = 0
    for path in sorted(folder.glob("*/truth.json")):
        life = Life.of(path.parent)
        with tempfile.TemporaryDirectory() as name:
            for way, capture in spoiled(life, Path(name), random.Random(f"{path}{seed}")):
                report = command([*AT, str(capture)]).report
                wrong = list(refuted(life, report))
                wrong += wrong_figures(life, report) if way == "whole" else ()
                others += (apart := sum(text.endswith(OTHERS) for text in wrong))
                count += len(wrong) - apart
                for text in wrong:
                    print(path.parent.name, way, text[:200], flush=True)
    print(f"{count} wrong, {others} of rows of one of several subscribers")
    return count


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]), "".join(sys.argv[2:]))))
