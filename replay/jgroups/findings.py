"""Findings that UNICAST and MCAST streams share, each under a rule of its own (replay/README.md
3)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests, Severity
from seqaudit.replay.contract.open_end import with_open
from seqaudit.replay.contract.parameters import EngineParameters
from seqaudit.replay.contract.reporter import Reporter, S, parts_of
from seqaudit.replay.contract.results import D
from seqaudit.replay.contract.worth import (
    END,
    LIKELY,
    PLACED,
    PLACED_HERE,
    SHOWN,
    TIMED,
    UNDECIDABLE,
    Claim,
    Worth,
    absence,
)
from seqaudit.replay.jgroups.arrivals import JudgedStream
from seqaudit.replay.jgroups.evidence import Overdue
from seqaudit.replay.jgroups.holes import LinkHoles
from seqaudit.replay.jgroups.inner_loss import InnerLoss
from seqaudit.replay.jgroups.mcast.passing import PassingModel, Unanswered
from seqaudit.replay.jgroups.mcast.sender import SenderModel, Stall
from seqaudit.replay.jgroups.report_rows import CapacityRow
from seqaudit.replay.jgroups.stream import NumberedStream
from seqaudit.replay.sequence.durations import shown, slowest
from seqaudit.replay.sequence.gaps import Gap, Outcome
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.sequence.repairs import repaired_after

#: CP007, why the receiver had what this capture does not hold, or may have had it.
_SILENT: Final = (
    "{receiver_member} did not ask for {count:message} of {sender_member} when HIGHEST_SEQNO named "
    "{count|it|them}: it had {count|it|them}, and this capture does not."
)
_NO_WORD_OF_LOSS: Final = (
    "; whether {count|it was|they were} lost and repaired before cannot be told."
)
_LEFT_OUT: Final = (
    "{receiver_member} had {count:message} of {sender_member} that this capture does not hold, as "
    "its requests for others show, which leave {count|it|them} out" + _NO_WORD_OF_LOSS
)
_ACKNOWLEDGED: Final = (
    "{receiver_member} acknowledged {count:message} of {sender_member} that this capture does not "
    "hold, and no request for {count|it|them} either" + _NO_WORD_OF_LOSS
)
_NOT_ASKED_FOR: Final = (
    "{count:message} of {sender_member} {count|is|are} not in this capture, and no request of "
    "{receiver_member} for {count|it|them} either: it had {count|it|them} and the capture missed "
    "{count|it|them}, or the capture missed the requests; whether {count|it was|they were} lost "
    "cannot be told."
)
_BEHIND_WORD: Final = (
    "{count:message} of {sender_member} {count|is|are} not in this capture, and {receiver_member} "
    "sent nothing more when it had to ask for {count|it|them}: it had died, or was stopped, or had "
    "{count|it|them} and the capture missed {count|it|them}; whether {count|it was|they were} lost "
    "cannot be told."
)
_NOBODY_YET: Final = (
    "{count:message} of {sender_member} {count|is|are} not in this capture, and the receive window "
    "ended before its scan for missing messages had to ask for {count|it|them}: {count|it|they} "
    "came and the capture missed {count|it|them}, or {count|was|were} lost; which cannot be told."
)
_PASSED_OVER: Final = (
    "{receiver_member} acknowledged {count:message} of {sender_member} that this capture does not "
    "hold, after so long without a word of them that its window may have been moved by a merge: "
    "whether it had {count|it|them} cannot be told."
)
_NO_LONGER_ASKED_FOR: Final = (
    "{receiver_member} asked for {count:message} of {sender_member} and then no longer, and no "
    "copy is in this capture: {count|it|they} came, or {count|was|were} given up, which cannot be "
    "told."
)
_SENT_BEFORE: Final = (
    "{count:message} of {sender_member} {count|was|were} asked for and did not come while the "
    "capture went on; {count|it was|they were} sent before it, or its receiver's window, began: "
    "whether {count|it|they} had come then cannot be told."
)
_IN_HOLES_AND_NO_COPY: Final = (
    "{receiver_member} asked for {count:message} of {sender_member} and no copy is in this "
    "capture, which lacks bytes of their connection: whether {count|it|they} came first, or ever, "
    "cannot be told."
)
#: The same, where the capture lacks others of it, or words of the receiver.
_HAD_AND_NO_COPY: Final = (
    "{receiver_member} asked for {count:message} of {sender_member} and no copy is in this "
    "capture, which lacks others of that time: whether an earlier window had {count|it|them} "
    "cannot be told."
)
#: MC001, UC001: the first copy that the capture holds answers a request, and is none of a loss.
_FIRST_IN_HOLES: Final = (
    "it asked for: lost or late, or dropped inside it after {count|it|they} had come in bytes of "
    "their connection that are not in this capture"
)
#: The original is not in the capture, and may have come.
_AT_ONCE: Final = (
    "{receiver_member} asked once for {count:message} of {sender_member}, as HIGHEST_SEQNO makes "
    "it do at once, and had {count|it|them} later: lost, or late, or come just before, which is "
    "not in this capture, and not read yet when it asked."
)
#: MC005, UC034: where no time shows that it was.
_UNREAD: Final = ", or not read yet when it asked"


class WindowReporter(Reporter[S]):
    """Makes the results of one cluster's windows in one capture."""

    def __init__(
        self,
        capture: int,
        conversation: str,
        parameters: EngineParameters,
        default_system: str,
        holes: LinkHoles,
    ) -> None:
        super().__init__(capture, conversation, parameters, default_system, Worth([*holes.spans()]))
        self.interval_ns: int = parameters.value("xmit_interval_ms") * 1_000_000

    @staticmethod
    def settling(window: JudgedStream | None, of: Callable[..., D]) -> D:
        """The row of a stream, and what it says otherwise if nothing was captured behind it.

        Args:
            of: see ``stream_rows.received``.
        """
        row = of(over=False)
        if window is None or window.open_until_ns is None:
            return row
        told = of(over=True)
        return with_open(row, {key: told[key] for key in told if told[key] != row[key]})

    # -- gaps ------------------------------------------------------------------------------------

    def repaired(self, stream: S, rule: str, window: JudgedStream) -> Iterator[Finding]:
        """Messages that the receiver missed and then got."""
        every = window.gaps_by_seqno()
        gaps = [gap for gap in every if gap.parts.keys() & {Outcome.RECOVERED, Outcome.REPAIRED}]
        ranges = RangeSet([*parts_of(gaps, Outcome.RECOVERED), *parts_of(gaps, Outcome.REPAIRED)])
        unasked = _taken(ranges, window.ways.by_others)
        rebuilt = _taken(ranges, window.ways.by_rebuilt)
        in_holes = _taken(ranges, window.ways.in_holes)
        unread = _taken(ranges, window.ways.unread)
        unseen = RangeSet(parts_of(gaps, Outcome.REPAIRED)) & ranges
        earlier = RangeSet()
        for outcome in (Outcome.RECOVERED, Outcome.EITHER, Outcome.REPAIRED):
            for part in window.before.get(outcome, ()):
                earlier.add(*part)
        touched = _touching(gaps, ranges)
        times = [ns for gap in touched if (ns := repaired_after(gap, ranges)) is not None]
        of_unseen = " (of {unseen} the repair is not in this capture)" if unseen else ""
        yield from self._of_gaps(
            stream, rule, gaps, ranges, PLACED if unseen else SHOWN,
            "{count:message} of {sender_member} {count|was|were} missing at {receiver_member}, "
            "asked for and came" + of_unseen + "{slowest}.",
            slowest=slowest(max(times, default=None)), unseen=unseen.total(),
        )  # fmt: skip
        for some, by in (
            (unasked, "it was not seen to ask for: lost or late"),
            (
                rebuilt,
                "a window which was, or may have been, built anew asked for: lost or late, or come "
                "before that one",
            ),
            (in_holes, _FIRST_IN_HOLES),
        ):
            yield from self._of_gaps(
                stream, rule, gaps, some, LIKELY,
                "{count:message} of {sender_member} came to {receiver_member} only as a repair "
                "that " + by + ", or missed by the capture.",
            )  # fmt: skip
        yield from self._of_gaps(stream, rule, gaps, unread, LIKELY, _AT_ONCE)
        yield from self._of_gaps(
            stream, rule, every, earlier, UNDECIDABLE,
            "{count:message} of {sender_member} {count|was|were} asked for and came; "
            "{count|it was|they were} sent before the capture, or its receiver's window, began: "
            "whether {count|it was|they were} lost cannot be told.",
            severity=Severity.INFO,
        )  # fmt: skip

    def _of_gaps(
        self,
        stream: S,
        rule: str,
        gaps: list[Gap],
        ranges: RangeSet,
        claim: Claim,
        text: str,
        *,
        holds: dict[str, int] | None = None,
        severity: Severity | None = None,
        **facts: object,
    ) -> Iterator[Finding]:
        """A finding about some seqnos of ``gaps``; none if there are none."""
        if ranges:
            yield self.gap_finding(
                stream, rule, _touching(gaps, ranges), ranges, text,
                claim=claim, holds=holds, severity=severity, **facts,
            )  # fmt: skip

    def never_came(
        self, stream: S, rule: str, window: JudgedStream, ranges: Iterable[Range],
        holds: dict[str, int] | None = None,
    ) -> Iterator[Finding]:  # fmt: skip
        """``ranges`` of the window's gaps had not come when it ended."""
        every, lost = window.gaps_by_seqno(), RangeSet(ranges)
        for ways, text in (
            (window.ways.in_holes, _IN_HOLES_AND_NO_COPY),
            (window.ways.had, _HAD_AND_NO_COPY),
        ):
            untold = _taken(lost, ways)
            yield from self._of_gaps(stream, rule, every, untold, UNDECIDABLE, text, holds=holds)
        gaps = _touching(every, lost)
        if gaps:
            yield self.gap_finding(
                stream, rule, gaps, lost,
                "{count:message} of {sender_member} had not reached {receiver_member} when the "
                "capture or their connection ended, though it asked {requests:time}; nothing "
                "behind {count|it|them} can be delivered in order.",
                claim=absence(gaps[0].revealed.frame, END), holds=holds,
                requests=max(gap.requests for gap in gaps),
            )  # fmt: skip

    def open_at_end(
        self, stream: S, lost: str, still_open: str, window: JudgedStream
    ) -> Iterator[Finding]:
        """What was missing when the conversation ended: whether three ticks passed before the
        capture did, the report knows, as this conversation may have been silent long before.
        """
        gaps = window.gaps_by_seqno()
        went_on = {"end_from_ns": window.open_until_ns or 0}
        ended = {"end_before_ns": window.open_until_ns or 0}
        missing = RangeSet(parts_of(gaps, Outcome.CUT_OFF))
        yield from self.never_came(stream, lost, window, missing, went_on)
        not_yet = RangeSet(parts_of(gaps, Outcome.NOT_YET))
        yield from self._of_gaps(
            stream, "CP007", gaps, not_yet, UNDECIDABLE, _NOT_ASKED_FOR, holds=went_on
        )
        no_longer = RangeSet(parts_of(gaps, Outcome.ASKED))
        yield from self._of_gaps(
            stream, "CP007", gaps, no_longer, UNDECIDABLE, _NO_LONGER_ASKED_FOR, holds=went_on
        )
        asked = [gap for gap in with_part(gaps, Outcome.CUT_OFF) if gap.requested is not None]
        yield from self._of_gaps(
            stream, still_open, gaps,
            RangeSet([*no_longer, *_taken(missing, RangeSet(parts_of(asked, Outcome.CUT_OFF)))]),
            TIMED,
            "{count:message} of {sender_member} {count|was|were} asked for, and no copy is in "
            "this capture, which ended less than three ticks after that showed.",
            holds=ended,
        )  # fmt: skip
        yield from self._of_gaps(
            stream, still_open, gaps, RangeSet([*missing, *not_yet]), LIKELY,
            "{count:message} of {sender_member} {count|was|were} still missing when the capture "
            "ended, less than three ticks after that showed.",
            holds=ended,
        )  # fmt: skip

    def missed_by_capture(
        self, stream: S, window: JudgedStream, still_open: str
    ) -> Iterator[Finding]:
        """What the receiver had, or may have had, and the capture does not hold.

        Args:
            still_open: rule of what did not come while the capture went on.
        """
        gaps = window.gaps_by_seqno()
        ranges = RangeSet(parts_of(gaps, Outcome.UNCAPTURED))
        left_out = _taken(ranges, window.left_out)
        silent = _taken(ranges, window.silent)
        untold = RangeSet(parts_of(gaps, Outcome.UNTOLD))
        _taken(untold, window.skipped.ranges)
        never = RangeSet(parts_of(gaps, Outcome.UNASKED))
        passed_over = RangeSet(
            [*_taken(never, window.passed_over), *_taken(untold, window.passed_over)]
        )
        behind_word = _taken(never, window.ways.behind_word)
        stopped = RangeSet(parts_of(gaps, Outcome.STOPPED))
        earlier = window.before.get(Outcome.UNRECOVERED, RangeSet())
        for rule, some, claim, text in (
            ("CP007", silent, LIKELY, _SILENT),
            ("CP007", left_out, PLACED, _LEFT_OUT),
            ("CP007", ranges, PLACED, _ACKNOWLEDGED),
            ("CP007", passed_over, UNDECIDABLE, _PASSED_OVER),
            ("CP007", behind_word, UNDECIDABLE, _BEHIND_WORD),
            ("CP007", never, UNDECIDABLE, _NOT_ASKED_FOR),
            ("CP007", untold, UNDECIDABLE, _NOBODY_YET),
            ("CP007", stopped, UNDECIDABLE, _NO_LONGER_ASKED_FOR),
            (still_open, earlier, UNDECIDABLE, _SENT_BEFORE),
        ):
            yield from self._of_gaps(stream, rule, gaps, some, claim, text)

    def dropped_inside(
        self, stream: S, rule: str, inner: InnerLoss, shows: str
    ) -> Iterator[Finding]:
        """What had arrived at the receiver's interface and was missing in it."""
        (dropped, claim), (rest, _) = parted(inner.found, inner.dropped, PLACED_HERE)
        for note, sure, unread in (
            (dropped, claim, ""),
            *((note, sure, _UNREAD) for note, sure in parted(rest, inner.lacked, PLACED_HERE)),
        ):
            yield from self.note(
                stream, rule, note, sure,
                "{receiver_member} asked for {count:message} of {sender_member} that had arrived "
                "at its interface: {count|it was|they were} dropped inside the receiver" + unread
                + "; not lost on the network.",
                shows,
            )  # fmt: skip

    # -- copies and order ------------------------------------------------------------------------

    def came_though_had(
        self, stream: S, rule: str, window: JudgedStream, claim: Claim
    ) -> Iterator[Finding]:
        """Copies of what the receiver had: ``claim`` is of those, in another datagram, that came
        long after its own ACK."""
        (sure, _), (unsure, _) = parted(window.needless, window.came_acked.note)
        copies = window.needless_count - window.came_acked.count
        yield from self.note(
            stream, rule, sure, claim,
            "{copies:copy} of {count:message} of {sender_member} came though {receiver_member} had "
            "acknowledged {count|it|them}.",
            "another datagram with a message that was acknowledged before",
            copies=window.came_acked.count,
        )  # fmt: skip
        yield from self.note(
            stream, rule, unsure, LIKELY,
            "{copies:copy} of {count:message} of {sender_member} {copies|was|were} sent to "
            "{receiver_member}, which had {count|it|them}.",
            "a resent copy of a message that had arrived",
            copies=max(copies, unsure.ranges.total()),
        )  # fmt: skip

    def asked_early(self, stream: S, rule: str, early: Note) -> Iterator[Finding]:
        """Requests of the receiver that its own rules do not allow yet."""
        yield from self.note(
            stream, rule, early, LIKELY,
            "{receiver_member} asked for {count:message} sooner than two ticks after "
            "{count|it was|they were} seen to be missing.",
            "the request",
        )  # fmt: skip

    def twice(self, stream: S, rule: str, came: str, counted: NumberedStream) -> Iterator[Finding]:
        """Network duplicates, which ``came`` to their receiver or passed."""
        yield from self.note(
            stream, rule, counted.twice, Certainty.PROVEN,
            "{copies:message} of {sender_member} " + came + " twice in identical datagrams, from "
            "the network or from the capturing machine.",
            "the same datagram again",
            copies=counted.network_duplicates,
        )  # fmt: skip

    def came_late(self, stream: S, rule: str, window: JudgedStream) -> Iterator[Finding]:
        """Reordering, at the receiver: proven by IP ids, beyond what a capture may exchange."""
        for note, claim in parted(window.reordered, window.overtaken, PLACED_HERE):
            yield from self.note(
                stream, rule, note, claim,
                "{count:message} of {sender_member} arrived after later ones; nothing was lost.",
                "the original, later than a higher seqno",
            )  # fmt: skip

    def passed(
        self,
        stream: S,
        passing: PassingModel,
        asked: str,
        late: str,
        sent_late: str,
        claim: Claim = SHOWN,
    ) -> Iterator[Finding]:  # fmt: skip
        """What shows where no receive window is, by the rules of that name: whoever asks lacked
        what it asks for, wherever its request passes (E1).

        Args:
            claim: that the window which asks was there when that passed.
        """
        for member, found in sorted(passing.asked.items()):
            _, (wanted, _) = parted(found, passing.spurious)
            (lacked, _), (unsure, _) = parted(wanted, passing.lacked.get(member, Note()))
            yield from self.note(
                stream, asked, lacked, claim,
                "{asker_member} asked for {count:message} of {sender_member} that it lacked: lost "
                "or late, or dropped or not yet read inside it"
                + ("" if claim is SHOWN else ", or had by a window that it has lost")
                + "; its own capture shows what came.",
                "the request",
                asker_member=member,
            )  # fmt: skip
            yield from self.note(
                stream, asked, unsure, UNDECIDABLE,
                "{asker_member} asked for {count:message} of {sender_member} that "
                "{count|was|were} not seen to be sent while it had this window: whether "
                "{count|it was|they were} lost, had come before, or {count|was|were} not sent yet "
                "cannot be told.",
                "the request",
                Severity.INFO,
                asker_member=member,
            )  # fmt: skip
        yield from self.note(
            stream, sent_late if passing.at_sender else late, passing.out_of_order,
            Certainty.LIKELY,
            "{sender_member} sent {count:message} after higher seqnos."
            if passing.at_sender
            else "{count:message} of {sender_member} passed after later ones.",
            "the first copy, after a higher seqno",
        )  # fmt: skip

    # -- full windows, and answers that do not come ---------------------------------------------

    def blocked(
        self,
        stream: S,
        rule: str,
        stalls: list[Stall],
        capacity: CapacityRow,
        raises: str,
        *,
        to: str = "",
        then: str = "",
        **facts: object,
    ) -> Finding:
        """A send window that was full.

        Args:
            raises: what the frame shows that makes room.
            to, then: clauses of the text: whose window, and who made room.
        """
        longest = longest_of(stalls)
        at_most = "" if all(stall.proven for stall in stalls) else "at most "
        return self.make(
            stream, rule, LIKELY,
            "{sender_member} was blocked " + at_most + "{times:time} ({proven} ended as soon as "
            "there was room) with its window of {capacity} messages ({origin})" + to + " full, the "
            "longest for {longest}" + (then if longest.proven else " at most" + then) + ".",
            mark=stalls[0].full,
            evidence=[
                (longest.full, f"seqno {longest.filled_by} fills the window"),
                (longest.raised, raises),
                (longest.resumed, "the first new seqno"),
            ],
            facts={
                "times": len(stalls),
                "proven": sum(stall.proven for stall in stalls),
                "capacity": capacity["value"],
                "origin": capacity["origin"],
                "longest": shown(longest.resumed.at_ns - longest.full.at_ns),
                "blocked_ns": sum(s.resumed.at_ns - s.full.at_ns for s in stalls),
            } | facts,
        )  # fmt: skip

    def overrun(self, stream: S, rule: str, model: SenderModel) -> Iterator[Finding]:
        """More was unacknowledged than a window holds."""
        if model.overrun is not None:
            mark, outstanding = model.overrun
            yield self.make(
                stream, rule, LIKELY,
                "{outstanding:message} of {sender_member} {outstanding|was|were} unacknowledged, "
                "more than the capacity of {capacity}.",
                mark=mark, facts={"outstanding": outstanding, "capacity": model.capacity},
            )  # fmt: skip

    def unanswered(self, stream: S, rule: str, pending: Unanswered, came: str) -> Finding:
        """A request that was repeated, and no copy ``came``."""
        return self.make(
            stream, rule, LIKELY,
            "{asker_member} asked for the same {count:message} of {sender_member} "
            "{requests:time} "
            + ("before a copy" if pending.answered else "and no copy")
            + f" {came}.",
            seqnos=list(pending.ranges), mark=pending.first,
            evidence=[(pending.first, "the first request"), (pending.last, "the last request")],
            facts={
                "asker_member": pending.member,
                "count": RangeSet(pending.ranges).total(),
                "requests": pending.requests,
            },
        )  # fmt: skip


