"""Feed files: YAML in, ``feeds.Feed`` out (decoders/README.md 5, cli/README.md 2).

The file is read as PyYAML's graph of nodes, so every error can name file, line and field, and
nothing in it is ever executed. ``shipped`` lists the files that come with the tool; ``given`` is
what the command line says: NAME or FILE, optionally with places and options.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import yaml

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.contract.feed_layout import (
    LINE_NAMES,
    PLACE_PARTS,
    PORTS,
    UNWRAPPED_BITS,
    Blocks,
    Condition,
    Feed,
    Field,
    Is,
    Line,
    Message,
    Place,
    Says,
    Timestamp,
    Type,
)

T = TypeVar("T")

#: A feed file is a page; what is larger is something else.
MOST_BYTES: Final = 1 << 20
#: Bounds of what a kernel's tables hold.
MOST_FIELDS: Final = 64
MOST_MESSAGES: Final = 60
MOST_KEY_BYTES: Final = 64
MOST_OFFSET: Final = 65535
MOST_ENTRIES: Final = 1024

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
FIELD_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
MESSAGE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_NUMBER: Final = re.compile(r"-?(0x[0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,19})")
_PORTS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_NUMBER_LIMIT: Final = (1 << 63) - 1

_KEYS: Final = (
    "feed", "about", "match", "require", "recognise", "byte_order", "fields", "stream", "seqno",
    "count", "wrap", "first", "timestamp", "blocks", "messages", "lines", "servers",
    "confidence", "confirmed",
)  # fmt: skip


class FeedError(SeqauditError):
    """A feed that cannot be used: one line that says what, where and what to try.

    Attributes:
        line: of the file, from 1; None: of the command line.
        field: such as ``fields.seqno.width``; "" for the whole.
    """

    def __init__(self, path: str, line: int | None, field: str, problem: str, advice: str) -> None:
        super().__init__(path, line, field, problem, advice)
        self.path = path
        self.line = line
        self.field = field
        self.problem = problem
        self.advice = advice

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path} line {self.line}"
        named = f"{place}, {self.field}" if self.field else place
        return f"{named}: {self.problem}; {self.advice}"


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
    return _feed(_Node(path, "", root))


# --- what a file may say ---


class _Node:
    """A node of the graph and its place, with readers that raise FeedError."""

    def __init__(self, path: str, field: str, node: yaml.Node, line: int | None = None) -> None:
        self.path = path
        self.field = field
        self.node = node
        self.line = node.start_mark.line + 1 if line is None else line

    def fail(self, problem: str, advice: str) -> NoReturn:
        raise FeedError(self.path, self.line, self.field, problem, advice)

    def below(self, name: str, node: yaml.Node, line: int | None = None) -> _Node:
        return _Node(self.path, f"{self.field}.{name}" if self.field else name, node, line)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    @property
    def is_map(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    def map(self, keys: Sequence[str] | None, advice: str) -> dict[str, _Node]:
        """The entries; ``keys`` are all that may be, None: any."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail(f"is {self._sort()}, not a map", advice)
        entries: dict[str, _Node] = {}
        for key_node, value in self.node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                _Node(self.path, self.field, key_node).fail("has a key that is no word", advice)
            key = key_node.value
            entry = self.below(key, value, line)
            if key in entries:
                entry.fail(f"is said twice, first in line {entries[key].line}", "leave one out")
            if keys is not None and key not in keys:
                entry.fail("is no key here", f"there are {', '.join(keys)}")
            if len(entries) >= MOST_ENTRIES:
                entry.fail(f"is one of more than {MOST_ENTRIES}", "a feed has fewer")
            entries[key] = entry
        return entries

    def list(self, advice: str) -> list[_Node]:
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail(f"is {self._sort()}, not a list", advice)
        if len(self.node.value) > MOST_ENTRIES:
            self.fail(f"has more than {MOST_ENTRIES} entries", "a feed has fewer")
        return [
            _Node(self.path, f"{self.field}[{number}]", value)
            for number, value in enumerate(self.node.value)
        ]

    def text(self, advice: str) -> str:
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag.endswith(":null"):
            self.fail(f"is {self._sort()}, not a word", advice)
        return str(self.node.value)

    def number(self, low: int, high: int, advice: str) -> int:
        text = self.text(advice)
        if not _NUMBER.fullmatch(text):
            self.fail(f"is {text!r}, not a whole number", advice)
        value = int(text, 0)
        if not low <= value <= high:
            self.fail(f"is {text}, not {low} to {high}", advice)
        return value

    def word(self, choices: Sequence[str], advice: str = "") -> str:
        text = self.text(advice or f"write one of {', '.join(choices)}")
        if text not in choices:
            self.fail(f"is {text!r}", f"write one of {', '.join(choices)}")
        return text

    def parsed(self, parse: Callable[[str], T], advice: str) -> T:
        """What ``parse`` makes of the word; its ValueError is the problem."""
        try:
            return parse(self.text(advice))
        except ValueError as problem:
            self.fail(str(problem), advice)

    def _sort(self) -> str:
        if isinstance(self.node, yaml.ScalarNode):
            return "empty" if self.node.tag.endswith(":null") else f"{self.node.value[:40]!r}"
        return "a map" if self.is_map else "a list"


