"""What the rules about raims are judged with: how sure a loss is, whom a finding is about."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests, Severity
from seqaudit.replay.contract.reporter import Reporter, Subject
from seqaudit.replay.contract.results import TABLE, Result
from seqaudit.replay.contract.worth import SHOWN, Claim, Doubt, Span
from seqaudit.replay.pgm.holes import LAST_FRAME
from seqaudit.replay.raims import own_words
from seqaudit.replay.raims.changes import MAX_CHANGES
from seqaudit.replay.raims.engine import RaimsEngine
from seqaudit.replay.raims.grounds import HAD, Ground, Unsure
from seqaudit.replay.raims.learned import SUB_WINDOW
from seqaudit.replay.raims.missing import Missing, rests_of
from seqaudit.replay.raims.observer import Observer
from seqaudit.replay.raims.peer_clock import off, spread
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.streams import RaimsStream
from seqaudit.replay.raims.truth import Loss
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import Mark

SECOND_NS: Final = 1_000_000_000
#: A message and the clock of the capture.
CLOCKS: Final = Claim(Certainty.LIKELY, Rests(timed=True))
#: So many messages or heartbeats say how far a clock is off.
LEAST_PAIRS: Final = 3

NOT_CAPTURED: Final = (
    "messages are not in this capture, and whether the daemon had them cannot be told"
)
LACKS_FIRST: Final = (
    "packets before its first message are not in this capture, nor surely given up: whether the "
    "daemon had others of it before cannot be told"
)
SEEMED_SILENT: Final = (
    "messages of it came while its publisher seemed to be silent or not known yet, and perhaps was "
    "not"
)
DROPPED_INSIDE: Final = (
    "packets that had arrived were asked for and did not come again (PG009): whether the daemon "
    "had what was in them cannot be told"
)
HELD_UP: Final = (
    "messages came just before a change of subscriptions was told, or waited then for a packet "
    "that had been dropped inside (PG009), or given up: which came first cannot be told"
)
DROPPED: Final = (
    "the daemon says that it dropped this publisher for want of heartbeats, and they had come: "
    "what it still took of it cannot be told"
)
AT_THE_END: Final = (
    "messages of it waited for packets that were given up at the end: whether the daemon had gone "
    "on by then cannot be told"
)
DROPPED_UNSEEN: Final = (
    "words of this daemon are not in this capture: whether it said in one of them that it dropped "
    "this peer, of which it takes nothing then, cannot be told"
)
SET_BACK: Final = (
    "the times of this capture go back: whether this daemon dropped the peer before it spoke to it "
    "again, or behind that, cannot be told"
)
CONNECTIONS: Final = (
    "a connection of this peer had ended: whether its heartbeats came on another one, which is not "
    "in this capture, cannot be told"
)
UNHEARD: Final = (
    "no heartbeat of this peer is in this capture: whether it was dropped cannot be told"
)
MAY_WAIT: Final = (
    "packets of this peer are not in this capture: whether its heartbeats waited for them here for "
    "so long that this daemon dropped it cannot be told"
)
UNSHOWN: Final = (
    "messages of this peer are missing, and what it sent beside them may be of a subject of which "
    "nothing of it is in this capture: how many were lost at most cannot be told"
)
UNSHOWN_COUNTED: Final = (
    "packets of this peer are not in this capture, and may have held messages of a subject of "
    "which nothing of it is here: what the daemon counts there cannot be told"
)
STANDS: Final = (
    "packets were given up just as others came, or before others that were missing (PGM), where "
    "daemons may stop for good: nothing shows that this one went on"
)
UNTIMED: Final = (
    "packets of this peer seem to have been given up, and requests for them may be missing in this "
    "capture: when the daemon counted what was in them cannot be told"
)
WOKE_LATE: Final = (
    "other packets may have come before the one with which this daemon seems to have gone on: when "
    "it counted what was lost there cannot be told"
)
STOPPED: Final = (
    "packets behind those that were given up last had been given up before (PGM), and daemons stop "
    "at each of these until something more comes: when this one counted what was lost there cannot "
    "be told"
)
COPIES: Final = (
    "messages of it came on several TSIs, of which packets are not in this capture: whether and "
    "when late copies set the daemon's number back cannot be told"
)
UNNUMBERED: Final = (
    "some of its messages have no number (a console publishes them), and packets are not in this "
    "capture: whether there were more of these, which daemons count as lost, cannot be told"
)
TOLD_MORE: Final = (
    "the daemon itself tells of losses of this publisher that the capture does not show: which of "
    "its other messages it had cannot be told"
)
CAME_UNSEEN: Final = (
    "the daemon passed on messages of this publisher that did not come to it in this capture: "
    "which others it had cannot be told"
)
FORWARDS: Final = (
    "this daemon forwards messages to a PGM group: whether it hears them again cannot be told"
)
NOT_JOINED: Final = (
    "TSIs are captured here and none of this daemon: whether it has joined their group cannot be "
    "told"
)
REROUTED: Final = (
    "messages of it came while daemons joined or left: whether raims counts those that nobody "
    "wanted (null rte) depends on its routes then, which no capture holds"
)
PASSED_ON: Final = (
    "this daemon passes messages of it on: what none of its own clients wanted (null rte) may have "
    "been for others"
)
EARLIER: Final = (
    "what the daemon subscribed to before the capture is in it only as a bloom filter, whose "
    "format is not known; say it with raims.subscribed"
)
TOO_OLD: Final = (
    "messages that had not been captured before were too old by the clock for its window: whether "
    "the daemon found them so cannot be told"
)
UNSEEN: Final = "changes of this daemon's subscriptions are not in this capture"
NO_OBSERVER: Final = "it is not known at whose interface the capture was taken"


@dataclass(slots=True)
class About:
    """A stream as findings name it; of a daemon or nobody, without a key."""

    key: str
    sender: str
    system: str = "raims"


class RaimsReporter(Reporter[Subject]):
    """Makes the results of the raims conversation of one capture.

    Attributes:
        observer: the start of the observing daemon that is reported now.
        known: it is known who observes; else nothing is said of any receiver.
        clock_off: the capture's own clock is off, not the daemons'.
        steps: where it was set forward.
    """

    def __init__(self, engine: RaimsEngine, capture: int) -> None:
        super().__init__(capture, engine.conversation, engine.parameters, "raims")
        self.engine = engine
        self.observer: Observer = engine.observer
        self.known = engine.address is not None and engine.observer.bridge is not None
        own = {observer.bridge for observer in engine.observers}
        self._told = {
            (n.publisher, n.subject, n.seqno) for n in engine.notices if n.receiver in own
        }
        self._stood: dict[tuple[str | None, str], bool] = {}
        self._lacks_own: dict[str | None, bool] = {}
        self._changed: dict[tuple[str | None, str, str], bool] = {}
        self._drops: dict[tuple[str | None, str], str | None] = {}
        self.clock_off = self._capture_clock_off()
        self.steps = engine.state.clocks.steps(engine.observer.bridge)
        for step in self.steps:
            what = f"the capture's clock was set forward by {shown(step.by_ns)}"
            self.worth.add(Span(Doubt.CLOCK_STEPPED, step.before, step.mark.frame, what))

    def receiver_of(self, stream: Subject) -> str | None:
        return self.observer.bridge

    def say(
        self, about: About, rule: str, text: str, facts: dict[str, object],
        mark: Mark | None = None, claim: Claim = SHOWN,
        evidence: Iterable[tuple[Mark, str]] = (), severity: Severity | None = None,
    ) -> Finding:  # fmt: skip
        finding = self.make(
            about, rule, claim, text, mark=mark, facts=facts, evidence=evidence, severity=severity
        )
        return replace(finding, system="raims", stream=None)

    def stands(self, stream: RaimsStream, frame: int) -> bool:
        """May the observer have taken nothing of a stream any more by then (raims.md 2)? Only its
        own words show that it went on."""
        peer = self.observer.peers.get(stream.publisher)
        went_on = -1 if peer is None else peer.went_on
        if peer is not None and peer.dropped_though_heard:
            return frame > went_on
        since = self.engine.links.stands_since(stream, went_on)
        return since is not None and frame >= since

    def stood(self, publisher: str) -> bool:
        """Does something speak for that: a loss there that it had to tell its publisher of at once,
        and did not?"""
        at = self.observer.bridge, publisher
        if at not in self._stood:
            own = [n for n in self.engine.notices if n.receiver == self.observer.bridge]
            untold = [d for d in self.observer.notices.missing(own) if d.publisher == publisher]
            streams = [(self.observer.streams.get((publisher, d.subject)), d) for d in untold]
            self._stood[at] = any(
                stream is not None and self.stands(stream, due.mark.frame)
                for stream, due in streams
            )
        return self._stood[at]

    def unsure_of_inbox(self, peer: Peer) -> str | None:
        """Why the observer may have dropped a peer before it had what came behind a step of its
        numbers, and so counted nothing; null: it spoke to it behind the step, or nothing says so.
        That it dropped one it tells others; who has no other tells nobody."""
        for before, behind, *_ in peer.inbox_steps:
            if peer.spoken_frame <= behind.frame or peer.met_frame > before.frame:
                return self.unsure_of_drop(peer, before.frame)
        return None

    def unsure_of_drop(self, peer: Peer, since: int) -> str | None:
        """Why the observer may have dropped a peer behind a frame, and nothing here says so; null:
        it has not. It tells others of it; who has no others tells nobody."""
        if self.engine.links.lacks_own(since):
            return DROPPED_UNSEEN
        if self.engine.links.elapsed.set_back_since(-1) is not None:
            return SET_BACK
        if self.engine.links.lacks(peer.address):
            return MAY_WAIT
        streams = (s for s in self.observer.streams.values() if s.publisher == peer.bridge)
        return STANDS if any(self.stands(s, peer.heard_frame) for s in streams) else None

    def unsure_when_dropped(self, peer: Peer) -> str | None:
        """Why nobody can tell whether and when the observer dropped a peer; null: it can be told.

        Where it did not say so itself its peer has been silent: on a connection that stands, or in
        a group, but not where a connection may have followed of which nothing is captured.
        """
        at = self.observer.bridge, peer.bridge
        if at not in self._drops:
            self._drops[at] = self._unsure_when_dropped(peer)
        return self._drops[at]

    def _unsure_when_dropped(self, peer: Peer) -> str | None:
        links = self.engine.links
        if peer.came_unseen:
            return CAME_UNSEEN
        if peer.dropped_told:
            return own_words.HEARD_SINCE if peer.may_be_back else None
        if peer.heard_ns is None and peer.dropped_ns is None:
            return own_words.TAKEN_UP if peer.taken_up else UNHEARD
        if unsure := self.unsure_of_drop(peer, peer.spoken_frame):
            return unsure
        if peer.dropped_ns is not None and self.observer.is_overdue(peer.dropped_ns):
            return own_words.NOT_HEARD
        if (peer.dropped_ns is not None or peer.doubted) and links.may_lack():
            return SEEMED_SILENT
        ended = peer.dropped_ns is not None and links.has_ended(peer.links)
        return CONNECTIONS if ended else None

    def uncounted(self, stream: RaimsStream) -> str | None:
        """Why nobody can tell what the daemon made of a stream, though what it got is known; null:
        it can be told."""
        if self.stood(stream.publisher):
            return STANDS
        if stream.zero and self.engine.links.may_lack():
            return UNNUMBERED
        return COPIES if self.engine.links.lacks_copies(stream) else None

    def sure(self, loss: Loss) -> tuple[Certainty, str]:
        """How sure it is that messages were lost, and why not surer.

        The daemon's own word comes first; then what its subscriptions were, and what of the link
        did not come between the messages on both sides.
        """
        if loss.told is not None:
            return Certainty.PROVEN, ""
        if not self.knows_subscriptions(self.observer, loss.mark):
            return Certainty.UNDECIDABLE, UNSEEN
        if loss.missing is None:
            return Certainty.UNDECIDABLE, NOT_CAPTURED
        return loss.missing.certainty, loss.missing.reason

    def rests_of(self, stream: RaimsStream, losses: Iterable[Loss]) -> Rests:
        """What it rests on that messages were lost: on no repair of their packets in the last
        waits; on the order in which messages and words of the daemon are captured, where it says
        that its subscriptions to them change. On nothing where it tells of them itself."""
        untold = [loss for loss in losses if loss.told is None]
        rests = rests_of(loss.missing for loss in untold if loss.missing is not None)
        return replace(rests, ordered=True) if untold and self._changes(stream) else rests

    def _changes(self, stream: RaimsStream) -> bool:
        """Do the observer's subscriptions to a stream change?"""
        at = self.observer.bridge, stream.publisher, stream.subject
        if at not in self._changed:
            self._changed[at] = any(self.observer.changes.told_of(stream.subjects))
        return self._changed[at]

    def told(self, stream: RaimsStream, seqno: int) -> bool:
        """Has the observer itself told the publisher of a loss before this number?"""
        return (stream.publisher, stream.subject, seqno) in self._told

    def unsure_of_taking(self, stream: RaimsStream, observer: Observer) -> str | None:
        """Why nobody can tell whether the observer took what came of a stream: by the capture it
        had dropped its publisher by then, or should have; null: it can be told."""
        peer = observer.met.get(stream.publisher)
        if peer is None:
            return None
        if stream.ignored and peer.doubted:
            return SEEMED_SILENT
        last = -1 if stream.last is None else stream.last.frame
        hangs = stream.untaken >= 0 or last >= peer.kept_frame > peer.sure_frame
        return self.unsure_when_dropped(peer) if hangs else None

    def doubt(self, stream: RaimsStream, observer: Observer) -> Unsure | None:
        """Why nobody can tell what of a stream the observer got; null: it can be told."""
        return next(self.doubts(stream, observer), None)

    def doubts(self, stream: RaimsStream, observer: Observer) -> Iterator[Unsure]:
        """The same; where it may have stopped for good, which says nothing of what was before,
        another reason as well."""
        peer = observer.met.get(stream.publisher)
        since = self.engine.links.stands_since(stream, -1 if peer is None else peer.went_on)
        if since is not None and stream.last is not None and stream.last.frame >= since:
            yield Unsure(STANDS, (Ground.STREAMS, Ground.READ), since)
        if doubt := self._of_capture(stream, observer):
            yield doubt

    def _of_capture(self, stream: RaimsStream, observer: Observer) -> Unsure | None:
        """Why what is captured does not tell it."""
        if why := self.unsure_of_taking(stream, observer):
            return Unsure(why, (Ground.STREAMS, Ground.TAKEN))
        peer = observer.met.get(stream.publisher)
        if peer is not None and peer.told_more:
            return Unsure(TOLD_MORE, HAD)
        if peer is not None and peer.came_unseen:
            return Unsure(CAME_UNSEEN, HAD)
        if self.engine.links.apart:
            return Unsure(NOT_JOINED, HAD)
        if (stream.publisher, stream.subject) in self.engine.links.untold:
            return Unsure(AT_THE_END, HAD)
        if self.engine.links.lacks_first(stream):
            return Unsure(LACKS_FIRST, (Ground.STREAMS,))
        if self.engine.links.refused(stream):
            return Unsure(DROPPED_INSIDE, (Ground.STREAMS,))
        if any(one.verdict.row == "raims-9.0" and not one.known for one in stream.repeats):
            return Unsure(TOO_OLD, (Ground.STREAMS, Ground.WANTED, Ground.COUNTED))
        if stream.unread is not None:
            return Unsure(stream.unread[1], (Ground.STREAMS,))
        changes = observer.changes.told_of(stream.subjects)
        not_apart = stream.behind is not None and not stream.behind.apart
        if not_apart or self.engine.links.held_up(stream, changes):
            return Unsure(HELD_UP, (Ground.STREAMS, Ground.WANTED))
        if stream.last is not None and not self.knows_subscriptions(observer, stream.last):
            return Unsure(UNSEEN, (Ground.STREAMS, Ground.WANTED))
        if (stream.unwanted or stream.before_words) and self.may_want_more(observer):
            return Unsure(EARLIER, (Ground.STREAMS, Ground.WANTED))
        for loss in stream.truth.losses:
            sure, why = self.sure(loss)
            if sure is Certainty.UNDECIDABLE or not (loss.told or _is_told(loss.missing)):
                return Unsure(f"{NOT_CAPTURED}: {why}", (Ground.STREAMS,))
        if peer is not None and peer.dropped_though_heard:
            return Unsure(DROPPED, (Ground.STREAMS, Ground.TAKEN))
        behind = self.engine.links.behind(stream)
        for missing in (*(gap.missing for gap in stream.gaps), *stream.borders, behind):
            if not _is_told(missing):
                return Unsure(f"{NOT_CAPTURED}: {missing.reason}", (Ground.STREAMS,))
        return None

    def of_window(self, stream: RaimsStream) -> Claim:
        """A claim that rests on when tables of the subscription window rotate."""
        peer = self.observer.peers.get(stream.publisher)
        if peer is not None and peer.learned is not None:
            return Claim(Certainty.LIKELY, Rests(timed=True), why=peer.learned)
        unsaid = self.unsaid_of_window()
        return Claim(
            Certainty.LIKELY, Rests(timed=True), defaults=unsaid,
            why=f"raims.{unsaid[0]} is not given: judged by its default" if unsaid else "",
        )  # fmt: skip

    def unsaid_of_window(self) -> tuple[str, ...]:
        """Parameters of the subscription window that nobody has given."""
        return tuple(name for name in SUB_WINDOW if not self.parameters.is_given(name))

    def may_want_more(self, observer: Observer) -> bool:
        """May it have subscribed to something before the capture, that nobody states?"""
        stated = observer.from_start or self.parameters.is_given("subscribed")
        return not stated and observer.changes.earlier != 0

    def knows_subscriptions(self, observer: Observer, mark: Mark) -> bool:
        """Is no change of them unseen by then?"""
        changes, bridge = observer.changes, observer.bridge
        if bridge not in self._lacks_own:
            since = changes.known_until.frame
            self._lacks_own[bridge] = self.engine.links.lacks_own(since)
        return changes.knows(mark, whole=not self._lacks_own[bridge])

    def shows_streams(self, observer: Observer, publisher: str) -> bool:
        """Is everything that a publisher can have sent of what the observer has ever wanted in a
        stream that is known? Replies to its clients go point to point (raims.md 7.3)."""
        made = observer.changes.made
        behind = Mark(LAST_FRAME, self.engine.last_ns)
        if self.may_want_more(observer) or not self.knows_subscriptions(observer, behind):
            return False
        wanted = {subscription.pattern for subscription in observer.window.subscriptions}
        wanted |= {change.pattern for change in made}
        shown: set[str] = set()
        for (sender, subject), stream in observer.streams.items():
            if sender == publisher:
                shown |= {subject, *stream.came}
        hidden = (of for of in wanted - shown if not of.partition(".")[2].startswith("_INBOX"))
        return len(made) < MAX_CHANGES and not any(hidden)

    def table(self, name: str, detail: Mapping[str, object]) -> Result:
        return self.row(TABLE, {"table": name, **detail})

    def until(self, number: int) -> int:
        """When an observer's next start begins; else the last event."""
        later = self.engine.observers[number + 1 :]
        return later[0].start_ns if later else self.engine.last_ns

    def skew(self, bridge: str) -> int | None:
        """How far a publisher's clock is off; null where it is not, or nobody can tell.

        Capture time less publisher time is at least 0 and at most a timer tick, plus the way, which
        is long for what TCP had to send again: the clock is off by what all agree in.
        """
        skews: list[int] = []
        pairs = 0
        for observer in self.engine.observers:
            peer = observer.peers.get(bridge)
            if peer is not None and peer.clock.skew:
                pairs = max(pairs, peer.clock.pairs)
                for ahead_ns in peer.clock.all_ahead:
                    spread(skews, ahead_ns)
        return off(skews) if pairs >= LEAST_PAIRS else None

    def _capture_clock_off(self) -> bool:
        """Are the clocks of several daemons off alike? Then it is the capture's."""
        own = self.engine.state.own_skew
        skews = [self.skew(bridge) for bridge in self.engine.members.users]
        skews += [off(own)] if own else []
        found = [skew for skew in skews if skew is not None]
        return len(found) > 1 and (min(found) > 0 or max(found) < 0)


def _is_told(missing: Missing | None) -> bool:
    """Is it told which packets the daemon had? What is likely of a packet is no figure; and numbers
    that no packet is missing for were never sent here."""
    if missing is None:
        return True
    if missing.sure is not None:
        return missing.sure is not Certainty.UNDECIDABLE
    return not missing.count or missing.certainty is Certainty.PROVEN
