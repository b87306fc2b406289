"""One zenoh session through decoder and engine, made of bytes (zenoh.md 6, 9, 11)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.decoders.zenoh import kernels as wire
from seqaudit.decoders.zenoh.batches import BatchDecoder, Batches
from seqaudit.decoders.zenoh.messages import read, zid_text
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import Given
from seqaudit.replay.contract.results import ACCOUNT, FINDING, GAP, QUERY, STREAM, Result
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.zenoh.document import passed_on
from seqaudit.replay.zenoh.engine import ZenohEngine
from seqaudit.replay.zenoh.findings import results
from seqaudit.replay.zenoh.hops import initial_sn
from seqaudit.replay.zenoh.query import Sort
from seqaudit.replay.zenoh.reasons import (
    COMING,
    CUT_SHORT,
    EARLY,
    LEAVING,
    LEFT_BEFORE,
    LEFT_UNSEEN,
    MAY_HAVE_LEFT,
    NOBODY,
    SEVERAL,
    UNDECLARED,
    UNJOINED,
)
from tests.decoders.zenoh import builders as z

ZID = zid_text(z.ZID)
SUBSCRIBER_ZID = bytes(range(33, 49))
SECOND = 1_000_000_000
AT_SUBSCRIBER = Vantage("member", "10.77.0.2", "given", "")
SUFFIX = f"/@adv/*/{ZID}/6/**"
TOKEN = f"demo/sensor/@adv/pub/{ZID}/6/_"


class Session:
    """A session of publisher (10.77.0.1) and subscriber, message by message, one a frame."""

    def __init__(self, *, opened: bool = True, cache: bool = True) -> None:
        self.payloads: list[bytes] = []
        self.back: list[int] = []
        self.times: list[float] = []
        self.cut: dict[int, int] = {}  # message -> bytes that snap length cut off
        self.quotes: list[int] = []  # messages that ICMP quotes
        self.ids: dict[int, int] = {}  # message -> IP id
        self.sns = {False: 10, True: 500}
        self.now = 0.0
        if opened:
            self.raw(z.init()).raw(z.init(SUBSCRIBER_ZID, ack=True), back=True)
            self.raw(z.opened(10)).raw(z.opened(500, ack=True), back=True)
            self.publisher(z.declare(0, 1, 0, "demo/sensor"))
            if cache:
                self.publisher(z.declare(4, 2, 0, TOKEN))
            self.subscriber(z.declare(2, 1, 1, own=False))

    def raw(self, payload: bytes, *, back: bool = False) -> "Session":
        if back:
            self.back.append(len(self.payloads))
        self.payloads.append(payload)
        self.now += 0.01
        self.times.append(self.now)
        return self

    def publisher(self, *messages: bytes) -> "Session":
        self.sns[False] += 1
        return self.raw(z.frame(self.sns[False] - 1, *messages))

    def subscriber(self, *messages: bytes) -> "Session":
        self.sns[True] += 1
        return self.raw(z.frame(self.sns[True] - 1, *messages), back=True)

    def put(self, *sns: int) -> "Session":
        for sn in sns:
            self.publisher(z.push(z.put(sn)))
        return self

    def lose(self) -> "Session":
        self.sns[False] += 1
        return self

    def wait(self, seconds: float) -> "Session":
        self.now += seconds
        return self

    def idle(self, seconds: float) -> "Session":
        """Both ends only say that they live."""
        until = self.now + seconds
        while until - self.now > 1.0:
            self.wait(min(2.4, until - self.now - 0.5)).raw(b"\x04").raw(b"\x04", back=True)
        return self.wait(until - self.now)

    def ask(self, number: int, parameters: str, suffix: str = SUFFIX) -> "Session":
        return self.subscriber(z.request(number, suffix, parameters))

    def unreachable(self, ago: int = 1) -> "Session":
        """The other end's host answers that nobody listens there, and quotes what came."""
        self.quotes.append(len(self.payloads))
        return self.raw(self.payloads[-ago], back=len(self.payloads) - ago in self.back)

    def heartbeat(self, sn: int) -> "Session":
        return self.publisher(z.push(b"\x01\x04" + sn.to_bytes(4, "little"), 0, TOKEN))

    def played(
        self,
        vantage: Vantage = AT_SUBSCRIBER,
        given: Mapping[str, Given] | None = None,
        chunk: int = 0,
        refused: int = 0,
        copies: int = 0,
        transport: str = "udp",
        ended: str | None = None,
    ) -> tuple[ZenohEngine, list[Result]]:
        batches = z.batches(self.payloads, back=self.back)
        times = [round(at * 1000) * 1_000_000 for at in self.times]
        for place, size in self.cut.items():
            batches.stop[place] -= size
        batches.at_ns = np.array(times, np.int64)
        batches.ip_id[list(self.ids)] = list(self.ids.values())
        batches.flags[len(times) - refused :] = Flag.REFUSED
        batches.flags[len(times) - copies :] |= Flag.NETWORK_DUPLICATE
        batches.flags[self.quotes] = Flag.REFUSED
        found = []
        if self.quotes:  # they are decoded by themselves
            said = np.isin(np.arange(batches.count), self.quotes)
            for own in (said, ~said):
                found += BatchDecoder().decode(part(batches, own))[0]
        elif chunk:  # pieces of a capture, each with a decoder of its own
            for at in range(0, batches.count, chunk):
                found += BatchDecoder().decode(part(batches, slice(at, at + chunk)))[0]
        else:
            found += BatchDecoder().decode(batches)[0]
        rows = [row for batch in found for row in batch.to_pylist()]
        rows.sort(key=lambda row: (row["frame"], row["index"]))
        ends = "10.77.0.1:40000", "10.77.0.2:7000"
        for way in (ends, ends[::-1]) if ended else ():
            told = {"kind": int(Kind.NOTICE), "wire_kind": "END"}
            told |= {"source": way[0], "destination": way[1]}
            rows.append(rows[-1] | told | {"detail": json.dumps({"how": ended, "since": 0})})
        name = f"zenoh|{transport}|10.77.0.1:40000|10.77.0.2:7000"
        engine = ZenohEngine(name, given or {}, vantage, read)
        for row in rows:
            engine.feed(event(row))
        engine.close()
        return engine, results(engine, 0, int(self.now * SECOND))


