"""How the rows of a capture are shared among tasks: those that decode, and the one that replays."""

from pathlib import Path

import pyarrow.compute as pc

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import decode
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.planning import cores
from seqaudit.pipeline.shared.plan import CaptureInput, Shares, StandardInput, plan, stored_bytes
from seqaudit.pipeline.shared.spark_address import SparkAddress


def shares(capture: Path, feed: Path) -> list[str]:
    """Sentences: the largest decoding task's share, and the rows of the largest conversation."""
    given = [CaptureInput(str(capture))]
    planned = plan(given, shares=Shares(cores(SparkAddress())), stdin=StandardInput())
    tasks = [sum(map(stored_bytes, task)) for task in planned.tasks()]
    events = decode(given, Options(engine="direct", feeds=feeds_of([str(feed)], []))).events
    rows = pc.value_counts(events["conversation"].combine_chunks()).field("counts")
    largest = max(rows.to_pylist())
    messages = pc.sum(events["count"]).as_py() or 0
    return [
        f"The largest of {len(tasks)} decoding tasks reads {max(tasks) / sum(tasks):.1%} of it.",
        f"{messages:,} messages reach the replay as {events.num_rows:,} rows; the task of the "
        f"largest conversation is passed {largest:,} of them, {largest / messages:.2%} of the "
        f"messages, in batches of at most 100,000.",
    ]
