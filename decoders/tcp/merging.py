"""The frames of one connection in the order in which they became complete, whichever end sent
them: what the stage of TCP hands to a system's decoder."""

import numpy as np

from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.tcp.direction import TakenFrames
from seqaudit.decoders.tcp.flows import Tracked
from seqaudit.decoders.tcp.framing import StreamFrames


def merged(tracked: Tracked, taken: list[list[TakenFrames]], *, compile_it: bool) -> StreamFrames:
    """The frames of both directions in the order in which they became complete."""
    stretches = [(number, one) for number in (0, 1) for one in taken[number]]
    data = b"".join(one.data for _, one in stretches)
    base = 0
    columns: list[tuple[Int64s, ...]] = []
    for number, one in stretches:
        count = len(one.start)
        columns.append((
            one.start + base, one.stop + base, one.kind, np.full(count, number, np.int64),
            one.frame, one.at_ns, _places(tracked, number, one.frame), one.lost, one.refused,
            one.release,
        ))  # fmt: skip
        base += len(one.data)
    if not columns:
        columns.append((np.zeros(0, np.int64),) * 10)
    joined = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    order = np.argsort(joined[-1], kind="stable")
    start, stop, kind, direction, frame, at_ns, place, lost, refused = (
        column[order] for column in joined[:-1]
    )
    return StreamFrames(
        tracked.connection,
        data,
        compile_it,
        start=start,
        stop=stop,
        kind=kind,
        direction=direction,
        frame=frame,
        at_ns=at_ns,
        place=place,
        lost=lost,
        refused=refused,
        outcome=np.zeros(len(order), np.int64),
    )


def _places(tracked: Tracked, number: int, frames: Int64s) -> Int64s:
    """The number of each frame among those that its capture frame completed."""
    count = len(frames)
    if not count:
        return frames
    begins = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(np.diff(frames)) + 1])
    sizes = np.diff(np.append(begins, count))
    places: Int64s = np.arange(count, dtype=np.int64) - np.repeat(begins, sizes)
    frame, last = tracked.placed[number]
    if int(frames[0]) == frame:
        places[: int(sizes[0])] += last + 1
    tracked.placed[number] = int(frames[-1]), int(places[-1])
    return places