class Group:
    """Members of a multicast group, 10.77.0.1 and 10.77.0.2; both sent their Join."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self.back: list[int] = []
        self.waits: list[tuple[int, int]] = []
        self.sns = [10, 500]
        self.raw(1, z.join(500, 20, SUBSCRIBER_ZID)).raw(0, z.join(10, 20))

    def raw(self, member: int, payload: bytes) -> "Group":
        if member:
            self.back.append(len(self.payloads))
        self.payloads.append(payload)
        return self

    def wait(self, seconds: float) -> "Group":
        self.waits.append((len(self.payloads), round(seconds * SECOND)))
        return self

    def say(self, member: int, *messages: bytes) -> "Group":
        self.sns[member] += 1
        return self.raw(member, z.frame(self.sns[member] - 1, *messages))

    def put(self, *sns: int, key: str = "demo/sensor") -> "Group":
        for sn in sns:
            self.say(0, z.push(z.put(sn), 0, key))
        return self

    def subscribe(self, key: str) -> "Group":
        return self.say(1, z.declare(2, 0, 0, key))

    def streams(self) -> list[Mapping[str, Any]]:
        details = [r.detail for r in self.played() if r.kind == STREAM]
        return [detail for detail in details if detail["kind"] == "samples"]

    def played(self) -> list[Result]:
        batches = z.batches(self.payloads, back=self.back)
        batches.hosts = ["10.77.0.1", "10.77.0.2", "224.0.0.225"]
        for place, waited_ns in self.waits:
            batches.at_ns[place:] += waited_ns
        batches.destination[:] = 2
        batches.destination_port[:] = 7448
        found, _ = BatchDecoder().decode(batches)
        rows = [row for batch in found for row in batch.to_pylist()]
        engine = ZenohEngine("zenoh|udp|224.0.0.225:7448", {}, AT_SUBSCRIBER, read)
        for row in sorted(rows, key=lambda row: (row["frame"], row["index"])):
            engine.feed(event(row))
        engine.close()
        return results(engine, 0, SECOND)


def told(streams: Sequence[Mapping[str, Any]]) -> list[tuple[str | None, Any]]:
    return [(row["subscriber"], row["delivered"]) for row in streams]


def part(batches: Batches, rows: slice | npt.NDArray[np.bool]) -> Batches:
    """Some of the batches, as another piece would have them."""
    columns = {
        field.name: getattr(batches, field.name)[rows]
        for field in fields(batches)
        if isinstance(getattr(batches, field.name), np.ndarray)
    }
    return replace(batches, **columns)


def event(row: Mapping[str, Any]) -> Event:
    fields = {
        name: row[name]
        for name in (
            "frame", "index", "last_frame", "at_ns", "last_at_ns", "system", "stream", "source",
            "destination", "wire_kind", "seqno", "stop_seqno", "count", "conn_id", "stamp", "size",
            "fresh_id", "last_fresh_id", "detail",
        )
    }  # fmt: skip
    return Event(kind=Kind(row["kind"]), flags=Flag(row["flags"]), **fields)


def stream(found: Sequence[Result], kind: str = "samples") -> Mapping[str, Any]:
    (row,) = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == kind]
    return row


def causes(row: Mapping[str, Any]) -> list[str]:
    """Of all misses, in order."""
    return [cause["cause"] for miss in row["misses"] for cause in miss["causes"]]


def rules(found: Sequence[Result]) -> set[str]:
    return {str(r.rule) for r in found if r.kind == FINDING}


def answered(session: Session, number: int, *sns: int) -> Session:
    return session.publisher(*(z.response(number, z.put(sn)) for sn in sns), z.final(number))


def test_a_gap_is_asked_for_answered_and_told() -> None:
    session = Session().put(0, 1).lose().put(3).ask(1, "_sn=2..;_anyke")
    _, found = answered(session, 1, 2, 3).put(4).played()
    row = stream(found)
    assert row["delivered"] == [[0, 4]]
    assert (row["recovered"], row["unrecovered"], row["repeats"]) == (1, 0, 1)
    assert (row["key"], row["subscriber"], row["source"]) == (
        "demo/sensor", "demo/sensor", f"{ZID}/6",
    )  # fmt: skip
    assert (row["sender"], row["receiver"]) == (ZID, zid_text(SUBSCRIBER_ZID))
    (query,) = [r.detail for r in found if r.kind == QUERY]
    assert (query["sort"], query["first_seqno"], query["replies"]) == (Sort.RECOVERY, 2, 2)
    assert (query["outcome"], query["recovered"], query["caches"]) == (
        "answered", 1, [f"{ZID}/7"],
    )  # fmt: skip
    assert rules(found) == {"ZN001", "ZN005", "ZN008"}
    (again,) = [r.detail for r in found if r.rule == "ZN008" and "facts" in r.detail]
    assert again["facts"]["times"] == 1


@pytest.mark.parametrize(
    ("replies", "cause"),
    [([4, 5], "evicted: the cache is too small"), ([2, 5], "no cache had them")],
)
def test_causes_of_what_an_answer_leaves_missing(replies: list[int], cause: str) -> None:
    session = Session().put(0, 1).lose().lose().lose().put(5).ask(1, "_sn=2..")
    engine, found = answered(session, 1, *replies).played(given={"zenoh.cache_depth": (2, "given")})
    assert set(causes(stream(found))) == {cause}
    (query,) = engine.queries.all
    assert "ZN002" in rules(found)
    assert query.evicted is not None


def test_a_query_that_nobody_sent() -> None:
    """A cache may be declared in a frame that is missing on the same counter."""
    for cache in (False, True):
        _, found = Session(cache=cache).put(0).lose().put(2).wait(3).put(3).played()
        (miss,) = stream(found)["misses"]
        assert (causes(stream(found)), miss["nb"]) == (["not asked"], 1)


@pytest.mark.parametrize("asked", [False, True])
def test_what_snap_length_cut_off_may_have_brought_what_is_missing(asked: bool) -> None:
    session = Session().put(0).lose().put(2)
    if asked:
        session.ask(1, "_sn=1..")
    session.publisher(z.response(1, z.put(1)))
    session.cut[len(session.payloads) - 1] = 30
    if asked:
        session.publisher(z.final(1))
    _, found = session.wait(3).put(3).played()
    row = stream(found)
    assert (row["delivered"], row["misses"], row["lost"]) == (None, None, None)
    assert row["unknown"]["delivered"].startswith("samples may be among what is cut off")
    (said,) = [r.detail for r in found if r.rule == "ZN002" and r.kind == FINDING]
    assert (said["certainty"], said["severity"]) == ("cannot be told", "info")


def test_a_frame_that_snap_length_cut_off_counts_where_its_session_is_zenoh() -> None:
    for sample in (True, False):
        session = Session(opened=False)
        if sample:
            session.put(0)
        session.publisher(z.push(b"\x01" + z.sized(b"x" * 40), 0, "demo/other"))
        session.cut[len(session.payloads) - 1] = 45
        _, found = session.played()
        accounts = [r.detail["frames_by"] for r in found if r.kind == ACCOUNT]
        assert accounts == ([{"decoded": 0, "truncated": 1, "other": -1}] if sample else [])


def test_what_was_cut_off_before_or_after_a_subscriber_lived_is_nothing_of_it() -> None:
    session = Session().put(0, 1).wait(0.2)
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1))
    session.publisher(z.push(z.put(2)), z.push(z.put(3)))
    session.cut[len(session.payloads) - 1] = 45
    _, found = session.played()
    (row,) = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    assert row["delivered"] == [[0, 1]]


@pytest.mark.parametrize(
    ("qos", "closed", "promised"), [(13, False, True), (5, False, False), (13, True, False)]
)
def test_a_loss_although_all_is_block_and_reliable_and_no_session_ended(
    qos: int, closed: bool, promised: bool
) -> None:
    session = Session()
    for sn in (0, 1, 3):
        if sn == 3:
            session.lose()
        session.publisher(z.push(z.put(sn), qos=qos))
    if closed:
        session.raw(b"\x03\x00")
    _, found = session.played()
    assert ("ZN007" in rules(found)) is promised
    if promised:
        (said,) = [r.detail for r in found if r.rule == "ZN007" and r.kind == FINDING]
        assert said["facts"]["where"] == "on this link"


def test_the_end_of_the_session_ends_queries() -> None:
    session = Session().put(0).lose().put(2).ask(1, "_sn=1..").raw(b"\x03\x00")
    assert causes(stream(session.played()[1])) == ["publisher gone"]


@pytest.mark.rule("zenoh S22")
@pytest.mark.parametrize(("lost", "cause"), [(0, "query lost"), (1, "reply lost")])
def test_a_timeout_ends_the_query(lost: int, cause: str) -> None:
    session = Session().put(0).lose().put(2).ask(1, "_sn=1..")
    for _ in range(lost):
        session.lose()
    _, found = session.put(3).idle(11).put(4).played()
    row = stream(found)
    assert row["delivered"] == [[0, 0], [2, 4]]
    assert cause in causes(row)[0]
    assert row["longest_wait_ns"] == 10 * SECOND + 10_000_000
    assert {"ZN002", "ZN013", "ZN014"} <= rules(found)


@pytest.mark.rule("zenoh S22")
def test_no_frame_shows_what_a_timeout_hands_on() -> None:
    session = Session().put(0).lose().put(2).lose().put(4).ask(1, "_sn=1..")
    _, found = session.publisher(z.response(1, z.put(3))).idle(10.5).put(5).played()
    row = stream(found)
    (gap,) = (r.detail for r in found if r.kind == GAP and r.detail["seqnos"] == [[3, 3]])
    assert (row["waits"][0]["released_frame"], row["misses"][0]["frame"]) == (None, None)
    assert (gap["delivered_frame"], gap["delivered_after_ns"]) == (None, None)
    assert gap["waited_ns"] == 10 * SECOND + 10_000_000
    (step,) = (step for step in gap["heard"] if step["step"] == "handed on")
    assert step["at_ns"] == row["misses"][0]["at_ns"] == gap["revealed_at_ns"] + gap["waited_ns"]
    (waited,) = (r.detail for r in found if r.rule == "ZN014" and r.kind == FINDING)
    assert "whose time was up" in waited["evidence"][1]["shows"]


@pytest.mark.rule("zenoh S23")
def test_a_late_publisher_is_asked_for_its_history() -> None:
    session = Session().ask(1, "_max=8", suffix="").publisher()
    session.payloads[-2] = z.frame(501, z.request(1, TOKEN, "_max=8", scope=0))
    engine, found = answered(session, 1, 3, 4).put(5).played()
    assert engine.queries.all[0].sort is Sort.LATE
    assert stream(found)["delivered"] == [[3, 5]]


def test_the_query_for_a_late_publisher_is_of_the_subscriber_that_has_nothing_of_it_yet() -> None:
    session = Session().put(0, 1).subscriber(z.declare(2, 2, 0, "demo/*", own=False))
    session.subscriber(z.request(1, TOKEN, "_max=8", scope=0)).publisher(z.final(1)).put(2)
    _, found = session.played()
    rows = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    assert {row["subscriber"]: row["control"]["queries"] for row in rows} == {
        "demo/*": 1, "demo/sensor": 0
    }  # fmt: skip


@pytest.mark.rule("zenoh S25")
def test_a_restarted_publisher_is_another_source() -> None:
    session = Session().put(7, 8)
    session.publisher(z.push(z.put(0, eid=8))).publisher(z.push(z.put(1, eid=8)))
    _, found = session.played()
    rows = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    assert [(row["source"], row["delivered"]) for row in rows] == [
        (f"{ZID}/6", [[7, 8]]), (f"{ZID}/8", [[0, 1]]),
    ]  # fmt: skip


@pytest.mark.rule("zenoh S26")
@pytest.mark.parametrize(
    ("idle", "token", "missed"),
    [(3599, False, [[2, 4]]), (3601, False, []), (3601, True, [[2, 4]])],
)
def test_an_idle_source_is_forgotten_unless_a_token_keeps_it(
    idle: float, token: bool, missed: list[list[int]]
) -> None:
    session = Session()
    if token:
        session.publisher(z.declare(6, 3, 0, TOKEN))
    _, found = session.put(0, 1).idle(idle).put(5).wait(2).put(6).played()
    row = stream(found)
    assert row["delivered"] == [[0, 1], [5, 6]]
    assert [miss["seqnos"][0] for miss in row["misses"]] == missed
    assert row["forgotten"] == (not missed)


@pytest.mark.rule("zenoh S28")
@pytest.mark.rule("zenoh S13")
def test_of_several_subscribers_each_gets_the_replies_to_its_own_query() -> None:
    session = Session().put(0).lose().put(2).ask(1, "_sn=1..").ask(2, "_sn=1..").ask(3, "_sn=1..")
    answered(session, 1, 1, 2)
    session.lose()  # the replies to the second query, and its final
    answered(session, 3, 1, 2)
    _, found = session.put(3).idle(11).put(4).played()
    row = stream(found)
    assert row["delivered"] == [[0, 4]]
    told = [
        (one["delivered"], [m["seqnos"][0] for m in one["misses"]]) for one in row["subscribers"]
    ]
    assert sorted(told) == [([[0, 0], [2, 4]], [[1, 1]]), ([[0, 4]], []), ([[0, 4]], [])]
    (said,) = [r.detail for r in found if r.rule == "ZN002" and r.kind == FINDING]
    assert "subscriber 2 of 3" in said["text"]


def test_periodic_queries_of_one_subscriber_are_no_further_subscribers() -> None:
    session = answered(Session().put(0).ask(1, "_sn=1.."), 1).put(1).lose().put(3)
    session.ask(2, "_sn=2..").ask(3, "_sn=2..")
    _, found = answered(answered(session, 2, 2, 3), 3, 2, 3).put(4).played()
    assert stream(found)["subscribers"] is None  # it got something back
    slow = Session().put(0).lose().put(2).ask(1, "_sn=1..").wait(0.2).ask(2, "_sn=1..")
    _, found = answered(answered(slow, 1, 1, 2), 2, 1, 2).played()
    assert stream(found)["subscribers"] is None


def test_subscribers_that_were_told_apart_stay_so_and_one_that_ends_is_given_up() -> None:
    session = Session().put(0).lose().put(2).ask(1, "_sn=1..").ask(2, "_sn=1..")
    answered(answered(session, 1, 1, 2), 2, 1, 2)
    session.lose().put(4).ask(3, "_sn=3..").ask(4, "_sn=3..")
    answered(answered(session, 3, 3, 4), 4, 3, 4)
    session.lose().put(6).ask(5, "_sn=5..")  # one of them alone
    _, found = answered(session, 5, 5, 6).wait(3).put(7).played()
    row = stream(found)
    assert [one["delivered"] for one in row["subscribers"]] == [[[0, 7]], [[0, 4]]]
    assert rules(found) & {"ZN002"} == set()


@pytest.mark.rule("zenoh S29")
def test_numbers_that_ros_2_puts_into_attachments_show_what_is_missing() -> None:
    session = Session()
    for number in (1, 2, 5, 6):
        session.publisher(z.push(z.ros_put(number)))
    _, found = session.wait(2).publisher(z.push(z.ros_put(7))).played()
    row = stream(found)
    assert (row["source"], row["delivered"]) == (f"{z.ZID[::-1].hex()}/ros", [[1, 2], [5, 7]])
    assert (row["unrecovered_seqnos"], row["lost"]) == ([[3, 4]], 2)
    (said,) = [r.detail for r in found if r.rule == "ZN002" and r.kind == FINDING]
    assert "ROS 2" in said["text"] and "callback was due" not in json.dumps(said)
    assert "ZN012" not in rules(found)


@pytest.mark.rule("zenoh S1")
@pytest.mark.rule("zenoh D1")
def test_samples_without_source_info_are_counted_by_key_and_said() -> None:
    _, found = Session().publisher(z.push(z.put(None))).publisher(z.push(z.put(None))).played()
    row = stream(found, "samples without SourceInfo")
    assert (row["key"], row["messages"], row["delivered"]) == ("demo/sensor", 2, None)
    assert "ZN012" in rules(found)


@pytest.mark.rule("zenoh S2")
def test_stamped_samples_are_ordered_by_clock() -> None:
    session = Session()
    for stamp in (5, 7, 6, 7):
        body = b"\x21" + z.zint(stamp) + z.sized(z.ZID) + z.sized(b"x")
        session.publisher(z.push(body))
    row = stream(session.played()[1], "samples without SourceInfo")
    assert (row["stamped"], row["out_of_order"]) == (4, 2)


def test_a_heartbeat_shows_lost_last_samples() -> None:
    session = Session().put(0, 1).lose().lose().heartbeat(3)
    session.subscriber(z.request(1, TOKEN, "_sn=2..3", scope=0))
    engine, found = answered(session, 1, 2, 3).played()
    assert engine.queries.all[0].sort is Sort.HEARTBEAT
    assert (stream(found)["delivered"], stream(found)["recovered"]) == ([[0, 3]], 2)
    _, found = Session().put(0, 1).lose().lose().heartbeat(3).wait(3).put().played()
    told = [row.detail["seqnos"] for row in found if row.rule == "ZN003" and row.kind == "FINDING"]
    assert told == [[[2, 3]]]


@pytest.mark.rule("zenoh S16")
def test_a_heartbeat_of_who_published_nothing_yet_tells_of_no_sample() -> None:
    """zenoh-pico's is one below 0, and its subscriber asks for all up to there."""
    none = 2**32 - 1
    session = Session().heartbeat(none).ask(1, f"_sn=..{none}", TOKEN)
    _, found = answered(session, 1).wait(0.5).put(0, 1).heartbeat(1).wait(3).played()
    row = stream(found)
    assert (row["heartbeats"], row["heartbeat_highest"], row["delivered"]) == (2, 1, [[0, 1]])
    assert (row["lost"], rules(found) & {"ZN003", "ZN022", "ZN025"}) == (0, set())
    _, found = Session().heartbeat(none).put(0, 1).ask(1, f"_sn=..{none}", TOKEN).played()
    (query,) = [row.detail for row in found if row.kind == "QUERY"]
    assert query["last_seqno"] is None
    _, found = Session().heartbeat(none).wait(1).heartbeat(none).played()
    assert stream(found)["heartbeat_highest"] is None


