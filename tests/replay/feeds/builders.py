"""Rows of feeds for tests: a story of datagrams becomes EVENTS rows, cut into runs anywhere."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS, Flag, Kind
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings, Vantage
from seqaudit.replay.feeds.engine import FACTS, FeedEngine
from seqaudit.replay.stages import replay as stage

MS: Final = 1_000_000
STREAM: Final = "f|10.0.0.9:1|"
CONVERSATION: Final = "feed|f|10.0.0.9:1"


@dataclass(frozen=True)
class Datagram:
    """One datagram of a story: numbers [first, stop) as on the wire."""

    first: int | None
    stop: int | None
    kind: Kind = Kind.DATA
    flags: int = int(Flag.MULTICAST)
    stream: str = STREAM
    source: str = "10.0.0.1:5"
    ranges: Sequence[tuple[int, int]] = ()
    stamp: int | None = None
    destination: str = "10.0.0.9:1"
    frame: int = 0
    at_ns: int = 0


def data(first: int, count: int = 1, **fields: Any) -> Datagram:
    """Numbers first.."""
    return Datagram(first, first + count, **fields)


def copy(first: int, count: int = 1) -> Datagram:
    """What the network had brought before."""
    return data(first, count, flags=int(Flag.MULTICAST | Flag.NETWORK_DUPLICATE))


def repair(first: int, count: int = 1, **fields: Any) -> Datagram:
    """A repair as the wire marks it."""
    return data(first, count, kind=Kind.RETRANSMISSION, source="10.0.0.2:7", **fields)


def heartbeat(following: int, **fields: Any) -> Datagram:
    """A heartbeat that says what comes next."""
    return Datagram(following - 1 if following else None, following, kind=Kind.HIGHEST, **fields)


def end(following: int) -> Datagram:
    """The end of the session."""
    return Datagram(following - 1 if following else None, following, kind=Kind.CLOSE)


def reset(start: int | None = None) -> Datagram:
    """The sender says that numbering begins anew."""
    return Datagram(None if start is None else start - 1, start, kind=Kind.NOTICE)


def request(*ranges: tuple[int, int], source: str = "10.0.0.3:9") -> Datagram:
    """Somebody asks for [first, stop)."""
    return Datagram(None, None, kind=Kind.REQUEST, ranges=ranges, source=source)


def dated(story: Iterable[Any]) -> list[Datagram]:
    """One frame each, 1 ms apart; a number is a pause in ms."""
    now = 0
    found: list[Datagram] = []
    for step in story:
        if isinstance(step, int):
            now += step
            continue
        now += 1
        found.append(replace(step, frame=len(found) + 1, at_ns=now * MS))
    return found


@dataclass
class Decoder:
    """What the decoder does with one stream's datagrams: runs, absorbed heartbeats, pauses."""

    facts: dict[str, Any] = field(default_factory=dict)
    records: bool = False  # payload with (seqno, at_ns[, stamp])
    hz: int | None = None  # ticks a second of the timestamps
    odd: int | None = None  # datagrams of each row whose blocks do not add up

    def rows(self, story: Sequence[Datagram], cuts: Iterable[int] = ()) -> list[dict[str, Any]]:
        """EVENTS rows; ``cuts``: frames before which a piece of the capture begins."""
        borders = set(cuts)
        rows: list[dict[str, Any]] = []
        runs: dict[str, dict[str, Any]] = {}
        told: set[str] = set()
        aside = False
        for datagram in story:
            if datagram.frame in borders:
                runs.clear()
                told.clear()
            if datagram.stream not in told and datagram.kind != Kind.REQUEST:
                told.add(datagram.stream)
                rows.append(self._facts(datagram))
            unicast = datagram.kind == Kind.DATA and bool(datagram.flags & Flag.ASIDE)
            if datagram.kind == Kind.DATA and (unicast or aside):
                runs.clear()  # unicast data may be a repair, of any stream
                aside = unicast
            run = runs.get(datagram.stream)
            if run is not None and datagram.at_ns - run["last_at_ns"] > 3000 * MS:
                run = None
                runs.pop(datagram.stream)
            if datagram.kind == Kind.HIGHEST:
                shown = run is not None and run["stop_seqno"] == datagram.stop
                if run is not None and shown and _same_ends(run, datagram):
                    run["last_frame"], run["last_at_ns"] = datagram.frame, datagram.at_ns
                    continue
                runs.pop(datagram.stream, None)
            elif datagram.kind != Kind.DATA:
                runs.clear()
            elif run is not None and _follows(run, datagram) and self.odd is None:
                run["stop_seqno"] = datagram.stop
                run["last_frame"], run["last_at_ns"] = datagram.frame, datagram.at_ns
                run["count"] += 1
                run["size"] += 10
                if self.records:
                    run["payload"] += self._record(datagram)
                continue
            row = self._row(datagram)
            rows.append(row)
            if datagram.kind == Kind.DATA:
                runs[datagram.stream] = row
        return rows

    def _facts(self, datagram: Datagram) -> dict[str, Any]:
        detail = json.dumps(
            {"bits": 64, "hz": None, "stamp_bits": None, "declares": []} | self.facts
        )
        row = self._row(replace(datagram, kind=Kind.NOTICE, first=None, stop=None))
        return row | {"wire_kind": FACTS, "index": -1, "detail": detail, "payload": None}

    def _row(self, datagram: Datagram) -> dict[str, Any]:
        row = dict.fromkeys(EVENTS.names)
        row |= {
            "capture": 0, "frame": datagram.frame, "index": 0, "last_frame": datagram.frame,
            "at_ns": datagram.at_ns, "last_at_ns": datagram.at_ns, "system": "feed",
            "conversation": CONVERSATION, "stream": datagram.stream, "source": datagram.source,
            "destination": datagram.destination, "kind": int(datagram.kind), "wire_kind": "DATA",
            "seqno": datagram.first, "stop_seqno": datagram.stop, "count": 1,
            "flags": datagram.flags, "size": 10, "conn_id": self.hz, "stamp": self.odd,
        }  # fmt: skip
        if datagram.kind == Kind.REQUEST:
            row["detail"] = json.dumps([list(part) for part in datagram.ranges])
        if self.records and datagram.kind == Kind.DATA:
            row["payload"] = self._record(datagram)
        return row

    def _record(self, datagram: Datagram) -> bytes:
        assert datagram.first is not None, "data has numbers"
        numbers = [datagram.first, datagram.at_ns]
        if datagram.stamp is not None:
            numbers.append(datagram.stamp)
        return b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)


