"""What the replay stage emits: streams, gaps, findings, views, members, accounts, judged rules."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa

from seqaudit.decoders.contract.events import compact

STREAM: Final = "STREAM"
GAP: Final = "GAP"
CONNECTION: Final = "CONNECTION"  # one end of a connection: its states, what was left unacked
BOTH_ENDS: Final = "BOTH_ENDS"  # a stream whose sender's and receiver's captures are both given
FINDING: Final = "FINDING"
VIEW: Final = "VIEW"
QUERY: Final = "QUERY"  # of a cache: what was asked, what came, how it ended
WINDOW: Final = "WINDOW"  # how full something was over time
MEMBER: Final = "MEMBER"
ACCOUNT: Final = "ACCOUNT"
PROBLEM: Final = "PROBLEM"  # of the capture: an incomplete datagram, a damaged stretch
JUDGED: Final = "JUDGED"  # rules that were judged on a conversation, or why they could not be
PARAMETER: Final = "PARAMETER"
TABLE: Final = "TABLE"  # a row of a system's own table; ``detail["table"]`` names it

RESULTS: Final = pa.schema(
    [
        pa.field("capture", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("conversation", pa.string(), nullable=False),
        pa.field("system", pa.string(), nullable=False),
        pa.field("stream", pa.string()),
        pa.field("frame", pa.int64()),  # job frame; null where the row has none
        pa.field("at_ns", pa.int64()),
        pa.field("rule", pa.string()),
        # JSON. Values under a key "frame", "frames" or "*_frame" are job frames, which the report
        # turns into Wireshark's numbers; everything else is as the report prints it.
        pa.field("detail", pa.string(), nullable=False),
    ]
)

#: A row of results, or of the report, as JSON has it.
Row = dict[str, Any]

_PLACE: Final = attrgetter("kind", "capture", "conversation", "system")


@dataclass(frozen=True, slots=True)
class Result:
    """One row of RESULTS; ``detail`` is still a dict, unless ``text`` is what it makes."""

    capture: int
    kind: str
    conversation: str
    system: str
    detail: Row
    stream: str | None = None
    frame: int | None = None
    at_ns: int | None = None
    rule: str | None = None
    text: str | None = None


def to_batch(results: list[Result]) -> pa.RecordBatch:
    """Rows as one batch of RESULTS; of judged rules a row a conversation."""
    rows = list(_judged_together(results))
    columns = {
        name: [getattr(result, name) for result in rows]
        for name in RESULTS.names
        if name != "detail"
    }
    columns["detail"] = [
        compact(result.detail) if result.text is None else result.text for result in rows
    ]
    return pa.RecordBatch.from_pydict(columns, schema=RESULTS)


def _judged_together(results: Iterable[Result]) -> Iterator[Result]:
    """The rules that follow one another as one row: they are a hundred for each conversation, and
    the same for most. Its detail is ``{"judged": [rule], "not_judged": {why: [rule]}}``."""
    for (kind, *place), same in groupby(results, key=_PLACE):
        if kind != JUDGED:
            yield from same
            continue
        judged: list[str] = []
        not_judged: dict[str, list[str]] = {}
        for result in same:
            told = result.detail
            rules = judged if told["judged"] else not_judged.setdefault(told["why"], [])
            rules.append(told["rule"])
        capture, conversation, system = place
        detail = {"judged": judged, "not_judged": not_judged}
        yield Result(capture, JUDGED, conversation, system, detail)
