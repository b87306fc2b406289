"""zenoh batches into rows (zenoh.md 1 to 7), every hexdump of its section 12 among them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.contract.events import Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.stages.first import decode_piece
from seqaudit.decoders.zenoh import kernels as wire
from seqaudit.decoders.zenoh import messages as zenoh_messages
from seqaudit.decoders.zenoh.batches import BatchDecoder, Batches, ZenohDecoder
from seqaudit.decoders.zenoh.lz4_blocks import beginning
from tests.decoders.feeds.layouts import draw
from tests.decoders.zenoh import builders as z

FIXTURES = Path(__file__).parents[3] / "fixtures" / "zenoh"
ZID = zenoh_messages.zid_text(z.ZID)


def decoded(batches: Batches) -> tuple[list[dict[str, Any]], list[int]]:
    """Rows without MEMBER rows, details parsed; and the status of each batch."""
    found, status = BatchDecoder().decode(batches)
    rows = [row for batch in found for row in batch.to_pylist() if row["kind"] != Kind.MEMBER]
    for row in rows:
        row["detail"] = json.loads(row["detail"])
    return rows, status.tolist()


def slowly(batches: Batches) -> Batches:
    """So that no socket's buffer fills, and behind the time in which rows show that time passes."""
    numbers = np.arange(batches.count)
    late = np.where(numbers < wire.SINGLE_FRAMES - 1, 0, wire.TIMED_NS)
    batches.at_ns[:] = batches.at_ns[0] + numbers * 2_000_000 + late
    return batches


def words(batches: Batches) -> list[str]:
    return [row["wire_kind"] for row in decoded(batches)[0]]


def one(payload: bytes) -> dict[str, Any]:
    """The last message of a batch."""
    rows, status = decoded(z.batches([payload]))
    assert status == [wire.DECODED], payload.hex()
    return rows[-1]


PUSH = bytes.fromhex(
    "2583cac3225d01814113f05cc6a11f2a2e99f192ac9b47d55da45b060028" + "70313a3023" + "78" * 35
)


def test_frame_with_push_and_source_info() -> None:
    rows, status = decoded(z.batches([PUSH]))
    assert status == [wire.DECODED]
    assert [(r["wire_kind"], r["seqno"], r["stop_seqno"], r["conn_id"]) for r in rows] == [
        ("Frame", 72410371, 72410372, 11),
        ("push", 0, 1, 11),
    ]
    zid = "5ba45dd5479bac92f1992e2a1fa1c65c"
    assert rows[1]["detail"] == {
        "key": [1, 1, ""], "last_hop": 72410371, "zid": zid, "eid": 6, "qos": 5,
    }  # fmt: skip
    assert rows[1]["stream"] == f"10.77.0.1:40000>10.77.0.2:7000|{zid}/6"
    assert rows[1]["conversation"] == "zenoh|udp|10.77.0.1:40000|10.77.0.2:7000"


def test_init_and_open() -> None:
    syn = bytes.fromhex("c109f214811728c0c2dfe6bbdaf4b9b6f0379a0a88fe812701")
    assert (one(syn)["wire_kind"], one(syn)["detail"]) == (
        "InitSyn",
        {
            "version": 9, "whatami": "client", "zid": "9a37f0b6b9f4dabbe6dfc2c028178114",
            "resolution": 2, "batch_bytes": 65160, "qos": True, "low_latency": False,
            "compression": False, "multilink": False, "patch": 1,
        },
    )  # fmt: skip
    opened = zenoh_messages.read_transport(z.opened(22827635))
    assert opened is not None and opened[0] == "OpenSyn"
    assert (opened[1]["sn"], opened[1]["lease_ms"]) == (22827635, 10_000)
    answer = zenoh_messages.read_transport(bytes.fromhex("620ad29dfe3b"))
    assert answer is not None and (answer[0], answer[1]["sn"]) == ("OpenAck", 125800146)


