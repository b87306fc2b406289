"""The README is true: its output is what the command prints, its test command is what CI runs.

``python -m tests.test_readme`` writes what the command prints now into the README.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.pipeline.engine_choice import chosen

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
OUTPUT = re.compile(r"(<!-- ((?:audit|show recovery) [^\n]+?) -->\n```\n)(.*?)(```\n)", re.DOTALL)


def printed(command: str) -> str:
    """What a command of the README prints; run from the root."""
    shown = CliRunner().invoke(main, [*command.split(), "--engine", "direct"])
    assert shown.exit_code in (0, 1)  # findings
    return shown.stdout


def test_the_shown_output_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = OUTPUT.findall(README)
    assert len(shown) == 2
    assert COMMANDS[0].endswith(f".venv/bin/seqaudit {shown[0][1]}")
    monkeypatch.chdir(ROOT)
    for _, command, text, _ in shown:
        assert printed(command) == text


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
    named = re.findall(r"`seqaudit ([a-z]+(?: [a-z]+)?)", README)
    assert "audit" in {words.split()[0] for words in named}
    for words in named:
        parts = words.split()
        first = CliRunner().invoke(main, [*parts[:1], "--help"])
        assert first.exit_code == 0, words


def test_every_option_in_the_readme_exists() -> None:
    helped = "".join(
        CliRunner().invoke(main, [*words, "--help"]).stdout for words in ([], ["audit"])
    )
    named = re.findall(r"`(--[a-z-]+)", README)
    assert "--at" in named
    for option in named:
        assert option in helped


if __name__ == "__main__":
    text = OUTPUT.sub(lambda shown: shown[1] + printed(shown[2]) + shown[4], README)
    (ROOT / "README.md").write_text(text, encoding="utf-8")