def test_an_empty_periodic_query_and_control_traffic_without_loss() -> None:
    session = Session().put(0, 1).ask(1, "_sn=2..")
    _, found = answered(session, 1).put(2).played()
    assert rules(found) == {"ZN010", "ZN011"}


def test_a_query_whose_session_ended_was_not_answered_without_a_sample() -> None:
    """Recorded: its host had closed the socket, and answered the last of nine."""
    session = answered(Session().put(0, 1).ask(1, "_sn=2.."), 1).ask(2, "_sn=2..")
    session.raw(z.init()).raw(z.init(SUBSCRIBER_ZID, ack=True).replace(b"c" * 49, b"d" * 49))
    engine, found = session.played()
    (told,) = (row for row in found if row.rule == "ZN010" and row.kind == "FINDING")
    assert ([query.gone for query in engine.queries.all], told.detail["facts"]["times"]) == (
        [False, True], 1,
    )  # fmt: skip


def test_a_storm() -> None:
    session = Session().put(0).lose().put(2)
    for number in range(20):
        session.ask(number, "_sn=1..")
    for number in range(20):
        answered(session, number, 1, 2)
    _, found = session.played()
    assert "ZN009" in rules(found)
    assert stream(found)["delivered"] == [[0, 2]]


def test_periodic_queries_that_repeat_what_one_subscriber_misses_are_no_storm() -> None:
    session = Session().put(0).lose().put(2)
    for number in range(30):
        session.ask(number, "_sn=1..").wait(0.2)
    assert "ZN009" not in rules(session.played()[1])


