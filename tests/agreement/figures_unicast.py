"""The unicast figures: ``derived_from_captures.unicast`` beside the report (CONTRIBUTING.md 4).

The truth has one entry a pair "S>R"; S's capture shows what it sent and what reached it, R's what
arrived and what it sent back, a mirror everything that was sent.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from tests.agreement.report import ABSENT, CaptureReport, StreamReport, to_ranges
from tests.agreement.rows import Audited, Row, row
from tests.agreement.truth import Payload, Scenario, to_runs
from tests.agreement.wire import DATA

OOB: Final = 0x0001

#: Figure of the truth's connection -> path in our stream, by the end at which it shows.
CONNECTION_AT: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "sender": {
        "data_sent_first_time": ("messages",),
        "data_copies_sent": ("copies",),
        "copies_with_first_flag": ("copies_with_first_flag",),
        "highest": ("last_seqno",),
        "acks_arrived": ("acks", "arrived"),
        "highest_ack_arrived": ("highest_ack",),
    },
    "receiver": {
        "data_arrived": ("arrivals",),
        "distinct_arrived": ("messages",),
        "copies_arrived": ("copies",),
        "acks_sent": ("acks", "sent"),
    },
    "mirror": {
        "data_sent_first_time": ("messages",),
        "data_copies_sent": ("copies",),
        "copies_with_first_flag": ("copies_with_first_flag",),
        "highest": ("last_seqno",),
        "acks_sent": ("acks", "passed"),
    },
}
#: The same for a pair: added up over its connections.
PAIR_AT: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "sender": {
        "xmit_req_arrived": ("requests", "arrived"),
        "xmit_req_seqnos_arrived": ("requested_seqnos", "arrived"),
        "send_first_seqno_arrived": ("syncs", "arrived"),
        "close_sent": ("closes", "sent"),
    },
    "receiver": {
        "xmit_req_sent": ("requests", "sent"),
        "xmit_req_seqnos_sent": ("requested_seqnos", "sent"),
        "send_first_seqno_sent": ("syncs", "sent"),
        "close_arrived": ("closes", "arrived"),
    },
    "mirror": {
        "xmit_req_sent": ("requests", "passed"),
        "xmit_req_seqnos_sent": ("requested_seqnos", "passed"),
        "send_first_seqno_sent": ("syncs", "passed"),
        "close_sent": ("closes", "passed"),
    },
}

Streams = list[StreamReport]
#: Our numbers for the counters of the real UNICAST3 and UNICAST4: over the streams that a member
#: sends, or over those that it receives.
SENT: Final = "sent"
RECEIVED: Final = "received"
ATTRIBUTES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "num_msgs_sent": (SENT, ("messages",)),
    "num_messages_sent": (SENT, ("messages",)),
    "num_msgs_received": (RECEIVED, ("arrivals",)),
    "num_messages_received": (RECEIVED, ("arrivals",)),
    "num_acks_received": (SENT, ("acks", "arrived")),
    "num_acks_sent": (RECEIVED, ("acks", "sent")),
    "xmit_reqs_sent": (RECEIVED, ("requested_seqnos", "sent")),
    "xmit_reqs_received": (SENT, ("requested_seqnos", "arrived")),
    "xmit_rsps_sent": (SENT, ("resends", "requested")),
    "num_xmits": (SENT, ("resends", "highest_sent")),
}

RECEIVED_MESSAGES: Final = ("num_msgs_received", "num_messages_received")
MESSAGES: Final = ("num_msgs_sent", "num_messages_sent", *RECEIVED_MESSAGES)

#: What of these DISCARD drops on its way down is counted, and on no wire: compared in one.
RESENT: Final = ("num_xmits", "xmit_rsps_sent")


def compare_unicast(audited: Audited, vantage: str, report: CaptureReport) -> Iterator[Row]:
    """All unicast rows of one capture."""
    scenario = audited.scenario
    for pair, truth in scenario.unicast.items():
        sender, receiver = pair.split(">")
        if vantage == sender:
            at = "sender"
        elif vantage == receiver:
            at = "receiver"
        elif vantage in scenario.uuids:
            continue
        else:
            at = "mirror"
        streams = of_pair(report, scenario.uuids[sender], scenario.uuids[receiver])
        yield from _compare_pair(audited, vantage, pair, at, truth, streams)
    if vantage in scenario.uuids:
        yield from _compare_attributes(audited, vantage, report)
        if not scenario.ended(vantage):  # it printed its entries before it left
            yield from _compare_connections(audited, vantage, report)


def compare_both_ends(audited: Audited) -> Iterator[Row]:
    """What needs the captures of both members of a pair: resends of what had arrived."""
    scenario = audited.scenario
    for pair, truth in scenario.unicast.items():
        ends = [audited.reports.get(name) for name in pair.split(">")]
        if "exact" not in truth or None in ends:  # over TCP the lab did not say
            continue
        true = truth["exact"]["copies_sent_after_arrival"]
        yield row(
            audited, "both", f"{pair} copies_sent_after_arrival", _after_arrival(audited, pair),
            true,
        )  # fmt: skip


def _after_arrival(audited: Audited, pair: str) -> object:
    """Ours, over all connections of which messages were sent and came."""
    found = _met(audited, pair)
    total = 0
    for name, connection in audited.scenario.unicast[pair]["conns"].items():
        if not connection["data_arrived"] and name not in found:
            continue
        value = found.get(name, {}).get("copies_sent_after_arrival", ABSENT)
        if not isinstance(value, int):
            return value
        total += value
    return total


def _met(audited: Audited, pair: str) -> dict[str, Any]:
    """What the captures of both members say together, by connection."""
    uuids = [audited.scenario.uuids[name] for name in pair.split(">")]
    ends = [audited.reports[name] for name in pair.split(">")]
    numbers = [end.capture for end in ends]
    return {
        str(met["conn_id"]): met
        for met in ends[0].report["both_ends"]
        if [met["sender"], met["receiver"]] == uuids
        and [met["sender_capture"], met["receiver_capture"]] == numbers
    }


def _lost_on_path(audited: Audited, pair: str) -> set[int] | None:
    """Messages of which both captures show that the path lost a copy; null: one is not given."""
    if any(audited.reports.get(name) is None for name in pair.split(">")):
        return None
    return {
        seqno
        for met in _met(audited, pair).values()
        for path in met["path"]
        if path["kind"] == "messages" and path["lost_on_path"]
        for first, last in path["seqnos"]
        for seqno in range(first, last + 1)
    }


def of_pair(report: CaptureReport, sender: str, receiver: str) -> Streams:
    """The connections from one member (UUID) to another, in the order of their first frame."""
    found = [s for s in unicast_streams(report) if s.entry["sender"] == sender]
    found = [s for s in found if s.entry["receiver"] == receiver]
    return sorted(found, key=lambda stream: stream.entry["first_ns"])


def unicast_streams(report: CaptureReport) -> Streams:
    """All unicast streams of a capture."""
    return [
        StreamReport(entry)
        for entry in report.report["streams"]
        if entry["capture"] == report.capture and entry["system"].startswith("unicast")
    ]


def _compare_pair(
    audited: Audited,
    vantage: str,
    pair: str,
    at: str,
    truth: Mapping[str, Any],
    streams: Streams,
) -> Iterator[Row]:
    scenario = audited.scenario
    sender = pair.split(">")[0]

    def compared(figure: str, ours: object, true: object, **more: Any) -> Row:
        return row(audited, vantage, f"{pair} {figure}", ours, true, sender=sender, **more)

    by_id = {str(stream.figure("conn_id")): stream for stream in streams}
    with_data = [name for name, stream in by_id.items() if stream.figure("arrivals")]
    if at != "receiver":
        yield compared("conns", sorted(with_data), sorted(truth["conns"]))
    for name, connection in truth["conns"].items():
        stream = by_id.get(name, StreamReport({}))
        nothing_came = at == "receiver" and not connection["data_arrived"]
        if nothing_came and not stream.entry:
            continue
        for figure, path in CONNECTION_AT[at].items():
            yield compared(f"{name} {figure}", stream.figure(*path), connection[figure])
    for figure, path in PAIR_AT[at].items():
        yield compared(figure, _added(streams, path), truth[figure])
    if at == "receiver" and with_data:
        both = _lost_on_path(audited, pair)
        yield from _compare_lost(compared, scenario, pair, truth, by_id, both)
    if at == "receiver" and scenario.delivered_pair(vantage, sender):
        yield from _compare_delivered(compared, scenario, pair, streams)


def _compare_lost(
    compared: Callable[..., Row],
    scenario: Scenario,
    pair: str,
    truth: Mapping[str, Any],
    by_id: Mapping[str, StreamReport],
    both: Collection[int] | None,
) -> Iterator[Row]:
    """What was lost; the last message's first copy, which no receiver can see to be (P9), as both
    captures show it together.

    Args:
        both: what these show of messages; null: one of them is not given.
    """
    hidden = hidden_at_receiver(scenario, pair)
    ours: set[int] = set()
    for name, stream in by_id.items():
        lost = stream.figure("lost_seqnos")
        never = stream.figure("unrecovered_seqnos")
        if not isinstance(lost, list) or not isinstance(never, list):
            yield compared(f"{name} lost", lost, "a list")
            return
        ours |= {seqno for a, b in lost for seqno in range(a, b + 1)}
        if name in truth["conns"]:
            true = set(truth["conns"][name]["never_arrived"])
            seen = {seqno for conn, seqno in hidden if str(conn) == name}
            yield compared(f"{name} never_arrived", never, to_ranges(true - seen))
    if "exact" not in truth:  # over TCP nothing is lost on the path, and the lab did not say
        return
    true_lost = set(truth["exact"]["first_copy_lost"])
    unseen = {seqno for _, seqno in hidden}
    yield compared("lost", to_ranges(ours), to_ranges(true_lost - (unseen - ours)))
    for seqno in sorted(true_lost & unseen - ours if both is not None else ()):
        yield compared(f"lost {seqno}", seqno if seqno in (both or ()) else None, seqno)


def hidden_at_receiver(scenario: Scenario, pair: str) -> set[tuple[int, int]]:
    """(conn_id, seqno) whose first arrival, if any, came before any higher seqno arrived.

    Nothing at the receiver says that an earlier copy of such a message was lost.
    """
    sender, receiver = pair.split(">")
    arrived: set[tuple[int, int]] = set()
    highest: dict[int, int] = {}
    hidden: set[tuple[int, int]] = set()
    for message in scenario.messages(receiver):
        unicast = message.unicast
        if unicast is None or unicast.kind != DATA or message.sender != scenario.uuids[sender]:
            continue
        key = (unicast.conn_id, unicast.seqno)
        if key not in arrived and unicast.seqno > highest.get(unicast.conn_id, 0):
            hidden.add(key)
        arrived.add(key)
        highest[unicast.conn_id] = max(unicast.seqno, highest.get(unicast.conn_id, 0))
    for message in scenario.messages(sender):
        unicast = message.unicast
        if unicast is None or unicast.kind != DATA or message.sender != scenario.uuids[sender]:
            continue
        if message.destination != scenario.uuids[receiver]:
            continue
        if unicast.seqno > highest.get(unicast.conn_id, 0):
            hidden.add((unicast.conn_id, unicast.seqno))
    return hidden


def _compare_delivered(
    compared: Callable[..., Row], scenario: Scenario, pair: str, streams: Streams
) -> Iterator[Row]:
    sender, receiver = pair.split(">")
    payloads = unicast_payloads(scenario, sender, receiver)
    truth = scenario.delivered_pair(receiver, sender)
    counters: list[int] = []
    for stream in streams:
        ours = stream.figure("delivered")
        if not isinstance(ours, list):
            yield compared("delivered", ours, truth)
            return
        conn_id = stream.figure("conn_id")
        counters += counters_of(ours, conn_id if isinstance(conn_id, int) else 0, payloads)
    out_of_band = {payload.counter for payload in payloads.values() if payload.out_of_band}
    if not out_of_band:
        yield compared("delivered", to_runs(counters), truth)
        return
    # Other threads deliver OOB messages: where they come among the regular ones is on no wire.
    delivered = [counter for first, last in truth for counter in range(first, last + 1)]
    for figure, chosen in (
        ("delivered in order", lambda counter: counter not in out_of_band),
        ("delivered out of band", lambda counter: counter in out_of_band),
    ):
        ours_chosen, true_chosen = list(filter(chosen, counters)), list(filter(chosen, delivered))
        if figure != "delivered in order":
            ours_chosen, true_chosen = sorted(ours_chosen), sorted(true_chosen)
        yield compared(figure, to_runs(ours_chosen), to_runs(true_chosen))


def unicast_payloads(
    scenario: Scenario, sender: str, receiver: str
) -> dict[tuple[int, int], Payload]:
    """(conn_id, seqno) -> what the sender put into it, from its own capture."""
    found: dict[tuple[int, int], Payload] = {}
    for message in scenario.messages(sender):
        unicast = message.unicast
        if unicast is None or unicast.kind != DATA or message.sender != scenario.uuids[sender]:
            continue
        if message.destination == scenario.uuids[receiver]:
            found[unicast.conn_id, unicast.seqno] = Payload(
                system=message.gms is not None,
                frag=message.frag,
                counter=int.from_bytes(message.payload[:4], "big"),
                out_of_band=bool(message.flags & OOB),
            )
    return found


def counters_of(
    ranges: Iterable[list[int]], conn_id: int, payloads: Mapping[tuple[int, int], Payload]
) -> list[int]:
    """Application counters of delivered seqnos, in order; a fragmented message's with its last."""
    counters: list[int] = []
    parts: dict[int, dict[int, int]] = {}
    for first, last in ranges:
        for seqno in range(first, last + 1):
            payload = payloads[conn_id, seqno]
            if payload.system:
                continue
            if payload.frag is None:
                counters.append(payload.counter)
                continue
            frag_id, number, count = payload.frag
            part = parts.setdefault(frag_id, {})
            part[number] = payload.counter
            if len(part) == count:
                counters.append(part[0])
                del parts[frag_id]
    return counters


