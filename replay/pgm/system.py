"""PGM as the replay stage and the report know it."""

from functools import partial
from typing import Final

from seqaudit.replay.contract.engine import Joining, Opened, Opening, System
from seqaudit.replay.pgm.compare import PgmComparison, ends_of
from seqaudit.replay.pgm.parameters import PARAMETERS
from seqaudit.replay.pgm.report_rows import PgmStreamRow
from seqaudit.replay.pgm.rules import PGM as RULES

NAME: Final = "pgm"


def _open(told: Opening) -> Opened:
    from seqaudit.replay.pgm import findings
    from seqaudit.replay.pgm.engine import PgmEngine

    ends = ends_of(told)
    engine = PgmEngine(told.conversation, told.parameters, told.vantage, ends)
    results = partial(findings.results, engine, told.capture)
    return Opened(engine, results, engine.takes, ends=lambda: ends)


PGM: Final = System(
    NAME,
    _open,
    RULES,
    ("PG",),
    PARAMETERS,
    joins={NAME: Joining(at_once=True)},
    members=False,
    comparison=PgmComparison,
    streams={NAME: [PgmStreamRow]},
    endless=frozenset({NAME}),
)
