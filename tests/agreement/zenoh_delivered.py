"""What zenoh subscribers were handed and told, beside what a report says of it.

Several subscribers of one node at one key expression are one on the wire; where what they were
handed differs, the report must tell them apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.agreement.happened_zenoh import Happened, Life, numbers, to_ranges
from tests.agreement.path_zenoh import Identity
from tests.agreement.rows import Row
from tests.agreement.zenoh_report import (
    BEGAN_LATER,
    CUT,
    LEFT_THERE,
    NO_NUMBERS,
    NO_SUCCESSOR,
    NOT_HERE,
    ONE_DECLARATION,
    Part,
    Stream,
    stated,
    total,
    why_null,
)

#: What one subscriber was handed and told: ranges in the order of delivery, sizes of misses.
Given = tuple[list[list[int]], list[int]]


def delivered_rows(part: Part, file: str, *, more: bool) -> Iterator[Row]:
    """Every subscriber, or group that is one on the wire, with every source."""
    happened = part.happened
    groups: dict[tuple[str, str], list[Life]] = {}
    for life in happened.lives:
        groups.setdefault((life.zid, life.key), []).append(life)
    for source in happened.identities:
        for group in groups.values():
            yield from _of_source(part, file, group, source, more=more)
    for publisher in part.truth["publishers"]:
        if "smd" not in publisher["options"]:
            for group in groups.values():
                figure = f"{group[0].name} {publisher['name']} delivered"
                yield part.row(file, figure, None, publisher["name"], NO_NUMBERS)


def why_unknown(part: Part, file: str, life: Life) -> str | None:
    """Why a delivery cannot be known in a capture, from the truth alone."""
    if not part.happened.sees(file, life):
        return NOT_HERE
    return CUT if part.happened.cut(file) else None


def streams_of(part: Part, file: str, life: Life, source: Identity) -> list[Stream]:
    """Streams of a source to a subscriber; to a group there is no one receiver."""
    return [
        stream
        for stream in part.streams(file, source)
        if stream["subscriber"] in (None, life.key)
        and (
            stream["receiver"] in (life.zid, None)
            or str(stream["receiver_endpoint"]).startswith("224.")
        )
    ]


def _of_source(
    part: Part, file: str, group: list[Life], source: Identity, *, more: bool
) -> Iterator[Row]:
    happened = part.happened
    life = group[0]
    why = why_unknown(part, file, life)
    streams = streams_of(part, file, life, source)
    if happened.on_another_host(file, life):
        return  # the group's other members are on other hosts, and in other captures
    given = sorted(_given(happened, file, one, source) for one in group)
    if not streams and not any(delivered for delivered, _ in given) and why != NOT_HERE:
        return  # nobody subscribed to it
    name = f"{life.name} {happened.identities[source][0]['name']}"
    if why is None and happened.began_later:
        said = [stream["unknown"].get("earlier_seqnos") for stream in streams]
        yield part.row(file, f"{name} says what is unknown", said, [BEGAN_LATER])
    if why == NOT_HERE:
        streams = [stream for stream in streams if stream["receiver"] == life.zid]
    here = [stream for stream in streams if stream["role"] == "receiver" or why == NOT_HERE]
    advanced = _advanced(part, group)
    if why is not None and not more:
        # a value that is stated is compared by ``more``; null is allowed
        ours = stated(here, "delivered")
        if ours is not None and why == CUT:
            return
        yield part.row(file, f"{name} delivered", ours, given[0][0], why)
        if advanced:
            yield part.row(file, f"{name} misses", stated(here, "misses"), given[0][1], why)
        return
    yield from _compare_given(part, file, name, here, given, why=why, advanced=advanced, more=more)
    if why is None and len(happened.identities[source]) == 1:
        yield from _outcome(part, file, name, group, source, here)
        yield from evicted_rows(part, file, name, source, here)
        yield from _causes(part, file, name, group, source, here, more=more)


def _given(happened: Happened, file: str, life: Life, source: Identity) -> Given:
    """What a subscriber was handed while the capture went on, and told."""
    rows = [row for row in life.delivered if (row[2], row[3]) == source]
    if happened.began_later:
        rows = [row for row in rows if row[0] > happened.began]
    misses = [m["nb"] for m in life.misses if (m["zid"], m["eid"]) == source]
    return to_ranges([row[4] for row in rows]), misses


def _advanced(part: Part, group: Sequence[Life]) -> bool:
    names = {life.name for life in group}
    return any(s["advanced"] for s in part.truth["subscribers"] if s["name"] in names)


def _compare_given(
    part: Part, file: str, name: str, streams: Sequence[Stream], given: list[Given],
    *, why: str | None, advanced: bool, more: bool,
) -> Iterator[Row]:  # fmt: skip
    delivered, missed = stated(streams, "delivered"), stated(streams, "misses")
    if isinstance(delivered, list):
        delivered = _joined(delivered)
    if isinstance(missed, list):
        missed = [miss["nb"] for miss in missed]
    if not isinstance(delivered, list) or not isinstance(missed, list):
        unsaid = why or why_null(streams, "delivered")
        yield part.row(file, f"{name} delivered", delivered, given[0][0], unsaid)
        if advanced:
            unsaid = why or why_null(streams, "misses")
            yield part.row(file, f"{name} misses", missed, given[0][1], unsaid)
        return
    joined: Given = (delivered, missed)
    each = _told_apart(streams)
    alike = [one for one in given if one == given[0]]
    if len(alike) == len(given):
        yield part.row(file, f"{name} delivered", joined[0], given[0][0], why)
        if advanced:
            yield part.row(file, f"{name} misses", joined[1], given[0][1], why)
    if each or (len(alike) < len(given) and more):
        # one stream may hold several subscribers, or each life has a stream of its own
        lives = [(_joined(s["delivered"]), [m["nb"] for m in s["misses"]]) for s in streams]
        ours = each or (sorted(lives) if sorted(lives) == given else [joined])
        told = None if says_that_others_are_unseen(streams) else ours
        yield part.row(file, f"{name} subscribers told apart", told, given, ONE_DECLARATION)


def says_that_others_are_unseen(streams: Sequence[Stream]) -> bool:
    """Whether a report says that a node may have subscribers that no frame shows."""
    said = {stream["unknown"].get("subscribers") for stream in streams}
    return said == {ONE_DECLARATION}


def _told_apart(streams: Sequence[Stream]) -> list[Given]:
    return sorted(
        (one["delivered"], [miss["nb"] for miss in one["misses"]])
        for stream in streams
        for one in stream["subscribers"] or ()
    )


def _joined(ranges: Sequence[list[int]]) -> list[list[int]]:
    """Ranges of several sessions as one list."""
    found: list[list[int]] = []
    for first, last in ranges:
        if found and found[-1][1] == first - 1:
            found[-1] = [found[-1][0], last]
        else:
            found.append([first, last])
    return found


def _outcome(
    part: Part, file: str, name: str, group: Sequence[Life], source: Identity,
    streams: Sequence[Stream],
) -> Iterator[Row]:  # fmt: skip
    """What was never delivered behind the first one, recovered, and how much it was."""
    happened, life = part.happened, group[0]
    if len({tuple(map(tuple, _given(happened, file, one, source)[0])) for one in group}) > 1:
        return  # several, of whom one row cannot speak
    delivered = happened.delivered(life, source)
    published = [one["sn"] for one in happened.published(source) if one["t"] < life.until]
    lost = _lost_here(streams)
    highest = max((s["last_seqno"] for s in streams if s["last_seqno"] is not None), default=-1)
    first = _first(happened, file, life, source)
    truth = [sn for sn in published if sn > first and sn not in set(delivered)]
    inside = [sn for sn in truth if sn <= highest]
    unsaid = why_null(streams, "unrecovered_seqnos")
    yield part.row(file, f"{name} not recovered", lost, inside, unsaid)
    if not happened.overslept:  # else what the transport took for old counts as lost as well
        recovered, unsaid = total(streams, "recovered"), why_null(streams, "recovered")
        truth_of_it = _recovered(happened, file, life, source)
        yield part.row(file, f"{name} recovered", recovered, truth_of_it, unsaid)
    unseen, unsaid = total(streams, "not_captured"), why_null(streams, "not_captured")
    yield part.row(file, f"{name} delivered without passing here", unseen, 0, unsaid)
    tail = [sn for sn in truth if sn > highest]
    if tail:
        heard = max((s["heartbeat_highest"] or -1 for s in streams), default=-1)
        seen = list(range(highest + 1, heard + 1)) or None
        yield part.row(file, f"{name} last ones lost", seen, tail, NO_SUCCESSOR)
    handed = stated(streams, "delivered") if streams else []
    count = sum(b - a + 1 for a, b in handed) if isinstance(handed, list) else handed
    here = sum(b - a + 1 for a, b in _given(happened, file, life, source)[0])
    unsaid = why_null(streams, "delivered")
    yield part.row(file, f"{name} delivered, count", count, here, unsaid)


def _lost_here(streams: Sequence[Stream]) -> object:
    """What a capture alone shows to be lost; of a stream that the other end's adds to, the rest."""
    found: set[int] = set()
    for stream in streams:
        ranges = stream["unrecovered_seqnos"]
        if ranges is None and LEFT_THERE in stream["unknown"].get("unrecovered_seqnos", ""):
            ranges = [run for miss in stream["misses"] or () for run in miss["seqnos"]]
        if not isinstance(ranges, list):
            return ranges
        found |= numbers(ranges)
    return sorted(found)