def _added(streams: Streams, path: tuple[str, ...]) -> object:
    total = 0
    for stream in streams:
        value = stream.figure(*path)
        if not isinstance(value, int):
            return ABSENT
        total += value
    return total


def _compare_attributes(audited: Audited, vantage: str, report: CaptureReport) -> Iterator[Row]:
    scenario = audited.scenario
    uuid = scenario.uuids[vantage]
    streams = unicast_streams(report)
    sides = {
        SENT: [stream for stream in streams if stream.entry["sender"] == uuid],
        RECEIVED: [stream for stream in streams if stream.entry["receiver"] == uuid],
    }
    known = scenario.unicast_attributes(vantage)
    to_itself = messages_to_itself(scenario, vantage, known)
    discards = drops_inside(scenario, vantage)
    inside = discards or scenario.ended(vantage)
    for name, (side, path) in ATTRIBUTES.items():
        if name == "xmit_rsps_sent" and scenario.drops_own(vantage):
            continue  # what it dropped itself is first sent as the answer to a request
        if name not in known or (discards and name in RESENT):
            continue
        ours = _added(sides[side], path)
        truth = scenario.on_the_wire(vantage, name, known[name])
        if name in MESSAGES and truth == known[name]:
            truth -= to_itself
        if name in RECEIVED_MESSAGES:
            ours = _less(ours, _added(sides[side], ("dropped_without_window",)))
        if name == "num_acks_received":
            ours = _less(ours, _added(sides[side], ("acks_ignored",)))
        if inside and name in (*RECEIVED_MESSAGES, "num_acks_received"):
            # read before the end, or counted above the protocol that drops: a lower bound
            yield row(
                audited, vantage, f"attribute {name}, at least", ours, truth,
                equal=lambda ours, truth: bool(ours >= truth),
            )  # fmt: skip
        else:
            yield row(audited, vantage, f"attribute {name}", ours, truth)
    if discards and sides[SENT]:
        resent = sum(known[name] for name in RESENT)
        resent = scenario.on_the_wire(vantage, "num_xmits+xmit_rsps", resent)
        ours = _added(sides[SENT], ("copies",))
        yield row(audited, vantage, "attributes num_xmits+xmit_rsps_sent", ours, resent)
    blockings = known.get("num_blockings")
    if blockings is None or not sides[SENT]:
        return
    stalls = [stream.figure("stalls") for stream in sides[SENT]]
    seen: list[int] = [len(stall) for stall in stalls if isinstance(stall, list)]
    in_all = sum(seen)
    yield row(
        audited, vantage, "blocked in unicasts, at most",
        in_all if len(seen) == len(stalls) or in_all else None, blockings,
        entry=("blocked in unicasts", "sender"),
        equal=lambda ours, truth: ours <= truth and (ours == 0) == (truth == 0),
    )  # fmt: skip


