"""Results and accounts become the report (replay/README.md 5): ``seqaudit/report/1``.

Here, and nowhere before, frames become Wireshark's numbers, identities get names, and texts are
written out. The report is sorted and holds no clock and nothing of the machine but the paths given,
so both engines and an events file give the same bytes.
"""

import bisect
import heapq
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from pathlib import PurePath
from typing import Any, Final

import numpy as np

from seqaudit.decoders.contract.events import FRAME_BITS
from seqaudit.pipeline.plan import File
from seqaudit.pipeline.report import json_text
from seqaudit.pipeline.report.accounts import Account, frames_of_splits, merge
from seqaudit.pipeline.report.packed_rows import Section, kept
from seqaudit.pipeline.report.result_store import HeldResults, places
from seqaudit.pipeline.report.totals import Losses, messages_of, totals_of
from seqaudit.pipeline.report.vantage import ip_of_endpoint
from seqaudit.replay.captures import findings as capture_rules
from seqaudit.replay.captures.doubts import spans_of, weighed
from seqaudit.replay.contract import results as rows_of
from seqaudit.replay.contract.settings import ReplaySettings, Vantage
from seqaudit.replay.contract.story import with_story
from seqaudit.replay.contract.version import VERSION
from seqaudit.replay.contract.wall import Wall
from seqaudit.replay.contract.worth import MISSING, Worth
from seqaudit.replay.feeds import sessions as feed_sessions
from seqaudit.replay.jgroups import both_ends_findings
from seqaudit.replay.raims import bounds as raims_bounds
from seqaudit.replay.raims import seqno_text as raims_printed
from seqaudit.replay.stages.rules import RULES
from seqaudit.replay.zenoh import legs as zenoh_legs

SCHEMA_NAME: Final = "seqaudit/report/1"

FEED: Final = "feed"
RAIMS: Final = "raims"

#: Members of a display filter; Wireshark gets slow with long ones.
FILTER_PARTS: Final = 50

#: The rule that incomplete IP datagrams show for, and how many of them it names.
INCOMPLETE: Final = "CP005"
EVIDENCE: Final = 8

#: Rules about captures that engines judge, because they need the conversations.
JUDGED_BY_ENGINES: Final = frozenset({"CP007", "CP031", "CP032"})

#: A display filter for a finding that is about no single frame: everything.
EVERY_FRAME: Final = "frame"

#: The order of findings as columns of results.
FINDING_COLUMNS: Final = ("capture", "frame", "rule", "stream")

#: What of an account findings are made of, and no row.
_NOT_SHOWN: Final = frozenset({"ends", "order", "twice", "of_no_system"})

#: Characters of a UUID shown where nobody knows a name.
SHORT: Final = 8

#: What holds nothing else.
_SCALARS: Final = frozenset((int, str, float, bool, type(None)))

Row = dict[str, Any]

#: (capture, stream) to the job frames of its first and last message.
Spans = Mapping[tuple[int, str | None], tuple[int, int]]


