"""The verdict: what a report says in one or two lines."""

from typing import Any

import pytest

from seqaudit.cli.output.cells import counted
from seqaudit.cli.output.verdict import verdict


def stream(lost: int | None, gone: int = 0, slowest: int | None = None, **more: Any) -> Any:
    return {
        "system": "unicast3",
        "lost": lost,
        "unrecovered": gone,
        "recovery_ns": {"max": slowest},
        "unknown": {} if lost is not None else {"lost": "not visible here"},
    } | more


def report(*streams: Any, findings: tuple[str, ...] = (), captures: int = 1) -> Any:
    return {
        "captures": [{}] * captures,
        "streams": streams,
        "findings": [{"severity": severity} for severity in findings],
    }


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ([stream(0)], "1 capture, 1 stream: no message lost; no errors or warnings."),
        (
            [stream(1, slowest=2_000_000)],
            "1 capture, 1 stream: 1 message lost, recovered, slowest after 2.0 ms; "
            "no errors or warnings.",
        ),
        (
            [stream(66, slowest=2_011_000_000), stream(0)],
            "1 capture, 2 streams: 66 messages lost, all recovered, slowest after 2.011 s; "
            "no errors or warnings.",
        ),
        (
            [stream(1_004, 4, 1_000_000)],
            "1 capture, 1 stream: 1,004 messages lost, 1,000 recovered, 4 not, slowest after "
            "1.0 ms; no errors or warnings.",
        ),
        ([stream(2, 2)], "1 capture, 1 stream: 2 messages lost, none recovered; "
         "no errors or warnings."),
        (
            [stream(0), stream(5, 0, 1_000, system="pgm")],
            "1 capture, 2 streams: no message lost; 5 packets lost, all recovered, slowest after "
            "1.0 us; no errors or warnings.",
        ),
        ([], "1 capture: no numbered stream; no errors or warnings."),
    ],
)  # fmt: skip
def test_the_first_line_says_what_was_lost_by_what_is_counted(
    streams: list[Any], said: str
) -> None:
    assert verdict(report(*streams)) == [said]


def test_errors_and_warnings_are_counted_and_infos_are_not() -> None:
    found = ("error", "warning", "warning", "info")
    assert verdict(report(stream(0), findings=found, captures=2)) == [
        "2 captures, 1 stream: no message lost; 1 error, 2 warnings."
    ]


def test_no_message_is_lost_only_where_that_can_be_told() -> None:
    untold = {"system": "unicast3", "lost": None, "unknown": {"lost": "not visible here"}}
    assert verdict(report(stream(0), untold))[0] == (
        "1 capture, 2 streams: no message lost where that can be told; no errors or warnings."
    )
    other = {**untold, "system": "pgm"}
    assert "no message lost; no errors" in verdict(report(stream(0), other))[0]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((16, 0, 0), "at least 16 messages lost, 16 recovered, slowest after 5.0 us"),
        ((0, 2, 0), "at least 2 messages lost, 2 not recovered"),
        ((3, 1, 0), "at least 4 messages lost, 3 recovered, 1 not, slowest after 5.0 us"),
        ((0, 0, 7), "7 messages lost, all recovered, slowest after 5.0 us"),
        ((16, 0, 7), "at least 23 messages lost, 23 recovered, slowest after 5.0 us"),
    ],
)
def test_what_is_told_of_a_stream_of_which_not_all_can_be_is_a_lower_bound(
    counts: tuple[int, int, int], said: str
) -> None:
    back, gone, elsewhere = counts
    partly = stream(None, gone, 5_000 if back else None, recovered=back)
    other = stream(elsewhere, slowest=5_000 if elsewhere else None)
    assert f": {said}; no errors" in verdict(report(partly, other))[0]


