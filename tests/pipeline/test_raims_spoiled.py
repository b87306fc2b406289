"""raims captures from which something was taken away, through the command: what is still said.

Each test takes one thing out of a recording of the real daemons, and says what is left of the
findings. Where a recording is not among the fixtures, the full set is needed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.degraded import auditing
from tests.degraded.captures import Record, read

ROOT: Final = Path(__file__).parents[2]
FIXTURES: Final = ROOT / "fixtures" / "raims"
ALL_RECORDINGS: Final = ROOT.parent / "shared" / "captures" / "raims"
#: Where IP, UDP and PGM begin in an Ethernet frame without options.
UDP_AT: Final = 34
PGM_AT: Final = 42
ODATA, RDATA, NAK = 4, 5, 8
SECOND_NS: Final = 1_000_000_000

Records = list[Record]


class Pgm(NamedTuple):
    """A PGM packet: its record's place, type, sqn and who sent it."""

    place: int
    sort: int
    sqn: int
    source: str


def pgm(records: Records) -> Iterator[Pgm]:
    """The PGM packets of a capture (raims.md 2)."""
    for place, record in enumerate(records):
        data = record.data
        if len(data) < PGM_AT + 24 or data[12:14] != b"\x08\x00" or data[23] != 17:
            continue
        if data[UDP_AT + 2 : UDP_AT + 4] != b"\x1c\x47":
            continue
        sort = data[PGM_AT + 4] & 15
        if sort in (ODATA, RDATA, NAK):
            source = ".".join(map(str, data[26:30]))
            yield Pgm(place, sort, int.from_bytes(data[PGM_AT + 16 : PGM_AT + 20], "big"), source)


def audited(
    tmp_path: Path, recording: str, file: str, spoil: Callable[[Records], Records], *given: str
) -> dict[str, Any]:
    """The report about a spoiled capture, taken at its own daemon."""
    folder = FIXTURES / recording
    if not folder.is_dir():
        folder = ALL_RECORDINGS / recording
    if not folder.is_dir():
        pytest.skip("the full set of recordings is not here")
    capture = read(folder / file)
    path = tmp_path / file
    path.write_bytes(capture.of(spoil(list(capture.records))).written())
    at = f"10.77.0.{'ABC'.index(file[0]) + 1}"
    done = auditing.command(["--at", at, *given, str(path)])
    assert done.crash is None
    return {**done.report, "code": done.code}


def without(*places: int) -> Callable[[Records], Records]:
    return lambda records: [r for place, r in enumerate(records) if place not in places]


def said(report: dict[str, Any], *rules: str) -> list[tuple[str, str, str]]:
    """(rule, certainty, text up to its reasons) of findings of these rules."""
    return [
        (f["rule"], f["certainty"], f["text"].partition(" (")[0])
        for f in report["findings"]
        if f["rule"] in rules
    ]


def errors(report: dict[str, Any]) -> list[str]:
    return [f["rule"] for f in report["findings"] if f["severity"] == "error"]


def test_an_original_that_only_another_receiver_asked_for_is_not_lost_here(tmp_path: Path) -> None:
    def spoil(records: Records) -> Records:
        packets = list(pgm(records))
        repaired = {p.sqn for p in packets if p.sort == RDATA}
        first = next(
            p for p in packets if p.sort == ODATA and p.sqn in repaired
            and p.source == "10.77.0.1" and p.sqn not in missed
        )  # fmt: skip
        return without(first.place)(records)

    whole = audited(tmp_path, "pgm-loss-recovered-1", "C.pcap", list)
    (lost,) = [f for f in whole["findings"] if f["rule"] == "PG001"]
    missed = {n for low, high in lost["seqnos"] for n in range(low, high + 1)}
    report = audited(tmp_path, "pgm-loss-recovered-1", "C.pcap", spoil)
    assert said(report, "PG001", "PG002") == said(whole, "PG001")
    assert said(report, "CP007") == [
        ("CP007", "cannot be told",
         "1 packet of 10.77.0.1 is in this capture as RDATA alone, and no NAK of 10.77.0.3 for it: "
         "another receiver asked for it, or the capture missed its NAKs.")
    ]  # fmt: skip


