"""``seqaudit decode``: captures in, a file of events out (design 3.7)."""

from typing import Any

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import begin, inputs_of, options_of, reading_options
from seqaudit.cli.output.terminal import ShownProgress, note


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
def command(captures: tuple[str, ...], one_capture: bool | None, output: str, **given: Any) -> int:
    """Decode captures once and keep the events, to be audited many times.

    seqaudit audit EVENTS.parquet reports the same as on the captures, byte for byte. The file is
    Parquet, so pandas, DuckDB and Spark read it as well.

    \b
    Example:
      seqaudit decode big.pcapng.zst -o events.parquet
      seqaudit audit --param mcast.capacity=64 events.parquet
    """
    begin(given)
    from seqaudit.pipeline import events_file
    from seqaudit.pipeline.audit import StoppedError, decode

    inputs, _ = inputs_of(captures, (), one_capture)
    try:
        with ShownProgress() as progress:
            decoded = decode(inputs, options_of(**given), progress)
    except StoppedError as stopped:
        note(str(stopped))
        return ExitCode.INTERRUPTED
    events_file.write(decoded, output)
    note(f"{output}: {decoded.events.num_rows} rows of events")
    for _, problem in decoded.problems:
        note(f"error: {problem}")
    return ExitCode.NOT_JUDGED if decoded.problems else ExitCode.CLEAN
