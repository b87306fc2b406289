"""PGM and the raims messages in it (raims.md 2, 5, 6)."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.raims.datagrams import RaimsDecoder
from seqaudit.decoders.raims.messages import FIELDS
from seqaudit.decoders.raims.pgm import REFUSED, PgmDecoder
from tests.decoders.raims.builders import (
    BRIDGE,
    Decoded,
    caba,
    data,
    datagrams,
    inbox,
    inbox_subject,
    nak,
    odata,
    pgm,
    piece,
    spm,
)

#: The annotated message of raims.md 5, from the PGM header on.
ANNOTATED = bytes.fromhex(
    "78811c47 04005760 918f211d6b39 006e 0000001a 00000000"
    "80000066 509ef5f2 c403 57c5f54bb09cb477f258845886540975"
    "c405 5e61ff99a362a6ae49fc880e8bca2f87 4700000c 5f373530302e5449434b2e41"
    "c31163a7883000000001 c34363a7882800000010 c31318e9e20c5e5f3f3b"
    "c11f0002 480100000009 5449434b2e4123313700"
)


def decoded(*payloads: bytes | None, **how: Any) -> Decoded:
    return Decoded(PgmDecoder(DecodeSettings()), payloads, **how)


def in_order(found: Decoded) -> list[dict[str, Any]]:
    """Rows as the engine gets them."""
    return sorted(found.rows, key=lambda row: (row["conversation"], row["frame"], row["index"]))


def beside(*payloads: bytes | None, **how: Any) -> Decoded:
    how.setdefault("ports", (35307, 24945))
    return Decoded(RaimsDecoder(DecodeSettings()), payloads, **how)


def test_the_annotated_message_of_the_reference() -> None:
    found = decoded(ANNOTATED)
    assert found.outcome == [FrameOutcome.DECODED]
    (message,) = found.messages()
    assert message["source"] == "57c5f54bb09cb477f258845886540975"
    assert message["destination"] == "_7500.TICK.A"
    assert (
        message["stream"] == "pgm:918f211d6b39.30849|57c5f54bb09cb477f258845886540975|_7500.TICK.A"
    )
    assert (message["seqno"] >> 35, message["seqno"] & (1 << 35) - 1) == (208990470, 1)
    assert (message["conn_id"] >> 35, message["conn_id"] & (1 << 35) - 1) == (208990469, 16)
    assert message["stamp"] == 1795214469234638651
    assert (message["fresh_id"], message["size"], message["index"]) == (26, 110, 1)


def checked(packet: bytes, change: int = 0) -> bytes:
    """A packet with its checksum, or with that and something more."""
    padded = packet + b"\0" * (len(packet) % 2)
    total = sum(struct.unpack(f">{len(padded) // 2}H", padded)) % 0xFFFF
    right = 0xFFFF - total
    return packet[:6] + struct.pack(">H", (right + change) & 0xFFFF) + packet[8:]


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_packets_with_a_wrong_checksum_are_damaged_and_those_without_one_are_not(size: int) -> None:
    message = data("_1.A", 7, payload=size)
    right = [checked(p) for p in (odata(0, message), spm(1, 0, 0), nak(3), odata(1, message))]
    assert checked(ANNOTATED[:6] + bytes(2) + ANNOTATED[8:]) == ANNOTATED
    assert decoded(*right).outcome == [FrameOutcome.DECODED] * 4
    wrong = checked(odata(1, message), 1)
    found = decoded(right[0], wrong, odata(2, message), wrong[:30], b"\0" * 40)
    assert found.outcome == [
        FrameOutcome.DECODED, FrameOutcome.MALFORMED, FrameOutcome.DECODED,
        FrameOutcome.NOT_CLAIMED, FrameOutcome.NOT_CLAIMED,
    ]  # fmt: skip
    assert [row["seqno"] for row in found.packets()] == [0, 2]
    assert found.account["undecoded"] == {
        "PGM packet with a wrong checksum, which receivers drop": 1
    }
    cut = decoded(wrong, cut=2)
    assert cut.outcome == [FrameOutcome.TRUNCATED]  # nobody can tell


def test_consecutive_odata_are_one_run_and_their_messages_too() -> None:
    found = decoded(*[odata(n, data("_1.A", 7 + n), data("_1.B", 9 + n)) for n in range(4)])
    (packets,) = found.packets()
    assert (packets["seqno"], packets["stop_seqno"], packets["count"]) == (0, 4, 4)
    runs = [(r["destination"], r["seqno"], r["stop_seqno"], r["fresh_id"], r["last_fresh_id"])
            for r in found.messages()]  # fmt: skip
    assert runs == [("_1.A", 7, 11, 0, 3), ("_1.B", 9, 13, 0, 3)]
    assert found.account["messages_by"] == {"pgm": {"ODATA": 4}, "raims": {"DATA": 8}}


@pytest.mark.parametrize(
    "between",
    [odata(2), odata(1, repair=True), spm(1, 0, 0), nak(3), odata(0), None],
    ids=["gap", "RDATA", "SPM", "NAK", "copy", "barrier"],
)
def test_a_packet_out_of_order_ends_the_runs_of_its_link(between: bytes | None) -> None:
    found = decoded(odata(0, data("_1.A", 7)), between, odata(1, data("_1.A", 8)))
    assert [r["count"] for r in found.messages()] == [1, 1]


def test_the_same_messages_on_two_links_are_ordered_against_each_other() -> None:
    other = bytearray(odata(1, data("_1.A", 8)))
    other[8] ^= 1
    found = decoded(odata(0, data("_1.A", 7)), bytes(other), odata(1, data("_1.A", 8)))
    assert [r["seqno"] for r in found.messages()] == [7, 8, 8]


def test_a_chain_stands_alone_and_a_time_ends_a_run_without() -> None:
    found = decoded(odata(0, data("_1.A", 7, chain=3), data("_1.A", 8), data("_1.A", 9, time=None)))
    assert [(r["conn_id"], r["stamp"]) for r in found.messages()] == [
        (3, 5),
        (None, 5),
        (None, None),
    ]


def test_seqnos_keep_the_64_bits_of_the_wire() -> None:
    found = decoded(odata(0, data("_1.A", (1 << 63) + 5), data("_1.A", (1 << 64) - 1)))
    assert [(r["seqno"], r["stop_seqno"]) for r in found.messages()] == [
        (-(1 << 63) + 5, -(1 << 63) + 6), (-1, 0)
    ]  # fmt: skip
    edge = decoded(odata(0, data("_1.A", (1 << 63) - 1)))
    assert [(r["seqno"], r["stop_seqno"]) for r in edge.messages()] == [((1 << 63) - 1,) * 2]


def test_glsno_streams_are_named_by_their_path() -> None:
    found = decoded(
        odata(0, data("_nats.A", 1, options=8, path=2), data("_nats.B", 2, options=8, path=2))
    )
    assert [(r["wire_kind"], r["stream"].rpartition("|")[2], r["destination"], r["seqno"])
            for r in found.messages()] == [
        ("GLSNO", "#2", "_nats.A", 1), ("GLSNO", "#2", "_nats.B", 2)
    ]  # fmt: skip


def test_spm_says_lead_trail_and_an_empty_window() -> None:
    rows = decoded(spm(3, 5, 8), spm(4, 0, 0xFFFFFFFF)).packets()
    assert [(r["wire_kind"], r["kind"], r["seqno"], r["stamp"], r["conn_id"]) for r in rows] == [
        ("SPM", Kind.HIGHEST, 8, 5, 3), ("SPM", Kind.HIGHEST, None, 0, 4)
    ]  # fmt: skip


def test_naks_and_ncfs_with_lists() -> None:
    rows = decoded(nak(7), nak(7, 9, 12), nak(7, 9, sort=10)).packets()
    assert [(r["wire_kind"], json.loads(r["detail"])) for r in rows] == [
        ("NAK", [[7, 8]]),
        ("NAK", [[7, 8], [9, 10], [12, 13]]),
        ("NCF", [[7, 8], [9, 10]]),
    ]


def test_spmr_has_no_body() -> None:
    assert [r["wire_kind"] for r in decoded(pgm(12, b"")).packets()] == ["SPMR"]


def test_rows_of_a_link_are_copied_to_the_raims_conversation() -> None:
    found = decoded(odata(0), spm(0, 0, 0))
    assert [(r["frame"] & 1, r["conversation"], r["stream"]) for r in found.rows] == [
        (frame, conversation, stream)
        for conversation, stream in (
            ("pgm|918f211d6b39.4711", "918f211d6b39.4711"),
            ("raims", "pgm:918f211d6b39.4711|"),
        )
        for frame in (1, 0)
    ]


def test_without_raims_only_packets_are_decoded() -> None:
    found = Decoded(
        PgmDecoder(DecodeSettings(no_decode=frozenset({"raims"}))), [odata(0, data("_1.A", 7))]
    )
    assert [r["conversation"] for r in found.rows] == ["pgm|918f211d6b39.4711"]


@pytest.mark.parametrize("base", [0, 5, (1 << 31) - 2, (1 << 32) - 4, (1 << 32) - 2])
def test_the_trail_is_told_while_something_may_be_missing_below_it(base: int) -> None:
    """Wherever on the circle of sqns they are."""
    sent = [(base + sqn) % (1 << 32) for sqn in range(7)]
    found = decoded(
        odata(sent[0], trail=sent[0]), odata(sent[3], trail=sent[0]),
        odata(sent[4], trail=sent[1]), odata(sent[5], trail=sent[2]),
        odata(sent[6], trail=sent[5]),
    )  # fmt: skip
    trails = [(r["frame"], r["stamp"]) for r in found.packets() if r["wire_kind"] == "TRAIL"]
    first = [(1, base)] if base else []
    assert trails == [*first, (4, sent[2]), (5, sent[5])]


def test_the_trail_is_told_of_numbers_that_begin_again_as_it_is_in_a_new_piece() -> None:
    """A source that has started again under its old name, or two that share one."""
    before = [odata(sqn, trail=sqn - 8) for sqn in (96, 97, 98)]
    again = [odata(16, trail=8), odata(17, trail=9), odata(18, trail=10)]
    told = [
        [r["stamp"] for r in found.packets() if r["wire_kind"] == "TRAIL"][-3:]
        for found in (decoded(*before, *again), decoded(*again))
    ]
    assert told == [[8, 9, 10]] * 2


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("window", "shown", "runs"),
    [
        (3, [], [(0, 1), (2, 4), (4, 8)]),  # 1 falls out of the window with 4
        (50, [odata(1)], [(0, 1), (2, 5), (1, 2), (5, 8)]),  # it is late
        (50, [odata(6, repair=True)], [(0, 1), (2, 5), (6, 7), (5, 6), (6, 8)]),  # and so is 5
        (50, [spm(1, 0, 6)], [(0, 1), (2, 5), (5, 6), (6, 8)]),
        (50, [nak(5, 6, 1)], [(0, 1), (2, 5), (5, 6), (6, 8)]),
    ],
    ids=["window", "late", "RDATA", "SPM", "NAK"],
)
def test_a_run_ends_where_it_matters_when_one_packet_came(
    window: int, shown: list[bytes], runs: list[tuple[int, int]], *, compiled: bool
) -> None:
    """While something is missing in a receive window."""
    sent = [odata(0), odata(2), odata(3), odata(4), *shown, odata(5), odata(6), odata(7)]
    decoder = PgmDecoder(DecodeSettings(receive_windows=(window,)))
    found = Decoded(decoder, sent, compile_it=compiled)
    rows = sorted(found.packets(), key=lambda row: row["frame"])
    came = [row for row in rows if row["wire_kind"] in ("ODATA", "RDATA")]
    assert [(row["seqno"], row["stop_seqno"]) for row in came] == runs


def test_a_large_packet_is_told_beside_its_run() -> None:
    """Of its TSI alone: a row of the link would end the runs of its messages."""
    one, big = data("_1.A", 7), data("_1.A", 8, payload=1600)
    found = decoded(odata(0, one), odata(1, big), odata(2, data("_1.A", 9)))
    of_tsi = found.packets()
    assert [(r["wire_kind"], r["seqno"], r["stop_seqno"], r["count"]) for r in of_tsi] == [
        ("ODATA", 0, 3, 3), ("LARGE", 1, 2, 0),
    ]  # fmt: skip
    assert of_tsi[1]["size"] == len(odata(1, big))
    assert not [r for r in found.rows if r["conversation"] == "raims" and r["wire_kind"] == "LARGE"]


def test_a_message_in_pieces() -> None:
    whole = data("_1.BIG", 7, payload=500, long=True)
    first, second = whole[:300], whole[300:]
    found = decoded(odata(0, piece(0, len(whole), first)), odata(1, piece(300, len(whole), second)))
    rows = found.messages()
    hashes = {json.loads(r["detail"])["hash"] for r in rows}
    assert len(hashes) == 1
    told = {"total": len(whole), "hash": hashes.pop()}
    assert [(r["wire_kind"], r["flags"], json.loads(r["detail"])) for r in rows] == [
        ("DATA", Flag.PARTIAL, {"offset": 0, "piece": 300} | told),
        ("PIECE", 0, {"offset": 300, "piece": len(second)} | told),
    ]
    assert (rows[0]["destination"], rows[0]["seqno"]) == ("_1.BIG", 7)
    wrong = decoded(odata(0, piece(0, len(whole), first, number=7)))
    assert [r["wire_kind"] for r in wrong.messages()] == ["PIECE"]  # begins no message


def test_parity_packets_have_no_sqns_of_their_own() -> None:
    option = struct.pack(">BBH", 0, 4, 8) + struct.pack(">BBBB", 0x88, 4, 0, 0)
    body = struct.pack(">II", 8, 0) + option
    found = decoded(
        odata(0), pgm(5, body, b"parity", options=0x81), pgm(8, nak(3)[16:], options=0x80)
    )
    assert [(r["wire_kind"], r["seqno"]) for r in found.packets()] == [
        ("ODATA", 0), ("PARITY_RDATA", None), ("PARITY_NAK", None)
    ]  # fmt: skip


def test_messages_behind_the_last_piece_are_read() -> None:
    tsdu = piece(300, 310, b"y" * 10) + data("_1.A", 7)
    found = decoded(odata(0, data("_1.A", 6)), odata(1, tsdu))
    assert [r["wire_kind"] for r in found.messages()] == ["DATA", "PIECE", "DATA"]


def test_heartbeats_name_a_member_once() -> None:
    beat = caba(
        "_X.HB", ("seqno", 1), ("start", 77), ("user", "A"), ("host_id", 0x0100_4D0A),
        ("version", "1.47"), ("converge", 99), sort=3, options=16, path=2,
    )  # fmt: skip
    found = decoded(odata(0, beat), odata(1, beat))
    members = [r for r in found.rows if r["kind"] == Kind.MEMBER and r["system"] == "raims"]
    assert [(r["source"], json.loads(r["detail"])) for r in members] == [
        (BRIDGE.hex(), {"address": "10.77.0.1:50000", "name": "A", "version": "1.47"})
    ]
    assert [(r["wire_kind"], r["seqno"]) for r in found.messages()] == [("HB", 1), ("HB", 1)]
    assert json.loads(found.messages()[0]["detail"])["converge"] == 99


def test_subscriptions_concern_every_stream() -> None:
    join = caba("_S.JOIN._1.A", ("seqno", 3), ("subject", "_1.A"), sort=2)
    stop = caba("_P.STOP._1.", ("seqno", 4), ("pattern", "_1.>"), sort=2)
    rows = decoded(odata(0, join, stop)).messages()
    assert [(r["wire_kind"], r["kind"], r["stream"]) for r in rows] == [
        ("JOIN", Kind.SUBSCRIBE, None), ("STOP", Kind.SUBSCRIBE, None)
    ]  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
def test_runs_end_where_another_daemon_subscribes(compiled: bool) -> None:
    """The messages behind it may be wanted, and those before were not."""
    other = b"\7" * 6
    join = caba("_S.JOIN._1.A", ("seqno", 1), ("subject", "_1.A"), sort=2, bridge=bytes(16))
    beat = caba("_X.HB", ("seqno", 1), sort=3, options=16, path=2, bridge=bytes(16))
    for said, rows in ((join, [(7, 9), (9, 11)]), (beat, [(7, 11)])):
        found = decoded(
            odata(0, data("_1.A", 7)), odata(1, data("_1.A", 8)),
            pgm(4, struct.pack(">II", 0, 0), said, gsi=other),
            odata(2, data("_1.A", 9)), odata(3, data("_1.A", 10)), compile_it=compiled,
        )  # fmt: skip
        runs = [r for r in found.messages() if r["wire_kind"] == "DATA"]
        assert [(r["seqno"], r["stop_seqno"]) for r in runs] == rows


def test_what_is_no_message_is_told_on_a_link_that_speaks_raims() -> None:
    found = decoded(odata(0, b"hello"), odata(1, data("_1.A", 7), b"junk"))
    assert [r["wire_kind"] for r in found.messages()] == ["DATA", "UNREAD"]
    assert found.account["undecoded"] == {"raims link: bytes that are no message": 1}


@pytest.mark.parametrize("compiled", [False, True])
def test_what_came_before_a_link_spoke_raims_is_told_to_whoever_has_all_pieces(
    compiled: bool,
) -> None:
    packets = odata(0, b"hello"), odata(1, data("_1.A", 7))
    found = decoded(*packets, compile_it=compiled)
    (link,) = found.account["carried"]
    assert found.account["unread"] == [link]
    assert found.account["undecoded"] == {}
    known = DecodeSettings(carrying=frozenset({(0, link)}))
    again = Decoded(PgmDecoder(known), packets, compile_it=compiled)
    assert sorted(r["wire_kind"] for r in again.messages()) == ["DATA", "UNREAD"]
    assert (again.account["carried"], again.account["unread"]) == ([link], [])
    assert decoded(odata(0, b"hello"), compile_it=compiled).account["carried"] == []


def test_other_traffic_is_not_claimed() -> None:
    packet = odata(0, data("_1.A", 7))
    others = [packet[:-1], packet + b"\0", b"\0" * 40, bytes(range(64)), packet[:10]]
    assert decoded(*others).outcome == [FrameOutcome.NOT_CLAIMED] * 5
    assert decoded(packet, ports=(1, 9999)).outcome == [FrameOutcome.NOT_CLAIMED]
    assert decoded(packet, ports=(1, 3055)).outcome == [FrameOutcome.DECODED]
    assert decoded(packet, ports=(0, 0), protocol=113).outcome == [FrameOutcome.DECODED]
    assert decoded(packet[:-1], ports=(0, 0)).outcome == [FrameOutcome.NOT_CLAIMED]
    forced = PgmDecoder(DecodeSettings(decode_as=(("udp", 9999, "pgm"),)))
    assert Decoded(forced, [packet], ports=(1, 9999)).outcome == [FrameOutcome.DECODED]


@pytest.mark.parametrize("counts", [16, 24], ids=["behind the common header", "all of the packet"])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_tsdu_length_that_counts_headers_is_believed_where_pgm_is_named(
    counts: int, compiled: bool
) -> None:
    """Microsoft's sender counts them, in every packet."""
    packets = []
    for packet in (odata(0, b"first"), odata(1, b"second", repair=True), spm(1, 0, 1)):
        length = len(packet) - (16 if counts == 16 else 0)
        packets.append(packet[:14] + struct.pack(">H", length) + packet[16:])
    how: dict[str, Any] = {"ports": (0, 0), "protocol": 113, "compile_it": compiled}
    found = Decoded(PgmDecoder(DecodeSettings()), packets, **how)
    assert found.outcome == [FrameOutcome.DECODED] * 3
    assert [r["wire_kind"] for r in found.packets()] == ["ODATA", "RDATA", "SPM"]
    elsewhere = Decoded(PgmDecoder(DecodeSettings()), packets, ports=(1, 4711), compile_it=compiled)
    assert elsewhere.outcome == [FrameOutcome.NOT_CLAIMED] * 3


