"""Feed files: what a good one means, and that every error names file, line and field."""

import contextlib
import random
from dataclasses import replace
from pathlib import Path

import pytest

from seqaudit.decoders.contract.feed_layout import (
    Condition,
    Feed,
    Field,
    Is,
    Message,
    Route,
    Says,
    Type,
)
from seqaudit.decoders.feeds import files
from seqaudit.decoders.feeds.files import load_feed, read_feed, shipped
from seqaudit.decoders.feeds.nodes import FeedError

SMALL = """\
feed: small
fields:
  seqno: {offset: 4, width: 4}
seqno: seqno
"""


def test_a_small_feed_takes_the_defaults() -> None:
    assert read_feed(SMALL, "small.yaml") == Feed(
        name="small", fields=(Field("seqno", 4, 4),), seqno="seqno", wrap=32
    )


def test_the_shipped_feeds_are_feeds_of_the_name_of_their_file() -> None:
    feeds = {name: load_feed(path) for name, path in shipped().items()}
    assert {name: feed.name for name, feed in feeds.items()} == {name: name for name in feeds}
    assert len(feeds) == 32
    assert [name for name, feed in feeds.items() if not (feed.group and feed.about)] == []
    # What is to be copied is from no specification.
    assert [name for name, feed in feeds.items() if not feed.source] == ["example"]


def test_moldudp64_is_read_as_its_specification_says() -> None:
    feed = load_feed(shipped()["moldudp64"])
    assert feed.fields == (
        Field("session", 0, 10, type=Type.TEXT),
        Field("seqno", 10, 8),
        Field("count", 18, 2),
    )
    assert feed.stream == ("destination", "port", "session")
    assert (feed.count, feed.wrap, feed.first) == ("count", 64, 1)
    assert feed.messages[3:] == (
        Message("HEARTBEAT", Is.HEARTBEAT, Says.NEXT, (Condition("count", ((0, 0),)),)),
        Message("END_OF_SESSION", Is.END, Says.NEXT, (Condition("count", ((65535, 65535),)),)),
    )


def test_mask_shift_and_byte_order_of_a_field() -> None:
    feed = read_feed(
        "feed: f\nbyte_order: little\nfields:\n"
        "  a: {offset: 0, width: 4, mask: 0x00ffff00, shift: 8}\n"
        "  b: {offset: 4, width: 2, byte_order: big}\nseqno: a\n",
        "f.yaml",
    )
    assert feed.fields == (Field("a", 0, 4, False, 0xFFFF00, 8), Field("b", 4, 2))
    assert (feed.field("a").bits, feed.wrap) == (16, 16)


def test_numbers_may_begin_anew_at_any_number() -> None:
    feed = read_feed(SMALL + "modulus: 4000\n", "f.yaml")
    assert (feed.space, feed.wrap) == (4000, 12)
    assert read_feed(SMALL + "wrap: 12\n", "f.yaml").space == 4096
    assert read_feed(SMALL.replace("width: 4", "width: 8"), "f.yaml").space == 0


def test_places_are_kept_in_canonical_form() -> None:
    feed = read_feed(
        SMALL + "match:\n- {destination: 239.1.0.0/16, port: 1-9, source: 10.0.0.1/32}\n"
        "- {destination: 'FF05:0::1', source_port: 7}\n",
        "f.yaml",
    )
    assert feed.match == (
        Route("239.1.0.0/16", (1, 9), "10.0.0.1"),
        Route("ff05::1", source_port=(7, 7)),
    )


#: A feed on TCP whose numbers a login tells.
TOLD = """feed: told
fields: {t: {offset: 2, width: 1}, n: {offset: 3, width: 4, of: connection}}
framing: {offset: 0, width: 2}
login: {t: 1}
match: [{port: 9}]
seqno: n
"""

