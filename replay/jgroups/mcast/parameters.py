"""Parameters of the MCAST engine (jgroups.md 5.1)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Parameter, by_name

#: A view without the sender and the merge behind it take longer, unless MERGE3 is set to less.
SOONEST_MS: Final = 2_000

PARAMETERS: Final[Mapping[str, Parameter]] = by_name((
    Parameter("mcast.rules", "code", "",
              "whose rules are replayed: the shipped code's or the design document's",
              "jgroups.md 5.6", ("code", "document")),
    Parameter("mcast.capacity", None, "messages",
              "size of the ring window; without it the largest number of unacknowledged messages "
              "that a sender reached again and again is taken", "jgroups.md 5.1"),
    Parameter("mcast.ack_threshold", None, "messages",
              "deliveries between two ACKs; capacity/4 where the capacity is known",
              "jgroups.md 5.1"),
    Parameter("mcast.xmit_interval_ms", 500, "ms",
              "period of the tick that sends ACKs, xmit-requests and HIGHEST_SEQNO; the shipped "
              "configurations' 500 ms is the shortest in ordinary use, so nothing is judged too "
              "early by it", "jgroups.md 5.1"),
    Parameter("mcast.max_xmit_req_size", 1024, "seqnos",
              "most seqnos in one xmit-request", "jgroups.md 5.1"),
    Parameter("mcast.become_server_queue_size", 50, "messages",
              "messages kept from before the join", "jgroups.md 5.1"),
    Parameter("mcast.merge_min_interval_ms", SOONEST_MS, "ms",
              "MERGE3's min_interval: within this time, 2 s at most, a member speaks of the same "
              "window as before", "jgroups.md 5.4"),
    Parameter("mcast.block_proof_ms", 20, "ms",
              "a new seqno within this time of the ACK that made room shows that the sender had "
              "waited for it", "replay/README.md 2"),
))  # fmt: skip
