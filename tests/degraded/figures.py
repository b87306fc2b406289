"""What a report says otherwise than that of the whole capture where it should be the same.

Without a vantage, figures are the same or null (replay/README.md 4); files that were written in
turns are one capture, in whatever order they are given. What a receiver of a spoiled capture lost
and delivered is what it did in the whole one, as far as the spoiled one goes, or null.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from seqaudit.replay.sequence.gaps import Outcome
from tests.degraded import figures_daemons

#: Ways in which the capture's clock is another one than it was.
OTHER_CLOCK: Final = frozenset(
    ("coarse", "drift", "jitter", "offset", "skewed", "slew", "step", "tied")
)
#: And all that change when what was captured.
CLOCKS: Final = OTHER_CLOCK | {"disorder", "twice"}
#: Figures that say what was lost and what came of it.
FIGURES: Final = (
    "delivered", "lost", "lost_seqnos", "not_captured", "recovered", "unrecovered",
    "unrecovered_seqnos",
)  # fmt: skip
TOTALS: Final = ("lost", "recovered", "unrecovered")


def differences(
    whole: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """(figure, what it is of, both values) where a figure is there and is another."""
    known = {row["id"]: row for row in whole.get("streams", ())}
    for row in other.get("streams", ()):
        of = known.get(row["id"], {})
        for name in FIGURES:
            if row.get(name) is not None and name in of and row[name] != of[name]:
                yield name, row["id"], f"{row[name]}, with --at {of[name]}"
    totals, given = other.get("totals", {}), whole.get("totals", {})
    for name in TOTALS:
        if totals.get(name) is not None and totals[name] != given.get(name):
            yield name, "totals", f"{totals[name]}, with --at {given.get(name)}"


def other_findings(whole: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(rule, which and how it differs) of findings that only one of two reports has."""
    here, there = _said(whole), _said(other)
    for only, what in ((here - there, "only in one file"), (there - here, "only in several")):
        for rule, certainty, stream, seqnos, text in sorted(only):
            yield rule, f"{what}: {certainty}, {stream or 'no stream'}, {seqnos}: {text}"


def _said(report: Mapping[str, Any]) -> set[tuple[str, str, str, str, str]]:
    return {
        (f["rule"], f["certainty"], f["stream"] or "", str(f["seqnos"]), f["text"])
        for f in report.get("findings", ())
    }


#: Systems whose figures of spoiled captures are compared, those with ranges and bounds.
COMPARED: Final = ("pgm", "raims")
#: And those that say which numbers were lost.
JGROUPS: Final = ("nakack2", "nakack4", "unicast3", "unicast4")


@dataclass
class Compared:
    """What of a spoiled capture's report was held against the whole one's.

    Attributes:
        figures: how many were there on both sides.
        wrong: (figure, what it is of, both values).
    """

    figures: int = 0
    wrong: list[tuple[str, str, str]] = field(default_factory=list)

    def count(self, name: str, of: str, here: int, least: int, most: int | None) -> None:
        """A figure that is there, and what it can be by the whole capture."""
        self.figures += 1
        if here < least or (most is not None and here > most):
            whole = str(least) if least == most else f"{least} to {most}"
            self.wrong.append((name, of, f"{here}, in the whole {whole}"))


