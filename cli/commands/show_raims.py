"""``seqaudit show loss``, ``convergence``, ``windows``, ``advisories``: raims tables of captures.

The columns of ``show loss`` are the console's, null route included; beside them what really was
lost, as far as it is known.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import click
from rich.text import Text

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import format_option, judging_options, reading_options
from seqaudit.cli.output.listing import Column, Listing, listing
from seqaudit.cli.output.terminal import emit, note, render
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.verdict import plural
from seqaudit.cli.run import audited_whole, judged_or_not

Row = Mapping[str, Any]

#: Header and key of the counters, each with the time it last grew.
_COUNTERS: Final = (
    ("null rte", "null time", "null_rte"),
    ("repeat", "rep time", "repeat"),
    ("not sub", "not time", "not_sub"),
    ("msg loss", "loss time", "msg_loss"),
    ("ibx loss", "ibx time", "ibx_loss"),
)
_BEFORE: Final = "the daemon ran before the capture; its own counters may be higher"
_DEFAULTS: Final = (
    "whether late copies count as loss or as repeats rests on defaults that nobody gave ({}): msg "
    "loss, repeat and false are likely, not certain"
)
_NOBODY: Final = (
    "no daemon of raims was seen at the interface of this capture; say whose it is with --at"
)


_NO_ROWS: Final = {
    "loss": "no daemon of raims whose show loss could be told",
    "convergence": "no raims stream that was joined late",
}


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    shape = format_option("A table for people, or rows for programs.")
    return reading_options(judging_options(shape(function)))


@click.command("loss", short_help="raims: the console's show loss, and what really was lost.")
@_options
def loss(captures: tuple[str, ...], shape: str, **given: object) -> int:
    """The console's table "show loss" of the daemon at whose interface a capture was taken.

    lost is what really was lost, as lower and upper bound; false is what raims counts and was none.
    Bounds meet where another capture given holds what this one lacks. Then each loss, and how it is
    known; then what other daemons say by their NAKs and loss notices.

    \b
    Examples:
      seqaudit show loss B.pcap
      seqaudit show loss --at 10.77.0.2 A.pcap B.pcap
    """
    return _show(captures, shape, "loss", _loss, given)


@click.command("convergence", short_help="raims: are streams that were joined late complete?")
@click.option(
    "--converged-at",
    metavar="TIME",
    help="When the network converged: ns since 1970, or an ISO time. Overrules heartbeats.",
)
@_options
def convergence(
    captures: tuple[str, ...], shape: str, converged_at: str | None, **given: Any
) -> int:
    """Streams that somebody joined late: are they complete by the design's criterion?

    \b
    Examples:
      seqaudit show convergence C.pcap
      seqaudit show convergence --converged-at 2026-11-20T22:53:24Z C.pcap
    """
    if converged_at is not None:
        given["param"] = (*given["param"], f"raims.converged_at={converged_at}")
    return _show(captures, shape, "convergence", _convergence, given)


@click.command("windows", short_help="How full windows were over time, as pictures.")
@_options
def windows(captures: tuple[str, ...], shape: str, **given: object) -> int:
    """How full windows were over time, and of raims the daemon's tables and their rotations.

    Drawn are unacknowledged messages of a JGroups sender, what waits in the receive window of PGM,
    and the memory of the sequence windows of raims: as the shipped code counts it (blocks) and, in
    the table, as the design document says (48 or 128 bytes beside each subject).

    \b
    Examples:
      seqaudit show windows sender.pcap
      seqaudit show windows --at 10.77.0.2 --params param.yaml B.pcap
    """
    report = audited_whole({"captures": captures, **given})
    rows = report.get("tables", {}).get("raims", {}).get("windows", [])
    if shape == "json":
        from seqaudit.pipeline.report.json_text import to_json

        emit(to_json({"windows": report["windows"], "raims": rows}))
        return judged_or_not(report)
    parts = _pictures(report)
    for number, capture in enumerate(report["captures"]):
        tables = [row for row in rows if row["capture"] == number]
        parts += [_windows(capture["path"], tables)] if tables else []
    if parts:
        render(parts)
    else:
        emit(f"no window ever held two messages in {plural(len(report['captures']), 'capture')}")
    return judged_or_not(report)


def _pictures(report: Row) -> list[Any]:
    """The fullest windows of each capture."""
    from seqaudit.cli.output.windows import WindowPlot, fullest_first

    streams = {(stream["capture"], stream["id"]): stream for stream in report["streams"]}
    parts: list[Any] = []
    rows = fullest_first(report["windows"])
    for capture in report["captures"]:
        drawn = [row for row in rows if row["capture"] == capture["capture"]]
        if drawn:
            parts += [Text(safe(capture["path"]), style="bold"), Text("")]
        for row in drawn[:_PICTURES]:
            stream = streams.get((row["capture"], row["stream"]))
            parts.append(WindowPlot(row, stream, capture))
        if len(drawn) > _PICTURES:
            more = len(drawn) - _PICTURES
            parts.append(Text(f"... and {more:,} more; --format json has all", style="dim"))
    return parts


#: Windows of a capture that are drawn, the fullest first.
_PICTURES: Final = 6


@click.command("advisories", short_help="raims: DATALOSS advisories to RV clients.")
@_options
def advisories(captures: tuple[str, ...], shape: str, **given: object) -> int:
    """DATALOSS advisories: those a daemon must have published to RV clients, and those captured.

    What is captured on a client's connection is compared with the losses that the replay sees at
    its daemon, in the same capture or another one given.

    \b
    Example:
      seqaudit show advisories --at B.pcap=10.77.0.2 B.pcap B-client.pcap
    """
    from seqaudit.replay.raims.rules import OF_CLIENTS

    report = audited_whole({"captures": captures, **given})
    tables = report.get("tables", {}).get("raims", {})
    paths = {n: capture["path"] for n, capture in enumerate(report["captures"])}
    replayed, seen = tables.get("advisories", []), tables.get("rv_advisories", [])
    findings = [f for f in report["findings"] if f["rule"] in OF_CLIENTS]
    if shape == "json":
        document = {
            "replayed": [dict(row) | {"path": paths[row["capture"]]} for row in replayed],
            "captured": [dict(row) | {"path": paths[row["capture"]]} for row in seen],
            "findings": findings,
        }
        emit(json.dumps(document, sort_keys=True, indent=1))
        return judged_or_not(report)
    parts: list[Any] = []
    for number, path in paths.items():
        lines = []
        for row in (row for row in replayed if row["capture"] == number):
            lines.append(f"{_called(row, 'observer')} must have published by {_where(row)}")
            lines += rendered(row["subject"], [(key, row["data"][key]) for key in row["order"]])
        here = [row for row in seen if row["capture"] == number]
        for row in sorted(here, key=lambda row: (row["client"], row["index"])):
            lines.append(f"client {row['client']} was sent {_where(row)}")
            lines += rendered(row["subject"], [(key, value) for key, value in row["data"]])
        if lines:
            parts += [Text(safe(path), style="bold"), *(Text(safe(line)) for line in lines)]
    for finding in findings:
        parts.append(Text(safe(f"{finding['rule']} {finding['severity']}: {finding['text']}")))
    if parts:
        render(parts)
    else:
        emit(f"no DATALOSS advisory was due or captured in {plural(len(paths), 'capture')}")
    return judged_or_not(report)


def rendered(subject: str, data: Sequence[tuple[str, Any]]) -> list[str]:
    """An advisory as the design document shows one (raims message loss document, "RV protocol")."""
    lines = ['   mtype : "A"', f"     sub : {subject}", "    data : {"]
    for name, value in data:
        lines.append(f"{name:>12} : {json.dumps(value, ensure_ascii=False)}")
    return [*lines, "  }"]


def _where(row: Row) -> str:
    return f"{_clock(row['at_ns'])} (frame {row['frame']})"


def _show(
    captures: tuple[str, ...],
    shape: str,
    table: str,
    table_of: Callable[[str, Sequence[Row]], Listing],
    given: dict[str, Any],
) -> int:
    report = audited_whole({"captures": captures, **given})
    rows = report.get("tables", {}).get("raims", {}).get(table, [])
    paths = {n: capture["path"] for n, capture in enumerate(report["captures"])}
    if shape == "json":
        listed = [dict(row) | {"path": paths[row["capture"]]} for row in rows]
        emit(json.dumps(listed, sort_keys=True, indent=1))
    else:
        found = []
        for number, path in paths.items():
            own_rows = [row for row in rows if row["capture"] == number]
            found.append(table_of(path, own_rows))
            if table == "loss":
                found += [_losses(report, number, path), _others(report, number, path)]
            if table == "loss" and any(row["unknown"] for row in own_rows):
                for why in sorted({why for row in own_rows for why in row["unknown"].values()}):
                    note(f"note: {path}: ?: {why}")
            elif table == "loss" and any(row["began_before"] for row in own_rows):
                note(f"note: {path}: {_BEFORE}")
            for names in sorted({tuple(r["defaults"]) for r in own_rows if r.get("defaults")}):
                note(f"note: {path}: {_DEFAULTS.format(', '.join(f'raims.{n}' for n in names))}")
            if table != "convergence" and not own_rows:
                note(f"note: {path}: {_NOBODY}")
        if any(one.rows for one in found):
            render([one for one in found if one.rows])
        if not rows:
            emit(f"{_NO_ROWS[table]} in {plural(len(paths), 'capture')}")
    judged = judged_or_not(report)
    return judged if rows or table == "convergence" else ExitCode.NOT_JUDGED


def _loss(path: str, rows: Sequence[Row]) -> Listing:
    starts = {row["start"] for row in rows}
    columns = [Column("observer", worth=8), Column("user", worth=9)]
    for counter, clock, _ in _COUNTERS:
        columns += [Column(counter, "right", 7), Column(clock, worth=2, whole=True)]
    columns += [Column("lost", "right", 9), Column("false", "right", 6)]
    cells = []
    for row in rows:
        name = _called(row, "observer")
        user = row["user"]
        if row["dropped_ns"] is not None:  # the daemon's own table has it no longer
            user += f" (dropped {_clock(row['dropped_ns'])})"
        line = [f"{name} (start {row['start'] + 1})" if len(starts) > 1 else name, user]
        for _, _, key in _COUNTERS:
            line += [_count(row[key]), _clock(row[f"{key}_ns"])]
        line.append(_bounds(row["lost_lower"], row["lost_upper"]))
        cells.append([*line, _count(row["false_loss"])])
    return Listing(f"show loss: {path}", columns, cells)


def _losses(report: Row, number: int, path: str) -> Listing:
    """Each loss of the streams of a capture, and how its bounds are known."""
    rows: list[tuple[Row, Row]] = [
        (stream, loss)
        for stream in report["streams"]
        if stream["system"] == "raims" and stream["capture"] == number
        if stream["role"] == "receiver"
        for loss in stream["losses"]
    ]
    return listing(
        f"losses: {path}", rows, _LISTED,
        [
            (Column("publisher", worth=9), lambda of: _called(of[0], "sender")),
            (Column("subject", worth=8, keeps_end=True), lambda of: of[0]["subject"]),
            (Column("after", worth=3, whole=True), lambda of: _seqno(of[1]["after"])),
            (Column("before", worth=4, whole=True), lambda of: _seqno(of[1]["before"])),
            (Column("lost", "right", 9), lambda of: _bounds(of[1]["lower"], of[1]["upper"])),
            (Column("known by", worth=5), lambda of: of[1]["known_by"]),
            (Column("frame", "right", 7), lambda of: str(of[1]["frame"])),
        ],
    )  # fmt: skip


def _others(report: Row, number: int, path: str) -> Listing:
    """What other daemons lack, by what they themselves say."""
    columns = [
        Column("daemon", worth=9), Column("says by", worth=4), Column("of", worth=7, folds=True),
        Column("lost", "right", 9), Column("at", worth=5, whole=True),
        Column("frame", "right", 6),
    ]  # fmt: skip
    tables = report.get("tables", {}).get("raims", {})
    observers = {row["observer"] for row in tables.get("loss", []) if row["capture"] == number}
    cells = []
    for notice in tables.get("notices", []):
        if notice["capture"] != number or notice["receiver"] in observers:
            continue
        count = "1 or more" if notice["restart"] else str(notice["count"])
        cells.append([
            _called(notice, "receiver"),
            "loss notice",
            f"{_called(notice, 'publisher')} {notice['subject']}",
            f"{count}, {notice['total']} in all",
            _clock(notice["at_ns"]),
            str(notice["frame"]),
        ])  # fmt: skip
    for stream in report["streams"]:
        if stream["system"] != "pgm" or stream["capture"] != number:
            continue
        for address, asked in stream["peers"].items():
            if address == stream["receiver"]:
                continue
            asked_for = f"{asked['requested_seqnos']} asked for in {asked['requests']} NAKs"
            source = f"{stream['sender'] or '?'} (PGM {stream['id']})"
            cells.append([address, "NAK", source, asked_for, "", ""])
    return Listing(f"other daemons: {path}", columns, cells[:_LISTED], max(len(cells) - _LISTED, 0))


#: Rows of losses and of other daemons in a table; JSON has all.
_LISTED: Final = 100


def _seqno(text: str | None) -> str:
    """``0x5c19adc000000001`` as frame time and number; nothing for none."""
    if text is None:
        return ""
    value = int(text, 16)
    start_ns = (value >> 35) << 33
    return f"{_clock(start_ns)} #{value & (1 << 35) - 1}"


def _windows(path: str, rows: Sequence[Row]) -> Listing:
    """A row for each table now, and one for each rotation."""
    columns = [
        Column("observer", worth=8), Column("window", worth=9),
        Column("rotated", worth=8, whole=True), Column("subjects", "right", 7),
        Column("bytes by the code", "right", 7), Column("bytes by the document", "right", 4),
        Column("limit", "right", 6),
    ]  # fmt: skip
    cells = []
    for row in rows:
        name = _called(row, "observer")
        for side in ("pub", "sub"):
            if f"{side}_count" not in row:
                continue
            limit = str(row[f"{side}_limit"])
            for old in row[f"{side}_rotated"]:
                sizes = [str(old[key]) for key in ("count", "size", "document_size")]
                cells.append([name, side, _clock(old["at_ns"]), *sizes, limit])
            now = [str(row[f"{side}_{key}"]) for key in ("count", "size", "document_size")]
            cells.append([name, side, "not yet", *now, limit])
    return Listing(f"show windows: {path}", columns, cells)


def _convergence(path: str, rows: Sequence[Row]) -> Listing:
    return listing(
        f"show convergence: {path}", rows, 0,
        [
            (Column("subscriber", worth=9), lambda row: row.get("subscriber_name") or "?"),
            (Column("publisher", worth=9), lambda row: _called(row, "publisher")),
            (Column("subject", worth=8, keeps_end=True), itemgetter("subject")),
            (Column("first seen", worth=4, whole=True), itemgetter("shown")),
            (Column("frame began", worth=3, whole=True), lambda row: _clock(row["started_ns"])),
            (Column("converged", worth=5, whole=True),
             lambda row: _clock(row["converged_ns"]) or "unknown"),
            (Column("verdict", worth=9), itemgetter("verdict")),
            (Column("frame", "right", 6), lambda row: str(row["frame"])),
        ],
    )  # fmt: skip


def _called(row: Row, key: str) -> str:
    """A daemon by its name, or the beginning of its identity."""
    return row.get(f"{key}_name") or (row[key] or "?")[:8]


def _count(number: int | None) -> str:
    """A number, or that nobody can tell it."""
    return "?" if number is None else str(number)


def _bounds(lower: int | None, upper: int | None) -> str:
    if lower is None:
        return "?"
    if upper is None:
        return f"{lower} or more"
    return str(lower) if lower == upper else f"{lower} to {upper}"


def _clock(at_ns: int | None) -> str:
    """The time of day in UTC to the millisecond; nothing for none."""
    if at_ns is None:
        return ""
    seconds, rest = divmod(at_ns, 1_000_000_000)
    hours, minutes = divmod(seconds // 60 % 1440, 60)
    return f"{hours:02}:{minutes:02}:{seconds % 60:02}.{rest // 1_000_000:03}"
