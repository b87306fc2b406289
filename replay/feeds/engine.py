"""The engine of a feed's conversation: its streams, and the requests and repairs between them.

Comes in: rows of one conversation in the order of the capture (``decoders.contract.feed_layout``
says how rows look), as columns; runs may be cut anywhere. Streams are ordered only against
themselves, and against rows that concern several of them (a request or a repair that names no
group), so all rows between two of those are taken a stream at a time.

A feed's receivers never speak, so everything is said of the place of capture: a gap here is a gap
here, whoever was to receive it. No vantage is needed.
"""

import json
from bisect import bisect_left, insort
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS, Flag, Kind
from seqaudit.replay.contract.engine import Detail
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.feeds import stream as feed_stream
from seqaudit.replay.feeds.lines import LINES, LinePair
from seqaudit.replay.feeds.notes import StreamSettings
from seqaudit.replay.feeds.parameters import PARAMETERS
from seqaudit.replay.feeds.probation import Probation, passed
from seqaudit.replay.feeds.requests import Requests
from seqaudit.replay.feeds.rows import CHUNK, STAMPED, UNSTAMPED, FeedRow, FeedRows
from seqaudit.replay.feeds.stream import FeedStream
from seqaudit.replay.feeds.times import Jitter, TimeSample
from seqaudit.replay.sequence.gaps import Mark

if TYPE_CHECKING:
    from seqaudit.replay.feeds.both_ends import FeedEnds

#: ``wire_kind`` of the row that tells the constants of a feed, once a stream and piece.
FACTS: Final = "FEED"

#: Numbers of two lines that are compared at once.
MAX_RECORDS: Final = 1 << 20

#: A request or a repair that more streams share cannot be told whose it is.
MAX_TARGETS: Final = 256

_DATA: Final = int(Kind.DATA)
_REPAIR: Final = int(Kind.RETRANSMISSION)
_REQUEST: Final = int(Kind.REQUEST)
_CLOSE: Final = int(Kind.CLOSE)
_NOTICE: Final = int(Kind.NOTICE)
#: What says nothing new where the network brought its datagram twice.
_ONCE: Final = frozenset((_REQUEST, _NOTICE))

#: What a request or a repair can be about.
Target = FeedStream | LinePair


