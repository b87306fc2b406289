"""zenoh as the replay stage and the report know it."""

from functools import partial
from typing import Final

from seqaudit.replay.contract.engine import Opened, Opening, Row, System
from seqaudit.replay.zenoh.compare import ZenohComparison, ends_of
from seqaudit.replay.zenoh.parameters import PARAMETERS
from seqaudit.replay.zenoh.report_rows import (
    SamplesStreamRow,
    TransportStreamRow,
    UnnumberedStreamRow,
)
from seqaudit.replay.zenoh.rules import RULES

NAME: Final = "zenoh"
#: Rows about frames, which say nothing of whose they are.
_OF_ANY: Final = frozenset({"batches", "cut"})


def _open(told: Opening) -> Opened:
    from seqaudit.replay.zenoh import findings
    from seqaudit.replay.zenoh.engine import ZenohEngine

    ends = ends_of(told)
    engine = ZenohEngine(told.conversation, told.parameters, told.vantage, told.read, ends)
    results = partial(findings.results, engine, told.capture)
    if ends is None:
        return Opened(engine, results)
    return Opened(engine, results, ends=partial(ends.over, engine))


def _shows(row: Row) -> bool:
    """Whether a row is of a batch that is zenoh, not of one that only reads like it."""
    return row.wire_kind not in _OF_ANY and '"doubt":1' not in (row.detail or "")


ZENOH: Final = System(
    NAME,
    _open,
    RULES,
    ("ZN",),
    PARAMETERS,
    ordered=True,
    shows=_shows,
    comparison=ZenohComparison,
    streams={"zenoh": [SamplesStreamRow, UnnumberedStreamRow], "zenoh-hop": [TransportStreamRow]},
    endless=frozenset({"zenoh-hop"}),
)
