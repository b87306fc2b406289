"""Tables: fixed width, no colour, whole text; and narrow terminals (cli/README.md 2)."""

import io
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console, Group

from seqaudit.cli.main import main
from seqaudit.cli.output.cells import seqno_ranges
from seqaudit.cli.output.listing import Column, Lines, Listing, sharing
from seqaudit.cli.output.short_names import short_names
from seqaudit.cli.output.tables.findings import render_findings

LISTING = Listing(
    "Gaps",
    [Column("#", "right"), Column("sender"), Column("lost after frame", "right")],
    [["0", "B", "25"], ["1", "a long [bold]name[/]\x1b", "1000"]],
    more=3,
)


def shown(width: int, listing: Listing = LISTING) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    console.print(listing)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_a_table_is_as_wide_as_its_content() -> None:
    assert shown(100) == textwrap.dedent("""\
        Gaps
                                      lost
                                     after
        #  sender                    frame
        0  B                            25
        1  a long [bold]name[/]\\x1b   1000
        ... and 3 more; --limit 0 shows all
        """)


def test_where_it_does_not_fit_columns_of_least_worth_are_left_out_and_named() -> None:
    listing = Listing(
        "Streams",
        [Column("sender", worth=9), Column("copies", "right", 1), Column("lost", "right", 9)],
        [["A", "1234567890", "7"]],
    )
    assert shown(26, listing).splitlines()[1:3] == [
        "sender      copies  lost",
        "A       1234567890     7",
    ]
    assert shown(20, listing) == textwrap.dedent("""\
        Streams
        sender  lost
        A          7
        (not in this width:
        copies)
        """)


def test_what_has_room_once_a_wider_column_has_gone_is_there() -> None:
    columns = [
        Column("sender", worth=9), Column("by", worth=2), Column("wide", "right", 3),
        Column("lost", "right", 9),
    ]  # fmt: skip
    listing = Listing("Gaps", columns, [["A", "x", "1" * 20, "7"]])
    assert shown(40, listing).splitlines()[2] == f"A       x   {'1' * 20}     7"
    assert shown(30, listing).splitlines()[2] == "A       x      7"


def test_what_is_still_too_wide_is_cut_at_the_end_and_a_path_at_its_beginning() -> None:
    path = Column("capture", worth=9, keeps_end=True)
    listing = Listing(
        "Captures", [path, Column("key", worth=9)], [["a/long/way/to/C.pcap", "demo/example/b"]]
    )
    assert shown(26, listing).splitlines()[2] == "…y/to/C.pcap  demo/exampl…"
    assert shown(40, listing).splitlines()[2] == "a/long/way/to/C.pcap  demo/example/b"


@pytest.mark.parametrize(
    ("ranges", "text"),
    [
        ([], "-"),
        ([[3, 3]], "3"),
        ([[3, 3], [5, 9]], "3, 5-9"),
        ([[n, n] for n in range(0, 12, 2)], "0, 2, 4, 6 and 2 more"),
    ],
)
def test_seqnos_in_a_cell(ranges: list[list[int]], text: str) -> None:
    assert seqno_ranges(ranges) == text


ONE, OTHER = "196ca6f3b41283f233541fea36530770", "5ba45dd5479bac92f1992e2a1fa1c65c"


def test_long_identities_are_short_and_explained_below_the_first_table_that_has_them() -> None:
    columns = [Column("sender", worth=9), Column("key", worth=9)]
    first = Listing("One", columns, [[ONE, "a"], [f"{ONE}/7", "b"]])
    second = Listing("Two", columns, [[ONE, OTHER]])
    names: dict[str, str] = {}
    shared = sharing(Group(first, second), names)
    assert isinstance(shared, Group)
    one, two = shared.renderables
    assert isinstance(one, Listing) and isinstance(two, Listing)
    assert shown(60, one).splitlines()[2:5] == [
        "196ca6f3...    a", "196ca6f3.../7  b", f"196ca6f3... is {ONE}",
    ]  # fmt: skip
    assert shown(60, two).splitlines()[2:] == [
        "196ca6f3...  5ba45dd5...", f"5ba45dd5... is {OTHER}",
    ]  # fmt: skip


def test_numbers_are_no_identities_and_two_that_would_be_alike_stay_whole() -> None:
    names: dict[str, str] = {}
    alike = ONE[:8] + OTHER[8:]
    number = "7180860825542852618-7180860825542852620"
    assert short_names(f"{ONE} {alike} {number}", names) == f"196ca6f3... {alike} {number}"
    assert names == {"196ca6f3...": ONE}


def test_a_time_is_whole_or_not_there_and_a_text_to_be_read_goes_on_below() -> None:
    columns = [
        Column("step", worth=9), Column("what", worth=8, folds=True),
        Column("time", worth=3, whole=True),
    ]  # fmt: skip
    listing = Listing("Gap", columns, [
        ["asked", "for again: nothing had come", "2026-11-20 22:53:28.100000Z"],
        ["came", "all", "2026-11-20 22:53:28.200000Z"],
    ])  # fmt: skip
    assert "22:53:28.100000Z" in shown(60, listing)
    assert shown(30, listing) == textwrap.dedent("""\
        Gap
        step   what
        asked  for again: nothing had
               come
        came   all
        (not in this width: time)
        """)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, shown(width).splitlines())) <= width


def test_in_lines_long_identities_are_short_and_explained_once() -> None:
    identity = "196ca6f3b41283f233541fea36530770"
    names: dict[str, str] = {}
    parts = [sharing(Lines([(f"{n} samples of {identity}", 2)]), names) for n in (1, 2)]
    console = Console(file=io.StringIO(), width=80)
    console.print(Group(*parts))
    assert isinstance(console.file, io.StringIO)
    assert [line.rstrip() for line in console.file.getvalue().splitlines()] == [
        "  1 samples of 196ca6f3...",
        f"196ca6f3... is {identity}",
        "  2 samples of 196ca6f3...",
    ]


def test_frames_that_show_the_same_are_one_line() -> None:
    evidence = [{"frame": n, "shows": "in this capture only"} for n in (7, 8, 9, 12)]
    evidence += [{"frame": 20, "shows": "four samples"}] * 4
    finding = {
        "capture": 0, "severity": "info", "rule": "CP031", "name": "n", "certainty": "proven",
        "frame": None, "stream": None, "text": "t", "filter": "f", "evidence": evidence,
    }  # fmt: skip
    capture = {"capture": 0, "path": "a.pcap", "files": ["a.pcap"], "first_ns": 0}
    report: Any = {"findings": [finding], "streams": [], "captures": [capture]}
    console = Console(file=io.StringIO(), width=80)
    console.print(render_findings(report, "utc", 0))
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert "    frames 7-9, 12: in this capture only" in lines
    assert "    frame 20: four samples" in lines


def test_findings_that_say_the_same_of_two_streams_are_told_apart(fixtures: Path) -> None:
    capture = fixtures / "raims" / "frame-chain-loss-1" / "B.pcap"
    told = CliRunner().invoke(main, ["audit", "--engine", "direct", str(capture)]).stdout
    assert " at 2026-11-20 22:53:38.827613Z, frame 343, on _7500.TICK.A\n" in told


def test_a_stream_of_all_subjects_of_a_path_says_so(fixtures: Path) -> None:
    capture = fixtures / "raims" / "glsno-loss-1" / "A.pcap"
    told = CliRunner().invoke(main, ["show", "streams", "--engine", "direct", str(capture)]).stdout
    assert "all (path 0)" in told
