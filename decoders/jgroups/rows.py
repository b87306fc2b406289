"""Rows of the JGroups kernel as EVENTS rows: numbers become names, objects are put in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import as_column, int_column, taken, text_column
from seqaudit.decoders.contract.events import EVENTS, Kind, unescaped
from seqaudit.decoders.jgroups import kernels as wire
from seqaudit.decoders.jgroups import objects
from seqaudit.decoders.jgroups.names import SYSTEM_NAMES, WIRE_KINDS
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.packets import Datagrams

#: Of each kind, whether it is a row of both conversations of its cluster.
_SHARED: Final = np.array(
    [kind in (Kind.MEMBER, Kind.VIEW, Kind.NOTICE) for kind in range(max(Kind) + 1)]
)


def escaped(name: str) -> str:
    """A cluster name for use between the bars of a conversation or stream."""
    return name.replace("%", "%25").replace("|", "%7C")


@dataclass(frozen=True, slots=True)
class Member:
    """One MEMBER row."""

    cluster: str
    member: str
    frame: int
    at_ns: int
    address: str | None
    version: str | None
    name: str | None


class Rare:
    """What reading objects adds to the rows of one round, by row."""

    def __init__(self, rows: int) -> None:
        self.kind = np.zeros(rows, np.int64)
        self.word = np.zeros(rows, np.int64)
        self.apart = np.zeros(rows, np.bool_)  # concerns the whole cluster: no stream
        self.detail: dict[int, str] = {}
        self.ranges: dict[int, list[objects.Range]] = {}
        self.named: list[tuple[list[int], str | None, objects.DiscoveredMember]] = []
        self.keep: npt.NDArray[np.intp] = np.zeros(0, np.intp)


class NumberTexts:
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

    def conversation(self, key: int) -> str:
        """Of the unicasts of a cluster, or its number below zero: of its multicasts."""
        if key < 0:
            return f"mcast|{escaped(self.cluster(-key - 1))}"
        return f"unicast|{escaped(self.cluster(key))}"

    def stream(self, key: int) -> str | None:
        """A ``stream_key``; -1 is none."""
        if key == -1:
            return None
        if key < 0:
            return self._parties(-key - 2, 1)
        number = key & 0x1FFFF
        text = "" if number == 1 << 16 else str(number - (number >> 15 << 16))
        return f"{self._parties(key >> 17, 2)}|{text}"

    def _parties(self, key: int, members: int) -> str:
        """The cluster of a ``names_key``, its owner, and its peer if there are two members."""
        shown = [escaped(self.cluster(key >> 30))]
        shown += [self.address(key >> shift & 0x7FFF) or "" for shift in (15, 0)[:members]]
        return "|".join(shown)

    def clusters(self) -> list[tuple[int, int]]:
        """Numbers of the clusters that frames were counted for, and how many."""
        frames = self._entries[:, 3]
        used = np.flatnonzero(frames)
        return list(zip(used.tolist(), frames[used].tolist(), strict=True))


def _texts(keys: Int64s, text: Callable[[int], str | None]) -> pa.Array:
    """``text(key)`` of every key, each distinct key turned into text once."""
    distinct, places = np.unique(keys, return_inverse=True)
    return text_column([text(key) for key in distinct.tolist()], places)


def event_batch(
    datagrams: Datagrams, names: NumberTexts, table: Int64s, rare: Rare
) -> pa.RecordBatch:
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
        "system": taken(SYSTEM_NAMES, int_column(np.where(numbered, system, 0))),
        "carrier": pa.nulls(count, pa.string()),
        "conversation": _texts(
            np.where(unicast, rows[:, wire.CLUSTER], -rows[:, wire.CLUSTER] - 1),
            names.conversation,
        ),
        "stream": _texts(np.where(apart, -1, stream_key), names.stream),
        "source": _texts(rows[:, wire.SOURCE], names.address),
        "destination": _texts(
            np.where(group, 0, rows[:, wire.DESTINATION]), names.address
        ),
        "kind": rare.kind[rare.keep].astype(np.int16),
        "wire_kind": text_column(WIRE_KINDS, rare.word[rare.keep]),
        "seqno": int_column(seqno, no_seqno),
        "stop_seqno": int_column(stop, no_seqno),
        "count": messages,
        "conn_id": int_column(conn, no_conn),
        "stamp": int_column(rows[:, wire.STAMP], no_stamp),
        "flags": rows[:, wire.FLAGS],
        "size": rows[:, wire.SIZE],
        "fresh_id": int_column(rows[:, wire.FRESH], rows[:, wire.FRESH] < 0),
        "last_fresh_id": int_column(rows[:, wire.LAST_FRESH], rows[:, wire.LAST_FRESH] < 0),
        "detail": pa.array(details, pa.string()) if details else pa.nulls(count, pa.string()),
        "payload": pa.nulls(count, pa.binary()),
    }  # fmt: skip
    return pa.RecordBatch.from_arrays(
        [as_column(columns[field.name], field.type) for field in EVENTS],
        schema=EVENTS,
    )


def for_unicast(batch: pa.RecordBatch) -> pa.RecordBatch | None:
    """Copies of what concerns all pairs of a cluster as well: members, views and notices.

    All pairs of a cluster are one conversation, because a member's views and its counter of
    timestamps are the same for all its peers (jgroups.md 4.2).
    """
    kinds = batch.column("kind").to_numpy()
    shared = np.flatnonzero(_SHARED[kinds])
    if not len(shared):
        return None
    copies = taken(batch, int_column(shared))
    column = copies.schema.get_field_index("conversation")
    names = [f"unicast|{name.removeprefix('mcast|')}" for name in copies.column(column).to_pylist()]
    return copies.set_column(column, EVENTS.field("conversation"), pa.array(names, pa.string()))


def member_batch(datagrams: Datagrams, members: list[Member]) -> pa.RecordBatch:
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
                "detail": unescaped(
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
