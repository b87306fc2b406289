"""A feed at its sender and at a receiver in one audit: what the path lost is what was dropped."""

import random
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.contract.passage_rows import NO_CLOCKS
from seqaudit.replay.feeds.both_ends import ANEW, TOO_FEW
from tests.decoders.network.builders import ethernet, ipv4, pcap, record_offsets, udp

SENDER, RECEIVER, GROUP, PORT = "10.0.0.1", "10.0.0.2", "239.7.7.7", 26400
SECOND: Final = 1_000_000_000
BEGAN: Final = 1_790_000_000 * SECOND
#: How much later the receiver's clock is.
APART: Final = 37 * SECOND

Sent = tuple[int, int, int]  # number, messages, IP id


def mold(number: int, count: int) -> bytes:
    return b"SESSION-1 " + struct.pack(">QH", number, count) + b"\0\1x" * count


def rtp(number: int, count: int) -> bytes:
    return struct.pack(">BBHII", 0x80, 96, number & 0xFFFF, 160 * number, 0x1234) + bytes(160)


def written(
    path: Path,
    sent: Iterable[Sent],
    begins_ns: int,
    payload: Callable[[int, int], bytes] = mold,
    *,
    snapped: Iterable[int] = (),
) -> str:
    """A capture of datagrams 1 ms apart by their IP ids, in the order given; of some it holds the
    first bytes only."""
    frames, times, now = [], [], 0
    for number, count, ident in sent:
        packet = udp(payload(number, count), 9_000, PORT)
        frames.append(ethernet(ipv4(packet, SENDER, GROUP, ident=1 + ident % 65_535)))
        now = max(now, begins_ns + ident * 1_000_000)
        times.append(now)
    sizes = [len(frame) for frame in frames]
    for place in snapped:
        frames[place] = frames[place][:50]
    path.write_bytes(pcap(frames, times_ns=times, originals=sizes))
    return str(path)


def stream(datagrams: int, chance: random.Random) -> list[Sent]:
    sent, number = [], 1
    for ident in range(datagrams):
        count = chance.randrange(1, 4)
        sent.append((number, count, ident))
        number += count
    return sent


def report_of(captures: list[tuple[str, str]], feed: str = "moldudp64", **given: Any) -> Any:
    inputs = [CaptureInput(path, at=at) for path, at in captures]
    feeds = feeds_of([f"{feed}@{GROUP}:{PORT}"], [])
    return audit(inputs, Options(engine="direct", feeds=feeds, **given))


