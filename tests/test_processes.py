"""Where processes share the tests, what belongs together stays in one."""

import pytest


def test_the_tests_of_a_file_stay_together(request: pytest.FixtureRequest) -> None:
    """Each process would compute again what they share, and start a Spark of its own."""
    shared = bool(getattr(request.config.option, "loadgroup", False))
    assert request.node.nodeid.endswith("@test_processes.py") is shared
