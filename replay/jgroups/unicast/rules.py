"""The rules about UNICAST3 and UNICAST4, part of the registry in ``rules`` (replay/README.md 3)."""

from typing import Final

from seqaudit.replay.contract.rule import Rule, error, info, warning

UNICAST: Final[tuple[Rule, ...]] = (
    warning(
        "UC001", "unicast-loss-recovered",
        "Unicast messages were missing at their receiver, asked for, and came: lost on the path, "
        "late, or dropped inside the receiver.",
        "At the receiver: its own request names them, and then they come, or its ACK or a later "
        "request shows that they came though the repair is not in the capture (proven, if its own "
        "ACKs' timestamps, which releases from 3.5.1 have, leave no SEND_FIRST_SEQNO out of the "
        "time since the message before: a window that had them may have been lost with it); or a "
        "resend fills the gap that nobody was seen to ask for (likely). Of what was sent before "
        "the capture began, it cannot be told.",
        "Look at when and how much was lost; recovery took the time shown.",
        "jgroups.md 4.4, 6"),
    error(
        "UC002", "unicast-loss-not-recovered",
        "Unicast messages are known to exist and had not arrived when the capture or their "
        "connection ended: by then the application had not got them, nor anything behind them.",
        "At the receiver: its own requests name them to the end of the capture or connection, and "
        "no copy comes. That none came later, or passed elsewhere, is never proven: likely at "
        "most; how often they were asked for in vain is proven by UC011.",
        "See whether the sender answers requests, has purged the messages, or is dead.",
        "jgroups.md 4.4, 6"),
    warning(
        "UC003", "first-message-lost",
        "The first message of a connection was lost or late: the receiver had no window when the "
        "next ones came.",
        "At the receiver: messages without a window, a SEND_FIRST_SEQNO, then the first message "
        "arrives newer than those; proven if the numbers of the receiver's own ACKs leave none out "
        "meanwhile. At the sender: a SEND_FIRST_SEQNO while nothing was "
        "acknowledged, or resends of seqno 1; whether the message or its ACK was lost cannot be "
        "told there.",
        "If it is rare, nothing: it costs one round trip, or one to two ticks of xmit_interval. "
        "Otherwise look for loss when connections begin.",
        "jgroups.md 4.3, 4.4; UNICAST3 document, \"Motivation\""),
    info(
        "UC004", "last-message-resent",
        "The highest message was resent at ticks of xmit_interval because no ACK for it came: it, "
        "or its ACKs, were lost or late.",
        "At the sender: resends of the highest seqno, then the ACK, and no gap below it that was "
        "asked for in time; or resends that stop though the sender lives, so that the ACK came and "
        "is not in the capture. Whether the message or its ACK was lost or late needs both ends; a "
        "receiver alone cannot tell the resend of a lost last message from a late send.",
        "Compare with a capture at the receiver: a first copy there is late or lost here.",
        "jgroups.md 4.3 \"tick\", 6 \"lost last message\"; UNICAST3 document, \"Design\""),
    info(
        "UC005", "unicast-needless-retransmission",
        "Messages were sent again to a receiver that had them.",
        "At the receiver: a copy of what is delivered or stored; proven if it came in a newer "
        "datagram (IP id), 20 ms or more after the receiver's own ACK for it, and no new window "
        "was asked for between. At the sender: a copy after the ACK for it had come.",
        "Look for lost or late ACKs (UC006) and for reordering.",
        "jgroups.md 6"),
    warning(
        "UC006", "unicast-ack-lost-or-late",
        "The sender resent what this member had acknowledged a while before: its ACK was lost or "
        "late on the path.",
        "At the receiver: a copy of the highest message arrives well after the ACK for it was "
        "sent.",
        "Look at the path back to the sender.",
        "jgroups.md 6 \"spurious caused by lost/late ACK\""),
    info(
        "UC007", "acks-out-of-order",
        "ACKs or SEND_FIRST_SEQNO arrived out of order, by their timestamps; the sender rightly "
        "ignores them.",
        "At the sender: a timestamp that is not newer than that of the last accepted one; proven "
        "beyond the 20 ms within which a capturing machine may exchange two frames.",
        "Look for reordering on the path.",
        "jgroups.md 4.2, 4.3; UNICAST3-SYNC document"),
    info(
        "UC008", "stale-ack-ignored",
        "A stale ACK covered messages that the receiver may not have any more; it was rightly "
        "ignored (JGRP-1873, JGRP-1875).",
        "At the sender: an ACK out of order by its timestamp, above the acknowledged level. Proven "
        "if the sender then resends what the ACK covers.",
        "Nothing: the timestamps have done their work, and the messages stay with the sender.",
        "jgroups.md 4.2, 6; UNICAST3-SYNC document"),
    error(
        "UC009", "stale-ack-honoured",
        "The sender obeyed a stale ACK and purged messages that the receiver does not have "
        "(JGRP-1873, JGRP-1875).",
        "At the sender: an ACK out of order by its timestamp, and repeated requests for what only "
        "it covers stay without a copy.",
        "Use a release from 3.5.1 on; nothing repairs this connection but a new one.",
        "jgroups.md 6 \"stale ACK accepted\"; UNICAST3-SYNC document"),
    error(
        "UC010", "purged-before-delivery",
        "The sender has purged messages that the receiver still asks for; they are lost "
        "(JGRP-1873, JGRP-1875).",
        "At the sender: two or more requests in a row for what an accepted ACK covers, with no "
        "copy (likely). At the receiver: the same, after it had acknowledged them with an earlier "
        "window of the connection; proven, three requests on, are the requests, and that no copy "
        "entered the new window.",
        "Use a release from 3.5.1 on, which ignores stale ACKs; what was purged cannot come back.",
        "jgroups.md 6 \"purge before delivery\"; UNICAST3-SYNC document, \"Issue\""),
    error(
        "UC011", "endless-requests",
        "The same messages are asked for again and again and no copy comes (JGRP-1873).",
        "Five or more requests in a row naming the same seqnos without a copy, while the sender "
        "is alive: no copy entered the receiver's window. That none was sent is likely, and only "
        "seen at the sender.",
        "See UC010; the connection must be closed to end it.",
        "jgroups.md 6 \"endless retransmission\""),
    info(
        "UC012", "send-first-seqno",
        "A receiver had no window for a connection and asked for its first message.",
        "A SEND_FIRST_SEQNO.",
        "Look at what UC003 and UC015 say of this connection: they tell why there was no window.",
        "jgroups.md 4.4; UNICAST3-SYNC document"),
    warning(
        "UC013", "send-first-seqno-storm",
        "SEND_FIRST_SEQNO were sent more often than sync_min_interval allows (JGRP-1874).",
        "Two to the same peer closer than 80 % of unicast.sync_min_interval_ms less 50 ms.",
        "Check sync_min_interval of the receiver; releases before 3.5.1 have none.",
        "jgroups.md 4.4, 6; UNICAST3-SYNC document (JGRP-1874)"),
    warning(
        "UC014", "send-first-seqno-unanswered",
        "A SEND_FIRST_SEQNO was not answered although the sender had unacknowledged messages.",
        "At the sender: accepted by its timestamp, window not empty, the sender goes on for more "
        "than a second, and no message with first = 1 comes to the end. At the receiver: another "
        "one had to be sent with no first message in between; whether the request or the answer "
        "was lost cannot be told there.",
        "Look at the path, and whether the sender is alive.",
        "jgroups.md 4.3, 6"),
    warning(
        "UC015", "window-lost-at-receiver",
        "The receiver lost its window for a connection that goes on: reaped as idle, closed by a "
        "view without the sender, or by a fault.",
        "SEND_FIRST_SEQNO for a connection that had been delivered (at the receiver) or "
        "acknowledged (at the sender) before. Proven at the receiver by an own ACK that is lower "
        "than an earlier one and numbered after it, or by a request for what it had acknowledged.",
        "Give both ends the same conn_expiry_timeout and conn_close_timeout; look for "
        "asymmetric views.",
        "jgroups.md 4.4, 6; UNICAST3-SYNC document, \"Issue\""),
    warning(
        "UC016", "send-first-seqno-wrongly-answered",
        "The answer to a SEND_FIRST_SEQNO was not the lowest unacknowledged message.",
        "At the sender: a copy with first = 1 whose seqno is below acked + 1. A higher one shows "
        "that an ACK came which is not in the capture.",
        "Another implementation or a fault of the sender.",
        "jgroups.md 4.3, 6 \"wrong answer\""),
    warning(
        "UC017", "unexplained-resend",
        "A message was sent again although no rule of the sender asks for it.",
        "At the sender: a copy that answers no request or SEND_FIRST_SEQNO and is not the highest "
        "unacknowledged message.",
        "The capture may miss the request; else another implementation.",
        "jgroups.md 4.3"),
    info(
        "UC018", "unicast-ack-overdue",
        "A message was acknowledged later than the guaranteed time.",
        "At the receiver: from an arrival to the next ACK more than a tick of xmit_interval, with "
        "20 % and 50 ms of tolerance; or 200 ms after ack_threshold was reached (UNICAST3: a list "
        "of as many messages; UNICAST4: as many deliveries, judged if unicast.ack_threshold or "
        "unicast.capacity is given).",
        "Look at the receiving process: garbage collection, thread pool, CPU; over TCP the tick "
        "may wait for a connection to a member that is not there.",
        "jgroups.md 4.4; UNICAST3 document, \"guaranteed max time\""),
    warning(
        "UC019", "resend-overdue",
        "The highest unacknowledged message was not resent within the guaranteed time.",
        "At the sender: acked < sent without change for more than two ticks of xmit_interval, with "
        "20 % and 50 ms of tolerance, and then it was resent: had its ACK come meanwhile, and only "
        "not been captured, it were not.",
        "Look at the sending process: garbage collection, CPU.",
        "jgroups.md 4.3 \"tick\"; UNICAST3 document, \"guaranteed max time\""),
    info(
        "UC020", "connection-closed",
        "A connection was closed by its sender.",
        "A CLOSE; proven if another frame names the connection too.",
        "Nothing: a connection that was idle for conn_expiry_timeout is closed so.",
        "jgroups.md 4.3, 4.4"),
    warning(
        "UC021", "close-lost",
        "A new connection began although the old one had not been closed here: its CLOSE was lost, "
        "or the sender removed it without one.",
        "At the receiver: a message with another conn_id and first = 1, no CLOSE of the old one. "
        "Idle connections close after conn_expiry_timeout and conn_close_timeout.",
        "If it is rare, nothing: the receiver replaces the window. If it is frequent, look for "
        "loss of CLOSE messages or for expiry that is too short.",
        "jgroups.md 4.4, 6 \"connection reset\""),
    info(
        "UC022", "new-connection",
        "A sender opened another connection to the same member.",
        "A conn_id that follows another one in the same direction; proven if two frames name each "
        "of them.",
        "Nothing, if the connection was closed, or its sender restarted, before. If it is "
        "frequent, look for a conn_expiry_timeout that is too short.",
        "jgroups.md 4.2"),
    warning(
        "UC023", "redelivery",
        "Messages were delivered to the application a second time, because the window was rebuilt "
        "where their ACK had not counted.",
        "At the receiver: seqnos accepted by a new window of the connection that an earlier one "
        "had delivered (proven).",
        "The application must bear duplicates after a window was lost; see UC015.",
        "jgroups.md 4.4 \"after the window was lost\""),
    warning(
        "UC024", "unicast-sender-blocked",
        "The send window was full: the sender's threads waited for ACKs (UNICAST4).",
        "Highest sent - acknowledged reached unicast.capacity, and the next new seqno came only "
        "after an ACK made room; if it came later than block_proof_ms after that ACK, the time is "
        "an upper bound. Likely: an ACK may not be in the capture.",
        "The receiver is slow or its ACKs are lost.",
        "jgroups.md 4.3"),
    warning(
        "UC025", "unicast-window-overrun",
        "More messages were unacknowledged than the window holds.",
        "Highest sent - acknowledged above unicast.capacity.",
        "Check unicast.capacity against the sender's configuration.",
        "jgroups.md 4.3"),
    warning(
        "UC026", "unacknowledged-at-end",
        "Messages were still unacknowledged when the capture ended.",
        "At the sender: acked < sent for three ticks of xmit_interval or more before the end, and "
        "resends to the end: a tick resends until the ACK comes, so silence shows that it came and "
        "was not captured (UC004). The ACK may also be missing in the capture: likely.",
        "See whether the peer is alive.",
        "jgroups.md 4.3"),
    warning(
        "UC027", "peer-silent",
        "The peer stopped: messages for it stay without any answer.",
        "At the sender: the highest message is resent four times or more and nothing comes from "
        "the peer any more. At the peer's interface: messages arrive and it sends nothing. If the "
        "capture holds nothing at all that the peer sent, it may just not be captured: cannot be "
        "told.",
        "Look at the peer's process.",
        "jgroups.md 6 \"dead or stopped processes\""),
    warning(
        "UC028", "closed-with-unacknowledged",
        "A connection was removed with messages that were never acknowledged; if the peer has "
        "not got them they are lost.",
        "At the sender: CLOSE, or a new conn_id, while acked < sent, and no silence of more than "
        "two ticks of xmit_interval before it, which would show that the ACK came. Likely.",
        "Look why the peer did not acknowledge; raise conn_close_timeout.",
        "jgroups.md 4.3 \"tick\""),
    info(
        "UC029", "unicast-network-duplicates",
        "The network delivered datagrams twice.",
        "The same IP id and bytes captured again within a second.",
        "Look for a switching loop, a doubled mirror session or two capture interfaces.",
        "jgroups.md 6"),
    info(
        "UC030", "unicast-reordering",
        "Messages arrived after later ones although nothing was lost.",
        "The gap was filled before anybody can have asked, or by a datagram that is older by its "
        "IP id than the one that revealed the gap (proven from 20 ms, within which a capturing "
        "machine may exchange two frames, to 1 s later, the longest pause between not counted).",
        "Nothing, as long as nobody asks for them (UC032): the receiver puts them in order.",
        "jgroups.md 6, replay/README.md 5"),
    warning(
        "UC031", "unicast-request-unanswered",
        "A sender that had the messages did not answer a request for them.",
        "At the sender: an xmit-request for unacknowledged messages, the sender goes on for more "
        "than a second, and no copy comes to the end of the connection or capture.",
        "Look at the sending process.",
        "jgroups.md 4.3"),
    info(
        "UC032", "unicast-spurious-request",
        "A member asked for messages that it had, or that were only late.",
        "At the receiver: the request names seqnos that its window holds.",
        "If it is rare, nothing: a request and some copies are the only cost. Otherwise look for "
        "reordering.",
        "jgroups.md 6"),
    info(
        "UC033", "unicast-open-at-end",
        "A gap was still open when the capture ended, too early to call it lost.",
        "Less than three ticks of xmit_interval between its revelation and the end of the capture. "
        "That it was asked for, and no copy captured, is proven; that none came is not.",
        "Let the capture go on for some seconds after the traffic; whether it was filled is not in "
        "this one.",
        "jgroups.md 4.4"),
    warning(
        "UC034", "unicast-dropped-inside-receiver",
        "This member asked for messages that had arrived at its interface: they were lost inside "
        "it (full queue, socket buffer, DISCARD), not on the network.",
        "At the receiver: an xmit-request names seqnos that arrived well before and that no ACK "
        "covers. Proven if they came before all that told of them, so that what came later was "
        "read and they were not, frames before and after the request name the connection, and "
        "nothing but its own interface shows what the capture holds, or --at says so.",
        "Look at the receiver: socket buffer, thread pool, transport queue.",
        "jgroups.md 4.4, 6"),
    warning(
        "UC035", "unicast-request-too-early",
        "A member asked for messages before a second tick of xmit_interval had missed them.",
        "Request within 80 % of xmit_interval less 50 ms of the gap's revelation; judged only if "
        "unicast.xmit_interval_ms is given.",
        "Check the configuration; another implementation may be in use.",
        "jgroups.md 4.4"),
    warning(
        "UC036", "unicast-request-oversized",
        "An xmit-request names more seqnos than max_xmit_req_size.",
        "Number of seqnos in the request, with unicast.max_xmit_req_size given.",
        "Check the configuration of the requester.",
        "jgroups.md 4.1"),
    info(
        "UC037", "ack-overhead",
        "There was an ACK for every one or two messages.",
        "At least 50 ACKs and fewer than two messages for each.",
        "Raise ack_threshold, or let the sender bundle messages.",
        "jgroups.md 6 \"ack traffic ratio\"; UNICAST3 document, \"Motivation\""),
    info(
        "UC038", "ack-of-other-connection",
        "ACKs came for a connection that is not the current one; they are rightly ignored.",
        "At the sender: an ACK with another conn_id, or for no connection that is open.",
        "Nothing: the sender ignores them, and the ACKs of the current connection count.",
        "jgroups.md 4.3"),
    warning(
        "UC039", "dropped-without-window",
        "Messages arrived for which there was no window, and were dropped: in releases before "
        "4.1.5, or in a list while the window was another connection's (UNICAST3).",
        "At the receiver: no window, no first message, and a release without the message cache; or "
        "a list with another conn_id and no first message.",
        "They are asked for once the window exists.",
        "jgroups.md 3, 4.4"),
    warning(
        "UC040", "unicast-outside-window",
        "Messages arrived that the receive window could not hold; the receiver drops them "
        "(UNICAST4).",
        "seqno above delivered + capacity, with unicast.capacity given.",
        "The two ends have different capacities.",
        "jgroups.md 4.4"),
    info(
        "UC041", "unicast-sent-out-of-order",
        "The sender put seqnos on the wire out of order (several threads).",
        "At the sender's own interface a seqno is first seen after a higher one.",
        "Nothing, as long as nobody asks for what is only late (UC032): the receiver puts them in "
        "order.",
        "jgroups.md 5.6"),
    info(
        "UC042", "ack-sooner-than-minimum",
        "ACKs followed each other sooner than the UNICAST3 document's minimum time allows.",
        "At the receiver: two ACKs of one connection closer than 80 % of "
        "unicast.min_ack_interval_ms less 50 ms; judged only by the documents' rules, because the "
        "shipped code has no minimum.",
        "Nothing: the minimum is the document's, and the shipped code acknowledges at ticks and at "
        "ack_threshold.",
        "UNICAST3 document, \"Design\""),
    info(
        "UC043", "needless-resends-by-both-ends",
        "Messages were sent again after they had arrived, as the captures of both ends show.",
        "A copy leaves the sender later than the message first came to the receiver, beyond what "
        "is not known of the difference of the two clocks (bounded by the datagrams that both "
        "captures hold).",
        "Look for lost or late ACKs (UC006), lost windows (UC015) and reordering.",
        "jgroups.md 6 \"spurious (needless) retransmission\", S+R"),
    info(
        "UC044", "send-first-seqno-redundant",
        "A SEND_FIRST_SEQNO asked for a message that had been resent already.",
        "At the receiver: it left within 20 ms after a first message came that answers an earlier "
        "one. At the sender: it is answered with the message of the answer before, with nothing "
        "acknowledged in between; whether that answer was lost cannot be told there.",
        "If it is rare, nothing: one message more is the only cost. If it is frequent, see UC013.",
        "UNICAST3-SYNC document, \"Goals\" (JGRP-1874)"),
    info(
        "UC045", "unicast-retransmit-efficiency",
        "Most resent copies were of messages that the receiver had.",
        "At the receiver: ten copies or more, network duplicates left out, and more than half of "
        "them of what is delivered or stored.",
        "Look for lost or late ACKs (UC006); compare xmit_interval with the round trip.",
        "jgroups.md 6 \"retransmit efficiency\""),
    info(
        "UC046", "unicast-slow-recovery",
        "Lost messages came much later than one request and one answer take.",
        "At the receiver: from the moment when the gap showed to its repair more than four ticks "
        "of xmit_interval; a gap is asked for within two.",
        "See whether requests or answers are lost, or the sender is slow.",
        "jgroups.md 4.4, 6 \"slow recovery\""),
    warning(
        "UC047", "views-disagree",
        "A member removed another from its view, and not the other way round: the other goes on "
        "sending to it (an asymmetric split).",
        "At the receiver: a view without the sender is installed, and its messages come more than "
        "a tick of xmit_interval later. Likely: a view that brings it back may not be in the "
        "capture.",
        "Look for a path that is cut in one direction, and for UC015 when it heals: the window is "
        "closed at one end only.",
        "UNICAST3-SYNC document, \"Issue\""),
    warning(
        "UC048", "unicast-asked-for",
        "A member lacked messages and asked for them, as a capture shows that is not its own.",
        "At the sender, or between: an xmit-request names what its member's window lacks and what "
        "passed while it had that window. What was acknowledged before is left out; of the rest it "
        "cannot be told (info). Likely, if numbers of its own messages are missing: a "
        "SEND_FIRST_SEQNO may be among them, and the window another one.",
        "Capture at the member that asked, or give that capture as well: it shows whether they "
        "were lost, late or dropped inside, and whether they came.",
        "jgroups.md 4.4"),
)  # fmt: skip
