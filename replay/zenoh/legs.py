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

Only what passed one place while the other was being captured is compared; it cannot be told where
that one shows nothing behind it and the other goes on, or lacks frames.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding, PlacedFinding, Severity
from seqaudit.replay.contract.results import Row
from seqaudit.replay.contract.worth import BEGINNING, END, MISSING, Doubt, Worth
from seqaudit.replay.sequence.ranges import Range, RangeSet, half_open, total
from seqaudit.replay.zenoh.reasons import (
    FIGURES,
    HAD,
    HOLE,
    OTHERS_HAD,
    RECOVERED,
)

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

#: What more that was lost makes null.
LOST: Final = ("lost", "unrecovered", "lost_seqnos", "unrecovered_seqnos")

FIRST_LOST: Final = (
    "{count:sample} with which {sender_member} began left for {receiver_member} and did not come; "
    "a subscriber takes the first that comes for the beginning and does not ask."
)

#: Figures that are null for these are so as the capture lacks what came.
LACKING: Final = (HOLE, HAD, OTHERS_HAD)
ENDED: Final = "it shows nothing behind the last that left, where the other capture goes on"

#: Kinds of streams that are looked at.
COMPARED: Final = frozenset({"samples", "transport"})

#: Of what one capture has and the other not: nothing in the two shows which it was.
_OR_NOT_HELD: Final = " (Or the capture of that end does not hold {{count|it|them}}{}.)"

Judged = dict[str, set[tuple[int, str]]]  # rule -> (capture, conversation)
Spans = Sequence[tuple[int | None, int | None]]  # first and last time of each capture


@dataclass(frozen=True, slots=True)
class Leg:
    """What is compared of a stream of samples."""

    capture: int
    stream: str
    conversation: str
    link: tuple[str, str, str]  # transport, endpoints of sender and receiver
    role: str
    sender: str
    sender_node: str | None
    receiver: str | None
    live: RangeSet
    known: RangeSet  # what came, and what its receiver knows that it missed
    not_captured: RangeSet  # what it had and its capture does not hold, as it seems (CP007)
    first: int | None  # of all sns that came
    highest: int  # that was seen or told of
    last: int | None
    heard: int | None
    first_ns: int | None
    last_ns: int | None
    last_frame: int | None
    gone: bool  # its subscriber ended with it, or what it had at last is not here
    doubt: str  # why its capture may not hold what came; empty if nothing says so

    @classmethod
    def of(cls, capture: int, stream: str, row: Row) -> "Leg":
        told = row["last_seqno"], row["heartbeat_highest"]
        return cls(
            capture, stream, row["leg"],
            (row["transport"], row["sender_endpoint"], row["receiver_endpoint"]), row["role"],
            row["sender"], row["sender_node"], row["receiver"], half_open(row["live"]),
            half_open([*row["live"], *row["replied"], *(row["unrecovered_seqnos"] or ())]),
            half_open(row.get("not_captured_seqnos") or ()),
            row["first_seqno"],
            max((n for n in told if n is not None), default=-1), *told,
            row["first_ns"], row["last_ns"], row["last_frame"],
            row["subscriber_gone"] or row["unknown"].get("delivered") == HOLE,
            next((why for why in LACKING if row["unknown"].get("lost") == why), ""),
        )  # fmt: skip

    def ended_before(self, other: "Leg") -> bool:
        """Whether its samples had passed to the same subscriber when those of the other began."""
        if self.last_ns is None or other.first_ns is None or self.gone:
            return False
        return self.last_ns < other.first_ns


