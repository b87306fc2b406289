"""Each row of the unicast tables, undone in the engine: a test that cites it fails (CONTRIBUTING.md
4).

A mutant whose text is gone is of a row that was rewritten.
"""

from collections.abc import Mapping
from typing import Final

import pytest

from tests.replay.jgroups.unicast import test_documents as test_unicast_documents
from tests.replay.jgroups.unicast import test_receiver as test_unicast_receiver
from tests.replay.jgroups.unicast import test_sender as test_unicast_sender
from tests.replay.jgroups.unicast.rows import ROWS
from tests.replay.mutants import Mutant, failing, undo

TESTS: Final = (test_unicast_sender, test_unicast_receiver, test_unicast_documents)


def _sender(old: str, new: str = "pass") -> Mutant:
    return Mutant("jgroups.unicast.sender", old, new)


def _receiver(old: str, new: str = "pass") -> Mutant:
    return Mutant("jgroups.unicast.receiver", old, new)


def _states(old: str, new: str = "pass") -> Mutant:
    return Mutant("jgroups.unicast.connection_states", old, new)


def _facts(old: str, new: str = "pass") -> Mutant:
    return Mutant("jgroups.unicast.receiver_facts", old, new)


_NOT_HERE: Final = "if entry is None or entry.stream is not stream:\n            "
_OTHER: Final = "if (self._unicast4 and not greater) or not first:  # B5, B6"
_NEW_ENTRY: Final = _sender("(self._lives).opened(mark, why)", "(self._lives).closed(mark, why)")
_TOO_LATE: Final = _sender("self.silence_ns = two_ticks_ns(tick_ns)", "self.silence_ns = tick_ns")
_STALE: Final = _sender("return not newer(event.stamp, entry.last_stamp)", "return False")
_ANSWER: Final = _sender("{expected, entry.acked + 1}", "{expected + 1, entry.acked + 2}")
_HIGHEST: Final = _sender("if stop - first == 1 and first == entry.sent:", "if False:")
_EXPIRED: Final = _states("self._enter(CLOSING, expired, IDLE)")
_REMOVED: Final = _sender("stream.life_in(self._lives).close_sent(mark)")
_WITHOUT: Final = _states('self._enter(CLOSING, mark, "a view without the peer")')
_PURGED: Final = _sender("purged.append((first, min(stop, entry.acked + 1)))")
_SENDING: Final = _sender('stream.life_in(self._lives).used(moment, "sending")')
_ACK_DUE: Final = Mutant(
    "jgroups.unicast.receiver_facts", "return self.tick_ns * 12 // 10 + 50_000_000", "return 10**12"
)
_NO_WINDOW: Final = _receiver("if not first:  # B2", "if False:")
_OPENED: Final = _receiver(
    'event.seqno - 1, event.first_mark(), "first message")  # B1',
    '0, event.first_mark(), "first message")',
)
_OTHER_KEPT: Final = _receiver(_OTHER, "if self._unicast4 and not greater:")
_NEEDLESS: Final = Mutant(
    "jgroups.unicast.receiver_copies",
    "received.copy(part, event, needed=False)",
    "received.copy(part, event, needed=True)",
)
_TOO_SOON: Final = Mutant(
    "jgroups.unicast.receiver_facts", "return self.tick_ns * 8 // 10 - 50_000_000", "return 0"
)
_ASKED: Final = _receiver("            received.request(first, stop, mark)\n", "\n")
_CLOSE: Final = _receiver("if entry is not None and entry.stream is stream:  # B21", "if False:")
_NUMBERS: Final = Mutant(
    "jgroups.stream",
    "return self.ever.add(event.seqno, event.stop_seqno)",
    "return [(event.seqno, event.stop_seqno)]",
)
_STAMPS: Final = Mutant(
    "jgroups.unicast.rule_sets",
    "return 0 < (stamp - last) % (1 << 32) < 1 << 31",
    "return stamp > last",
)

