"""``seqaudit slice``: the frames that show something, as a pcapng with comments for Wireshark."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from seqaudit.cli.options.captures import judging_options, reading_options
from seqaudit.cli.output.selection import Selection
from seqaudit.cli.output.story import gap_named, step_text
from seqaudit.cli.output.terminal import note
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.verdict import plural
from seqaudit.cli.output.writers import file_for
from seqaudit.cli.run import audited_whole, judged_or_not
from seqaudit.replay.contract.report_rows import EvidenceRow, FindingRow, Report

if TYPE_CHECKING:
    from seqaudit.decoders.capture.slices import Frame

#: By capture, place of the file in it, and number: what a frame is.
Comments = dict[tuple[int, int, int], list[str]]

_NUMBER = click.IntRange(min=1)


@click.command("slice")
@reading_options
@judging_options
@click.option(
    "--gap",
    "gaps",
    type=_NUMBER,
    multiple=True,
    metavar="N",
    help="Frames of the story of a gap, as seqaudit show gaps numbers them.",
)
@click.option(
    "--finding",
    "findings",
    type=_NUMBER,
    multiple=True,
    metavar="N",
    help="Frames of a finding, as seqaudit show findings numbers them.",
)
@click.option(
    "--stream",
    "streams",
    multiple=True,
    metavar="TEXT",
    help="First and last frame of streams with this in their id, subject or key, and all "
    "frames that their gaps and findings name.",
)
@click.option(
    "--around",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="FRAMES",
    help="So many frames before and after each as well.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="OUT.pcapng",
    help="The file to write; one that is there is replaced.",
)
def command(
    gaps: tuple[int, ...],
    findings: tuple[int, ...],
    streams: tuple[str, ...],
    around: int,
    output: str,
    **given: object,
) -> int:
    """Write the frames that show a gap, a finding or a stream, with comments that say what each is.

    The times, link types and lengths of the frames stay as they were captured. Frames of several
    captures come in the order of their times, each at the interface named after its file.

    \b
    Examples:
      seqaudit slice receiver.pcap --gap 3 -o gap3.pcapng
      seqaudit slice receiver.pcap --finding 1 --around 2 -o finding1.pcapng
    """  # fmt: skip
    if not (gaps or findings or streams):
        raise click.UsageError("say what to write: --gap N, --finding N or --stream TEXT")
    report = audited_whole(given)
    comments: Comments = {}
    for number in gaps:
        _of_gap(report, number, comments)
    for number in findings:
        _of_finding(report, number, comments)
    for text in streams:
        _of_streams(report, text, comments)
    _write(report, comments, around, output)
    return judged_or_not(report)


def _of_gap(report: Report, number: int, comments: Comments) -> None:
    gap = gap_named(report, number)
    from seqaudit.cli.output.cells import gap_seqnos

    for step in gap["story"]["steps"]:
        comment = f"gap {number} ({gap['system']} {gap_seqnos(gap)}): {step_text(step)}"
        _add(comments, gap["capture"], step, comment)


def _of_finding(report: Report, number: int, comments: Comments) -> None:
    from seqaudit.cli.output.outcomes import gravest_first

    listed = gravest_first(report["findings"])
    if number > len(listed):
        raise click.UsageError(
            f"--finding {number}: there {_are(len(listed), 'finding')}; seqaudit show findings "
            "lists and numbers them"
        )
    _about(report, listed[number - 1], comments)


def _about(report: Report, finding: FindingRow, comments: Comments) -> None:
    rule = f"{finding['rule']} {finding['name']} ({finding['certainty']})"
    files = report["captures"][finding["capture"]]["files"]
    for evidence in finding["evidence"]:
        _add(comments, finding["capture"], _placed(evidence, files), f"{rule}: {evidence['shows']}")
    _add(comments, finding["capture"], _placed(finding, files), f"{rule}: {finding['text']}")


def _placed(row: EvidenceRow | FindingRow, files: Sequence[str]) -> dict[str, object]:
    """With the place of its file instead of the name."""
    names = [Path(file).name for file in files]
    name = row.get("file")
    return {"frame": row["frame"], "frame_file": names.index(name) if name in names else 0}


def _of_streams(report: Report, text: str, comments: Comments) -> None:
    chosen = Selection(streams=(text,)).of(report)
    if not chosen["streams"]:
        raise click.UsageError(
            f"--stream {safe(text)}: no stream has this in its id, subject or key; seqaudit show "
            "streams lists them"
        )
    for stream in chosen["streams"]:
        named = cast(Mapping[str, object], stream)
        for key, says in (("first_frame", "first frame"), ("last_frame", "last frame")):
            step = {"frame": named[key], "frame_file": named.get(f"{key}_file") or 0}
            _add(comments, stream["capture"], step, f"{says} of {stream['system']} {stream['id']}")
    wanted = {(stream["capture"], stream["id"]) for stream in chosen["streams"]}
    for number, gap in enumerate(report["gaps"], 1):
        if (gap["capture"], gap["stream"]) in wanted:
            _of_gap(report, number, comments)
    for finding in chosen["findings"]:
        _about(report, finding, comments)


def _add(comments: Comments, capture: int, row: Mapping[str, object], text: str) -> None:
    if row["frame"] is None:
        return
    at = capture, cast(int, row.get("frame_file") or 0), cast(int, row["frame"])
    listed = comments.setdefault(at, [])
    if text not in listed:
        listed.append(safe(text))


def _write(report: Report, comments: Comments, around: int, output: str) -> None:
    from seqaudit.decoders.capture.slices import write_frames

    by_path: dict[str, dict[int, list[str]]] = {}
    for (capture, file, number), texts in sorted(comments.items()):
        path = report["captures"][capture]["files"][file]
        _is_a_file(path)
        by_path.setdefault(path, {}).setdefault(number, []).extend(texts)
    if not by_path:
        raise click.UsageError("nothing to write: no frame of the capture shows it")
    if any(Path(output).exists() and Path(output).samefile(path) for path in by_path):
        raise click.UsageError(f"-o {safe(output)}: is one of the captures; give another name")
    texts_of = {(path, n): texts for path, frames in by_path.items() for n, texts in frames.items()}
    with file_for(output) as whole, whole.open("wb") as out:
        count = write_frames(out, _frames(by_path, around), texts_of)
    note(f"{output}: {plural(count, 'frame')}, {len(texts_of)} with comments")
    for path, frames in by_path.items():
        numbers = ", ".join(map(str, frames))
        note(f"in {path} they are frame.number in {{{numbers}}}")


def _frames(by_path: Mapping[str, Iterable[int]], around: int) -> Iterator["Frame"]:
    from seqaudit.decoders.capture.slices import frames_of

    sources = [
        frames_of(path, {n for at in numbers for n in range(max(at - around, 1), at + around + 1)})
        for path, numbers in by_path.items()
    ]
    return sources[0] if len(sources) == 1 else heapq.merge(*sources, key=attrgetter("at_ns"))


def _is_a_file(path: str) -> None:
    if not Path(path).is_file():
        raise click.UsageError(f"{safe(path)} is no capture file here, so no frames can be copied")


def _are(count: int, noun: str) -> str:
    return f"{'is' if count == 1 else 'are'} {plural(count, noun)}"
