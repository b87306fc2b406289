"""A report against the generator's truth: every figure of every stream, and each lost range."""

from collections.abc import Mapping
from typing import Any, Final

from tests.bench.generate import digest

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
}


def differences(truth: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """One line for each figure that is not the truth's."""
    told = {_key(stream): stream for stream in report["streams"]}
    found = []
    expected = {(row["group"], row["port"], row["session"]): row for row in truth["streams"]}
    for key in sorted(told.keys() ^ expected.keys()):
        found.append(f"{key}: only {'reported' if key in told else 'in the truth'}")
    for key, row in expected.items():
        stream = told.get(key)
        if stream is None:
            continue
        figures = {name: stream[field] for name, field in FIGURES.items()}
        figures["requests"] = (stream["requests"] or {}).get("passed") or 0
        ranges = [(first, last + 1) for first, last in stream["unrecovered_seqnos"]]
        if not stream["unlisted_gaps"]:
            figures |= {"lost_ranges": len(ranges), "lost_digest": digest(ranges)}
        for name, ours in figures.items():
            if ours != row[name]:
                found.append(f"{key}: {name} is {row[name]}, reported {ours}")
    frames = sum(capture["frames"] for capture in report["captures"])
    if frames != truth["packets"]:
        found.append(f"{truth['packets']} packets, reported {frames}")
    if not truth["shape"]["faults"]:
        found += [f"faultless, yet {finding['rule']}" for finding in report["findings"]]
    return found


def unlisted(report: Mapping[str, Any]) -> int:
    """Streams with more gaps than a report lists: of these, ranges are not compared."""
    return sum(1 for stream in report["streams"] if stream["unlisted_gaps"])


def _key(stream: Mapping[str, Any]) -> tuple[str, int, str]:
    """Group, port and session of a reported stream: ``bench|session=S|GROUP:PORT|``."""
    _, session, place, _ = stream["id"].split("|")
    group, _, port = place.rpartition(":")
    return group, int(port), session.removeprefix("session=")
