"""What raims sends beside PGM over UDP: inbox datagrams and its name service (raims.md 1, 3).

An inbox datagram has a header of its own, with numbers and acknowledgements of one direction of a
link; then messages. Rows: one for the header (``inbox:A:p>B:q|``: DATA, or RETRANSMISSION where it
is a repair, or ACK), then one a message. All decoding needs one datagram only: of a message cut
over several, the first piece tells what it is.
"""

from collections import Counter
from typing import Any, Final

import pyarrow as pa

from seqaudit.decoders import pgm_kernels as wire
from seqaudit.decoders.events import EVENTS, Flag, Kind
from seqaudit.decoders.packets import Datagrams
from seqaudit.decoders.pgm import MODE_BESIDE, Walk, wanted_of
from seqaudit.decoders.raims_messages import (
    TYPE_MCAST,
    is_message,
    message_size,
    read_message,
)
from seqaudit.decoders.raims_rows import RAIMS, RaimsRows, compact
from seqaudit.decoders.settings import DecodeSettings

INBOX: Final = "inbox"
INBOX_HEADER_BYTES: Final = 24
NO_UID: Final = 0xFFFFFFFF

#: Types of the inbox header (raims.md 3).
INBOX_TYPES: Final = {0: "DATA", 1: "RECV_ACK", 2: "SEND_ACK"}


class RaimsDecoder:
    """DatagramDecoder of inbox datagrams and of the name service."""

    system: Final = RAIMS

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
            events: list[dict[str, Any]] = []
            for row in table.tolist():
                body = bytes(datagrams.data[row[wire.BODY_AT] : row[wire.BODY_STOP]])
                if row[wire.SORT] == wire.INBOX:
                    events += self._inbox(datagrams, row, body)
                else:
                    events += self._named(datagrams, row, body)
            if events:
                batches.append(pa.RecordBatch.from_pylist(events, schema=EVENTS))
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

    def _named(self, datagrams: Datagrams, row: list[int], body: bytes) -> list[dict[str, Any]]:
        message = read_message(body)
        assert message is not None, "the kernel has seen the start of a message"
        link = f"name:{_end(datagrams, row, wire.SOURCE, wire.PORT)}"
        return self._rows.events(datagrams, row, link, message)

    def _inbox(self, datagrams: Datagrams, row: list[int], body: bytes) -> list[dict[str, Any]]:
        code, source_uid, destination_uid, seqno, acknowledged, _ = (
            int.from_bytes(body[at : at + 4], "little") for at in range(0, INBOX_HEADER_BYTES, 4)
        )
        sort, repair, fragment = (
            code >> 6 & 7,
            code >> 9 & 1,
            code >> 10 & 1,
        )
        link = (
            f"inbox:{_end(datagrams, row, wire.SOURCE, wire.PORT)}"
            f">{_end(datagrams, row, wire.DESTINATION, wire.TO_PORT)}"
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
            "detail": compact(
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
    ) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        at = INBOX_HEADER_BYTES
        index = 0
        while at < len(body):
            if not is_message(body[at:]):
                if not fragment:  # else a further piece: its first has told what it is
                    self._rows.undecoded["raims link: bytes that are no message"] += 1
                break
            message = read_message(body[at:])
            assert message is not None
            index += 1
            place = [*row]
            place[wire.INDEX] = index
            flag = Flag.PARTIAL if fragment else Flag(0)
            if message.type == TYPE_MCAST and message.number("seqno") is not None:
                events.append(self._rows.data_event(datagrams, place, link, message, flag))
                self._rows.messages["GLSNO" if message.options & 8 else "DATA"] += 1
            else:
                events += self._rows.events(datagrams, place, link, message, flags=int(flag))
            at += message_size(body[at:])
        return events


def _end(datagrams: Datagrams, row: list[int], host: int, port: int) -> str:
    address = datagrams.hosts[row[host]]
    return f"[{address}]:{row[port]}" if ":" in address else f"{address}:{row[port]}"
