"""Loss notices: those of peers, and those that the observed daemon sends (raims.md 10.3)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests
from seqaudit.replay.contract.worth import END, LIKELY, UNDECIDABLE, Claim, absence
from seqaudit.replay.raims import notices as raims_notices
from seqaudit.replay.raims import own_words
from seqaudit.replay.raims.notices import Notice
from seqaudit.replay.raims.observer import Observer
from seqaudit.replay.raims.reporting import About, RaimsReporter
from seqaudit.replay.raims.seqno import key

_BEHIND: Final = "they are behind what this capture holds of it."
_CAME: Final = "the message before came to its host, and may have been dropped inside."
_INSIDE: Final = "packets that had arrived were dropped inside its host (PG009)."


def findings(report: RaimsReporter) -> Iterator[Finding]:
    seen: set[tuple[object, ...]] = set()
    own = {observer.bridge for observer in report.engine.observers}
    for notice in report.engine.notices:
        same = (notice.receiver, notice.publisher, notice.subject, notice.seqno, notice.total)
        if notice.receiver in own or same in seen:
            continue
        seen.add(same)
        yield report.say(
            About("", notice.publisher or ""), "RA011",
            "{reporter_member} reports {count:lost message} of {sender_member} on {subject}, "
            "{total} in all.",
            {
                "reporter_member": notice.receiver,
                "count": "an unknown number of" if notice.restart else notice.count,
                "subject": notice.subject,
                "total": notice.total,
            },
            notice.mark, evidence=[(notice.mark, "the loss notice")],
        )  # fmt: skip
    more = report.engine.state.more_notices
    if more:
        last = report.engine.notices[-1].mark
        yield report.say(
            About("", ""), "RA011",
            "{count:loss notice} behind the last one listed {count|is|are} not told one by one.",
            {"count": more}, last, evidence=[(last, "the last that is listed")],
        )  # fmt: skip
    for observer in report.engine.observers if report.known else ():
        report.observer = observer
        yield from _own_notices(report, observer)


def _own_notices(report: RaimsReporter, observer: Observer) -> Iterator[Finding]:
    """What the observer told its peers beside what it must have told them (raims.md 10.3)."""
    own = [n for n in report.engine.notices if n.receiver == observer.bridge]
    whole = own_words.is_whole(report.engine.state, observer) is None
    told: dict[str | None, Notice] = {}
    for notice in own:
        about = About("", notice.publisher or "")
        due = observer.notices.of(notice)
        how = None if due is None else raims_notices.wrong(notice, due)
        taken = due is None and own_words.is_told(observer, notice)  # said where losses are
        if due is None and not taken and not observer.notices.unlisted:
            how = "a loss that the replay does not have"
        if how is not None and whole:
            yield report.say(
                about, "RA012",
                "This daemon tells {sender_member} of {how}, on {subject}: the notice is wrong, or "
                "not all that came to its host was read by then.",
                {"how": how, "subject": notice.subject}, notice.mark, UNDECIDABLE,
                [(notice.mark, "the loss notice")],
            )  # fmt: skip
        elif due is None and not taken:
            yield report.say(
                about, "RA001",
                "This daemon counted {count:lost message} of {sender_member} on {subject}; "
                + _why(report, observer, notice),
                {
                    "count": "an unknown number of" if notice.restart else notice.count,
                    "subject": notice.subject,
                },
                notice.mark, LIKELY, [(notice.mark, "the loss notice")],
            )  # fmt: skip
        before = told.get(notice.publisher)
        told[notice.publisher] = notice
        if before is None or before.seqno == notice.seqno:
            continue
        if 0 <= notice.mark.at_ns - before.mark.at_ns < raims_notices.THROTTLED_NS:
            yield report.say(
                about, "RA028",
                "This daemon tells {sender_member} of a loss on {subject} within 10 s of the "
                "notice before.",
                {"subject": notice.subject}, notice.mark,
                Claim(Certainty.LIKELY, Rests(timed=True)),
                [(before.mark, "the notice before"), (notice.mark, "this one")],
            )  # fmt: skip
    for due in () if report.engine.state.more_notices else observer.notices.missing(own):
        yield from _untold(report, observer, due, whole=whole)


def _why(report: RaimsReporter, observer: Observer, notice: Notice) -> str:
    """Why the capture does not show a loss that the daemon tells of."""
    if report.engine.links.dropped_inside:
        return _INSIDE
    stream = observer.streams.get((notice.publisher or "", notice.subject or ""))
    number = 0 if notice.seqno is None else key(notice.seqno)
    return _CAME if stream is not None and number - 1 in stream.seen else _BEHIND


def _untold(
    report: RaimsReporter, observer: Observer, due: raims_notices.Due, *, whole: bool
) -> Iterator[Finding]:
    """RA027: a loss that is one, and all that was said to its publisher afterwards."""
    stream = observer.streams.get((due.publisher, due.subject))
    losses = [] if stream is None else [x for x in stream.truth.losses if x.before == due.seqno]
    span = own_words.inbox_span(report.engine.state, observer, due.publisher, due.mark.at_ns)
    if (
        stream is None
        or not losses
        or report.sure(losses[0])[0] is not Certainty.PROVEN
        or span is None
    ):
        return
    peer = observer.peers.get(due.publisher)
    if report.engine.links.dropped_inside or (peer is not None and peer.told_more):
        return  # it may have told of another loss just before
    if report.stands(stream, due.mark.frame) or report.unsure_of_taking(stream, observer):
        return  # it may have taken nothing of it there, and counted nothing
    # a loss before it that no packet shows has it wait for 10 s
    claim = replace(absence(due.mark.frame, END if span.mark is None else span.mark.frame,
                            certified=whole, timed=True), best=Certainty.LIKELY)  # fmt: skip
    yield report.say(
        About("", due.publisher), "RA027",
        "This daemon never tells {sender_member} of a loss on {subject}.",
        {"subject": due.subject}, due.mark, claim,
        [(due.mark, "the message behind the loss"),
         *([] if span.mark is None else [(span.mark, f"no notice {span.says}")])],
    )  # fmt: skip