def test_a_repair_that_the_capture_missed_is_no_loss(tmp_path: Path) -> None:
    def spoil(records: Records) -> Records:
        asked = {p.sqn for p in pgm(records) if p.sort == NAK and p.source == "10.77.0.2"}
        first = next(p for p in pgm(records) if p.sort == RDATA and p.sqn in asked)
        return without(first.place)(records)

    whole = audited(tmp_path, "pgm-loss-recovered-1", "B.pcap", list)
    report = audited(tmp_path, "pgm-loss-recovered-1", "B.pcap", spoil)
    assert errors(report) == []
    assert [f for f in said(report, "CP007") if f not in said(whole, "CP007")] == [
        ("CP007", "likely",
         "10.77.0.2 asked once for 1 packet of 10.77.0.1 and no more: it came, and the capture "
         "missed it; or it ended, or the sender had it no more.")
    ]  # fmt: skip
    found = said(report, "RA001", "RA002")
    assert found and {sure for _, sure, _ in found} == {"cannot be told"}


def test_a_clock_that_steps_behind_a_request_changes_nothing(tmp_path: Path) -> None:
    def spoil(records: Records) -> Records:
        first = next(p.place for p in pgm(records) if p.sort == NAK and p.source == "10.77.0.2")
        return [r.moved(6 * SECOND_NS) if n > first else r for n, r in enumerate(records)]

    whole = audited(tmp_path, "pgm-loss-recovered-1", "B.pcap", list)
    report = audited(tmp_path, "pgm-loss-recovered-1", "B.pcap", spoil)
    rules = ("PG001", "PG002", "RA001", "RA002", "RA003", "RA013", "CP007")
    assert said(report, *rules) == said(whole, *rules)


def test_what_is_asked_for_when_the_capture_ends_is_open(tmp_path: Path) -> None:
    def spoil(records: Records) -> Records:
        naks = [p for p in pgm(records) if p.sort == NAK and p.source == "10.77.0.2"]
        rounds = [p.place for p in naks if p.sqn == naks[0].sqn]
        return records[: rounds[4] + 1]

    report = audited(tmp_path, "pgm-unrecoverable-1", "B.pcap", spoil)
    (found,) = said(report, "PG008")
    assert found[2].endswith("asked for and are open at the end.")
    assert said(report, "PG002", "RA001") == []


def test_two_heartbeats_that_the_capture_missed_hide_no_loss(tmp_path: Path) -> None:
    def spoil(records: Records) -> Records:
        beats = [p.place for p in pgm(records) if p.source == "10.77.0.1" and p.sort == ODATA
                 and b"_X.HB" in records[p.place].data]  # fmt: skip
        return without(*beats[:2])(records)

    whole = audited(tmp_path, "frame-chain-loss-1", "B.pcap", list)
    report = audited(tmp_path, "frame-chain-loss-1", "B.pcap", spoil)
    assert said(report, "RA001") == said(whole, "RA001")
    assert {sure for _, sure, _ in said(report, "RA001")} == {"proven"}
    assert said(report, "RA012", "RA027", "RA028") == []


