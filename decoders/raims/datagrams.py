"""What raims sends beside PGM over UDP: inbox datagrams and its name service (raims.md 1, 3).

An inbox datagram has a header of its own, with numbers and acknowledgements of one direction of a
link; then messages. Rows: one for the header (``inbox:A:p>B:q|``: DATA, or RETRANSMISSION where it
is a repair, or ACK), then one a message. All decoding needs one datagram only: of a message cut
over several, the first piece tells what it is.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import int_column, taken
from seqaudit.decoders.contract.event_columns import (
    EventRows,
    event_batch,
    grouped,
    repeated,
    texts,
)
from seqaudit.decoders.contract.events import ByName, Flag, Kind, unescaped
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.packets import Datagrams
from seqaudit.decoders.raims import pgm_kernels as wire
from seqaudit.decoders.raims.messages import (
    is_message,
    message_size,
    read_message,
)
from seqaudit.decoders.raims.pgm import MODE_BESIDE, Walk, wanted_of
from seqaudit.decoders.raims.rows import NO_MESSAGE, RAIMS, DatagramLinks, RaimsRows

INBOX: Final = "inbox"
INBOX_HEADER_BYTES: Final = 24
NO_UID: Final = 0xFFFFFFFF

#: Types of the inbox header (raims.md 3).
INBOX_TYPES: Final = {0: "DATA", 1: "RECV_ACK", 2: "SEND_ACK"}


class RaimsDecoder:
    """DatagramDecoder of inbox datagrams and of the name service."""

    system: Final = RAIMS
    kernel_file: Final = "raims.pgm_kernels"

    def __init__(self, settings: DecodeSettings) -> None:
        self._settings = settings
        self._walk = Walk(MODE_BESIDE)
        self._rows = RaimsRows()
        self._packets: Counter[str] = Counter()

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        """Claim what is raims (``outcome``) and return its rows."""
        if datagrams.count == 0:
            return []
        batches: list[pa.RecordBatch] = []
        wanted = wanted_of(datagrams, self._settings, self.system)
        for table in self._walk.rounds(datagrams, wanted):
            if not len(table):
                continue
            sort = table[:, wire.SORT]
            links = {int(n): self._link(datagrams, int(n)) for n in grouped(table[:, wire.LINK])[0]}
            details = self._walk.details(table)
            heads = np.flatnonzero(sort == wire.INBOX_HEAD)
            if len(heads):
                told = taken(details, int_column(heads))
                batches.append(self._heads(datagrams, EventRows(table, heads), links, told))
            where = DatagramLinks(datagrams, links, "")
            own = {wire.INBOX: self._inbox, wire.NAMED: self._named}
            batches += self._rows.batches(where, self._walk.memory, table, details, own)
        return batches

    def finish(self) -> list[pa.RecordBatch]:
        """Nothing is open between two datagrams."""
        return []

    def account(self) -> dict[str, object]:
        """Datagrams and messages by name."""
        messages: dict[str, dict[str, int]] = {}
        if self._packets:
            messages[INBOX] = dict(self._packets)
        if self._rows.messages:
            messages[RAIMS] = dict(self._rows.messages)
        certain = sum(self._packets.values()) + self._rows.messages["NAME"]
        return {
            "messages_by": messages,
            "undecoded": dict(sorted(self._rows.undecoded.items())),
            "sureness": {"certain": certain} if certain else {},
        }

    def _link(self, datagrams: Datagrams, number: int) -> str:
        """The two ends of an inbox, by the kernel's number."""
        sender, receiver = (divmod(end, 1 << 16) for end in self._walk.link(number))
        if not number:
            return ""
        hosts = datagrams.hosts
        return f"inbox:{_end(hosts[sender[0]], sender[1])}>{_end(hosts[receiver[0]], receiver[1])}"

    def _heads(
        self, datagrams: Datagrams, rows: EventRows, links: Mapping[int, str], details: pa.Array
    ) -> pa.RecordBatch:
        """Inbox headers as the kernel has read them."""
        count = len(rows)
        sort, repair = rows.column(wire.COLUMN) & 3, rows.column(wire.COLUMN) >> 2
        for code, number in enumerate(np.bincount(sort).tolist()):
            if number:
                self._packets[INBOX_TYPES[code]] += number
        acks = sort > 0
        seqno = np.where(acks, rows.column(wire.ACKNOWLEDGED), rows.column(wire.SEQNO))
        data = np.where(repair == 1, int(Kind.RETRANSMISSION), int(Kind.DATA))
        hosts = datagrams.hosts
        return event_batch(
            count,
            {
                "capture": np.full(count, datagrams.capture, np.int64),
                "frame": rows.column(wire.FRAME),
                "index": rows.column(wire.INDEX),
                "last_frame": rows.column(wire.FRAME),
                "at_ns": rows.column(wire.AT),
                "last_at_ns": rows.column(wire.AT),
                "system": repeated(INBOX, count),
                "conversation": repeated(RAIMS, count),
                "stream": texts(rows.column(wire.LINK), lambda number: f"{links[number]}|"),
                "source": texts(rows.column(wire.SOURCE), hosts.__getitem__),
                "destination": texts(rows.column(wire.DESTINATION), hosts.__getitem__),
                "kind": np.where(acks, int(Kind.ACK), data).astype(np.int16),
                "wire_kind": texts(sort, INBOX_TYPES.__getitem__),
                "seqno": seqno,
                "stop_seqno": seqno + 1,
                "count": rows.column(wire.COUNT),
                "conn_id": rows.column(wire.CONNECTION),
                "stamp": rows.column(wire.ACKNOWLEDGED),
                "flags": rows.column(wire.FLAGS),
                "size": rows.column(wire.SIZE),
                "fresh_id": rows.column(wire.SQN),
                "last_fresh_id": rows.column(wire.SQN),
                "detail": details,
            },
        )

    def _named(self, datagrams: Datagrams, row: list[int], body: bytes) -> list[ByName]:
        message = read_message(body)
        assert message is not None, "the kernel has seen the start of a message"
        link = f"name:{_end(datagrams.hosts[row[wire.SOURCE]], row[wire.PORT])}"
        return self._rows.events(datagrams, row, link, message)

    def _inbox(self, datagrams: Datagrams, row: list[int], body: bytes) -> list[ByName]:
        code, source_uid, destination_uid, seqno, acknowledged, _ = (
            int.from_bytes(body[at : at + 4], "little") for at in range(0, INBOX_HEADER_BYTES, 4)
        )
        sort, repair, fragment = (
            code >> 6 & 7,
            code >> 9 & 1,
            code >> 10 & 1,
        )
        link = (
            f"inbox:{_end(datagrams.hosts[row[wire.SOURCE]], row[wire.PORT])}"
            f">{_end(datagrams.hosts[row[wire.DESTINATION]], row[wire.TO_PORT])}"
        )
        self._packets[INBOX_TYPES[sort]] += 1
        row[wire.SQN] = seqno
        head = self._rows.base(datagrams, row, link) | {
            "system": INBOX,
            "source": datagrams.hosts[row[wire.SOURCE]],
            "destination": datagrams.hosts[row[wire.DESTINATION]],
            "wire_kind": INBOX_TYPES[sort],
            # the connection, and what its sender calls its peer: neither may change within a run
            "conn_id": code >> 12 & 1023 | (0 if source_uid == NO_UID else source_uid + 1) << 10,
            "stamp": acknowledged,
            "detail": unescaped(
                {
                    "ident": code >> 12 & 1023,
                    "dest_id": code >> 22,
                    "source_uid": None if source_uid == NO_UID else source_uid,
                    "destination_uid": None if destination_uid == NO_UID else destination_uid,
                    "fragment": bool(fragment),
                }
            ),
        }
        if sort:
            head |= {"kind": int(Kind.ACK), "seqno": acknowledged, "stop_seqno": acknowledged + 1}
            return [head]
        kind = Kind.RETRANSMISSION if repair else Kind.DATA
        head |= {"kind": int(kind), "seqno": seqno, "stop_seqno": seqno + 1}
        return [head, *self._messages(datagrams, row, link, body, fragment=bool(fragment))]

    def _messages(
        self, datagrams: Datagrams, row: list[int], link: str, body: bytes, *, fragment: bool
    ) -> list[ByName]:
        events: list[ByName] = []
        at = INBOX_HEADER_BYTES
        index = 0
        while at < len(body):
            if not is_message(body[at:]):
                if not fragment:  # else a further piece: its first has told what it is
                    self._rows.is_undecoded(row, NO_MESSAGE)
                break
            message = read_message(body[at:])
            assert message is not None
            index += 1
            place = [*row]
            place[wire.INDEX] = index
            flag = Flag.PARTIAL if fragment else Flag(0)
            events += self._rows.inbox_message(datagrams, place, link, message, flag)
            at += message_size(body[at:])
        return events


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
