"""What is found of unicasts at their sender, and where they only pass (replay/README.md 3, 5)."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Severity
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, listed
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    HERE,
    LIKELY,
    PLACED_HERE,
    SHOWN,
    UNDECIDABLE,
    absence,
)
from seqaudit.replay.jgroups.arrivals import TICKS_TO_LOSE
from seqaudit.replay.jgroups.findings import not_between
from seqaudit.replay.jgroups.repeats import ENDLESS_REQUESTS, RepeatedRequest
from seqaudit.replay.jgroups.unicast.engine import Pair
from seqaudit.replay.jgroups.unicast.reporter import UnicastReporter
from seqaudit.replay.jgroups.unicast.sender import SenderFacts, SenderMachine, Tail
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.jgroups.unicast.summary import capacity_of
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import Mark

SILENT_RESENDS: Final = 4


class SenderFindings(UnicastReporter):
    """Of the send entry of one connection."""

    def sent(self, machine: SenderMachine, stream: Stream) -> Iterator[Finding]:
        facts = machine.facts_of(stream)
        yield from self._tails(facts, stream)
        yield from self._stale(facts, stream)
        for repeat in facts.purged.kept:
            if repeat.answered:
                continue
            yield self.repeated(
                stream, "UC010", repeat, LIKELY,
                "{receiver_member} asked {requests:time} for {count:message} of {sender_member} "
                "that had been acknowledged and purged; none was sent again",
                self._behind(machine, stream, repeat),
            )  # fmt: skip
        for repeats in (facts.purged, facts.unanswered):
            for repeat in repeats.kept:
                if repeat.requests >= ENDLESS_REQUESTS and not repeat.answered:
                    lives = self._lives(stream, repeat)
                    yield self.repeated(
                        stream, "UC011", repeat, SHOWN if lives else LIKELY,
                        "{receiver_member} asked {requests:time} for the same {count:message} of "
                        "{sender_member} and no copy entered its window; none was seen to be sent"
                        + ("" if lives else ", nor anything else: it was paused, or has died"),
                        self._behind(machine, stream, repeat),
                    )  # fmt: skip
        yield from self._sync_answers(facts, stream)
        yield from self._unacked(machine, facts, stream)
        yield from self._sender_oddities(facts, stream)

    def _lives(self, stream: Stream, asked: RepeatedRequest) -> bool:
        """Has the sender sent any unicast since, and within the tick before the last request?"""
        own = self.engine.last_own(stream.sender)
        if own is None or own.frame < asked.first.frame:
            return False
        return own.at_ns >= asked.last.at_ns - self.interval_ns

    @staticmethod
    def _behind(machine: SenderMachine, stream: Stream, repeat: RepeatedRequest) -> int:
        """How many messages have been sent after those that are asked for in vain."""
        entry = machine.entry
        if entry is None or entry.stream is not stream:
            return 0
        return max(entry.sent + 1 - repeat.ranges.stop(), 0)

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
                f"{{times:message}} of {{sender_member}}, {{times|the|each the}} {what} when no "
                "ACK came, {times|was|were} resent until {receiver_member} acknowledged "
                "{times|it|them}; whether {times|it or its ACK was|they or their ACKs were} lost "
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
                stream, "UC007", PLACED_HERE if facts.ignored_surely else LIKELY,
                "{times:ACK} of {receiver_member} arrived out of order by {times|its|their} "
                "{times|timestamp and is|timestamps and are} ignored.",
                mark=facts.ignored[0].mark,
                evidence=[
                    (ack.mark, f"ACK {ack.seqno} with timestamp {ack.stamp}")
                    for ack in facts.ignored[:MAX_EVIDENCE]
                ],
                facts={"times": facts.ignored_count},
            )  # fmt: skip
        yield from self.note(
            stream, "UC007", facts.syncs_stale, LIKELY,
            "{times} SEND_FIRST_SEQNO of {receiver_member} came with a timestamp that is not above "
            "that of an earlier message and {times|is|are} ignored.",
            "SEND_FIRST_SEQNO",
        )  # fmt: skip
        stale = [ack for ack in facts.ignored if ack.seqno > ack.acked]
        if stale and not facts.stale_honoured:
            proven = bool(facts.stale_rightly)
            yield self.make(
                stream, "UC008", HERE if proven else LIKELY,
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
                "{sender_member} obeyed a stale ACK: {count:message} that only it covers "
                "{count|is|are} asked for again and again and {count|is|are} not resent.",
                seqnos=listed(seqnos), mark=ack,
                evidence=[(ack, "the stale ACK"), (request, "a repeated request")],
                facts={"count": seqnos.total()},
            )  # fmt: skip

    def _sync_answers(self, facts: SenderFacts, stream: Stream) -> Iterator[Finding]:
        yield from self.note(
            stream, "UC003", facts.syncs_first, Certainty.LIKELY,
            "{receiver_member} had no window when messages of {sender_member} came and nothing "
            "had been acknowledged: the first message was lost or late.",
            "SEND_FIRST_SEQNO",
        )  # fmt: skip
        yield from self.note(
            stream, "UC015", facts.syncs_after_ack, LIKELY,
            "{receiver_member} asked {times:time} for the first message of connection {conn_id}, "
            "of which it had acknowledged messages before: it has lost its window.",
            "SEND_FIRST_SEQNO", conn_id=stream.conn_id,
        )  # fmt: skip
        if facts.syncs_close:
            yield self.storm(stream, facts.syncs_close, facts.syncs_close_count, LIKELY, None)
        yield from self.note(
            stream, "UC044", facts.answered_again, Certainty.UNDECIDABLE,
            "{times} SEND_FIRST_SEQNO of {receiver_member} asked for a message that "
            "{sender_member} had sent in answer to the one before; whether that answer was lost "
            "cannot be told here.",
            "SEND_FIRST_SEQNO",
        )  # fmt: skip
        yield from self.note(
            stream, "UC014", facts.syncs_unanswered, self.since(facts.syncs_unanswered),
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
        left = self.engine.left.get(stream.sender)
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
            heard = machine.last_peer is not None
            yield self.make(
                stream, "UC027", LIKELY if heard else UNDECIDABLE,
                "{sender_member} resent message {seqno} {resends:time} and {receiver_member} sent "
                "nothing any more: it is dead, or the path is cut."
                if heard
                else "{sender_member} resent message {seqno} {resends:time}, and nothing that "
                "{receiver_member} sends is in this capture: it is dead, the path is cut, or it "
                "is not captured.",
                seqnos=[(tail.seqno, tail.seqno + 1)], mark=tail.first, evidence=_shown(tail),
                facts={"seqno": tail.seqno, "resends": tail.resends},
            )  # fmt: skip

    def _sender_oddities(self, facts: SenderFacts, stream: Stream) -> Iterator[Finding]:
        unasked = LIKELY  # unless by a SEND_FIRST_SEQNO or a request that is not captured
        if facts.with_ids and facts.needless.marks and stream.first is not None:
            between = stream.first.frame, facts.needless.marks[-1].frame
            unasked = absence(*between, certified=True, timed=True, ordered=True, here=True)
        yield from self.note(
            stream, "UC005", facts.needless, unasked,
            "{sender_member} resent {count:message} after the ACK for {count|it|them} had come.",
            "a copy after the ACK",
        )  # fmt: skip
        yield from self.note(
            stream, "UC017", facts.unexplained, absence(BEGINNING, END),
            "{sender_member} sent {count:message} again that nobody had asked for and that "
            "{count|is|are} not the highest unacknowledged one.",
            "a copy without a reason",
        )  # fmt: skip
        yield from self.note(
            stream, "UC031", facts.not_answered, self.since(facts.not_answered),
            "{count:message} that {receiver_member} asked for and {sender_member} had "
            "{count|was|were} not sent again.",
            "the request",
        )  # fmt: skip
        yield from self.note(
            stream, "UC038", facts.other_conn, LIKELY,
            "{times:ACK} of {receiver_member} {times|is|are} for connection {conn_id}, which is "
            "not the current one.",
            "the ACK", conn_id=stream.conn_id,
        )  # fmt: skip
        if facts.late_resends:
            late = max(facts.late_resends, key=lambda one: one.late_ns)
            yield self.make(
                stream, "UC019", not_between(late),
                "{sender_member} let two ticks pass {times:time} before it resent its highest "
                "unacknowledged message, or was paused.",
                mark=late.since,
                evidence=[(late.since, "the last change"), (late.seen, "the resend")],
                facts={"times": facts.late_resend_count},
                default="xmit_interval_ms",
            )  # fmt: skip

    def window(self, pair: Pair, stream: Stream) -> Iterator[Finding]:
        assert pair.sending is not None
        model = pair.sending.facts_of(stream).window
        capacity = capacity_of(pair, stream, self.parameters)
        if model is None:
            return
        yield from self.overrun(stream, "UC025", model)
        stalls = model.stalls()
        if stalls and capacity is not None:
            yield self.blocked(
                stream, "UC024", stalls, capacity, "the ACK that makes room",
                to=" to {receiver_member}",
            )  # fmt: skip

    # -- wherever no receive window is -------------------------------------------------------------

    def passing(self, pair: Pair, stream: Stream) -> Iterator[Finding]:
        if stream.passing is None:
            return
        asked = [mark for note in stream.passing.lacked.values() for mark in note.marks]
        stamps = self.engine.pairs[stream.sender, stream.receiver].stamps
        since = stream.first or Mark(BEGINNING, 0)
        # a SEND_FIRST_SEQNO that is not in the capture shows only by its number
        numbered = asked and not stamps.holes and stamps.none_missing(since, max(asked))
        yield from self.passed(
            stream, stream.passing, "UC048", "UC030", "UC041",
            SHOWN if numbered else LIKELY,
        )  # fmt: skip
        for pending in stream.passing.unanswered if pair.sending is None else ():
            yield self.unanswered(stream, "UC011", pending, "passed")


def _shown(tail: Tail) -> list[tuple[Mark, str]]:
    evidence = [
        (tail.sent, f"{tail.seqno} is sent"),
        (tail.first, "its first resend"),
        (tail.last, "its last resend"),
    ]
    if tail.acked is not None:
        evidence.append((tail.acked, "the ACK for it"))
    return evidence
