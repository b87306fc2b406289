"""What is found of unicasts at their receiver (replay/README.md 3, 5)."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, listed, parts_of
from seqaudit.replay.contract.worth import LIKELY, PLACED_HERE, SHOWN, TIMED, UNDECIDABLE
from seqaudit.replay.jgroups.findings import not_between, with_part
from seqaudit.replay.jgroups.repeats import ENDLESS_REQUESTS
from seqaudit.replay.jgroups.unicast.receiver import ReceiverMachine
from seqaudit.replay.jgroups.unicast.receiver_facts import Facts
from seqaudit.replay.jgroups.unicast.reporter import UnicastReporter
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import Mark, Outcome
from seqaudit.replay.sequence.repairs import repaired_after

#: Copies that are worth an average (UC045).
MANY_COPIES: Final = 10
#: A gap is asked for within two ticks and answered at once: what takes longer was asked for in vain
#: (UC046).
SLOW_TICKS: Final = 4
#: Messages that come while others are asked for in vain: the sender lives and the path works.
OTHERS: Final = 4


class ReceiverFindings(UnicastReporter):
    """Of the receive window of one connection."""

    def received(self, machine: ReceiverMachine, stream: Stream) -> Iterator[Finding]:
        facts = machine.facts_of(stream)
        if stream.received is not None:
            yield from self._gaps(machine, stream)
            yield from self._first_lost(facts, stream)
            yield from self._copies(facts, stream)
        yield from self._syncs(machine, facts, stream)
        yield from self._endless(machine, facts, stream)
        yield from self._oddities(machine, facts, stream)
        yield from self._silent(machine, stream)

    def _gaps(self, machine: ReceiverMachine, stream: Stream) -> Iterator[Finding]:
        received = stream.received
        assert received is not None
        gaps = received.gaps_by_seqno()
        yield from self.repaired(stream, "UC001", received)
        recovered = with_part(gaps, Outcome.RECOVERED)
        long_ns = SLOW_TICKS * self.interval_ns
        slow = [gap for gap in recovered if (repaired_after(gap) or 0) > long_ns]
        if slow:
            yield self.gap_finding(
                stream, "UC046", slow, parts_of(slow, Outcome.RECOVERED),
                "It took up to {slowest} until {count:message} of {sender_member} that "
                "{count|was|were} known to be missing came.",
                claim=LIKELY, slowest=shown(max(repaired_after(gap) or 0 for gap in slow)),
            )  # fmt: skip
        lost = parts_of(gaps, Outcome.UNRECOVERED)
        yield from self.never_came(stream, "UC002", received, lost)
        yield from self.open_at_end(stream, "UC002", "UC033", received)
        yield from self.missed_by_capture(stream, received, "UC033")

    def _one_window(self, stream: Stream, since: Mark | None, until: Mark | None) -> bool:
        return self.engine.one_window(stream, since, until)

    def _first_lost(self, facts: Facts, stream: Stream) -> Iterator[Finding]:
        received = stream.received
        assert received is not None
        if facts.first_missing is None:
            return
        if received.start_known and received.start in received.lost:
            came, sync = facts.first_missing
            first = (received.start, received.start + 1)
            known = received.start == 1 and not facts.acked_before(sync)
            known = known and received.start not in received.ways.in_holes
            numbered = known and self._one_window(stream, came, sync)
            yield self.make(
                stream, "UC003", SHOWN if numbered else LIKELY,
                "The first message of connection {conn_id} of {sender_member} was lost, or late: "
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
        sure = not self.release.timestamps or self._one_window(stream, *facts.acked_and_came)
        yield from self.came_though_had(stream, "UC005", received, PLACED_HERE if sure else LIKELY)
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
        yield from self.came_late(stream, "UC030", received)
        yield from self.note(
            stream, "UC006", facts.acks_not_heard, Certainty.LIKELY,
            "{sender_member} resent message {last} although {receiver_member} had acknowledged it "
            "a while before: the ACK was lost on the path, or late.",
            "a copy of the highest message, after the ACK for it",
            last=facts.acks_not_heard.ranges.stop() - 1 if facts.acks_not_heard else None,
        )  # fmt: skip
        again = facts.rebuilt_shown and not facts.redelivered_since_ack
        yield from self.note(
            stream, "UC023", facts.redelivered, SHOWN if again else LIKELY,
            "{count:message} of {sender_member} {count|was|were} delivered a second time, by a "
            "window that was rebuilt.",
            "delivered again",
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
        if stream is not machine.synced:  # these are of the member, and said once
            return
        yield from self.note(
            stream, "UC044", machine.redundant_syncs, Certainty.LIKELY,
            "{times} SEND_FIRST_SEQNO of {receiver_member} {times|was|were} sent just after the "
            "first message that {times|it asks|they ask} {sender_member} for had arrived.",
            "SEND_FIRST_SEQNO",
        )  # fmt: skip
        if machine.close_syncs:
            yield self.storm(
                stream, machine.close_syncs, machine.close_sync_count, TIMED,
                machine.would.row(),
            )  # fmt: skip
        if machine.unanswered_syncs:
            yield from self.note(
                stream, "UC014", machine.unanswered_syncs, Certainty.LIKELY,
                "{times} SEND_FIRST_SEQNO of {receiver_member} brought no first message before the "
                "next one: it or the answer was lost, or {sender_member} had nothing "
                "unacknowledged.",
                "SEND_FIRST_SEQNO",
            )  # fmt: skip

    def _endless(self, machine: ReceiverMachine, facts: Facts, stream: Stream) -> Iterator[Finding]:
        entry = machine.entry
        behind = entry.window.waiting() if entry is not None and entry.stream is stream else 0
        for repeat in facts.after_ack.kept:
            if repeat.answered:
                continue
            yield self.repeated(
                stream, "UC010", repeat, SHOWN if facts.shown_purged(repeat) else LIKELY,
                "{receiver_member} asked {requests:time} for {count:message} of {sender_member} "
                "that it had acknowledged with an earlier window, and no copy entered the new one: "
                "in all likelihood the sender has purged {count|it|them}",
                behind,
            )  # fmt: skip
        for repeat in facts.requests.kept:
            if repeat.answered or repeat.others < OTHERS:
                continue
            if repeat.requests >= ENDLESS_REQUESTS:
                yield self.repeated(
                    stream, "UC011", repeat, SHOWN,
                    "{receiver_member} asked {requests:time} for the same {count:message} of "
                    "{sender_member} and no copy entered its window; whether none was sent or all "
                    "were lost cannot be told here",
                    behind,
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
        yield from self._other_view(facts, stream)
        inside = facts.shown_inner_loss(self.engine.stamps_of(stream.receiver))
        yield from self.dropped_inside(stream, "UC034", inside, "arrived, and asked for later")
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
        yield from self.asked_early(stream, "UC035", facts.early_requests)
        if stream.received is not None and not facts.after_ack.kept:  # else UC010 says which window
            yield from self.note(
                stream, "UC032", stream.received.spurious, LIKELY,
                "{receiver_member} asked for {count:message} of {sender_member} that it had.",
                "the request",
            )  # fmt: skip
        if facts.late_acks:
            late = max(facts.late_acks, key=lambda one: one.late_ns)
            yield self.make(
                stream, "UC018", not_between(late),
                "{receiver_member} acknowledged messages of {sender_member} {times:time} later "
                "than a tick or ack_threshold allows, the longest after {late}, or was paused.",
                mark=late.since, evidence=[(late.since, "arrived"), (late.seen, "the ACK")],
                facts={"times": facts.late_ack_count, "late": shown(late.late_ns)},
                default="xmit_interval_ms",
            )  # fmt: skip
        yield from self.note(
            stream, "UC042", facts.early_acks, Certainty.LIKELY,
            "{times:ACK} of {receiver_member} to {sender_member} came sooner than the document's "
            "minimum time of {least} ms after the one before.",
            "the second ACK", least=self.parameters.value("min_ack_interval_ms"),
        )  # fmt: skip
        if machine.oversized and stream.kinds("XMIT_REQ"):
            mark, size = machine.oversized[0]
            yield self.make(
                stream, "UC036", self.given("max_xmit_req_size"),
                "{receiver_member} asked for {size} seqnos at once, more than max_xmit_req_size.",
                mark=mark, facts={"size": size},
            )  # fmt: skip

    def _silent(self, machine: ReceiverMachine, stream: Stream) -> Iterator[Finding]:
        """It gets messages and sends nothing."""
        more, count = machine.goes_on_behind, stream.outside_membership
        if machine.stopped is not None and count:
            yield self.make(
                stream, "UC027", LIKELY if machine.spoke else UNDECIDABLE,
                ("At least " if more else "")
                + "{count:message} of {sender_member} arrived at {receiver_member}, which sent "
                "nothing any more: it has died or left. {count|It is|They are} not counted as "
                "delivered or lost."
                if machine.spoke
                else "{count:message} of {sender_member} arrived at {receiver_member}, of which "
                "this capture holds nothing: it has died or left, or what it sends is not "
                "captured.",
                mark=machine.stopped, facts={"count": count},
            )  # fmt: skip

    def _other_view(self, facts: Facts, stream: Stream) -> Iterator[Finding]:
        """Its sender goes on sending to a member that has removed it from its view."""
        view = facts.after_view_of
        if view is not None:
            yield self.make(
                stream, "UC047", LIKELY,
                "{receiver_member} installed a view without {sender_member}, which went on sending "
                "to it ({count:message}): {sender_member} has another view, in which both are.",
                seqnos=listed(facts.after_view.ranges), mark=view,
                evidence=[(view, "a view without the sender")]
                + [(mark, "still sent") for mark in facts.after_view.marks[:MAX_EVIDENCE]],
                facts={"count": facts.after_view.ranges.total()},
            )  # fmt: skip
