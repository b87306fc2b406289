"""What a replayed multicast cluster says (replay/README.md 3, 5)."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding
from seqaudit.replay.contract.parameters import DEFAULT
from seqaudit.replay.contract.report_rows import ViewFigures
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, listed, parts_of
from seqaudit.replay.contract.results import GAP, STREAM, VIEW, Result
from seqaudit.replay.contract.settings import BETWEEN, MEMBER
from seqaudit.replay.contract.worth import LIKELY, PLACED_HERE, SHOWN
from seqaudit.replay.jgroups import stream_rows
from seqaudit.replay.jgroups.findings import WindowReporter, longest_of, not_between, with_part
from seqaudit.replay.jgroups.mcast.engine import McastEngine
from seqaudit.replay.jgroups.mcast.receiver import ReceiverModel
from seqaudit.replay.jgroups.mcast.removal import SENDER_LEFT
from seqaudit.replay.jgroups.mcast.rules import MCAST
from seqaudit.replay.jgroups.mcast.sender import LateAck
from seqaudit.replay.jgroups.mcast.streams import McastStream
from seqaudit.replay.jgroups.mcast.summary import capacity_of, outside, role_of, stream_row
from seqaudit.replay.jgroups.repeats import ENDLESS_REQUESTS
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import BY_HIGHEST, Gap, Outcome
from seqaudit.replay.sequence.ranges import RangeSet, total

#: How gaps end that nobody asked for.
_UNASKED: Final = (Outcome.UNCAPTURED, Outcome.UNASKED, Outcome.NOT_YET, Outcome.UNTOLD)


def results(engine: McastEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about one cluster in one capture."""
    return list(_McastFindings(engine, capture).rows())


