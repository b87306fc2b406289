"""What the rows of UNICAST and MCAST streams have in common (replay/README.md 5)."""

from collections.abc import Iterator
from itertools import chain
from typing import Final, Literal

from seqaudit.replay.contract.parameters import LEARNED, EngineParameters
from seqaudit.replay.contract.report_rows import Side
from seqaudit.replay.contract.reporter import listed, parts_of
from seqaudit.replay.contract.settings import MAY_BE_MIRROR, Vantage
from seqaudit.replay.contract.story import by_outcome, placed
from seqaudit.replay.jgroups.arrivals import JudgedStream
from seqaudit.replay.jgroups.mcast.passing import PassingModel
from seqaudit.replay.jgroups.mcast.sender import SenderModel
from seqaudit.replay.jgroups.report_rows import CapacityRow, JGroupsStreamRow
from seqaudit.replay.jgroups.stream import NumberedStream
from seqaudit.replay.sequence.gap_rows import GapFigures
from seqaudit.replay.sequence.gaps import WENT_ON, Gap, Outcome, as_told
from seqaudit.replay.sequence.ranges import RangeSet, inclusive

#: Which end of a stream is here.
End = Literal["sender", "receiver", "between"]
SENDER: Final = "sender"
RECEIVER: Final = "receiver"
BETWEEN: Final = "between"
#: How what a stream's receiver sends shows there, and what its sender sends.
FROM_RECEIVER: Final[dict[End, Side]] = {SENDER: "arrived", RECEIVER: "sent", BETWEEN: "passed"}
FROM_SENDER: Final[dict[End, Side]] = {SENDER: "sent", RECEIVER: "arrived", BETWEEN: "passed"}

NO_CAPACITY: Final = (
    "the capacity is not given, and the sender did not run into the same number of unacknowledged "
    "messages twice"
)
_MAY_HAVE_COME: Final = (
    "messages that this capture does not hold were not asked for, or no longer: the member may "
    "have had them (CP007)"
)
#: Where no window is replayed a gap says where a seqno is missing, not for whom.
_NAMES: Final = {
    SENDER: {"reordered": "sent out of order", "unrecovered": "not sent, or not captured"},
    BETWEEN: {"unrecovered": "lost before this point, or not captured"},
}


def counted(stream: NumberedStream, role: End, cluster: str) -> JGroupsStreamRow:
    """A stream's summary as every point of capture has it; what else is known is written over it.

    Null is what cannot be told, or what no capture of this kind says.
    """
    messages = stream.ever.total()
    return {
        "cluster": cluster,
        "role": role,
        "sender": stream.sender,
        "receiver": None,
        "conn_id": None,
        "first_seqno": stream.first_seqno,
        "last_seqno": stream.last_seqno,
        "first_frame": stream.first.frame if stream.first else None,
        "last_frame": stream.last.frame if stream.last else None,
        "first_ns": stream.first.at_ns if stream.first else None,
        "last_ns": stream.last.at_ns if stream.last else None,
        "messages": messages,
        "arrivals": stream.arrivals,
        "copies": stream.arrivals - messages,
        "bytes": sum(stream.bytes_by_wire_kind.values()),
        "by_wire_kind": dict(sorted(stream.by_wire_kind.items())),
        "network_duplicates": stream.network_duplicates,
        "delivered": None,
        "requests": {"sent": None, "arrived": None},
        "requested_seqnos": {"sent": None, "arrived": None},
        "acks": {"sent": None, "arrived": None},
        "syncs": None,
        "gaps": 0,
        "reordered": 0,
        "recovered": None,
        "recovered_or_late": None,
        "unrecovered": None,
        "not_captured": 0,
        "not_asked_for": 0,
        "no_longer_asked_for": 0,
        "sent_before": 0,
        "repairs_not_captured": 0,
        "lost": None,
        "lost_seqnos": None,
        "unrecovered_seqnos": None,
        "open_at_end": None,
        "open_at_end_seqnos": None,
        "open_until_ns": None,
        "retransmissions": {"useful": 0, "needless": 0, "undecidable": 0},
        "recovery_ns": {"p50": None, "p99": None, "max": None},
        "outside_membership": stream.outside_membership,
        "stalls": None,
        "max_outstanding": None,
        "capacity": None,
        "unknown": {},
    }