def test_join_without_and_with_priorities() -> None:
    row = one(bytes.fromhex("a709f108a01f76fc862bbaeade76d6778511590afaee8a2eeb83b6552701"))
    assert row["wire_kind"] == "Join"
    assert row["detail"]["zid"] == "59118577d676deeaba2b86fc761fa008"
    assert row["detail"]["sns"] == [[96647034, 179143147]]
    pairs = b"".join(z.zint(n) for n in range(100, 116))
    row = one(b"\x87\x09\x01" + z.ZID[:1] + z.zint(5) + b"\0\0" + b"\x51" + z.sized(pairs))
    assert row["detail"]["qos"] is True
    assert row["detail"]["sns"] == [[n, n + 1] for n in range(100, 116, 2)]


@pytest.mark.parametrize(
    "batch",
    [
        z.join(5, 6) + b"\4",  # alone in its datagram
        z.join(5, 6).replace(b"\xa7\x09\xf1", b"\xa7\x09\xf5"),  # no role has this number
        z.join(5, 6).replace(b"\xa7\x09", b"\xa7\x07"),
        z.join(1 << 36, 6),  # 32 bits
        z.join(5, 6).replace(z.zint(10) + z.zint(5), z.zint(10) + b"\x85\0"),  # the shortest form
        z.join(5, 6).replace(z.zint(10) + z.zint(5), z.zint(0) + z.zint(5)),  # a lease
    ],
)
def test_a_join_is_proof_only_as_writers_make_it(batch: bytes) -> None:
    assert decoded(z.batches([z.join(5, 6)]))[1] == [wire.DECODED]
    (status,) = decoded(z.batches([batch]))[1]
    assert status in (wire.WEAK, wire.NOTHING)


@pytest.mark.parametrize("seed", [10, 15, 20, 22, 25, 33])
def test_other_numbered_datagrams_are_not_zenoh(seed: int) -> None:
    """Noise at their front reads as zenoh now and then."""
    found = decoded(z.batches(draw(seed).payloads))[1]
    assert set(found) <= {wire.WEAK, wire.NOTHING}


@pytest.mark.parametrize("ident", [b"\x06\x05", b"\x46\x11", b"\x66\x7f"])
def test_a_question_of_dns_is_no_fragment_whatever_its_first_bytes_are(ident: bytes) -> None:
    """Thousands of them would be rows in doubt, each of a session of its own."""
    head = ident + bytes.fromhex("01000001000000000000")
    asked = head + b"\5host1\7example\3net\0\0\1\0\1"
    answer = ident + bytes.fromhex("81800001000100000000") + asked[12:] + bytes(16)
    assert decoded(z.batches([asked, answer])) == ([], [wire.NOTHING] * 2)
    for other in (asked[:-2], asked[:-1] + b"\2", asked[:5] + b"\2" + asked[6:]):
        assert decoded(z.batches([other]))[1] == [wire.WEAK]


def test_declarations() -> None:
    batch = z.frame(
        7,
        z.declare(0, 1, 0, "demo/sensor"),
        z.declare(0, 2, 1, "/@adv/pub/_"),
        z.declare(4, 2, 2),
        z.declare(2, 3, 1, "/**", own=False),
        b"\x1e\x03\x04" + b"",
        b"\x3e\x05\x1a",
        b"\x9e\x21\x08\x85\x09\x5f" + z.sized(b"\x03\x01/x"),
        priority=0,
    )
    rows, status = decoded(z.batches([z.init(), batch], mode=wire.KNOWN))
    assert status == [wire.DECODED] * 2
    assert [(r["wire_kind"], r["detail"]) for r in rows[2:]] == [
        ("declare.keyexpr", {"id": 1, "key": [0, 1, "demo/sensor"]}),
        ("declare.keyexpr", {"id": 2, "key": [1, 1, "/@adv/pub/_"]}),
        ("declare.queryable", {"id": 2, "key": [2, 1, ""]}),
        ("declare.subscriber", {"id": 3, "key": [1, 0, "/**"]}),
        ("declare.u_subscriber", {"id": 4}),
        ("declare.final", {"interest": 5}),
        ("declare.u_queryable", {"id": 9, "key": [1, 1, "/x"]}),
    ]


