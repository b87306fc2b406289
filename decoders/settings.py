"""What the user decides about decoding (design 4.8)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """Overrides and modes of the decoders; pickled to workers.

    Attributes:
        decode_as: (transport, port, system): datagrams from or to that port are that system's.
        no_decode: systems whose decoder is not asked.
        compile_it: form of the kernels; None: by the size of the piece.
        finish_fragments: put IP fragments together in stage one where a piece is a whole file.
    """

    decode_as: tuple[tuple[str, int, str], ...] = ()
    no_decode: frozenset[str] = frozenset()
    compile_it: bool | None = None
    finish_fragments: bool = False
