"""A part of a gap as the report has it, and what its story tells (replay/README.md 5)."""

from typing import Literal, NotRequired, TypedDict

#: What happened to a gap, of which its story tells.
StepName = Literal[
    "last before",
    "revealed",
    "asked",
    "confirmed",
    "answered",
    "refused",
    "unanswered",
    "first came",
    "came",
    "had",
    "handed on",
    "never came",
    "told",
]


class Step(TypedDict):
    """What was heard of a gap."""

    step: StepName
    frame: int | None
    at_ns: int | None
    by: NotRequired[str | None]
    says: NotRequired[str]
    some: NotRequired[list[int]]  # how many of how many were asked for, where it is not all


class PlacedGap(TypedDict):
    """Where the messages of a gap were lost, and what says so."""

    where: str
    why: str


class GapFigures(TypedDict):
    """A part of a gap, as a row of the report has it (``contract.report_rows.GapRow``); frames are
    job frames, ranges inclusive. What not all systems know, or only its story needs, is left out
    where it is not so."""

    seqnos: list[list[int]]
    count: int
    outcome: str
    lost_after_frame: int | None
    revealed_frame: int
    revealed_at_ns: int
    revealed_by: str
    revealed_after_ns: int | None
    requested_frame: int | None
    requested_after_ns: int | None
    requests: int
    repaired_frame: int | None
    repaired_after_ns: int | None
    delivered_frame: int | None
    delivered_after_ns: int | None
    system: NotRequired[str]
    shown: NotRequired[str]
    count_upper: NotRequired[int | None]
    causes: NotRequired[list[str]]
    where: NotRequired[str | None]
    why: NotRequired[str | None]
    ended_at_ns: NotRequired[int | None]
    # a capture that ended before does not tell that it is lost; null: nothing is open
    open_until_ns: NotRequired[int | None]
    heard: NotRequired[list[Step]]
    heard_more: NotRequired[int]  # further requests
    placed: NotRequired[PlacedGap]
    doubts: NotRequired[list[str]]
    receiver: NotRequired[str | None]
    never_asked: NotRequired[str]  # why nobody was seen to ask
    loss: NotRequired[tuple[int, int]]  # its place among those of its stream, and its time
    waited_ns: NotRequired[int | None]
    handed_on: NotRequired[str]  # how it was
