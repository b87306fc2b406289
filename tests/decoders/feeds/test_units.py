"""Several units in one datagram, fields at no fixed place, and numbers that are counted."""

import random
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.feed_layout import Route
from seqaudit.decoders.feeds import datagrams as feed_datagrams
from seqaudit.decoders.feeds import words
from seqaudit.decoders.feeds.files import read_feed
from tests.decoders.feeds.builders import GROUP, SENDER, decoded
from tests.decoders.feeds.naive import Packet

HERE = (Route("239.1.0.0/16", (26400, 26499)),)


def feed_of(text: str, places: tuple[Route, ...] = HERE) -> Any:
    return read_feed("feed: f\n" + text, "f.yaml").at(places)


def packets(*payloads: bytes, cut: int = 0) -> list[Packet]:
    return [
        Packet(SENDER, GROUP, payload[: len(payload) - cut], 1000 * number, length=len(payload))
        for number, payload in enumerate(payloads)
    ]


def numbers(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(r["frame"], r["index"], r["seqno"], r["stop_seqno"], r["count"]) for r in rows
            if r["wire_kind"] != "FEED"]  # fmt: skip


BY_LENGTH = """
byte_order: little
fields:
  seqno: {offset: 0, width: 4}
  size: {offset: 4, width: 1}
  kind: {offset: 5, width: 1}
seqno: seqno
repeat: {length: size}
messages:
  - {name: HEARTBEAT, when: {kind: 1}, is: heartbeat}
"""


def by_length(seqno: int, body: bytes = b"", kind: int = 0) -> bytes:
    return struct.pack("<IBB", seqno, 6 + len(body), kind) + body


def test_each_unit_of_a_datagram_counts() -> None:
    chunk = packets(
        by_length(1) + by_length(2, b"abc") + by_length(3),
        by_length(5) + by_length(6, kind=1) + by_length(9),
    )
    rows, outcomes, account = decoded([feed_of(BY_LENGTH)], [chunk])
    assert outcomes == ["decoded"] * 2
    assert numbers(rows) == [(1, 0, 1, 4, 3), (2, 0, 5, 6, 1), (2, 4, 9, 10, 1)]
    assert account["messages_by"] == {"feed f": {"DATA": 5, "HEARTBEAT": 1}}
    assert account["feeds"] == {"f": {"taken": 2, "refused": 0}}


def test_units_that_do_not_end_with_the_datagram_are_told_and_those_before_count() -> None:
    broken = by_length(1) + by_length(2, b"abc")[:-1]
    rows, outcomes, account = decoded([feed_of(BY_LENGTH)], [packets(broken, b"\0" * 5)])
    assert outcomes == ["decoded", "malformed"]
    assert numbers(rows) == [(1, 0, 1, 2, 1)]
    assert account["undecoded"] == {
        "feed f: units or blocks that do not end where the datagram does": 2
    }
    endless = struct.pack("<IBB", 1, 0, 0)
    assert decoded([feed_of(BY_LENGTH)], [packets(endless)])[1] == ["malformed"]


def test_of_a_datagram_that_was_cut_the_units_that_are_there_count() -> None:
    whole = by_length(1, b"ab") + by_length(2, b"ab")
    for cut, outcome, found in ((1, "decoded", 2), (3, "decoded", 1), (12, "truncated", 0)):
        rows, outcomes, _ = decoded([feed_of(BY_LENGTH)], [packets(whole, cut=cut)])
        assert outcomes == [outcome]
        assert sum(count for *_, count in numbers(rows)) == found


def test_where_nobody_said_the_place_the_units_fill_the_datagram() -> None:
    anywhere = feed_of(BY_LENGTH, (Route(),))
    fills, not_quite = by_length(1) + by_length(2), by_length(1) + by_length(2) + b"\0"
    assert decoded([anywhere], [packets(fills, not_quite)])[1] == ["decoded", "other"]


def test_a_count_in_the_datagram_says_how_many_units_there_are() -> None:
    feed = feed_of("""
fields:
  origin: {offset: 0, width: 2, of: datagram}
  units: {offset: 2, width: 2, of: datagram}
  seqno: {offset: 0, width: 4}
stream: [port, origin]
seqno: seqno
repeat: {first: 4, size: 6, count: units}
""")
    body = b"".join(struct.pack(">IH", n, 0) for n in (7, 8, 9))
    rows, outcomes, _ = decoded(
        [feed], [packets(struct.pack(">HH", 5, 2) + body, struct.pack(">HH", 5, 0))]
    )
    assert outcomes == ["decoded"] * 2
    assert numbers(rows) == [(1, 0, 7, 9, 2)]
    assert {row["stream"] for row in rows} == {"f|origin=5|:26400|"}


