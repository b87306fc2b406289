"""Addresses by number, as text where somebody asks for it: most are of others, and a capture may
have more of them than of anything that is replayed."""

import ipaddress
import socket
from collections.abc import Sequence
from typing import Final, Generic, TypeVar, overload

import numpy as np

from seqaudit.decoders.contract.arrow import distinct
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_kernels as k

T = TypeVar("T")


class Made(Sequence[T], Generic[T]):
    """A sequence each item of which is made, by ``_make``, when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[int, T] = {}

    def _make(self, number: int) -> T:
        raise NotImplementedError

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[T]: ...
    def __getitem__(self, number: int | slice) -> T | Sequence[T]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        made = self._made.get(number)
        if made is None:
            if number >= len(self):
                raise IndexError(number)
            made = self._made[number] = self._make(number)
        return made


def _ranks() -> Int64s:
    """Of a byte its place among all of them as decimal texts: 0, 1, 10, 100, 101 …"""
    ranks = np.zeros(256, np.int64)
    ranks[sorted(range(256), key=str)] = np.arange(256)
    return ranks


_RANKS: Final = _ranks()


class Hosts(Made[str]):
    """The addresses of a table of the packet kernel.

    Args:
        work: the kernel's memory, in which there may come more of them.
    """

    def __init__(self, work: Int64s) -> None:
        super().__init__()
        self._work: Int64s | None = work
        self._rows = np.zeros((0, k.HOST_WORDS), np.int64)

    def keep(self) -> None:
        """No more will come, and the memory is for others."""
        self._rows, self._work = self._table().copy(), None

    def __len__(self) -> int:
        return len(self._rows) if self._work is None else int(self._work[k.HOST_COUNT])

    def ranks(self, hosts: Int64s) -> Int64s:
        """For some of them numbers in the order of their texts, which are not made where all are
        of IPv4: a point comes before any digit, and so does the end."""
        rows = self._table()[hosts]
        if (rows[:, 0] == k.NETWORK_IPV4).all():
            shifts = np.arange(24, -8, -8)
            places = _RANKS[rows[:, 4:] >> shifts & 0xFF] << shifts
            ranks: Int64s = places.sum(axis=1)
            return ranks
        known = distinct(hosts)
        texts = [self[number] for number in known.tolist()]
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        return np.argsort(order)[np.searchsorted(known, hosts)]

    def _make(self, number: int) -> str:
        version, *words = self._table()[number].tolist()
        return address_text(version, words)

    def _table(self) -> Int64s:
        if self._work is None:
            return self._rows
        stop = k.HOST_ROWS + int(self._work[k.HOST_COUNT]) * k.HOST_WORDS
        return self._work[k.HOST_ROWS : stop].reshape(-1, k.HOST_WORDS)


def address_text(version: int, words: list[int]) -> str:
    """The canonical text of an address of four 32-bit words (IPv4: the last one)."""
    if version == k.NETWORK_IPV4:
        return socket.inet_ntoa(words[3].to_bytes(4))
    return str(ipaddress.IPv6Address(words[0] << 96 | words[1] << 64 | words[2] << 32 | words[3]))
