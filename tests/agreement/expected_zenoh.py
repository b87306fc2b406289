"""What each kind of zenoh recording is expected to find: the one table (design 8.1).

A kind says what was done to the traffic, so which rules of severity warning or error it must bring;
no other may fire. What differs within a kind is decided by the truth: miss callbacks, what the
relay dropped, what publishers were told.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

Truth = Mapping[str, Any]

RECOVERED, MISSED = "ZN001", "ZN002"
DROPPED_BEFORE, LOST_ON_LINK, DISCARDED = "ZN004", "ZN005", "ZN006"
DESPITE_BLOCK, STORM, TIMED_OUT, WAITED = "ZN007", "ZN009", "ZN013", "ZN014"
PIECE_LOST, UNNOTICED, HEARTBEAT_LOST = "ZN016", "ZN019", "ZN021"

_LOSS: Final = frozenset({RECOVERED, LOST_ON_LINK})
_NOTHING: Final = frozenset[str]()

#: Kind -> rules of severity warning or error that any capture of it must bring together.
EXPECTED: Final[Mapping[str, frozenset[str]]] = {
    "clean": _NOTHING,
    "tcp-retransmission": _NOTHING,
    "linux-cooked-capture": _NOTHING,
    "lowlatency-transport": _NOTHING,
    "scouting": _NOTHING,
    "shared-memory": _NOTHING,
    "publisher-restart": _NOTHING,
    "late-joiner-heartbeat": _NOTHING,
    "late-joiner-history": _NOTHING,
    "late-publisher-detection": _NOTHING,
    "udp-multicast": _NOTHING,
    "compression": _NOTHING,
    "fragmentation": _NOTHING,
    "classic-publisher": frozenset({LOST_ON_LINK}),
    "cache-without-miss-detection": frozenset({LOST_ON_LINK}),
    "truncated-capture": frozenset({LOST_ON_LINK}),
    "first-samples-lost": frozenset({LOST_ON_LINK}),
    "loss-recovered": _LOSS,
    "ipv6": _LOSS,
    "qos-disabled": _LOSS,
    "best-effort-channel": _LOSS,
    "priorities": _LOSS,
    "sample-metadata": _LOSS,
    "several-publishers-wildcard": _LOSS,
    "capture-starts-mid-stream": _LOSS,
    "last-samples-lost-heartbeat": _LOSS,
    "last-samples-lost-periodic-query": _LOSS,
    "loss-unrecovered-cache-depth": _LOSS,
    "loss-unrecovered-no-cache": frozenset({LOST_ON_LINK}),
    "loss-detected-no-recovery": frozenset({LOST_ON_LINK}),
    "transport-sn-wrap": frozenset({RECOVERED}),
    "transport-reorder-duplicate": frozenset({RECOVERED, DISCARDED}),
    "congestion-drop": frozenset({RECOVERED, DROPPED_BEFORE}),
    "fragmentation-congestion": frozenset({RECOVERED, DROPPED_BEFORE}),
    "router-in-between": _LOSS | {DROPPED_BEFORE},
    "two-routers": _LOSS | {DROPPED_BEFORE},
    "router-restart": frozenset({RECOVERED, DROPPED_BEFORE}),
    "router-no-cache": frozenset({DROPPED_BEFORE}),
    "last-samples-lost-undetected": frozenset({UNNOTICED}),
    "sporadic-heartbeat-lost": frozenset({UNNOTICED, HEARTBEAT_LOST}),
    "many-recovery-queries": _LOSS | {STORM},
    "periodic-query-pileup": _LOSS | {TIMED_OUT},
    "recovery-query-lost": frozenset({LOST_ON_LINK, TIMED_OUT, WAITED}),
    "recovery-reply-lost": _LOSS | {TIMED_OUT},
}


def _lossy(truth: Truth) -> bool:
    return bool(_dropped(truth))


def _dropped(truth: Truth) -> list[Mapping[str, Any]]:
    """Transport messages with a sn in datagrams that the relay dropped."""
    return [
        message
        for action in (truth["relay"] or {}).get("actions", ())
        if action.get("action") == "drop"
        for message in action.get("zenoh") or [{"T": "Frame"}]
        if message.get("T") in ("Frame", "Fragment")
    ]


def _missed(truth: Truth) -> bool:
    return any(subscriber["misses"] for subscriber in truth["subscribers"])


def _waited(truth: Truth) -> bool:
    """A miss callback came only when a query timed out."""
    return _missed(truth) and truth["kind"] == "recovery-reply-lost"


def _half_round(truth: Truth) -> bool:
    """More frames in a row were lost than half the numbers of the counter (zenoh.md 8.3)."""
    bits = {"8bit": 7, "16bit": 14, "32bit": 28}
    (resolution,) = {
        node["config"]["transport"]["link"]["tx"]["sequence_number_resolution"]
        for node in truth["nodes"]
    }
    return len(_dropped(truth)) > (1 << bits[resolution]) // 2


def _block(truth: Truth) -> bool:
    return any(publisher["options"].get("cc") == "block" for publisher in truth["publishers"])


#: What the truth of a recording adds to its kind: (kinds, rule, whether).
BY_TRUTH: Final[tuple[tuple[frozenset[str], str, Callable[[Truth], bool]], ...]] = (
    (frozenset(EXPECTED), MISSED, _missed),
    (frozenset({"udp-multicast"}), LOST_ON_LINK, _missed),
    (frozenset({"compression", "fragmentation"}), RECOVERED, _lossy),
    (frozenset({"compression", "fragmentation"}), LOST_ON_LINK, _lossy),
    (
        frozenset({"fragmentation"}),
        PIECE_LOST,
        lambda truth: any(message["T"] == "Fragment" for message in _dropped(truth)),
    ),
    (frozenset(EXPECTED), DESPITE_BLOCK, lambda truth: _block(truth) and _lossy(truth)),
    (frozenset({"transport-sn-wrap"}), LOST_ON_LINK, lambda truth: not _half_round(truth)),
    (frozenset({"transport-sn-wrap"}), DISCARDED, _half_round),
    (frozenset({"recovery-reply-lost"}), WAITED, _waited),
)


def expected(truth: Truth) -> list[str]:
    """The rules of severity warning or error that the captures of a recording bring together."""
    kind = truth["kind"]
    added = {rule for kinds, rule, holds in BY_TRUTH if kind in kinds and holds(truth)}
    return sorted(EXPECTED[kind] | added)
