"""Bounds of losses beside a publisher's capture, against what really was lost (raims.md 9).

A publisher numbers messages, one a packet, in frames that chain or that it began anew. Each came to
the daemon or was lost, and each capture lacks some of what passed it. What is called lost, at least
and at most, must be so.
"""

from typing import Any, Final, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.replay.pgm.holes import Fate, Hole
from seqaudit.replay.raims.bounds import tighten
from seqaudit.replay.raims.missing import Missing
from seqaudit.replay.raims.seqno import base_of, frame_of, seqno
from seqaudit.replay.raims.subscriber import Status, decide
from seqaudit.replay.raims.truth import Truth
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet

MARK: Final = Mark(1, 1)
ROOM: Final = 5


class Sent(NamedTuple):
    """One message.

    Attributes:
        came: to the daemon.
        here, there: it is in the capture at the daemon, and in that at the publisher.
        told: the daemon tells the publisher of a loss before it, if it counts one.
    """

    number: int
    chain: int | None
    came: bool
    here: bool
    there: bool
    told: bool


#: Fates come in runs; what was missed came, and the capture lacks it.
RUNS: Final = st.lists(
    st.tuples(st.sampled_from(("came", "lost", "missed")), st.integers(1, 4)),
    min_size=3, max_size=9,
)  # fmt: skip


@st.composite
def stories(draw: st.DrawFn) -> list[Sent]:
    story: list[Sent] = []
    fates = [fate for fate, count in draw(RUNS) for _ in range(count)]
    holed, tells = draw(st.booleans()), draw(st.sampled_from((0, 1, 1)))
    frame, base, last = 1, 0, None
    for fate in fates:
        base += 1
        if base > 1 and draw(st.integers(0, 3)) == 0:
            frame, base = frame + draw(st.integers(1, 2)), 1
        chained = base == 1 and last is not None and draw(st.integers(0, 3)) > 0
        number = seqno(frame, base)
        there = not holed or draw(st.integers(0, 4)) > 0
        chain = last if chained else None
        story.append(Sent(number, chain, fate != "lost", fate == "came", there, bool(tells)))
        last = number
    return story


def hole(sqn: int, *, lost: bool) -> Hole:
    """A packet that the daemon gave up, or that nobody asked for."""
    found = Hole(sqn, MARK, MARK, "SPM", ended=MARK)
    found.fate, found.used_up = (Fate.RETRIES, True) if lost else (Fate.UNASKED, False)
    return found


def at_daemon(story: list[Sent]) -> Truth:
    truth = Truth()
    high: int | None = None
    before: int | None = None
    for sqn, sent in enumerate(story):
        if not sent.came:
            continue
        verdict = None if high is None else decide(sent.number, high, sent.chain or 0)
        high = sent.number
        if not sent.here:
            continue
        gone = () if before is None else range(before + 1, sqn)
        missing = Missing(tuple(hole(one, lost=not story[one].came) for one in gone))
        truth.step(sent.number, sent.number + 1, sent.chain, missing, ROOM, MARK)
        if verdict is not None and verdict.status is Status.SKIP and sent.told:
            truth.tell(sent.number, verdict.value if verdict.value < 0x8000 else None, MARK)
        before = sqn
    return truth


def frames(story: list[Sent]) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for sent in story:
        of = found.setdefault(frame_of(sent.number), {"numbers": RangeSet(), "chain": None})
        of["numbers"].add(base_of(sent.number), base_of(sent.number) + 1)
        of["chain"] = of["chain"] or sent.chain
    return [
        {"time_frame": frame, "chain": of["chain"],
         "numbers": [[low, high - 1] for low, high in of["numbers"]]}
        for frame, of in sorted(found.items())
    ]  # fmt: skip


@settings(max_examples=200)
@given(stories())
def test_what_was_lost_is_between_its_bounds(story: list[Sent]) -> None:
    truth = at_daemon(story)
    shared: dict[str, Any] = {
        "system": "raims", "sender": "P", "receiver": "R", "subject": "A", "unlisted_gaps": 0,
        "numbers_by_subject": {}, "lost_by_subject": {},
    }  # fmt: skip
    here = shared | {
        "capture": 0, "role": "receiver", "losses": [loss.row() for loss in truth.losses],
        "time_frames": frames([sent for sent in story if sent.here]),
        "lost": truth.lower, "unrecovered": truth.lower, "lost_upper": truth.upper,
    }  # fmt: skip
    there = shared | {
        "capture": 1, "role": "sender", "losses": [], "lost": None, "lost_upper": None,
        "time_frames": frames([sent for sent in story if sent.there]),
    }  # fmt: skip
    tighten([here, there], {})
    for loss, row in zip(truth.losses, here["losses"], strict=True):
        sure = loss.missing is not None and all(h.fate is Fate.RETRIES for h in loss.missing.holes)
        if loss.told is None and not sure:
            continue  # lost, or not captured
        between = [s for s in story if row["after"] < s.number < row["before"]]
        lost = sum(not sent.came for sent in between)
        assert row["lower"] <= lost, (row, lost)
        assert row["upper"] is None or lost <= row["upper"], (row, lost)
