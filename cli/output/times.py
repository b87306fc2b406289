"""Times and durations as tables show them; the JSON report keeps integers of nanoseconds."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Literal

from seqaudit.replay.sequence.durations import shown

TimeStyle = Literal["utc", "local", "epoch", "relative"]
TIME_STYLES: Final = ("utc", "local", "epoch", "relative")

_SECOND_NS: Final = 1_000_000_000
_MICROSECOND_NS: Final = 1000


def time_formatter(style: TimeStyle, start_ns: int | None) -> Callable[[int | None], str]:
    """A function from ns since the epoch to text.

    Args:
        start_ns: first frame of the capture, for ``relative``.
    """

    def show(at_ns: int | None) -> str:
        if at_ns is None:
            return "-"
        if style == "relative":
            return signed_seconds(at_ns - (start_ns or 0))
        if style == "epoch":
            return f"{at_ns // _SECOND_NS}.{at_ns % _SECOND_NS:09d}"
        return _calendar(at_ns, local=style == "local")

    return show


def signed_seconds(duration_ns: int) -> str:
    """``+1.234567`` seconds, cut to microseconds."""
    sign = "-" if duration_ns < 0 else "+"
    whole, part = divmod(abs(duration_ns), _SECOND_NS)
    return f"{sign}{whole}.{part // _MICROSECOND_NS:06d}"


def duration(duration_ns: int | None) -> str:
    """A duration with a unit that suits it: 850 ns, 12.3 us, 4.5 ms, 1.200 s; "-" for null."""
    if duration_ns is None:
        return "-"
    return f"-{shown(-duration_ns)}" if duration_ns < 0 else shown(duration_ns)


def _calendar(at_ns: int, *, local: bool) -> str:
    seconds, part = divmod(at_ns, _SECOND_NS)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
        if local:
            moment = moment.astimezone()
    except (OverflowError, ValueError, OSError):  # a damaged capture may claim any year
        return f"{seconds}.{part:09d}"
    zone = moment.strftime("%z") if local else "Z"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{part // _MICROSECOND_NS:06d}{zone}"
