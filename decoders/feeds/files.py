"""Feed files: YAML in, ``feeds.Feed`` out (decoders/README.md 5, cli/README.md 2).

The file is read as PyYAML's graph of nodes, so every error can name file, line and field, and
nothing in it is ever executed. ``shipped`` lists the files that come with the tool; ``given`` is
what the command line says: NAME or FILE, optionally with places and options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from seqaudit.decoders.contract.feed_layout import (
    LINE_NAMES,
    NETWORK_PARTS,
    PLACE_PARTS,
    UNWRAPPED_BITS,
    After,
    Blocks,
    Condition,
    Counted,
    Counting,
    Feed,
    Field,
    Is,
    Line,
    Message,
    Repeat,
    Route,
    Says,
    Timestamp,
    Type,
)
from seqaudit.decoders.feeds import carriage
from seqaudit.decoders.feeds.ends import END_ADVICE, parse_end, parse_network, parse_ports
from seqaudit.decoders.feeds.nodes import NUMBER, FeedError, Node

#: A feed file is a page; what is larger is something else.
MOST_BYTES: Final = 1 << 20
#: Bounds of what a kernel's tables hold.
MOST_FIELDS: Final = 64
MOST_MESSAGES: Final = 60
MOST_KEY_BYTES: Final = 64
MOST_OFFSET: Final = 65535
MOST_SIZES: Final = 256

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
FIELD_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
MESSAGE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_PARTS: Final = (*PLACE_PARTS, *NETWORK_PARTS)
_COUNTED: Final = (Counting.BLOCKS, Counting.RECORDS)
_NUMBER_LIMIT: Final = (1 << 63) - 1
_MOST_STEP: Final = 1 << 32

KEYS: Final = (
    "feed", "like", "about", "protocol", "ethertype", "framing", "login", "match", "require",
    "recognise", "byte_order", "fields", "stream", "seqno", "count", "step", "repeat", "wrap",
    "modulus", "first", "group", "source", "timestamp", "blocks", "messages", "lines", "servers",
    "confidence", "confirmed",
)  # fmt: skip


def shipped() -> dict[str, Path]:
    """The feeds that come with the tool, by name."""
    folder = Path(__file__).parent / "shipped"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load_feed(path: str | Path) -> Feed:
    """The feed of a file.

    Raises:
        FeedError: it cannot be read, or is no feed.
    """
    shown = str(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise FeedError(
            shown, None, "", f"cannot be read ({reason})", "seqaudit feeds lists the shipped ones"
        ) from problem
    if len(content) > MOST_BYTES:
        raise FeedError(
            shown, None, "", f"has more than {MOST_BYTES} bytes", "a feed file is a page of YAML"
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise FeedError(
            shown, content[: problem.start].count(b"\n") + 1, "", "is not UTF-8 text",
            "save it as UTF-8",
        ) from problem  # fmt: skip
    return read_feed(text, shown)


def read_feed(text: str, path: str) -> Feed:
    """The feed of a file's text; ``path`` is for errors and ``Feed.where``."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = mark.line + 1 if mark else None
        what = problem.problem or "a mistake"
        raise FeedError(
            path, line, "", f"is not YAML: {what}", "mind indents, colons, quotes"
        ) from (problem)
    except yaml.reader.ReaderError as problem:
        line = text[: problem.position].count("\n") + 1
        what = f"is not YAML: character {ord(text[problem.position]):#x} may not be in it"
        raise FeedError(path, line, "", what, "write it as text") from problem
    except (yaml.YAMLError, RecursionError) as problem:
        what = str(problem).splitlines()[0] if isinstance(problem, yaml.YAMLError) else "too deep"
        raise FeedError(path, None, "", f"is not YAML: {what}", "write it as text") from problem
    if root is None:
        raise FeedError(path, 1, "", "is empty", "seqaudit feeds show example prints one to copy")
    return _feed(Node(path, "", root))


# --- what a file may say ---


_ADVICE: Final = "seqaudit feeds show example prints one to copy"


def _with_like(own: dict[str, Node]) -> dict[str, Node]:
    """What a file says, and what the shipped feed that it is like says beside that."""
    if "like" not in own:
        return own
    path = shipped()[own["like"].word(tuple(shipped()))]
    base = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    assert base is not None, "a shipped feed says something"
    return _with_like(Node(str(path), "", base).map(KEYS, _ADVICE)) | own


