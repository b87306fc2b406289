"""Which hole of all TSIs is given up next; where connections begin."""

from dataclasses import dataclass, field
from typing import cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqaudit.replay.pgm.window import WindowSettings
from seqaudit.replay.raims.link_table import LinkTable
from seqaudit.replay.raims.links import PgmLink, Ready
from seqaudit.replay.raims.settings import Settings


@dataclass
class Window:
    """What is missing: when it is given up."""

    holes: list[int] = field(default_factory=list)
    settings: WindowSettings = field(default_factory=WindowSettings)


class Link:
    """A TSI as far as the table asks it."""

    def __init__(self, name: str, given_up: list[tuple[int, str]]) -> None:
        self.name = name
        self.window = Window()
        self._given_up = given_up

    def next_due_ns(self) -> int | None:
        return min(self.window.holes, default=None)

    def give_up(self, at_ns: int, frame: int | None, now_ns: int) -> list[Ready]:
        self._given_up.append((at_ns, self.name))
        self.window.holes = [hole for hole in self.window.holes if hole > at_ns]
        return []


#: A packet of a TSI shows a hole that is due then, fills its first one, or has it wait longer.
packets = st.tuples(st.sampled_from("abc"), st.sampled_from("nfw"), st.integers(1, 30))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(packets, max_size=40))
def test_holes_are_given_up_in_the_order_of_their_times(story: list[tuple[str, str, int]]) -> None:
    ours: list[tuple[int, str]] = []
    naive: list[tuple[int, str]] = []
    table = LinkTable(cast(Settings, None), None)
    links = {name: Link(name, ours) for name in "abc"}
    table.pgm.update((name, cast(PgmLink, link)) for name, link in links.items())
    plain: dict[str, list[int]] = {name: [] for name in "abc"}
    for now_ns, (name, what, size) in enumerate(story):
        if what == "n":
            links[name].window.holes.append(now_ns + size)
            plain[name].append(now_ns + size)
        elif plain[name]:
            first = min(plain[name])
            for holes in (links[name].window.holes, plain[name]):
                holes.remove(first)
                if what == "w":
                    holes.append(first + size)
        table.note(cast(PgmLink, links[name]))
        due = sorted((hole, one) for one, holes in plain.items() for hole in set(holes)
                     if hole <= now_ns)  # fmt: skip
        assert table.is_waiting_after(now_ns, 0) == (not due)
        naive += due
        plain = {one: [hole for hole in holes if hole > now_ns] for one, holes in plain.items()}
        list(table.give_up(now_ns))
        assert ours == naive
        assert table.waiting >= {one for one, holes in plain.items() if holes}