def _first(happened: Happened, file: str, life: Life, source: Identity) -> int:
    """The first that it was handed while the capture went on."""
    ranges = _given(happened, file, life, source)[0]
    published = (one["sn"] for one in happened.published(source))
    return ranges[0][0] if ranges else max(published, default=-1)


def _recovered(happened: Happened, file: str, life: Life, source: Identity) -> int:
    found = happened.recovered(file, life, source)
    return len(found & numbers(_given(happened, file, life, source)[0]))


def _causes(
    part: Part, file: str, name: str, group: Sequence[Life], source: Identity,
    streams: Sequence[Stream], *, more: bool,
) -> Iterator[Row]:  # fmt: skip
    """Why each sample of each miss did not come back."""
    for stream in streams:
        for miss in stream["misses"] or ():
            sns = sorted(numbers(miss["seqnos"]))
            true = [sorted(part.happened.why_missed(file, group, source, sn)) for sn in sns]
            ours = [
                why if any(word in _cause_of(miss, sn) for word in why) else [_cause_of(miss, sn)]
                for sn, why in zip(sns, true, strict=True)
            ]
            yield part.row(file, f"{name} causes of {sns[0]}", ours, true)
            for cause in miss["causes"]:
                if cause["shown_by"] is not None:
                    shown = sorted(numbers(cause["seqnos"]))
                    why = set.intersection(
                        *(part.happened.why_missed(file, group, source, sn) for sn in shown)
                    )
                    right = sorted(why) if any(word in cause["cause"] for word in why) else None
                    figure = f"{name} shown cause of {shown[0]}"
                    yield part.row(file, figure, right or [cause["cause"]], sorted(why))


