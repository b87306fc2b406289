"""hdfs:// by libhdfs: addresses, and what its Java prints. ``tests.cluster`` has a real one."""

import os
import socket
from types import SimpleNamespace

import pytest
from pyarrow import fs

from seqaudit.decoders.capture import hadoop
from seqaudit.decoders.capture.remote import RemoteFile
from seqaudit.decoders.contract.errors import CaptureError

CAUSE = r"^java\.net\.ConnectException: Call failed$"
HERE = "hdfs://h/x.pcap"
TRACE = b"""hdfsGetPathInfo(/x): getFileInfo error:
java.net.ConnectException: Call failed
\tat org.apache.Client
Caused by: java.lang.Error: other
"""


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Arrow was asked for, which answers with its address."""
    asked: list[str] = []

    def from_uri(uri: str) -> tuple[str, str]:
        asked.append(uri)
        return uri, ""

    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=from_uri))
    monkeypatch.delenv("LIBHDFS_OPTS", raising=False)
    hadoop._system.cache_clear()
    return asked


def test_all_files_of_a_name_node_are_of_one_file_system(places: list[str]) -> None:
    assert hadoop.opened("hdfs://h/a%b c.pcap", "") == ("hdfs://h/", "/a%b c.pcap")
    assert hadoop.opened("HDFS://h/folder/", "") == ("hdfs://h/", "/folder")
    assert hadoop.opened("hdfs://h", "") == ("hdfs://h/", "/")
    assert hadoop.opened("hdfs://h/x", "?user=me") == ("hdfs://h/?user=me", "/x")
    assert places == ["hdfs://h/", "hdfs://h/?user=me"]
    assert not hadoop.is_hadoop("s3a://h/x")


def test_java_leaves_ctrl_c_to_python(places: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBHDFS_OPTS", "-Xmx1g")
    hadoop.opened(HERE, "")
    assert os.environ["LIBHDFS_OPTS"] == "-Xrs -Xmx1g"


def test_a_name_node_that_is_not_there_is_said_at_once(places: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        hadoop.opened(f"hdfs://127.0.0.1:{port}/x", "")
    with pytest.raises(CaptureError, match="no name node answers there \\(Connection refused\\)"):
        RemoteFile(f"hdfs://127.0.0.1:{port}/other.pcap?user=me")
    assert len(places) == 1


def test_what_java_prints_is_the_cause_and_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match=CAUSE), hadoop.listened(HERE):
        os.write(2, TRACE)
    with pytest.raises(OSError, match=CAUSE), hadoop.listened(HERE):
        os.write(2, TRACE)
        raise OSError(255, "Unknown error 255")
    with pytest.raises(FileNotFoundError), hadoop.listened(HERE):
        os.write(2, b"java.io.FileNotFoundException: File does not exist: /x\n")
        raise FileNotFoundError
    with pytest.raises(PermissionError), hadoop.listened(HERE):
        raise PermissionError
    assert capfd.readouterr().err == ""
    with hadoop.listened("file:///x"):
        os.write(2, b"of nobody else")
    assert capfd.readouterr().err == "of nobody else"
