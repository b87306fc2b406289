"""What the user decides about decoding (replay/README.md 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from seqaudit.decoders.contract.networks import EVERYTHING, Chosen
from seqaudit.decoders.contract.templates import Template

if TYPE_CHECKING:
    from seqaudit.decoders.contract.feed_layout import Feed

#: The word of --decode-as and --no-decode for all feeds.
FEED: Final = "feed"
#: Sqns of a receive window of PGM where nobody says otherwise (raims.md 2).
USUAL_WINDOW_SQNS: Final = 4096


@dataclass(frozen=True, slots=True)
class Learned:
    """What earlier runs over the same captures have shown, and decoders cannot know of themselves.

    Attributes:
        carriers: (capture, carrier) of TCP connections that every piece ships, recognised or not.
        unordered: captures whose records are put in order across the borders of chunks and pieces.
        damaged: (capture, address, kind: ``checksums.Sender``) of senders whose packets are damaged
            where their checksum is wrong.
        carrying: (capture, link) of PGM links that carry messages, though a piece may first see
            something else of them.
        tunnelled: captures in which tunnels' packets came in IP fragments, with datagrams or with
            fragments of others in them.
        fragmented: (capture, carrier) of TCP connections with segments that came in IP fragments.
        templates: by capture and piece, those of IPFIX that came before it; None: nobody knows what
            did, as where datagrams are put together from fragments.
    """

    carriers: frozenset[tuple[int, str]] = frozenset()
    unordered: frozenset[int] = frozenset()
    damaged: frozenset[tuple[int, str, int]] = frozenset()
    carrying: frozenset[tuple[int, str]] = frozenset()
    tunnelled: frozenset[int] = frozenset()
    fragmented: frozenset[tuple[int, str]] = frozenset()
    templates: Mapping[tuple[int, int], tuple[Template, ...]] | None = field(
        default_factory=dict, hash=False
    )

    def differs_in(self, other: Learned) -> set[int]:
        """Captures of which this says something else than another."""
        captures = {capture for capture, *_ in self.damaged ^ other.damaged}
        captures |= {capture for capture, _ in self.carriers ^ other.carriers}
        captures |= {capture for capture, _ in self.fragmented ^ other.fragmented}
        captures |= {capture for capture, _ in self.carrying ^ other.carrying}
        own, theirs = self.templates or {}, other.templates or {}
        told = own.keys() | theirs.keys()
        captures |= {place[0] for place in told if own.get(place) != theirs.get(place)}
        return captures | (self.unordered ^ other.unordered) | (self.tunnelled ^ other.tunnelled)

    def puts_together(self, capture: int) -> bool:
        """Whether all IP fragments of a capture, and the segments of ``fragmented`` connections,
        meet in one place, in the order of the capture."""
        return capture in self.tunnelled or any(own == capture for own, _ in self.fragmented)


@dataclass(frozen=True, slots=True)
class DecodeSettings(Learned):
    """Overrides and modes of the decoders, and what was learned; pickled to workers.

    Attributes:
        decode_as: (transport, port, system): what goes from or to that port is that system's.
        feeds: given by the user; they are asked before all systems, in this order.
        no_decode: systems whose decoder is not asked.
        compile_it: form of the kernels; None: by the size of the piece.
        sparing: a system's kernel is compiled only where it claims datagrams or sees very many;
            changes no row.
        finish_fragments: put IP fragments and TCP streams together in stage one where a piece is
            a whole file.
        storage: how stores of captures are reached (``remote.use``); holds keys, so
            it is not shown.
        chosen: the networks of each capture whose packets are decoded; empty: all of all.
        receive_windows: sqns of a receive window of PGM in each capture; empty: the usual ones.
    """

    decode_as: tuple[tuple[str, int, str], ...] = ()
    no_decode: frozenset[str] = frozenset()
    feeds: tuple[Feed, ...] = ()
    compile_it: bool | None = None
    sparing: bool = False
    finish_fragments: bool = False
    storage: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    chosen: tuple[Chosen, ...] = field(default=(), hash=False)  # one each of ten thousand captures
    receive_windows: tuple[int, ...] = field(default=(), hash=False)

    def receive_window_of(self, capture: int) -> int:
        """That of one capture."""
        return self.receive_windows[capture] if self.receive_windows else USUAL_WINDOW_SQNS

    def chosen_of(self, capture: int) -> Chosen:
        """That of one capture."""
        return self.chosen[capture] if self.chosen else EVERYTHING

    @property
    def feed_carriers(self) -> frozenset[int]:
        """IP protocols and Ethernet types that carry feeds themselves: what they tunnel is left in
        them."""
        return frozenset(feed.carrier for feed in self.feeds if feed.carrier)

    def damaged_of(self, capture: int) -> frozenset[tuple[str, int]]:
        """Those of one capture."""
        return frozenset(
            (address, protocol) for one, address, protocol in self.damaged if one == capture
        )

    def carrying_of(self, capture: int) -> list[str]:
        """Those of one capture."""
        return sorted(link for one, link in self.carrying if one == capture)