def build(
    files: Sequence[Sequence[File]],
    rows: HeldResults,
    vantages: Sequence[Vantage],
    settings: ReplaySettings,
    names: Mapping[str, str],
    problems: Iterable[tuple[str, str]],
) -> dict[str, Any]:
    """The report. Its sections are sequences of rows, those of many rows not lists.

    Args:
        files: of each capture, in order.
        rows: the results, in any order.
        vantages: of each capture, with why.
        settings: what the replay was told.
        names: ``--names``: identity (UUID or IP address) to name.
        problems: (path, line) of captures that could not be read.
    """
    wall = Wall(up=settings.walled)
    called = Names(names, _members(rows.of(rows_of.MEMBER)))
    accounts = _Accounts(files, wall)
    captures = kept(
        _capture(number, account, files[number], vantages[number], called)
        for number, account in enumerate(accounts.merged(rows.of(rows_of.ACCOUNT)))
    )
    frames = FrameNumbers(files, accounts.frames, accounts.moved)
    noted = _Noted(rows.of(rows_of.STREAM), rows.without_frame(rows_of.FINDING))
    systems = rows.systems(rows_of.STREAM)
    across: Mapping[tuple[int, str], Row] = {}
    told_streams: Iterable[Row] = noted
    if zenoh_legs.SYSTEM in systems:  # what is said of one may rest on others
        deque(noted, maxlen=0)
        across = (
            wall.part("sessions of zenoh together", zenoh_legs.across_sessions, noted.seen) or {}
        )
        told_streams = rows.of(rows_of.STREAM)
    resolved: Iterator[Row] = wall.rows(
        "a stream",
        lambda row: frames.resolved(
            _stream(row, called) | across.get((row["capture"], row["stream"]), {}), row["capture"]
        ),
        told_streams,
    )
    losses = Losses(vantages)
    resolved = losses.each(resolved)
    changing = list(resolved) if RAIMS in systems else []
    streams = changing or kept(resolved)
    tables = _tables(rows.of(rows_of.TABLE), frames, called)
    if RAIMS in systems or RAIMS in tables:
        wall.part("bounds of raims losses", raims_bounds.tighten, changing, tables)
        wall.part("numbers of raims", raims_printed.print_seqnos, changing, tables)
    of_legs, legs_judged = wall.part(
        "legs of zenoh together", zenoh_legs.judge, noted.seen, accounts.spans
    ) or ([], {})
    of_sessions = wall.part("sessions of feeds together", feed_sessions.judge, noted.seen) or []
    of_raims, judged = wall.part(
        "what raims applications were told", _told_of_raims, rows.of(rows_of.TABLE)
    ) or ([], [])

    accounts.holes |= (
        wall.part(
            "holes that captures show of each other", both_ends_findings.holes_in,
            (row["detail"] for row in rows.of(rows_of.BOTH_ENDS)), accounts.spans,
        ) or {}
    )  # fmt: skip
    of_ends = wall.part(
        "captures of both ends together", _told_by_both_ends, rows.of(rows_of.BOTH_ENDS),
        accounts.spans,
    ) or []  # fmt: skip

    tightened = {(row["capture"], row["id"]): row for row in changing if row["system"] == RAIMS}

    def found(details: Iterable[Row]) -> Iterator[Row]:
        def put(detail: Row) -> Row:
            if tightened:
                detail = raims_bounds.restated(detail, tightened)
            return _finding(detail, frames, called, noted.spans, accounts.worth)

        return wall.rows("a finding", put, details)

    of_captures = heapq.merge(
        accounts.findings,
        chain.from_iterable(
            capture_rules.judge_vantage(number, vantage, losses.hidden(number))
            for number, vantage in enumerate(vantages)
        ),
        key=itemgetter("capture"),
    )
    counts = _Counts()
    findings = kept(
        counts.each(
            _merged(
                found(
                    row["detail"] | _place(row) | {"rule": row["rule"]}
                    for row in rows.of(rows_of.FINDING, *FINDING_COLUMNS, exact=False)
                    if _holds(row["detail"].pop("holds", None), accounts.spans[row["capture"]][1])
                ),
                _by_capture(found(_shown(of_captures, rows.of(rows_of.PROBLEM)))),
                *(
                    iter(sorted(found(several), key=_finding_order))
                    for several in (of_sessions, of_legs, of_raims, of_ends)
                ),
            )
        )
    )
    gaps = kept(_gaps(rows, frames, called, accounts.worth))
    connections = kept(
        wall.rows(
            "the states of a connection",
            lambda row: frames.resolved(
                _connection(_stream(row, called), accounts.spans[row["capture"]][1]),
                row["capture"],
            ),
            rows.of(rows_of.CONNECTION),
        )
    )
    queries = kept(
        frames.resolved(_about(row) | row["detail"], row["capture"])
        for row in rows.of(rows_of.QUERY)
    )
    both_ends = kept(
        wall.rows(
            "a stream at both ends",
            lambda row: _both_ends(row, frames, called, accounts),
            rows.of(rows_of.BOTH_ENDS),
        )
    )
    views = kept(
        frames.resolved(_about(row) | row["detail"] | {"frame": row["frame"]}, row["capture"])
        for row in rows.of(rows_of.VIEW)
    )
    unreadable = [{"path": path, "problem": text} for path, text in problems]
    if wall.failures:
        failed = counts.each(found(list(wall.failures)))
        findings = kept(sorted([*findings, *failed], key=_reported_order))
    unjudged = list(losses.unjudged(captures))
    lines = tables.get(FEED, {}).get("lines", [])
    return {
        "schema": SCHEMA_NAME,
        "tool": {"name": "seqaudit", "version": VERSION},
        "captures": captures,
        "unreadable": unreadable,
        "unjudged": unjudged,
        "members": members_listed(_members(rows.of(rows_of.MEMBER)), called),
        "views": views,
        "streams": streams,
        "connections": connections,
        "both_ends": both_ends,
        "gaps": gaps,
        "queries": queries,
        "findings": findings,
        "rules": _rules(rows.judged.by_rule(judged, legs_judged), counts.rules, len(captures)),
        "parameters": kept(_parameters(rows.of(rows_of.PARAMETER), settings)),
        "totals": totals_of(captures, streams, gaps, counts.severities, unreadable)
        | messages_of(streams, lines, vantages, whole=not unjudged),
    } | ({"tables": tables} if tables else {})


