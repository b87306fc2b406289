"""What machine formats ask of a report: what counts as failing, and which captures say nothing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from seqaudit.decoders.network.account import is_of_no_system
from seqaudit.replay.contract.capture_rows import CaptureRow
from seqaudit.replay.contract.report_rows import FindingRow, Report, RuleRow

#: Reasons that are named why something nearly of a system is not.
NEAREST: Final = 3

#: The finding that a fault of seqaudit kept it from judging something: no verdict on the capture.
FAILED: Final = "CP099"

#: Severities from bad to harmless; ``--fail-on never`` is below all.
SEVERITIES: Final = ("error", "warning", "info")
NEVER: Final = "never"


def failing(fail_on: str) -> tuple[str, ...]:
    """The severities that make an audit fail."""
    return () if fail_on == NEVER else SEVERITIES[: SEVERITIES.index(fail_on) + 1]


def gravest_first(findings: Iterable[FindingRow]) -> list[FindingRow]:
    """Findings by severity; within one in the report's order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding["severity"]))


def unjudged(report: Report) -> Iterator[tuple[str, str]]:
    """(path, one sentence) of every capture that could not be judged."""
    failures = Counter(f["capture"] for f in report["findings"] if f["rule"] == FAILED)
    for entry in report["unreadable"]:
        yield entry["path"], entry["problem"]
    for entry in report["unjudged"]:
        yield entry["path"], entry["problem"]
    named = {entry.get("capture") for entry in report["unjudged"]}
    spoken = {tuple(c["files"]) for c in report["captures"] if c["frames_by"]["decoded"]}
    for capture in report["captures"]:
        path = capture["path"]
        failed = failures[capture["capture"]]
        if failed:
            yield (
                path,
                f"{path}: a fault of seqaudit kept it from judging {failed} of its parts, all"
                f" else was judged; please report what {FAILED} says",
            )
        if capture["capture"] in named:
            continue
        if capture["frames"] == 0:
            yield path, f"{path}: has no frames; nothing to judge"
        elif tuple(capture["files"]) not in spoken:  # nor in another network of the same files
            cut = capture["frames_by"]["truncated"]
            if cut and capture["messages_by"]:
                yield (
                    path,
                    f"{path}: all of {' and '.join(sorted(capture['messages_by']))} in it was"
                    f" captured only in part ({cut:,} of {capture['frames']:,} frames); capture"
                    " whole packets (tcpdump -s 0)",
                )
                continue
            yield (
                path,
                f"{path}: nothing in {capture['frames']} frames is of a known system"
                f"{_nearly(capture)}; seqaudit info shows what is in it, --decode-as names a"
                " port's system, seqaudit infer looks for sequence numbers",
            )


def _nearly(capture: CaptureRow) -> str:
    """What of a capture is nearly of a known system, and why it is not."""
    reasons = Counter(
        {
            reason: count
            for reason, count in capture["undecoded"].items()
            if not is_of_no_system(reason)
        }
    )
    for name, counts in capture["feeds"].items():
        if count := counts.get("out_of_step"):
            reasons[f"like {name}, but no number follows another"] = count
    if not reasons:
        return ""
    named = [f"{count} {reason}" for reason, count in reasons.most_common(NEAREST)]
    more = len(reasons) - len(named)
    return f" (nearest: {'; '.join(named)}{f'; and {more} more' if more else ''})"


def findings_by_capture(report: Report) -> dict[int, list[FindingRow]]:
    """The findings in each capture that has some, in the report's order."""
    found: dict[int, list[FindingRow]] = {}
    for finding in report["findings"]:
        found.setdefault(finding["capture"], []).append(finding)
    return found


class RuleCoverage:
    """In which captures a rule was judged, and why it was not in some or all of others."""

    def __init__(self, rule: RuleRow) -> None:
        self.code: str = rule["rule"]
        self.name: str = rule["name"]
        self._judged = frozenset(entry["capture"] for entry in rule["judged"])
        self._why: dict[int, dict[str, None]] = {}
        for entry in rule["not_judged"]:
            reasons = self._why.setdefault(entry["capture"], {})
            reasons[entry["why"] or "no reason known"] = None

    def judged_in(self, capture: int) -> bool:
        """Whether it was, in some part of the capture at least."""
        return capture in self._judged

    def reasons(self, capture: int) -> Sequence[str]:
        """Why it was not, each reason once."""
        return list(self._why.get(capture, ()))
