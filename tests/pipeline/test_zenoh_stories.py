"""What is said of one recording when something was taken away from it.

A subscriber over UDP that asks for what it misses: 5, 11, 12 and 30 to 32 were lost, and came back.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.rotation import arranged
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp
from tests.decoders.zenoh import builders as z
from tests.degraded.auditing import command
from tests.degraded.captures import Record, read
from tests.replay.zenoh.test_engine import Session, pieces
from tests.rules.zenoh import zenoh

RECORDED = Path(__file__).parents[2] / "fixtures" / "zenoh" / "udp-loss-recovered-1"
HERE = read(RECORDED / "sub.pcap")
SECOND = 1_000_000_000


def audited(folder: Path, *files: Sequence[Record]) -> dict[str, Any]:
    """The report about one capture in files of these records, taken at the subscriber."""
    paths = [folder / f"{number}.pcap" for number in range(len(files))]
    for path, records in zip(paths, files, strict=True):
        path.write_bytes(HERE.of(list(records)).written())
    (group,) = arranged([str(path) for path in paths], insist=True)
    first, *more = group.files
    given = CaptureInput(first, at="10.77.0.2", more=tuple(more))
    return dict(audit([given], Options(engine="direct")))


def without(*frames: int) -> list[Record]:
    return [one for number, one in enumerate(HERE.records, 1) if number not in frames]


def said(report: dict[str, Any], rule: str) -> list[tuple[str, str, Any]]:
    return sorted(
        (f["severity"], f["certainty"], f["seqnos"])
        for f in report["findings"]
        if f["rule"] == rule
    )


def figures(report: dict[str, Any]) -> Any:
    (row,) = (s for s in report["streams"] if s.get("kind") == "samples")
    return row


def errors(report: dict[str, Any]) -> set[str]:
    return {f["rule"] for f in report["findings"] if f["severity"] == "error"}


def test_nothing_was_taken_away(tmp_path: Path) -> None:
    report = audited(tmp_path, HERE.records)
    assert (figures(report)["lost"], figures(report)["lost_proven"]) == (6, 3)
    assert said(report, "ZN001") == [
        ("warning", "likely", [[12, 12], [31, 32]]),
        ("warning", "proven", [[5, 5], [11, 11], [30, 30]]),
    ]


def test_a_reply_is_not_here(tmp_path: Path) -> None:
    """Frame 21: lost on the way back, as others were, or not captured; no frame says which."""
    report = audited(tmp_path, without(21))
    assert said(report, "ZN002") == [("error", "likely", [[11, 11]])]
    (found,) = (f for f in report["findings"] if f["rule"] == "ZN002")
    assert "(reply lost, or evicted)" in found["text"]
    assert "or it came and is not in this capture" in found["text"]
    assert figures(report)["lost_proven"] == 2


def test_three_samples_that_came_are_not_here(tmp_path: Path) -> None:
    report = audited(tmp_path, without(26, 27, 28))
    assert said(report, "CP007") == [("warning", "proven", [[16, 18]])]
    (missing,) = (f for f in report["findings"] if f["rule"] == "ZN005")
    assert (missing["certainty"], missing["text"][:8]) == ("likely", "6 frames")
    assert figures(report)["lost"] is None


def test_it_begins_with_a_request(tmp_path: Path) -> None:
    """For 11, which it lacked; 12 was lost too, and 13 had come live before the capture."""
    report = audited(tmp_path, HERE.records[19:])
    assert said(report, "ZN001") == [
        ("warning", "likely", [[11, 11], [31, 32]]),
        ("warning", "proven", [[30, 30]]),
    ]
    (found,) = (f for f in report["findings"] if f["seqnos"][:1] == [[11, 11]])
    assert "2 others came by the same answer" in found["text"]
    row = figures(report)
    assert row["lost"] is None and row["unknown"]["lost"].startswith("1 or more, 6 at most: ")
    assert (row["unrecovered"], row["delivered"][0][0]) == (0, 11)
    assert said(report, "CP015") == [("info", "proven", [])]


def test_two_records_changed_places(tmp_path: Path) -> None:
    records = list(HERE.records)
    records[25], records[26] = records[26], records[25]
    report = audited(tmp_path, records)
    assert said(report, "CP013") == [("info", "proven", [])]
    assert (said(report, "ZN006"), figures(report)["lost"]) == ([], 6)


def test_the_clock_was_set_back(tmp_path: Path) -> None:
    records = [
        one.moved(-30 * SECOND if number > 30 else 0)
        for number, one in enumerate(HERE.records, 1)
    ]  # fmt: skip
    report = audited(tmp_path, records)
    assert said(report, "CP014") == [("warning", "proven", [])]
    assert (said(report, "ZN004"), errors(report)) == ([], set())
    assert {certainty for _, certainty, _ in said(report, "ZN001")} == {"likely"}


def test_rotated_files_are_given_in_the_wrong_order(tmp_path: Path) -> None:
    parts = HERE.records[25:], HERE.records[:25]
    report = audited(tmp_path, *parts)
    whole = audited(tmp_path, HERE.records)
    for rule in ("ZN001", "ZN002", "ZN005", "ZN008"):
        assert said(report, rule) == said(whole, rule)
    assert figures(report)["lost"] == 6


def test_both_ends_are_merged(tmp_path: Path) -> None:
    """What was lost between them stands in the file: how much that was cannot be told."""
    there = read(RECORDED / "pub.pcap").records
    merged = sorted((*HERE.records, *there), key=lambda record: record.at_ns)
    report = audited(tmp_path, merged)
    (twice,) = (f for f in report["findings"] if f["rule"] == "CP017")
    assert twice["text"].endswith("6 datagrams stand here once.")
    row = figures(report)
    assert [row[name] for name in ("lost", "recovered", "delivered")] == [None] * 3
    assert "6 once" in row["unknown"]["lost"]


# -- rules of other recordings, and frames taken out of them (evidence, zenoh) ------------------

AT = {"sub.pcap": "10.77.0.2", "pub.pcap": "10.77.0.1"}


def told(folder: Path, rule: str, recording: str, *gone: int, beside: str | None = None) -> Any:
    """Certainty, numbers and text of a rule about a recording at the subscriber without frames.

    Args:
        beside: the capture of the publisher is given as well.
    """
    source, path = RECORDED.parent / recording, folder / "sub.pcap"
    capture = read(source / "sub.pcap")
    kept = [one for number, one in enumerate(capture.records, 1) if number not in gone]
    path.write_bytes(capture.of(kept).written())
    given = [CaptureInput(str(path), at=AT["sub.pcap"])]
    if beside is not None:
        given.append(CaptureInput(str(source / beside), at=AT[beside]))
    report = audit(given, Options(engine="direct"))
    return [
        (f["certainty"], f["seqnos"], f["text"]) for f in report["findings"] if f["rule"] == rule
    ]


def made(folder: Path, rule: str, *gone: int) -> list[tuple[str, Any]]:
    """Certainty and numbers of a rule about the session that the rules' tests make for it."""
    build, options = zenoh()[rule]
    path = folder / "made.pcap"
    path.write_bytes(build())
    capture = read(path)
    kept = [one for number, one in enumerate(capture.records, 1) if number not in gone]
    path.write_bytes(capture.of(kept).written())
    found = command([*options, str(path)]).report["findings"]
    return [(f["certainty"], f["seqnos"]) for f in found if f["rule"] == rule]


