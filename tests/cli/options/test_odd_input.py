"""What no person means and tools still write: YAML of any shape, file names of any bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main

LOSSY: Final = Path(__file__).parents[3] / "fixtures" / "jgroups" / "n4-loss-1" / "C.pcap"

#: Texts at which PyYAML fails, some with errors of its own and some with Python's.
NO_YAML: Final = {
    "no number": "a: !!int x",
    "no float": "a: !!float x",
    "no date": "a: !!timestamp x",
    "a thirteenth month": "a: 2026-13-01",
    "5,000 digits": "a: " + "9" * 5_000,
    "no truth": "a: !!bool maybe",
    "4,000 digits of sixteen": "a: 0x" + "f" * 4_000,
    "5,000 digits as a key": "9" * 5_000 + ": a",
    "lists in lists": "[" * 5_000 + "]" * 5_000,
    "maps in maps": "a: " + "{a: " * 3_000 + "1" + "}" * 3_000,
    "an object of Python's": "!!python/object/apply:os.system ['true']",
    "a NUL": "a: \0",
    "a list as a key": "? [1, 2]\n: 3",
    "a tab": "\tx: 1",
}


@pytest.mark.parametrize("text", NO_YAML.values(), ids=NO_YAML)
@pytest.mark.parametrize("option", ["--names", "--params", "--feed", "--budget", "--config"])
def test_what_is_no_yaml_is_one_line(option: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(text)
    words = ["check" if option == "--budget" else "audit", "--engine", "direct", str(LOSSY)]
    where = 0 if option == "--config" else len(words)
    words[where:where] = [option, str(file)]
    told = CliRunner().invoke(main, words)
    assert told.exit_code == 2
    assert told.stderr.startswith(f"error: {file}")
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["2026-01-01: x", "true: false", "null: null", "a: .inf"])
def test_keys_of_any_type_are_texts(text: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(text)
    told = CliRunner().invoke(main, ["audit", "--engine", "direct", "--params", str(file), "x"])
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there")
def test_a_file_name_that_is_no_text_is_audited_and_shown_escaped(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/a\xff\xfe.pcap"
    Path(os.fsdecode(name)).write_bytes(LOSSY.read_bytes())
    for words in (["--format", "json"], ["--format", "junit"], ["--format", "html"], []):
        command = [sys.executable, "-m", "seqaudit.cli", "audit", "--engine", "direct", *words]
        done = subprocess.run([*map(os.fsencode, command), name], capture_output=True)
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode()  # UTF-8, whatever the name is
        if "json" in words:
            (capture,) = json.loads(text)["captures"]
            assert os.fsencode(capture["path"]) == name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", ""], "a capture has no name (''); is a variable of the shell not set?"),
        (["info", str(LOSSY), ""], "a capture has no name ('')"),
        (["audit", "-o", "a.json", "-o", "a.json", str(LOSSY)], "-o a.json: is given twice"),
        (["audit", "--since", "5", "--until", "3", str(LOSSY)], "--since is behind --until"),
        (["show", "gaps", "--since", "+2", "--until", "+1", str(LOSSY)], "--since is behind"),
    ],
)
def test_what_nobody_means_is_one_line_and_no_empty_success(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main, [*words, "--engine", "direct"])
    assert (told.exit_code, told.stdout, told.stderr.count("\n")) == (2, "", 1)
    assert said in told.stderr


def test_a_file_of_events_has_no_datagrams_to_infer_from(tmp_path: Path) -> None:
    events = str(tmp_path / "events.parquet")
    direct = ["--engine", "direct"]
    assert CliRunner().invoke(main, ["decode", "-o", events, str(LOSSY), *direct]).exit_code == 0
    told = CliRunner().invoke(main, ["infer", events, *direct])
    assert told.exit_code == 2
    assert told.stderr == f"error: {events}: holds events, no datagrams; name the capture\n"


@pytest.mark.parametrize("words", [("audit",), ("info",), ("audit", str(LOSSY), "--feed")])
def test_a_name_longer_than_a_file_can_have_is_one_line(words: tuple[str, ...]) -> None:
    told = CliRunner().invoke(main, [*words, "a" * 5_000])
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)
    assert told.stderr.startswith("error: File name too long")
