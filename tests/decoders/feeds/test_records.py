"""Data records of IPFIX: one message at a time is the model that the columns are held against."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.decoders.contract.templates import ExportSession, Template
from seqaudit.decoders.feeds import records
from seqaudit.decoders.feeds.records import BROKEN, UNKNOWN, RecordCounter
from seqaudit.decoders.network.packets import Datagrams
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.feeds.builders import GROUP, SENDER, datagrams
from tests.decoders.feeds.naive import Packet
from tests.decoders.network.builders import ethernet, fragments4, ipv4, pcap, record_offsets, udp

VARIABLE: Final = 0xFFFF


def message(*sets: bytes, domain: int = 1, sequence: int = 0) -> bytes:
    body = b"".join(sets)
    return struct.pack(">HHIII", 10, 16 + len(body), 1_790_000_000, sequence, domain) + body


def a_set(number: int, body: bytes) -> bytes:
    return struct.pack(">HH", number, 4 + len(body)) + body


def template(number: int, *widths: int) -> bytes:
    fields = b"".join(struct.pack(">HH", 8, width) for width in widths)
    return struct.pack(">HH", number, len(widths)) + fields


def datagrams_of(messages: Sequence[bytes], ports: Sequence[int] = ()) -> Datagrams:
    """From one sender; ``ports``: of it, one a message."""
    sources = [(SENDER[0], port) for port in ports] or [SENDER] * len(messages)
    packets = [Packet(by, GROUP, one) for by, one in zip(sources, messages, strict=True)]
    return datagrams(packets, [])


def counted(*messages: bytes, known: Sequence[Template] = ()) -> list[int]:
    found: list[int] = RecordCounter(known).counts(datagrams_of(messages)).tolist()
    return found


LAID_OUT: Final = message(a_set(2, template(256, 4, 8, 4)))


def test_records_are_counted_by_the_template_before_them() -> None:
    assert counted(message(a_set(256, bytes(48)))) == [UNKNOWN]
    assert counted(LAID_OUT, message(a_set(256, bytes(48)))) == [0, 3]
    assert counted(message(a_set(2, template(300, 5)), a_set(300, bytes(10)))) == [2]
    assert counted(message(a_set(300, bytes(10)), a_set(2, template(300, 5)))) == [UNKNOWN]
    assert counted(LAID_OUT, message(a_set(256, bytes(16)), a_set(256, bytes(32)))) == [0, 3]


def test_records_of_options_count_and_templates_do_not() -> None:
    options = struct.pack(">HHH", 257, 2, 1) + struct.pack(">HHHH", 149, 4, 41, 8)
    assert counted(message(a_set(3, options)), message(a_set(257, bytes(24)))) == [0, 2]


def test_an_enterprises_field_has_its_number_behind_it() -> None:
    own = struct.pack(">HH", 256, 2) + struct.pack(">HHIHH", 0x8001, 2, 29305, 8, 4)
    assert counted(message(a_set(2, own)), message(a_set(256, bytes(18)))) == [0, 3]


def test_a_field_of_variable_size_says_its_size() -> None:
    laid_out = message(a_set(2, template(256, 2, VARIABLE, 1)))
    some = b"ab\3xyz!" + b"cd\0!" + b"ef\xff\1\2" + bytes(258) + b"!"
    assert counted(laid_out, message(a_set(256, some)), message(a_set(256, some + b"\0"))) == [
        0, 3, 3,
    ]  # fmt: skip
    assert counted(laid_out, message(a_set(256, b"ab\x09xyz!"))) == [0, UNKNOWN]


@pytest.mark.parametrize(
    ("rest", "records"), [(b"", 2), (bytes(3), 2), (b"\0\1", UNKNOWN), (bytes(8), UNKNOWN)]
)
def test_what_is_left_of_a_set_is_zeros_or_of_another_template(rest: bytes, records: int) -> None:
    assert counted(LAID_OUT, message(a_set(256, bytes(32) + rest))) == [0, records]


def test_up_to_the_next_multiple_of_4_anything_may_be_left() -> None:
    """As MikroTik's exporter has it: 18 records of 79 bytes, and 6b ab."""
    laid_out = message(a_set(2, template(259, 79)))
    assert counted(laid_out, message(a_set(259, bytes(18 * 79) + b"\x6b\xab"))) == [0, 18]


