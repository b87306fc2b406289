"""The report as tables (replay/README.md 5, cli/README.md 2): values in, renderables out; nothing
is printed here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, cast

from rich.console import Group, RenderableType
from rich.text import Text

from seqaudit.cli.output.cells import (
    capture_name,
    count,
    counted,
    feed_stream,
    frame,
    frames_of,
    hop_lane,
    sentence,
    seqno_ranges,
    subject_of,
    without_day,
)
from seqaudit.cli.output.listing import Column, Field, listing
from seqaudit.cli.output.outcomes import SEVERITIES
from seqaudit.cli.output.several import (
    captures_by_worst,
    gravest_captures_first,
    numbers,
    rows_of,
    with_parts,
)
from seqaudit.cli.output.sorting import REPORT, in_order
from seqaudit.cli.output.tables.findings import render_findings
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import TimeStyle, duration, time_formatter
from seqaudit.cli.output.verdict import plural, verdict
from seqaudit.replay.contract.capture_rows import CaptureRow, VantageRow
from seqaudit.replay.contract.report_rows import (
    BothEndsRow,
    ConnectionRow,
    Directions,
    PassageRow,
    Report,
    StateRow,
    StreamRow,
)

_NUMERIC: Final = "right"


#: Figures that one reason names.
_FIGURES: Final = 4

#: States of a connection shown in one cell.
STATES_SHOWN: Final = 5


def render_audit(
    report: Report, style: TimeStyle, limit: int, *, everything: bool = False
) -> list[RenderableType]:
    """What ``seqaudit audit`` shows: the verdict, the worst first, and the verdict once more.

    Args:
        limit: rows a table, 0 for all; where there are more captures, those with the gravest
            findings come first.
        everything: connections, gaps and rules as well, which ``seqaudit show`` has one by one.
    """
    verdict_lines = [Text(safe(line), style="bold") for line in verdict(report)]
    return [
        *verdict_lines,
        Text(""),
        render_findings(report, style, limit),
        *render_tables(report, style, limit, everything=everything),
        render_rules(report) if everything else Text(_not_shown(report)),
        Text(""),
        *verdict_lines,
    ]


def render_tables(
    report: Report, style: TimeStyle, limit: int, *, everything: bool = True
) -> list[RenderableType]:
    """The tables, what was lost first."""
    report = gravest_captures_first(report, limit)
    connections = everything and report["connections"]
    return [
        render_streams(report, limit),
        *_lines(report, limit),
        *([render_both_ends(report, limit)] if report["both_ends"] else []),
        *(_gaps(report, limit) if everything else []),
        *([render_connections(report, limit)] if connections else []),
        render_captures(report, style, limit),
    ]


def render_part(
    name: str, report: Report, style: TimeStyle, limit: int, order: str = REPORT
) -> list[RenderableType]:
    """What ``seqaudit show NAME`` shows.

    Args:
        order: see ``sorting.orders``.
    """
    report = gravest_captures_first(report, limit)
    if order != REPORT:
        report = with_parts(report, {name: in_order(name, rows_of(report, name), order)})
    if name == "streams":
        return [render_streams(report, limit), *_lines(report, limit), *_untold(report)]
    if name == "findings":
        return [render_findings(report, style, limit)]
    if name == "captures":
        return [render_captures(report, style, limit)]
    if name == "rules":
        return [render_rules(report)]
    if name == "gaps":
        return _gaps(report, limit)
    if not report["connections"]:
        return [sentence("Connections", f"no connections in {frames_of(report)}")]
    return [render_connections(report, limit)]


def numbered(report: Report, part: str) -> Report:
    """Gaps or findings with the numbers that --gap and --finding take, whatever is shown of them
    and in which order."""
    if part not in ("gaps", "findings"):
        return report
    numbers_of: Mapping[int, int] = {}
    if part == "findings":
        ranks = [SEVERITIES.index(finding["severity"]) for finding in report["findings"]]
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        numbers_of = {index: number for number, index in enumerate(order, 1)}
    rows = enumerate(rows_of(report, part))
    listed = [{**row, "number": numbers_of.get(index, index + 1)} for index, row in rows]
    return with_parts(report, {part: listed})


def _untold(report: Report) -> list[RenderableType]:
    """Why figures cannot be told: a line a reason, which figures, of how many streams."""
    reasons: dict[tuple[str, str], list[int]] = {}
    for stream in report["streams"]:
        figures: dict[str, list[str]] = {}
        for figure, why in (stream.get("unknown") or {}).items():
            figures.setdefault(str(why), []).append(figure.removesuffix("_ns").replace("_", " "))
        for why, named in figures.items():
            named.sort(key=lambda figure: figure not in STREAM_COUNTS)
            listed = ", ".join(named[:_FIGURES]) + (", and more" if len(named) > _FIGURES else "")
            reasons.setdefault((why, listed), []).append(stream["capture"])
    if not reasons:
        return []
    several = len(report["captures"]) > 1
    lines = [
        f"{listed} of {plural(len(seen), 'stream')}"
        + (f" (capture {numbers(seen)})" if several else "")
        + f": {safe(why)}"
        for (why, listed), seen in sorted(reasons.items())
    ]
    return [Text("Cannot be told", style="bold"), *map(Text, lines), Text("")]


def _not_shown(report: Report) -> str:
    """One line: which rules were judged, and the commands that show what is left out here."""
    judged = sum(bool(rule["judged"]) for rule in report["rules"])
    unjudged = sum(bool(rule["not_judged"]) and not rule["judged"] for rule in report["rules"])
    parts = [plural(judged, "rule") + " judged"]
    if unjudged:
        parts.append(f"{unjudged:,} could not be (seqaudit show rules says why)")
    shown = [
        f"{plural(len(report[name]), name[:-1])} (seqaudit show {name})"
        for name in ("gaps", "connections")
        if report[name]
    ]
    more = f"; not shown: {', '.join(shown)}; -v shows all" if shown else "; -v shows all"
    return ", ".join(parts) + more


def _gaps(report: Report, limit: int) -> list[RenderableType]:
    from seqaudit.cli.output.tables.gaps import render_gaps

    return [render_gaps(report, limit)]


def _lines(report: Report, limit: int) -> list[RenderableType]:
    if not report.get("tables", {}).get("feed", {}).get("lines"):
        return []
    from seqaudit.cli.output.tables.feeds import render_lines

    return [render_lines(report, limit)]


def render_captures(report: Report, style: TimeStyle, limit: int) -> RenderableType:
    """What was read: frames by what became of them, times, vantage and why."""
    show_time = time_formatter("utc" if style == "relative" else style, None)
    outcomes = {"decoded": 7, "other": 3, "malformed": 2, "truncated": 3, "undecodable": 3}

    def frames_by(outcome: str) -> Callable[[CaptureRow], str]:
        return lambda capture: count(cast(Mapping[str, int], capture["frames_by"])[outcome])

    fields: Sequence[Field[CaptureRow] | bool] = [
        _of_capture(report),
        (Column("file", worth=9, keeps_end=True), capture_name),
        (Column("format", worth=1), capture_format),
        (Column("frames", _NUMERIC, 8), lambda capture: count(capture["frames"])),
        *((Column(name, _NUMERIC, worth), frames_by(name)) for name, worth in outcomes.items()),
        (Column("drops", _NUMERIC, 2), _drops),
        (Column("first frame at", worth=4, whole=True), lambda row: show_time(row["first_ns"])),
        (Column("duration", _NUMERIC, 5), _span),
        (Column("taken at", worth=8), lambda capture: vantage_text(capture["vantage"])),
    ]
    table = listing("Captures", report["captures"], limit, fields)
    parts: list[RenderableType] = [table]
    if table.more:
        parts += [Text(captures_by_worst(report)), Text("")]
    parts += [Text(f"not read: {safe(entry['problem'])}") for entry in report["unreadable"]]
    return Group(*parts)


def _of_capture(report: Report) -> Field[Any] | bool:
    """The column that says of which capture rows are; none where there is one."""
    several = len(report["captures"]) != 1
    return several and (Column("capture", _NUMERIC, 8), lambda row: count(row["capture"]))


def _drops(capture: CaptureRow) -> str:
    return "-" if capture["drops"] is None else count(sum(capture["drops"].values()))


#: What is counted of a stream, and how long a narrow table keeps it.
STREAM_COUNTS: Final = {
    "messages": 7,
    "copies": 2,
    "duplicates": 1,
    "gaps": 5,
    "reordered": 3,
    "lost": 9,
    "recovered": 6,
    "unrecovered": 8,
    "requests sent/arrived": 4,
    "acks sent/arrived": 1,
}


def render_streams(report: Report, limit: int) -> RenderableType:
    """Every numbered sequence, what arrived of it, and what was lost and repaired."""
    streams = report["streams"]
    if not streams:
        return sentence("Streams", f"no numbered stream in {frames_of(report)}")
    keyed = any("source" in stream for stream in streams)
    subjects = any("subject" in stream for stream in streams)
    feeds = any("feed" in stream for stream in streams)
    jitter = any(stream.get("jitter_ns") for stream in streams)
    tunnels = any("tunnels" in stream for stream in streams)
    fields: Sequence[Field[StreamRow] | bool] = [
        _of_capture(report),
        (Column("system", worth=8), lambda row: row["system"]),
        (Column("sender", worth=9), lambda row: row.get("sender_name") or "-"),
        (Column("receiver", worth=9), lambda row: row.get("receiver_name") or _group(row)),
        keyed and (Column("source", worth=2), lambda row: row.get("source") or "-"),
        keyed and (Column("key expression", worth=8), _key),
        subjects and (Column("subject", worth=8, keeps_end=True), lambda r: subject_of(r) or "-"),
        feeds and (Column("stream", worth=8, keeps_end=True), _of_feed),
        (Column("seqnos", _NUMERIC, 6), _span_of_seqnos),
        *((Column(name, _NUMERIC, worth), _counted(name)) for name, worth in STREAM_COUNTS.items()),
        (Column("recovery p50/max", _NUMERIC, 5), _recovery),
        jitter and (Column("jitter mean/max", _NUMERIC, 3), _jitter),
        tunnels and (Column("tunnel", worth=2), lambda row: ", ".join(row.get("tunnels", "-"))),
    ]
    return listing("Streams", streams, limit, fields)


def _key(stream: StreamRow) -> str:
    return stream.get("key") or hop_lane(stream) or "-"


def _of_feed(stream: StreamRow) -> str:
    return feed_stream(stream) if "feed" in stream else "-"


def _counted(header: str) -> Callable[[StreamRow], str]:
    """What one of ``STREAM_COUNTS`` is of a stream."""
    if header.endswith("sent/arrived"):
        key: Literal["requests", "acks"] = "requests" if header[0] == "r" else "acks"
        return lambda stream: _pair(stream.get(key))
    name = "network_duplicates" if header == "duplicates" else header
    return lambda stream: counted(stream, name)


def render_connections(report: Report, limit: int) -> RenderableType:
    """Every connection as its end at this capture went through it, and what was left unacked."""
    fields: Sequence[Field[ConnectionRow] | bool] = [
        _of_capture(report),
        (Column("sender", worth=9), lambda row: row.get("sender_name") or "-"),
        (Column("receiver", worth=9), lambda row: row.get("receiver_name") or "-"),
        (Column("conn", _NUMERIC, 5), lambda row: count(row["conn_id"])),
        (Column("seen at", worth=3), _seen_at),
        (Column("states, from frame", worth=8, folds=True), lambda row: _states(row["states"])),
        (Column("highest sent", _NUMERIC, 2), lambda row: count(row["highest_sent"])),
        (Column("highest acked", _NUMERIC, 2), lambda row: count(row["highest_acked"])),
        (Column("unacked", _NUMERIC, 7), lambda row: seqno_ranges(row["unacked_seqnos"])),
    ]
    return listing("Connections", report["connections"], limit, fields)


def _seen_at(connection: ConnectionRow) -> str:
    return "neither end" if connection["end"] == "between" else f"its {connection['end']}"


def render_both_ends(report: Report, limit: int) -> RenderableType:
    """Streams whose sender's and whose receiver's captures are given: what the path lost, and
    resends of what was there."""
    fields: Sequence[Field[BothEndsRow] | bool] = [
        (Column("sender", worth=9), lambda met: met["sender_name"] or "-"),
        (Column("sender's capture", _NUMERIC, 4), lambda met: count(met["sender_capture"])),
        (Column("receiver", worth=9), lambda met: met["receiver_name"] or "-"),
        (Column("receiver's capture", _NUMERIC, 4), lambda met: count(met["receiver_capture"])),
        (Column("conn", _NUMERIC, 5), lambda met: count(met["conn_id"])),
        (Column("messages sent", _NUMERIC, 8), lambda met: _passed(met["path"])[0]),
        (Column("lost on the way", _NUMERIC, 9), lambda met: _passed(met["path"])[1]),
        (Column("ACKs lost", _NUMERIC, 6), lambda met: _passed(met["path"])[2]),
        (Column("requests lost", _NUMERIC, 6), lambda met: _passed(met["path"])[3]),
        (Column("resent", _NUMERIC, 7), lambda met: count(met["copies_sent"])),
        (
            Column("of them after the arrival", _NUMERIC, 5),
            lambda met: count(met["copies_sent_after_arrival"]),
        ),
        (
            Column("receiver's clock ahead by", worth=2, whole=True),
            lambda met: _between(met["clock_offset_ns"]),
        ),
    ]
    return listing("Both ends", report["both_ends"], limit, fields)


def _passed(path: Sequence[PassageRow]) -> list[str]:
    """Messages that were sent, and of messages, ACKs and requests those that were lost; of zenoh
    frames, which are acknowledged by nobody, and queries."""
    by_kind = {row["kind"]: row for row in path}
    messages = "frames" if "frames" in by_kind else "messages"
    requests = "queries" if messages == "frames" else "requests"
    lost = [
        count(by_kind[kind]["lost_on_path"]) if kind in by_kind else "-"
        for kind in (messages, "acks", requests)
    ]
    return [count(by_kind[messages]["sent"]) if messages in by_kind else "-", *lost]


def _between(bounds: Sequence[int | None] | None) -> str:
    """``-0.1 ms to 0.3 ms``; a bound that nobody knows is "?"."""
    if bounds is None or bounds == [None, None]:
        return "-"
    return " to ".join("?" if bound is None else duration(bound) for bound in bounds)


def _states(states: Sequence[StateRow]) -> str:
    """``OPEN 24 > CLOSED 42``; of many only the first and the last ones."""
    texts = [f"{state['state'] or '?'} {frame(state, 'frame')}" for state in states]
    if len(texts) > STATES_SHOWN:
        texts = [texts[0], "...", *texts[-(STATES_SHOWN - 2) :]]
    return " > ".join(texts) or "-"


def render_rules(report: Report) -> RenderableType:
    """Which rules were judged, and why others could not be."""
    rules = report["rules"]
    judged = [rule for rule in rules if rule["judged"]]
    parts: list[RenderableType] = [Text("Rules", style="bold")]
    order = [rule["rule"] for rule in rules]
    codes = _codes((rule["rule"] for rule in judged), order)
    parts.append(Text(f"judged: {codes}" if judged else "judged: none"))
    reasons: dict[tuple[str, bool, tuple[int, ...]], list[str]] = {}
    for rule in rules:
        elsewhere = {entry["capture"] for entry in rule["judged"]}
        captures: dict[tuple[str, bool], set[int]] = {}
        for entry in rule["not_judged"]:
            why = entry["why"] or "no reason known", entry["capture"] in elsewhere
            captures.setdefault(why, set()).add(entry["capture"])
        for why, seen in captures.items():
            reasons.setdefault((*why, tuple(sorted(seen))), []).append(rule["rule"])
    for (text, partly, where), unjudged in sorted(reasons.items()):
        title = "not judged of some streams" if partly else "not judged"
        of_captures = "" if len(report["captures"]) == 1 else f" (capture {numbers(where)})"
        parts.append(Text(f"{title}, {safe(text)}{of_captures}: {_codes(unjudged, order)}"))
    idle = [rule["rule"] for rule in rules if not rule["judged"] and not rule["not_judged"]]
    if idle:
        parts.append(Text(f"nothing to judge by: {_codes(idle, order)}"))
    return Group(*parts)


def _codes(codes: Iterable[str], order: Sequence[str]) -> str:
    """Rule codes, three and more neighbours of one family as ``MC001-MC005``."""
    runs: list[list[str]] = []
    for code in codes:
        last = runs[-1][-1] if runs else ""
        if last[:2] == code[:2] and order.index(code) == order.index(last) + 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def capture_format(capture: CaptureRow) -> str:
    """``pcapng.zst`` and the like."""
    parts = (capture["format"], capture["compression"])
    return ".".join(part for part in parts if part)


def vantage_text(vantage: VantageRow) -> str:
    """Where a capture was taken and who says so: ``member B 10.80.0.2 (inferred)``."""
    if vantage["kind"] == "member":
        name = f"{vantage['name']} " if vantage["name"] else ""
        return f"{name}{vantage['address']} ({vantage['origin']})"
    return f"{vantage['kind']} ({vantage['origin']})"


def _pair(value: Directions | None) -> str:
    if not value:
        return "-"
    return f"{count(value.get('sent'))}/{count(value.get('arrived'))}"


def _span(capture: CaptureRow) -> str:
    if capture["first_ns"] is None or capture["last_ns"] is None:
        return "-"
    return duration(capture["last_ns"] - capture["first_ns"])


def _span_of_seqnos(stream: StreamRow) -> str:
    """``1-17``, ``4``; with time frames ``21:54:01.513Z #1-17``, whose day is left out."""
    first = stream.get("first", stream.get("first_seqno"))
    last = stream.get("last", stream.get("last_seqno"))
    if first is None or last is None:
        return "-"
    if first == last:
        return without_day(str(first))
    time_frame, sign, number = str(last).rpartition("#")
    if sign and str(first).startswith(f"{time_frame}#"):
        return without_day(f"{first}-{number}")
    return without_day(f"{first} - {last}") if sign else f"{first}-{last}"


def _recovery(stream: StreamRow) -> str:
    took = stream.get("recovery_ns")
    if took is None or took["max"] is None:
        return "-"
    return f"{duration(took['p50'])}/{duration(took['max'])}"


def _jitter(stream: StreamRow) -> str:
    jitter = stream.get("jitter_ns")
    if jitter is None or jitter["max"] is None:
        return "-"
    return f"{duration(jitter['mean'])}/{duration(jitter['max'])}"


def _group(stream: StreamRow) -> str:
    """Where a stream goes that has no one receiver."""
    return (stream.get("destination") if "feed" in stream else None) or "all"
