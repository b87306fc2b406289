"""What the detail of a zenoh event says: written by the decoder, read by the replay (zenoh.md 3 to
6). Which parts there are depends on the message."""

from typing import Final, TypedDict

#: Bytes of a datagram behind IP and UDP that fill a frame of Ethernet: larger ones stand in rows of
#: their own, as several at once fill a socket's buffer.
LARGE: Final = 1_472
#: Bytes of memory that Linux gives a socket, for what its node has not read: what came in the last
#: ``CROWD_NS``, at most.
ROOM: Final = 212_992
CROWD_NS: Final = 100_000_000
#: Bytes of it that a datagram below ``LARGE`` takes at least: its description and the smallest
#: buffer; and as a rule at most, in a buffer of its network card for any frame.
LEAST: Final = 768
MOST: Final = 2_304
#: ``crowd`` of a datagram for which there may have been no room left behind so many others, and of
#: one behind which others may have filled it all; else there is none.
TIGHT: Final = 1
FULL: Final = 2
#: ``doubt`` of what only the port of routers says to be zenoh; else 1: nothing does.
BY_PORT: Final = 3

#: A wire_expr: scope, whose table (1: the sender's), suffix; in JSON a list, as the others here.
Key = tuple[int, int, str]
#: zid, eid and sn of a sample; of ROS 2 its gid, "ros" and number.
Numbered = tuple[str, int | str, int]

Detail = TypedDict(
    "Detail",
    {
        "doubt": int,
        "unread": int,
        "since": int,
        "last": int,
        "version": int, "whatami": str, "zid": str, "resolution": int, "batch_bytes": int,
        "cookie": str, "low_latency": bool, "compression": bool, "multilink": bool, "patch": int,
        "lease_ms": int,
        "crowd": int,
        "sn": int, "session": bool, "reason": int,
        "sns": list[list[int]],
        "first": int, "more": int, "drop": int, "piece": str,
        "message": "tuple[str, Detail]",
        "id": int, "key": Key, "qos": int, "mode": int, "options": int, "interest": int,
        "target": object, "timeout_ms": int, "consolidation": int, "parameters": str,
        "del": bool, "bytes": int, "value": int, "error": bool, "eid": int | str, "last_hop": int,
        "stamp": tuple[int, str],
        "source": Numbered,
        "responder": tuple[str, int],
    },
    total=False,
)  # fmt: skip
