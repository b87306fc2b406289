"""Marks of pictures: the same wherever a capture was cut, and whoever decoded it."""

from dataclasses import replace
from pathlib import Path

from seqaudit.cli.output.points import EventsOfStreams, Point
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress

FIXTURES = Path(__file__).parents[3] / "fixtures"
#: Runs of hundreds, losses of multicasts and of unicasts, over UDP and TCP.
CAPTURES = (
    "jgroups/n4-loss-1/C.pcap",
    "jgroups/v35-u3-loss-1/C.pcap",
    "raims/frame-silent-loss-1/B.pcap",
    "zenoh/udp-loss-recovered-1/sub.pcap",
)


def drawn(options: Options, path: Path) -> list[list[Point]]:
    events = EventsOfStreams()
    report = audit([CaptureInput(str(path))], replace(options, look=events))
    return [points for _, points in events.points(report["gaps"])]


def test_pictures_are_the_same_wherever_the_direct_engine_cuts() -> None:
    for name in CAPTURES:
        path = FIXTURES / name
        whole = drawn(Options(engine="direct"), path)
        assert any(whole), name
        for every in (997, 10_000):
            cuts = {str(path): list(range(every, path.stat().st_size, every))}
            assert drawn(Options(engine="direct", cuts=cuts), path) == whole, name


def test_pictures_are_the_same_on_spark_which_is_asked_for_no_more_than_is_drawn(
    spark_place: SparkAddress,
) -> None:
    path = FIXTURES / CAPTURES[0]
    cuts = {str(path): [2_000, 9_999, 20_001]}
    options = Options(engine="spark", place=spark_place, cuts=cuts, lanes=3)
    assert drawn(options, path) == drawn(Options(engine="direct"), path)
