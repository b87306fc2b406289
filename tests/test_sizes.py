"""No module is over 600 lines, no function over 80, of a kernel 120: longer ones hold two ideas."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
MODULE: Final = 600
FUNCTION: Final = 80
KERNEL: Final = 120


def modules() -> Iterator[tuple[Path, str]]:
    for top in ("cli", "decoders", "pipeline", "replay"):
        for path in sorted((ROOT / top).rglob("*.py")):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    lines = {str(path): text.count("\n") for path, text in modules()}
    assert len(lines) > 300
    assert {path: count for path, count in lines.items() if count > MODULE} == {}


def test_no_function_is_longer_than_a_screen_or_two() -> None:
    found = [
        (f"{path} {node.name}", (node.end_lineno or 0) - node.lineno + 1, "kernel" in path.stem)
        for path, text in modules()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    ]
    assert max(count for _, count, is_kernel in found if is_kernel) > FUNCTION
    assert [one for one in found if one[1] > (KERNEL if one[2] else FUNCTION)] == []
