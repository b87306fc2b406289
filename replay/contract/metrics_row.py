"""What a run took, as the report has it on request."""

from typing import Annotated, Literal, TypedDict


class MetricsRow(TypedDict):
    """What the run took, on request; two runs differ in it, and engines as well."""

    engine: Literal["direct", "spark"]
    executors: Annotated[int | None, "that answered; null: Spark of this machine, or none"]
    cores: Annotated[int, "that the plan was made for"]
    seconds: Annotated[float, "from the plan to the report, by this machine's clock"]
    runs: Annotated[int, "decodings; more than one where a guess proved wrong"]
    pieces: Annotated[int, "that captures were cut into"]
    tasks: Annotated[int, "that pieces were packed into"]
    lanes: Annotated[int, "parts that were replayed by themselves"]
    bytes: Annotated[int, "of the files, as stored"]
    frames: int
    events: Annotated[int, "that were replayed: runs of messages, and what is no run"]
    conversations: Annotated[int, "that the events are of"]
    largest_conversation: Annotated[int, "events of the one that has most"]
    largest_lane: Annotated[int, "events of the part that has most"]
    skew: Annotated[float | None, "largest_lane by the mean of all parts; null without events"]
    replay_cpu_seconds: Annotated[float, "processor time of all parts together"]
    replay_peak_bytes: Annotated[int, "the most memory of a process that replayed"]
    driver_peak_bytes: Annotated[int, "the most memory of this command's first process"]
    shuffle_bytes: Annotated[int | None, "written between Spark's stages; null: Connect, no word"]
    spill_memory_bytes: Annotated[int | None, "put to disk, as in memory; null as shuffle_bytes"]
    spill_disk_bytes: Annotated[int | None, "put to disk, as there; null as shuffle_bytes"]
    result_rows: Annotated[int | None, "that came back from Spark; null: without Spark"]
    result_bytes: Annotated[int | None, "that these took here; null as result_rows"]
