"""How sure findings of whole JGroups captures are at least, and what their evidence has to show.

What a rule's frames prove by themselves is always proven, and what rests on something that is in no
capture never. In between the numbers are those of today: what is proven of whole captures is not to
become less unnoticed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tests.agreement import wire
from tests.agreement.truth import Scenario

PROVEN: Final = "proven"
LIKELY: Final = "likely"

#: What the wire's own frames show wherever the rule fires at a member's whole capture.
ALWAYS: Final[Mapping[str, str]] = {
    "MC001": "its own request names it: its window lacked it, and then it came",
    "MC009": "the VIEW",
    "MC010": "the same datagram twice",
    "UC008": "the stale ACK, and the copy sent afterwards of what it covers",
    "UC011": "five requests of what the window lacks",
    "UC012": "the SEND_FIRST_SEQNO",
    "UC020": "the CLOSE",
    "UC022": "two connection ids",
    "UC023": "a lower ACK with a higher timestamp, or a request for what was acknowledged",
    "UC029": "the same datagram twice",
    "UC034": "it came before all that told of it, and is asked for",
}

#: Something that is in no capture decides.
NEVER: Final[Mapping[str, str]] = {
    "MC002": "the answer to the last request may be what the capture lacks",
    "MC007": "an ACK that is not captured looks the same",
    "MC008": "the ACK may be late as well",
    "MC012": "a copy of what was sent before may be all that was captured",
    "MC013": "the request may have left before the message was read",
    "MC016": "the gap may have shown in a frame that is not captured",
    "MC018": "a view with the sender may not be captured",
    "MC019": "a repair may have come past the capture",
    "MC021": "they may have come past the capture",
    "MC023": "the ACK may not be captured",
    "UC002": "the answer to the last request may be what the capture lacks",
    "UC004": "the message, or its ACK, or neither was lost",
    "UC006": "lost and late ACKs look the same",
    "UC009": "a newer ACK may not be captured",
    "UC014": "the answer may not be captured",
    "UC016": "the ACK that explains it may not be captured",
    "UC017": "the request may not be captured",
    "UC018": "the ACK may not be captured",
    "UC019": "the resend may not be captured",
    "UC021": "the CLOSE may not be captured",
    "UC025": "an ACK that is not captured looks the same",
    "UC026": "the ACK may not be captured",
    "UC027": "silence proves no death",
    "UC028": "the ACK may not be captured",
    "UC031": "the copy may not be captured",
    "UC037": "frames are counted, and some may not be captured",
    "UC038": "the connection may have begun past the capture",
    "UC041": "a copy of what was sent before may be all that was captured",
    "UC044": "the answer before may have been lost",
    "UC045": "shares of what was captured",
    "UC047": "a view that brings it back may not be captured",
}

#: In between the frames decide: so many findings of the fixtures are proven at least.
AT_LEAST: Final[Mapping[str, int]] = {
    "MC003": 2,  # asked for as soon as HIGHEST_SEQNO names it
    "MC004": 2,  # another datagram, long after the own ACK
    "MC011": 1,  # older by its IP id, beyond what a capture may exchange
    "UC001": 4,  # an own request names it
    "UC003": 2,  # no own ACK of the connection by its numbers
    "UC005": 1,  # as MC004
    "UC007": 1,  # timestamps fall, beyond what a capture may exchange
    "UC015": 1,  # a lower ACK, or a request for what was acknowledged
    "UC030": 1,  # as MC011
}

_DATA, _ACK, _SYNC, _REQUEST = 0, 1, 2, 3


class Kinds(NamedTuple):
    """Which kinds of message a frame may hold that shows something."""

    unicast: frozenset[int]
    nakack: frozenset[int]


_ASKED: Final = Kinds(frozenset({_REQUEST, _SYNC}), frozenset({wire.NAKACK_XMIT_REQ}))
_SENT: Final = Kinds(frozenset({_DATA}), frozenset({wire.NAKACK_MSG, wire.NAKACK_XMIT_RSP}))
_SAID: Final = Kinds(frozenset({_ACK}), frozenset({wire.NAKACK_ACK}))

#: What a line of evidence says -> what its frame holds.
SHOWS: Final[tuple[tuple[re.Pattern[str], Kinds], ...]] = tuple(
    (re.compile(pattern), kinds)
    for pattern, kinds in (
        (r"SEND_FIRST_SEQNO", Kinds(frozenset({_SYNC}), frozenset())),
        (r"[\d-]+ (is|are) asked for|the (first|last) request|a repeated request", _ASKED),
        (r"HIGHEST_SEQNO .*", Kinds(frozenset(), frozenset({wire.NAKACK_HIGHEST}))),
        (r"ACK \d+ with timestamp .*|the (stale )?ACK\b.*", _SAID),
        (r"a higher seqno shows .*|the same datagram again|the original, later .*", _SENT),
        (r"a resent copy .*|a copy .*|another datagram .*|\d+ is sent|its \w+ resend", _SENT),
        (r"arrived, and asked for later|first sent after .*|sent again|still sent", _SENT),
        (r"a message for which .*|the first message that .*|seqno \d+ fills .*", _SENT),
    )
)


def wrong_certainties(findings: list[Mapping[str, Any]]) -> Iterator[str]:
    """Findings of whole captures that are less sure than they can be, or surer."""
    for found in findings:
        rule, certainty = found["rule"], found["certainty"]
        asked = "was not seen to ask" not in found["text"]
        if rule in ALWAYS and certainty != PROVEN and asked:
            yield f"{rule} {certainty}, although {ALWAYS[rule]}: {found['text']}"
        if rule in NEVER and certainty == PROVEN:
            yield f"{rule} proven, although {NEVER[rule]}: {found['text']}"


def wrong_evidence(
    scenario: Scenario, vantage: str, findings: list[Mapping[str, Any]]
) -> tuple[int, list[str]]:
    """How many lines of evidence were compared with their frames, and those that are not so."""
    held: dict[int, list[wire.Message]] = {}
    for message in scenario.messages(vantage):
        held.setdefault(message.datagram.frame, []).append(message)
    compared, wrong = 0, []
    for found in findings:
        for line in found["evidence"]:
            kinds = next((k for shown, k in SHOWS if shown.fullmatch(line["shows"])), None)
            if kinds is None:
                continue
            compared += 1
            if not any(_is(message, kinds) for message in held.get(line["frame"], ())):
                wrong.append(f"{found['rule']} frame {line['frame']}: {line['shows']}")
    return compared, wrong


def _is(message: wire.Message, kinds: Kinds) -> bool:
    unicast, nakack = message.unicast, message.nakack
    if unicast is not None and unicast.kind in kinds.unicast:
        return True
    return nakack is not None and nakack.kind in kinds.nakack
