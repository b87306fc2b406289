"""Whether anybody is there, before Spark is asked."""

import socket
import threading
import time
from pathlib import Path

import pytest

from seqaudit.pipeline.spark import knock
from seqaudit.pipeline.spark.knock import SessionError, knock_at_master


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-none\r\n"])
def test_a_listener_that_is_no_master_is_one_line(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knock, "KNOCK_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            line, _ = listener.accept()
            line.sendall(answer)
            line.recv(1)
            time.sleep(1 if not answer else 0)
            line.close()

        threading.Thread(target=serve, daemon=True).start()
        port = listener.getsockname()[1]
        with pytest.raises(SessionError) as told:
            knock_at_master(f"spark://127.0.0.1:{port}")
    assert str(told.value) == (
        f"spark://127.0.0.1:{port}: no Spark master answers (127.0.0.1:{port}: what listens there "
        "is no Spark)"
    )


@pytest.fixture
def nobody() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        return int(gone.getsockname()[1])


@pytest.mark.parametrize("scheme", ["k8s://https://", "k8s://http://", "k8s://"])
def test_a_kubernetes_that_is_not_there_is_one_line(scheme: str, nobody: int) -> None:
    master = f"{scheme}127.0.0.1:{nobody}"
    with pytest.raises(SessionError) as told:
        knock_at_master(master, {})
    assert str(told.value) == (
        f"{master}: no Kubernetes API server answers (127.0.0.1:{nobody}: [Errno 111] Connection "
        "refused)"
    )
    knock_at_master(master, {"HTTPS_PROXY": "http://proxy:3128"})  # which alone reaches it


def test_a_yarn_of_which_nobody_says_where_it_is_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"^yarn: nobody says where YARN is; point HADOOP_CONF"):
        knock_at_master("yarn", {})
    with pytest.raises(SessionError, match=r"^yarn: .* has no yarn-site\.xml; point HADOOP_CONF_"):
        knock_at_master("yarn", {"HADOOP_CONF_DIR": str(tmp_path)})


def test_one_resource_manager_of_several_is_enough(tmp_path: Path, nobody: int) -> None:
    def configure(**places: str) -> None:
        lines = [
            f"<property><name>yarn.resourcemanager.{name}</name><value>{value}</value></property>"
            for name, value in places.items()
        ]
        text = f"<configuration>{''.join(lines)}</configuration>"
        (tmp_path / "yarn-site.xml").write_text(text)

    where = {"YARN_CONF_DIR": str(tmp_path)}
    configure(hostname="${here}")
    knock_at_master("yarn", where)  # Hadoop alone knows
    gone = {"address.rm1": f"127.0.0.1:{nobody}"}
    configure(**gone)
    with pytest.raises(SessionError, match=rf"^yarn: no resource manager answers \(127.*{nobody}:"):
        knock_at_master("yarn", where)
    with socket.create_server(("127.0.0.1", 0)) as there:
        configure(**gone, **{"address.rm2": f"127.0.0.1:{there.getsockname()[1]}"})
        knock_at_master("yarn", where)


def test_a_master_of_another_kind_is_for_spark_to_find() -> None:
    for master in ("", "local[2]", "mesos://h:5050"):
        knock_at_master(master, {})
