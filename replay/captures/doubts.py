"""Stretches of doubt over a whole capture, and what they make of findings (replay/README.md 3).

They are known when all of a capture was read, so findings that engines made before carry what they
rest on, and are weighed once more here.

    rule            stretch of doubt
    CP001, CP011    none: the capture ends there, as any does; a hole between that file and the
                    next one, if there is one
    CP002, CP003    a hole, anywhere: neither a damaged stretch nor a drop counter has a place
    CP004           each packet that was cut, by its frame; anywhere, if only the stage that puts
                    fragments and TCP together knows of one
    CP013           none, where the records were put in order; what belongs further back than is
                    held, by its frame; a late record that nothing tells from one behind a step of
                    the clock, from where it was put to where it stood, its times too
    CP014           between the frames before and behind the step
    CP022           everywhere
    CP017           everywhere; without IP ids everything is in doubt
    (the vantage)   everywhere, where it is inferred from whose unicasts the capture holds
    CP021           a hole at each packet that is damaged, by its frame; and everywhere, if there
                    are packets of which nobody can tell whether they are, or so many damaged ones
                    that a checksum may be right by chance
    CP005           none: a datagram of which a fragment is missing is missing like any other, and
                    the rules of loss say whether it was lost or not captured
    CP006           a hole at each datagram of a system that could not be decoded, by its frame
    CP012           none here: of what was not captured nobody knows the stream; what rests on its
                    absence is likely at most without a certificate
    CP015, CP016    none: each engine keeps what was sent before, and what was open at the end
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from seqaudit.replay.contract.capture_rows import (
    CaptureFigures,
    InterfaceRow,
    MergedAccount,
    NamedFrames,
    SkippedRow,
)
from seqaudit.replay.contract.finding import ON_NOTHING, Certainty, PlacedFinding, Rests, Severity
from seqaudit.replay.contract.settings import MAY_BE_MIRROR, Vantage
from seqaudit.replay.contract.worth import BEGINNING, END, Doubt, Span, Worth

#: Rules that speak of the capture itself, where doubts about it are what they say. What a
#: conversation shows to be missing rests on its order and times as other findings do.
_OF_CAPTURES: Final = "CP"
_OF_CONVERSATIONS: Final = frozenset({"CP007"})

#: How the reader's reason for the last, incomplete record of a file begins
#: (decoders.capture.reader).
CUT_REASON: Final = "the file ends in the middle of a record"

#: So many datagrams stand in a capture twice at least, if it was captured twice.
LEAST_TWICE: Final = 10

#: So many packets with damage that no checksum tells are expected, where one is reckoned with.
UNSEEN: Final = 0.001

MS: Final = 1_000_000
SECOND: Final = 1_000_000_000


def spans_of(account: MergedAccount, vantage: Vantage) -> list[Span]:
    """The stretches of doubt that a capture's merged account shows, and where it was taken."""
    spans: list[Span] = []

    def everywhere(doubt: Doubt, why: str, count: int | None = None) -> None:
        spans.append(Span(doubt, BEGINNING, END, why, count=count))

    if dropped := drops(account.figures["interfaces"]):
        why = f"the capturing machine dropped {_counted(dropped, 'packet')}"
        everywhere(Doubt.HOLE, why, dropped)
    if damaged_stretches(account.figures):
        everywhere(Doubt.HOLE, "a damaged stretch of the file was skipped")
    for border in account.torn_borders:
        why = "a file of the capture ends early, and another goes on"
        spans.append(Span(Doubt.HOLE, border - 1, border, why))
    spans += _cut(account)
    spans += _damaged(account)
    if count := account.undecoded_frames["count"]:
        why = f"{_counted(count, 'datagram')} not decoded"
        spans += _at_each(Doubt.UNDECODED, account.undecoded_frames, why)
    if not vantage.sure:
        everywhere(Doubt.ELSEWHERE, MAY_BE_MIRROR)
    doubled = twice([account.twice])
    if doubled is Certainty.PROVEN:
        why = "the capture holds most datagrams twice"
        everywhere(Doubt.TWICE, why, alone(account.twice))
    elif doubled:
        everywhere(
            Doubt.SENT_TWICE,
            "the capture holds most datagrams twice, and nothing tells a second one from one that "
            "was sent again",
        )
    if tick := account.tick:
        everywhere(Doubt.COARSE, ticking(tick["tick_ns"]))
    order = account.order
    for frame, _, back_ns, agree, against in order["steps"]:
        what = f"time goes back by {shown(back_ns)}"
        spans.append(Span(Doubt.CLOCK_STEPPED, frame - 1, frame, what))
        if not agree or against:
            spans.append(Span(Doubt.OUT_OF_ORDER, frame - 1, frame, what))
    for place, stood in order["guessed"]:
        what = "a record is late, or the clock was set back"
        spans.append(Span(Doubt.OUT_OF_ORDER, place, stood, what))
        spans.append(Span(Doubt.CLOCK_STEPPED, place, stood, what))
    for frame in order["torn"]:
        spans.append(Span(Doubt.OUT_OF_ORDER, frame - 1, frame, "records are out of order"))
    for first, last in order["beyond"]:
        what = "more records are late, or the clock was set back more often, than are named"
        spans.append(Span(Doubt.OUT_OF_ORDER, first - 1, last, what))
        spans.append(Span(Doubt.CLOCK_STEPPED, first - 1, last, what))
    return spans


