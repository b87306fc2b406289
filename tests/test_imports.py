"""Imports point one way, between the top folders and in every folder below them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

import pytest

from seqaudit.replay.stages.systems import SYSTEMS

ROOT: Final = Path(__file__).parent.parent
ORDER: Final = ("decoders", "replay", "pipeline", "cli")
#: What replay may know of the decoders: the event contract, and the names of Arrow's functions.
CONTRACT: Final = {
    "decoders.contract.events",
    "decoders.contract.zenoh_detail",
    "decoders.contract.arrow",
}

#: The folders of each top folder, lowest first; those of one row do not know each other. A folder
#: may import from rows below its own.
LEVELS: Final = {
    "decoders": (
        {"kernels"},
        {"contract"},
        {"capture"},
        {"network"},
        {"tcp"},
        {"jgroups", "raims", "zenoh", "feeds", "infer"},
        {"stages"},
    ),
    "replay": (
        {"sequence"},
        {"contract"},
        {"captures", "jgroups", "pgm", "raims", "zenoh", "feeds"},
        {"stages"},
    ),
    "pipeline": ({"shared"}, {"report"}, {"direct", "spark"}),
    "cli": ({"output"}, {"options"}, {"commands"}),
}
#: Between folders of one row, or up: each with its reason.
ALSO: Final = {
    ("replay", "raims", "pgm"),  # raims over PGM judges its links by PGM's windows
}


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Modules of ours that a file imports, without ``seqaudit.``."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            continue
        yield from (name.removeprefix("seqaudit.") for name in names if name.startswith("seqaudit"))


def arrows(top: str) -> set[tuple[str, str, str]]:
    """(module, folder, folder that it imports from) between the folders of a top folder."""
    found = set()
    for path in modules(top):
        own = path.relative_to(ROOT / top).parts
        for name in imports_of(path):
            parts = name.split(".")
            if len(own) > 1 and parts[0] == top and (ROOT / top / parts[1]).is_dir():
                found.add((path.relative_to(ROOT).as_posix(), own[0], parts[1]))
    return {arrow for arrow in found if arrow[1] != arrow[2]}


@pytest.mark.parametrize("folder", ORDER)
def test_a_folder_imports_none_above_it(folder: str) -> None:
    above = set(ORDER[ORDER.index(folder) + 1 :])
    files = modules(folder)
    assert len(files) > 5
    found = {(path.name, name) for path in files for name in imports_of(path)}
    assert [arrow for arrow in found if arrow[1].partition(".")[0] in above] == []
    assert folder in {name.partition(".")[0] for _, name in found}


def test_replay_knows_of_the_decoders_the_event_contract_only() -> None:
    found = {
        name
        for path in modules("replay")
        for name in imports_of(path)
        if name.startswith("decoders.")
    }
    assert {".".join(name.split(".")[:3]) for name in found} == CONTRACT


@pytest.mark.parametrize("top", ORDER)
def test_inside_a_top_folder_imports_go_down(top: str) -> None:
    level = {folder: n for n, row in enumerate(LEVELS[top]) for folder in row}
    wrong = [
        (module, imported)
        for module, folder, imported in sorted(arrows(top))
        if level[imported] >= level[folder] and (top, folder, imported) not in ALSO
    ]
    assert wrong == []


@pytest.mark.parametrize("top", ORDER)
def test_every_folder_has_its_level_and_code(top: str) -> None:
    there = {p.name for p in (ROOT / top).iterdir() if (p / "__init__.py").is_file()}
    assert there == set().union(*LEVELS[top])
    assert all(len(list((ROOT / top / folder).rglob("*.py"))) > 1 for folder in there)


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside functions count: a circle that is hidden there is one."""
    by_name = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for top in ORDER
        for path in modules(top)
    }
    graph = {
        name: {found for found in imports_of(path) if found in by_name}
        | {found.rpartition(".")[0] for found in imports_of(path)} & by_name.keys()
        for name, path in by_name.items()
    }
    assert sum(map(len, graph.values())) > len(graph)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names them


#: What knows no system but by its description, and the only file there that names them.
NO_SYSTEM: Final = (
    "replay/stages", "replay/captures", "replay/sequence", "pipeline/report",
)  # fmt: skip
REGISTRY: Final = "replay/stages/systems.py"
FOLDERS: Final = frozenset({"feeds", "jgroups", "mcast", "pgm", "raims", "unicast", "zenoh"})
#: Words of systems that are words of engines and networks as well.
PLAIN: Final = frozenset({"feed", "unicast"})


def words_of(path: Path) -> Iterator[str]:
    """Words of a file's names and texts, without those of its docstrings."""
    tree = ast.parse(path.read_bytes())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        texts = [
            getattr(node, name, None) for name in ("id", "attr", "arg", "name", "module", "value")
        ]
        if id(node) not in docs:
            for text in texts:
                if isinstance(text, str):
                    yield from re.split(r"[^a-z0-9]+", text.lower())


@pytest.mark.parametrize("folder", NO_SYSTEM)
def test_what_is_of_all_systems_names_none(folder: str) -> None:
    names = FOLDERS | SYSTEMS.keys()
    # the rules about captures name the fixtures that show them
    skipped = {ROOT / REGISTRY, ROOT / "replay" / "captures" / "rules.py"}
    files = [path for path in modules(folder) if path not in skipped]
    assert len(files) > 2
    found = [(path.name, word) for path in files for word in words_of(path) if word in names]
    assert [pair for pair in found if pair[1] not in PLAIN] == []
    assert set(words_of(ROOT / REGISTRY)) >= names - PLAIN


def test_every_folder_of_a_system_is_registered() -> None:
    folders = {path.parent.name for path in (ROOT / "replay").rglob("system.py")}
    assert folders | {"jgroups"} == FOLDERS
    assert len(SYSTEMS) == len(folders)
