"""Planning: inputs to pieces and tasks (decoders/README.md 2)."""

import io
import struct
import sys
from pathlib import Path

import pytest

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.contract.networks import Chosen
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.direct import engine as direct
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import (
    LARGEST_TASK_BYTES,
    LEAST_COST_BYTES,
    SMALLEST_TASK_BYTES,
    CaptureInput,
    Plan,
    Shares,
    StandardInput,
    plan,
)


def pcap(packets: int = 3) -> bytes:
    """A capture of empty Ethernet frames, one a second."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(
        struct.pack("<IIII", 1_700_000_000 + n, 0, 14, 14) + bytes(14) for n in range(packets)
    )


def planned(*inputs: CaptureInput, cores: int = 2, target_bytes: int | None = None) -> Plan:
    return plan(inputs, shares=Shares(cores, target_bytes), stdin=StandardInput())


def test_splits_are_numbered_over_the_whole_job_in_the_order_of_the_files(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(pcap(20))
    a, b, c = (str(tmp_path / name) for name in "abc")
    found = planned(CaptureInput(b), CaptureInput(a, more=(c,)), target_bytes=400)
    assert [(p.capture, p.split, Path(p.path).name) for p in found.pieces] == [
        (0, 0, "b"), (0, 1, "b"), (1, 2, "a"), (1, 3, "a"), (1, 4, "c"), (1, 5, "c")
    ]  # fmt: skip
    assert [
        [(Path(f.shown).name, f.first_split, f.stop_split) for f in files] for files in found.files
    ] == [[("b", 0, 2)], [("a", 2, 4), ("c", 4, 6)]]


def test_ten_thousand_small_captures_are_few_tasks_that_hold_every_piece_once(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.pcap"
    file.write_bytes(pcap())
    one = planned(CaptureInput(str(file)))
    many = one.with_pieces(one.pieces * 10_000)
    tasks = many.tasks()
    assert len(tasks) < 100
    assert max(len(task) for task in tasks) * LEAST_COST_BYTES <= LARGEST_TASK_BYTES
    assert [piece for task in tasks for piece in task] == list(many.pieces)


def test_tasks_become_smaller_so_that_all_cores_end_together(tmp_path: Path) -> None:
    file = tmp_path / "sparse.pcap"
    with file.open("wb") as sparse:
        sparse.write(pcap())
        sparse.truncate(2_700_000_000)
    found = planned(CaptureInput(str(file)), cores=2)
    sizes = [piece.stop - piece.start for piece in found.pieces]
    assert sizes[0] == LARGEST_TASK_BYTES
    assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
    assert min(sizes) == sizes[-2] == SMALLEST_TASK_BYTES
    assert SMALLEST_TASK_BYTES <= sizes[-1] < 2 * SMALLEST_TASK_BYTES
    assert sum(sizes) == 2_700_000_000
    assert found.tasks() == tuple((piece,) for piece in found.pieces)
    many = planned(CaptureInput(str(file)), cores=32).pieces
    assert {piece.stop - piece.start for piece in many[:-1]} == {SMALLEST_TASK_BYTES}


def test_what_would_be_a_crumb_goes_with_the_last_task(tmp_path: Path) -> None:
    file = tmp_path / "sparse.pcap"
    with file.open("wb") as sparse:
        sparse.write(pcap())
        sparse.truncate(2 * SMALLEST_TASK_BYTES - 1)
    assert len(planned(CaptureInput(str(file))).pieces) == 1
    with file.open("ab") as sparse:
        sparse.truncate(2 * SMALLEST_TASK_BYTES)
    assert len(planned(CaptureInput(str(file))).pieces) == 2


def test_a_whole_capture_needs_no_second_stage_and_a_rotated_or_cut_one_does(
    tmp_path: Path,
) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(pcap(20))
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert planned(CaptureInput(a), CaptureInput(b)).whole
    assert not planned(CaptureInput(a, more=(b,))).whole
    assert not planned(CaptureInput(a), target_bytes=400).whole


def test_unusable_inputs_are_problems_of_one_line_and_the_others_are_planned(
    tmp_path: Path,
) -> None:
    good = tmp_path / "good.pcap"
    good.write_bytes(pcap())
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello\n" * 9)
    (tmp_path / "short").write_bytes(pcap()[:20])
    names = ("missing", "empty", "text", "short", ".")
    bad = [CaptureInput(str(tmp_path / name)) for name in names]
    found = planned(*bad, CaptureInput(str(good)))
    assert found.inputs == (CaptureInput(str(good)),)
    assert [piece.capture for piece in found.pieces] == [0]
    assert [path for path, _ in found.problems] == [given.path for given in bad]
    for path, problem in found.problems:
        assert problem.startswith(path)
        assert "\n" not in problem


def test_the_same_file_under_two_names_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.pcap"
    file.write_bytes(pcap())
    link = tmp_path / "b.pcap"
    link.symlink_to(file)
    with pytest.raises(SeqauditError) as raised:
        planned(CaptureInput(str(file)), CaptureInput(str(link)))
    assert str(raised.value) == (
        f"{link}: is given twice (the same file as {file}); name every capture once"
    )


def test_standard_input_is_spooled_privately_and_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Pipe:
        buffer = io.BytesIO(pcap())

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Pipe())
    spool = StandardInput()
    found = plan([CaptureInput("-")], shares=Shares(1), stdin=spool)
    path = Path(found.pieces[0].path)
    assert path.read_bytes() == pcap()
    assert path.stat().st_mode & 0o777 == 0o600
    assert found.files[0][0].shown == "-"
    spool.close()
    assert not path.exists()


@pytest.mark.parametrize(("packets", "compiled"), [(3, False), (40_000, True)])
def test_a_standard_input_of_unknown_length_is_worth_compiled_kernels(
    packets: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pipe:
        buffer = io.BytesIO(pcap(packets))

        def isatty(self) -> bool:
            return False

    wanted = []

    def decoded(
        tasks: object, settings: DecodeSettings, *_: object, **__: object
    ) -> direct.DecodeStoppedError:
        wanted.append(settings.compile_it)
        raise SeqauditError("enough")

    monkeypatch.setattr(sys, "stdin", Pipe())
    monkeypatch.setattr(direct, "decode", decoded)
    with pytest.raises(SeqauditError, match="enough"):
        audit([CaptureInput("-")], Options(engine="direct"))
    assert wanted == [compiled]


def test_a_capture_that_is_several_networks_is_not_cut_smaller(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(pcap(50))
    networks = (CaptureInput(str(path), chosen=Chosen((number,))) for number in (1, 2, 3))
    found = planned(*networks)
    assert [piece.capture for piece in found.pieces] == [0, 1, 2]
