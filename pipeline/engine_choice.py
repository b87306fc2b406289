"""Which engine answers, and why: Spark for what is worth a job, else this process
(pipeline/README.md 3)."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.shared.plan import stored_size
from seqaudit.pipeline.shared.spark_address import SparkAddress

Engine = Literal["spark", "direct"]

#: Environment variables that name a place; Spark's own programs know the second one too.
MASTER: Final = "SPARK_MASTER"
REMOTE: Final = "SPARK_REMOTE"

_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB", "PB")


@dataclass(frozen=True, slots=True)
class Limits:
    """Above either of them captures are worth a Spark job; at them they are not."""

    total_bytes: int = 1 << 30
    files: int = 1_000


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that answers, where, and why: the end of a sentence."""

    engine: Engine
    place: SparkAddress
    why: str

    @property
    def line(self) -> str:
        """What a reader is told."""
        if self.engine == "direct":
            return f"engine: direct; {self.why}"
        where = self.place.remote or self.place.master or "this machine"
        return f"engine: Spark on {where}; {self.why}"


def chosen(
    asked: str,
    master: str | None,
    remote: str | None,
    files: Sequence[str],
    limits: Limits = Limits(),  # frozen
    environment: Mapping[str, str] = os.environ,
    settings: Sequence[tuple[str, str]] = (),
) -> Choice:
    """The engine for files.

    Args:
        asked: what ``--engine`` says: spark, direct or auto.
        master, remote: as given; else those of the environment.
        settings: of Spark, for whatever place it is.

    Raises:
        SeqauditError: two places are named, or one and the direct engine.
    """
    if master and remote:
        raise SeqauditError("--master and --remote name two places; give one")
    if asked == "direct":
        if master or remote:
            raise SeqauditError("--engine direct runs in this process; leave --master/--remote out")
        return Choice("direct", SparkAddress(), "--engine says so")
    place, named = _spark_at(master, remote, environment)
    place = replace(place, settings=tuple(settings))
    if asked == "spark":
        return Choice("spark", place, "--engine says so")
    if named:
        return Choice("spark", place, f"{named} names it")
    size = sum(map(stored_size, files))
    if size > limits.total_bytes:
        return Choice("spark", place, f"{_size(size)} are more than {_size(limits.total_bytes)}")
    if len(files) > limits.files:
        return Choice("spark", place, f"{len(files):,} files are more than {limits.files:,}")
    number = f"{len(files):,} file{'s' if len(files) > 1 else ''}"
    most = f"{_size(limits.total_bytes)} or {limits.files:,} files"
    return Choice("direct", place, f"{number} of {_size(size)}, Spark is for more than {most}")


def _spark_at(
    master: str | None, remote: str | None, environment: Mapping[str, str]
) -> tuple[SparkAddress, str]:
    """Where Spark is, and what names it; empty: nothing does."""
    if master or remote:
        return SparkAddress(master or None, remote or None), "--master" if master else "--remote"
    master, remote = environment.get(MASTER), environment.get(REMOTE)
    if master and remote:
        raise SeqauditError(f"{MASTER} and {REMOTE} name two places; unset one")
    return SparkAddress(
        master or None, remote or None
    ), MASTER if master else REMOTE if remote else ""


def _size(number: int) -> str:
    """Bytes for people: 21 kB, 2.7 GB; a whole number of GiB as such."""
    if number and number % (1 << 30) == 0:
        return f"{number >> 30} GiB"
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if unit else f"{number} bytes"
