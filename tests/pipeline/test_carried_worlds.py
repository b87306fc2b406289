"""Feeds of every carrier and with several units in a datagram: each figure is what was sent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.pipeline import test_feed_kinds as kinds
from tests.pipeline.carried_worlds import (
    CARRIED,
    FIGURES,
    Rates,
    differences,
    draw_carried,
    draw_connections,
)
from tests.pipeline.feed_worlds import NONE, START_NS, pcap_bytes


def reported(feed: str, frames: list[tuple[int, bytes]], folder: Path, **options: Any) -> Any:
    layout, capture = folder / "carried.yaml", folder / "carried.pcap"
    layout.write_text(feed, encoding="utf-8")
    capture.write_bytes(pcap_bytes(frames))
    if options.pop("cut", False):
        size = capture.stat().st_size
        options["cuts"] = {str(capture): [size // 7, size // 3, size * 2 // 3]}
    settings = Options(engine="direct", feeds=feeds_of([str(layout)], []), **options)
    return audit([CaptureInput(str(capture))], settings)


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("shape", CARRIED)
@pytest.mark.parametrize("seed", [1, 3])
def test_a_report_says_what_happened_whatever_carries_a_feed(
    seed: int, shape: str, tmp_path: Path
) -> None:
    world = draw_carried(seed, shape)
    report = reported(world.feed, world.frames, tmp_path, compile_it=False)
    assert list(differences(world, world.frames, report)) == []
    again = reported(world.feed, world.frames, tmp_path, compile_it=True, cut=True)
    assert to_json(again) == to_json(report)


@pytest.mark.parametrize("shape", CARRIED)
def test_of_a_faultless_world_of_any_carrier_nothing_is_said(shape: str, tmp_path: Path) -> None:
    world = draw_carried(2, shape, rates=Rates())
    report = reported(world.feed, world.frames, tmp_path)
    assert list(differences(world, world.frames, report)) == []
    assert report["findings"] == []


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("seed", range(4))
def test_what_a_sender_on_tcp_left_out_is_counted(seed: int, tmp_path: Path) -> None:
    world = draw_connections(seed)
    report = reported(world.feed, world.frames, tmp_path)
    told = {
        (int(stream["destination"].rpartition(":")[2]), int(stream["id"].split("|")[1][4:])): (
            stream["messages"],
            stream["unrecovered"] + stream["open_at_end"],
        )
        for stream in report["streams"]
    }
    assert told == world.truth


@pytest.mark.parametrize("feed", ["moldudp64", "moldudp64@:26400+:6000+:40000"])
def test_repairs_of_a_server_that_nobody_has_named(feed: str, tmp_path: Path) -> None:
    world = kinds.mold_world(7, replace(NONE, loss=0.1, repairs=0.5))
    report = kinds.report_of(world, tmp_path / "m.pcap", feed)
    told = {
        stream["id"]: (
            stream["messages"], stream["recovered"] + stream["recovered_or_late"],
            stream["unrecovered"] + stream["open_at_end"], stream["requests"]["passed"],
        )
        for stream in report["streams"]
    }  # fmt: skip
    books = {name: book.figures for name, book in world.books.items()}
    assert told == {
        name: (own["messages"], own["recovered"], own["unrecovered"], own["requests"])
        for name, own in books.items()
    }
    assert sum(own["recovered"] for own in books.values()) > 10


def test_worlds_hold_every_kind_of_fault() -> None:
    """Else the comparisons above could be of nothing."""
    sums = dict.fromkeys(FIGURES, 0)
    for shape in CARRIED:
        world = draw_carried(1, shape)
        for book in world.books(world.frames).values():
            for name in FIGURES:
                sums[name] += book.figures[name]
    assert min(sums.values()) > 0, sums
    assert world.frames[0][0] > START_NS