def test_the_initial_history_comes_before_live_samples() -> None:
    session = Session().ask(1, "_max=3", suffix="/@adv/**").put(9)
    engine, found = answered(session, 1, 7, 8, 9).put(10).played()
    assert engine.queries.all[0].sort is Sort.HISTORY
    assert stream(found)["delivered"] == [[7, 10]]


def test_samples_lost_without_a_transport_gap_were_dropped_before_it() -> None:
    session = Session().put(0, 1, 5).ask(1, "_sn=2..")
    _, found = answered(session, 1, 2, 3, 4, 5).played()
    assert {"ZN001", "ZN004"} <= rules(found)
    assert "ZN005" not in rules(found)


def places(found: Sequence[Result]) -> list[Any]:
    return [r.detail["where"] for r in found if r.kind == GAP and "where" in r.detail]


def test_each_gap_says_where_its_samples_were_lost() -> None:
    session = Session().put(0, 1).lose().put(3).ask(1, "_sn=2..")
    session = answered(session, 1, 2, 3).put(5).ask(2, "_sn=4..")
    session = answered(session, 2, 4, 5)
    late = z.frame(session.sns[False], z.push(z.put(6)))
    session.lose().put(7).raw(late).ask(3, "_sn=6..")
    _, found = answered(session, 3, 6, 7).played()
    assert places(found) == [
        "on this link",
        "before the transport of this link",
        "thrown away by the receiving transport",
    ]


def test_a_repair_is_delivered_when_everything_before_it_is() -> None:
    session = Session().put(0).lose().lose().put(3).ask(1, "_sn=1..")
    session.publisher(z.response(1, z.put(2))).publisher(z.response(1, z.put(1)))
    _, found = session.publisher(z.final(1)).put(4).played()
    (gap,) = [r.detail for r in found if r.kind == GAP and "where" in r.detail]
    asked = gap["requested_frame"]
    assert (gap["repaired_frame"], gap["delivered_frame"]) == (asked + 2, asked + 2)


def test_samples_that_waited_behind_a_gap_are_named() -> None:
    session = Session().put(0).lose().put(2, 3).ask(1, "_sn=1..").put(4).wait(2)
    _, found = answered(session, 1, 1, 2, 3, 4).played()
    (gap,) = [r.detail for r in found if r.kind == GAP and "where" in r.detail]
    assert gap["repaired_frame"] == gap["delivered_frame"] == gap["requested_frame"] + 2
    (wait,) = stream(found)["waits"]
    assert (wait["seqnos"], wait["count"], wait["waited_ns"]) == ([[2, 4]], 3, 2_040_000_000)
    (said,) = [r.detail for r in found if r.rule == "ZN014" and r.kind == FINDING]
    assert (said["seqnos"], said["facts"]["waited"]) == ([[2, 4]], 3)


def test_a_late_frame_is_thrown_away_with_its_sample() -> None:
    session = Session().put(0)
    late = z.frame(session.sns[False], z.push(z.put(1)))
    session.lose().put(2).raw(late).ask(1, "_sn=1..")
    _, found = answered(session, 1, 1, 2).played()
    row = stream(found)
    assert (row["delivered"], row["discarded"], row["recovered"]) == ([[0, 2]], 1, 1)
    assert "ZN006" in rules(found)


def certainty(found: list[Result], rule: str) -> set[str]:
    return {r.detail["certainty"] for r in found if r.kind == FINDING and r.rule == rule}


def test_a_copy_that_the_capturing_machine_may_have_made_proves_nothing_of_the_transport() -> None:
    session = Session().put(0)
    session.raw(z.frame(session.sns[False] - 1, z.push(z.put(0))))
    _, found = session.played(copies=1)
    assert certainty(found, "ZN006") == {"likely"}
    texts = [r.detail["text"] for r in found if r.kind == FINDING and r.rule == "ZN006"]
    assert any("from the network or from the capturing machine" in text for text in texts)


def test_what_is_missing_where_it_is_sent_may_be_missed_by_the_capture() -> None:
    session = Session().put(0, 1).lose().put(3)
    assert certainty(session.played()[1], "ZN005") == {"likely"}
    at_publisher = Vantage("member", "10.77.0.1")
    assert certainty(session.played(at_publisher)[1], "ZN005") == {"cannot be told"}


