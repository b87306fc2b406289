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


def test_help_needs_no_columns() -> None:
    assert not imported("--help") & {
        *HEAVY,
        "numpy",
        "pyarrow",
        "seqaudit.decoders.contract.events",
    }
