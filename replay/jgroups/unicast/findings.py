"""What the replayed unicast connections of a cluster say (replay/README.md 3, 5)."""

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any, Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding, Severity
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, MAX_NAMED, listed, parts_of
from seqaudit.replay.contract.results import CONNECTION, GAP, STREAM, Result
from seqaudit.replay.contract.settings import MEMBER
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    LIKELY,
    PLACED,
    SHOWN,
    TIMED,
    Claim,
    Doubt,
    Span,
    absence,
)
from seqaudit.replay.jgroups import stream_rows
from seqaudit.replay.jgroups.arrivals import TICKS_TO_LOSE, Arrivals
from seqaudit.replay.jgroups.both_ends_findings import NEEDLESS, ONE_END
from seqaudit.replay.jgroups.findings import WindowReporter, with_part
from seqaudit.replay.jgroups.repeats import ENDLESS_REQUESTS, Repeat
from seqaudit.replay.jgroups.unicast.engine import Pair, UnicastEngine
from seqaudit.replay.jgroups.unicast.receiver import Facts, ReceiverMachine
from seqaudit.replay.jgroups.unicast.rules import UNICAST
from seqaudit.replay.jgroups.unicast.sender import SenderFacts, SenderMachine, Tail
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.jgroups.unicast.summary import (
    capacity_of,
    connection_row,
    role_of,
    stream_row,
)
from seqaudit.replay.jgroups.unicast.tables import CODE, Release
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome
from seqaudit.replay.sequence.notes import Note, Times
from seqaudit.replay.sequence.ranges import RangeSet

MANY_ACKS: Final = 50
FEW_MESSAGES: Final = 2
#: Copies that are worth an average (UC045).
MANY_COPIES: Final = 10
#: A gap is asked for within two ticks and answered at once: what takes longer was asked for in vain
#: (UC046).
SLOW_TICKS: Final = 4
SILENT_RESENDS: Final = 4
#: Messages that come while others are asked for in vain: the sender lives and the path works.
OTHERS: Final = 4

_USED: Final = (
    "rules", "xmit_interval_ms", "sync_min_interval_ms", "min_ack_interval_ms",
    "conn_expiry_timeout_ms", "conn_close_timeout_ms",
)  # fmt: skip