def beside(whole: Mapping[str, Any], other: Mapping[str, Any], *, timed: bool = True) -> Compared:
    """Figures of receivers of one capture beside those of the whole one: never more, and the same
    where both have the same numbers.

    Args:
        timed: whether both were written by one clock.
    """
    known = {row["id"]: row for row in whole.get("streams", ())}
    told = Compared()
    ended = _ends_sooner(known, other)
    same_of: dict[str, bool] = {}  # by publisher: have all its streams the same numbers?
    for row in other.get("streams", ()):
        of = _same_start(whole, row, known.get(row["id"]))
        if of is None or row.get("role") != "receiver" or of.get("role") != "receiver":
            continue
        if row["system"] in JGROUPS:
            in_vain = _asked_in_vain(whole, row["id"])
            later = _repaired_later(whole, other, row["id"])
            left = _lacked_by_one_that_left(whole, row["id"])
            more = {"lost_seqnos": in_vain | left, "unrecovered_seqnos": in_vain | later}
            _of_jgroups(row, of, told, more)
        if row["system"] not in COMPARED:
            continue
        ends = "first_seqno", "last_seqno"
        same = all(row[end] == of[end] for end in ends) and not row.get("open")
        counts = same and not ended
        same_of[row["sender"]] = same_of.get(row["sender"], True) and counts
        for name in ("lost", "recovered", "unrecovered", "counted_loss"):
            if row.get(name) is not None and of.get(name) is not None:
                upper = of.get("lost_upper", of[name]) if name != "counted_loss" else of[name]
                upper = None if upper is None else upper + (of.get("open") or 0)
                least = of[name] if (counts if name == "counted_loss" else same) else 0
                if name in ("lost", "unrecovered"):
                    if row.get("lost_upper", row.get("lost")) != row.get("lost"):
                        least = 0  # a bound, as another capture may have told of more
                    least = max(0, least - _lost_before(whole, row["id"], row["first_seqno"]))
                told.count(name, row["id"], row[name], least, upper)
        figures_daemons.of_streams(row, of, told.count)
        if row.get("lost_upper") is not None and of.get("lost") is not None and same:
            told.count("lost_upper", row["id"], row["lost_upper"], of["lost"], None)
        if row.get("delivered") is not None and of.get("delivered") is not None:
            first, last = (_number(row[end]) for end in ends)
            here, within = (  # a console's message has the number 0, which says nothing
                [n for n in _numbers(told_row["delivered"]) if first <= n <= last and n]
                for told_row in (row, of)
            )
            told.figures += 1
            if _differ(here, within):
                shown = f"{len(here)}, in the whole {len(within)}"
                told.wrong.append(("delivered", row["id"], shown))
    figures_daemons.of_daemons(whole, other, same_of, told.count, timed=timed)
    return told


