"""Stories for the MCAST engine: builders of events, a clock, and what came out of it.

A story is a list of events and pauses (ms). Every event is captured in a frame of its own, 1 ms
after the one before; the frames count from 1.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from seqaudit.decoders.contract.events import END, HOLE, Ending, Flag, Kind
from seqaudit.pipeline.report.findings import holds
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.open_end import settled, settled_gap
from seqaudit.replay.contract.results import FINDING, GAP, JUDGED, STREAM, VIEW, Result
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.jgroups.mcast import findings as mcast_findings
from seqaudit.replay.jgroups.mcast.engine import McastEngine

CLUSTER: Final = "lab"
A, B, C, D = "A", "B", "C", "D"
ADDRESS: Final = {A: "10.0.0.1", B: "10.0.0.2", C: "10.0.0.3", D: "10.0.0.4"}
MS: Final = 1_000_000

Step = Event | int  # an event, or a pause in ms


# -- events ------------------------------------------------------------------------------------


def _event(kind: Kind, wire_kind: str, source: str | None, **fields: Any) -> Event:
    fields.setdefault("system", "nakack4")
    return Event(frame=0, at_ns=0, kind=kind, wire_kind=wire_kind, source=source, **fields)


def _stream(member: str) -> str:
    return f"{CLUSTER}|{member}"


def msg(
    seqno: int,
    to: int | None = None,
    *,
    by: str = A,
    ip_id: int | None = None,
    last_ip_id: int | None = None,
    oob: bool = False,
    network_duplicate: bool = False,
    system: str = "nakack4",
) -> Event:
    """MSG(seqno), or a list of seqno..to (both inside)."""
    flags = Flag.MULTICAST
    if oob:
        flags |= Flag.OOB
    if network_duplicate:
        flags |= Flag.NETWORK_DUPLICATE
    stop = (seqno if to is None else to) + 1
    return _event(
        Kind.DATA, "MSG", by, stream=_stream(by), seqno=seqno, stop_seqno=stop,
        count=stop - seqno, flags=flags, fresh_id=ip_id, system=system,
        last_fresh_id=ip_id if last_ip_id is None else last_ip_id, size=10 * (stop - seqno),
    )  # fmt: skip


def xmit_rsp(seqno: int, to: int | None = None, *, by: str = A, for_: str = B) -> Event:
    """XMIT_RSP(seqno), or a list of them, to the member that had asked."""
    sent = msg(seqno, to, by=by)
    return replace(
        sent, kind=Kind.RETRANSMISSION, wire_kind="XMIT_RSP", destination=for_, flags=Flag(0)
    )


def xmit_req(
    *seqnos: int, by: str = B, of: str = A, to: str | None = None, system: str = "nakack4"
) -> Event:
    """XMIT_REQ for these seqnos of ``of``, sent to it or to another member."""
    return _event(
        Kind.REQUEST, "XMIT_REQ", by, stream=_stream(of), destination=to or of, system=system,
        seqno=min(seqnos, default=None), stop_seqno=max(seqnos) + 1 if seqnos else None,
        count=len(seqnos), detail=json.dumps(ranges(seqnos)),
    )  # fmt: skip


def highest(seqno: int, *, by: str = A, system: str = "nakack4") -> Event:
    """HIGHEST_SEQNO(seqno)."""
    return _event(
        Kind.HIGHEST, "HIGHEST_SEQNO", by, stream=_stream(by), seqno=seqno,
        stop_seqno=seqno + 1, flags=Flag.MULTICAST, system=system,
    )  # fmt: skip


def ack(seqno: int, *, by: str = B, of: str = A) -> Event:
    """ACK(seqno) for the messages of ``of``."""
    return _event(
        Kind.ACK, "ACK", by, stream=_stream(of), destination=of, seqno=seqno, stop_seqno=seqno + 1
    )


def view(
    members: str,
    number: int,
    seqno: int,
    *,
    by: str = A,
    digest: Mapping[str, tuple[int, int]] | None = None,
    merge: bool = False,
) -> Event:
    """A multicast VIEW, itself message ``seqno`` of ``by``; ``members`` is one letter each."""
    return _event(
        Kind.VIEW, "MSG", by, seqno=seqno, stop_seqno=seqno + 1, flags=Flag.MULTICAST,
        detail=_view_detail(members, number, by, digest, merge),
    )  # fmt: skip


def join_req(*, by: str = B, to: str = A, first: bool = True) -> Event:
    """JOIN_REQ of a member that is not in the cluster yet, the first unicast that it sends."""
    detail = '{"first": true}' if first else None
    return _event(Kind.NOTICE, "JOIN_REQ", by, destination=to, system="jgroups", detail=detail)


def join_rsp(
    members: str,
    number: int,
    *,
    to: str = B,
    by: str = A,
    digest: Mapping[str, tuple[int, int]] | None = None,
) -> Event:
    """JOIN_RSP with its view and digest ({member: (delivered, received)})."""
    return _event(
        Kind.VIEW, "JOIN_RSP", by, destination=to, system="jgroups",
        detail=_view_detail(members, number, by, digest, merge=False),
    )  # fmt: skip


def _view_detail(
    members: str,
    number: int,
    by: str,
    digest: Mapping[str, tuple[int, int]] | None,
    merge: bool,
) -> str:
    detail: dict[str, Any] = {"view": {"id": [by, number], "members": list(members)}}
    if digest is not None:
        detail["digest"] = {member: list(levels) for member, levels in digest.items()}
    return json.dumps(detail | {"merge": merge})


def stable(digest: Mapping[str, int], *, by: str = B, wire_kind: str = "STABLE_GOSSIP") -> Event:
    """STABLE_GOSSIP (or STABILITY): {member: delivered}."""
    levels = {member: [delivered, delivered] for member, delivered in digest.items()}
    return _event(
        Kind.DIGEST, wire_kind, by, system="jgroups", destination=A if by != A else None,
        detail=json.dumps({"digest": levels}),
    )  # fmt: skip


def leave_rsp(to: str = B) -> Event:
    """LEAVE_RSP to a member."""
    return _event(Kind.NOTICE, "LEAVE_RSP", A, destination=to, system="jgroups")


def hole(since: int, *, by: str | None = A, to: str | None = B) -> Event:
    """Bytes of a TCP connection are missing since the last frame of their sender's."""
    detail = json.dumps({"bytes": 100, "since": since})
    return _event(Kind.NOTICE, HOLE, by, destination=to, system="jgroups", count=0, detail=detail)