def test_request_responses_and_final() -> None:
    batch = z.frame(
        3,
        z.request(1, "/@adv/*/ab/6/**", "_sn=5..;_anyke"),
        z.response(1, z.put(5)),
        z.final(1),
    )
    rows, _ = decoded(z.batches([batch]))
    assert [(r["kind"], r["wire_kind"]) for r in rows[1:]] == [
        (Kind.REQUEST, "request"),
        (Kind.RETRANSMISSION, "response"),
        (Kind.NOTICE, "response_final"),
    ]
    assert rows[1]["detail"]["parameters"] == "_sn=5..;_anyke"
    assert rows[1]["detail"]["key"] == [1, 0, "/@adv/*/ab/6/**"]
    assert rows[2]["detail"]["source"] == [ZID, 6, 5]
    assert rows[2]["detail"]["responder"] == [ZID, 7]
    assert rows[2]["stamp"] == 3


def test_a_heartbeat_is_located_and_other_pushes_without_source_info_are_runs() -> None:
    beat = bytes.fromhex("25efb0a842dd02210d010402000000")
    row = decoded(z.batches([z.init(), beat]))[0]
    assert row[-1]["detail"] == {"key": [2, 1, ""], "qos": 13, "bytes": 4, "value": 2, "doubt": 1}
    plain = [z.frame(n, z.push(z.put(None)), z.push(z.put(None))) for n in range(200)]
    rows, status = decoded(z.batches(plain, mode=wire.KNOWN))
    assert status == [wire.DECODED] * 200
    last = rows[-1]
    assert (last["wire_kind"], last["seqno"], last["detail"]["key"]) == ("push", None, [1, 1, ""])
    assert sum(r["count"] for r in rows if r["wire_kind"] == "push") == 400


def test_a_del_has_the_same_sns_as_a_put_and_a_timestamp_is_skipped() -> None:
    stamp = z.zint(7710386219123956176) + z.sized(z.ZID)
    batch = z.frame(
        1,
        z.push(z.put(0)),
        z.push(b"\x82" + z.source_info(1)),
        z.push(b"\xa1" + stamp + z.source_info(2) + z.sized(b"x")),
    )
    rows, _ = decoded(z.batches([batch]))
    assert [(r["seqno"], r["stop_seqno"], r["count"]) for r in rows[1:]] == [(0, 3, 3)]


def test_encoding_attachment_and_shared_memory() -> None:
    encoded = b"\xc1" + z.zint(7 << 1 | 1) + z.sized(b"schema")
    body = encoded + z.source_info(4, more=True) + b"\x43" + z.sized(b"att") + z.sized(b"x" * 9)
    assert one(z.frame(1, z.push(body)))["seqno"] == 4
    shared = b"\x81" + z.source_info(5, more=True) + b"\x12" + z.zint(2)
    shared += b"\x00" + z.sized(b"in") + b"\x01" + z.sized(b"descriptor")
    assert one(z.frame(1, z.push(shared), z.push(z.put(6))))["stop_seqno"] == 7


def test_ros_2_numbers_its_samples_in_their_attachments() -> None:
    batch = z.frame(1, *(z.push(z.ros_put(n)) for n in (7, 8, 9)), z.push(z.ros_put(1 << 40)))
    rows, status = decoded(z.batches([batch]))
    assert status == [wire.DECODED]
    assert [(r["seqno"], r["stop_seqno"], r["detail"]["zid"]) for r in rows[1:]] == [
        (7, 10, z.ZID[::-1].hex()), (1 << 40, (1 << 40) + 1, z.ZID[::-1].hex()),
    ]  # fmt: skip
    assert rows[1]["detail"]["eid"] == "ros"
    both = b"\x81" + z.source_info(4, more=True) + z.ros_put(9)[1:]
    assert one(z.frame(1, z.push(both)))["seqno"] == 4
    for odd in (z.ros_put(-1), z.ros_put(7).replace(b"_gid", b"_gie")):
        assert one(z.frame(1, z.push(z.put(1)), z.push(odd)))["seqno"] is None


