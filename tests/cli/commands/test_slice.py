"""``seqaudit slice``: frames that show something, each with a comment, as Wireshark opens them."""

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import dpkt
import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main

FIXTURES = Path(__file__).parents[3] / "fixtures"
LOSS = FIXTURES / "jgroups" / "n2-loss-1"
DIRECT = ("--engine", "direct")


def run(*words: str) -> Any:
    return CliRunner().invoke(main, list(words))


def packets(path: Path) -> list[tuple[int, list[str], bytes]]:
    """(time in ns, comments, bytes) of the packets of a pcapng, read by nothing of seqaudit's."""
    found = []
    with path.open("rb") as file:
        while head := file.read(8):
            kind, size = struct.unpack("<II", head)
            body = file.read(size - 8)
            if kind == 6:
                _, high, low, captured, _ = struct.unpack_from("<IIIII", body)
                data, place, comments = body[20 : 20 + captured], 20 + captured + -captured % 4, []
                while place < len(body) - 4:
                    code, length = struct.unpack_from("<HH", body, place)
                    if code == 1:
                        comments.append(body[place + 4 : place + 4 + length].decode())
                    place += 4 + length + -length % 4
                found.append((high << 32 | low, comments, data))
    return found


def frames_of(path: Path) -> list[tuple[int, bytes]]:
    with path.open("rb") as file:
        return [(round(at * 1e9), data) for at, data in dpkt.pcap.Reader(file)]


def test_a_gaps_frames_are_those_of_its_story_with_their_own_times_and_bytes(
    tmp_path: Path,
) -> None:
    out = tmp_path / "gap.pcapng"
    result = run("slice", str(LOSS / "A.pcap"), "--gap", "2", "-o", str(out), *DIRECT)
    assert result.exit_code == 0, result.output
    written = packets(out)
    original = frames_of(LOSS / "A.pcap")
    assert [data for _, _, data in written] == [original[n - 1][1] for n in (40, 41, 178, 179)]
    assert all(
        abs(at - original[n - 1][0]) < 1000
        for (at, _, _), n in zip(written, (40, 41, 178, 179), strict=True)
    )
    assert [comments[0].splitlines()[0] for _, comments, _ in written] == [
        "gap 2 (nakack2 14): the last that came before it",
        "gap 2 (nakack2 14): a higher seqno shows that it is missing",
        "gap 2 (nakack2 14): asked for, by A",
        "gap 2 (nakack2 14): it came as a repair",
    ]
    assert "A.pcap they are frame.number in {40, 41, 178, 179}" in result.stderr


def test_a_findings_frames_say_what_they_show_and_neighbours_say_nothing(tmp_path: Path) -> None:
    out = tmp_path / "finding.pcapng"
    words = ("--finding", "1", "--around", "1", "-o", str(out), *DIRECT)
    assert run("slice", str(LOSS / "A.pcap"), *words).exit_code == 0
    written = packets(out)
    told = [text for _, comments, _ in written for text in comments]
    assert any(text.startswith("MC001 loss-recovered (proven): ") for text in told)
    assert 0 < len(told) < len(written)


def test_frames_of_several_captures_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    out = tmp_path / "two.pcapng"
    both = [str(LOSS / f"{name}.pcap") for name in "AC"]
    result = run("slice", *both, "--stream", "|", "-o", str(out), *DIRECT)
    assert result.exit_code == 0, result.output
    times = [at for at, _, _ in packets(out)]
    assert times == sorted(times) and len(times) > 10
    assert all(f"in {path} they are frame.number" in result.stderr for path in both)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_opens_what_was_written_and_shows_the_comments(tmp_path: Path) -> None:
    out = tmp_path / "gap.pcapng"
    run("slice", str(LOSS / "A.pcap"), "--gap", "2", "-o", str(out), *DIRECT)
    fields = ("frame.interface_name", "frame.time_epoch", "frame.comment")
    words = ["tshark", "-r", str(out), "-T", "fields", *(w for f in fields for w in ("-e", f))]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(shown) == 4
    assert shown[1].startswith("A.pcap\t1795213118.225747000\tgap 2 (nakack2 14): a higher seqno")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "say what to write: --gap N, --finding N or --stream TEXT"),
        (("--gap", "99"), "--gap 99: there are 10 gaps; seqaudit show gaps lists and numbers them"),
        (("--finding", "999"), "seqaudit show findings lists and numbers them"),
        (("--stream", "nobody"), "--stream nobody: no stream has this"),
    ],
)
def test_what_is_not_there_is_said_in_one_line_and_nothing_is_written(
    words: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    out = tmp_path / "no.pcapng"
    result = run("slice", str(LOSS / "A.pcap"), *words, "-o", str(out), *DIRECT)
    assert result.exit_code == 2
    (error,) = [said for said in result.stderr.splitlines() if said.startswith("error:")]
    assert line in error and not out.exists()


def test_a_capture_is_never_written_over(tmp_path: Path) -> None:
    capture = tmp_path / "A.pcap"
    shutil.copy(LOSS / "A.pcap", capture)
    before = capture.read_bytes()
    result = run("slice", str(capture), "--gap", "2", "-o", str(capture), *DIRECT)
    assert result.exit_code == 2 and "is one of the captures" in result.stderr
    assert capture.read_bytes() == before


def test_the_story_of_one_gap_is_shown_step_by_step() -> None:
    result = run("show", "gaps", "--gap", "2", str(LOSS / "A.pcap"), *DIRECT)
    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[0] == "Gap 2: nakack2 14, recovered"
    assert [line.split()[-1] for line in lines if " asked " in line]
    assert "A could hand on nothing behind it for 1.129 s." in lines
    assert any(line.startswith("Where: before this point (likely), because its ") for line in lines)


def test_gaps_and_findings_are_listed_with_the_numbers_that_options_take() -> None:
    gaps = run("show", "gaps", str(LOSS / "A.pcap"), *DIRECT).stdout.splitlines()
    assert [line.split()[0] for line in gaps if " recovered " in line] == [
        str(n) for n in range(1, 11)
    ]
    findings = run("show", "findings", str(LOSS / "A.pcap"), *DIRECT).stdout
    assert "\n1. MC001 warning loss-recovered" in findings


@pytest.mark.parametrize(("finding", "told"), [("1", "1 frame, 1"), ("6", "2 frames, 2")])
def test_the_number_of_frames_is_said_of_one_as_well(
    finding: str, told: str, tmp_path: Path
) -> None:
    capture = str(FIXTURES / "jgroups" / "n4-loss-1" / "C.pcap")
    out = tmp_path / "out.pcapng"
    result = run("slice", capture, "--finding", finding, "-o", str(out), *DIRECT)
    assert result.stderr.splitlines()[0] == f"{out}: {told} with comments"


def test_where_nothing_can_be_written_is_one_line(tmp_path: Path) -> None:
    result = run("slice", str(LOSS / "A.pcap"), "--gap", "2", "-o", str(tmp_path / "no" / "x"))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "cannot be written" in result.stderr
