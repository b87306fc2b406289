"""What the figures of a peer rest on: each ground is one question, and where it cannot
be answered no figure that rests on it is told.

As findings carry ``Rests``, a column of ``show loss`` and what is told beside it carry their
grounds here, and nowhere else; who finds a reason names the ground that it takes away.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class Ground(Enum):
    """What a figure of a peer can rest on."""

    WANTED = auto()  # what the daemon subscribed to, and when
    CAME = auto()  # all that the peer sent came, or was surely lost
    STREAMS = auto()  # so of the streams that are known, one by one
    SHOWN = auto()  # of each stream of it that the daemon had a message is here
    BOUNDED = auto()  # so of each that it may have missed
    TAKEN = auto()  # whether the daemon took it for a peer when its messages came
    DROPPED = auto()  # whether it did in the end, and since when it did not
    READ = auto()  # the daemon ran, and read what had come
    WENT_ON = auto()  # behind what it gave up as well
    COUNTED = auto()  # what its window made of copies, of old messages, of those without a number
    ROUTED = auto()  # whether it passed on what its own clients did not want
    ECHOED = auto()  # whether it hears what it forwards
    NUMBERED = auto()  # the numbers of point-to-point messages, and on which link they came


_COUNTER: Final = frozenset((Ground.WANTED, Ground.TAKEN, Ground.READ, Ground.WENT_ON))
_SUM: Final = frozenset((Ground.STREAMS, Ground.READ))

#: Figures of a row of ``show loss``, those beside its columns as well, and their grounds.
FIGURES: Final[Mapping[str, frozenset[Ground]]] = {
    "null_rte": _COUNTER | {Ground.CAME, Ground.ROUTED},
    "repeat": _COUNTER | {Ground.CAME, Ground.COUNTED, Ground.ECHOED},
    "not_sub": _COUNTER | {Ground.CAME},
    "msg_loss": _COUNTER | {Ground.STREAMS, Ground.SHOWN, Ground.COUNTED},
    "ibx_loss": frozenset((Ground.TAKEN, Ground.READ, Ground.NUMBERED)),
    "lost": _SUM,
    "lost_upper": frozenset((Ground.BOUNDED,)),
    "false_loss": _SUM | {Ground.SHOWN, Ground.WENT_ON, Ground.COUNTED},
    "dropped_ns": frozenset((Ground.DROPPED,)),
}
#: What the daemon had of all that the peer sent.
HAD: Final = (Ground.CAME, Ground.STREAMS)


@dataclass(frozen=True, slots=True)
class Unsure:
    """A reason for which nobody can tell, and the grounds that it takes away.

    Attributes:
        why: in words.
        since: behind which frame; a counter that grew last before it is told.
    """

    why: str
    grounds: tuple[Ground, ...]
    since: int = -1

    def takes(self, figure: str) -> bool:
        """Does the figure rest on one of them?"""
        return not FIGURES[figure].isdisjoint(self.grounds)


def unknown(reasons: Iterable[Unsure], grew: Mapping[str, int]) -> dict[str, str]:
    """Figures that cannot be told, each with the last reason that holds for it.

    Args:
        grew: the frame in which a counter grew last, -1 if it did not.
    """
    return dict(_taken(reasons, grew))


def _taken(reasons: Iterable[Unsure], grew: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for reason in reasons:
        for figure in FIGURES:
            if reason.takes(figure) and grew.get(figure, -1) >= reason.since:
                yield figure, reason.why
