"""The tables of the report about raims: ``show loss``, windows, advisories, notices, joins."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.contract.results import Result, Row
from seqaudit.replay.raims import grounds, own_words
from seqaudit.replay.raims.advisories import INBOUND, OUTBOUND, Advisory, Outbound
from seqaudit.replay.raims.convergence import Convergence, Join
from seqaudit.replay.raims.grounds import HAD, Ground, Unsure
from seqaudit.replay.raims.inbox_link import InboxLink
from seqaudit.replay.raims.links import INBOX
from seqaudit.replay.raims.missing import BORDER_UNSEEN
from seqaudit.replay.raims.notices import Notice
from seqaudit.replay.raims.observer import Observer
from seqaudit.replay.raims.peers import LossCounter, Peer
from seqaudit.replay.raims.publisher import BeganBy
from seqaudit.replay.raims.report_rows import (
    AdvisoryRow,
    ConvergenceRow,
    DaemonWindowsRow,
    InboxRow,
    LossEventRow,
    NoticeRow,
    PeerLossRow,
    RvAdvisoryRow,
)
from seqaudit.replay.raims.reporting import (
    AT_THE_END,
    CAME_UNSEEN,
    EARLIER,
    FORWARDS,
    NOT_CAPTURED,
    NOT_JOINED,
    PASSED_ON,
    REROUTED,
    SEEMED_SILENT,
    STANDS,
    STOPPED,
    TOLD_MORE,
    UNHEARD,
    UNSEEN,
    UNSHOWN,
    UNSHOWN_COUNTED,
    UNTIMED,
    WOKE_LATE,
    RaimsReporter,
)
from seqaudit.replay.raims.rotation import Rotation
from seqaudit.replay.raims.seqno import base_of, shown, start_of
from seqaudit.replay.raims.stream_rows import bounds
from seqaudit.replay.raims.streams import RaimsStream

_UID_MAPS: Final = (
    "subjects of several publishers have uid maps, whose size is not known; the "
    "tables are at least this large"
)


def tables(report: RaimsReporter) -> Iterator[Result]:
    engine = report.engine
    if report.known:
        for number, observer in enumerate(engine.observers):
            yield from _of_observer(report, observer, number)
    for name, inbox in sorted(engine.links.inboxes.items()):
        yield report.table("inbox", _inbox(name, inbox))
    for notice in engine.notices:
        yield report.table("notices", _notice(notice))
    for join in engine.convergence.joins:
        yield report.table("convergence", _convergence(engine.convergence, join))


def _of_observer(report: RaimsReporter, observer: Observer, number: int) -> Iterator[Result]:
    report.observer = observer
    for peer in sorted(observer.peers.values(), key=lambda p: p.uid or 0):
        yield report.table("loss", _loss(report, observer, number, peer))
    yield report.table("windows", _windows(report, observer, number))
    yield from _fills(report, observer)
    for advisory in observer.advisories.published:
        yield report.table(
            "advisories", _advisory(observer, number, INBOUND, advisory.at_ns, advisory)
        )
    for outbound in observer.outbound:
        yield report.table(
            "advisories", _advisory(observer, number, OUTBOUND, outbound.mark.at_ns, outbound)
        )
    for event in observer.advisories.events:
        row: LossEventRow = {"observer": observer.bridge, "start": number, **event.row()}
        yield report.table("loss_events", row)


def _advisory(
    observer: Observer, number: int, subject: str, at_ns: int, advisory: Advisory | Outbound
) -> AdvisoryRow:
    data = advisory.fields()
    return {
        "observer": observer.bridge,
        "start": number,
        "at_ns": at_ns,
        "frame": advisory.mark.frame,
        "subject": subject,
        "data": data,
        "order": list(data),
    }


def _inbox(name: str, inbox: InboxLink) -> InboxRow:
    source, _, destination = name.removeprefix(INBOX).partition(">")
    return {
        "source": source,
        "destination": destination,
        "packets": inbox.packets,
        "repairs": inbox.repairs,
        "duplicates": inbox.duplicates,
        "acks": inbox.acks,
    }


def _notice(notice: Notice) -> NoticeRow:
    return {
        "receiver": notice.receiver,
        "publisher": notice.publisher,
        "subject": notice.subject,
        "count": notice.count,
        "restart": notice.restart,
        "total": notice.total,
        "seqno": notice.seqno,
        "frame": notice.mark.frame,
        "at_ns": notice.mark.at_ns,
    }


def _convergence(convergence: Convergence, join: Join) -> ConvergenceRow:
    return {
        "subscriber": join.subscriber,
        "publisher": join.publisher,
        "subject": join.subject,
        "seqno": join.seqno,
        "shown": shown(join.seqno),
        "number": base_of(join.seqno),
        "started_ns": start_of(join.seqno),
        "converged_ns": convergence.converged_ns(join),
        "verdict": str(convergence.verdict(join)),
        "undecided": join.undecided,
        "frame": join.mark.frame,
        "at_ns": join.mark.at_ns,
    }


def clients(report: RaimsReporter) -> Iterator[Result]:
    """RV clients, and what they were told of lost data."""
    for client in report.engine.clients.all.values():
        yield report.table("rv_clients", client.row())
        for index, seen in enumerate(client.advisories):
            told: RvAdvisoryRow = {
                "client": client.client,
                "daemon": client.daemon,
                "address": client.address,
                "at_ns": seen.mark.at_ns,
                "frame": seen.mark.frame,
                "index": index,
                "subject": seen.subject,
                "data": seen.data,
            }
            yield report.table("rv_advisories", told)


def _unsure(report: RaimsReporter, observer: Observer, peer: Peer) -> Iterator[Unsure]:
    """Why figures of a peer cannot be told, whatever its streams hold; of several reasons for one
    the last is told."""
    links = report.engine.links
    if report.may_want_more(observer):
        yield Unsure(EARLIER, (Ground.WANTED,))
    if observer.changes.unseen:
        yield Unsure(UNSEEN, (Ground.WANTED,))
    if links.apart:
        yield Unsure(NOT_JOINED, HAD)
    if peer.doubted:
        yield Unsure(SEEMED_SILENT, (Ground.TAKEN,))
    if peer.taken_up:
        yield Unsure(own_words.TAKEN_UP, (Ground.NUMBERED,))
    if peer.inbox_loss.count and observer.may_pass_by(peer):
        yield Unsure(own_words.BY_OTHERS, (Ground.NUMBERED,))
    if gone := report.unsure_when_dropped(peer):
        yield Unsure(gone, (Ground.DROPPED,))
    # who is heard by way of another is dropped with the connection to that one
    others = (x for x in observer.met.values() if x is not peer and x.heard_frame > 0)
    by_way = any(not x.links.isdisjoint(peer.links) for x in others)
    orphaned = gone == UNHEARD and by_way and links.has_ended(peer.links)
    if gone and (peer.inbox_untaken > peer.met_frame or orphaned):
        yield Unsure(gone, (Ground.NUMBERED,))
    if unsure := report.unsure_of_inbox(peer):
        yield Unsure(unsure, (Ground.NUMBERED,))
    if peer.lapsed:
        yield Unsure(own_words.LAPSED, (Ground.TAKEN, Ground.DROPPED))
    if peer.border_unseen:
        yield Unsure(f"{NOT_CAPTURED}: {BORDER_UNSEEN.why}", (Ground.NUMBERED,))
    if peer.unread:
        yield Unsure(own_words.UNREAD, (Ground.NUMBERED,))
    for since, unsure in filter(None, (observer.unread, peer.not_read)):
        yield Unsure(unsure, (Ground.READ,), since)
    if links.forwards:
        yield Unsure(FORWARDS, (Ground.ECHOED,))
    if links.lacks(peer.address):
        yield Unsure(NOT_CAPTURED, (Ground.CAME,))
    if peer.rerouted:
        yield Unsure(REROUTED, (Ground.ROUTED,))
    elif peer.null_route.count and (peer.passed_on or links.forwards):
        yield Unsure(PASSED_ON, (Ground.ROUTED,))
    if report.stood(peer.bridge):
        yield Unsure(STANDS, (Ground.WENT_ON,))
    if peer.told_more:
        yield Unsure(TOLD_MORE, HAD)
    if peer.came_unseen:
        yield Unsure(CAME_UNSEEN, (*HAD, Ground.NUMBERED))
    if any(publisher == peer.bridge for publisher, _ in links.untold):
        yield Unsure(AT_THE_END, HAD)


def _unsure_of(
    report: RaimsReporter, observer: Observer, streams: Iterable[RaimsStream]
) -> Iterator[Unsure]:
    """Why figures of a peer cannot be told, as those of its streams cannot."""
    for stream in streams:
        yield from report.doubts(stream, observer)
        if uncounted := report.uncounted(stream):
            yield Unsure(uncounted, (Ground.COUNTED,))


def _loss(report: RaimsReporter, observer: Observer, number: int, peer: Peer) -> PeerLossRow:
    """A row of ``show loss``, and the truth beside it."""
    links = report.engine.links
    lower, upper, false = 0, 0, 0
    bounded, copies, timed = True, False, True
    streams = [x for (publisher, _), x in observer.streams.items() if publisher == peer.bridge]
    for stream in streams:
        least, most = bounds(stream)
        lower += least
        false += stream.false_loss
        copies = copies or any(repeat.verdict.row == "raims-9.0" for repeat in stream.repeats)
        if most is None:
            bounded = False
        else:
            upper += most
        # of what was told of, when it was given up may be known only about
        timed = timed and all(
            hole.loss is Certainty.PROVEN
            for loss in stream.truth.losses
            if loss.missing is not None
            for hole in loss.missing.holes
        )
    untimed = "" if timed else UNTIMED
    if links.woke_late(peer.address, peer.msg_loss.frame):
        untimed = WOKE_LATE
    elif links.stopped_at(peer.address, peer.msg_loss.frame):
        untimed = STOPPED
    reasons = [*_unsure(report, observer, peer), *_unsure_of(report, observer, streams)]
    doubtful = links.holes or links.lacks(peer.address)
    missing = doubtful or upper or not bounded or links.misses(peer.address)
    shown = not missing or report.shows_streams(observer, peer.bridge)
    if doubtful or not shown:
        reasons.append(Unsure(UNSHOWN, (Ground.BOUNDED,)))
    if doubtful and not shown:
        reasons.append(Unsure(UNSHOWN_COUNTED, (Ground.SHOWN,)))
    frames = {name: counter.frame for name, counter in peer.counters().items()}
    unknown = grounds.unknown(reasons, frames)
    if untimed and peer.msg_loss.count and "msg_loss" not in unknown:
        unknown["msg_loss_ns"] = untimed
    told = "lost" not in unknown

    def count(name: str, counter: LossCounter) -> int | None:
        return None if name in unknown else counter.count

    def grew(name: str, counter: LossCounter) -> int | None:
        return None if name in unknown else counter.at_ns

    return {
        "observer": observer.bridge,
        "start": number,
        "bridge": peer.bridge,
        "user": f"{peer.user or '?'}.{'?' if peer.uid is None else peer.uid}",
        "lost_lower": lower if told else None,
        "lost_upper": upper if bounded and told and "lost_upper" not in unknown else None,
        "false_loss": false if told and "false_loss" not in unknown else None,
        "told_loss": peer.told_loss,
        "learned": peer.learned,
        "defaults": list(report.unsaid_of_window())
        if (false or copies) and peer.learned is None
        else [],
        "dropped_ns": None if "dropped_ns" in unknown else peer.dropped_ns,
        "began_before": own_words.began_before(report.engine.state, observer),
        "unknown": unknown,
        "skew_least_ns": peer.clock.skew[0] if peer.clock.skew else None,
        "skew_most_ns": peer.clock.skew[1] if peer.clock.skew else None,
        "null_rte": count("null_rte", peer.null_route),
        "null_rte_ns": grew("null_rte", peer.null_route),
        "repeat": count("repeat", peer.repeat),
        "repeat_ns": grew("repeat", peer.repeat),
        "not_sub": count("not_sub", peer.not_subscribed),
        "not_sub_ns": grew("not_sub", peer.not_subscribed),
        "msg_loss": count("msg_loss", peer.msg_loss),
        "msg_loss_ns": None if untimed else grew("msg_loss", peer.msg_loss),
        "ibx_loss": count("ibx_loss", peer.inbox_loss),
        "ibx_loss_ns": grew("ibx_loss", peer.inbox_loss),
    }


def _windows(report: RaimsReporter, observer: Observer, number: int) -> DaemonWindowsRow:
    """What ``show windows`` says of the observer."""
    sub = observer.window.rotation
    row = cast(DaemonWindowsRow, {
        "observer": observer.bridge,
        "start": number,
        "address": report.engine.address,
        "from_ns": observer.start_ns if number else report.engine.members.first_ns,
        "to_ns": report.until(number),
        "doubt": own_words.is_whole(report.engine.state, observer),
        "sub_size_unknown": _UID_MAPS if observer.window.shared else None,
        **_memory("sub", sub),
    })  # fmt: skip
    window = report.engine.publishers.get(observer.bridge or "")
    if window is not None:
        row |= cast(DaemonWindowsRow, _memory("pub", window.rotation))
        row["frames_began"] = {  # a frame that goes on did not begin
            str(why): n for why, n in sorted(window.why.items()) if why is not BeganBy.CONTINUED
        }
    return row


def _fills(report: RaimsReporter, observer: Observer) -> Iterator[Result]:
    """How full the observer's windows were, as its own code counts."""
    sub = observer.window.rotation
    limit = sub.settings.size_bytes
    yield from report.filled("bytes in the subscribers' window", observer.bridge, limit, sub.fill)
    window = report.engine.publishers.get(observer.bridge or "")
    if window is not None:
        pub = window.rotation
        limit = pub.settings.size_bytes
        yield from report.filled(
            "bytes in the publishers' window", observer.bridge, limit, pub.fill
        )


def _memory(side: str, window: Rotation[Any]) -> Row:
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