def unseen_end(*, by: str = A, to: str = B) -> Event:
    """A TCP connection is over, and nothing shows how it ended."""
    detail = json.dumps({"how": Ending.UNSEEN})
    return _event(Kind.NOTICE, END, by, destination=to, system="jgroups", count=0, detail=detail)


def member(name: str) -> Event:
    """A member's address."""
    detail = json.dumps({"address": f"{ADDRESS[name]}:7800", "version": "5.6.0"})
    return _event(Kind.MEMBER, "MEMBER", name, detail=detail, index=-1)


# -- playing -----------------------------------------------------------------------------------


def dated(story: Iterable[Step]) -> list[Event]:
    """The events of a story with frames and times; a run's ``last_frame`` is how many frames of
    others its messages stand among."""
    events: list[Event] = []
    now_ms = 0
    for step in story:
        if isinstance(step, int):
            now_ms += step
            continue
        now_ms += 1
        frame = len(events) + 1
        more = max(step.last_frame, 0)
        stamped = replace(step, frame=frame, at_ns=now_ms * MS)
        events.append(replace(stamped, last_frame=frame + more, last_at_ns=(now_ms + more) * MS))
    return events


def engine_at(point: str | None, **given: int | str) -> McastEngine:
    """An engine for a capture at a member, or between members (null)."""
    vantage = Vantage("between") if point is None else Vantage("member", ADDRESS[point], "given")
    parameters = {f"mcast.{name}": (value, "given") for name, value in given.items()}
    return McastEngine(f"mcast|{CLUSTER}", parameters, vantage)


