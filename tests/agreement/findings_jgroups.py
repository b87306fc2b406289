"""JGroups: which seqnos findings of loss name, and the frames of gap rows, by truth and wire.

What was lost is the truth's; which frame showed it, asked for it and brought it back is read by the
slow decoder in ``wire.py``.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from tests.agreement import wire
from tests.agreement.expected_unicast import ACK
from tests.agreement.figures_unicast import hidden_at_receiver, of_pair
from tests.agreement.report import ABSENT, CaptureReport, to_ranges
from tests.agreement.rows import Audited, Row, row
from tests.agreement.truth import Scenario
from tests.agreement.wire import DATA

UNICAST_SYNC: Final = 2
UNICAST_REQUEST: Final = 3

#: A gap row: its seqnos, the frames at which they are revealed, asked for, complete.
Frames = tuple[list[list[int]], int | None, int | None, int | None]


def finding_rows(audited: Audited, *, more: bool = False) -> Iterator[Row]:
    """All rows of one scenario, over the captures of its members."""
    scenario = audited.scenario
    yield from _lost_on_path(audited, more=more)
    for vantage, report in audited.reports.items():
        if vantage not in scenario.uuids or scenario.happened("DISCARD"):
            continue  # what its own stack drops was lost on no path
        for sender, truth in scenario.multicast.items():
            if vantage in truth["receivers"] and not scenario.over_tcp:
                figures = truth["receivers"][vantage]
                never = set(figures["never_arrived"])
                lost = set(figures["exact"]["first_copy_lost"])
                streams = [report.stream(scenario.uuids[sender]).id]
                for rule, true in (("MC001", lost - never), ("MC002", never)):
                    ours = named(report, rule, streams)
                    figure = f"{sender}>* {rule} seqnos"
                    yield row(audited, vantage, figure, ours, to_ranges(true))
                yield from _frames(audited, vantage, sender, report, streams, more=more)
        for pair, truth in scenario.unicast.items():
            if pair.endswith(f">{vantage}") and "exact" in truth and not scenario.over_tcp:
                yield from _of_pair(audited, vantage, pair, report, more=more)
            if pair.startswith(f"{vantage}>") and len(truth["conns"]) == 1:
                receiver = scenario.uuids[pair.partition(">")[2]]
                ids = [s.id for s in of_pair(report, scenario.uuids[vantage], receiver)]
                asked = to_ranges(_lacked(scenario, vantage, pair))
                yield row(audited, vantage, f"{pair} UC048", named(report, "UC048", ids), asked)


def _lacked(scenario: Scenario, vantage: str, pair: str) -> set[int]:
    """What the receiver asked for that it never asked for behind its own ACK of it."""
    sender, receiver = (scenario.uuids[name] for name in pair.split(">"))
    asked, had, level = set[int](), set[int](), 0
    for message in scenario.messages(vantage):
        sent = message.unicast
        if sent is None or (message.sender, message.destination) != (receiver, sender):
            continue
        if sent.kind == ACK:
            level = max(level, sent.seqno)
        elif sent.kind == UNICAST_REQUEST:
            wanted = set(wire.missing_seqnos(message))
            asked |= wanted
            had |= {seqno for seqno in wanted if seqno <= level}
    return asked - had


def _lost_on_path(audited: Audited, *, more: bool) -> Iterator[Row]:
    """How many copies the path lost, where the captures of both members were given."""
    scenario = audited.scenario
    told = [(*pair.split(">"), "unicast", f) for pair, f in scenario.unicast.items()]
    for sender, stream in scenario.multicast.items():
        told += [(sender, name, "nakack", f) for name, f in stream["receivers"].items()]
    for sender, receiver, system, figures in told:
        ends = [audited.reports.get(name) for name in (sender, receiver)]
        if None in ends or "messages_lost_on_path" not in figures.get("exact", {}):
            continue
        numbers = [end.capture for end in ends if end is not None]
        uuids = [scenario.uuids[sender], scenario.uuids[receiver]]
        found = [
            next((p["lost_on_path"] for p in met["path"] if p["kind"] == "messages"), 0)
            for met in audited.reports[sender].report["both_ends"]
            if [met["sender"], met["receiver"]] == uuids
            and [met["sender_capture"], met["receiver_capture"]] == numbers
            and str(met["system"]).startswith(system)
        ]
        absent = not found or ABSENT in found
        if absent and not more:
            continue  # a figure that no report has yet
        ours = ABSENT if absent else None if None in found else sum(found)
        true = figures["exact"]["messages_lost_on_path"]
        name = f"{sender}>{receiver}" if system == "unicast" else f"{sender}>* at {receiver}"
        yield row(audited, "both", f"{name} messages_lost_on_path", ours, true)


def named(report: CaptureReport, rule: str, streams: Iterable[str]) -> list[list[int]]:
    """The seqnos that findings of a rule on some streams name."""
    return to_ranges(
        {
            seqno
            for finding in report.findings()
            if finding["rule"] == rule and finding["stream"] in streams
            for first, last in finding["seqnos"]
            for seqno in range(first, last + 1)
        }
    )


def _of_pair(
    audited: Audited, vantage: str, pair: str, report: CaptureReport, *, more: bool
) -> Iterator[Row]:
    scenario = audited.scenario
    sender = pair.split(">")[0]
    truth = scenario.unicast[pair]
    streams = of_pair(report, scenario.uuids[sender], scenario.uuids[vantage])
    ids = [stream.id for stream in streams]
    hidden = {seqno for _, seqno in hidden_at_receiver(scenario, pair)}
    never = {n for conn in truth["conns"].values() for n in conn["never_arrived"]} - hidden
    lost = set(truth["exact"]["first_copy_lost"])
    # the loss of a connection's first message has a rule of its own
    ours = {
        n for rule in ("UC001", "UC003") for a, b in named(report, rule, ids)
        for n in range(a, b + 1)
    }  # fmt: skip
    first = set() if 1 in lost else {1}
    repaired = to_ranges(lost - never - (hidden - ours))
    yield row(audited, vantage, f"{pair} UC001 seqnos", to_ranges(ours - first), repaired)
    yield row(
        audited, vantage, f"{pair} UC002 seqnos", named(report, "UC002", ids), to_ranges(never)
    )
    yield from _frames(audited, vantage, sender, report, ids, more=more)


# ---- gap rows


def _frames(
    audited: Audited,
    vantage: str,
    sender: str,
    report: CaptureReport,
    streams: list[str],
    *,
    more: bool,
) -> Iterator[Row]:
    """Every gap row of what was lost: its frames beside the slow decoder's."""
    for stream in streams:
        ours: list[Frames] = []
        conn_id = next(
            (
                entry["conn_id"]
                for entry in report.report["streams"]
                if entry["capture"] == report.capture and entry["id"] == stream
            ),
            None,
        )
        for gap in report.report["gaps"]:
            if (
                gap["capture"] == report.capture
                and gap["stream"] == stream
                and gap["outcome"] in ("recovered", "unrecovered")
                and (more or conn_id is None or gap["seqnos"][0][0] > 1)
            ):
                steps = [gap[name] for name in ("revealed_frame", "requested_frame")]
                ours.append((gap["seqnos"], steps[0], steps[1], gap["repaired_frame"]))
        if conn_id is not None and not more:
            ours = [
                one
                for one in ours
                if not _goes_on(audited.scenario, vantage, sender, conn_id, one[0])
            ]
        truth = [_read(audited.scenario, vantage, sender, conn_id, one[0]) for one in ours]
        if ours:
            name = sender if conn_id is None else f"{sender} {conn_id}"
            yield row(audited, vantage, f"{name} gaps, frames", ours, truth)


