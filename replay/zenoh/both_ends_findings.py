"""What the report says of sessions whose two ends were both captured."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from seqaudit.replay.contract.engine import MetEnds
from seqaudit.replay.contract.passage_rows import MISSING, TOO_MUCH, UNSENT, ends_row, passage
from seqaudit.replay.contract.results import PathDetail
from seqaudit.replay.zenoh.both_ends import (
    FRAMES,
    SAMPLES,
    WORDS,
    ArrivedOnWay,
    MetWay,
    SessionEnds,
    Way,
    address,
    clocks_of,
    passed,
    together,
)
from seqaudit.replay.zenoh.certificates import had
from seqaudit.replay.zenoh.engine import ZenohEngine

SYSTEM: Final = "zenoh"
#: Why nobody can tell how many of those that did not come the path lost.
BY_TCP: Final = (
    "TCP brings whatever it loses again: what one capture lacks was cut off with the connection, "
    "or not captured"
)
CUT: Final = "frames of the session are cut off or could not be read"
AGAIN: Final = "the numbers of its frames come again within the capture"


class ZenohEnds(SessionEnds):
    """What a capture says of a session together with those at its other ends.

    Args:
        conversation: of the session: system, carrier, endpoints; of a group there is one.
    """

    def __init__(self, capture: int, conversation: str, local: str) -> None:
        super().__init__(capture, local)
        _, carrier, *endpoints = conversation.split("|")
        self._tcp = carrier == "tcp"
        self._grouped = len(endpoints) == 1

    def over(self, engine: ZenohEngine) -> "ZenohEnds | None":
        """With what the engine knows of a conversation that is over; null: it is not zenoh."""
        if not engine.recognition.shown:
            return None
        named = {at: end.zid for at, end in engine.link.ends.items() if end.zid is not None}
        self.nodes.update(named)
        self.hidden.update(_hidden(engine))
        return self

    def sent(self) -> Iterator[str]:
        return (">".join(way) for way in sorted(self.seen) if address(way.sender) == self.local)

    def met(self, stream: str, there: SessionEnds) -> MetEnds | None:
        sender, _, receiver = stream.partition(">")
        way = Way(sender, receiver)
        receives = self._grouped or address(receiver) == there.local
        if there.local == self.local or not receives or not together(way, self, there):
            return None
        met = MetWay(way, self, there)
        clocks = clocks_of(met)
        came = passed(met, clocks)
        if FRAMES not in came.kinds:
            return None
        assert self.first is not None, "it holds frames"
        path = list(_path(met, came, tcp=self._tcp))
        row = ends_row(
            _node(met, sender), _receiver(met), (self.capture, there.capture), path, clocks,
            self.first.at_ns,
        )  # fmt: skip
        return MetEnds(SYSTEM, self.first, row)

    def judges(self) -> tuple[str, Sequence[str]]:
        return SYSTEM, (MISSING, UNSENT) if self.seen else ()


def _hidden(engine: ZenohEngine) -> Counter[str]:
    """Samples that the subscribers of an endpoint certainly had and that are not captured."""
    found: Counter[str] = Counter()
    for (receiver, _, name), subscriber in engine.audience.subscribers.items():
        if any(source.again for source in engine.sources.named(name)):
            continue
        holes = [hole for hole in subscriber.asking.had if had(hole)]
        found[receiver] += sum(hole.stop - hole.first for hole in holes)
    return found


def _path(met: MetWay, came: ArrivedOnWay, *, tcp: bool) -> Iterator[PathDetail]:
    ends = met.at_sender, met.at_receiver
    full = any(one.full or one.passages.full for one in ends)
    cut = any(one.cut for one in ends)
    for kind, word in WORDS.items():
        own = came.kinds.get(kind)
        if own is None or not (own.sent or own.came):
            continue
        why = None
        if full:
            why = TOO_MUCH
        elif cut:
            why = CUT
        elif own.lost.missing and tcp:
            why = BY_TCP
        elif own.lost.missing and kind in came.ambiguous:
            why = AGAIN
        hidden = met.at_receiver.hidden.get(met.way.receiver, 0) if kind == SAMPLES else 0
        yield passage(kind, word, own, numbered=kind == SAMPLES, hidden=hidden, why=why)


def _node(met: MetWay, endpoint: str) -> str:
    """The zid at an endpoint; the endpoint where no handshake tells it."""
    nodes = met.at_sender.nodes | met.at_receiver.nodes
    return nodes.get(endpoint, endpoint)


def _receiver(met: MetWay) -> str:
    """Of a group the member that captured it."""
    there = met.at_receiver
    if address(met.way.receiver) == there.local:
        return _node(met, met.way.receiver)
    own = sorted(end for end in there.nodes if address(end) == there.local)
    return _node(met, own[0]) if own else there.local
