"""From results to the report: frame numbers, names, texts, filters (decoders/README.md 3,
replay/README.md 5, cli/README.md 2)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import FRAME_BITS
from seqaudit.decoders.network.account_rows import PieceAccount
from seqaudit.pipeline.report.accounts import CLUSTERS, frames_of_splits, merge, merge_ends
from seqaudit.pipeline.report.frames import FILTER_PARTS, FrameNumbers
from seqaudit.pipeline.report.names import Names, SeenMember
from seqaudit.pipeline.report.order import sort_rows
from seqaudit.pipeline.shared.plan import File


def file(name: str, first_split: int, stop_split: int) -> File:
    return File(name, name, "pcap", "", first_split, stop_split)


#: Capture 0 is one file in three pieces, capture 1 two rotated files.
FILES = ((file("a", 0, 3),), (file("b", 3, 4), file("c", 4, 6)))
FRAMES = [(0, 10), (1, 0), (2, 5), (3, 7), (4, 2), (5, 4)]


@pytest.fixture
def frames() -> FrameNumbers:
    accounts: list[PieceAccount] = [{"piece": split, "frames": n} for split, n in FRAMES]
    accounts.append({"piece": 0, "frames": 0})  # of fragments: none of its own
    return FrameNumbers(FILES, frames_of_splits(accounts))


def job_frame(split: int, number: int) -> int:
    return split << FRAME_BITS | number


@pytest.mark.parametrize(
    ("split", "number", "wireshark", "file_number"),
    [(0, 1, 1, 0), (0, 10, 10, 0), (2, 1, 11, 0), (3, 7, 7, 0), (4, 2, 2, 1), (5, 1, 3, 1)],
)
def test_a_job_frame_becomes_wiresharks_number_in_its_file(
    frames: FrameNumbers, split: int, number: int, wireshark: int, file_number: int
) -> None:
    frame = job_frame(split, number)
    assert (frames.number(frame), frames.file(frame)) == (wireshark, file_number)


def test_frames_are_resolved_wherever_they_are_and_say_their_file_if_there_are_several(
    frames: FrameNumbers,
) -> None:
    value = {
        "frame": job_frame(5, 1),
        "lost_after_frame": None,
        "frames": 12,  # a number of frames
        "evidence": [{"frame": job_frame(3, 2), "frames": [job_frame(4, 1), job_frame(5, 4)]}],
    }
    assert frames.resolved(value, 1) == {
        "frame": 3,
        "frame_file": 1,
        "lost_after_frame": None,
        "frames": 12,
        "evidence": [{"frame": 2, "frame_file": 0, "frames": [1, 6], "frames_file": [1, 1]}],
    }
    assert frames.resolved({"frame": job_frame(2, 3)}, 0) == {"frame": 13}


def test_a_display_filter_names_frames_and_ranges(frames: FrameNumbers) -> None:
    def shown(*numbers: int) -> str:
        return frames.display_filter(job_frame(0, n) for n in numbers)

    assert shown() == "frame"
    assert shown(4, 4) == "frame.number == 4"
    assert shown(12, 1, 2, 3, 8, 9) == "frame.number in {1..3, 8..9, 12}"
    many = shown(*range(1, 1000, 2))
    assert many.count(",") == FILTER_PARTS - 1


def test_a_display_filter_is_for_one_file(frames: FrameNumbers) -> None:
    assert frames.display_filter([job_frame(4, 1), job_frame(3, 2)]) == "frame.number == 1"


def test_without_frames_the_filter_spans_the_stream(frames: FrameNumbers) -> None:
    assert frames.span_filter(None) == "frame"
    span = (job_frame(0, 3), job_frame(2, 1))
    assert frames.span_filter(span) == "frame.number >= 3 && frame.number <= 11"
    assert frames.span_filter((job_frame(3, 2), job_frame(5, 4))) == "frame.number >= 2"


def test_names_are_given_then_the_wires_then_short() -> None:
    members: list[SeenMember] = [
        {"capture": 0, "member": "11111111-aa", "name": "A", "address": "10.0.0.1:7800"},
        {"capture": 0, "member": "22222222-bb", "name": "B", "address": "[fd00::2]:7800"},
        {"capture": 0, "member": "33333333-cc", "name": "C"},
        {"capture": 0, "member": "44444444-dd"},
    ]
    names = Names({"11111111-aa": "one", "fd00::2": "two"}, members)
    asked = [m["member"] for m in members]
    assert [names.of(member) for member in asked] == ["one", "two", "C", "44444444"]
    assert names.of(None) is None
    assert names.member_at(0, "10.0.0.1") == "11111111-aa"
    assert names.member_at(1, "10.0.0.1") is None


def account(piece: int, **more: Any) -> Any:
    return {"piece": piece, "frames": 0} | more


def test_accounts_of_pieces_add_up() -> None:
    merged = merge(
        [
            account(1, frames=3, frames_by={"decoded": 2, "other": 1}, first_ns=5, last_ns=9,
                    messages_by={"nakack4": {"MSG": 4}}, skipped=[[7, 9, "x"]],
                    skipped_more=[2, 100], cut=True,
                    endpoints=[["udp", "z", 1, "", 2, 20]]),
            account(0, frames=2, frames_by={"decoded": 2}, first_ns=1, last_ns=4,
                    messages_by={"nakack4": {"MSG": 1, "ACK": 1}},
                    endpoints=[["udp", "z", 1, "", 1, 10], ["udp", "y", 1, "", 3, 30]]),
            account(2),
        ],
        [file("a", 0, 3)],
    )  # fmt: skip
    expected = {
        "frames": 5,
        "frames_by": {
            "decoded": 4, "other": 1, "malformed": 0, "truncated": 0, "undecodable": 0
        },
        "messages_by": {"nakack4": {"MSG": 5, "ACK": 1}},
        "first_ns": 1,
        "last_ns": 9,
        "cut": True,
        "skipped": [{"file": "a", "from": 7, "to": 9, "why": "x"}],
        "skipped_more": 2,
        "skipped_bytes": 102,
        "endpoints": [["udp", "y", 1, "", 3, 30], ["udp", "z", 1, "", 3, 30]],
    }  # fmt: skip
    figures: dict[str, Any] = {**merged.figures}
    assert {key: figures[key] for key in expected} == expected


def test_of_unicasts_of_pieces_an_address_that_is_an_end_of_all_is_one_of_all_together() -> None:
    assert merge_ends(
        [
            {"frames": 2, "both": ["a", "b"], "outgoing": ["a"], "ttl": {"a": [63, 64]},
             "within": {"a": 3}},
            {"frames": 1, "both": ["b", "c"], "outgoing": [], "ttl": {"a": [64, 65]},
             "within": {"a": 1, "b": 2}},
            {"frames": 0, "both": [], "outgoing": [], "ttl": {}, "within": {}},
        ]
    ) == {"frames": 3, "both": ["b"], "outgoing": ["a"], "ttl": {"a": [63, 65]},
          "within": {"a": 4, "b": 2}}  # fmt: skip


def test_clusters_of_pieces_are_listed_by_what_was_heard_of_them_in_all() -> None:
    """A piece hands on many more than are listed, so that it does not matter where it ends."""
    parts = [{f"c{n:02}": 2 for n in range(40)}, {f"c{n:02}": n for n in range(30, 80)}]
    merged = merge([account(n, clusters=one) for n, one in enumerate(parts)], [file("a", 0, 2)])
    told = merged.figures["clusters"]
    assert (len(told), merged.figures["clusters_more"]) == (CLUSTERS, 80 - CLUSTERS)
    assert set(told) == {f"c{n:02}" for n in [*range(14), *range(30, 80)]}
    assert told["c30"] == 32


@given(st.lists(st.fixed_dictionaries({"at": st.integers(0, 3), "what": st.integers(0, 20)})))
def test_rows_of_the_same_key_are_in_the_order_of_their_text(rows: list[dict[str, Any]]) -> None:
    expected = sorted(rows, key=lambda row: (row["at"], json.dumps(row, sort_keys=True)))
    sort_rows(rows, lambda row: (row["at"],))
    assert rows == expected


def test_resolving_leaves_the_value_as_it_was(frames: FrameNumbers) -> None:
    value = {"seqnos": [[1, 2], [4, 4]], "deep": [[{"frame": job_frame(2, 3)}], [1]]}
    resolved = frames.resolved(value, 0)
    assert resolved == {"seqnos": [[1, 2], [4, 4]], "deep": [[{"frame": 13}], [1]]}
    assert value["deep"] == [[{"frame": job_frame(2, 3)}], [1]]
