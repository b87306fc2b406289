"""The numbered changes of a daemon's subscriptions, as far as the capture knows them (raims.md 6).

Each is numbered, and other words of the daemon state the number of the last one. They are known up
to the last word that says that none is missing; behind it they are as long as nothing of what the
daemon sends is (``LinkTable.lacks_own``).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.subscriber import framed
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark

#: Words that state the sender's own number; in others it is that of the daemon they are about.
STATING: Final = ("HELO", "HB", "AUTH", "PING")
#: Within this time of its start a daemon says its first word.
STARTING_NS: Final = 1_000_000_000
#: What a daemon has subscribed to for itself when it says its first word (captures).
OWN_CHANGES: Final = 1
#: So long after its subscriptions have changed a daemon says so (late join: 7 ms).
TELLING_NS: Final = 15_000_000
#: Steps of the numbers that are kept.
MAX_UNSEEN: Final = 200
#: Changes whose times are kept.
MAX_CHANGES: Final = 10_000


class SubscriptionChange(NamedTuple):
    """One that was told.

    Attributes:
        pattern: of the subjects that it is about.
        made_ns: no sooner than behind this was it made: a message from behind it may have come on
            either side, whatever the capture's clock did.
    """

    mark: Mark
    pattern: str
    made_ns: int


class UnseenChanges(NamedTuple):
    """A step of the numbers.

    Attributes:
        last: the highest that is known before it.
        before, now: how many there were before the word that shows it, and are with it.
    """

    mark: Mark
    last: int
    before: int
    now: int

    def __str__(self) -> str:
        return f"{self.last} \u2192 {self.now}"


class Changes:
    """Of one start of the observing daemon.

    Attributes:
        earlier: how many were made before the first word that numbers them; null: none does.
        made: those that were told.
        unseen: where the numbers step.
        known_until: the last word by which all of them are known.
    """

    def __init__(self) -> None:
        self.earlier: int | None = None
        self.made: list[SubscriptionChange] = []
        self.unseen: list[UnseenChanges] = []
        self.known_until = Mark(-1, -1)
        self._last: int | None = None

    @property
    def unseen_count(self) -> int:
        """Those that were made while the capture ran and are not in it."""
        return sum(step.before - step.last for step in self.unseen)

    def hears(self, event: Event, detail: Mapping[str, object], elapsed: Elapsed) -> None:
        """A word of the daemon itself."""
        if event.kind is Kind.SUBSCRIBE:
            of = detail.get("subject") or detail.get("pattern")
            if len(self.made) < MAX_CHANGES:
                mark = event.first_mark()
                self.made.append(
                    SubscriptionChange(mark, str(of or ">"), elapsed.just_before(mark, TELLING_NS))
                )
            if event.seqno is not None and of is not None:
                self._fills(event.seqno)
                self._counts(event, event.seqno - 1, event.seqno)
            elif event.seqno is not None:  # of what, is not in this capture
                self._counts(event, event.seqno, event.seqno)
            return
        stated, uptime_ns = detail.get("sub_seqno"), detail.get("uptime")
        if event.wire_kind not in STATING or not isinstance(stated, int):
            return
        if (
            self.earlier is None
            and stated <= OWN_CHANGES
            and isinstance(uptime_ns, int)
            and uptime_ns < STARTING_NS
        ):
            self.earlier, self._last = 0, stated
        self._counts(event, stated, stated)

    def _fills(self, number: int) -> None:
        """A change is captured behind a later one: it is none of those that are not."""
        for place, step in enumerate(self.unseen):
            if step.last < number <= step.before:
                parts = step._replace(before=number - 1, now=number), step._replace(last=number)
                self.unseen[place : place + 1] = [x for x in parts if x.last < x.before]
                return

    def _counts(self, event: Event, before: int, now: int) -> None:
        """Its words say how many there were before one, and are now."""
        if self._last is None or self.earlier is None:
            self.earlier = self._last = max(before, 0)
        if before > self._last and len(self.unseen) < MAX_UNSEEN:
            self.unseen.append(UnseenChanges(event.first_mark(), self._last, before, now))
        elif now >= self._last and not self.unseen:
            self.known_until = event.last_mark()
        self._last = max(self._last, now)

    def told_of(self, subjects: Iterable[str]) -> Iterator[SubscriptionChange]:
        """Those that one of some subjects may match."""
        return (change for change in self.made
                if any(framed(change.pattern, subject) for subject in subjects))  # fmt: skip

    def knows(self, mark: Mark, *, whole: bool) -> bool:
        """Are all that were made by then known? One may have been made right behind a word.

        Args:
            whole: nothing that the daemon sent behind ``known_until`` is missing in the capture.
        """
        until = self.known_until
        return (whole and not self.unseen) or (
            mark.frame <= until.frame and mark.at_ns <= until.at_ns
        )
