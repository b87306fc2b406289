"""Captures alone: nobody says where they were taken, and no parameters are given (CONTRIBUTING.md
4).

A place that is inferred is the true one, and then every figure agrees as it does where it is given;
where it stays unknown, the laws of findings, gap rows and totals hold all the same.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.agreement.rows import Hints
from tests.agreement.run import agree

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
ALONE: Final = Hints(places=False, parameters=False)

#: Equal rows do not become fewer.
EQUAL: Final = {"jgroups": 7019, "raims": 1765, "zenoh": 1055}


@pytest.mark.parametrize("system", EQUAL)
def test_captures_alone_say_nothing_wrong(system: str) -> None:
    agreement = agree(FIXTURES / system, engine="direct", hints=ALONE)
    assert [row for row in agreement.rows if row.verdict == "different"] == []
    assert agreement.count("equal") >= EQUAL[system]
