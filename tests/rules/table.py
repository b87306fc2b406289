"""Every rule of the registry, and a capture that shows it.

A recording of ``fixtures/``, one to which something happened (``spoiled``), or one that a world or
a story writes byte by byte. Where it can, a rule has a recording: a world shows only what its maker
thought of.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from seqaudit.replay.stages.examples import examples
from seqaudit.replay.stages.systems import RULES
from tests.rules import spoiled as s
from tests.rules.feeds import feeds
from tests.rules.raims import pgm_and_raims
from tests.rules.spoiled import FIXTURES, Files
from tests.rules.stories import mcast, unicast
from tests.rules.wire import Made
from tests.rules.zenoh import zenoh


class Proof(NamedTuple):
    """A capture that shows a rule: its files by name, and the options of its audit.

    ``name`` is the recording's, or the rule's whose story it is; the same name and options are the
    same audit.
    """

    name: str
    files: Callable[[], Files]
    options: tuple[str, ...]
    shipped: tuple[str, ...] = ()  # below fixtures/

    def write(self, folder: Path) -> list[str]:
        """Its files in a folder: their paths."""
        paths = []
        for name, data in self.files().items():
            path = folder / name
            path.write_bytes(data)
            paths.append(str(path))
        return paths


#: Rules that no capture shows, and why.
WITHOUT: Final[Mapping[str, str]] = {
    "CP099": "only a fault of seqaudit itself makes it: tests/pipeline/test_wall.py puts one in",
}


def _read(files: tuple[str, ...]) -> Files:
    return {Path(name).name: (FIXTURES / name).read_bytes() for name in files}


def recorded(files: tuple[str, ...], options: tuple[str, ...] = ()) -> Proof:
    """Captures of ``fixtures/`` as they are."""
    return Proof("+".join(files), partial(_read, files), options, files)


def changed(rule: str, make: Callable[[], bytes | Files], *options: str) -> Proof:
    """A spoiled recording; one file that has no name of its own is capture.pcap."""

    def files() -> Files:
        made = make()
        return {"capture.pcap": made} if isinstance(made, bytes) else made

    return Proof(rule, files, options)


def written(rule: str, made: Made) -> Proof:
    """What a world or a story writes."""
    make, options = made
    return changed(rule, make, *options)


_AT_RV: Final = ("--at", "B.pcap=10.77.0.2", "--at", "B-client.pcap=10.77.0.2")

_SPOILED: Final[Mapping[str, Proof]] = {
    "CP001": changed("CP001", s.cut),
    "CP002": changed("CP002", s.damaged),
    "CP011": changed("CP011", lambda: {"capture.pcap.gz": s.compressed()}),
    "CP012": changed("CP012", s.a_segment_missing, "--at", "10.77.0.3"),
    "CP013": changed("CP013", s.disordered),
    "CP014": changed("CP014", s.stepped),
    "CP016": changed("CP016", s.ended_in_traffic),
    "CP017": changed("CP017", s.twice),
    "CP020": recorded((s.LOSS,), ("--at", "10.80.0.1")),
    "CP021": changed("CP021", s.flipped),
    "CP022": changed("CP022", s.coarse),
    "CP031": changed("CP031", partial(s.both_ends, "B")),
    "CP032": changed("CP032", partial(s.both_ends, "A")),
    "RA024": changed("RA024", s.untold, *_AT_RV),
    "RA025": changed("RA025", s.told_too_much, *_AT_RV),
    "RA026": changed("RA026", s.told_too_soon, *_AT_RV),
}

#: Captures that were made to show one rule.
MADE: Final[Mapping[str, Proof]] = {
    **_SPOILED,
    **{
        rule: written(rule, made)
        for world in (feeds(), mcast(), unicast(), pgm_and_raims(), zenoh())
        for rule, made in world.items()
    },
}

#: By rule, in the order of their codes: those, and the smallest recordings that show the others.
PROOFS: Final[Mapping[str, Proof]] = {
    rule: MADE.get(rule) or recorded(example.files, example.options)
    for rule, example in sorted(examples().items())
}


def missing() -> list[str]:
    """Rules that the table does not have."""
    return sorted(RULES.keys() - PROOFS.keys() - WITHOUT.keys())
