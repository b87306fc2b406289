"""What a kernel file may hold, whatever it decodes (decoders/README.md 4)."""

import ast
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Final

import pytest

from seqaudit.decoders.kernels import loader, native, reads

FILES: Final = sorted(
    path.relative_to(native.DECODERS).as_posix().removesuffix(".py").replace("/", ".")
    for path in native.DECODERS.glob("*/*kernels.py")
)
#: Lines of a function and of a file.
LONGEST: Final = 120
MOST: Final = 600


def tree(name: str) -> ast.Module:
    path = native.DECODERS / (name.replace(".", "/") + ".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def test_there_are_kernels() -> None:
    assert len(FILES) > 10
    assert {"jgroups.kernels", "network.packet_kernels"} <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_kernel_imports_whole_files_of_its_folder_and_what_all_share(name: str) -> None:
    own = f"seqaudit.decoders.{name.rpartition('.')[0]}."
    shared = reads.__name__.removesuffix("reads")
    meaning: dict[str, object] = {}
    for node in ast.walk(tree(name)):
        assert not isinstance(node, ast.Import)
        if isinstance(node, ast.ImportFrom):
            assert [alias.name for alias in node.names] == ["*"]
            assert node.module is not None
            assert node.module.startswith((own, shared))
            there = vars(import_module(node.module))
            for key, value in there.items():
                if not key.startswith("_"):
                    assert meaning.setdefault(key, value) is value
    module = vars(loader.interpreted(name))
    assert all(module[key] is value for key, value in meaning.items()), "compiled they are one file"


@pytest.mark.parametrize("name", FILES)
def test_no_kernel_is_too_long(name: str) -> None:
    functions = [node for node in tree(name).body if isinstance(node, ast.FunctionDef)]
    lines = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}
    assert {key: count for key, count in lines.items() if count > LONGEST} == {}
    source = Path(str(loader.interpreted(name).__file__)).read_text(encoding="utf-8")
    assert source.count("\n") <= MOST


def test_what_all_kernels_share_uses_no_constants() -> None:
    for function in vars(reads).values():
        if isinstance(function, FunctionType):
            used = [vars(reads).get(name) for name in function.__code__.co_names]
            assert all(isinstance(value, FunctionType) for value in used)
