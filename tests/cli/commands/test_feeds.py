"""``seqaudit feeds``, ``--feed`` and ``--lines`` as a shell sees them."""

from itertools import combinations
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.cli.options.feeds import feeds_of
from seqaudit.decoders.contract.feed_layout import Line, Route
from seqaudit.decoders.feeds.files import shipped
from tests.decoders.feeds.builders import mold
from tests.decoders.network import builders as p

LINES = "A=239.1.0.1:26400,B=239.1.0.2:26400"


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_feeds_lists_the_shipped_ones() -> None:
    shown = run("feeds")
    assert shown.exit_code == 0
    lines = shown.output.splitlines()
    assert {line.split()[0] for line in lines if line.split()} >= set(shipped())
    groups = ["Flow records", "Market data", "Media", "Timing", "To be copied", "Tunnels",
              "Vehicles and lighting"]  # fmt: skip
    assert [line for line in lines if line in groups] == groups


def test_a_feed_that_nothing_tells_from_others_needs_a_place() -> None:
    with pytest.raises(click.UsageError, match="give its place, such as srt@239"):
        feeds_of(["srt"], [])
    assert feeds_of(["srt@:7001"], [])[0].match == (Route(port=(7001, 7001)),)


def test_a_feed_of_its_own_type_of_ethernet_needs_no_other_place(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "feed: own\ngroup: mine\nethertype: 0x88b5\nfields: {number: {offset: 0, width: 2}}\n"
        "seqno: number\n"
    )
    assert feeds_of([str(own)], [])[0].match == (Route(),)


def test_feeds_auto_adds_what_can_be_recognised_and_nobody_has_named() -> None:
    named, *tried = feeds_of(["netflow5@:9995"], [], tried=True)
    assert (named.name, named.tried) == ("netflow5", False)
    assert [feed.name for feed in tried][:2] == ["sacn", "sflow"]  # most tells them apart
    assert all(feed.tried and feed.match == (Route(),) for feed in tried)
    assert "rtp" in {feed.name for feed in tried}  # on probation: RFC 3550 A.1
    assert not {"netflow5", "srt", "example"} & {feed.name for feed in tried}


def test_feeds_show_prints_the_file_and_feeds_check_reads_it(tmp_path: Path) -> None:
    shown = run("feeds", "show", "example")
    assert shown.exit_code == 0
    copy = tmp_path / "my.yaml"
    copy.write_text(shown.output, encoding="utf-8")
    checked = run("feeds", "check", copy)
    assert checked.exit_code == 0
    assert checked.output.splitlines()[:2] == [
        "example: an annotated example of a proprietary header",
        "place: 239.9.9.0/24:5000-5099",
    ]
    assert "field partition: number, bytes 8-11, little-endian, mask 0xff000000, shift 24" in (
        checked.output
    )


