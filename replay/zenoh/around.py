"""What a subscriber asks its session for."""

from typing import Protocol, TypeVar

from seqaudit.replay.sequence.gaps import Gap
from seqaudit.replay.zenoh.causes import Why
from seqaudit.replay.zenoh.handed import Signs
from seqaudit.replay.zenoh.query import Miss

#: The subscriber.
Asks = TypeVar("Asks", contravariant=True)


class Around(Protocol[Asks]):
    """What the session says of one subscriber and source."""

    def signs(self) -> Signs:
        """What its node says."""

    def kept(self) -> bool:
        """A token keeps what is known of the idle source."""

    def cached(self) -> bool | None:
        """A cache of the source is declared, or has answered; null: its node is not told of caches,
        or may have been. Where there is none no query of it is sent: it ends at once, and what is
        missing is missed."""

    def asks_from(self, since: int) -> int | None:
        """The job frame of the declaration that it, which lives since then, asks for what it
        misses; null: none is its."""

    def asked_from(self, since: int) -> int | None:
        """The job frame in which it, which lives since then, first asked for what it misses of any
        source; null: in none."""

    def in_hole(self, gap: Gap) -> int:
        """Bytes of the way of the samples that are missing where a gap is, and are no loss."""

    def why(self, who: Asks, miss: Miss) -> list[Why]:
        """Why samples did not come back, each, in order."""
