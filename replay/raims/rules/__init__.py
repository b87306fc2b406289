"""The rules about raims: what they say.

``replay.raims.judges`` judges them, ``replay.raims.rv_told`` those about RV clients.
"""

from typing import Final

from seqaudit.replay.contract.rule import Rule, error, info, warning

RULES: Final[tuple[Rule, ...]] = (
    error(
        "RA001", "message-loss",
        "Messages of a publisher were lost on the way to this daemon, and raims counts them.",
        "The numbers of one time frame, or the chain number that a new frame begins with "
        "(chain_seqno), say how many. Proven where the daemon's own notice tells the publisher of "
        "it, where every PGM packet in between was given up, or where no byte of the TCP "
        "connection is missing in between. Else the messages are lost, or not captured.",
        "See show loss; look for the PGM give-up (PG002) or the cut link before it.",
        "raims.md 9"),
    error(
        "RA002", "loss-of-unknown-size",
        "Messages were lost and raims counts 1, whatever the number.",
        "A new time frame of which the first message did not come. Lower and upper "
        "bound are told; proven as RA001 is.",
        "Compare with a capture at the publisher: audited together, the bounds meet.",
        "raims.md 9"),
    error(
        "RA003", "loss-not-counted",
        "Messages were lost and raims counts nothing.",
        "A new frame begins with its first message, and its chain number is not the last number "
        "seen; proven by "
        "packets that were given up or by bytes, never by a notice, as none is sent.",
        "Do not rely on show loss; lower and upper bound are told.",
        "raims.md 9, note on row 11"),
    error(
        "RA004", "glsno-gap",
        "Numbers per publisher and path are missing; raims never counts such a loss.",
        "On a PGM segment every message of a publisher and path passes, so numbers behind a packet "
        "that was given up are lost. Without a missing packet they were never sent here.",
        "Use a numeric service prefix where loss must be noticed.",
        "raims.md 7.3"),
    warning(
        "RA005", "false-loss",
        "raims counts a loss that was none: a late copy of a message set its number back.",
        "A late copy from an older frame is counted as a loss, or sets the number back so that the "
        "next message is. Proven by "
        "the daemon's own notice; else it rests on when its window rotates, which parameters say. "
        "Where all that it told the publisher is captured and holds no notice, it counted none.",
        "Remove the path that delivers late copies; the messages were delivered twice.",
        "raims.md 9, note on rows 13 and 14"),
    warning(
        "RA006", "seqno-zero",
        "Messages went out with seqno 0: published on a console for a subject that a client uses.",
        "The low part of a number per subject, which counts from 1 in each time frame, is 0.",
        "Do not publish them from the console: receivers count a false loss and drop some.",
        "raims.md 7"),
    info(
        "RA007", "numbering-restarted",
        "A stream began anew without a chain number: the publisher had forgotten the subject.",
        "A new frame begins with its first message and has no chain number. Whether anything was "
        "lost only PGM sqns can tell; proven where they show that the capture has all that came "
        "just before.",
        "Nothing, if a new start is no harm to the subscribers. A larger pub-window-size lets the "
        "publisher remember more subjects.",
        "raims.md 9, note on row 11"),
    info(
        "RA008", "repeated",
        "Messages came again and were dropped.",
        "A number at or below the last one of its frame, a message older than the subscription "
        "window (sub_window_size, sub_window_count, sub_window_time_ms), or a number per "
        "publisher and path that came before.",
        "Look for a redundant path that carries the messages twice.",
        "raims.md 9, 10.1"),
    info(
        "RA009", "not-subscribed",
        "Messages came that no subscription matches although routing said so.",
        "No subscription of the daemon matches the subject, or none does any more.",
        "Nothing: it is ordinary with wildcards and just after an unsubscribe, and the messages "
        "are dropped.",
        "raims.md 9, 10.1"),
    info(
        "RA010", "inbox-loss",
        "Point-to-point messages of a peer were lost.",
        "A step in the numbers of one peer and message type, over point-to-point packets that are "
        "captured without a hole; what the daemon has acknowledged it had. Over TCP another daemon "
        "may have passed them on, unless heartbeats (uid_csum) say that there is none.",
        "If there are few, nothing: the daemons repeat what they need. Many of them mean a cut "
        "link or a restart.",
        "raims.md 9.2; raims message loss document"),
    error(
        "RA011", "loss-reported-by-peer",
        "Another daemon reports message loss to its publisher.",
        "A loss notice (_I.<publisher>.loss).",
        "Audit a capture taken at that daemon.",
        "raims.md 10.3"),
    warning(
        "RA012", "loss-notice-wrong",
        "The loss notices sent from here do not say what the replay has counted.",
        "A notice whose count, total or kind of loss differs, or that is about no loss replayed, "
        "in a capture that holds all that the daemon had from its start on, as far as can be seen. "
        "Never proven: that a daemon has read all that came to its host shows in no frame, and "
        "where it has not, its notice is right and the replay is short.",
        "Look for traffic that the capture lacks, and whether the daemon was slow.",
        "raims.md 10.3"),
    error(
        "RA013", "convergence-contradicted",
        "A stream that was joined late is not uninterrupted: a message of the same frame was lost.",
        "A proven loss or a loss notice of the stream in the frame that was joined, behind the "
        "join; likely where no message of the stream from before the subscription was captured.",
        "Do not take the frame time as proof of completeness.",
        "raims.md 9.1"),
    info(
        "RA014", "completeness-not-provable",
        "A late join whose stream began before the network converged, or convergence is unknown.",
        "Frame start against the largest converge up to the message's time that any heartbeat of "
        "the capture tells. Uninterrupted needs a heartbeat of the subscriber behind the message: "
        "what it tells never falls, so it bounds what was before.",
        "Wait for the next frame, or say when the network converged: --param "
        "raims.converged_at=TIME.",
        "raims.md 9.1; raims message loss document"),
    warning(
        "RA015", "time-outside-frame",
        "The first message of a time frame has a time that is not in the frame.",
        "The message that has the first number of a time frame was published at a time of another "
        "frame.",
        "Check the publisher's clock.",
        "raims.md 9.3"),
    warning(
        "RA016", "clock-skew",
        "A publisher's clock differs from the clock of the capture.",
        "Publisher time against capture time of three messages or more that did not wait and are "
        "no repairs, beyond 2 s. Where several daemons are off alike it is the capture's clock; of "
        "one alone nobody can tell which is off.",
        "Synchronise the clocks: the age at which windows drop messages, and convergence, depend "
        "on them.",
        "raims.md 15.6"),
    warning(
        "RA017", "frame-too-soon",
        "A second time frame of a stream began within less than a frame's length, or the same "
        "frame began again.",
        "Publisher times of the first messages of two frames; two messages with the first number "
        "of one frame and different times.",
        "Check the publisher's clock and pub-window-time.",
        "raims message loss document; raims.md 7"),
    warning(
        "RA018", "frame-from-future",
        "A time frame begins later than the capture's own time.",
        "Frame start against capture time, beyond 2 s.",
        "Check the publisher's clock.",
        "raims.md 7"),
    warning(
        "RA019", "window-time-too-short",
        "pub-window-time is below 10 seconds, which the design does not allow; the code does not "
        "enforce it.",
        "What raims.pub_window_time_ms says.",
        "Set pub-window-time to 10 seconds or more.",
        "raims message loss document; raims.md 12"),
    info(
        "RA020", "frame-not-explained",
        "A new time frame that neither age, wrap, rotation, restart nor a new subject explains.",
        "The publisher window, replayed with the parameters given (pub_window_size, "
        "pub_window_count, pub_window_autoscale, heartbeat_ms). That a frame's age contradicts "
        "a pub_window_time that is given is proven by the message alone; where none is given, "
        "nothing is said as long as any one explains all frames.",
        "Give the publisher's param.yaml with --params.",
        "raims.md 8"),
    info(
        "RA021", "encrypted-link",
        "A TCP link is encrypted: nothing of it can be judged.",
        "The 56 bytes of its key exchange, whose CRC-32C is right.",
        "Capture on a PGM link, or set tcp_noencrypt for a test.",
        "raims.md 4"),
    info(
        "RA022", "publisher-restarted",
        "A daemon has restarted; its streams begin anew.",
        "A second bridge id of the same user and address, with another start time.",
        "Nothing, if the restart was meant to happen. If not, look at the daemon's log at that "
        "time.",
        "raims.md 6"),
    error(
        "RA023", "message-incomplete",
        "A large message was sent in pieces and one was lost: the whole message is missing, "
        "and no counter says so.",
        "The first piece of the next message before its end. Proven where packets in between were "
        "given up; what is open when the capture ends is not said.",
        "Raise the mtu so that messages fit one packet.",
        "raims.md 2"),
    warning(
        "RA024", "advisory-missing",
        "An RV client was never told of a loss that its daemon saw.",
        "DATALOSS advisories as they must have been published to each client (at once, then once a "
        "second, by subject), beside those on its connection.",
        "Look at the daemon's log; the client goes on as if nothing was lost.",
        "raims.md 11; raims message loss document"),
    warning(
        "RA025", "advisory-wrong",
        "An RV client was told of another number of lost messages than the replay counts.",
        "Totals of the advisories by publishing host and subject.",
        "Look for traffic that the captures lack.",
        "raims.md 11; raims message loss document"),
    warning(
        "RA026", "advisories-unthrottled",
        "An RV client got two DATALOSS advisories within less than a second.",
        "Times of the advisories on one connection.",
        "Check the version of the daemon; advisories are throttled to one a second.",
        "raims.md 11; raims message loss document"),
    warning(
        "RA027", "loss-notice-missing",
        "The observed daemon never told a publisher of a loss of its messages.",
        "A proven loss, the first of this publisher or 10 s after the one before, and no notice, "
        "though all point-to-point messages to it for a second afterwards were captured.",
        "Look at the daemon's log: publishers that wait for the advisory do not learn of the loss.",
        "raims.md 10.3"),
    warning(
        "RA028", "loss-notice-unthrottled",
        "The observed daemon sent a loss notice within 10 s of the notice before.",
        "Times of two notices to one publisher.",
        "Check the version of the daemon.",
        "raims.md 10.3"),
    info(
        "RA029", "subscriptions-unknown",
        "Changes of the observed daemon's subscriptions are not in the capture; messages that no "
        "known subscription matches may have been wanted.",
        "Its start time is before the capture, or the numbers of its subscription messages step; "
        "they say how many changes are missing.",
        "State them, as in --param raims.subscribed=_7500.FOO,_7500.BAR.>.",
        "raims.md 6, 15.5, 15.8"),
    error(
        "RA030", "loss-told-to-client",
        "A daemon told an RV client that messages were lost: those that the client listens to, or "
        "those that it published.",
        "DATALOSS advisories on the client's connection, added up by the daemon that published the "
        "messages, or whose clients lost them. What the daemon counted; how it came to it only a "
        "capture of its own interface shows.",
        "Audit a capture taken at that daemon, together with this one.",
        "raims.md 11; raims message loss document"),
)  # fmt: skip

#: Of RV clients: judged over all captures of a job (``replay.raims.rv_told``).
OF_CLIENTS: Final = frozenset({"RA024", "RA025", "RA026", "RA030"})
