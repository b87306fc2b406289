"""zenoh: what was published, what each subscriber got, what the relay dropped or held back."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.degraded.claims import Finding, shown
from tests.degraded.subjects import Recording

Predicate = Callable[[Recording, str | None, Finding], str | None]

_SOURCE: Final = re.compile(r"([0-9a-f]{1,32})/(\d+)")
_HOP: Final = re.compile(r"^\[?(?P<ip>[^\]>]+?)\]?:(?P<port>\d+)>.*\|(?P<prio>\d+)\|(?P<rel>\w+)$")
_NOT_LOST: Final = re.compile(r"did not lose|not lost|\bhad\b")
_CAME_BACK: Final = re.compile(r"and came back from a cache")
_NOT_SENT_AGAIN: Final = re.compile(r"are missing|is missing")


def _source(found: Finding) -> tuple[str, int] | None:
    source = _SOURCE.search(found.stream)
    return (source[1], int(source[2])) if source else None


def _subscribers(recording: Recording, found: Finding) -> list[Mapping[str, Any]]:
    """Those that the finding's stream can be of; of a router's, all behind it."""
    every = [
        one for one in recording.truth["subscribers"] if found.subscriber in (None, one["key"])
    ]
    return [one for one in every if found.receiver in (None, one["zid"])] or every


def _delivered(subscriber: Mapping[str, Any], source: tuple[str, int]) -> set[int]:
    return {row[4] for row in subscriber["delivered"] if (row[2], row[3]) == source}


def _actions(recording: Recording, *kinds: str) -> Iterator[Mapping[str, Any]]:
    for action in (recording.truth.get("relay") or {}).get("actions", ()):
        if action.get("action") in kinds:
            yield action


def _pushed(recording: Recording, source: tuple[str, int], kind: str) -> set[int]:
    """Sample numbers in datagrams that the relay dropped (or held back)."""
    return {
        message["si"]["sn"]
        for action in _actions(recording, kind)
        for part in action.get("zenoh") or ()
        for message in part.get("msgs") or ()
        if message["m"] == "push"
        and message.get("si")
        and (message["si"]["zid"], message["si"]["eid"]) == source
    }


def _passed(recording: Recording, source: tuple[str, int]) -> set[int]:
    """Samples of a source that passed an interface live."""
    passed: set[int] = set()
    for summary in recording.truth["wire_summary"]["captures"]:
        for key, ranges in summary["push_sn"].items():
            if key.startswith(f"{source[0]}/{source[1]} "):
                passed |= _listed_numbers(ranges)
    return passed


def _all_readable(recording: Recording) -> bool:
    """Whether all that was dropped is listed with what was in it."""
    return all(
        action.get("zenoh") and all(part.get("T") == "Frame" for part in action["zenoh"])
        for action in _actions(recording, "drop")
    )


def _delivered_after_all(recording: Recording, file: str | None, found: Finding) -> str | None:
    """Samples called lost for good, and every subscriber it can be about got them."""
    source, here = _source(found), _subscribers(recording, found)
    if source is None or not here or _CAME_BACK.search(found.text):
        return None
    got = set.intersection(*(_delivered(one, source) for one in here))
    wrong = set(found.seqnos) & got
    return f"delivered in the end: {shown(wrong)}" if wrong else None


def _came_live(recording: Recording, file: str | None, found: Finding) -> str | None:
    """Samples called missed and recovered, and nothing happened to them on the way."""
    source, here = _source(found), _subscribers(recording, found)
    if source is None or not here or not _all_readable(recording):
        return None
    got = set.intersection(*(_delivered(one, source) for one in here))
    dropped = _pushed(recording, source, "drop")
    if found.seqnos and found.seqnos <= got & dropped:
        return ""
    if any(_actions(recording, "delay", "dup")) or found.transport == "tcp":
        return None
    ever: set[int] = set()
    ever.update(*(_delivered(one, source) for one in here))
    never = set(found.seqnos) - ever
    if never:
        return f"never delivered: {shown(never)}"
    live = (got - dropped) & _passed(recording, source)  # not what its own transport dropped
    begun = {min(_delivered(one, source), default=0) for one in here}
    wrong = {sn for sn in set(found.seqnos) & live if sn > max(begun)}
    if recording.truth["kind"].startswith("late-joiner") or _session_lost(recording):
        return None
    if _wrapped(recording, found):
        return None
    return f"nothing happened to {shown(wrong)} on the way" if wrong else None


def _session_lost(recording: Recording) -> bool:
    """Whether nodes were apart for a while, so that samples were published to nobody."""
    return "re" in recording.truth["kind"].split("-")[0] or any(
        "restart" in str(event.get("event")) or "close" in str(event.get("event"))
        for event in recording.truth["timeline"]
    )


def _wrapped(recording: Recording, found: Finding) -> bool:
    """Whether so much was dropped that what followed looked old to the transport."""
    dropped = sum(1 for _ in _actions(recording, "drop"))
    return "wrap" in recording.truth["kind"] and dropped > 64


def _was_dropped(recording: Recording, file: str | None, found: Finding) -> str | None:
    """Samples said not to be lost, and the relay dropped them."""
    source = _source(found)
    if source is None or not _NOT_LOST.search(found.text):
        return None
    wrong = set(found.seqnos) & _pushed(recording, source, "drop")
    here = _subscribers(recording, found)
    if "network" not in found.text:
        got = set.intersection(*(_delivered(one, source) for one in here)) if here else set()
        wrong -= got
    return f"the relay dropped {shown(wrong)}" if wrong else None


def _left_the_publisher(recording: Recording, file: str | None, found: Finding) -> str | None:
    """Samples called dropped before the transport that passed the publisher's own interface."""
    source = _source(found)
    if source is None or "by the publisher's transport" not in found.text:
        return None
    passed = _passed(recording, source) | _pushed(recording, source, "drop")
    wrong = set(found.seqnos) & passed
    return f"passed on the wire: {shown(wrong)}" if wrong else None