def longest_of(stalls: Iterable[Stall]) -> Stall:
    """The longest of some stalls, the first of such."""
    return max(stalls, key=lambda stall: stall.resumed.at_ns - stall.full.at_ns)


def parted(
    found: Note, shown: Note, claim: Claim = SHOWN
) -> tuple[tuple[Note, Claim], tuple[Note, Claim]]:
    """What frames show of what was noticed, with this claim, and the rest, which is likely."""
    sure, unsure = Note(), Note()
    for first, stop in found.ranges:
        for part in shown.ranges.within(first, stop):
            sure.ranges.add(*part)
        for part in shown.ranges.missing(first, stop):
            unsure.ranges.add(*part)
    sure.marks = list(shown.marks)
    unsure.marks = [mark for mark in found.marks if mark not in shown.marks]
    return (sure, claim), (unsure, LIKELY)


def _taken(ranges: RangeSet, chosen: RangeSet) -> RangeSet:
    """What of ``ranges`` is chosen; it is not in them any more."""
    return RangeSet(piece for part in chosen for piece in ranges.remove(*part))


def _touching(gaps: Iterable[Gap], ranges: RangeSet) -> list[Gap]:
    """Gaps of which some seqnos are in a set."""
    return [gap for gap in gaps if ranges.within(gap.first, gap.stop)]


def not_between(late: Overdue) -> Claim:
    """A claim that a member sent nothing of a kind for as long as that: likely, as nothing shows
    that the capture holds all that it sent."""
    return Claim(
        Certainty.LIKELY, Rests((late.since.frame, late.seen.frame), timed=True, here=True)
    )


def with_part(gaps: Iterable[Gap], outcome: Outcome) -> list[Gap]:
    """Gaps of which a part ended this way."""
    return [gap for gap in gaps if outcome in gap.parts]
