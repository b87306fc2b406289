"""The rules about zenoh: what they say.

``replay.zenoh.judges`` judges them, ``replay.zenoh.legs`` those that need several legs or captures.
"""

from typing import Final

from seqaudit.replay.contract.rule import Rule, error, info, warning

RULES: Final[tuple[Rule, ...]] = (
    warning(
        "ZN001", "samples-recovered",
        "Samples were missed and came back by a query to a cache.",
        "A gap in the sequence numbers (sn) of a source (its node's zid and its own eid there), "
        "then a reply with the missing sn that the transport accepted. A query proves that its "
        "first sn was missing, the one after a heartbeat all that it names; the others of the gap "
        "may be missing in the capture only. They came back to its node; what no frame shows to "
        "have been handed on there, as it may have been undeclared, is in delivered_unsure.",
        "Look at when and how much was missed; everything behind it waited for the recovery.",
        "zenoh.md 9.4, 11"),
    error(
        "ZN002", "samples-not-recovered",
        "Samples were missed and did not come back: the subscriber went on without them, and a "
        "miss callback was due.",
        "Replay of the subscriber: holes left when the last open query of a source ended, or when "
        "no query followed the gap within query_grace_ms; at once where a subscriber lets several "
        "gaps pass without one. "
        "Proven only by a query whose whole answer was captured. The text names the cause of each: "
        "cache too small, no cache, query lost, reply lost, not asked, too late, publisher gone; "
        "what one capture leaves open, cache_depth or a capture at the cache's end may tell. A "
        "source that was idle for retention_ms is forgotten, and what it lost with it.",
        "Give the cache more depth, or the subscriber recovery; see seqaudit show recovery.",
        "zenoh.md 9.4 \"query ends\", 11"),
    error(
        "ZN003", "last-samples-missed",
        "A heartbeat says that the publisher's last sn is higher than anything that came, and "
        "nothing more came until the capture ended: no miss callback is ever due for that.",
        "Highest sn of a heartbeat above the highest sample handed on, with no open query.",
        "Look at what happened to the query that the heartbeat triggers.",
        "zenoh.md 9.4, 11"),
    warning(
        "ZN004", "dropped-before-transport",
        "Samples are missing end to end while the transport sns of the link are contiguous: they "
        "were dropped before they got a transport sn, by congestion control at the sender, or "
        "upstream of this link.",
        "A gap in the sns of a source within which no transport sn of the direction is missing; "
        "proven if its subscriber asked for the first of them. At "
        "the publisher's own link it is the publisher's drop; elsewhere it may be any hop before, "
        "or the sender had not heard of the subscriber.",
        "Use congestion control Block, or a longer wait_before_drop, or a faster link.",
        "zenoh.md 8.4, 11"),
    warning(
        "ZN005", "frames-missing-on-link",
        "Transport sns are missing: frames were lost on the link, or by the capture.",
        "A jump of a counter by more than one, less the number that is skipped after every "
        "fragmented message and after an abandoned one. Not over TCP, where only the sender or the "
        "capture can leave a hole (then it is likely a hole in the capture).",
        "Look at the link; zenoh does not send a frame again.",
        "zenoh.md 8.3, 8.4, 11"),
    warning(
        "ZN006", "frames-discarded",
        "Frames arrived and the receiving transport threw them away: their sn was not newer than "
        "the last one.",
        "Replay of the counter: equal or older sns, by the resolution of the session.",
        "Look for reordering or duplication on the path; a long loss with a small resolution does "
        "it as well. What a late frame carried is lost as if it had been dropped.",
        "zenoh.md 8.3"),
    warning(
        "ZN007", "loss-despite-block",
        "Samples are missing although all of the source's samples are reliable and Block and no "
        "session ended: a lossy hop below the transport.",
        "QoS of the samples and channel of their frames; a gap without a Close or a new session.",
        "Reliable is only a mark: use TCP, or a cache, on lossy links.",
        "zenoh.md 8.1; missed samples document, \"Context\""),
    info(
        "ZN008", "samples-repeated",
        "Samples came again: replies repeat what also came live, and what was lost behind this "
        "point.",
        "Replay: sn at or below the last one handed on, or pending already.",
        "Nothing: open-ended queries bring what also came live, and the subscriber drops it. Each "
        "costs its bytes once more.",
        "zenoh.md 9.4 rule 9"),
    warning(
        "ZN009", "query-storm",
        "The same missing samples were asked for many times.",
        "At least 20 recovery queries of one requester for a source, each beside another in the "
        "same words, and at least three a gap. One that periodic queries repeat is no storm.",
        "Several subscribers of one node ask one by one; share a subscriber.",
        "zenoh.md 11 \"query storm\""),
    info(
        "ZN010", "empty-periodic-queries",
        "Periodic queries were answered without samples.",
        "Queries sent while nothing was missing, ended by a final without replies.",
        "Heartbeats cost less where publishers are few and subscribers many.",
        "zenoh.md 9.4 \"periodic queries\""),
    info(
        "ZN011", "control-traffic-without-loss",
        "Messages of the recovery protocol passed although the source lost nothing; the design "
        "document promises none in a stable situation.",
        "Queries, replies and heartbeats of a source without a gap.",
        "Nothing, if periodic queries or heartbeats were chosen: this is their price. Longer "
        "periods make it smaller.",
        "missed samples document, \"Context\""),
    info(
        "ZN012", "samples-without-source-info",
        "Samples carry no SourceInfo, so nobody can notice that one is missing.",
        "A Put or Del without the SourceInfo extension, and no heartbeat.",
        "Use an advanced publisher with sample miss detection.",
        "zenoh.md 9.2, 11"),
    warning(
        "ZN013", "query-timed-out",
        "A query was never ended by a ResponseFinal: everything behind the gap waited for its "
        "timeout.",
        "No final that the requester's transport accepted within the timeout of the request, or "
        "query_timeout_ms where it states none.",
        "Look for the lost frame: the query, a reply or the final.",
        "zenoh.md 9.4 \"consequences\""),
    warning(
        "ZN014", "head-of-line-wait",
        "Samples waited a second or more behind missing ones.",
        "Replay: from the first sample that was held back to its release.",
        "See what the query was waiting for.",
        "zenoh.md 9.4, 11"),
    warning(
        "ZN015", "fragments-abandoned",
        "The sender gave up a fragmented message half way.",
        "Fragments that stop, one sn skipped, then a new message; or a fragment with the Drop "
        "mark.",
        "Look for congestion on the link: ZN004 says what helps against it.",
        "zenoh.md 8.4, 8.5"),
    warning(
        "ZN016", "fragmented-message-lost",
        "A fragment was lost, and with it the whole message.",
        "Replay of the reassembly: a piece that does not follow, or a message that never ends.",
        "See ZN005; smaller messages lose less.",
        "zenoh.md 8.5"),
    info(
        "ZN017", "keys-unresolved",
        "Key expressions are numbers whose declaration was not captured; their samples are counted "
        "by source.",
        "A scope that is in no table of the session.",
        "Start the capture before the session.",
        "zenoh.md 6"),
    info(
        "ZN018", "still-missing-at-the-end",
        "The capture ended while a query for missing samples was open, or so soon behind a gap "
        "that none was to be seen yet.",
        "An open query whose timeout (or query_timeout_ms, where it states none) lies behind the "
        "last frame of the session; or a gap within the last 100 ms of what is here of it, or "
        "within query_grace_ms of the end of its subscriber.",
        "Let the capture go on until the query's timeout; whether the samples came is not in this "
        "one.",
        "zenoh.md 9.4"),
    error(
        "ZN019", "last-samples-lost-unnoticed",
        "The publisher's last samples did not reach the subscriber and nothing told it: no "
        "heartbeat, no newer sample, no miss callback.",
        "Captures of two places: the source's highest sn at the one is above all that was seen or "
        "announced at the other. It cannot be told where that capture lacks frames, or shows "
        "nothing behind them and the other one does.",
        "Use heartbeats or periodic queries.",
        "zenoh.md 9.4, 11"),
    info(
        "ZN020", "where-samples-were-lost",
        "Two legs or two captures of the same source together say between which points samples "
        "were lost.",
        "Sns of a source that were seen live at one leg and not at the next.",
        "Look at the hop that the text names.",
        "zenoh.md 11"),
    warning(
        "ZN021", "heartbeat-lost",
        "A sporadic heartbeat left the publisher and did not arrive; nothing repeats it.",
        "Captures of two places: the highest sn told by heartbeats differs.",
        "Use periodic heartbeats on lossy links.",
        "zenoh.md 9.2"),
    error(
        "ZN022", "lost-between-sessions",
        "Samples are missing between two sessions of one node: it lost its link to the source, "
        "came back by another, and nothing brought what had passed meanwhile: a miss callback was "
        "due.",
        "Two legs of one capture with the same source and receiving node, one behind the other: "
        "the second begins above what the first showed, and no reply filled that. Or a subscriber "
        "asks, in a session whose beginning was captured, for samples below the first that came: "
        "it had the source before; proven as ZN002 is.",
        "Use recovery with a cache deep enough for the time that a reconnect takes.",
        "missed samples document, \"Context\"; zenoh.md 9.4"),
    info(
        "ZN023", "document-machine",
        "What the design document's machine would have done with the captured samples: its "
        "queries, what its cache would have brought back, its control messages.",
        "With --rules document: its subscriber and cache are replayed on what came and on what is "
        "known to be missing; each of its queries and replies gets through at once. See "
        "zenoh.cache_origin, zenoh.cache_enabled, zenoh.cache_history, zenoh.periodic_query_ms and "
        "zenoh.history_query.",
        "Compare with the same audit without --rules document.",
        "missed samples document; zenoh.md 10"),
    warning(
        "ZN024", "source-id-shared",
        "The design document's machine would have dropped samples as repeats: its source id is the "
        "session's, so publishers of one session use the same sequence numbers.",
        "With --rules document: a subscriber gets samples of several publishers of one session.",
        "One publisher a session, or key expressions that no subscription joins.",
        "missed samples document, \"The ReliablePublisher\"; zenoh.md 10"),
    error(
        "ZN025", "first-samples-lost",
        "The first samples that a publisher sent to a subscriber did not reach it: it takes the "
        "first one that comes for the beginning, asks for nothing older and is told of no miss.",
        "Captures of two places: the source's lowest live sns at the one are below all that came "
        "to the other.",
        "Ask for history, or use heartbeats with recovery: these bring the whole cache.",
        "zenoh.md 9.4 rule 5"),
    error(
        "ZN026", "source-began-again",
        "A publisher began again under the same zid and entity id: its subscribers take the sns "
        "that they have had for repeats and drop these samples without a word.",
        "Two sessions of one node in turn: live sns of the later one are not above those of the "
        "earlier one.",
        "Do not configure fixed zids, or start the subscribers again as well.",
        "zenoh.md 9.4 rule 9"),
)  # fmt: skip
