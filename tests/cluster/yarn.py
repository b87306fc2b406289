"""A YARN of Spark's own jars: their protocols, clients and downloads, and a small program between.

PySpark brings Hadoop's client and no server. ``Yarn.java`` is as much of a resource manager and of
node managers as Spark's application asks for; Spark itself is all there: its client that uploads,
its application master in a container, and what asks that for executors.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from seqaudit.pipeline.spark import java
from tests.cluster.machines import Machine, until_listening

PROGRAM: Final = Path(__file__).with_name("Yarn.java")
CLIENTS: Final = 8032
MASTERS: Final = 8030
NODES: Final = 8041


def start(manager: Machine, nodes: Sequence[Machine], folder: Path) -> dict[str, str]:
    """Start it.

    Args:
        folder: for the configuration and what is uploaded.

    Returns:
        Variables of a client.
    """
    folder.mkdir()
    settings = {
        "fs.defaultFS": "file:///",
        "yarn.resourcemanager.hostname": manager.address,
        "yarn.resourcemanager.address": f"{manager.address}:{CLIENTS}",
        "yarn.resourcemanager.scheduler.address": f"{manager.address}:{MASTERS}",
    }
    lines = [f"<property><name>{name}</name><value>{value}</value></property>"
             for name, value in settings.items()]  # fmt: skip
    for name in ("core-site.xml", "yarn-site.xml"):
        (folder / name).write_text(f"<configuration>{''.join(lines)}</configuration>\n")
    jars = str(java.spark_home() / "jars" / "*")
    program = [str(java.find_java().program), "-Xmx256m", *java.MODULE_OPTIONS, "-cp", jars]
    for node in nodes:
        node.start([*program, str(PROGRAM), "nm", node.address, node.folder / "work"], {})
    manager.start([*program, str(PROGRAM), "rm", manager.address, *(n.address for n in nodes)], {})
    for machine, port in ((manager, CLIENTS), (manager, MASTERS), *((n, NODES) for n in nodes)):
        until_listening(machine.address, port)
    return {"HADOOP_CONF_DIR": str(folder)}