@pytest.mark.parametrize(("header", "known"), [(0x33, True), (0x37, False), (0x51, False)])
def test_an_unknown_mandatory_extension_loses_the_rest_of_the_batch(
    header: int, known: bool
) -> None:
    value = z.zint(3) if header >> 5 & 3 == 1 else z.sized(b"abc")
    odd = b"\xdd\x01" + bytes([header]) + value + z.put(1)
    rows, status = decoded(z.batches([z.frame(1, z.push(z.put(0)), odd, z.push(z.put(2)))]))
    assert status == [wire.DECODED if known else wire.UNDECODABLE]
    assert sum(r["count"] for r in rows if r["wire_kind"] == "push") == (3 if known else 1)


def test_low_latency_has_no_frame_and_no_sn() -> None:
    row = one(z.push(z.put(9)))
    assert (row["wire_kind"], row["seqno"], row["stamp"], row["conn_id"]) == ("push", 9, None, -1)
    _, status = decoded(z.batches([z.push(z.put(9)) * 2]))
    assert status == [wire.MALFORMED]


def test_fragments_say_what_their_message_is_where_it_begins() -> None:
    message = z.push(z.put(3, b"x" * 5000))
    pieces = [
        z.fragment(10, message[:1000], more=True, first=True),
        z.fragment(11, message[1000:], more=False),
        z.fragment(13, message[:1], more=True, first=True, drop=True),
    ]
    rows, _ = decoded(z.batches([z.init(), *pieces], mode=wire.KNOWN))
    first, last, dropped = rows[1:]
    assert [(r["seqno"], r["kind"]) for r in rows[1:]] == [
        (10, Kind.DATA), (11, Kind.DATA), (13, Kind.DATA),
    ]  # fmt: skip
    assert first["detail"]["message"][0] == "push"
    assert first["detail"]["message"][1]["source"] == [ZID, 6, 3]
    assert (first["detail"]["first"], first["detail"]["more"]) == (1, 1)
    assert (last["detail"]["first"], last["detail"]["more"]) == (0, 0)
    assert dropped["detail"] == {"first": 1, "more": 1, "drop": 1, "piece": "XQ=="}


def test_compressed_and_plain_batches_behind_a_batch_header() -> None:
    batch = z.frame(5, *(z.push(z.put(n)) for n in range(20)))
    for payload in (z.compressed(batch), b"\x00" + batch):
        rows, status = decoded(z.batches([payload]))
        assert status == [wire.DECODED]
        assert [(r["seqno"], r["stop_seqno"]) for r in rows] == [(5, 6), (0, 20)]
    _, status = decoded(z.batches([b"\x00\x03\x00"], mode=wire.KNOWN))
    assert status == [wire.DECODED]


@given(st.lists(st.integers(0, 60), max_size=6), st.data())
def test_of_a_block_that_was_cut_off_the_beginning_is_unpacked(
    words: list[int], data: st.DataObject
) -> None:
    batch = z.frame(5, *(z.push(z.put(n, b"ab" * n)) for n in words))
    block = z.compressed(batch)[1:]
    size = data.draw(st.integers(0, len(block)))
    assert batch.startswith(beginning(block[:size]))
    assert beginning(block) == batch


