"""The registry of rules: stable codes, each explained (replay/README.md 3).

Families: CP the capture itself, PG PGM, RA raims, UC UNICAST3/4, MC MCAST/NAKACK, ZN zenoh, FD
feeds. A code is never given to another rule, and never taken back.
"""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.captures.rules import CAPTURE
from seqaudit.replay.contract.rule import Rule
from seqaudit.replay.feeds.rules import FEED
from seqaudit.replay.jgroups.mcast.rules import MCAST
from seqaudit.replay.jgroups.unicast.rules import UNICAST
from seqaudit.replay.pgm.rules import PGM
from seqaudit.replay.raims.rules import RAIMS
from seqaudit.replay.zenoh.rules import ZENOH

RULES: Final[Mapping[str, Rule]] = {
    rule.code: rule for rule in (*CAPTURE, *MCAST, *UNICAST, *ZENOH, *PGM, *RAIMS, *FEED)
}
