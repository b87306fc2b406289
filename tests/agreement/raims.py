"""raims scenarios: what we report beside what the daemons sent, delivered, counted and lost.

Every figure of the issue: streams on the wire, packets by kind and sender, ``show loss`` cell by
cell, deliveries, bounds of what was not delivered, ``show windows``, DATALOSS advisories.
``model_check`` of the truth is a second opinion and not compared.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.stages.parameters import load_parameters
from seqaudit.replay.stages.systems import PARAMETERS
from tests.agreement import statements
from tests.agreement.findings_raims import Happened, finding_figures, read_data
from tests.agreement.report import by_capture
from tests.agreement.rows import EVERYTHING, Hints, Row

#: Why a figure may be unknown (CONTRIBUTING.md 4).
ENCRYPTED: Final = "the link is encrypted (raims.md 4, 13)"
NEVER_SENT: Final = "messages that never left the daemon are in no capture (raims.md 4)"

TIME_NS: Final = 100_000_000
TICK_NS: Final = 40_000_000
BASES: Final = 1 << 35
COLUMNS: Final = {
    "null rte": ("null_rte", "null time"),
    "repeat": ("repeat", "rep time"),
    "not sub": ("not_sub", "not time"),
    "msg loss": ("msg_loss", "loss time"),
    "ibx loss": ("ibx_loss", "ibx time"),
}


@dataclass(frozen=True)
class RaimsScenario:
    """One folder."""

    folder: Path
    truth: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def encrypted(self) -> bool:
        return all(self.of(node).encrypted for node in self.truth["wire"])

    def of(self, node: str) -> Happened:
        """What its truth tells of one daemon."""
        return Happened(self.truth, node, self.files[node])

    @property
    def over_tcp(self) -> bool:
        return any("IP6_" in kind for kind in self.truth["wire"]["A"]["packets"])

    @cached_property
    def files(self) -> dict[str, Path]:
        """Node, or "A-client" -> capture."""
        return {name.removesuffix(".pcap"): self.folder / name for name in self.truth["files"]}

    def address(self, node: str) -> str:
        return str(self.truth["nodes"][node.removesuffix("-client")]["ip"])

    def node_of(self, address: str) -> str:
        return next((n for n, v in self.truth["nodes"].items() if v["ip"] == address), address)

    def parameters(self, node: str) -> dict[str, str]:
        config = self.truth["nodes"][node.removesuffix("-client")]["config"]["param.yaml"]
        stated = load_parameters(config)
        return {name: str(value) for name, value in stated.items() if name in PARAMETERS}

    def service(self, subject: str) -> list[str]:
        """A client's subject as it is on the wire, whatever the service."""
        return [f"_{service}.{subject}" for service in ("7500", "nats", "feed")]


