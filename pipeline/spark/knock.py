"""Whether anybody is there, before Spark is asked: its clients try for minutes where nobody is."""

import os
import re
import socket
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.shared.storage import properties

#: What a session is called that nobody names.
NAME: Final = "seqaudit"

#: Where a Connect server, Kubernetes and YARN listen if nobody says it, and how long any of them
#: may take to answer.
CONNECT_PORT: Final = 15002
KUBERNETES_PORTS: Final = {"http": 80, "https": 443}
YARN_PORT: Final = 8032
KNOCK_SECONDS: Final = 10.0

#: Where Hadoop's configuration is, as Spark looks for it.
CONFIGURATIONS: Final = ("YARN_CONF_DIR", "HADOOP_CONF_DIR")

_KUBERNETES: Final = re.compile(r"k8s://(?:(https?)://)?([^/]+)")
_MANAGER: Final = re.compile(r"yarn\.resourcemanager\.(address|hostname)(?:\.[\w-]+)?")


class SessionError(SeqauditError):
    """Spark could not be started or reached."""


def knock_at_server(remote: str) -> None:
    """Whether anything listens at a Connect URL.

    Raises:
        SessionError: nobody does, or it is none.
    """
    try:
        place = urlsplit(remote)
        if place.scheme != "sc" or place.hostname is None:
            raise SessionError(f"{remote}: is no Spark Connect URL; write sc://HOST:PORT")
        address = (place.hostname, place.port or CONNECT_PORT)
        socket.create_connection(address, KNOCK_SECONDS).close()
    except (OSError, ValueError) as problem:
        raise SessionError(
            f"{remote}: no Spark Connect server answers ({problem}); check the address"
        ) from problem


def knock_at_master(master: str, environment: Mapping[str, str] = os.environ) -> None:
    """Whether anybody listens at a master of a kind that is known here.

    Raises:
        SessionError: nobody does.
    """
    if master.startswith("spark://"):
        places = master.removeprefix("spark://").split(",")  # one leads, others wait
        _answered(
            master, "Spark master", [_host_and_port(place) for place in places], is_spark=True
        )
    elif known := _KUBERNETES.match(master):
        if _goes_round(known[2], environment):
            return
        port = KUBERNETES_PORTS[known[1] or "https"]
        _answered(master, "Kubernetes API server", [_host_and_port(known[2], port)])
    elif master == "yarn":
        _answered(master, "resource manager", _managers(environment))


def _answered(
    master: str, what: str, places: Sequence[tuple[str, int]], *, is_spark: bool = False
) -> None:
    problems = []
    for host, port in places:
        try:
            with socket.create_connection((host, port), KNOCK_SECONDS) as line:
                if not is_spark or _is_spark(line):
                    return
            problems.append(f"{host}:{port}: what listens there is no Spark")
        except (OSError, ValueError, OverflowError) as problem:
            problems.append(f"{host}:{port}: {problem}")
    if problems:
        raise SessionError(f"{master}: no {what} answers ({'; '.join(problems)})")


def _host_and_port(text: str, port: int = -1) -> tuple[str, int]:
    """Host and port of HOST:PORT; -1: there is none, which nobody listens at."""
    host, sign, number = text.rpartition(":")
    if not sign or text.endswith("]"):
        return text.strip("[]"), port
    return host.strip("[]"), int(number) if number.isdecimal() else -1


def _goes_round(place: str, environment: Mapping[str, str]) -> bool:
    """Whether a proxy is between, which alone reaches that place."""
    if not (environment.get("https_proxy") or environment.get("HTTPS_PROXY")):
        return False
    from urllib.request import proxy_bypass  # nobody else has a use for it

    return not proxy_bypass(_host_and_port(place)[0])


def _managers(environment: Mapping[str, str]) -> list[tuple[str, int]]:
    """Where YARN's configuration says that it is; none: it does not.

    Raises:
        SessionError: there is no configuration.
    """
    folders = [environment[name] for name in CONFIGURATIONS if environment.get(name)]
    if not folders:
        raise SessionError(
            "yarn: nobody says where YARN is; point HADOOP_CONF_DIR at the folder of its "
            "yarn-site.xml"
        )
    paths = [path for folder in folders if (path := Path(folder, "yarn-site.xml")).is_file()]
    if not paths:
        raise SessionError(
            f"yarn: {' and '.join(folders)} has no yarn-site.xml; point HADOOP_CONF_DIR at the "
            "folder that has"
        )
    return [
        _host_and_port(value, YARN_PORT)
        for name, value in properties(paths[0])
        if _MANAGER.fullmatch(name) and "${" not in value
    ]


def _is_spark(line: socket.socket) -> bool:
    """Whether the other end speaks as Spark's programs do among themselves.

    It is asked for a stream that nobody has, and says so in a frame of its protocol: a length, a
    kind (6 asks, 8 refuses), and the name with its length. Where Spark is told to speak TLS it
    answers nothing else; that is for its own client to find out.
    """
    asked = bytes([6]) + struct.pack(">i", len(NAME)) + NAME.encode()
    answer = b""
    line.settimeout(KNOCK_SECONDS)
    try:
        line.sendall(struct.pack(">q", 8 + len(asked)) + asked)
        while len(answer) < 8 + len(asked) and (more := line.recv(4096)):
            answer += more
    except (TimeoutError, ConnectionError):  # it says nothing, or hangs up
        return False
    return answer[8 : 8 + len(asked)] == bytes([8]) + asked[1:] or answer[:1] == b"\x15"
