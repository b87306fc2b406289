"""What several streams and captures say together, of all systems: for one report."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from seqaudit.replay.contract.engine import Compared, Comparison, Detail, Extent, Replayed, Rows
from seqaudit.replay.contract.wall import Wall
from seqaudit.replay.stages.systems import SYSTEMS


class Comparisons:
    """The comparison of each system that has one, by the network of captures: what was told apart
    is not compared.

    Args:
        present: systems that have streams or tables.
        wall: one that fails leaves the others.
        networks: of each capture.
    """

    def __init__(self, present: Iterable[str], wall: Wall, networks: Sequence[str]) -> None:
        self._networks = networks
        self._of = {own: _Comparisons(present, wall) for own in sorted({*networks})}
        self.changed = frozenset[str]().union(*(own.changed for own in self._of.values()))

    def note(self, row: Detail) -> None:
        """A STREAM row goes by."""
        self._at(row).note(row)

    def reads_first(self) -> bool:
        """Do figures rest on all streams?"""
        return any(own.reads_first() for own in self._of.values())

    def figures(self, rows: Rows) -> dict[tuple[int, str], Detail]:
        """(capture, stream) to figures that rest on other streams; ``rows`` of all systems."""
        return {
            place: row
            for own in self._of.values()
            for place, row in own.figures(self._rows_by_kind(own, rows)).items()
        }

    def settle(
        self, streams: Sequence[Detail], tables: Mapping[str, Mapping[str, Sequence[Detail]]]
    ) -> None:
        """Change the rows of systems in ``changed`` by each other."""
        for own in self._of.values():
            here = {
                system: {name: self._rows_of(own, rows) for name, rows in named.items()}
                for system, named in tables.items()
            }
            own.settle(self._rows_of(own, streams), here)

    def restated(self, finding: Detail) -> Detail:
        """A finding by what was settled."""
        return self._at(finding).restated(finding)

    def restated_gap(self, gap: Detail) -> Detail:
        """A gap by what was settled."""
        return self._at(gap).restated_gap(gap)

    def judge(
        self,
        extents: Sequence[Extent],
        holes: dict[int, str],
        unread: Mapping[int, str],
        rows: Rows,
    ) -> list[Compared]:
        """What each says.

        Args:
            extents: of each capture.
            holes: captures that lack something, and what tells it; grows.
            unread: captures with packets that were not read to their end, and what tells it.
            rows: of a kind of results, of all systems.
        """
        return [
            told
            for own in self._of.values()
            for told in own.judge(extents, holes, unread, self._rows_by_kind(own, rows))
        ]

    def both_ends(self, row: Detail) -> Detail:
        """The detail of a BOTH_ENDS row, once everything is judged."""
        return self._at(row).both_ends(row)

    def _at(self, row: Detail) -> "_Comparisons":
        return self._of[self._networks[row["capture"]]]

    def _rows_of(self, own: "_Comparisons", rows: Sequence[Detail]) -> Sequence[Detail]:
        return rows if len(self._of) == 1 else [row for row in rows if self._at(row) is own]

    def _rows_by_kind(self, own: "_Comparisons", rows: Rows) -> Rows:
        if len(self._of) == 1:
            return rows
        return lambda kind: (row for row in rows(kind) if self._at(row) is own)


class _Comparisons:
    """Those of captures of one network."""

    def __init__(self, present: Iterable[str], wall: Wall) -> None:
        self._present = frozenset(present)
        self._wall = wall
        self._replayed: dict[str, Replayed] = {}
        made: dict[Callable[[], Comparison], Comparison] = {}
        self._all: dict[str, Comparison] = {
            name: made.setdefault(system.comparison, system.comparison())
            for name, system in SYSTEMS.items()
            if system.comparison is not None
        }
        self._each = {own: [n for n in self._all if self._all[n] is own] for own in made.values()}
        self.changed = frozenset(
            name for name in self._present if name in self._all and self._all[name].changes
        )

    def note(self, row: Detail) -> None:
        """A STREAM row goes by."""
        comparison = self._all.get(system_of(row))
        if comparison is not None:
            comparison.note(row["capture"], row["stream"], row["detail"])

    def reads_first(self) -> bool:
        """Do figures rest on all streams?"""
        return any(self._all[name].reads_first for name in self._present & self._all.keys())

    def figures(self, rows: Rows) -> dict[tuple[int, str], Detail]:
        """(capture, stream) to figures that rest on other streams."""
        found: dict[tuple[int, str], Detail] = {}
        for own, names in self._each.items():
            part = self._wall.part(_together(names), own.figures, _of(names, rows))
            found.update(part or {})
        return found

    def settle(
        self, streams: Sequence[Detail], tables: Mapping[str, Mapping[str, Sequence[Detail]]]
    ) -> None:
        """Change the rows of systems in ``changed`` by each other."""
        for name in sorted(self.changed):
            own = self._all[name]
            for change in (own.settle, own.print_numbers):
                self._wall.part(_together([name]), change, streams, tables.get(name, {}))

    def restated(self, finding: Detail) -> Detail:
        """A finding by what was settled."""
        for own in self._each:
            finding = own.restated(finding)
        return finding

    def restated_gap(self, gap: Detail) -> Detail:
        """A gap by what was settled."""
        for own in self._each:
            gap = own.restated_gap(gap)
        return gap

    def judge(
        self,
        extents: Sequence[Extent],
        holes: dict[int, str],
        unread: Mapping[int, str],
        rows: Rows,
    ) -> list[Compared]:
        """As ``Comparisons.judge``."""
        found = []
        for own, names in self._each.items():
            replayed = Replayed(extents, holes, unread, _of(names, rows))
            part = self._wall.part(_together(names), own.judge, replayed)
            if part is not None:
                holes |= part.holes
                found.append(part)
            for name in names:
                self._replayed[name] = replayed
        return found

    def both_ends(self, row: Detail) -> Detail:
        """The detail of a BOTH_ENDS row, once everything is judged."""
        name = system_of(row)
        return self._all[name].both_ends(row["detail"], self._replayed[name])


def _together(names: Sequence[str]) -> str:
    return f"what streams of {' and '.join(names)} say together"


def _of(names: Sequence[str], rows: Rows) -> Rows:
    return lambda kind: (row for row in rows(kind) if system_of(row) in names)


def system_of(row: Detail) -> str:
    """The system that replayed a row's conversation."""
    name: str = row["conversation"]
    return name.partition("|")[0]
