"""Where a capture of PGM and raims is cut changes nothing, whatever came late, never, or for the
second time, and whatever a receive window had no room for."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.raims import pgm_words
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.contract.parameters import GIVEN
from seqaudit.replay.pgm.parameters import PARAMETERS, WINDOW_SQNS
from seqaudit.replay.pgm.window import STEP_BITS
from tests.decoders.network.builders import ethernet, ipv4, pcap, record_offsets, udp
from tests.decoders.raims.builders import data, nak, odata, spm

SENDER, RECEIVER, GROUP = "10.77.0.1", "10.77.0.2", "239.192.0.1"
MS: Final = 1_000_000
FRAME: Final = 208_990_470 << 35
#: Waits so short that some of them end in each story.
TIMERS: Final = {"nak_data_retries": 2, "nak_rdata_wait_ms": 60, "nak_repeat_ms": 30,
                 "nak_back_off_ms": 5}  # fmt: skip

Told = tuple[int, bytes, bool]  # ms since the one before, a packet, whether the receiver sends it


def story(chance: random.Random) -> Iterator[Told]:
    """What a receiver's host sees: packets that are lost, late or come twice, NAKs and repairs."""
    first, kept = chance.choice([0, 50]), chance.choice([4, 16, 1000, 1000])
    loss = chance.choice([0.05, 0.15, 0.3])
    seqnos = {"A": 1, "B": 1}
    lost: list[tuple[int, list[bytes]]] = []
    late: list[bytes] = []
    for sqn in range(first, first + chance.randint(20, 60)):
        messages = []
        for subject in chance.choices("AAB", k=chance.randint(1, 2)):
            messages.append(data(f"_1.{subject}", FRAME + seqnos[subject]))
            seqnos[subject] += 1
        trail = max(first, sqn + 1 - kept)
        own = odata(sqn, *messages, trail=trail)
        if chance.random() >= loss:
            yield chance.choice([1, 1, 1, 5, 20, 60, 150]), own, False
            if chance.random() < 0.05:
                yield 1, own, False
        elif chance.random() < 0.6:
            lost.append((sqn, messages))
        else:
            late.append(own)
        if lost and chance.random() < 0.5:
            number, missing = chance.choice(lost)
            yield 3, nak(number), True
            if chance.random() < 0.5:
                yield 1, nak(number, sort=10), False
            if chance.random() < 0.5:
                lost.remove((number, missing))
                yield 2, odata(number, *missing, trail=trail, repair=True), False
        if late and chance.random() < 0.3:
            yield from ((1, one, False) for one in late)
            late = []
        if chance.random() < 0.05:
            yield 1, spm(sqn, trail, sqn), False
    yield 9_000, spm(1000, trail, sqn), False


def same_wherever_it_is_cut(told: Iterable[Told], given: dict[str, int], path: Path) -> bool:
    """Whether a capture in one piece and in one for each frame have the same report."""
    frames, times, at_ns = [], [], 0
    for gap, packet, asks in told:
        at_ns += gap * MS
        ends = (RECEIVER, SENDER) if asks else (SENDER, GROUP)
        frames.append(ethernet(ipv4(udp(packet, 50_000, 3055, checksum=0), *ends)))
        times.append(at_ns)
    path.write_bytes(pcap(frames, times_ns=times))
    parameters = {f"pgm.{name}": (value, GIVEN) for name, value in given.items()}
    whole, cut = (
        to_json(
            audit(
                [CaptureInput(str(path), at=RECEIVER)],
                Options(engine="direct", parameters=parameters, cuts={str(path): cuts}),
            )
        )
        for cuts in ([], record_offsets(path.read_bytes())[1:-1])
    )
    return whole == cut


@pytest.mark.parametrize("seed", range(8))
def test_where_a_capture_is_cut_changes_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    told = list(story(chance))
    given = {"rxw_sqns": chance.choice([4, 8, 16]), **(TIMERS if seed % 2 else {})}
    assert same_wherever_it_is_cut(told, given, tmp_path / "capture.pcap")


def test_nor_what_is_given_up_while_packets_come_without_a_pause(tmp_path: Path) -> None:
    """How many waited by then the report says."""
    packets = [(1, odata(sqn, data("_1.A", FRAME + sqn)), False) for sqn in range(1, 200)]
    told = [*packets[:4], *packets[5:8], (1, nak(5), True), *packets[8:]]
    assert same_wherever_it_is_cut(told, TIMERS, tmp_path / "capture.pcap")


def test_the_decoder_takes_a_window_to_be_as_large_as_the_engine_does() -> None:
    """Unless a parameter says otherwise to both."""
    assert DecodeSettings().receive_window_of(7) == PARAMETERS[WINDOW_SQNS].default


def test_runs_of_packets_end_where_the_engine_looks_at_its_timers() -> None:
    assert pgm_words.STEP_BITS == STEP_BITS
