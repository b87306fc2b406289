"""What is in a capture, as tables: values in, rich renderables out (``seqaudit info``)."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from seqaudit.cli.output.cells import capture_name
from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.table import (
    capture_format,
    render_rules,
    vantage_text,
)
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import duration, time_formatter
from seqaudit.replay.contract.capture_rows import CaptureRow, InterfaceRow
from seqaudit.replay.contract.report_rows import Report

_RIGHT: Final = "right"


def render_info(report: Report, limit: int) -> list[RenderableType]:
    """All tables of ``seqaudit info``; ``limit`` rows each, 0 for all."""
    shown: list[RenderableType] = []
    for capture in report["captures"]:
        shown += _render_capture(report, capture, limit)
    shown += [Text(f"not read: {safe(entry['problem'])}") for entry in report["unreadable"]]
    shown.append(render_rules(report))
    return shown


def _render_capture(report: Report, capture: CaptureRow, limit: int) -> list[RenderableType]:
    facts: list[RenderableType] = [
        Text(f"Capture {capture['capture']}: {safe(capture_name(capture))}", style="bold")
    ]
    facts += [
        Padding(Text(f"{name}: {safe(value)}"), (0, 0, 0, 2), expand=False)
        for name, value in _facts(capture)
    ]
    facts.append(Text(""))
    members = [m for m in report["members"] if m["capture"] == capture["capture"]]
    messages = [
        [system, kind, str(count)]
        for system, kinds in sorted(capture["messages_by"].items())
        for kind, count in sorted(kinds.items())
    ]
    undecoded = [
        [reason, str(count)]
        for reason, count in sorted(
            capture["undecoded"].items(), key=lambda item: (-item[1], item[0])
        )
    ]
    endpoints = [
        [str(proto), str(address), str(port), str(system or "-"), str(frames), str(size)]
        for proto, address, port, system, frames, size in capture["endpoints"]
    ]
    tables = (
        (
            "Members",
            [
                Column("name", worth=9),
                Column("member", worth=5),
                Column("addresses", worth=8, whole=True),
                Column("versions", worth=4, whole=True),
            ],
            [
                [m["name"] or "-", m["member"], ", ".join(m["addresses"]), ", ".join(m["versions"])]
                for m in members
            ],
        ),
        ("Messages", [Column("system"), Column("kind"), Column("messages", _RIGHT)], messages),
        (
            "Not decoded, by reason",
            [Column("reason", folds=True), Column("count", _RIGHT)],
            undecoded,
        ),
        (
            "Destinations",
            [
                Column("protocol"),
                Column("address", worth=9, whole=True),
                Column("port", _RIGHT),
                Column("system"),
                Column("frames", _RIGHT),
                Column("bytes", _RIGHT),
            ],
            endpoints,
        ),
        (
            "Interfaces",
            [
                Column("section", _RIGHT),
                Column("interface", _RIGHT),
                Column("name"),
                Column("snap length", _RIGHT),
                Column("resolution"),
                Column("dropped", _RIGHT),
            ],
            [_interface(interface) for interface in capture["interfaces"]],
        ),
    )
    return [
        *facts,
        *(_listing(title, columns, rows, limit) for title, columns, rows in tables if rows),
    ]


def _listing(
    title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]], limit: int
) -> Listing:
    shown = rows[:limit] if limit else rows
    return Listing(title, columns, shown, len(rows) - len(shown))


def _facts(capture: CaptureRow) -> list[tuple[str, str]]:
    show_time = time_formatter("utc", None)
    frames = capture["frames"]
    by = capture["frames_by"]
    shares = ", ".join(
        f"{count:,} {outcome} ({100 * count / frames:.1f} %)"
        for outcome, count in cast(Mapping[str, int], by).items()
        if count
    )
    facts = [
        ("format", capture_format(capture)),
        ("frames", f"{frames:,}" + (f": {shares}" if shares else "")),
        ("bytes", f"{capture['bytes']:,} captured, {capture['wire_bytes']:,} on the wire"),
        ("first frame at", show_time(capture["first_ns"])),
        ("last frame at", show_time(capture["last_ns"])),
    ]
    if capture["first_ns"] is not None and capture["last_ns"] is not None:
        facts.append(("duration", duration(capture["last_ns"] - capture["first_ns"])))
    facts.append(("taken at", f"{vantage_text(capture['vantage'])}: {capture['vantage']['why']}"))
    facts.append(("frames by link type", _counts(capture["links"]) or "-"))
    if capture.get("tunnels"):
        facts.append(("frames in tunnels", _counts(capture["tunnels"])))
    if sure := _counts(capture["sureness"]):
        facts.append(("frames recognised as", sure))
    for feed, counts in sorted(capture["feeds"].items()):
        counted = f"{counts['taken']:,} taken, {counts['refused']:,} refused by what is in them"
        if counts.get("out_of_step"):
            counted += f", {counts['out_of_step']:,} refused as no number follows another"
        facts.append((f"datagrams of feed {feed}", counted))
    if capture["clusters"]:
        more = [f"{capture['clusters_more']:,} more"] if capture["clusters_more"] else []
        facts.append(("clusters", ", ".join([*capture["clusters"], *more])))
    if capture["versions"]:
        versions = [f"{v} in {n:,}" for v, n in capture["versions"].items()]
        facts.append(("frames by version", ", ".join(versions)))
    drops = capture["drops"]
    facts.append(
        (
            "dropped while capturing",
            "not known: this file has no counters of it" if drops is None else _counts(drops),
        )
    )
    if any(capture["fragments"].values()):
        facts.append(("IP fragments", _counts(capture["fragments"])))
    if capture["cut"]:
        facts.append(("end", "the file ends in the middle of a record"))
    facts += [
        ("skipped", f"bytes {gap['from']} to {gap['to']}: {gap['why']}")
        for gap in capture["skipped"]
    ]
    if capture["skipped_more"]:
        facts.append(("skipped", f"{capture['skipped_more']} stretches more"))
    return facts


def _counts(counts: Mapping[str, int]) -> str:
    """``5 incomplete, 1,200 whole``."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))


def _interface(interface: InterfaceRow) -> list[str]:
    drops = [
        f"{key} {value}"
        for key, value in sorted(interface.items())
        if key.endswith(("drop", "drops"))
    ]
    return [
        str(interface.get("section", 0)),
        str(interface.get("interface", 0)),
        str(interface.get("name") or "-"),
        str(interface.get("snap_length", "-")),
        str(interface.get("resolution", "-")),
        ", ".join(drops) or "-",
    ]
