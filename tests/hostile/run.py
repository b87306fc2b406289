"""Batches of mutants: which seeds they are, what they are told, and what failed.

A mutant is a file by itself, whose headers and order may be spoiled, too, or a conversation in a
crowd, of which a batch tries far more.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.hostile.check import OTHERWISE, SHAPES, Failure, failure
from tests.hostile.crowd import CROWD, crowd
from tests.hostile.mutate import Mutant
from tests.hostile.shrink import shrunk
from tests.hostile.subjects import drawn, feed_choices

#: Captures of one audit.
TOGETHER: Final = 80
#: Of crowds.
CROWDS: Final = 2
#: Crowds are cut in one batch of so many, and in one of so many audited with interpreted kernels,
#: too, which cost eight times as much: crowds of a hundred, there. Neither number has a divisor in
#: common with those of formats and of things told.
_CUT: Final = 3
_INTERPRETED: Final = 11
_SMALL_CROWD: Final = 100
#: Files are written to memory where there is such a folder.
MEMORY: Final = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Found:
    """A failure, the mutants that make it, and what the audit was told."""

    failure: Failure
    mutants: tuple[Mutant, ...]
    batch: int

    @property
    def text(self) -> str:
        names = ", ".join(f"{one.name} ({'; '.join(one.ways)})" for one in self.mutants)
        return f"{self.failure.kind}: {self.failure.why}\n  {names}\n{self.failure.detail}"


def batch(seed: int, number: int, *, together: int = TOGETHER) -> list[Mutant]:
    """The mutants of a batch of a seed."""
    first = number * together
    return [drawn(seed, one) for one in range(first, first + together)]


def crowds(seed: int, number: int, *, together: int = CROWDS) -> list[Mutant]:
    """The crowds of a batch of a seed."""
    first = number * together
    size = CROWD if number % _INTERPRETED else _SMALL_CROWD
    return [crowd(f"{seed}/{one} crowd", size=size) for one in range(first, first + together)]


def checked(mutants: Sequence[Mutant], number: int) -> Failure | None:
    """What is wrong with a batch; its number says what it is told, which format is written and,
    of crowds, what else is tried."""
    choices = feed_choices()
    otherwise: tuple[str, ...] = OTHERWISE
    if any(one.crowded for one in mutants) and number % _INTERPRETED:
        otherwise = () if number % _CUT else ("cuts",)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        return failure(
            mutants, Path(name), feeds=choices[number % len(choices)],
            shape=SHAPES[number % len(SHAPES)], otherwise=otherwise,
        )  # fmt: skip


def failures(mutants: Sequence[Mutant], number: int) -> Iterator[Found]:
    """Everything that fails in a batch: captures alone, else the fewest together."""
    wrong = checked(mutants, number)
    if wrong is None:
        return
    alone = False
    for one in mutants:
        if found := checked([one], number):
            alone = True
            yield Found(found, (one,), number)
    if not alone:
        yield Found(wrong, tuple(mutants), number)


def minimised(found: Found, seconds: float) -> Found:
    """The same failure from less, as far as that is found in so many seconds."""
    failure = found.failure

    def fails(some: Sequence[Mutant]) -> bool:
        nonlocal failure
        wrong = checked(some, found.batch)
        if wrong is None or wrong.cause != failure.cause:
            return False
        failure = wrong
        return True

    small = shrunk(found.mutants, fails, seconds)
    return Found(failure, tuple(small), found.batch)
