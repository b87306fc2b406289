"""Messages without the version and flags of a frame (jgroups.md 1.10; restricted style:
decoders/README.md 4)."""

# ruff: noqa: F403, F405  (what kernels share: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *

BARE_FD_SOCK2 = 3

OF_MPING = 65542 * 65536 + 53  # one header; its protocol and class id
OF_FD_SOCK2 = 65607 * 65536 + 93


def bare(data, o):
    """Is this one? Leading byte, flags, UUID, and one header: PING of MPING (1, or 2 before 5.0),
    or FD_SOCK2's."""
    lead = u8(data, o)
    if (lead != 2 and lead != 6) or u8(data, o + 3) != 2:
        return 0
    of = u32be(data, o + 20) * 65536 + u16be(data, o + 24)
    if of == OF_MPING:
        return 1 if lead == 2 else 2
    return BARE_FD_SOCK2 if of == OF_FD_SOCK2 else 0