def _compare_connections(audited: Audited, vantage: str, report: CaptureReport) -> Iterator[Row]:
    """Every connection that the member still had: its levels and its state."""
    scenario = audited.scenario
    own = scenario.uuids[vantage]
    found = {
        (c["sender"], c["receiver"], c["conn_id"]): c
        for c in report.report["connections"]
        if c["capture"] == report.capture
    }
    for truth in scenario.connections(vantage):
        peer = scenario.uuids[truth.peer]
        sends = truth.side == "send"
        entry = found.get((own, peer, truth.conn_id) if sends else (peer, own, truth.conn_id), {})
        names = (
            ("highest_acked", "highest_sent")
            if sends
            else ("highest_delivered", "highest_received")
        )
        figure = f"connection {truth.conn_id} {'to' if sends else 'from'} {truth.peer}"
        ours = [entry.get(name, ABSENT) for name in names]
        yield row(audited, vantage, f"{figure}, levels", ours, [truth.low, truth.high])
        yield row(
            audited, vantage, f"{figure}, state", entry.get("state", ABSENT), truth.state,
            # the capture may go on until the entry has expired
            equal=lambda ours, truth: ours == truth or (ours, truth) == ("CLOSING", "OPEN"),
        )  # fmt: skip


def drops_inside(scenario: Scenario, member: str) -> bool:
    """Whether the member's own stack dropped messages, on their way up or down (DISCARD)."""
    return scenario.happened(rf"^{member}: .*DISCARD")


def _less(ours: object, dropped: object) -> object:
    return ours - dropped if isinstance(ours, int) and isinstance(dropped, int) else ABSENT


def messages_to_itself(scenario: Scenario, member: str, known: Mapping[str, int]) -> int:
    """A member counts the messages that it sends to itself; they are on no wire (1.3)."""
    sent = {
        (message.destination, message.unicast.conn_id, message.unicast.seqno)
        for message in scenario.messages(member)
        if message.unicast is not None
        and message.unicast.kind == DATA
        and message.sender == scenario.uuids[member]
    }
    counted = known.get("num_msgs_sent", known.get("num_messages_sent", 0))
    return max(0, counted - len(sent))
