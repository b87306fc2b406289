"""Machine code of kernels, kept so that it runs without numba (decoders/README.md 4).

Importing numba and having it read its cache takes most of a second, which is more than decoding a
hundred thousand packets. So what numba has compiled is kept a second time as an object file of its
own, which LLVM alone can load: the kernel, and a function before it that takes all arguments in one
block of words. An array is two words there, its address and its size.

An object file is named by its source and by the processor that it is for. One that is not whole is
no file at all: numba does the work then, and writes it anew.
"""

import contextlib
import hashlib
import importlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypedDict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from llvmlite.binding import ExecutionEngine
    from numba.core.caching import FunctionCache
    from numba.core.compiler import CompileResult
    from numba.core.types import Type

#: A number or an array, as a kernel is given it.
Given: TypeAlias = "np.int64 | npt.NDArray[np.int64 | np.uint8]"
#: An entry point of a kernel file: takes numbers and arrays, gives numbers.
Entry = Callable[..., tuple[int, ...]]


class NumbaDispatcher(Protocol):
    """An entry point as numba has it, as far as it is known here."""

    _cache: "FunctionCache"
    overloads: "Mapping[object, CompileResult]"

    def __call__(self, *arguments: Given) -> tuple[int, ...]: ...


#: Arguments by kind: a number, or an array by what numpy calls its items.
NUMBER: Final = "number"
ITEM_BYTES: Final = {"|u1": 1, "<i8": 8}
_ENTRY: Final = "seqaudit_entry"
#: Where kernel files are, and how one names another.
DECODERS: Final = Path(__file__).parents[1]
_IMPORTED: Final = re.compile(rb"^from seqaudit\.decoders\.([\w.]+) import \*$", re.MULTILINE)
#: What a kernel may need of others: functions of C that LLVM has loops become.
_KNOWN: Final = frozenset({"memset", "memcpy", "memmove"})


class _Head(TypedDict):
    """What a caller has to know of an object file: its function, the kinds of its arguments, and
    how many numbers it gives."""

    entry: str
    kinds: list[str]
    results: int


def path_of(folder: Path, source: Path, entry: str) -> Path:
    """The object file of an entry point of a kernel file."""
    name = f"{source.parent.name}.{source.stem}.{entry}-{code_of(source, _machine())}"
    return folder / f"{name}.native"


def code_of(source: Path, of: str = "") -> str:
    """Tells a kernel file apart by all its code, that of the files it imports as well."""
    code = hashlib.sha256(of.encode())
    sources = [source]
    for path in sources:
        text = path.read_bytes()
        code.update(text)
        names = [DECODERS / name.decode().replace(".", "/") for name in _IMPORTED.findall(text)]
        sources += [one for name in names if (one := name.with_suffix(".py")) not in sources]
    return code.hexdigest()[:16]


