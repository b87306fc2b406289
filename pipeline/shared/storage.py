"""How stores of captures are reached, as Spark is told it: ``fs.s3a.…`` of Hadoop's configuration.

In the order of Spark: the last one counts. ``core-site.xml`` of ``HADOOP_CONF_DIR``, variables of
AWS, ``spark.hadoop.fs.s3a.…`` of ``spark-defaults.conf``, and the same of ``--spark-conf``.
"""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from seqaudit.decoders.capture.remote import Storage

_HADOOP: Final = "spark.hadoop."
_OURS: Final = "fs.s3a."

#: What AWS calls the same; of several the last that is there.
_AWS: Final = (
    ("AWS_ACCESS_KEY_ID", "fs.s3a.access.key"),
    ("AWS_SECRET_ACCESS_KEY", "fs.s3a.secret.key"),
    ("AWS_SESSION_TOKEN", "fs.s3a.session.token"),
    ("AWS_DEFAULT_REGION", "fs.s3a.endpoint.region"),
    ("AWS_REGION", "fs.s3a.endpoint.region"),
    ("AWS_ENDPOINT_URL", "fs.s3a.endpoint"),
    ("AWS_ENDPOINT_URL_S3", "fs.s3a.endpoint"),
)


def storage_of(
    given: Iterable[tuple[str, str]], environment: Mapping[str, str] = os.environ
) -> Storage:
    """All settings of stores.

    Args:
        given: settings of Spark from ``--spark-conf``.
    """
    site = Path(environment.get("HADOOP_CONF_DIR") or os.devnull, "core-site.xml")
    found = {key: value for key, value in properties(site) if key.startswith(_OURS)}
    found |= {key: environment[name] for name, key in _AWS if environment.get(name)}
    for key, value in (*spark_defaults(environment), *given):
        if key.startswith(_HADOOP + _OURS):
            found[key.removeprefix(_HADOOP)] = value
    return tuple(sorted(found.items()))


def spark_defaults(environment: Mapping[str, str] = os.environ) -> Iterator[tuple[str, str]]:
    """``spark-defaults.conf``, where Spark looks for it: a setting a line."""
    folder = environment.get("SPARK_CONF_DIR")
    if folder is None and "SPARK_HOME" in environment:
        folder = f"{environment['SPARK_HOME']}/conf"
    if folder is None:
        return
    with contextlib.suppress(OSError, UnicodeDecodeError):  # Spark says of a bad one what it is
        for line in Path(folder, "spark-defaults.conf").read_text(encoding="utf-8").splitlines():
            if found := re.fullmatch(r"\s*([^\s#!=:]+)\s*[=:\s]\s*(.*?)\s*", line):
                yield found[1], found[2]


def properties(path: Path) -> list[tuple[str, str]]:
    """Name and value of each setting in a file of Hadoop's; none where it cannot be read."""
    if not path.is_file():
        return []
    from xml.etree import ElementTree  # most have no such file

    try:
        entries = list(ElementTree.parse(path).getroot().iter("property"))
    except (OSError, ElementTree.ParseError):
        return []
    found = [(entry.findtext("name"), entry.findtext("value")) for entry in entries]
    return [(name.strip(), value.strip()) for name, value in found if name and value]