def test_a_field_may_follow_something_of_variable_size() -> None:
    feed = feed_of("""
fields:
  family: {offset: 0, width: 1}
  words: {offset: 1, width: 1, mask: 0x0f}
  agent: {offset: 2, width: 2, after: {field: family, sizes: {1: 4, 2: 16}}}
  seqno: {offset: 2, width: 4, after: {field: words, unit: 4}}
  last: {offset: -1, width: 1}
stream: [agent, last]
seqno: seqno
""")

    def datagram(family: int, seqno: int, words_before: int) -> bytes:
        head = bytes([family, 0x50 | words_before])
        size = {1: 4, 2: 16}.get(family, 0)
        body = bytearray(max(size + 2, 4 * words_before + 4) + 3)
        body[4 * words_before : 4 * words_before + 4] = seqno.to_bytes(4, "big")
        body[size : size + 2] = (
            b"\x01\x02" if size >= 4 * words_before + 4 else body[size : size + 2]
        )
        return head + bytes(body) + b"\x63"

    rows, outcomes, _ = decoded([feed], [packets(datagram(1, 8, 0), datagram(2, 70, 1))])
    assert outcomes == ["decoded"] * 2
    assert [(r["stream"], r["seqno"]) for r in rows if r["wire_kind"] == "DATA"] == [
        ("f|agent=258,last=99||", 8), ("f|agent=258,last=99||", 70),
    ]  # fmt: skip
    # A family that nobody knows has no agent; one byte less and the field is not all there.
    assert decoded([feed], [packets(datagram(3, 8, 0))])[1] == ["malformed"]
    assert decoded([feed], [packets(datagram(1, 8, 0), cut=1)])[1] == ["truncated"]
    assert decoded([feed], [packets(b"\x01\x0f" + bytes(8))])[1] == ["malformed"]


def test_a_number_may_count_bytes_or_grow_by_more_than_one() -> None:
    in_bytes = feed_of("""
fields:
  seqno: {offset: 0, width: 4}
seqno: seqno
count: {bytes: 4, unit: 2}
step: 2
""")
    rows, outcomes, account = decoded(
        [in_bytes],
        [packets(*(struct.pack(">I", n) + bytes(6) for n in (0, 6, 12, 20, 27)))],
    )
    assert outcomes == ["decoded"] * 4 + ["malformed"]
    assert numbers(rows) == [(1, 0, 0, 9, 9), (4, 0, 10, 13, 3)]
    assert account["undecoded"] == {"feed f: a number that is no multiple of 2": 1}
    wraps = struct.pack(">I", 2**32 - 4) + bytes(6)
    assert numbers(decoded([in_bytes], [packets(wraps)])[0]) == [
        (1, 0, 2**31 - 2, 2**31, 2), (1, 1, 0, 1, 1),
    ]  # fmt: skip


def test_messages_may_be_counted_by_their_blocks() -> None:
    feed = feed_of("""
fields:
  seqno: {offset: 0, width: 4}
seqno: seqno
count: blocks
blocks: {offset: 4, width: 1}
""")
    rows, outcomes, _ = decoded([feed], [packets(
        b"\0\0\0\x01" + b"\x01a\x02bb", b"\0\0\0\x03" + b"\x01a", b"\0\0\0\x04" + b"\x02a",
    )])  # fmt: skip
    assert outcomes == ["decoded", "decoded", "malformed"]
    assert numbers(rows) == [(1, 0, 1, 4, 3)]


def test_rows_and_streams_that_are_full_in_the_middle_of_a_datagram_lose_no_unit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from seqaudit.decoders.feeds import tables

    text = BY_LENGTH.replace("seqno: seqno", "stream: [kind]\nseqno: seqno", 1)
    text = text[: text.index("messages")]
    payload = b"".join(by_length(n, kind=n) for n in range(200))
    whole = decoded([feed_of(text)], [packets(payload)])[0]
    monkeypatch.setattr(tables, "ROWS", 64)
    monkeypatch.setattr(feed_datagrams, "ROWS", 64)
    assert decoded([feed_of(text)], [packets(payload)])[0] == whole
    monkeypatch.setattr(tables, "STREAMS", 9)
    rows, outcomes, _ = decoded([feed_of(text)], [packets(payload)])
    assert outcomes == ["decoded"] and rows == whole


LAYOUTS = ("one", "size", "length", "told", "counted")