def _cause_of(miss: Mapping[str, Any], sn: int) -> str:
    """The one cause of a sample."""
    (cause,) = [c["cause"] for c in miss["causes"] if sn in numbers(c["seqnos"])]
    return str(cause)


def evicted_rows(
    part: Part, file: str, name: str, source: Identity, streams: Sequence[Stream]
) -> Iterator[Row]:
    """Missed samples that the cache must have evicted when the question reached it."""
    happened = part.happened
    depth = happened.identities[source][0]["options"].get("cache")
    if not depth:
        return
    nearest = happened.truth["wire_summary"]["captures"][0]["file"]
    for stream in streams:
        for miss in stream["misses"] or ():
            until = miss["at_ns"] / 1e9
            if not any(at <= until for at in happened.asked_at_publisher(source)):
                continue
            first, last = miss["seqnos"][0]
            # a question for others, or of another subscriber for what came later, says nothing
            asked = happened.asked_for(nearest, source, first)
            at = max((at for at, _ in asked if at <= until), default=0.0)
            published = [p["sn"] for p in happened.published(source) if p["t"] <= at]
            gone = set(published[:-depth])
            truth = [sn for sn in range(first, last + 1) if sn in gone]
            ours = [sn for sn in range(first, last + 1) if "evicted" in _cause_of(miss, sn)]
            yield part.row(file, f"{name} evicted when asked", ours, truth)
