"""IP fragments put together again (decoders/README.md 3, second stage).

``Assembler`` puts them together, whoever brings them: the second stage from SEGMENT rows, or the
piece itself where it is the whole file. A completed datagram becomes an IP packet without
fragmentation that goes the way of every other packet: packet kernel, decoders.

Rules: identity is (source, destination, protocol, id), for IPv6 without the protocol (RFC 791, RFC
8200 4.5). A datagram is given up 30 s after its first fragment. Its frame and time are those of the
fragment that completes it, as in Wireshark. Fragments of a datagram that was complete already are
repeats and share its fate; all of them again are the datagram again, a network duplicate if that
was within 2 s. In captures where that was seen (``DecodeSettings.tunnelled``) a datagram may be a
tunnel's packet that was too long for the way. It carries a fragment of another, and they share a
fate; or a packet that may stand in the capture by itself as well (``copies``). A segment of TCP
goes on to its connection (``DecodeSettings.fragmented``).
"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.events import FRAME_BITS, ByName, Flag
from seqaudit.decoders.kernels.loader import COMPILE_FROM_RECORDS, Int64s
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import OF_NOBODY, Account, Accounts
from seqaudit.decoders.network.checksums import ChecksumCheck
from seqaudit.decoders.network.copies import NO_PRINT, WITH_ID, Prints, SoughtCopies, prints_of
from seqaudit.decoders.network.fragment_rows import described, fragments_of
from seqaudit.decoders.network.fragment_runs import runs_of
from seqaudit.decoders.network.ip_datagram import (
    TIMEOUT_NS,
    Assembly,
    DatagramFate,
    Fragment,
    FragmentRun,
    FrameSums,
)
from seqaudit.decoders.network.networks import NetworksSeen, elsewhere
from seqaudit.decoders.network.packets import SETTLED, FrameOutcome, PacketReader, Packets
from seqaudit.decoders.stages.registry import NOBODY, DecodeSettings, Dispatcher
from seqaudit.decoders.stages.whole import FRAME_MASK, Whole, packets_of, separated, told_refused
from seqaudit.decoders.tcp.segments import (
    MORE_SHIFT,
    OUTGOING_BIT,
    WIRE_SHIFT,
    Key,
    SegmentFinder,
    Segments,
    segments_of,
)
from seqaudit.decoders.tcp.wire import Segment

DUPLICATE_NS: Final = k.WINDOW_NS  # as of datagrams in one piece

#: Bytes of incomplete datagrams held at once; beyond it the oldest is given up. Only a piece that
#: is read in one go can come near it: the second stage holds one carrier at a time.
HELD_BYTES: Final = 64 << 20
#: Fragments of completed datagrams that are remembered, to know repeats by.
REMEMBERED: Final = 200_000
#: Completed datagrams decoded at once.
BATCH_DATAGRAMS: Final = 2_000
BATCH_BYTES: Final = 4 << 20

FACTS_MASK: Final = (1 << WIRE_SHIFT) - 1  # but how many frames and bytes
#: Why a datagram is not counted here: it is of a network that is a capture of its own.
ELSEWHERE: Final = "of another network"
DAMAGED: Final = SETTLED[k.DAMAGED][1]


class Offered(NamedTuple):
    """What became of a datagram.

    Attributes:
        system: that claimed it; "": none has.
        protocol, source, destination, port: of the packet that a tunnel carries, if it is one's.
        ttl: lowest and highest of that packet; null: it came in no tunnel.
        nested: that packet is a fragment itself, and this capture was not known to have such.
        tunnel: that carries it (``packet_words.TUNNEL``); 0: none.
        segment: it is one of this connection; null: none is.
    """

    whole: Whole
    outcome: FrameOutcome
    reason: str
    system: str
    protocol: int
    source: str
    destination: str
    port: int
    ttl: tuple[int, int] | None
    nested: bool
    tunnel: int
    segment: tuple[Key, Segment] | None = None


@dataclass(slots=True)
class Remembered:
    """A completed datagram, against repeats."""

    at_ns: int
    digest: int
    prints: set[int]
    fate: DatagramFate


class Assembler:
    """Puts fragments together and decodes what is complete.

    Args:
        settings: for the decoders.
        by_carrier: rows come carrier by carrier, so one is open at a time; else in frame order.
        compile_it: form of the kernels; None: the settings', or by the amount so far.
        nobodys: whether a TCP connection (its carrier) is known to be nobody's.
    """

    def __init__(
        self,
        settings: DecodeSettings,
        *,
        by_carrier: bool = False,
        compile_it: bool | None = None,
        held_bytes: int = HELD_BYTES,
        nobodys: Callable[[str], bool] = lambda carrier: False,
    ) -> None:
        self._settings = replace(settings, templates=None)
        self._by_carrier = by_carrier
        self._compile_it = settings.compile_it if compile_it is None else compile_it
        self._limit = held_bytes
        self._nobodys = nobodys
        self._carrier: Key | None = None  # of the last row
        self._open: dict[Key, Assembly] = {}
        self._held = 0
        self._remembered: dict[Key, Remembered] = {}
        self._prints = 0
        self._ready: list[Whole] = []
        self._ready_bytes = 0
        self._seen_bytes = 0
        self._accounts = Accounts()
        self._seen: dict[tuple[int, int], NetworksSeen] = {}
        self._segments: list[tuple[Key, Segment]] = []
        self._waiting: SoughtCopies[Whole] = SoughtCopies()

    def feed(self, parts: Iterable[Fragment | Prints]) -> Iterator[pa.RecordBatch]:
        """Take fragments in, and prints of datagrams that are whole; yields the events of what they
        complete."""
        for part in parts:
            carrier = part.capture, part.carrier
            if self._by_carrier and carrier != self._carrier:
                self._close_all()
                self._remembered.clear()
                self._prints = 0
            self._carrier = carrier
            if isinstance(part, Prints):
                self._make_ready(self._waiting.tell(part))
            else:
                self._add(part)
            yield from self._relieve()

    def feed_piece(self, packets: Packets, prints: Prints | None) -> Iterator[pa.RecordBatch]:
        """``feed`` of what a piece has: runs of fragments together, and the others one by one."""
        if prints is not None:
            yield from self.feed([prints])
        taken: list[Int64s] = []
        if packets.datagrams.capture not in self._settings.tunnelled:  # there order counts
            for run in runs_of(packets, self._settings):
                if self._add_run(run):
                    taken.append(run.rows)
                yield from self._relieve()
        left = packets.fragments
        if taken:
            left = np.setdiff1d(left, np.concatenate(taken), assume_unique=True)
        yield from self.feed(fragments_of(packets, self._settings, left))

    def _relieve(self) -> Iterator[pa.RecordBatch]:
        """Give up what is more than may be held, and decode what is enough for once."""
        while self._held > self._limit:
            self._give_up(next(iter(self._open)))
        waiting = max(len(self._ready), len(self._accounts.problems))
        if waiting >= BATCH_DATAGRAMS or self._ready_bytes >= BATCH_BYTES:
            yield from self._flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Decode what is complete now, so that ``segments`` has what came up to here."""
        if self._ready:
            yield from self._flush()

    def segments(self) -> list[Segments]:
        """Take those of ``fragmented`` connections, in the order of the capture."""
        found, self._segments = self._segments, []
        return [segments_of(found)] if found else []

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What is still open is incomplete."""
        self._close_all()
        yield from self._flush()

    def _add(self, fragment: Fragment) -> None:
        key = fragment.capture, fragment.datagram
        assembly = self._open.get(key)
        if assembly is not None and (
            abs(fragment.at_ns - assembly.first.at_ns) > TIMEOUT_NS
            or self._begins_anew(key, assembly, fragment)
        ):
            self._give_up(key)
        self._take_in(key, fragment, fragment)

    def _add_run(self, run: FragmentRun) -> bool:
        """Whether it was taken; else its fragments have to be added one by one."""
        key = run.first.capture, run.first.datagram
        assembly = self._open.get(key)
        if self._is_near(key, run.first.at_ns):
            return False
        if assembly is not None and (self._repeated(key, assembly) or not assembly.takes(run)):
            return False
        self._take_in(key, run.first, run)
        return True

    def _take_in(self, key: Key, first: Fragment, part: Fragment | FragmentRun) -> None:
        assembly = self._open.get(key)
        if assembly is None:
            assembly = self._open[key] = Assembly(first)
            self._held += assembly.weight
        self._held -= assembly.weight
        if isinstance(part, FragmentRun):
            assembly.add_run(part)
        else:
            assembly.add(part)
        self._held += assembly.weight
        if not assembly.complete:
            return
        del self._open[key]
        self._held -= assembly.weight
        if assembly.spoiled:
            self._ask_whose(assembly)
        else:
            self._complete(key, Whole(assembly, first.capture, part.frame, part.at_ns))

    def _complete(self, key: Key, whole: Whole) -> None:
        assembly, capture, at_ns = whole.assembly, whole.capture, whole.at_ns
        digest = hash((assembly.total, assembly.body()))
        again = self._came_before(key, at_ns, digest, assembly)
        inner = None
        if capture in self._settings.tunnelled:
            inner, whole.print = self._look_into(whole)
        if whole.print & WITH_ID:
            key = capture, f"print {whole.print}"
            again = self._came_before(key, at_ns, whole.print, assembly) or again
        whole.flags = Flag.NETWORK_DUPLICATE if again else 0
        if inner is not None and self._is_elsewhere(assembly.first, inner):
            self._settle(assembly, FrameOutcome.OTHER, ELSEWHERE)
        elif inner is not None:
            self._take_nested(inner, assembly)
        elif whole.print:
            self._make_ready(self._waiting.ask(whole.frame, whole.at_ns, whole.print, whole))
        else:
            self._make_ready([(whole, 0)])

    def _came_before(self, key: Key, at_ns: int, digest: int, assembly: Assembly) -> bool:
        """Whether the same was complete shortly before; remembers this one."""
        before = self._forget(key)
        self._remembered[key] = Remembered(at_ns, digest, assembly.prints, assembly.fate)
        self._prints += len(assembly.prints)
        while self._prints > REMEMBERED:
            self._forget(next(iter(self._remembered)))
        return (
            before is not None
            and before.digest == digest
            and abs(at_ns - before.at_ns) <= DUPLICATE_NS
        )

    def _look_into(self, whole: Whole) -> tuple[Fragment | None, int]:
        """The fragment of another datagram that this one carries, or the print of the datagram in a
        packet that it tunnels."""
        split, assembly = whole.frame >> FRAME_BITS, whole.assembly
        tunnels = self._settings.chosen_of(whole.capture).tunnels
        told = NO_PRINT
        for packets in self._reader(whole.capture, split).read(packets_of([whole])):
            inside = described(packets, packets.fragments, tunnels=tunnels)
            for carrier, facts, payload in zip(*inside, strict=True):
                outer = assembly.first.facts
                facts |= {"outgoing": int(assembly.outgoing)}
                if "network" not in facts and "network" in outer:
                    facts["network"] = outer["network"]
                return Fragment(
                    whole.capture, carrier, whole.frame, whole.at_ns, facts, payload, assembly
                ), NO_PRINT
            if packets.tunnelled and packets.datagrams.count:
                (told,) = prints_of(packets.datagrams, np.zeros(1, np.int64)).tolist()
        return None, told

    def _is_elsewhere(self, outer: Fragment, inner: Fragment) -> bool:
        """Whether a fragment is of another network, which the datagram that it came in tells."""
        networks = (np.array([one.facts.get("network", 0)]) for one in (outer, inner))
        return bool(elsewhere(self._settings.chosen_of(inner.capture), *networks).any())

    def _take_nested(self, inner: Fragment, outer: Assembly) -> None:
        unseen = 0 if outer.first.facts.get("tunnel") else outer.frame_count
        facts, account = inner.facts, self._accounts.of(inner.capture, inner.frame >> FRAME_BITS)
        account.add_tunnelled(facts["source"], facts["destination"], facts["tunnel"], unseen)
        account.fragments["nested"] += 1
        self._add(inner)

    def _reader(self, capture: int, split: int) -> PacketReader:
        compile_it = self._compile_it
        if compile_it is None:
            compile_it = self._seen_bytes // 100 >= COMPILE_FROM_RECORDS
        carriers = self._settings.feed_carriers
        return PacketReader(capture, split, compile_it=compile_it, carriers=carriers)

    def _forget(self, key: Key) -> Remembered | None:
        known = self._remembered.pop(key, None)
        if known is not None:
            self._prints -= len(known.prints)
        return known

    def _make_ready(self, decided: Iterable[tuple[Whole, int]]) -> None:
        """Have datagrams decoded, with what their copies say."""
        for whole, flags in decided:
            size = whole.assembly.held_bytes
            whole.flags |= flags
            self._ready.append(whole)
            self._ready_bytes += size
            self._seen_bytes += size

    def _is_near(self, key: Key, at_ns: int) -> bool:
        """Whether what comes at a time may repeat a completed datagram."""
        known = self._remembered.get(key)
        return known is not None and abs(at_ns - known.at_ns) <= TIMEOUT_NS

    def _repeated(self, key: Key, assembly: Assembly) -> Remembered | None:
        """The completed datagram that these are mere repeats of, if so."""
        if not self._is_near(key, assembly.first.at_ns):
            return None
        known = self._remembered[key]
        return known if assembly.prints <= known.prints else None

    def _begins_anew(self, key: Key, assembly: Assembly, fragment: Fragment) -> bool:
        """So far only repeats of a completed datagram have come, and this is none."""
        known = self._repeated(key, assembly)
        return known is not None and fragment.print not in known.prints

    def _close_all(self) -> None:
        for key in list(self._open):
            self._give_up(key)
        self._make_ready(self._waiting.finish())
        self._waiting = SoughtCopies()

    def _give_up(self, key: Key) -> None:
        """An incomplete datagram: repeats of one that was complete, spoiled, or really one."""
        assembly = self._open.pop(key)
        self._held -= assembly.weight
        known = self._repeated(key, assembly)
        if known is None:
            self._ask_whose(assembly)
        elif known.fate.outcome is None:
            for split, frames in assembly.frames.items():
                known.fate.frames.setdefault(split, FrameSums()).add(frames)
            known.fate.shared_by += assembly.fate.shared_by
        else:
            self._settle(assembly, known.fate.outcome, known.fate.reason)

    def _ask_whose(self, assembly: Assembly) -> None:
        """Of what is spoiled or incomplete its beginning shows that."""
        first = assembly.first
        if assembly.head is None:
            network = np.array([first.facts.get("network", 0)])
            chosen = self._settings.chosen_of(first.capture)
            if not elsewhere(chosen, network, np.zeros_like(network)).any():
                self._no_datagram(assembly, "")
        else:
            whole = Whole(assembly, first.capture, first.frame, first.at_ns, incomplete=True)
            self._make_ready([(whole, 0)])

    def _no_datagram(self, assembly: Assembly, system: str) -> None:
        """What is spoiled or incomplete, and looks like a system's."""
        capture = assembly.first.capture
        if assembly.spoiled:
            reason = assembly.spoiled if system else OF_NOBODY
            self._settle(assembly, FrameOutcome.MALFORMED, reason)
            self._problem(assembly, "contradicting fragments", {"why": assembly.spoiled})
            return
        outcome = FrameOutcome.UNDECODABLE if system else FrameOutcome.OTHER
        self._settle(assembly, outcome, "incomplete IP datagram" if system else "")
        counts = self._accounts.of(capture, assembly.first.frame >> FRAME_BITS).fragments
        counts["incomplete"] += 1
        counts["missing"] += assembly.lacking()
        self._problem(
            assembly,
            "incomplete IP datagram",
            {
                "looks_like": system or None,
                "bytes": assembly.covered,
                "total": assembly.total,
                "missing": assembly.missing(),
            },
        )

    def _problem(self, assembly: Assembly, what: str, more: Mapping[str, object]) -> None:
        first, facts = assembly.first, assembly.first.facts
        detail = {
            "what": what,
            "source": facts["source"],
            "destination": facts["destination"],
            "id": facts["id"],
            "fragments": assembly.frame_count,
            **more,
        }
        self._accounts.problem(
            first.capture, "FRAGMENT", (first.frame, assembly.last_frame), first.at_ns, detail,
            count=assembly.frame_count, fresh_id=facts["id"],
        )  # fmt: skip

    def _settle(
        self, assembly: Assembly, outcome: FrameOutcome, reason: str, *, handed: bool = False
    ) -> None:
        """Count its frames, and those that share its fate.

        Args:
            handed: what became of its own is for its connection to say.
        """
        capture, fates = assembly.first.capture, [assembly.fate]
        for split, frames in assembly.frames.items():
            self._count(capture, split, None if handed else outcome, frames, reason)
        for fate in fates:
            fate.outcome, fate.reason = outcome, reason
            for split, frames in fate.frames.items():
                self._count(capture, split, outcome, frames, reason)
            fates += fate.shared_by

    def _count(
        self, capture: int, split: int, outcome: FrameOutcome | None, sums: FrameSums, reason: str
    ) -> None:
        if reason == ELSEWHERE:
            return
        account = self._accounts.of(capture, split)
        if outcome is not None:
            account.count(outcome, sums.frames, reason)
        account.fragments["frames"] += sums.frames
        if self._settings.chosen_of(capture).networks:
            account.sums.add(sums)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        """Decode what is ready, then tell what happened to frames since the last time."""
        ready, self._ready, self._ready_bytes = self._ready, [], 0
        decoder_accounts: dict[tuple[int, int], list[dict[str, object]]] = {}
        by_piece: dict[tuple[int, int], list[Whole]] = {}
        for whole in ready:
            by_piece.setdefault((whole.capture, whole.frame >> FRAME_BITS), []).append(whole)
        for key in sorted(by_piece):
            wholes = sorted(by_piece[key], key=lambda whole: whole.frame)
            whole_ones = [whole for whole in wholes if not whole.incomplete]
            if whole_ones:
                batches, accounts = self._decode(key, whole_ones)
                decoder_accounts[key] = accounts
                self._accounts.of(*key)
                yield from batches
            if len(whole_ones) < len(wholes):
                self._recognise(key, [whole for whole in wholes if whole.incomplete])
        yield from self._accounts.told_problems()
        for key, account in self._accounts.taken_out():
            seen = self._seen.pop(key, None)
            facts: ByName = {"numbered": 0} | ({} if seen is None else {"networks": seen.rows()})
            yield account.row(facts, decoder_accounts.get(key, ()))

    def _decode(
        self, key: tuple[int, int], wholes: list[Whole]
    ) -> tuple[list[pa.RecordBatch], list[dict[str, object]]]:
        """Complete datagrams of one piece: rows, and the decoders' accounts."""
        dispatcher = Dispatcher(self._settings)
        batches: list[pa.RecordBatch] = []
        account = self._accounts.of(*key)
        checksums = ChecksumCheck(self._settings.damaged_of(key[0]), fragmented=True)
        for one in self._offer(key, wholes, dispatcher, batches, checksums):
            whole, system = one.whole, one.system
            assembly = whole.assembly
            if one.reason == DAMAGED:
                account.add_damaged([whole.frame & FRAME_MASK], [whole.at_ns])
            handed = one.segment is not None and self._hand_over(whole, account, *one.segment)
            self._settle(assembly, one.outcome, one.reason, handed=handed)
            if one.reason == ELSEWHERE:
                continue
            if one.tunnel:  # frames in one themselves are counted as in that
                unseen = 0 if assembly.first.facts.get("tunnel") else assembly.frame_count
                account.add_tunnelled(one.source, one.destination, one.tunnel, unseen)
            account.fragments["datagrams"] += 1
            if one.nested:
                account.fragments["nested"] += 1
            if one.tunnel and (system or one.outcome is FrameOutcome.NOT_CLAIMED):
                account.fragments["tunnelled"] += 1
                has_id = np.array([whole.print & WITH_ID > 0])
                if whole.print and (system or has_id):
                    account.add_twice(np.array([whole.flags]), has_id, ~has_id)
            count = assembly.frame_count
            if handed:  # its connection counts the rest
                continue
            account.add_endpoint(
                one.protocol, one.destination, one.port, system, count, assembly.wire_bytes
            )
            if system:
                if not ipaddress.ip_address(one.destination).is_multicast:
                    low, high = one.ttl or (assembly.low_ttl, assembly.high_ttl)
                    account.add_unicast(one.source, one.destination, low, high, count)
                if assembly.outgoing:
                    account.add_outgoing(one.source)
        batches += dispatcher.finish()
        checksums.add_to(account.senders)
        return batches, dispatcher.accounts()

    def _hand_over(self, whole: Whole, account: Account, key: Key, segment: Segment) -> bool:
        """Give a segment to its connection, if that is known to have such."""
        assembly = whole.assembly
        account.fragments["tcp"] += assembly.frame_count
        if key not in self._settings.fragmented:
            if key[1] not in account.fragmented and not self._nobodys(key[1]):
                account.fragmented.add(key[1])
            return False
        facts = segment.facts & FACTS_MASK | (OUTGOING_BIT if assembly.outgoing else 0)
        facts |= assembly.wire_bytes << WIRE_SHIFT | assembly.frame_count - 1 << MORE_SHIFT
        own = segment._replace(frame=whole.frame, at_ns=whole.at_ns, facts=facts)
        self._segments.append((key, own))
        return True

    def _recognise(self, key: tuple[int, int], wholes: list[Whole]) -> None:
        """Whose incomplete or spoiled datagrams are; what decoders make of them is not kept."""
        for one in self._offer(key, wholes, Dispatcher(self._settings), []):
            if one.reason != ELSEWHERE:
                self._no_datagram(one.whole.assembly, one.system)

    def _offer(
        self,
        key: tuple[int, int],
        wholes: list[Whole],
        dispatcher: Dispatcher,
        batches: list[pa.RecordBatch],
        checksums: ChecksumCheck | None = None,
    ) -> Iterator[Offered]:
        """Each datagram, and what became of it."""
        capture, split = key
        reader = self._reader(capture, split)
        chosen = self._settings.chosen_of(capture)
        for found in reader.read(packets_of(wholes)):
            packets = found if checksums is None else checksums.judged(reader, found)
            fields = (
                k.STATE, k.FRAGMENT, k.TUNNEL, k.PROTOCOL, k.SOURCE, k.DESTINATION,
                k.DESTINATION_PORT, k.TTL,
            )  # fmt: skip
            columns = [packets.column(field).tolist() for field in fields]
            part = wholes[packets.first : packets.first + len(columns[0])]
            datagrams = separated(packets, part)
            before = np.array(
                [one.assembly.first.facts.get("network", 0) for one in part], np.int64
            )
            inside = packets.column(k.NETWORK)
            networks = np.where(inside, inside, before)
            others = ~chosen.takes(networks)[packets.rows]
            datagrams.outcome[np.repeat(others, 2)] = FrameOutcome.OTHER
            away = elsewhere(chosen, before, inside).tolist()
            decoded, claimant = dispatcher.decode(datagrams)
            segments: dict[int, tuple[Key, Segment]] = {}
            if checksums is not None:
                if not chosen.networks:
                    batches += dispatcher.refused(told_refused(packets, part))
                own = claimant if isinstance(claimant, int) else claimant[::2]
                checksums.note(packets, own)
                if (tcp := SegmentFinder().find(packets)) is not None:
                    segments = dict(zip(tcp[1].tolist(), tcp[0].one_by_one(), strict=True))
                if networks.any() and not chosen.networks:
                    times, frames = np.array(
                        [(one.at_ns, one.assembly.frame_count) for one in part], np.int64
                    ).T
                    seen = self._seen.setdefault(key, NetworksSeen())
                    tcp_rows = np.array([*segments], np.int64)
                    seen.note(packets, networks, own, tcp_rows, times, frames)
            claimed = np.broadcast_to(claimant, datagrams.count)
            batches += decoded
            at = 0
            hosts = packets.datagrams.hosts
            carried = map(segments.get, range(len(part)))
            for whole, is_away, segment, state, part_of, tunnel, protocol, *ends, port, ttl in zip(
                part, away, carried, *columns, strict=True
            ):
                facts = whole.assembly.first.facts
                outer = facts["source"], facts["destination"]
                source, destination = outer if min(ends) < 0 else (hosts[end] for end in ends)
                where = protocol, source, destination, port
                ttls = None if (source, destination) == outer else (ttl, ttl)
                settled = state in SETTLED
                if settled or is_away:
                    fate = (FrameOutcome.OTHER, ELSEWHERE) if is_away else SETTLED[state]
                    segment = None if is_away else segment
                    yield Offered(whole, *fate, "", *where, ttls, False, tunnel, segment)
                    at += 0 if settled else 2
                    continue
                outcome = FrameOutcome(int(datagrams.outcome[at]))
                system = "" if claimed[at] == NOBODY else dispatcher.systems[int(claimed[at])]
                yield Offered(whole, outcome, "", system, *where, ttls, part_of >= 0, tunnel)
                at += 2
