"""The rows that describe unicast connections: streams, gaps, connections (replay/README.md 5)."""

from collections.abc import Iterable
from typing import Final

from seqaudit.replay.contract.parameters import EngineParameters
from seqaudit.replay.contract.report_rows import NOT_VISIBLE, StateRow, directed, receipt_unknown
from seqaudit.replay.contract.results import ConnectionDetail
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.jgroups import stream_rows
from seqaudit.replay.jgroups.report_rows import CapacityRow, UnicastStreamRow
from seqaudit.replay.jgroups.unicast.connection_states import Change
from seqaudit.replay.jgroups.unicast.engine import Pair
from seqaudit.replay.jgroups.unicast.sender import HIGHEST_SENT, REQUESTED, SYNC_ANSWER, UNEXPLAINED
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.sequence.ranges import inclusive

_REASONS: Final = (HIGHEST_SENT, REQUESTED, SYNC_ANSWER, UNEXPLAINED)


def role_of(pair: Pair) -> stream_rows.End:
    """Which end of a pair is here."""
    if pair.sending is not None:
        return stream_rows.SENDER
    return stream_rows.BETWEEN if pair.receiving is None else stream_rows.RECEIVER


def stream_row(
    pair: Pair, stream: Stream, cluster: str, parameters: EngineParameters, vantage: Vantage, *,
    over: bool, lacking: bool,
) -> UnicastStreamRow:  # fmt: skip
    """The summary of one connection in one direction.

    Args:
        over: see ``stream_rows.received``.
        lacking: the capture is shown to lack messages that members here had, or their words.
    """
    role = role_of(pair)
    side = stream_rows.FROM_RECEIVER[role]
    row: UnicastStreamRow = {
        **stream_rows.counted(stream, role, cluster),
        "receiver": stream.receiver,
        "conn_id": stream.conn_id,
        "copies_with_first_flag": stream.copies_with_first_flag,
        "requests": directed(side, stream.kinds("XMIT_REQ")),
        "requested_seqnos": directed(side, stream.requested_seqnos),
        "acks": directed(side, stream.kinds("ACK")),
        "acks_ignored": None,
        "highest_ack": stream.highest_ack,
        "ack_traffic": stream.ack_traffic(),
        "syncs": directed(side, stream.kinds("SEND_FIRST_SEQNO")),
        "closes": directed(stream_rows.FROM_SENDER[role], stream.kinds("CLOSE")),
        "resends": None,
        "redelivered": None,
        "dropped_without_window": None,
        "dropped_inside": None,
        "would_have_sent": None,
        "unacknowledged": None,
    }
    if pair.receiving is not None:
        _received(row, pair, stream, vantage, over=over, lacking=lacking)
    else:
        _passed(row, stream)
    if pair.sending is not None:
        facts = pair.sending.facts_of(stream)
        obeyed = not facts.stale_honoured  # else it does not look at timestamps at all
        row["acks_ignored"] = facts.ignored_count * obeyed + facts.other_conn.count
        row["unacknowledged"] = facts.memory.row()
        row["resends"] = {reason: stream.resends.get(reason, 0) for reason in _REASONS}
        _window(row, pair, stream, parameters)
    return row


def _received(
    row: UnicastStreamRow, pair: Pair, stream: Stream, vantage: Vantage, *, over: bool,
    lacking: bool,
) -> None:  # fmt: skip
    machine, received = pair.receiving, stream.received
    assert machine is not None
    row["would_have_sent"] = machine.would.row()
    if received is None:
        stream_rows.nothing_received(row)
        return
    facts = machine.facts_of(stream)
    stream_rows.received(row, received, over=over, unasked=lacking)
    if machine.tells_nothing_of(stream):
        row["delivered"] = None
        row["unknown"]["delivered"] = "nothing in this capture shows that its receiver had a window"
    if facts.other_window:
        row["delivered"] = None
        row["unknown"]["delivered"] = (
            "this member asked for what it had acknowledged: its window was built anew, and "
            "nothing in this capture shows when"
        )
    if facts.unread is not None and row["delivered"] is not None:
        row["unknown"]["delivered"] = (
            f"at least up to {facts.unread[0]}, at most up to {facts.unread[1]}: the rest came "
            "when its receiver sent nothing more, which read it, or had died"
        )
        if machine.goes_on_behind:
            row["delivered"] = None
    row["start_known"] = received.start_known or received.start == 1
    row["redelivered"] = facts.redelivered_count
    row["dropped_without_window"] = facts.without_window_count
    row["outside_window"] = facts.outside_window.ranges.total()
    stream_rows.dropped_inside(row, received, facts.inner_loss.found.ranges, vantage)


def _passed(row: UnicastStreamRow, stream: Stream) -> None:
    row["unknown"] = receipt_unknown(NOT_VISIBLE)
    if stream.passing is not None:
        stream_rows.passed(row, stream.passing)


def _window(
    row: UnicastStreamRow, pair: Pair, stream: Stream, parameters: EngineParameters
) -> None:
    """UNICAST4's bounded window and its blocks."""
    assert pair.sending is not None
    model = pair.sending.facts_of(stream).window
    if model is None:
        return
    row["max_outstanding"] = model.max_outstanding
    row["capacity"] = capacity_of(pair, stream, parameters)
    if row["capacity"] is None:
        row["unknown"]["stalls"] = stream_rows.NO_CAPACITY
        return
    row["stalls"] = [stall.row() for stall in model.stalls()]
    row["unlisted_stalls"] = model.unlisted_stalls()


def capacity_of(pair: Pair, stream: Stream, parameters: EngineParameters) -> CapacityRow | None:
    """The window size that a sender's blocks are judged by; null if nobody knows it."""
    if pair.sending is None:
        return None
    model = pair.sending.facts_of(stream).window
    return None if model is None else stream_rows.capacity(model, parameters)


def connection_row(pair: Pair, stream: Stream, cluster: str) -> ConnectionDetail:
    """One connection as the end that was replayed here saw it.

    ``later`` are states that timeouts lead to unless the capture ends before: the report knows.
    """
    row: ConnectionDetail = {
        "cluster": cluster,
        "sender": stream.sender,
        "receiver": stream.receiver,
        "conn_id": stream.conn_id,
        "end": role_of(pair),
        "state": stream.state,
        "states": _entered(stream.states),
        "highest_sent": stream.last_seqno,
        "highest_acked": stream.highest_ack,
        "unacked_seqnos": [],
        "last_stamp": None,
        "frame": stream.first.frame if stream.first else None,
        "at_ns": stream.first.at_ns if stream.first else None,
        "later": _entered(stream.later),
    }
    if pair.sending is not None:
        row["highest_sent"] = stream.highest_sent
        row["highest_acked"] = stream.highest_acked
        entry = pair.sending.entry
        if entry is not None and entry.stream is stream:
            row["unacked_seqnos"] = inclusive(pair.sending.unacked())
            row["last_stamp"] = entry.last_stamp
        else:
            closed = pair.sending.facts_of(stream).removed_with_unacked
            row["unacked_seqnos"] = inclusive(closed[1]) if closed is not None else []
    elif pair.receiving is not None:
        row["highest_delivered"] = stream.highest_acked
        row["highest_received"] = stream.highest_sent
        acked = stream.highest_ack or 0
        if stream.highest_acked is not None and stream.highest_acked > acked:
            row["unacked_seqnos"] = [[acked + 1, stream.highest_acked]]
    return row


def _entered(states: Iterable[Change]) -> list[StateRow]:
    return [
        {"state": state, "frame": mark.frame, "at_ns": mark.at_ns, "why": why}
        for state, mark, why in states
    ]
