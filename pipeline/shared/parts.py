"""Events between the stages: in parts, each of them rows in their order as Arrow's bytes.

The direct engine holds and sorts them; Spark keeps, shuffles, sorts and spills each as one row of
its own, by its first event: a row of Spark's for each event would take twenty times as long.
What is behind the shuffle is put in order again where parts overlap: those of pieces that hold the
same small conversations, and of runs that go on. A conversation of any size is held some parts at a
time.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final
from zlib import crc32

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import encoded, equal, filtered, int_column, joined, taken
from seqaudit.decoders.contract.events import EVENTS, Kind
from seqaudit.pipeline.shared.ordered import ORDER, Ints, large_batches, one_batch, places_in_order

#: Conversations are shared out over so many groups, and these over the lanes that there are: only
#: the small conversations of one group are held at a time.
GROUPS: Final = 256

#: The group of the rows of no conversation, and one in which those of members are once more; which
#: parts are for the replay, and which tell where captures were taken.
NO_GROUP: Final = GROUPS
MEMBERS: Final = GROUPS + 1
REPLAYED: Final = f"`group` < {MEMBERS}"
TELLING: Final = f"`group` >= {NO_GROUP}"

#: Rows that are put in order at a time, and how many of them are a part at most.
SORTED_ROWS: Final = 60_000
SORTED_BYTES: Final = 16 << 20
PART_ROWS: Final = 1_000

#: Parts behind the shuffle that are put in order together, unless more overlap.
MERGED_BYTES: Final = 4 << 20

#: What a part is sorted by: the unit that the next stage takes whole, and its first event.
FIRST: Final = ("unit", *ORDER)

PARTS: Final = pa.schema(
    [
        pa.field("group", pa.int32()),
        pa.field("unit", pa.string()),
        *(EVENTS.field(name) for name in ORDER),
        pa.field("events", pa.binary()),
    ]
)

# Arrow's threads take longer to be woken for a small part than all of it takes.
_PACKED: Final = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_UNPACKED: Final = pa.ipc.IpcReadOptions(use_threads=False)


def in_parts(batches: Iterable[pa.RecordBatch], unit: str) -> Iterator[pa.RecordBatch]:
    """Events as parts of schema ``PARTS``.

    Args:
        batches: of the columns of EVENTS; Spark's own has every one nullable.
        unit: the column of what the next stage takes whole.
    """
    for batch in large_batches(batches, SORTED_ROWS, SORTED_BYTES):
        rows = pa.RecordBatch.from_arrays(batch.columns, schema=EVENTS)
        yield _parts(rows, _groups(rows, unit), unit)
        members = filtered(rows, equal(rows.column("kind"), pa.scalar(Kind.MEMBER, pa.int16())))
        if len(members):
            yield _parts(members, np.full(len(members), MEMBERS), unit)


def events_in(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of parts, part by part."""
    for batch in parts:
        for content in batch.column("events"):
            yield from pa.ipc.open_stream(content.as_buffer(), options=_UNPACKED)


def in_order(parts: Iterable[pa.RecordBatch], unit: str) -> Iterator[pa.RecordBatch]:
    """The events of parts that come by group and ``FIRST``, those of a group in their order."""
    held: list[pa.RecordBatch] = []
    size = left = 0
    last = -1
    for batch in parts:
        for number, group in enumerate(batch.column("group").to_pylist()):
            (part,) = events_in([batch.slice(number, 1)])
            if held and group != last:
                yield _ordered(held, unit)
                held, size, left = [], 0, 0
            elif size >= max(MERGED_BYTES, 2 * left):  # sorting again what overlaps costs too
                done, held = _before(part, held, unit)
                if done is not None:
                    yield done
                size = left = sum(rows.nbytes for rows in held)
            held.append(part)
            size += part.nbytes
            last = group
    if held:
        yield _ordered(held, unit)


def _ordered(held: Sequence[pa.RecordBatch], unit: str) -> pa.RecordBatch:
    if len(held) == 1:
        return held[0]
    rows = one_batch(held)
    return taken(rows, places_in_order(pa.Table.from_batches([rows]), unit))


def _before(
    part: pa.RecordBatch, held: Sequence[pa.RecordBatch], unit: str
) -> tuple[pa.RecordBatch | None, list[pa.RecordBatch]]:
    """The rows before a part, which no other will join, and the others; both in their order."""
    rows = one_batch([*held, part.slice(0, 1)])
    places = places_in_order(pa.Table.from_batches([rows]), unit).to_numpy()
    (border,) = np.flatnonzero(places == len(rows) - 1).tolist()
    done, others = (
        taken(rows, int_column(some.astype(np.int64)))
        for some in (places[:border], places[border + 1 :])
    )
    return done if len(done) else None, [others] if len(others) else []


def _groups(rows: pa.RecordBatch, unit: str) -> Ints:
    """The group of each row; of what has no unit, that of its conversation."""
    words = encoded(joined(rows.column(unit), rows.column("conversation")))
    texts = words.dictionary.to_pylist()
    codes = [crc32(text.encode()) % GROUPS if text else NO_GROUP for text in texts]
    found: Ints = np.array(codes, np.int64)[words.indices.to_numpy()]
    return found


def _parts(rows: pa.RecordBatch, groups: Ints, unit: str) -> pa.RecordBatch:
    """The parts of rows in any order."""
    places = places_in_order(pa.Table.from_batches([rows]), unit).to_numpy()
    places = places[np.argsort(groups[places], kind="stable")].astype(np.int64)
    groups = groups[places]
    borders = [0, *(np.flatnonzero(groups[1:] != groups[:-1]) + 1).tolist(), len(places)]
    starts = [start for begin, end in pairwise(borders) for start in range(begin, end, PART_ROWS)]
    rows = taken(rows, int_column(places))
    first = taken(rows, int_column(np.array(starts, np.int64)))
    sink = pa.BufferOutputStream()
    ends = [0]
    for start, stop in pairwise([*starts, len(places)]):
        with pa.ipc.new_stream(sink, EVENTS, options=_PACKED) as stream:
            stream.write_batch(rows.slice(start, stop - start))
        ends.append(sink.tell())
    offsets = pa.py_buffer(np.array(ends, np.int32))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(groups[starts].tolist(), pa.int32()),
            first.column(unit),
            *(first.column(name) for name in ORDER),
            pa.Array.from_buffers(pa.binary(), len(starts), [None, offsets, sink.getvalue()]),
        ],
        schema=PARTS,
    )
