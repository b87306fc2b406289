"""Nothing from a wire reaches a terminal as anything but visible text (cli/README.md 2)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.cli.output.text import safe


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [bold]text[/]", "plain [bold]text[/]"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\r", "two\\x0alines\\x0d"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\udcff", "\\udcff"),
        ("\U000e0001", "\\U000e0001"),
        ("größer → ×", "größer → ×"),
        (12, "12"),
    ],
)
def test_what_a_terminal_would_act_on_is_written_out(text: object, shown: str) -> None:
    assert safe(text) == shown


@given(st.text(st.characters()))
def test_no_control_character_ever_survives(text: str) -> None:
    assert not {unicodedata.category(c) for c in safe(text)} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
