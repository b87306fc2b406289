"""Results and accounts become the report (replay/README.md 5): ``seqaudit/report/1``.

Here, and nowhere before, frames become Wireshark's numbers, identities get names, and texts are
written out. The report is sorted and holds no clock and nothing of the machine but the paths given,
so both engines and an events file give the same bytes. No system is named here: what a system's
streams say together it says itself (``replay.contract.engine.Comparison``).
"""

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Final, cast

from seqaudit.decoders.network.tunnels import Tunnels
from seqaudit.pipeline.report.captures import CaptureAccounts, capture_row
from seqaudit.pipeline.report.findings import (
    Counts,
    OrderedFinding,
    by_capture,
    finding_order,
    finding_row,
    holds,
    merged,
    reported_order,
    with_problems,
)
from seqaudit.pipeline.report.frames import FrameNumbers
from seqaudit.pipeline.report.judged import Places, places_of_rules
from seqaudit.pipeline.report.names import Names, members_listed, members_of
from seqaudit.pipeline.report.order import sort_rows, text_of
from seqaudit.pipeline.report.packed_rows import PackedRows, as_rows
from seqaudit.pipeline.report.result_store import HeldResults
from seqaudit.pipeline.report.same_place import SamePlace
from seqaudit.pipeline.report.totals import Losses, messages_of, totals_of
from seqaudit.pipeline.shared.plan import File
from seqaudit.replay.captures import findings as capture_rules
from seqaudit.replay.captures.borders import Borders
from seqaudit.replay.captures.untold import without_figures
from seqaudit.replay.contract import results as rows_of
from seqaudit.replay.contract.engine import Compared, Replayed
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.open_end import settled, settled_gap
from seqaudit.replay.contract.report_rows import (
    BothEndsRow,
    ConnectionRow,
    ConversationPlace,
    CopyRow,
    GapRow,
    ParameterFigures,
    ParameterRow,
    Problem,
    QueryRow,
    Report,
    RuleRow,
    StreamFigures,
    StreamPlace,
    StreamRow,
    ViewRow,
    WindowRow,
)
from seqaudit.replay.contract.results import (
    ConnectionDetail,
    D,
    EndsDetail,
    GapDetail,
    JudgedRow,
    ResultRow,
    Row,
)
from seqaudit.replay.contract.settings import ReplaySettings, Vantage
from seqaudit.replay.contract.story import with_story
from seqaudit.replay.contract.version import VERSION
from seqaudit.replay.contract.wall import Wall
from seqaudit.replay.sequence.gap_rows import GapFigures
from seqaudit.replay.stages.compare import Comparisons
from seqaudit.replay.stages.systems import RULES, SYSTEMS

SCHEMA_NAME: Final = "seqaudit/report/1"

#: Rules about captures that engines judge, because they need the conversations.
JUDGED_BY_ENGINES: Final = frozenset({"CP007", "CP031", "CP032"})

#: The order of findings as columns of results.
FINDING_COLUMNS: Final = ("capture", "frame", "rule", "stream")

#: Tables of systems by their name, and that of the table.
Tables = dict[str, dict[str, Sequence[Row]]]

#: Identities in tables that get a name beside them.
_IDENTITIES: Final = ("observer", "bridge", "publisher", "subscriber", "receiver")


def build(
    files: Sequence[Sequence[File]],
    rows: HeldResults,
    vantages: Sequence[Vantage],
    settings: ReplaySettings,
    names: Mapping[str, str],
    problems: Iterable[tuple[str, str]],
) -> Report:
    """The report. Its sections are sequences of rows, those of many rows not lists.

    Args:
        files: of each capture, in order.
        rows: the results, in any order.
        vantages: of each capture, with why.
        settings: what the replay was told.
        names: ``--names``: identity (UUID or IP address) to name.
        problems: (path, line) of captures that could not be read.
    """
    made = _Sections(files, rows, vantages, settings, names)
    streams, tables = made.streams()
    compared = made.compared()
    counts = Counts()
    findings = as_rows(counts.each(made.findings(compared)))
    gaps = as_rows(made.gaps())
    views, connections = as_rows(made.views()), as_rows(made.connections())
    queries, windows = as_rows(made.queries()), as_rows(made.windows())
    both_ends = as_rows(made.both_ends())
    if made.wall.failures:
        failed = counts.each(made.found(list(made.wall.failures)))
        findings = as_rows(sorted([*findings, *failed], key=reported_order))
    unreadable: list[Problem] = [{"path": path, "problem": text} for path, text in problems]
    unjudged = list(made.losses.unjudged(made.captures))
    pairs = [
        pair
        for name, system in SYSTEMS.items()
        if system.pairs is not None
        for pair in tables.get(name, {}).get(system.pairs, ())
    ]
    report: Report = {
        "schema": SCHEMA_NAME,
        "tool": {"name": "seqaudit", "version": VERSION},
        "captures": made.captures,
        "unreadable": unreadable,
        "unjudged": unjudged,
        "members": members_listed(members_of(rows.of(rows_of.MEMBER)), made.called),
        "views": views,
        "streams": streams,
        "connections": connections,
        "both_ends": both_ends,
        "gaps": gaps,
        "queries": queries,
        "windows": windows,
        "findings": findings,
        "rules": _rules(rows, compared, counts.rules, len(made.captures)),
        "parameters": as_rows(_parameters(rows.of(rows_of.PARAMETER), settings)),
        "totals": {
            **totals_of(made.captures, streams, gaps, counts.severities, unreadable),
            **messages_of(streams, pairs, vantages, whole=not unjudged),
        },
    }
    if tables:
        report["tables"] = tables
    return report


