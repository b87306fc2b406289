"""What Spark asks of a Kubernetes, of an API server whose pods are processes of machines.

Pods, config maps and watches as far as Spark's own client uses them; a pod of an executor is
started as the entry point of Spark's image starts it. So all is real but the orchestrator.
"""

import contextlib
import json
import queue
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from seqaudit.pipeline.spark import java
from tests.cluster.machines import Machine

BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"

Resource = dict[str, Any]


class Kubernetes:
    """Pods of one namespace, each on a machine of its own.

    Args:
        node: makes a machine for a pod, by its number.
    """

    def __init__(self, node: Callable[[int], Machine]) -> None:
        self._node = node
        self._lock = threading.RLock()
        self._watching: list[queue.Queue[Resource]] = []
        self._machines: dict[str, Machine] = {}
        self.pods: dict[str, Resource] = {}
        self.created: list[Resource] = []
        self.maps: dict[str, Resource] = {}

    def create(self, pod: Resource) -> Resource:
        with self._lock:
            name = pod["metadata"]["name"]
            machine = self._machines[name] = self._node(len(self._machines))
            pod["metadata"] |= {"uid": name, "resourceVersion": "1", "namespace": "default"}
            pod["status"] = {"phase": "Running", "podIP": machine.address}
            self.pods[name] = pod
            self.created.append(pod)
            machine.start(*_entry_point(pod, machine))
            self._tell("ADDED", pod)
            return pod

    def delete(self, name: str) -> None:
        with self._lock:
            pod = self.pods.pop(name)
            self._machines[name].kill()
            self._tell("DELETED", pod)

    def selected(self, selector: str) -> list[Resource]:
        """Pods with labels of a selector; of all its kinds but equality it asks nothing."""
        wanted = dict(re.findall(r"([\w./-]+)=([\w.-]+)", selector))
        with self._lock:
            return [pod for pod in self.pods.values()
                    if wanted.items() <= pod["metadata"]["labels"].items()]  # fmt: skip

    @contextlib.contextmanager
    def watched(self) -> Iterator["queue.Queue[Resource]"]:
        events: queue.Queue[Resource] = queue.Queue()
        self._watching.append(events)
        try:
            yield events
        finally:
            self._watching.remove(events)

    def _tell(self, kind: str, pod: Resource) -> None:
        for events in self._watching:
            events.put({"type": kind, "object": pod})


def _entry_point(pod: Resource, machine: Machine) -> tuple[list[str], dict[str, str]]:
    """Command and variables of ``/opt/entrypoint.sh executor`` in Spark's image."""
    (container,) = pod["spec"]["containers"]
    assert container["args"] == ["executor"], container["args"]
    given = {entry["name"]: entry.get("value", machine.address) for entry in container["env"]}
    given["SPARK_EXECUTOR_POD_NAME"] = pod["metadata"]["name"]
    options = [value for name, value in given.items() if name.startswith("SPARK_JAVA_OPT_")]
    told = {"driver-url": "DRIVER_URL", "executor-id": "EXECUTOR_ID", "cores": "EXECUTOR_CORES",
            "app-id": "APPLICATION_ID", "hostname": "EXECUTOR_POD_IP",
            "resourceProfileId": "RESOURCE_PROFILE_ID",
            "podName": "EXECUTOR_POD_NAME"}  # fmt: skip
    words = [word for name, at in told.items() for word in (f"--{name}", given[f"SPARK_{at}"])]
    memory = given["SPARK_EXECUTOR_MEMORY"]
    program = [str(java.find_java().program), *options, f"-Xms{memory}", f"-Xmx{memory}"]
    jars = str(java.spark_home() / "jars" / "*")
    given |= {
        "SPARK_HOME": str(java.spark_home()),
        "SPARK_LOCAL_DIRS": str(machine.folder / "local"),
        "XDG_CACHE_HOME": str(machine.folder / "cache"),
        "PYTHONHASHSEED": "0",
    }
    return [*program, "-cp", jars, BACKEND, *words], given


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kubernetes: Kubernetes

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        asked = parse_qs(place.query)
        if self.headers.get("Upgrade"):  # a client that is told so takes a stream instead
            self._answer({}, 503)
        elif "watch" in asked:
            self._watch()
        elif place.path.endswith("/pods"):
            pods = self.kubernetes.selected(unquote(asked.get("labelSelector", [""])[0]))
            self._answer(_list("PodList", pods))
        elif found := self.kubernetes.pods.get(place.path.rpartition("/")[2]):
            self._answer(found)
        else:
            self._answer(_list("List", []))

    def do_POST(self) -> None:
        given = self._body()
        place = urlsplit(self.path).path
        if place.endswith("/pods"):
            given = self.kubernetes.create(given)
        elif place.endswith("/configmaps"):
            self.kubernetes.maps[given["metadata"]["name"]] = given
        self._answer(given, 201)

    def do_PATCH(self) -> None:
        self._body()
        self._answer(self.kubernetes.pods.get(urlsplit(self.path).path.rpartition("/")[2], {}))

    def do_DELETE(self) -> None:
        self._body()
        place = urlsplit(self.path)
        name = place.path.rpartition("/")[2]
        if name == "pods":
            selector = unquote(parse_qs(place.query).get("labelSelector", [""])[0])
            for pod in self.kubernetes.selected(selector):
                self.kubernetes.delete(pod["metadata"]["name"])
        elif name in self.kubernetes.pods:
            self.kubernetes.delete(name)
        else:
            self.kubernetes.maps.pop(name, None)
        self._answer({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _watch(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with self.kubernetes.watched() as events, contextlib.suppress(OSError):
            while True:
                line = json.dumps(events.get()).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()

    def _body(self) -> Resource:
        size = int(self.headers.get("Content-Length") or 0)
        found: Resource = json.loads(self.rfile.read(size) or b"{}")
        return found

    def _answer(self, told: Resource, code: int = 200) -> None:
        text = json.dumps(told).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _list(kind: str, items: list[Resource]) -> Resource:
    return {"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}


@contextlib.contextmanager
def kubernetes(host: str, port: int, node: Callable[[int], Machine]) -> Iterator[Kubernetes]:
    """An API server there."""
    made = Kubernetes(node)
    handler = type("Handler", (_Handler,), {"kubernetes": made})
    with ThreadingHTTPServer((host, port), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()
            with contextlib.suppress(subprocess.SubprocessError):
                for name in list(made.pods):
                    made.delete(name)
