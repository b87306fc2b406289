"""Feeds as the replay stage and the report know them."""

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from seqaudit.replay.contract.both_ends import met
from seqaudit.replay.contract.engine import Columns, Opened, Opening, System
from seqaudit.replay.feeds.compare import FeedComparison, ends_of, meeting
from seqaudit.replay.feeds.parameters import PARAMETERS
from seqaudit.replay.feeds.report_rows import FeedStreamRow
from seqaudit.replay.feeds.rules import FEED as RULES

if TYPE_CHECKING:
    from seqaudit.replay.feeds.rows import FeedRows


def _open(told: Opening) -> Opened:
    from seqaudit.replay.feeds import findings
    from seqaudit.replay.feeds.engine import FeedEngine
    from seqaudit.replay.feeds.rows import FeedRows

    ends = ends_of(told)
    engine = FeedEngine(told.conversation, told.parameters, told.vantage, ends)

    def take(rows: Columns) -> None:
        assert isinstance(rows, FeedRows), "as _columns made them"
        engine.take_rows(rows)

    def met_ends() -> object:
        sure = ends is not None and engine.confirmed and not engine.recognised
        return ends.over(engine.streams) if ends is not None and sure else None

    over = met(told, met_ends, lambda _: findings.results(engine, told.capture, told.told))
    return Opened(engine, over, take_columns=take)


def _columns(batch: pa.RecordBatch) -> "FeedRows":
    from seqaudit.replay.feeds.rows import FeedRows

    return FeedRows(batch)


FEEDS: Final = System(
    "feed",
    _open,
    RULES,
    ("FD",),
    PARAMETERS,
    columns=_columns,
    meeting=meeting,
    comparison=FeedComparison,
    streams={"feed": [FeedStreamRow]},
    endless=frozenset({"feed"}),
    pairs="lines",
)
