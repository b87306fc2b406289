"""When things came on one leg: order, time, and what they leave in doubt (zenoh.md 3.4)."""

from bisect import bisect_left
from collections import Counter
from typing import Final

from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.worth import BEGINNING, END, Doubt, Span, Worth
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.zenoh.handed import Signs
from seqaudit.replay.zenoh.hops import Hop
from seqaudit.replay.zenoh.link import HANDSHAKE, RUNS
from seqaudit.replay.zenoh.silences import Silences

#: An end that has nothing to say says that it lives, so often in a lease: ns of silence a ms of
#: lease, and so much later at most.
KEEP_ALIVES: Final = 4
KEEP_ALIVE_NS: Final = 1_000_000 // KEEP_ALIVES
LATE_NS: Final = 20_000_000
#: So late at most a sign comes with which an end that lives says so: recorded with 0.5 s.
OVERDUE_NS: Final = 1_000_000_000
#: The default lease, of an end whose Open was not captured.
LEASE_MS: Final = 10_000
#: What an end says though it has no session, or begins another one.
NO_SIGNS: Final = frozenset({"Close", *HANDSHAKE})
#: So long behind a query rows begin at the first frame of each tick of 2 ** TICK_BITS ns at least,
#: however a capture was cut (``decoders.zenoh.kernels``): these moments tell how much time passed.
TIMED_NS: Final = 16_000_000_000
TICK_BITS: Final = 24
#: Stretches of doubt of one kind that are kept; the last goes on to the end.
MAX_SPANS: Final = 1_000
#: Records do not overtake each other by more: a clock was set.
STEP_NS: Final = 1_000_000_000
#: Frames that are not whole, of which it is kept when they came; and ends.
MAX_CUTS: Final = 100_000
MAX_ENDS: Final = 10_000
#: So soon at most behind a gap its subscriber asks: recorded are 0.3 ms, and 32 ms at most.
ASKS_NS: Final = 100_000_000


