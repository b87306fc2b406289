"""The figures: for every capture of a scenario, what we report beside what is true (CONTRIBUTING.md
4)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.agreement import wire
from tests.agreement.expected import FIRES, expected_rules
from tests.agreement.figures_unicast import compare_both_ends, compare_unicast
from tests.agreement.report import ABSENT, CaptureReport, StreamReport, by_capture, to_ranges
from tests.agreement.rows import Audited, Row
from tests.agreement.rows import row as _row
from tests.agreement.truth import Scenario, View, count_deliveries
from tests.agreement.unknown import Place, reason

#: Truth's words for protocols in ``captures.*.decoded`` -> ours in ``messages_by``.
SYSTEMS: Final = {"N2": "nakack2", "N4": "nakack4", "U3": "unicast3", "U4": "unicast4"}

#: Truth's words for kinds, where they are not the wire's own.
KINDS: Final = {"SFS": "SEND_FIRST_SEQNO"}

#: The lab's words for messages of other protocols -> ours. What its decoder of 3.5 did not know it
#: called by protocol ids: 21 is that release's UDP, whose header all messages have.
OTHERS: Final = {"VERIFY2": "VERIFY_SUSPECT2", "21": "STABLE", "MPING+21": "PING"}

#: Attribute of the real NAKACK -> the same number from our streams (all equal the wire, see
#: ``truth.json``). ``acks_received`` counts a member's own invisible ACKs too: an upper bound.
ATTRIBUTES: Final[Mapping[str, Callable[["Member"], object]]] = {
    "num_messages_sent": lambda member: member.own("messages"),
    "xmit_reqs_sent": lambda member: member.others(lambda s: s.figure("requested_seqnos", "sent")),
    "xmit_reqs_received": lambda member: member.own("requested_seqnos", "arrived"),
    "xmit_rsps_sent": lambda member: member.repairs(),
    "xmit_rsps_received": lambda member: member.others(lambda s: s.by_wire_kind("XMIT_RSP")),
}


def share_out(
    places: Sequence[tuple[Scenario, str]],
    report: Mapping[str, Any],
    configured: bool,
    *,
    more: bool = False,
) -> Iterator[Audited]:
    """The report cut into the parts of the scenarios; ``places`` are the captures in its order."""
    for number, (scenario, vantage) in enumerate(places):
        path = report["captures"][number]["path"]
        if path != str(scenario.captures[vantage]):
            raise ValueError(f"capture {number} of the report is {path}")
    shares: dict[Path, Audited] = {}
    parts = by_capture(report)
    for number, (scenario, vantage) in enumerate(places):
        share = shares.setdefault(scenario.folder, Audited(scenario, {}, configured, more))
        share.reports[vantage] = CaptureReport(parts[number], number)
    yield from shares.values()


def compare(audited: Audited) -> Iterator[Row]:
    """All rows of one scenario."""
    for vantage, report in audited.reports.items():
        yield from _compare_decoding(audited, vantage, report)
        if vantage in audited.scenario.uuids:
            yield from _compare_member(audited, vantage, report)
        else:
            yield from _compare_mirror(audited, vantage, report)
        yield from compare_unicast(audited, vantage, report)
    yield from compare_both_ends(audited)
    yield from _compare_findings(audited)


# ---- decoding


def _compare_decoding(audited: Audited, vantage: str, report: CaptureReport) -> Iterator[Row]:
    """Frames, and decoded messages by protocol and kind."""
    scenario = audited.scenario
    stated = scenario.truth["captures"][vantage]
    frames = stated.get("packets")
    if frames is None:
        frames = sum(1 for _ in wire.read_packets(scenario.captures[vantage]))
    yield _row(audited, vantage, "frames", report.frames, frames)
    truth = decoded_by_truth(scenario, vantage)
    ours = {
        (system, kind): count
        for system, kinds in report.messages_by.items()
        for kind, count in kinds.items()
        if system in SYSTEMS.values() and count
    }
    for system, kind in sorted(truth.keys() | ours.keys()):
        yield _row(
            audited,
            vantage,
            f"messages {system} {kind}",
            ours.get((system, kind), 0),
            truth.get((system, kind), 0),
        )
    yield _row(audited, vantage, "frames, by outcome", sum(report.frames_by.values()), frames)
    decoded = stated.get("decoded")
    if decoded is None:
        ours_in_all = sum(report.messages_by.get("jgroups", {}).values())
        in_all = count_others(scenario, vantage)
        yield _row(audited, vantage, "messages of other protocols", ours_in_all, in_all)
        return
    for shape in ("single", "list"):
        told = decoded.get(f"datagrams_{shape}", 0)
        yield _row(audited, vantage, f"datagrams {shape}", report.datagrams(shape), told)
    others = {
        OTHERS.get(key.removeprefix("other:"), key.removeprefix("other:")): count
        for key, count in decoded.items()
        if key.startswith("other:") or key == "tcp-preamble"
    }
    if "errors" in decoded:  # the lab's decoder knew no MPING datagram (jgroups.md 1.10)
        others["MPING"] = others.get("MPING", 0) + len(decoded["errors"])
    own = report.messages_by.get("jgroups", {})
    for kind in sorted(others.keys() | own.keys()):
        figure = f"messages {kind}"
        yield _row(audited, vantage, figure, own.get(kind, 0), others.get(kind, 0))


def decoded_by_truth(scenario: Scenario, vantage: str) -> dict[tuple[str, str], int]:
    """(system, wire kind) -> messages; from our own slow decoder where the truth has no counts."""
    decoded = scenario.truth["captures"][vantage].get("decoded")
    if decoded is None:
        names = {
            wire.NAKACK_MSG: "MSG",
            wire.NAKACK_XMIT_REQ: "XMIT_REQ",
            wire.NAKACK_XMIT_RSP: "XMIT_RSP",
            wire.NAKACK_HIGHEST: "HIGHEST_SEQNO",
            wire.NAKACK_ACK: "ACK",
        }
        unicast = ("DATA", "ACK", "SEND_FIRST_SEQNO", "XMIT_REQ", "CLOSE")
        counted: Counter[tuple[str, str]] = Counter()
        for message in scenario.messages(vantage):
            if message.nakack is not None:
                counted[message.nakack.system, names[message.nakack.kind]] += 1
            elif message.unicast is not None:
                counted[message.unicast.system, unicast[message.unicast.kind]] += 1
        return dict(counted)
    found = {}
    for key, count in decoded.items():
        system, _, kind = key.partition(" ")
        if system in SYSTEMS:
            found[SYSTEMS[system], KINDS.get(kind, kind)] = count
    return found


def count_others(scenario: Scenario, vantage: str) -> int:
    """Messages without a UNICAST or NAKACK header."""
    return sum(
        1
        for message in scenario.messages(vantage)
        if message.nakack is None and message.unicast is None
    )


# ---- a member's capture


@dataclass(frozen=True, slots=True)
class Member:
    """The streams of one member's capture, added up as its own counters are."""

    uuid: str
    report: CaptureReport

    def own(self, *keys: str) -> object:
        """A figure of the member's own stream; 0 if it sent nothing."""
        stream = self.report.stream(self.uuid)
        return stream.figure(*keys) if stream.entry else 0

    def repairs(self) -> object:
        """Its XMIT_RSP (one may be the first that is ever sent), and copies that are MSG."""
        stream = self.report.stream(self.uuid)
        if not stream.entry:
            return 0
        copies: object = stream.figure("copies")
        answers: object = stream.by_wire_kind("XMIT_RSP")
        if not isinstance(copies, int) or not isinstance(answers, int):
            return ABSENT
        return max(copies, answers)

    def others(self, figure: Callable[[StreamReport], object]) -> object:
        """A figure summed over the streams of the other members."""
        total = 0
        for stream in self.report.streams():
            if stream.entry["sender"] != self.uuid:
                value = figure(stream)
                if not isinstance(value, int):
                    return ABSENT
                total += value
        return total