def _same_start(
    whole: Mapping[str, Any], row: Mapping[str, Any], of: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The whole capture's row of the same start of a daemon: a later one has the stream's id with a
    number behind it, but where nothing before it was captured. Null: the only start of which the
    spoiled capture has words is another, and got nothing of what came before it."""
    if of is None or row["system"] != "raims" or row["first_seqno"] is None:
        return of
    first = _number(row["first_seqno"])
    starts: list[Mapping[str, Any]] = [
        other for other in whole["streams"] if other["id"].rpartition("|")[0] == row["id"]
    ]
    rows = [one for one in (of, *starts) if row.get("receiver") in (None, one.get("receiver"))]
    for one in rows:
        if one["first_seqno"] is None:
            continue
        if _number(one["first_seqno"]) <= first <= _number(one["last_seqno"]):
            return one
    return rows[0] if rows else None


def _lost_before(whole: Mapping[str, Any], stream: str, first: int | str | None) -> int:
    """How many a stream lost before the first that came, of which an SPM or a request tells."""
    lost = [
        g for g in whole.get("gaps", ()) if (g["stream"], g["outcome"]) == (stream, "unrecovered")
    ]
    return sum(n < _number(first) for gap in lost for n in _numbers(gap["seqnos"]))


def _ends_sooner(known: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a TSI does in a spoiled capture: its last packets may have held copies, which daemons
    count as lost, and nothing shows that they are missing."""
    pgm = (row for row in other.get("streams", ()) if row["system"] == "pgm" and row["id"] in known)
    return any(row["last_seqno"] != known[row["id"]]["last_seqno"] for row in pgm)


def _differ(here: list[int], whole: list[int]) -> bool:
    """Whether other numbers were delivered; what was delivered again may have been so later."""
    return set(here) != set(whole) or bool(Counter(here) - Counter(whole))


def _is_part(told: list[list[int]], whole: list[list[int]]) -> bool:
    """Whether ranges are a piece of others, in order and with nothing left out in between: behind
    the last of one window a new one begins below it, and of the first the piece may be the end."""
    if len(told) < 2:
        return False  # then its numbers say it all
    (first, *inner, last), count = told, len(told)
    return any(
        whole[at + 1 : at + count - 1] == inner
        and whole[at][0] <= first[0] <= first[1] == whole[at][1]
        and whole[at + count - 1][0] == last[0] <= last[1] <= whole[at + count - 1][1]
        for at in range(len(whole) - count + 1)
    )


def _repaired_later(whole: Mapping[str, Any], other: Mapping[str, Any], stream: str) -> set[int]:
    """Seqnos of a stream that came in the whole capture only behind the end of the other one: there
    they had not come."""
    captures = other.get("captures") or [{"frames": 0, "last_ns": 0}]
    frames, end_ns = (max(one[key] or 0 for one in captures) for key in ("frames", "last_ns"))
    return {
        seqno
        for gap in whole.get("gaps", ())
        if gap["stream"] == stream
        and (gap["repaired_frame"] or 0) > frames
        and gap["repaired_after_ns"] is not None
        and gap["revealed_at_ns"] + (gap["requested_after_ns"] or 0) + gap["repaired_after_ns"]
        > end_ns
        for seqno in _numbers(gap["seqnos"])
    }


def _asked_in_vain(whole: Mapping[str, Any], stream: str) -> set[int]:
    """Seqnos of a stream that were asked for though they had come: whoever does not see that they
    came sees a message that was missing, and repaired or not."""
    return {
        seqno
        for finding in whole.get("findings", ())
        if finding["rule"] in ("MC013", "UC032") and finding["stream"] == stream
        for seqno in _numbers(finding["seqnos"] or [])
    }


def _lacked_by_one_that_left(whole: Mapping[str, Any], stream: str) -> set[int]:
    """Seqnos of a stream that a member lacked when a view put it out. It may go on for a while, ask
    for them and get them: who does not see that view sees what was lost, and repaired."""
    return {
        seqno
        for gap in whole.get("gaps", ())
        if (gap["stream"], gap["outcome"]) == (stream, Outcome.GONE)
        for seqno in _numbers(gap["seqnos"])
    }


def _of_jgroups(
    row: Mapping[str, Any],
    of: Mapping[str, Any],
    told: Compared,
    more_of: Mapping[str, set[int]],
) -> None:
    """What a member lost was lost in the whole capture as well, what it had not got it never did,
    but for what ``more_of`` says of either; and of what it delivered nothing is left out in
    between. Of one that left only bounds are told."""
    for name, allowed in more_of.items():
        if row[name] is not None and (of["lost"] is not None or name == "unrecovered_seqnos"):
            told.figures += 1
            more = set(_numbers(row[name])).difference(_numbers(of[name] or []), allowed)
            if more:
                told.wrong.append((name, row["id"], f"not in the whole: {sorted(more)}"))
    if row["lost"] is not None:
        told.figures += 1
        listed = len(_numbers(row["lost_seqnos"]))
        if row["lost"] != listed:
            told.wrong.append(("lost", row["id"], f"{row['lost']}, and lists {listed}"))
    if None not in (row["delivered"], of["delivered"]) and "delivered" not in row["unknown"]:
        told.figures += 1
        unsure = set(_numbers(row.get("delivered_unsure", [])))
        here, whole = (
            [n for n in _numbers(one["delivered"]) if n not in unsure] for one in (row, of)
        )
        within = [n for n in whole if here and here[0] <= n <= here[-1]]
        if _differ(here, within) and not _is_part(row["delivered"], of["delivered"]):
            shown = f"{len(here)}, in the whole {len(within)}"
            told.wrong.append(("delivered", row["id"], shown))


def _numbers(ranges: list[list[Any]]) -> list[int]:
    """All numbers of inclusive ranges, ascending."""
    found: list[int] = []
    for first, last in ranges:
        found += range(_number(first), _number(last) + 1)
    return sorted(found)


def _number(told: str | int | None) -> int:
    """A seqno, which is a text of hex digits for raims; of a stream that has none -1."""
    return int(told, 16) if isinstance(told, str) else -1 if told is None else told
