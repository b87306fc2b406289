"""JGroups over UDP: datagrams in, EVENTS rows out (jgroups.md 1 to 3; design 3.3, 4.1).

The kernel walks frames and builds runs as rows of integers; here those rows become columns, and
the few objects among them (views, digests, names, lists of seqnos) are read. There is no magic
number, so a frame is claimed only on evidence: a header that nothing else has by chance (ids and
body of a reliability header, or a transport header with a cluster name), or a whole list with one.
A run ends with the chunk, so nothing is open between two calls of ``decode``.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders import jgroups_kernels as wire
from seqaudit.decoders import jgroups_objects as objects
from seqaudit.decoders.events import EVENTS, FRAME_BITS, Kind
from seqaudit.decoders.kernels import Int64s, argument, data_argument, kernel, memory
from seqaudit.decoders.packets import Datagrams
from seqaudit.decoders.settings import DecodeSettings

#: Output rows of one round: 64 KiB of the smallest messages and then some.
ROWS: Final = 32_768
#: Distinct names kept for the account and against repeated MEMBER rows.
CLUSTERS_TOLD: Final = 64
SEEN_LIMIT: Final = 100_000

#: Class id → what it is and its body, from 4.0 on (jgroups.md 2.1 to 2.7).
HEADERS: Final[dict[int, tuple[int, ...]]] = {
    51: (wire.IS_PLAIN, 1, wire.F_ADDRESS, wire.F_IP, wire.F_ADDRESSES_32),  # FD_SOCK
    52: (wire.IS_FRAGMENT, wire.F_FRAGMENT),  # FRAG, FRAG2, FRAG4
    53: (wire.IS_PING, 1, wire.F_TEXT, 1),
    54: (wire.IS_PLAIN, 2, wire.F_ADDRESS),  # VERIFY_SUSPECT
    55: (wire.IS_GMS, 1, wire.F_MERGE_ID),
    56: (wire.IS_STABLE, 1, wire.F_VIEW_ID),
    57: (wire.IS_PLAIN, 1, wire.F_OPT_DIGEST),  # STATE_TRANSFER
    58: (wire.IS_PLAIN, 4, 1),  # COMPRESS
    59: (wire.IS_PLAIN, 1),  # UFC, MFC
    60: (wire.IS_TP,),
    61: (wire.IS_PLAIN, 1, wire.F_NUMBER, 1),  # SEQUENCER
    62: (wire.IS_PLAIN,),  # FD_ALL, FD_ALL2, FD_ALL3
    65: (wire.IS_PLAIN, 1, wire.F_OPT_DIGEST, wire.F_IP),  # STATE, STATE_SOCK
    67: (wire.IS_PLAIN, 1, wire.F_NUMBER, 2),  # RequestCorrelator
    68: (wire.IS_PLAIN, 1, wire.F_NUMBER, 2, wire.F_ADDRESSES_16),
    69: (wire.IS_PLAIN, wire.F_ADDRESS),  # DAISYCHAIN
    74: (wire.IS_PLAIN,),  # COUNTER
    75: (wire.IS_MERGE3, 1, wire.F_VIEW_ID, wire.F_TEXT, wire.F_ADDRESS),
    76: (wire.IS_PLAIN, 1, 2),  # RSVP
    78: (wire.IS_NAKACK2,),
    80: (wire.IS_PLAIN, 1, 1, wire.F_ADDRESS, wire.F_ADDRESS, wire.F_TEXTS_32, wire.F_TEXTS_32),
    82: (wire.IS_UNICAST3,),
    83: (wire.IS_PLAIN, wire.F_TEXT, wire.F_TEXT),  # FORK
    84: (wire.IS_PLAIN, 8),  # PERF
    86: (wire.IS_PLAIN, 1, wire.F_NUMBER, 2),  # SEQUENCER2
    88: (wire.IS_ENCRYPT, 1, 1, wire.F_BUFFER, wire.F_ADDRESS, wire.F_BUFFER),
    91: (wire.IS_FRAGMENT, *[wire.F_NUMBER] * 5, 1),  # FRAG3
    93: (wire.IS_PLAIN, 1, wire.F_ADDRESSES_32, wire.F_TEXT, wire.F_ADDRESS),  # FD_SOCK2
    94: (wire.IS_PLAIN, 2, wire.F_ADDRESS),  # VERIFY_SUSPECT2
    96: (wire.IS_PLAIN,),  # BATCH2
    97: (wire.IS_PLAIN, 16, 16, 16, 16),  # RTT
    98: (wire.IS_PLAIN,),  # PROT_PERF
    99: (wire.IS_NAKACK4,),
    100: (wire.IS_UNICAST4,),
    101: (wire.IS_PLAIN, wire.F_PAIRS_32),  # InfoHeader
}
#: The ids of 3.x (jgroups.md 3). Headers whose body is not certain are left out: what follows them
#: is found again (jgroups.md 1.8).
OLD_HEADERS: Final[dict[int, tuple[int, ...]]] = {
    7: (wire.IS_FRAGMENT, wire.F_FRAGMENT),
    13: (wire.IS_PING, 1, wire.F_TEXT),
    24: (wire.IS_GMS, 1, wire.F_MERGE_ID),
    27: (wire.IS_STABLE, 1, wire.F_VIEW_ID),
    54: (wire.IS_PLAIN, 1),  # UFC, MFC
    56: (wire.IS_TP,),
    61: (wire.IS_PLAIN,),  # FD_ALL
    62: (wire.IS_PLAIN,),  # FD_ALL2
    91: (wire.IS_PLAIN, 1, 2),  # RSVP
    93: (wire.IS_NAKACK2,),
    107: (wire.IS_UNICAST3,),
}
#: Objects that an ObjectMessage may carry (5.x); any other has no known length.
OBJECTS: Final[dict[int, tuple[int, ...]]] = {
    4: (wire.IS_PLAIN, wire.F_ADDRESS, wire.F_NUMBER, wire.F_ADDRESSES_16),  # View
    5: (wire.IS_PLAIN, wire.F_ADDRESS, wire.F_NUMBER),  # ViewId
    9: (wire.IS_PLAIN, wire.F_DIGEST),
    10: (wire.IS_PLAIN, wire.F_DIGEST),
    11: (wire.IS_PLAIN, 16),  # UUID
    15: (wire.IS_PLAIN, wire.F_BITS),  # SeqnoList
    20: (wire.IS_PLAIN, wire.F_SIZED),  # ObjectWrapperSerializable
    22: (wire.IS_PLAIN, 8),  # MillisAddress
}

#: Protocol ids (jgroups.md 2.1); 3.x has its own.
PROTOCOLS: Final[dict[int, str]] = {
    3: "FRAG", 4: "FRAG2", 5: "PING", 6: "MPING", 9: "TCPPING", 10: "TCPGOSSIP",
    11: "VERIFY_SUSPECT", 12: "GMS", 13: "STABLE", 14: "STATE_TRANSFER", 15: "COMPRESS",
    16: "UDP", 17: "TCP", 19: "SEQUENCER", 20: "FD_ALL", 25: "STATE_SOCK", 26: "DISCARD",
    30: "MFC", 31: "UFC", 38: "MERGE3", 39: "RSVP", 41: "NAKACK2", 48: "UNICAST3",
    56: "TCP_NIO2", 57: "TP", 58: "SYM_ENCRYPT", 59: "ASYM_ENCRYPT", 62: "FRAG3", 69: "FRAG4",
    70: "FD_ALL3", 71: "FD_SOCK2", 72: "VERIFY_SUSPECT2", 74: "BATCH2", 76: "NAKACK3",
    77: "NAKACK4", 78: "UNICAST4", 200: "RPC", 203: "FORK",
}  # fmt: skip
OLD_PROTOCOLS: Final[dict[int, str]] = {
    2: "FD", 3: "FD_SOCK", 4: "FRAG", 5: "FRAG2", 6: "PING", 7: "MPING", 10: "TCPPING",
    11: "TCPGOSSIP", 13: "VERIFY_SUSPECT", 14: "GMS", 16: "STABLE", 17: "STATE_TRANSFER",
    19: "COMPRESS", 21: "UDP", 22: "TCP", 25: "ENCRYPT", 26: "SEQUENCER", 29: "FD_ALL",
    30: "FD_ALL2", 31: "FLUSH", 33: "AUTH", 34: "STATE", 35: "STATE_SOCK", 44: "MFC", 45: "UFC",
    53: "COUNTER", 54: "MERGE3", 55: "RSVP", 57: "NAKACK2", 60: "RELAY2", 64: "UNICAST3",
    75: "TP", 200: "RPC", 203: "FORK",
}  # fmt: skip

SYSTEMS: Final = {
    wire.NAKACK4: "nakack4",
    wire.NAKACK3: "nakack3",
    wire.NAKACK2: "nakack2",
    wire.UNICAST3: "unicast3",
    wire.UNICAST4: "unicast4",
}
#: Type byte → our word and the wire's (jgroups.md 2.3, 2.4).
MULTICASTS: Final = {
    1: (Kind.DATA, "MSG"),
    2: (Kind.REQUEST, "XMIT_REQ"),
    3: (Kind.RETRANSMISSION, "XMIT_RSP"),
    4: (Kind.HIGHEST, "HIGHEST_SEQNO"),
    5: (Kind.ACK, "ACK"),
}
UNICASTS: Final = {
    0: (Kind.DATA, "DATA"),
    1: (Kind.ACK, "ACK"),
    2: (Kind.SYNC, "SEND_FIRST_SEQNO"),
    3: (Kind.REQUEST, "XMIT_REQ"),
    4: (Kind.CLOSE, "CLOSE"),
}
#: GmsHeader types that concern an engine (jgroups.md 2.6).
MEMBERSHIP: Final = {
    1: (Kind.NOTICE, "JOIN_REQ"),
    2: (Kind.VIEW, "JOIN_RSP"),
    3: (Kind.NOTICE, "LEAVE_REQ"),
    4: (Kind.NOTICE, "LEAVE_RSP"),
    5: (Kind.VIEW, "VIEW"),
    6: (Kind.NOTICE, "MERGE_REQ"),
    7: (Kind.VIEW, "MERGE_RSP"),
    8: (Kind.VIEW, "INSTALL_MERGE_VIEW"),
    9: (Kind.NOTICE, "CANCEL_MERGE"),
    11: (Kind.NOTICE, "JOIN_REQ_WITH_STATE_TRANSFER"),
    14: (Kind.DIGEST, "GET_DIGEST_RSP"),
    15: (Kind.DIGEST, "INSTALL_DIGEST"),
}
STABILITY: Final = {1: "STABLE_GOSSIP", 2: "STABILITY"}

_WIRE_KINDS: Final = sorted(
    {word for table in (MULTICASTS, UNICASTS, MEMBERSHIP) for _, word in table.values()}
    | {*STABILITY.values(), "STABLE"}
)
#: Kinds that are rows of both conversations of their cluster.
_SHARED: Final = np.array([Kind.MEMBER, Kind.VIEW, Kind.NOTICE], np.int16)
_WIRE_CODE: Final = {word: code for code, word in enumerate(_WIRE_KINDS)}
_SYSTEM_NAMES: Final = pa.array(["jgroups", *(SYSTEMS[code] for code in range(1, 6))], pa.string())


def _table(pick: int) -> Int64s:
    """(system * 8 + type) → Kind (pick 0) or code of the wire kind (pick 1)."""
    table = np.zeros(64, np.int64)
    for system in SYSTEMS:
        types = MULTICASTS if system <= wire.NAKACK2 else UNICASTS
        for sort, (kind, word) in types.items():
            table[system * 8 + sort] = (int(kind), _WIRE_CODE[word])[pick]
    return table


_KIND_OF: Final = _table(0)
_WIRE_OF: Final = _table(1)


def _layout() -> Int64s:
    """The three tables of the kernel end to end."""
    lines = np.zeros((3 * wire.CLASSES, wire.FIELDS), np.int64)
    for block, table in enumerate((OLD_HEADERS, HEADERS, OBJECTS)):
        for number, fields in table.items():
            lines[block * wire.CLASSES + number, : len(fields)] = fields
    return lines.reshape(-1)


def version_text(version: int) -> str:
    """A version short as JGroups prints it (jgroups.md 1.7): 0x2980 is 5.6.0."""
    return f"{version >> 11}.{version >> 6 & 31}.{version & 63}"


def escaped(name: str) -> str:
    """A cluster name for use between the bars of a conversation or stream."""
    return name.replace("%", "%25").replace("|", "%7C")


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


class JGroupsDecoder:
    """DatagramDecoder of JGroups: claims datagrams, returns their rows, keeps the account."""

    system: Final = "jgroups"

    def __init__(self, settings: DecodeSettings) -> None:
        self._ports = {
            port: 1 if system == self.system else -1
            for protocol, port, system in settings.decode_as
            if protocol == "udp"
        }
        self._memory = memory(wire.OUT + ROWS * wire.WIDTH)
        self._memory[wire.LAYOUT : wire.COUNTS] = _layout()
        self._clusters: Counter[str] = Counter()
        self._more_clusters = 0
        self._unread: Counter[str] = Counter()
        self._seen: set[tuple[object, ...]] = set()

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        """Claim what is JGroups (``outcome``) and return its rows."""
        if datagrams.count == 0:
            return []
        compile_it = datagrams.compile_it
        module = kernel("jgroups_kernels", compile_it=compile_it)
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
        """Messages by system and wire kind, what was left undecoded, how sure we are."""
        counts = self._memory
        messages: dict[str, dict[str, int]] = {}
        for code, name in SYSTEMS.items():
            types = MULTICASTS if code <= wire.NAKACK2 else UNICASTS
            for sort, (_, word) in types.items():
                if number := int(counts[wire.COUNTS + code * 8 + sort]):
                    messages.setdefault(name, {})[word] = number
        for at in np.flatnonzero(counts[wire.C_OTHER : wire.C_OTHER + 2048]).tolist():
            names = messages.setdefault("jgroups", {})
            name = _protocol(at)
            names[name] = names.get(name, 0) + int(counts[wire.C_OTHER + at])
        versions = counts[wire.C_VERSIONS : wire.C_VERSIONS + 65536]
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
            "clusters": dict(self._clusters.most_common(CLUSTERS_TOLD)),
            "clusters_more": self._more_clusters,
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
        names = _Names(self._memory)
        self._count_clusters(names)
        table = self._memory[wire.OUT : wire.OUT + rows * wire.WIDTH].reshape(rows, wire.WIDTH)
        rare = self._read_objects(datagrams, names, table)
        members = self._members_of(datagrams, names, rare.named)
        batches = [_member_batch(datagrams, members)] if members else []
        if len(rare.keep):
            batches.append(_event_batch(datagrams, names, table, rare))
        return batches + [copy for batch in batches if (copy := _for_unicast(batch)) is not None]

    def _count_clusters(self, names: _Names) -> None:
        for number, frames in names.clusters():
            name = names.cluster(number)
            if name in self._clusters or len(self._clusters) < SEEN_LIMIT:
                self._clusters[name] += frames
            else:
                self._more_clusters += frames

    def _read_objects(self, datagrams: Datagrams, names: _Names, table: Int64s) -> _Rare:
        """Read the objects that the kernel located, and settle what such a row is."""
        rare = _Rare(len(table))
        rare.kind[:] = _KIND_OF[table[:, wire.SYSTEM] * 8 % 64 + table[:, wire.TYPE] % 8]
        rare.word[:] = _WIRE_OF[table[:, wire.SYSTEM] * 8 % 64 + table[:, wire.TYPE] % 8]
        keep = np.ones(len(table), np.bool_)
        special = (table[:, wire.OBJECT] > 0) | (table[:, wire.SYSTEM] > wire.UNICAST4)
        for at in np.flatnonzero(special).tolist():
            row = table[at].tolist()
            keep[at] = self._read_object(datagrams, names, rare, at, row)
        rare.keep = np.flatnonzero(keep)
        return rare

    def _read_object(
        self, datagrams: Datagrams, names: _Names, rare: _Rare, at: int, row: list[int]
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
            rare.detail[at] = compact(ranges)
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
            rare.word[at] = _WIRE_CODE[STABILITY.get(header[0], "STABLE")]
            digest = objects.digest(payload, version)
            if digest is None and payload:
                self._not_read(datagrams, row, "digest")
            rare.detail[at] = compact({"digest": digest})
            return True
        return self._read_membership(datagrams, rare, at, row, header[0], payload)

    def _read_membership(
        self, datagrams: Datagrams, rare: _Rare, at: int, row: list[int], sort: int,
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
        if row[wire.SYSTEM] <= wire.UNICAST4:
            if found is None or "view" not in found:
                rare.apart[at] = False
                return True
            word = _WIRE_KINDS[int(rare.word[at])]
        part = {Kind.VIEW: "view", Kind.DIGEST: "digest"}.get(kind)
        if part and (found is None or part not in found):
            kind = Kind.NOTICE
        rare.kind[at] = kind
        rare.word[at] = _WIRE_CODE[word]
        if found is not None:
            rare.detail[at] = compact(found)
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
                found[_note_text(reason, first, second)] += count
        return found

    def _members_of(
        self, datagrams: Datagrams, names: _Names,
        named: list[tuple[list[int], str | None, objects.Named]],
    ) -> list[_Member]:  # fmt: skip
        """MEMBER rows that were not told before: sockets seen, then names read."""
        if len(self._seen) > SEEN_LIMIT:
            self._seen.clear()
        found: list[_Member] = []
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
                _Member(
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
                _Member(
                    names.cluster(row[wire.CLUSTER]), said.member, row[wire.FRAME],
                    row[wire.AT], address, version, said.name,
                )
            )  # fmt: skip
        fresh: list[_Member] = []
        for one in found:
            key = (one.cluster, one.member, one.address, one.version)
            if (*key, one.name) in self._seen or (one.name is None and key in self._seen):
                continue
            self._seen |= {key, (*key, one.name)}
            fresh.append(one)
        return fresh


@dataclass(frozen=True, slots=True)
class _Member:
    """One MEMBER row."""

    cluster: str
    member: str
    frame: int
    at_ns: int
    address: str | None
    version: str | None
    name: str | None


class _Rare:
    """What reading objects adds to the rows of one round, by row."""

    def __init__(self, rows: int) -> None:
        self.kind = np.zeros(rows, np.int64)
        self.word = np.zeros(rows, np.int64)
        self.apart = np.zeros(rows, np.bool_)  # concerns the whole cluster: no stream
        self.detail: dict[int, str] = {}
        self.ranges: dict[int, list[objects.Range]] = {}
        self.named: list[tuple[list[int], str | None, objects.Named]] = []
        self.keep: npt.NDArray[np.intp] = np.zeros(0, np.intp)


class _Names:
    """Numbers of the kernel as text, each read once."""

    def __init__(self, memory: Int64s) -> None:
        count = int(memory[wire.W_ENTRIES])
        self._memory = memory
        self._entries = memory[wire.ENTRIES : wire.ENTRIES + (count + 1) * 4].reshape(-1, 4)
        self._addresses: dict[int, str | None] = {0: None}
        self._clusters: dict[int, str] = {0: ""}

    def raw(self, number: int) -> bytes:
        _, start, size, _ = self._entries[number].tolist()
        words = self._memory[start : start + size // 4].astype(">u4").tobytes()
        tail = int(self._memory[start + size // 4])
        return words + tail.to_bytes(4, "big")[4 - size % 4 :] if size % 4 else words

    def address(self, number: int) -> str | None:
        if number not in self._addresses:
            self._addresses[number] = objects.address_text(self.raw(number))
        return self._addresses[number]

    def cluster(self, number: int) -> str:
        if number not in self._clusters:
            self._clusters[number] = self.raw(number).decode("utf-8", "replace")
        return self._clusters[number]

    def clusters(self) -> list[tuple[int, int]]:
        """Numbers of the clusters that frames were counted for, and how many."""
        frames = self._entries[:, 3]
        used = np.flatnonzero(frames)
        return list(zip(used.tolist(), frames[used].tolist(), strict=True))


def _protocol(code: int) -> str:
    if code % 1024 == 0:
        return "user defined"
    table = OLD_PROTOCOLS if code >= 1024 else PROTOCOLS
    return table.get(code % 1024, f"protocol {code % 1024}")


def _note_text(reason: int, first: int, second: int) -> str:
    if reason in (wire.HEADER, wire.SKIPPED_HEADER):
        text = f"header class {first} (protocol {second})"
        return f"{text}, skipped" if reason == wire.SKIPPED_HEADER else text
    if reason in (wire.OBJECT_CLASS, wire.SKIPPED_OBJECT):
        text = f"object class {first}" if first > 0 else f"object of type code {-first}"
        return f"{text}, skipped" if reason == wire.SKIPPED_OBJECT else text
    if reason == wire.MESSAGE_TYPE:
        return f"message type {first}"
    if reason == wire.ENCRYPTED:
        return "encrypted"
    if reason == wire.DEPTH:
        return f"messages nested deeper than {first}"
    return "other"


def _texts(keys: Int64s, text: Any) -> pa.Array:
    """``text(key)`` of every key, each distinct key turned into text once."""
    distinct, places = np.unique(keys, return_inverse=True)
    words = pa.array([text(key) for key in distinct.tolist()], pa.string())
    return words.take(pa.array(places))


def _event_batch(datagrams: Datagrams, names: _Names, table: Int64s, rare: _Rare) -> pa.RecordBatch:
    """EVENTS rows of the kept rows of ``table``."""
    rows = table[rare.keep]
    count = len(rows)
    system = rows[:, wire.SYSTEM]
    apart = rare.apart[rare.keep]
    numbered = system <= wire.UNICAST4
    unicast = (system == wire.UNICAST3) | (system == wire.UNICAST4)
    # three numbers below 2**15 and a conn-id of 16 bits, or none, fill 62 bits
    names_key = (rows[:, wire.CLUSTER] << 15 | rows[:, wire.OWNER]) << 15 | rows[:, wire.PEER]
    conn = rows[:, wire.CONN]
    stream_key = names_key << 17 | np.where(conn == wire.NONE, 1 << 16, conn & 0xFFFF)
    stream_key = np.where(unicast, stream_key, -names_key - 2)

    def cluster(key: int) -> str:
        return escaped(names.cluster(key >> 30))

    def address(key: int) -> str:
        return names.address(key & 0x7FFF) or ""

    def conversation(key: int) -> str:
        if key < 0:
            return f"mcast|{escaped(names.cluster(-key - 1))}"
        return f"unicast|{escaped(names.cluster(key))}"

    def stream(key: int) -> str | None:
        if key == -1:
            return None
        if key < 0:
            return f"{cluster(-key - 2)}|{address((-key - 2) >> 15)}"
        number = key & 0x1FFFF
        ids = key >> 17
        text = "" if number == 1 << 16 else str(number - (number >> 15 << 16))
        return f"{cluster(ids)}|{address(ids >> 15)}|{address(ids)}|{text}"

    seqno, stop, messages = (
        rows[:, column].copy() for column in (wire.SEQNO, wire.STOP, wire.COUNT)
    )
    details: list[str | None] | None = None
    if rare.detail:
        details = [rare.detail.get(at) for at in rare.keep.tolist()]
    if rare.ranges:
        for place, at in enumerate(rare.keep.tolist()):
            ranges = rare.ranges.get(at)
            if ranges is not None:
                seqno[place] = ranges[0][0] if ranges else wire.NONE
                stop[place] = ranges[-1][1] if ranges else wire.NONE
                messages[place] = sum(high - low for low, high in ranges)
    no_seqno = (seqno == wire.NONE) | ~numbered
    no_conn = (conn == wire.NONE) | ~unicast
    no_stamp = (rows[:, wire.STAMP] == wire.NONE) | ~unicast
    group = ~unicast & (rows[:, wire.TYPE] == 1) & numbered
    columns = {
        "capture": np.full(count, datagrams.capture, np.int64),
        "frame": rows[:, wire.FRAME],
        "index": rows[:, wire.INDEX],
        "last_frame": rows[:, wire.LAST_FRAME],
        "at_ns": rows[:, wire.AT],
        "last_at_ns": rows[:, wire.LAST_AT],
        "system": _SYSTEM_NAMES.take(pa.array(np.where(numbered, system, 0))),
        "carrier": pa.nulls(count, pa.string()),
        "conversation": _texts(
            np.where(unicast, rows[:, wire.CLUSTER], -rows[:, wire.CLUSTER] - 1), conversation
        ),
        "stream": _texts(np.where(apart, -1, stream_key), stream),
        "source": _texts(rows[:, wire.SOURCE], names.address),
        "destination": _texts(
            np.where(group, 0, rows[:, wire.DESTINATION]), names.address
        ),
        "kind": rare.kind[rare.keep].astype(np.int16),
        "wire_kind": pa.array(_WIRE_KINDS, pa.string()).take(pa.array(rare.word[rare.keep])),
        "seqno": pa.array(seqno, mask=no_seqno),
        "stop_seqno": pa.array(stop, mask=no_seqno),
        "count": messages,
        "conn_id": pa.array(conn, mask=no_conn),
        "stamp": pa.array(rows[:, wire.STAMP], mask=no_stamp),
        "flags": rows[:, wire.FLAGS],
        "size": rows[:, wire.SIZE],
        "fresh_id": pa.array(rows[:, wire.FRESH], mask=rows[:, wire.FRESH] < 0),
        "last_fresh_id": pa.array(rows[:, wire.LAST_FRESH], mask=rows[:, wire.LAST_FRESH] < 0),
        "detail": pa.array(details, pa.string()) if details else pa.nulls(count, pa.string()),
        "payload": pa.nulls(count, pa.binary()),
    }  # fmt: skip
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
            for value in (columns[name] for name in EVENTS.names)
        ],
        schema=EVENTS,
    )


def _for_unicast(batch: pa.RecordBatch) -> pa.RecordBatch | None:
    """Copies of what concerns all pairs of a cluster as well: members, views and notices.

    All pairs of a cluster are one conversation, because a member's views and its counter of
    timestamps are the same for all its peers (jgroups.md 4.2).
    """
    kinds = batch.column("kind").to_numpy()
    shared = np.flatnonzero(np.isin(kinds, _SHARED))
    if not len(shared):
        return None
    taken = batch.take(pa.array(shared))
    column = taken.schema.get_field_index("conversation")
    names = [f"unicast|{name.removeprefix('mcast|')}" for name in taken.column(column).to_pylist()]
    return taken.set_column(column, EVENTS.field("conversation"), pa.array(names, pa.string()))


def _member_batch(datagrams: Datagrams, members: list[_Member]) -> pa.RecordBatch:
    """MEMBER rows; null columns are left out of the dicts."""
    return pa.RecordBatch.from_pylist(
        [
            {
                "capture": datagrams.capture,
                "frame": one.frame,
                "index": -1,
                "last_frame": one.frame,
                "at_ns": one.at_ns,
                "last_at_ns": one.at_ns,
                "system": "jgroups",
                "conversation": f"mcast|{escaped(one.cluster)}",
                "source": one.member,
                "kind": int(Kind.MEMBER),
                "wire_kind": "MEMBER",
                "count": 0,
                "flags": 0,
                "size": 0,
                "detail": compact(
                    {
                        key: value
                        for key, value in (
                            ("address", one.address),
                            ("name", one.name),
                            ("version", one.version),
                        )
                        if value is not None
                    }
                ),
            }
            for one in members
        ],
        schema=EVENTS,
    )
