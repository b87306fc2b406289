"""UNICAST3 and UNICAST4 as the replay stage and the report know them."""

from functools import partial
from typing import Final

from seqaudit.replay.contract.engine import Joining, Opened, Opening, System
from seqaudit.replay.jgroups.compare import JGroupsComparison, ends_of
from seqaudit.replay.jgroups.report_rows import UnicastStreamRow
from seqaudit.replay.jgroups.unicast.parameters import PARAMETERS
from seqaudit.replay.jgroups.unicast.rules import UNICAST as RULES


def _open(told: Opening) -> Opened:
    from seqaudit.replay.jgroups.unicast import findings
    from seqaudit.replay.jgroups.unicast.engine import UnicastEngine

    ends = ends_of(told)
    engine = UnicastEngine(told.conversation, told.parameters, told.vantage, ends)
    results = partial(findings.results, engine, told.capture)
    return Opened(engine, results, ends=lambda: ends)


def _connection(stream: str) -> str:
    """Streams are named ``PAIR|connection``: those of a pair are ordered."""
    return stream.rpartition("|")[0]


_OF_A_PAIR: Final = Joining(group=_connection)

UNICAST: Final = System(
    "unicast",
    _open,
    RULES,
    ("UC",),
    PARAMETERS,
    joins={"unicast3": _OF_A_PAIR, "unicast4": _OF_A_PAIR},
    members=False,  # its members are those of MCAST's conversation
    comparison=JGroupsComparison,
    streams={"unicast3": [UnicastStreamRow], "unicast4": [UnicastStreamRow]},
    from_one=frozenset({"unicast3", "unicast4"}),
)
