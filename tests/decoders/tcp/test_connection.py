"""TCP connections put together: every byte once and in order, holes told, every frame accounted."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import Ending
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.account import Account
from seqaudit.decoders.stages import tcp as tcp_stage
from seqaudit.decoders.stages.tcp import Sniffer, TcpAssembler, carrier_digest
from seqaudit.decoders.tcp import flows as tcp_flows
from seqaudit.decoders.tcp.connection import Flow
from seqaudit.decoders.tcp.direction import EARLY_BYTES, GRACE_NS
from seqaudit.decoders.tcp.segments import (
    SegmentFinder,
    Segments,
    ends_of,
    read_segment_rows,
    segment_rows,
)
from seqaudit.decoders.tcp.wire import ACK, FIN, RST, SYN
from seqaudit.decoders.tcp.wire import Segment as Row
from tests.decoders.tcp.builders import (
    CARRIER,
    MARK,
    MarkedStreams,
    Seen,
    Segment,
    account_total,
    framed,
    handshake,
    problems,
    segments,
    without_times,
)

CLIENT = 1001  # first seqno of direction 1 after ``handshake``
SERVER = 5001


class Run:
    """Segments decoded as the marked protocol."""

    def __init__(self, chunks: Sequence[Segments], **options: Any) -> None:
        self.streams = MarkedStreams()
        settings = options.pop("settings", DecodeSettings(compile_it=False))
        assembler = TcpAssembler(settings, {"marked": self.streams}, **options)
        self.batches: list[pa.RecordBatch] = []
        for chunk in chunks:
            self.batches += assembler.feed(chunk)
        self.batches += assembler.finish()
        self.account = account_total(self.batches)
        self.problems = problems(self.batches)

    @property
    def seen(self) -> list[Seen]:
        return self.streams.seen

    @property
    def payloads(self) -> list[bytes]:
        return [one.payload for one in self.seen]

    @property
    def tcp(self) -> dict[str, int]:
        return {
            name: count
            for name, count in self.account["tcp"].items()
            if name not in ("flows", "frames")
        }

    @property
    def frames_by(self) -> dict[str, int]:
        counts: dict[str, int] = self.account["frames_by"]
        return counts


def run(given: Sequence[Segment], **options: Any) -> Run:
    return Run([segments(given)], **options)


def said(*payloads: bytes, at: int = CLIENT, direction: int = 1, **more: Any) -> Segment:
    """A segment that holds these frames."""
    return Segment(direction, at, b"".join(map(framed, payloads)), **more)


# -- one direction -------------------------------------------------------------------------------


def test_frames_come_with_the_segment_that_completes_them() -> None:
    stream = framed(b"one") + framed(b"two") + framed(b"three")
    done = run(
        [
            *handshake(),
            Segment(1, CLIENT, stream[:4]),
            Segment(1, CLIENT + 4, stream[4:14]),
            Segment(1, CLIENT + 14, stream[14:]),
        ]
    )
    assert without_times(done.seen) == [
        Seen(1, b"one", 4, 0, 0, 0),
        Seen(1, b"two", 4, 0, 1, 0),
        Seen(1, b"three", 5, 0, 0, 0),
    ]
    assert done.seen[0].at_ns == 4_000_000
    assert done.frames_by == {"decoded": 5}
    assert done.tcp == {}


def test_a_segment_that_fills_a_gap_completes_what_waited_behind_it() -> None:
    done = run(
        [
            *handshake(),
            said(b"b", at=CLIENT + 4),
            said(b"c", at=CLIENT + 8),
            said(b"a"),
        ]
    )
    assert without_times(done.seen) == [
        Seen(1, b"a", 5, 0, 0, 0),
        Seen(1, b"b", 5, 0, 1, 0),
        Seen(1, b"c", 5, 0, 2, 0),
    ]
    assert done.tcp == {"out_of_order": 2}


def test_repeated_segments_are_counted_and_come_once() -> None:
    done = run([*handshake(), said(b"a"), said(b"b", at=CLIENT + 4), said(b"a"), said(b"a", b"b")])
    assert done.payloads == [b"a", b"b"]
    assert done.tcp == {"retransmitted_segments": 2}
    assert done.frames_by == {"decoded": 6}


def test_the_first_bytes_win_and_different_ones_are_counted() -> None:
    done = run([*handshake(), said(b"aa"), said(b"xx"), said(b"aa", b"b")])
    assert done.payloads == [b"aa", b"b"]
    assert done.tcp == {"retransmitted_segments": 1, "conflicts": 1, "overlaps": 1}


def test_sequence_numbers_wrap() -> None:
    start = 0xFFFFFFFF - 5
    parts = [b"%d" % number for number in range(10)]
    given = [*handshake(client=start)]
    given += [said(part, at=start + 1 + 4 * place) for place, part in enumerate(parts)]
    assert run(given).payloads == parts
    late = [*given[:4], given[6], given[5], given[4], *given[7:]]
    assert run(late).payloads == parts


def test_keep_alives_carry_no_byte_of_the_stream() -> None:
    done = run(
        [
            *handshake(),
            said(b"a"),
            Segment(1, CLIENT + 3, b""),
            Segment(1, CLIENT + 3, b"\0"),
            said(b"b", at=CLIENT + 4),
        ]
    )
    assert done.payloads == [b"a", b"b"]
    assert done.tcp == {"keep_alives": 1}


def test_a_window_probe_carries_the_next_byte() -> None:
    stream = framed(b"abc")
    probe = Segment(1, CLIENT, stream[:1])
    done = run([*handshake(), probe, probe, Segment(1, CLIENT, stream)])
    assert done.payloads == [b"abc"]
    assert done.tcp == {"keep_alives": 1, "overlaps": 1}


def test_what_a_reset_says_is_not_of_the_stream() -> None:
    done = run([*handshake(), said(b"a"), said(b"gone", at=CLIENT + 4, flags=RST | ACK)])
    assert done.payloads == [b"a"]


@pytest.mark.parametrize(
    ("behind", "missing"),
    [
        ([Segment(1, CLIENT + 30, flags=RST)], 26),
        ([Segment(1, CLIENT + 30, flags=RST), Segment(1, CLIENT + 4, ms=900)], 26),
        ([Segment(1, CLIENT + 30, flags=RST), Segment(1, CLIENT + 4, ms=1100)], 0),  # not its RST
        ([Segment(1, CLIENT + (1 << 24) + 5, flags=RST)], 0),  # nor is one so far ahead
        ([Segment(1, CLIENT + 4, flags=RST)], 0),
        ([Segment(1, CLIENT + 5, flags=RST)], 0),  # a FIN is a number, too
        ([Segment(1, CLIENT, flags=RST)], 0),
        ([Segment(0, SERVER, flags=ACK, ack=CLIENT + 20), Segment(1, CLIENT + 30, flags=RST)], 10),
        ([Segment(1, CLIENT + 30, flags=FIN | ACK)], 26),
        ([Segment(1, CLIENT + 4, flags=FIN | ACK)], 0),
        ([Segment(1, CLIENT + 5, flags=FIN | ACK)], 1),
        ([Segment(1, CLIENT + 5, flags=FIN | ACK), Segment(1, CLIENT + 6, flags=RST)], 1),
        ([Segment(1, CLIENT + 20, b"0123456789", flags=FIN | ACK)], 0),  # of no stretch yet
        ([Segment(0, SERVER, flags=ACK, ack=CLIENT + 20), Segment(1, CLIENT + 30, flags=FIN)], 10),
        ([Segment(1, CLIENT + 20, flags=FIN), Segment(0, SERVER, flags=ACK, ack=CLIENT + 21)], 0),
    ],
)
def test_an_end_says_how_much_had_been_sent(behind: list[Segment], missing: int) -> None:
    """Bytes in front of it that are not here were sent; whether anybody had them it does not say,
    but the ACKs do."""
    done = run([*handshake(), said(b"a"), *behind])
    assert done.tcp.get("unacked_hole_bytes", 0) == missing
    assert done.tcp.get("unacked_holes", 0) == bool(missing)
    acked = done.tcp.get("hole_bytes", 0) - missing
    assert acked == 16 * any(segment.direction == 0 for segment in behind)


def test_the_end_of_a_connection_says_where_it_was_reset() -> None:
    flow = Flow()
    flow.feed(Row(1, 3, 30, CLIENT, 0, ACK, 1, 0, b"a"))
    assert flow.reset is None
    for frame in (4, 5):
        flow.feed(Row(0, frame, 10 * frame, SERVER, 0, RST, 0, 0, b""))
    assert flow.reset == (4, 40)
    later = 40 + GRACE_NS
    flow.feed(Row(1, 6, later + 1, CLIENT + 1, 0, ACK, 1, 0, b"b"))
    flow.feed(Row(0, 7, later, SERVER, 0, ACK, 0, 0, b""))
    assert flow.reset == (4, 40)
    flow.feed(Row(0, 8, later + 1, SERVER, 0, ACK, 0, 0, b""))
    assert flow.reset is None  # whoever says more has not sent it


END = said(b"", at=CLIENT + 4, flags=FIN | ACK)
HELLO = Segment(0, SERVER, b"hello", ms=1000)


@pytest.mark.parametrize(
    ("behind", "how"),
    [
        ([], Ending.UNSEEN),
        ([END], Ending.CLOSED),
        ([said(b"b", at=CLIENT + 8), said(b"", at=CLIENT + 12, flags=FIN | ACK)], Ending.UNSEEN),
        ([said(b"b", at=CLIENT + 4), said(b"", at=CLIENT + 8, flags=FIN | ACK)], Ending.CLOSED),
        ([END, Segment(0, SERVER, flags=RST)], Ending.RESET),
        ([HELLO], Ending.UNSEEN),
        ([HELLO, replace(HELLO, ms=1200)], Ending.SILENT),
        ([HELLO, replace(HELLO, ms=1200), said(b"", ms=1300)], Ending.UNSEEN),
    ],
)
def test_how_what_an_end_sent_came_to_its_end(behind: list[Segment], how: Ending) -> None:
    """Only what all bytes come before ends a direction: a FIN, or a silence in which the other end
    asks again and again."""
    done = run([*handshake(), said(b"a"), *behind])
    (connection,) = done.streams.decoders[0].connections
    assert connection.began == (True, True)
    assert connection.end is not None
    assert connection.end.endings[1] is how


def test_data_with_the_syn_and_with_the_fin() -> None:
    done = run(
        [
            Segment(1, 1000, framed(b"a"), flags=SYN),
            Segment(0, 5000, flags=SYN | ACK, ack=1005),
            said(b"b", at=CLIENT + 4, flags=FIN | ACK),
            Segment(0, SERVER, flags=FIN | ACK, ack=CLIENT + 9),
        ]
    )
    assert done.payloads == [b"a", b"b"]
    assert done.tcp == {}


def test_a_segment_from_far_away_is_a_stray() -> None:
    done = run([*handshake(), said(b"a"), said(b"x", at=CLIENT + (1 << 30) + 100)])
    assert done.payloads == [b"a"]
    assert done.tcp == {"strays": 1}


def test_another_syn_begins_another_connection() -> None:
    done = run(
        [
            *handshake(),
            said(b"a"),
            Segment(1, CLIENT + 4, framed(b"cut")[:3]),
            *handshake(client=900_000, server=70_000),
            said(b"b", at=900_001),
            said(b"c", at=70_001, direction=0),
        ]
    )
    assert sorted(done.payloads) == [b"a", b"b", b"c"]
    assert done.account["tcp"]["flows"] == 2
    assert done.tcp == {"skipped_bytes": 3}
    assert done.frames_by == {"decoded": 7, "undecodable": 1}
    assert done.streams.decoders[0].ended == 2


def test_a_repeated_syn_begins_nothing() -> None:
    syn, both = handshake()
    done = run([syn, syn, both, both, said(b"a"), syn])
    assert done.payloads == [b"a"]
    assert done.account["tcp"]["flows"] == 1


def test_who_opened_the_connection_is_known_by_either_syn() -> None:
    for number in (0, 1):
        done = run([handshake()[number], said(b"a")])
        assert done.streams.decoders[0].connections[0].opener == 1
    assert run([said(b"a")]).streams.decoders[0].connections[0].opener is None


def test_a_connection_that_began_before_the_capture_is_read_from_the_next_frame_on() -> None:
    stream = framed(b"one") + framed(b"two")
    done = run([Segment(1, 77, stream[2:])])
    assert without_times(done.seen) == [Seen(1, b"two", 1, 0, 0, 4)]
    assert done.tcp == {"skipped_bytes": 4, "resyncs": 1}


# -- holes ---------------------------------------------------------------------------------------


def after(milliseconds: int, ack: int) -> Segment:
    return Segment(0, SERVER, ack=ack, ms=milliseconds)


def test_an_acknowledged_gap_that_nothing_fills_is_a_hole() -> None:
    done = run(
        [
            *handshake(),
            said(b"a"),
            said(b"c", at=CLIENT + 8),
            after(10, CLIENT + 12),
            after(1020, CLIENT + 12),
            said(b"d", at=CLIENT + 12, ms=1030),
        ]
    )
    assert without_times(done.seen) == [
        Seen(1, b"a", 3, 0, 0, 0),
        Seen(1, b"c", 4, 0, 0, 4),  # it was there all the time
        Seen(1, b"d", 7, 0, 0, 0),
    ]
    assert done.tcp == {"out_of_order": 1, "holes": 1, "hole_bytes": 4, "resyncs": 1}
    assert done.problems == [
        {
            "what": "TCP bytes not captured behind it",
            "source": "10.0.0.2:50000",
            "destination": "10.0.0.1:7800",
            "system": "marked",
            "bytes": 4,
            "acked": True,
            "first_frame": 3,
            "last_frame": 4,
        }
    ]


def test_an_ack_may_be_captured_before_its_data() -> None:
    done = run(
        [
            *handshake(),
            said(b"a"),
            after(10, CLIENT + 8),
            after(11, CLIENT + 8),
            said(b"b", at=CLIENT + 4, ms=12),
            after(5000, CLIENT + 8),
        ]
    )
    assert done.payloads == [b"a", b"b"]
    assert done.tcp == {}


def test_at_the_end_what_was_acknowledged_is_a_hole_and_what_was_not_stays_unread() -> None:
    start = [*handshake(), said(b"a"), said(b"c", at=CLIENT + 8)]
    done = run([*start, after(10, CLIENT + 12)])
    assert done.payloads == [b"a", b"c"]
    assert done.tcp["hole_bytes"] == 4
    done = run(start)
    assert done.payloads == [b"a"]
    assert done.tcp == {"out_of_order": 1, "unread_bytes": 4}
    assert done.frames_by == {"decoded": 3, "undecodable": 1}


RESET = Segment(0, SERVER, flags=RST, ms=5001)


@pytest.mark.parametrize("silent_ms", [300, 1500, 5000])
def test_bytes_that_a_reset_answers_after_a_silence_reached_nobody(silent_ms: int) -> None:
    start = [*handshake(), said(b"a"), after(10, CLIENT + 4)]
    late = said(b"b", at=CLIENT + 4, ms=silent_ms)
    done = run([*start, late, RESET])
    assert [(one.payload, one.refused) for one in done.seen] == [(b"a", False), (b"b", True)]
    assert done.tcp == {"refused_bytes": 4}
    assert done.frames_by == {"decoded": 6}
    for answer in (after(silent_ms + 1, CLIENT + 8), Segment(0, SERVER, flags=RST | ACK,
                                                             ack=CLIENT + 8, ms=5001)):  # fmt: skip
        done = run([*start, late, answer])
        assert [one.refused for one in done.seen] == [False, False]
        assert (done.payloads, done.tcp) == ([b"a", b"b"], {})
    done = run([*start, late])  # nobody said that it did not arrive
    assert [one.refused for one in done.seen] == [False, False]


def test_bytes_that_a_reset_answers_after_the_other_side_had_ended_reached_nobody() -> None:
    end = Segment(0, SERVER, flags=FIN | ACK, ack=CLIENT + 4, ms=10)
    done = run([*handshake(), said(b"a"), end, said(b"b", at=CLIENT + 4, ms=11), RESET])
    assert [one.refused for one in done.seen] == [False, True]
    assert done.tcp == {"refused_bytes": 4}


def test_what_waits_for_an_answer_is_bounded_and_keeps_its_order() -> None:
    start = [*handshake(), said(b"a"), after(10, CLIENT + 4)]
    late = [said(b"b", at=CLIENT + 4 * n, ms=3000 + n) for n in range(1, 200)]
    done = run([*start, *late, RESET])
    assert done.payloads == [b"a", *[b"b"] * 199]
    assert 0 < sum(one.refused for one in done.seen) <= 64
    repeated = [late[0], late[0], late[1], after(3100, CLIENT + 12)]
    done = run([*start, *repeated])
    assert (done.payloads, done.tcp) == ([b"a", b"b", b"b"], {"retransmitted_segments": 1})
    assert done.frames_by == {"decoded": 8}


def test_acknowledged_bytes_at_the_end_are_a_hole_but_for_a_fin() -> None:
    start = [*handshake(), said(b"a")]
    assert run([*start, after(10, CLIENT + 5)]).tcp == {}
    assert run([*start, after(10, CLIENT + 20)]).tcp == {"holes": 1, "hole_bytes": 16}


def test_too_many_waiting_bytes_make_a_hole() -> None:
    block = b"".join(framed(b"x" * 50) for _ in range(1000))
    given = [*handshake(), said(b"a")]
    count = EARLY_BYTES // len(block) + 1
    given += [Segment(1, CLIENT + 8 + place * len(block), block) for place in range(count)]
    done = run(given)
    assert done.payloads == [b"a"] + [b"x" * 50] * (1000 * count)
    assert (done.tcp["holes"], done.tcp["hole_bytes"]) == (1, 4)
    assert (done.tcp["unacked_holes"], done.tcp["unacked_hole_bytes"]) == (1, 4)


def test_too_long_a_wait_makes_a_hole() -> None:
    start = [*handshake(), said(b"a"), said(b"c", at=CLIENT + 8, ms=10)]
    assert run([*start, Segment(0, SERVER, ms=29_000)]).payloads == [b"a"]
    assert run([*start, Segment(0, SERVER, ms=30_011)]).payloads == [b"a", b"c"]


def test_what_the_snap_length_cut_off_is_a_hole() -> None:
    whole = framed(b"a") + framed(b"bb")
    done = run(
        [
            *handshake(),
            Segment(1, CLIENT, whole[:6], wire=len(whole)),
            said(b"c", at=CLIENT + len(whole)),
        ]
    )
    assert done.payloads == [b"a", b"c"]
    assert done.seen[1].lost == 5
    assert done.tcp == {"holes": 1, "hole_bytes": 3, "skipped_bytes": 2, "resyncs": 1}
    assert done.frames_by == {"decoded": 3, "truncated": 1}
    assert done.problems[0]["what"] == "TCP bytes cut by the snap length"


# -- fates ---------------------------------------------------------------------------------------


def test_a_frame_that_is_no_good_gives_its_outcome_to_what_completes_it() -> None:
    stream = framed(b"!bad") + framed(b"fine")
    done = run([*handshake(), Segment(1, CLIENT, stream[:3]), Segment(1, CLIENT + 3, stream[3:])])
    assert done.payloads == [b"!bad", b"fine"]
    assert done.frames_by == {"decoded": 3, "malformed": 1}


def test_bytes_between_frames_make_their_segment_undecodable() -> None:
    done = run(
        [
            *handshake(),
            said(b"a"),
            Segment(1, CLIENT + 4, b"rubbish"),
            Segment(1, CLIENT + 11, b"rub" + framed(b"b")),
        ]
    )
    assert done.payloads == [b"a", b"b"]
    assert done.seen[1].lost == 10
    assert done.frames_by == {"decoded": 4, "undecodable": 1}
    assert done.account["undecoded"] == {tcp_stage.NO_FRAME: 1}
    assert done.tcp == {"skipped_bytes": 10, "resyncs": 1}


def test_other_protocols_are_other() -> None:
    http = Segment(1, CLIENT, b"GET / HTTP/1.1\r\n\r\n")
    done = run([*handshake(), http, Segment(0, SERVER, b"HTTP/1.1 200 OK\r\n\r\n")])
    assert done.seen == []
    assert done.frames_by == {"other": 4}
    assert done.account["tcp"] == {}


def test_after_another_protocol_a_new_connection_is_looked_at() -> None:
    done = run(
        [
            *handshake(),
            Segment(1, CLIENT, b"GET /"),
            Segment(0, SERVER, b"HTTP"),
            *handshake(client=90_000, server=80_000),
            said(b"a", at=90_001),
        ]
    )
    assert done.payloads == [b"a"]
    assert done.frames_by == {"other": 4, "decoded": 3}


def test_a_scan_of_ports_is_other() -> None:
    done = run([Segment(1, 1000, flags=SYN), Segment(0, 0, flags=RST | ACK, ack=1001)])
    assert done.frames_by == {"other": 2}


def test_a_forced_port_needs_no_recognition() -> None:
    silent = Segment(1, CLIENT, b"\0\0\0\0")
    forced = DecodeSettings(decode_as=(("tcp", 7800, "marked"),), compile_it=False)
    done = run([*handshake(), silent], settings=forced)
    assert done.frames_by == {"decoded": 2, "undecodable": 1}
    udp = DecodeSettings(decode_as=(("udp", 7800, "marked"),), compile_it=False)
    assert run([*handshake(), silent], settings=udp).frames_by == {"other": 3}
    away = DecodeSettings(
        decode_as=(("tcp", 7800, "marked"),), no_decode=frozenset({"marked"}), compile_it=False
    )
    assert run([*handshake(), said(b"a")], settings=away).frames_by == {"other": 3}


def test_a_system_that_is_not_asked_decodes_nothing() -> None:
    settings = DecodeSettings(no_decode=frozenset({"marked"}), compile_it=False)
    assert run([*handshake(), said(b"a")], settings=settings).frames_by == {"other": 3}


def test_the_oldest_undecided_flow_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_stage, "MAX_UNDECIDED", 1)
    slow = "tcp|10.0.0.1:1|10.0.0.2:2"
    done = Run(
        [
            segments([Segment(1, 1, b"?")], slow),
            segments([Segment(1, 1, b"?")], first=2),
            segments([said(b"late", at=2)], slow, first=3),
            segments([said(b"a", at=2)], first=4),
        ]
    )
    assert done.payloads == [b"a"]
    assert done.frames_by == {"other": 2, "decoded": 1, "undecodable": 1}


def test_a_frame_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_stage, "HELD_BYTES", 100)
    monkeypatch.setattr(tcp_stage, "BATCH_BYTES", 50)
    given = [*handshake(), said(b"a"), Segment(1, CLIENT + 4, bytes([0xA5, 160]) + b"x" * 120)]
    given += [Segment(1, CLIENT + 126, b"x" * 10 + framed(b"b"))]
    done = run(given)
    assert done.payloads == [b"a", b"b"]
    assert done.tcp == {"skipped_bytes": 132, "resyncs": 1}


# -- rows ----------------------------------------------------------------------------------------


def test_segments_survive_as_rows() -> None:
    given = segments(
        [*handshake(), said(b"a"), Segment(0, SERVER, b"xyz", wire=9, ms=4, split=3)], CARRIER
    )
    assert list(read_segment_rows(segment_rows(given)).one_by_one()) == list(given.one_by_one())


def test_a_carrier_names_its_ends() -> None:
    assert ends_of(CARRIER) == (("10.0.0.1", 7800), ("10.0.0.2", 50000))
    assert ends_of("tcp|[fd00::1]:7800|[fd00::2]:1") == (("fd00::1", 7800), ("fd00::2", 1))


# -- the first stage -------------------------------------------------------------------------------


class Piece:
    """What a sniffer ships of a piece, and what it says about it."""

    def __init__(self, given: Segments, **settings: Any) -> None:
        account = Account(0, 0, [])
        sniffer = Sniffer(
            DecodeSettings(**settings), {"marked": MarkedStreams()}, account, SegmentFinder()
        )
        shipped = [*sniffer.feed(given), *sniffer.finish()]
        self.shipped = [frame for part in shipped for frame in part.frame.tolist()]
        self.facts = sniffer.facts()
        self.other = account.frames_by["other"]


def test_a_recognised_flow_is_shipped_from_its_first_segment_on() -> None:
    piece = Piece(segments([*handshake(), Segment(1, CLIENT), said(b"a"), said(b"b")]))
    assert piece.shipped == [1, 2, 3, 4, 5]
    assert piece.facts == {"carriers": [CARRIER], "withheld": [], "withheld_more": False}
    assert piece.other == 0


def test_another_protocol_is_not_shipped_but_named() -> None:
    piece = Piece(segments([*handshake(), Segment(1, CLIENT, b"GET"), Segment(0, SERVER, b"200")]))
    assert piece.shipped == []
    assert piece.facts["withheld"] == [carrier_digest(CARRIER)]
    assert piece.other == 4


def test_a_flow_without_payload_is_shipped_without_cause() -> None:
    piece = Piece(segments([Segment(1, 7), Segment(0, 9)]))
    assert piece.shipped == [1, 2]
    assert piece.facts == {"carriers": [], "withheld": [], "withheld_more": False}


def test_a_flow_that_is_likely_one_is_shipped_though_another_begins_behind_it() -> None:
    """As where its piece ends: one frame in the middle is no proof, and often all there is."""
    assert Piece(segments([said(b"a")])).shipped == [1]
    again = [Segment(1, CLIENT - 5000, flags=SYN), Segment(0, SERVER - 5000, flags=SYN | ACK)]
    piece = Piece(segments([said(b"a"), *again]))
    assert piece.shipped == [1, 2, 3]
    assert piece.facts["carriers"] == [CARRIER]


def test_what_a_syn_seems_to_end_is_shipped_where_it_is_too_little_to_tell() -> None:
    """A piece before this one may have that SYN's first copy: nothing ends here then."""
    piece = Piece(segments([Segment(1, CLIENT + 500, b"?"), Segment(1, CLIENT - 1, flags=SYN)]))
    assert piece.shipped == [1, 2]
    assert piece.facts == {"carriers": [], "withheld": [], "withheld_more": False}


