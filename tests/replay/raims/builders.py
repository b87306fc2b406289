"""Events of PGM and raims as an engine gets them, and worlds to feed them to."""

import json
from dataclasses import replace
from typing import Any

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import FINDING, TABLE
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.pgm import findings as pgm_findings
from seqaudit.replay.pgm.engine import PgmEngine
from seqaudit.replay.pgm.window import PgmWindow
from seqaudit.replay.raims import findings as raims_findings
from seqaudit.replay.raims.engine import RaimsEngine
from seqaudit.replay.raims.seqno import first_seqno
from seqaudit.replay.sequence.gaps import Mark

SECOND = 1_000_000_000
T0 = 1_795_215_202 * SECOND
ME, PEER = "aa" * 16, "bb" * 16
HERE, THERE = "10.77.0.2", "10.77.0.1"
LINK = "pgm:0102.1"


def mark(number: int, at: float = 0.0) -> Mark:
    return Mark(number, T0 + round(at * SECOND))


def accept(window: PgmWindow, *sqns: int, at: float = 0.0, repair: bool = False) -> list[Any]:
    moment = mark(1, at)
    return [window.accept(sqn, sqn + 1, moment, moment, repair=repair) for sqn in sqns]


def packet(word: str, sqn: int | None, at: float = 0.0, number: int = 1, **how: Any) -> Event:
    kinds = {"ODATA": Kind.DATA, "RDATA": Kind.RETRANSMISSION, "SPM": Kind.HIGHEST,
             "NAK": Kind.REQUEST}  # fmt: skip
    detail = how.pop("detail", None)
    return Event(
        frame=number, at_ns=T0 + round(at * SECOND), kind=kinds.get(word, Kind.NOTICE),
        wire_kind=word, system="pgm", stream=how.pop("stream", "0102.1"),
        source=how.pop("source", THERE), seqno=sqn, stop_seqno=None if sqn is None else sqn + 1,
        size=how.pop("size", 100), detail=detail, stamp=how.pop("stamp", 0), **how,
    )  # fmt: skip


def nak(sqn: int, at: float = 0.0, source: str = HERE) -> Event:
    return packet("NAK", sqn, at, source=source, detail=f"[[{sqn},{sqn + 1}]]")


def nak_on_link(sqn: int, at: float = 0.0, frame: int = 1) -> Event:
    return packet(
        "NAK", sqn, at, frame, source=HERE, detail=f"[[{sqn},{sqn + 1}]]", stream=f"{LINK}|"
    )


def rules_of(rows: Any) -> list[str]:
    return [row.rule for row in rows if row.kind == FINDING]


def sureness_of(rows: Any) -> dict[str, list[str]]:
    """Certainties of the findings of each rule."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.kind == FINDING:
            found.setdefault(row.rule, []).append(row.detail["certainty"])
    return found


#: A TSI carries raims.
OF_RAIMS = Event(frame=1, at_ns=T0, kind=Kind.MEMBER, wire_kind="RAIMS", system="pgm",
                 stream="0102.1")  # fmt: skip


def received(*events: Event, at: str = HERE, raims: bool = True) -> list[Any]:
    """What a TSI says at a point of capture; its sender's packets have IP ids that count up."""
    engine = PgmEngine("pgm|0102.1", {}, Vantage("member", at))
    for number, event in enumerate((OF_RAIMS, *events) if raims else events, 1):
        engine.feed(event if event.fresh_id is not None else replace(event, fresh_id=number))
    engine.close()
    return pgm_findings.results(engine, 0, T0)


def only(rows: Any, rule: str) -> dict[str, Any]:
    """The detail of the only finding of a rule."""
    found: list[dict[str, Any]] = [r.detail for r in rows if r.kind == FINDING and r.rule == rule]
    (one,) = found
    return one