ERRORS = [
    ("", 1, "", "is empty"),
    ("- feed: x\n", 1, "", "is a list, not a map"),
    ("feed: [\n", 2, "", "is not YAML: expected the node content, but found '<stream end>'"),
    ("feed: a\n---\nfeed: b\n", 2, "", "is not YAML: but found another document"),
    ("feed: a\x07\n", 1, "",
     "is not YAML: character 0x7 may not be in it"),
    ("feed: x\nseqno: s\n", 1, "", "has no fields"),
    (SMALL + "feed: y\n", 5, "feed", "is said twice, first in line 1"),
    (SMALL + "sequence: y\n", 5, "sequence", "is no key here"),
    (SMALL.replace("small", "Small"), 1, "feed", "is 'Small'"),
    (SMALL.replace("feed: small", "feed:"), 1, "feed", "is empty, not a word"),
    (SMALL.replace("offset: 4", "offset: 65536"), 3, "fields.seqno.offset",
     "is 65536, not -65535 to 65535"),
    (SMALL.replace("offset: 4", "offset: -3"), 3, "fields.seqno.width",
     "is 4, more than the 3 bytes that are left"),
    (SMALL.replace("width: 4", "width: 4, after: 7"), 3, "fields.seqno.after",
     "is '7', not a map"),
    (SMALL.replace("width: 4", "width: 4, after: {unit: 4}"), 3, "fields.seqno.after",
     "has no field"),
    (SMALL.replace("width: 4", "width: 4, after: {field: size}"), 3, "fields.seqno.after",
     "is 'size', which is no field"),
    (SMALL.replace("width: 4", "width: 4, after: {field: seqno}"), 3, "fields.seqno.after",
     "is seqno, which is no number at a fixed place"),
    (SMALL.replace("width: 4", "width: 4, after: {field: f, unit: 2, sizes: {1: 1}}"), 3,
     "fields.seqno.after", "has unit and sizes"),
    (SMALL.replace("width: 4", "width: 4, after: {field: f, sizes: {0-999: 1}}"), 3,
     "fields.seqno.after.sizes.0-999", "is one of more than 256 values"),
    (SMALL.replace("offset: 4", "offset: -4, after: {field: f}"), 3, "fields.seqno.after",
     "makes no sense where the offset is from the end"),
    (SMALL.replace("width: 4", "width: 4, of: packet"), 3, "fields.seqno.of", "is 'packet'"),
    (SMALL.replace("offset: 4", "offset: -4, of: datagram"), 3, "fields.seqno.of",
     "makes no sense with after or an offset from the end"),
    (SMALL.replace("  seqno", "  t: {offset: -4, width: 2, type: text}\n  seqno"), 3, "fields.t",
     "is text at no fixed place"),
    (SMALL + "repeat: {size: 9}\ntimestamp: {field: seqno, hz: 5}\nrecognise: {seqno: 5}\n", 7,
     "recognise", "is beside repeat and timestamp"),
    (SMALL + "repeat: {size: 9}\ntimestamp: {field: seqno, hz: 5}\nmatch: any\n"
     "require: {seqno: 5}\n", 7, "match", "is beside repeat and timestamp"),
    (SMALL + "step: 0\n", 5, "step", "is 0, not 1 to 4294967296"),
    (SMALL + "step: 3\n", 5, "step", "is 3, and the numbers wrap at 2^32"),
    (SMALL + "step: 4\nwrap: 31\n", 6, "wrap", "is 31, not 2 to 30"),
    (
        SMALL + "count: records\nprotocol: 47\n",
        5,
        "count",
        "is of IPFIX on UDP, one message a datagram",
    ),
    (SMALL + "count: blocks\n", 5, "count", "counts blocks that the file does not describe"),
    (SMALL + "count: {unit: 4}\n", 5, "count", "has no bytes"),
    (SMALL + "protocol: 256\n", 5, "protocol", "is 256, not 1 to 255"),
    (SMALL + "ethertype: 0x88f7\nstream: [source_port]\n", 6, "stream",
     "needs a port, which Ethernet has not"),
    (SMALL + "ethertype: 0x88f7\nmatch:\n- {destination: 10.0.0.1}\n", 6, "match",
     "names an address of IP, which Ethernet has not"),
    (SMALL + "ethertype: 0x86dd\n", 5, "ethertype", "is that of IP"),
    (SMALL + "ethertype: 5\n", 5, "ethertype", "is 5, not 1536 to 65535"),
    (SMALL + "protocol: 50\nethertype: 0x88f7\n", 6, "ethertype", "is beside a protocol of IP"),
    (SMALL + "protocol: 17\n", 5, "protocol", "is 17, which has ports"),
    (SMALL + "protocol: 6\n", 5, "protocol", "is 6, which has ports"),
    (SMALL + "framing: {offset: 0}\n", 5, "framing", "has no width"),
    (SMALL + "framing: {offset: 0, width: 5}\n", 5, "framing.width", "is 5, not 1 to 4"),
    (SMALL + "framing: {offset: 0, width: 2, text: yes}\n", 5, "framing.text",
     "is not told from frames"),
    (SMALL + "framing: {offset: 0, width: 2}\nmatch: any\n", 6, "match",
     "is every connection"),
    (SMALL + "framing: {offset: 0, width: 2}\nprotocol: 50\n", 6, "protocol",
     "is beside framing, which is of TCP"),
    (SMALL + "framing: {offset: 0, width: 2}\nservers: ['10.0.0.1:9']\n", 6, "servers",
     "makes no sense on TCP"),
    (SMALL + "framing: {offset: 0, width: 2}\nmessages:\n- {name: A, is: data, unicast: yes}\n",
     7, "messages[0]", "has a place of its own, on TCP"),
    (SMALL + "login: {seqno: 1}\n", 5, "login", "needs a connection, which TCP has"),
    (SMALL + "framing: {offset: 0, width: 2}\nlogin: {seqno: 1}\n", 6, "login",
     "has one of login and fields of: connection"),
    (TOLD + "count: 2\n", 4, "login", "tells numbers that are not counted one a message"),
    (TOLD + "require: {n: 1}\n", 2, "fields",
     "has n, which is asked for, and not at a fixed place of every message"),
    (TOLD + "messages: [{name: A, is: request, when: {t: 1}}]\n", 7, "messages",
     "has requests or repairs, on TCP with a login"),
    (SMALL.replace("width: 4", "width: 4, type: decimal"), 3, "fields.seqno.type",
     "is read of: connection only"),
    (SMALL + "protocol: 50\nstream: [port]\n", 6, "stream",
     "needs a port, which IP protocol 50 has not"),
    (SMALL + "protocol: 50\nservers: 10.0.0.1:5\n", 6, "servers",
     "needs a port, which IP protocol 50 has not"),
    (SMALL + "protocol: 50\nmatch:\n- {port: 5}\n", 6, "match",
     "names a port, which IP protocol 50 has not"),
    (SMALL + "repeat: 188\n", 5, "repeat", "is '188', not a map"),
    (SMALL + "repeat: {first: 8}\n", 5, "repeat", "has not one of size and length"),
    (SMALL + "repeat: {size: 0}\n", 5, "repeat.size", "is 0, not 1 to 65535"),
    (SMALL + "repeat: {size: 8, adds: 2}\n", 5, "repeat.adds", "makes no sense without length"),
    (SMALL + "repeat: {length: size}\n", 5, "repeat.length",
     "is 'size', which is no field"),
    (SMALL + "repeat: {length: seqno, adds: {field: size}}\n", 5, "repeat.adds",
     "is 'size', which is no field"),
    (SMALL + "like: nothing\n", 5, "like", "is 'nothing'"),
    (SMALL + "repeat: {size: 8, count: seqno}\n", 5, "repeat.count",
     "is seqno, which every unit has of its own"),
    (SMALL.replace("offset: 4", "offset: 010"), 3, "fields.seqno.offset",
     "is '010', not a whole number"),
    (SMALL.replace("width: 4", "width: 9"), 3, "fields.seqno.width", "is 9, not 1 to 8"),
    (SMALL.replace("width: 4", "wide: 4"), 3, "fields.seqno.wide", "is no key here"),
    (SMALL.replace(", width: 4", ""), 3, "fields.seqno", "has no width"),
    (SMALL.replace("width: 4", "width: 1, mask: 0x100"), 3, "fields.seqno.mask",
     "is 0x100, not 1 to 255"),
    (SMALL.replace("width: 4", "width: 1, shift: 8"), 3, "fields.seqno.shift",
     "is 8, not 0 to 7"),
    (SMALL.replace("width: 4", "width: 1, mask: 1, shift: 1"), 3, "fields.seqno",
     "has no bits left after mask and shift"),
    (SMALL.replace("width: 4", "width: 1, byte_order: mid"), 3, "fields.seqno.byte_order",
     "is 'mid'"),
    (SMALL.replace("width: 4", "width: 33, type: text"), 3, "fields.seqno.width",
     "is 33, not 1 to 32"),
    (SMALL.replace("width: 4", "width: 4, type: text, mask: 1"), 3, "fields.seqno.mask",
     "makes no sense for text"),
    (SMALL.replace("width: 4", "width: 4, type: text"), 4, "seqno", "is seqno, which is text"),
    (SMALL.replace("seqno: {", "port: {"), 3, "fields.port", "is no name for a field"),
    (SMALL.replace("\n  seqno: {offset: 4, width: 4}", " {}"), 2, "fields", "is empty"),
    (SMALL.replace("seqno: seqno", "seqno: number"), 4, "seqno",
     "is 'number', which is no field"),
    (SMALL.replace("width: 4", "width: 1, mask: 1"), 4, "seqno", "has 1 bits"),
    (SMALL + "wrap: 33\n", 5, "wrap", "is 33, not 2 to 32"),
    (SMALL + "modulus: 2\n", 5, "modulus", "is 2, not 3 to 4294967296"),
    (SMALL + "wrap: 12\nmodulus: 4000\n", 6, "modulus", "is beside wrap"),
    (SMALL + "step: 2\nmodulus: 4294967296\n", 6, "modulus", "is 4294967296, not 3 to 2147483648"),
    (SMALL + "modulus: 4000\nfirst: 1\n", 6, "first", "says where numbers begin, but they wrap"),
    (SMALL + "first: 1\n", 5, "first", "says where numbers begin, but they wrap"),
    (SMALL + "byte_order: BIG\n", 5, "byte_order", "is 'BIG'"),
    (SMALL + "stream: destination\n", 5, "stream", "is 'destination', not a list"),
    (SMALL + "stream: [port, host]\n", 5, "stream[1]", "is 'host', which is no field"),
    (SMALL + "stream: [port, port]\n", 5, "stream", "names a part twice"),
    (SMALL + "stream: []\n", 5, "stream", "is empty"),
    (SMALL + "count: 0\n", 5, "count", "is 0, not 1 to 65535"),
    (SMALL + "count: length\n", 5, "count", "is 'length', which is no field"),
    (SMALL + "match: 5\n", 5, "match", "is '5'"),
    (SMALL + "match: []\n", 5, "match", "is empty"),
    (SMALL + "match:\n- {}\n", 6, "match[0]", "is empty"),
    (SMALL + "match:\n- {port: 70000}\n", 6, "match[0].port",
     "is '70000', a port is at most 65535"),
    (SMALL + "match:\n- {port: 9-1}\n", 6, "match[0].port", "is '9-1', which is empty"),
    (SMALL + "match:\n- {destination: 10.0.0.1/8}\n", 6, "match[0].destination",
     "is '10.0.0.1/8', has host bits set"),
    (SMALL + "match:\n- {source: host}\n", 6, "match[0].source",
     "is 'host', no address or network"),
    (SMALL + "match:\n- {group: 1.2.3.4}\n", 6, "match[0].group", "is no key here"),
    (SMALL + "require: {seqno: 5-1}\n", 5, "require.seqno", "is '5-1', which is empty"),
    (SMALL + "require: {seqno: []}\n", 5, "require.seqno", "is empty"),
    (SMALL + "require: {seqno: 0x100000000}\n", 5, "require.seqno",
     "is beyond 4294967295, the most that seqno can be"),
    (SMALL + "require: {seqno: printable}\n", 5, "require.seqno", "is 'printable'"),
    (SMALL.replace("  seqno", "  t: {offset: 0, width: 2, type: text}\n  seqno")
     + "recognise: {t: 1}\n", 6, "recognise.t", "is '1'"),
    (SMALL + "messages:\n- {name: R, is: data, length: x}\n", 6, "messages[0].length",
     "is 'x'"),
    (SMALL + "messages:\n- {name: R, is: data, unicast: 1}\n", 6, "messages[0].unicast",
     "is '1'"),
    (SMALL + "require: {version: 2}\n", 5, "require.version", "is no field"),
    (SMALL + "timestamp: {hz: 5}\n", 5, "timestamp", "has no field"),
    (SMALL + "timestamp: {field: seqno, hz: 0}\n", 5, "timestamp.hz",
     "is 0, not 1 to 1000000000000"),
    (SMALL + "timestamp: {field: seqno, by: seqno}\n", 5, "timestamp",
     "has one of by and rates"),
    (SMALL + "timestamp: {field: seqno, by: seqno, rates: {x: 5}}\n", 5, "timestamp.rates.x",
     "is 'x'"),
    (SMALL + "blocks: {offset: 20}\n", 5, "blocks", "has no width"),
    (SMALL + "blocks: {offset: 20, width: 5}\n", 5, "blocks.width", "is 5, not 1 to 4"),
    (SMALL + "messages: [{is: data}]\n", 5, "messages[0]", "has no name"),
    (SMALL + "messages:\n- name: HB\n  is: hb\n", 7, "messages[0].is", "is 'hb'"),
    (SMALL + "messages:\n- {name: H B, is: data}\n", 6, "messages[0].name", "is 'H B'"),
    (SMALL + "messages:\n- {name: R, is: request}\n", 6, "messages[0]",
     "makes every datagram a request"),
    (SMALL + "messages:\n- {name: R, is: data, says: next}\n", 6, "messages[0].says",
     "makes no sense for data"),
    (SMALL + "messages:\n- {name: R, is: request, to: client}\n", 6, "messages[0].to",
     "is 'client'"),
    (SMALL + "messages:\n- {name: R, is: request, to: server, match: any}\n", 6, "messages[0]",
     "has match and a server"),
    (SMALL + "messages:\n- {name: R, is: data}\n- {name: R, is: ignore}\n", 7, "messages[1]",
     "has the name R of another sort"),
    (SMALL + "lines:\n- {A: 239.1.1.1:5, C: 239.1.1.2:5}\n", 6, "lines[0].C", "is no key here"),
    (SMALL + "lines:\n- {A: 239.1.1.1:5}\n", 6, "lines[0]", "is not A and B"),
    (SMALL + "lines:\n- {A: 239.1.1.1, B: 239.1.1.2:5}\n", 6, "lines[0].A",
     "is '239.1.1.1', not an address and a port"),
    (SMALL + "lines:\n- {A: 239.1.1.1:5, B: 239.1.1.1:5}\n", 6, "lines[0].B",
     "is lines[0].A already"),
    (SMALL + "servers: 10.0.0.1\n", 5, "servers", "is '10.0.0.1', not an address and a port"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "field", "problem"), ERRORS)
