"""What numba makes slower than it need be for code in the style of PIPELINE 5, and what helps.

Both matter at each access of a kernel (measured on the packet kernel, together 105 to 77 ns a
packet):

- numba compares each index with 0, as it may be negative; ours never are (rule 4);
- numbers are read byte by byte; the helpers named in ``READS`` become one load.

With ``NUMBA_BOUNDSCHECK=1`` every read and write is to be checked, so both are left alone.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

#: Helper ``name(array, index)`` of kernel files that does nothing, and in compiled ones prefetches.
TOUCH: Final = "touch"

#: Helpers ``name(data, offset)`` of kernel files: (bytes, big-endian).
READS: Final[Mapping[str, tuple[int, bool]]] = {
    "u8": (1, True),
    "u16be": (2, True),
    "u16le": (2, False),
    "u32be": (4, True),
    "u32le": (4, False),
}


@contextlib.contextmanager
def plain_indices() -> Iterator[None]:
    """No wrapping of negative indices in what numba compiles meanwhile."""
    import numba
    from numba.core import types
    from numba.np import arrayobj

    usual = getattr(arrayobj, "fix_integer_index", None)
    if usual is None or numba.config.BOUNDSCHECK:  # or another numba: slower, and as right
        yield
        return

    def plain(context: Any, builder: Any, kind: Any, index: Any, _size: Any) -> Any:
        return context.cast(builder, index, kind, types.intp)

    arrayobj.fix_integer_index = plain
    try:
        yield
    finally:
        arrayobj.fix_integer_index = usual


def read(name: str) -> Any:
    """The compiled helper of that name: reads its bytes at an offset as one int64."""
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    size, big_endian = READS[name]

    @intrinsic  # type: ignore[untyped-decorator]
    def load(_context: Any, data: Any, offset: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            word = ir.IntType(8 * size)
            value = builder.load(builder.bitcast(place, word.as_pointer()))
            value.align = 1
            if big_endian and size > 1:
                value = builder.bswap(value)
            return builder.zext(value, ir.IntType(64))

        return numba.int64(data, numba.int64), emit

    def reading(data: Any, offset: Any) -> Any:
        return load(data, offset)

    return numba.njit(nogil=True, _nrt=False)(reading)


def touch() -> Any:
    """The compiled ``touch``: the processor goes on while its memory brings the place."""
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def prefetch(_context: Any, array: Any, index: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target = context.make_array(signature.args[0])(context, builder, arguments[0])
            flag, byte = ir.IntType(32), ir.IntType(8).as_pointer()
            place = builder.bitcast(builder.gep(target.data, [arguments[1]]), byte)
            kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
            function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            # to be read and written, to be kept, data
            builder.call(function, [place, flag(1), flag(3), flag(1)])
            return context.get_constant(numba.int64, 0)

        return numba.int64(array, numba.int64), emit

    def touching(array: Any, index: Any) -> Any:
        return prefetch(array, index)

    return numba.njit(nogil=True, _nrt=False)(touching)
