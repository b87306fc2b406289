"""Messages in pieces on one link each (raims.md 2)."""

from dataclasses import dataclass
from typing import Final

from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.link_table import LinkTable, link_of
from seqaudit.replay.raims.missing import Missing
from seqaudit.replay.sequence.gaps import Mark

MAX_INCOMPLETE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A message in pieces before whose end another one began.

    Attributes:
        missing: what did not come on the link in between.
    """

    publisher: str
    subject: str | None
    mark: Mark
    next: Mark
    missing: Missing


@dataclass(slots=True)
class _Begun:
    """A message of which pieces are still to come.

    Attributes:
        first: its first piece.
        have, total: bytes.
    """

    first: Event
    have: int
    total: int
    digest: object


class Pieces:
    """Puts messages together again, link by link."""

    def __init__(self, links: LinkTable) -> None:
        self._links = links
        self._begun: dict[str, _Begun] = {}
        self.incomplete: list[Incomplete] = []

    def __len__(self) -> int:
        """Messages that are not complete yet."""
        return len(self._begun)

    def begin(self, event: Event) -> None:
        """The first piece of a message; one that was not complete on this link never will be."""
        name = link_of(event)
        before = self._begun.pop(name, None)
        if before is not None and len(self.incomplete) < MAX_INCOMPLETE:
            one = before.first
            self.incomplete.append(
                Incomplete(
                    str(one.source), one.destination, one.first_mark(), event.first_mark(),
                    self._links.between(name, one.fresh_id, event.fresh_id),
                )
            )  # fmt: skip
        detail = event.details()
        self._begun[name] = _Begun(
            event, int(detail.get("piece", 0)), int(detail.get("total", 0)), detail.get("hash")
        )

    def goes_on(self, event: Event) -> Event | None:
        """Another piece; the message's first one if this completes it. Pieces must come in
        order."""
        name = link_of(event)
        begun = self._begun.get(name)
        detail = event.details()
        if begun is None or begun.have != detail.get("offset"):
            return None
        if begun.digest != detail.get("hash"):  # of another message
            return None
        begun.have += int(detail.get("piece", 0))
        if begun.have < begun.total:
            return None
        del self._begun[name]
        return begun.first
