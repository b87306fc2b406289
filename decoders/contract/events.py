"""The event contract: what every decoder emits and every engine reads (decoders/README.md 3).

One row is one message, or one *run* of messages: consecutive seqnos of one stream, in order, that
differ in nothing an engine looks at. Only signed integers, strings and binary, because Spark takes
no unsigned and no dictionary columns and its timestamps lose nanoseconds.
"""

import json
from collections.abc import Callable
from enum import IntEnum, IntFlag, StrEnum, unique
from typing import Any, Final

import pyarrow as pa

#: ``frame`` inside a job is ``split << FRAME_BITS | number in the split``, the number from 1;
#: splits are numbered over the whole job in the order of the files (decoders/README.md 3).
FRAME_BITS: Final = 40

#: JSON with sorted keys and no spaces: the same value gives the same bytes.
#: Escaped, since the name of a file may be no UTF-8 and Arrow takes nothing else.
compact: Final[Callable[[object], str]] = json.JSONEncoder(
    sort_keys=True, separators=(",", ":")
).encode
#: The same of texts that are UTF-8, as they are.
unescaped: Final[Callable[[object], str]] = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False
).encode

#: Values by name: of a row of EVENTS, of its detail, or of an account.
ByName = dict[str, Any]

#: ``conversation`` of rows that no engine replays: accounts of pieces and names of members.
NO_CONVERSATION: Final = ""
#: ``wire_kind`` of a notice: bytes before a frame of TCP are missing, or could not be read.
HOLE: Final = "HOLE"
#: A connection over TCP of which the capture lacks the begin, at its first message here.
BEGUN: Final = "BEGUN"
#: No more of a connection over TCP follows; ``how`` in the detail is an ``Ending``.
END: Final = "END"
#: What tells of a connection, and is no frame of it.
BETWEEN_FRAMES: Final = frozenset({HOLE, BEGUN, END})


class Ending(StrEnum):
    """How what one end of a connection sent came to its end, as far as the capture shows."""

    CLOSED = "closed"  # its FIN is here, and all before it
    RESET = "reset"  # one of both ends reset the connection
    SILENT = "silent"  # the other end repeated what it said, and got no answer any more
    UNSEEN = "unseen"  # by none of these: what was sent last may not be captured


@unique
class Kind(IntEnum):
    """What an event is, one word for all protocols; ``wire_kind`` keeps the protocol's own."""

    DATA = 1  # a numbered message or a run of them
    RETRANSMISSION = 2  # the same, where the wire itself says that it is a repair (XMIT_RSP, RDATA)
    ACK = 3  # everything up to ``seqno`` (inclusive) is delivered at ``source``
    REQUEST = 4  # NAK, xmit-req, query: ``detail`` is a JSON list of half-open ranges
    SYNC = 5  # send-first-seqno
    HIGHEST = 6  # the sender says that ``seqno`` is its highest
    CLOSE = 7
    VIEW = 8  # membership; with a seqno it is a numbered message as well (a view sent by multicast)
    DIGEST = 9  # delivered and received seqnos per member
    SUBSCRIBE = 10
    NOTICE = 11  # anything else an engine wants to see; ``wire_kind`` says what
    MEMBER = 12  # a member was seen: its address, version and, where the wire has it, its name
    SEGMENT = 13  # bytes, in ``payload``, that the second stage puts together by ``carrier``
    ACCOUNT = 14  # one row a piece: how far it read, frames by outcome, what was skipped
    PROBLEM = 15  # a damaged stretch, an incomplete fragment: one row, ``detail`` says what


@unique
class Flag(IntFlag):
    """Bits of ``flags``. Two messages whose flags differ are never in one run, but for SHARED:
    those hold for a run if they hold for each of its messages.
    """

    OOB = 1  # delivered on arrival, out of order by design
    FIRST = 2  # first message of a connection
    NETWORK_DUPLICATE = 4  # the same datagram (IP id and bytes) was captured shortly before
    UNRELIABLE = 8  # carries no seqno by the sender's choice
    MULTICAST = 16  # the datagram went to a group, not to one member
    CUT = 32  # the capture holds only the beginning of the datagram (snap length)
    PARTIAL = 64  # the first piece of a message that goes on in other datagrams
    LISTED = 128  # came in a list ("batch") of messages; DATA of unicasts only
    ALONE = 256  # came in a datagram or frame of its own; the same
    ASIDE = 1024  # unicast of a feed with requests, to no place that the user named
    ALIKE = 2048  # without IP id, and one with all its bytes was captured shortly before
    REFUSED = 512  # reached nobody: over TCP nothing but a RST answered it; over UDP this is what
    # ICMP quotes of it, at the frame of the ICMP message, in a row beside that of the message
    MISFILED = 65536  # multicast that came in another member's list, whose window takes it


#: Flags that do not end a run.
SHARED: Final = Flag.LISTED | Flag.ALONE


#: Kinds that neither end a run nor are ordered against one.
UNORDERED_KINDS: Final = frozenset({Kind.MEMBER, Kind.ACCOUNT, Kind.PROBLEM, Kind.SEGMENT})

EVENTS: Final = pa.schema(
    [
        pa.field("capture", pa.int64(), nullable=False),  # vantage, from 0; rotated files share one
        pa.field("frame", pa.int64(), nullable=False),  # of the first message; see FRAME_BITS
        pa.field("index", pa.int64(), nullable=False),  # of the message in its frame; -1: MEMBER
        pa.field("last_frame", pa.int64(), nullable=False),  # of the last message of a run
        pa.field("at_ns", pa.int64(), nullable=False),  # capture clock, ns since the epoch
        pa.field("last_at_ns", pa.int64(), nullable=False),
        pa.field("system", pa.string(), nullable=False),  # nakack4, unicast3, jgroups, capture ...
        pa.field("carrier", pa.string()),  # whose history decoding needs (SEGMENT); else null
        pa.field("conversation", pa.string(), nullable=False),  # what one engine instance replays
        pa.field("stream", pa.string()),  # null: the event concerns all streams of its conversation
        pa.field("source", pa.string()),  # member identity; null if the protocol has none here
        pa.field("destination", pa.string()),  # null: all members
        pa.field("kind", pa.int16(), nullable=False),  # Kind
        pa.field("wire_kind", pa.string(), nullable=False),
        pa.field("seqno", pa.int64()),  # first of a run; null for a message that has none
        pa.field("stop_seqno", pa.int64()),  # one past the last of a run; null with seqno
        pa.field("count", pa.int64(), nullable=False),  # messages in the row
        pa.field("conn_id", pa.int64()),
        pa.field("stamp", pa.int64()),  # the protocol's own timestamp counter or embedded time
        pa.field("flags", pa.int64(), nullable=False),  # Flag
        pa.field("size", pa.int64(), nullable=False),  # bytes of the messages, headers included
        pa.field("fresh_id", pa.int64()),  # IP id of the first datagram; null where it has none
        pa.field("last_fresh_id", pa.int64()),  # IP id of the last datagram of the run
        pa.field("detail", pa.string()),  # compact JSON of rare rows
        pa.field("payload", pa.binary()),  # of a SEGMENT; times of a feed's messages (``feeds``)
    ]
)
