"""What really was lost of one publisher's stream at one observer, beside what raims counts.

raims forgets, goes back on late copies, counts 1 for an unknown number and nothing for a whole
frame (raims.md 9, notes). Here the highest number ever seen is kept, and every step above it is a
``Loss`` with a lower and an upper bound and how they are known.
"""

from dataclasses import dataclass
from typing import Final

from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.raims.missing import Missing
from seqaudit.replay.raims.report_rows import LossRow
from seqaudit.replay.raims.seqno import base_of, frame_of, key
from seqaudit.replay.raims.subscriber import MAX_LOSS, Status, decide
from seqaudit.replay.sequence.gaps import Mark

MAX_LOSSES: Final = 1000

BY_NUMBERS: Final = "consecutive numbers of one frame"
BY_CHAIN: Final = "chain_seqno"
BY_CHAIN_FRAME: Final = "chain_seqno in a frame of which nothing was seen"
BY_BASE: Final = "the number in the new frame; what was before it is not known"
#: The daemon itself said so: no other capture knows better what it had.
BY_NOTICE: Final = "the daemon's own notice"
BY_SQNS: Final = "PGM sqns"
BY_NOTHING: Final = "numbering restarted, loss not decidable"
BY_CONSOLE: Final = "PGM sqns that may have held messages without a number, as of a console"
BY_CONNECTION: Final = "a connection that ended behind the last message"
BY_RESTART: Final = "packets that were missing when the daemon ended"
BY_END: Final = "PGM sqns missing behind the last message"
BY_BEGIN: Final = "PGM sqns missing before the first message"


@dataclass(slots=True)
class Loss:
    """One step over messages that did not come.

    Attributes:
        after, before: the seqnos on both sides; ``before`` is null at the end of the capture.
        upper: null where nothing bounds it.
        missing_sqns: PGM sqns of the link that did not come in between; null: no PGM, not known.
        missing: what of the link did not come in between, and how sure it is that it was lost.
        told: where the daemon itself tells their publisher of them; null: no such notice.
        last: where the stream's last message before came; null: not known.
        chain: ``chain_seqno`` of the message behind it; null: it has none.
        untaken: messages in between that came while their publisher had been dropped: no packet of
            theirs is missing, and the daemon has none of them.
    """

    after: int | None
    before: int | None
    lower: int
    upper: int | None
    known_by: str
    mark: Mark
    missing_sqns: int | None = None
    chained: bool = False
    missing: Missing | None = None
    told: Mark | None = None
    last: Mark | None = None
    chain: int | None = None
    untaken: int = 0

    @property
    def some_may_have_come(self) -> bool:
        """Does the daemon's notice alone say that there is a loss, as part of what the capture
        lacks in between may have come? Then nobody else knows how much it lost."""
        whole = self.missing is not None and self.missing.certainty is Certainty.PROVEN
        here = self.untaken > 0 and self.missing is not None and not self.missing.count
        return self.told is not None and not (whole or here)

    @property
    def leaves_others(self) -> bool:
        """Does the daemon's notice leave messages in between that it had, or may have had?"""
        return self.known_by == BY_NOTICE or (self.some_may_have_come and self.lower != self.upper)

    def row(self) -> LossRow:
        return {
            "after": self.after,
            "before": self.before,
            "lower": self.lower,
            "upper": self.upper,
            "known_by": self.known_by,
            "missing_sqns": self.missing_sqns,
            "untaken": self.untaken,
            "some_may_have_come": self.some_may_have_come,
            "frame": self.mark.frame,
            "at_ns": self.mark.at_ns,
        }


