"""The configuration file: what options are unless the command line says otherwise.

``seqaudit.yaml``, or ``[tool.seqaudit]`` of a ``pyproject.toml``, of the nearest folder upwards
that has one. Every long option is a key without its dashes; a key at the top is for all commands
that have the option, below a command's name for that command alone. The command line decides
before the environment, the environment before the file.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from seqaudit.cli.output.terminal import note
from seqaudit.cli.output.text import safe

FILE: Final = "seqaudit.yaml"
_PROJECT: Final = "pyproject.toml"
_ADVICE: Final = "seqaudit config lists the keys"
_LARGEST: Final = 1 << 20

#: Options of which an entry is KEY=VALUE and may be a map in the file.
_PAIRS: Final = frozenset({"at", "param", "spark_conf"})

#: What is not for a file: it ends the command before anything is read.
_NO_KEYS: Final = frozenset({"help", "version", "config", "no-config"})


@dataclass(frozen=True, slots=True)
class Configuration:
    """A file's options.

    Attributes:
        file: where they stand, for messages; empty: there is no file.
        top: of all commands, by key.
        commands: of one command, by its words (``show gaps``) and key.
    """

    file: str
    top: Mapping[str, object]
    commands: Mapping[str, Mapping[str, object]]

    def given(self, path: str, command: click.Command) -> dict[str, object]:
        """The values that the file has for a command, by parameter, as ``default_map`` takes
        them; of a group also those of its commands.

        Raises:
            click.UsageError: a value that the option does not take; one line.
        """
        if isinstance(command, click.Group):
            return {
                name: self.given(f"{path} {name}", member)
                for name, member in command.commands.items()
            }
        found: dict[str, object] = {}
        options = self.commands.get(path, {})
        for key, option in keyed(command):
            if key in options:
                where = f"{self.file}: {path}: {key}"
                found[option.name or key] = self._value(where, option, options[key], command)
            elif key in self.top:
                where = f"{self.file}: {key} of {path}"
                found[option.name or key] = self._value(where, option, self.top[key], command)
        return found

    def has(self, path: str, key: str) -> bool:
        """Whether the file says something of a command's option."""
        return key in self.top or key in self.commands.get(path, {})

    def _value(
        self, where: str, option: click.Option, value: object, command: click.Command
    ) -> object:
        """A value as the command line would have it."""
        converted: object
        if option.multiple:
            converted = [self._path(option, text) for text in _texts(option, value, where)]
        elif option.is_flag:
            if not isinstance(value, bool):
                raise click.UsageError(f"{where}: {safe(value)} is not true or false")
            converted = value
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            converted = self._path(option, str(value))
        else:
            raise click.UsageError(f"{where}: {safe(value)} is no single value")
        try:
            option.type_cast_value(click.Context(command), converted)
        except click.BadParameter as problem:
            raise click.UsageError(f"{where}: {safe(problem.message.rstrip('.'))}") from problem
        return converted

    def _path(self, option: click.Option, text: str) -> str:
        """Files are found from the folder of the configuration, wherever the command is called."""
        if isinstance(option.type, click.Path) or (option.name == "feeds" and _is_file(text)):
            return str(Path(self.file).parent / text)
        return text


NOTHING: Final = Configuration("", {}, {})


