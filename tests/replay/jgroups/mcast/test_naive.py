"""The engine against the naive models, on stories that nobody would write by hand (CONTRIBUTING.md
4)."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.replay.builders import (
    A,
    B,
    C,
    D,
    Heard,
    Step,
    ack,
    heard,
    highest,
    join_rsp,
    msg,
    view,
    xmit_req,
    xmit_rsp,
)
from tests.replay.jgroups.mcast.naive import NaiveReceiver, NaiveSender

Told = tuple[str, int, int, bool]  # what, seqno, one more number, a flag

TOP = 24
seqnos = st.integers(1, TOP)
RECEIVED = st.lists(
    st.one_of(
        st.tuples(st.just("msg"), seqnos, st.integers(1, 6), st.just(False)),
        # OOB messages one by one: those of a list are delivered together, before what they free.
        st.tuples(st.just("msg"), seqnos, st.just(1), st.booleans()),
        st.tuples(st.just("xmit_rsp"), seqnos, st.integers(1, 3), st.just(False)),
        st.tuples(st.just("request"), seqnos, st.integers(0, 255), st.just(False)),
        st.tuples(st.just("highest"), seqnos, st.just(0), st.just(False)),
        st.tuples(st.just("ack"), seqnos, st.just(0), st.just(False)),
        st.tuples(st.just("pause"), st.sampled_from([50, 300, 600]), st.just(0), st.just(False)),
    ),
    max_size=30,
)


def expand(ranges: list[list[int]]) -> list[int]:
    """The seqnos of inclusive ranges."""
    return [seqno for first, last in ranges for seqno in range(first, last + 1)]


def told_outcomes(told: Heard) -> dict[int, str]:
    """seqno -> how it ended, from the gap rows."""
    return {seqno: outcome for outcome, ranges in told.gaps() for seqno in expand(ranges)}


@settings(max_examples=100)
@given(RECEIVED, st.one_of(st.none(), st.integers(1, 8)), st.integers(0, 4))
@example([("highest", 2, 0, False), ("msg", 2, 2, False), ("request", 2, 0, False)], None, 0)
@example(
    [
        ("msg", 1, 2, False),
        ("highest", 2, 0, False),
        ("pause", 50, 0, False),
        ("request", 1, 1, False),
        ("request", 2, 0, False),
        ("msg", 1, 2, False),
    ],
    None,
    0,
)
@example([("pause", 600, 0, False)] * 4 + [("request", 2, 2, False)], None, 0)
@example(
    [
        ("highest", 2, 0, False),
        ("pause", 900, 0, False),
        ("msg", 2, 2, False),
        ("pause", 600, 0, False),
    ],
    1,
    0,
)
@example([*[("pause", 600, 0, False)] * 4, ("request", 2, 2, False), ("msg", 1, 1, True)], None, 0)
@example([*[("pause", 600, 0, False)] * 4, ("request", 2, 2, False), ("msg", 1, 2, False)], None, 0)
def test_the_receiver_agrees_with_the_naive_one(
    story: list[Told], capacity: int | None, digest: int
) -> None:
    """C multicasts all the while, so that no merge is missed."""
    naive = NaiveReceiver(digest, capacity, interval_ms=500)
    steps: list[Step] = [join_rsp("ABC", 2, digest={"A": (digest, digest)})]
    now_ms = 1
    arrivals = 0
    for number, (what, seqno, more, flag) in enumerate(story, 1):
        if what == "pause":
            steps.append(seqno)
            now_ms += seqno
            continue
        if what in ("request", "ack"):
            steps.append(msg(number, by=C))
            now_ms += 1
        now_ms += 1
        naive.event(now_ms)
        if what == "msg":
            steps.append(msg(seqno, seqno + more - 1, oob=flag))
            for one in range(seqno, seqno + more):
                naive.message(one, now_ms, oob=flag)
            arrivals += more
        elif what == "xmit_rsp":
            steps.append(xmit_rsp(seqno, seqno + more - 1))
            for one in range(seqno, seqno + more):
                naive.message(one, now_ms, repair=True)
            arrivals += more
        elif what == "request":
            wanted = {seqno} | {seqno + bit for bit in range(8) if more >> bit & 1}
            steps.append(xmit_req(*wanted))
            naive.request(wanted, now_ms)
        elif what == "highest":
            steps.append(highest(seqno))
            naive.highest(seqno, now_ms)
        else:
            steps.append(ack(seqno))
            naive.ack(seqno, now_ms)
    naive.end(now_ms + 1)
    given_ = {} if capacity is None else {"capacity": capacity}
    told = heard("B", *steps, highest(1, by=C), **given_)
    if not any(r.stream == "lab|A" and r.kind == "STREAM" for r in told.results):
        assert not naive.arrived and not naive.missing
        return
    receiver = told.engine.streams["lab|A"].receiver
    if receiver is None:
        assert not naive.arrived and not naive.missing
        return
    row = told.stream()
    order = [seqno for a, b in receiver.delivery.ranges for seqno in range(a, b)]
    assert order == naive.delivered
    doubted = receiver.ways.repaired(unasked=False) | receiver.ways.yet  # not lost, perhaps
    outcomes = {
        seqno: "recovered or late" if outcome == "recovered" and seqno in doubted else outcome
        for seqno, outcome in naive.outcome.items()
    }
    assert told_outcomes(told) == outcomes
    ended = {w: sorted(s for s, o in naive.outcome.items() if o == w) for w in
             ("recovered", "unrecovered", "reordered", "recovered or late",
              "repaired, not captured")}  # fmt: skip
    lost = sorted(ended["recovered"] + ended["unrecovered"] + ended["repaired, not captured"])
    lost = [seqno for seqno in lost if seqno not in doubted]
    drops = receiver.lacks_messages() and receiver.asked_though_come()
    assert expand(row["lost_seqnos"]) == ([] if row["dropped_inside"] or drops else lost)
    assert expand(row["unrecovered_seqnos"]) == ended["unrecovered"]
    assert (row["recovered"], row["reordered"], row["recovered_or_late"]) == (
        len(ended["recovered"]) + len(ended["repaired, not captured"]),
        len(ended["reordered"]),
        len(ended["recovered or late"]),
    )
    assert row["outside_window"] == len(naive.outside)
    assert row["arrivals"] == arrivals
    sorted_copies = sum(row["retransmissions"].values()) - len(ended["recovered"])
    assert sorted_copies - len(ended["recovered or late"]) == naive.copies


SENT = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 5), st.just(0), st.just(False)),
        st.tuples(st.just("send"), st.just(1), st.just(0), st.booleans()),
        st.tuples(st.just("ack"), st.integers(0, 2), st.integers(0, 6), st.just(False)),
        st.tuples(st.just("ack"), st.integers(0, 2), st.integers(0, 6), st.just(False)),
        st.tuples(st.just("view"), st.integers(0, 7), st.just(0), st.just(False)),
        st.tuples(st.just("resend"), st.integers(1, 6), st.just(0), st.just(False)),
        st.tuples(
            st.just("pause"), st.sampled_from([5, 17, 18, 19, 60]), st.just(0), st.just(False)
        ),
    ),
    max_size=40,
)


@settings(max_examples=100)
@given(SENT, st.integers(1, 8))
@example([("view", 4, 0, False), *[("send", 2, 0, False), ("ack", 2, 0, False)] * 2,
          ("send", 2, 0, False), ("ack", 2, 0, False), ("send", 1, 0, False)], 1)  # fmt: skip
def test_the_sender_agrees_with_the_naive_one(story: list[Told], capacity: int) -> None:
    """``seqno`` of an ACK is told as its distance below the highest sent."""
    naive = NaiveSender(capacity)
    steps: list[Step] = []
    now_ms = 0
    number = 1
    next_seqno = 1

    def install(members: str) -> None:
        nonlocal now_ms, number, next_seqno
        # Far from everything else: a view explains no message that was sent well before it.
        steps.extend([200, view("A" + members, number, next_seqno), 200])
        now_ms += 201
        naive.view(set(members), now_ms)
        naive.send(next_seqno, now_ms)
        now_ms += 200
        number, next_seqno = number + 1, next_seqno + 1

    install("BC")
    for what, one, two, skip in story:
        if what == "pause":
            steps.append(one)
            now_ms += one
            continue
        if what == "view":
            install("".join(m for bit, m in enumerate((B, C, D)) if one >> bit & 1))
            continue
        now_ms += 1
        if what == "send":
            first = next_seqno + (1 if skip else 0)  # a later thread was faster
            steps.append(msg(first, first + one - 1))
            for seqno in range(first, first + one):
                naive.send(seqno, now_ms)
            next_seqno = first + one
            if skip:
                now_ms += 1
                steps.append(msg(first - 1))
                naive.send(first - 1, now_ms)
        elif what == "resend":
            seqno = max(naive.high - one, 1)
            steps.append(msg(seqno))
            naive.send(seqno, now_ms)
        else:
            member, seqno = (B, C, D)[one], max(naive.high - two, 0)
            steps.append(ack(seqno, by=member))
            naive.ack(member, seqno, now_ms)
    told = heard(A, *steps, capacity=capacity)
    model = told.engine.streams["lab|A"].sender_model
    assert model is not None
    assert (model.low, model.high, model.ignored_acks) == (naive.low, naive.high, naive.ignored)
    assert model.max_outstanding == (naive.most or None)
    assert (model.overrun is not None) == naive.overrun
    found = [(s.filled_by, s.raised_by, s.proven) for s in model.stalls()]
    assert found == naive.stalls
