"""One transport counter as its receiver has it: what it accepts, ignores, throws away (zenoh.md 8).

Counters wrap; ``unwrap`` makes their sns plain integers at the entrance. Rows H1 to H17 of
``tests.replay.zenoh.rows``.
"""

import base64
import hashlib
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final, cast

from seqaudit.decoders.contract.zenoh_detail import Detail
from seqaudit.replay.contract.settings import Read
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.notes import Note, Times
from seqaudit.replay.sequence.ranges import RangeSet, total
from seqaudit.replay.sequence.unwrap import unwrap
from seqaudit.replay.zenoh.untaken import UntakenPieces

MAX_GAPS: Final = 10_000
#: A sn above it shows that the counter does not wrap within a capture that anybody can read: with
#: 8 or 16 bits as many frames as the space has numbers may be missing without a trace.
NARROW: Final = 0x3FFF
#: How far apart two sns of one counter may be found, if one of them is its first or next: by chance
#: one in 2,000 is so near (28 bits).
NEAR: Final = 1 << 17
#: Bytes of unfinished messages of one session; what comes beyond stays unread.
MAX_HELD: Final = 16 << 20
#: Before every frame.
EVER: Final = Mark(-1, 0)


@dataclass(frozen=True, slots=True)
class HopGap:
    """Transport sns that the receiver passed over."""

    first: int
    stop: int
    before: Mark | None
    revealed: Mark


@dataclass(slots=True)
class Stretch:
    """Frames [first, stop) of one counter, all captured, each newer by one than the one before.

    Neither the link nor the capture lost a frame of the counter among them. ``begin`` is before
    everything where the first of them is the first that the counter ever had.
    """

    first: int
    stop: int
    begin: Mark
    end: Mark


@dataclass(frozen=True, slots=True)
class Hop:
    """Where a message travelled: its counter, and the unwrapped sn of its frame there."""

    counter: "HopCounter"
    sn: int

    def next_is_lost(self) -> bool:
        """The frame right behind it was passed over, and did not come late."""
        return bool(self.counter.lost.within(self.sn + 1, self.sn + 2))


@dataclass(frozen=True, slots=True)
class AcceptedFrames:
    """What became of a run of frames, as unwrapped sns: [first, stop), accepted from there on."""

    first: int
    stop: int
    accepted_from: int


@dataclass(slots=True)
class UnfinishedBytes:
    """Bytes of unfinished messages that the counters of one engine keep together."""

    size: int = 0


@dataclass(slots=True)
class FragmentedMessage:
    """A fragmented message, whole or in progress.

    Its first piece says what it is, unless the piece is too short; then its bytes are kept until
    they do.

    Attributes:
        begins: its first piece is marked as such.
        accepted: its receiver put it together; otherwise all of it came, some of it too late.
    """

    told: tuple[str, Detail] | None
    begins: bool = True
    accepted: bool = True
    pieces: int = 0
    raw: bytearray | None = None  # null: not needed, or no more room

    def grow(self, detail: Detail, read: Read, held: UnfinishedBytes) -> None:
        """One more piece (H15)."""
        if self.told is not None or self.raw is None or "piece" not in detail:
            return
        piece = base64.b64decode(detail["piece"])
        self.raw += piece
        held.size += len(piece)
        if held.size > MAX_HELD:
            self.drop(held)
            return
        found = read(bytes(self.raw))
        if found is not None:
            self.told = found[0], cast(Detail, found[1])
            self.drop(held)

    def drop(self, held: UnfinishedBytes) -> None:
        """Its bytes are not needed any more."""
        if self.raw is not None:
            held.size -= len(self.raw)
            self.raw = None


