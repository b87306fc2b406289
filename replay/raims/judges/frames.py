"""What publishers number wrongly, and time frames that nothing explains (raims.md 7, 8)."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding
from seqaudit.replay.contract.reporter import MAX_EVIDENCE
from seqaudit.replay.contract.worth import LIKELY, SHOWN, Claim
from seqaudit.replay.raims.peer_clock import SKEW_NS
from seqaudit.replay.raims.publisher import BeganBy
from seqaudit.replay.raims.reporting import CLOCKS, SECOND_NS, About, RaimsReporter
from seqaudit.replay.raims.seqno import (
    FRAME_NS,
    frame_of,
    frame_of_time,
    shown,
    shown_time,
    start_of,
)
from seqaudit.replay.raims.streams import RaimsStream

#: Parameters that say when a publisher forgets a subject.
PUB_WINDOW: Final = ("pub_window_size", "pub_window_count", "pub_window_time_ms")


def findings(report: RaimsReporter, stream: RaimsStream, about: About) -> Iterator[Finding]:
    if stream.zero:
        yield report.make(
            about, "RA006", SHOWN,
            "{count:message} of {sender_member} on this subject carry seqno 0.",
            mark=stream.zero_marks[0],
            evidence=[(mark, "seqno 0") for mark in stream.zero_marks[:MAX_EVIDENCE]],
            facts={"count": stream.zero},
        )  # fmt: skip
    skew = report.skew(stream.publisher)
    before = None
    for begin in stream.begins:
        began, at_ns = begin.time_ns, begin.mark.at_ns
        if began is not None and frame_of_time(began) != frame_of(begin.seqno):
            yield report.make(
                about, "RA015", Certainty.PROVEN,
                "The frame of {shown} begins with a message of {time}.",
                mark=begin.mark, evidence=[(begin.mark, f"{shown(begin.seqno)} begins it")],
                facts={"shown": shown(begin.seqno), "time": shown_time(began)},
            )  # fmt: skip
        if start_of(begin.seqno) > at_ns + SKEW_NS and not report.clock_off:
            yield report.make(
                about, "RA018", CLOCKS,
                "The frame of {shown} begins {late} s after it was captured.",
                mark=begin.mark, evidence=[(begin.mark, f"{shown(begin.seqno)} begins it")],
                facts={
                    "shown": shown(begin.seqno),
                    "late": f"{(start_of(begin.seqno) - at_ns) / SECOND_NS:.1f}",
                },
            )  # fmt: skip
        if (
            before is not None
            and began is not None
            and frame_of(begin.seqno) > frame_of(before.seqno)
            and began - start_of(before.seqno) < FRAME_NS
        ):
            yield report.make(
                about, "RA017", Certainty.PROVEN,
                "The frame of {other} began {apart} s after the start of {one}.",
                mark=begin.mark,
                evidence=[(before.mark, "the first of them")],
                facts={
                    "one": shown(before.seqno), "other": shown(begin.seqno),
                    "apart": f"{(began - start_of(before.seqno)) / SECOND_NS:.3f}",
                },
            )  # fmt: skip
        before = begin
    if stream.again:
        seqno, mark = stream.again[0]
        yield report.make(
            about, "RA017", Certainty.PROVEN,
            "{count:time frame} of {sender_member} began a second time, the first at {one}: "
            "receivers take what follows for repeats.",
            mark=mark, evidence=[(m, shown(s)) for s, m in stream.again[:MAX_EVIDENCE]],
            facts={"count": len(stream.again), "one": shown(seqno)},
        )  # fmt: skip
    if skew is None:
        yield from _odd(report, stream, about)


def _odd(report: RaimsReporter, stream: RaimsStream, about: About) -> Iterator[Finding]:
    """RA020: frames that the publisher's window does not explain.

    What a message's own numbers and time say of pub_window_time is held against the one that is
    given; where none is, it is enough that there is one which explains all that is captured.
    """
    given = report.parameters.is_given("pub_window_time_ms")
    publisher = report.engine.publishers.get(stream.publisher)
    learned = not given and publisher is not None and publisher.one_time_fits
    unsaid = tuple(name for name in PUB_WINDOW if not report.parameters.is_given(name))
    sized = Claim(
        Certainty.LIKELY, defaults=unsaid,
        why=f"raims.{unsaid[0]} is not given: judged by its default" if unsaid else "",
    )  # fmt: skip
    for why, by_age, text in (
        (BeganBy.UNEXPLAINED, True, "{count:time frame} of {sender_member} followed on one that "
         "is younger than pub-window-time."),
        (BeganBy.UNEXPLAINED, False, "{count:time frame} of {sender_member} began for no reason "
         "that the window gives."),
        (BeganBy.OVERDUE, True, "{count:message} of {sender_member} went on in a frame that is "
         "older than pub-window-time."),
    ):  # fmt: skip
        odd = [one for one in stream.odd if (one.why, one.by_age) == (why, by_age)]
        if odd and not (by_age and learned):
            yield report.make(
                about, "RA020", SHOWN if by_age and given else LIKELY if by_age else sized, text,
                mark=odd[0].mark,
                evidence=[(one.mark, shown(one.seqno)) for one in odd[:MAX_EVIDENCE]],
                facts={"count": stream.unexplained[why, by_age]},
                default="pub_window_time_ms" if by_age else None,
            )  # fmt: skip
