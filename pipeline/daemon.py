"""The Python process that Spark forks its workers from, with our imports done before the fork.

A fork is then ready to decode at once; otherwise each worker imports pyarrow and the decoders anew
(0.4 s). Spark starts it by name (``spark.python.daemon.module``).
"""

import contextlib
import importlib

from seqaudit.pipeline.without_pandas import keep_pandas_out

keep_pandas_out()
with contextlib.suppress(ImportError):  # a worker would then say so itself, where Spark reports it
    importlib.import_module("seqaudit.pipeline.job")

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()
