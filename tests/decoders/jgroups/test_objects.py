"""Rare objects, read in plain Python: no bytes raise, and shorter bytes are no object."""

import uuid
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.jgroups import objects
from tests.decoders.jgroups.builders import (
    V3_5_0,
    V3_6_0,
    V4_2_22,
    V5_2_0,
    V5_6_0,
    A,
    B,
    bits,
    i16,
    i32,
    ip4,
    text,
    vlong,
    vpair,
    who,
    whos,
)

VERSIONS = st.sampled_from([0, V3_5_0, V3_6_0, V4_2_22, V5_2_0, V5_6_0])


@pytest.mark.rule("jgroups.md 1.2")
def test_the_halves_of_a_uuid_are_swapped_on_the_wire() -> None:
    wire = bytes.fromhex("02a42ff3c9ce2c333fa1712e9a416943b7")
    assert objects.address_text(wire) == "a1712e9a-4169-43b7-a42f-f3c9ce2c333f"
    assert objects.address_text(wire[:-1]) is None
    assert objects.address_text(b"\1") is None


@given(st.uuids())
def test_a_uuid_reads_as_written(member: uuid.UUID) -> None:
    assert objects.address_text(who(str(member))) == str(member)


@pytest.mark.rule("jgroups.md 2.5")
@given(st.integers(0, 1 << 61), st.integers(0, 300), st.data())
def test_ranges_of_a_bit_set_are_its_seqnos(offset: int, size: int, data: st.DataObject) -> None:
    chosen = sorted(data.draw(st.sets(st.integers(0, max(size - 1, 0)), max_size=size)))
    seqnos = [offset + n for n in chosen]
    found = objects.seqno_ranges(b"\1\0\x0f" + bits(seqnos, offset, size), V5_6_0)
    assert found is not None
    assert [n for low, stop in found for n in range(low, stop)] == seqnos
    assert all(first[1] < second[0] for first, second in pairwise(found))


@pytest.mark.rule("jgroups.md 2.5")
def test_bits_beyond_the_size_do_not_count() -> None:
    raw = b"\1\0\x0f" + i32(3) + (7).to_bytes(8, "big") + b"\xff" * 8
    assert objects.seqno_ranges(raw, V5_6_0) == [(7, 10)]


@pytest.mark.rule("jgroups.md 2.5")
@pytest.mark.parametrize("raw", [b"\0", b"\1\0\x0f" + i32(0) + bytes(8)])
def test_an_empty_list_is_legal(raw: bytes) -> None:
    assert objects.seqno_ranges(raw, V5_6_0) == []


@pytest.mark.rule("jgroups.md 3")
def test_listed_ranges_that_touch_are_joined() -> None:
    raw = b"\1\1\0\x5e" + i32(4)
    raw += b"\0" + vlong(9) + b"\1" + vpair(3, 4) + b"\0" + vlong(5) + b"\0" + vlong(9)
    assert objects.seqno_ranges(raw, V3_5_0) == [(3, 6), (9, 10)]


@pytest.mark.rule("jgroups.md 2.5")
@pytest.mark.parametrize("seqno", [-1, 1 << 62])
def test_seqnos_that_no_sender_reaches_are_no_list(seqno: int) -> None:
    assert objects.seqno_ranges(b"\1\1\0\x5e" + i32(1) + b"\0" + vlong(seqno), V3_5_0) is None
    far = i32(1) + (seqno & ((1 << 64) - 1)).to_bytes(8, "big") + bytes(8)
    assert objects.seqno_ranges(b"\1\0\x0f" + far, V5_6_0) is None
    pair = b"\x9a" + b"\xff" * 19
    assert objects.seqno_ranges(b"\1\1\0\x5e" + i32(1) + b"\1" + pair, V3_5_0) is None
    assert objects.digest(b"\1" + whos(A) + pair, V4_2_22) is None


@pytest.mark.rule("jgroups.md 2.6")
@pytest.mark.parametrize("index", [2, 9])
def test_a_subgroup_cannot_name_a_member_that_is_not_listed(index: int) -> None:
    raw = i16(5) + who(A) + vlong(1) + whos(A, B) + i16(1) + i16(index) + bytes(8) + i16(0)
    assert objects.view_message(raw) is None


@pytest.mark.rule("jgroups.md 2.6")
def test_a_digest_without_addresses_has_as_many_pairs_as_the_view_members() -> None:
    view = who(A) + vlong(1) + whos(A, B)
    assert objects.join_response(b"\1\3" + view + i16(1) + vpair(1, 1)) is None
    assert objects.join_response(b"\1\3" + view + i16(2) + vpair(1, 1) + vpair(2, 5)) == {
        "merge": False,
        "view": {"id": [A, 1], "members": [A, B]},
        "digest": {A: [1, 1], B: [2, 5]},
    }


@pytest.mark.rule("jgroups.md 2.6")
def test_a_digest_that_leaves_bytes_over_was_misread() -> None:
    view = who(A) + vlong(1) + whos(A, B)
    addressed = whos(A, B) + vpair(6, 6) + vpair(2, 2)  # as VIEW has it, not JOIN_RSP
    assert objects.join_response(b"\1\3" + view + addressed) is None
    assert objects.view_message(i16(19) + view + addressed) is not None
    assert objects.view_message(i16(19) + view + addressed + b"\0") is None


@pytest.mark.rule("jgroups.md 2.7")
def test_discovery_data_has_nothing_after_it() -> None:
    one = who(A) + b"\1" + text("A") + ip4("10.80.0.1", 7800) + whos(A, B)
    named = objects.DiscoveredMember(A, "A", "10.80.0.1:7800")
    assert objects.ping_names(i32(1) + one, V5_6_0) == [named]
    assert objects.ping_names(i32(1) + one + b"\0", V5_6_0) is None
    assert objects.ping_names(b"\1" + one, V5_2_0) == [named]
    assert objects.ping_names(b"\0", V5_2_0) == []


@given(st.binary(max_size=60), VERSIONS)
def test_no_bytes_raise(raw: bytes, version: int) -> None:
    objects.address_text(raw)
    objects.seqno_ranges(raw, version)
    objects.seqno_ranges(b"\1\0\x0f" + raw, V5_6_0)
    objects.seqno_ranges(b"\1\1\0\x5e" + raw, version)
    objects.digest(raw, version)
    objects.digest(b"\1" + raw, V4_2_22)
    objects.view_message(raw)
    objects.view_message(b"\0\x0f" + raw)
    objects.join_response(b"\1" + raw)
    objects.ping_names(raw, version)
    objects.merge_name(raw, A)
