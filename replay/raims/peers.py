"""What the observing daemon knows and counts of each other one (raims.md 10)."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.raims.links import TCP
from seqaudit.replay.raims.peer_clock import PeerClock
from seqaudit.replay.raims.pings import PingedLosses
from seqaudit.replay.sequence.gaps import Mark


@dataclass(slots=True)
class LossCounter:
    """A counter of ``show loss`` and when it last grew."""

    count: int = 0
    at_ns: int | None = None
    frame: int = -1

    @property
    def mark(self) -> Mark:
        """When it last grew."""
        return Mark(self.frame, self.at_ns or 0)

    def add(self, count: int, mark: Mark) -> None:
        if count:
            self.count += count
            self.at_ns, self.frame = mark.at_ns, mark.frame


#: Words of a peer that is gone after which it stays so.
LAST_WORDS: Final = frozenset({"BYE", "DEL", "ADJ"})
#: Within this time of dropping a peer, what was meant for it before may leave (storm: 0.3 ms).
QUEUED_NS: Final = 100_000_000
#: Heartbeats that are remembered: more than come until a peer is dropped for want of them.
MAX_BEATS: Final = 100


@dataclass(slots=True)
class Peer:
    """One other daemon as the observer sees it; ``show loss`` has a row of each."""

    bridge: str
    uid: int | None = None
    user: str | None = None
    address: str | None = None
    start_ns: int | None = None
    null_route: LossCounter = field(default_factory=LossCounter)
    repeat: LossCounter = field(default_factory=LossCounter)
    not_subscribed: LossCounter = field(default_factory=LossCounter)
    msg_loss: LossCounter = field(default_factory=LossCounter)
    inbox_loss: LossCounter = field(default_factory=LossCounter)
    inbox: dict[str, int] = field(default_factory=dict)  # word -> last seqno
    inbox_marks: dict[str, Mark] = field(default_factory=dict)  # and where it came
    #: all links that its numbers came on, and the last frame on each
    inbox_links: dict[str, int] = field(default_factory=dict)
    #: before and behind a step: marks, the word, from and to
    inbox_steps: list[tuple[Mark, Mark, str, int, int]] = field(default_factory=list)
    inbox_uncaptured: list[tuple[Mark, int]] = field(default_factory=list)
    inbox_untaken: int = -1  # the last frame of those that came while it was dropped
    dropped_ns: int | None = None  # since when it has been, with its counters
    learned: str | None = None  # what its publisher was not told shows of the observer's window
    told_loss: int | None = None  # losses of it that the observer told it, in all
    told_more: bool = False  # among them such as the replay does not have
    pinged: PingedLosses = field(default_factory=PingedLosses)  # those that its pings tell
    dropped_told: bool = False  # the observer said so
    doubted: bool = False  # it seemed dropped, and the capture may lack what it said
    went_on: int = -1  # the last frame by which the observer surely took what it sends
    dropped_though_heard: bool = False  # the observer says so, and heartbeats of it had come
    met_frame: int = -1  # where it was authenticated or dropped last, as far as is captured
    spoken_frame: int = -1  # where the observer told it last what it tells only a peer
    kept_frame: int = -1  # where it seemed dropped last, and its heartbeats may be missing here
    passed_on: bool = False  # the observer passes on what it sends, or may
    came_unseen: bool = False  # among that is what did not come in this capture
    joined_frame: int = -1  # of its last AUTH to the observer: at first it is joined to nobody else
    #: Heartbeats say that it and the observer know no other daemon; null: they say nothing.
    alone: bool | None = None
    unread: bool = False  # numbers of it came just before their connection was reset
    taken_up: bool = False  # again, by a datagram, behind a time for which it was dropped
    lapsed: bool = False  # it was heard while the observer said nothing for long
    not_read: tuple[int, str] | None = None  # since which frame perhaps, and why
    border_unseen: bool = False  # numbers of it step where the capture lacks a connection's border
    ended: Mark | None = None  # BYE
    first: Mark | None = None
    introduced_on: str = ""  # the link of the first word that it, or another for it, says who it is
    clock: PeerClock = field(default_factory=PeerClock)
    unrouted: Mark | None = None  # the first message of it that no subscription matches
    unmatched: Mark | None = None  # and of those that routing had let pass
    heard_ns: int | None = None  # last heartbeat
    heard_frame: int = 0
    #: frames of its last heartbeats, and their times by its own clock
    beats: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=MAX_BEATS))
    #: It was authenticated; false: not since it has begun; null: nobody knows.
    met: bool | None = None
    came_unmet: bool = False  # messages of it came then
    interval_ns: int = 10_000_000_000
    dropped: bool = False  # no heartbeat for too long, not authenticated again yet
    #: By the capture's clock alone: nothing else says so yet, as an AUTH or its own clock does.
    by_clock: bool = False
    revived: bool = False  # and heard since
    rerouted: bool = False  # messages of it came while its routes changed
    links: set[str] = field(default_factory=set)  # TCP links it has used
    closed: set[str] = field(default_factory=set)  # those it had when it was dropped

    @property
    def is_strange(self) -> bool:
        """Has nobody said yet who it is?"""
        return (self.user, self.met) == (None, None) and self.met_frame < 0

    def counters(self) -> dict[str, LossCounter]:
        """Those of ``show loss``, by their columns."""
        return {
            "null_rte": self.null_route, "repeat": self.repeat, "not_sub": self.not_subscribed,
            "msg_loss": self.msg_loss, "ibx_loss": self.inbox_loss,
        }  # fmt: skip

    def is_silent(self, now_ns: int) -> bool:
        """Was nothing heard of it for so long that it is dropped?"""
        # the daemons of tcp-partition-1 and pub-restart-3 log 10 s at an interval of 4, 22 at 10
        return self.heard_ns is not None and now_ns - self.heard_ns > self.limit_ns

    def is_spoken_to(self, frame: int) -> None:
        """The observer tells it what it tells only a peer: had it taken no heartbeat for so long,
        by the clock that they were sent by, it would have dropped it."""
        self.is_met()
        self.spoken_frame = frame
        then = [frame for frame, at_ns in self.beats if at_ns <= self.beats[-1][1] - self.limit_ns]
        if then and self.met_frame < then[-1]:
            self.went_on = max(self.went_on, then[-1])

    def is_taken_up(self, mark: Mark) -> None:
        """A peer of the observer names it: if the observer had dropped it, it takes it up again,
        and drops it for want of heartbeats only behind the next one (raims: recv_peer_add,
        recv_adjacency_result). Whether it had, and what it took meanwhile, its words have to tell.
        """
        if not self.is_known(mark.at_ns) and self.dropped:
            self.taken_up = self.doubted = True
            self.met_frame = mark.frame
            self.dropped, self.dropped_ns, self.heard_ns = False, None, None
            self.dropped_told = self.by_clock = self.revived = False
            self.closed.clear()

    @property
    def may_be_back(self) -> bool:
        """Did its heartbeats go on behind the observer's word that it drops it? Then it may have
        been taken up again, in words that are not captured."""
        return self.dropped_told and self.beats_since(self.met_frame) > 0

    @property
    def sure_frame(self) -> int:
        """Up to where it is known whether the observer took it for a peer: it was authenticated or
        dropped there, or spoken to."""
        return max(self.met_frame, self.spoken_frame)

    def beats_since(self, frame: int) -> int:
        """How many of its heartbeats came behind a frame, of the last ones."""
        return sum(came > frame for came, _ in self.beats)

    def seems_back(self, mark: Mark) -> None:
        """It is spoken to, or others are told that it has come: where it was dropped, neither comes
        before its AUTH. What was sent at once may have waited; by a clock that stands nobody can
        tell."""
        if not self.dropped:
            return
        passed_ns = mark.at_ns - (self.dropped_ns or 0)
        if passed_ns > QUEUED_NS:
            self.dropped, self.dropped_ns, self.doubted = False, None, True
            self.dropped_told = False
            self.closed.clear()
            self.inbox.clear()  # its numbers were not followed
        elif passed_ns <= 0 and mark.frame > self.met_frame:
            self.doubted = True

    def is_met(self, *, surely: bool = False) -> None:
        """The observer takes what it sends, surely only from now on; else it may have before."""
        self.doubted |= self.met is False and self.came_unmet and not surely
        self.met = True

    def is_introduced(self) -> None:
        """By another daemon: its silence counts from its next heartbeat on (raims: hb_queue)."""
        if self.met is not True:
            self.heard_ns = None
        self.is_met(surely=True)

    def seems_heard(self, now_ns: int) -> bool:
        """Did a heartbeat of it come for which the observer would not drop it yet? One that came
        just now it may not have read."""
        late_ns = self.interval_ns // 10
        return self.heard_ns is not None and (
            late_ns < now_ns - self.heard_ns < self.limit_ns - late_ns
        )

    @property
    def limit_ns(self) -> int:
        """For how long it may be silent."""
        return 2 * self.interval_ns + 2_000_000_000

    def is_known(self, now_ns: int, link: str = "") -> bool:
        """Does the observer still take messages of it, on that link?"""
        if self.is_silent(now_ns):
            self.dropped_ns = (self.heard_ns or 0) + self.limit_ns
            self.dropped, self.heard_ns, self.by_clock = True, None, True
            self.closed |= self.links
        if link.startswith(TCP):
            self.links.add(link)
        return not (self.dropped or self.met is False or link in self.closed)

    def goes_by(self, stamp_ns: int | None) -> None:
        """A message that is not taken any more has a time of its own, by which it is as late."""
        if stamp_ns is not None and self.beats and stamp_ns - self.beats[-1][1] > self.limit_ns:
            self.by_clock = False

    def is_steady(self, now_ns: int, link: str) -> bool:
        """Is it known as before? ``is_known`` would change nothing."""
        return not (self.dropped or self.is_silent(now_ns) or link in self.closed)

    def heard(
        self, word: str, interval: object, mark: Mark, link: str, stamp_ns: int | None
    ) -> None:
        """A message that says that it lives, or authenticates it."""
        if word == "HB" and stamp_ns is not None:
            self.beats.append((mark.frame, stamp_ns))
        self.is_known(mark.at_ns, link)
        self.revived = self.dropped and (self.revived or word not in LAST_WORDS)
        if word == "AUTH":
            self.taken_up |= self.dropped and not link.startswith(TCP)
            alive = link in self.closed  # had it been dropped, that would be closed
            if alive:
                self.closed.clear()
            self.met_frame = mark.frame
            self.dropped, self.dropped_ns, self.revived = False, None, False
            self.dropped_told = False
            self.by_clock &= alive
        if word in ("HB", "HELO", "AUTH"):
            self.heard_ns, self.heard_frame = mark.at_ns, mark.frame
            if isinstance(interval, int) and 0 < interval < 1 << 20:
                self.interval_ns = interval * 1_000_000_000
