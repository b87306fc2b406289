"""Laws that every report keeps: what its findings, gap rows and totals say of themselves.

The times of frames are read from the capture files here, by a reader of its own. One row a capture
and law: ours is what breaks the law, and the truth is that nothing does.
"""

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from seqaudit.replay.stages.systems import RULES
from tests.agreement import floor_jgroups
from tests.agreement.report import to_ranges
from tests.agreement.rows import Row

Report = Mapping[str, Any]
Finding = Mapping[str, Any]
Broken = list[str]
#: (figure, what breaks it, nothing)
Law = tuple[str, Broken, Broken]

PROVEN: Final = "proven"
#: Why a place may be unknown where ``--at`` is not given.
NOBODY_SAYS: Final = "nobody says where it was captured, and nothing in it does"
UNITS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
#: A capture's clock ticks in microseconds or finer.
TICK_NS: Final = 1_000

#: Rules whose finding is made when a time ran out, or by the daemon's own clock: not at its frame.
NOT_AT_THEIR_FRAME: Final = frozenset(
    {"ZN002", "RA001", "RA002", "RA003", "RA004", "RA005", "RA007", "RA008", "RA013"}
)
#: Rules that name each thing they count by its number.
COUNTING: Final = frozenset(
    f"{family}{number:03}"
    for family, numbers in {
        "MC": (1, 2, 3, 4, 5, 10, 11, 12, 13),
        "UC": (1, 2, 4, 5, 9, 10, 11, 23, 26, 29, 30, 32, 34, 39, 41, 43, 46),
        "ZN": (1, 2, 4, 5, 19, 20),
        "PG": (1, 2, 3, 4),
        "RA": (4,),
    }.items()
    for number in numbers
)
#: Rules that no capture of one place proves: what another did, or why nothing came.
NEVER_PROVEN: Final = floor_jgroups.NEVER.keys() | {"ZN007", "ZN015", "RA016"}
#: Rules that only the other end proves: at this one they are likely at most.
NOT_HERE: Final = {"UC003": "sender"}

#: Step of a gap row -> the frame that ends it, and those that it is measured from, the first there.
STEPS: Final = {
    "revealed_after_ns": ("revealed_frame", ("lost_after_frame",)),
    "requested_after_ns": ("requested_frame", ("revealed_frame",)),
    "repaired_after_ns": ("repaired_frame", ("requested_frame", "revealed_frame")),
    "delivered_after_ns": ("delivered_frame", ("revealed_frame",)),
}


def rows(
    scenario: str, capture: str, report: Report, number: int, *, more: bool = False
) -> Iterator[Row]:
    """The laws as rows of one capture."""
    severities = {code: str(rule.severity) for code, rule in RULES.items()}
    found = [*laws(report, number, severities), *([defaults(report, number)] if more else [])]
    for figure, ours, truth in found:
        yield Row(scenario, capture, figure, ours, truth, "different" if ours else "equal")


def rows_of_totals(system: str, report: Report) -> Iterator[Row]:
    """The totals of a whole report as rows."""
    for figure, ours, truth in totals(report):
        verdict = "equal" if ours == truth else "different"
        yield Row(f"all {system}", "*", f"total {figure}", ours, truth, verdict)


def place_rows(
    scenario: str, capture: str, report: Report, number: int, place: str, *, more: bool
) -> Iterator[Row]:
    """Where a capture was taken, as it was inferred: the truth, or unknown.

    Where it is unknown, no stream says what was delivered there.
    """
    found = report["captures"][number]["vantage"]
    if found["kind"] != "unknown":
        ours = found["address"] if found["kind"] == "member" else found["kind"]
        verdict = "equal" if _address(ours) == _address(place) else "different"
        yield Row(scenario, capture, "place", ours, place, verdict)
        return
    yield Row(scenario, capture, "place", None, place, "unknown", NOBODY_SAYS)
    if not more:
        return
    stated = sorted(
        stream["id"]
        for stream in report["streams"]
        if stream["capture"] == number and stream.get("delivered") is not None
    )
    verdict = "different" if stated else "equal"
    yield Row(scenario, capture, "delivered, at no known place", stated, [], verdict)


def _address(text: str) -> str:
    """An IP address in one spelling; another word as it is."""
    try:
        return str(ip_address(text))
    except ValueError:
        return text


def placed(report: Report, numbers: Iterable[int]) -> bool:
    """Whether it is known of all of some captures where they were taken."""
    return all(report["captures"][number]["vantage"]["kind"] != "unknown" for number in numbers)


@cache
def frame_times(path: Path) -> list[int] | None:
    """Time of each frame in ns; null where the file is neither pcap nor pcapng as it lies there."""
    data = path.read_bytes()
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        return list(_of_pcapng(data))
    found = {b"\xd4\xc3\xb2\xa1": 1000, b"\x4d\x3c\xb2\xa1": 1}
    if data[:4] not in found:
        return None
    times, at = [], 24
    while at + 16 <= len(data):
        seconds, part, captured, _ = struct.unpack("<IIII", data[at : at + 16])
        times.append(seconds * 10**9 + part * found[data[:4]])
        at += 16 + captured
    return times


