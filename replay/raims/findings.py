"""What replayed raims traffic says: streams, tables, findings (replay/README.md 5; raims.md 9 to
11)."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.contract.results import GAP, STREAM, Result
from seqaudit.replay.raims import gaps, stream_rows, table_rows
from seqaudit.replay.raims.engine import RaimsEngine
from seqaudit.replay.raims.judges import daemons, frames, joins, losses, notices
from seqaudit.replay.raims.reporting import NO_OBSERVER, About, RaimsReporter
from seqaudit.replay.raims.rules import OF_CLIENTS, RULES

_PARAMETERS: Final = (
    "rules", "release",
    "pub_window_size", "pub_window_count", "pub_window_time_ms", "sub_window_size",
    "sub_window_count", "sub_window_time_ms", "heartbeat_ms", "pub_window_autoscale",
)  # fmt: skip
_NEEDS_OBSERVER: Final = frozenset({"RA001", "RA002", "RA003", "RA005", "RA008", "RA009",
                                    "RA010", "RA012", "RA027", "RA028"})  # fmt: skip


def results(engine: RaimsEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about raims in one capture; nothing where there is none."""
    if not engine.messages and not engine.clients.messages:
        return []
    return list(_rows(RaimsReporter(engine, capture)))


def _rows(report: RaimsReporter) -> Iterator[Result]:
    engine = report.engine
    yield from table_rows.clients(report)
    if not engine.messages:
        return
    joins.contradictions(report)
    yield from _streams(report)
    for theme in (daemons, notices, joins):
        for finding in theme.findings(report):
            yield report.finding(finding, None)
    yield from table_rows.tables(report)
    for rule in RULES:
        if rule.code not in OF_CLIENTS:
            missing = not report.known and rule.code in _NEEDS_OBSERVER
            yield report.judged(rule.code, NO_OBSERVER if missing else None)
    for name in _PARAMETERS:
        value = engine.settings.in_force(name)
        yield report.parameter(name, value, engine.parameters.origin(name))


def _streams(report: RaimsReporter) -> Iterator[Result]:
    """What the observer sent, then what each of its starts got, with what is said of each."""
    engine = report.engine
    for (publisher, subject), stream in sorted(engine.sending.streams.items()):
        about = About(f"{publisher}|{subject}", publisher)
        yield report.row(STREAM, stream_rows.summary(report, stream, None), about)
        for finding in frames.findings(report, stream, about):
            yield report.finding(finding, about)
    for number, observer in enumerate(engine.observers):
        report.observer = observer
        start = f"|{number + 1}" if number else ""  # what a later start gets is another stream
        for (publisher, subject), stream in sorted(observer.streams.items()):
            about = About(f"{publisher}|{subject}{start}", publisher)
            yield report.row(STREAM, stream_rows.summary(report, stream, observer), about)
            for gap in gaps.rows(report, stream):
                yield report.row(GAP, gap, about)
            for theme in (frames, losses):
                for finding in theme.findings(report, stream, about):
                    yield report.finding(finding, about)
