"""The publisher window of one daemon: what its next seqno of a subject must be (raims.md 8).

Every message of the publisher that passes is compared with the rule; a frame that begins says why:
the subject is new, its frame is old, the base wrapped, or the window had forgotten it.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from seqaudit.replay.raims.rotation import Rotation, RotationSettings
from seqaudit.replay.raims.seqno import (
    BASES,
    base_of,
    first_seqno,
    frame_of,
    frame_of_time,
    key,
    start_of,
)


class BeganBy(StrEnum):
    """Why a frame began; raims-8.1 to raims-8.4."""

    CONTINUED = "continues"
    NEW = "new subject"
    RESTARTED = "the publisher has restarted"
    AGE = "frame older than pub_window_time"
    WRAP = "number wrapped"
    CONVERGED = "the network has converged since"
    ROTATED = "rotated out of the publisher window"
    UNEXPLAINED = "not explained"
    OVERDUE = "frame went on although older than pub_window_time"
    UNKNOWN = "began before the capture, or messages of it are missing"


@dataclass(slots=True)
class Published:
    """What the publisher remembers of a subject."""

    last: int
    at_ns: int


def next_seqno(
    last: int | None,
    now_ns: int,
    window_ns: int,
    *,
    ages: bool = True,
    converged_ns: int | None = None,
) -> tuple[int, int | None, BeganBy]:
    """(seqno, chain, why) of the next publish at coarse time ``now`` (raims.md 8).

    Args:
        last: the subject's last seqno; null where the window does not know the subject.
        ages: false before April 2024: a frame ends with a convergence of the network, not by age.
    """
    if last is None:
        return first_seqno(now_ns), None, BeganBy.NEW  # raims-8.1
    if ages and frame_of(last) <= frame_of_time(now_ns - window_ns):
        return first_seqno(now_ns), last, BeganBy.AGE  # raims-8.2
    if not ages and converged_ns is not None and key(last + 1) <= key(first_seqno(converged_ns)):
        return first_seqno(now_ns), last, BeganBy.CONVERGED  # raims-14.1-publisher
    if (base_of(last) + 1) % BASES == 0:
        return first_seqno(now_ns), last, BeganBy.WRAP  # raims-8.3
    return last + 1, None, BeganBy.CONTINUED  # raims-8.4


class PublisherWindow:
    """One publisher; ``rotation`` is public for what it says of memory.

    Args:
        settings: of its rotations; two tables.
        start_ns: when the daemon started.
        complete: its first message is in the capture.
        restarted: another start of the same daemon was captured before.
        ages: see ``next_seqno``.
    """

    def __init__(
        self, settings: RotationSettings, start_ns: int, *, complete: bool, restarted: bool = False,
        ages: bool = True,
    ) -> None:  # fmt: skip
        self.rotation: Rotation[Published] = Rotation(settings, start_ns, older=1)
        self.why: Counter[BeganBy] = Counter()  # but those that CONTINUED
        self._window_ns = settings.interval_ns
        self._complete = complete
        self._restarted = restarted
        self._ages = ages
        self._ever: dict[str, int] = {}
        self.over_ns = -1  # pub_window_time is more than this: a message went on in its frame
        self.within_ns: int | None = None  # and no more than this: a frame ended by its age

    @property
    def one_time_fits(self) -> bool:
        """Is there a pub_window_time that explains every frame that went on or was ended?"""
        return self.within_ns is None or self.over_ns < self.within_ns

    def _ages_by(self, seqno: int, chain: int | None, now_ns: int) -> None:
        """What a message says of pub_window_time, whatever else is captured: its frame goes on as
        long as it is younger than that, and else the chain names one that is not (raims-8.2)."""
        if not self._ages:
            return
        if base_of(seqno) > 1:
            self.over_ns = max(self.over_ns, now_ns - start_of(seqno))
        elif chain is not None and (base_of(chain) + 1) % BASES:
            age_ns = now_ns - start_of(chain)
            self.within_ns = age_ns if self.within_ns is None else min(self.within_ns, age_ns)

    def published(
        self, subject: str, seqno: int, stop: int, chain: int | None, now_ns: int,
        converged_ns: int | None = None,
    ) -> BeganBy:  # fmt: skip
        """Messages [seqno, stop) of a subject, the first at coarse time ``now_ns``; why a frame
        began with them."""
        self._ages_by(seqno, chain, now_ns)
        before = self._ever.get(subject)
        known = self.rotation.find(subject, now_ns)
        # A chain says what the publisher knew, which goes before what the replay has of its window.
        last = chain if chain is not None else None if known is None else known.last
        _, _, why = next_seqno(
            last, now_ns, self._window_ns, ages=self._ages, converged_ns=converged_ns
        )
        found = self._judge(seqno, chain, before, known, why)
        self._ever[subject] = stop - 1
        if known is None:
            self.rotation.add(subject, Published(stop - 1, now_ns), now_ns)
        else:
            known.last, known.at_ns = stop - 1, now_ns
        if found is not BeganBy.CONTINUED:
            self.why[found] += 1
        return found

    def goes_on(
        self, subject: str, seqno: int, stop: int, chain: int | None, now_ns: int
    ) -> BeganBy | None:
        """``published`` where it says CONTINUED, or AGE of a chained frame; else null, and nothing
        has happened.

        Args:
            seqno, stop: positive, not the number 0 of a frame.
        """
        if not self._ages or self._ever.get(subject) != (seqno - 1 if chain is None else chain):
            return None
        known = self.rotation.current(subject, now_ns)
        if known is None:
            return None
        old = frame_of(known.last) <= frame_of_time(now_ns - self._window_ns)
        if old == (chain is None) or (base_of(seqno) == 1) == (chain is None):
            return None
        self._ages_by(seqno, chain, now_ns)
        self._ever[subject] = known.last = stop - 1
        known.at_ns = now_ns
        if chain is None:
            return BeganBy.CONTINUED
        self.why[BeganBy.AGE] += 1
        return BeganBy.AGE

    def _judge(
        self,
        seqno: int,
        chain: int | None,
        before: int | None,
        known: Published | None,
        why: BeganBy,
    ) -> BeganBy:
        if base_of(seqno) != 1:
            if before is None or seqno != before + 1:
                return BeganBy.UNKNOWN
            return BeganBy.OVERDUE if why is BeganBy.AGE else BeganBy.CONTINUED
        if chain is not None:
            if before is None or chain != before:
                return BeganBy.UNKNOWN
            return (
                why
                if why in (BeganBy.AGE, BeganBy.WRAP, BeganBy.CONVERGED)
                else BeganBy.UNEXPLAINED
            )
        if before is None:
            if not self._complete:
                return BeganBy.UNKNOWN
            return BeganBy.RESTARTED if self._restarted else BeganBy.NEW
        # no chain: the publisher had no entry, so the window has forgotten the subject
        if known is None:
            return BeganBy.ROTATED
        return BeganBy.ROTATED if self.rotation.rotation_count >= 2 else BeganBy.UNEXPLAINED
