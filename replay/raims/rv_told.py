"""What RV clients were told of losses, and whether their daemon saw those and no others (issue step
3; raims.md 11).

A daemon's losses show where it was captured, what it told its clients on their connections: the
same capture, or another of the job (loopback). So this looks at the tables of all captures, before
frames become numbers. A client is compared where its subscriptions are known and while it provably
was connected; totals by publishing host and subject, as clients nobody captured may shift what one
advisory tells by up to a second.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import attrgetter
from typing import Final, NamedTuple, cast

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding, PlacedFinding, Rests
from seqaudit.replay.contract.reporter import MAX_EVIDENCE
from seqaudit.replay.contract.results import JudgedRow, Row
from seqaudit.replay.raims.advisories import (
    INBOUND,
    INTERVAL_NS,
    OUTBOUND,
    PAIRS,
    UNKNOWN,
    Advisories,
    LossEvent,
)
from seqaudit.replay.raims.report_rows import (
    AdvisoryRow,
    DaemonWindowsRow,
    LossEventRow,
    RvAdvisoryRow,
    RvClientRow,
)
from seqaudit.replay.raims.rules import OF_CLIENTS
from seqaudit.replay.raims.subscriber import matches

SYSTEM: Final = "raims"
#: A timer that was set for a second fires no earlier than this.
SHORTEST_NS: Final = 900_000_000
#: How late an advisory may be, and how far two captures of one host are apart.
LATE_NS: Final = 250_000_000
MAX_FINDINGS: Final = 1_000
#: Patterns of one client, and clients times losses of one daemon, that are looked at.
MAX_PATTERNS: Final = 1_000
MAX_PAIRS: Final = 1_000_000

NO_CLIENT: Final = "no RV client connection was captured"
NO_DAEMON: Final = "no capture is known to be of the client's daemon"
TOO_MANY: Final = "too many clients and losses to compare each with each"
NO_BEGIN: Final = "the client's subscriptions began before the capture"


class _Listen(NamedTuple):
    """A pattern that a client listens to, from when and to when; null: to the end."""

    pattern: str
    start_ns: int
    stop_ns: int | None


@dataclass(frozen=True, slots=True)
class ReceivedAdvisory:
    """An advisory as a client got it; numbers that are none are 0.

    Attributes:
        place: time, frame and place within it.
        by_name, by_address: of the daemon whose messages were lost, or whose clients lost them;
            null: it is not named.
        unknown: only losses of unknown size.
        count: subjects, of which ``pairs`` has the first ones and how many were lost of each.
    """

    place: tuple[int, int, int]
    subject: str
    by_name: object
    by_address: object
    unknown: bool
    lost: int
    count: int
    pairs: tuple[tuple[str, int], ...]

    @staticmethod
    def of(row: RvAdvisoryRow) -> "ReceivedAdvisory":
        """The advisory that a row tells."""
        data = dict(row["data"])
        numbers = [number for number in range(1, PAIRS + 1) if f"sub{number}" in data]
        return ReceivedAdvisory(
            (row["at_ns"], row["frame"], row["index"]), row["subject"], data.get("hostid"),
            data.get("host"), data.get("ADV_DESC") == UNKNOWN, _count(data.get("lost")),
            _count(data.get("sub_cnt")),
            tuple((str(data[f"sub{n}"]), _count(data.get(f"lost{n}"))) for n in numbers),
        )  # fmt: skip

    @property
    def at_ns(self) -> int:
        return self.place[0]

    @property
    def frame(self) -> int:
        return self.place[1]


@dataclass(slots=True)
class _CapturedClient:
    capture: int
    row: RvClientRow
    advisories: list[ReceivedAdvisory] = field(default_factory=list)
    exact: dict[str, list[_Listen]] = field(default_factory=dict)
    patterns: list[_Listen] = field(default_factory=list)

    def __post_init__(self) -> None:
        for listen in map(_Listen._make, self.row["listens"]):
            wildcard = any(part in ("*", ">") for part in listen.pattern.split("."))
            (self.patterns if wildcard else self.exact.setdefault(listen.pattern, [])).append(
                listen
            )

    @property
    def span(self) -> tuple[int, int]:
        """First and last time at which it was captured."""
        first_ns, last_ns = self.row["first_ns"], self.row["last_ns"]
        assert first_ns is not None and last_ns is not None, "a frame of it names it"
        return first_ns, last_ns

    @property
    def key(self) -> str:
        return f"{self.row['client']}>{self.row['daemon']}"

    def gets(self, event: LossEvent) -> bool:
        """Did it get the message behind the loss?"""
        at = event.mark.at_ns
        if self.row["service"] != event.service:
            return False
        if not self.span[0] <= at <= self.span[1]:
            return False
        listens = [*self.exact.get(event.subject, ()), *self.patterns[:MAX_PATTERNS]]
        return any(
            start <= at and (stop is None or at < stop) and matches(pattern, event.subject)
            for pattern, start, stop in listens
        )


@dataclass(slots=True)
class _Daemon:
    capture: int
    row: DaemonWindowsRow
    events: list[LossEvent] = field(default_factory=list)
    outbound: list[AdvisoryRow] = field(default_factory=list)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last time of this start; null: nobody knows them."""
        from_ns, to_ns = self.row["from_ns"], self.row["to_ns"]
        return None if from_ns is None or to_ns is None else (from_ns, to_ns)


