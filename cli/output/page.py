"""The report as one HTML page for people: no other file, no network, light and dark
(CONTRIBUTING.md 2).

Tables are those of the terminal. Findings can be filtered by severity without any script; the one
small script filters rows by what is typed. A content security policy with that script's hash lets
nothing else run, should escaping ever fail (cli/README.md 2).
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.metadata import version
from typing import Any, Final

from rich.console import Group
from rich.text import Text

from seqaudit.cli.output.listing import Listing
from seqaudit.cli.output.outcomes import SEVERITIES, Report, unjudged
from seqaudit.cli.output.several import names
from seqaudit.cli.output.table import capture_name, gravest_first, render_rules, render_tables
from seqaudit.cli.output.text import filter_of, frame_at, safe
from seqaudit.cli.output.times import TimeStyle, time_formatter
from seqaudit.replay.stages.systems import RULES

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2330; --dim: #5d6675; --paper: #ffffff;
  --card: #f5f7fa; --line: #d8dee7; --error: #b3261e; --warning: #8a5a00; --info: #1f5f99; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --dim: #9aa5b4; --paper: #14181f;
  --card: #1c222b; --line: #343d4a; --error: #ff8a80; --warning: #f2bd5c; --info: #7cb8f2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 110rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .3rem 0; overflow-wrap: anywhere; } .dim { color: var(--dim); }
.totals { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; padding: 0;
  list-style: none; }
.totals li { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .4rem .9rem; } .totals b { font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.totals span { color: var(--dim); display: block; font-size: .85rem; }
.error { color: var(--error); } .warning { color: var(--warning); } .info { color: var(--info); }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem;
  width: fit-content; max-width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
tbody tr:last-child td { border-bottom: 0; } tbody tr:hover { background: var(--card); }
th { background: var(--card); color: var(--dim); font-weight: 600; vertical-align: bottom; }
th { white-space: normal; min-width: 3.5rem; } th:first-child { min-width: 0; }
.right { text-align: right; font-variant-numeric: tabular-nums; }
article { background: var(--card); border: 1px solid var(--line); border-left: .3rem solid;
  border-radius: .5rem; margin: .6rem 0; padding: .6rem .9rem; }
article.error { border-left-color: var(--error); } article.info { border-left-color: var(--info); }
article.warning { border-left-color: var(--warning); } article > * { color: var(--ink); }
article h3 { font-size: 1rem; margin: 0; } article h3 .badge { margin-right: .3rem; }
.badge.error { color: var(--error); } .badge.warning { color: var(--warning); }
.badge.info { color: var(--info); } article .dim { color: var(--dim); }
code { font: .85rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; user-select: all; }
ol { margin: .3rem 0; padding-left: 1.2rem; list-style: none; font-size: .875rem;
  columns: 24rem; }
details { margin-top: .3rem; font-size: .875rem; } summary { cursor: pointer; color: var(--dim); }
.choose { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; margin: 1rem 0; }
#sift { flex: 1 1 16rem; max-width: 28rem; padding: .35rem .6rem; font: inherit; color: inherit;
  background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; }
body:has(#show-error:not(:checked)) article.error,
body:has(#show-warning:not(:checked)) article.warning,
body:has(#show-info:not(:checked)) article.info, .sifted { display: none; }
@media (max-width: 40rem) { body { padding: .8rem; } #sift { flex-basis: 100%; } }
@media print { .choose { display: none; } .wide { overflow: visible; } }
"""

_SCRIPT: Final = """
const sift = document.getElementById('sift');
sift.hidden = false;
sift.addEventListener('input', () => {
  const words = sift.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const row of document.querySelectorAll('tbody tr, article')) {
    const text = row.textContent.toLowerCase();
    row.classList.toggle('sifted', !words.every((word) => text.includes(word)));
  }
});
"""


def page(report: Report, style: TimeStyle, limit: int) -> str:
    """The page; ``limit`` rows a table and findings, 0 for all."""
    return "\n".join(_parts(report, style, limit)) + "\n"


def _parts(report: Report, style: TimeStyle, limit: int) -> Iterator[str]:
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    named = names([capture_name(capture) for capture in report["captures"]])
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>seqaudit: {_text(named)}</title>"
    yield f"<style>{_STYLE}</style></head><body>"
    yield f'<h1>Audit</h1><p class="dim">{_text(named)}; seqaudit {version("seqaudit")}</p>'
    yield from _totals(report)
    for _, problem in unjudged(report):
        yield f'<p class="error">{_text(problem)}</p>'
    yield '<div class="choose">'
    yield (
        '<input id="sift" type="search" placeholder="Show only rows with these words"'
        ' aria-label="Show only rows with these words" hidden>'
    )
    for severity in SEVERITIES:
        yield (
            f'<label><input type="checkbox" id="show-{severity}" checked>'
            f' <span class="{severity}">{severity}</span></label>'
        )
    yield "</div>"
    yield from _findings(report, style, limit)
    for renderable in render_tables(report, style, limit):
        yield from _table(renderable)
    yield from _table(render_rules(report))
    yield f"<script>{_SCRIPT}</script></body></html>"


