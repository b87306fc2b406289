"""What RV clients were told of lost data (raims.md 11), judged by ``replay.raims.rv_told``."""

from typing import Final

from seqaudit.replay.contract.rule import Rule, warning

RULES: Final[tuple[Rule, ...]] = (
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
)  # fmt: skip
