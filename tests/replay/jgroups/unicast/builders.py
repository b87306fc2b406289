"""Stories for the UNICAST engine: A sends to B, unless a step says otherwise.

As in ``builders``: a story is a list of events and pauses (ms); every event is captured in a frame
of its own, 1 ms after the one before; the frames count from 1.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import CONNECTION, FINDING, GAP, JUDGED, STREAM
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.jgroups.unicast import findings as unicast_findings
from seqaudit.replay.jgroups.unicast.engine import UnicastEngine
from tests.replay.builders import ADDRESS, CLUSTER, MS, A, B, as_reported, dated, ranges

TICK: Final = 500
ALL: Final = ("A", "B", "C")


def _event(kind: Kind, wire_kind: str, source: str, destination: str, **fields: Any) -> Event:
    fields.setdefault("system", "unicast3")
    return Event(
        frame=0, at_ns=0, kind=kind, wire_kind=wire_kind, source=source, destination=destination,
        **fields,
    )  # fmt: skip


def _stream(sender: str, receiver: str, conn: int | None = None) -> str:
    return f"{CLUSTER}|{sender}|{receiver}|{'' if conn is None else conn}"


def member(name: str, version: str = "5.6.0") -> Event:
    """A member's address and release; it is heard of long before the story begins."""
    detail = json.dumps({"address": f"{ADDRESS[name]}:7800", "version": version})
    return Event(
        frame=0, at_ns=-10_000 * MS, kind=Kind.MEMBER, wire_kind="MEMBER", system="jgroups",
        source=name, detail=detail, index=-1,
    )  # fmt: skip


def data(
    seqno: int,
    to: int | None = None,
    *,
    conn: int = 1,
    first: bool | None = None,
    by: str = A,
    at: str = B,
    ip_id: int | None = None,
    oob: bool = False,
    network_duplicate: bool = False,
    listed: bool = False,
    alone: bool = False,
    system: str = "unicast3",
) -> Event:
    """DATA(seqno), or seqno..to (both inside); ``first`` is set for seqno 1 unless stated."""
    flags = Flag.LISTED * listed | Flag.ALONE * alone
    if (seqno == 1 and to is None) if first is None else first:
        flags |= Flag.FIRST
    if oob:
        flags |= Flag.OOB
    if network_duplicate:
        flags |= Flag.NETWORK_DUPLICATE
    stop = (seqno if to is None else to) + 1
    return _event(
        Kind.DATA, "DATA", by, at, stream=_stream(by, at, conn), seqno=seqno, stop_seqno=stop,
        count=stop - seqno, conn_id=conn, flags=flags, fresh_id=ip_id, last_fresh_id=ip_id,
        size=60 * (stop - seqno), system=system,
    )  # fmt: skip


def ack(
    seqno: int, stamp: int | None = None, *, conn: int = 1, by: str = B, at: str = A,
    system: str = "unicast3",
) -> Event:  # fmt: skip
    """ACK(seqno, conn_id, timestamp), from the receiver of the stream to its sender."""
    return _event(
        Kind.ACK, "ACK", by, at, stream=_stream(at, by, conn), seqno=seqno, stop_seqno=seqno + 1,
        conn_id=conn, stamp=stamp, size=50, system=system,
    )  # fmt: skip


def sync(stamp: int | None = None, *, by: str = B, at: str = A, system: str = "unicast3") -> Event:
    """SEND_FIRST_SEQNO(timestamp)."""
    return _event(
        Kind.SYNC, "SEND_FIRST_SEQNO", by, at, stream=_stream(at, by), stamp=stamp, system=system
    )


def request(*seqnos: int, by: str = B, at: str = A, system: str = "unicast3") -> Event:
    """XMIT_REQ(list); an empty list is legal."""
    wanted = ranges(seqnos)
    return _event(
        Kind.REQUEST, "XMIT_REQ", by, at, stream=_stream(at, by),
        seqno=wanted[0][0] if wanted else None, stop_seqno=wanted[-1][1] if wanted else None,
        count=len(seqnos), detail=json.dumps(wanted), system=system,
    )  # fmt: skip


def close(*, conn: int = 1, by: str = A, at: str = B, system: str = "unicast3") -> Event:
    """CLOSE(conn_id)."""
    return _event(
        Kind.CLOSE, "CLOSE", by, at, stream=_stream(by, at, conn), conn_id=conn, system=system
    )


