"""What is about daemons and links rather than one stream (raims.md 2, 4, 6)."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Severity
from seqaudit.replay.contract.reporter import MAX_EVIDENCE
from seqaudit.replay.contract.worth import LIKELY, ORDERED, SHOWN, UNDECIDABLE, Claim, absence
from seqaudit.replay.raims import own_words
from seqaudit.replay.raims.links import TCP
from seqaudit.replay.raims.observer import Observer
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.reporting import (
    CLOCKS,
    SECOND_NS,
    SEEMED_SILENT,
    UNSEEN,
    About,
    RaimsReporter,
)
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import Mark

LEAST_WINDOW_MS: Final = 10_000


def findings(report: RaimsReporter) -> Iterator[Finding]:
    """What is about no one stream."""
    engine = report.engine
    nobody = About("", "")
    if engine.parameters.value("pub_window_time_ms") < LEAST_WINDOW_MS:
        yield report.say(
            nobody, "RA019", "The publication window is {time} s (pub-window-time).",
            {"time": engine.parameters.value("pub_window_time_ms") / 1000},
        )  # fmt: skip
    for link, mark in engine.links.encrypted:
        yield report.say(
            nobody, "RA021", "The link {link} is encrypted.",
            {"link": link.removeprefix(TCP).rstrip("|")}, mark,
            evidence=[(mark, "the exchange of keys")],
        )  # fmt: skip
    for observer in engine.observers if report.known else ():
        report.observer = observer
        for peer in observer.peers.values():
            yield from _of_peer(report, observer, peer)
        if unseen := observer.changes.unseen:
            yield report.say(
                nobody, "RA029",
                "{count:change} of {receiver_member}'s subscriptions {count|is|are} not in "
                "this capture ({steps}).",
                {
                    "count": observer.changes.unseen_count,
                    "steps": ", ".join(map(str, unseen[:4])),
                },
                unseen[0].mark,
                evidence=[(step.mark, f"change {step.now} after {step.last}"
                           if step.now > step.before else
                           f"it has made {step.now}, of which {step.last} are known")
                          for step in unseen[:MAX_EVIDENCE]],
            )  # fmt: skip
    yield from _steps(report)
    yield from _clocks(report)
    yield from _restarts(report)
    yield from _incomplete(report)


_MADE_BEFORE: Final = (
    "{changes:change} of this daemon's subscriptions {changes|was|were} made before the capture."
)
_NOT_TOLD: Final = "not all that this daemon subscribes to is told in this capture."


_TOGETHER: Final = "the start before still spoke then: both may run at once"


def _of_peer(report: RaimsReporter, observer: Observer, peer: Peer) -> Iterator[Finding]:
    """What did not reach the observer of one daemon, or reached it in vain."""
    about = About("", peer.bridge)
    unsaid = report.may_want_more(observer)
    if peer.inbox_steps:
        first, last = peer.inbox_steps[0], peer.inbox_steps[-1]
        unsure = report.unsure_of_inbox(peer)
        yield report.say(
            about, "RA010",
            # as it drops a peer, or takes it up again, it ignores some that came
            ("At least " if peer.lapsed or peer.taken_up else "")
            + "{count:point-to-point message} of {sender_member} {count|was|were} lost.",
            {"count": peer.inbox_loss.count}, first[1],
            Claim(Certainty.LIKELY, why=SEEMED_SILENT) if peer.doubted else
            Claim(Certainty.LIKELY, why=unsure) if unsure else
            Claim(Certainty.LIKELY, why=own_words.TAKEN_UP) if peer.taken_up else
            Claim(Certainty.LIKELY, why=own_words.BY_OTHERS) if observer.may_pass_by(peer) else
            absence(first[0].frame, last[1].frame, certified=True),
            [(mark, f"{word} number {to} after {before}")
             for _, mark, word, before, to in peer.inbox_steps[:MAX_EVIDENCE]],
        )  # fmt: skip
    if peer.null_route.count and unsaid:
        earlier = observer.changes.earlier
        yield report.say(
            about, "RA029",
            "{count:message} of {sender_member} {count|matches|match} no subscription "
            "that is known, but " + (_MADE_BEFORE if earlier else _NOT_TOLD),
            {"count": peer.null_route.count, "changes": earlier}, peer.unrouted, UNDECIDABLE,
            _first(peer.unrouted, "the first of them"),
        )  # fmt: skip
    if peer.not_subscribed.count and not (unsaid or observer.changes.unseen):
        known = report.knows_subscriptions(observer, peer.not_subscribed.mark)
        yield report.say(
            about, "RA009", "{count:message} of {sender_member} matched no subscription"
            + ("." if known else " that is known."),
            {"count": peer.not_subscribed.count}, peer.unmatched,
            ORDERED if known else Claim(Certainty.UNDECIDABLE, why=UNSEEN),
            _first(peer.unmatched, "the first of them"),
        )  # fmt: skip


def _first(mark: Mark | None, shows: str) -> list[tuple[Mark, str]]:
    return [] if mark is None else [(mark, shows)]


def _steps(report: RaimsReporter) -> Iterator[Finding]:
    """CP014 where the clock was set forward, which records alone do not show."""
    for step in report.steps:
        yield report.say(
            About("", ""), "CP014",
            "The clock stepped forward by about {by} before frame {at_frame}: {count:daemon} "
            "{count|counts|count} on there. No duration across it is judged as proven.",
            {"by": shown(step.by_ns), "at_frame": step.mark.frame, "count": step.daemons},
            step.mark, LIKELY, [(step.mark, "the first message behind the step")],
        )  # fmt: skip


def _clocks(report: RaimsReporter) -> Iterator[Finding]:
    for bridge in sorted(report.engine.members.users):
        skew = None if report.clock_off else report.skew(bridge)
        if skew is None:
            continue
        peers = [observer.peers.get(bridge) for observer in report.engine.observers]
        off = next((peer.clock.off for peer in peers if peer is not None and peer.clock.off), None)
        yield report.say(
            About("", bridge), "RA016",
            "The clock of {sender_member} is {skew} s off the capture's.",
            {"skew": f"{skew / SECOND_NS:+.3f}"}, off, CLOCKS,
            _first(off, "the first message whose time is off"),
        )  # fmt: skip


def _incomplete(report: RaimsReporter) -> Iterator[Finding]:
    """Messages in pieces that never became complete."""
    for one in report.engine.receiving.pieces.incomplete:
        sure = one.missing.certainty
        lost = sure is not Certainty.UNDECIDABLE
        yield report.say(
            About("", one.publisher), "RA023",
            "A message of {sender_member} on {subject} never became complete." if lost else
            "A message of {sender_member} on {subject} is not complete in this capture.",
            {"subject": one.subject}, one.mark,
            Claim(sure, one.missing.rests, certified=True, why="" if lost else one.missing.reason),
            [(one.mark, "its first piece"), (one.next, "the first piece of the next one")],
            None if lost else Severity.INFO,
        )  # fmt: skip


def _restarts(report: RaimsReporter) -> Iterator[Finding]:
    """Starts of one daemon by the times that they tell, whatever order they came in."""
    starts: dict[tuple[str | None, str | None], list[Peer]] = {}
    for peer in report.engine.members.users.values():
        if peer.user and peer.first is not None:
            starts.setdefault((peer.user, peer.address), []).append(peer)
    for peers in starts.values():
        told = sum(p.start_ns is not None for p in peers) == len(peers)
        different = len({p.start_ns for p in peers}) == len(peers)
        if told:
            peers.sort(key=lambda p: p.start_ns or 0)
        for before, peer in pairwise(peers):
            claim = SHOWN if told and different else LIKELY
            if peer.first is not None and _last_frame(report, before.bridge) > peer.first.frame:
                claim = Claim(Certainty.UNDECIDABLE, why=_TOGETHER)
            yield report.say(
                About("", peer.bridge), "RA022", "{sender_member} has restarted.", {},
                peer.first, claim,
                _first(before.first, "the start before") + _first(peer.first, "this start"),
            )  # fmt: skip


def _last_frame(report: RaimsReporter, bridge: str) -> int:
    """The last frame of a daemon's messages and heartbeats."""
    found = [-1]
    for observer in report.engine.observers:
        if observer.bridge == bridge:
            found.append(observer.spoke)
        if bridge in observer.peers:
            found.append(observer.peers[bridge].heard_frame)
        found += [s.last.frame for s in observer.streams.values()
                  if s.publisher == bridge and s.last is not None]  # fmt: skip
    return max(found)