def test_fragments_are_one_sample() -> None:
    message = z.push(z.put(1, b"x" * 5000))
    session = Session().put(0)
    for piece, more, first in ((message[:2000], True, True), (message[2000:], False, False)):
        session.raw(z.fragment(session.sns[False], piece, more=more, first=first))
        session.sns[False] += 1
    session.lose().put(2)  # one sn is skipped after the last fragment
    _, found = session.played()
    assert stream(found)["delivered"] == [[0, 2]]
    assert rules(found) == set()
    (account,) = [r.detail for r in found if r.kind == ACCOUNT]
    assert account["messages_by"] == {"zenoh": {"OpenAck": 1, "OpenSyn": 1, "Frame": 3} | {
        "Fragment": 2, "declare.keyexpr": 1, "declare.queryable": 1, "declare.subscriber": 1,
        "push": 1,
    }}  # fmt: skip
    assert account["frames_by"] == {"decoded": 7, "other": -7}


def test_a_first_fragment_that_came_twice_is_no_sample() -> None:
    """Its second fragment was lost. The copy is the network's, and is counted as such."""
    session = Session().put(0)
    message = z.push(z.put(1, b"x" * 90))
    first = z.fragment(session.sns[False], message[:60], more=True, first=True)
    engine, found = session.raw(first).raw(first).played(copies=1)
    assert stream(found)["live"] == [[0, 0]]
    (row,) = (r.detail for r in found if r.kind == STREAM and r.detail.get("copies"))
    figures = [row[name] for name in ("copies", "network_duplicates", "discarded")]
    assert (row["kind"], *figures) == ("transport", 1, 1, 1)
    assert rules(found) == {"ZN006"}  # of the frame; no sample was thrown away
    assert engine.link.held.size == 0


def test_a_fragmented_sample_that_came_twice_is_a_sample_and_a_copy_of_it() -> None:
    session = Session().put(0)
    pieces(session, z.push(z.put(1, b"x" * 90)), 60)
    whole = session.payloads[-2:]
    _, found = session.raw(whole[0]).raw(whole[1]).played(copies=2)
    row = stream(found)
    assert (row["delivered"], row["copies"], row["network_duplicates"]) == ([[0, 1]], 1, 1)


def test_a_fragmented_sample_of_which_a_piece_came_late_is_thrown_away_as_a_whole() -> None:
    session = Session().put(0)
    pieces(session, z.push(z.put(1, b"x" * 90)), 40)
    session.payloads[-2:] = session.payloads[:-3:-1]
    session.put(2).ask(1, "_sn=1..")
    _, found = answered(session, 1, 1, 2).played()
    row = stream(found)
    assert (row["delivered"], row["discarded"], row["recovered"]) == ([[0, 2]], 1, 1)
    assert "ZN006" in rules(found)


def pieces(session: Session, message: bytes, size: int, *, first: bool = True) -> Session:
    """A message in fragments of so many bytes."""
    for at in range(0, len(message), size):
        more = at + size < len(message)
        piece = z.fragment(
            session.sns[False], message[at : at + size], more=more, first=first and at == 0
        )
        session.raw(piece)
        session.sns[False] += 1
    return session.lose()


@pytest.mark.rule("zenoh H15")
@given(st.integers(1, 80), st.booleans())
@settings(max_examples=20)
def test_a_message_is_put_together_from_pieces_of_any_size(size: int, batched: bool) -> None:
    session = Session().put(0)
    pieces(session, z.push(z.put(1, b"x" * 90), 0, "demo/sensor"), size)
    pieces(session, z.declare(2, 9, 0, "demo/other"), size)
    engine, found = session.put(2).played(chunk=3 if batched else 0)
    assert stream(found)["delivered"] == [[0, 2]]
    assert engine.unreadable == 0
    assert engine.declared.subscriptions["10.77.0.1:40000"] == {(9, None): "demo/other"}


def test_a_piece_that_is_lost_loses_the_message_and_what_was_kept_of_it() -> None:
    session = Session().put(0)
    pieces(session, z.push(z.put(1, b"x" * 90)), 10)
    del session.payloads[-5], session.times[-5]
    engine, found = session.put(2).played()
    assert stream(found)["live"] == [[0, 0], [2, 2]]
    assert engine.link.held.size == 0
    assert "ZN016" in rules(found)


def test_zn015_a_message_that_its_sender_gave_up_in_the_middle_lost_nothing_on_the_link() -> None:
    session = Session().put(0)
    session.raw(z.fragment(session.sns[False], b"x" * 20, more=True, first=True)).lose()
    session.raw(z.fragment(session.sns[False], b"", more=False, drop=True)).lose()
    _, found = session.lose().put(1).played()  # one sn is skipped after it
    assert rules(found) == {"ZN015"}


def test_what_nobody_recognises_says_nothing() -> None:
    session = Session(opened=False).raw(b"\x04").raw(z.frame(1, b"\x1e\x1a"))
    engine, found = session.played()
    assert (engine.recognition.shown, found) == (False, [])


def test_a_capture_that_began_later_counts_by_source() -> None:
    session = Session(opened=False).put(7, 8).lose().put(10).ask(1, "_sn=9..")
    row = stream(answered(session, 1, 9, 10).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, LEFT_BEFORE)
    _, found = session.wait(0.1).put(11).played()
    row = stream(found)
    assert (row["delivered"], row["recovered"]) == ([[7, 11]], 1)
    assert row["key"] == "demo/sensor"  # replies name the key in full
    assert row["session_start_captured"] is False
    assert "earlier samples are unknown" in row["unknown"]["earlier_seqnos"]
    assert "ZN017" in rules(found)


def test_in_a_group_all_declarations_have_the_same_id() -> None:
    group = Group().subscribe("demo/*").subscribe("demo/*/@adv/pub/**").subscribe("demo/sensor")
    assert told(group.put(0, 1, 3).streams()) == [
        ("demo/*", [[0, 1], [3, 3]]),
        ("demo/sensor", [[0, 1], [3, 3]]),
    ]


def test_in_a_group_samples_are_sent_before_anybody_subscribes() -> None:
    group = Group().put(0, 1, 2).wait(0.2).subscribe("demo/sensor").put(3, 4)
    assert told(group.streams()) == [("demo/sensor", [[3, 4]])]


def test_in_a_group_a_subscriber_was_there_before_the_group_hears_of_it() -> None:
    """Recorded: it was handed the sample that had come 0.3 ms before."""
    (row,) = Group().put(0, 1, 2).subscribe("demo/sensor").put(3, 4).streams()
    assert (row["subscriber"], row["delivered"]) == ("demo/sensor", None)
    assert row["unknown"]["delivered"] == EARLY


def test_in_a_group_a_member_takes_frames_of_those_whose_join_it_has_seen() -> None:
    """Recorded: a Join that came before it had joined itself, and the next one lost (8.6)."""
    group = Group().raw(1, z.join(500, 20, SUBSCRIBER_ZID)).subscribe("demo/sensor").put(0, 1)
    assert told(group.streams()) == [("demo/sensor", [[0, 1]])]
    group = Group()
    group.payloads.reverse()
    group.back[:] = [1]
    (row,) = group.subscribe("demo/sensor").put(0, 1).raw(0, z.join(13, 20)).put(2).streams()
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, UNJOINED)


def test_zn005_what_a_member_sent_before_its_first_join_here_stays_known() -> None:
    """It joined before the capture, and says its next sn again and again: no Join ends a counter,
    nor what frames before it show to be missing."""
    group = Group()
    group.payloads.pop()
    group.put(0)
    group.sns[0] += 1
    group.put(2).raw(0, z.join(13, 20)).put(3)
    found = group.played()
    missing = [r.detail["seqnos"] for r in found if r.kind == FINDING and r.rule == "ZN005"]
    assert missing == [[[11, 11]]]
    assert "ZN004" not in rules(found)
    assert "ZN004" in rules(Group().put(0, 2).played())


