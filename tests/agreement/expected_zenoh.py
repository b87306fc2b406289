"""Which rules of severity warning or error a zenoh recording must bring, from what happened in it.

Each rule has one sentence of truth: what the path dropped or delayed, what never reached a wire,
what the applications were given and told, and when. What a recording is called, and of what kind
it is, is asked nowhere, so that a run of any kind can be judged.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tests.agreement.happened_zenoh import Happened, Life, missing
from tests.agreement.path_zenoh import Identity

RECOVERED, MISSED, TOLD_IN_VAIN = "ZN001", "ZN002", "ZN003"
DROPPED_BEFORE, LOST_ON_LINK, DISCARDED = "ZN004", "ZN005", "ZN006"
DESPITE_BLOCK, STORM, TIMED_OUT, WAITED = "ZN007", "ZN009", "ZN013", "ZN014"
PIECE_LOST, UNNOTICED, HEARTBEAT_LOST = "ZN016", "ZN019", "ZN021"
BETWEEN_SESSIONS: Final = "ZN022"
FIRST_LOST, BEGAN_AGAIN = "ZN025", "ZN026"

WAIT_S: Final = 1.0
TIMEOUT_S: Final = 10.0  # of a query (zenoh.md 9.4)
STORM_QUERIES: Final = 20
STORM_PER_GAP: Final = 3


def places(happened: Happened, life: Life) -> Iterator[str]:
    """Captures at the interface of a subscriber."""
    for capture in happened.truth["captures"]:
        if happened.sees(capture["file"], life):
            yield capture["file"]


def by_source(happened: Happened) -> Iterator[tuple[str, Life, Identity]]:
    """Every capture at a subscriber's interface, with that subscriber and every source."""
    for life in happened.lives:
        for file in places(happened, life):
            for source in happened.identities:
                yield file, life, source


def recovered(happened: Happened) -> bool | None:
    """Something was delivered whose live copy was lost, and only a reply brought it.

    Null where the replies were cut off by the snap length.
    """
    found = [
        happened.cut(file)
        for file, life, source in by_source(happened)
        if happened.recovered(file, life, source)
    ]
    return None if found and all(found) else bool(found)


def missed(happened: Happened) -> bool | None:
    """A subscriber was told of a miss; null where its samples fell between two sessions, or where
    it is not seen behind another one."""
    told = [life for life in happened.lives if life.misses]
    if not told:
        return False
    if all(happened.behind_another(life) for life in told):
        return None
    return None if BETWEEN_SESSIONS in _not_carried(happened) else True


def lost_on_link(happened: Happened) -> bool:
    """A frame was dropped on the way to a capture that has a later one of its counter."""
    if happened.overslept:
        return False  # then what follows looks old, and nothing looks missing
    return any(
        happened.passed_later(file, drop)
        for drop in happened.dropped
        for file in happened.behind(drop)
    )


def discarded(happened: Happened) -> bool:
    """A frame came behind a newer one of its counter."""
    return happened.overslept or any(
        action["action"] == "delay" and happened.of_datagrams(action) for action in happened.actions
    )


def dropped_before(happened: Happened) -> bool | None:
    """A sample is missing at a leg on which nothing was dropped that could have carried it."""
    causes = set(_not_carried(happened))
    return True if DROPPED_BEFORE in causes else None if BETWEEN_SESSIONS in causes else False


def between_sessions(happened: Happened) -> bool | None:
    """A sample was published while the way to its subscriber was cut off."""
    return None if BETWEEN_SESSIONS in _not_carried(happened) else False


def _not_carried(happened: Happened) -> Iterator[str]:
    """Why samples between others are missing at a capture, where no datagram was lost with them."""
    for capture in happened.truth["captures"]:
        for source, publishers in happened.identities.items():
            lost = happened.lost_towards(capture["file"], source)
            if len(publishers) > 1 or lost is None:
                continue
            at = {one["sn"]: one["t"] for one in happened.published(source)}
            passed = [sn for sn in happened.live(capture["file"], source) if sn in at]
            for sn in set(missing(passed, list(at))) - lost:
                if not any(life.since <= at[sn] < life.until for life in happened.lives):
                    continue
                cut = any(start <= at[sn] < stop for start, stop in happened.cut_off())
                yield BETWEEN_SESSIONS if cut else DROPPED_BEFORE


def despite_block(happened: Happened) -> bool:
    """Samples of a publisher with congestion control Block did not reach their receiver."""
    return any(
        publisher["options"].get("cc") == "block" and happened.dropped
        for publishers in happened.identities.values()
        for publisher in publishers
    )


