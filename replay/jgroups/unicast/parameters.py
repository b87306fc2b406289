"""Parameters of the UNICAST engine (jgroups.md 4.1)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Parameter, by_name

PARAMETERS: Final[Mapping[str, Parameter]] = by_name((
    Parameter("unicast.rules", "code", "",
              "whose rules are replayed: the shipped code's, the two design documents', or the "
              "UNICAST3 document's alone",
              "jgroups.md 4.5", ("code", "document", "document-before-sync")),
    Parameter("unicast.xmit_interval_ms", 500, "ms",
              "period of the tick that sends ACKs, xmit-requests and resends", "jgroups.md 4.1"),
    Parameter("unicast.ack_threshold", None, "messages",
              "UNICAST3: messages of one batch that are acked at once; UNICAST4: deliveries "
              "between two ACKs", "jgroups.md 4.1"),
    Parameter("unicast.min_ack_interval_ms", 500, "ms",
              "the UNICAST3 document's minimum time between two acks; the shipped code has none",
              'UNICAST3 document, "Design"'),
    Parameter("unicast.conn_expiry_timeout_ms", None, "ms",
              "idle time until a connection is CLOSING; 120000 for UNICAST3, 10000 for UNICAST4; "
              "0: never", "jgroups.md 4.1"),
    Parameter("unicast.conn_close_timeout_ms", None, "ms",
              "time from CLOSING until a connection is removed; 240000 for UNICAST3, 10000 for "
              "UNICAST4; 0: never", "jgroups.md 4.1"),
    Parameter("unicast.sync_min_interval_ms", 2000, "ms",
              "minimum time between two SEND_FIRST_SEQNO to one peer (get-first-seqno-interval)",
              "jgroups.md 4.1"),
    Parameter("unicast.max_xmit_req_size", None, "seqnos",
              "most seqnos in one xmit-request", "jgroups.md 4.1"),
    Parameter("unicast.capacity", None, "messages",
              "UNICAST4: size of the window; without it the largest number of unacknowledged "
              "messages that a sender reached again and again is taken", "jgroups.md 4.1"),
    Parameter("unicast.block_proof_ms", 20, "ms",
              "a new seqno within this time of the ACK that made room shows that the sender had "
              "waited for it", "replay/README.md 2"),
))  # fmt: skip
