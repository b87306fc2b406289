"""On what terms a receive window of a multicast stream begins (jgroups.md 5.4, 5.5)."""

from dataclasses import dataclass

from seqaudit.replay.jgroups.evidence import Beginning, Life
from seqaudit.replay.jgroups.mcast.merges import Merges
from seqaudit.replay.jgroups.mcast.origin import Origin
from seqaudit.replay.jgroups.mcast.owed import AckSchedule
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTerms:
    """Where a window begins, what its member's parameters say, and what its cluster tells.

    Attributes:
        low: the window expects ``low + 1`` next.
        known: by a view, a digest or seqno 1; else the capture began in mid-stream (V13).
        capacity: of the ring; null: not known, nothing is dropped.
        interval_ns: xmit_interval, the least time until anybody asks (A2).
        interval_given: the interval is not a default, so a request can be too early.
        merge_ns: no merge moves the window within this time of this member's last word of it.
        document: the MCAST document's bounds (5.6).
        acks: when this member owes an ACK (NAKACK4); null: it sends none.
        began: when the conversation's capture did.
        beginning: up to where it may have been sent before the capture, or before the window.
        elapsed: of the conversation.
        merges: of this member.
        life: of this member.
        origin: where the window begins, and since when it is there.
    """

    low: int
    known: bool
    capacity: int | None
    interval_ns: int
    interval_given: bool
    merge_ns: int
    document: bool
    acks: AckSchedule | None
    began: Mark
    beginning: Beginning
    elapsed: Elapsed
    merges: Merges
    life: Life
    origin: Origin
