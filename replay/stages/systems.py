"""The registry of systems: a line each (CONTRIBUTING.md 2).

With it come the registries of rules and of parameters. Families of rules: CP the capture itself, PG
PGM, RA raims, UC UNICAST3/4, MC MCAST/NAKACK, ZN zenoh, FD feeds. A code is never given to another
rule, and never taken back.
"""

from typing import Final

from seqaudit.replay.captures.rules import CAPTURE
from seqaudit.replay.contract.engine import System
from seqaudit.replay.contract.parameters import Parameter
from seqaudit.replay.contract.rule import Rule
from seqaudit.replay.feeds.system import FEEDS
from seqaudit.replay.jgroups.mcast.system import MCAST
from seqaudit.replay.jgroups.unicast.system import UNICAST
from seqaudit.replay.pgm.system import PGM
from seqaudit.replay.raims.system import RAIMS
from seqaudit.replay.zenoh.system import ZENOH

#: By the first word of their conversations.
SYSTEMS: Final[dict[str, System]] = {}
#: By code.
RULES: Final[dict[str, Rule]] = {rule.code: rule for rule in CAPTURE}
#: By full name.
PARAMETERS: Final[dict[str, Parameter]] = {}


def register(system: System) -> None:
    """Know a system from here on: before anything is replayed."""
    SYSTEMS[system.name] = system
    RULES.update((rule.code, rule) for rule in system.rules)
    PARAMETERS.update(system.parameters)


register(MCAST)
register(UNICAST)
register(ZENOH)
register(PGM)
register(RAIMS)
register(FEEDS)
