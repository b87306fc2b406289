"""What a replay is told before it starts: where each capture was taken and its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MEMBER = "member"
BETWEEN = "between"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Vantage:
    """Where a capture was taken (design 4.7).

    Attributes:
        kind: at a member's own interface, between members (a mirror port), or not known.
        address: the member's IP address as text; null unless kind is ``member``.
        origin: who says so.
        why: one sentence for the report.
    """

    kind: Literal["member", "between", "unknown"] = "unknown"
    address: str | None = None
    origin: Literal["given", "inferred", "default"] = "default"
    why: str = ""


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """One capture; ``parameters`` maps full names ("mcast.capacity") to (value, origin)."""

    vantage: Vantage = Vantage()
    parameters: Mapping[str, tuple[int | bool | str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """All captures of a job, by their number."""

    captures: tuple[CaptureSettings, ...]
