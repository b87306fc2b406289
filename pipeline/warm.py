"""Compiled kernels, loaded before they are needed: numba reads its cache when a kernel is called.

The driver does it before workers exist, so that they do not all compile at once (PIPELINE 2.15);
the daemon does it before it forks, so that no worker has to load anything.
"""

import contextlib
import io
import signal
import struct
import threading
from collections.abc import Iterator
from typing import Final

from seqaudit.decoders.pieces import decode_piece
from seqaudit.decoders.registry import DecodeSettings
from seqaudit.decoders.splits import stream_piece

#: Environment variable of the workers: "1" if the job decodes with compiled kernels.
COMPILED: Final = "SEQAUDIT_COMPILED"


def load_kernels() -> None:
    """Decode one small datagram with compiled kernels; compiles them if no cache has them."""
    settings = DecodeSettings(compile_it=True)
    with _interrupts_after():
        for _ in decode_piece(stream_piece(0, 0), settings, io.BytesIO(_one_datagram())):
            pass


@contextlib.contextmanager
def _interrupts_after() -> Iterator[None]:
    """Hold Ctrl-C back: inside the compiler it comes out as some other error, or as none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: interrupted.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt


def _one_datagram() -> bytes:
    """A pcap of one UDP datagram; what is in it does not matter, only that kernels look at it."""
    payload = bytes(64)
    udp = struct.pack(">HHHH", 7800, 45588, 8 + len(payload), 0) + payload
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, bytes(4), b"\xef\x08\x08\x08"
    )
    frame = bytes(12) + b"\x08\x00" + ip + udp
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return header + struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame
