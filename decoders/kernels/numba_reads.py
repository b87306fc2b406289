"""What numba makes slower than it need be for code in the style of decoders/README.md 4, and what
helps.

Both matter at each access of a kernel (measured on the packet kernel, together 105 to 77 ns a
packet):

- numba compares each index with 0, as it may be negative; ours never are (rule 4);
- numbers are read byte by byte; the helpers named in ``READS`` become one load.

With ``NUMBA_BOUNDSCHECK=1`` every read and write is to be checked, so both are left alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from llvmlite.ir import IRBuilder as Builder
    from llvmlite.ir import Type as Kind
    from llvmlite.ir import Value
    from numba.core.base import BaseContext as Context
    from numba.core.types import Type
    from numba.core.typing.templates import Signature

    Bytes = npt.NDArray[np.uint8]
    Compiled = Callable[..., int]
    Values = Sequence[Value]
    #: An intrinsic for arguments of some types: its signature, and what writes its code.
    Intrinsic = tuple[Signature, Callable[[Context, Builder, Signature, Values], Value]]

#: Helper ``name(array, index)`` of kernel files that does nothing, and in compiled ones prefetches.
TOUCH: Final = "touch"

#: Helper ``name(data, start, stop)`` of kernel files, not in the restricted style: a number that is
#: the same for the same bytes only, as good as always. Compiled it is replaced, by another number.
DIGEST: Final = "digest"

#: Helper ``name(data, start, stop)`` of kernel files, not in the restricted style: the bytes summed
#: up as 16-bit numbers, modulo 65535. Compiled it is the same number, from vectors.
TOTAL: Final = "total"

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

    def plain(context: Context, builder: Builder, kind: Type, index: Value, _size: Value) -> Value:
        return context.cast(builder, index, kind, types.intp)

    arrayobj.fix_integer_index = plain
    try:
        yield
    finally:
        arrayobj.fix_integer_index = usual


def _intrinsic(typed: Callable[..., Intrinsic]) -> Compiled:
    """Called in compiled code, what ``typed`` writes stands in the place of the call."""
    from numba.extending import intrinsic

    called: Compiled = intrinsic(typed)
    return called


def _address_of(
    context: Context, builder: Builder, signature: Signature, arguments: Values
) -> Value:
    """Where in memory the item of an array is: the arguments are the array, and its index."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _address(context: Context, builder: Builder, signature: Signature, arguments: Values) -> Value:
    """The same as a number."""
    place = _address_of(context, builder, signature, arguments)
    return builder.ptrtoint(place, context.get_value_type(signature.return_type))


def _helper(function: Compiled, *, inlined: bool = False) -> Compiled:
    """A function that only kernels call."""
    import numba

    compiled: Compiled = numba.njit(nogil=True, forceinline=inlined, _nrt=False)(function)
    return compiled


def read(name: str) -> Compiled:
    """The compiled helper of that name: reads its bytes at an offset as one int64."""
    import numba
    from llvmlite import ir

    size, big_endian = READS[name]

    @_intrinsic
    def load(_: Context, data: Type, offset: Type) -> Intrinsic:
        def emit(
            context: Context, builder: Builder, signature: Signature, arguments: Values
        ) -> Value:
            place = _address_of(context, builder, signature, arguments)
            value = builder.load(builder.bitcast(place, ir.IntType(8 * size).as_pointer()))
            value.align = 1
            if big_endian and size > 1:
                value = builder.bswap(value)
            return builder.zext(value, ir.IntType(64))

        return numba.int64(data, numba.int64), emit

    def reading(data: Bytes, offset: int) -> int:
        return load(data, offset)

    return _helper(reading)


def touch() -> Compiled:
    """The compiled ``touch``: the processor goes on while its memory brings the place."""
    import numba
    from llvmlite import ir

    @_intrinsic
    def prefetch(_: Context, array: Type, index: Type) -> Intrinsic:
        def emit(
            context: Context, builder: Builder, signature: Signature, arguments: Values
        ) -> Value:
            flag, byte = ir.IntType(32), ir.IntType(8).as_pointer()
            place = builder.bitcast(_address_of(context, builder, signature, arguments), byte)
            kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
            function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            # to be read and written, to be kept, data
            builder.call(function, [place, flag(1), flag(3), flag(1)])
            return context.get_constant(numba.int64, 0)

        return numba.int64(array, numba.int64), emit

    def touching(array: Bytes, index: int) -> int:
        return prefetch(array, index)

    return _helper(touching)


#: ``digest`` takes so many bytes at a time, as vectors of four words of eight bytes.
_BLOCK: Final = 128
_VECTOR: Final = 32


