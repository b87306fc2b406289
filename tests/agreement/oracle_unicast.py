"""The unicast part of a report that says exactly the truth of one scenario (see ``oracle``)."""

from collections.abc import Mapping
from typing import Any

from tests.agreement import wire
from tests.agreement.figures_unicast import (
    CONNECTION_AT,
    PAIR_AT,
    counters_of,
    hidden_at_receiver,
    messages_to_itself,
    unicast_payloads,
)
from tests.agreement.report import to_ranges
from tests.agreement.truth import Scenario
from tests.agreement.wire import DATA


def add_unicast(report: dict[str, Any], scenario: Scenario, number: int, vantage: str) -> None:
    """Streams and connections of one capture."""
    own: list[dict[str, Any]] = []
    for pair in _pairs(scenario):
        sender, receiver = pair.split(">")
        at = {sender: "sender", receiver: "receiver"}.get(vantage, "mirror")
        if at != "mirror" or vantage not in scenario.uuids:
            own += _streams(scenario, number, pair, at)
    if vantage in scenario.uuids:
        _count_as_the_member(scenario, vantage, own)
        _add_connections(report, scenario, number, vantage)
    report["streams"] += own


def both_ends(scenario: Scenario) -> list[dict[str, Any]]:
    """Rows of the pairs whose members' captures are both there, by connection."""
    captures = list(scenario.captures)
    rows: list[dict[str, Any]] = []
    for pair, truth in scenario.unicast.items():
        ends = pair.split(">")
        if not set(ends) <= set(captures):
            continue
        left = truth.get("exact", {}).get("copies_sent_after_arrival", 0)
        for conn_id in truth["conns"]:
            rows.append(
                {
                    "sender": scenario.uuids[ends[0]],
                    "receiver": scenario.uuids[ends[1]],
                    "conn_id": int(conn_id),
                    "sender_capture": captures.index(ends[0]),
                    "receiver_capture": captures.index(ends[1]),
                    "copies_sent_after_arrival": left,  # the truth has the pair's: on the first
                    "path": [],  # it has no ranges of what the path lost
                }
            )
            left = 0
    return rows


def _pairs(scenario: Scenario) -> list[str]:
    """The pairs of the truth; where the lab computed none, of the members."""
    names = list(scenario.uuids)
    return list(scenario.unicast) or [f"{a}>{b}" for a in names for b in names if a != b]


def _streams(scenario: Scenario, number: int, pair: str, at: str) -> list[dict[str, Any]]:
    truth = scenario.unicast.get(pair) or _from_the_wire(scenario, pair)
    sender, receiver = pair.split(">")
    streams: list[dict[str, Any]] = []
    for place, (conn_id, figures) in enumerate(truth["conns"].items()):
        stream: dict[str, Any] = {
            "id": f"lab|{scenario.uuids[sender]}|{scenario.uuids[receiver]}|{conn_id}",
            "capture": number,
            "system": "unicast3",
            "sender": scenario.uuids[sender],
            "receiver": scenario.uuids[receiver],
            "conn_id": int(conn_id),
            "first_ns": place,
            "arrivals": figures["data_arrived"] if at == "receiver" else 1,
            "resends": {"requested": 0, "highest_sent": 0},
            "acks_ignored": 0,
            "dropped_without_window": 0,
            "stalls": [],
        }
        for figure, path in CONNECTION_AT[at].items():
            _put(stream, path, figures[figure])
        for figure, path in PAIR_AT[at].items():
            _put(stream, path, truth[figure] if place == 0 else 0)
        if at == "receiver":
            stream |= _received(scenario, pair, truth, conn_id)
        streams.append(stream)
    return streams


def _received(
    scenario: Scenario, pair: str, truth: Mapping[str, Any], conn_id: str
) -> dict[str, Any]:
    sender, receiver = pair.split(">")
    hidden = {seqno for conn, seqno in hidden_at_receiver(scenario, pair) if str(conn) == conn_id}
    figures = truth["conns"][conn_id]
    lost = {n for n in truth.get("exact", {}).get("first_copy_lost", ()) if n <= figures["highest"]}
    runs = scenario.delivered_pair(receiver, sender)
    wanted = [counter for first, last in runs for counter in range(first, last + 1)]
    payloads = unicast_payloads(scenario, sender, receiver)
    seqnos = sorted(seqno for conn, seqno in payloads if str(conn) == conn_id)
    by_counter: dict[int, list[int]] = {}
    parts: list[int] = []
    for seqno in seqnos:
        parts.append(seqno)
        for counter in counters_of([[parts[0], seqno]], int(conn_id), payloads)[-1:]:
            by_counter[counter], parts = parts, []
    delivered = [[n, n] for counter in wanted for n in by_counter.get(counter, ())]
    return {
        "delivered": delivered,
        "lost_seqnos": to_ranges(lost - hidden),
        "unrecovered_seqnos": to_ranges(set(figures["never_arrived"]) - hidden),
    }


