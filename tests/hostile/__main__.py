"""``python -m tests.hostile``: audit spoiled captures for a while, and make small what fails.

Fails what raises, hangs, loses a frame, is another report with compiled kernels or when cut, or
changes what is said of a sound conversation beside it. One audit in eight is of captures each
spoiled as a file, the others of crowds of conversations, few of which are audited in every way. A
mutant is counted once, whoever talks in it and when, and not at all where nothing of it was
changed.
"""

import argparse
import itertools
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from seqaudit.pipeline.audit import NO_WALL
from tests.hostile.check import cut_at
from tests.hostile.run import Found, batch, crowds, failures, minimised
from tests.hostile.subjects import ELSEWHERE

#: Failures of one cause are the first one's: made small and shown once.
_Cause = tuple[str, str]
#: Every so many batches one is of files by themselves.
_ALONE = 8


def main() -> int:
    """Exit code 1 if anything failed."""
    given = _arguments()
    ELSEWHERE.extend(given.others)
    os.environ[NO_WALL] = "1"  # a fault is raised where it happens
    seen: Counter[_Cause] = Counter()
    tried: set[int] = set()
    with multiprocessing.get_context("fork").Pool(given.jobs) as pool:
        work = _work(given)
        rounds = iter(lambda: list(itertools.islice(work, 2 * given.jobs)), [])
        done = itertools.chain.from_iterable(pool.imap(_failures, some) for some in rounds)
        for held, found in done:
            tried |= held
            for one in found:
                seen[one.failure.cause] += 1
                if seen[one.failure.cause] == 1:
                    print(_told(_small(one, given.smaller), given.keep), flush=True)
    kinds: Counter[str] = Counter()
    for (kind, _), count in seen.items():
        kinds[kind] += count
    said = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    print(f"{len(tried)} mutants of seed {given.seed}: {said or 'nothing failed'}")
    return int(bool(seen))


def _work(given: argparse.Namespace) -> Iterator[tuple[int, int]]:
    """Seed and number of batches, until the time is over."""
    until = time.monotonic() + 60 * given.minutes
    numbers = itertools.count() if given.batch is None else [given.batch]
    for number in numbers:
        if time.monotonic() > until:
            return
        yield given.seed, number


def _failures(work: tuple[int, int]) -> tuple[frozenset[int], list[Found]]:
    """Sums of what was tried, and what failed."""
    seed, number = work
    mutants = crowds(seed, number) if number % _ALONE else batch(seed, number)
    return frozenset().union(*(one.held for one in mutants)), list(failures(mutants, number))


def _small(found: Found, seconds: float) -> Found:
    why = found.failure.why
    print(f"{found.failure.kind}: {why}: made small for {seconds:g} s at most", file=sys.stderr)
    return minimised(found, seconds)


def _told(found: Found, keep: Path | None) -> str:
    """A failure, its capture and how to see it again."""
    seed = found.mutants[0].name.split("/")[0]
    lines = [found.text, f"  python -m tests.hostile --seed {seed} --batch {found.batch}"]
    for one in found.mutants[:3]:
        if keep is None:
            lines.append(f"  {one.data.hex()}")
            continue
        keep.mkdir(parents=True, exist_ok=True)
        path = keep / f"{one.name.split()[0].replace('/', '-')}.pcap"
        path.write_bytes(one.data)
        lines.append(f"  {path}, cut at {cut_at(one)}")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--batch", type=int, help="only this batch of the seed")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (default %(default)s)"
    )
    parser.add_argument(
        "--others", type=Path, action="append", default=[], metavar="DIR",
        help="spoil the captures below it, too",
    )  # fmt: skip
    parser.add_argument(
        "--smaller", type=float, default=60, metavar="S",
        help="seconds in which the first failure of a cause is made small (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write what fails there")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
