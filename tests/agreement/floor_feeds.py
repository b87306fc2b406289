"""What of captures of feeds is proven, and what never is.

Counted by ``tests.agreement.floor`` over the capture that shows each rule (``tests.rules.feeds``).
"""

from collections.abc import Mapping
from typing import Final

_LOST: Final = "in one capture nothing tells what was lost from what was not captured"
_ORDER: Final = "the capture may have taken them in another order, or twice, than the receivers"
_BEGAN: Final = "another sender, or old copies, may have these numbers"
_SILENT: Final = "the capture may have stopped, and not the sender"
_CLOCK: Final = "the clock of the capture may be off"

#: Rules that rest on something that no capture holds, whatever is in it.
NEVER: Final[Mapping[str, str]] = {
    "FD001": _LOST,
    "FD002": _LOST,
    "FD003": _ORDER,
    "FD004": "sent again and late look alike",
    "FD005": _ORDER,
    "FD006": _ORDER,
    "FD007": _LOST,
    "FD008": _BEGAN,
    "FD010": _BEGAN,
    "FD011": _BEGAN,
    "FD013": _LOST,
    "FD014": _LOST,
    "FD015": "the receiver's own capture is another",
    "FD016": _LOST,
    "FD017": "the capture ends",
    "FD018": _SILENT,
    "FD019": _SILENT,
    "FD020": "how often the numbers went round is not known",
    "FD021": "what is not remembered cannot be told",
    "FD022": _LOST,
    "FD023": _LOST,
    "FD024": _LOST,
    "FD025": _CLOCK,
    "FD026": _CLOCK,
    "FD028": "whose it is cannot be told",
    "FD029": _LOST,
}

#: rule -> capture -> seqnos that are proven at least; of a finding without seqnos 1.
AT_LEAST: Final[Mapping[str, Mapping[str, int]]] = {
    "FD009": {"FD009/capture.pcap": 1},
    "FD012": {"FD012/capture.pcap": 1},
    "FD027": {"FD027/capture.pcap": 1},
}
