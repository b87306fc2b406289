"""Which field is the sequence number: the true one ranks first, and often there is none."""

import random
import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.dns import DNS, DNSQR

from seqaudit.decoders.infer.known import is_dns
from seqaudit.decoders.infer.layout import FieldAt, Heartbeats, Layout
from seqaudit.decoders.infer.number import fingerprints, grow, signed, weigh
from seqaudit.decoders.infer.search import infer
from tests.decoders.feeds.layouts import disturbed, draw, moldudp64, rtp, sample

LAYOUTS = range(1, 11)  # widths 2 … 8, 1, 2, 3


def best(payloads: list[bytes]) -> Layout:
    answer = infer(sample(payloads))
    assert answer.layouts, answer.reason
    return answer.layouts[0]


def place(field: FieldAt | None) -> tuple[int, int] | None:
    return None if field is None else (field.offset, field.width)


@pytest.mark.parametrize("disorder", [0.0, 0.2])
@pytest.mark.parametrize("seed", LAYOUTS)
def test_the_true_field_of_a_random_layout_ranks_first(seed: int, disorder: float) -> None:
    drawn = draw(seed, disorder=disorder)
    found = best(drawn.payloads)
    assert found.number == FieldAt(drawn.offset, drawn.width, drawn.order)
    assert (found.count is None) == (drawn.count is None)
    assert (found.key is None) == (drawn.key is None)


def test_random_layouts_are_not_all_alike() -> None:
    drawn = [draw(seed, datagrams=1) for seed in LAYOUTS]
    assert {layout.width for layout in drawn} == set(range(1, 9))
    assert {layout.order for layout in drawn} == {"big", "little", None}
    assert any(layout.offset % layout.width for layout in drawn)
    assert any(layout.count for layout in drawn)
    assert any(layout.key for layout in drawn)


@pytest.mark.parametrize("seed", [1042, 1074])
def test_a_zero_byte_above_a_plain_width_is_said_to_tie(seed: int) -> None:
    """Three bytes whose highest is always 0 look like two behind another field."""
    drawn = draw(seed)
    found = best(drawn.payloads)
    assert drawn.width == 3
    assert found.number.width == 2
    assert found.ties == (FieldAt(drawn.offset, 3, drawn.order),)


@pytest.mark.parametrize("disorder", [0.0, 0.2])
def test_moldudp64_with_sessions(disorder: float) -> None:
    payloads = moldudp64(4_000, (b"FEED00001 ", b"FEED00002 "))
    if disorder:
        payloads = disturbed(payloads, random.Random(1), disorder)
    found = best(payloads)
    assert found.number == FieldAt(10, 8, "big")
    assert found.count == FieldAt(18, 2, "big")
    assert (found.stream, found.key) == (("key",), FieldAt(0, 10, None, text=True))
    assert found.confidence == "high"


@pytest.mark.parametrize("payload_type", [0, 96])
@pytest.mark.parametrize("disorder", [0.0, 0.2])
def test_rtp_with_four_sources(payload_type: int, disorder: float) -> None:
    payloads = rtp(4_000, 4, payload_type)
    if disorder:
        payloads = disturbed(payloads, random.Random(2), disorder)
    found = best(payloads)
    assert found.number == FieldAt(2, 2, "big")
    assert (found.stream, found.key) == (("key",), FieldAt(8, 4, "big"))


@pytest.mark.parametrize("payload_type", [0, 96])
def test_rtp_with_one_source(payload_type: int) -> None:
    found = best(rtp(2_000, 1, payload_type))
    assert (found.number, found.count, found.stream) == (FieldAt(2, 2, "big"), None, ())


def test_what_the_datagrams_do_is_the_evidence() -> None:
    payloads = [b"feed" + struct.pack(">I", number) + b"data" for number in range(1, 301)]
    lost = payloads[:50] + payloads[53:100] + [payloads[101], payloads[100]] + payloads[102:]
    lost.insert(200, lost[199])
    e = best(lost).evidence
    assert (e.steps, e.missing, e.late, e.duplicates) == (297, 3, 1, 1)
    assert (e.ahead, e.unexplained, e.arrived) == (2, 0, 297)