def load(path: Path, otherwise: Entry) -> Entry | None:
    """The kernel in an object file; null: there is none, or it is damaged.

    Args:
        otherwise: called with arguments of other kinds than those it was compiled for.
    """
    try:
        head, _, code = path.read_bytes().partition(b"\n")
        told = json.loads(head)
        if told["digest"] != hashlib.sha256(code).hexdigest():
            return None
        from llvmlite.binding import ObjectFileRef

        engine = _engine()
        engine.add_object_file(ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(told["entry"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError):
        return None
    return _caller(address, told["kinds"], told["results"], otherwise) if address else None


def save(path: Path, dispatcher: NumbaDispatcher) -> None:
    """Keep what a dispatcher has compiled; nothing, where it is not of the usual kind."""
    with contextlib.suppress(Exception):  # whatever a version of numba or LLVM does otherwise
        name = f"{_ENTRY}_{hashlib.sha256(path.name.encode()).hexdigest()[:16]}"
        told, code = _object_of(dispatcher, name)
        head = json.dumps(told | {"digest": hashlib.sha256(code).hexdigest()}).encode()
        part = path.with_suffix(f".{os.getpid()}")
        try:
            part.write_bytes(head + b"\n" + code)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _caller(address: int, kinds: Sequence[str], results: int, otherwise: Entry) -> Entry:
    import ctypes

    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)
    block_of = ctypes.c_int64 * (results + sum(1 if kind == NUMBER else 2 for kind in kinds))
    nothing = [0] * results

    def call(*arguments: Given) -> tuple[int, ...]:
        words = nothing.copy()
        for kind, argument in zip(kinds, arguments, strict=True):
            if kind == NUMBER:
                words.append(int(argument))
                continue
            told = argument.__array_interface__
            if told["typestr"] != kind or told["strides"] is not None or len(told["shape"]) != 1:
                return otherwise(*arguments)
            words.append(told["data"][0])
            words.append(told["shape"][0])
        block = block_of(*words)
        status = function(block)
        assert status == 0, "kernels raise nothing (decoders/README.md 4, rule 4)"
        return tuple(block[:results])

    return call


@cache
def _engine() -> "ExecutionEngine":
    """The engine that all object files are loaded into, for as long as we run."""
    from llvmlite import binding as llvm

    for part in ("initialize_native_target", "initialize_native_asmprinter"):
        with contextlib.suppress(RuntimeError):  # newer ones do it by themselves
            getattr(llvm, part)()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(codemodel="jitdefault", jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


@cache
def _machine() -> str:
    """The processor and the version of LLVM."""
    import llvmlite
    from llvmlite import binding as llvm

    versions = llvmlite.__version__, llvm.llvm_version_info
    features = llvm.get_host_cpu_features().flatten()
    return f"{versions} {llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features}"


def _object_of(dispatcher: NumbaDispatcher, name: str) -> tuple[_Head, bytes]:
    """What a caller has to know, and the object file."""
    from llvmlite import binding as llvm

    types = importlib.import_module("numba.core.types")
    (compiled,) = dispatcher.overloads.values()
    signature, described = compiled.signature, compiled.fndesc
    kinds = [_kind_of(one) for one in signature.args]
    results = signature.return_type.types
    assert all(types.unliteral(one) == types.int64 for one in results)
    library = compiled.library
    text = str(library._final_module) + _entry(name, described.llvm_func_name, kinds, len(results))
    module = llvm.parse_assembly(text)
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
    builder = llvm.create_pass_builder(library._codegen._tm, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    needed = {one.name for one in module.functions if one.is_declaration}
    needed |= {one.name for one in module.global_variables if one.is_declaration}
    assert all(one.startswith("llvm.") or one in _KNOWN for one in needed)
    code: bytes = library._codegen._tm.emit_object(module)
    return {"entry": name, "kinds": kinds, "results": len(results)}, code


def _kind_of(one: "Type") -> str:
    from numba.core import types

    if one == types.int64:
        return NUMBER
    assert isinstance(one, types.Array) and one.ndim == 1 and one.layout == "C"
    return {types.uint8: "|u1", types.int64: "<i8"}[one.dtype]


def _entry(name: str, kernel: str, kinds: Sequence[str], results: int) -> str:
    """A function that reads the arguments of a kernel from a block of words and calls it."""
    lines: list[str] = []
    given = ["ptr %block", "ptr %problem"]
    at = results

    def next_argument() -> str:
        nonlocal at
        lines.append(f"%p{at} = getelementptr i64, ptr %block, i64 {at}")
        lines.append(f"%w{at} = load i64, ptr %p{at}")
        at += 1
        return f"%w{at - 1}"

    for kind in kinds:
        if kind == NUMBER:
            given.append(f"i64 {next_argument()}")
            continue
        data, count, size = next_argument(), next_argument(), ITEM_BYTES[kind]
        lines.append(f"%a{at} = inttoptr i64 {data} to ptr")
        # as numba passes an array: its owner twice, items, their size, data, shape, strides
        given += ["ptr null", "ptr null", f"i64 {count}", f"i64 {size}", f"ptr %a{at}"]
        given += [f"i64 {count}", f"i64 {size}"]
    body = "\n".join(f"  {line}" for line in lines)
    return (
        f"\ndefine i32 @{name}(ptr %block) {{\n  %problem = alloca ptr\n{body}\n"
        f'  %status = call i32 @"{kernel}"({", ".join(given)})\n  ret i32 %status\n}}\n'
    )
