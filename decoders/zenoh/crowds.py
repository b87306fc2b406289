"""How many datagrams came for one socket at once, which a row of many of them does not say.

What has come lately its node may not have read: they fill the buffer of its socket
(``replay.zenoh.floods``). All sessions of a node that listens share one.
"""

import numpy as np

from seqaudit.decoders.contract.zenoh_detail import CROWD, CROWD_NS
from seqaudit.decoders.kernels.loader import Int64s


def crowds(socket: Int64s, at_ns: Int64s) -> Int64s:
    """Of each datagram, how many came for its socket in the ``CROWD_NS`` up to it, with itself.

    Args:
        socket: (count,) a number for each destination, address and port.
        at_ns: (count,) when they came, in any order.

    Returns:
        (count,); 0 where there are no more than ``CROWD``, but not everywhere.
    """
    found = np.zeros(len(at_ns), np.int64)
    in_time = np.sort(at_ns)
    if not (in_time[CROWD:] - in_time[:-CROWD] <= CROWD_NS).any():
        return found
    order = np.lexsort((at_ns, socket))
    borders = np.flatnonzero(np.diff(socket[order])) + 1
    begins = np.concatenate(([0], borders))
    stops = np.concatenate((borders, [len(order)]))
    many = stops - begins > CROWD
    for begin, stop in zip(begins[many].tolist(), stops[many].tolist(), strict=True):
        mine = order[begin:stop]
        times = at_ns[mine]
        found[mine] = np.arange(1, len(mine) + 1) - np.searchsorted(times, times - CROWD_NS)
    return found
