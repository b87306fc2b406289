"""A false proven finding is noticed, by what the whole capture proves and by the truth."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.agreement import wire
from tests.degraded import claims, figures
from tests.degraded.auditing import Audited
from tests.degraded.figures_daemons import COUNTERS
from tests.degraded.run import Choice, judge, of_one, spoil_all
from tests.degraded.subjects import Recording, find
from tests.degraded.truths.jgroups import GMS_JOIN_RSP, Facts
from tests.degraded.ways import WAYS

STREAM = "lab|0d0bc374-c78a-45c9-b99d-54e955f6d33a|822e0621-0d7a-48c9-912e-6e435d2c7c23|1"


def row(rule: str, seqnos: list[list[int]], **more: Any) -> dict[str, Any]:
    """A finding as a report has it."""
    return {
        "rule": rule,
        "severity": "warning",
        "certainty": "proven",
        "system": "unicast3",
        "stream": STREAM,
        "capture": 0,
        "seqnos": seqnos,
        "text": f"{len(seqnos)} messages of B were lost on the way to C.",
        **more,
    }


def report(*rows: Mapping[str, Any]) -> dict[str, Any]:
    return {"findings": list(rows), "streams": [{"capture": 0, "id": STREAM}]}


def news(before: dict[str, Any], after: Mapping[str, Any]) -> str | None:
    """What a finding adds to a whole report."""
    whole = claims.Whole()
    whole.add(before)
    (found,) = claims.findings(report(after))
    return whole.news(found)


def test_the_same_finding_with_fewer_seqnos_is_not_new() -> None:
    assert news(report(row("UC001", [[3, 9]])), row("UC001", [[4, 5], [9, 9]])) is None


def test_a_seqno_more_is_new() -> None:
    assert news(report(row("UC001", [[3, 9]])), row("UC001", [[4, 5], [10, 11]])) == "also 10-11"


def test_another_rule_of_the_same_seqnos_is_new() -> None:
    assert news(report(row("UC001", [[3, 9]])), row("UC002", [[3, 3]])) == "no such finding"


def test_what_was_lost_was_missing_before_and_so_not_new() -> None:
    assert news(report(row("UC001", [[3, 9]])), row("UC033", [[3, 3]])) is None


def test_a_likely_finding_of_the_whole_makes_a_proven_one_new() -> None:
    before = report(row("UC001", [[3, 9]], certainty="likely"))
    assert news(before, row("UC001", [[3, 3]])) == "no such finding"


def test_a_larger_count_is_new_where_no_seqnos_are_listed() -> None:
    before = report(row("RA001", [], text="3 messages of A were lost; raims counts them."))
    after = row("RA001", [], text="4 messages of A were lost; raims counts them.")
    assert news(before, after) == "4 instead of 3"


def test_a_stream_that_the_whole_has_not_is_compared_by_its_members() -> None:
    nameless = STREAM.rpartition("|")[0] + "|"
    before = report(row("UC001", [[3, 9]]))
    whole = claims.Whole()
    whole.add(before)
    (found,) = claims.findings({"findings": [row("UC001", [[3, 3]], stream=nameless)]})
    assert whole.news(found) is None
    (found,) = claims.findings({"findings": [row("UC002", [[3, 3]], stream=nameless)]})
    assert whole.news(found) == "no such finding"


def test_a_space_that_wraps_is_compared_as_it_is_on_the_wire() -> None:
    streams = [{"capture": 0, "id": STREAM, "resolution_mask": 255}]
    whole = claims.Whole()
    whole.add({"findings": [row("ZN005", [[300, 301]])], "streams": streams})
    (found,) = claims.findings({"findings": [row("ZN005", [[44, 45]])], "streams": streams})
    assert whole.news(found) is None


def test_a_text_of_the_capture_alone_is_no_claim_of_the_wire() -> None:
    (of_it,) = claims.findings(report(row("ZN005", [], text="3 frames are not in this capture.")))
    (of_both,) = claims.findings(
        report(row("ZN005", [], text="3 frames were lost; one is not in this capture."))
    )
    text = "1 message of B was asked for, and no copy is in this capture, which ended too soon."
    (asked,) = claims.findings(report(row("UC033", [[3, 3]], text=text)))
    assert (of_it.of_the_capture, of_both.of_the_capture) == (True, False)
    assert asked.of_the_capture


def test_recovered_and_not_recovered_contradict_each_other() -> None:
    found = claims.findings(report(row("UC001", [[3, 9]]), row("UC002", [[9, 12]])))
    assert [(f.rule, why) for f, why in claims.contradictions(found)] == [
        ("UC002", "9 by UC001 too")
    ]


def test_an_audit_that_ends_in_a_traceback_is_noticed() -> None:
    bad = Audited(2, {}, "Traceback\n  File x\nKeyError: 'y'\nerror: this is a fault of seqaudit")
    assert bad.crash is not None
    assert bad.crash.startswith("KeyError: 'y'")
    assert Audited(2, {}, "error: no such file").crash is None


def recording(fixtures: Path, name: str) -> Recording:
    (found,) = find(fixtures, name)
    return found


def refuted(of: Recording, file: str, *rows: Mapping[str, Any], **stream: Any) -> list[str]:
    """Rules of these findings that the truth refutes; the whole capture proves all of them."""
    said = {
        "findings": [dict(one, stream=stream["id"]) for one in rows],
        "streams": [{"capture": 0, **stream}],
    }
    whole = claims.Whole()
    whole.add(said)
    audited = Audited(1, said)
    return [
        v.rule for v in judge(of, file, (file,), whole, audited, "x", "y") if v.kind == "refuted"
    ]


def test_a_console_confirms_lost_point_to_point_messages_or_refutes_them(fixtures: Path) -> None:
    """What it confirms is not new either, though the whole capture may not prove it."""
    of = recording(fixtures, "rv-dataloss-1")
    shows = {"end": {"B": {"show loss": [{"user": "A.1", "ibx loss": 4, "msg loss": 0}]}}}
    of.truth = {**of.truth, "show": shows}
    one = row("RA010", [], text="1 point-to-point message of A was lost.")
    five = row("RA010", [], text="At least 5 point-to-point messages of A were lost.")
    assert refuted(of, "B.pcap", one, id="") == []
    assert refuted(of, "B.pcap", five, id="") == ["RA010"]
    said = Audited(1, {"findings": [dict(one, stream="")], "streams": []})
    assert judge(of, "B.pcap", ("B.pcap",), claims.Whole(), said, "x", "y") == []


def test_the_truth_refutes_a_multicast_loss_that_the_path_did_not_make(fixtures: Path) -> None:
    of = recording(fixtures, "n2-loss-1")
    multicast = of.truth["derived_from_captures"]["multicast"]
    sender, receiver, lost = next(
        (sender, receiver, set(figures["exact"]["first_copy_lost"]))
        for sender, stream in multicast.items()
        for receiver, figures in stream["receivers"].items()
        if figures.get("exact") and figures["exact"]["first_copy_lost"]
    )
    file = of.truth["captures"][receiver]["file"]
    kept = next(n for n in range(1, 1000) if n not in lost)
    stream = {"id": f"lab|{of.truth['members'][sender]['uuid']}", "system": "nakack2"}
    true = row("MC001", [[min(lost), min(lost)]], system="nakack2")
    false = row("MC001", [[kept, kept]], system="nakack2")
    never = row("MC002", [[kept, kept]], system="nakack2")
    had = row("CP007", [[kept, kept]], system="nakack2")
    unsent = row("CP007", [[999, 999]], system="nakack2")
    assert refuted(of, file, true, **stream) == []
    assert refuted(of, file, false, **stream) == ["MC001"]
    assert refuted(of, file, never, **stream) == ["MC002"]
    assert refuted(of, file, had, **stream) == []
    assert refuted(of, file, unsent, **stream) == ["CP007"]


def test_the_truth_refutes_own_acks_missing_that_were_never_sent(fixtures: Path) -> None:
    of = recording(fixtures, "u3-sync-storm-1")
    file = of.truth["captures"]["C"]["file"]
    true = row("CP030", [], text="2 ACKs are not in this capture: timestamp 1-2.")
    false = row("CP030", [], text="1 ACK is not in this capture: timestamp 1, 99999.")
    assert refuted(of, file, true, id=STREAM) == []
    assert refuted(of, file, false, id=STREAM) == ["CP030"]


def test_the_truth_refutes_packets_lost_that_the_switch_let_pass(fixtures: Path) -> None:
    of = recording(fixtures, "rv-dataloss-1")
    dropped = [a for a in of.truth["switch_actions"]["list"] if a["kind"] == "ODATA"]
    lost = dropped[0]["pgm_sqn"]
    kept = next(n for n in range(1000) if n not in {a["pgm_sqn"] for a in dropped})
    stream = {"id": "tsi", "sender": of.truth["nodes"]["A"]["ip"]}
    assert refuted(of, "B.pcap", row("PG002", [[lost, lost]], system="pgm"), **stream) == []
    assert refuted(of, "B.pcap", row("PG002", [[kept, kept]], system="pgm"), **stream) == ["PG002"]


def test_the_truth_refutes_more_messages_lost_than_the_daemon_counted(fixtures: Path) -> None:
    of = recording(fixtures, "rv-dataloss-1")
    bridge = of.truth["nodes"]["A"]["instances"][0]["bridge"]
    stream = {"id": f"{bridge}|_7500.RSF.REC.MCD.N"}
    few = row("RA001", [], text="1 message of A was lost; raims counts them.")
    many = row("RA001", [], text="99 messages of A were lost; raims counts them.")
    assert refuted(of, "B.pcap", few, **stream) == []
    assert refuted(of, "B.pcap", many, **stream) == ["RA001"]


def test_a_skewed_clock_is_never_so(fixtures: Path) -> None:
    of = recording(fixtures, "rv-dataloss-1")
    assert refuted(of, "B.pcap", row("RA016", []), id="x") == ["RA016"]


def test_a_likely_finding_is_not_refuted(fixtures: Path) -> None:
    of = recording(fixtures, "rv-dataloss-1")
    assert refuted(of, "B.pcap", row("RA016", [], certainty="likely"), id="x") == []


def test_whole_captures_prove_nothing_that_is_not_so(fixtures: Path) -> None:
    whole = Choice(ways=tuple(way for way in WAYS if way.name == "whole"))
    spoiled, wrong = 0, []
    for name in ("n2-loss-1", "rv-dataloss-1"):
        of = recording(fixtures, name)
        for file in of.places:
            outcome = spoil_all(of, file, whole)
            spoiled += outcome.spoiled
            wrong += outcome.violations
    assert wrong == []
    assert spoiled > 5


def test_figures_without_a_vantage_are_the_same_or_null() -> None:
    given = {"streams": [{"id": "s", "lost": 3, "recovered": None}], "totals": {"lost": 3}}
    same = {"streams": [{"id": "s", "lost": None, "recovered": None}], "totals": {"lost": None}}
    other = {"streams": [{"id": "s", "lost": 0, "recovered": 0}], "totals": {"lost": 0}}
    assert list(figures.differences(given, given)) == []
    assert list(figures.differences(given, same)) == []
    assert list(figures.differences(given, other)) == [
        ("lost", "s", "0, with --at 3"),
        ("recovered", "s", "0, with --at None"),
        ("lost", "totals", "0, with --at 3"),
    ]


def test_figures_of_a_spoiled_capture_are_no_others_than_those_of_the_whole() -> None:
    def said(numbers: str, lost: int | None, delivered: list[list[int]] | None) -> dict[str, Any]:
        first, _, last = numbers.partition("-")
        row = {"id": "s", "system": "raims", "role": "receiver", "sender": "A", "lost": lost}
        ends = {"first_seqno": int(first), "last_seqno": int(last)}
        loss: dict[str, Any] = {
            "observer": "B",
            "bridge": "A",
            "unknown": {},
            **dict.fromkeys(COUNTERS, lost),
        }
        tables = {"raims": {"loss": [loss]}}
        return {"streams": [row | ends | {"delivered": delivered}], "tables": tables}

    def wrong(other: dict[str, Any]) -> list[str]:
        told = figures.beside(said("1-9", 2, [[1, 4], [7, 9]]), other)
        return [name for name, _, _ in told.wrong]

    assert wrong(said("1-9", 2, [[1, 4], [7, 9]])) == wrong(said("1-9", None, None)) == []
    assert wrong(said("3-8", 1, [[3, 4], [7, 8]])) == []
    assert wrong(said("3-8", 3, [[3, 3], [7, 8]])) == ["lost", "delivered", *COUNTERS]
    assert wrong(said("1-9", 1, None)) == ["lost", "msg_loss"]
    bounded = said("1-9", 1, None)
    bounded["streams"][0]["lost_upper"] = 7  # another capture would tell how many
    assert wrong(bounded) == ["msg_loss"]
    assert wrong(said("1-9", 2, [])) == ["delivered"]
    copied = said("1-9", 2, [[1, 4], [7, 8], [2, 2], [9, 9], [3, 3]])
    early, more = [[1, 4], [7, 8], [2, 2]], [[1, 4], [7, 8], [2, 2], [2, 2]]
    told = [figures.beside(copied, said("1-8", 2, had)).wrong for had in (early, more)]
    assert [bool(wrong) for wrong in told] == [False, True]
    assert figures.beside(said("1-9", 2, None), said("1-9", 2, None)).figures == 6


def test_what_a_daemon_counts_is_less_where_the_last_packets_of_a_tsi_are_missing() -> None:
    """They may have held copies (late-dup-1 B without frame 551)."""

    def said(counted: int, last: int) -> dict[str, Any]:
        loss = {"observer": "B", "bridge": "A", "unknown": {}} | dict.fromkeys(COUNTERS, counted)
        stream = {"id": "s", "system": "raims", "role": "receiver", "sender": "A",
                  "first_seqno": 1, "last_seqno": 9, "counted_loss": counted}  # fmt: skip
        tsi = {"id": "p", "system": "pgm", "role": "sender", "sender": "X", "last_seqno": last}
        return {"streams": [stream, tsi], "tables": {"raims": {"loss": [loss]}}}

    def wrong(counted: int, last: int) -> list[str]:
        told = figures.beside(said(4, 1003), said(counted, last))
        return [name for name, _, _ in told.wrong]

    assert wrong(4, 1003) == wrong(2, 1002) == []
    assert wrong(2, 1003) == ["counted_loss", "msg_loss"]
    assert "counted_loss" in wrong(5, 1002)


def test_what_jgroups_members_lost_and_delivered_is_what_they_did_in_the_whole() -> None:
    def said(lost: list[list[int]], delivered: list[list[int]] | None) -> dict[str, Any]:
        row = {"id": "s", "system": "nakack4", "role": "receiver", "lost": len(lost), "unknown": {}}
        seqnos = {"lost_seqnos": lost, "unrecovered_seqnos": [], "delivered": delivered}
        return {"streams": [row | seqnos]}

    def wrong(lost: list[list[int]], delivered: list[list[int]] | None) -> list[str]:
        told = figures.beside(said([[3, 3], [5, 5]], [[1, 9]]), said(lost, delivered))
        return [name for name, _, _ in told.wrong]

    assert wrong([[5, 5]], [[4, 7]]) == wrong([], []) == wrong([], None) == []
    assert wrong([[4, 4]], [[4, 5], [7, 7]]) == ["lost_seqnos", "delivered"]
    assert wrong([[3, 5]], [[8, 10]]) == ["lost_seqnos", "lost", "delivered"]
    assert figures.beside(said([], []), said([], [])).figures == 4
    # 5 had come when it was asked for: without the frame in which it came it was missing, not 6
    in_vain = said([], []) | {"findings": [row("MC013", [[5, 5]], stream="s")]}
    told = [figures.beside(in_vain, said([[seqno, seqno]], [])).wrong for seqno in (5, 6)]
    assert [[name for name, _, _ in one] for one in told] == [[], ["lost_seqnos"]]
    for seqno, names in ((5, []), (6, ["unrecovered_seqnos"])):  # or it never came again
        never = said([], None)
        never["streams"][0]["unrecovered_seqnos"] = [[seqno, seqno]]
        assert [name for name, _, _ in figures.beside(in_vain, never).wrong] == names


def test_what_a_member_that_left_asked_for_and_got_was_lost_where_its_view_is_not_seen() -> None:
    def said(lost: list[list[int]], unrecovered: list[list[int]]) -> dict[str, Any]:
        row = {"id": "s", "system": "nakack4", "role": "receiver", "lost": 1, "unknown": {}}
        seqnos = {"lost_seqnos": lost, "unrecovered_seqnos": unrecovered, "delivered": None}
        return {"streams": [row | seqnos]}

    gap = {"stream": "s", "seqnos": [[5, 5]], "outcome": "open at the member's end"}
    whole = said([], []) | {"gaps": [gap | {"repaired_frame": None}]}
    for lost, unrecovered, wrong in (
        ([[5, 5]], [], []),
        ([[6, 6]], [], ["lost_seqnos"]),
        ([[5, 5]], [[5, 5]], ["unrecovered_seqnos"]),  # nobody knows what it still got
    ):
        told = figures.beside(whole, said(lost, unrecovered))
        assert [name for name, _, _ in told.wrong] == wrong


def test_what_was_repaired_behind_the_end_of_a_spoiled_capture_it_rightly_lacks() -> None:
    def said(
        unrecovered: list[list[int]], gaps: list[dict[str, Any]], frames: int, last_ns: int
    ) -> dict[str, Any]:
        row = {"id": "s", "system": "unicast3", "role": "receiver", "lost": 1, "unknown": {}}
        seqnos = {"lost_seqnos": [[5, 5]], "unrecovered_seqnos": unrecovered, "delivered": None}
        captures = [{"frames": frames, "last_ns": last_ns}]
        return {"streams": [row | seqnos], "gaps": gaps, "captures": captures}

    gap = {"stream": "s", "seqnos": [[5, 5]], "repaired_frame": 90, "revealed_at_ns": 100}
    gap["outcome"] = "recovered"
    times = {"requested_after_ns": 20, "repaired_after_ns": 30}
    whole = said([], [gap | times], 120, 200)
    for frames, last_ns, wrong in (
        (80, 140, []),  # cut before the repair
        (80, 160, ["unrecovered_seqnos"]),  # some is missing in between, and the repair
        (100, 140, ["unrecovered_seqnos"]),  # its clock was set back
    ):
        told = figures.beside(whole, said([[5, 5]], [], frames, last_ns))
        assert [name for name, _, _ in told.wrong] == wrong


@pytest.mark.parametrize(
    ("delivered", "right"),
    [
        ([[6, 9], [2, 3]], True),  # begun in the middle: from there the same
        ([[9, 9], [2, 2]], True),
        ([[6, 9], [3, 3]], False),
        ([[6, 8], [2, 3]], False),
        ([[6, 9], [2, 3], [7, 8]], True),
        ([[6, 9], [2, 2], [7, 8]], False),
    ],
)
def test_what_a_window_that_was_rebuilt_below_the_beginning_delivers_goes_on_from_it(
    delivered: list[list[int]], right: bool
) -> None:
    def said(ranges: list[list[int]]) -> dict[str, Any]:
        row = {"id": "s", "system": "unicast3", "role": "receiver", "lost": 0, "unknown": {}}
        seqnos = {"lost_seqnos": [], "unrecovered_seqnos": [], "delivered": ranges}
        return {"streams": [row | seqnos]}

    told = figures.beside(said([[1, 9], [2, 3], [7, 8]]), said(delivered))
    assert ([name for name, _, _ in told.wrong] == []) is right


def test_a_small_capture_is_tried_at_every_frame(fixtures: Path) -> None:
    of, file = recording(fixtures, "rv-dataloss-1"), "A-client.pcap"
    frames = len(of.captures[file].records)
    ways = tuple(way for way in WAYS if way.name in ("head", "single"))
    outcome = spoil_all(of, file, Choice(ways=ways, small=frames))
    assert outcome.by_way == {
        "head": frames - 1, "single": frames
    }  # fmt: skip


def test_findings_of_rotated_files_are_those_of_one_file() -> None:
    one = report(row("UC001", [[3, 9]]))
    assert list(figures.other_findings(one, one)) == []
    (only,) = figures.other_findings(one, report(row("UC001", [[3, 9]]), row("UC005", [[4, 4]])))
    assert only[0] == "UC005"
    assert only[1].startswith("only in several: proven")
    (less,) = figures.other_findings(one, report())
    assert less[1].startswith("only in one file")


@pytest.mark.parametrize(("before", "dropped"), [(50, set()), (51, set(range(1, 52)))])
def test_what_came_before_a_join_may_have_been_dropped_if_it_is_more_than_waits(
    before: int, dropped: set[int]
) -> None:
    def came(seqno: int) -> SimpleNamespace:
        return SimpleNamespace(gms=None, sender="a", nakack=wire.Nakack(1, seqno, None, "nakack4"))

    join = SimpleNamespace(gms=GMS_JOIN_RSP, sender="a", destination="b", nakack=None)
    known = object.__new__(Facts)
    known.scenario = SimpleNamespace(  # type: ignore[assignment]
        uuids={"A": "a", "B": "b"},
        messages=lambda _: [*map(came, range(1, before + 1)), join, *map(came, range(60, 99))],
    )
    (found,) = claims.findings(report(row("MC024", [[20, 20]], stream="lab|a", system="nakack4")))
    assert known.unqueued("A", "B", found) == dropped


def test_each_capture_of_a_report_is_held_against_its_own_whole() -> None:
    """What a daemon counted by the end of its own capture: others may go on for longer."""
    rows = [{"capture": number, "msg_loss": number} for number in (0, 1)]
    parts = {"streams": rows, "tables": {"raims": {"loss": rows}}, "captures": [{"capture": 1}]}
    (one,) = rows[1:]
    assert of_one(parts, 1) == {
        "streams": [one], "tables": {"raims": {"loss": [one]}}, "captures": [{"capture": 1}],
    }  # fmt: skip


def test_a_daemon_dropped_its_peers_when_it_did_in_the_whole() -> None:
    """Where the capture goes on as long, and its clock is the same."""

    def said(at_ns: int | None, last_ns: int = 9_000_000_000, **more: int) -> dict[str, Any]:
        loss: dict[str, Any] = {
            "observer": "B",
            "bridge": "A",
            "unknown": {},
            "dropped_ns": at_ns,
        } | more
        rows = {"streams": [], "tables": {"raims": {"loss": [loss]}}}
        return rows | {"captures": [{"last_ns": last_ns}]}

    def wrong(one: dict[str, Any], other: dict[str, Any], *, timed: bool = True) -> list[str]:
        return [name for name, _, _ in figures.beside(one, other, timed=timed).wrong]

    dropped = said(5_000_000_000)
    assert wrong(dropped, said(5_040_000_000)) == []
    assert wrong(dropped, said(7_000_000_000)) == wrong(said(None), dropped) == ["dropped_ns"]
    assert wrong(dropped, said(None)) == ["dropped_ns"]
    assert wrong(dropped, said(None, 4_000_000_000)) == []
    assert wrong(dropped, said(7_000_000_000), timed=False) == []
    assert wrong(said(None, told_loss=2), said(None, told_loss=3)) == ["told_loss"]
    assert wrong(said(None, lost_upper=2), said(None, lost_lower=3)) == ["lost_lower"]
