"""What is proven of a spoiled capture of the model's world is true of that world.

The ways of ``tests.degraded`` that need no bytes, on the events of one end's capture: recordings
show few kinds of trouble, a world any number of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import FINDING
from tests.replay.builders import MS, A, B
from tests.replay.jgroups.unicast.test_model import PROVEN, audited
from tests.replay.jgroups.unicast.world import Plan, World

Events = list[Event]
#: The world begins here, so that a clock that is set back stays above zero.
BEGIN_NS: Final = 10**15
WORLDS: Final = 100


def plan(seed: int) -> Plan:
    """Few and many messages, good and bad paths, lost windows, connections one after the other."""
    of = Random(seed)

    def times(count: int, first: int, stop: int) -> tuple[int, ...]:
        return tuple(sorted(of.randrange(first, stop) for _ in range(count)))

    return Plan(
        seed=of.randrange(2**32),
        sends=times(of.choice((5, 15, 40)), 0, 12_000),
        loss=of.choice((0.0, 0.05, 0.2, 0.4)),
        duplication=of.choice((0.0, 0.1)),
        spread=of.choice((0, 5, 40, 700)),
        drops=times(of.choice((0, 0, 1, 2)), 500, 14_000),
        closes=times(of.choice((0, 0, 1, 3)), 500, 14_000),
    )


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


def twice(events: Events, of: Random) -> Events:
    lag_ns = of.choice((20_000, MS // 2, 2 * MS))
    again = [
        replace(moved(event, lag_ns), flags=event.flags | Flag.NETWORK_DUPLICATE)
        for event in events
    ]
    return sorted([*events, *again], key=lambda event: event.at_ns)


WAYS: Final[dict[str, Callable[[Events, Random], Events]]] = {
    "drop-1": dropped(0.01),
    "drop-5": dropped(0.05),
    "drop-30": dropped(0.3),
    "head": head,
    "tail": tail,
    "burst": burst,
    "step": stepped,
    "twice": twice,
}


def proven(point: str, events: Events, way: str) -> Iterator[Any]:
    """Findings of the protocol that are proven; where the clock steps, those that it lets stand.

    The engine sees no step: the report weighs what rests on time or order once more.
    """
    for row in audited(point, events).results:
        if (
            row.kind != FINDING
            or row.detail["certainty"] != "proven"
            or str(row.rule).startswith("CP")
        ):
            continue
        rests = row.detail.get("rests") or {}
        if way != "step" or not (rests.get("timed") or rests.get("ordered")):
            yield row


def true(point: str, row: Any, world: World, events: Events) -> bool:
    """Is it so? What no copy is in the capture of had not come when it was asked for last."""
    if row.rule in ("UC010", "UC011", "UC033"):
        shown = row.detail["evidence"]
        asked = max(e["frame"] for e in shown if e["shows"].endswith(("asked for", "request")))
        by_ms = (events[asked - 1].at_ns - BEGIN_NS) // MS
        came = world.came.get(int(row.stream.rpartition("|")[2]), {})
        return all(
            came.get(seqno, by_ms) >= by_ms or world.truth.windows_lost
            for first, last in row.detail["seqnos"]
            for seqno in range(first, last + 1)
        )
    return (point, row.rule) in PROVEN and PROVEN[point, row.rule](world.truth)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_proven_of_a_spoiled_capture_is_true(way: str) -> None:
    found = 0
    for seed in range(WORLDS):
        world = World(plan(seed)).play()
        if world.truth.silent_reopenings or world.truth.quick_losses:
            continue  # see test_model
        for point, captured in ((A, world.at_a), (B, world.at_b)):
            whole = [moved(event, BEGIN_NS) for event in captured]
            left = WAYS[way](whole, Random(seed))
            events = [replace(e, frame=n, last_frame=n) for n, e in enumerate(left, 1)]
            for row in proven(point, events, way):
                found += 1
                if way == "twice" and row.rule == "UC029":
                    continue  # it says: or from the capturing machine
                assert true(point, row, world, events), (seed, point, row.rule, row.detail)
    assert found > WORLDS
