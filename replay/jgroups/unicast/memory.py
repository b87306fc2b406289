"""What a sender keeps because its peer has not acknowledged it (UNICAST3 document, "Design")."""

from collections import deque
from typing import NamedTuple

from seqaudit.replay.jgroups.report_rows import UnacknowledgedRow
from seqaudit.replay.sequence.fills import Fill
from seqaudit.replay.sequence.gaps import Mark


class UnackedBuffer(NamedTuple):
    """Unacknowledged messages at one moment."""

    messages: int
    bytes: int
    at: Mark | None


class Memory:
    """The messages of one connection that its sender still has, as the capture shows them.

    Attributes:
        most: when it kept most bytes.
        now: what it keeps now.
        fill: how many messages it kept over time.
    """

    __slots__ = ("_runs", "fill", "most", "now")

    def __init__(self) -> None:
        self._runs: deque[tuple[int, int, int]] = deque()  # first, stop, bytes; ascending
        self.now = self.most = UnackedBuffer(0, 0, None)
        self.fill = Fill()

    def sent(self, first: int, stop: int, size: int, begin: Mark, mark: Mark) -> None:
        """[first, stop) of so many bytes went out for the first time, from ``begin`` on."""
        self.fill.set(begin.at_ns, self.now.messages + 1)
        self._runs.append((first, stop, size))
        self.now = UnackedBuffer(self.now.messages + stop - first, self.now.bytes + size, mark)
        self.fill.set(mark.at_ns, self.now.messages)
        if self.now.bytes > self.most.bytes:
            self.most = self.now

    def acked(self, level: int, mark: Mark) -> None:
        """Everything up to ``level`` is purged; of a run that is cut, an even share."""
        messages, size = self.now.messages, self.now.bytes
        while self._runs and self._runs[0][0] <= level:
            first, stop, of_run = self._runs.popleft()
            gone = min(stop, level + 1) - first
            share = of_run * gone // (stop - first)
            messages, size = messages - gone, size - share
            if first + gone < stop:
                self._runs.appendleft((first + gone, stop, of_run - share))
        self.now = UnackedBuffer(messages, size, mark)
        self.fill.set(mark.at_ns, messages)

    def row(self) -> UnacknowledgedRow:
        """As the report's stream shows it."""
        at = self.most.at
        return {
            "most_messages": self.most.messages,
            "most_bytes": self.most.bytes,
            "most_frame": None if at is None else at.frame,
            "most_at_ns": None if at is None else at.at_ns,
            "last_messages": self.now.messages,
            "last_bytes": self.now.bytes,
        }
