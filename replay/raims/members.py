"""Who is who: daemons by their bridge ids, and which of them observes (raims.md 6, 15.5)."""

from collections.abc import Callable, Mapping
from typing import Final

from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.observer import Observer
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.settings import Settings
from seqaudit.replay.raims.streams import RaimsStream
from seqaudit.replay.sequence.gaps import Mark

#: A daemon may take in another order what came on several connections within this.
TOGETHER_NS: Final = 100_000_000


class Daemons:
    """The daemons of one conversation.

    Attributes:
        users: every daemon that said who it is, by its bridge.
        observers: starts of the observing daemon, in the order in which they were met.
        first_ns: of the first event of all; null before it.
        together: a start of the observer spoke behind the first word of a later one: they are
            several daemons of one host.

    Args:
        address: where the capture was taken; null: nobody knows.
        changed: called when a daemon started, ended, or said its name.
    """

    def __init__(
        self, settings: Settings, address: str | None, changed: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._address = address
        self._changed = changed
        self.users: dict[str, Peer] = {}
        self.observers: list[Observer] = []
        self.first_ns: int | None = None
        self.together = False
        self._said: set[tuple[object, ...]] = set()  # who, where and by which name
        self._starts: dict[tuple[str, str | None], str] = {}  # who and where -> its first bridge

    @property
    def observer(self) -> Observer:
        """The daemon observed now; where none is known, a nobody who wants everything."""
        if not self.observers:
            self._observe(None, self.first_ns or 0)
        return self.observers[-1]

    def is_own(self, bridge: str | None) -> bool:
        """Is it the observer, in any of its starts?"""
        if self._address is None or bridge is None:
            return False
        return any(observer.bridge == bridge for observer in self.observers)

    def met(self, event: Event) -> None:
        """A daemon says who and where it is; each piece of a capture tells it once, and only the
        first time says anything."""
        detail = event.details()
        said = event.source, detail.get("address"), detail.get("name")
        if event.source is None or said in self._said:
            return
        self._said.add(said)
        self._changed()
        address = str(detail.get("address") or "").rpartition(":")[0].strip("[]")
        known = self.users.setdefault(event.source, Peer(event.source))
        known.user = str(detail.get("name") or "") or known.user
        known.address = address or known.address
        known.first = known.first or event.first_mark()
        if known.user is not None:
            self._starts.setdefault((known.user, known.address), event.source)
        if self._address is not None and address == self._address:
            if not any(o.bridge == event.source for o in self.observers):
                self._observe(event.source, event.at_ns)
            self.observer.user = known.user
        elif self.observers:
            self.peer(event.source)

    def learn(self, bridge: str, detail: Mapping[str, object], frame: int, link: str) -> None:
        """A peer answers, on a link, for a daemon that the observer does not know itself."""
        self._changed()
        known = self.users.setdefault(bridge, Peer(bridge))
        known.user = known.user or str(detail.get("user") or "") or None
        if bridge != self.observer.bridge:
            peer = self.peer(bridge)
            peer.met_frame = frame
            peer.introduced_on = peer.introduced_on or link
            peer.is_introduced()

    def peer(self, bridge: str) -> Peer:
        """What the observer of now knows of another daemon."""
        observer = self.observer
        peer = observer.peers.get(bridge)
        if peer is None:
            peer = observer.peers[bridge] = observer.met[bridge] = Peer(bridge)
        known = self.users.get(bridge)
        if known is not None:
            peer.user, peer.address = known.user, known.address
        return peer

    def restarted(self, bridge: str) -> bool:
        """Was another start of the same daemon captured before?"""
        known = self.users.get(bridge)
        if known is None or known.user is None:
            return False
        return self._starts.get((known.user, known.address)) not in (None, bridge)

    def start_of(self, bridge: str) -> int | None:
        """When a daemon started, as it says; null: it was not heard."""
        for observer in self.observers:
            if observer.bridge == bridge:
                return observer.start_ns
        known = self.users.get(bridge)
        return None if known is None else known.start_ns

    def said_goodbye(self, bridge: str) -> bool:
        """A start that did is never heard of again: the next has another bridge."""
        known = self.users.get(bridge)
        return known is not None and known.ended is not None

    def ended_ns(self, bridge: str | None) -> int | None:
        """When a daemon said goodbye, or the same one started again; null: it was not heard to."""
        known = None if bridge is None else self.users.get(bridge)
        if known is None:
            return None
        ends = [] if known.ended is None else [known.ended.at_ns]
        if known.user is not None and known.start_ns is not None:
            ends += [
                other.start_ns
                for other in self.users.values()
                if (other.user, other.address) == (known.user, known.address)
                and other.start_ns is not None
                and other.start_ns > known.start_ns
            ]
        return min(ends, default=None)

    # -- the observer's own names of others ------------------------------------------------------

    def names(self, event: Event) -> None:
        """A header of the observer's inbox says what it calls the daemon that it goes to."""
        if event.destination is None or event.conn_id is None or not event.conn_id >> 10:
            return
        uid = (event.conn_id >> 10) - 1
        peers = self.observer.peers.values()
        for peer in peers:
            known = self.users.get(peer.bridge)
            if (
                known is not None
                and known.address == event.destination
                and peer.uid is None
                and all(p.uid != uid for p in peers)
            ):
                peer.uid = uid

    @staticmethod
    def number(observer: Observer) -> None:
        """Peers that no inbox header numbers, as over TCP: in the order in which they were met. The
        number of one that left goes to nobody else; of those that were met at once, each on a
        connection of its own, nobody can tell which is which. Who is met by another's answer comes
        behind that one: one connection keeps its order."""
        taken = {peer.uid for peer in observer.met.values()}
        free = (uid for uid in range(1, 1 << 16) if uid not in taken)
        met = [p for p in observer.met.values() if p.joined_frame >= 0 and p.first is not None]
        met.sort(key=lambda peer: peer.first or Mark(-1, -1))
        together: set[str] = set()
        for place, one in enumerate(met):
            for other in met[place + 1 :]:
                if not one.first or not other.first:
                    continue
                if other.first.at_ns - one.first.at_ns >= TOGETHER_NS:
                    break
                if not one.introduced_on or one.introduced_on != other.introduced_on:
                    together |= {one.bridge, other.bridge}
        for peer in observer.met.values():
            if peer.uid is None:
                number = next(free)
                peer.uid = None if peer.bridge in together else number

    def _observe(self, bridge: str | None, at_ns: int) -> None:
        """The observer has started, or is first seen."""
        self._changed()
        before: dict[tuple[str, str], RaimsStream] = {}
        if self.observers and self.observers[-1].bridge is None:
            before = self.observers.pop().streams  # stood in until the daemon said who it is
        observer = Observer(bridge, at_ns, self._settings.subscription_window(at_ns))
        self.observers.append(observer)
        for name, stream in before.items():
            stream.forget_judgement()
            observer.streams[name] = stream
        subscriptions = observer.window.subscriptions
        stated = self._settings.parameters.value("subscribed")
        if bridge is None:
            subscriptions.start(">", wildcard=True)
        elif stated and len(self.observers) == 1:
            for pattern in str(stated).split(","):
                text = pattern.strip()
                observer.stated += 1
                subscriptions.start(
                    text, wildcard=any(part in ("*", ">") for part in text.split("."))
                )
