"""What of a report is shown, and counts for the exit code. Judgements stay as they are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Final, Literal, NamedTuple

from seqaudit.cli.output.several import rows_of, with_parts
from seqaudit.replay.contract.report_rows import Report

Row = Mapping[str, Any]
#: Captures, with streams or systems in them.
Places = set[tuple[int, str]]

#: Names that a message lists.
_SHOWN: Final = 12

#: Parts whose rows are about one stream.
_OF_STREAMS: Final = ("streams", "gaps", "connections", "queries")


@dataclass(frozen=True, slots=True)
class Moment:
    """A frame's number, or a time: ns since the epoch, or since the capture's first frame.

    Attributes:
        file: name of the file that a frame is in; null: the capture's first file.
    """

    kind: Literal["frame", "time", "after"]
    value: int
    file: str | None = None


class RowMoment(NamedTuple):
    """A moment of a row; nulls where it has none."""

    file: int
    frame: int | None
    at_ns: int | None


class Start(NamedTuple):
    """When a capture begins, and the names of its files."""

    first_ns: int | None
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """What to show; what is empty or null leaves out nothing.

    Attributes:
        systems: as streams name them, or patterns (``unicast*``).
        members: names, identities or addresses of a sender or receiver, or patterns.
        streams: parts of a stream's id, subject or key expression, or patterns of all of it.
        select, ignore: codes of rules, their beginnings (``MC``, ``ZN00``), or names.
    """

    systems: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    since: Moment | None = None
    until: Moment | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Selection()

    def of(self, report: Report) -> Report:
        """The report with the rows that are selected; totals and rules stay those of all."""
        starts = {
            capture["capture"]: Start(
                capture["first_ns"], tuple(PurePath(file).name for file in capture["files"])
            )
            for capture in report["captures"]
        }
        addresses = _addresses(report)
        wanted = {
            (row["capture"], row["id"])
            for row in report["streams"]
            if self._is_stream(row, addresses)
        }
        conversations = {
            (row["capture"], row["system"])
            for row in report["streams"]
            if (row["capture"], row["id"]) in wanted
        }
        narrowed = bool(self.systems or self.members or self.streams)
        chosen: dict[str, Sequence[object]] = {}
        for part in _OF_STREAMS:
            chosen[part] = [
                row
                for row in rows_of(report, part)
                if self._in_time(row, starts)
                and (not narrowed or self._has(row, part, wanted, addresses))
            ]
        chosen["findings"] = [
            finding
            for finding in report["findings"]
            if self._is_rule(finding)
            and self._in_time(finding, starts)
            and (not narrowed or self._is_about(finding, wanted, conversations))
        ]
        return with_parts(report, chosen)

    def fits_nothing(self, report: Report) -> str | None:
        """What of a filter is the name of nothing in this report, in one line; of a report without
        streams nobody knows."""
        since, until = self.since, self.until
        alike = since and until and replace(since, value=until.value) == until
        if since and until and alike and since.value > until.value:
            return "--since is behind --until: nothing is between them; give the earlier one first"
        rows = report["streams"]
        if not rows:
            return None
        addresses = _addresses(report)
        for system in self.systems:
            known = dict.fromkeys(sorted(row["system"] for row in rows))
            if not any(_fits((system,), name) for name in known):
                return f"--system {system}: no stream is of it; there are {_some(known)}"
        for member in self.members:
            if not any(_has_member((member,), row, addresses) for row in rows):
                ends = (row.get(f"{end}_name") for row in rows for end in ("sender", "receiver"))
                known = dict.fromkeys(sorted({str(name) for name in ends if name}))
                choices = f"; there are {_some(known)}" if known else ""
                return f"--member {member}: no stream is from or to it{choices}"
        for text in self.streams:
            if not any(_named(text, row) for row in rows):
                return (
                    f"--stream {text}: no stream has this in its id, subject or key; seqaudit show "
                    "streams lists them"
                )
        return None

    def left_out(self, report: Report, chosen: Report) -> str:
        """One line that says what is not shown."""
        parts = [
            f"{len(report[part]) - len(chosen[part]):,} of {len(report[part]):,} {part}"
            for part in ("findings", "streams", "gaps")
            if len(report[part]) > len(chosen[part])
        ]
        summary = ", ".join(parts) if parts else "nothing"
        line = f"Filtered: {summary} left out; all were judged, the totals and rules are of all."
        if report["streams"] and not chosen["streams"]:
            line += " No stream is left; seqaudit show streams lists them."
        return line

    def _is_stream(self, row: Row, addresses: Mapping[str, set[str]]) -> bool:
        if self.systems and not _fits(self.systems, row["system"]):
            return False
        if self.streams and not any(_named(text, row) for text in self.streams):
            return False
        return not self.members or _has_member(self.members, row, addresses)

    def _has(self, row: Row, part: str, wanted: Places, addresses: Mapping[str, set[str]]) -> bool:
        if part == "streams":
            return (row["capture"], row["id"]) in wanted
        if part == "gaps":
            return (row["capture"], row["stream"]) in wanted
        return self._is_stream(row, addresses)

    def _is_about(self, finding: Row, wanted: Places, conversations: Places) -> bool:
        if finding["stream"] is not None:
            return (finding["capture"], finding["stream"]) in wanted
        if self.streams or (self.systems and not _fits(self.systems, finding["system"] or "")):
            return False
        # what is said of a whole conversation concerns every member that is part of it
        return not self.members or (finding["capture"], finding["system"]) in conversations

    def _is_rule(self, finding: Row) -> bool:
        names = finding["rule"], finding["name"]
        if self.select and not any(_is_code(text, *names) for text in self.select):
            return False
        return not any(_is_code(text, *names) for text in self.ignore)

    def _in_time(self, row: Row, starts: Mapping[int, Start]) -> bool:
        first, last = _span(row)
        start = starts.get(row["capture"], Start(None, ()))
        return (self.since is None or not _before(last, self.since, start)) and (
            self.until is None or not _before(first, self.until, start, behind=True)
        )


def _span(row: Row) -> tuple[RowMoment, RowMoment]:
    """The first and the last moment of a row."""
    if "first_frame" in row:
        return (
            RowMoment(row.get("first_frame_file", 0), row["first_frame"], row.get("first_ns")),
            RowMoment(row.get("last_frame_file", 0), row["last_frame"], row.get("last_ns")),
        )
    name = "frame" if "frame" in row else "revealed_frame"
    at_ns = row.get("at_ns", row.get("revealed_at_ns"))
    at = RowMoment(row.get(f"{name}_file", 0), row.get(name), at_ns)
    return at, at


def _before(at: RowMoment, moment: Moment, start: Start, *, behind: bool = False) -> bool:
    """Whether a place is before a moment, or behind it; it is neither where nobody can tell."""
    position: tuple[int, ...]
    limit: tuple[int, ...]
    if moment.kind == "frame":
        if at.frame is None or (moment.file is not None and moment.file not in start.files):
            return False
        file = 0 if moment.file is None else start.files.index(moment.file)
        position, limit = (at.file, at.frame), (file, moment.value)
    else:
        begin = start.first_ns if moment.kind == "after" else 0
        if at.at_ns is None or begin is None:
            return False
        position, limit = (at.at_ns,), (begin + moment.value,)
    return position > limit if behind else position < limit


def _some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    known = list(names)
    more = len(known) - _SHOWN
    return ", ".join(known[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _fits(patterns: Iterable[str], text: str) -> bool:
    return any(fnmatchcase(text.lower(), pattern.lower()) for pattern in patterns)


def _named(text: str, row: Row) -> bool:
    names = [str(row[key]) for key in ("id", "stream", "subject", "key") if row.get(key)]
    return any(text in name or fnmatchcase(name, text) for name in names)


def _has_member(wanted: Iterable[str], row: Row, addresses: Mapping[str, set[str]]) -> bool:
    names: set[str] = set()
    for end in ("sender", "receiver", "requester", "destination"):
        if row.get(end):
            names |= {str(row[end]), *addresses.get(str(row[end]), ())}
        if row.get(f"{end}_name"):
            names.add(str(row[f"{end}_name"]))
    return any(_fits(wanted, name) for name in names)


def _addresses(report: Report) -> dict[str, set[str]]:
    """Of each member the addresses it was seen at, with and without a port."""
    found: dict[str, set[str]] = {}
    for member in report["members"]:
        addresses = found.setdefault(member["member"], set())
        for address in member["addresses"]:
            addresses |= {address, str(address).rpartition(":")[0].strip("[]")}
    return found


def _is_code(text: str, code: str, name: str) -> bool:
    return code.startswith(text.upper()) or text.lower() == name
