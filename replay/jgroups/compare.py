"""What the captures at both ends of a stream say together, of UNICAST and MCAST alike; and what
the unicasts of a member say of its multicasts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from seqaudit.replay.contract.both_ends import BothEnds, two_ends
from seqaudit.replay.contract.engine import Detail, Extent, Opening, Replayed, Rows
from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.contract.results import FINDING, STREAM, EndsDetail
from seqaudit.replay.contract.worth import Worth

if TYPE_CHECKING:
    from seqaudit.replay.jgroups.both_ends_findings import JGroupsEnds
    from seqaudit.replay.jgroups.report_rows import McastStreamRow

_ANSWERS_NOTHING: Final = (
    "this member answered no unicast any more before the last of these came (UC027): it has died, "
    "or was stopped, or its words are not captured; it delivered at least up to its last ACK and "
    "at most what came"
)


def ends_of(told: Opening) -> "JGroupsEnds | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    if not two_ends(told):
        return None
    from seqaudit.replay.jgroups.both_ends_findings import JGroupsEnds

    return JGroupsEnds(told.capture)


class JGroupsComparison(BothEnds):
    """Streams of both; of UNICAST's also which copies were needless, and of MCAST's what a member
    delivered that answers no unicast any more: NAKACK2 owes no word for what it delivers."""

    reads_first = True

    def figures(
        self, rows: Rows, worth: Mapping[int, Worth], extents: Sequence[Extent]
    ) -> Mapping[tuple[int, str], Detail]:
        silent = {
            (row["capture"], *_cluster_and_receiver(row["stream"] or "")): row["frame"] or 0
            for row in rows(FINDING)
            if row["rule"] == "UC027" and row["detail"]["certainty"] == Certainty.LIKELY
        }
        if not silent:
            return {}
        windows: dict[tuple[int, str], tuple[McastStreamRow, int]] = {}
        for row in rows(STREAM):
            own = cast("McastStreamRow", row["detail"])
            if not row["system"].startswith("nakack"):
                continue
            spoke = (row["capture"], own["cluster"], own["sender"] or "")
            if own["role"] == "sender" and (own["last_frame"] or 0) > silent.get(spoke, 0):
                silent.pop(spoke, None)  # it lives
            since = silent.get((row["capture"], own["cluster"], own["receiver"] or ""))
            if since is not None:
                windows[row["capture"], row["stream"] or ""] = own, since
        return {
            place: _bounds(own)
            for place, (own, since) in windows.items()
            if (place[0], own["cluster"], own["receiver"]) in silent
            and (own["last_frame"] or 0) > since
            and own["delivered"]
            and own["delivered_interval"] is None
        }

    def copies_sent(self, row: EndsDetail, replayed: Replayed) -> tuple[int | None, str | None]:
        from seqaudit.replay.jgroups.both_ends_findings import settled

        return settled(row, *replayed.extents[row["receiver_capture"]])


def _cluster_and_receiver(stream: str) -> tuple[str, str]:
    """Of a unicast stream: ``cluster|sender|receiver|connection``."""
    cluster, _, receiver, _ = stream.split("|")
    return cluster, receiver


def _bounds(own: "McastStreamRow") -> Detail:
    """What a member delivered that may have been dead when the last of it came."""
    delivered, peer = own["delivered"] or [[1, 0]], own["peers"].get(own["receiver"] or "")
    acked = 0 if peer is None else peer["highest_ack"] or 0
    return {
        "delivered_interval": [max(acked, delivered[0][0] - 1), delivered[-1][1]],
        "unknown": {**own["unknown"], "delivered": _ANSWERS_NOTHING},
    }
