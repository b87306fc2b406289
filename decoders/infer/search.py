"""Which field of unrecognised datagrams is their sequence number, if any (decoders/README.md 5).

In: ``Sample``, the first bytes of one destination's datagrams. Out: ``Answer``: layouts ranked by
their evidence, or why there is none. Every offset is tested as the lowest byte of a number of 1 to
8 bytes, in both byte orders, for the whole destination, for each of its sources and for streams
told apart by any one field, with one number a datagram or as many as another field says. That is
quick because a number can only follow the one before if its lowest byte does: one subtraction of
the sample from itself shifted by a datagram tests all offsets at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from seqaudit.decoders.infer.fields import (
    count_field,
    counts_of,
    covers,
    is_carry,
    is_variable,
    number_field,
    others_fitting,
    overlap,
    pace_of,
    preference,
    shared_by,
)
from seqaudit.decoders.infer.heartbeats import said
from seqaudit.decoders.infer.known import known_protocol
from seqaudit.decoders.infer.layout import Answer, FieldAt, Heartbeats, Layout, Sample
from seqaudit.decoders.infer.number import (
    FEWEST_STEPS,
    Bools,
    Bytes,
    Growth,
    Order,
    UInt64s,
    counts_content,
    field_values,
    fingerprints,
    grow,
    weigh,
)
from seqaudit.decoders.kernels.loader import Int64s

#: Datagrams that choose what is worth a closer look.
FIRST_LOOK: Final = 4_096
#: The same, for each field that is guessed to tell streams apart: there are many.
GUESS_LOOK: Final = 1_024
#: A byte that is one more than before less often is not the lowest byte of a number: a fifth of
#: the datagrams lost, a fifth late and a fifth doubled leave 0.3.
LOOK_SHARE: Final = 0.12
CLOSER_LOOKS: Final = 6  # lowest bytes a way to tell streams apart
#: Datagrams that the lowest byte may leave unexplained on first sight: long gaps wrap it.
HOPELESS_SHARE: Final = 0.2
#: Keys, and values of types, that are tried: header fields come first, and time stays bounded.
MOST_GUESSES: Final = 64
#: What is looked at: first what all datagrams have, then, if no number is in it, what most have.
REACHED_SHARES: Final = (1.0, 0.98, 0.6)
#: A message count lies so near to the number it belongs to.
COUNT_NEAR: Final = 40
MOST_STREAMS: Final = 64  # that one byte may tell apart
KEY_BYTES: Final = 32
MOST_RENEWALS: Final = 32  # of a numbering in a sample, each with a new value of its key
MOST_TYPES: Final = 5
TYPE_SHARE: Final = 0.2  # of the datagrams that are data, if only those are numbered
#: Datagrams that have to follow where a guessed field tells streams apart and nothing carried.
KEYED_FOLLOWING: Final = 128
#: Datagrams that have to follow where only one byte was seen to move.
PAIRED_FOLLOWING: Final = 48
#: How often a count has to change to be believed.
COUNT_CHANGES: Final = 8
#: Datagrams that may be of kinds which have no number.
IGNORED_SHARE: Final = 0.1
#: What telling streams apart by a guessed field, or leaving datagrams out, must gain; and for every
#: stream, so that the fewest are found (a number's upper bytes tell them apart as well).
KEY_COST: Final = 0.03
STREAM_COST: Final = 0.0005


def infer(sample: Sample, *, replies: Bytes | None = None) -> Answer:
    """The layouts of a destination's datagrams.

    Args:
        replies: (m, HEAD_BYTES) datagrams of the opposite direction, if any.
    """
    total = len(sample.lengths)
    if total <= FEWEST_STEPS:
        return Answer(
            (), f"{total} of the {FEWEST_STEPS + 1} datagrams that a judgement needs", total, 0
        )
    known = known_protocol(sample.heads, sample.lengths)
    if known:
        return Answer((), known, total, 0)
    depth, before, reason = 0, 0, "the datagrams are empty"
    rows = np.arange(total)
    for share in REACHED_SHARES:
        reached = min(_reached(sample.lengths, share), sample.heads.shape[1])
        if reached <= depth:
            continue
        before, depth = depth, reached
        rows = np.flatnonzero(sample.lengths >= depth)
        search = _Search(sample, rows, depth, before)
        found = search.run()
        if found:
            noted = [replace(layout, notes=search.doubts(layout, replies)) for layout in found]
            return Answer(tuple(noted), "", len(rows), depth)
        reason = search.reason()
    return Answer((), reason, len(rows), depth)


def _reached(lengths: Int64s, share: float) -> int:
    """The depth that so many of the datagrams have."""
    return int(np.sort(lengths)[int(len(lengths) * (1 - share))])


@dataclass(frozen=True, slots=True)
class _SampledStreams:
    """Rows of the sample stream after stream, each in arrival order."""

    rows: Int64s
    same: Bools  # (n - 1,)
    names: tuple[str, ...]
    count: int
    key: FieldAt | None = None


@dataclass(slots=True)
class _Search:
    """One destination's search; rows are those of the sample that are deep enough.

    ``judged``: bytes that more datagrams have and that were searched with them: a number there
    would seem to miss what the shorter datagrams had.
    """

    sample: Sample
    chosen: Int64s
    depth: int
    judged: int
    heads: Bytes = field(init=False)
    prints: UInt64s = field(init=False)
    refused: Layout | None = field(init=False, default=None)
    why: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.heads = np.ascontiguousarray(self.sample.heads[self.chosen, : self.depth])
        full = self.sample.heads[self.chosen]
        self.prints = fingerprints(full, self.sample.lengths[self.chosen])

    def run(self) -> list[Layout]:
        """Accepted layouts, best first. The simplest way to tell streams apart that leaves
        nothing unexplained is taken; a guessed field must explain more to be preferred."""
        everything = np.arange(len(self.chosen))
        best: list[Layout] = []
        for streams in self._ways(everything):
            found = self._layouts(streams)
            if found and (not best or _worth(found[0]) > _worth(best[0])):
                best = found
            if best and best[0].quality > 0.9 and not best[0].evidence.unexplained:
                return self._renewed(best)
        typed = self._typed()
        if typed and (not best or _worth(typed[0]) > _worth(best[0])):
            best = typed
        for column in self._key_columns()[:MOST_GUESSES]:
            streams = self._by(everything, self.heads[:, column].astype(np.int64), ("key",))
            found = [
                layout
                for layout in self._layouts(streams)
                if not covers(layout, column) and not is_carry(self.heads, column, layout.number)
            ]
            if found and (not best or _worth(found[0]) > _worth(best[0])):
                best = self._keyed(column, found)
        return self._renewed(best) if best else self._in_sessions()

    def _in_sessions(self) -> list[Layout]:
        """A number that begins anew with each value of a field, where it is none without: the best
        layout of the first field that makes one."""
        everything = np.arange(len(self.chosen))
        for column, streams in self._sessions(everything):
            found = [layout for layout in self._layouts(streams) if not covers(layout, column)]
            if found and found[0].evidence.following >= KEYED_FOLLOWING:
                number = found[0].number
                low = self.heads[:, number.stop - 1 if number.order == "big" else number.offset]
                begins = np.flatnonzero(~streams.same)
                if np.mean(low[begins + 1] - low[begins] == 1) < 0.5:  # else it just goes on
                    return self._keyed(column, found)
        return []

    def _sessions(self, rows: Int64s) -> Iterator[tuple[int, _SampledStreams]]:
        """Bytes that change now and then and hold still between."""
        for column in range(self.depth):
            byte = self.heads[rows, column]
            changed = byte[1:] != byte[:-1]
            if 1 <= np.count_nonzero(changed) <= MOST_RENEWALS:
                codes = np.cumsum(np.concatenate(([0], changed)))
                yield column, self._by(rows, codes, ("key",))

    def _renewed(self, best: list[Layout]) -> list[Layout]:
        """The same number with a key that changes where its numbering begins anew: a session."""
        first = best[0]
        if not first.evidence.renewed or first.stream:
            return best
        rows = np.arange(len(self.chosen))
        if first.kind is not None:
            others = [other.value for other in first.heartbeats]
            rows = np.flatnonzero(~np.isin(self.heads[:, first.kind.offset], others))
        for column, streams in self._sessions(rows):
            if covers(first, column):
                continue
            found = self._layouts(streams)
            if (
                found
                and found[0].number == first.number
                and found[0].evidence.renewed <= first.evidence.renewed / 2
                and found[0].evidence.unexplained <= first.evidence.unexplained
            ):
                keyed = self._keyed(column, found, rows)
                return [
                    replace(layout, kind=first.kind, heartbeats=first.heartbeats)
                    for layout in keyed
                ]
        return best

    def reason(self) -> str:
        """Why there is no layout, with the nearest miss."""
        if self.why:
            return self.why
        text = "no field of it counts up datagram by datagram"
        near = self.refused
        if near is None:
            return text
        e = near.evidence
        return (
            f"{text}; nearest is {near.number.width} bytes at offset {near.number.offset}: of"
            f" {e.steps} datagrams {e.following} follow, {e.ahead} are ahead of {e.missing} missing"
            f" numbers, {e.unexplained} are unexplained"
        )

    def doubts(self, layout: Layout, replies: Bytes | None) -> tuple[str, ...]:
        """What else the number could be."""
        notes = list(layout.notes)
        number = layout.number
        evidence = layout.evidence
        if evidence.too_orderly or evidence.too_sparse:
            how = ", and nothing came late or twice"
            if not evidence.too_orderly:
                how = f", in {evidence.ahead} places"
            notes.append(
                f"{evidence.missing} numbers are missing{how}:"
                " it may count something else than datagrams"
            )
        values = field_values(self.heads, number.offset, number.width, number.order or "big")
        at_ns = self.sample.at_ns[self.chosen]
        more = pace_of(values, at_ns, number.width), shared_by(layout, self.heads)
        notes += [doubt for doubt in more if doubt]
        if replies is not None and len(replies) >= 8 and replies.shape[1] >= number.stop:
            seen = layout.moving  # an answer may have something else where the rest holds still
            sent, back = (
                field_values(some, seen.offset, seen.width, seen.order or "big")
                for some in (self.heads, replies)
            )
            returned = float(np.isin(back, sent).mean())
            told = (
                2 * len(np.unique(sent)) <= 1 << 8 * seen.width
            )  # else anything would be among them
            if returned > 0.8 and len(np.unique(back)) >= 8 and told:
                notes.append(
                    "the same numbers come back in the opposite direction: it may identify requests"
                )
        return tuple(notes)

    # ---- ways to tell streams apart

    def _ways(self, rows: Int64s) -> Iterator[_SampledStreams]:
        """One stream, one a source, one a source and port."""
        yield self._by(rows, np.zeros(len(rows), np.int64), ())
        source = self.sample.source[self.chosen][rows]
        port = self.sample.source_port[self.chosen][rows]
        sources = len(np.unique(source))
        if sources > 1:
            yield self._by(rows, source, ("source",))
        ends = source << 16 | port
        if len(np.unique(ends)) > sources:
            yield self._by(rows, ends, ("source", "source_port"))

    def _by(self, rows: Int64s, codes: Int64s, names: tuple[str, ...]) -> _SampledStreams:
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        same = ordered[1:] == ordered[:-1]
        return _SampledStreams(rows[order], same, names, 1 + int((~same).sum()))

    def _key_columns(self) -> list[int]:
        """Bytes with few values, each often and by turns: they may tell streams apart."""
        columns = []
        fewest = max(2, min(MOST_STREAMS, len(self.heads) // 16))
        for column in range(self.depth):
            byte = self.heads[:, column]
            values = np.count_nonzero(np.bincount(byte, minlength=256))
            changes = np.count_nonzero(byte[1:] != byte[:-1])
            if 2 <= values <= fewest and changes >= 2 * values:
                columns.append(column)
        return columns

    def _keyed(self, column: int, found: list[Layout], rows: Int64s | None = None) -> list[Layout]:
        """The layouts with the whole key field around one of its bytes."""
        rows = np.arange(len(self.chosen)) if rows is None else rows
        streams = self._by(rows, self.heads[rows, column].astype(np.int64), ("key",))
        taken = [found[0].number] + ([found[0].count] if found[0].count else [])
        key = self._key_field(column, streams, taken)
        codes = self.heads[rows, key.offset : key.stop]
        _, code = np.unique(codes, axis=0, return_inverse=True)
        whole = replace(self._by(rows, code.reshape(-1), ("key",)), key=key)
        again = self._layouts(whole)
        if again and again[0].quality >= found[0].quality - 0.001:
            return again
        alone = FieldAt(column, 1, None)
        return [replace(layout, key=alone) for layout in found]

    def _key_field(
        self, column: int, streams: _SampledStreams, taken: Sequence[FieldAt]
    ) -> FieldAt:
        """The bytes around ``column`` that hold still within streams and differ between them; text
        goes on over what is the same in all."""
        heads = self.heads[streams.rows]
        still = ((heads[1:] == heads[:-1]) & streams.same[:, None]).sum(0)
        fixed = still >= 0.9 * streams.same.sum()
        for other in taken:
            fixed[other.offset : other.stop] = False
        varied = np.asarray((heads != heads[0]).any(0))
        printable = np.asarray(((heads >= 0x20) & (heads < 0x7F)).all(0))
        first, stop = column, column + 1
        text = bool(printable[column])
        good = fixed & (varied | printable) if text else fixed & varied
        while first > 0 and good[first - 1] and stop - first < KEY_BYTES:
            first -= 1
        while stop < self.depth and good[stop] and stop - first < KEY_BYTES:
            stop += 1
        text = text and bool(printable[first:stop].all()) and stop - first > 1
        width = stop - first
        return FieldAt(first, width, "big" if 1 < width <= 8 and not text else None, text)

    # ---- numbers of one way

    def _layouts(self, streams: _SampledStreams) -> list[Layout]:
        """Accepted layouts, best first, none of whose numbers shares bytes with a better one."""
        heads = self.heads[streams.rows]
        prints = self.prints[streams.rows]
        found = []
        for low, count_low in self._promising(heads, streams):
            for layout in self._readings(heads, prints, streams, low, count_low):
                mixed = layout.count is not None and overlap(layout.number, layout.count)
                if mixed or layout.number.stop <= self.judged:
                    continue
                if layout.evidence.accepted:
                    untold = self._untold(layout, heads, streams)
                    pair = self._paired(layout, heads, streams) if untold else layout
                    if pair is not None:
                        found.append(pair)
                        continue
                    self.why = self.why or untold
                if self.refused is None or layout.quality > self.refused.quality:
                    self.refused = layout
        # One number a datagram goes before a count that explains no more.
        found.sort(key=lambda x: (-x.quality + 0.003 * (x.count is not None), x.number.offset))
        kept: list[Layout] = []
        for layout in found:
            if not any(overlap(layout.number, better.number) for better in kept):
                kept.append(layout)
        return kept

    def _untold(self, layout: Layout, heads: Bytes, streams: _SampledStreams) -> str:
        """Why it cannot be told that this is the number, and one of a fixed width; empty: it can.

        One byte that neither carried nor wrapped, with no zero byte above it, may be part of
        anything. A byte before the lowest that says how many bytes the number has belongs to a
        number of variable length (JGroups' vlong), which no fixed field reads; until the number
        has carried, a 1 there may be that. What grows with the datagrams' length counts what is in
        them. And who guesses what tells streams apart has to see more: a carry, a wrap, or many
        datagrams.
        """
        number, same = layout.number, streams.same
        carried = layout.proven > 1 or layout.wraps
        if number.width == 1 and not layout.wraps:
            return "one byte counts up, but neither carried nor wrapped: too little to tell"
        low = number.stop - 1 if number.order == "big" else number.offset
        if low and is_variable(heads, low, same, layout):
            return "its number may have a byte for its length before it: no fixed field reads it"
        values = field_values(heads, number.offset, number.width, number.order or "big")
        lengths = self.sample.lengths[self.chosen][streams.rows]
        counts = None if layout.count is None else counts_of(heads, layout.count)[0]
        if counts_content(values, 8 * number.width, counts, same, lengths):
            return (
                f"the number of {number.width} bytes at offset {number.offset} advances with the"
                " length of the datagrams: it counts what is in them"
            )
        keyed = "key" in layout.stream
        if keyed and not carried and layout.evidence.following < KEYED_FOLLOWING:
            return "a field seems to number streams, but too few datagrams follow to be sure"
        return ""

    def _paired(self, layout: Layout, heads: Bytes, streams: _SampledStreams) -> Layout | None:
        """One byte that counted, but neither carried nor wrapped, as the lower half of the two
        aligned bytes that it is in, if the other half holds still: a short capture of a number
        that began at random, such as RTP's. Nothing is guessed besides, and it is a doubt."""
        number = layout.number
        low = number.offset
        other = low - 1 if low % 2 else low + 1
        guessed = bool(streams.names) or len(streams.rows) < len(self.chosen)
        few = layout.evidence.following < PAIRED_FOLLOWING or layout.count is not None
        if number.width > 1 or layout.wraps or guessed or other >= self.depth or few:
            return None
        if low and is_variable(heads, low, streams.same, layout):
            return None
        if (heads[1:, other] != heads[:-1, other])[streams.same].any():
            return None
        pair = FieldAt(min(low, other), 2, "big" if low % 2 else "little")
        doubt = "only its lowest byte was seen to move"
        return replace(layout, number=pair, ties=(number,), notes=(doubt,))

    def _promising(self, heads: Bytes, streams: _SampledStreams) -> list[tuple[int, int | None]]:
        """Lowest bytes of numbers, with those of counts (null: one number a datagram)."""
        guessed = "key" in streams.names or len(streams.rows) < len(self.chosen)
        look = min(GUESS_LOOK if guessed else FIRST_LOOK, len(streams.rows))
        early = np.flatnonzero(streams.rows <= np.partition(streams.rows, look - 1)[look - 1])
        prints = self.prints[streams.rows[early]]
        part = np.concatenate(([0], np.cumsum(~streams.same)))[early]
        heads = heads[early]
        same = part[1:] == part[:-1]
        before = heads[:-1][same]
        step = heads[1:][same] - before
        if not len(step):
            return []
        one = np.count_nonzero(step == 1, axis=0) / len(step)
        singles = [
            (float(one[low]), low, None)
            for low in np.argsort(-one, kind="stable")[:CLOSER_LOOKS].tolist()
            if one[low] >= LOOK_SHARE
        ]
        counted: list[tuple[float, int, int | None]] = []
        varied = np.count_nonzero(before != before[:1], axis=0) > 0
        moving = np.count_nonzero(step, axis=0) >= LOOK_SHARE * len(step)
        candidates = np.flatnonzero(varied)
        for low in np.flatnonzero(moving & (one < 1)).tolist():
            near = candidates[np.abs(candidates - low) <= COUNT_NEAR]
            places = near[near != low]
            if not len(places):
                continue
            takes = before[:, places]
            match = step[:, low, None] == takes
            whole = np.count_nonzero(match, axis=0) / len(step)
            for at in np.argsort(-whole, kind="stable")[:2].tolist():
                share = np.count_nonzero(match[:, at] & (takes[:, at] > 0)) / len(step)
                if share >= LOOK_SHARE and whole[at] > one[low]:
                    counted.append((float(whole[at]), low, int(places[at])))
        counted.sort(key=lambda x: -x[0])
        chosen = [(low, count) for _, low, count in [*singles, *counted[:CLOSER_LOOKS]]]
        return [pair for pair in chosen if not _hopeless(heads, same, prints, *pair)]

    def _readings(
        self,
        heads: Bytes,
        prints: UInt64s,
        streams: _SampledStreams,
        low: int,
        count_low: int | None,
    ) -> list[Layout]:
        """The byte order in which most bytes are the number's; the other, where it ties."""
        orders: tuple[Order, ...] = ("big", "little")
        readings: list[tuple[Growth, Layout]] = []
        for order in orders:
            count, counts, ends = None, None, 0
            if count_low is not None:
                count = count_field(heads, count_low, order, low)
                counts, ends = counts_of(heads, count)
                changes = streams.same & (counts[1:] != counts[:-1])
                if np.count_nonzero(changes) < COUNT_CHANGES:
                    return []
            growth = grow(heads, low, order, counts, streams.same)
            number = number_field(low, growth.width, order)
            values = field_values(heads, number.offset, number.width, order)
            evidence = weigh(values, 8 * number.width, counts, streams.same, prints)
            layout = Layout(
                number,
                growth.proven,
                growth.wraps,
                evidence,
                count=count,
                stream=streams.names,
                streams=streams.count,
                key=streams.key,
                ends=ends,
                ties=others_fitting(low, growth, order),
                quality=evidence.quality,
            )
            readings.append((growth, layout))
        (big, first), (little, second) = readings
        if preference(little, second.number) > preference(big, first.number):
            first, second, big, little = second, first, little, big
        if big.proven == 1 and big.wraps and little.wraps:
            return [replace(first, number=replace(first.number, width=1, order=None), ties=())]
        if big.proven == little.proven and first.number != second.number:
            first = replace(first, ties=(*first.ties, second.number))
        return [first]

    # ---- datagrams of several kinds, of which one is numbered

    def _typed(self) -> list[Layout]:
        """Layouts of the datagrams that share the value of one byte, where the others are
        heartbeats or have no number."""
        best: list[Layout] = []
        guesses = 0
        for column in range(self.depth):
            values = np.bincount(self.heads[:, column], minlength=256)
            present = np.flatnonzero(values)
            if not 2 <= len(present) <= MOST_TYPES:
                continue
            for value in present[values[present] >= TYPE_SHARE * len(self.heads)].tolist():
                guesses += 1
                if guesses > MOST_GUESSES:
                    return best
                data = np.flatnonzero(self.heads[:, column] == value)
                for streams in self._ways(data):
                    found = [
                        x
                        for x in self._layouts(streams)
                        if not covers(x, column) and (x.proven > 1 or x.wraps)
                    ]
                    if not found:
                        continue
                    whole = self._with_others(found[0], column, value)
                    if whole is None:
                        continue
                    ignored = sum(x.datagrams for x in whole.heartbeats if x.says is None)
                    if ignored > IGNORED_SHARE * len(self.heads):
                        continue
                    if not best or whole.quality > best[0].quality:
                        best = [whole]
        return best

    def _with_others(self, layout: Layout, column: int, value: int) -> Layout | None:
        """The layout of data, with what the other values of the byte stand for; null: they take
        numbers as well."""
        kind = self.heads[:, column]
        share = float((kind == value).mean())
        good = layout.quality * share
        others: list[Heartbeats] = []
        for other in np.flatnonzero(np.bincount(kind, minlength=256)).tolist():
            if other == value:
                continue
            told = self._says(layout, column, value, other)
            if told is None:
                return None
            says, explained, total = told
            others.append(Heartbeats(other, total, says))
            good += explained / len(kind) if says else 0.0
        return replace(
            layout, kind=FieldAt(column, 1, None), heartbeats=tuple(others), quality=good
        )

    def _says(
        self, layout: Layout, column: int, value: int, other: int
    ) -> tuple[str | None, int, int] | None:
        """What datagrams of kind ``other`` state (``heartbeats.said``)."""
        kind = self.heads[:, column]
        mine = np.flatnonzero((kind == value) | (kind == other))
        (streams,) = [s for s in self._ways(mine) if s.names == layout.stream] or [
            self._by(mine, np.zeros(len(mine), np.int64), ())
        ]
        rows = streams.rows
        return said(self.heads[rows], kind[rows] == other, layout.number)


def _hopeless(heads: Bytes, same: Bools, prints: UInt64s, low: int, count_low: int | None) -> bool:
    """Whether the lowest byte alone leaves so much unexplained that no wider number will do."""
    counts = None if count_low is None else heads[:, count_low].astype(np.int64)
    e = weigh(heads[:, low].astype(np.uint64), 8, counts, same, prints)
    return e.unexplained > 2 + HOPELESS_SHARE * e.steps


def _worth(layout: Layout) -> float:
    guessed = layout.key is not None or "key" in layout.stream or layout.kind is not None
    return layout.quality - KEY_COST * guessed - STREAM_COST * (layout.streams - 1)