def _frames_not_dropped(recording: Recording, file: str | None, found: Finding) -> str | None:
    """Transport frames called missing on a link whose relay did not drop them."""
    hop = _HOP.match(found.stream)
    if hop is None or not _NOT_SENT_AGAIN.search(found.text) or not _listed(recording):
        return None
    dropped = {
        part["sn"]
        for action in _actions(recording, "drop")
        if (action["src"], str(action["sport"])) == (hop["ip"], hop["port"])
        for part in action.get("zenoh") or ()
        if "sn" in part
    }
    mask = found.mask
    wrong = {sn for sn in found.seqnos if sn not in {d & mask if mask else d for d in dropped}}
    return f"the relay did not drop {shown(wrong)}" if wrong else None


def _listed(recording: Recording) -> bool:
    """Whether the relay's list tells every frame that it dropped."""
    return all(
        action.get("zenoh") and all("sn" in part for part in action["zenoh"])
        for action in _actions(recording, "drop")
    )


def _never_late(recording: Recording, file: str | None, found: Finding) -> str | None:
    """Frames called late or repeated, and the relay neither held back nor doubled any."""
    if any(_actions(recording, "delay", "dup")) or _wrapped(recording, found):
        return None
    return "the relay neither held back nor doubled a datagram"


def refuted_figures(
    recording: Recording, report: Mapping[str, Any]
) -> Iterator[tuple[str, str, str | None]]:
    """(figure, stream, why it is not so) of what a report says that applications were handed and
    missed; null: the truth says the same. What the capture lacks a figure may lack."""
    for row in report.get("streams", ()):
        if row.get("kind") != "samples" or row["role"] != "receiver" or row["delivered"] is None:
            continue
        zid, _, entity = row["source"].partition("/")
        got = [
            _delivered(one, (zid, int(entity)))
            for one in recording.truth["subscribers"]
            if one["zid"] == row["receiver"] and row["subscriber"] in (None, one["key"])
        ]
        if got:
            sure = (
                _listed_numbers(one["delivered"]) - _listed_numbers(one["delivered_unsure"])
                for one in (row, *(row.get("subscribers") or ()))
            )
            never = set[int]().union(*sure).difference(*got)
            yield "delivered", row["id"], f"never delivered: {shown(never)}" if never else None
        if got and row["unrecovered"] is not None and _is_exact(row, report):
            came = set.intersection(_listed_numbers(row["unrecovered_seqnos"]), *got)
            yield "unrecovered", row["id"], f"delivered: {shown(came)}" if came else None


def _is_exact(row: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Whether nothing beside a figure says that it may count what only the capture lacks: frames
    prove all of it, or a finding shows that frames are missing in the capture."""
    lacking = {
        finding["rule"]
        for finding in report["findings"]
        if finding["rule"] in _LACKING
        and finding["certainty"] == "proven"
        and finding["stream"] in (None, row["id"])
    }
    return bool(lacking) or row["lost"] == row["lost_proven"]


#: Rules that show frames to be missing in a capture, or not whole.
_LACKING: Final = frozenset({"CP002", "CP003", "CP007", "CP012"})


def _listed_numbers(ranges: list[list[int]]) -> set[int]:
    return {sn for first, last in ranges for sn in range(first, last + 1)}


PREDICATES: Final[Mapping[str, Predicate]] = {
    "CP007": _was_dropped,
    "ZN001": _came_live,
    "ZN002": _delivered_after_all,
    "ZN003": _delivered_after_all,
    "ZN004": _left_the_publisher,
    "ZN005": _frames_not_dropped,
    "ZN006": _never_late,
    "ZN019": _delivered_after_all,
    "ZN022": _delivered_after_all,
}