class _McastFindings(WindowReporter[McastStream]):
    def __init__(self, engine: McastEngine, capture: int) -> None:
        systems = {stream.system for stream in engine.streams.values()}
        system = min(systems) if systems else "nakack4"
        super().__init__(capture, engine.conversation, engine.parameters, system, engine.holes)
        self.engine = engine

    def receiver_of(self, stream: McastStream) -> str | None:
        return self.engine.members.local

    def receiver_at(self, stream: McastStream, frame: int) -> str | None:
        return self.engine.members.at(frame)

    # -- rows ------------------------------------------------------------------------------------

    def rows(self) -> Iterator[Result]:
        for key in sorted(self.engine.streams):
            stream = self.engine.streams[key]
            if not stream.arrivals and not stream.peers and not stream.by_wire_kind:
                continue
            row = self.settling(stream.receiver, partial(stream_row, self.engine, stream))
            yield self.row(STREAM, row, stream)
            role = role_of(self.engine, stream)
            if stream.sender_model is not None and role == stream_rows.SENDER:
                capacity = capacity_of(self.engine, stream)
                limit = None if capacity is None else capacity["value"]
                fill = stream.sender_model.fill
                yield from self.filled(
                    "unacknowledged messages", stream.sender, limit, fill, stream
                )
            for gap in stream_rows.gaps_of(stream.receiver, stream.passing):
                for part in stream_rows.gap_rows(
                    role, stream.system, gap, stream.receiver, unasked=True
                ):
                    at_window = role == stream_rows.RECEIVER
                    told = self.engine.holes.untold(part) if at_window else part
                    yield self.row(GAP, told, stream)
            for finding in self._findings(stream):
                yield self.finding(finding, stream)
        for view, mark, installed in self.engine.seen.views:
            figures: ViewFigures = {
                "id": [view.creator, view.number],
                "members": list(view.members),
                "frame": mark.frame,
                "at_ns": mark.at_ns,
                "installed": installed,
            }
            yield self.row(VIEW, figures)
        for finding in self._cluster_findings():
            yield self.finding(finding, None)
        yield from self._judged()
        yield from self._parameters()

    # -- findings --------------------------------------------------------------------------------

    def _findings(self, stream: McastStream) -> Iterator[Finding]:
        if stream.receiver is not None:
            yield from self._receiver_findings(stream, stream.receiver)
        if stream.passing is not None:
            yield from self._passing_findings(stream)
        came = "came" if stream.passing is None else "passed"
        yield from self.twice(stream, "MC010", came, stream)
        if stream.sender_model is not None:
            yield from self._sender_findings(stream)
        if outside(stream) and self.engine.vantage.kind == MEMBER:
            yield self.make(
                stream, "MC018", LIKELY,
                "{count:message} of {sender_member} arrived while this member was outside the "
                "membership: not delivered, and no loss is judged on {count|it|them}.",
                facts={"count": outside(stream)},
            )  # fmt: skip

    def _receiver_findings(self, stream: McastStream, receiver: ReceiverModel) -> Iterator[Finding]:
        gaps = receiver.gaps_by_seqno()
        yield from self.repaired(stream, "MC001", receiver)
        yield from self._lost(stream, receiver, with_part(gaps, Outcome.UNRECOVERED))
        yield from self.open_at_end(stream, "MC002", "MC014", receiver)
        came = sum(total(stream.ever.within(*part)) for part in receiver.skipped.ranges)
        yield from self.note(
            stream, "MC021", receiver.skipped, LIKELY,
            "A merge digest moved the window for {sender_member} past {count:message} that, as far "
            "as this capture shows, {count|was|were} never delivered here"
            + ("; {came} of them came." if came else "."),
            "the view whose digest is above what had been delivered",
            came=came,
        )  # fmt: skip
        yield from self._before_pause(stream, receiver, gaps)
        yield from self._notes(stream, receiver)
        yield from self._own_requests(stream, receiver)
        yield from self.missed_by_capture(stream, receiver, "MC014")

    def _before_pause(
        self, stream: McastStream, receiver: ReceiverModel, gaps: list[Gap]
    ) -> Iterator[Finding]:
        """What a member lacked when HIGHEST_SEQNO told of it (MC003). What of that it did not ask
        for it had, as far as anything tells: only its request says that something was missing."""
        tail = [g for g in gaps if g.revealed_by == BY_HIGHEST and g.requested is not None]
        lacked, others = RangeSet(), RangeSet()
        for gap in tail:
            for outcome, part in gap.parts.items():
                if outcome is not Outcome.BEFORE:
                    for piece in part.ranges:
                        others.add(*piece)
        for asked in receiver.lacked_highest.ranges - receiver.ways.no_loss():
            for piece in list(others.within(*asked)):
                lacked.add(*piece)
                others.remove(*piece)
        unasked = RangeSet(part for outcome in _UNASKED for part in parts_of(tail, outcome))
        others = others - receiver.ways.by_rebuilt - unasked
        for ranges, claim in ((lacked, SHOWN), (others, LIKELY)):
            if ranges:
                yield self.gap_finding(
                    stream, "MC003", [g for g in tail if ranges.within(g.first, g.stop)], ranges,
                    "{count:message} of {sender_member} just before a pause {count|was|were} "
                    "missing at {receiver_member} when HIGHEST_SEQNO told of {count|it|them}: "
                    "lost, or late.",
                    claim=claim,
                )  # fmt: skip

    def _lost(
        self, stream: McastStream, receiver: ReceiverModel, gaps: list[Gap]
    ) -> Iterator[Finding]:
        """``gaps`` with messages that never came; what a merge skipped of them MC021 says."""
        every = gaps
        gaps = [
            gap
            for gap in every
            if any(
                receiver.skipped.ranges.missing(*part)
                for part in gap.parts[Outcome.UNRECOVERED].ranges
            )
        ]
        if receiver.removed is None:
            lost = RangeSet(parts_of(gaps, Outcome.UNRECOVERED))
            yield from self.never_came(
                stream, "MC002", receiver, lost - receiver.ways.for_no_window
            )
            yield from self._of_gaps(
                stream, "MC002", gaps, lost & receiver.ways.for_no_window, LIKELY,
                "{count:message} of {sender_member} came to {receiver_member} when it had no "
                "window for {count|it|them}, and no copy came when it asked; nothing behind "
                "{count|it|them} can be delivered in order.",
            )  # fmt: skip
        elif gaps and receiver.removed.why == SENDER_LEFT:
            yield self.gap_finding(
                stream, "MC019", gaps, parts_of(gaps, Outcome.UNRECOVERED),
                "{sender_member} left the view while {count} of its messages were missing "
                "here; they are never delivered.",
                claim=LIKELY,
            )  # fmt: skip
        endless = [gap for gap in every if gap.requests >= ENDLESS_REQUESTS]
        if endless:
            yield self.gap_finding(
                stream, "MC015", endless, parts_of(endless, Outcome.UNRECOVERED),
                "{count:message} {count|was|were} asked for up to {requests:time} and no copy "
                "came; whether none was sent or all were lost cannot be told here.",
                claim=Certainty.LIKELY, requests=max(gap.requests for gap in endless),
            )  # fmt: skip

    def _notes(self, stream: McastStream, receiver: ReceiverModel) -> Iterator[Finding]:
        yield from self.dropped_inside(
            stream, "MC005", receiver.inner_loss,
            "a copy answers a request for a message that had arrived before",
        )  # fmt: skip
        yield from self.came_though_had(stream, "MC004", receiver, PLACED_HERE)
        yield from self.came_late(stream, "MC011", receiver)
        yield from self.note(
            stream, "MC017", receiver.outside_window, Certainty.LIKELY,
            "{count:message} of {sender_member} {count|was|were} beyond the receive window of "
            "{capacity}: {receiver_member} drops {count|it|them}.",
            "arrived above low + capacity",
            capacity=self.engine.parameters.value("capacity"),
        )  # fmt: skip

    def _own_requests(self, stream: McastStream, receiver: ReceiverModel) -> Iterator[Finding]:
        """What this member asked for and acknowledged against its own rules."""
        yield from self.note(
            stream, "MC013", receiver.spurious, LIKELY,
            "{receiver_member} asked for {count:message} of {sender_member} that it had.",
            "the request, or the ACK that covers it",
        )  # fmt: skip
        if receiver.undecided.ranges:
            yield self.make(
                stream, "MC013", Certainty.UNDECIDABLE,
                "{receiver_member} asked for {count:message} of {sender_member} that had arrived; "
                "whether it had dropped them or not yet read them cannot be told, because no ACK "
                "or digest of it came before the copy.",
                seqnos=listed(receiver.undecided.ranges),
                facts={"count": receiver.undecided.ranges.total()},
            )  # fmt: skip
        yield from self.asked_early(stream, "MC016", receiver.early_requests)
        if receiver.acks.overdue:
            late = max(receiver.acks.overdue, key=lambda one: one.late_ns)
            yield self.make(
                stream, "MC023", not_between(late),
                "{receiver_member} was late {times:time} by its ack schedule in acknowledging "
                "messages of {sender_member}, the longest after {late}, or was paused.",
                mark=late.since,
                evidence=[(late.since, "delivered"), (late.seen, "still not acknowledged")],
                facts={"times": receiver.acks.count, "late": shown(late.late_ns)},
            )  # fmt: skip
        if receiver.oversized_requests:
            mark, size = receiver.oversized_requests[0]
            yield self.make(
                stream, "MC022",
                SHOWN if self.parameters.is_given("max_xmit_req_size") else LIKELY,
                "{receiver_member} asked for {size:seqno} at once, more than max_xmit_req_size.",
                mark=mark, facts={"size": size},
                default="max_xmit_req_size",
            )  # fmt: skip

    def _passing_findings(self, stream: McastStream) -> Iterator[Finding]:
        passing = stream.passing
        assert passing is not None
        yield from self.passed(stream, passing, "MC024", "MC011", "MC012")
        yield from self.note(
            stream, "MC004", passing.needless, LIKELY,
            "{sender_member} sent {copies:copy} of messages that everybody who had asked for "
            "them had acknowledged.",
            "a copy after the ACK",
            copies=passing.needless_count,
        )  # fmt: skip
        yield from self.note(
            stream, "MC013", passing.spurious, LIKELY,
            "{count:message} of {sender_member} {count|was|were} asked for by a member that had "
            "acknowledged {count|it|them}, or before {count|it was|they were} sent.",
            "the request",
        )  # fmt: skip
        for pending in passing.unanswered:
            yield self.unanswered(stream, "MC015", pending, "was sent")

    def _sender_findings(self, stream: McastStream) -> Iterator[Finding]:
        model = stream.sender_model
        assert model is not None
        stalls = model.stalls()
        capacity = capacity_of(self.engine, stream)
        if stalls and capacity is not None:
            longest = longest_of(stalls)
            room = "{slow_member}" if longest.raised_by else "a view"
            yield self.blocked(
                stream, "MC006", stalls, capacity, "the minimum rises",
                then=f"; {room} made room then", slow_member=longest.raised_by,
            )  # fmt: skip
        yield from self.overrun(stream, "MC007", model)
        late: dict[str, list[LateAck]] = {}
        for ack in model.late_acks:
            late.setdefault(ack.member, []).append(ack)
        for member, acks in sorted(late.items()):
            evidence = [(acks[0].asked, f"HIGHEST_SEQNO {acks[0].highest}, not yet acknowledged")]
            if acks[0].came is not None:
                evidence.append((acks[0].came, f"the ACK {acks[0].value}"))
            yield self.make(
                stream, "MC008", Certainty.LIKELY,
                "{times:ACK} of {late_member} came only after HIGHEST_SEQNO: an earlier one was "
                "lost on the path or late, which cannot be told here.",
                mark=acks[0].asked, evidence=evidence,
                facts={"late_member": member, "times": len(acks)},
            )  # fmt: skip
        if model.ignored_acks:
            yield self.make(
                stream, "MC020", LIKELY,
                "{count:ACK} for {sender_member} came from members outside its view.",
                facts={"count": model.ignored_acks},
            )  # fmt: skip

    def _cluster_findings(self) -> Iterator[Finding]:
        views = self.engine.seen.views
        if views:
            yield Finding(
                "MC009", Certainty.LIKELY if self.engine.seen.unchanged else Certainty.PROVEN,
                "{count:view} of cluster {cluster} {count|was|were} seen, the last with "
                "{members:member}.",
                system=self.default_system,
                frame=views[0][1].frame, at_ns=views[0][1].at_ns,
                evidence=[
                    Evidence(mark.frame, f"view {view.number}, {len(view.members)} members")
                    for view, mark, _ in views[:MAX_EVIDENCE]
                ],
                facts={
                    "count": len(views),
                    "cluster": self.engine.cluster,
                    "members": len(views[-1][0].members),
                },
            )  # fmt: skip

    # -- judged rules and parameters -------------------------------------------------------------

    def _judged(self) -> Iterator[Result]:
        """Which rules were judged here; a clean capture says what was checked (replay/README.md
        5)."""
        at_member = self.engine.vantage.kind == MEMBER
        received = any(s.receiver is not None for s in self.engine.streams.values())
        sent = any(s.passing is not None for s in self.engine.streams.values()) and at_member
        sends = any(s.sender_model is not None for s in self.engine.streams.values())
        where = "between members" if self.engine.vantage.kind == BETWEEN else "at an unknown point"
        no_receiver = (
            "no stream is received here" if at_member else f"the capture was taken {where}"
        )
        no_sender = "no stream is sent here" if at_member else f"the capture was taken {where}"
        given = self.engine.parameters
        for code in sorted({rule.code for rule in MCAST} | {"CP007"}):
            why: str | None = None
            if code in _AT_RECEIVER and not received:
                why = no_receiver
            elif code in _AT_SENDER and not (sends and sent):
                why = no_sender
            elif code == "MC016" and given.origin("xmit_interval_ms") == DEFAULT:
                why = "mcast.xmit_interval_ms is not given"
            elif code in ("MC017", "MC007") and given.value("capacity") is None:
                why = "mcast.capacity is not given"
            elif code == "MC006" and all(
                capacity_of(self.engine, s) is None for s in self.engine.streams.values()
            ):
                why = "the capacity is neither given nor shown by the capture"
            yield self.judged(code, why)

    def _parameters(self) -> Iterator[Result]:
        yield from self.parameters_used(
            ("rules", "xmit_interval_ms", "max_xmit_req_size", "become_server_queue_size")
        )
        capacities = [capacity_of(self.engine, s) for s in self.engine.streams.values()]
        for known in capacities:
            if known is not None:
                yield self.parameter("capacity", known["value"], known["origin"])
                break
        else:
            yield self.parameter("capacity", None, DEFAULT)


_AT_RECEIVER: Final = frozenset(
    {"MC001", "MC002", "MC003", "MC005", "MC014", "MC016", "MC017", "MC018", "MC019", "MC021",
     "MC022", "MC023", "CP007"}
)  # fmt: skip
_AT_SENDER: Final = frozenset({"MC006", "MC007", "MC008", "MC012", "MC020"})