def _compare_member(audited: Audited, vantage: str, report: CaptureReport) -> Iterator[Row]:
    scenario = audited.scenario
    yield from _compare_views(audited, vantage, report)
    fired = {finding["rule"] for finding in report.findings()}
    for rule, fires in FIRES.items():
        true = fires(scenario, vantage)
        if true is not None and not (rule.startswith("UC") and scenario.over_tcp):
            yield _row(audited, vantage, f"{rule} fires", rule in fired, true)
    for name, ours in ATTRIBUTES.items():
        truth = scenario.attribute(vantage, name)
        if truth is not None:
            member = Member(scenario.uuids[vantage], report)
            yield _row(audited, vantage, f"attribute {name}", ours(member), truth)
    acks = scenario.attribute(vantage, "acks_received")
    if acks is not None:
        ours_acks = Member(scenario.uuids[vantage], report).own("acks", "arrived")
        yield _row(
            audited,
            vantage,
            "attribute acks_received, at most",
            ours_acks,
            acks,
            equal=lambda ours, truth: bool(ours <= truth),
        )
    for sender in scenario.uuids:
        stream = report.stream(scenario.uuids[sender])
        if sender == vantage:
            yield from _compare_own_stream(audited, vantage, stream)
        else:
            yield from _compare_received_stream(audited, vantage, sender, stream, report)


