"""Times and durations as tables show them."""

import pytest

from seqaudit.cli.output.times import TimeStyle, duration, time_formatter

AT_NS = 1_795_213_126_356_353_123


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("utc", "2026-11-20 22:18:46.356353Z"),
        ("epoch", "1795213126.356353123"),
        ("relative", "+2.000000"),
        ("local", "2026-11-20 23:18:46.356353+0100"),
    ],
)
def test_every_style(style: TimeStyle, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert time_formatter(style, AT_NS - 2_000_000_000)(AT_NS) == shown
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_null_and_a_time_of_no_calendar_are_shown() -> None:
    assert time_formatter("utc", 0)(None) == "-"
    assert time_formatter("utc", 0)(2**63 - 1) == "2262-04-11 23:47:16.854775Z"
    assert time_formatter("utc", 0)(-(2**63)) == "1677-09-21 00:12:43.145224Z"
    assert time_formatter("relative", AT_NS)(AT_NS - 1_500_000) == "-0.001500"


@pytest.mark.parametrize(
    ("ns", "shown"),
    [(None, "-"), (0, "0 ns"), (999, "999 ns"), (1_500, "1.5 us"), (4_500_000, "4.5 ms"),
     (1_200_000_000, "1.200 s"), (-2_000_000, "-2.0 ms")],
)  # fmt: skip
def test_durations_have_a_unit_that_suits_them(ns: int | None, shown: str) -> None:
    assert duration(ns) == shown