@pytest.mark.parametrize(
    ("lost", "upper", "said"),
    [
        (3, 3, "3 messages lost, none recovered"),
        (3, None, "at least 3 messages lost, 3 not recovered"),
        (3, 9, "at least 3 messages lost, 3 not recovered"),
        (0, 0, "no message lost"),
        (0, 9, "no message lost where that can be told"),
    ],
)
def test_of_what_is_lost_and_only_bounded_the_least_is_said(
    lost: int, upper: int | None, said: str
) -> None:
    bounded = stream(lost, lost, recovered=0) | {"lost_upper": upper}
    assert f": {said}; no errors" in verdict(report(bounded))[0]
    shown = {3: "3 or more" if upper is None else "3 to 9", 0: "0 to 9"}[lost]
    assert (
        counted(bounded, "lost")
        == counted(bounded, "unrecovered")
        == (f"{lost}" if upper == lost else shown)
    )
    assert counted(bounded, "recovered") == "0"


@pytest.mark.parametrize(
    ("gone", "proven", "said", "lost", "unrecovered"),
    [
        (3, 3, "3 messages lost, none recovered", "3", "3"),
        (3, 1, "3 messages lost or not captured (1 proven lost), none recovered", "1 to 3",
         "1 to 3"),
        (3, 0, "3 messages lost or not captured (none proven lost), none recovered", "0 to 3",
         "0 to 3"),
        (1, 1, "3 messages lost or not captured (1 proven lost), 2 recovered, 1 not", "1 to 3",
         "0 to 1"),
    ],
)  # fmt: skip
def test_what_was_lost_or_not_captured_is_not_called_lost(
    gone: int, proven: int, said: str, lost: str, unrecovered: str
) -> None:
    told = stream(3, gone, recovered=3 - gone) | {"lost_proven": proven}
    assert f": {said}; no errors" in verdict(report(told))[0]
    assert (counted(told, "lost"), counted(told, "unrecovered")) == (lost, unrecovered)


def test_what_cannot_be_told_is_a_line_of_its_own() -> None:
    assert verdict(report(stream(None)))[1:] == [
        "What was lost cannot be told in 1 stream; seqaudit show streams says why."
    ]
    assert verdict(report(stream(None), stream(0)))[1:] == [
        "What was lost cannot be told in 1 of 2 streams; seqaudit show streams says why."
    ]


@pytest.mark.parametrize(("system", "name", "unit"), [
    ("nakack4", "open_at_end", "messages"),
    ("zenoh", "open", "messages"),
    ("pgm", "open", "packets"),
])  # fmt: skip
def test_what_was_missing_still_at_the_end_is_told_whatever_its_row_calls_it(
    system: str, name: str, unit: str
) -> None:
    found = stream(0, system=system, **{name: 4})
    again = stream(0, system=system, again={"beyond": False}, **{name: 4})
    (said, *_) = verdict(report(found, again))
    assert f"no {unit[:-1]} lost; 4 {unit} missing at the end, too early to call lost; " in said


def test_of_two_lines_that_carry_the_same_what_both_lost_counts() -> None:
    lines = [stream(7, 7, system="feed", kind="line"), stream(9, 9, system="feed", kind="line")]
    pair = {"messages": 100, "recovered": 2, "lost_on_both": 1}
    both = report(*lines, stream(0)) | {"tables": {"feed": {"lines": [pair]}}}
    assert verdict(both) == [
        "1 capture, 1 stream: no message lost; 3 numbers lost or not captured, 2 recovered, 1 not; "
        "no errors or warnings."
    ]


def test_a_capture_of_two_lines_alone_says_what_both_lost() -> None:
    lines = [stream(7, 7, system="feed", kind="line"), stream(9, 9, system="feed", kind="line")]
    pair = {"messages": 100, "recovered": 2, "lost_on_both": 1}
    assert verdict(report(*lines) | {"tables": {"feed": {"lines": [pair]}}}) == [
        "1 capture, 1 pair of lines: 3 numbers lost or not captured, 2 recovered, 1 not; "
        "no errors or warnings."
    ]


def test_what_was_open_when_the_capture_ended_is_not_called_lost() -> None:
    feeds = [
        stream(lost, lost, system="feed", kind="feed", capture=0, id=name, open_at_end=still)
        for name, lost, still in (("a", 0, 5), ("b", 7, 2), ("c", 3, 0))
    ]
    assert verdict(report(*feeds)) == [
        "1 capture, 3 streams: 10 numbers lost or not captured, none recovered; 7 numbers "
        "missing at the end, too early to call lost; no errors or warnings."
    ]
