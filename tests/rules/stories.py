"""Stories of JGroups members that show one rule each, as captures at a member.

What each must lead to is in the tests of the engines (``tests.replay.jgroups``): here the same
stories are bytes on a wire, and the command finds them.
"""

from functools import partial
from typing import Final

from tests.replay import builders as m
from tests.replay.jgroups.unicast import builders as u
from tests.rules.jgroups import capture
from tests.rules.wire import Made

#: B joins A and C; nothing was multicast before. The capture goes back before B asks: D, which it
#: knows nothing of, was heard.
JOINED: Final = (
    m.highest(1, by="D"),
    1500,
    m.join_req(),
    m.join_rsp("ABC", 2, digest={"A": (0, 0), "B": (0, 0), "C": (0, 0)}),
)
#: A multicasts a view with B and C as its first message; both acknowledge it.
START: Final = (m.view("ABC", 1, 1), m.ack(1, by="B"), m.ack(1, by="C"))
TICK: Final = u.TICK


def at(letter: str, *story: object, **given: int | str) -> Made:
    """A story captured at a member, and parameters of its system."""
    options = ["--at", m.ADDRESS[letter]]
    system = "unicast" if any(_is_unicast(step) for step in story) else "mcast"
    for name, value in given.items():
        options += ["--param", f"{system}.{name}={value}"]
    return partial(capture, *story), tuple(options)  # type: ignore[arg-type]


def _is_unicast(step: object) -> bool:
    steps = step if isinstance(step, list | tuple) else [step]
    return any(getattr(one, "system", "").startswith("unicast") for one in steps)


def mcast() -> dict[str, Made]:
    """MC rules."""
    msg, ack, ask, answer = m.msg, m.ack, m.xmit_req, m.xmit_rsp
    full = (*START, msg(2, 5))
    one_gap = (*JOINED, msg(1), msg(3))
    merge = m.view("ABC", 3, 2, digest={"A": (2, 2), "B": (0, 0), "C": (6, 6)}, merge=True)
    return {
        "CP007": at("B", *JOINED, msg(1, 2), msg(5), ack(5), 3000, msg(6), ack(6)),
        "MC007": at("A", *START, msg(2, 6), capacity=4),
        "MC014": at("B", *one_gap, 1000, ask(2), 100),
        "MC015": at("B", *one_gap, 1000, [ask(2), 1000] * 5),
        "MC016": at("B", *one_gap, 10, ask(2), answer(2), xmit_interval_ms=1000),
        "MC017": at("B", *JOINED, msg(2, 5), answer(1), 5, answer(5), capacity=4),
        "MC019": at(
            "B",
            *JOINED,
            msg(1, by="C"),
            msg(3, by="C"),
            1000,
            ask(2, of="C"),
            m.view("AB", 3, 1),
            msg(4, by="C"),
            5000,
        ),
        "MC020": at("A", *full, ack(5, by="B"), ack(5, by="D"), ack(5, by="C")),
        "MC021": at("B", *JOINED, msg(1), msg(1, by="C"), msg(3, by="C"), merge, msg(7, by="C")),
        "MC022": at(
            "B", *JOINED, msg(1), msg(6), 1000, ask(2, 3, 4, 5), answer(2, 5), max_xmit_req_size=3
        ),
    }