def judge(
    streams: Iterable[tuple[int, str, Row]], spans: Spans, worth: Mapping[int, Worth]
) -> tuple[list[PlacedFinding], Judged]:
    """Finding details, each with its ``capture`` and ``stream``; and what could be compared.

    Args:
        streams: (capture, stream, detail) of STREAM rows of any system.
        spans: first and last time of each capture.
        worth: of captures; one that lacks frames does not tell what did not come.
    """
    coverage = _Coverage(spans, worth)
    legs: dict[str, dict[tuple[int, str, str], Leg]] = {}
    #: Conversation -> captures with frames of it, and the ends at whose interfaces they were taken.
    heard: dict[str, dict[int, set[str]]] = {}
    for capture, stream, row in streams:
        if row.get("kind") == "samples":
            place = (capture, row["sender_endpoint"], row["receiver_endpoint"])
            legs.setdefault(row["source"], {}).setdefault(place, Leg.of(capture, stream, row))
        elif row.get("kind") == "transport":
            taken = heard.setdefault(row["leg"], {}).setdefault(capture, set())
            taken |= _taken_at(stream, row["role"])
    found: list[PlacedFinding] = []
    judged: Judged = {rule: set() for rule in RULES}
    for _, places in sorted(legs.items()):
        chosen = [places[place] for place in sorted(places)[:MAX_LEGS]]
        for before, after in permutations([leg for leg in chosen if leg.first is not None], 2):
            for rule in _comparable(before, after, spans):
                judged[rule] |= {(leg.capture, leg.conversation) for leg in (before, after)}
            found += _compared(before, after, chosen, coverage)
        for near in chosen:
            found += _began_again(near, chosen)
            for other, finding in _nothing_came(near, chosen, heard, coverage):
                judged["ZN019"] |= {(place, near.conversation) for place in (near.capture, other)}
                found.append(finding)
    return found, judged


def lost_beyond(
    findings: Iterable[PlacedFinding], rows: Mapping[tuple[int, str], Row]
) -> Iterator[tuple[tuple[int, str], Row]]:
    """Figures that are null, as findings of several legs say that a subscriber lost more, in this
    session or in another one of its node.

    Args:
        rows: (capture, stream) to its figures.
    """
    lost: dict[tuple[int, str, str], RangeSet] = {}
    for (capture, _), row in rows.items():
        if row.get("lost") is not None:
            known = lost.setdefault((capture, row["source"], row["receiver"]), RangeSet())
            for span in half_open(row["lost_seqnos"]):
                known.add(*span)
    for finding in findings:
        place = finding["capture"], finding["stream"] or ""
        row = rows[place]
        if finding["rule"] not in LINK_RULES or row.get("lost") is None:
            continue
        known = lost[finding["capture"], row["source"], row["receiver"]]
        if more := (half_open(finding["seqnos"]) - known).total():
            beyond = f"and {more} that left the other end and did not come ({finding['rule']})"
            counts = {name: row[name.removesuffix("_seqnos")] for name in LOST}
            why = {name: f"{n}, {beyond}" for name, n in counts.items() if n is not None}
            yield place, dict.fromkeys(LOST) | {"unknown": row["unknown"] | why}


def lost_in(
    rows: Mapping[tuple[int, str], Row], worth: Mapping[int, Worth]
) -> Iterator[tuple[tuple[int, str], Row]]:
    """Figures that are null, as their captures lack frames of which nobody knows whose they are:
    what no frame proves to be lost may have been among them. So may what was lost on the way, as
    two vantages seem to be merged: what came to the other one stands there."""
    for place, row in rows.items():
        merged = [
            span
            for span in (worth[place[0]].spans if place[0] in worth else ())
            if span.doubt is Doubt.TWICE and span.count
        ]
        if merged and row.get("delivered") is not None:
            once = f"and {merged[0].count} once: what came to another place stands here"
            why = f"{merged[0].why}, {once}"
            unknown = row["unknown"] | dict.fromkeys(FIGURES, why)
            yield place, dict.fromkeys(FIGURES) | {"unknown": unknown}
            continue
        lost, proven = row.get("lost"), row.get("lost_proven")
        if lost is None or proven is None or proven >= lost or place[0] not in worth:
            continue
        lacks = [
            span.why
            for span in worth[place[0]].over(BEGINNING, END, None, [Doubt.HOLE])
            if span.first < span.last  # at one frame is a packet that is damaged
        ]
        if lacks:
            why = f"{proven} or more, {lost} at most: {lacks[0]}"
            names = FIGURES if row["unrecovered"] else RECOVERED
            unknown = row["unknown"] | dict.fromkeys(names, why)
            yield place, dict.fromkeys(names) | {"unknown": unknown}


def _began_again(far: Leg, chosen: Sequence[Leg]) -> Iterator[PlacedFinding]:
    """Live sns in a later session of a node that an earlier one of it has shown already."""
    if not far.live or far.role == "sender" or far.receiver is None:
        return
    known = [
        near.highest
        for near in chosen
        if (near.capture, near.receiver) == (far.capture, far.receiver)
        and near.live and near.link != far.link and near.ended_before(far)
    ]  # fmt: skip
    if again := far.live.within(0, max(known, default=-1) + 1):
        yield _finding(
            "ZN026", far, again,
            "{count:sample} of {sender_member} {count|has an sn|have sns} that it had used in an "
            "earlier session: it began again under the same id, and {receiver_member} takes "
            "{count|it for a repeat and drops it|them for repeats and drops them}.",
        )  # fmt: skip


