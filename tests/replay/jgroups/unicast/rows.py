"""The decision tables of the UNICAST engine, as data: one row, one id (CONTRIBUTING.md 4).

The id is cited where the engine implements the row and by the tests that show it
(``@pytest.mark.rule("unicast A6")``). What a passive capture cannot show says why and has no test.

    U  the UNICAST3 document            A  jgroups.md 4.3, data sender
    S  the sync document                B  jgroups.md 4.4, data receiver
    P  jgroups.md 6, what a capture can prove, as far as it concerns unicast
"""

from collections.abc import Mapping
from typing import Final

from tests.replay.decision_row import Row

_UNICAST3: Final = "UNICAST3 document"
_SYNC: Final = "UNICAST3-SYNC document"
_SENDER: Final = "jgroups.md 4.3"
_RECEIVER: Final = "jgroups.md 4.4"
_PROOF: Final = "jgroups.md 6"

_TABLE: Final = (
    # -- the UNICAST3 document ------------------------------------------------------------------
    Row("unicast U1", "A numbers its messages to B with growing seqnos", _UNICAST3),
    Row("unicast U2", "B acks at the end of a message or batch, cumulatively: A forgets everything "
        "<= the ack", _UNICAST3),
    Row("unicast U3", "a minimum time between two acks (500 ms); acks in between are dropped",
        _UNICAST3),
    Row("unicast U4", "task: HA < HS and the pair is that of the previous run: resend HS",
        _UNICAST3),
    Row("unicast U5", "task: the pair has changed: only remember it", _UNICAST3),
    Row("unicast U6", "task at B: request every missing message", _UNICAST3),
    Row("unicast U7", "A sends exactly what was requested", _UNICAST3),
    Row("unicast U8", "a message is acked within a guaranteed time", _UNICAST3),
    Row("unicast U9", "a message is resent within a guaranteed time", _UNICAST3),
    Row("unicast U10", "closing a sender entry: CLOSING; HS is still resent while HA < HS",
        _UNICAST3),
    Row("unicast U11", "sending on a CLOSING entry: OPEN again", _UNICAST3),
    Row("unicast U12", "sending on a CLOSED entry: a new one", _UNICAST3),
    Row("unicast U13", "CLOSE with the entry's conn-id: the receiver entry is removed", _UNICAST3),
    Row("unicast U14", "a CLOSED receiver entry counts as none", _UNICAST3,
        "the code removes it at once; nothing on the wire differs"),
    Row("unicast U15", "a batch with first==true: that message is added first", _UNICAST3),
    Row("unicast U16", "no receiver entry: SEND_FIRST_SEQNO is asked for", _UNICAST3),
    Row("unicast U17", "SEND_FIRST_SEQNO: a flag; the task sends it and clears the flag",
        _UNICAST3),
    Row("unicast U18", "answer: the first message only", _UNICAST3),
    Row("unicast U19", "idle for conn-expiry-timeout: CLOSING", _UNICAST3),
    Row("unicast U20", "CLOSING for conn-close-timeout: removed; the sender sends CLOSE",
        _UNICAST3),
    Row("unicast U21", "A removes what is acked from memory: what it keeps is what is not acked",
        _UNICAST3),
    Row("unicast U22", "UNICAST and UNICAST2 would have sent more: all gaps at every scan",
        _UNICAST3,
        "after the first message that only another protocol sends, the story is another one"),
    # -- the sync document ----------------------------------------------------------------------
    Row("unicast S1", "B has no entry for A: SEND-FIRST-SEQNO", _SYNC),
    Row("unicast S2", "the message is not first and the conn-ids differ: SEND-FIRST-SEQNO", _SYNC),
    Row("unicast S3", "with an entry, none within sync-min-interval of the last; without one "
        "always", _SYNC),
    Row("unicast S4", "SEND-FIRST-SEQNO and ACK carry timestamps of one growing counter", _SYNC),
    Row("unicast S5", "A: SEND-FIRST-SEQNO with timestamp <= last: dropped", _SYNC),
    Row("unicast S6", "A: otherwise last = timestamp, send the lowest message", _SYNC),
    Row("unicast S7", "A: ACK with timestamp <= last: dropped", _SYNC),
    Row("unicast S8", "A: otherwise last = timestamp, regular processing", _SYNC),
    Row("unicast S9", "timestamps compare across an overflow", _SYNC),
    Row("unicast S10", "A: on SEND-FIRST-SEQNO the highest sent message is sent as well as the "
        "lowest (Design)", _SYNC),
    Row("unicast S11", "B removes A from its view, but not vice versa: B closes its window, A goes "
        "on sending", _SYNC),
    # -- 4.3, data sender -----------------------------------------------------------------------
    Row("unicast A1", "send, no entry or CLOSED: new entry, new conn_id, next = 1, OPEN", _SENDER),
    Row("unicast A2", "send, entry CLOSING: OPEN", _SENDER),
    Row("unicast A3", "send: seqno = next++, DATA(seqno, conn_id, first = (seqno == 1))", _SENDER),
    Row("unicast A4", "UNICAST4, seqno - acked > capacity: block until acked advances", _SENDER),
    Row("unicast A5", "ACK, no entry: ignored", _SENDER),
    Row("unicast A6", "ACK, other conn_id: ignored, timestamp not recorded", _SENDER),
    Row("unicast A7", "ACK, timestamp out of order: ignored", _SENDER),
    Row("unicast A8", "ACK otherwise: last_ts = ts, acked = max(acked, min(seqno, sent)); an older "
        "level changes nothing but last_ts", _SENDER),
    Row("unicast A9", "SEND_FIRST_SEQNO, no entry or timestamp out of order: ignored", _SENDER),
    Row("unicast A10", "SEND_FIRST_SEQNO, window not empty: resend acked+1 with first = 1",
        _SENDER),
    Row("unicast A11", "SEND_FIRST_SEQNO, window empty: nothing is sent", _SENDER),
    Row("unicast A12", "XMIT_REQ, no entry: ignored", _SENDER),
    Row("unicast A13", "XMIT_REQ: every seqno still kept is resent unchanged, every time", _SENDER),
    Row("unicast A14", "XMIT_REQ: a seqno not kept is skipped", _SENDER),
    Row("unicast A15", "tick, acked < sent and (acked, sent) == watermark: resend sent", _SENDER),
    Row("unicast A16", "tick otherwise: watermark = (acked, sent)", _SENDER),
    Row("unicast A17", "tick, OPEN, age >= conn_expiry_timeout: CLOSING", _SENDER),
    Row("unicast A18", "tick, not OPEN, age >= conn_close_timeout: removed, unacked messages are "
        "lost; CLOSE if B is in the view", _SENDER),
    Row("unicast A19", "view without B: CLOSING", _SENDER),
    Row("unicast A20", "view with B, CLOSING: OPEN", _SENDER),
    Row("unicast A21", "disconnect: pending ACKs are sent, tables cleared, no CLOSE", _SENDER),
    # -- 4.4, data receiver ---------------------------------------------------------------------
    Row("unicast B1", "none, first: window expecting seqno with this conn_id; accept", _RECEIVER),
    Row("unicast B2", "none, not first: cached (from 4.1.5; dropped before), SEND_FIRST_SEQNO",
        _RECEIVER),
    Row("unicast B3", "conn_id equal: accept, first is ignored", _RECEIVER),
    Row("unicast B4", "conn_id differs, first: the window is replaced (UNICAST4: by a greater id)",
        _RECEIVER),
    Row("unicast B5", "conn_id differs, not first: cached, SEND_FIRST_SEQNO", _RECEIVER),
    Row("unicast B6", "UNICAST4, smaller conn_id: cached, no answer", _RECEIVER),
    Row("unicast B7", "batch with messages of another conn_id: those are dropped, not cached",
        _RECEIVER),
    Row("unicast B8", "once an entry exists, cached messages of its conn_id are accepted, the "
        "others dropped", _RECEIVER),
    Row("unicast B9", "accept, seqno <= hd or stored: duplicate, not delivered, ACK flag set",
        _RECEIVER),
    Row("unicast B10", "accept, UNICAST4, seqno - hd > capacity: a list is dropped", _RECEIVER),
    Row("unicast B11", "accept: store, deliver in order up to the first gap; OOB at once",
        _RECEIVER),
    Row("unicast B12", "accept: age = 0, CLOSING -> OPEN", _RECEIVER),
    Row("unicast B13", "UNICAST3: ACK at the tick if the flag is set, at once for a batch of "
        "ack_threshold; value = highest deliverable", _RECEIVER),
    Row("unicast B14", "UNICAST4: ACK after ack_threshold counted deliveries, else at the tick",
        _RECEIVER),
    Row("unicast B15", "tick, nothing missing: the mark is forgotten", _RECEIVER),
    Row("unicast B16", "tick, missing and no mark: mark = highest missing, no request", _RECEIVER),
    Row("unicast B17", "tick, missing and a mark: request those <= mark", _RECEIVER),
    Row("unicast B18", "what became deliverable is cut off; an empty request is still sent",
        _RECEIVER),
    Row("unicast B19", "a gap is requested every tick while it exists, without limit", _RECEIVER),
    Row("unicast B20", "SEND_FIRST_SEQNO only if none was sent within sync_min_interval",
        _RECEIVER),
    Row("unicast B21", "CLOSE, same conn_id: entry removed with what is stored", _RECEIVER),
    Row("unicast B22", "CLOSE, other conn_id: ignored", _RECEIVER),
    Row("unicast B23", "idle, CLOSING, removed silently after pending ACKs", _RECEIVER),
    Row("unicast B24", "view without A: CLOSING; view with A: OPEN", _RECEIVER),
    Row("unicast B25", "window lost, A goes on: SEND_FIRST_SEQNO, window at acked+1; what had been "
        "delivered above it is delivered again", _RECEIVER),
    # -- section 6 ------------------------------------------------------------------------------
    Row("unicast P1", "the loss of a window is before the first DATA since its last sign of life",
        _PROOF),
    Row("unicast P2", "frames still arrive at a member that has died: no loss is judged on them",
        _PROOF),
    Row("unicast P3", "started late: what was before the first message or ACK is unknown", _PROOF),
    Row("unicast P4", "a resend within milliseconds of the covering ACK is a race, not a fault",
        _PROOF),
    Row("unicast P5", "purge before delivery: at S two requests in a row for what was acked; at R "
        "after a rebuilt window", _PROOF),
    Row("unicast P6", "endless: the same request five times in a row without a copy", _PROOF),
    Row("unicast P7", "needless: at R a copy of what is delivered or stored (proven)", _PROOF),
    Row("unicast P8", "between members nothing is said about delivery and loss at one of them",
        _PROOF),
    Row("unicast P9", "a lost last message is invisible at R: its resend is the first to arrive",
        _PROOF, "it looks like a late send"),
)  # fmt: skip

#: All rows by id.
ROWS: Final[Mapping[str, Row]] = {row.id: row for row in _TABLE}