def judge(rows: Iterable[tuple[int, Row]]) -> tuple[list[PlacedFinding], list[JudgedRow]]:
    """Finding details, each with its ``capture``; and JUDGED rows of the rules.

    Args:
        rows: (capture, detail) of TABLE rows of raims, frames still of the job.
    """
    clients: dict[tuple[int, str], _CapturedClient] = {}
    told: dict[tuple[int, str], list[ReceivedAdvisory]] = {}
    daemons: list[_Daemon] = []
    events: dict[tuple[int, object], list[LossEvent]] = {}
    outbound: dict[tuple[int, object], list[AdvisoryRow]] = {}
    captures: set[int] = set()
    for capture, row in rows:
        captures.add(capture)
        if row["table"] == "rv_clients":
            clients[capture, f"{row['client']}>{row['daemon']}"] = _CapturedClient(
                capture, cast(RvClientRow, row)
            )
        elif row["table"] == "rv_advisories":
            told.setdefault((capture, f"{row['client']}>{row['daemon']}"), []).append(
                ReceivedAdvisory.of(cast(RvAdvisoryRow, row))
            )
        elif row["table"] == "windows":
            daemons.append(_Daemon(capture, cast(DaemonWindowsRow, row)))
        elif row["table"] == "advisories" and row["subject"] == OUTBOUND:
            outbound.setdefault((capture, row["start"]), []).append(cast(AdvisoryRow, row))
        elif row["table"] == "loss_events":
            events.setdefault((capture, row["start"]), []).append(
                LossEvent.of(cast(LossEventRow, row))
            )
    for daemon in daemons:
        daemon.events = sorted(
            events.get((daemon.capture, daemon.row["start"]), []), key=lambda e: e.mark.at_ns
        )
        daemon.outbound = outbound.get((daemon.capture, daemon.row["start"]), [])
    for place, client in clients.items():
        client.advisories = sorted(told.get(place, []), key=attrgetter("place"))
    found: list[PlacedFinding] = []
    judged: list[JudgedRow] = []
    for client in clients.values():
        found += [f.seen_at(client.capture) for f in chain(_told(client), _unthrottled(client))]
        judged += [_judged(rule, client.capture, None) for rule in ("RA026", "RA030")]
        serving = [d for d in daemons if _serves(d, client)]
        why = None if serving else NO_DAEMON
        if serving and all(d.row["doubt"] for d in serving):
            why = f"the daemon's losses cannot be told: {serving[0].row['doubt']}"
        if not client.row["began"] or client.row["service"] is None:
            why = NO_BEGIN
        elif len(client.patterns) > MAX_PATTERNS or any(
            len(d.events) * len(clients) > MAX_PAIRS for d in serving
        ):
            why = TOO_MANY
        judged += [_judged(rule, client.capture, why) for rule in ("RA024", "RA025")]
    for daemon in daemons:
        own = [c for c in clients.values() if _serves(daemon, c) and not daemon.row["doubt"]]
        too_many = len(daemon.events) * len(clients) > MAX_PAIRS
        if own and not too_many and all(len(c.patterns) <= MAX_PATTERNS for c in own):
            found += _compared(daemon, own)
            for client in own:
                found += [f.seen_at(daemon.capture) for f in _outbound_missing(daemon, client)]
    for capture in captures - {client.capture for client in clients.values()}:
        judged += [_judged(rule, capture, NO_CLIENT) for rule in sorted(OF_CLIENTS)]
    return _listed_first(found), judged


