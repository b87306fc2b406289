"""The second stage: what one piece could not finish alone (decoders/README.md 3).

SEGMENT rows of IP fragments and TCP connections become events; all other rows pass.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from seqaudit.decoders.contract.arrow import equal, filtered, inverted, true_count
from seqaudit.decoders.contract.events import Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.stages.fragments import Assembler
from seqaudit.decoders.stages.registry import stream_systems
from seqaudit.decoders.stages.tcp import TcpAssembler
from seqaudit.decoders.tcp.segments import WIRE_KIND, read_segment_rows


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
        segments = equal(batch.column("kind"), pa.scalar(int(Kind.SEGMENT), pa.int16()))
        found = true_count(segments)
        if found == 0:
            yield batch
            continue
        if found < batch.num_rows:
            yield filtered(batch, inverted(segments))
            batch = filtered(batch, segments)
        tcp = equal(batch.column("wire_kind"), WIRE_KIND)
        of_tcp = true_count(tcp)
        if of_tcp < found:
            yield from fragments.feed(filtered(batch, inverted(tcp)) if of_tcp else batch)
        if of_tcp:
            rest = filtered(batch, tcp) if of_tcp < found else batch
            yield from flows.feed(read_segment_rows(rest))
    yield from fragments.finish()
    yield from flows.finish()
