"""Captures as users name them: files, folders, patterns."""

from pathlib import Path

import click
import pytest

from seqaudit.cli.options.paths import expanded, is_capture


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.pcap", "a.pcapng.zst", "sub/c.pcap3", "truth.json", "notes.txt", "[x].pcap"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_is_all_captures_below_it_in_their_order(folder: Path) -> None:
    names = ["[x].pcap", "a.pcapng.zst", "b.pcap", "sub/c.pcap3"]
    assert expanded([str(folder)]) == [str(folder / name) for name in names]


def test_a_pattern_is_the_files_it_fits_and_a_file_of_that_name_is_itself(folder: Path) -> None:
    assert expanded(["*.pcap"]) == ["[x].pcap", "b.pcap"]
    assert expanded([str(folder / "**" / "*.pcap3")]) == [str(folder / "sub" / "c.pcap3")]
    assert expanded(["[x].pcap"]) == ["[x].pcap"]


def test_what_is_named_twice_by_folder_and_file_is_once_there(folder: Path) -> None:
    assert expanded(["sub", "sub/c.pcap3"]) == ["sub/c.pcap3"]


def test_what_is_no_folder_or_pattern_stays_as_it_is(folder: Path) -> None:
    given = ["-", "missing.pcap", "b.pcap", "b.pcap"]
    assert expanded(given) == given


def test_a_pattern_that_no_file_fits_is_one_line(folder: Path) -> None:
    with pytest.raises(click.UsageError, match="no file fits the pattern") as raised:
        expanded(["*.cap"])
    assert "*.cap" in raised.value.message and "\n" not in raised.value.message


def test_a_folder_without_captures_is_left_for_the_audit_to_refuse(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert expanded(["empty", "b.pcap"]) == ["empty", "b.pcap"]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("a.pcap", True), ("a.PCAP.gz", True), ("a.pcap12", True), ("a.ntar", True),
     ("a.pcap.txt", False), ("a.gz", False), ("pcap", False), ("a.json", False)],
)  # fmt: skip
def test_a_capture_is_known_by_its_ending(name: str, is_one: bool) -> None:
    assert is_capture(Path(name)) is is_one


def test_a_uri_of_this_machine_is_its_path_also_as_a_pattern(folder: Path) -> None:
    plain = expanded([f"{folder}/*.pcap"])
    assert plain
    for start in ("file:", "file://", "file://localhost"):
        assert expanded([f"{start}{folder}/*.pcap"]) == plain
    with_space = folder / "a b.pcap"
    with_space.write_bytes(b"")
    assert expanded([with_space.as_uri()]) == [str(with_space)]


def test_names_elsewhere_are_found_as_those_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.pcap", "notes.txt", "deep/b.pcap.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr("seqaudit.cli.options.paths._local", lambda name: name)
    store = f"file://{tmp_path}"
    assert expanded([store]) == [f"{store}/a.pcap", f"{store}/deep/b.pcap.gz"]
    assert expanded([f"{store}/*.txt", f"{store}/a.pcap"]) == [
        f"{store}/notes.txt", f"{store}/a.pcap",
    ]  # fmt: skip
    with pytest.raises(click.UsageError, match=r"x\*: no file fits the pattern"):
        expanded([f"{store}/x*"])
    with pytest.raises(click.UsageError, match="does not exist"):
        expanded([f"{store}/nowhere/*"])
