"""RV clients of raims daemons, as their connections show them (raims.md 11)."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import Row
from seqaudit.replay.raims.report_rows import RvClientRow
from seqaudit.replay.sequence.gaps import Mark

DATALOSS: Final = "_RV.ERROR.SYSTEM.DATALOSS."
MAX_CLIENTS: Final = 10_000
MAX_SUBJECTS: Final = 10_000
MAX_LISTENS: Final = 10_000
MAX_ADVISORIES: Final = 10_000
#: Addresses of a daemon that say nothing of which it is.
LOOPBACK: Final = ("127.", "[::1]")


@dataclass(frozen=True, slots=True)
class SeenAdvisory:
    """An advisory about data loss, as it was captured; its data as pairs in order."""

    subject: str
    data: list[list[object]]
    mark: Mark


@dataclass(slots=True)
class Client:
    """One connection of a client.

    Attributes:
        address: of the daemon; null where only a loopback address is known.
        began: its handshake was captured, so its subscriptions are known.
        listens: pattern, and from when to when; null: to the end.
    """

    name: str
    client: str
    daemon: str
    address: str | None
    began: bool = False
    service: int | None = None
    userid: str | None = None
    session: str | None = None
    first: Mark | None = None
    last: Mark | None = None
    listens: list[tuple[str, int, int | None]] = field(default_factory=list)
    received: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    advisories: list[SeenAdvisory] = field(default_factory=list)
    unlisted: int = 0

    def row(self) -> RvClientRow:
        return {
            "client": self.client,
            "daemon": self.daemon,
            "address": self.address,
            "began": self.began,
            "service": self.service,
            "userid": self.userid,
            "session": self.session,
            "first_frame": self.first.frame if self.first else None,
            "first_ns": self.first.at_ns if self.first else None,
            "last_frame": self.last.frame if self.last else None,
            "last_ns": self.last.at_ns if self.last else None,
            "listens": [list(listen) for listen in self.listens],
            "received": dict(sorted(self.received.items())),
            "sent": self.sent,
            "advisories": len(self.advisories),
            "unlisted": self.unlisted,
        }


class Clients:
    """All RV connections of one capture."""

    def __init__(self) -> None:
        self.all: dict[str, Client] = {}
        self.messages = 0
        self.unlisted = 0

    def feed(self, event: Event) -> None:
        """One message, or the begin of a connection."""
        self.messages += 1
        name = str(event.stream)
        known = self.all.get(name)
        if known is None or (event.wire_kind == "CONNECTED" and known.first is not None):
            if len(self.all) >= MAX_CLIENTS:
                self.unlisted += 1
                return
            if known is not None:  # the same ports again
                self.all[f"{name}#{known.first.frame if known.first else 0}"] = known
            known = self.all[name] = self._opened(name)
        mark = event.first_mark()
        known.first = known.first or mark
        known.last = mark
        _WORDS.get(event.wire_kind, _other)(known, event, mark)

    @staticmethod
    def _opened(name: str) -> Client:
        client, _, daemon = name.removeprefix("rv:").partition(">")
        address = daemon.rpartition(":")[0]
        here = address.startswith(LOOPBACK)
        return Client(name, client, daemon, None if here else address.strip("[]"))


def _connected(client: Client, event: Event, mark: Mark) -> None:
    client.began = True


def _init(client: Client, event: Event, mark: Mark) -> None:
    told = _fields(event)
    service = str(told.get("service") or "")
    client.service = int(service) if service.isdecimal() else client.service
    client.userid = str(told["userid"]) if "userid" in told else client.userid
    client.session = str(told["session"]) if "session" in told else client.session


def _response(client: Client, event: Event, mark: Mark) -> None:
    data = dict(_fields(event).get("data") or [])
    if isinstance(data.get("ipaddr"), str):
        client.address = data["ipaddr"]


def _listen(client: Client, event: Event, mark: Mark) -> None:
    if len(client.listens) < MAX_LISTENS:
        client.listens.append((event.destination or "", mark.at_ns, None))
    else:
        client.unlisted += 1


def _cancel(client: Client, event: Event, mark: Mark) -> None:
    for place, (pattern, start, stop) in enumerate(client.listens):
        if stop is None and pattern == event.destination:
            client.listens[place] = (pattern, start, mark.at_ns)
            return


def _data(client: Client, event: Event, mark: Mark) -> None:
    subject = event.destination or ""
    if event.source == client.client:
        client.sent += 1
    elif subject.startswith(DATALOSS):
        _advisory(client, event, mark)
    elif subject in client.received or len(client.received) < MAX_SUBJECTS:
        client.received[subject] += 1
    else:
        client.unlisted += 1


def _advisory(client: Client, event: Event, mark: Mark) -> None:
    subject = event.destination or ""
    if not subject.startswith(DATALOSS) or event.source == client.client:
        return
    if len(client.advisories) < MAX_ADVISORIES:
        client.advisories.append(SeenAdvisory(subject, _fields(event).get("data") or [], mark))
    else:
        client.unlisted += 1


def _other(client: Client, event: Event, mark: Mark) -> None:
    """Nothing that an audit needs."""


_WORDS: Final = {
    "CONNECTED": _connected, "INIT": _init, "RESPONSE": _response, "LISTEN": _listen,
    "CANCEL": _cancel, "DATA": _data, "ADVISORY": _advisory,
}  # fmt: skip


def _fields(event: Event) -> Row:
    """The fields of a message, by name; nested ones stay pairs."""
    return dict(json.loads(event.detail)) if event.detail else {}
