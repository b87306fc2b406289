"""What ``seqaudit infer`` found, as tables: values in, rich renderables out."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from seqaudit.cli.output.feed_file import InferredFeed, describe, line_sentences, sentences
from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.verdict import plural
from seqaudit.decoders.infer.layout import Layout
from seqaudit.pipeline.shared.infer_samples import Inferred, Reading


def render_infer(
    readings: Sequence[Reading],
    findings: Sequence[Inferred],
    feeds: Sequence[InferredFeed],
    limit: int,
) -> list[RenderableType]:
    """How much was read, what each destination shows, and the evidence for each feed."""
    parts: list[RenderableType] = [_captures(readings, limit)]
    if findings:
        parts.append(_destinations(findings, len(readings) > 1, limit))
    for number, feed in enumerate(feeds, 1):
        parts += _evidence(feed, number, limit)
    if not feeds:
        parts.append(Text(_nothing(findings)))
    return parts


def _captures(readings: Sequence[Reading], limit: int) -> RenderableType:
    columns = [
        Column("capture", worth=9, keeps_end=True),
        Column("frames read", "right", 7),
        Column("UDP recognised", "right", 6),
        Column("unrecognised", "right", 8),
    ]
    rows = [
        [
            reading.path,
            f"{reading.frames}" if reading.whole else f"the first {reading.frames}",
            str(reading.recognised),
            str(reading.unrecognised),
        ]
        for reading in readings
    ]
    shown = rows[:limit] if limit else rows
    return Listing("Captures", columns, shown, len(rows) - len(shown))


def _destinations(findings: Sequence[Inferred], several: bool, limit: int) -> RenderableType:
    columns = [
        *([Column("capture", worth=6, keeps_end=True)] if several else []),
        Column("destination", worth=9, whole=True),
        Column("port", "right", 9),
        Column("datagrams", "right", 6),
        Column("examined", "right", 2),
        Column("sources", "right", 3),
        Column("number", worth=8, whole=True),
        Column("count", worth=3, whole=True),
        Column("streams by", worth=4),
        Column("confidence", worth=7),
        Column("why none", worth=5),
    ]
    rows = []
    for finding in findings:
        layouts = finding.answer.layouts
        best = layouts[0] if layouts else None
        rows.append(
            [
                *([finding.path] if several else []),
                finding.destination,
                str(finding.port),
                str(finding.datagrams),
                str(finding.answer.examined),
                str(finding.sources),
                describe(best.number) if best else "none",
                describe(best.count) if best else "-",
                _streams_by(best) if best else "-",
                best.confidence if best else "-",
                finding.answer.reason or "-",
            ]
        )
    shown = rows[:limit] if limit else rows
    return Listing("Unrecognised destinations", columns, shown, len(rows) - len(shown))


def _streams_by(layout: Layout) -> str:
    if layout.key is not None:
        return describe(layout.key)
    return " and ".join(word.replace("_", " ") for word in layout.stream) or "destination"


def _evidence(feed: InferredFeed, number: int, limit: int) -> list[RenderableType]:
    """The sentences for a feed, then what else its first destination shows."""
    layout = feed.layout
    title = f"Feed {number}: {describe(layout.number)}"
    lines = [*sentences(layout), *line_sentences(feed)]
    if layout.kind is not None:
        lines.append(f"Its data is told by {describe(layout.kind)}.")
    for other in layout.heartbeats:
        says = f"state the {other.says} number" if other.says else "have no number"
        lines.append(f"{other.datagrams} datagrams of kind {other.value} {says}.")
    others = feed.findings[0].answer.layouts[1:4]
    for other_layout in others:
        e = other_layout.evidence
        lines.append(
            f"Next best: {describe(other_layout.number)}, {e.following} of {e.steps} follow,"
            f" {e.unexplained} unexplained."
        )
    places = feed.places[:limit] if limit else feed.places
    where = ", ".join(f"{destination} port {port}" for destination, port in places)
    more = len(feed.places) - len(places)
    lines.append(f"Destinations: {where}" + (f" and {more} more" if more else ""))
    text = Text("\n".join(f"  {line}" for line in lines))
    return [Text(title, style="bold"), text, Text("")]


def _nothing(findings: Sequence[Inferred]) -> str:
    if not findings:
        return "Nothing to look at: every UDP datagram is recognised, or there is none."
    return f"No sequence number in the datagrams of {plural(len(findings), 'destination')}."
