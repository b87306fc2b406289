"""The wall: a part that fails becomes a finding, and the others are reported."""

from typing import Any

import pytest

from seqaudit.replay.contract.wall import FAILED, Wall


def third(row: dict[str, Any]) -> int:
    return int(row["numbers"][2])


GOOD: dict[str, Any] = {"capture": 1, "system": "nakack4", "stream": "lab|A", "numbers": [1, 2, 3]}


def test_rows_that_fail_are_left_out_and_named() -> None:
    wall = Wall(up=True)
    bad = GOOD | {"stream": "lab|B", "numbers": [], "frame": 7}
    assert list(wall.rows("a stream", third, [GOOD, bad, GOOD])) == [3, 3]
    (failed,) = wall.failures
    assert {key: failed[key] for key in ("rule", "capture", "system", "stream", "frame")} == {
        "rule": FAILED,
        "capture": 1,
        "system": "nakack4",
        "stream": "lab|B",
        "frame": 7,
    }
    assert failed["certainty"] == "proven"
    assert failed["facts"]["part"] == "a stream"
    assert failed["exception"]["type"] == "IndexError"
    assert failed["exception"]["message"] == "list index out of range"


def test_a_part_that_fails_gives_nothing_and_names_our_line() -> None:
    wall = Wall(up=True)
    assert wall.part("windows", third, GOOD) == 3
    assert wall.part("windows", third, {}) is None
    (failed,) = wall.failures
    assert failed["exception"]["type"] == "KeyError"
    assert failed["exception"]["at"].startswith("replay.contract.wall:")


def test_the_message_has_nothing_that_differs_between_runs() -> None:
    def say(what: object) -> None:
        raise ValueError(f"{what!r}\n{'long' * 100}")

    wall = Wall(up=True)
    wall.part("windows", say, object())
    message = wall.failures[0]["exception"]["message"]
    assert message.startswith("<object object at 0x...> longlong")
    assert len(message) == 203 and message.endswith("...")


def test_without_the_wall_faults_are_raised() -> None:
    wall = Wall(up=False)
    with pytest.raises(KeyError):
        wall.part("windows", third, {})
    with pytest.raises(KeyError):
        list(wall.rows("a stream", third, [{}]))


@pytest.mark.parametrize("lacks", [MemoryError(), OSError(28, "No space left on device")])
def test_what_the_machine_lacks_passes_the_wall(lacks: Exception) -> None:
    def need(_: object) -> None:
        raise lacks

    with pytest.raises(type(lacks)):
        Wall(up=True).part("windows", need, 0)
