"""Batches of mutants: which seeds they are, what they are told, and what failed.

A mutant is a file by itself, whose headers and order may be spoiled, too, or a conversation in a
crowd, of which a batch tries far more.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.hostile.check import SHAPES, Failure, failure
from tests.hostile.crowd import crowd
from tests.hostile.mutate import Mutant
from tests.hostile.shrink import shrunk
from tests.hostile.subjects import drawn, feed_choices

#: Captures of one audit.
TOGETHER: Final = 80
#: Of crowds.
CROWDS: Final = 4
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
    return [crowd(f"{seed}/{one} crowd") for one in range(first, first + together)]


def checked(mutants: Sequence[Mutant], number: int, *, feeds: int | None = None) -> Failure | None:
    """What is wrong with a batch; its number says what it is told and which format is written."""
    choices = feed_choices()
    told = choices[(number if feeds is None else feeds) % len(choices)]
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        shape = SHAPES[number % len(SHAPES)]
        return failure(mutants, Path(name), feeds=told, shape=shape)


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


def minimised(found: Found) -> Found:
    """The same failure from less."""

    def fails(some: Sequence[Mutant]) -> bool:
        wrong = checked(some, found.batch)
        return wrong is not None and wrong.cause == found.failure.cause

    small = shrunk(found.mutants, fails)
    again = checked(small, found.batch)
    return Found(again or found.failure, tuple(small), found.batch)
