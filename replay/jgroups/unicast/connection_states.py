"""The states of one end of a connection, and when its timers change them (jgroups.md 4.3, 4.4).

What happens to an entry is noted as the replay learns of it, which may be long after it happened:
what arrives is read at the next sign of life of its member. So the states are told at the end, from
all that happened, in the order of the capture. One rule holds for both ends (``Entry.state``):
every change of the state begins the entry's age anew, and so does every use.

    happens            state       then                                      rows
    opened             none        OPEN                                      A1 B1
    used               any         OPEN, age = 0                             A2 B12
    view with peer     CLOSING     OPEN, age = 0                             A20 B24
    view with peer     OPEN        nothing: the age goes on                  A20 B24
    view without peer  OPEN        CLOSING, age = 0                          A19 B24
    age = expiry       OPEN        CLOSING, age = 0                          A17 B23
    age = close        CLOSING     removed: at the receiver, and at the      A18 B23
                                   sender of who is in no view, silently
    closed             any         CLOSED

The clock of entries (``TimeService``) ticks first 500 ms after the start of its member. What
uses an entry before has the time at which the member was made, which no frame shows: its
application starts it then, or some seconds later. Such an age is taken as it seems, until a view
with the peer comes that may find the entry CLOSING: then its age begins anew, else it goes on. From
the first moment at which the two lead to different states on it cannot be told which one it has.

So it is where a view with the peer comes about when ``expiry`` ends: ages are those of a clock that
ticks every 500 ms, and entries are looked at as often.
"""

from bisect import bisect_left
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, NamedTuple

from seqaudit.replay.sequence.gaps import Mark

MAX_STATES: Final = 1_000

OPEN: Final = "OPEN"
CLOSING: Final = "CLOSING"
CLOSED: Final = "CLOSED"

#: The clock of entries ticks every 500 ms from the member's start on, with some jitter.
FIRST_TICK_NS: Final = 650_000_000
#: How long before its start a member is made, at most, where its application starts it as soon as
#: it is ready itself.
MADE_BEFORE_NS: Final = 6_000_000_000

IDLE: Final = "idle for conn_expiry_timeout"
REPLACED: Final = "replaced by a new connection"
REAPED: Final = "CLOSING for conn_close_timeout"
EARLY: Final = (
    "cannot be told: it was used before the first tick of its member's clock, so its age may be "
    "greater than it seems, and whether a view opened it again is not known"
)
ROUNDED: Final = (
    "cannot be told: a view with the peer came about when conn_expiry_timeout ended, by a clock "
    "that ticks every 500 ms, and whether it opened it again is not known"
)
OTHER_TIMERS: Final = (
    "cannot be told: this member sent a CLOSE sooner than the default timeouts let it, so its own "
    "are shorter, and are not given"
)
#: By how much a timer may end sooner than it seems: the clock of entries ticks every 500 ms.
SOONER_NS: Final = 500_000_000
#: By how much later: timers are looked at every 500 ms, and with some jitter.
LATER_NS: Final = 1_100_000_000
TOO_MANY: Final = "cannot be told: it changed more often than is kept"

#: A state, since when, and why; null: cannot be told.
Change = tuple[str | None, Mark, str]


class Timeouts(NamedTuple):
    """conn_expiry_timeout and conn_close_timeout in ns; 0: never."""

    expiry_ns: int
    close_ns: int


class EntryTimers:
    """Those of one member, for all of its connections.

    Args:
        given: somebody said how long they are.

    Attributes:
        refuted: a CLOSE of its own shows that they are shorter.
    """

    def __init__(self, timeouts: Timeouts, *, given: bool) -> None:
        self.timeouts = timeouts
        self.given = given
        self.refuted = False


class PeerView(NamedTuple):
    """A view that was installed here."""

    mark: Mark
    with_peer: bool


class _What(Enum):
    OPENED = auto()
    USED = auto()
    CLOSED = auto()


class _Happening:
    __slots__ = ("early", "last", "mark", "what", "why")

    def __init__(self, what: _What, mark: Mark, why: str, *, early: bool = False) -> None:
        self.what = what
        self.mark = self.last = mark  # of uses: the first and last one
        self.why = why
        self.early = early  # its age may be greater than it seems


class ConnectionLives:
    """What the connections of a member with one peer have in common: its timers, clock and views.

    Args:
        early: may the member's clock not have ticked yet at a moment?
    """

    def __init__(self, timers: EntryTimers, early: Callable[[Mark], bool]) -> None:
        self.timers = timers
        self.early = early
        self.views: list[PeerView] = []  # that were installed at the member, in order
        self.more_from: Mark | None = None  # the first view that is not kept

    def view(self, mark: Mark, *, with_peer: bool) -> None:
        """A view was installed at the member."""
        if len(self.views) < MAX_STATES:
            self.views.append(PeerView(mark, with_peer))
        elif self.more_from is None:
            self.more_from = mark

    def begin(self) -> "ConnectionLife":
        """The life of a further connection."""
        return ConnectionLife(self)