def _from_the_wire(scenario: Scenario, pair: str) -> dict[str, Any]:
    """A pair of a run without figures of the lab: enough for the attributes."""
    sender, receiver = (scenario.uuids[name] for name in pair.split(">"))
    sent = scenario.messages(pair[0])
    arrived = scenario.messages(pair[2])

    def of(messages: list[wire.Message], kind: int, source: str, to: str) -> list[wire.Message]:
        return [
            m for m in messages
            if m.unicast is not None and m.unicast.kind == kind
            and m.sender == source and m.destination == to
        ]  # fmt: skip

    data = [m.unicast.seqno for m in of(sent, DATA, sender, receiver) if m.unicast]
    came = [m.unicast.seqno for m in of(arrived, DATA, sender, receiver) if m.unicast]
    figures: dict[str, Any] = {
        "data_sent_first_time": len(set(data)),
        "data_copies_sent": len(data) - len(set(data)),
        "copies_with_first_flag": 0,
        "highest": max(data, default=0),
        "data_arrived": len(came),
        "distinct_arrived": len(set(came)),
        "copies_arrived": len(came) - len(set(came)),
        "acks_sent": len(of(arrived, 1, receiver, sender)),
        "acks_arrived": len(of(sent, 1, receiver, sender)),
        "highest_ack_arrived": None,
        "never_arrived": [],
    }
    asked = [of(messages, 3, receiver, sender) for messages in (sent, arrived)]
    seqnos = [sum(len(wire.missing_seqnos(m)) for m in requests) for requests in asked]
    conn = next((m.unicast.conn_id for m in of(sent, DATA, sender, receiver) if m.unicast), 0)
    return {
        "conns": {str(conn): figures} if data else {},
        "exact": {"first_copy_lost": []},
        "xmit_req_arrived": len(asked[0]),
        "xmit_req_sent": len(asked[1]),
        "xmit_req_seqnos_arrived": seqnos[0],
        "xmit_req_seqnos_sent": seqnos[1],
        "send_first_seqno_arrived": len(of(sent, 2, receiver, sender)),
        "send_first_seqno_sent": len(of(arrived, 2, receiver, sender)),
        "close_sent": 0,
        "close_arrived": 0,
    }


def _count_as_the_member(scenario: Scenario, member: str, streams: list[dict[str, Any]]) -> None:
    """What only the member's own counters tell: on the first stream that it can be on."""
    known = scenario.unicast_attributes(member)
    sent = [s for s in streams if s["sender"] == scenario.uuids[member]]
    received = [s for s in streams if s["receiver"] == scenario.uuids[member]]
    if sent:
        for name, reason in (("xmit_rsps_sent", "requested"), ("num_xmits", "highest_sent")):
            if name in known:
                sent[0]["resends"][reason] = scenario.on_the_wire(member, name, known[name])
        acks = sum(stream["acks"]["arrived"] for stream in sent)
        sent[0]["acks_ignored"] = max(0, acks - known.get("num_acks_received", acks))
        sent[0]["stalls"] = [{}] * known.get("num_blockings", 0)
    counted = known.get("num_msgs_received", known.get("num_messages_received"))
    if received and counted is not None:
        counted -= messages_to_itself(scenario, member, known)
        arrived = sum(stream["arrivals"] for stream in received)
        received[0]["dropped_without_window"] = max(0, arrived - counted)


def _add_connections(report: dict[str, Any], scenario: Scenario, number: int, member: str) -> None:
    own = scenario.uuids[member]
    for truth in scenario.connections(member):
        peer = scenario.uuids[truth.peer]
        sends = truth.side == "send"
        levels = (
            {"highest_acked": truth.low, "highest_sent": truth.high}
            if sends
            else {"highest_delivered": truth.low, "highest_received": truth.high}
        )
        report["connections"].append(
            {
                "capture": number,
                "sender": own if sends else peer,
                "receiver": peer if sends else own,
                "conn_id": truth.conn_id,
                "state": truth.state,
                **levels,
            }
        )


def _put(stream: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    place = stream
    for key in path[:-1]:
        place = place.setdefault(key, {})
    place[path[-1]] = value
