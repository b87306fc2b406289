"""The Python process that Spark forks its workers from, with our imports done before the fork.

A fork is then ready to decode at once; otherwise each worker imports pyarrow and the decoders anew.
Spark starts it by name (``spark.python.daemon.module``).
"""

import contextlib
import gc
import importlib
import sys


def import_all() -> None:
    """Import what workers need. PySpark comes from where this package's other needs come from:
    Spark offers it as a zip file without bytecode, which every process would compile anew (0.7 s).
    """
    from seqaudit.pipeline.shared.without_pandas import keep_pandas_out  # imports pyarrow

    keep_pandas_out()
    sys.path.sort(key=lambda entry: entry.endswith(".zip") and "pyspark" in entry)  # stable
    with contextlib.suppress(ImportError):  # a worker would say so itself, where Spark reports it
        importlib.import_module("seqaudit.pipeline.shared.job")
        importlib.import_module("seqaudit.replay.stages.replay").load_engines()
        importlib.import_module("pyspark.worker")


if __name__ == "__main__":
    import_all()
    from pyspark.daemon import manager

    gc.collect()
    gc.freeze()  # workers look for garbage after each task, and would look through all of this
    manager()