def _compare_received_stream(
    audited: Audited, vantage: str, sender: str, stream: StreamReport, report: CaptureReport
) -> Iterator[Row]:
    """What reached the member of another's multicasts, and what it asked and acknowledged."""
    scenario = audited.scenario

    def row(figure: str, ours: object, truth: object, **more: Any) -> Row:
        return _row(audited, vantage, f"{sender}>* {figure}", ours, truth, sender=sender, **more)

    figures = scenario.multicast.get(sender, {}).get("receivers", {}).get(vantage)
    if figures is not None and figures["arrived"]:
        lost = to_ranges(figures["exact"]["first_copy_lost"])
        never = to_ranges(figures["never_arrived"])
        yield row("lost", stream.figure("lost_seqnos"), lost)
        outcomes = ("recovered", "unrecovered")
        yield row("lost, by gap rows", report.seqnos_of_gaps(stream.id, outcomes), lost)
        yield row("unrecovered", stream.figure("unrecovered_seqnos"), never)
        yield row("arrived", stream.figure("arrivals"), figures["arrived"])
        yield row("distinct_arrived", stream.figure("messages"), figures["distinct_arrived"])
        yield row("copies_arrived", stream.figure("copies"), figures["copies_arrived"])
        needless = figures["exact"]["copies_sent_after_arrival"]
        if not scenario.discards(vantage):  # then a copy of what had arrived may be of use
            yield row("needless copies", stream.figure("retransmissions", "needless"), needless)
        repaired = set(figures["exact"]["first_copy_lost"]) - set(figures["never_arrived"])
        if not scenario.discards(vantage):
            yield row("useful copies", stream.figure("retransmissions", "useful"), len(repaired))
        yield row("xmit_req_sent", stream.figure("requests", "sent"), figures["xmit_req_sent"])
        yield row(
            "xmit_req_seqnos_sent",
            stream.figure("requested_seqnos", "sent"),
            figures["xmit_req_seqnos_sent"],
        )
        yield row("acks_sent", stream.figure("acks", "sent"), figures["acks_sent"])
    if not scenario.payloads(sender):
        return
    truth = scenario.delivered(vantage, sender)
    ours = stream.stated("delivered")
    if scenario.ended(vantage):
        yield from _compare_interval(audited, vantage, sender, stream)
        return
    if isinstance(ours, list):
        ours = count_deliveries(ours, scenario.payloads(sender))
    yield row("delivered", ours, truth, entry=("delivered", "receiver"))