def _follows(run: dict[str, Any], datagram: Datagram) -> bool:
    same = run["flags"] == datagram.flags and _same_ends(run, datagram)
    return same and bool(run["stop_seqno"] == datagram.first)


def _same_ends(run: dict[str, Any], datagram: Datagram) -> bool:
    return bool(run["source"] == datagram.source and run["destination"] == datagram.destination)


def batches(rows: Sequence[dict[str, Any]], size: int) -> list[pa.RecordBatch]:
    """Rows in batches of at most ``size``."""
    return [
        pa.RecordBatch.from_pylist(list(rows[start : start + size]), schema=EVENTS)
        for start in range(0, len(rows), size)
    ]


def engine_of(
    story: Iterable[Any],
    *,
    cuts: Iterable[int] = (),
    size: int = 1000,
    records: bool = False,
    facts: dict[str, Any] | None = None,
    **given: int,
) -> FeedEngine:
    """An engine that has seen a story."""
    parameters = {f"feed.{name}": (value, "given") for name, value in given.items()}
    engine = FeedEngine(CONVERSATION, parameters, Vantage())
    rows = Decoder(facts or {}, records).rows(dated(story), cuts)
    for batch in batches(rows, size):
        engine.take(batch)
    engine.close()
    return engine


def replayed(
    story: Iterable[Any],
    *,
    cuts: Iterable[int] = (),
    size: int = 1000,
    records: bool = False,
    facts: dict[str, Any] | None = None,
    hz: int | None = None,
    odd: int | None = None,
    **given: int,
) -> list[dict[str, Any]]:
    """RESULTS rows of a story that went through the stage; details parsed."""
    parameters = {f"feed.{name}": (value, "given") for name, value in given.items()}
    rows = Decoder(facts or {}, records, hz, odd).rows(dated(story), cuts)
    settings = ReplaySettings((CaptureSettings(Vantage(), parameters),))
    found = [
        row for batch in stage.replay(batches(rows, size), settings) for row in batch.to_pylist()
    ]
    for row in found:
        row["detail"] = json.loads(row["detail"])
    return found
