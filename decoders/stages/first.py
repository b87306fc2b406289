"""A piece of a capture in, its events and its account out (decoders/README.md 1, 2, 3,
replay/README.md 5).

``decode_piece`` is the whole first stage for one piece; ``reassemble`` (of ``reassembly``) is the
second. Neither knows Spark: they run in a worker and in the direct engine alike.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.capture.reader import STDIN, Reader, Records
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.contract.networks import Chosen
from seqaudit.decoders.kernels.loader import COMPILE_FROM_RECORDS, Int64s
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import Account
from seqaudit.decoders.network.account_rows import PieceAccount
from seqaudit.decoders.network.checksums import ChecksumCheck
from seqaudit.decoders.network.fragment_rows import (
    prints_batch,
    prints_in,
    segment_batch,
)
from seqaudit.decoders.network.networks import NetworksSeen, OfNetworks
from seqaudit.decoders.network.order import PieceOrder
from seqaudit.decoders.network.overlap import AHEAD_BYTES, every_row, in_order
from seqaudit.decoders.network.packets import PacketReader, Packets
from seqaudit.decoders.network.refusals import refused
from seqaudit.decoders.network.tick import TimeTick
from seqaudit.decoders.stages.fragments import Assembler
from seqaudit.decoders.stages.registry import DecodeSettings, Dispatcher, stream_systems
from seqaudit.decoders.stages.second import reassemble
from seqaudit.decoders.stages.tcp import Sniffer, TcpAssembler
from seqaudit.decoders.tcp.first_look import FirstLook
from seqaudit.decoders.tcp.segments import LEFT, SegmentFinder, Segments, segment_rows

if TYPE_CHECKING:
    from seqaudit.decoders.feeds.carriers import OverEthernet, OverIp

__all__ = ["decode_piece", "reassemble", "wants_compiled"]

BYTES_PER_RECORD = 100  # a small packet with its record header
_NO_ROWS: Final = np.zeros(0, np.int64)
COMPRESSION = 4  # what a capture shrinks by, roughly


def decode_piece(
    piece: Piece, settings: DecodeSettings, stream: BinaryIO | None = None
) -> Iterator[pa.RecordBatch]:
    """EVENTS rows of a piece and one ACCOUNT row; IP fragments and TCP segments as SEGMENT rows.

    Where ``settings.finish_fragments`` and the piece is the whole file, they are put together here,
    and their frames have ACCOUNT rows of their own as in the second stage.

    Args:
        stream: the bytes, for the piece of standard input.

    Raises:
        CaptureError: the file cannot be read at all, or has changed since it was planned.
    """
    compile_it = wants_compiled(piece, settings)
    order, tick = PieceOrder(), TimeTick()
    overlaps = piece.path == STDIN or piece.capture in settings.unordered
    reader = Reader(
        piece,
        compile_it,
        prime_bytes=k.WINDOW_BYTES,
        ahead_bytes=AHEAD_BYTES if overlaps and not piece.whole else 0,
        stream=stream,
    )
    checksums = ChecksumCheck(settings.damaged_of(piece.capture))
    packet_reader = PacketReader(
        piece.capture, piece.split, compile_it=compile_it, carriers=settings.feed_carriers
    )
    dispatcher = Dispatcher(settings)
    account = Account(piece.capture, piece.split, dispatcher.systems)
    streams = _PieceSegments(piece, settings, account, compile_it=compile_it)
    of_file = partial(Assembler, settings, compile_it=compile_it, nobodys=streams.refuses)
    assembler = of_file() if settings.finish_fragments and piece.whole else None
    carriers = _carriers(settings, account)
    seen, chosen = NetworksSeen(), None
    if (networks := settings.chosen_of(piece.capture)).networks:
        chosen = OfNetworks(networks, compile_it=compile_it, carriers=settings.feed_carriers)
    near = partial(_neighbours, networks=networks, settings=settings, compile_it=compile_it)
    before = near(piece.before, at=-sum(p.size_bytes for p in piece.before))
    recall = partial(_recall, piece, settings, dispatcher, compile_it=compile_it)
    if overlaps:
        own = every_row(reader) if chosen is None else chosen.rows(reader)
        ordered = in_order(chain(before, own, near(piece.behind, at=piece.size_bytes)), order)
    else:
        for primes, rows in before:
            _have_in_mind(packet_reader, primes.only(rows), recall)
        ordered = _until_torn(reader if chosen is None else chosen.of(reader), order, piece.whole)
    for records in ordered:
        tick.takes(records)
        recall(records)
        for found in packet_reader.read(records):
            packets = checksums.judged(packet_reader, found)
            batches, claimed = dispatcher.decode(packets.datagrams)
            yield from batches
            account.add(packets, claimed, fragments=chosen is None)
            checksums.note(packets, claimed)
            yield from dispatcher.refused(refused(packets))
            for carrier in () if packets.only_datagrams else carriers:
                yield from carrier.feed(packets)
            yield from streams.feed(packets)
            if packets.networked:
                seen.captured(packets, claimed, streams.rows)
            yield from _fragments(packets, settings, assembler)
    yield from dispatcher.finish()
    for carrier in carriers:
        yield from carrier.decoder.finish()
    if assembler is not None:
        yield from assembler.finish()
    yield from streams.finish()
    account.name_links(packet_reader.unknown_links)
    facts = _reader_account(piece, reader, order, tick)
    streams.add_to(facts)
    checksums.add_to(account.senders)
    if tunnels := packet_reader.tunnels():
        facts["tunnels"] = tunnels
    if chosen is not None:
        facts["numbered"] = chosen.numbered
    elif evidence := seen.rows():
        facts["networks"] = evidence
    yield account.row(facts, [*dispatcher.accounts(), *(one.decoder.account() for one in carriers)])


def _fragments(
    packets: Packets, settings: DecodeSettings, assembler: Assembler | None
) -> Iterator[pa.RecordBatch]:
    """What becomes of IP fragments where they are put together; else their rows. With what other
    datagrams are known by, where these may have come in fragments as well."""
    prints = None
    if packets.datagrams.capture in settings.tunnelled:
        prints = prints_in(packets)
    if assembler is not None:
        yield from assembler.feed_piece(packets, prints)
        return
    if prints is not None:
        yield prints_batch(prints)
    if len(packets.fragments):
        yield segment_batch(packets, settings)


def _until_torn(chunks: Iterable[Records], order: PieceOrder, whole: bool) -> Iterator[Records]:
    """Chunks, each in the order of its times. A whole file of which a border is torn is decoded
    again anyway, so it ends there."""
    for records in map(order.arranged, chunks):
        if whole and order.torn:
            return
        yield records


def _carriers(settings: DecodeSettings, account: Account) -> list[OverIp | OverEthernet]:
    if not settings.feeds:
        return []
    from seqaudit.decoders.feeds.carriers import carriers_of

    return carriers_of(settings, account)


def _neighbours(
    pieces: Sequence[Piece],
    *,
    at: int,
    networks: Chosen,
    settings: DecodeSettings,
    compile_it: bool,
) -> Iterator[tuple[Records, Int64s]]:
    """The packets of files before or behind a piece, the first of which begins ``at`` so many
    bytes from its own, and which rows of them are of its networks: a datagram that came twice may
    have come first there."""
    of_networks = None
    if networks.networks:
        of_networks = OfNetworks(networks, compile_it=compile_it, carriers=settings.feed_carriers)
    for piece in pieces:
        with contextlib.suppress(CaptureError):  # its own account says what is wrong with it
            records = Reader(piece, compile_it)
            taken = every_row(records) if of_networks is None else of_networks.rows(records)
            for own, rows in taken:
                frames = np.zeros(own.count, np.int64)
                yield replace(own, section=0, frame=frames, offset=own.offset + at), rows
        at += piece.size_bytes


def _have_in_mind(
    packet_reader: PacketReader, primes: Records, recall: Callable[[Records], None]
) -> None:
    for _ in packet_reader.read(primes) if primes.count else ():
        pass
    recall(primes)


def _recall(
    piece: Piece, settings: DecodeSettings, dispatcher: Dispatcher, records: Records, *,
    compile_it: bool,
) -> None:  # fmt: skip
    """Tell the decoders what came just before a piece, wherever it was cut."""
    if records.frame.all() or not dispatcher.recalls_ns:
        return
    primes = records.taken(np.flatnonzero(records.frame == 0))
    last = np.flatnonzero(primes.at_ns >= primes.at_ns.max() - dispatcher.recalls_ns)
    told = replace(primes.taken(last), frame=np.arange(1, len(last) + 1))
    carriers = settings.feed_carriers
    reader = PacketReader(piece.capture, piece.split, compile_it=compile_it, carriers=carriers)
    for packets in reader.read(told):
        dispatcher.before(packets.datagrams)


class _PieceSegments:
    """The TCP segments of a piece: decoded here where it is the whole file, else shipped.

    Attributes:
        rows: of the packets that came last, segments that are not plainly of others.
    """

    def __init__(
        self, piece: Piece, settings: DecodeSettings, account: Account, *, compile_it: bool
    ) -> None:
        systems = stream_systems(settings)
        self.rows = _NO_ROWS
        self._account = account
        self._finder = SegmentFinder()
        self._rows = partial(segment_rows, fragmented=settings.fragmented)
        self._assembler: TcpAssembler | None = None
        self._sniffer: Sniffer | None = None
        if not set(systems) - settings.no_decode:
            return
        if settings.finish_fragments and piece.whole:
            self._assembler = TcpAssembler(
                settings, systems, compile_it=compile_it, finder=self._finder
            )
        else:
            self._sniffer = Sniffer(settings, systems, account, self._finder)
        self._look = FirstLook(
            settings,
            systems,
            account,
            self._finder,
            whole=self._sniffer is None,
            compile_it=compile_it,
        )

    def feed(self, packets: Packets) -> Iterator[pa.RecordBatch]:
        if self._assembler is None and self._sniffer is None:
            return
        if self._finder.forgets(packets):
            yield from self._follow(self._look.renumbered())
        self.rows = _NO_ROWS
        found = self._finder.find(packets)
        if found is None:
            return
        segments, rows = found
        followed, refused = self._look.feed(packets, segments, rows)
        self.rows = rows[self._finder.states[segments.flow] < LEFT]
        if self._sniffer is not None:
            self._sniffer.refused(refused)
        yield from self._follow(followed)

    def finish(self) -> Iterator[pa.RecordBatch]:
        if self._assembler is None and self._sniffer is None:
            return
        followed, refused = self._look.finish()
        if self._sniffer is not None:
            self._sniffer.refused(refused)
        yield from self._follow(followed)
        if self._assembler is not None:
            yield from self._assembler.finish()
        elif self._sniffer is not None:
            yield from map(self._rows, self._sniffer.finish())

    def refuses(self, carrier: str) -> bool:
        """Whether the first bytes of a connection are nobody's."""
        return self._finder.refused(carrier)

    def _follow(self, followed: Sequence[Segments]) -> Iterator[pa.RecordBatch]:
        for segments in followed:
            if self._assembler is not None:
                yield from self._assembler.feed(segments)
            elif self._sniffer is not None:
                yield from map(self._rows, self._sniffer.feed(segments))

    def add_to(self, facts: PieceAccount) -> None:
        """What was shipped; nothing, where all is decoded here."""
        if self._sniffer is not None:
            facts["shipped"] = self._sniffer.facts()


def wants_compiled(piece: Piece, settings: DecodeSettings) -> bool:
    """Whether the kernels are compiled for this piece (pipeline/README.md 2)."""
    if settings.compile_it is not None:
        return settings.compile_it
    if piece.size_bytes < 0:  # standard input: nobody knows
        return True
    size = piece.size_bytes * COMPRESSION if piece.compression else piece.stop - piece.start
    return size // BYTES_PER_RECORD >= COMPILE_FROM_RECORDS


def _reader_account(
    piece: Piece, reader: Reader, order: PieceOrder, tick: TimeTick
) -> PieceAccount:
    return {
        "piece": piece.split,
        "begin": reader.begin,
        "landing": reader.landing,
        "begin_state": reader.begin_state,
        "landing_state": reader.landing_state,
        "skipped": reader.skipped,
        "skipped_more": reader.skipped_more,
        "cut": reader.cut,
        "problem": reader.problem,
        "untimed": reader.untimed,
        "interfaces": reader.interfaces,
        "interfaces_more": reader.interfaces_more,
        "comments": reader.comments,
        "comment_texts": reader.comment_texts,
        "order": order.account(),
        "tick": tick.account(),
    }
