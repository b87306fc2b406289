"""Install the wheel and the source distribution as users do, on every Python that is here.

``python -m tests.installed [PYTHON …]``: builds both, makes an empty environment of each Python
for each of them, installs from the package index, and runs ``seqaudit --version`` and the README's
first command there, outside of this tree. Without names: what PATH and pyenv have, from 3.11 on.
Takes minutes and downloads packages; what is cheap of it is in ``tests.test_packages``.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from seqaudit.replay.contract.version import VERSION
from tests.test_packages import ROOT, build

#: What ``requires-python`` asks for.
LEAST: Final = (3, 11)
CAPTURE: Final = "fixtures/jgroups/n4-loss-1/C.pcap"
SAYS: Final = "66 messages lost, all recovered"


def pythons() -> Iterator[str]:
    """Interpreters of this machine that are new enough, one of each version."""
    names = [f"python3.{minor}" for minor in range(LEAST[1], 30)]
    found = [shutil.which(name) for name in names]
    own = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(path) for path in sorted(own.glob("3.*/bin/python3"))]
    found += [path for path in ("/usr/bin/python3", sys.executable) if Path(path).exists()]
    seen: set[str] = set()
    for path in found:
        if path is None:
            continue
        told = subprocess.run([path, "-c", _WHICH], capture_output=True, text=True)
        version = told.stdout.strip()
        if told.returncode or version in seen or tuple(map(int, version.split("."))) < LEAST:
            continue
        seen.add(version)
        yield path


_WHICH: Final = "import sys; print('.'.join(map(str, sys.version_info[:3])))"


def installed(python: str, package: Path, folder: Path) -> None:
    """Install one package in an empty environment and use it.

    Raises:
        subprocess.CalledProcessError: a step failed.
        AssertionError: a command does not say what it should.
    """

    def run(*words: str) -> str:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SEQAUDIT"))}
        done = subprocess.run(words, cwd=folder, env=clean, capture_output=True, text=True)
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
        return done.stdout

    run(python, "-m", "venv", str(folder / "venv"))
    command = folder / "venv" / "bin"
    run(str(command / "python"), "-m", "pip", "install", "--quiet", str(package))
    assert run(str(command / "seqaudit"), "--version").startswith(f"seqaudit {VERSION}\n")
    capture = str(ROOT / CAPTURE)
    for engine in ("direct", "spark"):
        told = run(str(command / "seqaudit"), "audit", "--engine", engine, "-q", capture)
        assert SAYS in told, told


def main(words: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.installed", description=__doc__)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    chosen = parser.parse_args(list(words)).pythons or list(pythons())
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        top = Path(place)
        for python in chosen:
            version = subprocess.run([python, "-c", _WHICH], capture_output=True, text=True).stdout
            for package in build(top / "tree", top / "dist"):
                began = time.monotonic()
                folder = Path(tempfile.mkdtemp(dir=top))
                kind = "wheel" if package.suffix == ".whl" else "sdist"
                try:
                    installed(python, package, folder)
                    how = "works"
                except (subprocess.CalledProcessError, AssertionError) as problem:
                    failed += 1
                    how = f"FAILED: {problem} {getattr(problem, 'stderr', '') or ''}"[-600:]
                shutil.rmtree(folder)
                took = time.monotonic() - began
                print(f"Python {version.strip()}, {kind}: {how} ({took:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
