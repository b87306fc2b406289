"""Blocks of raims tables: how many there are (raims.md 8)."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqaudit.replay.raims.blocks import (
    BLOCK_BYTES,
    BLOCK_ENTRIES,
    BLOCK_ROOM,
    SubjectBlocks,
    subject_hash,
)


def test_the_hash_of_a_recorded_subject() -> None:
    assert subject_hash(b"_7500.TICK.A") == 0x509EF5F2  # raims.md 5, annotated message


def test_a_table_has_no_block_until_it_holds_something() -> None:
    made = SubjectBlocks()
    assert made.size_bytes == 0
    made.insert(1, 40)
    assert made.size_bytes == BLOCK_BYTES


def test_a_block_splits_when_its_room_or_its_entries_are_used_up() -> None:
    by_room, by_count = SubjectBlocks(), SubjectBlocks()
    spread = [subject_hash(b"%d" % n) for n in range(BLOCK_ENTRIES + 1)]
    for number in spread[: BLOCK_ROOM // 40]:
        by_room.insert(number, 40)
    assert by_room.size_bytes == BLOCK_BYTES
    by_room.insert(spread[-1], 40)
    assert by_room.size_bytes == 2 * BLOCK_BYTES
    for number in spread[:BLOCK_ENTRIES]:
        by_count.insert(number, 8)
    assert by_count.size_bytes == BLOCK_BYTES
    by_count.insert(spread[-1], 8)
    assert by_count.size_bytes == 2 * BLOCK_BYTES


def test_removed_entries_make_room_and_empty_neighbours_are_joined() -> None:
    made = SubjectBlocks()
    numbers = [subject_hash(b"%d" % n) for n in range(2 * BLOCK_ROOM // 40)]
    half = len(numbers) // 2
    for number in numbers[:half]:
        made.insert(number, 40)
    made.remove(numbers[0], 40)
    made.insert(numbers[0], 40)  # fits once the removed one is swept
    assert made.size_bytes == BLOCK_BYTES
    for number in numbers[half:]:
        made.insert(number, 40)
    assert made.size_bytes > BLOCK_BYTES
    for number in numbers[1:]:
        made.remove(number, 40)
    assert made.size_bytes == BLOCK_BYTES


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 1200)), max_size=300))
def test_no_block_is_overfull_and_none_is_lost(drawn: list[tuple[int, int]]) -> None:
    made = SubjectBlocks()
    for number, units in drawn:
        made.insert(number, 8 * units)
    blocks = made._blocks
    assert [b.low for b in blocks[1:]] == [b.high + 1 for b in blocks[:-1]]
    assert all(b.low <= n <= b.high for b in blocks for n, _ in b.entries)
    assert sorted(e for b in blocks for e in b.entries) == sorted((n, 8 * u) for n, u in drawn)
