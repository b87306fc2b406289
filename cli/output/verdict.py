"""The verdict: a report in one or two lines, which stay on the screen whatever is above them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from seqaudit.cli.output.outcomes import SEVERITIES
from seqaudit.cli.output.times import duration
from seqaudit.replay.contract.report_rows import Report, StreamRow, more_lost, unproven_lost

#: What the numbers of a stream count, where it is not messages: links that carry messages of
#: others have losses of their own.
UNITS: Final = {"pgm": "packet", "zenoh-hop": "transport frame", "feed": "number"}

#: Of these units no frame shows whether the path or the capture lost one: nobody answers for them.
_NOT_ANSWERED: Final = frozenset({UNITS["feed"]})


def verdict(report: Report) -> list[str]:
    """One line that says how it went, one that says what could not be told, if anything, and one
    of what stands in several captures."""
    streams = [stream for stream in report["streams"] if stream.get("kind") != "line"]
    captures = plural(len(report["captures"]), "capture")
    pairs = _pairs(report)
    if not streams and not pairs:
        lost = "no stream is shown" if _streams(report) else "no numbered stream"
        return [f"{captures}: {lost}; {_findings(report)}."]
    what = plural(len(streams), "stream") if streams else f"{plural(len(pairs), 'pair')} of lines"
    lines = [f"{captures}, {what}: {'; '.join([*_losses(report, streams), _findings(report)])}."]
    untold = sum("lost" in (stream.get("unknown") or {}) for stream in streams)
    if untold:
        of_all = "" if len(streams) == 1 else f" of {len(streams):,}"
        lines.append(
            f"What was lost cannot be told in {untold:,}{of_all} "
            f"{'stream' if len(streams) == 1 else 'streams'}; seqaudit show streams says why."
        )
    again = sum("again" in stream for stream in streams)
    if again:
        is_, counts = ("is", "counts") if again == 1 else ("are", "count")
        lines.append(
            f"{plural(again, 'stream')} {is_} in another capture of the same place as well, "
            f"and {counts} once."
        )
    return lines


def _pairs(report: Report) -> Sequence[Mapping[str, Any]]:
    """Lines that carry the same, two by two."""
    pairs: Sequence[Mapping[str, Any]] = report.get("tables", {}).get("feed", {}).get("lines", ())
    return pairs


def _streams(report: Report) -> int:
    """How many there are, whatever is shown of them."""
    return int(report.get("totals", {}).get("streams", 0))


def _losses(report: Report, streams: Sequence[StreamRow]) -> list[str]:
    """What was lost, a clause a unit; of two lines that carry the same, what both lost counts."""
    by_unit: dict[str, list[int]] = {}
    slowest: dict[str, int] = {}
    unproven: Counter[str] = Counter()
    untold, more = set(), set()
    for stream in streams:
        lost, times = stream.get("lost"), stream.get("recovery_ns")
        unit = UNITS.get(stream["system"], "message")
        if "again" in stream:
            if stream["again"]["beyond"] and lost:
                more.add(unit)
            continue
        gone = stream.get("unrecovered") or 0
        if lost is None:
            untold.add(unit)
            lost = gone + (stream.get("recovered") or 0)
            if not lost:
                continue
            more.add(unit)  # its figure is null for the messages beside these
        elif more_lost(stream) != 0:  # a lower bound
            (more if lost else untold).add(unit)
        counts = by_unit.setdefault(unit, [0, 0])
        counts[0] += lost
        counts[1] += gone
        unproven[unit] += unproven_lost(stream)
        if times and times["max"] is not None:
            slowest[unit] = max(times["max"], slowest.get(unit, 0))
    pairs = _pairs(report)
    for pair in pairs:
        counts = by_unit.setdefault(UNITS["feed"], [0, 0])
        counts[0] += pair["recovered"] + pair["lost_on_both"]
        counts[1] += pair["lost_on_both"]
    early: Counter[str] = Counter()
    for row in [*streams, *pairs]:
        if "again" not in row:
            open_ = row.get("open_at_end", row.get("open"))  # of JGroups and feeds, of others
            early[UNITS.get(row.get("system", "feed"), "message")] += open_ or 0
    parts = [
        _loss(unit, lost, gone, slowest.get(unit), unproven[unit], at_least=unit in more)
        + ("" if lost or unit not in untold else " where that can be told")
        for unit, (lost, gone) in by_unit.items()
    ]
    return parts + [
        f"{plural(count, unit)} missing at the end, too early to call lost"
        for unit, count in early.items()
        if count
    ]


def _loss(
    unit: str, lost: int, gone: int, slowest: int | None, unproven: int, *, at_least: bool
) -> str:
    """
    Args:
        unproven: how many of them were lost, or not captured.
    """
    if not lost:
        return f"no {unit} lost"
    back = lost - gone
    if at_least and not (back and gone):
        how = f"{back:,} recovered" if back else f"{gone:,} not recovered"
    elif not back:
        how = "not recovered" if lost == 1 else "none recovered"
    elif not gone:
        how = "recovered" if lost == 1 else "all recovered"
    else:
        how = f"{back:,} recovered, {gone:,} not"
    took = "" if slowest is None or not back else f", slowest after {duration(slowest)}"
    proven = f" ({lost - unproven or 'none'} proven lost)" if unproven else ""
    was = "lost or not captured" if unproven or unit in _NOT_ANSWERED else "lost"
    return f"{'at least ' * at_least}{plural(lost, unit)} {was}{proven}, {how}{took}"


def _findings(report: Report) -> str:
    counts = dict.fromkeys(SEVERITIES, 0)
    for finding in report["findings"]:
        counts[finding["severity"]] += 1
    parts = [
        plural(counts[severity], severity) for severity in ("error", "warning") if counts[severity]
    ]
    return ", ".join(parts) or "no errors or warnings"


def plural(count: int, word: str) -> str:
    """``1 stream``, ``2,000 streams``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
