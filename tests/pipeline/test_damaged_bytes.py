"""Captures with damaged bytes, and those whose checksums say nothing (decoders/README.md 6).

Recordings of real members, in which every checksum is right, with some bytes changed.
"""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress
from tests.decoders.network.builders import added, pseudo, record_offsets
from tests.degraded.captures import Record, read

DIRECT: Final = Options(engine="direct")
LOSS: Final = "jgroups/n4-loss-1/C.pcap"
FRAGMENTS: Final = "jgroups/u3n2-ipfrag-loss-2/C.pcap"
MESH: Final = "raims/mesh-plain-1/C.pcap"

Spoil = Callable[[int, Record], bytes]
IP: Final = 14  # offset of the IP header
BEHIND: Final = 34
SUMS: Final = {17: BEHIND + 6, 6: BEHIND + 16}  # where the checksum of a protocol is


class Spoiler:
    """Writes a recording of ``fixtures/`` anew, under the same name each time."""

    def __init__(self, fixtures: Path, folder: Path) -> None:
        self._fixtures, self._folder = fixtures, folder

    def write(self, name: str, spoil: Spoil) -> CaptureInput:
        capture = read(self._fixtures / name)
        path = self._folder / "capture.pcap"
        changed = [replace(r, data=spoil(n, r)) for n, r in enumerate(capture.records, 1)]
        path.write_bytes(capture.of(changed).written())
        return CaptureInput(str(path))

    def report(self, name: str, spoil: Spoil, options: Options = DIRECT) -> Any:
        return audit([self.write(name, spoil)], options)


@pytest.fixture
def spoiler(fixtures: Path, tmp_path: Path) -> Spoiler:
    return Spoiler(fixtures, tmp_path)


def as_it_is(_: int, record: Record) -> bytes:
    return record.data


def summed(record: Record) -> bool:
    """Whether a whole UDP datagram or TCP segment with a checksum is in it."""
    data = record.data
    return (
        len(data) > BEHIND
        and data[12:15] == b"\x08\x00\x45"
        and data[23] in SUMS
        and not int.from_bytes(data[20:22], "big") & 0x3FFF
    )


