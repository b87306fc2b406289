"""What a replayed zenoh session says: streams, gaps, queries, findings (replay/README.md 5)."""

from collections.abc import Iterator
from typing import Final

from seqaudit.decoders.contract.events import NO_CONVERSATION
from seqaudit.replay.contract.finding import Finding
from seqaudit.replay.contract.results import ACCOUNT, GAP, QUERY, STREAM, Result
from seqaudit.replay.zenoh import stream_rows
from seqaudit.replay.zenoh.engine import ZenohEngine
from seqaudit.replay.zenoh.hops import HopCounter
from seqaudit.replay.zenoh.judges import document, frames, losses, places, queries, samples
from seqaudit.replay.zenoh.legs import LINK_RULES
from seqaudit.replay.zenoh.recognition import Recognition
from seqaudit.replay.zenoh.reporting import SYSTEM, ZenohReporter, ZenohSubject
from seqaudit.replay.zenoh.rules import RULES
from seqaudit.replay.zenoh.sources import Source, Unnumbered
from seqaudit.replay.zenoh.subscriber import Subscriber

PARAMETERS: Final = (
    "rules", "cache_depth", "query_grace_ms", "query_timeout_ms", "retention_ms",
)  # fmt: skip
DOCUMENT_PARAMETERS: Final = (
    "cache_origin", "cache_enabled", "cache_history", "periodic_query_ms", "history_query",
)  # fmt: skip
#: Rules about the design document's machine on today's traffic.
DOCUMENT_RULES: Final = frozenset({"ZN023", "ZN024"})
#: Rules that need several legs of a source (``replay.zenoh.legs`` judges them), and why not
#: without.
ELSEWHERE: Final = dict.fromkeys(LINK_RULES, "needs captures of two places") | {
    "ZN022": "needs two sessions of one node in turn",
    "ZN026": "needs two sessions of one node in turn",
}


def results(engine: ZenohEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about one session in one capture."""
    if not engine.recognition.shown:
        return list(_given_back(engine.recognition, capture))
    return list(_rows(ZenohReporter(engine, capture)))


def _rows(report: ZenohReporter) -> Iterator[Result]:
    engine = report.engine
    for _, source in sorted(engine.sources.all.items(), key=lambda item: item[0]):
        yield from _source(report, source)
    for _, found in sorted(engine.unnumbered.all.items(), key=lambda item: item[0]):
        yield from _unnumbered(report, found)
    sessions: dict[tuple[str, str, int], int] = {}
    for identity, counter in (
        *engine.link.retired,
        *sorted(engine.link.counters.items(), key=lambda i: i[0]),
    ):
        if counter.frames:
            sessions[identity] = sessions.get(identity, 0) + 1
            yield from _hop(report, identity, counter, sessions[identity])
    for query in report.all_queries():
        yield report.row(QUERY, stream_rows.query_row(report, query))
    yield from queries.histories(report)
    if engine.declared.keys.unresolved:
        yield report.finding(samples.unknown_keys(report), None)
    yield from _accounts(report)
    for rule in RULES:
        why = ELSEWHERE.get(rule.code)
        if rule.code in DOCUMENT_RULES and engine.world is None:
            why = "the shipped code's rules are replayed"
        yield report.judged(rule.code, why)
    yield from report.parameters_used(PARAMETERS)
    if engine.world is not None:
        yield from report.parameters_used(DOCUMENT_PARAMETERS)


def _given_back(recognition: Recognition, capture: int) -> Iterator[Result]:
    """What was claimed because of the port alone, and is of others."""
    for piece, claimed in sorted(recognition.claimed.items()):
        whole = claimed.batches - claimed.cut
        detail = {
            "piece": piece,
            "frames": 0,
            "frames_by": {"decoded": -whole, "truncated": -claimed.cut, "other": claimed.batches},
            "messages_by": {SYSTEM: {word: -count for word, count in claimed.messages.items()}},
            "sureness": {"certain": -whole},
            "refused_at": dict(claimed.places),
        }
        yield Result(capture, ACCOUNT, NO_CONVERSATION, "capture", detail)


def _accounts(report: ZenohReporter) -> Iterator[Result]:
    """Frames that might have been zenoh and are; messages that were fragmented."""
    engine = report.engine
    doubted = engine.recognition
    pieces = doubted.frames.keys() | engine.whole.keys() | doubted.messages.keys()
    for piece in sorted(pieces | engine.cut_frames.keys()):
        frames, cut = doubted.frames[piece], engine.cut_frames[piece]
        cut_off = {"truncated": cut} if cut else {}
        messages = dict(doubted.messages.get(piece, {}))
        for word, count in engine.whole.get(piece, {}).items():
            messages[word] = messages.get(word, 0) + count
        detail = {
            "piece": piece,
            "frames": 0,
            "frames_by": {"decoded": frames, "other": -frames - cut} | cut_off,
            "messages_by": {SYSTEM: messages},
            "sureness": {"by its session": frames} if frames else {},
        }
        yield Result(report.capture, ACCOUNT, NO_CONVERSATION, "capture", detail)


def _source(report: ZenohReporter, source: Source) -> Iterator[Result]:
    machines = report.machines(source)
    if not source.arrivals and not source.replies and not source.heartbeats:
        return
    if not machines:
        stream = report.stream(source.sender, source.receiver, source.source, None)
        yield report.row(STREAM, stream_rows.summary(report, source, None), stream)
    for subscriber in machines:
        stream = report.stream(source.sender, source.receiver, source.source, subscriber.subject)
        if subscriber.life.number > 1:
            stream.key += f"|{subscriber.life.number}"
        yield report.row(STREAM, stream_rows.summary(report, source, subscriber), stream)
        counters = report.counters(source)
        for gap in sorted(subscriber.gaps, key=lambda gap: gap.first):
            where = report.place(source, subscriber, gap, counters)
            for row in gap.rows():
                told = stream_rows.gap_row(report, subscriber, gap, row, where)
                stream_rows.tell(report, source, subscriber, gap, told)
                yield report.row(GAP, told, stream)
        for finding in _findings(report, stream, source, subscriber):
            yield report.finding(finding, stream)


def _findings(
    report: ZenohReporter, stream: ZenohSubject, source: Source, subscriber: Subscriber
) -> Iterator[Finding]:
    about = stream, source, subscriber
    for theme in (losses, document, places, queries):
        if theme in (losses, places) and subscriber.asking.left:
            continue  # nobody that lives is known to have missed anything
        yield from theme.findings(report, *about)
    if report.engine.link.role(source.sender, source.receiver) != "sender":
        yield from samples.repeated(report, stream, subscriber)


def _hop(
    report: ZenohReporter, identity: tuple[str, str, int], counter: HopCounter, session: int
) -> Iterator[Result]:
    """A transport counter; of a later session of the same ends its number is in the key."""
    stream = report.hop_stream(identity, session)
    role = report.engine.link.role(identity[0], identity[1])
    yield report.row(STREAM, stream_rows.hop(report, stream, identity, counter, session), stream)
    for gap in counter.gaps:
        yield report.row(GAP, stream_rows.hop_gap(gap, counter), stream)
    for finding in frames.findings(report, stream, counter, at_sender=role == "sender"):
        yield report.finding(finding, stream)


def _unnumbered(report: ZenohReporter, found: Unnumbered) -> Iterator[Result]:
    stream = report.stream(found.sender, found.receiver, "", found.key)
    yield report.row(STREAM, stream_rows.unnumbered(report, stream, found), stream)
    yield report.finding(samples.without_numbers(report, stream, found), stream)
