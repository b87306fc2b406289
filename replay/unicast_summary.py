"""The rows that describe unicast connections: streams, gaps, connections (design 4.5)."""

from typing import Any, Final

from seqaudit.replay.gaps import Gap, Outcome
from seqaudit.replay.parameters import LEARNED, EngineParameters
from seqaudit.replay.ranges import inclusive
from seqaudit.replay.reporting import listed
from seqaudit.replay.unicast import Pair
from seqaudit.replay.unicast_sender import HIGHEST_SENT, REQUESTED, SYNC_ANSWER, UNEXPLAINED
from seqaudit.replay.unicast_streams import Stream

NOT_HERE: Final = "not visible at this point of capture (jgroups.md 6)"
_REASONS: Final = (HIGHEST_SENT, REQUESTED, SYNC_ANSWER, UNEXPLAINED)


def role_of(pair: Pair) -> str:
    """Which end of a pair is here."""
    if pair.sending is not None:
        return "sender"
    return "receiver" if pair.receiving is not None else "between"


def stream_row(
    pair: Pair, stream: Stream, cluster: str, parameters: EngineParameters
) -> dict[str, Any]:
    """The summary of one connection in one direction."""
    role = role_of(pair)
    side = {"sender": "arrived", "receiver": "sent", "between": "passed"}[role]
    own = {"sender": "sent", "receiver": "arrived", "between": "passed"}[role]

    def both(where: str, value: int) -> dict[str, int | None]:
        return {"sent": None, "arrived": None, where: value}

    messages = stream.ever.total()
    row: dict[str, Any] = {
        "system": stream.system,
        "id": stream.key,
        "cluster": cluster,
        "sender": stream.sender,
        "receiver": stream.receiver,
        "conn_id": stream.conn_id,
        "role": role,
        "first_seqno": stream.first_seqno,
        "last_seqno": stream.last_seqno,
        "first_frame": stream.first.frame if stream.first else None,
        "last_frame": stream.last.frame if stream.last else None,
        "first_ns": stream.first.at_ns if stream.first else None,
        "last_ns": stream.last.at_ns if stream.last else None,
        "messages": messages,
        "arrivals": stream.arrivals,
        "copies": stream.arrivals - messages,
        "copies_with_first_flag": stream.copies_with_first_flag,
        "bytes": sum(stream.bytes_by_wire_kind.values()),
        "by_wire_kind": dict(sorted(stream.by_wire_kind.items())),
        "network_duplicates": stream.network_duplicates,
        "delivered": None,
        "gaps": 0,
        "reordered": 0,
        "recovered": None,
        "recovered_or_late": None,
        "unrecovered": None,
        "not_captured": 0,
        "lost": None,
        "lost_seqnos": None,
        "unrecovered_seqnos": None,
        "requests": both(side, stream.kinds("XMIT_REQ")),
        "requested_seqnos": both(side, stream.requested_seqnos),
        "acks": both(side, stream.kinds("ACK")),
        "acks_ignored": None,
        "highest_ack": stream.highest_ack,
        "ack_traffic": stream.ack_traffic(),
        "syncs": both(side, stream.kinds("SEND_FIRST_SEQNO")),
        "closes": both(own, stream.kinds("CLOSE")),
        "retransmissions": {"useful": 0, "needless": 0, "undecidable": 0},
        "resends": None,
        "recovery_ns": {"p50": None, "p99": None, "max": None},
        "outside_membership": stream.outside_membership,
        "redelivered": None,
        "dropped_without_window": None,
        "dropped_inside": None,
        "would_have_sent": None,
        "max_outstanding": None,
        "stalls": None,
        "capacity": None,
        "unknown": {},
    }
    if pair.receiving is not None:
        _received(row, pair, stream)
    else:
        _passed(row, stream)
    if pair.sending is not None:
        facts = pair.sending.facts_of(stream)
        obeyed = not facts.stale_honoured  # else it does not look at timestamps at all
        row["acks_ignored"] = facts.ignored_count * obeyed + facts.other_conn.count
        row["resends"] = {reason: stream.resends.get(reason, 0) for reason in _REASONS}
        _window(row, pair, stream, parameters)
    return row


