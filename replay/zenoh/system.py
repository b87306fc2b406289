"""zenoh as the replay stage and the report know it."""

from functools import partial
from typing import Final

from seqaudit.replay.contract.engine import Opened, Opening, System
from seqaudit.replay.zenoh.compare import ZenohComparison
from seqaudit.replay.zenoh.meeting import LegMeeting, ends_of, met
from seqaudit.replay.zenoh.parameters import PARAMETERS
from seqaudit.replay.zenoh.report_rows import (
    SamplesStreamRow,
    TransportStreamRow,
    UnnumberedStreamRow,
)
from seqaudit.replay.zenoh.rules import ZENOH as RULES


def _open(told: Opening) -> Opened:
    from seqaudit.replay.zenoh import findings
    from seqaudit.replay.zenoh.engine import ZenohEngine

    ends = ends_of(told)
    engine = ZenohEngine(told.conversation, told.parameters, told.vantage, told.read, ends)
    results = partial(findings.results, engine, told.capture)
    return Opened(engine, results if ends is None else met(told, engine, ends, results))


ZENOH: Final = System(
    "zenoh",
    _open,
    RULES,
    ("ZN",),
    PARAMETERS,
    ordered=True,
    meeting=LegMeeting,
    comparison=ZenohComparison,
    streams={"zenoh": [SamplesStreamRow, UnnumberedStreamRow], "zenoh-hop": [TransportStreamRow]},
)