def unicast() -> dict[str, Made]:
    """UC rules."""
    data, ack, ask, sync, close = u.data, u.ack, u.request, u.sync, u.close
    u4 = "unicast4"
    one_gap = [data(1), data(3), TICK, ack(1, 1)]
    five = [data(1), data(2, 5), TICK]
    stale = [
        data(1), data(2, 5), TICK, ack(1, 1), 900, data(5), sync(3), data(2, first=True), ack(5, 2),
        200, ack(2, 4), TICK, ask(3, 4),
    ]  # fmt: skip
    rounds = [
        step
        for n in range(3)
        for step in (
            data(4 * n + 1, 4 * n + 4, system=u4), 300, ack(4 * n + 4, n + 1, system=u4),
        )
    ]  # fmt: skip
    needless = [data(20, ip_id=n) for n in range(1, 20)]
    repaired = [data(1), data(20), TICK, ack(1, 1), TICK, ask(*range(2, 20))]
    return {
        "CP030": at("B", [x for n in (1, 2, 3) for x in (data(n), TICK, ack(n, n + (n > 2)))]),
        "UC002": at("B", one_gap, [ask(2), TICK] * 5),
        "UC009": at("A", stale, [TICK, ask(3, 4)] * 5),
        "UC010": at("A", five, ack(5, 1), [300, ask(3, 4)] * 2),
        "UC011": at("B", one_gap, [TICK, ask(2), data(4)] * 5),
        "UC016": at("A", five, ack(2, 1), 1000, sync(2), data(2, first=True), 200, ack(5, 3)),
        "UC017": at("A", five[:2], 100, data(3), 200, ack(5, 1)),
        "UC019": at("A", data(1), data(2), 1260, data(2), 200, ack(2, 1)),
        "UC020": at("A", data(1), TICK, ack(1, 1), close()),
        "UC021": at(
            "B", data(1), data(2), TICK, ack(2, 1), data(1, conn=0), data(2, conn=0),
            ack(2, 2, conn=0),
        ),
        "UC022": at("A", data(1), TICK, ack(1, 1), close(), data(1, conn=2), ack(1, 2, conn=2)),
        "UC024": at("A", rounds, data(13, system=u4), capacity=4),
        "UC025": at("A", rounds, data(13, system=u4), capacity=3),
        "UC026": at("A", data(1), TICK, ack(1, 1), data(2), 900, [data(2), TICK] * 4, 700),
        "UC027": at("A", data(1), TICK, ack(1, 1), data(2), 900, [data(2), TICK] * 4, 700),
        "UC028": at("A", data(1), data(2, 3), TICK, ack(1, 1), 900, data(3), 200, close()),
        "UC031": at("A", data(1), data(2, 3), TICK, ack(1, 1), ask(2), 1200, data(4), ack(4, 2)),
        "UC032": at("B", data(1, 2), ack(2, 1), 50, ask(2), data(2), 500, ack(2, 2)),
        "UC033": at("B", one_gap, ask(2)),
        "UC035": at(
            "B", data(1, ip_id=1), data(3, ip_id=3), 340, ack(1, 1), ask(2), data(2, ip_id=9),
            TICK, ack(3, 2), xmit_interval_ms=500,
        ),
        "UC036": at(
            "B", data(1), data(4), TICK, ack(1, 1), TICK, ask(2, 3), data(2, 3),
            max_xmit_req_size=1,
        ),
        "UC037": at("B", [step for n in range(1, 61) for step in (data(n), 10, ack(n, n))]),
        "UC038": at("A", data(1), TICK, ack(1, 1), close(), ack(1, 2)),
        "UC039": at(
            "B", data(1), TICK, ack(1, 1), data(2, 3, conn=2, ip_id=5, listed=True), sync(2),
            data(1, conn=2, ip_id=6),
        ),
        "UC040": at(
            "B", data(1, system=u4), data(6, 9, system=u4), TICK, ack(1, 1, system=u4), capacity=5
        ),
        "UC041": at("A", data(1), data(3), data(2), TICK, ack(3, 1)),
        "UC042": at("B", data(1), 100, ack(1, 1), data(2), 330, ack(2, 2), rules="document"),
        "UC045": at("B", repaired, [data(n) for n in range(2, 20)], TICK, ack(20, 2), needless),
        "UC047": at(
            "B", u.view("ABC", 1), data(1), TICK, ack(1, 1), u.view("BC", 2), 1200, data(2), TICK,
            ack(2, 2),
        ),
    }  # fmt: skip
