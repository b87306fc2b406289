"""How full the buffer of a socket may have been, which a row of many datagrams does not say.

What has come lately its node may not have read: it fills the buffer of its socket
(``replay.zenoh.floods``). All sessions of a node that listens share one.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from seqaudit.decoders.contract.arrow import distinct
from seqaudit.decoders.contract.zenoh_detail import CROWD_NS, LEAST, MOST, ROOM
from seqaudit.decoders.kernels.loader import Int64s

#: Within CROWD_NS: behind so many others there may be no room for one, or they have filled it all.
_TIGHT: Final = ROOM // MOST + 1
_FULL: Final = ROOM // LEAST + 2
_NONE: Final = np.zeros(0, np.int64)


class Crowds:
    """Of one piece: what came last is known to the next chunk, so that a burst counts the same
    wherever that begins."""

    def __init__(self) -> None:
        self._hosts: list[str] = []
        self._host = self._port = self._at_ns = _NONE  # of what came in the last CROWD_NS

    def of(self, hosts: Sequence[str], host: Int64s, port: Int64s, at_ns: Int64s) -> Int64s:
        """Of each of the next datagrams 0, TIGHT or FULL.

        Args:
            hosts: addresses as text, by number.
            host, port: (count,) of the destination of each.
            at_ns: (count,) when they came, in any order.
        """
        if not len(at_ns):
            return _NONE
        names = {number: hosts[number] for number in distinct(host).tolist()}
        here = {name: number for number, name in names.items()}
        earlier = [here.get(name, -1 - place) for place, name in enumerate(self._hosts)]
        names |= dict(zip(earlier, self._hosts, strict=True))
        host = np.concatenate((np.array(earlier, np.int64)[self._host], host))
        port = np.concatenate((self._port, port))
        at_ns = np.concatenate((self._at_ns, at_ns))
        found = crowds(host << 16 | port, at_ns)[len(self._host) :]
        last = at_ns >= at_ns.max() - CROWD_NS
        kept = distinct(host[last])
        self._host = np.searchsorted(kept, host[last])
        self._hosts = [names[number] for number in kept.tolist()]
        self._port, self._at_ns = port[last], at_ns[last]
        return (found >= _TIGHT).astype(np.int64) + (found >= _FULL)


def crowds(socket: Int64s, at_ns: Int64s) -> Int64s:
    """Of each datagram, how many came for its socket in the ``CROWD_NS`` up to it, with itself.

    Args:
        socket: (count,) a number for each destination, address and port.
        at_ns: (count,) when they came, in any order.

    Returns:
        (count,); 0 where there are few, but not everywhere.
    """
    found = np.zeros(len(at_ns), np.int64)
    in_time = np.sort(at_ns)
    few = _TIGHT - 1
    if not (in_time[few:] - in_time[:-few] <= CROWD_NS).any():
        return found
    order = np.lexsort((at_ns, socket))
    borders = np.flatnonzero(np.diff(socket[order])) + 1
    begins = np.concatenate(([0], borders))
    stops = np.concatenate((borders, [len(order)]))
    many = stops - begins > few
    for begin, stop in zip(begins[many].tolist(), stops[many].tolist(), strict=True):
        mine = order[begin:stop]
        times = at_ns[mine]
        found[mine] = np.arange(1, len(mine) + 1) - np.searchsorted(times, times - CROWD_NS)
    return found