def _feed(root: _Node) -> Feed:
    entries = root.map(_KEYS, "seqaudit feeds show example prints one to copy")
    for key in ("feed", "fields", "seqno"):
        if key not in entries:
            root.fail(f"has no {key}", "seqaudit feeds show example prints one to copy")
    name = entries["feed"].text("give it a name such as my-feed")
    if not NAME.fullmatch(name):
        entries["feed"].fail(f"is {name!r}", "a name is small letters, digits and -, up to 40")
    big_endian = True
    if "byte_order" in entries:
        big_endian = entries["byte_order"].word(("big", "little")) == "big"
    fields = _fields(entries["fields"], big_endian)
    feed = Feed(
        name=name, fields=tuple(fields.values()), seqno="", where=root.path, about=_about(entries)
    )
    return _checked(replace(feed, **_rest(entries, fields, big_endian)), entries)


def _about(entries: dict[str, _Node]) -> str:
    return entries["about"].text("write one line") if "about" in entries else ""


def _rest(entries: dict[str, _Node], fields: dict[str, Field], big: bool) -> dict[str, Any]:
    """What is said beside name and fields."""
    said: dict[str, Any] = {"seqno": _number_field(entries["seqno"], fields).name}
    readers: dict[str, Callable[[_Node], Any]] = {
        "match": _places,
        "require": lambda node: _conditions(node, fields, texts=True),
        "recognise": lambda node: _conditions(node, fields, texts=True),
        "stream": lambda node: _stream(node, fields),
        "count": lambda node: _count(node, fields),
        "timestamp": lambda node: _timestamp(node, fields),
        "blocks": lambda node: _blocks(node, big),
        "messages": lambda node: _messages(node, fields),
        "lines": _lines,
        "servers": lambda node: tuple(
            each.parsed(parse_end, _END_ADVICE) for each in _one_or_more(node, _END_ADVICE)
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
    seqno = fields[said["seqno"]]
    said["wrap"] = seqno.bits
    if "wrap" in entries:
        said["wrap"] = entries["wrap"].number(
            2, seqno.bits, f"{seqno.name} has {seqno.bits} bits; the numbers wrap at these or fewer"
        )
    elif seqno.bits < 2:
        entries["seqno"].fail(f"has {seqno.bits} bits", "numbers have 2 or more")
    return said


def _checked(feed: Feed, entries: dict[str, _Node]) -> Feed:
    """What needs more than one part to be seen."""
    if feed.first and feed.wrap < UNWRAPPED_BITS:
        entries["first"].fail(
            "says where numbers begin, but they wrap", "leave it out where wrap is under 63"
        )
    if any(place.anywhere for place in feed.match) and len(feed.match) > 1:
        entries["match"].fail("has an entry that is anywhere beside others", "leave one out")
    for number, message in enumerate(feed.messages):
        asks = message.sort == Is.REQUEST
        if asks and not (message.when or message.match or message.to_server):
            _Node(entries["messages"].path, f"messages[{number}]", entries["messages"].node).fail(
                "makes every datagram a request", "say when, match or to: server"
            )
        if (message.to_server or message.from_server) and message.match:
            _Node(entries["messages"].path, f"messages[{number}]", entries["messages"].node).fail(
                "has match and a server", "leave one out"
            )
    return feed


def _fields(node: _Node, big_endian: bool) -> dict[str, Field]:
    advice = "write lines such as seqno: {offset: 10, width: 8}"
    entries = node.map(None, advice)
    if not entries:
        node.fail("is empty", advice)
    if len(entries) > MOST_FIELDS:
        node.fail(f"has {len(entries)} fields, {MOST_FIELDS} is the most", "name those in use")
    return {name: _field(name, entry, big_endian) for name, entry in entries.items()}


def _field(name: str, node: _Node, big_endian: bool) -> Field:
    if not FIELD_NAME.fullmatch(name) or name in PLACE_PARTS:
        node.fail(
            "is no name for a field",
            f"names are small letters, digits and _, and none of {', '.join(PLACE_PARTS)}",
        )
    keys = ("offset", "width", "byte_order", "mask", "shift", "type")
    entries = node.map(keys, "write such as {offset: 10, width: 8}")
    for key in ("offset", "width"):
        if key not in entries:
            node.fail(f"has no {key}", "write such as {offset: 10, width: 8}")
    kind = Type(entries["type"].word(tuple(Type))) if "type" in entries else Type.NUMBER
    most = 8 if kind == Type.NUMBER else 32
    offset = entries["offset"].number(0, MOST_OFFSET, "count bytes from the UDP payload's first, 0")
    width = entries["width"].number(1, most, f"a {kind} is 1 to {most} bytes wide")
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
    field = Field(name, offset, width, big_endian, mask, shift, kind)
    if kind == Type.NUMBER and field.bits == 0:
        node.fail("has no bits left after mask and shift", "widen the mask or shift less")
    return field


def _known(node: _Node, fields: dict[str, Field], also: Sequence[str] = ()) -> str:
    names = ", ".join([*also, *fields])
    name = node.text(f"name one of {names}")
    if name not in fields and name not in also:
        node.fail(f"is {name!r}, which is no field", f"name one of {names}")
    return name


def _number_field(node: _Node, fields: dict[str, Field]) -> Field:
    field = fields[_known(node, fields)]
    if field.type != Type.NUMBER:
        node.fail(f"is {field.name}, which is {field.type}", "name a field of type number")
    return field


def _stream(node: _Node, fields: dict[str, Field]) -> tuple[str, ...]:
    advice = "write such as [destination, port, session]"
    parts = [_known(each, fields, PLACE_PARTS) for each in node.list(advice)]
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


def _count(node: _Node, fields: dict[str, Field]) -> str | int:
    if isinstance(node.node, yaml.ScalarNode) and _NUMBER.fullmatch(node.node.value):
        return node.number(1, 65535, "write how many numbers a datagram takes, or a field's name")
    return _number_field(node, fields).name


def _timestamp(node: _Node, fields: dict[str, Field]) -> Timestamp:
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


def _blocks(node: _Node, big: bool) -> Blocks:
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
    node: _Node, fields: dict[str, Field], *, texts: bool = False
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


def _range(node: _Node, text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not _NUMBER.fullmatch(low) or (dash and not _NUMBER.fullmatch(high)):
        node.fail(f"is {text!r}", "write a number, or a range such as 1-5")
    first, last = int(low, 0), int(high, 0) if dash else int(low, 0)
    if first > last:
        node.fail(f"is {text!r}, which is empty", "write the lower number first")
    if last >= 1 << 64:
        node.fail(f"is {text!r}", "numbers have 64 bits at most")
    return first, last


def _messages(node: _Node, fields: dict[str, Field]) -> tuple[Message, ...]:
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


def _message(node: _Node, fields: dict[str, Field], advice: str) -> Message:
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


def _one_or_more(node: _Node, advice: str) -> list[_Node]:
    return node.list(advice) if node.is_list else [node]


def _places(node: _Node) -> tuple[Place, ...]:
    advice = "write such as - {destination: 239.1.1.0/24, port: 26400-26499}, or any"
    if isinstance(node.node, yaml.ScalarNode):
        node.word(("any",), advice)
        return (Place(),)
    places = []
    for each in node.list(advice):
        entries = each.map(PLACE_PARTS, advice)
        if not entries:
            each.fail("is empty", f"{advice} for every datagram")
        place = Place()
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


def _lines(node: _Node) -> tuple[Line, ...]:
    advice = "write such as - {A: 233.54.12.1:26400, B: 233.54.13.1:26400}"
    lines: list[Line] = []
    taken: dict[tuple[str, int], _Node] = {}
    for each in node.list(advice):
        entries = each.map(LINE_NAMES, advice)
        if set(entries) != set(LINE_NAMES):
            each.fail(f"is not {' and '.join(LINE_NAMES)}", advice)
        ends = []
        for name in LINE_NAMES:
            end = entries[name].parsed(parse_end, _END_ADVICE)
            if end in taken:
                entries[name].fail(f"is {taken[end].field} already", "a group is one line")
            taken[end] = entries[name]
            ends.append(end)
        lines.append(Line(tuple(ends)))
    return tuple(lines)


# --- words of files and of the command line ---

_END_ADVICE: Final = "write such as 233.54.12.1:26400 or [ff05::1]:26400"


def parse_ports(text: str) -> tuple[int, int]:
    """A port or range. Raises ValueError with the problem."""
    found = _PORTS.fullmatch(text)
    if not found:
        raise ValueError(f"is {text!r}, not a port")
    low, high = int(found[1]), int(found[2] or found[1])
    if low > high:
        raise ValueError(f"is {text!r}, which is empty")
    if high > PORTS[1]:
        raise ValueError(f"is {text!r}, a port is at most {PORTS[1]}")
    return low, high


def parse_network(text: str) -> str:
    """An address or CIDR in canonical form. Raises ValueError with the problem."""
    try:
        network = ipaddress.ip_network(text)
    except ValueError as problem:
        reason = "has host bits set" if "host bits" in str(problem) else "no address or network"
        raise ValueError(f"is {text!r}, {reason}") from None
    single = network.prefixlen == network.max_prefixlen
    return str(network.network_address) if single else str(network)


def parse_end(text: str) -> tuple[str, int]:
    """ADDRESS:PORT. Raises ValueError with the problem."""
    network, ports = _split_end(text)
    if network is None or ports is None or "/" in network or ports[0] != ports[1]:
        raise ValueError(f"is {text!r}, not an address and a port")
    return network, ports[0]


def parse_place(text: str) -> Place:
    """``any``, ADDRESS[/BITS][:PORT[-PORT]] or :PORT[-PORT]. Raises ValueError."""
    if text == "any":
        return Place()
    network, ports = _split_end(text)
    return Place(destination=network, port=ports or PORTS)


def _split_end(text: str) -> tuple[str | None, tuple[int, int] | None]:
    if text.startswith("["):
        address, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"is {text!r}, not such as [ff05::1]:26400")
        return parse_network(address), parse_ports(rest[1:]) if rest else None
    address, colon, ports = text.rpartition(":")
    if not colon:
        return parse_network(text), None
    if ":" in address:  # an IPv6 address without port
        return parse_network(text), None
    return parse_network(address) if address else None, parse_ports(ports)


def parse_line(text: str) -> Line:
    """``A=ADDRESS:PORT,B=ADDRESS:PORT``. Raises ValueError with the problem."""
    said = dict(part.partition("=")[::2] for part in text.split(","))
    if list(said) != list(LINE_NAMES) or text.count(",") != len(LINE_NAMES) - 1:
        raise ValueError(f"is {text!r}, not A=ADDRESS:PORT,B=ADDRESS:PORT")
    ends = tuple(parse_end(said[name]) for name in LINE_NAMES)
    if ends[0] == ends[1]:
        raise ValueError("names one group twice")
    return Line(ends)