def as_reported(results: Iterable[Result], end_ns: int) -> list[Result]:
    """Results as the report of a capture that ended then has them."""
    found: list[Result] = []
    for row in results:
        if row.kind == STREAM:
            row = replace(row, detail=dict(settled(row.detail, end_ns)))
        elif row.kind == GAP:
            row = replace(row, detail=dict(settled_gap(cast(Any, row.detail), end_ns)))
        elif row.kind == FINDING and not holds(row.detail["holds"], end_ns):
            continue
        found.append(row)
    return found


class Heard:
    """What an engine says about a story."""

    def __init__(self, engine: McastEngine, end_ns: int) -> None:
        self.engine = engine
        self.results = as_reported(mcast_findings.results(engine, 0, end_ns), end_ns)

    def stream(self, sender: str = A) -> Mapping[str, Any]:
        """The summary of one stream."""
        return next(
            r.detail for r in self.results if r.kind == STREAM and r.stream == _stream(sender)
        )

    def told(self, *names: str, sender: str = A) -> dict[str, Any]:
        """Some fields of a stream's summary."""
        row = self.stream(sender)
        return {name: row[name] for name in names}

    def delivered(self, sender: str = A) -> list[list[int]]:
        """Delivered ranges, both ends inside, in order of delivery."""
        found: list[list[int]] = self.stream(sender)["delivered"]
        return found

    def gaps(self, sender: str = A) -> list[tuple[str, list[list[int]]]]:
        """(outcome, seqnos) of every gap."""
        return [
            (r.detail["outcome"], r.detail["seqnos"])
            for r in self.results
            if r.kind == GAP and r.stream == _stream(sender)
        ]

    def findings(self, *without: str) -> list[tuple[str, str, list[list[int]]]]:
        """(rule, certainty, seqnos), less MC009 (views) and the rules that are named."""
        return [
            (r.detail["rule"], r.detail["certainty"], r.detail["seqnos"])
            for r in self.results
            if r.kind == FINDING and r.rule not in ("MC009", *without)
        ]

    def finding(self, rule: str) -> Mapping[str, Any]:
        """The detail of the only finding of a rule."""
        (found,) = [r.detail for r in self.results if r.kind == FINDING and r.rule == rule]
        return found

    def views(self) -> list[tuple[int, str, bool]]:
        """(number, members, installed here)."""
        return [
            (r.detail["id"][1], "".join(r.detail["members"]), r.detail["installed"])
            for r in self.results
            if r.kind == VIEW
        ]

    def not_judged(self) -> dict[str, str]:
        """Rules that could not be judged, and why."""
        return {
            r.detail["rule"]: r.detail["why"]
            for r in self.results
            if r.kind == JUDGED and not r.detail["judged"]
        }


def heard(point: str | None, *story: Step, **given: int | str) -> Heard:
    """Play a story at a point of capture and listen."""
    pauses = sum(step for step in story if isinstance(step, int))
    return played(point, dated(story), pauses, -1000, **given)


def played(
    point: str | None,
    events: list[Event],
    pauses: int = 0,
    began_ms: int = -1000,
    **given: int | str,
) -> Heard:
    """The same of events that have frames and times, in the order of their rows, of a capture that
    began then. Whose join is answered had asked for it just before, if the capture goes back so
    far."""
    engine = engine_at(point, **given)
    for name in ADDRESS:
        engine.feed(replace(member(name), at_ns=began_ms * MS))
    answer = next((e for e in events if (e.wire_kind, e.destination) == ("JOIN_RSP", point)), None)
    if answer is not None and began_ms < 0:
        engine.feed(join_req(by=str(point), to=str(answer.source)))
    for event in events:
        engine.feed(event)
    engine.close()
    return Heard(engine, (len(events) + pauses) * MS)


def ranges(seqnos: Iterable[int]) -> list[tuple[int, int]]:
    """Seqnos as sorted half-open ranges, slowly."""
    found: list[tuple[int, int]] = []
    for seqno in sorted(set(seqnos)):
        if found and found[-1][1] == seqno:
            found[-1] = (found[-1][0], seqno + 1)
        else:
            found.append((seqno, seqno + 1))
    return found
