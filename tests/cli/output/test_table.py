"""Tables: fixed width, no colour, whole text; and narrow terminals (cli/README.md 2)."""

import io
import textwrap

import pytest
from rich.console import Console

from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.table import seqno_ranges

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


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, shown(width).splitlines())) <= width
