"""The rows that describe multicast streams: summaries and gaps (replay/README.md 5)."""

from seqaudit.replay.contract.report_rows import NOT_VISIBLE, directed, receipt_unknown
from seqaudit.replay.contract.reporter import listed, parts_of
from seqaudit.replay.contract.settings import MEMBER
from seqaudit.replay.jgroups import stream_rows
from seqaudit.replay.jgroups.mcast.engine import McastEngine
from seqaudit.replay.jgroups.mcast.passing import PassingModel
from seqaudit.replay.jgroups.mcast.receiver import ReceiverModel
from seqaudit.replay.jgroups.mcast.sender import SenderModel
from seqaudit.replay.jgroups.mcast.streams import McastStream
from seqaudit.replay.jgroups.report_rows import CapacityRow, McastStreamRow
from seqaudit.replay.sequence.gaps import Outcome
from seqaudit.replay.sequence.ranges import RangeSet, inclusive


def role_of(engine: McastEngine, stream: McastStream) -> stream_rows.End:
    """Which end of a stream is here."""
    if engine.vantage.kind != MEMBER:
        return stream_rows.BETWEEN
    return stream_rows.RECEIVER if stream.passing is None else stream_rows.SENDER


def stream_row(engine: McastEngine, stream: McastStream, *, over: bool) -> McastStreamRow:
    """The summary of one sender's stream; for ``over`` see ``stream_rows.received``."""
    receiver, role = stream.receiver, role_of(engine, stream)
    side = stream_rows.FROM_RECEIVER[role]
    peers = stream.peers.values()
    counted = stream_rows.counted(stream, role, engine.cluster)
    frames = (counted["first_frame"], counted["last_frame"])
    here = {engine.members.local if frame is None else engine.members.at(frame) for frame in frames}
    received = role == stream_rows.RECEIVER and receiver is not None
    row: McastStreamRow = {
        **counted,
        "receiver": here.copy().pop() if received and len(here) == 1 else None,
        "copies": counted["copies"] - stream.further_sends,
        "further_sends": stream.further_sends,
        "requests": directed(side, sum(peer.requests for peer in peers)),
        "requested_seqnos": directed(side, sum(p.requested_seqnos for p in peers)),
        "acks": directed(side, sum(peer.acks for peer in peers)),
        "outside_membership": outside(stream),
        "peers": {member: peer.row() for member, peer in sorted(stream.peers.items())},
        "capacity": capacity_of(engine, stream),
        "delivered_interval": None,
        "delivered_unsure": None,
    }
    if receiver is not None:
        _received(row, engine, stream, receiver, over=over)
    elif role == stream_rows.RECEIVER:
        stream_rows.nothing_received(row)
        row["delivered_unsure"] = []
    else:
        row["unknown"] = receipt_unknown(NOT_VISIBLE)
        if stream.passing is not None:
            _passed(row, stream.passing)
    if received and len(here) > 1:
        row["unknown"]["receiver"] = "one member followed another at this host: it is of both"
    if stream.sender_model is not None:
        _window(row, stream.sender_model)
    return row


def _received(
    row: McastStreamRow,
    engine: McastEngine,
    stream: McastStream,
    receiver: ReceiverModel,
    *,
    over: bool,
) -> None:
    if told := engine.reports_interval.get(stream.key):
        least, most, why = told
        row["delivered_interval"], row["unknown"]["delivered"] = [least, most], why
    stream_rows.received(row, receiver, over=over, unasked=True)  # any member may have asked
    row["outside_window"] = receiver.outside_window.ranges.total()
    if receiver.waited or receiver.doubts.untold:
        row["delivered"] = None
        row["unknown"]["delivered"] = (
            "messages came about when it joined, or when their sender did, or was put out by a "
            "view that is not in this capture, or waits in it for what is not, or it lacked some "
            "from before the capture, and nothing tells which of them it took"
        )
    if receiver.origin.since is None and not engine.is_member():
        row["delivered"] = None
        row["unknown"]["delivered"] = (
            "no view, digest or message of this member shows that it was in the cluster then"
        )
    if receiver.doubts.undelivered:
        row["delivered"] = None
        row["unknown"]["delivered"] = (
            "this member asked for messages that had arrived, and no copy, ACK or digest tells "
            "whether it had them when its window ended (MC013)"
        )
    stream_rows.dropped_inside(row, receiver, receiver.inner_loss.found.ranges, engine.vantage)
    if engine.holes.misfiled is not None:
        stream_rows.misfiled(row, engine.holes.why_misfiled)
    if row["delivered"] is not None:
        unsure = RangeSet(receiver.delivery.ranges) & receiver.doubts.unsure
        unsure |= receiver.doubts.may_have - RangeSet(receiver.delivery.ranges)
        # up to what it lacked by its own words, it may have had what a merge skipped
        lost = RangeSet(parts_of(receiver.gaps_by_seqno(), Outcome.UNRECOVERED))
        for first, stop in receiver.skipped.ranges:
            unsure.add(first, next((low for low, _ in lost.within(first, stop)), stop))
        row["delivered_unsure"] = inclusive(listed(unsure))


def _passed(row: McastStreamRow, passing: PassingModel) -> None:
    stream_rows.passed(row, passing)
    row["not_captured"] = passing.counts[Outcome.UNCAPTURED]


def _window(row: McastStreamRow, model: SenderModel) -> None:
    """The bounded window of a sender that is replayed here, and its blocks."""
    row["max_outstanding"] = model.max_outstanding
    row["stalls"] = [stall.row() for stall in model.stalls()]
    row["unlisted_stalls"] = model.unlisted_stalls()
    if model.capacity is None and model.learned_capacity() is None:
        row["stalls"] = None
        row["unknown"]["stalls"] = stream_rows.NO_CAPACITY


def capacity_of(engine: McastEngine, stream: McastStream) -> CapacityRow | None:
    """The window size of a stream and who says so; null if nobody knows it."""
    if stream.system == "nakack2":
        return None  # unbounded windows (5.5)
    return stream_rows.capacity(stream.sender_model, engine.parameters)


def outside(stream: McastStream) -> int:
    """Messages of no window: from outside the membership, or below where the window began."""
    below = stream.receiver.before_start if stream.receiver is not None else 0
    return stream.outside_membership + below