@pytest.mark.parametrize("compiled", [False, True])
def test_polls_and_their_answers_are_packets_of_the_polling_sender(compiled: bool) -> None:
    nla = struct.pack(">HH4s", 1, 0, bytes(4))
    poll = pgm(1, struct.pack(">IHH", 7, 1, 0) + nla + struct.pack(">III", 8, 9, 10))
    answer = pgm(2, struct.pack(">IHH", 7, 1, 0))
    request = pgm(12, b"")
    found = Decoded(
        PgmDecoder(DecodeSettings()), [odata(0, b"x"), poll, answer, request],
        ports=(0, 0), protocol=113, compile_it=compiled,
    )  # fmt: skip
    assert found.outcome == [FrameOutcome.DECODED] * 4
    assert [r["wire_kind"] for r in found.packets()] == ["ODATA", "POLL", "POLR", "SPMR"]
    assert len({r["stream"] for r in found.packets()}) == 1
    assert found.account["messages_by"]["pgm"] == {"POLL": 1, "POLR": 1, "ODATA": 1, "SPMR": 1}


@pytest.mark.parametrize("compiled", [False, True])
def test_ip_protocol_113_that_is_no_pgm_packet_is_counted_with_its_reason(compiled: bool) -> None:
    short = odata(0, b"first")[:-1]
    packets = [short, bytes(40), odata(1, b"x")]
    found = Decoded(
        PgmDecoder(DecodeSettings()), packets, ports=(0, 0), protocol=113, compile_it=compiled
    )
    assert found.outcome == [
        FrameOutcome.UNDECODABLE,
        FrameOutcome.UNDECODABLE,
        FrameOutcome.DECODED,
    ]
    assert found.account["undecoded"] == {REFUSED: 2}


