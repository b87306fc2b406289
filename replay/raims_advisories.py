"""DATALOSS advisories that an observer must have published to its RV clients (raims.md 11).

raims-11.1: the first event publishes at once and starts a timer of one second. raims-11.2: each
tick publishes what has come since, by subject; of one publishing host at a time, the others wait.
The latest subject comes first (``rv-dataloss-1``, ``-3``). raims-11.3: a tick without news ends
it. raims-11.4: nine pairs at most.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from seqaudit.replay.gaps import Mark

INTERVAL_NS: Final = 1_000_000_000
PAIRS: Final = 9
SUBJECT: Final = "_RV.ERROR.SYSTEM.DATALOSS.INBOUND.BCAST"
LOST: Final = "lost msgs"
UNKNOWN: Final = "lost seqno tracking"


@dataclass(slots=True)
class Advisory:
    """One advisory of one service."""

    at_ns: int
    service: int
    publisher: str
    host: str | None
    hostid: str | None
    lost: int
    pairs: list[tuple[str, int]]
    unknown: bool
    mark: Mark

    def fields(self) -> dict[str, Any]:
        """The data fields in the order of the wire (raims.md 11)."""
        found: dict[str, Any] = {
            "ADV_CLASS": "ERROR",
            "ADV_SOURCE": "SYSTEM",
            "ADV_NAME": "DATALOSS.INBOUND.BCAST",
            "ADV_DESC": UNKNOWN if self.unknown else LOST,
            "host": self.host,
            "hostid": self.hostid,
            "lost": self.lost,
            "sub_cnt": len(self.pairs),
        }
        for number, (subject, lost) in enumerate(self.pairs[:PAIRS], 1):
            found[f"sub{number}"] = subject
            found[f"lost{number}"] = lost
        return found | {"scid": self.service}


@dataclass(slots=True)
class _Pending:
    counts: dict[str, int] = field(default_factory=dict)
    unknown: bool = True
    mark: Mark | None = None
    hostid: str | None = None
    host: str | None = None


class Advisories:
    """The throttle, by service."""

    def __init__(self) -> None:
        self.published: list[Advisory] = []
        self._pending: dict[int, dict[str, _Pending]] = {}
        self._tick_ns: dict[int, int] = {}

    def lost(
        self, subject: str, count: int | None, publisher: str, user: str | None,
        address: str | None, mark: Mark,
    ) -> None:  # fmt: skip
        """A loss event of a subject of a numeric service; ``count`` is null where unknown."""
        service, name = split_service(subject)
        if service is None:
            return
        self._advance(mark.at_ns)
        waiting = self._pending.setdefault(service, {}).setdefault(publisher, _Pending())
        waiting.counts[name] = waiting.counts.get(name, 0) + (1 if count is None else count)
        waiting.unknown = waiting.unknown and count is None
        waiting.mark = waiting.mark or mark
        waiting.hostid, waiting.host = user, address
        if service not in self._tick_ns:
            self._publish(service, mark.at_ns)
            self._tick_ns[service] = mark.at_ns + INTERVAL_NS

    def close(self, end_ns: int) -> None:
        """Ticks up to the end of the capture."""
        self._advance(end_ns)

    def _advance(self, now_ns: int) -> None:
        for service in sorted(self._tick_ns):
            while service in self._tick_ns and self._tick_ns[service] <= now_ns:
                if self._pending.get(service):
                    self._publish(service, self._tick_ns[service])
                    self._tick_ns[service] += INTERVAL_NS
                else:
                    del self._tick_ns[service]

    def _publish(self, service: int, at_ns: int) -> None:
        waiting = self._pending[service]
        publisher = next(iter(waiting))
        told = waiting.pop(publisher)
        assert told.mark is not None
        self.published.append(
            Advisory(
                at_ns, service, publisher, told.host, told.hostid, sum(told.counts.values()),
                list(reversed(told.counts.items())), told.unknown, told.mark,
            )
        )  # fmt: skip


def split_service(subject: str) -> tuple[int | None, str]:
    """``_7500.FOO`` as (7500, "FOO"); no service is null."""
    head, dot, name = subject.partition(".")
    if dot and head.startswith("_") and head[1:].isdecimal() and len(head) <= 6:
        return int(head[1:]), name
    return None, subject
