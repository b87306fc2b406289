"""Rule sets of the UNICAST engine, and what releases of JGroups do.

The rows of the decision tables are

    U  the UNICAST3 document            A  jgroups.md 4.3, data sender
    S  the sync document                B  jgroups.md 4.4, data receiver

Three rule sets are made of them (parameter ``unicast.rules``):

    ============================  =====================================================
    code                          A and B: what is on the wire of the shipped releases
    document                      U and S together
    document-before-sync          U alone: no timestamps, SEND-FIRST-SEQNO from the task
    ============================  =====================================================

Where they differ (jgroups.md 4.5):

    what                     code                  document              document-before-sync
    SEND_FIRST_SEQNO         at once, throttled    at once, throttled    a flag, sent by the
                             in all cases (B20)    only with an entry    task (U17)
                                                   (S3)
    answer to it             acked+1 (A10)         lowest (S6) and       first message (U18)
                                                   highest (S10)
    stale ACK                dropped (A7)          dropped (S7)          honoured (U2)
    ACK                      at the tick or the    end of a message or batch, a minimum
                             threshold (B13)       time apart (U2, U3)
    gap request              older than one tick   every scan, all gaps (U6)
                             (B17)
"""

from dataclasses import dataclass
from typing import Final

CODE: Final = "code"
DOCUMENT: Final = "document"
BEFORE_SYNC: Final = "document-before-sync"


@dataclass(frozen=True, slots=True)
class Release:
    """What a release of JGroups does, where releases differ (jgroups.md 3)."""

    timestamps: bool = True  # 3.5.1: in ACK and SEND_FIRST_SEQNO
    throttled: bool = True  # 3.5.1: SEND_FIRST_SEQNO by sync_min_interval (JGRP-1874)
    cached: bool = True  # 4.1.5: messages from before the window are kept
    ack_threshold: int = 100  # 5 before 4.2.5

    @classmethod
    def of(cls, version: str | None) -> "Release":
        """The release "5.6.0"; the newest where the version is not known."""
        numbers = _numbers(version)
        if numbers is None:
            return cls()
        return cls(
            timestamps=numbers >= (3, 5, 1),
            throttled=numbers >= (3, 5, 1),
            cached=numbers >= (4, 1, 5),
            ack_threshold=100 if numbers >= (4, 2, 5) else 5,
        )


def _numbers(version: str | None) -> tuple[int, ...] | None:
    parts = (version or "").split(".")[:3]
    return tuple(map(int, parts)) if len(parts) == 3 and all(map(str.isdigit, parts)) else None


def newer(stamp: int, last: int | None) -> bool:
    """Is a timestamp newer than the last one accepted? The first always is (4.2, S9)."""
    if last is None:
        return True
    return 0 < (stamp - last) % (1 << 32) < 1 << 31
