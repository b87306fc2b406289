"""Results and accounts become the report (design 4.5): ``seqaudit/report/1``.

Here, and nowhere before, frames become Wireshark's numbers, identities get names, and texts are
written out. The report is sorted and holds no clock and nothing of the machine but the paths given,
so both engines and an events file give the same bytes.
"""

import bisect
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from seqaudit.decoders.columns import (
    encoded,
    equal,
    filled,
    filtered,
    sorted_places,
    taken,
    true_count,
)
from seqaudit.decoders.events import FRAME_BITS
from seqaudit.pipeline import json_text, packed
from seqaudit.pipeline.accounts import Account, by_capture, frames_of_splits, merge
from seqaudit.pipeline.packed import Packed
from seqaudit.pipeline.plan import File
from seqaudit.pipeline.vantage import ip_of_endpoint
from seqaudit.replay import (
    both_ends_findings,
    capture_rules,
    feed_sessions,
    raims_bounds,
    raims_printed,
    zenoh_legs,
)
from seqaudit.replay import results as rows_of
from seqaudit.replay.rules import RULES
from seqaudit.replay.settings import ReplaySettings, Vantage

SCHEMA_NAME: Final = "seqaudit/report/1"

#: Rows of results that are Python objects at a time.
ROWS_AT_ONCE: Final = 1_000


#: The system whose streams may be a hundred thousand.
FEED: Final = "feed"

#: Members of a display filter; Wireshark gets slow with long ones.
FILTER_PARTS: Final = 50

#: The rule that incomplete IP datagrams show for, and how many of them it names.
INCOMPLETE: Final = "CP005"
EVIDENCE: Final = 8

#: Rules about captures that engines judge, because they need the conversations.
JUDGED_BY_ENGINES: Final = frozenset({"CP007"})

#: A display filter for a finding that is about no single frame: everything.
EVERY_FRAME: Final = "frame"

#: Characters of a UUID shown where nobody knows a name.
SHORT: Final = 8

#: What holds nothing else.
_SCALARS: Final = frozenset((int, str, float, bool, type(None)))

Row = dict[str, Any]

#: (capture, stream) to the job frames of its first and last message.
Spans = Mapping[tuple[int, str | None], tuple[int, int]]


