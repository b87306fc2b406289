"""Splits with proof (decoders/README.md 2): pieces of a capture that are read at once, by anyone,
anywhere.

A capture is cut at byte positions without reading it. Each piece but the first starts at a guess
and reports where it began and landed; ``settle`` compares neighbours and says which must start
elsewhere.
``walk_headers`` ends the matter for captures that keep deceiving the guess.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from seqaudit.decoders.capture import pcapng
from seqaudit.decoders.capture.reader import STDIN, Piece, Reader, sniff

__all__ = [
    "Correction",
    "Piece",
    "PieceBounds",
    "merge_interfaces",
    "plan_pieces",
    "settle",
    "stream_piece",
    "walk_headers",
    "with_proven_start",
]

#: Where a piece stops if nobody knows the size of the (uncompressed) capture.
TO_THE_END: Final = 1 << 62


class PieceBounds(Protocol):
    """What ``settle`` needs of a piece's account; a Reader is one."""

    begin: int
    landing: int
    begin_state: str
    landing_state: str


class Correction(NamedTuple):
    """A piece that must start at ``landing`` in ``state``."""

    number: int  # of the piece in the list
    landing: int
    state: str


def plan_pieces(
    path: str,
    capture: int,
    first_split: int,
    target_bytes: int,
    *,
    cuts: Sequence[int] | None = None,
) -> list[Piece]:
    """Cut a capture file into pieces of about ``target_bytes``; compressed files stay whole.

    Args:
        first_split: number of the first piece; the others count on from it.
        cuts: cut at exactly these offsets instead (ascending, inside the file).

    Raises:
        CaptureError: the file is no readable capture.
    """
    form = sniff(path)
    size = form.size_bytes
    if form.compression:
        borders = [0, TO_THE_END]
    elif cuts is not None:
        borders = [0, *cuts, size]
    else:
        number = max(1, -(-size // target_bytes))
        borders = [size * i // number for i in range(number + 1)]
    state = form.state
    first = Piece(
        path=path,
        capture=capture,
        split=first_split,
        start=0,
        stop=borders[1],
        proven=True,
        size_bytes=size,
        mtime_ns=form.mtime_ns,
        whole=len(borders) == 2,
        container=form.container,
        compression=form.compression,
        section=0,
        big_endian=form.big_endian,
        previous_ns=None,
        interfaces=state.interfaces if state else (),
    )
    pieces = [first]
    for number, (start, stop) in enumerate(itertools.pairwise(borders[1:]), 1):
        split = first_split + number
        pieces.append(replace(first, split=split, start=start, stop=stop, proven=False))
    return pieces


def stream_piece(capture: int, split: int) -> Piece:
    """The piece for ``Reader(piece, ..., stream=...)``: standard input, read straight through."""
    return Piece(
        path=STDIN,
        capture=capture,
        split=split,
        start=0,
        stop=TO_THE_END,
        proven=True,
        size_bytes=-1,
        mtime_ns=-1,
        whole=True,
        container="",
        compression="",
    )


def with_proven_start(piece: Piece, landing: int, state: str = "") -> Piece:
    """The piece, starting where the one before it landed (pcapng: in the state it landed in).

    A landing at or behind the stop makes the piece empty.
    """
    if not state:
        return replace(piece, start=landing, proven=True)
    known = pcapng.State.read(state)
    return replace(
        piece,
        start=landing,
        proven=True,
        section=known.section,
        big_endian=known.big_endian,
        previous_ns=known.previous_ns,
        interfaces=known.interfaces,
    )


def settle(pieces: Sequence[Piece], accounts: Sequence[PieceBounds]) -> list[Correction]:
    """Which pieces did not start where the one before them landed.

    Args:
        pieces: of any number of files, the pieces of a file together and in order.
        accounts: of the same pieces in the same order.

    Landings of pieces that started wrongly are taken as right: mostly they are, false chains end.
    The rerun is settled again, so nothing rests on it.
    """
    corrections: list[Correction] = []
    landing, state = -1, ""
    for index, (piece, account) in enumerate(zip(pieces, accounts, strict=True)):
        if index == 0 or pieces[index - 1].path != piece.path or piece.start == 0:
            landing, state = account.landing, account.landing_state
            continue
        if landing < 0:  # nothing is known of the piece before: this one is judged next time
            landing, state = account.landing, account.landing_state
            continue
        if landing >= piece.stop:  # no record starts in this piece
            if account.begin >= 0 and (account.begin, account.landing) != (landing, landing):
                corrections.append(Correction(index, landing, state))
            continue
        if account.begin != landing or not _meets(state, account.begin_state):
            corrections.append(Correction(index, landing, state))
        if account.landing >= 0:
            state = _carry_time(state, account.landing_state)
            landing = account.landing
        else:
            landing = -1
    return corrections


def walk_headers(pieces: Sequence[Piece], *, compile_it: bool) -> list[Piece]:
    """The same pieces, all with exact starts: reads each file's headers from its beginning."""
    exact: list[Piece] = []
    landing, state = 0, ""
    for piece in pieces:
        if exact and exact[-1].path == piece.path and piece.start != 0:
            piece = with_proven_start(piece, landing, state)
        exact.append(piece)
        reader = Reader(piece, compile_it)
        for _ in reader:
            pass
        landing, state = reader.landing, reader.landing_state
    return exact


def merge_interfaces(
    accounts: Sequence[Sequence[Mapping[str, object]]],
) -> list[dict[str, object]]:
    """The interfaces of a file out of those of its pieces, in the order of the pieces.

    A name stands only in the piece that has the description; of statistics the last block counts;
    the drops that packet blocks state add up.
    """
    merged: dict[tuple[object, object], dict[str, object]] = {}
    for interface in itertools.chain.from_iterable(accounts):
        known = merged.setdefault((interface["section"], interface["interface"]), {})
        drops = _whole(known.get("packet_drops")) + _whole(interface.get("packet_drops"))
        name = known.get("name") or interface["name"]
        known.update(interface)
        known["name"] = name
        if drops:
            known["packet_drops"] = drops
    return list(merged.values())


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _meets(landing_state: str, begin_state: str) -> bool:
    """Whether a piece that began in ``begin_state`` could follow one that landed so."""
    if not begin_state:
        return True
    begin, landing = pcapng.State.read(begin_state), pcapng.State.read(landing_state)
    same_tables = begin.section < 0 or begin[:2] + begin[3:] == landing[:2] + landing[3:]
    return same_tables and begin.previous_ns in (None, landing.previous_ns)


def _carry_time(before: str, after: str) -> str:
    """``after``; where it had no record with a time, the time before the piece still holds."""
    if not after or not before:
        return after
    state = pcapng.State.read(after)
    if state.previous_ns is not None:
        return after
    return state._replace(previous_ns=pcapng.State.read(before).previous_ns).write()