def test_a_compressed_batch_that_was_cut_off_says_what_its_beginning_says() -> None:
    packed = z.compressed(z.frame(5, *(z.push(z.put(n, bytes([n]) * 60)) for n in range(9))))
    rows, status = decoded(z.batches([packed], cut=60))
    assert status == [wire.TRUNCATED]
    assert rows[0]["seqno"] == 5
    assert 0 < sum(r["count"] for r in rows if r["wire_kind"] == "push") < 9
    assert rows[-1]["wire_kind"] == "cut"


def test_a_batch_that_was_cut_off_and_may_be_anybodys_is_not_claimed_and_its_rows_say_so() -> None:
    batch = z.frame(1, z.final(7), z.request(1, "x" * 30, "_sn=1.."))
    for payload, cut in ((batch, 20), (z.compressed(batch), 12)):
        rows, status = decoded(z.batches([payload], cut=cut))
        assert status == [wire.WEAK_CUT]
        assert [r["wire_kind"] for r in rows] == ["Frame", "response_final", "cut"]
        assert all(r["detail"]["doubt"] for r in rows)
        assert decoded(z.batches([payload], cut=cut, mode=wire.KNOWN))[1] == [wire.TRUNCATED]


def test_what_is_cut_off_of_a_message_is_not_read_from_what_follows_in_the_capture() -> None:
    asked = z.frame(1, z.request(1, "/@adv/*/1/6/**", "_sn=1..;_anyke"))
    rows, status = decoded(z.batches([asked, asked], cut=5, mode=wire.KNOWN))
    assert status == [wire.TRUNCATED] * 2
    assert "request" not in {r["wire_kind"] for r in rows}
    beat = z.frame(1, z.push(b"\x01\x04" + b"\x07\0\0\0", 0, "k"))
    rows, status = decoded(z.batches([beat, beat], cut=3, mode=wire.KNOWN))
    assert status == [wire.TRUNCATED] * 2


def test_a_block_that_claims_gigabytes_is_refused_before_anything_is_made() -> None:
    bomb = b"\x01\x1f\x25\x01\x00" + b"\xff" * 60_000 + b"\x00"
    rows, status = decoded(z.batches([bomb]))
    assert (rows, status) == ([], [wire.NOTHING])


@pytest.mark.parametrize("length", [2**63, 2**62, 2**64 - 1, 2**32, 70_000])
def test_lengths_beyond_the_batch_are_malformed(length: int) -> None:
    size = z.zint(length) if length < 2**56 else z.zint(length % 2**56 | 2**55)[:8] + b"\xff"
    batch = z.frame(1, z.push(z.put(0)), z.push(b"\x01" + size + b"x"))
    rows, status = decoded(z.batches([batch]))
    assert status == [wire.MALFORMED]
    assert sum(r["count"] for r in rows if r["wire_kind"] == "push") == 1


def test_what_snap_length_cut_off_is_truncated_unless_only_a_payload_is_missing() -> None:
    batch = z.frame(1, z.push(z.put(0, b"x" * 100)))
    assert decoded(z.batches([batch], cut=90))[1] == [wire.DECODED]
    two = z.frame(1, z.push(z.put(0)), z.push(z.put(1)))
    rows, status = decoded(z.batches([two], cut=30))
    assert (status, [r["count"] for r in rows]) == ([wire.TRUNCATED], [1, 1, 0])
    assert rows[-1]["wire_kind"] == "cut"


def test_scout_and_hello_are_counted_only() -> None:
    scout = b"\x01\x09\x03"
    hello = b"\x22\x09\xf1" + z.ZID + z.zint(1) + z.sized(b"tcp/10.77.0.2:45873")
    decoder = BatchDecoder()
    found, status = decoder.decode(z.batches([scout], mode=wire.SCOUTING))
    assert (found, status.tolist()) == ([], [wire.SCOUT])
    found, status = decoder.decode(z.batches([hello]))
    assert (found, status.tolist()) == ([], [wire.SCOUT])
    assert decoder.messages == {"Scout or Hello": 2}