def test_zn006_where_nothing_tells_of_how_many_bits_sns_are_they_may_have_wrapped() -> None:
    session = Session(opened=False).put(0, 1, 2)
    session.sns[False] = 0
    assert certainty(session.put(3).played()[1], "ZN006") == {"cannot be told"}
    session = Session(opened=False)
    session.sns[False] = 0x10000
    session.put(0, 1, 2)
    session.sns[False] = 0
    assert certainty(session.put(3).played()[1], "ZN006") == {"likely"}


def test_zn006_where_records_are_out_of_order_nothing_tells_that_a_frame_came_late() -> None:
    def turned(back: float) -> list[Result]:
        session = Session().put(0)
        late = z.frame(session.sns[False], z.push(z.put(1)))
        return session.lose().put(2).raw(late).wait(-back).put(3).played()[1]

    assert certainty(turned(0), "ZN006") == {"likely"}
    assert certainty(turned(0.015), "ZN006") == {"cannot be told"}


def test_zn018_what_is_missing_right_before_the_end_may_be_asked_for_behind_it() -> None:
    session = Session().put(0, 1, 3)
    _, found = session.played()
    (said,) = [r.detail for r in found if r.kind == FINDING and r.rule == "ZN018"]
    assert said["seqnos"] == [[2, 2]] and "may have been about to ask" in said["text"]
    assert "ZN002" not in rules(found)
    row = stream(found)
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, CUT_SHORT)
    _, found = session.wait(0.2).put(4).played()
    assert "ZN002" in rules(found) and "ZN018" not in rules(found)


def test_in_a_group_who_declares_a_subscriber_once_more_had_undeclared_it() -> None:
    """Recorded (8402): no U_SUBSCRIBER is sent to a group."""
    group = Group().subscribe("demo/sensor").put(0, 1).wait(1.0).put(2, 3).wait(1.0)
    (row,) = group.subscribe("demo/sensor").put(4, 5).streams()
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, LEFT_UNSEEN)


def test_in_a_group_nothing_tells_that_a_subscriber_is_there_still() -> None:
    """Recorded (8416): one was undeclared, and what it seemed to miss later it did not."""
    found = Group().subscribe("demo/sensor").put(0, 1, 3).wait(1.5).put(4).played()
    row = stream(found)
    assert row["delivered"] == row["delivered_unsure"] == [[0, 1], [3, 4]]
    assert row["unknown"]["later_seqnos"] == MAY_HAVE_LEFT
    (said,) = [r.detail["text"] for r in found if r.kind == FINDING and r.rule == "ZN002"]
    assert "nor whether it was there still" in said
    assert "later_seqnos" not in stream(Session().put(0, 1, 2).played()[1])["unknown"]


def test_of_two_histories_nothing_says_whose_samples_wait() -> None:
    """Recorded: the final of one was lost, the other subscriber was handed everything."""
    session = Session().ask(1, "_max=3;_anyke", "/@adv/**").publisher(z.final(1))
    row = stream(session.ask(2, "_anyke", "/@adv/**").put(0, 1).played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, SEVERAL)
    both = Session().ask(1, "_max=3;_anyke", "/@adv/**").ask(2, "_anyke", "/@adv/**")
    row = stream(both.publisher(z.final(1)).publisher(z.final(2)).put(0, 1).played()[1])
    assert row["delivered"] == [[0, 1]]


@pytest.mark.parametrize("subscribers", [True, False])
def test_only_the_node_that_goes_takes_its_subscribers_histories_with_it(
    subscribers: bool,
) -> None:
    session = Session().ask(1, "_max=3;_anyke", "/@adv/**").publisher(z.final(1))
    session.raw(b"\x03\x00", back=subscribers).subscriber(z.declare(2, 9, 0, "demo/sensor"))
    row = stream(session.ask(2, "_max=3;_anyke", "/@adv/**").put(0, 1).played()[1])
    assert row["unknown"].get("delivered") == (None if subscribers else SEVERAL)


@pytest.mark.parametrize("named_first", [True, False])
def test_of_samples_under_a_number_that_nobody_declared_only_replies_are_known_to_come(
    named_first: bool,
) -> None:
    """Recorded: the frame with the declaration was lost; only replies were handed on."""
    session, at = Session(), TOKEN.removeprefix("demo/sensor")
    if named_first:  # a late publisher's history
        session.ask(1, "_anyke", at).publisher(z.final(1))
    session.publisher(z.push(z.put(0), 9)).publisher(z.push(z.put(1), 9)).heartbeat(1)
    row = stream(answered(session.ask(2, "_sn=..1", at), 2, 1).heartbeat(1).played()[1])
    assert (row["key"], row["live"], row["replied"]) == ("demo/sensor", [[0, 1]], [[1, 1]])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, UNDECLARED)


def test_who_asks_for_less_than_was_asked_for_before_is_another_subscriber() -> None:
    """Recorded: one waited for its history and asked periodically, the other recovered."""
    session = answered(Session().put(0, 1, 2).lose().put(4).ask(1, "_sn=3.."), 1, 3, 4).put(5)
    assert stream(session.ask(2, "_sn=6..").played()[1])["delivered"] == [[0, 5]]
    row = stream(session.ask(3, "_sn=1..").played()[1])
    assert (row["delivered"], row["unknown"]["delivered"]) == (None, SEVERAL)


def test_in_a_group_who_subscribes_to_something_else_gets_nothing() -> None:
    (row,) = Group().put(0).subscribe("demo/other").put(1, 2).streams()
    assert (row["delivered"], row["live"]) == (None, [[0, 2]])
    assert row["unknown"]["delivered"] == NOBODY  # somebody may have before
    (row,) = Group().subscribe("demo/other").put(0, 1, 2).streams()
    assert (row["delivered"], row["live"]) == (None, [[0, 2]])
    assert row["unknown"]["delivered"].startswith("no subscriber")


def test_in_a_group_a_subscriber_of_before_the_capture_is_not_known() -> None:
    (row,) = Group().put(0, 1, 2).streams()
    assert (row["subscriber"], row["delivered"]) == (None, None)
    assert row["unknown"]["delivered"] == NOBODY


def test_a_cache_was_as_deep_as_one_of_its_answers_shows() -> None:
    """zenoh.md 11: what was newest when it was asked was in the cache with the oldest reply."""
    session = Session().put(0, 1).lose().put(3).ask(1, "_sn=2..")
    session = answered(session, 1, 2, 3).put(*range(4, 60)).lose().put(61).ask(2, "_sn=60..")
    assert stream(answered(session, 2, 60, 61).played()[1])["cache_depth_seen"] == 2


def test_a_lost_reply_and_an_evicted_sample_look_the_same() -> None:
    """zenoh.md 11: frames are missing on the way of the replies, and only newer samples came."""
    session = Session().put(0, 1).lose().put(3).ask(1, "_sn=2..").lose()
    (miss,) = stream(answered(session, 1, 3).put(4).played()[1])["misses"]
    assert [(c["seqnos"], c["cause"]) for c in miss["causes"]] == [
        ([[2, 2]], "reply lost, or evicted")
    ]
    session = Session().put(0, 1).lose().put(3).ask(1, "_sn=2..").lose()
    (miss,) = stream(answered(session, 1).put(4).played()[1])["misses"]
    assert [(c["seqnos"], c["cause"]) for c in miss["causes"]] == [
        ([[2, 2]], "reply lost, or evicted")
    ]