class _Sections:
    """The parts of a report that rest on each other; each is made once, in the order of
    ``build``."""

    def __init__(
        self,
        files: Sequence[Sequence[File]],
        rows: HeldResults,
        vantages: Sequence[Vantage],
        settings: ReplaySettings,
        names: Mapping[str, str],
    ) -> None:
        self._rows = rows
        self._vantages = vantages
        self.wall = Wall(up=settings.walled)
        self.called = Names(names, members_of(rows.of(rows_of.MEMBER)))
        self._accounts = CaptureAccounts(files, vantages, self.wall)
        self.captures = as_rows(
            capture_row(number, account, files[number], vantages[number], self.called)
            for number, account in enumerate(self._accounts.merged(rows.of(rows_of.ACCOUNT)))
        )
        self._frames = FrameNumbers(files, self._accounts.frames, self._accounts.moved)
        present = rows.systems(rows_of.STREAM) | rows.systems(rows_of.TABLE)
        networks = [capture.network for capture in settings.captures]
        self._together = Comparisons(present, self.wall, networks)
        self._noted = _ComparedStreams(rows, self._together)
        self.losses = Losses(vantages)
        self._same_place = SamePlace(vantages, settings.captures)
        self._borders = Borders(
            [ends for _, ends in self._accounts.extents],
            from_one={word for system in SYSTEMS.values() for word in system.from_one},
            endless={word for system in SYSTEMS.values() for word in system.endless},
        )

    def streams(self) -> tuple[Sequence[StreamRow], Tables]:
        """Streams and tables, with what they say of each other."""
        rows: Iterable[ResultRow[StreamFigures]] = self._noted
        others: Mapping[tuple[int, str], Row] = {}
        if self._together.reads_first:
            deque(self._noted, maxlen=0)
            accounts = self._accounts
            others = self._together.figures(self._rows.of, accounts.worth, accounts.extents)
            rows = self._rows.of(rows_of.STREAM)
        ends = self._accounts.extents
        resolved = self.losses.each(
            self.wall.rows(
                "a stream",
                lambda row: self._frames.resolved(
                    _stream(
                        row,
                        self.called,
                        others.get((row["capture"], row["stream"] or ""), {}),
                        ends[row["capture"]][1],
                        self._accounts.tunnels.get(row["capture"]),
                        untold=self._accounts.untold.get(row["capture"]),
                    ),
                    row["capture"],
                ),
                rows,
            )
        )
        resolved = self._borders.each(resolved)
        streams = list(resolved) if self._together.changed else as_rows(resolved)
        tables = self._tables()
        self._together.settle(streams, tables)
        marked = self._same_place.marked(streams)
        return streams if marked is streams else as_rows(marked), tables

    def _tables(self) -> Tables:
        """Tables of systems, by system and name, with names beside identities."""
        tables: dict[str, dict[str, list[Row] | PackedRows[Row]]] = {}
        for row in self._rows.of(rows_of.TABLE):
            detail = dict(settled(row["detail"], self._accounts.extents[row["capture"]][1]))
            if why := self._accounts.untold.get(row["capture"]):
                detail = without_figures(detail, why)
            name = detail.pop("table")
            for key in _IDENTITIES:
                if detail.get(key) is not None:
                    detail[f"{key}_name"] = self.called.of(detail[key])
            told = self._frames.resolved({"capture": row["capture"]} | detail, row["capture"])
            new: list[Row] | PackedRows[Row] = (
                [] if row["system"] in self._together.changed else PackedRows()
            )
            tables.setdefault(row["system"], {}).setdefault(name, new).append(told)
        return {
            system: {
                name: table if isinstance(table, list) else table.rows()
                for name, table in own.items()
            }
            for system, own in tables.items()
        }

    def compared(self) -> list[Compared]:
        """What streams and captures say together."""
        accounts = self._accounts
        return self._together.judge(
            Replayed(accounts.extents, accounts.holes, accounts.unread, self._rows.of)
        )

    def findings(self, compared: Iterable[Compared]) -> Iterator[OrderedFinding]:
        """All but failures of seqaudit's own, in their order."""
        ends = self._accounts.extents
        of_captures = heapq.merge(
            self._accounts.findings,
            chain.from_iterable(
                chain(
                    capture_rules.judge_borders(number, self._borders.of(number)),
                    capture_rules.judge_vantage(number, vantage, self.losses.hidden(number)),
                )
                for number, vantage in enumerate(self._vantages)
            ),
            key=itemgetter("capture"),
        )
        of_engines: Iterator[PlacedFinding] = (
            {**row["detail"], **_about_stream(row)}
            for row in self._rows.of(rows_of.FINDING, *FINDING_COLUMNS, exact=False)
            if holds(row["detail"]["holds"], ends[row["capture"]][1])
        )
        problems = self._rows.of(rows_of.PROBLEM)
        return merged(
            self.found(of_engines),
            by_capture(self.found(with_problems(of_captures, problems))),
            *(iter(sorted(self.found(one.findings), key=finding_order)) for one in compared),
        )

    def found(self, details: Iterable[PlacedFinding]) -> Iterator[OrderedFinding]:
        """Findings as the report has them."""

        def put(detail: PlacedFinding) -> OrderedFinding:
            detail = self._together.restated(detail)
            return finding_row(detail, self._frames, self.called, self._noted, self._accounts.worth)

        return self.wall.rows("a finding", put, details)

    def gaps(self) -> Iterator[GapRow]:
        """By capture, stream and seqnos, each with its story."""
        worth, called, together = self._accounts.worth, self.called.of, self._together
        ends = self._accounts.extents

        def placed(row: ResultRow[GapFigures], end_ns: int | None) -> GapDetail:
            return {**_about_stream(row), **settled_gap(row["detail"], end_ns)}

        told = (
            self._frames.resolved(
                with_story(
                    together.restated_gap(placed(row, end)),
                    worth.get(row["capture"]),
                    called,
                    end,
                ),
                row["capture"],
            )
            for row in self._rows.of(rows_of.GAP, "capture", "stream", exact=False)
            for _, end in [ends[row["capture"]]]
        )
        for _, same in groupby(told, key=lambda gap: (gap["capture"], gap["stream"] or "")):
            gaps = list(same)
            sort_rows(gaps, lambda gap: (gap["seqnos"],))
            yield from gaps

    def connections(self) -> Iterator[ConnectionRow]:
        ends = self._accounts.extents
        return self.wall.rows(
            "the states of a connection",
            lambda row: self._frames.resolved(
                _connection(row, self.called, ends[row["capture"]][1]), row["capture"]
            ),
            self._rows.of(rows_of.CONNECTION),
        )

    def queries(self) -> Iterator[QueryRow]:
        for row in self._rows.of(rows_of.QUERY):
            query: QueryRow = {**_about(row), **row["detail"]}
            yield self._frames.resolved(query, row["capture"])

    def windows(self) -> Iterator[WindowRow]:
        """How full windows were, by capture and stream."""
        for row in self._rows.of(rows_of.WINDOW, "capture", "stream"):
            detail = row["detail"]
            yield {**_about_stream(row), **detail, "member_name": self.called.of(detail["member"])}

    def views(self) -> Iterator[ViewRow]:
        for row in self._rows.of(rows_of.VIEW):
            view: ViewRow = {**_about(row), **row["detail"]}
            yield self._frames.resolved(view, row["capture"])

    def both_ends(self) -> Iterator[BothEndsRow]:
        """Streams of which the captures at their sender and at their receiver are given."""

        def put(row: ResultRow[EndsDetail]) -> BothEndsRow:
            figures = self._together.both_ends(row)
            resolved = self._frames.resolved
            examples: list[CopyRow] = [
                {
                    "seqno": example["seqno"],
                    "copy": resolved(example["copy"], figures["sender_capture"]),
                    "arrival": example["arrival"]
                    and resolved(example["arrival"], figures["receiver_capture"]),
                }
                for example in figures["examples"]
            ]
            return {
                **figures,
                "examples": examples,
                "system": row["system"],
                "id": row["stream"] or "",
                "sender_name": self.called.of(figures["sender"]),
                "receiver_name": self.called.of(figures["receiver"]),
            }

        return self.wall.rows("a stream at both ends", put, self._rows.of(rows_of.BOTH_ENDS))


