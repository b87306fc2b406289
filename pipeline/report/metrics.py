"""What a run took as a row of the report (``--metrics``)."""

import time
from typing import Literal

from seqaudit.pipeline.report.result_store import HeldResults
from seqaudit.pipeline.shared.metrics import METRIC, Run, peak_bytes
from seqaudit.replay.contract.metrics_row import MetricsRow


def metrics_row(
    run: Run,
    engine: Literal["direct", "spark"],
    cores: int,
    results: HeldResults,
    frames: int,
) -> MetricsRow:
    """The figures of a run, as the report has them."""
    lanes = [row["detail"] for row in results.of(METRIC)]
    events = sum(lane["events"] for lane in lanes)
    largest = max((lane["events"] for lane in lanes), default=0)
    planned = run.planned
    return {
        "engine": engine,
        "executors": run.executors,
        "cores": cores,
        "seconds": round(time.monotonic() - run.began, 3),
        "runs": run.runs,
        "pieces": len(planned.pieces) if planned else 0,
        "tasks": len(planned.tasks()) if planned else 0,
        "lanes": len(lanes),
        "bytes": planned.total_bytes if planned else 0,
        "frames": frames,
        "events": events,
        "conversations": sum(lane["conversations"] for lane in lanes),
        "largest_conversation": max((lane["largest"] for lane in lanes), default=0),
        "largest_lane": largest,
        "skew": round(largest * len(lanes) / events, 3) if events else None,
        "replay_cpu_seconds": round(float(sum(lane["cpu_seconds"] for lane in lanes)), 3),
        "replay_peak_bytes": max((lane["peak_bytes"] for lane in lanes), default=0),
        "driver_peak_bytes": peak_bytes(),
        "shuffle_bytes": run.of_spark.shuffled,
        "spill_memory_bytes": run.of_spark.spilled_memory,
        "spill_disk_bytes": run.of_spark.spilled_disk,
        "result_rows": run.rows,
        "result_bytes": run.size,
    }
