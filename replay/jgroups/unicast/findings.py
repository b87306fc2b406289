"""What the replayed unicast connections of a cluster say (replay/README.md 3, 5)."""

from collections.abc import Iterator
from functools import partial
from itertools import groupby, islice
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding
from seqaudit.replay.contract.passage_rows import ONE_END
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, MAX_NAMED
from seqaudit.replay.contract.results import CONNECTION, GAP, STREAM, Result
from seqaudit.replay.contract.settings import MEMBER
from seqaudit.replay.contract.worth import LIKELY, SHOWN
from seqaudit.replay.jgroups import stream_rows
from seqaudit.replay.jgroups.both_ends_findings import NEEDLESS
from seqaudit.replay.jgroups.unicast.engine import Pair, UnicastEngine
from seqaudit.replay.jgroups.unicast.receiver_findings import ReceiverFindings
from seqaudit.replay.jgroups.unicast.reporter import WOULD, would_have
from seqaudit.replay.jgroups.unicast.rule_sets import CODE
from seqaudit.replay.jgroups.unicast.rules import UNICAST
from seqaudit.replay.jgroups.unicast.sender_findings import SenderFindings
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.jgroups.unicast.summary import connection_row, role_of, stream_row
from seqaudit.replay.sequence.ranges import RangeSet

MANY_ACKS: Final = 50
FEW_MESSAGES: Final = 2

_USED: Final = (
    "rules", "xmit_interval_ms", "sync_min_interval_ms", "min_ack_interval_ms",
    "conn_expiry_timeout_ms", "conn_close_timeout_ms",
)  # fmt: skip


