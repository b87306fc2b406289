"""Datagrams that came in a tunnel's fragments and stand in the capture by themselves as well
(``network.copies``)."""

import random
from collections.abc import Iterator
from typing import Final

import numpy as np
import pytest

from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.copies import WINDOW_NS, WITH_ID, Prints, SoughtCopies

SECOND: Final = 1_000_000_000
COPY: Final = int(Flag.NETWORK_DUPLICATE)
ALIKE: Final = int(Flag.ALIKE) | k.ONCE_BEFORE

#: (frame, time, print, whether it was put together)
Seen = tuple[int, int, int, bool]


def judged(seen: list[Seen], chunk: int) -> dict[int, int]:
    """Flags by frame of what was put together; prints are told so many frames at a time."""
    waiting: SoughtCopies[int] = SoughtCopies()

    def parts() -> Iterator[Iterator[tuple[int, int]]]:
        for first in range(0, len(seen), chunk):
            part = seen[first : first + chunk]
            if rows := [row[:3] for row in part if not row[3]]:
                yield waiting.tell(Prints(0, "", *np.array(rows, np.int64).T))
            for frame, at_ns, told, together in part:
                if together:
                    yield waiting.ask(frame, at_ns, told, frame)
        yield waiting.finish()

    return {frame: flags for decided in parts() for frame, flags in decided}


def modelled(seen: list[Seen]) -> dict[int, int]:
    """All pairs; a step of the clock back by more than 2 s has nothing near on its other side."""
    found, latest, turn = {}, 0, 0
    times = []
    for _, at_ns, _, _ in seen:
        if at_ns < latest - WINDOW_NS:
            turn, latest = turn + 1, at_ns
        latest = max(latest, at_ns)
        times.append((turn, at_ns))
    single = [(told, its) for (*_, told, also), its in zip(seen, times, strict=True) if not also]
    for (frame, _, told, together), (turn, at_ns) in zip(seen, times, strict=True):
        if together:
            like = [
                (other, (its, time))
                for other, (its, time) in single
                if other == told and turn == its and abs(time - at_ns) <= WINDOW_NS
            ]
            found[frame] = (COPY if told & WITH_ID else ALIKE) if like else 0
            if like and not told & WITH_ID:
                single.remove(min(like, key=lambda one: abs(one[1][1] - at_ns)))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_what_is_a_copy_depends_on_the_capture_alone(seed: int) -> None:
    """Bursts, silences and clocks that step; told in chunks of any size."""
    chance = random.Random(seed)
    seen: list[Seen] = []
    at_ns = 100 * SECOND
    for frame in range(1, 150):
        step = chance.choice((0, 1, 1, 1000, SECOND, 3 * SECOND, 9 * SECOND, -SECOND, -7 * SECOND))
        at_ns += step if chance.random() < 0.3 else chance.randrange(SECOND // 5)
        seen.append((frame, at_ns, chance.randrange(2, 12), chance.random() < 0.4))
    expected = modelled(seen)
    assert any(expected.values()) and not all(expected.values())
    for chunk in (1, 7, 40, 200):
        assert judged(seen, chunk) == expected


def test_a_copy_may_come_first_and_2_s_apart() -> None:
    told = 8 | WITH_ID
    for apart, flags in ((WINDOW_NS, COPY), (WINDOW_NS + 1, 0)):
        assert judged([(1, 0, told, True), (2, apart, told, False)], 1) == {1: flags}
        assert judged([(1, 0, told, False), (2, apart, told, True)], 1) == {2: flags}


def test_without_an_ip_id_each_has_one_copy() -> None:
    one, two = (1, 0, 8, False), (2, 10, 8, False)
    carried = [(3, 20, 8, True), (4, 21, 8, True)]
    assert judged([one, *carried], 9) == {3: ALIKE, 4: 0}
    assert judged([one, two, *carried], 9) == {3: ALIKE, 4: ALIKE}
