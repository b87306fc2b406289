"""The rules of feeds (FD)."""

from typing import Final

from seqaudit.replay.contract.rule import Rule, error, info, warning

_SOURCE: Final = "decoders/README.md 5"

FEED: Final[tuple[Rule, ...]] = (
    warning(
        "FD001", "feed-loss-recovered",
        "Numbers of a feed were lost on the way to the place of capture and came again as repairs.",
        "A gap that a message filled which the feed's layout marks as a repair.",
        "Look at when and how much was lost; a receiver here waited for the time shown.",
        "replay/README.md 5, decoders/README.md 5"),
    error(
        "FD002", "feed-loss-not-recovered",
        "Numbers of a feed never arrived at the place of capture.",
        "A gap that was still open when its numbering or the capture ended, feed.late_ms or "
        "feed.late_numbers after it showed. Receivers of a feed never speak, so a gap here is one "
        "here: whether others had the same one, only a capture at them can say.",
        "Look whether losses come in bursts, and at the counters of interfaces, switches and "
        "socket buffers on the path.",
        "replay/README.md 5, decoders/README.md 5"),
    info(
        "FD003", "feed-reordered",
        "Messages of a feed arrived after later ones although nothing was lost.",
        "A gap that an unmarked message filled within feed.late_ms after it showed; not where the "
        "capture's time goes back.",
        "Nothing, if receivers wait that long: they put the messages in order. A receiver that "
        "waits less takes it for a loss.",
        "replay/README.md 5, decoders/README.md 5"),
    warning(
        "FD004", "feed-loss-or-lateness",
        "Numbers came so late that they may have been lost and sent again, or that somebody had "
        "asked for them by then; nothing on the wire tells which.",
        "A gap that an unmarked message filled after feed.late_ms, or after a request for it where "
        "repairs are not marked.",
        "Describe the feed's repair message in its file if it has one.",
        "replay/README.md 5"),
    info(
        "FD005", "feed-network-duplicates",
        "Datagrams of a feed came twice: from the network, or from the capturing machine.",
        "The same IP id and bytes captured again within two seconds.",
        "Look for a switching loop, a doubled mirror session or two capture interfaces.",
        _SOURCE),
    info(
        "FD006", "feed-repeated",
        "Numbers that had arrived came again, unasked and not marked as repairs, and IP ids do not "
        "show that the network repeated them.",
        "A number that had arrived, in a datagram with another IP id, with other bytes, or without "
        "an IP id (IPv6, Ethernet, or 0): the network may have delivered the same one again. Later "
        "than by two seconds nobody compares them.",
        "Look for two senders, or for lines A and B that are not declared as lines.",
        _SOURCE),
    warning(
        "FD007", "feed-tail-lost",
        "The last messages before a pause did not arrive with their neighbours: no higher number "
        "revealed it, but a heartbeat or the end of the session did.",
        "A heartbeat or an end of session names a next number above all that had arrived.",
        "If it is rare, nothing: receivers learn of it one heartbeat later and can ask. If it is "
        "frequent, look for loss at the ends of bursts.",
        _SOURCE),
    warning(
        "FD008", "feed-restarted",
        "The numbering began anew without a word: the sender was restarted, or another took over. "
        "What was lost around it cannot be told.",
        "Numbers that would be old copies (feed.restart_distance behind or more), or far ahead, "
        "went on in the new place for feed.restart_ms and 64 numbers or more, and nothing came in "
        "the old one. Behind a silence (feed.silence_ms) any lower number may begin one. Not where "
        "the capture's time goes back: its records may be out of order (CP014).",
        "Look at the sender. If its messages say when numbering begins anew, describe it.",
        "RFC 3550 A.1"),
    info(
        "FD009", "feed-reset",
        "The sender declared that its numbering begins anew.",
        "A reset message as the feed's layout describes it.",
        "Nothing, if the reset was meant to happen. What was missing before it never comes.",
        _SOURCE),
    warning(
        "FD010", "feed-two-numberings",
        "Two numberings run at the same time in what was taken for one stream.",
        "After a restart the numbering before it went on as well.",
        "Add what tells them apart (source, session) to the stream of the feed's file.",
        _SOURCE),
    warning(
        "FD011", "feed-stray-numbers",
        "Single numbers far ahead of the numbering came, and it went on as if they had not.",
        "Further ahead than a loss can be (feed.max_jump), and the next followed the old number.",
        "Look whether other traffic goes to the same group and port, or the layout is wrong.",
        _SOURCE),
    error(
        "FD012", "feed-data-after-end",
        "Messages came after the session had said that it was over.",
        "A number at or above the one that the end of session names as next, after it.",
        "Look at the sender: receivers have closed the session and miss them.",
        _SOURCE),
    warning(
        "FD013", "feed-session-not-ended",
        "A session stopped and another began in its place without an end of session: what was lost "
        "at its tail cannot be told.",
        "Same feed, group and port, another session from behind the last message of this one, and "
        "no end of session although the feed has such a message.",
        "Look whether the sender was restarted.",
        _SOURCE),
    warning(
        "FD014", "feed-request-unanswered",
        "Somebody asked for numbers again and no repair of them was captured.",
        "A request without a repair of its numbers feed.late_ms later.",
        "Look whether the repair server is alive and still has the numbers. A capture at another "
        "place than the requester may not see the repairs.",
        _SOURCE),
    info(
        "FD015", "feed-request-for-present",
        "Somebody asked for numbers that had arrived at the place of capture: it lost them behind "
        "this place, or asked needlessly.",
        "A request names numbers that had been captured.",
        "Capture at the requester to see which of the two it is.",
        _SOURCE),
    info(
        "FD016", "feed-repair-needless",
        "Repairs came that nobody had been seen asking for, of numbers that had arrived.",
        "A repair of numbers that had arrived and that no captured request names.",
        "If there are few, nothing: somebody whose requests are not captured here asked for them. "
        "If there are many, capture the requests as well.",
        _SOURCE),
    info(
        "FD017", "feed-open-at-end",
        "A gap was still open when the capture ended, too early to call it lost.",
        "Less than feed.late_ms between its revelation and the end of the capture, and no more "
        "numbers above it than overtake a message of this stream (feed.late_numbers), or somebody "
        "had asked for it.",
        "Let the capture go on for some seconds after the traffic; whether it was filled is not in "
        "this one.",
        "replay/README.md 5"),
    info(
        "FD018", "feed-outage",
        "Numbers were lost in a silence: nothing of the stream came for longer than "
        "feed.silence_ms, and what followed skips numbers.",
        "A gap between two datagrams of a stream that are more than feed.silence_ms apart. Where "
        "no other stream went on meanwhile the capture may have stood still, or its clock was set.",
        "Look for a failed link, a re-converging network, or a multicast group that was left at "
        "that time.",
        _SOURCE),
    info(
        "FD019", "feed-silence",
        "Nothing, not even a heartbeat, came for long, and nothing was lost.",
        "In a stream with heartbeats a pause without any datagram, five times as long as any other "
        "of it and as feed.silence_ms, in a capture at least four times as long. Where no other "
        "stream went on meanwhile the capture may have stood still, or its clock was set.",
        "Look whether the sender stood still at that time.",
        _SOURCE),
    warning(
        "FD020", "feed-count-uncertain",
        "More numbers were lost at once than a small number space tells apart for sure: the "
        "numbering may have begun anew, or wrapped more than once.",
        "In a space of 16 bits a loss of 3000 numbers or more (RFC 3550), of 8 bits one of 11, of "
        "4 bits any; or one in a silence (feed.silence_ms) in which all of them could have been "
        "sent.",
        "Use the stream's timestamps or the sender's own counters to learn the number.",
        "RFC 3550 A.1"),
    info(
        "FD021", "feed-too-late-to-tell",
        "Messages came so far behind that nobody can tell whether their numbers were missing.",
        "More than 131,072 gaps were revealed since then.",
        "Audit a shorter capture around the time.",
        "pipeline/README.md 2"),
    error(
        "FD022", "feed-lost-on-both-lines",
        "Numbers arrived neither on line A nor on line B, nor as a repair: the only real loss.",
        "Missing on both lines, from where both have begun. Never proven: a capture that stood "
        "still while both lines brought a number, or dropped it of both, looks the same. It is an "
        "error and likely all the same, also where both lines stop in one stretch: in a capture of "
        "two lines that go in step nearly all that is lost on both looks so, and a loss that "
        "nobody hears of is worse.",
        "Look for what the two lines share, and whether other traffic of the capture goes on "
        "between the frames around the gap: where nothing does, suspect the capture first.",
        "decoders/README.md 5"),
    info(
        "FD023", "feed-lost-on-one-line",
        "Numbers were lost on one line and came on the other: no receiver of both missed them.",
        "Missing on one line, arrived on the other, from where both have begun.",
        "Look at the path of that line: until it is repaired, a loss on the other is real.",
        "decoders/README.md 5"),
    warning(
        "FD024", "feed-line-missing",
        "Of two lines that carry the same feed, one was not captured, or fell silent before the "
        "other.",
        "No message of a declared line; or none in the last feed.silence_ms or more in which the "
        "other line went on. From there on the two are not compared.",
        "Join both groups at the place of capture; look whether the line is down.",
        "decoders/README.md 5"),
    warning(
        "FD025", "feed-jitter",
        "The jitter of a stream went over the limit given.",
        "Interarrival jitter, as RTP measures it (RFC 3550), above feed.max_jitter_us; judged only "
        "if that is given. A difference of a second and more is a clock that was set, and counts "
        "nowhere; the first one that would pass the limit alone may be.",
        "Look for congestion on the path at that time.",
        "RFC 3550 6.4.1, A.8"),
    warning(
        "FD026", "feed-line-lag",
        "One line came later than the other by more than the limit given.",
        "The 99th percentile of its lag behind the other line, over the numbers that the other "
        "brought first; judged only if feed.max_lag_us is given.",
        "Look at the path of the line that lags.",
        "decoders/README.md 5"),
    info(
        "FD027", "feed-counts-disagree",
        "Datagrams whose message blocks do not add up to the number of messages they claim.",
        "The count field against the lengths of the blocks, where the layout describes them. "
        "Numbers are counted by the count field.",
        "Look at the sender; or the payload is no message blocks, and nothing is wrong.",
        "decoders/README.md 5"),
    info(
        "FD028", "feed-request-of-unknown-stream",
        "Requests or repairs that name no group, where several streams or none could be meant; "
        "they are counted and judged nowhere.",
        "No stream, or not exactly one, with the same key fields misses the numbers.",
        "Give the session of each group a name of its own, or put the group into the messages.",
        "decoders/README.md 5"),
    warning(
        "FD029", "feed-left-out-between-connections",
        "A client came back to a session beyond what it had been sent: what lies between came on "
        "none of its connections in the capture.",
        "Of a feed whose numbers a login tells: the first number of a connection against the "
        "highest of those of the same client and session that had ended before.",
        "Look at which number the client asks for when it logs in again; or capture all of its "
        "connections.",
        "decoders/README.md 5"),
)  # fmt: skip
