"""raims as the replay stage and the report know it."""

from functools import partial
from typing import Final

from seqaudit.replay.contract.engine import Joining, Opened, Opening, System
from seqaudit.replay.raims.compare import RaimsComparison
from seqaudit.replay.raims.config import from_raims_config
from seqaudit.replay.raims.parameters import PARAMETERS
from seqaudit.replay.raims.report_rows import TABLES, RaimsStreamRow
from seqaudit.replay.raims.rules import RULES

NAME: Final = "raims"
#: Messages that say whether a daemon lives or is dropped, and what is wanted from now on.
_LIFE_SIGNS: Final = frozenset(
    {"MEMBER", "HELO", "HB", "AUTH", "BYE", "DEL", "JOIN", "LEAV", "PSUB", "STOP"}
)
#: Over such a pause a publisher has begun another frame, or been dropped.
_PAUSE_NS: Final = 1 << 33


def _open(told: Opening) -> Opened:
    from seqaudit.replay.raims import findings
    from seqaudit.replay.raims.engine import RaimsEngine

    engine = RaimsEngine(told.conversation, told.parameters, told.vantage)
    results = partial(findings.results, engine, told.capture)
    return Opened(engine, results, engine.takes, parts=engine.parts)


def _messages(stream: str) -> str:
    """Streams are named ``LINK|…``: the same messages may come on several links."""
    return stream.partition("|")[2]


RAIMS: Final = System(
    NAME,
    _open,
    RULES,
    ("RA", "PG"),
    PARAMETERS,
    joins={
        NAME: Joining(group=_messages, life_signs=_LIFE_SIGNS, pause_ns=_PAUSE_NS),
        "pgm": Joining(carries=True),
        "inbox": Joining(carries=True),
    },
    comparison=RaimsComparison,
    streams={NAME: [RaimsStreamRow]},
    tables=TABLES,
    one_observer=True,
    config={"parameters": from_raims_config},
)
