"""``seqaudit decode``: captures in, a file of events out (pipeline/README.md 3)."""

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import reading_options
from seqaudit.cli.output.terminal import note
from seqaudit.cli.run import decoded


@click.command("decode")
@reading_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="EVENTS.parquet",
    help="The file to write; one that is there is replaced.",
)
def command(output: str, **given: object) -> int:
    """Decode captures once and keep the events, to be audited many times.

    seqaudit audit EVENTS.parquet reports the same as on the captures, byte for byte. The file is
    Parquet, so pandas, DuckDB and Spark read it as well.

    \b
    Example:
      seqaudit decode big.pcapng.zst -o events.parquet
      seqaudit audit --param mcast.capacity=64 events.parquet
    """
    from seqaudit.pipeline.shared.progress import StoppedError

    try:
        made = decoded(given)
    except StoppedError as stopped:
        note(str(stopped))
        return ExitCode.INTERRUPTED
    from seqaudit.pipeline.shared import events_file

    events_file.write(made, output)
    note(f"{output}: {made.events.num_rows} rows of events")
    for _, problem in made.problems:
        note(f"error: {problem}")
    return ExitCode.NOT_JUDGED if made.problems else ExitCode.CLEAN
