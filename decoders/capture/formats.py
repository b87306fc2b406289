"""What a capture file is, told by content and not by name.

Everything that is no capture ends here in one line that says what it is and what to try: a missing
file, a directory, an empty or a text file, a foreign format, a header cut short.
"""

import codecs
from dataclasses import dataclass
from typing import Final

from seqaudit.decoders.capture import pcapng
from seqaudit.decoders.capture import record_walkers as walkers
from seqaudit.decoders.capture.compression import Decompressed, detect, name_other
from seqaudit.decoders.capture.sources import InOrder, open_source
from seqaudit.decoders.contract.errors import CaptureError

HEAD_BYTES: Final = 1 << 20  # what is looked at for the tables of the first section

_CONVERT: Final = "convert it with: editcap -F pcapng IN OUT"


@dataclass(frozen=True, slots=True)
class Format:
    """What a capture file is."""

    path: str
    container: str  # "pcap" | "pcapng"
    compression: str  # "" | "gz" | "zst" | "lz4"
    big_endian: bool  # pcapng: of the first section
    resolution: str  # of times: "10^-6"; pcapng: of the first interface, "" if it has none
    size_bytes: int  # as stored
    mtime_ns: int
    pcap: walkers.PcapHeader | None  # of a pcap
    state: pcapng.State | None  # of a pcapng: the first section, its interfaces before any packet


def sniff(path: str) -> Format:
    """Look at the beginning of a capture; raises CaptureError for what is none."""
    source = open_source(path)
    try:
        if source.stamp.size_bytes == 0:
            raise CaptureError(path, "is empty", "check how it was recorded")
        head = InOrder(source).read(HEAD_BYTES)
        compression = detect(head)
        if compression:
            inner = Decompressed(InOrder(source), compression)
            head = _read_all(inner, 1 << 16)
            if not head:
                problem = inner.problem or f"holds nothing (an empty {compression})"
                raise CaptureError(path, problem, "fetch the file again")
        header, state = recognize(path, head)
        return Format(
            path=path,
            container="pcap" if header else "pcapng",
            compression=compression,
            big_endian=header.big_endian if header else bool(state and state.big_endian),
            resolution=_resolution(header, state),
            size_bytes=source.stamp.size_bytes,
            mtime_ns=source.stamp.mtime_ns,
            pcap=header,
            state=state,
        )
    finally:
        source.close()


def recognize(path: str, head: bytes) -> tuple[walkers.PcapHeader | None, pcapng.State | None]:
    """The pcap header or the first pcapng section at the beginning of ``head``: one is not None."""
    if walkers.is_pcap(head):
        if len(head) < walkers.PCAP_HEADER_BYTES:
            problem = f"is cut inside the pcap file header: {len(head)} of 24 bytes"
            raise CaptureError(path, problem, "record or copy it again")
        return walkers.read_pcap_header(head), None
    if head[:4] == b"\n\r\r\n":
        if len(head) < 28:
            problem = f"is cut inside the pcapng section header: {len(head)} of 28 bytes or more"
            raise CaptureError(path, problem, "record or copy it again")
        if pcapng.read_byte_order(head) is not None:
            return None, walkers.first_section(head)
        problem = f"has a damaged section header (byte-order magic {head[8:12].hex(' ')})"
        raise CaptureError(path, problem, "record or copy it again", 8)
    raise _foreign(path, head)


def _foreign(path: str, head: bytes) -> CaptureError:
    other = name_other(head)
    if other:
        return CaptureError(path, f"is compressed with {other}", "decompress it first")
    if head[:4] == b"PAR1":
        return CaptureError(path, "is a Parquet file, no capture", "give it to audit")
    if _is_text(head[:512]):
        return CaptureError(path, "is a text file, no capture", "give a pcap or pcapng file")
    known = f"is no pcap or pcapng (it begins with {head[:4].hex(' ')})"
    return CaptureError(path, known, f"if another tool recorded it, {_CONVERT}", 0)


def _is_text(sample: bytes) -> bool:
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(sample)  # may end inside a letter
    except UnicodeDecodeError:
        return False
    readable = sum(letter.isprintable() or letter in "\t\n\r\f" for letter in text)
    return len(text) > 0 and readable >= 0.95 * len(text)


def _resolution(header: walkers.PcapHeader | None, state: pcapng.State | None) -> str:
    if header is not None:
        return "10^-9" if header.per_second == 1_000_000_000 else "10^-6"
    if state is None or not state.interfaces:
        return ""
    return pcapng.describe_resolution(state.interfaces[0].resolution)


def _read_all(reader: Decompressed, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := reader.read(size - len(data))):
        data += more
    return data