def test_nobody_is_told_by_the_few_bytes_behind_an_answer_to_a_syn() -> None:
    """The SYN is in a piece before this one, and its sender may have spoken there already."""
    answer = Segment(0, SERVER - 1, flags=SYN | ACK)
    piece = Piece(segments([answer, Segment(0, SERVER, b"200"), Segment(1, CLIENT, b"GET")]))
    assert piece.shipped == [1, 2, 3]
    assert piece.facts == {"carriers": [], "withheld": [], "withheld_more": False}


def test_the_second_stage_says_what_it_took_for_a_system_s_though_nobody_knew() -> None:
    """Another piece may have withheld some of it: then the job runs again."""
    assembler = TcpAssembler(DecodeSettings(compile_it=False), {"marked": MarkedStreams()})
    given = segments([*handshake(), said(b"a"), said(b"b")])
    rows = [row for batch in (*assembler.feed(given), *assembler.finish())
            for row in batch.to_pylist()]  # fmt: skip
    shipped = [json.loads(row["detail"]).get("shipped") for row in rows if row["detail"]]
    assert {"carriers": [CARRIER], "withheld": [], "withheld_more": False} in shipped


def test_a_named_carrier_is_shipped_whatever_it_holds() -> None:
    given = segments([*handshake(), Segment(1, CLIENT, b"GET"), Segment(0, SERVER, b"200")])
    piece = Piece(given, carriers=frozenset({(0, CARRIER)}))
    assert piece.shipped == [1, 2, 3, 4]
    assert piece.facts["withheld"] == []