def keyed(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    """The options of a command that a file may have, with their keys."""
    for option in command.params:
        if isinstance(option, click.Option):
            key = max((name.lstrip("-") for name in option.opts), key=len)
            if key not in _NO_KEYS:
                yield key, option


def nearest(folder: Path) -> Path | None:
    """The configuration file that is in force in a folder; null: none.

    A file of another user (not root's) is passed over and said: options name files to write and
    servers that run code.
    """
    for parent in (folder, *folder.parents):
        for file in (parent / FILE, parent / _PROJECT):
            if file.is_file() and (file.name == FILE or _has_table(file)):
                if _is_ours(file):
                    return file
                note(f"note: {safe(file)} is another user's and not read; --config FILE reads it")
    return None


def read_configuration(file: Path, commands: Mapping[str, click.Command]) -> Configuration:
    """The options in a file.

    Args:
        commands: every command by its words, groups as well.

    Raises:
        click.UsageError: no YAML or TOML, an unknown key; one line.
    """
    where = safe(file)
    loaded = _loaded(file, where)
    if not isinstance(loaded, dict):
        raise click.UsageError(f"{where}: is no map of options; {_ADVICE}")
    top: dict[str, object] = {}
    by_command: dict[str, Mapping[str, object]] = {}
    keys = {key for command in commands.values() for key, _ in keyed(command)}
    for name, value in loaded.items():
        key = str(name).replace("_", "-")
        if key in keys and not (isinstance(value, dict) and key in commands):
            top[key] = value
        elif key in commands:
            by_command |= _of_command(key, value, commands, where)
        else:
            raise _unknown(where, name, {*keys, *commands})
    return Configuration(where, top, by_command)


def _of_command(
    path: str, value: object, commands: Mapping[str, click.Command], where: str
) -> dict[str, Mapping[str, object]]:
    """The part of one command; a group's has parts itself."""
    if not isinstance(value, dict):
        raise click.UsageError(f"{where}: {path}: is no map of options; {_ADVICE}")
    known = {key for key, _ in keyed(commands[path])}
    values: dict[str, object] = {}
    found: dict[str, Mapping[str, object]] = {path: values}
    for name, inner in value.items():
        key = str(name).replace("_", "-")
        if key in known:
            values[key] = inner
        elif f"{path} {key}" in commands:
            found |= _of_command(f"{path} {key}", inner, commands, where)
        else:
            raise _unknown(f"{where}: {path}", name, known)
    return found


def _unknown(where: str, name: object, known: Iterable[str]) -> click.UsageError:
    import difflib

    near = difflib.get_close_matches(str(name), sorted(known), 1)
    advice = f"did you mean {near[0]}?" if near else _ADVICE
    return click.UsageError(f"{where}: nothing is called {safe(name)}; {advice}")


def _loaded(file: Path, where: str) -> object:
    """What a file has, as YAML or TOML says it."""
    import tomllib

    from seqaudit.replay.contract.yaml_text import NotYamlError, yaml_values

    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST + 1).decode()
        if len(text) > _LARGEST:
            raise click.UsageError(f"{where}: is over 1 MiB, no configuration")
        if file.suffix == ".toml":
            return tomllib.loads(text).get("tool", {}).get("seqaudit", {})
        loaded = yaml_values(text)
        return {} if loaded is None else loaded
    except NotYamlError as problem:
        raise click.UsageError(
            f"{where}{problem.where}: is not YAML; write lines such as fail-on: warning"
        ) from problem
    except tomllib.TOMLDecodeError as problem:
        raise click.UsageError(f"{where}: is not TOML ({safe(problem)})") from problem
    except (OSError, UnicodeDecodeError, RecursionError) as problem:
        raise click.UsageError(f"{where}: cannot be read as text ({safe(problem)})") from problem


def _has_table(file: Path) -> bool:
    """Whether a ``pyproject.toml`` has ``[tool.seqaudit]``; one that is no TOML is not ours to
    complain of."""
    import tomllib

    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return False
    return isinstance(tool, dict) and "seqaudit" in tool


def _is_ours(file: Path) -> bool:
    try:
        return file.stat().st_uid in (os.geteuid(), 0)
    except OSError:
        return False


def _texts(option: click.Option, value: object, where: str) -> list[str]:
    """The entries of an option that may be repeated: a list, one value, or a map of pairs."""
    entries: list[object] = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and option.name in _PAIRS:
        entries = [inner for inner in value.values() if not isinstance(inner, str | int | float)]
        if not entries:
            return [f"{name}={_scalar(inner)}" for name, inner in value.items()]
    for entry in entries:
        if not isinstance(entry, str | int | float):
            raise click.UsageError(f"{where}: {safe(entry)} is no text; write a list of texts")
    return [_scalar(entry) for entry in entries]


def _scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_file(feed: str) -> bool:
    """Whether ``--feed`` names a file and not a shipped feed."""
    return feed.partition("@")[0].partition(",")[0].endswith((".yaml", ".yml"))
