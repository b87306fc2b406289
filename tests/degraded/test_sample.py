"""Some recordings of every system, spoiled once in every way: nothing false is called proven.

All recordings and more variants: ``python -m tests.degraded FOLDER``.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.degraded.__main__ import _table, totals
from tests.degraded.run import Choice, Outcome, Violation, run, spoil_all
from tests.degraded.subjects import Recording, find
from tests.degraded.truths import refuted_figures
from tests.degraded.ways import chosen

#: Losses that are repaired, and losses that are not.
RECORDINGS = (
    "tcp-partition-1",
    "n2-loss-1",
    "v35-u3-loss-1",
    "reply-lost-1",
    "udp-loss-recovered-1",
)


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_spoiled_capture_proves_nothing_that_is_not_so(fixtures: Path, name: str) -> None:
    (recording,) = find(fixtures, name)
    file = list(recording.places)[-1]  # of three members the coordinator only looks on
    outcome = spoil_all(recording, file, Choice(sample=1))
    assert [(one.repro, one.rule, one.kind, one.why) for one in outcome.violations] == []
    assert outcome.spoiled > 30


def test_members_that_come_and_go_are_read_by_their_processes(fixtures: Path) -> None:
    (recording,) = find(fixtures, "rejoin-nakack4")
    assert recording.places == {f"{name}.pcap": f"10.80.0.{n}" for n, name in enumerate("ABC", 1)}
    outcome = spoil_all(recording, "C.pcap", Choice(chosen(["head", "burst"]), sample=2))
    assert [(one.repro, one.rule, one.why) for one in outcome.violations] == []
    assert outcome.spoiled == 4 and outcome.proven


def test_zenoh_sessions_that_come_and_go_are_read_by_what_was_delivered(fixtures: Path) -> None:
    (recording,) = find(fixtures, "link-cut-udp")
    (subscriber,) = recording.truth["subscribers"]
    assert recording.places == {"pub.pcap": "10.77.0.1", "sub.pcap": "10.77.0.2"}
    assert [row[4] for row in subscriber["delivered"]] == [*range(8), *range(13, 63)]


def test_what_a_report_says_was_delivered_is_held_against_the_truth(fixtures: Path) -> None:
    (recording,) = find(fixtures, "link-cut-udp")
    outcome = spoil_all(recording, "sub.pcap", Choice(chosen(["whole", "head"]), sample=1))
    assert (outcome.captures, outcome.figures, outcome.violations) == (1, 2, [])
    (subscriber,) = recording.truth["subscribers"]
    fewer = {**subscriber, "delivered": [row for row in subscriber["delivered"] if row[4] != 13]}
    other = Recording(recording.folder, recording.system, {"subscribers": [fewer]})
    row = {
        "id": "s", "kind": "samples", "role": "receiver", "receiver": subscriber["zid"],
        "subscriber": subscriber["key"], "source": "{}/{}".format(*subscriber["delivered"][0][2:4]),
        "delivered": [[0, 7], [13, 20]], "delivered_unsure": [],
    }  # fmt: skip
    row |= {"unrecovered": None}
    report = {"streams": [row], "findings": []}
    assert list(refuted_figures(recording, report)) == [("delivered", "s", None)]
    assert list(refuted_figures(other, report)) == [("delivered", "s", "never delivered: 13")]


@pytest.mark.parametrize(
    ("proven", "rule", "compared"), [(0, None, False), (1, None, True), (0, "CP003", True)]
)
def test_a_loss_is_held_against_the_truth_where_it_is_proven_or_frames_are_missing(
    fixtures: Path, proven: int, rule: str | None, compared: bool
) -> None:
    (recording,) = find(fixtures, "link-cut-udp")
    (subscriber,) = recording.truth["subscribers"]
    row = {
        "id": "s", "kind": "samples", "role": "receiver", "receiver": subscriber["zid"],
        "subscriber": subscriber["key"], "source": "{}/{}".format(*subscriber["delivered"][0][2:4]),
        "delivered": [[0, 6]], "unrecovered": 1, "unrecovered_seqnos": [[7, 7]], "lost": 1,
        "lost_proven": proven, "delivered_unsure": [],
    }  # fmt: skip
    of_capture = [{"rule": rule, "certainty": "proven", "stream": None}] if rule else []
    found = list(refuted_figures(recording, {"streams": [row], "findings": of_capture}))
    assert (("unrecovered", "s", "delivered: 7") in found) is compared


@pytest.mark.parametrize(
    ("name", "way", "variant"),
    [
        ("undeclared-keys", "sampled", "10 1"),  # a reply names the key whose number nobody knows
        ("two-routers-loss", "single", "236"),  # what was lost before the link was asked for unseen
    ],
)
def test_a_figure_that_rests_on_what_is_not_here_is_null(
    fixtures: Path, name: str, way: str, variant: str
) -> None:
    (recording,) = find(fixtures, name)
    outcome = spoil_all(recording, "sub.pcap", Choice(chosen([way]), variant=variant))
    assert (outcome.spoiled, outcome.violations) == (1, [])


def test_nothing_is_not_called_nothing_wrong() -> None:
    assert totals(Outcome()).startswith("nothing was spoiled")
    assert totals(Outcome(captures=1, spoiled=1)).startswith("nothing wrong\ncaptures 1, spoiled 1")


def test_processes_side_by_side_find_what_one_finds(fixtures: Path) -> None:
    choice = Choice(chosen(["whole", "drop-5"]), sample=1)
    alone = list(run(fixtures, "heartbeat-lost-1", choice))
    assert list(run(fixtures, "heartbeat-lost-1", choice, jobs=2)) == alone
    assert sum(outcome.spoiled for _, outcome in alone) > 1


def test_a_likely_finding_that_the_truth_refutes_is_told_by_way_and_not_called_wrong() -> None:
    refuted = Violation("unlikely", "drop-5", "3", "s/sub.pcap", "ZN002", "error", "1 sample", "s1")
    told = Outcome(
        captures=1,
        spoiled=1,
        likely=Counter({("drop-5", "ZN002"): 2, ("head", "ZN002"): 1}),
        unlikely=[refuted],
    )
    assert totals(told).endswith("of 3 likely findings the truth refutes 1, ZN002 1 of 3")
    assert totals(told).startswith("nothing wrong\n")
    assert _table(told.unlikely, False, told.likely) == [
        "drop-5        ZN002  error    unlikely      1 of 2",
        "    1 sample",
        "    s1",
        "    --match s --file sub.pcap --way drop-5 --variant 3",
    ]