def storm(happened: Happened) -> bool:
    """The same samples were asked for again and again, and not because it was time to."""
    if any("periodic" in life.options.get("rec", {}) for life in happened.lives):
        return False
    for summary in happened.truth["wire_summary"]["captures"]:
        asked = [
            (key, parameters)
            for _, _, key, parameters in summary["queries"]
            if "_sn=" in str(parameters)
        ]
        if len(asked) >= STORM_QUERIES and len(asked) >= STORM_PER_GAP * len(set(asked)):
            return True
    return False


def timed_out(happened: Happened) -> bool | None:
    """A query or the end of its answer did not get through, and its time ran out in the capture.

    Null where someone was gone by then: with a session or a subscriber its queries end as well.
    """
    lost = [at for at, word in happened.overtaken if word == "response_final"]
    lost += [
        drop.at for drop in happened.dropped if {"request", "response_final"} & set(drop.words)
    ]
    due = [at for at in lost if at + TIMEOUT_S < happened.ended]
    gone = happened.gone.values()
    if due and all(any(at < t <= at + TIMEOUT_S for t in gone) for at in due):
        return None
    return bool(due)


def waited(happened: Happened) -> bool | None:
    """A sample that had come was handed on a second later or more; null: who knows when it came."""
    if happened.stalled:
        return None
    return any(
        happened.waited(file, life, source, WAIT_S) for file, life, source in by_source(happened)
    )


def piece_lost(happened: Happened) -> bool:
    """A fragment of a message was dropped."""
    return any(drop.fragment and any(happened.behind(drop)) for drop in happened.dropped)


def unnoticed(happened: Happened) -> bool:
    """The last samples of a source came to no one who lived, and nothing said that they exist."""
    return any(
        happened.tail_lost(file, life, source)
        for file, life, source in by_source(happened)
        if happened.both_ends
    )


def told_in_vain(happened: Happened) -> bool | None:
    """A heartbeat told of the last samples of a source, which came to no one who lived; null: with
    the end of the query for them they are misses."""
    told = [happened.tail_told(file, life, source) for file, life, source in by_source(happened)]
    return None if any(told) else False


def first_lost(happened: Happened) -> bool:
    """The first samples of a source were dropped on the way to somebody who lived."""
    return any(
        happened.head_lost(life, source)
        for _, life, source in by_source(happened)
        if happened.both_ends
    )


def began_again(happened: Happened) -> bool:
    """Two publishers in turn had one zid and entity id."""
    return any(len(publishers) > 1 for publishers in happened.identities.values())


def heartbeat_lost(happened: Happened) -> bool:
    """The last sporadic heartbeat was dropped, and nothing newer passed."""
    for drop in happened.dropped:
        for file in happened.behind(drop):
            for source, (publisher, *_) in happened.identities.items():
                known = max(happened.known(file, source), default=-1)
                sporadic = "sporadic_heartbeat" in publisher["options"]["smd"]
                if source in drop.beats and sporadic and known < publisher["published"][-1]["sn"]:
                    return happened.both_ends
    return False


RULES: Final[Mapping[str, Callable[[Happened], bool | None]]] = {
    RECOVERED: recovered,
    MISSED: missed,
    DROPPED_BEFORE: dropped_before,
    LOST_ON_LINK: lost_on_link,
    DISCARDED: discarded,
    DESPITE_BLOCK: despite_block,
    STORM: storm,
    TIMED_OUT: timed_out,
    WAITED: waited,
    PIECE_LOST: piece_lost,
    TOLD_IN_VAIN: told_in_vain,
    UNNOTICED: unnoticed,
    HEARTBEAT_LOST: heartbeat_lost,
    BETWEEN_SESSIONS: between_sessions,
    FIRST_LOST: first_lost,
    BEGAN_AGAIN: began_again,
}
#: What says that a session was lost: at least one of these where it was.
OF_SESSIONS: Final = frozenset({DROPPED_BEFORE, BETWEEN_SESSIONS})


def judged(happened: Happened, fired: set[str]) -> tuple[list[str], list[str]]:
    """(rules of severity warning or error that fired, those that must): equal where all is well.

    Where the truth leaves a rule open, it may fire or not.
    """
    holds = {rule: told(happened) for rule, told in RULES.items()}
    must = {rule for rule, true in holds.items() if true}
    must |= {rule for rule in fired if rule in holds and holds[rule] is None}
    if between_sessions(happened) is None and not must & OF_SESSIONS:
        must |= {BETWEEN_SESSIONS}
    return sorted(fired), sorted(must)
