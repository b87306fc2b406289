"""The second stage: what one piece could not finish alone (design 3.3, 4.1).

SEGMENT rows of IP fragments and TCP connections become events; all other rows pass.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from seqaudit.decoders.events import Kind
from seqaudit.decoders.fragments import Assembler
from seqaudit.decoders.registry import stream_systems
from seqaudit.decoders.settings import DecodeSettings
from seqaudit.decoders.tcp_segments import WIRE_KIND, read_segment_rows
from seqaudit.decoders.tcp_stage import TcpAssembler


def reassemble(
    batches: Iterable[pa.RecordBatch], settings: DecodeSettings
) -> Iterator[pa.RecordBatch]:
    """Put carriers together and decode them.

    Args:
        batches: EVENTS rows sorted by (carrier, capture, frame, index).
    """
    fragments = Assembler(settings, by_carrier=True)
    flows = TcpAssembler(settings, stream_systems(settings), by_carrier=True)
    for batch in batches:
        segments = pc.equal(batch.column("kind"), pa.scalar(int(Kind.SEGMENT), pa.int16()))
        found = pc.sum(segments).as_py() or 0
        if found == 0:
            yield batch
            continue
        if found < batch.num_rows:
            yield batch.filter(pc.invert(segments))
            batch = batch.filter(segments)
        tcp = pc.equal(batch.column("wire_kind"), WIRE_KIND)
        of_tcp = pc.sum(tcp).as_py() or 0
        if of_tcp < found:
            yield from fragments.feed(batch.filter(pc.invert(tcp)) if of_tcp else batch)
        if of_tcp:
            yield from flows.feed(read_segment_rows(batch.filter(tcp) if of_tcp < found else batch))
    yield from fragments.finish()
    yield from flows.finish()
