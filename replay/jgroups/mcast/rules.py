"""The rules about MCAST and NAKACK, part of the registry (replay/README.md 3)."""

from typing import Final

from seqaudit.replay.contract.rule import Rule, error, info, warning

MCAST: Final[tuple[Rule, ...]] = (
    warning(
        "MC001", "loss-recovered",
        "Multicast messages were missing at this member, asked for, and came: lost on the path, "
        "late, or dropped inside it.",
        "Its own request names them, and then they come, or its ACK or a later request shows that "
        "they came though the repair is not in the capture (proven); or a repair that another "
        "member asked for fills the gap, or they had come while their sender was out of the view "
        "(likely). Of what was sent before the capture or "
        "the window began, it cannot be told.",
        "Look at when and how much was lost; recovery took the time shown.",
        "jgroups.md 5.4, 6"),
    error(
        "MC002", "loss-not-recovered",
        "Messages are known to exist and had not arrived when the capture ended: by then this "
        "member's application had not got them, nor anything behind them.",
        "Its own requests name them to the end, or the window was removed with the gap. That none "
        "passed the place of capture is never proven: likely at most.",
        "With NAKACK2 the last message is repaired only by STABLE; with NAKACK4 look for a dead "
        "sender or a blocked path.",
        "jgroups.md 5.4, 5.5"),
    warning(
        "MC003", "last-message-lost",
        "The last message before a pause was lost or late: no higher seqno revealed it, "
        "HIGHEST_SEQNO did.",
        "This member asks for it within 20 ms of the HIGHEST_SEQNO that names it (proven); who "
        "does not ask has it.",
        "If it is rare, nothing: it is asked for and delayed by one to two ticks of xmit_interval. "
        "If it is frequent, look for loss at the ends of bursts.",
        "jgroups.md 5.3, 5.5"),
    info(
        "MC004", "needless-retransmission",
        "Messages were sent again to a member that had them.",
        "At the receiver: a copy, in a datagram of its own, of a seqno that is delivered or "
        "stored; proven if, newer by its IP id, it came well after this member's own ACK. At the "
        "sender: a copy although all who asked had acknowledged it. Else likely: another datagram "
        "of it, or a request, may not be in the capture.",
        "With use_mcast_xmit every member gets the repairs of one; use unicast repairs if only "
        "some members lose messages.",
        "jgroups.md 6"),
    warning(
        "MC005", "dropped-inside-receiver",
        "This member asked for messages that had arrived at its interface: they were lost inside "
        "it (full queue, socket buffer, DISCARD), not on the network.",
        "An xmit-request by the tick rule (what a tick of xmit_interval finds missing twice is "
        "asked for) names a seqno that arrived before, and no ACK or digest covers it before the "
        "copy. Proven if it came well before and before all that told of it: what came later was "
        "read, and it was not; and if nothing but its own interface shows what the capture holds, "
        "or --at says so. What was delivered then cannot be told.",
        "Look at the receiver: socket buffer, thread pool, transport queue.",
        "jgroups.md 5.4, 6"),
    warning(
        "MC006", "sender-blocked",
        "The send window was full: the sender's threads waited for ACKs.",
        "Highest sent - minimum ACK reached mcast.capacity, and the next new seqno came only after "
        "an ACK (or a view) made room; if it came later than block_proof_ms after that ACK, the "
        "time is an upper bound. Visible at the sender only.",
        "Find the member whose ACK made room: it is slow, or its ACKs are lost.",
        "jgroups.md 5.3; MCAST document, \"On sending of message M\""),
    warning(
        "MC007", "window-overrun",
        "More messages were unacknowledged than the window holds: the capacity given is wrong, or "
        "the sender does not obey it.",
        "Highest sent - minimum ACK above mcast.capacity, with no view that explains it.",
        "Check mcast.capacity against the sender's configuration.",
        "jgroups.md 5.3"),
    warning(
        "MC008", "ack-lost-or-late",
        "A member's ACK came only after the sender had multicast HIGHEST_SEQNO, although the "
        "member had asked for nothing: its earlier ACK was lost on the path, or it was late.",
        "At the sender: ACK below HIGHEST_SEQNO when it is multicast at a tick of xmit_interval, "
        "no xmit-request of that member, ACK at or above it afterwards. Which of the two it was "
        "cannot be told at the sender alone.",
        "Compare with a capture at that member: an ACK there and not here was lost.",
        "jgroups.md 5.4 (JGRP-2874), 6"),
    info(
        "MC009", "view-change",
        "The membership changed.",
        "A VIEW was multicast, or told to a joiner by JOIN_RSP.",
        "Nothing, if members were meant to join or leave. If not, look at the failure detection of "
        "the member that went.",
        "jgroups.md 2.6, 5.4"),
    info(
        "MC010", "network-duplicates",
        "The network delivered datagrams twice.",
        "The same IP id and bytes captured again within a second.",
        "Look for a switching loop, a doubled mirror session or two capture interfaces.",
        "jgroups.md 6"),
    info(
        "MC011", "reordering",
        "Messages arrived after later ones although nothing was lost.",
        "The gap was filled before anybody can have asked, or by a datagram that is older by its "
        "IP id than the one that revealed the gap (proven from 20 ms, within which a capturing "
        "machine may exchange two frames, to 1 s later, the longest pause between not counted).",
        "Nothing, as long as nobody asks for them (MC013): the receiver puts them in order.",
        "jgroups.md 6, replay/README.md 5"),
    info(
        "MC012", "sent-out-of-order",
        "The sender put seqnos on the wire out of order (several threads, send_atomically off).",
        "At the sender's own interface a seqno is first seen after a higher one.",
        "Set send_atomically=true if it provokes requests.",
        "MCAST document, \"Misc\"; jgroups.md 5.6"),
    info(
        "MC013", "spurious-request",
        "A member asked for messages that it had, or that were only late.",
        "The request names seqnos that this member had acknowledged, had received a moment before, "
        "or acknowledged before a copy came.",
        "If it is rare, nothing: a request and some copies are the only cost. Otherwise look for "
        "reordering or a sender that sends out of order.",
        "MCAST document, \"Misc\"; jgroups.md 6"),
    info(
        "MC014", "open-at-end",
        "A gap was still open when the capture ended, too early to call it lost.",
        "Less than three ticks of xmit_interval between its revelation and the end of the capture. "
        "That it was asked for, and no copy captured, is proven; that none came is not.",
        "Let the capture go on for some seconds after the traffic; whether it was filled is not in "
        "this one.",
        "jgroups.md 5.4"),
    warning(
        "MC015", "request-unanswered",
        "A member asked for the same messages again and again and no copy came.",
        "The same xmit-request five times or more without a copy; the capture may miss a copy at "
        "the sender, and at the receiver all of them may have been lost.",
        "Look whether the sender is alive and whether it has purged the messages.",
        "jgroups.md 6 (JGRP-1873)"),
    warning(
        "MC016", "request-too-early",
        "A member asked for messages before a second tick of xmit_interval had missed them.",
        "Request within 80 % of xmit_interval less 50 ms of the gap's revelation; judged only if "
        "mcast.xmit_interval_ms is given.",
        "Check the configuration; another implementation may be in use.",
        "jgroups.md 4.4, 5.4"),
    warning(
        "MC017", "outside-window",
        "Messages arrived that the receive window could not hold; the receiver drops them.",
        "seqno above low + capacity, with mcast.capacity given.",
        "The sender's capacity is larger than the receiver's, or its view of the ACKs is wrong.",
        "jgroups.md 5.4; MCAST document, \"On reception of message M\""),
    info(
        "MC018", "outside-membership",
        "Messages arrived while this member was no member, or from a sender outside its view; "
        "they are rightly not delivered.",
        "Before the JOIN_RSP, where they are more than become_server_queue_size, after the view "
        "without this member, or after the view without the sender.",
        "Nothing: they are no messages for it. If it goes on, the two members have different "
        "views: look at their logs.",
        "jgroups.md 5.4"),
    warning(
        "MC019", "sender-gone-with-messages",
        "The sender left the view while messages of it were missing here.",
        "Its window was removed with open gaps.",
        "Compare with the other members: if they have the messages, the application's state "
        "differs.",
        "jgroups.md 5.4"),
    info(
        "MC020", "ack-of-non-member",
        "ACKs came from members that are not in the sender's view; they are rightly ignored.",
        "An ACK from a UUID that is not among the members whose ACKs the sender counts.",
        "Nothing, just before or after a view change. If it goes on, the two members have "
        "different views: look at their logs.",
        "jgroups.md 5.3 (JGRP-2904)"),
    error(
        "MC021", "skipped-by-merge",
        "A merge moved this member's window forward; the messages in between are never delivered.",
        "A MergeView's digest is above the seqno that this member had delivered, now or when the "
        "sender left its view. Those that were asked for are lost; those that came, before what "
        "they waited for or while their sender was out of the view, are not; of the others it "
        "cannot be told whether they came, as the capture may have missed them. A merge that the "
        "capture lacks may come while somebody is out of the installed view, that view or a newer "
        "one is not in the capture, or no multicast is; else merge_min_interval after the last "
        "word of the window at the soonest: what was missing then and was acknowledged later "
        "cannot be told.",
        "The application must transfer state after a merge.",
        "jgroups.md 5.4 \"digest\""),
    warning(
        "MC022", "request-oversized",
        "An xmit-request names more seqnos than max_xmit_req_size.",
        "Number of seqnos in the request.",
        "Check the configuration of the requester.",
        "jgroups.md 5.1, 5.4"),
    warning(
        "MC023", "ack-overdue",
        "This member did not acknowledge what it had delivered when its ack schedule says so: it "
        "was paused, overloaded or dead. Its senders may block on it.",
        "At the receiver: delivered messages without an ACK for longer than a tick of "
        "xmit_interval (with 20 % and 50 ms of tolerance), or for 200 ms after ack_threshold "
        "deliveries where it is known.",
        "Look at the process: garbage collection, thread pool, CPU.",
        "jgroups.md 5.4 \"delivering n messages\""),
    warning(
        "MC024", "asked-for",
        "A member lacked messages and asked for them, as a capture shows that is not its own.",
        "At the sender, or between: an xmit-request names what its member's window lacks and what "
        "passed while it had that window, by the views or by its own words before. What was "
        "acknowledged before is left out; of the rest it cannot be told (info).",
        "Capture at the member that asked, or give that capture as well: it shows whether they "
        "were lost, late or dropped inside, and whether they came.",
        "jgroups.md 5.4"),
)  # fmt: skip