def damaged_stretches(figures: CaptureFigures) -> list[SkippedRow]:
    """Those that were skipped, but for the incomplete record at the end of a file."""
    return [
        stretch
        for stretch in figures["skipped"]
        if not (figures["cut"] and stretch["why"].startswith(CUT_REASON))
    ]


def unread(account: MergedAccount) -> str | None:
    """Why some of a capture's packets say less than they said on the wire; null if none does.

    A packet that was cut or damaged is in the capture: what it said may be what seems to be missing
    there.
    """
    spans = [*_cut(account), *_damaged(account)]
    return next((span.why for span in spans if span.doubt is not Doubt.DAMAGED), None)


def _cut(account: MergedAccount) -> list[Span]:
    """Where packets were captured only in part: at each of them, as long as they are named."""
    truncated = account.figures["frames_by"]["truncated"]
    if not truncated:
        return []
    why = f"{_counted(truncated, 'packet')} captured only in part"
    if account.cut_frames["count"] != truncated:  # packets of TCP, and fragments
        return [Span(Doubt.CUT, BEGINNING, END, why)]
    return _at_each(Doubt.CUT, account.cut_frames, why)


def _damaged(account: MergedAccount) -> list[Span]:
    """Where packets are not those that were sent, and whether others may be as well."""
    spans, why = [], ""
    if count := account.damaged_frames["count"]:
        why = f"{_counted(count, 'packet')} damaged"
        spans = _at_each(Doubt.HOLE, account.damaged_frames, why)
    if (unseen := unseen_damage(account)) is not None:
        spans.append(Span(Doubt.DAMAGED, BEGINNING, END, unseen))
    elif account.checksums["untold"]:
        others = f"{why}, and others have no checksum that tells"
        spans.append(Span(Doubt.DAMAGED, BEGINNING, END, others))
    return spans


def unseen_damage(account: MergedAccount) -> str | None:
    """Why any packet may be damaged, though nothing shows it; null: none is. So it is where most
    packets of a sender have a wrong checksum, as nobody can tell whether they are; and where so
    many are damaged that there may be one of which the checksum is right.

    One changed byte is always told. Two are not where what one adds the other takes away, in the
    same half of a word: one time in some 1,024. How many have two is told by how many have one.
    """
    if account.checksums["unclear"]:
        return "most packets of a sender have a wrong checksum"
    damaged, frames = account.damaged_frames["count"], account.figures["frames"]
    if damaged > 1 and damaged * damaged >= 1_024 * frames * UNSEEN:
        why = "so that some may be of which the checksum is right"
        return f"{_counted(damaged, 'packet')} damaged, {why}"
    return None


def _at_each(doubt: Doubt, told: NamedFrames, why: str) -> list[Span]:
    """Spans at frames that are named, and one over those behind them."""
    named = told["named"]
    spans = [Span(doubt, frame, frame, why) for frame in named]
    if len(named) < told["count"]:
        assert told["last"] is not None, "some are named"
        spans.append(Span(doubt, named[-1] + 1, told["last"], why))
    return spans