def to_json(report: Mapping[str, Any]) -> str:
    """The report as ``--format json`` prints it: sorted keys, one value a line, ASCII only."""
    return "".join(json_chunks(report))


def json_chunks(report: Mapping[str, Any]) -> Iterator[str]:
    """``to_json`` piece by piece: the text of ten thousand captures is not held whole."""
    return json_text.chunks(dict(report))


class FrameNumbers:
    """From job frames (``split << FRAME_BITS | number``) to a file and Wireshark's number in it."""

    def __init__(
        self,
        files: Sequence[Sequence[File]],
        counts: Mapping[int, int],
        moved: Mapping[int, int] | None = None,
    ) -> None:
        """
        Args:
            counts: frames of each split.
            moved: job frames that are places in the order of times, to those of the file's order.
        """
        self._moved = moved or {}
        self._several = [len(own) > 1 for own in files]
        self._names = [[PurePath(file.shown).name for file in own] for own in files]
        self._starts: list[int] = []  # first split of each file
        self._places: list[int] = []  # place of the file in its capture
        self._moves: dict[int, int] = {}  # from a job frame of a split to its number
        for own in files:
            for place, file in enumerate(own):
                self._starts.append(file.first_split)
                self._places.append(place)
                base = 0
                for split in range(file.first_split, file.stop_split):
                    self._moves[split] = base - (split << FRAME_BITS)
                    base += counts.get(split, 0)

    def number(self, frame: int) -> int:
        """Wireshark's number of a job frame in its file."""
        frame = self._moved.get(frame, frame)
        split = frame >> FRAME_BITS
        return frame + self._moves.get(split, -(split << FRAME_BITS))

    def file(self, frame: int) -> int:
        """Which file of its capture a job frame is in, from 0."""
        place = bisect.bisect_right(self._starts, frame >> FRAME_BITS) - 1
        return self._places[max(place, 0)]

    def named(self, capture: int, place: int | None) -> str | None:
        """The name of a file of a capture of several; null of a capture of one."""
        if place is None or not self._several[capture]:
            return None
        return self._names[capture][place]

    def resolved(self, value: Any, capture: int) -> Any:
        """A value with every job frame in it replaced.

        Of captures of several files each frame also says its file, beside it: ``frame_file``.
        Objects are new ones; a list that holds none may be the same.
        """
        return self._resolved(value, self._several[capture])

    def _resolved(self, value: Any, several: bool) -> Any:
        if isinstance(value, dict):
            return self._row_resolved(value, several)
        if isinstance(value, list) and not _flat(value):
            return [self._resolved(item, several) for item in value]
        return value

    def _row_resolved(self, row: Row, several: bool) -> Row:
        found: Row = {}
        for key, item in row.items():
            kind = type(item)
            if item is None or kind is str:
                found[key] = item
            elif kind is int:
                if _is_frame(key):
                    found[key] = self.number(item)
                    if several:
                        found[f"{key}_file"] = self.file(item)
                else:
                    found[key] = item
            elif key == "frames" and kind is list:
                found[key] = [self.number(frame) for frame in item]
                if several:
                    found["frames_file"] = [self.file(frame) for frame in item]
            else:
                found[key] = self._resolved(item, several)
        return found

    def display_filter(self, frames: Iterable[int]) -> str:
        """The display filter that shows these job frames; of the file of the first, if several."""
        listed = list(frames)
        if not listed:
            return EVERY_FRAME
        file = self.file(listed[0])
        numbers = sorted({self.number(f) for f in listed if self.file(f) == file})
        parts: list[tuple[int, int]] = []
        for number in numbers:
            if parts and parts[-1][1] == number - 1:
                parts[-1] = (parts[-1][0], number)
            else:
                parts.append((number, number))
        if len(numbers) == 1:
            return f"frame.number == {numbers[0]}"
        shown = [f"{a}" if a == b else f"{a}..{b}" for a, b in parts[:FILTER_PARTS]]
        return f"frame.number in {{{', '.join(shown)}}}"

    def span_filter(self, span: tuple[int, int] | None) -> str:
        """The display filter from one job frame to another; of all frames if nobody knows them.

        Of captures of several files it is for the first frame's file, to that file's end.
        """
        if span is None:
            return EVERY_FRAME
        first, last = span
        begin = f"frame.number >= {self.number(first)}"
        if self.file(last) != self.file(first):
            return begin
        return f"{begin} && frame.number <= {self.number(last)}"


