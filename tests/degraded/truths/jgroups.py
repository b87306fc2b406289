"""JGroups: what the path dropped and delayed, what never arrived, what a stack dropped itself.

The recording lab computed it from the captures of both ends and from what its path did.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.agreement import wire
from tests.agreement.truth import GMS_VIEW, Scenario
from tests.degraded.claims import Finding, shown
from tests.degraded.subjects import Recording

Predicate = Callable[[Recording, str | None, Finding], str | None]

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NUMBERED: Final = (wire.NAKACK_MSG, wire.NAKACK_XMIT_RSP)
_STAMPS: Final = re.compile(r"timestamp ([\d, -]+)")
#: What came so shortly before may not have been read.
UNREAD_NS: Final = 20_000_000
#: Multicasts that wait for a join (become_server_queue_size).
JOIN_QUEUE: Final = 50
GMS_JOIN_REQ: Final = 1
GMS_JOIN_RSP: Final = 2
GMS_VIEW_ACK: Final = 10
#: Flag of a view in its message (jgroups.md 2.6).
MERGE_VIEW: Final = 4
_ASKS: Final = re.compile(r"(\S+) asked for ")
_ON_THE_WAY: Final = re.compile(r"lost on the way")


class Facts:
    """The truth by sender and receiver, as names."""

    def __init__(self, recording: Recording) -> None:
        self.scenario = Scenario(recording.folder, dict(recording.truth))
        self._recording = recording

    def ends(self, found: Finding, file: str | None) -> list[tuple[str, str]]:
        """Sender and receiver of a finding's stream; several receivers where it may be any."""
        names = [self.scenario.names.get(uuid) for uuid in _UUID.findall(found.stream)]
        if not names or None in names:
            return []
        sender = str(names[0])
        if found.unicast:
            return [(sender, str(names[1]))] if len(names) > 1 else []
        here: set[str | None] = {*self._askers(found)} or {self._member_at(file)}
        others = [name for name in self.scenario.names.values() if name != sender]
        some = [name for name in others if name in here]
        return [(sender, name) for name in some or others]

    def _askers(self, found: Finding) -> list[str]:
        """Who asked, of a finding that says so: any vantage that the request passed tells of it.
        A member that comes back has its name again, and is another one."""
        asker = _ASKS.match(found.text)
        return [
            name
            for name, member in self.scenario.truth["members"].items()
            if asker and asker[1] in (member.get("logical_name", name), member["uuid"])
        ]

    def _member_at(self, file: str | None) -> str | None:
        address = self._recording.places.get(file or "")
        found = [n for n in self.scenario.names.values() if self.scenario.address(n) == address]
        return found[0] if len(found) == 1 else None

    def figures(self, sender: str, receiver: str, unicast: bool) -> Mapping[str, Any] | None:
        """What the lab computed of this direction; null where it could not."""
        if unicast:
            found = self.scenario.unicast.get(f"{sender}>{receiver}")
        else:
            stream = self.scenario.multicast.get(sender, {})
            found = stream.get("receivers", {}).get(receiver)
        return found if found is not None and found.get("exact") else None

    def lost(self, sender: str, receiver: str, unicast: bool) -> set[int] | None:
        """Seqnos of which the path lost the first copy; null where nobody knows."""
        figures = self.figures(sender, receiver, unicast)
        return None if figures is None else set(figures["exact"]["first_copy_lost"])

    def never(self, sender: str, receiver: str, found: Finding) -> set[int] | None:
        """Seqnos that never arrived, on the finding's connection if it names one of the truth's."""
        figures = self.figures(sender, receiver, found.unicast)
        if figures is None:
            return None
        if not found.unicast:
            return set(figures["never_arrived"])
        conns = figures["conns"]
        conn_id = found.stream.rpartition("|")[2]
        of = [conns[conn_id]] if conn_id in conns else list(conns.values())
        return {seqno for conn in of for seqno in conn["never_arrived"]}

    def came(self, sender: str, receiver: str, found: Finding) -> set[int] | None:
        """Seqnos that the whole capture at the receiver holds; null where there is none."""
        if receiver not in self.scenario.captures:
            return None
        numbers: set[int] = set()
        for message in self.scenario.messages(receiver):
            if message.sender != self.scenario.uuids[sender]:
                continue
            sent, of = message.unicast, message.nakack
            if found.unicast and sent is not None and sent.kind == wire.DATA:
                if str(sent.conn_id) == found.stream.rpartition("|")[2]:
                    numbers.add(sent.seqno)
            elif not found.unicast and of is not None and of.kind in _NUMBERED:
                numbers.add(of.seqno)
        return numbers

    def acked_before(self, sender: str, receiver: str, found: Finding) -> set[int] | None:
        """Seqnos of which the whole capture at the receiver holds a copy behind its own ACK for
        them, in a datagram of its own; null where there is none."""
        if receiver not in self.scenario.captures:
            return None
        uuids, conn_id = self.scenario.uuids, found.stream.rpartition("|")[2]
        acked, copies, came = -1, set(), set()
        for message in self.scenario.messages(receiver):
            of = message.unicast if found.unicast else message.nakack
            if of is None or (isinstance(of, wire.Unicast) and str(of.conn_id) != conn_id):
                continue
            ack = wire.ACK if found.unicast else wire.NAKACK_ACK
            numbered = (wire.DATA,) if found.unicast else _NUMBERED
            if of.kind == ack and message.sender == uuids[receiver]:
                if message.destination == uuids[sender]:
                    acked = max(acked, of.seqno)
            elif of.kind in numbered and message.sender == uuids[sender]:
                one = of.seqno, message.datagram.ip_id
                if of.seqno <= acked and one not in came:
                    copies.add(of.seqno)
                came.add(one)
        return copies

    def asked_unread(self, sender: str, receiver: str, found: Finding) -> set[int]:
        """Seqnos that the receiver asked for just after they had come, as its whole capture shows:
        HIGHEST_SEQNO in the same datagram, which another thread reads, has it ask at once. What
        comes to a member that joins waits until it has a view, and a HIGHEST_SEQNO does not."""
        uuids, came, unread, joins = self.scenario.uuids, dict[int, int](), set[int](), False
        for message in self.scenario.messages(receiver) if not found.unicast else ():
            of, at_ns = message.nakack, message.datagram.at_ns
            if message.gms in (GMS_JOIN_REQ, GMS_VIEW_ACK) and message.sender == uuids[receiver]:
                joins = message.gms == GMS_JOIN_REQ
            if of is None:
                continue
            if of.kind in _NUMBERED and message.sender == uuids[sender]:
                came.setdefault(of.seqno, at_ns)
            elif of.original == uuids[sender] and message.sender == uuids[receiver]:
                asked = wire.missing_seqnos(message)
                within = at_ns if joins else UNREAD_NS
                unread |= {seqno for seqno in asked if at_ns - came.get(seqno, -1) <= within}
        return unread

    def unqueued(self, sender: str, receiver: str, found: Finding) -> set[int]:
        """Seqnos that came before the receiver's JOIN_RSP, of which it may have dropped some: more
        multicasts had come by then than wait for a join, as its whole capture shows."""
        uuids, came, waiting = self.scenario.uuids, set[int](), 0
        for message in self.scenario.messages(receiver) if not found.unicast else ():
            of = message.nakack
            if message.gms == GMS_JOIN_RSP and message.destination == uuids[receiver]:
                return came if waiting > JOIN_QUEUE else set()
            if of is not None and of.kind in _NUMBERED and message.sender != uuids[receiver]:
                waiting += 1
                if message.sender == uuids[sender]:
                    came.add(of.seqno)
        return set()

    def unmerged(self, sender: str, receiver: str, found: Finding) -> set[int]:
        """Seqnos that came before a merge let the sender in again, as the receiver's whole capture
        shows: there was no window for them."""
        uuids, came, dropped = self.scenario.uuids, set[int](), set[int]()
        for message in self.scenario.messages(receiver) if not found.unicast else ():
            of = message.nakack
            if message.gms == GMS_VIEW and message.payload[1] & MERGE_VIEW:
                dropped |= came
            if of is not None and of.kind in _NUMBERED and message.sender == uuids[sender]:
                came.add(of.seqno)
        return dropped

    def own_stamps(self, file: str | None) -> set[int] | None:
        """Timestamps of the ACKs and SEND_FIRST_SEQNO that a member sent, as its whole capture
        holds them."""
        member = self._member_at(file)
        if member is None:
            return None
        return {
            message.unicast.stamp
            for message in self.scenario.messages(member)
            if message.unicast is not None
            and message.unicast.stamp is not None
            and message.sender == self.scenario.uuids[member]
        }

    def delayed(self, sender: str, receiver: str, unicast: bool) -> set[int]:
        """Seqnos of data that the path held back."""
        return {
            message["seqno"]
            for action in self.scenario.truth["path_actions"]
            if action["action"] != "drop" and (action["from"], action["to"]) == (sender, receiver)
            for message in action.get("msgs", ())
            if "seqno" in message and message["prot"].startswith("U" if unicast else "N")
        }

    def excused(self, sender: str, receiver: str) -> bool:
        """Whether a stack dropped messages itself, or its socket while it was paused, which is a
        loss that no path knows of."""
        scenario = self.scenario
        return (
            scenario.discards(receiver)
            or scenario.drops_own(sender)
            or scenario.happened(rf"^{receiver} paused")
        )


