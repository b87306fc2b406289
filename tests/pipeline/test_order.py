"""Records out of order, clocks that are set, and captures that hold all twice (replay/README.md
3)."""

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from struct import pack, unpack_from
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.replay.contract.report_rows import Report
from tests.degraded.captures import read

DIRECT = Options(engine="direct")
Records = list[tuple[int, bytes]]  # microseconds, and the rest of the record


def records(capture: Path) -> tuple[bytes, Records]:
    content = capture.read_bytes()
    found: Records = []
    at = 24
    while at < len(content):
        seconds, micros, size = unpack_from("<III", content, at)
        found.append((seconds * 1_000_000 + micros, content[at + 8 : at + 16 + size]))
        at += 16 + size
    return content[:24], found


def written(path: Path, head: bytes, found: Iterable[tuple[int, bytes]]) -> CaptureInput:
    rows = (pack("<II", at // 1_000_000, at % 1_000_000) + rest for at, rest in found)
    path.write_bytes(head + b"".join(rows))
    return CaptureInput(str(path))


@pytest.fixture
def spoiled(fixtures: Path, tmp_path: Path) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
    """The reports of a capture as it is and with its records changed."""

    def make(change: Callable[[Records], Records], **options: Any) -> tuple[Any, Any]:
        whole = fixtures / "jgroups" / "n4-loss-1" / "C.pcap"
        head, found = records(whole)
        given = written(tmp_path / "x.pcap", head, change(found))
        chosen = replace(DIRECT, **options)
        return audit([CaptureInput(str(whole))], DIRECT), audit([given], chosen)

    return make


def of_captures(report: Report) -> list[Any]:
    of_times = ("CP013", "CP014", "CP017", "CP022")
    return [f for f in report["findings"] if f["rule"] in of_times]


def others(report: Report) -> list[Any]:
    return [f for f in report["findings"] if not f["rule"].startswith("CP")]


def swapped(n: int) -> Callable[[Records], Records]:
    return lambda found: [*found[: n - 1], found[n], found[n - 1], *found[n + 1 :]]


def renumbered(value: Any, numbers: dict[int, int]) -> Any:
    """A report with other frame numbers."""
    if isinstance(value, list):
        return [renumbered(item, numbers) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: numbers.get(item, item)
        if (key == "frame" or key.endswith("_frame")) and isinstance(item, int)
        else renumbered(item, numbers)
        for key, item in value.items()
        if key not in ("filter", "text", "shows")
    }


@pytest.mark.parametrize("n", [20, 40, 57, 60, 90])
@pytest.mark.parametrize("compile_it", [False, True])
def test_two_records_that_changed_places_change_nothing_but_their_numbers(
    spoiled: Any, n: int, compile_it: bool
) -> None:
    whole, other = spoiled(swapped(n), compile_it=compile_it)
    numbers = {n: n + 1, n + 1: n}
    for part in ("streams", "gaps", "views", "connections"):
        assert renumbered(other[part], numbers) == renumbered(whole[part], {})
    assert renumbered(others(other), numbers) == renumbered(others(whole), {})
    (found,) = of_captures(other)
    assert (found["rule"], found["certainty"], found["severity"]) == ("CP013", "proven", "info")
    assert found["frame"] == n + 1  # the one that is late
    assert found["text"].startswith("1 record stands behind later ones, by at most ")


def test_a_capture_in_order_says_nothing_of_order(spoiled: Any) -> None:
    whole, same = spoiled(lambda found: found)
    assert of_captures(whole) == of_captures(same) == []


@pytest.mark.parametrize(
    ("tick_us", "said"),
    [
        (1_000, None),
        (15_625, "its clock ticks every 15.6 ms"),
        (10**6, "its clock ticks every 1 s"),
        (10**15, "all records have the same time"),
    ],
)
def test_a_clock_too_coarse_for_what_goes_by_time_is_said(
    spoiled: Any, tick_us: int, said: str | None
) -> None:
    whole, other = spoiled(lambda found: [(at // tick_us * tick_us, r) for at, r in found])
    found = of_captures(other)
    assert [(f["rule"], f["certainty"]) for f in found] == [("CP022", "proven")] * (
        said is not None
    )
    assert said is None or said in found[0]["text"]
    for key in ("messages", "copies"):
        assert [s[key] for s in other["streams"]] == [s[key] for s in whole["streams"]]


@pytest.mark.parametrize("back_s", [30, 300])
def test_a_clock_that_is_set_back_is_said_and_the_order_of_records_is_kept(
    spoiled: Any, back_s: int
) -> None:
    def step(found: Records) -> Records:
        return [(at - back_s * 1_000_000 * (n >= 49), rest) for n, (at, rest) in enumerate(found)]

    whole, other = spoiled(step)
    (found,) = of_captures(other)
    assert (found["rule"], found["certainty"], found["frame"]) == ("CP014", "proven", 50)
    by = f"{back_s} s" if back_s < 100 else f"{back_s // 60} min"
    assert f"The clock stepped back by about {by} at frame 50" in found["text"]
    for key in ("messages", "lost", "recovered", "reordered", "delivered"):
        assert [s.get(key) for s in other["streams"]] == [s.get(key) for s in whole["streams"]]


def test_what_a_receiver_had_cannot_be_told_where_files_of_two_directions_were_joined(
    spoiled: Any,
) -> None:
    """Nothing tells that from a clock that was set back, and what rests on the order is null."""
    here = bytes((10, 80, 0, 3))

    def sent(record: tuple[int, bytes]) -> bool:
        return record[1][34:38] == here

    def joined(found: Records) -> Records:
        return [r for r in found if sent(r)] + [r for r in found if not sent(r)]

    whole, other = spoiled(joined)
    assert [f["rule"] for f in of_captures(other)] == ["CP014"]
    assert any(stream["delivered"] for stream in whole["streams"])
    for stream in other["streams"]:
        assert stream["delivered"] is None and stream["lost"] is None
        assert stream["lost_seqnos"] is None
    assert any("time goes back" in s["unknown"].get("delivered", "") for s in other["streams"])


def test_one_late_record_that_may_stand_behind_a_step_is_said(spoiled: Any) -> None:
    """Record 95 came after a pause, and none of its sender before it is late by so little."""
    _, other = spoiled(
        lambda found: [(at - 300_000 * (n >= 94), r) for n, (at, r) in enumerate(found)]
    )
    (found,) = of_captures(other)
    assert found["rule"] == "CP013"
    assert "Nothing tells 1 record from one behind a step of the clock" in found["text"]


def test_a_loss_of_unknown_size_that_a_daemon_tells_of_is_not_sized_by_a_step(
    fixtures: Path, tmp_path: Path
) -> None:
    capture = read(fixtures / "raims" / "frame-unknown-loss-1" / "B.pcap")
    for stepped in (False, True):
        back = [r.moved(-300_000_000_000 * (n >= 223)) for n, r in enumerate(capture.records)]
        path = tmp_path / "x.pcap"
        path.write_bytes(capture.of(back if stepped else list(capture.records)).written())
        report = audit([CaptureInput(str(path), at="10.77.0.2")], DIRECT)
        assert not [f for f in report["findings"] if f["rule"] == "RA001"]
        (loss,) = [f for f in report["findings"] if f["rule"] == "RA002"]
        assert loss["text"] == "1 to 818 messages of A were lost; raims counts 1."
        assert loss["certainty"] == "proven"


def test_no_finding_across_a_step_is_proven(spoiled: Any) -> None:
    def step(found: Records) -> Records:
        return [(at - 30_000_000 * (n >= 49), rest) for n, (at, rest) in enumerate(found)]

    _, other = spoiled(step)
    across = [
        f for f in others(other)
        if min(frames := [e["frame"] for e in f["evidence"]], default=99) < 50 <= max(frames)
    ]  # fmt: skip
    assert across
    for finding in across:
        assert finding["certainty"] != "proven"
        assert "time goes back by 30 s" in finding["text"]


def test_a_file_that_ends_later_than_the_next_begins_is_noticed_at_the_border(
    fixtures: Path, tmp_path: Path
) -> None:
    head, found = records(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    first = written(tmp_path / "a.pcap", head, found[:50])
    second = written(
        tmp_path / "b.pcap", head, [(at - 60_000_000, rest) for at, rest in found[50:]]
    )
    report = audit([replace(first, more=(second.path,))], DIRECT)
    assert [(f["rule"], f["file"], f["frame"]) for f in of_captures(report)] == [
        ("CP014", "b.pcap", 1)
    ]


@pytest.mark.parametrize("cuts", [(50,), (49, 50, 51), (30, 50, 70)])
@pytest.mark.parametrize("engine", ["direct", "spark"])
def test_records_that_changed_places_across_files_are_put_in_order(
    fixtures: Path, tmp_path: Path, spark_place: SparkAddress, cuts: tuple[int, ...], engine: str
) -> None:
    whole = fixtures / "jgroups" / "n4-loss-1" / "C.pcap"
    head, found = records(whole)
    found[49], found[50] = found[50], found[49]
    assert found[49][0] > found[50][0]
    files = [
        written(tmp_path / f"{n}.pcap", head, found[a:b]).path
        for n, (a, b) in enumerate(pairwise([0, *cuts, len(found)]))
    ]
    given = CaptureInput(files[0], more=tuple(files[1:]))
    options = Options(engine="spark", place=spark_place) if engine == "spark" else DIRECT
    one = audit([CaptureInput(str(whole))], DIRECT)
    parts = audit([given], options)
    (said,) = of_captures(parts)
    assert said["text"].startswith("1 record stands behind later ones, by at most")
    for key in ("messages", "arrivals", "lost", "reordered", "delivered", "first_ns", "last_ns"):
        assert [s.get(key) for s in parts["streams"]] == [s.get(key) for s in one["streams"]]
    assert len(parts["gaps"]) == len(one["gaps"])
    told = [[(f["rule"], f["certainty"], f["text"]) for f in others(r)] for r in (parts, one)]
    assert sorted(told[0]) == sorted(told[1])


@pytest.mark.parametrize("lag_us", [20, 5_000, 1_500_000])
def test_what_was_captured_twice_is_counted_once(spoiled: Any, lag_us: int) -> None:
    def twice(found: Records) -> Records:
        return sorted([*found, *((at + lag_us, rest) for at, rest in found)], key=lambda r: r[0])

    whole, other = spoiled(twice)
    (found,) = of_captures(other)
    assert (found["rule"], found["certainty"], found["severity"]) == ("CP017", "proven", "warning")
    for key in ("messages", "arrivals", "copies", "network_duplicates", "lost", "delivered"):
        assert [s.get(key) for s in other["streams"]] == [s.get(key) for s in whole["streams"]]
    assert {f["rule"] for f in others(other)} <= {f["rule"] for f in others(whole)}


@pytest.mark.parametrize("lag_us", [20, 5_000, 500_000, 1_500_000])
def test_without_ip_ids_what_came_twice_was_captured_or_sent_twice(
    fixtures: Path, tmp_path: Path, lag_us: int
) -> None:
    capture = fixtures / "jgroups" / "ipv6-discard-1" / "A-any.pcap"
    head, found = records(capture)
    found = sorted([*found, *((at + lag_us, rest) for at, rest in found)], key=lambda r: r[0])
    whole = audit([CaptureInput(str(capture))], DIRECT)
    other = audit([written(tmp_path / "x.pcap", head, found)], DIRECT)
    assert of_captures(whole) == []
    (said,) = of_captures(other)
    assert (said["rule"], said["certainty"], said["severity"]) == ("CP017", "likely", "warning")
    assert "proven" in {f["certainty"] for f in others(whole)}
    assert "proven" not in {f["certainty"] for f in others(other)}
    for key in ("messages", "lost", "delivered"):
        assert [s.get(key) for s in other["streams"]] == [s.get(key) for s in whole["streams"]]


def test_a_network_that_doubles_some_datagrams_is_no_capture_that_was_taken_twice(
    fixtures: Path,
) -> None:
    capture = fixtures / "jgroups" / "u4n4-dup-reorder-1" / "C.pcap"
    assert of_captures(audit([CaptureInput(str(capture))], DIRECT)) == []


def test_an_odd_frame_of_no_system_is_no_finding_about_one(spoiled: Any) -> None:
    def odd(found: Records) -> Records:
        at, rest = found[3]
        return [*found[:4], (at, rest[:20] + b"\x08\x00\x15" + rest[23:]), *found[4:]]

    _, other = spoiled(odd)
    assert other["captures"][0]["undecoded"]["IP version"] == 1
    assert "CP006" not in {f["rule"] for f in other["findings"]}


def at_borders(report: dict[str, Any]) -> list[str]:
    return [f["rule"] for f in report["findings"] if f["rule"] in ("CP015", "CP016")]


def test_what_was_under_way_at_the_borders_of_a_capture_is_said_once(spoiled: Any) -> None:
    whole, headless = spoiled(lambda found: found[50:])
    assert at_borders(whole) == []
    (begun,) = [f for f in headless["findings"] if f["rule"] == "CP015"]
    assert (begun["severity"], begun["certainty"]) == ("info", "proven")
    assert "under way when the capture began" in begun["text"]
    _, cut = spoiled(lambda found: found[:50])
    assert at_borders(cut) == ["CP016"]


@pytest.mark.parametrize("seed", range(2))
def test_a_capture_out_of_order_is_the_same_wherever_it_is_cut(
    fixtures: Path, tmp_path: Path, seed: int
) -> None:
    """Neighbours are swapped and the clock is set; cut are all places, and each by itself."""
    head, found = records(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    rng = random.Random(seed)
    found = found[seed * 20 : seed * 20 + 60]
    for _ in range(4):
        n = rng.randrange(1, len(found))
        found = swapped(n)(found)
    if seed:
        step, frame = rng.choice((-700, -300_000, -6_000_000)), rng.randrange(1, len(found))
        found = [*found[:frame], *((at + step, rest) for at, rest in found[frame:])]
    given = written(tmp_path / "x.pcap", head, found)
    places = list(accumulate((8 + len(rest) for _, rest in found[:-1]), initial=24))[1:]
    expected = audit([given], DIRECT)
    cuts = [tuple(places), *((place,) for place in rng.sample(places, 6)), tuple(places[5::7])]
    for some in cuts:
        assert audit([given], replace(DIRECT, cuts={given.path: some})) == expected
