"""What makes findings of a cluster's unicasts: what all of them need (replay/README.md 3, 5)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.finding import Finding
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, listed
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    LIKELY,
    SHOWN,
    Claim,
    Doubt,
    Span,
    absence,
)
from seqaudit.replay.jgroups.findings import WindowReporter
from seqaudit.replay.jgroups.repeats import RepeatedRequest
from seqaudit.replay.jgroups.report_rows import SentRow
from seqaudit.replay.jgroups.unicast.engine import Pair, UnicastEngine
from seqaudit.replay.jgroups.unicast.rule_sets import Release
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.notes import Note, Times


class UnicastReporter(WindowReporter[Stream]):
    """Makes the results of one cluster's unicasts in one capture."""

    def __init__(self, engine: UnicastEngine, capture: int) -> None:
        systems = {stream.system for _, stream in engine.streams()}
        system = min(systems) if systems else "unicast3"
        super().__init__(capture, engine.conversation, engine.parameters, system, engine.holes)
        self.engine = engine
        self.holes = [
            (member, hole)
            for member, stamps in sorted(engine.stamps.items())
            for hole in stamps.holes
        ]
        for _, hole in self.holes:  # where own frames are missing, others may be as well
            lost = hole.stamps[1] - hole.stamps[0]
            why = f"{lost} ACK or SEND_FIRST_SEQNO of this member not captured here"
            self.worth.add(Span(Doubt.HOLE, hole.before.frame, hole.after.frame, why, count=lost))
        self._ordered: Pair | None = None  # whose connections ``_earlier`` is of
        self._earlier: dict[str, Stream] = {}
        self.release = Release.of(engine.members.versions.get(engine.members.local or ""))

    def receiver_of(self, stream: Stream) -> str | None:
        return stream.receiver

    def storm(
        self, stream: Stream, close: list[tuple[Mark, Mark]], count: int, claim: Claim,
        would: Mapping[str, SentRow] | None,
    ) -> Finding:  # fmt: skip
        text = (
            "{times} SEND_FIRST_SEQNO of {receiver_member} to {sender_member} came sooner than "
            "{interval} ms ({origin}) after the one before"
        )
        facts: dict[str, object] = {"times": count} | self.sync_interval()
        if not self.release.throttled:
            text += "; this release has no minimum (JGRP-1874)"
        if would is not None:
            text += ";" + WOULD
            facts |= would_have(would)
        return self.make(
            stream, "UC013", self.given("sync_min_interval_ms", claim), text + ".",
            mark=close[0][1],
            evidence=[(second, "SEND_FIRST_SEQNO") for _, second in close[:MAX_EVIDENCE]],
            facts=facts, default="sync_min_interval_ms",
        )  # fmt: skip

    @staticmethod
    def since(noticed: Note | Times) -> Claim:
        """A claim that something did not come after what was noticed first."""
        return absence(noticed.marks[0].frame if noticed.marks else BEGINNING, END)

    def given(self, name: str, claim: Claim = SHOWN) -> Claim:
        """A claim that rests on a parameter: not proven by its default."""
        return claim if self.parameters.is_given(name) else LIKELY

    def sync_interval(self) -> dict[str, object]:
        return {
            "interval": self.parameters.value("sync_min_interval_ms"),
            "origin": self.parameters.origin("sync_min_interval_ms"),
        }

    def repeated(
        self,
        stream: Stream,
        rule: str,
        repeat: RepeatedRequest,
        claim: Claim,
        text: str,
        behind: int,
    ) -> Finding:
        """Asked for again and again.

        Args:
            behind: how many messages wait for these.
        """
        if behind:
            text += "; {behind:message} behind {count|it|them} cannot be delivered in order"
        return self.make(
            stream, rule, claim, text + ".",
            seqnos=listed(repeat.ranges), mark=repeat.first,
            evidence=[(repeat.first, "the first request"), (repeat.last, "the last request")],
            facts={
                "count": repeat.ranges.total(),
                "requests": repeat.requests,
                "behind": behind,
            },
        )  # fmt: skip


#: How many SEND_FIRST_SEQNO each rule set would have sent (JGRP-1874); facts of ``_would``.
WOULD: Final = (
    " the shipped rules would have sent {code}, the documents' {document}, the UNICAST3 document's "
    "alone {before_sync}"
)


def would_have(row: Mapping[str, SentRow]) -> dict[str, int]:
    return {
        name.replace("document-", "").replace("-", "_"): counts["syncs"]
        for name, counts in row.items()
    }
