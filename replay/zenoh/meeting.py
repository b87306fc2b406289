"""What the report says of sessions whose two ends were both captured."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from seqaudit.replay.contract.both_ends import EndsMeeting, two_ends
from seqaudit.replay.contract.engine import Opening
from seqaudit.replay.contract.passage_rows import TOO_MUCH, PathRow, ends_row, judged_at, passage
from seqaudit.replay.contract.results import BOTH_ENDS, Result

if TYPE_CHECKING:
    from seqaudit.replay.zenoh.both_ends import ArrivedOnWay, MetWay, SessionEnds, ZenohMeeting
    from seqaudit.replay.zenoh.engine import ZenohEngine

SYSTEM: Final = "zenoh"
#: Why nobody can tell how many of those that did not come the path lost.
BY_TCP: Final = (
    "TCP brings whatever it loses again: what one capture lacks was cut off with the connection, "
    "or not captured"
)
CUT: Final = "frames of the session are cut off or could not be read"
AGAIN: Final = "the numbers of its frames come again within the capture"


def leg_meeting(conversation: str) -> "EndsMeeting[SessionEnds]":
    """The captures of one session that were taken at its ends."""
    from seqaudit.replay.zenoh.both_ends import ZenohMeeting

    met = ZenohMeeting(grouped=len(conversation.split("|")) == 3)
    return EndsMeeting(met.add, partial(_results, met, conversation))


def _results(meeting: "ZenohMeeting", conversation: str) -> Iterator[Result]:
    from seqaudit.replay.zenoh.both_ends import FRAMES, clocks_of, passed

    judged: set[int] = set()
    for met in meeting.met():
        clocks = clocks_of(met)
        came = passed(met, clocks)
        if FRAMES not in came.kinds:
            continue
        here, there = met.at_sender, met.at_receiver
        judged |= {here.capture, there.capture}
        first = here.first
        assert first is not None, "it holds frames"
        detail = ends_row(
            _node(met, met.way.sender), _receiver(met), (here.capture, there.capture),
            list(_path(met, came, conversation)), clocks.at(first.at_ns), clocks.matched(),
        )  # fmt: skip
        stream = f"{met.way.sender}>{met.way.receiver}"
        yield Result(
            here.capture, BOTH_ENDS, conversation, SYSTEM, detail, stream, first.frame, first.at_ns
        )
    for ends in meeting.captures:
        if ends.seen:
            yield from judged_at(ends.capture, judged, conversation, SYSTEM)


def ends_of(told: Opening) -> "SessionEnds | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    address = told.vantage.address
    if not two_ends(told) or address is None:
        return None
    from seqaudit.replay.zenoh.both_ends import SessionEnds

    return SessionEnds(told.capture, address)


def of_engine(ends: "SessionEnds | None", engine: "ZenohEngine") -> "SessionEnds | None":
    """The ends of a capture that is over, with what its engine knows; null: it is not zenoh."""
    if ends is None or not engine.recognised:
        return None
    named = {at: end.zid for at, end in engine.link.ends.items() if end.zid is not None}
    ends.nodes.update(named)
    ends.hidden.update(_hidden(engine))
    return ends


def _hidden(engine: "ZenohEngine") -> Counter[str]:
    """Samples that the subscribers of an endpoint certainly had and that are not captured."""
    from seqaudit.replay.zenoh.certificates import had

    found: Counter[str] = Counter()
    for (receiver, _, name), subscriber in engine.audience.subscribers.items():
        if any(source.again for source in engine.sources.named(name)):
            continue
        holes = [hole for hole in subscriber.had if had(hole)]
        found[receiver] += sum(hole.stop - hole.first for hole in holes)
    return found


def _path(met: "MetWay", came: "ArrivedOnWay", conversation: str) -> Iterator[PathRow]:
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


def _node(met: "MetWay", endpoint: str) -> str:
    """The zid at an endpoint; the endpoint where no handshake tells it."""
    nodes = met.at_sender.nodes | met.at_receiver.nodes
    return nodes.get(endpoint, endpoint)


def _receiver(met: "MetWay") -> str:
    """Of a group the member that captured it."""
    from seqaudit.replay.zenoh.both_ends import address

    there = met.at_receiver
    if address(met.way.receiver) == there.local:
        return _node(met, met.way.receiver)
    own = sorted(end for end in there.nodes if address(end) == there.local)
    return _node(met, own[0]) if own else there.local
