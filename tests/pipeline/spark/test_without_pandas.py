"""pandas is imported by whoever uses it, and by nobody else."""

import subprocess
import sys

PROGRAM = """
import sys
from seqaudit.pipeline.spark.without_pandas import keep_pandas_out, pandas_late
keep_pandas_out()
with pandas_late():
    from pyspark.sql.connect import session
assert session.pd.__version__[0].isdigit()
assert "pandas.core" not in sys.modules, "the client alone imports it"

from pandas import Series
import pandas.io.json
assert session.pd.DataFrame is sys.modules["pandas"].DataFrame is not None
assert isinstance(Series([1]), session.pd.Series)
assert session.is_datetime64_dtype(Series([], dtype="datetime64[ns]").dtype)
assert not session.is_datetime64_dtype(Series([1]).dtype)

late = session.pd
with pandas_late():  # without effect now
    import pandas
assert pandas is not late and pandas.DataFrame is late.DataFrame
print("good")
"""


def test_spark_connects_client_gets_pandas_when_it_uses_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("good\n", "")
