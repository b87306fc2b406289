"""No spoiled capture breaks an audit, loses a frame, or is told differently by the other kernels or
in pieces."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from tests.hostile import check
from tests.hostile.crowd import crowd
from tests.hostile.run import TOGETHER, batch, checked
from tests.hostile.shrink import records_of, shrunk, smaller

SEED = 20
MUTANTS = 2_000


@pytest.mark.parametrize("number", range(MUTANTS // TOGETHER))
def test_spoiled_captures_are_audited_to_their_end_and_the_same_in_every_way(number: int) -> None:
    found = checked(batch(SEED, number), number)
    assert found is None, f"python -m tests.hostile --seed {SEED} --batch {number}: {found}"


def with_other_audits(monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]) -> str | None:
    """The kind of failure that is found where audits are spoiled, not captures."""
    monkeypatch.setattr(check, "audit", lambda *given: change(audit(*given), given[1]))
    found = checked(batch(3, 0, together=3), 0)
    return None if found is None else found.kind


def test_what_an_audit_raises_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(report: Any, options: Any) -> Any:
        raise KeyError("first_frame")

    assert with_other_audits(monkeypatch, fails) == "crash"


def test_another_report_of_interpreted_kernels_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(report: Any, options: Any) -> Any:
        return report if options.compile_it else report | {"gaps": [1]}

    assert with_other_audits(monkeypatch, differs) == "modes"


def test_another_report_of_pieces_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(report: Any, options: Any) -> Any:
        return report | {"gaps": [1]} if options.cuts else report

    assert with_other_audits(monkeypatch, differs) == "cuts"


def test_a_frame_that_is_not_counted_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def loses(report: Any, options: Any) -> Any:
        report["captures"][0]["frames"] -= 1
        return report

    assert with_other_audits(monkeypatch, loses) == "account"


def test_a_mutant_is_that_of_its_seed() -> None:
    assert [one.data for one in batch(3, 0, together=9)] == [
        one.data for one in batch(3, 0, together=9)
    ]


def test_what_fails_is_made_as_small_as_it_can_be() -> None:
    parts = list(range(40))
    random.Random(1).shuffle(parts)
    assert sorted(smaller(parts, lambda some: {3, 17, 31} <= set(some))) == [3, 17, 31]


def test_a_crowd_is_made_smaller_with_its_sound_conversation_whole() -> None:
    numbers = itertools.count()
    one = next(found for n in numbers if (found := crowd(f"{SEED}/{n}", size=20)).sound)
    assert one.sound is not None
    half = len(one.sound) // 2

    def fails(some: Any) -> bool:
        return len(some[0].sound) > half

    [small] = shrunk([one], fails, 60)
    assert small.sound is not None and half < len(small.sound) < len(one.sound)
    was, data, silent = (records_of(part)[1] or [] for part in (one.sound, small.data, small.sound))
    assert 0 < len(data) == len(silent) == small.frames
    assert set(silent) <= set(was)


@pytest.mark.parametrize("number", (0, 11))
def test_crowds_of_spoiled_conversations_change_nothing_of_a_sound_one(number: int) -> None:
    some = [crowd(f"{SEED}/{number}/{one} crowd", size=60) for one in range(4)]
    assert any(one.sound for one in some)
    assert checked(some, number) is None


def test_what_others_change_of_a_sound_conversation_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = itertools.count()

    def changes(report: Any, options: Any) -> Any:
        if next(first):
            return report
        return report | {"streams": [row | {"gaps": 7} for row in report["streams"]]}

    monkeypatch.setattr(check, "audit", lambda *given: changes(audit(*given), given[1]))
    found = checked([crowd(f"{SEED}/{number} crowd", size=20) for number in range(6)], 0)
    assert found is not None and found.kind == "isolation"
