"""The ways of ``tests.degraded`` that need no bytes, for events of one end's capture of a world."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from heapq import merge
from random import Random
from typing import Final

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import FINDING, Result
from tests.replay.builders import MS

Events = list[Event]
#: The world begins here, so that a clock that is set back stays above zero.
BEGIN_NS: Final = 10**15


def spoiled(captured: Events, way: str, seed: int) -> Events:
    """A capture in one of ``WAYS``, its frames numbered anew."""
    left = WAYS[way]([moved(event, BEGIN_NS) for event in captured], Random(seed))
    return [replace(event, frame=n, last_frame=n) for n, event in enumerate(left, 1)]


def standing(results: Iterable[Result], way: str) -> Iterator[Result]:
    """Findings of messages that are proven; where the clock steps, those that it lets stand.

    The engine sees no step: the report weighs what rests on time or order once more.
    """
    for row in results:
        proven = row.kind == FINDING and row.detail["certainty"] == "proven"
        if not proven or (row.rule != "CP007" and str(row.rule).startswith("CP")):
            continue
        rests = row.detail.get("rests") or {}
        if way != "step" or not (rests.get("timed") or rests.get("ordered")):
            yield row


def numbers(ranges: Iterable[list[int]]) -> list[int]:
    """Of inclusive ranges, in their order."""
    return [n for first, last in ranges for n in range(first, last + 1)]


def figures_hold(row: Result, lost: set[int], delivered: list[int]) -> bool:
    """Is what a stream says of its receiver so: lost, or lacked, was each that it calls lost, and
    of what it calls delivered, or what lies between, all was?"""
    unsure = numbers(row.detail.get("delivered_unsure") or ())
    told = set(numbers(row.detail["delivered"] or ())) - set(unsure)
    between = {n for n in delivered if told and min(told) <= n <= max(told)}
    return set(numbers(row.detail["lost_seqnos"] or ())) <= lost and told == between - set(unsure)


def moved(event: Event, by_ns: int) -> Event:
    return replace(event, at_ns=event.at_ns + by_ns, last_at_ns=event.last_at_ns + by_ns)


def dropped(share: float) -> Callable[[Events, Random], Events]:
    return lambda events, of: [event for event in events if of.random() >= share]


def head(events: Events, of: Random) -> Events:
    return events[of.randrange(len(events)) :]


def tail(events: Events, of: Random) -> Events:
    return events[: of.randrange(1, len(events) + 1)]


def burst(events: Events, of: Random) -> Events:
    first = of.randrange(len(events))
    return events[:first] + events[first + of.randrange(1, 20) :]


def stepped(events: Events, of: Random) -> Events:
    first = of.randrange(len(events))
    step_ns = of.choice((-30_000, -500, -5, 5, 500, 30_000, 3_600_000)) * MS
    return events[:first] + [moved(event, step_ns) for event in events[first:]]


def middle(events: Events, of: Random) -> Events:
    return head(tail(events, of), of)


def sampled(events: Events, of: Random) -> Events:
    return events[of.randrange(3) :: 3]


def one_way(events: Events, of: Random) -> Events:
    """Only what one of them sent."""
    who = of.choice(sorted({str(event.source) for event in events}))
    return [event for event in events if event.source == who]


def without_a_kind(events: Events, of: Random) -> Events:
    kind = of.choice(sorted({event.wire_kind for event in events}))
    return [event for event in events if event.wire_kind != kind]


def exchanged(events: Events, of: Random) -> Events:
    """Neighbours that are as near as frames that a capturing machine exchanges, with each other's
    times."""
    found = list(events)
    n = 0
    while n < len(found) - 1:
        one, other = found[n], found[n + 1]
        apart_ns = other.at_ns - one.at_ns
        if apart_ns <= 20 * MS and of.random() < 0.2:
            found[n : n + 2] = [moved(other, -apart_ns), moved(one, apart_ns)]
            n += 1  # no frame goes further than its neighbour
        n += 1
    return found


def coarse(events: Events, of: Random) -> Events:
    tick_ns = of.choice((1, 10, 100)) * MS
    return [moved(event, -(event.at_ns % tick_ns)) for event in events]


def drifting(events: Events, of: Random) -> Events:
    share = of.choice((-500, 500))  # ppm, as much as NTP slews
    return [moved(e, (e.at_ns - BEGIN_NS) * share // 1_000_000) for e in events]


def twice(events: Events, of: Random) -> Events:
    lag_ns = of.choice((20_000, MS // 2, 2 * MS))
    again = [
        replace(moved(event, lag_ns), flags=event.flags | Flag.NETWORK_DUPLICATE)
        for event in events
    ]
    return list(merge(events, again, key=lambda event: event.at_ns))  # each in its own order


#: Ways that leave so little that few findings are proven.
SPARSE: Final = frozenset({"middle", "sampled", "one-way", "without-a-kind"})

WAYS: Final[dict[str, Callable[[Events, Random], Events]]] = {
    "whole": lambda events, of: events,
    "drop-1": dropped(0.01),
    "drop-5": dropped(0.05),
    "drop-30": dropped(0.3),
    "head": head,
    "tail": tail,
    "burst": burst,
    "middle": middle,
    "sampled": sampled,
    "one-way": one_way,
    "without-a-kind": without_a_kind,
    "exchanged": exchanged,
    "coarse": coarse,
    "drift": drifting,
    "step": stepped,
    "twice": twice,
}


def worlds(way: str, count: int) -> range:
    """Every third of so many worlds: each way begins with the next one, so that all are played."""
    return range(list(WAYS).index(way) % 3, count, 3)