_FACTS: Final[dict[str, Facts]] = {}


def facts(recording: Recording) -> Facts:
    """Kept by folder: the multicast figures of a run over TCP take a while."""
    return _FACTS.setdefault(str(recording.folder), Facts(recording))


def _each(judge: Callable[[Facts, str, str, Finding], set[int] | None], why: str) -> Predicate:
    """Refuted where for every receiver it may be about some of its seqnos are wrong, confirmed
    where for one none is."""

    def predicate(recording: Recording, file: str | None, found: Finding) -> str | None:
        known = facts(recording)
        wrong = [judge(known, *pair, found) for pair in known.ends(found, file)]
        if any(seqnos is not None and not seqnos for seqnos in wrong):
            return "" if found.seqnos else None
        if not wrong or any(seqnos is None for seqnos in wrong):
            return None
        fewest = min((seqnos for seqnos in wrong if seqnos), key=len)
        return f"{why}: {shown(fewest)}"

    return predicate


def _not_missed(known: Facts, sender: str, receiver: str, found: Finding) -> set[int] | None:
    """Called lost (and repaired), and the path neither lost nor delayed its first copy."""
    lost = known.lost(sender, receiver, found.unicast)
    if lost is None or known.excused(sender, receiver):
        return None
    if not _ON_THE_WAY.search(found.text):
        lost |= known.delayed(sender, receiver, found.unicast)
    return set(found.seqnos) - lost


