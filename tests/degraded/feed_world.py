"""Invented and shipped feeds, spoiled in every way: what is proven of them is so.

``python -m tests.degraded.feed_world --seeds 1-10`` draws worlds of declared feeds (any layout,
resets, repairs of a server, wraps, sessions, lines A and B) and the captures of the shipped ones,
spoils them as ``tests.degraded`` does, and holds each proven finding against what was sent. Of
worlds in which the bytes of a frame tell what it holds (``carried_worlds``) the figures are held
against the frames that are left, where a way only takes frames away.
"""

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from seqaudit.decoders.feeds.files import load_feed, shipped
from tests.degraded import auditing, claims
from tests.degraded.captures import Capture, read
from tests.degraded.ways import Subject, Way, asked, text_of
from tests.pipeline import test_feed_kinds as kinds
from tests.pipeline import test_shipped_feeds as shipped_feeds
from tests.pipeline.carried_worlds import CARRIED, Carried, differences, draw_carried
from tests.pipeline.feed_worlds import SHAPES, draw_rates, draw_world, pcap_bytes
from tests.pipeline.test_feed_lines import FEED as NARROW
from tests.pipeline.test_feed_lines import narrow_world


@dataclass(frozen=True)
class Sent:
    """What was sent.

    Attributes:
        feed: as --feed has it.
        lines: as --lines has it; empty: there are none.
        resets: by stream how often it began anew as it said; null: nobody counted.
        twice: whether the network made copies.
        carried: the world whose figures are compared; null: its figures are not.
    """

    name: str
    capture: Capture
    feed: str
    lines: str = ""
    resets: dict[str, int] | None = None
    twice: bool = False
    carried: Carried | None = None

    def refuted(self, found: claims.Finding) -> str | None:
        """Why a proven finding is not so; null: it is."""
        if found.rule == "FD009":
            said = 1 if self.resets is None else self.resets.get(found.stream, 0)
            return None if (found.count or 1) <= said else f"it began anew {said} times"
        if found.rule == "FD005":
            return None if self.twice else "the network made no copies"
        return _NEVER.get(found.rule, "nothing of the kind was sent")


#: Rules of which nothing that is sent makes a proven one, and why.
_NEVER: Final = {
    "FD012": "an end is the last",
    "FD027": "counts are as many as there are",
}


#: Ways that only take frames away, or tell nothing of them that matters.
_TAKEN_AWAY: Final = (
    "whole", "no-at", "head", "tail", "middle", "single", "burst", "drop-0.1", "drop-1", "drop-5",
    "drop-30", "offset", "hole", "small", "sampled", "drop-1-no-at",
)  # fmt: skip


def _read(folder: Path, content: bytes) -> Capture:
    path = folder / "world.pcap"
    path.write_bytes(content)
    return read(path)


def invented(seed: int, folder: Path, shape: str = "") -> Sent:
    """A world with a layout of its own."""
    world = draw_world(seed, size=120, shape=shape)
    feed = folder / f"world-{seed}{shape}.yaml"
    feed.write_text(world.feed, encoding="utf-8")
    resets = {name: book.figures["resets"] for name, book in world.books.items()}
    twice = any(book.figures["copies"] for book in world.books.values())
    capture = _read(folder, pcap_bytes(world.frames))
    return Sent(f"world {seed} {shape}".strip(), capture, str(feed), resets=resets, twice=twice)


def sessions(seed: int, folder: Path) -> Sent:
    """MoldUDP64 with a server, two groups and two sessions."""
    rates = replace(draw_rates(random.Random(seed), 64), late=0.0)
    world = kinds.mold_world(seed, rates)
    feed = "moldudp64@239.3.0.0/24:26400,server=10.0.0.2:6000"
    return Sent(f"sessions {seed}", _read(folder, pcap_bytes(world.frames)), feed, twice=True)


def two_lines(seed: int, folder: Path) -> Sent:
    """MoldUDP64 on two lines."""
    frames, _ = kinds.lines_world(seed)
    lines = "A=239.5.0.1:26400,B=239.5.1.1:26400"
    return Sent(f"lines {seed}", _read(folder, pcap_bytes(frames)), "moldudp64", lines)


def narrow_lines(seed: int, folder: Path) -> Sent:
    """Two lines whose numbers wrap."""
    width = 1 + seed % 2
    feed = folder / f"narrow-{width}.yaml"
    feed.write_text(NARROW.format(width=width), encoding="utf-8")
    frames, _ = narrow_world(seed, width, 300)
    return Sent(f"narrow lines {seed}", _read(folder, pcap_bytes(frames)), str(feed))


