"""The recordings below a folder, and the captures that their truth names (CONTRIBUTING.md 4)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tests.agreement import raims, zenoh
from tests.agreement.truth import Scenario, find_scenarios
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
        elif str(truth.get("system")).startswith("eclipse-zenoh"):
            places = {file.removesuffix(".zst"): at for file, at in truth["captures"].items()}
            yield Recording(scenario.folder, ZENOH, _by_sample(truth), places)
        elif "processes" in truth:
            of_processes = Scenario(scenario.folder, _by_process(truth))
            places = {file.removesuffix(".zst"): at for file, at in truth["captures"].items()}
            yield Recording(scenario.folder, JGROUPS, of_processes.truth, places)
        elif scenario.why_skipped is None:
            places = {
                path.name: scenario.address(vantage) or "between"
                for vantage, path in scenario.captures.items()
            }
            yield Recording(scenario.folder, JGROUPS, truth, places)


def _by_sample(truth: Mapping[str, Any]) -> dict[str, Any]:
    """The truth of zenoh nodes whose sessions come and go, with a row for each delivered sample;
    nobody says what their path did."""
    sources = {one["name"]: (one["zid"], one["eid"]) for one in truth["publishers"]}
    subscribers = [
        one
        | {
            "delivered": [
                (None, None, *sources[name], sn)
                for name, told in one["of"].items()
                for first, last in told["delivered"]
                for sn in range(first, last + 1)
            ]
        }
        for one in truth["subscribers"]
    ]
    unknown = {"relay": {"actions": [{"action": "drop"}, {"action": "delay"}]}, "timeline": []}
    summary = {"kind": "re-opened sessions", "wire_summary": {"captures": []}}
    return {**truth, **unknown, **summary, "subscribers": subscribers}


def _by_process(truth: Mapping[str, Any]) -> dict[str, Any]:
    """The truth of members that come and go as that of a run whose path nobody watched: each of
    their processes is a member, at the capture of its host."""
    members: dict[str, Any] = {}
    captures: dict[str, Any] = {}
    files = {at: file.removesuffix(".zst") for file, at in truth["captures"].items()}
    for process in truth["processes"]:
        name, number = str(process["member"]), 1
        while name in members:
            name, number = f"{process['member']}{number + 1}", number + 1
        members[name] = {"uuid": process["uuid"], "physical": process["address"]}
        file = files.get(process["address"].rpartition(":")[0])
        if file is not None:
            captures[name] = {"file": file}
    return {"members": members, "captures": captures}
