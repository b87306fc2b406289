"""The second stage: what one piece could not finish alone (decoders/README.md 3).

SEGMENT rows of IP fragments and TCP connections become events; all other rows pass. Where segments
of TCP came in fragments, both meet here (``DecodeSettings.puts_together``).
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from seqaudit.decoders.contract.arrow import equal, filtered, inverted, true_count
from seqaudit.decoders.contract.events import Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.fragment_rows import TOGETHER, read_segments
from seqaudit.decoders.stages.fragments import Assembler
from seqaudit.decoders.stages.registry import stream_systems
from seqaudit.decoders.stages.tcp import TcpAssembler
from seqaudit.decoders.tcp.segments import WIRE_KIND, joined, read_segment_rows


def reassemble(
    batches: Iterable[pa.RecordBatch], settings: DecodeSettings
) -> Iterator[pa.RecordBatch]:
    """Put carriers together and decode them.

    Args:
        batches: EVENTS rows sorted by (carrier, capture, frame, index).
    """
    fragments = Assembler(settings, by_carrier=True)
    systems = stream_systems(settings)
    flows = TcpAssembler(settings, systems, by_carrier=True)
    joint = TcpAssembler(settings, systems)
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
            rows = filtered(batch, inverted(tcp)) if of_tcp else batch
            yield from fragments.feed(read_segments(rows))
        rest = filtered(batch, tcp) if of_tcp < found else batch
        if settings.fragmented:
            yield from fragments.flush()
            together = equal(rest.column("carrier"), TOGETHER)
            parts = fragments.segments()
            if true_count(together):
                parts.append(read_segment_rows(filtered(rest, together), "detail"))
            if parts:
                yield from joint.feed(joined(parts))
            rest = filtered(rest, inverted(together))
        if len(rest):
            yield from flows.feed(read_segment_rows(rest))
    yield from fragments.finish()
    for assembler in (flows, joint):
        yield from assembler.finish()