def received(row: JGroupsStreamRow, window: JudgedStream, *, over: bool, unasked: bool) -> None:
    """What a replayed window adds.

    Args:
        over: the capture ended with the conversation: what was missing then may still have come.
        unasked: what came as a repair for which it was not seen to ask may have come before.
    """
    ended, open_ = as_told(window.counts, over=over), window.open_at_end
    yet = [] if over else [*open_[Outcome.CUT_OFF]]
    row |= {
        "open_at_end": sum(ended[outcome] for outcome in WENT_ON),
        "open_at_end_seqnos": inclusive(listed(RangeSet(chain(*open_.values())))) if over else [],
        "open_until_ns": window.open_until_ns if over else None,
        "start_known": window.start_known,
        "delivered": inclusive(window.delivery.ranges),
        "delivered_unlisted": window.delivery.unlisted,
        "gaps": window.gap_count,
        "reordered": window.counts[Outcome.REORDERED],
        "recovered": window.counts[Outcome.RECOVERED] + window.counts[Outcome.REPAIRED],
        "repairs_not_captured": window.counts[Outcome.REPAIRED],
        "recovered_or_late": window.counts[Outcome.EITHER],
        "unrecovered": ended[Outcome.UNRECOVERED],
        "not_captured": window.counts[Outcome.UNCAPTURED],
        "not_asked_for": ended[Outcome.UNASKED] + ended[Outcome.UNTOLD],
        "no_longer_asked_for": ended[Outcome.STOPPED],
        "sent_before": window.counts[Outcome.BEFORE],
        "lost": window.counts[Outcome.RECOVERED]
        + window.counts[Outcome.REPAIRED]
        + ended[Outcome.UNRECOVERED],
        "lost_seqnos": inclusive(listed(RangeSet([*window.lost, *yet]))),
        "unrecovered_seqnos": inclusive(listed(RangeSet([*window.unrecovered, *yet]))),
        "unlisted_gaps": window.unlisted_gaps,
        "retransmissions": {
            "useful": window.useful,
            "needless": window.needless_count,
            "undecidable": window.undecidable,
        },
    }
    if row["recovered"] or row["recovered_or_late"]:
        row["recovery_ns"] = window.recovery.percentiles()
    if window.may_have_had_more(over=over) or _between(window):
        row["delivered"] = None
        row["unknown"]["delivered"] = _MAY_HAVE_COME
    _without(row, RangeSet([*window.unrecovered, *yet]), window.ways.may_have_had())
    lost = RangeSet([*window.lost, *yet])
    certain = lost - repaired_unsure(window, unasked=unasked) - window.ways.came()
    certain = certain - window.ways.yet if over else certain
    doubted = window.of_unknown_fate(ended) + lost.total() - certain.total()
    at_least = certain.total()
    if doubted:
        row["lost"], row["lost_seqnos"] = None, inclusive(listed(certain))
        row["unknown"]["lost"] = (
            f"{at_least} or more: of {doubted} others it cannot be told, because "
            "this capture does not show how they came first, or a window that was there for them"
        )


def repaired_unsure(window: JudgedStream, *, unasked: bool) -> RangeSet:
    """Whose repair shows no loss; for ``unasked`` see ``received``."""
    return window.ways.repaired(unasked=unasked) - window.unrecovered


def _without(row: JGroupsStreamRow, never: RangeSet, had: RangeSet) -> None:
    """What the receiver may have had is not known to have never come.

    Args:
        never: what did not in this capture.
        had: what it may have had.
    """
    certain = never - had
    if doubted := never.total() - certain.total():
        row["unrecovered"], row["unrecovered_seqnos"] = None, inclusive(listed(certain))
        row["unknown"]["unrecovered"] = (
            f"{certain.total()} or more: {doubted} others an earlier window may have had, or "
            "their own one, just before it was removed"
        )


def _between(window: JudgedStream) -> bool:
    """Was something delivered out of band behind what the capture lacks or may lack, or which was
    sent before it? It may have been delivered out of band as well."""
    high = max((stop for _, stop in window.delivery.ranges), default=0)
    unasked = window.before.get(Outcome.UNASKED, RangeSet()) | window.open_at_end[Outcome.NOT_YET]
    gone = RangeSet(parts_of(window.gaps_by_seqno(), Outcome.GONE)) - window.asked
    unseen = window.tracker.unseen - RangeSet(window.delivery.ranges)
    return any(bool(part) and part.first() < high for part in (unasked, gone, unseen))


