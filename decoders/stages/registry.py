"""Which decoders there are, and how a datagram finds the one that claims it (CONTRIBUTING.md 2,
replay/README.md 6).

A system is one line, ``register``. ``Dispatcher`` offers datagrams to the decoders in the order of
these lines; the first to claim one has it. ``--decode-as`` and ``--no-decode`` overrule
recognition: a forced datagram is seen by its decoder alone and is malformed if that refuses it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import distinct
from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.contract.settings import FEED, DecodeSettings
from seqaudit.decoders.contract.zenoh_detail import CROWD_NS
from seqaudit.decoders.jgroups.datagrams import JGroupsDecoder
from seqaudit.decoders.jgroups.tcp import JGroupsStreams
from seqaudit.decoders.kernels.loader import Int64s, is_kept
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.raims.datagrams import RaimsDecoder
from seqaudit.decoders.raims.pgm import PgmDecoder
from seqaudit.decoders.raims.rv_tcp import RvStreams
from seqaudit.decoders.raims.tcp import RaimsStreams
from seqaudit.decoders.tcp.framing import StreamSystem
from seqaudit.decoders.zenoh import messages as zenoh_messages
from seqaudit.decoders.zenoh.batches import ZenohDecoder
from seqaudit.decoders.zenoh.tcp import ZenohStreams

__all__ = [
    "DECODERS",
    "STREAMS",
    "DatagramDecoder",
    "DecodeSettings",
    "Dispatcher",
    "stream_systems",
]


class DatagramDecoder(Protocol):
    """One system's datagrams. An object serves one piece and sees it in frame order."""

    @property
    def system(self) -> str:
        """The word of --decode-as and --no-decode."""

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        """Claim datagrams by writing ``outcome``; returns the rows (EVENTS) finished so far."""

    def finish(self) -> list[pa.RecordBatch]:
        """End all runs."""

    def account(self) -> dict[str, object]:
        """``messages_by``, ``undecoded``, ``sureness`` and what else the system counts."""


class Recalling(DatagramDecoder, Protocol):
    """One whose rows say what came just before, too (``register``)."""

    def before(self, datagrams: Datagrams) -> None:
        """What came just before the piece, in the order of time: nothing is claimed, or counted."""


#: Reads the beginning of a message: its word and its detail; null where it is not enough.
Read = Callable[[bytes], tuple[str, Mapping[str, object]] | None]

#: By name, in the order in which they are offered datagrams.
DECODERS: Final[dict[str, Callable[[DecodeSettings], DatagramDecoder]]] = {}
#: Systems over TCP (``streams``), in the order in which they are asked.
STREAMS: Final[dict[str, Callable[[DecodeSettings], StreamSystem]]] = {}
#: Of systems whose engines put messages together themselves.
READERS: Final[dict[str, Read]] = {}
#: Systems whose engines want to know what reached nobody (Flag.REFUSED over UDP).
TOLD_OF_REFUSALS: Final[set[str]] = set()
#: Systems whose rows say how much came within so many ns, over UDP: decoders are ``Recalling``.
RECALLED_NS: Final[dict[str, int]] = {}


def register(
    name: str,
    datagrams: Callable[[DecodeSettings], DatagramDecoder] | None = None,
    tcp: Callable[[DecodeSettings], StreamSystem] | None = None,
    read: Read | None = None,
    *,
    refusals: bool = False,
    recalls_ns: int = 0,
) -> None:
    """Know a system from here on: before anything is decoded."""
    if datagrams is not None:
        DECODERS[name] = datagrams
    if tcp is not None:
        STREAMS[name] = tcp
    if read is not None:
        READERS[name] = read
    if refusals:
        TOLD_OF_REFUSALS.add(name)
    if recalls_ns:
        RECALLED_NS[name] = recalls_ns


def _feeds(settings: DecodeSettings) -> DatagramDecoder:
    """Most captures are audited without feeds: what decodes them is imported where it is needed."""
    from seqaudit.decoders.feeds.datagrams import FeedDecoder

    return FeedDecoder(settings)


register(FEED, _feeds)  # the user has said where they are, so nobody else is asked first
register("jgroups", JGroupsDecoder, JGroupsStreams)
register(
    "zenoh", ZenohDecoder, ZenohStreams, zenoh_messages.read, refusals=True, recalls_ns=CROWD_NS
)
register("pgm", PgmDecoder)
register("raims", RaimsDecoder, RaimsStreams)
register("rv", tcp=RvStreams)

