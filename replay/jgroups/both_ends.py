"""What two captures of one conversation say together: one at its sender, one at its receiver.

An engine replays one capture. What only both ends show (jgroups.md 6, "S+R") it writes into
``MemberEnds``, bounded; the replay stage, which has all captures of a conversation one after the
other, lets them meet.

    a resent copy of seqno q, sent at c                                          it was sent
    q had first arrived at a, and a + the clocks' difference < c for certain     after the arrival
    q first arrived at a, and not before c for certain                           before
    q never arrived, and the receiver's capture goes on until after c            before
    anything else                                                                cannot be told

Which copies, ACKs and requests came over is ``replay.sequence.passages``. Nothing here knows a
protocol: an engine says which streams it has an end of.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.report_rows import PassageKind
from seqaudit.replay.sequence.clocks import Clocks, Key, Sightings
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.passages import NumberRun, Passages, Passed
from seqaudit.replay.sequence.ranges import RangeSet

SENDER: Final = "sender"
RECEIVER: Final = "receiver"

#: Directions between two members whose datagrams one capture remembers.
MAX_DIRECTIONS: Final = 128
MAX_EXAMPLES: Final = 8
#: IP ids that are given to the datagrams of one burst at most.
MAX_BURST: Final = 4_096
IP_IDS: Final = 1 << 16
#: Whom a multicast goes to, beside members.
ALL: Final = ""

#: What goes from a stream's sender to its receiver, and what goes back.
THERE: Final[Mapping[Kind, PassageKind]] = {
    Kind.DATA: "messages",
    Kind.RETRANSMISSION: "messages",
    Kind.VIEW: "messages",
    Kind.HIGHEST: "highest",
    Kind.CLOSE: "closes",
}
BACK: Final[Mapping[Kind, PassageKind]] = {
    Kind.ACK: "acks", Kind.REQUEST: "requests", Kind.SYNC: "syncs"
}  # fmt: skip


@dataclass(slots=True)
class StreamEnd:
    """One stream at one of its ends."""

    role: str
    system: str
    sender: str
    receiver: str | None  # null: all members
    conn_id: int | None
    first: Mark


class MemberEnds:
    """What one capture knows of the ends that it was taken at.

    Attributes:
        local: the member at whose interface it was taken; null: nobody was heard there.
        first, last: of everything that was captured of the conversation.
        passages: what it holds of each stream, by stream, word and peer: who is sent to, or who
            answers, if there are several.
        hidden: of streams, what the member had that is not captured.
    """

    def __init__(self, capture: int) -> None:
        self.capture = capture
        self.local: str | None = None
        self.passages = Passages()
        self.hidden: dict[str, RangeSet] = {}
        self.streams: dict[str, StreamEnd] = {}
        self.seen: dict[tuple[str, str], Sightings] = {}
        self.first: Mark | None = None
        self.last: Mark | None = None

    def saw(self, event: Event) -> None:
        """Any event of the conversation: what tells its datagrams apart is kept for the clocks."""
        first, last = event.first_mark(), event.last_mark()
        if self.first is None or first.at_ns < self.first.at_ns:
            self.first = first
        if self.last is None or last.at_ns > self.last.at_ns:
            self.last = last
        source, destination = event.source, event.destination or ALL
        if source is None or event.flags & Flag.NETWORK_DUPLICATE:
            return
        seen = self.seen.get((source, destination))
        if seen is None:
            if len(self.seen) >= MAX_DIRECTIONS:
                return
            seen = self.seen[source, destination] = Sightings()
        # an IP id, or a number that its sender uses once; an IP id of 0 is none (RFC 6864)
        if event.fresh_id or event.stamp is not None:
            seen.saw(_key(event, event.seqno, event.fresh_id), first.at_ns)
        if event.kind is Kind.DATA and event.count > 1 and event.last_fresh_id:
            assert event.stop_seqno is not None
            seen.saw(_key(event, event.stop_seqno - 1, event.last_fresh_id), last.at_ns)

    def passed(self, stream: str, event: Event, *, several: bool = False) -> None:
        """A message, run, ACK or request of a stream.

        Args:
            several: the stream has several receivers.
        """
        if event.flags & Flag.NETWORK_DUPLICATE:
            return
        word = THERE.get(event.kind)
        if word is not None:
            peer = event.destination or ALL
        else:
            word, peer = BACK[event.kind], event.source or ALL
        arrival = event.arrival()
        first, last = arrival.first, arrival.last
        ids = arrival.fresh_id, arrival.last_fresh_id
        if word == "messages":
            assert event.seqno is not None and event.stop_seqno is not None
            numbers = event.seqno, event.stop_seqno
        else:
            told = hash((*_key(event, event.seqno, event.fresh_id), *_asked(event)))
            numbers = told, told + 1
        lane = stream, word, peer if several else ALL
        row = NumberRun(
            *numbers, first.frame, last.frame, first.at_ns, last.at_ns,
            *(-1 if number is None else number for number in ids),
        )  # fmt: skip
        self.passages.saw(lane, row)

    def receiver_of(self, stream: str) -> str | None:
        """Who is at this end of a stream that others send: whom it is for, if it came here, as one
        member may have followed another; else the last of these."""
        end = self.streams.get(stream)
        return self.local if end is None or end.role != RECEIVER else end.receiver or self.local

    def has_end(
        self, role: str, stream: str, event: Event, receiver: str | None, conn_id: int | None
    ) -> None:
        """An end of the stream of a message: at its sender, or at one that it is for.

        Args:
            receiver: null: all members.
        """
        if stream not in self.streams:
            assert event.source is not None
            self.streams[stream] = StreamEnd(
                role, event.system, event.source, receiver, conn_id, event.first_mark()
            )


def _key(event: Event, seqno: int | None, fresh_id: int | None) -> Key:
    """Numbers, because the hash of null differs from run to run."""
    numbers = (event.conn_id, seqno, event.stamp, fresh_id)
    return (int(event.kind), *(-1 if number is None else number for number in numbers))


def _asked(event: Event) -> tuple[int, ...]:
    """The numbers of a request."""
    if event.kind is not Kind.REQUEST:
        return ()
    return tuple(number for part in event.ranges() for number in part)


class Met(NamedTuple):
    """One stream whose sender's and whose receiver's capture are both here."""

    stream: str
    at_sender: MemberEnds
    at_receiver: MemberEnds
    receiver: str

    @property
    def end(self) -> StreamEnd:
        """The sender's."""
        return self.at_sender.streams[self.stream]

    @property
    def full(self) -> bool:
        """Was there more than is remembered? Then nothing is compared."""
        return self.at_sender.passages.full or self.at_receiver.passages.full


