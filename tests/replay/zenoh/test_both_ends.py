"""What one end of a zenoh session sent the other: frames by their sns, messages by their frames."""

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.zenoh.both_ends import MetWay, Way, clocks_of, passed
from seqaudit.replay.zenoh.both_ends_findings import ZenohEnds

MASK = 0x0FFF_FFFF
MS = 1_000_000
THERE, BACK = Way("10.0.0.1:1", "10.0.0.2:2"), Way("10.0.0.2:2", "10.0.0.1:1")
STREAM, SESSION = ">".join(THERE), "zenoh|udp|10.0.0.1:1|10.0.0.2:2"


def piece(sn: int, at_ms: int, way: Way = THERE, word: str = "Fragment") -> Event:
    return Event(
        at_ms, at_ms * MS, Kind.NOTICE, word, "zenoh", None, *way, sn, sn + 1, conn_id=11,
        fresh_id=at_ms + 1,
    )  # fmt: skip


def ends(capture: int, sns: list[int], mask: int = MASK) -> ZenohEnds:
    """A capture of frames one each millisecond, and of an answer to each."""
    found = ZenohEnds(capture, SESSION, THERE[capture].rpartition(":")[0])
    for at_ms, sn in enumerate(sns):
        found.frames(piece(sn, 1000 + 10 * sn if mask == MASK else 10 * at_ms), mask)
        found.frames(piece(sn, 1001 + 10 * sn if mask == MASK else 10 * at_ms, BACK), mask)
    found.frames(piece(999 & mask, 100_000), mask)
    return found


def came(sender: ZenohEnds, receiver: ZenohEnds) -> dict[str, tuple[int, int, int]]:
    assert STREAM in sender.sent()
    assert sender.met(STREAM, receiver) is not None
    met = MetWay(THERE, sender, receiver)
    found = passed(met, clocks_of(met))
    return {kind: (own.sent, own.came, own.lost.inside) for kind, own in found.kinds.items()}


def with_message(there: list[int]) -> dict[str, tuple[int, int, int]]:
    """Frames 5 to 7 are one sample; ``there`` are the frames in the order of their coming."""
    sender = ends(0, list(range(10)))
    sender.put_together("samples", piece(7, 1070), 3, MASK, 42)
    receiver = ends(1, there)
    return came(sender, receiver)


def test_a_fragmented_message_is_lost_with_any_of_its_frames() -> None:
    everything = list(range(10))
    for gone in (5, 6, 7):
        found = with_message([sn for sn in everything if sn != gone])
        assert found == {"frames": (11, 10, 1), "samples": (1, 0, 1)}
    assert with_message([sn for sn in everything if sn != 4])["samples"] == (1, 1, 0)


def test_pieces_that_come_in_another_order_are_not_lost_on_the_way() -> None:
    order = [0, 1, 2, 3, 4, 6, 5, 7, 8, 9]
    assert with_message(order) == {"frames": (11, 11, 0), "samples": (1, 1, 0)}


def test_a_frame_is_counted_though_its_number_came_before() -> None:
    narrow = 0x7F
    sent = [n & narrow for n in range(300)]
    found = came(ends(0, sent, narrow), ends(1, sent[:140] + sent[145:], narrow))
    assert found["frames"][:2] == (301, 296)


def test_captures_of_other_runs_do_not_meet() -> None:
    later = ZenohEnds(1, SESSION, "10.0.0.2")
    later.frames(piece(5_000, 900_000), MASK)
    assert ends(0, [1, 2, 3]).met(STREAM, later) is None


def test_a_keepalive_that_came_shows_that_what_was_sent_before_was_overtaken() -> None:
    sender, receiver = ends(0, [1, 2]), ends(1, [1, 2])
    sender.frames(piece(1000, 100_010), MASK)
    for one in (sender, receiver):
        one.last = None
        one.frames(piece(2, 100_500, BACK), MASK)
    assert came(sender, receiver)["frames"] == (4, 3, 0)
    for one in (sender, receiver):
        one.sign(piece(0, 100_020, word="KeepAlive"))
    assert came(sender, receiver)["frames"] == (4, 3, 1)
