"""What a capture is worth, span by span, and the one place that makes findings through it.

An engine never decides by itself how sure a finding is. It makes a *claim*: what its captured
frames show, what it rests on that is absent from the capture, whether durations or the order of
frames decide, and which parameters. ``Worth`` holds the spans of doubt over the conversation; from
both comes the verdict.

    the claim rests on            and the spans over it        verdict
    captured frames alone         any                          proven
    something absent              none, and a certificate      proven
                                  none, no certificate         likely
                                  a hole, a cut, undecoded     cannot be told
                                  before the capture began     cannot be told
                                  numbers of another sender's  cannot be told
    durations                     the clock stepped, coarse    likely
    the order of frames           out of order                 likely
    anything                      captured or sent twice       likely
                                  frames may be damaged        likely
                                  numbers of another sender's  likely
    the member's own interface    inferred, not shown          likely
    a default parameter           any                          likely at most

A *certificate* is itself captured frames: a counter of the sender's own without holes, a request
that leaves a number out, contiguous transport bytes. A claim may start lower than proven.

Spans that concern a conversation come from its own events and are added while it is replayed; those
that concern the whole capture (drop counters, clock, order, twice) are known when all of it was
read, so a finding carries what it rests on (``Rests``) and the report asks ``capped`` once more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from seqaudit.replay.contract.finding import ON_NOTHING, Certainty, Rests

#: One before the first job frame and one behind the last: a stretch that is open at that end.
BEGINNING: Final = -1
END: Final = 1 << 62


class Doubt(StrEnum):
    """Why a stretch of a capture does not show all that happened."""

    BEGUN_BEFORE = "begun before"  # the conversation was under way when the capture began
    ENDED_BEFORE = "ended before"  # it went on when the capture ended
    HOLE = "hole"  # frames that were there and are not in the capture
    CUT = "cut"  # the snap length left only the beginning of frames
    UNDECODED = "undecoded"  # encrypted, or compressed and cut, or a fragment is lost
    OUT_OF_ORDER = "out of order"  # records stand in another order than they were on the wire
    CLOCK_STEPPED = "clock stepped"  # the capturing machine's clock was set
    COARSE = "clock coarse"  # it ticks too seldom for what goes by time
    TWICE = "captured twice"  # frames stand in the capture more than once
    SENT_TWICE = "captured twice or sent twice"  # the same, and no IP id tells which
    ELSEWHERE = "elsewhere"  # perhaps taken at a mirror port, not at the member's own interface
    DAMAGED = "damaged"  # bytes of frames may not be those that were sent
    MISFILED = "misfiled"  # numbers may be of another sender than they are taken to be of


#: Doubts in which something may have been on the wire that the capture does not hold.
MISSING: Final = frozenset(
    {Doubt.BEGUN_BEFORE, Doubt.ENDED_BEFORE, Doubt.HOLE, Doubt.CUT, Doubt.UNDECODED}
)

#: Doubts of whatever frames show.
_OF_ANYTHING: Final = (Doubt.SENT_TWICE, Doubt.DAMAGED, Doubt.MISFILED)

_ORDER: Final = (Certainty.PROVEN, Certainty.LIKELY, Certainty.UNDECIDABLE)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of doubt.

    Attributes:
        first, last: job frames between which it lies, both included; ``BEGINNING`` and ``END`` for
            a stretch that is open there.
        stream: the only stream it concerns; null: all of the conversation or capture.
        count: messages or frames that may be missing, at most; null if nobody knows.
        why: a clause for the reader, such as "12 packets were cut by the snap length".
    """

    doubt: Doubt
    first: int
    last: int
    why: str
    stream: str | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """What an engine claims, and on what.

    Attributes:
        best: as sure as it can be, whatever the capture is worth.
        rests: see ``Rests``.
        certified: captured frames show that nothing is missing where it rests on absence.
        defaults: names of parameters (without the system) of which it takes the default.
        why: a clause that says why it is not proven even at best; empty if it is.
    """

    best: Certainty = Certainty.PROVEN
    rests: Rests = ON_NOTHING
    certified: bool = False
    defaults: tuple[str, ...] = ()
    why: str = ""


