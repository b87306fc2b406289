"""The gaps of one stream that have closed: the first of them are kept, all are counted."""

from seqaudit.replay.sequence.gaps import MAX_KEPT_GAPS, Gap


class KeptGaps:
    """See the module.

    Attributes:
        gaps: those that are kept.
        unlisted_gaps: so many were not.
        gap_count: all.
    """

    def __init__(self) -> None:
        self.gaps: list[Gap] = []
        self.unlisted_gaps = 0
        self.gap_count = 0

    def _closed(self, gap: Gap) -> None:
        self.gap_count += 1
        if len(self.gaps) < MAX_KEPT_GAPS:
            self.gaps.append(gap)
        else:
            self.unlisted_gaps += 1
