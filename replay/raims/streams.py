"""One publisher's stream of one subject (or GLSNO path) at the observer, for the report."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.raims.links import TCP
from seqaudit.replay.raims.message import MessageRun
from seqaudit.replay.raims.missing import Missing
from seqaudit.replay.raims.peer_clock import ChangeBehind
from seqaudit.replay.raims.publisher import BeganBy
from seqaudit.replay.raims.report_rows import TimeFrame
from seqaudit.replay.raims.seqno import BASE_BITS, base_of, frame_of, key
from seqaudit.replay.raims.subscriber import Ruling
from seqaudit.replay.raims.truth import Loss, Truth
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet, total

MAX_NOTES: Final = 200
MAX_FRAMES: Final = 10_000
#: Why a path's numbers that are missing need not be lost.
ELSEWHERE: Final = "its numbers step where no packet is missing, so some were sent elsewhere"


@dataclass(frozen=True, slots=True)
class ReportedVerdict:
    """A verdict worth telling, and what really was lost there.

    Attributes:
        mark: when it was handed on.
        came: where the message came, which may have waited.
        copy: it is a message at or below the highest number that came.
        again: it had been captured before, or follows one that had and set the daemon's number
            back; else what came may be an original, captured late.
    """

    verdict: Ruling
    loss: Loss | None
    mark: Mark
    came: Mark
    copy: bool
    again: bool = True


@dataclass(frozen=True, slots=True)
class RepeatedMessage:
    """A message that came again.

    Attributes:
        known: it was captured before as well.
    """

    verdict: Ruling
    mark: Mark
    known: bool


@dataclass(frozen=True, slots=True)
class NumberGap:
    """GLSNO numbers [first, stop) that did not come before a message."""

    first: int
    stop: int
    missing: Missing
    mark: Mark
    last: Mark | None  # where the message before came


@dataclass(frozen=True, slots=True)
class Begin:
    """The first message of a time frame.

    Attributes:
        forgotten_ns: the rotation at which the publisher had forgotten the subject; null where the
            frame has another reason.
    """

    seqno: int
    chain: int | None
    time_ns: int | None
    why: BeganBy
    mark: Mark
    forgotten_ns: int | None = None


class Odd(NamedTuple):
    """A message that the publisher window does not explain.

    Attributes:
        by_age: its own numbers and time contradict pub_window_time, whatever else was captured.
    """

    why: BeganBy
    seqno: int
    mark: Mark
    by_age: bool


class RaimsStream:
    """Everything noticed about one stream."""

    def __init__(self, publisher: str, subject: str, *, glsno: bool) -> None:
        self.publisher = publisher
        self.subject = subject
        self.glsno = glsno
        self.seen = RangeSet()  # seqnos without a sign, each counted once
        self.arrivals = 0
        self._left_on: dict[str, RangeSet] = {}  # its own that left on a link with repairs
        self.copies = 0
        self.bytes = 0
        self.first: Mark | None = None
        self.last: Mark | None = None
        self.first_seqno: int | None = None
        self.zero = 0  # messages with base 0
        self.zero_marks: list[Mark] = []
        self._zero_ids: set[int] = set()  # of their packets
        self.ignored = 0  # from a peer that was dropped: taken by nobody, counted by nobody
        self.untaken = -1  # the last frame of these, but of those behind its goodbye
        #: The observer said just behind its last message that it wants them, or no more.
        self.behind: ChangeBehind | None = None
        self.unwanted = 0  # null route and not subscribed
        self.before_words = False  # messages came before the observer had said who it is
        self.delivered: list[list[int]] = []  # half-open, in delivery order
        self.by_subject: Counter[str] = Counter()  # delivered, of GLSNO streams
        self.came: dict[str, RangeSet] = {}  # numbers that came by subject, of GLSNO streams
        self.repeats: list[RepeatedMessage] = []
        self.rows: Counter[str] = Counter()
        self.steps: list[ReportedVerdict] = []
        self._set_back = False  # by the last step
        self.false_loss = 0
        self.counted = 0
        self.truth = Truth()
        self.begins: list[Begin] = []
        self.chains: dict[int, int] = {}  # frame -> chain
        self.unexplained: Counter[tuple[BeganBy, bool]] = Counter()  # by ``Odd.why`` and ``by_age``
        self.odd: list[Odd] = []  # the first of them
        self.link = ""
        self.came_on: dict[str, int] = {}  # links without numbers, and the last frame on each
        #: Since which frame messages may not have been read, and why; null: all were.
        self.unread: tuple[int, str] | None = None
        self.last_sqn: int | None = None
        self.copied_on: set[str] = set()  # other TSIs on which messages of it came
        self.followed = [0, 0]  # subscriptions of others that have been looked at, and patterns
        self.again: list[tuple[int, Mark]] = []  # frames that begin a second time
        self.network_duplicates = 0
        self.gaps: list[NumberGap] = []  # of GLSNO numbers
        self.wanted = False  # its last message
        #: TSI and sqn of its first message that was wanted, and since which frame it would be.
        self.first_wanted: tuple[str, int, int] | None = None
        #: Its seqno and where it came, if others had been sent before; null: none were.
        self.others_before: tuple[int, Mark] | None = None
        #: What did not come between a message that was wanted and one that was not.
        self.borders: list[Missing] = []

    @property
    def subjects(self) -> Iterable[str]:
        """All of its messages: its own; of a path those that came."""
        return self.came if self.glsno else (self.subject,)

    @property
    def elsewhere(self) -> bool:
        """Of a path's numbers: are some of messages that were never sent on this link?"""
        return any(not gap.missing.count for gap in self.gaps)

    def skipped(self, message: MessageRun, missing: Missing, mark: Mark) -> None:
        """Numbers of a GLSNO stream are missing before a message."""
        last = self.seen.stop() - 1
        if key(message.seqno) > last and len(self.gaps) < MAX_NOTES:
            gap = NumberGap(last + 1, key(message.seqno), missing, mark, self.last)
            self.gaps.append(gap)

    def is_wanted(self, missing: Missing | None, *, wanted: bool, changed: bool = False) -> None:
        """Whether a message is, and what did not come before it; ``changed``: what is subscribed to
        did in between."""
        border = changed or self.wanted != wanted
        if border and missing is not None and len(self.borders) < MAX_NOTES:
            self.borders.append(missing)
        self.wanted = wanted

    def sees(self, message: MessageRun, mark: Mark, last: Mark) -> bool:
        """Messages that came once on their link; were any of them new?"""
        event, seqno = message.event, message.seqno
        self.arrivals += event.count
        self.bytes += event.size
        if event.flags & Flag.NETWORK_DUPLICATE:
            self.network_duplicates += event.count
        if self.glsno:
            came = self.came.setdefault(str(event.destination), RangeSet())
            came.add(key(seqno), key(seqno) + event.count)
        if self.first is None:
            self.first, self.first_seqno = mark, seqno
        self.last = last
        if base_of(seqno) == 0 and not self.glsno:
            if event.fresh_id is not None and event.fresh_id in self._zero_ids:
                return False  # the same packet again
            if event.fresh_id is not None and len(self._zero_ids) < MAX_FRAMES:
                self._zero_ids.add(event.fresh_id)
            self.zero += event.count
            if len(self.zero_marks) < MAX_NOTES:
                self.zero_marks.append(mark)
            return False
        low = key(seqno)
        if base_of(seqno) == 1:
            self.begins_again(message, mark)
        fresh = self.seen.add(low, low + (message.stop - seqno or 1))
        if event.conn_id is not None and len(self.chains) < MAX_FRAMES:
            self.chains[frame_of(seqno)] = event.conn_id
        new = sum(b - a for a, b in fresh)
        self.copies += event.count - new
        return new > 0

    def goes_on(self, row: Any, last: Mark, why: BeganBy, *, wanted: bool = False) -> None:
        """Messages that came once, in order: the next ones, or the first of a chained frame.

        Args:
            row: as ``stage`` has it.
            last: when the last of them came, or all of them were handed on.
            wanted: the observer has subscribed to them.
        """
        self.wanted = wanted
        count, size = row[15], row[19]
        seqno, stop, chain = row[13], row[14], row[16]
        self.arrivals += count
        self.bytes += size
        self.last = last
        self.seen.add(seqno, stop)
        if chain is not None:
            if len(self.chains) < MAX_FRAMES:
                self.chains[frame_of(seqno)] = chain
            if len(self.begins) < MAX_FRAMES:
                mark = Mark(row[1], row[4])
                self.begins.append(Begin(seqno, chain, row[17], why, mark))

    def comes_on(self, link: str, frame: int, sqn: int | None) -> None:
        """Where it is on its link after a message.

        Args:
            sqn: of the message's last packet; null: the link has no numbers.
        """
        if sqn is None:
            self.link, self.last_sqn = link, None
            self.came_on[link] = frame
        elif self.link not in ("", link):
            self.copied_on.add(link)  # a copy on another link does not say where the stream is
        else:
            self.link, self.last_sqn = link, max(self.last_sqn or 0, sqn)

    def leaves_on(self, link: str, first: int, stop: int, before: int) -> None:
        """The observer sends messages on a link: they count once on each that they leave on.

        What TCP carries again its connection's bytes do not show. A TSI shows repairs, which are no
        sending of the daemon's, whichever link a message left on first.

        Args:
            before: how many of them had been sent before, on any link.
        """
        if not link.startswith(TCP):
            fresh = self._left_on.setdefault(link, RangeSet()).add(first, stop)
            before -= stop - first - sum(b - a for a, b in fresh)
        self.copies += before
        self.arrivals += before

    def begins_again(self, message: MessageRun, mark: Mark) -> None:
        """Another message with the first number of a frame: not a copy, its time differs."""
        event, seqno = message.event, message.seqno
        for begin in reversed(self.begins):
            if begin.seqno == seqno:
                other = event.stamp is not None and event.stamp != begin.time_ns
                if other and len(self.again) < MAX_NOTES:
                    self.again.append((seqno, mark))
                return

    def untaken_before(self, number: int) -> int:
        """Messages between the last one that was taken and this one that came while their publisher
        had been dropped."""
        high = self.truth.high
        if not self.ignored or high is None:
            return 0
        return total(self.seen.within(key(high) + 1, key(number)))

    def forget_judgement(self) -> None:
        """Nobody had looked on so far: what came stays, what was made of it does not."""
        self.unwanted = self.ignored = self.false_loss = self.counted = 0
        self.untaken = -1
        self.delivered, self.repeats, self.steps = [], [], []
        self.by_subject.clear()
        self.rows.clear()
        self.truth = Truth()
        self.before_words = True

    def deliver(self, seqno: int, stop: int) -> None:
        """Handed to a subscriber."""
        if self.delivered and self.delivered[-1][1] == seqno:
            self.delivered[-1][1] = stop
        else:
            self.delivered.append([seqno, stop])

    def subject_delivered(self, subject: str, count: int) -> None:
        """Of a GLSNO stream, whose numbers are shared by subjects."""
        self.by_subject[subject] += count

    def began(self, message: MessageRun, why: BeganBy, forgotten_ns: int | None) -> None:
        """A time frame began."""
        event, seqno = message.event, message.seqno
        if len(self.begins) < MAX_FRAMES:
            self.begins.append(
                Begin(seqno, event.conn_id, event.stamp, why, event.first_mark(), forgotten_ns)
            )

    def note(
        self, verdict: Ruling, loss: Loss | None, mark: Mark, came: Mark, *, copy: bool, known: bool
    ) -> None:
        """A step that is not NEXT.

        Args:
            mark: when its message was handed on.
            came: where it came.
            known: the message was captured before, or has no number.
        """
        again = known or self._set_back
        self._set_back = known
        self.counted += verdict.counted
        if verdict.counted and (copy or loss is None):
            self.false_loss += verdict.counted
        if len(self.steps) < MAX_NOTES:
            self.steps.append(ReportedVerdict(verdict, loss, mark, came, copy, again))

    def counts_as_told(self, loss: Loss) -> int:
        """The daemon counted what it tells of a loss, and not what is missing here: by how much
        its counter is higher than the replay's."""
        for place, step in enumerate(self.steps):
            if step.loss is loss:
                more = loss.lower - step.verdict.counted
                verdict = replace(step.verdict, counted=loss.lower)
                self.steps[place] = replace(step, verdict=verdict)
                self.counted += more
                return more
        return 0

    def frames(self) -> list[TimeFrame]:
        """Time frames in order: numbers seen, first and last, chain."""
        found: dict[int, list[list[int]]] = {}
        for first, stop in self.seen:
            low = first
            while low < stop:
                frame = low >> BASE_BITS
                high = min(stop, (frame + 1) << BASE_BITS)
                found.setdefault(frame, []).append([base_of(low), base_of(high - 1)])
                low = high
        return [
            {
                "time_frame": frame,
                "numbers": numbers,
                "chain": self.chains.get(frame),
            }
            for frame, numbers in sorted(found.items())[:MAX_FRAMES]
        ]
