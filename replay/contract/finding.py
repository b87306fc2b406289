"""Findings: what an audit says, with how sure it is and the frames that show it (replay/README.md
3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NotRequired, TypedDict

from seqaudit.replay.sequence.ranges import Range, inclusive


class Severity(StrEnum):
    """How bad. ``error`` is real message loss or a protocol violation that users of it feel."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Certainty(StrEnum):
    """What the capture can say about it (replay/README.md 3)."""

    PROVEN = "proven"
    LIKELY = "likely"
    UNDECIDABLE = "cannot be told"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One frame and what it shows."""

    frame: int
    shows: str


@dataclass(frozen=True, slots=True)
class Rests:
    """What a finding rests on beyond the frames that it names.

    Attributes:
        absent: job frames between which something must not have been; null: it rests on captured
            frames alone.
        timed: durations between frames of the capture decide.
        ordered: the order of its frames decides.
        here: it is so only if the capture was taken at the member's own interface.
        places: in how many places something must not have been, at least: a frame that the capture
            lacks explains one of them.
    """

    absent: tuple[int, int] | None = None
    timed: bool = False
    ordered: bool = False
    here: bool = False
    places: int = 1

    def detail(self) -> "RestsDetail":
        """As a row carries it."""
        absent = None if self.absent is None else list(self.absent)
        return {
            "absent": absent, "timed": self.timed, "ordered": self.ordered, "here": self.here,
            "places": self.places,
        }  # fmt: skip


ON_NOTHING: Final = Rests()


class RestsDetail(TypedDict):
    """What a finding rests on, as its row carries it (``Rests``)."""

    absent: list[int] | None
    timed: bool
    ordered: bool
    here: bool
    places: int


class EvidenceDetail(TypedDict):
    """A job frame, and what it shows."""

    frame: int | None
    shows: str


class FindingDetail(TypedDict):
    """A finding as an engine's row carries it (``Finding``): job frames, an unfilled text."""

    rule: str
    certainty: str
    severity: str | None
    text: str
    seqnos: list[list[int]]
    evidence: list[EvidenceDetail]
    facts: dict[str, object]
    frame: int | None
    at_ns: int | None
    holds: dict[str, int]
    rests: NotRequired[RestsDetail]


class PlacedFinding(FindingDetail):
    """A finding with its place, as the report is made of it."""

    capture: int
    system: str
    stream: str | None


class Failure(TypedDict):
    """What went wrong in seqaudit itself."""

    type: str
    message: str
    at: str


class FailedFinding(PlacedFinding):
    """That a part of the audit failed."""

    exception: Failure


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of one rule.

    Attributes:
        rule: code in the registry.
        certainty: proven, likely, or cannot be told from this capture.
        text: one or two sentences; ``{name}`` is filled from ``facts`` when the report is made,
            where a fact whose name ends in ``_frame`` becomes Wireshark's number and one whose name
            ends in ``_member`` a member's name.
        seqnos: half-open ranges the finding is about; empty if none.
        frame, at_ns: where it shows; null if the finding is about no one moment.
        holds: conditions that only the report can check: ``end_before_ns`` and ``end_from_ns``
            compare the end of the capture; the finding is dropped where one does not hold.
        rests: what it rests on beyond the frames that it names; where spans of doubt over the whole
            capture, known when all of it was read, touch that, the report makes it less sure.
        system, stream: what it is about; stream is null for a whole conversation or capture.
    """

    rule: str
    certainty: Certainty
    text: str
    system: str
    stream: str | None = None
    frame: int | None = None
    at_ns: int | None = None
    seqnos: Sequence[Range] = ()
    evidence: Sequence[Evidence] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    severity: Severity | None = None  # null: the rule's own
    holds: Mapping[str, int] = field(default_factory=dict)
    rests: Rests = ON_NOTHING

    def detail(self) -> FindingDetail:
        """The finding as a row's JSON; ranges become inclusive here (replay/README.md 5), and what
        a frame shows of several things alike is said once."""
        row: FindingDetail = {
            "rule": self.rule,
            "certainty": str(self.certainty),
            "severity": None if self.severity is None else str(self.severity),
            "text": self.text,
            "seqnos": inclusive(self.seqnos),
            "evidence": [
                {"frame": e.frame, "shows": e.shows} for e in dict.fromkeys(self.evidence)
            ],
            "facts": dict(self.facts),
            "frame": self.frame,
            "at_ns": self.at_ns,
            "holds": dict(self.holds),
        }
        if self.rests != ON_NOTHING:
            row["rests"] = self.rests.detail()
        return row

    def seen_at(self, capture: int) -> PlacedFinding:
        """The same with its place: what no engine says, but a comparison or the report itself."""
        return {
            **self.detail(),
            "capture": capture,
            "system": self.system,
            "stream": self.stream,
        }
