"""The rules about captures themselves, part of the registry (replay/README.md 3).

CP014 of a clock that was set forward asks the times that raims daemons send: two clocks at least,
in nearly every message. Others show none. zenoh's timestamps are off by default, and where a router
adds them they are one clock, that follows the highest it hears; JGroups sends none; RTP's counts
the samples of one sender, who may pause; TCP's (TSval) are not decoded. A single clock that jumps
against the capture's may have been set itself. Waits are proven without it: the longest pause
between two frames does not count in them (``replay.sequence.elapsed``).

Two codes are kept for rules that there are not. CP018, files in the wrong order: the report is the
same in whatever order files are given, so it cannot say it; the command does, on stderr. CP019, the
capture stood still or the clock was set forward: a time at which nothing was captured shows neither
by itself, and no rhythm of everything that was captured is kept to compare it with.
"""

from typing import Final

from seqaudit.replay.contract.rule import Rule, error, info, warning

CAPTURE: Final[tuple[Rule, ...]] = (
    warning(
        "CP001", "capture-cut",
        "The file ends in the middle of a record.",
        "The last record's header claims more bytes than the file has.",
        "Stop the capture tool before copying the file; what came after the cut is not audited.",
        "decoders/README.md 1"),
    warning(
        "CP002", "damaged-stretch",
        "Bytes in the middle of the file are no capture records and were skipped.",
        "A record header is impossible; reading goes on at the next chain of believable records.",
        "Get the file again. Losses reported around the stretch may be losses of the file.",
        "decoders/README.md 2"),
    warning(
        "CP003", "capture-dropped-packets",
        "The capturing machine says that it dropped packets: what seems lost may only be missing "
        "in the file.",
        "Drop counters of pcapng interface statistics blocks and packet blocks.",
        "Capture with a larger buffer (dumpcap -B) or a filter, or on another machine.",
        "replay/README.md 5"),
    warning(
        "CP004", "packets-cut-short",
        "Packets of our protocols were captured only in part (snap length), so messages in them "
        "are unknown.",
        "The record holds fewer bytes than were on the wire and decoding needed them.",
        "Capture with a snap length of 0 or 262144.",
        "replay/README.md 5"),
    warning(
        "CP005", "fragments-incomplete",
        "IP datagrams could not be put together again; one lost fragment loses every message of "
        "its datagram.",
        "Fragments of a datagram are missing when the capture ends or after 30 s.",
        "Look for loss on the path of the fragments; lower the bundle size below the MTU.",
        "jgroups.md 1.3"),
    warning(
        "CP006", "undecoded-messages",
        "Messages of a recognised system could not be decoded further; they are counted and named.",
        "An unknown header class, an encrypted payload, or a frame that does not add up.",
        "seqaudit info names the reasons; findings about these streams may be incomplete.",
        "jgroups.md 1.8"),
    warning(
        "CP007", "acknowledged-but-not-captured",
        "A receiver had messages that the capture does not hold, so the capture has a hole. That "
        "it had them does not say that the network lost none: an ACK covers repairs as well. Where "
        "it cannot be told whether it had them, the finding says so.",
        "The member at whose interface the capture was taken sends an ACK (or digest) above the "
        "highest seqno that could be delivered from the capture, or a tick's xmit-request that "
        "leaves out a lower seqno, or does not ask when HIGHEST_SEQNO names a message, or asks for "
        "nothing for three ticks of xmit_interval, or stops asking. What it had asked for before "
        "was lost or late and repaired: UC001 and MC001 say so. Of zenoh: a query that begins "
        "above the missing samples while its subscriber's own counter shows no other between, or "
        "no query from one that asks at its other gaps; or bytes of its TCP connection are not "
        "here (CP012) where transport sns are missing, too.",
        "Capture with a larger buffer; what was lost of these cannot be told from this capture.",
        "jgroups.md 6"),
    warning(
        "CP030", "own-messages-not-captured",
        "A member's own messages are not in the capture that was taken at its interface: whatever "
        "rests on something that was not seen there is in doubt. Some may never have left it: what "
        "it says before it knows the address of a peer, or over TCP while a connection is broken, "
        "has its number all the same.",
        "A member of JGroups from 3.5.1 on numbers its ACKs and SEND_FIRST_SEQNO 1, 2, 3 over all "
        "its peers; numbers are left out.",
        "Capture with a larger buffer (dumpcap -B), without a snap length.",
        "jgroups.md 4.2"),
    info(
        "CP031", "not-at-the-other-end",
        "What one member sent another is in the capture at the one and not in that at the other.",
        "The captures at both ends are given and span the time: a copy of a message, an ACK, a "
        "request or a frame of zenoh is in one of them only.",
        "It was lost on the way, or the other capture has a hole there: rules of the protocol say "
        "what the member at the other end lacked by its own words.",
        "jgroups.md 6, zenoh.md 8.1"),
    warning(
        "CP032", "not-captured-at-its-sender",
        "What came from a member is not in the capture at that member, so that capture has a hole.",
        "The captures at both ends are given and span the time: a copy of a message, an ACK, a "
        "request or a frame of zenoh arrived, and the capture at its sender does not hold it.",
        "Capture with a larger buffer (dumpcap -B), without a snap length; whatever rests on "
        "something that was not seen there is in doubt.",
        "jgroups.md 6, zenoh.md 8.1"),
    info(
        "CP010", "vantage-unknown",
        "It is not known at whose interface the capture was taken, so what was delivered and what "
        "was lost cannot be told.",
        "Every unicast frame concerns the same two hosts, or there is none, and nothing else gives "
        "the side away.",
        "Give --at NAME or --at IP; of two members that talk to each other the captures of both "
        "show it as well.",
        "replay/README.md 4"),
    warning(
        "CP011", "compression-damaged",
        "The compressed file ends early or is damaged; what could be unpacked was audited.",
        "The decompressor reports an error or the end of its input.",
        "Get the file again.",
        "decoders/README.md 2"),
    warning(
        "CP012", "tcp-not-captured",
        "Bytes of TCP connections are not in the capture, and the messages in them are missing "
        "here. Those that were acknowledged were delivered: the network did not lose them.",
        "The other side acknowledged bytes that never came; or, where no ACK shows that, so many "
        "later ones came that they no longer can. The next frame is found by looking for two in a "
        "row.",
        "Capture closer to the host, with a larger buffer, and whole packets.",
        "jgroups.md 1.9; RFC 9293"),
    error(
        "CP099", "seqaudit-failed",
        "A fault of seqaudit kept it from judging a part of the capture; everything else was "
        "judged.",
        "What replays or words that part raised an exception; the finding says which and where.",
        "Report it, with the capture if it can be shown; nothing is known of that part.",
        "replay/README.md 2"),
    info(
        "CP013", "out-of-order",
        "Records stand in the file in another order than that of their times; they were put in "
        "order and judged so.",
        "A record is earlier than one before it, by no more than queues of a network card are "
        "apart, or the IP ids of its sender say that it was sent earlier.",
        "Nothing: they were judged in the order of their times. A capture tool that writes one "
        "queue, or reordercap, keeps files in order.",
        "replay/README.md 3"),
    warning(
        "CP014", "clock-stepped",
        "The capturing machine's clock was set while it captured, so durations across the step "
        "cannot be told.",
        "Time goes back and the senders' own counters (IP ids) go on; or it goes back further than "
        "records are ever out of order. Forward, where the times that raims daemons send go on: "
        "all of them jump against the capture's at one place, by the same and for good.",
        "Let the clock be slewed while capturing; findings that rest on durations across the step "
        "are likely at most.",
        "replay/README.md 3"),
    info(
        "CP015", "begun-before",
        "Streams were under way when the capture began, so what was lost, sent or acknowledged "
        "before it cannot be told of them.",
        "A stream's first number is not its protocol's first, and no handshake, view or digest in "
        "the capture says where it begins.",
        "Start the capture before the members, or take findings about the first messages as what "
        "they say: sent before the capture, or lost.",
        "replay/README.md 3"),
    info(
        "CP016", "ended-before",
        "Streams went on when the capture ended and lacked messages then, so what became of these "
        "cannot be told.",
        "A stream has no end, before the capture's end it was silent for no longer than its "
        "messages are apart, and some that it skipped had not come.",
        "Stop the capture some seconds after the traffic.",
        "replay/README.md 3"),
    warning(
        "CP017", "captured-twice",
        "Most datagrams stand in the capture twice: it was taken at two interfaces that the same "
        "packets pass, or several captures are merged.",
        "At least a third of all datagrams have the IP id and the bytes of one shortly before; or "
        "three quarters of those that have none come a second time within two seconds.",
        "Audit the captures of each interface by themselves, together in one command; here every "
        "second one was left out.",
        "replay/README.md 3"),
    warning(
        "CP021", "packets-damaged",
        "Bytes of packets are not those that were sent, so what they said is not known.",
        "The checksum of UDP, TCP or PGM is wrong, and that of most other packets of the same "
        "sender is right. Where next to none is right, or a checksum is 0 or that of the "
        "pseudo-header, it was not made before the place of capture and says nothing.",
        "Look for what damages packets (a card, a cable, the file's way here); receivers drop such "
        "packets, if they were damaged before. Capture behind the card, or turn checksum offload "
        "off, so that every packet tells.",
        "decoders/README.md 6"),
    warning(
        "CP022", "clock-coarse",
        "The capture's times are coarser than what protocols do by time, or all the same, so that "
        "durations cannot be told.",
        "The times of all records are apart by multiples of 10 ms or more, and several records "
        "share one.",
        "Capture with a finer clock, or convert the file without loss of its times; the order of "
        "records, numbers and requests are judged as they are.",
        "replay/README.md 3"),
    warning(
        "CP020", "vantage-contradicted",
        "The capture was taken elsewhere than --at says, so nothing is judged as at a member's "
        "interface.",
        "What is captured at a member's interface comes from it or goes to it; here unicasts go "
        "between others, or the direction or TTL of packets shows another member.",
        "Give the member at whose interface it was captured, or --at between for a mirror port; "
        "without --at the capture itself is asked.",
        "replay/README.md 4"),
)  # fmt: skip
