"""The HTML page in a real Chromium: nothing fails, nothing is fetched, everybody can read it."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.cli.output.page import WHOLE, page
from seqaudit.cli.output.short_names import shortened
from tests.cli.output.browser import Browser, browser, path
from tests.cli.output.test_page import FIXTURES, audited, hostile

CHROMIUM = path()
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here: apt-get install chromium"
)

#: The least ratio of a text's and its ground's luminance that WCAG 2 AA asks for.
CONTRAST = 4.5

_LEAST_CONTRAST = """
(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour.length && colour[3] !== 0) return colour;
    }
    return [255, 255, 255];
  };
  let least = [99, ""];
  for (const one of document.querySelectorAll("body *")) {
    if (one.matches("script, noscript, :disabled, option") || !one.checkVisibility()) continue;
    const held = one.placeholder && "::placeholder";
    const told = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!told && !held) continue;
    const pair = [light(parse(getComputedStyle(one, held).color)), light(ground(one))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < least[0]) least = [ratio, `${one.tagName} ${one.className} ${one.textContent}`];
  }
  return least;
})()
"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with browser(CHROMIUM) as one:
        yield one


@pytest.fixture(scope="module")
def report() -> Any:
    folder = FIXTURES / "jgroups"
    return audited(folder / "n4-loss-1" / "C.pcap", folder / "n2-last-lost-1" / "C.pcap")


def written(report: Any, folder: Path) -> Path:
    file = folder / "report.html"
    file.write_text("".join(page(report, "utc")), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def shown(report: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(report, tmp_path_factory.mktemp("page"))


CAPTURES = (
    "jgroups/n4-loss-1/C.pcap",
    "jgroups/n4-window-full-1/B.pcap",
    "raims/rv-dataloss-1/B.pcap",
    "zenoh/udp-cache-too-small-1/sub.pcap",
    "captures/micro-le.pcap",
)


def test_pages_of_all_systems_raise_no_error_and_fetch_nothing(
    tab: Browser, tmp_path: Path
) -> None:
    for number, capture in enumerate(CAPTURES):
        file = tmp_path / f"{number}.html"
        words = ["audit", "--engine", "direct", "-o", str(file), str(FIXTURES / capture)]
        CliRunner().invoke(main, words)
        tab.open(file)
        assert tab.problems() == []
        assert tab.requests() == [file.as_uri()]
        assert tab.run("document.querySelectorAll('[data-table]:empty').length") == 0


def test_nothing_of_a_hostile_wire_runs(
    tab: Browser, report: dict[str, Any], tmp_path: Path
) -> None:
    tab.open(written(hostile(report), tmp_path))
    assert tab.problems() == []
    assert len(tab.requests()) == 1
    assert tab.run("document.images.length + document.querySelectorAll('main script').length") == 0
    assert "<script>alert(1)</script>" in tab.run("document.getElementById('gap').textContent")


def test_a_script_that_is_not_of_the_page_is_refused(tab: Browser, shown: Path) -> None:
    tab.open(shown)
    tab.run(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'hit = 1'}))"
    )
    assert tab.run("typeof hit") == "undefined"
    assert tab.run("fetch('https://example.org').then(() => 'let', () => 'refused')") == "refused"


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_can_be_read_in_both_themes(tab: Browser, shown: Path, dark: bool) -> None:
    tab.open(shown, dark=dark)
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    least, where = tab.run(_LEAST_CONTRAST)
    assert least >= CONTRAST, where
    told = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (told == "rgb(255, 255, 255)") is not dark


def test_a_phone_needs_no_sideways_scrolling(tab: Browser, shown: Path) -> None:
    tab.open(shown, width=390, height=844)
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.run("document.documentElement.scrollWidth") == 390
    assert tab.run("Math.max(...[...document.querySelectorAll('canvas')].map(c => c.clientWidth))")


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_tables_of_every_system_are_seen_without_sideways_scrolling(
    tab: Browser, tmp_path: Path, width: int
) -> None:
    """Columns that have no room are named, and come when they are wanted."""
    for number, capture in enumerate(CAPTURES):
        file = tmp_path / f"{number}.html"
        CliRunner().invoke(main, ["audit", "-q", "-o", str(file), str(FIXTURES / capture)])
        tab.open(file, width=width)
        wide = "[...document.querySelectorAll('.wide')].some((w) => w.scrollWidth > w.clientWidth)"
        left = "[...document.querySelectorAll('[data-table] th')].filter((one) => one.hidden)"
        assert not tab.run(wide), capture
        assert tab.run(f"{left}.length > 0") >= (width == 390)
        assert tab.run(
            f"{left}.every((one) => one.closest('[data-table]').querySelector('label')"
            ".textContent.includes(one.textContent))"
        )
        tab.run("document.querySelectorAll('label input').forEach((one) => one.click())")
        assert tab.run(f"{left}.length") == 0
        assert tab.run("document.documentElement.scrollWidth") <= width


