"""A report that says exactly the truth of one scenario, to test the comparison itself.

Built from ``truth.json`` and the slow decoder alone; what no member can know is null.
"""

from collections import Counter
from typing import Any

from tests.agreement import wire
from tests.agreement.expected import FIRES, expected_rules
from tests.agreement.figures import OTHERS, count_others, decoded_by_truth
from tests.agreement.oracle_unicast import add_unicast, both_ends
from tests.agreement.report import to_ranges
from tests.agreement.truth import Scenario


def true_report(scenario: Scenario) -> dict[str, Any]:
    """The report that agrees in every figure."""
    report: dict[str, Any] = {
        "captures": [],
        "streams": [],
        "connections": [],
        "both_ends": both_ends(scenario),
        "gaps": [],
        "views": [],
        "findings": [],
    }
    for number, vantage in enumerate(scenario.captures):
        _add_capture(report, scenario, number, vantage)
        for sender in scenario.uuids:
            _add_stream(report, scenario, number, vantage, sender)
        add_unicast(report, scenario, number, vantage)
        report["findings"] += [
            {"capture": number, "rule": rule, "severity": "warning"}
            for rule, fires in FIRES.items()
            if vantage in scenario.uuids and fires(scenario, vantage)
        ]
        for view in scenario.views(vantage):
            if view.number:
                report["views"].append(
                    {
                        "capture": number,
                        "id": [scenario.uuids[view.creator], view.number],
                        "members": [scenario.uuids[name] for name in view.members],
                    }
                )
    for name in scenario.truth["expect"]["findings"]:
        report["findings"] += [
            {"capture": 0, "rule": rule, "severity": "error"}
            for rule in sorted(expected_rules(scenario, name) - FIRES.keys())
        ]
    return report


def _add_capture(report: dict[str, Any], scenario: Scenario, number: int, vantage: str) -> None:
    messages_by: dict[str, dict[str, int]] = {}
    for (system, kind), count in decoded_by_truth(scenario, vantage).items():
        messages_by.setdefault(system, {})[kind] = count
    decoded = scenario.truth["captures"][vantage].get("decoded", {})
    messages_by["jgroups"] = {
        OTHERS.get(name, name): n
        for key, n in decoded.items()
        if (name := key.removeprefix("other:")) != key or key == "tcp-preamble"
    } or {"PING": count_others(scenario, vantage)}
    frames = sum(1 for _ in wire.read_packets(scenario.captures[vantage]))
    report["captures"].append(
        {
            "path": str(scenario.captures[vantage]),
            "frames": frames,
            "frames_by": {"decoded": frames},
            "datagrams": {n: decoded.get(f"datagrams_{n}", 0) for n in ("single", "list")},
            "messages_by": messages_by,
        }
    )


def _add_stream(
    report: dict[str, Any], scenario: Scenario, number: int, vantage: str, sender: str
) -> None:
    uuid = scenario.uuids[sender]
    arrived: list[int] = []
    kinds: Counter[str] = Counter()
    peers: dict[str, dict[str, Any]] = {}
    for message in scenario.messages(vantage):
        nakack = message.nakack
        if nakack is None:
            continue
        peer = peers.setdefault(
            str(message.sender),
            {"requests": 0, "requested_seqnos": 0, "acks": 0, "highest_ack": None},
        )
        if nakack.kind in (wire.NAKACK_MSG, wire.NAKACK_XMIT_RSP) and message.sender == uuid:
            arrived.append(nakack.seqno)
            kinds["MSG" if nakack.kind == wire.NAKACK_MSG else "XMIT_RSP"] += 1
        elif nakack.kind == wire.NAKACK_HIGHEST and message.sender == uuid:
            kinds["HIGHEST_SEQNO"] += 1
        elif nakack.kind == wire.NAKACK_ACK and message.destination == uuid:
            peer["acks"] += 1
            peer["highest_ack"] = max(peer["highest_ack"] or 0, nakack.seqno)
        elif nakack.kind == wire.NAKACK_XMIT_REQ and nakack.original == uuid:
            peer["requests"] += 1
            peer["requested_seqnos"] += len(wire.missing_seqnos(message))
    if not arrived:
        return
    truth = scenario.multicast.get(sender, {}).get("receivers", {}).get(vantage, {})
    lost = to_ranges(truth.get("exact", {}).get("first_copy_lost", []))
    way = "arrived" if vantage == sender else "sent"
    interval, delivered = _deliveries(scenario, vantage, sender)
    receiving = vantage in scenario.uuids and vantage != sender
    again = len(arrived) - len(set(arrived))
    further = again - kinds["XMIT_RSP"] if scenario.over_tcp and not receiving else 0
    report["streams"].append(
        {
            "id": f"lab|{uuid}",
            "capture": number,
            "system": "nakack4",
            "sender": uuid,
            "last_seqno": max(arrived),
            "messages": len(set(arrived)),
            "arrivals": len(arrived),
            # over TCP each member gets its own: only a repair is a copy
            "copies": again - further,
            **({"further_sends": further} if further else {}),
            "lost_seqnos": lost if receiving else None,
            "unrecovered_seqnos": (
                to_ranges(truth.get("never_arrived", [])) if receiving else None
            ),
            "delivered": delivered if receiving else None,
            "delivered_interval": interval,
            "retransmissions": {
                "needless": truth.get("exact", {}).get("copies_sent_after_arrival", 0),
                "useful": sum(b - a + 1 for a, b in lost) - len(truth.get("never_arrived", [])),
            },
            "requests": {way: sum(p["requests"] for p in peers.values())},
            "requested_seqnos": {way: sum(p["requested_seqnos"] for p in peers.values())},
            "acks": {way: sum(p["acks"] for p in peers.values())},
            "unknown": {},
            "by_wire_kind": dict(kinds),
            "peers": peers,
            "stalls": scenario.attribute(vantage, "num_blockings"),
            "max_outstanding": scenario.capacity(vantage),
            "capacity": scenario.capacity(vantage),
        }
    )
    for outcome, seqnos in (("recovered", lost),):
        if seqnos:
            report["gaps"].append(
                {"capture": number, "stream": f"lab|{uuid}", "outcome": outcome, "seqnos": seqnos}
            )


def _deliveries(
    scenario: Scenario, vantage: str, sender: str
) -> tuple[list[int] | None, list[list[int]] | None]:
    """(interval for a member that ended, delivered seqno ranges), from the truth's counters."""
    if vantage not in scenario.uuids:
        return None, None
    payloads = scenario.payloads(sender)
    runs = scenario.delivered(vantage, sender)
    counters = {c for first, last in runs for c in range(first, last + 1)}
    parts = {p.frag[0] for p in payloads.values() if p.frag and p.counter in counters}
    seqnos = {
        seqno
        for seqno, payload in payloads.items()
        if (payload.frag[0] in parts if payload.frag else payload.counter in counters)
        and not payload.system
    }
    if not scenario.ended(vantage) or not seqnos:
        return None, to_ranges(seqnos)
    low = scenario.highest_ack_sent(vantage, sender) or 1
    high = scenario.last_seqno_before_view_without(vantage, sender) or max(seqnos)
    return [low, high], to_ranges(seqnos)
