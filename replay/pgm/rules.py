"""The rules about PGM, part of the registry (replay/README.md 3)."""

from typing import Final

from seqaudit.replay.contract.rule import Rule, error, info, warning

PGM: Final[tuple[Rule, ...]] = (
    warning(
        "PG001", "pgm-loss-recovered",
        "PGM packets were lost on the way to this receiver, or late, and repaired by RDATA, the "
        "copies that PGM sends on a request.",
        "A hole in the sequence numbers (sqn) of a PGM session (TSI) that this receiver asked for "
        "and an RDATA filled. Where only another one asked, the capture may have missed the "
        "original (CP007).",
        "Look at when and how much was lost; everything behind a hole waited for its repair.",
        "raims.md 2"),
    error(
        "PG002", "pgm-loss-not-recovered",
        "PGM packets never reached this receiver: it gave up and went on behind them.",
        "A hole that was abandoned: ten NAKs (requests) or more and no RDATA (repair), or below "
        "the sender's trail or out of the full receive window (rxw_sqns) after a NAK. A receiver "
        "that asked less often and then no more had it in the end, or the capture missed the rest"
        " (CP007). Proven by ten NAKs that were confirmed, or as many that were not, where the "
        "capture lacks no other packet of the sender: it may be the last repair; how often a "
        "receiver asks must be known (raims fixes it, else nak_data_retries and nak_ncf_retries)."
        " A confirmation (NCF) for another receiver makes this one wait as well, so one before its "
        "first NAK counts as a NAK does; a later one may only make a wait longer (likely). The "
        "time is that of the give-up, by nak_back_off_ms, nak_repeat_ms and nak_rdata_wait_ms.",
        "Find where RDATA is lost; raise txw_sqns where the trail had passed.",
        "raims.md 2"),
    info(
        "PG003", "pgm-reordered",
        "PGM packets overtook each other; holes were filled by the originals.",
        "A hole in the sequence numbers (sqn) of a PGM session (TSI) that an original (ODATA) "
        "filled. Of one that came when it seemed to be given up, as below the sender's trail, "
        "nobody can tell whether the receiver took it.",
        "Nothing: the originals filled the holes, and early NAKs and needless RDATA are the only "
        "cost.",
        "raims.md 2"),
    info(
        "PG004", "pgm-duplicates",
        "PGM packets came more than once; the receive window drops copies.",
        "A sqn that had come before, as ODATA or RDATA.",
        "Look for a loop or a mirrored port in the path if there are many.",
        "raims.md 2"),
    warning(
        "PG005", "requests-not-answered",
        "The sender confirmed NAKs (NCF) and never sent the RDATA.",
        "NAK and NCF of a sqn, and no RDATA of any sqn of this TSI at the sender's own capture. "
        "Proven where receivers ask for several sqns again half a second after the NCF, whose "
        "ODATA the capture has.",
        "Check the version of OpenPGM: with raims its retransmit queue may refuse every buffer.",
        "raims.md 2"),
    error(
        "PG006", "packet-not-receivable",
        "A PGM packet is larger than receivers take: they truncate it, its checksum fails, and "
        "every repair is as large.",
        "UDP datagram and IP header are longer than pgm.mtu. Proven where a receiver goes on to "
        "ask behind the packet's repair.",
        "Raise mtu on all daemons, or lower the size of messages.",
        "raims.md 2"),
    info(
        "PG007", "pgm-vantage-unknown",
        "Packets are missing here, and whether a receiver gave them up cannot be told: it is not "
        "known whose interface this is.",
        "Holes in the sequence numbers of a PGM session (TSI) at no member's interface; who asked "
        "for them is said, as a NAK shows wherever it passes that its sender lacked the packet.",
        "Give the receiver at whose interface it was captured (--at IP).",
        "replay/README.md 4"),
    info(
        "PG008", "pgm-open-at-the-end",
        "Packets were asked for, and the capture ends before they came or were given up.",
        "A hole with a NAK of this receiver that is open at the end.",
        "Capture for some seconds longer.",
        "raims.md 2"),
    warning(
        "PG009", "pgm-dropped-inside-receiver",
        "PGM packets had arrived at this receiver's interface when it asked for them: they were "
        "dropped inside it (a full socket buffer, a filter), not on the network.",
        "A NAK of this receiver for a packet that had been captured in its order, so that nothing "
        "was known of it before, or more than nak_back_off_ms before. "
        "Proven by NAKs in two rounds, at its own interface; one may be of a receiver that had not "
        "read yet what waited for it. Packets that are too large are PG006.",
        "Look at the receiver: socket buffer (net.core.rmem_max), processor time, filters.",
        "raims.md 2"),
    warning(
        "PG010", "pgm-asked-for",
        "A receiver lacked PGM packets and asked for them, as a capture shows that is not its own.",
        "A NAK (request) names what its receiver's window lacks, wherever it passes: at the "
        "sender, between, or at another receiver. NNAKs are feedback of repairers that lack "
        "nothing, and do not count; a PGM router asks in its own name for receivers behind it.",
        "Capture at the receiver that asked, or give that capture as well: it shows whether they "
        "were lost, late or dropped inside, and whether they came.",
        "raims.md 2; RFC 3208 8.3"),
)  # fmt: skip
