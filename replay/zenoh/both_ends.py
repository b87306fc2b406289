"""What one end of a zenoh session sent the other, seen at both (zenoh.md 8.1, 11).

No transport of zenoh sends a frame again: a sn of a counter is one frame, and what the capture at
its sender has and the one at its receiver lacks did not come, or was not captured there. A way is
what goes from one endpoint to another; all priorities and channels of it are one lane of frames.

    a message in one frame     is told by that frame; a sample by its sn, once a copy
    a fragmented message       came if all its frames came: one that came in another order is whole
                               on the link, though its receiver drops it

Over TCP nothing gets lost between the ends while the connection lives; what one capture lacks was
cut off with it, or not captured.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.report_rows import PassageKind
from seqaudit.replay.sequence.clocks import Clocks, Sightings
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.passages import (
    OVERTAKEN_NS,
    UNDER_WAY_NS,
    NumberRun,
    Other,
    Passages,
    Passed,
    grows,
)
from seqaudit.replay.sequence.ranges import RangeSet

#: Ways whose frames one capture remembers: a group may have any number of senders.
MAX_WAYS: Final = 1_024
#: KeepAlives and the like that it remembers of each.
MAX_SIGNS: Final = 64
#: Fragmented messages that one capture remembers.
MAX_FRAGMENTED: Final = 100_000
#: A counter and the sn of a frame in one number.
CODE_BITS: Final = 40

#: The kind of what has no copies and is compared whatever it holds.
FRAMES: Final[PassageKind] = "frames"
SAMPLES: Final[PassageKind] = "samples"
#: What of a session's traffic is counted -> what one of it is called.
WORDS: Final[Mapping[PassageKind, str]] = {
    FRAMES: "frame",
    SAMPLES: "sample",
    "heartbeats": "heartbeat",
    "queries": "query",
    "replies": "reply",
    "finals": "final",
    "declarations": "declaration",
}
_KINDS: Final = {"request": "queries", "response": "replies", "response_final": "finals"}


class Way(NamedTuple):
    """From one endpoint to another, or to a group."""

    sender: str
    receiver: str


class Fragmented(NamedTuple):
    """A message in frames [first, stop) of a counter, the last of them at ``last``.

    Attributes:
        number: of a sample its sn.
    """

    first: int
    stop: int
    last: Mark
    number: int


class SessionEnds:
    """What one capture of a session holds.

    Attributes:
        local: the member at whose interface it was taken, as an address.
        first, last: of everything that was captured of the session.
        cut: frames are cut off, or could not be read.
    """

    def __init__(self, capture: int, local: str) -> None:
        self.capture = capture
        self.local = local
        self.passages = Passages()
        self.seen: dict[Way, Sightings] = {}
        self.first: Mark | None = None
        self.last: Mark | None = None
        self.cut = False
        self.full = False
        self.fragmented: dict[tuple[Way, str], list[Fragmented]] = {}
        self.nodes: dict[str, str] = {}  # endpoint -> zid of its node, once it is known
        self.hidden: dict[str, int] = {}  # endpoint -> samples that it had and are not here
        self._signs: dict[Way, dict[int, int]] = {}
        self._fragments = 0

    def sign(self, event: Event) -> None:
        """A datagram with nothing to number, such as a KeepAlive: the last ones are kept by IP id
        (0 is none), with their times."""
        way = self._way(event)
        if way is None or not event.fresh_id:
            return
        signs = self._signs.setdefault(way, {})
        signs.pop(event.fresh_id, None)
        signs[event.fresh_id] = event.at_ns
        if len(signs) > MAX_SIGNS:
            del signs[next(iter(signs))]

    def signs(self, way: Way) -> dict[int, int]:
        """IP id to time of the last datagrams of a way that had nothing to number."""
        return self._signs.get(way, {})

    def frames(self, event: Event, mask: int) -> None:
        """A run of frames, or a fragment."""
        assert event.seqno is not None and event.stop_seqno is not None
        way = self._way(event)
        if way is None:
            return
        code = event.conn_id or 0
        first, last = event.first_mark(), event.last_mark()
        self.first = first if self.first is None else min(self.first, first, key=_time)
        self.last = last if self.last is None else max(self.last, last, key=_time)
        begin, count = event.seqno & mask, event.stop_seqno - event.seqno
        seen = self.seen[way]
        seen.saw((code, begin), first.at_ns)
        if count > 1:
            seen.saw((code, begin + count - 1 & mask), last.at_ns)
        times = first.frame, last.frame, first.at_ns, last.at_ns
        while count:  # a run goes on at 0 behind the highest sn
            part = min(count, mask + 1 - begin)
            number = _number(code, begin)
            self.passages.saw((way, FRAMES, str(code)), NumberRun(number, number + part, *times))
            begin, count = 0, count - part

    def message(self, kind: str, event: Event, source: str = "", sn: int | None = None) -> None:
        """A message in one frame, or a run of samples.

        Args:
            source, sn: of a numbered sample.
        """
        way = self._way(event)
        if way is None or event.stamp is None:
            return
        first, last = event.first_mark(), event.last_mark()
        times = first.frame, last.frame, first.at_ns, last.at_ns
        if sn is not None:
            row = NumberRun(sn, sn + event.count, *times)
        else:
            number = _number(event.conn_id or 0, event.stamp)
            row = NumberRun(number, number + 1, *times)
        self.passages.saw((way, kind, source), row)

    def put_together(self, kind: str, event: Event, pieces: int, mask: int, sn: int | None) -> None:
        """A fragmented message, of which this is the last piece.

        Args:
            sn: of a sample.
        """
        assert event.seqno is not None
        way = self._way(event)
        if way is None:
            return
        if self._fragments >= MAX_FRAGMENTED:
            self.full = True
            return
        self._fragments += 1
        last = event.seqno & mask
        code = event.conn_id or 0
        begin = _number(code, last - pieces + 1 & mask)
        stop = _number(code, last) + 1
        self.fragmented.setdefault((way, kind), []).append(
            Fragmented(begin, stop, event.last_mark(), begin if sn is None else sn)
        )

    def _way(self, event: Event) -> Way | None:
        assert event.source is not None and event.destination is not None
        way = Way(event.source, event.destination)
        if event.flags & Flag.NETWORK_DUPLICATE:
            return None
        if way not in self.seen:
            if len(self.seen) >= MAX_WAYS:
                self.full = True
                return None
            self.seen[way] = Sightings()
        return way


class MetWay(NamedTuple):
    """A way whose sender's and whose receiver's captures are both here."""

    way: Way
    at_sender: SessionEnds
    at_receiver: SessionEnds


@dataclass(slots=True)
class ArrivedOnWay:
    """What of a way came, by kind.

    Attributes:
        ambiguous: kinds with fragmented messages where numbers of frames came again, so it is not
            told which of them lacks a piece.
    """

    kinds: dict[str, Passed] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)


def together(way: Way, here: SessionEnds, there: SessionEnds) -> bool:
    """Whether both were taken in one run: another one may have the same endpoints."""
    if here.first is None or here.last is None or there.first is None or there.last is None:
        return False
    if way in there.seen and here.seen[way].common(there.seen[way]):
        return True
    return here.first.at_ns <= there.last.at_ns and there.first.at_ns <= here.last.at_ns


def clocks_of(met: MetWay) -> Clocks:
    """The clocks of the two captures, by the frames of the two members."""
    here, there = met.at_sender, met.at_receiver
    ways = sorted(here.seen.keys() & there.seen.keys())
    out, back = [], []
    for way in ways:
        if address(way.sender) == here.local:
            out += here.seen[way].common(there.seen[way])
        elif address(way.sender) == there.local:
            back += there.seen[way].common(here.seen[way])
    return Clocks(out, back)


def passed(met: MetWay, clocks: Clocks) -> ArrivedOnWay:
    """What came over of everything that went this way."""
    here, there = met.at_sender, met.at_receiver
    assert here.first is not None and here.last is not None
    assert there.first is not None and there.last is not None
    spans = (here.first.at_ns, here.last.at_ns), (there.first.at_ns, there.last.at_ns)
    came = ArrivedOnWay()
    lanes = {lane for ends in (here, there) for lane in ends.passages.lanes() if lane[0] == met.way}
    overtaken = _overtaken(here, there, met.way)
    for lane in sorted(lanes, key=str):
        own = came.kinds.setdefault(str(lane[1]), Passed())
        sent, got = here.passages.rows(lane), there.passages.rows(lane)
        numbered = lane[1] == FRAMES or lane[1] == SAMPLES
        own.add(sent, got, clocks, *spans, overtaken, growing=numbered and grows(sent))
    frames = came.kinds.get(FRAMES)
    if frames is None:
        return came
    lost = frames.lost.numbers
    again = frames.lost.missing != lost.total() or any(
        lost.within(row.first, row.stop) for row in _frames(there, met.way)
    )
    late = Other(clocks, *spans[1], 0, UNDER_WAY_NS)
    early = late._replace(after_ns=OVERTAKEN_NS)
    for (way, kind), messages in sorted(here.fragmented.items()):
        if way != met.way:
            continue
        own = came.kinds.setdefault(kind, Passed())
        if again:
            came.ambiguous.add(kind)
        for message in messages:
            own.sent += 1
            if not _misses(lost, message):
                own.came += 1
                continue
            part = message.number, message.number + 1
            at = message.last
            row = NumberRun(*part, at.frame, at.frame, at.at_ns, at.at_ns)
            was_overtaken = overtaken is not None and at.at_ns < overtaken
            own.lost.add(part, 1, [row], early if was_overtaken else late)
    return came


def _frames(ends: SessionEnds, way: Way) -> list[NumberRun]:
    """All frames that one capture holds of a way."""
    lanes = [lane for lane in ends.passages.lanes() if lane[:2] == (way, FRAMES)]
    return [row for lane in sorted(lanes, key=str) for row in ends.passages.rows(lane)]


def _overtaken(here: SessionEnds, there: SessionEnds, way: Way) -> int | None:
    """When the last that came had left, by the sender's clock; null: nothing came."""
    arrived = RangeSet((row.first, row.stop) for row in _frames(there, way))
    left = [
        row.times(*part)[0]
        for row in _frames(here, way)
        for part in arrived.within(row.first, row.stop)
    ]
    there_too = there.signs(way)
    left += [at_ns for told, at_ns in here.signs(way).items() if told in there_too]
    return max(left, default=None)


def _misses(lost: RangeSet, message: Fragmented) -> bool:
    """Whether a frame of it is missing; behind the highest sn its counter goes on at 0."""
    if message.first < message.stop:
        return bool(lost.within(message.first, message.stop))
    base = message.stop >> CODE_BITS << CODE_BITS
    return bool(
        lost.within(message.first, base + (1 << CODE_BITS)) or lost.within(base, message.stop)
    )


def address(endpoint: str) -> str:
    return endpoint.rpartition(":")[0].strip("[]")


def kind_of(word: str) -> str | None:
    """What of a session's traffic a message other than a push is counted as; null: as its frame."""
    if word.startswith("declare."):
        return "declarations"
    return _KINDS.get(word)


def _number(code: int, sn: int) -> int:
    return (code << CODE_BITS) + sn


def _time(mark: Mark) -> int:
    return mark.at_ns