@pytest.mark.rule("zenoh H16")
def test_where_no_open_was_captured_the_zids_say_what_the_first_sn_was() -> None:
    first = initial_sn(ZID, zid_text(SUBSCRIBER_ZID), 0xFFF_FFFF)
    session = Session(opened=False).raw(z.init()).raw(z.init(SUBSCRIBER_ZID, ack=True), back=True)
    session.sns[False] = first + 2
    _, found = session.put(0).played()
    hop = stream(found, "transport")
    assert (hop["initial_seqno"], hop["missing"], hop["frames_before_capture"]) == (first, 2, None)
    later = Session(opened=False)
    later.sns[False] = first + 70
    token = f"demo/sensor/@adv/sub/{zid_text(SUBSCRIBER_ZID)}/9/_"
    _, found = later.put(5).subscriber(z.declare(6, 1, 0, token)).put(6).played()
    hops = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "transport"]
    assert [hop["frames_before_capture"] for hop in hops] == [70, None]


@pytest.mark.parametrize(("address", "delivered"), [("10.77.0.2", [[0, 1]]), ("10.77.0.1", None)])
def test_what_only_a_reset_answered_was_sent_and_not_delivered(
    address: str, delivered: list[list[int]] | None
) -> None:
    vantage = Vantage("member", address, "given", "")
    row = stream(Session().put(0, 1, 2, 3).played(vantage, refused=2, transport="tcp")[1])
    assert row["delivered"] == delivered
    assert row["last_seqno"] == (3 if delivered is None else 1)


def test_at_the_sender_nothing_is_said_about_delivery() -> None:
    session = Session().put(0, 1).lose().put(3)
    _, found = session.played(Vantage("member", "10.77.0.1", "given", ""))
    row = stream(found)
    assert (row["role"], row["delivered"], row["misses"]) == ("sender", None, None)
    assert row["unknown"]["delivered"]
    assert "ZN002" not in rules(found)


def document(**more: Any) -> dict[str, Given]:
    given: dict[str, Given] = {"zenoh.rules": ("document", "given")}
    return given | {f"zenoh.{name}": (value, "given") for name, value in more.items()}


@pytest.mark.rule("zenoh D22")
def test_traffic_of_the_documents_own_system_is_replayed_as_it_is() -> None:
    session = Session(cache=False).publisher(z.declare(4, 2, 0, f"{ZID}/demo/sensor"))
    session.put(0, 1).lose().put(3)
    session.subscriber(z.request(1, f"{ZID}/demo/sensor", "_sn=1..3", scope=0))
    engine, found = answered(session, 1, 1, 2, 3).put(4).played(given=document())
    assert [query.text for query in engine.queries.all] == ["_sn=1..3"]
    assert stream(found)["delivered"] == [[0, 4]]
    assert "document" not in stream(found)


def lossy() -> Session:
    """0 1 - 3 (2 lost on the link), 6 (4 and 5 dropped before it); today's machine recovers."""
    session = Session().put(0, 1).lose().put(3).ask(1, "_sn=2..")
    return answered(session, 1, 2, 3).put(6).ask(2, "_sn=4..")


@pytest.mark.rule("zenoh D4")
@pytest.mark.rule("zenoh D20")
def test_document_on_todays_capture_it_asks_for_each_gap_and_gets_the_ends_again() -> None:
    engine, found = answered(lossy(), 2, 4, 5, 6).put(7).played(given=document())
    row = stream(found)
    assert (row["delivered"], row["misses"], row["lost"]) == ([[0, 7]], [], 3)
    queries = [r.detail for r in found if r.kind == QUERY]
    assert [(q["key"], q["parameters"], q["reply_seqnos"], q["recovered"]) for q in queries] == [
        (f"{ZID}/demo/sensor", "_sn=1..3", [[1, 3]], 1),
        (f"{ZID}/demo/sensor", "_sn=3..6", [[3, 6]], 2),
    ]
    assert row["document"] == {
        "cache": "in the publisher", "cache_history": 1024, "queries": 2, "replies": 7,
        "empty_periodic_queries": 0, "control_messages": 11, "source_ids_shared_by": 1,
        "taken_for_repeats": [],
    }  # fmt: skip
    assert {"ZN001", "ZN023"} <= rules(found)
    assert "ZN002" not in rules(found)
    assert engine.queries.all == []


@pytest.mark.rule("zenoh D14")
@pytest.mark.rule("zenoh D17")
@pytest.mark.rule("zenoh D18")
@pytest.mark.rule("zenoh D21")
@pytest.mark.parametrize(
    ("more", "missed", "cause"),
    [
        ({"cache_history": 2}, [[4, 4]], "evicted: the cache is too small"),
        ({"cache_enabled": False}, [[2, 2], [4, 5]], "no cache"),
        ({"cache_origin": "any"}, [[4, 5]], "no cache had them"),
    ],
)
def test_document_what_its_cache_would_not_have_brought_back(
    more: dict[str, Any], missed: list[list[int]], cause: str
) -> None:
    _, found = answered(lossy(), 2, 4, 5, 6).put(7).played(given=document(**more))
    row = stream(found)
    assert [miss["seqnos"][0] for miss in row["misses"]] == missed
    assert set(causes(row)) == {cause}
    assert row["unrecovered_seqnos"] == missed
    (said,) = [r.detail for r in found if r.rule == "ZN002" and r.kind == FINDING]
    assert "with an error due in its log, or" in said["text"]


@pytest.mark.rule("zenoh D8")
def test_document_periodic_queries_bring_last_samples_and_cost_messages() -> None:
    session = Session().put(0, 1).lose().ask(1, "_sn=2..")
    session = answered(session, 1, 2).wait(3.5).raw(b"\x04")
    _, without = session.played(given=document())
    assert (stream(without)["delivered"], rules(without) & {"ZN023"}) == ([[0, 1]], set())
    _, found = session.played(given=document(periodic_query_ms=1000))
    row = stream(found)
    assert (row["delivered"], row["recovered"]) == ([[0, 2]], 1)
    assert row["document"]["queries"] == 3
    assert row["document"]["empty_periodic_queries"] == 2
    assert row["document"]["control_messages"] == 7
    assert [r.detail["parameters"] for r in found if r.kind == QUERY] == ["_sn=2.."]


@pytest.mark.rule("zenoh D9")
@pytest.mark.parametrize(
    ("more", "delivered"),
    [({}, [[4, 5]]), ({"history_query": True}, [[1, 5]]),
     ({"history_query": True, "cache_history": 2}, [[2, 5]])],
)  # fmt: skip
def test_document_historical_samples_come_before_live_ones(
    more: dict[str, Any], delivered: list[list[int]]
) -> None:
    session = Session().ask(1, "_max=8", suffix="/@adv/**")
    session = answered(session, 1, 1, 2, 3).put(4, 5)
    _, found = session.played(given=document(**more))
    assert stream(found)["delivered"] == delivered
    queries = [(r.detail["key"], r.detail["replies"]) for r in found if r.kind == QUERY]
    assert queries == ([("*/demo/sensor", 5 - delivered[0][0] - 1)] if more else [])


@pytest.mark.rule("zenoh D11")
def test_document_publishers_of_one_session_share_a_source_id() -> None:
    session = Session().put(0, 1, 2)
    session.publisher(z.push(z.put(0, eid=8))).publisher(z.push(z.put(1, eid=8)))
    session.publisher(z.push(z.put(3, eid=8)))
    _, found = session.played(given=document())
    first, second = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    assert first["document"]["taken_for_repeats"] == [[0, 1]]
    assert first["document"]["source_ids_shared_by"] == 2
    assert (first["delivered"], second["delivered"]) == ([[0, 3]], None)
    assert "ZN024" in rules(found)