class _Bits:
    """What the compiled ``digest`` is written with: types, keys, and steps of its arithmetic."""

    def __init__(self) -> None:
        import hashlib

        from llvmlite import ir

        self.ir = ir
        self.word = ir.IntType(64)
        self.double = ir.IntType(128)
        self.vector = ir.VectorType(self.word, 4)
        self.lane = ir.IntType(32)
        stream = hashlib.shake_256(b"seqaudit").digest(8 * 32)  # keys: any bits without a pattern
        self.keys = [
            int.from_bytes(stream[at : at + 8], "little") | 1 for at in range(0, len(stream), 8)
        ]

    def four(self, first: int) -> Value:
        """Keys, as a vector."""
        return self.ir.Constant(self.vector, self.keys[first : first + 4])

    def all_of(self, value: int) -> Value:
        return self.ir.Constant(self.vector, [value] * 4)

    def folded(self, builder: Builder, a: Value, b: Value) -> Value:
        """Both halves of a product, xor."""
        product = builder.mul(builder.zext(a, self.double), builder.zext(b, self.double))
        upper = builder.trunc(builder.lshr(product, self.double(64)), self.word)
        return builder.xor(upper, builder.trunc(product, self.word))

    def ended(self, builder: Builder, value: Value) -> Value:
        word = self.word
        value = builder.xor(value, builder.lshr(value, word(37)))
        value = builder.mul(value, word(self.keys[28]))
        return builder.lshr(builder.xor(value, builder.lshr(value, word(32))), word(2))

    @staticmethod
    def load(builder: Builder, at: Value, kind: Kind) -> Value:
        value = builder.load(builder.inttoptr(at, kind.as_pointer()))
        value.align = 1
        return value

    def added(self, builder: Builder, total: Value, place: Value, number: int) -> Value:
        """Four sums with the vector ``number`` of a block, which stands at a place."""
        words = self.load(builder, place, self.vector)
        keyed = builder.xor(words, self.four(number * 4))
        lower = builder.and_(keyed, self.all_of(0xFFFFFFFF))
        product = builder.mul(lower, builder.lshr(keyed, self.all_of(32)))
        pairs = self.ir.Constant(self.ir.VectorType(self.lane, 4), [1, 0, 3, 2])
        swapped = builder.shuffle_vector(words, words, pairs)
        return builder.add(builder.add(total, product), swapped)

    def stirred(self, builder: Builder, total: Value) -> Value:
        """Sums between two blocks."""
        mixed = builder.xor(total, builder.lshr(total, self.all_of(47)))
        return builder.mul(builder.xor(mixed, self.four(16)), self.all_of(0x9E3779B1))

    def summed(self, builder: Builder, total: Value) -> Value:
        """The digest of four sums."""
        a, b, c, d = (
            builder.xor(
                builder.extract_element(total, self.lane(number)), self.word(self.keys[20 + number])
            )
            for number in range(4)
        )
        folded = builder.add(self.folded(builder, a, b), self.folded(builder, c, d))
        return self.ended(builder, folded)


def digest() -> Compiled:
    """The compiled ``digest``: 62 bits of all bytes, in about as many cycles as there are vectors.

    A payload within one block costs no branch that depends on its length: those would be guessed
    wrongly, which is dearer than all the rest. So a block is read as four vectors always, of which
    those beyond the end are the last 32 bytes again. As in XXH3, each word adds the product of its
    halves (after xor with a key) to one of four sums, and itself to another: words of one sum that
    change in opposite directions meet other factors. At the end the sums are multiplied.
    """
    import numba

    bits = _Bits()
    checked = bool(numba.config.BOUNDSCHECK)
    long, shorter = _digest_of_vectors(bits), _digest_of_words(bits)

    @_intrinsic
    def address(_: Context, data: Type, offset: Type) -> Intrinsic:
        return numba.int64(data, numba.int64), _address

    def digesting(data: Bytes, start: int, stop: int) -> int:
        if checked and stop > start:
            data[start]
            data[stop - 1]
        if stop - start >= _VECTOR:
            return long(address(data, start), address(data, stop))
        return shorter(address(data, start), address(data, stop))

    return _helper(digesting, inlined=True)