# -- any order, any cut --------------------------------------------------------------------------


@st.composite
def captured(draw: st.DrawFn) -> tuple[list[Segment], list[bytes], int]:
    """A stream cut into segments, swapped, repeated, overlapping, with some not captured.

    Returns the segments, the payloads whose bytes were all captured, and how many were not.
    """
    words = st.text("abcdefgh", max_size=40).map(str.encode)
    payloads = draw(st.lists(words, min_size=1, max_size=30))
    stream = b"".join(map(framed, payloads))
    start = draw(st.sampled_from([1000, 0xFFFFFFFF - 50]))
    cuts = sorted(draw(st.sets(st.integers(1, len(stream) - 1), max_size=25)))
    borders = [0, *cuts, len(stream)]
    pieces = [
        (max(0, low - draw(st.sampled_from([0, 0, 0, 1, 7]))), high)
        for low, high in pairwise(borders)
    ]
    lost = draw(st.sets(st.integers(0, len(pieces) - 1), max_size=3))
    sent = [piece for number, piece in enumerate(pieces) if number not in lost]
    again = draw(st.lists(st.sampled_from(pieces), max_size=4)) if not lost else []
    sent += again
    for _ in range(draw(st.integers(0, 5))):
        if len(sent) > 1:
            place = draw(st.integers(0, len(sent) - 2))
            sent[place], sent[place + 1] = sent[place + 1], sent[place]
    covered = {place for low, high in sent for place in range(low, high)}
    whole: list[bytes] = []
    at = 0
    for payload in payloads:
        size = len(framed(payload))
        if all(place in covered for place in range(at, at + size)):
            whole.append(payload)
        at += size
    given = [*handshake(client=start)]
    for low, high in sent:
        given.append(Segment(1, start + 1 + low, stream[low:high]))
        if draw(st.booleans()):
            given.append(Segment(0, SERVER, ack=start + 1 + high))
    end = start + 1 + len(stream)
    given += [Segment(0, SERVER, ack=end, ms=400), Segment(0, SERVER, ack=end, ms=2000)]
    return given, whole, len(stream) - len(covered)