def test_a_cut_packet_is_truncated_and_still_counted() -> None:
    found = decoded(odata(5, data("_1.A", 7)), cut=20)
    assert found.outcome == [FrameOutcome.TRUNCATED]
    assert [r["seqno"] for r in found.packets()] == [5]


def test_inbox_headers_and_messages() -> None:
    receiver = bytes(range(16, 32))
    loss = caba(
        inbox_subject(receiver, "loss"), ("seqno", 1), ("subject", "_1.A"), ("idl_msg_loss", 4),
        ("ms_tot", 4), ("ref_seqno", 1 << 40), sort=1, options=16, path=37,
    )  # fmt: skip
    found = beside(inbox(1, loss), inbox(1, loss, repair=True), inbox(1, sort=1, ack=3, uid=2))
    heads = [r for r in found.rows if r["system"] == "inbox"]
    assert [(r["wire_kind"], r["kind"], r["seqno"], r["conn_id"]) for r in heads] == [
        ("DATA", Kind.DATA, 1, 7 | 2 << 10),
        ("DATA", Kind.RETRANSMISSION, 1, 7 | 2 << 10),
        ("RECV_ACK", Kind.ACK, 3, 7 | 3 << 10),
    ]
    assert heads[0]["stream"] == "inbox:10.77.0.1:35307>239.77.0.1:24945|"
    message = found.messages()[0]
    assert (message["wire_kind"], message["destination"]) == ("LOSS", receiver.hex())
    assert json.loads(message["detail"]) == {
        "idl_msg_loss": 4, "ms_tot": 4, "ref_seqno": 1 << 40, "subject": "_1.A"
    }  # fmt: skip
    assert found.account["messages_by"] == {
        "inbox": {"DATA": 2, "RECV_ACK": 1}, "raims": {"LOSS": 2}
    }  # fmt: skip