def test_what_merely_reads_as_zenoh_is_not_claimed_and_its_rows_say_so() -> None:
    weak = [b"\x04", z.frame(1, b"\x1e\x1a"), b"\x04"]
    rows, status = decoded(z.batches(weak))
    assert status == [wire.WEAK] * 3
    assert rows[0]["wire_kind"] == "batches"
    assert rows[0]["count"] == 3
    assert all(row["detail"]["doubt"] == 1 for row in rows)
    assert BatchDecoder().account()["messages_by"] == {}
    rows, status = decoded(z.batches(weak, mode=wire.PORT))
    assert status == [wire.DECODED] * 3
    assert (rows[0]["wire_kind"], rows[0]["count"]) == ("batches", 3)
    assert all(row["detail"]["doubt"] == wire.BY_PORT for row in rows)
    rows, status = decoded(z.batches(weak, mode=wire.KNOWN))
    assert status == [wire.DECODED] * 3
    assert not any("doubt" in row["detail"] for row in rows)
    assert decoded(z.batches(weak, mode=wire.NOT_OURS)) == ([], [wire.NOTHING] * 3)


def test_runs_of_consecutive_sns_become_one_row() -> None:
    payloads = [z.frame(n, z.push(z.put(n, eid=6)), z.push(z.put(n, eid=8))) for n in range(1000)]
    rows, _ = decoded(slowly(z.batches(payloads)))
    singles = wire.SINGLE_FRAMES - 1  # the last of them goes on
    assert len(rows) == 3 * singles + 3
    assert [(r["seqno"], r["stop_seqno"], r["count"]) for r in rows[-3:]] == [
        (singles, 1000, 1000 - singles)
    ] * 3
    assert rows[-1]["last_frame"] == 1000
    assert rows[-1]["detail"]["last_hop"] == 999


@pytest.mark.parametrize(
    "between",
    [
        z.frame(5000, z.request(1, "/@adv/*/a/1/**", "_sn=3..")),
        z.frame(5000, z.declare(2, 1, 0, "a/**"), priority=0),
        z.init(),
    ],
)
def test_what_an_engine_orders_against_samples_ends_runs(between: bytes) -> None:
    payloads = [z.frame(n, z.push(z.put(n))) for n in range(400)]
    payloads.insert(300, between)
    rows, _ = decoded(z.batches(payloads, back=[300]))
    runs = [(r["seqno"], r["stop_seqno"]) for r in rows if r["wire_kind"] == "push"]
    assert (wire.SINGLE_FRAMES - 1, 300) in runs
    assert ((300, 400) in runs) == (b"_sn" not in between)  # while a query is open each is a row


def test_a_run_ends_where_the_counter_passes_where_it_had_jumped_from() -> None:
    sns = [*range(300), 305, *range(300, 320)]
    rows, _ = decoded(slowly(z.batches([z.frame(n, z.push(z.put(n))) for n in sns])))
    runs = [(r["seqno"], r["stop_seqno"]) for r in rows if r["wire_kind"] == "Frame"]
    assert runs[wire.SINGLE_FRAMES - 1 :] == [(129, 300), (305, 306), (300, 306), (306, 320)]


@pytest.mark.parametrize("asked", [False, True])
def test_behind_a_query_a_run_of_frames_lasts_a_tick_so_that_rows_show_time(asked: bool) -> None:
    payloads = [z.frame(n, z.push(z.put(n))) for n in range(2_000)]
    if asked:
        payloads[1000:1000] = [z.frame(9, z.request(1, "/@adv/*/a/1/**", "_sn=3..")),
                               z.frame(5000, z.final(1))]  # fmt: skip
    batches = z.batches(payloads, back=[1000] if asked else [])
    slowly(batches)
    rows, _ = decoded(batches)
    runs = [
        r for r in rows if r["wire_kind"] == "Frame" and r["seqno"] > 1100 and r["seqno"] < 5000
    ]
    ticks = {int(at) >> wire.TICK_BITS for at in batches.at_ns[1200:]}
    assert len(runs) >= len(ticks) if asked else len(runs) < 2


