"""The wall round each part of an audit: what goes wrong in one becomes a finding, CP099, and the
rest is reported.

A fault of ours in one conversation must not hide what all others show, and anybody can send a
datagram that finds one. In tests it is raised instead, unless a test asks for the wall
(``ReplaySettings.walled``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from types import TracebackType
from typing import Any, Final, TypeVar, cast

from seqaudit.replay.contract.finding import Certainty, FailedFinding, Finding

T = TypeVar("T")
R = TypeVar("R", bound=Mapping[str, object])

FAILED: Final = "CP099"

#: What a machine lacks is no fault of ours, and concerns the whole audit.
PASSED_ON: Final = (MemoryError, OSError)

_WHERE: Final = ("capture", "system", "stream", "frame", "at_ns")
#: The package whose lines are named.
_OURS: Final = __name__.partition(".")[0]
_MAX_MESSAGE: Final = 200
#: Addresses of objects differ between runs.
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+")


def failure(
    part: str,
    problem: BaseException,
    *,
    capture: int = 0,
    system: str = "capture",
    stream: str | None = None,
    frame: int | None = None,
    at_ns: int | None = None,
) -> FailedFinding:
    """The detail of the finding that a part of the audit failed.

    Args:
        part: what is missing in the report for it, to go behind "seqaudit failed on".
        capture, system, stream, frame, at_ns: where it was in the capture; null if nobody knows.
    """
    kind, message, place = (
        type(problem).__name__,
        _message(problem),
        _line_of(problem.__traceback__),
    )
    found = Finding(
        FAILED,
        Certainty.PROVEN,
        "seqaudit failed on {part} ({exception} at {place}): nothing is said of it here, and "
        "everything else was judged.",
        system=system,
        stream=stream,
        frame=frame,
        at_ns=at_ns,
        facts={"part": part, "exception": kind, "place": place},
    )
    return {
        **found.seen_at(capture),
        "exception": {"type": kind, "message": message, "at": place},
    }


class Wall:
    """The wall round the parts of a report.

    Attributes:
        failures: details of findings, one for each part that failed.
    """

    def __init__(self, *, up: bool) -> None:
        self._up = up
        self.failures: list[FailedFinding] = []

    def part(self, part: str, do: Callable[..., T], *given: object, capture: int = 0) -> T | None:
        """What ``do`` gives for what is given; null where it fails."""
        try:
            return do(*given)
        except PASSED_ON:
            raise
        except Exception as problem:
            if not self._up:
                raise
            self.failures.append(failure(part, problem, capture=capture))
            return None

    def rows(self, part: str, make: Callable[[R], T], rows: Iterable[R]) -> Iterator[T]:
        """What is made of each row; those that fail are left out."""
        for row in rows:
            try:
                made = make(row)
            except PASSED_ON:
                raise
            except Exception as problem:
                if not self._up:
                    raise
                where = {key: row[key] for key in _WHERE if row.get(key) is not None}
                self.failures.append(failure(part, problem, **cast(Any, where)))
                continue
            yield made


def _message(problem: BaseException) -> str:
    """What it says, in a line, without what differs between runs."""
    text = " ".join(_ADDRESS.sub("0x...", str(problem)).split())
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}..."


def _line_of(trace: TracebackType | None) -> str:
    """The line of ours at which it happened: module, number and function."""
    place = "a line that nobody knows"
    while trace is not None:
        frame = trace.tb_frame
        name = str(frame.f_globals.get("__name__", PurePath(frame.f_code.co_filename).stem))
        if name.partition(".")[0] == _OURS:
            place = f"{name.partition('.')[2]}:{trace.tb_lineno} {frame.f_code.co_name}"
        trace = trace.tb_next
    return place
