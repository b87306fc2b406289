"""Totals are null where a part is, and a capture in which no loss was judged is named (4.10)."""

from typing import Any

import pytest

from seqaudit.pipeline.report.totals import Losses, messages_of
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.contract.totals_rows import LossTotals

AT_B = Vantage("member", "10.80.0.2", "given")
MIRROR = Vantage("between", None, "inferred", "no address is an end of all")
NOWHERE = Vantage("unknown", None, "default", "only A and B exchange unicasts")


def stream(lost: int | None, role: str = "receiver", **more: Any) -> Any:
    figures = dict.fromkeys(("lost", "recovered", "unrecovered"), lost)
    why = {} if lost is not None else dict.fromkeys(figures, "not visible here")
    return (
        {
            "capture": 0,
            "system": "x",
            "id": f"{lost} {role}",
            "messages": 5,
            "role": role,
            "unknown": why,
        }
        | figures
        | more
    )


def capture(path: str, number: int = 0, **frames: int) -> Any:
    """Of a capture's row what is read here."""
    by = dict.fromkeys(("undecodable", "malformed", "truncated"), 0) | {"decoded": 9} | frames
    return {"path": path, "capture": number, "frames_by": by}


def totals(*streams: Any, at: Vantage = AT_B, decoded: int = 9) -> LossTotals:
    losses = Losses([at])
    seen = list(losses.each(streams))
    unjudged = list(losses.unjudged([capture("x.pcap", decoded=decoded)]))
    return messages_of(seen, [], [at], whole=not unjudged)


def test_losses_of_streams_add_up() -> None:
    assert totals(stream(2), stream(1)) == {
        "messages": 10, "lost": 3, "lost_upper": 3, "lost_proven": 3, "recovered": 3,
        "unrecovered": 3,
    }  # fmt: skip


def test_what_was_lost_or_not_captured_is_not_proven_in_the_sum_either() -> None:
    told = totals(stream(7, lost_proven=2), stream(1), stream(0, lost_proven=0))
    assert (told["lost"], told["lost_upper"], told["lost_proven"]) == (8, 8, 3)


@pytest.mark.parametrize(("upper", "most"), [(5, 6), (None, None)])
def test_a_sum_of_bounds_has_bounds(upper: int | None, most: int | None) -> None:
    told = totals(stream(2, lost_upper=upper), stream(1))
    assert (told["lost"], told["lost_upper"]) == (3, most)


def test_a_total_that_is_null_has_no_bounds() -> None:
    told = totals(stream(2, lost_upper=5), stream(None, "between"), at=NOWHERE)
    assert (told["lost"], told["lost_upper"], told["lost_proven"]) == (None, None, None)


def test_a_total_is_null_where_a_part_is() -> None:
    assert totals(stream(2), stream(None, "between"), at=NOWHERE)["lost"] is None


def test_what_a_member_sent_is_no_part_of_what_was_lost_at_its_interface() -> None:
    assert totals(stream(2), stream(None, "sender"))["lost"] == 2


def test_of_a_sender_alone_nobody_knows_what_was_lost() -> None:
    assert totals(stream(None, "sender"))["lost"] is None


def test_where_nothing_is_numbered_nobody_knows_what_was_lost() -> None:
    """A link that is encrypted, a client's connection, a filter that lets heartbeats through."""
    assert totals()["lost"] is None
    losses = Losses([AT_B, AT_B])
    (entry,) = losses.unjudged([capture("x.pcap", undecodable=8)])
    assert "no numbered stream, and 8 of its frames could not be decoded" in entry["problem"]
    list(losses.each([stream(0, capture=1)]))  # another capture tells, but not of what is encrypted
    both = capture("y.pcap", 1)
    assert list(losses.unjudged([capture("x.pcap"), both])) == []
    assert len(list(losses.unjudged([capture("x.pcap", undecodable=8), both]))) == 1


def test_a_capture_without_messages_lost_none() -> None:
    assert totals(decoded=0) == {
        "messages": 0, "lost": 0, "lost_upper": 0, "lost_proven": 0, "recovered": 0,
        "unrecovered": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("at", "what"), [(NOWHERE, "the other end as well"), (MIRROR, "--at NAME")]
)
def test_a_capture_in_which_no_loss_could_be_judged_says_what_to_give(
    at: Vantage, what: str
) -> None:
    losses = Losses([at])
    list(losses.each([stream(None, "between")]))
    (entry,) = losses.unjudged([capture("x.pcap")])
    assert entry["problem"].startswith(f"x.pcap: no loss could be judged: {at.why}; ")
    assert entry["problem"].endswith((what, f"{what} if this is one"))
    assert losses.hidden(0) == (1 if at is NOWHERE else 0)


def test_a_capture_with_one_stream_whose_loss_is_known_is_judged() -> None:
    losses = Losses([NOWHERE])
    list(losses.each([stream(None, "between"), stream(0)]))
    assert list(losses.unjudged([capture("x.pcap")])) == []
    assert losses.hidden(0) == 1


def test_a_mirror_beside_the_capture_of_the_receiver_is_judged_there() -> None:
    losses = Losses([MIRROR, AT_B])
    list(losses.each([stream(None, "between", id="s"), stream(3, id="s", capture=1)]))
    assert list(losses.unjudged([capture("x.pcap"), capture("y.pcap", 1)])) == []