def test_frames_of_one_batch_may_be_of_several_channels() -> None:
    batch = z.frame(1, z.push(z.put(0))) + z.frame(1, z.push(z.put(1)), reliable=False) + b"\x04"
    rows, status = decoded(z.batches([batch]))
    assert status == [wire.DECODED]
    assert [(r["wire_kind"], r["conn_id"], r["index"]) for r in rows] == [
        ("Frame", 11, 0), ("push", 11, 1), ("Frame", 10, 2), ("push", 10, 3), ("KeepAlive", 10, 4),
    ]  # fmt: skip


MESSAGES = st.sampled_from(
    [
        z.push(z.put(1)), z.push(z.put(2), 0, "demo/x"), z.push(z.put(None)), z.push(b"\x02"),
        z.push(z.put(3), qos=13), z.push(z.put(None, b"abcd")), z.push(z.ros_put(5)),
        z.push(z.ros_put(-1)), z.push(z.ros_put(7).replace(b"_gid", b"_gie")),
        z.request(1, "/@adv/**", "_max=3"),
        z.response(1, z.put(4)), z.final(1), z.declare(0, 1, 0, "a/b"), z.declare(2, 1, 1),
        b"\x19\x01", b"\xf9\x01\x53\x01\x21\x08", b"\x5f\x01" + z.sized(b"gossip"),
        b"\x1b\x01\x01\x45\x02" + z.sized(b"err"),
    ]
)  # fmt: skip
FRAMES = st.builds(
    lambda sn, messages, reliable: z.frame(sn, *messages, reliable=reliable),
    st.integers(0, 2**28),
    st.lists(MESSAGES, max_size=6),
    st.booleans(),
)
BATCHES = st.one_of(
    st.lists(
        st.one_of(FRAMES, st.sampled_from([b"\x04", b"\x03\x00"])), min_size=1, max_size=3
    ).map(b"".join),
    st.sampled_from([z.init(), z.init(ack=True), z.opened(5), z.opened(5, ack=True), z.join(1, 2)]),
    st.builds(lambda m: z.fragment(9, m, more=True, first=True), MESSAGES),
    FRAMES.map(z.compressed),
    st.binary(max_size=40),
)


@settings(max_examples=75)
@given(
    st.lists(BATCHES, min_size=1, max_size=8),
    st.integers(0, 3),
    st.sampled_from([wire.PLAIN_MODE, wire.KNOWN, wire.PORT, wire.SCOUTING]),
)
def test_both_modes_read_any_bytes_alike(payloads: list[bytes], cut: int, mode: int) -> None:
    plain = decoded(z.batches(payloads, cut=cut, mode=mode))
    assert decoded(z.batches(payloads, cut=cut, mode=mode, compile_it=True)) == plain


@settings(max_examples=75)
@given(st.lists(MESSAGES, min_size=1, max_size=8))
def test_the_walk_agrees_with_reading_one_message_after_the_other(messages: list[bytes]) -> None:
    batch = z.frame(77, *messages)
    module = kernels.interpreted("zenoh.kernels")
    memory = np.zeros(wire.OUT, np.int64)
    count, status = module.walk(batch, 0, len(batch), len(batch), memoryview(memory))  # type: ignore[arg-type]
    assert (count, status) == (1 + len(messages), wire.DECODED)
    records = memory[wire.RECORDS :].reshape(-1, wire.RECORD)[1:count]
    assert [batch[r[1] : r[2]] for r in records] == messages
    for record, message in zip(records.tolist(), messages, strict=True):
        told = zenoh_messages.read(message)
        assert told is not None
        word, detail = told
        if record[0] == wire.SAMPLES:
            entity = zenoh_messages.ROS if record[7] == wire.ROS_EID else record[7]
            assert (word, detail["source"][1:]) == ("push", (entity, record[6]))
        elif record[0] == wire.PLAIN:
            assert word == "push"
            assert "source" not in detail and "value" not in detail