def is_twice(parts: Iterable[Mapping[str, int] | None]) -> bool:
    """Whether most datagrams of a capture stand in it twice, by the accounts of its pieces."""
    return twice(parts) is not None


def twice(parts: Iterable[Mapping[str, int] | None]) -> Certainty | None:
    """How sure that is. Those that have IP ids prove it: a network that doubles so many is none.
    Nearly all that have none may also have been sent twice."""
    sums: Counter[str] = Counter()
    for part in parts:
        sums.update(part or {})
    datagrams, again, once, pairs = (sums[key] for key in ("datagrams", "again", "once", "pairs"))
    if again >= LEAST_TWICE and 3 * again >= datagrams + max(once - pairs, 0):
        return Certainty.PROVEN
    if pairs >= LEAST_TWICE and 4 * pairs >= 3 * once and 3 * again >= datagrams:
        return Certainty.LIKELY
    return None


def alone(seen: Mapping[str, int]) -> int:
    """Datagrams that stand in the capture once, where most stand there twice: where two vantages
    were merged, the path may have lost these between them."""
    return max(seen["datagrams"] - 2 * seen["again"], 0)


def weighed(finding: PlacedFinding, worth: Worth) -> PlacedFinding:
    """A finding in a capture that is worth so much."""
    rule = finding["rule"]
    if rule.startswith(_OF_CAPTURES) and rule not in _OF_CONVERSATIONS:
        return finding
    known = Certainty(finding["certainty"])
    verdict = worth.capped(known, _rests(finding), finding["stream"])
    certainty, reasons = verdict.certainty, list(verdict.reasons)
    if certainty is Certainty.PROVEN:
        frames = sorted(_frames(finding))
        across = frames and worth.over(frames[0], frames[-1], None, [Doubt.CLOCK_STEPPED])
        if across:
            certainty = Certainty.LIKELY
            reasons = [span.why for span in across]
    changed = finding.copy()
    if certainty is not known:
        because = "; ".join(dict.fromkeys(reasons))
        changed["certainty"] = str(certainty)
        changed["text"] = f"{finding['text']} ({because}.)"
    if verdict.in_hole and rule not in _OF_CONVERSATIONS:
        changed["severity"] = str(Severity.INFO)
    return changed


def drops(interfaces: Iterable[InterfaceRow]) -> int:
    """Packets that the capturing machine counted and did not write."""
    return sum(dropped_by(interfaces).values())


def dropped_by(interfaces: Iterable[InterfaceRow]) -> Counter[str]:
    """The same by who counted them."""
    counted: Counter[str] = Counter()
    for interface in interfaces:
        for key, value in interface.items():
            if key.endswith(("drop", "drops")) and isinstance(value, int):
                counted[key] += value
    return counted


def ticking(tick_ns: int) -> str:
    """What a coarse clock does."""
    return (
        f"its clock ticks every {shown(tick_ns)}" if tick_ns else "all records have the same time"
    )


def shown(span_ns: int) -> str:
    """``12.5 ms``, ``30 s``, ``5 min``, ``2.5 h``, ``388 days``."""
    if span_ns < SECOND:
        return f"{span_ns / MS:.3g} ms"
    seconds = span_ns / SECOND
    for unit, size in (("s", 1), ("min", 60), ("h", 3_600)):
        if seconds < 100 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86_400:,.1f} days"


def _counted(count: int, word: str) -> str:
    return f"{count} {word} was" if count == 1 else f"{count} {word}s were"


def _rests(finding: PlacedFinding) -> Rests:
    told = finding.get("rests")
    if not told:
        return ON_NOTHING
    absent = None if told["absent"] is None else (told["absent"][0], told["absent"][1])
    return Rests(absent, told["timed"], told["ordered"], told["here"], told["places"])


def _frames(finding: PlacedFinding) -> set[int]:
    """The job frames that a finding names."""
    facts = finding["facts"].items()
    named = [v for k, v in facts if k.endswith("_frame") and isinstance(v, int)]
    shown = [one["frame"] for one in finding["evidence"]]
    return {frame for frame in (finding["frame"], *shown, *named) if frame is not None}
