"""Findings of a report on a zenoh recording, beside what happened in it (CONTRIBUTING.md 4)."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.agreement.expected_zenoh import (
    BEGAN_AGAIN,
    BETWEEN_SESSIONS,
    FIRST_LOST,
    MISSED,
    TOLD_IN_VAIN,
    UNNOTICED,
    began_again,
    first_lost,
    judged,
    missed,
    told_in_vain,
)
from tests.agreement.happened_zenoh import Life, matches, numbers, to_ranges
from tests.agreement.path_zenoh import Identity
from tests.agreement.rows import Row
from tests.agreement.zenoh_delivered import says_that_others_are_unseen, streams_of, why_unknown
from tests.agreement.zenoh_report import ONE_DECLARATION, Part

GRAVE = ("warning", "error")


def finding_rows(part: Part, *, more: bool) -> Iterator[Row]:
    """Which rules fired, at each capture and together."""
    for file in part.scenario.files:
        yield from _errors(part, file)
        if more:
            yield from _lost(part, file)
    fired = {f["rule"] for f in of_zenoh(part.findings()) if f["severity"] in GRAVE}
    ours, truth = judged(part.happened, fired)
    yield part.row("all", "warnings and errors", ours, truth)


def of_zenoh(findings: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of the rules about zenoh."""
    return [finding for finding in findings if finding["rule"].startswith("ZN")]


def _errors(part: Part, file: str) -> Iterator[Row]:
    """ZN002 where, and only where, a miss callback came; no other rule of severity error.

    Of what fell between two sessions the rule about sessions may speak instead.
    """
    happened = part.happened
    fired = {f["rule"] for f in of_zenoh(part.findings(file)) if f["severity"] == "error"}
    lives = [
        life for life in happened.lives if life.misses and why_unknown(part, file, life) is None
    ]
    due = bool(lives)
    known = {MISSED, UNNOTICED}
    known |= {TOLD_IN_VAIN} if told_in_vain(happened) is None else set()
    known |= {FIRST_LOST} if first_lost(happened) else set()
    known |= {BEGAN_AGAIN} if began_again(happened) else set()
    ours = MISSED in fired
    if missed(happened) is None:
        known.add(BETWEEN_SESSIONS)
        ours = ours or (due and BETWEEN_SESSIONS in fired)
    unseen = due and all(
        happened.behind_another(life)
        and any(
            says_that_others_are_unseen(streams_of(part, file, life, source))
            for source in happened.identities
        )
        for life in lives
    )
    stated = None if unseen and not ours else ours
    yield part.row(file, f"{MISSED} fires", stated, due, ONE_DECLARATION if unseen else None)
    tail = happened.both_ends and any(
        happened.tail_lost(file, life, source)
        for life in happened.lives
        if why_unknown(part, file, life) is None
        for source in happened.identities
    )
    yield part.row(file, f"{UNNOTICED} fires", UNNOTICED in fired, tail)
    yield part.row(file, "other errors", sorted(fired - known), [])


def _lost(part: Part, file: str) -> Iterator[Row]:
    """What errors say to be lost: every number that the applications never got, and each once."""
    happened = part.happened
    for life in happened.lives:
        if why_unknown(part, file, life) is not None:
            continue
        for source in happened.identities:
            never = _never_got(part, file, life, source)
            ours = sorted(
                sn
                for finding in of_zenoh(part.findings(file))
                if finding["severity"] == "error"
                and f"|{source[0]}/{source[1]}|" in f"{finding['stream']}|"
                for sn in numbers(finding["seqnos"])
            )
            name = f"{life.name} {happened.identities[source][0]['name']}"
            yield part.row(file, f"{name} lost, by errors", to_ranges(ours), to_ranges(never))


def _never_got(part: Part, file: str, life: Life, source: Identity) -> list[int]:
    """What was put on a wire for a subscriber while it lived, and it never got.

    Of one capture alone: behind the first that it got, and up to what it heard of.
    """
    happened = part.happened
    publishers = happened.identities[source]
    got = {  # a delete has no payload that names its publisher
        (row[5].partition(":")[0] or publishers[0]["name"], row[4])
        for row in life.delivered
        if (row[2], row[3]) == source
    }
    put_out = happened.lost_on_path(source)
    for capture in part.scenario.files:
        put_out |= happened.known(capture, source)
    heard = happened.known(file, source) | {sn for _, sn in got}
    never = []
    for publisher in publishers:
        if not matches(life.key, publisher["key"]):
            continue
        for sn, at in ((one["sn"], one["t"]) for one in publisher["published"]):
            inside = min(heard, default=sn) <= sn <= max(heard, default=sn)
            wanted = life.since <= at < life.until and sn >= min(put_out, default=sn + 1)
            seen = happened.both_ends or inside
            if wanted and seen and (publisher["name"], sn) not in got:
                never.append(sn)
    return never
