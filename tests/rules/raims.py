"""Two raims daemons on a PGM segment as captures at one of them (raims.md 2, 5, 6).

A at 10.77.0.1 publishes; B at 10.77.0.2 subscribes to _1.A and is where the capture is taken. Both
say who they are first. Times are seconds from the beginning.
"""

import struct
from collections.abc import Callable
from typing import Final

from seqaudit.replay.raims.seqno import FRAME_NS, first_seqno, seqno, start_of
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp
from tests.decoders.raims.builders import caba, data, inbox, inbox_subject, pgm, piece
from tests.rules.wire import Made

Value = int | str | bytes | bool

SECOND: Final = 1_000_000_000
T0: Final = 1_795_215_202 * SECOND
F0: Final = first_seqno(T0)
A, B, C = "A", "B", "C"
ADDRESS: Final = {A: "10.77.0.1", B: "10.77.0.2", C: "10.77.0.3"}
BRIDGE: Final = {name: bytes([ord(name)]) * 16 for name in ADDRESS}
GSI: Final = {name: bytes([ord(name)]) * 6 for name in ADDRESS}
GROUP: Final = "239.77.0.1"
PORT: Final = 7239
INBOX: Final = {A: 49_001, B: 49_002}
AT_B: Final = ("--at", ADDRESS[B])


class World:
    """The capture as it grows; every daemon numbers its own packets.

    Args:
        ran_s: how long B has run when the capture begins.
    """

    def __init__(self, ran_s: int = 1) -> None:
        self._frames: list[tuple[int, bytes]] = []
        self._sqn = dict.fromkeys(ADDRESS, 0)
        self._inbox = 0
        self.beat(A, 0.0, start=T0 - SECOND, seqno=1)
        self.beat(B, 0.0, start=T0 - ran_s * SECOND, seqno=1, sub_seqno=3 if ran_s > 1 else 0)
        self.join(B, "_1.A", 4 if ran_s > 1 else 1)

    # -- packets

    def _add(self, at: float, payload: bytes, by: str, to: str, ports: tuple[int, int]) -> None:
        packet = ipv4(udp(payload, *ports, checksum=0), by, to, ident=0, dont_fragment=True)
        self._frames.append((T0 + round(at * SECOND) + len(self._frames) * 1000, ethernet(packet)))

    def pgm(
        self, by: str, at: float, kind: int, body: bytes, tsdu: bytes = b"", to: str = ""
    ) -> None:
        whose = GSI[to or by]
        self._add(at, pgm(kind, body, tsdu, gsi=whose), ADDRESS[by], GROUP, (50_000, PORT))

    def packet(
        self, by: str, at: float, *messages: bytes, sqn: int | None = None, kind: int = 4
    ) -> None:
        """ODATA of the next sqn, or of this one; 5 is RDATA."""
        if sqn is None:
            sqn = self._sqn[by] = self._sqn[by] + 1
        self.pgm(by, at, kind, struct.pack(">II", sqn, 0), b"".join(messages))

    def skip(self, by: str, count: int = 1) -> int:
        """Packets that do not come; the last one's sqn."""
        self._sqn[by] += count
        return self._sqn[by]

    def lead(self, by: str, at: float, sqn: int | None = None) -> None:
        """SPM."""
        lead = self._sqn[by] if sqn is None else sqn
        self.pgm(by, at, 0, struct.pack(">IIIHH4s", lead, 0, lead, 1, 0, bytes(4)))

    def nak(self, sqn: int, at: float, *, kind: int = 8, by: str = B) -> None:
        """A NAK of B for a packet of A; 10 is A's NCF."""
        nla = struct.pack(">HH4s", 1, 0, bytes(4))
        body = struct.pack(">I", sqn) + nla + nla
        self.pgm(by, at, kind, body, to=A)

    def give_up(self, sqn: int, at: float) -> None:
        """Ten NAKs without an answer."""
        for turn in range(10):
            self.nak(sqn, at + turn / 4)

    # -- messages

    def beat(self, by: str, at: float, **fields: Value) -> None:
        host = int.from_bytes(bytes(map(int, ADDRESS[by].split("."))), "little")
        given: dict[str, Value] = {"user": by, "host_id": host, **fields}
        self.packet(by, at, caba("_X.HB", *given.items(), sort=3, bridge=BRIDGE[by]))

    def join(self, by: str, subject: str, number: int, at: float = 0.0) -> None:
        told = caba(
            f"_S.JOIN.{subject}", ("seqno", number), ("subject", subject), sort=2,
            bridge=BRIDGE[by],
        )  # fmt: skip
        self.packet(by, at, told)

    def publish(
        self, number: int, at: float = 0.0, subject: str = "_1.A", *, chain: int | None = None,
        stamp: float | None = 0.0,
    ) -> None:  # fmt: skip
        time = None if stamp is None else T0 + round(stamp * SECOND)
        self.packet(A, at, data(subject, number, time=time, chain=chain, bridge=BRIDGE[A]))

    def tell(self, at: float, word: str, **fields: Value) -> None:
        """Point to point from B to A."""
        self._inbox += 1
        told = caba(
            inbox_subject(BRIDGE[A], word), *fields.items(), bridge=BRIDGE[B], sort=1, options=16,
            path=37 if word == "loss" else 18,
        )  # fmt: skip
        packet = inbox(self._inbox, told)
        self._add(at, packet, ADDRESS[B], ADDRESS[A], (INBOX[B], INBOX[A]))

    def notice(self, at: float, lost: int, ref: int, total: int | None = None) -> None:
        self.tell(
            at, "loss", seqno=self._inbox + 1, subject="_1.A", idl_msg_loss=lost,
            ms_tot=lost if total is None else total, ref_seqno=ref,
        )  # fmt: skip

    def end(self, at: float) -> bytes:
        """The capture, with a last sign of life of both."""
        self.lead(A, at)
        self.lead(B, at)
        frames = sorted(self._frames, key=lambda frame: frame[0])
        return pcap([f for _, f in frames], times_ns=[t for t, _ in frames], first_ns=0)


