"""Marks of the picture of one gap: what events and its story show of the seqnos round it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from seqaudit.replay.contract.report_rows import GapRow

if TYPE_CHECKING:
    import pyarrow as pa


#: Seqnos drawn below and above a gap, seqnos of it that are drawn, and events that are looked at.
AROUND: Final = 4
MOST: Final = 64
_EVENTS: Final = 20_000

_COLUMNS: Final = (
    "capture", "stream", "kind", "at_ns", "last_at_ns", "seqno", "stop_seqno", "frame", "index",
)  # fmt: skip


class Point(NamedTuple):
    """One mark of a sequence plot."""

    at_ns: int
    seqno: int
    mark: str


class EventsOfStreams:
    """What a run's events say of numbers of streams: data, copies and ACKs.

    An audit shows them to it (``Options.look``), so pictures need no second run.
    """

    def __init__(self) -> None:
        self._events: pa.Table | None = None

    @property
    def columns(self) -> Sequence[str]:
        return _COLUMNS

    @property
    def kinds(self) -> Sequence[int]:
        return tuple(_marks())

    def __bool__(self) -> bool:
        return self._events is not None

    def keep(self, events: "pa.Table") -> None:
        """Keep of a run's events what pictures need; those of an earlier run are forgotten."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from seqaudit.decoders.contract.events import EVENTS

        few = events.select(list(_COLUMNS))
        kinds = pc.is_in(few["kind"], pa.array(list(_marks()), few.schema.field("kind").type))
        chosen = few.filter(pc.and_(kinds, pc.is_valid(few["seqno"])))
        texts = pa.dictionary(pa.int32(), pa.string())  # many times the same
        plain = [EVENTS.field(name) for name in _COLUMNS]
        self._events = chosen.cast(
            pa.schema([f.with_type(texts) if f.name == "stream" else f for f in plain])
        )

    def points(self, gaps: Iterable[GapRow]) -> Iterator[tuple[GapRow, list[Point]]]:
        """Of each gap what is seen of its stream in its neighbourhood, stream by stream."""
        by_stream: dict[tuple[int, str], list[GapRow]] = {}
        for gap in gaps:
            by_stream.setdefault((gap["capture"], gap["stream"]), []).append(gap)
        for (capture, stream), of_stream in by_stream.items():
            events = self._of_stream(capture, stream)
            for gap in of_stream:
                yield gap, list(_of_events(gap, events))

    def _of_stream(self, capture: int, stream: str) -> "pa.Table":
        import pyarrow as pa
        import pyarrow.compute as pc

        assert self._events is not None, "no run has shown its events"
        here = self._events.filter(pc.field("capture") == capture)
        streams = here["stream"].cast(pa.string())
        names = [
            name
            for name in pc.unique(streams).to_pylist()
            if name is not None and _carries(name, stream)
        ]
        chosen = here.filter(pc.is_in(streams, pa.array(names, pa.string())))
        return _joined(chosen)


def _carries(events: str, stream: str) -> bool:
    """Whether events of this name are of a stream of the report: of all of a sender's streams, or
    of one link that it comes by (raims)."""
    return stream == events or stream.startswith(f"{events}|") or events.endswith(f"|{stream}")


def _joined(events: "pa.Table") -> "pa.Table":
    """Events of some streams in the order of the capture; runs that go on in the next row of their
    stream are one, so that a picture is the same wherever the capture was cut."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    events = events.set_column(
        events.schema.get_field_index("stream"), "stream", events["stream"].cast(pa.string())
    )
    order = ("stream", "frame", "index", "kind", "seqno")
    events = events.sort_by([(name, "ascending") for name in order])
    names = events["stream"].combine_chunks().dictionary_encode().indices.to_numpy()
    kinds, firsts = events["kind"].to_numpy(), events["seqno"].to_numpy()
    stops = pc.fill_null(events["stop_seqno"], -1).to_numpy()
    goes_on = names[1:] == names[:-1]
    goes_on &= (kinds[1:] == kinds[:-1]) & (firsts[1:] == stops[:-1])
    starts = np.flatnonzero(np.concatenate([[True], ~goes_on])) if len(events) else firsts
    ends = np.concatenate([starts[1:], [len(events)]]) - 1 if len(events) else firsts
    begun, ended = events.take(starts), events.take(ends)
    for name in ("last_at_ns", "stop_seqno"):
        index = begun.schema.get_field_index(name)
        begun = begun.set_column(index, begun.schema.field(name), ended[name])
    return begun.drop_columns(["stream"]).sort_by(
        [(name, "ascending") for name in order if name != "stream"]
    )


def of_story(gap: GapRow, seen: Iterable[Point]) -> Iterator[Point]:
    """What the gap's story says of its own seqnos: requests, when what events do not show
    (``seen``) had come, and where nothing came."""
    low, high, _, end = _bounds(gap)
    numbers = [n for a, b in gap["seqnos"] for n in range(max(a, low), min(b, high) + 1)]
    steps = gap["story"]["steps"]
    came = any(step["step"] in ("came", "had") for step in steps)
    shown = {point.seqno for point in seen if point.mark in "+o"}
    for step in steps:
        mark = {"asked": "?", "came": "o"}.get(step["step"])
        if mark is not None and step["at_ns"] is not None:
            marked = numbers if mark == "?" else [n for n in numbers if n not in shown]
            yield from (Point(step["at_ns"], number, mark) for number in marked)
    if not came:
        yield from (Point(end, number, "x") for number in numbers)


def _bounds(gap: GapRow) -> tuple[int, int, int, int]:
    """Seqnos [low, high] and times [begin, end] that are drawn."""
    first = gap["seqnos"][0][0]
    last = min(gap["seqnos"][-1][1], first + MOST - 1)
    times = [s["at_ns"] for s in gap["story"]["steps"] if s["at_ns"] is not None]
    begin, end = min(times, default=0), max(times, default=0)
    margin = max((end - begin) // 10, 1_000_000)
    return first - AROUND, last + AROUND, begin - margin, end + margin


def _marks() -> dict[int, str]:
    from seqaudit.decoders.contract.events import Kind

    return {Kind.DATA: "+", Kind.RETRANSMISSION: "o", Kind.ACK: "a"}


def _of_events(gap: GapRow, events: "pa.Table") -> Iterator[Point]:
    import pyarrow.compute as pc

    low, high, begin, end = _bounds(gap)
    marks = _marks()
    chosen = events.filter(
        (pc.field("last_at_ns") >= begin)
        & (pc.field("at_ns") <= end)
        & (pc.field("seqno") <= high)
        & (pc.field("stop_seqno") > low)
    ).slice(0, _EVENTS)
    seen: set[int] = set()
    for row in chosen.select(["at_ns", "last_at_ns", "kind", "seqno", "stop_seqno"]).to_pylist():
        mark = marks[row["kind"]]
        numbers = row["stop_seqno"] - row["seqno"]
        length = row["last_at_ns"] - row["at_ns"]
        for seqno in range(max(row["seqno"], low), min(row["stop_seqno"], high + 1)):
            at_ns = row["at_ns"] + length * (seqno - row["seqno"]) // max(numbers - 1, 1)
            again = mark == "+" and seqno in seen
            if mark != "a":
                seen.add(seqno)
            if begin <= at_ns <= end:
                yield Point(at_ns, seqno, "o" if again else mark)