def _received(row: dict[str, Any], pair: Pair, stream: Stream) -> None:
    machine, received = pair.receiving, stream.received
    assert machine is not None
    row["would_have_sent"] = machine.would.row()
    if received is None:
        row |= {"delivered": [], "lost_seqnos": [], "unrecovered_seqnos": []}
        row |= dict.fromkeys(("recovered", "recovered_or_late", "unrecovered", "lost"), 0)
        return
    facts = machine.facts_of(stream)
    row |= {
        "network_duplicates": received.network_duplicates,
        "start_known": received.start_known or received.start == 1,
        "delivered": inclusive(received.delivery.ranges),
        "delivered_unlisted": received.delivery.unlisted,
        "redelivered": facts.redelivered_count,
        "dropped_without_window": facts.without_window_count,
        "gaps": received.gap_count,
        "reordered": received.counts[Outcome.REORDERED],
        "recovered": received.counts[Outcome.RECOVERED],
        "recovered_or_late": received.counts[Outcome.EITHER],
        "unrecovered": received.counts[Outcome.UNRECOVERED],
        "not_captured": received.counts[Outcome.UNCAPTURED],
        "lost": received.counts[Outcome.RECOVERED] + received.counts[Outcome.UNRECOVERED],
        "lost_seqnos": inclusive(listed(received.lost)),
        "unrecovered_seqnos": inclusive(listed(received.unrecovered)),
        "unlisted_gaps": received.unlisted_gaps,
        "retransmissions": {
            "useful": received.useful,
            "needless": received.needless_count,
            "undecidable": received.undecidable,
        },
        "recovery_ns": received.recovery.percentiles(),
        "dropped_inside": facts.inner_loss.ranges.total(),
        "outside_window": facts.outside_window.ranges.total(),
    }


def _passed(row: dict[str, Any], stream: Stream) -> None:
    hidden = ("delivered", "lost", "recovered", "unrecovered")
    row["unknown"] = dict.fromkeys(hidden, NOT_HERE)
    passing = stream.passing
    if passing is not None:
        row["gaps"] = passing.gap_count
        row["reordered"] = passing.counts[Outcome.REORDERED]
        row["retransmissions"] = {
            "useful": None,
            "needless": passing.needless_count,
            "undecidable": passing.undecidable,
        }


def _window(row: dict[str, Any], pair: Pair, stream: Stream, parameters: EngineParameters) -> None:
    """UNICAST4's bounded window and its blocks."""
    assert pair.sending is not None
    model = pair.sending.facts_of(stream).window
    if model is None:
        return
    row["max_outstanding"] = model.max_outstanding
    row["capacity"] = capacity_of(pair, stream, parameters)
    if row["capacity"] is None:
        row["unknown"]["stalls"] = (
            "the capacity is not given, and the sender did not run into the same number of "
            "unacknowledged messages twice (jgroups.md 6)"
        )
        return
    row["stalls"] = [stall.row() for stall in model.stalls()]
    row["unlisted_stalls"] = model.unlisted_stalls()


def capacity_of(pair: Pair, stream: Stream, parameters: EngineParameters) -> dict[str, Any] | None:
    """The window size that a sender's blocks are judged by; null if nobody knows it."""
    if pair.sending is None:
        return None
    model = pair.sending.facts_of(stream).window
    if model is None:
        return None
    if parameters.value("capacity") is not None:
        return {"value": parameters.value("capacity"), "origin": parameters.origin("capacity")}
    learned = model.learned_capacity()
    return None if learned is None else {"value": learned, "origin": LEARNED}


def connection_row(pair: Pair, stream: Stream, cluster: str) -> dict[str, Any]:
    """One connection as the end that was replayed here saw it.

    ``later`` are states that timeouts lead to unless the capture ends before: the report knows.
    """
    row: dict[str, Any] = {
        "id": stream.key,
        "cluster": cluster,
        "sender": stream.sender,
        "receiver": stream.receiver,
        "conn_id": stream.conn_id,
        "end": role_of(pair),
        "state": stream.state,
        "states": [
            {"state": state, "frame": mark.frame, "at_ns": mark.at_ns, "why": why}
            for state, mark, why in stream.states
        ],
        "highest_sent": stream.last_seqno,
        "highest_acked": stream.highest_ack,
        "unacked_seqnos": [],
        "last_stamp": None,
        "frame": stream.first.frame if stream.first else None,
        "at_ns": stream.first.at_ns if stream.first else None,
    }
    row["later"] = [
        {"state": state, "frame": mark.frame, "at_ns": mark.at_ns, "why": why}
        for state, mark, why in stream.later
    ]
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


def gaps_of(pair: Pair, stream: Stream) -> list[Gap]:
    """The ended gaps of a stream, in order."""
    if stream.received is not None:
        gaps = stream.received.gaps
    elif stream.passing is not None:
        gaps = stream.passing.gaps
    else:
        gaps = []
    return sorted(gaps, key=lambda gap: gap.first)


def gap_row(pair: Pair, stream: Stream, row: dict[str, Any]) -> dict[str, Any]:
    """A gap row; where no window is replayed it says where a seqno is missing, not for whom."""
    names: dict[str, str] = {}
    if pair.sending is not None:
        names = {"reordered": "sent out of order", "unrecovered": "not sent, or not captured"}
    elif pair.receiving is None:
        names = {"unrecovered": "lost before this point, or not captured"}
    return row | {"outcome": names.get(row["outcome"], row["outcome"]), "system": stream.system}
