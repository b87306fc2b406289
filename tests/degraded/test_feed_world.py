"""Spoiled feeds: what is proven of them is so, whatever a capture lacks."""

from collections import Counter
from pathlib import Path

from tests.degraded.feed_world import (
    Sent,
    carried,
    invented,
    narrow_lines,
    sessions,
    shipped_one,
    spoiled,
    two_lines,
)
from tests.degraded.ways import WAYS

_QUICK = (
    "whole", "head", "tail", "drop-5", "snap", "disorder", "step", "twice", "rotated", "bytes-1",
)  # fmt: skip


def test_nothing_false_is_proven_of_a_spoiled_feed(tmp_path: Path) -> None:
    ways = [way for way in WAYS if way.name in _QUICK]
    assert len(ways) == len(_QUICK)
    worlds: list[Sent] = [invented(seed, tmp_path) for seed in (2, 6)]
    worlds += [sessions(3, tmp_path), two_lines(1, tmp_path), narrow_lines(4, tmp_path)]
    worlds += [invented(43, tmp_path, "blocks"), invented(49, tmp_path, "flagged")]
    worlds += [carried(3, tmp_path, shape) for shape in ("ethernet", "length", "vxlan")]
    worlds += [shipped_one(name, tmp_path) for name in ("eurex-eobi", "mpeg-ts", "nyse-pillar")]
    proven: Counter[str] = Counter()
    for sent in worlds:
        judged = spoiled(sent, ways, 1, tmp_path)
        assert judged.wrong == []
        proven += judged.proven
    assert proven["FD009"] > 10