def shipped_one(name: str, folder: Path) -> Sent:
    """The capture of a feed that comes with the tool."""
    case = shipped_feeds.CASES[name]()
    path = shipped_feeds.written(name, case.datagrams, folder / "m.pcap")
    feed = load_feed(shipped()[name])
    place = f"@{shipped_feeds.GROUP}" if feed.protocol else ""
    if not (feed.match or feed.carrier):
        place = f"@{shipped_feeds.GROUP}:{shipped_feeds.PORT}"
    resets: dict[str, int] | None = None if "FD009" in case.rules else {}
    return Sent(name, _read(folder, path.read_bytes()), f"{name}{place}", resets=resets)


def carried(seed: int, folder: Path, shape: str) -> Sent:
    """A feed of another carrier, or with several units in a datagram."""
    world = draw_carried(seed, shape, size=150)
    feed = folder / f"carried-{seed}-{shape}.yaml"
    feed.write_text(world.feed, encoding="utf-8")
    capture = _read(folder, pcap_bytes(world.frames))
    return Sent(f"carried {seed} {shape}", capture, str(feed), resets={}, twice=True, carried=world)


def every(seeds: Sequence[int], folder: Path) -> Iterator[Sent]:
    """Worlds of some seeds, and every shipped feed."""
    for seed in seeds:
        yield invented(seed, folder)
        yield invented(seed, folder, SHAPES[seed % len(SHAPES)])
        yield narrow_lines(seed, folder)
        yield sessions(seed, folder)
        yield two_lines(seed, folder)
        for shape in CARRIED:
            yield carried(seed, folder, shape)
    for name in shipped_feeds.CASES:
        yield shipped_one(name, folder)


@dataclass
class Judged:
    """Audits, those of them whose figures were compared, what they prove of feeds, and (way,
    choice, what is wrong) of that."""

    audits: int = 0
    compared: int = 0
    proven: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)


def spoiled(sent: Sent, ways: Sequence[Way], sample: int, folder: Path) -> Judged:
    """One world in these ways."""
    judged = Judged()
    subject = Subject(sent.name, "world.pcap", "between", sent.capture)
    given = ["--exit-zero", "--feed", sent.feed]
    if sent.lines:
        given += ["--lines", sent.lines]
    for way in ways:
        for choice in way.picked(subject, sample, 1):
            made = way.spoil(subject, choice)
            one = ["--one-capture"] if made.one_capture else []
            done = auditing.of_files(made, [*given, *one], folder)
            judged.audits += 1
            if done.crash is not None:
                judged.wrong.append((way.name, text_of(choice), done.crash))
                continue
            if sent.carried is not None and way.name in _TAKEN_AWAY and "streams" in done.report:
                judged.compared += 1
                left = [(record.at_ns, record.data) for record in made.files[0][1].records]
                for what in differences(sent.carried, left, done.report):
                    judged.wrong.append((way.name, text_of(choice), what))
            stated = claims.stated((way.name, *made.ways))
            for found in claims.proven(claims.findings(done.report)):
                if not found.rule.startswith("FD"):
                    continue
                judged.proven[found.rule] += 1
                why = None if found.rule in stated else sent.refuted(found)
                if why is not None:
                    what = f"{found.rule} {found.text} ({why})"
                    judged.wrong.append((way.name, text_of(choice), what))
    return judged


def main() -> int:
    """Exit code 1 if anything is wrong, or if nothing was audited."""
    seeds, sample, ways = asked(__doc__)
    every_one, worlds = Judged(), 0
    with tempfile.TemporaryDirectory() as name:
        for sent in every(seeds, Path(name)):
            judged = spoiled(sent, ways, sample, Path(name))
            worlds += 1
            every_one.audits += judged.audits
            every_one.compared += judged.compared
            every_one.proven += judged.proven
            every_one.wrong += judged.wrong
            for way, choice, what in judged.wrong:
                print(f"{sent.name}  {way}  {choice}: {what}", flush=True)
    proven = ", ".join(f"{rule} {count}" for rule, count in sorted(every_one.proven.items()))
    print(
        f"{worlds} worlds, {every_one.audits} audits, figures of {every_one.compared} compared; "
        f"proven: {proven or 'nothing'}; not so: {len(every_one.wrong)}"
    )
    return int(bool(every_one.wrong) or not every_one.audits)


if __name__ == "__main__":
    sys.exit(main())