@pytest.mark.rule("zenoh D10")
@pytest.mark.parametrize(
    ("source", "sn", "at_once"), [(None, None, True), ("ab", None, True), (None, 3, True),
                                  ("ab", 3, False)]
)  # fmt: skip
def test_document_half_of_source_info_is_none(
    source: str | None, sn: int | None, at_once: bool
) -> None:
    assert passed_on(source, sn) is at_once


def test_runs_of_any_length_give_the_same() -> None:
    session = Session().put(*range(300)).lose().put(301, 302).ask(1, "_sn=300..")
    session = answered(session, 1, 300, 301, 302).put(*range(303, 600))
    together = session.played()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "SINGLE_FRAMES", 10_000)
        alone = session.played()[1]
    assert alone == together


def test_a_subscriber_ends_when_it_is_undeclared_and_a_later_one_begins_anew() -> None:
    """Recorded: nothing is lost, and what passed between them was for nobody."""
    session = Session().put(0, 1, 2).wait(0.2)
    session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1)).put(3)  # one was on its way
    session.wait(0.2).subscriber(z.declare(2, 2, 1, own=False)).put(7, 8)
    _, found = session.played()
    rows = [r for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    assert [row.detail["delivered"] for row in rows] == [[[0, 2]], [[7, 8]]]
    assert len({row.stream for row in rows}) == 2
    assert rules(found) == set()


@pytest.mark.parametrize(("later_s", "told"), [(0.1, True), (0.08, False), (-0.008, False)])
def test_what_came_just_before_a_subscriber_was_undeclared_it_need_not_have_had(
    later_s: float, told: bool
) -> None:
    """Recorded: the node drops it first, and 0.4 ms later its declaration leaves; with much to do
    it had not read what had come 44 ms before."""
    session = Session().put(0, 1, 2).wait(later_s)
    _, found = session.subscriber(b"\x9e\x21\x08\x03" + z.zint(1)).played()
    row = stream(found)
    assert (row["delivered"], row["lost"]) == ([[0, 2]] if told else None, 0)
    assert row["unknown"].get("delivered") == (None if told else LEAVING)


@pytest.mark.parametrize("options", [0xD3, 0x53])
def test_one_answer_for_all_that_match_is_no_subscriber_of_its_own(options: int) -> None:
    """zenoh-pico's publishers ask for one; zenoh's ask for each with its own key expression."""
    session = Session(opened=False)
    session.raw(z.init()).raw(z.init(SUBSCRIBER_ZID, ack=True), back=True)
    session.raw(z.opened(10)).raw(z.opened(500, ack=True), back=True)
    session.publisher(z.declare(0, 1, 0, "demo/sensor"), z.interest(2, 1, options))
    session.subscriber(z.declare(2, 2, 1, own=False)).publisher(z.declare(4, 2, 0, TOKEN))
    session.put(0, 1).lose().put(3)
    session.subscriber(z.request(1, f"demo/*{SUFFIX}", "_sn=2..", scope=0))
    _, found = answered(session, 1, 2).put(4).wait(3).played()
    rows = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    at = {row["subscriber"]: row["recovered"] for row in rows}
    assert at == {None: 1} if options & 0x80 else "demo/sensor" in at


@pytest.mark.parametrize(("later_s", "told"), [(0.1, True), (0.08, False), (-0.008, False)])
def test_what_came_for_another_just_before_a_subscriber_was_declared_it_may_have_had(
    later_s: float, told: bool
) -> None:
    """Recorded: two samples, 1.3 ms before its declaration passed."""
    session = Session().put(0, 1, 2).wait(later_s)
    _, found = session.subscriber(z.declare(2, 9, 0, "demo/*", own=False)).put(3).played()
    rows = {r.detail["subscriber"]: r.detail for r in found if r.kind == STREAM
            and r.detail["kind"] == "samples"}  # fmt: skip
    assert rows["demo/sensor"]["delivered"] == [[0, 3]]
    assert rows["demo/*"]["delivered"] == ([[3, 3]] if told else None)
    assert rows["demo/*"]["unknown"].get("delivered") == (None if told else COMING)


def test_another_node_at_the_same_endpoint_has_other_subscribers() -> None:
    session = Session().put(0, 1).wait(0.2)
    session.raw(z.init()).raw(z.init(bytes(range(60, 76)), ack=True), back=True)
    session.raw(z.opened(10)).raw(z.opened(500, ack=True), back=True)
    session.sns = {False: 10, True: 500}
    session.publisher(z.declare(0, 1, 0, "demo/sensor"))
    session.subscriber(z.declare(2, 1, 1, own=False)).put(5)
    _, found = session.played()
    rows = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    assert [row["delivered"] for row in rows] == [[[0, 1]], [[5, 5]]]


def test_control_traffic_is_judged_of_whole_sessions_without_loss_only() -> None:
    beats = Session().put(0).heartbeat(0).heartbeat(0)
    assert "ZN011" in rules(beats.played()[1])
    begun = Session(opened=False).put(0).heartbeat(0).heartbeat(0)
    assert "ZN011" not in rules(begun.played()[1])
    assert "ZN011" not in rules(beats.lose().put(1).played()[1])


def test_at_the_publisher_a_request_shows_that_something_was_missing() -> None:
    """All samples that a heartbeat told of were lost, as its query says."""
    at_publisher = Vantage("member", "10.77.0.1", "given", "")
    beats = Session().put(0, 1).heartbeat(1).ask(1, "_sn=..1", TOKEN)
    beats = answered(beats, 1, 0, 1).wait(0.5).heartbeat(1)
    assert "ZN011" not in rules(beats.played(at_publisher)[1])


def test_one_source_heard_from_two_addresses_of_a_group_ends_no_audit() -> None:
    group = Group().put(0)
    beat = z.push(b"\x01\x04" + bytes(4), 0, TOKEN)
    group.say(0, beat)
    group.subscribe("demo/sensor").say(1, z.push(z.put(0), 0, "demo/sensor"), beat)
    assert group.streams()


def test_samples_that_were_all_lost_come_by_a_heartbeat() -> None:
    """Recorded; a late joiner sends the same query, and nothing was lost."""
    session = Session().lose().lose().lose().heartbeat(2).ask(1, "_sn=..2", TOKEN)
    _, found = answered(session, 1, 1, 2).played()
    assert (stream(found)["delivered"], stream(found)["recovered"]) == ([[1, 2]], 2)
    assert "ZN001" in rules(found)
    session = Session().heartbeat(2).ask(1, "_sn=..2", TOKEN)
    _, found = answered(session, 1, 1, 2).played()
    assert (stream(found)["delivered"], stream(found)["recovered"]) == ([[1, 2]], 0)


@pytest.mark.parametrize("count", [3, 40])
def test_every_source_is_asked_for_and_timed_out_by_itself(count: int) -> None:
    """With as many sources as there are, each message costs no more."""
    session = Session()
    for sn in (0, 2):
        for eid in range(10, 10 + count):
            session.publisher(z.push(z.put(sn, eid=eid)))
    for number, eid in enumerate(range(10, 10 + count)):
        session.ask(number, "_sn=1..", f"/@adv/*/{ZID}/{eid}/**")
    engine, found = session.idle(11.0).put(0).played()
    rows = [r.detail for r in found if r.kind == STREAM and r.detail["kind"] == "samples"]
    missed = [row["misses"] for row in rows if row["live"] != [[0, 0]]]
    assert [[miss["seqnos"] for miss in misses] for misses in missed] == [[[[1, 1]]]] * count
    assert engine.timers.next_ns == 1 << 63