class _ComparedStreams:
    """STREAM rows, each shown to its system's comparison as it goes by.

    Attributes:
        spans: (capture, stream) to first and last job frame, of those with findings without any.
        subjects: (capture, stream) to its subject or key, of those that have one.
    """

    def __init__(self, rows: HeldResults, together: Comparisons) -> None:
        self._rows = rows
        self._together = together
        self._wanted: Collection[tuple[int, str | None]] = rows.without_frame(rows_of.FINDING)
        self.spans: dict[tuple[int, str | None], tuple[int, int]] = {}
        self.subjects: dict[tuple[int, str | None], str] = {}

    def __iter__(self) -> Iterator[ResultRow[StreamFigures]]:
        for row in self._rows.of(rows_of.STREAM):
            place, detail = (row["capture"], row["stream"]), cast(StreamRow, row["detail"])
            first, last = detail["first_frame"], detail["last_frame"]
            if place in self._wanted and first is not None and last is not None:
                self.spans[place] = first, last
            if subject := detail.get("subject") or detail.get("key"):
                self.subjects[place] = subject
            self._together.note(row)
            yield row


class _StreamOrNone(ConversationPlace):
    stream: str | None


def _about_stream(row: ResultRow[D]) -> _StreamOrNone:
    return {**_about(row), "stream": row["stream"]}


