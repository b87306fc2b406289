"""What a replayed zenoh session says: streams, gaps, queries, findings (replay/README.md 5)."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from seqaudit.decoders.contract.events import NO_CONVERSATION
from seqaudit.replay.contract.finding import Certainty, Finding, Rests, Severity
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, Reporter, listed, parts_of
from seqaudit.replay.contract.results import ACCOUNT, GAP, QUERY, STREAM, Result
from seqaudit.replay.contract.story import placed
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    LIKELY,
    ORDERED,
    UNDECIDABLE,
    Claim,
)
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import Gap, Outcome, between
from seqaudit.replay.sequence.ranges import Range, RangeSet, inclusive
from seqaudit.replay.zenoh import certificates
from seqaudit.replay.zenoh.engine import ROS, Source, Unnumbered, ZenohEngine
from seqaudit.replay.zenoh.hops import HopCounter, HopGap
from seqaudit.replay.zenoh.keys import UNRESOLVED
from seqaudit.replay.zenoh.legs import LINK_RULES
from seqaudit.replay.zenoh.rules import ZENOH
from seqaudit.replay.zenoh.story import (
    BEFORE,
    BETWEEN_SESSIONS,
    DISCARDED,
    ON_LINK,
    OUT_OF_ORDER,
    hop_place,
    lost_where,
    query_end,
)
from seqaudit.replay.zenoh.subscriber import (
    BY_SAMPLE,
    Cause,
    DocumentSubscriber,
    Miss,
    Query,
    Sort,
    Subscriber,
)

SYSTEM: Final = "zenoh"
HOP_SYSTEM: Final = "zenoh-hop"
PARAMETERS: Final = (
    "rules", "cache_depth", "query_grace_ms", "query_timeout_ms", "retention_ms",
)  # fmt: skip
DOCUMENT_PARAMETERS: Final = (
    "cache_origin", "cache_enabled", "cache_history", "periodic_query_ms", "history_query",
)  # fmt: skip
#: Rules about the design document's machine on today's traffic.
DOCUMENT_RULES: Final = frozenset({"ZN023", "ZN024"})
#: Priority and channel of the replies of a cache (zenoh.md 9.2): Data, reliable.
FINALS: Final = 5 * 2 + 1
MAX_WAITS: Final = 100
WAIT_NS: Final = 1_000_000_000
STORM_QUERIES: Final = 20
STORM_PER_GAP: Final = 3

#: Why nothing is said about delivery.
REFUSED: Final = "no sample that its receiver accepts passed here"
UNMATCHED: Final = "no subscriber that it matches was declared here when its samples came"

BEGAN_LATER: Final = "the capture began after the session: earlier samples are unknown"

#: Why nothing is proven of what is missing.
OR_NOT_CAPTURED: Final = "lost, or not captured: no frame here shows which"
#: Of the samples above the first of a gap.
ASKED_FROM: Final = (
    "a request names the first missing sample only, so the others were lost, or not captured"
)
#: Outcomes that are no loss.
NO_LOSS: Final = frozenset({Outcome.REORDERED, Outcome.UNCAPTURED, Outcome.UNASKED})

#: What a subscriber had, missed and got back, which nobody sees where its samples leave.
UNSEEN_AT_SENDER: Final = (
    "delivered", "misses", "reordered", "recovered", "unrecovered", "open", "not_captured", "lost",
    "lost_seqnos", "unrecovered_seqnos", "repeats", "longest_wait_ns", "held_max",
)  # fmt: skip

#: Why other subscribers of a node are not told of.
ONE_DECLARATION: Final = (
    "a node declares a key expression once, however many subscribers it has there: whether one "
    "without recovery missed what another got back is on no wire"
)
#: Why nothing is said about delivery where the capture does not hold all bytes.
CUT_OFF: Final = "samples may be among what the snap length cut off"

UNSEEN: Final = {
    "sender": "what arrived is not visible at the sender",
    "between": "it is not known at whose interface the capture was taken",
}

#: Rules that need several legs of a source (``replay.zenoh.legs`` judges them), and why not
#: without.
ELSEWHERE: Final = dict.fromkeys(LINK_RULES, "needs captures of two places") | {
    "ZN022": "needs two sessions of one node in turn",
    "ZN026": "needs two sessions of one node in turn",
}


@dataclass(slots=True)
class Stream:
    """What a finding is about."""

    key: str
    system: str
    sender: str
    receiver: str | None


def results(engine: ZenohEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about one session in one capture."""
    if not engine.recognised:
        return []
    return list(_Zenoh(engine, capture, end_ns).rows())