def _comparable(near: Leg, far: Leg, spans: Spans) -> frozenset[str]:
    """The rules that two legs of a source can be judged by. Replies alone show what a session had,
    and not what passed."""
    if not _while(near, spans[far.capture]):
        return frozenset()
    in_turn = near.capture == far.capture and near.receiver is not None
    if in_turn and near.receiver == far.receiver and near.link != far.link:
        return SESSION_RULES if near.ended_before(far) else frozenset()
    if not near.live or not far.live:
        return frozenset()
    if near.link == far.link:
        ends = near.role == "sender" and far.role != "sender"
        return LINK_RULES if ends and near.capture != far.capture else frozenset()
    leads = near.receiver is not None and near.receiver == far.sender_node
    return ROUTER_RULES if leads and near.receiver != far.receiver else frozenset()


def _while(near: Leg, span: tuple[int | None, int | None]) -> bool:
    """Whether the other capture ran while the samples passed here."""
    begin, end = span
    if begin is None or end is None or near.first_ns is None or near.last_ns is None:
        return False
    return begin <= near.first_ns <= near.last_ns <= end + SILENCE_NS


def _nothing_came(
    near: Leg,
    chosen: Sequence[Leg],
    heard: Mapping[str, Mapping[int, set[str]]],
    coverage: "_Coverage",
) -> Iterator[tuple[int, PlacedFinding]]:
    """A source of which the capture at the other end of the link has no sample at all."""
    if near.role != "sender" or not near.live:
        return
    for other, places in sorted(heard.get(near.conversation, {}).items()):
        if other == near.capture or near.link[1] in places:  # another file of the same place
            continue
        there = [leg for leg in chosen if leg.capture == other and leg.link == near.link]
        if any(far.live or far.role == "sender" for far in there) or not _while(
            near, coverage.spans[other]
        ):
            continue
        known = max([_elsewhere(other, near.receiver, chosen), *(far.highest for far in there)])
        doubt = coverage.doubt(near, other) or next((far.doubt for far in there if far.doubt), "")
        for far in there:  # replies brought it some
            if first := _older(near, far, chosen):
                yield other, _finding("ZN025", near, first, FIRST_LOST, doubt)
        if lost := near.live.within(known + 1, near.live.stop()):
            yield other, _finding(
                "ZN019", near, lost,
                "{count:sample} of {sender_member}, all that left here, did not come to "
                "{receiver_member}, and nothing told it of {count|it|them}.",
                doubt,
            )  # fmt: skip


def _taken_at(stream: str, role: str) -> set[str]:
    """The end at whose interface frames of a transport counter passed, if it is known."""
    sender, _, receiver = stream.partition("|")[0].partition(">")
    return {sender} if role == "sender" else {receiver} if role == "receiver" else set()


def _elsewhere(capture: int, receiver: str | None, chosen: Sequence[Leg]) -> int:
    """The highest sn that a node was shown in a capture, on whatever leg."""
    if receiver is None:
        return -1
    own = [leg.highest for leg in chosen if (leg.capture, leg.receiver) == (capture, receiver)]
    return max(own, default=-1)


def _compared(
    near: Leg, far: Leg, chosen: Sequence[Leg], coverage: "_Coverage"
) -> Iterator[PlacedFinding]:
    rules = _comparable(near, far, coverage.spans)
    if rules == LINK_RULES:
        yield from _link_findings(near, far, chosen, coverage.doubt(near, far.capture))
    elif rules == SESSION_RULES and far.first is not None:
        between = RangeSet([(near.highest + 1, far.first)])
        for leg in chosen:
            if leg.receiver == far.receiver:
                between -= leg.known
        if between:
            yield _finding(
                "ZN022", far, list(between),
                "{count:sample} of {sender_member} {count|is|are} missing between two sessions of "
                "{receiver_member}, or not captured: what is before came by the one, what follows "
                "by the other.",
            )  # fmt: skip
    elif rules == ROUTER_RULES:
        lost = (near.live - far.live).within(far.live.first(), far.live.stop())
        if lost:
            inside = near.role == "receiver" and (far.role == "sender" or _one_host(far))
            yield _finding(
                "ZN020", far, lost,
                "{count:sample} of {sender_member} came to {node} and did not leave it towards "
                "{receiver_member}." if inside else
                "{count:sample} of {sender_member} passed one end of {node} and not the other: "
                "lost on a link of it, or in it.",
                coverage.doubt(near, far.capture) or far.doubt,
                node=near.receiver,
            )  # fmt: skip


