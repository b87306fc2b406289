"""Parameters of the raims engine (raims.md 12)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Parameter, by_name
from seqaudit.replay.raims.releases import WORDS

_MIB: Final = 1 << 20

PARAMETERS: Final[Mapping[str, Parameter]] = by_name((
    Parameter("raims.rules", "code", "", "whose rules are replayed: the shipped code's or the "
              "design document's", "raims.md 9.3", ("code", "document")),
    Parameter("raims.release", "current", "", "which release's rules are the shipped code's",
              "raims.md 14.1", tuple(reversed(WORDS))),
    Parameter("raims.pub_window_size", 8 * _MIB, "bytes", "publisher window: rotates above it",
              "raims.md 8, 12"),
    Parameter("raims.sub_window_size", 8 * _MIB, "bytes", "subscription window: rotates above it",
              "raims.md 9, 12"),
    Parameter("raims.pub_window_count", 100_000, "entries", "publisher window: fewer rotate late",
              "raims.md 8, 12"),
    Parameter("raims.sub_window_count", 40_000, "entries", "subscription window: fewer rotate late",
              "raims.md 9, 12"),
    Parameter("raims.pub_window_time_ms", 10_000, "ms", "publisher window: rotation interval, and "
              "age of a time frame", "raims.md 8, 12"),
    Parameter("raims.sub_window_time_ms", 10_000, "ms", "subscription window: rotation interval",
              "raims.md 9, 12"),
    Parameter("raims.pub_window_autoscale", 100_000, "entries", "publisher window: by how much "
              "pub_window_count grows when a receiver reports a loss of unknown size; 0: never",
              "raims.md 8, 12"),
    Parameter("raims.heartbeat_ms", 10_000, "ms", "heartbeat interval; the timer ticks 250 times "
              "in it", "raims.md 12"),
    Parameter("raims.subscribed", None, "text", "subjects and patterns, separated by commas, that "
              "the observer subscribed to before the capture begins", "raims.md 6"),
    Parameter("raims.converged_at", None, "text", "when the network converged: ns since 1970, or "
              "an ISO time in UTC; overrules heartbeats", "raims.md 9.1"),
))  # fmt: skip
