"""How well a field of datagrams serves as their sequence number: evidence, not opinion.

In: the values of one field in arrival order, stream after stream. Out: ``NumberEvidence``, which
sorts every datagram into what a sequence number explains (it follows, it is ahead of a gap, late, a
duplicate, a heartbeat) and what it does not. ``grow`` says which bytes around the lowest one are
the same number. Plain arrays, no history (decoders/README.md 5).
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.kernels.loader import Int64s

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool]
UInt64s = npt.NDArray[np.uint64]
Order = Literal["big", "little"]

WIDEST: Final = 8

#: A step further than this is a jump: a new numbering, not a gap.
JUMP: Final = 1 << 20
#: A first datagram may itself be late by so many numbers.
EARLY: Final = 64

PLAIN_WIDTHS: Final = (1, 2, 4, 8)
#: Carries are sought between datagrams whose numbers are so near that only one can lie between.
NEAR_STEPS: Final = 4_096
#: Of the carries that were due or seen, so many may be wrong: corrupt or renumbered datagrams.
WRONG_CARRIES: Final = 0.1
#: Between moving bytes and zeros, so many bytes of a number may hold still.
STILL_BYTES: Final = 3

#: What a field must show to be called a sequence number.
FEWEST_STEPS: Final = 31
FEWEST_FOLLOWING: Final = 24
FOLLOWING_SHARE: Final = 0.5  # of the datagrams that are not behind: the others are after a gap
ORDERLY_FOLLOWING: Final = 0.6  # where nothing came late or twice; a third lost leaves 0.67
UNEXPLAINED_SHARE: Final = 0.005  # and one more: a restart in a short sample
ORDERLY_MISSING: Final = 0.01  # of those that arrived, before that speaks against a layout
ARRIVED_SHARE: Final = 0.2  # of the numbers between first and last
#: Codes in decimal digits and identities of orders lack more, and before more datagrams.
SPARSE_MISSING: Final = 0.25
SPARSE_PLACES: Final = 0.05


@dataclass(frozen=True, slots=True)
class NumberEvidence:
    """What the datagrams of all streams do if this field is their number.

    Attributes:
        steps: datagrams judged, the first of a stream is not.
        following: the number is the one before plus what that one takes.
        renewed: of those, below numbers that were reached before: a numbering that began anew.
        ahead: after a gap; ``missing`` numbers in all gaps never arrived.
        late: fills a gap. duplicates: a number again, with the same bytes.
        heartbeats: takes no number (count 0) and states one that is due.
        unexplained: the same number in other bytes, before the beginning, or a jump.
    """

    steps: int
    following: int
    renewed: int
    ahead: int
    missing: int
    arrived: int  # distinct numbers
    late: int
    duplicates: int
    heartbeats: int
    unexplained: int

    @property
    def accepted(self) -> bool:
        """Monotone, dense, and its gaps explained: the rule that a sequence number must meet."""
        return (
            self.steps >= FEWEST_STEPS
            and self.following >= FEWEST_FOLLOWING
            and self.following
            >= (ORDERLY_FOLLOWING if self.too_orderly else FOLLOWING_SHARE)
            * (self.following + self.ahead)
            and self.unexplained <= 1 + UNEXPLAINED_SHARE * self.steps
            and self.arrived >= ARRIVED_SHARE * (self.arrived + self.missing)
        )

    @property
    def too_orderly(self) -> bool:
        """Much is missing from a capture in which nothing is out of order: networks that lose so
        much seldom keep all else in place."""
        return not self.late + self.duplicates and self.missing > ORDERLY_MISSING * self.arrived

    @property
    def too_sparse(self) -> bool:
        """More is missing, and in more places, than networks lose."""
        often = self.ahead > SPARSE_PLACES * self.steps
        return often and self.missing > SPARSE_MISSING * (self.arrived + self.missing)

    @property
    def quality(self) -> float:
        """0 to 1: the share of datagrams that a sequence number explains; what it does not costs
        five times."""
        if not self.steps:
            return 0.0
        good = self.following + self.heartbeats + self.duplicates + self.late / 2
        return max(0.0, (good - 5 * self.unexplained) / self.steps)


def weigh(
    values: UInt64s, bits: int, counts: Int64s | None, same: Bools, prints: UInt64s
) -> NumberEvidence:
    """The evidence for a field.

    Args:
        values: (n,) of the field, stream after stream, each in arrival order.
        bits: where the number wraps.
        counts: (n,) how many numbers a datagram takes; null: one each.
        same: (n - 1,) whether datagram i + 1 is of the stream of datagram i.
        prints: (n,) of the datagrams' bytes; equal means the same datagram.
    """
    step = signed(values[1:] - values[:-1], bits)
    jumped = same & (np.abs(step) > JUMP)
    breaks = ~same | jumped
    step[breaks] = 0
    first = np.concatenate(([True], breaks))
    part = np.cumsum(first) - 1
    number = np.concatenate(([0], np.cumsum(step)))
    number -= number[first][part]
    takes = np.ones(len(values), np.int64) if counts is None else counts
    room = 4 * (int(np.abs(number).max(initial=0)) + int(takes.max(initial=1)) + 1)
    place = number + part * room
    stop = place + takes
    high = np.maximum.accumulate(stop)
    before = np.concatenate(([0], stop[:-1]))
    high_before = np.concatenate(([0], high[:-1]))

    judged = ~first
    beat = judged & (takes == 0)
    due = judged & ((place == before) | (place == high_before))
    following = due & ~beat
    ahead = judged & ~due & (place > high_before)
    behind = judged & ~due & ~ahead & ~beat

    data = np.flatnonzero(takes > 0)
    order = data[np.argsort(place[data], kind="stable")]
    again = np.zeros(len(values), np.bool)
    twin = np.zeros(len(values), np.bool)
    repeats = place[order[1:]] == place[order[:-1]]
    again[order[1:]] = repeats
    twin[order[1:]] = repeats & (prints[order[1:]] == prints[order[:-1]])
    own = order[~again[order]]
    own_place, own_stop = place[own], stop[own]
    in_one = part[own[1:]] == part[own[:-1]]
    between = (own_place[1:] - own_stop[:-1])[in_one]
    overlapping = (between < 0) & ~due[own[1:]][in_one]  # what follows may be a new beginning
    early = behind & ~again & (number < -EARLY)
    return NumberEvidence(
        steps=int(judged.sum()),
        following=int((following & ~twin).sum()),
        renewed=int((following & ~twin & (stop <= high_before)).sum()),
        ahead=int(ahead.sum()),
        missing=int(between[between > 0].sum()),
        arrived=int(takes[own].sum()),
        late=int((behind & ~again & ~early).sum()),
        duplicates=int((judged & twin).sum()),
        heartbeats=int((beat & due).sum()),
        unexplained=int(
            (behind & again & ~twin).sum() + early.sum() + jumped.sum() + int(overlapping.sum())
        ),
    )


#: What is ahead of a gap so often that its steps can be told from loss.
FEWEST_AHEAD: Final = 8
#: Datagrams of one length, to say what their steps have in common.
FEWEST_ALIKE: Final = 3
#: Share of the steps beyond one, or correlation, above which the length decides them.
BY_LENGTH: Final = 0.5


def counts_content(
    values: UInt64s, bits: int, counts: Int64s | None, same: Bools, lengths: Int64s
) -> bool:
    """Whether a number advances by what is in a datagram (records, messages, bytes), not by one.

    Loss does not know how long the datagram before it was. Where datagrams of one length are mostly
    followed by the same step beyond the one that is due, or the step grows with the length, the
    number counts something inside.

    Args:
        lengths: (n,) of the payloads; the others as in ``weigh``.
    """
    takes = np.ones(len(values), np.int64) if counts is None else counts
    beyond = signed(values[1:] - values[:-1], bits) - takes[:-1]
    forward = same & (beyond >= 0) & (beyond <= JUMP) & (takes[:-1] > 0)
    stream = np.cumsum(~same)[forward]
    beyond, before = beyond[forward], lengths[:-1][forward]
    if _by_content(beyond, before):
        return True
    told = inside = 0  # what is ahead, in streams by which it can be told; of it what is inside
    for one in np.split(np.arange(len(stream)), np.flatnonzero(np.diff(stream)) + 1):
        says = _by_content(beyond[one], before[one])
        ahead = 0 if says is None else int(np.count_nonzero(beyond[one]))
        told, inside = told + ahead, inside + (ahead if says else 0)
    return inside > BY_LENGTH * told


def _by_content(beyond: Int64s, before: Int64s) -> bool | None:
    """Whether the length of the datagram before (``before``) decides the steps beyond one; null:
    there are too few, or all are equally long."""
    ahead = int((beyond > 0).sum())
    if ahead < FEWEST_AHEAD:
        return None
    explained = 0
    order = np.argsort(before, kind="stable")
    for group in np.split(beyond[order], np.flatnonzero(np.diff(before[order])) + 1):
        if len(group) >= FEWEST_ALIKE:
            steps, often = np.unique(group, return_counts=True)
            most = int(often.argmax())
            if steps[most] > 0 and 2 * often[most] > len(group):
                explained += int(often[most])
    if explained > BY_LENGTH * ahead:
        return True
    if before.min() == before.max():
        return None
    ranks = [np.unique(x, return_inverse=True)[1].reshape(-1) for x in (before, beyond)]
    return bool(np.corrcoef(ranks[0], ranks[1])[0, 1] > BY_LENGTH)


@dataclass(frozen=True, slots=True)
class Growth:
    """Which bytes make one number with a lowest byte.

    Attributes:
        width: bytes that are the number. proven: of them, by carries that were seen; the others
            hold still.
        wraps: a wrap without a carry into the next byte was seen, so it is no wider.
        widest: with the zeros that rather belong to another field; the same as ``width`` if none.
    """

    width: int
    proven: int
    wraps: bool
    widest: int

    @property
    def still(self) -> int:
        return self.width - self.proven


def grow(heads: Bytes, low: int, order: Order, counts: Int64s | None, same: Bools) -> Growth:
    """Widen a number from its lowest byte on.

    A byte belongs to the number if it changes exactly when a carry is due. Where no carry was due,
    bytes that are always 0 are taken to be the number's high bytes, and so is what holds still
    between them and the bytes that move (a number caught half way); anything else is not. Numbers
    are small for their width far more often than headers hold zeros.

    Args:
        heads: (n, depth), rows as in ``weigh``. low: the column of the lowest byte.
    """
    takes = np.ones(len(heads), np.int64) if counts is None else counts
    values = heads[:, low].astype(np.uint64)
    proven = kept = 1  # kept: up to the last byte that is proven or always 0
    passed = False  # a byte that holds still and is not 0
    for width in range(1, WIDEST):
        bits = 8 * width
        step = signed(values[1:] - values[:-1], bits)
        near = same & (np.abs(step) <= min(NEAR_STEPS, 1 << (bits - 3)))
        # Values have less than 63 bits here, so that the sum is exact; -1, 0 or 1 is carried.
        due = ((values[:-1].view(np.int64) + step) >> np.int64(bits)).astype(np.uint8)
        follows = same & (step == takes[:-1])
        wraps = kept == width and bool((follows & (due == 1)).any())
        column = low - width if order == "big" else low + width
        if not 0 <= column < heads.shape[1]:
            if wraps:
                return Growth(kept, proven, True, kept)
            break
        byte = heads[:, column]
        seen = byte[1:] - byte[:-1]
        if (follows & (due != 0)).any():
            near = follows  # they show carries by themselves; what jumps may be a numbering's end
        either = int((near & ((due != 0) | (seen != 0))).sum())
        if either:
            wrong = int((near & (due != seen)).sum())
            if wrong > WRONG_CARRIES * either:
                if wraps:
                    return Growth(kept, proven, True, kept)
                break
            proven = kept = width + 1
        elif not byte.any():
            kept = width + 1
        elif kept > proven or width - proven >= STILL_BYTES:
            break
        else:
            passed = True
        values |= byte.astype(np.uint64) << np.uint64(bits)
    if passed and proven == 1 and kept not in PLAIN_WIDTHS:
        kept = 1  # with nothing proven, what holds still is believed in a plain width only
    if kept < WIDEST:
        values &= np.uint64((1 << 8 * kept) - 1)
    return Growth(_plain(values, kept, proven, low, order), proven, False, kept)


def _plain(values: UInt64s, width: int, proven: int, low: int, order: Order) -> int:
    """2 bytes for 3, 4 for 5 to 7, where the zeros rather belong to another field: the plain width
    is aligned and full from the start, so the number began at random (RTP below payload type 0)."""
    if width not in (3, 5, 6, 7):
        return width
    plain = 2 if width == 3 else 4
    offset = low - plain + 1 if order == "big" else low
    full = bool((values >> np.uint64(8 * (plain - 1))).all())
    return plain if proven <= plain and offset % plain == 0 and full else width


def field_values(heads: Bytes, offset: int, width: int, order: Order) -> UInt64s:
    """(n,) a field of up to 8 bytes."""
    values = np.zeros(len(heads), np.uint64)
    columns = range(offset, offset + width)
    for column in columns if order == "big" else reversed(columns):
        values = values << np.uint64(8) | heads[:, column].astype(np.uint64)
    return values


def signed(difference: UInt64s, bits: int) -> Int64s:
    """Differences of numbers that wrap at ``bits``, the short way round."""
    shift = 64 - bits
    moved = (difference << np.uint64(shift)).view(np.int64)
    result: Int64s = moved >> np.int64(shift)
    return result


def fingerprints(heads: Bytes, lengths: Int64s) -> UInt64s:
    """(n,) a 64-bit print of each row and its length."""
    random = np.random.default_rng(0x5E9)
    weights = random.integers(1, 1 << 63, heads.shape[1] + 1, np.uint64) | np.uint64(1)
    prints: UInt64s = lengths.astype(np.uint64) * weights[-1]
    for column in range(heads.shape[1]):
        mixed = (heads[:, column].astype(np.uint64) + np.uint64(1)) * weights[column]
        prints ^= mixed ^ (mixed >> np.uint64(29))
        prints *= np.uint64(0x9E3779B97F4A7C15)
    return prints