def test_a_search_takes_whole_identities(tab: Browser, tmp_path: Path) -> None:
    report = audited(FIXTURES / "zenoh" / "udp-cache-too-small-1" / "sub.pcap")
    tab.open(written(report, tmp_path))
    whole = report["streams"][0]["sender"]
    assert len(whole) > 16
    told = """((words) => {
      const own = document.querySelector('#streams + [data-table]');
      own.querySelector('input').value = words;
      own.querySelector('input').dispatchEvent(new Event('input'));
      return own.querySelectorAll('tbody tr').length;
    })"""
    assert tab.run(f"{told}({whole!r})") == tab.run(f"{told}({whole[:8]!r})") > 0
    assert tab.run(f"{told}('{whole[::-1]}')") == 0


def test_whatever_can_be_used_or_seen_has_a_name_for_screen_readers(
    tab: Browser, shown: Path
) -> None:
    tab.open(shown)
    roles = {"button", "link", "searchbox", "combobox", "checkbox", "image", "table", "region"}
    found: dict[str, int] = {}
    for node in tab.ask("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if role in roles and not node["ignored"]:
            assert node["name"]["value"].strip(), node
            found[role] = found.get(role, 0) + 1
    assert set(found) == roles


def pressed(tab: Browser, key: str, code: int) -> None:
    for kind in ("keyDown", "keyUp"):
        tab.ask(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key,
            windowsVirtualKeyCode=code, text="\r" if key == "Enter" else "",
        )  # fmt: skip


def column(tab: Browser, table: str, header: str) -> list[str]:
    told: list[str] = tab.run(
        f"""(() => {{
          const own = document.querySelector('#{table} + [data-table] table');
          const at = [...own.tHead.rows[0].cells].findIndex((c) => c.textContent === '{header}');
          return [...own.tBodies[0].rows].map((row) => row.cells[at].textContent);
        }})()"""
    )
    return told


def test_a_table_is_sorted_by_the_keyboard_numbers_as_numbers(tab: Browser, shown: Path) -> None:
    tab.open(shown)
    tab.run(
        "[...document.querySelectorAll('#gaps + [data-table] th button')]"
        ".find((one) => one.textContent === 'delivered after').focus()"
    )
    sizes = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    orders = []
    for _ in range(2):
        pressed(tab, "Enter", 13)
        cells = [cell.split() for cell in column(tab, "gaps", "delivered after")]
        orders.append([float(c[0]) * sizes[c[1]] for c in cells if len(c) == 2])
        assert all(len(c) == 1 for c in cells[len(orders[-1]) :])  # what nobody knows is last
    assert orders[0] == sorted(orders[0])
    assert orders[1] == sorted(orders[0], reverse=True)
    assert len(set(orders[0])) > 1
    assert tab.run("document.activeElement.parentElement.ariaSort") == "descending"


def test_a_click_on_a_gap_tells_its_story_beside_its_picture(
    tab: Browser, report: dict[str, Any], shown: Path
) -> None:
    number = len(report["gaps"])
    gap = report["gaps"][-1]
    tab.open(shown)
    tab.run(f"document.querySelector('[href=\"#gap-{number}\"]').click()")
    tab.run("new Promise((done) => requestAnimationFrame(done))")
    told = tab.run("document.getElementById('gap').innerText")
    assert told.startswith(f"◀ Gap before\nNext gap ▶\nGap {number}: {gap['system']}")
    for step in shortened(gap["story"]["steps"], {}, WHOLE):
        assert step["says"] in told
    assert tab.run("document.querySelectorAll('#gap canvas').length") == 1
    assert tab.run("document.activeElement.id") == "gap-title"
    assert tab.problems() == []


def test_a_link_to_a_gap_or_a_stream_opens_there(tab: Browser, shown: Path) -> None:
    tab.open(shown, mark="#gap-2")
    assert "Gap 2:" in tab.run("document.getElementById('gap').innerText")
    tab.open(shown, mark="#streams-1")
    assert tab.run("document.querySelector('#streams + [data-table] .chosen').rowIndex") == 2


def test_zoom_buttons_show_a_part_of_the_timeline_and_all_of_it_again(
    tab: Browser, shown: Path
) -> None:
    tab.open(shown)
    drawn = "document.querySelector('#timeline canvas').toDataURL()"
    before = tab.run(drawn)
    wait = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    tab.run("document.querySelector('[aria-label=\"Zoom in\"]').click()")
    tab.run(wait)
    assert tab.run(drawn) != before
    tab.run("document.querySelector('[aria-label=\"Show the whole capture\"]').click()")
    tab.run(wait)
    assert tab.run(drawn) == before


def test_the_filter_of_a_finding_is_copied(
    tab: Browser, report: dict[str, Any], shown: Path
) -> None:
    tab.open(shown)
    tab.run("window.taken = ''; addEventListener('copy', () => { taken = `${getSelection()}`; })")
    tab.run("navigator.clipboard.writeText = async (text) => { taken = text; }")
    filters = {finding["filter"] for finding in report["findings"]}
    tab.run("document.querySelector('.copy').click()")
    assert tab.run("taken") in filters
    assert tab.run("document.querySelector('.copy').textContent") == "Copied"


def test_ten_thousand_gaps_are_filtered_and_only_what_is_seen_is_drawn(
    tab: Browser, report: dict[str, Any], tmp_path: Path
) -> None:
    many = copy.deepcopy(report)
    first = many["gaps"][0]
    many["gaps"] = [first | {"seqnos": [[n, n]], "count": 1} for n in range(1000, 11_000)]
    tab.open(written(many, tmp_path))
    assert tab.problems() == []
    took = tab.run(
        """(() => {
          const own = document.querySelector('#gaps + [data-table]');
          const input = own.querySelector('input');
          const times = [];
          for (const words of ['recovered', '7', '77', '777', '7777 recovered', '']) {
            const begin = performance.now();
            input.value = words;
            input.dispatchEvent(new Event('input'));
            own.offsetHeight;
            times.push([performance.now() - begin, own.querySelectorAll('tbody tr').length,
                        own.querySelector('[role=status]').textContent]);
          }
          return times;
        })()"""
    )
    print([round(one[0], 1) for one in took])
    assert max(one[1] for one in took) == 100
    assert took[0][2] == took[-1][2] == "10,000 rows"
    # seqno 7777, and it stands in no other column: gap 6,778 is none of these
    assert took[-2][1:] == [2, "2 of 10,000 rows"]


def test_on_paper_the_stories_of_all_gaps_that_the_list_shows_are_told(
    tab: Browser, shown: Path
) -> None:
    told = "[...document.querySelectorAll('#gap h3, #stories h3')].map((one) => one.textContent)"
    tab.open(shown)
    assert len(tab.run(told)) == 1
    tab.run("dispatchEvent(new Event('beforeprint'))")
    numbers = [int(title.split(":")[0].removeprefix("Gap ")) for title in tab.run(told)]
    assert numbers == list(range(1, 11))
    assert "never came here" in tab.run("document.getElementById('stories').textContent")
    tab.run("dispatchEvent(new Event('afterprint'))")
    assert len(tab.run(told)) == 1
    tab.run("""(() => {
        const filter = document.querySelector('[aria-label^="Gaps: show only"]');
        filter.value = "HIGHEST_SEQNO";
        filter.dispatchEvent(new Event("input"));
    })()""")
    listed = tab.run("document.querySelectorAll('#gaps ~ div tbody tr').length")
    tab.run("dispatchEvent(new Event('beforeprint'))")
    assert len(tab.run(told)) == 1 + listed == 3  # the chosen one's is not of the list
    tab.run("dispatchEvent(new Event('afterprint'))")


def test_of_many_gaps_paper_says_how_many_stories_it_leaves_out(
    tab: Browser, report: Any, tmp_path: Path
) -> None:
    many = copy.deepcopy(report)
    many["gaps"] = [many["gaps"][0] | {"seqnos": [[n, n]], "count": 1} for n in range(200)]
    tab.open(written(many, tmp_path))
    tab.run("dispatchEvent(new Event('beforeprint'))")
    last = tab.run("document.querySelector('#stories > p').textContent")
    assert last == "149 more gaps of the list have their stories on the page only."
    assert tab.run("document.querySelectorAll('#stories article').length") == 50
    tab.run("dispatchEvent(new Event('afterprint'))")


def test_on_paper_all_is_open_and_dark_on_white(tab: Browser, shown: Path) -> None:
    tab.open(shown, dark=True)
    assert tab.paper().startswith(b"%PDF-")
    assert tab.problems() == []
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    tab.ask("Emulation.setEmulatedMedia", media="print", features=[scheme])
    try:
        tab.run("dispatchEvent(new Event('beforeprint'))")
        least, where = tab.run(_LEAST_CONTRAST)
        assert least >= CONTRAST, where
        assert tab.run("[...document.querySelectorAll('details')].every((one) => one.open)")
        assert tab.run("getComputedStyle(document.querySelector('nav')).display") == "none"
        charts = "[...document.querySelectorAll('.uplot')].map((one) => getComputedStyle(one)"
        assert set(tab.run(f"{charts}.breakInside)")) == {"avoid"}  # on one sheet each
        assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    finally:
        tab.ask("Emulation.setEmulatedMedia", media="")
