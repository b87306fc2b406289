"""A source that began again under its id: what its subscribers had of its earlier numbers.

A subscriber keeps the last sn of a source by zid and entity id (zenoh.md 9.4 rule 9), through all
sessions of its node. So it takes what a later run of the source numbers as the earlier did for
repeats (ZN026), and what of that did not come it neither misses nor asks for: that it asks for
nothing shows no more that it had it, and no callback is due.
"""

from collections.abc import Iterable, Iterator, Mapping

from seqaudit.replay.contract.finding import Certainty, PlacedFinding
from seqaudit.replay.contract.results import GapDetail, Row
from seqaudit.replay.contract.story import Where, placed
from seqaudit.replay.sequence.gaps import Outcome
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.elsewhere import Place, undecidable, untold
from seqaudit.replay.zenoh.reasons import AGAIN


def used_before(streams: Iterable[tuple[int, str, Row]]) -> dict[Place, int]:
    """Places of later sessions to the highest sn that earlier ones showed the same subscriber.

    Args:
        streams: (capture, stream, detail) of STREAM rows of any system.
    """
    together: dict[tuple[int, str, str], list[tuple[str, Row]]] = {}
    for capture, stream, row in streams:
        if row.get("kind") == "samples" and row["receiver"] and row["live"]:
            key = capture, row["source"], row["receiver"]
            together.setdefault(key, []).append((stream, row))
    return {
        (capture, stream): highest
        for (capture, *_), rows in together.items()
        if len({row["leg"] for _, row in rows}) > 1
        for stream, highest in _in_turn(rows)
    }


def _in_turn(rows: list[tuple[str, Row]]) -> Iterator[tuple[str, int]]:
    """Streams that begin at numbers which those that were over by then had passed."""
    over = sorted((row for _, row in rows), key=lambda row: row["last_ns"])
    done = 0
    highest: dict[str | None, int] = {}  # by key expression; null: it was not captured
    for stream, row in sorted(rows, key=lambda one: one[1]["first_ns"]):
        while done < len(over) and over[done]["last_ns"] < row["first_ns"]:
            _passed(over[done], highest)
            done += 1
        subject = row["subscriber"]
        mine = highest.values() if subject is None else map(highest.get, (subject, None))
        last = max((sn for sn in mine if sn is not None), default=-1)
        if row["live"][0][0] <= last:
            yield stream, last


def _passed(row: Row, highest: dict[str | None, int]) -> None:
    """A stream is over; whoever subscribes after one that left is another."""
    subject = row["subscriber"]
    if row["subscriber_gone"]:
        highest.pop(subject, None)
        return
    highest[subject] = max(highest.get(subject, -1), row["last_seqno"])


def figures(used: Mapping[Place, int], rows: Mapping[Place, Row]) -> Iterator[tuple[Place, Row]]:
    """Figures that are null, as samples that seem to be missed, or to be had, have numbers that
    their source had used before.

    Args:
        used: as ``used_before`` returns it.
        rows: (capture, stream) to its figures.
    """
    for place, last in used.items():
        if told := untold(rows[place], RangeSet([(0, last + 1)]), AGAIN):
            yield place, told


def restated(finding: PlacedFinding, last: int) -> PlacedFinding:
    """A finding about what a subscriber had, or missed; its source had used sns up to ``last``."""
    if finding["certainty"] != Certainty.LIKELY:
        return finding
    return undecidable(
        finding, RangeSet([(0, last + 1)]), "again",
        "But {sender_member} had used {again:sn} of {count|this|these} in an earlier session and "
        "began again under the same id: who has had that takes what comes now for a repeat, and "
        "does not miss it.",
    )  # fmt: skip


def restated_gap(gap: GapDetail, last: int) -> GapDetail:
    """A gap of which its receiver seems to have had what is missing."""
    if gap["outcome"] != Outcome.UNCAPTURED or gap["seqnos"][0][0] > last:
        return gap
    return gap | {
        "outcome": Outcome.UNASKED,
        "placed": placed(Where.UNTOLD, AGAIN),
        "repaired_frame": None,
        "repaired_after_ns": None,
        "delivered_frame": None,
        "delivered_after_ns": None,
    }
