"""The recordings below a folder, and the captures that their truth names (CONTRIBUTING.md 4)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tests.agreement import raims, zenoh
from tests.agreement.truth import find_scenarios
from tests.agreement.zenoh_report import ZenohScenario
from tests.degraded.captures import Capture, read
from tests.degraded.ways import Subject

JGROUPS: Final = "jgroups"
RAIMS: Final = "raims"
ZENOH: Final = "zenoh"


@dataclass
class Recording:
    """One folder with a truth: file name to the address it was taken at, and what is given."""

    folder: Path
    system: str
    truth: Mapping[str, Any] = field(repr=False)
    places: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def captures(self) -> dict[str, Capture]:
        return {file: read(self.folder / file) for file in self.places}

    def subject(self, file: str, marks: tuple[int, ...] = ()) -> Subject:
        others = tuple(
            (other, at, self.captures[other]) for other, at in self.places.items() if other != file
        )
        at, capture = self.places[file], self.captures[file]
        return Subject(f"{self.name}/{file}", file, at, capture, marks, others)


def find(top: Path, match: str) -> Iterator[Recording]:
    """Every recording below ``top`` whose folder's name matches, by path."""
    for scenario in find_scenarios(top, match):
        truth = scenario.truth
        if truth.get("schema") == zenoh.SCHEMA:
            of_zenoh = ZenohScenario(scenario.folder, truth)
            places = {file: of_zenoh.at(file) for file in of_zenoh.files}
            yield Recording(scenario.folder, ZENOH, truth, places)
        elif truth.get("system") == "raims":
            of_raims = raims.RaimsScenario(scenario.folder, truth)
            nodes = {path.name: node for node, path in of_raims.files.items()}
            yield Recording(
                scenario.folder,
                RAIMS,
                truth,
                {file: of_raims.address(node) for file, node in nodes.items()},
                {file: of_raims.parameters(node) for file, node in nodes.items()},
            )
        elif scenario.why_skipped is None:
            places = {
                path.name: scenario.address(vantage) or "between"
                for vantage, path in scenario.captures.items()
            }
            yield Recording(scenario.folder, JGROUPS, truth, places)