def together(ends: MemberEnds, other: MemberEnds, sender: str) -> bool:
    """Whether a member was there when another sent to all: captures of other runs of a cluster have
    its name as well."""
    if any(way[0] == sender for way in other.seen):
        return True
    if ends.first is None or ends.last is None or other.first is None or other.last is None:
        return False
    return ends.first.at_ns <= other.last.at_ns and other.first.at_ns <= ends.last.at_ns


@dataclass(slots=True)
class JudgedCopies:
    """Copies of one stream beside its arrivals; times are the receiver's clock.

    Attributes:
        after: certainly sent after the first arrival.
        undecided: of arrived messages, neither certainly after nor certainly before.
        late: sent after the last that the receiver's capture has of the conversation, and never
            arrived in it: before, if that capture went on until ``late_ns``.
        begin_ns: before only if the receiver's capture had begun by then; null: not known.
        examples: seqno, the copy, and the arrival; null: inside a run.
    """

    copies: int = 0
    after: int = 0
    undecided: int = 0
    late: int = 0
    late_ns: int = 0
    begin_ns: int | None = None
    clock_set: bool = False
    seqnos: RangeSet = field(default_factory=RangeSet)
    examples: list[tuple[int, Mark, Mark | None]] = field(default_factory=list)

    def add_example(self, sent: NumberRun, came: NumberRun) -> None:
        """One of some copies, if the frame of any is known: of those inside a run it is not."""
        for seqno in (sent.first, sent.stop - 1):
            copy, arrival = sent.mark(seqno), came.mark(seqno)
            if copy is not None and len(self.examples) < MAX_EXAMPLES:
                self.examples.append((seqno, Mark(*copy), arrival and Mark(*arrival)))
                return


