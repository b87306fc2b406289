"""Feeds as the integers that ``decoders.feeds.kernels`` reads: fields, conditions, messages, rules
of place.

``Tables`` owns the kernel's one array. Its fixed part comes first, then the layout, the classes of
hosts, the streams, the rows and the samples. Hosts are classed by which networks hold them, so the
kernel looks a network up by one index.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from seqaudit.decoders.contract.feed_layout import (
    PAUSE_NS,
    PORTS,
    Condition,
    Counting,
    Feed,
    Field,
    Is,
    Route,
    Says,
    Timestamp,
    Type,
)
from seqaudit.decoders.feeds import words as k
from seqaudit.decoders.feeds.ends import is_ethernet
from seqaudit.decoders.kernels.loader import Int64s, memory
from seqaudit.decoders.network.packet_words import KEY_NUMBER, VLAN_BITS

#: Rows of one round; streams, and samples of one round, that are held at most.
ROWS: Final = 16_384
STREAMS: Final = 131_072
SAMPLES: Final = 65_536
SORTS: Final = tuple(Is)
_SAYS: Final = tuple(Says)
_COUNTING: Final = {
    Counting.BLOCKS: k.BY_BLOCKS, Counting.BYTES: k.BY_BYTES, Counting.RECORDS: k.BY_RECORDS,
}  # fmt: skip
_HALF: Final = 1 << 32
#: Of a network's key: bits below the part, and the part's own.
_NETWORK_BITS: Final = {
    "vlan": (0, (1 << VLAN_BITS) - 1), "vni": (KEY_NUMBER, (1 << 32) - 1),
}  # fmt: skip


class Tables:
    """The array of the kernel for some feeds; one a decoder."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self.feeds = tuple(feeds)
        layout = _layout_of(self.feeds)
        words, rule_place, rules = layout.words, layout.rule_place, layout.rules
        self.places = layout.places
        patterns = max(1, len(layout.networks))
        sets = k.LAYOUT + len(words)
        # networks nest or are apart, so a host's set is told by the smallest that holds it
        self._most_classes = patterns + 2
        streams = sets + self._most_classes * patterns
        self.stride = k.KEY + max((_feed_key_words(feed) for feed in self.feeds), default=0)
        out = streams + (STREAMS + 1) * self.stride
        log = out + ROWS * k.WIDTH
        logged = any(self.memory_of_log(feed) for feed in self.feeds)
        end = log + (SAMPLES if logged else 4) * k.LOG_WORDS
        self.memory: Int64s = memory(end)
        self.memory[k.LAYOUT : k.LAYOUT + len(words)] = words
        for word, value in (
            (k.H_ROWS, out), (k.H_LOG, log), (k.H_STRIDE, self.stride), (k.H_RULES, rule_place),
            (k.H_RULE_COUNT, rules), (k.H_SETS, sets), (k.H_PATTERNS, patterns),
            (k.H_STREAM_ROWS, streams), (k.H_STREAM_LIMIT, STREAMS), (k.H_OUT, out),
            (k.H_OUT_STOP, log), (k.H_LOG_ROWS, log), (k.H_LOG_STOP, end),
        ):  # fmt: skip
            self.memory[word] = value
        self._patterns = [_bits_of(text) for text in layout.networks]
        self._classes: dict[tuple[bool, ...], int] = {}
        self._hosts = 0

    @staticmethod
    def memory_of_log(feed: Feed) -> bool:
        """Whether times of the feed's messages are kept: for jitter, or to compare lines."""
        return feed.timestamp is not None or bool(feed.lines)

    def class_hosts(self, hosts: Sequence[str]) -> None:
        """Tell the kernel which networks hold the hosts that are new."""
        for number in range(self._hosts, len(hosts)):
            value, version = _address(hosts[number])
            matched = tuple(
                version == of and value & mask == net for of, net, mask in self._patterns
            )
            known = self._classes.get(matched)
            if known is None:
                known = len(self._classes)
                assert known < self._most_classes, "networks nest or are apart"
                self._classes[matched] = known
                at = int(self.memory[k.H_SETS]) + known * len(matched)
                self.memory[at : at + len(matched)] = matched
            self.memory[k.CLASSES + number] = known
        self._hosts = len(hosts)

    def forget_hosts(self) -> None:
        """Numbers of hosts mean something else from now on, and so do channels and streams."""
        self._hosts = 0
        self.memory[k.CHANNELS : k.TURNS] = 0
        self.forget_streams()

    def forget_streams(self) -> None:
        """Streams begin anew; their runs have been taken."""
        memory = self.memory
        memory[k.H_STREAMS] = 0
        memory[k.SLOTS : k.LAYOUT] = 0
        channels = memory[k.CHANNELS : k.TURNS].reshape(-1, k.CHANNEL_WORDS)
        channels[:, k.C_STREAM] = 0


