"""A system of the smallest kind: what a newcomer writes, and all of it (CONTRIBUTING.md 2).

A datagram is ``toy!`` and a number of four bytes. Its stream is who sends to whom; a number that is
passed over is missing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.stages import registry
from seqaudit.pipeline.shared import job
from seqaudit.replay.contract.engine import (
    Compared,
    Comparison,
    Detail,
    Opened,
    Opening,
    Replayed,
    System,
)
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.finding import Certainty, Finding
from seqaudit.replay.contract.parameters import EngineParameters, Parameter, by_name
from seqaudit.replay.contract.report_rows import Delivered, StreamFigures, Time
from seqaudit.replay.contract.reporter import Reporter
from seqaudit.replay.contract.results import STREAM, Result
from seqaudit.replay.contract.rule import error
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet, inclusive
from seqaudit.replay.stages import systems

NAME: Final = "toy"
MARK: Final = b"toy!"


class ToyDecoder:
    """Datagrams of the toy, a row each."""

    system = NAME

    def __init__(self, settings: DecodeSettings) -> None:
        self._messages = 0

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        rows = []
        for number in range(datagrams.count):
            start = int(datagrams.start[number])
            payload = bytes(datagrams.data[start : int(datagrams.stop[number])])
            if payload[:4] != MARK:
                continue
            if len(payload) != 8:
                datagrams.outcome[number] = FrameOutcome.MALFORMED
                continue
            datagrams.outcome[number] = FrameOutcome.DECODED
            rows.append(self._row(datagrams, number, int.from_bytes(payload[4:], "big")))
        self._messages += len(rows)
        return [pa.RecordBatch.from_pylist(rows, schema=EVENTS)] if rows else []

    def _row(self, datagrams: Datagrams, number: int, seqno: int) -> dict[str, Any]:
        frame = datagrams.split << 40 | int(datagrams.frame[number])
        source = datagrams.hosts[int(datagrams.source[number])]
        destination = datagrams.hosts[int(datagrams.destination[number])]
        at_ns = int(datagrams.at_ns[number])
        return {
            "capture": datagrams.capture, "frame": frame, "index": 0, "last_frame": frame,
            "at_ns": at_ns, "last_at_ns": at_ns, "system": NAME, "conversation": f"{NAME}|",
            "stream": f"{source}>{destination}", "source": source, "destination": destination,
            "kind": int(Kind.DATA), "wire_kind": "TOY", "seqno": seqno, "stop_seqno": seqno + 1,
            "count": 1, "flags": int(datagrams.flags[number]), "size": 8,
        }  # fmt: skip

    def finish(self) -> list[pa.RecordBatch]:
        return []

    def account(self) -> dict[str, object]:
        return {"messages_by": {NAME: {"TOY": self._messages}}} if self._messages else {}


class Toy:
    """One stream."""

    system = NAME

    def __init__(self, event: Event) -> None:
        self.key = event.stream or ""
        self.sender = event.source or ""
        self.receiver = event.destination
        self.seen = RangeSet()
        self.arrivals = 0
        self.first = event.first_mark()
        self.last = event.last_mark()

    def missing(self, fewest: int) -> list[tuple[int, int]]:
        holes = self.seen.missing(self.seen.first(), self.seen.stop())
        return [(a, b) for a, b in holes if b - a >= fewest]


class ToyEngine:
    """All streams of a capture."""

    def __init__(self, opening: Opening) -> None:
        self.parameters = EngineParameters(NAME, PARAMETERS, opening.parameters)
        self.streams: dict[str, Toy] = {}

    def feed(self, event: Event) -> None:
        assert event.seqno is not None and event.stop_seqno is not None
        stream = self.streams.setdefault(event.stream or "", Toy(event))
        stream.seen.add(event.seqno, event.stop_seqno)
        stream.arrivals += event.count
        stream.last = event.last_mark()

    def close(self) -> None:
        """Nothing is open."""


class ToyReporter(Reporter[Toy]):
    """Results of one conversation."""

    def receiver_of(self, stream: Toy) -> str | None:
        return stream.receiver

    def rows(self, engine: ToyEngine) -> Iterator[Result]:
        for _, stream in sorted(engine.streams.items()):
            lost = stream.missing(1)
            yield self.row(STREAM, _stream(stream, sum(b - a for a, b in lost)), stream)
            told = stream.missing(self.parameters.value("fewest"))
            if told:
                yield self.finding(self._missing(stream, told), stream)
        yield self.judged("TY001", None)
        yield from self.parameters_used(["fewest"])

    def _missing(self, stream: Toy, holes: Sequence[tuple[int, int]]) -> Finding:
        return self.make(
            stream, "TY001", Certainty.LIKELY,
            "{count:number} of {sender_member} {count|is|are} missing.",
            seqnos=holes, mark=Mark(stream.last.frame, stream.last.at_ns),
            evidence=[(stream.last, "the last that came")],
            facts={"count": sum(b - a for a, b in holes)}, default="fewest",
        )  # fmt: skip


class ToyComparison(Comparison):
    """Numbers missing in one capture that another holds."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[int, Detail]]] = {}

    def note(self, capture: int, stream: str, row: Detail) -> None:
        self._seen.setdefault(stream, []).append((capture, row))

    def judge(self, replayed: Replayed) -> Compared:
        found = []
        for stream, rows in sorted(self._seen.items()):
            held = RangeSet((a, b + 1) for _, row in rows for a, b in row["delivered"])
            for capture, row in rows:
                own = RangeSet((a, b + 1) for a, b in row["delivered"])
                elsewhere = RangeSet(held)
                for a, b in own:
                    elsewhere.remove(a, b)
                if elsewhere:
                    finding = Finding(
                        "TY001", Certainty.PROVEN,
                        "{count:number} missing here {count|is|are} in another capture.",
                        NAME, stream, row["last_frame"], row["last_ns"], list(elsewhere),
                        facts={"count": elsewhere.total()},
                    )  # fmt: skip
                    found.append(finding.seen_at(capture))
        return Compared(found)