class Moments:
    """Of one leg.

    Attributes:
        worth: what the capture leaves in doubt.
        elapsed: how much time passed at least.
        last_ns: of the last message of all.
        cut_from: sender -> first and last of its frames that are cut off or cannot be read.
        lapsed: the last frame of an end before it was silent for longer than its lease, so that
            the other one has dropped the session; null: none was, or the other has spoken since.
    """

    def __init__(self) -> None:
        self.worth = Worth()
        self.elapsed = Elapsed()
        self.first_ns: int | None = None  # of the first message that was captured
        self.last_ns = 0
        self.cut_from: dict[str, tuple[int, int]] = {}
        self._doubts: Counter[Doubt] = Counter()
        self._fed = Mark(BEGINNING, 0)
        self.lapsed: Mark | None = None
        self._lapsed_by = ""
        self._tick = -1
        self._timed_until = BEGINNING
        self._said: dict[str, Mark] = {}  # endpoint -> its last frame
        self._alive: dict[str, int] = {}  # endpoint -> when it last said more than that it begins
        self._silent_ns: dict[str, int] = {}  # endpoint -> how long before a KeepAlive
        self._silences = Silences()
        self._over = False
        self._signs: dict[str, Signs] = {}  # by endpoint
        self._cuts: list[int] = []  # when frames came that are not whole, never falling

    def came(self, event: Event, *, sign: bool = False, under_way: bool = False) -> None:
        """Before anything is made of it.

        Args:
            sign: nothing that its sender had sent before can be missing unseen.
            under_way: the session is, whose beginning was captured.
        """
        if self.first_ns is None:
            self.first_ns = event.at_ns
        self._note_order(event)
        self._note_time(event, under_way=under_way)
        if sign:
            self.signs(str(event.source)).came(event.first_mark())

    def signs(self, endpoint: str) -> Signs:
        """Those of an end."""
        if endpoint not in self._signs and len(self._signs) >= MAX_ENDS:
            return Signs(self.elapsed)
        return self._signs.setdefault(endpoint, Signs(self.elapsed))

    def _note_order(self, event: Event) -> None:
        """Time goes back: records stand in another order than on the wire, or the clock was set."""
        back_ns, frame = self._fed.at_ns - event.at_ns, self._fed.frame
        self._fed = event.first_mark()
        if back_ns <= 0:
            return
        why = "time goes back from one record of this session to the next"
        self.doubt(Doubt.OUT_OF_ORDER, frame, event.frame, why)
        if back_ns > STEP_NS:
            self.doubt(Doubt.CLOCK_STEPPED, frame, event.frame, why)

    def doubt(self, doubt: Doubt, first: int, last: int, why: str) -> None:
        """A stretch of doubt; the last that is kept of one kind lasts to the end."""
        number = self._doubts[doubt] = self._doubts[doubt] + 1
        if number <= MAX_SPANS:
            self.worth.add(Span(doubt, first, END if number == MAX_SPANS else last, why))

    def damaged(self, what: str) -> None:
        """Frames say what no end sends: any bytes of the session may be others than were sent."""
        self.doubt(Doubt.DAMAGED, BEGINNING, END, f"{what}: bytes may be damaged")

    def hole(self, event: Event) -> None:
        """Bytes of a TCP connection are missing here, or could not be read (CP012, CP006)."""
        why = "bytes of its connection are missing here, or could not be read (CP012, CP006)"
        self.doubt(Doubt.HOLE, event.details()["since"], event.frame, why)

    def opened(self, endpoint: str, lease_ms: int) -> None:
        """An end told its lease."""
        if len(self._silent_ns) < MAX_ENDS:
            self._silent_ns[endpoint] = lease_ms * KEEP_ALIVE_NS

    def spoke(self, endpoint: str) -> Mark | None:
        """When an end spoke last; null: it never did."""
        return self._said.get(endpoint)

    def spoke_ns(self, endpoint: str) -> int | None:
        """The same, in ns."""
        mark = self.spoke(endpoint)
        return None if mark is None else mark.at_ns

    def alive_ns(self, endpoint: str) -> int | None:
        """When an end last said anything but that it begins a session; null: it never did."""
        return self._alive.get(endpoint)

    def due_ns(self, endpoint: str) -> int | None:
        """When an end that lives has to speak again at the latest; null: it never spoke."""
        mark = self._said.get(endpoint)
        return None if mark is None else mark.at_ns + self._quiet_ns(endpoint)

    def _quiet_ns(self, endpoint: str) -> int:
        """How long an end that lives says nothing at most."""
        return self._silent_ns.get(endpoint, LEASE_MS * KEEP_ALIVE_NS) + OVERDUE_NS

    def unheard_since(self, endpoint: str, now: Mark) -> int | None:
        """The job frame behind which an end said nothing, until now, though it had to; null: it
        did speak, or never."""
        due_ns = self.due_ns(endpoint)
        silent = due_ns is not None and due_ns < now.at_ns
        return self._said[endpoint].frame if silent else None

    def close(self) -> None:
        """The capture is over."""
        self._over = True

    def unheard(self, endpoint: str, mark: Mark) -> bool:
        """Whether nothing of an end stands in the capture around a moment, though it had to speak,
        if it lived, or what it said then stands before; known when the capture is over."""
        if not self._over:
            return False
        said, due_ns = self._said.get(endpoint), self.due_ns(endpoint)
        if said is None or due_ns is None:
            return True
        if mark.frame > said.frame:
            return due_ns < self.last_ns or said.at_ns > mark.at_ns
        return self._silences.over(endpoint, mark.frame)

    def cut_off(self, event: Event) -> None:
        """What a frame said behind its beginning is cut off, or cannot be read."""
        assert event.source is not None
        first, _ = self.cut_from.get(event.source, (event.frame, 0))
        if event.source in self.cut_from or len(self.cut_from) < MAX_ENDS:
            self.cut_from[event.source] = first, event.frame
        if len(self._cuts) < MAX_CUTS:
            self._cuts.append(max(event.at_ns, self._cuts[-1] if self._cuts else 0))

    def whole_since(self, hop: Hop | None, now: Mark, span_ns: int) -> bool:
        """Whether no frame of a counter is missing from so long before one that came now, or from
        the beginning of the session."""
        if hop is None or (stretch := hop.counter.stretch_of(hop.sn)) is None:
            return False
        return (
            stretch.begin == hop.counter.since
            or self.elapsed.at_least(stretch.begin, now) >= span_ns
        )

    def cut_between(self, start_ns: int, stop_ns: int) -> bool:
        """Whether messages in this span of time are cut off, or cannot be read."""
        place = bisect_left(self._cuts, start_ns)
        return place < len(self._cuts) and self._cuts[place] <= stop_ns

    def _note_time(self, event: Event, *, under_way: bool) -> None:
        """The first event of a tick, where every capture shows it, whatever its pieces.

        A KeepAlive that comes as soon as it is due shows that the clock was not set before it.
        """
        if event.wire_kind == "request":
            self._timed_until = event.at_ns + TIMED_NS
        assert event.source is not None
        tick, since = event.at_ns >> TICK_BITS, self._said.get(event.source)
        if since is not None or len(self._said) < MAX_ENDS:
            since_ns = (self.first_ns or 0) if since is None else since.at_ns
            silent = event.at_ns - since_ns > self._quiet_ns(event.source)
            if silent or (since is None and under_way):
                self._silences.ended(event.source, since, event.frame)
            self._said[event.source] = event.last_mark()
            if event.wire_kind not in HANDSHAKE:
                self._alive[event.source] = event.last_mark().at_ns
            self._note_lapse(event, since)
        if tick == self._tick or (event.wire_kind in RUNS and event.at_ns >= self._timed_until):
            return
        self._tick = tick
        due_ns = self._silent_ns.get(event.source)
        sure = False
        if event.wire_kind == "KeepAlive" and since is not None and due_ns is not None:
            sure = abs(event.at_ns - since.at_ns - due_ns) < LATE_NS
        self.elapsed.saw(event.first_mark(), sure=sure)

    def _note_lapse(self, event: Event, since: Mark | None) -> None:
        """An end speaks: after too long a silence of its own, or of the other."""
        assert event.source is not None
        due_ns = self._silent_ns.get(event.source)
        if since is not None and due_ns and event.at_ns - since.at_ns > KEEP_ALIVES * due_ns:
            if self.lapsed is None:
                self.lapsed, self._lapsed_by = since, event.source
        elif event.wire_kind not in NO_SIGNS and event.source != self._lapsed_by:
            self.lapsed = None