def test_a_periodic_query_seems_empty_where_its_reply_is_not_here(tmp_path: Path) -> None:
    """ZN010, of three; frame 5 declares the subscriber's key, 29 and 30 are a query and its end."""
    recording = "udp-last-lost-periodic-query-1"
    for gone, count in (((), 3), ((29,), 2), ((30,), 2)):
        ((certainty, _, text),) = told(tmp_path, "ZN010", recording, *gone)
        assert (certainty, text[:1]) == ("likely", str(count))
    assert told(tmp_path, "ZN010", recording, 5) == []


def test_samples_without_a_number_may_be_heartbeats_where_their_key_is_not_here(
    tmp_path: Path,
) -> None:
    """ZN012: a Put whose key is known proves it; frame 5 declares what the number stands for."""
    recording = "timestamp-cache-only-1"
    for gone, certainty in (((), "proven"), ((10,), "proven"), ((5,), "cannot be told")):
        assert [sure for sure, _, _ in told(tmp_path, "ZN012", recording, *gone)] == [certainty]


def test_a_query_that_never_ended_may_have_ended_in_a_frame_that_is_not_here(
    tmp_path: Path,
) -> None:
    """ZN013: 19 asks, 20 answers; who is not seen to ask is not said to wait."""
    for gone in ((), (20,)):
        ((certainty, _, text),) = told(tmp_path, "ZN013", "reply-lost-1", *gone)
        assert certainty == "likely" and "or its end is not in this capture" in text
    assert told(tmp_path, "ZN013", "reply-lost-1", 19) == []


