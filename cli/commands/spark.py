"""``seqaudit spark``: what a cluster needs for jobs of seqaudit (pipeline/README.md 3)."""

from pathlib import Path

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.output.terminal import note


@click.group("spark")
def command() -> None:
    """Pack what workers of a Spark cluster need.

    \b
    Example:
      seqaudit spark environment -o env.tar.gz
    """


@command.command("environment")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="ENV.tar.gz",
    help="The archive to write; one that is there is replaced.",
)
def environment(output: str) -> int:
    """Pack the Python packages that workers need.

    For a cluster whose workers have a Python of the version that runs this, but not the packages:
    a job brings them along. Make it on the same kind of system and processor as the workers have.

    \b
    Example:
      seqaudit spark environment -o env.tar.gz
      seqaudit audit --master spark://head:7077 \\
        --spark-conf spark.archives=env.tar.gz#environment \\
        --spark-conf spark.pyspark.python=./environment/bin/python \\
        /shared/captures/*.pcap
    """
    from seqaudit.pipeline.spark.environment import pack

    packed = pack(Path(output))
    size = Path(output).stat().st_size // 1_000_000
    names = ", ".join(f"{name} {version}" for name, version in packed.items())
    note(f"{output}: {size} MB: {names}")
    return ExitCode.CLEAN
