"""Parameters of the zenoh engine."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Parameter, by_name

PARAMETERS: Final[Mapping[str, Parameter]] = by_name(
    (
        Parameter(
            "zenoh.rules",
            "code",
            "",
            "whose subscriber is replayed: the shipped AdvancedSubscriber's or the design "
            "document's "
            "ReliableSubscriber's",
            "zenoh.md 10",
            ("code", "document"),
        ),
        Parameter(
            "zenoh.query_grace_ms",
            1000,
            "ms",
            "a subscriber that recovers asks this soon after a gap; a gap without a query by then "
            "was "
            "not asked for",
            "zenoh.md 9.4, 11",
            (),
        ),
        Parameter(
            "zenoh.cache_depth",
            None,
            "samples",
            "depth of the publishers' caches; with it every query says what must have been evicted",
            "zenoh.md 9.2",
            (),
        ),
        Parameter(
            "zenoh.cache_origin",
            "local",
            "",
            "with zenoh.rules=document: where its ReliabilityCache is: in the publisher (local), "
            "or at "
            "the node at the sender's end of the captured link, for all sources (any)",
            'missed samples document, "The ReliabilityCache"',
            ("local", "any"),
        ),
        Parameter(
            "zenoh.cache_enabled",
            True,
            "yes/no",
            "with zenoh.rules=document: whether there is such a cache (with_cache)",
            'missed samples document, "The ReliablePublisher"',
            (),
        ),
        Parameter(
            "zenoh.cache_history",
            1024,
            "samples",
            "with zenoh.rules=document: samples that the cache keeps of each key expression and "
            "source; the default is the prototype's",
            'missed samples document, "The ReliabilityCache"; zenoh.md 10',
            (),
        ),
        Parameter(
            "zenoh.periodic_query_ms",
            None,
            "ms",
            "with zenoh.rules=document: period of its subscribers' queries for what they may have "
            "missed; without it they send none",
            'missed samples document, "Periodic queries"',
            (),
        ),
        Parameter(
            "zenoh.history_query",
            False,
            "yes/no",
            "with zenoh.rules=document: whether its subscribers ask for historical samples first",
            'missed samples document, "Historical data"',
            (),
        ),
        Parameter(
            "zenoh.query_timeout_ms",
            10_000,
            "ms",
            "timeout of queries that state none",
            "zenoh.md 9.4",
            (),
        ),
        Parameter(
            "zenoh.retention_ms",
            3_600_000,
            "ms",
            "a subscriber forgets a source that was idle for longer, unless a liveliness token "
            "keeps "
            "it",
            "zenoh.md 9.4",
            (),
        ),
    )
)
