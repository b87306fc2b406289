"""Addresses, ports, places and lines as feed files and the command line write them."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from seqaudit.decoders.contract.feed_layout import LINE_NAMES, PORTS, Line, Route

_PORTS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
END_ADVICE: Final = "write such as 233.54.12.1:26400 or [ff05::1]:26400"


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


def parse_place(text: str) -> Route:
    """``any``, ADDRESS[/BITS][:PORT[-PORT]] or :PORT[-PORT]. Raises ValueError."""
    if text == "any":
        return Route()
    network, ports = _split_end(text)
    return Route(destination=network, port=ports or PORTS)


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


def is_ethernet(address: str) -> bool:
    """Whether it is an address of Ethernet: six numbers, and an IPv6 one has eight or a gap."""
    return address.count(":") == 5 and "::" not in address