def _not_lacked(known: Facts, sender: str, receiver: str, found: Finding) -> set[int] | None:
    """Called asked for as it was lacked, and the path neither lost nor delayed it, nor did a stack
    or the queue of a join drop it or a paused member not read it yet, nor did it come while its
    sender was out of the view."""
    scenario = known.scenario
    if known.lost(sender, receiver, found.unicast) is None or scenario.drops_own(sender):
        return None
    if scenario.discards(receiver) or scenario.happened(rf"^{receiver} paused"):
        return set()
    missed = _not_missed(known, sender, receiver, found)
    others = known.asked_unread, known.unqueued, known.unmerged
    return missed and missed.difference(*(of(sender, receiver, found) for of in others))


def _repaired_but_never_came(
    known: Facts, sender: str, receiver: str, found: Finding
) -> set[int] | None:
    never = known.never(sender, receiver, found)
    return None if never is None else set(found.seqnos) & never


def _arrived(known: Facts, sender: str, receiver: str, found: Finding) -> set[int] | None:
    """Called lost for good, and it arrived."""
    never = known.never(sender, receiver, found)
    if never is None or known.excused(sender, receiver):
        return None
    return set(found.seqnos) - never


def _did_not_come(known: Facts, sender: str, receiver: str, found: Finding) -> set[int] | None:
    """Said to have been had, and it never came to the receiver's interface."""
    came = known.came(sender, receiver, found)
    return None if came is None else set(found.seqnos) - came


