"""Options that several commands share, and what they mean (replay/README.md 6)."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from seqaudit.cli.exit_codes import Command, Decorator
from seqaudit.cli.options.paths import expanded
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import TIME_STYLES

if TYPE_CHECKING:
    from seqaudit.decoders.contract.feed_layout import Feed
    from seqaudit.decoders.contract.settings import DecodeSettings
    from seqaudit.pipeline.engine_choice import Choice, Limits
    from seqaudit.pipeline.options import Options
    from seqaudit.pipeline.shared.plan import CaptureInput
    from seqaudit.pipeline.shared.rotation import Group

#: Sizes and files that are still this process's: those of ``engine_choice.Limits``.
SPARK_ABOVE: Final = "1GiB,1000"
_SHIFTS: Final = {"MiB": 20, "GiB": 30, "TiB": 40}

capture_argument: Final = click.argument(
    "captures",
    nargs=-1,
    required=True,
    metavar="CAPTURE...",
    shell_complete=lambda _, __, begun: [CompletionItem(begun, type="file")],
)

_RECOGNITION: Final = (
    click.option(
        "--decode-as",
        multiple=True,
        metavar="udp|tcp:PORT=SYSTEM",
        help="Decode a port as a system, whatever it looks like. May be repeated.",
    ),
    click.option(
        "--no-decode",
        multiple=True,
        metavar="SYSTEM",
        help="Leave a system undecoded, such as jgroups. May be repeated.",
    ),
)

#: Settings of Spark that say where it is.
_PLACES: Final = {
    "spark.master": "--master",
    "spark.remote": "--remote",
    "spark.submit.deployMode": "--master: the command itself is the driver",
}

_ENGINE: Final = (
    click.option(
        "--engine",
        type=click.Choice(["auto", "spark", "direct"]),
        default="auto",
        show_default=True,
        help="A Spark job, or this process without Java; both report the same bytes. auto: Spark "
        "where a master or server is named or the captures exceed --spark-above.",
    ),
    click.option(
        "--spark-above",
        default=SPARK_ABOVE,
        show_default=True,
        metavar="SIZE[,FILES]",
        help="From where on --engine auto takes Spark.",
    ),
    click.option(
        "--master", metavar="URL", help="Spark master to run on (or SPARK_MASTER); else local[*]."
    ),
    click.option(
        "--remote",
        metavar="URL",
        help="Spark Connect server to run on: sc://HOST:PORT (or SPARK_REMOTE).",
    ),
    click.option(
        "--spark-conf",
        multiple=True,
        callback=lambda _, __, given: _reach_stores(given),
        metavar="KEY=VALUE",
        help="A setting of Spark, such as spark.executor.memory=4g; it goes before those of "
        "spark-defaults.conf. May be repeated.",
    ),
)

_READING: Final = (
    capture_argument,
    *_ENGINE,
    *_RECOGNITION,
    click.option(
        "--feed",
        "feeds",
        multiple=True,
        metavar="NAME|FILE[@PLACE][,server=IP:PORT][,hz=N]",
        help="A numbered feed: the name of a shipped one (seqaudit feeds) or a YAML file. PLACE is "
        "where it goes: IP[/BITS][:PORT[-PORT]], :PORT, or several with + between; without it, and "
        "without match in the file, whatever datagram fits. server is where requests go; hz are "
        "ticks a second of its timestamps. May be repeated.",
    ),
    click.option(
        "--feeds-auto",
        is_flag=True,
        help="Try every shipped feed that can be recognised, on what no system takes; seqaudit "
        "info says how much each took and refused.",
    ),
    click.option(
        "--lines",
        multiple=True,
        metavar="A=IP:PORT,B=IP:PORT",
        help="Two groups that carry the same feed: only what both lose is lost. May be repeated.",
    ),
    click.option(
        "--one-capture/--separate",
        "one_capture",
        default=None,
        help="All files are one capture that was written in turns, or each is one by itself. "
        "Without either, files of dumpcap -b and tcpdump -C, -G and -W are recognised by their "
        "names and times. Their order is that of their first packets.",
    ),
)

_JUDGING: Final = (
    click.option(
        "--at",
        "at",
        multiple=True,
        metavar="[FILE=]NAME|IP|between",
        help="Where captures were taken: a member's name or IP address, or between members (a "
        "mirror port); for all captures or one.",
    ),
    click.option(
        "--names",
        type=click.Path(exists=True, dir_okay=False),
        help="YAML file that maps member UUIDs or IP addresses to names.",
    ),
    click.option(
        "--param",
        multiple=True,
        metavar="SYSTEM.NAME=VALUE",
        help="A protocol parameter, such as mcast.capacity=2048. May be repeated.",
    ),
    click.option(
        "--params",
        type=click.Path(exists=True, dir_okay=False),
        help="YAML file of protocol parameters; --param goes before it.",
    ),
    click.option(
        "--rules",
        type=click.Choice(["code", "document", "document-before-sync"]),
        help="Whose rules are replayed: the shipped code's, the design documents', or those from "
        "before the UNICAST3 sync document. Sets the parameter rules of every system that has it.",
    ),
    click.option(
        "--jgroups-config",
        type=click.Path(exists=True, dir_okay=False),
        help="JGroups stack file (XML) of the members; --params goes before it.",
    ),
)


def reading_options(function: Command) -> Command:
    """Captures, and how they are read."""
    return _decorated(function, _READING)


def recognition_options(function: Command) -> Command:
    """Overrides of recognition."""
    return _decorated(function, _RECOGNITION)


def engine_options(function: Command) -> Command:
    """What runs the command."""
    return _decorated(function, _ENGINE)


def engine_of(
    captures: Sequence[str],
    engine: str,
    master: str | None,
    remote: str | None,
    spark_above: str,
    spark_conf: Sequence[str] = (),
    **rest: Any,
) -> tuple["Choice", dict[str, Any]]:
    """What ``engine_options`` say, for these captures; and the other options.

    A place of the configuration file gives way to one of the command line or the environment, and
    to ``--engine direct``.

    Raises:
        click.UsageError: they make no sense; one line.
    """
    from seqaudit.decoders.contract.errors import SeqauditError
    from seqaudit.pipeline.engine_choice import MASTER, REMOTE, chosen

    elsewhere = bool(os.environ.get(MASTER) or os.environ.get(REMOTE))
    nearer = engine == "direct" or elsewhere
    if _is_configured("master") and (nearer or (remote and not _is_configured("remote"))):
        master = None
    if _is_configured("remote") and (nearer or (master and not _is_configured("master"))):
        remote = None
    try:
        return chosen(
            engine, master, remote, captures, _limits(spark_above), settings=_settings(spark_conf)
        ), rest
    except SeqauditError as problem:
        raise click.UsageError(safe(problem)) from problem


def _is_configured(name: str) -> bool:
    """Whether an option of the running command has its value from the configuration file."""
    context = click.get_current_context(silent=True)
    source = context and context.get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT_MAP


def _settings(spark_conf: Iterable[str]) -> list[tuple[str, str]]:
    """What ``--spark-conf`` says; of a key that is given twice the last.

    Raises:
        click.UsageError: no KEY=VALUE, or a place, which has options of its own.
    """
    found: dict[str, str] = {}
    for text in spark_conf:
        key, sign, value = text.partition("=")
        if not (sign and re.fullmatch(r"spark\.[\w.*-]+", key)):
            raise click.UsageError(
                f"--spark-conf {safe(text)}: is not KEY=VALUE of Spark; "
                "try spark.executor.memory=4g"
            )
        if key in _PLACES:
            raise click.UsageError(f"--spark-conf {key}: is an option of its own, {_PLACES[key]}")
        found[key] = value
    return list(found.items())


def _reach_stores(spark_conf: tuple[str, ...]) -> tuple[str, ...]:
    """Before a capture is named: what stores of them are reached with, whichever engine reads."""
    from seqaudit.decoders.capture.remote import use
    from seqaudit.pipeline.shared.storage import storage_of

    use(storage_of(_settings(spark_conf)))
    return spark_conf


def _limits(text: str) -> "Limits":
    """What ``--spark-above`` says.

    Raises:
        click.UsageError: no size and no number of files.
    """
    from seqaudit.pipeline.engine_choice import Limits

    size = re.fullmatch(r"(\d{1,9}) ?(MiB|GiB|TiB)(?:, ?(\d{1,12}))?", text)
    if size is None:
        raise click.UsageError(
            f"--spark-above {safe(text)}: is no size and number of files; try {SPARK_ABOVE}"
        )
    files = Limits().files if size[3] is None else int(size[3])
    return Limits(int(size[1]) << _SHIFTS[size[2]], files)


def decode_settings(decode_as: Iterable[str], no_decode: Iterable[str]) -> "DecodeSettings":
    """What ``recognition_options`` say.

    Raises:
        click.UsageError: they make no sense; one line.
    """
    from seqaudit.decoders.contract.settings import DecodeSettings

    return DecodeSettings(
        decode_as=tuple(_decode_as(text) for text in decode_as),
        no_decode=frozenset(_system(text) for text in no_decode),
    )


def judging_options(function: Command) -> Command:
    """What the replay is told."""
    return _decorated(function, _JUDGING)


def format_option(text: str, more: Sequence[str] = ()) -> Decorator:
    """``--format``: tables, JSON and ``more``; ``text`` says of what."""
    return click.option(
        "--format",
        "shape",
        type=click.Choice(["table", "json", *more]),
        default="table",
        show_default=True,
        help=text,
    )


def limit_option(rows: int) -> Decorator:
    """``--limit``: rows a table shows unless it is given."""
    return click.option(
        "--limit",
        type=click.IntRange(min=0),
        default=rows,
        show_default=True,
        help="Rows a table shows; 0 for all.",
    )


time_option: Final = click.option(
    "--time",
    "style",
    type=click.Choice(TIME_STYLES),
    default="utc",
    show_default=True,
    help="How tables show times; relative counts from the capture's first frame.",
)


def inputs_of(
    captures: Sequence[str], at: Iterable[str], one_capture: bool | None
) -> tuple["list[CaptureInput]", str | None]:
    """Captures with their own vantages, and the vantage of the others.

    Args:
        one_capture: whether all files are one; null: as their names and times say.

    Raises:
        click.UsageError: two vantages for the same captures.
    """
    from seqaudit.pipeline.shared.plan import CaptureInput
    from seqaudit.pipeline.shared.rotation import arranged

    captures = expanded(captures)
    shared: str | None = None
    vantages: dict[str, str] = {}
    for text in at:
        file, sign, name = text.partition("=")
        paths = [path for path in captures if file in (path, Path(path).name)] if sign else []
        if paths:
            vantages |= dict.fromkeys(paths, name)
        elif shared is not None:
            raise click.UsageError(
                f"--at {safe(text)}: only one vantage for all captures; write FILE=NAME for more"
            )
        elif sign:
            raise click.UsageError(f"--at {safe(text)}: no capture is called {safe(file)}")
        else:
            shared = text
    inputs = []
    for group in arranged(captures, insist=bool(one_capture), forbid=one_capture is False):
        first, *more = group.files
        places = dict.fromkeys(vantages[path] for path in group.files if path in vantages)
        if len(places) > 1:
            raise click.UsageError(
                f"{safe(first)} and {len(more)} more are one capture, and --at names "
                f"{' and '.join(map(safe, places))}; give one place, or --separate"
            )
        inputs.append(CaptureInput(first, next(iter(places), None), more=tuple(more)))
        if more:
            _tell_of_rotation(group)
    return inputs, shared


def _tell_of_rotation(group: "Group") -> None:
    """Say which files were taken as one capture, unless that is what was asked for."""
    insisted = group.why == "--one-capture"
    if insisted and not group.moved:
        return
    which = f"{safe(group.files[0])} and {len(group.files) - 1} more are one capture"
    why = "" if insisted else f" written in turns ({group.why})"
    order = ", put in the order of their first packets" if group.moved else ""
    advice = "" if insisted else "; --separate audits each by itself"
    click.echo(f"note: {which}{why}{order}{advice}", err=True)


def options_of(
    choice: "Choice",
    *,
    decode_as: Iterable[str],
    no_decode: Iterable[str],
    feeds: Iterable[str] = (),
    feeds_auto: bool = False,
    lines: Iterable[str] = (),
    at: str | None = None,
    names: str | None = None,
    param: Iterable[str] = (),
    params: str | None = None,
    jgroups_config: str | None = None,
    rules: str | None = None,
) -> "Options":
    """The options of a run.

    Raises:
        click.UsageError, SeqauditError: they make no sense; one line.
    """
    from seqaudit.pipeline.options import Options

    numbered: tuple[Feed, ...] = ()
    if feeds or lines or feeds_auto:
        from seqaudit.cli.options.feeds import feeds_of

        numbered = feeds_of(feeds, lines, tried=feeds_auto)
    return Options(
        engine=choice.engine,
        place=choice.place,
        at=at,
        parameters=_parameters(param, params, jgroups_config, rules),
        names=_names(names),
        decode_as=tuple(_decode_as(text) for text in decode_as),
        no_decode=frozenset(_system(text) for text in no_decode),
        feeds=numbered,
    )


def _decorated(function: Command, options: Iterable[Decorator]) -> Command:
    for option in reversed(list(options)):
        function = option(function)
    return function


def _parameters(
    param: Iterable[str], params: str | None, jgroups_config: str | None, rules: str | None
) -> dict[str, tuple[int | bool | str, str]]:
    from seqaudit.replay.contract.parameters import GIVEN, ParameterError
    from seqaudit.replay.stages.parameters import load_parameters, parse_parameter, rule_sets

    values: dict[str, int | bool | str] = {}
    try:
        if jgroups_config is not None:
            from seqaudit.replay.jgroups.config import from_jgroups_config

            values |= from_jgroups_config(_content(jgroups_config), jgroups_config)
        if params is not None:
            values |= load_parameters(_content(params), params)
        if rules is not None:
            values |= rule_sets(rules)
        values |= dict(parse_parameter(text) for text in param)
    except ParameterError as problem:
        raise click.UsageError(safe(problem)) from problem
    return {name: (value, GIVEN) for name, value in values.items()}


def _names(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    from seqaudit.replay.contract.yaml_text import NotYamlError, yaml_values

    advice = "write lines such as 10.80.0.1: A"
    try:
        loaded = yaml_values(_content(path))
    except NotYamlError as problem:
        raise click.UsageError(f"{safe(path)}{problem.where}: is not YAML; {advice}") from problem
    if loaded is None:
        return {}
    if not isinstance(loaded, dict) or any(
        isinstance(value, dict | list) or value is None for value in loaded.values()
    ):
        raise click.UsageError(f"{safe(path)}: is not a map of identities to names; {advice}")
    return {str(key): str(value) for key, value in loaded.items()}


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise click.UsageError(f"{safe(path)}: cannot be read as text ({problem})") from problem


def _decode_as(text: str) -> tuple[str, int, str]:
    place, sign, system = text.partition("=")
    transport, colon, port = place.partition(":")
    known = transport in ("udp", "tcp")
    if not (sign and colon and port.isdecimal() and 0 < int(port) < 65536 and known):
        raise click.UsageError(
            f"--decode-as {safe(text)}: is not udp:PORT=SYSTEM or tcp:PORT=SYSTEM; "
            "try udp:7800=jgroups"
        )
    return transport, int(port), _system(system)


def _system(name: str) -> str:
    from seqaudit.decoders.contract.settings import FEED
    from seqaudit.decoders.stages.registry import DECODERS

    systems = sorted(set(DECODERS) - {FEED})
    if name == FEED:
        raise click.UsageError("feeds have an option of their own: --feed NAME@:PORT")
    if name not in systems:
        raise click.UsageError(f"no system is called {safe(name)}; there are {', '.join(systems)}")
    return name
