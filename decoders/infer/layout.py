"""What ``infer`` takes and answers: samples, fields, layouts with their evidence
(decoders/README.md 5)."""

from dataclasses import dataclass, replace
from typing import Final

from seqaudit.decoders.infer.number import Bytes, NumberEvidence, Order
from seqaudit.decoders.kernels.loader import Int64s

#: Bytes of a datagram that are looked at.
HEAD_BYTES: Final = 128


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of what went to one destination, in the order of the capture.

    Attributes:
        heads: (n, HEAD_BYTES), zero where a datagram ends. lengths: (n,) captured payload bytes.
        at_ns: (n,). source, source_port: (n,), sources by number.
    """

    heads: Bytes
    lengths: Int64s
    at_ns: Int64s
    source: Int64s
    source_port: Int64s


@dataclass(frozen=True, slots=True)
class FieldAt:
    """Where a field lies in the UDP payload; ``order`` is null for one byte and for text."""

    offset: int
    width: int
    order: Order | None
    text: bool = False

    @property
    def stop(self) -> int:
        return self.offset + self.width


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """Datagrams that take no number, known by the value of a field.

    ``says``: whether they state the next number or the last one. null: it is not told what they
    are, and they are to be ignored.
    """

    value: int
    datagrams: int
    says: str | None


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to read the datagrams as numbered ones, and what speaks for it.

    Attributes:
        number: the field. proven: of its bytes, those that are the number's by carries seen;
            ``wraps``: the number was seen to wrap at this width, so it is no wider.
        count: how many numbers a datagram takes; null: one.
        stream: what tells streams apart beside the destination: source, source_port, or "key" for
            the field ``key``.
        kind: the field whose values tell ``heartbeats`` from data; null: none is needed, or the
            count does.
        ends: datagrams whose count is all ones: an end of session.
        ties: other readings that explain the same datagrams just as well.
        notes: what lowers the confidence, in sentences.
    """

    number: FieldAt
    proven: int
    wraps: bool
    evidence: NumberEvidence
    count: FieldAt | None = None
    stream: tuple[str, ...] = ()
    streams: int = 1
    key: FieldAt | None = None
    kind: FieldAt | None = None
    heartbeats: tuple[Heartbeats, ...] = ()
    ends: int = 0
    ties: tuple[FieldAt, ...] = ()
    notes: tuple[str, ...] = ()
    quality: float = 0.0

    @property
    def moving(self) -> FieldAt:
        """The bytes of the number that were seen to move, or to carry."""
        width = min(max(self.proven, 1), self.number.width)
        first = self.number.stop - width if self.number.order == "big" else self.number.offset
        return replace(self.number, offset=first, width=width)

    @property
    def confidence(self) -> str:
        """high, medium or low: by the datagrams that follow, and what is doubtful."""
        evidence = self.evidence
        steady = evidence.unexplained <= 0.001 * evidence.steps and self.quality >= 0.5
        if self.notes or evidence.following < 64:
            return "low"
        return "high" if steady and evidence.following >= 256 else "medium"


@dataclass(frozen=True, slots=True)
class Answer:
    """Layouts, best first; none: ``reason`` says why."""

    layouts: tuple[Layout, ...]
    reason: str
    examined: int  # datagrams that reach ``depth``
    depth: int  # bytes examined
