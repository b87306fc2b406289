"""``expect.findings`` of the recordings -> rule codes: the one table (design 8.1)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.agreement.truth import Scenario


def _any_receiver(holds: Callable[[dict[str, Any]], bool]) -> Callable[[Scenario], bool]:
    def concerns(scenario: Scenario) -> bool:
        return any(
            holds({**figures, "highest": stream["highest"]})
            for stream in scenario.multicast.values()
            for figures in stream["receivers"].values()
        )

    return concerns


def _no(scenario: Scenario) -> bool:
    return False


def _yes(scenario: Scenario) -> bool:
    return True


def _recovered(scenario: Scenario) -> bool:
    lost = _any_receiver(lambda f: bool(set(f["exact"]["first_copy_lost"]) - {*f["never_arrived"]}))
    return lost(scenario) or _discarded(scenario)


def _discarded(scenario: Scenario) -> bool:
    """A member's own stack dropped multicasts above the transport and asked for them again."""
    return any(
        scenario.discards(member) and scenario.attribute(member, "xmit_reqs_sent")
        for member in scenario.uuids
    )


def _blocked(scenario: Scenario) -> bool:
    return any(scenario.attribute(member, "num_blockings") for member in scenario.uuids)


def _on_path(action: str) -> Callable[[Scenario], bool]:
    def concerns(scenario: Scenario) -> bool:
        return any(
            entry["action"] == action
            and any(message.get("prot") in ("N2", "N4") for message in entry.get("msgs", ()))
            for entry in scenario.truth["path_actions"]
        )

    return concerns


@dataclass(frozen=True, slots=True)
class Expected:
    """Which rules answer one expected finding, and whether a scenario's concerns multicast."""

    rules: frozenset[str]
    concerns_multicast: Callable[[Scenario], bool]


_UNICAST: Final = Expected(frozenset(), _no)

EXPECTED: Final = {
    "loss_recovered": Expected(frozenset({"MC001"}), _recovered),
    "loss_not_recovered": Expected(
        frozenset({"MC002"}), _any_receiver(lambda f: bool(f["never_arrived"]))
    ),
    "last_message_lost": Expected(
        frozenset({"MC003"}),
        _any_receiver(lambda f: f["highest"] in f["exact"]["first_copy_lost"]),
    ),
    "spurious_retransmission": Expected(
        frozenset({"MC004"}), _any_receiver(lambda f: bool(f["exact"]["copies_sent_after_arrival"]))
    ),
    "acks_lost": Expected(
        frozenset({"MC005"}), _any_receiver(lambda f: bool(f["acks_sent"] > f["acks_arrived"]))
    ),
    "sender_blocked": Expected(frozenset({"MC006"}), _blocked),
    "view_change": Expected(frozenset({"MC007"}), _yes),
    "network_duplicates": Expected(frozenset({"MC008"}), _on_path("dup")),
    "reordering": Expected(frozenset({"MC009"}), _on_path("delay")),
    "acks_out_of_order": _UNICAST,
    "close": _UNICAST,
    "close_lost": _UNICAST,
    "endless_retransmission": _UNICAST,
    "first_message_lost": _UNICAST,
    "new_connection": _UNICAST,
    "peer_dead": _UNICAST,
    "redelivery": _UNICAST,
    "send_first_seqno": _UNICAST,
    "stale_ack_dropped": _UNICAST,
    "stale_ack_purge": _UNICAST,
    "unacknowledged_at_end": _UNICAST,
    "window_lost_at_receiver": _UNICAST,
}

#: Rules whose findings no expectation speaks of yet.
RULES_OF_LATER_STEPS: Final[frozenset[str]] = frozenset()