class World:
    """An engine at 10.77.0.2 that has seen itself and one peer, and subscribes to _1.A by a
    change of its subscriptions of this number."""

    def __init__(self, *, join: int = 1, **parameters: Any) -> None:
        given = {f"raims.{name}": (value, "given") for name, value in parameters.items()}
        self.engine = RaimsEngine("raims", given, Vantage("member", HERE))
        self.number = 0
        for bridge, name, address in ((ME, "B", HERE), (PEER, "A", THERE)):
            self.feed(
                kind=Kind.MEMBER, wire_kind="MEMBER", source=bridge,
                detail=json.dumps({"name": name, "address": f"{address}:7239"}),
            )  # fmt: skip
        self.notice("JOIN", source=ME, kind=Kind.SUBSCRIBE, stream=None, seqno=join, subject="_1.A")

    def sees(self, event: Event) -> None:
        """A packet, as the next frame."""
        self.number += 1
        self.engine.feed(replace(event, frame=self.number))

    def feed(self, at: float = 0.0, **how: Any) -> None:
        self.number += 1
        how.setdefault("system", "raims")
        self.engine.feed(Event(frame=self.number, at_ns=T0 + round(at * SECOND), **how))

    def notice(self, word: str, at: float = 0.0, **how: Any) -> None:
        base = {"kind": Kind.NOTICE, "source": PEER, "stream": f"{LINK}|{PEER}|.{word}"}
        names = (*base, "destination", "seqno", "system", "stamp", "fresh_id")
        columns = {k: how.pop(k) for k in names if k in how}
        self.feed(at, wire_kind=word, **(base | columns), detail=json.dumps(how) if how else None)

    def alone(self, *others: str) -> None:
        """The observer's heartbeat says that it knows its peer, and these."""
        known = 0
        for bridge in (ME, PEER, *others):
            known ^= int(bridge, 16)
        self.notice("HB", source=ME, stream=f"tcp:x|{ME}|.HB", uid_csum=f"{known:032x}")

    def data(self, value: int, at: float = 0.0, **how: Any) -> None:
        subject = how.pop("subject", "_1.A")
        how.setdefault("stream", f"tcp:x|{PEER}|{subject}")
        how = {"source": PEER, **how}
        self.feed(
            at, kind=Kind.DATA, wire_kind="DATA", destination=subject, seqno=value,
            stop_seqno=value + 1, size=100, **how,
        )  # fmt: skip

    def rows(self) -> list[Any]:
        self.engine.close()
        return raims_findings.results(self.engine, 0, self.engine.last_ns)

    def table(self, name: str) -> list[dict[str, Any]]:
        return [r.detail for r in self.rows() if r.kind == TABLE and r.detail["table"] == name]


F0 = first_seqno(T0)


#: From a number to that in the next time frame.
FRAME = 1 << 35


def asks_in_vain(world: World, rounds: int) -> None:
    """The sender tells of packet 2 of a link, for which so many NAKs ask; nothing answers."""
    world.sees(packet("SPM", 2, 0.1, stream=f"{LINK}|"))
    for turn in range(rounds):
        world.sees(nak_on_link(2, 0.2 + turn / 4))
    for moment in (6.0, 7.0):
        world.sees(packet("SPM", 2, moment, stream=f"{LINK}|"))


def lossy_world(*, rounds: int = 10, **parameters: Any) -> World:
    """Packets 1 and 3 of a link, with messages 0 and 2 of a subject; 2 was given up by NAKs."""
    world = World(**parameters)
    for sqn in (1, 3):
        at = 0.0 if sqn == 1 else 60.0
        world.sees(packet("ODATA", sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)
        if sqn == 1:
            asks_in_vain(world, rounds)
    return world


def inbox_packet(number: int, at: float, *, own: bool = True) -> Event:
    ends = (f"{HERE}:1", f"{THERE}:2") if own else (f"{THERE}:2", f"{HERE}:1")
    return Event(
        frame=1, at_ns=T0 + round(at * SECOND), kind=Kind.DATA, wire_kind="DATA", system="inbox",
        stream=f"inbox:{ends[0]}>{ends[1]}|", source=HERE if own else THERE,
        destination=THERE if own else HERE, seqno=number, stop_seqno=number + 1, conn_id=7,
        stamp=0, detail="{}",
    )  # fmt: skip