@st.composite
def stories(draw: st.DrawFn) -> tuple[str, list[bytes], dict[int, int]]:
    """A layout, datagrams made by it, and how many numbers of each stream they hold."""
    how = draw(st.sampled_from(LAYOUTS))
    order: Any = draw(st.sampled_from(["big", "little"]))
    chance = random.Random(draw(st.integers(0, 10**6)))
    first, adds, unit = chance.choice([(4, 0, 1), (7, 2, 1), (4, 0, 4), (6, 3, 2)])
    step, tail = chance.choice([1, 1, 5]), chance.choice([0, 4])
    places = {1: 1, 2: 5}
    text = f"""
byte_order: {order}
fields:
  units: {{offset: 2, width: 1, of: datagram}}
  size: {{offset: 0, width: 2}}
  skip: {{offset: 2, width: 1}}
  key: {{offset: 3, width: 1, after: {{field: skip, sizes: {{1: 1, 2: 5}}}}}}
  count: {{offset: 4, width: 2, after: {{field: skip, sizes: {{1: 1, 2: 5}}}}}}
  seqno: {{offset: -{8 + tail}, width: 8}}
stream: [key]
seqno: seqno
count: count
step: {step}
"""
    length = 20 + tail + adds
    length += -(length - adds) % unit
    if how == "size":
        text += f"repeat: {{first: {first}, size: {length}}}\n"
    elif how != "one":
        told = f"{{field: skip, sizes: {{1: {adds}, 2: {adds + unit}}}}}"
        said = f"length: size, adds: {told if how == 'told' else adds}, unit: {unit}"
        text += f"repeat: {{first: {first}, {said}{', count: units' * (how == 'counted')}}}\n"
    following: dict[int, int] = {}
    payloads = []
    for _ in range(chance.randint(1, 12)):
        units = 1 if how == "one" else chance.randint(1, 5)
        payload = b"" if how == "one" else bytes(2) + bytes([units]) + b"\x77" * (first - 3)
        for _ in range(units):
            size = length if how in ("one", "size") else length + unit * chance.randint(0, 3)
            key, count, skip = chance.randint(1, 3), chance.randint(1, 4), chance.choice([1, 2])
            data = bytearray(b"\xee" * size)
            more = unit * (how == "told" and skip == 2)
            data[:2] = ((size - adds - more) // unit).to_bytes(2, order)
            data[2] = skip
            at = 3 + places[skip]
            data[at] = key
            data[at + 1 : at + 3] = count.to_bytes(2, order)
            number = following.get(key, 100)
            data[size - 8 - tail : size - tail] = (number * step).to_bytes(8, order)
            following[key] = number + count
            payload += bytes(data)
        if how == "counted":
            payload += b"\x99" * chance.randint(0, 3)  # what follows is none
        payloads.append(payload)
    return text, payloads, following


@pytest.mark.parametrize("compile_it", [False, True])
@given(stories())
@settings(max_examples=30)
def test_what_was_written_is_read(
    compile_it: bool, story: tuple[str, list[bytes], dict[int, int]]
) -> None:
    text, payloads, following = story
    feed = feed_of(text)
    rows, outcomes, _ = decoded([feed], [packets(*payloads)], compile_it=compile_it)
    assert outcomes == ["decoded"] * len(payloads)
    found = {r["stream"]: (r["seqno"], r["stop_seqno"]) for r in rows if r["wire_kind"] == "DATA"}
    assert found == {f"f|key={key}||": (100, stop) for key, stop in following.items()}
    middle = len(payloads) // 2
    chunks = [packets(*payloads)[:middle], packets(*payloads)[middle:]]
    assert decoded([feed], chunks, compile_it=compile_it)[0] == rows


@given(stories(), st.integers(1, 60))
@settings(max_examples=30)
def test_what_was_cut_off_or_damaged_is_the_same_in_both_modes(
    story: tuple[str, list[bytes], dict[int, int]], cut: int
) -> None:
    text, payloads, _ = story
    feed = feed_of(text)
    damaged = [bytes(b ^ (cut * 37 + n) % 251 * (n % 11 == cut % 11) for n, b in enumerate(p))
               for p in payloads]  # fmt: skip
    for chunk in (packets(*payloads, cut=cut), packets(*damaged)):
        plain = decoded([feed], [chunk])
        assert decoded([feed], [chunk], compile_it=True) == plain


def test_the_words_of_a_datagram_at_hand_are_behind_those_of_its_key() -> None:
    assert words.H_KEY + words.KEY_WORDS <= words.H_UNIT < words.HEAD
