"""What a run took: counted the same way whatever replays, and only where it is asked for."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import jsonschema
import pyarrow as pa

from seqaudit.decoders.contract.events import NO_CONVERSATION
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.report.result_store import HeldResults
from seqaudit.pipeline.report.schema import schema
from seqaudit.pipeline.shared.metrics import METRIC, measured
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.report_types import problems


def test_conversations_are_counted_across_batches_and_accounts_are_none() -> None:
    batches = [["a", "a", "b"], ["b", "b", "b"], [], ["b", "c", NO_CONVERSATION]]
    rows = [pa.RecordBatch.from_pydict({"conversation": pa.array(b, pa.string())}) for b in batches]
    seen: list[pa.RecordBatch] = []

    def act(given: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        seen.extend(given)
        return ()

    (row,) = measured(rows, act)
    assert seen == rows
    (told,) = HeldResults([row]).of(METRIC)
    detail = told["detail"]
    assert (detail["events"], detail["conversations"], detail["largest"]) == (8, 3, 5)
    assert detail["peak_bytes"] > 1_000_000 and detail["cpu_seconds"] >= 0


def test_the_memory_of_who_started_a_process_is_not_its_own() -> None:
    told = "from seqaudit.pipeline.shared.metrics import peak_bytes; print(peak_bytes())"
    held = bytearray(b"x") * (400 << 20)
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, check=True)
    assert int(found.stdout) < len(held)


def test_a_report_says_what_it_took_where_it_is_asked_and_else_is_the_same(fixtures: Path) -> None:
    captures = [CaptureInput(str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap"))]
    plain = audit(captures, Options(engine="direct"))
    told = audit(captures, Options(engine="direct", measured=True))
    figures = told.pop("metrics")
    assert "metrics" not in plain and to_json(plain) == to_json(told)
    told["metrics"] = figures
    assert not problems(told)
    defined = schema()
    jsonschema.validate(figures, {**defined["$defs"]["MetricsRow"], "$defs": defined["$defs"]})
    assert figures["bytes"] == Path(captures[0].path).stat().st_size
    assert figures["frames"] == told["totals"]["frames"]
    assert (figures["runs"], figures["pieces"], figures["lanes"]) == (1, 1, 1)
    assert figures["events"] >= figures["largest_conversation"] > 0
    assert figures["skew"] == 1.0
    assert figures["shuffle_bytes"] == 0 and figures["result_rows"] is None