def find(top: Path, match: str) -> list[RaimsScenario]:
    """Folders below ``top`` whose truth is of raims."""
    found = []
    for path in sorted(top.rglob("truth.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        if truth.get("system") == "raims" and path.parent.match(match):
            found.append(RaimsScenario(path.parent, truth))
    return found


#: Scenario, file, finding.
Found = tuple[str, str, Mapping[str, Any]]


def compare_all(
    scenarios: Sequence[RaimsScenario],
    options: Options,
    hints: Hints = EVERYTHING,
    findings: list[Found] | None = None,
) -> list[Row]:
    """One audit over all captures, then every figure.

    Args:
        findings: takes those of the captures.
    """
    places = [(scenario, node) for scenario in scenarios for node in scenario.files]
    if not places:
        return []
    inputs = [
        CaptureInput(
            str(scenario.files[node]),
            scenario.address(node) if hints.places else None,
            scenario.parameters(node) if hints.parameters else {},
        )
        for scenario, node in places
    ]
    report = audit(inputs, options)
    if findings is not None:
        findings += (
            (places[f["capture"]][0].name, f"{places[f['capture']][1]}.pcap", f)
            for f in report["findings"]
            if f["capture"] is not None
        )
    rows: list[Row] = list(statements.rows_of_totals("raims", report))
    parts = by_capture(report)
    for number, (scenario, node) in enumerate(places):
        rows += statements.rows(scenario.name, node, parts[number], number, more=hints.more)
        if not hints.places:
            # a client and its daemon speak over the loopback interface
            place = "127.0.0.1" if node.endswith("-client") else scenario.address(node)
            rows += statements.place_rows(
                scenario.name, node, parts[number], number, place, more=hints.more
            )
    for scenario in scenarios:
        views = {
            node: View(parts[number], number)
            for number, (owner, node) in enumerate(places)
            if owner is scenario
        }
        rows += [
            row
            for node, view in views.items()
            if statements.placed(report, [view.number])
            for row in compare(scenario, node, views, hints)
        ]
    return rows


@dataclass(frozen=True)
class View:
    """The part of a report about one capture."""

    report: Mapping[str, Any]
    number: int

    def streams(self, system: str) -> list[Mapping[str, Any]]:
        return [
            stream
            for stream in self.report["streams"]
            if stream["capture"] == self.number and stream["system"] == system
        ]

    def table(self, name: str) -> list[Mapping[str, Any]]:
        rows = self.report.get("tables", {}).get("raims", {}).get(name, [])
        return [row for row in rows if row["capture"] == self.number]

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        return [f for f in self.report["findings"] if f["capture"] == self.number]

    @property
    def capture(self) -> Mapping[str, Any]:
        entry: Mapping[str, Any] = self.report["captures"][self.number]
        return entry


def compare(
    scenario: RaimsScenario, node: str, views: Mapping[str, View], hints: Hints = EVERYTHING
) -> Iterator[Row]:
    """All figures of one capture."""
    view = views[node]
    figures: Iterator[Figure]
    if node.endswith("-client"):
        figures = _client(scenario, node.removesuffix("-client"), view)
    else:
        figures = _daemon(scenario, node, views, hints)
    for figure, ours, truth, why in figures:
        if why and ours is None:
            yield Row(scenario.name, node, figure, ours, truth, "unknown", why)
        else:
            equal = truth(ours) if callable(truth) else ours == truth
            shown = getattr(truth, "text", truth)
            yield Row(scenario.name, node, figure, ours, shown, "equal" if equal else "different")


Figure = tuple[str, Any, Any, str]


def _daemon(
    scenario: RaimsScenario, node: str, views: Mapping[str, View], hints: Hints
) -> Iterator[Figure]:
    """Figures of a capture at a daemon's own interface."""
    view = views[node]
    happened = scenario.of(node)
    yield from (
        *_packets(scenario, node, view),
        *_streams(scenario, node, view),
        *_show_loss(scenario, node, view),
        *_delivered(scenario, node, views),
        # when a window turns is decided by the parameters
        *(_windows(scenario, node, view, more=hints.more) if hints.parameters else ()),
        *_advisories(scenario, node, view),
        *finding_figures(happened, view.findings),
    )


class Within:
    """A truth that a value has to lie around, or that has to lie within ours."""

    def __init__(self, text: str, test: Any) -> None:
        self.text = text
        self._test = test

    def __call__(self, ours: Any) -> bool:
        return bool(self._test(ours))


def _packets(scenario: RaimsScenario, node: str, view: View) -> Iterator[Figure]:
    truth = scenario.truth["wire"][node]["packets"]
    ours: Counter[str] = Counter()
    for stream in view.streams("pgm"):
        for address, kinds in stream["by_source"].items():
            for kind, count in kinds.items():
                ours[f"{kind}_from_{scenario.node_of(address)}"] += count
    for link in view.table("inbox"):
        sender = scenario.node_of(link["source"].rpartition(":")[0])
        ours[f"INBOX_from_{sender}"] += link["packets"] + link["acks"]
    named = {kind: count for kind, count in truth.items() if not kind.startswith("IP")}
    for kind in sorted({*named, *ours}):
        yield f"packets {kind}", ours[kind], named.get(kind, 0), ""
    decoded = view.capture["frames_by"]
    if not scenario.over_tcp:  # of TCP the truth counts frames without payload as well
        yield "frames decoded", decoded["decoded"], sum(named.values()), ""
    yield "frames malformed", decoded["malformed"] + decoded["truncated"], 0, ""


def _streams(scenario: RaimsScenario, node: str, view: View) -> Iterator[Figure]:
    truth = scenario.truth["wire"][node]["streams"]
    entries = {
        f"{stream['sender'][:8]} {stream['subject']}": stream for stream in view.streams("raims")
    }
    for name, wire in truth.items():
        if not isinstance(wire, dict):
            continue
        bridge, _, subject = name.partition(" ")
        if wire["glsno"]:
            came = sum(
                stream["arrivals_by_subject"].get(subject, 0)
                for key, stream in entries.items()
                if key.startswith(f"{bridge} #")
            )
            yield f"messages {name}", came, wire["messages"], ""
            continue
        stream = entries.get(name)
        if stream is None:
            yield f"messages {name}", "absent", wire["messages"], ""
            continue
        arrivals = stream["arrivals"]
        yield f"messages {name}", arrivals, wire["messages"], ""
        frames = [
            {
                "frame": frame["time_frame"],
                "first": frame["numbers"][0][0],
                "last": frame["numbers"][-1][1],
                **({"chain": _dotted(frame["chain"])} if frame["chain"] else {}),
            }
            for frame in stream["time_frames"]
        ]
        yield f"frames {name}", frames, _merged(wire["frames"]), ""


def _merged(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The truth lists a frame again after messages of another, seqno 0 among them."""
    found: dict[int, dict[str, Any]] = {}
    for frame in frames:
        if frame["frame"] == 0:
            continue
        known = found.setdefault(frame["frame"], dict(frame))
        known["first"] = min(known["first"], frame["first"])
        known["last"] = max(known["last"], frame["last"])
        if "chain" in frame:
            known["chain"] = frame["chain"]
    return [found[frame] for frame in sorted(found)]


def _dotted(text: str) -> str:
    seqno = int(text, 16)
    return f"{seqno >> 35 & (1 << 29) - 1}.{seqno % BASES}"


def _show_loss(scenario: RaimsScenario, node: str, view: View) -> Iterator[Figure]:
    if node not in scenario.truth["show"]["end"]:
        return  # it had ended before anybody asked
    why = ENCRYPTED if scenario.encrypted else ""
    last = max((row["start"] for row in view.table("loss")), default=0)
    ours = {row["user"]: row for row in view.table("loss") if row["start"] == last}
    truth = scenario.truth["show"]["end"][node]["show loss"]
    users = sorted(row["user"] for row in truth)
    # it may have been printed before a silent peer was dropped
    there = sorted(u for u, row in ours.items() if row["dropped_ns"] is None or u in users)
    yield "show loss users", there if ours or not why else None, users, why
    for row in truth:
        found = ours.get(row["user"])
        for column, (name, clock) in COLUMNS.items():
            figure = f"show loss {row['user']} {column}"
            count = None if found is None else found[name]
            unknown = why if found is None else found["unknown"].get(name, why)
            yield figure, count if found or why else "absent", row[column], unknown
            if row[clock] and found is not None:
                wanted = _clock(row[clock], scenario.truth["wire"][node]["first_t"])
                yield (
                    f"show loss {row['user']} {clock}",
                    found[f"{name}_ns"],
                    Within(
                        row[clock],
                        lambda at, wanted=wanted: at is not None and abs(at - wanted) <= TIME_NS,
                    ),
                    found["unknown"].get(f"{name}_ns", unknown),
                )


def _clock(text: str, first: float) -> int:
    """``1120 22:48:00.791`` in ns; of the year of the recording."""
    year = datetime.fromtimestamp(first, UTC).year
    parsed = datetime.strptime(f"{year}{text}", "%Y%m%d %H:%M:%S.%f").replace(tzinfo=UTC)
    return round(parsed.timestamp() * 1000) * 1_000_000


def _delivered(scenario: RaimsScenario, node: str, views: Mapping[str, View]) -> Iterator[Figure]:
    """Deliveries as the client counted them, and what it never got, within our bounds."""
    view = views[node]
    received = scenario.truth["received"].get(node, {})
    missed = scenario.truth["not_delivered"].get(node, {})
    why = ENCRYPTED if scenario.encrypted else ""
    for subject in sorted({*received, *missed}):
        names = scenario.service(subject)
        ours = [
            stream
            for stream in view.streams("raims")
            if stream["role"] == "receiver" and stream["subject"] in names
        ]
        unknown = {
            stream["unknown"]["delivered"]
            for stream in view.streams("raims")
            if stream["role"] == "receiver"
            and stream["delivered"] is None
            and not {stream["subject"], *stream["arrivals_by_subject"]}.isdisjoint(names)
        }
        if unknown:
            told: Any = received.get(subject, {}).get("count", 0)
            yield f"delivered {subject}", None, told, "; ".join(sorted(unknown))
            continue
        count = sum(int(b, 16) - int(a, 16) + 1 for stream in ours for a, b in stream["delivered"])
        numbered = [
            stream
            for stream in view.streams("raims")
            if stream["role"] == "receiver" and stream["arrivals_by_subject"]
        ]
        for stream in numbered:
            told_of = stream["delivered_by_subject"] or {}  # null: of other subjects
            count += sum(told_of.get(name, 0) for name in names)
        told = received.get(subject, {}).get("count", 0)
        stated = bool(ours or numbered) or not why  # what is in the report is compared
        yield f"delivered {subject}", count if stated else None, told, why
        numbers = _delivered_numbers(scenario, views, ours, names, subject)
        if numbers is not None:
            got = [str(part) for part in received.get(subject, {}).get("n", [])]
            yield f"delivered {subject}, which", numbers, got, ""
        lost = missed.get(subject, {}).get("count", 0)
        if not stated:
            yield f"not delivered {subject}", None, lost, why
            continue
        lower, upper = _bounds(ours, numbered, names)
        never = _never_left(scenario, views, subject)
        yield (
            f"not delivered {subject}",
            [lower, upper],
            Within(
                f"{lost}, {never} of them never left the daemon",
                lambda b, lost=lost, never=never: (
                    b[0] <= lost and (b[1] is None or lost - never <= b[1])
                ),
            ),
            "",
        )
        if scenario.over_tcp and upper != lower:
            exact = None if upper is None or lower < upper else lower
            yield f"not delivered {subject}, exactly", exact, lost, NEVER_SENT
        elif not scenario.over_tcp:
            left = max(0, lost - never)
            yield f"not delivered {subject}, exactly", [lower, upper], [left] * 2, ""


def _delivered_numbers(
    scenario: RaimsScenario,
    views: Mapping[str, View],
    ours: list[Mapping[str, Any]],
    names: list[str],
    subject: str,
) -> list[str] | None:
    """Which of its publications a client got, told by our seqnos; null where a seqno does not say
    which it is: several publishers, restarts, numbers of other subjects in between."""
    publishers = [p for p, told in scenario.truth["published"].items() if subject in told]
    if len(publishers) != 1 or publishers[0] not in views or scenario.encrypted:
        return None
    sent = [s for s in views[publishers[0]].streams("raims")
            if s["role"] == "sender" and s["subject"] in names]  # fmt: skip
    published = _unpacked(scenario.truth["published"][publishers[0]][subject]["n"])
    if len(sent) != 1 or sent[0]["zero_seqnos"] or sent[0]["messages"] != len(published):
        return None
    seqnos = [
        frame["time_frame"] << 35 | number
        for frame in sent[0]["time_frames"]
        for first, last in frame["numbers"]
        for number in range(first, last + 1)
    ]
    which = dict(zip(seqnos, published, strict=True))
    delivered = [
        which[seqno]
        for stream in ours
        for first, last in stream["delivered"]
        for seqno in range(int(first, 16), int(last, 16) + 1)
    ]
    return _packed(delivered)


def _unpacked(ranges: Sequence[str | int]) -> list[int]:
    """``["1-3", "7"]`` as numbers."""
    found: list[int] = []
    for text in map(str, ranges):
        first, _, last = text.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _packed(numbers: Sequence[int]) -> list[str]:
    """Numbers as the truth lists them: ranges, in the order of delivery."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return [f"{a}-{b}" if a != b else f"{a}" for a, b in runs]


def _bounds(
    ours: list[Mapping[str, Any]], numbered: list[Mapping[str, Any]], names: list[str]
) -> tuple[int, int | None]:
    """The least and the most of a subject that was lost."""
    found = [(stream["lost"], stream["lost_upper"]) for stream in ours]
    for stream in numbered:
        lost = stream["lost_by_subject"] or {}  # null: of other subjects
        found += [lost[n] for n in names if n in lost]
    uppers = [upper for _, upper in found]
    return sum(lower for lower, _ in found), None if None in uppers else sum(uppers)


def _never_left(scenario: RaimsScenario, views: Mapping[str, View], subject: str) -> int:
    """Messages that clients published and that are not in their own daemon's capture."""
    names = scenario.service(subject)
    never = 0
    for publisher, subjects in scenario.truth["published"].items():
        if subject not in subjects or publisher.endswith("2"):
            continue
        told = sum(
            own[subject]["count"]
            for name, own in scenario.truth["published"].items()
            if name.rstrip("2") == publisher and subject in own
        )
        sent = [s for s in views[publisher].streams("raims") if s["role"] == "sender"]
        held = sum(s["messages"] - s["zero_seqnos"] for s in sent if s["subject"] in names)
        held += sum(s["arrivals_by_subject"].get(n, 0) for s in sent for n in names)
        never += max(0, told - held)
    return never


def _windows(scenario: RaimsScenario, node: str, view: View, *, more: bool) -> Iterator[Figure]:
    """The tables now and at their most, and each rotation: when, and what the table held."""
    shown = scenario.truth["show"]["end"].get(node, {}).get("show windows", [])
    turned = any(
        not row["tab"] and row["rotate_time"]
        for tables in scenario.truth["show"]["end"].values()
        for row in tables.get("show windows", ())
    )
    found_rows = view.table("windows")
    if not shown or not (turned or more):
        return
    if scenario.encrypted and not found_rows:
        yield "show windows", None, len(shown), ENCRYPTED
        return
    ours = next(iter(found_rows), {})
    passed = [packet.at_ns for packet in read_data(scenario.files[node])]
    first = scenario.truth["wire"][node]["first_t"]
    rotated: dict[str, Any] = {"sub": [], "pub": []}
    table = ""
    for row in shown:
        table = row["tab"] or table
        if table not in rotated:
            continue
        if not row["tab"]:
            rotated[table].append(row)
            continue
        for key in ("size", "max_count", "max_size"):
            found = ours.get(f"{row['tab']}_{key}", 0)
            yield f"show windows {row['tab']} {key}", found, row[key], ""
        rotated[f"{table} now"] = row["count"]
    for table in ("sub", "pub"):
        found, rows = ours.get(f"{table}_rotated", []), rotated[table]
        between = [0]  # messages in the ticks that a rotation may have been late
        yield f"show windows {table} rotations", len(found), len(rows), ""
        late = [False]
        for number, (one, row) in enumerate(zip(found, reversed(rows), strict=False), 1):
            figure = f"show windows {table} rotation {number}"
            wanted = _clock(row["rotate_time"], first)
            came = one["next_ns"] is not None and one["next_ns"] <= wanted + TICK_NS // 2
            late.append(came and wanted - one["at_ns"] > TICK_NS // 2)
            between.append(sum(one["at_ns"] <= at <= wanted + TICK_NS for at in passed))
            time = _ticks_late(row["rotate_time"], wanted, number)
            yield f"{figure} time", one["at_ns"], time, ""
            yield f"{figure} size", one["size"], row["size"], ""
            moved = late[-1] or late[-2]
            most = between[-1] + between[-2] if moved else 0
            if more or not moved:
                yield f"{figure} count", one["count"], _about(row["count"], most), ""
        if late[-1] and not more:
            continue
        now = _about(rotated[f"{table} now"], between[-1] if late[-1] else 0)
        yield f"show windows {table} count", ours.get(f"{table}_count", 0), now, ""


def _about(count: int, most: int) -> Within:
    """10 s are 250 ticks of the daemon's timer exactly: jitter decides whether a table rotates at
    the last of them or one later, and what came in between is in the one or the other (raims.md 8).
    """
    return Within(
        f"{count}, give or take {most}" if most else str(count),
        lambda ours: isinstance(ours, int) and abs(ours - count) <= most,
    )


def _ticks_late(text: str, wanted: int, number: int) -> Within:
    """The nth rotation may be n ticks later than replayed, and no more than rounded earlier."""
    return Within(
        text, lambda at: at is not None and -TICK_NS // 2 <= wanted - at <= (number + 0.5) * TICK_NS
    )


def _advisories(scenario: RaimsScenario, node: str, view: View) -> Iterator[Figure]:
    """Those that the replay says must have been published, beside what the client printed."""
    output = _printed(scenario, node)
    if output is None:
        return
    ours = [
        [[name, str(row["data"][name])] for name in row["order"]]
        for row in view.table("advisories")
        if "INBOUND" in row["subject"]
    ]
    yield from _listed("advisories", ours, output[1])


def _client(scenario: RaimsScenario, node: str, view: View) -> Iterator[Figure]:
    """What was on a client's connection, beside what the client printed."""
    decoded = view.capture["frames_by"]
    yield "frames malformed", decoded["malformed"] + decoded["truncated"], 0, ""
    yield "frames decoded", decoded["decoded"], view.capture["frames"], ""
    output = _printed(scenario, node)
    if output is None:
        return
    received, advisories = output
    (client,) = view.table("rv_clients")
    ours = {s: n for s, n in client["received"].items() if not s.startswith("_RV.INFO.")}
    yield "messages to the client", ours, dict(sorted(received.items())), ""
    told = sorted(view.table("rv_advisories"), key=lambda row: int(row["index"]))
    seen = [[[name, str(value)] for name, value in row["data"]] for row in told]
    yield from _listed("advisories to the client", seen, advisories)


def _listed(figure: str, ours: list[Any], truth: list[Any]) -> Iterator[Figure]:
    yield figure, len(ours), len(truth), ""
    for number, (one, other) in enumerate(zip(ours, truth, strict=False), 1):
        yield f"{figure} {number}", one, other, ""


def _printed(scenario: RaimsScenario, node: str) -> tuple[Counter[str], list[Any]] | None:
    """Messages by subject, and advisories, as a client printed them; null: it printed nothing."""
    text = scenario.truth.get(f"rv_client_{node}_output")
    if not text:
        return None
    received: Counter[str] = Counter()
    advisories = []
    blocks = re.split(r"^## ", text, flags=re.M)
    for head, block in pairwise(blocks):
        if head.startswith("_RV.ERROR.SYSTEM.DATALOSS.INBOUND.BCAST:"):
            fields = re.findall(r"^(\w+) +: \w+ +\d+ : \"?([^\"\n]*)\"?$", block, flags=re.M)
            advisories.append([[name, value] for name, value in fields])
        elif block.startswith("format: "):
            received[head.strip().removesuffix(":")] += 1
    return received, advisories
