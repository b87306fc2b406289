"""Results as they are held until the report is made of them: compressed, by kind
(pipeline/README.md 2).

A job of ten thousand captures has two million rows of results, a gigabyte as Arrow's columns, and
they come by conversation while a report is sorted by capture. So rows of a kind are kept in small
compressed chunks, and one that is asked for in another order is found by a table of places; only
what is sorted by is unpacked for all rows at a time. Of judged rules, which are most of the rows
and mostly alike, only what they say is kept, as columns.
"""

import json
import marshal
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import (
    distinct,
    encoded,
    equal,
    filled,
    filtered,
    int_column,
    inverted,
    not_null,
    sorted_places,
    taken,
)
from seqaudit.replay.contract.results import JUDGED, RESULTS

Row = dict[str, Any]
Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

#: Rows compressed together, and rows that are Python's objects at a time.
CHUNK_ROWS: Final = 512
ROWS_AT_ONCE: Final = 1_000

#: Rows of results that are taken at a time.
RESULT_ROWS: Final = 10_000

#: In which order rows come unless another is asked for; what is left of it follows any other.
ORDER: Final = ("capture", "conversation", "system", "stream", "frame", "rule")

#: A list up to so many entries; more are columns.
FEW: Final = 1_000

#: A chunk of rows: of which kind and systems, how many, and the size of their bytes before they
#: were compressed.
PACKED: Final = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("systems", pa.list_(pa.string()), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("content", pa.binary(), nullable=False),
    ]
)

_TEXTS: Final = frozenset({"conversation", "system", "stream", "rule"})
_HELD: Final = pa.schema([field for field in RESULTS if field.name != "kind"])


