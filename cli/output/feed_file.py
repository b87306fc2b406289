"""Inferred layouts as feed files, the form that ``seqaudit audit --feed`` takes (decoders/README.md
5).

Destinations of which each by itself showed the same layout are one feed, and so are two lines that
carry the same. What is written is what was inferred and nothing
else; the comments of the file say what speaks for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seqaudit.cli.output.text import safe
from seqaudit.decoders.infer.layout import FieldAt, Layout
from seqaudit.decoders.infer.lines import alike
from seqaudit.pipeline.shared.infer_samples import Inferred


@dataclass(slots=True)
class InferredFeed:
    """A layout, and the destinations that have it."""

    layout: Layout
    findings: list[Inferred] = field(default_factory=list)

    @property
    def datagrams(self) -> int:
        return sum(finding.datagrams for finding in self.findings)

    @property
    def places(self) -> list[tuple[str, int]]:
        """Destinations, without repeats."""
        return sorted({(finding.destination, finding.port) for finding in self.findings})

    @property
    def lines(self) -> list[Inferred]:
        """Line A of each pair, with its ``twin``; of several captures the first that shows it."""
        found: dict[tuple[str, int], Inferred] = {}
        taken: set[tuple[str, int]] = set()
        for finding in self.findings:
            twin = finding.twin
            if twin is None:
                continue
            ends = {(finding.destination, finding.port), (twin.destination, twin.port)}
            if not ends & taken:
                taken |= ends
                found[finding.destination, finding.port] = finding
        return [finding for _, finding in sorted(found.items())]


def feeds_of(findings: Iterable[Inferred]) -> list[InferredFeed]:
    """Feeds, those with most datagrams first."""
    feeds: list[InferredFeed] = []
    for finding in findings:
        if not finding.answer.layouts:
            continue
        layout = finding.answer.layouts[0]
        for feed in feeds:
            if _same(feed.layout, layout) or _is_line_of(finding, feed):
                feed.findings.append(finding)
                feed.layout = max(feed.layout, layout, key=_fullness)
                break
        else:
            feeds.append(InferredFeed(layout, [finding]))
    return sorted(feeds, key=lambda feed: (-feed.datagrams, feed.places))


def _same(one: Layout, other: Layout) -> bool:
    """Whether two flows showed the same: what one shows is never written for another."""
    return _read(one) == _read(other)


def _read(layout: Layout) -> tuple[object, ...]:
    says = tuple((other.value, other.says) for other in layout.heartbeats)
    return (
        layout.number, layout.count, layout.stream, layout.key, layout.kind, says, layout.ends > 0,
        layout.confidence,
    )  # fmt: skip


def _is_line_of(finding: Inferred, feed: InferredFeed) -> bool:
    """Whether a destination carries the same as one of the feed's; either may say so."""
    return alike(feed.layout, finding.answer.layouts[0]) and any(
        (one.twin.destination, one.twin.port) == (other.destination, other.port)
        for found in feed.findings
        for one, other in ((finding, found), (found, finding))
        if one.twin is not None
    )


def _fullness(layout: Layout) -> tuple[bool, bool, int, int]:
    return (
        layout.key is not None,
        layout.kind is not None,
        layout.proven,
        layout.evidence.following,
    )


def feed_text(feed: InferredFeed, name: str = "inferred") -> str:
    """The feed file."""
    layout = feed.layout
    evidence = layout.evidence
    order = layout.number.order or (layout.count.order if layout.count else None) or "big"
    lines = [
        f"# Written by seqaudit infer, confidence {layout.confidence}. Check it against what you"
        " know of the feed.",
        *(f"# Seen in {safe(path)}" for path in dict.fromkeys(f.path for f in feed.findings)),
        *(f"# {sentence}" for sentence in (*sentences(layout), *line_sentences(feed))),
        f"feed: {name}",
        f"about: inferred from {evidence.steps + layout.streams} datagrams",
        f"confidence: {layout.confidence}",
        "confirmed: no   # yes, once a person has checked it: until then no finding is proven",
        "match:",
    ]
    for destination, port in feed.places:
        lines += [f'  - destination: "{destination}"', f"    port: {port}"]
    lines += [f"byte_order: {order}", "fields:"]
    fields = {"key": layout.key, "kind": layout.kind, "seqno": layout.number, "count": layout.count}
    for title, one in fields.items():
        if one is not None:
            lines.append(f"  {title}: {_field(one)}")
    stream = ", ".join(("destination", "port", *layout.stream))
    lines += [f"stream: [{stream}]", "seqno: seqno"]
    if layout.count is not None:
        lines.append("count: count")
    messages = list(_messages(layout))
    if messages:
        lines += ["messages:", *(f"  - {message}" for message in messages)]
    pairs = [
        f'  - {{A: "{_end(finding.destination, finding.port)}",'
        f' B: "{_end(finding.twin.destination, finding.twin.port)}"}}'
        for finding in feed.lines
        if finding.twin is not None
    ]
    if pairs:
        lines += ["lines:", *pairs]
    return "\n".join(lines) + "\n"


