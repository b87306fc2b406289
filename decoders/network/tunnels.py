"""By which tunnels packets came, as rows of a report say it (decoders/README.md 7)."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_words as k
from seqaudit.decoders.network.account_rows import PieceTunnels

TUNNEL_NAMES: Final = {
    k.TUNNEL_IP: "IP in IP",
    k.TUNNEL_GRE: "GRE",
    k.TUNNEL_ERSPAN: "ERSPAN",
    k.TUNNEL_VXLAN: "VXLAN",
    k.TUNNEL_GENEVE: "GENEVE",
    k.TUNNEL_GTP: "GTP-U",
    k.TUNNEL_TEREDO: "Teredo",
}
#: What they call the number of a network.
NUMBER_NAMES: Final = {
    k.TUNNEL_GRE: "key",
    k.TUNNEL_ERSPAN: "session",
    k.TUNNEL_VXLAN: "network",
    k.TUNNEL_GENEVE: "network",
}
#: Ends whose tunnels are told of a capture; of more none are, whatever pieces it is cut into.
MOST_ENDS: Final = 4096


def tunnel_name(kind: int, number: int | None) -> str:
    """``VXLAN network 5``; the kind alone where the tunnel names no network."""
    name = TUNNEL_NAMES[kind]
    return name if number is None else f"{name} {NUMBER_NAMES[kind]} {number}"


def name_of(tunnel: int) -> str:
    """The name of what the kernel wrote (``packet_words.TUNNEL``)."""
    return tunnel_name(tunnel & 0xFF, (tunnel >> 8) - 1 if tunnel >> 8 else None)


class TunnelsSeen:
    """By which tunnels a piece's packets came from one address to another."""

    def __init__(self) -> None:
        self._found: set[tuple[str, str, int]] = set()
        self._more = False

    def note(self, tunnels: Int64s, ends: tuple[Int64s, Int64s], hosts: Sequence[str]) -> None:
        """Packets, some of which came in tunnels.

        Args:
            tunnels: as the kernel has them (``packet_words.TUNNEL``).
            ends: numbers of the source and destination among ``hosts``; -1: it has none.
        """
        source, destination = ends
        rows = np.flatnonzero((tunnels > 0) & (source >= 0))
        if self._more or not len(rows):
            return
        told = np.stack([source[rows], destination[rows], tunnels[rows]])
        for one, other, tunnel in np.unique(told, axis=1).T.tolist():
            self.add(hosts[one], hosts[other], tunnel)

    def add(self, source: str, destination: str, tunnel: int) -> None:
        """A packet that came in one."""
        if not self._more:
            self._found.add((source, destination, tunnel))
            self._more = len(self._found) > MOST_ENDS

    def rows(self) -> PieceTunnels | None:
        """As an ACCOUNT row carries it; null: nothing came in a tunnel."""
        if not self._found:
            return None
        return {"ends": [] if self._more else sorted(self._found), "more": self._more}


class Tunnels:
    """By which tunnels what two ends of a capture said to each other came."""

    def __init__(self, pieces: Iterable[PieceTunnels]) -> None:
        self._by_source: dict[str, list[tuple[str, int]]] = {}
        told = list(pieces)
        found = {(*ends,) for piece in told for ends in piece["ends"]}
        if len(found) > MOST_ENDS or any(piece["more"] for piece in told):
            return
        for source, destination, tunnel in sorted(found):
            self._by_source.setdefault(source, []).append((destination, tunnel))

    def between(self, sources: Iterable[str], destinations: Iterable[str]) -> list[str]:
        """Names of the tunnels by which packets came from one of some addresses to one of others
        or, where none is known, to anybody; those to groups count for all."""
        known = set(destinations)
        found = {
            tunnel
            for source in sources
            for destination, tunnel in self._by_source.get(source, ())
            if not known or destination in known or _is_group(destination)
        }
        return [name_of(tunnel) for tunnel in sorted(found)]


def _is_group(address: str) -> bool:
    return ipaddress.ip_address(address).is_multicast
