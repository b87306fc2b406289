"""What the sessions of a feed say together (decoders/README.md 5).

A session is part of a stream's key, so an engine sees one of them. Here, over all streams of a
capture: of a feed that has an end of session, one that stopped without it where another went on
with the same feed, group and port (FD013).
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding

Row = Mapping[str, Any]

#: What ``judge`` reads of a stream.
_READ: Final = (
    "kind", "declares", "first_frame", "first_ns", "last_frame", "last_ns", "last_seqno", "ended",
    "sender",
)  # fmt: skip


def wanted(row: Row) -> bool:
    """Whether ``judge`` looks at a stream of a feed: most feeds have no end of session."""
    return row.get("kind") in ("feed", "line") and "end" in row["declares"]


def kept(row: Row) -> dict[str, Any]:
    """As much of a stream of a feed as ``judge`` needs: there may be a hundred thousand."""
    return {key: row[key] for key in _READ if key in row}


def judge(streams: Iterable[tuple[int, str, Row]]) -> list[dict[str, Any]]:
    """Finding details, each with its ``capture`` and ``stream``.

    Args:
        streams: (capture, stream, detail) of STREAM rows of any system.
    """
    places: dict[tuple[int, str, str], list[tuple[int, str, Row]]] = {}
    for capture, stream, row in streams:
        if wanted(row):
            name, fields, place = (*stream.split("|", 2), "", "")[:3]
            if fields and row["first_ns"] is not None:
                places.setdefault((capture, name, place), []).append((row["first_ns"], stream, row))
    found = []
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
                found.append(
                    finding.detail() | {"capture": capture, "system": "feed", "stream": stream}
                )
    return found