class ToyStreamRow(StreamFigures):
    """A stream as the report has it."""

    first_ns: Time
    last_ns: Time
    delivered: Delivered


def _stream(stream: Toy, lost: int) -> ToyStreamRow:
    return {
        "sender": stream.sender, "receiver": stream.receiver, "conn_id": None,
        "first_seqno": stream.seen.first(), "last_seqno": stream.seen.stop() - 1,
        "first_frame": stream.first.frame, "last_frame": stream.last.frame,
        "first_ns": stream.first.at_ns, "last_ns": stream.last.at_ns,
        "messages": stream.seen.total(), "arrivals": stream.arrivals,
        "copies": stream.arrivals - stream.seen.total(), "gaps": 0,
        "lost": lost, "recovered": 0, "unrecovered": lost,
        "delivered": inclusive(stream.seen),
    }  # fmt: skip


def _open(opening: Opening) -> Opened:
    engine = ToyEngine(opening)

    def results(_: int) -> list[Result]:
        return list(ToyReporter(opening.capture, opening.conversation, engine.parameters, NAME)
                    .rows(engine))  # fmt: skip

    return Opened(engine, results)


RULES: Final = (
    error(
        "TY001",
        "toy-missing",
        "Numbers of a toy never came.",
        "Later ones did. Likely: one capture cannot show that they were sent. Proven where another "
        "capture holds them.",
        "Ask who dropped them.",
        "tests.toy_system",
    ),
)
PARAMETERS: Final = by_name(
    [Parameter("toy.fewest", 1, "numbers", "a hole of fewer is not said", "tests.toy_system")]
)
TOY: Final = System(
    NAME,
    _open,
    RULES,
    ("TY",),
    PARAMETERS,
    comparison=ToyComparison,
    streams={NAME: [ToyStreamRow]},
)


def numbered(seqno: int) -> bytes:
    """A datagram's payload."""
    return MARK + seqno.to_bytes(4, "big")


@contextmanager
def registered() -> Iterator[None]:
    """A line on each side, for so long."""
    with (
        patch.dict(registry.DECODERS),
        patch.dict(systems.SYSTEMS),
        patch.dict(systems.RULES),
        patch.dict(systems.PARAMETERS),
    ):
        registry.register(NAME, ToyDecoder)
        systems.register(TOY)
        yield


def decode_tasks(*given: Any) -> Iterator[pa.RecordBatch]:
    """Stage one in a worker that knows the toy: it imports this by its name."""
    with registered():
        yield from job.decode_tasks(*given)


def replay_stage(*given: Any) -> Iterator[pa.RecordBatch]:
    """Stage three in such a worker."""
    with registered():
        yield from job.replay_stage(*given)
