"""Feeds as the replay stage and the report know them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from seqaudit.replay.contract.engine import Columns, Opened, Opening, System
from seqaudit.replay.contract.results import Result
from seqaudit.replay.feeds.compare import FeedComparison, ends_of
from seqaudit.replay.feeds.parameters import PARAMETERS
from seqaudit.replay.feeds.report_rows import FeedStreamRow, PairRow
from seqaudit.replay.feeds.rules import FEED as RULES

if TYPE_CHECKING:
    from seqaudit.replay.feeds.both_ends import FeedEnds
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

    def sure_ends() -> "FeedEnds | None":
        sure = ends is not None and engine.confirmed and not engine.recognised
        return ends.over(engine.streams) if ends is not None and sure else None

    def results(_: int) -> Iterable[Result]:
        return findings.results(engine, told.capture, told.told)

    return Opened(engine, results, take_columns=take, ends=sure_ends)


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
    comparison=FeedComparison,
    streams={"feed": [FeedStreamRow]},
    endless=frozenset({"feed"}),
    tables={"lines": PairRow},
    pairs="lines",
)