def build(
    files: Sequence[Sequence[File]],
    results: pa.Table,
    vantages: Sequence[Vantage],
    settings: ReplaySettings,
    names: Mapping[str, str],
    problems: Iterable[tuple[str, str]],
) -> dict[str, Any]:
    """The report.

    Args:
        files: of each capture, in order.
        results: RESULTS rows in any order.
        vantages: of each capture, with why.
        settings: what the replay was told.
        names: ``--names``: identity (UUID or IP address) to name.
        problems: (path, line) of captures that could not be read.
    """
    rows = _Rows(results)
    accounts = [row["detail"] | {"capture": row["capture"]} for row in rows.of("ACCOUNT")]
    frames = FrameNumbers(files, accounts)
    members = _members(rows.of(rows_of.MEMBER))
    called = Names(names, members)
    merged = [
        merge(pieces, own)
        for pieces, own in zip(by_capture(accounts, len(files)), files, strict=True)
    ]
    noted = _Noted(rows.of(rows_of.STREAM))
    packed_streams = None
    if rows.count(rows_of.STREAM) > packed.MANY and rows.systems(rows_of.STREAM) == [FEED]:
        packed_streams = Packed(
            frames.resolved(_stream(row, called), row["capture"]) for row in noted
        )  # of feeds, whose rows are told by nothing that follows here
        stream_rows: list[Row] = []
    else:
        stream_rows = list(noted)
    spans, seen = noted.spans, noted.seen
    findings = [
        _finding(row["detail"] | _place(row) | {"rule": row["rule"]}, frames, called, spans)
        for row in rows.of(rows_of.FINDING)
        if _holds(row["detail"].pop("holds", None), merged[row["capture"]]["last_ns"])
    ]
    findings += [
        _finding(detail, frames, called, spans)
        for detail in _shown(capture_rules.judge(merged), rows.of(rows_of.PROBLEM))
    ]
    findings += [_finding(detail, frames, called, spans) for detail in feed_sessions.judge(seen)]
    of_legs, legs_judged = zenoh_legs.judge(seen, [(m["first_ns"], m["last_ns"]) for m in merged])
    findings += [_finding(detail, frames, called, spans) for detail in of_legs]
    across = zenoh_legs.across_sessions(seen)
    told, judged = _told_of_raims(rows.of(rows_of.TABLE))
    findings += [_finding(detail, frames, called, spans) for detail in told]
    sort_rows(findings, _finding_order)
    streams = [
        frames.resolved(
            _stream(row, called) | across.get((row["capture"], row["stream"]), {}), row["capture"]
        )
        for row in stream_rows
    ]
    gaps = _gaps(rows, frames)
    connections = [
        frames.resolved(
            _connection(_stream(row, called), merged[row["capture"]]["last_ns"]), row["capture"]
        )
        for row in rows.of(rows_of.CONNECTION)
    ]
    queries = [
        frames.resolved(_about(row) | row["detail"], row["capture"])
        for row in rows.of(rows_of.QUERY)
    ]
    both_ends = [_both_ends(row, frames, called, merged) for row in rows.of(rows_of.BOTH_ENDS)]
    views = [
        frames.resolved(_about(row) | row["detail"] | {"frame": row["frame"]}, row["capture"])
        for row in rows.of(rows_of.VIEW)
    ]
    tables = _tables(rows.of(rows_of.TABLE), frames, called)
    raims_bounds.tighten(streams, tables)
    raims_printed.print_seqnos(streams, tables)
    all_streams = streams if packed_streams is None else packed_streams
    captures = [
        _capture(number, merged[number], own, vantages[number], called)
        for number, own in enumerate(files)
    ]
    unreadable = [{"path": path, "problem": text} for path, text in problems]
    return {
        "schema": SCHEMA_NAME,
        "captures": captures,
        "unreadable": unreadable,
        "members": members_listed(members, called),
        "views": views,
        "streams": all_streams,
        "connections": connections,
        "both_ends": both_ends,
        "gaps": gaps,
        "queries": queries,
        "findings": findings,
        "rules": _rules(rows.of(rows_of.JUDGED), judged, findings, len(captures), legs_judged),
        "parameters": _parameters(rows.of(rows_of.PARAMETER), settings),
        "totals": _totals(captures, all_streams, gaps, findings, unreadable)
        | _messages(all_streams, tables.get("feed", {}).get("lines", [])),
    } | ({"tables": tables} if tables else {})


def to_json(report: Mapping[str, Any]) -> str:
    """The report as ``--format json`` prints it: sorted keys, one value a line, ASCII only."""
    return "".join(json_chunks(report))


def json_chunks(report: Mapping[str, Any]) -> Iterator[str]:
    """``to_json`` piece by piece: the text of ten thousand captures is not held whole."""
    return json_text.chunks(dict(report))


class FrameNumbers:
    """From job frames (``split << FRAME_BITS | number``) to a file and Wireshark's number in it."""

    def __init__(self, files: Sequence[Sequence[File]], accounts: Iterable[Account]) -> None:
        counts = frames_of_splits(accounts)
        self._several = [len(own) > 1 for own in files]
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
        split = frame >> FRAME_BITS
        return frame + self._moves.get(split, -(split << FRAME_BITS))

    def file(self, frame: int) -> int:
        """Which file of its capture a job frame is in, from 0."""
        place = bisect.bisect_right(self._starts, frame >> FRAME_BITS) - 1
        return self._places[max(place, 0)]

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

    def __init__(self, given: Mapping[str, str], members: Sequence[Row]) -> None:
        self._names: dict[str, str] = {}
        for member in members:
            address = ip_of_endpoint(str(member.get("address") or ""))
            name = given.get(member["member"]) or given.get(str(address)) or member.get("name")
            if name:
                self._names.setdefault(member["member"], str(name))
        self._names |= given
        self._addresses: dict[tuple[int, str], str] = {}
        for member in members:
            address = ip_of_endpoint(str(member.get("address") or ""))
            if address is not None:
                self._addresses.setdefault((member["capture"], address), member["member"])

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


