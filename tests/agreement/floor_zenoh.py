"""How much of whole zenoh recordings is proven at least, and what never is (CONTRIBUTING.md 4).

What is proven of whole captures is not to become less unnoticed, nor what no capture shows to be
called proven. A finding counts with its samples, so that one that speaks of fewer is noticed too.
"""

from collections.abc import Mapping
from typing import Final

#: Rules that rest on something that no capture holds, whatever is in it.
NEVER: Final[Mapping[str, str]] = {
    "ZN003": "what came after the heartbeat may not be captured",
    "ZN005": "a frame that is not here was lost or not captured",
    "ZN007": "the frames between may have been lost",
    "ZN008": "a copy may have been captured twice",
    "ZN009": "a ratio of what was captured",
    "ZN010": "the reply may not be captured",
    "ZN011": "what was missing may be so in the capture only",
    "ZN014": "the reply may not be captured",
    "ZN016": "its pieces may not be captured",
    "ZN018": "the capture ends",
    "ZN019": "what told it may not be captured",
    "ZN020": "it may not be captured at the other end",
    "ZN021": "it may not be captured at the other end",
    "ZN025": "they may not be captured at the other end",
    "ZN026": "the sessions may be of two nodes",
}

#: rule -> recording -> samples that are proven at least; of a finding without samples 1.
AT_LEAST: Final[Mapping[str, Mapping[str, int]]] = {
    "ZN001": {
        "compress-udp-loss-1/sub.pcap": 2,
        "ipv6-udp-1/sub.pcap": 1,
        "midstream-1/sub.pcap": 1,
        "no-qos-1/sub.pcap": 1,
        "rich-samples-1/sub.pcap": 2,
        "sn-32bit-wrap-1/sub.pcap": 2,
        "subscriber-opens-1/sub.pcap": 2,
        "udp-best-effort-1/sub.pcap": 1,
        "udp-last-lost-hb-cache-small-1/sub.pcap": 2,
        "udp-last-lost-periodic-hb-1/sub.pcap": 1,
        "udp-loss-recovered-1/sub.pcap": 3,
        "udp-reorder-dup-1/sub.pcap": 3,
    },
    "ZN002": {
        "router-no-cache-1/sub.pcap": 3,
        "udp-cache-too-small-1/sub.pcap": 1,
        "udp-cache-too-small-2/sub.pcap": 1,
        "udp-last-lost-hb-cache-small-1/sub.pcap": 1,
    },
    "ZN004": {"router-no-cache-1/sub.pcap": 3},
    "ZN006": {"udp-reorder-dup-1/sub.pcap": 1},
    "ZN012": {
        "classic-no-source-info-1/pub.pcap": 1,
        "classic-no-source-info-1/sub.pcap": 1,
        "timestamp-cache-only-1/pub.pcap": 1,
        "timestamp-cache-only-1/sub.pcap": 1,
    },
    "ZN013": {"query-lost-1/sub.pcap": 1},
    "ZN017": {"midstream-1/sub.pcap": 1},
}
