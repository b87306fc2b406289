"""``python -m tests.agreement DIR``: every figure of the scenarios below DIR beside the truth."""

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from seqaudit.decoders.contract.errors import SeqauditError
from tests.agreement.rows import Hints, Row
from tests.agreement.run import Agreement, agree


def main() -> int:
    """Exit code 1 on a difference, an absent figure, or where nothing was compared."""
    parser = argparse.ArgumentParser(prog="python -m tests.agreement", description=__doc__)
    parser.add_argument("dir", type=Path, help="searched for folders with a truth.json")
    parser.add_argument("--match", default="*", help="pattern of folder names, such as 'n4-*'")
    parser.add_argument("--engine", choices=("direct", "spark"), default="spark")
    parser.add_argument(
        "--with-config", action="store_true", help="give each capture its member's stack file"
    )
    parser.add_argument("--all", action="store_true", help="print equal rows too")
    parser.add_argument(
        "--without-at", action="store_true", help="do not say where captures were taken"
    )
    parser.add_argument(
        "--without-parameters", action="store_true", help="give no raims param.yaml"
    )
    parser.add_argument(
        "--more", action="store_true", help="compare figures as well that no test asserts yet"
    )
    options = parser.parse_args()
    try:
        agreement = agree(
            options.dir,
            options.match,
            options.engine,
            configured=options.with_config,
            hints=Hints(not options.without_at, not options.without_parameters, options.more),
        )
    except SeqauditError as problem:
        print(f"the audit failed: {problem}", file=sys.stderr)
        return 1
    render(agreement, show_equal=options.all)
    return int(agreement.failed)


def render(agreement: Agreement, *, show_equal: bool) -> None:
    """Rows as a table, then what was skipped, then the counts."""
    rows = [row for row in agreement.rows if show_equal or row.verdict != "equal"]
    if rows:
        table = Table("scenario", "capture", "figure", "ours", "truth", "", box=None)
        for row in rows:
            table.add_row(
                row.scenario,
                row.capture,
                row.figure,
                shown(row.ours),
                shown(row.truth),
                mark(row),
            )
        width = None if sys.stdout.isatty() else 200
        Console(width=width, markup=False, highlight=False).print(table)
    for name, why in agreement.skipped.items():
        print(f"skipped {name}: {why}")
    print(agreement.summary())


def mark(row: Row) -> str:
    """The last column: nothing where equal."""
    return {"equal": "", "different": "DIFFERENT", "unknown": f"unknown: {row.reason}"}[row.verdict]


def shown(value: object) -> str:
    """A value in one line; null is a dash."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(map(_part, value)) or "none"
    return str(value)


def _part(value: object) -> str:
    """What a list holds: a range of numbers, or a list of something else, such as causes."""
    match value:
        case [int(first), int(last)]:
            return str(first) if first == last else f"{first}-{last}"
        case list() | tuple():
            return f"[{shown(list(value))}]"
    return str(value)


if __name__ == "__main__":
    sys.exit(main())
