"""zenoh over TCP: a length before every batch (zenoh.md 2.1 to 2.3).

Two bytes little endian; four on a low-latency link once the session is open. Which of the two a
direction uses shows in its own bytes: no batch that follows an Open begins with two zero bytes, and
a low-latency message is shorter than 64 KiB at least where the direction begins. A batch of one
byte, such as a KeepAlive, shows it as well: its byte is not zero. A direction whose beginning was
not captured, or behind a hole, is in step again where several batches in a row read as zenoh.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.events import END, EVENTS, Flag
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import Int64s, argument, data_argument, interpreted, kernel
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.tcp.framing import (
    MESSAGE,
    Framing,
    Match,
    Split,
    StreamFrames,
    no_frames,
)
from seqaudit.decoders.tcp.traces import Heads, LengthChain, Traces
from seqaudit.decoders.zenoh import kernels as wire
from seqaudit.decoders.zenoh import tcp_kernels as framed
from seqaudit.decoders.zenoh.batches import OUTCOMES, SYSTEM, BatchDecoder, Batches, endpoint

#: Batches in a row that must read as zenoh where a direction is not in step.
CHAIN: Final = 3
#: Bytes that wait for a chain to show; it must be longer than one of the longest batches.
HELD_BYTES: Final = 1 << 19
#: First bytes of a direction that recognition looks at.
LOOK_BYTES: Final = 8_192
#: Chains of lengths in them whose batches are read.
LOOKS: Final = 1_000
#: Batches that are found in one call of the kernel.
BATCHES: Final = 1 << 15

_OUTCOME_OF: Final = np.array([OUTCOMES[status] for status in range(len(OUTCOMES))], np.int64)


def _may_begin(byte: int) -> bool:
    """Whether a batch may begin like that, compressed ones included."""
    kind = byte & 0x1F
    return kind <= 7 or kind >= 25


_MAY_BEGIN: Final = np.array([_may_begin(byte) for byte in range(256)])


def _reads(data: bytes, at: int, width: int) -> bool:
    """Whether a chain of batches begins at a place, one of which is zenoh beyond doubt."""
    return _chain(data, at, width, strong=True)


_TRACES: Final = Traces(
    LOOK_BYTES,
    lengths=[
        LengthChain(width, CHAIN, LOOK_BYTES, np.flatnonzero(_MAY_BEGIN).tolist(), _reads)
        for width in (2, 4)
    ],
)


class ZenohStreams:
    """StreamSystem of zenoh."""

    system: Final = SYSTEM
    traces: Final = _TRACES

    def __init__(self, settings: DecodeSettings) -> None:
        """Nothing of the settings concerns what zenoh is over TCP."""

    def recognise(self, prefix: bytes, began: bool) -> Match:
        """A stream begins with an Init; in the middle, batches in a row with a SourceInfo."""
        opening = _begins_with_init(prefix)
        if began or opening is Match.YES:  # its SYN may be in another piece
            return opening
        found = _in_step(prefix[:LOOK_BYTES], strong=True)
        if found is not None:
            return Match.YES
        return Match.NO if len(prefix) >= LOOK_BYTES else Match.UNDECIDED

    def refuses(self, heads: Heads) -> npt.NDArray[np.bool_]:
        """No Init begins like that."""
        first, version, what = heads.raw[:, 2:5].T
        init = (first & 0x1F == 1) & ((version == 8) | (version == 9)) & (what & 0x0F <= 2)
        refused: npt.NDArray[np.bool_] = (heads.sizes >= 5) & ~init
        return refused

    def framing(self, began: bool, *, compile_it: bool) -> Framing:
        """One direction; it begins with an Init if its first byte was captured."""
        return ZenohFraming(began, compile_it=compile_it)

    def decoder(self) -> "ZenohStreamDecoder":
        return ZenohStreamDecoder()


class ZenohFraming:
    """The batches of one direction."""

    def __init__(self, began: bool, *, compile_it: bool) -> None:
        self._compile_it = compile_it
        self._kernel = kernel("zenoh.tcp_kernels", compile_it=compile_it)
        self._in_step = began
        self._width = 2 if began else 0  # as the kernel has it
        self._opened = 0

    def split(self, data: bytes, final: bool) -> Split:
        found: list[Int64s] = []
        skipped: list[tuple[int, int]] = []
        at, size, wanted = 0, len(data), 1
        while at < size:
            if not self._in_step:
                step = _in_step(data, at)
                if step is None:
                    kept = at if size - at <= HELD_BYTES else size - HELD_BYTES // 2
                    kept = size if final else kept
                    if kept > at:
                        skipped.append((at, kept))
                        at = kept
                    wanted = 2 * (size - at) + 1
                    break
                if step[0] > at:
                    skipped.append((at, step[0]))
                at, self._width = step
                self._in_step = True
            at, why, wanted = self._walk(data, at, found)
            if why == framed.SHORT:
                break
            self._in_step = False
            skipped.append((at, at + 1))
            at += 1
        if final and at < size:
            skipped.append((at, size))
            at = size
        starts, stops = np.concatenate(found, axis=1) if found else no_frames()[:2]
        kinds = np.full(len(starts), MESSAGE, np.int64)
        return Split(starts, stops, kinds, at, wanted, skipped)

    def _walk(self, data: bytes, at: int, found: list[Int64s]) -> tuple[int, int, int]:
        """Batches from ``at``: where the next begins, why no more come, and bytes wanted there."""
        buffer = data_argument(data, compile_it=self._compile_it)
        room = np.empty((2, min(BATCHES, (len(data) - at) // 3 + 1)), np.int64)
        arrays = [argument(column, compile_it=self._compile_it) for column in room]
        while True:
            count, at, why, wanted, self._width, self._opened = map(int, self._kernel.walk(
                buffer, at, len(data), self._width, self._opened, *arrays, room.shape[1]
            ))  # fmt: skip
            if count:
                found.append(room[:, :count].copy())
            if why != framed.FULL:
                return at, why, wanted

    def lost(self) -> None:
        self._in_step = False


class ZenohStreamDecoder:
    """Batches of the connections of one capture into rows."""

    def __init__(self) -> None:
        self._decoder = BatchDecoder()

    def decode(self, frames: StreamFrames) -> list[pa.RecordBatch]:
        """Claim the batches; a session is recognised as a whole, so nothing is in doubt."""
        if not frames.count:
            return list(_beside(frames))
        connection = frames.connection
        hosts = [address for address, _ in connection.ends]
        ports = np.array([port for _, port in connection.ends], np.int64)
        count = frames.count
        direction = frames.direction
        found, status = self._decoder.decode(
            Batches(
                data=frames.data,
                compile_it=frames.compile_it,
                capture=connection.capture,
                split=0,
                transport="tcp",
                hosts=hosts,
                frame=frames.frame,
                at_ns=frames.at_ns,
                start=frames.start,
                stop=frames.stop,
                end=frames.stop,
                source=direction,
                destination=1 - direction,
                source_port=ports[direction],
                destination_port=ports[1 - direction],
                ip_id=np.full(count, -1, np.int64),
                flags=frames.refused * int(Flag.REFUSED),
                mode=np.full(count, wire.KNOWN, np.int64),
                place=frames.place,
            )
        )
        outcome = _OUTCOME_OF[status]
        frames.outcome[:] = np.where(status == wire.NOTHING, int(FrameOutcome.MALFORMED), outcome)
        return [*found, *_beside(frames)]

    def account(self) -> dict[str, object]:
        return self._decoder.account()


def _beside(frames: StreamFrames) -> Iterator[pa.RecordBatch]:
    """Rows for what is missing before a batch, or behind the last, and for how each side ended."""
    names = [endpoint(*end) for end in frames.connection.ends]
    of_all = dict.fromkeys(EVENTS.names) | {
        "system": SYSTEM,
        "conversation": f"{SYSTEM}|tcp|{'|'.join(sorted(names))}",
    }
    borders = frames.borders()
    ends = [told for told in borders if told[1]["wire_kind"] == END]
    events = []
    for way, row in (*frames.holes(), *ends):
        events.append(of_all | row | {"source": names[way], "destination": names[1 - way]})
    if events:
        yield pa.RecordBatch.from_pylist(events, schema=EVENTS)


_NOTHING: Final = np.zeros(0, np.uint8)
_NO_PLACES: Final = np.zeros(0, np.int64)


def _begins_with_init(prefix: bytes) -> Match:
    if len(prefix) < 5:
        return Match.UNDECIDED
    length = int.from_bytes(prefix[:2], "little")
    if prefix[2] & 0x1F != 1 or prefix[3] not in (8, 9) or prefix[4] & 0x0F > 2:
        return Match.NO
    if length < 3 + (prefix[4] >> 4) + 1:
        return Match.NO
    if len(prefix) < 2 + length:
        return Match.LIKELY
    kernel = interpreted("zenoh.kernels")
    _, status = kernel.walk(prefix, 2, 2 + length, 2 + length, _walked())
    return Match.YES if status == wire.DECODED else Match.NO


def _in_step(data: bytes, begin: int = 0, *, strong: bool = False) -> tuple[int, int] | None:
    """The first place of a chain of batches, and the width of their lengths.

    Args:
        strong: one of the batches must be zenoh beyond doubt.
    """
    places, widths = _chained(data, begin)
    if not len(places):
        return None
    if strong:  # of a flow that may be anybody's not more is read
        places, widths = places[:LOOKS], widths[:LOOKS]
    for at, width in zip(places.tolist(), widths.tolist(), strict=True):
        if _chain(data, at, width, strong=strong):
            return at, width
    return None


def _chained(data: bytes, begin: int) -> tuple[Int64s, Int64s]:
    """Places at which ``CHAIN`` lengths lead from one to the next and what they stand before may
    begin a batch, with their width: ascending, two bytes before four.

    All places are looked at together: traffic of others is most of what this sees.
    """
    raw = np.frombuffer(data, np.uint8, offset=begin) if begin < len(data) else _NOTHING
    size = len(raw)
    found: list[Int64s] = []
    for width in (2, 4):
        count = size - width  # places with the first byte of a batch
        if count <= 0:
            continue
        # what most bytes of others fail by is asked first, of bytes as they are
        if width == 2:
            good = raw[1 : count + 1] <= min(size >> 8, 255)
        else:
            good = (raw[2 : count + 2] | raw[3 : count + 3]) == 0
        places = np.flatnonzero(good)
        places = places[_MAY_BEGIN[raw[places + width]]]
        if not len(places):
            continue
        length = raw[places].astype(np.int64) | raw[places + 1].astype(np.int64) << 8
        places, length = places[length > 0], length[length > 0]
        stop = places + width + length
        fits = stop <= size
        places, stop = places[fits], stop[fits]
        after = np.full(size + width + 1, -1, np.int64)  # where the batch at each place stops
        after[places] = stop
        for _ in range(CHAIN - 1):
            going = after[stop] >= 0
            places, stop = places[going], after[stop[going]]
        found.append(places * 8 + width)
    if not found:
        return _NO_PLACES, _NO_PLACES
    both = np.sort(np.concatenate(found))
    return (both >> 3) + begin, both & 7


@cache
def _walked() -> Any:
    """Where the kernel writes what it walks over: to make it takes as long as several chains."""
    return argument(np.zeros(wire.OUT, np.int64), compile_it=False)


def _chain(data: bytes, at: int, width: int, *, strong: bool) -> bool:
    """Whether ``CHAIN`` batches that read as zenoh begin at a place.

    Any bytes read as a fragment, and payloads are any bytes: two fragments count where the sn of
    the second follows that of the first.
    """
    module, memory = interpreted("zenoh.kernels"), _walked()
    number, sure = 0, not strong
    fragment = (0, -1)  # counter and sn of the batch before, if it is one
    while number < CHAIN or not sure:
        if at + width + 1 > len(data):
            return False
        length = int.from_bytes(data[at : at + width], "little")
        stop = at + width + length
        if not 0 < length <= 65_535 or stop > len(data) or not _may_begin(data[at + width]):
            return False
        begin = at + width
        if data[begin] == 0:
            begin += 1
        if data[begin : begin + 1] == b"\1" and data[begin + 1 : begin + 2] not in (
            b"\x08",
            b"\x09",
        ):
            if module.lz4_size(data, begin + 1, stop) <= 0:
                return False
        else:
            _, status = module.walk(data, begin, stop, stop, memory)
            if status != wire.DECODED:
                return False
            if width == 4 and data[begin] & 0x1F in (5, 6):
                return False
            sure = sure or bool(memory[wire.M_STRONG])
        if data[begin] & 0x1F == 6:
            code, sn = memory[wire.RECORDS + 3], memory[wire.RECORDS + 4]
            number += 2 * ((code, sn - 1) == fragment)
            fragment = code, sn
        else:
            number += 1
            fragment = (0, -1)
        at = stop
    return True
