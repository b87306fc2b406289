"""What the recordings expect of the unicast rules; ``expected`` has the table (CONTRIBUTING.md
4)."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.agreement.figures_unicast import hidden_at_receiver
from tests.agreement.truth import Scenario

ACK: Final = 1

Concerns = Callable[[Scenario], bool]


def _pairs(scenario: Scenario, receiver: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    for pair, figures in scenario.unicast.items():
        if receiver is None or pair.endswith(f">{receiver}"):
            yield pair, figures


def _any_pair(holds: Callable[[dict[str, Any]], bool]) -> Concerns:
    return lambda scenario: any(holds(figures) for _, figures in _pairs(scenario))


def _lost(figures: Mapping[str, Any]) -> set[int]:
    return set(figures.get("exact", {}).get("first_copy_lost", ()))


def _never(figures: Mapping[str, Any]) -> set[int]:
    return {seqno for conn in figures["conns"].values() for seqno in conn["never_arrived"]}


def repaired_at(scenario: Scenario, member: str | None) -> bool:
    """Whether a member received repairs of what it can know to have been lost."""
    for pair, figures in _pairs(scenario, member):
        hidden = hidden_at_receiver(scenario, pair)
        for conn_id, conn in figures["conns"].items():
            repaired = _lost(figures) - set(conn["never_arrived"])
            # the truth does not say on which connection: one with that seqno where it shows
            if any(s <= conn["highest"] and (int(conn_id), s) not in hidden for s in repaired):
                return True
    return False


def _repairs_fire(scenario: Scenario, member: str) -> bool | None:
    """The truth knows of losses on the path alone, not of those inside a stack (DISCARD)."""
    return None if scenario.happened("DISCARD") else repaired_at(scenario, member)


def missing_at(scenario: Scenario, member: str | None) -> bool:
    """Whether a member can know of messages that never came."""
    for pair, figures in _pairs(scenario, member):
        hidden = {seqno for _, seqno in hidden_at_receiver(scenario, pair)}
        if _never(figures) - hidden:
            return True
    return False


def _first_lost(figures: dict[str, Any]) -> bool:
    return 1 in _lost(figures)


def _last_lost(figures: dict[str, Any]) -> bool:
    return any(
        conn["highest"] in _lost(figures) and conn["highest"] > 1
        for conn in figures["conns"].values()
    )


def _needless(figures: dict[str, Any]) -> bool:
    return bool(figures.get("exact", {}).get("copies_sent_after_arrival", 0))


def _acks_lost(figures: dict[str, Any]) -> bool:
    """ACKs were lost and the sender resent what the receiver had."""
    lost = any(conn["acks_sent"] > conn["acks_arrived"] for conn in figures["conns"].values())
    return lost and _needless(figures)


def syncs_at(scenario: Scenario, member: str) -> bool:
    """Whether a member sent or received a SEND_FIRST_SEQNO."""
    return any(
        (pair.endswith(f">{member}") and figures["send_first_seqno_sent"])
        or (pair.startswith(f"{member}>") and figures["send_first_seqno_arrived"])
        for pair, figures in _pairs(scenario)
    )


def closes_at(scenario: Scenario, member: str) -> bool:
    """Whether a member sent or received a CLOSE."""
    return any(
        (pair.endswith(f">{member}") and figures["close_arrived"])
        or (pair.startswith(f"{member}>") and figures["close_sent"])
        for pair, figures in _pairs(scenario)
    )


def redelivered_at(scenario: Scenario, member: str) -> bool:
    """Whether the application of a member got unicasts twice."""
    for pair, _ in _pairs(scenario, member):
        runs = scenario.delivered_pair(member, pair[0])
        counters = [counter for a, b in runs for counter in range(a, b + 1)]
        if len(set(counters)) < len(counters):
            return True
    return False


def _discarded(scenario: Scenario) -> bool:
    return any(
        scenario.discards(member) and scenario.unicast_attributes(member).get("xmit_reqs_sent")
        for member in scenario.uuids
    )


def _blocked(scenario: Scenario) -> bool:
    return any(scenario.unicast_attributes(m).get("num_blockings") for m in scenario.uuids)


def on_path(action: str, kind: str, to: str | None = None) -> Concerns:
    """Whether the path did something to unicast messages of a kind (to a member)."""
    return lambda scenario: any(
        entry["action"] == action
        and to in (None, entry["to"])
        and any(
            message.get("prot") in ("U3", "U4") and message.get("t") == kind
            for message in entry.get("msgs") or ()
        )
        for entry in scenario.truth["path_actions"]
    )


def _acks_overtaken(scenario: Scenario) -> bool:
    """Whether an ACK reached a sender after a newer one: delayed alike, they keep their order."""
    for member, uuid in scenario.uuids.items():
        levels: dict[tuple[str | None, int], int] = {}
        for message in scenario.messages(member):
            unicast = message.unicast
            if unicast is None or unicast.kind != ACK or message.destination != uuid:
                continue
            key = (message.sender, unicast.conn_id)
            if unicast.seqno < levels.get(key, 0):
                return True
            levels[key] = unicast.seqno
    return False


def _has_timestamps(scenario: Scenario) -> bool:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", scenario.truth["jgroups"])
    return found is not None and tuple(map(int, found.groups())) >= (3, 5, 1)


def _always(scenario: Scenario) -> bool:
    return True


EXPECTED: Final[Mapping[str, tuple[tuple[str, Concerns], ...]]] = {
    "loss_recovered": (
        ("UC001", lambda scenario: repaired_at(scenario, None)),
        ("UC034", _discarded),
    ),
    "loss_not_recovered": (("UC002", lambda scenario: missing_at(scenario, None)),),
    "first_message_lost": (("UC003", _any_pair(_first_lost)),),
    "last_message_lost": (("UC004", _any_pair(_last_lost)),),
    "spurious_retransmission": (("UC005", _any_pair(_needless)),),
    "acks_lost": (("UC006", _any_pair(_acks_lost)),),
    "acks_out_of_order": (("UC007", _acks_overtaken),),
    "stale_ack_dropped": (("UC008", _always),),
    "stale_ack_purge": (("UC009", _has_timestamps), ("UC010", _always)),
    "endless_retransmission": (("UC011", _always),),
    "send_first_seqno": (("UC012", _always),),
    "window_lost_at_receiver": (("UC015", _always),),
    "close": (("UC020", _always),),
    "close_lost": (("UC021", _always),),
    "new_connection": (("UC022", _always),),
    "redelivery": (("UC023", _always),),
    "sender_blocked": (("UC024", _blocked),),
    "unacknowledged_at_end": (("UC026", _always),),
    "peer_dead": (("UC027", _always),),
    "network_duplicates": (("UC029", on_path("dup", "DATA")),),
    "reordering": (("UC030", on_path("delay", "DATA")),),
}

#: Rule -> whether it fires at a member's capture; null where the truth does not say.
FIRES: Final[Mapping[str, Callable[[Scenario, str], bool | None]]] = {
    "UC001": _repairs_fire,
    "UC002": missing_at,
    "UC012": syncs_at,
    "UC020": closes_at,
    "UC023": redelivered_at,
}