class HeldResults:
    """Rows of RESULTS in any order; those of a kind are made when they are asked for."""

    def __init__(self, batches: Iterable[pa.RecordBatch] = ()) -> None:
        self._kinds: dict[str, _Chunks] = {}
        self.judged = JudgedRows()
        for batch in batches:
            self.add(batch)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; the batch is not needed any more."""
        kinds = encoded(batch.column("kind")).dictionary.to_pylist()
        for kind in kinds:
            rows = filtered(batch, equal(batch.column("kind"), kind)) if len(kinds) > 1 else batch
            if kind == JUDGED:
                self.judged.add(rows)
            else:
                self._kinds.setdefault(kind, _Chunks()).add(rows.select(_HELD.names))

    def packed(self) -> Iterator[pa.RecordBatch]:
        """All of them as they are held, schema ``PACKED``; ``take`` is where they come to."""
        for kind, chunks in self._kinds.items():
            yield from chunks.packed(kind)
        yield from self.judged.packed()

    def take(self, batch: pa.RecordBatch) -> None:
        """What another one held."""
        for row in batch.to_pylist():
            if row["kind"] == JUDGED:
                self.judged.take(row)
            else:
                self._kinds.setdefault(row["kind"], _Chunks()).take(row)

    def systems(self, kind: str) -> set[str]:
        """The systems of the rows of a kind."""
        return self._kinds[kind].systems if kind in self._kinds else set()

    def of(self, kind: str, *first: str, exact: bool = True) -> Iterator[Row]:
        """The rows of a kind, details parsed, made anew at every call.

        Args:
            first: columns to sort by before the others.
            exact: whether rows that differ in nothing but their details are ordered by these, for
                which those of all such rows are unpacked.
        """
        if kind not in self._kinds:
            return
        for rows in self._kinds[kind].in_order((*first, *ORDER), exact):
            # All details as one text: it takes half the time, and their keys are held once.
            details = json.loads(f"[{','.join(rows.column('detail').to_pylist())}]")
            told = rows.drop_columns(["detail"]).to_pylist()
            for row, row["detail"] in zip(told, details, strict=True):
                yield row

    def without_frame(self, kind: str) -> set[tuple[int, str | None]]:
        """(capture, stream) of the rows of a kind that have no frame."""
        found: set[tuple[int, str | None]] = set()
        for rows in self._kinds.get(kind, ()):
            if rows.column("frame").null_count:
                bare = filtered(rows, inverted(not_null(rows.column("frame"))))
                found.update(
                    zip(
                        bare.column("capture").to_pylist(),
                        bare.column("stream").to_pylist(),
                        strict=True,
                    )
                )
        return found


def held(results: pa.Table) -> HeldResults:
    """What Spark hands over at once: the contract's columns, each of them nullable. ``cast`` would
    take a while to import."""
    same = pa.Table.from_arrays(results.columns, schema=RESULTS)
    return HeldResults(same.to_batches(max_chunksize=RESULT_ROWS))


class _Chunks:
    """Rows of one kind, in compressed chunks."""

    def __init__(self) -> None:
        self.systems: set[str] = set()
        self._fresh: list[pa.RecordBatch] = []
        self._fresh_rows = 0
        self._packed: list[tuple[bytes, int, int]] = []  # rows, bytes before, number of rows
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, rows: pa.RecordBatch) -> None:
        self.systems.update(encoded(rows.column("system")).dictionary.to_pylist())
        self._length += len(rows)
        self._fresh.append(rows)
        self._fresh_rows += len(rows)
        if self._fresh_rows >= CHUNK_ROWS:
            self._pack()

    def _pack(self) -> None:
        whole = _one(self._fresh)
        for begin in range(0, len(whole), CHUNK_ROWS):
            rows = whole.slice(begin, CHUNK_ROWS)
            content = rows.serialize()
            packed = pa.compress(content, codec="lz4_raw", asbytes=True)
            self._packed.append((packed, content.size, len(rows)))
        self._fresh, self._fresh_rows = [], 0

    def packed(self, kind: str) -> Iterator[pa.RecordBatch]:
        """The chunks, schema ``PACKED``."""
        if self._fresh:
            self._pack()
        systems = sorted(self.systems)
        for content, size, rows in self._packed:
            yield _packed(kind, systems, rows, size, content)

    def take(self, row: Row) -> None:
        """A chunk of another one."""
        self.systems.update(row["systems"])
        self._packed.append((row["content"], row["size"], row["rows"]))
        self._length += row["rows"]

    def _unpacked(self, chunk: int) -> pa.RecordBatch:
        packed, size, _ = self._packed[chunk]
        content = pa.decompress(packed, decompressed_size=size, codec="lz4_raw")
        return pa.ipc.read_record_batch(content, _HELD)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._fresh:
            self._pack()
        return map(self._unpacked, range(len(self._packed)))

    def in_order(self, names: Sequence[str], exact: bool) -> Iterator[pa.RecordBatch]:
        """All rows in the order of these columns and then of their details, some at a time."""
        places = self._places(tuple(dict.fromkeys(names)), exact)
        starts = np.cumsum([0, *(rows for *_, rows in self._packed)])
        near: dict[int, pa.RecordBatch] = {}  # chunks of the rows before: often of the next as well
        for begin in range(0, len(places), ROWS_AT_ONCE):
            wanted = places[begin : begin + ROWS_AT_ONCE]
            held = np.sort(wanted)
            borders = np.searchsorted(held, starts)
            touched = np.flatnonzero(borders[1:] > borders[:-1]).tolist()
            near = {
                chunk: near[chunk] if chunk in near else self._unpacked(chunk) for chunk in touched
            }
            found = [
                taken(rows, int_column(held[borders[chunk] : borders[chunk + 1]] - starts[chunk]))
                for chunk, rows in near.items()
            ]
            yield taken(_one(found), int_column(np.searchsorted(held, wanted)))

    def _places(self, names: Sequence[str], exact: bool) -> Ints:
        """The places of rows in an order; nulls first and strings by their bytes."""
        columns = {name: _Keys(name) for name in names}
        for rows in self:
            for column in columns.values():
                column.add(rows)
        keys = {name: column.ranks() for name, column in columns.items()}
        del columns
        table = pa.table({name: int_column(column) for name, column in keys.items()})
        places: Ints = sorted_places(table, names).to_numpy().astype(np.int64)
        del table
        if not exact:
            return places
        new = np.ones(len(places), np.bool_)
        if len(places) > 1:
            new[1:] = False
            for ranks in keys.values():
                ordered = ranks[places]
                new[1:] |= ordered[1:] != ordered[:-1]
        del keys
        alike = ~new
        alike[:-1] |= alike[1:]
        if alike.any():
            self._by_detail(places, alike, np.cumsum(new))
        return places

    def _by_detail(self, places: Ints, alike: Any, groups: Ints) -> None:
        """Rows that are equal in all else by their details; ``places`` changes."""
        at = np.flatnonzero(alike)
        wanted = places[at]
        held = np.sort(wanted)
        texts = []
        begin = low = 0
        for rows in self:
            high = int(np.searchsorted(held, begin + len(rows)))
            if high > low:
                texts.append(taken(rows.column("detail"), int_column(held[low:high] - begin)))
            begin, low = begin + len(rows), high
        details = taken(pa.chunked_array(texts), int_column(np.searchsorted(held, wanted)))
        order = sorted_places(
            pa.table({"group": int_column(groups[at]), "detail": details}), ["group", "detail"]
        )
        places[at] = wanted[order.to_numpy()]


class _Keys:
    """What rows are sorted by: numbers as they are, -1 where null; texts by their place among all
    of them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._codes: list[Ints] = []
        self._texts: dict[str | None, int] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        column = rows.column(self._name)
        if self._name not in _TEXTS:
            column = filled(column, -1) if column.null_count else column
            self._codes.append(column.to_numpy())
            return
        codes, words = _coded(column)
        known = self._texts
        of_words = np.array([known.setdefault(word, len(known)) for word in words], np.int32)
        self._codes.append(of_words[codes])

    def ranks(self) -> Ints:
        codes = np.concatenate(self._codes).astype(np.int64)
        return _ranks(self._texts)[codes] if self._texts else codes