class _FeedWords:
    """Feeds as words, the same for every decoder of them."""

    def __init__(self, feeds: tuple[Feed, ...]) -> None:
        self.feeds = feeds
        self.words: list[int] = []
        self.networks: dict[str, int] = {}
        self.places = [self._feed(number, feed) for number, feed in enumerate(feeds)]
        placed = [rule for place, feed in zip(self.places, feeds, strict=True)
                  for rule in self._rules(place, feed)]  # fmt: skip
        rules = [rule for _, rule in sorted(placed, key=lambda each: each[0])]
        self.rules = len(rules)
        self.rule_place = self._put([word for rule in rules for word in rule])

    def _put(self, words: Iterable[int]) -> int:
        place = k.LAYOUT + len(self.words)
        self.words += words
        return place

    def _field(self, field: Field, places: dict[str, int]) -> int:
        mask = field.full_mask
        plain = field.type == Type.NUMBER and field.shift == 0
        plain &= mask == (1 << 8 * field.width) - 1
        big = {1: k.READ_U8, 2: k.READ_U16, 4: k.READ_U32, 8: k.READ_U64}
        little = {1: k.READ_U8, 2: k.READ_LE16, 4: k.READ_LE32}
        how = (big if field.big_endian else little).get(field.width, k.READ_ANY)
        after, start = field.after, k.FROM_UNIT
        if field.of_datagram:
            start = k.FROM_FRONT
        elif field.is_loose:
            start = k.FROM_END if after is None else k.FROM_AFTER
        sizes = after.sizes if after is not None else ()
        size_place = self._put([word for pair in sizes for word in pair])
        return self._put(
            (how if plain else k.READ_ANY, field.offset, field.width, mask // _HALF % _HALF,
             mask % _HALF, field.shift, int(field.big_endian),
             0 if field.is_loose else field.offset + field.width, start,
             places[after.field] if after is not None else 0,
             after.unit if after is not None else 0, size_place, len(sizes))
        )  # fmt: skip

    def _conditions(self, conditions: Sequence[Condition], places: dict[str, int]) -> int:
        words: list[int] = []
        for condition in conditions:
            words += [places[condition.field], len(condition.ranges) or -1]
            for low, high in condition.ranges:
                words += [low // _HALF, low % _HALF, high // _HALF, high % _HALF]
        return self._put(words)

    def _feed(self, number: int, feed: Feed) -> int:
        places: dict[str, int] = {}
        for field in sorted(feed.fields, key=lambda field: field.is_loose):
            places[field.name] = self._field(field, places)  # what others follow goes first
        ends = {
            field.name: 0 if field.is_loose else field.offset + field.width for field in feed.fields
        }
        keys, pieces = self._keys(feed, places)
        messages = self._messages(feed, places, ends)
        needed = {feed.seqno, *feed.key_fields}
        if isinstance(feed.count, str):
            needed.add(feed.count)
        if feed.timestamp is not None:
            needed |= _clock(feed.timestamp)
        asked = {c.field for c in (*feed.require, *feed.recognise)}
        asked |= {c.field for message in feed.messages for c in message.when}
        loose = sorted(places[name] for name in needed | asked if feed.field(name).is_loose)
        row = [0] * k.FEED_WORDS
        row[k.F_NUMBER] = number
        row[k.F_ALL] = max(ends[name] for name in needed | asked)
        row[k.F_NEED] = max(ends[name] for name in needed)
        row[k.F_SEQNO] = places[feed.seqno]
        if isinstance(feed.count, str):
            row[k.F_COUNT] = places[feed.count]
        else:
            row[k.F_CONSTANT] = feed.count
        if feed.counted is not None:
            row[k.F_COUNTING] = _COUNTING[feed.counted.what]
            row[k.F_COUNTED_FROM] = feed.counted.start
            row[k.F_COUNTED_UNIT] = feed.counted.unit
        row[k.F_STEP] = feed.step
        row[k.F_LOOSE], row[k.F_LOOSE_COUNT] = self._put(loose), len(loose)
        self._repeated(row, feed, places)
        row[k.F_LIMIT] = feed.space
        row[k.F_REQUIRED] = self._conditions(feed.require, places)
        row[k.F_REQUIRED_COUNT] = len(feed.require)
        row[k.F_RECOGNISED] = self._conditions(feed.recognise, places)
        row[k.F_RECOGNISED_COUNT] = len(feed.recognise)
        row[k.F_MESSAGES] = messages
        row[k.F_MESSAGE_COUNT] = len(feed.told_messages)
        row[k.F_KEYS] = keys
        row[k.F_KEY_COUNT] = pieces
        parts = ("destination", "port", "source", "source_port")
        row[k.F_PARTS] = sum(1 << bit for bit, part in enumerate(parts) if part in feed.stream)
        row[k.F_LOGGED] = int(Tables.memory_of_log(feed))
        if feed.timestamp is not None:
            row[k.F_STAMP] = places[feed.timestamp.field]
            row[k.F_BY] = places[feed.timestamp.by] if feed.timestamp.by else 0
        row[k.F_BLOCKS] = -1
        if feed.blocks is not None:
            row[k.F_BLOCKS] = feed.blocks.offset
            row[k.F_BLOCK_WIDTH] = feed.blocks.width
            row[k.F_BLOCK_BIG] = int(feed.blocks.big_endian)
        row[k.F_SHARED] = int(feed.has_repairs or bool(feed.lines))
        row[k.F_ASIDE] = int(feed.has_repairs)
        row[k.F_PAUSE] = PAUSE_NS
        masked = any(is_masked(feed.field(name)) for name in feed.key_fields)
        rare = bool(loose or feed.repeat or feed.counted or feed.step > 1)
        row[k.F_PLAIN] = int(not (feed.require or masked or rare or Tables.memory_of_log(feed)))
        switch = _switch(feed)
        if switch is not None:
            row[k.F_SWITCH], row[k.F_SWITCH_LOW], row[k.F_SWITCH_HIGH] = (
                places[switch[0]], *switch[1:]
            )  # fmt: skip
        elif feed.told_messages:
            row[k.F_PLAIN] = 0
        first = next((f for f in self.feeds if Route() in f.match and not f.carrier), None)
        top = _top(feed)
        known = top is not None and not Tables.memory_of_log(feed)
        if feed is first and top is not None and known and not (masked or rare):
            row[k.F_FIRST_ANYWHERE] = int(switch is not None or not feed.told_messages)
            row[k.F_TOP] = top
        return self._put(row)

    def _repeated(self, row: list[int], feed: Feed, places: dict[str, int]) -> None:
        repeat = feed.repeat
        if repeat is None:
            return
        row[k.F_REPEAT] = k.BY_LENGTH if repeat.length else k.OF_ONE_SIZE
        row[k.F_REPEAT_FIRST], row[k.F_REPEAT_SIZE] = repeat.first, repeat.size
        row[k.F_REPEAT_UNIT] = repeat.unit
        if repeat.adds is not None:
            row[k.F_REPEAT_ADDS] = self._field(Field("", 0, 1, after=repeat.adds), places)
        row[k.F_REPEAT_LENGTH] = places[repeat.length] if repeat.length else 0
        row[k.F_REPEAT_COUNT] = places[repeat.count] if repeat.count else 0

    def _messages(self, feed: Feed, places: dict[str, int], ends: dict[str, int]) -> int:
        told = feed.told_messages
        conditions = [self._conditions(message.when, places) for message in told]
        words: list[int] = []
        for message, where in zip(told, conditions, strict=True):
            needed = {*feed.key_fields, *(c.field for c in message.when)}
            if message.says != Says.NOTHING:
                needed.add(feed.seqno)
            if message.sort in (Is.DATA, Is.REPAIR, Is.REQUEST) and isinstance(feed.count, str):
                needed.add(feed.count)
            if message.sort == Is.DATA and feed.timestamp is not None:
                needed |= _clock(feed.timestamp)
            if message.sort == Is.IGNORE:
                needed = {c.field for c in message.when}
            shortest, longest = message.length or (0, 1 << 32)
            words += [
                SORTS.index(message.sort), _SAYS.index(message.says), where, len(message.when),
                int(bool(feed.places_of(message))),
                -1 if message.unicast is None else int(message.unicast), shortest, longest,
                max((ends[name] for name in needed), default=0),
            ]  # fmt: skip
        return self._put(words)

    def _keys(self, feed: Feed, places: dict[str, int]) -> tuple[int, int]:
        """Pieces of the key: bytes as they are, or a masked value."""
        words: list[int] = []
        for name in feed.key_fields:
            field = feed.field(name)
            if is_masked(field):
                words += [k.PIECE_VALUE, places[name], 0]
                continue
            for at in range(0, field.width, 4):
                size = min(4, field.width - at)
                sort = k.PIECE_FOUR if size == 4 else k.PIECE_BYTES
                words += [sort, field.offset + at, size]
        for part in feed.network_parts:
            words += [k.PIECE_NETWORK, *_NETWORK_BITS[part]]
        return self._put(words), len(words) // k.PIECE_WORDS

    # --- where feeds are ---

    def _rules(self, place: int, feed: Feed) -> Iterable[tuple[int, list[int]]]:
        """Rules of a feed and when they are asked; what is anywhere is left to ``anywhere``."""
        for pair, line in enumerate(feed.lines):
            for letter, (address, port) in enumerate(line.ends):
                end = Route(destination=address, port=(port, port))
                yield end.precedence, self._rule(place, end, line=(pair << 1 | letter) + 2)
        for where in feed.match:
            end = where
            if feed.carrier:  # its number stands for the ports
                end = replace(where, port=(feed.carrier, feed.carrier))
            yield where.precedence, self._rule(place, end)
        for number, message in enumerate(feed.told_messages):
            for where in feed.places_of(message):
                served = message.to_server or message.from_server
                yield where.precedence, self._rule(place, where, message=number, unicast=served)

    def _rule(
        self, feed: int, place: Route, *, message: int = -1, line: int = 0, unicast: bool = False
    ) -> list[int]:
        if place.anywhere and message < 0:  # no port can be this: only ``anywhere`` looks at it
            ports = source_ports = (PORTS[1] + 1, PORTS[1] + 1)
        else:
            ports, source_ports = place.port, place.source_port
        return [
            self._network(place.destination), *ports, self._network(place.source), *source_ports,
            feed, message, int(place.anywhere and message < 0), line, int(unicast),
        ]  # fmt: skip

    def _network(self, text: str | None) -> int:
        return -1 if text is None else self.networks.setdefault(text, len(self.networks))


#: A piece of a capture has decoders of its own: ten thousand small captures ask for one layout.
_layout_of = lru_cache(maxsize=64)(_FeedWords)


def _feed_key_words(feed: Feed) -> int:
    fields = sum(key_words(feed.field(name)) for name in feed.key_fields)
    return fields + len(feed.network_parts)


def _clock(timestamp: Timestamp) -> set[str]:
    return {timestamp.field, *([timestamp.by] if timestamp.by else ())}


def is_masked(field: Field) -> bool:
    """Whether a field of a key is compared by value and not by its bytes."""
    return field.is_loose or field.shift > 0 or field.full_mask != (1 << 8 * field.width) - 1


def key_words(field: Field) -> int:
    """32-bit words of a field in a key."""
    return 2 if is_masked(field) else -(-field.width // 4)


def _top(feed: Feed) -> int | None:
    """The highest number of a feed that is recognised by texts of its key and its number alone."""
    top = (1 << 63) - 1
    for condition in (*feed.require, *feed.recognise):
        if condition.field == feed.seqno:
            if len(condition.ranges) != 1 or condition.ranges[0][0] != 0:
                return None
            top = min(top, condition.ranges[0][1])
        elif condition.field not in feed.key_fields:
            return None
    return top


def _switch(feed: Feed) -> tuple[str, int, int] | None:
    """A field and the widest range of its values that makes multicasts DATA; None: there is none.

    Most datagrams are in it, and so are not compared with every message.
    """
    asked = [
        message
        for message in feed.told_messages
        if message.unicast is not True and not feed.places_of(message)
    ]
    names = {message.when[0].field if message.when else "" for message in asked}
    if len(names) != 1 or "" in names:
        return None
    field = feed.field(names.pop())
    most = (1 << field.bits) - 1
    if field.bits > 62:
        return None
    taken = sorted(r for message in asked for r in message.when[0].ranges)
    best = (-1, 0, -1)
    low = 0
    for first, last in [*taken, (most + 1, most + 1)]:
        best = max(best, (first - low, low, first - 1))
        low = max(low, last + 1)
    return (field.name, best[1], best[2]) if best[0] > 0 else None


def _address(host: str) -> tuple[int, int]:
    """An address as an integer, and its IP version; 0: of Ethernet, which is in no network."""
    if is_ethernet(host):
        return 0, 0
    address = ipaddress.ip_address(host)
    return int(address), address.version


def _bits_of(text: str) -> tuple[int, int, int]:
    """(version, network, mask) as integers."""
    network = ipaddress.ip_network(text)
    return network.version, int(network.network_address), int(network.netmask)


def message_name(feed: Feed, number: int) -> str:
    """The wire's word of message ``number``, from 1; 0: DATA."""
    return feed.told_messages[number - 1].name if number else "DATA"
