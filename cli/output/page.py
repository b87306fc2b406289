"""The report as one HTML page for people: no other file, no network, light and dark
(CONTRIBUTING.md 2).

The verdict, the findings and the rules are plain HTML and can be read without a script. Tables,
pictures and the stories of gaps are drawn from one block of JSON (``page_data``) by the script
that comes with it (``web/``). A content security policy with the hashes of the page's own scripts
and styles lets nothing else run, and nothing be fetched, should escaping ever fail
(cli/README.md 2).
"""

import base64
import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from seqaudit.cli.output.cells import capture_name
from seqaudit.cli.output.listing import Listing
from seqaudit.cli.output.outcomes import SEVERITIES, gravest_first, unjudged
from seqaudit.cli.output.page_data import block
from seqaudit.cli.output.points import EventsOfStreams, Point
from seqaudit.cli.output.several import gravest_captures_first, with_parts
from seqaudit.cli.output.several import names as names_of
from seqaudit.cli.output.short_names import explained, shortened
from seqaudit.cli.output.table import render_rules, render_tables
from seqaudit.cli.output.text import filter_of, frame_at, safe
from seqaudit.cli.output.times import TimeStyle, time_formatter
from seqaudit.cli.output.verdict import verdict
from seqaudit.replay.contract.capture_rows import CaptureRow
from seqaudit.replay.contract.report_rows import FindingRow, GapRow, Report
from seqaudit.replay.contract.version import VERSION
from seqaudit.replay.stages.systems import RULES

#: Rows of a table, and findings, unless ``--limit`` says how many.
ROWS: Final = 10_000
FINDINGS: Final = 500

#: Gaps whose pictures have the events round them; those of others are of their stories alone.
PICTURES: Final = 500

#: Gaps that a finding links to, and findings that a gap links to.
_LINKS: Final = 6

#: What is to be taken as it is: filters for Wireshark, and where files are.
WHOLE: Final = frozenset({"filter", "path", "files", "file"})

_WEB: Final = files("seqaudit.cli.output") / "web"


def page(
    report: Report,
    style: TimeStyle,
    limit: int | None = None,
    events: EventsOfStreams | None = None,
    left_out: str | None = None,
    first: Sequence[RenderableType] = (),
) -> Iterator[str]:
    """The page in pieces.

    Args:
        limit: rows a table and findings, 0 for all; null: as many as a browser has no trouble with.
        events: what is drawn round gaps beside their stories.
        left_out: one line on what filters leave out; null: nothing is filtered.
        first: what stands above the findings.
    """
    rows = ROWS if limit is None else limit
    whole = gravest_captures_first(_numbered(report), rows)
    seen = _seen(whole["gaps"][: rows or None], events)
    names: dict[str, str] = {}
    report, ranked = (shortened(one, names, WHOLE) for one in (report, whole))
    gaps = ranked["gaps"][:rows] if rows > 0 else ranked["gaps"]
    findings = gravest_first(report["findings"])
    shown = findings[: FINDINGS if limit is None else limit] if limit != 0 else findings
    links = _PageLinks(ranked, gaps)
    about = links.of(shown)
    tables: list[Listing] = []
    yield from _head(report)
    yield from _summary(report, style, left_out, names)
    for renderable in first:
        yield from _table(renderable, tables)
    yield from _findings(report, style, shown, len(findings) - len(shown), links)
    yield from _pictures(gaps)
    for renderable in sorted(render_tables(ranked, style, rows), key=_is_not_of_gaps):
        yield from _table(renderable, tables)
    yield from _rules(shown)
    yield from _table(render_rules(report), tables)
    yield '</main>\n<script type="application/json" id="data">'
    yield from block(
        with_parts(report, {"streams": ranked["streams"]}), tables, gaps, about, seen, names
    )
    yield "</script>\n"
    for script in _scripts():
        yield f"<script>{script}</script>\n"
    yield "</body></html>\n"


def _numbered(report: Report) -> Report:
    """The report with the numbers of gaps that ``--gap`` takes."""
    gaps = [{**gap, "number": number} for number, gap in enumerate(report["gaps"], 1)]
    return with_parts(report, {"gaps": gaps})


def _seen(gaps: Sequence[GapRow], events: EventsOfStreams | None) -> dict[int, list[Point]]:
    """What events show round the first gaps, by their numbers."""
    if not events:
        return {}
    return {gap["number"]: points for gap, points in events.points(gaps[:PICTURES])}


def _is_not_of_gaps(renderable: object) -> bool:
    """The table of gaps stands first: it goes with the pictures above it."""
    return not (isinstance(renderable, Listing) and renderable.title == "Gaps")


# ---- What is plain HTML


def _head(report: Report) -> Iterator[str]:
    allowed = f"style-src {_hash(_style())}; script-src {' '.join(map(_hash, _scripts()))}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="referrer" content="no-referrer">\n'
    yield f"<title>seqaudit: {_text(_captures(report))}</title>\n"
    yield f"<style>{_style()}</style></head>\n<body>\n"


