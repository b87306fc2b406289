"""What is spoiled: a few records in a row of every kind of traffic that there is a capture of."""

import random
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.decoders.contract.feed_layout import Feed
from tests.decoders.feeds.connections import soup_connection
from tests.decoders.network.builders import pcap
from tests.degraded.captures import NOTHING, Capture, read
from tests.hostile.mutate import Mutant, Setting, mutant
from tests.pipeline import test_feed_cuts, test_feeds_over_tcp, test_shipped_feeds

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"

#: Folders of fixtures, by the system whose fields are known.
_FOLDERS: Final = {
    "jgroups": "jgroups", "raims": "raims", "zenoh": "zenoh", "zenoh-sessions": "zenoh",
}  # fmt: skip


#: Folders of captures of others, which nothing here knows.
ELSEWHERE: Final[list[Path]] = []
#: What reading a capture that is none, or of a sort that is not written again, ends with.
_NO_CAPTURE: Final = (ValueError, IndexError, struct.error)


@dataclass(frozen=True, slots=True)
class Subject:
    """A capture that is sound; it is read when it is wanted.

    Attributes:
        truth: a file that says who is in it; null where nothing does.
    """

    name: str
    system: str
    load: Callable[[], Capture]
    truth: Path | None = None

    @property
    def run(self) -> str:
        """Captures of one run have it in common."""
        return str(self.truth or self.name)


@lru_cache(maxsize=1)
def subjects() -> Mapping[str, Sequence[Subject]]:
    """Captures by system."""
    found: dict[str, list[Subject]] = {"jgroups": [], "raims": [], "zenoh": [], "feed": []}
    found["others"] = [
        Subject(path.name, "others", partial(_of_others, path))
        for folder in ELSEWHERE
        for path in sorted(folder.rglob("*.*cap*"))
    ]
    for folder, system in _FOLDERS.items():
        for path in sorted((FIXTURES / folder).glob("*/*.pcap*")):
            if path.suffix not in (".pcap", ".pcapng"):
                continue  # compressed
            name = str(path.relative_to(FIXTURES))
            found[system].append(
                Subject(name, system, partial(_known, path), path.parent / "truth.json")
            )
    with tempfile.TemporaryDirectory() as made:
        for name, data in _feed_files():
            path = Path(made) / "feed.pcap"
            path.write_bytes(data)
            found["feed"].append(Subject(name, "feed", partial(_itself, read(path))))
    return {system: some for system, some in found.items() if some}


@lru_cache(maxsize=1000)
def _known(path: Path) -> Capture:
    return read(path)


@lru_cache(maxsize=16)
def _of_others(path: Path) -> Capture:
    """No records where it is of a sort that is not written again."""
    try:
        return read(path)
    except _NO_CAPTURE:
        return NOTHING


def _itself(capture: Capture) -> Capture:
    return capture


def _feed_files() -> list[tuple[str, bytes]]:
    made = [(f"feed {name}", pcap(frames)) for name, (frames, _) in test_feed_cuts.CASES.items()]
    clients = soup_connection("S1", 1, 30), soup_connection("S1", 41, 9, 40_002, ends=True)
    made.append(("feed logins", pcap([frame for talk in clients for frame in talk.frames])))
    made.append(("feed camera", pcap(test_feeds_over_tcp.camera(frozenset({7}), count=20).frames)))
    return made + [
        (f"feed {name}", pcap(_frames(case().datagrams)))
        for name, case in test_shipped_feeds.CASES.items()
    ]


def _frames(datagrams: Sequence[bytes]) -> list[bytes]:
    return [test_feed_cuts.packet(one, "239.1.0.1", 26400) for one in datagrams]


@lru_cache(maxsize=1)
def feed_choices() -> tuple[tuple[Feed, ...], ...]:
    """What audits are told of feeds: nothing, all that can be recognised, a few of which some
    have a place, a pair of lines."""
    few = feeds_of(("rtp", "moldudp64@:26400", "netflow5", "soupbintcp@:9000", "rtsp"), ())
    tried = feeds_of((), (), tried=True)
    lines = (test_feed_cuts.CASES["lines"][1],)
    return ((), few, (), lines, (), tried, (), few)


def drawn(seed: int, number: int, *, size: int = 8) -> Mutant:
    """The mutant of a seed and a number, the same whenever it is asked for."""
    rng = random.Random(f"{seed}/{number}")
    by_system = subjects()
    subject = rng.choice(by_system[rng.choice(sorted(by_system))])
    other = rng.choice(by_system[rng.choice(sorted(by_system))])
    capture = subject.load()
    while not capture.records:
        subject = rng.choice(by_system[subject.system])
        capture = subject.load()
    some = window(rng, capture, size)
    others = window(rng, other.load(), 3).records
    setting = Setting(subject.system, capture.layout.links, others)
    return mutant(f"{seed}/{number} {subject.name}", rng, some, setting)


def window(rng: random.Random, capture: Capture, size: int) -> Capture:
    """A few records in a row, with the first ones in front now and then: they name members."""
    records = capture.records
    at = rng.randrange(max(1, len(records) - size // 2))
    if rng.random() < 0.3:
        at = 0
    picked = list(records[at : at + rng.randrange(2, size + 1)])
    if at and rng.random() < 0.4:
        picked = list(records[: min(at, size // 3)]) + picked
    return capture.of(picked)