MUTANTS: Final[Mapping[str, Mutant]] = {
    "U1": _NUMBERS,
    "U2": _sender("timestamps and rules != BEFORE_SYNC", "timestamps"),
    "U3": _receiver("facts.early_acks.add(mark)  # U3"),
    "U4": _HIGHEST,
    "U5": _TOO_LATE,
    "U6": Mutant("jgroups.unicast.engine", ' and given.value("rules") == CODE,', ","),
    "U7": _ASKED,
    "U8": _ACK_DUE,
    "U9": _TOO_LATE,
    "U10": _WITHOUT,
    "U11": _SENDING,
    "U12": _NEW_ENTRY,
    "U13": _CLOSE,
    "U15": _OPENED,
    "U16": _NO_WINDOW,
    "U17": _facts("least = self.tick_ns if", "least = 4 * self.tick_ns if"),
    "U18": _sender("facts.syncs_first.add(mark)"),
    "U19": _EXPIRED,
    "U20": _REMOVED,
    "U21": _sender("facts.memory.acked(level, mark)"),
    "S1": _NO_WINDOW,
    "S2": _OTHER_KEPT,
    "S3": _facts("if self.rules == DOCUMENT and not entry:", "if False:"),
    "S4": _STAMPS,
    "S5": _STALE,
    "S6": _ANSWER,
    "S7": _STALE,
    "S8": _sender(
        "entry.last_stamp, entry.stamped = event.stamp, mark\n        entry.last_ack",
        "pass\n        entry.last_ack",
    ),
    "S9": _STAMPS,
    "S10": _sender("rules == DOCUMENT", "False"),
    "S11": _receiver("facts.after_view.add(event.seqno, event.stop_seqno, event.first_mark())"),
    "A1": _NEW_ENTRY,
    "A2": _SENDING,
    "A3": _NUMBERS,
    "A4": _sender("SenderModel(self._capacity, self._proof_ns)", "SenderModel(None, 1)"),
    "A5": _sender(_NOT_HERE + "facts.other_conn", "if False:\n            facts.other_conn"),
    "A6": _sender("entry is None or entry.stream is not stream:\n            facts.other_conn",
                  "entry is None:\n            facts.other_conn"),
    "A7": _STALE,
    "A8": _sender("level = min(event.seqno, entry.sent) if stream.arrivals else", "level ="),
    "A9": _sender("if self._out_of_order(entry, event):  # A9", "if False:"),
    "A10": _ANSWER,
    "A11": _sender(
        "if entry.acked < entry.sent:  # else A11", "if True:",
    ),
    "A12": _sender(_NOT_HERE + "return  # A12", "if False:\n            return"),
    "A13": _sender("kept.add(max(first, entry.acked + 1), min(stop, entry.sent + 1))"),
    "A14": _PURGED,
    "A15": _HIGHEST,
    "A16": _TOO_LATE,
    "A17": _EXPIRED,
    "A18": _REMOVED,
    "A19": _WITHOUT,
    "A20": _states('self._enter(OPEN, mark, "a view with the peer")'),
    "A21": Mutant("jgroups.unicast.summary", 'stream.kinds("CLOSE")', 'stream.kinds("ACK")'),
    "B1": _OPENED,
    "B2": _NO_WINDOW,
    "B3": _receiver("elif entry.stream is not stream:", "elif first:"),
    "B4": _receiver(_OTHER, "if True:"),
    "B5": _OTHER_KEPT,
    "B6": _receiver(_OTHER, "if not first:"),
    "B7": _receiver("if event.flags & Flag.LISTED and", "if False and"),
    "B8": _receiver("if stream is self.entry.stream:", "if stream is not self.entry.stream:"),
    "B9": _NEEDLESS,
    "B10": _receiver("self._capacity if self._unicast4 else None)", "None)"),
    "B11": _receiver("if event.flags & Flag.OOB:  # B11", "if False:"),
    "B12": _receiver('stream.life_in(self._lives).used(mark, "a message")'),
    "B13": _ACK_DUE,
    "B14": Mutant("jgroups.unicast.acks", "due = self._counted >= self._threshold", "due = False"),
    "B15": _TOO_SOON,
    "B16": _TOO_SOON,
    "B17": _ASKED,
    "B18": _receiver("if not ranges:\n            return  # B18", "if False:\n            return"),
    "B19": _receiver("facts.requests.requested(ranges, mark)"),
    "B20": _facts("else self.sync_ns", "else 0"),
    "B21": _CLOSE,
    "B22": _receiver("if entry is not None and entry.stream is stream:  # B21",
                     "if entry is not None:"),
    "B23": _states("self._enter(CLOSED, Mark(since.frame, latest), REAPED)"),
    "B24": _receiver("with_peer=with_peer)", "with_peer=not with_peer)"),
    "B25": _receiver("for piece in entry.before.within(*part):  # B25", "for piece in ():"),
    "P1": _receiver("read = place + 1", "read = 0"),
    "P2": _receiver("if self.stopped is None or event.last", "if True or event.last"),
    "P3": _receiver("low = min([level, *(first - 1 for first in firsts)])", "low = level"),
    "P4": _sender("mark.at_ns - entry.last_ack.at_ns > RACE_NS:  # P4", "True:"),
    "P5": _PURGED,
    "P6": Mutant("jgroups.unicast.receiver_findings",
                 "if repeat.requests >= ENDLESS_REQUESTS:", "if False:"),
    "P7": _NEEDLESS,
    "P8": Mutant("jgroups.stream_rows", '"delivered": None,\n', '"delivered": [],\n'),
}  # fmt: skip


def test_every_row_has_a_mutant() -> None:
    visible = [row.id.removeprefix("unicast ") for row in ROWS.values() if not row.not_visible]
    assert list(MUTANTS) == visible


@pytest.mark.parametrize("row", MUTANTS)
def test_a_row_that_is_undone_fails_a_test_that_cites_it(
    monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    assert failing(f"unicast {row}", TESTS) == 0
    undo(monkeypatch, MUTANTS[row])
    assert failing(f"unicast {row}", TESTS) > 0
