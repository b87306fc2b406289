"""Compiled kernels, there before they are needed (decoders/README.md 4, pipeline/README.md 2).

Compiling all of them takes half a minute, and most captures hold one system. So the first bytes of
each capture are decoded with interpreted kernels to see what is in it, and what it needs is
compiled before the run, by two processes of the driver, before workers could all do it at once.
What only shows later is compiled where it shows.

A part is what is compiled together: a capture format with the packets in it (``pcap``, ``pcapng``)
or a system with its transport (``udp-zenoh``, ``tcp-jgroups``). A file in numba's cache folder says
that a part is compiled.
"""

import contextlib
import io
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from seqaudit.decoders.capture.compression import ByteReader, Decompressed
from seqaudit.decoders.capture.pieces import Piece, stream_piece
from seqaudit.decoders.capture.reader import Reader
from seqaudit.decoders.capture.sources import InOrder, open_source
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.kernels.cache_folders import can_write
from seqaudit.decoders.kernels.loader import LOCK_SECONDS, prepare
from seqaudit.decoders.network.packets import Datagrams, PacketReader
from seqaudit.decoders.stages.first import decode_piece
from seqaudit.decoders.stages.registry import DECODERS, STREAMS, DecodeSettings
from seqaudit.pipeline.report.accounts import Account, accounts_of
from seqaudit.pipeline.shared.processes import environment
from seqaudit.pipeline.shared.progress import Progress

#: What a look at a capture reads, and how many captures are looked at.
LOOK_BYTES: Final = 128 << 10
LOOKED_AT: Final = 16

#: What a look with compiled kernels reads.
LOADED_BYTES: Final = 1 << 20

PCAP: Final = "pcap"
PCAPNG: Final = "pcapng"
PARTS: Final = (
    PCAP,
    PCAPNG,
    *(f"udp-{system}" for system in DECODERS),
    *(f"tcp-{system}" for system in STREAMS),
)


def compile_for(pieces: Sequence[Piece], settings: DecodeSettings, progress: Progress) -> None:
    """Have compiled what captures need, as far as their first bytes show it.

    Args:
        pieces: of each capture the first.
    """
    if not _missing(PARTS):
        return
    needed: set[str] = set()
    for piece in _some(pieces):
        needed |= _needed_by(piece, settings)
    if missing := _missing(sorted(needed)):
        progress.begin("compiling decoders, once on this machine", 0)
        compile_parts(missing)


def load_for(pieces: Sequence[Piece], settings: DecodeSettings) -> list[Account]:
    """Have loaded in this process what captures need, as far as their first bytes show it.

    Args:
        pieces: all of them or of each capture the first.

    Returns:
        The accounts of those bytes.
    """
    accounts: list[Account] = []
    looking = replace(settings, finish_fragments=True)
    for piece in _some([piece for piece in pieces if piece.start == 0]):
        with contextlib.suppress(OSError, CaptureError):  # the run says so
            head = io.BytesIO(_first_bytes(piece, LOADED_BYTES))
            rows = pa.Table.from_batches(decode_piece(stream_piece(0, 0), looking, head), EVENTS)
            accounts += accounts_of(rows)
    return accounts


def compile_parts(parts: Collection[str]) -> None:
    """Compile parts in two processes, formats and systems, so that Ctrl-C ends it at once: the
    compiler itself cannot be stopped. Where nothing can be kept it is for this process alone."""
    if not can_write(Path(prepare())):
        _load(parts)
        return
    systems = [part for part in parts if part not in (PCAP, PCAPNG)]
    formats = [part for part in parts if part in (PCAP, PCAPNG)]
    with contextlib.ExitStack() as both:
        for some in filter(None, (formats, systems)):
            both.enter_context(_another_process(some))