def test_the_name_service_is_one_message_a_datagram() -> None:
    name = caba("_X.NAME", ("user", "A"), sort=2)
    found = beside(name, name + b"\0")
    assert found.outcome == [FrameOutcome.DECODED, FrameOutcome.NOT_CLAIMED]
    assert [r["wire_kind"] for r in found.messages()] == ["NAME"]


def test_every_class_of_field_is_read() -> None:
    blob = b"z" * 7
    message = caba(
        "_X.LINK", ("seqno", 70_000), ("time", 1 << 40), ("idl_restart", True), ("user", "odd"),
        ("sync_bridge", bytes(16)), ("auth_key", bytes(64)), ("bloom", blob), ("hops", 1), sort=2,
    )  # fmt: skip
    (row,) = decoded(odata(0, message)).messages()
    assert (row["seqno"], row["stamp"]) == (70_000, 1 << 40)
    assert json.loads(row["detail"]) == {
        "bloom": blob.hex(), "hops": 1, "idl_restart": True, "sync_bridge": "00" * 16,
        "time": 1 << 40, "user": "odd",
    }  # fmt: skip


#: Is the kernel compiled, does it write details?
WAYS = ((False, False), (False, True), (True, True), (True, False))


def telling(make: type[PgmDecoder] | type[RaimsDecoder], tells: bool) -> PgmDecoder | RaimsDecoder:
    decoder = make(DecodeSettings())
    decoder._walk.tells = tells
    return decoder