def dropped_inside(
    row: JGroupsStreamRow, window: JudgedStream, found: RangeSet, vantage: Vantage
) -> None:
    """Messages that the capture holds and the receiver lacked: lost inside it, unless they were
    lost behind a mirror port.

    Where the capture lacks copies, what the receiver asked for though it had come may be some of
    them as well: no repair of it shows.
    """
    count = found.total()
    row["dropped_inside"] = count
    asked = found | window.asked_though_come() if window.lacks_messages() else found
    if asked and row["lost_seqnos"]:
        row["unknown"]["lost"] = (
            f"this member asked for {asked.total()} that had come, and may have dropped others "
            "inside, which had come and are not in this capture"
        )
        row["lost"], row["lost_seqnos"] = None, []
    if not count or vantage.sure:
        return
    row["dropped_inside"] = row["delivered"] = None
    row["unknown"] |= dict.fromkeys(("delivered", "dropped_inside"), MAY_BE_MIRROR)
    if row["lost"] is not None:
        row["unknown"]["lost"] = (
            f"{row['lost']}, and {count} that were lost inside the receiver or on the way to it: "
            f"{MAY_BE_MIRROR}"
        )
        row["lost"] = None


def misfiled(row: JGroupsStreamRow, why: str) -> None:
    """Of windows that may have another sender's numbers nothing can be counted."""
    row["delivered"] = row["lost"] = row["unrecovered"] = None
    row["recovered"] = row["recovered_or_late"] = row["open_at_end"] = None
    row["lost_seqnos"] = row["unrecovered_seqnos"] = []
    row["open_at_end_seqnos"] = []
    row["unknown"] |= dict.fromkeys(("delivered", "lost", "unrecovered", "recovered"), why)


def nothing_received(row: JGroupsStreamRow) -> None:
    """Of a receiver that has no window: nothing is delivered, and nothing is lost for it."""
    row["delivered"] = []
    row["lost_seqnos"] = []
    row["unrecovered_seqnos"] = row["open_at_end_seqnos"] = []
    row["recovered"] = row["recovered_or_late"] = row["unrecovered"] = row["lost"] = 0
    row["open_at_end"] = 0


def passed(row: JGroupsStreamRow, passing: PassingModel) -> None:
    """What is known where no window is replayed."""
    row["gaps"] = passing.gap_count
    row["unlisted_gaps"] = passing.unlisted_gaps
    row["reordered"] = passing.counts[Outcome.REORDERED]
    row["retransmissions"] = {
        "useful": None,
        "needless": passing.needless_count,
        "undecidable": passing.undecidable,
    }


def capacity(model: SenderModel | None, parameters: EngineParameters) -> CapacityRow | None:
    """The window size that a sender's blocks are judged by; null if nobody knows it."""
    if parameters.value("capacity") is not None:
        return {"value": parameters.value("capacity"), "origin": parameters.origin("capacity")}
    learned = None if model is None else model.learned_capacity()
    return None if learned is None else {"value": learned, "origin": LEARNED}


def gaps_of(window: JudgedStream | None, passing: PassingModel | None) -> list[Gap]:
    """The ended gaps of a stream, in order."""
    known = window or passing
    return [] if known is None else sorted(known.gaps, key=lambda gap: gap.first)


def gap_rows(
    role: str, system: str, gap: Gap, window: JudgedStream | None, *, unasked: bool
) -> Iterator[GapFigures]:
    """A gap's rows, their outcomes in the words of the end that is here; what was open at the end
    as it ended if the capture went on. A repair that shows no loss is one, or a late original; for
    ``unasked`` see ``received``."""
    names = _NAMES.get(role, {})
    unsure = RangeSet() if window is None else repaired_unsure(window, unasked=unasked)
    yet = RangeSet() if window is None else window.ways.yet
    until_ns = None if window is None else window.open_until_ns
    others = RangeSet() if window is None else window.ways.by_others
    for row in gap.rows():
        outcome = WENT_ON.get(Outcome(row["outcome"]), row["outcome"])
        for part, ended, open_ in _parted(row, outcome, unsure, yet):
            for seqnos, asked in ((part - others, True), (part & others, False)):
                if not seqnos:
                    continue
                some = gap.of_some(row, seqnos, asked=asked)
                told: GapFigures = {
                    **some,
                    "outcome": names.get(ended, ended),
                    "system": system,
                    "placed": placed(*by_outcome(ended, role, some["requests"])),
                }
                if open_ and until_ns is not None:
                    told["open_until_ns"] = until_ns
                yield told


def _parted(
    row: GapFigures, outcome: str, unsure: RangeSet, yet: RangeSet
) -> Iterator[tuple[RangeSet, str, bool]]:
    """What of a gap's row ended how, and whether a capture that ended just then does not tell."""
    seqnos = RangeSet((first, last + 1) for first, last in row["seqnos"])
    recovered = outcome == Outcome.RECOVERED
    late = seqnos & unsure if recovered else RangeSet()
    yet = (seqnos & yet) - late if recovered else RangeSet()
    if rest := seqnos - late - yet:
        yield rest, outcome, outcome != row["outcome"]
    if yet:
        yield yet, outcome, True
    if late:
        yield late, Outcome.EITHER, False
