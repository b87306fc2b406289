"""The row of one publisher's stream in the report."""

from itertools import pairwise
from typing import Final

from seqaudit.replay.contract.report_rows import NOT_VISIBLE, receipt_unknown
from seqaudit.replay.contract.reporter import MAX_RANGES
from seqaudit.replay.raims import gaps
from seqaudit.replay.raims.observer import Observer
from seqaudit.replay.raims.report_rows import RaimsStreamRow
from seqaudit.replay.raims.reporting import NO_OBSERVER, RaimsReporter
from seqaudit.replay.raims.seqno import shown
from seqaudit.replay.raims.streams import RaimsStream
from seqaudit.replay.sequence.ranges import inclusive

_HAD: Final = (
    "beside messages that the daemon tells it lost others are not in this capture, which it had or "
    "may have had"
)


def summary(
    report: RaimsReporter, stream: RaimsStream, observer: Observer | None
) -> RaimsStreamRow:
    """One stream; of what the observer sent, where it is null."""
    truth = stream.truth
    remembered, forgotten_ns = _remembered(report, stream)
    delivered = [[a, max(a, b - 1)] for a, b in stream.delivered[:MAX_RANGES]]
    unknown = _unknown(report, stream, observer)
    handed, counted = "delivered" not in unknown, "lost" not in unknown
    replayed = counted and "counted_loss" not in unknown
    lower, upper = bounds(stream)
    return {
        "role": "sender" if observer is None else "receiver" if report.known else "between",
        "sender": stream.publisher,
        "receiver": None if observer is None else observer.bridge,
        "conn_id": None,
        "subject": stream.subject,
        "numbering": "per publisher and path" if stream.glsno else "per subject",
        "first_seqno": stream.first_seqno,
        "first": _told(stream, stream.first_seqno),
        "last_seqno": _last(stream),
        "last": _told(stream, _last(stream)),
        "first_frame": stream.first.frame if stream.first else None,
        "last_frame": stream.last.frame if stream.last else None,
        "first_ns": stream.first.at_ns if stream.first else None,
        "last_ns": stream.last.at_ns if stream.last else None,
        "messages": stream.seen.total() + stream.zero,
        "arrivals": stream.arrivals,
        "copies": stream.copies,
        "gaps": gaps.count(stream) if observer is not None and report.known else 0,
        "unlisted_gaps": truth.unlisted,
        "network_duplicates": stream.network_duplicates,
        "bytes": stream.bytes,
        "zero_seqnos": stream.zero,
        "time_frames": [] if stream.glsno else stream.frames(),
        "begins": [
            {
                "seqno": begin.seqno,
                "shown": shown(begin.seqno),
                "chain": begin.chain,
                "why": str(begin.why),
                "forgotten_ns": begin.forgotten_ns,
                "frame": begin.mark.frame,
            }
            for begin in stream.begins[:MAX_RANGES]
        ],
        "delivered": delivered if handed else None,
        "delivered_by_subject": dict(sorted(stream.by_subject.items())) if handed else None,
        "arrivals_by_subject": {s: r.total() for s, r in sorted(stream.came.items())},
        "numbers_by_subject": {
            s: inclusive(list(r)[:MAX_RANGES]) for s, r in sorted(stream.came.items())
        },
        "lost_by_subject": _lost_by_subject(stream) if counted else None,
        "reordered": 0,
        "recovered": 0 if counted else None,
        "unrecovered": lower if counted else None,
        "lost": lower if counted else None,
        "lost_upper": upper if counted else None,
        "losses": [loss.row() for loss in truth.losses],
        "counted_loss": stream.counted if replayed else None,
        "false_loss": stream.false_loss if replayed else None,
        "rows": dict(sorted(stream.rows.items())) if handed else None,
        "remembered": remembered,
        "forgotten_ns": forgotten_ns,
        "unwanted": stream.unwanted if handed else None,
        "ignored": stream.ignored if handed else None,
        "unknown": unknown,
    }


def _unknown(
    report: RaimsReporter, stream: RaimsStream, observer: Observer | None
) -> dict[str, str]:
    """What of a stream cannot be told, and why."""
    if observer is None:
        return receipt_unknown(NOT_VISIBLE)
    if not report.known:
        return receipt_unknown(NO_OBSERVER)
    if doubt := report.doubt(stream, observer):
        return receipt_unknown(doubt.why)
    if why := report.uncounted(stream):
        return dict.fromkeys(("delivered", "counted_loss", "false_loss"), why)
    return {"delivered": _HAD} if any(x.leaves_others for x in stream.truth.losses) else {}


def _remembered(report: RaimsReporter, stream: RaimsStream) -> tuple[bool | None, int | None]:
    """Does its publisher still know the subject, and when did it forget it; null where its window
    is not replayed."""
    window = report.engine.publishers.get(stream.publisher)
    if window is None or stream.glsno:
        return None, None
    known = window.rotation.holds(stream.subject)
    forgotten = None if known else window.rotation.forgotten.get(stream.subject)
    return known, forgotten


def bounds(stream: RaimsStream) -> tuple[int, int | None]:
    """The least and the most of a stream that was lost, as far as it can be told."""
    if not stream.glsno:
        return stream.truth.lower, stream.truth.upper
    lost = sum(gap.stop - gap.first for gap in stream.gaps if gap.missing.count)
    return 0 if stream.elsewhere else lost, lost


def _lost_by_subject(stream: RaimsStream) -> dict[str, list[int]]:
    """Missing GLSNO numbers are of any subject: from none to all, until another capture tells."""
    if not stream.glsno:
        return {}
    missing = sum(b[0] - a[1] for a, b in pairwise(stream.seen))
    return {subject: [0, missing] for subject in sorted(stream.came)}


def _last(stream: RaimsStream) -> int | None:
    if not stream.seen:
        return stream.first_seqno
    high = stream.seen.stop() - 1
    return high - (1 << 64) if high >= 1 << 63 else high


def _told(stream: RaimsStream, seqno: int | None) -> str | None:
    if seqno is None:
        return None
    return f"#{seqno}" if stream.glsno else shown(seqno)
