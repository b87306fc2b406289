"""The HTML page as text: what stands in it, what is linked, and that nothing in it acts."""

import base64
import copy
import hashlib
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.cli.output.page import WHOLE, page
from seqaudit.cli.output.short_names import shortened
from seqaudit.cli.output.verdict import verdict
from seqaudit.replay.stages.systems import RULES

Report = Any

FIXTURES = Path(__file__).parents[3] / "fixtures"

#: Text as a hostile sender would choose it.
HOSTILE = (
    "</p></script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\"'&\x1b[31m\u202e\x00"
)


def audited(*captures: Path) -> Report:
    words = ["audit", "--engine", "direct", "--format", "json", *map(str, captures)]
    shown: Report = json.loads(CliRunner().invoke(main, words).stdout)
    return shown


@pytest.fixture(scope="module")
def report() -> Report:
    folder = FIXTURES / "jgroups"
    return audited(folder / "n4-loss-1" / "C.pcap", folder / "n2-last-lost-1" / "C.pcap")


def hostile(report: Report) -> Report:
    """The report with hostile text wherever text can come from a wire or a file name."""
    changed = copy.deepcopy(report)
    for finding in changed["findings"]:
        finding |= {"text": HOSTILE, "filter": HOSTILE, "stream": HOSTILE}
        for evidence in finding["evidence"]:
            evidence["shows"] = HOSTILE
    for stream in changed["streams"]:
        stream |= {"sender_name": HOSTILE, "id": HOSTILE}
    for gap in changed["gaps"]:
        gap |= {"stream": HOSTILE, "outcome": HOSTILE}
        gap["story"] |= {"where_why": HOSTILE, "waited_by_name": HOSTILE}
        for step in gap["story"]["steps"]:
            step |= {"says": HOSTILE, "by_name": HOSTILE}
    for capture in changed["captures"]:
        capture["path"] = HOSTILE + str(capture["capture"])
    for rule in changed["rules"]:
        for entry in rule["not_judged"]:
            entry["why"] = HOSTILE
    changed["unreadable"] = [{"path": HOSTILE, "problem": HOSTILE}]
    return changed


class Page(HTMLParser):
    """What a browser would see: elements by name, texts, scripts, and the block of data."""

    def __init__(self, report: Report, limit: int | None = None) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.data: dict[str, Any] = {}
        self._inside = ""
        self.text = "".join(page(report, "utc", limit))
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            if self.elements[-1][1].get("type") == "application/json":
                self.data = json.loads(data)
            else:
                self.scripts.append(data)
        elif self._inside == "style":
            self.styles.append(data)
        else:
            self.texts.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    def of(self, attribute: str) -> set[str]:
        return {str(attrs[attribute]) for _, attrs in self.elements if attribute in attrs}


def test_the_page_begins_with_the_verdict_and_when_it_was_captured(report: Report) -> None:
    shown = Page(report)
    told = " ".join(shown.texts)
    assert shown.count("h1") == 1
    assert told.index(verdict(report)[0]) < told.index("Captured from 2026-11-20 ")
    assert told.index("Captured from") < told.index("Findings")


def test_the_page_has_all_findings_all_rows_and_what_rules_mean(report: Report) -> None:
    shown = Page(report)
    assert shown.count("article") == len(report["findings"])
    rows = {table["title"]: len(table["rows"]) for table in shown.data["tables"]}
    assert {name.lower(): count for name, count in rows.items()} == {
        name: len(report[name]) for name in ("captures", "streams", "connections", "gaps")
    }
    told = " ".join(shown.texts)
    for finding in shortened(report["findings"], {}, WHOLE):
        assert finding["text"] in told
        assert finding["filter"] in told
        assert RULES[finding["rule"]].action in told
        assert finding["stream"] is None or f"stream {finding['stream']}" in told
    assert "not judged, mcast.capacity is not given" in told


def test_long_identities_are_short_everywhere_and_told_once_but_filters_are_as_they_are() -> None:
    report = audited(FIXTURES / "zenoh" / "udp-cache-too-small-1" / "sub.pcap")
    shown = Page(report)
    names = shown.data["names"]
    assert names
    found: dict[str, str] = {}
    shortened(report, found, WHOLE)
    assert names == found
    for short, whole in names.items():
        assert [text for text in shown.texts if whole in text] == [f"{short} is {whole}"]
        assert shown.text.count(whole) == 2  # told, and known to the script for what is searched
    copied = report | {"findings": [{**report["findings"][0], "filter": whole}]}
    assert whole in Page(copied).texts


def test_a_gap_has_its_story_and_links_to_and_from_its_findings(report: Report) -> None:
    shown = Page(report)
    texts = shown.data["texts"]
    gaps = shortened(report["gaps"], {}, WHOLE)
    for number, (gap, row) in enumerate(zip(gaps, shown.data["gaps"], strict=True), 1):
        assert row["number"] == number
        told = [[texts[step[2]], texts[step[5]]] for step in row["steps"]]
        assert told == [[step["step"], step["says"]] for step in gap["story"]["steps"]]
        assert any(gap["story"]["where_why"] in texts[line] for line in row["lines"])
        assert row["findings"]
        for finding in row["findings"]:
            own = report["findings"]
            ranked = sorted(own, key=lambda f: ["error", "warning", "info"].index(f["severity"]))
            assert ranked[finding - 1]["stream"] == report["gaps"][number - 1]["stream"]
            low, high = gap["seqnos"][0][0], gap["seqnos"][-1][1]
            assert any(low <= b and a <= high for a, b in ranked[finding - 1]["seqnos"])
    assert {"#gap-1", "#gap-6"} <= shown.of("href")
    assert " more</p>" in shown.text  # a finding links to its first gaps and counts the others