class FeedEngine:
    """Replays one conversation of a feed."""

    def __init__(
        self,
        conversation: str,
        given: Mapping[str, Given],
        vantage: Vantage,
        ends: "FeedEnds | None" = None,
    ) -> None:
        self.conversation = conversation
        self.ends = ends
        self.feed_name = conversation.split("|")[1] if "|" in conversation else conversation
        self.parameters = EngineParameters("feed", PARAMETERS, given)
        self.vantage = vantage
        self.settings = self._settings()
        self.streams: dict[str, FeedStream] = {}
        self.pairs: dict[str, LinePair] = {}
        self.jitter: dict[str, Jitter] = {}
        self.requests: dict[str, Requests] = {}
        self.bits = 64
        self.space = 0  # numbers that there are before they begin anew; 0: they do not
        self.first: int | None = (
            None  # the first number of all; null: the layout does not say, or a client asks
        )
        self.declares: frozenset[str] = frozenset()
        self.confirmed = True  # whether a person stands for the layout
        self.recognised = False  # nobody said where the feed is
        self.in_order = False  # TCP carries it: nothing is lost on the way
        self.probation: dict[str, Probation] | None = None  # of its streams; null: they are known
        self.by_place = False  # all streams of a place pass, or none
        self.stamp_bits: int | None = None
        self.blocks = False  # the layout tells where the messages are
        self._asked: set[tuple[str, str]] = set()  # (server, requester)
        self._groups: set[str] = set()  # streams that go to a group
        self._about: dict[str, list[Target]] = {}  # word -> targets, while no stream is new
        self._known = 0  # streams at that time
        self._lined = False  # some streams are lines
        self._told = ""  # facts of the feed, as they came last
        self._end = Mark(-1, 0)
        self._keys: list[str] = []  # of the streams, sorted
        self.homeless = 0  # numbers of repairs and requests whose stream cannot be told

    @property
    def end_ns(self) -> int:
        """When the last frame came."""
        return self._end.at_ns

    def feed(self, event: Event) -> None:
        """One row (replay/README.md 2); ``take`` is the same for many."""
        row = {name: getattr(event, name, None) for name in EVENTS.names}
        row |= {"capture": 0, "conversation": self.conversation, "payload": None}
        row |= {"kind": int(event.kind), "flags": int(event.flags)}
        if event.last_frame < 0:
            row |= {"last_frame": event.frame, "last_at_ns": event.at_ns}
        self.take(pa.RecordBatch.from_pylist([row], schema=EVENTS))

    def take(self, batch: pa.RecordBatch) -> None:
        """Rows of this conversation, in order (schema EVENTS)."""
        self.take_rows(FeedRows(batch))

    def take_rows(self, rows: FeedRows) -> None:
        """The same, read already."""
        self._end = max(self._end, rows.last())
        for place in rows.named(FACTS).tolist():  # before what is read by them
            if (detail := rows.detail(place) or "{}") != self._told:
                self._facts(detail)
            self._lined = self._lined or rows.stream(place).rpartition("|")[2] in LINES
        self._times(rows)
        # Unicast data may be a repair, though nothing in it says so: of a server that was asked, or
        # of numbers that a group has brought.
        aside = self._asked or self._groups or rows.requests() or rows.of_groups()
        shared = rows.shared(bool(aside))
        if len(shared) * feed_stream.FEW > len(rows):
            self._one_by_one(rows, shared)
        else:
            start = 0
            for place in shared:
                self._streams_between(rows, start, place)
                self._shared(rows, place, rows.row(place))
                start = place + 1
            self._streams_between(rows, start, len(rows))
        self._drain()
        self._blocks(rows)
        if self.probation is not None:
            self._try(rows, self.probation)
        if self.ends is not None:
            self.ends.take(rows, self.space)

    def close(self) -> None:
        for stream in self.streams.values():
            stream.close(self.end_ns)
        self._drain()
        for pair in self.pairs.values():
            pair.close(self.end_ns, self.settings)

    def stream(self, key: str, destination: str | None = None) -> FeedStream:
        """A stream, new or known."""
        stream = self.streams.get(key)
        if stream is None:
            stream = self.streams[key] = FeedStream(key, self.settings)
            insort(self._keys, key)
            stream.bits, stream.space, stream.declares = self.bits, self.space, self.declares
            stream.destination = destination
            line = key.rpartition("|")[2]
            if line in LINES:
                name = _pair_key(key)
                pair = self.pairs.get(name)
                if pair is None:
                    pair = self.pairs[name] = LinePair(name)
                pair.streams[line] = stream
                stream.sink = []
        return stream

    def is_aside(self, stream: FeedStream) -> bool:
        """Does it go to one host, of a feed that can be asked?"""
        return "request" in self.declares and stream.key not in self._groups

    def passed(self) -> dict[str, FeedStream]:
        """The streams, less those that are in step with nothing."""
        if self.probation is None:
            return self.streams
        together: dict[str, list[str]] = {}
        for key in self.probation:
            together.setdefault(place_of(key) if self.by_place else key, []).append(key)
        in_step: set[str] = set()
        for keys in together.values():
            if passed([self.probation[key] for key in keys]):
                in_step.update(keys)
        return {key: stream for key, stream in self.streams.items() if key in in_step}

    # -- rows ------------------------------------------------------------------------------------

    def _streams_between(self, rows: FeedRows, start: int, stop: int) -> None:
        if start >= stop:
            return
        if stop - start < feed_stream.FEW:
            self._few(rows, start, rows.rows(start, stop), rows.codes(start, stop))
            return
        groups = rows.by_stream(np.arange(start, stop))
        for code, group in groups:
            stream = self._of_row(rows, int(group[0]), code)
            stream.take(rows.columns(start, stop) if len(groups) == 1 else rows.picked(group))

    def _one_by_one(self, rows: FeedRows, shared: list[int]) -> None:
        """Rows with few between those that several streams share."""
        following = 0
        for begin in range(0, len(rows), CHUNK):
            end = min(begin + CHUNK, len(rows))
            whole, codes = rows.rows(begin, end), rows.codes(begin, end)
            start = 0
            while following < len(shared) and shared[following] < end:
                place = shared[following] - begin
                if start < place:
                    self._few(rows, begin + start, whole[start:place], codes[start:place])
                row = whole[place]
                self._shared(rows, begin + place, row)
                start = place + 1
                following += 1
            if begin + start < end:
                self._few(rows, begin + start, whole[start:], codes[start:])

    def _few(self, rows: FeedRows, start: int, own: list[FeedRow], codes: list[int]) -> None:
        """Rows from ``start`` on, none of which is shared, and the codes of their streams."""
        if codes.count(codes[0]) == len(codes):
            self._of_row(rows, start, codes[0]).take_rows(own)
            return
        parts: dict[int, tuple[int, list[FeedRow]]] = {}
        for place, (code, row) in enumerate(zip(codes, own, strict=True), start):
            parts.setdefault(code, (place, []))[1].append(row)
        for code, (place, part) in parts.items():
            self._of_row(rows, place, code).take_rows(part)

    def _of_row(self, rows: FeedRows, place: int, code: int) -> FeedStream:
        """The stream of a row, new or known."""
        word = rows.word(code)
        return self.streams.get(word) or self._new(rows, place, word)

    def _new(self, rows: FeedRows, place: int, word: str) -> FeedStream:
        if rows.flags(place) & Flag.MULTICAST:
            self._groups.add(word)
        return self.stream(word, rows.destination(place))

    def _blocks(self, rows: FeedRows) -> None:
        """Datagrams whose blocks do not add up, which are few."""
        for place, odd in rows.odd_counts():
            self.stream(rows.stream(place)).odd_counts += odd

    def _shared(self, rows: FeedRows, place: int, row: FeedRow) -> None:
        """A row that may concern several streams, or that only some read."""
        kind = row.kind
        if kind in _ONCE and (row.flags & Flag.NETWORK_DUPLICATE or row.wire_kind == FACTS):
            return
        if kind == _DATA:
            self._unicast(rows, place, row)
            return
        word = rows.stream(place)
        stream = self.streams.get(word)
        if kind in (_CLOSE, _NOTICE):
            named = [stream] if stream is not None else self._named(word)
            for stream in named or [self._new(rows, place, word)]:
                stream.take_one(row)
        elif kind == _REQUEST:
            self._asked.add((rows.destination(place) or "", row.source))
            detail = rows.detail(place) or "[]"
            whole = f"[[{row.first},{row.stop}]]"  # most ask for one stretch, which the row has
            ranges = [[row.first, row.stop]] if detail == whole else json.loads(detail)
            self._request(self._targets(word), ranges, row)
        elif kind == _REPAIR:
            self._repair(self._targets(word), row)

    def _named(self, word: str) -> list[FeedStream]:
        """The streams that a word is the name of, or begins; none if they are too many to ask."""
        if word in self.streams:
            return [self.streams[word]]
        place = bisect_left(self._keys, word)
        found = []
        for key in islice(self._keys, place, place + MAX_TARGETS + 1):
            if not key.startswith(word):
                break
            found.append(self.streams[key])
        return found if len(found) <= MAX_TARGETS else []

    def _unicast(self, rows: FeedRows, place: int, row: FeedRow) -> None:
        """Data beside what goes to groups: a repair, or of a stream of its own."""
        asked = (row.source, rows.destination(place) or "") in self._asked
        targets = self._targets("") if asked else []
        if self._groups and not asked:
            targets = self._answered(self.streams.get(rows.stream(place)), row)
        if targets or asked:
            self._repair(targets, row._replace(kind=_REPAIR))
        else:
            self._streams_between(rows, place, place + 1)

    def _answered(self, own: FeedStream | None, row: FeedRow) -> list["Target"]:
        """The groups that have brought or skipped a row's numbers: of these it is a repair.

        What goes on where the last one of its own ends stays of its own; so does what is ahead of
        every group, such as the feed relayed to one host.
        """
        if own is not None and own.nearest(row.first) - 1 == own.last_number():
            return []
        size = row.stop - row.first
        found = []
        for target in self._targets(""):
            if isinstance(target, LinePair) or target.key in self._groups:
                first = target.nearest(row.first)
                if target.standing(first, first + size)[1] >= first + size:
                    found.append(target)
        return found

    def _targets(self, word: str) -> list["Target"]:
        """Streams that requests and repairs with this word can be about: lines are one."""
        if self.pairs:
            self._drain()
        if self._known != len(self.streams):
            self._known = len(self.streams)
            self._about.clear()
        found = self._about.get(word)
        if found is None:
            named = self._named(word)
            pairs = {_pair_key(stream.key) for stream in named if stream.sink is not None}
            found = [stream for stream in named if stream.sink is None]
            found += [self.pairs[key] for key in sorted(pairs)]
            if len(self._about) < MAX_TARGETS:
                self._about[word] = found
        return found

    def _request(self, named: list["Target"], ranges: list[list[int]], row: FeedRow) -> None:
        stream = self._meant(named, ranges)
        if stream is None:
            self.homeless += sum(b - a for a, b in ranges)
            return
        asked = []
        for first, stop in ranges:
            begin = stream.nearest(first)
            asked.append((begin, begin + stop - first))
        requests = self.requests.setdefault(stream.key, Requests())
        requests.ask(stream, asked, row.mark(), row.source)

    def _repair(self, named: list["Target"], row: FeedRow) -> None:
        stream = named[0] if len(named) == 1 else self._meant(named, [[row.first, row.stop]])
        if stream is None:
            self.homeless += row.stop - row.first
            return
        first = stream.nearest(row.first)
        stop = first + row.stop - row.first
        if stream.key in self.requests:
            self.requests[stream.key].answer(first, stop, row.mark())
        if isinstance(stream, LinePair):
            stream.repair(row._replace(first=first, stop=stop))
        else:
            stream.take_one(row)

    def _meant(self, named: list["Target"], ranges: list[list[int]]) -> "Target | None":
        """The stream that a row without a group is about: the only one, or the only one that
        misses the numbers; null if that does not tell."""
        if len(named) == 1:
            return named[0]
        missing = [
            stream
            for stream in named
            if any(
                stream.standing(stream.nearest(a), stream.nearest(a) + b - a)[0] for a, b in ranges
            )
        ]
        return missing[0] if len(missing) == 1 else None

    def _drain(self) -> None:
        """What lines have taken goes to their pairs, in the order of the capture."""
        for pair in self.pairs.values():
            taken = [row for stream in pair.streams.values() for row in stream.sink or ()]
            if taken:
                taken.sort()
                pair.take(taken)
                for stream in pair.streams.values():
                    stream.sink = []

    def _try(self, rows: FeedRows, probation: dict[str, Probation]) -> None:
        """What rows say of streams on probation."""
        for code, places in rows.by_stream(rows.named(FACTS, otherwise=True)):
            word = rows.word(code)
            if word not in self.streams:
                continue
            one = probation.get(word)
            if one is None:
                one = probation[word] = Probation(self.space)
            one.take(rows.picked(places), rows.units(places))
            if self.stamp_bits is not None:
                for hz, alike in rows.by_rate(places):
                    one.clock(rows.records(alike, STAMPED), self.stamp_bits, hz)

    def _times(self, rows: FeedRows) -> None:
        """When each datagram came, of rows that say so: leads and jitter."""
        if self.stamp_bits is not None:
            self._jitter(rows, self.stamp_bits)
        if not self._lined:
            return
        samples: dict[str, list[TimeSample]] = {}
        held = 0
        words = UNSTAMPED if self.stamp_bits is None else STAMPED
        places = rows.with_records()
        for at, place in enumerate(places.tolist()):
            key, row = rows.stream(place), rows.row(place)
            line = key.rpartition("|")[2]
            if line not in LINES:
                continue
            if held > MAX_RECORDS:
                self._compare(samples, row.at_ns)
                held = 0
            own = samples.setdefault(_pair_key(key), [])
            records = rows.records(places[at : at + 1], words)
            stream, moved = self.streams.get(key) or self._new(rows, place, key), 0
            if self.space:
                pair = self.pairs[_pair_key(key)]
                begins = not pair.has_begun(line)
                moved = pair.unwrapped(line, row, self.space) - row.first
                if begins:
                    stream.begin_near(row.first + moved)
            own.append(TimeSample(LINES.index(line), row.stop, records, moved))
            held += row.stop - row.first
        if samples:
            self._compare(samples, rows.row(len(rows) - 1).at_ns)

    def _jitter(self, rows: FeedRows, bits: int) -> None:
        for code, places in rows.by_stream(rows.with_records()):
            jitter = self.jitter.get(rows.word(code))
            if jitter is None:
                limit = self.parameters.value("max_jitter_us")
                jitter = Jitter(None if limit is None else limit * 1000)
                self.jitter[rows.word(code)] = jitter
            begins = jitter.begins(rows.picked(places)) if jitter.limited else None
            for hz, alike in rows.by_rate(places):
                passed = jitter.take(rows.records(alike, STAMPED), hz, bits)
                if passed is not None and begins is not None:
                    place = np.searchsorted(places, rows.of_record(alike, passed))
                    jitter.over = begins(int(place))

    def _compare(self, samples: dict[str, list[TimeSample]], following_ns: int) -> None:
        for prefix, own in samples.items():
            self.pairs[prefix].leads.take(own, following_ns)
        samples.clear()

    def _facts(self, detail: str) -> None:
        self._told = detail
        facts = _parsed(detail)
        self.bits = int(facts.get("bits") or 64)
        self.space = int(facts.get("modulus") or (1 << self.bits if self.bits < 63 else 0))
        self.declares = frozenset(facts.get("declares") or ())
        self.first = None if "login" in self.declares else facts.get("first") or None
        self.confirmed = facts.get("confirmed", True)
        self.recognised = facts.get("recognised", False)
        self.in_order = facts.get("in_order", False)
        if self.probation is None and "probation" in facts:
            self.probation = {}
            self.by_place = facts["probation"] == "place"
        self.stamp_bits = facts.get("stamp_bits")
        self.blocks = facts.get("blocks", False)

    def _settings(self) -> StreamSettings:
        value = self.parameters.value
        return StreamSettings(
            late_ns=value("late_ms") * 1_000_000,
            late_numbers=value("late_numbers"),
            restart_distance=value("restart_distance"),
            restart_ns=value("restart_ms") * 1_000_000,
            max_jump=value("max_jump"),
            silence_ns=value("silence_ms") * 1_000_000,
            learns=not self.parameters.is_given("late_numbers"),
        )


def place_of(key: str) -> str:
    """Of a stream."""
    return key.split("|")[-2]


def _pair_key(key: str) -> str:
    """Of the pair that a line belongs to."""
    return key.rpartition("|")[0] + "|"


@lru_cache(maxsize=64)
def _parsed(detail: str) -> Detail:
    facts: Detail = json.loads(detail)
    return facts
