"""One class name, one meaning: what a reader looks up by its name is found in one place."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOPS = ("cli", "decoders", "pipeline", "replay")


def test_no_two_classes_have_the_same_name() -> None:
    """Leading underscores tell nothing apart; what fits a Protocol says in its name which it is."""
    where: dict[str, list[str]] = defaultdict(list)
    for file in sorted(file for top in TOPS for file in (ROOT / top).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                place = f"{file.relative_to(ROOT).as_posix()}:{node.lineno}"
                where[node.name.lstrip("_")].append(place)
    assert len(where) > 500
    assert {name: places for name, places in where.items() if len(places) > 1} == {}


#: Words that name nothing: what they stand for has a name of its own in the field.
EMPTY_WORDS = frozenset(
    [
        "told",
        "held",
        "kept",
        "word",
        "sort",
        "place",
        "own",
        "odd",
        "apart",
        "many",
        "what",
        "early",
        "ready",
        "warm",
    ]
)
#: Folders below these are of one system each.
SYSTEMS = ("feeds", "jgroups", "pgm", "raims", "zenoh")


def test_no_module_class_or_function_has_an_empty_word_for_a_name() -> None:
    """Where no system is; of modules in all folders."""
    found: list[str] = []
    for file in sorted(file for top in TOPS for file in (ROOT / top).rglob("*.py")):
        names = [(file.stem, 1)]
        if not {*SYSTEMS} & {*file.relative_to(ROOT).parts}:
            names += [
                (node.name, node.lineno)
                for node in ast.walk(ast.parse(file.read_text()))
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            ]
        where = file.relative_to(ROOT).as_posix()
        found += [
            f"{where}:{line} {name}"
            for name, line in names
            if name.strip("_").lower() in EMPTY_WORDS
        ]
    assert found == []