def test_a_wrap_proves_the_width() -> None:
    payloads = [bytes([7, 9, number & 0xFF, 9]) for number in range(600)]
    found = best(payloads)
    assert (found.number, found.wraps, found.ties) == (FieldAt(2, 1, None), True, ())


def test_a_byte_that_neither_carried_nor_wrapped_is_too_little() -> None:
    rng = random.Random(1)
    answer = infer(sample([bytes([7, 9, number]) + rng.randbytes(1) for number in range(200)]))
    assert not answer.layouts
    assert "neither carried nor wrapped" in answer.reason


def test_half_of_an_aligned_pair_is_told_with_a_doubt() -> None:
    (start,) = struct.unpack_from(">H", rtp(1)[0], 2)
    short = [p for p in rtp(400) if struct.unpack_from(">H", p, 2)[0] >> 8 == (start >> 8) + 1]
    found = best(short[:100])
    assert (found.number, found.ties) == (FieldAt(2, 2, "big"), (FieldAt(3, 1, None),))
    assert found.confidence == "low"
    assert found.notes == ("only its lowest byte was seen to move",)
    assert not infer(sample(short[:40])).layouts


def test_bytes_that_never_changed_are_said_to_tie() -> None:
    found = best([b"\x51" + struct.pack(">I", number) + b"\x51" for number in range(1, 400)])
    assert (found.number, found.proven) == (FieldAt(1, 4, "big"), 2)
    assert found.ties == (FieldAt(3, 2, "big"),)


