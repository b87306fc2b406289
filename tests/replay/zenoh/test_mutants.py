"""Each row of the zenoh tables, undone in the engine: a test that cites it fails (CONTRIBUTING.md
4)."""

import importlib
from collections.abc import Mapping
from types import FunctionType
from typing import Final

import pytest

from tests.replay.mutants import Mutant, failing, undo
from tests.replay.zenoh import test_engine as test_zenoh_engine
from tests.replay.zenoh import test_tables as test_zenoh_tables
from tests.replay.zenoh.rows import ROWS

TESTS: Final = (test_zenoh_tables, test_zenoh_engine)


def _hop(old: str, new: str = "pass") -> Mutant:
    return Mutant("zenoh.hops", old, new)


def _machine(old: str, new: str = "pass") -> Mutant:
    return Mutant("zenoh.subscriber", old, new)


def _engine(old: str, new: str = "pass") -> Mutant:
    return Mutant("zenoh.engine", old, new)


def _sources(old: str, new: str) -> Mutant:
    return Mutant("zenoh.sources", old, new)


def _queries(old: str, new: str) -> Mutant:
    return Mutant("zenoh.queries", old, new)


def _audience(old: str, new: str) -> Mutant:
    return Mutant("zenoh.audience", old, new)


def _cache(old: str, new: str = "pass") -> Mutant:
    return Mutant("zenoh.cache", old, new)


def _keys(old: str, new: str = "pass") -> Mutant:
    return Mutant("zenoh.keys", old, new)


def _document(old: str, new: str = "pass") -> Mutant:
    return Mutant("zenoh.document", old, new)


_ENDS: Final = _machine(
    "if not self.queries and not self.history:\n                self.flush(mark, query)", "pass"
)
_LAST_ENDS: Final = _machine("if not self.queries and not self.history:", "if not self.history:")
_CONTIGUOUS: Final = _machine(
    "            self._deliver_pending(mark)\n        else:  # S7", "        else:  # S7"
)
_FIRST: Final = _machine(
    "            else:  # S3, S5\n                self._quiet(first, stop)\n"
    "                self._deliver(first, stop, mark)\n",
    "            else:\n",
)
_HELD: Final = _machine(
    "else:  # S7, or S8 where nobody asks\n            self._hold",
    "else:\n            self._deliver",
)
_HISTORY: Final = _machine("if self.history and self.history_max != 1:  # S4", "if False:")
_BOUNDED: Final = _cache(
    "return (first is None or sample.sn >= first) and (last is None or sample.sn <= last)",
    "return (first is None or sample.sn > first) and (last is None or sample.sn < last)",
)
_PUBLISH: Final = _cache("self._queue.append(sample)")
_UNWRAP: Final = Mutant("sequence.unwrap", "if ahead <= mask >> 1 else", "if True else")
_MISS: Final = _machine("self._miss(self.last + 1, first, mark, query, at_once=at_once)")