def _of_pcapng(data: bytes) -> Iterator[int]:
    """Enhanced packet blocks of one little-endian section, each in its interface's resolution."""
    units: list[int] = []
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack("<II", data[at : at + 8])
        if kind == 1:
            unit, option = 1000, at + 16
            while option + 4 <= at + length - 4:
                code, size = struct.unpack("<HH", data[option : option + 4])
                if code == 9:
                    unit = 10 ** (9 - data[option + 4])
                option += 4 + -(-size // 4) * 4
            units.append(unit)
        elif kind == 6:
            interface, high, low = struct.unpack("<III", data[at + 8 : at + 20])
            yield (high << 32 | low) * units[interface]
        at += length


def laws(report: Report, capture: int, severities: Mapping[str, str]) -> Iterator[Law]:
    """Every law over one capture's part of a report.

    Args:
        severities: rule -> the severity that the registry gives it, its highest.
    """
    found = [f for f in report["findings"] if f["capture"] == capture]
    gaps = [gap for gap in report["gaps"] if gap["capture"] == capture]
    files = report["captures"][capture]["files"]
    times = frame_times(Path(files[0])) if len(files) == 1 else None
    roles = {
        s["id"]: s.get("role") for s in report["streams"] if s["capture"] == capture
    }  # fmt: skip

    def broken(law: Callable[[Finding], bool], chosen: list[Finding] = found) -> Broken:
        return sorted(f"{finding['rule']} {finding['seqnos']}" for finding in chosen
                      if not law(finding))  # fmt: skip

    def sure(finding: Finding) -> bool:
        end = NOT_HERE.get(finding["rule"])
        here = end is None or roles.get(finding["stream"]) != end
        return finding["certainty"] != PROVEN or (finding["rule"] not in NEVER_PROVEN and here)

    yield "findings, severity", broken(lambda f: _not_graver(f, severities)), []
    yield "findings, certainty", broken(sure), []
    yield "findings, counts", broken(_counted), []
    if times is not None:
        yield "findings, frames", broken(lambda f: _frames_exist(f, len(times))), []
        yield "findings, times", broken(lambda f: _at_its_frame(f, times)), []
        for step in STEPS:
            yield f"gaps, {step}", _wrong_steps(gaps, step, times), []
        yield "findings, durations", broken(lambda f: _slowest(f, gaps, times)), []
        yield "streams, slowest repair", _wrong_recoveries(report, capture, gaps, times), []
    yield "streams, lost by gap rows", _wrong_losses(report, capture, gaps), []
    yield "gaps, counts", [str(gap["seqnos"]) for gap in gaps if not _gap_counted(gap)], []


def defaults(report: Report, capture: int) -> Law:
    """A finding that is judged by a default is likely at most."""
    return (
        "findings by a default",
        sorted(
            f"{finding['rule']} {finding['seqnos']}"
            for finding in report["findings"]
            if finding["capture"] == capture
            and "by its default" in finding["text"]
            and finding["certainty"] == PROVEN
        ),
        [],
    )


def totals(report: Report) -> Iterator[tuple[str, object, object]]:
    """(figure, the report's total, its rows added up again)."""
    stated = report["totals"]
    yield "captures", stated["captures"], len(report["captures"])
    yield "frames", stated["frames"], sum(capture["frames"] for capture in report["captures"])
    outcomes = {name for capture in report["captures"] for name in capture["frames_by"]}
    for name in sorted(outcomes):
        added = sum(capture["frames_by"].get(name, 0) for capture in report["captures"])
        yield f"frames {name}", stated["frames_by"].get(name), added
    yield "streams", stated["streams"], len(report["streams"])
    yield "gaps", stated["gaps"], len(report["gaps"])
    for severity in ("error", "warning", "info"):
        count = sum(finding["severity"] == severity for finding in report["findings"])
        yield f"findings {severity}", stated["findings"].get(severity, 0), count
    for figure in ("lost", "recovered", "unrecovered"):
        # a part that is null makes the sum null; a frame's counter has no part in it
        counted = (s for s in report["streams"] if "again" not in s)
        parts = [s.get(figure) for s in counted if s.get("kind") != "transport"]
        added = None if stated[figure] is None else sum(part or 0 for part in parts)
        yield figure, stated[figure], added
    ended = (stated["recovered"], stated["unrecovered"])
    both = None if None in ended or stated["lost"] is None else sum(ended)
    yield "lost, in its parts", stated["lost"], both


def _not_graver(finding: Finding, severities: Mapping[str, str]) -> bool:
    order = ("info", "warning", "error")
    return order.index(finding["severity"]) <= order.index(severities[finding["rule"]])


def _counted(finding: Finding) -> bool:
    count = sum(last - first + 1 for first, last in finding["seqnos"])
    if not count or finding["rule"] not in COUNTING:
        return True
    own = finding["text"].partition(" The capture at the other end shows: ")[0]
    text = re.sub(r"\d+(?:\.\d+)+", " ", own)  # addresses and times are no counts
    return count in {int(n.replace(",", "")) for n in re.findall(r"\b\d[\d,]*\b", text)}


def _frames_exist(finding: Finding, frames: int) -> bool:
    named = [evidence["frame"] for evidence in finding["evidence"]]
    named += [finding["frame"]] if finding["frame"] is not None else []
    return all(1 <= frame <= frames for frame in named)


def _at_its_frame(finding: Finding, times: list[int]) -> bool:
    frame = finding["frame"]
    if frame is None or not 1 <= frame <= len(times):
        return True
    off = abs(finding["at_ns"] - times[frame - 1])
    return bool(off < TICK_NS or finding["rule"] in NOT_AT_THEIR_FRAME)


def _slowest(finding: Finding, gaps: list[Mapping[str, Any]], times: list[int]) -> bool:
    """Whether the slowest repair takes as long as the frames of its gap rows lie apart."""
    stated = re.search(r"the slowest (\d+)(?:\.(\d+))? (s|ms|us|ns)\b", finding["text"])
    if stated is None:
        return True
    unit = UNITS[stated[3]]
    ours = float(f"{stated[1]}.{stated[2] or 0}") * unit
    digit = unit / 10 ** len(stated[2] or "")
    longest = max(
        (
            times[gap["repaired_frame"] - 1] - times[gap["revealed_frame"] - 1]
            for gap in gaps
            if gap["stream"] == finding["stream"]
            and gap["outcome"] == "recovered"
            and gap["repaired_frame"] is not None
            and gap["revealed_frame"] is not None
        ),
        default=0,
    )
    return bool(abs(ours - longest) <= 0.51 * digit + TICK_NS)


def _streams(report: Report, capture: int) -> list[Mapping[str, Any]]:
    """Streams that say which seqnos were lost there."""
    return [
        stream
        for stream in report["streams"]
        if stream["capture"] == capture and stream.get("lost_seqnos") is not None
    ]


def _wrong_recoveries(
    report: Report, capture: int, gaps: list[Mapping[str, Any]], times: list[int]
) -> Broken:
    """Streams whose slowest repair is none of their gap rows' longest."""
    wrong = []
    for stream in _streams(report, capture):
        if not stream["recovered"]:
            continue
        longest = max(
            (
                times[gap["repaired_frame"] - 1] - times[gap["revealed_frame"] - 1]
                for gap in gaps
                if gap["stream"] == stream["id"]
                and gap["outcome"] in ("recovered", "recovered or late")
                and None not in (gap["repaired_frame"], gap["revealed_frame"])
            ),
            default=None,
        )
        ours = stream["recovery_ns"]["max"]
        if abs((ours or 0) - (longest or 0)) >= TICK_NS:
            wrong.append(f"{stream['id']}: {ours}, {longest}")
    return sorted(wrong)


def _wrong_losses(report: Report, capture: int, gaps: list[Mapping[str, Any]]) -> Broken:
    """Streams whose lost seqnos are not those of their gap rows."""
    wrong = []
    for stream in _streams(report, capture):
        rows_of_it = {
            seqno
            for gap in gaps
            if gap["stream"] == stream["id"] and gap["outcome"] in ("recovered", "unrecovered")
            for first, last in gap["seqnos"]
            for seqno in range(first, last + 1)
        }
        if to_ranges(rows_of_it) != stream["lost_seqnos"]:
            wrong.append(f"{stream['id']}: {stream['lost_seqnos']}, {to_ranges(rows_of_it)}")
    return sorted(wrong)


def _gap_counted(gap: Mapping[str, Any]) -> bool:
    named = sum(last - first + 1 for first, last in gap["seqnos"])
    if "count_upper" in gap:  # of raims: another capture may have shown more, or none be named
        upper = gap["count_upper"]
        return bool(gap["count"] >= min(named, 1) and (upper is None or gap["count"] <= upper))
    return bool(gap["count"] == named)


def _wrong_steps(gaps: list[Mapping[str, Any]], step: str, times: list[int]) -> Broken:
    """Gap rows whose time of a step is not that between its frames; a frame may come of order."""
    end, starts = STEPS[step]
    wrong = []
    for gap in gaps:
        start = next((gap[name] for name in starts if gap[name] is not None), None)
        true = None
        if gap[end] is not None and start is not None:
            true = times[gap[end] - 1] - times[start - 1]
        if true is not None and true < 0:
            true = None  # asked for before anything showed that it was missing
        ours = gap[step]
        if (ours is None) != (true is None) or abs((ours or 0) - (true or 0)) >= TICK_NS:
            wrong.append(f"{gap['stream']} {gap['seqnos']}: {ours}, {true}")
    return sorted(wrong)