def both_modes(payloads: list[bytes]) -> None:
    for decoder, ports in ((PgmDecoder, (1, 7239)), (RaimsDecoder, (1, 2))):
        one, *others = (
            Decoded(telling(decoder, tells), payloads, ports=ports, compile_it=compiled)
            for compiled, tells in WAYS
        )
        for other in others:
            assert in_order(one) == in_order(other)
            assert (one.outcome, one.account) == (other.outcome, other.account)


CONTROLS = [
    caba(
        inbox_subject(BRIDGE, "auth"), ("seqno", 3), ("user", "B"), ("host_id", 5),
        ("bloom", b"1234567"), ("idl_restart", True), sort=1, options=16, path=16,
    ),
    caba(inbox_subject(BRIDGE, "ping"), ("stamp", 1 << 40), sort=1, options=16, path=18),
]  # fmt: skip

PACKETS = [
    odata(0, data("_1.A", 7), data("_1.A", 8, chain=4), data("_n.A", 8, options=8)),
    odata(1, piece(0, 900, data("_1.BIG", 7, payload=200))),
    odata(3, caba("_X.HB", ("seqno", 1), ("user", "A"), sort=3, options=16, path=2), repair=True),
    spm(1, 2, 3),
    nak(4, 5, 6),
    inbox(1, data("_1.A", 7)),
    inbox(2, CONTROLS[0] + CONTROLS[1]),
    odata(
        2,
        caba("_S.JOIN._1.A", ("seqno", 3), ("subject", "_1.A"), ("seqno", 4), sort=2),
        caba("_X.HB", ("session", bytes(32)), ("user", "A"), ("version", "1"), sort=3),
    ),
    ANNOTATED,
]