MUTANTS: Final[Mapping[str, Mutant]] = {
    "H1": _hop("begin = unwrap(first & self.mask, self.last, self.mask)", "begin = first"),
    "H2": _UNWRAP,
    "H3": _hop("accepted_from = min(self.last + 1, begin + count)", "accepted_from = begin"),
    "H4": _hop("None if initial is None else initial - 1", "None"),
    "H5": _hop("self.last = first - 1", "self.last = first"),
    "H6": _hop("self.broken.add(came)  # H6"),
    "H7": _hop(
        "            return None if said_drop else self._not_taken(place, detail)  # H7",
        "            self._message = FragmentedMessage(None)",
    ),
    "H8": _hop("        complete = self._message\n", "        complete = None\n"),
    "H9": _hop("elif place != self._expected:", "elif False:"),
    "H10": _hop("if self._final_at == first - 1:  # H10", "if False:"),
    "H11": _hop("if stop == first + 1:  # H11", "if False:"),
    "H12": _hop("if said_drop:  # H12", "if False:"),
    "H13": _hop("or (self._patch == 0 and self._message is None)  # H13", ""),
    "H14": _hop("                stop -= 1\n", "                stop -= 0\n"),
    "H15": _hop("self.told = found[0], cast(Detail, found[1])", "self.told = None"),
    "H16": _hop('.to_bytes((number.bit_length() + 7) // 8 or 1, "little")',
                '.to_bytes((number.bit_length() + 7) // 8 or 1, "big")'),
    "H17": Mutant("zenoh.untaken", "if run.begins and run.ends:", "if run.begins:"),
    "S1": _sources("        self.count += event.count\n", "        self.count += 0\n"),
    "S2": _sources("if stamp[0] <= self.clocks.get(stamp[1], -1):", "if False:"),
    "S3": _FIRST,
    "S4": _HISTORY,
    "S5": _FIRST,
    "S6": _CONTIGUOUS,
    "S7": _HELD,
    "S8": _MISS,
    "S9": _machine("if first <= self.last:  # S9", "if False:"),
    "S10": _machine("            self.waiting = mark\n", "            self.waiting = None\n"),
    "S11": _ENDS,
    "S12": _machine("            self._agree(query, query.first)\n",
                    "            pass\n"),
    "S13": _LAST_ENDS,
    "S14": _machine("            self.tracker.reveal(told + 1, mark, BY_HEARTBEAT)\n",
                    "            pass\n"),
    "S15": _FIRST,
    "S16": _machine(
        " and told > self.last:\n            self.tracker.reveal(told + 1, mark, BY_HEARTBEAT)",
        ":\n            self.tracker.reveal(self.tracker.known_stop + 1, mark, BY_HEARTBEAT)",
    ),
    "S17": _LAST_ENDS,
    "S18": _ENDS,
    "S19": _machine("            self.flush(mark, None, history=not unasked)\n",
                    "            pass\n"),
    "S20": _MISS,
    "S21": _machine("                first = max(first, self.last + 1)\n",
                    "                pass\n"),
    "S22": _queries("        self._end(query, MarkOfTimer(query.asked.frame",
                    "        (query, MarkOfTimer(query.asked.frame"),
    "S23": _queries("return Sort.HEARTBEAT if asked.has_range else Sort.LATE",
                   "return Sort.HEARTBEAT"),
    "S24": _UNWRAP,
    "S25": _engine("        identity = (event.source, event.destination, name)\n"
                   "        source = self.sources.all.get(identity)",
                   '        name = name.partition("/")[0]\n'
                   "        identity = (event.source, event.destination, name)\n"
                   "        source = self.sources.all.get(identity)"),
    "S26": _machine("self.last = self.tracker = None"),
    "S27": _machine("            self._shown_by_reply(stop, arrival)\n", "            pass\n"),
    "S28": Mutant("zenoh.lanes", "if reply is None or reply in lane.queries:", "if True:"),
    "S29": Mutant("zenoh.explaining", "Cause.NOBODY)]", "Cause.EMPTY)]"),
    "C1": _BOUNDED,
    "C2": _BOUNDED,
    "C3": _BOUNDED,
    "C4": _keys('if found and found["one"]:', "if False:"),
    "C5": _keys("int(text) <= 0xFFFF_FFFF else None", "int(text) <= 0xFFFF_FFFF else 0"),
    "C6": _cache("found = found[-asked.newest :] if asked.newest else []", "found = []"),
    "C7": _cache("if s.stamp_ns is None or s.stamp_ns >= since_ns",
                 "if (s.stamp_ns or 0) >= since_ns"),
    "C8": _cache("found = list(samples)", "found = list(samples)[1:]"),
    "C9": _cache("found = list(samples)", "found = list(samples)[::-1]"),
    "C10": _cache("        return first is None and last is None\n", "        return True\n"),
    "C11": _cache("            floor = b - left\n", "            floor = b - left - 1\n"),
    "D1": _sources("        self.count += event.count\n", "        self.count += 0\n"),
    "D2": _FIRST,
    "D3": _machine("if first == self.last + 1:  # S6", "if False:"),
    "D4": _machine("            self.waiting = mark\n", "            self.waiting = None\n"),
    "D5": Mutant("zenoh.document_subscriber", "if reply is None or self.last is None:", "if True:"),
    "D6": _ENDS,
    "D7": _MISS,
    "D8": _document("            while asked.next_ns is not None and asked.next_ns <= at_ns:",
                    "            while False:"),
    "D9": _document("            subscriber.before(older)\n", "            pass\n"),
    "D10": _document("return source_id is None or source_sn is None", "return source_id is None"),
    "D11": _audience("return source.node if self.document else source.source",
                   "return source.source"),
    "D12": _cache("not self.enabled or source is None or sn is None or", "not self.enabled or"),
    "D13": _cache("self.queues.setdefault((key, source), _Queue())",
                  'self.queues.setdefault((key, ""), _Queue())'),
    "D14": _cache("while self.count > history:", "while False:"),
    "D15": _cache("if source in (ALL_SOURCES, whose) and", "if source == whose and"),
    "D16": _cache("stop = 2**63 if asked.last is None else asked.last + 1",
                  "stop = 2**63 if asked.last is None else asked.last"),
    "D17": _cache("if not self.enabled or", "if"),
    "D18": _cache('if self.origin == "local" and source != self.local:', "if False:"),
    "D19": _keys('return Advanced(subject, "*", _zid(source))', "return None"),
    "D20": _document("Sort.RECOVERY, last, first, came.first)",
                     "Sort.RECOVERY, last + 1, first - 1, came.first)"),
    "D21": _document('if self.settings.origin == "local" or on_link:', "if True:"),
    "D22": _engine("                self.document.world = None\n", "                pass\n"),
}  # fmt: skip


def test_every_row_has_a_mutant() -> None:
    visible = {row.id.removeprefix("zenoh ") for row in ROWS.values() if not row.not_visible}
    assert set(MUTANTS) == visible


def undo_here(monkeypatch: pytest.MonkeyPatch, mutant: Mutant) -> None:
    """As ``undo``, and in the tests, which call some functions by themselves."""
    module = importlib.import_module(f"seqaudit.replay.{mutant.module}")
    before = dict(vars(module))
    undo(monkeypatch, mutant)
    for tests in TESTS:
        for name, old in list(vars(tests).items()):
            if isinstance(old, FunctionType) and before.get(name) is old:
                monkeypatch.setattr(tests, name, getattr(module, name))


@pytest.mark.parametrize("row", MUTANTS)
def test_a_row_that_is_undone_fails_a_test_that_cites_it(
    monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    assert failing(f"zenoh {row}", TESTS) == 0
    undo_here(monkeypatch, MUTANTS[row])
    assert failing(f"zenoh {row}", TESTS) > 0
