"""Whole audits: both engines, any cut, events files, files that fail while they are read."""

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seqaudit.cli.output.outcomes import unjudged
from seqaudit.decoders.capture.reader import Piece
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.audit import audit, decode
from seqaudit.pipeline.direct import engine as direct
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.planning import UnusableError
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared import events_file, job
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.progress import StoppedError
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.replay.contract.capture_rows import OUTCOMES
from tests.decoders.network.builders import ethernet, ipv4, pcap, record_offsets, udp
from tests.decoders.raims.builders import caba, data, odata
from tests.decoders.raims.builders import piece as raims_piece

DIRECT = Options(engine="direct")

#: Loss with incomplete IP fragments, another release, IPv6 with cooked headers.
SCENARIOS = (
    "n4-loss-1/C.pcap",
    "n4-loss-1/A.pcap",
    "v42-n2-loss-1/B.pcap",
    "ipv6-discard-1/A-any.pcap",
)


class Watcher:
    """A progress that does something at a step, and keeps the notes."""

    def __init__(self, begin: Callable[[str], None] | None = None, stop_after: int = 0) -> None:
        self.notes: list[str] = []
        self._begin = begin
        self._stop_after = stop_after

    def begin(self, what: str, total: int, *, bytes_read: bool = False) -> None:
        if self._begin is not None:
            self._begin(what)

    def done(self, steps: int, also: str = "") -> None:
        if self._stop_after and steps >= self._stop_after:
            raise KeyboardInterrupt

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def captures(fixtures: Path) -> list[CaptureInput]:
    return [CaptureInput(str(fixtures / "jgroups" / name)) for name in SCENARIOS]


@pytest.fixture(scope="module")
def spark(spark_place: SparkAddress) -> Options:
    return Options(engine="spark", place=spark_place)


def test_a_lossy_capture_is_audited(captures: list[CaptureInput]) -> None:
    report = audit(captures[:1], DIRECT)
    streams = {s["sender_name"]: s for s in report["streams"]}
    assert streams["B"]["receiver_name"] == "C"
    assert (streams["B"]["lost"], streams["B"]["recovered"]) == (66, 66)
    assert report["captures"][0]["vantage"] == {
        "kind": "member",
        "address": "10.80.0.3",
        "member": "6e1a5dce-d96a-4ef6-8ce5-c29e0b80e29f",
        "name": "C",
        "origin": "inferred",
        "why": "10.80.0.3 is an end of all 27 unicasts",
    }
    frames_by = report["captures"][0]["frames_by"]
    assert sum(frames_by[outcome] for outcome in OUTCOMES) == 117


def test_both_engines_and_an_events_file_give_the_same_bytes(
    captures: list[CaptureInput], spark: Options, tmp_path: Path
) -> None:
    path = tmp_path / "events.parquet"
    direct = to_json(audit(captures, DIRECT))
    assert to_json(audit(captures, spark)) == direct
    events_file.write(decode(captures, spark), str(path))
    by_spark = path.read_bytes()
    assert to_json(audit([CaptureInput(str(path))], spark)) == direct
    assert to_json(audit([CaptureInput(str(path))], DIRECT)) == direct
    events_file.write(decode(captures, DIRECT), str(path))
    assert path.read_bytes() == by_spark


def test_both_engines_give_the_same_bytes_of_every_recording(
    fixtures: Path, spark: Options
) -> None:
    recordings = [path for system in ("jgroups", "raims", "zenoh")
                  for path in sorted((fixtures / system).rglob("*.pcap*"))]  # fmt: skip
    given = [CaptureInput(str(path)) for path in recordings]
    assert to_json(audit(given, spark)) == to_json(audit(given, DIRECT))


def test_where_spark_cuts_and_how_many_lanes_it_has_changes_nothing(
    captures: list[CaptureInput], spark: Options
) -> None:
    cuts = {given.path: [2_000, 9_999, 10_000, 20_001] for given in captures}
    cut = Options(engine="spark", place=spark.place, cuts=cuts, lanes=3, target_bytes=8_000)
    assert to_json(audit(captures, cut)) == to_json(audit(captures, DIRECT))


def test_results_of_many_captures_that_are_shared_out_anew_are_the_same(
    captures: list[CaptureInput], spark: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "CAPTURES_AT_ONCE", 1)
    assert len(captures) > 1
    assert to_json(audit(captures, spark)) == to_json(audit(captures, DIRECT))