def _totals(report: Report) -> Iterator[str]:
    totals = report["totals"]
    counts = [(totals["findings"][severity], severity, severity) for severity in SEVERITIES]
    counts += [
        (totals[name], name, "")
        for name in ("frames", "streams", "messages", "gaps", "lost", "recovered", "unrecovered")
    ]
    yield '<ul class="totals">'
    for count, name, kind in counts:
        shown = f' class="{kind}"' if kind and count else ""
        told = "unknown" if count is None else count
        yield f"<li><b{shown}>{told}</b><span>{name}</span></li>"
    yield "</ul>"


def _findings(report: Report, style: TimeStyle, limit: int) -> Iterator[str]:
    yield "<h2>Findings</h2>"
    findings = gravest_first(report["findings"])
    if not findings:
        yield "<p>no findings</p>"
    captures = {capture["capture"]: capture for capture in report["captures"]}
    shown = findings[:limit] if limit > 0 else findings
    for finding in shown:
        yield from _finding(finding, captures[finding["capture"]], style)
    if len(shown) < len(findings):
        yield f'<p class="dim">... and {len(findings) - len(shown)} more; --limit 0 shows all</p>'


def _finding(finding: Any, capture: Any, style: TimeStyle) -> Iterator[str]:
    severity = finding["severity"]
    rule = RULES[finding["rule"]]
    where = _text(capture_name(capture))
    if finding["frame"] is not None:
        at = time_formatter(style, capture["first_ns"])(finding["at_ns"])
        frame = frame_at(finding)
        where += f", frame {_text(frame)} at {_text(at)}"
    if finding["stream"] is not None:
        where += f", stream {_text(finding['stream'])}"
    yield f'<article class="{severity}"><h3><span class="badge {severity}">{severity}</span>'
    yield f"{finding['rule']} {_text(finding['name'])}"
    yield f'<span class="dim">({finding["certainty"]})</span></h3>'
    yield f'<p>{_text(finding["text"])}</p><p class="dim">{where}</p>'
    if finding["evidence"]:
        rows = (
            f"<li>frame {_text(frame_at(e))}: {_text(e['shows'])}</li>" for e in finding["evidence"]
        )
        yield f"<ol>{''.join(rows)}</ol>"
    yield f'<p><span class="dim">filter:</span> <code>{_text(filter_of(finding))}</code></p>'
    yield "<details><summary>What this means</summary>"
    yield f"<p>{_text(rule.meaning)}</p><p>Detected: {_text(rule.detection)}</p>"
    yield f"<p>What to do: {_text(rule.action)}</p></details></article>"


def _table(renderable: Any) -> Iterator[str]:
    """What the terminal shows, as HTML: listings are tables, bold lines are titles."""
    if isinstance(renderable, Group):
        for part in renderable.renderables:
            yield from _table(part)
    elif isinstance(renderable, Listing):
        yield from _listing(renderable)
    elif isinstance(renderable, Text):
        tag = "h2" if renderable.style == "bold" else "p"
        if renderable.plain:
            yield f"<{tag}>{_text(renderable.plain)}</{tag}>"
    else:
        raise AssertionError(f"a page cannot show {type(renderable).__name__}")


def _listing(listing: Listing) -> Iterator[str]:
    sides = ["right" if column.align == "right" else "" for column in listing.columns]
    yield f'<h2>{_text(listing.title)}</h2><div class="wide" tabindex="0"><table><thead>'
    yield _row("th", (column.header for column in listing.columns), sides)
    yield "</thead><tbody>"
    for row in listing.rows:
        yield _row("td", row, sides)
    yield "</tbody></table></div>"
    if listing.more:
        yield f'<p class="dim">... and {listing.more} more; --limit 0 shows all</p>'


def _row(tag: str, cells: Iterable[str], sides: Sequence[str]) -> str:
    shown = (
        f'<{tag} class="{side}">{_text(cell)}</{tag}>' if side else f"<{tag}>{_text(cell)}</{tag}>"
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"


def _text(value: object) -> str:
    """Text for an element or attribute: nothing in it acts, in a terminal or a browser."""
    return escape(safe(value))