@given(captured())
def test_frames_that_were_captured_come_out_once_and_in_order(
    drawn: tuple[list[Segment], list[bytes], int],
) -> None:
    given, whole, missing = drawn
    assume(any(MARK in segment.payload for segment in given))  # else nobody knows whose it is
    done = run(given)
    assert done.payloads == whole
    assert done.tcp.get("hole_bytes", 0) == missing
    assert sum(problem["bytes"] for problem in done.problems) == missing
    assert sum(done.frames_by.values()) == len(given)


def test_a_flow_is_recognised_by_any_stretch_of_it() -> None:
    stream = framed(b"a") + framed(b"b")
    done = run(
        [
            *handshake(),
            Segment(1, CLIENT + 2, stream[2:4]),
            Segment(1, CLIENT + 4, stream[4:]),
            after(400, CLIENT + 20),
            after(2000, CLIENT + 20),
        ]
    )
    assert done.payloads == [b"b"]
    assert done.tcp["hole_bytes"] == 14


@given(captured(), st.lists(st.integers(0, 60), max_size=4), st.integers(1, 200), st.booleans())
def test_nothing_depends_on_batches(
    drawn: tuple[list[Segment], list[bytes], int], cuts: list[int], batch: int, by_carrier: bool
) -> None:
    given = drawn[0]
    once = run(given)
    borders = sorted({0, *(cut for cut in cuts if cut < len(given)), len(given)})
    chunks = [segments(given[low:high], first=low + 1) for low, high in pairwise(borders)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tcp_stage, "BATCH_BYTES", batch)
        parts = Run(chunks, by_carrier=by_carrier)
    assert parts.seen == once.seen
    assert parts.account == once.account
    assert parts.problems == once.problems


@given(captured(), st.integers(0, 60))
def test_a_capture_that_begins_later_loses_only_what_came_before(
    drawn: tuple[list[Segment], list[bytes], int], first: int
) -> None:
    given, whole, _ = drawn
    later = given[2 + first :]
    done = Run([segments(later, first=3 + first)])
    assert sum(done.frames_by.values()) == len(later)
    left = iter(whole)
    assert all(payload in left for payload in done.payloads)  # in the same order


@given(st.lists(st.binary(max_size=60), max_size=8), st.booleans())
def test_any_bytes_are_accounted(payloads: list[bytes], began: bool) -> None:
    given = [*handshake()] if began else []
    at = CLIENT
    for payload in payloads:
        given.append(Segment(1, at, payload))
        at += len(payload)
    done = run([*given, said(b"a", at=at)])
    assert sum(done.frames_by.values()) == len(given) + 1


def test_bounds_are_in_proportion() -> None:
    """What decides a flow is far below what all undecided ones may hold."""
    assert tcp_flows.UNDECIDED_BYTES * 2 < tcp_stage.UNDECIDED_TOTAL