def _feed(root: Node) -> Feed:
    own = root.map(KEYS, _ADVICE)
    name = own["feed"].text("give it a name such as my-feed") if "feed" in own else ""
    entries = _with_like(own) if name else own
    for key in ("feed", "fields", "seqno"):
        if key not in (own if key == "feed" else entries):
            root.fail(f"has no {key}", _ADVICE)
    if not NAME.fullmatch(name):
        entries["feed"].fail(f"is {name!r}", "a name is small letters, digits and -, up to 40")
    big_endian = True
    if "byte_order" in entries:
        big_endian = entries["byte_order"].word(("big", "little")) == "big"
    fields = _fields(entries["fields"], big_endian)
    feed = Feed(name=name, fields=tuple(fields.values()), seqno="", where=root.path)
    return _checked(replace(feed, **_rest(entries, fields, big_endian)), entries)


def _rest(entries: dict[str, Node], fields: dict[str, Field], big: bool) -> dict[str, Any]:
    """What is said beside name and fields."""
    seqno = fields[_known(entries["seqno"], fields)]
    if seqno.type != Type.DECIMAL:
        seqno = _number_field(entries["seqno"], fields)
    said: dict[str, Any] = {"seqno": seqno.name}
    readers: dict[str, Callable[[Node], Any]] = {
        "about": lambda node: node.text("write one line"),
        "match": _places,
        "require": lambda node: _conditions(node, fields, texts=True),
        "recognise": lambda node: _conditions(node, fields, texts=True),
        "stream": lambda node: _stream(node, fields),
        "repeat": lambda node: _repeat(node, fields),
        "group": lambda node: node.text("write the heading to list it under"),
        "protocol": lambda node: node.number(1, 255, "write the number of an IP protocol"),
        "ethertype": lambda node: node.number(
            0x0600, 0xFFFF, "write a type of Ethernet, as 0x88f7"
        ),
        "framing": lambda node: carriage.framing(node, big),
        "login": lambda node: _conditions(node, fields),
        "source": lambda node: node.text("write the specification that it is from"),
        "step": lambda node: node.number(1, _MOST_STEP, "write by how much the numbers grow"),
        "timestamp": lambda node: _timestamp(node, fields),
        "blocks": lambda node: _blocks(node, big),
        "messages": lambda node: _messages(node, fields),
        "lines": _lines,
        "servers": lambda node: tuple(
            each.parsed(parse_end, END_ADVICE) for each in _one_or_more(node, END_ADVICE)
        ),
        "first": lambda node: node.number(0, _NUMBER_LIMIT, "write the first number, such as 1"),
        "confidence": lambda node: node.word(("high", "medium", "low")),
        "confirmed": lambda node: node.word(("yes", "no")) == "yes",
    }
    for key, read in readers.items():
        if key in entries:
            said[key] = read(entries[key])
    if said.get("confidence"):
        said.setdefault("confirmed", False)  # what was inferred stays so until a person says yes
    if "count" in entries:
        said |= _count(entries["count"], fields)
        if said.get("counted") == Counted(Counting.BLOCKS) and "blocks" not in said:
            entries["count"].fail("counts blocks that the file does not describe", "add blocks")
    bits = seqno.bits
    if (step := said.get("step", 1)) > 1:
        if bits < UNWRAPPED_BITS and step & (step - 1):
            entries["step"].fail(
                f"is {step}, and the numbers wrap at 2^{bits}", "write 2, 4, 8 ... where they wrap"
            )
        bits = max(bits - step.bit_length() + 1, 0) if bits < UNWRAPPED_BITS else bits
    said["wrap"] = bits
    if "wrap" in entries:
        said["wrap"] = entries["wrap"].number(
            2, bits, f"{seqno.name} has {bits} bits; the numbers wrap at these or fewer"
        )
    elif bits < 2:
        entries["seqno"].fail(f"has {bits} bits", "numbers have 2 or more")
    if "modulus" in entries:
        if "wrap" in entries:
            entries["modulus"].fail("is beside wrap", "leave one out")
        most = 1 << min(bits, UNWRAPPED_BITS - 1)
        said["modulus"] = entries["modulus"].number(
            3, most, f"{seqno.name} has {bits} bits; write how many numbers there are"
        )
        said["wrap"] = (said["modulus"] - 1).bit_length()
    return said


