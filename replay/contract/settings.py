"""What a replay is told before it starts: where each capture was taken and its parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

MEMBER = "member"
BETWEEN = "between"
UNKNOWN = "unknown"

#: Why what is so only at a member's own interface is not proven where ``Vantage.sure`` is false.
MAY_BE_MIRROR: Final = (
    "that this was captured at the member's own interface is inferred from whose unicasts there "
    "are; a mirror port set to that host shows the same; --at says which it was"
)

#: Reads the beginning of a message: its word and its detail; null where it is not enough.
Read = Callable[[bytes], tuple[str, Mapping[str, object]] | None]


@dataclass(frozen=True, slots=True)
class Vantage:
    """Where a capture was taken (replay/README.md 4).

    Attributes:
        kind: at a member's own interface, between members (a mirror port), or not known.
        address: the member's IP address as text; null unless kind is ``member``.
        origin: who says so.
        why: one sentence for the report.
        twice: most datagrams stand in the capture twice; those that came again are left out.
        sure: nothing but a capture at this interface looks like this one. False where it rests on
            whose unicasts are in it: a mirror port that is set to one host shows the same.
        advice: what to try where it is not known.
    """

    kind: Literal["member", "between", "unknown"] = "unknown"
    address: str | None = None
    origin: Literal["given", "inferred", "default"] = "default"
    why: str = ""
    twice: bool = False
    sure: bool = True
    advice: str = "give --at NAME or --at IP, or the capture of the other end as well"


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """One capture; ``parameters`` maps full names ("mcast.capacity") to (value, origin).

    Only captures of one ``network`` hold the same conversations, whatever their members are called.
    """

    vantage: Vantage = Vantage()
    parameters: Mapping[str, tuple[int | bool | str, str]] = field(default_factory=dict)
    network: str = ""


def unread(raw: bytes) -> None:
    """A reader for replays of nothing that has to be put together."""


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """What a job is told.

    Attributes:
        captures: by their number.
        readers: by system, its decoder's reader of messages. Which pieces are one message may
            depend on the rules for their counter, so the engine puts them together, and knows no
            bytes.
        walled: what goes wrong in a part is a finding, and the rest goes on; else it is raised.
    """

    captures: tuple[CaptureSettings, ...]
    readers: Mapping[str, Read] = field(default_factory=dict)
    walled: bool = False