def test_a_template_that_is_withdrawn_is_unknown() -> None:
    data = message(a_set(256, bytes(16)))
    for withdrawn in (struct.pack(">HH", 256, 0), struct.pack(">HH", 2, 0)):
        assert counted(LAID_OUT, message(a_set(2, withdrawn)), data) == [0, 0, UNKNOWN]
    assert counted(LAID_OUT, message(a_set(2, template(256, 8))), data) == [0, 0, 2]


def test_each_domain_and_each_pair_of_ends_has_templates_of_its_own() -> None:
    assert counted(LAID_OUT, message(a_set(256, bytes(16)), domain=2)) == [0, UNKNOWN]
    given = [LAID_OUT, message(a_set(256, bytes(16)))]
    assert RecordCounter().counts(datagrams_of(given, ports=[4000, 4001])).tolist() == [0, UNKNOWN]


@pytest.mark.parametrize(
    "body",
    [b"\1\0\0", b"\1\0\0\3", b"\1\0\0\5", b"\1\0\0\0", a_set(256, b"")[:-1]],
    ids=["too short", "size below 4", "beyond the end", "no size", "cut"],
)
def test_a_message_whose_sets_do_not_fill_it_is_none(body: bytes) -> None:
    assert counted(LAID_OUT, message(a_set(256, bytes(16)), body)) == [0, BROKEN]


def test_what_is_no_message_is_left_alone() -> None:
    assert counted(b"", b"\0\n", b"\0\n\0\x15" + bytes(16), bytes(64)) == [0, 0, 0, 0]


def test_hostile_messages_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    assert counted(message(a_set(256, b"") * 600)) == [BROKEN]
    many = message(a_set(2, template(256, VARIABLE)), a_set(256, bytes(9_000)))
    assert counted(many) == [UNKNOWN]
    monkeypatch.setattr(records, "MOST_TEMPLATES", 1)
    both = message(a_set(2, template(256, 4) + template(257, 4)))
    assert counted(both, message(a_set(256, bytes(8))), message(a_set(257, bytes(8)))) == [
        0, 2, UNKNOWN,
    ]  # fmt: skip


# --- against a model, in pieces ---


class Model:
    """One message after the other, byte by byte."""

    def __init__(self) -> None:
        self.templates: dict[tuple[int, int], list[int]] = {}

    def count(self, message: bytes) -> int:
        """Of what this file writes: no set is damaged."""
        domain = int.from_bytes(message[12:16], "big")
        found, unknown, at = 0, False, 16
        while at < len(message):
            number, size = struct.unpack_from(">HH", message, at)
            body, at = message[at + 4 : at + size], at + size
            if number < 256:
                self._read(domain, body)
                continue
            widths = self.templates.get((domain, number), [])
            place = 0
            while widths and place + sum(1 if w == VARIABLE else w for w in widths) <= len(body):
                for width in widths:
                    long = body[place : place + 1] if width == VARIABLE else b""
                    place += 1 + sum(long) if width == VARIABLE else width
                found += 1
            fits = 0 <= len(body) - place <= 7 and not any(body[place:])
            fits |= 0 <= len(body) - place < 4 and len(body) % 4 == 0
            unknown |= not widths or not fits
        return UNKNOWN if unknown else found

    def _read(self, domain: int, body: bytes) -> None:
        at = 0
        while at + 4 <= len(body):
            number, fields = struct.unpack_from(">HH", body, at)
            widths = [struct.unpack_from(">HH", body, at + 4 + 4 * n)[1] for n in range(fields)]
            at += 4 + 4 * fields
            self.templates[domain, number] = widths


@st.composite
def sessions(draw: st.DrawFn) -> list[bytes]:
    """Messages of two domains; templates change, and some data is of an older one."""
    found = []
    shapes = st.lists(st.sampled_from([1, 3, 8, VARIABLE]), max_size=4)
    for _ in range(draw(st.integers(1, 12))):
        sets = []
        for _ in range(draw(st.integers(0, 4))):
            number = draw(st.integers(256, 258))
            if draw(st.booleans()):
                sets.append(a_set(2, template(number, *draw(shapes))))
                continue
            body = b""
            for width in draw(shapes) * draw(st.integers(0, 5)):
                value = draw(st.integers(0, 3))
                body += bytes([value]) * (1 + value) if width == VARIABLE else bytes([7]) * width
            sets.append(a_set(number, body + bytes(draw(st.sampled_from([0, 0, 2, 9])))))
        found.append(message(*sets, domain=draw(st.integers(1, 2))))
    return found


