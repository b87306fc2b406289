"""Two lines whose numbers are narrow: they begin anew many times while one line is compared with
the other, and nothing but the time says which turn a number is of."""

import random
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.network.builders import UDP, ethernet, ipv4, summed, udp
from tests.degraded.auditing import command
from tests.pipeline.feed_worlds import START_NS, US, of_lines, pcap_bytes
from tests.rules import feeds

GROUPS: Final = ("239.5.0.1", "239.5.1.1")
FEED: Final = """
feed: narrow
match: [{{destination: 239.5.0.0/16, port: 26400}}]
fields:
  seqno: {{offset: 2, width: {width}}}
stream: [destination, port]
seqno: seqno
lines: [{{A: "239.5.0.1:26400", B: "239.5.1.1:26400"}}]
"""
Frames = list[tuple[int, bytes]]


def narrow_world(seed: int, width: int, size: int = 900) -> tuple[Frames, dict[str, Any]]:
    """The same on two groups, of which one may begin later; each with its own losses and way."""
    chance = random.Random(seed)
    loss = [chance.choice([0.0, 0.01, 0.2, 0.4]) if seed else 0.0 for _ in GROUPS]
    lag = 0, chance.choice([0, 5, 300]) * US
    spread = chance.choice([1, 4, 500]) * US
    begins = 0, chance.choice([0, 0, 100, 400])
    start, now, ident = chance.randrange(1 << 8 * width), START_NS, 0
    frames: Frames = []
    came: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for turn in range(size):
        now += chance.choice([20, 100, 400]) * US
        wire = ((start + turn) % (1 << 8 * width)).to_bytes(width, "big")
        for line, group in enumerate(GROUPS):
            sure = turn <= begins[line] + 3 or turn > size - 10
            if turn < begins[line] or (not sure and chance.random() < loss[line]):
                continue
            # the first come in order, so that it is clear where a line begins
            at_ns = now + lag[line] + (chance.randrange(spread) if not sure else 0)
            ident += 1
            datagram = summed(udp(b"--" + wire + bytes(20), 5000, 26400), UDP, "10.0.0.1", group)
            frames.append((at_ns, ethernet(ipv4(datagram, "10.0.0.1", group, ident=ident))))
            came[line][start + turn] = at_ns
    frames.sort(key=lambda frame: frame[0])
    a, b = came
    both = range(start + begins[1], start + size)
    shared = [b[n] - a[n] for n in both if n in a and n in b]
    return frames, {
        "messages": len(a.keys() | b.keys()),
        "compared": len(both),
        "lost_on_both": sum(n not in a and n not in b for n in both),
        "only": [
            sum(n not in a and n in b for n in both),
            sum(n in a and n not in b for n in both),
        ],
        "measured": len(shared),
        "together": shared.count(0),
        "first": [sum(gap > 0 for gap in shared), sum(gap < 0 for gap in shared)],
    }


@pytest.mark.rule("FD022")
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_narrow_numbers_of_two_lines_are_of_one_turn(seed: int, width: int, tmp_path: Path) -> None:
    frames, truth = narrow_world(seed, width)
    path, feed = tmp_path / "n.pcap", tmp_path / "narrow.yaml"
    path.write_bytes(pcap_bytes(frames))
    feed.write_text(FEED.format(width=width))
    options = Options(engine="direct", feeds=feeds_of([str(feed)], []))
    report = audit([CaptureInput(str(path))], options)
    (row,) = report["tables"]["feed"]["lines"]
    assert truth == of_lines(row)
    cuts = {str(path): [1_000, 5_001, 30_000, 90_000]}
    again = audit(
        [CaptureInput(str(path))],
        Options(engine="direct", feeds=feeds_of([str(feed)], []), cuts=cuts, compile_it=True),
    )
    assert to_json(again) == to_json(report)


@pytest.mark.rule("FD007")
def test_the_tail_of_a_line_is_no_loss_where_the_other_line_brought_it(tmp_path: Path) -> None:
    beats = [feeds.beat(3, to=line) for line in (feeds.A, feeds.B)]
    story = [*feeds.on_both(1), feeds.data(2), *beats, 2000, *beats]
    path = tmp_path / "feed.pcap"
    path.write_bytes(feeds.capture(story))
    ended = command([*feeds.MOLD, *feeds.LINES, str(path)])
    assert [finding["rule"] for finding in ended.findings] == ["FD023"]
    alone = command([*feeds.MOLD, str(path)])
    assert {finding["rule"] for finding in alone.findings} == {"FD002", "FD007"}