def _listed_first(found: list[PlacedFinding]) -> list[PlacedFinding]:
    """The first ones, and how many there are behind them."""
    more = Counter((f["rule"], f["certainty"], f["capture"]) for f in found[MAX_FINDINGS:])
    counted = [
        Finding(
            rule, Certainty(certainty),
            "{count:finding} behind the last one listed {count|is|are} not told one by one.",
            SYSTEM, facts={"count": count},
        ).seen_at(capture)
        for (rule, certainty, capture), count in sorted(more.items())
    ]  # fmt: skip
    return [*found[:MAX_FINDINGS], *counted]


def _serves(daemon: _Daemon, client: _CapturedClient) -> bool:
    """Is it the client's daemon, in a start that overlaps with the connection?"""
    return (
        client.row["address"] is not None
        and daemon.row["address"] == client.row["address"]
        and daemon.span is not None
        and daemon.span[0] <= client.span[1]
        and client.span[0] <= daemon.span[1]
    )


def _judged(rule: str, capture: int, why: str | None) -> JudgedRow:
    return {"rule": rule, "capture": capture, "conversation": SYSTEM, "why": why}


def _told(client: _CapturedClient) -> Iterator[Finding]:
    """What its daemon told it of losses: of each publisher's, of each daemon's clients."""
    by_host: dict[tuple[str, str, bool], list[ReceivedAdvisory]] = {}
    for seen in client.advisories:
        if not seen.lost:
            continue  # it is damaged (CP006)
        host = str(seen.by_name or seen.by_address or "a daemon that is not named")
        by_host.setdefault((seen.subject, host, seen.unknown), []).append(seen)
    for (subject, host, unknown), told in by_host.items():
        lost: Counter[str] = Counter()
        for seen in told:
            for name, count in seen.pairs:
                lost[name] += count
        yield Finding(
            "RA030", Certainty.PROVEN,
            "{advisories:DATALOSS message} to client {client} {advisories|tells|tell} of "
            + ("{told:loss} of unknown size of" if unknown else "{told:lost message} of")
            + (" its own at clients of {hostid}." if subject == OUTBOUND else
               " {hostid} on {subjects}." if lost else " {hostid}."),
            SYSTEM, frame=told[0].frame, at_ns=told[0].at_ns,
            evidence=[Evidence(seen.frame, "an advisory") for seen in told[:MAX_EVIDENCE]],
            facts={
                "advisories": len(told),
                "client": client.row["client"],
                "told": sum(seen.lost for seen in told),
                "hostid": host,
                "subjects": _listed(lost),
            },
        )  # fmt: skip


def _count(value: object) -> int:
    """A number of a message of others; 0 where it is none."""
    return value if isinstance(value, int) and value > 0 else 0


def _listed(lost: Counter[str]) -> str:
    """Subjects, those that lost most first, and how many are not named."""
    named = sorted(lost, key=lambda subject: (-lost[subject], subject))
    text = ", ".join(f"{subject} ({lost[subject]:,})" for subject in named[:PAIRS])
    more = len(named) - PAIRS
    return f"{text} and {more:,} more" if more > 0 else text


def _unthrottled(client: _CapturedClient) -> Iterator[Finding]:
    inbound = [seen for seen in client.advisories if seen.subject == INBOUND]
    for before, after in pairwise(inbound):
        apart = after.at_ns - before.at_ns
        if apart < SHORTEST_NS:
            yield Finding(
                "RA026", Certainty.LIKELY,
                "Client {client} got two advisories within {apart} s.",
                SYSTEM, frame=after.frame, at_ns=after.at_ns,
                evidence=[Evidence(before.frame, "the first"),
                          Evidence(after.frame, "the second")],
                facts={"client": client.row["client"], "apart": f"{apart / INTERVAL_NS:.3f}"},
                rests=Rests(timed=True),
            )  # fmt: skip


