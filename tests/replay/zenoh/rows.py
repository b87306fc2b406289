"""The decision tables of the zenoh engine, as data: one row, one id (CONTRIBUTING.md 4).

The id is cited where the engine implements the row (without ``zenoh``) and by the tests that show
it (``@pytest.mark.rule("zenoh S6")``). What a capture cannot show says why and has no test.

    H  zenoh.md 8.3 to 8.6, a transport counter      C  9.3, the cache's answer
    S  9.4, the subscriber                           D  the design document's machine (10)
"""

from collections.abc import Mapping
from typing import Final

from tests.replay.decision_row import Row

_HOP: Final = "zenoh.md 8.3"
_FRAGMENT: Final = "zenoh.md 8.5"
_SUBSCRIBER: Final = "zenoh.md 9.4"
_CACHE: Final = "zenoh.md 9.3"
_DOCUMENT: Final = "missed samples document; zenoh.md 10"

_TABLE: Final = (
    Row("zenoh H1", "newer by one: accepted", _HOP),
    Row("zenoh H2", "newer by more, up to mask >> 1: accepted, what was skipped is ignored", _HOP),
    Row("zenoh H3", "equal or older: the whole frame is thrown away", _HOP),
    Row("zenoh H4", "the first expected is the initial sn of the handshake", _HOP),
    Row("zenoh H5", "no handshake captured: the first sn seen defines the start", "zenoh.md 11"),
    Row("zenoh H6", "First: buffer cleared, the message starts here", _FRAGMENT),
    Row("zenoh H7", "not First, buffer empty, patch 1: ignored", _FRAGMENT),
    Row("zenoh H8", "sn == expected: appended; the last one completes the message", _FRAGMENT),
    Row("zenoh H9", "sn != expected: buffer cleared, ignored until First", _FRAGMENT),
    Row("zenoh H10", "after a final fragment one sn is skipped: normal", "zenoh.md 8.4"),
    Row("zenoh H11", "unfinished fragments, one sn skipped, a new message: given up by the sender",
        "zenoh.md 8.4"),
    Row("zenoh H12", "Drop: buffer cleared, nothing delivered", _FRAGMENT),
    Row("zenoh H13", "not First, buffer empty, patch 0: start here", _FRAGMENT),
    Row("zenoh H14", "unfinished fragments, several sns missing, a new message: the final fragment "
        "is among them, and the sn skipped after it", "zenoh.md 8.4"),
    Row("zenoh H15", "a message is read from as many of its pieces as that takes", _FRAGMENT),
    Row("zenoh H16", "handshake not captured, zids known: the initial sn is a hash of both",
        "zenoh.md 8.1"),
    Row("zenoh H17", "pieces thrown away or ignored: their message came, in vain, once all did",
        _FRAGMENT),
    Row("zenoh S1", "no SourceInfo and no timestamp: delivered", _SUBSCRIBER),
    Row("zenoh S2", "no SourceInfo, timestamp: ordered by clock", _SUBSCRIBER),
    Row("zenoh S3", "history runs with max 1, nothing yet: delivered", _SUBSCRIBER),
    Row("zenoh S4", "history runs, nothing yet: pending; at max the oldest and what follows",
        _SUBSCRIBER),
    Row("zenoh S5", "nothing yet: delivered; what came before is not asked for", _SUBSCRIBER),
    Row("zenoh S6", "last + 1: delivered, then pending ones while contiguous", _SUBSCRIBER),
    Row("zenoh S7", "newer, recovery on: pending", _SUBSCRIBER),
    Row("zenoh S8", "newer, recovery off: miss callback, delivered", _SUBSCRIBER),
    Row("zenoh S9", "last or older: dropped", _SUBSCRIBER),
    Row("zenoh S10", "after a live sample, pending and no open query: it asks", _SUBSCRIBER),
    Row("zenoh S11", "gaps seen while a query is open wait for it", _SUBSCRIBER),
    Row("zenoh S12", "a query says last; what the capture does not have is known by it",
        "zenoh.md 9.5, 11"),
    Row("zenoh S13", "parallel identical queries: several subscribers, the last end counts",
        "zenoh.md 9.5"),
    Row("zenoh S14", "heartbeat h newer than last: samples up to h exist", _SUBSCRIBER),
    Row("zenoh S15", "heartbeat query ..h with nothing yet: the whole cache comes", _SUBSCRIBER),
    Row("zenoh S16", "heartbeat not newer: nothing", _SUBSCRIBER),
    Row("zenoh S17", "periodic queries count as open ones: a gap waits for all of them",
        _SUBSCRIBER),
    Row("zenoh S18", "the last open query ends: flush", _SUBSCRIBER),
    Row("zenoh S19", "the initial history ends: flush of all its sources", _SUBSCRIBER),
    Row("zenoh S20", "flush: a hole is a miss of so many, then delivered", _SUBSCRIBER),
    Row("zenoh S21", "flush: last or older is dropped", _SUBSCRIBER),
    Row("zenoh S22", "a timeout ends a query as a final does", _SUBSCRIBER),
    Row("zenoh S23", "late publisher: history query on the token key", _SUBSCRIBER),
    Row("zenoh S24", "sns wrap at 2^32", _SUBSCRIBER),
    Row("zenoh S25", "publisher restart: another source", _SUBSCRIBER),
    Row("zenoh S26", "retention: an idle source is forgotten after an hour, unless a token keeps "
        "it", _SUBSCRIBER),
    Row("zenoh S27", "a query brings last samples that nothing told of: lost and recovered",
        "zenoh.md 9.4 \"periodic queries\""),
    Row("zenoh S28", "identical queries side by side: each subscriber gets its own replies only",
        "zenoh.md 9.5"),
    Row("zenoh S29", "numbered by ROS 2 in its attachments: gaps by source gid, nothing recovers",
        "zenoh.md 9.7"),
    Row("zenoh C1", "_sn=a..b: both ends included, wrap-aware", _CACHE),
    Row("zenoh C2", "_sn=a..", _CACHE),
    Row("zenoh C3", "_sn=..b", _CACHE),
    Row("zenoh C4", "_sn=a: that one", _CACHE),
    Row("zenoh C5", "an end that cannot be parsed is open", _CACHE),
    Row("zenoh C6", "_max=n: of those, the newest n", _CACHE),
    Row("zenoh C7", "_time: outside dropped, without timestamp passed", _CACHE),
    Row("zenoh C8", "none: the whole queue", _CACHE),
    Row("zenoh C9", "oldest first", _CACHE),
    Row("zenoh C10", "without SourceInfo: never in a bounded range", _CACHE),
    Row("zenoh C11", "the revealing sample takes a place: of a burst at most depth - 1 come back",
        "zenoh.md 9.2"),
    Row("zenoh D1", "no SourceInfo: passed on", _DOCUMENT),
    Row("zenoh D2", "first sample of a source: passed on", _DOCUMENT),
    Row("zenoh D3", "the expected one: passed on", _DOCUMENT),
    Row("zenoh D4", "another: pending, and a query for what is between", _DOCUMENT),
    Row("zenoh D5", "replies are sorted and passed on when the query ends", _DOCUMENT),
    Row("zenoh D6", "then what is pending", _DOCUMENT),
    Row("zenoh D7", "still missing: an error in the log, no callback", _DOCUMENT),
    Row("zenoh D8", "periodic queries", _DOCUMENT),
    Row("zenoh D9", "history: replies in order before live samples", _DOCUMENT),
    Row("zenoh D10", "only half of SourceInfo: passed on", _DOCUMENT),
    Row("zenoh D11", "source_id is the session's id: publishers of one session share it, and a "
        "subscriber takes one's samples for repeats of the other's", _DOCUMENT),
    Row("zenoh D12", "cache: samples without SourceInfo are ignored", _DOCUMENT),
    Row("zenoh D13", "cache: a queue a key expression and source", _DOCUMENT),
    Row("zenoh D14", "cache: a full queue loses its oldest", _DOCUMENT),
    Row("zenoh D15", "cache: the prefix is a source or *", _DOCUMENT),
    Row("zenoh D16", "cache: _sn=a..b, a.., ..b", _DOCUMENT),
    Row("zenoh D17", "with_cache(false): no cache", _DOCUMENT),
    Row("zenoh D18", "origin: the local publisher's samples, or any", _DOCUMENT),
    Row("zenoh D19", "<source_id>/key/expr?_sn= is a query of this machine", _DOCUMENT),
    Row("zenoh D20", "it asks for _sn=<last_sn>..<new_sn>: both are there already and come again",
        _DOCUMENT),
    Row("zenoh D21", "cache elsewhere: it has what was lost on the link, not what was lost before",
        _DOCUMENT),
    Row("zenoh D22", "a capture of its own traffic is replayed as it is, nothing is made up",
        "zenoh.md 10"),
)  # fmt: skip

#: All rows by id.
ROWS: Final[Mapping[str, Row]] = {row.id: row for row in _TABLE}