def initial_sn(sender: str, receiver: str, mask: int) -> int:
    """The first sn that a node uses towards another: a hash of both zids (zenoh.md 8.1, H16).

    Args:
        sender, receiver: zids as text.
    """
    raw = b"".join(
        number.to_bytes((number.bit_length() + 7) // 8 or 1, "little")
        for number in (int(sender, 16), int(receiver, 16))
    )
    return int.from_bytes(hashlib.shake_128(raw).digest(4), "little") & mask


class HopCounter:
    """One (session, direction, priority, channel).

    Args:
        mask: highest sn.
        initial: the first sn that the sender uses, if a handshake said so.
        patch: 1: fragments say where a message begins (8.5).
        read: reads messages that are put together here.
        held: what all counters of the engine keep.
        since: when its session began, if another one was before.
    """

    def __init__(
        self,
        mask: int,
        initial: int | None,
        patch: int,
        *,
        read: Read,
        held: UnfinishedBytes,
        since: Mark = EVER,
    ) -> None:
        self.since = since
        self._read = read
        self._held = held
        self.mask = mask
        self.initial = initial
        self.known_start = initial is not None
        self.last: int | None = None if initial is None else initial - 1
        self.seen = RangeSet()
        self.frames = 0
        self.network_duplicates = 0
        self.discarded = Times()  # frames thrown away
        self.repeated = 0  # of these: the same sn again
        self.late = Note()  # of these: sns that had been passed over
        self.gaps: list[HopGap] = []
        self.lost = RangeSet()  # passed over, less what is normal
        self.skips = 0  # after final fragments (8.4)
        self.abandoned = Times()  # fragmented messages that stop half way, one sn skipped
        self.broken = Times()  # fragmented messages that lost a piece
        self.unlisted_gaps = 0
        self.first: Mark | None = None
        self.end: Mark | None = None
        self.wide = False  # its numbers show that it has more than 16 bits
        self._stretches: list[Stretch] = []
        self._torn = False  # its last frame was not read to its end
        self._before: Mark | None = None  # the end before the frame that is being taken
        self.taken: AcceptedFrames | None = None
        self._patch = patch
        self._message: FragmentedMessage | None = None
        self._untaken = UntakenPieces()
        self._expected = 0
        #: Pieces pass whose message was counted as broken, or began before the capture.
        self._headless = initial is None
        self._final_at: int | None = None  # sn of a final fragment, if it was the last frame
        self._open_at: int | None = None  # sn of a fragment with more to come, likewise

    def near(self, following: int) -> bool:
        """Whether a sn that its sender says to be its next one may be this counter's."""
        if self.last is None:
            return False
        return abs(unwrap(following & self.mask, self.last + 1, self.mask) - self.last - 1) < NEAR

    @property
    def resolved(self) -> bool:
        """Whether it is known how many bits its numbers have."""
        return self.known_start or self.wide

    def frames_came(
        self, first: int, stop: int, came: Mark, until: Mark, *, copy: bool = False
    ) -> AcceptedFrames:
        """Frames with consecutive sns [first, stop) as on the wire (H1).

        Args:
            copy: the network made them, as their IP ids say.
        """
        taken = self._take(first, stop, came, until, begins=True, copy=copy)
        if taken.accepted_from < taken.stop:
            if self._message is not None:
                self.broken.add(came)
            self._break_off()
            self._headless = False
            self._final_at = self._open_at = None
        return taken

    def fragment_came(
        self, sn: int, came: Mark, detail: Detail, *, said_drop: bool, copy: bool = False
    ) -> tuple[AcceptedFrames, FragmentedMessage | None]:
        """A fragment; the message that it completes, if it does (H8).

        Args:
            copy: as of ``frames_came``.
        """
        begins = bool(detail["first"]) or (self._patch == 0 and self._message is None)
        taken = self._take(sn, sn + 1, came, came, begins=begins, copy=copy)
        if taken.accepted_from >= taken.stop:
            return taken, None if said_drop else self._not_taken(taken.first, detail)
        place, more = taken.first, bool(detail["more"])
        self._final_at = None if more else place
        self._open_at = place if more else None
        complete = self._assemble(place, came, detail, more=more, said_drop=said_drop)
        return taken, complete

    def _assemble(
        self, place: int, came: Mark, detail: Detail, *, more: bool, said_drop: bool
    ) -> FragmentedMessage | None:
        begins = bool(detail["first"]) or (self._patch == 0 and self._message is None)  # H13
        if begins:
            if self._message is not None:
                self.broken.add(came)  # H6
                self._break_off()
            begun = bool(detail["first"])
            self._message = FragmentedMessage(detail.get("message"), begun, raw=bytearray())
        elif self._message is None:
            if not self._headless:  # each run of pieces without a first is a message
                self.broken.add(came)
            self._headless = more
            return None if said_drop else self._not_taken(place, detail)  # H7
        elif place != self._expected:
            self.broken.add(came)  # H9
            self._break_off()
            self._headless = more
            return None if said_drop else self._not_taken(place, detail)
        self._headless = False
        if said_drop:  # H12
            self.abandoned.add(came)
            self._forget()
            return None
        assert self._message is not None
        self._expected = place + 1
        self._message.pieces += 1
        self._message.grow(detail, self._read, self._held)
        if more:
            return None
        complete = self._message
        self._forget()
        return complete

    def _not_taken(self, place: int, detail: Detail) -> FragmentedMessage | None:
        """A piece that makes no message here; the one that came whole with it, if one did."""
        run = self._untaken.add(
            place,
            begins=bool(detail["first"]),
            ends=not detail["more"],
            told=detail.get("message") if detail["first"] else None,
        )
        if run is None or run.told is None:
            return None
        return FragmentedMessage(run.told, accepted=False, pieces=run.stop - run.first)

    def _break_off(self) -> None:
        """What came of a message in progress was in vain; the rest of it may come too late."""
        message = self._message
        self._forget()
        if message is None:
            return
        first = self._expected - message.pieces
        for place in range(first, self._expected):
            begins = place == first and message.begins
            self._untaken.add(
                place, begins=begins, ends=False, told=message.told if begins else None
            )

    def _forget(self) -> None:
        if self._message is not None:
            self._message.drop(self._held)
        self._message = None

    def _take(
        self, first: int, stop: int, came: Mark, until: Mark, *, begins: bool, copy: bool = False
    ) -> AcceptedFrames:
        count = stop - first
        self.frames += count
        self.first = self.first or came
        self._before, self.end = self.end, until
        if self.last is None:  # H5; else the handshake said so: H4
            self.last = first - 1
        self.wide |= first & self.mask > NARROW
        begin = unwrap(first & self.mask, self.last, self.mask)
        if begin > self.last:
            follows = begin == self.last + 1
            if not follows:
                follows = begin == self.last + 2 and self._final_at == self.last
                self._passed_over(self.last + 1, begin, came, begins=begins)
            self._stretch(begin, begin + count, came, until, follows=follows)
            accepted_from = begin
        else:
            accepted_from = min(self.last + 1, begin + count)
            self._not_newer(begin, accepted_from, came, copy=copy)
        end = begin + count
        if accepted_from < end:
            self.last = end - 1
        self.seen.add(begin, end)
        self.taken = AcceptedFrames(begin, end, accepted_from)
        return self.taken

    def _stretch(self, first: int, stop: int, came: Mark, until: Mark, *, follows: bool) -> None:
        follows, self._torn = follows and not self._torn, False
        if follows and self._stretches and self._stretches[-1].stop in (first, first - 1):
            self._stretches[-1].stop, self._stretches[-1].end = stop, until
        elif len(self._stretches) < MAX_GAPS:
            begins = self.known_start and follows and not self._stretches and not self.seen
            self._stretches.append(Stretch(first, stop, self.since if begins else came, until))

    def cut_at(self, frame: int) -> None:
        """What a frame said is cut off, or cannot be read: it may have been anything."""
        if self.end is None or self.end.frame < frame or not self._stretches or self.taken is None:
            return
        last = self._stretches[-1]
        last.stop = min(last.stop, self.taken.first)
        last.end = self._before or EVER
        self._torn = True

    def stretch_of(self, sn: int) -> Stretch | None:
        """The frames without a hole around this one; null if there is none that proves anything."""
        place = bisect_right(self._stretches, sn, key=lambda stretch: stretch.first) - 1
        if place < 0 or not self.wide or self._stretches[place].stop <= sn:
            return None
        return self._stretches[place]

    def stretch_over(self, begin: int, end: int) -> Stretch | None:
        """The frames without a hole from before one job frame to another one or beyond."""
        place = bisect_left(self._stretches, begin, key=lambda stretch: stretch.begin.frame) - 1
        if place < 0 or not self.wide or self._stretches[place].end.frame < end:
            return None
        return self._stretches[place]

    def _passed_over(self, first: int, stop: int, came: Mark, *, begins: bool) -> None:
        """Newer by more than one: what lies between is ignored silently (H2)."""
        if self._final_at == first - 1:  # H10
            first += 1
            self.skips += 1
        elif self._open_at == first - 1 and begins:
            if stop == first + 1:  # H11
                self.abandoned.add(came)
                self._forget()
                first += 1
            else:  # H14
                stop -= 1
                self.skips += 1
        if first >= stop:
            return
        if not self.seen and not self.known_start:
            return
        self.lost.add(first, stop)
        if len(self.gaps) < MAX_GAPS:
            self.gaps.append(HopGap(first, stop, self._before, came))
        else:
            self.unlisted_gaps += 1

    def _not_newer(self, first: int, stop: int, came: Mark, *, copy: bool) -> None:
        """Equal or older: the whole frame is thrown away (H3)."""
        self.discarded.add(came)
        self.discarded.count += stop - first - 1
        for a, b in self.seen.within(first, stop):
            self.repeated += b - a
        late = self.lost.remove(first, stop)
        for a, b in late:
            self.late.add(a, b, came)
        if total(late) < stop - first and not copy:  # of a session whose beginning is not here
            self._torn = True

    def passed_over(self, begin: int, end: int) -> bool:
        """Whether sns were passed over from one job frame to another."""
        place = bisect_left(self.gaps, begin, key=lambda gap: gap.revealed.frame)
        return place < len(self.gaps) and self.gaps[place].revealed.frame <= end

    def threw_away(self, begin: int, end: int) -> bool:
        """Whether frames came in vain from one job frame to another."""
        return any(begin <= mark.frame <= end for mark in self.discarded.marks)
