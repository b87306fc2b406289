"""Compiled kernels, loaded before a fork (decoders/README.md 4, pipeline/README.md 3).

What is not compiled yet is compiled where it is called first, once on a machine; a fork has what
this process has. The same look at the first bytes tells what captures carry.
"""

import contextlib
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from seqaudit.decoders.capture.compression import ByteReader, Decompressed
from seqaudit.decoders.capture.pieces import Piece, stream_piece
from seqaudit.decoders.capture.sources import InOrder, open_source
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.network.account_rows import PlacedAccount
from seqaudit.decoders.stages.first import decode_piece
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.report.accounts import accounts_of

#: What a look at a capture reads, and how many captures are looked at.
LOADED_BYTES: Final = 1 << 18
LOOKED_AT: Final = 16


def load_for(pieces: Sequence[Piece], settings: DecodeSettings) -> list[PlacedAccount]:
    """Have loaded in this process what captures need, as far as their first bytes show it.

    Args:
        pieces: all of them or of each capture the first.

    Returns:
        The accounts of those bytes.
    """
    accounts: list[PlacedAccount] = []
    looking = replace(settings, finish_fragments=True)
    firsts = [piece for piece in pieces if piece.start == 0]
    for piece in firsts[:: max(1, len(firsts) // LOOKED_AT)]:
        with contextlib.suppress(OSError, CaptureError):  # the run says so
            head = io.BytesIO(_first_bytes(piece))
            rows = pa.Table.from_batches(decode_piece(stream_piece(0, 0), looking, head), EVENTS)
            accounts += accounts_of(rows)
    return accounts


def _first_bytes(piece: Piece) -> bytes:
    source = open_source(piece.path)
    try:
        reader: ByteReader = InOrder(source)
        if piece.compression:
            reader = Decompressed(reader, piece.compression)
        head = b""
        while len(head) < LOADED_BYTES and (more := reader.read(LOADED_BYTES - len(head))):
            head += more
        return head
    finally:
        source.close()