def _compare_interval(
    audited: Audited, vantage: str, sender: str, stream: StreamReport
) -> Iterator[Row]:
    """Where a member died or left: the truth lies in our interval, and that within the wire's.

    The wire's own bounds, found by the slow decoder: the highest seqno that the member
    acknowledged, and the last one before the view without it.
    """
    scenario = audited.scenario
    payloads = scenario.payloads(sender)
    figure = f"{sender}>* delivered, last between"
    runs = scenario.delivered(vantage, sender)
    counters = [c for first, last in runs for c in range(first, last + 1)]
    last = max(
        (s for s, p in payloads.items() if not p.system and p.counter in counters), default=None
    )
    if last is None:  # it sent no application message while the member lived
        return
    interval = stream.figure("delivered_interval")
    ours = stream.figure("delivered")
    if not isinstance(interval, list) or not isinstance(ours, list):
        yield _row(audited, vantage, figure, ABSENT, last)
        return
    low, high = interval
    at_least = scenario.highest_ack_sent(vantage, sender) or 0
    at_most = scenario.last_seqno_before_view_without(vantage, sender)
    yield _row(
        audited,
        vantage,
        figure,
        [low, high],
        last,
        equal=lambda ours, truth: (
            at_least <= low <= truth <= high and (at_most is None or high <= at_most)
        ),
    )
    until = [[a, min(b, last)] for a, b in ours if a <= last]
    yield _row(
        audited,
        vantage,
        f"{sender}>* delivered, until then",
        count_deliveries(until, payloads),
        runs,
    )


def _compare_own_stream(audited: Audited, vantage: str, stream: StreamReport) -> Iterator[Row]:
    """What the member sent, and the requests and ACKs that reached it."""
    scenario = audited.scenario

    def row(figure: str, ours: object, truth: object, **more: Any) -> Row:
        return _row(audited, vantage, f"{vantage}>* {figure}", ours, truth, sender=vantage, **more)

    truth = scenario.multicast.get(vantage)
    if truth is not None:
        yield from _compare_sent(row, stream, truth)
        yield from _compare_invisible(row, stream)
        for key, figure in (("xmit_req_arrived", "requests"), ("acks_arrived", "acks")):
            total = sum(figures[key] for figures in truth["receivers"].values())
            yield row(key, stream.figure(figure, "arrived"), total)
        needless = [f["exact"]["copies_sent_after_arrival"] for f in truth["receivers"].values()]
        yield row(
            "needless copies, at most",
            stream.figure("retransmissions", "needless"),
            max(needless, default=0),
            equal=lambda ours, truth: 0 <= ours <= truth,
        )
        for receiver, figures in truth["receivers"].items():
            peer = scenario.uuids[receiver]
            for key, ours in (
                ("xmit_req_arrived", "requests"),
                ("acks_arrived", "acks"),
                ("highest_ack_arrived", "highest_ack"),
            ):
                yield row(f"{key} from {receiver}", stream.of_peer(peer, ours), figures[key])
    if scenario.delivered(vantage, vantage):
        yield row(
            "delivered",
            stream.figure("delivered") if stream.entry else None,
            scenario.delivered(vantage, vantage),
            entry=("delivered", "sender"),
        )
    blockings = scenario.attribute(vantage, "num_blockings")
    capacity = scenario.capacity(vantage)
    if not stream.entry or blockings is None or capacity is None:
        return
    yield row(
        "blocked, at most",
        stream.stalls,
        blockings,
        entry=("blocked", "sender"),
        equal=lambda ours, truth: ours <= truth and (ours == 0) == (truth == 0),
    )
    yield row(
        "outstanding, at most",
        stream.figure("max_outstanding"),
        capacity,
        equal=lambda ours, truth: 0 <= ours <= truth,
    )
    if stream.capacity is not None:
        yield row("capacity", stream.capacity, capacity)


def _compare_sent(
    row: Callable[[str, object, object], Row], stream: StreamReport, truth: Mapping[str, Any]
) -> Iterator[Row]:
    yield row("distinct_sent", stream.figure("messages"), truth["distinct_sent"])
    yield row("highest", stream.figure("last_seqno"), truth["highest"])
    sent = truth["msg_sent"] + truth["xmit_rsp_sent"]
    yield row("sent in all", stream.figure("arrivals"), sent)
    # over TCP every member gets a copy of its own: no repair, but sent once more
    copies, further = stream.figure("copies"), stream.entry.get("further_sends", 0)
    ours = copies + further if isinstance(copies, int) else copies
    yield row("copies sent", ours, sent - truth["distinct_sent"])
    yield row("msg_sent", stream.by_wire_kind("MSG"), truth["msg_sent"])
    yield row("xmit_rsp_sent", stream.by_wire_kind("XMIT_RSP"), truth["xmit_rsp_sent"])
    yield row(
        "highest_seqno_sent", stream.by_wire_kind("HIGHEST_SEQNO"), truth["highest_seqno_sent"]
    )