@given(st.data())
@settings(max_examples=75)
def test_damaged_packets_never_raise_and_both_modes_agree(draw: st.DataObject) -> None:
    payloads = []
    for packet in draw.draw(st.lists(st.sampled_from(PACKETS), min_size=1, max_size=6)):
        body = bytearray(packet)
        for _ in range(draw.draw(st.integers(0, 3))):
            place = draw.draw(st.integers(0, len(body) - 1))
            body[place] = draw.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, body[place] ^ 4]))
        payloads.append(bytes(body[: len(body) - draw.draw(st.sampled_from([0, 0, 1, 9]))]))
    both_modes(payloads)


def test_a_request_for_parity_lists_no_numbers_in_any_mode() -> None:
    packet = bytearray(nak(4, 5, 6))
    packet[5] |= 0x80
    both_modes([bytes(packet)])
    (row,) = Decoded(telling(PgmDecoder, True), [bytes(packet)]).packets()
    assert (row["wire_kind"], row["detail"]) == ("PARITY_NAK", None)


def test_what_has_no_room_for_its_text_is_read_by_python() -> None:
    packet = inbox(2, CONTROLS[0] + CONTROLS[1] + CONTROLS[0])
    expected = beside(packet)
    assert [row["wire_kind"] for row in in_order(expected)][1:] == ["DATA", "AUTH", "PING", "AUTH"]
    for room in range(0, 8000, 50):
        decoder = telling(RaimsDecoder, True)
        decoder._walk.text_room = room
        found = Decoded(decoder, [packet], ports=(35307, 24945))
        assert in_order(found) == in_order(expected)
        assert found.account == expected.account


