"""A real cluster: ``python -m tests.cluster [CASE…]``; prints a row for each case, in Markdown.

A master and workers in network namespaces, with files of their own (``machines``), used by the
command as a user gives it. Each report is compared with that of the direct engine, byte for byte,
and each bad case has to end with one line and exit code 2. A row says how long the command took
from its start, from when its first executor had registered, which is the job's start, and its CPU
here and on all machines. Needs root,
``ip`` and ``unshare``; for cases of S3 a server as well (``pip install 'moto[server]'``, or
``--s3-server PROGRAM``), for that of HDFS ``--hadoop FOLDER`` (``tests.cluster.hadoop`` makes it).
The test run has a sample that needs none of these.
"""

import argparse
import os
import shlex
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.cluster import bad, faults, good, scale
from tests.cluster.bench import FIXTURES, Bench
from tests.cluster.machines import Cluster, put

#: In this order: later ones use what earlier ones put there, and those that end workers come last.
CASES: Final[dict[str, Callable[[Bench], str]]] = {
    "same-bytes": good.same_bytes,
    "seen-by-one": bad.seen_by_one,
    "another-file": bad.another_file,
    "bare-python": bad.bare_python,
    "half-python": bad.half_python,
    "no-python": bad.no_python,
    "other-python": bad.other_python,
    "other-numpy": bad.other_numpy,
    "environment": good.environment,
    "recipes": good.recipes,
    "connect": good.over_connect,
    "kubernetes": good.on_kubernetes,
    "yarn": good.on_yarn,
    "out-of-memory": bad.out_of_memory,
    "no-master": bad.no_master,
    "s3": good.s3,
    "hdfs": good.hdfs,
    "interrupted": good.interrupted,
    "worker-slow": good.worker_slow,
    "worker-killed": good.worker_killed,
    "worker-added": good.worker_added,
    "late-python": bad.late_python,
    "faults": faults.faults,
    "hot-conversation": scale.hot_conversation,
    "size": scale.size,
    "streams-and-loss": scale.streams_and_loss,
    "rotated": scale.rotated,
    "sparse": scale.sparse,
    "captures": scale.captures,
    "nothing-left": good.nothing_left,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--captures", type=int, default=500, help="small ones of the long jobs")
    parser.add_argument("--packets", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rotated", type=float, nargs="+", default=[10, 100])
    parser.add_argument("--sparse", type=float, nargs="+", default=[10, 100])
    parser.add_argument("--numbers", type=int, nargs="+", default=[500, 1_000, 2_000])
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=1, help="of the moments of faults")
    parser.add_argument("--s3-server", default=f"{sys.executable} -m moto.server")
    parser.add_argument("--hadoop", type=Path, help="folder of python -m tests.cluster.hadoop")
    given = parser.parse_args()
    failed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # machines are taken down then as well
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        cluster = stack.enter_context(Cluster(folder))
        stores = shlex.split(given.s3_server)
        bench = Bench(
            cluster, stores, given.hadoop, given.captures, given.packets, given.gigabytes,
            given.rotated, given.sparse, given.numbers, given.seed, given.executors,
        )  # fmt: skip
        for worker in ("one", "two"):
            cluster.worker(worker)
        put(FIXTURES / "C.pcap", "C.pcap", cluster.captures,
            *(worker.captures for worker in cluster.workers))  # fmt: skip
        print("| case | | load | outcome |\n|---|---|---:|---|", flush=True)
        for case in given.cases or CASES:
            load = os.getloadavg()[0]
            try:
                outcome = CASES[case](bench)
            except Exception as problem:
                failed += 1
                where = traceback.extract_tb(problem.__traceback__)[-1]
                outcome = f"**failed**: {where.line}: {type(problem).__name__} {str(problem)[:600]}"
                if bench.last is not None:
                    outcome += f"; said before: {bench.last.code} {bench.last.err[-600:]}"
            text = outcome.replace(name, "…").replace("\n", " ")
            print(f"| {case} | {CASES[case].__doc__} | {load:.0f} | {text} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
