"""An audit of invented feeds finds what happened: every figure, gap and finding, however cut."""

import random
from pathlib import Path
from typing import Any

import pytest

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress
from tests.pipeline.feed_worlds import NONE, SHAPES, World, differences, draw_world

#: Between them they hold every kind of fault.
SEEDS = (0, 2, 3, 6, 8, 10, 12, 13, 15, 17, 19, 22)


def reported(world: World, folder: Path, seed: int, **options: Any) -> tuple[Any, Path]:
    capture, feed = world.write(folder, random.Random(seed))
    settings = Options(**{"engine": "direct"} | options, feeds=feeds_of([str(feed)], []))
    return audit([CaptureInput(str(capture))], settings), capture


def is_told_as_it_was(world: World, seed: int, folder: Path) -> None:
    """Whole and in pieces, by compiled kernels and interpreted ones."""
    report, capture = reported(world, folder, seed, compile_it=bool(seed & 1))
    assert differences(world, report) == []
    size = capture.stat().st_size
    cuts = {str(capture): sorted(random.Random(seed).sample(range(100, size), 5))}
    again, _ = reported(world, folder, seed, cuts=cuts)
    assert to_json(again) == to_json(report)


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_report_says_what_happened(seed: int, tmp_path: Path) -> None:
    is_told_as_it_was(draw_world(seed), seed, tmp_path)


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(40, 46))
def test_a_report_says_what_happened_in_any_shape(seed: int, shape: str, tmp_path: Path) -> None:
    is_told_as_it_was(draw_world(seed, size=200, shape=shape), seed, tmp_path)


@pytest.mark.parametrize("seed", range(8))
def test_of_a_faultless_world_nothing_is_said(seed: int, tmp_path: Path) -> None:
    world = draw_world(seed, rates=NONE)
    report, _ = reported(world, tmp_path, seed)
    assert differences(world, report) == []
    assert report["findings"] == []


def test_spark_says_the_same(spark_place: SparkAddress, tmp_path: Path) -> None:
    world = draw_world(3)
    report, capture = reported(world, tmp_path, 3)
    cuts = {str(capture): [5_000, 9_001]}
    again, _ = reported(world, tmp_path, 3, engine="spark", place=spark_place, cuts=cuts, lanes=3)
    assert to_json(again) == to_json(report)


def test_worlds_hold_every_kind_of_fault() -> None:
    """Else the comparison above could be of nothing."""
    sums: dict[str, int] = {}
    for seed in SEEDS:
        for book in draw_world(seed).books.values():
            for name, figure in (book.figures | {"tails": book.tails}).items():
                sums[name] = sums.get(name, 0) + figure
    assert min(sums.values()) > 0, sums


def test_a_wrong_figure_is_a_difference(tmp_path: Path) -> None:
    world = draw_world(2)
    report, _ = reported(world, tmp_path, 2)
    book = next(book for book in world.books.values() if book.gaps)
    book.figures["messages"] += 1
    book.gaps[0].before += 1
    book.tails += 1
    assert len(differences(world, report)) == 2 + len(set(book.gaps[0].outcome.values()))