def _summary(
    report: Report, style: TimeStyle, left_out: str | None, names: Mapping[str, str]
) -> Iterator[str]:
    headline, *more = verdict(report)
    yield f'<header><p class="dim">seqaudit {VERSION}: {_text(_captures(report))}</p>\n'
    yield f"<h1>{_text(headline)}</h1>\n"
    yield from (f"<p><strong>{_text(line)}</strong></p>\n" for line in more)
    yield f'<p class="dim">{_text(_when(report, style))}</p>\n'
    if left_out is not None:
        yield f"<p>{_text(left_out)} Gaps and findings are numbered as they stand here.</p>\n"
    yield from _totals(report)
    for _, problem in unjudged(report):
        yield f'<p class="error">{_text(problem)}</p>\n'
    if names:
        count = f"{len(names):,} identities are" if len(names) > 1 else "1 identity is"
        yield f'<details id="names"><summary>{count} shown short</summary><ul>'
        yield from (f"<li>{_text(line)}</li>" for line in explained(names))
        yield "</ul></details>\n"
    yield '</header>\n<nav aria-label="Parts of this page"><a href="#findings">Findings</a>\n'
    yield '<a href="#pictures">Pictures</a>\n'
    for name in ("gaps", "streams", "captures"):
        if report[name]:
            yield f'<a href="#{name}">{name.capitalize()}</a>\n'
    yield '<a href="#rules">Rules</a></nav>\n<main>\n'


def _captures(report: Report) -> str:
    return names_of([capture_name(capture) for capture in report["captures"]])


def _when(report: Report, style: TimeStyle) -> str:
    firsts = [c["first_ns"] for c in report["captures"] if c["first_ns"] is not None]
    lasts = [c["last_ns"] for c in report["captures"] if c["last_ns"] is not None]
    if not firsts:
        return "No frame of these captures has a time."
    show = time_formatter("utc" if style == "relative" else style, None)
    return f"Captured from {show(min(firsts))} to {show(max(lasts))}."


def _totals(report: Report) -> Iterator[str]:
    totals = report["totals"]
    counts: list[tuple[int | None, str, str]] = [
        (totals["findings"][severity], severity, severity) for severity in SEVERITIES
    ]  # losses are in the verdict, where packets and the messages in them are told apart
    counts += [(totals[name], name, "") for name in ("frames", "streams", "messages", "gaps")]
    yield '<ul class="totals">'
    for count, name, kind in counts:
        shown = f' class="{kind}"' if kind and count else ""
        number = "unknown" if count is None else f"{count:,}"
        yield f"<li><b{shown}>{number}</b><span>{name}</span></li>"
    yield "</ul>\n"


def _findings(
    report: Report, style: TimeStyle, shown: Sequence[FindingRow], more: int, links: "_PageLinks"
) -> Iterator[str]:
    yield '<section aria-labelledby="findings"><h2 id="findings">Findings</h2>\n'
    if not report["findings"]:
        yield "<p>no findings</p>\n"
    else:
        yield '<div class="tools" role="group" aria-label="Which findings are shown">'
        for severity in SEVERITIES:
            yield (
                f'<label><input type="checkbox" id="show-{severity}" checked>'
                f' <span class="{severity}">{severity}</span></label>'
            )
        yield '<input id="sift" type="search" hidden placeholder="Findings with these words"'
        yield ' aria-label="Show only findings with these words"></div>\n'
    captures = {capture["capture"]: capture for capture in report["captures"]}
    for number, finding in enumerate(shown, 1):
        yield from _finding(number, finding, captures[finding["capture"]], style, links)
    if more:
        yield f'<p class="dim">... and {more:,} more; --limit 0 shows all</p>\n'
    yield "</section>\n"


def _finding(
    number: int, finding: FindingRow, capture: CaptureRow, style: TimeStyle, links: "_PageLinks"
) -> Iterator[str]:
    severity, rule = finding["severity"], finding["rule"]
    where = _text(capture_name(capture))
    if finding["frame"] is not None:
        at = time_formatter(style, capture["first_ns"])(finding["at_ns"])
        where += f" at {_text(at)}, frame {_text(frame_at(finding))}"
    if finding["stream"] is not None:
        anchor = links.stream(finding)
        label = f"stream {_text(finding['stream'])}"
        where += ", " + (label if anchor is None else f'<a href="#streams-{anchor}">{label}</a>')
    yield f'<article class="{severity}" id="finding-{number}">'
    yield f'<h3><span class="badge {severity}">{severity}</span>'
    yield f'<a href="#rule-{rule}">{rule} {_text(finding["name"])}</a>'
    yield f' <span class="dim">({finding["certainty"]})</span></h3>'
    yield f'<p>{_text(finding["text"])}</p><p class="dim">{where}</p>'
    if finding["evidence"]:
        rows = (
            f"<li>frame {_text(frame_at(e))}: {_text(e['shows'])}</li>" for e in finding["evidence"]
        )
        yield f'<ol class="evidence">{"".join(rows)}</ol>'
    gaps = links.gaps(finding)
    if gaps:
        label = ", ".join(f'<a href="#gap-{gap}">gap {gap}</a>' for gap in gaps[:_LINKS])
        more = max(len(gaps) - _LINKS, 0)
        yield f"<p>{label}{f' and {more:,} more' if more else ''}</p>"
    yield f'<p><span class="dim">filter:</span> <code>{_text(filter_of(finding))}</code></p>'
    yield "</article>\n"