class Names:
    """What members are called: ``--names``, then the wire's own names, then a short UUID."""

    def __init__(self, given: Mapping[str, str], members: Iterable[Row]) -> None:
        self._names: dict[str, str] = {}
        self._addresses: dict[tuple[int, str], str] = {}
        for member in members:
            address = ip_of_endpoint(str(member.get("address") or ""))
            name = given.get(member["member"]) or given.get(str(address)) or member.get("name")
            if name:
                self._names.setdefault(member["member"], str(name))
            if address is not None:
                self._addresses.setdefault((member["capture"], address), member["member"])
        self._names |= given

    def of(self, identity: str | None) -> str | None:
        """The name of a member; null for null."""
        if identity is None:
            return None
        known = self._names.get(identity)
        if known is not None:
            return known
        return identity[:SHORT] if len(identity) > SHORT and "-" in identity else identity

    def member_at(self, capture: int, address: str | None) -> str | None:
        """The member that a capture has seen at an IP address; null if none."""
        return None if address is None else self._addresses.get((capture, address))


class _Accounts:
    """Accounts of pieces, brought together a capture at a time.

    Attributes:
        frames: of each split.
        spans: first and last time of each capture.
        moved: see ``FrameNumbers``.
        worth: of captures with stretches of doubt; holes: what tells that they lack something.
        findings: details of findings about captures, in their order.
    """

    def __init__(self, files: Sequence[Sequence[File]], wall: Wall) -> None:
        self._files = files
        self._wall = wall
        self.frames: dict[int, int] = {}
        self.spans: list[tuple[int | None, int | None]] = []
        self.moved: dict[int, int] = {}
        self.worth: dict[int, Worth] = {}
        self.holes: dict[int, str] = {}
        self._findings = Section()

    @property
    def findings(self) -> Sequence[Row]:
        return self._findings.rows()

    def merged(self, rows: Iterable[Row]) -> Iterator[Account]:
        """One account of each capture, from ACCOUNT rows by capture."""
        groups = groupby(rows, key=lambda row: int(row["capture"]))
        at, own = next(groups, (-1, iter(())))
        for number, files in enumerate(self._files):
            pieces: list[Account] = []
            if at == number:
                pieces = [row["detail"] for row in own]
                at, own = next(groups, (-1, iter(())))
            self.frames |= frames_of_splits(pieces)
            account = merge(pieces, files)
            self.spans.append((account["first_ns"], account["last_ns"]))
            self.moved |= account["order"]["moved"]
            doubts = spans_of(account)
            if doubts:
                self.worth[number] = Worth(doubts)
            if lacking := [span.why for span in doubts if span.doubt in MISSING]:
                self.holes[number] = lacking[0]
            judged = self._wall.part("the capture itself", _judged, number, account, capture=number)
            for detail in judged or []:
                self._findings.append(detail)
            yield account


