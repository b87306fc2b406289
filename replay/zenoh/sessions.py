"""A subscriber outlives the sessions of its node: what a later one says of those before it.

Comes in: the sample streams of all captures as ``replay.zenoh.findings`` summed them up; rows are
restated where another session of the same node shows more, or leaves open what one had shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from seqaudit.replay.contract.results import Row
from seqaudit.replay.sequence.ranges import RangeSet, half_open, inclusive
from seqaudit.replay.zenoh.both_ends import address as address_of
from seqaudit.replay.zenoh.legs import MAX_LEGS, MAX_RANGES, Spans
from seqaudit.replay.zenoh.reasons import (
    ASKED_LATER,
    CLOSED,
    FIGURES,
    HANDED,
    LINKS,
    SILENT,
    WAITED,
)
from seqaudit.replay.zenoh.report_rows import CauseRow, MissRow

#: Cause of a miss that no session shows by itself.
BETWEEN_SESSIONS: Final = "lost between two sessions"


def across_sessions(
    streams: Iterable[tuple[int, str, Row]], spans: Spans
) -> dict[tuple[int, str], Row]:
    """A subscriber outlives the sessions of its node: what lies between two of them it missed.

    Its last sn is that of the session before (zenoh.md 9.4 keeps it by source, not by session), so
    the first sample of the next one shows a gap. Where a query followed, the replay of that session
    has it already.

    Args:
        streams: as for ``judge``, whose findings rest on the figures as they were.

    Returns:
        (capture, stream) of later rows to their ``misses`` and figures of what was lost.
    """
    turns: dict[tuple[int, str, str], list[tuple[str, Row]]] = {}
    places: dict[tuple[int, str, str], list[tuple[str, Row]]] = {}
    meeting: dict[tuple[int, str, str], list[tuple[str, Row]]] = {}  # by receiving host
    streams = list(streams)
    begun = _sessions_begun(streams)
    for capture, stream, row in streams:
        if row.get("kind") != "samples":
            continue
        if row["receiver"] and (row["delivered"] or row["lost_seqnos"]):
            turns.setdefault((capture, row["source"], row["receiver"]), []).append((stream, row))
        if row["delivered"]:
            address = capture, row["source"], row["receiver_endpoint"]
            places.setdefault(address, []).append((stream, row))
            hosts = capture, row["source"], address_of(row["receiver_endpoint"])
            meeting.setdefault(hosts, []).append((stream, row))
    changed: dict[tuple[int, str], Row] = {
        (capture, stream): dict.fromkeys(FIGURES)
        | {"unknown": near["unknown"] | dict.fromkeys(FIGURES, why)}
        for (capture, *_), rows in places.items()
        for stream, near in rows
        if (
            why := _ended_unheard(
                near,
                rows,
                spans[capture][1],
                begun.get((capture, near["sender_node"] or "", near["receiver_endpoint"]), 0),
            )
        )
        is not None
    }
    changed |= _by_two_links(meeting)
    closed = frozenset(changed)
    for (capture, *_), rows in turns.items():
        rows.sort(key=lambda row: (row[1]["first_frame"], row[1]["subscriber"] or ""))
        for place, (stream, row) in enumerate(rows):
            before: list[tuple[str, Row]] = []
            for name, near in rows[:place]:
                if (
                    near["delivered"]
                    and near["first_frame"] < row["first_frame"]
                    and _same_subscriber(near, row)
                ):
                    before.append((name, near))
                    # Whoever has subscribed since is another.
                    if near["subscriber_gone"] or (capture, name) in closed:
                        before.clear()
            if (capture, stream) in closed:
                continue
            over = [one for one in before if one[1]["last_frame"] < row["first_frame"]]
            if not over:  # what came by one that went on it may have had before it asked, or not
                changed |= _asked_for_meanwhile(capture, before, row)
                continue
            had: list[int] = []
            for name, near in before:
                known = changed.get((capture, name), {})
                if kept := _not_asked_for_later(near | known, row):
                    changed[capture, name] = known | kept
                had += [last for _, last in (near | known | kept)["delivered"]]
            if not had or not row["delivered"]:
                continue
            if figures := _missed_between(max(had), row) or _taken_for_repeats(max(had), row):
                changed[capture, stream] = figures
    return changed


def _sessions_begun(streams: Iterable[tuple[int, str, Row]]) -> dict[tuple[int, str, str], int]:
    """Capture, node and endpoint of a peer to when the last session of the two began, in ns."""
    begun: dict[tuple[int, str, str], int] = {}
    for capture, _, row in streams:
        if row.get("kind") != "transport":
            continue
        for endpoint in row["leg"].split("|")[2:]:
            way = capture, row["sender"], endpoint
            begun[way] = max(begun.get(way, 0), row["first_ns"] or 0)
    return begun


def _by_two_links(
    meeting: Mapping[tuple[int, str, str], Sequence[tuple[str, Row]]],
) -> dict[tuple[int, str], Row]:
    """Figures that are null, as samples came to a host by two links of one session."""
    return {
        (capture, stream): dict.fromkeys(FIGURES)
        | {"unknown": row["unknown"] | dict.fromkeys(FIGURES, LINKS)}
        for (capture, *_), rows in meeting.items()
        for stream, row in rows
        if any(_shares_a_session(row, other) for _, other in rows[:MAX_LEGS])
    }


def _shares_a_session(row: Row, other: Row) -> bool:
    """Whether samples of a source come to a host by two links in turn, each by one of them, as
    those of one session with several links do."""
    if row["leg"] == other["leg"] or (
        None not in (row["receiver"], other["receiver"]) and row["receiver"] != other["receiver"]
    ):
        return False
    one, two = half_open(row["live"]), half_open(other["live"])
    if not one or not two or one & two:
        return False
    return max(row["first_frame"], other["first_frame"]) < min(
        row["last_frame"], other["last_frame"]
    ) and max(one.first(), two.first()) < min(one.stop(), two.stop())


def _ended_unheard(
    near: Row, rows: Iterable[tuple[str, Row]], end_ns: int | None, begun_ns: int
) -> str | None:
    """Why nothing shows what reached a subscriber whose session ended without a word; null: it
    does. Recorded, with ICMP as the only answer: a listener over UDP closes, its publisher goes on
    with a session at the same address, and its sns go on; or the publisher is killed.

    Args:
        begun_ns: when the last session of its publisher's node at the same address began.
    """
    silent_ns, last_ns, live = near["receiver_silent_ns"], near["last_ns"], near["live"]
    if silent_ns is None:
        return None
    unheard = near["transport"] == "udp" and silent_ns <= last_ns  # what came last, at least
    if unheard and live:
        later = [far for _, far in rows if last_ns < far["first_ns"] and far["leg"] != near["leg"]]
        goes_on = any(far["live"] and live[-1][1] < far["live"][0][0] for far in later)
        if goes_on or last_ns < begun_ns:  # its node had dropped this one
            return CLOSED
    if end_ns is None or near["subscriber_gone"] or end_ns <= near["receiver_due_ns"]:
        return None
    return SILENT if unheard else WAITED if near["open"] else None


def _asked_for_meanwhile(
    capture: int, before: Iterable[tuple[str, Row]], row: Row
) -> dict[tuple[int, str], Row]:
    """Sessions by which samples came that a later one, which has begun meanwhile, asks for."""
    lacked = half_open(row["lost_seqnos"] or ())
    why = dict.fromkeys(HANDED, ASKED_LATER)
    return {
        (capture, name): dict.fromkeys(HANDED) | {"unknown": near["unknown"] | why}
        for name, near in before
        if half_open(near["delivered"]) & lacked
    }


def _not_asked_for_later(near: Row, far: Row) -> Row:
    """What it lacks by its requests of a later session it was not handed in this one: it came to a
    node that had dropped the session (zenoh.md 2.4)."""
    begin = far["live"][0][0] if far["live"] else None
    lacked = [span for span in far["lost_seqnos"] or () if begin is None or span[0] < begin]
    had = half_open(near["delivered"])
    kept = had - half_open(lacked)
    if kept == had:
        return {}
    told = {"delivered": inclusive(list(kept))}
    lanes = near.get("subscribers")
    return told | {"subscribers": lanes and [lane | told for lane in lanes]}


def _same_subscriber(near: Row, far: Row) -> bool:
    """By key expression; where a declaration was not captured, nothing speaks against it."""
    return None in (near["subscriber"], far["subscriber"]) or (
        bool(near["subscriber"] == far["subscriber"])
    )


def _missed_between(last: int, row: Row) -> Row:
    known = half_open(row["unrecovered_seqnos"] or ())
    between = RangeSet(known.missing(last + 1, row["delivered"][0][0]))
    if not between:
        return {}
    lost = inclusive(list(between))
    told = [
        MissRow(
            seqnos=[span],
            nb=span[1] - span[0] + 1,
            cause=BETWEEN_SESSIONS,
            causes=[CauseRow(seqnos=[span], cause=BETWEEN_SESSIONS, shown_by=None)],
            request_ids=[],
            frame=row["first_frame"],
            at_ns=row["first_ns"],
        )
        for span in lost
    ]
    figures: Row = {
        "unrecovered_seqnos": lost,
        "lost_seqnos": lost,
        "unrecovered": between.total(),
        "lost": between.total(),
        "misses": told,
    }
    added = {name: more + row[name] for name, more in figures.items() if row[name] is not None}
    return added | {
        name: added[name][:MAX_RANGES] for name in ("unrecovered_seqnos", "lost_seqnos")
        if name in added
    }  # fmt: skip


def _taken_for_repeats(last: int, row: Row) -> Row:
    """Of a source that began again under its id: what its subscriber has had, it drops."""
    left = [[max(a, last + 1), b] for a, b in row["delivered"] if b > last]
    return {} if left == row["delivered"] else {"delivered": left}