def _compared(daemon: _Daemon, clients: list[_CapturedClient]) -> Iterator[PlacedFinding]:
    """What each client must have been told, beside what it was told."""
    replayed = Advisories(lambda event: [c.key for c in clients if c.gets(event)])
    for event in daemon.events:
        replayed.take(event)
    assert daemon.span is not None, "it serves them"
    replayed.close(max(daemon.span[1], *(client.span[1] for client in clients)))
    for client in clients:
        if not client.row["began"] or client.row["service"] is None:
            continue
        due: Counter[tuple[str, str]] = Counter()
        may: Counter[tuple[str, str]] = Counter()
        where: dict[tuple[str, str], tuple[int, int]] = {}
        for advisory in replayed.published:
            if advisory.client != client.key:
                continue
            surely = advisory.at_ns + INTERVAL_NS + LATE_NS <= client.span[1]
            for subject, lost in advisory.pairs:
                at = (str(advisory.host), subject)
                may[at] += lost
                due[at] += lost if surely else 0
                where.setdefault(at, (advisory.mark.frame, advisory.mark.at_ns))
        seen: Counter[tuple[str, str]] = Counter()
        frames: dict[tuple[str, str], tuple[int, int]] = {}
        partly: set[str] = set()  # hosts some of whose subjects were not listed
        for told in client.advisories:
            if told.subject != INBOUND or not _covered(daemon.span, told.at_ns):
                continue
            host = str(told.by_address)
            if told.count > PAIRS:
                partly.add(host)
            for subject, lost in told.pairs:
                seen[host, subject] += lost
                frames[host, subject] = told.frame, told.at_ns
        for at in sorted({*due, *may, *seen}):
            if at[0] in partly and seen[at] <= may[at]:
                continue
            if due[at] <= seen[at] <= may[at]:
                continue
            missing = not seen[at]
            finding = Finding(
                "RA024" if missing else "RA025", Certainty.LIKELY,
                "Client {client} was never told of {expected:lost message} on {subject}."
                if missing else
                "Client {client} was told of {told:lost message} on {subject}; the replay counts "
                "{expected}.",
                SYSTEM,
                frame=(where if missing else frames)[at][0],
                at_ns=(where if missing else frames)[at][1],
                facts={
                    "client": client.row["client"],
                    "subject": at[1],
                    "told": seen[at],
                    "expected": max(due[at], min(seen[at], may[at])),
                },
            )  # fmt: skip
            yield finding.seen_at(daemon.capture if missing else client.capture)


def _outbound_missing(daemon: _Daemon, client: _CapturedClient) -> Iterator[Finding]:
    """raims-11.5: what a client that publishes must have been told while it was connected."""
    for row in daemon.outbound:
        at, due = row["at_ns"], row["at_ns"] + INTERVAL_NS + LATE_NS
        if row["data"]["scid"] != client.row["service"]:
            continue
        if not client.span[0] <= at or client.span[1] < due:
            continue
        lost = row["data"]["lost"]
        if not any(
            seen.subject == OUTBOUND and at - LATE_NS <= seen.at_ns <= due and seen.lost == lost
            for seen in client.advisories
        ):
            yield Finding(
                "RA024", Certainty.LIKELY,
                "Client {client} was never told that clients of {hostid} lost {expected:message}.",
                SYSTEM, frame=row["frame"], at_ns=at,
                facts={"client": client.row["client"], "hostid": row["data"]["hostid"],
                       "expected": lost, "told": 0},
            )  # fmt: skip


def _covered(span: tuple[int, int], at_ns: int) -> bool:
    """Does the daemon's capture, from one time to another, hold what an advisory of that time is
    about?"""
    begin, end = span
    return begin + INTERVAL_NS <= at_ns <= end + INTERVAL_NS + LATE_NS