@pytest.mark.parametrize(("every", "most"), [(97, 4_500), (1_000, 1_000_000)])
def test_where_the_direct_engine_cuts_changes_nothing(
    captures: list[CaptureInput], every: int, most: int, tmp_path: Path
) -> None:
    """Each piece is primed with what stands before it, so of many small ones a beginning does."""
    for number, whole in enumerate(captures):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(Path(whole.path).read_bytes()[:most])
        given = CaptureInput(str(path))
        cuts = {given.path: list(range(every, Path(given.path).stat().st_size, every))}
        cut = Options(engine="direct", cuts=cuts)
        assert to_json(audit([given], cut)) == to_json(audit([given], DIRECT))


def test_messages_behind_a_piece_of_one_are_read_wherever_their_link_first_speaks(
    tmp_path: Path,
) -> None:
    """The last piece of a large message has others behind it, and begins a piece of the capture."""
    large = caba("_1.A", ("seqno", 1), ("time", 5), ("data", b"x" * 400))
    first, last = (raims_piece(at, 600, bytes(300)) for at in (0, 300))
    packets = [odata(0, large), odata(1, first), odata(2, last + data("_1.A", 2)),
               odata(3, data("_1.A", 3))]  # fmt: skip
    path = tmp_path / "pieces.pcap"
    frames = [ethernet(ipv4(udp(one, 50_000, 3055, checksum=0))) for one in packets]
    path.write_bytes(pcap(frames))
    given = CaptureInput(str(path))
    whole = to_json(audit([given], DIRECT))
    for place in record_offsets(path.read_bytes())[1:]:
        watcher = Watcher()
        cut = Options(engine="direct", cuts={given.path: [place]})
        assert to_json(audit([given], cut, watcher)) == whole
        if place == record_offsets(path.read_bytes())[2]:
            assert any("PGM link" in note for note in watcher.notes)


def test_fragments_of_other_pieces_are_put_together(
    captures: list[CaptureInput], spark: Options
) -> None:
    given = captures[0]  # its only fragment is in frame 93 of 117
    watcher = Watcher()
    cut = replace(spark, cuts={given.path: [30_000]})
    assert to_json(audit([given], cut, watcher)) == to_json(audit([given], DIRECT))
    assert watcher.notes == []


def test_many_captures_are_decoded_once_and_replayed_where_they_were_taken(
    captures: list[CaptureInput], spark: Options
) -> None:
    watcher = Watcher()
    cut = replace(spark, cuts={captures[0].path: [10_000]})
    assert to_json(audit(captures, cut, watcher)) == to_json(audit(captures, DIRECT))
    assert watcher.notes == []


def test_a_capture_named_by_a_member_is_taken_there(captures: list[CaptureInput]) -> None:
    given = CaptureInput(captures[0].path, at="C")
    vantage = audit([given], DIRECT)["captures"][0]["vantage"]
    assert (vantage["address"], vantage["name"], vantage["origin"]) == ("10.80.0.3", "C", "given")


def test_parameters_of_one_capture_are_its_own(captures: list[CaptureInput]) -> None:
    given = [
        CaptureInput(captures[0].path, parameters={"mcast.capacity": "64"}),
        captures[1],
    ]
    capacity = {
        (p["capture"], p["value"], p["origin"])
        for p in audit(given, DIRECT)["parameters"]
        if p["name"] == "mcast.capacity"
    }
    assert (0, 64, "given") in capacity
    assert all(origin != "given" for capture, _, origin in capacity if capture == 1)
    with pytest.raises(SeqauditError, match="no parameter is called"):
        audit([CaptureInput(captures[0].path, parameters={"x": "1"})], DIRECT)


@pytest.mark.parametrize("engine", ["direct", "spark"])
def test_a_capture_that_changes_while_it_is_read_is_left_out_and_the_others_are_audited(
    engine: str, fixtures: Path, tmp_path: Path, spark: Options
) -> None:
    content = (fixtures / "jgroups" / "n4-loss-1" / "C.pcap").read_bytes()
    good, growing = tmp_path / "good.pcap", tmp_path / "growing.pcap"
    for path in (good, growing):
        path.write_bytes(content)

    def grow(what: str) -> None:
        if what == "decoding" and growing.stat().st_size == len(content):
            growing.write_bytes(content + b"\0")

    options = spark if engine == "spark" else DIRECT
    report = audit([CaptureInput(str(growing)), CaptureInput(str(good))], options, Watcher(grow))
    assert [capture["path"] for capture in report["captures"]] == [str(good)]
    (unreadable,) = report["unreadable"]
    assert unreadable["path"] == str(growing)
    assert "changed while being read" in unreadable["problem"]
    assert report["captures"][0]["frames"] == 117


