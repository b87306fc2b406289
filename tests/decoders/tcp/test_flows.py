"""How often a flow is looked at before it is known whose it is."""

from seqaudit.decoders.tcp.flows import NOBODY, OURS, UNDECIDED, Tracked
from seqaudit.decoders.tcp.framing import Match
from seqaudit.decoders.tcp.wire import ACK, SYN, Segment
from tests.decoders.tcp.builders import MARK, MarkedStreams

KEY = (0, "tcp|10.0.0.1:1000|10.0.0.2:2000")
SIZE = 1_000
#: Of a flow that nobody refuses: with 32 KB, with 4 times as many, then with twice as many each.
LOOKED_AT = [33_000, 133_000, 267_000, 535_000]


class Patient(MarkedStreams):
    """Refuses nothing, and counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def recognise(self, prefix: bytes, began: bool) -> Match:
        self.asked.append(len(prefix))
        return Match.YES if MARK in prefix else Match.UNDECIDED


def fed(tracked: Tracked, payloads: list[bytes], *, syn: bool = False) -> Tracked:
    seq = 1
    if syn:
        tracked.feed(Segment(0, 1, 0, 0, 0, SYN, 0, 0, b""))
    for frame, payload in enumerate(payloads, 2):
        tracked.feed(Segment(0, frame, frame, seq, 0, 0, len(payload), 0, payload))
        seq += len(payload)
    return tracked


def test_a_flow_caught_in_the_middle_is_looked_at_a_few_times_however_long_it_is() -> None:
    system = Patient()
    tracked = fed(Tracked(KEY, 0, [system]), [b"x" * SIZE] * 1_000)
    assert tracked.state == UNDECIDED
    assert system.asked == LOOKED_AT


def test_what_a_later_look_shows_is_what_an_earlier_one_would_have() -> None:
    late = fed(Tracked(KEY, 0, [Patient()]), [bytes([MARK]) + b"x" * (SIZE - 1), b"x" * SIZE])
    assert late.state == UNDECIDED
    late.judge(final=True)
    assert late.state == OURS
    long = fed(Tracked(KEY, 0, [Patient()]), [bytes([MARK])] + [b"x" * SIZE] * 40)
    assert long.state == OURS


def test_at_the_end_what_waits_for_the_other_sides_word_is_looked_at_too() -> None:
    tracked = Tracked(KEY, 0, [Patient()])
    tracked.feed(Segment(1, 1, 0, 1, 1, ACK, 0, 0, b""))
    tracked.feed(Segment(0, 2, 10**9, 1, 1, ACK, 1, 0, bytes([MARK])))  # a second later
    assert (tracked.state, tracked.pending) == (UNDECIDED, 0)
    tracked.judge(final=True)
    assert tracked.state == OURS


def test_a_flow_that_began_is_looked_at_with_its_first_bytes() -> None:
    system = Patient()
    began = fed(Tracked(KEY, 0, [system]), [b"x"], syn=True)
    assert (began.state, system.asked) == (UNDECIDED, [1])
    assert fed(Tracked(KEY, 0, [MarkedStreams()]), [b"x"], syn=True).state == NOBODY