def _judged(capture: int, account: Account) -> list[Row]:
    return list(capture_rules.judge(capture, account))


class _Noted:
    """STREAM rows, each kept in mind as it goes by.

    Args:
        wanted: (capture, stream) whose spans are needed.

    Attributes:
        spans: see ``Spans``.
        seen: (capture, stream, detail) of those that are compared with others; of feeds only as
            much of the detail as that needs.
    """

    def __init__(self, rows: Iterable[Row], wanted: Collection[tuple[int, str | None]]) -> None:
        self._rows = rows
        self._wanted = wanted
        self.spans: dict[tuple[int, str | None], tuple[int, int]] = {}
        self.seen: list[tuple[int, str, Row]] = []

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            place, detail = (row["capture"], row["stream"]), row["detail"]
            if place in self._wanted and detail.get("first_frame") is not None:
                self.spans[place] = detail["first_frame"], detail["last_frame"]
            if row["system"] == FEED:
                if feed_sessions.wanted(detail):
                    self.seen.append((*place, feed_sessions.kept(detail)))
            elif detail.get("kind") in zenoh_legs.COMPARED:
                self.seen.append((*place, detail))
            yield row


class _Counts:
    """Findings by rule and by severity, counted as they go by."""

    def __init__(self) -> None:
        self.rules: Counter[str] = Counter()
        self.severities = dict.fromkeys(("error", "warning", "info"), 0)

    def each(self, findings: Iterable[Row]) -> Iterator[Row]:
        for finding in findings:
            self.rules[finding["rule"]] += 1
            severity = finding["severity"]
            self.severities[severity] = self.severities.get(severity, 0) + 1
            del finding["order"]
            yield finding


def _place(row: Row) -> Row:
    return _about(row) | {"stream": row["stream"]}


def _about(row: Row) -> Row:
    return {"capture": row["capture"], "system": row["system"]}


def _members(rows: Iterable[Row]) -> Iterator[Row]:
    """Members in the order in which they were seen, each fact once."""
    for capture, own in groupby(rows, key=lambda row: int(row["capture"])):
        for row in sorted(own, key=lambda row: row["frame"] or 0):
            yield row["detail"] | {"capture": capture}


def members_listed(members: Iterable[Row], called: Names) -> Sequence[Row]:
    """One entry a member and capture, with all addresses and versions it was seen with.

    Args:
        members: by capture.
    """
    return kept(
        member
        for _, own in groupby(members, key=lambda member: int(member["capture"]))
        for member in _members_of_capture(own, called)
    )


def _members_of_capture(members: Iterable[Row], called: Names) -> list[Row]:
    listed: dict[tuple[int, str], Row] = {}
    for member in members:
        key = (member["capture"], member["member"])
        entry = listed.setdefault(
            key,
            {
                "capture": member["capture"],
                "member": member["member"],
                "name": called.of(member["member"]),
                "addresses": [],
                "versions": [],
            },
        )
        for one, several in (("address", "addresses"), ("version", "versions")):
            if member.get(one) and member[one] not in entry[several]:
                entry[several] = sorted([*entry[several], member[one]])
    return [listed[key] for key in sorted(listed)]


def _gaps(
    rows: HeldResults, frames: FrameNumbers, called: Names, worth: Mapping[int, Worth]
) -> Iterator[Row]:
    """Gaps by capture, stream and seqnos, each with its story."""
    told = (
        frames.resolved(
            with_story(_place(row) | row["detail"], worth.get(row["capture"]), called.of),
            row["capture"],
        )
        for row in rows.of(rows_of.GAP, "capture", "stream", exact=False)
    )
    for _, same in groupby(told, key=lambda gap: (gap["capture"], gap["stream"] or "")):
        gaps = list(same)
        sort_rows(gaps, lambda gap: (gap["seqnos"],))
        yield from gaps


def _merged(*sources: Iterator[Row]) -> Iterator[Row]:
    """Findings of several sources, each in the order of findings, as one."""
    before: tuple[Any, ...] = (-1,)
    for key, same in groupby(heapq.merge(*sources, key=_finding_order), key=_finding_order):
        assert before < key, "findings come in the order of their frames"
        before = key
        findings = list(same)
        yield from findings if len(findings) == 1 else sorted(findings, key=_text)


