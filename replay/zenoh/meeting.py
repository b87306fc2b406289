"""What the report says of sessions whose two ends were both captured."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from seqaudit.replay.contract.engine import Opening
from seqaudit.replay.contract.passage_rows import MISSING, TOO_MUCH, UNSENT, passage
from seqaudit.replay.contract.results import BOTH_ENDS, JUDGED, Result
from seqaudit.replay.contract.settings import MEMBER

if TYPE_CHECKING:
    from seqaudit.replay.zenoh.both_ends import Came, Ends, Met
    from seqaudit.replay.zenoh.engine import ZenohEngine

SYSTEM: Final = "zenoh"
ONE_END: Final = "the capture at the other end is not given"
#: Why nobody can tell how many of those that did not come the path lost.
BY_TCP: Final = (
    "TCP brings whatever it loses again: what one capture lacks was cut off with the connection, "
    "or not captured"
)
CUT: Final = "the snap length cut off frames of the session"
AGAIN: Final = "the numbers of its frames come again within the capture"


class LegMeeting:
    """The captures of one session that were taken at its ends."""

    def __init__(self, conversation: str) -> None:
        from seqaudit.replay.zenoh.both_ends import Meeting

        self._conversation = conversation
        self._met = Meeting(grouped=len(conversation.split("|")) == 3)

    def add(self, ends: "Ends") -> None:
        """One capture is over."""
        self._met.add(ends)

    def results(self) -> Iterable[Result]:
        """What they say together."""
        return self._results() if self._met.captures else ()

    def _results(self) -> Iterator[Result]:
        from seqaudit.replay.zenoh.both_ends import FRAMES, clocks_of, passed

        judged: set[int] = set()
        for met in self._met.met():
            clocks = clocks_of(met)
            came = passed(met, clocks)
            if FRAMES not in came.kinds:
                continue
            judged |= {met.at_sender.capture, met.at_receiver.capture}
            first = met.at_sender.first
            assert first is not None, "it holds frames"
            offset = clocks.at(first.at_ns)
            detail = {
                "sender": _node(met, met.way.sender),
                "receiver": _receiver(met),
                "conn_id": None,
                "sender_capture": met.at_sender.capture,
                "receiver_capture": met.at_receiver.capture,
                "copies_sent": None,
                "after": 0,
                "after_seqnos": [],
                "clock_offset_ns": None if offset is None else [offset.below, offset.above],
                "datagrams_matched": clocks.matched(),
                "examples": [],
                "path": list(_path(met, came, self._conversation)),
            }
            stream = f"{met.way.sender}>{met.way.receiver}"
            yield Result(
                met.at_sender.capture, BOTH_ENDS, self._conversation, SYSTEM, detail, stream,
                first.frame, first.at_ns,
            )  # fmt: skip
        for ends in self._met.captures:
            for rule in (MISSING, UNSENT) if ends.seen else ():
                why = None if ends.capture in judged else ONE_END
                detail = {"rule": rule, "judged": why is None, "why": why}
                yield Result(ends.capture, JUDGED, self._conversation, SYSTEM, detail, rule=rule)


def ends_of(told: Opening) -> "Ends | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    here = told.vantage
    if told.at_members < 2 or here.kind != MEMBER or here.address is None:
        return None
    from seqaudit.replay.zenoh.both_ends import Ends

    return Ends(told.capture, here.address)


def met(
    told: Opening, engine: "ZenohEngine", ends: "Ends", results: Callable[[int], Iterable[Result]]
) -> Callable[[int], Iterable[Result]]:
    """Results of an engine, whose ends join the others of the session when it is over."""

    def over(end_ns: int) -> Iterable[Result]:
        assert isinstance(told.meeting, LegMeeting), "as the description says"
        if engine.recognised:
            named = {at: end.zid for at, end in engine.ends.items() if end.zid is not None}
            ends.nodes.update(named)
            ends.hidden.update(_hidden(engine))
            told.meeting.add(ends)
        return results(end_ns)

    return over


def _hidden(engine: "ZenohEngine") -> Counter[str]:
    """Samples that the subscribers of an endpoint certainly had and that are not captured."""
    from seqaudit.replay.zenoh.certificates import had

    found: Counter[str] = Counter()
    for (receiver, _, _), subscriber in engine.subscribers.items():
        holes = [hole for hole in subscriber.had if had(hole)]
        found[receiver] += sum(hole.stop - hole.first for hole in holes)
    return found


def _path(met: "Met", came: "Came", conversation: str) -> Iterator[dict[str, Any]]:
    from seqaudit.replay.zenoh.both_ends import SAMPLES, WORDS

    ends = met.at_sender, met.at_receiver
    full = any(one.full or one.passages.full for one in ends)
    cut = any(one.cut for one in ends)
    tcp = conversation.split("|")[1] == "tcp"
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


def _node(met: "Met", endpoint: str) -> str:
    """The zid at an endpoint; the endpoint where no handshake tells it."""
    nodes = met.at_sender.nodes | met.at_receiver.nodes
    return nodes.get(endpoint, endpoint)


def _receiver(met: "Met") -> str:
    """Of a group the member that captured it."""
    from seqaudit.replay.zenoh.both_ends import address

    there = met.at_receiver
    if address(met.way.receiver) == there.local:
        return _node(met, met.way.receiver)
    own = sorted(end for end in there.nodes if address(end) == there.local)
    return _node(met, own[0]) if own else there.local
