"""Sqns of a PGM session that did not come to a receiver, and how that ended (raims.md 2)."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.sequence.elapsed import Watch
from seqaudit.replay.sequence.gaps import Ask, Mark

#: What shows a sqn, where neither a higher one nor an SPM did before.
OWN_NAK: Final = "this receiver's own NAK"
#: Behind every frame.
LAST_FRAME: Final = 1 << 62
#: Rounds of NAKs behind a packet's arrival that a receiver which is only busy does not send.
SEVERAL_ROUNDS: Final = 2


class Fate(StrEnum):
    """How a hole ended."""

    LATE = "reordered"  # the original came, nothing was lost
    REPAIRED = "recovered"  # this receiver asked, and RDATA came
    FOREIGN = "repaired for another receiver"  # RDATA came, and this one had not asked
    RETRIES = "gave up after its retries"
    TRAIL = "fell below the sender's trail"
    FULL = "fell out of the full receive window"
    ASKED = "asked for and then no more"  # had it in the end, or the capture missed the rest
    PASSED = "came when it seemed to be given up"  # as it may have been
    UNASKED = "not asked for"  # and it should have been: the receiver may have had it
    OPEN = "open at the end"


#: Ends after which a sqn did not come, as far as the capture shows.
GIVEN_UP: Final = (Fate.RETRIES, Fate.TRAIL, Fate.FULL)
#: Ends of which nobody can tell whether the receiver had the sqn.
UNTOLD: Final = (Fate.ASKED, Fate.PASSED, Fate.UNASKED)


@dataclass(slots=True)
class Leaks:
    """What the capture lacks of a session, as far as it is seen.

    Attributes:
        count: packets of which the receiver's own behaviour says so.
        spms: some of its SPMs are here, which leave by the same socket as NCFs and RDATA.
    """

    count: int = 0
    spms: bool = False


class RoundsHad(NamedTuple):
    """Rounds of NAKs for one sqn that have ended: without an NCF, and with one."""

    unconfirmed: int
    confirmed: int


NO_ROUNDS: Final = RoundsHad(0, 0)


@dataclass(slots=True)
class Rounds:
    """Rounds that a receiver may have had, with those of which the capture lacks the NAK or the
    NCF: as many as fit between what is seen of them.

    Attributes:
        since: what comes behind it is not counted yet.
        had: until then, at most.
        waits: for what was confirmed, until then.
    """

    since: Mark
    had: RoundsHad = NO_ROUNDS
    waits: bool = False

    def after(self, time_ns: int, ncf_wait_ns: int, data_wait_ns: int) -> RoundsHad:
        """With those that fit into so much time; below zero, the receiver still waits for data."""
        if time_ns < 0:
            return self.had
        return RoundsHad(
            self.had.unconfirmed + time_ns // ncf_wait_ns,
            self.had.confirmed + time_ns // data_wait_ns + self.waits,
        )


@dataclass(slots=True)
class Hole:
    """One missing sqn; or ``count`` from it on that were given up at once.

    Attributes:
        used_up: as many of its rounds were confirmed, or were not, as a receiver has.
        timer: that gave it up; null: none did.
        leaks: of the whole window, also later ones.
        sooner: it may have ended before the mark that says so.
        rounds: that its receiver may have had.
        answered: when its sender had last sent an NCF or RDATA of any, as it ended.
        stopped: its receiver had not asked again when who has no NCF would have, as it ended.
        reopened: it seemed to have ended before, and had not.
        surely_confirmed: of the rounds with an NCF, those that its receiver surely counts as such:
            where neither a NAK of it nor its timer shows that the wait before was over, the NCF may
            have made that one longer. Behind its last NAK it may have had the sqn.
    """

    sqn: int
    before: Mark | None  # last arrival before it
    revealed: Mark
    revealed_by: str
    asked: Mark | None = None  # first NAK of this receiver
    naks: int = 0  # rounds of NAKs
    at_once: int = 0  # NAKs that the clock does not tell from one before
    asks: list[Ask] = field(default_factory=list)  # of the first rounds, and the last one
    ncf: Mark | None = None  # the sender's first NCF
    last_nak_ns: int = -1
    decided: Mark | None = None  # the last NAK or NCF before it was given up
    unconfirmed: int = 0  # rounds without an NCF
    confirmed: int = 0  # rounds with one
    surely_confirmed: int = 0
    unasked_waits: int = 0  # that were surely over, for NCFs since the last of these
    wait_ends_ns: int = -1
    due_ns: int = 0  # when it is given up if nothing more comes
    ended: Mark | None = None
    fate: Fate | None = None
    count: int = 1
    paused_ns: int = 0  # a stretch without any packet behind its last NAK, which was not counted
    used_up: bool = False
    timer: "Timer | None" = None
    leaks: Leaks = field(default_factory=Leaks)
    sooner: bool = False
    answered: Mark | None = None
    stepped: Mark | None = None  # others of the sender may be missing before this packet
    stopped: bool = False
    reopened: bool = False
    rounds: Rounds = field(init=False)

    def __post_init__(self) -> None:
        known = self.before if self.revealed_by == OWN_NAK else None  # what showed it is not here
        self.rounds = Rounds(known or self.revealed)

    @property
    def loss(self) -> Certainty:
        """How sure it is that it never came to the receiver; of holes that were given up.

        Proven by rounds that are used up; and by a sender that did not even confirm the NAKs of
        what its trail then passes. That an RDATA was not sent shows in no other way, so where the
        capture lacks others of these packets, or NCFs, it may lack that one as well; and where it
        may have ended before the last wait did, that one may have come behind it. How large the
        window is nobody says on the wire.
        """
        waited = self.timer is not None and self.timer.over < LAST_FRAME
        if (self.fate is Fate.RETRIES and self.used_up and waited) or (
            self.fate is Fate.TRAIL and self.naks and not self.confirmed and self._unanswered
        ):
            return Certainty.LIKELY if self.leaks.count else Certainty.PROVEN
        if self.fate is Fate.RETRIES or (self.fate in GIVEN_UP and self.naks):
            return Certainty.LIKELY
        return Certainty.UNDECIDABLE

    @property
    def _unanswered(self) -> bool:
        """Was it asked for before it ended, of a sender that answered nothing since, by a receiver
        that asked on?

        A sender that answers anything hears NAKs, and a receiver that stops asking had an NCF: then
        an NCF was lost on its way, and an RDATA may not be captured; nor may any where SPMs are not
        (raims.md 2), or where the sender's IP ids step: both answers leave behind one another.
        """
        if self.asked is None or self.ended is None or self.asked >= self.ended:
            return False
        answers = self.answered is not None and self.answered >= self.asked
        lacks = self.stepped is not None and self.stepped >= self.asked
        return self.leaks.spms and not answers and not lacks and not self.stopped

    @property
    def is_jump(self) -> bool:
        """Was it given up at once, as it fell out of the window with what showed it?"""
        return self.fate is Fate.FULL and not self.naks and self.ended == self.revealed

    def goes_on(self) -> None:
        """A NAK or NCF says what time it is: from here on no stretch is left out."""
        self.due_ns -= self.paused_ns
        self.paused_ns = 0

    def waits(self, *, asked: bool, over: bool) -> None:
        """An NCF begins a wait for data; ``asked``: its receiver had since the wait before, which
        surely was ``over``."""
        if asked or not self.confirmed:
            self.surely_confirmed += 1 + self.unasked_waits
            self.unasked_waits = 0
        else:
            self.unasked_waits += over
        self.confirmed += 1

    def reopens(self) -> None:
        """It had not ended."""
        self.ended = self.fate = self.timer = self.answered = None
        self.used_up = self.stopped = False
        self.reopened = True

    @property
    def decides(self) -> Mark:
        """What set the timer of its end: the last NAK or NCF."""
        return self.decided or self.revealed

    @property
    def stop_frame(self) -> int:
        """One past the last frame at which what is behind it waited; where a timer ended it, by the
        capture's clock."""
        if self.timer is not None:
            return self.timer.until
        return LAST_FRAME if self.ended is None else self.ended.frame + 1

    @property
    def last_wait(self) -> tuple[int, int]:
        """The frames between which its last repair would have come."""
        asked = self.asks[-1].mark if self.asks else self.revealed
        ended = self.ended or asked
        until = LAST_FRAME if self.timer is None else self.timer.until
        return asked.frame, ended.frame if until == LAST_FRAME else until


class Timer(NamedTuple):
    """What no frame shows: a wait that ended.

    Attributes:
        due: the frame that set it, and when it was due.
        until: the first frame behind that, by the capture's clock.
        watch: for when it has surely ended, whatever the clock did.
    """

    due: Mark
    until: int
    watch: Watch

    @property
    def over(self) -> int:
        """The first frame by which it surely has."""
        return LAST_FRAME if self.watch.reached is None else self.watch.reached.frame


@dataclass(slots=True)
class Inside:
    """A sqn that came to the receiver's host, and was asked for afterwards.

    Attributes:
        came: its last arrival before the first of these NAKs.
        rounds: of them.
        again: when it came again after them.
        begun: a repair of none above it came in between: with that a receiver may have begun, that
            was started behind the arrival.
    """

    sqn: int
    came: Mark
    asked: Mark
    last_nak_ns: int
    rounds: int = 1
    again: Mark | None = None
    begun: bool = False

    @property
    def loss(self) -> Certainty:
        """How sure it is that it was dropped: one NAK may be of a receiver that had not read yet
        what waited for it."""
        sure = self.rounds >= SEVERAL_ROUNDS and not self.begun
        return Certainty.PROVEN if sure else Certainty.LIKELY
