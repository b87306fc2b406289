"""A report against the generator's truth: every figure of every stream, each lost range, when each
gap showed, and what the findings say.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from seqaudit.replay.sequence.ranges import RangeSet
from tests.bench.generate import digest, gaps_digest

#: Figure of the truth: where the report has it.
FIGURES: Final = {
    "first": "first_seqno",
    "last": "last_seqno",
    "messages": "arrivals",
    "distinct": "messages",
    "copies": "copies",
    "duplicates": "network_duplicates",
    "late": "reordered",
    "repaired": "recovered",
    "lost": "unrecovered",
    "gaps": "gaps",
}

#: Rules, and how many numbers their findings name together.
FINDINGS: Final[tuple[tuple[tuple[str, ...], Callable[[Mapping[str, Any]], int]], ...]] = (
    (("FD001",), lambda row: row["repaired"]),
    (("FD002", "FD017"), lambda row: row["lost"]),
    (("FD003",), lambda row: row["late"]),
    (("FD005",), lambda row: row["duplicates"]),
    (("FD006",), lambda row: row["copies"] - row["duplicates"]),
)
#: Rules that name numbers which others name as well: how a loss showed, and after which silence.
BESIDE: Final = frozenset({"FD007", "FD018"})
_COUNT: Final = re.compile(r"(\d+) ")


def differences(truth: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """One line for each figure that is not the truth's."""
    told = {_key(stream): stream for stream in report["streams"]}
    found = []
    listed = _gaps(report)
    named = _named(report)
    expected = {(row["group"], row["port"], row["session"]): row for row in truth["streams"]}
    for key in sorted(told.keys() ^ expected.keys()):
        found.append(f"{key}: only {'reported' if key in told else 'in the truth'}")
    for key, row in expected.items():
        stream = told.get(key)
        if stream is None:
            continue
        figures = {name: stream[field] for name, field in FIGURES.items()}
        figures["requests"] = (stream["requests"] or {}).get("passed") or 0
        figures["lost"] += stream["open_at_end"]  # the truth knows what never came
        never = (*stream["unrecovered_seqnos"], *stream["open_at_end_seqnos"])
        ranges = list(RangeSet((first, last + 1) for first, last in never))
        if not stream["unlisted_gaps"]:
            figures |= {"lost_ranges": len(ranges), "lost_digest": digest(ranges)}
        figures["gaps_digest"] = gaps_digest(listed[stream["id"]])
        for name, ours in figures.items():
            if ours != row.get(name, ours):  # a truth of an older generator says less
                found.append(f"{key}: {name} is {row[name]}, reported {ours}")
        for rules, figure in FINDINGS:
            ours = sum(named.pop((stream["id"], rule), 0) for rule in rules)
            if ours != figure(row):
                found.append(f"{key}: {'+'.join(rules)} of {figure(row)}, reported {ours}")
    for place, rule in named:
        if rule not in BESIDE:
            found.append(f"{place}: {rule}, which is not in the truth")
    frames = sum(capture["frames"] for capture in report["captures"])
    if frames != truth["packets"]:
        found.append(f"{truth['packets']} packets, reported {frames}")
    if not truth["shape"]["faults"]:
        found += [f"faultless, yet {finding['rule']}" for finding in report["findings"]]
    return found


def verdict(truth: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[list[str], str]:
    """The differences, and what a table says of them."""
    wrong = differences(truth, report)
    if wrong:
        return wrong, f"{len(wrong)} different"
    more = unlisted(report)
    return [], f"equal, ranges of {more} streams not listed" if more else "equal"


def unlisted(report: Mapping[str, Any]) -> int:
    """Streams with more gaps than a report lists: of these, ranges are not compared."""
    return sum(1 for stream in report["streams"] if stream["unlisted_gaps"])


def _gaps(report: Mapping[str, Any]) -> Mapping[str, list[str]]:
    """Gaps by stream, as the truth digests them; their parts may have ended in different ways."""
    parts: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for gap in report["gaps"]:
        ends = [end for span in gap["seqnos"] for end in span]
        parts[gap["stream"]][gap["revealed_frame"]] += ends
    return defaultdict(list) | {
        stream: [
            f"{min(ends)}-{max(ends) + 1}@{frame}"
            for frame, ends in sorted(gaps.items(), key=lambda item: min(item[1]))
        ]
        for stream, gaps in parts.items()
    }


def _named(report: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """How many numbers the findings of a stream and rule name, by their text."""
    named: dict[tuple[str, str], int] = defaultdict(int)
    for finding in report["findings"]:
        said = _COUNT.match(finding["text"])
        named[finding["stream"] or "", finding["rule"]] += int(said[1]) if said else 0
    return named


def _key(stream: Mapping[str, Any]) -> tuple[str, int, str]:
    """Group, port and session of a reported stream: ``bench|session=S|GROUP:PORT|``."""
    _, session, place, _ = stream["id"].split("|")
    group, _, port = place.rpartition(":")
    return group, int(port), session.removeprefix("session=")