def _by_capture(findings: Iterable[Row]) -> Iterator[Row]:
    """Findings that come by capture, in the order of findings."""
    for _, own in groupby(findings, key=lambda finding: int(finding["capture"])):
        yield from sorted(own, key=_finding_order)


def _stream(row: Row, called: Names) -> Row:
    stream: Row = _about(row) | {"id": row["stream"]} | row["detail"]
    stream["sender_name"] = called.of(stream.get("sender"))
    stream["receiver_name"] = called.of(stream.get("receiver"))
    return stream


def _connection(connection: Row, end_ns: int | None) -> Row:
    """A connection with the states that its timeouts led to before the capture ended."""
    reached = [state for state in connection.pop("later") if state["at_ns"] <= (end_ns or 0)]
    states = [*connection["states"], *reached]
    return connection | {"states": states, "state": states[-1]["state"] if states else None}


def _both_ends(
    row: Row,
    frames: FrameNumbers,
    called: Names,
    accounts: _Accounts,
) -> Row:
    """A stream of which the captures at its sender and at its receiver are given."""
    told = dict(row["detail"])
    count, why = both_ends_findings.settled(told, *accounts.spans[told["receiver_capture"]])
    told["path"] = both_ends_findings.settled_path(told, accounts.spans, accounts.holes)
    for key in ("undecided", "late", "late_ns", "begin_ns", "why"):
        told.pop(key)
    at_least = told.pop("after")
    for example in told["examples"]:
        example["copy"] = frames.resolved(example["copy"], told["sender_capture"])
        example["arrival"] = frames.resolved(example["arrival"], told["receiver_capture"])
    names = {f"{end}_name": called.of(told[end]) for end in ("sender", "receiver")}
    return (
        {"system": row["system"], "id": row["stream"]}
        | told
        | names
        | {
            "copies_sent_after_arrival": count,
            "copies_sent_after_arrival_at_least": at_least,
            "unknown": {} if why is None else {"copies_sent_after_arrival": why},
        }
    )


def _told_by_both_ends(
    rows: Iterable[Row], spans: Sequence[tuple[int | None, int | None]]
) -> list[Row]:
    return [
        detail
        for row in rows
        for detail in both_ends_findings.of_path(row["detail"] | _place(row), spans)
    ]


def _tables(rows: Iterable[Row], frames: FrameNumbers, called: Names) -> dict[str, dict[str, Any]]:
    """Tables of systems, by system and name, with names beside identities."""
    tables: dict[str, dict[str, list[Row] | Section]] = {}
    for row in rows:
        detail = dict(row["detail"])
        name = detail.pop("table")
        for key in ("observer", "bridge", "publisher", "subscriber", "receiver"):
            if detail.get(key) is not None:
                detail[f"{key}_name"] = called.of(detail[key])
        told = frames.resolved({"capture": row["capture"]} | detail, row["capture"])
        new: list[Row] | Section = [] if row["system"] == RAIMS else Section()  # those change
        tables.setdefault(row["system"], {}).setdefault(name, new).append(told)
    return {
        system: {
            name: table if isinstance(table, list) else table.rows() for name, table in own.items()
        }
        for system, own in tables.items()
    }


