"""Frames of a JGroups TCP stream (jgroups.md 1.9; restricted style: decoders/README.md 4)."""

# ruff: noqa: F403, F405  (what kernels share: decoders/README.md 4)

from seqaudit.decoders.jgroups.bare_kernels import *
from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.kernels.walk_words import *

#: Functions that Python calls; the others need no wrapper when compiled.
ENTRY_POINTS = ("walk",)

MESSAGE = 0
PREAMBLE = 1
CLOSE = 2

COOKIE = 0x62656C61  # "bela"
GRACEFUL_CLOSE = 0xFFFFFFFB  # -5
MAX_FRAME = 67108864


def walk(data, at, stop, strict, starts, stops, kinds, room):
    """Frames from ``at``, which is the begin of one.

    Args:
        strict: version to insist on (0: that of the first frame), for a stream whose preamble was
            not captured; -1: only lengths are looked at, since a preamble said what this is.
        starts, stops, kinds: where frames go, ``room`` of them.

    Returns:
        (frames, where the next one begins, why it stopped, bytes from there that are wanted,
        ``strict`` for the next call).
    """
    count = 0
    while count < room:
        if at + 4 > stop:
            return count, at, SHORT, 4, strict
        size = u32be(data, at)
        start = at + 4
        kind = MESSAGE
        if size == GRACEFUL_CLOSE:
            size = 0
            kind = CLOSE
        elif size == COOKIE:
            if at + 8 > stop:
                return count, at, SHORT, 8, strict
            size = 4 + u16be(data, at + 6)
            kind = PREAMBLE
            if size > 64:
                return count, at, LOST, 0, strict
            strict = -1
        elif size == 0 or size > MAX_FRAME:
            return count, at, LOST, 0, strict
        elif strict >= 0:
            if at + 7 > stop:
                return count, at, SHORT, 7, strict
            version = u16be(data, start)
            if data[start] == 2 and size >= 32:
                if start + 26 > stop:
                    return count, at, SHORT, 30, strict
                if bare(data, start) != BARE_FD_SOCK2:
                    return count, at, LOST, 0, strict
            elif (
                (data[start + 2] | 0) > 3
                or version < 0x1800
                or version >= 0x3000
                or (strict > 0 and version != strict)
            ):
                return count, at, LOST, 0, strict
            else:
                strict = version
        if start + size > stop:
            return count, at, SHORT, 4 + size, strict
        starts[count] = start
        stops[count] = start + size
        kinds[count] = kind
        count += 1
        at = start + size
    return count, at, FULL, 0, strict
