"""What the findings of a report claim, and whether those of another report imply it.

The law (replay/README.md 3): taking anything away from a capture never makes a new proven finding.
New is what the whole capture does not prove: a rule of a stream, seqnos, or a larger count.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.degraded.figures import OTHER_CLOCK

PROVEN: Final = "proven"

#: A proven finding of such a rule is implied by proven ones of these, of the same seqnos: what was
#: repaired, came late or never came in the end was missing before; a loss that is counted is one
#: whether or not its bounds are known. Who repaired a gap by a request had asked for it.
IMPLIED: Final[Mapping[str, tuple[str, ...]]] = {
    "MC001": ("MC003", "MC005"),
    "MC014": ("MC001", "MC002", "MC003", "MC011", "MC015"),
    "MC024": ("MC001", "MC002", "MC003", "MC005"),
    "PG001": ("PG003",),  # late, and sent again
    "PG007": ("PG001", "PG002"),
    "PG010": ("PG001", "PG002", "PG003", "PG009"),
    "RA001": ("RA002",),
    "UC001": ("UC003", "UC034"),
    "UC033": ("UC001", "UC002", "UC003", "UC011", "UC030"),
    "UC048": ("UC001", "UC002", "UC003", "UC034"),
    "ZN002": ("ZN022",),  # whose session was lost shows where it began
    "ZN018": ("ZN001", "ZN002", "ZN003"),
}

#: Rules of who asked for what, wherever that passed; and those by which the whole capture at the
#: asker's own interface says that it did, as sure as each of them may be of why.
ASKED: Final = ("MC024", "UC048", "PG010")
_OF_ASKERS: Final = ("MC005", "MC013", "UC032", "UC034")

#: Rules that say no more than what such a way makes of the capture: identical datagrams are there
#: twice, whoever made them; what keys stand for was said before it began.
_SEEN_TWICE: Final = ("FD005", "MC010", "PG004", "UC029")
_BEGUN_LATER: Final = ("ZN017",)

#: A member's own notices are repeated only where it is not known that they are its own: nobody
#: says whose interface it is, or what it said of itself was cut.
_OF_PEERS: Final = ("RA011",)

#: Where the capture's clock is made to be another one than that of all daemons, their time frames
#: may begin later than it says: true of the capture, whoever's clock is wrong.
_OF_TIME_FRAMES: Final = ("RA018",)

STATED: Final[Mapping[str, tuple[str, ...]]] = {
    "twice": _SEEN_TWICE,
    "beside": _SEEN_TWICE,
    "merged": _SEEN_TWICE + _OF_PEERS,
    "no-at": _OF_PEERS,
    "head": _BEGUN_LATER,
    "head-no-at": _BEGUN_LATER,
    "middle": _BEGUN_LATER,
    "rotated": _BEGUN_LATER,
    "joined": _BEGUN_LATER + _OF_PEERS,
    "snap": _OF_PEERS,
    "one-way": _OF_PEERS,
    "forwarded": _SEEN_TWICE,
    **dict.fromkeys(OTHER_CLOCK, _OF_TIME_FRAMES),
    # of what stands behind its repair there are two, as the rule has it
    "jitter": ("PG004", *_OF_TIME_FRAMES),
    "tied": ("PG004", *_OF_TIME_FRAMES),
    # where nobody says whose interface it is, no window of a daemon forgets a subject
    "cut-off": ("RA007",),
    # a numbering began anew, whatever this member had forgotten by its clock
    "coarse": ("RA007", *_OF_TIME_FRAMES),
    "several": _BEGUN_LATER + _OF_PEERS,
}

#: A text that says only what the capture holds is true of whatever is missing in it.
_OF_THE_CAPTURE: Final = re.compile(
    r"\b((is|are|was|were) not (in this capture|captured)|no copy is in this capture)\b"
)
_OF_THE_WIRE: Final = re.compile(r"\b(lost|missed|dropped|never|recovered|repaired)\b")

#: Rules that cannot both hold of a seqno in one stream.
CONTRARY: Final = (
    ("MC001", "MC002"),
    ("UC001", "UC002"),
    ("PG001", "PG002"),
    ("ZN001", "ZN002"),
    ("ZN001", "ZN003"),
)

#: A range of more numbers is named by its ends: a hole of a counter may be nearly all its space.
MOST_NUMBERS: Final = 1_000_000

#: The count that a text begins with; eight digits are the beginning of a member's UUID.
_NUMBER: Final = re.compile(r"^(?:At least )?(\d{1,6}|\d{1,3}(?:,\d{3})+) ")
_OF_ONE: Final = re.compile(r"subscriber \d+ of \d+")  # others of the stream may fare otherwise
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SOURCE: Final = re.compile(r"[0-9a-f]{1,32}/\d+")


@dataclass(frozen=True)
class Finding:
    """One finding as a report has it."""

    rule: str
    severity: str
    certainty: str
    system: str
    stream: str
    seqnos: frozenset[int]
    count: int | None
    text: str
    capture: int | None = None
    sender: str | None = None
    receiver: str | None = None
    subscriber: str | None = None
    transport: str | None = None
    mask: int | None = None

    @property
    def unicast(self) -> bool:
        return self.system.startswith("unicast")

    @property
    def key(self) -> tuple[str, str]:
        return self.rule, self.stream

    @property
    def of_the_capture(self) -> bool:
        """Whether it says what is in the capture and what is not, and nothing of the wire."""
        said = _OF_THE_CAPTURE.search(self.text)
        return said is not None and _OF_THE_WIRE.search(self.text) is None

    @property
    def loose_stream(self) -> str:
        """Who is at the ends of the stream, for one that the whole capture does not have."""
        return loosely(self.system, self.stream)


def loosely(system: str, stream: str) -> str:
    """The stream's members or source, without connection, session and key."""
    if system.startswith(("unicast", "nakack")):
        return "|".join(_UUID.findall(stream)) or stream
    if system == "zenoh":
        source = _SOURCE.search(stream)
        ends, _, key = stream.partition("||")  # of samples without a number
        return source[0] if source else key or ends
    return stream


