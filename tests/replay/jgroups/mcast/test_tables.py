"""The way from a row of a decision table to the code and to its test is one search (CONTRIBUTING.md
4)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.replay.jgroups.mcast import rows
from tests.replay.jgroups.mcast.rows import ROWS

HERE = Path(__file__).parent
REPLAY = HERE.parents[3] / "replay"


def marked() -> Iterator[tuple[str, str]]:
    """(row, test) for every ``@pytest.mark.rule(row)`` on a test of replay."""
    for path in sorted(HERE.parents[1].rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            for decorator in node.decorator_list:
                if (
                    isinstance(decorator, ast.Call)
                    and ast.unparse(decorator.func) == "pytest.mark.rule"
                    and isinstance(decorator.args[0], ast.Constant)
                ):
                    yield str(decorator.args[0].value), f"{path.name}::{node.name}"


def test_every_row_has_a_test_or_says_why_no_capture_can_show_it() -> None:
    tested = {row for row, _ in marked()}
    assert [row.id for row in ROWS.values() if not row.not_visible and row.id not in tested] == []
    assert [row.id for row in ROWS.values() if row.not_visible and row.id in tested] == []


def test_every_mcast_mark_names_a_row() -> None:
    ours = re.compile(r"[A-Z]\d+")
    unknown = [(row, test) for row, test in marked() if ours.fullmatch(row) and row not in ROWS]
    assert unknown == []


def test_every_row_is_cited_where_the_engine_implements_it() -> None:
    own = list(REPLAY.glob("jgroups/mcast/*.py"))
    assert own
    sources = [*own, *map(REPLAY.joinpath, SHARED)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    cited = set(re.findall(r"\b([A-Z]\d+)\b", text))
    replayed = [row.id for row in ROWS.values() if not row.not_visible]
    assert [row for row in replayed if row not in cited] == []


#: Modules of ideas that the MCAST engine shares with others.
SHARED = ("jgroups/windows.py", "jgroups/arrivals.py", "sequence/gaps.py")


def test_rows_are_numbered_once_and_say_something() -> None:
    assert len(ROWS) == len(rows._TABLE)
    for letter in "SRNTDAWV":
        numbers = [int(row[1:]) for row in ROWS if row[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1))
    assert all(row.text and row.source for row in ROWS.values())