def results(engine: UnicastEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about one cluster's unicasts in one capture."""
    return list(_UnicastFindings(engine, capture).rows())


#: It numbers what it sends before it knows where to.
_UNSENT: Final = (
    "; or did not leave it: nothing shows that it knew the addresses of all its peers by then."
)


class _UnicastFindings(ReceiverFindings, SenderFindings):
    def rows(self) -> Iterator[Result]:
        """Streams, gaps, connections, findings, judged rules, parameters."""
        for pair, stream in self.engine.streams():
            engine = self.engine
            lacking = engine.lacks_messages(stream.receiver)
            of = partial(
                stream_row, pair, stream, engine.cluster, self.parameters, engine.vantage,
                lacking=lacking,
            )  # fmt: skip
            detail = self.settling(stream.received, of)
            yield self.row(STREAM, detail, stream)
            yield self.row(CONNECTION, connection_row(pair, stream, self.engine.cluster), stream)
            if pair.sending is not None:
                facts, capacity = pair.sending.facts_of(stream), detail.get("capacity")
                limit = None if capacity is None else capacity["value"]
                yield from self.filled(
                    "unacknowledged messages", stream.sender, limit, facts.memory.fill, stream
                )
            for gap in stream_rows.gaps_of(stream.received, stream.passing):
                for row in stream_rows.gap_rows(
                    role_of(pair), stream.system, gap, stream.received, unasked=lacking
                ):
                    yield self.row(GAP, row, stream)
            for finding in self._findings(pair, stream):
                yield self.finding(finding, stream)
        for finding in self._own_not_captured():
            yield self.finding(finding, None)
        if self.engine.pairs:
            yield from self._judged()
            yield from self.parameters_used(_USED)

    def _findings(self, pair: Pair, stream: Stream) -> Iterator[Finding]:
        yield from self._connection(pair, stream)
        if pair.receiving is not None:
            yield from self.received(pair.receiving, stream)
        elif pair.sending is not None:
            yield from self.sent(pair.sending, stream)
            yield from self.window(pair, stream)
        if pair.receiving is None:
            yield from self.passing(pair, stream)
        came = "passed" if pair.receiving is None else "came"
        yield from self.twice(stream, "UC029", came, stream)

    def _own_not_captured(self) -> Iterator[Finding]:
        """Own ACKs and SEND_FIRST_SEQNO whose numbers are left out."""
        for member, of_member in groupby(self.holes, key=lambda pair: pair[0]):
            holes = [hole for _, hole in of_member]
            stamps = RangeSet(hole.stamps for hole in holes)
            named = [f"{a}" if b - a == 1 else f"{a}-{b - 1}" for a, b in islice(stamps, MAX_NAMED)]
            more = len(stamps) - len(named)
            own = self.engine.stamps[member]
            unaddressed = own.unaddressed()
            unsent = any(unaddressed.within(hole.before.frame, hole.after.frame) for hole in holes)
            shown = not unsent and all(own.shown(hole) for hole in holes)
            yield Finding(
                "CP030", Certainty.PROVEN if shown else Certainty.LIKELY,
                "{count:ACK} or SEND_FIRST_SEQNO of {member_member} {count|is|are} not in this "
                "capture: timestamp {named}" + (_UNSENT if unsent else "."),
                system=self.default_system, frame=holes[0].after.frame, at_ns=holes[0].after.at_ns,
                evidence=[
                    Evidence(hole.after.frame, f"follows timestamp {hole.stamps[0] - 1} too late")
                    for hole in holes[:MAX_EVIDENCE]
                ],
                facts={
                    "count": stamps.total(),
                    "member_member": member,
                    "named": ", ".join(named) + (f" and {more} more" if more > 0 else ""),
                },
            )  # fmt: skip

    # -- connections -----------------------------------------------------------------------------

    def _connection(self, pair: Pair, stream: Stream) -> Iterator[Finding]:
        syncs = stream.kinds("SEND_FIRST_SEQNO")
        if syncs:
            marks = stream.syncs.marks
            text = (
                "{receiver_member} had no window for messages of {sender_member} and sent {times} "
                "SEND_FIRST_SEQNO"
            )
            facts: dict[str, object] = {"times": syncs}
            if pair.receiving is not None:
                text += "; with a minimum of {interval} ms ({origin}) between two" + WOULD
                facts |= self.sync_interval() | would_have(pair.receiving.would.row())
            sure = Certainty.PROVEN
            if stream.syncs_of_another:
                sure = Certainty.LIKELY
                text += " (for this connection or the one behind it)"
            yield self.make(
                stream, "UC012", sure, text + ".",
                mark=marks[0] if marks else None,
                evidence=[(mark, "SEND_FIRST_SEQNO") for mark in marks[:MAX_EVIDENCE]],
                facts=facts,
            )  # fmt: skip
        if stream.kinds("CLOSE"):
            yield self.make(
                stream, "UC020", Certainty.PROVEN if stream.named_again() else LIKELY,
                "{sender_member} closed connection {conn_id} to {receiver_member}.",
                mark=stream.last, facts={"conn_id": stream.conn_id},
            )  # fmt: skip
        before = self._before(pair).get(stream.key)
        if before is not None and stream.arrivals:
            named_again = all(one.named_again() for one in (before, stream))
            both = (before.first, "the connection before"), (stream.first, "this one")
            evidence = [(mark, shows) for mark, shows in both if mark is not None]
            yield self.make(
                stream, "UC022", SHOWN if named_again else LIKELY,
                "{sender_member} opened connection {conn_id} to {receiver_member}, after "
                "connection {before}.",
                mark=stream.first,
                evidence=evidence,
                facts={"conn_id": stream.conn_id, "before": before.conn_id},
            )  # fmt: skip
        acks = stream.kinds("ACK")
        if acks >= MANY_ACKS and stream.arrivals < FEW_MESSAGES * acks:
            traffic = stream.ack_traffic()
            yield self.make(
                stream, "UC037", LIKELY,
                "{receiver_member} sent {acks:ACK} ({ack_bytes} bytes) for {messages:message} of "
                "{sender_member}.",
                facts={
                    "acks": acks,
                    "ack_bytes": traffic["ack_bytes"],
                    "messages": stream.arrivals,
                },
            )  # fmt: skip

    def _before(self, pair: Pair) -> dict[str, Stream]:
        """Of each connection of a pair the one used last of those that began before it did."""
        if self._ordered is not pair:
            self._ordered, self._earlier = pair, {}
            begun = sorted(
                (stream.first, place, stream)
                for place, stream in enumerate(pair.streams.values())
                if stream.first is not None
            )
            latest: tuple[int, Stream] | None = None
            for _, together in groupby(begun, key=lambda one: one[0]):
                found = list(together)
                if latest is not None:
                    self._earlier |= {stream.key: latest[1] for _, _, stream in found}
                for _, place, stream in found:
                    if stream.conn_id is not None and (latest is None or latest[0] < place):
                        latest = place, stream
        return self._earlier

    # -- judged rules ------------------------------------------------------------------------------

    def _judged(self) -> Iterator[Result]:
        """Which rules were judged here; a clean capture says what was checked (replay/README.md
        5)."""
        roles = {role_of(pair) for pair in self.engine.pairs.values()}
        member = self.engine.vantage.kind == MEMBER
        where = f"the capture was taken {self.engine.vantage.kind}, at no member"
        for code in sorted(rule.code for rule in UNICAST):
            why: str | None = None
            if code == NEEDLESS:
                if member and self.engine.ends is not None:
                    continue  # judged when all captures are known
                why = ONE_END if member else where
            elif code in _AT_RECEIVER and "receiver" not in roles:
                why = "no unicast stream is received here" if member else where
            elif code in _AT_SENDER and "sender" not in roles:
                why = "no unicast stream is sent here" if member else where
            elif code in _AT_MEMBER and not member:
                why = where
            elif code == "UC035" and not self.parameters.is_given("xmit_interval_ms"):
                why = "unicast.xmit_interval_ms is not given"
            elif code in ("UC025", "UC040") and self.parameters.value("capacity") is None:
                why = "unicast.capacity is not given"
            elif code == "UC036" and self.parameters.value("max_xmit_req_size") is None:
                why = "unicast.max_xmit_req_size is not given"
            elif code in ("UC007", "UC008", "UC009") and not self.release.timestamps:
                why = "this release has no timestamps"
            elif code == "UC042" and self.parameters.value("rules") == CODE:
                why = "the shipped code has no minimum time between ACKs"
            elif code == "UC039" and self.release.cached and self.default_system == "unicast4":
                why = "UNICAST4 keeps messages that come before the window"
            yield self.judged(code, why)


_AT_RECEIVER: Final = frozenset(
    {"UC001", "UC002", "UC006", "UC018", "UC021", "UC023", "UC032", "UC033", "UC034", "UC035",
     "UC036", "UC039", "UC040", "UC042", "UC045", "UC046", "UC047"}
)  # fmt: skip
_AT_SENDER: Final = frozenset(
    {"UC004", "UC007", "UC008", "UC009", "UC016", "UC017", "UC019", "UC024", "UC025", "UC026",
     "UC028", "UC031", "UC038", "UC041"}
)  # fmt: skip
_AT_MEMBER: Final = frozenset(
    {"UC003", "UC005", "UC010", "UC013", "UC014", "UC015", "UC027", "UC044"}
)
