"""Who is in a cluster, which of them is here, and the views that change it (jgroups.md 2.6).

Shared by all engines of JGroups: each reads the same MEMBER and VIEW rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.settings import MEMBER, Vantage
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ip_ids import ID_SPAN_NS

#: IP ids of own datagrams to one destination that are remembered.
RECENT_IDS: Final = 256
MAX_VIEWS: Final = 1_000
ASKS_TO_JOIN: Final = frozenset({"JOIN_REQ", "JOIN_REQ_WITH_STATE_TRANSFER"})

_CONTROL: Final = frozenset(
    {Kind.ACK, Kind.REQUEST, Kind.SYNC, Kind.HIGHEST, Kind.CLOSE, Kind.DIGEST}
)


@dataclass(frozen=True, slots=True)
class View:
    """A membership: who is in it, and which view of its creator it is."""

    creator: str
    number: int
    members: tuple[str, ...]

    @classmethod
    def of(cls, event: Event, known: Mapping[tuple[str, int], "View"]) -> "View | None":
        """The view that an event tells; null if it is a delta to a view that was not seen, or one
        whose creator is not in it, which is damaged."""
        stated = event.details().get("view")
        if not stated:
            return None
        creator, number = stated["id"]
        if "reference" in stated:
            reference = known.get((stated["reference"][0], stated["reference"][1]))
            if reference is None:
                return None
            left = set(stated.get("left", ()))
            members = [m for m in reference.members if m not in left]
            members += [m for m in stated.get("new", ()) if m not in members]
        else:
            members = list(stated["members"])
        return cls(creator, number, tuple(members)) if creator in members else None


class SeenViews:
    """The views of a cluster that a capture shows.

    Attributes:
        views: each with where it was seen first, and whether it was installed here.
        unknown_deltas: where views were told by what they change in one that was not seen.
        newcomers: whose window may begin with the newest one: who was not in the one before it;
            null: anybody's, as parts of the cluster merge or the capture lacks what was before.
        unchanged: one had the members of the one seen before it: one in between is missing, or the
            number of one is damaged.
        all_are_in: the member at this point has the newest one, with everybody that was in one
            before: only who is out of it can come back by a merge.
    """

    def __init__(self) -> None:
        self.views: list[tuple[View, Mark, bool]] = []
        self.unknown_deltas: list[Mark] = []
        self.newcomers: set[str] | None = None
        self.unchanged = self.all_are_in = False
        self._newest: View | None = None  # null: told by what it changes in one that was not seen
        self._here: View | None = None  # the newest that was installed here
        self._ever: set[str] = set()  # in any view
        self._number = -1  # of the newest that was seen; the next one has the number behind it
        self._merged = False
        self._known: dict[tuple[str, int], View] = {}
        self._casts: set[tuple[str, int, str]] = set()

    def caster(self, view: View | None, event: Event) -> str | None:
        """Who multicasts a view, and so has installed it; null for a view that is told to one, and
        where the member has cast it before."""
        caster = event.source if event.seqno is not None else None
        if view is None or caster is None:
            return caster
        told = view.creator, view.number, caster
        if told in self._casts or len(self._casts) >= MAX_VIEWS:
            return None
        self._casts.add(told)
        return caster

    def see(self, event: Event) -> tuple[View | None, bool]:
        """The view that an event tells, and whether it is the first to do so."""
        view, mark = View.of(event, self._known), event.first_mark()
        stated = event.details().get("view") or {}
        if view is None:
            first = mark not in self.unknown_deltas and len(self.unknown_deltas) < MAX_VIEWS
            if first:
                self.unknown_deltas.append(mark)
                self.newcomers = self._newest = None
                self._judge_all()
            return None, first
        first = (view.creator, view.number) not in self._known
        if first and len(self.views) < MAX_VIEWS:
            self._known[view.creator, view.number] = view
            self._ever.update(view.members)
            self.views.append((view, mark, False))
        if first:
            before = self._newest
            self._merged = bool(stated.get("subgroups"))
            if before is not None and set(before.members) == set(view.members):
                self.unchanged |= not self._merged
            if view.number != self._number + 1 or self._merged:
                before = None
            old = None if before is None else set(before.members)
            self.newcomers = None if old is None else set(view.members) - old
            self._newest, self._number = view, view.number
            self._judge_all()
        return view, first

    def _judge_all(self) -> None:
        newest = self._newest
        self.all_are_in = (
            newest is not None and newest == self._here and self._ever <= set(newest.members)
        )

    def names(self, member: str) -> bool | None:
        """Is a member in the newest view? Null: it was not seen."""
        return None if self._newest is None else member in self._newest.members

    def names_any(self, member: str | None) -> bool:
        """Is a member in any view?"""
        return any(member in view.members for view, _, _ in self.views)

    def latest_of(self, member: str | None) -> View | None:
        """The newest view with a member."""
        with_it = (view for view, _, _ in self.views if member in view.members)
        return max(with_it, key=lambda view: view.number, default=None)

    def of(self, event: Event) -> View | None:
        """The view that an event tells, which has been seen."""
        return View.of(event, self._known)

    def left_out(self, sender: str, member: str | None, waiting: Sequence[View | None]) -> bool:
        """Was a sender in a view with a member, and is not in the newest, which was told to one
        that joins while the multicast is not in the capture, or is ``waiting``?"""
        told = [view for view, _, _ in self.views if member in view.members]
        if not told or sender in told[-1].members:
            return False
        newest = told[-1].creator, told[-1].number
        cast = any(cast[:2] == newest for cast in self._casts) and told[-1] not in waiting
        return not cast and any(sender in view.members for view in told)

    def elders(self, sender: str) -> set[str] | None:
        """Who was there when the newest view, or one before, let a sender in, but for its creator,
        which casts it; who joined later has a window for the sender from then on. Null: anybody."""
        newest = self._newest
        if newest is None or self._merged or sender not in newest.members:
            return None  # each coordinator casts a merged one to its own part
        if newest.creator == sender:
            return set()
        if self.newcomers is None:
            return None
        return set(newest.members[: newest.members.index(sender)]) - {newest.creator}

    def installed(self, view: View) -> None:
        """The member at this point has it now."""
        self._here = view
        self._judge_all()
        self.views = [
            (seen, at, here or (seen.creator, seen.number) == (view.creator, view.number))
            for seen, at, here in self.views
        ]


class Members:
    """The members that a capture has shown, and which one of them is at this point.

    Attributes:
        local: UUID of the member at whose interface the capture was taken; null: not known yet,
            or no member's. One that begins anew has another.
        addresses: hosts each member was seen at.
        versions: release each member runs, as text.
        another: when one at the local one's host spoke last that is not it; null: none did. It may
            have taken its place, also where the capture lacks its join.
        others_repair: what one had sent came from the socket of another.
        first_heard: when each was named first, in ns: a member had started by then.
    """

    def __init__(self, vantage: Vantage) -> None:
        self.local: str | None = None
        self.addresses: dict[str, set[str]] = {}
        self.versions: dict[str, str] = {}
        self.another: Mark | None = None
        self.others_repair = False
        self.first_heard: dict[str, int] = {}
        self._vantage = vantage
        self._sockets: dict[str, str] = {}  # address -> the member that was seen there first
        self._socket_of: dict[str, str] = {}  # where each member was seen first
        self._spoke = False  # the local one
        self._dead: set[str | None] = set()  # whose place another one took
        self._earlier: list[tuple[int, str | None]] = []  # until which frame who was here
        self._newest = self._begun = -1  # number of the last view, and when one began anew
        self._own_ids: dict[str, dict[int, Mark]] = {}  # destination -> IP id -> where it was seen

    def saw(self, event: Event) -> None:
        """A MEMBER row."""
        assert event.source is not None
        self.first_heard.setdefault(event.source, event.at_ns)
        detail = event.details()
        if detail.get("version"):
            self.versions.setdefault(event.source, detail["version"])
        address = detail.get("address")
        if not address:
            return
        known = self.addresses.setdefault(event.source, set())
        host = host_of(address)
        if host in known:
            return  # each piece of a capture says it once: only the first time tells anything
        if self._sockets.setdefault(address, event.source) != event.source and known:
            self.others_repair = True  # it sends again what this one had sent (5.5)
            return
        known.add(host)
        self._socket_of.setdefault(event.source, address)
        if self.is_local(event.source) and not self._spoke:
            self.local = event.source

    def heard(self, event: Event) -> None:
        """Of several at this host the one that speaks first is the local one."""
        if event.source is None or not self.is_local(event.source):
            return
        self.first_heard.setdefault(event.source, event.at_ns)
        if not self._spoke:
            self.local, self._spoke = event.source, True
        elif event.source != self.local:
            self.another = event.last_mark()

    def begins_anew(self, view: View) -> str | None:
        """Who takes the local member's place with a view: one at its host that is in the view, of
        which the local member is not; null if none does."""
        self._newest = max(self._newest, view.number)
        if self.local is None or self.local in view.members or view.number <= self._begun:
            return None
        here = (member for member in view.members if self.is_local(member))
        return next((member for member in here if member not in self._dead), None)

    def own_part(self, event: Event) -> set[str] | None:
        """Who of the parts of the cluster that a view merges was in the local member's for certain;
        null: none is told."""
        own = self._own_groups(event)
        return set.intersection(*(set(group["members"]) for group in own)) if own else None

    def had_another(self, event: Event, view: View | None) -> bool:
        """May the local member have had another one than this, as a view that merges says?"""
        told = [group["id"] for group in self._own_groups(event)]
        if not told or view is None:
            return False
        newer = any(id_[0] == view.creator and id_[1] > view.number for id_ in told)
        return newer or [view.creator, view.number] not in told

    def _own_groups(self, event: Event) -> list[Mapping[str, Any]]:
        """Those that name the local member, or the one that it made itself. What others had may
        name it as well, as it is long out of date."""
        groups = (event.details().get("view") or {}).get("subgroups", ())
        named = [group for group in groups if self.local in group["members"]]
        return [group for group in named if group["id"][0] == self.local] or named

    def put_out(self, event: Event, view: View | None, own: View | None, *, left: bool) -> bool:
        """Is the local member no longer in a view? One that tells only what it changes says who
        left, also where the capture lacks the view before (null).

        Args:
            own: the view that it has.
            left: it was told that it may go.
        """
        local, stated = self.local, event.details().get("view") or {}
        if self._vantage.kind != MEMBER or local is None:
            return False
        out = local in stated.get("left", ()) if view is None else local not in view.members
        if own is None:
            return out and (view is None or left)
        return out and local in own.members and stated["id"][1] > own.number

    def takes_over(self, event: Event) -> bool:
        """Does a process ask to join from the local member's very socket? Then that one is dead,
        though it stays in views until it is suspected."""
        at = self._socket_of.get(event.source or "")
        if event.wire_kind not in ASKS_TO_JOIN or at is None or self.local in (None, event.source):
            return False
        return at == self._socket_of.get(self.local or "")

    def begun_anew(self, member: str, frame: int) -> None:
        """It has taken the local member's place."""
        self._dead.add(self.local)
        self._earlier.append((frame, self.local))
        self.local, self._begun = member, self._newest

    def at(self, frame: int) -> str | None:
        """Who was here then."""
        return next((member for until, member in self._earlier if frame < until), self.local)

    def is_local(self, member: str | None) -> bool:
        """Is it the member at this point, or another one at its host?"""
        if self._vantage.kind != MEMBER or member is None:
            return False
        return member == self.local or self._vantage.address in self.addresses.get(member, ())

    def comes_here(self, event: Event) -> bool:
        """Captured at a member's interface and not sent by it."""
        return self._vantage.kind == MEMBER and not self.is_local(event.source)

    def captured_twice(self, event: Event) -> bool:
        """The same datagram of this member's own again: no network lies between it and its own
        interface, so it was sent once. (Numbered messages count their copies themselves.)
        """
        if event.kind not in _CONTROL or not self.is_local(event.source):
            return False
        if event.flags & Flag.NETWORK_DUPLICATE:
            return True
        if not event.fresh_id:
            return False
        recent = self._own_ids.setdefault(event.destination or "", {})
        before = recent.pop(event.fresh_id, None)
        recent[event.fresh_id] = before or event.first_mark()
        if len(recent) > RECENT_IDS:
            del recent[next(iter(recent))]
        return (
            before is not None
            and before.frame != event.frame
            and event.at_ns - before.at_ns < ID_SPAN_NS
        )

    def learn(self, event: Event) -> None:
        """A unicast captured at a member's interface is from it or for it."""
        if self.local is not None or self._vantage.kind != MEMBER or event.destination is None:
            return
        if event.source in self.addresses and not self.is_local(event.source):
            self.local = event.destination


def host_of(address: str) -> str:
    """The host of ``10.80.0.2:7800`` or ``fd00::2:7800`` or ``[fd00::2]:7800``."""
    host = address.rpartition(":")[0]
    return host.strip("[]")
