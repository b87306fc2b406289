"""Key expressions: a session's tables, matching, and what advanced keys say (zenoh.md 6, 9.1)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

#: What stands for the part of a key that this capture cannot resolve.
UNRESOLVED: Final = "?"

#: What stands for all sources in front of the document's queries (zenoh.md 10).
ALL_SOURCES: Final = "*"

#: Characters of declared key expressions kept of one session; an id beyond it stays unresolved.
MAX_HELD: Final = 16_000_000
ENTRY: Final = 200
#: Numbers that nobody declared, kept apart.
MAX_UNRESOLVED: Final = 1 << 17

_ZID: Final = re.compile(r"[0-9a-fA-F]{1,32}")
_ADVANCED: Final = "/@adv/"
_RANGE: Final = re.compile(r"(?P<one>-?\d+)$|(?P<first>[^.]*)\.\.(?P<last>.*)$")


class KeyTables:
    """Numbers that each side of a session has declared for key expressions."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[int, str]] = {}
        self._held = 0  # characters, and ENTRY for each
        self._session = 0
        #: Session, side and number of each key expression that nobody declared.
        self.unresolved: set[tuple[int, str, object]] = set()

    def declare(self, sender: str, number: int, text: str) -> None:
        """D_KEYEXPR."""
        if self._held + len(text) > MAX_HELD:
            self.forget(sender, number)
            return
        self.forget(sender, number)
        self._tables.setdefault(sender, {})[number] = text
        self._held += len(text) + ENTRY

    def forget(self, sender: str, number: int) -> None:
        """U_KEYEXPR."""
        before = self._tables.get(sender, {}).pop(number, None)
        if before is not None:
            self._held -= len(before) + ENTRY

    def clear(self) -> None:
        """A new session: everything starts anew."""
        self._tables.clear()
        self._held = 0
        self._session += 1

    def resolve(self, sender: str, receiver: str, key: Sequence[object]) -> str:
        """The text of a wire_expr; ``UNRESOLVED`` stands for an id that nobody declared here."""
        scope, mapping, suffix = key
        if scope == 0:
            return str(suffix)
        side = sender if mapping else receiver
        table = self._tables.get(side, {})
        found = table.get(scope) if isinstance(scope, int) else None
        if found is None:
            if len(self.unresolved) < MAX_UNRESOLVED:
                self.unresolved.add((self._session, side, scope))
            return f"{UNRESOLVED}{suffix}"
        return f"{found}{suffix}"


@lru_cache(maxsize=4096)
def matches(expression: str, key: str) -> bool:
    """Whether a key expression includes a key; ``@`` chunks only match themselves."""
    return _match(expression.split("/"), key.split("/"))


def _match(expression: list[str], key: list[str]) -> bool:
    """Every pair of positions once: hostile expressions cost their product, no more."""
    reach = [True] + [False] * len(key)
    for chunk in expression:
        if chunk == "**":
            for j, part in enumerate(key):
                reach[j + 1] = reach[j + 1] or (reach[j] and not part.startswith("@"))
            continue
        reach = [False] + [reach[j] and _chunk_matches(chunk, part) for j, part in enumerate(key)]
    return reach[-1]


def _chunk_matches(chunk: str, part: str) -> bool:
    if chunk == part:
        return True
    if part.startswith("@"):
        return False
    if chunk == "*":
        return True
    if "$*" not in chunk:
        return False
    first, *middle, last = chunk.split("$*")
    if len(part) < len(first) + len(last) or not part.startswith(first) or not part.endswith(last):
        return False
    at, stop = len(first), len(part) - len(last)
    for piece in middle:
        at = part.find(piece, at, stop)
        if at < 0:
            return False
        at += len(piece)
    return True


@dataclass(frozen=True, slots=True)
class Advanced:
    """An ``@adv`` key, or the document's key with a source in front.

    Attributes:
        subject: the key expression before ``@adv``; may begin with UNRESOLVED.
        role: "pub", "sub", "*" (recovery query), "" (initial history).
        source: "zid/eid"; the zid alone in the document's form; null: all sources.
    """

    subject: str
    role: str
    source: str | None


def advanced(key: str) -> Advanced | None:
    """What an ``@adv`` key says; null for any other."""
    subject, sign, rest = key.partition(_ADVANCED)
    if not sign:
        return None
    parts = rest.split("/")
    if parts == ["**"]:
        return Advanced(subject, "", None)
    if parts[0] in ("pub", "sub", "*"):
        known = len(parts) >= 3 and "*" not in parts[1]
        return Advanced(subject, parts[0], f"{_zid(parts[1])}/{parts[2]}" if known else None)
    return None


def document_query(key: str) -> Advanced | None:
    """``<source_id>/key/expr`` or ``*/key/expr``: the document's form (zenoh.md 10)."""
    source, sign, subject = key.partition("/")
    if not sign:
        return None
    if source == ALL_SOURCES:
        return Advanced(subject, "", None)
    if _ZID.fullmatch(source):
        return Advanced(subject, "*", _zid(source))
    return None


def _zid(told: str) -> str:
    """As zenoh prints a zid, where zenoh-pico prints leading zeros; what is none is as told."""
    return told.lower().lstrip("0") or "0" if _ZID.fullmatch(told) else told.lower()


@dataclass(frozen=True, slots=True)
class Parameters:
    """Of a query. ``first`` and ``last`` are inclusive; null is open."""

    has_range: bool
    first: int | None
    last: int | None
    newest: int | None  # _max


def parameters(text: str) -> Parameters:
    """``_sn=5..;_anyke`` (zenoh.md 5.3, 9.3): what cannot be parsed is an open end (C5)."""
    items = dict(item.partition("=")[::2] for item in text.split(";"))
    first = last = newest = None
    if "_sn" in items:
        found = _RANGE.match(items["_sn"])
        if found and found["one"]:
            first = last = _number(found["one"])
        elif found:
            first, last = _number(found["first"]), _number(found["last"])
    if "_max" in items:
        newest = _number(items["_max"])
    return Parameters("_sn" in items, first, last, newest)


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,10}", text) and int(text) <= 0xFFFF_FFFF else None
