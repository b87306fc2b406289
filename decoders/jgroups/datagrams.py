"""JGroups over UDP: datagrams in, EVENTS rows out (jgroups.md 1 to 3; decoders/README.md 3).

The kernel walks frames and builds runs as rows of integers; here those rows become columns, and
the few objects among them (views, digests, names, lists of seqnos) are read. There is no magic
number, so a frame is claimed only on evidence: a header that nothing else has by chance (ids and
body of a reliability header, or a transport header with a cluster name), or a whole list with one.
A run ends with the chunk, so nothing is open between two calls of ``decode``.
"""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from typing import Final, NotRequired, TypedDict

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.events import FRAME_BITS, Kind, unescaped
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.jgroups import kernels as wire
from seqaudit.decoders.jgroups import objects
from seqaudit.decoders.jgroups.names import (
    FIRST_UNICAST,
    JOINS,
    KIND_OF,
    MEMBERSHIP,
    MULTICASTS,
    STABILITY,
    SYSTEMS,
    UNICASTS,
    WIRE_CODE,
    WIRE_KINDS,
    WIRE_OF,
    layout,
    note_text,
    protocol_name,
    version_text,
)
from seqaudit.decoders.jgroups.rows import (
    Member,
    NumberTexts,
    Rare,
    event_batch,
    for_unicast,
    member_batch,
)
from seqaudit.decoders.kernels.loader import Int64s, argument, data_argument, kernel, memory
from seqaudit.decoders.network.packets import Datagrams

#: Output rows of one round: 64 KiB of the smallest messages and then some.
ROWS: Final = 32_768
#: Clusters handed on: many more than are listed, as other pieces add to them.
CLUSTERS_TOLD: Final = 2000
#: Distinct names kept for the account and against repeated MEMBER rows.
SEEN_LIMIT: Final = 100_000


class JGroupsAccount(TypedDict):
    """Messages by system and wire kind, what was left undecoded and why, frames by how sure we are
    of them and by cluster, messages by release, frames by their form."""

    messages_by: dict[str, dict[str, int]]
    undecoded: dict[str, int]
    sureness: dict[str, int]
    clusters: dict[str, int]
    clusters_more: int
    versions: dict[str, int]
    datagrams: dict[str, int]
    tcp: NotRequired[dict[str, int]]