def clocks_of(met: Met) -> Clocks:
    """The clocks of the two captures, by the datagrams of the two members."""
    end = met.end
    none = Sightings()
    here, there = met.at_sender.seen, met.at_receiver.seen
    out: list[tuple[int, int]] = []
    back: list[tuple[int, int]] = []
    for to in (met.receiver, ALL):
        way = end.sender, to
        out += here.get(way, none).common(there.get(way, none))
    for to in (end.sender, ALL):
        way = met.receiver, to
        back += there.get(way, none).common(here.get(way, none))
    return Clocks(out, back)


def passed(met: Met) -> dict[PassageKind, Passed]:
    """What came over of everything that went either way, by the word for it."""
    clocks = clocks_of(met)
    spans = {}
    for ends in (met.at_sender, met.at_receiver):
        assert ends.first is not None and ends.last is not None, "it holds datagrams of both"
        spans[ends.capture] = ends.first.at_ns, ends.last.at_ns
    found: dict[PassageKind, Passed] = {}
    for words, here, there, from_here in (
        (THERE, met.at_sender, met.at_receiver, clocks),
        (BACK, met.at_receiver, met.at_sender, clocks.reversed()),
    ):
        for word in dict.fromkeys(words.values()):
            told = Passed()
            for peer in (ALL, met.receiver):
                lane = met.stream, word, peer
                sent, came = here.passages.rows(lane), there.passages.rows(lane)
                told.add(sent, came, from_here, spans[here.capture], spans[there.capture])
            if told.sent or told.came:
                found[word] = told
    return found


def judge(met: Met, clocks: Clocks) -> JudgedCopies:
    """Which copies were sent after their message had arrived; of multicasts none are judged."""
    told = JudgedCopies()
    lane = met.stream, "messages", ALL
    copies = met.at_sender.passages.again(lane) if met.end.receiver is not None else ()
    arrivals = sorted(met.at_receiver.passages.firsts(lane))
    firsts = [arrival.first for arrival in arrivals]
    last = met.at_receiver.last
    assert last is not None
    for copy in copies:
        told.copies += copy.stop - copy.first
        came = RangeSet()
        low = max(bisect_right(firsts, copy.first) - 1, 0)
        for seen in arrivals[low : bisect_left(firsts, copy.stop)]:
            part = max(copy.first, seen.first), min(copy.stop, seen.stop)
            if part[0] >= part[1]:
                continue
            came.add(*part)
            count = part[1] - part[0]
            sent, arrival = copy.narrowed(*part), seen.narrowed(*part)
            early, late = clocks.at(sent.from_ns), clocks.at(sent.to_ns)
            told.clock_set |= early is None or late is None
            if early and early.below is not None and arrival.to_ns < sent.from_ns + early.below:
                told.after += count
                told.seqnos.add(*part)
                told.add_example(sent, arrival)
            elif not _same_burst(sent, arrival) and (
                late is None or late.above is None or arrival.from_ns < sent.to_ns + late.above
            ):
                told.undecided += count
        missing = copy.stop - copy.first - came.total()
        if not missing:
            continue
        late = clocks.at(copy.to_ns)
        if late is None or late.above is None:
            told.undecided += missing
        elif copy.to_ns + late.above > last.at_ns:
            told.late += missing
            told.late_ns = max(told.late_ns, copy.to_ns + late.above)
    opened = clocks.at(met.end.first.at_ns)
    if opened is not None and opened.below is not None:
        told.begin_ns = met.end.first.at_ns + opened.below
    return told


def _same_burst(copy: NumberRun, arrival: NumberRun) -> bool:
    """Are the datagrams that arrived among those of the copies, by their IP ids?

    A sender counts them up (``replay.sequence.ip_ids``), so those of one burst lie between its
    first and its last.
    """
    ids = (copy.from_id, copy.to_id, arrival.from_id, arrival.to_id)
    if min(ids) < 0:
        return False
    size, first, last = ((number - ids[0]) % IP_IDS for number in ids[1:])
    return first <= last <= size < MAX_BURST