class JudgedRows:
    """JUDGED rows: in which captures and conversations which rules were judged, or why not."""

    def __init__(self) -> None:
        self._captures: list[Any] = []
        self._conversations: list[Any] = []
        self._says: list[Any] = []
        self._conversation_of: dict[str | None, int] = {}
        self._say_of: dict[tuple[str, str, str], int] = {}  # system, rule, detail

    def add(self, rows: pa.RecordBatch) -> None:
        assert rows.column("stream").null_count == len(rows), "rules are judged on conversations"
        self._captures.append(rows.column("capture").to_numpy().astype(np.int32))
        codes, words = _coded(rows.column("conversation"))
        known = self._conversation_of
        of_words = np.array([known.setdefault(word, len(known)) for word in words], np.int32)
        self._conversations.append(of_words[codes])
        parts = [_coded(rows.column(name)) for name in ("system", "rule", "detail")]
        joint = parts[0][0].astype(np.int64)
        for more, texts in parts[1:]:
            joint = joint * len(texts) + more
        own = distinct(joint)
        says = []
        for code in own.tolist():
            said = []
            for _, texts in reversed(parts):
                code, place = divmod(code, len(texts))
                said.append(texts[place])
            says.append(self._say_of.setdefault((said[2], said[1], said[0]), len(self._say_of)))
        self._says.append(np.array(says, np.int32)[np.searchsorted(own, joint)])

    def packed(self) -> Iterator[pa.RecordBatch]:
        """All of them, schema ``PACKED``."""
        if self._captures:
            columns = [
                np.concatenate(column).tobytes()
                for column in (self._captures, self._conversations, self._says)
            ]
            content = marshal.dumps((*columns, list(self._conversation_of), list(self._say_of)))
            packed = pa.compress(content, codec="lz4_raw", asbytes=True)
            yield _packed(JUDGED, [], len(columns[0]) // 4, len(content), packed)

    def take(self, row: Row) -> None:
        """What another one held."""
        content = pa.decompress(row["content"], decompressed_size=row["size"], codec="lz4_raw")
        captures, conversations, says, names, said = marshal.loads(content)
        self._captures.append(np.frombuffer(captures, np.int32))
        for known, words, codes, column in (
            (self._conversation_of, names, conversations, self._conversations),
            (self._say_of, said, says, self._says),
        ):
            of_words = np.array([known.setdefault(word, len(known)) for word in words], np.int32)
            column.append(of_words[np.frombuffer(codes, np.int32)])

    def by_rule(
        self, told: Iterable[Row], together: Mapping[str, Collection[tuple[int, str]]]
    ) -> dict[str, tuple[Sequence[Row], Sequence[Row]]]:
        """Of each rule that rows tell of: where it was judged, ``{"capture", "conversation"}``, and
        where not, with ``why``; sorted by capture and conversation, each fact once.

        Args:
            told: more rows, in their order behind the others.
            together: rule to (capture, conversation) that several legs together judge it on.
        """
        told = list(told)
        captures, conversations, says = self._sorted()
        facts = _Facts()
        of_says = [facts.of(rule, json.loads(detail)) for _, rule, detail in self._say_of]
        known = self._conversation_of
        more = [
            (
                row["capture"],
                known.setdefault(row["conversation"], len(known)),
                facts.of(row["rule"], row["detail"]),
            )
            for row in told
        ]
        last = np.array(more, np.int32).reshape(-1, 3)
        captures = np.concatenate([captures, last[:, 0]])
        conversations = np.concatenate([conversations, last[:, 1]])
        coded = np.concatenate([np.array(of_says, np.int32)[says], last[:, 2]])
        del says
        rules = np.array(facts.rule, np.int32)[coded]
        order = np.argsort(rules, kind="stable")
        borders = np.searchsorted(rules[order], np.arange(len(facts.rules) + 1))
        names, whys = list(known), list(facts.whys)
        found = {}
        for rule, number in facts.rules.items():
            rows = order[borders[number] : borders[number + 1]]
            capture = captures[rows].astype(np.int64)
            conversation = conversations[rows].astype(np.int64)
            judged = np.array(facts.judged, np.bool_)[coded[rows]]
            if several := together.get(rule):
                judged |= np.array(
                    [
                        (one, names[other]) in several
                        for one, other in zip(capture.tolist(), conversation.tolist(), strict=True)
                    ],
                    np.bool_,
                )
            why = np.array(facts.why, np.int64)[coded[rows]]
            once = _first_of_each(
                ((capture * len(names) + conversation) * len(whys) + why) * 2 + judged
            )
            yes, no = once & judged, once & ~judged
            found[rule] = (
                places(capture[yes], conversation[yes], names),
                places(capture[no], conversation[no], names, why[no], whys),
            )
        return found

    def _sorted(self) -> tuple[Int32s, Int32s, Int32s]:
        """Capture, conversation and what is said of distinct rows, in their order."""
        if not self._captures:
            nothing = np.empty(0, np.int32)
            return nothing, nothing, nothing
        conversations, says = _ranks(self._conversation_of), _ranks(self._say_of)
        key = np.concatenate(self._captures).astype(np.int64)
        key *= len(conversations)
        key += conversations[np.concatenate(self._conversations)]
        key *= len(says)
        key += says[np.concatenate(self._says)]
        key = distinct(key)
        say = np.argsort(says).astype(np.int32)[key % len(says)]
        key //= len(says)
        conversation = np.argsort(conversations).astype(np.int32)[key % len(conversations)]
        key //= len(conversations)
        return key.astype(np.int32), conversation, say


class _Facts:
    """What rows say of a rule, each once: ``rule``, ``judged`` and ``why`` of each, as numbers."""

    def __init__(self) -> None:
        self.rules: dict[str, int] = {}
        self.whys: dict[str | None, int] = {}
        self.rule: list[int] = []
        self.judged: list[bool] = []
        self.why: list[int] = []
        self._known: dict[tuple[str, bool, str | None], int] = {}

    def of(self, rule: str, detail: Row) -> int:
        why = detail.get("why")
        fact = rule, detail.get("judged", why is None), why
        number = self._known.setdefault(fact, len(self._known))
        if number == len(self.rule):
            self.rule.append(self.rules.setdefault(rule, len(self.rules)))
            self.judged.append(fact[1])
            self.why.append(self.whys.setdefault(why, len(self.whys)))
        return number


def places(
    captures: Ints,
    conversations: Ints,
    names: Sequence[str | None],
    why: Ints | None = None,
    whys: Sequence[str | None] = (),
) -> Sequence[Row]:
    """Entries ``{"capture", "conversation"}``, with ``why`` if it is given; the latter two by their
    number among the names."""
    found = Places(captures, conversations, names, why, whys)
    return found if len(found) > FEW else list(found)


class Places(Sequence[Row]):
    """Many such entries, each made anew whenever it is asked for."""

    __slots__ = ("_captures", "_conversations", "_names", "_why", "_whys")

    def __init__(
        self,
        captures: Ints,
        conversations: Ints,
        names: Sequence[str | None],
        why: Ints | None,
        whys: Sequence[str | None],
    ) -> None:
        self._captures = captures.astype(np.int32)
        self._conversations = conversations.astype(np.int32)
        self._names = names
        self._why = None if why is None else why.astype(np.int32)
        self._whys = whys

    def __len__(self) -> int:
        return len(self._captures)

    def __iter__(self) -> Iterator[Row]:
        for begin in range(0, len(self), ROWS_AT_ONCE):
            yield from self[begin : begin + ROWS_AT_ONCE]

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if not isinstance(place, slice):
            if not -len(self) <= place < len(self):
                raise IndexError(place)
            return self[place : place + 1 or None][0]
        names, whys = self._names, self._whys
        captures = self._captures[place].tolist()
        conversations = self._conversations[place].tolist()
        if self._why is None:
            return [
                {"capture": capture, "conversation": names[conversation]}
                for capture, conversation in zip(captures, conversations, strict=True)
            ]
        return [
            {"capture": capture, "conversation": names[conversation], "why": whys[why]}
            for capture, conversation, why in zip(
                captures, conversations, self._why[place].tolist(), strict=True
            )
        ]


def _first_of_each(keys: Ints) -> Any:
    """Where a value comes for the first time."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.zeros(len(keys), np.bool_)
    first[order[new]] = True
    return first


def _coded(column: pa.Array) -> tuple[Any, list[str | None]]:
    """A column of texts as codes and its distinct texts, "" for null."""
    coded = encoded(filled(column, "") if column.null_count else column)
    return coded.indices.to_numpy(), coded.dictionary.to_pylist()


def _ranks(texts: Iterable[Any]) -> Ints:
    """The place of each of distinct values in their order."""
    listed = list(texts)
    ranks = np.empty(len(listed), np.int64)
    ranks[sorted(range(len(listed)), key=listed.__getitem__)] = np.arange(len(listed))
    return ranks


def _packed(kind: str, systems: list[str], rows: int, size: int, content: bytes) -> pa.RecordBatch:
    columns = [kind], [systems], [rows], [size], [content]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, PACKED, strict=True)],
        schema=PACKED,
    )


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