def _pgm_loss(w: World) -> float:
    """Two packets: one comes after a NAK, the other after none; a third comes twice."""
    w.publish(F0)
    first = w.skip(A)
    w.publish(F0 + 2, 0.1)
    w.nak(first, 0.2)
    again = data("_1.A", F0 + 1, time=T0, bridge=BRIDGE[A])
    w.packet(A, 0.3, again, sqn=first, kind=5)
    w.packet(A, 0.4, again, sqn=first)
    late = w.skip(A)
    w.publish(F0 + 4, 0.5)
    w.packet(A, 0.6, data("_1.A", F0 + 3, time=T0, bridge=BRIDGE[A]), sqn=late)
    return 5.0


def _open(w: World) -> float:
    w.publish(F0)
    first = w.skip(A)
    w.publish(F0 + 2, 0.1)
    w.nak(first, 0.2)
    return 0.3


def _dropped_inside(w: World) -> float:
    """B asks twice for a packet that has come, and it comes again."""
    for number in range(3):
        w.publish(F0 + number)
    for at in (0.2, 0.8):
        w.nak(4, at)
    w.packet(A, 0.9, data("_1.A", F0 + 1, time=T0, bridge=BRIDGE[A]), sqn=4, kind=5)
    return 5.0


def _unanswered(w: World) -> float:
    for number in range(5):
        w.publish(F0 + number)
    for sqn in (3, 4):
        w.nak(sqn, 0.1 + sqn / 100)
        w.nak(sqn, 0.11 + sqn / 100, kind=10, by=A)
        w.nak(sqn, 0.7 + sqn / 100)
    return 8.0


def _too_large(w: World) -> float:
    w.publish(F0)
    w.lead(A, 0.1)
    w.packet(A, 0.2, data("_1.A", F0 + 1, time=T0, bridge=BRIDGE[A], payload=3000))
    w.lead(A, 0.3)
    return 5.0


def _restarted_numbers(w: World) -> float:
    """A frame that begins anew without a chain number."""
    w.publish(seqno(1000, 3), stamp=None)
    w.publish(seqno(1002, 1), 0.1, stamp=None)
    return 1.0


def _lost(w: World, back: float = 60.0) -> None:
    """One message, in a packet that B gave up."""
    w.publish(F0)
    lost = w.skip(A)
    w.lead(A, 0.1)
    w.give_up(lost, 0.2)
    w.publish(F0 + 2, back)


def _wrong_notice(w: World) -> float:
    _lost(w)
    w.notice(60.1, 5, F0 + 2)
    return 62.0


