"""How to audit: what the command line asks of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import pyarrow as pa

from seqaudit.pipeline.shared.spark_address import SparkAddress

if TYPE_CHECKING:
    from seqaudit.decoders.contract.feed_layout import Feed


class EventViewer(Protocol):
    """Who wants to see the events of an audit beside its report."""

    @property
    def columns(self) -> Sequence[str]:
        """Columns of EVENTS that are asked for."""

    @property
    def kinds(self) -> Sequence[int]:
        """Kinds of events that are asked for; of those only rows with a ``seqno``."""

    def keep(self, events: pa.Table) -> None:
        """Events of a run, at least those that are asked for; they replace an earlier run's."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to audit; the defaults are those of the command line.

    Attributes:
        place: which Spark.
        at: vantage of all captures that have none of their own.
        parameters: full name to (value, origin), for all captures.
        names: identity (UUID or IP address) to name.
        decode_as: (transport, port, system): what comes there is the system's.
        no_decode: systems that nothing is recognised as.
        compile_it: whether kernels are compiled; null: if so many records are expected that it
            pays.
        look: is shown the events that are replayed, whichever engine decoded them.
        measured: the report says what the run took as well.
        cuts, target_bytes, lanes: only for tests: where to cut, size of tasks, partitions.
    """

    engine: Literal["spark", "direct"] = "spark"
    place: SparkAddress = field(default_factory=SparkAddress)
    at: str | None = None
    parameters: Mapping[str, tuple[int | bool | str, str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    decode_as: tuple[tuple[str, int, str], ...] = ()
    no_decode: frozenset[str] = frozenset()
    feeds: tuple[Feed, ...] = ()
    compile_it: bool | None = None
    look: EventViewer | None = None
    measured: bool = False
    cuts: Mapping[str, Sequence[int]] = field(default_factory=dict)
    target_bytes: int | None = None
    lanes: int | None = None