def _checked(feed: Feed, entries: dict[str, Node]) -> Feed:
    """What needs more than one part to be seen."""
    if feed.first and feed.wrap < UNWRAPPED_BITS:
        entries["first"].fail(
            "says where numbers begin, but they wrap", "leave it out where wrap is under 63"
        )
    if any(place.anywhere for place in feed.match) and len(feed.match) > 1:
        entries["match"].fail("has an entry that is anywhere beside others", "leave one out")
    found = feed.at((Route(),)) if feed.recognise else feed
    if found.on_probation and feed.repeat and feed.timestamp:  # no clock of units is looked at
        entries["recognise" if feed.recognise else "match"].fail(
            "is beside repeat and timestamp", "leave one of them out, or give the place"
        )
    feed = carriage.checked(feed, entries)
    for number, message in enumerate(feed.messages):
        asks = message.sort == Is.REQUEST
        if asks and not (message.when or message.match or message.to_server):
            entries["messages"].list("")[number].fail(
                "makes every datagram a request", "say when, match or to: server"
            )
        if (message.to_server or message.from_server) and message.match:
            entries["messages"].list("")[number].fail("has match and a server", "leave one out")
    return feed


def _fields(node: Node, big_endian: bool) -> dict[str, Field]:
    advice = "write lines such as seqno: {offset: 10, width: 8}"
    entries = node.map(None, advice)
    if not entries:
        node.fail("is empty", advice)
    if len(entries) > MOST_FIELDS:
        node.fail(f"has {len(entries)} fields, {MOST_FIELDS} is the most", "name those in use")
    fields = {name: _field(name, entry, big_endian) for name, entry in entries.items()}
    for name, entry in entries.items():
        after = fields[name].after
        if after is None:
            continue
        _told(entry.map(None, advice)["after"], after, fields)
    return fields


def _told(said: Node, after: After, fields: dict[str, Field]) -> After:
    """What of variable size there is, told by a number at a fixed place."""
    if after.field not in fields:
        said.fail(f"is {after.field!r}, which is no field", f"name one of {', '.join(fields)}")
    before = fields[after.field]
    if before.is_loose or before.type != Type.NUMBER:
        said.fail(
            f"is {before.name}, which is no number at a fixed place",
            "name a field with an offset of its own",
        )
    return after


def _field(name: str, node: Node, big_endian: bool) -> Field:
    if not FIELD_NAME.fullmatch(name) or name in _PARTS:
        node.fail(
            "is no name for a field",
            f"names are small letters, digits and _, and none of {', '.join(_PARTS)}",
        )
    keys = ("offset", "width", "byte_order", "mask", "shift", "type", "after", "of")
    entries = node.map(keys, "write such as {offset: 10, width: 8}")
    for key in ("offset", "width"):
        if key not in entries:
            node.fail(f"has no {key}", "write such as {offset: 10, width: 8}")
    kind = Type(entries["type"].word(tuple(Type))) if "type" in entries else Type.NUMBER
    most = 8 if kind == Type.NUMBER else 32
    offset = entries["offset"].number(
        -MOST_OFFSET, MOST_OFFSET,
        "count bytes from the payload's first, 0, or with a minus from behind its last",
    )  # fmt: skip
    width = entries["width"].number(1, most, f"a {kind} is 1 to {most} bytes wide")
    if offset < 0 and width > -offset:
        entries["width"].fail(
            f"is {width}, more than the {-offset} bytes that are left", "begin further before"
        )
    if "byte_order" in entries:
        big_endian = entries["byte_order"].word(("big", "little")) == "big"
    every = (1 << 8 * width) - 1
    mask, shift = -1, 0
    for key in ("byte_order", "mask", "shift"):
        if key in entries and kind != Type.NUMBER:
            entries[key].fail(f"makes no sense for {kind}", "leave it out")
    if "mask" in entries:
        mask = entries["mask"].number(1, every, f"write bits of the {width} bytes, such as 0x7f")
    if "shift" in entries:
        shift = entries["shift"].number(
            0, 8 * width - 1, "write by how many bits the masked value moves right"
        )
    after = _after(entries["after"]) if "after" in entries else None
    if after is not None and offset < 0:
        entries["after"].fail("makes no sense where the offset is from the end", "leave one out")
    of = entries["of"].word(("datagram", "unit", "connection")) if "of" in entries else "unit"
    if of != "unit" and (after is not None or offset < 0):
        entries["of"].fail("makes no sense with after or an offset from the end", "leave one out")
    if kind == Type.DECIMAL and of != "connection":
        entries["type"].fail("is read of: connection only", "write number, or of: connection")
    field = Field(
        name, offset, width, big_endian, mask, shift, kind, after, of == "datagram",
        of == "connection",
    )  # fmt: skip
    if field.is_loose and kind != Type.NUMBER:
        node.fail(f"is {kind} at no fixed place", "only numbers can be there")
    if kind == Type.NUMBER and field.bits == 0:
        node.fail("has no bits left after mask and shift", "widen the mask or shift less")
    return field


