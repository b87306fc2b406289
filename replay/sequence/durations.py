"""Durations in bounded memory, for percentiles that do not depend on how a capture was cut."""

from typing import TYPE_CHECKING, Annotated, Final, TypedDict

if TYPE_CHECKING:  # who reads rows by their types needs no columns
    import numpy
    import numpy.typing as npt

#: Distinct values kept exactly; above it, values are rounded to three significant digits.
EXACT_VALUES: Final = 65_536


def shown(duration_ns: int | None) -> str:
    """A duration with a unit that suits it: 850 ns, 12.3 us, 4.5 ms, 1.200 s.

    Null and less than nothing are an unknown time: a clock that stepped back makes the latter.
    """
    if duration_ns is None or duration_ns < 0:
        return "an unknown time"
    if duration_ns < 1_000:
        return f"{duration_ns} ns"
    if duration_ns < 1_000_000:
        return f"{duration_ns / 1_000:.1f} us"
    if duration_ns < 1_000_000_000:
        return f"{duration_ns / 1_000_000:.1f} ms"
    return f"{duration_ns / 1_000_000_000:.3f} s"


def slowest(duration_ns: int | None) -> str:
    """``, the slowest 1.200 s after the gap showed``; nothing where nobody knows."""
    if duration_ns is None or duration_ns < 0:
        return ""
    return f", the slowest {shown(duration_ns)} after the gap showed"


class Percentiles(TypedDict):
    """Durations in ns; null where there is none."""

    p50: Annotated[int | None, "nearest rank"]
    p99: Annotated[int | None, "nearest rank"]
    max: int | None


class Durations:
    """Durations in ns, each with a weight (how many seqnos took that long)."""

    __slots__ = ("_values", "rounded")

    def __init__(self) -> None:
        self._values: dict[int, int] = {}
        self.rounded = False

    def add(self, duration_ns: int, weight: int = 1) -> None:
        """Count a duration; not a negative one, which only a clock that steps back can make."""
        if duration_ns < 0:
            return
        values = self._values
        place = self._rounded_to(duration_ns) if self.rounded else duration_ns
        values[place] = values.get(place, 0) + weight
        if not self.rounded and len(values) > EXACT_VALUES:
            self.rounded = True
            self._values = {}
            for value, count in values.items():
                place = self._rounded_to(value)
                self._values[place] = self._values.get(place, 0) + count

    def remove(self, duration_ns: int, weight: int = 1) -> None:
        """Take back what was counted."""
        place = self._rounded_to(duration_ns) if self.rounded else duration_ns
        left = self._values.get(place, 0) - weight
        if left > 0:
            self._values[place] = left
        else:
            self._values.pop(place, None)

    def add_many(self, durations_ns: "npt.NDArray[numpy.int64]") -> None:
        import numpy

        values, counts = numpy.unique(durations_ns, return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self.add(value, count)

    def percentiles(self) -> Percentiles:
        """``p50``, ``p99`` (nearest rank) and ``max`` in ns; null where nothing was counted."""
        total = sum(self._values.values()) if self._values else 0
        if not total:
            return {"p50": None, "p99": None, "max": None}
        ordered = sorted(self._values.items())
        return {
            "p50": self._rank(ordered, (total + 1) // 2),
            "p99": self._rank(ordered, (total * 99 + 99) // 100),
            "max": ordered[-1][0],
        }

    @staticmethod
    def _rank(ordered: list[tuple[int, int]], rank: int) -> int:
        for value, count in ordered:
            rank -= count
            if rank <= 0:
                return value
        return ordered[-1][0]

    def _rounded_to(self, value: int) -> int:
        if not self.rounded or value < 1000:
            return value
        unit: int = 10 ** (len(str(value)) - 3)
        return value // unit * unit
