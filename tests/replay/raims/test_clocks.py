"""Daemons' own times beside the capture's clock."""

import json

import pytest

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.results import FINDING
from tests.replay.raims.builders import (
    F0,
    HERE,
    ME,
    PEER,
    SECOND,
    T0,
    THERE,
    World,
    packet,
)


def clock_world(*steps: tuple[str, float, float]) -> World:
    """Two peers and the observer itself publish each half second; from a time on one's messages, or
    those of all ("all"), are captured so much later."""
    world = World()
    other = "cc" * 16
    world.feed(kind=Kind.MEMBER, wire_kind="MEMBER", source=other,
               detail=json.dumps({"name": "C", "address": "10.77.0.3:7239"}))  # fmt: skip
    numbers = dict.fromkeys((PEER, other, ME), 0)
    for turn in range(40):
        for place, source in enumerate(numbers):
            sent = turn / 2 + place / 100
            late = sum(by for who, since, by in steps if who in ("all", source) and sent >= since)
            numbers[source] += 1
            link = f"pgm:{source[:12]}.1"
            at = sent + 0.02 + late
            where = {ME: HERE, PEER: THERE}.get(source, "10.77.0.3")
            world.engine.feed(packet("ODATA", numbers[source], at, number=world.number + 1,
                                     source=where, stream=f"{link}|"))  # fmt: skip
            world.feed(
                at, kind=Kind.DATA, wire_kind="DATA", source=source, destination="_1.A", size=100,
                seqno=F0 + numbers[source], stop_seqno=F0 + numbers[source] + 1,
                stream=f"{link}|{source}|_1.A", fresh_id=numbers[source],
                stamp=T0 + round(sent * SECOND),
            )  # fmt: skip
    return world


@pytest.mark.parametrize(
    ("steps", "by"),
    [
        ([], None),
        ([("all", 8.0, 6.0)], "6.000 s"),
        ([(PEER, 8.0, 6.0)], None),  # its own clock
        ([(PEER, 8.0, 6.0), ("cc" * 16, 8.0, 6.0)], "6.000 s"),  # the observer's is the capture's
        ([("all", 8.0, 6.0), ("all", 9.0, -6.0)], None),  # a delay
        ([(PEER, 8.0, 6.0), ("cc" * 16, 8.0, 3.0)], None),
        ([("all", 8.0, 0.4)], None),
    ],
)
def test_where_all_clocks_jump_by_the_same_the_captures_was_set(
    steps: list[tuple[str, float, float]], by: str | None
) -> None:
    rows = clock_world(*steps).rows()
    found = [r.detail for r in rows if r.kind == FINDING and r.rule == "CP014"]
    assert [(f["certainty"], f["facts"]["by"]) for f in found] == (
        [] if by is None else [("likely", by)]
    )
    if by is not None:
        assert found[0]["facts"]["count"] == len(
            {who for who, *_ in steps if who != "all"} or "abc"
        )


def test_rows_that_are_not_fed_tell_the_clock_as_well() -> None:
    """The fast path, up to the step, which it leaves to the engine."""
    world = clock_world()
    clock = world.engine.state.clocks.of[PEER]
    steady = next(s for n, s in world.engine.state.steady._streams.items() if PEER in n)
    assert steady.clock is clock