def _after(node: Node) -> After:
    """What of variable size comes before a field."""
    advice = "write such as {field: options, unit: 4} or {field: family, sizes: {1: 4, 2: 16}}"
    entries = node.map(("field", "unit", "sizes"), advice)
    if "field" not in entries:
        node.fail("has no field", advice)
    if "unit" in entries and "sizes" in entries:
        node.fail("has unit and sizes", "leave one out")
    unit = entries["unit"].number(1, MOST_OFFSET, "write bytes") if "unit" in entries else 1
    sizes: list[tuple[int, int]] = []
    if "sizes" in entries:
        for text, each in entries["sizes"].map(None, advice).items():
            low, high = _range(each, text)
            if high - low >= MOST_SIZES or len(sizes) + high - low >= MOST_SIZES:
                each.fail(f"is one of more than {MOST_SIZES} values", "use unit for a length")
            size = each.number(0, MOST_OFFSET, "write bytes")
            sizes += [(value, size) for value in range(low, high + 1)]
    return After(entries["field"].text(advice), unit, tuple(sizes))


def _repeat(node: Node, fields: dict[str, Field]) -> Repeat:
    """Several units in one datagram."""
    advice = "write such as {size: 188} or {first: 8, length: length, adds: 2}"
    entries = node.map(("first", "size", "length", "unit", "adds", "count"), advice)
    if ("size" in entries) == ("length" in entries):
        node.fail("has not one of size and length", advice)
    for key in ("unit", "adds"):
        if key in entries and "length" not in entries:
            entries[key].fail("makes no sense without length", "leave it out")

    def number(key: str, low: int, default: int) -> int:
        return entries[key].number(low, MOST_OFFSET, "write bytes") if key in entries else default

    length = _number_field(entries["length"], fields) if "length" in entries else None
    if length is not None and length.is_loose:
        entries["length"].fail(f"is {length.name}, at no fixed place", "give it an offset")
    count = _number_field(entries["count"], fields) if "count" in entries else None
    if count is not None and not count.of_datagram:
        entries["count"].fail(
            f"is {count.name}, which every unit has of its own", "give the field of: datagram"
        )
    adds = entries.get("adds")
    by_field = _told(adds, _after(adds), fields) if adds is not None and adds.is_map else None
    size = 0
    if by_field is None:
        size = number("size", 1, 1) if length is None else number("adds", 0, 0)
    return Repeat(
        number("first", 0, 0), size, "" if length is None else length.name, number("unit", 1, 1),
        "" if count is None else count.name, by_field,
    )  # fmt: skip


def _known(node: Node, fields: dict[str, Field], also: Sequence[str] = ()) -> str:
    names = ", ".join([*also, *fields])
    name = node.text(f"name one of {names}")
    if name not in fields and name not in also:
        node.fail(f"is {name!r}, which is no field", f"name one of {names}")
    return name


def _number_field(node: Node, fields: dict[str, Field]) -> Field:
    field = fields[_known(node, fields)]
    if field.type != Type.NUMBER:
        node.fail(f"is {field.name}, which is {field.type}", "name a field of type number")
    return field


def _stream(node: Node, fields: dict[str, Field]) -> tuple[str, ...]:
    advice = "write such as [destination, port, session]"
    parts = [_known(each, fields, _PARTS) for each in node.list(advice)]
    if len(set(parts)) < len(parts):
        node.fail("names a part twice", "leave one out")
    if not parts:
        node.fail("is empty", advice)
    size = sum(
        8 if fields[p].type == Type.NUMBER else fields[p].width for p in parts if p in fields
    )
    if size > MOST_KEY_BYTES:
        node.fail(f"has fields of {size} bytes, {MOST_KEY_BYTES} is the most", "leave some out")
    return tuple(parts)