class Truth:
    """The highest number seen of one stream, and the losses below it."""

    def __init__(self) -> None:
        self.high: int | None = None
        self.losses: list[Loss] = []
        self.lower = 0
        self._upper = 0
        self._unbounded = 0  # losses without an upper bound
        self.unlisted = 0
        self.copies = 0  # messages at or below the highest

    @property
    def upper(self) -> int | None:
        """The most that was lost; null where nothing bounds it."""
        return None if self._unbounded else self._upper

    def step(
        self, seqno: int, stop: int, chain: int | None, missing: Missing | None, room: int,
        mark: Mark, last: Mark | None = None, untaken: int = 0,
    ) -> Loss | None:  # fmt: skip
        """Messages [seqno, stop) came; the loss before them, if there may be one.

        Args:
            missing: what did not come on the link since the last message of this stream; null:
                nobody knows.
            room: messages of this stream that one PGM packet can hold at most.
            last: where the stream's message before came.
            untaken: as the loss has it.
        """
        if base_of(seqno) == 0:
            return None  # a console publish has no number
        high = self.high
        if high is None:
            self.high = stop - 1
            return None
        if key(seqno) <= key(high):
            covered = min(key(stop - 1), key(high)) - key(seqno) + 1
            self.copies += covered
            if key(stop - 1) > key(high):
                self.high = stop - 1
            return None
        verdict = decide(seqno, high, 0 if chain is None else chain)
        self.high = stop - 1
        missing_sqns = None if missing is None or missing.sure is not None else missing.count
        loss: Loss | None = None
        if verdict.row in ("raims-9.7", "raims-9.10") and verdict.counted:
            exact = key(seqno) - key(high) - 1
            by = BY_NUMBERS
            if verdict.row == "raims-9.10":
                exact = key(chain or 0) - key(high) + base_of(seqno) - 1
                by = BY_CHAIN
            loss = Loss(high, seqno, exact, exact, by, mark, missing_sqns, chained=True)
        elif verdict.row == "raims-9.11" and chain:
            # all of the chain's frame, and an unknown rest of the frames before it
            least = max(1, base_of(chain)) if frame_of(chain) != frame_of(high) else 1
            loss = Loss(high, seqno, least, None, BY_CHAIN_FRAME, mark, missing_sqns, chained=True)
        elif verdict.row == "raims-9.11":
            loss = Loss(high, seqno, 0, None, BY_NOTHING, mark, missing_sqns)
        elif verdict.row == "raims-9.12":
            loss = Loss(high, seqno, base_of(seqno) - 1, None, BY_BASE, mark, missing_sqns)
        if loss is None or verdict.status is Status.NEXT:
            return None
        loss.missing, loss.last, loss.chain = missing, last, chain or None
        loss.untaken = untaken
        if loss.upper is None and missing_sqns is not None:
            loss.upper = max(loss.lower, missing_sqns * room + untaken)
            if not loss.upper:
                loss.known_by = BY_SQNS
        self.add(loss)
        return loss

    def tell(self, before: int, count: int | None, mark: Mark) -> Loss | None:
        """The daemon says that it lost so many before this number; null: it does not know.

        They are the last ones before it, or those up to the one that its chain names (rows 7 and
        10): what is missing here below them it had. The loss that is made smaller by that, if any.
        """
        for loss in self.losses:
            if loss.before != before or loss.told is not None:
                continue
            after = None if count is None else _had_up_to(loss, count)
            if self.copies and (count is None or after is not None):
                continue  # a late copy had set the daemon's number back
            if count is None and loss.known_by in (BY_NUMBERS, BY_CHAIN):
                continue
            loss.told = mark
            if loss.known_by == BY_BASE and count is not None and (count == 1 or after is None):
                # perhaps one of an unknown number: at least the one right before it
                self._take(loss, -1)
                loss.lower, loss.known_by = 1, BY_NOTICE
                self._take(loss, 1)
                continue
            if count is None or after is None:
                continue
            self._take(loss, -1)
            loss.after, loss.known_by = after, BY_NOTICE
            loss.lower = loss.upper = count
            self._take(loss, 1)
            return loss
        return None

    def add(self, loss: Loss) -> None:
        """Count a loss, and keep it while there are few."""
        self._take(loss, 1)
        if loss.upper == 0:
            return
        if len(self.losses) < MAX_LOSSES:
            self.losses.append(loss)
        else:
            self.unlisted += 1

    def _take(self, loss: Loss, times: int) -> None:
        self.lower += times * loss.lower
        self._upper += times * (loss.upper or 0)
        self._unbounded += times * (loss.upper is None)


def _had_up_to(loss: Loss, count: int) -> int | None:
    """The last number before a loss that the daemon had, where it lost so many and more are missing
    here; null: none are, or the count is not of numbers that are known (raims-9.7, raims-9.10)."""
    if loss.after is None or loss.before is None or not 0 < count < MAX_LOSS:
        return None
    if loss.known_by == BY_NUMBERS or (loss.known_by == BY_BASE and not loss.chain):
        last = loss.before - 1
    elif loss.known_by in (BY_CHAIN, BY_CHAIN_FRAME) and loss.chain and base_of(loss.before) == 1:
        last = loss.chain
    else:
        return None
    after = last - count
    return after if base_of(last) > count and key(after) > key(loss.after) else None
