"""What a cluster does: the same bytes from wherever, whatever happens to workers meanwhile."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import yaml
from pyarrow import fs

from seqaudit.pipeline.spark import java
from seqaudit.pipeline.spark.knock import CONNECT_PORT
from tests.cluster import hadoop, yarn
from tests.cluster.bench import FIXTURES, MEMORY, Bench, When, put_all
from tests.cluster.kubernetes import kubernetes
from tests.cluster.machines import DRIVER, ROOT, Machine, connect, put, store, until_listening

S3_PORT: Final = 5000
HDFS_PORT: Final = 9820
KUBERNETES_PORT: Final = 8001


def same_bytes(b: Bench) -> str:
    """captures by relative path, pattern and file: URI"""
    first, second = b.cluster.workers[:2]
    for name in "BC":
        put(FIXTURES / f"{name}.pcap", f"{name}.pcap", b.cluster.captures, first.captures,
            second.captures)  # fmt: skip
    done = b.command(*b.words("--metrics", "[B].pcap", f"file:{b.cluster.captures}/C.pcap"))
    b.same(done, "[B].pcap", f"file:{b.cluster.captures}/C.pcap")
    told = json.loads(done.out)["metrics"]
    assert (told["executors"], told["cores"]) == (2, 2), told
    return f"{done.took}; {told['executors']} executors, {told['cores']} cores"


def environment(b: Bench) -> str:
    """workers with nothing but a Python, and the packed environment"""
    archive = b.cluster.folder / "env.tar.gz"
    made = b.command("spark", "environment", "-o", str(archive))
    assert made.code == 0, made.err
    path = f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"
    more = ("--spark-conf", f"spark.archives={archive}#environment",
            "--spark-conf", f"spark.executorEnv.PATH={path}")  # fmt: skip
    done = b.command(*b.words(*more, "C.pcap", python=Path("./environment/bin/python")))
    b.same(done, "C.pcap")
    size = archive.stat().st_size // 1_000_000
    return f"{made.took} to pack {size} MB, {done.took}"


def recipes(b: Bench) -> str:
    """the README's own words: the environment, seqaudit.yaml of a cluster, and Spark's server"""
    blocks = re.findall(r"```\w*\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (pack,) = (block for block in blocks if block.startswith("seqaudit spark environment"))
    (settings,) = (block for block in blocks if block.startswith("master: "))
    (server,) = (block for block in blocks if "start-connect-server.sh" in block)
    made = b.command(*shlex.split(pack)[1:])
    assert made.code == 0, made.err
    given = yaml.safe_load(settings)
    given["master"] = b.cluster.master
    given["spark-conf"] |= {  # what is here, for what the README has as an example
        "spark.executor.memory": MEMORY,
        "spark.driver.host": DRIVER,
        "spark.executorEnv.PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin",
    }
    (b.cluster.captures / "seqaudit.yaml").write_text(yaml.safe_dump(given))
    words = ("audit", "--format", "json")
    done = b.command(*words, "--metrics", "C.pcap")
    (b.cluster.captures / "seqaudit.yaml").unlink()
    assert json.loads(done.out)["metrics"]["executors"] == 2, done.err
    b.same(done, "C.pcap")
    told = [f"standalone {done.took}"]
    spark = java.spark_home()
    where = dict(os.environ) | {
        name: str(b.cluster.folder / "server") for name in ("SPARK_LOG_DIR", "SPARK_PID_DIR")
    }
    subprocess.run(["bash", "-c", server], cwd=ROOT, env=where, check=True, capture_output=True)
    try:
        until_listening("127.0.0.1", CONNECT_PORT)
        done = b.command(*words, "--remote", f"sc://127.0.0.1:{CONNECT_PORT}", "C.pcap")
        b.same(done, "C.pcap")
        told.append(f"Connect {done.took}")
    finally:
        stop = [str(spark / "sbin" / "stop-connect-server.sh")]
        subprocess.run(stop, env=where, check=True, capture_output=True)
    return "; ".join(told)


def packed(b: Bench) -> dict[str, str]:
    """Settings of workers that have a Python and nothing else."""
    archive = b.cluster.folder / "packed.tar.gz"
    if not archive.exists():
        made = b.command("spark", "environment", "-o", str(archive))
        assert made.code == 0, made.err
    return {
        "spark.executor.instances": "2",
        "spark.executor.memory": MEMORY,
        "spark.archives": f"{archive}#environment",
        "spark.pyspark.python": "./environment/bin/python",
        "spark.executorEnv.PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin",
        "spark.driver.host": DRIVER,
    }


def on(master: str, settings: Mapping[str, str]) -> list[str]:
    """An audit of C there."""
    words = ["audit", "--format", "json", "--master", master, "--metrics", "C.pcap"]
    return words + [word for item in settings.items() for word in ("--spark-conf", "=".join(item))]


def on_kubernetes(b: Bench) -> str:
    """k8s://: pods that have an image of Spark and a Python, and the packed environment"""

    def node(number: int) -> Machine:
        made = b.cluster.machine(f"pod-{number}")
        put(FIXTURES / "C.pcap", "C.pcap", made.captures)
        return made

    settings = packed(b) | {"spark.kubernetes.container.image": "spark:test"}
    with kubernetes(DRIVER, KUBERNETES_PORT, node) as there:
        done = b.command(*on(f"k8s://http://{DRIVER}:{KUBERNETES_PORT}", settings))
        b.same(done, "C.pcap")
        assert b.measured is not None and b.measured["executors"] == 2, b.measured
        images = {pod["spec"]["containers"][0]["image"] for pod in there.created}
        assert images == {"spark:test"}, images
        assert not there.pods, list(there.pods)  # the job took its pods along
    return done.took


