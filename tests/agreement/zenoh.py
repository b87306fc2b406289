"""zenoh scenarios: what we report beside what was published, delivered, missed and dropped.

Per (session, key expression): several subscribers of one node are one on the wire. ``wire_summary``
of the truth is what the recording's own decoder counted: a second opinion, compared for messages.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.agreement import statements
from tests.agreement.findings_zenoh import finding_rows
from tests.agreement.happened_zenoh import numbers, to_ranges
from tests.agreement.path_zenoh import Identity, is_heartbeat
from tests.agreement.report import by_capture
from tests.agreement.rows import EVERYTHING, Hints, Row
from tests.agreement.zenoh_delivered import delivered_rows
from tests.agreement.zenoh_report import (
    NO_SUCCESSOR,
    NOBODY_THERE,
    ONE_SIDE,
    Part,
    Stream,
    ZenohScenario,
)

SCHEMA: Final = "zenoh-truth/1"

#: Words of the recording's decoder, and ours.
SAME_MESSAGES: Final = {"Scout": "Scout or Hello", "Hello": "Scout or Hello"}


def find(top: Path, match: str = "*") -> list[ZenohScenario]:
    """Folders below ``top`` whose truth is zenoh's."""
    found = []
    for path in sorted(top.rglob("truth.json")):
        if path.parent.match(match):
            truth = json.loads(path.read_text())
            if truth.get("schema") == SCHEMA:
                found.append(ZenohScenario(path.parent, truth))
    return found


#: Scenario, file, finding.
Found = tuple[str, str, Mapping[str, Any]]


def compare_all(
    scenarios: Sequence[ZenohScenario],
    options: Options,
    hints: Hints = EVERYTHING,
    findings: list[Found] | None = None,
) -> Iterator[Row]:
    """One job over all captures; all rows.

    Args:
        findings: takes those of the captures.
    """
    if not scenarios:
        return
    places = [(scenario, file) for scenario in scenarios for file in scenario.files]
    report = audit(
        [
            CaptureInput(str(s.folder / file), at=s.at(file) if hints.places else None)
            for s, file in places
        ],
        options,
    )
    if findings is not None:
        findings += (
            (places[f["capture"]][0].name, places[f["capture"]][1], f)
            for f in report["findings"]
            if f["capture"] is not None
        )
    at, parts = 0, by_capture(report)
    for scenario in scenarios:
        numbered = {}
        for file in scenario.files:
            numbered[file] = at
            at += 1
        if statements.placed(report, numbered.values()):
            yield from compare(Part(scenario, report, numbered), more=hints.more)
        for file, number in numbered.items():
            part = parts[number]
            yield from statements.rows(scenario.name, file, part, number, more=hints.more)
            if not hints.places:
                place = scenario.at(file)
                yield from statements.place_rows(
                    scenario.name, file, part, number, place, more=hints.more
                )
    yield from statements.rows_of_totals("zenoh", report)


def compare(part: Part, *, more: bool = False) -> Iterator[Row]:
    """All rows of one recording."""
    for file in part.scenario.files:
        yield from _decoding(part, file)
        for source in part.happened.identities:
            yield from published_rows(part, file, source)
        yield from delivered_rows(part, file, more=more)
    yield from _dropped(part)
    yield from finding_rows(part, more=more)


def _decoding(part: Part, file: str) -> Iterator[Row]:
    """Frames, messages by kind, queries."""
    capture = part.report["captures"][part.numbers[file]]
    by = capture["frames_by"]
    yield part.row(file, "frames, by outcome", sum(by.values()), capture["frames"])
    if any(value < 0 for value in by.values()):
        yield part.row(file, "no outcome below zero", by, None)
    if part.happened.cut(file):
        return  # the recording's own decoder could not read it either
    summary = part.happened.summary(file)
    told: dict[str, int] = {}
    for kinds in (summary["transport_messages"], summary["network_messages"]):
        for kind, count in kinds.items():
            name = SAME_MESSAGES.get(kind, kind)
            told[name] = told.get(name, 0) + count
    told.pop("LowLatency", None)  # a word for what has no transport message around it
    ours = capture["messages_by"].get("zenoh", {})
    for kind in sorted(ours.keys() | told.keys()):
        yield part.row(file, f"messages {kind}", ours.get(kind, 0), told.get(kind, 0))
    asked = [q for q in summary["queries"] if "@adv" in str(q[2])]
    again = sum(one["m"] == "request" for one in part.happened.refused(file))
    yield part.row(file, "queries", len(part.queries(file)), len(asked) - again)
    yield from _passed(part, file, summary)


def _passed(part: Part, file: str, summary: Mapping[str, Any]) -> Iterator[Row]:
    """Samples, replies and heartbeats that passed, by source: the other decoder's opinion."""
    ours: dict[str, dict[str, set[int]]] = {"push_sn": {}, "reply_sn": {}}
    here: list[Mapping[str, Any]] = []
    for stream in part.report["streams"]:
        if stream["capture"] == part.numbers[file] and stream.get("kind") == "samples":
            source = stream["source"]
            if source is None:
                continue
            for figure, ranges in (("push_sn", stream["live"]), ("reply_sn", stream["replied"])):
                if ranges:
                    ours[figure].setdefault(source, set()).update(numbers(ranges))
            here.append(stream)
    for figure, word in (("push_sn", "samples"), ("reply_sn", "replies")):
        told: dict[str, set[int]] = {}
        for name, ranges in summary[figure].items():
            told.setdefault(name.partition(" ")[0], set()).update(numbers(ranges))
        _less_refused(part, file, figure, told)
        for source in sorted(told.keys() | ours[figure].keys()):
            yield part.row(
                file,
                f"{source[:6]} {word} that passed",
                to_ranges(sorted(ours[figure].get(source, ()))),
                to_ranges(sorted(told.get(source, ()))),
            )
    refused = part.happened.refused(file)
    told_of = len(summary["heartbeats"]) - sum(is_heartbeat(one) for one in refused)
    yield part.row(file, "heartbeats that passed", heartbeats_of(here), told_of)


