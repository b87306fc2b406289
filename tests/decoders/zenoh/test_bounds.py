"""Whatever a capture says, decoding it costs a fixed bound (issue of zenoh; cli/README.md 2)."""

import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial

import lz4.block
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.zenoh import batches as zenoh
from seqaudit.decoders.zenoh import kernels as wire
from seqaudit.decoders.zenoh import messages as zenoh_messages
from seqaudit.decoders.zenoh.batches import BatchDecoder
from seqaudit.decoders.zenoh.tcp import ZenohFraming, ZenohStreams
from seqaudit.decoders.zenoh.tcp_kernels import LONGEST
from tests.decoders.zenoh import builders as z

#: The kernel's own tables, and rows and bytes of one round.
BOUND = (wire.OUT + zenoh.ROWS * wire.WIDTH) * 8 + 3 * zenoh.MAX_UNPACKED

LENGTHS = (2**63, 2**64 - 1, 2**62, 2**32, 2**31 - 1, 65_536, 70_000)


def long_zint(value: int) -> bytes:
    """Nine bytes, as the longest ones have."""
    low = bytes(value >> 7 * i & 0x7F | 0x80 for i in range(8))
    return low + bytes([value >> 56 & 0xFF])


def peak(run: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def decode(payloads: Sequence[bytes]) -> list[int]:
    return [
        int(status) for status in BatchDecoder().decode(z.batches(payloads, mode=wire.KNOWN))[1]
    ]


def claims(length: bytes) -> list[bytes]:
    """A length wherever the wire has one."""
    one = z.put(1)
    return [
        z.frame(1, b"\x1d\x01\x01" + length + b"x"),  # payload
        z.frame(1, b"\x3d\x01" + length + b"x" + one),  # key expression
        z.frame(1, b"\x9d\x01\x42" + length + b"x" + one),  # extension
        z.frame(1, b"\x1d\x01\x21" + z.zint(1) + length),  # timestamp
        z.frame(1, b"\x1d\x01\x41\x03" + length),  # encoding with a schema
        z.frame(1, b"\x1d\x01\x81\x41" + length),  # SourceInfo
        z.frame(1, b"\x1d\x01\x81\x12" + length + b"\x00\x01x"),  # number of shared slices
        z.frame(1, b"\xbc\x01\x01" + length),  # request
        z.frame(1, b"\x1c\x01\x01\x43" + length + b"_sn"),  # parameters
        z.frame(1, b"\x9b\x01\x01\x43" + length),  # responder
        z.frame(1, b"\x5f\x01" + length + b"x"),  # OAM
        b"\x61\x0a\x01" + length + b"c",  # cookie
        b"\x22\x09\xf1" + z.ZID + length + b"\x01x",  # locators of a Hello
    ]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_length_field_costs_nothing_whatever_it_says(length: int) -> None:
    decode(claims(long_zint(5)))  # the kernel's tables are made
    for payload in claims(long_zint(length)):
        assert peak(partial(decode, [payload])) < BOUND
        assert zenoh_messages.read(payload[2:]) is None or len(payload) < 100


def test_blocks_that_hold_255_times_their_size_are_unpacked_a_bound_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = z.frame(1, z.push(z.put(1, bytes(60_000))))
    block = b"\x01" + lz4.block.compress(batch, store_size=False)
    assert len(block) < 400
    payloads = [block] * 3_000  # 180 MB
    made: list[int] = []
    rounds = BatchDecoder._rounds

    def watched(self: BatchDecoder, *arguments: object) -> object:
        for begin, stop, data in rounds(self, *arguments):  # type: ignore[arg-type]
            made.append(len(data))
            yield begin, stop, data

    monkeypatch.setattr(BatchDecoder, "_rounds", watched)
    used = peak(lambda: made.append(-sum(decode(payloads)) * 0))
    assert len([size for size in made if size]) > 5
    assert max(made) <= zenoh.MAX_UNPACKED + sum(map(len, payloads))
    assert used < 2 * BOUND


def test_batches_behind_each_other_decode_alike_in_any_number_of_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    payloads = [z.compressed(z.frame(n, *[z.push(z.put(n))] * 30)) for n in range(40)]
    payloads[7] = z.frame(7, z.push(z.put(7)))
    whole = BatchDecoder().decode(z.batches(payloads))
    monkeypatch.setattr(zenoh, "MAX_UNPACKED", 3_000)
    parts = BatchDecoder().decode(z.batches(payloads))
    assert parts[1].tolist() == whole[1].tolist() == [wire.DECODED] * 40
    assert sum(b["count"].to_numpy().sum() for b in parts[0]) == sum(
        b["count"].to_numpy().sum() for b in whole[0]
    )


@pytest.mark.parametrize(
    "block",
    [
        b"\x1f\x25\x01\x00" + b"\xff" * 60_000 + b"\x00",  # a match of 15 MB
        b"\xff\x25" + b"\xff" * 60_000,  # literals that go on
        b"\x10\x25\x00\x00",  # a match at no distance
        b"\x10\x25\xff\xff",  # and at one before the beginning
    ],
)
def test_an_lz4_block_that_claims_more_than_a_batch_is_refused_unread(block: bytes) -> None:
    assert decode([b"\x01" + block]) in ([wire.NOTHING], [wire.MALFORMED])
    assert peak(lambda: decode([b"\x01" + block])) < BOUND


def test_messages_of_two_bytes_are_bounded_for_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zenoh, "MAX_CHUNK_ROWS", 1_000)
    monkeypatch.setattr(zenoh, "MAX_UNPACKED", 4_000)
    batch = z.compressed(z.frame(1, *[b"\x1a\x01"] * 900))
    decoder = BatchDecoder()
    found, status = decoder.decode(z.batches([batch] * 20, mode=wire.KNOWN))
    assert sum(part.num_rows for part in found) < 1_000 + 3 * 4_000
    told = decoder.account()["undecoded"]
    assert isinstance(told, dict)
    left = told["zenoh: more messages than a capture can need"]
    assert left == int((status == wire.NOTHING).sum()) > 0


def test_over_tcp_a_length_makes_nobody_wait_for_gigabytes() -> None:
    framing = ZenohFraming(True, compile_it=False)
    opening = b"".join(len(b).to_bytes(2, "little") + b for b in (z.init(), z.opened(5)))
    framing.split(opening, False)
    for length in (2**32 - 1, 2**31, LONGEST + 1):
        data = length.to_bytes(4, "little") + z.push(z.put(1))
        found = framing.split(data, False)
        assert found.wanted <= 1 << 20
    system = ZenohStreams(DecodeSettings())
    assert peak(lambda: system.recognise(b"\xff" * 70_000, False)) < BOUND


@settings(max_examples=30)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=300),
            st.builds(
                lambda head, length, tail: head + long_zint(length) + tail,
                st.sampled_from(
                    [b"\x25\x01\x3d\x01", b"\x05\x01\x1d\x01\x81", b"\x01\x1f", b"\x61"]
                ),
                st.integers(0, 2**64 - 1),
                st.binary(max_size=40),
            ),
            st.binary(max_size=200).map(
                lambda raw: b"\x01" + lz4.block.compress(raw * 300, store_size=False)
            ),
        ),
        max_size=20,
    )
)
def test_any_bytes_stay_within_the_bound(payloads: list[bytes]) -> None:
    assert peak(lambda: decode(payloads)) < BOUND
