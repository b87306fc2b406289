"""Which of several captures of two hosts was taken at which: the datagrams say (replay/README.md
4).

What X sends to Y is earlier at X than at Y, and what Y sends is later there; the difference of the
two delays does not depend on how far the clocks are apart. So of two captures of one link each has
its end, and of three the one between the others has none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from seqaudit.decoders.network.prints import Seen
from seqaudit.replay.contract.settings import UNKNOWN, Vantage

#: Datagrams of each direction that both captures hold, at least.
LEAST_SHARED: Final = 3
#: Records of a capture that are looked at.
MOST_RECORDS: Final = 20_000
#: Captures of the same two hosts that are compared with each other.
MOST_CAPTURES: Final = 8


@dataclass(frozen=True, slots=True)
class ComparedCaptures:
    """How two captures of X and Y differ.

    Attributes:
        nearer: 1 if the first is nearer to X, -1 if it is nearer to Y, 0 if nobody can tell.
        shared: datagrams that both hold.
        later_ns: how long a datagram of X took from one to the other, there and back halved.
    """

    nearer: int
    shared: int
    later_ns: int


def compare(one: Sequence[Seen], other: Sequence[Seen], x: str) -> ComparedCaptures:
    """Two captures of what goes between X and another."""
    first, second = _alone(one), _alone(other)
    delays: dict[bool, list[int]] = {True: [], False: []}
    for key, seen in first.items():
        if key in second:
            delays[seen.source == x].append(second[key].at_ns - seen.at_ns)
    there, back = delays[True], delays[False]
    shared = len(there) + len(back)
    if min(len(there), len(back)) < LEAST_SHARED:
        return ComparedCaptures(0, shared, 0)
    from statistics import quantiles

    low_there, _, high_there = quantiles(there, n=4)
    low_back, _, high_back = quantiles(back, n=4)
    apart = (sorted(there)[len(there) // 2] - sorted(back)[len(back) // 2]) // 2
    if low_there > high_back:
        return ComparedCaptures(1, shared, apart)
    if low_back > high_there:
        return ComparedCaptures(-1, shared, apart)
    return ComparedCaptures(0, shared, apart)


def vantages_of_link(
    ends: tuple[str, str], seen: Mapping[int, Sequence[Seen]]
) -> dict[int, Vantage]:
    """Vantages of captures of the same two hosts, as far as they tell.

    Args:
        ends: the two addresses.
        seen: packets between them, by the number of the capture.
    """
    x, y = ends
    numbers = sorted(seen)[:MOST_CAPTURES]
    nearer: Counter[int] = Counter()
    undecided: set[int] = set()
    shared = later = 0
    for one, other in combinations(numbers, 2):
        compared = compare(seen[one], seen[other], x)
        if compared.nearer == 0:
            undecided |= {one, other}
            continue
        nearer[one] += compared.nearer
        nearer[other] -= compared.nearer
        shared, later = compared.shared, abs(compared.later_ns)
    found = {}
    for number in numbers:
        if number in undecided:
            continue
        rank = nearer[number]
        if rank == len(numbers) - 1:
            at = x
        elif rank == 1 - len(numbers):
            at = y
        else:
            found[number] = Vantage(
                "between", None, "inferred",
                f"of the captures of {x} and {y} that were given, others are nearer to both",
            )  # fmt: skip
            continue
        found[number] = Vantage(
            "member", at, "inferred",
            f"of {shared} packets that captures of {x} and {y} share, those of {at} are "
            f"{later / 1e6:.3f} ms earlier here, and those to it later",
        )  # fmt: skip
    return found if len(numbers) > 1 else {}


def links_of(
    vantages: Sequence[Vantage], both: Sequence[Sequence[str]]
) -> dict[tuple[str, str], list[int]]:
    """Captures whose unicasts are all between the same two hosts, if nobody knows of one of them
    at which it was taken."""
    links: dict[tuple[str, str], list[int]] = {}
    for number, ends in enumerate(both):
        if len(ends) == 2 and vantages[number].origin != "given":
            links.setdefault((ends[0], ends[1]), []).append(number)
    return {
        ends: numbers
        for ends, numbers in links.items()
        if len(numbers) > 1 and any(vantages[number].kind == UNKNOWN for number in numbers)
    }


def _alone(packets: Sequence[Seen]) -> dict[tuple[str, bytes], Seen]:
    """Packets that nothing else in the capture looks like."""
    times = Counter((seen.source, seen.print) for seen in packets)
    return {
        (seen.source, seen.print): seen for seen in packets if times[seen.source, seen.print] == 1
    }