def findings(report: Mapping[str, Any]) -> list[Finding]:
    """All findings of all captures of a report."""
    streams = {(row["capture"], row["id"]): row for row in report.get("streams", ())}
    return [
        _finding(row, streams.get((row["capture"], row["stream"]), {}))
        for row in report.get("findings", ())
    ]


def _finding(row: Mapping[str, Any], of: Mapping[str, Any]) -> Finding:
    stream = row["stream"] or ""
    count = _NUMBER.match(row["text"])
    return Finding(
        rule=row["rule"],
        severity=row["severity"],
        certainty=row["certainty"],
        system=row["system"] or "",
        stream=stream,
        seqnos=frozenset(_numbers(row["seqnos"], of.get("resolution_mask"))),
        count=int(count[1].replace(",", "")) if count else None,
        text=row["text"],
        capture=row["capture"],
        sender=of.get("sender"),
        receiver=of.get("receiver"),
        subscriber=of.get("subscriber"),
        transport=of.get("transport"),
        mask=of.get("resolution_mask"),
    )


def _numbers(ranges: Sequence[Sequence[Any]], mask: int | None) -> Iterable[int]:
    """Seqnos; of a space that wraps as they are on the wire, since a head may hide turns of it. Of
    more than any recording has the ends stand for all."""
    for first, last in ranges:
        low, high = (int(x, 16) if isinstance(x, str) else int(x) for x in (first, last))
        for seqno in range(low, high + 1) if high - low < MOST_NUMBERS else (low, high):
            yield seqno & mask if mask else seqno


def stated(ways: Iterable[str]) -> set[str]:
    """Rules that say no more than what these ways make of a capture."""
    return {rule for way in ways for rule in STATED.get(way, ())}


def proven(found: Iterable[Finding]) -> list[Finding]:
    """Proven ones that speak of messages, not of the capture."""
    return [f for f in found if f.certainty == PROVEN and not f.rule.startswith("CP")]


@dataclass
class Whole:
    """What whole captures prove: claims of one or, where vantages are merged, of several."""

    streams: set[str] = field(default_factory=set)
    seqnos: dict[tuple[str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    counts: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, report: Mapping[str, Any]) -> None:
        self.streams |= {stream["id"] for stream in report.get("streams", ())}
        every = findings(report)
        for found in proven(every):
            self._add(found.rule, found, found.seqnos, found.count or 1)
        for found in [*(one for one in every if one.rule in _OF_ASKERS), *_asked(report)]:
            for rule in ASKED:
                self._add(rule, found, found.seqnos, len(found.seqnos))

    def _add(self, rule: str, found: Finding, seqnos: Iterable[int], count: int) -> None:
        for stream in {found.stream, found.loose_stream}:
            self.seqnos[rule, stream].update(seqnos)
            self.counts[rule, stream] = max(self.counts[rule, stream], count)

    def news(self, found: Finding) -> str | None:
        """What of a proven finding the whole does not prove; null if it proves all of it."""
        known = found.stream in self.streams
        stream = found.stream if known else found.loose_stream
        rules = [found.rule, *IMPLIED.get(found.rule, ())]
        said = [rule for rule in rules if (rule, stream) in self.counts]
        if not said:
            return "no such finding"
        if found.seqnos:
            more = found.seqnos - {n for rule in said for n in self.seqnos[rule, stream]}
            return f"also {shown(more)}" if more else None
        count = max(self.counts[rule, stream] for rule in said)
        if found.count is not None and found.count > count:
            return f"{found.count} instead of {count}"
        return None


def _asked(report: Mapping[str, Any]) -> Iterator[Finding]:
    """What receivers of a report asked for, as its gaps have it, however they ended; what may have
    been sent before is not known to have been missing."""
    receives = {
        (row["capture"], row["id"])
        for row in report.get("streams", ())
        if row.get("role") == "receiver"
    }
    for gap in report.get("gaps", ()):
        of = gap["capture"], gap["stream"]
        if of in receives and gap.get("requests") and not gap["outcome"].startswith("sent before"):
            seqnos = frozenset(_numbers(gap["seqnos"], None))
            yield Finding("", "", "", gap["system"], gap["stream"], seqnos, None, "")


def contradictions(found: Iterable[Finding]) -> list[tuple[Finding, str]]:
    """Proven findings of one stream that cannot both be true, with what they share."""
    by_key = {f.key: f for f in proven(found) if not _OF_ONE.search(f.text)}
    pairs = []
    for one, other in CONTRARY:
        for (rule, stream), finding in by_key.items():
            against = by_key.get((other, stream))
            if rule == one and against is not None and finding.seqnos & against.seqnos:
                both = shown(finding.seqnos & against.seqnos)
                pairs.append((against, f"{both} by {one} too"))
    return pairs


def shown(seqnos: Iterable[int]) -> str:
    """Seqnos in a few words."""
    ranges: list[list[int]] = []
    for seqno in sorted(seqnos):
        if ranges and ranges[-1][1] == seqno - 1:
            ranges[-1][1] = seqno
        else:
            ranges.append([seqno, seqno])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in ranges[:6]]
    return ", ".join(words) + (f" and {len(ranges) - 6} more" if len(ranges) > 6 else "")