def heartbeats_of(streams: Sequence[Mapping[str, Any]]) -> int:
    """Heartbeats of several streams: each session hears them once, whoever listens in it."""
    beats: dict[tuple[str, ...], int] = {}
    for stream in streams:
        session = stream["source"], stream["sender_endpoint"], stream["receiver_endpoint"]
        beats[session] = max(beats.get(session, 0), stream["heartbeats"])
    return sum(beats.values())


def _less_refused(part: Part, file: str, figure: str, told: dict[str, set[int]]) -> None:
    """Take away what passed and nobody took."""
    happened = part.happened
    if figure == "reply_sn" and happened.behind_path(file):
        for source, sns in happened.replies_refused.items():
            told[source] -= sns
    if figure == "push_sn" and happened.stalled:
        # what TCP brings when its session has long ended is refused
        for zid, eid in happened.identities:
            if f"{zid}/{eid}" in told:
                told[f"{zid}/{eid}"] &= set(happened.accepted(file, (zid, eid)))


def published_rows(part: Part, file: str, source: Identity) -> Iterator[Row]:
    """What a source put out: the highest number, and at its own link all of them."""
    happened = part.happened
    publications = happened.published(source)
    name = happened.identities[source][0]["name"]
    last = publications[-1]["sn"] if publications else None  # nothing yet when it ended
    streams = part.streams(file, source)
    known = [s["last_seqno"] for s in streams if s["last_seqno"] is not None]
    known += [s["heartbeat_highest"] for s in streams if s["heartbeat_highest"] is not None]
    highest = max(known, default=None)
    # a capture may end before the last, and nobody may be there for it; none goes beyond
    short = highest is not None and last is not None and highest < last
    passed = max(happened.known(file, source), default=None)
    ours = None if short and passed == highest else highest
    near = part.scenario.host_at(file) == "10.77.0.1"
    why = NOBODY_THERE if passed is None or near else NO_SUCCESSOR
    figure = f"{name} published, last sn"
    unsaid = last is not None and (short or passed is None)
    yield part.row(file, figure, ours, last, why if unsaid else None)
    if not file.startswith("pub") or part.scenario.host_at(file) != "10.77.0.1":
        return
    put_out = {sn for s in streams for sn in numbers(s["live"] + s["replied"])}
    sns = {one["sn"] for one in publications}
    here = sns & {*happened.live(file, source), *happened.replied(file, source)}
    figure = f"{name} published"
    yield part.row(file, figure, to_ranges(sorted(put_out & here)), to_ranges(sorted(here)))
    if here < sns or put_out - here:
        unseen = to_ranges(sorted(put_out - here)) or None
        before = to_ranges(sorted(sns - here))
        yield part.row(file, f"{figure} to nobody", unseen, before, NOBODY_THERE)


# ---- hop by hop


def _dropped(part: Part) -> Iterator[Row]:
    """Frames in datagrams that the relay dropped: both legs, else gaps at this one."""
    place = part.scenario.host_at
    hops = {file: part.hops(file) for file in part.scenario.files if place(file) is not None}
    near = [file for file in hops if place(file) == "10.77.0.1"]
    far = [file for file in hops if place(file) == "10.77.0.2"]
    told = part.scenario.dropped_frames
    udp = {
        file: {key: hop for key, hop in found.items() if hop["transport"] == "udp"}
        for file, found in hops.items()
    }
    if near and far:
        for direction, sent, got in (("a2b", near[0], far[0]), ("b2a", far[0], near[0])):
            ours = _between(udp[sent], udp[got], direction)
            truth = told[direction] if any(udp[sent].values()) else 0
            yield part.row(sent, f"frames dropped {direction}", ours, truth)
    elif far:
        ours = sum(hop["missing"] for hop in udp[far[0]].values())
        yield part.row(far[0], "frames dropped a2b", ours, told["a2b"] if udp[far[0]] else 0)
    elif near:  # what its own capture says to be missing there is nothing
        missing = sum(hop["missing"] for hop in udp[near[0]].values()) or None
        yield part.row(near[0], "frames dropped a2b", missing, told["a2b"], ONE_SIDE)


def _between(sent: Mapping[str, Stream], got: Mapping[str, Stream], direction: str) -> int:
    lost = 0
    for key, hop in sent.items():
        if _direction(key) == direction:
            there = got.get(key)
            lost += hop["arrivals"] - (hop["network_duplicates"] or 0)
            if there is not None:
                lost -= there["arrivals"] - (there["network_duplicates"] or 0)
    return lost


def _direction(key: str) -> str:
    return "a2b" if key.startswith(("10.77.0.1:", "[fd77::1]:")) else "b2a"
