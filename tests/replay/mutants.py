"""Rows of a table undone in the engine: what ``test_*_mutants`` of all systems share
(CONTRIBUTING.md 4).

The rows are code, so a mutant is a piece of the engine's text and what stands in its place; the
tests of the row are called with it.
"""

import importlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest


class Mutant(NamedTuple):
    """What is undone: ``old`` occurs once in a module of the engine."""

    module: str
    old: str
    new: str


def calls_of(row: str, tests: Iterable[ModuleType]) -> Iterator[Callable[[], None]]:
    """The tests that cite a row (``unicast A1``), with all their parameters."""
    for module in tests:
        for _, test in inspect.getmembers(module, inspect.isfunction):
            marks = getattr(test, "pytestmark", ())
            if not any(mark.name == "rule" and mark.args[0] == row for mark in marks):
                continue
            axes = [_axis(*mark.args) for mark in marks if mark.name == "parametrize"]
            for chosen in itertools.product(*axes):
                arguments = {name: value for part in chosen for name, value in part.items()}
                yield lambda test=test, arguments=arguments: test(**arguments)  # type: ignore[misc]


def failing(row: str, tests: Iterable[ModuleType]) -> int:
    """How many calls of the row's tests fail."""
    failed = 0
    for call in calls_of(row, tests):
        try:
            call()
        except Exception:  # a mutant may break more than an assertion
            failed += 1
    return failed


def undo(monkeypatch: pytest.MonkeyPatch, mutant: Mutant) -> None:
    """The engine with the mutant: its functions take the place of those in use."""
    module = importlib.import_module(f"seqaudit.replay.{mutant.module}")
    text = inspect.getsource(module)
    assert text.count(mutant.old) == 1, mutant
    code = compile(text.replace(mutant.old, mutant.new), str(module.__file__), "exec")
    changed = ModuleType(module.__name__)
    exec(code, changed.__dict__)
    for name, new in vars(changed).items():
        old = getattr(module, name, None)
        if isinstance(new, FunctionType) and isinstance(old, FunctionType):
            _replace_everywhere(monkeypatch, name, old, new)
        elif isinstance(new, type) and new.__module__ == module.__name__:
            for method, body in vars(new).items():
                if isinstance(body, FunctionType) and method in vars(old):
                    monkeypatch.setattr(old, method, body)


def _replace_everywhere(
    monkeypatch: pytest.MonkeyPatch, name: str, old: FunctionType, new: FunctionType
) -> None:
    for place in list(sys.modules.values()):
        if getattr(place, name, None) is old and place.__name__.startswith("seqaudit.replay"):
            monkeypatch.setattr(place, name, new)


def _axis(names: str | tuple[str, ...], values: list[Any]) -> list[dict[str, Any]]:
    if isinstance(names, str):
        return [{names: value} for value in values]
    return [dict(zip(names, value, strict=True)) for value in values]
