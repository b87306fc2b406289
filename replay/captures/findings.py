"""Rules about captures themselves (CP), judged on the merged account of each (decoders/README.md
1)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from seqaudit.replay.captures.borders import Border
from seqaudit.replay.captures.doubts import (
    alone,
    damaged_stretches,
    drops,
    shown,
    ticking,
    twice,
)
from seqaudit.replay.contract.capture_rows import MergedAccount, Order
from seqaudit.replay.contract.finding import Certainty, Evidence, Finding, PlacedFinding
from seqaudit.replay.contract.settings import UNKNOWN, Vantage

SYSTEM: Final = "capture"
MAX_NAMED: Final = 3

#: The reason under which frames of incomplete datagrams are counted (decoders.stages.fragments).
INCOMPLETE: Final = "incomplete IP datagram"


def judge(capture: int, account: MergedAccount) -> Iterator[PlacedFinding]:
    """Finding details about a capture, by its merged account."""
    for finding in _judged(account):
        yield finding.seen_at(capture)


def judge_vantage(capture: int, vantage: Vantage, hidden: int) -> Iterator[PlacedFinding]:
    """Finding details about where a capture was taken.

    Args:
        hidden: streams of which nobody can tell what was lost.
    """
    if vantage.kind != UNKNOWN:
        return
    if vantage.origin == "given":
        contradicted = _finding(
            "CP020",
            "The capture contradicts {why}, unless that host has other addresses as well. Nothing "
            "is judged as at a member's interface.",
            Certainty.LIKELY,
            why=vantage.why,
        )
        yield contradicted.seen_at(capture)
    elif hidden:
        unknown = _finding(
            "CP010",
            "It is not known at whose interface this was captured ({why}): what was delivered and "
            "lost of {count:stream} cannot be told. {advice}.",
            Certainty.UNDECIDABLE,
            why=vantage.why,
            advice=vantage.advice[:1].upper() + vantage.advice[1:],
            count=hidden,
        )
        yield unknown.seen_at(capture)


def judge_borders(capture: int, border: Border) -> Iterator[PlacedFinding]:
    """Finding details about what was under way when a capture began and when it ended."""
    if border.begun:
        begun = _finding(
            "CP015",
            "{count} of {total:stream} {count|was|were} under way when the capture began: what was "
            "sent before it, and lost or repaired, cannot be told.",
            count=border.begun,
            total=border.known,
        )
        yield begun.seen_at(capture)
    if border.going_on:
        going_on = _finding(
            "CP016",
            "{count} of {total:stream} went on when the capture ended, with messages missing: "
            "whether these came later cannot be told.",
            count=border.going_on,
            total=border.timed,
        )
        yield going_on.seen_at(capture)


def _judged(account: MergedAccount) -> Iterator[Finding]:
    figures = account.figures
    if figures["cut"]:
        yield _finding(
            "CP001",
            "The file ends in the middle of a record; what was captured after it is not here.",
        )
    if stretches := damaged_stretches(figures):
        first = stretches[0]
        yield _finding(
            "CP002",
            "{count:damaged stretch} {count|was|were} skipped, {bytes:byte} in all, the first at "
            "byte {start} ({why}); frame numbers behind it are ours, not Wireshark's.",
            count=len(stretches) + figures["skipped_more"],
            bytes=figures["skipped_bytes"],
            start=first["from"],
            why=first["why"],
        )
    if dropped := drops(figures["interfaces"]):
        yield _finding(
            "CP003",
            "The capturing machine counted {count:packet} that it did not write; losses reported "
            "here may be losses of the capture.",
            count=dropped,
        )
    if truncated := figures["frames_by"]["truncated"]:
        yield _finding(
            "CP004",
            "{count:packet} {count|was|were} captured only in part and could not be decoded to "
            "{count|its end|their ends}.",
            count=truncated,
        )
    yield from _damaged(account)
    yield from _fragments(figures["fragments"])
    yield from _undecoded(account)
    yield from _bytes_missing(figures["tcp"])
    yield from _order(account.order)
    if tick := account.tick:
        yield _finding(
            "CP022",
            "How long anything took cannot be told: {ticking}. Nothing that rests on durations is "
            "judged as proven.",
            ticking=ticking(tick["tick_ns"]),
            count=tick["ties"],
            tick_ns=tick["tick_ns"],
        )
    yield from _twice(account.twice)
    if problem := figures["problem"]:
        yield _finding("CP011", "{problem}; what could be unpacked was audited.", problem=problem)


def _bytes_missing(tcp: Mapping[str, int]) -> Iterator[Finding]:
    """Bytes of connections that never came: acknowledged, or given up before anybody did that."""
    unacked = tcp.get("unacked_holes", 0), tcp.get("unacked_hole_bytes", 0)
    if holes := tcp.get("holes", 0) - unacked[0]:
        yield _finding(
            "CP012",
            "{bytes:byte} of TCP connections, in {count:stretch}, were delivered but are not in "
            "this capture; messages in them are missing here and were not lost on the network.",
            bytes=tcp["hole_bytes"] - unacked[1],
            count=holes,
        )
    if unacked[0]:
        yield _finding(
            "CP012",
            "{bytes:byte} of TCP connections, in {count:stretch}, are not in this capture, and "
            "nobody had acknowledged {bytes|it|them} when {bytes|it was|they were} no longer "
            "waited for: whether {bytes|it was|they were} "
            "delivered cannot be told.",
            Certainty.UNDECIDABLE,
            bytes=unacked[1],
            count=unacked[0],
        )


def _fragments(counts: Mapping[str, int]) -> Iterator[Finding]:
    """Datagrams that are not whole."""
    if incomplete := counts.get("incomplete", 0):
        yield _finding(
            "CP005",
            "{count:fragmented IP datagram} could not be put together again: at least "
            "{missing:fragment} {missing|is|are} not in this capture.",
            count=incomplete,
            missing=counts["missing"],
        )


def _finding(rule: str, text: str, sure: Certainty = Certainty.PROVEN, **facts: object) -> Finding:
    return Finding(rule, sure, text, system=SYSTEM, facts=facts)


def _undecoded(account: MergedAccount) -> Iterator[Finding]:
    """What of recognised systems could not be decoded, by its reason."""
    undecoded = dict(account.figures["undecoded"])
    undecoded.pop(INCOMPLETE, None)  # CP005 says it
    for reason, count in account.of_no_system.items():
        undecoded[reason] = undecoded.get(reason, 0) - count
    undecoded = {reason: count for reason, count in undecoded.items() if count > 0}
    systems = sorted(account.figures["messages_by"])
    if undecoded:
        named = sorted(undecoded.items(), key=lambda item: (-item[1], item[0]))
        yield _finding(
            "CP006",
            "Not everything of {systems} could be decoded: {named}.",
            systems=" or ".join(systems) or "a recognised system",
            count=sum(undecoded.values()),
            named=_listed(f"{reason} ({count})" for reason, count in named),
        )


def _damaged(account: MergedAccount) -> Iterator[Finding]:
    """Packets whose checksum is wrong, and those of which it does not tell."""
    damaged = account.damaged_frames
    unclear, untold = account.checksums["unclear"], account.checksums["untold"]
    if damaged["count"]:
        frame = damaged["named"][0]
        yield Finding(
            "CP021", Certainty.PROVEN,
            "{count:packet} {count|has|have} a wrong checksum while others of the same sender have "
            "a right one: {count|its|their} bytes are not those that were sent, so {count|it|they} "
            "{count|was|were} left out, and what {count|it|they} said is not known." + (
                " Packets of {untold} have no checksum that would tell, so nothing is proven here."
                if untold else ""
            ),
            system=SYSTEM,
            frame=frame, at_ns=damaged["first_ns"],
            evidence=[Evidence(frame, "the first that is damaged")],
            facts={"count": damaged["count"], "untold": _listed(untold)},
        )  # fmt: skip
    if unclear:
        yield _finding(
            "CP021",
            "Most packets of {senders} have a wrong checksum, and some a right one: whether they "
            "are damaged cannot be told, so nothing is proven here.",
            Certainty.LIKELY,
            senders=_listed(unclear),
        )


def _order(order: Order) -> Iterator[Finding]:
    """Records that were put in order, and steps of the clock."""
    if order["late"]:
        frame = order["first_late"]
        guessed = len(order["guessed"])
        yield Finding(
            "CP013", Certainty.PROVEN,
            "{count:record} {count|stands|stand} behind later ones, by at most {most}; all were "
            "put in the order of their times." + (
                " Nothing tells {guessed:record} from {guessed|one|ones} behind a step of the "
                "clock: what rests on {guessed|its|their} order or time is likely at most."
                if guessed else ""
            ) + (
                " They are more than are kept: {unnamed:frame number} "
                "{unnamed|is a place|are places} in that order, not Wireshark's."
                if order["moved_more"] else ""
            ),
            system=SYSTEM,
            frame=frame, at_ns=order["first_late_ns"],
            evidence=[] if frame is None else [Evidence(frame, "the first that is late")],
            facts={"count": order["late"], "most": shown(order["most_ns"])}
            | ({"guessed": guessed} if guessed else {})
            | ({"unnamed": order["moved_more"]} if order["moved_more"] else {}),
        )  # fmt: skip
    for frame, at_ns, back_ns, agree, against in order["steps"]:
        sure = agree and not against
        yield Finding(
            "CP014", Certainty.PROVEN if sure else Certainty.LIKELY,
            "The clock stepped back by about {by} at frame {at_frame}" + (
                ": {count:sender} {count|counts|count} on there."
                if sure else ", or records are out of order by as much."
            ) + " No duration across it is judged as proven.",
            system=SYSTEM,
            frame=frame, at_ns=at_ns,
            evidence=[Evidence(frame, "the first record behind the step")],
            facts={"by": shown(back_ns), "at_frame": frame, "count": agree},
        )  # fmt: skip
    if order["steps_more"]:
        first, last = order["beyond"][0][0], order["beyond"][-1][1]
        yield Finding(
            "CP014", Certainty.LIKELY,
            "The clock stepped back {count:further time} between frames {from_frame} and "
            "{to_frame}, or records are out of order by as much. No duration or order there is "
            "judged as proven.",
            system=SYSTEM,
            frame=first,
            facts={"count": order["steps_more"], "from_frame": first, "to_frame": last},
        )  # fmt: skip


def _twice(seen: Mapping[str, int]) -> Iterator[Finding]:
    """Most datagrams stand in the capture twice."""
    doubled = twice([seen])
    if doubled is Certainty.PROVEN:
        yield _finding(
            "CP017",
            "{count} of {total} datagrams were captured twice (the same IP id and bytes): the "
            "second ones were left out. If several vantages are merged here, what was lost between "
            "them cannot be told"
            + (": {once:datagram} {once|stands|stand} here once." if alone(seen) else "."),
            count=seen["again"],
            total=seen["datagrams"],
            once=alone(seen),
        )
    elif doubled:
        yield _finding(
            "CP017",
            "{count} of {total} datagrams without IP ids came a second time with the same bytes: "
            "either all was captured twice or all was sent twice. The second ones were left out, "
            "and nothing is judged as proven.",
            doubled,
            count=seen["pairs"],
            total=max(seen["once"], seen["pairs"]),  # a second one may be the first of a pair, too
        )


def _listed(parts: Iterable[str]) -> str:
    named = list(parts)
    shown = ", ".join(named[:MAX_NAMED])
    return shown if len(named) <= MAX_NAMED else f"{shown} and {len(named) - MAX_NAMED} more"
