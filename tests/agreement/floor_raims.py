"""How much of whole raims and PGM recordings is proven at least, and what never is.

Counted by ``tests.agreement.floor``. The numbers are those of today: what is proven of whole
captures is not to become less unnoticed. CP031 is of all captures of a recording together.
"""

from collections.abc import Mapping
from typing import Final

#: Rules that rest on something that no capture holds, whatever is in it.
NEVER: Final[Mapping[str, str]] = {
    "CP007": "what the receiver had is not in the capture",
    "PG007": "it is not known who looks on",
    "PG008": "the capture ends",
    "RA012": "what the daemon counted may not be captured",
    "RA014": "completeness cannot be told",
    "RA016": "the clock of the capture may be off",
    "RA018": "the clock of the capture may be off",
    "RA028": "the throttle goes by the daemon's clock",
}

#: rule -> recording -> seqnos that are proven at least; of a finding without seqnos 1.
AT_LEAST: Final[Mapping[str, Mapping[str, int]]] = {
    "CP031": {
        "batch-1/A.pcap": 37,
        "batch-3/A.pcap": 32,
        "frame-chain-loss-1/A.pcap": 8,
        "frame-chain-loss-3/A.pcap": 40,
        "frame-silent-loss-1/A.pcap": 10,
        "frame-silent-loss-3/A.pcap": 28,
        "frame-unknown-loss-1/A.pcap": 2,
        "frame-unknown-loss-3/A.pcap": 10,
        "glsno-loss-1/A.pcap": 8,
        "large-1/A.pcap": 5,
        "pgm-loss-recovered-1/A.pcap": 16,
        "pgm-loss-recovered-3/A.pcap": 36,
        "pgm-nak-lost-1/A.pcap": 3,
        "pgm-nak-lost-1/B.pcap": 1,
        "pgm-unrecoverable-1/A.pcap": 14,
        "pgm-unrecoverable-3/A.pcap": 24,
        "rv-dataloss-1/A.pcap": 20,
        "rv-dataloss-3/A.pcap": 48,
        "small-txw-1/A.pcap": 2,
    },
    "PG001": {
        "batch-1/B.pcap": 37,
        "batch-3/B.pcap": 32,
        "large-1/B.pcap": 5,
        "pgm-loss-recovered-1/B.pcap": 10,
        "pgm-loss-recovered-1/C.pcap": 5,
        "pgm-loss-recovered-3/B.pcap": 24,
        "pgm-loss-recovered-3/C.pcap": 8,
        "pgm-nak-lost-1/B.pcap": 3,
        "reorder-1/B.pcap": 8,
    },
    "PG002": {
        "frame-chain-loss-1/B.pcap": 4,
        "frame-chain-loss-3/B.pcap": 20,
        "frame-silent-loss-1/B.pcap": 5,
        "frame-silent-loss-3/B.pcap": 14,
        "frame-unknown-loss-1/B.pcap": 1,
        "frame-unknown-loss-3/B.pcap": 5,
        "glsno-loss-1/B.pcap": 4,
        "pgm-unrecoverable-1/B.pcap": 7,
        "pgm-unrecoverable-3/B.pcap": 5,
        "pgm-unrecoverable-3/C.pcap": 3,
        "rv-dataloss-1/B.pcap": 10,
        "rv-dataloss-3/B.pcap": 24,
        "small-txw-1/B.pcap": 2,
    },
    "PG003": {
        "reorder-1/B.pcap": 9,
    },
    "PG004": {
        "dup-wire-1/B.pcap": 13,
        "reorder-1/B.pcap": 8,
    },
    "PG010": {
        "batch-1/A.pcap": 37,
        "batch-3/A.pcap": 32,
        "frame-chain-loss-1/A.pcap": 4,
        "frame-chain-loss-3/A.pcap": 20,
        "frame-silent-loss-1/A.pcap": 5,
        "frame-silent-loss-3/A.pcap": 14,
        "frame-unknown-loss-1/A.pcap": 1,
        "frame-unknown-loss-3/A.pcap": 5,
        "glsno-loss-1/A.pcap": 4,
        "large-1/A.pcap": 5,
        "pgm-loss-recovered-1/A.pcap": 15,
        "pgm-loss-recovered-3/A.pcap": 32,
        "pgm-nak-lost-1/A.pcap": 3,
        "pgm-unrecoverable-1/A.pcap": 7,
        "pgm-unrecoverable-3/A.pcap": 8,
        "reorder-1/A.pcap": 9,
        "rv-dataloss-1/A.pcap": 10,
        "rv-dataloss-3/A.pcap": 24,
    },
    "RA001": {
        "frame-chain-loss-1/B.pcap": 4,
        "frame-chain-loss-3/B.pcap": 20,
        "pgm-unrecoverable-1/B.pcap": 7,
        "pgm-unrecoverable-3/B.pcap": 5,
        "pgm-unrecoverable-3/C.pcap": 3,
        "rv-dataloss-1/B.pcap": 10,
        "rv-dataloss-3/B.pcap": 24,
        "small-txw-1/B.pcap": 2,
        "tcp-partition-3/B.pcap": 10,
    },
    "RA002": {
        "frame-unknown-loss-1/B.pcap": 1,
        "frame-unknown-loss-3/B.pcap": 5,
    },
    "RA003": {
        "frame-silent-loss-1/B.pcap": 1,
        "frame-silent-loss-3/B.pcap": 6,
    },
    "RA004": {
        "glsno-loss-1/B.pcap": 4,
    },
    "RA005": {
        "console-pub-1/B.pcap": 1,
        "late-dup-1/B.pcap": 1,
    },
    "RA006": {
        "console-pub-1/A.pcap": 1,
        "console-pub-1/B.pcap": 1,
    },
    "RA007": {
        "window-rotation-1/B.pcap": 9,
        "window-rotation-3/B.pcap": 51,
    },
    "RA008": {
        "console-pub-1/B.pcap": 1,
        "dup-path-1/B.pcap": 1,
        "dup-path-3/B.pcap": 1,
    },
    "RA009": {
        "not-subscribed-1/C.pcap": 1,
        "not-subscribed-3/C.pcap": 1,
    },
    "RA010": {
        "pub-restart-1/B.pcap": 1,
        "pub-restart-3/B.pcap": 1,
        "tcp-partition-1/A.pcap": 1,
        "tcp-partition-1/B.pcap": 1,
        "tcp-partition-3/A.pcap": 1,
        "tcp-partition-3/B.pcap": 1,
    },
    "RA011": {
        "console-pub-1/A.pcap": 1,
        "frame-chain-loss-1/A.pcap": 1,
        "frame-chain-loss-3/A.pcap": 1,
        "frame-unknown-loss-1/A.pcap": 1,
        "frame-unknown-loss-3/A.pcap": 1,
        "late-dup-1/A.pcap": 1,
        "pgm-unrecoverable-1/A.pcap": 1,
        "pgm-unrecoverable-3/A.pcap": 2,
        "rv-dataloss-1/A.pcap": 1,
        "rv-dataloss-3/A.pcap": 1,
        "small-txw-1/A.pcap": 1,
        "tcp-partition-3/A.pcap": 1,
    },
    "RA021": {
        "mesh-enc-1/A.pcap": 4,
        "mesh-enc-1/B.pcap": 4,
        "mesh-enc-1/C.pcap": 4,
    },
    "RA022": {
        "pub-restart-1/A.pcap": 1,
        "pub-restart-1/B.pcap": 1,
        "pub-restart-1/C.pcap": 1,
        "pub-restart-3/A.pcap": 1,
        "pub-restart-3/B.pcap": 1,
        "pub-restart-3/C.pcap": 1,
    },
}