def on_yarn(b: Bench) -> str:
    """yarn: containers that have Spark's jars and a Python, and the packed environment"""
    nodes = [b.cluster.machine(f"node-{number}") for number in (1, 2)]
    for node in nodes:
        put(FIXTURES / "C.pcap", "C.pcap", node.captures)
    where = yarn.start(b.cluster.machine("manager"), nodes, b.cluster.folder / "yarn")
    settings = packed(b) | {
        "spark.yarn.jars": f"local:{java.spark_home()}/jars/*",
        "spark.yarn.stagingDir": f"file:{b.cluster.folder}/yarn",
    }
    done = b.command(*on("yarn", settings), **where)
    b.same(done, "C.pcap")
    assert b.measured is not None and b.measured["executors"] == 2, b.measured
    return done.took


def over_connect(b: Bench) -> str:
    """Spark's own Connect server: the same bytes, and a setting that it does not take"""
    with connect(b.cluster.folder) as url:
        words = ["audit", "--format", "json", "--remote", url, "C.pcap"]
        words += ["--spark-conf", f"spark.pyspark.python={b.cluster.python}"]
        done = b.command(*words)
        note = f"note: {url}: what is sent there and comes back can be read"
        assert done.err.startswith(note), done.err
        b.same(done, "C.pcap")
        bad = b.command(*words, "--spark-conf", "spark.executor.memory=1g")
        last = bad.err.splitlines()[-1]
        assert bad.code == 2, bad.err
        assert last.startswith(f"error: --spark-conf spark.executor.memory: {url} does not take it")
    return f"{done.took}; {bad.took}: {last}"


def worker_killed(b: Bench) -> str:
    """a worker that loses its power in mid-run"""
    name = b.folder("many")
    extra = b.cluster.worker("three")
    put_all(b, name, extra.captures)
    process = b.begin(b.words("--metrics", name))
    meanwhile = When(process, lambda: extra.has_python, 1.0, extra.kill)
    done = b.end(process)
    meanwhile.was_in_time()
    b.same(done, name)
    return f"{done.took}, {b.captures:,} captures"


def worker_added(b: Bench) -> str:
    """a worker that is added in mid-run"""
    name = b.folder("many")
    first = b.cluster.workers[0]

    put_all(b, name, b.cluster.folder / "four" / "captures")
    process = b.begin(b.words("--metrics", name))
    meanwhile = When(process, lambda: first.has_python, 1.0, partial(b.cluster.worker, "four"))
    done = b.end(process)
    meanwhile.was_in_time()
    b.same(done, name)
    b.cluster.workers[-1].kill()
    assert b.measured is not None
    if b.measured["executors"] > 2:  # it came before the replay, which is planned for it then
        assert "note: 3 executors with 3 cores by now; what follows is planned" in done.err
    return f"{done.took}, {b.captures:,} captures; {done.err.strip()}"


def worker_slow(b: Bench) -> str:
    """a worker that stands still for three quarters of each second, from mid-run on"""
    name = b.folder("many")
    first, second = b.cluster.workers[:2]
    process = b.begin(b.words("--metrics", name))
    with ExitStack() as stack:
        slow = partial(stack.enter_context, second.slowed(0.25))
        meanwhile = When(process, lambda: first.has_python, 0.0, slow)
        done = b.end(process)
        meanwhile.was_in_time()
    b.same(done, name)
    return f"{done.took}, {b.captures:,} captures"


def interrupted(b: Bench) -> str:
    """Ctrl-C cancels this job; another one on the cluster goes on"""
    name = b.folder("many")
    cores = ("--spark-conf", "spark.cores.max=1")
    other = b.begin(b.words(*cores, name))
    process = b.begin(b.words(*cores, name))
    b.until_running(process)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    done = b.end(process)
    assert done.code == 130, (done.code, done.err)
    assert "interrupted" in done.err
    b.same(b.end(other), name)
    return f"{done.took}: {done.err.strip()}"