class ConnectionLife:
    """What happened to one connection at the end that is replayed."""

    def __init__(self, lives: ConnectionLives) -> None:
        self._lives = lives
        self._timeouts = lives.timers.timeouts
        self._early = lives.early
        self._happened: list[_Happening] = []
        self._full = False

    def opened(self, mark: Mark, why: str) -> None:
        """Its entry was made."""
        self._add(_Happening(_What.OPENED, mark, why, early=self._early(mark)))

    def used(self, mark: Mark, why: str) -> None:
        """A message begins its age anew."""
        early = self._early(mark)
        place = self._place(mark)
        before = self._happened[place - 1] if place else None
        if before is not None and before.what is _What.USED and before.early == early:
            if mark.frame <= before.last.frame:
                return
            expiry_ns = self._timeouts.expiry_ns
            awake = not expiry_ns or mark.at_ns - before.last.at_ns <= expiry_ns
            if awake and not self._view_between(before.last, mark):
                before.last = mark
                return
        self._add(_Happening(_What.USED, mark, why, early=early))

    def close_sent(self, mark: Mark) -> None:
        """A CLOSE tells that its timers have removed it: after both since it was used, or after the
        second one since a view without the peer."""
        timers, used = self._lives.timers, next(reversed(self._happened), None)
        if used is not None and used.what is not _What.CLOSED and not used.early:
            expiry_ns, close_ns = self._timeouts
            views = [view.mark for view in self._lives.views if not view.with_peer]
            begins = [used.last.at_ns + expiry_ns]
            begins += [view.at_ns for view in views if view.frame > used.last.frame]
            least_ns = min(begins) + close_ns
            if not timers.given and expiry_ns and close_ns:
                timers.refuted |= mark.at_ns + 2 * SOONER_NS < least_ns
        self.closed(mark, "CLOSE")

    def closed(self, mark: Mark, why: str) -> None:
        """Its entry was removed, or replaced."""
        self._add(_Happening(_What.CLOSED, mark, why))

    def _add(self, happening: _Happening) -> None:
        if len(self._happened) < MAX_STATES:
            self._happened.insert(self._place(happening.mark), happening)
        else:
            self._full = True

    def _place(self, mark: Mark) -> int:
        place = len(self._happened)
        while place and self._happened[place - 1].mark.frame > mark.frame:
            place -= 1
        return place

    def _view_between(self, one: Mark, other: Mark) -> bool:
        views, more = self._lives.views, self._lives.more_from
        place = bisect_left(views, one.frame, key=lambda view: view.mark.frame)
        if place < len(views):
            return views[place].mark.frame <= other.frame
        return more is not None and more.frame <= other.frame

    def tell(self, *, reaped_silently: bool, goes_on: bool) -> tuple[list[Change], list[Change]]:
        """Its states so far, and those that its timers lead to unless the capture ends first.

        Args:
            reaped_silently: nothing on the wire tells that the entry is removed, also of a peer
                that is in the view.
            goes_on: its member lives on, and its timers go on.
        """
        told = _Told(self._timeouts, reaped_silently=reaped_silently)
        views, more, place = self._lives.views, self._lives.more_from, 0
        for happening in self._happened:
            while place < len(views) and views[place].mark.frame < happening.mark.frame:
                told.view(views[place])
                place += 1
            if more is not None and more.frame < happening.mark.frame:
                break  # what the views that are not kept made of it is not known
            told.take(happening)
        for view in views[place:]:
            told.view(view)
        states = told.changes[:]
        if self._full or more is not None:
            last = states[-1][1] if states else Mark(0, 0)
            return [*states, (None, last if more is None else more, TOO_MANY)], []
        if self._lives.timers.refuted and states and states[-1][0] in (OPEN, CLOSING):
            last = max(self._happened[-1].last, states[-1][1], key=lambda mark: mark.frame)
            return [*states, (None, last, OTHER_TIMERS)], []
        if goes_on:
            told.idle()
        return states, told.changes[len(states) :]


