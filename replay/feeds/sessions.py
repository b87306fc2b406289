"""What the sessions of a feed say together (decoders/README.md 5).

A session is part of a stream's key, so an engine sees one of them. Here, over all streams of a
capture: of a feed that has an end of session, one that stopped without it where another went on
with the same feed, group and port (FD013); and of one whose numbers a login tells, a client that
came back behind what it had been sent (FD029).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding

Row = Mapping[str, Any]
_Seen = tuple[int, str, Row]  # when it began, the stream, the stream's row

#: What ``judge`` reads of a stream.
_READ: Final = (
    "kind", "declares", "first_frame", "first_ns", "last_frame", "last_ns", "last_seqno", "ended",
    "sender", "first_seqno",
)  # fmt: skip


def wanted(row: Row) -> bool:
    """Whether ``judge`` looks at a stream of a feed: most feeds have no end of session."""
    return row.get("kind") in ("feed", "line") and not {"end", "login"}.isdisjoint(row["declares"])


def kept(row: Row) -> dict[str, Any]:
    """As much of a stream of a feed as ``judge`` needs: there may be a hundred thousand."""
    return {key: row[key] for key in _READ if key in row}


def judge(streams: Iterable[tuple[int, str, Row]]) -> list[dict[str, Any]]:
    """Finding details, each with its ``capture`` and ``stream``.

    Args:
        streams: (capture, stream, detail) of STREAM rows of any system.
    """
    places: dict[tuple[int, str, str], list[_Seen]] = {}
    clients: dict[tuple[int, str, str], list[_Seen]] = {}
    for capture, stream, row in streams:
        if wanted(row) and row["first_ns"] is not None:
            name, fields, place = (*stream.split("|", 2), "", "")[:3]
            seen = row["first_ns"], stream, row
            if "login" in row["declares"]:
                client = place.rstrip("|").rpartition(":")[0]
                clients.setdefault((capture, f"{name}|{fields}", client), []).append(seen)
            elif fields:
                places.setdefault((capture, name, place), []).append(seen)
    return [*_unended(places), *_left_out(clients)]


def _left_out(clients: Mapping[tuple[int, str, str], list[_Seen]]) -> Iterator[dict[str, Any]]:
    """FD029, of the connections of one client in one session."""
    for (capture, _, _), connections in sorted(clients.items()):
        connections.sort(key=lambda connection: connection[:2])
        before: Row | None = None  # the connection that was sent the highest number
        until = 0
        for start, stream, row in connections:
            first = row["first_seqno"]
            if before is not None and start > until and (first or 0) > before["last_seqno"] + 1:
                last = before["last_seqno"]
                finding = Finding(
                    "FD029",
                    Certainty.LIKELY,
                    "{count:message} of {sender_member} came on no captured connection of this "
                    "client: it came back at {first}, and had been sent {last}.",
                    system="feed",
                    stream=stream,
                    frame=row["first_frame"],
                    at_ns=start,
                    seqnos=[(last + 1, first)],
                    evidence=[
                        Evidence(before["last_frame"], "the last of the connection before"),
                        Evidence(row["first_frame"], f"goes on at {first}"),
                    ],
                    facts={
                        "count": first - last - 1,
                        "first": first,
                        "last": last,
                        "sender_member": row["sender"],
                    },
                )
                yield finding.detail() | {"capture": capture, "system": "feed", "stream": stream}
            until = max(until, row["last_ns"])
            if row["last_seqno"] is not None:
                before = max(before or row, row, key=lambda one: one["last_seqno"])


def _unended(places: Mapping[tuple[int, str, str], list[_Seen]]) -> Iterator[dict[str, Any]]:
    """FD013, of the sessions in one place."""
    for (capture, _, _), sessions in sorted(places.items()):
        sessions.sort(key=lambda session: session[:2])
        for (_, stream, row), (_, follower, following) in pairwise(sessions):
            if row["ended"] is None and following["first_ns"] > row["last_ns"]:
                finding = Finding(
                    "FD013",
                    Certainty.LIKELY,
                    "Session {session} of {sender_member} stopped at {last} without an end in "
                    "this capture, and {follower} began in its place.",
                    system="feed",
                    stream=stream,
                    frame=row["last_frame"],
                    at_ns=row["last_ns"],
                    evidence=[
                        Evidence(row["last_frame"], "the last of the session"),
                        Evidence(following["first_frame"], "the first of the next"),
                    ],
                    facts={
                        "session": stream.split("|")[1],
                        "follower": follower.split("|")[1],
                        "last": row["last_seqno"],
                        "sender_member": row["sender"],
                    },
                )
                yield finding.detail() | {"capture": capture, "system": "feed", "stream": stream}
