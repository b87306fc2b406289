"""The replay stage: the same results however a capture was cut into pieces and batches."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import EVENTS, NO_CONVERSATION, Flag, Kind
from seqaudit.replay.contract.engine import COLUMNS, Joining
from seqaudit.replay.contract.engine import Row as EventRow
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import RESULTS
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings, Vantage
from seqaudit.replay.jgroups.mcast.engine import McastEngine
from seqaudit.replay.stages import replay as stage
from tests.replay.builders import (
    ADDRESS,
    B,
    C,
    D,
    Step,
    ack,
    dated,
    highest,
    join_rsp,
    member,
    msg,
    stable,
    view,
    xmit_req,
    xmit_rsp,
)
from tests.replay.jgroups.unicast.builders import ack as uc_ack
from tests.replay.jgroups.unicast.builders import data

MCAST: Final = "mcast|lab"
AT_B: Final = CaptureSettings(Vantage("member", ADDRESS[B], "given"))
AT_A: Final = CaptureSettings(Vantage("member", ADDRESS["A"], "given"))
BETWEEN: Final = CaptureSettings(Vantage("between"))

Row = dict[str, Any]


def row_of(event: Event, conversation: str = MCAST, capture: int = 0) -> Row:
    """An event as a row of the contract."""
    row: Row = {name: getattr(event, name, None) for name in EVENTS.names}
    return row | {
        "capture": capture,
        "conversation": conversation,
        "kind": int(event.kind),
        "flags": int(event.flags),
        "last_frame": event.frame if event.last_frame < 0 else event.last_frame,
        "last_at_ns": event.at_ns if event.last_at_ns < 0 else event.last_at_ns,
    }


def in_runs(rows: Iterable[Row], cuts: frozenset[int] = frozenset()) -> list[Row]:
    """Rows of single messages as a decoder emits them: in runs that end at ``cuts`` as well."""
    found: list[Row] = []
    open_: dict[str, Row] = {}
    for place, row in enumerate(rows):
        if place in cuts:  # a piece's border
            open_.clear()
        if row["kind"] not in (Kind.DATA, Kind.RETRANSMISSION):
            if row["kind"] != Kind.MEMBER:
                if row["stream"] is None:
                    open_.clear()
                else:
                    open_.pop(row["stream"], None)
            found.append(row)
            continue
        run = open_.get(row["stream"])
        alike = ("kind", "wire_kind", "flags", "source", "destination")
        if (
            run is not None
            and run["stop_seqno"] == row["seqno"]
            and all(run[name] == row[name] for name in alike)
        ):
            for name in ("last_frame", "last_at_ns", "stop_seqno", "last_fresh_id"):
                run[name] = row[name]
            run["count"] += row["count"]
            run["size"] += row["size"]
            continue
        open_[row["stream"]] = row = dict(row)
        found.append(row)
    return sorted(found, key=lambda row: (row["capture"], row["frame"], row["index"]))


def batches(rows: list[Row], sizes: Iterable[int] = ()) -> Iterator[pa.RecordBatch]:
    """Rows as batches of these sizes, what is left in one."""
    sizes = iter(sizes)
    while rows:
        size = next(sizes, len(rows))
        part, rows = rows[:size], rows[size:]
        yield pa.RecordBatch.from_pylist(part, schema=EVENTS)


def replayed(
    rows: list[Row], *captures: CaptureSettings, sizes: Iterable[int] = ()
) -> list[dict[str, Any]]:
    """All results, their detail parsed."""
    results = list(stage.replay(batches(rows, sizes), ReplaySettings(captures or (AT_B,))))
    assert all(batch.schema == RESULTS for batch in results)
    found = [row for batch in results for row in batch.to_pylist()]
    return [row | {"detail": json.loads(row["detail"])} for row in found]


def detail_of(results: list[dict[str, Any]], kind: str, stream: str | None = None) -> list[Any]:
    """Details of the rows of a kind."""
    return [
        row["detail"]
        for row in results
        if row["kind"] == kind and (stream is None or row["stream"] == stream)
    ]


# -- cuts --------------------------------------------------------------------------------------

numbers = st.integers(1, 20)
STEPS: Final = st.one_of(
    st.builds(lambda first, count, by: [msg(s, by=by) for s in range(first, first + count)],
              numbers, st.integers(1, 8), st.sampled_from("AC")),
    st.builds(lambda s, i: [msg(s, ip_id=i)], numbers, st.integers(0, 9)),
    st.builds(lambda s: [msg(s, oob=True)], numbers),
    st.builds(lambda s: [msg(s, ip_id=3, network_duplicate=True)], numbers),
    st.builds(lambda s, n: [xmit_rsp(s + i) for i in range(n)], numbers, st.integers(1, 3)),
    st.builds(lambda s, by: [xmit_req(s, s + 2, by=by)], numbers, st.sampled_from("BC")),
    st.builds(lambda s, by: [ack(s, by=by)], numbers, st.sampled_from("BC")),
    st.builds(lambda s: [highest(s)], numbers),
    st.builds(lambda s: [stable({"A": s})], numbers),
    st.builds(lambda s, n, m: [view(m, n, s)], numbers, st.integers(3, 6),
              st.sampled_from(["ABC", "AB", "ABCD", "AC"])),
    st.just([join_rsp("ABC", 2, digest={"A": (2, 2), "C": (0, 0)})]),
    st.sampled_from([[100], [700]]),
)  # fmt: skip


@settings(max_examples=50)
@given(
    st.lists(STEPS, max_size=14),
    st.sets(st.integers(0, 80)),
    st.lists(st.integers(1, 5), max_size=40),
    st.sampled_from([AT_A, AT_B, BETWEEN]),
)
def test_results_do_not_depend_on_cuts_and_batches(
    parts: list[list[Step]], cuts: set[int], sizes: list[int], at: CaptureSettings
) -> None:
    story = [step for part in parts for step in part]
    members = [row_of(member(name)) for name in ADDRESS]
    single = [row_of(event) for event in dated(story)]
    whole = replayed(members + in_runs(single), at)
    assert replayed(members + in_runs(single, frozenset(cuts)), at, sizes=sizes) == whole
    assert replayed(members + single, at, sizes=[1] * len(single)) == whole  # cut everywhere


# -- joining -----------------------------------------------------------------------------------


def fed(
    rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[int | None, int | None, int]]:
    """(first, stop, count) of what the engine is handed."""
    seen: list[tuple[int | None, int | None, int]] = []
    monkeypatch.setattr(
        McastEngine, "feed", lambda _, event: seen.append(
            (event.seqno, event.stop_seqno, event.count)
        ),
    )  # fmt: skip
    replayed(rows)
    return seen


def test_of_a_joined_run_only_what_holds_for_all_of_it_is_kept() -> None:
    """Lists and single messages are one run; that it was one or the other is kept if it was."""

    def flags(*how: Flag) -> Flag:
        story: list[Step] = [
            replace(data(seqno, first=False), flags=flag) for seqno, flag in enumerate(how, 1)
        ]
        run, *others = [
            EventRow(*(row_of(event)[name] for name in COLUMNS)) for event in dated(story)
        ]
        for row in others:
            assert stage._follows(run, row, Joining())
            run = stage._joined(run, row)
        return Flag(run.flags)

    listed, alone = Flag.LISTED, Flag.ALONE
    assert flags(listed, listed) == Flag.LISTED
    assert flags(alone, alone, alone) == Flag.ALONE
    assert flags(listed, alone) == flags(alone, listed, listed) == Flag(0)


def test_messages_of_two_connections_of_a_pair_stay_in_order() -> None:
    """The old connection's last run goes to the engine before the new one's first message."""
    story: list[Step] = [data(1), data(2, 4), 5, data(1, conn=2), 600, uc_ack(1, 2, conn=2)]
    events = [*map(member, ADDRESS), *dated(story)]
    rows = [row_of(event, "unicast|lab") for event in events]
    batch = pa.RecordBatch.from_pylist(rows, schema=EVENTS)
    found = [
        row
        for out in stage.replay([batch], ReplaySettings((AT_B,)))
        for row in out.to_pylist()
        if row["kind"] == "STREAM" and row["stream"].endswith("|1")
    ]
    assert [json.loads(row["detail"])["delivered"] for row in found] == [[[1, 4]]]


def rows_of(*story: Step) -> list[Row]:
    return [row_of(event) for event in dated(story)]


def test_touching_runs_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(msg(1, 3), msg(4), msg(5, 9))
    assert fed(rows, monkeypatch) == [(1, 10, 9)]


def test_a_joined_run_keeps_its_first_and_last_datagram() -> None:
    rows = rows_of(msg(1, ip_id=7), 40, msg(2, 3, ip_id=8, last_ip_id=9))
    (stream,) = detail_of(replayed(rows), "STREAM")
    names = ("first_frame", "last_frame", "first_ns", "last_ns", "messages", "bytes")
    assert {name: stream[name] for name in names} == {
        "first_frame": 1,
        "last_frame": 2,
        "first_ns": 1_000_000,
        "last_ns": 42_000_000,
        "messages": 3,
        "bytes": 30,
    }


def test_of_a_joined_run_the_first_and_the_last_message_are_judged_by_their_own_ip_ids() -> None:
    # 2 and 3 fill the gap in one run: by their ids 2 is older than 4, 3 newer.
    members = [row_of(member(name)) for name in ADDRESS]
    late = (msg(1, ip_id=10), msg(4, ip_id=20), 900, msg(2, ip_id=15), msg(3, ip_id=30))
    results = replayed(members + rows_of(join_rsp("ABC", 2, digest={}), *late))
    assert [(d["outcome"], d["seqnos"]) for d in detail_of(results, "GAP")] == [
        ("recovered or late", [[3, 3]]),
        ("reordered", [[2, 2]]),
    ]


@pytest.mark.parametrize(
    "next_one",
    [
        msg(3),  # does not follow
        msg(1),
        msg(2, oob=True),
        msg(2, network_duplicate=True),
        xmit_rsp(2),
        msg(2, system="nakack3"),
    ],
    ids=["later", "again", "OOB", "duplicate", "XMIT_RSP", "system"],
)
def test_rows_that_differ_are_not_joined(next_one: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(fed(rows_of(msg(1), next_one), monkeypatch)) == 2


def test_xmit_rsps_for_two_members_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(fed(rows_of(xmit_rsp(1), xmit_rsp(2), xmit_rsp(3, for_=C)), monkeypatch)) == 2


@pytest.mark.parametrize(
    ("between", "joined"),
    [(ack(1), False), (xmit_req(5), False), (highest(1), False), (stable({"A": 1}), False),
     (view("ABC", 2, 1, by=C), False), (msg(7, by=C), True), (ack(1, of=C), True),
     (member(D), True)],
    ids=["ACK", "XMIT_REQ", "HIGHEST_SEQNO", "digest", "view", "other stream", "its ACK", "member"],
)  # fmt: skip
def test_an_event_of_the_stream_or_of_all_streams_ends_a_run(
    between: Event, joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = fed(rows_of(msg(1), between, msg(2)), monkeypatch)
    assert ((1, 3, 2) in seen) == joined


def test_runs_are_handed_on_in_the_order_of_their_first_frames(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = rows_of(msg(1, by=C), msg(1), msg(2, by=C), stable({"A": 1}))
    assert fed(rows, monkeypatch)[:2] == [(1, 3, 2), (1, 2, 1)]


# -- captures, conversations, and rows that no engine replays ----------------------------------


def test_captures_and_conversations_are_replayed_by_engines_of_their_own() -> None:
    rows = [row_of(event, capture=0) for event in dated([msg(1), msg(2)])]
    rows += [row_of(event, capture=1) for event in dated([msg(7)])]
    other = [row_of(event, "mcast|other", capture=1) for event in dated([msg(9)])]
    results = replayed(rows + other, AT_B, BETWEEN)
    assert [
        (row["capture"], row["conversation"], row["detail"]["first_seqno"], row["detail"]["role"])
        for row in results
        if row["kind"] == "STREAM"
    ] == [(0, MCAST, 1, "receiver"), (1, MCAST, 7, "between"), (1, "mcast|other", 9, "between")]


def test_accounts_and_problems_pass_through_in_their_place() -> None:
    account = row_of(Event(5 << 40, 3, Kind.ACCOUNT, "ACCOUNT", "capture", index=-1,
                           detail='{"frames":7}'), NO_CONVERSATION)  # fmt: skip
    problem = row_of(Event(9, 4, Kind.PROBLEM, "FRAGMENTS", "capture", detail='{"why":"x"}'),
                     NO_CONVERSATION, capture=1)  # fmt: skip
    results = replayed([account, problem, *rows_of(msg(1))], AT_B, AT_B)
    assert [
        (row["capture"], row["kind"], row["conversation"], row["frame"], row["detail"])
        for row in results[:2]
    ] == [(0, "ACCOUNT", "", 5 << 40, {"frames": 7}), (1, "PROBLEM", "", 9, {"why": "x"})]


def test_a_member_is_told_once_with_each_name_it_has() -> None:
    again = {**row_of(member(D)), "frame": 1 << 40}  # seen again in the next piece
    rows = [row_of(member(D)), again, row_of(member(C))]
    assert detail_of(replayed(rows), "MEMBER") == [
        {"member": D, "address": "10.0.0.4:7800", "version": "5.6.0"},
        {"member": C, "address": "10.0.0.3:7800", "version": "5.6.0"},
    ]


def test_members_of_a_conversation_that_nothing_replays_are_told_as_well() -> None:
    rows = [row_of(member(D), "later|x"), *[row_of(e, "later|x") for e in dated([msg(1)])]]
    assert [row["kind"] for row in replayed(rows)] == ["MEMBER"]


def test_no_rows_give_no_results() -> None:
    assert replayed([]) == []


def test_results_come_in_bounded_batches() -> None:
    account = row_of(Event(1, 3, Kind.ACCOUNT, "ACCOUNT", "capture", detail="{}"), NO_CONVERSATION)
    sizes = [
        batch.num_rows for batch in stage.replay(batches([account] * 4500), ReplaySettings((AT_B,)))
    ]
    assert sizes == [2000, 2000, 500]


def test_the_capture_ends_at_its_last_event_of_any_stream() -> None:
    """A gap is lost, not open, when the conversation went on for three ticks, and was asked for."""
    asked: list[Step] = [xmit_req(2), 1000] * 3
    story = (join_rsp("ABC", 2, digest={}), msg(1), msg(3), *asked, xmit_req(2), msg(1, by=C))
    members = [row_of(member(name)) for name in ADDRESS]
    results = replayed(members + in_runs(rows_of(*story)))
    rules = [row["rule"] for row in results if row["kind"] == "FINDING"]
    assert "MC002" in rules and "MC014" not in rules


# -- bounds (pipeline/README.md 2, cli/README.md 2)
# ------------------------------------------------------------------


def test_gaps_findings_and_evidence_are_capped_and_the_rest_is_counted() -> None:
    count = 10_300
    story: list[Step] = [join_rsp("ABC", 2, digest={})]
    story += [msg(seqno) for seqno in range(2, 2 * count + 2, 2)]  # every odd one is missing
    members = [row_of(member(name)) for name in ADDRESS]
    asked: list[Step] = [1000, xmit_req(*range(1, 2 * count, 2))] * 4
    results = replayed(members + rows_of(*story, 8000, *asked, highest(2 * count)))
    (stream,) = detail_of(results, "STREAM", "lab|A")
    assert (stream["gaps"], stream["unlisted_gaps"], stream["unrecovered"]) == (count, 300, count)
    assert len(stream["unrecovered_seqnos"]) == 10_000
    assert len(detail_of(results, "GAP")) == 10_000
    (lost,) = [d for d in detail_of(results, "FINDING") if d["rule"] == "MC002"]
    assert len(lost["evidence"]) <= 16


def test_flags_of_the_contract_are_what_the_engine_sees() -> None:
    assert row_of(msg(1, oob=True))["flags"] == int(Flag.MULTICAST | Flag.OOB)
