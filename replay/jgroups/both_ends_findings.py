"""What the report says of streams whose sender's and receiver's captures are both given."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding
from seqaudit.replay.contract.passage_rows import (
    MISSING,
    TOO_MUCH,
    UNSENT,
    PathRow,
    ends_row,
    judged_at,
    passage,
)
from seqaudit.replay.contract.reporter import listed
from seqaudit.replay.contract.results import BOTH_ENDS, FINDING, Result, Row
from seqaudit.replay.jgroups.both_ends import (
    BACK,
    JGroupsMeeting,
    JudgedCopies,
    Met,
    clocks_of,
    judge,
    passed,
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
WORDS: Final = {
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


def results(meeting: JGroupsMeeting) -> Iterator[Result]:
    """A row for every stream with both ends, what is proven of it, and where that was judged."""
    judged: set[int] = set()
    for met in meeting.met():
        clocks = clocks_of(met)
        told = judge(met, clocks)
        sender, receiver = met.at_sender.capture, met.at_receiver.capture
        end = met.end
        judged |= {sender, receiver}
        detail = _row(met, told, clocks, full=meeting.full)
        frame, at_ns = end.first
        yield Result(
            sender, BOTH_ENDS, meeting.conversation, end.system, detail, met.stream, frame, at_ns
        )
        if told.after:
            found = _needless(met, told)
            yield Result(
                sender, FINDING, meeting.conversation, end.system, found.detail(), met.stream,
                found.frame, found.at_ns, found.rule,
            )  # fmt: skip
    for ends in meeting.captures:
        rules = [MISSING, UNSENT]
        if any(end.receiver is not None for end in ends.streams.values()):
            rules.append(NEEDLESS)
        if ends.streams:
            system = min(end.system for end in ends.streams.values())
            yield from judged_at(ends.capture, judged, meeting.conversation, system, rules)


def settled(row: Row, begins_ns: int | None, ends_ns: int | None) -> tuple[int | None, str | None]:
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


def _passage(met: Met, word: str, own: Passed) -> PathRow:
    """Numbers of what went one way."""
    back = word in BACK.values()
    hidden = None if back else met.at_receiver.hidden.get(met.stream)
    full = met.at_sender.passages.full or met.at_receiver.passages.full
    return passage(
        word,
        WORDS[word],
        own,
        back=back,
        numbered=word == "messages",
        hidden=0 if hidden is None else hidden.total(),
        why=TOO_MUCH if full else None,
    )


def _row(met: Met, told: JudgedCopies, clocks: Clocks, *, full: bool) -> Row:
    """Numbers of one stream; ``settled`` says what they come to."""
    matched = clocks.matched()
    why = None
    if met.end.receiver is None:
        why = OF_UNICASTS
    elif full:
        why = TOO_MUCH
    elif told.copies and not matched["out"]:
        why = NO_MATCH.format("sender", "receiver")
    elif told.copies and not matched["back"]:
        why = NO_MATCH.format("receiver", "sender")
    elif told.clock_set:
        why = CLOCK_SET
    end = met.end
    offset = clocks.at(end.first.at_ns)
    path = [_passage(met, word, own) for word, own in passed(met).items()]
    captures = met.at_sender.capture, met.at_receiver.capture
    return ends_row(end.sender, met.receiver, captures, path, offset, matched) | {
        "conn_id": end.conn_id,
        "copies_sent": None if full or end.receiver is None else told.copies,
        "after": told.after,
        "after_seqnos": inclusive(listed(told.seqnos)),
        "undecided": told.undecided,
        "late": told.late,
        "late_ns": told.late_ns,
        "begin_ns": told.begin_ns,
        "why": why,
        "examples": [
            {"seqno": seqno, "copy": copy._asdict(), "arrival": arrival._asdict()}
            for seqno, copy, arrival in told.examples
        ],
    }


def _needless(met: Met, told: JudgedCopies) -> Finding:
    end = met.end
    least = "At least " if told.undecided or told.late else ""
    return Finding(
        NEEDLESS,
        Certainty.PROVEN,
        least
        + "{count:copy} of {messages:message} of {sender_member} {count|was|were} sent after the "
        "message had arrived at {receiver_member}, as the captures of both show.",
        system=end.system,
        stream=met.stream,
        frame=told.examples[0][1].frame,
        at_ns=told.examples[0][1].at_ns,
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