def test_what_was_handed_on_before_the_request_did_not_wait_for_its_answer(tmp_path: Path) -> None:
    """ZN014: in frames 9 to 16 are samples that it had, as its request begins behind them: without
    one of them those behind it waited for nothing all the same."""
    whole = told(tmp_path, "ZN014", "reply-lost-1")
    ((certainty, seqnos, text),) = whole
    assert (certainty, seqnos) == ("likely", [[13, 29]])
    assert "17 in all, the longest for 10.000 s" in text
    for gone in (9, 12, 16):
        assert told(tmp_path, "ZN014", "reply-lost-1", gone) == whole
    assert told(tmp_path, "ZN014", "reply-lost-1", 19) == []


def test_a_message_that_was_given_up_is_one_that_lost_a_piece_without_its_mark(
    tmp_path: Path,
) -> None:
    """ZN015: 9 begins it, 10 says that it is given up."""
    assert made(tmp_path, "ZN015") == [("likely", [])]
    assert made(tmp_path, "ZN015", 9) == made(tmp_path, "ZN015", 10) == []


@pytest.mark.parametrize(
    ("rule", "recording", "whole", "gone", "seqnos"),
    [
        ("ZN019", "udp-last-lost-undetected-1", [[18, 19]], 25, [[17, 19]]),
        ("ZN020", "udp-first-lost-1", [[0, 1]], 9, [[0, 1], [3, 3]]),
        ("ZN021", "heartbeat-lost-1", [], 20, []),
    ],
)
def test_what_left_and_is_not_here_was_lost_or_not_captured(
    rule: str, recording: str, whole: Any, gone: int, seqnos: Any, tmp_path: Path
) -> None:
    """With both captures: a frame that came and was taken out is among it, so nothing is proven."""
    for without_it, numbers in (((), whole), ((gone,), seqnos)):
        ((certainty, found, _),) = told(tmp_path, rule, recording, *without_it, beside="pub.pcap")
        assert (certainty, found) == ("likely", numbers)
    assert told(tmp_path, rule, recording) == []  # one end alone does not show it


def test_what_is_missing_between_two_sessions_may_have_come_in_them(tmp_path: Path) -> None:
    """ZN022: 12 and 20 are the last sample of the first session and the first of the next."""
    assert made(tmp_path, "ZN022") == [("likely", [[5, 8]])]
    assert made(tmp_path, "ZN022", 12) == [("likely", [[4, 8]])]
    assert made(tmp_path, "ZN022", 20) == [("likely", [[5, 9]])]
    assert made(tmp_path, "ZN022", 14) == []  # whose second session it is nobody says


def test_what_the_documents_machine_would_have_done_is_never_proven(tmp_path: Path) -> None:
    """ZN023 and ZN024, which equal numbers of two publishers of a session show."""
    assert made(tmp_path, "ZN023") == made(tmp_path, "ZN023", 9) == [("likely", [])]
    assert made(tmp_path, "ZN024") == [("likely", [[0, 1]])]
    assert made(tmp_path, "ZN024", 9) == [("likely", [[0, 0]])]
    assert made(tmp_path, "ZN024", 3) == []


@pytest.mark.parametrize(
    ("rule", "whole", "gone", "then"),
    [
        ("ZN003", [("likely", [[2, 3]])], 9, [("likely", [[1, 3]])]),  # a sample before the tail
        ("ZN003", [("likely", [[2, 3]])], 5, []),  # the key of its samples
        ("ZN007", [("likely", [[2, 2]])], 9, [("likely", [[1, 2]])]),
        ("ZN007", [("likely", [[2, 2]])], 10, []),  # what shows the gap
        ("ZN009", [("likely", [])], 30, [("likely", [])]),
        ("ZN009", [("likely", [])], 10, []),  # one request less than a storm has
        ("ZN016", [("likely", [])], 9, [("likely", [])]),  # its first piece
        ("ZN016", [("likely", [])], 3, []),  # the Open without which the counter's start is unknown
        # its request; it ends so soon that it may have been about to ask
        ("ZN018", [("cannot be told", [[1, 1]])], 10, [("cannot be told", [[1, 1]])]),
    ],
)
def test_what_a_frame_that_is_not_here_changes_is_not_proven_by_the_others(
    rule: str, whole: Any, gone: int, then: Any, tmp_path: Path
) -> None:
    """Of these rules nothing is proven (evidence, zenoh): they lack what nobody proves to be."""
    assert made(tmp_path, rule) == whole
    assert made(tmp_path, rule, gone) == then