def _load(parts: Iterable[str]) -> None:
    """Call each kernel of these parts once: numba reads its cache then, or compiles."""
    for part in parts:
        transport, _, system = part.partition("-")
        if part in (PCAP, PCAPNG):
            settings = DecodeSettings(compile_it=True, no_decode=frozenset(DECODERS))
            for _ in decode_piece(stream_piece(0, 0), settings, io.BytesIO(_capture(part))):
                pass
        elif transport == "udp":
            DECODERS[system](DecodeSettings()).decode(_one_datagram())
        else:
            framing = STREAMS[system](DecodeSettings()).framing(True, compile_it=True)
            framing.split(bytes(64), True)
        with contextlib.suppress(OSError):
            _mark(part).touch()


def _some(pieces: Sequence[Piece]) -> Sequence[Piece]:
    return pieces[:: max(1, len(pieces) // LOOKED_AT)]


def _needed_by(piece: Piece, settings: DecodeSettings) -> set[str]:
    """What the first bytes of a capture need; nothing if they cannot be read: the run says so."""
    if piece.size_bytes < 0:
        return set()
    looking = replace(settings, compile_it=False, finish_fragments=True)
    try:
        head = io.BytesIO(_first_bytes(piece))
        rows = pa.Table.from_batches(decode_piece(stream_piece(0, 0), looking, head), EVENTS)
    except CaptureError:
        return set()
    needed = {PCAPNG if piece.container == PCAPNG else PCAP}
    for account in accounts_of(rows):
        for transport, _, _, system, *_ in account.get("endpoints", ()):
            needed |= {f"udp-{system}", f"{transport}-{system}"} & set(PARTS)
    return needed


def _first_bytes(piece: Piece, size: int = LOOK_BYTES) -> bytes:
    source = open_source(piece.path)
    try:
        reader: ByteReader = InOrder(source)
        if piece.compression:
            reader = Decompressed(reader, piece.compression)
        head = b""
        while len(head) < size and (more := reader.read(size - len(head))):
            head += more
        return head
    finally:
        source.close()


@contextlib.contextmanager
def _another_process(parts: Sequence[str]) -> Iterator[None]:
    """Compile parts beside what is done meanwhile, and wait for it."""
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, *parts],
        stdin=subprocess.PIPE,  # its end says that we have ended
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for us
        env=os.environ | environment(),
    )
    try:
        yield
        with contextlib.suppress(subprocess.TimeoutExpired):  # what it lacks is compiled in the run
            process.wait(LOCK_SECONDS)
    finally:
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _end_with_stdin() -> None:
    """End this process at once when its stdin ends."""
    os.read(0, 1)
    os._exit(1)


def _missing(parts: Iterable[str]) -> list[str]:
    return [part for part in parts if not _mark(part).exists()]


def _mark(part: str) -> Path:
    """The file that says that a part is compiled."""
    return Path(prepare(), f"{part}.compiled")


def _one_datagram() -> Datagrams:
    """The one in ``_capture``, found by interpreted kernels, for a compiled decoder."""
    reader = Reader(stream_piece(0, 0), False, stream=io.BytesIO(_capture(PCAP)))
    packets = next(PacketReader(0, 0, compile_it=False).read(next(iter(reader))))
    packets.datagrams.compile_it = True
    return packets.datagrams


def _capture(container: str) -> bytes:
    """A capture of one UDP datagram; what is in it does not matter, only that kernels read it."""
    payload = bytes(64)
    udp = struct.pack(">HHHH", 7800, 45588, 8 + len(payload), 0) + payload
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, bytes(4), b"\xef\x08\x08\x08"
    )
    frame = bytes(12) + b"\x08\x00" + ip + udp
    if container == PCAP:
        header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
        return header + struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame
    packet = struct.pack("<IIIII", 0, 0, 1, len(frame), len(frame)) + frame + bytes(-len(frame) % 4)
    blocks = (
        (0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        (1, struct.pack("<HHI", 1, 0, 65535)),
        (6, packet),
    )
    return b"".join(
        struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))
        for kind, body in blocks
    )


if __name__ == "__main__":
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    _load(sys.argv[1:])