class _Told:
    """The states, one happening after the other.

    Attributes:
        changes: none is earlier than the one before it.
        _since: when the age of the state began, at the latest; _least: at the earliest, in ns.
        _sure: when it was OPEN for certain, in ns: it was not CLOSING before.
        _doubt: from when on it may be CLOSING, in ns, as its age may be greater than it seems.
        _gone: it may have been removed, and only a use would show that it was not.
        _why: it cannot be told.
    """

    def __init__(self, timeouts: Timeouts, *, reaped_silently: bool) -> None:
        self.changes: list[Change] = []
        self._expiry_ns, self._close_ns = timeouts
        self._silently = reaped_silently
        self._with_peer = True
        self._since = Mark(0, 0)
        self._least = self._sure = 0
        self._doubt: int | None = None
        self._gone = False
        self._why = EARLY

    @property
    def _state(self) -> str | None:
        return self.changes[-1][0] if self.changes else CLOSED

    def _enter(self, state: str | None, mark: Mark, why: str) -> None:
        if not self.changes:
            self.changes.append((state, mark, why))
        elif self._state != state:
            at_ns = max(mark.at_ns, self.changes[-1][1].at_ns)
            self.changes.append((state, Mark(mark.frame, at_ns), why))

    def _begin(self, latest: Mark, earliest_ns: int) -> None:
        """The age of the state begins, or began before."""
        self._since, self._least = latest, earliest_ns

    def take(self, happening: _Happening) -> None:
        mark, last = happening.mark, happening.last
        self._expire(mark)
        if happening.what is _What.CLOSED:
            self._enter(CLOSED, mark, happening.why)
            return
        self._enter(OPEN, mark, happening.why)
        self._begin(last, last.at_ns)
        self._sure, self._gone, self._why = last.at_ns, False, EARLY
        early = last.at_ns + self._expiry_ns - MADE_BEFORE_NS
        self._doubt = max(early, last.at_ns) if happening.early and self._expiry_ns else None

    def view(self, view: PeerView) -> None:
        mark = view.mark
        self._expire(mark)
        if view.with_peer:
            self._reap(mark)
        self._with_peer = view.with_peer
        if self._gone or self._state == CLOSED:
            return
        if not view.with_peer and self._state != CLOSING:
            began = mark.at_ns if self._state == OPEN else self._closing_from()
            self._enter(CLOSING, mark, "a view without the peer")
            self._begin(mark, began)
        elif view.with_peer and self._state == OPEN:
            due_ns = self._since.at_ns + self._expiry_ns - SOONER_NS
            soon = bool(self._expiry_ns) and due_ns < mark.at_ns
            if soon or (self._doubt is not None and self._doubt < mark.at_ns):
                self._begin(mark, self._least)  # the view may have opened it again
                self._sure = self._doubt = mark.at_ns
                self._why = ROUNDED if soon else self._why
        elif view.with_peer and self._state != OPEN:
            began = mark.at_ns
            if self._state == CLOSING and self._is_just_over(mark):
                self._why = ROUNDED
                began = self._least - self._expiry_ns
            elif self._state is None:  # it may have been OPEN still: then its age goes on
                began = max(self._least, began - self._expiry_ns)
            else:
                self._doubt = None
            self._enter(OPEN, mark, "a view with the peer")
            self._begin(mark, began)
            self._sure = mark.at_ns

    def idle(self) -> None:
        """Nothing more happens to it."""
        self._expire(None)
        self._reap(None)

    def _closing_from(self) -> int:
        """When it may have become CLOSING, at the earliest."""
        if self._state == CLOSING:
            return self._least
        return max(self._least + self._expiry_ns, self._sure)

    def _is_just_over(self, mark: Mark) -> bool:
        """Did its timer end so shortly before that it may be OPEN still?"""
        return self.changes[-1][2] == IDLE and mark.at_ns < self._since.at_ns + LATER_NS

    def _expire(self, now: Mark | None) -> None:
        """What its timer led to before now; null: whatever it leads to."""
        if not self._expiry_ns or self._gone or self._state not in (OPEN, None):
            return
        since = self._since
        earliest, latest = self._closing_from(), since.at_ns + self._expiry_ns
        if earliest < latest and (now is None or earliest < now.at_ns):
            self._enter(None, Mark(since.frame, earliest), self._why)
        removed = earliest < latest and self._reaps() and earliest + self._close_ns < latest
        if not removed and (now is None or latest < now.at_ns):
            expired = Mark(since.frame, latest)
            self._enter(CLOSING, expired, IDLE)
            self._begin(expired, earliest)

    def _reaps(self) -> bool:
        return bool(self._close_ns) and (self._silently or not self._with_peer)

    def _reap(self, now: Mark | None) -> None:
        """Was its entry removed before now, and nothing told it?"""
        if not self._reaps() or self._gone or self._state not in (CLOSING, None):
            return
        since = self._since
        earliest = self._closing_from() + self._close_ns
        if now is not None and self._doubt is not None:
            earliest = min(earliest, self._doubt + self._close_ns)
        closing_ns = since.at_ns if self._state == CLOSING else since.at_ns + self._expiry_ns
        latest = closing_ns + self._close_ns
        if earliest < latest and (now is None or earliest < now.at_ns):
            self._enter(None, Mark(since.frame, earliest), self._why)
            self._gone = True
        if now is None or latest < now.at_ns:
            self._enter(CLOSED, Mark(since.frame, latest), REAPED)