def both(
    folder: Path, sent: list[Sent], came: list[Sent], *, turned: bool = False, **given: Any
) -> Any:
    captures = [
        (written(folder / "s.pcap", sent, BEGAN), SENDER),
        (written(folder / "r.pcap", came, BEGAN + APART), RECEIVER),
    ]
    return report_of(captures[::-1] if turned else captures, **given)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_path_lost_is_what_was_dropped(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    sent = stream(400, chance)
    # of the last 50 ms nobody can tell that it does not come yet
    dropped = {ident for ident in range(5, 330) if chance.random() < 0.1}
    came = [each for each in sent if each[2] not in dropped]
    for place in chance.sample(range(10, 300), 9):
        came[place], came[place + 1] = came[place + 1], came[place]  # overtaken
        came.insert(place + 5, came[place])  # and the network brings it again
    report = both(tmp_path, sent, came, turned=bool(seed % 2))
    (met,) = report["both_ends"]
    (path,) = met["path"]
    lost = sum(count for _, count, ident in sent if ident in dropped)
    assert (met["sender"], met["receiver"], met["system"]) == (SENDER, RECEIVER, "feed")
    assert (path["lost_on_path"], path["missing"], path["why"]) == (lost, lost, None)
    numbers = {n for first, count, ident in sent if ident in dropped
               for n in range(first, first + count)}  # fmt: skip
    assert {n for a, b in path["seqnos"] for n in range(a, b + 1)} == numbers
    (found,) = [f for f in report["findings"] if f["rule"] == "CP031"]
    assert (found["certainty"], found["capture"]) == ("proven", met["sender_capture"])


def test_before_it_joined_and_after_its_end_nothing_is_lost(tmp_path: Path) -> None:
    sent = stream(300, random.Random(5))
    (met,) = both(tmp_path, sent, sent[100:200])["both_ends"]
    (path,) = met["path"]
    assert path["lost_on_path"] is None
    assert path["missing"] == sum(count for _, count, ident in sent if ident >= 200)
    assert path["why"] == NO_CLOCKS


def test_cuts_and_kernels_change_nothing_of_both_ends(tmp_path: Path) -> None:
    sent = stream(200, random.Random(6))
    came = [each for each in sent if each[2] % 11 != 3]
    captures = [
        (written(tmp_path / "s.pcap", sent, BEGAN), SENDER),
        (written(tmp_path / "r.pcap", came, BEGAN + APART), RECEIVER),
    ]
    cuts = {path: record_offsets(Path(path).read_bytes())[1:-1:7] for path, _ in captures}
    whole = to_json(report_of(captures))
    assert '"both_ends":[{' in whole.replace(" ", "").replace("\n", "")
    assert to_json(report_of(captures, cuts=cuts)) == whole
    assert to_json(report_of(captures, cuts=cuts, compile_it=True)) == whole


def test_numbers_that_come_round_are_not_compared(tmp_path: Path) -> None:
    numbers = [(number, 1, number) for number in range(1, 100)]
    captures = [
        (written(tmp_path / "s.pcap", numbers, BEGAN, rtp), SENDER),
        (written(tmp_path / "r.pcap", numbers[:40] + numbers[50:], BEGAN, rtp), RECEIVER),
    ]
    (met,) = report_of(captures, "rtp")["both_ends"]
    (path,) = met["path"]
    assert (path["lost_on_path"], path["missing"]) == (None, 10)
    assert path["why"] == TOO_FEW.format(65_536)


def test_a_numbering_that_begins_anew_is_not_compared(tmp_path: Path) -> None:
    first = [(5_000 + ident, 1, ident) for ident in range(200)]
    again = [(1 + ident - 200, 1, ident) for ident in range(200, 2_000)]
    report = both(tmp_path, [*first, *again], [*first[:90], *first[99:], *again])
    assert report["streams"][0]["restarts"] == 1
    (met,) = report["both_ends"]
    (path,) = met["path"]
    assert (path["lost_on_path"], path["why"]) == (None, ANEW)
    assert "CP031" not in {f["rule"] for f in report["findings"]}


def test_a_hole_in_the_senders_capture_loses_nothing(tmp_path: Path) -> None:
    sent = stream(100, random.Random(7))
    report = both(tmp_path, [each for each in sent if not 40 <= each[2] < 50], sent)
    (met,) = report["both_ends"]
    (path,) = met["path"]
    assert (path["lost_on_path"], path["missing"]) == (0, 0)
    assert path["arrived"] - path["sent"] == sum(c for _, c, i in sent if 40 <= i < 50)


def test_datagrams_captured_in_part_are_not_lost(tmp_path: Path) -> None:
    sent = stream(200, random.Random(9))
    captures = [
        (written(tmp_path / "s.pcap", sent, BEGAN), SENDER),
        (written(tmp_path / "r.pcap", sent, BEGAN + APART, snapped=range(40, 60)), RECEIVER),
    ]
    report = report_of(captures)
    assert report["captures"][1]["frames_by"]["truncated"] == 20
    (path,) = report["both_ends"][0]["path"]
    assert path["missing"] == sum(count for _, count, ident in sent if 40 <= ident < 60)
    assert path["lost_on_path"] is None
    assert "captured only in part" in path["why"]
    (told,) = [finding for finding in report["findings"] if finding["rule"] == "CP031"]
    assert told["severity"] == "info"  # "lost on the way, or not captured there"


def test_captures_of_two_receivers_are_no_two_ends(tmp_path: Path) -> None:
    sent = stream(100, random.Random(8))
    captures = [
        (written(tmp_path / "a.pcap", sent, BEGAN), "10.0.0.3"),
        (written(tmp_path / "b.pcap", sent[:50] + sent[60:], BEGAN), RECEIVER),
    ]
    assert report_of(captures)["both_ends"] == []