def _told_of_raims(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """What ``replay.raims.rv_told`` judges by tables of raims; parts of its engine, which are long
    to import, are needed only if there are any."""
    tables = ((row["capture"], row["detail"]) for row in rows if row["system"] == RAIMS)
    first = next(tables, None)
    if first is None:
        return [], []
    from seqaudit.replay.raims import rv_told as raims_told

    return raims_told.judge(chain([first], tables))


def _shown(details: Iterable[Row], problems: Iterable[Row]) -> Iterator[Row]:
    """Findings about captures, with the frames of the datagrams that stayed incomplete."""
    frames: dict[int, list[Row]] = {}
    for row in problems:
        told = row["detail"]
        shows = f"first fragment of {told['source']} > {told['destination']}: {told['what']}"
        shown = frames.setdefault(row["capture"], [])
        if len(shown) < EVIDENCE:
            shown.append({"frame": row["frame"], "shows": shows})
    for detail in details:
        if detail["rule"] == INCOMPLETE:
            yield detail | {"evidence": frames.get(detail["capture"], [])}
        else:
            yield detail


def _finding(
    detail: Row, frames: FrameNumbers, called: Names, spans: Spans, worth: Mapping[int, Worth]
) -> Row:
    """A finding as the report prints it; ``detail`` still has job frames and an unfilled text."""
    finding = dict(detail)
    if finding["capture"] in worth:
        finding |= weighed(finding, worth[finding["capture"]])
    finding["order"] = -1 if finding.get("frame") is None else finding["frame"]
    rule = RULES[finding["rule"]]
    facts = finding.pop("facts", None) or {}
    for key in ("holds", "rests", "conversation"):
        finding.pop(key, None)
    shown = [e["frame"] for e in finding.get("evidence") or [] if e.get("frame") is not None]
    if finding.get("frame") is not None:
        shown.insert(0, finding["frame"])
    finding["filter"] = (
        frames.display_filter(shown)
        if shown
        else frames.span_filter(spans.get((finding["capture"], finding.get("stream"))))
    )
    finding["name"] = rule.name
    finding["severity"] = str(finding.get("severity") or rule.severity)
    for key in ("system", "stream", "frame", "at_ns"):
        finding.setdefault(key, None)
    capture = finding["capture"]
    finding = dict(frames.resolved(finding, capture))
    if shown and (name := frames.named(capture, frames.file(shown[0]))) is not None:
        finding["filter_file"] = name
    finding = _of_file(finding, frames, capture)
    facts = frames.resolved(facts, capture)
    told = {key: _told(key, value, called) for key, value in facts.items()}
    for key in facts:
        if (name := frames.named(capture, facts.get(f"{key}_file"))) is not None:
            told[key] += f" of {name}"
    finding["text"] = _filled(finding["text"], told)
    finding["evidence"] = [
        _of_file(evidence, frames, capture) | {"shows": _filled(evidence["shows"], told)}
        for evidence in finding.get("evidence") or []
    ]
    return finding


def _of_file(row: Row, frames: FrameNumbers, capture: int) -> Row:
    """A row with the name of the file that its frame is in, in a capture of several."""
    name = frames.named(capture, row.get("frame_file"))
    return row if name is None else row | {"file": name}


def _holds(conditions: Mapping[str, int] | None, end_ns: int | None) -> bool:
    """Is a finding true of a capture that ended then? (``Finding.holds``)"""
    wanted = conditions or {}
    end = end_ns or 0
    return end < wanted.get("end_before_ns", end + 1) and end >= wanted.get("end_from_ns", end)


def _told(key: str, value: Any, called: Names) -> str:
    if key.endswith("_member"):
        return called.of(value) or "?"
    return "?" if value is None else str(value)


def _filled(text: str, facts: Mapping[str, str]) -> str:
    """A text with its ``{facts}``; anything else in braces is left as it is.

    ``{count:message}`` is "1 message" or "2 messages"; ``{count|was|were}`` chooses likewise.
    """

    def fact(found: re.Match[str]) -> str:
        value = facts.get(found[1])
        if value is None:
            return found[0]
        if found[2]:
            return f"{value} {found[2] if value == '1' else _plural(found[2])}"
        if found[3] is not None:
            return found[3] if value == "1" else found[4]
        return value

    return re.sub(r"\{(\w+)(?::([\w -]+)|\|([^|{}]*)\|([^|{}]*))?\}", fact, text)


def _plural(word: str) -> str:
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("ch", "s", "x")) else f"{word}s"


def _reported_order(finding: Row) -> tuple[Any, ...]:
    """The order of findings in the report, by what it says."""
    frame = -1 if finding["frame"] is None else finding["frame"]
    return finding["capture"], finding.get("frame_file", 0), frame, _text(finding)


def _finding_order(finding: Row) -> tuple[Any, ...]:
    return (
        finding["capture"],
        finding["order"],
        finding["rule"],
        finding["stream"] or "",
    )