class _Zenoh(Reporter):
    def __init__(self, engine: ZenohEngine, capture: int, end_ns: int) -> None:
        super().__init__(capture, engine.conversation, engine.parameters, SYSTEM, engine.worth)
        self.engine = engine
        self.end_ns = end_ns
        self._by_machine: dict[tuple[str, str], list[Subscriber]] | None = None
        self._by_way: dict[tuple[str, str], list[tuple[int, HopCounter]]] = {}
        for (sender, receiver, code), counter in (*engine.counters.items(), *engine.retired):
            self._by_way.setdefault((sender, receiver), []).append((code, counter))
        self._by_source: dict[str, list[Query]] | None = None

    def receiver_of(self, stream: Any) -> str | None:
        found: str | None = stream.receiver
        return found

    # -- rows ------------------------------------------------------------------------------------

    def rows(self) -> Iterator[Result]:
        engine = self.engine
        for _, source in sorted(engine.sources.items(), key=lambda item: item[0]):
            yield from self._source(source)
        for _, found in sorted(engine.unnumbered.items(), key=lambda item: item[0]):
            yield from self._unnumbered(found)
        sessions: dict[tuple[str, str, int], int] = {}
        for identity, counter in (
            *engine.retired,
            *sorted(engine.counters.items(), key=lambda i: i[0]),
        ):
            if counter.frames:
                sessions[identity] = sessions.get(identity, 0) + 1
                yield from self._hop(identity, counter, sessions[identity])
        for query in self._all_queries():
            yield self.row(QUERY, self._query(query))
        yield from self._histories()
        if engine.keys.unresolved:
            stream = self._stream("", "", "", None)
            yield self.finding(
                self.make(
                    stream, "ZN017", Certainty.PROVEN,
                    "{count:key expression} {count|is a number|are numbers} whose declaration is "
                    "not in this capture.",
                    facts={"count": engine.keys.unresolved},
                ),
                None,
            )  # fmt: skip
        yield from self._accounts()
        for rule in ZENOH:
            why = ELSEWHERE.get(rule.code)
            if rule.code in DOCUMENT_RULES and engine.world is None:
                why = "the shipped code's rules are replayed"
            yield self.judged(rule.code, why)
        yield from self.parameters_used(PARAMETERS)
        if engine.world is not None:
            yield from self.parameters_used(DOCUMENT_PARAMETERS)

    def _histories(self) -> Iterator[Result]:
        """Queries for historical samples are about no one source."""
        late = [q for q in self.engine.queries if q.sort is Sort.HISTORY and q.timed_out]
        if late:
            stream = self._stream("", "", "", None)
            yield self.finding(
                self._about(
                    stream, "ZN013", late,
                    "{times:query} for historical samples {times|was|were} never ended: what came "
                    "live waited for {times|it|them}.",
                    claim=Claim(Certainty.LIKELY, Rests((late[0].asked.frame, END), timed=True),
                                why="or its end is not in this capture"),
                ),
                None,
            )  # fmt: skip

    def _accounts(self) -> Iterator[Result]:
        """Frames that might have been zenoh and are; messages that were fragmented."""
        engine = self.engine
        pieces = engine.doubted_frames.keys() | engine.whole.keys() | engine.doubted.keys()
        for piece in sorted(pieces | engine.cut_frames.keys()):
            frames, cut = engine.doubted_frames[piece], engine.cut_frames[piece]
            cut_off = {"truncated": cut} if cut else {}
            messages = dict(engine.doubted.get(piece, {}))
            for word, count in engine.whole.get(piece, {}).items():
                messages[word] = messages.get(word, 0) + count
            detail = {
                "piece": piece,
                "frames": 0,
                "frames_by": {"decoded": frames, "other": -frames - cut} | cut_off,
                "messages_by": {SYSTEM: messages},
                "sureness": {"by its session": frames} if frames else {},
            }
            yield Result(self.capture, ACCOUNT, NO_CONVERSATION, "capture", detail)

    def _all_queries(self) -> list[Query]:
        """Those of the wire, or those that the document's machine would have sent."""
        world = self.engine.world
        if world is None:
            return self.engine.queries
        return sorted(
            (
                query
                for subscriber in self.engine.subscribers.values()
                if isinstance(subscriber, DocumentSubscriber)
                for query in world.asked(subscriber).queries
            ),
            key=lambda query: (query.asked, query.requester, query.key, query.text),
        )

    def _stream(self, sender: str, receiver: str, source: str, subject: str | None) -> Stream:
        subject_text = "" if subject is None else f"|{subject}"
        return Stream(
            f"{sender}>{receiver}|{source}{subject_text}",
            SYSTEM,
            source.partition("/")[0] or self.engine.zid(sender) or sender,
            self.engine.zid(receiver) or receiver,
        )

    # -- sources and subscribers -------------------------------------------------------------------

    def _source(self, source: Source) -> Iterator[Result]:
        machines = self._machines(source)
        if not source.arrivals and not source.replies and not source.heartbeats:
            return
        if not machines:
            stream = self._stream(source.sender, source.receiver, source.source, None)
            yield self.row(STREAM, self._summary(source, None), stream)
        for subscriber in machines:
            stream = self._stream(source.sender, source.receiver, source.source, subscriber.subject)
            if subscriber.life > 1:
                stream.key += f"|{subscriber.life}"
            yield self.row(STREAM, self._summary(source, subscriber), stream)
            counters = self._counters(source)
            for gap in sorted(subscriber.gaps, key=lambda gap: gap.first):
                where = self._place(source, subscriber, gap, counters)
                for row in gap.rows():
                    row = self._gap(subscriber, gap, row) | {"where": where}
                    yield self.row(GAP, row | self._story(source, subscriber, gap, row), stream)
            for finding in self._findings(stream, source, subscriber):
                yield self.finding(finding, stream)

    def _machines(self, source: Source) -> list[Subscriber]:
        """Subscribers of a source, each with a row of its own, in order of key and life."""
        if self._by_machine is None:
            self._by_machine = {}
            everyone = (*self.engine.ended, *self.engine.subscribers.items())
            for (receiver, _, name), one in everyone:
                self._by_machine.setdefault((receiver, name), []).append(one)
        names = {source.source, source.source.partition("/")[0]}
        found = [
            subscriber
            for name in names
            for subscriber in self._by_machine.get((source.receiver, name), [])
            if self._is_of(subscriber, name, source)
        ]
        return sorted(found, key=lambda one: (one.subject or "", one.life))

    def _is_of(self, subscriber: Subscriber, name: str, source: Source) -> bool:
        """Whether a subscriber is told of beside this source; beside the first it has (D11)."""
        if name == source.source:
            return True
        world = self.engine.world
        zid, _, entity = source.source.partition("/")
        if name != zid or world is None or not isinstance(subscriber, DocumentSubscriber):
            return name == zid and world is None
        return entity == min(world.asked(subscriber).entities, default=entity)

    def _summary(self, source: Source, subscriber: Subscriber | None) -> dict[str, Any]:
        engine = self.engine
        role = engine.role(source.sender, source.receiver)
        everything = RangeSet(source.live)
        for first, stop in source.replied:
            everything.add(first, stop)
        arrivals = source.arrivals + source.replies
        mine = self._queries_of(source, subscriber)
        side = {"receiver": "sent", "sender": "arrived"}.get(role, "passed")
        zid = source.source.partition("/")[0]
        row: dict[str, Any] = {
            "kind": "samples",
            "leg": engine.conversation,
            "transport": engine.transport,
            "source": source.source,
            "key": source.key,
            "subscriber": None if subscriber is None else subscriber.subject,
            "sender": zid,
            "sender_endpoint": source.sender,
            "sender_node": engine.zid(source.sender),
            "receiver": engine.zid(source.receiver),
            "receiver_endpoint": source.receiver,
            "conn_id": None,
            "role": role,
            "session_start_captured": bool(engine.session_starts),
            "first_seqno": everything.first() if everything else None,
            "last_seqno": everything.stop() - 1 if everything else None,
            "first_frame": source.first.frame if source.first else None,
            "last_frame": source.last.frame if source.last else None,
            "first_ns": source.first.at_ns if source.first else None,
            "last_ns": source.last.at_ns if source.last else None,
            "messages": everything.total(),
            "arrivals": arrivals,
            "copies": arrivals - everything.total(),
            "bytes": source.bytes,
            "network_duplicates": source.network_duplicates,
            "live": inclusive(listed(source.live)),
            "replied": inclusive(listed(source.replied)),
            "replies": source.replies,
            "discarded": source.discarded.ranges.total(),
            "heartbeats": source.heartbeats.count,
            "heartbeat_highest": source.heard,
            "block": source.unblocked == 0,
            "reliable": source.unreliable == 0,
            "fragmented": source.fragmented,
            "cache_depth_seen": source.depth,
            "delivered": None,
            "misses": None,
            "gaps": 0,
            "reordered": 0,
            "recovered": None,
            "unrecovered": None,
            "lost": None,
            "lost_seqnos": None,
            "unrecovered_seqnos": None,
            "requests": {"sent": None, "arrived": None, side: len(mine)},
            "requested_seqnos": {"sent": None, "arrived": None},
            "acks": {"sent": None, "arrived": None},
            "syncs": None,
            "retransmissions": {"useful": None, "needless": None, "undecidable": None},
            "recovery_ns": {"p50": None, "p99": None, "max": None},
            "repeats": 0,
            "longest_wait_ns": None,
            "control": {
                "queries": len(mine),
                "replies": sum(query.replies for query in mine),
                "finals": sum(query.final for query in mine),
                "heartbeats": source.heartbeats.count,
                "while_nothing_is_missing": None,
                "samples_while_nothing_is_missing": None,
            },
            "unknown": {},
        }
        self._endpoints(row, source, subscriber)
        if not engine.session_starts:
            row["unknown"]["earlier_seqnos"] = BEGAN_LATER
        if subscriber is None:
            nobody = engine.multicast and bool(source.live)
            row["unknown"]["delivered"] = UNMATCHED if nobody else REFUSED
            return row
        counts = subscriber.counts
        quiet = subscriber.quiet_control(mine)
        row["control"] |= {
            "while_nothing_is_missing": quiet[0],
            "samples_while_nothing_is_missing": quiet[1],
        }
        row |= {
            "gaps": subscriber.gap_count,
            "reordered": counts[Outcome.REORDERED],
            "recovered": counts[Outcome.RECOVERED],
            "unrecovered": counts[Outcome.UNRECOVERED],
            "open": counts[Outcome.GONE],
            "not_captured": counts[Outcome.UNCAPTURED],
            "lost": counts[Outcome.RECOVERED] + counts[Outcome.UNRECOVERED],
            "lost_seqnos": inclusive(listed(_union(subscriber.recovered, subscriber.unrecovered))),
            "unrecovered_seqnos": inclusive(listed(subscriber.unrecovered)),
            "recovery_ns": subscriber.recovery.percentiles(),
            "repeats": subscriber.repeat_count,
            "forgotten": subscriber.forgotten,
            "longest_wait_ns": max(
                (w.released.at_ns - w.held.at_ns for w in subscriber.waits), default=None
            ),
            "retransmissions": {
                "useful": counts[Outcome.RECOVERED],
                "needless": source.replies - min(source.replies, counts[Outcome.RECOVERED]),
                "undecidable": 0,
            },
        }
        self._in_document(row, subscriber)
        cut = engine.cut_from.get(source.sender)
        if cut is not None and (cut[1] < subscriber.since or cut[0] > subscriber.until):
            cut = None  # not in its life
        if role != "receiver" or cut is not None:
            why = UNSEEN.get(role, CUT_OFF)
            for figure in UNSEEN_AT_SENDER:
                row[figure] = None
                row["unknown"][figure] = why
            row["retransmissions"] = dict.fromkeys(row["retransmissions"])
        else:
            row["delivered"] = inclusive(subscriber.delivery.ranges)
            row["misses"] = _misses(subscriber)
            row["waits"] = [
                {
                    "seqnos": [[wait.first, wait.stop - 1]],
                    "count": wait.count,
                    "held_frame": wait.held.frame,
                    "released_frame": wait.released.frame,
                    "waited_ns": wait.released.at_ns - wait.held.at_ns,
                }
                for wait in subscriber.waits[:MAX_WAITS]
                if wait.released.at_ns > wait.held.at_ns
            ]
            lanes = self.engine.lanes_of(subscriber).all
            row["subscribers"] = [
                {"delivered": inclusive(lane.delivery.ranges), "misses": _misses(lane)}
                for lane in lanes
            ]
            if not lanes and counts[Outcome.RECOVERED]:
                row["subscribers"] = None
                row["unknown"]["subscribers"] = ONE_DECLARATION
        return row

    def _endpoints(
        self, row: dict[str, Any], source: Source, subscriber: Subscriber | None
    ) -> None:
        """What kind of publisher and subscriber these are, and what they keep.

        ``publisher``: "classic" numbers nothing, "advanced" does, "ros" in attachments. ``cache``:
        "answered", "declared" or "none"; null: the session was under way before the capture.
        ``subscriber_recovers``: it asked, or declared that it does; false: it let gaps pass and
        never asked; null: nothing shows. ``held_max``, ``queries_max``: most samples that it held
        back, and most queries that it had open, at a time.
        """
        row["publisher"] = "ros" if source.source.endswith(ROS) else "advanced"
        row["cache"] = "answered" if source.replies else None
        if row["cache"] is None and self.engine.session_starts:
            row["cache"] = "declared" if self.engine.has_cache(source) else "none"
        row |= dict.fromkeys(("subscriber_recovers", "held_max", "queries_max"))
        if subscriber is not None:
            row["subscriber_recovers"] = subscriber.recovery_shown()
            row["held_max"] = max((wait.count for wait in subscriber.waits), default=0)
            row["queries_max"] = subscriber.queries_max

    def _in_document(self, row: dict[str, Any], subscriber: Subscriber) -> None:
        """What the document's machine would have done with what came here."""
        world = self.engine.world
        if world is None or not isinstance(subscriber, DocumentSubscriber):
            return
        asked, settings = world.asked(subscriber), world.settings
        row["recovery_ns"] = dict.fromkeys(row["recovery_ns"])
        row["unknown"]["recovery_ns"] = "how fast the document's cache would have answered"
        row["document"] = {
            "cache": self._document_cache(),
            "cache_history": settings.history if settings.enabled else None,
            "queries": asked.count + asked.idle,
            "empty_periodic_queries": asked.idle,
            "replies": asked.replies,
            "control_messages": asked.control,
            "source_ids_shared_by": len(asked.entities),
            "taken_for_repeats": inclusive(listed(asked.collided.ranges)),
        }

    def _document_cache(self) -> str:
        world = self.engine.world
        assert world is not None
        if not world.settings.enabled:
            return "none"
        return "in the publisher" if world.settings.origin == "local" else "at the sender's node"

    def _queries_of(self, source: Source, subscriber: Subscriber | None) -> list[Query]:
        if subscriber is None:
            return []
        if self.engine.world is not None and isinstance(subscriber, DocumentSubscriber):
            return self.engine.world.asked(subscriber).queries
        if self._by_source is None:
            self._by_source = {}
            for query in self.engine.queries:
                if query.source is not None:
                    self._by_source.setdefault(query.source, []).append(query)
        found = self._by_source.get(subscriber.source, [])
        return [query for query in found if self._is_for(query, subscriber)]

    def _is_for(self, query: Query, subscriber: Subscriber) -> bool:
        subject = query.key.partition("/@adv/")[0]
        if not subscriber.lived_at(query.asked.frame):
            return False
        return subscriber.subject in (None, subject) or query.sort in (Sort.HEARTBEAT, Sort.LATE)

    def _gap(self, subscriber: Subscriber, gap: Gap, row: dict[str, Any]) -> dict[str, Any]:
        place = bisect_right(subscriber.misses, gap.first, key=lambda miss: miss.stop)
        causes = set()
        while place < len(subscriber.misses) and subscriber.misses[place].first < gap.stop:
            causes.add(str(subscriber.misses[place].cause))
            place += 1
        told = sorted(causes) if row["outcome"] == Outcome.UNRECOVERED else []
        return row | {"system": SYSTEM, "causes": told}

    def _story(
        self, source: Source, subscriber: Subscriber, gap: Gap, row: dict[str, Any]
    ) -> dict[str, Any]:
        """What became of the queries for a gap, and where it was lost."""
        role = self.engine.role(source.sender, source.receiver)
        told = placed(*lost_where(row["where"], row["outcome"], role, row["requests"]))
        if not gap.asks:
            return told
        marks = {ask.mark for ask in gap.asks}
        ends = [
            query_end(query, row["seqnos"])
            for query in self._queries_of(source, subscriber)
            if query.asked in marks and query.ended is not None
        ]
        known = [
            step | {"by": self.engine.zid(step["by"]) or step["by"]} if step.get("by") else step
            for step in row["heard"]
        ]
        return told | {"heard": known + ends}

    # -- findings --------------------------------------------------------------------------------

    def _findings(
        self, stream: Stream, source: Source, subscriber: Subscriber
    ) -> Iterator[Finding]:
        engine = self.engine
        role = engine.role(source.sender, source.receiver)
        sure = role == "receiver" and engine.world is None
        mine = self._queries_of(source, subscriber)
        gaps = sorted(subscriber.gaps, key=lambda gap: gap.first)
        shown_by_requests = certificates.recovered(source, subscriber, mine) if sure else RangeSet()
        yield from self._recovered(stream, source, subscriber, gaps, shown_by_requests)
        if role != "sender":
            proven = certificates.missed(source, subscriber.misses, mine) if sure else RangeSet()
            yield from self._missed(stream, source, subscriber, subscriber.misses, proven)
            yield from self._missed_by_some(stream, source, subscriber)
            yield from self._tail(stream, source, subscriber)
        if role == "receiver" and engine.world is None:
            yield from self._not_captured(stream, subscriber, gaps, mine)
        yield from self._document_findings(stream, source, subscriber)
        still_open = [gap for gap in gaps if Outcome.GONE in gap.parts]
        if still_open:
            yield self.gap_finding(
                stream, "ZN018", still_open, parts_of(still_open, Outcome.GONE),
                "{count:sample} of {sender_member} {count|was|were} asked for and missing when "
                "the capture "
                "ended.",
                claim=UNDECIDABLE,
            )  # fmt: skip
        yield from self._where(stream, source, subscriber, gaps, mine)
        if subscriber.repeat_count and role != "sender":
            yield from self.note(
                stream, "ZN008", subscriber.repeats, Claim(Certainty.LIKELY, ORDERED.rests),
                "{times:sample} of {sender_member} came again; the subscriber ignores "
                "{times|it|them}.",
                "a sample that was there already", times=subscriber.repeat_count,
            )  # fmt: skip
        yield from self._discarded(stream, source, mine, sure=sure)
        yield from self._query_findings(stream, source, subscriber)
        waits = [w for w in subscriber.waits if w.released.at_ns - w.held.at_ns >= WAIT_NS]
        if waits and role != "sender":
            longest = max(waits, key=lambda w: w.released.at_ns - w.held.at_ns)
            yield self.make(
                stream, "ZN014",
                Claim(Certainty.LIKELY, Rests(
                    (longest.held.frame, longest.released.frame), timed=True, ordered=True)),
                "{times:time} samples of {sender_member} waited behind missing ones, {waited} in "
                "all, the longest for {wait}.",
                seqnos=[(w.first, w.stop) for w in waits[:MAX_EVIDENCE]],
                mark=longest.held,
                evidence=[(longest.held, "held back"), (longest.released, "handed on")],
                facts={
                    "times": len(waits),
                    "waited": sum(w.count for w in waits),
                    "wait": shown(longest.released.at_ns - longest.held.at_ns),
                },
            )  # fmt: skip

    def _recovered(
        self,
        stream: Stream,
        source: Source,
        subscriber: Subscriber,
        gaps: list[Gap],
        proven: RangeSet,
    ) -> Iterator[Finding]:
        """What was missed and came back; of each gap a request proves the first sample (ZN001)."""
        found = [gap for gap in gaps if Outcome.RECOVERED in gap.parts]
        parts = RangeSet(parts_of(found, Outcome.RECOVERED))
        sure = RangeSet(r for a, b in proven for r in parts.within(a, b))
        rest = _difference(parts, sure)
        for ranges, claim in (
            (sure, ORDERED),
            (rest, Claim(Certainty.LIKELY, _rests(found), why=ASKED_FROM if sure else "")),
        ):
            mine = [gap for gap in found if _touches(gap, Outcome.RECOVERED, ranges)]
            if not ranges:
                continue
            yield self.gap_finding(
                stream, "ZN001", mine, ranges,
                "{count:sample} of {sender_member} {count|was|were} missed and recovered from "
                "{caches}, the "
                "slowest {slowest} after the gap showed." if self.engine.world is None else
                "{count:sample} of {sender_member} {count|was|were} missed and would have been "
                "recovered from "
                "the design document's cache {caches}.",
                claim=claim,
                slowest=shown(subscriber.recovery.percentiles()["max"]),
                caches=self._caches(source, subscriber),
            )  # fmt: skip

    def _not_captured(
        self, stream: Stream, subscriber: Subscriber, gaps: list[Gap], mine: list[Query]
    ) -> Iterator[Finding]:
        """What the subscriber had, or may have had, and the capture does not hold."""
        passed = {
            gap.first: hole
            for gap in gaps
            if gap.parts.keys() == {Outcome.UNASKED}
            and (hole := certificates.not_asked_for(gap, mine)) is not None
            and certificates.had(hole)
        }
        found = [*subscriber.had, *passed.values()]
        for sure in (True, False):
            holes = [hole for hole in found if certificates.had(hole) is sure]
            if holes:
                yield self.make(
                    stream, "CP007", ORDERED if sure else LIKELY,
                    "{receiver_member} had {count:sample} of {sender_member} that "
                    "{count|is|are} not in this capture: its next request begins above "
                    + ("{count|it|them}, and it sent none between." if sure else
                       "{count|it|them}. Or it asked, in vain, and that is not in this capture."),
                    seqnos=[(hole.first, hole.stop) for hole in holes],
                    mark=holes[0].query.asked,
                    evidence=[(h.query.asked, f"query {h.query.text}")
                              for h in holes[:MAX_EVIDENCE]],
                    facts={"count": sum(hole.stop - hole.first for hole in holes)},
                )  # fmt: skip
        unasked = [gap for gap in gaps if Outcome.UNASKED in gap.parts and gap.first not in passed]
        if unasked:
            yield self.gap_finding(
                stream, "CP007", unasked, parts_of(unasked, Outcome.UNASKED),
                "{count:sample} of {sender_member} {count|is|are} not in this capture, and no "
                "request of {receiver_member} for {count|it|them} either, which asks for what it "
                "misses: it had {count|it|them} and the capture missed {count|it|them}, or the "
                "capture missed the request; whether {count|it was|they were} lost cannot be "
                "told.",
                claim=UNDECIDABLE,
            )  # fmt: skip

    def _discarded(
        self, stream: Stream, source: Source, mine: list[Query], *, sure: bool
    ) -> Iterator[Finding]:
        """Samples in frames that came and were thrown away; some were asked for later (ZN006)."""
        asked = certificates.asked_for(mine)
        marks = source.discarded.marks
        lacked = RangeSet(
            (sn, sn + 1)
            for sn, mark in sorted(source.refused.items())
            if sure and sn in asked and asked[sn].asked > mark
        )
        rest = _difference(source.discarded.ranges, lacked)
        for ranges, claim in ((lacked, ORDERED), (rest, Claim(Certainty.LIKELY, ORDERED.rests))):
            if ranges:
                yield self.make(
                    stream, "ZN006", claim,
                    "{count:sample} of {sender_member} arrived in frames that the receiving "
                    "transport throws away"
                    + (", and its subscriber asked for {count|it|them} later."
                       if ranges is lacked else "."),
                    seqnos=listed(ranges),
                    mark=marks[0] if marks else None,
                    evidence=[(mark, "a frame whose sn is not newer than the last")
                              for mark in marks[:MAX_EVIDENCE]],
                    facts={"count": ranges.total()},
                )  # fmt: skip

    def _document_findings(
        self, stream: Stream, source: Source, subscriber: Subscriber
    ) -> Iterator[Finding]:
        world = self.engine.world
        if world is None or not isinstance(subscriber, DocumentSubscriber):
            return
        asked = world.asked(subscriber)
        if asked.control and self.engine.role(source.sender, source.receiver) != "sender":
            counts = subscriber.counts
            first = asked.queries[0].asked if asked.queries else subscriber.first_at
            yield self.make(
                stream, "ZN023", Certainty.LIKELY,
                "The design document's machine, its cache {cache}, would have sent {queries} "
                "queries, got {recovered} of {missing} missing samples of {sender_member} back, "
                "and cost {control} control messages beside {samples:sample}.",
                mark=first,
                evidence=[(q.asked, f"query {q.key}?{q.text}")
                          for q in asked.queries[:MAX_EVIDENCE]],
                facts={
                    "cache": self._document_cache(),
                    "queries": asked.count + asked.idle,
                    "recovered": counts[Outcome.RECOVERED],
                    "missing": counts[Outcome.RECOVERED] + counts[Outcome.UNRECOVERED],
                    "control": asked.control,
                    "samples": source.live.total(),
                },
                default="cache_history" if world.settings.enabled else None,
            )  # fmt: skip
        yield from self.note(
            stream, "ZN024", asked.collided, Claim(Certainty.LIKELY, ORDERED.rests),
            "{count:sample} would have been dropped as repeats: {publishers} publishers of one "
            "session share the source id {sender_member}.",
            "a sample whose sn another publisher has used",
            publishers=len(asked.entities),
        )  # fmt: skip

    def _caches(self, source: Source, subscriber: Subscriber) -> str:
        names = sorted(
            {
                name
                for query in self._queries_of(source, subscriber)
                if query.filled
                for name in (self.engine.zid(cache) or cache for cache in query.responders)
            }
        )
        return ", ".join(names[:MAX_EVIDENCE]) or "a cache that does not name itself"

    def _missed_by_some(
        self, stream: Stream, source: Source, subscriber: Subscriber
    ) -> Iterator[Finding]:
        """Of several subscribers with one key expression, some got less than others (S28)."""
        lanes = self.engine.lanes_of(subscriber).all
        all_miss = {(miss.first, miss.stop) for miss in subscriber.misses}
        for number, lane in enumerate(lanes, 1):
            own = [miss for miss in lane.misses if (miss.first, miss.stop) not in all_miss]
            who = f" (subscriber {number} of {len(lanes)} with one key expression)"
            yield from self._missed(stream, source, subscriber, own, RangeSet(), who)

    def _missed(
        self,
        stream: Stream,
        source: Source,
        subscriber: Subscriber,
        missed: list[Miss],
        proven: RangeSet,
        who: str = "",
    ) -> Iterator[Finding]:
        """Misses, by cause; those that captured frames prove apart from the others (ZN002)."""
        between = self._between_sessions(source, subscriber)
        for cause in Cause:
            misses = [miss for miss in missed if miss.cause is cause]
            everything = RangeSet((miss.first, miss.stop) for miss in misses)
            sure = RangeSet(r for a, b in everything for r in proven.within(a, b))
            for ranges in (sure, _difference(everything, sure)):
                lost = RangeSet(r for a, b in ranges for r in between.within(a, b))
                claim = self._missed_claim(subscriber, cause, sure=ranges is sure, some=bool(sure))
                for part in (_difference(ranges, lost), lost):
                    mine = [miss for miss in misses if part.within(miss.first, miss.stop)]
                    if mine:
                        yield self._miss_finding(
                            stream, mine, part, claim, who, session_lost=part is lost
                        )

    def _missed_claim(
        self, subscriber: Subscriber, cause: Cause, *, sure: bool, some: bool
    ) -> Claim:
        """How sure misses are; ``some`` of the same cause are proven."""
        if cause is Cause.CUT:
            return UNDECIDABLE
        if sure:
            return ORDERED
        why = ASKED_FROM if some else OR_NOT_CAPTURED
        if cause in (Cause.NOBODY, Cause.LATE):
            why = ""
        return Claim(Certainty.LIKELY, _rests(subscriber.gaps), why=why)

    def _miss_finding(
        self,
        stream: Stream,
        misses: list[Miss],
        ranges: RangeSet,
        claim: Claim,
        who: str,
        *,
        session_lost: bool,
    ) -> Finding:
        """Misses of one cause: ZN022 if their subscriber had no session, else ZN002."""
        cause = misses[0].cause
        return self.make(
            stream, "ZN022" if session_lost else "ZN002", claim,
            self._missed_text(cause, who, session_lost=session_lost),
            seqnos=listed(ranges),
            mark=misses[0].due,
            evidence=[(miss.due, f"{miss.stop - miss.first} missing")
                      if cause is Cause.NOBODY else
                      (miss.due, f"a miss callback was due: {miss.stop - miss.first}")
                      for miss in misses[:MAX_EVIDENCE]],
            facts={
                "count": ranges.total(),
                "cause": str(cause),
                "callbacks": f"{len(misses)} miss callbacks"
                if len(misses) > 1 else "a miss callback",
            },
            default="query_grace_ms" if cause is Cause.NOT_ASKED else None,
            severity=Severity.INFO if cause is Cause.CUT else None,
        )  # fmt: skip

    def _between_sessions(self, source: Source, subscriber: Subscriber) -> RangeSet:
        """Samples that a subscriber which had the source before lacked when this session began."""
        if subscriber.resumed is None or subscriber.first_at is None:
            return RangeSet()
        if not certificates.nothing_before(source, subscriber.first_at):
            return RangeSet()
        return RangeSet([subscriber.resumed])

    def _missed_text(self, cause: Cause, who: str, *, session_lost: bool) -> str:
        text = (
            "{count:sample} of {sender_member} {count|was|were} missed and did not come back "
            f"({{cause}}); due: {{callbacks}}{who}."
        )
        if session_lost:
            text = text.replace(
                "{count|was|were} missed",
                "that passed while {receiver_member} had lost its session {count|was|were} missed",
            )
        if cause is Cause.NOBODY:
            text = (
                "{count:message} of {sender_member} did not come, by the numbers that ROS 2 "
                "puts into their attachments; nothing asks for them, and no callback tells of "
                "them."
            )
        if cause is Cause.CUT:
            text = text.replace("due: {callbacks}", "if so, due: {callbacks}")
            text = text.replace("did not come back", "were not seen to come back")
        if self.engine.parameters.value("rules") == "document":
            text = text.replace("due: {callbacks}", "an error is due in its log")
        if self.engine.world is not None:
            text = text.replace("did not come back", "would not have come back")
            text = text.replace("is due", "would have been due")
        return text

    def _tail(self, stream: Stream, source: Source, subscriber: Subscriber) -> Iterator[Finding]:
        if (
            subscriber.heard is None
            or subscriber.last is None
            or subscriber.heard <= subscriber.last
            or subscriber.queries
        ):
            return
        assert subscriber.heard_at is not None
        claim = Claim(
            Certainty.LIKELY, Rests((subscriber.heard_at.frame, END), ordered=True),
            why=OR_NOT_CAPTURED,
        )  # fmt: skip
        yield self.make(
            stream, "ZN003", claim,
            "A heartbeat of {sender_member} says {heard}, and nothing after {last} was handed on.",
            seqnos=[(subscriber.last + 1, subscriber.heard + 1)],
            mark=subscriber.heard_at,
            evidence=[(subscriber.heard_at, "the heartbeat")],
            facts={"heard": subscriber.heard, "last": subscriber.last},
        )  # fmt: skip

    def _counters(self, source: Source) -> list[HopCounter]:
        ways = self._by_way.get((source.sender, source.receiver), [])
        return [counter for _, counter in ways]

    def _place(
        self, source: Source, subscriber: Subscriber, gap: Gap, counters: list[HopCounter]
    ) -> str | None:
        """Where samples of a gap were lost, as this leg shows it; null where it does not (11)."""
        if not counters or not gap.parts.keys() - NO_LOSS:
            return None
        if self._between_sessions(source, subscriber).within(gap.first, gap.stop):
            return BETWEEN_SESSIONS
        if source.discarded.ranges.within(gap.first, gap.stop):
            return DISCARDED
        start, until = gap.before.at_ns if gap.before else 0, gap.revealed.at_ns
        if any(counter.gaps_between(start, until) for counter in counters):
            return ON_LINK
        if any(start <= mark.at_ns <= until for c in counters for mark in c.discarded.marks):
            return DISCARDED
        if source.live.within(gap.first, gap.stop):
            return OUT_OF_ORDER
        return BEFORE if gap.revealed_by == BY_SAMPLE else None

    def _where(
        self,
        stream: Stream,
        source: Source,
        subscriber: Subscriber,
        gaps: list[Gap],
        mine: list[Query],
    ) -> Iterator[Finding]:
        """Whether missing samples left a hole in the transport sns as well (zenoh.md 11)."""
        counters = self._counters(source)
        if not counters:
            return
        losses = [g for g in gaps if g.parts.keys() - {Outcome.REORDERED, Outcome.UNCAPTURED}]
        places = {gap.first: self._place(source, subscriber, gap, counters) for gap in losses}
        yield from self._came_back(
            stream, [gap for gap in losses if places[gap.first] == BETWEEN_SESSIONS]
        )
        losses = [gap for gap in losses if places[gap.first] != BETWEEN_SESSIONS]
        unexplained = [gap for gap in losses if places[gap.first] == BEFORE]
        if unexplained:
            at_sender = self.engine.role(source.sender, source.receiver) == "sender"
            proven = certificates.dropped(source, mine)
            for sure in (True, False):
                chosen = [
                    gap
                    for gap in unexplained
                    if (proven.within(gap.first, gap.stop) == [(gap.first, gap.stop)]) is sure
                ]
                if not chosen:
                    continue
                yield self.gap_finding(
                    stream, "ZN004", chosen, [(gap.first, gap.stop) for gap in chosen],
                    "{count:sample} of {sender_member} {count|is|are} missing while no transport "
                    "sn is: {where}.",
                    claim=ORDERED if sure else
                    Claim(Certainty.LIKELY, _rests(chosen), why=OR_NOT_CAPTURED),
                    where="dropped by the publisher's transport" if at_sender
                    else "dropped before this link",
                )  # fmt: skip
        promised = source.arrivals and not source.unblocked and not source.unreliable
        stable = not self.engine.closed and self.engine.session_starts <= 1
        if losses and promised and stable:
            yield self.gap_finding(
                stream, "ZN007", losses, [(gap.first, gap.stop) for gap in losses],
                "{count:sample} of {sender_member} {count|was|were} missing although all are "
                "reliable and "
                "Block and no session ended; the loss is {where}.",
                claim=Certainty.LIKELY,
                where="before this link" if len(unexplained) == len(losses) else "on this link",
            )  # fmt: skip

    def _came_back(self, stream: Stream, gaps: list[Gap]) -> Iterator[Finding]:
        """What passed between two sessions and a cache brought (ZN022)."""
        found = [gap for gap in gaps if Outcome.RECOVERED in gap.parts]
        if found:
            yield self.gap_finding(
                stream, "ZN022", found, parts_of(found, Outcome.RECOVERED),
                "{count:sample} of {sender_member} passed while {receiver_member} had lost its "
                "session, and came back from a cache when it had one again.",
                claim=Claim(Certainty.LIKELY, _rests(found)),
                severity=Severity.WARNING,
            )  # fmt: skip

    def _query_findings(
        self, stream: Stream, source: Source, subscriber: Subscriber
    ) -> Iterator[Finding]:
        mine = self._queries_of(source, subscriber)
        recovery = [q for q in mine if q.sort in (Sort.RECOVERY, Sort.HEARTBEAT)]
        if len(recovery) >= STORM_QUERIES and len(recovery) >= STORM_PER_GAP * max(
            subscriber.gap_count, 1
        ):
            yield self._about(
                stream, "ZN009", recovery,
                "{times:query} for {gaps:gap} of {sender_member}: each is asked for again and "
                "again." if subscriber.gap_count else
                "{times:query} for samples of {sender_member}, again and again; no gap shows here.",
                gaps=subscriber.gap_count,
            )  # fmt: skip
        empty = [
            q
            for q in mine
            if q.sort is Sort.PERIODIC and q.ended and not q.timed_out and not q.replies
        ]
        if empty:
            yield self._about(
                stream, "ZN010", empty,
                "{times:periodic query} for {sender_member} {times|was|were} answered without a "
                "sample.",
            )  # fmt: skip
        messages, samples = subscriber.quiet_control(mine)
        counters = self._counters(source)
        begun = bool(self.engine.session_starts) and all(c.known_start for c in counters)
        if messages and begun and not any(counter.lost for counter in counters):
            marks = [q.asked for q in mine if q.idle][:1] + source.heartbeats.marks[:1]
            yield self.make(
                stream, "ZN011", LIKELY,
                "{messages:control message} (queries, replies, finals, heartbeats) passed for "
                "{sender_member} while nothing was missing, beside {samples:sample}.",
                mark=min(marks, key=lambda mark: mark.at_ns, default=None),
                facts={"messages": messages, "samples": samples},
            )  # fmt: skip
        finals = self._finals(source)
        for sure in (True, False):
            late = [q for q in mine if q.timed_out and certificates.unanswered(q, finals) is sure]
            if late:
                yield self._about(
                    stream, "ZN013", late,
                    "{times:query} for {sender_member} {times|was|were} never ended: {replied} of "
                    "them had "
                    "replies.",
                    claim=Claim(rests=Rests(timed=True, ordered=True)) if sure else
                    Claim(Certainty.LIKELY, Rests((late[0].asked.frame, END), timed=True),
                          why="or its end is not in this capture"),
                    replied=sum(bool(q.replies) for q in late),
                )  # fmt: skip

    def _finals(self, source: Source) -> list[HopCounter]:
        """Counters in which finals of a source's cache come: priority Data, reliable."""
        ways = self._by_way.get((source.sender, source.receiver), [])
        return [counter for code, counter in ways if code == FINALS]

    def _about(
        self,
        stream: Stream,
        rule: str,
        queries: list[Query],
        text: str,
        *,
        claim: Claim = LIKELY,
        **facts: Any,
    ) -> Finding:
        return self.make(
            stream, rule, claim, text,
            mark=queries[0].asked,
            evidence=[(q.asked, f"query {q.text}") for q in queries[:MAX_EVIDENCE]],
            facts={"times": len(queries)} | facts,
        )  # fmt: skip

    def _query(self, query: Query) -> dict[str, Any]:
        """A row of ``seqaudit show recovery``."""
        outcome = "open at the end of the capture"
        if query.gone:
            outcome = "session ended"
        elif query.timed_out:
            outcome = "timed out" + (" after replies" if query.replies else "")
        elif query.ended is not None:
            outcome = "answered" if query.replies else "answered empty"
        return {
            "requester": self.engine.zid(query.requester) or query.requester,
            "key": query.key,
            "parameters": query.text,
            "sort": str(query.sort),
            "source": query.source,
            "first_seqno": query.first,
            "last_seqno": query.last,
            "frame": query.asked.frame,
            "at_ns": query.asked.at_ns,
            "ended_frame": None if query.ended is None or query.timed_out else query.ended.frame,
            "duration_ns": None if query.ended is None else query.ended.at_ns - query.asked.at_ns,
            "replies": query.replies,
            "reply_seqnos": inclusive(listed(query.replied)),
            "reply_bytes": query.reply_bytes,
            "discarded_replies": query.refused,
            "recovered": query.filled,
            "caches": sorted(self.engine.zid(cache) or cache for cache in query.responders),
            "evicted_seqnos": None if query.evicted is None else inclusive(listed(query.evicted)),
            "outcome": outcome,
        }

    # -- samples without numbers, transport ------------------------------------------------------

    def _unnumbered(self, found: Unnumbered) -> Iterator[Result]:
        stream = self._stream(found.sender, found.receiver, "", found.key)
        why = "samples carry no sn"
        yield self.row(
            STREAM,
            {
                "kind": "samples without SourceInfo",
                "publisher": "classic",
                "leg": self.conversation,
                "transport": self.engine.transport,
                "source": None,
                "key": found.key,
                "sender": stream.sender,
                "receiver": self.engine.zid(found.receiver),
                "conn_id": None,
                "role": self.engine.role(found.sender, found.receiver),
                "first_seqno": None,
                "last_seqno": None,
                "first_frame": found.first.frame if found.first else None,
                "last_frame": found.last.frame if found.last else None,
                "messages": found.count,
                "arrivals": found.count,
                "copies": 0,
                "stamped": found.stamped,
                "out_of_order": found.out_of_order,
                "delivered": None,
                "lost": None,
                "recovered": None,
                "unrecovered": None,
                "gaps": 0,
                "unknown": dict.fromkeys(("delivered", "lost", "recovered", "unrecovered"), why),
            },
            stream,
        )
        mark = found.first
        yield self.finding(
            self.make(
                stream, "ZN012",
                Claim(Certainty.UNDECIDABLE, why="its key is not known: these may be heartbeats")
                if found.key.startswith(UNRESOLVED) else ORDERED,
                "{count:sample} of {key} {count|carries|carry} no SourceInfo: a missing one "
                "cannot be noticed.",
                mark=mark, facts={"count": found.count, "key": found.key},
            ),
            stream,
        )  # fmt: skip

    def _hop(
        self, identity: tuple[str, str, int], counter: HopCounter, session: int
    ) -> Iterator[Result]:
        sender, receiver, code = identity
        name = f"{sender}>{receiver}|{code >> 1}|{'R' if code & 1 else 'B'}"
        stream = Stream(
            name if session == 1 else f"{name}|{session}",
            HOP_SYSTEM,
            self.engine.zid(sender) or sender,
            self.engine.zid(receiver) or receiver,
        )
        yield self.row(
            STREAM,
            {
                "kind": "transport",
                "leg": self.conversation,
                "transport": self.engine.transport,
                "session": session,
                "priority": code >> 1,
                "reliable": bool(code & 1),
                "sender": stream.sender,
                "receiver": stream.receiver,
                "conn_id": None,
                "role": self.engine.role(sender, receiver),
                "resolution_mask": counter.mask,
                "initial_seqno": counter.initial,
                "start_known": counter.known_start,
                "frames_before_capture": self.engine.before_the_capture(sender, receiver, counter),
                "first_seqno": counter.seen.first(),
                "last_seqno": counter.seen.stop() - 1,
                "first_frame": counter.first.frame if counter.first else None,
                "last_frame": counter.end.frame if counter.end else None,
                "messages": counter.seen.total(),
                "arrivals": counter.frames,
                "copies": counter.repeated,
                "network_duplicates": counter.network_duplicates,
                "delivered": None,
                "gaps": len(counter.gaps) + counter.unlisted_gaps,
                "missing": counter.lost.total(),
                "missing_seqnos": inclusive(listed(counter.lost)),
                "discarded": counter.discarded.count,
                "late": counter.late.ranges.total(),
                "skipped_after_fragments": counter.skips,
                "abandoned_messages": counter.abandoned.count,
                "lost": None,
                "recovered": None,
                "unrecovered": None,
                "unknown": {"delivered": "frames are not handed to an application"},
            },
            stream,
        )
        for gap in counter.gaps:
            yield self.row(GAP, _hop_gap(gap, counter), stream)
        at_sender = self.engine.role(sender, receiver) == "sender"
        for finding in self._hop_findings(stream, counter, at_sender=at_sender):
            yield self.finding(finding, stream)

    def _hop_findings(
        self, stream: Stream, counter: HopCounter, *, at_sender: bool
    ) -> Iterator[Finding]:
        best = Certainty.LIKELY
        if self.engine.transport == "tcp":
            why = ": over TCP that is the sender's doing, or a hole in the capture."
        elif at_sender:  # no network lies before its own interface
            best = Certainty.UNDECIDABLE
            why = " where they are sent: they were not, or this capture missed them."
        else:
            why = ": lost on the link, or not captured; zenoh does not send them again."
        if counter.lost:
            gaps = counter.gaps
            first = gaps[0].before.frame if gaps and gaps[0].before else BEGINNING
            yield self.make(
                stream, "ZN005",
                Claim(best, Rests((first, gaps[-1].revealed.frame if gaps else END))),
                "{count:frame} from {sender_member} to {receiver_member} {count|is|are} missing"
                + why,
                seqnos=listed(counter.lost),
                mark=counter.gaps[0].revealed if counter.gaps else None,
                evidence=[(gap.revealed, "the next frame that came")
                          for gap in counter.gaps[:MAX_EVIDENCE]],
                facts={"count": counter.lost.total()},
            )  # fmt: skip
        copies = counter.network_duplicates
        yield from self.times(
            stream, "ZN006", counter.discarded,
            Claim(Certainty.LIKELY, ORDERED.rests),
            "{times:frame} from {sender_member} {times|is|are} thrown away by the transport of "
            "{receiver_member}: {late} late, {repeated} repeated"
            + ("; {copies} came twice in identical datagrams, from the network or from the "
               "capturing machine, and of the latter the transport knows nothing." if copies
               else "."),
            "a frame whose sn is not newer than the last",
            late=counter.late.ranges.total(), repeated=counter.repeated, copies=copies,
        )  # fmt: skip
        yield from self.times(
            stream, "ZN015", counter.abandoned, Certainty.LIKELY,
            "{sender_member} gave up {times:fragmented message} half way.",
            "the next message begins",
        )  # fmt: skip
        yield from self.times(
            stream, "ZN016", counter.broken,
            Claim(Certainty.LIKELY, Rests((BEGINNING, END), ordered=True), why=OR_NOT_CAPTURED),
            "{times:fragmented message} of {sender_member} lost a piece and with it everything.",
            "a piece that does not follow",
        )  # fmt: skip