def sentences(layout: Layout) -> list[str]:
    """The evidence, in sentences of one line each."""
    e = layout.evidence
    several = f"in {layout.streams} streams" if layout.streams > 1 else "in one stream"
    found = [
        f"Of {e.steps} datagrams {several} {e.following} follow the one before,"
        f" {e.ahead} are ahead of it, {e.late} late, {e.duplicates} duplicates,"
        f" {e.heartbeats} heartbeats, {e.unexplained} unexplained.",
        f"{e.arrived} numbers arrived, {e.missing} between them did not.",
        _width_sentence(layout),
    ]
    for tie in layout.ties:
        found.append(f"{describe(tie)} explains the same just as well.")
    found += [f"Doubt: {note}." for note in layout.notes]
    return found


def line_sentences(feed: InferredFeed) -> list[str]:
    """Which destinations carry the same, and what speaks for it."""
    found = []
    for finding in feed.lines:
        twin = finding.twin
        assert twin is not None, "only those with a twin are line A"
        e = twin.evidence
        late, early = ("B", "A") if e.lag_ns >= 0 else ("A", "B")
        found.append(
            f"A {_end(finding.destination, finding.port)} and B"
            f" {_end(twin.destination, twin.port)} carry the same: of {e.of} and {e.other_of}"
            f" datagrams {e.shared} came on both, {e.alike} of these with the same bytes,"
            f" {late} {abs(e.lag_ns) / 1000:.1f} us after {early}."
        )
    return found


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _width_sentence(layout: Layout) -> str:
    width, proven = layout.number.width, layout.proven
    if layout.wraps:
        return f"It was seen to wrap at {8 * width} bits."
    if proven == width:
        return f"Carries were seen into {'its byte' if width == 1 else 'all its bytes'}."
    seen = f"Carries were seen into {proven} bytes" if proven > 1 else "No carry was seen"
    return f"{seen}; {width - proven} of its {width} bytes never changed."


def describe(field: FieldAt | None) -> str:
    """A field as people say it."""
    if field is None:
        return "-"
    unit = "byte" if field.width == 1 else "bytes"
    kind = ", text" if field.text else f", {field.order}-endian" if field.order else ""
    return f"{field.width} {unit} at offset {field.offset}{kind}"


def _field(field: FieldAt) -> str:
    kind = ""
    if field.text:
        kind = ", type: text"
    elif field.width > 8:
        kind = ", type: bytes"
    return f"{{offset: {field.offset}, width: {field.width}{kind}}}"


def _messages(layout: Layout) -> Iterable[str]:
    if layout.count is not None:
        if layout.evidence.heartbeats:
            yield "{name: HEARTBEAT, when: {count: 0}, is: heartbeat, says: next}"
        if layout.ends:
            ones = (1 << 8 * layout.count.width) - 1
            yield f"{{name: END_OF_SESSION, when: {{count: {ones}}}, is: end, says: next}}"
    for number, other in enumerate(layout.heartbeats, 1):
        name = "HEARTBEAT" if len(layout.heartbeats) == 1 else f"HEARTBEAT_{number}"
        if other.says is None:
            yield f"{{name: KIND_{other.value}, when: {{kind: {other.value}}}, is: ignore}}"
        else:
            yield (
                f"{{name: {name}, when: {{kind: {other.value}}}, is: heartbeat,"
                f" says: {other.says}}}"
            )


def as_values(feeds: Sequence[InferredFeed], files: Sequence[str]) -> list[dict[str, object]]:
    """Feeds for JSON."""
    return [
        {
            "file": files[number] if number < len(files) else None,
            "destinations": [{"destination": d, "port": p} for d, p in feed.places],
            "datagrams": feed.datagrams,
            "lines": [_line_values(finding) for finding in feed.lines],
            "layout": layout_values(feed.layout),
        }
        for number, feed in enumerate(feeds)
    ]


def _line_values(finding: Inferred) -> dict[str, object]:
    """Two lines for JSON."""
    twin = finding.twin
    assert twin is not None, "only those with a twin are line A"
    e = twin.evidence
    return {
        "a": {"destination": finding.destination, "port": finding.port, "datagrams": e.of},
        "b": {"destination": twin.destination, "port": twin.port, "datagrams": e.other_of},
        "on_both": e.shared,
        "same_bytes": e.alike,
        "b_after_a_ns": e.lag_ns,
    }


def layout_values(layout: Layout) -> dict[str, object]:
    """A layout for JSON."""
    e = layout.evidence
    return {
        "confidence": layout.confidence,
        "number": field_values(layout.number),
        "bytes_proven": layout.proven,
        "wrap_seen": layout.wraps,
        "count": field_values(layout.count),
        "stream": ["destination", "port", *layout.stream],
        "streams": layout.streams,
        "key": field_values(layout.key),
        "kind": field_values(layout.kind),
        "heartbeats": [
            {"kind": other.value, "datagrams": other.datagrams, "says": other.says}
            for other in layout.heartbeats
        ],
        "ties": [field_values(tie) for tie in layout.ties],
        "notes": list(layout.notes),
        "quality": round(layout.quality, 4),
        "evidence": {name: getattr(e, name) for name in sorted(e.__slots__)},
    }


def field_values(field: FieldAt | None) -> dict[str, object] | None:
    """A field for JSON."""
    if field is None:
        return None
    order = field.order
    return {
        "offset": field.offset,
        "width": field.width,
        "byte_order": order,
        "type": "text" if field.text else "bytes" if field.width > 8 else "number",
    }