def test_several_files_of_one_vantage_are_one_capture(fixtures: Path, tmp_path: Path) -> None:
    whole = fixtures / "jgroups" / "n4-loss-1" / "C.pcap"
    content = whole.read_bytes()
    at = 24
    for _ in range(60):  # 60 records in the first file, 57 in the second
        at += 16 + int.from_bytes(content[at + 8 : at + 12], "little")
    first, second = tmp_path / "1.pcap", tmp_path / "2.pcap"
    first.write_bytes(content[:at])
    second.write_bytes(content[:24] + content[at:])
    report: Any = audit([CaptureInput(str(first), more=(str(second),))], DIRECT)
    expected: Any = audit([CaptureInput(str(whole))], DIRECT)
    assert report["totals"] == expected["totals"]
    assert report["captures"][0]["files"] == [str(first), str(second)]
    gaps = [(g["revealed_frame"], g["revealed_frame_file"]) for g in report["gaps"]]
    assert gaps == [
        (
            g["revealed_frame"] - (60 if g["revealed_frame"] > 60 else 0),
            int(g["revealed_frame"] > 60),
        )
        for g in expected["gaps"]
    ]


def test_rings_of_two_hosts_are_told_apart_though_their_first_files_have_little_in_common(
    fixtures: Path, tmp_path: Path
) -> None:
    """Neither alone shows at whose interface it was taken: what they share does."""
    given = []
    for name, each in (("pub", 2), ("sub", 9)):
        content = (fixtures / "zenoh" / "udp-loss-recovered-1" / f"{name}.pcap").read_bytes()
        offsets = record_offsets(content)
        ring = []
        for first in range(0, len(offsets) - 1, each):
            last = min(first + each, len(offsets) - 1)
            ring.append(tmp_path / f"{name}{first:05}.pcap")
            ring[-1].write_bytes(content[:24] + content[offsets[first] : offsets[last]])
        given.append(CaptureInput(str(ring[0]), more=tuple(map(str, ring[1:]))))
    report = audit(given, DIRECT)
    places = [capture["vantage"]["address"] for capture in report["captures"]]
    assert places == ["10.77.0.1", "10.77.0.2"]


def test_interrupted_the_direct_engine_says_what_is_known_so_far(
    captures: list[CaptureInput],
) -> None:
    with pytest.raises(StoppedError, match="1 of 4 captures had been read") as stopped:
        audit(captures, DIRECT, Watcher(stop_after=1))
    report: Any = stopped.value.report
    assert report is not None
    assert [capture["frames"] for capture in report["captures"]] == [117, 0, 0, 0]
    unread = [f"{c.path}: not read to its end before the interruption" for c in captures[1:]]
    assert [problem for _, problem in unjudged(report)] == unread


class Interrupts:
    """Somebody who presses Ctrl-C so many times when all was decoded."""

    columns: tuple[str, ...] = ("frame",)
    kinds: tuple[int, ...] = (0,)

    def __init__(self, times: int) -> None:
        self._times = times

    def keep(self, events: pa.Table) -> None:
        for _ in range(self._times):
            signal.raise_signal(signal.SIGINT)


