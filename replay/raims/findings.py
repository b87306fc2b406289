"""What replayed raims traffic says: streams, tables, findings (replay/README.md 5; raims.md 9 to
11)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests, Severity
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, MAX_RANGES, Reporter
from seqaudit.replay.contract.results import STREAM, TABLE, Result
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    LIKELY,
    SHOWN,
    UNDECIDABLE,
    Claim,
    absence,
)
from seqaudit.replay.raims import notices as raims_notices
from seqaudit.replay.raims.advisories import INBOUND, OUTBOUND
from seqaudit.replay.raims.bounds import UNBOUNDED
from seqaudit.replay.raims.convergence import Uninterrupted
from seqaudit.replay.raims.engine import SKEW_NS, Observer, RaimsEngine
from seqaudit.replay.raims.learned import SUB_WINDOW
from seqaudit.replay.raims.notices import Notice
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.publisher import Why
from seqaudit.replay.raims.rotation import Rotation
from seqaudit.replay.raims.rules import RAIMS as RULES
from seqaudit.replay.raims.seqno import (
    FRAME_NS,
    base_of,
    frame_of,
    frame_of_time,
    shown,
    shown_time,
    start_of,
)
from seqaudit.replay.raims.streams import Step, Stream
from seqaudit.replay.raims.truth import Loss
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import inclusive

SECOND_NS: Final = 1_000_000_000
LEAST_WINDOW_MS: Final = 10_000

_PARAMETERS: Final = (
    "rules", "release",
    "pub_window_size", "pub_window_count", "pub_window_time_ms", "sub_window_size",
    "sub_window_count", "sub_window_time_ms", "heartbeat_ms", "pub_window_autoscale",
)  # fmt: skip
_NOT_CAPTURED: Final = (
    "messages are not in this capture, and whether the daemon had them cannot be told"
)
_IGNORED: Final = "messages of it came while its publisher seemed to be silent, and was not"
_UNSEEN: Final = "changes of this daemon's subscriptions are not in this capture"
_COUNTERS: Final = ("null_rte", "repeat", "not_sub", "msg_loss")
_EARLIER: Final = (
    "what the daemon subscribed to before the capture is in it only as a bloom filter, whose "
    "format is not known; say it with raims.subscribed"
)
_OF_UNKNOWN_SIZE: Final = ("raims-9.12", "raims-14.1-11")
_RESTARTS: Final = ("raims-9.11", "raims-14.1-11")
_GIVEN_UP: Final = "packets behind messages of it did not come; they may have held some"
_NO_JOIN: Final = Claim(
    Certainty.LIKELY,
    why="no message of it from before the subscription was captured, so it may have begun there",
)
#: A message and the clock of the capture.
_CLOCKS: Final = Claim(Certainty.LIKELY, Rests(timed=True))
#: So many messages or heartbeats say how far a clock is off.
LEAST_PAIRS: Final = 3
_UID_MAPS: Final = (
    "subjects of several publishers have uid maps, whose size is not known; the "
    "tables are at least this large"
)
_NO_OBSERVER: Final = "it is not known at whose interface the capture was taken"
_NEEDS_OBSERVER: Final = frozenset(
    {"RA001", "RA002", "RA003", "RA005", "RA007", "RA008", "RA009", "RA010", "RA012", "RA027",
     "RA028"}
)  # fmt: skip
#: Judged over all captures of a job (``replay.raims.rv_told``).
_OF_CLIENTS: Final = frozenset({"RA024", "RA025", "RA026"})


def results(engine: RaimsEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about raims in one capture; nothing where there is none."""
    if not engine.messages and not engine.clients.messages:
        return []
    return list(_Reporter(engine, capture).rows())


@dataclass(slots=True)
class _Subject:
    """A stream as findings name it."""

    key: str
    sender: str
    system: str = "raims"


