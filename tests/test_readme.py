"""The README and the reference are true: their output is what the commands print.

``python -m tests.test_readme`` writes what the commands print now into both, and the picture.
"""

import html
import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import all_commands, main
from seqaudit.cli.options.budget import EXAMPLE
from seqaudit.cli.output.table import render_audit
from seqaudit.pipeline.engine_choice import chosen

ROOT = Path(__file__).parent.parent
PAGES: Final = (ROOT / "README.md", ROOT / "cli" / "reference.md")
PICTURE: Final = ROOT / "cli" / "audit.svg"
README = PAGES[0].read_text(encoding="utf-8")
BOTH = "".join(path.read_text(encoding="utf-8") for path in PAGES)
COMMANDS = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
OUTPUT = re.compile(r"(<!-- ((?:audit|show|rules) [^\n]+?) -->\n```\n)(.*?)(```\n)", re.DOTALL)


def printed(command: str) -> str:
    """What a command of the README prints; run from the root."""
    engine = [] if command.startswith("rules") else ["--engine", "direct"]
    shown = CliRunner().invoke(main, [*command.split(), *engine])
    assert shown.exit_code in (0, 1)  # findings
    return shown.stdout


def picture() -> str:
    """The README's first command as a terminal of 110 columns shows it; no font is fetched."""
    from rich.console import Console

    words = COMMANDS[0].split()[-2:]
    shown = CliRunner().invoke(main, [*words, "--engine", "direct", "--format", "json"])
    console = Console(
        record=True, width=110, file=io.StringIO(), force_terminal=True, color_system="truecolor",
        legacy_windows=False,
    )  # fmt: skip
    for part in render_audit(json.loads(shown.stdout), "utc", 100, everything=False):
        console.print(part)
    drawn = console.export_svg(title=" ".join(["seqaudit", *words]), unique_id="seqaudit")
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)


def words_of(svg: str) -> list[str]:
    """The text of a picture; colours and distances are rich's."""
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_the_shown_output_is_what_the_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = OUTPUT.findall(BOTH)
    assert len(shown) == 6
    monkeypatch.chdir(ROOT)
    for _, command, text, _ in shown:
        assert printed(command) == text


def test_the_picture_is_of_the_first_command_and_fetches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    drawn = PICTURE.read_text(encoding="utf-8")
    assert words_of(drawn) == words_of(picture())
    assert "url(http" not in drawn and 'url("http' not in drawn
    assert "](cli/audit.svg)" in README


def test_what_the_readme_links_to_is_there() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), link


def test_the_lines_that_say_which_engine_answers_are_what_the_commands_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    quick, spark = COMMANDS[0], re.search(r"^\.venv/bin/seqaudit (audit .*)$", README, re.MULTILINE)
    assert spark is not None
    capture = quick.split()[-1]
    assert spark[1] == f"audit --engine spark {capture}"
    for asked in ("auto", "spark"):
        assert f"\n{chosen(asked, None, None, [capture], environment={}).line}\n" in README


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert len(COMMANDS) == 2
    assert COMMANDS[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_command_in_the_readme_exists() -> None:
    named = re.findall(r"`seqaudit ([a-z]+(?: [a-z]+)?)", BOTH)
    assert "audit" in {words.split()[0] for words in named}
    for words in named:
        parts = words.split()
        first = CliRunner().invoke(main, [*parts[:1], "--help"])
        assert first.exit_code == 0, words


#: Commands in lines of their own or between backticks; what a cluster is asked has other tests.
_RECIPES: Final = [
    command
    for command in re.findall(r"^(seqaudit [^\n]+)$|`(seqaudit [a-z]+ [^`]*\.[^`]*)`", README, re.M)
    for command in filter(None, command)
    if command.split()[1] in all_commands() and not re.search(r"://|spark environment", command)
]


@pytest.fixture
def at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the recipes name."""
    captures = ROOT / "fixtures" / "jgroups" / "n4-loss-1"
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    (tmp_path / "recordings").mkdir()
    for name, capture in {
        "B.pcap": "B", "C.pcap": "C", "good.pcap": "A", "bad.pcap": "C", "recordings/C.pcap": "C",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes((captures / f"{capture}.pcap").read_bytes())
    (tmp_path / "budget.yaml").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_recipes() -> None:
    assert {command.split()[1] for command in _RECIPES} == {"audit", "check", "diff", "slice"}


@pytest.mark.parametrize("command", _RECIPES)
def test_a_recipe_of_the_readme_works_as_it_stands(command: str, at_work: Path) -> None:
    here = command.partition(" ||")[0].replace("/var/captures/", "recordings/")
    words = here.replace("/var/log/", "").split()[1:]
    if "--baseline" in words:
        CliRunner().invoke(main, ["audit", "--write-baseline", "known.json", "recordings/"])
    written = [word for before, word in pairwise(words) if before in ("-o", "--write-baseline")]
    before = set(at_work.iterdir())
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code in (0, 1), ended.stderr
    assert {path.name for path in set(at_work.iterdir()) - before} == set(written)
    assert all((at_work / name).stat().st_size for name in written)


def test_every_option_in_the_readme_exists() -> None:
    helped = "".join(
        CliRunner().invoke(main, [*words, "--help"]).stdout
        for words in ([], *(name.split() for name in all_commands()))
    )
    named = re.findall(r"`(--[a-z-]+)", BOTH)
    assert "--at" in named
    for option in named:
        assert option in helped


if __name__ == "__main__":
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        text = OUTPUT.sub(lambda shown: shown[1] + printed(shown[2]) + shown[4], text)
        path.write_text(text, encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
