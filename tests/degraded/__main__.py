"""``python -m tests.degraded FOLDER``: what is called proven of spoiled captures, and is not so.

Every capture of every recording (a folder with a truth.json) below FOLDER is spoiled in each way
and audited. Counted are proven findings that the truth refutes, those that are new (the whole
capture does not prove them; those of the capture itself, CP, aside), findings of one report that
contradict each other, figures that are others without --at or that the truth refutes, findings
that are others because the capture was written to several files, and audits that did not end well.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.degraded.run import Choice, Outcome, Violation, run
from tests.degraded.ways import WAYS, chosen

_SEVERITIES = {"error": 0, "warning": 1, "info": 2}


def main() -> int:
    """Exit code 1 if anything is refuted, new or otherwise wrong, or if nothing was spoiled."""
    given = _arguments()
    choice = Choice(
        chosen(given.way),
        given.sample,
        given.seed,
        given.small,
        given.file,
        given.variant,
        given.write,
    )
    total = Outcome()
    began = time.monotonic()
    for name, outcome in run(given.folder, given.match, choice, given.jobs):
        total.add(outcome)
        if given.verbose:
            print(
                f"{time.monotonic() - began:7.1f} s  {name}: {outcome.spoiled} spoiled, "
                f"{len(outcome.violations)} wrong",
                file=sys.stderr,
            )
    wrong = [v for v in total.violations if not given.severe or v.severity != "info"]
    if given.rule:
        wrong = [v for v in wrong if v.rule in given.rule]
    print("\n".join(_table(wrong, given.all)))
    if given.likely:
        weighed = [v for v in total.unlikely if not given.rule or v.rule in given.rule]
        print("\n".join(_table(weighed, given.all, total.likely)))
    print(totals(total))
    return int(bool(wrong) or not total.spoiled)


def _arguments() -> argparse.Namespace:
    ways = "\n".join(f"  {way.name:13} {way.says}" for way in WAYS)
    parser = argparse.ArgumentParser(
        prog="python -m tests.degraded",
        description=__doc__,
        epilog=f"ways:\n{ways}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="searched for folders with a truth.json")
    parser.add_argument("--match", default="*", metavar="GLOB", help="pattern of folder names")
    parser.add_argument("--file", metavar="NAME", help="only captures of this name")
    parser.add_argument(
        "--way", action="append", metavar="NAME", choices=[way.name for way in WAYS],
        help="only this way; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--sample", type=int, default=4, metavar="N",
        help="variants of each way and capture, half of them next to requests, gaps and repairs "
        "(default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="draws another sample")
    parser.add_argument(
        "--small", type=int, default=0, metavar="FRAMES",
        help="in captures of so many frames and fewer, cut, remove and swap at every frame",
    )  # fmt: skip
    parser.add_argument("--variant", metavar="TEXT", help="this variant only, as the table has it")
    parser.add_argument("--rule", action="append", metavar="CODE", help="show only this rule")
    parser.add_argument(
        "--likely", action="store_true",
        help="show likely findings that the truth refutes, too: none of them is counted as wrong",
    )  # fmt: skip
    parser.add_argument("--severe", action="store_true", help="leave findings of severity info out")
    parser.add_argument("--all", action="store_true", help="show all, not one example each")
    parser.add_argument(
        "--write", type=Path, metavar="DIR", help="keep what was spoiled with a wrong outcome"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="say on stderr how far it is")
    return parser.parse_args()


def _table(
    violations: list[Violation],
    show_all: bool,
    of: Mapping[tuple[str, str], int] = MappingProxyType({}),
) -> list[str]:
    """One line a way, rule and kind, the worst first, with its examples below: how many findings,
    of how many by way and rule if that is told, and in how many spoiled captures if those are
    fewer."""
    groups: dict[tuple[int, str, str, str], list[Violation]] = defaultdict(list)
    for one in violations:
        groups[_SEVERITIES.get(one.severity, 3), one.rule, one.way, one.kind].append(one)
    lines = []
    for (_, rule, way, kind), found in sorted(groups.items()):
        spoiled = len({(one.subject, one.choice) for one in found})
        count = f"{len(found)} of {of[way, rule]}" if of else str(len(found))
        count += f" in {spoiled}" if spoiled < len(found) else ""
        lines.append(f"{way:13} {rule or '-':6} {found[0].severity:8} {kind:13} {count}")
        for one in found if show_all else found[:1]:
            lines.append(f"    {one.text}")
            lines.append(f"    {one.why}")
            lines.append(f"    {one.repro}")
    return lines


def totals(total: Outcome) -> str:
    """What was wrong, and of how much: of nothing it is not said that nothing is wrong."""
    by_rule: dict[str, int] = defaultdict(int)
    for one in total.violations:
        by_rule[one.rule or one.kind] += 1
    rules = ", ".join(f"{rule} {n}" for rule, n in sorted(by_rule.items(), key=lambda x: -x[1]))
    if not total.spoiled:
        return "nothing was spoiled: no capture of a recording below FOLDER is meant by this"
    unlikely = Counter(one.rule for one in total.unlikely)
    told: Counter[str] = Counter()
    for (_, rule), count in total.likely.items():
        told[rule] += count
    severe = sum(v.severity != "info" for v in total.violations)
    return (
        f"{rules or 'nothing wrong'}\n"
        f"captures {total.captures}, spoiled {total.spoiled}, proven findings {total.proven}, "
        f"held against the truth {total.by_truth}, "
        f"figures held against it or the whole {total.figures}; "
        f"refuted {total.count('refuted')}, new {total.count('new')}, "
        f"contradictions {total.count('contradiction')}, figures {total.count('figure')}, "
        f"crashes {total.count('crash')}; "
        f"of severity warning or error {severe}\n"
        f"of {total.likely.total()} likely findings the truth refutes {len(total.unlikely)}"
        + "".join(f", {rule} {n} of {told[rule]}" for rule, n in sorted(unlikely.items()))
    )


if __name__ == "__main__":
    sys.exit(main())