def test_rows_stay_what_they_are_when_the_kernel_goes_on() -> None:
    decoder = telling(PgmDecoder, True)
    first = decoder.decode(datagrams([spm(n, 0, n) for n in range(3)]))
    before = [batch.to_pylist() for batch in first]
    decoder.decode(datagrams([odata(n, CONTROLS[0], CONTROLS[1]) for n in range(9)]))
    assert [batch.to_pylist() for batch in first] == before


def test_odd_control_messages_are_read_alike() -> None:
    """Each field is of each class, twice, and of lengths that do not fit."""
    subjects = [
        "_X.HB",
        "_I.short",
        inbox_subject(BRIDGE, "x"),
        "_S.JOIN.a|b",
        "_P.PSUB.é",
        "?",
        "",
    ]
    headers = [0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0x47, 0x48, 0xC9]
    names = ["session", "user", "seqno", "time", "host_id", "version", "hops", "data"]
    bodies = [bytes(64), b"\xff" * 64, b'\x00\x03ab"' + bytes(64), b"\x00\x00\x00\x20" + b"z" * 64]
    messages = []
    for number, name in enumerate(names):
        for header in headers:
            for body in bodies:
                field = bytes([header, FIELDS.index(name)]) + body
                size = {0x47: 4, 0x48: 38}.get(header, 2 + (2 << (header & 15 or 0)) // 2)
                subject = subjects[(number + header) % len(subjects)]
                sort, path = (1, 16) if number % 2 else (2 + header % 2, 2)
                for cut in (size, size + 1, size + size % 2, 70):
                    plain = caba(subject, ("user", "A"), sort=sort, options=16, path=path)
                    tail = plain[8:] + field[:cut] + b"\xc1\x20\x00\x07"
                    messages.append(plain[:2] + len(tail).to_bytes(2, "big") + plain[4:8] + tail)
    both_modes([odata(number, *messages[number * 4 : number * 4 + 4])
                for number in range(len(messages) // 4)])  # fmt: skip
    both_modes([inbox(number, message) for number, message in enumerate(messages)])


def test_packets_cut_anywhere_never_raise() -> None:
    for packet in PACKETS:
        both_modes([packet[:size] for size in range(len(packet))])
        decoded(packet, cut=len(packet) // 2)


def test_a_tsi_that_carries_raims_says_so_once_in_its_own_conversation() -> None:
    carried = [odata(number, data("_1.A", 1 + number)) for number in range(3)]
    for payloads, told in ((carried, [2]), ([odata(0, b"x" * 80)], [])):
        rows = decoded(spm(1, 0, 0), *payloads).rows
        own = [
            r for r in rows if r["conversation"].startswith("pgm|") and r["wire_kind"] == "RAIMS"
        ]
        assert [(r["frame"], r["kind"], r["count"]) for r in own] == [
            (frame, Kind.MEMBER, 0) for frame in told
        ]