@pytest.mark.parametrize(
    ("made", "doubt"),
    [
        (lambda n, _: struct.pack(">I", 4 * n), "goes up by 4: it may be a part of it"),
        (lambda n, _: struct.pack(">IB", n // 4, n % 4), "may be"),
        (lambda n, _: bytes.fromhex(f"{n:08d}"), "places: it may count something else"),
        (lambda n, rng: struct.pack(">I", 2 * n + rng.randrange(2)), "it may count something else"),
    ],
)
def test_what_does_not_count_datagrams_one_by_one_is_doubtful(
    made: Callable[[int, random.Random], bytes], doubt: str
) -> None:
    rng = random.Random(5)
    payloads = [made(n, rng) + rng.randbytes(rng.randint(3, 25)) for n in range(500, 4_500)]
    for at in rng.sample(range(0, 3_998, 2), 40):
        payloads[at], payloads[at + 1] = payloads[at + 1], payloads[at]
    answer = infer(sample(payloads))
    assert answer.layouts or "no field of it counts up" in answer.reason
    for found in answer.layouts[:1]:
        assert found.confidence == "low"
        assert any(doubt in note for note in found.notes)


def test_heartbeats_of_their_own_kind_state_the_last_number() -> None:
    rng = random.Random(9)
    payloads, number = [], 1
    for _ in range(2_000):
        beat = rng.random() < 0.3
        kind = 1 if beat else 2
        said = number - 1 if beat else number
        payloads.append(struct.pack("<BBI", 0x40, kind, said) + rng.randbytes(0 if beat else 20))
        number += not beat
    found = best(payloads)
    beats = sum(payload[1] == 1 for payload in payloads)
    assert (found.number, found.kind) == (FieldAt(2, 4, "little"), FieldAt(1, 1, None))
    assert found.heartbeats == (Heartbeats(1, beats, "last"),)


def test_an_end_of_session_is_a_count_of_all_ones() -> None:
    payloads = moldudp64(2_000)
    end = int.from_bytes(payloads[-1][10:18], "big") + int.from_bytes(payloads[-1][18:20], "big")
    found = best(payloads + [b"FEED00001 " + struct.pack(">QH", end, 0xFFFF)] * 3)
    assert (found.number, found.ends) == (FieldAt(10, 8, "big"), 3)


def test_a_session_that_is_followed_by_another_is_a_key() -> None:
    found = best(moldudp64(900) + moldudp64(600, (b"FEED00002 ",)))
    assert (found.number, found.count) == (FieldAt(10, 8, "big"), FieldAt(18, 2, "big"))
    assert (found.stream, found.key) == (("key",), FieldAt(0, 10, None, text=True))
    assert found.evidence.unexplained == 0


def test_sources_tell_streams_apart() -> None:
    rng = random.Random(4)
    numbers, payloads, sources = [5, 900], [], []
    for _ in range(2_000):
        source = rng.randrange(2)
        payloads.append(b"same" + struct.pack(">I", numbers[source]))
        sources.append(source)
        numbers[source] += 1
    (found, *_) = infer(replace(sample(payloads), source=np.array(sources))).layouts
    assert (found.number, found.stream, found.streams) == (FieldAt(4, 4, "big"), ("source",), 2)


def test_a_restart_is_survived() -> None:
    numbers = [*range(1, 700), *range(1, 700)]
    found = best(
        [struct.pack(">I", number) + bytes([at % 251]) for at, number in enumerate(numbers)]
    )
    assert (found.number, found.evidence.unexplained) == (FieldAt(0, 4, "big"), 1)


# ---- none


def none(payloads: list[bytes]) -> str:
    answer = infer(sample(payloads))
    assert answer.layouts == ()
    return answer.reason


def test_random_payload_has_no_number() -> None:
    rng = random.Random(0)
    assert "no field of it counts up" in none([rng.randbytes(100) for _ in range(5_000)])


def test_dns_has_no_number_even_where_ids_count_up() -> None:
    names = [f"host{number % 7}.example.org" for number in range(600)]
    queries = [bytes(DNS(id=at, rd=1, qd=DNSQR(qname=name))) for at, name in enumerate(names)]
    assert "DNS" in none(queries)
    rng = random.Random(1)
    answers = [bytes(DNS(id=rng.randrange(65536), qr=1, qd=DNSQR(qname=n))) for n in names]
    assert "DNS" in none(answers)


def test_a_datagram_is_dns_by_its_form() -> None:
    query = bytes(DNS(id=7, qd=DNSQR(qname="a.b")))
    assert is_dns(query, len(query))
    assert not is_dns(query[:11], 11)
    assert not is_dns(query[:4] + b"\0\0" + query[6:], len(query))
    assert not is_dns(query[:-1] + b"\7", len(query))


def test_clocks_constants_lengths_and_small_cycles_have_no_number() -> None:
    rng = random.Random(5)
    at_ns, payloads = 1_795_000_000_000_000_000, []
    for at in range(3_000):
        at_ns += rng.randint(1_000, 4_000_000)
        head = struct.pack(">QIHB", at_ns, at_ns // 1_000_000 & 0xFFFFFFFF, 160, at % 10)
        payloads.append(head + str(at).rjust(8).encode() + bytes(rng.randint(0, 9)))
    none(payloads)


def test_a_number_that_advances_by_a_constant_is_rather_a_clock() -> None:
    none([b"head" + struct.pack(">I", 160 * at) for at in range(1_000)])


def test_numbers_of_variable_length_are_no_fixed_field() -> None:
    def vlong(number: int) -> bytes:
        size = max(1, (number.bit_length() + 7) // 8)
        return bytes([size]) + number.to_bytes(size, "little")

    none([b"head" + vlong(number) + b"tail" for number in range(1, 200)])
    none([b"head" + vlong(number) + b"tail" for number in range(1, 900)])
    assert "a byte for its length before it" in none(
        [b"head" + vlong(number) + b"tail" for number in range(300, 1_900)]
    )


def test_too_few_datagrams_are_not_judged() -> None:
    assert none([struct.pack(">I", number) for number in range(31)]) == (
        "31 of the 32 datagrams that a judgement needs"
    )
    assert none([b""] * 100) == "the datagrams are empty"


# ---- doubts


def test_a_number_that_advances_once_a_second_may_be_a_clock() -> None:
    payloads = [struct.pack(">I", number) for number in range(600)]
    (found, *_) = infer(sample(payloads, step_ns=1_000_000_000)).layouts
    assert found.confidence == "low"
    assert "may be a clock" in found.notes[0]


def test_numbers_that_come_back_may_identify_requests() -> None:
    requests = sample([b"ask " + struct.pack(">I", number) for number in range(600)])
    (found, *_) = infer(requests, replies=requests.heads[:100]).layouts
    assert found.confidence == "low"
    assert "opposite direction" in found.notes[0]


@pytest.mark.parametrize(("answers", "doubted"), [(0, True), (50, False)])
def test_an_answer_is_known_by_what_moves(answers: int, doubted: bool) -> None:
    """Behind the number of a call the answer has something else, which only one of them reads as
    a part of it."""
    calls = sample([struct.pack(">III", 0x51000000 + n, 0, 2) for n in range(100)])
    back = sample([struct.pack(">III", 0x51000000 + n + answers, 1, 0) for n in range(100)])
    (found, *_) = infer(calls, replies=back.heads).layouts
    assert any("opposite direction" in note for note in found.notes) is doubted


def test_one_byte_that_has_all_values_comes_back_by_chance() -> None:
    mine = sample([bytes([7, 9, number & 0xFF, 9]) for number in range(600)])
    others = sample([bytes([7, 9, 3 * number & 0xFF, 9]) for number in range(600)])
    (found, *_) = infer(mine, replies=others.heads).layouts
    assert found.notes == ()


# ---- the parts


def test_differences_go_the_short_way_round() -> None:
    pairs = [(0xFF, 0x00, 8, 1), (0x00, 0xFF, 8, -1), (0xFFFF, 4, 16, 5), (1, 0, 64, -1)]
    for before, after, bits, step in pairs:
        difference = np.array([after], np.uint64) - np.array([before], np.uint64)
        assert signed(difference, bits).tolist() == [step]


def test_a_repeat_in_other_bytes_is_unexplained() -> None:
    numbers = [*range(100), 50, *range(100, 150)]
    heads = np.array([[number, at] for at, number in enumerate(numbers)], np.uint8)
    prints = fingerprints(heads, np.full(len(heads), 2))
    same = np.ones(len(heads) - 1, np.bool)
    e = weigh(heads[:, 0].astype(np.uint64), 8, None, same, prints)
    assert (e.unexplained, e.duplicates, e.following) == (1, 0, 149)


def naive(rows: list[tuple[int, int, bytes]]) -> dict[str, int]:
    """The rules of ``weigh`` for (number, takes, bytes) of one stream that does not wrap."""
    found = dict.fromkeys(("following", "ahead", "late", "duplicates", "heartbeats"), 0)
    seen: dict[int, bytes] = {}
    unexplained = before = high = 0
    for at, (number, takes, body) in enumerate(rows):
        due = at > 0 and number in (before, high)
        known = takes > 0 and number in seen
        if at == 0:
            pass
        elif takes == 0:
            found["heartbeats"] += due
            found["ahead"] += not due and number > high
        elif known and seen[number] == body:
            found["duplicates"] += 1
            found["ahead"] += not due and number > high
        elif due:
            found["following"] += 1
        elif number > high:
            found["ahead"] += 1
        elif known or number < rows[0][0] - 64:
            unexplained += 1
        else:
            found["late"] += 1
        if takes:
            seen[number] = body
        before, high = number + takes, max(high, number + takes)
    return found | {"unexplained": unexplained}


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 2)), min_size=1, max_size=40))
def test_evidence_agrees_with_the_rules_word_for_word(rows: list[tuple[int, int]]) -> None:
    values = np.array([number for number, _ in rows], np.uint64)
    bodies = np.array([body for _, body in rows], np.uint64)
    e = weigh(values, 16, None, np.ones(len(rows) - 1, np.bool), bodies)
    expected = naive([(number, 1, bytes([body])) for number, body in rows])
    assert {name: getattr(e, name) for name in expected} == expected
    assert e.arrived == len(set(values.tolist()))
    assert e.missing == max(values) - min(values) + 1 - e.arrived


