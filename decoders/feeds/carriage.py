"""What a feed file says of a feed that UDP does not carry (decoders/README.md 5): IP, Ethernet or
TCP does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from seqaudit.decoders.contract.feed_layout import (
    NETWORK_PARTS,
    PORTS,
    Feed,
    FrameLayout,
    Is,
    Type,
)
from seqaudit.decoders.feeds.nodes import Node

#: What carries feeds in other ways.
UDP: Final = 17
TCP: Final = 6
IP_TYPES: Final = (0x0800, 0x86DD)

#: What makes a stream where a file does not say it.
_HOSTS: Final = ("source", "destination")
_CONNECTION: Final = ("source", "source_port", "destination", "port")
_MOST_BYTES: Final = 65535
_FRAME: Final = "write such as {offset: 0, width: 2, adds: 2}"


def framing(node: Node, big_endian: bool) -> FrameLayout:
    """How frames follow each other on TCP."""
    entries = node.map(("offset", "width", "byte_order", "adds", "begins", "text"), _FRAME)
    for key in ("offset", "width"):
        if key not in entries:
            node.fail(f"has no {key}", _FRAME)
    if "byte_order" in entries:
        big_endian = entries["byte_order"].word(("big", "little")) == "big"
    found = FrameLayout(
        entries["offset"].number(0, _MOST_BYTES, "count bytes from the frame's first, 0"),
        entries["width"].number(1, 4, "a length is 1 to 4 bytes wide"),
        big_endian,
        entries["adds"].number(0, _MOST_BYTES, "write bytes") if "adds" in entries else 0,
        entries["begins"].number(0, 255, "write a byte, as 0x24") if "begins" in entries else -1,
        "text" in entries and entries["text"].word(("yes", "no")) == "yes",
    )
    if found.text and found.begins < 0:
        entries["text"].fail("is not told from frames", "add begins, the first byte of a frame")
    return found


def checked(feed: Feed, entries: dict[str, Node]) -> Feed:
    """The feed with what its carrier makes of it; what the carrier has not is refused."""
    connection = [field for field in feed.fields if field.of_connection]
    if feed.counts_records and not (feed.over_udp and feed.repeat is None):
        entries["count"].fail("is of IPFIX on UDP, one message a datagram", "leave it out")
    if feed.framing is not None:
        return _framed(feed, entries)
    if feed.login or connection:
        key = "login" if feed.login else "fields"
        entries[key].fail("needs a connection, which TCP has", "add framing, or leave it out")
    return _portless(feed, entries) if feed.carrier else feed


def _refuse(entries: dict[str, Node], said: Sequence[str], words: Sequence[str], why: str) -> None:
    for word in words:
        if word in said:
            entries[word if word in entries else "stream"].fail(why, "leave it out")


def _framed(feed: Feed, entries: dict[str, Node]) -> Feed:
    """A feed on TCP: each connection is a place of its own."""
    said = tuple(entries)
    for key in ("protocol", "ethertype"):
        if key in entries:
            entries[key].fail("is beside framing, which is of TCP", "leave one out")
    _refuse(entries, said, ("lines", "servers", "recognise"), "makes no sense on TCP")
    _refuse(entries, feed.stream, NETWORK_PARTS, "names what a connection's segments came in")
    if any(place.anywhere for place in feed.match):
        entries["match"].fail("is every connection", "name a port or an address")
    if "stream" not in entries:
        feed = replace(feed, stream=_CONNECTION)
    for number, message in enumerate(feed.messages):
        if message.match or message.to_server or message.from_server or message.unicast is not None:
            entries["messages"].list("")[number].fail(
                "has a place of its own, on TCP", "leave match, to, from and unicast out"
            )
    told = {field.name for field in feed.fields if field.of_connection}
    if bool(told) != bool(feed.login):
        entries["login" if feed.login else "fields"].fail(
            "has one of login and fields of: connection", "write both or none"
        )
    if told and (feed.seqno not in told or feed.count != 1 or feed.counted or feed.repeat):
        entries["login"].fail(
            "tells numbers that are not counted one a message",
            "give seqno of: connection, and leave count and repeat out",
        )
    asked = {c.field for c in (*feed.login, *feed.require)}
    asked |= {c.field for message in feed.messages for c in message.when}
    loose = {field.name for field in feed.fields if field.is_loose or field.type != Type.NUMBER}
    for name in sorted(asked & (told | loose) if told else ()):
        entries["fields"].fail(
            f"has {name}, which is asked for, and not at a fixed place of every message",
            "ask for such a number, where a login tells the numbers",
        )
    if feed.login and any(m.sort in (Is.REQUEST, Is.REPAIR) for m in feed.messages):
        entries["messages"].fail("has requests or repairs, on TCP with a login", "leave them out")
    return feed


def _portless(feed: Feed, entries: dict[str, Node]) -> Feed:
    """A feed that UDP does not carry has no ports, and on Ethernet no addresses of IP."""
    carrier = f"IP protocol {feed.protocol}" if feed.protocol else "Ethernet"
    if feed.protocol and feed.ethertype:
        entries["ethertype"].fail("is beside a protocol of IP", "leave one out")
    if "stream" not in entries:
        feed = replace(feed, stream=_HOSTS)
    said = [*feed.stream, *(key for key in ("lines", "servers") if key in entries)]
    for word in ("port", "source_port", "lines", "servers"):
        if word in said:
            entries["stream" if word in feed.stream else word].fail(
                f"needs a port, which {carrier} has not", "leave it out"
            )
    if feed.protocol in (UDP, TCP):
        advice = "leave it out" if feed.protocol == UDP else "write framing"
        entries["protocol"].fail(f"is {feed.protocol}, which has ports", advice)
    if feed.ethertype in IP_TYPES:
        entries["ethertype"].fail("is that of IP", "leave it out, or write a protocol of IP")
    for place in feed.match:
        if place != replace(place, port=PORTS, source_port=PORTS):
            entries["match"].fail(f"names a port, which {carrier} has not", "leave it out")
        if feed.ethertype and not place.anywhere:
            entries["match"].fail("names an address of IP, which Ethernet has not", "leave it out")
    return feed