def _count(node: Node, fields: dict[str, Field]) -> dict[str, Any]:
    """``count``, or what is ``counted``."""
    advice = "write a number, a field's name, blocks, records or such as {bytes: 20}"
    if node.is_map:
        entries = node.map(("bytes", "unit"), advice)
        if "bytes" not in entries:
            node.fail("has no bytes", advice)
        start = entries["bytes"].number(0, MOST_OFFSET, "write how many bytes come before them")
        unit = entries["unit"].number(1, MOST_OFFSET, "write bytes") if "unit" in entries else 1
        return {"counted": Counted(Counting.BYTES, start, unit)}
    if isinstance(node.node, yaml.ScalarNode) and NUMBER.fullmatch(node.node.value):
        return {"count": node.number(1, 65535, "write how many numbers a unit takes")}
    if node.text(advice) in _COUNTED and node.text(advice) not in fields:
        return {"counted": Counted(Counting(node.text(advice)))}
    return {"count": _number_field(node, fields).name}


def _timestamp(node: Node, fields: dict[str, Field]) -> Timestamp:
    entries = node.map(("field", "hz", "by", "rates"), "write such as {field: time, hz: 90000}")
    if "field" not in entries:
        node.fail("has no field", "write such as {field: time, hz: 90000}")
    name = _number_field(entries["field"], fields).name
    if not 8 <= fields[name].bits <= 63:
        entries["field"].fail(f"has {fields[name].bits} bits", "a clock has 8 to 63 bits")
    most = 1_000_000_000_000
    hz = entries["hz"].number(1, most, "write ticks a second") if "hz" in entries else None
    by = None
    rates: list[tuple[int, int, int]] = []
    if ("by" in entries) != ("rates" in entries):
        node.fail("has one of by and rates", "write both: by: FIELD, rates: {0-8: 8000}")
    if "by" in entries:
        by = _number_field(entries["by"], fields).name
        for text, each in (
            entries["rates"].map(None, "write such as {0: 8000, 9-10: 44100}").items()
        ):
            low, high = _range(each, text)
            rates.append((low, high, each.number(1, most, "write ticks a second")))
    return Timestamp(name, hz, by, tuple(rates))


def _blocks(node: Node, big: bool) -> Blocks:
    advice = "write such as {offset: 20, width: 2}"
    entries = node.map(("offset", "width", "byte_order"), advice)
    for key in ("offset", "width"):
        if key not in entries:
            node.fail(f"has no {key}", advice)
    if "byte_order" in entries:
        big = entries["byte_order"].word(("big", "little")) == "big"
    offset = entries["offset"].number(0, MOST_OFFSET, "count bytes from the UDP payload's first, 0")
    return Blocks(offset, entries["width"].number(1, 4, "a length is 1 to 4 bytes wide"), big)


def _conditions(
    node: Node, fields: dict[str, Field], *, texts: bool = False
) -> tuple[Condition, ...]:
    found = []
    for name, each in node.map(None, "write such as {count: 0}").items():
        if name not in fields:
            each.fail("is no field", f"name one of {', '.join(fields)}")
        if texts and fields[name].type == Type.TEXT:
            each.word(("printable",))
            found.append(Condition(name))
            continue
        if fields[name].type != Type.NUMBER:
            each.fail(f"is {fields[name].type}", "conditions are on fields of type number")
        most = (1 << fields[name].bits) - 1
        ranges = []
        for value in each.list("") if each.is_list else [each]:
            low, high = _range(value, value.text("write a number, a range 1-5 or a list of them"))
            if high > most:
                value.fail(f"is beyond {most}, the most that {name} can be", "write less")
            ranges.append((low, high))
        if not ranges:
            each.fail("is empty", "write a number, a range 1-5 or a list of them")
        found.append(Condition(name, tuple(ranges)))
    return tuple(found)


