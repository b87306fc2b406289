"""Losses of a peer that the observer tells it in its pings (raims.md 10.3).

What clients of a service lost of a publisher the next ping to it says, and the pong repeats it;
until that has come the next ping says it again, with what was lost since. So the pings add up to
what the daemon has counted at least: losses that no client of a numeric service shows are in none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from seqaudit.replay.raims.notices import SENT_NS, Due
from seqaudit.replay.sequence.gaps import Mark

MAX_PINGS: Final = 10_000

#: A service, and whether the losses are of unknown size: each of these counts 1.
_Kind = tuple[int, bool]


@dataclass(slots=True)
class _LostOfKind:
    """Losses of one kind.

    Attributes:
        open: told, and not repeated by a pong yet.
        repeated: those that were.
        first: what the first ping told, which may be from before the capture.
    """

    first: int
    open: int = 0
    repeated: int = 0


class PingedSoFar(NamedTuple):
    """What pings have told so far, at least, and of that what may be from before the capture."""

    mark: Mark
    lost: int
    earlier: int


@dataclass(slots=True)
class PingedLosses:
    """Of one peer."""

    told: list[PingedSoFar] = field(default_factory=list)
    _kinds: dict[_Kind, _LostOfKind] = field(default_factory=dict)
    _last: int = 0  # number of the last ping

    def pings(self, number: int | None, detail: Mapping[str, object], mark: Mark) -> None:
        """The observer's ping to the peer; one that is sent again has its number."""
        if number is None or number <= self._last:
            return
        self._last = number
        found = _losses_in(detail)
        if found is None:
            return
        kind, lost = found
        one = self._kinds.setdefault(kind, _LostOfKind(lost))
        one.open = max(one.open, lost)
        if len(self.told) < MAX_PINGS:
            kinds = self._kinds.values()
            so_far = sum(x.repeated + x.open for x in kinds)
            self.told.append(PingedSoFar(mark, so_far, sum(x.first for x in kinds)))

    def pongs(self, detail: Mapping[str, object]) -> None:
        """The peer's answer, which repeats what it was told: of that nothing is told again."""
        found = _losses_in(detail)
        one = None if found is None else self._kinds.get(found[0])
        if one is not None and found is not None:
            done = min(one.open, found[1])
            one.open -= done
            one.repeated += done

    def exceed(self, dues: list[Due], count: int, *, from_before: bool) -> bool:
        """Do they tell of more than the replay had counted when they were sent?

        Args:
            dues: losses of this peer that the replay has, in their order.
            count: all that it has counted of it.
            from_before: the daemon ran before the capture, and may tell of losses from then.
        """
        place = by_then = 0
        for counted in self.told:
            while place < len(dues) and dues[place].mark.at_ns <= counted.mark.at_ns + SENT_NS:
                by_then = dues[place].total
                place += 1
            lost = counted.lost - (counted.earlier if from_before else 0)
            if lost > (count if place == len(dues) else by_then):
                return True
        return False


def _losses_in(detail: Mapping[str, object]) -> tuple[_Kind, int] | None:
    service, lost = detail.get("idl_service"), detail.get("idl_msg_loss")
    if type(service) is not int or type(lost) is not int:
        return None
    return (service, bool(detail.get("idl_restart"))), lost
