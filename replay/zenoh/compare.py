"""What several sessions, legs and captures of zenoh say together, for the report."""

from collections.abc import Mapping

from seqaudit.replay.contract.engine import Compared, Comparison, Detail, Replayed
from seqaudit.replay.contract.passage_rows import holes_in, of_path, settled_path
from seqaudit.replay.contract.results import BOTH_ENDS
from seqaudit.replay.zenoh import legs


class ZenohComparison(Comparison):
    """Samples on all legs; what is said of one session may rest on others."""

    reads_first = True

    def __init__(self) -> None:
        self._seen: list[tuple[int, str, Detail]] = []

    def note(self, capture: int, stream: str, row: Detail) -> None:
        if row.get("kind") in legs.COMPARED:
            self._seen.append((capture, stream, row))

    def figures(self) -> Mapping[tuple[int, str], Detail]:
        return legs.across_sessions(self._seen)

    def judge(self, replayed: Replayed) -> Compared:
        findings, together = legs.judge(self._seen, replayed.extents)
        rows = (
            row["detail"] | {key: row[key] for key in ("capture", "system", "stream")}
            for row in replayed.rows(BOTH_ENDS)
        )
        findings += [found for row in rows for found in of_path(row, replayed.extents)]
        details = (row["detail"] for row in replayed.rows(BOTH_ENDS))
        return Compared(findings, together=together, holes=holes_in(details, replayed.extents))

    def both_ends(self, row: Detail, replayed: Replayed) -> Detail:
        return {key: value for key, value in row.items() if key != "after"} | {
            "path": settled_path(row, replayed.extents, replayed.holes),
            "copies_sent_after_arrival": None,
            "copies_sent_after_arrival_at_least": row["after"],
            "unknown": {},
        }
