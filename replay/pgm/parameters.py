"""Parameters of the PGM engine (raims.md 2)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Parameter, by_name
from seqaudit.replay.pgm.window import WindowSettings

_SAID: Final = "raims.md 2"
#: The decoder has to be told of it: where packets overfill a window a run of them ends.
WINDOW_SQNS: Final = "pgm.rxw_sqns"
_USUAL: Final = WindowSettings()
_MS: Final = 1_000_000

PARAMETERS: Final[Mapping[str, Parameter]] = by_name((
    Parameter(WINDOW_SQNS, _USUAL.window_sqns, "sqns", "size of a receive window", _SAID, least=1),
    Parameter("pgm.nak_data_retries", _USUAL.data_retries, "rounds",
              "waits for RDATA until a receiver gives up", _SAID, least=1),
    Parameter("pgm.nak_ncf_retries", _USUAL.ncf_retries, "rounds",
              "waits for an NCF until a receiver gives up", _SAID, least=1),
    Parameter("pgm.nak_rdata_wait_ms", _USUAL.data_wait_ns // _MS, "ms",
              "how long a receiver waits for RDATA", _SAID, least=1),
    Parameter("pgm.nak_repeat_ms", _USUAL.ncf_wait_ns // _MS, "ms",
              "how long a receiver waits for an NCF", _SAID, least=1),
    Parameter("pgm.nak_back_off_ms", _USUAL.back_off_ns // _MS, "ms",
              "longest back-off before a NAK", _SAID),
    Parameter("pgm.mtu", 16_384, "bytes", "largest PGM packet with UDP and IP that a receiver can "
              "take", _SAID),
))  # fmt: skip