@given(st.binary(max_size=60))
def test_reading_any_bytes_never_raises(raw: bytes) -> None:
    zenoh_messages.read(raw)
    zenoh_messages.read_transport(raw)


def decode_file(path: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of a capture, and its account."""
    (piece,) = plan_pieces(str(path), 0, 0, 1 << 40)
    decoders = {"zenoh": ZenohDecoder}
    rows: list[dict[str, Any]] = []
    settings = DecodeSettings(finish_fragments=True, compile_it=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seqaudit.decoders.stages.registry.DECODERS", decoders)
        for batch in decode_piece(piece, settings):
            rows += batch.to_pylist()
    (account,) = [json.loads(r["detail"]) for r in rows if r["wire_kind"] == "ACCOUNT"][-1:]
    return rows, account


#: What the recording's own decoder counts differently: ours has no name for a whole message of
#: fragments (the engine counts it), and reads what was cut by snap length.
DATAGRAM_SCENARIOS = sorted(
    folder.name
    for folder in FIXTURES.iterdir()
    if (folder / "truth.json").exists()
    and not any(
        word in folder.name
        for word in (
            "tcp", "router", "frag", "truncated", "shm", "scouting", "late-joiner-history-2",
            "wildcard",
        )
    )
)  # fmt: skip


@pytest.mark.parametrize("name", DATAGRAM_SCENARIOS)
def test_messages_of_a_recording_are_those_that_its_own_decoder_counts(name: str) -> None:
    truth = json.loads((FIXTURES / name / "truth.json").read_text())
    for capture, summary in zip(truth["captures"], truth["wire_summary"]["captures"], strict=True):
        rows, account = decode_file(FIXTURES / name / capture["file"])
        counted: Counter[str] = Counter()
        doubted = 0  # and not claimed by the port
        for row in rows:
            if row["wire_kind"] == "batches":
                doubted += row["count"] if row["detail"] == '{"doubt":1}' else 0
            elif row["kind"] not in (Kind.MEMBER, Kind.ACCOUNT):
                counted[row["wire_kind"]] += row["count"]
        assert counted == {**summary["transport_messages"], **summary["network_messages"]}
        assert account["frames_by"]["decoded"] + doubted == account["frames"], capture["file"]


def test_the_datagram_decoder_leaves_what_others_claimed() -> None:
    payload = z.frame(1, z.push(z.put(0)))
    columns = z.batches([payload, payload])
    ones = np.ones(2, np.int64)
    datagrams = Datagrams(
        columns.data, False, 0, 0, columns.hosts, columns.frame, columns.at_ns, columns.start,
        columns.stop, columns.end - columns.start, columns.source, columns.destination,
        columns.source_port, columns.destination_port, columns.ip_id, columns.flags,
        0 * ones, np.array([0, int(FrameOutcome.DECODED)]),
    )  # fmt: skip
    rows = pa.Table.from_batches(ZenohDecoder(DecodeSettings()).decode(datagrams))
    assert rows["frame"].to_pylist() == [1, 1]
    assert datagrams.outcome.tolist() == [FrameOutcome.DECODED, FrameOutcome.DECODED]


@pytest.mark.parametrize("header", [0xA6, 0xC6])
def test_no_extensions_but_those_of_a_fragment_read_as_one(header: int) -> None:
    dns = bytes([header, 5]) + bytes.fromhex("010000010000000000000161076578616d706c650000010001")
    first = bytes([header, 5, 2]) + b"x" * 20
    events = [BatchDecoder().decode(z.batches([payload]))[0] for payload in (dns, first)]
    assert [any(batch.num_rows for batch in found) for found in events] == [False, True]
