"""Captures as the report has them, what is found about each, and what each is worth."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import cast

from seqaudit.decoders.network.account_rows import PieceAccount
from seqaudit.decoders.network.tunnels import Tunnels
from seqaudit.pipeline.report.accounts import frames_of_splits, merge
from seqaudit.pipeline.report.names import Names
from seqaudit.pipeline.report.packed_rows import PackedRows
from seqaudit.pipeline.shared.plan import File
from seqaudit.replay.captures import findings as capture_rules
from seqaudit.replay.captures.doubts import dropped_by, spans_of, unread
from seqaudit.replay.captures.untold import untold
from seqaudit.replay.contract.capture_rows import CaptureFigures, CaptureRow, MergedAccount
from seqaudit.replay.contract.engine import Extent
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.results import ResultRow, Row
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.contract.wall import Wall
from seqaudit.replay.contract.worth import MISSING, Worth


class CaptureAccounts:
    """Accounts of pieces, brought together a capture at a time.

    Attributes:
        frames: of each split.
        extents: first and last time of each capture.
        moved: see ``FrameNumbers``.
        worth: of captures with stretches of doubt; holes: what tells that they lack something.
        unread: what tells that they hold packets that were not read to their end.
        findings: details of findings about captures, in their order.
        tunnels: by which packets came, of captures that have some.
        untold: why nobody can tell the figures of receivers, by capture.
    """

    def __init__(
        self, files: Sequence[Sequence[File]], vantages: Sequence[Vantage], wall: Wall
    ) -> None:
        self._files = files
        self._vantages = vantages
        self._wall = wall
        self.frames: dict[int, int] = {}
        self.extents: list[Extent] = []
        self.moved: dict[int, int] = {}
        self.worth: dict[int, Worth] = {}
        self.holes: dict[int, str] = {}
        self.unread: dict[int, str] = {}
        self.tunnels: dict[int, Tunnels] = {}
        self.untold: dict[int, str] = {}
        self._findings: PackedRows[PlacedFinding] = PackedRows()

    @property
    def findings(self) -> Sequence[PlacedFinding]:
        return self._findings.rows()

    def merged(self, rows: Iterable[ResultRow[Row]]) -> Iterator[CaptureFigures]:
        """The figures of each capture, from ACCOUNT rows by capture."""
        groups = groupby(rows, key=lambda row: int(row["capture"]))
        at, own = next(groups, (-1, iter(())))
        for number, files in enumerate(self._files):
            pieces: list[PieceAccount] = []
            if at == number:
                pieces = [cast(PieceAccount, row["detail"]) for row in own]
                at, own = next(groups, (-1, iter(())))
            self.frames |= frames_of_splits(pieces)
            account = merge(pieces, files)
            self.extents.append((account.figures["first_ns"], account.figures["last_ns"]))
            self.moved |= account.order["moved"]
            doubts = spans_of(account, self._vantages[number])
            if doubts:
                self.worth[number] = Worth(doubts)
            if why := untold(account):
                self.untold[number] = why
            if lacking := [span.why for span in doubts if span.doubt in MISSING]:
                self.holes[number] = lacking[0]
            if not_read := unread(account):
                self.unread[number] = not_read
            if tunnelled := [ends for piece in pieces if (ends := piece.get("tunnelled"))]:
                self.tunnels[number] = Tunnels(tunnelled)
            judged = self._wall.part("the capture itself", _judged, number, account, capture=number)
            for detail in judged or []:
                self._findings.append(detail)
            yield account.figures


def _judged(capture: int, account: MergedAccount) -> list[PlacedFinding]:
    return list(capture_rules.judge(capture, account))


def capture_row(
    number: int, figures: CaptureFigures, files: Sequence[File], vantage: Vantage, called: Names
) -> CaptureRow:
    member = called.member_at(number, vantage.address)
    formats = sorted({file.container for file in files})
    compressions = sorted({file.compression for file in files if file.compression})
    return {
        **figures,
        "capture": number,
        "format": "+".join(formats),
        "compression": "+".join(compressions) or None,
        "vantage": {
            "kind": vantage.kind,
            "address": vantage.address,
            "member": member,
            "name": called.of(member),
            "origin": vantage.origin,
            "why": vantage.why,
        },
        "drops": dict(dropped_by(figures["interfaces"])) or None,
    }