def test_the_picture_of_a_gap_has_what_the_capture_shows_round_it(
    report: Report, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    words = ["audit", "--engine", "direct", "-o", str(file)]
    capture = FIXTURES / "jgroups" / "n4-loss-1" / "C.pcap"
    CliRunner().invoke(main, [*words, str(capture)])
    data = json.loads(file.read_text().split('id="data">')[1].split("</script>")[0])
    own = [gap for gap in report["gaps"] if gap["capture"] == 0]
    assert len(data["gaps"]) == len(own) > 0
    for gap, row in zip(own, data["gaps"], strict=True):
        first, start = gap["seqnos"][0][0], report["captures"][0]["first_ns"]
        seen = [(ns + start, seqno + first, mark) for ns, seqno, mark in row["points"]]
        assert any((number, mark) == (first - 1, "+") for _, number, mark in seen)
        for low, high in gap["seqnos"]:  # all of it was sent again, and nothing of it before
            for seqno in range(low, min(high, first + 63) + 1):
                came = [ns for ns, number, mark in seen if number == seqno and mark == "o"]
                assert came and min(came) > gap["revealed_at_ns"]
                assert not any(number == seqno and mark == "+" for _, number, mark in seen)


def test_a_page_says_how_full_a_window_was_where_the_report_knows() -> None:
    own = audited(FIXTURES / "jgroups" / "n4-window-full-1" / "B.pcap")
    window = Page(own).data["windows"][0]
    (stream,) = [stream for stream in own["streams"] if stream.get("stalls")]
    assert (window["capture"], window["limit"], window["most"]) == (0, 32, 32)  # capacity="32"
    assert window["title"] == "Unacknowledged messages of B"
    begin = own["captures"][0]["first_ns"]
    full = [at + begin for at, count in window["steps"] if count == 32]
    assert full == [s["full_at_ns"] for s in stream["stalls"]]


def test_every_link_stays_on_the_page_and_leads_somewhere(report: Report) -> None:
    shown = Page(report)
    made = {f"gap-{gap['number']}" for gap in shown.data["gaps"]}
    made |= {f"streams-{place}" for place in range(len(shown.data["streams"]))}
    assert {link.removeprefix("#") for link in shown.of("href")} <= shown.of("id") | made
    assert all(link.startswith("#") for link in shown.of("href"))


def test_the_page_fetches_nothing_and_runs_its_own_scripts_only(report: Report) -> None:
    shown = Page(report)
    assert len(shown.scripts) == 2

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    (policy,) = [
        attrs["content"]
        for _, attrs in shown.elements
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == (
        f"default-src 'none'; style-src {hashed(shown.styles[0])}; "
        f"script-src {' '.join(map(hashed, shown.scripts))}; base-uri 'none'; form-action 'none'"
    )
    assert shown.count("link") == 0
    for _, attrs in shown.elements:
        assert not {"src", "onclick", "onerror", "style"} & set(attrs)


def test_the_page_carries_the_licence_of_the_library_in_it(report: Report) -> None:
    assert "Copyright (c) 2022 Leon Sorokin" in Page(report).scripts[0]
    assert "THE SOFTWARE IS PROVIDED" in Page(report).scripts[0]


def test_the_page_has_as_many_rows_as_the_limit_says(report: Report) -> None:
    shown = Page(report, 1)
    assert shown.count("article") == 1
    assert f"... and {len(report['findings']) - 1} more" in shown.text
    assert [len(table["rows"]) for table in shown.data["tables"]] == [1] * 4
    assert shown.data["tables"][0]["more"] == len(report["gaps"]) - 1
    assert len(shown.data["gaps"]) == 1


def test_hostile_text_is_inert_on_the_page(report: Report) -> None:
    before, after = Page(report), Page(hostile(report))
    assert not set("\x1b\x00\u202e") & set(after.text)
    assert after.scripts == before.scripts
    assert after.count("img") == 0
    assert {tag for tag, _ in after.elements} == {tag for tag, _ in before.elements}
    block = after.text.split('id="data">')[1].split("</script>")[0]
    assert block.isascii()
    assert not set("<>&") & set(block)


def test_a_page_of_a_part_says_what_filters_left_out(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    capture = FIXTURES / "jgroups" / "n4-loss-1" / "C.pcap"
    words = ["audit", "--engine", "direct", "--select", "MC001", "-o", str(file), str(capture)]
    told = CliRunner().invoke(main, words).stderr.strip().splitlines()
    (line,) = [line for line in told if line.startswith("Filtered: ")]
    assert f"<p>{line} Gaps and findings are numbered as they stand here.</p>" in file.read_text()


def test_a_clean_audit_says_so(report: Report) -> None:
    assert "<p>no findings</p>" in Page(report | {"findings": []}).text
    assert "<p>no findings</p>" not in Page(report).text


def test_numbers_of_more_than_53_bits_are_texts(report: Report) -> None:
    changed = copy.deepcopy(report)
    first = 0x63A789A000000005
    changed["gaps"][0] |= {"seqnos": [[first, first + 2]], "count": 3}
    row = Page(changed).data["gaps"][0]
    assert (row["first"], row["ranges"]) == (str(first), [[0, 2]])
    assert (
        max(len(str(n)) for capture in Page(changed).data["captures"] for n in [capture["length"]])
        < 16
    )