def _rests(gaps: Iterable[Gap]) -> Rests:
    """On nothing having come between what stands before gaps and what revealed them."""
    spans = [(gap.before.frame if gap.before else BEGINNING, gap.revealed.frame) for gap in gaps]
    first, last = (
        min((a for a, _ in spans), default=BEGINNING),
        max((b for _, b in spans), default=END),
    )
    return Rests((first, last), ordered=True)


def _touches(gap: Gap, outcome: Outcome, ranges: RangeSet) -> bool:
    return any(ranges.within(a, b) for a, b in gap.parts[outcome].ranges)


def _difference(ranges: Iterable[Range], less: Iterable[Range]) -> RangeSet:
    left = RangeSet(ranges)
    for first, stop in less:
        left.remove(first, stop)
    return left


def _hop_gap(gap: HopGap, counter: HopCounter) -> dict[str, Any]:
    late = RangeSet(counter.late.ranges).within(gap.first, gap.stop)
    missing = gap.stop - gap.first
    came = sum(b - a for a, b in late)
    outcome = "lost" if not came else "late and thrown away" if came == missing else "lost or late"
    return {
        "seqnos": [[gap.first, gap.stop - 1]],
        "count": missing,
        "outcome": outcome,
        "lost_after_frame": gap.before.frame if gap.before else None,
        "revealed_frame": gap.revealed.frame,
        "revealed_at_ns": gap.revealed.at_ns,
        "revealed_by": "a newer transport sn",
        "revealed_after_ns": between(gap.before, gap.revealed),
        "requested_frame": None,
        "requested_after_ns": None,
        "requests": 0,
        "repaired_frame": None,
        "repaired_after_ns": None,
        "delivered_frame": None,
        "delivered_after_ns": None,
    } | hop_place(outcome)


def _misses(subscriber: Subscriber) -> list[dict[str, Any]]:
    return [
        {
            "seqnos": [[miss.first, miss.stop - 1]],
            "nb": miss.stop - miss.first,
            "cause": str(miss.cause),
            "frame": miss.due.frame,
            "at_ns": miss.due.at_ns,
        }
        for miss in subscriber.misses
    ]


def _union(*sets: Iterable[tuple[int, int]]) -> RangeSet:
    union = RangeSet()
    for ranges in sets:
        for first, stop in ranges:
            union.add(first, stop)
    return union
