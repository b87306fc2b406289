"""Loss notices between daemons: those captured, and those that must have been sent (raims.md 10.3).

raims-10.1: a receiver that skips tells the publisher, if the loss before from that peer is 10 s or
longer ago, and always the first time. raims-10.2: the notice has the count of this event, the total
of the peer, and says ``idl_restart`` only if all losses since the last notice were of unknown size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.seqno import key
from seqaudit.replay.sequence.gaps import Mark

QUIET_NS: Final = 10_000_000_000
#: Two notices so close together are not throttled, less what two clocks may differ by.
THROTTLED_NS: Final = QUIET_NS - 100_000_000
#: A daemon sends its notice at once; within this time at the latest it is in the capture.
SENT_NS: Final = 1_000_000_000
MAX_LOSSES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Notice:
    """A loss notice as it was captured.

    Attributes:
        receiver: the daemon that reports; of what ``publisher`` sent.
        seqno: of the message behind the gap.
    """

    receiver: str
    publisher: str | None
    subject: str | None
    count: int | None
    restart: bool
    total: int | None
    seqno: int | None
    mark: Mark

    @staticmethod
    def of(event: Event, detail: Mapping[str, object]) -> "Notice":
        """The notice that a row tells."""
        lost, reference, total = (
            detail.get(name) for name in ("idl_msg_loss", "ref_seqno", "ms_tot")
        )
        return Notice(
            str(event.source),
            event.destination,
            str(detail["subject"]) if "subject" in detail else None,
            lost if isinstance(lost, int) else None,
            bool(detail.get("idl_restart")),
            total if isinstance(total, int) else None,
            reference if isinstance(reference, int) else None,
            event.first_mark(),
        )


@dataclass(slots=True)
class Due:
    """A loss of a peer's message, and whether it had to be told at once.

    Attributes:
        count: null where it is not known; raims then counts 1.
        total: all that raims has counted of this peer by then.
        restart: no loss since the last notice had a known size.
    """

    publisher: str
    subject: str
    count: int | None
    total: int
    seqno: int
    mark: Mark
    at_once: bool
    restart: bool


class Notices:
    """What an observer must have told its peers."""

    def __init__(self) -> None:
        self.losses: list[Due] = []
        self.unlisted = 0
        self.last_told: dict[str, tuple[str, Mark]] = {}  # any point-to-point message: its link
        self._last_ns: dict[str, int] = {}
        self._known: dict[str, bool] = {}  # a loss of known size since the last notice
        self._by_seqno: dict[tuple[str, str, int], Due] = {}

    def told(self, peer: str, link: str, mark: Mark) -> None:
        """A point-to-point message of the observer to a peer was captured."""
        self.last_told[peer] = link, mark

    def lost(
        self, publisher: str, subject: str, count: int | None, total: int, seqno: int, mark: Mark
    ) -> None:
        """The window skipped to a message."""
        before = self._last_ns.get(publisher)
        at_once = before is None or mark.at_ns - before >= QUIET_NS  # raims-10.1
        self._last_ns[publisher] = mark.at_ns
        known = self._known.get(publisher, False) or count is not None
        self._known[publisher] = known and not at_once
        if len(self.losses) < MAX_LOSSES:
            due = Due(publisher, subject, count, total, seqno, mark, at_once, not known)
            self.losses.append(due)
            self._by_seqno.setdefault((publisher, subject, key(seqno)), due)
        else:
            self.unlisted += 1

    def forget(self, publisher: str, seqno: int) -> None:
        """It was no loss."""
        self.losses = [d for d in self.losses if (d.publisher, d.seqno) != (publisher, seqno)]

    def of(self, notice: Notice) -> Due | None:
        """The loss that a captured notice is about; null: the replay has none."""
        if notice.publisher is None or notice.subject is None or notice.seqno is None:
            return None
        return self._by_seqno.get((notice.publisher, notice.subject, key(notice.seqno)))

    def missing(self, notices: list[Notice]) -> list[Due]:
        """Losses that had to be told at once, and of which no notice was captured."""
        sent = {(n.publisher, key(n.seqno)) for n in notices if n.seqno is not None}
        return [
            due
            for due in self.losses
            if due.at_once and (due.publisher, key(due.seqno)) not in sent
        ]


def wrong(notice: Notice, due: Due) -> str | None:
    """How a notice differs from the replay; null: it does not (raims-10.2)."""
    count = 1 if due.count is None else due.count
    if notice.count is not None and notice.count != count:
        return f"{notice.count} lost, and the replay counts {count}"
    if notice.total is not None and notice.total != due.total:
        return f"{notice.total} lost in all, and the replay counts {due.total}"
    if notice.restart != due.restart:
        told, meant = ("unknown", "known") if notice.restart else ("known", "unknown")
        return f"a loss of {told} size, and the replay one of {meant} size"
    return None