def _one_host(leg: Leg) -> bool:
    """A loopback: both ends are where it was captured."""
    return len({end.rpartition(":")[0] for end in leg.link[1:]}) == 1


@dataclass(frozen=True, slots=True)
class _Coverage:
    """How far captures go, and what they are worth."""

    spans: Spans
    worth: Mapping[int, Worth]

    def doubt(self, near: Leg, other: int) -> str:
        """Why another capture may not hold what passed one place; empty if nothing says so.

        It shows nothing behind the last samples there, though more passed: it had ended, or all of
        that was lost; where that ends with them too, both may have gone on in silence. Or it lacks
        frames of which nobody knows what they held.
        """
        (_, near_end), (_, far_end) = self.spans[near.capture], self.spans[other]
        assert near_end is not None and far_end is not None and near.last_ns is not None
        if far_end < near.last_ns < near_end:
            return ENDED
        known = self.worth.get(other)
        lacks = known.over(BEGINNING, END, None, MISSING) if known else ()
        return lacks[0].why if lacks else ""


def _link_findings(
    near: Leg, far: Leg, chosen: Sequence[Leg], ended: str
) -> Iterator[PlacedFinding]:
    """What left one end of a link and is not in the capture of the other end.

    Args:
        chosen: legs of the same source, by which the receiving node was shown sns as well.
        ended: why that capture may not hold it.
    """
    doubt = ended or far.doubt
    if lost := list(near.live - far.live - far.not_captured):
        yield _finding(
            "ZN020", far, lost,
            "{count:sample} of {sender_member} left its end of the link and did not come to the "
            "end of {receiver_member}.",
            doubt,
        )  # fmt: skip
    known = max(far.highest, _elsewhere(far.capture, far.receiver, chosen))
    if near.last is not None and near.last > known:
        yield _finding(
            "ZN019", far, [(known + 1, near.last + 1)],
            "The last {count:sample} of {sender_member} did not come to {receiver_member}, and "
            "nothing told it that {count|it exists|they exist}.",
            doubt,
        )  # fmt: skip
    if first := _older(near, far, chosen):
        yield _finding("ZN025", far, first, FIRST_LOST, doubt)
    if near.heard is not None and (far.heard is None or near.heard > far.heard):
        yield _finding(
            "ZN021", far, [],
            "A heartbeat of {sender_member} that says {told} left and did not arrive.",
            doubt,
            told=near.heard,
        )  # fmt: skip


def _older(near: Leg, far: Leg, chosen: Sequence[Leg]) -> list[Range]:
    """Live sns of one end below all that came to the other, live or by a reply. Who knows the
    source from a session before takes nothing for its beginning."""
    if far.first is None or any(
        (leg.capture, leg.receiver) == (far.capture, far.receiver) and leg.ended_before(far)
        for leg in chosen
    ):
        return []
    return near.live.within(0, far.first)


def _finding(
    rule: str, far: Leg, seqnos: list[Range], text: str, doubt: str = "", **facts: object
) -> PlacedFinding:
    """Of what legs say together everything is likely: one capture may lack what the other has.

    Args:
        doubt: why the capture where nothing came may not hold it: then it cannot be told.
    """
    assert far.last_frame is not None, "live samples passed"
    lacked = rule in LINK_RULES and bool(seqnos)
    found = Finding(
        rule,
        Certainty.UNDECIDABLE if doubt else Certainty.LIKELY,
        text + (_OR_NOT_HELD.format(f": {doubt}" if doubt else "") if doubt or lacked else ""),
        system=SYSTEM,
        stream=far.stream,
        frame=far.last_frame,
        at_ns=far.last_ns,
        seqnos=seqnos[:MAX_RANGES],
        evidence=[Evidence(far.last_frame, "the last of its samples here")],
        severity=Severity.INFO if doubt else None,
        facts={
            "count": total(seqnos),
            "sender_member": far.sender,
            "receiver_member": far.receiver or far.link[2],
        }
        | facts,
    )
    return found.seen_at(far.capture)
