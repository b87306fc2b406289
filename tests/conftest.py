"""What all tests share: where fixtures are, and one Spark session for those that need it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import settings

#: No test fails because its machine has something else to do. Every run draws other examples, so
#: that of each it can be few.
settings.register_profile("seqaudit", deadline=None, max_examples=50)
settings.load_profile("seqaudit")
#: A fault is no finding in tests, unless one asks for the wall (``seqaudit.pipeline.audit``).
os.environ["SEQAUDIT_NO_WALL"] = "1"
#: Each of the hundreds of commands that tests start would compile all modules for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

#: Files of tests go to memory where there is a folder for it: many are written again and again,
#: at which a disk takes longer than what is tested.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

ROOT = Path(__file__).parent.parent
#: Folders of the tests for everyday work (``-m quick``): engines, rules and what their rows become.
QUICK = ("replay", "cli/options", "test_packages.py")
#: Files among them that play thousands of stories: models, worlds, mutants.
THOROUGH = ("test_fast_path.py", "test_model.py", "test_mutants.py", "test_naive.py",
            "test_odd_input.py", "test_world.py", "test_windows.py", "test_tables.py")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Files are shared out as they stand: by the number of their tests, those that have few and
    long ones, as of a Spark cluster, came last, where one process waits for the other."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)  # ahead of xdist, which reads the groups in its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what belongs to everyday work, and what stays together where processes share the tests:
    files, and those of the one Spark."""
    with_spark = {item.path for item in items if "spark_place" in getattr(item, "fixturenames", ())}
    for item in items:
        place = item.path.relative_to(ROOT / "tests").as_posix()
        if place.startswith(QUICK) and item.path.name not in THOROUGH:
            item.add_marker(pytest.mark.quick)
        if config.pluginmanager.hasplugin("xdist"):
            group = "spark" if item.path in with_spark else place
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(autouse=True, scope="session")
def every_report_is_what_its_types_say() -> Iterator[None]:
    """Whatever report a test makes: a missing key, one of no type, or two parts that contradict
    each other fail it. The same as before, as of a capture in other pieces, was looked at then."""
    from seqaudit.pipeline import audit
    from seqaudit.pipeline.report.build import build
    from tests.report_sense import contradictions
    from tests.report_types import problems

    last: dict[str, Any] = {}

    def checked(*given: Any) -> Any:
        nonlocal last
        report = build(*given)
        if report != last:
            assert problems(report) == []
            assert contradictions(report) == []
            last = cast(dict[str, Any], report)
        return report

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(audit, "build", checked)
        yield


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of captures."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def spark_place() -> Iterator[object]:
    """The local Spark that all tests share: started once, ended with the run. Its workers can
    import what tests give them."""
    from seqaudit.pipeline.shared.spark_address import SparkAddress
    from seqaudit.pipeline.spark.session import discard, shared

    place = SparkAddress(master="local[2]")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        shared(place)
    yield place
    discard(place)
