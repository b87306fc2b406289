"""raims and PGM: what the switch dropped, what the clients did not get, what daemons counted.

All daemons of a recording share one clock, so that nothing about a skewed one is ever true.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from tests.degraded.claims import Finding, shown
from tests.degraded.subjects import Recording

Predicate = Callable[[Recording, str | None, Finding], str | None]

_NOT_LOST: Final = re.compile(r"did not lose|not lost")
_REPORTS: Final = re.compile(r"^(\S+) reports .* ([\d,]+) in all")
_PEER_LOST: Final = re.compile(r"of (\w+) (?:was|were) lost")
_NAMED: Final = re.compile(r"(_\S+) of (\w+)\b")
_SERVICE: Final = re.compile(r"^_[^.]*\.")


def _node_of(recording: Recording, address: str | None) -> str | None:
    nodes = recording.truth["nodes"]
    return next((name for name, node in nodes.items() if node["ip"] == address), None)


def _here(recording: Recording, file: str | None) -> str | None:
    """The node whose interface the capture was taken at; null where several are merged."""
    return None if file is None else _node_of(recording, recording.places.get(file))


def _touched(
    recording: Recording, source: str | None, node: str | None, kinds: tuple[str, ...]
) -> set[int]:
    """Packets that the switch dropped, delayed or doubled on the way to the node (null: to any)."""
    return {
        action["pgm_sqn"]
        for action in (recording.truth.get("switch_actions") or {}).get("list", ())
        if action.get("kind") in kinds
        and "pgm_sqn" in action
        and node in (None, action["to"])
        and source in (None, action["from"])
    }


def _nothing_dropped(recording: Recording, node: str | None) -> bool:
    return not any(
        action["act"] == "drop" and node in (None, action["to"])
        for action in (recording.truth.get("switch_actions") or {}).get("list", ())
    )


def _packets_not_lost(recording: Recording, file: str | None, found: Finding) -> str | None:
    """PG001, PG002: packets that the switch did not touch on their way here."""
    node = _here(recording, file)
    source = _node_of(recording, found.sender)
    if source is not None and source == node:
        node = None  # the holes are those of others
    wrong = set(found.seqnos) - _touched(recording, source, node, ("ODATA", "RDATA"))
    return f"the switch did not touch {shown(wrong)}" if wrong else None


def _packets_not_asked_for(recording: Recording, file: str | None, found: Finding) -> str | None:
    """PG010: packets that the switch did not touch on their way to any receiver."""
    source = _node_of(recording, found.sender)
    wrong = set(found.seqnos) - _touched(recording, source, None, ("ODATA", "RDATA"))
    return f"the switch did not touch {shown(wrong)}" if wrong else None


def _packets_came(recording: Recording, file: str | None, found: Finding) -> str | None:
    """PG002: given up, and the clients here got every message of everybody."""
    node = _here(recording, file)
    if (
        node is not None
        and recording.truth["received"].get(node)
        and node not in (recording.truth["not_delivered"])
    ):
        return f"the clients of {node} got all messages"
    return _packets_not_lost(recording, file, found)


def _packets_lost(recording: Recording, file: str | None, found: Finding) -> str | None:
    if not _NOT_LOST.search(found.text) or found.system != "pgm":
        return None
    node, source = _here(recording, file), _node_of(recording, found.sender)
    dropped = {
        action["pgm_sqn"]
        for action in (recording.truth.get("switch_actions") or {}).get("list", ())
        if (action["act"], action.get("kind")) == ("drop", "ODATA")
        and node == action["to"]
        and source in (None, action["from"])
    }
    wrong = set(found.seqnos) & dropped
    return f"the switch dropped {shown(wrong)}" if wrong else None


def _subject(found: Finding) -> tuple[str, str]:
    """Publisher's bridge, or its name, and the client's subject."""
    named = _NAMED.search(found.text)
    if not found.stream and named is not None:
        return named[2], _SERVICE.sub("", named[1])
    bridge, subject = [*found.stream.split("|"), ""][:2]  # behind them the receiver's start
    return bridge, _SERVICE.sub("", subject)


def _publisher(recording: Recording, bridge: str) -> str | None:
    """The node of a bridge, or of a name."""
    for name, node in recording.truth["nodes"].items():
        if name == bridge or any(instance["bridge"] == bridge for instance in node["instances"]):
            return str(name)
    return None


def _numbers(texts: list[str]) -> int:
    count = 0
    for text in texts:
        first, _, last = str(text).partition("-")
        count += int(last or first) - int(first) + 1
    return count


def _undelivered(recording: Recording, node: str, subject: str) -> int | None:
    """Messages that the node's client did not get; null where there was none to count."""
    if subject not in recording.truth["received"].get(node, {}):
        return None
    missing = recording.truth["not_delivered"].get(node, {}).get(subject)
    return 0 if missing is None else _numbers(missing["n"]) if "n" in missing else missing["count"]