@settings(max_examples=150)
@given(sessions(), st.data())
def test_columns_say_what_one_message_after_the_other_does(
    messages: list[bytes], data: st.DataObject
) -> None:
    model = Model()
    expected = [model.count(one) for one in messages]
    cut = data.draw(st.integers(0, len(messages)))
    whole = RecordCounter()
    found = whole.counts(datagrams_of(messages[:cut])).tolist()
    found += whole.counts(datagrams_of(messages[cut:])).tolist()
    assert found == expected
    first = RecordCounter()
    first.counts(datagrams_of(messages[:cut]))
    second = RecordCounter([*first.templates()])
    assert second.counts(datagrams_of(messages[cut:])).tolist() == found[cut:]


def test_only_what_a_piece_says_is_handed_on() -> None:
    session = ExportSession("10.0.0.1", 30_000, "239.9.9.9", 9_000, 1)
    counter = RecordCounter([Template(session, 256, (4,))])
    assert [*counter.templates()] == []
    counter.counts(datagrams_of([message(a_set(2, template(257, 4, VARIABLE, 1, 2)))]))
    ((said, number, widths),) = counter.templates()
    assert (said.domain, number, widths) == (1, 257, (4, records.OF_VARIABLE, 3))


# --- through the whole command ---


def exported(count: int = 60) -> list[bytes]:
    """Templates now and then, which change once, data between them, and some that is lost."""
    found, sequence = [], 0
    for n in range(count):
        if n % 20 == 3:
            found.append(message(a_set(2, template(256, 4 + n // 40)), sequence=sequence))
            continue
        records_here = 1 + n % 3
        size = 4 + (n - 3) // 20 * 20 // 40
        data = message(a_set(256, b"\7" * max(size, 4) * records_here), sequence=sequence)
        sequence += records_here
        if n not in (10, 31):
            found.append(data)
    return found


def report_of(path: Path, **options: Any) -> dict[str, Any]:
    feeds = feeds_of(["ipfix@:9000"], [])
    given = Options(engine="direct", feeds=feeds, **options)
    report: dict[str, Any] = json.loads(to_json(audit([CaptureInput(str(path))], given)))
    return report


def test_a_capture_says_the_same_wherever_it_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "ipfix.pcap"
    packets = [ipv4(udp(m, 30_000, 9_000), ident=n) for n, m in enumerate(exported(), 1)]
    times = [1_795_000_000_000_000_000 + 100_000_000 * n for n in range(len(packets))]
    path.write_bytes(pcap([ethernet(packet) for packet in packets], times_ns=times))
    whole = report_of(path)
    (stream,) = whole["streams"]
    assert stream["unrecovered"] == 4  # records of the two messages
    assert whole["captures"][0]["frames_by"]["undecodable"] == 3  # before the first template
    borders = record_offsets(path.read_bytes())
    for compile_it in (False, True):
        cut = {str(path): borders[5:-3:9]}
        assert report_of(path, cuts=cut, compile_it=compile_it) == whole


def test_a_message_in_fragments_is_not_decoded(tmp_path: Path) -> None:
    """What came before it is known where all fragments meet, and not which templates."""
    data = [message(a_set(2, template(256, 4))), message(a_set(256, bytes(80)), sequence=0)]
    data.append(message(a_set(256, bytes(4)), sequence=20))
    first, large, last = (udp(one, 30_000, 9_000) for one in data)
    packets = [ipv4(first, ident=1), *fragments4(large, [48], 2), ipv4(last, ident=3)]
    path = tmp_path / "fragments.pcap"
    path.write_bytes(pcap([ethernet(packet) for packet in packets]))
    report = report_of(path)
    assert report["captures"][0]["frames_by"]["undecodable"] == 2
    assert [f["rule"] for f in report["findings"] if f["certainty"] == "proven"] == ["CP006"]
