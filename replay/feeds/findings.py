"""What a replayed feed says: its streams, gaps, findings FD (replay/README.md 3, 5,
decoders/README.md 5)."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from seqaudit.decoders.contract.events import NO_CONVERSATION
from seqaudit.replay.contract.finding import Certainty, Finding, Rests
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, Reporter, Subject
from seqaudit.replay.contract.results import ACCOUNT, GAP, STREAM, TABLE, Result
from seqaudit.replay.contract.worth import UNDECIDABLE, Claim
from seqaudit.replay.feeds.engine import FeedEngine, place_of
from seqaudit.replay.feeds.evidence import (
    gaps_around,
    gaps_ended,
    gaps_missing,
    hole_shown,
    holes_around,
    holes_of,
    is_uncertain,
    lost_of_line,
    open_until_ns,
    others_went_on,
)
from seqaudit.replay.feeds.holes import FeedHole
from seqaudit.replay.feeds.lines import LINES, LinePair
from seqaudit.replay.feeds.notes import Noted, Outage, Pause
from seqaudit.replay.feeds.numbering import BY
from seqaudit.replay.feeds.requests import Requests
from seqaudit.replay.feeds.rules import FEED as RULES
from seqaudit.replay.feeds.stream import FeedStream
from seqaudit.replay.feeds.summaries import pair_summary, summary
from seqaudit.replay.sequence.durations import shown as time_shown
from seqaudit.replay.sequence.durations import slowest
from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome, Part
from seqaudit.replay.sequence.ranges import Range

SYSTEM: Final = "feed"
#: Ranges listed in one finding; the counts are complete.
MAX_SEQNOS: Final = 1_000
#: A feed's receivers do not speak: whether a number was lost or only not captured, late or captured
#: in another order, is nowhere in one capture.
FROM_ONE_PLACE: Final = Certainty.LIKELY
#: The same of what rests on the order of records, or on the times between them.
BY_ORDER: Final = Claim(FROM_ONE_PLACE, Rests(ordered=True))
BY_TIME: Final = Claim(FROM_ONE_PLACE, Rests(timed=True))
_BEGAN_OR_AGAIN: Final = Claim(
    FROM_ONE_PLACE, Rests(ordered=True),
    why="its numbers had been before: the sender began anew, or the same was captured again",
)  # fmt: skip
_BY_CLOCK: Final = Claim(
    FROM_ONE_PLACE, Rests(timed=True),
    why="by the capture's clock, which may have been set by less than a second",
)  # fmt: skip

#: Other streams tell a stream that was silent from a capture that was.
_CUT: Final = ", while other streams went on; "
_STOOD_STILL: Final = ", or the capture stood still, or its clock was set; "

#: Among the counts of a feed in a capture: datagrams of streams that did not pass their probation.
OUT_OF_STEP: Final = "out_of_step"

_PARAMETERS: Final = (
    "late_ms", "late_numbers", "restart_distance", "restart_ms", "max_jump", "silence_ms",
    "max_jitter_us", "max_lag_us",
)  # fmt: skip
_UNCONFIRMED: Final = " (The layout was inferred, and nobody has confirmed it.)"
_RECOGNISED: Final = " (Nobody said where the feed is: it was recognised.)"
_NO_LINES: Final = "the feed declares no lines that carry the same"
_NO_LIMIT: Final = "feed.{} is not given"
_UNDECLARED: Final = "the feed's layout describes no {} message"


def results(engine: FeedEngine, capture: int, told: set[Hashable]) -> list[Result]:
    """Everything there is to say about one conversation of a feed in one capture.

    Args:
        told: which judged rules and parameters other conversations have told; grows.
    """
    return list(FeedReporter(engine, capture).rows(told))


class _FeedSubject:
    """A stream as findings name it."""

    def __init__(self, stream: FeedStream) -> None:
        self.key = stream.key
        self.sender = stream.sender or ""
        self.system = SYSTEM


class _PairSubject:
    """Two lines as findings name them."""

    def __init__(self, pair: LinePair) -> None:
        self.key = pair.key
        senders = {stream.sender for stream in pair.streams.values() if stream.sender}
        self.sender = min(senders, default="")
        self.system = SYSTEM


class FeedReporter(Reporter[Subject]):
    """Results of one conversation."""

    def __init__(self, engine: FeedEngine, capture: int) -> None:
        super().__init__(capture, engine.conversation, engine.parameters, SYSTEM)
        self.engine = engine

    def receiver_of(self, stream: Subject) -> str | None:
        return None

    def finding(self, finding: Finding, stream: Subject | None) -> Result:
        """A finding's row; by a layout that nobody has confirmed none is proven, nor of datagrams
        that were taken by what is in them."""
        doubt = "" if self.engine.confirmed else _UNCONFIRMED
        if not doubt and self.engine.recognised:
            doubt = _RECOGNISED
        if doubt and finding.certainty is Certainty.PROVEN:
            text = finding.text + doubt
            finding = replace(finding, certainty=Certainty.LIKELY, text=text)
        return super().finding(finding, stream)

    def rows(self, told: set[Hashable]) -> Iterator[Result]:
        streams = self.engine.passed()
        if len(streams) < len(self.engine.streams):
            yield from self._refused(streams)
            if not streams:
                return
        for _, stream in sorted(streams.items()):
            about = _FeedSubject(stream)
            requests = self.engine.requests.get(stream.key)
            yield self.row(STREAM, summary(self.engine, stream, requests), about)
            open_ = holes_of(stream.open_at_end)
            until = open_until_ns(stream.open_at_end, stream.settings.late_ns)
            for _, gap in sorted(stream.gaps.items()):
                for text in gap.texts(until if gap.first in open_ else None):
                    yield Result(
                        self.capture, GAP, self.conversation, SYSTEM, {}, stream.key,
                        *gap.revealed, text=text,
                    )  # fmt: skip
            for finding in self._findings(stream, about, requests):
                yield self.finding(finding, about)
        for _, pair in sorted(self.engine.pairs.items()):
            yield from self._pair_rows(pair)
        if self.engine.homeless and streams:
            first = _FeedSubject(min(streams.items())[1])
            yield self.finding(
                self.make(
                    first, "FD028", Certainty.UNDECIDABLE,
                    "{count:number} asked for or repaired may be of several streams or of none.",
                    facts={"count": self.engine.homeless},
                ),
                first,
            )  # fmt: skip
        # One engine a stream, maybe a hundred thousand: what was judged is told a feed at a time.
        engine = self.engine
        whole = f"feed|{engine.feed_name}"
        alike = (
            self.capture, whole, engine.declares, engine.blocks, bool(engine.pairs),
            engine.stamp_bits is None,
        )  # fmt: skip
        known = alike in told
        told.add(alike)
        for rule in RULES:
            why = None if known and rule.code not in self.fired else self._why_not(rule.code)
            if known and why is None:
                continue
            judged = self.judged(rule.code, why)
            yield Result(
                judged.capture, judged.kind, whole, judged.system, judged.detail, rule=judged.rule
            )
        for used in () if known else self.parameters_used(_PARAMETERS):
            yield Result(used.capture, used.kind, whole, used.system, used.detail)

    def _refused(self, passed: Mapping[str, FeedStream]) -> Iterator[Result]:
        """What streams that are none have taken is of others."""
        engine = self.engine
        datagrams: Counter[int] = Counter()
        messages: dict[int, Counter[str]] = {}
        places: dict[int, Counter[str]] = {}
        for key, one in (engine.probation or {}).items():
            if key in passed:
                continue
            datagrams.update(one.datagrams)
            for piece, count in one.datagrams.items():
                places.setdefault(piece, Counter())[place_of(key).rpartition(">")[2]] += count
            for (piece, word), count in one.messages.items():
                messages.setdefault(piece, Counter())[word] -= count
        for piece, count in sorted(datagrams.items()):
            detail = {
                "piece": piece,
                "frames": 0,
                "frames_by": {"decoded": -count, "other": count},
                "messages_by": {f"feed {engine.feed_name}": dict(messages[piece])},
                "sureness": {"likely": -count},
                "feeds": {engine.feed_name: {"taken": -count, OUT_OF_STEP: count}},
                "refused_at": dict(places[piece]),
            }
            yield Result(self.capture, ACCOUNT, NO_CONVERSATION, "capture", detail)

    # -- findings --------------------------------------------------------------------------------

    def _why_not(self, code: str) -> str | None:
        declares = self.engine.declares
        if code in ("FD022", "FD023", "FD024") and not self.engine.pairs:
            return _NO_LINES
        if code == "FD026":
            if not self.engine.pairs:
                return _NO_LINES
            return (
                None if self.parameters.is_given("max_lag_us") else _NO_LIMIT.format("max_lag_us")
            )
        if code == "FD025":
            if self.engine.stamp_bits is None:
                return "the feed's layout has no timestamp"
            given = self.parameters.is_given("max_jitter_us")
            return None if given else _NO_LIMIT.format("max_jitter_us")
        if code == "FD027" and not self.engine.blocks:
            return "the feed's layout does not tell its message blocks"
        if code in ("FD001", "FD016") and "request" in declares:
            return None  # what answers requests is told by whom it goes to
        for word, codes in (
            ("repair", ("FD001", "FD016")),
            ("request", ("FD014", "FD015", "FD028")),
            ("reset", ("FD009",)),
            ("end", ("FD012", "FD013")),
            ("heartbeat", ("FD019",)),
            ("login", ("FD029",)),
        ):
            if code in codes and word not in declares:
                return _UNDECLARED.format(word)
        return None

    def _findings(
        self, stream: FeedStream, about: _FeedSubject, requests: Requests | None
    ) -> Iterator[Finding]:
        # A capture may have a hundred thousand streams, most of them without a fault.
        if stream.gap_count and stream.sink is None:  # of a line the pair says what is lost
            yield from self._loss(stream, about)
        if stream.gap_count or stream.copies or stream.duplicates or stream.forgotten:
            yield from self._order(stream, about)
        yield from self._numbering(stream, about)
        yield from self._silence(stream, about)
        if requests is not None:
            yield from self._requests(requests, about)
        yield from self._jitter(stream, about)
        if stream.odd_counts:
            yield self.make(
                about, "FD027", Certainty.PROVEN,
                "{count:datagram} of {sender_member} {count|claims|claim} other numbers of "
                "messages than {count|its|their} message blocks show.",
                facts={"count": stream.odd_counts},
            )  # fmt: skip
        yield from self._noted(
            "FD016", about, stream.needless,
            "{count:number} that had arrived came again as {count|a repair|repairs} that nobody "
            "was seen asking for.", "a repair of what had arrived",
        )  # fmt: skip

    def _loss(self, stream: FeedStream, about: _FeedSubject) -> Iterator[Finding]:
        yield from self._noted(
            "FD001", about, stream.recovered,
            "{count:message} of {sender_member} {count|was|were} lost on the way to this place and "
            "repaired{slowest}.",
            "a repair fills a gap",
            slowest=slowest(stream.recovery.percentiles()["max"]),
            evidence=gaps_ended(stream.gaps.values(), Outcome.RECOVERED),
        )  # fmt: skip
        open_ = holes_of(stream.open_at_end)
        yield from self._never_came(
            about, "FD002",
            "{count:message} of {sender_member} {count|is|are} not among what TCP brought: left "
            "out by the sender, or in bytes that were not captured."
            if self.engine.in_order
            else "{count:message} of {sender_member} did not come to this place: lost, or not "
            "captured.",
            stream.counts[Outcome.UNRECOVERED] - stream.open_count,
            gaps_around(stream.gaps.values(), open_),
            [part for a, b in stream.unrecovered for part in open_.missing(a, b)],
            list(gaps_missing(stream.gaps.values(), open_)),
            stream.open_at_end, stream.open_count,
        )  # fmt: skip
        large = [gap for _, gap in sorted(stream.gaps.items()) if is_uncertain(stream, gap)]
        if large:
            yield self.make(
                about, "FD020", Certainty.UNDECIDABLE,
                "{count:gap} in a space of {space} numbers {count|is|are} so large or so long that "
                "the number of messages lost is that, or more by multiples of {space}, or the "
                "numbering began anew.",
                seqnos=[(gap.first, gap.stop) for gap in large], mark=large[0].revealed,
                evidence=[(gap.revealed, "the number after the gap")
                          for gap in large[:MAX_EVIDENCE]],
                facts={"count": len(large), "space": stream.space},
            )  # fmt: skip

    def _never_came(
        self, about: Subject, rule: str, text: str, lost: int, around: Claim, ranges: list[Range],
        evidence: list[tuple[Mark, str]], young: list[FeedHole], open_: int, where: str = "",
    ) -> Iterator[Finding]:  # fmt: skip
        """What is lost, and what is open where the capture ends, or lost where it goes on."""
        until = open_until_ns(young, self.engine.settings.late_ns) or 0
        late_ms = self.engine.settings.late_ns // 1_000_000
        of_young = list(holes_of(young)), [hole_shown(hole) for hole in young[:MAX_EVIDENCE]]
        for told, sure, says, count, seqnos, shown, facts, holds in (
            (rule, around, text, lost, ranges, evidence, {}, None),
            ("FD017", Certainty.UNDECIDABLE, "{count:message} of {sender_member} {count|was|were} "
             "still missing" + where + " when the capture ended, less than {late_ms} ms after that "
             "showed.", open_, *of_young, {"late_ms": late_ms}, {"end_before_ns": until}),
            (rule, holes_around(young), text, open_, *of_young, {}, {"end_from_ns": until}),
        ):  # fmt: skip
            if count:
                yield self.make(
                    about, told, sure, says, seqnos=seqnos[:MAX_SEQNOS],
                    mark=shown[0][0] if shown else None, evidence=shown[:MAX_EVIDENCE],
                    default="late_ms" if facts else None, facts={"count": count} | facts,
                    holds=holds,
                )  # fmt: skip

    def _order(self, stream: FeedStream, about: _FeedSubject) -> Iterator[Finding]:
        late = stream.late.percentiles()
        yield from self._noted(
            "FD003", about, stream.reordered,
            "{count:message} of {sender_member} {count|was|were} overtaken, at most by {deepest} "
            "numbers and for {longest_us} us; nothing of {count|it|them} was lost.",
            "an overtaken message", claim=BY_ORDER, deepest=stream.deepest,
            longest_us=(late["max"] or 0) // 1000,
        )  # fmt: skip
        longest = stream.recovery.percentiles()["max"]
        yield from self._noted(
            "FD004", about, stream.either,
            "{count:message} of {sender_member} came late, after {count|its|their} gap had been "
            "open{slowest}: sent again, or late.",
            "what had been missing for long",
            slowest="" if longest is None else f" for up to {time_shown(longest)}",
            claim=Certainty.UNDECIDABLE, default="late_ms",
        )  # fmt: skip
        yield from self._noted(
            "FD005", about, stream.duplicates,
            "{count:message} of {sender_member} came twice in identical datagrams, from the "
            "network or from the capturing machine.",
            "the same datagram again", claim=BY_ORDER,
        )  # fmt: skip
        yield from self._noted(
            "FD006", about, stream.copies,
            "{count:message} of {sender_member} had arrived and came again"
            + (", at least {alike} in datagrams that are the same byte for byte: without IP ids "
               "nothing tells whether the network or the sender repeated {alike|it|those}."
               if stream.alike else ", in {count|a datagram|datagrams} unlike those of the two "
               "seconds before."),
            "a number that had arrived", alike=stream.alike,
        )  # fmt: skip
        tails = stream.tails if stream.sink is None else Noted()
        yield from self._noted(
            "FD007", about, tails,
            "{count:message} of {sender_member}, the last before a pause, {count|was|were} missing "
            "when a heartbeat or the end of the session named the next number.",
            "names the next number",
        )  # fmt: skip
        if stream.forgotten:
            yield self.make(
                about, "FD021", Certainty.UNDECIDABLE,
                "{count:message} of {sender_member} came more than 131072 gaps behind.",
                facts={"count": stream.forgotten},
            )  # fmt: skip

    def _numbering(self, stream: FeedStream, about: _FeedSubject) -> Iterator[Finding]:
        declared = [restart for restart in stream.restarts if restart.declared]
        silent = [restart for restart in stream.restarts if restart.silent]
        if silent and not stream.switches:
            first = silent[0]
            # Of numbers that wrap what was sent before the first one is below 0.
            starts = [r.start % stream.space if r.start < 0 else r.start for r in silent]
            yield self.make(
                about, "FD008", _BEGAN_OR_AGAIN if any(r.used for r in silent) else BY_ORDER,
                "The numbering of {sender_member} began anew {count:time} without a word, first at "
                "{start} where {expected} was next.",
                mark=first.mark, default="restart_distance",
                evidence=[(r.mark, f"{start} where {r.expected} was next")
                          for r, start in zip(silent[:MAX_EVIDENCE], starts, strict=False)],
                facts={"count": len(silent), "start": starts[0], "expected": first.expected},
            )  # fmt: skip
        if declared:
            alike = any(restart.alike for restart in declared)
            yield self.make(
                about, "FD009", FROM_ONE_PLACE if alike else Certainty.PROVEN,
                "{sender_member} declared {count:time} that its numbering begins anew.",
                mark=declared[0].mark,
                evidence=[(r.mark, "a reset") for r in declared[:MAX_EVIDENCE]],
                facts={"count": len(declared)},
            )  # fmt: skip
        yield from self.note(
            about, "FD010", stream.switches, FROM_ONE_PLACE,
            "Two numberings of {sender_member} run at the same time; they changed {times:time}.",
            "the other numbering goes on",
        )  # fmt: skip
        yield from self._noted(
            "FD011", about, stream.strays,
            "{count:number} far ahead of the numbering of {sender_member} came, and it went on as "
            "if {count|it|they} had not.", "a number far ahead", default="max_jump",
        )  # fmt: skip
        if stream.ended is not None:
            yield from self._noted(
                "FD012", about, stream.after_end,
                "{count:message} came after the session had said that it was over and {next} never "
                "used.",
                "behind the end of the session", next=stream.ended[0], claim=Certainty.PROVEN,
                evidence=[(stream.ended[1], "the session says that it is over")],
            )  # fmt: skip

    def _silence(self, stream: FeedStream, about: _FeedSubject) -> Iterator[Finding]:
        by_others: dict[bool, list[Outage]] = {}
        for outage in _outages(stream):
            span = outage.hole.before_ns, outage.hole.revealed_ns
            by_others.setdefault(self._others_went_on(stream, *span), []).append(outage)
        for went_on, outages in sorted(by_others.items(), reverse=True):
            holes = [outage.hole for outage in outages]
            longest = max(hole.revealed_ns - hole.before_ns for hole in holes)
            yield self.make(
                about, "FD018", BY_TIME if went_on else UNDECIDABLE,
                "{count:silence} of up to {longest} hid numbers of {sender_member}"
                + (_CUT if went_on else _STOOD_STILL) + "its sender went on.",
                seqnos=[part for outage in outages for part in outage.lost][:MAX_SEQNOS],
                mark=holes[0].revealed(), default="silence_ms",
                evidence=[pair for hole in holes[: MAX_EVIDENCE // 2] for pair in (
                    (hole.before(), "the last before a silence"),
                    (hole.revealed(), "the first after it, which skips numbers"))],
                facts={"count": len(outages), "longest": time_shown(longest)},
            )  # fmt: skip
        silence = _silence(stream)
        if silence is not None and "heartbeat" in self.engine.declares:
            span = silence.before.at_ns, silence.after.at_ns
            went_on = self._others_went_on(stream, *span)
            yield self.make(
                about, "FD019", BY_TIME if went_on else UNDECIDABLE,
                "Nothing of {sender_member} came for {length}, not even a heartbeat"
                + (_CUT if went_on else _STOOD_STILL) + "nothing was lost.",
                mark=silence.after, default="silence_ms",
                evidence=[(silence.before, "the last before the silence"),
                          (silence.after, "the first after it")],
                facts={"length": time_shown(silence.length())},
            )  # fmt: skip

    def _others_went_on(self, stream: FeedStream, since_ns: int, until_ns: int) -> bool:
        return others_went_on(self.engine.streams.values(), stream, since_ns, until_ns)

    def _jitter(self, stream: FeedStream, about: _FeedSubject) -> Iterator[Finding]:
        jitter = self.engine.jitter.get(stream.key)
        if jitter is not None and jitter.over is not None:
            yield self.make(
                about, "FD025", _BY_CLOCK,
                "The jitter of {sender_member} reached {max_us} us; {limit_us} us are allowed.",
                mark=jitter.over, evidence=[(jitter.over, "the limit is passed in this run")],
                facts={"max_us": jitter.most_ns // 1000,
                       "limit_us": self.parameters.value("max_jitter_us")},
            )  # fmt: skip

    # -- lines -----------------------------------------------------------------------------------

    def _pair_rows(self, pair: LinePair) -> Iterator[Result]:
        about = _PairSubject(pair)
        requests = self.engine.requests.get(pair.key)
        yield self.row(TABLE, {"table": "lines", **pair_summary(self.engine, pair, requests)})
        until = open_until_ns(pair.young, self.engine.settings.late_ns)
        holes = [(hole, None) for hole in pair.lost_holes] + [(hole, until) for hole in pair.young]
        for hole, open_until in holes:
            gap = Gap(hole.first, hole.stop, hole.before(), hole.revealed(), BY[hole.by], None, 0)
            part = gap.parts.setdefault(Outcome.UNRECOVERED, Part())
            part.ranges.add(hole.first, hole.stop)
            for row in gap.rows(open_until):
                yield self.row(GAP, row, about)
        for finding in self._pair_findings(pair, about, requests):
            yield self.finding(finding, about)

    def _pair_findings(
        self, pair: LinePair, about: _PairSubject, requests: Requests | None
    ) -> Iterator[Finding]:
        yield from self._noted(
            "FD001", about, pair.recovered,
            "{count:message} of {sender_member} {count|was|were} lost on both lines and "
            "repaired{slowest}.", "a repair fills a gap",
            slowest=slowest(pair.recovery.percentiles()["max"]),
        )  # fmt: skip
        yield from self._never_came(
            about, "FD022", "{count:message} of {sender_member} came neither on line A nor on line "
            "B: lost, or not captured.", pair.lost, holes_around(pair.lost_holes),
            list(pair.lost_ranges),
            [hole_shown(hole) for hole in pair.lost_holes[:MAX_EVIDENCE]], pair.young,
            pair.young_count, " on both lines",
        )  # fmt: skip
        for line, other in zip(LINES, reversed(LINES), strict=True):
            own = pair.lost_only[line]
            if own.count:
                shown = list(lost_of_line(pair.streams[line]))
                yield self.make(
                    about, "FD023", FROM_ONE_PLACE,
                    "{count:message} of {sender_member} {count|was|were} lost on line {line} and "
                    "came on line {other}: {share} % of those compared.",
                    seqnos=list(own.ranges)[:MAX_SEQNOS],
                    mark=shown[0][0] if shown else None, evidence=shown[:MAX_EVIDENCE],
                    facts={"count": own.count, "line": line, "other": other,
                           "share": f"{100 * own.count / pair.compared:.3g}"},
                )  # fmt: skip
            silent = pair.silent(line, self.engine.settings.silence_ns)
            if line not in pair.streams:
                yield self.make(
                    about, "FD024", FROM_ONE_PLACE,
                    "Line {line} was not captured; line {other} was.",
                    facts={"line": line, "other": other},
                )  # fmt: skip
            elif silent is not None:
                yield self.make(
                    about, "FD024", FROM_ONE_PLACE,
                    "Line {line} fell silent while line {other} went on.", mark=silent,
                    evidence=[(silent, "the last of its line")], default="silence_ms",
                    facts={"line": line, "other": other},
                )  # fmt: skip
            limit = self.parameters.value("max_lag_us")
            lag = pair.leads.lead[1 - LINES.index(line)].percentiles()["p99"]
            if limit is not None and lag is not None and lag > limit * 1000:
                yield self.make(
                    about, "FD026", BY_TIME,
                    "Line {line} came up to {lag_us} us later than line {other} (99 % of the "
                    "numbers that {other} brought first); {limit_us} us are allowed.",
                    facts={"line": line, "other": other, "lag_us": lag // 1000,
                           "limit_us": limit},
                )  # fmt: skip
        if requests is not None:
            yield from self._requests(requests, about)

    def _requests(self, requests: Requests, about: Subject) -> Iterator[Finding]:
        waited = requests.unanswered(self.engine.end_ns - self.engine.settings.late_ns)
        if waited:
            yield self.make(
                about, "FD014", Certainty.LIKELY,
                "{count:number} asked for {count|was|were} not repaired as far as captured.",
                seqnos=[(a, b) for a, b, _ in waited][:MAX_SEQNOS], mark=waited[0][2],
                evidence=[(mark, "asked for") for _, _, mark in waited[:MAX_EVIDENCE]],
                facts={"count": sum(b - a for a, b, _ in waited)}, default="late_ms",
            )  # fmt: skip
        yield from self._noted(
            "FD015", about, requests.arrived_here,
            "{count:number} that had arrived here {count|was|were} asked for.",
            "asks for what had arrived here",
        )  # fmt: skip

    def _noted(
        self,
        rule: str,
        about: Subject,
        noted: Noted,
        text: str,
        shows: str,
        *,
        claim: Claim | Certainty = FROM_ONE_PLACE,
        evidence: Iterable[tuple[Mark, str]] = (),
        default: str | None = None,
        **facts: object,
    ) -> Iterator[Finding]:
        if noted:
            shown = [*evidence] or [(mark, shows) for mark in noted.marks]
            yield self.make(
                about, rule, claim, text,
                seqnos=list(noted.ranges)[:MAX_SEQNOS], mark=noted.marks[0],
                evidence=shown[:MAX_EVIDENCE], default=default,
                facts={"count": noted.count} | facts,
            )  # fmt: skip


def _outages(stream: FeedStream) -> list[Outage]:
    return [outage for outage in stream.outages.values() if outage.lost]


def _silence(stream: FeedStream) -> Pause | None:
    """The longest pause, if it is against the stream's own rhythm and hides no loss (FD019)."""
    if stream.first is None or stream.last is None or stream.unlisted_pauses:
        return None
    if not stream.pauses:
        return None
    hidden = {outage.hole.revealed_frame for outage in _outages(stream)}
    pauses = sorted(stream.pauses, key=Pause.length)
    if not pauses or pauses[-1].after.frame in hidden:
        return None
    longest = pauses[-1].length()
    others = stream.last.at_ns - stream.first.at_ns - longest
    # Shorter pauses are in no row: any may have been as long as that.
    usual = pauses[-2].length() if len(pauses) > 1 else stream.settings.silence_ns
    return pauses[-1] if others >= 3 * longest and usual * 5 <= longest else None