def _counted(recording: Recording, node: str, publisher: str | None) -> int:
    """The most messages that the node's daemon ever said to have lost of a publisher."""
    most = 0
    for shows in recording.truth["show"].values():
        for row in shows.get(node, {}).get("show loss", ()):
            if publisher in (None, row["user"].partition(".")[0]):
                most = max(most, row["msg loss"])
    return most


def _messages_delivered(recording: Recording, file: str | None, found: Finding) -> str | None:
    """RA001 to RA004, RA013, RA023: messages called lost that the client got."""
    node = _here(recording, file)
    if node is None:
        return None
    bridge, subject = _subject(found)
    publisher = _publisher(recording, bridge)
    counted = _counted(recording, node, publisher)
    missing = _undelivered(recording, node, subject)
    if missing is not None:
        if found.rule in ("RA001", "RA002") and counted:
            missing = max(missing, counted)  # a loss that the daemon counted wrongly
        if missing == 0:
            return f"the client of {node} got all of {subject}"
        if found.count is not None and found.count > missing:
            return f"the client of {node} missed {missing} of {subject}"
        return None
    if _nothing_dropped(recording, None) and not counted:
        return "nothing was dropped on the way, and the daemon counted no loss"
    return None


def _not_counted(recording: Recording, file: str | None, found: Finding) -> str | None:
    """RA001: the daemon counts, and its console said less."""
    wrong = _messages_delivered(recording, file, found)
    node = _here(recording, file)
    if wrong is not None or node is None:
        return wrong
    counted = _counted(recording, node, _publisher(recording, _subject(found)[0]))
    restarted = any(len(n["instances"]) > 1 for n in recording.truth["nodes"].values())
    if found.count is not None and found.count > counted and not restarted:
        return f"the daemon of {node} counted {counted}"
    return None


def _inbox_counted(recording: Recording, file: str | None, found: Finding) -> str | None:
    """RA010: whether the daemon's console says as much of that peer; a row that was never shown
    says nothing, nor one of a daemon that was started again."""
    node, peer = _here(recording, file), _PEER_LOST.search(found.text)
    if node is None or peer is None or found.count is None:
        return None
    counted = [
        row["ibx loss"]
        for shows in recording.truth["show"].values()
        for row in shows.get(node, {}).get("show loss", ())
        if row["user"].partition(".")[0] == peer[1]
    ]
    if not counted:
        return None
    if found.count <= max(counted):
        return ""
    nodes = recording.truth["nodes"]
    restarted = any(len(nodes[name]["instances"]) > 1 for name in (node, peer[1]) if name in nodes)
    return None if restarted else f"the daemon of {node} counted {max(counted)}"


def _peer_counted(recording: Recording, file: str | None, found: Finding) -> str | None:
    """RA011: a peer reports more than its console ever said."""
    said = _REPORTS.search(found.text)
    if said is None or any(len(n["instances"]) > 1 for n in recording.truth["nodes"].values()):
        return None
    reporter = _publisher(recording, said[1])
    if reporter is None:
        return None
    counted = _counted(recording, reporter, _publisher(recording, _subject(found)[0]))
    wrong = int(said[2].replace(",", "")) > counted
    return f"the daemon of {reporter} counted {counted}" if wrong else None


def _never_restarted(recording: Recording, file: str | None, found: Finding) -> str | None:
    if all(len(node["instances"]) == 1 for node in recording.truth["nodes"].values()):
        return "no daemon was started twice"
    return None


def _one_clock(recording: Recording, file: str | None, found: Finding) -> str | None:
    return "all daemons share one clock"


PREDICATES: Final[Mapping[str, Predicate]] = {
    "CP007": _packets_lost,
    "PG001": _packets_not_lost,
    "PG002": _packets_came,
    "PG010": _packets_not_asked_for,
    "RA001": _not_counted,
    "RA002": _messages_delivered,
    "RA003": _messages_delivered,
    "RA004": _messages_delivered,
    "RA010": _inbox_counted,
    "RA011": _peer_counted,
    "RA013": _messages_delivered,
    "RA016": _one_clock,
    "RA018": _one_clock,
    "RA022": _never_restarted,
    "RA023": _messages_delivered,
}