def test_an_error_names_file_line_and_field(
    text: str, line: int | None, field: str, problem: str
) -> None:
    with pytest.raises(FeedError) as caught:
        read_feed(text, "my.yaml")
    error = caught.value
    assert (error.line, error.field, error.problem) == (line, field, problem)
    shown = str(error)
    assert shown.startswith("my.yaml" + (f" line {line}" if line else ""))
    assert "\n" not in shown and shown.count("; ") >= 1


WRONG = (
    "", "7", "-1", "x", "yes", "[]", "[1]", "[[1]]", "{}", "{a: 1}", "{1: {2: 3}}", "!!int x",
    "9999999999999999999999", "2001-01-01", "~", "[{}]", "{offset: {}, width: []}", "&a [*a]",
)  # fmt: skip


@pytest.mark.parametrize("key", files.KEYS)
def test_whatever_a_key_says_is_a_feed_or_an_error_of_that_key(key: str) -> None:
    others = [line for line in SMALL.splitlines() if not line.startswith((f"{key}:", "  "))]
    if key != "fields":
        others.insert(others.index("fields:") + 1, "  seqno: {offset: 4, width: 4}")
    for value in WRONG:
        text = "\n".join([*others, f"{key}: {value}"]) + "\n"
        with contextlib.suppress(FeedError):
            assert read_feed(text, "my.yaml").name
            continue
        with pytest.raises(FeedError) as caught:
            read_feed(text, "my.yaml")
        error = caught.value
        assert error.line is None or error.line <= len(others) + 1
        # The key, or what names something that it no longer has.
        assert error.field.startswith(key) or not error.field or key == "fields"


