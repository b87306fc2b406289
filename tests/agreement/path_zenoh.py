"""What the relay of a zenoh recording noted of one message in a datagram that it touched."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: (zid, eid) of a publisher.
Identity = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A transport message in a datagram that the path dropped; ``sns`` are of its live samples."""

    at: float
    direction: str  # a2b, b2a
    flow: str  # "10.77.0.1:40000>10.77.0.2:7447"
    fragment: bool
    sn: int | None
    channel: str  # "R prio5"; "" where nobody decoded it
    sns: tuple[tuple[Identity, int], ...]
    words: tuple[str, ...]  # push, request, response, response_final
    beats: tuple[Identity, ...]  # of the heartbeats


def dropped_of(action: Mapping[str, Any], flow: str, message: Mapping[str, Any]) -> Dropped:
    """What the relay noted of one message of a datagram that it dropped."""
    parts = message.get("msgs", ())
    live = tuple(
        ((part["si"]["zid"], part["si"]["eid"]), part["si"]["sn"])
        for part in parts
        if part["m"] == "push" and part.get("si")
    )
    beats = tuple(_of_heartbeat(str(part["key"])) for part in parts if is_heartbeat(part))
    return Dropped(
        action["t"], action["dir"], flow, message["T"] == "Fragment", message["sn"],
        channel_of(message), live, tuple(part["m"] for part in parts), beats,
    )  # fmt: skip


def flow_of(action: Mapping[str, Any]) -> str:
    """The two ends of what the relay touched, as the truth names them."""
    return f"{action['src']}:{action['sport']}>{action['dst']}:{action['dport']}"


def channel_of(message: Mapping[str, Any]) -> str:
    """The counter of a message, as the truth names it."""
    return f"{'R' if message['rel'] else 'BE'} prio{message['prio']}"


def is_heartbeat(part: Mapping[str, Any]) -> bool:
    """Whether a message is a heartbeat."""
    return part["m"] == "push" and "@adv/pub" in str(part.get("key"))


def _of_heartbeat(key: str) -> Identity:
    """Whose heartbeat has a key, which is ``<key>/@adv/pub/<zid>/<eid>/<rest>`` (zenoh.md 9.2)."""
    zid, eid = key.partition("/@adv/pub/")[2].split("/")[:2]
    return zid, int(eid)
