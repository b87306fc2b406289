"""What a replayed multicast cluster says: stream summaries, gaps, views, findings (design 4.5)."""

from collections.abc import Iterator
from typing import Any, Final

from seqaudit.replay.findings import Certainty, Evidence, Finding
from seqaudit.replay.gaps import BY_HIGHEST, Gap, Outcome
from seqaudit.replay.mcast import McastEngine, Stream
from seqaudit.replay.mcast_receiver import ReceiverModel
from seqaudit.replay.mcast_sender import Stall
from seqaudit.replay.parameters import DEFAULT, LEARNED
from seqaudit.replay.ranges import RangeSet, inclusive
from seqaudit.replay.repeats import ENDLESS_REQUESTS
from seqaudit.replay.reporting import MAX_EVIDENCE, TICKS_TO_LOSE, Reporter, listed, parts_of
from seqaudit.replay.results import GAP, STREAM, VIEW, Result
from seqaudit.replay.rules import RULES
from seqaudit.replay.settings import BETWEEN, MEMBER, UNKNOWN

_NEVER_CAME: Final = (
    "{count:message} of {sender_member} never reached {receiver_member}, asked for "
    "{requests:time}; nothing behind them can be delivered in order."
)
_NOT_HERE: Final = "not visible at this point of capture (jgroups.md 6)"


