"""The decision tables of the MCAST engine, as data: one row, one id (CONTRIBUTING.md 4).

The id is cited where the engine implements the row and by the tests that show it
(``@pytest.mark.rule("S6")``), so the way from row to code to test is one search. What a passive
capture cannot show says why and has no test.

    S  jgroups.md 5.3, sender             D  5.6, the design document against the code
    R  5.4, receiver                      A  how a gap ended (``replay.jgroups.mcast.receiver``)
    N  5.5, NAKACK2                       W  life of a member's windows (``mcast``)
    T  4.4, the two-tick rule             V  6, what a capture can prove
"""

from collections.abc import Mapping
from typing import Final

from tests.replay.decision_row import Row

_SENDER: Final = "jgroups.md 5.3"
_RECEIVER: Final = "jgroups.md 5.4"
_NAKACK2: Final = "jgroups.md 5.5"
_SEED: Final = "jgroups.md 5.6"
_TICKS: Final = "jgroups.md 4.4, selective retransmission"
_PROOF: Final = "jgroups.md 6"
_OUTCOMES: Final = "seqaudit.replay.jgroups.mcast.receiver"
_WINDOWS: Final = "seqaudit.replay.jgroups.mcast.engine; jgroups.md 5.4"

_TABLE: Final = (
    Row("S1", "multicast with seqno - low > capacity: blocked until low advances", _SENDER),
    Row("S2", "the channel closes while blocked: the message is dropped, its seqno never sent",
        _SENDER),
    Row("S3", "multicast otherwise: store, high = max, MSG goes out", _SENDER),
    Row("S4", "ACK from a member that is not in the map: ignored", _SENDER),
    Row("S5", "ACK(n) with n <= map[P]: nothing", _SENDER),
    Row("S6", "ACK(n) above: map[P] = n; the minimum over all members grew: purge, low = minimum, "
        "blocked senders go on", _SENDER),
    Row("S7", "the own delivery counts as own ACK by the same schedule", _SENDER,
        "messages to oneself are looped back, so the minimum seen is an upper bound"),
    Row("S8", "view: the map loses leavers; the minimum grew: purge", _SENDER),
    Row("S9", "view: joiners enter with 0; low does not fall", _SENDER),
    Row("S10", "XMIT_REQ, in the window: the unchanged MSG again, or XMIT_RSP to P", _SENDER),
    Row("S11", "XMIT_REQ, not in the window: skipped", _SENDER),
    Row("S12", "tick after a multicast since the last tick: no HIGHEST_SEQNO", _SENDER,
        "when the sender's tick runs is on no wire, so one left out cannot be missed"),
    Row("S13", "tick, idle, low != high: HIGHEST_SEQNO(high), every tick until all is acked",
        _SENDER),
    Row("S14", "exactly capacity messages can be unacknowledged, never more", _SENDER),
    Row("S15", "several blocked threads go on in any order: seqnos out of order on the wire",
        _SENDER),
    Row("S16", "in a received batch only the highest ACK is applied", _SENDER),
    Row("R1", "MSG before the first view: queued (50), processed after the join", _RECEIVER),
    Row("R2", "MSG, no window for P: dropped, counted", _RECEIVER),
    Row("R3", "MSG, s <= low: duplicate, no ACK is provoked", _RECEIVER),
    Row("R4", "MSG, s > low + capacity: dropped", _RECEIVER),
    Row("R5", "MSG, slot filled: duplicate", _RECEIVER),
    Row("R6", "MSG else: store, high = max, deliver up to the first gap", _RECEIVER),
    Row("R7", "n delivered and ack_threshold reached: ACK(hd) at once", _RECEIVER),
    Row("R8", "n delivered otherwise: counter and flag", _RECEIVER),
    Row("R9", "tick with the flag set: ACK(hd)", _RECEIVER),
    Row("R10", "tick with gaps: XMIT_REQ by the two-tick rule, at most max_xmit_req_size",
        _RECEIVER),
    Row("R11", "HIGHEST_SEQNO(h), h > high: XMIT_REQ for h only, at once", _RECEIVER),
    Row("R12", "HIGHEST_SEQNO: one more on the ACK counter, so an ACK at the next tick (repairs "
        "lost ACKs)", _RECEIVER),
    Row("R13", "that increment reaches the threshold: counter reset, neither ACK nor flag",
        _RECEIVER, "the counter is inside the member; an ACK left out there is not owed"),
    Row("R14", "XMIT_RSP(s): as MSG(s) from the header's source", _RECEIVER),
    Row("R15", "view without P: window removed", _RECEIVER),
    Row("R16", "view with a new P, no window: window at 0", _RECEIVER),
    Row("R17", "digest, no window for P: window at D[P].delivered", _RECEIVER),
    Row("R18", "digest of a join, window exists: kept", _RECEIVER),
    Row("R19", "digest of a merge, hd < D[P].delivered: replaced by a window at D[P].delivered",
        _RECEIVER),
    Row("R20", "OOB: delivered on arrival; in the window it only advances the indexes", _RECEIVER),
    Row("N1", "the same exchange and the same two-tick rule", _NAKACK2),
    Row("N2", "unbounded windows: nothing is dropped, nobody blocks", _NAKACK2),
    Row("N3", "no ACK: none is owed", _NAKACK2),
    Row("N4", "HIGHEST_SEQNO at most once a value (resend_last_seqno_max_times)", _NAKACK2),
    Row("N5", "STABLE: a member's digest says what it has delivered", _NAKACK2),
    Row("N6", "STABILITY: the minimum of all; everybody purges, nobody learns what one delivered",
        _NAKACK2),
    Row("N7", "STABILITY shows a maximum received that a member misses: it asks at the second",
        _NAKACK2),
    Row("N8", "xmit_from_random_member: the request goes to another member than the original "
        "sender, who is in the header", _NAKACK2),
    Row("N9", "last message and its only retransmission lost: missing until STABLE", _NAKACK2),
    Row("T1", "missing = seqnos not received in (hd, hr), at most max_xmit_req_size from the low "
        "end", _TICKS),
    Row("T2", "some missing and no mark: mark = highest missing, no request", _TICKS),
    Row("T3", "some missing and a mark: those <= mark are requested", _TICKS),
    Row("T4", "what became deliverable is cut off; the request may be empty and is still sent",
        _TICKS),
    Row("D1", "the document blocks at S - low >= capacity: one message fewer fits", _SEED),
    Row("D2", "the document drops M >= low + capacity; the code M > low + capacity", _SEED),
    Row("D3", "indexes low, high; the code has hd as well", _SEED,
        "at a receiver low = hd; the sender's own hd is its loopback"),
    Row("D4", "the document: ACK at the tick or after N messages; the code: both", _SEED),
    Row("D5", "no ACK for duplicates; lost ACKs are repaired by HIGHEST_SEQNO", _SEED),
    Row("D6", "purge to min(ack-map); the code limits it to the own hd", _SEED,
        "the own hd is on no wire"),
    Row("D7", "ack map of joiners: the code starts at 0, so no purge until the joiner acks", _SEED),
    Row("D8", "answer to XMIT-REQ: MSG again, or XMIT_RSP", _SEED),
    Row("D9", "last message lost: HIGHEST_SEQNO every idle tick", _SEED),
    Row("D10", "seqno and send not atomic: 1 -> 3 -> 4 -> 2 -> 5, spurious requests",
        "MCAST document, \"Misc\"; jgroups.md 5.6"),
    Row("D11", "the document's scan asks for every gap it finds; the code by the two-tick rule",
        "MCAST document, \"Every xmit_interval\"; jgroups.md 4.4"),
    Row("D12", "the document purges what is lower than the minimum; the code the minimum too",
        "MCAST document, first section; jgroups.md 5.6",
        "everybody has acknowledged the message in question: nobody asks for it again"),
    Row("D13", "flow control is built in: MFC is not required any more",
        "MCAST document, first section",
        "credits of MFC travel in headers of their own, which say nothing of a window"),
    Row("D14", "every member asks at every tick: one that should and does not",
        "MCAST document, \"Every xmit_interval\"",
        "XMIT_REQ has no number of its own: one that is left out may be missing in the capture "
        "(CP007 says what nobody asked for)"),
    Row("D15", "a window that is too small for what is sent",
        "MCAST document, \"On reception of message M\"",
        "where it is not given, only the sender's own stalls tell the size; no default holds for "
        "all releases"),
    Row("A1", "XMIT_RSP to this member: recovered", _OUTCOMES),
    Row("A2", "not asked for, and nobody can have asked yet: reordered", _OUTCOMES),
    Row("A3", "IP id older than that of the revealing message: reordered", _OUTCOMES),
    Row("A4", "this member had asked: recovered", _OUTCOMES),
    Row("A5", "IP id newer than that of the revealing message: recovered", _OUTCOMES),
    Row("A6", "none of these: recovered or late", _OUTCOMES),
    Row("W1", "JOIN_RSP to this member, the first: windows at the digest, then the queue",
        _WINDOWS),
    Row("W2", "VIEW delivered, P is new: a window at 0, unless there is one", _WINDOWS),
    Row("W3", "VIEW delivered, P is gone: its window is removed", _WINDOWS),
    Row("W4", "MergeView with digest: a window behind it is replaced", _WINDOWS),
    Row("W5", "VIEW without this member: all windows end", _WINDOWS),
    Row("V1", "loss on the path: at R a gap that a copy fills after an own XMIT_REQ", _PROOF),
    Row("V2", "never recovered: missing at the end; a tail needs HIGHEST_SEQNO", _PROOF),
    Row("V3", "needless: at R a copy of what is delivered or stored (proven)", _PROOF),
    Row("V4", "window full: highest sent - minimum ACK = capacity, no new seqno until an ACK "
        "raises the minimum; capacity given or learned", _PROOF),
    Row("V5", "window overrun: highest sent - minimum ACK > capacity", _PROOF),
    Row("V6", "lost last message: HIGHEST_SEQNO h > high, then XMIT_REQ h", _PROOF),
    Row("V7", "endless: the same XMIT_REQ five times in a row and no copy", _PROOF),
    Row("V8", "a copy with the same IP id is a network duplicate, one with a new id was resent",
        _PROOF),
    Row("V9", "retransmit efficiency: copies that filled a gap / all copies, exact at R", _PROOF),
    Row("V10", "slow recovery: from the gap to the filling copy", _PROOF),
    Row("V11", "streams are cut at views; VIEW and JOIN_RSP tell them", _PROOF),
    Row("V12", "dead or stopped processes: frames still arrive; no loss is judged on them", _PROOF),
    Row("V13", "started late: what was before the first message or ACK is unknown", _PROOF),
    Row("V14", "ticks have jitter: 20 % and 50 ms are allowed", _PROOF),
    Row("V15", "OOB messages are out of order by design: not reported as reordering", _PROOF),
    Row("V16", "between members nothing is said about delivery and loss at one of them", _PROOF),
    Row("V17", "ACK traffic and requests are counted a peer and a direction", _PROOF),
    Row("V18", "a hole in the capture is not a loss: the receiver's own ACK covers it", _PROOF),
)  # fmt: skip

#: All rows by id.
ROWS: Final[Mapping[str, Row]] = {row.id: row for row in _TABLE}
