"""Parameters of the zenoh engine, rows of ``parameters.PARAMETERS``."""

from typing import Final

#: Name, default, unit, meaning, source, choices: the fields of ``parameters.Parameter``.
ZENOH: Final[tuple[tuple[str, int | str | None, str, str, str, tuple[str, ...]], ...]] = (
    (
        "zenoh.rules", "code", "",
        "whose subscriber is replayed: the shipped AdvancedSubscriber's or the design document's "
        "ReliableSubscriber's",
        "zenoh.md 10", ("code", "document"),
    ),
    (
        "zenoh.query_grace_ms", 1000, "ms",
        "a subscriber that recovers asks this soon after a gap; a gap without a query by then was "
        "not asked for",
        "zenoh.md 9.4, 11", (),
    ),
    (
        "zenoh.cache_depth", None, "samples",
        "depth of the publishers' caches; with it every query says what must have been evicted",
        "zenoh.md 9.2", (),
    ),
    (
        "zenoh.query_timeout_ms", 10_000, "ms", "timeout of queries that state none",
        "zenoh.md 9.4", (),
    ),
)  # fmt: skip