def view(members: str, number: int, *, by: str = "C") -> Event:
    """A VIEW that is multicast."""
    detail = {"view": {"id": ["C", number], "members": list(members)}, "merge": False}
    return Event(
        frame=0, at_ns=0, kind=Kind.VIEW, wire_kind="MSG", system="nakack2", source=by,
        seqno=number, stop_seqno=number + 1, detail=json.dumps(detail),
    )  # fmt: skip


def leave_rsp(to: str) -> Event:
    """LEAVE_RSP: the coordinator lets a member go."""
    return Event(
        frame=0, at_ns=0, kind=Kind.NOTICE, wire_kind="LEAVE_RSP", system="jgroups", source="C",
        destination=to,
    )  # fmt: skip


class Heard:
    """What the engine says about a story."""

    def __init__(self, engine: UnicastEngine, end_ns: int) -> None:
        self.engine = engine
        self.end_ns = end_ns
        self.results = as_reported(unicast_findings.results(engine, 0, end_ns), end_ns)

    def stream(self, conn: int = 1, *, sender: str = A, receiver: str = B) -> Mapping[str, Any]:
        """The summary of one connection."""
        key = _stream(sender, receiver, conn)
        return next(r.detail for r in self.results if r.kind == STREAM and r.stream == key)

    def told(self, *names: str, conn: int = 1) -> dict[str, Any]:
        """Some fields of a summary."""
        row = self.stream(conn)
        return {name: row[name] for name in names}

    def delivered(self, conn: int = 1) -> list[list[int]]:
        """Delivered ranges, both ends inside, in order of delivery."""
        found: list[list[int]] = self.stream(conn)["delivered"]
        return found

    def resends(self, conn: int = 1) -> dict[str, int]:
        """Copies by the reason they were sent for, without zeros."""
        return {name: n for name, n in self.stream(conn)["resends"].items() if n}

    def gaps(self) -> list[tuple[str, list[list[int]]]]:
        """(outcome, seqnos) of every gap."""
        return [(r.detail["outcome"], r.detail["seqnos"]) for r in self.results if r.kind == GAP]

    def findings(self, *without: str) -> list[tuple[str, str]]:
        """(rule, certainty), less the rules that are named."""
        return [
            (r.detail["rule"], r.detail["certainty"])
            for r in self.results
            if r.kind == FINDING and r.rule not in without
        ]

    def finding(self, rule: str) -> Mapping[str, Any]:
        """The detail of the only finding of a rule."""
        (found,) = [r.detail for r in self.results if r.kind == FINDING and r.rule == rule]
        return found

    def connection(self, conn: int = 1) -> dict[str, Any]:
        """The connection as the report shows it, with the states its timeouts led to."""
        key = _stream(A, B, conn)
        row = next(r.detail for r in self.results if r.kind == CONNECTION and r.stream == key)
        reached = [state for state in row["later"] if state["at_ns"] <= self.end_ns]
        return {**row, "states": [*row["states"], *reached]}

    def states(self, conn: int = 1) -> list[str]:
        """The states it went through."""
        return [state["state"] for state in self.connection(conn)["states"]]

    def not_judged(self) -> dict[str, str]:
        """Rules that could not be judged, and why."""
        return {
            r.detail["rule"]: r.detail["why"]
            for r in self.results
            if r.kind == JUDGED and not r.detail["judged"]
        }


def heard(
    point: str | None, *story: Any, version: str = "5.6.0", started: bool = False, **given: Any
) -> Heard:
    """Play a story at a member's interface, or between members (null), and listen.

    Args:
        story: events and pauses (``Step``), in order; any, so that lists of both need no type.
        started: the members are first heard of as the story begins.
    """
    vantage = Vantage("between") if point is None else Vantage("member", ADDRESS[point], "given")
    parameters = {f"unicast.{name}": (value, "given") for name, value in given.items()}
    engine = UnicastEngine(f"unicast|{CLUSTER}", parameters, vantage)
    for name in ALL:
        told = member(name, version)
        engine.feed(replace(told, at_ns=0) if started else told)
    events = dated(story)
    for event in events:
        engine.feed(event)
    engine.close()
    pauses = sum(step for step in story if isinstance(step, int))
    return Heard(engine, (len(events) + pauses) * MS)


def counters(ranges_told: Iterable[Iterable[int]]) -> list[int]:
    """Inclusive ranges as single numbers, in order."""
    return [n for first, last in ranges_told for n in range(first, last + 1)]
