"""A row of the event contract as an engine sees it (replay/README.md 2)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.sequence.gaps import Arrival, Mark
from seqaudit.replay.sequence.ranges import Range

#: What a decoder says of a message beside the columns, by names of its own.
Details = Mapping[str, Any]

NO_FLAGS: Final = Flag(0)


@dataclass(frozen=True, slots=True)
class Event:
    """A message or a run; the fields are the columns of ``decoders.contract.events.EVENTS``."""

    frame: int
    at_ns: int
    kind: Kind
    wire_kind: str
    system: str
    stream: str | None = None
    source: str | None = None
    destination: str | None = None
    seqno: int | None = None
    stop_seqno: int | None = None
    count: int = 1
    conn_id: int | None = None
    stamp: int | None = None
    flags: Flag = NO_FLAGS
    size: int = 0
    fresh_id: int | None = None
    last_fresh_id: int | None = None
    last_frame: int = -1
    last_at_ns: int = -1
    index: int = 0
    detail: str | None = None

    def first_mark(self) -> Mark:
        """When the first message of the row was captured."""
        return Mark(self.frame, self.at_ns)

    def last_mark(self) -> Mark:
        """When the last message of the row was captured."""
        if self.last_frame < 0:
            return self.first_mark()
        return Mark(self.last_frame, self.last_at_ns)

    def arrival(self) -> Arrival:
        """The row as something that arrived."""
        last_id = self.fresh_id if self.last_frame < 0 else self.last_fresh_id
        return Arrival(
            self.first_mark(),
            self.last_mark(),
            self.kind is Kind.RETRANSMISSION or self.wire_kind == "XMIT_RSP",
            self.fresh_id,
            last_id,
        )

    def details(self) -> Details:
        """The row's JSON, parsed; empty if it has none."""
        return json.loads(self.detail) if self.detail else {}

    def ranges(self) -> list[Range]:
        """The half-open ranges of a REQUEST."""
        return [(a, b) for a, b in json.loads(self.detail)] if self.detail else []