def _range(node: Node, text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not NUMBER.fullmatch(low) or (dash and not NUMBER.fullmatch(high)):
        node.fail(f"is {text!r}", "write a number, or a range such as 1-5")
    first, last = int(low, 0), int(high, 0) if dash else int(low, 0)
    if first > last:
        node.fail(f"is {text!r}, which is empty", "write the lower number first")
    if last >= 1 << 64:
        node.fail(f"is {text!r}", "numbers have 64 bits at most")
    return first, last


def _messages(node: Node, fields: dict[str, Field]) -> tuple[Message, ...]:
    advice = "write lines such as - {name: HEARTBEAT, when: {count: 0}, is: heartbeat}"
    entries = node.list(advice)
    if len(entries) > MOST_MESSAGES:
        node.fail(f"has {len(entries)} entries, {MOST_MESSAGES} is the most", "leave some out")
    messages: list[Message] = []
    for each in entries:
        message = _message(each, fields, advice)
        same = [known for known in messages if known.name == message.name]
        if same and same[0].sort != message.sort:
            each.fail(f"has the name {message.name} of another sort", "give it a name of its own")
        messages.append(message)
    return tuple(messages)


def _message(node: Node, fields: dict[str, Field], advice: str) -> Message:
    keys = ("name", "is", "says", "when", "match", "to", "from", "length", "unicast")
    entries = node.map(keys, advice)
    for key in ("name", "is"):
        if key not in entries:
            node.fail(f"has no {key}", advice)
    name = entries["name"].text("give it the protocol's own word")
    if not MESSAGE_NAME.fullmatch(name):
        entries["name"].fail(f"is {name!r}", "a name is letters, digits, _ and -, up to 40")
    sort = Is(entries["is"].word(tuple(Is)))
    says = Says.NOTHING if sort == Is.RESET else Says.NEXT
    if "says" in entries:
        if sort not in (Is.HEARTBEAT, Is.END, Is.RESET):
            entries["says"].fail(f"makes no sense for {sort}", "leave it out")
        says = Says(entries["says"].word(tuple(Says)))
    to_server = from_server = False
    if "to" in entries:
        to_server = entries["to"].word(("server",)) == "server"
    if "from" in entries:
        from_server = entries["from"].word(("server",)) == "server"
    length = unicast = None
    if "length" in entries:
        text = entries["length"].text("write a number of bytes, or a range such as 20-40")
        length = _range(entries["length"], text)
    if "unicast" in entries:
        unicast = entries["unicast"].word(("yes", "no")) == "yes"
    return Message(
        name, sort, says,
        _conditions(entries["when"], fields) if "when" in entries else (),
        _places(entries["match"]) if "match" in entries else (),
        to_server, from_server, length, unicast,
    )  # fmt: skip


def _one_or_more(node: Node, advice: str) -> list[Node]:
    return node.list(advice) if node.is_list else [node]


def _places(node: Node) -> tuple[Route, ...]:
    advice = "write such as - {destination: 239.1.1.0/24, port: 26400-26499}, or any"
    if isinstance(node.node, yaml.ScalarNode):
        node.word(("any",), advice)
        return (Route(),)
    places = []
    for each in node.list(advice):
        entries = each.map(PLACE_PARTS, advice)
        if not entries:
            each.fail("is empty", f"{advice} for every datagram")
        place = Route()
        for key, value in entries.items():
            if key in ("port", "source_port"):
                read: Any = value.parsed(parse_ports, "write a port or a range such as 26400-26499")
            else:
                read = value.parsed(parse_network, "write such as 233.54.12.0/24 or 10.0.0.1")
            place = replace(place, **{key: read})
        places.append(place)
    if not places:
        node.fail("is empty", advice)
    return tuple(places)


def _lines(node: Node) -> tuple[Line, ...]:
    advice = "write such as - {A: 233.54.12.1:26400, B: 233.54.13.1:26400}"
    lines: list[Line] = []
    taken: dict[tuple[str, int], Node] = {}
    for each in node.list(advice):
        entries = each.map(LINE_NAMES, advice)
        if set(entries) != set(LINE_NAMES):
            each.fail(f"is not {' and '.join(LINE_NAMES)}", advice)
        ends = []
        for name in LINE_NAMES:
            end = entries[name].parsed(parse_end, END_ADVICE)
            if end in taken:
                entries[name].fail(f"is {taken[end].field} already", "a group is one line")
            taken[end] = entries[name]
            ends.append(end)
        lines.append(Line(tuple(ends)))
    return tuple(lines)