def test_a_byte_that_does_not_carry_ends_a_number() -> None:
    numbers = np.arange(400)
    heads = np.stack([numbers // 7 & 0xFF, numbers >> 8, numbers & 0xFF], axis=1).astype(np.uint8)
    growth = grow(heads, 2, "big", None, np.ones(399, np.bool))
    assert (growth.width, growth.proven) == (2, 2)


def ipfix(records: list[int]) -> list[bytes]:
    """IPFIX messages (RFC 7011 3.1): the number counts data records, not messages."""
    rng, sequence, payloads = random.Random(7), 77_000, []
    for number, many in enumerate(records):
        rows = b"".join(rng.randbytes(30) for _ in range(many))
        body = struct.pack(">HH", 256, 4 + len(rows)) + rows
        head = struct.pack(">HHIII", 10, 16 + len(body), 1_795_000_000 + number // 20, sequence, 7)
        payloads.append(head + body)
        sequence += many
    return payloads


def mach(messages: list[int], idle: float = 0.0) -> list[bytes]:
    """Datagrams of several messages, each with a number of its own in front of it; ``idle`` of them
    are a heartbeat with the next one's."""
    rng, sequence, payloads = random.Random(8), 1, []
    for many in messages:
        if rng.random() < idle:
            payloads.append(struct.pack("<QHBB", sequence, 12, 0, 1))
            continue
        payload = b""
        for _ in range(many):
            body = rng.randbytes(rng.choice([20, 24, 36]))
            payload += struct.pack("<QHBB", sequence, 12 + len(body), 3, 1) + body
            sequence += 1
        payloads.append(payload)
    return payloads


def wireguard(sessions: int, packets: int) -> list[bytes]:
    """Data messages (type 4) with a counter that begins at 0 for each receiver index, and one
    handshake (type 1) before each."""
    rng, payloads = random.Random(9), []
    for _ in range(sessions):
        receiver = rng.randbytes(4)
        payloads.append(b"\1\0\0\0" + rng.randbytes(144))
        for counter in range(packets):
            head = b"\4\0\0\0" + receiver + struct.pack("<Q", counter)
            payloads.append(head + rng.randbytes(rng.choice([32, 48, 96])))
    return payloads


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", [(55, 30, 15), (90, 8, 2), (30, 30, 40)])
def test_a_number_that_counts_what_is_in_datagrams_is_refused(
    weights: tuple[int, int, int], seed: int
) -> None:
    many = random.Random(seed).choices((1, 2, 3), weights, k=2_000)
    for payloads in (ipfix(many), mach(many), mach(many, 0.1), mach(many, 0.3)):
        answer = infer(sample(payloads))
        assert not answer.layouts
        assert (
            "advances with the length of the datagrams: it counts what is in them" in answer.reason
            or "no field of it counts up datagram by datagram" in answer.reason
        )


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_loss_is_not_taken_for_counting_whatever_the_lengths_are(share: float) -> None:
    rng = random.Random(3)
    lengths = (20, 60, 200)
    sent = [struct.pack(">I", n) + rng.randbytes(rng.choice(lengths)) for n in range(3_000)]
    found = best([payload for payload in sent if rng.random() >= share])
    assert found.number.stop == 4


@pytest.mark.parametrize(("sessions", "packets"), [(1, 2_000), (3, 1_000), (10, 400)])
def test_a_counter_that_begins_anew_for_each_key_is_read_with_the_key(
    sessions: int, packets: int
) -> None:
    found = best(wireguard(sessions, packets))
    assert found.number == FieldAt(8, 8, "little")
    assert found.evidence.missing == 0
    if sessions > 1:
        assert (found.stream, found.key) == (("key",), FieldAt(4, 4, "big"))
    assert [other.says for other in found.heartbeats] == [None], "handshakes state no number"


def test_much_that_is_missing_from_an_orderly_capture_is_a_doubt() -> None:
    payloads = [b"feed" + struct.pack(">I", n) + b"data" for n in range(2_000) if n % 25]
    found = best(payloads)
    assert found.confidence == "low"
    assert found.notes == (
        "79 numbers are missing, and nothing came late or twice: it may count something else than"
        " datagrams",
    )
    assert best([*payloads[:500], payloads[499], *payloads[500:]]).confidence == "high"


def test_the_upper_byte_of_a_number_is_no_key() -> None:
    """A counter that restarts for every caller: what looks like 256 numbers a key is a carry."""
    payloads = [p for p in wireguard(3, 1_000) if p[0] == 4]
    columns = {tuple(range(k.offset, k.stop)) for k in [best(payloads).key] if k is not None}
    assert columns == {(4, 5, 6, 7)}
