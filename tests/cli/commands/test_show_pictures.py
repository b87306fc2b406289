"""``seqaudit show timeline`` and ``sequence``: pictures that fit, and say what the report says."""

import io
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from seqaudit.cli.main import main
from seqaudit.cli.output.plot import SequencePlot, Timeline
from seqaudit.cli.output.points import Point
from seqaudit.pipeline.shared.spark_address import SparkAddress
from tests.pipeline.test_shipped_feeds import mpeg_ts, written

FIXTURES = Path(__file__).parents[3] / "fixtures"
LOSS = str(FIXTURES / "jgroups" / "n2-loss-1" / "A.pcap")
LOST = str(FIXTURES / "zenoh" / "udp-cache-too-small-1" / "sub.pcap")
DIRECT = ("--engine", "direct")
S = 1_000_000_000


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["show", *words, *DIRECT])


def drawn(picture: Any, width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, no_color=True, color_system=None).print(picture)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def stream(first: int, last: int) -> Any:
    return {"capture": 0, "id": "a", "first_ns": first * S, "last_ns": last * S}


def gap(revealed: int, came: int | None) -> Any:
    steps = [] if came is None else [{"step": "came", "at_ns": came * S}]
    row = {"capture": 0, "stream": "a", "revealed_at_ns": revealed * S}
    return row | {"story": {"steps": steps}}


def test_a_timeline_shows_when_a_gap_showed_and_when_it_came() -> None:
    picture = Timeline([(stream(0, 10), "A")], [gap(2, 5)], 0)
    assert drawn(picture, 13)[0] == "A  --!==o----"


def test_what_never_came_is_marked_where_it_showed() -> None:
    picture = Timeline([(stream(0, 10), "A")], [gap(2, None), gap(6, 7)], 0)
    assert drawn(picture, 13)[0] == "A  --x---!o--"


def test_long_identities_are_short_and_explained_once() -> None:
    identity = "196ca6f3b41283f233541fea36530770"
    picture = Timeline([(stream(0, 10), identity), (stream(0, 10), identity)], [], 0)
    lines = drawn(picture, 80)
    assert lines[0].startswith("196ca6f3...  -")
    assert [line for line in lines if identity in line] == [f"196ca6f3... is {identity}"]


def test_a_plot_has_a_line_a_seqno_the_highest_first() -> None:
    points = [Point(0, 1, "+"), Point(10 * S, 2, "?"), Point(4 * S, 3, "+")]
    assert drawn(SequencePlot(points, 0, 0), 13)[:4] == [
        "3 |    +",
        "2 |         ?",
        "1 |+",
        "  +----------",
    ]


def test_long_seqnos_are_told_by_their_distance_from_the_gaps_first() -> None:
    first = 7_180_861_134_780_497_921
    points = [Point(0, first - 1, "+"), Point(4 * S, first, "x"), Point(10 * S, first + 1, "+")]
    lines = drawn(SequencePlot(points, 0, 0, first), 60)
    assert [line.split("|")[0] for line in lines[:3]] == ["+1 ", "+0 ", "-1 "]
    assert "+0 is the first seqno of the gap" in lines[-1]


def test_an_answer_at_once_hides_no_request() -> None:
    points = [Point(0, 1, "+"), Point(10 * S, 1, "?"), Point(10 * S, 1, "o")]
    assert drawn(SequencePlot(points, 0, 0), 13)[0] == "1 |+       ?o"


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    points = [Point(n * S, n, "+") for n in range(1000)]
    wide = Timeline([(stream(0, 10), "a long name of a stream " * 9)], [gap(1, 2)], 3)
    for picture in (SequencePlot(points, 0, 5), wide):
        assert all(len(line) <= width for line in drawn(picture, width))


def test_the_commands_draw_80_columns_where_nobody_looks() -> None:
    for words in (("timeline", LOSS), ("sequence", "--gap", "2", LOSS)):
        result = run(*words)
        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= 80 and "\x1b" not in result.stdout


def test_a_gap_that_came_back_is_drawn_with_its_request_and_its_repair() -> None:
    lines = run("sequence", "--gap", "2", LOSS).stdout.splitlines()
    assert lines[0] == "Gap 2: nakack2 14, recovered"
    (own,) = [line for line in lines if line.startswith("14 |")]
    assert own.endswith("?o")


def test_a_gap_that_stayed_is_drawn_to_the_end() -> None:
    lines = run("sequence", "--gap", "1", LOST).stdout.splitlines()
    assert sum(line.endswith("x") and "|" in line for line in lines) == 5  # 10 to 14


def test_a_gap_that_is_not_there_is_said_in_one_line() -> None:
    result = run("sequence", "--gap", "99", LOSS)
    assert result.exit_code == 2
    assert "--gap 99: there are 10 gaps" in result.stderr


def test_streams_that_lack_nothing_are_drawn_too() -> None:
    clean = str(FIXTURES / "jgroups" / "u4n4-clean-1" / "C.pcap")
    told = run("timeline", clean).stdout
    assert "unicast4" in told and "!" not in told.splitlines()[1]


def test_on_spark_a_gap_of_a_recognised_feed_is_drawn_as_in_this_process(
    tmp_path: Path, spark_place: SparkAddress
) -> None:
    datagrams = mpeg_ts().datagrams
    path = str(written("mpeg-ts", datagrams[:40] + datagrams[43:], tmp_path / "m.pcap"))
    words = ("show", "sequence", "--feeds-auto", path)
    own, spark = (
        CliRunner().invoke(main, [*words, *engine]).stdout
        for engine in (DIRECT, ("--engine", "spark", "--master", str(spark_place.master)))
    )
    assert spark == own and "+" in own


@pytest.mark.parametrize(
    "part", ["windows", "advisories", "convergence", "loss", "sequence", "timeline", "gaps"]
)
def test_a_capture_that_cannot_be_judged_is_named_by_every_part(part: str, tmp_path: Path) -> None:
    torn = tmp_path / "torn.pcap"
    torn.write_text("no capture")
    shown = run(part, str(torn), str(FIXTURES / "raims" / "rv-dataloss-1" / "B.pcap"))
    assert shown.exit_code == 2
    assert f"error: {torn}: is a text file" in shown.stderr
