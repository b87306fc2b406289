"""zenoh sessions that show one ZN rule each, as captures at the subscriber (zenoh.md).

A session is that of the engine's tests: a publisher at 10.77.0.1, a subscriber at 10.77.0.2.
"""

from collections.abc import Callable

from tests.decoders.network.builders import ethernet, ipv4, pcap, udp
from tests.decoders.zenoh import builders as z
from tests.replay.zenoh.test_engine import Session, answered, pieces
from tests.rules.wire import Made

PUBLISHER, SUBSCRIBER = "10.77.0.1", "10.77.0.2"
PORTS = (40_000, 7447)
AT_SUBSCRIBER = ("--at", SUBSCRIBER)


def capture(*sessions: Session) -> bytes:
    """Sessions one after another, the next a second behind the end of the last."""
    frames: list[bytes] = []
    times: list[int] = []
    begin = 0
    for number, session in enumerate(sessions):
        ports = (PORTS[0] + number, PORTS[1])
        for place, payload in enumerate(session.payloads):
            back = place in session.back
            ends = (SUBSCRIBER, PUBLISHER) if back else (PUBLISHER, SUBSCRIBER)
            datagram = udp(payload, *(ports[::-1] if back else ports), checksum=0)
            frames.append(ethernet(ipv4(datagram, *ends, ident=0, dont_fragment=True)))
            times.append(begin + round(session.times[place] * 1000) * 1_000_000)
        begin = times[-1] + 1_000_000_000
    return pcap(frames, times_ns=times)


def _last_missed() -> Session:
    return Session().put(0, 1).lose().lose().heartbeat(3).wait(3).heartbeat(3)


def _blocked() -> Session:
    session = Session()
    for sn in (0, 1, 3):
        if sn == 3:
            session.lose()
        session.publisher(z.push(z.put(sn), qos=13))
    return session


def _storm() -> Session:
    session = Session().put(0).lose().put(2)
    for number in range(20):
        session.ask(number, "_sn=1..")
    for number in range(20):
        answered(session, number, 1, 2)
    return session


def _dropped() -> Session:
    """A fragmented message that its sender gave up."""
    session = Session().put(0)
    first, last = session.sns[False], session.sns[False] + 1
    session.raw(z.fragment(first, b"x" * 20, more=True, first=True))
    session.raw(z.fragment(last, b"", more=False, drop=True))
    session.lose().lose().lose()
    return session.put(1)


def _piece_lost() -> Session:
    session = Session().put(0)
    pieces(session, z.push(z.put(1, b"x" * 90)), 10)
    del session.payloads[-5], session.times[-5]
    return session.put(2)


def _asked_at_the_end() -> Session:
    return Session().put(0).lose().put(2).ask(1, "_sn=1..")


def _link_lost() -> tuple[Session, Session]:
    """What passed while there was no session, nobody asked for."""
    return Session().put(*range(5)), Session().put(*range(9, 14))


def _again() -> tuple[Session, Session]:
    """The publisher begins again under its id."""
    return Session().put(*range(20)), Session().put(*range(30))


def _shared() -> Session:
    session = Session().put(0, 1, 2)
    for sn in (0, 1, 3):
        session.publisher(z.push(z.put(sn, eid=8)))
    return session


def _recovered() -> Session:
    session = Session().put(0, 1).lose().put(3).ask(1, "_sn=2..")
    return answered(session, 1, 2, 3).put(4)


def _made(build: Callable[[], Session | tuple[Session, ...]], *options: str) -> Made:
    def written() -> bytes:
        made = build()
        return capture(*(made if isinstance(made, tuple) else (made,)))

    return written, (*AT_SUBSCRIBER, *options)


def zenoh() -> dict[str, Made]:
    """ZN rules."""
    document = ("--param", "zenoh.rules=document")
    return {
        "ZN003": _made(_last_missed),
        "ZN007": _made(_blocked),
        "ZN009": _made(_storm),
        "ZN015": _made(_dropped),
        "ZN016": _made(_piece_lost),
        "ZN018": _made(_asked_at_the_end),
        "ZN022": _made(_link_lost),
        "ZN023": _made(_recovered, *document),
        "ZN024": _made(_shared, *document),
        "ZN026": _made(_again),
    }
