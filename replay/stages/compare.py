"""What several streams and captures together say, of all systems: for one report."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

from seqaudit.replay.contract.engine import (
    Compared,
    Comparison,
    Detail,
    Extent,
    Replayed,
    Rows,
)
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.report_rows import BothEndsFigures, StreamFigures, StreamRow
from seqaudit.replay.contract.results import D, EndsDetail, GapDetail, ResultKind, ResultRow
from seqaudit.replay.contract.wall import Wall
from seqaudit.replay.contract.worth import Worth
from seqaudit.replay.stages.systems import SYSTEMS


class Comparisons:
    """The comparison of each system that has one, by the network of captures: what was told apart
    is not compared.

    Args:
        present: systems that have streams or tables.
        wall: one that fails leaves the others.
        networks: of each capture.

    Attributes:
        changed: systems whose rows are changed by each other.
    """

    def __init__(self, present: Iterable[str], wall: Wall, networks: Sequence[str]) -> None:
        self._wall = wall
        self._networks = networks
        self._of = {network: _by_system() for network in sorted({*networks})}
        self._replayed: dict[Comparison, Replayed] = {}
        words = {*present}
        there = [(name, one) for own in self._of.values() for name, one in own.items()]
        self.changed = frozenset(name for name, one in there if one.changes and name in words)
        #: Whether figures rest on all streams.
        self.reads_first = any(
            one.reads_first and not words.isdisjoint({name, *SYSTEMS[name].streams})
            for name, one in there
        )

    def note(self, row: ResultRow[StreamFigures]) -> None:
        comparison = self._at(row["capture"]).get(system_of(row))
        if comparison is not None:
            comparison.note(row["capture"], row["stream"] or "", cast(Detail, row["detail"]))

    def figures(
        self, rows: Rows, worth: Mapping[int, Worth], extents: Sequence[Extent]
    ) -> dict[tuple[int, str], Detail]:
        """(capture, stream) to figures that rest on other streams; ``rows`` of all systems."""
        found: dict[tuple[int, str], Detail] = {}
        for own, comparison, names in self._each():
            part = self._rows_by_kind(own, names, rows)
            about = comparison.figures, part, worth, extents
            found.update(self._wall.part(_together(names), *about) or {})
        return found

    def settle(
        self, streams: Sequence[StreamRow], tables: Mapping[str, Mapping[str, Sequence[Detail]]]
    ) -> None:
        """Change the rows of systems in ``changed`` by each other."""
        for own in self._of.values():
            here = self._rows_of(own, cast(Sequence[Detail], streams))
            for name in sorted(self.changed):
                named = {
                    table: self._rows_of(own, rows) for table, rows in tables.get(name, {}).items()
                }
                for change in (own[name].settle, own[name].print_numbers):
                    self._wall.part(_together([name]), change, here, named)

    def restated(self, finding: PlacedFinding) -> PlacedFinding:
        for comparison in dict.fromkeys(self._at(finding["capture"]).values()):
            finding = comparison.restated(finding)
        return finding

    def restated_gap(self, gap: GapDetail) -> GapDetail:
        for comparison in dict.fromkeys(self._at(gap["capture"]).values()):
            gap = comparison.restated_gap(gap)
        return gap

    def judge(self, replayed: Replayed) -> list[Compared]:
        """What each says; the holes of ``replayed`` grow."""
        found = []
        for own, comparison, names in self._each():
            asked = replayed._replace(rows=self._rows_by_kind(own, names, replayed.rows))
            part = self._wall.part(_together(names), comparison.judge, asked)
            if part is not None:
                replayed.holes.update(part.holes)
                found.append(part)
            self._replayed[comparison] = asked
        return found

    def both_ends(self, row: ResultRow[EndsDetail]) -> BothEndsFigures:
        """What a BOTH_ENDS row comes to, once everything is judged."""
        comparison = self._at(row["capture"])[system_of(row)]
        return comparison.both_ends(row["detail"], self._replayed[comparison])

    def _each(self) -> Iterator[tuple[dict[str, Comparison], Comparison, list[str]]]:
        """All of a network, one of them, and the systems that it is of."""
        for own in self._of.values():
            for comparison in dict.fromkeys(own.values()):
                yield own, comparison, [name for name in own if own[name] is comparison]

    def _at(self, capture: int) -> dict[str, Comparison]:
        return self._of[self._networks[capture]]

    def _rows_of(self, own: dict[str, Comparison], rows: Sequence[Detail]) -> Sequence[Detail]:
        return (
            rows if len(self._of) == 1 else [row for row in rows if self._at(row["capture"]) is own]
        )

    def _rows_by_kind(self, own: dict[str, Comparison], names: Sequence[str], rows: Rows) -> Rows:
        def of(kind: ResultKind[D], /) -> Iterator[ResultRow[D]]:
            for row in rows(kind):
                if system_of(row) in names and self._at(row["capture"]) is own:
                    yield row

        return of


def _by_system() -> dict[str, Comparison]:
    """New comparisons by system; systems that name the same one share it."""
    made: dict[Callable[[], Comparison], Comparison] = {}
    return {
        name: made.setdefault(system.comparison, system.comparison())
        for name, system in SYSTEMS.items()
        if system.comparison is not None
    }


def _together(names: Sequence[str]) -> str:
    return f"what streams of {' and '.join(names)} say together"


def system_of(row: ResultRow[D]) -> str:
    """The system that replayed a row's conversation."""
    return row["conversation"].partition("|")[0]