def results(engine: UnicastEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about one cluster's unicasts in one capture."""
    return list(_Reporter(engine, capture).rows())


class _Reporter(WindowReporter):
    def __init__(self, engine: UnicastEngine, capture: int) -> None:
        systems = {stream.system for _, stream in engine.streams()}
        system = min(systems) if systems else "unicast3"
        super().__init__(capture, engine.conversation, engine.parameters, system)
        self.engine = engine
        for hole in engine.stamps.holes:  # where own frames are missing, others may be as well
            lost = hole.stamps[1] - hole.stamps[0]
            why = f"{lost} ACK or SEND_FIRST_SEQNO of this member not captured here"
            self.worth.add(Span(Doubt.HOLE, hole.before.frame, hole.after.frame, why, count=lost))
        self._ordered: Pair | None = None  # whose connections ``_earlier`` is of
        self._earlier: dict[str, Stream] = {}
        self.release = Release.of(engine.members.versions.get(engine.members.local or ""))

    def receiver_of(self, stream: Any) -> str | None:
        receiver: str = stream.receiver
        return receiver

    def rows(self) -> Iterator[Result]:
        """Streams, gaps, connections, findings, judged rules, parameters."""
        for pair, stream in self.engine.streams():
            detail = stream_row(pair, stream, self.engine.cluster, self.parameters)
            yield self.row(STREAM, detail, stream)
            yield self.row(CONNECTION, connection_row(pair, stream, self.engine.cluster), stream)
            for gap in stream_rows.gaps_of(stream.received, stream.passing):
                for row in gap.rows():
                    row = stream_rows.gap(role_of(pair), stream.system, row)
                    yield self.row(GAP, row, stream)
            for finding in self._findings(pair, stream):
                yield self.finding(finding, stream)
        for finding in self._own_not_captured():
            yield self.finding(finding, None)
        if self.engine.pairs:
            yield from self._judged()
            yield from self.parameters_used(_USED)

    def _findings(self, pair: Pair, stream: Stream) -> Iterator[Finding]:
        yield from self._connection(pair, stream)
        if pair.receiving is not None:
            yield from self._received(pair.receiving, stream)
        elif pair.sending is not None:
            yield from self._sent(pair.sending, stream)
            yield from self._window(pair, stream)
        if pair.receiving is None:
            yield from self._passed(pair, stream)

    def _own_not_captured(self) -> Iterator[Finding]:
        """Own ACKs and SEND_FIRST_SEQNO whose numbers are left out."""
        holes = self.engine.stamps.holes
        if not holes:
            return
        stamps = RangeSet(hole.stamps for hole in holes)
        named = [f"{a}" if b - a == 1 else f"{a}-{b - 1}" for a, b in islice(stamps, MAX_NAMED)]
        more = len(stamps) - len(named)
        yield Finding(
            "CP030", Certainty.PROVEN,
            "{count:ACK} or SEND_FIRST_SEQNO of {member_member} {count|is|are} not in this "
            "capture: timestamp {named}.",
            system=self.default_system, frame=holes[0].after.frame, at_ns=holes[0].after.at_ns,
            evidence=[
                Evidence(hole.after.frame, f"follows timestamp {hole.stamps[0] - 1} too late")
                for hole in holes[:MAX_EVIDENCE]
            ],
            facts={
                "count": stamps.total(),
                "member_member": self.engine.members.local,
                "named": ", ".join(named) + (f" and {more} more" if more > 0 else ""),
            },
        )  # fmt: skip

    # -- connections -----------------------------------------------------------------------------

    def _connection(self, pair: Pair, stream: Stream) -> Iterator[Finding]:
        syncs = stream.kinds("SEND_FIRST_SEQNO")
        if syncs:
            marks = self._sync_marks(pair, stream)
            text = (
                "{receiver_member} had no window for messages of {sender_member} and sent {times} "
                "SEND_FIRST_SEQNO"
            )
            facts: dict[str, Any] = {"times": syncs}
            if pair.receiving is not None:
                text += "; with a minimum of {interval} ms ({origin}) between two" + _WOULD
                facts |= self._sync_interval() | _would(pair.receiving.would.row())
            yield self.make(
                stream, "UC012", Certainty.PROVEN, text + ".",
                mark=marks[0] if marks else None,
                evidence=[(mark, "SEND_FIRST_SEQNO") for mark in marks[:MAX_EVIDENCE]],
                facts=facts,
            )  # fmt: skip
        if stream.kinds("CLOSE"):
            yield self.make(
                stream, "UC020", Certainty.PROVEN,
                "{sender_member} closed connection {conn_id} to {receiver_member}.",
                mark=stream.last, facts={"conn_id": stream.conn_id},
            )  # fmt: skip
        before = self._before(pair).get(stream.key)
        if before is not None and stream.arrivals:
            yield self.make(
                stream, "UC022", Certainty.PROVEN,
                "{sender_member} opened connection {conn_id} to {receiver_member}, after "
                "connection {before}.",
                mark=stream.first,
                facts={"conn_id": stream.conn_id, "before": before.conn_id},
            )  # fmt: skip
        acks = stream.kinds("ACK")
        if acks >= MANY_ACKS and stream.arrivals < FEW_MESSAGES * acks:
            traffic = stream.ack_traffic()
            yield self.make(
                stream, "UC037", LIKELY,
                "{acks} ACKs ({ack_bytes} bytes) for {messages} messages.",
                facts={
                    "acks": acks,
                    "ack_bytes": traffic["ack_bytes"],
                    "messages": stream.arrivals,
                },
            )  # fmt: skip

    def _before(self, pair: Pair) -> dict[str, Stream]:
        """Of each connection of a pair the one used last of those that began before it did."""
        if self._ordered is not pair:
            self._ordered, self._earlier = pair, {}
            begun = sorted(
                (stream.first, place, stream)
                for place, stream in enumerate(pair.streams.values())
                if stream.first is not None
            )
            latest: tuple[int, Stream] | None = None
            for _, together in groupby(begun, key=lambda one: one[0]):
                found = list(together)
                if latest is not None:
                    self._earlier |= {stream.key: latest[1] for _, _, stream in found}
                for _, place, stream in found:
                    if stream.conn_id is not None and (latest is None or latest[0] < place):
                        latest = place, stream
        return self._earlier

    def _sync_marks(self, pair: Pair, stream: Stream) -> list[Mark]:
        if pair.receiving is not None:
            return pair.receiving.syncs.marks
        if pair.sending is not None:
            return pair.sending.facts_of(stream).syncs.marks
        return [stream.first] if stream.first is not None else []

    # -- at the receiver ---------------------------------------------------------------------------

    def _received(self, machine: ReceiverMachine, stream: Stream) -> Iterator[Finding]:
        facts = machine.facts_of(stream)
        if stream.received is not None:
            yield from self._gaps(machine, stream)
            yield from self._first_lost(facts, stream)
            yield from self._copies(facts, stream)
        yield from self._syncs(machine, facts, stream)
        yield from self._endless(facts, stream)
        yield from self._oddities(machine, facts, stream)

    def _gaps(self, machine: ReceiverMachine, stream: Stream) -> Iterator[Finding]:
        received = stream.received
        assert received is not None
        gaps = received.gaps_by_seqno()
        yield from self.repaired(stream, "UC001", received)
        recovered = with_part(gaps, Outcome.RECOVERED)
        slow = [gap for gap in recovered if _took(gap) > SLOW_TICKS * self.interval_ns]
        if slow:
            yield self.gap_finding(
                stream, "UC046", slow, parts_of(slow, Outcome.RECOVERED),
                "It took up to {slowest} until {count:message} of {sender_member} that "
                "{count|was|were} known to be missing came.",
                claim=LIKELY, slowest=shown(max(map(_took, slow))),
            )  # fmt: skip
        lost = with_part(gaps, Outcome.UNRECOVERED)
        if lost:
            requests = max(gap.requests for gap in lost)
            yield from self.lost_or_open(stream, "UC002", "UC033", lost, requests)
        yield from self.missed_by_capture(stream, received, "UC033")

    def _first_lost(self, facts: Facts, stream: Stream) -> Iterator[Finding]:
        received = stream.received
        assert received is not None
        if facts.first_missing is None:
            return
        if received.start_known and received.start in received.lost:
            came, sync = facts.first_missing
            first = (received.start, received.start + 1)
            known = received.start == 1 and not facts.acked_before(sync)
            numbered = known and self.engine.stamps.none_missing(came, sync)
            yield self.make(
                stream, "UC003", SHOWN if numbered else LIKELY,
                "The first message of connection {conn_id} of {sender_member} was lost; "
                "{receiver_member} had no window and asked for it.",
                seqnos=[first], mark=came,
                evidence=[
                    (came, "a message for which there is no window"),
                    (sync, "SEND_FIRST_SEQNO"),
                ],
                facts={"conn_id": stream.conn_id},
            )  # fmt: skip

    def _copies(self, facts: Facts, stream: Stream) -> Iterator[Finding]:
        received = stream.received
        assert received is not None
        yield from self._came_though_had(facts, stream, received)
        resent = received.useful + received.needless_count + received.undecidable
        if resent >= MANY_COPIES and received.needless_count * 2 > resent:
            yield self.make(
                stream, "UC045", LIKELY,
                "Of {resent:copy} of messages of {sender_member} that came to {receiver_member}, "
                "{useful} repaired a loss and {needless} {needless|was|were} of what it had.",
                facts={
                    "resent": resent,
                    "useful": received.useful,
                    "needless": received.needless_count,
                },
            )  # fmt: skip
        yield from self.came_twice(stream, "UC029", received)
        yield from self.came_late(stream, "UC030", received)
        yield from self.note(
            stream, "UC006", facts.acks_not_heard, Certainty.LIKELY,
            "{sender_member} resent message {last} although {receiver_member} had acknowledged it "
            "a while before: the ACK was lost on the path, or late.",
            "a copy of the highest message, after the ACK for it",
            last=facts.acks_not_heard.ranges.stop() - 1 if facts.acks_not_heard else None,
        )  # fmt: skip
        yield from self.note(
            stream, "UC023", facts.redelivered, SHOWN if facts.rebuilt_shown else LIKELY,
            "{count:message} of {sender_member} {count|was|were} delivered a second time, by a "
            "window that was rebuilt.",
            "delivered again",
        )  # fmt: skip

    def _came_though_had(
        self, facts: Facts, stream: Stream, received: Arrivals
    ) -> Iterator[Finding]:
        """Proven of what came, in another datagram, long after its own ACK."""
        sure, unsure = facts.came_acked, Note()
        for part in received.needless.ranges:
            for piece in sure.ranges.missing(*part):
                unsure.ranges.add(*piece)
        unsure.marks = [mark for mark in received.needless.marks if mark not in sure.marks]
        copies = received.needless_count - facts.came_acked_count
        yield from self.note(
            # an own SEND_FIRST_SEQNO that is not captured may have asked for it
            stream, "UC005", sure, LIKELY if self.engine.stamps.holes else PLACED,
            "{copies:copy} of {count:message} of {sender_member} came though {receiver_member} had "
            "acknowledged {count|it|them}.",
            "another datagram with a message that was acknowledged before",
            copies=facts.came_acked_count,
        )  # fmt: skip
        yield from self.note(
            stream, "UC005", unsure, LIKELY,
            "{copies:copy} of {count:message} of {sender_member} {copies|was|were} sent to "
            "{receiver_member}, which had them.",
            "a resent copy of a message that had arrived",
            copies=max(copies, unsure.ranges.total()),
        )  # fmt: skip

    def _syncs(self, machine: ReceiverMachine, facts: Facts, stream: Stream) -> Iterator[Finding]:
        for loss in machine.losses:
            if loss.stream is not stream:
                continue
            yield self.make(
                stream, "UC015", SHOWN if facts.rebuilt_shown else LIKELY,
                "{receiver_member} lost its window for connection {conn_id} of {sender_member}, "
                "of which it had delivered up to {level}: {why}.",
                mark=loss.before,
                evidence=[
                    (loss.before, "the first message that it had no window for"),
                    (loss.shown, loss.shown_by),
                ],
                facts={"conn_id": stream.conn_id, "level": loss.level, "why": loss.why},
            )  # fmt: skip
        if not stream.kinds("SEND_FIRST_SEQNO"):
            return
        yield from self.times(
            stream, "UC044", machine.redundant_syncs, Certainty.LIKELY,
            "{times} SEND_FIRST_SEQNO of {receiver_member} {times|was|were} sent just after the "
            "first message that {times|it asks|they ask} {sender_member} for had arrived.",
            "SEND_FIRST_SEQNO",
        )  # fmt: skip
        if machine.close_syncs:
            yield self._storm(
                stream, machine.close_syncs, machine.close_sync_count, TIMED,
                machine.would.row(),
            )  # fmt: skip
        if machine.unanswered_syncs:
            yield from self.times(
                stream, "UC014", machine.unanswered_syncs, Certainty.LIKELY,
                "{times} SEND_FIRST_SEQNO of {receiver_member} brought no first message before the "
                "next one: it or the answer was lost, or {sender_member} had nothing "
                "unacknowledged.",
                "SEND_FIRST_SEQNO",
            )  # fmt: skip

    def _storm(
        self, stream: Stream, close: list[tuple[Mark, Mark]], count: int, claim: Claim,
        would: dict[str, dict[str, int]] | None,
    ) -> Finding:  # fmt: skip
        text = (
            "{times} SEND_FIRST_SEQNO of {receiver_member} to {sender_member} came sooner than "
            "{interval} ms ({origin}) after the one before"
        )
        facts: dict[str, Any] = {"times": count} | self._sync_interval()
        if not self.release.throttled:
            text += "; this release has no minimum (JGRP-1874)"
        if would is not None:
            text += ";" + _WOULD
            facts |= _would(would)
        return self.make(
            stream, "UC013", self._given("sync_min_interval_ms", claim), text + ".",
            mark=close[0][1],
            evidence=[(second, "SEND_FIRST_SEQNO") for _, second in close[:MAX_EVIDENCE]],
            facts=facts, default="sync_min_interval_ms",
        )  # fmt: skip

    @staticmethod
    def _since(noticed: Note | Times) -> Claim:
        """A claim that something did not come after what was noticed first."""
        return absence(noticed.marks[0].frame if noticed.marks else BEGINNING, END)

    def _given(self, name: str, claim: Claim = SHOWN) -> Claim:
        """A claim that rests on a parameter: not proven by its default."""
        return claim if self.parameters.is_given(name) else LIKELY

    def _sync_interval(self) -> dict[str, Any]:
        return {
            "interval": self.parameters.value("sync_min_interval_ms"),
            "origin": self.parameters.origin("sync_min_interval_ms"),
        }

    def _endless(self, facts: Facts, stream: Stream) -> Iterator[Finding]:
        for repeat in facts.after_ack.kept:
            if repeat.answered:
                continue
            yield self._purged(
                stream, repeat, LIKELY,
                "{receiver_member} asked {requests:time} for {count:message} of {sender_member} "
                "that it had acknowledged with an earlier window, and no copy came: the sender has "
                "purged them.",
            )  # fmt: skip
        for repeat in facts.requests.kept:
            if repeat.answered or repeat.others < OTHERS:
                continue
            if repeat.requests >= ENDLESS_REQUESTS:
                yield self._repeated(
                    stream, "UC011", repeat, SHOWN,
                    "{receiver_member} asked {requests:time} for the same {count:message} of "
                    "{sender_member} and no copy entered its window; whether none was sent or all "
                    "were lost cannot be told here.",
                )  # fmt: skip

    def _purged(self, stream: Stream, repeat: Repeat, claim: Claim, text: str) -> Finding:
        return self._repeated(stream, "UC010", repeat, claim, text)

    def _repeated(
        self, stream: Stream, rule: str, repeat: Repeat, claim: Claim, text: str
    ) -> Finding:
        return self.make(
            stream, rule, claim, text,
            seqnos=listed(repeat.ranges), mark=repeat.first,
            evidence=[(repeat.first, "the first request"), (repeat.last, "the last request")],
            facts={"count": repeat.ranges.total(), "requests": repeat.requests},
        )  # fmt: skip

    def _oddities(
        self, machine: ReceiverMachine, facts: Facts, stream: Stream
    ) -> Iterator[Finding]:
        if facts.closed_without_close is not None:
            yield self.make(
                stream, "UC021", Certainty.LIKELY,
                "{sender_member} began a new connection, and no CLOSE of connection {conn_id} had "
                "come: it was lost, or sent to no one because {receiver_member} was not in "
                "{sender_member}'s view.",
                mark=facts.closed_without_close,
                evidence=[(facts.closed_without_close, "the new connection")],
                facts={"conn_id": stream.conn_id},
            )  # fmt: skip
        yield from self.note(
            stream, "UC034", facts.inner_loss, Certainty.LIKELY,
            "{receiver_member} asked for {count:message} of {sender_member} that had arrived at "
            "its interface: they were dropped inside the receiver, not on the network.",
            "arrived, and asked for later",
        )  # fmt: skip
        yield from self.note(
            stream, "UC039", facts.without_window, LIKELY,
            "{count:message} of {sender_member} came before there was a window and "
            "{count|was|were} dropped; this release keeps none.",
            "a message without a window",
        )  # fmt: skip
        yield from self.note(
            stream, "UC039", facts.in_lists, LIKELY,
            "{count:message} of connection {conn_id} of {sender_member} came in lists while "
            "{receiver_member} had a window for another connection, and {count|was|were} dropped.",
            "a list of another connection", conn_id=stream.conn_id,
        )  # fmt: skip
        yield from self.note(
            stream, "UC040", facts.outside_window, Certainty.LIKELY,
            "{count:message} of {sender_member} {count|was|were} beyond the receive window and "
            "{count|is|are} dropped.",
            "above delivered + capacity",
        )  # fmt: skip
        yield from self.note(
            stream, "UC035", facts.early_requests, Certainty.LIKELY,
            "{receiver_member} asked for {count:message} sooner than two ticks after they were "
            "seen to be missing.",
            "the request",
        )  # fmt: skip
        if stream.received is not None:
            yield from self.note(
                stream, "UC032", stream.received.spurious, LIKELY,
                "{receiver_member} asked for {count:message} of {sender_member} that it had.",
                "the request",
            )  # fmt: skip
        if facts.late_acks:
            since, came = max(facts.late_acks, key=lambda pair: pair[1].at_ns - pair[0].at_ns)
            yield self.make(
                stream, "UC018", Certainty.LIKELY,
                "{times:time} {receiver_member} acknowledged messages of {sender_member} later "
                "than a tick or ack_threshold allows, the longest after {late}.",
                mark=since, evidence=[(since, "arrived"), (came, "the ACK")],
                facts={
                    "times": facts.late_ack_count,
                    "late": shown(came.at_ns - since.at_ns),
                },
                default="xmit_interval_ms",
            )  # fmt: skip
        yield from self.times(
            stream, "UC042", facts.early_acks, Certainty.LIKELY,
            "{times:ACK} of {receiver_member} to {sender_member} came sooner than the document's "
            "minimum time of {least} ms after the one before.",
            "the second ACK", least=self.parameters.value("min_ack_interval_ms"),
        )  # fmt: skip
        if machine.oversized and stream.kinds("XMIT_REQ"):
            mark, size = machine.oversized[0]
            yield self.make(
                stream, "UC036", self._given("max_xmit_req_size"),
                "{receiver_member} asked for {size} seqnos at once, more than max_xmit_req_size.",
                mark=mark, facts={"size": size},
            )  # fmt: skip
        if machine.stopped is not None and stream.outside_membership:
            yield self.make(
                stream, "UC027", Certainty.LIKELY,
                "{count:message} of {sender_member} arrived at {receiver_member}, which sent "
                "nothing any more: it has died or left. They are not counted as delivered or "
                "lost.",
                mark=machine.stopped, facts={"count": stream.outside_membership},
            )  # fmt: skip

    # -- at the sender -----------------------------------------------------------------------------

    def _sent(self, machine: SenderMachine, stream: Stream) -> Iterator[Finding]:
        facts = machine.facts_of(stream)
        yield from self._tails(facts, stream)
        yield from self._stale(facts, stream)
        for repeat in facts.purged.kept:
            if repeat.answered:
                continue
            yield self._purged(
                stream, repeat, LIKELY,
                "{receiver_member} asked {requests:time} for {count:message} of {sender_member} "
                "that had been acknowledged and purged; none was sent again.",
            )  # fmt: skip
        for repeats in (facts.purged, facts.unanswered):
            for repeat in repeats.kept:
                if repeat.requests >= ENDLESS_REQUESTS and not repeat.answered:
                    yield self._repeated(
                        stream, "UC011", repeat, SHOWN,
                        "{receiver_member} asked {requests:time} for the same {count:message} of "
                        "{sender_member} and no copy entered its window; none was seen to be sent.",
                    )  # fmt: skip
        yield from self._sync_answers(facts, stream)
        yield from self._unacked(machine, facts, stream)
        yield from self._sender_oddities(facts, stream)

    def _tails(self, facts: SenderFacts, stream: Stream) -> Iterator[Finding]:
        tails = [
            tail for tail in facts.tails
            if tail.acked is not None and not tail.belongs_to_a_gap(self.interval_ns)
        ]  # fmt: skip
        for rule, what, chosen in (
            ("UC003", "first", [tail for tail in tails if tail.seqno == 1]),
            ("UC004", "highest", [tail for tail in tails if tail.seqno != 1]),
        ):
            if not chosen:
                continue
            yield self.make(
                stream, rule, Certainty.UNDECIDABLE,
                f"{{times}} times {{sender_member}} resent the {what} message because no ACK came, "
                "until {receiver_member} acknowledged it; whether the message or its ACK was lost "
                "or late cannot be told here.",
                seqnos=[(tail.seqno, tail.seqno + 1) for tail in chosen[:MAX_EVIDENCE]],
                mark=chosen[0].first, evidence=_shown(chosen[0]),
                facts={"times": len(chosen)}, severity=Severity.INFO,
            )  # fmt: skip

        if facts.last_tail is not None:
            yield self._fell_silent(facts.last_tail, facts, stream)

    def _fell_silent(self, tail: Tail, facts: SenderFacts, stream: Stream) -> Finding:
        """Resends stopped without an ACK in the capture, if it goes on for long enough."""
        seen = facts.silent_ns is not None
        return self.make(
            stream, "UC003" if tail.seqno == 1 else "UC004", LIKELY,
            "{sender_member} resent message {seqno} {resends:time}, then was silent "
            + ("for {silent}" if seen else "until the capture ended")
            + ": {receiver_member} acknowledged it, and the ACK is not in this capture; whether "
            "the message or an ACK was lost or late before cannot be told here.",
            seqnos=[(tail.seqno, tail.seqno + 1)], mark=tail.first, evidence=_shown(tail),
            facts={
                "seqno": tail.seqno,
                "resends": tail.resends,
                "silent": shown(facts.silent_ns),
            },
            holds={} if seen else {"end_from_ns": facts.silent_from_ns or 0},
            severity=Severity.INFO,
        )  # fmt: skip

    def _stale(self, facts: SenderFacts, stream: Stream) -> Iterator[Finding]:
        if facts.ignored_count:
            yield self.make(
                stream, "UC007", PLACED if facts.ignored_surely else LIKELY,
                "{times:ACK} of {receiver_member} arrived out of order by their timestamps and "
                "are ignored.",
                mark=facts.ignored[0].mark,
                evidence=[
                    (ack.mark, f"ACK {ack.seqno} with timestamp {ack.stamp}")
                    for ack in facts.ignored[:MAX_EVIDENCE]
                ],
                facts={"times": facts.ignored_count},
            )  # fmt: skip
        stale = [ack for ack in facts.ignored if ack.seqno > ack.acked]
        if stale and not facts.stale_honoured:
            proven = bool(facts.stale_rightly)
            yield self.make(
                stream, "UC008", SHOWN if proven else LIKELY,
                "{times:stale ACK} up to {highest} would have purged messages above {acked}"
                + ("; {sender_member} sent them again when asked." if proven else "."),
                seqnos=listed(facts.stale_rightly.ranges), mark=stale[0].mark,
                evidence=[
                    (ack.mark, f"ACK {ack.seqno} with timestamp {ack.stamp}")
                    for ack in stale[:MAX_EVIDENCE]
                ]
                + [(mark, "sent again") for mark in facts.stale_rightly.marks[:MAX_EVIDENCE]],
                facts={
                    "times": facts.stale_count,
                    "highest": max(ack.seqno for ack in stale),
                    "acked": stale[0].acked,
                },
            )  # fmt: skip
        for ack, request, seqnos in facts.stale_honoured:
            yield self.make(
                stream, "UC009", LIKELY,
                "{sender_member} obeyed a stale ACK: {count:message} that only it covers are "
                "asked for again and again and are not resent.",
                seqnos=listed(seqnos), mark=ack,
                evidence=[(ack, "the stale ACK"), (request, "a repeated request")],
                facts={"count": seqnos.total()},
            )  # fmt: skip

    def _sync_answers(self, facts: SenderFacts, stream: Stream) -> Iterator[Finding]:
        yield from self.times(
            stream, "UC003", facts.syncs_first, Certainty.LIKELY,
            "{receiver_member} had no window when messages of {sender_member} came and nothing "
            "had been acknowledged: the first message was lost or late.",
            "SEND_FIRST_SEQNO",
        )  # fmt: skip
        yield from self.times(
            stream, "UC015", facts.syncs_after_ack, LIKELY,
            "{receiver_member} asked {times:time} for the first message of connection {conn_id}, "
            "of which it had acknowledged messages before: it has lost its window.",
            "SEND_FIRST_SEQNO", conn_id=stream.conn_id,
        )  # fmt: skip
        if facts.syncs_close:
            yield self._storm(stream, facts.syncs_close, facts.syncs_close_count, LIKELY, None)
        yield from self.times(
            stream, "UC044", facts.answered_again, Certainty.UNDECIDABLE,
            "{times} SEND_FIRST_SEQNO of {receiver_member} asked for a message that "
            "{sender_member} had sent in answer to the one before; whether that answer was lost "
            "cannot be told here.",
            "SEND_FIRST_SEQNO",
        )  # fmt: skip
        yield from self.times(
            stream, "UC014", facts.syncs_unanswered, self._since(facts.syncs_unanswered),
            "{times} SEND_FIRST_SEQNO of {receiver_member} {times|was|were} not answered "
            "although "
            "{sender_member} had unacknowledged messages.",
            "SEND_FIRST_SEQNO",
        )  # fmt: skip
        if facts.wrong_answers:
            mark, seqno, right = facts.wrong_answers[0]
            yield self.make(
                stream, "UC016", LIKELY,
                "{times} SEND_FIRST_SEQNO {times|was|were} answered wrongly, the first with "
                "{seqno} where {right} was the lowest unacknowledged message.",
                seqnos=[(seqno, seqno + 1)], mark=mark,
                evidence=[(at, f"{sent} with first = 1") for at, sent, _ in
                          facts.wrong_answers[:MAX_EVIDENCE]],
                facts={"times": len(facts.wrong_answers), "seqno": seqno, "right": right},
            )  # fmt: skip

    def _unacked(
        self, machine: SenderMachine, facts: SenderFacts, stream: Stream
    ) -> Iterator[Finding]:
        if facts.removed_with_unacked is not None:
            mark, seqnos = facts.removed_with_unacked
            yield self.make(
                stream, "UC028", absence(BEGINNING, mark.frame),
                "{sender_member} removed connection {conn_id} with {count:message} that "
                "{receiver_member} had not acknowledged.",
                seqnos=listed(seqnos), mark=mark,
                facts={"conn_id": stream.conn_id, "count": seqnos.total()},
            )  # fmt: skip
        entry = machine.entry
        if entry is None or entry.stream is not stream or not machine.unacked():
            return
        seqnos = machine.unacked()
        if facts.silent_ns is not None:
            return
        silent_ns = facts.silent_from_ns
        left = self.engine.left
        if left is not None:  # A21
            yield self.make(
                stream, "UC028", LIKELY,
                "{sender_member} left the cluster with {count:message} that {receiver_member} had "
                "not acknowledged; its entries are gone without a CLOSE.",
                seqnos=listed(seqnos), mark=left, evidence=[(left, "LEAVE_RSP")],
                facts={"count": seqnos.total()},
            )  # fmt: skip
            return
        yield self.make(
            stream, "UC026", absence(entry.sent_at.frame, END),
            "{count:message} of {sender_member} had not been acknowledged by {receiver_member} "
            "when the capture ended.",
            seqnos=listed(seqnos), mark=entry.sent_at, facts={"count": seqnos.total()},
            holds={"end_from_ns": entry.sent_at.at_ns + TICKS_TO_LOSE * self.interval_ns}
            | ({} if silent_ns is None else {"end_before_ns": silent_ns}),
        )  # fmt: skip
        tail = next((tail for tail in facts.tails if tail.acked is None), None)
        quiet = tail is not None and (
            machine.last_peer is None or machine.last_peer.at_ns < tail.first.at_ns
        )
        if tail is not None and tail.resends >= SILENT_RESENDS and quiet:
            yield self.make(
                stream, "UC027", Certainty.LIKELY,
                "{sender_member} resent message {seqno} {resends:time} and {receiver_member} sent "
                "nothing any more: it is dead, or the path is cut.",
                seqnos=[(tail.seqno, tail.seqno + 1)], mark=tail.first, evidence=_shown(tail),
                facts={"seqno": tail.seqno, "resends": tail.resends},
            )  # fmt: skip

    def _sender_oddities(self, facts: SenderFacts, stream: Stream) -> Iterator[Finding]:
        yield from self.note(
            stream, "UC005", facts.needless, PLACED if facts.with_ids else LIKELY,
            "{sender_member} resent {count:message} after the ACK for them had come.",
            "a copy after the ACK",
        )  # fmt: skip
        yield from self.note(
            stream, "UC017", facts.unexplained, absence(BEGINNING, END),
            "{sender_member} sent {count:message} again that nobody had asked for and that are "
            "not the highest unacknowledged one.",
            "a copy without a reason",
        )  # fmt: skip
        yield from self.note(
            stream, "UC031", facts.not_answered, self._since(facts.not_answered),
            "{count:message} that {receiver_member} asked for and {sender_member} had "
            "{count|was|were} not sent again.",
            "the request",
        )  # fmt: skip
        yield from self.times(
            stream, "UC038", facts.other_conn, LIKELY,
            "{times:ACK} of {receiver_member} are for connection {conn_id}, which is not the "
            "current one.",
            "the ACK", conn_id=stream.conn_id,
        )  # fmt: skip
        if facts.late_resends:
            since, seen = facts.late_resends[0]
            yield self.make(
                stream, "UC019", Certainty.LIKELY,
                "{times:time} {sender_member} did not resend its highest unacknowledged message "
                "within two ticks.",
                mark=since, evidence=[(since, "the last change"), (seen, "still no resend")],
                facts={"times": facts.late_resend_count},
                default="xmit_interval_ms",
            )  # fmt: skip

    def _window(self, pair: Pair, stream: Stream) -> Iterator[Finding]:
        assert pair.sending is not None
        model = pair.sending.facts_of(stream).window
        capacity = capacity_of(pair, stream, self.parameters)
        if model is None:
            return
        if model.overrun is not None:
            mark, outstanding = model.overrun
            yield self.make(
                stream, "UC025", Certainty.LIKELY,
                "{outstanding:message} of {sender_member} {outstanding|was|were} unacknowledged, "
                "more than the "
                "capacity of {capacity}.",
                mark=mark, facts={"outstanding": outstanding, "capacity": model.capacity},
            )  # fmt: skip
        stalls = model.stalls()
        if not stalls or capacity is None:
            return
        proven = [stall for stall in stalls if stall.proven]
        longest = max(stalls, key=lambda stall: stall.resumed.at_ns - stall.full.at_ns)
        yield self.make(
            stream, "UC024", LIKELY,
            "{sender_member} was blocked {times:time} ({proven} proven) with its window of "
            "{capacity} messages ({origin}) to {receiver_member} full, the longest for "
            "{longest}.",
            mark=stalls[0].full,
            evidence=[
                (longest.full, f"seqno {longest.filled_by} fills the window"),
                (longest.raised, "the ACK that makes room"),
                (longest.resumed, "the first new seqno"),
            ],
            facts={
                "times": len(stalls),
                "proven": len(proven),
                "capacity": capacity["value"],
                "origin": capacity["origin"],
                "longest": shown(longest.resumed.at_ns - longest.full.at_ns),
            },
        )  # fmt: skip

    # -- wherever no receive window is -------------------------------------------------------------

    def _passed(self, pair: Pair, stream: Stream) -> Iterator[Finding]:
        passing = stream.passing
        if passing is None:
            return
        yield from self.passed_twice(stream, "UC029", passing)
        if pair.sending is not None:
            yield from self.sent_late(stream, "UC041", passing)
            return
        yield from self.passed_late(stream, "UC030", passing)
        for pending in passing.unanswered:
            yield self.make(
                stream, "UC011", Certainty.LIKELY,
                "{receiver_member} asked for the same {count:message} of {sender_member} "
                "{requests:time} and no copy passed.",
                seqnos=list(pending.ranges), mark=pending.first,
                evidence=[(pending.first, "the first request"), (pending.last, "the last request")],
                facts={
                    "count": RangeSet(pending.ranges).total(),
                    "requests": pending.requests,
                },
            )  # fmt: skip

    # -- judged rules ------------------------------------------------------------------------------

    def _judged(self) -> Iterator[Result]:
        """Which rules were judged here; a clean capture says what was checked (replay/README.md
        5)."""
        roles = {role_of(pair) for pair in self.engine.pairs.values()}
        member = self.engine.vantage.kind == MEMBER
        where = f"the capture was taken {self.engine.vantage.kind}, at no member"
        for code in sorted(rule.code for rule in UNICAST):
            why: str | None = None
            if code == NEEDLESS:
                if member and self.engine.ends is not None:
                    continue  # judged when all captures are known
                why = ONE_END if member else where
            elif code in _AT_RECEIVER and "receiver" not in roles:
                why = "no unicast stream is received here" if member else where
            elif code in _AT_SENDER and "sender" not in roles:
                why = "no unicast stream is sent here" if member else where
            elif code in _AT_MEMBER and not member:
                why = where
            elif code == "UC035" and not self.parameters.is_given("xmit_interval_ms"):
                why = "unicast.xmit_interval_ms is not given"
            elif code in ("UC025", "UC040") and self.parameters.value("capacity") is None:
                why = "unicast.capacity is not given"
            elif code == "UC036" and self.parameters.value("max_xmit_req_size") is None:
                why = "unicast.max_xmit_req_size is not given"
            elif code in ("UC007", "UC008", "UC009") and not self.release.timestamps:
                why = "this release has no timestamps"
            elif code == "UC042" and self.parameters.value("rules") == CODE:
                why = "the shipped code has no minimum time between ACKs"
            elif code == "UC039" and self.release.cached and self.default_system == "unicast4":
                why = "UNICAST4 keeps messages that come before the window"
            yield self.judged(code, why)


_AT_RECEIVER: Final = frozenset(
    {"UC001", "UC002", "UC006", "UC018", "UC021", "UC023", "UC032", "UC033", "UC034", "UC035",
     "UC036", "UC039", "UC040", "UC042", "UC045", "UC046"}
)  # fmt: skip
_AT_SENDER: Final = frozenset(
    {"UC004", "UC007", "UC008", "UC009", "UC016", "UC017", "UC019", "UC024", "UC025", "UC026",
     "UC028", "UC031", "UC038", "UC041"}
)  # fmt: skip
_AT_MEMBER: Final = frozenset(
    {"UC003", "UC005", "UC010", "UC013", "UC014", "UC015", "UC027", "UC044"}
)


def _took(gap: Gap) -> int:
    """From the moment when a gap showed to the last of its repairs, in ns."""
    last = gap.parts[Outcome.RECOVERED].last
    return 0 if last is None else last.at_ns - gap.revealed.at_ns


#: How many SEND_FIRST_SEQNO each rule set would have sent (JGRP-1874); facts of ``_would``.
_WOULD: Final = (
    " the shipped rules would have sent {code}, the documents' {document}, the UNICAST3 document's "
    "alone {before_sync}"
)


def _would(row: dict[str, dict[str, int]]) -> dict[str, int]:
    return {
        name.replace("document-", "").replace("-", "_"): counts["syncs"]
        for name, counts in row.items()
    }


def _shown(tail: Tail) -> list[tuple[Mark, str]]:
    evidence = [
        (tail.sent, f"{tail.seqno} is sent"),
        (tail.first, "its first resend"),
        (tail.last, "its last resend"),
    ]
    if tail.acked is not None:
        evidence.append((tail.acked, "the ACK for it"))
    return evidence
