"""Imports point one way: cli, pipeline, replay, decoders (design 2)."""

import ast
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
ORDER: Final = ("decoders", "replay", "pipeline", "cli")
#: What replay may know of the decoders: the event contract, and the names of Arrow's functions.
CONTRACT: Final = {"events", "columns"}


def imported(folder: str) -> set[tuple[str, str]]:
    """(folder, module) of ours that the code in ``folder`` imports."""
    found = set()
    for path in (ROOT / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name.name}" for name in node.names]
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            else:
                continue
            found |= {tuple(n.split(".")[1:3]) for n in names if n.startswith("seqaudit.")}
    return {(parts[0], parts[1]) for parts in found if len(parts) == 2}


@pytest.mark.parametrize("folder", ORDER)
def test_a_folder_imports_none_above_it(folder: str) -> None:
    above = set(ORDER[ORDER.index(folder) + 1 :])
    assert [found for found in imported(folder) if found[0] in above] == []
    assert folder in {found[0] for found in imported(folder)}


def test_replay_knows_of_the_decoders_the_event_contract_only() -> None:
    assert {module for folder, module in imported("replay") if folder == "decoders"} == CONTRACT