def _not_acked_before(known: Facts, sender: str, receiver: str, found: Finding) -> set[int] | None:
    """Said to have come though it was acknowledged, and no copy came behind an ACK."""
    copies = known.acked_before(sender, receiver, found)
    return None if copies is None else set(found.seqnos) - copies


def _own_not_captured(recording: Recording, file: str | None, found: Finding) -> str | None:
    """Said to be missing in the capture, and never sent. What a stack numbers while a connection is
    broken is in no capture."""
    known = facts(recording)
    sent = None if known.scenario.over_tcp else known.own_stamps(file)
    named = _STAMPS.search(found.text)
    if named is None or sent is None:
        return None
    ends = [part.split("-") for part in named[1].strip(" ,").split(", ")]
    told = {stamp for pair in ends for stamp in range(int(pair[0]), int(pair[-1]) + 1)}
    return f"never sent: {shown(told - sent)}" if told - sent else ""


def _not_delayed(known: Facts, sender: str, receiver: str, found: Finding) -> set[int] | None:
    """Called late, and the path did not delay it; threads of its sender may have exchanged it."""
    if "path_actions" not in known.scenario.truth:
        return None
    return None if found.seqnos - known.delayed(sender, receiver, found.unicast) else set()


def _only_confirmed(predicate: Predicate) -> Predicate:
    """For a rule that rests on more than its predicate looks at: what it does not find may be."""
    return lambda recording, file, found: predicate(recording, file, found) and None


def _both(*predicates: Predicate) -> Predicate:
    """Refuted by the first that refutes; confirmed if all confirm."""

    def predicate(recording: Recording, file: str | None, found: Finding) -> str | None:
        answers = [one(recording, file, found) for one in predicates]
        return next((answer for answer in answers if answer), "" if None not in answers else None)

    return predicate


def _never_confirmed(predicate: Predicate) -> Predicate:
    """For a rule that says more than its predicate knows."""
    return lambda recording, file, found: predicate(recording, file, found) or None


_NOT_LOST_ON_PATH: Final = _each(_not_missed, "the path did not lose")
_REPAIRED: Final = _both(_NOT_LOST_ON_PATH, _each(_repaired_but_never_came, "never arrived at all"))
_LATE: Final = _each(_not_delayed, "the path did not delay")
_LACKED: Final = _each(_not_lacked, "the path did not lose")
_ACKED: Final = _only_confirmed(_each(_not_acked_before, "no copy behind its ACK"))
_CAME: Final = _each(_arrived, "arrived in the end")

PREDICATES: Final[Mapping[str, Predicate]] = {
    "CP007": _each(_did_not_come, "never came"),
    "CP030": _own_not_captured,
    "MC001": _REPAIRED,
    "MC002": _CAME,
    "MC003": _never_confirmed(_NOT_LOST_ON_PATH),
    "MC004": _ACKED,
    "MC011": _LATE,
    "MC024": _LACKED,
    "UC001": _REPAIRED,
    "UC002": _CAME,
    "UC003": _never_confirmed(_NOT_LOST_ON_PATH),
    "UC005": _ACKED,
    "UC030": _LATE,
    "UC048": _LACKED,
}
