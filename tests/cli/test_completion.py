"""A shell completes commands, options and files."""

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("seqaudit ch", "plain,check"),
        ("seqaudit audit --bas", "plain,--baseline"),
        ("seqaudit audit --fail-on w", "plain,warning"),
        ("seqaudit show ga", "plain,gaps"),
        ("seqaudit audit cap", "file,cap"),
    ],
)
def test_what_has_begun_is_completed(words: str, completed: str) -> None:
    environment = {
        "_SEQAUDIT_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    told = CliRunner().invoke(main, [], prog_name="seqaudit", env=environment)
    assert told.stdout.splitlines() == [completed]