@pytest.fixture
def own_ctrl_c() -> Iterator[None]:
    """Python's own handler: a Spark of another test has left its there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("own_ctrl_c")
def test_interrupted_when_all_was_read_a_run_still_tells_it(captures: list[CaptureInput]) -> None:
    watcher = Watcher()
    with pytest.raises(StoppedError, match="all had been read") as stopped:
        audit(captures, replace(DIRECT, look=Interrupts(1)), watcher)
    assert stopped.value.report == audit(captures, DIRECT)
    assert any("Ctrl-C again ends at once" in note for note in watcher.notes)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        audit(captures, replace(DIRECT, look=Interrupts(2)))


def test_interrupted_spark_says_how_much_was_decoded(
    captures: list[CaptureInput], spark: Options
) -> None:
    with pytest.raises(StoppedError, match="1 of 1 decode tasks were done") as stopped:
        audit(captures, spark, Watcher(stop_after=1))
    assert stopped.value.report is None
    assert audit(captures, spark)["totals"]["captures"] == 4  # the session is still good


@pytest.mark.usefixtures("own_ctrl_c")
def test_interrupted_while_spark_replays_a_run_still_tells_it(
    captures: list[CaptureInput], spark: Options
) -> None:
    looking = replace(spark, look=Interrupts(0))
    one, expected = captures[:1], audit(captures[:1], DIRECT)

    def interrupt(what: str, phase: str, presses: list[int]) -> None:
        if what == phase:
            while presses:
                signal.raise_signal(presses.pop())

    def pressed(times: int, phase: str) -> Watcher:
        return Watcher(begin=partial(interrupt, phase=phase, presses=[signal.SIGINT] * times))

    for phase in ("fetching events for pictures", "replaying"):
        watcher = pressed(1, phase)
        with pytest.raises(StoppedError, match="all had been read") as stopped:
            audit(one, looking, watcher)
        assert stopped.value.report == expected
        assert any("Ctrl-C again ends at once" in note for note in watcher.notes)
    with pytest.raises(StoppedError, match=r"^interrupted"):
        audit(one, looking, pressed(2, "replaying"))
    assert audit(one, spark)["totals"]["captures"] == 1  # the session is still good


def test_nothing_readable_is_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(UnusableError) as raised:
        audit([CaptureInput(str(tmp_path / n)) for n in ("missing", "empty")], DIRECT)
    assert [path for path, _ in raised.value.problems] == [
        str(tmp_path / "missing"),
        str(tmp_path / "empty"),
    ]
    assert len(str(raised.value).splitlines()) == 2


def test_a_foreign_parquet_file_is_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(SeqauditError, match="is a Parquet file, but not one of seqaudit"):
        audit([CaptureInput(str(path))], DIRECT)
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(SeqauditError, match="damaged Parquet"):
        audit([CaptureInput(str(path))], DIRECT)


def nested(capture: bytes) -> bytes:
    """A capture whose packets carry a capture: every guess inside finds believable records."""
    head, records = capture[:24], b""
    for number in range(60):
        payload = capture[24:9_000]
        at = (1_795_213_120 + number).to_bytes(4, "little")
        size = len(payload).to_bytes(4, "little")
        records += at + bytes(4) + size + size + payload
    return head + records + capture[24:]


@pytest.mark.parametrize(
    "cuts", [[20_000], [20_000, 100_000, 300_000], list(range(5_000, 500_000, 23_000))]
)
def test_a_capture_in_a_capture_deceives_no_cut(
    cuts: list[int], fixtures: Path, tmp_path: Path
) -> None:
    path = tmp_path / "nested.pcap"
    path.write_bytes(nested((fixtures / "jgroups" / "n4-loss-1" / "C.pcap").read_bytes()))
    watcher = Watcher()
    given = [CaptureInput(str(path))]
    cut = Options(engine="direct", cuts={str(path): cuts})
    assert to_json(audit(given, cut, watcher)) == to_json(audit(given, DIRECT))
    assert watcher.notes[0] == "decoding again: a piece did not start where it was guessed"
    assert len(watcher.notes) <= 4  # three for the starts, and one as the last clock is another


def test_what_one_capture_proves_wrong_has_the_others_not_decoded_again(
    captures: list[CaptureInput], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "nested.pcap"
    path.write_bytes(nested(Path(captures[0].path).read_bytes()))
    given = [captures[1], CaptureInput(str(path)), captures[2]]
    expected = to_json(audit(given, DIRECT))
    decoded: list[set[int]] = []
    decode = direct.decode

    def noted(tasks: Sequence[Sequence[Piece]], *others: Any) -> pa.Table:
        decoded.append({piece.capture for task in tasks for piece in task})
        return decode(tasks, *others)

    monkeypatch.setattr(direct, "decode", noted)
    cuts = {str(path): [20_000, 100_000, 300_000], captures[1].path: [10_000]}
    assert to_json(audit(given, Options(engine="direct", cuts=cuts))) == expected
    assert decoded[0] == {0, 1, 2} and {1} in decoded
    assert all(2 not in again for again in decoded[1:])


def test_a_cut_file_is_said_to_be_cut_and_not_damaged_as_well(
    fixtures: Path, tmp_path: Path
) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes((fixtures / "jgroups" / "n4-loss-1" / "C.pcap").read_bytes()[:9_000])
    report = audit([CaptureInput(str(path))], DIRECT)
    fired = [f["rule"] for f in report["findings"] if f["rule"][:2] == "CP"]
    assert fired == ["CP001", "CP016"]  # it ends in the middle of the traffic


def test_comments_read_while_priming_are_not_the_pieces_own(fixtures: Path) -> None:
    path = str(fixtures / "captures" / "interfaces.pcapng")
    whole = audit([CaptureInput(path)], DIRECT)
    cut = audit([CaptureInput(path)], replace(DIRECT, cuts={path: [583, 816, 1514, 1954, 2310]}))
    assert cut["captures"][0]["comment_texts"] == whole["captures"][0]["comment_texts"]
