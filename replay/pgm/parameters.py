"""Parameters of the PGM engine (raims.md 2)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Parameter, by_name

_SAID: Final = "raims.md 2"
#: The decoder has to be told of it: where packets overfill a window a run of them ends.
WINDOW_SQNS: Final = "pgm.rxw_sqns"

PARAMETERS: Final[Mapping[str, Parameter]] = by_name((
    Parameter(WINDOW_SQNS, 4096, "sqns", "size of a receive window", _SAID),
    Parameter("pgm.nak_data_retries", 10, "rounds", "waits for RDATA until a receiver gives up",
              _SAID),
    Parameter("pgm.nak_ncf_retries", 10, "rounds", "waits for an NCF until a receiver gives up",
              _SAID),
    Parameter("pgm.nak_rdata_wait_ms", 500, "ms", "how long a receiver waits for RDATA", _SAID),
    Parameter("pgm.nak_repeat_ms", 200, "ms", "how long a receiver waits for an NCF", _SAID),
    Parameter("pgm.nak_back_off_ms", 50, "ms", "longest back-off before a NAK", _SAID),
    Parameter("pgm.mtu", 16_384, "bytes", "largest PGM packet with UDP and IP that a receiver can "
              "take", _SAID),
))  # fmt: skip
