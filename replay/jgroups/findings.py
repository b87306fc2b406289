"""Findings that UNICAST and MCAST streams share, each under a rule of its own (design 4.3)."""

from collections.abc import Iterable, Iterator

from seqaudit.replay.contract.finding import Certainty, Finding
from seqaudit.replay.contract.parameters import EngineParameters
from seqaudit.replay.contract.reporter import Reporter, Subject, parts_of
from seqaudit.replay.jgroups.arrivals import TICKS_TO_LOSE, Judged
from seqaudit.replay.jgroups.mcast.passing import PassingModel
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import Gap, Outcome


class WindowReporter(Reporter):
    """Makes the results of one cluster's windows in one capture."""

    def __init__(
        self, capture: int, conversation: str, parameters: EngineParameters, default_system: str
    ) -> None:
        super().__init__(capture, conversation, parameters, default_system)
        self.interval_ns: int = parameters.value("xmit_interval_ms") * 1_000_000

    # -- gaps ------------------------------------------------------------------------------------

    def repaired(
        self, stream: Subject, rule: str, gaps: list[Gap], window: Judged, how: str
    ) -> Finding:
        """``gaps`` in which messages were lost and repaired."""
        return self.gap_finding(
            stream, rule, gaps, parts_of(gaps, Outcome.RECOVERED),
            "{count:message} of {sender_member} {count|was|were} lost on the way to "
            "{receiver_member} and repaired by " + how + ", the slowest {slowest} after the gap "
            "showed.",
            slowest=shown(window.recovery.percentiles()["max"]),
        )  # fmt: skip

    def never_came(
        self,
        stream: Subject,
        rule: str,
        gaps: list[Gap],
        requests: int,
        holds: dict[str, int] | None = None,
    ) -> Finding:
        """``gaps`` in which messages are lost for good."""
        return self.gap_finding(
            stream, rule, gaps, parts_of(gaps, Outcome.UNRECOVERED),
            "{count:message} of {sender_member} never reached {receiver_member}, asked for "
            "{requests:time}; nothing behind them can be delivered in order.",
            holds=holds, requests=requests,
        )  # fmt: skip

    def lost_or_open(
        self, stream: Subject, lost: str, still_open: str, gaps: list[Gap], requests: int
    ) -> Iterator[Finding]:
        """The one or the other: whether three ticks passed before the capture ended, the report
        knows, as this conversation may have been silent long before.
        """
        until = self._lost_from(gaps)
        yield self.never_came(stream, lost, gaps, requests, holds={"end_from_ns": until})
        yield self.open_yet(stream, still_open, gaps, Outcome.UNRECOVERED, until)

    def open_yet(
        self, stream: Subject, rule: str, gaps: list[Gap], outcome: Outcome, until: int
    ) -> Finding:
        """``gaps`` in which messages were missing when the capture ended, if before ``until``."""
        return self.gap_finding(
            stream, rule, gaps, parts_of(gaps, outcome),
            "{count:message} of {sender_member} {count|was|were} still missing when the capture "
            "ended, less than three ticks after that showed.",
            holds={"end_before_ns": until},
        )  # fmt: skip

    def missed_by_capture(
        self, stream: Subject, gaps: list[Gap], window: Judged, still_open: str
    ) -> Iterator[Finding]:
        """What the receiver had, or may have had, and the capture does not hold.

        Args:
            still_open: rule of what is missing when the capture ends, too soon to be asked for.
        """
        had = with_part(gaps, Outcome.UNCAPTURED)
        if had:
            yield self.gap_finding(
                stream, "CP007", had, parts_of(had, Outcome.UNCAPTURED),
                "{receiver_member} had {count:message} of {sender_member} that this capture does "
                "not hold, as its requests for others show: the capture missed them, the network "
                "did not lose them."
                if window.had_by_requests else
                "{receiver_member} acknowledged {count:message} of {sender_member} that this "
                "capture does not hold: the capture missed them, the network did not lose them.",
            )  # fmt: skip
        unasked = with_part(gaps, Outcome.UNASKED)
        if unasked:
            until = self._lost_from(unasked)
            yield self.gap_finding(
                stream, "CP007", unasked, parts_of(unasked, Outcome.UNASKED),
                "{count:message} of {sender_member} {count|is|are} not in this capture, and no "
                "request of {receiver_member} for {count|it|them} either: it had {count|it|them} "
                "and the capture missed {count|it|them}, or the capture missed the requests; "
                "whether {count|it was|they were} lost cannot be told.",
                claim=Certainty.UNDECIDABLE,
                holds={"end_from_ns": until},
            )  # fmt: skip
            yield self.open_yet(stream, still_open, unasked, Outcome.UNASKED, until)

    def _lost_from(self, gaps: list[Gap]) -> int:
        """When the capture has to go on for what is missing to be lost, in ns."""
        return max(gap.revealed.at_ns for gap in gaps) + TICKS_TO_LOSE * self.interval_ns

    # -- copies and order ------------------------------------------------------------------------

    def came_twice(self, stream: Subject, rule: str, window: Judged) -> Iterator[Finding]:
        """Network duplicates, at their receiver."""
        yield from self.note(
            stream, rule, window.duplicated, Certainty.PROVEN,
            "{copies:message} of {sender_member} came twice in identical datagrams, from the "
            "network or from the capturing machine.",
            "the same datagram again",
            copies=window.network_duplicates,
        )  # fmt: skip

    def came_late(self, stream: Subject, rule: str, window: Judged) -> Iterator[Finding]:
        """Reordering, at the receiver."""
        yield from self.note(
            stream, rule, window.reordered, Certainty.PROVEN,
            "{count:message} of {sender_member} arrived after later ones; nothing was lost.",
            "the original, later than a higher seqno",
        )  # fmt: skip

    def passed_twice(self, stream: Subject, rule: str, passing: PassingModel) -> Iterator[Finding]:
        """Network duplicates, wherever no receive window is."""
        yield from self.note(
            stream, rule, passing.duplicated, Certainty.PROVEN,
            "{copies:message} of {sender_member} passed twice in identical datagrams.",
            "the same datagram again",
            copies=passing.network_duplicates,
        )  # fmt: skip

    def sent_late(self, stream: Subject, rule: str, passing: PassingModel) -> Iterator[Finding]:
        """First sends out of order, at their sender."""
        yield from self.note(
            stream, rule, passing.out_of_order, Certainty.PROVEN,
            "{sender_member} sent {count:message} after higher seqnos.",
            "first sent after a higher seqno",
        )  # fmt: skip

    def passed_late(self, stream: Subject, rule: str, passing: PassingModel) -> Iterator[Finding]:
        """The same between members, where it may be the network's doing."""
        yield from self.note(
            stream, rule, passing.out_of_order, Certainty.LIKELY,
            "{count:message} of {sender_member} passed after later ones.",
            "passed after a higher seqno",
        )  # fmt: skip


def with_part(gaps: Iterable[Gap], outcome: Outcome) -> list[Gap]:
    """Gaps of which a part ended this way."""
    return [gap for gap in gaps if outcome in gap.parts]