def _read(
    scenario: Scenario, member: str, sender: str, conn_id: int | None, seqnos: list[list[int]]
) -> Frames:
    """What the capture shows of seqnos that were found missing together.

    The frame that first tells of one, that first asks for one, and that completes them.
    """
    missing = {n for first, last in seqnos for n in range(first, last + 1)}
    revealed = requested = repaired = None
    for message in scenario.messages(member):
        carried, asked = _carried(scenario, message, member, sender, conn_id)
        frame = message.datagram.frame
        if carried is not None and carried[1]:
            missing.discard(carried[0])
            if not missing:
                repaired = frame
                break
        if revealed is None and carried is not None and carried[0] >= max(missing):
            revealed = frame
        if asked & missing:
            revealed = frame if revealed is None else revealed
            requested = frame if requested is None else requested
    return seqnos, revealed, requested, repaired


def _goes_on(
    scenario: Scenario, member: str, sender: str, conn_id: int, seqnos: list[list[int]]
) -> bool:
    """Whether a resend of the next seqno follows directly on the last of these."""
    last = seqnos[-1][1]
    before = None
    for message in scenario.messages(member):
        carried, _ = _carried(scenario, message, member, sender, conn_id)
        if carried is not None:
            if (before, carried[0]) == (last, last + 1):
                return True
            before = carried[0]
    return False


def _carried(
    scenario: Scenario, message: Any, member: str, sender: str, conn_id: int | None
) -> tuple[tuple[int, bool] | None, set[int]]:
    """((seqno that a message carries or tells of, whether it carries it), seqnos it asks for)."""
    source, own = scenario.uuids[sender], scenario.uuids[member]
    nakack, unicast = message.nakack, message.unicast
    if conn_id is None and nakack is not None:
        data = nakack.kind in (wire.NAKACK_MSG, wire.NAKACK_XMIT_RSP)
        if message.sender == source and (data or nakack.kind == wire.NAKACK_HIGHEST):
            return (nakack.seqno, data), set()
        if nakack.kind == wire.NAKACK_XMIT_REQ and message.sender == own:
            asked = wire.missing_seqnos(message) if nakack.original == source else []
            return None, set(asked)
    if conn_id is not None and unicast is not None:
        to_us = message.sender == source and message.destination == own
        if unicast.kind == DATA and to_us and unicast.conn_id == conn_id:
            return (unicast.seqno, True), set()
        back = message.sender == own and message.destination == source
        if unicast.kind == UNICAST_REQUEST and back:
            return None, set(wire.missing_seqnos(message))
        if unicast.kind == UNICAST_SYNC and back:
            return None, {1}
    return None, set()