def _digest_of_vectors(bits: _Bits) -> Compiled:
    """Of 32 bytes or more, from one address to another."""
    import numba

    word = bits.word

    @_intrinsic
    def long(_: Context, start: Type, stop: Type) -> Intrinsic:
        def emit(_: Context, builder: Builder, _signature: Signature, arguments: Values) -> Value:
            start, stop = arguments
            last = builder.sub(stop, word(_VECTOR))
            before = builder.block
            block = builder.append_basic_block("block")
            more = builder.append_basic_block("more")
            done = builder.append_basic_block("done")
            builder.branch(block)

            builder.position_at_end(block)
            at = builder.phi(word)
            sums = builder.phi(bits.vector)
            at.add_incoming(start, before)
            sums.add_incoming(bits.four(24), before)
            total = sums
            for number in range(_BLOCK // _VECTOR):
                place = builder.add(at, word(number * _VECTOR))
                place = builder.select(builder.icmp_signed("<", place, last), place, last)
                total = bits.added(builder, total, place, number)
            following = builder.add(at, word(_BLOCK))
            builder.cbranch(builder.icmp_signed("<", following, stop), more, done)

            builder.position_at_end(more)
            at.add_incoming(following, more)
            sums.add_incoming(bits.stirred(builder, total), more)
            builder.branch(block)

            builder.position_at_end(done)
            return bits.summed(builder, total)

        return numba.int64(numba.int64, numba.int64), emit

    return long


def _digest_of_words(bits: _Bits) -> Compiled:
    """Of less, from one address to another."""
    import numba
    from llvmlite import ir

    @_intrinsic
    def first(_: Context, size: Type) -> Intrinsic:
        return numba.int64(numba.int64), lambda _, builder, __, arguments: builder.xor(
            arguments[0], bits.word(bits.keys[29])
        )

    def step(size: int) -> Compiled:
        @_intrinsic
        def taking(_: Context, before: Type, at: Type) -> Intrinsic:
            """With the next ``size`` bytes."""

            def emit(
                _: Context, builder: Builder, _signature: Signature, arguments: Values
            ) -> Value:
                value = bits.load(builder, arguments[1], ir.IntType(8 * size))
                value = builder.xor(arguments[0], builder.zext(value, bits.word))
                return bits.folded(builder, value, bits.word(bits.keys[30]))

            return numba.int64(numba.int64, numba.int64), emit

        return taking

    @_intrinsic
    def end(_: Context, value: Type) -> Intrinsic:
        return numba.int64(numba.int64), lambda _, builder, __, arguments: bits.ended(
            builder, arguments[0]
        )

    eight, one = step(8), step(1)

    def short(start: int, stop: int) -> int:
        value = first(stop - start)
        while start + 8 <= stop:
            value = eight(value, start)
            start = start + 8
        while start < stop:
            value = one(value, start)
            start = start + 1
        return end(value)

    return _helper(short)


def total() -> Compiled:
    """The compiled ``total``.

    A sum of 16-bit numbers may be made of wider ones, and of numbers whose bytes are swapped if its
    own are in the end (RFC 1071): so vectors of eight numbers of four bytes, each in 64 bits.
    """
    import numba
    from llvmlite import ir

    word = ir.IntType(64)
    vector = ir.VectorType(word, 4)
    checked = bool(numba.config.BOUNDSCHECK)

    def all_of(value: int) -> Value:
        return ir.Constant(vector, [value] * 4)

    @_intrinsic
    def vectors(_: Context, data: Type, start: Type, count: Type) -> Intrinsic:
        """The sum of so many vectors, at least one."""

        def emit(
            context: Context, builder: Builder, signature: Signature, arguments: Values
        ) -> Value:
            before = builder.block
            block = builder.append_basic_block("vector")
            done = builder.append_basic_block("summed")
            first = _address(context, builder, signature, arguments)
            stop = builder.add(first, builder.shl(arguments[2], word(5)))
            builder.branch(block)

            builder.position_at_end(block)
            at = builder.phi(word)
            sums = builder.phi(vector)
            words = builder.load(builder.inttoptr(at, vector.as_pointer()))
            words.align = 1
            low, high = builder.and_(words, all_of(0xFFFFFFFF)), builder.lshr(words, all_of(32))
            added = builder.add(sums, builder.add(low, high))
            following = builder.add(at, word(_VECTOR))
            at.add_incoming(first, before)
            at.add_incoming(following, block)
            sums.add_incoming(all_of(0), before)
            sums.add_incoming(added, block)
            builder.cbranch(builder.icmp_signed("<", following, stop), block, done)

            builder.position_at_end(done)
            parts = [builder.extract_element(added, ir.IntType(32)(lane)) for lane in range(4)]
            return builder.add(builder.add(*parts[:2]), builder.add(*parts[2:]))

        return numba.int64(data, numba.int64, numba.int64), emit

    u32le, u16le, u8 = read("u32le"), read("u16le"), read("u8")

    def totalling(data: Bytes, start: int, stop: int) -> int:
        if checked and stop > start:
            data[start]
            data[stop - 1]
        found = 0
        count = (stop - start) >> 5
        if count > 0:
            found = vectors(data, start, count)
        at = start + (count << 5)
        while at + 4 <= stop:
            found += u32le(data, at)
            at = at + 4
        if at + 2 <= stop:
            found += u16le(data, at)
            at = at + 2
        if at < stop:
            found += u8(data, at)
        found = found % 65535
        return (found & 255) << 8 | found >> 8

    return _helper(totalling)
