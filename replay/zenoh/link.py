"""The transport of one leg: who its ends are, and their counters (zenoh.md 2.4, 8)."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.contract.zenoh_detail import Detail
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.report_rows import Role
from seqaudit.replay.contract.settings import MEMBER, Read, Vantage
from seqaudit.replay.contract.worth import END
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ip_ids import SocketIds
from seqaudit.replay.zenoh.both_ends import address
from seqaudit.replay.zenoh.floods import Floods
from seqaudit.replay.zenoh.hops import EVER, NEAR, Hop, HopCounter, UnfinishedBytes, initial_sn

MASKS: Final = {0: 0x7F, 1: 0x3FFF, 2: 0x0FFF_FFFF, 3: 0xFFFF_FFFF}
MAX_COUNTERS: Final = 10_000
#: Closes, and cookies of handshakes.
MAX_KEPT: Final = 2_000
#: zids tried for an end whose handshake was not captured.
MAX_NAMED: Final = 8
WIDE: Final = 0x0FFF_FFFF
ROUTER: Final = "router"
PEER: Final = "peer"
#: Priority and channel of the replies of a cache (zenoh.md 9.2): Data, reliable.
FINALS: Final = 5 * 2 + 1

#: What comes in runs: rows of these begin and end where the capture was cut, too.
RUNS: Final = frozenset({"Frame", "push", "batches"})
#: Length of a batch, headers of Frame, Push and Put, sn, key and length of a payload of nothing.
LEAST_SAMPLE_BYTES: Final = 9

#: How a session begins (zenoh.md 3.1).
HANDSHAKE: Final = ("InitSyn", "InitAck", "OpenSyn", "OpenAck")

#: Sender, receiver, priority and channel.
Direction = tuple[str, str, int]


class LinkHole(NamedTuple):
    """Bytes of a TCP connection that are missing here, or could not be read: between two job frames
    of their sender, both included, of which the second stands right behind them."""

    first: int
    last: int
    size: int


@dataclass(slots=True)
class End:
    """One end of the session."""

    zid: str | None = None
    whatami: str | None = None
    initial: int | None = None


class Link:
    """Of one leg.

    Attributes:
        transport: "tcp" or "udp".
        retired: counters of sessions that another one followed.
        session_starts: InitSyn or first Join captured.
        held: bytes of messages that are not complete.
        opener: who sends the InitSyn, from a socket for this session alone; null: not captured.
        several: its session may have other links than this (multilink, zenoh.md 3.1).
        qos: each priority has counters of its own.
        shut: endpoints at which nobody listens, and when their hosts first said so.
        floods: by endpoint, what may have been dropped there.
        holes: in the bytes that each end sent, the first ones, in their order.
    """

    def __init__(self, conversation: str, vantage: Vantage, read: Read) -> None:
        self.transport = conversation.split("|")[1]
        self.multicast = len(conversation.split("|")) == 3
        self.vantage = vantage
        self.ends: dict[str, End] = {}
        self.counters: dict[Direction, HopCounter] = {}
        self.retired: list[tuple[Direction, HopCounter]] = []
        self.session_starts = 0
        self.closed: list[tuple[Mark, str]] = []
        self.opener: str | None = None
        self.several = False
        self.qos = False
        self.shut: dict[str, Mark] = {}
        self.holes: dict[str, list[LinkHole]] = {}
        self.mask = MASKS[2]
        self.held = UnfinishedBytes()
        self._patch = 0
        self._read = read
        self.floods: defaultdict[str, Floods] = defaultdict(Floods)
        self._ids: dict[str, SocketIds] = {}  # of its two ends
        self._named: dict[str, set[str]] = {}  # endpoint -> zids that may be its node's
        self._step = -1  # of the last handshake
        self._since = EVER  # when this session began; the first one's beginning is the capture's
        self._joined: set[str] | None = (
            None  # since the member that listens here joined; null: never
        )
        self._cookies: set[str] = set()  # of InitAcks, each of which has its own (zenoh.md 3.1)

    def begins(self, word: str, event: Event, cookie: str | None) -> bool:
        """Whether a session begins with this message: of a handshake it is the first that was
        captured."""
        step = HANDSHAKE.index(word)
        self.opener = event.destination if step % 2 else event.source
        late = self._step >= step or (self._step < 0 and bool(self.counters))
        copy = cookie in self._cookies or event.flags & Flag.NETWORK_DUPLICATE
        if step and (copy or not late):
            self._step = max(self._step, step)
            return False
        self._step = step
        return True

    def sent(self, event: Event) -> bool:
        """A row of datagrams of an end: their IP ids.

        Returns:
            whether none that the end had sent can be missing here unseen: it is a message of its
            own row, and TCP, the ids of a socket that is for this session alone, or the counter by
            which declarations travel would show it, since the session began.
        """
        ids = self._ids.get(str(event.source))
        if event.fresh_id and event.last_fresh_id and not self.multicast:
            if ids is None:
                ids = self._ids[str(event.source)] = SocketIds()
            ids.note(event.fresh_id, event.last_fresh_id, event.count)
        if self.transport == "udp":
            self.floods[str(event.destination)].came(event)
        again = event.flags & (Flag.NETWORK_DUPLICATE | Flag.ALIKE)
        if again or not self.session_starts or event.wire_kind in RUNS:
            return False
        counted = ids is not None and ids.counts and self.opener == event.source
        declares = event.stamp is not None and event.conn_id == (1 if self.qos else FINALS)
        return self.transport == "tcp" or counted or declares

    @property
    def under_way(self) -> bool:
        """Whether frames have passed since messages of a handshake, of either end."""
        return self._step >= 0 and bool(self.counters)

    def heard_from(self, event: Event) -> bool:
        """Whether somebody listens again where nobody did: it speaks."""
        return self.shut.pop(event.source or "", None) is not None

    def began(self, mark: Mark) -> None:
        """A handshake: counters and fragments start anew."""
        if self.counters or self.retired:
            self._since = mark
        self.session_starts += 1
        self._ids.clear()
        self.retired += [*self.counters.items()][: max(0, MAX_COUNTERS - len(self.retired))]
        self.counters.clear()
        for end in self.ends.values():
            end.initial = None

    def known(self, cookie: str) -> bool:
        """Whether a handshake with this cookie was captured before."""
        if cookie in self._cookies:
            return True
        if len(self._cookies) < MAX_KEPT:
            self._cookies.add(cookie)
        return False

    def introduced(self, endpoint: str, detail: Detail) -> bool:
        """An Init of an endpoint; whether another node than this was there before."""
        end = self._end(endpoint)
        other = end.zid not in (None, detail["zid"])
        end.zid, end.whatami = detail["zid"], detail["whatami"]
        self.mask, self._patch = MASKS[detail["resolution"]], detail["patch"]
        return other

    def opened(self, endpoint: str, initial: int) -> None:
        self._end(endpoint).initial = initial

    def joined(self, event: Event, detail: Detail) -> None:
        """A Join; the first of a member counts (8.6)."""
        assert event.source is not None
        if self._joined is None and self._is_here(event.source):
            self._joined = set()
        if self._joined is not None and len(self._joined) < MAX_COUNTERS:
            self._joined.add(event.source)
        end = self._end(event.source)
        if end.zid is None:
            self.session_starts += 1
            end.zid, end.whatami = detail["zid"], detail["whatami"]
            self._patch = detail["patch"]
            self._join(event, detail)

    def unjoined(self, sender: str) -> bool:
        """Whether the member of the group that listens here need not know a sender (8.6)."""
        return self._joined is not None and sender not in self._joined

    def close(self, event: Event) -> None:
        assert event.source is not None
        if len(self.closed) < MAX_KEPT:
            self.closed.append((event.first_mark(), event.source))

    def closed_to(self, endpoint: str) -> Mark | None:
        """When the other end last said that it closes the session; null: it did not."""
        return next((mark for mark, end in reversed(self.closed) if end != endpoint), None)

    def _end(self, endpoint: str) -> End:
        if endpoint not in self.ends and len(self.ends) >= MAX_COUNTERS:
            return End()
        return self.ends.setdefault(endpoint, End())

    def _join(self, event: Event, detail: Detail) -> None:
        """Initial sns of a member of the group (8.6): the next ones where it has sent frames
        already, as a member says them again and again. What these showed stays known."""
        assert event.source is not None and event.destination is not None
        pairs = detail["sns"]
        for priority in range(8):
            if len(pairs) == 1 and priority != 5:
                continue
            pair = pairs[0] if len(pairs) == 1 else pairs[priority]
            for reliable in (1, 0):
                key = (event.source, event.destination, priority * 2 + reliable)
                initial, counter = pair[1 - reliable], self.counters.get(key)
                if counter is not None and counter.near(initial):
                    continue
                if counter is not None and len(self.retired) < MAX_COUNTERS:
                    self.retired.append((key, counter))
                self.counters[key] = self._new(initial)

    def _new(self, initial: int | None) -> HopCounter:
        return HopCounter(
            self.mask, initial, self._patch, read=self._read, held=self.held, since=self._since
        )

    def counter(self, event: Event) -> HopCounter:
        """The counter of the frame of a message."""
        assert event.source is not None and event.destination is not None
        code = event.conn_id or 0
        key = (event.source, event.destination, code)
        counter = self.counters.get(key)
        if counter is None:
            counter = self._new(self._initial(event.source, event.destination))
            if len(self.counters) < MAX_COUNTERS:  # a group may have any number of senders
                self.counters[key] = counter
        return counter

    def _initial(self, sender: str, receiver: str) -> int | None:
        """The sender's first sn; by both zids where its Init was captured and its Open was not."""
        end, peer = self._end(sender), self._end(receiver)
        if end.initial is not None or self.multicast or not self.session_starts:
            return end.initial
        if end.zid is None or peer.zid is None:
            return None
        return initial_sn(end.zid, peer.zid, self.mask)

    def before_the_capture(self, sender: str, receiver: str, counter: HopCounter) -> int | None:
        """Frames that a counter had sent before its first one here, if its initial sn is known.

        Without a handshake the zids are guessed: of those that messages of either end name, the
        two that give a number shortly below the first one (H16).
        """
        if counter.known_start or self.multicast or not counter.seen or counter.mask < WIDE:
            return None
        found = {
            (counter.seen.first() - initial_sn(one, other, counter.mask)) & counter.mask
            for one in self._named.get(sender, ())
            for other in self._named.get(receiver, ())
            if one != other
        }
        near = min(found, default=NEAR)
        return near if near < NEAR else None

    def names(self, endpoint: str, zid: str) -> None:
        """A message of an endpoint names a node, which may be its own."""
        named = self._named.setdefault(endpoint, set())
        if len(named) < MAX_NAMED and len(self._named) < MAX_COUNTERS:
            named.add(zid)

    def accepted(self, event: Event) -> bool:
        """Whether the receiver took the frame that this message is in."""
        if event.stamp is None:
            return True
        taken = self.counter(event).taken
        return taken is None or self.place(event.stamp, event) >= taken.accepted_from

    def hop(self, event: Event, raw: int | None) -> Hop | None:
        """Where a message travelled; null without a transport sn (low latency)."""
        if raw is None:
            return None
        counter = self.counter(event)
        return None if counter.taken is None else Hop(counter, self.place(raw, event))

    def place(self, raw: int, event: Event) -> int:
        """The frame of a message, by its sn: one of the run of frames that was taken just now.

        A run may be longer than half the sn space, so its frames are counted from its first.
        """
        counter = self.counter(event)
        assert counter.taken is not None
        return counter.taken.first + (raw - counter.taken.first & counter.mask)

    def finals(self, sender: str, receiver: str) -> Iterator[HopCounter]:
        """Counters in which finals of the caches at one end come to the other."""
        way = sender, receiver, FINALS
        yield from (counter for direction, counter in self.retired if direction == way)
        if way in self.counters:
            yield self.counters[way]

    def lacks(self, sender: str, receiver: str) -> bool:
        """Frames of one end to the other are missing."""
        return any(counter.lost for counter in self.ways(sender, receiver))

    def overtakes(self, sender: str, receiver: str) -> bool:
        """Frames of one end overtake each other on their way to the other, and some are missing."""
        ways = self.ways(sender, receiver)
        return any(counter.late.ranges and counter.lost for counter in ways)

    def lacks_own(self, endpoint: str, peer: str) -> bool:
        """What an end said itself, whatever it was, is missing: frames to the other, bytes of the
        connection, or datagrams of the socket that is for this session alone."""
        ids = self._ids.get(endpoint)
        alone = self.opener in (None, endpoint)
        return (
            self.lacks(endpoint, peer)
            or bool(self.holes.get(endpoint))
            or (alone and ids is not None and ids.lack)
        )

    def hole(self, event: Event) -> None:
        """Bytes of the connection are missing here, or could not be read."""
        detail = event.details()
        holes = self.holes.setdefault(str(event.source), [])
        if len(holes) < MAX_COUNTERS:
            holes.append(LinkHole(detail["since"], event.frame, detail["bytes"]))

    def missing_bytes(self, sender: str, receiver: str, begin: int, end: int) -> int:
        """Bytes of the connection in which frames of one end to the other lay that are missing from
        one job frame to another: TCP brings all that were sent, in order (8.1)."""
        holes = self.holes.get(sender, [])
        size, place = 0, bisect_right(holes, end, key=lambda hole: hole.last) - 1
        while place >= 0 and holes[place].last >= begin:
            size += holes[place].size * (holes[place].first >= begin)
            place -= 1
        if not size or not (self.counters or self.retired):  # low latency: no frame has a number
            return size
        ways = self.ways(sender, receiver)
        return size if any(counter.passed_over(begin, end) for counter in ways) else 0

    def may_lack_behind(self, sender: str, receiver: str, frame: int) -> bool:
        """Whether samples may have lain in bytes that are missing here behind a job frame: frames
        do not go on behind these, or not without a hole."""
        large = (h for h in reversed(self.holes.get(sender, ())) if h.size >= LEAST_SAMPLE_BYTES)
        hole = next(large, None)
        if hole is None or hole.first < frame:
            return False
        ways = list(self.ways(sender, receiver))
        if not any(counter.end and counter.end.frame >= hole.last for counter in ways):
            return True
        return any(counter.passed_over(frame, END) for counter in ways)

    def ways(self, sender: str | None, receiver: str) -> Iterator[HopCounter]:
        """Counters of what one end, null: any, sends another, of all sessions."""
        for way, counter in chain(self.retired, self.counters.items()):
            if way[1] == receiver and sender in (None, way[0]):
                yield counter

    def all_here(self, sender: str, receiver: str) -> bool:
        """Whether nothing that matters to a receiver of samples can have come by another link.

        Links of a session share its counters (8.1): what is sent by another is a hole here. So none
        has one from the beginning of the session, and those in which declarations, and the sender's
        answers, travel have frames here.
        """
        control = 1 if self.qos else FINALS
        ways = {way for way, counter in self.counters.items() if counter.frames}
        needed = {(sender, receiver, control), (receiver, sender, control)}
        return ways >= needed | {(sender, receiver, FINALS)} and all(
            counter.known_start and not counter.lost and not counter.discarded.count
            for counter in self.counters.values()
        )

    def cut_at(self, frame: int) -> None:
        """A frame is not whole: it may have said anything."""
        for counter in self.counters.values():
            counter.cut_at(frame)

    def zid(self, endpoint: str) -> str | None:
        """The node at an endpoint, if its handshake was captured."""
        end = self.ends.get(endpoint)
        return None if end is None else end.zid

    def asks_for_itself(self, endpoint: str) -> bool:
        """Whether what a node asks for it lacks itself; a router asks for others."""
        end = self.ends.get(endpoint)
        return end is not None and end.whatami not in (None, ROUTER)

    def is_router(self, endpoint: str) -> bool:
        """Whether its node is known to be one: it hands samples on to others."""
        end = self.ends.get(endpoint)
        return end is not None and end.whatami == ROUTER

    def is_peer(self, endpoint: str) -> bool:
        end = self.ends.get(endpoint)
        return end is not None and end.whatami == PEER

    def told_all(self, sender: str, receiver: str) -> bool:
        """Whether a peer had all that a node of its session declared: none of the frames in which
        declarations travel is missing."""
        if not self.session_starts or self.multicast or not self.is_peer(receiver):
            return False
        ways = [(sender, receiver, priority * 2 + 1) for priority in (0, 5)]
        counter = next((self.counters[way] for way in ways if way in self.counters), None)
        return counter is not None and counter.known_start and not counter.lost

    def role(self, sender: str, receiver: str) -> Role:
        """What this capture sees of a direction: "receiver", "sender" or "between"."""
        if self.vantage.kind != MEMBER or self.vantage.address is None:
            return "between"
        here = self.vantage.address
        if address(receiver) == here or (self.multicast and address(sender) != here):
            return "receiver"
        return "sender" if address(sender) == here else "between"

    def listens_here(self, endpoint: str) -> bool:
        """Whether what a member of the group receives is what was captured."""
        return self._is_here(endpoint) or self.vantage.kind != MEMBER or not self.vantage.address

    def _is_here(self, endpoint: str) -> bool:
        """Whether a member at this endpoint captured this."""
        here = self.vantage.address if self.vantage.kind == MEMBER else None
        return here is not None and address(endpoint) == here


def first_hop(event: Event) -> int | None:
    """The transport sn of the frame of a message, or of the last piece of one."""
    return event.seqno if event.wire_kind == "Fragment" else event.stamp


def last_hop(event: Event) -> int | None:
    """The same for the last message of a run."""
    if event.wire_kind == "Fragment" or event.stamp is None:
        return first_hop(event)
    last: int = event.details().get("last_hop", event.stamp)
    return last
