"""Feeds from the bytes of a capture to the report: both engines, any cut, and what was sent."""

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress
from tests.decoders.feeds.builders import mold, rtp
from tests.decoders.network.builders import ethernet, ipv4, pcap, record_offsets, udp

SENDER, A, B = "10.0.0.1", "233.54.12.1", "233.54.13.1"
SERVER, CLIENT = "10.0.0.2", "10.0.0.7"
MS = 1_000_000
LINES = f"A={A}:26400,B={B}:26400"


class Sent(NamedTuple):
    """A datagram on its way."""

    at_ns: int
    packet: bytes


class Writer:
    """Frames of a capture; every datagram has an IP id of its own."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self._ident = 0

    def add(
        self, at_ns: int, payload: bytes, to: str = A, *, by: str = SENDER, port: int = 26400,
        from_port: int = 5000,
    ) -> bytes:  # fmt: skip
        self._ident += 1
        datagram = ipv4(udp(payload, from_port, port, checksum=0), by, to, ident=self._ident)
        self.sent.append(Sent(at_ns, ethernet(datagram)))
        return self.sent[-1].packet

    def again(self, at_ns: int, packet: bytes) -> None:
        """The network delivers it twice."""
        self.sent.append(Sent(at_ns, packet))

    def write(self, path: Path) -> CaptureInput:
        self.sent.sort(key=lambda sent: sent.at_ns)
        path.write_bytes(pcap([s.packet for s in self.sent], times_ns=[s.at_ns for s in self.sent]))
        return CaptureInput(str(path))


def blocks(count: int) -> list[bytes]:
    return [b"x" * 20] * count


def lossy_session(path: Path) -> tuple[CaptureInput, dict[str, int]]:
    """A MoldUDP64 session with faults, and what became of its messages."""
    chance = random.Random(3)
    writer = Writer()
    now, seqno = 0, 1
    truth = dict.fromkeys(("messages", "unrecovered", "recovered", "reordered", "twice"), 0)
    for number in range(600):
        now += 5 * MS
        count = chance.choice([1, 1, 2, 3])
        payload = mold(seqno=seqno, messages=blocks(count))
        fate = chance.choices(["", "lost", "repaired", "late", "twice"], [90, 3, 3, 3, 3])[0]
        if number < 5 or number > 590 or number % 50 == 49:
            fate = ""
        if fate in ("", "twice"):
            packet = writer.add(now, payload)
            if fate == "twice":
                writer.again(now + MS // 2, packet)
        elif fate == "late":
            writer.add(now + 22 * MS, payload)
        elif fate == "repaired":
            ask = mold(seqno=seqno, count=count)
            writer.add(now + 31 * MS, ask, SERVER, by=CLIENT, port=6000, from_port=40000)
            writer.add(now + 32 * MS, payload, CLIENT, by=SERVER, port=40000, from_port=6000)
        truth["unrecovered"] += count * (fate == "lost")
        truth["messages"] += count * (fate != "lost")
        truth["recovered"] += count * (fate == "repaired")
        truth["reordered"] += count * (fate == "late")
        truth["twice"] += count * (fate == "twice")
        seqno += count
        if number % 50 == 49:
            writer.add(now + 1, mold(seqno=seqno))
    for second in range(1, 4):
        writer.add(now + second * 1000 * MS, mold(seqno=seqno, count=0xFFFF))
    return writer.write(path), truth


def recovered_session(path: Path) -> CaptureInput:
    """Every tenth packet lost on its way to the group and answered unicast; nobody saw who asked.

    The server answers twice what it sends last, and the client begins with what it missed before.
    """
    writer = Writer()
    for number in (3, 4):
        writer.add(number, mold(seqno=number, messages=blocks(1)), CLIENT, by=SERVER, port=40000,
                   from_port=6000)  # fmt: skip
    for number in range(100, 500):
        at_ns, payload = number * MS, mold(seqno=number, messages=blocks(1))
        if number % 10 != 5:
            writer.add(at_ns, payload)
        elif number < 485:
            for again in range(1 + (number > 470)):
                writer.add(at_ns + (30 + again) * MS, payload, CLIENT, by=SERVER, port=40000,
                           from_port=6000)  # fmt: skip
    writer.add(2000 * MS, mold(seqno=500))
    return writer.write(path)


def two_lines(path: Path) -> CaptureInput:
    chance = random.Random(4)
    writer = Writer()
    for number in range(400):
        at_ns, payload = number * MS, mold(seqno=1 + 2 * number, messages=blocks(2))
        for line, rate, lag in ((A, 0.05, 0), (B, 0.04, chance.randrange(-40_000, 300_000))):
            if chance.random() >= rate or not 5 < number < 395:
                writer.add(at_ns + lag, payload, line)
    writer.add(3000 * MS, mold(seqno=801), A)
    writer.add(3000 * MS + 9, mold(seqno=801), B)
    return writer.write(path)


def voice(path: Path) -> CaptureInput:
    """RTP over the wrap, with loss and delays that vary."""
    chance = random.Random(5)
    writer = Writer()
    for number in range(500):
        if number % 97 != 3:
            payload = rtp((65_300 + number) & 0xFFFF, (2**32 - 9_000 + 160 * number) & 0xFFFFFFFF)
            writer.add(number * 20 * MS + chance.randrange(3 * MS), payload, "10.0.0.9", port=6004)
    return writer.write(path)


def options_of(kind: str) -> dict[str, Any]:
    feed, lines = ("rtp", []) if kind == "voice" else ("moldudp64", [LINES] * (kind == "lines"))
    return {"feeds": feeds_of([feed], lines)}


def capture_of(kind: str, folder: Path) -> CaptureInput:
    path = folder / f"{kind}.pcap"
    if kind == "recovered":
        return recovered_session(path)
    if kind == "voice":
        return voice(path)
    return two_lines(path) if kind == "lines" else lossy_session(path)[0]


@pytest.mark.rule("5.5")
def test_a_lossy_session_is_told_as_it_was_sent(tmp_path: Path) -> None:
    given, truth = lossy_session(tmp_path / "m.pcap")
    report = audit([given], Options(engine="direct", **options_of("mold")))
    (stream,) = report["streams"]
    assert {
        "messages": stream["messages"],
        "unrecovered": stream["unrecovered"],
        "recovered": stream["recovered"],
        "reordered": stream["reordered"],
        "twice": stream["network_duplicates"],
    } == truth
    assert [f["rule"] for f in report["findings"] if f["severity"] == "error"] == ["FD002"]
    assert sorted(f["rule"] for f in report["findings"]) == ["FD001", "FD002", "FD003", "FD005"]
    assert report["totals"]["lost"] == truth["unrecovered"] + truth["recovered"]


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("compile_it", [False, True])
def test_unicast_answers_of_a_server_that_nobody_named_are_repairs(
    compile_it: bool, tmp_path: Path
) -> None:
    given = recovered_session(tmp_path / "r.pcap")
    options = Options(engine="direct", compile_it=compile_it, **options_of("mold"))
    report = audit([given], options)
    group = next(s for s in report["streams"] if str(s["destination"]).startswith(A))
    assert (group["recovered"], group["unrecovered"]) == (38, 2)
    assert group["retransmissions"] == {"useful": 38, "needless": 1, "undecidable": 0}
    # What came before the group was known is of its own, and no number between the two is lost.
    assert [s["lost"] for s in report["streams"] if s is not group] == [0]
    rules = sorted(f["rule"] for f in report["findings"])
    assert rules == ["CP015", "FD001", "FD002", "FD016"]  # it is numbered from 1, and began before


@pytest.mark.rule("FD017")
@pytest.mark.parametrize("chosen", [(), ("--ignore", "FD017"), ("--select", "FD002")])
@pytest.mark.parametrize("ends_later", [False, True])
def test_what_is_open_at_the_end_is_lost_nowhere(
    ends_later: bool, chosen: tuple[str, ...], tmp_path: Path
) -> None:
    """Streams, gaps, totals and the last line say the same, whatever findings are shown."""
    writer = Writer()
    for step, number in enumerate((1, 2, 4)):
        writer.add(step * MS, mold("S", number, [b"x"]))
    if ends_later:  # traffic of others shows that the capture went on
        writer.add(5_000 * MS, b"other", "10.9.9.9", port=9)
    path = writer.write(tmp_path / "o.pcap").path
    words = ["audit", path, "--feed", f"moldudp64@{A}:26400", *chosen]
    report = json.loads(CliRunner().invoke(main, [*words, "--format", "json"]).stdout)
    (stream,), (gap,) = report["streams"], report["gaps"]
    lost = int(ends_later)
    assert (stream["lost"], stream["unrecovered"], stream["open_at_end"]) == (lost, lost, 1 - lost)
    assert stream["unrecovered_seqnos"] == [[3, 3]] * lost
    assert (report["totals"]["lost"], report["totals"]["unrecovered"]) == (lost, lost)
    assert gap["outcome"] == ("unrecovered" if lost else "open at the capture's end")
    last = CliRunner().invoke(main, words).stdout.splitlines()[-1]
    assert ("1 number lost or not captured, not recovered" in last) == ends_later
    assert ("1 number missing at the end, too early to call lost" in last) != ends_later


@pytest.mark.parametrize(
    ("first", "heartbeat", "known"), [(1, False, True), (4, False, False), (4, True, True)]
)
def test_a_session_that_is_numbered_from_1_had_begun_before_if_it_begins_above(
    first: int, heartbeat: bool, known: bool, tmp_path: Path
) -> None:
    """What was sent before is not lost; a heartbeat that announces 1 shows that nothing was."""
    writer = Writer()
    if heartbeat:
        writer.add(0, mold("S", 1))
    for number in range(first, 20):
        writer.add(number * MS, mold("S", number, [b"x"]))
    path = writer.write(tmp_path / "b.pcap")
    report = audit([path], Options(engine="direct", feeds=feeds_of([f"moldudp64@{A}:26400"], [])))
    (stream,) = report["streams"]
    assert stream["start_known"] is known
    assert [f["rule"] for f in report["findings"] if f["rule"] == "CP015"] == ["CP015"] * (
        not known
    )
    told: Any = stream
    assert (told["lost"], told["open_at_end"]) == (0, 3 if heartbeat else 0)


@pytest.mark.rule("FD022")
@pytest.mark.parametrize(
    ("before_the_end", "overtaken_by", "rule"),
    [(300, 0, "FD022"), (30, 0, "FD017"), (300, 100, "FD017"), (900, 100, "FD022")],
)
def test_how_late_messages_are_shows_what_is_lost_at_the_end(
    before_the_end: int, overtaken_by: int, rule: str, tmp_path: Path
) -> None:
    """Two lines of video (SMPTE ST 2022-7), 8,000 packets a second; both lose the same packet."""
    writer, count, step = Writer(), 3_000, 125_000
    for line in (A, B):
        for number in range(count):
            late = overtaken_by * step + 1 if number == 50 else 0
            if number != count - before_the_end:
                writer.add(number * step + late, rtp(number, payload_type=96), line)
    feeds = feeds_of([f"rtp@{A}+{B}"], [LINES])
    report = audit([writer.write(tmp_path / "v.pcap")], Options(engine="direct", feeds=feeds))
    severe = [f for f in report["findings"] if f["rule"] in ("FD017", "FD022")]
    assert [(f["rule"], f["seqnos"]) for f in severe] == [(rule, [[count - before_the_end] * 2])]
    given = feeds_of([f"rtp@{A}"], [])
    report = audit([CaptureInput(str(tmp_path / "v.pcap"))], Options(engine="direct", feeds=given))
    alone = {"FD022": "FD002"}.get(rule, rule)
    assert alone in {f["rule"] for f in report["findings"]}


@pytest.mark.rule("5.5")
def test_a_faultless_session_has_no_finding_at_all(tmp_path: Path) -> None:
    writer = Writer()
    for line, lag in ((A, 0), (B, 20_000)):
        for number in range(300):
            writer.add(number * MS + lag, mold(seqno=1 + number, messages=blocks(1)), line)
        for second in range(1, 5):
            writer.add(second * 1000 * MS + lag, mold(seqno=301), line)
        writer.add(5000 * MS + lag, mold(seqno=301, count=0xFFFF), line)
    given = writer.write(tmp_path / "clean.pcap")
    for lines in ([], [LINES]):
        report = audit([given], Options(engine="direct", feeds=feeds_of(["moldudp64"], lines)))
        assert report["findings"] == []
        assert [s["messages"] for s in report["streams"]] == [300, 300]


@pytest.mark.parametrize("kind", ["mold", "lines", "voice", "recovered"])
def test_where_a_capture_is_cut_changes_nothing(kind: str, tmp_path: Path) -> None:
    given = capture_of(kind, tmp_path)
    whole = to_json(audit([given], Options(engine="direct", **options_of(kind))))
    offsets = record_offsets(Path(given.path).read_bytes())
    for every in (11, 150):
        cuts = {given.path: offsets[1:-1:every]}
        cut = Options(engine="direct", cuts=cuts, **options_of(kind))
        assert to_json(audit([given], cut)) == whole


def test_both_engines_give_the_same_bytes(tmp_path: Path, spark_place: SparkAddress) -> None:
    for kind in ("mold", "lines", "voice"):
        given = capture_of(kind, tmp_path)
        told = options_of(kind)
        direct = to_json(audit([given], Options(engine="direct", **told)))
        cuts = {given.path: [5_000, 20_001]}
        spark = Options(engine="spark", place=spark_place, cuts=cuts, lanes=3, **told)
        assert to_json(audit([given], spark)) == direct


def test_the_tables_name_streams_lines_and_jitter(tmp_path: Path) -> None:
    run = CliRunner()
    lines = ["--feed", "moldudp64", "--lines", LINES]
    for kind, arguments in (("lines", lines), ("voice", ["--feed", "rtp"])):
        given = capture_of(kind, tmp_path)
        command = ["audit", "--engine", "direct", "--exit-zero", *arguments, given.path]
        told = run.invoke(main, command, env={"COLUMNS": "300"})
        assert told.exit_code == 0, told.output
        shown = told.output
        report = json.loads(run.invoke(main, [*command, "--format", "json"]).stdout)
        if kind == "lines":
            (row,) = report["tables"]["feed"]["lines"]
            assert f" 0  {row['id']}" in shown and "A leads by p50/p99/max" in shown
            assert row["lost_on_both"] + row["line_a"]["lost_only_here"] > 0
            assert report["totals"]["unrecovered"] == row["lost_on_both"]  # the pair counts
        else:
            assert shown.index("jitter") < shown.index("mean/max")  # one column, two lines
            assert report["streams"][0]["wraps"] == 1
            assert 0 < report["streams"][0]["jitter_ns"]["mean"] < 3 * MS


@pytest.mark.parametrize("dont_fragment", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_a_sender_without_ip_ids_and_checksums_loses_nothing(
    tmp_path: Path, dont_fragment: bool, twice: bool
) -> None:
    """All datagrams alike but for their numbers, and a price that falls as these rise."""
    count = 20_000 if twice else 40_000
    frames: list[bytes] = []
    for number in range(count):
        block = b"P" * 12 + (1 << 40 | count - number).to_bytes(8, "big")
        payload = mold(seqno=1 + number, messages=[block])
        datagram = ipv4(
            udp(payload, 5000, 26400, checksum=0), SENDER, A, ident=0, dont_fragment=dont_fragment
        )
        frames += [ethernet(datagram)] * (2 if twice else 1)
    path = tmp_path / "constant.pcap"
    path.write_bytes(pcap(frames, times_ns=[n * 1000 for n in range(len(frames))]))
    cut = 24 + (path.stat().st_size - 24) // len(frames) * 31_777  # some way into the second half
    reports = []
    for options in ({}, {"compile_it": False}, {"cuts": {str(path): [cut]}}):
        feeds = feeds_of(["moldudp64"], [])
        outcome = audit([CaptureInput(str(path))], Options(engine="direct", feeds=feeds, **options))
        reports.append(to_json(outcome))
    assert reports[0] == reports[1] == reports[2]
    report = json.loads(reports[0])
    (stream,) = report["streams"]
    assert stream["messages"] == count
    assert stream["lost"] == 0
    # All were captured twice, and one of each is left out; an atomic datagram's id says nothing, so
    # they may also have been sent twice.
    assert (stream["copies"], stream["network_duplicates"]) == (0, 0)
    sure = "likely" if dont_fragment else "proven"
    told = [f["certainty"] for f in report["findings"] if f["rule"] == "CP017"]
    assert told == ([sure] if twice else [])
    assert not [f for f in report["findings"] if f["severity"] == "error"]


@pytest.mark.parametrize("engine", ["direct", "spark"])
def test_a_session_that_stops_without_an_end_where_another_begins_is_found(
    engine: Any, tmp_path: Path, spark_place: SparkAddress
) -> None:
    writer = Writer()
    for number in range(6):
        session, seqno = ("MORNING", number + 1) if number < 3 else ("NOON", number - 2)
        writer.add(number * MS, mold(session, seqno, blocks(1)))
    given = writer.write(tmp_path / "sessions.pcap")
    options = Options(engine=engine, place=spark_place, **options_of("mold"))
    report = audit([given], options)
    (found,) = [f for f in report["findings"] if f["rule"] == "FD013"]
    assert [entry["frame"] for entry in found["evidence"]] == [3, 4]
    assert "session=MORNING" in found["text"] and "session=NOON began" in found["text"]
