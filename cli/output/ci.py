"""Findings as CI services show them: GitHub's workflow commands, GitLab's code quality report."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, cast

from seqaudit.cli.output.outcomes import unjudged
from seqaudit.cli.output.text import finding_text, frame_at, safe
from seqaudit.replay.contract.report_rows import Report, StreamRow

_GITHUB: Final = {"error": "error", "warning": "warning", "info": "notice"}
_GITLAB: Final = {"error": "critical", "warning": "minor", "info": "info"}
#: Identities that a program makes anew each time it starts say nothing of the next recording.
_HEX: Final = frozenset("0123456789abcdefABCDEF-/")
#: An IPv4 address, or an IPv6 address in brackets, with a port.
_PORT: Final = re.compile(r"^(\[[0-9a-f:.%]+\]|\d+(?:\.\d+){3}):\d+$")


def github(report: Report) -> Iterator[str]:
    """A workflow command a line: annotations of the job."""
    paths = {capture["capture"]: capture["path"] for capture in report["captures"]}
    for _, problem in unjudged(report):
        yield f"::error title=seqaudit::{_data(safe(problem))}\n"
    for finding in report["findings"]:
        title = f"{finding['rule']} {finding['name']} ({finding['certainty']})"
        where = "" if finding["frame"] is None else f" (frame {frame_at(finding)})"
        text = f"{finding_text(finding)}{where}"
        properties = f"file={_property(paths[finding['capture']])},title={_property(title)}"
        yield f"::{_GITHUB[finding['severity']]} {properties}::{_data(text)}\n"


def gitlab(report: Report) -> Iterator[str]:
    """A Code Quality report: one JSON list. A frame stands where a file has lines."""
    paths = {capture["capture"]: capture["path"] for capture in report["captures"]}
    prints = fingerprints(report)
    entries = [
        {
            "description": f"{finding['rule']} {finding_text(finding)}",
            "check_name": finding["name"],
            "fingerprint": prints[index],
            "severity": _GITLAB[finding["severity"]],
            "location": {
                "path": safe(paths[finding["capture"]]),
                "lines": {"begin": finding["frame"] or 1},
            },
        }
        for index, finding in enumerate(report["findings"])
    ]
    yield json.dumps(entries, indent=1) + "\n"


def fingerprints(report: Report) -> list[str]:
    """One a finding, in their order and each once: what survives another recording of the same
    test. It is of the finding's kind, and of which of several alike it is."""
    seen: Counter[str] = Counter()
    found = []
    for kind in kinds(report):
        seen[kind] += 1
        found.append(kind if seen[kind] == 1 else _digest([kind, seen[kind]]))
    return found


def kinds(report: Report) -> list[str]:
    """Of each finding, in their order, what it has in common with those that are the same again.

    It is of the rule, how bad it is, the system, who sent and received by name, and the subject or
    key; not of frames, times, seqnos, counts, or identities made at each start. A rule may say
    several things of one stream, as some of it is proven and some likely: how many is chance.
    """
    streams = {(stream["capture"], stream["id"]): stream for stream in report["streams"]}
    found = []
    for finding in report["findings"]:
        of_none = cast(StreamRow, {})
        stream = streams.get((finding["capture"], finding["stream"] or ""), of_none)
        found.append(
            _digest([
                finding["rule"],
                finding["severity"],
                finding["system"],
                lasting(stream.get("sender_name")),
                lasting(stream.get("receiver_name")),
                finding.get("subject") or stream.get("feed"),
            ])
        )  # fmt: skip
    return found


def _digest(key: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]


def lasting(name: str | None) -> str | None:
    """A name that somebody gave, or an address, whose port is another one at each start; null for
    an identity of random digits."""
    if name is None or (len(name) >= 8 and set(name) <= _HEX):
        return None
    return _PORT.sub(r"\1", name)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(safe(text)).replace(":", "%3A").replace(",", "%2C")
