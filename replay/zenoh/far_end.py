"""Why samples did not come back, as the capture at the cache's end shows it (zenoh.md 11).

A query is the same one at both ends of a leg where requester, request id, parameters and source
are, and no other of either capture has these. What left the far end and is among what the near end
lacks was lost on the way back; what a whole answer there lacks the cache no longer had.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from seqaudit.replay.contract.finding import Certainty, PlacedFinding, Rests
from seqaudit.replay.contract.report_rows import QueryFigures
from seqaudit.replay.contract.results import GapDetail, ResultRow, Row
from seqaudit.replay.contract.worth import BEGINNING, END, Worth
from seqaudit.replay.sequence.ranges import RangeSet, half_open, inclusive
from seqaudit.replay.zenoh.causes import (
    Cause,
    Why,
    by_cause,
    cause_rows,
    furthest,
    in_words,
    samples,
    within,
)
from seqaudit.replay.zenoh.report_rows import OTHER_END, CauseRow, MissRow

#: Rules whose findings name causes.
RULES: Final = frozenset({"ZN002", "ZN022"})
#: Causes of samples that were asked for, which the far end may tell better.
_OPEN: Final = frozenset(
    {
        Cause.LATER, Cause.NOT_THERE, Cause.NO_ANSWER, Cause.GONE, Cause.NO_CACHE, Cause.EMPTY,
        Cause.LOST_OR_EMPTY, Cause.EMPTY_OR_LOST, Cause.EVICTED, Cause.REPLY_OR_EVICTED,
        Cause.REPLY_LOST,
    }
)  # fmt: skip
#: Outcomes of queries to which nothing says that an answer came.
UNENDED: Final = ("timed out", "session ended")
#: What the far end shows, in words.
_SHOWN: Final = {
    Cause.REPLY_LOST: "a reply with {name:sample} left there and did not come",
    Cause.EVICTED: "the cache had only newer ones when it was asked for {name:sample}",
    Cause.REPLY_OR_EVICTED: "the answer to the query for {name:sample} began above there as well",
    Cause.EMPTY: "the answer to the query for {name:sample} was empty there as well",
    Cause.EMPTY_OR_LOST: "the answer to the query for {name:sample} was empty there as well",
    Cause.NO_CACHE: "there is no cache there for {name:sample}",
    Cause.QUERY_LOST: "the query for {name:sample} is not there",
    Cause.UNANSWERED: "the query for {name:sample} came there, and no answer left",
    Cause.LATER: "{name:sample} left there behind the answer to the query",
}


def doubted(worth: Mapping[int, Worth]) -> frozenset[int]:
    """Captures whose frames prove no cause: of an answer something may be missing, or changed."""
    whole = Rests((BEGINNING, END), ordered=True)
    return frozenset(
        capture
        for capture, one in worth.items()
        if one.capped(Certainty.PROVEN, whole, None).certainty is not Certainty.PROVEN
    )


class _Key(NamedTuple):
    """A query on the wire."""

    capture: int
    leg: str
    requester: str
    request_id: int | None


class FarEnds:
    """Of all rows with misses whose source was captured at its sender as well.

    Args:
        streams: (capture, stream, detail) of STREAM rows.
        queries: reads the QUERY rows.
        doubted: captures that prove no cause.

    Attributes:
        shown: (capture, stream) to what the far end shows of its misses.
    """

    def __init__(
        self,
        streams: Iterable[tuple[int, str, Row]],
        queries: Callable[[], Iterator[ResultRow[QueryFigures]]],
        doubted: frozenset[int] = frozenset(),
    ) -> None:
        self.doubted = doubted
        self._senders: dict[tuple[str, str], list[tuple[int, Row]]] = {}
        self._asked: dict[_Key, list[QueryFigures]] = {}
        wanting: list[tuple[int, str, Row]] = []
        for capture, stream, row in streams:
            if row.get("kind") == "samples" and row["role"] == "sender":
                self._senders.setdefault((row["leg"], row["source"]), []).append((capture, row))
            elif any(miss["request_ids"] for miss in row.get("misses") or ()):
                wanting.append((capture, stream, row))
        if any(self._senders_of(capture, row) for capture, _, row in wanting):
            for query in queries():
                detail = query["detail"]
                self._asked.setdefault(
                    _Key(
                        query["capture"], query["conversation"],
                        detail["requester_endpoint"], detail["request_id"],
                    ),
                    [],
                ).append(detail)  # fmt: skip
        self.shown = {
            (capture, stream): parts
            for capture, stream, row in wanting
            if (parts := furthest(p for m in row["misses"] for p in self._of(capture, row, m)))
        }

    def _senders_of(self, capture: int, row: Row) -> list[tuple[int, Row]]:
        senders = self._senders.get((row["leg"], row["source"]), [])
        return [sender for sender in senders if sender[0] != capture]

    def _of(self, capture: int, row: Row, miss: MissRow) -> list[Why]:
        return furthest(
            part._replace(shown_by=None) if self.doubted & {capture, there} else part
            for there, sender in self._senders_of(capture, row)
            for part in _of_miss(miss, row, sender, (capture, there), self._asked)
        )

    def figures(self, capture: int, row: Row) -> Row:
        """The figures of a stream that name causes, with what the far end shows."""
        found: Row = {"misses": [self._restated(capture, row, miss) for miss in row["misses"]]}
        if row.get("subscribers"):
            found["subscribers"] = [
                one | {"misses": [self._restated(capture, row, miss) for miss in one["misses"]]}
                for one in row["subscribers"]
            ]
        return found

    def _restated(self, capture: int, row: Row, miss: MissRow) -> MissRow:
        told = self._of(capture, row, miss)
        if not told and capture not in self.doubted:
            return miss
        left = [
            CauseRow(
                seqnos=one["seqnos"],
                cause=one["cause"],
                shown_by=None if capture in self.doubted else one["shown_by"],
            )
            for one in _left(miss["causes"], told)
        ]
        causes = [*left, *cause_rows(told)]
        return {**miss, "causes": causes, "cause": in_words(causes)}


def _of_miss(
    miss: MissRow,
    row: Row,
    sender: Row,
    captures: tuple[int, int],
    asked: Mapping[_Key, list[QueryFigures]],
) -> list[Why]:
    """What the far end shows of one miss; of samples of which it tells nothing, nothing."""
    parts: list[Why] = []
    untold = RangeSet()
    first, last = miss["seqnos"][0]
    for number in miss["request_ids"]:
        here, there = (
            asked.get(_Key(capture, row["leg"], row["receiver_endpoint"], number), [])
            for capture in captures
        )
        if len(here) != 1 or len(there) > 1:
            return []
        own = here[0]
        begin = first if own["first_seqno"] is None else max(first, own["first_seqno"])
        stop = (last if own["last_seqno"] is None else min(last, own["last_seqno"])) + 1
        if begin >= stop:
            continue
        told = list(_of_query(own, there[0] if there else None, sender, begin, stop))
        parts += told
        untold |= samples(told).missing(begin, stop)
    untold -= samples(part for part in parts if part.cause is Cause.REPLY_LOST)
    open_here = half_open(
        span for cause in miss["causes"] if cause["cause"] in _OPEN for span in cause["seqnos"]
    )
    return within(furthest(parts), (samples(parts) - untold) & open_here)


def _of_query(
    own: QueryFigures, far: QueryFigures | None, sender: Row, first: int, stop: int
) -> Iterator[Why]:
    """What became of [first, stop) of a query: ``own`` where it was sent, ``far`` where it came."""
    if far is None:
        newest = own["newest_seqno"]
        if newest is not None and first <= newest and _never_came(own, sender):
            yield Why(first, min(stop, newest + 1), Cause.QUERY_LOST)  # it asked for no more
        return
    if (own["parameters"], own["source"]) != (far["parameters"], far["source"]):
        return
    replied = half_open(far["reply_seqnos"])
    for a, b in replied.within(first, stop):
        yield Why(a, b, Cause.REPLY_LOST, OTHER_END)
    newest = far["newest_seqno"]
    for a, b in replied.missing(first, stop):
        if far["whole"]:
            later = b if newest is None else max(newest + 1, replied.stop() if replied else a)
            if a < later:
                older = bool(replied) and a < replied.first()
                yield Why(a, min(b, later), _lacked(sender, older=older), OTHER_END)
            if later < b:
                yield Why(max(a, later), b, Cause.LATER, OTHER_END)
        elif far["outcome"] == "timed out":
            yield Why(a, b, Cause.UNANSWERED)


def _lacked(sender: Row, *, older: bool) -> Cause:
    """What a whole answer lacks that left where a stream was captured at its sender; a router's
    links to the caches may have lost it.

    Args:
        older: it has newer ones.
    """
    if sender["sender_node"] not in (None, sender["source"].partition("/")[0]):
        return Cause.REPLY_OR_EVICTED if older else Cause.EMPTY_OR_LOST
    if older:
        return Cause.EVICTED
    return Cause.NO_CACHE if sender["cache"] == "none" else Cause.EMPTY


def _never_came(own: QueryFigures, sender: Row) -> bool:
    """A query of which the far end has nothing, though it has samples from before and after."""
    if own["replies"] or own["discarded_replies"] or own["outcome"] not in UNENDED:
        return False
    live, newest = sender["live"], own["newest_seqno"]
    return bool(live and newest is not None and live[0][0] <= newest < live[-1][1])


def _left(rows: Iterable[CauseRow], told: Iterable[Why]) -> Iterator[CauseRow]:
    """Causes of samples of which nothing else was told."""
    known = samples(told)
    for row in rows:
        if rest := half_open(row["seqnos"]) - known:
            yield CauseRow(seqnos=inclusive(rest), cause=row["cause"], shown_by=row["shown_by"])


def restated_gap(gap: GapDetail, known: list[Why]) -> GapDetail:
    """A gap with the causes that the far end shows."""
    wanted = half_open(gap["seqnos"])
    told = within(known, wanted)
    if not gap.get("causes") or not told:
        return gap
    better = [str(cause) for cause in by_cause(told)]
    if samples(told) != wanted:
        better = list(dict.fromkeys([*gap["causes"], *better]))
    return gap | {"causes": better}


def restated_finding(finding: PlacedFinding, known: list[Why]) -> PlacedFinding:
    """A finding about misses, and what the far end shows of them."""
    told = by_cause(within(known, half_open(finding["seqnos"])))
    if finding["rule"] not in RULES or not told or finding["facts"].get("lane"):
        return finding
    facts = {f"at_far_end_{cause.name.lower()}": ranges.total() for cause, ranges in told.items()}
    says = "; ".join(
        _SHOWN[cause].replace("{name:", "{" + name + ":")
        for cause, name in zip(told, facts, strict=True)
    )
    text = f"{finding['text']} The capture at the other end shows: {says}."
    return {**finding, "text": text, "facts": finding["facts"] | facts}
