"""Which Spark runs a job: what the command line names."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SparkAddress:
    """Where the job runs: this machine (both None), a classic master, or a Connect server; and
    what Spark is told there (``--spark-conf``), which goes before settings of ours."""

    master: str | None = None
    remote: str | None = None
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def named(self) -> bool:
        """Whether somebody said where."""
        return self.master is not None or self.remote is not None

    @property
    def local(self) -> bool:
        """Whether workers see the same files as the driver and run beside it."""
        return self.remote is None and (self.master is None or self.master.startswith("local"))
