"""pandas costs a third of a second and 40 MB, and nothing here uses it."""

import subprocess
import sys

PROGRAM = """
import sys
from seqaudit.pipeline.shared.without_pandas import keep_pandas_out
keep_pandas_out()
import pyarrow
pyarrow.array([1])
assert "pandas" not in sys.modules
import pandas
assert pyarrow.array(pandas.Series([1]))[0].as_py() == 1
"""


def test_pyarrow_does_not_import_pandas_and_whoever_wants_it_does() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
