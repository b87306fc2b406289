"""What several captures, or several legs of one, say together about zenoh samples (zenoh.md 11).

Comes in: the sample streams of all captures as ``zenoh_findings`` summed them up. A source (zid,
eid) keeps its sns on every leg, so:

    same link, captured at both ends      sns that left and did not come: lost between the two
    router: leg in, leg out               sns that came in and did not go out: lost in the router
    same link, nothing newer came         last samples lost, and nobody was told (ZN019)
    same link, newer heartbeat left       a heartbeat lost (ZN021)

Only what passed one place while the other was being captured is compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final

from seqaudit.replay.findings import Certainty, Evidence, Finding
from seqaudit.replay.ranges import RangeSet

SYSTEM: Final = "zenoh"
#: Pairs of legs that are compared for one source.
MAX_LEGS: Final = 12
MAX_RANGES: Final = 1_000
#: An open session is never silent for longer (KeepAlive, zenoh.md 3.4): until then its capture may
#: have gone on behind its last frame.
SILENCE_NS: Final = 2_500_000_000

Row = Mapping[str, Any]


def judge(
    streams: Iterable[tuple[int, str, Row]], spans: Sequence[tuple[int | None, int | None]]
) -> list[dict[str, Any]]:
    """Finding details, each with its ``capture`` and ``stream``.

    Args:
        streams: (capture, stream, detail) of STREAM rows of any system.
        spans: first and last time of each capture.
    """
    legs: dict[str, dict[tuple[int, str, str], tuple[int, str, Row]]] = {}
    for capture, stream, row in streams:
        if row.get("kind") == "samples" and row["live"]:
            place = (capture, row["sender_endpoint"], row["receiver_endpoint"])
            legs.setdefault(row["source"], {}).setdefault(place, (capture, stream, row))
    found: list[dict[str, Any]] = []
    for _, places in sorted(legs.items()):
        chosen = [places[place] for place in sorted(places)[:MAX_LEGS]]
        for before, after in permutations(chosen, 2):
            for finding in _compared(before, after, spans):
                found.append(finding.detail() | {"capture": after[0], "stream": after[1]})
    return found


def _compared(
    before: tuple[int, str, Row],
    after: tuple[int, str, Row],
    spans: Sequence[tuple[int | None, int | None]],
) -> Iterator[Finding]:
    (capture, _, near), (other, stream, far) = before, after
    begin, end = spans[other]
    if begin is None or end is None or not begin <= near["first_ns"] <= near["last_ns"]:
        return
    if near["last_ns"] > end + SILENCE_NS:
        return
    if _link(near) == _link(far) and capture != other:
        if near["role"] == "sender" and far["role"] != "sender":
            sure = Certainty.PROVEN if near["last_ns"] <= end else Certainty.LIKELY
            yield from _link_findings(stream, near, far, sure)
    elif near["receiver"] is not None and near["receiver"] == far["sender_node"]:
        first, last = far["live"][0][0], far["live"][-1][1]
        lost = _less(near, far).within(first, last + 1)
        if lost:
            inside = near["role"] == "receiver" and (far["role"] == "sender" or _one_host(far))
            yield _finding(
                "ZN020", Certainty.PROVEN, stream, far, lost,
                "{count} samples of {sender_member} came to {node} and did not leave it towards "
                "{receiver_member}." if inside else
                "{count} samples of {sender_member} passed one end of {node} and not the other: "
                "they were lost on a link of it, or in it.",
                node=near["receiver"],
            )  # fmt: skip


def _one_host(row: Row) -> bool:
    """A loopback: both ends are where it was captured."""
    ends = row["sender_endpoint"], row["receiver_endpoint"]
    return len({end.rpartition(":")[0] for end in ends}) == 1


def _link_findings(stream: str, near: Row, far: Row, sure: Certainty) -> Iterator[Finding]:
    lost = list(_less(near, far))
    if lost:
        yield _finding(
            "ZN020", sure, stream, far, lost,
            "{count} samples of {sender_member} left its end of the link and did not come to the "
            "end of {receiver_member}.",
        )  # fmt: skip
    known = max(far["last_seqno"], far["heartbeat_highest"] or 0)
    highest = near["last_seqno"]
    if highest > known:
        yield _finding(
            "ZN019", sure, stream, far, [(known + 1, highest + 1)],
            "The last {count} samples of {sender_member} did not come to {receiver_member}, and "
            "nothing told it that they exist.",
        )  # fmt: skip
    told, heard = near["heartbeat_highest"], far["heartbeat_highest"]
    if told is not None and (heard is None or told > heard):
        yield _finding(
            "ZN021", sure, stream, far, [],
            "A heartbeat of {sender_member} that says {told} left and did not arrive.",
            told=told,
        )  # fmt: skip


def _finding(
    rule: str,
    certainty: Certainty,
    stream: str,
    far: Row,
    seqnos: list[tuple[int, int]],
    text: str,
    **facts: Any,
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
    lost = RangeSet((a, b + 1) for a, b in near["live"])
    for a, b in far["live"]:
        lost.remove(a, b + 1)
    return lost
