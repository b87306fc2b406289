"""PGM as the replay stage and the report know it."""

from collections.abc import Iterable
from typing import Final

from seqaudit.replay.contract.engine import Joining, Opened, Opening, System
from seqaudit.replay.contract.results import Result
from seqaudit.replay.pgm.compare import BothEnds, EndsMeeting, ends_of
from seqaudit.replay.pgm.parameters import PARAMETERS
from seqaudit.replay.pgm.report_rows import PgmStreamRow
from seqaudit.replay.pgm.rules import PGM as RULES

NAME: Final = "pgm"


def _open(told: Opening) -> Opened:
    from seqaudit.replay.pgm import findings
    from seqaudit.replay.pgm.engine import PgmEngine

    ends = ends_of(told)
    engine = PgmEngine(told.conversation, told.parameters, told.vantage, ends)

    def over(end_ns: int) -> Iterable[Result]:
        if ends is not None:
            assert isinstance(told.meeting, EndsMeeting), "as the description says"
            told.meeting.add(ends)
        return findings.results(engine, told.capture, end_ns)

    return Opened(engine, over, engine.takes)


PGM: Final = System(
    NAME,
    _open,
    RULES,
    ("PG",),
    PARAMETERS,
    joins={NAME: Joining(carries=True)},
    meeting=EndsMeeting,
    comparison=BothEnds,
    streams={NAME: [PgmStreamRow]},
)
