"""One zenoh recording, and the part of a report that is about it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from seqaudit.replay.zenoh import reasons, stream_rows
from tests.agreement.happened_zenoh import Happened
from tests.agreement.path_zenoh import Identity
from tests.agreement.report import ABSENT
from tests.agreement.rows import Row

#: Why a figure may be unknown; a figure that is unknown for another reason fails (CONTRIBUTING.md
#: 4).
NOT_HERE: Final = "what is delivered is visible at the subscriber's interface only (zenoh.md 11)"
BEGAN_LATER: Final = stream_rows.BEGAN_LATER
ONE_DECLARATION: Final = stream_rows.ONE_DECLARATION
CUT: Final = "samples were cut off by snap length"
NO_NUMBERS: Final = "samples carry no SourceInfo"
NO_SUCCESSOR: Final = "nothing at this leg says that later samples exist"
NOBODY_THERE: Final = "published while nobody was connected: not on the wire"
ONE_SIDE: Final = "only the sender's leg was captured"
#: What a report may say why frames do not tell what a subscriber was handed; not that frames are
#: missing in a capture, for these are whole.
REASONS: Final = frozenset(
    why for name, why in vars(reasons).items() if name.isupper() and isinstance(why, str)
) - {reasons.HAD, reasons.OTHERS_HAD, reasons.OWN_FRAMES, reasons.HOLE, reasons.UNASKED}
#: Of what no capture but that of the other end shows to be lost.
LEFT_THERE: Final = "left the other end and did not come"
#: Between what is proven at least and lost at most, and why no more is known.
BOUNDS: Final = " at most: "

Stream = Mapping[str, Any]


@dataclass(frozen=True)
class ZenohScenario:
    """One folder."""

    folder: Path
    truth: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def files(self) -> list[str]:
        return [capture["file"] for capture in self.truth["captures"]]

    @cached_property
    def happened(self) -> Happened:
        """What its truth tells of the run."""
        return Happened(self.truth)

    def at(self, file: str) -> str:
        """The address of the interface that the capture was taken at."""
        place = next(c["vantage"] for c in self.truth["captures"] if c["file"] == file)
        if "loopback" in place:
            return "127.0.0.1"
        number = 1 if "publisher side" in place or "publisher host" in place else 2
        return (
            f"fd77::{number}"
            if "fd77::" in json.dumps(self.truth["nodes"])
            else (f"10.77.0.{number}")
        )

    def host_at(self, file: str) -> str | None:
        """The host of that interface as the truth names it; null for a loopback."""
        at = self.at(file).replace("fd77::", "10.77.0.")
        return None if at == "127.0.0.1" else at

    @property
    def dropped_frames(self) -> dict[str, int]:
        """Direction -> frames and fragments in datagrams that the relay dropped."""
        dropped = {"a2b": 0, "b2a": 0}
        for action in (self.truth["relay"] or {}).get("actions", ()):
            if action.get("action") == "drop" and self.happened.of_datagrams(action):
                messages = action.get("zenoh")
                kinds = ["Frame"] if messages is None else [m.get("T") for m in messages]
                dropped[action["dir"]] += sum(kind in ("Frame", "Fragment") for kind in kinds)
        return dropped


class Part:
    """The part of a report about one recording; ``figures`` of it become rows."""

    def __init__(
        self, scenario: ZenohScenario, report: Mapping[str, Any], numbers: Mapping[str, int]
    ) -> None:
        self.scenario = scenario
        self.truth = scenario.truth
        self.happened = scenario.happened
        self.report = report
        self.numbers = numbers  # capture file -> its number in the report

    def row(
        self, file: str, figure: str, ours: object, truth: object, why: str | None = None
    ) -> Row:
        """``why``: the reason for which this figure may be unknown here; null: it must be known.

        A value is compared whatever reason there would have been for null.
        """
        if why is not None and ours is None:
            return Row(self.scenario.name, file, figure, None, truth, "unknown", why)
        verdict = "equal" if ours == truth else "different"
        return Row(self.scenario.name, file, figure, ours, truth, verdict)

    def findings(self, file: str | None = None) -> list[Mapping[str, Any]]:
        """Findings of one capture; of all captures of the recording."""
        chosen = self.numbers.values() if file is None else (self.numbers[file],)
        return [f for f in self.report["findings"] if f["capture"] in chosen]

    def queries(self, file: str) -> list[Mapping[str, Any]]:
        """Rows of queries at one capture."""
        return [q for q in self.report["queries"] if q["capture"] == self.numbers[file]]

    def streams(self, file: str, source: Identity) -> list[Stream]:
        """Streams of samples of one source, the first session first."""
        found = [
            stream
            for stream in self.report["streams"]
            if stream["capture"] == self.numbers[file]
            and stream.get("kind") == "samples"
            and stream["source"] == f"{source[0]}/{source[1]}"
        ]
        return sorted(found, key=lambda stream: stream["first_ns"] or 0)

    def hops(self, file: str) -> dict[str, Stream]:
        """Transport counters, by id."""
        return {
            stream["id"]: stream
            for stream in self.report["streams"]
            if stream["capture"] == self.numbers[file] and stream.get("kind") == "transport"
        }


def total(streams: Sequence[Stream], key: str) -> int | None:
    """A count of several streams; null if it is of one."""
    counts = [stream[key] for stream in streams]
    return None if None in counts else sum(counts)


def why_null(streams: Sequence[Stream], key: str) -> str | None:
    """Why a report cannot tell a figure, in its own words, of bounds the reason alone; null if a
    stream without the figure names none of the reasons that are known."""
    said = [stream["unknown"].get(key, "") for stream in streams if stream.get(key, "") is None]
    whys = [why.partition(BOUNDS)[2] or why for why in said]
    return whys[0] if whys and REASONS.issuperset(whys) else None


def stated(streams: Sequence[Stream], key: str) -> list[Any] | str | None:
    """Lists of several streams one after the other; null if one is; ABSENT if one has none."""
    found: list[Any] = []
    for stream in streams:
        if key not in stream:
            return ABSENT
        if stream[key] is None:
            return None
        found += stream[key]
    return found if streams else None
