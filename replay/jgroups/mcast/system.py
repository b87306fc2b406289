"""MCAST as the replay stage and the report know it."""

from functools import partial
from typing import Final

from seqaudit.replay.contract.engine import Opened, Opening, System
from seqaudit.replay.jgroups.compare import JGroupsComparison, ends_of
from seqaudit.replay.jgroups.mcast.parameters import PARAMETERS
from seqaudit.replay.jgroups.mcast.rules import MCAST as RULES
from seqaudit.replay.jgroups.report_rows import McastStreamRow


def _open(told: Opening) -> Opened:
    from seqaudit.replay.jgroups.mcast import findings
    from seqaudit.replay.jgroups.mcast.engine import McastEngine

    ends = ends_of(told)
    engine = McastEngine(told.conversation, told.parameters, told.vantage, ends)
    results = partial(findings.results, engine, told.capture)
    return Opened(engine, results, ends=lambda: ends)


MCAST: Final = System(
    "mcast",
    _open,
    RULES,
    ("MC",),
    PARAMETERS,
    comparison=JGroupsComparison,
    streams={"nakack2": [McastStreamRow], "nakack4": [McastStreamRow]},
    from_one=frozenset({"nakack2", "nakack4"}),
)
