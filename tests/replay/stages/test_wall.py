"""One conversation that fails is a finding, and every other one is replayed as if alone."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings
from seqaudit.replay.jgroups import both_ends_findings
from seqaudit.replay.jgroups.mcast import findings as mcast_findings
from seqaudit.replay.jgroups.mcast.engine import McastEngine
from seqaudit.replay.stages import replay as stage
from seqaudit.replay.stages.systems import RULES
from tests.replay.builders import ack, dated, highest, msg
from tests.replay.jgroups.unicast.builders import data
from tests.replay.stages.test_replay import AT_A, AT_B, Row, batches, row_of

BAD, GOOD = "mcast|bad", "mcast|good"
STORY = (msg(1), msg(2), highest(4), msg(4), ack(2))


def rows_of(conversation: str) -> list[Row]:
    return [row_of(event, conversation) for event in dated(STORY)]


def replayed(
    rows: list[Row],
    sizes: Iterable[int] = (),
    *,
    walled: bool = True,
    captures: tuple[CaptureSettings, ...] = (AT_B,),
) -> list[Row]:
    settings = ReplaySettings(captures, walled=walled)
    found = [r for out in stage.replay(batches(rows, sizes), settings) for r in out.to_pylist()]
    return [row | {"detail": json.loads(row["detail"])} for row in found]


def without(rows: list[Row], conversation: str) -> list[Row]:
    return [row for row in rows if row["conversation"] != conversation]


@pytest.fixture
def bad_highest(monkeypatch: pytest.MonkeyPatch) -> None:
    """HIGHEST_SEQNO is not replayed in one of the conversations."""
    good = McastEngine._highest

    def highest_seqno(self: McastEngine, event: Event) -> None:
        if self.conversation == BAD:
            raise ValueError("a fault")
        good(self, event)

    monkeypatch.setattr(McastEngine, "_highest", highest_seqno)


@pytest.mark.usefixtures("bad_highest")
def test_a_conversation_that_fails_is_one_finding_at_the_event_that_failed() -> None:
    found = replayed(rows_of(BAD))
    (failed,) = [row for row in found if row["kind"] == "FINDING"]
    assert (failed["rule"], failed["frame"], failed["system"]) == ("CP099", 3, "mcast")
    assert failed["detail"]["exception"]["type"] == "ValueError"
    assert failed["detail"]["exception"]["message"] == "a fault"
    assert not [row for row in found if row["kind"] == "STREAM"]


@pytest.mark.usefixtures("bad_highest")
def test_no_rule_of_its_system_was_judged_there() -> None:
    (judged,) = [row["detail"] for row in replayed(rows_of(BAD)) if row["kind"] == "JUDGED"]
    rules = [code for code in RULES if code[:2] == "MC"]
    assert judged == {"judged": [], "not_judged": {"seqaudit failed here (CP099)": rules}}


@pytest.mark.usefixtures("bad_highest")
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_others_are_replayed_as_if_alone_however_the_rows_are_cut(size: int) -> None:
    together = replayed([*rows_of(BAD), *rows_of(GOOD)], [size] * 20)
    alone = replayed(rows_of(GOOD))
    assert without(together, BAD) == without(alone, BAD) != []
    assert together == replayed([*rows_of(BAD), *rows_of(GOOD)])


def test_a_conversation_that_cannot_be_put_into_words_is_a_finding_at_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> None:
        raise KeyError("words")

    monkeypatch.setattr(mcast_findings, "results", fails)
    unicast = [row_of(data(1), "unicast|lab")]
    found = replayed([*rows_of(BAD), *unicast])
    (failed,) = [row for row in found if row["rule"] == "CP099" and row["kind"] == "FINDING"]
    assert (failed["conversation"], failed["frame"]) == (BAD, 1)
    assert "STREAM" in {row["kind"] for row in found if row["conversation"] == "unicast|lab"}


def test_captures_that_cannot_be_compared_are_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(both_ends_findings.JGroupsEnds, "judges", fails)
    rows = [row_of(data(1), "unicast|lab", capture) for capture in (0, 1)]
    found = replayed(rows, captures=(AT_A, AT_B))
    assert {row["capture"] for row in found if row["kind"] == "STREAM"} == {0, 1}
    (failed,) = [row for row in found if row["kind"] == "FINDING"]
    assert (failed["rule"], failed["capture"], failed["frame"]) == ("CP099", 0, None)


@pytest.mark.usefixtures("bad_highest")
def test_in_tests_a_fault_is_raised() -> None:
    with pytest.raises(ValueError, match="a fault"):
        replayed(rows_of(BAD), walled=False)