#: The frames that the finding names show it, whatever else is missing.
SHOWN: Final = Claim()
#: They show it, and the time between them.
TIMED: Final = Claim(rests=Rests(timed=True))
#: They show it, and the order in which they were captured.
ORDERED: Final = Claim(rests=Rests(ordered=True))
#: They show it by their order, and the time between them.
PLACED: Final = Claim(rests=Rests(timed=True, ordered=True))
#: They show it, if they passed the member's own interface.
HERE: Final = Claim(rests=Rests(here=True))
#: They show it by their order and times, if they passed the member's own interface.
PLACED_HERE: Final = Claim(rests=Rests(timed=True, ordered=True, here=True))
LIKELY: Final = Claim(Certainty.LIKELY)
UNDECIDABLE: Final = Claim(Certainty.UNDECIDABLE)


def absence(
    first: int,
    last: int,
    *,
    certified: bool = False,
    timed: bool = False,
    ordered: bool = False,
    here: bool = False,
) -> Claim:
    """A claim that something was not there between two frames."""
    return Claim(rests=Rests((first, last), timed, ordered, here), certified=certified)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How sure a finding is.

    Attributes:
        reasons: why it is not surer, a clause each.
        in_hole: what it rests on lies in a known hole of the capture.
    """

    certainty: Certainty
    reasons: Sequence[str] = ()
    in_hole: bool = False


@dataclass(slots=True)
class Worth:
    """The spans of doubt over one conversation, or over one capture."""

    spans: list[Span] = field(default_factory=list)

    def add(self, span: Span) -> None:
        """A stretch of doubt that was noticed."""
        self.spans.append(span)

    def over(
        self, first: int, last: int, stream: str | None, doubts: Iterable[Doubt]
    ) -> list[Span]:
        """Spans of these kinds that touch the stretch and may concern the stream."""
        wanted = frozenset(doubts)
        return [
            span
            for span in self.spans
            if span.doubt in wanted
            and span.first <= last
            and first <= span.last
            and (span.stream is None or stream is None or span.stream == stream)
        ]

    def judge(self, claim: Claim, stream: str | None) -> Verdict:
        """How sure a claim about a stream is in this capture."""
        best = claim.best
        reasons = [claim.why] if claim.why else []
        if claim.defaults:
            best = worse(best, Certainty.LIKELY)
        if claim.rests.absent is not None and not claim.certified:
            best = worse(best, Certainty.LIKELY)
        verdict = self.capped(best, claim.rests, stream)
        return Verdict(verdict.certainty, [*reasons, *verdict.reasons], verdict.in_hole)

    def capped(self, certainty: Certainty, rests: Rests, stream: str | None) -> Verdict:
        """A certainty as far as the spans of doubt let it stand."""
        spans: list[Span] = []
        in_hole = False
        if rests.absent is not None:
            missing = self.over(*rests.absent, stream, [*MISSING, Doubt.MISFILED])
            if missing and _explain(missing, rests.places):
                certainty = worse(certainty, Certainty.UNDECIDABLE)
                in_hole = any(span.doubt is Doubt.HOLE for span in missing)
            spans += missing
        first, last = rests.absent or (BEGINNING, END)
        if rests.timed:
            spans += self.over(first, last, stream, [Doubt.CLOCK_STEPPED, Doubt.COARSE])
        if rests.ordered:
            spans += self.over(first, last, stream, [Doubt.OUT_OF_ORDER, Doubt.TWICE])
        spans += self.over(first, last, stream, _OF_ANYTHING)
        if rests.here:
            spans += self.over(first, last, stream, [Doubt.ELSEWHERE])
        if spans:
            certainty = worse(certainty, Certainty.LIKELY)
        return Verdict(certainty, list(dict.fromkeys(span.why for span in spans)), in_hole)


def _explain(missing: Iterable[Span], places: int) -> bool:
    """Whether what spans may hide can be all that is missing in so many places."""
    counts = [span.count for span in missing]
    return any(count is None for count in counts) or sum(filter(None, counts)) >= places


def worse(one: Certainty, other: Certainty) -> Certainty:
    """The less sure of two."""
    return max(one, other, key=_ORDER.index)