def _compare_invisible(
    row: Callable[[str, object, object], Row], stream: StreamReport
) -> Iterator[Row]:
    """What only a receiver's capture shows: anywhere else a report that claims it is wrong."""
    for figure in ("lost_seqnos", "unrecovered_seqnos", "delivered"):
        yield row(f"{figure}, not visible here", stream.figure(figure), None)


def _compare_views(audited: Audited, vantage: str, report: CaptureReport) -> Iterator[Row]:
    """The member's views in order; what no wire carries is listed as unknown.

    The interface also shows views that the member is not in: from before it joined and from after
    it left or died.
    """
    scenario = audited.scenario
    ours: list[str] = []
    for (creator, number), members in report.views():
        names = tuple(scenario.names.get(uuid, uuid) for uuid in members)
        seen = str(View(scenario.names.get(creator, creator), number, names))
        if vantage in names and seen not in ours:
            ours.append(seen)
    truth = []
    for view in scenario.views(vantage):
        place = Place(scenario, vantage)
        entry = ""
        if view.number == 0:
            entry = "view"
        elif str(view) not in ours and reason("view set by hand", "member", place):
            entry = "view set by hand"
        if entry:
            shown = str(view) if str(view) in ours else None
            yield _row(audited, vantage, f"view {view}", shown, str(view), entry=(entry, "member"))
        else:
            truth.append(str(view))
    yield _row(audited, vantage, "views", ours, truth)


# ---- a mirror


def _compare_mirror(audited: Audited, vantage: str, report: CaptureReport) -> Iterator[Row]:
    """Between members and before the loss: everything that anybody sent."""
    scenario = audited.scenario
    for sender, truth in scenario.multicast.items():
        stream = report.stream(scenario.uuids[sender])

        def row(figure: str, ours: object, truth: object, sender: str = sender) -> Row:
            return _row(audited, vantage, f"{sender}>* {figure}", ours, truth, sender=sender)

        yield from _compare_sent(row, stream, truth)
        yield from _compare_invisible(row, stream)
        for receiver, figures in truth["receivers"].items():
            peer = scenario.uuids[receiver]
            for key, ours in (
                ("xmit_req_sent", "requests"),
                ("xmit_req_seqnos_sent", "requested_seqnos"),
                ("acks_sent", "acks"),
            ):
                yield row(f"{key} by {receiver}", stream.of_peer(peer, ours), figures[key])


# ---- findings


def _compare_findings(audited: Audited) -> Iterator[Row]:
    """Expected rules fire at some capture of the scenario; no other rule of severity error does."""
    scenario = audited.scenario
    fired = [finding for report in audited.reports.values() for finding in report.findings()]
    codes = {finding["rule"] for finding in fired}
    allowed: set[str] = set()
    for name in scenario.truth["expect"].get("findings", ()):
        figure = f"expects {name}"
        rules = expected_rules(scenario, name)
        if rules:
            allowed |= rules
            yield _row(audited, "*", figure, sorted(codes & rules), sorted(rules))
        else:
            yield _row(audited, "*", figure, None, name, entry=("expected", "scenario"))
    errors = {f["rule"] for f in fired if f["severity"] == "error"}
    yield _row(audited, "*", "other errors", sorted(errors - allowed), [])
    if "clean" in scenario.name:
        blocked = {"MC006", "UC024"} if any(map(scenario.blockings, scenario.uuids)) else set()
        warnings = {f["rule"] for f in fired if f["severity"] == "warning"} - blocked
        yield _row(audited, "*", "warnings of a clean run", sorted(warnings), [])
