"""Every citation in the code names a document that is there and a section that exists."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
TOPS: Final = ("cli", "decoders", "pipeline", "replay", "tests", "fixtures")

#: Documents that may be cited: by their path, those of a system by their name alone.
DOCUMENTS: Final = {
    "CONTRIBUTING.md": ROOT / "CONTRIBUTING.md",
    **{f"{top}/README.md": ROOT / top / "README.md" for top in TOPS[:4]},
    "jgroups.md": ROOT / "decoders" / "jgroups" / "jgroups.md",
    "raims.md": ROOT / "decoders" / "raims" / "raims.md",
    "zenoh.md": ROOT / "decoders" / "zenoh" / "zenoh.md",
}

_CITED: Final = re.compile(r"([\w./-]+\.(?:md|txt))((?:(?:,| and| to|;)? ?\d+(?:\.\d+)*\b)*)")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)*")
_HEADING: Final = re.compile(r"^#+ *(\d+(?:\.\d+)*)\b")
_ITEM: Final = re.compile(r"^(\d+)\. ")
#: A file, or a folder with its slash, by its path or the end of it.
_PLACE: Final = re.compile(r"(?<![\w/.-])((?:\w+/)+\w*(?:\.\w+)?|\w+\.py)(?![\w-])")
#: What cites a paper that is not in the repository.
_ABSENT: Final = re.compile(r"\b(?:[dD]esign|HOUSE|PIPELINE|STYLE|PACKAGING|AUDIT) §? ?\d")


def code() -> Iterator[tuple[str, str]]:
    """(path, text) of every file that may cite."""
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*.py")):
            if path != Path(__file__):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def sections(path: Path) -> set[str]:
    """Numbers of headings, and of the items of numbered lists below them."""
    found: set[str] = set()
    heading = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if head := _HEADING.match(line):
            heading = head[1]
            found.add(heading)
        elif item := _ITEM.match(line):
            found.add(f"{heading}.{item[1]}")
    return found


def test_a_citation_names_a_document_that_is_there_and_a_section_that_exists() -> None:
    known = {name: sections(path) for name, path in DOCUMENTS.items()}
    assert all(known.values())
    wrong = []
    cited = 0
    for where, text in code():
        for name, numbers in _CITED.findall(text):
            if not numbers.strip():
                continue  # a file's name, nothing is cited
            cited += 1
            if name not in known:
                wrong.append((where, name, numbers))
                continue
            wrong += [(where, name, n) for n in _NUMBER.findall(numbers) if n not in known[name]]
    assert wrong == []
    assert cited > 500


def test_nothing_cites_a_paper_that_is_not_in_the_repository() -> None:
    assert [(where, found) for where, text in code() for found in _ABSENT.findall(text)] == []


@pytest.mark.parametrize(
    "top", ["cli", "decoders", "fixtures", "pipeline", "replay", "tests", "CONTRIBUTING.md"]
)
def test_what_a_readme_names_is_there_and_its_picture_comes_first(top: str) -> None:
    path = ROOT / top if top.endswith(".md") else ROOT / top / "README.md"
    text = path.read_text(encoding="utf-8")
    assert top == "CONTRIBUTING.md" or text.splitlines()[2] == "```"
    ours = {f"/{one}" for one in TOPS}
    ours |= {f"/{found.relative_to(ROOT)}" for one in TOPS for found in (ROOT / one).rglob("*")}
    named = {found.rstrip("/") for found in _PLACE.findall(text)}
    assert len(named) > 3
    there = {one for one in named for own in ours if own.endswith((f"/{one}", f"/{one}.py"))}
    assert named - there == set()