def _no_notice(w: World) -> float:
    w.tell(59.0, "ping", seqno=1)
    _lost(w)
    w.tell(62.0, "ping", seqno=2)
    return 63.0


def _notices(w: World) -> float:
    _lost(w)
    w.notice(60.1, 1, F0 + 2)
    w.notice(61.1, 1, F0 + 3, total=2)
    return 63.0


def _contradicted(w: World) -> float:
    """Joined, uninterrupted as its heartbeats have it, and then a message is lost."""
    w.beat(A, 0.1, seqno=2, converge=T0 - 60 * SECOND)
    w.publish(F0, 0.2, "_1.J")
    w.join(B, "_1.J", 2, 0.5)
    w.publish(F0 + 4, 1.0, "_1.J")
    lost = w.skip(A)
    w.lead(A, 1.1)
    w.give_up(lost, 1.2)
    w.publish(F0 + 6, 60.0, "_1.J")
    w.beat(B, 61.0, seqno=2, converge=T0 - 60 * SECOND)
    return 62.0


def _clock(w: World) -> float:
    """Times a minute ahead, the first not in its frame, and frames from the future."""
    w.publish(F0, stamp=60)
    future = first_seqno(T0 + 100 * SECOND)
    for number in range(4):
        w.publish(future + number, 1.0 + number, "_1.A", stamp=100 + number)
        w.lead(A, 1.5 + number)
    return 8.0


def _frames(w: World) -> float:
    """A second frame a second after the first."""
    w.publish(F0)
    w.publish(F0 + (1 << 35), 1.0, stamp=1)
    return 3.0


def _unexplained(w: World) -> float:
    """A new frame sooner than any window rotates."""
    following = start_of(F0) + FRAME_NS + SECOND // 2
    w.publish(F0)
    w.publish(first_seqno(following), 9.0, chain=F0, stamp=(following - T0) / SECOND)
    return 12.0


def _restart(w: World) -> float:
    """The same user at the same address, with another bridge id and start time."""
    again = caba(
        "_X.HB", ("user", A), ("host_id", 0x0100_4D0A), ("start", T0 + 5 * SECOND), ("seqno", 1),
        sort=3, bridge=b"Z" * 16,
    )  # fmt: skip
    w.publish(F0)
    w.packet(A, 6.0, again)
    return 8.0


def _in_pieces(w: World) -> float:
    """The first pieces of two messages; what is in between was given up."""
    for number, at in ((0, 0.0), (1, 60.0)):
        body = data("_1.A", F0 + number, time=T0, bridge=BRIDGE[A], payload=800)
        w.packet(A, at, piece(0, len(body), body[:300]))
        if number == 0:
            lost = w.skip(A)
            w.lead(A, 0.1)
            w.give_up(lost, 0.2)
    return 62.0


def _subscribed_before(w: World) -> float:
    """B has run for a minute, and what it subscribed to then is not captured."""
    w.publish(F0, 0.2, "_1.OTHER")
    return 1.0


def _made(story: Callable[[World], float], *options: str, ran_s: int = 1) -> Made:
    def build() -> bytes:
        world = World(ran_s)
        return world.end(story(world))

    return build, (*AT_B, *options)


def pgm_and_raims() -> dict[str, Made]:
    """PG and RA rules."""
    return {
        "PG001": _made(_pgm_loss),
        "PG003": _made(_pgm_loss),
        "PG004": _made(_pgm_loss),
        "PG005": (_made(_unanswered)[0], ("--at", ADDRESS[A])),
        "PG006": _made(_too_large, "--param", "pgm.mtu=1500"),
        "PG008": _made(_open),
        "PG009": _made(_dropped_inside),
        "RA007": _made(_restarted_numbers),
        "RA012": _made(_wrong_notice),
        "RA013": _made(_contradicted),
        "RA015": _made(_clock),
        "RA016": _made(_clock),
        "RA017": _made(_frames),
        "RA018": _made(_clock),
        "RA019": _made(_clock, "--param", "raims.pub_window_time_ms=5000"),
        "RA020": _made(_unexplained, "--param", "raims.pub_window_time_ms=10000"),
        "RA022": _made(_restart),
        "RA023": _made(_in_pieces),
        "RA027": _made(_no_notice),
        "RA028": _made(_notices),
        "RA029": _made(_subscribed_before, ran_s=60),
    }
