"""Parameters of PGM and raims, as arguments of ``parameters.Parameter`` (raims.md 12)."""

from typing import Any, Final

_MIB: Final = 1 << 20

RAIMS: Final[tuple[tuple[Any, ...], ...]] = (
    ("pgm.rxw_sqns", 4096, "sqns", "size of a receive window", "raims.md 2"),
    ("pgm.nak_data_retries", 10, "rounds", "waits for RDATA until a receiver gives up",
     "raims.md 2"),
    ("pgm.nak_ncf_retries", 10, "rounds", "waits for an NCF until a receiver gives up",
     "raims.md 2"),
    ("pgm.nak_rdata_wait_ms", 500, "ms", "how long a receiver waits for RDATA", "raims.md 2"),
    ("pgm.nak_repeat_ms", 200, "ms", "how long a receiver waits for an NCF", "raims.md 2"),
    ("pgm.nak_back_off_ms", 50, "ms", "longest back-off before a NAK", "raims.md 2"),
    ("pgm.mtu", 16_384, "bytes", "largest PGM packet with UDP and IP that a receiver can take",
     "raims.md 2"),
    ("raims.rules", "code", "", "whose rules are replayed: the shipped code's or the design "
     "document's", "raims.md 9.3", ("code", "document")),
    ("raims.release", "current", "", "which release's rules are the shipped code's",
     "raims.md 14.1", ("current", "before-2024-12-22", "before-2024-04-01", "before-2023-10-25",
                       "before-2022-08-03")),
    ("raims.pub_window_size", 8 * _MIB, "bytes", "publisher window: rotates above it",
     "raims.md 8, 12"),
    ("raims.sub_window_size", 8 * _MIB, "bytes", "subscription window: rotates above it",
     "raims.md 9, 12"),
    ("raims.pub_window_count", 100_000, "entries", "publisher window: fewer rotate late",
     "raims.md 8, 12"),
    ("raims.sub_window_count", 40_000, "entries", "subscription window: fewer rotate late",
     "raims.md 9, 12"),
    ("raims.pub_window_time_ms", 10_000, "ms", "publisher window: rotation interval, and age of a "
     "time frame", "raims.md 8, 12"),
    ("raims.sub_window_time_ms", 10_000, "ms", "subscription window: rotation interval",
     "raims.md 9, 12"),
    ("raims.pub_window_autoscale", 100_000, "entries", "publisher window: by how much "
     "pub_window_count grows when a receiver reports a loss of unknown size; 0: never",
     "raims.md 8, 12"),
    ("raims.heartbeat_ms", 10_000, "ms", "heartbeat interval; the timer ticks 250 times in it",
     "raims.md 12"),
    ("raims.subscribed", None, "text", "subjects and patterns, separated by commas, that the "
     "observer subscribed to before the capture begins", "raims.md 6"),
    ("raims.converged_at", None, "text", "when the network converged: ns since 1970, or an ISO "
     "time in UTC; overrules heartbeats", "raims.md 9.1"),
)  # fmt: skip

#: Names of a raims ``param.yaml`` that are parameters here; the others are listed as unused.
FILE_NAMES: Final = {
    "pub_window_size": "raims.pub_window_size",
    "sub_window_size": "raims.sub_window_size",
    "pub_window_count": "raims.pub_window_count",
    "sub_window_count": "raims.sub_window_count",
    "pub_window_time": "raims.pub_window_time_ms",
    "sub_window_time": "raims.sub_window_time_ms",
    "heartbeat": "raims.heartbeat_ms",
    "pub_window_autoscale": "raims.pub_window_autoscale",
}

#: Names whose values are nobody's business.
SECRET: Final = frozenset({"pass", "salt"})
NOT_SHOWN: Final = "(not shown)"
