"""What several captures, or several legs of one, say together about zenoh samples (zenoh.md 11).

Comes in: the sample streams of all captures as ``replay.zenoh.findings`` summed them up. A source
(zid, eid) keeps its sns on every leg, so:

    same link, captured at both ends      sns that left and did not come: lost between the two
    router: leg in, leg out               sns that came in and did not go out: lost in the router
    same link, nothing newer came         last samples lost, and nobody was told (ZN019)
    same link, newer heartbeat left       a heartbeat lost (ZN021)
    same link, older ones did not come    first samples lost, and nobody was told (ZN025)
    two sessions of a node, in turn       sns between them: lost while there was none (ZN022)
    the same, sns used before             the source began again under its id (ZN026)

Only what passed one place while the other was being captured is compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding
from seqaudit.replay.contract.results import Row
from seqaudit.replay.sequence.ranges import RangeSet, half_open, inclusive
from seqaudit.replay.zenoh.report_rows import CauseRow, MissRow

SYSTEM: Final = "zenoh"
#: Pairs of legs that are compared for one source.
MAX_LEGS: Final = 12
MAX_RANGES: Final = 1_000
#: An open session is never silent for longer (KeepAlive, zenoh.md 3.4): until then its capture may
#: have gone on behind its last frame.
SILENCE_NS: Final = 2_500_000_000

#: What two legs can be judged by: the same link, into and out of a node, two sessions in turn.
LINK_RULES: Final = frozenset({"ZN019", "ZN020", "ZN021", "ZN025"})
ROUTER_RULES: Final = frozenset({"ZN020"})
SESSION_RULES: Final = frozenset({"ZN022", "ZN026"})
RULES: Final = LINK_RULES | SESSION_RULES

#: Cause of a miss that no session shows by itself.
BETWEEN_SESSIONS: Final = "lost between two sessions"

FIRST_LOST: Final = (
    "{count:sample} with which {sender_member} began left for {receiver_member} and did not come; "
    "a subscriber takes the first that comes for the beginning and does not ask."
)

#: Kinds of streams that are looked at.
COMPARED: Final = frozenset({"samples", "transport"})

Place = tuple[int, str, Row]  # capture, stream, detail
Judged = dict[str, set[tuple[int, str]]]  # rule -> (capture, conversation)


def judge(
    streams: Iterable[tuple[int, str, Row]], spans: Sequence[tuple[int | None, int | None]]
) -> tuple[list[Row], Judged]:
    """Finding details, each with its ``capture`` and ``stream``; and what could be compared.

    Args:
        streams: (capture, stream, detail) of STREAM rows of any system.
        spans: first and last time of each capture.
    """
    legs: dict[str, dict[tuple[int, str, str], Place]] = {}
    heard: dict[tuple[int, str], Row] = {}
    for capture, stream, row in streams:
        if row.get("kind") == "samples":
            place = (capture, row["sender_endpoint"], row["receiver_endpoint"])
            legs.setdefault(row["source"], {}).setdefault(place, (capture, stream, row))
        elif row.get("kind") == "transport":
            heard.setdefault((capture, row["leg"]), row)
    found: list[Row] = []
    judged: Judged = {rule: set() for rule in RULES}
    for _, places in sorted(legs.items()):
        chosen = [places[place] for place in sorted(places)[:MAX_LEGS]]
        for before, after in permutations([c for c in chosen if c[2]["live"]], 2):
            for rule in _comparable(before, after, spans):
                judged[rule] |= {(p[0], p[2]["leg"]) for p in (before, after)}
            for finding in _compared(before, after, chosen, spans):
                found.append(finding.detail() | {"capture": after[0], "stream": after[1]})
        for near in chosen:
            for finding in _began_again(near, chosen):
                found.append(finding.detail() | {"capture": near[0], "stream": near[1]})
            for other, finding in _nothing_came(near, chosen, heard, spans):
                judged["ZN019"] |= {(near[0], near[2]["leg"]), (other, near[2]["leg"])}
                found.append(finding.detail() | {"capture": near[0], "stream": near[1]})
    return found, judged


def across_sessions(
    streams: Iterable[tuple[int, str, Row]],
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
    turns: dict[tuple[Any, ...], list[tuple[str, Row]]] = {}
    for capture, stream, row in streams:
        if row.get("kind") == "samples" and row["delivered"] and row["receiver"] is not None:
            turns.setdefault((capture, row["source"], row["receiver"]), []).append((stream, row))
    changed = {}
    for (capture, *_), rows in turns.items():
        rows.sort(key=lambda row: (row[1]["first_ns"], row[1]["subscriber"] or ""))
        for place, (stream, row) in enumerate(rows):
            before = [
                stop
                for _, near in rows[:place]
                if near["last_ns"] < row["first_ns"] and _same_subscriber(near, row)
                for _, stop in near["delivered"]
            ]
            if not before:
                continue
            if figures := _missed_between(max(before), row) or _taken_for_repeats(max(before), row):
                changed[capture, stream] = figures
    return changed


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


def _before(row: Row, near: Row) -> bool:
    """Two legs of one source and receiving node, in turn."""
    same = near["receiver"] is not None and near["receiver"] == row["receiver"]
    return same and _link(near) != _link(row) and bool(near["last_ns"] < row["first_ns"])


def _began_again(far: Place, chosen: Sequence[Place]) -> Iterator[Finding]:
    """Live sns in a later session of a node that an earlier one of it has shown already."""
    capture, stream, row = far
    if not row["live"] or row["role"] == "sender":
        return
    known = [
        _highest(near)
        for other, _, near in chosen
        if other == capture and near["live"] and near["first_ns"] and _before(row, near)
    ]
    again = half_open(row["live"]).within(0, max(known, default=-1) + 1)
    if again:
        yield _finding(
            "ZN026", Certainty.LIKELY, stream, row, again,
            "{count:sample} of {sender_member} {count|has an sn|have sns} that it had used in an "
            "earlier session: it began again under the same id, and {receiver_member} takes "
            "{count|it for a repeat and drops it|them for repeats and drops them}.",
        )  # fmt: skip


def _comparable(
    before: Place, after: Place, spans: Sequence[tuple[int | None, int | None]]
) -> frozenset[str]:
    """The rules that two legs of a source can be judged by."""
    (capture, _, near), (other, _, far) = before, after
    if not _while(near, spans[other]):
        return frozenset()
    if _link(near) == _link(far):
        ends = near["role"] == "sender" and far["role"] != "sender"
        return LINK_RULES if ends and capture != other else frozenset()
    if near["receiver"] is None or near["receiver"] != far["receiver"]:
        return ROUTER_RULES if _leads_to(near, far) else frozenset()
    return SESSION_RULES if capture == other and near["last_ns"] < far["first_ns"] else frozenset()


def _while(near: Row, span: tuple[int | None, int | None]) -> bool:
    """Whether the other capture ran while the samples passed here."""
    begin, end = span
    if begin is None or end is None or not begin <= near["first_ns"] <= near["last_ns"]:
        return False
    return bool(near["last_ns"] <= end + SILENCE_NS)


def _leads_to(near: Row, far: Row) -> bool:
    return near["receiver"] is not None and near["receiver"] == far["sender_node"]


def _nothing_came(
    near: Place,
    chosen: Sequence[Place],
    heard: Mapping[tuple[int, str], Row],
    spans: Sequence[tuple[int | None, int | None]],
) -> Iterator[tuple[int, Finding]]:
    """A source of which the capture at the other end of the link has no sample at all."""
    capture, stream, row = near
    if row["role"] != "sender" or not row["live"]:
        return
    for other in sorted({place for place, leg in heard if leg == row["leg"]} - {capture}):
        there = [c[2] for c in chosen if c[0] == other and _link(c[2]) == _link(row)]
        if any(far["live"] or far["role"] == "sender" for far in there):
            continue
        if not _while(row, spans[other]):
            continue
        known = max([_highest(far) for far in there], default=-1)
        known = max(known, _elsewhere(other, row["receiver"], chosen))
        for far in there:  # replies brought it some
            if first := _older(row, far):
                yield other, _finding("ZN025", Certainty.LIKELY, stream, row, first, FIRST_LOST)
        lost = [(max(a, known + 1), b + 1) for a, b in row["live"] if b > known]
        if lost:
            yield other, _finding(
                "ZN019", Certainty.LIKELY, stream, row, lost,
                "{count:sample} of {sender_member}, all that left here, did not come to "
                "{receiver_member}, and nothing told it of {count|it|them}.",
            )  # fmt: skip


def _elsewhere(capture: int, receiver: str | None, chosen: Sequence[Place]) -> int:
    """The highest sn that a node was shown in a capture, on whatever leg."""
    known = [
        _highest(row)
        for number, _, row in chosen
        if number == capture and receiver is not None and row["receiver"] == receiver
    ]
    return max(known, default=-1)


def _highest(row: Row) -> int:
    """The highest sn that was seen or told of at a leg."""
    known = [n for n in (row["last_seqno"], row["heartbeat_highest"]) if n is not None]
    return max(known, default=-1)


def _compared(
    before: tuple[int, str, Row],
    after: tuple[int, str, Row],
    chosen: Sequence[Place],
    spans: Sequence[tuple[int | None, int | None]],
) -> Iterator[Finding]:
    (_, _, near), (other, stream, far) = before, after
    rules = _comparable(before, after, spans)
    if rules == LINK_RULES:
        yield from _link_findings(stream, near, far, _elsewhere(other, far["receiver"], chosen))
    elif rules == SESSION_RULES:
        between = RangeSet([(_highest(near) + 1, far["first_seqno"])])
        for _, _, row in chosen:
            if row["receiver"] == far["receiver"]:  # its subscriber knew, and asked
                between -= half_open(row["unrecovered_seqnos"] or ())
        if between:
            yield _finding(
                "ZN022", Certainty.LIKELY, stream, far, list(between),
                "{count:sample} of {sender_member} {count|is|are} missing between two sessions of "
                "{receiver_member}: the first came by the one, what follows by the other.",
            )  # fmt: skip
    elif rules == ROUTER_RULES:
        first, last = far["live"][0][0], far["live"][-1][1]
        lost = _less(near, far).within(first, last + 1)
        if lost:
            inside = near["role"] == "receiver" and (far["role"] == "sender" or _one_host(far))
            yield _finding(
                "ZN020", Certainty.LIKELY, stream, far, lost,
                "{count:sample} of {sender_member} came to {node} and did not leave it towards "
                "{receiver_member}." if inside else
                "{count:sample} of {sender_member} passed one end of {node} and not the other: "
                "lost on a link of it, or in it.",
                node=near["receiver"],
            )  # fmt: skip


def _one_host(row: Row) -> bool:
    """A loopback: both ends are where it was captured."""
    ends = row["sender_endpoint"], row["receiver_endpoint"]
    return len({end.rpartition(":")[0] for end in ends}) == 1


def _link_findings(stream: str, near: Row, far: Row, elsewhere: int) -> Iterator[Finding]:
    """What left one end of a link and is not in the capture of the other end.

    Args:
        elsewhere: the highest sn that the receiving node was shown on any leg.
    """
    likely = Certainty.LIKELY
    lost = list(_less(near, far))
    if lost:
        yield _finding(
            "ZN020", likely, stream, far, lost,
            "{count:sample} of {sender_member} left its end of the link and did not come to the "
            "end of {receiver_member}.",
        )  # fmt: skip
    known = max(_highest(far), elsewhere)
    highest = near["last_seqno"]
    if highest > known:
        yield _finding(
            "ZN019", likely, stream, far, [(known + 1, highest + 1)],
            "The last {count:sample} of {sender_member} did not come to {receiver_member}, and "
            "nothing told it that {count|it exists|they exist}.",
        )  # fmt: skip
    if first := _older(near, far):
        yield _finding("ZN025", likely, stream, far, first, FIRST_LOST)
    told, heard = near["heartbeat_highest"], far["heartbeat_highest"]
    if told is not None and (heard is None or told > heard):
        yield _finding(
            "ZN021", likely, stream, far, [],
            "A heartbeat of {sender_member} that says {told} left and did not arrive.",
            told=told,
        )  # fmt: skip


def _older(near: Row, far: Row) -> list[tuple[int, int]]:
    """Live sns of one end below all that came to the other, live or by a reply."""
    if far["first_seqno"] is None:
        return []
    return half_open(near["live"]).within(0, far["first_seqno"])


def _finding(
    rule: str,
    certainty: Certainty,
    stream: str,
    far: Row,
    seqnos: list[tuple[int, int]],
    text: str,
    **facts: object,
) -> Finding:
    evidence = [Evidence(far["last_frame"], "the last of its samples here")]
    return Finding(
        rule,
        certainty,
        text,
        system=SYSTEM,
        stream=stream,
        frame=far["last_frame"],
        at_ns=far["last_ns"],
        seqnos=seqnos[:MAX_RANGES],
        evidence=evidence,
        facts={
            "count": sum(b - a for a, b in seqnos),
            "sender_member": far["sender"],
            "receiver_member": far["receiver"] or far["receiver_endpoint"],
        }
        | facts,
    )


def _link(row: Row) -> tuple[str, str, str]:
    return row["transport"], row["sender_endpoint"], row["receiver_endpoint"]


def _less(near: Row, far: Row) -> RangeSet:
    """Live sns of the one that the other does not have live."""
    return half_open(near["live"]) - half_open(far["live"])
