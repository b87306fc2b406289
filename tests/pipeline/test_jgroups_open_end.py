"""What was missing when a capture of JGroups ended and may still have come: MC014 and UC033.

The recordings are cut just behind the first request: some of what is missing was asked for, some
not yet.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import dpkt
import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from tests.decoders.network.builders import ethernet, ipv4, udp
from tests.degraded.captures import SECOND_NS, Record, read

#: Recording: frames up to the request, the rules, what was asked for, and what was not yet.
CUT: Final = {
    "n4-loss-1": (83, "MC014", "MC002", [5, 7, 10], [18, 36, 46, 62, 63, 66]),
    "u3n2-ipfrag-loss-2": (
        191, "UC033", "UC002", [7, 8, 10], [34, 36, 37, 39, 40, 42, 50, 51, 57, 58],
    ),
}  # fmt: skip
OTHERS: Final = ethernet(ipv4(udp(b"others", 9, 9), "10.9.9.1", "10.9.9.2"))
OPEN: Final = "open at the capture's end"


def cut(fixtures: Path, recording: str, folder: Path, *, ends_later: bool) -> Path:
    """The capture at the receiver C; ``ends_later``: others go on in it for five seconds, and
    C asks for the same again and again."""
    capture = read(fixtures / "jgroups" / recording / "C.pcap")
    records = list(capture.records[: CUT[recording][0]])
    if ends_later:
        records += [asked_again(records[-1], number) for number in range(1, 10)]
        records.append(Record(records[-1].at_ns + SECOND_NS // 2, OTHERS, len(OTHERS)))
    path = folder / ("later.pcap" if ends_later else "cut.pcap")
    path.write_bytes(capture.of(records).written())
    return path


def asked_again(request: Record, number: int) -> Record:
    """The request of a later tick: another datagram with the same."""
    frame = dpkt.ethernet.Ethernet(request.data)
    frame.data.id += 1_000 + number
    frame.data.sum = 0  # to be made anew
    return replace(request, at_ns=request.at_ns + number * SECOND_NS // 2, data=bytes(frame))


def run(*words: object) -> Any:
    return CliRunner().invoke(main, [str(word) for word in words])


def report_of(*words: object) -> Any:
    return json.loads(run("audit", "--engine", "direct", "--format", "json", *words).stdout)


def numbers(ranges: list[list[int]]) -> list[int]:
    return [n for first, last in ranges for n in range(first, last + 1)]


@pytest.mark.rule("V2")
@pytest.mark.parametrize("recording", CUT)
@pytest.mark.parametrize("chosen", [(), ("--ignore", "MC014,UC033"), ("--select", "MC002")])
def test_what_may_still_come_is_lost_nowhere(
    recording: str, chosen: tuple[str, ...], fixtures: Path, tmp_path: Path
) -> None:
    """Streams, gaps, totals and the last line say the same, whatever findings are shown."""
    _, _, _, asked, not_yet = CUT[recording]
    path, missing = cut(fixtures, recording, tmp_path, ends_later=False), sorted(asked + not_yet)
    report = report_of(path, *chosen)
    (stream,) = [s for s in report["streams"] if s["open_at_end"]]
    assert stream["open_at_end"] == len(numbers(stream["open_at_end_seqnos"])) == len(missing)
    assert numbers(stream["open_at_end_seqnos"]) == missing
    assert (stream["lost"], stream["unrecovered"], stream["not_asked_for"]) == (0, 0, 0)
    assert stream["lost_seqnos"] == stream["unrecovered_seqnos"] == []
    assert "lost" not in stream["unknown"]
    assert {gap["outcome"] for gap in report["gaps"]} == {OPEN}
    assert {gap["story"]["where"] for gap in report["gaps"]} == {"cannot be told"}
    assert sorted(n for gap in report["gaps"] for n in numbers(gap["seqnos"])) == missing
    assert (report["totals"]["lost"], report["totals"]["unrecovered"]) == (0, 0)
    said = run("audit", "--engine", "direct", path, *chosen).stdout
    early = f"{len(missing)} messages missing at the end, too early to call lost;"
    assert f"1 capture, 4 streams: no message lost where that can be told; {early}" in said


@pytest.mark.rule("V2")
@pytest.mark.parametrize("recording", CUT)
def test_a_capture_that_goes_on_tells_what_was_lost(
    recording: str, fixtures: Path, tmp_path: Path
) -> None:
    """Of what was not asked for it cannot be told: the capture may have missed it."""
    _, early, lost, asked, not_yet = CUT[recording]
    path = cut(fixtures, recording, tmp_path, ends_later=True)
    report = report_of(path)
    rules = {finding["rule"] for finding in report["findings"]}
    assert {lost, "CP007"} <= rules and early not in rules
    (stream,) = [s for s in report["streams"] if s["unrecovered"]]
    assert stream["open_at_end"] == 0 and stream["open_until_ns"] is None
    assert numbers(stream["unrecovered_seqnos"]) == numbers(stream["lost_seqnos"]) == asked
    assert stream["not_asked_for"] == len(not_yet)
    assert (stream["lost"], stream["delivered"]) == (None, None)
    assert stream["unknown"]["lost"].startswith(f"{len(asked)} or more")
    assert {gap["outcome"] for gap in report["gaps"]} == {"unrecovered", "not asked for"}
    assert report["totals"]["lost"] is None


def test_budgets_differences_and_pages_say_so_too(fixtures: Path, tmp_path: Path) -> None:
    one, other = (cut(fixtures, "n4-loss-1", tmp_path, ends_later=later) for later in (False, True))
    budget = tmp_path / "budget.yaml"
    budget.write_text("streams:\n- match: {system: nakack4}\n  unrecovered: 0\n  lost: 0\n")
    words = ("check", "--engine", "direct", "--budget", budget)
    assert run(*words, one).exit_code == 0
    assert run(*words, other).exit_code != 0
    shown = run("show", "gaps", "--engine", "direct", "--format", "json", one).stdout
    assert OPEN in shown and '"outcome": "unrecovered"' not in shown
    page = tmp_path / "page.html"
    run("audit", "--engine", "direct", "-o", page, one)
    assert OPEN in page.read_text()
    told = json.loads(run("diff", "--engine", "direct", "--format", "json", one, other).stdout)
    figures = {(c["figure"], c["good"], c["bad"]) for c in told["changes"]}
    assert ("unrecovered", "0", "3") in figures