def test_a_number_whose_packet_nobody_asked_for_is_not_called_lost(tmp_path: Path) -> None:
    def spoil(records: Records) -> Records:
        data = [p.place for p in pgm(records) if p.source == "10.77.0.1" and p.sort == ODATA
                and b"_nats." in records[p.place].data]  # fmt: skip
        return without(data[len(data) // 2])(records)

    report = audited(tmp_path, "glsno-loss-1", "C.pcap", spoil)
    assert errors(report) == []
    assert [(sure, text) for _, sure, text in said(report, "RA004")] == [
        ("cannot be told",
         "1 number of A is not in this capture; no packet was surely given up.")
    ]  # fmt: skip


def test_a_capture_that_ends_behind_a_first_piece_says_nothing_of_the_message(
    tmp_path: Path,
) -> None:
    def spoil(records: Records) -> Records:
        mark = b"\x99\xaa\x44\xff"
        first = next(n for n, r in enumerate(records) if r.data[-4:] == mark)
        return records[: first + 1]

    report = audited(tmp_path, "large-1", "B.pcap", spoil)
    assert said(report, "RA023") == []


def test_from_a_change_of_subscriptions_that_is_missing_on_nothing_is_delivered_or_lost(
    tmp_path: Path,
) -> None:
    def spoil(records: Records) -> Records:
        left = next(n for n, r in enumerate(records)
                    if b"_S.LEAV" in r.data and r.data[26:30] == b"\x0a\x4d\x00\x03")  # fmt: skip
        return without(left)(records)

    report = audited(tmp_path, "late-join-3", "C.pcap", spoil)
    (found,) = said(report, "RA029")
    assert found[2] == "1 change of C's subscriptions is not in this capture"
    assert [f for f in said(report, "RA001", "RA002", "RA003", "RA013") if f[1] == "proven"] == []
    received = [s for s in report["streams"] if s["system"] == "raims" and s["role"] == "receiver"]
    assert any(s["delivered"] is None for s in received)


def test_over_tcp_missing_bytes_are_not_called_lost(tmp_path: Path) -> None:
    def spoil(records: Records) -> Records:
        data = [n for n, r in enumerate(records)
                if b"_7500.TICK.A" in r.data and r.data[26:30] == b"\x0a\x4d\x00\x01"
                and b"TICK.A#" in r.data]  # fmt: skip
        return without(data[len(data) // 2])(records)

    report = audited(tmp_path, "mesh-plain-1", "C.pcap", spoil)
    found = [f for f in report["findings"] if f["rule"] == "RA001"]
    assert {f["certainty"] for f in found} == {"cannot be told"}
    assert all("bytes of the connection are missing here" in f["text"] for f in found)
    lost = [s["lost"] for s in report["streams"] if s["system"] == "raims" and s["unknown"]]
    assert (lost, report["code"]) == ([None] * len(lost), 0)


def test_a_daemon_that_joins_long_after_convergence_has_an_uninterrupted_stream(
    tmp_path: Path,
) -> None:
    """No recording has one: here every heartbeat tells of a convergence a minute earlier."""

    def earlier(record: Record) -> Record:
        data = bytearray(record.data)
        at = 0
        while (at := data.find(b"\xc3\x45", at)) >= 0:  # field 69, converge, eight bytes
            told = int.from_bytes(data[at + 2 : at + 10], "big")
            if told >> 60 == 1:
                data[at + 2 : at + 10] = (told - 60 * SECOND_NS).to_bytes(8, "big")
                data[PGM_AT + 6 : PGM_AT + 8] = b"\0\0"  # no checksum, and none of UDP
                data[PGM_AT - 2 : PGM_AT] = b"\0\0"
            at += 2
        return replace(record, data=bytes(data))

    report = audited(
        tmp_path, "late-join-1", "C.pcap",
        lambda records: [earlier(r) if b"_X.HB" in r.data else r for r in records],
    )  # fmt: skip
    verdicts = {row["verdict"] for row in report["tables"]["raims"]["convergence"]}
    assert verdicts == {"uninterrupted by the design's criterion"}
    assert said(report, "RA013", "RA014") == []


def test_the_text_of_a_loss_has_the_bounds_that_the_publishers_capture_gives() -> None:
    folder = FIXTURES / "frame-silent-loss-1"
    given = [x for n, name in enumerate("AB") for x in ("--at", f"{name}.pcap=10.77.0.{n + 1}")]
    files = [str(folder / f"{name}.pcap") for name in "AB"]
    report = auditing.command([*given, *files]).report
    found = [f for f in report["findings"] if f["rule"] == "RA003"]
    lost = {(s["capture"], s["id"]): s["lost"] for s in report["streams"]}
    assert found
    for finding in found:
        exact = lost[finding["capture"], finding["stream"]]
        assert finding["text"].startswith(f"{exact} messages of ")


def beside(
    tmp_path: Path, recording: str, **spoil: Callable[[Records], Records]
) -> list[dict[str, Any]]:
    """What streams lost at B, of which a spoiled capture is audited together with one at A."""
    given: list[str] = []
    for name in "AB":
        capture = read(FIXTURES / recording / f"{name}.pcap")
        path = tmp_path / f"{name}.pcap"
        path.write_bytes(capture.of(spoil.get(name, list)(list(capture.records))).written())
        given += ["--at", f"{name}.pcap=10.77.0.{'AB'.index(name) + 1}", str(path)]
    report = auditing.command(given).report
    at_b = [s for s in report["streams"] if s["system"] == "raims" and s["receiver_name"] == "B"]
    return [stream for stream in at_b if stream["subject"].endswith("TICK.A")]


def without_packets(*sqns: int) -> Callable[[Records], Records]:
    """All copies of some packets of A left out."""
    return lambda records: without(
        *(x.place for x in pgm(records) if x.sort != NAK and x.sqn in sqns
          and x.source == "10.77.0.1")
    )(records)  # fmt: skip


def test_what_the_daemon_may_have_had_is_not_lost_as_the_publishers_capture_has_it(
    tmp_path: Path,
) -> None:
    """B tells that messages of unknown number are lost: one was. Its capture lacks the message
    before as well, which B had."""
    whole = beside(tmp_path, "frame-unknown-loss-1")
    holed = beside(tmp_path, "frame-unknown-loss-1", B=without_packets(17))
    bounds = [
        [(stream["lost"], stream["lost_upper"]) for stream in some] for some in (whole, holed)
    ]
    assert bounds == [[(1, 1)], [(1, 2)]]


def test_a_publishers_capture_with_a_hole_says_no_more_than_at_least(tmp_path: Path) -> None:
    (whole,) = beside(tmp_path, "frame-silent-loss-1")
    (holed,) = beside(tmp_path, "frame-silent-loss-1", A=without_packets(22, 24))
    assert whole["lost"] == whole["lost_upper"] == holed["lost"] + 2
    assert holed["lost_upper"] > whole["lost"]


def test_a_publishers_capture_that_goes_on_says_nothing_of_what_was_sent_later(
    tmp_path: Path,
) -> None:
    """B's capture ends while the packets that it gave up are the last it knows of."""

    def early(records: Records) -> Records:
        return records[: next(x.place for x in pgm(records) if x.sqn == 32 and x.sort == ODATA
                              and x.source == "10.77.0.1")]  # fmt: skip

    (whole,) = beside(tmp_path, "frame-silent-loss-1")
    (ended,) = beside(tmp_path, "frame-silent-loss-1", B=early)
    assert ended["lost"] <= whole["lost"] and ended["lost_upper"] >= whole["lost"]
    assert ended["losses"][-1]["before"] is None


@pytest.mark.parametrize("recording", ["frame-chain-loss-1", "rv-dataloss-1"])
@pytest.mark.parametrize("seconds", [-3600, -40, 40, 3600])
def test_a_clock_that_is_off_from_beginning_to_end_changes_no_loss(
    tmp_path: Path, recording: str, seconds: int
) -> None:
    """The daemons' own times say when their messages were sent, whatever the capture's clock."""
    lost = ("RA001", "RA002", "RA003", "RA008")
    whole = said(audited(tmp_path, recording, "B.pcap", list), *lost)
    off = audited(
        tmp_path,
        recording,
        "B.pcap",
        lambda records: [record.moved(seconds * SECOND_NS) for record in records],
    )
    assert said(off, *lost) == whole != []


@pytest.mark.parametrize("size", [64, 96, 128, 200])
def test_what_the_snap_length_cut_is_told_as_cut_and_not_as_damaged(
    size: int, tmp_path: Path
) -> None:
    def spoil(records: Records) -> Records:
        return [replace(record, data=record.data[:size]) for record in records]

    report = audited(tmp_path, "small-txw-1", "B.pcap", spoil)
    assert report["captures"][0]["undecoded"] == {}
    assert report["captures"][0]["frames_by"]["truncated"] > 10
    assert "CP004" in {f["rule"] for f in report["findings"]}
