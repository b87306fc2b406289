"""The world of ``test_world``, its capture spoiled: what is called proven of it is so all the same
(replay/README.md 3).
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest

from seqaudit.replay.captures.doubts import weighed
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.results import FINDING, Result
from seqaudit.replay.contract.worth import BEGINNING, END, Doubt, Span, Worth
from tests.replay.zenoh.test_certificates import WideSession
from tests.replay.zenoh.test_engine import Session
from tests.replay.zenoh.test_world import (
    ANSWER,
    BEHIND,
    DROP,
    LATE,
    LOSE,
    LOSE_FINAL,
    LOSE_QUERY,
    LOSE_REPLY,
    PASS,
    Subscriber,
    World,
)

STEPS_S = (0.02, 0.3, 1.0, 6.0, 9.5, 30.0, 300.0)
LAGS_S = (0.001, 0.05, 0.5)
SNAP_LENGTHS = (20, 40, 60, 100)
WORLDS = 50


def world(rng: random.Random) -> World:
    """Publisher, cache and subscriber of some kind, and what became of what they sent."""
    sort = rng.choice(["none", "recovery", "recovery", "heartbeats", "periodic"])
    harm = rng.choice([[LOSE], [LATE], [DROP], [BEHIND], [LOSE, LATE, DROP, BEHIND]])
    often = rng.choice([0.05, 0.2, 0.5])

    def fate() -> str:
        return rng.choice(harm) if rng.random() < often else PASS

    lost = rng.choice([[], [], [LOSE_QUERY], [LOSE_REPLY], [LOSE_FINAL, LOSE_QUERY, LOSE_REPLY]])
    fates = [rng.choice(lost) if lost and rng.random() < 0.4 else ANSWER for _ in range(40)]
    found = World(
        Subscriber(sort != "none", sort == "heartbeats", None),
        rng.choice([1, 2, 6, 100]),
        rng.choice([0.05, 0.7, 3.0]) if sort == "periodic" else None,
        fates,
        rng.randint(0, 3),
        WideSession(),
    )
    steps: list[tuple[str, str]] = []
    for _ in range(rng.randint(4, 60)):
        what = rng.choice(["put"] * 8 + ["wait"] + ["beat"] * (2 * (sort == "heartbeats")))
        steps.append((what, fate()))
    found.run(steps)
    return found


def spoil(session: Session, rng: random.Random) -> str:
    """What is done to a capture, in words."""
    count = len(session.payloads)
    rows = [
        (payload, at, place in session.back)
        for place, (payload, at) in enumerate(zip(session.payloads, session.times, strict=True))
    ]
    way = rng.choice(
        ["whole", "drop", "drop", "burst", "head", "tail", "swap", "step", "step", "twice", "snap"]
    )
    near = [n for n in session.back if n and n + 2 < count]  # requests, and behind them
    place = (
        rng.choice(near) + rng.randint(0, 2)
        if near and rng.random() < 0.5
        else rng.randrange(count)
    )
    if way == "drop":
        share = rng.choice([0.02, 0.1, 0.3])
        rows = [row for row in rows if rng.random() >= share]
    elif way == "burst":
        del rows[place : place + rng.randint(1, 10)]
    elif way == "head":
        del rows[:place]
    elif way == "tail":
        del rows[place + 1 :]
    elif way == "swap" and place + 1 < count:
        one, other = rows[place : place + 2]
        rows[place : place + 2] = [(other[0], one[1], other[2]), (one[0], other[1], one[2])]
    elif way == "twice":
        lag = rng.choice(LAGS_S)
        again = [(payload, at + lag, back) for payload, at, back in rows]
        rows = sorted([*rows, *again], key=lambda row: row[1])
        way += f" {lag}"
    elif way == "snap":
        length = rng.choice(SNAP_LENGTHS)
        sizes = [len(payload) for payload, *_ in rows]
        session.cut = {n: size - length for n, size in enumerate(sizes) if size > length}
        way += f" {length}"
    elif way == "step":
        by = rng.choice(STEPS_S)
        rows = [(p, at + by if n >= place else at, back) for n, (p, at, back) in enumerate(rows)]
        way += f" {by}"
        if rng.random() < 0.5:
            del rows[place + rng.randint(1, 4) :]
    session.payloads = [payload for payload, _, _ in rows]
    session.times = [at for _, at, _ in rows]
    session.back = [n for n, (_, _, back) in enumerate(rows) if back]
    session.now = max(session.times, default=0.0)
    return f"{way} at {place}"


def as_reported(results: list[Result], how: str) -> list[Result]:
    """Findings in a capture that is told to hold all frames twice, if it does."""
    if not how.startswith("twice"):
        return results
    worth = Worth([Span(Doubt.TWICE, BEGINNING, END, "the capture holds most datagrams twice")])
    return [
        replace(r, detail=weighed(cast(PlacedFinding, {**r.detail, "stream": r.stream}), worth))
        if r.kind == FINDING else r
        for r in results
    ]  # fmt: skip


def refuted(found: World, results: list[Result]) -> Iterator[str]:
    """Proven findings that are not so."""
    has = found.subscriber
    passed = {sn for sn, fate in enumerate(found.fate_of) if fate == PASS}  # BEHIND: it may be late
    missed = {sn for first, stop, _ in has.misses for sn in range(first, stop)}
    dropped = {sn for sn, fate in enumerate(found.fate_of) if fate == DROP}
    late = {sn for sn, fate in enumerate(found.fate_of) if fate == LATE}
    true_of = {
        "ZN001": set(has.out) - passed,
        "ZN002": missed,
        "ZN004": dropped,
        "ZN006": late,
        "ZN022": missed,
        "CP007": set(has.out),
    }
    for result in results:
        if result.kind != FINDING or result.detail["certainty"] != "proven":
            continue
        claimed = {sn for a, b in result.detail["seqnos"] for sn in range(a, b + 1)}
        wrong = claimed - true_of.get(result.rule or "", claimed)
        if wrong or (result.rule == "ZN013" and not found.ran_out):
            yield f"{result.rule} {sorted(wrong)}: {result.detail['text']}"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_proven_of_a_spoiled_capture_is_so(seed: int) -> None:
    proven = 0
    for number in range(WORLDS):
        rng = random.Random(f"{seed} {number}")
        found = world(rng)
        how = spoil(found.session, rng)
        if not found.session.payloads:
            continue
        _, results = found.session.played()
        results = as_reported(results, how)
        assert list(refuted(found, results)) == [], (seed, number, how)
        proven += sum(r.kind == FINDING and r.detail["certainty"] == "proven" for r in results)
    assert proven > WORLDS // 4  # it would be no use if nothing ever were