def _capture(
    number: int, account: Account, files: Sequence[File], vantage: Vantage, called: Names
) -> Row:
    member = called.member_at(number, vantage.address)
    capture = {key: value for key, value in account.items() if key not in _NOT_SHOWN}
    formats = sorted({file.container for file in files})
    compressions = sorted({file.compression for file in files if file.compression})
    return capture | {
        "capture": number,
        "format": "+".join(formats),
        "compression": "+".join(compressions) or None,
        "vantage": {
            "kind": vantage.kind,
            "address": vantage.address,
            "member": member,
            "name": called.of(member),
            "origin": vantage.origin,
            "why": vantage.why,
        },
        "drops": _drops(account["interfaces"]),
    }


def _drops(interfaces: Iterable[Row]) -> Row | None:
    """Packets that the capture itself lost, by who counted them; null if nobody did."""
    counted: dict[str, int] = {}
    for interface in interfaces:
        for key, value in interface.items():
            if key.endswith(("drop", "drops")) and value is not None:
                counted[key] = counted.get(key, 0) + int(value)
    return counted or None


def _rules(
    judged: Mapping[str, tuple[Sequence[Row], Sequence[Row]]],
    findings: Mapping[str, int],
    captures: int,
) -> list[Row]:
    """Each rule: on which conversations of which captures it was judged, or why it was not.

    Args:
        judged: see ``JudgedRows.by_rule``.
        findings: how many each rule has.
    """
    all_of_them = np.arange(captures)
    everywhere = places(all_of_them, np.zeros_like(all_of_them), [""])
    entries = []
    for code, rule in sorted(RULES.items()):
        where, why_not = judged.get(code, ([], []))
        if code.startswith("CP") and code not in JUDGED_BY_ENGINES:
            where = everywhere
        entries.append(
            {
                "rule": code,
                "name": rule.name,
                "judged": where,
                "not_judged": why_not,
                "findings": findings.get(code, 0),
            }
        )
    return entries


def _parameters(rows: Iterable[Row], settings: ReplaySettings) -> Iterator[Row]:
    """What engines used, each with its origin; what was given and nobody used is listed as well,
    with ``used`` false: it has no effect on the replay.

    Args:
        rows: by capture.
    """
    groups = groupby(rows, key=lambda row: int(row["capture"]))
    at, own = next(groups, (-1, iter(())))
    for number, capture in enumerate(settings.captures):
        listed = {}
        if at == number:
            for row in own:
                entry = _place(row) | row["detail"] | {"used": True}
                listed[_text(entry)] = entry
            at, own = next(groups, (-1, iter(())))
        used = {entry["name"] for entry in listed.values()}
        for name, (value, origin) in sorted(capture.parameters.items()):
            if name not in used:
                entry = {
                    "capture": number,
                    "system": name.partition(".")[0],
                    "stream": None,
                    "name": name,
                    "value": value,
                    "origin": origin,
                    "used": False,
                }
                listed[_text(entry)] = entry
        for _, entry in sorted(
            listed.items(), key=lambda item: (item[1]["name"], item[1]["stream"] or "", item[0])
        ):
            yield entry


@lru_cache(maxsize=1_000)  # some objects have data as their keys
def _is_frame(key: str) -> bool:
    return key == "frame" or key.endswith("_frame")


def _flat(values: list[Any]) -> bool:
    """Whether a list holds no object, at the depth of ranges of seqnos or above."""
    kinds = set(map(type, values))
    if kinds == {list}:
        kinds = set(map(type, chain.from_iterable(values)))
    return kinds <= _SCALARS


def sort_rows(rows: list[Row], key: Callable[[Row], tuple[Any, ...]]) -> None:
    """Sort by a key, and rows of the same key by their text, which takes longer to make."""
    rows.sort(key=key)
    keys = [key(row) for row in rows]
    begin = 0
    for stop in range(1, len(rows) + 1):
        if stop == len(rows) or keys[stop] != keys[begin]:
            if stop - begin > 1:
                rows[begin:stop] = sorted(rows[begin:stop], key=_text)
            begin = stop


_text: Final[Callable[[object], str]] = json.JSONEncoder(sort_keys=True).encode
