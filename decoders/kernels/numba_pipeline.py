"""numba for kernels: code in the style of decoders/README.md 4 compiled in half the time.

Most of that time went where kernels gain nothing (JGroups: 20 functions, 7.9 s of CPU, now 3.9):

- numba compiles each helper to machine code, and once more in each function that calls it, in each
  that calls that, and so on. Here only entry points become machine code, their helpers inside them.
- It runs some twenty passes for closures, ``with`` blocks, rewrites of arrays; kernels have none.
- It tries up to a hundred templates at each operator of each function, several times over. Those
  for numbers and arrays depend on the types alone, so they are remembered.

Nothing here changes what a kernel computes. With ``NUMBA_BOUNDSCHECK=1`` numba is used as it is.
"""

import contextlib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef
    from numba.core.compiler import CompilerBase, PassManager, StateDict
    from numba.core.types import Type
    from numba.core.types.functions import BaseFunction
    from numba.core.typing.context import BaseContext
    from numba.core.typing.templates import Signature

#: What is built upon; where a version of numba lacks one of these, it is used as it is.
_PARTS: Final = {
    "numba._dynfunc": ("make_function",),
    "numba.core.codegen": ("JITCodeLibrary",),
    "numba.core.codegen.JITCodeLibrary": (
        "_optimize_functions", "_optimize_final_module", "_get_module_for_linking",
    ),
    "numba.core.compiler": ("CompilerBase", "PassManager", "_LowerResult"),
    "numba.core.typed_passes": (
        "NopythonTypeInference", "PreLowerStripPhis", "IRLegalization", "NativeLowering",
        "NoPythonBackend",
    ),
    "numba.core.untyped_passes": (
        "TranslateByteCode", "FixupArgs", "IRProcessing", "ReconstructSSA",
    ),
    "numba.core.types.functions.BaseFunction": ("get_call_type",),
}  # fmt: skip


@cache
def fits() -> bool:
    """Whether kernels are compiled as described above."""
    import numba

    if numba.config.BOUNDSCHECK:
        return False
    try:
        owners = {name: pkgutil.resolve_name(name) for name in _PARTS}
    except (ImportError, AttributeError):
        return False
    return all(hasattr(owners[name], part) for name, parts in _PARTS.items() for part in parts)


def options() -> "dict[str, type[CompilerBase]]":
    """What ``numba.njit`` is told beside the rest."""
    return {"pipeline_class": _pipeline()} if fits() else {}


@contextlib.contextmanager
def remembered_operators() -> Iterator[None]:
    """What an operator gives for numbers and arrays is found out once while this lasts."""
    if not fits():
        yield
        return
    types = importlib.import_module("numba.core.types")
    owner = types.functions.BaseFunction
    usual = owner.get_call_type
    known: dict[tuple[BaseFunction, tuple[Type, ...]], Signature | None] = {}
    plain = (types.Integer, types.Boolean, types.Array)

    def get_call_type(
        self: "BaseFunction",
        context: "BaseContext",
        args: "Sequence[Type]",
        kws: "Mapping[str, Type]",
    ) -> "Signature | None":
        given = tuple(types.unliteral(arg) for arg in args)
        if (
            kws
            or type(self) is not types.Function
            or not all(isinstance(arg, plain) for arg in given)
        ):
            return usual(self, context, args, kws)
        key = (self, given)
        if key not in known:
            known[key] = usual(self, context, given, kws)
        return known[key]

    owner.get_call_type = get_call_type
    try:
        yield
    finally:
        owner.get_call_type = usual


@cache
def _pipeline() -> "type[CompilerBase]":
    from numba import _dynfunc
    from numba.core import codegen, typed_passes, untyped_passes
    from numba.core.compiler import CompilerBase, PassManager, _LowerResult
    from numba.core.compiler_machinery import register_pass

    class HelperLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        """A helper: optimized and made machine code where it is linked in, not by itself."""

        def _optimize_functions(self, module: "ModuleRef") -> None:
            module.data_layout = self._codegen._data_layout

        def finalize(self) -> None:
            for library in dict.fromkeys(self._linking_libraries):
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalized = True

    class EntryLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        """An entry point with all its helpers."""

        def _optimize_functions(self, module: "ModuleRef") -> None:
            module.data_layout = self._codegen._data_layout

        def _optimize_final_module(self) -> None:
            manager, builder = self._codegen._module_pass_manager()
            manager.run(self._final_module, builder)

    @register_pass(mutates_CFG=True, analysis_only=False)
    class KernelLowering(typed_passes.NativeLowering):  # type: ignore[misc]
        _name = "kernel_lowering"

        def run_pass(self, state: "StateDict") -> bool:
            generator = state.targetctx.codegen()
            helper = state.flags.no_cpython_wrapper
            state.library = (HelperLibrary if helper else EntryLibrary)(
                generator, state.func_id.func_qualname
            )
            state.library.enable_object_caching()
            state.flags.no_compile = helper
            super().run_pass(state)
            if helper:
                self._let_kernels_call(state)
            return True

        @staticmethod
        def _let_kernels_call(state: "StateDict") -> None:
            lowered = state["cr"]
            described, library = lowered.fndesc, state.library
            nobody = _dynfunc.make_function(  # stands for machine code that Python could call
                described.lookup_module(), described.qualname, "", 0, lowered.env, (library,)
            )
            state.targetctx.insert_user_function(nobody, described, [library])
            state["cr"] = _LowerResult(
                described, lowered.call_helper, cfunc=nobody, env=lowered.env
            )

    class KernelCompiler(CompilerBase):  # type: ignore[misc]
        def define_pipelines(self) -> "list[PassManager]":
            manager = PassManager("kernel")
            for step in (
                untyped_passes.TranslateByteCode,
                untyped_passes.FixupArgs,
                untyped_passes.IRProcessing,
                untyped_passes.ReconstructSSA,
                typed_passes.NopythonTypeInference,
                typed_passes.PreLowerStripPhis,
                typed_passes.IRLegalization,
                KernelLowering,
                typed_passes.NoPythonBackend,
            ):
                manager.add_pass(step, step.__name__)
            manager.finalize()
            return [manager]

    return KernelCompiler