class _Reporter(Reporter):
    def __init__(self, engine: RaimsEngine, capture: int) -> None:
        super().__init__(capture, engine.conversation, engine.parameters, "raims")
        self.engine = engine
        self._observer: Observer = engine.observer
        self.known = engine.address is not None and engine.observer.bridge is not None
        own = {observer.bridge for observer in engine.observers}
        self._told_seqnos = {n.seqno for n in engine.notices if n.receiver in own}
        self._clock_off = self._capture_clock_off()

    def receiver_of(self, stream: Any) -> str | None:
        return self._observer.bridge

    # -- rows ------------------------------------------------------------------------------------

    def rows(self) -> Iterator[Result]:
        engine = self.engine
        yield from self._clients()
        if not engine.messages:
            return
        self._contradictions()
        for (publisher, subject), stream in sorted(engine.sent.items()):
            about = _Subject(f"{publisher}|{subject}", publisher)
            yield self.row(STREAM, self._summary(stream, None), about)
            for finding in self._sender_findings(stream, about):
                yield self.finding(finding, about)
        for observer in engine.observers:
            self._observer = observer
            for (publisher, subject), stream in sorted(observer.streams.items()):
                about = _Subject(f"{publisher}|{subject}", publisher)
                yield self.row(STREAM, self._summary(stream, observer), about)
                for finding in (
                    *self._sender_findings(stream, about),
                    *self._receiver_findings(stream, about),
                ):
                    yield self.finding(finding, about)
        for finding in self._conversation_findings():
            yield self.finding(finding, None)
        yield from self._tables()
        for rule in RULES:
            if rule.code.startswith("RA") and rule.code not in _OF_CLIENTS:
                missing = not self.known and rule.code in _NEEDS_OBSERVER
                yield self.judged(rule.code, _NO_OBSERVER if missing else None)
        for name in _PARAMETERS:
            yield self.parameter(name, engine.in_force(name), engine.parameters.origin(name))

    # -- streams ---------------------------------------------------------------------------------

    def _summary(self, stream: Stream, observer: Observer | None) -> dict[str, Any]:
        receiving = observer is not None and self.known
        truth = stream.truth
        delivered = [[a, max(a, b - 1)] for a, b in stream.delivered[:MAX_RANGES]]
        unknown: dict[str, str] = {}
        if observer is not None and not receiving:
            unknown = dict.fromkeys(("delivered", "lost"), _NO_OBSERVER)
        counted = receiving
        if observer is not None and receiving and (why := self._doubt(stream, observer)):
            counted = False
            unknown = dict.fromkeys(("delivered", "lost", "recovered", "unrecovered"), why)
        lower, upper = _bounds(stream)
        return {
            "system": "raims",
            "id": f"{stream.publisher}|{stream.subject}",
            "role": "sender" if observer is None else "receiver" if self.known else "between",
            "sender": stream.publisher,
            "receiver": None if observer is None else observer.bridge,
            "conn_id": None,
            "subject": stream.subject,
            "numbering": "per publisher and path" if stream.glsno else "per subject",
            "first_seqno": stream.first_seqno,
            "first": _told(stream, stream.first_seqno),
            "last_seqno": _last(stream),
            "last": _told(stream, _last(stream)),
            "first_frame": stream.first.frame if stream.first else None,
            "last_frame": stream.last.frame if stream.last else None,
            "first_ns": stream.first.at_ns if stream.first else None,
            "last_ns": stream.last.at_ns if stream.last else None,
            "messages": stream.seen.total() + stream.zero,
            "arrivals": stream.arrivals,
            "copies": stream.copies,
            "network_duplicates": stream.network_duplicates,
            "bytes": stream.bytes,
            "zero_seqnos": stream.zero,
            "time_frames": [] if stream.glsno else stream.frames(),
            "begins": [
                {
                    "seqno": begin.seqno,
                    "shown": shown(begin.seqno),
                    "chain": begin.chain,
                    "why": str(begin.why),
                    "forgotten_ns": begin.forgotten_ns,
                    "frame": begin.mark.frame,
                }
                for begin in stream.begins[:MAX_RANGES]
            ],
            "delivered": delivered if counted else None,
            "delivered_by_subject": dict(sorted(stream.by_subject.items())),
            "arrivals_by_subject": {s: r.total() for s, r in sorted(stream.came.items())},
            "numbers_by_subject": {
                s: inclusive(list(r)[:MAX_RANGES]) for s, r in sorted(stream.came.items())
            },
            "lost_by_subject": _lost_by_subject(stream),
            "gaps": len(truth.losses) + len(stream.gaps),
            "reordered": 0,
            "recovered": 0 if counted else None,
            "unrecovered": lower if counted else None,
            "lost": lower if counted else None,
            "lost_upper": upper if counted else None,
            "losses": [loss.row() for loss in truth.losses],
            "counted_loss": stream.counted if counted else None,
            "false_loss": stream.false_loss if counted else None,
            "rows": dict(sorted(stream.rows.items())),
            **self._remembered(stream),
            "unwanted": stream.unwanted,
            "ignored": stream.ignored,
            "unknown": unknown,
        }

    def _remembered(self, stream: Stream) -> dict[str, Any]:
        """Does its publisher still know the subject; null where its window is not replayed."""
        window = self.engine.publishers.get(stream.publisher)
        if window is None or stream.glsno:
            return {"remembered": None, "forgotten_ns": None}
        known = window.rotation.holds(stream.subject)
        forgotten = None if known else window.rotation.forgotten.get(stream.subject)
        return {"remembered": known, "forgotten_ns": forgotten}

    # -- findings --------------------------------------------------------------------------------

    def _sender_findings(self, stream: Stream, about: _Subject) -> Iterator[Finding]:
        if stream.zero:
            yield self.make(
                about, "RA006", SHOWN,
                "{count:message} of {sender_member} on this subject carry seqno 0.",
                mark=stream.zero_marks[0],
                evidence=[(mark, "seqno 0") for mark in stream.zero_marks[:MAX_EVIDENCE]],
                facts={"count": stream.zero},
            )  # fmt: skip
        skew = self._skew(stream.publisher)
        before = None
        for begin in stream.begins:
            began, at_ns = begin.time_ns, begin.mark.at_ns
            if began is not None and frame_of_time(began) != frame_of(begin.seqno):
                yield self.make(
                    about, "RA015", Certainty.PROVEN,
                    "The frame of {shown} begins with a message of {time}.",
                    mark=begin.mark,
                    facts={"shown": shown(begin.seqno), "time": shown_time(began)},
                )  # fmt: skip
            if start_of(begin.seqno) > at_ns + SKEW_NS and not self._clock_off:
                yield self.make(
                    about, "RA018", _CLOCKS,
                    "The frame of {shown} begins {late} s after it was captured.",
                    mark=begin.mark,
                    facts={
                        "shown": shown(begin.seqno),
                        "late": f"{(start_of(begin.seqno) - at_ns) / SECOND_NS:.1f}",
                    },
                )  # fmt: skip
            if (
                before is not None
                and began is not None
                and frame_of(begin.seqno) > frame_of(before.seqno)
                and began - start_of(before.seqno) < FRAME_NS
            ):
                yield self.make(
                    about, "RA017", Certainty.PROVEN,
                    "The frame of {other} began {apart} s after the start of {one}.",
                    mark=begin.mark,
                    evidence=[(before.mark, "the first of them")],
                    facts={
                        "one": shown(before.seqno), "other": shown(begin.seqno),
                        "apart": f"{(began - start_of(before.seqno)) / SECOND_NS:.3f}",
                    },
                )  # fmt: skip
            before = begin
        if stream.again:
            seqno, mark = stream.again[0]
            yield self.make(
                about, "RA017", Certainty.PROVEN,
                "{count:time frame} of {sender_member} began a second time, the first at {one}: "
                "receivers take what follows for repeats.",
                mark=mark, evidence=[(m, shown(s)) for s, m in stream.again[:MAX_EVIDENCE]],
                facts={"count": len(stream.again), "one": shown(seqno)},
            )  # fmt: skip
        for why, text in (
            (Why.UNEXPLAINED, "{count:time frame} of {sender_member} began for no reason that the "
             "window gives."),
            (Why.OVERDUE, "{count:message} of {sender_member} went on in a frame that is older "
             "than pub-window-time."),
        ):  # fmt: skip
            odd = [entry for entry in stream.odd if entry[0] is why]
            if odd and skew is None:
                yield self.make(
                    about, "RA020", Certainty.LIKELY, text,
                    mark=odd[0][2],
                    evidence=[(mark, shown(seqno)) for _, seqno, mark in odd[:MAX_EVIDENCE]],
                    facts={"count": stream.unexplained[why]},
                    default="pub_window_time_ms",
                )  # fmt: skip

    def _receiver_findings(self, stream: Stream, about: _Subject) -> Iterator[Finding]:
        yield from self._glsno(stream, about)
        if not self.known:
            return
        steps = stream.steps
        real = [s for s in steps if s.loss is not None and s.loss.lower]
        yield from self._steps(
            stream, about, "RA001",
            [s for s in real if s.verdict.row in ("raims-9.7", "raims-9.10")],
            "{lower:message} of {sender_member} {lower|was|were} lost; raims counts them.",
        )  # fmt: skip
        yield from self._steps(
            stream, about, "RA002", [s for s in real if s.verdict.row in _OF_UNKNOWN_SIZE],
            "At least {lower} and at most {upper} messages of {sender_member} were lost; raims "
            "counts {counted}.",
        )  # fmt: skip
        yield from self._steps(
            stream, about, "RA003",
            [s for s in real if not s.verdict.counted],
            "At least {lower} and at most {upper} messages of {sender_member} were lost; raims "
            "counts nothing.",
        )  # fmt: skip
        false = [s for s in steps if s.verdict.counted and s.loss is None]
        told = [s for s in false if s.verdict.seqno in self._told_seqnos]
        for some, claim in (
            (told, SHOWN),
            ([s for s in false if s not in told], self._of_window(stream)),
        ):
            yield from self._step(
                stream, about, "RA005", some, claim,
                "raims counts {counted:message} of {sender_member} as lost that were not.",
            )  # fmt: skip
        yield from self._step(
            stream, about, "RA007",
            [s for s in steps if s.verdict.row in _RESTARTS and s.loss and not s.loss.chained],
            SHOWN,
            "The numbering of {sender_member} restarted {times:time}; loss there is between 0 and "
            "{upper}.",
        )  # fmt: skip
        yield from self._repeats(stream, about)

    def _repeats(self, stream: Stream, about: _Subject) -> Iterator[Finding]:
        """RA008: both are in the capture; or the window says so, whose size nobody has said."""
        whole = self.engine.is_whole(self._observer) is None
        shown_twice = [
            r for r in stream.repeats if whole and r.known and r.verdict.row != "raims-9.0"
        ]
        of_window = [r for r in stream.repeats if r.verdict.row == "raims-9.0"]
        rest = [
            r for r in stream.repeats if r.verdict.row != "raims-9.0" and not (whole and r.known)
        ]
        for some, claim in (
            (shown_twice, SHOWN), (of_window, self._of_window(stream)), (rest, LIKELY),
        ):  # fmt: skip
            if some:
                yield self.make(
                    about, "RA008", claim,
                    "{count:message} of {sender_member} came again and were dropped.",
                    mark=some[0].mark,
                    evidence=[(r.mark, f"{shown(r.verdict.seqno)} again")
                              for r in some[:MAX_EVIDENCE]],
                    facts={"count": sum(r.verdict.stop - r.verdict.seqno for r in some)},
                )  # fmt: skip

    def _of_window(self, stream: Stream) -> Claim:
        """A claim that rests on when tables of the subscription window rotate."""
        peer = self._observer.peers.get(stream.publisher)
        if peer is not None and peer.learned is not None:
            return Claim(Certainty.LIKELY, Rests(timed=True), why=peer.learned)
        unsaid = [n for n in SUB_WINDOW if not self.parameters.is_given(n)]
        return Claim(
            Certainty.LIKELY, Rests(timed=True), defaults=tuple(unsaid),
            why=f"raims.{unsaid[0]} is not given: judged by its default" if unsaid else "",
        )  # fmt: skip

    def _steps(
        self, stream: Stream, about: _Subject, rule: str, steps: list[Step], text: str
    ) -> Iterator[Finding]:
        """Losses, each group as sure as what lies between the messages on both sides."""
        groups: dict[tuple[Certainty, str], list[Step]] = {}
        for step in steps:
            assert step.loss is not None
            group = self._sure(step.loss)
            if stream.ignored and self._seemed_dropped(stream):
                group = Certainty.UNDECIDABLE, _IGNORED
            groups.setdefault(group, []).append(step)
        for (sure, why), some in groups.items():
            if sure is Certainty.UNDECIDABLE:
                yield from self._step(
                    stream, about, rule, some, Claim(sure, why=why),
                    "{lower:message} of {sender_member} {lower|is|are} not in this capture: lost, "
                    "or not captured.",
                    Severity.INFO,
                )  # fmt: skip
            else:
                yield from self._step(stream, about, rule, some, Claim(sure, why=why), text)

    def _step(
        self, stream: Stream, about: _Subject, rule: str, steps: list[Step], claim: Claim,
        text: str, severity: Severity | None = None,
    ) -> Iterator[Finding]:  # fmt: skip
        if not steps:
            return
        uppers = [s.loss.upper for s in steps if s.loss is not None]
        upper = None if None in uppers else sum(u for u in uppers if u is not None)
        evidence: list[tuple[Mark, str]] = []
        for step in steps[:MAX_EVIDENCE]:
            evidence.append((step.mark, _step_text(step)))
            if step.loss is not None and step.loss.told is not None:
                evidence.append((step.loss.told, "the daemon tells the publisher of it"))
        yield self.make(
            about, rule, claim, text, severity=severity, mark=steps[0].mark,
            evidence=evidence[: 2 * MAX_EVIDENCE],
            facts={
                "lower": sum(s.loss.lower for s in steps if s.loss is not None),
                "upper": UNBOUNDED if upper is None else upper,
                "counted": sum(s.verdict.counted for s in steps),
                "times": len(steps),
            } | self._places(stream, steps),
        )  # fmt: skip

    @staticmethod
    def _places(stream: Stream, steps: list[Step]) -> dict[str, Any]:
        """Where the losses of a finding are in the list of its stream, whose bounds other captures
        may tighten; nothing where some are not listed."""
        places = {id(loss): place for place, loss in enumerate(stream.truth.losses)}
        found = [places.get(id(step.loss)) for step in steps if step.loss is not None]
        return {} if not found or None in found else {"losses": found}

    def _sure(self, loss: Loss) -> tuple[Certainty, str]:
        """How sure it is that messages were lost, and why not surer.

        The daemon's own word comes first; then what its subscriptions were, and what of the link
        did not come between the messages on both sides.
        """
        if loss.told is not None:
            return Certainty.PROVEN, ""
        if not self._observer.knows_subscriptions(loss.mark):
            return Certainty.UNDECIDABLE, _UNSEEN
        if loss.missing is None:
            return Certainty.UNDECIDABLE, _NOT_CAPTURED
        return loss.missing.certainty, loss.missing.reason

    def _seemed_dropped(self, stream: Stream) -> bool:
        """Was its publisher taken for dropped, and was not?"""
        peer = self._observer.peers.get(stream.publisher)
        return peer is not None and peer.doubted

    def _doubt(self, stream: Stream, observer: Observer) -> str | None:
        """Why nobody can tell what of a stream the observer got; null: it can be told."""
        if stream.ignored and self._seemed_dropped(stream):
            return _IGNORED
        if stream.last is not None and not observer.knows_subscriptions(stream.last):
            return _UNSEEN
        for loss in stream.truth.losses:
            if loss.lower and self._sure(loss)[0] is Certainty.UNDECIDABLE:
                return f"{_NOT_CAPTURED}: {self._sure(loss)[1]}"
        for gap in stream.gaps:
            # numbers that no packet is missing for were never sent here
            if gap.missing.certainty is Certainty.UNDECIDABLE and gap.missing.count:
                return f"{_NOT_CAPTURED}: {gap.missing.reason}"
        return None

    def _glsno(self, stream: Stream, about: _Subject) -> Iterator[Finding]:
        """On a PGM segment, where every message of a publisher and path passes (raims.md 7.3);
        without a packet that is missing, one was never sent here."""
        if not stream.glsno or not stream.link.startswith("pgm:"):
            return
        for sure in (Certainty.PROVEN, Certainty.LIKELY, Certainty.UNDECIDABLE):
            gaps = [g for g in stream.gaps if g.missing.count and g.missing.certainty is sure]
            if not gaps:
                continue
            told = sure is not Certainty.UNDECIDABLE
            yield self.make(
                about, "RA004", Claim(sure, why="" if told else gaps[0].missing.reason),
                "{count:message} of {sender_member} {count|was|were} lost on the way here; raims "
                "counts none." if told else
                "{count:number} of {sender_member} {count|is|are} not in this capture; no packet "
                "was surely given up.",
                seqnos=[(gap.first, gap.stop) for gap in gaps[:MAX_RANGES]],
                mark=gaps[0].mark,
                evidence=[(gap.mark, f"#{gap.stop} after #{gap.first - 1}")
                          for gap in gaps[:MAX_EVIDENCE]],
                facts={"count": sum(gap.stop - gap.first for gap in gaps)},
                severity=None if told else Severity.INFO,
            )  # fmt: skip

    def _conversation_findings(self) -> Iterator[Finding]:
        engine = self.engine
        nobody = _Subject("", "")
        if engine.parameters.value("pub_window_time_ms") < LEAST_WINDOW_MS:
            yield self._about(
                nobody, "RA019", "pub-window-time is {time} s.",
                {"time": engine.parameters.value("pub_window_time_ms") / 1000},
            )  # fmt: skip
        for link, mark in engine.encrypted:
            yield self._about(
                nobody, "RA021", "The link {link} is encrypted.",
                {"link": link.removeprefix("tcp:").rstrip("|")}, mark,
            )  # fmt: skip
        for observer in engine.observers if self.known else ():
            self._observer = observer
            for peer in observer.peers.values():
                if peer.inbox_loss.count:
                    yield self._about(
                        _Subject("", peer.bridge), "RA010",
                        "{count:point-to-point message} of {sender_member} {count|was|were} lost.",
                        {"count": peer.inbox_loss.count},
                        peer.inbox_steps[0][0] if peer.inbox_steps else None,
                        evidence=[
                            (mark, f"{word} number {to} after {last}")
                            for mark, word, last, to in peer.inbox_steps[:MAX_EVIDENCE]
                        ],
                    )  # fmt: skip
                if peer.null_route.count and self._earlier(observer):
                    yield self._about(
                        _Subject("", peer.bridge), "RA029",
                        "{count:message} of {sender_member} {count|matches|match} no subscription "
                        "that is known, but {changes:change} of this daemon's subscriptions "
                        "{changes|was|were} made before the capture.",
                        {"count": peer.null_route.count, "changes": self._earlier(observer)},
                        claim=UNDECIDABLE,
                    )  # fmt: skip
                if peer.not_subscribed.count and not (self._earlier(observer) or observer.unseen):
                    yield self._about(
                        _Subject("", peer.bridge), "RA009",
                        "{count:message} of {sender_member} matched no subscription.",
                        {"count": peer.not_subscribed.count},
                    )  # fmt: skip
            if observer.unseen:
                yield self._about(
                    nobody, "RA029",
                    "{count:change} of {receiver_member}'s subscriptions {count|is|are} not in "
                    "this capture ({steps}).",
                    {
                        "count": observer.unseen_changes,
                        "steps": ", ".join(f"{a} \u2192 {b}" for _, a, b in observer.unseen[:4]),
                    },
                    observer.unseen[0][0],
                )  # fmt: skip
        for bridge in sorted(engine.users):
            skew = None if self._clock_off else self._skew(bridge)
            if skew is not None:
                yield self._about(
                    _Subject("", bridge), "RA016",
                    "The clock of {sender_member} is {skew} s off the capture's.",
                    {"skew": f"{skew / SECOND_NS:+.3f}"}, claim=_CLOCKS,
                )  # fmt: skip
        yield from self._restarts()
        yield from self._notices()
        for one in engine.incomplete:
            sure = one.missing.certainty
            lost = sure is not Certainty.UNDECIDABLE
            yield self._about(
                _Subject("", one.publisher), "RA023",
                "A message of {sender_member} on {subject} never became complete." if lost else
                "A message of {sender_member} on {subject} is not complete in this capture.",
                {"subject": one.subject}, one.mark,
                Claim(sure, why="" if lost else one.missing.reason),
                [(one.mark, "its first piece"), (one.next, "the first piece of the next one")],
                None if lost else Severity.INFO,
            )  # fmt: skip
        yield from self._joins()

    def _earlier(self, observer: Observer) -> int:
        """Changes of the observer's subscriptions that nobody knows; 0 where the user states them,
        or none was made."""
        engine = self.engine
        if not engine.began_before(observer) or engine.parameters.is_given("subscribed"):
            return 0
        return observer.earlier_changes or 0

    def _about(
        self, about: _Subject, rule: str, text: str, facts: dict[str, Any],
        mark: Mark | None = None, claim: Claim = SHOWN,
        evidence: Iterable[tuple[Mark, str]] = (), severity: Severity | None = None,
    ) -> Finding:  # fmt: skip
        finding = self.make(
            about, rule, claim, text, mark=mark, facts=facts, evidence=evidence, severity=severity
        )
        return replace(finding, system="raims", stream=None)

    def _restarts(self) -> Iterator[Finding]:
        """Starts of one daemon by the times that they tell, whatever order they came in."""
        starts: dict[tuple[str | None, str | None], list[Peer]] = {}
        for peer in self.engine.users.values():
            if peer.user and peer.first is not None:
                starts.setdefault((peer.user, peer.address), []).append(peer)
        for peers in starts.values():
            told = sum(p.start_ns is not None for p in peers) == len(peers)
            different = len({p.start_ns for p in peers}) == len(peers)
            if told:
                peers.sort(key=lambda p: p.start_ns or 0)
            for before, peer in pairwise(peers):
                assert before.first is not None and peer.first is not None
                yield self._about(
                    _Subject("", peer.bridge), "RA022", "{sender_member} has restarted.", {},
                    peer.first, SHOWN if told and different else LIKELY,
                    [(before.first, "the start before"), (peer.first, "this start")],
                )  # fmt: skip

    def _notices(self) -> Iterator[Finding]:
        seen: set[tuple[object, ...]] = set()
        for notice in self.engine.notices:
            same = (notice.receiver, notice.publisher, notice.subject, notice.seqno, notice.total)
            if notice.receiver == self.engine.observer.bridge or same in seen:
                continue
            seen.add(same)
            yield self._about(
                _Subject("", notice.publisher or ""), "RA011",
                "{reporter_member} reports {count} lost messages of {sender_member} on {subject}, "
                "{total} in all.",
                {
                    "reporter_member": notice.receiver,
                    "count": "an unknown number of" if notice.restart else notice.count,
                    "subject": notice.subject,
                    "total": notice.total,
                },
                notice.mark, evidence=[(notice.mark, "the loss notice")],
            )  # fmt: skip
        for observer in self.engine.observers if self.known else ():
            self._observer = observer
            yield from self._own_notices(observer)

    def _own_notices(self, observer: Observer) -> Iterator[Finding]:
        """What the observer told its peers beside what it must have told them (raims.md 10.3)."""
        own = [n for n in self.engine.notices if n.receiver == observer.bridge]
        whole = self.engine.is_whole(observer) is None
        told: dict[str | None, Notice] = {}
        for notice in own:
            about = _Subject("", notice.publisher or "")
            due = observer.notices.of(notice)
            how = None if due is None else raims_notices.wrong(notice, due)
            if due is None and not observer.notices.unlisted:
                how = "a loss that the replay does not have"
            if how is not None and whole:
                yield self._about(
                    about, "RA012", "This daemon tells {sender_member} of {how}, on {subject}.",
                    {"how": how, "subject": notice.subject}, notice.mark,
                    absence(BEGINNING, notice.mark.frame, timed=True),
                    [(notice.mark, "the loss notice")],
                )  # fmt: skip
            elif due is None:
                yield self._about(
                    about, "RA001",
                    "This daemon counted {count} lost messages of {sender_member} on {subject}; "
                    "they are behind what this capture holds of it.",
                    {
                        "count": "an unknown number of" if notice.restart else notice.count,
                        "subject": notice.subject,
                    },
                    notice.mark, LIKELY, [(notice.mark, "the loss notice")],
                )  # fmt: skip
            before = told.get(notice.publisher)
            told[notice.publisher] = notice
            if before is None or before.seqno == notice.seqno:
                continue
            if 0 <= notice.mark.at_ns - before.mark.at_ns < raims_notices.THROTTLED_NS:
                yield self._about(
                    about, "RA028",
                    "This daemon tells {sender_member} of a loss on {subject} within 10 s of the "
                    "notice before.",
                    {"subject": notice.subject}, notice.mark,
                    Claim(Certainty.LIKELY, Rests(timed=True)),
                    [(before.mark, "the notice before"), (notice.mark, "this one")],
                )  # fmt: skip
        for due in observer.notices.missing(own):
            yield from self._untold(observer, due, whole=whole)

    def _untold(
        self, observer: Observer, due: raims_notices.Due, *, whole: bool
    ) -> Iterator[Finding]:
        """RA027: a loss that is one, and all that was said to its publisher afterwards."""
        stream = observer.streams.get((due.publisher, due.subject))
        losses = [] if stream is None else [x for x in stream.truth.losses if x.before == due.seqno]
        span = self.engine.inbox_span(observer, due.publisher, due.mark.at_ns)
        if not losses or self._sure(losses[0])[0] is not Certainty.PROVEN or span is None:
            return
        claim = absence(due.mark.frame, END if span.mark is None else span.mark.frame,
                        certified=whole, timed=True)  # fmt: skip
        yield self._about(
            _Subject("", due.publisher), "RA027",
            "This daemon never tells {sender_member} of a loss on {subject}.",
            {"subject": due.subject}, due.mark, claim,
            [(due.mark, "the message behind the loss"),
             *([] if span.mark is None else [(span.mark, f"no notice {span.says}")])],
        )  # fmt: skip

    # -- convergence -----------------------------------------------------------------------------

    def _contradictions(self) -> None:
        """Losses and loss notices against joins of the same stream and frame."""
        convergence = self.engine.convergence
        for observer in self.engine.observers:
            self._observer = observer
            for stream in observer.streams.values():
                for loss in stream.truth.losses:
                    sure = self._sure(loss)[0]
                    if not loss.lower or sure is not Certainty.PROVEN:
                        if loss.missing_sqns or loss.lower:
                            convergence.doubt(
                                observer.bridge, stream.publisher, stream.subject,
                                frame_of(loss.after or 0), _GIVEN_UP,
                            )  # fmt: skip
                        continue
                    if loss.before is None:
                        continue
                    for frame in _frames_of(loss):
                        convergence.contradict(
                            observer.bridge, stream.publisher, stream.subject, frame, loss.mark,
                            "messages of it were lost",
                        )  # fmt: skip
        for notice in self.engine.notices:
            if notice.publisher and notice.subject and notice.seqno is not None:
                told = self._frame_lost(notice)
                if told is not None:
                    convergence.contradict(
                        notice.receiver, notice.publisher, notice.subject, told,
                        notice.mark, "its receiver reports loss",
                    )  # fmt: skip

    def _frame_lost(self, notice: Notice) -> int | None:
        """The time frame of what a notice says was lost: where the number behind begins a frame,
        the one that its chain names; null: not known."""
        assert notice.seqno is not None
        if base_of(notice.seqno) != 1:
            # an unknown number may be a late copy's, which is no loss
            return None if notice.restart else frame_of(notice.seqno)
        for observer in self.engine.observers:
            stream = observer.streams.get((notice.publisher or "", notice.subject or ""))
            if stream is not None and frame_of(notice.seqno) in stream.chains:
                return frame_of(stream.chains[frame_of(notice.seqno)])
        return None

    def _joins(self) -> Iterator[Finding]:
        convergence = self.engine.convergence
        for join in convergence.joins:
            about = _Subject(f"{join.publisher}|{join.subject}", join.publisher)
            verdict = convergence.verdict(join)
            if verdict is Uninterrupted.CONTRADICTED:
                mark, why = join.contradicted_by[0]
                yield self._about(
                    about, "RA013",
                    "{subject} of {sender_member} was joined at {seqno}, and {why}.",
                    {"subject": join.subject, "seqno": shown(join.seqno), "why": why},
                    mark, SHOWN if join.late else _NO_JOIN,
                    [(join.mark, "the first message for it"), (mark, why)],
                )  # fmt: skip
            elif verdict is not Uninterrupted.YES:
                yield self._about(
                    about, "RA014", "{subject} of {sender_member}, joined at {seqno}: {why}.",
                    {
                        "subject": join.subject, "seqno": shown(join.seqno),
                        "why": str(verdict),
                    },
                    join.mark, UNDECIDABLE,
                )  # fmt: skip

    # -- tables ----------------------------------------------------------------------------------

    def _tables(self) -> Iterator[Result]:
        engine = self.engine
        if self.known:
            for number, observer in enumerate(engine.observers):
                for peer in sorted(observer.peers.values(), key=lambda p: p.uid or 0):
                    yield self._table("loss", self._loss(observer, number, peer))
                yield self._table("windows", self._windows(observer, number))
                for advisory in observer.advisories.published:
                    yield self._table(
                        "advisories",
                        {
                            "observer": observer.bridge,
                            "start": number,
                            "at_ns": advisory.at_ns,
                            "frame": advisory.mark.frame,
                            "subject": INBOUND,
                            "data": advisory.fields(),
                            "order": list(advisory.fields()),
                        },
                    )
                for outbound in observer.outbound:
                    yield self._table(
                        "advisories",
                        {
                            "observer": observer.bridge,
                            "start": number,
                            "at_ns": outbound.mark.at_ns,
                            "frame": outbound.mark.frame,
                            "subject": OUTBOUND,
                            "data": outbound.fields(),
                            "order": list(outbound.fields()),
                        },
                    )
                for event in observer.advisories.events:
                    yield self._table(
                        "loss_events",
                        {"observer": observer.bridge, "start": number} | event.row(),
                    )
        for name, inbox in sorted(engine.inboxes.items()):
            source, _, destination = name.removeprefix("inbox:").partition(">")
            yield self._table(
                "inbox",
                {
                    "source": source,
                    "destination": destination,
                    "packets": inbox.packets,
                    "repairs": inbox.repairs,
                    "duplicates": inbox.duplicates,
                    "acks": inbox.acks,
                },
            )
        for notice in engine.notices:
            yield self._table(
                "notices",
                {
                    "receiver": notice.receiver,
                    "publisher": notice.publisher,
                    "subject": notice.subject,
                    "count": notice.count,
                    "restart": notice.restart,
                    "total": notice.total,
                    "seqno": notice.seqno,
                    "frame": notice.mark.frame,
                    "at_ns": notice.mark.at_ns,
                },
            )
        for join in engine.convergence.joins:
            yield self._table(
                "convergence",
                {
                    "subscriber": join.subscriber,
                    "publisher": join.publisher,
                    "subject": join.subject,
                    "seqno": join.seqno,
                    "shown": shown(join.seqno),
                    "number": base_of(join.seqno),
                    "started_ns": start_of(join.seqno),
                    "converged_ns": engine.convergence.converged_ns(join),
                    "verdict": str(engine.convergence.verdict(join)),
                    "undecided": join.undecided,
                    "frame": join.mark.frame,
                    "at_ns": join.mark.at_ns,
                },
            )

    def _clients(self) -> Iterator[Result]:
        """RV clients, and what they were told of lost data."""
        for client in self.engine.clients.all.values():
            yield self._table("rv_clients", client.row())
            for index, seen in enumerate(client.advisories):
                yield self._table(
                    "rv_advisories",
                    {
                        "client": client.client,
                        "daemon": client.daemon,
                        "address": client.address,
                        "at_ns": seen.mark.at_ns,
                        "frame": seen.mark.frame,
                        "index": index,
                        "subject": seen.subject,
                        "data": seen.data,
                    },
                )

    def _table(self, name: str, detail: dict[str, Any]) -> Result:
        return self.row(TABLE, {"table": name} | detail)

    def _loss(self, observer: Observer, number: int, peer: Peer) -> dict[str, Any]:
        """A row of ``show loss``, and the truth beside it."""
        lower, upper, false = 0, 0, 0
        bounded = True
        unknown: dict[str, str] = (
            dict.fromkeys(_COUNTERS, _EARLIER) if self._earlier(observer) else {}
        )
        if observer.unseen:
            unknown |= dict.fromkeys(_COUNTERS, _UNSEEN)
        for (publisher, _), stream in observer.streams.items():
            if publisher != peer.bridge:
                continue
            why = self._doubt(stream, observer)
            if why is not None:
                unknown |= dict.fromkeys(("msg_loss", "lost", "false_loss"), why)
            least, most = _bounds(stream)
            lower += least
            false += stream.false_loss
            if most is None:
                bounded = False
            else:
                upper += most
        told = "lost" not in unknown
        row: dict[str, Any] = {
            "observer": observer.bridge,
            "start": number,
            "bridge": peer.bridge,
            "user": f"{peer.user or '?'}.{peer.uid}",
            "lost_lower": lower if told else None,
            "lost_upper": upper if bounded and told else None,
            "false_loss": false if told else None,
            "told_loss": peer.told_loss,
            "learned": peer.learned,
            "dropped_ns": peer.dropped_ns,
            "began_before": self.engine.began_before(observer),
            "unknown": unknown,
            "skew_least_ns": peer.skew[0] if peer.skew else None,
            "skew_most_ns": peer.skew[1] if peer.skew else None,
        }
        for name, counted in (
            ("null_rte", peer.null_route),
            ("repeat", peer.repeat),
            ("not_sub", peer.not_subscribed),
            ("msg_loss", peer.msg_loss),
            ("ibx_loss", peer.inbox_loss),
        ):
            row[name] = None if name == "msg_loss" and not told else counted.count
            row[f"{name}_ns"] = None if row[name] is None else counted.at_ns
        return row

    def _windows(self, observer: Observer, number: int) -> dict[str, Any]:
        """What ``show windows`` says of the observer."""
        sub = observer.window.rotation
        row: dict[str, Any] = {
            "observer": observer.bridge,
            "start": number,
            "address": self.engine.address,
            "from_ns": observer.start_ns if number else self.engine.first_ns,
            "to_ns": self._until(number),
            "doubt": self.engine.is_whole(observer),
        }
        row |= _memory("sub", sub)
        row["sub_size_unknown"] = _UID_MAPS if observer.window.shared else None
        window = self.engine.publishers.get(observer.bridge or "")
        if window is not None:
            row |= _memory("pub", window.rotation)
            row["frames_began"] = {  # a frame that goes on did not begin
                str(why): n for why, n in sorted(window.why.items()) if why is not Why.CONTINUED
            }
        return row

    def _until(self, number: int) -> int:
        """When an observer's next start begins; else the last event."""
        later = self.engine.observers[number + 1 :]
        return later[0].start_ns if later else self.engine.last_ns

    def _skew(self, bridge: str) -> int | None:
        """How far a publisher's clock is off; null where it is not, or nobody can tell.

        Capture time less publisher time is at least 0 and at most a timer tick, plus the way.
        """
        for observer in self.engine.observers:
            peer = observer.peers.get(bridge)
            if peer is None or not peer.skew or peer.clock_pairs < LEAST_PAIRS:
                continue
            skew = _off(peer.skew)
            if skew is not None:
                return skew
        return None

    def _capture_clock_off(self) -> bool:
        """Are the clocks of several daemons off alike? Then it is the capture's."""
        own = self.engine.own_skew
        off = [self._skew(bridge) for bridge in self.engine.users]
        off += [_off(own)] if own else []
        found = [skew for skew in off if skew is not None]
        return len(found) > 1 and (min(found) > 0 or max(found) < 0)