def _rules(findings: Iterable[FindingRow]) -> Iterator[str]:
    """What the rules of these findings mean."""
    yield '<section aria-labelledby="rules"><h2 id="rules">Rules</h2>\n'
    for code in sorted({finding["rule"] for finding in findings}):
        rule = RULES[code]
        yield f'<details id="rule-{code}"><summary>{code} {_text(rule.name)}</summary>'
        yield f"<p>{_text(rule.meaning)}</p><p>Detected: {_text(rule.detection)}</p>"
        yield f"<p>What to do: {_text(rule.action)}</p></details>\n"
    yield "</section>\n"


class _PageLinks:
    """From findings to streams and gaps of the page, and from gaps to findings."""

    def __init__(self, report: Report, gaps: Iterable[GapRow]) -> None:
        self._streams = {
            (stream["capture"], stream["id"]): index
            for index, stream in enumerate(report["streams"])
        }
        self._gaps: dict[tuple[int, str], list[tuple[int, int, int]]] = {}
        for gap in gaps:
            ranges = self._gaps.setdefault((gap["capture"], gap["stream"]), [])
            ranges += [(last, first, gap["number"]) for first, last in gap["seqnos"]]
        for ranges in self._gaps.values():
            ranges.sort()

    def stream(self, finding: FindingRow) -> int | None:
        """The place of a finding's stream among the streams."""
        return self._streams.get((finding["capture"], finding["stream"] or ""))

    def gaps(self, finding: FindingRow) -> list[int]:
        """The gaps that a finding's seqnos are of."""
        ranges = self._gaps.get((finding["capture"], finding["stream"] or ""), [])
        found: dict[int, None] = {}
        for first, last in finding["seqnos"]:
            index = bisect_left(ranges, (first, -1, -1))
            while index < len(ranges) and ranges[index][1] <= last:
                found[ranges[index][2]] = None
                index += 1
        return list(found)

    def of(self, findings: Iterable[FindingRow]) -> dict[int, list[int]]:
        """Numbers of the findings about each gap."""
        about: dict[int, list[int]] = {}
        for number, finding in enumerate(findings, 1):
            for gap in self.gaps(finding):
                numbers = about.setdefault(gap, [])
                if len(numbers) < _LINKS:
                    numbers.append(number)
        return about


# ---- What the script fills


def _pictures(gaps: Sequence[GapRow]) -> Iterator[str]:
    yield '<section aria-labelledby="pictures"><h2 id="pictures">Pictures</h2>\n'
    yield "<noscript><p>Pictures and tables need the script of this page, which does not run"
    yield " here.</p></noscript>\n"
    yield '<div id="timeline"></div>\n'
    if gaps:
        yield '<div id="gap" class="gap" hidden></div>\n'
    yield "</section>\n"


def _table(renderable: object, tables: list[Listing]) -> Iterator[str]:
    """What the terminal shows, as HTML: listings are tables that the script fills, bold lines are
    titles."""
    if isinstance(renderable, Group):
        for part in renderable.renderables:
            yield from _table(part, tables)
    elif isinstance(renderable, Listing):
        name = renderable.title.lower().replace(" ", "-")
        yield f'<section aria-labelledby="{name}"><h2 id="{name}">{_text(renderable.title)}</h2>'
        yield f'<div data-table="{len(tables)}"></div></section>\n'
        tables.append(renderable)
    elif isinstance(renderable, Text):
        if renderable.plain and renderable.plain != "Rules":
            tag = "h2" if renderable.style == "bold" else "p"
            yield f"<{tag}>{_text(renderable.plain)}</{tag}>\n"
    else:
        raise AssertionError(f"a page cannot show {type(renderable).__name__}")


def _style() -> str:
    return _file("uPlot.min.css") + "\n" + _file("page.css")


def _scripts() -> tuple[str, str]:
    licence = f"/*\nuPlot\n\n{_file('uPlot.LICENSE')}\n*/\n"
    return licence + _file("uPlot.iife.min.js"), _file("page.js")


def _file(name: str) -> str:
    return (_WEB / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _text(value: object) -> str:
    """Text for an element or attribute: nothing in it acts, in a terminal or a browser."""
    return escape(safe(value))
