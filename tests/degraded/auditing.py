"""One audit by the command itself, in this process."""

import contextlib
import gc
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from seqaudit.cli.main import main
from tests.degraded.ways import Spoiled

#: What the command says where the fault is its own.
FAULT: Final = "this is a fault of seqaudit"


@dataclass(frozen=True)
class Audited:
    """How a command ended; ``report`` is empty where it printed none."""

    code: int
    report: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""

    @property
    def crash(self) -> str | None:
        """The last line of a traceback, or how else it ended badly; null for a good end."""
        if FAULT in self.said:
            lines = [line for line in self.said.splitlines() if FAULT not in line and line.strip()]
            return " < ".join([lines[-1].strip(), *reversed([x.strip() for x in lines[-5:-1]])])
        return None if self.code in (0, 1, 2) else f"exit code {self.code}"

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        return list(self.report.get("findings", ()))


def options(
    spoiled: Spoiled, places: Mapping[str, str], parameters: Mapping[str, str]
) -> list[str]:
    """Options of the command, without the files."""
    given = [part for name, value in parameters.items() for part in ("--param", f"{name}={value}")]
    if spoiled.one_capture:
        given.append("--one-capture")
    if spoiled.at == "each":
        for name, _ in spoiled.files:
            place = "between" if name in spoiled.mirrors else places[name]
            given += ["--at", f"{name}={place}"]
    elif spoiled.at is not None:
        given += ["--at", spoiled.at]
    return given


def audit(
    spoiled: Spoiled, places: Mapping[str, str], parameters: Mapping[str, str], folder: Path
) -> Audited:
    """Write the files into a new folder below ``folder`` and audit them there."""
    return of_files(spoiled, options(spoiled, places, parameters), folder)


def of_files(spoiled: Spoiled, words: Iterable[str], folder: Path) -> Audited:
    """The files in a new folder below ``folder``, audited with these options."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        return command([*words, *written(spoiled, Path(name))])


def written(spoiled: Spoiled, folder: Path) -> list[str]:
    """The paths of its files, in the order in which they are given."""
    paths = [folder / file for file, _ in spoiled.files]
    for path, (_, capture) in zip(paths, spoiled.files, strict=True):
        path.write_bytes(capture.written())
    if spoiled.torn:
        path.write_bytes(path.read_bytes()[: -spoiled.torn])
    return list(map(str, paths))


def command(arguments: Iterable[str]) -> Audited:
    """``seqaudit audit`` with these arguments."""
    written = io.BytesIO()
    out = io.TextIOWrapper(written, "utf-8")
    said = io.StringIO()
    code: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            main(["audit", "--engine", "direct", "--format", "json", *arguments])
    except SystemExit as ended:
        code = ended.code
    except Exception as problem:  # of the command's own handling of problems
        return Audited(-1, {}, f"{type(problem).__name__}: {problem}\n{FAULT}")
    finally:
        gc.unfreeze()  # the command freezes what there is, as its process would end now
        sys.stdout.flush()
    out.flush()
    text = written.getvalue()
    return Audited(
        code if isinstance(code, int) else 0, json.loads(text) if text else {}, said.getvalue()
    )
