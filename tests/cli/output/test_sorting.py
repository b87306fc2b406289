"""``--sort``: most of a figure first, what cannot be told last, and numbers that stay."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.cli.output.sorting import in_order, orders

LOSS = Path(__file__).parents[3] / "fixtures" / "jgroups" / "n2-loss-1" / "A.pcap"


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["show", *words, str(LOSS), "--engine", "direct"])


def test_most_comes_first_null_last_and_what_is_alike_stays() -> None:
    rows = [{"id": n, "lost": lost} for n, lost in enumerate([1, None, 3, 1, 0])]
    assert [row["id"] for row in in_order("streams", rows, "lost")] == [2, 0, 3, 4, 1]
    assert in_order("streams", rows, "report") == rows


def test_a_listing_with_its_own_order_takes_no_other() -> None:
    assert not orders("findings")
    assert run("findings", "--sort", "lost").exit_code == 2


def test_the_slowest_gaps_come_first_and_keep_their_numbers() -> None:
    def slowest(gap: Any) -> int:
        after: int = max(s["after_ns"] for s in gap["story"]["steps"])
        return after

    report = json.loads(run("gaps", "--format", "json").stdout)["gaps"]
    ordered = json.loads(run("gaps", "--format", "json", "--sort", "slowest").stdout)["gaps"]
    times = [slowest(gap) for gap in ordered]
    assert times == sorted(times, reverse=True) and len(set(times)) > 1
    shown = [
        line for line in run("gaps", "--sort", "slowest").stdout.splitlines() if "reco" in line
    ]
    first = int(shown[0].split()[0])
    assert report[first - 1] == ordered[0]


def test_an_order_that_is_none_is_said_in_one_line() -> None:
    result = run("gaps", "--sort", "colour")
    assert result.exit_code == 2 and "slowest" in result.stderr
