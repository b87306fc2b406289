"""The Python process that Spark forks its workers from, with our imports done before the fork.

A fork is then ready to decode at once; otherwise each worker imports pyarrow and the decoders, and
loads the compiled kernels, anew. Spark starts it by name (``spark.python.daemon.module``).
"""

import contextlib
import importlib
import os

from seqaudit.pipeline.without_pandas import keep_pandas_out

keep_pandas_out()
with contextlib.suppress(ImportError):  # a worker would then say so itself, where Spark reports it
    importlib.import_module("seqaudit.pipeline.job")
    importlib.import_module("seqaudit.replay.stage").load_engines()
    warm = importlib.import_module("seqaudit.pipeline.warm")
    if os.environ.get(warm.COMPILED) == "1":
        warm.load_compiled()

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()