def bit(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def each(step: int) -> Spoil:
    """A bit of the last byte of each such packet is another."""
    return lambda n, r: bit(r.data, len(r.data) - 1) if summed(r) and n % step == 0 else r.data


def told(put: Callable[[bytes], int], *senders: bytes) -> Spoil:
    """These senders' checksums are others; of no sender: of all."""

    def spoil(_: int, record: Record) -> bytes:
        data = record.data
        if not summed(record) or (senders and data[26:30] not in senders):
            return data
        at = SUMS[data[23]]
        return data[:at] + struct.pack(">H", put(data)) + data[at + 2 :]

    return spoil


def not_completed(data: bytes) -> int:
    """What a system leaves for a card to complete."""
    source, destination = (".".join(map(str, data[at : at + 4])) for at in (26, 30))
    size = int.from_bytes(data[16:18], "big") - 20
    return added(pseudo(source, destination, data[23], size))


def of(report: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in report["findings"] if finding["rule"] == rule]


@pytest.mark.parametrize("name", [LOSS, FRAGMENTS, MESH])
@pytest.mark.parametrize(
    "put",
    [
        pytest.param(lambda data: 0, id="none"),
        pytest.param(lambda data: 0x4242, id="anything"),
        pytest.param(not_completed, id="of the pseudo-header"),
    ],
)
def test_checksums_that_are_never_made_change_nothing(
    name: str, put: Callable[[bytes], int], spoiler: Spoiler
) -> None:
    assert to_json(spoiler.report(name, told(put))) == to_json(spoiler.report(name, as_it_is))


def test_checksums_that_one_sender_never_makes_change_nothing(spoiler: Spoiler) -> None:
    garbage = told(lambda data: 0x4242, b"\x0a\x50\x00\x03")  # the member of the capture
    assert to_json(spoiler.report(LOSS, garbage)) == to_json(spoiler.report(LOSS, as_it_is))


@pytest.mark.parametrize("name", [LOSS, MESH])
def test_a_damaged_packet_is_counted_said_and_in_no_stream(name: str, spoiler: Spoiler) -> None:
    spoiled = spoiler.report(name, each(10))
    path = Path(spoiler.write(name, as_it_is).path)
    count = sum(summed(r) for n, r in enumerate(read(path).records, 1) if n % 10 == 0)
    first = next(n for n, r in enumerate(read(path).records, 1) if n % 10 == 0 and summed(r))
    (finding,) = of(spoiled, "CP021")
    assert finding["certainty"] == "proven"
    assert finding["text"].startswith(f"{count} packets have a wrong checksum")
    assert finding["evidence"][0]["frame"] == first
    assert finding["at_ns"] == read(path).records[first - 1].at_ns
    frames_by = spoiled["captures"][0]["frames_by"]
    assert frames_by["malformed"] == count
    assert sum(frames_by.values()) == len(read(path).records)


@pytest.mark.parametrize("compile_it", [False, True])
def test_whose_a_connection_is_no_damaged_packet_says(compile_it: bool, spoiler: Spoiler) -> None:
    """The first bytes of one side are not a message any more: the connection was somebody else's,
    and the daemons at its ends seemed to be silent."""
    first, options = 39, replace(DIRECT, compile_it=compile_it)
    name = "raims/mesh-plain-1/B.pcap"
    head = BEHIND + 32 + 8  # of the message's bridge
    spoil: Spoil = lambda n, r: bit(r.data, head) if n == first else r.data  # noqa: E731
    whole, damaged = (spoiler.report(name, one, options) for one in (as_it_is, spoil))
    (found,) = of(damaged, "CP021")
    assert [seen["frame"] for seen in found["evidence"]] == [first]
    others = [report["captures"][0]["frames_by"]["other"] for report in (whole, damaged)]
    assert others[0] == others[1]


def test_a_damaged_packet_says_nothing_that_it_was_not_sent_to_say(spoiler: Spoiler) -> None:
    """The same as if it were not in the capture, but for what is said of it."""
    known = {stream["id"]: stream["messages"] for stream in
             spoiler.report(LOSS, as_it_is)["streams"]}  # fmt: skip
    found = spoiler.report(LOSS, each(7))["streams"]
    assert {stream["id"] for stream in found} <= set(known)
    assert all((stream["messages"] or 0) <= known[stream["id"]] for stream in found)


def test_a_damaged_fragment_damages_its_datagram(spoiler: Spoiler) -> None:
    whole = spoiler.report(FRAGMENTS, as_it_is)["captures"][0]["fragments"]
    assert whole["datagrams"] > 10

    def last_of_datagram(record: Record) -> bool:
        place = int.from_bytes(record.data[20:22], "big")
        return place & 0x1FFF > 0 and not place & 0x2000 and record.data[23] == 17

    lasts = [n for n, r in enumerate(read(Path(spoiler.write(FRAGMENTS, as_it_is).path)).records, 1)
             if r.data[12:15] == b"\x08\x00\x45" and last_of_datagram(r)]  # fmt: skip

    def spoil(n: int, record: Record) -> bytes:
        stop = IP + int.from_bytes(record.data[16:18], "big")
        return bit(record.data, stop - 1) if n in lasts[-3:] else record.data

    report = spoiler.report(FRAGMENTS, spoil)
    (finding,) = of(report, "CP021")
    incomplete = report["captures"][0]["fragments"]["incomplete"] - whole["incomplete"]
    assert incomplete == 0
    assert finding["text"].startswith("3 packets")


def test_packets_of_which_nobody_can_tell_prove_nothing_beside_damaged_ones(
    spoiler: Spoiler,
) -> None:
    bare = told(lambda data: 0, b"\x0a\x50\x00\x01")
    damage = each(10)

    def spoil(n: int, record: Record) -> bytes:
        return damage(n, record) if record.data[26:30] != b"\x0a\x50\x00\x01" else bare(n, record)

    report = spoiler.report(LOSS, spoil)
    (finding,) = of(report, "CP021")
    assert "10.80.0.1" in finding["text"]
    certainties = {f["certainty"] for f in report["findings"] if not f["rule"].startswith("CP")}
    assert certainties
    assert "proven" not in certainties


def test_most_wrong_and_several_right_is_unclear_and_proves_nothing(spoiler: Spoiler) -> None:
    report = spoiler.report(LOSS, lambda n, r: r.data if n % 4 == 0 else each(1)(n, r))
    assert [f["certainty"] for f in of(report, "CP021")] == ["likely"]
    assert not [f for f in report["findings"]
                if f["certainty"] == "proven" and not f["rule"].startswith("CP")]  # fmt: skip
    streams = [s for s in report["streams"] if "lost" in s]
    assert streams
    assert {s["lost"] for s in streams} == {None}


@pytest.mark.parametrize("name", [LOSS, FRAGMENTS, MESH])
@pytest.mark.parametrize(("every", "most"), [(97, 4_500), (1_000, 60_000)])
def test_where_a_damaged_capture_is_cut_changes_nothing(
    name: str, every: int, most: int, spoiler: Spoiler
) -> None:
    given = spoiler.write(name, each(10))
    path = Path(given.path)
    path.write_bytes(path.read_bytes()[:most])
    cuts = {given.path: list(range(every, Path(given.path).stat().st_size, every))}
    whole = to_json(audit([given], DIRECT))
    assert to_json(audit([given], Options(engine="direct", cuts=cuts))) == whole
    compiled = replace(DIRECT, compile_it=True)
    assert to_json(audit([given], compiled)) == whole


def test_spark_gives_the_same_bytes_of_a_damaged_capture(
    spoiler: Spoiler, spark_place: SparkAddress
) -> None:
    for name in (LOSS, MESH):
        given = spoiler.write(name, each(10))
        offset = record_offsets(Path(given.path).read_bytes())[60]
        cut = Options(engine="spark", place=spark_place, cuts={given.path: [offset]}, lanes=2)
        assert to_json(audit([given], cut)) == to_json(audit([given], DIRECT))
