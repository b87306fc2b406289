"""Parameters of the feed engine (decoders/README.md 5)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Parameter, by_name

PARAMETERS: Final[Mapping[str, Parameter]] = by_name((
    Parameter(
        "feed.late_ms", 1000, "ms",
        "a number that comes so soon after its gap showed, and not as a repair, was overtaken; "
        "later it may have been sent again. A gap younger than this when the capture ends is open, "
        "not lost",
        "replay/README.md 5"),
    Parameter(
        "feed.late_numbers", 1000, "numbers",
        "a gap so far behind the highest number when the capture ends is lost, not open, unless it "
        "was asked for; if it is not given, and the feed has no requests and no repairs, a stream "
        "of 1000 messages says it itself: four times the numbers by which any of them was "
        "overtaken, restart_distance at least",
        "replay/README.md 5"),
    Parameter(
        "feed.restart_distance", 100, "numbers",
        "what comes no further behind the highest number is late or a copy; further behind, or "
        "behind a silence, with nothing missing there, it may be a new numbering",
        "RFC 3550 A.1, MAX_MISORDER"),
    Parameter(
        "feed.restart_ms", 1000, "ms",
        "an undeclared restart of the numbering must last so long before it is believed",
        "seqaudit.replay.feeds.stream"),
    Parameter(
        "feed.max_jump", 10_000_000, "numbers",
        "a jump further ahead is a new numbering or a stray number, not a loss; of 16 bits one of "
        "3000 is that already, in less than a quarter of the time that the stream took for as many",
        "RFC 3550 A.1, MAX_DROPOUT"),
    Parameter(
        "feed.silence_ms", 3000, "ms",
        "a stream from which nothing comes for longer is silent; less than 3000 cannot be seen",
        "seqaudit.replay.feeds.stream"),
    Parameter(
        "feed.max_jitter_us", None, "us",
        "jitter (RFC 3550) above it is reported; without it jitter is only measured",
        "RFC 3550 6.4.1"),
    Parameter(
        "feed.max_lag_us", None, "us",
        "a line that comes later than the other by more is reported; without it leads are only "
        "measured",
        "decoders/README.md 5"),
))  # fmt: skip