class _Noted:
    """STREAM rows, each kept in mind as it goes by.

    Attributes:
        spans: see ``Spans``.
        seen: (capture, stream, detail) of all, for what compares streams; of feeds only as much of
            the detail as that needs.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.spans: dict[tuple[int, str | None], tuple[int, int]] = {}
        self.seen: list[tuple[int, str, Row]] = []

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            place, detail = (row["capture"], row["stream"]), row["detail"]
            if detail.get("first_frame") is not None:
                self.spans[place] = detail["first_frame"], detail["last_frame"]
            self.seen.append(
                (*place, feed_sessions.kept(detail) if row["system"] == FEED else detail)
            )
            yield row


class _Rows:
    """Rows by kind, details parsed, in an order that does not depend on the engine.

    They are sorted and made when they are asked for: of ten thousand captures the columns take
    little, and the report is what has to be held.
    """

    def __init__(self, results: pa.Table) -> None:
        self._results = results

    def count(self, kind: str) -> int:
        """How many rows are of a kind."""
        return true_count(equal(self._results["kind"], kind))

    def systems(self, kind: str) -> list[str]:
        """The systems of the rows of a kind."""
        found: list[str] = encoded(
            self._of(kind).column("system").combine_chunks()
        ).dictionary.to_pylist()
        return found

    def _of(self, kind: str) -> pa.Table:
        return filtered(self._results, equal(self._results["kind"], kind))

    def of(self, kind: str) -> Iterator[Row]:
        """The rows of a kind, made anew at every call."""
        unsorted = self._of(kind).combine_chunks()
        keys = {
            name: filled(unsorted[name], default) if unsorted[name].null_count else unsorted[name]
            for name, default in (
                ("capture", -1),
                ("conversation", ""),
                ("system", ""),
                ("stream", ""),
                ("frame", -1),
                ("rule", ""),
                ("detail", ""),
            )
        }
        places = sorted_places(pa.table(keys), keys)
        del keys
        for start in range(0, len(places), ROWS_AT_ONCE):
            rows = taken(unsorted, places.slice(start, ROWS_AT_ONCE))
            # All details as one text: it takes half the time, and their keys are held once, which
            # would be a third of the report's memory.
            details = json.loads(f"[{','.join(rows.column('detail').to_pylist())}]")
            told = rows.drop_columns(["detail"]).to_pylist()
            for row, row["detail"] in zip(told, details, strict=True):
                yield row


def _place(row: Row) -> Row:
    return _about(row) | {"stream": row["stream"]}


def _about(row: Row) -> Row:
    return {"capture": row["capture"], "system": row["system"]}


def _members(rows: Iterable[Row]) -> list[Row]:
    """Members in the order in which they were seen, each fact once."""
    ordered = sorted(rows, key=lambda row: (row["capture"], row["frame"] or 0))
    return [row["detail"] | {"capture": row["capture"]} for row in ordered]


def members_listed(members: Iterable[Row], called: Names) -> list[Row]:
    """One entry a member and capture, with all addresses and versions it was seen with."""
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


def _gaps(rows: _Rows, frames: FrameNumbers) -> Sequence[Row]:
    told = (
        frames.resolved(_place(row) | row["detail"], row["capture"]) for row in rows.of(rows_of.GAP)
    )
    if rows.count(rows_of.GAP) > packed.MANY:
        return packed.packed_sorted(told, _gap_order, _text)
    gaps = list(told)
    sort_rows(gaps, _gap_order)
    return gaps


def _gap_order(gap: Row) -> tuple[Any, ...]:
    return gap["capture"], gap["stream"] or "", gap["seqnos"]


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


def _both_ends(row: Row, frames: FrameNumbers, called: Names, captures: Sequence[Account]) -> Row:
    """A stream of which the captures at its sender and at its receiver are given."""
    told = dict(row["detail"])
    receiver = captures[told["receiver_capture"]]
    count, why = both_ends_findings.settled(told, receiver["first_ns"], receiver["last_ns"])
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


def _tables(
    rows: Iterable[Row], frames: FrameNumbers, called: Names
) -> dict[str, dict[str, list[Row]]]:
    """Tables of systems, by system and name, with names beside identities."""
    tables: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        detail = dict(row["detail"])
        name = detail.pop("table")
        for key in ("observer", "bridge", "publisher", "subscriber", "receiver"):
            if detail.get(key) is not None:
                detail[f"{key}_name"] = called.of(detail[key])
        told = frames.resolved({"capture": row["capture"]} | detail, row["capture"])
        tables.setdefault(row["system"], {}).setdefault(name, []).append(told)
    return tables


def _told_of_raims(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """What ``raims_told`` judges by tables of raims; parts of its engine, which are long to import,
    are needed only if there are any."""
    tables = ((row["capture"], row["detail"]) for row in rows if row["system"] == "raims")
    first = next(tables, None)
    if first is None:
        return [], []
    from seqaudit.replay import raims_told

    return raims_told.judge(chain([first], tables))


def _shown(details: Iterable[Row], problems: Iterable[Row]) -> list[Row]:
    """Findings about a capture, with the frames of the datagrams that stayed incomplete."""
    frames: dict[int, list[Row]] = {}
    for row in problems:
        told = row["detail"]
        shows = f"first fragment of {told['source']} > {told['destination']}: {told['what']}"
        shown = frames.setdefault(row["capture"], [])
        if len(shown) < EVIDENCE:
            shown.append({"frame": row["frame"], "shows": shows})
    return [
        detail | {"evidence": frames.get(detail["capture"], [])}
        if detail["rule"] == INCOMPLETE
        else detail
        for detail in details
    ]


def _finding(detail: Row, frames: FrameNumbers, called: Names, spans: Spans) -> Row:
    """A finding as the report prints it; ``detail`` still has job frames and an unfilled text."""
    finding = dict(detail)
    rule = RULES[finding["rule"]]
    facts = finding.pop("facts", None) or {}
    for key in ("holds", "conversation"):
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
    told = {
        key: _told(key, value, called) for key, value in frames.resolved(facts, capture).items()
    }
    finding["text"] = _filled(finding["text"], told)
    finding["evidence"] = [
        evidence | {"shows": _filled(evidence["shows"], told)}
        for evidence in finding.get("evidence") or []
    ]
    return finding


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


def _finding_order(finding: Row) -> tuple[Any, ...]:
    return (
        finding["capture"],
        finding.get("frame_file", 0),
        -1 if finding["frame"] is None else finding["frame"],
        finding["rule"],
        finding["stream"] or "",
    )


def _capture(
    number: int, account: Account, files: Sequence[File], vantage: Vantage, called: Names
) -> Row:
    member = called.member_at(number, vantage.address)
    capture = {key: value for key, value in account.items() if key != "ends"}
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
    judged: Iterable[Row],
    told: Sequence[Row],
    findings: Iterable[Row],
    captures: int,
    together: Mapping[str, Collection[tuple[int, str]]],
) -> list[Row]:
    """Each rule: on how many conversations of which captures it was judged, or why it was not.

    Args:
        judged: JUDGED rows by capture.
        told: more of them, in no order.
        together: rule to (capture, conversation) that it was judged on by several legs together.
    """
    entries: dict[str, Row] = {
        code: {
            "rule": code,
            "name": rule.name,
            "judged": [],
            "not_judged": [],
            "findings": 0,
        }
        for code, rule in RULES.items()
    }
    places: dict[tuple[int, str], Row] = {}  # each is held once: there are as many as rules in it
    unjudged: dict[tuple[int, str | None], Row] = {}  # likewise
    seen: set[tuple[str, int, bool, str | None]] = (
        set()
    )  # feeds tell a rule once a batch of streams
    capture = -1
    for row in chain(judged, told):
        entry = entries.get(row["rule"] or "")
        if entry is None:
            continue
        place = (row["capture"], row["conversation"])
        if place[0] != capture and not told:
            capture = place[0]
            seen.clear()  # of ten thousand captures it would be most of what is held here
            unjudged.clear()
        where = places.setdefault(place, dict(zip(("capture", "conversation"), place, strict=True)))
        why = row["detail"].get("why")
        was_judged = place in together.get(row["rule"], ()) or row["detail"].get(
            "judged", why is None
        )
        fact = (entry["rule"], id(where), was_judged, why)
        if fact in seen:
            continue
        seen.add(fact)
        if was_judged:
            entry["judged"].append(where)
        else:
            entry["not_judged"].append(unjudged.setdefault((id(where), why), where | {"why": why}))
    everywhere = [{"capture": n, "conversation": ""} for n in range(captures)]
    for code, entry in entries.items():
        if code.startswith("CP") and code not in JUDGED_BY_ENGINES:
            entry["judged"] = everywhere
    for finding in findings:
        entries[finding["rule"]]["findings"] += 1
    return [entries[code] for code in sorted(entries)]


def _parameters(rows: Iterable[Row], settings: ReplaySettings) -> list[Row]:
    """What engines used, each with its origin; what was given and nobody used is listed as well,
    with ``used`` false: it has no effect on the replay."""
    listed = {}
    for row in rows:
        entry = _place(row) | row["detail"] | {"used": True}
        listed[_text(entry)] = entry
    used = {(entry["capture"], entry.get("name")) for entry in listed.values()}
    for number, capture in enumerate(settings.captures):
        for name, (value, origin) in sorted(capture.parameters.items()):
            if (number, name) not in used:
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
    return sorted(
        listed.values(),
        key=lambda entry: (entry["capture"], entry["name"], entry["stream"] or "", _text(entry)),
    )


def _totals(
    captures: Sequence[Row],
    streams: Sequence[Row],
    gaps: Sequence[Row],
    findings: Sequence[Row],
    unreadable: Sequence[Row],
) -> Row:
    frames_by: dict[str, int] = {}
    for capture in captures:
        for outcome, count in capture["frames_by"].items():
            frames_by[outcome] = frames_by.get(outcome, 0) + count
    by_severity = dict.fromkeys(("error", "warning", "info"), 0)
    for finding in findings:
        by_severity[finding["severity"]] = by_severity.get(finding["severity"], 0) + 1
    return {
        "captures": len(captures),
        "unreadable": len(unreadable),
        "frames": sum(capture["frames"] for capture in captures),
        "frames_by": frames_by,
        "streams": len(streams),
        "gaps": len(gaps),
        "findings": by_severity,
    }


def _messages(streams: Sequence[Row], pairs: Sequence[Row]) -> Row:
    """What became of messages: of two lines that carry the same, what a receiver of both gets."""
    totals = dict.fromkeys(("messages", "lost", "recovered", "unrecovered"), 0)
    for stream in streams:
        if stream.get("kind") != "line":
            for key in totals:
                totals[key] += stream.get(key) or 0
    for pair in pairs:
        totals["messages"] += pair["messages"]
        totals["recovered"] += pair["recovered"]
        totals["unrecovered"] += pair["lost_on_both"]
        totals["lost"] += pair["recovered"] + pair["lost_on_both"]
    return totals


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
