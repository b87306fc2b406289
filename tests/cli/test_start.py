"""What a quick look costs at its start: nothing that it has no use for is imported
(pipeline/README.md 3)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

#: Each costs 10 to 400 ms.
HEAVY = (
    "dpkt",
    "importlib.metadata",
    "llvmlite",
    "numba",
    "numpy.ma",
    "pandas",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyspark",
    "seqaudit.decoders.contract.feed_layout",
    "yaml",
)
_PROGRAM = """
import json, sys
from seqaudit.cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def imported(*args: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *args], capture_output=True, text=True, check=False
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "capture",
    [
        "jgroups/n4-loss-1/C.pcap",
        "raims/console-pub-1/A.pcap",
        "zenoh/classic-no-source-info-1/pub.pcap",
        "captures/interfaces.pcapng",
    ],
)
def test_a_small_capture_needs_little_with_the_direct_engine(capture: str, fixtures: Path) -> None:
    found = imported("audit", "--engine", "direct", str(fixtures / capture))
    assert "seqaudit.replay.stages.replay" in found
    assert sorted(found & set(HEAVY)) == []


def test_a_capture_of_one_system_needs_no_engine_of_another(fixtures: Path) -> None:
    found = imported("audit", "--engine", "direct", str(fixtures / "jgroups/n4-loss-1/C.pcap"))
    assert "seqaudit.replay.jgroups.mcast.engine" in found
    assert not found & {f"seqaudit.replay.{system}.engine" for system in ("zenoh", "feeds")}


def test_help_needs_no_columns() -> None:
    assert not imported("--help") & {
        *HEAVY,
        "numpy",
        "pyarrow",
        "seqaudit.decoders.contract.events",
    }


#: Runs the command, and is sent SIGINT when this module is imported.
INTERRUPTED_IMPORT = """
import os, signal, sys
wanted, sys.argv[1:] = sys.argv[1], sys.argv[2:]

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from seqaudit.cli.start import main
main()
"""


@pytest.mark.parametrize(
    "module",
    [
        "seqaudit.cli.main", "click", "seqaudit.cli.output.text", "seqaudit.cli.commands.audit",
        "pyarrow", "numpy", "seqaudit.pipeline.audit", "seqaudit.replay.stages.systems",
        "seqaudit.cli.output.table", "rich.table",
    ],
)  # fmt: skip
def test_ctrl_c_while_something_is_imported_is_one_line(module: str, fixtures: Path) -> None:
    capture = str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, module, "audit", "--engine", "direct", capture],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr.strip()) == (130, "interrupted"), done.stderr
    assert "Traceback" not in done.stdout


def test_ctrl_c_while_an_engine_is_imported_does_not_throw_away_what_was_read(
    fixtures: Path,
) -> None:
    capture = str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    engine = "seqaudit.replay.jgroups.mcast.engine"
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, engine, "audit", "--engine", "direct", capture],
        capture_output=True, text=True,
    )  # fmt: skip
    *_, note, last = done.stderr.strip().splitlines()
    assert (done.returncode, last) == (130, "interrupted; all had been read"), done.stderr
    assert "Ctrl-C again ends at once" in note
    assert "66 messages lost" in done.stdout


def test_ctrl_c_that_is_switched_off_stays_off(fixtures: Path) -> None:
    capture = str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    ignored = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{INTERRUPTED_IMPORT}"
    done = subprocess.run(
        [sys.executable, "-c", ignored, "click", "audit", "-q", "--engine", "direct", capture],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and "66 messages lost" in done.stdout
