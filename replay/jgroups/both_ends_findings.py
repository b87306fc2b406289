"""What the report says of streams whose sender's and receiver's captures are both given."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.engine import MetEnds
from seqaudit.replay.contract.finding import Certainty, Evidence, Finding
from seqaudit.replay.contract.passage_rows import MISSING, TOO_MUCH, UNSENT, ends_row, passage
from seqaudit.replay.contract.report_rows import PassageKind
from seqaudit.replay.contract.reporter import listed
from seqaudit.replay.contract.results import EndsDetail, PathDetail
from seqaudit.replay.jgroups.both_ends import (
    BACK,
    SENDER,
    JudgedCopies,
    MemberEnds,
    Met,
    clocks_of,
    judge,
    passed,
    together,
)
from seqaudit.replay.sequence.clocks import Clocks
from seqaudit.replay.sequence.passages import Passed
from seqaudit.replay.sequence.ranges import inclusive

#: The rule that needs both ends, and why it is not judged where there are not two.
NEEDLESS: Final = "UC043"
NO_MATCH: Final = "no datagram from its {} to its {} is in both captures to compare their clocks by"
CLOCK_SET: Final = "the clock of a capture was set meanwhile"
OF_UNICASTS: Final = "copies of multicasts are not judged by both ends"
#: What the wire calls it.
WORDS: Final[Mapping[PassageKind, str]] = {
    "messages": "message",
    "highest": "HIGHEST_SEQNO",
    "closes": "CLOSE",
    "acks": "ACK",
    "requests": "request",
    "syncs": "SEND_FIRST_SEQNO",
}
BEGINS_LATE: Final = "the receiver's capture begins after the stream does at its sender"
CROSSING: Final = (
    "{} of the copies were sent within the uncertainty of the clocks around the arrival, or after "
    "the receiver's capture had ended"
)


class JGroupsEnds(MemberEnds):
    """What a capture says of streams together with those at their other ends."""

    def sent(self) -> list[str]:
        return sorted(key for key, end in self.streams.items() if end.role == SENDER)

    def met(self, stream: str, there: MemberEnds) -> MetEnds | None:
        end, receiver = self.streams[stream], there.receiver_of(stream)
        if receiver is None or receiver == end.sender or there.last is None:
            return None
        to_all = end.receiver is None and together(self, there, end.sender)
        if receiver != end.receiver and not to_all:
            return None
        met = Met(stream, self, there, receiver)
        clocks = clocks_of(met)
        copies = judge(met, clocks)
        finding = _needless(met, copies) if copies.after else None
        return MetEnds(end.system, end.first, _row(met, copies, clocks), finding)

    def judges(self) -> tuple[str, list[str]]:
        rules = [MISSING, UNSENT] if self.streams else []
        if any(end.receiver is not None for end in self.streams.values()):
            rules.append(NEEDLESS)
        return min((end.system for end in self.streams.values()), default=""), rules


def settled(
    row: EndsDetail, begins_ns: int | None, ends_ns: int | None
) -> tuple[int | None, str | None]:
    """How many copies were sent after their message had arrived; null, and why nobody can tell.

    Args:
        row: of BOTH_ENDS.
        begins_ns, ends_ns: of the receiver's capture, which may hold more than the conversation.
    """
    if row["why"] is not None:
        return None, row["why"]
    if row["copies_sent"] == row["after"]:
        return row["after"], None
    if begins_ns is None or row["begin_ns"] is None or begins_ns > row["begin_ns"]:
        return None, BEGINS_LATE
    undecided = row["undecided"]
    if row["late"] and (ends_ns is None or ends_ns < row["late_ns"]):
        undecided += row["late"]
    return (None, CROSSING.format(undecided)) if undecided else (row["after"], None)


def _passage(met: Met, word: PassageKind, own: Passed) -> PathDetail:
    """Numbers of what went one way."""
    back = word in BACK.values()
    hidden = None if back else met.at_receiver.hidden.get(met.stream)
    return passage(
        word,
        WORDS[word],
        own,
        back=back,
        numbered=word == "messages",
        hidden=0 if hidden is None else hidden.total(),
        why=TOO_MUCH if met.full else None,
    )


def _row(met: Met, told: JudgedCopies, clocks: Clocks) -> EndsDetail:
    """Numbers of one stream; ``settled`` says what they come to."""
    why = None
    if met.end.receiver is None:
        why = OF_UNICASTS
    elif met.full:
        why = TOO_MUCH
    elif told.copies and not clocks.out:
        why = NO_MATCH.format("sender", "receiver")
    elif told.copies and not clocks.back:
        why = NO_MATCH.format("receiver", "sender")
    elif told.clock_set:
        why = CLOCK_SET
    end = met.end
    path = [_passage(met, word, own) for word, own in passed(met).items()]
    captures = met.at_sender.capture, met.at_receiver.capture
    row = ends_row(end.sender, met.receiver, captures, path, clocks, end.first.at_ns, why)
    return {
        **row,
        "conn_id": end.conn_id,
        "copies_sent": None if met.full or end.receiver is None else told.copies,
        "after": told.after,
        "after_seqnos": inclusive(listed(told.seqnos)),
        "undecided": told.undecided,
        "late": told.late,
        "late_ns": told.late_ns,
        "begin_ns": told.begin_ns,
        "examples": [
            {
                "seqno": seqno,
                "copy": {"frame": copy.frame, "at_ns": copy.at_ns},
                "arrival": arrival and {"frame": arrival.frame, "at_ns": arrival.at_ns},
            }
            for seqno, copy, arrival in told.examples
        ],
    }


def _needless(met: Met, told: JudgedCopies) -> Finding:
    end = met.end
    least = "At least " if told.undecided or told.late else ""
    first = told.examples[0][1] if told.examples else None
    return Finding(
        NEEDLESS,
        Certainty.PROVEN,
        least
        + "{count:copy} of {messages:message} of {sender_member} {count|was|were} sent after the "
        "message had arrived at {receiver_member}, as the captures of both show.",
        system=end.system,
        stream=met.stream,
        frame=first and first.frame,
        at_ns=first and first.at_ns,
        seqnos=listed(told.seqnos),
        evidence=[
            Evidence(copy.frame, f"{seqno} is sent again, after its arrival")
            for seqno, copy, _ in told.examples
        ],
        facts={
            "count": told.after,
            "messages": told.seqnos.total(),
            "sender_member": end.sender,
            "receiver_member": met.receiver,
        },
    )