Bools = npt.NDArray[np.bool]

#: ``settings.sparing``: a kernel that was compiled before is used; else it is worth compiling if it
#: claims one of so many of a chunk's datagrams, taken evenly (few at first: a datagram may hold
#: hundreds of messages), or when it was offered so many in all: refusing one costs about 2 µs
#: interpreted, compiling seconds.
SAMPLES: Final = (16, 256)
PATIENCE: Final = 200_000

#: Claimed by nobody; or kept for a system that is not asked.
NOBODY: Final = -1
WITHHELD: Final = -2


class Dispatcher:
    """The decoders of one piece, in order.

    Args:
        settings: overrides of recognition.
        decoders: the table of decoders; tests give their own.
    """

    def __init__(
        self,
        settings: DecodeSettings,
        decoders: Mapping[str, Callable[[DecodeSettings], DatagramDecoder]] | None = None,
    ) -> None:
        table = DECODERS if decoders is None else decoders
        over_udp = [feed for feed in settings.feeds if feed.over_udp]
        named = tuple(feed for feed in over_udp if not feed.tried)
        tried = tuple(feed for feed in over_udp if feed.tried)
        parts = [
            (system, replace(settings, feeds=named) if system == FEED else settings)
            for system in table
            if system not in settings.no_decode and (system != FEED or named)
        ]
        if tried and FEED in table and FEED not in settings.no_decode:
            parts.append((FEED, replace(settings, feeds=tried)))  # behind all systems
        self.systems = [system for system, _ in parts]
        self._decoders = [table[system](part) for system, part in parts]
        self._worth = [
            _worth_of(system, part) if decoders is None else _KernelWorth(table[system], part)
            for system, part in parts
        ]
        self._refusals = [table[s](part) for s, part in parts if s in TOLD_OF_REFUSALS]
        recalled = RECALLED_NS if decoders is None else {}
        self._recalling = [
            cast(Recalling, decoder)
            for decoder, (system, _) in zip(self._decoders, parts, strict=True)
            if system in recalled
        ]
        #: How much of what came before a piece its decoders want to know.
        self.recalls_ns = max((recalled.get(system, 0) for system in self.systems), default=0)
        self._sparing = settings.sparing
        self._forced = [
            (port, self.systems.index(system) if system in self.systems else WITHHELD)
            for transport, port, system in settings.decode_as
            if transport == "udp"
        ]

    def decode(self, datagrams: Datagrams) -> tuple[list[pa.RecordBatch], Int64s | int]:
        """Rows, and per datagram the number in ``systems`` of who claimed it, or NOBODY.

        One number if that is the same for all. ``datagrams.outcome`` is written; NOT_CLAIMED stays
        where nobody did.
        """
        if self._forced or datagrams.barrier.any():
            return self._decode_some(datagrams)
        batches: list[pa.RecordBatch] = []
        claimed: Int64s | int = NOBODY
        outcome = datagrams.outcome
        count = left = datagrams.count
        for number, decoder in enumerate(self._decoders):
            if not left:
                break
            offered = None if left == count else outcome == FrameOutcome.NOT_CLAIMED
            compile_it = self._compile_it(number, datagrams, offered)
            batches += _offer(decoder, datagrams, offered, compile_it=compile_it)
            still = count - int(np.count_nonzero(outcome))
            if still == left:
                continue
            if left == count and not still:
                return batches, number
            if isinstance(claimed, int):
                claimed = np.full(count, NOBODY, np.int64)
            taken = outcome != FrameOutcome.NOT_CLAIMED
            claimed[taken if offered is None else taken & offered] = number
            left = still
        return batches, claimed

    def before(self, datagrams: Datagrams) -> None:
        """What came in the ``recalls_ns`` before the piece."""
        for decoder in self._recalling:
            decoder.before(datagrams)

    def refused(self, refusals: Iterable[Datagrams]) -> Iterator[pa.RecordBatch]:
        """Rows of what reached nobody, for the systems that are told: it is counted nowhere."""
        for datagrams in refusals:
            for decoder in self._refusals:
                yield from decoder.decode(replace(datagrams, outcome=datagrams.outcome.copy()))
                yield from decoder.finish()

    def _decode_some(self, datagrams: Datagrams) -> tuple[list[pa.RecordBatch], Int64s]:
        """The same where some datagrams are forced, or rows are barriers, which all see."""
        batches: list[pa.RecordBatch] = []
        claimed = np.full(datagrams.count, NOBODY, np.int64)
        forced = self._forced_systems(datagrams)
        outcome = datagrams.outcome
        free = datagrams.barrier == 0
        all_free = bool(free.all())
        for number, decoder in enumerate(self._decoders):
            offered = free & (outcome == FrameOutcome.NOT_CLAIMED)
            if all_free and not offered.any():
                break  # nothing is left for those that are not asked yet
            if forced is not None:
                offered &= (forced == NOBODY) | (forced == number)
            if offered.any() or not all_free:
                compile_it = self._compile_it(number, datagrams, offered)
                batches += _offer(decoder, datagrams, offered | ~free, compile_it=compile_it)
            claimed[offered & (outcome != FrameOutcome.NOT_CLAIMED)] = number
            if forced is not None:
                refused = offered & (forced == number) & (outcome == FrameOutcome.NOT_CLAIMED)
                cut = (datagrams.flags & Flag.CUT) != 0
                outcome[refused] = np.where(
                    cut[refused], FrameOutcome.TRUNCATED, FrameOutcome.MALFORMED
                )
                claimed[refused] = number
        return batches, claimed

    def _compile_it(self, number: int, datagrams: Datagrams, offered: Bools | None) -> bool:
        return datagrams.compile_it and (
            not self._sparing or self._worth[number].it(datagrams, offered)
        )

    def finish(self) -> list[pa.RecordBatch]:
        return [batch for decoder in self._decoders for batch in decoder.finish()]

    def accounts(self) -> list[dict[str, object]]:
        return [decoder.account() for decoder in self._decoders]

    def _forced_systems(self, datagrams: Datagrams) -> Int64s | None:
        if not self._forced:
            return None
        forced = np.full(datagrams.count, NOBODY, np.int64)
        for port, system in self._forced:
            forced[(datagrams.source_port == port) | (datagrams.destination_port == port)] = system
        forced[datagrams.barrier == 1] = NOBODY
        return forced