def _off(skew: list[int]) -> int | None:
    """How far a clock is off, by the least and the most that capture time is ahead of it."""
    least, most = skew
    if least > SKEW_NS:
        return -least
    return -most if most < -SKEW_NS else None


def _bounds(stream: Stream) -> tuple[int, int | None]:
    """The least and the most of a stream that was lost, as far as it can be told."""
    if not stream.glsno:
        return stream.truth.lower, stream.truth.upper
    lost = sum(gap.stop - gap.first for gap in stream.gaps if gap.missing.count)
    return lost, lost


def _frames_of(loss: Loss) -> set[int]:
    """Time frames of which messages are lost: up to the number behind, if any before it are of its
    frame."""
    frames = {frame_of(loss.after or 0)}
    if loss.before is not None and base_of(loss.before) > 1:
        frames.add(frame_of(loss.before))
    return frames


def _memory(side: str, window: Rotation[Any]) -> dict[str, Any]:
    """A window's tables: entries, and memory by the code and by the document (raims.md 8, 9.3)."""
    return {
        f"{side}_count": window.entries,
        f"{side}_size": window.size_bytes,
        f"{side}_document_size": window.document_bytes,
        f"{side}_max_count": window.max_entries,
        f"{side}_max_size": window.max_bytes,
        f"{side}_max_document_size": window.max_document_bytes,
        f"{side}_limit": window.settings.size_bytes,
        f"{side}_count_limit": window.entries_limit,
        f"{side}_rotations": window.rotation_count,
        f"{side}_rotated_ns": window.last_rotation_ns,
        f"{side}_rotated": [
            {
                "at_ns": rotated.at_ns,
                "count": rotated.entries,
                "size": rotated.size_bytes,
                "document_size": rotated.document_bytes,
                "next_ns": rotated.next_ns,
            }
            for rotated in window.rotations
        ],
    }


def _lost_by_subject(stream: Stream) -> dict[str, list[int]]:
    """Missing GLSNO numbers are of any subject: from none to all, until another capture tells."""
    if not stream.glsno:
        return {}
    missing = sum(b[0] - a[1] for a, b in pairwise(stream.seen))
    return {subject: [0, missing] for subject in sorted(stream.came)}


def _last(stream: Stream) -> int | None:
    if not stream.seen:
        return stream.first_seqno
    high = stream.seen.stop() - 1
    return high - (1 << 64) if high >= 1 << 63 else high


def _told(stream: Stream, seqno: int | None) -> str | None:
    if seqno is None:
        return None
    return f"#{seqno}" if stream.glsno else shown(seqno)


def _step_text(step: Step) -> str:
    last = step.verdict.last
    text = f"{shown(step.verdict.seqno)} after {shown(last) if last is not None else 'nothing'}"
    if step.loss is not None:
        upper = "unknown" if step.loss.upper is None else step.loss.upper
        text += f": {step.loss.lower} to {upper} lost, by {step.loss.known_by}"
    return f"{text} ({step.verdict.row.removeprefix('raims-')})"
