"""Streams of a feed, and pairs of lines, as the report has them (replay/README.md 5)."""

from typing import Final

from seqaudit.replay.contract.open_end import unless_open
from seqaudit.replay.contract.report_rows import directed
from seqaudit.replay.feeds.engine import FeedEngine
from seqaudit.replay.feeds.evidence import holes_of, open_until_ns
from seqaudit.replay.feeds.lines import LINES, LinePair
from seqaudit.replay.feeds.report_rows import FeedStreamRow, LineRow, PairRow
from seqaudit.replay.feeds.requests import Requests
from seqaudit.replay.feeds.stream import FeedStream
from seqaudit.replay.sequence.gaps import Outcome
from seqaudit.replay.sequence.ranges import RangeSet, inclusive

#: Of streams that nobody asks for anything.
_NO_REQUESTS: Final = Requests()


def summary(engine: FeedEngine, stream: FeedStream, requests: Requests | None) -> FeedStreamRow:
    """A stream in the report (replay/README.md 5), and what of it was open at the end."""
    row, open_ = _summary(engine, stream, requests), holes_of(stream.open_at_end)
    lost = stream.counts[Outcome.UNRECOVERED] - stream.open_count
    until_ns = open_until_ns(stream.open_at_end, stream.settings.late_ns)
    return unless_open(
        row, open_, stream.open_count, until_ns,
        lost=stream.counts[Outcome.RECOVERED] + lost, unrecovered=lost,
        unrecovered_seqnos=inclusive(r for a, b in stream.unrecovered for r in open_.missing(a, b)),
    )  # fmt: skip


def _summary(engine: FeedEngine, stream: FeedStream, requests: Requests | None) -> FeedStreamRow:
    counts = stream.counts
    recovered, lost = counts[Outcome.RECOVERED], counts[Outcome.UNRECOVERED]
    wanted = requests or _NO_REQUESTS
    last = stream.last
    jitter = engine.jitter.get(stream.key)
    return {
        "kind": "feed" if stream.sink is None else "line",
        "feed": engine.feed_name,
        "sender": stream.sender,
        "senders": sorted(stream.senders),
        "destination": stream.destination,
        "receiver": None,
        "conn_id": None,
        "declares": sorted(engine.declares),
        "number_bits": stream.bits,
        "first_seqno": stream.lowest,
        "start_known": _starts_here(engine, stream),
        "last_seqno": stream.highest,
        "first_frame": stream.first.frame if stream.first else None,
        "last_frame": last.frame if last else None,
        "first_ns": stream.first.at_ns if stream.first else None,
        "last_ns": last.at_ns if last else None,
        "messages": stream.messages,
        "arrivals": stream.arrivals,
        "copies": stream.arrivals - stream.messages,
        "network_duplicates": stream.duplicates.count,
        "bytes": stream.bytes,
        "gaps": stream.gap_count,
        "unlisted_gaps": max(stream.gap_count - len(stream.gaps), 0),
        "reordered": counts[Outcome.REORDERED],
        "recovered": recovered,
        "recovered_or_late": counts[Outcome.EITHER],
        "unrecovered": lost,
        "unrecovered_seqnos": inclusive(stream.unrecovered),
        "lost": recovered + lost,
        "open_at_end": 0,
        "open_at_end_seqnos": [],
        "open_until_ns": None,
        "reorder_depth": stream.deepest,
        "late_ns": stream.late.percentiles(),
        "recovery_ns": stream.recovery.percentiles(),
        "answer_ns": wanted.answered.percentiles(),
        "requests": directed("passed", wanted.requests),
        "requested_seqnos": directed("passed", wanted.numbers),
        "requests_repeated": wanted.repeated,
        "peers": {
            source: {"requests": asked, "requested_seqnos": numbers}
            for source, (asked, numbers) in sorted(wanted.by_source.items())
        },
        "retransmissions": {
            "useful": stream.useful,
            "needless": stream.needless.count,
            "undecidable": stream.undecidable,
        },
        "jitter_ns": None if jitter is None else jitter.told(),
        "odd_counts": stream.odd_counts if engine.blocks else None,
        "resets": sum(restart.declared for restart in stream.restarts),
        "restarts": sum(restart.silent for restart in stream.restarts),
        "wraps": stream.wraps,
        "ended": None if stream.ended is None else stream.ended[0],
        "ended_frame": None if stream.ended is None else stream.ended[1].frame,
        "silences": len(stream.pauses) + stream.unlisted_pauses,
    }


def _starts_here(engine: FeedEngine, stream: FeedStream) -> bool | None:
    """Whether a stream begins in the capture; null where nobody can tell: of what a server sends to
    one host some may be answers."""
    if engine.first is None or stream.lowest is None or engine.is_aside(stream):
        return None
    return stream.lowest <= engine.first


def pair_summary(engine: FeedEngine, pair: LinePair, requests: Requests | None) -> PairRow:
    """Two lines in the report, a row of the table "lines", and what of them was open at the end."""
    return unless_open(
        _pair_summary(engine, pair, requests), holes_of(pair.young), pair.young_count,
        open_until_ns(pair.young, engine.settings.late_ns),
        lost_on_both=pair.lost, lost_on_both_seqnos=inclusive(pair.lost_ranges),
    )  # fmt: skip


def _pair_summary(engine: FeedEngine, pair: LinePair, requests: Requests | None) -> PairRow:
    leads = pair.leads
    line_a, line_b = (_line(pair, place, line) for place, line in enumerate(LINES))
    return {
        "id": pair.key,
        "feed": engine.feed_name,
        "messages": pair.messages,
        "compared": pair.compared,
        "lost_on_both": pair.lost + pair.young_count,
        "lost_on_both_seqnos": inclusive(RangeSet((*pair.lost_ranges, *holes_of(pair.young)))),
        "open_at_end": 0,
        "open_at_end_seqnos": [],
        "open_until_ns": None,
        "recovered": pair.recovered.count,
        "repairs_needless": pair.needless,
        "requests": 0 if requests is None else requests.requests,
        "measured": leads.measured,
        "together": leads.together,
        "numberings_of_one_line": pair.disagree,
        "line_a": line_a,
        "line_b": line_b,
    }


def _line(pair: LinePair, place: int, line: str) -> LineRow:
    stream = pair.streams.get(line)
    return {
        "destination": None if stream is None else stream.destination,
        "messages": None if stream is None else stream.messages,
        "lost_only_here": pair.lost_only[line].count,
        "lost_only_here_seqnos": inclusive(pair.lost_only[line].ranges),
        "first": pair.leads.first[place],
        "lead_ns": pair.leads.lead[place].percentiles(),
    }
