"""What the detail of a zenoh event says: written by the decoder, read by the replay (zenoh.md 3 to
6). Which parts there are depends on the message."""

from typing import Final, TypedDict

#: Bytes of a datagram behind IP and UDP that fill a frame of Ethernet: larger ones stand in rows of
#: their own, as several at once fill a socket's buffer.
LARGE: Final = 1_472
#: Datagrams for one socket within ``CROWD_NS``: so few fill no buffer, whatever their size is below
#: ``LARGE``, and rows do not say how many they were.
CROWD: Final = 64
CROWD_NS: Final = 100_000_000
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