def test_feeds_check_says_file_line_and_field(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("feed: x\nfields:\n  n: {offset: 0, width: 9}\nseqno: n\n", encoding="utf-8")
    shown = run("feeds", "check", path)
    assert shown.exit_code == 2
    assert shown.output == (
        f"error: {path} line 3, fields.n.width: is 9, not 1 to 8; a number is 1 to 8 bytes wide\n"
    )
    assert run("feeds", "show", "nix").exit_code == 2


def test_a_shipped_feed_is_where_the_command_line_says() -> None:
    (feed,) = feeds_of(["moldudp64@233.54.12.0/24:26400+:7,server=10.1.1.9:6000"], [])
    assert feed.match == (Route("233.54.12.0/24", (26400, 26400)), Route(port=(7, 7)))
    assert feed.servers == (("10.1.1.9", 6000),)
    (feed,) = feeds_of(["rtp@[ff05::1]:5004,hz=48000"], [])
    assert feed.match == (Route("ff05::1", (5004, 5004)),)
    assert feed.timestamp is not None and feed.timestamp.hz == 48000


def test_a_feed_of_which_nobody_says_the_place_is_anywhere_and_lines_are_a_place() -> None:
    assert feeds_of(["rtp"], [])[0].match == (Route(),)
    assert feeds_of(["rtp@any"], [])[0].match == (Route(),)
    (feed,) = feeds_of(["moldudp64"], [LINES])
    assert (feed.match, feed.lines) == (
        (),
        (Line((("239.1.0.1", 26400), ("239.1.0.2", 26400))),),
    )


def test_the_same_feed_at_two_places_is_one_feed() -> None:
    (feed,) = feeds_of(["rtp@:5004", "rtp@:5006"], [])
    assert feed.match == (Route(port=(5004, 5004)), Route(port=(5006, 5006)))


def test_two_feeds_that_are_recognised_may_both_be_anywhere() -> None:
    assert [feed.name for feed in feeds_of(["moldudp64", "rtp"], [])] == ["moldudp64", "rtp"]


@pytest.mark.parametrize(
    ("feeds", "lines", "problem"),
    [
        (
            ["avtp@239.1.1.1"],
            [],
            "avtp is carried by Ethernet, which has no such places; write avtp",
        ),
        (["nix"], [], "no file and no shipped feed is called 'nix'; there are avtp, "),
        (["rtp@1.2.3"], [], "place is '1.2.3', no address or network"),
        (["rtp@:99999"], [], "place is '99999', a port is at most 65535"),
        (["rtp,server=10.0.0.1:5"], [], "rtp has no messages of a server"),
        (["moldudp64,server=10.0.0.1"], [], "server is '10.0.0.1', not an address and a port"),
        (["moldudp64,hz=5"], [], "moldudp64 has no timestamp"),
        (["rtp,hz=0"], [], "hz is '0'; write ticks a second"),
        (["rtp,x=0"], [], "'x=0' is no server= or hz="),
        (["rtp", "rtp"], [], "rtp is given twice; give both a place"),
        (["moldudp64@:5", "rtp@:1-10"], [], "moldudp64 and rtp both have :1-10"),
        (["sv-4000", "sv-4800"], [], "both have all of Ethernet type 0x88ba; name one of them"),
        ([], [LINES], "nobody says what they carry; add --feed"),
        (["rtp"], ["A=1.1.1.1:1"], "is 'A=1.1.1.1:1', not A=ADDRESS:PORT,B=ADDRESS:PORT"),
        (["rtp"], [LINES, LINES], "one of them is a line already"),
        (["rtp@:1", "moldudp64@:2"], [LINES], "which of rtp, moldudp64 do they carry?"),
    ],
)
def test_a_wrong_option_is_one_line_that_says_what_to_try(
    feeds: list[str], lines: list[str], problem: str
) -> None:
    with pytest.raises(click.UsageError) as caught:
        feeds_of(feeds, lines)
    assert problem in caught.value.message
    assert "\n" not in caught.value.message
    assert ";" in caught.value.message or "?" in caught.value.message


@pytest.mark.parametrize(
    ("like", "said", "beside", "where"),
    [
        ("esp", "", "esp", "any"),
        ("ptp", "match: [{source: 10.0.0.1}]", "esp-udp", ":4500 > any"),
        ("rtp", 'lines: [{A: "239.1.0.1:5004", B: "239.1.0.2:5004"}]', "st2110@:5004", ":5004"),
    ],
)
def test_feeds_that_would_take_the_same_are_refused(
    like: str, said: str, beside: str, where: str, tmp_path: Path
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(f"feed: own\nlike: {like}\n{said}\n", encoding="utf-8")
    with pytest.raises(click.UsageError, match=f"both have {where}; give them places apart"):
        feeds_of([str(own), beside], [])


def test_any_two_shipped_feeds_go_together() -> None:
    """But for two rates of one type; what nothing tells from others is given a place."""
    given = [name if _stands_alone(name) else f"{name}@:{15_000 + number}"
             for number, name in enumerate(shipped())]  # fmt: skip
    refused = []
    for pair in combinations(given, 2):
        try:
            feeds_of(pair, [])
        except click.UsageError:
            refused.append(pair)
    assert refused == [("sv-4000", "sv-4800")]


def _stands_alone(name: str) -> bool:
    try:
        feeds_of([name], [])
    except click.UsageError:
        return False
    return True


def test_feeds_of_one_name_from_two_files(tmp_path: Path) -> None:
    copy = tmp_path / "mine.yaml"
    copy.write_text(shipped()["rtp"].read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(click.UsageError, match="another feed is called rtp"):
        feeds_of([f"{copy}@:1", "rtp@:2"], [])


def test_info_says_how_many_datagrams_a_feed_took_and_refused(tmp_path: Path) -> None:
    frames = [mold("S", 1, [b"a"]), mold("S", 2, [b"b"]), b"\x01" * 30]
    path = tmp_path / "a.pcap"
    path.write_bytes(p.pcap([p.ethernet(p.ipv4(p.udp(f, 5000, 26400))) for f in frames]))
    shown = run("info", "--engine", "direct", "--feed", "moldudp64", path)
    assert shown.exit_code == 0
    assert "feed moldudp64: 2 taken, 1 refused by what is in them" in shown.output
    assert "feed moldudp64  DATA" in shown.output


def test_feed_is_no_system_of_the_other_options() -> None:
    shown = run("info", "--engine", "direct", "--no-decode", "feed", "none.pcap")
    assert shown.exit_code == 2
    assert "feeds have an option of their own" in shown.output