def nothing_left(b: Bench) -> str:
    """no data of audits stays on the workers"""
    deadline = time.monotonic() + 60
    while left := [path for worker in b.cluster.workers[:2] for path in worker.left()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.5)
    return "nothing"


def s3(b: Bench) -> str:
    """captures of an S3-compatible server, by pattern, with Spark's settings and AWS's"""
    told = []
    with ExitStack() as stack:
        address = stack.enter_context(store(b.stores, S3_PORT))
        system = fs.S3FileSystem(
            access_key="k", secret_key="s", endpoint_override=address, region="us-east-1",
            allow_bucket_creation=True,
        )  # fmt: skip
        system.create_dir("captures")
        for name in ("day/B.pcap", "day/C.pcap", "notes.txt"):
            with system.open_output_stream(f"captures/{name}") as file:
                file.write((FIXTURES / f"{name[4]}.pcap").read_bytes() if "/" in name else b"x")
        keys = {"access.key": "k", "secret.key": "s", "endpoint": address}
        conf = [f"spark.hadoop.fs.s3a.{key}={value}" for key, value in keys.items()]
        given = [word for text in conf for word in ("--spark-conf", text)]
        aws = {
            "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": address,
        }  # fmt: skip
        pattern = "s3a://captures/*/*.pcap"
        done = b.command(*b.words(*given, pattern))
        b.same(done, pattern, **aws)
        told.append(f"settings {done.took}")
        words = b.words(*given, pattern)
        found = b.command("infer", *words[1:])
        inferred = b.command("infer", "--engine", "direct", "--format", "json", pattern, **aws)
        assert (found.code, found.out) == (inferred.code, inferred.out), found.err
        assert len(json.loads(found.out)["captures"]) == 2, found.out
        told.append(f"infer {found.took}")
        done = b.command(*b.words("s3a://captures/day"), **aws)
        b.same(done, "s3a://captures/day", **aws)
        told.append(f"variables {done.took}")
        for bad, endpoint in (
            ("s3a://nobody/x.pcap", address),
            ("s3a://captures/x.pcap", address),
            ("s3a://captures/day/*.pcap", f"http://{DRIVER}:1"),
        ):
            done = b.command(*b.words(bad), **aws | {"AWS_ENDPOINT_URL": endpoint})
            told.append(f"{done.took}: {done.line}")
        denied(address)
        done = b.command(*b.words("s3a://captures/day/*.pcap"), **aws)
        assert "may not be read with this S3 key" in done.line
        told.append(f"{done.took}: {done.line}")
    return "; ".join(told)


def hdfs(b: Bench) -> str:
    """captures of HDFS, by pattern and folder; what is not there and may not be read"""
    assert b.hadoop is not None, "give --hadoop FOLDER (python -m tests.cluster.hadoop FOLDER)"
    told = []
    here = hadoop.client(b.hadoop)
    there = [word for name, value in here.items()
             for word in ("--spark-conf", f"spark.executorEnv.{name}={value}")]  # fmt: skip
    work = b.cluster.folder / "hadoop"
    with hadoop.hdfs(b.hadoop, work, DRIVER, HDFS_PORT) as system:
        system.shell("-put", str(FIXTURES / "B.pcap"), str(FIXTURES / "C.pcap"), "/captures/day")
        system.shell("-mkdir", "/mine")
        system.shell("-chmod", "700", "/mine")
        for name in ("captures/*/[BC].pcap", "captures"):
            captures = f"{system.url}/{name}"
            done = b.command(*b.words(*there, captures), **here)
            b.same(done, captures, **here)
            told.append(f"{done.took}")
        for bad, line in (
            (f"{system.url}/captures/x.pcap", "does not exist"),
            (f"hdfs://{DRIVER}:1/captures", "no name node answers there (Connection refused)"),
            (f"{system.url}/mine/*.pcap", "may not be read by this user of Hadoop"),
        ):
            done = b.command(*b.words(*there, bad), **here, HADOOP_USER_NAME="nobody")
            assert line in done.line
            told.append(f"{done.took}: {done.line}")
        done = b.command(*b.words(f"{system.url}/captures/*/B.pcap"), **here)
        assert "hdfs:// needs Hadoop's own library" in done.line
        assert "say all 2 executors" in done.line
        told.append(f"{done.took}: {done.line}")
    return "; ".join(told)


def denied(address: str) -> None:
    """From here on the server wants keys that it knows, and knows none."""
    import urllib.request

    plain = {"Content-Type": "text/plain"}
    request = urllib.request.Request(f"{address}/moto-api/reset-auth", b"0", plain, method="POST")
    urllib.request.urlopen(request).close()