def stream_systems(settings: DecodeSettings) -> dict[str, StreamSystem]:
    """The systems over TCP, by name, and feeds."""
    systems = {name: make(settings) for name, make in STREAMS.items()}
    if settings.feeds and FEED not in settings.no_decode:
        from seqaudit.decoders.feeds.streams import FeedStreams

        feeds = [feed for feed in settings.feeds if feed.framing is not None]
        systems |= {feed.over_tcp: FeedStreams(feed, settings) for feed in feeds}
    return systems


class _KernelWorth:
    """Whether a decoder's kernel is worth compiling: tried on samples, by a decoder of its own."""

    def __init__(
        self, make: Callable[[DecodeSettings], DatagramDecoder], settings: DecodeSettings
    ) -> None:
        self._make = make
        self._settings = settings
        self._trial: DatagramDecoder | None = None
        self._offered = 0
        self._known = False

    def it(self, datagrams: Datagrams, offered: Bools | None) -> bool:
        if self._known:
            return True
        rows = np.arange(datagrams.count) if offered is None else np.flatnonzero(offered)
        self._offered += len(rows)
        if self._trial is None:
            self._trial = self._make(self._settings)
        self._known = self._offered > PATIENCE or is_kept(getattr(self._trial, "kernel_file", ""))
        for size in SAMPLES:
            if self._known or not len(rows):
                break
            sample = datagrams.take(rows[distinct(np.arange(size) * len(rows) // size)])
            sample.compile_it = False
            self._trial.decode(sample)
            self._known = bool((sample.outcome != FrameOutcome.NOT_CLAIMED).any())
        if self._known:
            self._trial = None
        return self._known


@lru_cache(maxsize=64)
def _worth_of(system: str, settings: DecodeSettings) -> _KernelWorth:
    """One for all pieces of a process: ten thousand small captures are not each tried."""
    return _KernelWorth(DECODERS[system], settings)


def _offer(
    decoder: DatagramDecoder, datagrams: Datagrams, offered: Bools | None, *, compile_it: bool
) -> list[pa.RecordBatch]:
    if offered is None or offered.all():
        return decoder.decode(replace(datagrams, compile_it=compile_it))
    rows = np.flatnonzero(offered)
    part = datagrams.take(rows)
    part.compile_it = compile_it
    batches = decoder.decode(part)
    datagrams.outcome[rows] = part.outcome
    return batches