class JGroupsDecoder:
    """DatagramDecoder of JGroups: claims datagrams, returns their rows, keeps the account."""

    system: Final = "jgroups"
    kernel_file: Final = "jgroups.kernels"

    def __init__(self, settings: DecodeSettings) -> None:
        self._ports = {
            port: 1 if system == self.system else -1
            for protocol, port, system in settings.decode_as
            if protocol == "udp"
        }
        self._memory = memory(wire.OUT + ROWS * wire.WIDTH)
        self._memory[wire.LAYOUT : wire.COUNTS] = layout()
        self._clusters: Counter[str] = Counter()
        self._more_clusters = 0
        self._unread: Counter[str] = Counter()
        self._seen: set[tuple[object, ...]] = set()

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        """Claim what is JGroups (``outcome``) and return its rows."""
        if datagrams.count == 0:
            return []
        compile_it = datagrams.compile_it
        module = kernel("jgroups.kernels", compile_it=compile_it)
        columns = [
            datagrams.start,
            datagrams.stop,
            datagrams.length,
            datagrams.source,
            datagrams.source_port,
            datagrams.flags,
            datagrams.ip_id,
            datagrams.at_ns,
            datagrams.frame | datagrams.split << FRAME_BITS,
            datagrams.barrier,
            self._wanted(datagrams),
            datagrams.outcome,
            self._memory,
        ]
        arguments = [argument(column, compile_it=compile_it) for column in columns]
        data = data_argument(datagrams.data, compile_it=compile_it)
        batches: list[pa.RecordBatch] = []
        done = 0
        while done < datagrams.count:
            self._empty(done)
            done, rows = module.decode(data, datagrams.count, *arguments, len(self._memory))
            batches += self._batches(datagrams, int(rows))
        return batches

    def finish(self) -> list[pa.RecordBatch]:
        """Nothing is open between two chunks."""
        return []

    def reached(self) -> tuple[int, int, int]:
        """Of the last datagram: how many messages of its list were not begun; where the last began,
        and where it ends, even past what was captured (below 0: not known).
        """
        memory = self._memory
        return int(memory[wire.STACK]), int(memory[wire.STACK + 5]), int(memory[wire.W_ENDS])

    def forget_members(self) -> None:
        """Tell all members again: what comes next is told apart from what came."""
        self._seen.clear()

    def account(self) -> dict[str, object]:
        """As a row carries it."""
        return dict(self.told())

    def told(self) -> JGroupsAccount:
        """What was decoded, and what was not."""
        counts = self._memory
        messages: dict[str, dict[str, int]] = {}
        for code, name in SYSTEMS.items():
            types = MULTICASTS if code <= wire.NAKACK2 else UNICASTS
            for sort, (_, word) in types.items():
                if number := int(counts[wire.COUNTS + code * 8 + sort]):
                    messages.setdefault(name, {})[word] = number
        for at in np.flatnonzero(counts[wire.C_OTHER : wire.C_OTHER + 2048]).tolist():
            names = messages.setdefault("jgroups", {})
            name = protocol_name(at)
            names[name] = names.get(name, 0) + int(counts[wire.C_OTHER + at])
        versions = counts[wire.C_VERSIONS : wire.C_VERSIONS + 65536]
        by_datagrams = nsmallest(
            CLUSTERS_TOLD, self._clusters.items(), key=lambda told: (-told[1], told[0])
        )
        return {
            "messages_by": messages,
            "undecoded": dict(sorted((self._noted() + self._unread).items())),
            "sureness": {
                name: int(counts[at])
                for name, at in (
                    ("certain", wire.C_CERTAIN),
                    ("likely", wire.C_LIKELY),
                    ("forced", wire.C_FORCED),
                )
                if counts[at]
            },
            "clusters": dict(by_datagrams),
            "clusters_more": self._more_clusters + len(self._clusters) - len(by_datagrams),
            "versions": {
                version_text(version): int(versions[version])
                for version in np.flatnonzero(versions).tolist()
            },
            "datagrams": {
                "single": int(counts[wire.C_SINGLE]),
                "list": int(counts[wire.C_LISTS]),
                "bare": int(counts[wire.C_BARE]),
            },
        }

    def _wanted(self, datagrams: Datagrams) -> Int64s:
        """1: forced by --decode-as; -1: forced to be another system's, or claimed already."""
        wanted = np.zeros(datagrams.count, np.int64)
        for port, value in self._ports.items():
            wanted[(datagrams.destination_port == port) | (datagrams.source_port == port)] = value
        wanted[datagrams.outcome != 0] = -1
        return wanted

    def _empty(self, done: int) -> None:
        """Start anew with rows, names and runs, before the first datagram and at a full table."""
        memory = self._memory
        used = int(memory[wire.W_ENTRIES])
        if used:
            memory[wire.SLOTS : wire.ENTRIES] = 0
            memory[wire.FLOORS : wire.FLOORS + used + 1] = 0
            memory[wire.MEMBER_SLOTS : wire.MEMBERS] = 0
            memory[wire.STREAMS : wire.OUT] = 0
        notes = int(memory[wire.W_NOTES])
        memory[: wire.LAYOUT] = 0
        memory[wire.W_NEXT] = done
        memory[wire.W_NOTES] = notes
        memory[wire.W_POOL] = wire.POOL
        memory[wire.W_ROWS] = memory[wire.W_FLOOR] = wire.OUT

    def _batches(self, datagrams: Datagrams, rows: int) -> list[pa.RecordBatch]:
        """The rows of one round, and its MEMBER rows."""
        names = NumberTexts(self._memory)
        self._count_clusters(names)
        table = self._memory[wire.OUT : wire.OUT + rows * wire.WIDTH].reshape(rows, wire.WIDTH)
        rare = self._read_objects(datagrams, names, table)
        members = self._members_of(datagrams, names, rare.named)
        batches = [member_batch(datagrams, members)] if members else []
        if len(rare.keep):
            batches.append(event_batch(datagrams, names, table, rare))
        return batches + [copy for batch in batches if (copy := for_unicast(batch)) is not None]

    def _count_clusters(self, names: NumberTexts) -> None:
        for number, frames in names.clusters():
            name = names.cluster(number)
            if name in self._clusters or len(self._clusters) < SEEN_LIMIT:
                self._clusters[name] += frames
            else:
                self._more_clusters += 1

    def _read_objects(self, datagrams: Datagrams, names: NumberTexts, table: Int64s) -> Rare:
        """Read the objects that the kernel located, and settle what such a row is."""
        rare = Rare(len(table))
        rare.kind[:] = KIND_OF[table[:, wire.SYSTEM] * 8 % 64 + table[:, wire.TYPE] % 8]
        rare.word[:] = WIRE_OF[table[:, wire.SYSTEM] * 8 % 64 + table[:, wire.TYPE] % 8]
        keep = np.ones(len(table), np.bool_)
        special = (table[:, wire.OBJECT] > 0) | (table[:, wire.SYSTEM] > wire.UNICAST4)
        for at in np.flatnonzero(special).tolist():
            row = table[at].tolist()
            keep[at] = self._read_object(datagrams, names, rare, at, row)
        rare.keep = np.flatnonzero(keep)
        return rare

    def _read_object(
        self, datagrams: Datagrams, names: NumberTexts, rare: Rare, at: int, row: list[int]
    ) -> bool:
        """One such row; false if it is no event (its names are in ``rare.named`` then)."""
        what = row[wire.OBJECT]
        version = row[wire.VERSION] & 0xFFFF
        payload = bytes(datagrams.data[row[wire.PAYLOAD_AT] : row[wire.PAYLOAD_STOP]])
        stop = int(datagrams.stop[row[wire.DATAGRAM]])
        header = bytes(datagrams.data[row[wire.HEADER_AT] : stop])
        if what == wire.LIST:
            ranges = objects.seqno_ranges(payload, version)
            if ranges is None:
                self._not_read(datagrams, row, "xmit-req without a list of seqnos")
                ranges = []
            rare.detail[at] = unescaped(ranges)
            rare.ranges[at] = ranges
            return True
        if what in (wire.PING, wire.BARE_PING):
            source = names.address(row[wire.SOURCE])
            found = objects.ping_names(payload, 0 if what == wire.BARE_PING else version)
            if found is None and payload:
                self._not_read(datagrams, row, "discovery data")
            rare.named += [(row, source, named) for named in found or []]
            return False
        if what == wire.MERGE3:
            source = names.address(row[wire.SOURCE])
            named = objects.merge_name(header, source or "")
            if named and source:
                rare.named.append((row, source, named))
            return False
        rare.apart[at] = True
        if what == wire.STABLE:
            rare.kind[at] = Kind.DIGEST
            rare.word[at] = WIRE_CODE[STABILITY.get(header[0], "STABLE")]
            digest = objects.digest(payload, version)
            if digest is None and payload:
                self._not_read(datagrams, row, "digest")
            rare.detail[at] = unescaped({"digest": digest})
            return True
        return self._read_membership(datagrams, rare, at, row, header[0], payload)

    def _read_membership(
        self, datagrams: Datagrams, rare: Rare, at: int, row: list[int], sort: int,
        payload: bytes,
    ) -> bool:  # fmt: skip
        """A GMS row: numbered views stay what they are on the wire, the others are named by GMS."""
        if sort not in MEMBERSHIP:
            return False
        kind, word = MEMBERSHIP[sort]
        read = objects.join_response if word == "JOIN_RSP" else objects.view_message
        found = None if kind == Kind.NOTICE else read(payload)
        if kind != Kind.NOTICE and found is None and payload:
            self._not_read(datagrams, row, f"payload of {word}")
        part = {Kind.VIEW: "view", Kind.DIGEST: "digest"}.get(kind)
        told = part in (found or {})
        if found is None and (payload or datagrams.outcome[row[wire.DATAGRAM]] == wire.TRUNCATED):
            told = kind == Kind.VIEW  # one that cannot be read: nobody knows what it changes
        if row[wire.SYSTEM] <= wire.UNICAST4:
            if not told:
                rare.apart[at] = False
                return True
            word = WIRE_KINDS[int(rare.word[at])]
        if not told:
            kind = Kind.NOTICE
        rare.kind[at] = kind
        rare.word[at] = WIRE_CODE[word]
        if found is not None:
            rare.detail[at] = unescaped(found)
        elif sort in JOINS and (row[wire.CONN], row[wire.SEQNO]) == FIRST_UNICAST:
            rare.detail[at] = unescaped({"first": True})
        return True

    def _not_read(self, datagrams: Datagrams, row: list[int], what: str) -> None:
        datagram = row[wire.DATAGRAM]
        if datagrams.outcome[datagram] == wire.DECODED:
            datagrams.outcome[datagram] = wire.UNDECODABLE
        if datagrams.outcome[datagram] != wire.TRUNCATED:
            self._unread[what] += 1

    def _noted(self) -> Counter[str]:
        """The kernel's notes as text."""
        found: Counter[str] = Counter()
        for reason, first, second, count in (
            self._memory[wire.NOTED : wire.SLOTS].reshape(-1, 4).tolist()
        ):
            if count:
                found[note_text(reason, first, second)] += count
        return found

    def _members_of(
        self, datagrams: Datagrams, names: NumberTexts,
        named: list[tuple[list[int], str | None, objects.DiscoveredMember]],
    ) -> list[Member]:  # fmt: skip
        """MEMBER rows that were not told before: sockets seen, then names read."""
        if len(self._seen) > SEEN_LIMIT:
            self._seen.clear()
        found: list[Member] = []
        own = {
            (row[wire.FRAME], said.member): said.name
            for row, source, said in named
            if source == said.member
        }
        told = self._memory[wire.MEMBERS + wire.MEMBER : wire.STREAMS]
        told = told[: int(self._memory[wire.W_MEMBERS]) * wire.MEMBER]
        for line in told.reshape(-1, wire.MEMBER).tolist():
            cluster, who, host, port, number, frame, at_ns = line
            member = names.address(who)
            if member is None:
                continue
            found.append(
                Member(
                    names.cluster(cluster), member, frame, at_ns,
                    objects.socket_text(datagrams.hosts[host], port), version_text(number),
                    own.get((frame, member)),
                )
            )  # fmt: skip
        for row, source, said in named:
            datagram = row[wire.DATAGRAM]
            address = said.address
            version: str | None = None
            here = objects.socket_text(
                datagrams.hosts[int(datagrams.source[datagram])],
                int(datagrams.source_port[datagram]),
            )
            if (
                source == said.member
                and row[wire.OBJECT] != wire.BARE_PING
                and (address is None or address == here)
            ):
                address, version = here, version_text(row[wire.VERSION] & 0xFFFF)
            found.append(
                Member(
                    names.cluster(row[wire.CLUSTER]), said.member, row[wire.FRAME],
                    row[wire.AT], address, version, said.name,
                )
            )  # fmt: skip
        fresh: list[Member] = []
        for one in found:
            key = (one.cluster, one.member, one.address, one.version)
            if (*key, one.name) in self._seen or (one.name is None and key in self._seen):
                continue
            self._seen |= {key, (*key, one.name)}
            fresh.append(one)
        return fresh
