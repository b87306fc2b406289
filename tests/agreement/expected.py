"""What the recordings expect of an audit -> rule codes: the one table (CONTRIBUTING.md 4).

``EXPECTED`` answers ``expect.findings``: by which rules, where it concerns multicast at all; what
concerns unicast is in ``expected_unicast``, and both together are the table.
``FIRES`` is sharper: rules that fire at a member's capture if and only if the truth says that what
they mean happened there.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.agreement import expected_unicast
from tests.agreement.truth import Scenario

Holds = Callable[[dict[str, Any]], bool]


def expected_rules(scenario: Scenario, name: str) -> set[str]:
    """The rules that must fire for an expected finding."""
    entries = (*EXPECTED.get(name, ()), *expected_unicast.EXPECTED.get(name, ()))
    if not entries:
        raise KeyError(name)
    return {rule for rule, concerns in entries if concerns(scenario)}


def _any_receiver(holds: Holds) -> Callable[[Scenario], bool]:
    return lambda scenario: any(_at_receiver(scenario, member, holds) for member in scenario.uuids)


def _at_receiver(scenario: Scenario, member: str, holds: Holds) -> bool:
    """Whether something holds for a stream that the member receives."""
    return any(
        holds({**stream["receivers"][member], "highest": stream["highest"]})
        for stream in scenario.multicast.values()
        if member in stream["receivers"]
    )


def _repaired(figures: dict[str, Any]) -> bool:
    return bool(set(figures["exact"]["first_copy_lost"]) - set(figures["never_arrived"]))


def _never_arrived(figures: dict[str, Any]) -> bool:
    return bool(figures["never_arrived"])


def _last_lost(figures: dict[str, Any]) -> bool:
    return figures["highest"] in figures["exact"]["first_copy_lost"]


def _needless(figures: dict[str, Any]) -> bool:
    return bool(figures["exact"]["copies_sent_after_arrival"])


def _acks_lost(figures: dict[str, Any]) -> bool:
    return bool(figures["acks_sent"] > figures["acks_arrived"])


def _discarded(scenario: Scenario) -> bool:
    return any(_discarded_at(scenario, member) for member in scenario.uuids)


def _discarded_at(scenario: Scenario, member: str) -> bool:
    """Its own stack dropped multicasts above the transport and asked for them again."""
    return scenario.discards(member) and bool(scenario.attribute(member, "xmit_reqs_sent"))


def _needless_at(scenario: Scenario, member: str) -> bool | None:
    """Copies of what the member had. Of its own needless ones it may see some (MC004).

    What its own stack had dropped it had not.
    """
    if scenario.discards(member):
        return None
    sent = scenario.multicast.get(member, {}).get("receivers", {}).values()
    if any(_needless(figures) for figures in sent):
        return None
    return _at_receiver(scenario, member, _needless)


def _blocked(scenario: Scenario) -> bool:
    return any(scenario.attribute(member, "num_blockings") for member in scenario.uuids)


def _on_path(action: str, to: str | None = None) -> Callable[[Scenario], bool]:
    return lambda scenario: any(
        entry["action"] == action
        and to in (None, entry["to"])
        and any(message.get("prot") in ("N2", "N4") for message in entry.get("msgs") or ())
        for entry in scenario.truth["path_actions"]
    )


#: Expected finding -> (rule, whether the scenario's concerns multicast and shows in that rule).
EXPECTED: Final[Mapping[str, tuple[tuple[str, Callable[[Scenario], bool]], ...]]] = {
    "loss_recovered": (("MC001", _any_receiver(_repaired)), ("MC005", _discarded)),
    "loss_not_recovered": (("MC002", _any_receiver(_never_arrived)),),
    "last_message_lost": (("MC003", _any_receiver(_last_lost)),),
    "spurious_retransmission": (("MC004", _any_receiver(_needless)),),
    "acks_lost": (("MC008", _any_receiver(_acks_lost)),),
    "sender_blocked": (("MC006", _blocked),),
    "view_change": (("MC009", lambda scenario: True),),
    "network_duplicates": (("MC010", _on_path("dup")),),
    "reordering": (("MC011", _on_path("delay")),),
}

#: Rule -> whether it fires at a member's capture; null where the truth does not say.
FIRES: Final[Mapping[str, Callable[[Scenario, str], bool | None]]] = {
    "MC001": lambda scenario, member: _at_receiver(scenario, member, _repaired),
    "MC002": lambda scenario, member: _at_receiver(scenario, member, _never_arrived),
    "MC004": _needless_at,
    "MC005": _discarded_at,
    "MC010": lambda scenario, member: _on_path("dup", member)(scenario),
    **expected_unicast.FIRES,
}