def test_who_asks_for_nothing_that_a_heartbeat_tells_of_had_it_or_asked_elsewhere(
    tmp_path: Path,
) -> None:
    """ZN003: 25 is the request behind the heartbeat, 26 its answer."""
    recording = "udp-last-lost-hb-cache-small-1"
    assert told(tmp_path, "ZN003", recording) == []
    ((sure, lost, _),) = told(tmp_path, "ZN003", recording, 26)
    assert (sure, lost) == ("likely", [[15, 19]])
    ((sure, lost, text),) = told(tmp_path, "ZN003", recording, 25)
    assert (sure, lost) == ("cannot be told", [[18, 19]])
    assert "had them, or its request is not in this capture either" in text


def test_what_came_again_is_what_is_here_twice(tmp_path: Path) -> None:
    """ZN008: 17 came live in frame 17, and by the reply that 20 ends."""
    assert told(tmp_path, "ZN008", "udp-cache-too-small-1")[0][:2] == ("likely", [[17, 17]])
    for gone in (17, 20):
        assert told(tmp_path, "ZN008", "udp-cache-too-small-1", gone) == []


def test_control_messages_are_needless_only_where_no_sample_may_be_missing(tmp_path: Path) -> None:
    """ZN011: 15 and 25 are heartbeats, 10 to 24 samples; 1 begins the session."""
    ((sure, _, text),) = told(tmp_path, "ZN011", "heartbeat-lost-1")
    assert (sure, text.startswith("2 control messages")) == ("likely", True)
    ((sure, _, text),) = told(tmp_path, "ZN011", "heartbeat-lost-1", 25)
    assert (sure, text.startswith("1 control message ")) == ("likely", True)
    for gone in (1, 11, 15):
        assert told(tmp_path, "ZN011", "heartbeat-lost-1", gone) == []


def test_a_number_of_a_key_is_proven_to_have_no_declaration_here(tmp_path: Path) -> None:
    """ZN017: 5 declares the key; that it was not sent nobody says."""
    assert told(tmp_path, "ZN017", "udp-loss-recovered-1") == []
    ((sure, _, text),) = told(tmp_path, "ZN017", "udp-loss-recovered-1", 5)
    assert (sure, text.endswith("is not in this capture.")) == ("proven", True)


def test_a_fragment_that_the_network_doubled_is_no_sample_and_no_frame_that_was_sent_twice(
    tmp_path: Path,
) -> None:
    """Sample 1 and 3 come in two fragments. Of 1 the first one comes twice and the second one does
    not come; of 3 the last one comes twice."""
    session = Session().put(0)
    broken = len(session.payloads)
    pieces(session, z.push(z.put(1, b"x" * 90)), 60)
    session.put(2)
    whole = len(session.payloads) + 1
    pieces(session, z.push(z.put(3, b"x" * 90)), 60)
    session.put(4)
    frames, times = [], []
    for place, payload in enumerate(session.payloads):
        turn = -1 if place in session.back else 1
        sender, receiver = ("10.77.0.1", "10.77.0.2")[::turn]
        datagram = udp(payload, *(40_000, 7447)[::turn])
        frame = ethernet(ipv4(datagram, sender, receiver, ident=place + 1))
        at_ns = round(session.times[place] * 1000) * 1_000_000
        for copy in range(0 if place == broken + 1 else 1 + (place in (broken, whole))):
            frames.append(frame)
            times.append(at_ns + copy * 200_000)
    path = tmp_path / "doubled.pcap"
    path.write_bytes(pcap(frames, times_ns=times))
    report = command(["--at", "10.77.0.2", str(path)]).report
    row = figures(dict(report))
    assert row["live"] == [[0, 0], [2, 4]]
    assert (row["copies"], row["network_duplicates"]) == (0, 0)
    (way,) = (s for s in report["streams"] if s["kind"] == "transport" and s["copies"])
    assert (way["copies"], way["network_duplicates"], way["missing"]) == (2, 2, 1)
    assert [f["seqnos"] for f in report["findings"] if f["rule"] == "ZN006"] == [[]]
