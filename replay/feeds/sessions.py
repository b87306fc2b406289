"""What the sessions of a feed say together (decoders/README.md 5).

A session is part of a stream's key, so an engine sees one of them. Here, over all streams of a
capture: of a feed that has an end of session, one that stopped without it where another went on
with the same feed, group and port (FD013); and of one whose numbers a login tells, a client that
came back beyond what it had been sent (FD029).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding, PlacedFinding
from seqaudit.replay.contract.results import Row


@dataclass(frozen=True, slots=True)
class FeedSession:
    """What is judged of a stream of a feed: there may be a hundred thousand."""

    first_ns: int
    stream: str
    capture: int
    first_frame: int
    last_frame: int
    last_ns: int
    first_seqno: int | None
    last_seqno: int | None
    ended: bool
    logged_in: bool
    sender: str | None


def session_of(capture: int, stream: str, row: Row) -> FeedSession | None:
    """What ``judge`` needs of a STREAM row of any system; null where it looks at none: most feeds
    have neither an end of session nor a login."""
    if row.get("kind") not in ("feed", "line") or row["first_ns"] is None:
        return None
    if {"end", "login"}.isdisjoint(row["declares"]):
        return None
    return FeedSession(
        row["first_ns"], stream, capture, row["first_frame"], row["last_frame"], row["last_ns"],
        row["first_seqno"], row["last_seqno"], row["ended"] is not None,
        "login" in row["declares"], row["sender"],
    )  # fmt: skip


def judge(seen: Iterable[FeedSession]) -> list[PlacedFinding]:
    """Finding details, each with its ``capture`` and ``stream``."""
    places: dict[tuple[int, str, str], list[FeedSession]] = {}
    clients: dict[tuple[int, str, str], list[FeedSession]] = {}
    for one in sorted(seen, key=lambda one: (one.first_ns, one.stream)):
        name, fields, place = (*one.stream.split("|", 2), "", "")[:3]
        if one.logged_in:
            client = place.rstrip("|").rpartition(":")[0]
            clients.setdefault((one.capture, f"{name}|{fields}", client), []).append(one)
        elif fields:
            places.setdefault((one.capture, name, place), []).append(one)
    found = [one for _, own in sorted(places.items()) for one in _unended(own)]
    return found + [one for _, own in sorted(clients.items()) for one in _left_out(own)]


def _left_out(connections: Sequence[FeedSession]) -> Iterator[PlacedFinding]:
    """FD029, of the connections of one client in one session."""
    last, last_frame = -1, -1  # the highest number sent so far, and the end of its connection
    until = 0
    for own in connections:
        first = own.first_seqno or 0
        if 0 <= last < first - 1 and own.first_ns > until:
            text = (
                "{count:message} of {sender_member} came on no captured connection of this "
                "client: it came back at {first}, and had been sent {last}."
            )
            yield Finding(
                "FD029", Certainty.LIKELY, text, system="feed", stream=own.stream,
                frame=own.first_frame, at_ns=own.first_ns, seqnos=[(last + 1, first)],
                evidence=[Evidence(last_frame, "the last of the connection before"),
                          Evidence(own.first_frame, f"goes on at {first}")],
                facts={"count": first - last - 1, "first": first, "last": last,
                       "sender_member": own.sender},
            ).seen_at(own.capture)  # fmt: skip
        until = max(until, own.last_ns)
        if own.last_seqno is not None and own.last_seqno > last:
            last, last_frame = own.last_seqno, own.last_frame


def _unended(sessions: Sequence[FeedSession]) -> Iterator[PlacedFinding]:
    """FD013, of the sessions in one place."""
    for own, following in pairwise(sessions):
        if not own.ended and following.first_ns > own.last_ns:
            text = (
                "Session {session} of {sender_member} stopped at {last} without an end in "
                "this capture, and {follower} began in its place."
            )
            yield Finding(
                "FD013", Certainty.LIKELY, text, system="feed", stream=own.stream,
                frame=own.last_frame, at_ns=own.last_ns,
                evidence=[Evidence(own.last_frame, "the last of the session"),
                          Evidence(following.first_frame, "the first of the next")],
                facts={"session": own.stream.split("|")[1], "last": own.last_seqno,
                       "follower": following.stream.split("|")[1], "sender_member": own.sender},
            ).seen_at(own.capture)  # fmt: skip