def test_a_file_in_which_every_key_is_wrong_names_the_first() -> None:
    text = "".join(f"{key}: {{nothing: right}}\n" for key in files.KEYS)
    with pytest.raises(FeedError) as caught:
        read_feed(text, "my.yaml")
    assert str(caught.value) == (
        "my.yaml line 1, feed: is a map, not a word; give it a name such as my-feed"
    )


def test_a_file_that_is_not_text_or_not_there(tmp_path: Path) -> None:
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"feed: x\n\xff\n")
    with pytest.raises(FeedError, match="line 2: is not UTF-8 text"):
        load_feed(binary)
    with pytest.raises(FeedError, match="cannot be read"):
        load_feed(tmp_path / "none.yaml")
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(FeedError, match="has more than 1048576 bytes"):
        load_feed(large)


def test_hostile_yaml_is_an_error_and_runs_nothing() -> None:
    for text in (
        "!!python/object/apply:os.system ['false']",
        "[" * 5000,
        "feed: &a [*a]",
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nfeed: [*b,*b,*b,*b,*b]",
    ):
        with pytest.raises(FeedError):
            read_feed(text, "x.yaml")


def test_any_change_to_a_feed_file_is_a_feed_or_one_line() -> None:
    """Words, indents and characters changed at random in the files that come with the tool."""
    words = ["-1", "9", "null", "[]", "{}", "*a", "&a 1", "0x", "!!binary aGVsbG8=", "233.1.1.1/33"]
    for seed in range(400):
        chance = random.Random(seed)
        lines = chance.choice(list(shipped().values())).read_text(encoding="utf-8").splitlines()
        for _ in range(chance.choice([1, 1, 3])):
            at = chance.randrange(len(lines))
            key, colon, _ = lines[at].partition(": ")
            place = chance.randrange(len(lines[at]) + 1)
            lines[at] = chance.choice(
                [
                    f"{key}{colon}{chance.choice(words)}",
                    f"  {lines[at]}",
                    lines[at][:place]
                    + chance.choice("0aZ:{}[]-\"'#&*!|>%@\x07")
                    + lines[at][place:],
                    f"{lines[at]}\n{chance.choice(lines)}",
                ]
            )
        try:
            read_feed("\n".join(lines), "F")
        except FeedError as problem:
            assert str(problem).startswith("F line ")
            assert "\n" not in str(problem)
            assert problem.problem and problem.advice


def test_a_file_may_say_only_how_it_differs_from_a_shipped_feed() -> None:
    base = load_feed(shipped()["sv-4000"])
    text = "feed: sv-14400\nlike: sv-4000\nabout: another rate\nmodulus: 14400\n"
    own = read_feed(text, "own.yaml")
    assert own == replace(base, name="sv-14400", about="another rate", modulus=14_400, wrap=14)
    assert (own.where, own.source) == ("own.yaml", base.source)
    assert load_feed(shipped()["sv-4800"]).fields == base.fields
