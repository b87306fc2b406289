"""DATALOSS advisories that a daemon must have published to its RV clients (raims.md 11).

A loss event is a message of a numeric service that the window skipped to; every client that got the
message counts it. raims-11.1: the first event publishes at once and starts a timer of one second.
raims-11.2: each tick publishes, for each client, what has come since its last one, by subject; of
one publishing host at a time, the others wait. raims-11.3: a client without news at a tick is
forgotten, and when none is left the next event publishes at once. raims-11.4: nine pairs at most.
The subject that was lost last for the first time comes first (sassrv: src/rv_host.cpp,
``send_inbound_data_loss``; ``rv-dataloss-1``, ``-3``).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.raims.report_rows import LossEventFigures
from seqaudit.replay.sequence.gaps import Mark

INTERVAL_NS: Final = 1_000_000_000
PAIRS: Final = 9
INBOUND: Final = "_RV.ERROR.SYSTEM.DATALOSS.INBOUND.BCAST"
OUTBOUND: Final = "_RV.ERROR.SYSTEM.DATALOSS.OUTBOUND.BCAST"
LOST: Final = "lost msgs"
UNKNOWN: Final = "lost seqno tracking"
MAX_EVENTS: Final = 100_000
#: Nobody's connection was captured: what a client would be told that wants everything.
ANYBODY: Final = ""


@dataclass(frozen=True, slots=True)
class LossEvent:
    """A message that came behind lost ones.

    Attributes:
        subject: without the service.
        count: null where it is not known.
        hostid, host: name and address of the publishing daemon.
    """

    service: int
    subject: str
    count: int | None
    publisher: str
    hostid: str | None
    host: str | None
    mark: Mark

    def row(self) -> LossEventFigures:
        return {
            "service": self.service,
            "subject": self.subject,
            "count": self.count,
            "publisher": self.publisher,
            "hostid": self.hostid,
            "host": self.host,
            "frame": self.mark.frame,
            "at_ns": self.mark.at_ns,
        }

    @staticmethod
    def of(row: LossEventFigures) -> "LossEvent":
        """The event that a row tells."""
        return LossEvent(
            row["service"], row["subject"], row["count"], row["publisher"], row["hostid"],
            row["host"], Mark(row["frame"], row["at_ns"]),
        )  # fmt: skip


@dataclass(slots=True)
class Advisory:
    """One advisory to one client of one service."""

    client: str
    at_ns: int
    service: int
    publisher: str
    host: str | None
    hostid: str | None
    lost: int
    pairs: list[tuple[str, int]]
    unknown: bool
    mark: Mark

    def fields(self) -> dict[str, str | int | None]:
        """The data fields in the order of the wire (raims.md 11)."""
        found: dict[str, str | int | None] = {
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


@dataclass(frozen=True, slots=True)
class Outbound:
    """What a publisher's daemon must tell its clients of a service: another daemon's clients lost
    messages of it (raims-11.5; told by that daemon's PING, which PONG repeats).

    Attributes:
        host, hostid: address and name of the daemon whose clients lost them.
    """

    service: int
    lost: int
    unknown: bool
    host: str | None
    hostid: str | None
    mark: Mark

    def fields(self) -> dict[str, str | int | None]:
        """The data fields in the order of the wire (raims.md 11; sassrv: src/rv_host.cpp)."""
        return {
            "ADV_CLASS": "ERROR",
            "ADV_SOURCE": "SYSTEM",
            "ADV_NAME": "DATALOSS.OUTBOUND.BCAST",
            "ADV_DESC": UNKNOWN if self.unknown else LOST,
            "lost": self.lost,
            "host": self.host,
            "hostid": self.hostid,
            "scid": self.service,
        }


@dataclass(slots=True)
class _QueuedLosses:
    """What a client's queue holds of a subject."""

    lost: int = 0
    restarts: int = 0
    told_lost: int = 0
    told_restarts: int = 0
    event: LossEvent | None = None  # the last
    since: Mark | None = None  # of the first that is not told yet


@dataclass(slots=True)
class _Service:
    queues: dict[str, dict[str, _QueuedLosses]] = field(default_factory=dict)
    begun: bool = False  # an event has published at once since the queues were empty
    tick_ns: int | None = None


class Advisories:
    """The throttle of one daemon, by service.

    Args:
        clients_of: the clients that get a message; without, one that gets everything.
    """

    def __init__(self, clients_of: Callable[[LossEvent], Iterable[str]] | None = None) -> None:
        self.published: list[Advisory] = []
        self.events: list[LossEvent] = []
        self.unlisted = 0
        self._clients_of = clients_of
        self._services: dict[int, _Service] = {}

    def lost(
        self, subject: str, count: int | None, publisher: str, user: str | None,
        address: str | None, mark: Mark,
    ) -> None:  # fmt: skip
        """A loss of a subject, with its service; ``count`` is null where unknown."""
        service, name = split_service(subject)
        if service is None:
            return
        self.take(LossEvent(service, name, count, publisher, user, address, mark))

    def take(self, event: LossEvent) -> None:
        if len(self.events) < MAX_EVENTS:
            self.events.append(event)
        else:
            self.unlisted += 1
        self._advance(event.mark.at_ns)
        clients = (ANYBODY,) if self._clients_of is None else self._clients_of(event)
        for client in clients:
            state = self._services.setdefault(event.service, _Service())
            told = state.queues.setdefault(client, {}).setdefault(event.subject, _QueuedLosses())
            told.lost += 1 if event.count is None else event.count
            told.restarts += event.count is None
            told.event = event
            told.since = told.since or event.mark
            if not state.begun:
                state.begun = True
                self._publish(event.service, client, event.mark.at_ns)
            if state.tick_ns is None:
                state.tick_ns = event.mark.at_ns + INTERVAL_NS

    def close(self, end_ns: int) -> None:
        """Ticks up to the end of the capture."""
        self._advance(end_ns)

    def _advance(self, now_ns: int) -> None:
        for service, state in sorted(self._services.items()):
            while state.tick_ns is not None and state.tick_ns <= now_ns:
                news = False
                for client in list(state.queues):
                    if self._publish(service, client, state.tick_ns):
                        news = True
                    else:
                        del state.queues[client]
                if not state.queues:
                    state.begun = False
                state.tick_ns = state.tick_ns + INTERVAL_NS if news else None

    def _publish(self, service: int, client: str, at_ns: int) -> bool:
        """Tell a client what it has not been told, of one host; false: there is nothing."""
        first: LossEvent | None = None
        since: Mark | None = None
        pairs: list[tuple[str, int]] = []
        total = restarts = 0
        for subject, told in reversed(self._services[service].queues[client].items()):
            event = told.event
            if told.lost == told.told_lost or event is None:
                continue
            if first is not None and (event.host, event.hostid) != (first.host, first.hostid):
                continue
            first = first or event
            pairs.append((subject, told.lost - told.told_lost))
            total += told.lost - told.told_lost
            restarts += told.restarts - told.told_restarts
            told.told_lost, told.told_restarts = told.lost, told.restarts
            if since is None or (told.since is not None and told.since.at_ns < since.at_ns):
                since = told.since
            told.since = None
        if first is None:
            return False
        self.published.append(
            Advisory(
                client, at_ns, service, first.publisher, first.host, first.hostid, total, pairs,
                total == restarts, since or first.mark,
            )
        )  # fmt: skip
        return True


def split_service(subject: str) -> tuple[int | None, str]:
    """``_7500.FOO`` as (7500, "FOO"); no service is null."""
    head, dot, name = subject.partition(".")
    if dot and head.startswith("_") and head[1:].isdecimal() and len(head) <= 6:
        return int(head[1:]), name
    return None, subject