def results(engine: McastEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about one cluster in one capture, which ended at ``end_ns``."""
    return list(_Reporter(engine, capture, end_ns).rows())


class _Reporter(Reporter):
    def __init__(self, engine: McastEngine, capture: int, end_ns: int) -> None:
        systems = {stream.system for stream in engine.streams.values()}
        system = min(systems) if systems else "nakack4"
        super().__init__(capture, engine.conversation, engine.parameters, system)
        self.engine = engine
        self.end_ns = end_ns
        self.interval_ns = engine.parameters.value("xmit_interval_ms") * 1_000_000

    def receiver_of(self, stream: Any) -> str | None:
        return self.engine.members.local

    # -- rows ------------------------------------------------------------------------------------

    def rows(self) -> Iterator[Result]:
        for key in sorted(self.engine.streams):
            stream = self.engine.streams[key]
            if not stream.arrivals and not stream.peers and not stream.by_wire_kind:
                continue
            yield self.row(STREAM, self._summary(stream), stream)
            for gap in self._gaps(stream):
                for row in gap.rows():
                    yield self.row(GAP, self._gap(stream, gap, row), stream)
            for finding in self._findings(stream):
                yield self.finding(finding, stream)
        for view, mark, installed in self.engine.views:
            yield self.row(
                VIEW,
                {
                    "id": [view.creator, view.number],
                    "members": list(view.members),
                    "frame": mark.frame,
                    "at_ns": mark.at_ns,
                    "installed": installed,
                },
            )
        for finding in self._cluster_findings():
            yield self.finding(finding, None)
        yield from self._judged()
        yield from self._parameters()

    # -- stream summary --------------------------------------------------------------------------

    def _summary(self, stream: Stream) -> dict[str, Any]:
        receiver, passing, sender = stream.receiver, stream.passing, stream.sender_model
        local = self.engine.members.local if receiver is not None else None
        at_receiver = self.engine.vantage.kind == MEMBER and not self._sends(stream)
        asked = sum(p.requests for p in stream.peers.values())
        asked_seqnos = sum(p.requested_seqnos for p in stream.peers.values())
        acks = sum(p.acks for p in stream.peers.values())
        side = "sent" if at_receiver else "arrived" if self._sends(stream) else "passed"
        row: dict[str, Any] = {
            "system": stream.system,
            "id": stream.key,
            "cluster": self.engine.cluster,
            "sender": stream.sender,
            "receiver": local if at_receiver else None,
            "conn_id": None,
            "role": "receiver" if at_receiver else "sender" if self._sends(stream) else "between",
            "first_seqno": stream.first_seqno,
            "last_seqno": stream.last_seqno,
            "first_frame": stream.first.frame if stream.first else None,
            "last_frame": stream.last.frame if stream.last else None,
            "first_ns": stream.first.at_ns if stream.first else None,
            "last_ns": stream.last.at_ns if stream.last else None,
            "messages": stream.ever.total(),
            "arrivals": stream.arrivals,
            "copies": stream.arrivals - stream.ever.total() - stream.further_sends,
            "further_sends": stream.further_sends,
            "bytes": stream.bytes,
            "by_wire_kind": dict(sorted(stream.by_wire_kind.items())),
            "network_duplicates": 0,
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
            "requests": {"sent": None, "arrived": None, side: asked},
            "requested_seqnos": {"sent": None, "arrived": None, side: asked_seqnos},
            "acks": {"sent": None, "arrived": None, side: acks},
            "syncs": None,
            "retransmissions": {"useful": 0, "needless": 0, "undecidable": 0},
            "recovery_ns": {"p50": None, "p99": None, "max": None},
            "outside_membership": _outside(stream),
            "peers": {member: peer.row() for member, peer in sorted(stream.peers.items())},
            "stalls": None,
            "max_outstanding": None,
            "capacity": self._capacity(stream),
            "delivered_interval": None,
            "unknown": {},
        }
        if receiver is not None:
            self._received(row, stream, receiver)
        elif at_receiver:  # no window for it: nothing is delivered, and nothing is lost for it
            row |= {"delivered": [], "lost_seqnos": [], "unrecovered_seqnos": []}
            row |= dict.fromkeys(("recovered", "recovered_or_late", "unrecovered", "lost"), 0)
        elif passing is not None:
            row["network_duplicates"] = passing.network_duplicates
            row["gaps"] = passing.gap_count
            row["reordered"] = passing.counts[Outcome.REORDERED]
            row["not_captured"] = passing.counts[Outcome.UNCAPTURED]
            row["retransmissions"] = {
                "useful": None,
                "needless": passing.needless_count,
                "undecidable": passing.undecidable,
            }
            hidden = ("delivered", "lost", "recovered", "unrecovered")
            row["unknown"] = dict.fromkeys(hidden, _NOT_HERE)
        if sender is not None:
            row["max_outstanding"] = sender.max_outstanding
            row["stalls"] = [stall.row() for stall in sender.stalls()]
            row["unlisted_stalls"] = sender.unlisted_stalls()
            if sender.capacity is None and sender.learned_capacity() is None:
                row["stalls"] = None
                row["unknown"]["stalls"] = (
                    "the capacity is not given, and the sender did not run into the same number "
                    "of unacknowledged messages twice (jgroups.md 6)"
                )
        return row

    def _received(self, row: dict[str, Any], stream: Stream, receiver: ReceiverModel) -> None:
        delivery = receiver.delivery
        row |= {
            "network_duplicates": receiver.network_duplicates,
            "start_known": receiver.start_known,
            "delivered": inclusive(delivery.ranges),
            "delivered_unlisted": delivery.unlisted,
            "gaps": receiver.gap_count,
            "reordered": receiver.counts[Outcome.REORDERED],
            "recovered": receiver.counts[Outcome.RECOVERED],
            "recovered_or_late": receiver.counts[Outcome.EITHER],
            "unrecovered": receiver.counts[Outcome.UNRECOVERED],
            "not_captured": receiver.counts[Outcome.UNCAPTURED],
            "lost": receiver.counts[Outcome.RECOVERED] + receiver.counts[Outcome.UNRECOVERED],
            "lost_seqnos": inclusive(listed(receiver.lost)),
            "unrecovered_seqnos": inclusive(listed(receiver.unrecovered)),
            "unlisted_gaps": receiver.unlisted_gaps,
            "retransmissions": {
                "useful": receiver.useful,
                "needless": receiver.needless_count,
                "undecidable": receiver.undecidable,
            },
            "recovery_ns": receiver.recovery.percentiles(),
            "dropped_inside": receiver.inner_loss.ranges.total(),
            "outside_window": receiver.outside_window.ranges.total(),
        }
        interval = self.engine.reports_interval.get(stream.key)
        if interval is not None:
            row["delivered_interval"] = list(interval)
            row["unknown"]["delivered"] = (
                "this member died or left; it delivered at least up to its last ACK and at most "
                "up to the view without it"
            )
        if receiver.inner_loss:
            row["delivered"] = None
            row["unknown"]["delivered"] = (
                "messages were dropped inside the receiver after they had arrived (MC005)"
            )

    def _sends(self, stream: Stream) -> bool:
        return self.engine.vantage.kind == MEMBER and stream.passing is not None

    def _capacity(self, stream: Stream) -> dict[str, Any] | None:
        if stream.system == "nakack2":
            return None  # unbounded windows (5.5)
        given = self.engine.parameters.value("capacity")
        if given is not None:
            return {"value": given, "origin": self.engine.parameters.origin("capacity")}
        if stream.sender_model is not None:
            learned = stream.sender_model.learned_capacity()
            if learned is not None:
                return {"value": learned, "origin": LEARNED}
        return None

    # -- gaps ------------------------------------------------------------------------------------

    def _gaps(self, stream: Stream) -> list[Gap]:
        if stream.receiver is not None:
            gaps = stream.receiver.gaps
        elif stream.passing is not None:
            gaps = stream.passing.gaps
        else:
            gaps = []
        return sorted(gaps, key=lambda gap: gap.first)

    def _gap(self, stream: Stream, gap: Gap, row: dict[str, Any]) -> dict[str, Any]:
        if stream.passing is not None:
            row = self._passing_gap(stream, row)
        return row | {"system": stream.system}

    def _passing_gap(self, stream: Stream, row: dict[str, Any]) -> dict[str, Any]:
        """At the sender and between members a gap says where a seqno is missing, not for whom."""
        names = (
            {"reordered": "sent out of order", "unrecovered": "not sent, or not captured"}
            if self._sends(stream)
            else {"unrecovered": "lost before this point, or not captured"}
        )
        return row | {"outcome": names.get(row["outcome"], row["outcome"])}

    # -- findings --------------------------------------------------------------------------------

    def _findings(self, stream: Stream) -> Iterator[Finding]:
        if stream.receiver is not None:
            yield from self._receiver_findings(stream, stream.receiver)
        if stream.passing is not None:
            yield from self._passing_findings(stream)
        if stream.sender_model is not None:
            yield from self._sender_findings(stream)
        if _outside(stream) and self.engine.vantage.kind == MEMBER:
            yield self.make(
                stream, "MC018", Certainty.PROVEN,
                "{count:message} of {sender_member} arrived while this member was outside the "
                "membership: not delivered, and no loss is judged on {count|it|them}.",
                facts={"count": _outside(stream)},
            )  # fmt: skip

    def _receiver_findings(self, stream: Stream, receiver: ReceiverModel) -> Iterator[Finding]:
        recovered, tail, lost, still_open, gone = [], [], [], [], []
        for gap in self._gaps(stream):
            if Outcome.RECOVERED in gap.parts:
                recovered.append(gap)
            if gap.revealed_by == BY_HIGHEST and gap.requested is not None:
                tail.append(gap)
            if Outcome.UNRECOVERED in gap.parts:
                if receiver.ended is not None:
                    gone.append(gap)
                elif self.end_ns - gap.revealed.at_ns >= TICKS_TO_LOSE * self.interval_ns:
                    lost.append(gap)
                else:
                    still_open.append(gap)
        if recovered:
            ranges = parts_of(recovered, Outcome.RECOVERED)
            yield self.gap_finding(
                stream, "MC001", recovered, ranges,
                "{count:message} of {sender_member} {count|was|were} lost on the way to "
                "{receiver_member} and "
                "repaired by retransmission, the slowest {slowest_ms} ms after the gap showed.",
                slowest_ms=(receiver.recovery.percentiles()["max"] or 0) // 1_000_000,
            )  # fmt: skip
        if lost:
            yield self.gap_finding(
                stream, "MC002", lost, parts_of(lost, Outcome.UNRECOVERED), _NEVER_CAME,
                requests=sum(gap.requests for gap in lost),
            )  # fmt: skip
        if still_open:
            # Whether three ticks passed before the capture ended, the report knows: this
            # conversation may have been silent long before.
            until = max(g.revealed.at_ns for g in still_open) + TICKS_TO_LOSE * self.interval_ns
            ranges = parts_of(still_open, Outcome.UNRECOVERED)
            yield self.gap_finding(
                stream, "MC014", still_open, ranges,
                "{count:message} of {sender_member} {count|was|were} still missing when the "
                "capture ended, "
                "less than three ticks after that showed.",
                holds={"end_before_ns": until},
            )  # fmt: skip
            yield self.gap_finding(
                stream, "MC002", still_open, ranges, _NEVER_CAME,
                holds={"end_from_ns": until},
                requests=sum(gap.requests for gap in still_open),
            )  # fmt: skip
        if gone and receiver.ended is not None:
            if receiver.skipped:
                pass  # MC021 says it
            elif receiver.ended[1] == "its sender left the view":
                yield self.gap_finding(
                    stream, "MC019", gone, parts_of(gone, Outcome.UNRECOVERED),
                    "{sender_member} left the view while {count} of its messages were missing "
                    "here; they are never delivered.",
                )  # fmt: skip
        if receiver.skipped:
            yield self.make(
                stream, "MC021", Certainty.PROVEN,
                "A merge digest moved the window for {sender_member} past {count:message} that "
                "were never delivered here.",
                seqnos=list(receiver.skipped), facts={"count": receiver.skipped.total()},
            )  # fmt: skip
        if tail:
            ranges = [(gap.first, gap.stop) for gap in tail]
            yield self.gap_finding(
                stream, "MC003", tail, ranges,
                "The last {count:message} of {sender_member} before a pause {count|was|were} lost; "
                "its "
                "HIGHEST_SEQNO revealed it.",
            )  # fmt: skip
        endless = [
            gap for gap in self._gaps(stream)
            if gap.requests >= ENDLESS_REQUESTS and Outcome.UNRECOVERED in gap.parts
        ]  # fmt: skip
        if endless:
            yield self.gap_finding(
                stream, "MC015", endless, parts_of(endless, Outcome.UNRECOVERED),
                "{count:message} {count|was|were} asked for up to {requests:time} and no copy "
                "came; whether "
                "none was sent or all were lost cannot be told here.",
                certainty=Certainty.LIKELY, requests=max(gap.requests for gap in endless),
            )  # fmt: skip
        yield from self._notes(stream, receiver)
        uncaptured = [gap for gap in self._gaps(stream) if Outcome.UNCAPTURED in gap.parts]
        if uncaptured:
            yield self.gap_finding(
                stream, "CP007", uncaptured, parts_of(uncaptured, Outcome.UNCAPTURED),
                "{receiver_member} acknowledged {count:message} of {sender_member} that this "
                "capture does not hold: the capture missed them, the network did not lose them.",
            )  # fmt: skip

    def _notes(self, stream: Stream, receiver: ReceiverModel) -> Iterator[Finding]:
        yield from self.note(
            stream, "MC005", receiver.inner_loss, Certainty.LIKELY,
            "{receiver_member} asked for {count:message} of {sender_member} that had arrived at "
            "its interface: they were dropped inside the receiver, not on the network.",
            "a copy answers a request for a message that had arrived before",
        )  # fmt: skip
        yield from self.note(
            stream, "MC004", receiver.needless, Certainty.PROVEN,
            "{copies:copy} of {count:message} of {sender_member} were sent to "
            "{receiver_member}, which had them.",
            "a resent copy of a message that had arrived",
            copies=receiver.needless_count,
        )  # fmt: skip
        yield from self.note(
            stream, "MC010", receiver.duplicated, Certainty.PROVEN,
            "The network delivered {copies:message} of {sender_member} twice.",
            "the same datagram again",
            copies=receiver.network_duplicates,
        )  # fmt: skip
        yield from self.note(
            stream, "MC011", receiver.reordered, Certainty.PROVEN,
            "{count:message} of {sender_member} arrived after later ones; nothing was lost.",
            "the original, later than a higher seqno",
        )  # fmt: skip
        yield from self.note(
            stream, "MC013", receiver.spurious, Certainty.PROVEN,
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
        yield from self.note(
            stream, "MC016", receiver.early_requests, Certainty.LIKELY,
            "{receiver_member} asked for {count:message} sooner than two ticks after they were "
            "seen to be missing.",
            "the request",
        )  # fmt: skip
        yield from self.note(
            stream, "MC017", receiver.outside_window, Certainty.LIKELY,
            "{count:message} of {sender_member} {count|was|were} beyond the receive window of "
            "{capacity} and "
            "are dropped by {receiver_member}.",
            "arrived above low + capacity",
            capacity=self.engine.parameters.value("capacity"),
        )  # fmt: skip
        if receiver.overdue:
            since, seen = max(receiver.overdue, key=lambda pair: pair[1].at_ns - pair[0].at_ns)
            yield self.make(
                stream, "MC023", Certainty.LIKELY,
                "{times:time} {receiver_member} had not acknowledged messages of "
                "{sender_member} when its ack schedule says so, the longest after {late_ms} ms.",
                mark=since,
                evidence=[(since, "delivered"), (seen, "still not acknowledged")],
                facts={
                    "times": receiver.overdue_count,
                    "late_ms": (seen.at_ns - since.at_ns) // 1_000_000,
                },
            )  # fmt: skip
        if receiver.oversized_requests:
            mark, size = receiver.oversized_requests[0]
            yield self.make(
                stream, "MC022", Certainty.PROVEN,
                "{receiver_member} asked for {size:seqno} at once, more than max_xmit_req_size.",
                mark=mark, facts={"size": size},
                default="max_xmit_req_size",
            )  # fmt: skip

    def _passing_findings(self, stream: Stream) -> Iterator[Finding]:
        passing = stream.passing
        assert passing is not None
        if self._sends(stream):
            yield from self.note(
                stream, "MC012", passing.out_of_order, Certainty.PROVEN,
                "{sender_member} sent {count:message} after higher seqnos.",
                "first sent after a higher seqno",
            )  # fmt: skip
        else:
            yield from self.note(
                stream, "MC011", passing.out_of_order, Certainty.LIKELY,
                "{count:message} of {sender_member} passed after later ones.",
                "passed after a higher seqno",
            )  # fmt: skip
        yield from self.note(
            stream, "MC004", passing.needless, Certainty.PROVEN,
            "{sender_member} sent {copies:copy} of messages that everybody who had asked for "
            "them had acknowledged.",
            "a copy after the ACK",
            copies=passing.needless_count,
        )  # fmt: skip
        yield from self.note(
            stream, "MC010", passing.duplicated, Certainty.PROVEN,
            "{copies:message} of {sender_member} passed twice in identical datagrams.",
            "the same datagram again",
            copies=passing.network_duplicates,
        )  # fmt: skip
        yield from self.note(
            stream, "MC013", passing.spurious, Certainty.PROVEN,
            "{count:message} of {sender_member} {count|was|were} asked for by a member that had "
            "acknowledged "
            "them, or before they were sent.",
            "the request",
        )  # fmt: skip
        for pending in passing.unanswered:
            yield self.make(
                stream, "MC015",
                Certainty.PROVEN if self._sends(stream) else Certainty.LIKELY,
                "{asker_member} asked for the same {count:message} of {sender_member} "
                "{requests:time} and no copy was sent.",
                seqnos=list(pending.ranges), mark=pending.first,
                evidence=[(pending.first, "the first request"), (pending.last, "the last request")],
                facts={
                    "asker_member": pending.member,
                    "count": RangeSet(pending.ranges).total(),
                    "requests": pending.requests,
                },
            )  # fmt: skip

    def _sender_findings(self, stream: Stream) -> Iterator[Finding]:
        model = stream.sender_model
        assert model is not None
        stalls = model.stalls()
        if stalls:
            yield self._blocked(stream, stalls)
        if model.overrun is not None:
            mark, outstanding = model.overrun
            yield self.make(
                stream, "MC007", Certainty.LIKELY,
                "{outstanding:message} of {sender_member} were unacknowledged, more than the "
                "capacity of {capacity}.",
                mark=mark,
                facts={"outstanding": outstanding, "capacity": model.capacity},
            )  # fmt: skip
        late: dict[str, list[Any]] = {}
        for ack in model.late_acks:
            late.setdefault(ack.member, []).append(ack)
        for member, acks in sorted(late.items()):
            evidence = [(acks[0].asked, f"HIGHEST_SEQNO {acks[0].highest}, not yet acknowledged")]
            if acks[0].came is not None:
                evidence.append((acks[0].came, f"the ACK {acks[0].value}"))
            yield self.make(
                stream, "MC008", Certainty.LIKELY,
                "{times:time} the ACK of {late_member} came only after HIGHEST_SEQNO: an earlier "
                "ACK was lost on the path or late, which cannot be told here.",
                mark=acks[0].asked, evidence=evidence,
                facts={"late_member": member, "times": len(acks)},
            )  # fmt: skip
        if model.ignored_acks:
            yield self.make(
                stream, "MC020", Certainty.PROVEN,
                "{count:ACK} for {sender_member} came from members outside its view.",
                facts={"count": model.ignored_acks},
            )  # fmt: skip

    def _blocked(self, stream: Stream, stalls: list[Stall]) -> Finding:
        proven = [stall for stall in stalls if stall.proven]
        longest = max(stalls, key=lambda stall: stall.resumed.at_ns - stall.full.at_ns)
        capacity = self._capacity(stream)
        assert capacity is not None
        room = "{slow_member} made room then." if longest.raised_by else "a view made room then."
        return self.make(
            stream, "MC006", Certainty.PROVEN if proven else Certainty.LIKELY,
            "{sender_member} was blocked {times:time} ({proven} proven) with its window of "
            "{capacity} messages ({origin}) full, the longest for {longest_ms} ms; " + room,
            mark=stalls[0].full,
            evidence=[
                (longest.full, f"seqno {longest.filled_by} fills the window"),
                (longest.raised, "the minimum rises"),
                (longest.resumed, "the first new seqno"),
            ],
            facts={
                "times": len(stalls),
                "proven": len(proven),
                "capacity": capacity["value"],
                "origin": capacity["origin"],
                "longest_ms": (longest.resumed.at_ns - longest.full.at_ns) // 1_000_000,
                "blocked_ns": sum(s.resumed.at_ns - s.full.at_ns for s in stalls),
                "slow_member": longest.raised_by,
            },
        )  # fmt: skip

    def _cluster_findings(self) -> Iterator[Finding]:
        if self.engine.vantage.kind == UNKNOWN:
            yield Finding(
                "CP010", Certainty.UNDECIDABLE,
                "Whether this was captured at a member of cluster {cluster}, and at which, is not "
                "known: nothing is said about delivery and loss. Say it with --at.",
                system=self.default_system,
                facts={"cluster": self.engine.cluster},
            )  # fmt: skip
        views = self.engine.views
        if views:
            yield Finding(
                "MC009", Certainty.PROVEN,
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
        """Which rules were judged here; a clean capture says what was checked (design 4.5)."""
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
        for code in sorted(RULES):
            why: str | None = None
            if not code.startswith("MC") and code not in ("CP007", "CP010"):
                continue
            if code in _AT_RECEIVER and not received:
                why = no_receiver
            elif code in _AT_SENDER and not (sends and sent):
                why = no_sender
            elif code == "MC016" and given.origin("xmit_interval_ms") == DEFAULT:
                why = "mcast.xmit_interval_ms is not given"
            elif code in ("MC017", "MC007") and given.value("capacity") is None:
                why = "mcast.capacity is not given"
            elif code == "MC006" and all(
                self._capacity(s) is None for s in self.engine.streams.values()
            ):
                why = "the capacity is neither given nor shown by the capture"
            yield self.judged(code, why)

    def _parameters(self) -> Iterator[Result]:
        yield from self.parameters_used(
            ("rules", "xmit_interval_ms", "max_xmit_req_size", "become_server_queue_size")
        )
        capacities = [self._capacity(s) for s in self.engine.streams.values()]
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


def _outside(stream: Stream) -> int:
    """Messages of no window: from outside the membership, or below where the window began."""
    below = stream.receiver.before_start if stream.receiver is not None else 0
    return stream.outside_membership + below