def _about(row: ResultRow[D]) -> ConversationPlace:
    return {"capture": row["capture"], "system": row["system"]}


def _named(
    row: ResultRow[D], sender: str | None, receiver: str | None, called: Names
) -> StreamPlace:
    return {
        "capture": row["capture"],
        "system": row["system"],
        "id": row["stream"] or "",
        "sender_name": called.of(sender),
        "receiver_name": called.of(receiver),
    }


def _stream(
    row: ResultRow[StreamFigures],
    called: Names,
    others: Mapping[str, object],
    end_ns: int | None,
    tunnels: Tunnels | None,
    *,
    untold: str | None,
) -> StreamRow:
    own = row["detail"]
    place = _named(row, own["sender"], own["receiver"], called)
    if tunnels is not None:
        ends = (own["sender"], own["receiver"])
        came_by = tunnels.between(*(called.addresses_of(row["capture"], end) for end in ends))
        if came_by:
            place["tunnels"] = came_by
    told = cast(StreamRow, {**settled(own, end_ns), **place, **others})
    return told if untold is None else without_figures(told, untold)


def _connection(
    row: ResultRow[ConnectionDetail], called: Names, end_ns: int | None
) -> ConnectionRow:
    """A connection with the states that its timeouts led to before the capture ended."""
    own = row["detail"]
    reached = [state for state in own["later"] if state["at_ns"] <= (end_ns or 0)]
    states = [*own["states"], *reached]
    connection = {
        **own,
        **_named(row, own["sender"], own["receiver"], called),
        "states": states,
        "state": states[-1]["state"] if states else None,
    }
    del connection["later"]
    return cast(ConnectionRow, connection)


def _rules(
    rows: HeldResults, compared: Iterable[Compared], findings: Mapping[str, int], captures: int
) -> list[RuleRow]:
    """Each rule: on which conversations of which captures it was judged, or why it was not.

    Args:
        findings: how many each rule has.
    """
    more: list[JudgedRow] = []
    together: dict[str, set[tuple[int, str]]] = {}
    for one in compared:
        more += one.judged
        together |= one.together
    judged = places_of_rules(rows.of(rows_of.JUDGED), more, together)
    everywhere = Places([{"capture": number, "conversation": ""} for number in range(captures)], ())
    entries: list[RuleRow] = []
    for code, rule in sorted(RULES.items()):
        places = judged.get(code, Places((), ()))
        if code.startswith("CP") and code not in JUDGED_BY_ENGINES:
            places = everywhere._replace(not_judged=places.not_judged)
        entries.append(
            {
                "rule": code,
                "name": rule.name,
                "judged": places.judged,
                "not_judged": places.not_judged,
                "findings": findings.get(code, 0),
            }
        )
    return entries


def _parameters(
    rows: Iterable[ResultRow[ParameterFigures]], settings: ReplaySettings
) -> Iterator[ParameterRow]:
    """What engines used, each with its origin; what was given and nobody used is listed as well,
    with ``used`` false: it has no effect on the replay.

    Args:
        rows: by capture.
    """
    groups = groupby(rows, key=lambda row: int(row["capture"]))
    at, own = next(groups, (-1, iter(())))
    for number, capture in enumerate(settings.captures):
        listed: dict[str, ParameterRow] = {}
        if at == number:
            for row in own:
                entry: ParameterRow = {**_about_stream(row), **row["detail"], "used": True}
                listed[text_of(entry)] = entry
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
                listed[text_of(entry)] = entry
        for _, entry in sorted(
            listed.items(), key=lambda item: (item[1]["name"], item[1]["stream"] or "", item[0])
        ):
            yield entry
