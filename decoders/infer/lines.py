"""Which inferred destinations carry the same feed, as lines A and B (decoders/README.md 5).

In: samples of destinations and the layout found in each. Out: ``Twin``, the evidence for a pair.
Two groups are lines if they bring the same numbers at the same time with the same bytes: most
numbers of each within a second on the other, nearly all of these alike, and one about as far behind
the other all the time. Two feeds that only happen to count alike drift apart or differ in content.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from seqaudit.decoders.infer.layout import Layout, Sample
from seqaudit.decoders.infer.number import Bools, UInt64s, field_values, fingerprints
from seqaudit.decoders.kernels.loader import Int64s

#: Two arrivals of a number further apart are no pair; the same bound as the arbitration's.
TOGETHER_NS: Final = 1_000_000_000
#: Numbered datagrams that have to come on both.
FEWEST: Final = 32
#: Of each one's datagrams so many must be on the other: half of them lost on both leave a half.
SHARED: Final = 0.4
#: Of a pair of datagrams so many bytes are the same (a line may have its own letter or counter),
#: and so many pairs are like that.
ALIKE_BYTES: Final = 0.9
ALIKE: Final = 0.9
#: How far the lag strays from its median, in the middle: so many datagrams, or this.
STRAY_DATAGRAMS: Final = 8
STRAY_NS: Final = 1_000_000
#: Destinations that are compared with one another.
MOST_PLACES: Final = 256
#: Looked at first, to leave out those that share nothing.
PROBES: Final = 64
_SPAN_BITS: Final = 45  # ten hours of ns, below the 18 bits for a number's place


@dataclass(frozen=True, slots=True)
class Twin:
    """Two destinations by their place in what was compared, and what speaks for it.

    Attributes:
        shared: datagrams that came on both; of, other_of: of so many of either.
        alike: of the shared ones, those with the same bytes.
        lag_ns: how far ``other`` is behind ``one``, in the middle; negative: before it.
    """

    one: int
    other: int
    shared: int
    of: int
    other_of: int
    alike: int
    lag_ns: int


@dataclass(frozen=True, slots=True)
class _Numbered:
    """The numbered datagrams of a destination."""

    layout: Layout
    sample: Sample
    rows: Int64s
    token: UInt64s  # the same for the same number of the same stream
    at_ns: Int64s


def twins(found: Sequence[tuple[Sample, Layout]]) -> list[Twin]:
    """Pairs of lines, each destination in at most one; the most alike first."""
    places = [
        (place, _numbered(sample, layout))
        for place, (sample, layout) in enumerate(found[:MOST_PLACES])
        if "source" not in layout.stream  # who sends differs from line to line
    ]
    pairs = []
    for number, (one, ours) in enumerate(places):
        for other, theirs in places[number + 1 :]:
            pair = (
                _compared(one, ours, other, theirs) if alike(ours.layout, theirs.layout) else None
            )
            if pair is not None:
                pairs.append(pair)
    taken: set[int] = set()
    kept = []
    for pair in sorted(pairs, key=lambda pair: (-pair.shared, pair.one, pair.other)):
        if not taken & {pair.one, pair.other}:
            taken |= {pair.one, pair.other}
            kept.append(pair)
    return kept


def alike(one: Layout, other: Layout) -> bool:
    """The same number and count; one destination may show more of a layout than another: more
    streams, higher numbers, heartbeats."""
    fits = one.number in (other.number, *other.ties) or other.number in one.ties
    return (
        fits
        and one.count == other.count
        and (one.key is None or other.key is None or one.key == other.key)
    )


def _numbered(sample: Sample, layout: Layout) -> _Numbered:
    heads, number = sample.heads, layout.number
    data = sample.lengths >= number.stop
    if layout.count is not None:
        count = layout.count
        takes = field_values(heads, count.offset, count.width, count.order or "big")
        every = np.uint64((1 << 8 * count.width) - 1)
        data &= (takes != 0) & (takes != every)
    if layout.kind is not None:
        kind = heads[:, layout.kind.offset].astype(np.int64)
        for beats in layout.heartbeats:
            data &= kind != beats.value
    rows = np.flatnonzero(data)
    token = field_values(heads[rows], number.offset, number.width, number.order or "big")
    if layout.key is not None:
        key = heads[rows, layout.key.offset : layout.key.stop]
        token = token ^ fingerprints(np.ascontiguousarray(key), np.zeros(len(key), np.int64))
    return _Numbered(layout, sample, rows, token, sample.at_ns[rows])


def _compared(one: int, ours: _Numbered, other: int, theirs: _Numbered) -> Twin | None:
    if min(len(ours.rows), len(theirs.rows)) < FEWEST:
        return None
    if (ours.layout.key is None) != (theirs.layout.key is None):
        return None
    probe = ours.token[:: max(1, len(ours.token) // PROBES)]
    if not np.isin(probe, theirs.token).any():
        return None
    start = max(int(ours.at_ns.min()), int(theirs.at_ns.min())) - TOGETHER_NS
    stop = min(int(ours.at_ns.max()), int(theirs.at_ns.max())) + TOGETHER_NS
    mine = np.flatnonzero((ours.at_ns >= start) & (ours.at_ns <= stop))
    own = np.flatnonzero((theirs.at_ns >= start) & (theirs.at_ns <= stop))
    if min(len(mine), len(own)) < FEWEST:
        return None
    near, lag = _nearest(
        ours.token[mine], ours.at_ns[mine] - start, theirs.token[own], theirs.at_ns[own] - start
    )
    both = np.abs(lag) <= TOGETHER_NS
    shared = int(both.sum())
    if shared < FEWEST or shared < SHARED * max(len(mine), len(own)):
        return None
    same = _same_bytes(
        ours.sample, ours.rows[mine[both]], theirs.sample, theirs.rows[own[near[both]]]
    )
    middle = int(np.median(lag[both]))
    stray = float(np.median(np.abs(lag[both] - middle)))
    pace = (stop - start - 2 * TOGETHER_NS) / len(mine)
    if same.sum() < ALIKE * shared or stray > max(STRAY_NS, STRAY_DATAGRAMS * pace):
        return None
    return Twin(one, other, shared, len(mine), len(own), int(same.sum()), middle)


def _nearest(
    token: UInt64s, at_ns: Int64s, other: UInt64s, other_ns: Int64s
) -> tuple[Int64s, Int64s]:
    """For each datagram the place of the other's with the same number that came nearest in time,
    and by how much it is behind; beyond ``TOGETHER_NS`` where there is none."""
    _, code = np.unique(np.concatenate([token, other]), return_inverse=True)
    code = code.reshape(-1).astype(np.int64)
    most = (1 << _SPAN_BITS) - 1
    mine = code[: len(token)] << _SPAN_BITS | np.clip(at_ns, 0, most)
    theirs = code[len(token) :] << _SPAN_BITS | np.clip(other_ns, 0, most)
    order = np.argsort(theirs, kind="stable")
    ordered = theirs[order]
    after = np.searchsorted(ordered, mine)
    before = np.maximum(after - 1, 0)
    after = np.minimum(after, len(ordered) - 1)
    nearer = np.abs(ordered[before] - mine) < np.abs(ordered[after] - mine)
    place = np.where(nearer, before, after)
    return order[place], ordered[place] - mine


def _same_bytes(sample: Sample, rows: Int64s, other: Sample, others: Int64s) -> Bools:
    """Whether datagrams have one length, and nearly the same bytes as far as they are held."""
    lengths = sample.lengths[rows]
    held = np.minimum(lengths, sample.heads.shape[1])
    differ = (sample.heads[rows] != other.heads[others]).sum(axis=1)
    same: Bools = (lengths == other.lengths[others]) & (differ <= (1 - ALIKE_BYTES) * held)
    return same
